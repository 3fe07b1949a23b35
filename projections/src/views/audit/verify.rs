//! Checking an export that stands alone: with its bytes and a public key, without the log.
//!
//! What is proved: each line is made of events that are in the log which the key signed, by the same code that made it.
//! Nothing is said of events that are not shown, and nothing of whether what the log says is true.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Read as _};

use ed25519_dalek::{Signature, VerifyingKey};
use metnos_log::note::{Checkpoint, NoteError};
use metnos_log::proof::{self, ProofError};
use metnos_log::store::{Stored, StoredBody};
use metnos_log::{Recorded, canonical};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::proof::{FORMAT, FORMAT_BEFORE, FORMAT_BEGINS, Head, PURPOSE, Row, Seal};
use super::{Audit, Line};

/// The longest line that is looked at, in bytes.
pub const LINE_BYTES_MAX: u64 = 1 << 30;

/// Why a file proves nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// The first line is no head of such a file.
    NoProof,
    /// The file is of another version of the program.
    OtherVersion,
    /// The checkpoint is no note.
    Note(NoteError),
    /// The checkpoint is another key's.
    OtherKey,
    /// A line is not one that this program writes.
    Malformed(u64),
    /// An event of a line cannot be read.
    Event(u64, u64),
    /// A line is made of an event that no line shows, or shows one that it is not made of.
    Sources(u64),
    /// A line is not what its events give.
    Line(u64),
    /// A line stands out of its order.
    Order(u64),
    /// A line is not among those that the file says it holds.
    Unasked(u64),
    /// There are more or fewer lines than the file says, or events.
    Count,
    /// The file ends before its last line does.
    Cut,
    /// Something stands behind the end.
    Behind,
    /// The events are not those that were proved.
    Events,
    /// The proof does not lead to the root.
    Proof(ProofError),
    /// Something above was changed after it was signed.
    Seal,
}

impl Refusal {
    /// The text that says so: its key and values.
    pub fn said(&self) -> (&'static str, Value) {
        let at = |row: &u64| json!({ "line": row });
        match self {
            Self::NoProof => ("proof.no_proof", json!({})),
            Self::OtherVersion => ("proof.other_version", json!({})),
            Self::Note(_) => ("proof.note", json!({})),
            Self::OtherKey => ("proof.other_key", json!({})),
            Self::Malformed(row) => ("proof.malformed", at(row)),
            Self::Event(row, seq) => ("proof.event", json!({ "line": row, "seq": seq })),
            Self::Sources(row) => ("proof.sources", at(row)),
            Self::Line(row) => ("proof.line", at(row)),
            Self::Order(row) => ("proof.order", at(row)),
            Self::Unasked(row) => ("proof.unasked", at(row)),
            Self::Count => ("proof.count", json!({})),
            Self::Cut => ("proof.cut", json!({})),
            Self::Behind => ("proof.behind", json!({})),
            Self::Events | Self::Proof(ProofError::Leaves) => ("proof.events", json!({})),
            Self::Proof(ProofError::Root) => ("proof.root", json!({})),
            Self::Proof(_) => ("proof.shape", json!({})),
            Self::Seal => ("proof.seal", json!({})),
        }
    }
}

/// What a file proves.
#[derive(Clone, Debug, PartialEq)]
pub struct Proved {
    /// The log's name.
    pub log_id: String,
    /// How many events it had.
    pub size: u64,
    /// The key, hexadecimal.
    pub key: String,
    /// How many lines were proved.
    pub lines: u64,
    /// How many events they are made of.
    pub events: u64,
    /// How many of these were erased.
    pub erased: u64,
    /// How many of these are not shown.
    pub withheld: u64,
    /// How many lines there are of each kind.
    pub kinds: BTreeMap<&'static str, u64>,
}

impl Proved {
    /// As values of a text.
    pub fn said(&self) -> Value {
        json!({
            "log": self.log_id, "size": self.size, "key": self.key, "lines": self.lines, "events": self.events,
            "erased": self.erased, "withheld": self.withheld, "kinds": self.kinds,
        })
    }
}

/// A public key: 64 hexadecimal digits, as `config/keys/instance.pub` holds them.
pub fn key(text: &str) -> Option<VerifyingKey> {
    VerifyingKey::from_bytes(blake3::Hash::from_hex(text.trim()).ok()?.as_bytes()).ok()
}

/// An event that a later line may be made of too.
type Held = (Recorded, bool);

