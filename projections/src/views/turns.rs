//! The turns by id: when, how they ended, what they cost. Holds no text: that stays in the events, where it can be erased.
//!
//! A household has thousands of them and each stays known, so one is a row of fixed size: the few words that rows share
//! (channels, ends, error classes, people) stand once.

mod rows;

use std::collections::{BTreeMap, BTreeSet};

use metnos_log::{Event, Recorded, TurnId};
use serde::{Deserialize, Serialize};

use crate::machines::actors::HOST;
use crate::projection::Projection;
use rows::Rows;

/// All turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Turns {
    rows: Rows,
    /// Those that have not ended.
    open: BTreeSet<TurnId>,
    /// The questions that are waited for.
    waiting: BTreeMap<TurnId, Waits>,
    /// The words of all rows, in the order in which they came.
    words: Vec<String>,
}

/// [`Turns`] as they are written.
#[derive(Serialize, Deserialize)]
struct Stored {
    rows: BTreeMap<TurnId, Row>,
    open: BTreeSet<TurnId>,
    waiting: BTreeMap<TurnId, Waits>,
    words: Vec<String>,
}

impl From<Stored> for Turns {
    fn from(Stored { rows, open, waiting, words }: Stored) -> Self {
        let mut rows: Vec<(TurnId, Row)> = rows.into_iter().collect();
        // Their ids sort by the clock, which may go back.
        rows.sort_by_key(|(_, row)| row.first_seq);
        Self { rows: rows.into_iter().collect(), open, waiting, words }
    }
}

impl From<Turns> for Stored {
    fn from(Turns { rows, open, waiting, words }: Turns) -> Self {
        Self { rows: rows.since(0).collect(), open, waiting, words }
    }
}

/// How a turn ended of which that was erased.
pub const ERASED: &str = "erased";

/// A word of [`Turns`], by its place counted from 1; 0 is none.
type Word = u32;

/// One turn as it is kept. Written as a list: names of fields would be most of a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Listed", into = "Listed")]
struct Row {
    first_seq: u64,
    last_seq: u64,
    opened_at: i64,
    closed_at: Option<i64>,
    actor: Word,
    channel: Word,
    final_kind: Word,
    class: Word,
    calls: u32,
    changes: u32,
    pending_changes: u32,
}

type Listed = (u64, u64, i64, Option<i64>, [Word; 4], [u32; 3]);

impl From<Listed> for Row {
    fn from((first_seq, last_seq, opened_at, closed_at, words, counts): Listed) -> Self {
        let ([actor, channel, final_kind, class], [calls, changes, pending_changes]) = (words, counts);
        Self {
            first_seq,
            last_seq,
            opened_at,
            closed_at,
            actor,
            channel,
            final_kind,
            class,
            calls,
            changes,
            pending_changes,
        }
    }
}

impl From<Row> for Listed {
    fn from(row: Row) -> Self {
        let words = [row.actor, row.channel, row.final_kind, row.class];
        let counts = [row.calls, row.changes, row.pending_changes];
        (row.first_seq, row.last_seq, row.opened_at, row.closed_at, words, counts)
    }
}

/// One turn in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary<'a> {
    /// Number of its first event.
    pub first_seq: u64,
    /// Number of its newest event.
    pub last_seq: u64,
    /// When it was opened, µs.
    pub opened_at: i64,
    /// When it was closed, µs.
    pub closed_at: Option<i64>,
    /// Who asked, where it was not the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<&'a str>,
    /// The channel.
    pub channel: &'a str,
    /// Calls that were started.
    pub calls: u32,
    /// Changes that were made.
    pub changes: u32,
    /// Changes that are planned and have no outcome yet.
    pub pending_changes: u32,
    /// How it ended.
    pub final_kind: Option<&'a str>,
    /// By which class.
    pub class: Option<&'a str>,
    /// The question that it waits for.
    pub waits: Option<&'a Waits>,
}

/// An open question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waits {
    /// Its id.
    pub dialog: String,
    /// Where it was asked.
    pub channel: String,
    /// When it lapses, µs.
    pub until: i64,
}

