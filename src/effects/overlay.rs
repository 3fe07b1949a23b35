//! The disk as it will be after the changes planned so far: later changes of one plan build on earlier ones.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use metnos_log::event::turn::BeforeImage;

use super::disk;

/// What stands at a path.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Seen {
    /// Nothing.
    Absent,
    /// What is on the disk at this path, perhaps another one.
    Disk(PathBuf),
    /// Something that the plan makes.
    Made(BeforeImage),
}

#[derive(Clone, Debug)]
enum Change {
    Gone,
    From(PathBuf),
    Made(BeforeImage),
}

/// Planned changes by path.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    changes: HashMap<PathBuf, Vec<(usize, Change)>>,
    made_in: HashMap<PathBuf, BTreeSet<PathBuf>>,
    modes: HashMap<PathBuf, u32>,
    count: usize,
}

impl Overlay {
    fn record(&mut self, path: &Path, change: Change) {
        self.count += 1;
        if let (Change::From(_) | Change::Made(_), Some(folder)) = (&change, path.parent()) {
            self.made_in.entry(folder.to_owned()).or_default().insert(path.to_owned());
        }
        self.changes.entry(path.to_owned()).or_default().push((self.count, change));
    }

    pub(super) fn gone(&mut self, path: &Path) {
        self.record(path, Change::Gone);
    }

    pub(super) fn made(&mut self, path: &Path, image: BeforeImage) {
        self.record(path, Change::Made(image));
    }

    pub(super) fn moved(&mut self, from: &Path, to: &Path) {
        self.record(from, Change::Gone);
        self.record(to, Change::From(from.to_owned()));
    }

    /// The permission bits of something will be these.
    pub(super) fn moded(&mut self, path: &Path, mode: u32) -> io::Result<()> {
        match self.see(path)? {
            Seen::Absent => {}
            Seen::Disk(real) => drop(self.modes.insert(real, mode)),
            Seen::Made(image) => self.record(path, Change::Made(BeforeImage { mode, ..image })),
        }
        Ok(())
    }

    /// What is on the disk at a real path, as it will be.
    pub(super) fn with_mode(&self, real: &Path, mut image: BeforeImage) -> BeforeImage {
        image.mode = self.modes.get(real).copied().unwrap_or(image.mode);
        image
    }

    /// What will be at a path.
    pub(super) fn see(&self, path: &Path) -> io::Result<Seen> {
        let seen = self.before(path, self.count + 1);
        if let Seen::Disk(real) = &seen
            && disk::glance(real)?.kind == "absent"
        {
            return Ok(Seen::Absent);
        }
        Ok(seen)
    }

    /// What is at a path before the change of that number.
    fn before(&self, path: &Path, bound: usize) -> Seen {
        if self.changes.is_empty() {
            return Seen::Disk(path.to_owned());
        }
        let latest = path
            .ancestors()
            .filter_map(|at| {
                let changes = self.changes.get(at)?;
                changes.iter().rev().find(|(number, _)| *number < bound).map(|(number, change)| (*number, change, at))
            })
            .max_by_key(|(number, ..)| *number);
        match latest {
            None => Seen::Disk(path.to_owned()),
            Some((_, Change::Gone, _)) => Seen::Absent,
            Some((_, Change::Made(image), at)) if at == path => Seen::Made(image.clone()),
            // Whatever is below something that was just made is not there yet.
            Some((_, Change::Made(_), _)) => Seen::Absent,
            Some((number, Change::From(source), at)) => {
                let rest = path.strip_prefix(at).expect("it is one of its ancestors");
                let source = if rest.as_os_str().is_empty() { source.clone() } else { source.join(rest) };
                // The source's own disappearance has the number just before.
                self.before(&source, number - 1)
            }
        }
    }

    /// What will be at a path, without content.
    pub(super) fn glance(&self, path: &Path) -> io::Result<BeforeImage> {
        Ok(match self.see(path)? {
            Seen::Absent => disk::absent(),
            Seen::Disk(real) => self.with_mode(&real, disk::glance(&real)?),
            Seen::Made(image) => image,
        })
    }

    /// Whether a folder will hold nothing.
    pub(super) fn is_empty(&self, folder: &Path) -> io::Result<bool> {
        if let Seen::Disk(real) = self.see(folder)? {
            for entry in std::fs::read_dir(real)? {
                if self.see(&folder.join(entry?.file_name()))? != Seen::Absent {
                    return Ok(false);
                }
            }
        }
        for made in self.made_in.get(folder).into_iter().flatten() {
            if self.see(made)? != Seen::Absent {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_moved_takes_along_what_it_holds() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("d")).unwrap();
        std::fs::write(root.join("d/x"), "x").unwrap();
        let mut overlay = Overlay::default();
        overlay.moved(&root.join("d"), &root.join("e"));
        assert_eq!(overlay.see(&root.join("d/x")).unwrap(), Seen::Absent);
        assert_eq!(overlay.see(&root.join("e/x")).unwrap(), Seen::Disk(root.join("d/x")));
        assert!(!overlay.is_empty(&root.join("e")).unwrap());
        overlay.moved(&root.join("e/x"), &root.join("x"));
        assert!(overlay.is_empty(&root.join("e")).unwrap());
        assert_eq!(overlay.see(&root.join("x")).unwrap(), Seen::Disk(root.join("d/x")));
        overlay.gone(&root.join("e"));
        overlay.made(&root.join("e"), BeforeImage { kind: "folder".to_owned(), ..BeforeImage::default() });
        assert_eq!(overlay.see(&root.join("e/x")).unwrap(), Seen::Absent);
        overlay.made(&root.join("e/y"), BeforeImage { kind: "file".to_owned(), ..BeforeImage::default() });
        assert!(!overlay.is_empty(&root.join("e")).unwrap());
    }
}
