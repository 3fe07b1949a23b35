//! Command lines as the guard reads them: which programs would start, with which words, and fed by what.
//!
//! This is a guard's reading and no shell's: it takes more for a command than a shell would (each word behind `sudo` or
//! `xargs` may be the program), and what a shell only makes while it runs (names put together from variables) it does not
//! know. What gets by is for the cage to hold.

use serde_json::Value;

use crate::manifest::{Manifest, Role};
use crate::rules::core_paths;

/// How deep commands in commands are read (`sh -c "sh -c …"`).
const DEPTH_MAX: u32 = 8;
/// The most words behind a program that starts another one.
const WORDS_MAX: usize = 2048;

/// What reads a text as commands.
const SHELLS: &[&str] =
    &["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "eval", "source", "."];
/// What starts the program that it is given.
const STARTERS: &[&str] = &[
    "busybox",
    "builtin",
    "chroot",
    "chrt",
    "command",
    "coproc",
    "doas",
    "env",
    "exec",
    "flock",
    "ionice",
    "nice",
    "nohup",
    "nsenter",
    "parallel",
    "pkexec",
    "runuser",
    "script",
    "setarch",
    "setpriv",
    "setsid",
    "ssh",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "time",
    "timeout",
    "toybox",
    "unshare",
    "watch",
    "xargs",
];
/// What runs a text in a language of its own, which can start programs as well.
const INTERPRETERS: &[&str] =
    &["awk", "gawk", "lua", "mawk", "nawk", "node", "perl", "php", "python", "ruby", "sed", "vim"];
/// What only writes its words out again.
const PRINTERS: &[&str] = &["echo", "printf"];
/// What may stand before a command, and is none.
const KEYWORDS: &[&str] = &["!", "do", "elif", "else", "if", "then", "until", "while", "{"];
/// Devices that keep nothing and lose nothing.
const HARMLESS_DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/stdin", "/dev/stdout", "/dev/stderr"];

/// Name of a command that starts itself twice, and so on without end; no program has it.
pub const FORK_BOMB: &str = "fork_bomb";
/// Name of what sets variables and starts nothing.
pub const SETTING: &str = "set";
/// Name of what writes into a file by redirection.
pub const REDIRECTION: &str = ">";

/// One program that would start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Its name, without a folder.
    pub program: String,
    /// The words that it is given; `~` stands for every way to write the home folder.
    pub words: Vec<String>,
    /// The programs whose output it reads, or is made of.
    pub fed_by: Vec<String>,
}

/// More commands in commands than anybody means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

impl Command {
    /// Whether it is given this switch, in a cluster, by its long name, or as `find` writes them.
    pub fn has_flag(&self, name: &str) -> bool {
        self.words.iter().any(|word| match (word.strip_prefix("--"), word.strip_prefix('-')) {
            (Some(long), _) => long.split('=').next() == Some(name),
            (None, Some(short)) if name.chars().count() == 1 => short.contains(name),
            (None, short) => short == Some(name),
        })
    }

    /// Whether one of its words stands for all of a home, of the system or of a part of it, or of where it runs.
    pub fn is_wide(&self, home: &str) -> bool {
        self.words.iter().filter(|word| !word.starts_with('-')).any(|word| is_wide(word, home))
    }

    /// As it would be typed.
    pub fn said(&self) -> String {
        [&self.program].into_iter().chain(&self.words).cloned().collect::<Vec<_>>().join(" ")
    }

    /// The paths among its words, by their letters alone; a program that only prints has none.
    pub fn paths<'c>(&'c self, home: &'c str) -> impl Iterator<Item = String> + 'c {
        let prints = PRINTERS.contains(&self.program.as_str());
        let is_path = |word: &str| word.contains('/') || word.starts_with(['.', '~']);
        let words = self.words.iter().filter(move |_| !prints).flat_map(|word| values(word));
        words.filter(move |word| is_path(word)).map(|word| {
            let path = std::path::Path::new(home).join(at_home(word, home));
            core_paths::lexical(&path).to_string_lossy().into_owned()
        })
    }
}

/// The commands among the arguments of an executor: of those that its manifest says are commands, of all where it says
/// nothing.
pub fn given(manifest: &Manifest, args: &Value) -> Result<Vec<Command>, Unreadable> {
    let role = |name: &str| manifest.arguments.get(name).map(|argument| argument.role);
    let says = manifest.arguments.values().any(|argument| argument.role == Role::Command);
    let values = args.as_object().into_iter().flatten();
    let (lines, texts): (Vec<_>, Vec<_>) =
        values.partition(|(name, _)| if says { role(name) == Some(Role::Command) } else { true });
    let mut found = Vec::new();
    for (_, value) in lines {
        of_value(value, &mut found)?;
    }
    // What is typed into a shell is a command, too.
    let reads = |command: &Command| is_among(&command.program, SHELLS) || is_among(&command.program, INTERPRETERS);
    if found.iter().any(reads) {
        for (_, value) in texts {
            of_value(value, &mut found)?;
        }
    }
    Ok(found)
}