impl Turns {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One of them.
    pub fn get(&self, id: TurnId) -> Option<Summary<'_>> {
        self.rows.get(id).map(|row| self.summary(id, &row))
    }

    /// All of them, oldest first: in the order in which they began in the log.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (TurnId, Summary<'_>)> {
        self.since(0)
    }

    /// Those that began after one of them, oldest first; all, where it is not known.
    pub fn after(&self, id: TurnId) -> impl DoubleEndedIterator<Item = (TurnId, Summary<'_>)> {
        self.since(self.rows.get(id).map_or(0, |row| row.first_seq + 1))
    }

    fn since(&self, seq: u64) -> impl DoubleEndedIterator<Item = (TurnId, Summary<'_>)> {
        self.rows.since(seq).map(|(id, row)| (id, self.summary(id, &row)))
    }

    /// The newest.
    pub fn last(&self) -> Option<TurnId> {
        self.rows.last()
    }

    /// Those that have not ended, oldest first.
    pub fn open(&self) -> impl DoubleEndedIterator<Item = (TurnId, Summary<'_>)> {
        let mut open: Vec<_> = self.open.iter().filter_map(|id| Some((*id, self.get(*id)?))).collect();
        open.sort_by_key(|(_, turn)| turn.first_seq);
        open.into_iter()
    }

    fn summary(&self, id: TurnId, row: &Row) -> Summary<'_> {
        Summary {
            first_seq: row.first_seq,
            last_seq: row.last_seq,
            opened_at: row.opened_at,
            closed_at: row.closed_at,
            actor: self.word(row.actor),
            channel: self.word(row.channel).unwrap_or_default(),
            calls: row.calls,
            changes: row.changes,
            pending_changes: row.pending_changes,
            final_kind: self.word(row.final_kind),
            class: self.word(row.class),
            waits: self.waiting.get(&id),
        }
    }

    fn word(&self, word: Word) -> Option<&str> {
        let place = usize::try_from(word).ok()?.checked_sub(1)?;
        self.words.get(place).map(String::as_str)
    }

    /// The place of a word, which is kept from now on.
    fn kept(&mut self, word: &str) -> Word {
        let place = self.words.iter().position(|known| known == word).unwrap_or_else(|| {
            self.words.push(word.to_owned());
            self.words.len() - 1
        });
        Word::try_from(place + 1).expect("fewer than four thousand million different words")
    }
}

impl Projection for Turns {
    const NAME: &'static str = "turns";
    const VERSION: u32 = 4;

    fn evolve(&mut self, recorded: &Recorded) {
        let Some(id) = recorded.turn else { return };
        let (place, mut row) = self.rows.find(id).unzip();
        let row: &mut Row = row.get_or_insert_default();
        if place.is_none() {
            row.first_seq = recorded.seq;
            row.opened_at = recorded.time.0;
            row.actor = if recorded.actor == HOST { 0 } else { self.kept(&recorded.actor) };
            self.open.insert(id);
        }
        row.last_seq = recorded.seq;
        // Its kind is known whether or not its payload was erased.
        let is_closing = recorded.kind == "turn_closed";
        match recorded.event() {
            Some(Event::TurnOpened(opened)) => row.channel = self.kept(&opened.channel),
            Some(Event::InvocationStarted(_)) => row.calls += 1,
            Some(Event::InvocationFinished(finished)) => {
                let kept_apart = u32::from(!finished.changes.is_empty());
                row.pending_changes = u32::try_from(finished.effects.len()).unwrap_or(u32::MAX).max(kept_apart);
            }
            Some(Event::EffectCommitted(committed)) => {
                row.pending_changes = row.pending_changes.saturating_sub(1);
                row.changes += u32::from(committed.failure.is_none());
            }
            Some(Event::EffectsCommitted(committed)) => {
                let runs = committed.done.iter().chain(&committed.found_done);
                row.changes += runs.map(|(first, end)| end.saturating_sub(*first)).sum::<u32>();
            }
            Some(Event::DialogOpened(opened)) => {
                let until = recorded.time.0.saturating_add(i64::from(opened.expires_s) * 1_000_000);
                let (dialog, channel) = (opened.dialog.clone(), opened.channel.clone());
                self.waiting.insert(id, Waits { dialog, channel, until });
            }
            Some(Event::DialogAnswered(_) | Event::DialogExpired(_) | Event::DialogWithdrawn(_)) => {
                self.waiting.remove(&id);
            }
            Some(Event::TurnClosed(closed)) => {
                row.final_kind = self.kept(&closed.final_kind);
                row.class = closed.class.as_ref().map_or(0, |class| self.kept(class));
            }
            None if is_closing => row.final_kind = self.kept(ERASED),
            _ => {}
        }
        if is_closing {
            self.waiting.remove(&id);
            self.open.remove(&id);
            row.closed_at = Some(recorded.time.0);
            row.pending_changes = 0;
        }
        self.rows.put(place, id, *row);
    }
}

