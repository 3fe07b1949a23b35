//! The search over turns: which turns a word was said in, in the sentence, in what completed it, or in the answer.
//!
//! A row a word and turn, so that no row grows; of a long text only so many different words count. It holds words that people
//! wrote: whoever erases takes its file away.

use std::collections::{BTreeMap, BTreeSet};

use metnos_log::{Event, Recorded};
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::view::{Put, View};

/// How many different words of a text count.
const WORDS_MAX: usize = 500;
/// How much of a text is looked at, in bytes.
const TEXT_BYTES_MAX: usize = 1 << 16;
/// How much of a word counts, in bytes.
const WORD_BYTES_MAX: usize = 64;
/// Ends a word in a key. No letter or digit.
const END: u8 = 0;

/// The fold: the turns that are not over, with the numbers of the events that opened them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Search {
    open: BTreeMap<String, u64>,
}

impl View for Search {
    const NAME: &'static str = "search";
    const VERSION: u32 = 1;
    const SERVES_FROM: u32 = 1;

    fn wants_texts(kind: &str) -> bool {
        kind == "turn_closed"
    }

    fn evolve(&mut self, recorded: &Recorded, put: Put<'_>) {
        let Some(turn) = recorded.turn.map(|turn| turn.to_string()) else { return };
        // By the label, which an erased event keeps.
        if recorded.kind == "turn_opened" {
            self.open.insert(turn.clone(), recorded.seq);
        }
        let Some(opened) = self.open.get(&turn).copied() else { return };
        for word in said(recorded).map(words).unwrap_or_default() {
            put(key(&word, opened), Vec::new());
        }
        if recorded.kind == "turn_closed" {
            self.open.remove(&turn);
        }
    }
}

/// What an event of a turn says that people search for.
fn said(recorded: &Recorded) -> Option<&str> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest is no sentence and no answer")]
    match recorded.event()? {
        Event::TurnOpened(opened) => Some(&opened.text),
        Event::TurnResumed(resumed) => resumed.text.as_deref(),
        Event::TurnClosed(closed) => closed.message.get(),
        _ => None,
    }
}

/// The different words of a text, folded: case and accents do not count. Where a script sets no blanks, each sign is a word.
pub fn words(text: &str) -> BTreeSet<String> {
    let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
    let mut words = BTreeSet::new();
    let mut word = String::new();
    for c in text.nfkd().filter(|c| !is_combining_mark(*c)).chain([' ']) {
        if !c.is_alphanumeric() || is_unspaced(c) {
            take(&mut word, &mut words);
        }
        if c.is_alphanumeric() {
            match c {
                'ß' | 'ẞ' => word.push_str("ss"),
                'ς' => word.push('σ'),
                c => word.extend(c.to_lowercase().filter(|c| !is_combining_mark(*c))),
            }
        }
        if is_unspaced(c) {
            take(&mut word, &mut words);
        }
    }
    words
}

fn take(word: &mut String, words: &mut BTreeSet<String>) {
    if !word.is_empty() && words.len() < WORDS_MAX {
        words.insert(word[..word.floor_char_boundary(WORD_BYTES_MAX)].to_owned());
    }
    word.clear();
}

/// Kana, Han and Thai are written without blanks between words.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0e7f}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}')
}

/// The key of a word in the turn that an event opened.
pub fn key(word: &str, opened: u64) -> Vec<u8> {
    [word.as_bytes(), &[END], &opened.to_be_bytes()].concat()
}

/// The event that opened the turn of a key of this word; `None` for another word's.
pub fn opened(key: &[u8], word: &str) -> Option<u64> {
    let seq = key.strip_prefix(word.as_bytes())?.strip_prefix(&[END])?;
    seq.try_into().ok().map(u64::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projection::recorded;
    use metnos_log::event::turn::{TurnClosed, TurnResumed};
    use metnos_log::{Kept, TurnId};

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let expected: BTreeSet<String> = expected.iter().map(|&word| word.to_owned()).collect();
        assert_eq!(words(text), expected, "{text}");
    }

    #[test]
    fn words_are_folded_whatever_their_script() {
        check("Perché CAFFÈ? caffe\u{300}, caffè!", &["perche", "caffe"]);
        check("Straße ﬁne ＡＢＣ１２ x²", &["strasse", "fine", "abc12", "x2"]);
        check("İstanbul ΣΊΣΥΦΟΣ Σίσυφος Ёлка", &["istanbul", "σισυφοσ", "елка"]);
        check("read ~/inbox/bill-2026.pdf", &["read", "inbox", "bill", "2026", "pdf"]);
        check("東京 bill", &["東", "京", "bill"]);
        check(" … \u{301}", &[]);
    }

    #[test]
    fn no_text_gives_more_than_so_many_words_of_so_many_bytes() {
        let many = (0..2000).map(|number| format!("w{number}")).collect::<Vec<_>>().join(" ");
        assert_eq!(words(&many).len(), WORDS_MAX);
        check(&"è".repeat(5000), &[&"e".repeat(WORD_BYTES_MAX)]);
        check(&format!("{} late", " ".repeat(TEXT_BYTES_MAX)), &[]);
        assert_eq!(words(&"ж".repeat(TEXT_BYTES_MAX)).iter().next().unwrap().len(), WORD_BYTES_MAX);
    }

    #[test]
    fn a_turn_is_found_by_what_completed_it_and_by_its_answer_until_it_is_over() {
        let id = TurnId([7; 16]);
        let closed = |text: &str| TurnClosed {
            final_kind: "answer".to_owned(),
            class: None,
            message: Kept::text(text),
            counts: BTreeMap::new(),
        };
        let resumed: TurnResumed = serde_json::from_value(serde_json::json!({
            "by": "a dialog", "text": "the Garden one"
        }))
        .unwrap();
        let events: [Event; 3] = [resumed.into(), closed("Seven apples").into(), closed("late").into()];
        let mut search = Search::default();
        let mut found = BTreeSet::new();
        for (event, seq) in events.into_iter().zip(10..) {
            let mut recorded = recorded(seq, 0, event);
            recorded.turn = Some(id);
            if seq == 10 {
                // What opened it was erased; its label stands.
                let opened = Recorded {
                    seq: 9,
                    kind: "turn_opened".into(),
                    body: metnos_log::envelope::Body::Erased,
                    ..recorded.clone()
                };
                search.evolve(&opened, &mut |key, _| panic!("{key:?}"));
            }
            let carried = Search::restore(&search.carried()).unwrap();
            search = carried;
            search.evolve(&recorded, &mut |key, _| {
                found.insert(key);
            });
        }
        let expected = ["apples", "garden", "one", "seven", "the"].map(|word| key(word, 9));
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
        assert_eq!(search.carried(), Search::default().carried());
    }
}
