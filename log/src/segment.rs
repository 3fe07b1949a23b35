//! A sealed run of frames as one value: a header in clear and the frames behind each other, compressed (`FORMAT.md`, «Segment»).
//!
//! Readers compare one digest a segment instead of one leaf an event; that the frames are those that were chained is what
//! verification looks at.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::codec::{Frame, FrameError};

/// The format byte of a segment.
pub const SEGMENT_FORMAT: u8 = 1;

/// zstd level: one of the fast ones, whose literals are stored as they are. Frames are mostly repetitions of each other: level 1
/// makes them shorter by three in a hundred, and takes a third more of the time to pack and half more to unpack.
const LEVEL: i32 = -1;
/// The length before each frame.
const LENGTH_BYTES: usize = size_of::<u32>();
/// Where the parts of fixed size end and the kinds begin.
const FIXED_BYTES: usize = 144;
const DIGEST_AT: usize = 112;
/// The longest that the frames of one segment may be, unpacked, each with its length before it.
pub(crate) const BYTES_MAX: u32 = 1 << 30;

/// Why a segment cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// Written by a newer program, or no segment at all.
    #[error("segment format {found} is not known to this program (it knows {SEGMENT_FORMAT})")]
    Format {
        /// The format byte.
        found: u8,
    },
    /// Lengths that do not fit the bytes.
    #[error("the segment's lengths do not fit its bytes")]
    Short,
    /// Not the bytes that were sealed.
    #[error("the stored bytes are not those that were sealed (digest differs)")]
    Digest,
    /// The frames do not unpack.
    #[error("the frames cannot be unpacked")]
    Packed(#[source] std::io::Error),
    /// Header and frames tell different things.
    #[error("the header says another {0} than the frames do")]
    Header(&'static str),
    /// A frame inside.
    #[error("event {seq}: {source}")]
    Frame {
        /// Its number.
        seq: u64,
        /// What is wrong.
        #[source]
        source: FrameError,
    },
}

/// What a segment says of itself in clear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// Number of its first event.
    pub first: u64,
    /// Number of its last event.
    pub last: u64,
    /// The chain's head before its first event.
    pub head_before: [u8; 32],
    /// The chain's head after its last event.
    pub head_after: [u8; 32],
    /// The least time of its events, µs.
    pub least_time: i64,
    /// The greatest time of its events, µs.
    pub greatest_time: i64,
    /// The labels of its events.
    pub kinds: BTreeSet<String>,
}

impl SegmentHeader {
    /// How many events it holds.
    pub fn count(&self) -> u64 {
        // The greatest number of all is no event's: it would have none behind it.
        self.last.checked_add(1).map_or(0, |end| end.saturating_sub(self.first))
    }

    fn write(&self, packed: u32, unpacked: u32) -> Vec<u8> {
        let kinds: usize = self.kinds.iter().map(|kind| 2 + kind.len()).sum();
        let length = u32::try_from(FIXED_BYTES + kinds).expect("kinds are few and short");
        let mut bytes = Vec::with_capacity(FIXED_BYTES + kinds + packed as usize);
        bytes.extend([SEGMENT_FORMAT, 0, 0, 0]);
        bytes.extend(length.to_be_bytes());
        bytes.extend(packed.to_be_bytes());
        bytes.extend(unpacked.to_be_bytes());
        bytes.extend(self.first.to_be_bytes());
        bytes.extend(self.last.to_be_bytes());
        bytes.extend(self.least_time.to_be_bytes());
        bytes.extend(self.greatest_time.to_be_bytes());
        bytes.extend(self.head_before);
        bytes.extend(self.head_after);
        bytes.extend([0; FIXED_BYTES - DIGEST_AT]);
        for kind in &self.kinds {
            let length = u16::try_from(kind.len()).expect("a header's kind is at most 1,024 bytes");
            bytes.extend(length.to_be_bytes());
            bytes.extend(kind.as_bytes());
        }
        bytes
    }
}

/// The first of some frames as they are packed, and what is behind it; `None` where its length does not fit.
pub(crate) fn split_first(packed: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, behind) = packed.split_first_chunk::<LENGTH_BYTES>()?;
    behind.split_at_checked(u32::from_be_bytes(*length) as usize)
}

