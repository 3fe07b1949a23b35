//! Turns in which words were said, by the search.

use std::collections::BTreeSet;

use metnos_projections::views::search::{self, Search};
use redb::StorageError;

use super::file::Rows;
use super::{ViewError, ask};
use crate::instance::Instance;
use crate::projector::Watch;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The events that opened the turns, newest first.
    pub opened: Vec<u64>,
    /// Whether there are more of them.
    pub is_cut: bool,
    /// The last event that was searched.
    pub position: u64,
}

/// The newest turns in which all of some words were said, as of an event. The words are such as [`search::words`] gives.
pub fn find(
    instance: &Instance,
    words: &BTreeSet<String>,
    (most, size): (usize, u64),
    watch: Watch<'_>,
) -> Result<Found, ViewError> {
    ask::<Search, _>(instance, watch, |served| {
        let mut opened = served.file.read(|rows| newest(rows, words, (most.saturating_add(1), size)))?;
        let is_cut = opened.len() > most;
        opened.truncate(most);
        Ok(Found { opened, is_cut, position: served.position.min(size) })
    })
}

/// Goes back from the end: no turn after the one that a word was said in last can be one of those that are wanted.
fn newest(rows: &Rows, words: &BTreeSet<String>, (most, size): (usize, u64)) -> Result<Vec<u64>, StorageError> {
    let (mut found, mut last) = (Vec::new(), size);
    while found.len() < most && last > 0 && !words.is_empty() {
        let mut agreed = last;
        for word in words {
            match before(rows, word, agreed)? {
                Some(seq) => agreed = seq,
                None => return Ok(found),
            }
        }
        if agreed == last {
            found.push(agreed);
            last -= 1;
        } else {
            last = agreed;
        }
    }
    Ok(found)
}

/// The newest turn with a word that an event up to this one opened.
fn before(rows: &Rows, word: &str, last: u64) -> Result<Option<u64>, StorageError> {
    let (first, end) = (search::key(word, 0), search::key(word, last));
    let row = rows.range::<&[u8]>(first.as_slice()..=end.as_slice())?.next_back().transpose()?;
    Ok(row.and_then(|(key, _)| search::opened(key.value(), word)))
}
