//! Sentences that are really command lines: «tail -n 5 ~/a.log», «tar czf ~/a.tgz ~/b», «echo "x" >> ~/a.txt».
//!
//! A line counts as one only when every part of it is understood: a program that everybody knows, its usual flags, paths.
//! It becomes the same items that words would give, so that it is planned like any other request; no shell is involved.

use super::dates::Clock;
use super::items::{Item, Lines, What};
use super::lexicon::{Lexicons, Period, Sense};
use super::lift::{looks, url};
use crate::messages::Language;

/// A part of the line, quotes resolved.
struct Token {
    start: usize,
    end: usize,
    value: String,
    quoted: bool,
}

/// The items that the line stands for; none when it is no command line.
pub(crate) fn command_line(lexicons: &Lexicons, clock: &Clock, text: &str) -> Option<Vec<Item>> {
    let tokens = tokens(text)?;
    let (program, rest) = tokens.split_first()?;
    if program.quoted {
        return None;
    }
    let line = Line { lexicons, clock, program, rest };
    if let [arrow, target] = rest
        && matches!(arrow.value.as_str(), "->" | "→" | "=>")
        && is_path(program)
    {
        let mut items = vec![line.word("move", arrow)];
        items.extend(Line::places(&[program])?);
        items.push(line.word("to", arrow));
        items.extend(Line::places(&[target])?);
        return Some(items);
    }
    match program.value.as_str() {
        "cat" | "less" | "more" | "bat" => line.read(),
        "head" | "tail" => line.ends(),
        "mkdir" => line.over("mkdir", &["-p", "-v"]),
        "rmdir" => line.over("rmdir", &[]),
        "rm" => line.remove(),
        "mv" => line.transfer(),
        "tar" | "zip" => line.pack(),
        "du" => line.usage(),
        "wc" => line.count(),
        "grep" | "egrep" | "rg" => line.search(),
        "find" => line.find(),
        "echo" | "printf" => line.write(),
        "curl" | "wget" => line.fetch(),
        "diff" | "cmp" => line.compare(),
        "sha256sum" => line.digest(),
        "stat" | "file" => line.data(),
        "ls" => line.listed(),
        "ps" => line.processes(),
        _ => None,
    }
}

struct Line<'a> {
    lexicons: &'a Lexicons,
    clock: &'a Clock,
    program: &'a Token,
    rest: &'a [Token],
}

