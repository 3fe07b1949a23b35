//! Whether a file holds a text, whatever it is written as: plainly, in markup or an address, as JSON in a few layers, in base64,
//! in another encoding, or packed by zstd.
//!
//! Packed parts are found by how a frame of zstd begins, at any place: the log's file with its free pages, segments, archives,
//! backups, blobs and packed exports are looked into alike, whatever is around them. What is encrypted stays closed.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use memchr::memmem::find_iter;
use metnos_log::TurnId;

use super::{CHANCE_BYTES, worded};

/// How a frame of zstd begins.
pub(super) const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// How deep JSON is looked for in JSON: a payload's text in an audit line in a model's request in its event.
const LAYERS: usize = 4;
/// What is read at once.
const PART_BYTES: usize = 1 << 20;

/// How long a name is where it is written out.
const NAME_BYTES: usize = 26;
/// How long it is in an event.
const RAW_BYTES: usize = 16;

/// Texts in all the ways in which they may be written, or the names of turns and events.
pub struct Sought {
    forms: Forms,
    longest: usize,
}

enum Forms {
    Texts(AhoCorasick),
    /// As many as there are in years: they are read, instead of each being compared. With what all of them begin with.
    Names(BTreeSet<[u8; RAW_BYTES]>, Vec<u8>),
}

impl Sought {
    /// The text, and what it looks like in JSON and in CSV, in what programs make of it, and in other encodings.
    pub fn of(text: &str) -> Self {
        Self::of_forms([text.to_owned()].into_iter().chain(worded::in_texts(text)), worded::in_bytes(text))
    }

    /// Several texts, any of which counts; in JSON and in CSV.
    pub fn of_any(texts: impl IntoIterator<Item = String>) -> Self {
        Self::of_forms(texts, Vec::new())
    }

    fn of_forms(texts: impl IntoIterator<Item = String>, bytes: Vec<Vec<u8>>) -> Self {
        let mut forms = BTreeSet::new();
        let texts: Vec<String> = texts.into_iter().collect();
        for text in texts.iter().cloned() {
            let (mut kept, mut ascii) = (text.clone(), text.clone());
            forms.insert(text);
            for _ in 0..LAYERS {
                (kept, ascii) = (escaped(&kept), in_ascii(&escaped(&ascii)));
                // Numbers in large letters as well, and signs that only the last of several layers writes so.
                let others = [in_large_letters(&ascii), in_ascii(&kept), in_large_letters(&in_ascii(&kept))];
                forms.extend([kept.clone(), ascii.clone()].into_iter().chain(others));
            }
        }
        let in_tables: Vec<String> = forms.iter().map(|form| form.replace('"', "\"\"")).collect();
        let packed: Vec<String> =
            texts.iter().flat_map(|text| [text.clone(), escaped(text)]).flat_map(|text| in_base64(&text)).collect();
        forms.extend(in_tables.into_iter().chain(packed));
        let mut forms: BTreeSet<Vec<u8>> = forms.into_iter().map(String::into_bytes).collect();
        forms.extend(bytes);
        let longest = forms.iter().map(Vec::len).max().unwrap_or(1);
        let forms = AhoCorasick::new(forms).expect("texts of a log are far fewer than states");
        Self { forms: Forms::Texts(forms), longest }
    }

    /// The names of turns and events, any of which counts: written out, and as they stand in events.
    pub fn of_names(names: BTreeSet<[u8; RAW_BYTES]>) -> Self {
        let (first, last) = (names.first().copied().unwrap_or_default(), names.last().copied().unwrap_or_default());
        let common = first.iter().zip(last).take_while(|(one, other)| *one == other).count();
        Self { forms: Forms::Names(names, first[..common].to_vec()), longest: NAME_BYTES }
    }

