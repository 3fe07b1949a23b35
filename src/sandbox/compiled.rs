//! The code of executors as the interpreter compiled it: compiling takes several times as long as the rest of a warm call.
//!
//! A text is compiled in a cage that is given nothing else, and is used for no call. So whatever the data of a call may do to
//! the executor that reads it, the code of the next call is made of the signed text alone; and what compiling might be made to
//! give instead would run in no other cage than that executor's.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many texts are kept; the one that was used least lately goes first.
const KEPT: usize = 64;
/// The longest text that is compiled ahead, in bytes.
const TEXT_MAX: usize = 256 * 1024;
/// The longest that its compiled form may be, in bytes.
pub(super) const COMPILED_MAX: usize = 1024 * 1024;

/// A text that is to be compiled once there is time.
#[derive(Debug)]
pub(super) struct Uncompiled {
    pub(super) hash: blake3::Hash,
    pub(super) text: Vec<u8>,
}

/// What a call's code is sent as.
#[derive(Debug)]
pub(super) enum Code {
    /// As text, which shall be compiled ahead for the next call where that is worth it.
    Text(Option<Uncompiled>),
    /// As Python's `marshal` writes it.
    Compiled(Arc<Vec<u8>>),
}

/// Texts by their hashes and what each was compiled to; nothing for one that cannot be.
type Kept = VecDeque<(blake3::Hash, Option<Arc<Vec<u8>>>)>;

/// The texts that were compiled of late.
#[derive(Debug, Default)]
pub(super) struct Compiled {
    kept: Mutex<Kept>,
}

impl Compiled {
    /// What is known of a text.
    pub(super) fn of(&self, text: &[u8]) -> Code {
        if text.len() > TEXT_MAX {
            return Code::Text(None);
        }
        let hash = blake3::hash(text);
        let mut kept = self.kept();
        let Some(place) = kept.iter().position(|(other, _)| *other == hash) else {
            return Code::Text(Some(Uncompiled { hash, text: text.to_owned() }));
        };
        let Some(found) = kept.remove(place) else { return Code::Text(None) };
        let code = found.1.clone().map_or(Code::Text(None), Code::Compiled);
        kept.push_front(found);
        code
    }

    /// Keeps what a text was compiled to, or that it cannot be.
    pub(super) fn keep(&self, hash: blake3::Hash, compiled: Option<Vec<u8>>) {
        let mut kept = self.kept();
        kept.retain(|(other, _)| *other != hash);
        kept.push_front((hash, compiled.filter(|bytes| bytes.len() <= COMPILED_MAX).map(Arc::new)));
        kept.truncate(KEPT);
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(code: Code) -> Option<u8> {
        match code {
            Code::Compiled(bytes) => Some(bytes[0]),
            Code::Text(_) => None,
        }
    }

    #[test]
    fn those_that_were_used_of_late_are_kept() {
        let compiled = Compiled::default();
        let keep = |number: u8| compiled.keep(blake3::hash(&[number]), Some(vec![number]));
        (0..64).for_each(keep);
        assert_eq!(number(compiled.of(&[0])), Some(0));
        keep(64);
        assert_eq!(number(compiled.of(&[0])), Some(0));
        let Code::Text(Some(gone)) = compiled.of(&[1]) else { panic!("the second is kept") };
        assert_eq!((gone.hash, gone.text), (blake3::hash(&[1]), vec![1]));
    }

    #[test]
    fn what_cannot_be_compiled_is_not_tried_again() {
        let compiled = Compiled::default();
        compiled.keep(blake3::hash(b"("), None);
        assert!(matches!(compiled.of(b"("), Code::Text(None)));
        compiled.keep(blake3::hash(b"long"), Some(vec![0; COMPILED_MAX + 1]));
        assert!(matches!(compiled.of(b"long"), Code::Text(None)));
        assert!(matches!(compiled.of(&vec![b'#'; TEXT_MAX + 1]), Code::Text(None)));
    }
}