impl Line<'_> {
    fn item(what: What, token: &Token) -> Item {
        let folded = super::words::fold(&token.value);
        Item { start: token.start, end: token.end, folded, what, pronoun: false, forgiven: false }
    }

    /// An English word of the lexicon, said by the bytes of that token.
    fn word(&self, word: &str, token: &Token) -> Item {
        let senses = self.lexicons.senses_of(word, Language::En).to_vec();
        Item { folded: word.to_owned(), ..Self::item(What::Word(senses), token) }
    }

    fn place(token: &Token) -> Item {
        let value = token.value.clone();
        let what = match value.rsplit_once('/') {
            Some((base, glob)) if glob.contains('*') => {
                What::Globs { base: Some(base.to_owned()).filter(|b| !b.is_empty()), globs: vec![glob.to_owned()] }
            }
            None if value.contains('*') => What::Globs { base: None, globs: vec![value] },
            _ => What::Path { looks: looks(&value), value, quoted: false },
        };
        Self::item(what, token)
    }

    /// Flags apart from the rest; none when a flag is not one of those.
    fn split(&self, known: &[&str]) -> Option<(Vec<&Token>, Vec<&Token>)> {
        let flag = |t: &&Token| !t.quoted && t.value.starts_with('-') && t.value.len() > 1;
        let (flags, plain): (Vec<&Token>, Vec<&Token>) = self.rest.iter().partition(flag);
        flags.iter().all(|f| known.contains(&f.value.as_str())).then_some((flags, plain))
    }

    /// All of them, when each is written as a path is.
    fn places(tokens: &[&Token]) -> Option<Vec<Item>> {
        let path = |t: &&Token| is_path(t);
        (!tokens.is_empty() && tokens.iter().all(path)).then(|| tokens.iter().map(|t| Self::place(t)).collect())
    }

    fn over(&self, verb: &str, flags: &[&str]) -> Option<Vec<Item>> {
        let (_, plain) = self.split(flags)?;
        let mut items = vec![self.word(verb, self.program)];
        items.extend(Self::places(&plain)?);
        Some(items)
    }

    /// `cat a`, `cat a > b`.
    fn read(&self) -> Option<Vec<Item>> {
        let Some(at) = self.rest.iter().position(|t| !t.quoted && matches!(t.value.as_str(), ">" | ">>")) else {
            return self.over("cat", &["-n", "-v"]);
        };
        let [target] = &self.rest[at + 1..] else { return None };
        let sources: Vec<&Token> = self.rest[..at].iter().collect();
        let mut items = vec![self.word("read", self.program)];
        items.extend(Self::places(&sources)?);
        let verb = if self.rest[at].value == ">>" { "append" } else { "write" };
        items.extend(["and", verb, "it", "to"].map(|word| self.word(word, &self.rest[at])));
        items.extend(Self::places(&[target])?);
        Some(items)
    }

    /// `stat a`, `ls -l a`: data of files.
    fn data(&self) -> Option<Vec<Item>> {
        let (_, plain) = self.split(&["-b", "-i", "-l", "-lh", "-la"])?;
        let mut items = vec![self.word("details", self.program), self.word("of", self.program)];
        items.extend(Self::places(&plain)?);
        Some(items)
    }

    /// `ls` of one file; of folders the words do.
    fn listed(&self) -> Option<Vec<Item>> {
        let (_, plain) = self.split(&["-l", "-lh", "-la", "-a", "-al"])?;
        let file = |t: &&Token| looks(&t.value) == super::lift::Looks::File && !t.value.contains('*');
        plain.iter().all(file).then(|| self.data()).flatten()
    }

    /// `ps aux | grep nginx`.
    fn processes(&self) -> Option<Vec<Item>> {
        let at = self.rest.iter().position(|t| t.value == "|");
        let options = |t: &Token| matches!(t.value.as_str(), "aux" | "-ef" | "-e" | "-aux" | "ax" | "-A");
        let (before, after) = self.rest.split_at(at.unwrap_or(self.rest.len()));
        if !before.iter().all(options) {
            return None;
        }
        let mut items = vec![self.word("list", self.program), self.word("processes", self.program)];
        match after {
            [] => {}
            [_, grep, name] if grep.value == "grep" => {
                items.push(self.word("named", grep));
                items.push(Self::item(What::Quoted(name.value.clone()), name));
            }
            _ => return None,
        }
        Some(items)
    }

    fn ends(&self) -> Option<Vec<Item>> {
        let mut count = 10;
        let mut plain = Vec::new();
        let mut tokens = self.rest.iter();
        while let Some(token) = tokens.next() {
            let flag = token.value.strip_prefix('-').filter(|_| !token.quoted);
            match flag {
                Some("n") => count = tokens.next()?.value.parse().ok()?,
                Some(flag) => count = flag.strip_prefix('n').unwrap_or(flag).parse().ok()?,
                None => plain.push(token),
            }
        }
        let lines = if self.program.value == "head" { Lines::First(count) } else { Lines::Last(count) };
        let mut items = vec![Self::item(What::Lines(lines), self.program)];
        items.extend(Self::places(&plain)?);
        Some(items)
    }

    fn remove(&self) -> Option<Vec<Item>> {
        let (flags, plain) = self.split(&["-r", "-f", "-rf", "-fr", "-R", "-i", "-v"])?;
        let recursive = flags.iter().any(|f| f.value.contains(['r', 'R']));
        let mut items = vec![self.word("delete", self.program)];
        if recursive {
            items.push(self.word("folder", flags[0]));
        }
        items.extend(Self::places(&plain)?);
        Some(items)
    }

    fn transfer(&self) -> Option<Vec<Item>> {
        let (_, plain) = self.split(&["-v", "-i", "-n"])?;
        let (target, sources) = plain.split_last()?;
        let mut items = vec![self.word("move", self.program)];
        items.extend(Self::places(sources)?);
        items.push(self.word("to", target));
        items.extend(Self::places(&[target])?);
        Some(items)
    }

    fn pack(&self) -> Option<Vec<Item>> {
        let tar = self.program.value == "tar";
        let making = |t: &&Token| {
            let letters = t.value.trim_start_matches('-');
            letters.starts_with('c') && letters.ends_with('f') && letters.bytes().all(|b| b"czvjJf".contains(&b))
        };
        let rest: Vec<&Token> = if tar {
            self.rest.split_first().filter(|(first, _)| making(first))?.1.iter().collect()
        } else {
            self.split(&["-r", "-q", "-9", "-v"])?.1
        };
        let (target, sources) = rest.split_first()?;
        let mut items = vec![self.word("compress", self.program)];
        items.extend(Self::places(sources)?);
        items.push(self.word("to", target));
        items.extend(Self::places(&[target])?);
        Some(items)
    }

    fn usage(&self) -> Option<Vec<Item>> {
        let (_, plain) = self.split(&["-s", "-h", "-sh", "-hs", "-shc", "-sb"])?;
        let [folder] = *plain.as_slice() else { return None };
        let mut items = vec![self.word("total", self.program), self.word("size", self.program)];
        items.push(self.word("of", folder));
        items.extend(Self::places(&[folder])?);
        Some(items)
    }

    fn count(&self) -> Option<Vec<Item>> {
        let (flags, plain) = self.split(&["-l"])?;
        let mut how_many = self.word("count", self.program);
        how_many.what = What::Word(vec![Sense::Cue(super::lexicon::Cue::HowMany)]);
        let mut items = vec![how_many, self.word("lines", flags.first()?)];
        items.push(self.word("in", plain.first()?));
        items.extend(Self::places(&plain)?);
        Some(items)
    }

    fn search(&self) -> Option<Vec<Item>> {
        let (flags, plain) = self.split(&["-i", "-v", "-n", "-in", "-ni", "-iv", "-vi", "-F", "-h"])?;
        let (sought, files) = plain.split_first()?;
        let mut items = vec![self.word("lines", self.program)];
        if let Some(inverted) = flags.iter().find(|f| f.value.contains('v')) {
            items.push(self.word("not", inverted));
        }
        items.push(self.word("containing", self.program));
        let expression = sought.value.contains(['^', '$', '[', '\\', '|', '+']) || sought.value.contains(".*");
        let value = sought.value.clone();
        items.push(Self::item(if expression { What::Regex(value) } else { What::Quoted(value) }, sought));
        items.push(self.word("in", self.program));
        items.extend(Self::places(files)?);
        files.iter().all(|t| looks(&t.value) == super::lift::Looks::File || !t.value.ends_with('/')).then_some(items)
    }

    fn find(&self) -> Option<Vec<Item>> {
        let (folder, options) = self.rest.split_first()?;
        let mut items = vec![self.word("find", self.program)];
        let mut noun = self.word("files", self.program);
        let mut narrowed = Vec::new();
        let mut pairs = options.iter();
        while let Some(option) = pairs.next() {
            match option.value.as_str() {
                "-name" | "-iname" => {
                    let name = pairs.next()?;
                    let what = What::Globs { base: None, globs: vec![name.value.clone()] };
                    narrowed.push(Self::item(what, name));
                }
                "-type" => match pairs.next()?.value.as_str() {
                    "d" => noun = self.word("folders", self.program),
                    "f" => {}
                    _ => return None,
                },
                "-size" => {
                    let size = pairs.next()?;
                    narrowed.push(Self::item(bound(&size.value)?, size));
                }
                "-mtime" => {
                    let days = pairs.next()?;
                    narrowed.push(Self::item(self.age(&days.value)?, days));
                }
                "-delete" => items[0] = self.word("delete", option),
                _ => return None,
            }
        }
        items.push(noun);
        items.push(self.word("in", folder));
        items.extend(Self::places(&[folder])?);
        items.extend(narrowed);
        Some(items)
    }

    /// `-7`: of the last seven days; `+30`: older than thirty.
    fn age(&self, days: &str) -> Option<What> {
        let window = match (days.strip_prefix('-'), days.strip_prefix('+')) {
            (Some(n), _) => self.clock.last(n.parse().ok()?, Period::Day)?,
            (_, Some(n)) => super::dates::Window { since: None, until: self.clock.ago(n.parse().ok()?, Period::Day) },
            _ => return None,
        };
        Some(What::Window { window, today: false })
    }

    fn write(&self) -> Option<Vec<Item>> {
        let at = self.rest.iter().position(|t| !t.quoted && matches!(t.value.as_str(), ">" | ">>"))?;
        let [target] = &self.rest[at + 1..] else { return None };
        let (first, last) = (self.rest[..at].first()?, self.rest[..at].last()?);
        let said = if let [only] = &self.rest[..at] {
            only.value.clone()
        } else if self.rest[..at].iter().any(|t| t.quoted || t.value.starts_with(['-', '$'])) {
            return None;
        } else {
            self.rest[..at].iter().map(|t| t.value.as_str()).collect::<Vec<_>>().join(" ")
        };
        let mode = if self.rest[at].value == ">>" { "append" } else { "overwrite" };
        let is_mode = |s: &super::lexicon::Setting| s.argument == "mode" && s.value == mode;
        let mode = self.lexicons.settings.iter().position(is_mode)?;
        let text = Token { start: first.start, end: last.end, value: String::new(), quoted: true };
        let mut items = vec![self.word("write", self.program), Self::item(What::Quoted(said), &text)];
        items.push(Self::item(What::Word(vec![Sense::Setting(mode)]), &self.rest[at]));
        items.push(self.word("to", &self.rest[at]));
        items.extend(Self::places(&[target])?);
        Some(items)
    }

    fn fetch(&self) -> Option<Vec<Item>> {
        let mut items = vec![self.word("get", self.program)];
        let mut target = None;
        let mut tokens = self.rest.iter();
        let mut found = false;
        while let Some(token) = tokens.next() {
            match token.value.as_str() {
                "-o" | "-O" if self.program.value == "curl" || token.value == "-O" => {
                    target = Some((token, tokens.next()?));
                }
                "-s" | "-L" | "-sL" | "-q" | "-sS" => {}
                value => {
                    items.push(Self::item(What::Url(url(self.lexicons, value).filter(|_| !found)?), token));
                    found = true;
                }
            }
        }
        if let Some((flag, file)) = target {
            for word in ["and", "save", "it", "to"] {
                items.push(self.word(word, flag));
            }
            items.extend(Self::places(&[file])?);
        }
        found.then_some(items)
    }

    fn compare(&self) -> Option<Vec<Item>> {
        self.over("compare", &["-u", "-y", "-w"]).filter(|items| items.len() == 3)
    }

    fn digest(&self) -> Option<Vec<Item>> {
        let (_, plain) = self.split(&[])?;
        let mut items = vec![self.word("sha256", self.program), self.word("of", self.program)];
        items.extend(Self::places(&plain)?);
        Some(items)
    }
}

