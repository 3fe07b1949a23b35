//! Files that a command is told to read: what a device or an endless pipe would hold is not read to its end.
//!
//! A pipe is as good as a file: `--eval <(zcat traces.gz)` works.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

/// The longest file that is read whole, and the longest line of one that is read line by line.
pub(super) const BYTES_MAX: u64 = 256 << 20;

/// The bytes of a file that is read whole.
///
/// # Errors
/// It cannot be read, or holds more than `most` bytes.
pub(super) fn bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_long("it", most)) } else { Ok(bytes) }
}

/// The lines of a file of any length, without their ends.
///
/// # Errors
/// It cannot be opened. Each line: it cannot be read, holds more than `most` bytes, or is no UTF-8.
pub(super) fn lines(path: &Path, most: u64) -> io::Result<impl Iterator<Item = io::Result<String>>> {
    let mut file = BufReader::new(File::open(path)?);
    let mut number = 0_u64;
    Ok(std::iter::from_fn(move || {
        let mut line = Vec::new();
        number += 1;
        match file.by_ref().take(most + 1).read_until(b'\n', &mut line) {
            Ok(0) => return None,
            Ok(_) if line.last() == Some(&b'\n') => line.truncate(line.len() - 1),
            Ok(_) if line.len() as u64 > most => return Some(Err(too_long(&format!("its line {number}"), most))),
            Ok(_) => {}
            Err(error) => return Some(Err(error)),
        }
        let no_text = |_| io::Error::new(io::ErrorKind::InvalidData, format!("its line {number} is no UTF-8 text"));
        Some(String::from_utf8(line).map_err(no_text))
    }))
}

fn too_long(what: &str, most: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("{what} is longer than {most} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said<T: std::fmt::Debug>(read: io::Result<T>) -> String {
        read.unwrap_err().to_string()
    }

    #[test]
    fn what_never_ends_is_left() {
        let zeros = Path::new("/dev/zero");
        assert_eq!(said(bytes(zeros, 4096)), "it is longer than 4096 bytes");
        let mut lines = lines(zeros, 4096).unwrap();
        assert_eq!(said(lines.next().unwrap()), "its line 1 is longer than 4096 bytes");
    }

    #[test]
    fn what_is_as_long_as_it_may_be_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        std::fs::write(&file, "four\n\nfour\nè").unwrap();
        assert_eq!(bytes(&file, 13).unwrap().len(), 13);
        assert_eq!(said(bytes(&file, 12)), "it is longer than 12 bytes");
        let read = |most| lines(&file, most).unwrap().collect::<io::Result<Vec<_>>>();
        assert_eq!(read(4).unwrap(), ["four", "", "four", "è"]);
        assert_eq!(said(read(2)), "its line 1 is longer than 2 bytes");
        std::fs::write(&file, b"a\n\xff").unwrap();
        assert_eq!(said(read(4)), "its line 2 is no UTF-8 text");
    }
}
