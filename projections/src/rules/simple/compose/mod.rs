//! Puts items together that mean one thing: numbers, sizes, windows of time, lines, extensions, places by name.
//!
//! Each pass walks the items once and replaces a run of them by one item that covers the same bytes.

mod lines;
mod places;
mod sizes;
mod times;

use self::lines::lines;
use self::places::{affix, explicit, extension, flag, name_part, named_so, place, spelled, zone};
pub(crate) use self::sizes::number;
use self::sizes::{bound, figures, part, signed};
use self::times::window;
use super::dates::Clock;
use super::items::{Item, What};
use super::lexicon::Lexicons;
use crate::messages::Language;

/// All passes, in the order in which they may rely on each other.
pub(crate) fn compose(lexicons: &Lexicons, text: &str, clock: &Clock, language: Language, items: &mut Vec<Item>) {
    spelled(lexicons, text, items);
    replace(items, |items, at| flag(text, items, at));
    replace(items, |items, at| name_part(text, items, at).or_else(|| named_so(lexicons, text, items, at)));
    replace(items, |items, at| part(text, items, at));
    replace(items, figures);
    replace(items, |items, at| extension(lexicons, text, items, at));
    explicit(lexicons, text, items);
    replace(items, |items, at| affix(text, items, at));
    replace(items, |items, at| signed(text, items, at).or_else(|| bound(lexicons, items, at)));
    replace(items, |items, at| window(clock, language, items, at));
    replace(items, |items, at| lines(lexicons, items, at));
    replace(items, |items, at| place(lexicons, text, items, at));
    replace(items, |items, at| zone(lexicons, items, at));
}

/// Replaces `items[at..at + length]` wherever `read` finds something there.
fn replace(items: &mut Vec<Item>, read: impl Fn(&[Item], usize) -> Option<(What, usize)>) {
    let mut at = 0;
    while at < items.len() {
        if let Some((what, length)) = read(items, at) {
            let last = at + length - 1;
            let (start, end) = (items[at].start, items[last].end);
            let folded = items[at..=last].iter().map(|i| i.folded.as_str()).collect::<Vec<_>>().join(" ");
            let item = Item { start, end, folded, what, pronoun: false, forgiven: false };
            items.splice(at..=last, [item]);
        }
        at += 1;
    }
}
