//! Pieces of a text that stand in what does not hold it whole: some of its lines, what was understood of a request, a window that
//! a model was shown. They stay, and are told.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::AhoCorasick;

/// A shorter piece is everybody's.
const CHARACTERS_MIN: usize = 24;
/// What is looked for in one pass: every so many bytes of the text, so that each longer piece holds one of them.
const ANCHOR_BYTES: usize = CHARACTERS_MIN / 2;
/// Of what repeats itself more often, other places are as good.
const PLACES_MAX: usize = 16;
/// As much of a piece as tells it.
const CHARACTERS_TOLD: usize = 120;

/// A text whose pieces are looked for.
pub(super) struct Pieces {
    text: String,
    anchors: AhoCorasick,
    /// Where each anchor stands, as far as it is looked at.
    places: Vec<Vec<usize>>,
}

impl Pieces {
    pub(super) fn of(text: &str) -> Self {
        let mut places: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
        for (number, anchor) in text.as_bytes().chunks_exact(ANCHOR_BYTES).enumerate() {
            let of_it = places.entry(anchor).or_default();
            if of_it.len() < PLACES_MAX {
                of_it.push(number * ANCHOR_BYTES);
            }
        }
        let anchors = AhoCorasick::new(places.keys()).expect("a text's parts are far fewer than states");
        Self { text: text.to_owned(), anchors, places: places.into_values().collect() }
    }

    /// The pieces that stand in a text, each as far as it is the same.
    pub(super) fn in_text(&self, said: &str, into: &mut BTreeSet<String>) {
        let mut looked_at = 0;
        for found in self.anchors.find_iter(said) {
            if found.start() < looked_at {
                continue;
            }
            let text = self.text.as_bytes();
            // What was looked at is looked at again as far as a piece is told, so that much of it takes no longer.
            let from = said.floor_char_boundary(looked_at.saturating_sub(4 * CHARACTERS_TOLD));
            let around = |at: &usize| {
                let before = same(text[..*at].iter().rev(), said.as_bytes()[from..found.start()].iter().rev());
                (before, same(text[*at..].iter(), said.as_bytes()[found.start()..].iter()))
            };
            let places = self.places[found.pattern().as_usize()].iter();
            let (before, behind) =
                places.map(around).max_by_key(|(before, behind)| before + behind).unwrap_or_default();
            looked_at = found.start() + behind.max(ANCHOR_BYTES);
            let end = said.floor_char_boundary(found.start() + behind);
            let range = said.ceil_char_boundary(found.start() - before)..end;
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
        let pins = "pin number: 4711 Anna B\npin number: 0815 Bert C\npin number: 2222 Carl D\n";
        check(pins, "x711 Anna B\npin number: 0815 Bert Cx", &["711 Anna B\npin number: 0815 Bert C"]);
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
