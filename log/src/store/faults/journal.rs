//! A journal of what is done to files below a folder, and what a power cut at any place of it may leave: bytes that were not
//! synced are kept, lost or torn, names that were not synced are there or not, each for itself and in any order.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use redb::backends::FileBackend;
use redb::{DatabaseError, StorageBackend};

use super::chance::Chance;

const SECTOR_BYTES: usize = 512;

/// A file, whatever it is called.
type Inode = u64;

/// What was done.
#[derive(Clone, Debug)]
enum Deed {
    Made { path: PathBuf, inode: Inode },
    Wrote { inode: Inode, at: usize, bytes: Vec<u8> },
    Length { inode: Inode, length: usize },
    Synced { inode: Inode },
    Renamed { from: PathBuf, to: PathBuf },
    Removed { path: PathBuf },
    FolderMade { path: PathBuf },
    FolderSynced { path: PathBuf },
}

struct Journal {
    root: PathBuf,
    start: Files,
    names: BTreeMap<PathBuf, Inode>,
    fresh: Inode,
    deeds: Vec<Deed>,
}

static JOURNALS: Mutex<Vec<Arc<Mutex<Journal>>>> = Mutex::new(Vec::new());

fn find(is_own: impl Fn(&Journal) -> bool) -> Option<Arc<Mutex<Journal>>> {
    let journals = JOURNALS.lock().unwrap_or_else(PoisonError::into_inner);
    journals.iter().find(|journal| is_own(&journal.lock().unwrap_or_else(PoisonError::into_inner))).cloned()
}

fn at(path: &Path, note: impl FnOnce(&mut Journal)) {
    if let Some(journal) = find(|journal| path.starts_with(&journal.root)) {
        note(&mut journal.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn place(offset: u64) -> usize {
    usize::try_from(offset).expect("files of tests are small")
}

/// An open file that a journal is kept of. The number that the system gives a file would not tell which one it is: it gives the
/// number to another file later, and each file system counts for itself.
pub(in crate::store) struct Noted {
    journal: Arc<Mutex<Journal>>,
    inode: Inode,
}

pub(in crate::store) fn opened(path: &Path, is_cut: bool) -> Option<Noted> {
    let found = find(|journal| path.starts_with(&journal.root))?;
    let mut journal = found.lock().unwrap_or_else(PoisonError::into_inner);
    let inode = journal.names.get(path).copied().unwrap_or_else(|| {
        journal.fresh += 1;
        journal.fresh
    });
    journal.names.insert(path.to_owned(), inode);
    journal.deeds.push(Deed::Made { path: path.to_owned(), inode });
    if is_cut {
        journal.deeds.push(Deed::Length { inode, length: 0 });
    }
    drop(journal);
    Some(Noted { journal: found, inode })
}

impl Noted {
    fn note(&self, deed: Deed) {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner).deeds.push(deed);
    }

    pub(in crate::store) fn wrote(&self, at: u64, bytes: &[u8]) {
        self.note(Deed::Wrote { inode: self.inode, at: place(at), bytes: bytes.to_vec() });
    }

    pub(in crate::store) fn cut(&self, length: u64) {
        self.note(Deed::Length { inode: self.inode, length: place(length) });
    }

    pub(in crate::store) fn synced(&self) {
        self.note(Deed::Synced { inode: self.inode });
    }
}

pub(in crate::store) fn renamed(from: &Path, to: &Path) {
    at(to, |journal| {
        let inode = journal.names.remove(from);
        journal.names.extend(inode.map(|inode| (to.to_owned(), inode)));
        journal.deeds.push(Deed::Renamed { from: from.to_owned(), to: to.to_owned() });
    });
}

pub(in crate::store) fn linked(from: &Path, to: &Path) {
    at(to, |journal| {
        let inode = journal.names[from];
        journal.names.insert(to.to_owned(), inode);
        journal.deeds.push(Deed::Made { path: to.to_owned(), inode });
    });
}

pub(in crate::store) fn removed(path: &Path) {
    at(path, |journal| {
        journal.names.remove(path);
        journal.deeds.push(Deed::Removed { path: path.to_owned() });
    });
}

pub(in crate::store) fn folder_made(path: &Path) {
    at(path, |journal| journal.deeds.push(Deed::FolderMade { path: path.to_owned() }));
}

pub(in crate::store) fn folder_synced(path: &Path) {
    at(path, |journal| journal.deeds.push(Deed::FolderSynced { path: path.to_owned() }));
}

/// What redb gets where somebody keeps a journal.
pub(in crate::store) fn backend(path: &Path, create: bool) -> Option<Result<NotedBackend, DatabaseError>> {
    find(|journal| path.starts_with(&journal.root))?;
    let open = || -> Result<NotedBackend, DatabaseError> {
        let refused = |error: io::Error| DatabaseError::Storage(redb::StorageError::Io(error));
        let file =
            File::options().read(true).write(true).create(create).truncate(create).open(path).map_err(refused)?;
        let noted = opened(path, create).expect("it was just found");
        Ok(NotedBackend { noted, file: FileBackend::new(file)? })
    };
    Some(open())
}

pub(in crate::store) struct NotedBackend {
    noted: Noted,
    file: FileBackend,
}

impl std::fmt::Debug for NotedBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "file {}", self.noted.inode)
    }
}

