//! Where the log's file lies, and whether it still does: what is written to a file that has no name any more is lost with this
//! process.
//!
//! A process that appends often has the kernel tell when the file or a folder above it is moved or removed (inotify(7)), and
//! need not walk the path each time. What is not told (a mount over it, another machine's doing) is looked for once a second;
//! and where not all of the way can be watched (a link on it, a folder that may not be read, no watch left), each time.

use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

/// After so many looks the kernel is asked to tell. To set a watch and to take it away takes as long as some twenty looks, and
/// most processes append a few times and end.
const LOOKS_FIRST: u32 = 64;
/// How long nobody looks while the kernel tells nothing.
const LOOKED_FOR: Duration = Duration::from_secs(1);

/// What tells a file from another one of the same name: device and inode.
type Identity = (u64, u64);

/// The place of an open file.
pub(super) struct Place {
    /// Which file; none where the log lies on something else.
    file: Option<Identity>,
    /// What tells that something happened on the way to it.
    watch: Option<OwnedFd>,
    /// Looks since the start, or since something was told last.
    looks: u32,
    looked: Instant,
}

impl Place {
    /// Of the file that lies there now.
    pub(super) fn of(path: &Path) -> Self {
        Self { file: identity(path), watch: None, looks: 0, looked: Instant::now() }
    }

    /// Whether that file was taken away, or another one lies in its place.
    pub(super) fn is_lost(&mut self, path: &Path) -> bool {
        if self.file.is_none() || self.is_quiet() && self.looked.elapsed() < LOOKED_FOR {
            return false;
        }
        self.looks = self.looks.saturating_add(1);
        if self.looks == LOOKS_FIRST {
            // Before the look: what happens from here on is told.
            self.watch = watch(path);
        }
        self.looked = Instant::now();
        let is_lost = identity(path) != self.file;
        if is_lost {
            // Nobody will tell a second time.
            self.forget();
        }
        is_lost
    }

    /// Whether somebody watches and has nothing to tell. Once something was told, the way may be another one.
    fn is_quiet(&mut self) -> bool {
        // Long enough for what is told of a watched file or folder itself, which has no name.
        let mut told = [0; 64];
        let Some(watch) = &self.watch else { return false };
        let is_quiet = rustix::io::read(watch, &mut told) == Err(rustix::io::Errno::AGAIN);
        if !is_quiet {
            self.forget();
        }
        is_quiet
    }

    fn forget(&mut self) {
        (self.watch, self.looks) = (None, 0);
    }
}

fn identity(path: &Path) -> Option<Identity> {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|file| (file.dev(), file.ino()))
}

/// Watches a file and every folder above it; none where one of them cannot be watched.
fn watch(path: &Path) -> Option<OwnedFd> {
    // A link may come to lead elsewhere, and what it led to stays where it is.
    path.canonicalize().ok().filter(|whole| whole == path)?;
    let watch = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
    // The name of an open file is taken away: one link less.
    inotify::add_watch(&watch, path, WatchFlags::ATTRIB | WatchFlags::MOVE_SELF).ok()?;
    for folder in path.ancestors().skip(1) {
        inotify::add_watch(&watch, folder, WatchFlags::MOVE_SELF).ok()?;
    }
    Some(watch)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every way in which the file at the end of a path becomes another one, or none; and ways in which it does not.
    #[test]
    fn whatever_happens_on_the_way_is_told() {
        use std::fs::{copy, create_dir, create_dir_all, remove_file, rename, set_permissions, write};
        use std::os::unix::fs::{PermissionsExt, symlink};

        type Happens = fn(&Path);
        let ways: [(&str, bool, Happens); 9] = [
            ("removed", true, |root| remove_file(root.join("home/log/file")).unwrap()),
            ("moved", true, |root| rename(root.join("home/log/file"), root.join("away")).unwrap()),
            ("moved, a copy put there", true, |root| {
                rename(root.join("home/log/file"), root.join("away")).unwrap();
                copy(root.join("away"), root.join("home/log/file")).unwrap();
            }),
            ("replaced", true, |root| {
                write(root.join("other"), "x").unwrap();
                rename(root.join("other"), root.join("home/log/file")).unwrap();
            }),
            ("its folder moved", true, |root| rename(root.join("home/log"), root.join("home/away")).unwrap()),
            ("the folder above moved, another put there", true, |root| {
                rename(root.join("home"), root.join("away")).unwrap();
                create_dir_all(root.join("home/log")).unwrap();
                copy(root.join("away/log/file"), root.join("home/log/file")).unwrap();
            }),
            ("the folder above moved, a link put there", false, |root| {
                rename(root.join("home"), root.join("away")).unwrap();
                symlink(root.join("away"), root.join("home")).unwrap();
            }),
            ("written to, and others made", false, |root| {
                write(root.join("home/log/file"), "more").unwrap();
                create_dir(root.join("home/log/sub")).unwrap();
            }),
            ("other rights", false, |root| {
                set_permissions(root.join("home/log/file"), PermissionsExt::from_mode(0o600)).unwrap();
            }),
        ];
        for (what, is_lost, happens) in ways {
            for by in ["the kernel", "a look each time", "a look once a second"] {
                let folder = tempfile::tempdir().unwrap();
                let root = folder.path().canonicalize().unwrap();
                create_dir_all(root.join("home/log")).unwrap();
                symlink(root.join("home"), root.join("way")).unwrap();
                write(root.join("home/log/file"), "x").unwrap();
                let path = root.join(if by == "a look each time" { "way/log/file" } else { "home/log/file" });
                let mut place = Place::of(&path);
                for _ in 0..LOOKS_FIRST {
                    assert!(place.watch.is_none() && !place.is_lost(&path));
                }
                let is_watched = place.watch.is_some();
                assert_eq!(is_watched, by != "a look each time", "see fs.inotify.max_user_instances");
                if by == "a look once a second" {
                    place.watch = inotify::init(CreateFlags::NONBLOCK).ok();
                }
                for (when, is_lost) in [("before", false), ("after", is_lost), ("once more", is_lost)] {
                    if when == "after" {
                        happens(&root);
                    }
                    place.looked = Instant::now();
                    if by == "a look once a second" {
                        assert!(when == "once more" || !place.is_lost(&path), "{what}, {when}: nothing is told");
                        place.looked -= LOOKED_FOR;
                    }
                    assert_eq!(place.is_lost(&path), is_lost, "{what}, {when}, by {by}");
                }
            }
        }
    }
}
