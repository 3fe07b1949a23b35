//! Signed checkpoints: what the log was at a size, as a note that others can keep and check.
//!
//! The text is a signed note with the lines of a transparency log's checkpoint (C2SP `tlog-checkpoint` and `signed-note`):
//!
//! ```text
//! metnos/58190fc2a28263ef83e1625cdffd5bb2      origin: the log's name
//! 293                                          size: how many events there are
//! kIJ/yARMq4TtrO3wbHDM…                        the range root, base64
//! head QX0a7fdgiAK6nj+8…                       the chain's head, base64
//!
//! — metnos/58190fc2a28263ef83e1625cdffd5bb2 5Zk9…   the key's four-byte name and the Ed25519 signature, base64
//! ```
//!
//! Tools for such notes read it; the hashes in it are the log's own (`FORMAT.md`, «Chain»). A note says nothing about time.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use sha2::{Digest as _, Sha256};

/// What stands before the log's name in an origin.
const ORIGIN: &str = "metnos/";
/// What begins a line of a signature.
const SIGNED: &str = "\u{2014} ";
/// How long an origin is, a hash in base64, and a key's name with its signature.
const ORIGIN_LETTERS: usize = 39;
const HASH_LETTERS: usize = 44;
const SIGNATURE_LETTERS: usize = 92;
/// Ed25519, in the naming of keys.
const ALGORITHM: u8 = 1;

/// What a log was at a size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The log's name: 32 hexadecimal digits.
    pub log_id: String,
    /// How many events there are.
    pub size: u64,
    /// The root over all leaves.
    pub root: [u8; 32],
    /// The chain's head after the last event.
    pub head: [u8; 32],
}

/// Why a text is no checkpoint of a key.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum NoteError {
    /// It does not have the lines of a checkpoint.
    #[error("it is no checkpoint: {0}")]
    Malformed(&'static str),
    /// It is a checkpoint, and this key did not sign it.
    #[error("it is signed by another key")]
    OtherKey,
    /// The key's name stands there, and the signature is not its own.
    #[error("its signature is not that of the key that it names")]
    Signature,
}

impl Checkpoint {
    /// The signed note. Ends with a line's end.
    pub fn signed(&self, key: &SigningKey) -> String {
        let text = self.text();
        let origin = self.origin();
        let signature = key.sign(text.as_bytes()).to_bytes();
        let named = [key_hash(&origin, &key.verifying_key()).as_slice(), &signature].concat();
        format!("{text}\n{SIGNED}{origin} {}\n", STANDARD.encode(named))
    }

    /// Reads a note that this key must have signed. Signatures of other keys may stand beside its own.
    pub fn verified(note: &str, key: &VerifyingKey) -> Result<Self, NoteError> {
        let (text, signatures) = parts(note)?;
        let checkpoint = Self::parse(text)?;
        let origin = checkpoint.origin();
        let own = key_hash(&origin, key);
        let named = |line: &str| {
            let (name, encoded) = line.strip_prefix(SIGNED)?.split_once(' ')?;
            let bytes = STANDARD.decode(encoded).ok()?;
            let (hash, signature) = bytes.split_first_chunk::<4>()?;
            (name == origin && *hash == own).then(|| signature.to_vec())
        };
        if !signatures.lines().all(|line| line.starts_with(SIGNED)) {
            return Err(NoteError::Malformed("a line below the text is no signature"));
        }
        let signature = signatures.lines().find_map(named).ok_or(NoteError::OtherKey)?;
        let signature = Signature::from_slice(&signature).map_err(|_| NoteError::Signature)?;
        key.verify_strict(text.as_bytes(), &signature).map_err(|_| NoteError::Signature)?;
        Ok(checkpoint)
    }

    /// The first of [`Self::all_in`].
    pub fn found_in(text: &str) -> Option<String> {
        Self::all_in(text).into_iter().next()
    }