/// The programs that an executor lists; `None` where it runs none.
pub fn programs(manifest: &Manifest) -> Option<Vec<&str>> {
    let mut runs = manifest.capabilities.iter().filter(|capability| capability.name == "code:exec").peekable();
    runs.peek()?;
    Some(runs.flat_map(|capability| &capability.hint).map(String::as_str).collect())
}

/// The programs that the arguments name which are commands in words.
pub fn named<'a>(manifest: &'a Manifest, args: &'a Value) -> impl Iterator<Item = &'a str> {
    let commands = manifest.arguments.iter().filter(|(_, argument)| argument.role == Role::Command);
    commands.filter_map(|(name, _)| args.get(name)?.as_array()?.first()?.as_str())
}

fn of_value(value: &Value, found: &mut Vec<Command>) -> Result<(), Unreadable> {
    match value {
        Value::String(text) => of_text(text, 0, found),
        Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_string) => {
            let words = items.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            of_words(words, Vec::new(), 0, found)
        }
        Value::Array(items) => items.iter().try_for_each(|item| of_value(item, found)),
        Value::Object(fields) => fields.values().try_for_each(|item| of_value(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// The commands of a text that a shell would read.
fn of_text(text: &str, depth: u32, found: &mut Vec<Command>) -> Result<(), Unreadable> {
    if depth > DEPTH_MAX {
        return Err(Unreadable);
    }
    if multiplies(text) {
        found.push(Command { program: FORK_BOMB.to_owned(), ..Command::default() });
    }
    let (mut words, mut fed_by, mut made_of) = (Vec::new(), Vec::new(), Vec::new());
    let mut redirected = false;
    for token in Tokens::new(text) {
        match token {
            Token::Word(word, inner) => {
                for text in inner {
                    let before = found.len();
                    of_text(&text, depth + 1, found)?;
                    made_of.extend(found[before..].iter().map(|command| command.program.clone()));
                }
                if std::mem::take(&mut redirected) {
                    let program = REDIRECTION.to_owned();
                    found.push(Command { program, words: vec![word], fed_by: Vec::new() });
                } else {
                    words.push(word);
                }
            }
            Token::Redirection => redirected = true,
            Token::Pipe | Token::End => {
                let sources = [fed_by.clone(), std::mem::take(&mut made_of)].concat();
                let before = found.len();
                of_words(std::mem::take(&mut words), sources, depth, found)?;
                let started = found[before..].iter().map(|command| command.program.clone());
                if matches!(token, Token::Pipe) { fed_by.extend(started) } else { fed_by.clear() }
            }
        }
    }
    Ok(())
}

/// The commands that the words of one stand for: itself, and what it would start.
fn of_words(
    mut words: Vec<String>,
    fed_by: Vec<String>,
    depth: u32,
    found: &mut Vec<Command>,
) -> Result<(), Unreadable> {
    let is_setting = |word: &String| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
    };
    let begins = words.iter().position(|word| !is_setting(word) && !KEYWORDS.contains(&word.as_str()));
    let settings: Vec<String> = words.drain(..begins.unwrap_or(words.len())).filter(is_setting).collect();
    if !settings.is_empty() {
        found.push(Command { program: SETTING.to_owned(), words: settings, fed_by: Vec::new() });
    }
    let Some(first) = words.first() else { return Ok(()) };
    // One word that is a whole line: somebody takes it for a command.
    if first.trim().contains(char::is_whitespace) {
        let text = first.clone();
        of_text(&text, depth + 1, found)?;
    }
    let program = first.trim().rsplit('/').next().unwrap_or_default().to_owned();
    let rest = words.split_off(1);
    if is_among(&program, SHELLS) {
        let line: Vec<&str> = rest.iter().map(String::as_str).skip_while(|word| word.starts_with('-')).collect();
        of_text(&line.join(" "), depth + 1, found)?;
        for word in rest.iter().filter(|word| word.contains(|c: char| c.is_whitespace() || "|;&$`>".contains(c))) {
            of_text(word, depth + 1, found)?;
        }
    } else if is_among(&program, INTERPRETERS) {
        for word in &rest {
            let pieces = word.split(['"', '\'', '`']);
            pieces.skip(1).try_for_each(|piece| of_text(piece, depth + 1, found))?;
            let plain = word.replace(['"', '\'', '`', '(', ')', '[', ']', '{', '}', ','], " ");
            started(&plain.split_whitespace().map(str::to_owned).collect::<Vec<_>>(), depth, found)?;
        }
    } else if is_among(&program, STARTERS) {
        started(&rest, depth, found)?;
    } else if program == "find" {
        let places: Vec<String> = rest.iter().take_while(|word| !word.starts_with('-')).cloned().collect();
        let executes = |word: &&String| matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
        for at in (0..rest.len()).filter(|at| executes(&&rest[*at])) {
            let command = rest[at + 1..].iter().take_while(|word| !matches!(word.as_str(), ";" | "+"));
            let filled = command.flat_map(|word| if word == "{}" { places.clone() } else { vec![word.clone()] });
            of_words(filled.collect(), Vec::new(), depth + 1, found)?;
        }
    }
    found.push(Command { program, words: rest, fed_by });
    Ok(())
}

/// What a program would start that is given these words: any of them may be the one that names it.
fn started(words: &[String], depth: u32, found: &mut Vec<Command>) -> Result<(), Unreadable> {
    if words.len() > WORDS_MAX || depth >= DEPTH_MAX {
        return Err(Unreadable);
    }
    for at in (0..words.len()).filter(|at| !words[*at].starts_with('-')) {
        let word = &words[at];
        let program = word.rsplit('/').next().unwrap_or_default().to_owned();
        if is_among(&program, SHELLS) || program == "find" || word.contains(char::is_whitespace) {
            of_words(words[at..].to_vec(), Vec::new(), depth + 1, found)?;
        } else {
            found.push(Command { program, words: words[at + 1..].to_vec(), fed_by: Vec::new() });
        }
    }
    Ok(())
}

/// Whether a program is one of these; `python3.13` is `python`.
fn is_among(program: &str, names: &[&str]) -> bool {
    let plain = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    names.contains(&program) || names.contains(&plain)
}

/// Whether a text defines something that starts itself twice at once (`:(){ :|:& };:`).
fn multiplies(text: &str) -> bool {
    let squeezed: String = text.split_whitespace().collect();
    let defines = squeezed.match_indices("(){").filter_map(|(at, mark)| {
        let name = squeezed[..at].rsplit([';', '&', '|', '\n', '{', '}', '(', ')']).next()?;
        let name = name.strip_prefix("function").filter(|name| !name.is_empty()).unwrap_or(name);
        let body = squeezed[at + mark.len()..].split('}').next()?;
        (!name.is_empty()).then_some((name, body))
    });
    defines
        .into_iter()
        .any(|(name, body)| body.contains(&format!("{name}|{name}")) || body.contains(&format!("{name}&{name}")))
}

/// A word, and what stands behind its `=` (`of=/dev/sda`).
fn values(word: &str) -> impl Iterator<Item = &str> {
    [Some(word), word.split_once('=').map(|(_, value)| value)].into_iter().flatten()
}

fn at_home(word: &str, home: &str) -> String {
    match word.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
        _ => word.to_owned(),
    }
}

fn is_wide(word: &str, home: &str) -> bool {
    let path = at_home(word, home);
    let mut all = path.as_str();
    // All that a folder holds, which is to say the folder.
    while let Some(less) = ["/*", "/.", "/.*", "/{*,.*}", "/**"].iter().find_map(|end| all.strip_suffix(end)) {
        all = if less.is_empty() { "/" } else { less };
    }
    if matches!(all, "" | "." | ".." | "*" | ".*" | "**") {
        return true;
    }
    if !all.starts_with('/') || HARMLESS_DEVICES.contains(&all) || all.starts_with("/dev/fd/") {
        return false;
    }
    let path = core_paths::lexical(std::path::Path::new(all));
    let path = path.to_string_lossy();
    core_paths::is_within(home, &path) || core_paths::protected_from_change(&path).is_some() || path == "/"
}

enum Token {
    /// With quotes resolved, and the texts of the commands that it would be made of.
    Word(String, Vec<String>),
    Pipe,
    Redirection,
    /// Of one command.
    End,
}

/// A text as a shell takes it apart.
struct Tokens<'t> {
    rest: std::iter::Peekable<std::str::Chars<'t>>,
    /// Whether the end of the whole was told.
    ended: bool,
}

impl<'t> Tokens<'t> {
    fn new(text: &'t str) -> Self {
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

#[cfg(test)]
mod tests;
