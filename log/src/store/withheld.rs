//! What opening writes waits in memory until the file is known to be a sound log of ours.
//!
//! redb repairs a file that was not closed cleanly, and marks one that it opens, before anybody can ask what is in it. Of a damaged,
//! foreign or newer file not a byte may become another one. So redb gets a backend that keeps writes for itself; once the file
//! is known, they are done to it in the order in which redb did them, syncs among them, and all that follows goes straight through.

use std::collections::BTreeMap;
use std::io;
use std::ops::Bound;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::{BackendError, Builder, Database, DatabaseError, StorageBackend};

use super::files;
use super::open::CACHE_BYTES;

/// The unit in which changed bytes are kept.
const PAGE_BYTES: usize = 4096;
const PAGE: u64 = PAGE_BYTES as u64;
/// The cache of a database whose pages are looked at once each.
const CACHE_BYTES_ONCE: usize = 64 << 10;

/// An open database, and what it wrote so far where that waits.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) database: Database,
    pub(super) writes: Withheld,
}

impl Opened {
    /// Opens what the storage holds, without a write to it.
    pub(super) fn on(storage: impl StorageBackend) -> Result<Self, DatabaseError> {
        Self::with(Shared::of(Box::new(storage)), Database::builder().set_cache_size(CACHE_BYTES))
    }

    /// Makes a new one there, written to at once.
    pub(super) fn made_on(storage: impl StorageBackend) -> Result<Self, DatabaseError> {
        let shared = Shared { is_let_go: AtomicBool::new(true), ..Shared::of(Box::new(storage)) };
        Self::with(shared, Database::builder().set_cache_size(CACHE_BYTES))
    }

    fn with(shared: Shared, builder: &mut Builder) -> Result<Self, DatabaseError> {
        let shared = Arc::new(shared);
        let writes = Withheld(Arc::clone(&shared));
        let database = builder.create_with_backend(Backend(shared))?;
        Ok(Self { database, writes })
    }

    /// What the next opening would make of the file if the process were killed now, every page that leads somewhere held against
    /// its checksum. Nobody may write meanwhile, and nothing is written: what redb mends, it mends in memory.
    pub(super) fn as_after_a_kill(&self) -> Result<Database, DatabaseError> {
        let beneath = Beneath(Backend(Arc::clone(&self.writes.0)));
        let shared = Shared::of(Box::new(beneath));
        let mut builder = Database::builder();
        builder.set_cache_size(CACHE_BYTES_ONCE).set_check_integrity_on_open(true);
        Self::with(shared, &mut builder).map(|opened| opened.database)
    }
}

/// Opens the file of a store to read it: whatever opening writes stays in memory.
pub fn read_untouched(path: &Path) -> Result<Database, DatabaseError> {
    files::open_database(path).map(|opened| opened.database)
}

/// Writes that wait. Dropped, they are never done.
#[derive(Clone, Debug)]
pub(super) struct Withheld(Arc<Shared>);

impl Withheld {
    /// Does all that waits, in order; from here on nothing waits any more. Where that fails, the file is as a power cut in the
    /// midst of it would have left it, and takes nothing more.
    pub(super) fn let_go(&self) -> io::Result<()> {
        let mut held = self.0.held();
        if self.0.is_let_go.load(Ordering::Acquire) {
            return Ok(());
        }
        for deed in std::mem::take(&mut held.deeds) {
            let done = match deed {
                Deed::Write { offset, bytes } => self.0.storage.write(offset, &bytes),
                Deed::Length(length) => self.0.storage.set_len(length),
                Deed::Sync => self.0.storage.sync_data(),
            };
            if let Err(error) = done {
                held.has_failed = true;
                return Err(error);
            }
        }
        held.pages.clear();
        self.0.is_let_go.store(true, Ordering::Release);
        Ok(())
    }
}

/// What was asked of the storage.
#[derive(Debug)]
enum Deed {
    Write { offset: u64, bytes: Vec<u8> },
    Length(u64),
    Sync,
}

/// The storage as redb sees it while writes wait.
#[derive(Debug, Default)]
struct Held {
    /// Not before redb has the lock: until then another process may change the length.
    is_begun: bool,
    length: u64,
    /// So much of the storage's own bytes was never cut off.
    own: u64,
    /// Pages with changed bytes.
    pages: BTreeMap<u64, Box<[u8; PAGE_BYTES]>>,
    deeds: Vec<Deed>,
    has_failed: bool,
}

impl Held {
    fn of(length: u64) -> Self {
        Self { is_begun: true, length, own: length, ..Self::default() }
    }

