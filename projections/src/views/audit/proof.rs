//! An export that stands alone: JSON lines from which anyone with the public key can see that each audit line is made of
//! events that are in the log.
//!
//! ```text
//! {"checkpoint": a signed note, "events": m, "format": …, "lines": n, "proof": […], "selection": {…}}
//! {"events": [bytes of the events not shown before], "from": [numbers], "kind": …, "line": {…}, "withheld"?: [numbers]}   n times
//! {"digest": of all bytes above, "signature": of that digest by the same key}
//! ```
//!
//! An event whose payload is not shown has the payload's digest instead; its leaf is the same.

use std::collections::BTreeSet;

use metnos_log::proof::Part;
use metnos_log::store::Stored;
use metnos_log::{Recorded, canonical};
use serde::{Deserialize, Serialize};

use super::quoting::Quoting;
use super::selection::Selection;
use super::{Kind, Line};

/// What the first line says the file is: its own form, and the shape of the lines in it ([`super::VERSION`]).
pub const FORMAT: &str = "metnos audit proof v1, lines v3";
/// What it said before there were lines of erasures; the others are as they were, and it is checked like the newest.
pub const FORMAT_BEFORE: &str = "metnos audit proof v1, lines v2";
/// What begins it, whatever wrote the file.
pub const FORMAT_BEGINS: &str = "metnos audit proof ";
/// What a file's digest is signed for.
pub const PURPOSE: &str = "metnos audit proof seal v1";

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// [`FORMAT`].
    pub format: String,
    /// The signed note: which log, how long, with which root.
    pub checkpoint: String,
    /// Which lines were asked for.
    pub selection: Selection,
    /// How many lines there are.
    pub lines: u64,
    /// How many events they are made of.
    pub events: u64,
    /// That these events are in the log.
    #[serde(with = "parts")]
    pub proof: Vec<Part>,
}

/// Parts as texts.
mod parts {
    use metnos_log::proof::Part;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(parts: &[Part], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(parts.iter().map(Part::to_string))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Part>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
    }
}

/// A line with what it is made of.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The events that no line above is made of.
    pub events: Vec<Stored>,
    /// The numbers of all events that the line is made of.
    pub from: Vec<u64>,
    /// What the line is about.
    pub kind: Kind,
    /// The line.
    pub line: serde_json::Value,
    /// Those of `events` whose payload is in the log and not in this file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<u64>,
}

/// The last line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seal {
    /// blake3 of all bytes above, hexadecimal.
    pub digest: String,
    /// The signature of the digest, hexadecimal.
    pub signature: String,
}

/// The text of a part of the file: one line with its end.
pub fn written(part: &impl Serialize) -> String {
    canonical::of(part).expect("the parts of the file are structs with text keys") + "\n"
}

/// The lines of a selection, with what each is made of. Asked twice, once for the numbers and once for the lines, it gives the
/// same: the events are the same.
#[derive(Default)]
pub struct Chosen {
    audit: super::Audit,
    selection: Selection,
    /// Whether what quotes other turns is shown nevertheless.
    quotes: bool,
    quoting: Quoting,
}

impl Chosen {
    /// The lines that are wanted. What quotes other turns is withheld unless every line is wanted, or `quotes`.
    pub fn new(selection: Selection, quotes: bool) -> Self {
        let quotes = quotes || selection.is_everything();
        Self { audit: super::Audit::default(), selection, quotes, quoting: Quoting::default() }
    }

    /// Takes the next event in; gives the line that it completes, if that is wanted.
    pub fn take(&mut self, recorded: &Recorded) -> Option<Line> {
        let is_withheld = self.quoting.take(recorded) && !self.quotes;
        let line = self.audit.take_shown(recorded, is_withheld)?;
        self.selection.takes(&line).then_some(line)
    }
}

/// Makes the lines of the file one after the other.
#[derive(Default)]
pub struct Rows {
    /// The events that were shown.
    shown: BTreeSet<u64>,
}

impl Rows {
    /// The text of a line, by the stored bytes of its events.
    pub fn row<E>(&mut self, line: &Line, mut stored: impl FnMut(u64) -> Result<Stored, E>) -> Result<String, E> {
        let (mut events, mut withheld) = (Vec::new(), Vec::new());
        for seq in &line.sources {
            if self.shown.insert(*seq) {
                let is_withheld = line.withheld.contains(seq);
                let bytes = stored(*seq)?;
                events.push(if is_withheld { bytes.withheld() } else { bytes });
                withheld.extend(is_withheld.then_some(*seq));
            }
        }
        let (from, value) = (line.sources.clone(), line.value.clone());
        Ok(written(&Row { events, from, kind: line.kind, line: value, withheld }))
    }
}
