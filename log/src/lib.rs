//! Floor 0: what happened. Typed events, and the append-only store that keeps them.
//!
//! The bytes on disk are described in `FORMAT.md` beside this crate. Nothing here knows what an event means to a turn, a
//! catalog or a person: folds and decisions live one floor up.

pub mod canonical;
pub mod chain;
pub mod codec;
pub mod envelope;
pub mod event;
pub mod id;
pub mod kept;
pub mod note;
pub mod proof;
pub mod redact;
pub mod segment;
pub mod store;

pub use envelope::{Draft, Recorded};
pub use event::Event;
pub use id::{EventId, Micros, TurnId};
pub use kept::{BlobHash, Kept};
pub use store::{Append, AppendError, Appended, Expect, Log, OpenError, Reader};

/// Lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf].map(|value| DIGITS[usize::from(value)]));
    digits.map(char::from).collect()
}
