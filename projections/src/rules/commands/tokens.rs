//! A command line taken apart as a shell does it: words with their quotes resolved, and what parts commands.

use super::patterns::Letters;

/// A part of a command line.
pub(super) enum Token {
    Word(Word),
    Pipe,
    Redirection,
    /// Of one command.
    End,
}

/// A word with quotes resolved.
#[derive(Default)]
pub(super) struct Word {
    pub(super) text: String,
    /// The texts of the commands that it would be made of.
    pub(super) inner: Vec<String>,
    /// Its letters where a shell would put names in its place.
    pub(super) pattern: Letters,
}

impl Word {
    fn push(&mut self, letter: char, is_quoted: bool) {
        self.text.push(letter);
        self.pattern.push(letter, is_quoted);
    }
}

/// A text as a shell takes it apart.
pub(super) struct Tokens<'t> {
    rest: std::iter::Peekable<std::str::Chars<'t>>,
    /// Whether the end of the whole was told.
    ended: bool,
}

impl<'t> Tokens<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { rest: text.chars().peekable(), ended: false }
    }

    /// Up to the bracket that closes, or to the end.
    fn bracketed(&mut self) -> String {
        let (mut depth, mut inner) = (1, String::new());
        for next in self.rest.by_ref() {
            match next {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            inner.push(next);
        }
        inner
    }

    /// What a dollar sign stands for; returns whether a word ends there.
    fn dollar(&mut self, word: &mut Word) -> bool {
        match self.rest.peek() {
            Some('(') => {
                self.rest.next();
                word.inner.push(self.bracketed());
                return false;
            }
            // $'…' and $"…" are quotes.
            Some('\'' | '"') => return false,
            _ => {}
        }
        let braced = self.rest.next_if_eq(&'{').is_some();
        let mut name = String::new();
        while let Some(next) =
            self.rest.next_if(|c| if braced { *c != '}' } else { c.is_ascii_alphanumeric() || *c == '_' })
        {
            name.push(next);
        }
        if braced {
            self.rest.next();
        }
        match name.as_str() {
            "HOME" => word.push('~', false),
            "IFS" => return true,
            "" => word.push('$', false),
            // `${name:?}` and kin: what a name stands for is not known.
            _ => {}
        }
        false
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let (mut word, mut is_word) = (Word::default(), false);
        let mut quote = None;
        while let Some(&next) = self.rest.peek() {
            let plain = quote.is_none();
            if plain
                && is_word
                && (next.is_whitespace() || "|&;()<>".contains(next))
                && !(next == '(' && word.text.is_empty())
            {
                return Some(Token::Word(word));
            }
            self.rest.next();
            match (next, quote) {
                ('\'' | '"', None) => (quote, is_word) = (Some(next), true),
                (end, Some(begun)) if end == begun => quote = None,
                (other, Some('\'')) => word.push(other, true),
                ('\\', _) => {
                    is_word = true;
                    if let Some(next) = self.rest.next().filter(|next| *next != '\n') {
                        word.push(next, true);
                    }
                }
                ('`', _) => {
                    is_word = true;
                    word.inner.push(self.rest.by_ref().take_while(|next| *next != '`').collect());
                }
                ('$', _) => {
                    let ends = self.dollar(&mut word);
                    if ends && plain && is_word && !word.text.is_empty() {
                        return Some(Token::Word(word));
                    }
                    is_word |= !ends;
                }
                ('<' | '>', None) if self.rest.peek() == Some(&'(') => {
                    self.rest.next();
                    is_word = true;
                    word.inner.push(self.bracketed());
                }
                ('>', None) => {
                    while self.rest.next_if(|next| matches!(next, '>' | '|' | '&')).is_some() {}
                    return Some(Token::Redirection);
                }
                ('|', None) => {
                    let is_or = self.rest.next_if(|next| matches!(next, '|' | '&')) == Some('|');
                    return Some(if is_or { Token::End } else { Token::Pipe });
                }
                ('\n' | ';' | '&' | '(' | ')', None) => return Some(Token::End),
                ('<', None) => {}
                ('#', None) if !is_word => while self.rest.next_if(|next| *next != '\n').is_some() {},
                (space, None) if space.is_whitespace() => {}
                (other, _) => {
                    is_word = true;
                    word.push(other, !plain);
                }
            }
        }
        if is_word {
            return Some(Token::Word(word));
        }
        (!std::mem::replace(&mut self.ended, true)).then_some(Token::End)
    }
}
