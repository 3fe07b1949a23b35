//! How far the log went, in a file of its own beside it: `….head`. It is written behind a commit and never synced, so it costs
//! nothing, and says nothing by itself: a log that ends before it has lost its end.
//!
//! A commit is on disk before this file knows of it, and nobody waits for that: a thread of its own writes it. After a quiet time it
//! does so at once, and while one append follows another each [`REST`]; a log that is closed is noted to its end. So whoever is killed
//! leaves the commits of the last [`REST`] at most without a note. What is missing, torn, or of an earlier moment says less, and
//! nothing wrong.
//!
//! Whoever writes the log makes the file anew, in the place of whatever lay there: a link that somebody put there leads nowhere.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::Head;

/// What a log's own file ends in. A copy that is not the log yet has another ending, and no such file.
const LOG: &str = "redb";
const ENDING: &str = "head";
/// And what it is made as.
const MADE: &str = "head.new";
/// A line is shorter.
const LINE_BYTES_MAX: u64 = 512;
/// Digits of a number of events, so that each line is as long as the one before it.
const DIGITS: usize = 20;
/// Bytes of the digest that a line ends in.
const CHECK: usize = 8;
/// How long the thread rests behind a note. Of what is appended meanwhile the last is noted, and nobody has to wake it.
const REST: Duration = Duration::from_millis(10);

/// Where it lies.
pub(super) fn beside(log: &Path) -> PathBuf {
    log.with_extension(ENDING)
}

/// Whether a log of that name was ever seen; that it is there is not said. What is no file may be in the place of one that says so.
pub fn was_seen(log: &Path) -> bool {
    fs::symlink_metadata(beside(log)).is_ok_and(|found| !found.is_file() || found.len() > 0)
}

/// The file of a log that is written to. Dropping it notes what is not noted yet.
pub(super) struct Seen {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Where the log is, if that is not noted yet.
    newest: Option<Head>,
    /// Whether the thread sleeps until there is something to note.
    is_asleep: bool,
    is_closing: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what there is to note, until it is closed. What cannot be written is not: the log itself is whole without it.
    fn attend(&self, log: &Path, log_id: &str) {
        let mut file = None;
        let mut state = self.state();
        loop {
            if let Some(head) = state.newest.take() {
                drop(state);
                file = written(file, log, &line(log_id, &head)).ok();
                let rest = self.changed.wait_timeout_while(self.state(), REST, |state| !state.is_closing);
                state = rest.unwrap_or_else(PoisonError::into_inner).0;
            } else if state.is_closing {
                return;
            } else {
                state.is_asleep = true;
                let is_nothing = |state: &mut State| state.newest.is_none() && !state.is_closing;
                state = self.changed.wait_while(state, is_nothing).unwrap_or_else(PoisonError::into_inner);
                state.is_asleep = false;
            }
        }
    }
}

impl Seen {
    /// That of a log that lies in a file of its own; of any other, and where the system gives no thread, none.
    pub(super) fn of(log: &Path, log_id: &str) -> Self {
        let shared = Arc::<Shared>::default();
        let has_one = log.extension().is_some_and(|ending| ending == LOG) && log.is_file();
        let start = || {
            let (attending, log, log_id) = (Arc::clone(&shared), log.to_owned(), log_id.to_owned());
            let work = move || attending.attend(&log, &log_id);
            std::thread::Builder::new().name("log-seen".to_owned()).spawn(work).ok()
        };
        let thread = has_one.then(start).flatten();
        Self { shared, thread }
    }

    /// Notes where the log is, soon.
    pub(super) fn note(&self, head: &Head) {
        let mut state = self.shared.state();
        state.newest = Some(head.clone());
        let is_asleep = state.is_asleep;
        drop(state);
        if is_asleep {
            self.shared.changed.notify_one();
        }
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        self.shared.state().is_closing = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // One that panicked has nothing left to wait for.
            drop(thread.join());
        }
    }
}

