//! The code of executors as the interpreter compiled it: compiling takes several times as long as the rest of a warm call.
//!
//! A text is compiled in a cage that is given nothing else, and is used for no call. So whatever the data of a call may do to
//! the executor that reads it, the code of the next call is made of the signed text alone; and what compiling might be made to
//! give instead would run in no other cage than that executor's. It has the limits of a call, and what it prints (a warning)
//! belongs to a call: a text that has something to say when it is compiled, or cannot be compiled within its limits, is sent as
//! text.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metnos_projections::rules::cage_plan::Limits;

/// How many texts are kept; the one that was used least lately goes first.
const KEPT: usize = 64;
/// How many bytes their compiled forms may have together.
const KEPT_BYTES: usize = 8 << 20;
/// The longest text that is compiled ahead, in bytes.
const TEXT_MAX: usize = 256 << 10;
/// The longest that its compiled form may be, in bytes.
pub(super) const COMPILED_MAX: usize = 1 << 20;
/// How often compiling one is tried: it may have been ended from outside.
const TRIES: u8 = 3;

/// A text that is to be compiled once there is time.
#[derive(Debug)]
pub(super) struct Uncompiled {
    pub(super) hash: blake3::Hash,
    pub(super) text: Vec<u8>,
    /// Those of its call: one that cannot be compiled within them fails as ever.
    pub(super) limits: Limits,
}

/// What a call's code is sent as.
#[derive(Debug)]
pub(super) enum Code {
    /// As text, which shall be compiled ahead for the next call where that is worth it.
    Text(Option<Uncompiled>),
    /// As Python's `marshal` writes it.
    Compiled(Arc<Vec<u8>>),
}

/// What became of a text.
#[derive(Debug)]
struct Entry {
    hash: blake3::Hash,
    compiled: Option<Arc<Vec<u8>>>,
    /// How often it could not be compiled.
    failed: u8,
}

/// The texts that were compiled of late, the latest first.
#[derive(Debug, Default)]
pub(super) struct Compiled {
    kept: Mutex<VecDeque<Entry>>,
}

impl Compiled {
    /// What is known of a call's text.
    pub(super) fn of(&self, text: &[u8], limits: &Limits) -> Code {
        if text.len() > TEXT_MAX {
            return Code::Text(None);
        }
        // With another memory it is another question.
        let hash = blake3::Hasher::new().update(&limits.memory_mb.to_le_bytes()).update(text).finalize();
        let mut kept = self.kept();
        let place = kept.iter().position(|entry| entry.hash == hash);
        let known = place.and_then(|place| kept.remove(place));
        let code = match &known {
            Some(Entry { compiled: Some(compiled), .. }) => Code::Compiled(Arc::clone(compiled)),
            Some(Entry { failed, .. }) if *failed >= TRIES => Code::Text(None),
            _ => Code::Text(Some(Uncompiled { hash, text: text.to_owned(), limits: *limits })),
        };
        if let Some(known) = known {
            kept.push_front(known);
        }
        code
    }

    /// Keeps what a text was compiled to, or that it was not.
    pub(super) fn keep(&self, hash: blake3::Hash, compiled: Option<Vec<u8>>) {
        let mut kept = self.kept();
        let place = kept.iter().position(|entry| entry.hash == hash);
        let failed = place.and_then(|place| kept.remove(place)).map_or(0, |entry| entry.failed);
        let compiled = compiled.filter(|bytes| bytes.len() <= COMPILED_MAX).map(Arc::new);
        let failed = failed.saturating_add(u8::from(compiled.is_none()));
        kept.push_front(Entry { hash, compiled, failed });
        kept.truncate(KEPT);
        let bytes = |kept: &VecDeque<Entry>| -> usize {
            kept.iter().filter_map(|entry| entry.compiled.as_ref()).map(|compiled| compiled.len()).sum()
        };
        while bytes(&kept) > KEPT_BYTES {
            kept.pop_back();
        }
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::limits::WAITING;

    fn compiled(all: &Compiled, text: &[u8]) -> Option<Vec<u8>> {
        match all.of(text, &WAITING) {
            Code::Compiled(bytes) => Some(bytes.to_vec()),
            Code::Text(_) => None,
        }
    }

    fn keep(all: &Compiled, text: &[u8], to: Option<Vec<u8>>) {
        let Code::Text(Some(asked)) = all.of(text, &WAITING) else { panic!("{text:?} is known") };
        assert_eq!(asked.text, text);
        all.keep(asked.hash, to);
    }

    #[test]
    fn those_that_were_used_of_late_are_kept() {
        let all = Compiled::default();
        (0..64).for_each(|number| keep(&all, &[number], Some(vec![number])));
        assert_eq!(compiled(&all, &[0]), Some(vec![0]));
        keep(&all, &[64], Some(vec![64]));
        assert_eq!((compiled(&all, &[0]), compiled(&all, &[1])), (Some(vec![0]), None));
    }

    #[test]
    fn they_are_bounded_together() {
        let all = Compiled::default();
        (0..9).for_each(|number| keep(&all, &[number], Some(vec![number; COMPILED_MAX])));
        assert_eq!(compiled(&all, &[0]), None);
        assert!((1..9).all(|number| compiled(&all, &[number]).is_some()));
    }

    #[test]
    fn what_cannot_be_compiled_is_tried_three_times() {
        let all = Compiled::default();
        (0..3).for_each(|_| keep(&all, b"(", None));
        assert!(matches!(all.of(b"(", &WAITING), Code::Text(None)));
        assert!(matches!(all.of(b"(", &Limits { memory_mb: 77, ..WAITING }), Code::Text(Some(_))));
        keep(&all, b"long", Some(vec![0; COMPILED_MAX + 1]));
        assert_eq!(compiled(&all, b"long"), None);
        keep(&all, b"long", Some(vec![7]));
        assert_eq!(compiled(&all, b"long"), Some(vec![7]));
        assert!(matches!(all.of(&vec![b'#'; TEXT_MAX + 1], &WAITING), Code::Text(None)));
    }
}
