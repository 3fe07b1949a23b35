//! How far the log went, in a file of its own beside it: `….head`. It is written after each commit and never synced, so it costs
//! nothing, and says nothing by itself: a log that ends before it has lost its end.
//!
//! A commit is on disk before this file knows of it. One that is missing, torn, or of an earlier moment says less, and nothing wrong.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::Head;

/// What a log's own file ends in. A copy that is not the log yet has another ending, and no such file.
const LOG: &str = "redb";
const ENDING: &str = "head";
/// Digits of a number of events, so that each line is as long as the one before it.
const DIGITS: usize = 20;
/// Bytes of the digest that a line ends in.
const CHECK: usize = 8;

/// Where it lies.
pub(super) fn beside(log: &Path) -> PathBuf {
    log.with_extension(ENDING)
}

/// Whether a log of that name was ever seen; that it is there is not said.
pub fn was_seen(log: &Path) -> bool {
    fs::metadata(beside(log)).is_ok_and(|file| file.len() > 0)
}

/// The file of a log that is written to.
pub(super) struct Seen {
    file: Option<File>,
    log_id: String,
}

impl Seen {
    /// That of a log that lies in a file of its own; of any other, none.
    pub(super) fn of(log: &Path, log_id: &str) -> Self {
        let has_one = log.extension().is_some_and(|ending| ending == LOG) && log.is_file();
        let open = || File::options().write(true).create(true).truncate(false).mode(0o600).open(beside(log)).ok();
        Self { file: has_one.then(open).flatten(), log_id: log_id.to_owned() }
    }

    /// Notes where the log is. What cannot be written is not: the log itself is whole without it.
    pub(super) fn note(&self, head: &Head) {
        if let Some(file) = &self.file {
            drop(file.write_all_at(&line(&self.log_id, head), 0));
        }
    }
}

/// Whoever appends waits for it, and what formats in general is seldom at hand then: one allocation, and digits one by one.
fn line(log_id: &str, head: &Head) -> Vec<u8> {
    let mut line = Vec::with_capacity(log_id.len() + DIGITS + 2 * (head.head.len() + CHECK) + 4);
    line.extend(log_id.as_bytes());
    line.push(b' ');
    let mut rest = head.size;
    let mut digits = [b' '; DIGITS + 1];
    for digit in digits[..DIGITS].iter_mut().rev() {
        *digit = b'0' + u8::try_from(rest % 10).expect("a digit");
        rest /= 10;
    }
    line.extend(digits);
    line.extend(crate::hex_digits(&head.head));
    let check = blake3::hash(&line);
    line.push(b' ');
    line.extend(crate::hex_digits(&check.as_bytes()[..CHECK]));
    line.push(b'\n');
    line
}

/// Where a log of that name was seen last, its size and its head in hexadecimal.
pub fn last_seen(log: &Path, log_id: &str) -> Option<(u64, String)> {
    let text = fs::read_to_string(beside(log)).ok()?;
    let (said, check) = text.trim_end().rsplit_once(' ')?;
    let mut words = said.split(' ');
    let (id, size, head) = (words.next()?, words.next()?.parse().ok()?, words.next()?);
    let is_whole = crate::hex(&blake3::hash(said.as_bytes()).as_bytes()[..CHECK]) == check;
    (is_whole && id == log_id).then(|| (size, head.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{draft, open};
    use super::super::{Append, Expect, OpenError};
    use super::*;

    /// A killed process leaves a file whose newest commit one flipped bit makes redb forget.
    #[test]
    fn an_end_that_the_file_lost_is_seen_beside_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("events.redb");
        let log = open(&path).unwrap();
        let append = |number| {
            log.append(Append { events: vec![draft(number, "instance")], expect: Expect::Any }).unwrap();
            std::fs::read(&path).unwrap()
        };
        // The first commits of a file give room back: what was before them lies where the file has ended since.
        append(1);
        let before = append(2);
        assert_eq!(last_seen(&path, log.id()), Some((2, crate::hex(&log.head().head))));
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
        log.append(Append { events: vec![draft(4, "instance")], expect: Expect::Any }).unwrap();
        assert_eq!(last_seen(&path, &id), Some((3, crate::hex(&log.head().head))));
        let text = std::fs::read(beside(&path)).unwrap();
        for at in 0..text.len() - 1 {
            let mut torn = text.clone();
            torn[at] ^= 1;
            std::fs::write(beside(&path), torn).unwrap();
            assert_eq!(last_seen(&path, &id), None, "byte {at}");
        }
    }
    /// A new, empty log was made in the place of one that was lost, without a word.
    #[test]
    fn a_log_that_was_there_is_not_followed_by_an_empty_one() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("events.redb");
        let log = open(&path).unwrap();
        log.append(Append { events: vec![draft(1, "instance")], expect: Expect::Any }).unwrap();
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
