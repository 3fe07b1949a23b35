//! What is wrong with a log, and where.

use super::open::Fault;
use super::reader::ReadError;
use crate::kept::BlobHash;

/// The first thing that is wrong.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// An event is not what was appended.
    #[error("event {seq} (table {table}): {what}; {} events before it are good", seq - 1)]
    Event {
        /// Its number.
        seq: u64,
        /// Where it lies.
        table: &'static str,
        /// What is wrong.
        what: String,
    },
    /// A sealed run of events is not what was sealed.
    #[error("the segment from event {first} on (table segments): {what}; {} events before it are good", first - 1)]
    Segment {
        /// Its first event.
        first: u64,
        /// What is wrong.
        what: String,
    },
    /// A file of archived events is missing, cut short or changed.
    #[error("the archive {path}: {what}; {} events before it are good", first - 1)]
    Archive {
        /// The file.
        path: std::path::PathBuf,
        /// The first event that cannot be read.
        first: u64,
        /// What is wrong.
        what: String,
    },
    /// The end of the log is not what the last commit said.
    #[error("the log ends at event {seq} (table {table}): {what}")]
    End {
        /// The last number that was read.
        seq: u64,
        /// The table that says otherwise.
        table: &'static str,
        /// What is wrong.
        what: &'static str,
    },
    /// A signed checkpoint says something else than the events.
    #[error("the checkpoint at event {size} (table checkpoints): {what}")]
    Checkpoint {
        /// Its size.
        size: u64,
        /// What is wrong.
        what: String,
    },
    /// A signed checkpoint is gone, was put in, or took another's place.
    #[error("table checkpoints: it holds {found} signed checkpoints, and not the {noted} that were written to it")]
    Checkpoints {
        /// How many there are.
        found: u64,
        /// How many there should be.
        noted: u64,
    },
    /// An index row is missing or points elsewhere.
    #[error("index {table}: {what} (event {seq})")]
    Index {
        /// The table.
        table: &'static str,
        /// The event that it concerns; 0 where the row names none.
        seq: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// A blob is not what its name says.
    #[error("blob {hash} (table blobs): {what}")]
    Blob {
        /// Its name.
        hash: BlobHash,
        /// What is wrong.
        what: String,
    },
    /// A payload is there that must not be.
    #[error("event {seq} (table {table}): what it holds was erased, as event {by} says, and is there all the same")]
    Unerased {
        /// Its number.
        seq: u64,
        /// Where it lies.
        table: &'static str,
        /// The event that says that it was erased.
        by: u64,
    },
    /// A blob is there that must not be.
    #[error("blob {hash} (table blobs): it was erased, as event {by} says, and is there all the same")]
    UnerasedBlob {
        /// Its name.
        hash: BlobHash,
        /// The event that says that it was erased.
        by: u64,
    },
    /// The file as a whole.
    #[error("{0}")]
    File(String),
}

impl Damage {
    /// The first event that it concerns, where it concerns one.
    pub fn seq(&self) -> Option<u64> {
        match self {
            Self::Event { seq, .. }
            | Self::Segment { first: seq, .. }
            | Self::Archive { first: seq, .. }
            | Self::Unerased { seq, .. }
            | Self::Index { seq, .. } => Some(*seq),
            Self::Checkpoint { size, .. } => Some(*size),
            Self::End { .. }
            | Self::Checkpoints { .. }
            | Self::Blob { .. }
            | Self::UnerasedBlob { .. }
            | Self::File(_) => None,
        }
    }

    /// Whether nothing is damaged, and what was erased is there: the log written anew is without it.
    pub fn is_unerased(&self) -> bool {
        matches!(self, Self::Unerased { .. } | Self::UnerasedBlob { .. })
    }

    /// The table that it lies in, where that is known.
    pub fn table(&self) -> Option<&'static str> {
        match self {
            Self::Event { table, .. }
            | Self::End { table, .. }
            | Self::Index { table, .. }
            | Self::Unerased { table, .. } => Some(table),
            Self::Segment { .. } => Some("segments"),
            Self::Archive { .. } => Some("archive"),
            Self::Checkpoint { .. } | Self::Checkpoints { .. } => Some("checkpoints"),
            Self::Blob { .. } | Self::UnerasedBlob { .. } => Some("blobs"),
            Self::File(_) => None,
        }
    }
}

impl From<Fault> for Damage {
    fn from(fault: Fault) -> Self {
        Self::File(fault.to_string())
    }
}

impl From<ReadError> for Damage {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Event { seq, table, source } => Self::Event { seq, table, what: source.to_string() },
            ReadError::Segment { first, source } => Self::Segment { first, what: source.to_string() },
            ReadError::Archive { path, first, source } => Self::Archive { path, first, what: source.to_string() },
            ReadError::Missing { seq } => Self::Event { seq, table: "tail", what: "it is missing".to_owned() },
            ReadError::Blob { hash, source } => Self::Blob { hash, what: source.to_string() },
            ReadError::Store(_) | ReadError::Page(_) | ReadError::End { .. } => Self::File(error.to_string()),
        }
    }
}
