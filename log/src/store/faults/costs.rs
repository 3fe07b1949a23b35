//! What a commit costs the disk, counted where redb asks for it: syncs, and bytes beside those of the payloads.

use std::sync::Arc;

use super::chance::Chance;
use super::disk::Disk;
use super::start;
use crate::envelope::Draft;
use crate::event::instance::CredentialRemoved;
use crate::id::{EventId, Micros};
use crate::store::{Append, Expect, Log};

/// About how many bytes a payload has: what the figures of the design were measured with.
const PAYLOAD_BYTES: usize = 361;
/// The events that are there before anything is counted: the file's growth and the trees' height are then those of every
/// day.
const EVENTS_BEFORE: u32 = 64 * 64;

/// What commits of one size cost on average.
#[derive(Debug)]
struct Cost {
    /// Syncs of a hundred commits.
    syncs: u64,
    /// Bytes written a commit.
    written: u64,
    /// Bytes of payload a commit.
    payload: u64,
}

fn appended(log: &Log, chance: &mut Chance, numbers: std::ops::Range<u32>) -> u64 {
    let mut payload = 0;
    let drafts = numbers.map(|number| {
        let event: crate::Event = CredentialRemoved { name: chance.text(PAYLOAD_BYTES - 16) }.into();
        payload += event.encode().len() as u64;
        let time = Micros(1_700_000_000_000_000 + i64::from(number) * 1000);
        let mut random = [0; 10];
        random[6..].copy_from_slice(&number.to_be_bytes());
        let (id, stream, actor) = (EventId::new(time, random), format!("turn/{}", number / 12), "owner".to_owned());
        Draft { id, time, stream, actor, turn: None, cause: None, event, blobs: Vec::new() }
    });
    log.append(Append { events: drafts.collect(), expect: Expect::Any }).unwrap();
    payload
}

fn cost(events: u32, commits: u32) -> Cost {
    let disk = Arc::new(Disk::default());
    let (log, mut chance) = (start(&disk).unwrap(), Chance::of(u64::from(events)));
    for first in (0..EVENTS_BEFORE).step_by(64) {
        appended(&log, &mut chance, first..first + 64);
    }
    disk.asked();
    let firsts = (0..commits).map(|commit| EVENTS_BEFORE + commit * events);
    let payload: u64 = firsts.map(|first| appended(&log, &mut chance, first..first + events)).sum();
    let (syncs, written) = disk.asked();
    let commits = u64::from(commits);
    Cost { syncs: syncs * 100 / commits, written: written / commits, payload: payload / commits }
}

/// The figures of design 2-log, counted: a commit is one sync; one event with all its rows is at most 60 KiB; at 512 events
/// what is written is at most twice the payloads.
#[test]
fn a_commit_is_one_sync_and_few_pages() {
    for (events, commits, syncs_max) in [(1, 200, 102), (8, 100, 102), (64, 100, 102), (512, 60, 110)] {
        let cost = cost(events, commits);
        eprintln!("{events} events a commit: {cost:?}, {}% of the payload", cost.written * 100 / cost.payload);
        assert!(cost.syncs <= syncs_max, "{events} events a commit: {cost:?}");
        let written_max = match events {
            1 => 60 << 10,
            512 => cost.payload * 2,
            _ => u64::MAX,
        };
        assert!(cost.written <= written_max, "{events} events a commit: {cost:?}");
    }
}
