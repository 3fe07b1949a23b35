//! Checkpoints of projections: files that save a rebuild, believed only when the chain says so.
//!
//! A checkpoint holds the position and the log's head there. On open the chain must have that head at that position; if it
//! has not, or anything else is off, everything is folded again from event 1.

use std::io;
use std::path::Path;
use std::sync::Arc;

use metnos_log::store::{Head, ReadError};
use metnos_log::{Reader, Recorded};
use metnos_projections::machines::actors::Actors;
use metnos_projections::machines::catalog::Catalog;
use metnos_projections::machines::channels::Channels;
use metnos_projections::machines::documents::Documents;
use metnos_projections::machines::mnestome::Mnestome;
use metnos_projections::machines::schedules::Schedules;
use metnos_projections::projection::Projection;
use metnos_projections::views::configuration::Configuration;
use metnos_projections::views::state::States;
use metnos_projections::views::turns::Turns;
use serde::{Deserialize, Serialize};

use crate::signing::{hex, write_private};

macro_rules! projections {
    ($($(#[$doc:meta])* $field:ident: $projection:ty),+ $(,)?) => {
        /// All projections, as of one event. Cheap to clone: a clone shows how things stood then, whatever is folded later.
        #[derive(Clone, Default)]
        pub struct Projected {
            /// The number of that event.
            pub position: u64,
            $($(#[$doc])* pub $field: Arc<$projection>,)+
        }

        impl Projected {
            /// Takes one event in.
            pub fn evolve(&mut self, recorded: &Recorded) {
                $(Arc::make_mut(&mut self.$field).evolve(recorded);)+
                self.position = recorded.seq;
            }

            /// Their names, in the order in which they are shown.
            pub const NAMES: &'static [&'static str] = &[$(<$projection>::NAME),+];

            /// The canonical text of the one of that name.
            pub fn snapshot(&self, name: &str) -> Option<String> {
                $(if name == <$projection>::NAME {
                    return Some(self.$field.snapshot());
                })+
                None
            }

            /// The name and the digest of each.
            pub fn digests(&self) -> Vec<(&'static str, String)> {
                vec![$((<$projection>::NAME, self.$field.digest())),+]
            }

            fn write(&self, folder: &Path, head: &Head) -> io::Result<()> {
                $(write(folder, head, &*self.$field)?;)+
                Ok(())
            }

            /// What the files hold, with the head that they name; `None` when one is missing or differs from the others.
            fn read(folder: &Path) -> Option<(String, Self)> {
                let mut at: Option<(u64, String)> = None;
                $(
                    let (position, head, projection) = read::<$projection>(folder)?;
                    if *at.get_or_insert_with(|| (position, head.clone())) != (position, head) {
                        return None;
                    }
                    let $field = Arc::new(projection);
                )+
                let (position, head) = at?;
                Some((head, Self { position, $($field),+ }))
            }
        }
    };
}

projections! {
    /// The executors.
    catalog: Catalog,
    /// The turns.
    turns: Turns,
    /// The settings as the log knows them.
    configuration: Configuration,
    /// The people and their addresses.
    actors: Actors,
    /// What came over channels and what is to be said there.
    channels: Channels,
    /// The files that people sent.
    documents: Documents,
    /// What went into what.
    mnestome: Mnestome,
    /// The monthly states that were taken.
    states: States,
    /// What is to happen at times.
    schedules: Schedules,
}

/// The first line of a checkpoint file; the rest of it is the projection's canonical text.
#[derive(Serialize, Deserialize)]
struct Checkpoint {
    version: u32,
    position: u64,
    head: String,
    digest: String,
}

fn write<P: Projection>(folder: &Path, head: &Head, projection: &P) -> io::Result<()> {
    let state = projection.snapshot();
    let digest = blake3::hash(state.as_bytes()).to_hex().to_string();
    let checkpoint = Checkpoint { version: P::VERSION, position: head.size, head: hex(&head.head), digest };
    let first = serde_json::to_vec(&checkpoint).map_err(io::Error::other)?;
    write_private(&folder.join(format!("{}.jsonl", P::NAME)), &[&first, b"\n".as_slice(), state.as_bytes()].concat())
}

fn read<P: Projection>(folder: &Path) -> Option<(u64, String, P)> {
    let text = std::fs::read_to_string(folder.join(format!("{}.jsonl", P::NAME))).ok()?;
    let (first, state) = text.split_once('\n')?;
    let checkpoint: Checkpoint = serde_json::from_str(first).ok()?;
    // What it was saved with is the digest of just this text.
    let is_whole = blake3::hash(state.as_bytes()).to_hex().as_str() == checkpoint.digest;
    if checkpoint.version != P::VERSION || !is_whole {
        return None;
    }
    Some((checkpoint.position, checkpoint.head, P::restore(state)?))
}

/// Writes every checkpoint.
pub fn save(folder: &Path, head: &Head, projected: &Projected) -> io::Result<()> {
    projected.write(folder, head)
}

/// Reads the checkpoints; `None` when any is missing, differs from the others, or does not fit the log.
pub fn load(folder: &Path, reader: &Reader, head: &Head) -> Result<Option<Projected>, ReadError> {
    let Some((at, projected)) = Projected::read(folder).filter(|(_, then)| then.position <= head.size) else {
        return Ok(None);
    };
    let fits = hex(&reader.head_at(projected.position)?) == at;
    Ok(fits.then_some(projected))
}

/// A moment of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After this event.
    Seq(u64),
    /// After every event up to this time, µs.
    Time(i64),
}

/// The projections as they were at a moment, folded from event 1, and the chain's head there.
pub fn at(reader: &Reader, until: Until) -> Result<(Projected, [u8; 32]), ReadError> {
    let mut then = Projected::default();
    reader.each(1, |recorded| {
        let is_later = match until {
            Until::Seq(seq) => recorded.seq > seq,
            Until::Time(time) => recorded.time.0 > time,
        };
        if !is_later {
            then.evolve(&recorded);
        }
        Ok::<bool, ReadError>(!is_later)
    })?;
    let head = reader.head_at(then.position)?;
    Ok((then, head))
}
