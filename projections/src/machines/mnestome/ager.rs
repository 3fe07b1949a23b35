//! What the owner and the night decide about the graph.

use std::collections::BTreeSet;

use metnos_log::event::mnestome::{AgerRun, MnestRetagged};
use metnos_log::{Event, Micros};

use super::formula::{ARCHIVE_BELOW, ARCHIVE_IDLE_DAYS, DECAYING_BELOW, PROTO_MIN, days};
use super::{Mnestome, State};

/// The longest tag, and the most of one mnest.
const TAG_BYTES_MAX: usize = 32;
const TAGS_MAX: usize = 16;

/// Why it is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The ager ran for that day already.
    #[error("the ager has run for {0}")]
    AlreadyAged(String),
    /// No mnest of that id.
    #[error("there is no mnest {0}")]
    NoneSuch(String),
    /// A tag that is none.
    #[error(
        "«{0}» is no tag: lower-case letters, digits, - _ : and at most {TAG_BYTES_MAX} of them, {TAGS_MAX} tags in all"
    )]
    Tag(String),
}

/// What a night changes: which mnests fade, which wishes are forgotten, which archival is proposed. At most once a day.
pub fn age(mnestome: &Mnestome, day: &str, now: Micros) -> Result<Vec<Event>, Rejection> {
    if mnestome.aged.as_deref().is_some_and(|last| last >= day) {
        return Err(Rejection::AlreadyAged(day.to_owned()));
    }
    let (mut decaying, mut purged, mut proposed) = (Vec::new(), Vec::new(), Vec::new());
    for edge in mnestome.each(now) {
        let (mnest, weight) = (edge.mnest, edge.weight);
        match mnest.state {
            State::Proto if weight < PROTO_MIN => purged.push(mnest.id.clone()),
            State::Active if weight < DECAYING_BELOW => decaying.push(mnest.id.clone()),
            State::Proto | State::Active | State::Decaying => {}
        }
        let is_idle = days(mnest.ts_last, now.0) >= ARCHIVE_IDLE_DAYS;
        if mnest.state != State::Proto && weight < ARCHIVE_BELOW && is_idle && !mnest.is_fading_away {
            proposed.push(mnest.id.clone());
        }
    }
    Ok(vec![AgerRun { day: day.to_owned(), now: now.0, decaying, purged, proposed }.into()])
}

/// Gives a mnest these tags and no others.
pub fn retag(mnestome: &Mnestome, id: &str, tags: &[String]) -> Result<Vec<Event>, Rejection> {
    let is_plain = |tag: &str| {
        let is_of_tag = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_:".contains(&byte);
        (1..=TAG_BYTES_MAX).contains(&tag.len()) && tag.bytes().all(is_of_tag)
    };
    if let Some(bad) = tags.iter().find(|tag| !is_plain(tag)).or(tags.get(TAGS_MAX)) {
        return Err(Rejection::Tag(bad.clone()));
    }
    let edge = mnestome.find(id, Micros(0)).ok_or_else(|| Rejection::NoneSuch(id.to_owned()))?;
    let tags: BTreeSet<String> = tags.iter().cloned().collect();
    Ok(vec![MnestRetagged { mnest: edge.mnest.id.clone(), tags: tags.into_iter().collect() }.into()])
}
