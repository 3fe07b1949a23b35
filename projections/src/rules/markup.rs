//! Texts as a messenger takes them: a few tags, escaped, in pieces that are short enough.
//!
//! Lengths are UTF-16 units of what the person sees: tags count nothing, an entity counts as the letter that it stands for.

use unicode_normalization::char::is_combining_mark;

/// The most units of one message, with room below the 4096 that the Bot API takes.
pub const UNITS_MAX: usize = 4000;

/// Escapes what markup would read as its own.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            // The Bot API refuses a text that holds it.
            '\0' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A text as markup; one whose lines must stay as they are in letters of one width.
pub fn marked(text: &str, is_fixed: bool) -> String {
    let escaped = escape(text);
    if is_fixed && !text.trim().is_empty() { format!("<pre>{escaped}</pre>") } else { escaped }
}

/// What the person sees of markup.
pub fn visible(markup: &str) -> String {
    let seen = atoms(markup).into_iter().map(|atom| match atom {
        Atom::Letter { letter, .. } => Some(letter),
        Atom::Open(..) | Atom::Close(_) => None,
    });
    seen.flatten().collect()
}

/// How many UTF-16 units the person sees.
pub fn units(markup: &str) -> usize {
    atoms(markup).iter().map(Atom::units).sum()
}

/// Markup in pieces of at most `most` units, cut at paragraphs, else at lines, words, letters; tags that are open at a cut
/// are closed before it and opened again after it. Pieces with nothing to see are left out.
pub fn pieces(markup: &str, most: usize) -> Vec<String> {
    let atoms = atoms(markup);
    let (mut pieces, mut open, mut start) = (Vec::new(), Vec::new(), 0);
    while start < atoms.len() {
        let end = cut(&atoms, start, most);
        let (piece, has_text) = written(&atoms[start..end], &mut open);
        if has_text {
            pieces.push(piece);
        }
        start = end;
    }
    pieces
}

/// One indivisible part of markup.
#[derive(Clone, Copy, Debug)]
enum Atom<'a> {
    /// A tag that opens: whole, and its name.
    Open(&'a str, &'a str),
    /// A tag that closes: its name.
    Close(&'a str),
    /// A letter as it stands there, and as it is seen.
    Letter { raw: &'a str, letter: char },
}

impl Atom<'_> {
    fn units(&self) -> usize {
        match self {
            Self::Letter { letter, .. } => letter.len_utf16(),
            Self::Open(..) | Self::Close(_) => 0,
        }
    }

    fn letter(&self) -> Option<char> {
        match self {
            Self::Letter { letter, .. } => Some(*letter),
            Self::Open(..) | Self::Close(_) => None,
        }
    }
}

fn atoms(markup: &str) -> Vec<Atom<'_>> {
    let (mut atoms, mut rest) = (Vec::with_capacity(markup.len()), markup);
    while let Some(letter) = rest.chars().next() {
        let (atom, length) = tag(rest).or_else(|| entity(rest)).unwrap_or_else(|| {
            let length = letter.len_utf8();
            (Atom::Letter { raw: &rest[..length], letter }, length)
        });
        atoms.push(atom);
        rest = &rest[length..];
    }
    atoms
}

fn tag(rest: &str) -> Option<(Atom<'_>, usize)> {
    let inside = rest.strip_prefix('<')?;
    let inside = &inside[..inside.find('>')?];
    let length = inside.len() + 2;
    if let Some(name) = inside.strip_prefix('/') {
        return Some((Atom::Close(name), length));
    }
    let name = inside.split_whitespace().next()?;
    Some((Atom::Open(&rest[..length], name), length))
}

