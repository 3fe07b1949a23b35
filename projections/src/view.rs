//! What a view is that grows with the log: rows that are folded from events and lie in a file of their own, so that who asks
//! need not hold them all (design 2-log, «Projections»).
//!
//! Here is what follows from an event. The file, its position and its rebuilding are the edge's business.

use metnos_log::{Recorded, canonical};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Takes a row: key and value. A key that comes again comes with the same value.
pub type Put<'a> = &'a mut dyn FnMut(Vec<u8>, Vec<u8>);

/// Rows folded from events. The value itself is what the fold carries from one event to the next: little, since it is written
/// with every run of events. `evolve` is total: an event that it does not know, or whose payload was erased, gives no row.
pub trait View: Default + Serialize + DeserializeOwned {
    /// Names its file.
    const NAME: &'static str;
    /// A new number means that old files are made anew.
    const VERSION: u32;
    /// The oldest version whose rows answer the same questions: such a file serves until the new one has caught up.
    const SERVES_FROM: u32;

    /// Whether a text that lies in a blob is wanted of an event of this kind.
    fn wants_texts(kind: &str) -> bool;

    /// Takes one event in, and gives the rows that follow from it.
    fn evolve(&mut self, recorded: &Recorded, put: Put<'_>);

    /// What it carries, as canonical JSON.
    fn carried(&self) -> String {
        canonical::of(self).expect("views are structs with text keys")
    }

    /// What [`Self::carried`] gave; `None` when the text is none.
    fn restore(carried: &str) -> Option<Self> {
        serde_json::from_str(carried).ok()
    }
}

/// The digest of a view: over its rows in the order of their keys, and what it carries.
pub struct Digest(blake3::Hasher);

impl Default for Digest {
    fn default() -> Self {
        Self(blake3::Hasher::new_derive_key("metnos view v1"))
    }
}

impl Digest {
    /// Takes the next row in.
    pub fn row(&mut self, key: &[u8], value: &[u8]) {
        for part in [key, value] {
            self.0.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
    }

    /// The digest in hexadecimal.
    pub fn finish(mut self, carried: &str) -> String {
        self.0.update(carried.as_bytes());
        self.0.finalize().to_hex().to_string()
    }
}