/// Checks a file line by line, in memory for the events that are needed again.
pub struct Verifier {
    key: VerifyingKey,
    hasher: blake3::Hasher,
    head: Option<(Head, Checkpoint)>,
    /// Lines of the file that were read.
    read: u64,
    leaves: BTreeMap<u64, [u8; 32]>,
    held: BTreeMap<u64, Held>,
    last: u64,
    proved: Proved,
    is_sealed: bool,
}

impl Verifier {
    /// By a public key.
    pub fn new(key: VerifyingKey) -> Self {
        let hex = blake3::Hash::from_bytes(key.to_bytes()).to_hex().to_string();
        let (log_id, kinds) = (String::new(), BTreeMap::new());
        let proved = Proved { log_id, size: 0, key: hex, lines: 0, events: 0, erased: 0, withheld: 0, kinds };
        let (hasher, leaves, held) = (blake3::Hasher::new(), BTreeMap::new(), BTreeMap::new());
        Self { key, hasher, head: None, read: 0, leaves, held, last: 0, proved, is_sealed: false }
    }

    /// Takes the next line of the file, with its end.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        self.read += 1;
        if self.is_sealed {
            return Err(Refusal::Behind);
        }
        if self.head.is_none() {
            self.take_head(bytes)?;
        } else if self.proved.lines == self.head.as_ref().map_or(0, |(head, _)| head.lines) {
            return self.take_seal(bytes);
        } else {
            self.take_row(bytes)?;
        }
        self.hasher.update(bytes);
        Ok(())
    }

    /// What the whole file proves.
    pub fn finish(self) -> Result<Proved, Refusal> {
        match (self.read, self.is_sealed) {
            (0, _) => Err(Refusal::NoProof),
            (_, false) => Err(Refusal::Cut),
            (_, true) => Ok(self.proved),
        }
    }

    fn take_head(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        let text =
            whole(bytes).map_err(|cut| if bytes.starts_with(b"{\"checkpoint\":") { cut } else { Refusal::NoProof })?;
        let head: Value = serde_json::from_str(text).map_err(|_| Refusal::NoProof)?;
        match head["format"].as_str() {
            Some(FORMAT | FORMAT_BEFORE) => {}
            Some(other) if other.starts_with(FORMAT_BEGINS) => return Err(Refusal::OtherVersion),
            _ => return Err(Refusal::NoProof),
        }
        let head: Head = serde_json::from_value(head).map_err(|_| Refusal::Malformed(1))?;
        let checkpoint = Checkpoint::verified(&head.checkpoint, &self.key).map_err(|error| match error {
            NoteError::OtherKey => Refusal::OtherKey,
            NoteError::Malformed(_) | NoteError::Signature => Refusal::Note(error),
        })?;
        as_written(&head, text, 1)?;
        (self.proved.log_id, self.proved.size) = (checkpoint.log_id.clone(), checkpoint.size);
        self.head = Some((head, checkpoint));
        Ok(())
    }

    fn take_row(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        let row: Row = read(bytes, self.read)?;
        as_written(&row, whole(bytes)?, self.read)?;
        let is_of_line = |seq: &u64| row.from.contains(seq);
        let shown: BTreeSet<u64> = row.events.iter().map(|stored| stored.seq).collect();
        let is_sorted = row.events.is_sorted_by(|one, two| one.seq < two.seq);
        if !is_sorted || !shown.iter().all(is_of_line) || !row.withheld.iter().all(|seq| shown.contains(seq)) {
            return Err(Refusal::Sources(self.read));
        }
        for stored in &row.events {
            self.take_event(stored, row.withheld.contains(&stored.seq))?;
        }
        let line = self.made_again(&row.from)?;
        if line.kind != row.kind || line.sources != row.from || line.value != row.line {
            return Err(Refusal::Line(self.read));
        }
        if line.seq <= self.last {
            return Err(Refusal::Order(self.read));
        }
        if !self.head.as_ref().is_some_and(|(head, _)| head.selection.takes(&line)) {
            return Err(Refusal::Unasked(self.read));
        }
        // What ends a line is part of no other, and it is what takes room.
        self.held.remove(&line.seq);
        self.last = line.seq;
        self.proved.lines += 1;
        *self.proved.kinds.entry(line.kind.name()).or_default() += 1;
        Ok(())
    }

    fn take_event(&mut self, stored: &Stored, is_withheld: bool) -> Result<(), Refusal> {
        let recorded = stored.recorded().map_err(|_| Refusal::Event(self.read, stored.seq))?;
        let is_hidden = matches!(stored.body, StoredBody::Digest(_));
        if is_withheld && !is_hidden {
            return Err(Refusal::Sources(self.read));
        }
        self.proved.events += 1;
        self.proved.withheld += u64::from(is_withheld);
        self.proved.erased += u64::from(is_hidden && !is_withheld);
        if self.leaves.insert(stored.seq, stored.leaf()).is_some() {
            return Err(Refusal::Sources(self.read));
        }
        self.held.insert(stored.seq, (recorded, is_withheld));
        Ok(())
    }

    /// The line that these events give, and no other on the way.
    fn made_again(&self, from: &[u64]) -> Result<Line, Refusal> {
        let mut audit = Audit::default();
        let mut made = None;
        for (at, seq) in from.iter().enumerate() {
            let (recorded, is_withheld) = self.held.get(seq).ok_or(Refusal::Sources(self.read))?;
            made = audit.take_shown(recorded, *is_withheld);
            if made.is_some() != (at + 1 == from.len()) {
                return Err(Refusal::Line(self.read));
            }
        }
        made.ok_or(Refusal::Line(self.read))
    }

    fn take_seal(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        let Ok(seal) = read::<Seal>(bytes, self.read) else {
            // A line that is no seal where the last one is due: there are more of them, unless it is cut off.
            return Err(if bytes.ends_with(b"\n") { Refusal::Count } else { Refusal::Cut });
        };
        as_written(&seal, whole(bytes)?, self.read)?;
        let (head, checkpoint) = self.head.as_ref().ok_or(Refusal::NoProof)?;
        if head.events != self.proved.events {
            return Err(Refusal::Count);
        }
        let shown = proof::shown(checkpoint.size, &head.proof).map_err(Refusal::Proof)?;
        if !shown.iter().eq(self.leaves.keys()) {
            return Err(Refusal::Events);
        }
        let leaves: Vec<[u8; 32]> = self.leaves.values().copied().collect();
        proof::verify(checkpoint.size, &checkpoint.root, &head.proof, &leaves).map_err(Refusal::Proof)?;
        let digest = self.hasher.finalize();
        if seal.digest != digest.to_hex().as_str() {
            return Err(Refusal::Seal);
        }
        let signed = blake3::derive_key(PURPOSE, digest.as_bytes());
        let signature = signature(&seal.signature).ok_or(Refusal::Seal)?;
        self.key.verify_strict(&signed, &signature).map_err(|_| Refusal::Seal)?;
        self.is_sealed = true;
        Ok(())
    }
}