    fn read(&self, storage: &dyn StorageBackend, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if offset.checked_add(out.len() as u64).is_none_or(|end| end > self.length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.read_own(storage, offset, out)?;
        for (page, at, from, length) in pieces(offset, out.len()) {
            if let Some(bytes) = self.pages.get(&page) {
                out[from..from + length].copy_from_slice(&bytes[at..at + length]);
            }
        }
        Ok(())
    }

    /// What the storage holds, and zeros behind its end.
    fn read_own(&self, storage: &dyn StorageBackend, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let there = usize::try_from(self.own.saturating_sub(offset)).unwrap_or(usize::MAX).min(out.len());
        let (own, behind) = out.split_at_mut(there);
        behind.fill(0);
        if own.is_empty() { Ok(()) } else { storage.read(offset, own) }
    }

    fn write(&mut self, storage: &dyn StorageBackend, offset: u64, data: &[u8]) -> io::Result<()> {
        for (page, at, from, length) in pieces(offset, data.len()) {
            if !self.pages.contains_key(&page) {
                let mut bytes = Box::new([0; PAGE_BYTES]);
                self.read_own(storage, page * PAGE, &mut *bytes)?;
                self.pages.insert(page, bytes);
            }
            let bytes = self.pages.get_mut(&page).expect("it was just put there");
            bytes[at..at + length].copy_from_slice(&data[from..from + length]);
        }
        self.length = self.length.max(offset + data.len() as u64);
        self.deeds.push(Deed::Write { offset, bytes: data.to_vec() });
        Ok(())
    }

    fn set_len(&mut self, length: u64) {
        self.own = self.own.min(length);
        self.pages.retain(|page, _| page * PAGE < length);
        if let (Some(bytes), Ok(at)) = (self.pages.get_mut(&(length / PAGE)), usize::try_from(length % PAGE)) {
            bytes[at..].fill(0);
        }
        self.length = length;
        self.deeds.push(Deed::Length(length));
    }
}

/// The pages that bytes lie in: page, place in it, place in the bytes, length.
fn pieces(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, usize, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let place = offset + done as u64;
        let at = usize::try_from(place % PAGE).expect("less than a page");
        let piece = (length - done).min(PAGE_BYTES - at);
        let from = done;
        done += piece;
        (piece > 0).then_some((place / PAGE, at, from, piece))
    })
}

#[derive(Debug)]
struct Shared {
    storage: Box<dyn StorageBackend>,
    is_let_go: AtomicBool,
    held: Mutex<Held>,
}

impl Shared {
    fn of(storage: Box<dyn StorageBackend>) -> Self {
        Self { storage, is_let_go: AtomicBool::new(false), held: Mutex::default() }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What stands for the storage while writes wait; nothing once they are let go of.
    fn waiting(&self) -> io::Result<Option<MutexGuard<'_, Held>>> {
        if self.is_let_go.load(Ordering::Acquire) {
            return Ok(None);
        }
        let mut held = self.held();
        if !held.is_begun {
            *held = Held::of(self.storage.len()?);
        }
        if held.has_failed {
            return Err(io::Error::other("what opening wrote could not be written to the file"));
        }
        // It may have been let go of while this waited.
        Ok((!self.is_let_go.load(Ordering::Acquire)).then_some(held))
    }
}

/// What redb gets.
#[derive(Debug)]
struct Backend(Arc<Shared>);

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        let waiting = self.0.waiting()?;
        waiting.map_or_else(|| self.0.storage.len(), |held| Ok(held.length))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        match self.0.waiting()? {
            Some(held) => held.read(&*self.0.storage, offset, out),
            None => self.0.storage.read(offset, out),
        }
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        match self.0.waiting()? {
            Some(mut held) => {
                held.set_len(length);
                Ok(())
            }
            None => self.0.storage.set_len(length),
        }
    }

    fn sync_data(&self) -> io::Result<()> {
        match self.0.waiting()? {
            Some(mut held) => {
                held.deeds.push(Deed::Sync);
                Ok(())
            }
            None => self.0.storage.sync_data(),
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        match self.0.waiting()? {
            Some(mut held) => held.write(&*self.0.storage, offset, data),
            None => self.0.storage.write(offset, data),
        }
    }

    fn close(&self) -> io::Result<()> {
        self.0.storage.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.storage.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.storage.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.storage.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.storage.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.storage.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.storage.query_lock_range(start, end)
    }
}

/// The storage of an open database, for another one that only looks at it: the first has the lock, and goes on.
#[derive(Debug)]
struct Beneath(Backend);

impl StorageBackend for Beneath {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn sync_data(&self) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn write(&self, _: u64, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn try_lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Ok(true)
    }

