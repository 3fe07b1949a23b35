//! Pieces of a text that stand in what does not hold it whole: some of its lines, what was understood of a request, a window that
//! a model was shown. They stay, and are told.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::AhoCorasick;

/// A shorter piece is everybody's.
const CHARACTERS_MIN: usize = 24;
/// What is looked for in one pass: every so many bytes of the text, so that each longer piece holds one of them.
const ANCHOR_BYTES: usize = CHARACTERS_MIN / 2;
/// As much of a piece as tells it.
const CHARACTERS_TOLD: usize = 120;

/// A text whose pieces are looked for.
pub(super) struct Pieces {
    text: String,
    anchors: AhoCorasick,
    /// Where each anchor stands first.
    places: Vec<usize>,
}

impl Pieces {
    pub(super) fn of(text: &str) -> Self {
        let mut first = BTreeMap::new();
        for (number, anchor) in text.as_bytes().chunks_exact(ANCHOR_BYTES).enumerate() {
            first.entry(anchor).or_insert(number * ANCHOR_BYTES);
        }
        let anchors = AhoCorasick::new(first.keys()).expect("a text's parts are far fewer than states");
        Self { text: text.to_owned(), anchors, places: first.into_values().collect() }
    }

    /// The pieces that stand in a text, each as far as it is the same.
    pub(super) fn in_text(&self, said: &str, into: &mut BTreeSet<String>) {
        let mut looked_at = 0;
        for found in self.anchors.find_iter(said) {
            if found.start() < looked_at {
                continue;
            }
            let (text, at) = (self.text.as_bytes(), self.places[found.pattern().as_usize()]);
            let before = same(text[..at].iter().rev(), said.as_bytes()[..found.start()].iter().rev());
            let behind = same(text[at..].iter(), said.as_bytes()[found.start()..].iter());
            looked_at = found.start() + behind;
            let range = said.ceil_char_boundary(found.start() - before)..said.floor_char_boundary(looked_at);
            let is_around = |sign: char| sign.is_whitespace() || "\"“”«»,".contains(sign);
            let piece = said.get(range).unwrap_or_default().trim_matches(is_around);
            if piece.chars().count() >= CHARACTERS_MIN {
                into.insert(piece.chars().take(CHARACTERS_TOLD).collect());
            }
        }
    }
}

fn same<'b>(one: impl Iterator<Item = &'b u8>, other: impl Iterator<Item = &'b u8>) -> usize {
    one.zip(other).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, said: &str, expected: &[&str]) {
        let mut found = BTreeSet::new();
        Pieces::of(text).in_text(said, &mut found);
        assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{said}");
    }

    #[test]
    fn what_is_the_same_in_a_row_is_a_piece() {
        let text = "write \"the safe is behind the old clock\" to note.txt";
        check(text, "the safe is behind the old clock", &["the safe is behind the old clock"]);
        check(text, "write \"the safe is behind the old clock\"", &["write \"the safe is behind the old clock"]);
        check(text, "{\"content\":\"the safe is behind the old clock\"}", &["the safe is behind the old clock"]);
        check(text, "the safe is behind the door", &[]);
        check(text, "safe is behind the old cl", &["safe is behind the old cl"]);
        check(text, "", &[]);
        check("short", "short", &[]);
        let two = "the first line of the poem\nand the second one of it\n";
        check(two, "3: and the second one of it.", &["and the second one of it"]);
        // Letters of more than one byte are told whole.
        let text = "perché la città è più là di ciò che già si può";
        check(text, &text.replace("perché", "perchà"), &["la città è più là di ciò che già si può"]);
        check(text, &text.replace("già", "giè"), &["perché la città è più là di ciò che gi"]);
    }

    #[test]
    fn a_text_that_repeats_itself_takes_no_longer() {
        let text = "x".repeat(200_000);
        let mut found = BTreeSet::new();
        Pieces::of(&text).in_text(&"x".repeat(150_000), &mut found);
        assert_eq!(found.into_iter().map(|piece| piece.len()).collect::<Vec<_>>(), [CHARACTERS_TOLD]);
    }
}