/// Writes a line into the file, which is made where this process has not made it yet.
fn written(file: Option<File>, log: &Path, line: &str) -> io::Result<File> {
    if let Some(file) = file {
        file.write_all_at(line.as_bytes(), 0)?;
        return Ok(file);
    }
    let made = log.with_extension(MADE);
    match fs::remove_file(&made) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = File::options().write(true).create_new(true).mode(0o600).open(&made)?;
    file.write_all_at(line.as_bytes(), 0)?;
    fs::rename(&made, beside(log))?;
    Ok(file)
}

fn line(log_id: &str, head: &Head) -> String {
    let said = format!("{log_id} {:0DIGITS$} {}", head.size, crate::hex(&head.head));
    let check = crate::hex(&blake3::hash(said.as_bytes()).as_bytes()[..CHECK]);
    format!("{said} {check}\n")
}

/// Where a log of that name was seen last, its size and its head in hexadecimal.
pub fn last_seen(log: &Path, log_id: &str) -> Option<(u64, String)> {
    let text = read(&beside(log)).ok()?;
    let (said, check) = text.lines().next()?.rsplit_once(' ')?;
    let mut words = said.split(' ');
    let (id, size, head) = (words.next()?, words.next()?.parse().ok()?, words.next()?);
    let is_whole = crate::hex(&blake3::hash(said.as_bytes()).as_bytes()[..CHECK]) == check;
    (is_whole && id == log_id).then(|| (size, head.to_owned()))
}

/// Why nobody can read where a log was seen last, although something lies there; `None` where it can be read or nothing lies there.
pub fn unreadable_note(log: &Path) -> Option<io::Error> {
    read(&beside(log)).err().filter(|error| error.kind() != io::ErrorKind::NotFound)
}

