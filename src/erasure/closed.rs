//! Files in forms that are not looked into for what is gone: packed ones, pictures, base64, UTF-16. Told by how they begin; what
//! they hold is not known.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// So much of a file tells its form.
const BEGIN_BYTES: usize = 4096;
/// So long is a line of base64 at least, where it is not the last.
const LINE_BYTES: usize = 60;

/// How such files begin: packed ones, pictures and pages, texts of 16 bits.
const BEGINNINGS: [&[u8]; 14] = [
    b"\x1f\x8b",
    b"PK\x03\x04",
    b"\xfd7zXZ\0",
    b"BZh",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"RIFF",
    b"II*\0",
    b"%PDF",
    b"\xff\xfe",
    b"\xfe\xff",
];

/// Whether a file has such a form.
pub(super) fn is_closed(path: &Path) -> io::Result<bool> {
    let mut begin = Vec::new();
    File::open(path)?.take(BEGIN_BYTES as u64).read_to_end(&mut begin)?;
    Ok(begins_closed(&begin))
}

/// Whether bytes begin as such a file does.
pub(super) fn begins_closed(bytes: &[u8]) -> bool {
    let begin = &bytes[..bytes.len().min(BEGIN_BYTES)];
    let begins = BEGINNINGS.iter().any(|form| begin.starts_with(form)) || begin.get(4..8) == Some(b"ftyp");
    begins || is_of_16_bits(begin) || is_base64(begin)
}

/// Letters of 16 bits without a mark: nearly every other byte is nothing.
fn is_of_16_bits(begin: &[u8]) -> bool {
    let empty = |odd: usize| begin.iter().skip(odd).step_by(2).filter(|byte| **byte == 0).count();
    let (pairs, even, odd) = (begin.len() / 2, empty(0), empty(1));
    pairs >= 8 && (even * 10 >= pairs * 9) != (odd * 10 >= pairs * 9) && even.min(odd) * 10 <= pairs
}

/// Lines of nothing but its letters, small and large ones and numbers among them.
fn is_base64(begin: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| begin.iter().any(is);
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=-_\r\n".contains(byte);
    let first = begin.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit);
    first.len() >= LINE_BYTES && mixed && begin.iter().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: bool) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(is_closed(&path).unwrap(), expected, "{}", String::from_utf8_lossy(bytes));
    }

    #[test]
    fn forms_are_told_by_how_they_begin() {
        let wide: Vec<u8> = "the combination is 4711".encode_utf16().flat_map(u16::to_le_bytes).collect();
        check(&wide, true);
        check(&[b"\xff\xfe".as_slice(), &wide].concat(), true);
        check(b"\x1f\x8b\x08\x00", true);
        check(b"PK\x03\x04 and more", true);
        let line = "dGhlIGNvbWJpbmF0aW9uIGlzIDQ3MTEsIHRoZSBjb21iaW5hdGlvbiBpcyA0NzEx\n";
        check(line.repeat(3).as_bytes(), true);
        check(b"the combination is 4711\n", false);
        check("the combination is 4711, and so on and on, until the line is long\n".as_bytes(), false);
        check("0123456789abcdef".repeat(4).as_bytes(), false);
        check(&[0; 4096], false);
        check(b"", false);
    }
}
