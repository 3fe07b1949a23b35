//! What is asked of a log under test, drawn from a seed; and a plain model that says what the log must answer and hold.

use std::collections::BTreeMap;

use super::chance::Chance;
use crate::envelope::{Draft, Recorded};
use crate::event::instance::CredentialRemoved;
use crate::event::turn::TurnClosed;
use crate::id::{EventId, Micros, TurnId};
use crate::kept::{INLINE_BYTES_MAX, Kept};
use crate::store::{Append, AppendError, Appended, Expect, Reader, plain_blob_hash};

/// Groups of requests that are in flight together.
const ROUNDS: std::ops::RangeInclusive<usize> = 6..=14;
const EVENTS_MAX: usize = 24;
/// The events of a batch that is as large as the writer's.
const EVENTS_MANY: usize = 512;

/// One request that can be made again.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) events: Vec<Draft>,
    pub(super) expect: Expect,
}

impl Asked {
    pub(super) fn append(&self) -> Append {
        Append { events: self.events.clone(), expect: self.expect }
    }
}

/// Requests in groups.
pub(super) fn rounds(chance: &mut Chance) -> Vec<Vec<Asked>> {
    let mut workload = Workload { chance, model: Model::default(), made: Vec::new(), number: 0 };
    let count = workload.chance.within(ROUNDS);
    (0..count).map(|_| workload.round()).collect()
}

/// A few requests of a person who goes on with the log.
pub(super) fn afterwards(chance: &mut Chance, model: &Model) -> Vec<Asked> {
    let mut workload = Workload { chance, model: model.clone(), made: Vec::new(), number: 1 << 40 };
    (0..4).map(|_| workload.sound(1..=EVENTS_MAX)).collect()
}

struct Workload<'a> {
    chance: &'a mut Chance,
    /// How the log looks if all that was asked so far gets there.
    model: Model,
    made: Vec<Asked>,
    number: u64,
}

impl Workload<'_> {
    /// The first of a round is always taken: the writer is held at the disk with it, and the others queue meanwhile.
    fn round(&mut self) -> Vec<Asked> {
        let others = self.chance.within(1..=6);
        let mut round = vec![self.sound(1..=2)];
        for _ in 0..others {
            let asked = match self.chance.below(100) {
                0..66 => self.sound(1..=EVENTS_MAX),
                66..70 => self.sound(EVENTS_MANY..=EVENTS_MANY),
                _ => self.refused(),
            };
            round.push(asked);
        }
        round
    }

    fn sound(&mut self, events: std::ops::RangeInclusive<usize>) -> Asked {
        let count = self.chance.within(events);
        let longest = if count > EVENTS_MAX { 24 } else { 900 };
        let streams: Vec<String> = (0..self.chance.within(1..=3)).map(|_| self.stream()).collect();
        let events: Vec<Draft> = (0..count)
            .map(|place| {
                let stream = if place == 0 { streams[0].clone() } else { self.chance.pick(&streams).clone() };
                self.draft(stream, longest)
            })
            .collect();
        let expect = match (self.chance.below(3), self.model.version(&streams[0])) {
            (0, _) => Expect::Any,
            (_, 0) => Expect::NoStream,
            (_, version) => Expect::Exact(version),
        };
        self.keep(Asked { events, expect })
    }

    /// A request that the log must refuse, or has already.
    fn refused(&mut self) -> Asked {
        let mut asked = self.sound_but_not_asked();
        let earlier = self.chance.pick(&self.made).clone();
        match self.chance.below(6) {
            0 => asked = earlier,
            1 => asked.events[0].id = earlier.events[0].id,
            2 => asked.events.push(earlier.events[0].clone()),
            3 => asked.events.push(asked.events[0].clone()),
            4 => asked.expect = Expect::Exact(1 << 40),
            _ => {
                asked.expect = Expect::NoStream;
                asked.events[0].stream.clone_from(&earlier.events[0].stream);
            }
        }
        self.keep(asked)
    }

    fn sound_but_not_asked(&mut self) -> Asked {
        let stream = self.stream();
        Asked { events: vec![self.draft(stream, 200)], expect: Expect::Any }
    }

    fn keep(&mut self, asked: Asked) -> Asked {
        drop(self.model.answer(&asked));
        self.made.push(asked.clone());
        asked
    }

    fn stream(&mut self) -> String {
        match self.chance.below(3) {
            0 => format!("turn/{}", self.number),
            1 => "instance".to_owned(),
            _ => format!("executor/{}", self.chance.below(9)),
        }
    }

    fn draft(&mut self, stream: String, longest: usize) -> Draft {
        self.number += 1;
        let mut id = [0; 16];
        // Most ids rise, as those of one clock do; some come from elsewhere.
        if self.chance.percent(20) {
            id[..8].copy_from_slice(&self.chance.next().to_be_bytes());
        }
        id[8..].copy_from_slice(&self.number.to_be_bytes());
        let turn = self.chance.percent(50).then(|| TurnId([self.number.to_le_bytes()[0]; 16]));
        let mut blobs = Vec::new();
        let event = if self.chance.percent(30) {
            let length = if longest > 100 && self.chance.percent(4) {
                INLINE_BYTES_MAX + 1000
            } else {
                self.chance.below(longest)
            };
            let closed = TurnClosed {
                final_kind: "answer".to_owned(),
                class: None,
                message: Kept::text(self.chance.text(length)),
                counts: BTreeMap::new(),
            };
            closed.into()
        } else {
            let length = self.chance.below(longest);
            CredentialRemoved { name: self.chance.text(length) }.into()
        };
        if longest > 100 && self.chance.percent(3) {
            let length = self.chance.below(9000);
            let bytes = self.chance.text(length).into_bytes();
            blobs.push((plain_blob_hash(&bytes), bytes));
        }
        let time = Micros(1_700_000_000_000_000 + i64::try_from(self.number & 0xffff_ffff).expect("it is small"));
        Draft { id: EventId(id), time, stream, actor: "owner".to_owned(), turn, cause: None, event, blobs }
    }
}

