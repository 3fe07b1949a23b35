//! Table definitions. Only built-in key and value types: redb checks their names when it opens a file.

use redb::TableDefinition;

use super::index::IdRun;

/// The format of the file; a higher number is refused. Any two formats differ in two bits, so that one bit that is flipped
/// makes none of them of another: there are no formats 3, 5 and 6.
pub const FORMAT: u64 = 8;
/// The formats that are read, and brought to the newest when they are opened.
pub(super) const EARLIER_FORMATS: [u64; 4] = [1, 2, 4, 7];

/// From this format on only what is sealed has rows in the indexes.
pub(super) const INDEXED: u64 = 4;

/// Up to this format each event of the tail has a row of its own.
pub(super) const SINGLE: u64 = 4;

/// First seq → frames that are not sealed ([`super::unsealed`]).
pub(super) const TAIL: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("tail");
/// First seq, one row → where the log ends, and the last frames that are not sealed.
pub(super) const NEWEST: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("newest");
/// First seq → sealed run of frames.
pub(super) const SEGMENTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("segments");
/// Stream name → stream number.
pub(super) const STREAMS: TableDefinition<'_, &str, u64> = TableDefinition::new("streams");
/// (stream number, version) → the seqs of the events of that stream from there on.
pub(super) const STREAM_RUNS: TableDefinition<'_, (u64, u64), &[u8]> = TableDefinition::new("stream_runs");
/// (stream number, version) → seq, in formats 1 and 2.
pub(super) const BY_STREAM: TableDefinition<'_, (u64, u64), u64> = TableDefinition::new("by_stream");
/// Least id of a run → its greatest id, and the first and the last event that they are ids of.
pub(super) const ID_RUNS: TableDefinition<'_, [u8; 16], IdRun> = TableDefinition::new("id_runs");
/// Event id → seq, of ids that are in no run.
pub(super) const BY_ID: TableDefinition<'_, [u8; 16], u64> = TableDefinition::new("by_id");
/// Blob hash → zstd bytes.
pub(super) const BLOBS: TableDefinition<'_, [u8; 32], &[u8]> = TableDefinition::new("blobs");
/// Size → signed note.
pub(super) const CHECKPOINTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("checkpoints");
/// Name → bytes: `format`, `log_id`, `archives`, `checkpoints`; in formats before 7 also `head` and `range`.
pub(super) const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");

pub(super) const META_FORMAT: &str = "format";
pub(super) const META_LOG_ID: &str = "log_id";
pub(super) const META_HEAD: &str = "head";
pub(super) const META_RANGE: &str = "range";
pub(super) const META_ARCHIVES: &str = "archives";
pub(super) const META_CHECKPOINTS: &str = "checkpoints";