impl StorageBackend for NotedBackend {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.noted.cut(length);
        self.file.set_len(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()?;
        self.noted.synced();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.noted.wrote(offset, data);
        self.file.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }
}

/// A file's bytes: those that stay, and what was done since.
#[derive(Clone, Default)]
struct Content {
    durable: Vec<u8>,
    pending: Vec<Deed>,
}

fn apply(bytes: &mut Vec<u8>, deed: &Deed) {
    match deed {
        Deed::Length { length, .. } => bytes.resize(*length, 0),
        Deed::Wrote { at, bytes: written, .. } => {
            bytes.resize(bytes.len().max(at + written.len()), 0);
            bytes[*at..at + written.len()].copy_from_slice(written);
        }
        _ => {}
    }
}

impl Content {
    fn sync(&mut self) {
        for deed in self.pending.drain(..) {
            apply(&mut self.durable, &deed);
        }
    }

    /// Everything, nothing, or some of what was not synced, in sectors.
    fn survivors(&self, chance: &mut Chance) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        let kept = *chance.pick(&[0, 30, 70, 100]);
        for deed in &self.pending {
            if chance.percent(kept) {
                apply(&mut bytes, deed);
            } else if let (Deed::Wrote { at, bytes: written, .. }, true) = (deed, chance.percent(40)) {
                bytes.resize(bytes.len().max(at + written.len()), 0);
                for from in (0..written.len()).step_by(SECTOR_BYTES) {
                    let until = (from + SECTOR_BYTES).min(written.len());
                    if chance.percent(50) {
                        bytes[at + from..at + until].copy_from_slice(&written[from..until]);
                    }
                }
            }
        }
        bytes
    }
}

/// What a name becomes: a file, a folder (`Some(None)`), or nothing. Those of one change come together.
type Change = Vec<(PathBuf, Option<Option<Inode>>)>;

/// All that is below a folder.
#[derive(Clone, Default)]
struct Files {
    contents: BTreeMap<Inode, Content>,
    /// Names that stay.
    names: BTreeMap<PathBuf, Option<Inode>>,
    /// Names as the program sees them.
    live: BTreeMap<PathBuf, Option<Inode>>,
    /// What was done to names since, each with the folder whose sync makes it stay.
    pending: Vec<(PathBuf, Change)>,
}

fn rename(names: &mut BTreeMap<PathBuf, Option<Inode>>, change: &Change) {
    for (path, becomes) in change {
        match becomes {
            Some(entry) => drop(names.insert(path.clone(), *entry)),
            None => drop(names.remove(path)),
        }
    }
}

