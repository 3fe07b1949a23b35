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

    pub(super) fn moved(&mut self, from: &Path, to: &Path, is_folder: bool) {
        self.record(from, Change::Gone);
        self.record(to, Change::From(from.to_owned()));
        if is_folder {
            // What the plan made in it is listed under its new name, too.
            let rebased = |path: &Path| Some(to.join(path.strip_prefix(from).ok()?));
            let made: Vec<(PathBuf, Vec<PathBuf>)> = self
                .made_in
                .iter()
                .filter_map(|(folder, made)| {
                    let folder = if folder == from { to.to_owned() } else { rebased(folder)? };
                    Some((folder, made.iter().filter_map(|path| rebased(path)).collect()))
                })
                .collect();
            for (folder, made) in made {
                self.made_in.entry(folder).or_default().extend(made);
            }
        }
    }

    /// The permission bits of something will be these.
    pub(super) fn moded(&mut self, path: &Path, mode: u32) -> io::Result<()> {
        match self.see(path)? {
            Seen::Absent => {}
            Seen::Disk(real) => drop(self.modes.insert(real, mode)),
            Seen::Made(_) => self.made_moded(path, mode),
        }
        Ok(())
    }

    /// Changes the bits of something that the plan made where it was made, so that what lies in it stays in it.
    fn made_moded(&mut self, path: &Path, mode: u32) {
        let (mut path, mut bound) = (path.to_owned(), self.count + 1);
        loop {
            let Some((number, change, at)) = self.latest(&path, bound) else { return };
            match change {
                Change::From(source) => {
                    let rest = path.strip_prefix(at).expect("it is one of its ancestors");
                    path = if rest.as_os_str().is_empty() { source.clone() } else { source.join(rest) };
                    bound = number - 1;
                }
                Change::Gone => return,
                Change::Made(_) => {
                    let changes = self.changes.get_mut(&path).into_iter().flatten();
                    for (_, change) in changes.filter(|(found, _)| *found == number) {
                        if let Change::Made(image) = change {
                            image.mode = mode;
                        }
                    }
                    return;
                }
            }
        }
    }

    /// The newest change of a path or of a folder above it, among those before `bound`.
    fn latest<'p>(&self, path: &'p Path, bound: usize) -> Option<(usize, &Change, &'p Path)> {
        path.ancestors()
            .filter_map(|at| {
                let changes = self.changes.get(at)?;
                changes.iter().rev().find(|(number, _)| *number < bound).map(|(number, change)| (*number, change, at))
            })
            .max_by_key(|(number, ..)| *number)
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
        match self.latest(path, bound) {
            None => Seen::Disk(path.to_owned()),
            Some((_, Change::Made(image), at)) if at == path => Seen::Made(image.clone()),
            // Whatever is below something that was just made is not there yet.
            Some((_, Change::Gone | Change::Made(_), _)) => Seen::Absent,
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

    /// What a folder will hold, sorted.
    pub(super) fn children(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let mut found = self.made_in.get(folder).cloned().unwrap_or_default();
        if let Seen::Disk(real) = self.see(folder)? {
            for entry in std::fs::read_dir(real)? {
                found.insert(folder.join(entry?.file_name()));
            }
        }
        let mut present = Vec::new();
        for path in found {
            if self.see(&path)? != Seen::Absent {
                present.push(path);
            }
        }
        Ok(present)
    }

    /// Everything that a folder will hold, the deepest first and the folder itself last.
    pub(super) fn deepest_first(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let (mut open, mut found) = (vec![folder.to_owned()], vec![folder.to_owned()]);
        while let Some(folder) = open.pop() {
            for path in self.children(&folder)? {
                if self.glance(&path)?.kind == "folder" {
                    open.push(path.clone());
                }
                found.push(path);
            }
        }
        found.reverse();
        Ok(found)
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
        overlay.moved(&root.join("d"), &root.join("e"), true);
        assert_eq!(overlay.see(&root.join("d/x")).unwrap(), Seen::Absent);
        assert_eq!(overlay.see(&root.join("e/x")).unwrap(), Seen::Disk(root.join("d/x")));
        assert!(!overlay.children(&root.join("e")).unwrap().is_empty());
        overlay.moved(&root.join("e/x"), &root.join("x"), false);
        assert!(overlay.children(&root.join("e")).unwrap().is_empty());
        assert_eq!(overlay.see(&root.join("x")).unwrap(), Seen::Disk(root.join("d/x")));
        overlay.gone(&root.join("e"));
        overlay.made(&root.join("e"), BeforeImage { kind: "folder".to_owned(), ..BeforeImage::default() });
        assert_eq!(overlay.see(&root.join("e/x")).unwrap(), Seen::Absent);
        overlay.made(&root.join("e/y"), BeforeImage { kind: "file".to_owned(), ..BeforeImage::default() });
        assert!(!overlay.children(&root.join("e")).unwrap().is_empty());
        overlay.moved(&root.join("e"), &root.join("f"), true);
        assert_eq!(overlay.children(&root.join("f")).unwrap(), [root.join("f/y")]);
        assert_eq!(overlay.deepest_first(&root.join("f")).unwrap(), [root.join("f/y"), root.join("f")]);
    }
}
