//! Which number a frame has that lies outside of segments. It stands in no frame; but a frame's check is made with it, so the
//! numbers that are missing are tried.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::chain;
use crate::codec::Frame;
use crate::id::EventId;

/// The most leaves that are computed for frames that fit nowhere.
const TRIES_MAX: u64 = 100_000_000;
/// How far behind the last known event numbers are tried, besides one for each frame.
const BEYOND: u64 = 8192;

/// Frames by their number: several where the bytes hold several, each true to its check.
pub(super) type Numbered<'b> = BTreeMap<u64, Vec<&'b [u8]>>;

/// Gives frames their numbers. `sealed` names the events of segments, `end` is the last number that anything names. Returns how
/// many events found none, too.
pub(super) fn number<'b>(
    frames: impl Iterator<Item = &'b [u8]>,
    sealed: &HashMap<EventId, u64>,
    end: u64,
) -> (Numbered<'b>, u64) {
    let mut numbered = Numbered::new();
    let mut open = Vec::new();
    for bytes in frames {
        let Some(frame) = Frame::parse(bytes).ok() else { continue };
        let Some((id, time)) = frame.header().ok().map(|header| (header.0, header.1)) else { continue };
        match sealed.get(&id) {
            Some(seq) if frame.verified(*seq).is_ok() => push(&mut numbered, *seq, bytes),
            Some(_) => {}
            None => open.push((time, id, bytes)),
        }
    }
    // In the order in which they happened, which is nearly that of their numbers.
    open.sort_unstable();
    let taken: HashSet<u64> = sealed.values().copied().collect();
    let last = end.max(taken.iter().copied().max().unwrap_or(0)) + open.len() as u64 + BEYOND;
    let missing: Vec<u64> = (1..=last).filter(|seq| !taken.contains(seq)).collect();
    let (mut at, mut tries) = (0, TRIES_MAX);
    let mut unplaced = HashSet::new();
    let mut placed = HashSet::new();
    for (_, id, bytes) in open {
        match find(bytes, &missing, at, &mut tries) {
            Some(found) => {
                push(&mut numbered, missing[found], bytes);
                placed.insert(id);
                at = found + 1;
            }
            None => drop(unplaced.insert(id)),
        }
    }
    (numbered, unplaced.difference(&placed).count() as u64)
}

fn push<'b>(numbered: &mut Numbered<'b>, seq: u64, bytes: &'b [u8]) {
    numbered.entry(seq).or_default().push(bytes);
}

/// Where the number stands among those that are missing, looked for from a place outwards.
fn find(bytes: &[u8], missing: &[u64], from: usize, tries: &mut u64) -> Option<usize> {
    let frame = Frame::parse(bytes).ok()?;
    let digest = frame.payload_digest();
    let budget = usize::try_from(*tries).unwrap_or(usize::MAX);
    let is_it = |index: &usize| {
        *tries = tries.saturating_sub(1);
        chain::leaf(missing[*index], frame.header, &digest)[..8] == frame.check
    };
    let (mut before, mut behind) = ((0..from.min(missing.len())).rev(), from..missing.len());
    let outwards = std::iter::from_fn(|| {
        let pair = [behind.next(), before.next()];
        pair.iter().any(Option::is_some).then_some(pair)
    });
    outwards.flatten().flatten().take(budget).find(is_it)
}