fn entity(rest: &str) -> Option<(Atom<'_>, usize)> {
    let known = [("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>'), ("&quot;", '"')];
    let (raw, letter) = known.into_iter().find(|(raw, _)| rest.starts_with(raw))?;
    Some((Atom::Letter { raw: &rest[..raw.len()], letter }, raw.len()))
}

/// Where the piece that begins at `start` ends.
fn cut(atoms: &[Atom<'_>], start: usize, most: usize) -> usize {
    let (mut seen, mut end) = (0, start);
    while end < atoms.len() && seen + atoms[end].units() <= most.max(2) {
        seen += atoms[end].units();
        end += 1;
    }
    if end == atoms.len() {
        return end;
    }
    let may_end = |at: usize| (start + 1..=end).contains(&at) && !joins(atoms, at);
    // A cut in the first half would make more pieces than it is worth.
    let half = start + (end - start) / 2;
    let after = |is_one: &dyn Fn(usize) -> bool| (half..=end).rev().find(|&at| may_end(at) && is_one(at));
    let letter = |at: usize| atoms.get(at).and_then(Atom::letter);
    let paragraph = |at: usize| at > start + 1 && letter(at - 1) == Some('\n') && letter(at - 2) == Some('\n');
    let line = |at: usize| letter(at - 1) == Some('\n');
    let word = |at: usize| letter(at - 1).is_some_and(char::is_whitespace);
    after(&paragraph)
        .or_else(|| after(&line))
        .or_else(|| after(&word))
        .or_else(|| after(&|_| true))
        // One letter with more marks than fit.
        .unwrap_or(end)
}

/// Whether what stands at a place belongs to the letter before it.
fn joins(atoms: &[Atom<'_>], at: usize) -> bool {
    const JOINER: char = '\u{200d}';
    let before = at.checked_sub(1).and_then(|before| atoms.get(before)).and_then(Atom::letter);
    let Some(letter) = atoms.get(at).and_then(Atom::letter) else { return false };
    let is_mark =
        is_combining_mark(letter) || matches!(letter, JOINER | '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}');
    before.is_some() && (is_mark || before == Some(JOINER))
}

/// One piece with the tags that were open before it, and whether there is anything to see; what is open after it stays in
/// `open`.
fn written<'a>(atoms: &[Atom<'a>], open: &mut Vec<(&'a str, &'a str)>) -> (String, bool) {
    let mut piece: String = open.iter().map(|(whole, _)| *whole).collect();
    let mut has_text = false;
    for atom in atoms {
        match atom {
            Atom::Open(whole, name) => {
                open.push((whole, name));
                piece.push_str(whole);
            }
            Atom::Close(name) => {
                // One that was never opened is none of ours.
                if open.last().is_some_and(|(_, last)| last == name) {
                    open.pop();
                    close(&mut piece, name);
                }
            }
            Atom::Letter { raw, letter } => {
                has_text |= !letter.is_whitespace();
                piece.push_str(raw);
            }
        }
    }
    for (_, name) in open.iter().rev() {
        close(&mut piece, name);
    }
    (piece, has_text)
}

fn close(piece: &mut String, name: &str) {
    piece.push_str("</");
    piece.push_str(name);
    piece.push('>');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn joined(pieces: &[String]) -> String {
        pieces.iter().map(|piece| visible(piece)).collect()
    }

    #[test]
    fn four_thousand_and_ninety_six_emoji_are_three_pieces() {
        let text = "😀".repeat(4096);
        let pieces = pieces(&escape(&text), UNITS_MAX);
        assert_eq!(pieces.len(), 3);
        assert!(pieces.iter().all(|piece| units(piece) <= UNITS_MAX && piece.chars().all(|letter| letter == '😀')));
        assert_eq!(joined(&pieces), text);
    }

    #[test]
    fn paragraphs_lines_and_words_are_cut_in_that_order() {
        assert_eq!(pieces("one two\n\nthree four", 14), ["one two\n\n", "three four"]);
        assert_eq!(pieces("one two\nthree four", 14), ["one two\n", "three four"]);
        assert_eq!(pieces("one two three", 10), ["one two ", "three"]);
        assert_eq!(pieces("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(pieces("", 5), [""; 0]);
        assert_eq!(pieces(&"\n".repeat(50), 5), [""; 0]);
    }

    #[test]
    fn tags_are_closed_at_a_cut_and_opened_after_it() {
        let cut = pieces("<pre>one &lt;two&gt;\nthree</pre>", 10);
        assert_eq!(cut, ["<pre>one &lt;two&gt;\n</pre>", "<pre>three</pre>"]);
        assert_eq!(pieces("<b>a <i>bcd</i></b>", 3), ["<b>a </b>", "<b><i>bcd</i></b>"]);
    }

    #[test]
    fn a_letter_keeps_its_marks() {
        // A family of four, and letters with an accent of their own.
        let family = "👨\u{200d}👩\u{200d}👧\u{200d}👦";
        let cut = pieces(&family.repeat(3), 12);
        assert!(cut.iter().all(|piece| piece == family), "{cut:?}");
        assert_eq!(pieces("e\u{301}e\u{301}", 3), ["e\u{301}", "e\u{301}"]);
        // More marks than fit are cut all the same.
        assert_eq!(joined(&pieces(&format!("e{}", "\u{301}".repeat(20)), 5)), format!("e{}", "\u{301}".repeat(20)));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_is_too_long(
            text in "([a-z ]{0,12}|\\n{1,3}|[<>&\"'/;]{1,4}|(&(amp|lt);){1,2}|[\u{300}-\u{36f}😀👩\u{200d}è]{1,6}){0,60}",
            most in 2_usize..80,
            is_fixed: bool,
        ) {
            let markup = marked(&text, is_fixed);
            prop_assert_eq!(visible(&markup), text.clone());
            let cut = pieces(&markup, most);
            for piece in &cut {
                prop_assert!(units(piece) <= most);
                prop_assert!(!visible(piece).trim().is_empty());
                prop_assert_eq!(piece.matches("<pre>").count(), piece.matches("</pre>").count());
                prop_assert_eq!(piece.contains("<pre>"), is_fixed);
            }
            let seen: String = joined(&cut).split_whitespace().collect();
            prop_assert_eq!(seen, text.split_whitespace().collect::<String>());
        }
    }
}
