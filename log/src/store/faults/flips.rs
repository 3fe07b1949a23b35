//! Every bit of every row of two small logs and of an archive file, flipped one at a time; rows taken away, put in and
//! exchanged; the archive file cut at every length: opening or verifying the log reports each.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use redb::{Database, Durability};
use tempfile::TempDir;

use super::cuts::keys;
use super::rows::{Row, Rows, tables};
use super::sealed::{Image, open_beside, sealed, signed};
use crate::chain::Chain;
use crate::note::Checkpoint;
use crate::store::{Log, open};

/// A change of the rows of one table.
#[derive(Default)]
struct Change {
    table: usize,
    gone: Vec<Vec<u8>>,
    put: Vec<Row>,
}

/// A log whose rows are changed behind its back.
struct Altered {
    log: Log,
    folder: TempDir,
    tables: Vec<Box<dyn Rows>>,
    rows: Vec<Vec<Row>>,
}

impl Altered {
    fn of(image: &Image) -> Self {
        let folder = image.laid_out();
        let log = open_beside(&folder, image.closed.clone()).unwrap();
        assert_eq!(reported(&log), None);
        let tables = tables(&log.database());
        let rows = tables.iter().map(|table| table.all(&log.database())).collect();
        Self { log, folder, tables, rows }
    }

    /// Makes the change, looks, and takes it back.
    fn is_reported(&self, change: &Change) -> bool {
        let rows = &self.tables[change.table];
        write(&self.log.database(), |transaction| {
            change.gone.iter().for_each(|key| rows.remove(transaction, key));
            change.put.iter().for_each(|row| rows.put(transaction, row));
        });
        let reported = reported(&self.log).is_some();
        write(&self.log.database(), |transaction| {
            change.put.iter().for_each(|(key, _)| rows.remove(transaction, key));
            let touched: BTreeSet<&Vec<u8>> = change.gone.iter().chain(change.put.iter().map(|(key, _)| key)).collect();
            let own = self.rows[change.table].iter().filter(|(key, _)| touched.contains(key));
            own.for_each(|row| rows.put(transaction, row));
        });
        reported
    }

    fn is_as_it_was(&self) -> bool {
        let still: Vec<Vec<Row>> = self.tables.iter().map(|table| table.all(&self.log.database())).collect();
        still == self.rows && reported(&self.log).is_none()
    }

    fn table(&self, name: &str) -> (usize, &[Row]) {
        let table = self.tables.iter().position(|table| table.name() == name).unwrap();
        (table, &self.rows[table])
    }

    /// Every bit of every value and of every key.
    fn flips(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        for (table, rows) in self.rows.iter().enumerate() {
            for (key, value) in rows {
                let put = |value| vec![(key.clone(), value)];
                changes.extend(flipped(value).map(|value| Change { table, put: put(value), ..Change::default() }));
                for other in flipped(key).filter(|other| self.tables[table].can_be_key(other)) {
                    let put = vec![(other, value.clone())];
                    changes.push(Change { table, gone: vec![key.clone()], put });
                }
            }
        }
        changes
    }

    /// Rows that are gone, that are there twice, and two that have taken each other's place.
    fn exchanges(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        for (table, rows) in self.rows.iter().enumerate() {
            let is_there = |key: &Vec<u8>| rows.iter().any(|(own, _)| own == key);
            for (key, value) in rows {
                changes.push(Change { table, gone: vec![key.clone()], ..Change::default() });
                let others = flipped(key).filter(|other| self.tables[table].can_be_key(other) && !is_there(other));
                let put = |other| vec![(other, value.clone())];
                changes.extend(others.map(|other| Change { table, put: put(other), ..Change::default() }));
            }
            for pair in rows.windows(2).filter(|pair| pair[0].1 != pair[1].1) {
                let put = vec![(pair[0].0.clone(), pair[1].1.clone()), (pair[1].0.clone(), pair[0].1.clone())];
                changes.push(Change { table, put, ..Change::default() });
            }
        }
        changes.extend(self.true_notes());
        changes
    }

    /// Checkpoints that are true and signed, and that were never written: put in, and in another's place.
    fn true_notes(&self) -> Vec<Change> {
        let (table, rows) = self.table("checkpoints");
        let (mut chain, mut changes) = (Chain::default(), Vec::new());
        let leaves = self.log.reader().each_leaf(1, self.log.head().size, |size, leaf| {
            chain.push(leaf);
            let (log_id, root, head) = (self.log.id().to_owned(), chain.range.root(), chain.head);
            let note = Checkpoint { log_id, size, root, head }.signed(&keys().signing).into_bytes();
            let row = (size.to_le_bytes().to_vec(), note);
            if rows.iter().all(|(key, _)| *key != row.0) {
                let gone = rows.iter().map(|(key, _)| vec![key.clone()]).chain([Vec::new()]);
                changes.extend(gone.map(|gone| Change { table, gone, put: vec![row.clone()] }));
            }
            Ok::<(), crate::store::ReadError>(())
        });
        leaves.unwrap();
        assert!(!changes.is_empty());
        changes
    }
}