impl Files {
    fn take_in(&mut self, folder: &Path) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                self.names.insert(path.clone(), None);
                self.take_in(&path);
            } else {
                let id = self.contents.len() as Inode;
                self.contents.insert(id, Content { durable: fs::read(&path).unwrap(), pending: Vec::new() });
                self.names.insert(path, Some(id));
            }
        }
    }

    fn take(&mut self, deed: &Deed) {
        let change = match deed {
            Deed::Wrote { inode, .. } | Deed::Length { inode, .. } => {
                return self.contents.entry(*inode).or_default().pending.push(deed.clone());
            }
            Deed::Synced { inode } => return self.contents.entry(*inode).or_default().sync(),
            Deed::FolderSynced { path } => {
                for (_, change) in self.pending.extract_if(.., |(folder, _)| folder == path) {
                    rename(&mut self.names, &change);
                }
                return;
            }
            Deed::Made { path, inode } if self.live.get(path) == Some(&Some(*inode)) => return,
            Deed::Made { path, inode } => vec![(path.clone(), Some(Some(*inode)))],
            Deed::FolderMade { path } => vec![(path.clone(), Some(None))],
            Deed::Removed { path } => vec![(path.clone(), None)],
            Deed::Renamed { from, to } => vec![(from.clone(), None), (to.clone(), self.live.get(from).copied())],
        };
        rename(&mut self.live, &change);
        self.pending.push((change[0].0.parent().unwrap().to_owned(), change));
    }

    /// Lays out below another folder what a cut leaves.
    fn lay_out(&self, root: &Path, target: &Path, chance: &mut Chance) {
        let mut names = self.names.clone();
        let kept = *chance.pick(&[0, 50, 100]);
        self.pending.iter().filter(|_| chance.percent(kept)).for_each(|(_, change)| rename(&mut names, change));
        for (path, entry) in names {
            let path = target.join(path.strip_prefix(root).unwrap());
            match entry {
                // What is in a folder whose name is lost is lost.
                _ if !path.parent().unwrap().is_dir() => {}
                None => fs::create_dir(&path).unwrap(),
                Some(inode) => {
                    // One that was never written to is empty.
                    let bytes = self.contents.get(&inode).map(|content| content.survivors(chance));
                    fs::write(&path, bytes.unwrap_or_default()).unwrap();
                }
            }
        }
    }
}

/// A journal that is kept until it is dropped.
pub(super) struct Kept(Arc<Mutex<Journal>>);

impl Kept {
    /// Notes from here on what is done below a folder; what is there stays.
    pub(super) fn below(root: &Path) -> Self {
        let mut start = Files::default();
        start.take_in(root);
        start.live = start.names.clone();
        let names = start.names.iter().filter_map(|(path, id)| Some((path.clone(), (*id)?))).collect();
        let (fresh, deeds) = (start.contents.len() as Inode, Vec::new());
        let journal = Arc::new(Mutex::new(Journal { root: root.to_owned(), start, names, fresh, deeds }));
        JOURNALS.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&journal));
        Self(journal)
    }

    /// How much was done so far.
    pub(super) fn deeds(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).deeds.len()
    }

    /// What a cut after so many of them leaves, below an empty folder.
    pub(super) fn cut(&self, after: usize, target: &Path, chance: &mut Chance) {
        let journal = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut files = journal.start.clone();
        journal.deeds[..after].iter().for_each(|deed| files.take(deed));
        files.lay_out(&journal.root, target, chance);
    }

    /// The deeds between two places, in words.
    pub(super) fn said(&self, after: usize) -> String {
        let journal = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = after.checked_sub(1).and_then(|last| journal.deeds.get(last));
        match last {
            Some(Deed::Wrote { inode, at, bytes }) => format!("{} bytes written at {at} of file {inode}", bytes.len()),
            other => format!("{other:?}"),
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        JOURNALS.lock().unwrap_or_else(PoisonError::into_inner).retain(|journal| !Arc::ptr_eq(journal, &self.0));
    }
}

/// Two journals, and one file with a name below each: as if the system had given a number twice.
#[test]
fn what_is_done_to_a_file_stands_in_the_journal_that_it_was_opened_below() {
    use crate::store::files::{Plain, sync_folder};

    let place = tempfile::tempdir().unwrap();
    let [other, own] = ["other", "own"].map(|name| place.path().join(name));
    fs::create_dir(&other).unwrap();
    fs::create_dir(&own).unwrap();
    let [other_kept, own_kept] = [&other, &own].map(|folder| Kept::below(folder));
    let _held = Plain::create(&other.join("file")).unwrap();
    let before = other_kept.deeds();
    fs::hard_link(other.join("file"), own.join("file")).unwrap();
    let mut file = Plain::append(&own.join("file")).unwrap();
    file.write_all(b"kept").unwrap();
    file.sync().unwrap();
    sync_folder(&own).unwrap();
    assert_eq!(other_kept.deeds(), before);
    let target = tempfile::tempdir().unwrap();
    own_kept.cut(own_kept.deeds(), target.path(), &mut Chance::of(1));
    assert_eq!(fs::read(target.path().join("file")).unwrap(), b"kept");
}