/// Frames one behind the other, each with its length before it: in memory as a segment packs them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    plain: Vec<u8>,
    /// Where each ends.
    ends: Vec<u32>,
}

impl Frames {
    /// Takes unpacked frames apart; `None` where the lengths do not fit.
    pub(crate) fn of_plain(plain: Vec<u8>) -> Option<Self> {
        let mut ends = Vec::new();
        let mut rest = plain.as_slice();
        while !rest.is_empty() {
            (_, rest) = split_first(rest)?;
            ends.push(u32::try_from(plain.len() - rest.len()).ok()?);
        }
        Some(Self { plain, ends })
    }

    /// Those of a slice.
    pub fn of<F: AsRef<[u8]>>(frames: &[F]) -> Self {
        let mut made = Self::default();
        for frame in frames {
            made.push(frame.as_ref());
        }
        made
    }

    /// Adds one more.
    pub fn push(&mut self, frame: &[u8]) {
        self.write(|plain| plain.extend_from_slice(frame));
    }

    /// Adds one more, which `write` puts behind what the buffer holds.
    pub(crate) fn write<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let start = self.plain.len();
        self.plain.extend([0; LENGTH_BYTES]);
        let written = write(&mut self.plain);
        let length = u32::try_from(self.plain.len() - start - LENGTH_BYTES).expect("frames are far below 4 GiB");
        self.plain[start..start + LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
        self.ends.push(u32::try_from(self.plain.len()).expect("runs of frames stay far below 4 GiB"));
        written
    }

    /// Makes room for so many more bytes.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.plain.reserve(bytes);
    }

    /// Adds those of another run.
    pub fn extend(&mut self, others: &Self) {
        others.iter().for_each(|frame| self.push(frame));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// How many bytes they have together.
    pub fn bytes(&self) -> usize {
        self.plain.len() - LENGTH_BYTES * self.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of one.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)? as usize;
        Some(&self.plain[self.end(index) + LENGTH_BYTES..end])
    }

    /// The bytes of one, to be changed in their place.
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut [u8]> {
        let end = *self.ends.get(index)? as usize;
        let start = self.end(index) + LENGTH_BYTES;
        Some(&mut self.plain[start..end])
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Some of them, as they are packed.
    ///
    /// # Panics
    /// Where there are fewer.
    pub fn plain(&self, run: Range<usize>) -> &[u8] {
        &self.plain[self.end(run.start)..self.end(run.end)]
    }

    /// Where the first so many end.
    fn end(&self, count: usize) -> usize {
        count.checked_sub(1).map_or(0, |last| self.ends[last] as usize)
    }
}

/// What a segment's frames amount to, besides their bytes.
#[derive(Clone, Debug, Default)]
pub struct Sealing {
    least_time: Option<i64>,
    greatest_time: i64,
    kinds: BTreeSet<String>,
}

impl Sealing {
    /// Takes one frame in.
    pub fn take(&mut self, frame: &[u8]) -> Result<(), FrameError> {
        let header = Frame::parse(frame)?.header()?;
        self.take_in(header.1, header.4);
        Ok(())
    }

    /// Takes the time and the label of one event in.
    pub(crate) fn take_in(&mut self, time: i64, kind: &str) {
        self.greatest_time = self.least_time.map_or(time, |_| self.greatest_time.max(time));
        self.least_time = Some(self.least_time.map_or(time, |least| least.min(time)));
        if !self.kinds.contains(kind) {
            self.kinds.insert(kind.to_owned());
        }
    }

    /// How many bytes the value has beside its packed frames.
    pub fn overhead(&self) -> usize {
        FIXED_BYTES + self.kinds.iter().map(|kind| 2 + kind.len()).sum::<usize>()
    }

    /// The header for these frames between two heads.
    pub fn header(self, (first, last): (u64, u64), heads: [[u8; 32]; 2]) -> SegmentHeader {
        let [head_before, head_after] = heads;
        let Self { least_time, greatest_time, kinds } = self;
        let least_time = least_time.unwrap_or_default();
        SegmentHeader { first, last, head_before, head_after, least_time, greatest_time, kinds }
    }
}

