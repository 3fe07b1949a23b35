//! What `meta` says of all signed checkpoints together: how many there are, and a digest that each row has its part in. One
//! that is gone, was put in, or took another's place is noticed by it, and a row costs the same however many there are.
//!
//! It is no proof: whoever can write the file can write it too. Signatures are the proof of what is there.

use std::ops::Range;

use redb::{ReadableTable, WriteTransaction};

use super::open::Fault;
use super::tables::{CHECKPOINTS, META, META_CHECKPOINTS};

/// Key derivation context of a row's part.
const CONTEXT: &str = "metnos log checkpoint row v1";

/// All rows of `checkpoints`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) count: u64,
    /// The parts of all rows, one upon the other by exclusive or: in whatever order.
    digest: [u8; 32],
}

impl Tally {
    /// Of a table as it lies there.
    pub(super) fn of(table: &impl ReadableTable<u64, &'static [u8]>) -> Result<Self, redb::StorageError> {
        let mut tally = Self::default();
        for row in table.iter()? {
            let (size, note) = row?;
            tally.add(size.value(), note.value());
        }
        Ok(tally)
    }

    /// As `meta` has it.
    pub(super) fn read(meta: &impl ReadableTable<&'static str, &'static [u8]>) -> Result<Self, Fault> {
        let stored = meta.get(META_CHECKPOINTS)?;
        let tally = stored.as_ref().and_then(|stored| Self::from_bytes(stored.value()));
        tally.ok_or_else(|| Fault::Damaged("it does not say which checkpoints it has".to_owned()))
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (count, digest) = bytes.split_first_chunk::<8>()?;
        Some(Self { count: u64::from_le_bytes(*count), digest: digest.try_into().ok()? })
    }

    /// As `meta` keeps it.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        [self.count.to_le_bytes().as_slice(), &self.digest].concat()
    }

    pub(super) fn add(&mut self, size: u64, note: &[u8]) {
        self.count = self.count.wrapping_add(1);
        self.mix(size, note);
    }

    fn take(&mut self, size: u64, note: &[u8]) {
        self.count = self.count.wrapping_sub(1);
        self.mix(size, note);
    }

    fn mix(&mut self, size: u64, note: &[u8]) {
        let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
        hasher.update(&size.to_le_bytes()).update(note);
        for (byte, part) in self.digest.iter_mut().zip(hasher.finalize().as_bytes()) {
            *byte ^= part;
        }
    }
}

/// Puts a note into the table, lets those of a range go, and says in `meta` what is there then.
pub(super) fn put(
    transaction: &WriteTransaction,
    (size, note): (u64, &[u8]),
    gone: Range<u64>,
) -> Result<(), redb::Error> {
    let (mut checkpoints, mut meta) = (transaction.open_table(CHECKPOINTS)?, transaction.open_table(META)?);
    let mut tally = Tally::read(&meta).map_err(|fault| redb::Error::Corrupted(fault.to_string()))?;
    checkpoints.retain_in(gone, |size, note| {
        tally.take(size, note);
        false
    })?;
    if let Some(before) = checkpoints.insert(size, note)? {
        tally.take(size, before.value());
    }
    tally.add(size, note);
    meta.insert(META_CHECKPOINTS, tally.to_bytes().as_slice())?;
    Ok(())
}
