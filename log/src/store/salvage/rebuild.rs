//! The new log: what goes on without a gap as it is, the record, and the rest again.

use std::collections::HashMap;

use memchr::memmem;
use redb::Database;

use super::known::Known;
use super::{By, Ids, SalvageError, Salvaged, gaps, in_words};
use crate::chain::{self, Chain};
use crate::codec::{self, Content, Frame};
use crate::envelope::Header;
use crate::event::Event;
use crate::event::instance::EpochOpened;
use crate::kept::BlobHash;
use crate::segment::{Frames, Packer, Segment};
use crate::store::assemble::Assembly;

/// How far ahead one of several events with the same number is followed, to see whether the log went on from it.
const LOOK_AHEAD: usize = 600;

/// A new log that is being written.
pub(super) struct Rebuild<'k, 'd> {
    known: &'k Known<'k>,
    /// The old file, which names heads that nothing else does.
    bytes: &'k [u8],
    assembly: Assembly<'d>,
    /// Version of each stream.
    versions: HashMap<String, u64>,
    ids: Ids,
    /// Once a row was written, no segment can follow.
    has_rows: bool,
}

impl<'k, 'd> Rebuild<'k, 'd> {
    pub(super) fn begin(
        database: &'d Database,
        id: &[u8; 16],
        known: &'k Known<'k>,
        bytes: &'k [u8],
    ) -> Result<Self, SalvageError> {
        let assembly = Assembly::begin(database, id)?;
        Ok(Self { known, bytes, assembly, versions: HashMap::new(), ids: Ids::new(), has_rows: false })
    }

    /// Writes all of it.
    pub(super) fn written(mut self, by: &By) -> Result<Salvaged, SalvageError> {
        let mut notes: Vec<_> = self.known.notes.iter().collect();
        notes.sort_by_key(|(note, _)| note.size);
        // Most of them end in the midst of a segment.
        self.assembly.mark(notes.iter().map(|(note, _)| note.size));
        while self.copy_next()? {}
        let chains = self.assembly.take_marked();
        let is_own = |note: &crate::note::Checkpoint| {
            let own = |chain: &Chain| {
                (chain.range.size(), chain.head, chain.range.root()) == (note.size, note.head, note.root)
            };
            note.size > 0
                && self.known.log_id() == u128::from_str_radix(&note.log_id, 16).ok().map(u128::to_be_bytes)
                && chains.iter().any(own)
        };
        let kept: Vec<_> = notes.into_iter().filter(|(note, _)| is_own(note)).collect();
        let signed = kept.iter().map(|(note, _)| note.size).max().unwrap_or_default();
        for (note, text) in kept {
            self.assembly.checkpoint(note.size, text)?;
        }
        let copied = self.assembly.chain.range.size();
        let rest: Vec<u64> = self.known.seqs.range(copied + 1..).copied().collect();
        let lost = gaps(self.known.seqs.iter().copied(), self.known.last());
        let again = self.rest(&rest);
        let lost_blobs = self.known.lost_blobs.clone();
        self.record(by, (&lost, &lost_blobs), again.len() as u64)?;
        for (seq, bytes) in &again {
            self.append(*seq, bytes)?;
        }
        for (name, stored) in &self.known.blobs {
            self.assembly.blob(&BlobHash(*name), stored)?;
        }
        let blobs = self.known.blobs.len() as u64;
        self.assembly.finish()?;
        let (again, unplaced) = (again.len() as u64, self.known.unplaced);
        Ok(Salvaged { copied, signed, again, lost, blobs, lost_blobs, unplaced, ..Salvaged::default() })
    }

    /// Copies the next segment or row of the unbroken beginning; `false` at its end.
    fn copy_next(&mut self) -> Result<bool, SalvageError> {
        let next = self.assembly.chain.range.size() + 1;
        if !self.has_rows
            && let Some(value) = self.segment_at(next)
        {
            self.note_segment(&value);
            self.assembly.segment(&value)?;
            return Ok(true);
        }
        let Some(bytes) = self.row_at(next) else { return Ok(false) };
        self.has_rows = true;
        self.note(&bytes);
        self.assembly.row(&bytes)?;
        Ok(true)
    }

    /// The segment that goes on from here, without what was erased.
    fn segment_at(&self, first: u64) -> Option<Vec<u8>> {
        let parsed =
            self.known.segments.get(&first)?.iter().filter_map(|value| Some((*value, Segment::parse(value).ok()?)));
        let fits = parsed.filter(|(_, segment)| segment.header.head_before == self.assembly.chain.head);
        let (value, segment) = fits.max_by_key(|(_, segment)| {
            let goes_on = self.known.segments.get(&(segment.header.last + 1)).is_some_and(|next| {
                next.iter().any(|next| {
                    Segment::parse(next).is_ok_and(|next| next.header.head_before == segment.header.head_after)
                })
            });
            (goes_on || self.is_named(&segment.header.head_after), segment.header.last)
        })?;
        let frames = segment.frames().ok()?;
        let mut is_changed = false;
        let kept: Vec<Vec<u8>> = (first..)
            .zip(frames.iter())
            .map(|(seq, bytes)| {
                let erased = self.known.kept(seq, bytes);
                is_changed |= erased.is_some();
                erased.unwrap_or_else(|| bytes.to_vec())
            })
            .collect();
        if !is_changed {
            return Some(value.to_vec());
        }
        Some(Packer::new().pack(Frames::of(&kept).plain(0..kept.len())).seal(&segment.header))
    }