/// Compresses runs of frames; one after the other in the same memory.
pub struct Packer(zstd::bulk::Compressor<'static>);

impl Packer {
    /// One that has its memory.
    pub fn new() -> Self {
        Self(zstd::bulk::Compressor::new(LEVEL).expect("a level that zstd knows"))
    }

    /// Frames as [`Frames::plain`] gives them, compressed.
    pub fn pack(&mut self, plain: &[u8]) -> Packed {
        let bytes = self.0.compress(plain).expect("compressing in memory does not fail");
        Packed { bytes, unpacked: u32::try_from(plain.len()).expect("runs of frames stay far below 4 GiB") }
    }
}

impl Default for Packer {
    fn default() -> Self {
        Self::new()
    }
}

/// Compressed frames.
#[derive(Debug)]
pub struct Packed {
    /// What is stored of them.
    pub bytes: Vec<u8>,
    /// How long they were.
    pub unpacked: u32,
}

impl Packed {
    /// The stored value: header, digest, packed frames.
    pub fn seal(&self, header: &SegmentHeader) -> Vec<u8> {
        let length = u32::try_from(self.bytes.len()).expect("runs of frames stay far below 4 GiB");
        let mut bytes = header.write(length, self.unpacked);
        bytes.extend_from_slice(&self.bytes);
        let digest = digest(&bytes);
        bytes[DIGEST_AT..FIXED_BYTES].copy_from_slice(&digest);
        bytes
    }
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("metnos log segment v1");
    hasher.update(&bytes[..DIGEST_AT]);
    hasher.update(&bytes[FIXED_BYTES..]);
    *hasher.finalize().as_bytes()
}

/// Unpacks segments, one after the other in the same memory.
pub struct Unpacker(zstd::bulk::Decompressor<'static>);

impl Default for Unpacker {
    fn default() -> Self {
        Self(zstd::bulk::Decompressor::new().expect("no dictionary that could be refused"))
    }
}

/// A stored segment, its digest compared.
#[derive(Clone, Debug)]
pub struct Segment<'a> {
    /// What it says of itself.
    pub header: SegmentHeader,
    packed: &'a [u8],
    unpacked: u32,
}

impl<'a> Segment<'a> {
    /// Reads a stored value and compares its digest.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, SegmentError> {
        let fixed = bytes.get(..FIXED_BYTES).ok_or(SegmentError::Short)?;
        if fixed[0] != SEGMENT_FORMAT {
            return Err(SegmentError::Format { found: fixed[0] });
        }
        if digest(bytes) != fixed[DIGEST_AT..] {
            return Err(SegmentError::Digest);
        }
        let u32_at = |at: usize| u32::from_be_bytes(std::array::from_fn(|index| fixed[at + index]));
        let u64_at = |at: usize| u64::from_be_bytes(std::array::from_fn(|index| fixed[at + index]));
        let i64_at = |at: usize| i64::from_be_bytes(std::array::from_fn(|index| fixed[at + index]));
        let hash_at = |at: usize| std::array::from_fn(|index| fixed[at + index]);
        let kinds = bytes.get(FIXED_BYTES..u32_at(4) as usize).ok_or(SegmentError::Short)?;
        let packed = &bytes[u32_at(4) as usize..];
        if packed.len() != u32_at(8) as usize {
            return Err(SegmentError::Short);
        }
        let header = SegmentHeader {
            first: u64_at(16),
            last: u64_at(24),
            least_time: i64_at(32),
            greatest_time: i64_at(40),
            head_before: hash_at(48),
            head_after: hash_at(80),
            kinds: read_kinds(kinds).ok_or(SegmentError::Short)?,
        };
        Ok(Self { header, packed, unpacked: u32_at(12) })
    }

    /// The frames, unpacked.
    pub fn frames(&self) -> Result<Frames, SegmentError> {
        self.frames_by(&mut Unpacker::default())
    }

    /// The same for who unpacks many.
    pub fn frames_by(&self, unpacker: &mut Unpacker) -> Result<Frames, SegmentError> {
        if self.unpacked > BYTES_MAX {
            return Err(SegmentError::Short);
        }
        let plain = unpacker.0.decompress(self.packed, self.unpacked as usize).map_err(SegmentError::Packed)?;
        let is_whole = plain.len() == self.unpacked as usize;
        let frames = Frames::of_plain(plain).ok_or(SegmentError::Short)?;
        if frames.len() as u64 != self.header.count() || !is_whole {
            return Err(SegmentError::Header("count"));
        }
        Ok(frames)
    }
}

