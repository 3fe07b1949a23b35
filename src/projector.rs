//! All projections of an instance: folded together, checkpointed each in its own file, and kept as of moments of the past
//! (design 2-log, «Projections»).
//!
//! A file saves a rebuild and is believed only when the chain says so: it names its position and the log's head there. One
//! that is missing, of another version, or of another chain is folded again from event 1, alone; the others are not.

use std::collections::BTreeMap;
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

use crate::faults;
use crate::moments;
use crate::signing::{hex, write_private};

macro_rules! projections {
    ($($(#[$doc:meta])* $field:ident: $projection:ty),+ $(,)?) => {
        /// All projections, as of one event. Cheap to clone: a clone shows how things stood then, whatever is folded later.
        #[derive(Clone, Default)]
        pub struct Projected {
            /// The number of that event.
            pub position: u64,
            /// The greatest time of an event so far, µs.
            pub latest: i64,
            $($(#[$doc])* pub $field: Arc<$projection>,)+
        }

        impl Projected {
            /// Takes one event in.
            pub fn evolve(&mut self, recorded: &Recorded) {
                recorded.each(|recorded| {
                    $(Arc::make_mut(&mut self.$field).evolve(recorded);)+
                });
                self.latest = if self.position == 0 { recorded.time.0 } else { self.latest.max(recorded.time.0) };
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

            /// The name, the version and the text of each.
            pub fn snapshots(&self) -> Vec<(&'static str, u32, String)> {
                vec![$((<$projection>::NAME, <$projection>::VERSION, self.$field.snapshot())),+]
            }

            /// What [`Self::snapshots`] gave; `None` where one is missing, of another version, or no such text.
            pub(crate) fn restored(position: u64, latest: i64, texts: &BTreeMap<String, (u32, String)>) -> Option<Self> {
                $(
                    let (version, text) = texts.get(<$projection>::NAME)?;
                    let $field = Arc::new(<$projection>::restore(text).filter(|_| *version == <$projection>::VERSION)?);
                )+
                Some(Self { position, latest, $($field),+ })
            }

            fn write(&self, folder: &Path, head: &Head) -> io::Result<()> {
                $(write(folder, head, self.latest, &*self.$field)?;)+
                Ok(())
            }
        }

        /// How far each projection came.
        #[derive(Default)]
        struct Positions {
            $($field: u64,)+
        }

        impl Positions {
            /// The least and the greatest.
            fn span(&self) -> (u64, u64) {
                let all = [$(self.$field),+];
                let bound = |least| if least { all.iter().min() } else { all.iter().max() };
                (bound(true).copied().unwrap_or(0), bound(false).copied().unwrap_or(0))
            }
        }

        impl Projected {
            /// Takes one event into those that are not as far.
            fn catch_up_with(&mut self, recorded: &Recorded, positions: &Positions) {
                $(
                    if positions.$field < recorded.seq {
                        recorded.each(|recorded| Arc::make_mut(&mut self.$field).evolve(recorded));
                    }
                )+
            }

            /// What the files hold that the chain bears out, each as far as it is.
            fn read(folder: &Path, known: &mut Known<'_>) -> Result<(Self, Positions), ReadError> {
                let (mut projected, mut positions) = (Self::default(), Positions::default());
                $(
                    if let Some((checkpoint, projection)) = read::<$projection>(folder) {
                        if known.bears_out(&checkpoint)? {
                            positions.$field = checkpoint.position;
                            projected.latest = projected.latest.max(checkpoint.latest);
                            projected.$field = Arc::new(projection);
                        }
                    }
                )+
                Ok((projected, positions))
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
    latest: i64,
    digest: String,
}

fn write<P: Projection>(folder: &Path, head: &Head, latest: i64, projection: &P) -> io::Result<()> {
    let state = projection.snapshot();
    let digest = blake3::hash(state.as_bytes()).to_hex().to_string();
    let checkpoint = Checkpoint { version: P::VERSION, position: head.size, head: hex(&head.head), latest, digest };
    let first = serde_json::to_vec(&checkpoint).map_err(io::Error::other)?;
    write_private(&folder.join(format!("{}.jsonl", P::NAME)), &[&first, b"\n".as_slice(), state.as_bytes()].concat())
}

fn read<P: Projection>(folder: &Path) -> Option<(Checkpoint, P)> {
    let text = std::fs::read_to_string(folder.join(format!("{}.jsonl", P::NAME))).ok()?;
    let (first, state) = text.split_once('\n')?;
    let checkpoint: Checkpoint = serde_json::from_str(first).ok()?;
    // What it was saved with is the digest of just this text.
    let is_whole = blake3::hash(state.as_bytes()).to_hex().as_str() == checkpoint.digest;
    if checkpoint.version != P::VERSION || !is_whole {
        return None;
    }
    Some((checkpoint, P::restore(state)?))
}

/// What the log says of positions that files name.
struct Known<'r> {
    reader: &'r Reader,
    size: u64,
    heads: BTreeMap<u64, String>,
    /// The farthest position behind the log's end, or of another chain, that a file names.
    beyond: Option<u64>,
}

impl Known<'_> {
    fn bears_out(&mut self, checkpoint: &Checkpoint) -> Result<bool, ReadError> {
        let position = checkpoint.position;
        if position <= self.size && !self.heads.contains_key(&position) {
            self.heads.insert(position, hex(&self.reader.head_at(position)?));
        }
        let is_borne_out = self.heads.get(&position) == Some(&checkpoint.head);
        if !is_borne_out {
            self.beyond = self.beyond.max(Some(position));
        }
        Ok(is_borne_out)
    }
}

/// Writes every checkpoint.
pub fn save(folder: &Path, head: &Head, projected: &Projected) -> io::Result<()> {
    projected.write(folder, head)
}

/// Is told how many events of how many are folded.
pub type Watch<'a> = &'a dyn Fn(u64, u64);

/// Every so many events it is said how far a fold is.
const TELL_EVERY: u64 = 1024;

/// Says how far a fold is, where it is time to.
pub(crate) fn tell(watch: Watch<'_>, done: u64, of: u64) {
    if done.is_multiple_of(TELL_EVERY) {
        watch(done, of);
        faults::reach("folding");
    }
}

/// What the files give.
pub struct Loaded {
    /// The projections, all as of the newest event that one of the files knew.
    pub projected: Projected,
    /// A file was made of this many events of a history that is not the log's: the log is not what it was.
    pub beyond: Option<u64>,
}

/// Reads the checkpoints. Those that are missing or not believed are folded anew, up to where the others are; the rest is for
/// whoever catches up.
pub fn load(folder: &Path, reader: &Reader, head: &Head, watch: Watch<'_>) -> Result<Loaded, ReadError> {
    let mut known = Known { reader, size: head.size, heads: BTreeMap::new(), beyond: None };
    let (mut projected, positions) = Projected::read(folder, &mut known)?;
    let (least, greatest) = positions.span();
    if least < greatest {
        reader.each_lent(least + 1, |recorded| {
            if recorded.seq <= greatest {
                projected.catch_up_with(recorded, &positions);
                tell(watch, recorded.seq, head.size);
            }
            Ok::<bool, ReadError>(recorded.seq < greatest)
        })?;
    }
    projected.position = greatest;
    Ok(Loaded { projected, beyond: known.beyond })
}

/// A moment of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After this event.
    Seq(u64),
    /// Before the first event that is later than this time, µs.
    Time(i64),
}

/// The projections as they were at a moment, and the chain's head there. Begins at the nearest moment that was kept before it
/// in `folder`, and keeps those that it passes.
pub fn at(folder: &Path, reader: &Reader, until: Until) -> Result<(Projected, [u8; 32]), ReadError> {
    let mut then = moments::nearest(folder, reader, until)?.unwrap_or_default();
    reader.each_lent(then.position + 1, |recorded| {
        let is_later = match until {
            Until::Seq(seq) => recorded.seq > seq,
            Until::Time(time) => recorded.time.0 > time,
        };
        if !is_later {
            then.evolve(recorded);
            moments::keep_if_due(folder, reader, &then)?;
        }
        Ok::<bool, ReadError>(!is_later)
    })?;
    let head = reader.head_at(then.position)?;
    Ok((then, head))
}
