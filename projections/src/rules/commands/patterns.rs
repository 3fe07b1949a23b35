//! Words that a shell puts names in the place of (`~/.s*`, `~/.{ssh,x}`): which core paths those names could be.
//!
//! What stands in square brackets counts as any letter, and a range in braces as any name: a guard asks what could be meant, and
//! not what is there.

use super::Unreadable;
use crate::rules::core_paths::OwnDirs;
use crate::rules::core_paths::patterns::{Piece, Segment, could_be};

/// The most letters of a word that is looked at: a path is no longer.
const LONGEST: usize = 4096;
/// The most words that braces stand for.
const WORDS_MAX: usize = 512;
/// The most letters that all of them have.
const LETTERS_MAX: usize = 1 << 20;

/// The letters of a word, each with whether it is quoted: a sign that is stands for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Letters(Vec<(char, bool)>);

/// A word that stands for names, its braces taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Letters);

impl Letters {
    pub(super) fn push(&mut self, letter: char, is_quoted: bool) {
        self.0.push((letter, is_quoted));
    }

    /// Whether one of the words that a shell makes of these may be a path.
    fn may_be_paths(&self) -> bool {
        let mut before = ['{'].into_iter().chain(self.0.iter().map(|(letter, _)| *letter));
        let begins = |before| matches!(before, Some('{' | ',' | '.' | '='));
        self.0.iter().any(|(letter, _)| match (before.next(), letter) {
            (_, '/') => true,
            (before, '.' | '~') => begins(before),
            _ => false,
        })
    }

    /// The words that a shell makes of these; none where they stand for themselves.
    pub(super) fn patterns(self) -> Result<Vec<Pattern>, Unreadable> {
        let is_sign = |(letter, is_quoted): &(char, bool)| !is_quoted && matches!(letter, '*' | '?' | '[' | '{');
        if !self.0.iter().any(is_sign) || !self.may_be_paths() {
            return Ok(Vec::new());
        }
        if self.0.len() > LONGEST {
            return Err(Unreadable);
        }
        let (mut open, mut made, mut letters) = (vec![self.0], Vec::new(), 0);
        while let Some(word) = open.pop() {
            letters += word.len();
            if letters > LETTERS_MAX || open.len() + made.len() > WORDS_MAX {
                return Err(Unreadable);
            }
            match alternatives(&word) {
                Some(words) => open.extend(words),
                None => made.push(Pattern(Self(word))),
            }
        }
        Ok(made)
    }
}

impl Pattern {
    /// How many letters it has.
    pub(super) fn len(&self) -> usize {
        self.0.0.len()
    }

    /// A core path that it could stand for, as itself or behind a `=`.
    pub fn core_path(&self, home: &str, own: &OwnDirs) -> Option<String> {
        let whole = self.0.0.as_slice();
        let behind = whole.iter().position(|(letter, _)| *letter == '=').map(|at| &whole[at + 1..]);
        [Some(whole), behind].into_iter().flatten().find_map(|letters| could_be(&segments(letters, home)?, home, own))
    }
}

/// What the first pair of braces that holds no other stands for, each with what is around it.
fn alternatives(word: &[(char, bool)]) -> Option<Vec<Vec<(char, bool)>>> {
    // Where each pair begins that is still open, and what parts its choices.
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    for (at, (letter, _)) in word.iter().enumerate().filter(|(_, (_, is_quoted))| !is_quoted) {
        match letter {
            '{' => open.push((at, Vec::new())),
            ',' => open.last_mut().into_iter().for_each(|(_, commas)| commas.push(at)),
            '}' => {
                let Some((begin, commas)) = open.pop() else { continue };
                let inside = &word[begin + 1..at];
                let choices: Vec<Vec<(char, bool)>> = if !commas.is_empty() {
                    let ends = commas.iter().copied().chain([at]);
                    let begins = [begin].into_iter().chain(commas.iter().copied());
                    begins.zip(ends).map(|(from, to)| word[from + 1..to].to_vec()).collect()
                } else if inside.windows(2).any(|two| two[0].0 == '.' && two[1].0 == '.') {
                    vec![vec![('*', false)], vec![('.', true)]]
                } else {
                    continue;
                };
                let around = |choice: Vec<(char, bool)>| [&word[..begin], &choice, &word[at + 1..]].concat();
                return Some(choices.into_iter().map(around).collect());
            }
            _ => {}
        }
    }
    None
}

/// The segments of the path that a word is by its letters; `~` stands for every way to write the home folder.
fn segments(letters: &[(char, bool)], home: &str) -> Option<Vec<Segment>> {
    let is_path = letters.iter().any(|(letter, _)| *letter == '/') || matches!(letters.first(), Some(('.' | '~', _)));
    if !is_path {
        return None;
    }
    let mut parts: Vec<&[(char, bool)]> = letters.split(|(letter, _)| *letter == '/').collect();
    let is_absolute = letters[0].0 == '/';
    if parts[0] == [('~', false)] || parts[0] == [('~', true)] {
        parts.remove(0);
    }
    let above = if is_absolute { "" } else { home };
    let above = above.split('/').filter(|name| !name.is_empty()).map(Segment::named);
    Some(above.chain(parts.into_iter().filter(|part| !part.is_empty()).map(segment)).collect())
}

/// What one part of a path stands for.
fn segment(letters: &[(char, bool)]) -> Segment {
    let mut pieces = Vec::new();
    let mut rest = letters;
    while let [(letter, is_quoted), behind @ ..] = rest {
        rest = behind;
        pieces.push(match letter {
            '*' if !is_quoted => Piece::Any,
            '?' if !is_quoted => Piece::One,
            '[' if !is_quoted => match behind.iter().skip(1).position(|(letter, _)| *letter == ']') {
                Some(end) => {
                    rest = &behind[end + 2..];
                    Piece::One
                }
                None => Piece::Letter('['),
            },
            letter => Piece::Letter(*letter),
        });
    }
    Segment { said: letters.iter().map(|(letter, _)| letter).collect(), pieces }
}