/// The beginning of a file. What is no file is none, and nobody waits for a pipe.
fn read(path: &Path) -> io::Result<String> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file"));
    }
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let mut bytes = Vec::new();
    file.take(LINE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{draft, open};
    use super::super::{Append, Expect, Log, OpenError};
    use super::*;

    fn append_to(log: &Log, number: u8) {
        log.append(Append { events: vec![draft(number, "instance")], expect: Expect::Any }).unwrap();
    }

    /// Waits until that is so; a test that hangs fails.
    fn is_noted(path: &Path, log: &Log) {
        let end = (log.head().size, crate::hex(&log.head().head));
        while last_seen(path, log.id()).as_ref() != Some(&end) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Also where a burst ends while the thread rests, and where it sleeps again.
    #[test]
    fn each_end_is_noted_however_the_appends_lie_in_time() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("events.redb");
        let log = open(&path).unwrap();
        let mut numbers = 1..;
        for burst in [1, 1, 5, 1, 40, 2] {
            numbers.by_ref().take(burst).for_each(|number| append_to(&log, number));
            is_noted(&path, &log);
        }
        // Back to sleep, and in the midst of a rest.
        std::thread::sleep(REST * 3);
        for _ in 0..3 {
            append_to(&log, numbers.next().unwrap());
            std::thread::sleep(REST / 2);
        }
        is_noted(&path, &log);
        drop(log);
        for number in numbers.take(5) {
            let log = open(&path).unwrap();
            append_to(&log, number);
            let (id, end) = (log.id().to_owned(), log.head());
            drop(log);
            // Nobody waits here.
            assert_eq!(last_seen(&path, &id), Some((end.size, crate::hex(&end.head))));
        }
    }

    /// A killed process leaves a file whose newest commit one flipped bit makes redb forget.
    #[test]
    fn an_end_that_the_file_lost_is_seen_beside_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("events.redb");
        let log = open(&path).unwrap();
        let append = |number| {
            append_to(&log, number);
            std::fs::read(&path).unwrap()
        };
        // The first commits of a file give room back: what was before them lies where the file has ended since.
        append(1);
        let before = append(2);
        is_noted(&path, &log);
        let killed = append(3);
        let (id, head) = (log.id().to_owned(), log.head());
        drop(log);
        assert_eq!(last_seen(&path, &id), Some((3, crate::hex(&head.head))));
        assert_eq!(last_seen(&path, "another"), None);
        // In the one or in the other of the two places of a commit.
        let sizes = [72, 200].map(|at| {
            let mut flipped = killed.clone();
            flipped[at] ^= 1;
            std::fs::write(&path, flipped).unwrap();
            let size = open(&path).unwrap().head().size;
            assert_eq!(last_seen(&path, &id).map(|(size, _)| size), Some(3));
            size
        });
        assert!(sizes.contains(&2), "{sizes:?}");
        // Opened without its end, it is still told, until the log goes on.
        std::fs::write(&path, before).unwrap();
        let log = open(&path).unwrap();
        assert_eq!((log.head().size, last_seen(&path, &id).map(|(size, _)| size)), (2, Some(3)));
        append_to(&log, 4);
        is_noted(&path, &log);
        let text = std::fs::read(beside(&path)).unwrap();
        for at in 0..text.len() - 1 {
            let mut torn = text.clone();
            torn[at] ^= 1;
            std::fs::write(beside(&path), torn).unwrap();
            assert_eq!(last_seen(&path, &id), None, "byte {at}");
        }
    }

    /// What lay there was written to, wherever it led, waited for, or never written again.
    #[test]
    fn whatever_lies_in_its_place_gives_way() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("events.redb");
        let own = place.path().join("own.txt");
        let made = beside(&path).with_extension(MADE);
        drop(open(&path).unwrap());
        let mut numbers = 1..;
        for lay in [
            |_: &Path, at: &Path| fs::write(at, "of an earlier, longer line".repeat(100)).unwrap(),
            |own: &Path, at: &Path| std::os::unix::fs::symlink(own, at).unwrap(),
            |own: &Path, at: &Path| fs::hard_link(own, at).unwrap(),
            |_: &Path, at: &Path| std::os::unix::fs::symlink("events.redb", at).unwrap(),
            |_: &Path, at: &Path| std::os::unix::fs::symlink("nowhere", at).unwrap(),
            |_: &Path, at: &Path| {
                let rights = rustix::fs::Mode::RWXU;
                rustix::fs::mknodat(rustix::fs::CWD, at, rustix::fs::FileType::Fifo, rights, 0).unwrap();
            },
        ] {
            fs::write(&own, "of somebody else").unwrap();
            drop(fs::remove_file(beside(&path)));
            lay(&own, &beside(&path));
            fs::write(&made, "half").unwrap();
            let log = open(&path).unwrap();
            let (id, is_file) = (log.id().to_owned(), fs::symlink_metadata(beside(&path)).unwrap().is_file());
            assert_eq!((last_seen(&path, &id), unreadable_note(&path).is_none()), (None, is_file));
            append_to(&log, numbers.next().unwrap());
            drop(log);
            assert_eq!(last_seen(&path, &id).map(|(size, _)| size), Some(u64::from(numbers.start) - 1));
            assert!(unreadable_note(&path).is_none() && !made.exists());
            assert_eq!(fs::read_to_string(&own).unwrap(), "of somebody else");
        }
        // A folder stays; nothing is noted, and that is told.
        fs::remove_file(beside(&path)).unwrap();
        fs::create_dir(beside(&path)).unwrap();
        append_to(&open(&path).unwrap(), numbers.next().unwrap());
        assert!(unreadable_note(&path).is_some_and(|error| error.to_string().contains("no plain file")));
        assert_eq!(open(&path).unwrap().reader().verify(|_, _| {}).unwrap().head.size, u64::from(numbers.start) - 1);
    }

    /// A new, empty log was made in the place of one that was lost, without a word.
    #[test]
    fn a_log_that_was_there_is_not_followed_by_an_empty_one() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("events.redb");
        let log = open(&path).unwrap();
        append_to(&log, 1);
        drop(log);
        for lost in [|path: &Path| std::fs::remove_file(path).unwrap(), |path: &Path| std::fs::write(path, "").unwrap()]
        {
            lost(&path);
            for _ in 0..2 {
                let found = open(&path).map(|log| log.head());
                assert!(matches!(found, Err(OpenError::Away { .. })), "{found:?}");
            }
        }
        let names = std::fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.count(), 2, "the empty file and what is noted beside it");
        std::fs::remove_file(beside(&path)).unwrap();
        assert_eq!(open(&path).unwrap().head().size, 0);
    }
}
