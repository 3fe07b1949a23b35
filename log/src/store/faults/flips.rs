//! Every bit of every row of a small log, flipped one at a time; rows taken away and rows put in: verification reports each.

use std::sync::Arc;

use redb::Database;
use serde_json::json;

use super::chance::Chance;
use super::disk::Disk;
use super::rows::{Row, Rows, tables};
use super::start;
use crate::envelope::Draft;
use crate::event::executor::{Artefact, ExecutorInstalled};
use crate::event::instance::{CredentialRemoved, InstanceCreated};
use crate::event::turn::TurnClosed;
use crate::id::{EventId, Micros, TurnId};
use crate::kept::{INLINE_BYTES_MAX, Kept};
use crate::store::{Append, Expect, Log, open, plain_blob_hash};

/// More than a segment's header has.
const HEADER_BYTES: usize = 256;
/// Bits of each row, and rows of each table, that are flipped in a log that is not small.
const SAMPLED: usize = 24;
const ROWS_SAMPLED: usize = 6;

/// A log with events of several kinds, a stream of several, and a blob of each naming.
pub(super) fn small(disk: &Arc<Disk>) -> Log {
    let log = start(disk).unwrap();
    let event = |number: u8, stream: &str, event: crate::Event| Draft {
        id: EventId([number; 16]),
        time: Micros(1_700_000_000_000_000 + i64::from(number)),
        stream: stream.to_owned(),
        actor: "owner".to_owned(),
        turn: (number > 3).then_some(TurnId([9; 16])),
        cause: (number == 5).then_some(EventId([4; 16])),
        event,
        blobs: Vec::new(),
    };
    let created =
        InstanceCreated { log_id: log.id().to_owned(), version: "0.1.0".to_owned(), public_key: "ab".repeat(32) };
    let removed = |name: &str| CredentialRemoved { name: name.to_owned() }.into();
    let closed = TurnClosed {
        final_kind: "answer".to_owned(),
        class: None,
        message: Kept::text("a long line\n".repeat(INLINE_BYTES_MAX / 10)),
        counts: [("calls".to_owned(), 2)].into(),
    };
    let image = b"what a file held before".to_vec();
    let artefact = Artefact { file: "main.py".to_owned(), blob: plain_blob_hash(&image), bytes: image.len() as u64 };
    let installed = ExecutorInstalled {
        name: "x".to_owned(),
        version: "1.0.0".to_owned(),
        artefacts: vec![artefact],
        manifest: json!({}).into(),
        schema: json!({}).into(),
    };
    let appends = [
        vec![event(1, "instance", created.into())],
        vec![event(2, "instance", removed("weather")), event(3, "instance", removed("mail"))],
        vec![Draft { blobs: vec![(plain_blob_hash(&image), image)], ..event(4, "executor/x", installed.into()) }],
        vec![event(6, "turn/x", removed("door"))],
        vec![event(5, "turn/x", closed.into())],
    ];
    for events in appends {
        log.append(Append { events, expect: Expect::Any }).unwrap();
    }
    log
}

/// The same with a signed checkpoint behind it.
fn signed(disk: &Arc<Disk>) -> Log {
    let log = small(disk);
    log.checkpoint().unwrap();
    log
}

/// One with a sealed segment, and checkpoints after it.
fn sealed(disk: &Arc<Disk>) -> Log {
    let log = small(disk);
    let mut chance = Chance::of(1);
    let mut number = 100_u64;
    while log.reader().verify(|_, _| {}).unwrap().segments == 0 {
        let drafts = (0..100).map(|_| {
            number += 1;
            let mut random = [0; 10];
            random[2..].copy_from_slice(&number.to_be_bytes());
            let id = EventId::new(Micros(1_700_000_000_000_000), random);
            let event = CredentialRemoved { name: chance.text(900) }.into();
            let (stream, actor) = (format!("turn/{}", number / 9), "owner".to_owned());
            Draft { id, time: Micros(1), stream, actor, turn: None, cause: None, event, blobs: Vec::new() }
        });
        log.append(Append { events: drafts.collect(), expect: Expect::Any }).unwrap();
    }
    log.checkpoint().unwrap();
    log
}

/// A log whose rows are changed behind its back.
struct Altered {
    log: Log,
    tables: Vec<Box<dyn Rows>>,
    rows: Vec<Vec<Row>>,
    tried: usize,
    missed: Vec<String>,
}

impl Altered {
    fn new(made: fn(&Arc<Disk>) -> Log) -> Self {
        let log = made(&Arc::new(Disk::default()));
        assert!(reported(&log).is_none(), "{:?}", reported(&log));
        let tables = tables(&log.database());
        let rows = tables.iter().map(|table| table.all(&log.database())).collect();
        Self { log, tables, rows, tried: 0, missed: Vec::new() }
    }

