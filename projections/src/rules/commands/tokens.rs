//! A command line taken apart as a shell does it: words with their quotes resolved, and what parts commands.

/// A part of a command line.
pub(super) enum Token {
    /// With quotes resolved, and the texts of the commands that it would be made of.
    Word(String, Vec<String>),
    Pipe,
    Redirection,
    /// Of one command.
    End,
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
    fn dollar(&mut self, word: &mut String, inner: &mut Vec<String>) -> bool {
        match self.rest.peek() {
            Some('(') => {
                self.rest.next();
                inner.push(self.bracketed());
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
            "HOME" => word.push('~'),
            "IFS" => return true,
            "" => word.push('$'),
            // `${name:?}` and kin: what a name stands for is not known.
            _ => {}
        }
        false
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let (mut word, mut inner, mut is_word) = (String::new(), Vec::new(), false);
        let mut quote = None;
        while let Some(&next) = self.rest.peek() {
            let plain = quote.is_none();
            if plain
                && is_word
                && (next.is_whitespace() || "|&;()<>".contains(next))
                && !(next == '(' && word.is_empty())
            {
                return Some(Token::Word(word, inner));
            }
            self.rest.next();
            match (next, quote) {
                ('\'' | '"', None) => (quote, is_word) = (Some(next), true),
                (end, Some(begun)) if end == begun => quote = None,
                (other, Some('\'')) => word.push(other),
                ('\\', _) => {
                    is_word = true;
                    word.extend(self.rest.next().filter(|next| *next != '\n'));
                }
                ('`', _) => {
                    is_word = true;
                    inner.push(self.rest.by_ref().take_while(|next| *next != '`').collect());
                }
                ('$', _) => {
                    let ends = self.dollar(&mut word, &mut inner);
                    if ends && plain && is_word && !word.is_empty() {
                        return Some(Token::Word(word, inner));
                    }
                    is_word |= !ends;
                }
                ('<' | '>', None) if self.rest.peek() == Some(&'(') => {
                    self.rest.next();
                    is_word = true;
                    inner.push(self.bracketed());
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
                    word.push(other);
                }
            }
        }
        if is_word {
            return Some(Token::Word(word, inner));
        }
        (!std::mem::replace(&mut self.ended, true)).then_some(Token::End)
    }
}