fn write(database: &Database, change: impl FnOnce(&redb::WriteTransaction)) {
    let mut transaction = database.begin_write().unwrap();
    // Readers see it, and nothing else is asked of it.
    transaction.set_durability(Durability::None).unwrap();
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
fn flipped(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    (0..bytes.len() * 8).map(|bit| {
        let mut flipped = bytes.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        flipped
    })
}

/// Tries each change, on as many copies of the log as there are processors.
#[track_caller]
fn check(image: &Image, changes: impl Fn(&Altered) -> Vec<Change>) {
    let (next, missed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let changes = changes(&Altered::of(image));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from).min(8) {
            scope.spawn(|| {
                let altered = Altered::of(image);
                while let Some(change) = changes.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if !altered.is_reported(change) {
                        let said = said(&altered, change);
                        missed.lock().unwrap().push(said);
                    }
                }
                assert!(altered.is_as_it_was(), "the rows were not put back");
            });
        }
    });
    let missed = missed.into_inner().unwrap();
    assert!(missed.is_empty(), "{} of {} were not reported:\n{}", missed.len(), changes.len(), missed.join("\n"));
    eprintln!("{} changed rows, each reported", changes.len());
}

fn said(altered: &Altered, change: &Change) -> String {
    let own = |key: &Vec<u8>| altered.rows[change.table].iter().find(|(own, _)| own == key).map(|(_, value)| value);
    let at = |(key, value): &Row| {
        let differs = own(key).and_then(|own| own.iter().zip(value).position(|(own, put)| own != put));
        format!("{key:02x?} from byte {differs:?} on")
    };
    let put: Vec<String> = change.put.iter().map(at).collect();
    format!("{}: without {:02x?}, with {put:?}", altered.tables[change.table].name(), change.gone)
}

#[test]
fn every_flipped_bit_of_a_small_log_is_reported() {
    check(&signed(), Altered::flips);
}

#[test]
fn every_flipped_bit_of_a_sealed_and_archived_log_is_reported() {
    check(&sealed(), Altered::flips);
}

#[test]
fn every_row_that_is_gone_too_many_or_exchanged_is_reported() {
    check(&signed(), Altered::exchanges);
    check(&sealed(), Altered::exchanges);
}

/// The archive file with any bit flipped, cut short anywhere, longer, away, with what was erased from it, and with other
/// segments of this log or that of another log in its place.
#[test]
fn every_change_of_an_archive_file_is_reported() {
    let (image, other) = (sealed(), sealed());
    let altered = Altered::of(&image);
    let (name, bytes) = &image.archive[0];
    let path: PathBuf = altered.folder.path().join("archive").join(name);
    let segments = altered.table("segments").1.iter().map(|(_, value)| value.clone());
    let cut = (0..bytes.len()).map(|length| bytes[..length].to_vec());
    let longer = [[bytes.as_slice(), &[0]].concat(), [bytes.as_slice(), bytes].concat()];
    let others = [image.unerased.clone(), other.archive[0].1.clone()];
    let mut tried = 0;
    for laid in flipped(bytes).chain(cut).chain(longer).chain(segments).chain(others) {
        std::fs::write(&path, &laid).unwrap();
        altered.log.archives.forget();
        tried += 1;
        let differs = laid.iter().zip(bytes).position(|(laid, own)| laid != own);
        assert!(reported(&altered.log).is_some(), "{} bytes, from byte {differs:?} on", laid.len());
    }
    std::fs::remove_file(&path).unwrap();
    altered.log.archives.forget();
    assert!(reported(&altered.log).is_some());
    std::fs::write(&path, bytes).unwrap();
    altered.log.archives.forget();
    assert!(altered.is_as_it_was());
    eprintln!("{tried} changes of {} bytes, each reported", bytes.len());
}

/// What the sealed log must have, so that the rest of this file says something.
#[test]
fn the_sealed_log_has_all_that_a_log_can_have() {
    let altered = Altered::of(&sealed());
    let count = |table: &str| altered.table(table).1.len();
    assert!(count("segments") == 2 && count("tail") > 2 && count("blobs") == 2, "{} in the tail", count("tail"));
    assert!(count("checkpoints") > 2, "{} checkpoints", count("checkpoints"));
    let bytes: usize = altered.rows.iter().flatten().map(|(key, value)| key.len() + value.len()).sum();
    let rows: usize = altered.rows.iter().map(Vec::len).sum();
    eprintln!("{rows} rows of {bytes} bytes");
}