/// What a log must hold and answer, in the plainest form.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    /// The events in order, each with its version.
    pub(super) events: Vec<(Draft, u64)>,
    ids: BTreeMap<EventId, usize>,
    versions: BTreeMap<String, u64>,
}

impl Model {
    pub(super) fn size(&self) -> u64 {
        self.events.len() as u64
    }

    fn version(&self, stream: &str) -> u64 {
        self.versions.get(stream).copied().unwrap_or_default()
    }

    /// Takes a request, or says why not.
    pub(super) fn answer(&mut self, asked: &Asked) -> Result<Appended, AppendError> {
        let mut ids: Vec<EventId> = asked.events.iter().map(|event| event.id).collect();
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(AppendError::Malformed("two of its events have the same id"));
        }
        let mut there = Vec::new();
        for event in &asked.events {
            let Some(&place) = self.ids.get(&event.id) else { continue };
            let seq = place as u64 + 1;
            if !same(&self.events[place].0, event) {
                return Err(AppendError::IdTaken { id: event.id, seq });
            }
            there.push((event.id, seq));
        }
        match there.first() {
            Some(&(_, seq)) if there.len() == asked.events.len() => return Ok(Appended::AlreadyThere(seq)),
            Some(&(id, _)) => return Err(AppendError::PartlyThere { id }),
            None => {}
        }
        let stream = &asked.events[0].stream;
        let found = self.version(stream);
        let expected = match asked.expect {
            Expect::Any => found,
            Expect::NoStream => 0,
            Expect::Exact(version) => version,
        };
        if found != expected {
            return Err(AppendError::Conflict { stream: stream.clone(), found, expected });
        }
        let first = self.size() + 1;
        for event in &asked.events {
            let version = self.versions.entry(event.stream.clone()).or_default();
            *version += 1;
            self.ids.insert(event.id, self.events.len());
            self.events.push((event.clone(), *version));
        }
        Ok(Appended::At { first, last: self.size() })
    }

    /// Whether a log holds exactly this: each event under its number, with its bytes and its blobs.
    pub(super) fn is_held_by(&self, reader: &Reader) -> Result<(), String> {
        let mut held = 0;
        reader
            .each(1, |recorded| {
                let place = usize::try_from(recorded.seq - 1).expect("it counts events in memory");
                let wanted = self.events.get(place);
                held += 1;
                match wanted {
                    Some((draft, version)) if says(&recorded, draft, *version, reader)? => Ok(true),
                    _ => Err(Wrong(format!("event {} is not what was appended: {recorded:?}", recorded.seq))),
                }
            })
            .map_err(|Wrong(what)| what)?;
        if held == self.size() { Ok(()) } else { Err(format!("it holds {held} events, not {}", self.size())) }
    }
}

struct Wrong(String);

impl From<crate::store::ReadError> for Wrong {
    fn from(error: crate::store::ReadError) -> Self {
        Self(error.to_string())
    }
}

fn same(one: &Draft, other: &Draft) -> bool {
    Draft { blobs: Vec::new(), ..one.clone() } == Draft { blobs: Vec::new(), ..other.clone() }
}

fn says(recorded: &Recorded, draft: &Draft, version: u64, reader: &Reader) -> Result<bool, Wrong> {
    let Draft { id, time, stream, actor, turn, cause, event, blobs } = draft;
    for (hash, bytes) in blobs {
        if reader.blob(*hash)?.as_ref() != Some(bytes) {
            return Err(Wrong(format!("the blob {hash} of event {} is not there", recorded.seq)));
        }
    }
    let full = reader.rehydrated(recorded.clone())?;
    let place = (full.id, full.time, &full.stream, &full.actor, full.turn, full.cause, full.version);
    let by_id = reader.seq_of(*id)? == Some(recorded.seq);
    Ok(by_id && place == (*id, *time, stream, actor, *turn, *cause, version) && full.event() == Some(event))
}
