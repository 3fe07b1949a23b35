//! Checkpoints of projections: files that save a rebuild, believed only when the chain says so.
//!
//! A checkpoint holds the position and the log's head there. On open the leaves after it must lead to the log's head;
//! if they do not, or anything else is off, everything is folded again from event 1.

use std::io;
use std::path::Path;

use metnos_log::Reader;
use metnos_log::chain;
use metnos_log::store::{Head, ReadError};
use metnos_projections::machines::catalog::Catalog;
use metnos_projections::projection::Projection;
use metnos_projections::views::configuration::Configuration;
use metnos_projections::views::turns::Turns;
use serde::{Deserialize, Serialize};

use crate::signing::{hex, write_private};

/// Projections as a checkpoint gave them back.
pub struct Projected {
    /// The number of the last event that they hold.
    pub position: u64,
    /// The executors.
    pub catalog: Catalog,
    /// The turns.
    pub turns: Turns,
    /// The settings.
    pub configuration: Configuration,
}

/// One checkpoint file.
#[derive(Serialize, Deserialize)]
struct Checkpoint {
    version: u32,
    position: u64,
    head: String,
    digest: String,
    state: String,
}

fn write<P: Projection>(folder: &Path, head: &Head, projection: &P) -> io::Result<()> {
    let checkpoint = Checkpoint {
        version: P::VERSION,
        position: head.size,
        head: hex(&head.head),
        digest: projection.digest(),
        state: projection.snapshot(),
    };
    let text = serde_json::to_vec(&checkpoint).map_err(io::Error::other)?;
    write_private(&folder.join(format!("{}.json", P::NAME)), &text)
}

fn read<P: Projection>(folder: &Path) -> Option<(u64, String, P)> {
    let text = std::fs::read(folder.join(format!("{}.json", P::NAME))).ok()?;
    let checkpoint: Checkpoint = serde_json::from_slice(&text).ok()?;
    let projection = P::restore(&checkpoint.state)?;
    let whole = checkpoint.version == P::VERSION && projection.digest() == checkpoint.digest;
    whole.then_some((checkpoint.position, checkpoint.head, projection))
}

/// Writes every checkpoint.
pub fn save(
    folder: &Path,
    head: &Head,
    catalog: &Catalog,
    turns: &Turns,
    configuration: &Configuration,
) -> io::Result<()> {
    write(folder, head, catalog)?;
    write(folder, head, turns)?;
    write(folder, head, configuration)
}

/// Reads the checkpoints; `None` when any is missing, differs from the others, or does not fit the log.
pub fn load(folder: &Path, reader: &Reader, head: &Head) -> Result<Option<Projected>, ReadError> {
    let parts = (read::<Catalog>(folder), read::<Turns>(folder), read::<Configuration>(folder));
    let (Some((position, at, catalog)), Some((second, at_second, turns)), Some((third, at_third, configuration))) =
        parts
    else {
        return Ok(None);
    };
    if (position, &at) != (second, &at_second) || (position, &at) != (third, &at_third) || position > head.size {
        return Ok(None);
    }
    let fits = leads_to_head(reader, position, &at, head)?;
    Ok(fits.then_some(Projected { position, catalog, turns, configuration }))
}

/// Whether the leaves after `position` chain the checkpoint's head to the log's.
fn leads_to_head(reader: &Reader, position: u64, at: &str, head: &Head) -> Result<bool, ReadError> {
    let Ok(start) = blake3::Hash::from_hex(at) else { return Ok(false) };
    let mut chained = *start.as_bytes();
    reader.each(position + 1, |recorded| {
        chained = chain::advance(&chained, &recorded.leaf);
        Ok::<bool, ReadError>(true)
    })?;
    Ok(chained == head.head)
}

/// A moment of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After this event.
    Seq(u64),
    /// After every event up to this time, µs.
    Time(i64),
}

/// The projections as they were at a moment, folded from event 1.
pub fn at(reader: &Reader, until: Until) -> Result<Projected, ReadError> {
    let mut then = Projected {
        position: 0,
        catalog: Catalog::default(),
        turns: Turns::default(),
        configuration: Configuration::default(),
    };
    reader.each(1, |recorded| {
        let is_later = match until {
            Until::Seq(seq) => recorded.seq > seq,
            Until::Time(time) => recorded.time.0 > time,
        };
        if is_later {
            return Ok::<bool, ReadError>(false);
        }
        then.catalog.evolve(&recorded);
        then.turns.evolve(&recorded);
        then.configuration.evolve(&recorded);
        then.position = recorded.seq;
        Ok(true)
    })?;
    Ok(then)
}