    fn try_lock_shared_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Ok(true)
    }

    fn lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }

    fn lock_shared_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }

    fn unlock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use redb::backends::InMemoryBackend;

    use super::*;

    fn holding(bytes: &[u8]) -> InMemoryBackend {
        let storage = InMemoryBackend::new();
        storage.set_len(bytes.len() as u64).unwrap();
        storage.write(0, bytes).unwrap();
        storage
    }

    fn all(storage: &dyn StorageBackend) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(storage.len().unwrap()).unwrap()];
        storage.read(0, &mut bytes).unwrap();
        bytes
    }

    /// Whatever is written, cut and read while it waits is what a file would have been, and becomes the file's.
    #[test]
    fn what_waits_is_read_as_if_it_were_written() {
        let first: Vec<u8> = (0..20_000_u32).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let shared = Arc::new(Shared::of(Box::new(holding(&first))));
        let (backend, writes, plain) = (Backend(Arc::clone(&shared)), Withheld(Arc::clone(&shared)), holding(&first));
        let mut chance = 7_u64;
        let mut below = |most: u64| {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (chance >> 33) % most
        };
        for step in 0..400 {
            let length = plain.len().unwrap();
            match below(8) {
                0 => {
                    let length = 1 + below(40_000);
                    backend.set_len(length).unwrap();
                    plain.set_len(length).unwrap();
                }
                1 => backend.sync_data().unwrap(),
                _ => {
                    let offset = below(length);
                    let bytes =
                        vec![u8::try_from(step % 256).unwrap(); usize::try_from(below(length - offset + 1)).unwrap()];
                    backend.write(offset, &bytes).unwrap();
                    plain.write(offset, &bytes).unwrap();
                }
            }
            assert!(all(&backend) == all(&plain), "step {step}");
            assert!(all(&*shared.storage) == first, "step {step} reached the storage");
        }
        assert!(backend.read(plain.len().unwrap() - 1, &mut [0; 2]).is_err());
        writes.let_go().unwrap();
        assert!(all(&*shared.storage) == all(&plain) && all(&backend) == all(&plain));
        backend.write(0, b"through").unwrap();
        assert_eq!(&all(&*shared.storage)[..7], b"through");
    }

    /// Files as a killed process leaves them: redb repairs each when it is opened.
    #[test]
    fn a_file_that_is_newer_or_damaged_stays_as_it_is() {
        use crate::store::tables::{META, META_FORMAT};
        use crate::store::tests::{draft, keys, open};
        use crate::store::{Append, Expect, Log, OpenError};
        use std::time::Duration;

        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        let log = open(&path("events.redb")).unwrap();
        let events = (1..=40).map(|number| draft(number, &format!("stream {number}"))).collect();
        log.append(Append { events, expect: Expect::Any }).unwrap();
        let killed = std::fs::read(path("events.redb")).unwrap();
        drop(log);

        std::fs::write(path("newer.redb"), &killed).unwrap();
        let database = Database::open(path("newer.redb")).unwrap();
        let transaction = database.begin_write().unwrap();
        transaction.open_table(META).unwrap().insert(META_FORMAT, 99_u64.to_le_bytes().as_slice()).unwrap();
        transaction.commit().unwrap();
        let newer = std::fs::read(path("newer.redb")).unwrap();
        drop(database);
        std::fs::write(path("newer.redb"), &newer).unwrap();
        assert!(matches!(open(&path("newer.redb")), Err(OpenError::Newer { found: 99, .. })));
        assert!(std::fs::read(path("newer.redb")).unwrap() == newer, "a newer file was written to");

        // Read only, whatever is wrong with it.
        let at = memchr::memmem::find(&killed, b"stream 7").unwrap();
        for change in [None, Some(at), Some(at + 30)] {
            let mut bytes = killed.clone();
            if let Some(at) = change {
                bytes[at] ^= 1;
            }
            std::fs::write(path("looked_at.redb"), &bytes).unwrap();
            let examined = Log::examine(&path("looked_at.redb"), keys(), Duration::ZERO);
            let verified = examined.map_err(|error| error.to_string()).and_then(|log| {
                assert!(log.append(Append { events: vec![draft(99, "instance")], expect: Expect::Any }).is_err());
                log.reader().verify(|_, _| {}).map_err(|damage| damage.to_string())
            });
            match change {
                None => assert_eq!(verified.unwrap().head.size, 40),
                // redb may go back to the commit before; what the file held is in it still.
                Some(_) => assert!(verified.map_or(0, |verified| verified.head.size) < 40),
            }
            assert!(std::fs::read(path("looked_at.redb")).unwrap() == bytes, "{change:?}: it was written to");
        }
        // A sound one that is opened is repaired and gone on with.
        std::fs::write(path("again.redb"), &killed).unwrap();
        let log = open(&path("again.redb")).unwrap();
        assert!(std::fs::read(path("again.redb")).unwrap() != killed);
        log.append(Append { events: vec![draft(99, "instance")], expect: Expect::Any }).unwrap();
        drop(log);
        assert_eq!(open(&path("again.redb")).unwrap().reader().verify(|_, _| {}).unwrap().head.size, 41);
    }
}