fn read_kinds(mut bytes: &[u8]) -> Option<BTreeSet<String>> {
    let mut kinds = BTreeSet::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk::<2>()?;
        let (kind, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
        kinds.insert(std::str::from_utf8(kind).ok()?.to_owned());
        bytes = rest;
    }
    Some(kinds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec;
    use crate::envelope::Header;
    use crate::event::Event;
    use crate::event::instance::CredentialRemoved;
    use crate::id::EventId;

    fn example() -> (Vec<u8>, Vec<Vec<u8>>) {
        let event = Event::from(CredentialRemoved { name: "weather".to_owned() });
        let frame = |seq: u64| {
            let time = 1_700_000_000_000_000 - i64::try_from(seq).unwrap();
            let header = Header(EventId([1; 16]), time, "instance", seq, event.label(), 1, "owner", None, None, 0);
            codec::frame(seq, &header, &[9; 16], &event.encode()).0
        };
        let frames: Vec<Vec<u8>> = (5..9).map(frame).collect();
        let mut sealing = Sealing::default();
        for frame in &frames {
            sealing.take(frame).unwrap();
        }
        let header = sealing.header((5, 8), [[2; 32], [3; 32]]);
        let packed = Packer::new().pack(Frames::of(&frames).plain(0..4));
        (packed.seal(&header), frames)
    }

    #[test]
    fn a_segment_reads_back() {
        let (bytes, frames) = example();
        let segment = Segment::parse(&bytes).unwrap();
        let header = segment.header.clone();
        assert_eq!((header.first, header.last, header.count()), (5, 8, 4));
        assert_eq!((header.head_before, header.head_after), ([2; 32], [3; 32]));
        assert_eq!((header.least_time, header.greatest_time), (1_699_999_999_999_992, 1_699_999_999_999_995));
        assert_eq!(header.kinds, BTreeSet::from(["credential_removed".to_owned()]));
        let found = segment.frames().unwrap();
        assert!(found.iter().eq(frames.iter().map(Vec::as_slice)));
        let mut sealing = Sealing::default();
        for frame in &frames {
            sealing.take(frame).unwrap();
        }
        assert_eq!(sealing.overhead(), bytes.len() - segment.packed.len());
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let (bytes, _) = example();
        for index in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[index] ^= 1 << bit;
                assert!(Segment::parse(&flipped).is_err(), "byte {index} bit {bit}");
            }
        }
        for length in 0..bytes.len() {
            assert!(Segment::parse(&bytes[..length]).is_err(), "cut at {length}");
        }
    }

    /// The header of format 1, pinned; what is behind it depends on the compressor.
    #[test]
    fn the_header_of_format_1_stays() {
        let (bytes, _) = example();
        let kinds = &bytes[FIXED_BYTES..FIXED_BYTES + 20];
        // Lengths of the packed frames aside.
        assert_eq!(bytes[..8], [1, 0, 0, 0, 0, 0, 0, 164]);
        assert_eq!(bytes[16..32], [0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 8]);
        assert_eq!(bytes[32..40], [0, 6, 0x0a, 0x24, 0x18, 0x1e, 0x3f, 0xf8]);
        assert_eq!(bytes[40..48], [0, 6, 0x0a, 0x24, 0x18, 0x1e, 0x3f, 0xfb]);
        assert_eq!(bytes[48..DIGEST_AT], [[2; 32], [3; 32]].concat());
        assert_eq!(kinds, b"\x00\x12credential_removed");
    }
}
