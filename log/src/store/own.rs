//! Which files hold a log: its own, those of a backup, and any other that is one by what it holds. Nothing is changed here.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use memchr::memmem::Finder;
use redb::{ReadableDatabase, TableHandle};

use super::backup::{BLOB_FOLDER, SEALED, SUMMARY, TAIL};
use super::reader::{ReadError, unharmed};
use super::tables::{BY_ID, CHECKPOINTS, META_LOG_ID, SEGMENTS};
use super::{Log, archives};

/// How a file of redb begins.
const MAGIC: &[u8] = b"redb\x1a\x0a\xa9\x0d\x0a";
/// What is read at once.
const PART_BYTES: usize = 1 << 20;

impl Log {
    /// The files that the log lies in: its own, and those that it lists as its archive.
    pub fn files(&self) -> Result<Vec<PathBuf>, ReadError> {
        let listed = unharmed(|| archives::listed(&self.reader().database().begin_read()?))?;
        let archived = listed.into_iter().map(|span| self.archives.path(span));
        Ok(std::iter::once(self.file.clone()).chain(archived).collect())
    }
}

/// The files of a backup below a folder; nothing else that lies there.
pub fn backup_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = [SEALED, TAIL, SUMMARY].iter().map(|name| folder.join(name)).collect();
    let entries = match fs::read_dir(folder.join(BLOB_FOLDER)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(files),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if blake3::Hash::from_hex(entry.file_name().as_encoded_bytes()).is_ok() {
            files.push(entry.path());
        }
    }
    Ok(files)
}

/// Whether these bytes are the file of a log, whatever it is called and whether it could be opened: a file of redb in which the
/// names of a log's tables stand.
pub fn is_log(mut from: impl Read) -> io::Result<bool> {
    let mut begin = Vec::new();
    from.by_ref().take(MAGIC.len() as u64).read_to_end(&mut begin)?;
    if begin != MAGIC {
        return Ok(false);
    }
    let names = [SEGMENTS.name(), CHECKPOINTS.name(), BY_ID.name(), META_LOG_ID];
    let overlap = names.map(str::len).into_iter().max().unwrap_or_default();
    let mut missing: Vec<Finder<'_>> = names.iter().map(Finder::new).collect();
    let (mut buffer, mut kept) = (vec![0; PART_BYTES], 0);
    loop {
        let read = from.read(&mut buffer[kept..])?;
        let filled = kept + read;
        missing.retain(|name| name.find(&buffer[..filled]).is_none());
        if missing.is_empty() || read == 0 {
            return Ok(missing.is_empty());
        }
        // A name may be cut by what is read at once.
        kept = filled.min(overlap);
        buffer.copy_within(filled - kept..filled, 0);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::super::tests::open;
    use super::*;

    #[test]
    fn a_log_is_known_by_what_it_holds() {
        let place = tempfile::tempdir().unwrap();
        let (file, other) = (place.path().join("events.redb"), place.path().join("view"));
        let log = open(&file).unwrap();
        assert_eq!(log.files().unwrap(), std::slice::from_ref(&file));
        drop(log);
        let mut copied = std::fs::read(&file).unwrap();
        assert!(is_log(File::open(&file).unwrap()).unwrap());
        // One that was copied while it was written to can be opened by nobody, and is one.
        copied[MAGIC.len()..512].fill(0xff);
        assert!(is_log(copied.as_slice()).unwrap());
        let table = redb::TableDefinition::<u64, &str>::new("segments");
        let database = redb::Database::create(&other).unwrap();
        let transaction = database.begin_write().unwrap();
        transaction.open_table(table).unwrap().insert(1, "checkpoints by_id").unwrap();
        transaction.commit().unwrap();
        drop(database);
        assert!(!is_log(File::open(&other).unwrap()).unwrap());
        assert!(!is_log(&copied[1..]).unwrap() && !is_log(std::io::empty()).unwrap());
    }
}
