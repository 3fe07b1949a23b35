//! A folder of many files, the same for every run: small ones mostly, of many types, two fifths of them copies.
//!
//! No file was changed between six and eight days ago, and no two of the large ones are of one size, so that every
//! question about the folder has one answer.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

const ENDINGS: &[&str] =
    &["txt", "md", "jpg", "png", "pdf", "csv", "log", "json", "zip", "mp3", "py", "html", "xml", "doc"];
const NAMES: &[&str] = &["invoice", "photo", "note", "report", "letter"];
/// Different contents that copies are made of.
const ORIGINALS: u64 = 400;
const DAY_S: u64 = 86_400;

/// A seeded sequence of numbers (xorshift64*).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 16) % bound
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[usize::try_from(self.below(list.len() as u64)).expect("a list's length is its index's type")]
    }

    fn bytes(&mut self, length: u64) -> Vec<u8> {
        (0..length.div_ceil(8))
            .flat_map(|_| self.next().to_le_bytes())
            .take(usize::try_from(length).unwrap_or(0))
            .collect()
    }
}

/// What was made.
pub(crate) struct Made {
    files: usize,
    copies: usize,
    bytes: u64,
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} files in 420 folders, {} MB, {} of them of equal content",
            self.files,
            self.bytes >> 20,
            self.copies
        )
    }
}

/// Makes the folder.
pub(crate) fn folder(at: &Path, files: usize) -> io::Result<Made> {
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let mut made = Made { files, copies: 0, bytes: 0 };
    let now = SystemTime::now();
    for outer in 0..60 {
        for inner in 0..7 {
            fs::create_dir_all(at.join(format!("d{outer:02}/s{inner}")))?;
        }
    }
    for number in 0..files {
        let (stem, ending) = (numbers.pick(NAMES), numbers.pick(ENDINGS));
        let path = at.join(format!("d{:02}/s{}/{stem}-{number:06}.{ending}", number % 60, number % 7));
        let large = number % 500 == 250;
        let bytes = if large {
            numbers.bytes(150_000 + number as u64)
        } else if numbers.below(10) < 4 {
            made.copies += 1;
            let mut same = Numbers(numbers.below(ORIGINALS) + 1);
            let length = 200 + same.below(8000);
            same.bytes(length)
        } else {
            let length = 10 + numbers.below(3000);
            numbers.bytes(length)
        };
        // Of the large ones enough are recent to be worth a question.
        let age = numbers.below(if large { 40 } else { 700 } * DAY_S);
        let age = if (6 * DAY_S..8 * DAY_S).contains(&age) { age + 3 * DAY_S } else { age };
        let mut file = File::create_new(path)?;
        file.write_all(&bytes)?;
        file.set_modified(now - Duration::from_secs(age))?;
        made.bytes += bytes.len() as u64;
    }
    Ok(made)
}