    /// Whether it stands in these bytes as they are.
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        match &self.forms {
            Forms::Texts(forms) => forms.is_match(bytes),
            Forms::Names(names, begin) => {
                let words = bytes.split(|byte| !byte.is_ascii_alphanumeric());
                // What is written before it, such as the end of an escaped sign, may be part of the same word.
                let is_written = words.flat_map(|word| word.windows(NAME_BYTES)).any(|name| {
                    let name = std::str::from_utf8(name).ok().and_then(|name| name.parse().ok());
                    name.is_some_and(|TurnId(name)| names.contains(&name))
                });
                is_written || find_iter(bytes, begin).any(|at| is_name(names, &bytes[at..]))
            }
        }
    }

    /// Whether it stands in a file, in a packed part of it, or in something packed of that.
    pub fn is_in_file(&self, path: &Path) -> io::Result<bool> {
        let mut frames = Vec::new();
        if self.is_in_stream(File::open(path)?, |at| frames.push(at))? {
            return Ok(true);
        }
        for at in frames {
            let mut file = BufReader::new(File::open(path)?);
            file.seek(SeekFrom::Start(at))?;
            // Four bytes that look like a beginning and are none hold nothing more than what was looked at.
            let Ok(frame) = zstd::Decoder::with_buffer(file) else { continue };
            if self.is_in_stream(UntilBroken(frame.single_frame()), |_| {})? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_in_stream(&self, mut from: impl Read, mut frame: impl FnMut(u64)) -> io::Result<bool> {
        let overlap = self.longest.max(FRAME.len()) - 1;
        let mut buffer = vec![0; PART_BYTES.max(4 * overlap)];
        let (mut kept, mut place, mut last) = (0, 0_u64, None);
        loop {
            let read = from.read(&mut buffer[kept..])?;
            if read == 0 {
                return Ok(false);
            }
            let filled = kept + read;
            if self.is_in(&buffer[..filled]) {
                return Ok(true);
            }
            for at in find_iter(&buffer[..filled], &FRAME).map(|at| place + at as u64) {
                if last.is_none_or(|last| last < at) {
                    frame(at);
                    last = Some(at);
                }
            }
            // What may be the beginning of it is looked at again with what follows.
            kept = filled.min(overlap);
            place += (filled - kept) as u64;
            buffer.copy_within(filled - kept..filled, 0);
        }
    }
}

/// Whether one of the names begins here.
fn is_name(names: &BTreeSet<[u8; RAW_BYTES]>, bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|name| names.contains(name))
}

/// A packed part up to where it is one.
pub(super) struct UntilBroken<R>(pub(super) R);

impl<R: Read> Read for UntilBroken<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Ok(self.0.read(into).unwrap_or(0))
    }
}

/// As it stands between the quotation marks of a JSON text.
pub(super) fn escaped(text: &str) -> String {
    let quoted = serde_json::to_string(text).expect("a text is JSON");
    quoted[1..quoted.len() - 1].to_owned()
}

/// As it stands in the middle of base64, such as the payloads in a file of proofs: by where it begins, one of three. Nothing of
/// a text so short that it may come about by chance.
fn in_base64(text: &str) -> Vec<String> {
    if text.len() < CHANCE_BYTES {
        return Vec::new();
    }
    let begun = |before: usize| {
        let packed = STANDARD_NO_PAD.encode([&vec![0; before], text.as_bytes()].concat());
        // The letters that hold nothing of what stands around.
        let (first, end) = ((before * 8).div_ceil(6), (before + text.len()) * 8 / 6);
        packed[first..end].to_owned()
    };
    (0..3).map(begun).collect()
}

