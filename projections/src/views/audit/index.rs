//! Which lines of the audit there are, by what they are chosen by: a choice of a few of them reads a few events, not the log.
//!
//! A row a line says which events it is made of; from these alone it is made again. Rows without a value lead to it, by
//! person, executor, kind and turn, each in the order of time. Names are hashed there: the rows are of one length, and
//! whoever follows one compares the name itself.

use metnos_log::Recorded;
use serde::{Deserialize, Serialize};

use super::selection::Selection;
use super::{Audit, Kind, Line, VERSION};
use crate::view::{Put, View};

/// What the rows' first byte says.
const LINE: u8 = b'l';
const ACTOR: u8 = b'a';
const EXECUTOR: u8 = b'e';
const KIND: u8 = b'k';
const TURN: u8 = b't';
const ANY: u8 = b'z';

/// Bytes of a hashed name.
const NAME_BYTES: usize = 8;

/// The fold: lines that have not ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Index {
    audit: Audit,
}

/// What is known of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// What it is about.
    pub kind: Kind,
    /// When it ended, µs.
    pub ended: i64,
    /// Who it was for.
    pub actor: String,
    /// The turn.
    pub turn: Option<String>,
    /// The executor.
    pub executor: Option<String>,
    /// The numbers of its events, in order; the last is its own.
    pub sources: Vec<u64>,
}

impl View for Index {
    const NAME: &'static str = "audit_index";
    /// That of the lines counts with it: what they are made of may change with their shape.
    const VERSION: u32 = 100 * VERSION + 1;
    const SERVES_FROM: u32 = Self::VERSION;

    fn wants_texts(_: &str) -> bool {
        false
    }

    fn evolve(&mut self, recorded: &Recorded, put: Put<'_>) {
        let Some(line) = self.audit.take(recorded) else { return };
        let Line { kind, seq, ended, turn, actor, executor, sources, .. } = line;
        let mut lead = |tag: u8, name: &str| put(led(tag, name, ended, seq), Vec::new());
        lead(ANY, "");
        lead(KIND, kind.name());
        lead(ACTOR, &actor);
        if let Some(executor) = &executor {
            lead(EXECUTOR, executor);
        }
        if let Some(turn) = &turn {
            lead(TURN, turn);
        }
        let entry = Entry { kind, ended, actor, turn, executor, sources };
        put(key(seq), serde_json::to_vec(&entry).expect("an entry is plain JSON"));
    }
}

/// The key of the row of a line.
pub fn key(seq: u64) -> Vec<u8> {
    [[LINE].as_slice(), &seq.to_be_bytes()].concat()
}

/// What a row of a line holds.
pub fn entry(value: &[u8]) -> Option<Entry> {
    serde_json::from_slice(value).ok()
}

fn prefix(tag: u8, name: &str) -> Vec<u8> {
    let hash = blake3::derive_key("metnos audit index v1", name.as_bytes());
    [[tag].as_slice(), &hash[..NAME_BYTES]].concat()
}

/// Keeps the order of times when bytes are compared.
fn in_order(time: i64) -> [u8; 8] {
    (time.cast_unsigned() ^ (1 << 63)).to_be_bytes()
}

fn led(tag: u8, name: &str, ended: i64, seq: u64) -> Vec<u8> {
    [prefix(tag, name).as_slice(), &in_order(ended), &seq.to_be_bytes()].concat()
}

/// The keys that lead to every line of a choice, and to others: from the first, up to the second and without it. By what
/// leads to the fewest as a rule.
pub fn range(selection: &Selection) -> (Vec<u8>, Vec<u8>) {
    let Selection { since, before, kind, actor, executor, turn } = selection;
    let prefix = match (turn, executor, actor, kind) {
        (Some(turn), ..) => prefix(TURN, turn),
        (_, Some(executor), ..) => prefix(EXECUTOR, executor),
        (_, _, Some(actor), _) => prefix(ACTOR, actor),
        (.., Some(kind)) => prefix(KIND, kind.name()),
        (None, None, None, None) => prefix(ANY, ""),
    };
    let bound = |time: i64| [prefix.as_slice(), &in_order(time)].concat();
    let first = bound(since.unwrap_or(i64::MIN));
    // Behind the last possible time, where no end is set.
    let end = before.map_or_else(|| [bound(i64::MAX).as_slice(), &[0xff; 9]].concat(), bound);
    if first <= end { (first, end) } else { (end.clone(), end) }
}

/// The line that a key of [`range`] leads to.
pub fn line_of(key: &[u8]) -> Option<u64> {
    let seq = key.get(1 + NAME_BYTES + 8..)?;
    seq.try_into().ok().map(u64::from_be_bytes)
}

impl Entry {
    /// Whether a line is wanted.
    pub fn is_in(&self, selection: &Selection) -> bool {
        let Selection { since, before, kind, actor, executor, turn } = selection;
        since.is_none_or(|since| self.ended >= since)
            && before.is_none_or(|before| self.ended < before)
            && kind.is_none_or(|kind| self.kind == kind)
            && actor.as_ref().is_none_or(|actor| self.actor == *actor)
            && executor.as_ref().is_none_or(|executor| self.executor.as_ref() == Some(executor))
            && turn.as_ref().is_none_or(|turn| self.turn.as_ref() == Some(turn))
    }
}