    /// Takes rows of a table away, puts others in, looks, and puts all back.
    fn alter(&mut self, table: usize, gone: Option<&[u8]>, put: Option<&Row>, what: impl Fn() -> String) {
        let rows = &self.tables[table];
        if put.is_some_and(|(key, _)| !rows.can_be_key(key)) {
            return;
        }
        change(&self.log.database(), |transaction| {
            gone.inspect(|key| rows.remove(transaction, key));
            put.inspect(|row| rows.put(transaction, row));
        });
        self.tried += 1;
        if reported(&self.log).is_none() {
            self.missed.push(format!("{}: {}", rows.name(), what()));
        }
        change(&self.log.database(), |transaction| {
            put.inspect(|(key, _)| rows.remove(transaction, key));
            let there = |key: &[u8]| self.rows[table].iter().find(|(own, _)| own == key);
            put.and_then(|(key, _)| there(key)).inspect(|row| rows.put(transaction, row));
            gone.and_then(there).inspect(|row| rows.put(transaction, row));
        });
    }

    #[track_caller]
    fn ends(self) {
        let still: Vec<Vec<Row>> = self.tables.iter().map(|table| table.all(&self.log.database())).collect();
        assert!(still == self.rows && reported(&self.log).is_none(), "the rows were not put back");
        let missed = self.missed.join("\n");
        assert!(self.missed.is_empty(), "{} of {} were not reported:\n{missed}", self.missed.len(), self.tried);
        eprintln!("{} changed rows, each reported", self.tried);
    }
}

fn change(database: &Database, change: impl FnOnce(&redb::WriteTransaction)) {
    let transaction = database.begin_write().unwrap();
    change(&transaction);
    transaction.commit().unwrap();
}

/// What is said of the log as it lies there, by opening it or by verifying it.
fn reported(log: &Log) -> Option<String> {
    if let Err(fault) = open::prepare(&log.database(), &[0; 16]) {
        return Some(fault.at(std::path::Path::new("in memory")).to_string());
    }
    log.reader().verify(|_, _| {}).err().map(|damage| damage.to_string())
}

/// The same bytes with one bit the other way round, for each bit.
fn flips(bytes: &[u8]) -> impl Iterator<Item = (usize, Vec<u8>)> {
    (0..bytes.len() * 8).map(|bit| {
        let mut flipped = bytes.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        (bit, flipped)
    })
}

#[test]
fn every_flipped_bit_of_every_row_is_reported() {
    let mut altered = Altered::new(signed);
    for (table, rows) in altered.rows.clone().into_iter().enumerate() {
        for (key, value) in rows {
            for (bit, flipped) in flips(&value) {
                let row = (key.clone(), flipped);
                altered.alter(table, None, Some(&row), || {
                    format!("value of {key:02x?}, byte {} bit {}", bit / 8, bit % 8)
                });
            }
            for (bit, flipped) in flips(&key) {
                let row = (flipped, value.clone());
                altered.alter(table, Some(&key), Some(&row), || {
                    format!("key {key:02x?}, byte {} bit {}", bit / 8, bit % 8)
                });
            }
        }
    }
    altered.ends();
}

#[test]
fn every_row_that_is_gone_or_too_many_is_reported() {
    let mut altered = Altered::new(signed);
    for (table, rows) in altered.rows.clone().into_iter().enumerate() {
        for (key, value) in &rows {
            altered.alter(table, Some(key), None, || format!("without {key:02x?}"));
            for (bit, other) in flips(key) {
                if rows.iter().all(|(key, _)| *key != other) {
                    let row = (other, value.clone());
                    altered.alter(table, None, Some(&row), || format!("{key:02x?} again with bit {bit} flipped"));
                }
            }
        }
    }
    altered.ends();
}

/// Of a sealed log the segment's header and what stands before it bit by bit, of its frames and of all other rows as many
/// bits as time allows.
#[test]
fn flipped_bits_of_a_sealed_log_are_reported() {
    let mut altered = Altered::new(sealed);
    let mut chance = Chance::of(7);
    for (table, rows) in altered.rows.clone().into_iter().enumerate() {
        let segments = altered.tables[table].name() == "segments";
        assert!(!segments || !rows.is_empty(), "nothing is sealed");
        for (key, value) in chosen(rows, &mut chance) {
            let every = if segments { HEADER_BYTES * 8 } else { 0 };
            let some = (0..SAMPLED).map(|_| chance.below(value.len() * 8));
            let bits: Vec<usize> = (0..every.min(value.len() * 8)).chain(some).collect();
            for bit in bits {
                let mut flipped = value.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                let row = (key.clone(), flipped);
                altered.alter(table, None, Some(&row), || format!("value of {key:02x?}, bit {bit}"));
            }
        }
    }
    altered.ends();
}

/// Some rows of a table, the first and the last among them.
fn chosen(mut rows: Vec<Row>, chance: &mut Chance) -> Vec<Row> {
    while rows.len() > ROWS_SAMPLED {
        rows.remove(chance.within(1..=rows.len() - 2));
    }
    rows
}