/// The same with every other character by its number, as some programs write it.
fn in_ascii(text: &str) -> String {
    let mut units = [0; 2];
    let mut written = String::new();
    for character in text.chars() {
        if character.is_ascii() {
            written.push(character);
        } else {
            let units = character.encode_utf16(&mut units);
            written.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    written
}

/// The same with the numbers of characters in large letters.
fn in_large_letters(text: &str) -> String {
    let mut parts = text.split("\\u");
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_number = part.len() >= 4 && part.as_bytes()[..4].iter().all(u8::is_ascii_hexdigit);
        let (number, rest) = part.split_at(if is_number { 4 } else { 0 });
        written.extend(["\\u", &number.to_ascii_uppercase(), rest]);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], text: &str, expected: bool) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(Sought::of(text).is_in_file(&path).unwrap(), expected, "{text}");
    }

    #[test]
    fn it_is_found_however_it_is_written() {
        let text = "the \"code\" è 4711";
        let plain = [b"xx".as_slice(), text.as_bytes(), b"yy"].concat();
        check(&plain, text, true);
        check(b"the \"code\"", text, false);
        check(&[], text, false);
        check(b"the \"code\" \xe8 4711", text, true);
        check(&text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>(), text, true);
        check("the &quot;code&quot; è 4711".as_bytes(), text, true);
        let mut json = text.to_owned();
        for _ in 0..LAYERS {
            json = serde_json::to_string(&json).unwrap();
            check(json.as_bytes(), text, true);
        }
        check(br#"{"a":"the \"code\" \u00e8 4711"}"#, text, true);
        check(br#""{\"a\":\"the \\\"code\\\" \\u00e8 4711\"}""#, text, true);
        check(br#"{"a":"the \"code\" \u00E8 4711"}"#, text, true);
        check(br#""{\"a\":\"the \\\"code\\\" \u00e8 4711\"}""#, text, true);
        // A cell of a table, and JSON in one.
        check("7,\"the \"\"code\"\" è 4711\"\r\n".as_bytes(), text, true);
        for before in 0..3 {
            let packed = STANDARD_NO_PAD.encode(format!("{}{text} and more", "x".repeat(before)));
            check(packed.as_bytes(), text, true);
            check(packed.as_bytes(), "another combination", false);
        }
        check("7,\"{\"\"a\"\":\"\"the \\\"\"code\\\"\" è 4711\"\"}\"\r\n".as_bytes(), text, true);
    }

    /// Wherever it lies, cut by whatever is read at once, packed behind bytes that mean nothing.
    #[test]
    fn it_is_found_wherever_it_lies() {
        let text = "the combination is 4711";
        let packed =
            zstd::encode_all([vec![b'x'; 3_000_000], text.as_bytes().to_vec()].concat().as_slice(), 3).unwrap();
        let noise: Vec<u8> = (0..PART_BYTES).map(|at| u8::try_from(at * 31 % 251).unwrap()).collect();
        for before in [0, 1, PART_BYTES - 30, PART_BYTES - 5, PART_BYTES - 2, PART_BYTES] {
            let around = |middle: &[u8]| [&noise[..before], middle, b"after"].concat();
            check(&around(text.as_bytes()), text, true);
            check(&around(&packed), text, true);
            check(&around(&packed), "another combination", false);
            check(&around(&packed[..packed.len() / 4]), text, false);
            check(&around(&[FRAME.as_slice(), b"no frame"].concat()), text, false);
            check(&around(&[FRAME.as_slice(), &FRAME, &packed].concat()), text, true);
        }
    }

    #[test]
    fn turns_are_found_by_their_names() {
        let (one, other) = (TurnId([7; 16]), TurnId([8; 16]));
        let sought = Sought::of_names([one.0].into());
        for text in [format!("{{\"turn\":\"{one}\"}}"), format!("\"x\\n{one} y\""), one.to_string()] {
            assert!(sought.is_in(text.as_bytes()), "{text}");
            assert!(!sought.is_in(text.replace(&one.to_string(), &other.to_string()).as_bytes()), "{text}");
        }
        assert_eq!(one.to_string().len(), NAME_BYTES);
        assert!(!sought.is_in(&one.to_string().as_bytes()[1..]));
        // As they stand in an event.
        let both = Sought::of_names([[6; RAW_BYTES], one.0].into());
        let event = |name: &[u8]| [b"\xc4\x10".as_slice(), name, b"x"].concat();
        for sought in [&sought, &both] {
            assert!(sought.is_in(&event(&one.0)) && !sought.is_in(&event(&other.0)) && !sought.is_in(&one.0[1..]));
        }
    }
}
