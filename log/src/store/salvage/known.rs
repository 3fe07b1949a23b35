//! All that is known of a damaged log: its events by number, and what they say about each other.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::numbers::{self, Numbered};
use super::scan::Pieces;
use super::{Seqs, plain_segments};
use crate::chain;
use crate::codec::{self, Frame};
use crate::envelope::{Body, Header};
use crate::event::{Event, upcast};
use crate::id::EventId;
use crate::kept::BlobHash;
use crate::note::Checkpoint;
use crate::segment::Segment;
use crate::store::blobs;
use crate::store::rewrite::{self, Tombstone};

/// What was found, in order.
#[derive(Default)]
pub(super) struct Known<'b> {
    /// Whole segments by first event. Of two with the same first event the one that others go on from comes first.
    pub(super) segments: BTreeMap<u64, Vec<&'b [u8]>>,
    /// Events of no segment.
    pub(super) rows: BTreeMap<u64, Vec<Vec<u8>>>,
    /// Numbers of all events.
    pub(super) seqs: Seqs,
    /// Erased frames of events, from wherever.
    pub(super) erased: BTreeMap<u64, Vec<u8>>,
    /// Events that an `erased` event names, and what it leaves.
    pub(super) gone: BTreeMap<u64, Vec<u8>>,
    /// Heads that something sound names.
    pub(super) heads: HashSet<[u8; 32]>,
    pub(super) notes: Vec<(Checkpoint, String)>,
    /// Blobs that events name, as they are stored.
    pub(super) blobs: BTreeMap<[u8; 32], &'b [u8]>,
    /// Blobs that events name and that are nowhere.
    pub(super) lost_blobs: Vec<BlobHash>,
    pub(super) unplaced: u64,
    /// The key that the log was begun with.
    pub(super) public_key: Option<String>,
    /// Whether all signed notes are by another key than that of who salvages.
    pub(super) is_others: bool,
    id: Option<String>,
    wanted: BTreeSet<BlobHash>,
    blobs_gone: BTreeSet<BlobHash>,
}

impl<'b> Known<'b> {
    pub(super) fn is_empty(&self) -> bool {
        self.seqs.is_empty()
    }

    /// The log's name, as its first event or a signed note says it.
    pub(super) fn log_id(&self) -> Option<[u8; 16]> {
        let name = self.id.as_ref().or(self.notes.first().map(|(note, _)| &note.log_id))?;
        u128::from_str_radix(name, 16).ok().map(u128::to_be_bytes)
    }

    /// The last number that anything names.
    pub(super) fn last(&self) -> u64 {
        let noted = self.notes.iter().map(|(note, _)| note.size).max().unwrap_or(0);
        noted.max(self.seqs.last().copied().unwrap_or(0))
    }

    pub(super) fn take(&mut self, pieces: &Pieces<'b>, archives: &'b [Vec<u8>]) {
        let plain = archives.iter().flat_map(|file| plain_segments(file));
        let mut sealed = HashMap::new();
        for value in pieces.segments.iter().copied().chain(plain) {
            self.take_segment(value, &mut sealed);
        }
        self.notes = pieces.notes.iter().map(|(note, text)| (note.clone(), (*text).to_owned())).collect();
        self.is_others = self.notes.is_empty() && pieces.has_others_notes;
        self.heads.extend(self.notes.iter().map(|(note, _)| note.head));
        let loose = pieces.loose.iter().flat_map(crate::segment::Frames::iter);
        let frames = pieces.frames.iter().copied().chain(loose);
        let (numbered, unplaced) = numbers::number(frames, &sealed, self.last());
        self.unplaced = unplaced;
        self.take_rows(&numbered);
        let records: Vec<(u64, Event)> = self.records();
        self.take_records(&records);
        self.take_blobs(pieces);
    }

    fn take_segment(&mut self, value: &'b [u8], sealed: &mut HashMap<EventId, u64>) {
        let Ok(segment) = Segment::parse(value) else { return };
        let Ok(frames) = segment.frames() else { return };
        let (mut head, mut events) = (segment.header.head_before, Vec::new());
        for (seq, bytes) in (segment.header.first..).zip(frames.iter()) {
            let Ok(frame) = Frame::parse(bytes) else { return };
            let (Ok(leaf), Ok(header)) = (frame.verified(seq), frame.header()) else { return };
            head = chain::advance(&head, &leaf);
            events.push((header.0, seq, bytes));
        }
        if head != segment.header.head_after {
            return;
        }
        for (id, seq, bytes) in events {
            sealed.insert(id, seq);
            self.look(seq, bytes);
        }
        self.heads.extend([segment.header.head_before, segment.header.head_after]);
        let same = self.segments.entry(segment.header.first).or_default();
        if !same.contains(&value) {
            same.push(value);
        }
    }

    fn take_rows(&mut self, numbered: &Numbered<'_>) {
        for (seq, frames) in numbered {
            for bytes in frames {
                self.look(*seq, bytes);
                self.rows.entry(*seq).or_default().push(bytes.to_vec());
            }
        }
    }

    /// What one event says that matters for all.
    fn look(&mut self, seq: u64, bytes: &[u8]) {
        self.seqs.insert(seq);
        let Ok(frame) = Frame::parse(bytes) else { return };
        let Some(payload) = frame.payload() else {
            self.erased.insert(seq, bytes.to_vec());
            return;
        };
        let Ok(header) = frame.header() else { return };
        let events = events_of(&header, payload);
        if events.is_empty() {
            // Of a kind that is not known: whatever could be a name.
            self.wanted.extend(names_in(payload));
        }
        for mut event in events {
            self.wanted.extend(event.blobs());
            if let Event::InstanceCreated(created) = &event {
                self.public_key = Some(created.public_key.clone());
                self.id = Some(created.log_id.clone());
            }
        }
    }

