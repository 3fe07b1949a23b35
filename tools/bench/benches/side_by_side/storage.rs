//! Files under the log that count what they are asked for.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use metnos_log::Log;
use redb::StorageBackend;
use redb::backends::FileBackend;

use crate::history;

/// What a storage was asked for.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    syncs: AtomicU64,
    bytes: AtomicU64,
}

impl Counts {
    /// Syncs and bytes so far.
    pub(crate) fn now(&self) -> (u64, u64) {
        (self.syncs.load(Ordering::SeqCst), self.bytes.load(Ordering::SeqCst))
    }
}

/// A new log in a folder, on a file that counts.
pub(crate) fn log(folder: &Path, counts: Arc<Counts>) -> Log {
    let file = File::options().read(true).write(true).create_new(true).open(folder.join(history::FILE));
    let file = FileBackend::new(file.expect("a new file")).expect("nobody else has it");
    Log::open_on(Storage { file, counts }, history::keys()).expect("a new log")
}

#[derive(Debug)]
struct Storage {
    file: FileBackend,
    counts: Arc<Counts>,
}

impl StorageBackend for Storage {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.counts.syncs.fetch_add(1, Ordering::SeqCst);
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.counts.bytes.fetch_add(data.len() as u64, Ordering::SeqCst);
        self.file.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }
}