#[cfg(test)]
mod tests {
    use metnos_log::event::dialog::{DialogExpired, DialogOpened};
    use metnos_log::event::turn::TurnClosed;
    use metnos_log::{Kept, Micros};

    use super::*;
    use crate::projection::recorded;

    fn closed_event() -> Event {
        let (final_kind, class) = ("error".to_owned(), Some("network".to_owned()));
        TurnClosed { final_kind, class, message: Kept::text(""), counts: BTreeMap::new() }.into()
    }

    #[test]
    fn a_turn_is_open_until_it_closes_and_comes_back_from_its_text() {
        let (first, second) = (TurnId::new(Micros(1_000), [1; 10]), TurnId::new(Micros(9_000), [2; 10]));
        let mut turns = Turns::default();
        let mut seq = 0;
        let mut take = |turns: &mut Turns, turn, actor: &str, event| {
            seq += 1;
            let at = recorded(seq, i64::try_from(seq).unwrap() * 10, event);
            turns.evolve(&Recorded { turn: Some(turn), actor: actor.to_owned(), ..at });
        };
        take(&mut turns, first, HOST, DialogExpired { dialog: "d".to_owned() }.into());
        take(&mut turns, second, "guest_1", DialogExpired { dialog: "d".to_owned() }.into());
        let asked = DialogOpened {
            dialog: "d".to_owned(),
            kind: "inputs".to_owned(),
            question: Kept::text("Which?"),
            candidates: Vec::new(),
            channel: "console".to_owned(),
            expires_s: 600,
            step: None,
            field: None,
            options: Vec::new(),
        };
        take(&mut turns, second, "guest_1", asked.into());
        assert_eq!(turns.open().map(|(id, _)| id).collect::<Vec<_>>(), [first, second]);
        assert!(turns.get(second).unwrap().waits.is_some());
        take(&mut turns, second, "guest_1", closed_event());
        let ended = turns.get(second).unwrap();
        assert_eq!((ended.actor, ended.final_kind, ended.class), (Some("guest_1"), Some("error"), Some("network")));
        assert_eq!((ended.first_seq, ended.last_seq, ended.closed_at, ended.waits), (2, 4, Some(40), None));
        assert_eq!((turns.get(first).unwrap().actor, turns.open().count()), (None, 1));
        assert_eq!((turns.last(), turns.after(first).count(), turns.len()), (Some(second), 1, 2));
        let erased = recorded(9, 90, closed_event());
        turns.evolve(&Recorded { turn: Some(first), body: metnos_log::envelope::Body::Erased, ..erased });
        assert_eq!((turns.get(first).unwrap().final_kind, turns.open().count()), (Some(ERASED), 0));
        assert_eq!(Turns::restore(&turns.snapshot()), Some(turns));
    }

    /// A clock that went back gives the newest turn the least id.
    #[test]
    fn turns_are_in_the_order_of_the_log() {
        let mut turns = Turns::default();
        let [later, earlier] = [9, 3].map(|byte| TurnId([byte; 16]));
        for (seq, turn) in (1..).zip([later, earlier]) {
            turns.evolve(&Recorded {
                turn: Some(turn),
                ..recorded(seq, 90 - 10 * i64::try_from(seq).unwrap(), closed_event())
            });
        }
        for turns in [Turns::restore(&turns.snapshot()).unwrap(), turns] {
            assert_eq!(turns.last(), Some(earlier));
            assert!(turns.iter().map(|(id, _)| id).eq([later, earlier]));
            assert!(turns.after(later).map(|(id, _)| id).eq([earlier]) && turns.after(earlier).next().is_none());
        }
    }
}