    /// The notes in a text that holds some, each with the lines of a note: a message that was copied out of a chat or a mail has
    /// words before it, blanks around it, quotation marks in front, lines that were wrapped. Whether it is one, and whose,
    /// [`Self::verified`] says.
    pub fn all_in(text: &str) -> Vec<String> {
        let bare = |line: &'_ str| line.trim_matches(|c: char| c.is_whitespace() || c == '>' || c == '`').to_owned();
        let lines: Vec<String> = text.lines().map(bare).collect();
        let words: Vec<&str> = lines.iter().flat_map(|line| line.split_whitespace()).collect();
        let is_origin = |at: &usize| {
            let is_signer = at.checked_sub(1).is_some_and(|before| is_dash(words[before]));
            !is_signer && begins(words[*at], ORIGIN)
        };
        (0..words.len()).filter(is_origin).filter_map(|at| unwrapped(&words[at..])).collect()
    }

    fn origin(&self) -> String {
        format!("{ORIGIN}{}", self.log_id)
    }

    /// What is signed.
    fn text(&self) -> String {
        let Self { size, root, head, .. } = self;
        format!("{}\n{size}\n{}\nhead {}\n", self.origin(), STANDARD.encode(root), STANDARD.encode(head))
    }

    fn parse(text: &str) -> Result<Self, NoteError> {
        let lines: Vec<&str> = text.lines().collect();
        let [origin, size, root, head] = lines[..] else {
            return Err(NoteError::Malformed("it does not have four lines"));
        };
        let hash = |text: &str| STANDARD.decode(text).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let checkpoint = Self {
            log_id: origin.strip_prefix(ORIGIN).ok_or(NoteError::Malformed("its origin is no log's"))?.to_owned(),
            size: size.parse().map_err(|_| NoteError::Malformed("its size is no number"))?,
            root: hash(root).ok_or(NoteError::Malformed("its root is no hash"))?,
            head: head.strip_prefix("head ").and_then(hash).ok_or(NoteError::Malformed("its head is no hash"))?,
        };
        // One text for one checkpoint: no sign, no leading zero, no other way to write a hash.
        if checkpoint.text() == text {
            Ok(checkpoint)
        } else {
            Err(NoteError::Malformed("it is written in another way"))
        }
    }
}

fn begins(word: &str, with: &str) -> bool {
    word.get(..with.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(with))
}

/// What begins a signature, and what some programs make of it.
fn is_dash(word: &str) -> bool {
    matches!(word, "\u{2014}" | "\u{2013}" | "--" | "-")
}

/// The note that begins with these words, wherever its lines were wrapped.
fn unwrapped(mut words: &[&str]) -> Option<String> {
    let origin = joined(&mut words, ORIGIN_LETTERS);
    let size = words.split_off_first().copied().filter(|size| size.bytes().all(|byte| byte.is_ascii_digit()))?;
    let root = joined(&mut words, HASH_LETTERS);
    let head = words.split_off_first().copied().filter(|word| word.eq_ignore_ascii_case("head"))?;
    let text = format!("{origin}\n{size}\n{root}\n{head} {}\n", joined(&mut words, HASH_LETTERS));
    let mut signatures = String::new();
    while let Some(signature) = signature(&mut words) {
        signatures += &signature;
    }
    (!signatures.is_empty()).then(|| format!("{text}\n{signatures}"))
}

/// The line of a signature, where one begins.
fn signature(words: &mut &[&str]) -> Option<String> {
    let (_, mut rest) = words.split_first().filter(|(dash, _)| is_dash(dash))?;
    let (name, encoded) = if rest.first().is_some_and(|name| begins(name, ORIGIN)) {
        (joined(&mut rest, ORIGIN_LETTERS), joined(&mut rest, SIGNATURE_LETTERS))
    } else {
        // Of a key that is called otherwise: a dash between words is none.
        let [name, encoded, ..] = rest else { return None };
        STANDARD.decode(encoded).ok().filter(|bytes| bytes.len() > 32)?;
        rest = &rest[2..];
        ((*name).to_owned(), (*encoded).to_owned())
    };
    *words = rest;
    (!encoded.is_empty()).then(|| format!("{SIGNED}{name} {encoded}\n"))
}

/// So many letters of the first words, or what there is of them before something else begins.
fn joined(words: &mut &[&str], letters: usize) -> String {
    let mut joined = String::new();
    let goes_on = |joined: &str, word: &str| {
        let begins_anew = !joined.is_empty() && begins(word, ORIGIN);
        !begins_anew && !is_dash(word) && !word.eq_ignore_ascii_case("head")
    };
    while joined.len() < letters
        && let Some(word) = words.first().filter(|word| goes_on(&joined, word))
    {
        joined += word;
        *words = &words[1..];
    }
    joined
}

/// The signed text, with its last line's end, and the lines of signatures.
fn parts(note: &str) -> Result<(&str, &str), NoteError> {
    let at = note.find("\n\n").ok_or(NoteError::Malformed("nothing separates text and signatures"))?;
    if !note.ends_with('\n') {
        return Err(NoteError::Malformed("it does not end with a line's end"));
    }
    Ok((&note[..=at], &note[at + 2..]))
}

/// The four bytes that name a key beside its signature.
fn key_hash(name: &str, key: &VerifyingKey) -> [u8; 4] {
    let mut hasher = Sha256::new();
    hasher.update(name.as_bytes());
    hasher.update([b'\n', ALGORITHM]);
    hasher.update(key.as_bytes());
    let digest = hasher.finalize();
    [digest[0], digest[1], digest[2], digest[3]]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint() -> Checkpoint {
        Checkpoint { log_id: "58190fc2a28263ef83e1625cdffd5bb2".to_owned(), size: 293, root: [7; 32], head: [9; 32] }
    }

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_bytes(&[seed; 32])
    }

    #[test]
    fn a_note_reads_back_by_its_key_alone() {
        let note = checkpoint().signed(&key(1));
        assert_eq!(Checkpoint::verified(&note, &key(1).verifying_key()), Ok(checkpoint()));
        assert_eq!(Checkpoint::verified(&note, &key(2).verifying_key()), Err(NoteError::OtherKey));
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let note = checkpoint().signed(&key(1)).into_bytes();
        for index in 0..note.len() {
            for bit in 0..8 {
                let mut flipped = note.clone();
                flipped[index] ^= 1 << bit;
                let read =
                    std::str::from_utf8(&flipped).ok().map(|note| Checkpoint::verified(note, &key(1).verifying_key()));
                assert!(!matches!(read, Some(Ok(_))), "byte {index} bit {bit}");
            }
        }
    }

    #[test]
    fn other_keys_may_sign_beside() {
        let note = checkpoint().signed(&key(1));
        let second = checkpoint().signed(&key(2));
        let both = format!("{note}{}\n", second.lines().last().unwrap());
        assert_eq!(Checkpoint::verified(&both, &key(1).verifying_key()), Ok(checkpoint()));
        assert_eq!(Checkpoint::verified(&both, &key(2).verifying_key()), Ok(checkpoint()));
    }

    /// As a mail program breaks lines that are too long for it.
    fn wrapped(note: &str, width: usize) -> String {
        let letters = |line: &str| line.chars().collect::<Vec<_>>();
        let lines = note.lines().map(|line| letters(line).chunks(width).map(String::from_iter).collect::<Vec<_>>());
        lines.flatten().collect::<Vec<_>>().join("\n") + "\n"
    }

    #[test]
    fn every_note_of_a_text_is_found() {
        let (first, second) = (checkpoint().signed(&key(1)), checkpoint().signed(&key(2)));
        let both = format!("{first}{}\n", second.lines().last().unwrap());
        let text = format!("Monday\n{first}\nTuesday, two keys\n> {}\n{second}", both.replace('\n', "\n> "));
        assert_eq!(Checkpoint::all_in(&text), [first, both, second]);
    }

    #[test]
    fn a_note_is_found_in_what_was_copied_out_of_a_chat() {
        let note = checkpoint().signed(&key(1));
        let found = |text: &str| Checkpoint::found_in(text);
        for copied in [
            note.clone(),
            format!("Checkpoint of today:\n\n{note}"),
            note.trim_end().to_owned(),
            note.replace('\n', "\r\n"),
            format!("> {}\n\nkeep it", note.trim_end().replace('\n', "\n> ")),
            format!("```\n{note}```\n"),
            format!("Anna, [22.11.26 07:05]\n  {}", note.replace('\n', "\n  ")),
            note.replace("\n\n", "\n"),
            note.replace(' ', "\n"),
            wrapped(&note, 40),
            wrapped(&note, 25).replace('\n', "\n> "),
            note.replace('\u{2014}', "--"),
            format!("see metnos/ and metnos/0 1 2 for more\n{note}- the end"),
            format!("metnos/ {note}"),
        ] {
            assert_eq!(found(&copied).as_deref(), Some(note.as_str()), "{copied}");
        }
        for cut in ["", "metnos/", "a\nb\nc\nd\ne", note.split_once("\n\n").unwrap().0] {
            assert_eq!(found(cut), None, "{cut}");
        }
    }

    /// The bytes of a note, pinned: others keep them.
    #[test]
    fn the_text_of_a_note_stays() {
        let note = checkpoint().signed(&key(1));
        assert_eq!(note, include_str!("../pinned/checkpoint.txt"));
    }
}