/// Checks a whole file; the outer error is the reader's.
pub fn verified(file: &mut dyn BufRead, key: VerifyingKey) -> io::Result<Result<Proved, Refusal>> {
    let mut verifier = Verifier::new(key);
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut *file).take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
            return Ok(verifier.finish());
        }
        if let Err(refusal) = verifier.take(&line) {
            return Ok(Err(refusal));
        }
    }
}

/// A signature in lower-case digits: one spelling of it.
fn signature(text: &str) -> Option<Signature> {
    if text.contains(|digit: char| digit.is_ascii_uppercase()) {
        return None;
    }
    let half = |part: Option<&str>| Some(*blake3::Hash::from_hex(part?).ok()?.as_bytes());
    let (first, second) = (half(text.get(..64))?, half(text.get(64..))?);
    Signature::from_slice(&[first, second].concat()).ok()
}

/// A line without its end.
fn whole(bytes: &[u8]) -> Result<&str, Refusal> {
    let text = bytes.strip_suffix(b"\n").ok_or(Refusal::Cut)?;
    std::str::from_utf8(text).map_err(|_| Refusal::NoProof)
}

fn read<T: DeserializeOwned>(bytes: &[u8], row: u64) -> Result<T, Refusal> {
    let text = bytes.strip_suffix(b"\n").ok_or(Refusal::Cut)?;
    serde_json::from_slice(text).map_err(|_| Refusal::Malformed(row))
}

/// One text for one part: no other order, no other spelling, no field beside.
fn as_written(part: &impl serde::Serialize, text: &str, row: u64) -> Result<(), Refusal> {
    if canonical::of(part).as_deref() == Some(text) { Ok(()) } else { Err(Refusal::Malformed(row)) }
}