/// Something that nobody would take for a word of a sentence.
fn is_path(token: &Token) -> bool {
    let value = token.value.as_str();
    let rooted = value.starts_with(['/', '~', '.']) || value.contains('/') || value.contains('*');
    let named = value.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty() && (1..=5).contains(&ending.len()) && ending.chars().all(char::is_alphanumeric)
    });
    rooted || named
}

/// `+100M`, `-5k`.
fn bound(size: &str) -> Option<What> {
    let (least, rest) = match size.split_at_checked(1)? {
        ("+", rest) => (true, rest),
        ("-", rest) => (false, rest),
        _ => return None,
    };
    let (digits, unit) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
    let scale: u64 = match unit {
        "c" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        _ => return None,
    };
    Some(What::Bound { least, bytes: digits.parse::<u64>().ok()?.checked_mul(scale)? })
}

/// The line's parts; none when a quotation is open or something only a shell could do stands in it.
fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let c = text[at..].chars().next()?;
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        if matches!(c, '"' | '\'') {
            let from = at + 1;
            let end = from + text[from..].find(c)?;
            tokens.push(Token { start: from, end, value: text[from..end].to_owned(), quoted: true });
            at = end + 1;
            continue;
        }
        let end = at + text[at..].find(char::is_whitespace).unwrap_or(text.len() - at);
        let value = &text[at..end];
        if (value.len() > 1 && value.contains('|'))
            || value.contains(['"', '\'', ';', '&', '$', '`', '\\', '(', ')', '{', '}'])
            || value.ends_with([',', '?'])
        {
            return None;
        }
        tokens.push(Token { start: at, end, value: value.to_owned(), quoted: false });
        at = end;
    }
    Some(tokens)
}