    /// Every `erased` and `epoch_opened` event, by number.
    fn records(&self) -> Vec<(u64, Event)> {
        let mut records = Vec::new();
        let mut note = |seq: u64, bytes: &[u8]| {
            let Ok(frame) = Frame::parse(bytes) else { return };
            let (Ok(header), Some(payload)) = (frame.header(), frame.payload()) else { return };
            if matches!(header.4, "erased" | "epoch_opened") {
                records.extend(events_of(&header, payload).into_iter().map(|event| (seq, header.1, event)));
            }
        };
        for value in self.segments.values().flatten() {
            let Ok(segment) = Segment::parse(value) else { continue };
            let is_meant = |kind: &str| segment.header.kinds.contains(kind);
            if let (true, Ok(frames)) = (is_meant("erased") || is_meant("epoch_opened"), segment.frames()) {
                (segment.header.first..).zip(frames.iter()).for_each(|(seq, bytes)| note(seq, bytes));
            }
        }
        for (seq, frames) in &self.rows {
            for bytes in frames {
                note(*seq, bytes);
            }
        }
        records.sort_by_key(|(seq, ..)| *seq);
        records.into_iter().map(|(seq, time, event)| (seq, stamped(time, event))).collect()
    }

    /// What was erased, by the numbers of this log; a record that an earlier salvage appended again names those of another one.
    fn take_records(&mut self, records: &[(u64, Event)]) {
        let mut foreign_until = 0;
        for (seq, event) in records {
            match event {
                Event::EpochOpened(epoch) => {
                    foreign_until = foreign_until.max(seq.saturating_add(epoch.again.unwrap_or(0)));
                    self.blobs_gone.extend(epoch.lost_blobs.iter().copied());
                }
                Event::Erased(erased) => {
                    self.blobs_gone.extend(erased.blobs.iter().copied());
                    if *seq <= foreign_until {
                        continue;
                    }
                    let at = erased.of.parse().unwrap_or(0);
                    let tombstone = Tombstone { reason: erased.reason.clone(), by: erased.by.clone(), at };
                    let tombstone = rewrite::stored(&tombstone);
                    for (first, last) in erased.payloads().iter().filter(|(first, last)| first <= last && last < seq) {
                        let named: Vec<u64> = self.seqs.range(*first..=*last).copied().collect();
                        for seq in named {
                            self.gone.entry(seq).or_insert_with(|| tombstone.clone());
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn take_blobs(&mut self, pieces: &Pieces<'b>) {
        let by_name: HashMap<[u8; 32], &'b [u8]> =
            pieces.blobs.iter().flat_map(|(names, stored)| names.iter().map(|name| (*name, *stored))).collect();
        let mut waiting: Vec<BlobHash> = std::mem::take(&mut self.wanted).into_iter().collect();
        let mut seen: BTreeSet<BlobHash> = waiting.iter().copied().collect();
        while let Some(hash) = waiting.pop() {
            if self.blobs_gone.contains(&hash) {
                continue;
            }
            let Some(stored) = by_name.get(&hash.0) else {
                self.lost_blobs.push(hash);
                continue;
            };
            self.blobs.insert(hash.0, stored);
            // A long list of changes names the copies of files that were made before them.
            let text = blobs::unpack(stored).unwrap_or_default();
            waiting.extend(names_as_text(&text).filter(|name| by_name.contains_key(&name.0) && seen.insert(*name)));
        }
        self.lost_blobs.sort_unstable();
    }

    /// The frame of an event as it is to be kept: erased, where it ever was.
    pub(super) fn kept(&self, seq: u64, bytes: &[u8]) -> Option<Vec<u8>> {
        let frame = Frame::parse(bytes).ok()?;
        frame.payload()?;
        if let Some(erased) = self.erased.get(&seq) {
            return Some(erased.clone());
        }
        self.gone.get(&seq).map(|tombstone| codec::erased(&frame, tombstone))
    }
}

/// An `erased` event keeps its time where its number was, for the tombstones that it leaves.
fn stamped(time: i64, event: Event) -> Event {
    match event {
        Event::Erased(mut erased) => {
            erased.of = time.to_string();
            erased.into()
        }
        other => other,
    }
}

/// What a payload says, raised where it is of an earlier kind; nothing where it cannot be read.
fn events_of(header: &Header<'_>, payload: &[u8]) -> Vec<Event> {
    match upcast::read(header.4, header.5, payload) {
        Ok(Body::Known(event)) => vec![event],
        Ok(Body::Raised(events)) => events,
        Ok(Body::Unknown(_) | Body::Erased) | Err(_) => Vec::new(),
    }
}

/// Every value of 32 bytes in a payload, wherever it stands.
fn names_in(payload: &[u8]) -> Vec<BlobHash> {
    let at = |at: usize| payload.get(at + 2..at + 34).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    memchr::memmem::find_iter(payload, &[0xc4, 0x20]).filter_map(at).map(BlobHash).collect()
}

/// Every run of 64 hexadecimal digits in a text.
fn names_as_text(text: &[u8]) -> impl Iterator<Item = BlobHash> {
    let runs = text.split(|byte| !byte.is_ascii_hexdigit()).filter(|run| run.len() == 64);
    runs.filter_map(|run| blake3::Hash::from_hex(run).ok()).map(|hash| BlobHash(*hash.as_bytes()))
}