    /// Every frame that is known for a number.
    fn frames_at(&self, seq: u64) -> Vec<Vec<u8>> {
        let mut frames: Vec<Vec<u8>> = self.known.rows.get(&seq).cloned().unwrap_or_default();
        for value in self.known.segments.range(..=seq).rev().take(4).flat_map(|(_, values)| values) {
            let Ok(segment) = Segment::parse(value) else { continue };
            let index = usize::try_from(seq - segment.header.first).ok();
            if let (Some(index), Ok(all)) = (index.filter(|_| segment.header.last >= seq), segment.frames())
                && let Some(bytes) = all.get(index)
            {
                frames.push(bytes.to_vec());
            }
        }
        frames.sort_unstable();
        frames.dedup_by_key(|bytes| Frame::parse(bytes).ok().map(|frame| frame.leaf(seq)));
        frames
    }

    /// The row that goes on from here. Of several, the one from which the log went on.
    fn row_at(&self, seq: u64) -> Option<Vec<u8>> {
        let frames = self.frames_at(seq);
        let chosen = if frames.len() < 2 {
            frames.into_iter().next()?
        } else {
            let head = self.assembly.chain.head;
            let told = frames.iter().position(|bytes| self.went_on(&head, seq, bytes)).unwrap_or(frames.len() - 1);
            frames.into_iter().nth(told)?
        };
        Some(self.known.kept(seq, &chosen).unwrap_or(chosen))
    }

    /// Whether a head behind this event is named anywhere.
    fn went_on(&self, head: &[u8; 32], seq: u64, bytes: &[u8]) -> bool {
        let mut head = *head;
        let mut frame = Some(bytes.to_vec());
        for next in seq..seq + LOOK_AHEAD as u64 {
            let Some(leaf) = frame.and_then(|bytes| Frame::parse(&bytes).ok().map(|frame| frame.leaf(next))) else {
                return false;
            };
            head = chain::advance(&head, &leaf);
            if self.is_named(&head) {
                return true;
            }
            frame = self.known.rows.get(&(next + 1)).and_then(|frames| frames.first().cloned());
        }
        false
    }

    fn is_named(&self, head: &[u8; 32]) -> bool {
        self.known.heads.contains(head) && self.known.notes.iter().any(|(note, _)| note.head == *head)
            || memmem::find(self.bytes, head).is_some()
    }

    fn note_segment(&mut self, value: &[u8]) {
        let Ok(frames) = Segment::parse(value).and_then(|segment| segment.frames()) else { return };
        frames.iter().for_each(|bytes| self.note(bytes));
    }

    fn note(&mut self, bytes: &[u8]) {
        let Ok(header) = Frame::parse(bytes).and_then(|frame| frame.header()) else { return };
        self.ids.insert(header.0);
        self.versions.insert(header.2.to_owned(), header.3);
    }

    /// The events behind the first gap, each once, as they are to be kept.
    fn rest(&self, seqs: &[u64]) -> Vec<(u64, Vec<u8>)> {
        let mut ids = self.ids.clone();
        let mut rest = Vec::new();
        let mut unpacked: Option<(u64, u64, Frames)> = None;
        for seq in seqs {
            if !unpacked.as_ref().is_some_and(|(first, last, _)| (*first..=*last).contains(seq)) {
                unpacked = self.known.segments.get(seq).and_then(|values| values.first()).and_then(|value| {
                    let segment = Segment::parse(value).ok()?;
                    Some((segment.header.first, segment.header.last, segment.frames().ok()?))
                });
            }
            let sealed = unpacked.as_ref().and_then(|(first, _, frames)| {
                usize::try_from(seq - first).ok().and_then(|index| frames.get(index)).map(<[u8]>::to_vec)
            });
            let Some(bytes) = sealed.or_else(|| self.frames_at(*seq).pop()) else { continue };
            let Ok(id) = Frame::parse(&bytes).and_then(|frame| frame.header()).map(|header| header.0) else { continue };
            if ids.insert(id) {
                let kept = self.known.kept(*seq, &bytes).unwrap_or(bytes);
                rest.push((*seq, kept));
            }
        }
        rest
    }

    fn record(&mut self, by: &By, lost: (&[(u64, u64)], &[BlobHash]), again: u64) -> Result<(), SalvageError> {
        let chain = &self.assembly.chain;
        let event = Event::from(EpochOpened {
            reason: "salvaged".to_owned(),
            size: chain.range.size(),
            head_before: crate::hex(&chain.head),
            lost: in_words(lost.0, lost.1),
            again: Some(again),
            lost_blobs: lost.1.to_vec(),
        });
        let seq = chain.range.size() + 1;
        let version = self.next_version("instance");
        let (label, schema) = (event.label(), event.schema());
        let header = Header(by.id, by.time.0, "instance", version, label, schema, &by.actor, None, None, 0);
        let mut salt = [0; 16];
        getrandom::fill(&mut salt).expect("the system gives random bytes");
        let (bytes, _) = codec::frame(seq, &header, &salt, &event.encode());
        Ok(self.assembly.row(&bytes)?)
    }

    fn next_version(&mut self, stream: &str) -> u64 {
        let version = self.versions.entry(stream.to_owned()).or_insert(0);
        *version += 1;
        *version
    }

    /// Appends an event again: its number and its place in its stream are new, the rest is what it was.
    fn append(&mut self, old: u64, bytes: &[u8]) -> Result<(), SalvageError> {
        let damaged = |error: codec::FrameError| SalvageError::Written(format!("event {old}: {error}"));
        let frame = Frame::parse(bytes).map_err(damaged)?;
        let mut header = frame.header().map_err(damaged)?;
        header.3 = self.next_version(header.2);
        let seq = self.assembly.chain.range.size() + 1;
        let bytes = match frame.content {
            Content::Live { salt, payload } => codec::frame(seq, &header, salt, payload).0,
            Content::Erased { digest, tombstone } => codec::erased_as(seq, &header, digest, tombstone),
        };
        Ok(self.assembly.row(&bytes)?)
    }
}
