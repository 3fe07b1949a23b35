//! Lifts what is no word out of a sentence: quoted text, paths, globs, addresses, extensions, with byte positions.
//!
//! It never looks at a disk: what exists is told by the caller as byte ranges. What is lifted is opaque afterwards, so
//! that instructions inside of a quotation are never read as instructions.

use super::lexicon::{Lexicons, Sense};
use super::words::{fold, is_word};
use crate::messages::Language;

/// Something that is no word.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Lifted {
    /// A path as written, quotes and escapes removed.
    Path { value: String, looks: Looks, quoted: bool },
    /// A glob over names; `base` is what stands before its last slash.
    Glob { base: Option<String>, glob: String },
    /// An address with its scheme.
    Url(String),
    /// A mail address.
    Email(String),
    /// Quoted text that is no path.
    Quoted(String),
    /// `.md`
    Extension(String),
    /// An IANA zone.
    Zone(String),
}

/// What a path looks like from its spelling alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looks {
    File,
    Folder,
    Either,
}

/// A lifted thing and the bytes that it was read from.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) lifted: Lifted,
}

const PAIRS: [(char, char); 8] =
    [('“', '”'), ('«', '»'), ('„', '“'), ('‘', '’'), ('"', '"'), ('\'', '\''), ('`', '`'), ('‹', '›')];

/// All lifted things, in order and without overlap.
pub(crate) fn lift(lexicons: &Lexicons, text: &str, existing: &[(u32, u32)]) -> Vec<Place> {
    let mut places = Vec::new();
    let mut at = 0;
    // A run of characters that is nothing is not tried again from each of its words.
    let mut plain_until = 0;
    while at < text.len() {
        let opens =
            at == 0 || text[..at].ends_with(|c: char| !is_word(c) && !matches!(c, '~' | '/' | '.' | '-' | '\\' | '@'));
        if !opens {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
            continue;
        }
        let place = lift_existing(lexicons, text, at, existing)
            .map(|place| (place.end, place))
            .or_else(|| lift_quoted(lexicons, text, at, existing))
            .or_else(|| {
                let rooted = text[at..].starts_with(['/', '~', '.']) || text[at..].starts_with("http");
                if at < plain_until && !rooted && !after_elision(text, at) {
                    return None;
                }
                let (end, value) = run(text, at);
                plain_until = plain_until.max(end);
                lift_run(lexicons, at, end, &value).map(|place| (place.end, place))
            });
        at = match place {
            Some((next, place)) => {
                places.push(place);
                next
            }
            None => at + text[at..].chars().next().map_or(1, char::len_utf8),
        };
    }
    places
}

fn lift_existing(lexicons: &Lexicons, text: &str, at: usize, existing: &[(u32, u32)]) -> Option<Place> {
    let starts_here = existing.iter().filter(|(start, _)| *start as usize == at);
    let end = starts_here.map(|(_, end)| *end as usize).max()?;
    let value = text.get(at..end).filter(|value| !value.trim().is_empty())?;
    // A file called «list» does not take the word «list» away; in «the folder old» it is nothing but a name.
    let known = |word: &str| Language::ALL.iter().any(|&l| lexicons.speaks(&fold(word), l) > 0);
    if !value.contains(['.', '/', '~']) && value.split_whitespace().all(known) && !is_called(lexicons, text, at, end) {
        return None;
    }
    // Nor does one called «many» the end of «how many».
    let before = text[..at].split_whitespace().next_back().map(fold);
    if before.is_some_and(|before| lexicons.phrase(&[before.as_str(), fold(value).as_str()]).is_some()) {
        return None;
    }
    Some(Place { start: at, end, lifted: Lifted::Path { value: value.to_owned(), looks: looks(value), quoted: false } })
}

/// Whether what stands there is the name of the folder that the word before it announces: nothing follows that it could say
/// something about.
fn is_called(lexicons: &Lexicons, text: &str, at: usize, end: usize) -> bool {
    let Some(before) = text[..at].split_whitespace().next_back().map(fold) else { return false };
    let is_folder = |sense: &Sense| matches!(sense, Sense::Object(o) if lexicons.objects[*o] == "dirs");
    let announces = Language::ALL.iter().any(|&l| lexicons.senses_of(&before, l).iter().any(is_folder));
    announces && text[end..].trim().chars().all(|sign| matches!(sign, '.' | '!' | '?' | '"' | '»' | '”'))
}

/// How many marks inside of a quotation are looked at before it is taken for an apostrophe.
const MOST_CLOSINGS: usize = 32;

/// Text between quotes, and where the closing quote ends. A single quote opens only where a word could start and closes
/// only where one could end.
fn lift_quoted(lexicons: &Lexicons, text: &str, at: usize, existing: &[(u32, u32)]) -> Option<(usize, Place)> {
    let open = text[at..].chars().next()?;
    let (_, close) = PAIRS.iter().find(|(o, _)| *o == open)?;
    let inside = at + open.len_utf8();
    let mut search = inside;
    for _ in 0..MOST_CLOSINGS {
        let found = search + text[search..].find(*close)?;
        let end = found + close.len_utf8();
        let apostrophe = matches!(close, '\'' | '’');
        let glued = text[end..].starts_with(is_word);
        let escaped = text[..found].ends_with('\\') && *close == '"';
        if (glued && apostrophe) || escaped {
            search = end;
            continue;
        }
        let value = &text[inside..found];
        if value.is_empty() {
            return None;
        }
        let unescaped = value.replace("\\\"", "\"");
        // A name that nobody would take for one, a line break in it say, is one when it is on the disk.
        let named = existing.contains(&(byte(inside), byte(found))) && value.contains(['.', '/']);
        let lifted = if named {
            Lifted::Path { value: unescaped, looks: looks(value), quoted: true }
        } else {
            quoted(lexicons, &unescaped)
        };
        return Some((end, Place { start: inside, end: found, lifted }));
    }
    None
}

fn quoted(lexicons: &Lexicons, value: &str) -> Lifted {
    if let Some(url) = url(lexicons, value).filter(|_| !value.contains(char::is_whitespace)) {
        return Lifted::Url(url);
    }
    let rooted =
        value.starts_with('/') || value.starts_with("~/") || value.starts_with("./") || value.starts_with("../");
    let named = is_file_name(lexicons, value) || (value.contains('/') && !value.contains(char::is_whitespace));
    if rooted || named || value == "~" {
        return Lifted::Path { value: value.to_owned(), looks: looks(value), quoted: true };
    }
    let is_glob = value.contains('*') && !value.contains(char::is_whitespace);
    if is_glob { glob(value) } else { Lifted::Quoted(value.to_owned()) }
}

/// A run without white space that is a path, a glob, an address or an extension.
fn lift_run(lexicons: &Lexicons, at: usize, end: usize, value: &str) -> Option<Place> {
    let trimmed = trim_end(value);
    let cut = value.len() - trimmed.len();
    let (end, value) = (end - cut, trimmed);
    if value.is_empty() {
        return None;
    }
    classify(lexicons, value).map(|lifted| Place { start: at, end, lifted })
}

/// «l'example.com», «(~/a.txt)»: right after the first apostrophe or bracket of a run.
fn after_elision(text: &str, at: usize) -> bool {
    let start =
        text[..at].char_indices().rev().take(8).take_while(|(_, c)| !c.is_whitespace()).last().map_or(at, |(i, _)| i);
    let blank = start == 0 || text[..start].ends_with(char::is_whitespace);
    blank && start < at && text[start..at].ends_with(['\'', '’', '(', '['])
}

/// The run of non-blank characters at `at` with escapes resolved, and where it ends. Quotation marks end it.
fn run(text: &str, at: usize) -> (usize, String) {
    let mut value = String::new();
    let mut characters = text[at..].char_indices().peekable();
    let mut end = at;
    while let Some((offset, c)) = characters.next() {
        if c == '\\' && characters.peek().is_some_and(|(_, next)| *next == ' ') {
            value.push(' ');
            characters.next();
            end = at + offset + 2;
            continue;
        }
        let joined_list = c == ',' && text[at + offset + 1..].starts_with(['/', '~', '.']);
        if c.is_whitespace() || matches!(c, '"' | '“' | '”' | '«' | '»' | '<' | '>' | '`' | ';') || joined_list {
            break;
        }
        value.push(c);
        end = at + offset + c.len_utf8();
    }
    (end, value)
}

fn trim_end(value: &str) -> &str {
    let mut value = value;
    loop {
        let shorter = value.trim_end_matches([',', ':', '!', '?', '\'', '’', '…', ']', '}']);
        let shorter =
            if shorter.ends_with(')') && !shorter.contains('(') { &shorter[..shorter.len() - 1] } else { shorter };
        let dots = shorter.ends_with('.') && !matches!(shorter, "." | ".." | "~/.") && !shorter.ends_with("/..");
        let shorter = if dots { &shorter[..shorter.len() - 1] } else { shorter };
        if shorter.len() == value.len() {
            return value;
        }
        value = shorter;
    }
}

fn classify(lexicons: &Lexicons, value: &str) -> Option<Lifted> {
    if value.eq_ignore_ascii_case("tar.gz") {
        return Some(Lifted::Extension("tar.gz".to_owned()));
    }
    if let Some(url) = url(lexicons, value) {
        return Some(Lifted::Url(url));
    }
    if is_email(value) {
        return Some(Lifted::Email(value.to_owned()));
    }
    if value.contains('*') {
        return Some(glob(value)).filter(|_| value.len() > 1 && !value.ends_with("**"));
    }
    let rooted = value.starts_with('/') || value == "~" || value.starts_with("~/") || value.starts_with("./");
    if rooted || value.starts_with("../") || value == ".." || is_drive(value) {
        return Some(Lifted::Path { value: value.to_owned(), looks: looks(value), quoted: false });
    }
    if let Some(extension) = value.strip_prefix('.') {
        let known = lexicons.file_extensions.iter().any(|e| e.eq_ignore_ascii_case(extension));
        let word = !extension.is_empty() && extension.chars().all(char::is_alphanumeric);
        return match (known, word) {
            (true, _) => Some(Lifted::Extension(extension.to_lowercase())),
            (false, true) if extension.len() <= 4 => Some(Lifted::Extension(extension.to_lowercase())),
            (false, true) => Some(Lifted::Path { value: value.to_owned(), looks: Looks::File, quoted: false }),
            _ => None,
        };
    }
    if is_relative(value) {
        let zone = value.split('/').next().is_some_and(is_region) && zone_exists(value);
        return Some(if zone {
            Lifted::Zone(value.to_owned())
        } else {
            Lifted::Path { value: value.to_owned(), looks: looks(value), quoted: false }
        });
    }
    is_file_name(lexicons, value).then(|| Lifted::Path { value: value.to_owned(), looks: Looks::File, quoted: false })
}

fn glob(value: &str) -> Lifted {
    match value.rsplit_once('/') {
        Some((base, glob)) if !base.is_empty() && !base.contains('*') => {
            Lifted::Glob { base: Some(base.to_owned()), glob: glob.to_owned() }
        }
        Some((_, glob)) => Lifted::Glob { base: None, glob: glob.to_owned() },
        None => Lifted::Glob { base: None, glob: value.to_owned() },
    }
}

fn is_drive(value: &str) -> bool {
    let bytes = value.as_bytes();
    bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && bytes[2] == b'\\'
}

fn is_email(value: &str) -> bool {
    value.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty()
            && host.contains('.')
            && !host.starts_with('.')
            && host.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-'))
    })
}

/// `a/b`, but not `and/or`, `24/7` or a date.
fn is_relative(value: &str) -> bool {
    let Some((first, _)) = value.split_once('/') else { return false };
    let segments: Vec<&str> = value.split('/').collect();
    let numeric = segments.iter().all(|s| s.chars().all(|c| c.is_ascii_digit()));
    let little =
        segments.len() == 2 && segments.iter().all(|s| s.chars().count() <= 3 && s.chars().all(char::is_alphabetic));
    let or = matches!(segments.last(), Some(&("or" | "o" | "oppure"))) || matches!(first, "and" | "e" | "o" | "or");
    let sound = segments.iter().take(segments.len() - 1).all(|s| !s.is_empty());
    sound && !numeric && !or && (!little || first.chars().any(char::is_uppercase)) && !first.is_empty()
}

/// `name.ext`: an extension of one to five letters or digits with a letter in it, and no number or abbreviation.
fn is_file_name(lexicons: &Lexicons, value: &str) -> bool {
    let Some((stem, extension)) = value.rsplit_once('.') else { return false };
    let known = lexicons.file_extensions.iter().any(|e| e.eq_ignore_ascii_case(extension));
    let plausible = (1..=5).contains(&extension.len())
        && extension.chars().all(|c| c.is_ascii_alphanumeric())
        && extension.chars().any(|c| c.is_ascii_alphabetic());
    let sound = !stem.is_empty() && !stem.contains(['/', ':', '\n']) && stem.chars().any(char::is_alphanumeric);
    sound && (known || (plausible && stem.chars().count() > 1 && !stem.contains(' ')))
}

/// The address with a scheme, when `value` is one: `http://…`, a bare host, `localhost:8080/x`.
pub(crate) fn url(lexicons: &Lexicons, value: &str) -> Option<String> {
    let lower = value.to_ascii_lowercase();
    for scheme in ["http://", "https://"] {
        if lower.starts_with(scheme) {
            return (value.len() > scheme.len()).then(|| value.to_owned());
        }
    }
    if lower.contains("://") || lower.contains('@') {
        return None;
    }
    let authority = lower.split(['/', '?', '#']).next()?;
    let (host, port) = authority.split_once(':').map_or((authority, None), |(h, p)| (h, Some(p)));
    if port.is_some_and(|p| p.is_empty() || p.parse::<u16>().is_err()) {
        return None;
    }
    let address = host.split('.').count() == 4 && host.split('.').all(|part| part.parse::<u8>().is_ok());
    if host == "localhost" || address {
        return Some(format!("http://{value}"));
    }
    let labels = host.split('.').count() >= 2
        && host.split('.').all(|l| !l.is_empty() && l.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'));
    let ending = host.rsplit('.').next()?;
    let known = lexicons.domain_endings.iter().any(|e| e == ending);
    let file = lexicons.file_extensions.iter().any(|e| e == ending);
    if labels && ((known && !file) || host.starts_with("www.")) {
        return Some(format!("https://{value}"));
    }
    let named_port =
        port.is_some() && host.len() > 1 && host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'));
    (named_port && !host.chars().all(|c| c.is_ascii_digit())).then(|| format!("http://{value}"))
}

fn is_region(first: &str) -> bool {
    matches!(
        first,
        "Europe"
            | "America"
            | "Asia"
            | "Africa"
            | "Australia"
            | "Pacific"
            | "Atlantic"
            | "Indian"
            | "Antarctica"
            | "Etc"
    )
}

fn zone_exists(name: &str) -> bool {
    super::dates::zone(name).is_some()
}

/// File or folder, by spelling: a trailing slash, an extension, a name that is usually a file's.
pub(crate) fn looks(path: &str) -> Looks {
    if path.ends_with('/') || matches!(path, "~" | "." | "..") || path.ends_with("/..") {
        return Looks::Folder;
    }
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let extension = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, e)| e);
    let has_extension = extension.is_some_and(|e| {
        (1..=8).contains(&e.len())
            && e.chars().all(|c| c.is_ascii_alphanumeric())
            && !e.chars().all(|c| c.is_ascii_digit())
    });
    let usual =
        matches!(name, "README" | "LICENSE" | "LICENCE" | "Makefile" | "Dockerfile" | "CHANGELOG" | "TODO" | "NOTES");
    if has_extension || usual { Looks::File } else { Looks::Either }
}

/// Byte ranges of `text` that may name files or folders, for the caller to try on its disk: bounded, at each start the
/// longest first, so that names with spaces and bare names are found.
pub fn candidates_for_existing(text: &str) -> Vec<(u32, u32)> {
    const MOST: usize = 64;
    const WORDS: usize = 6;
    let mut edges: Vec<(usize, usize)> = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().take(super::LONGEST_SENTENCE) {
        match (c.is_whitespace(), start) {
            (true, Some(from)) => {
                edges.push((from, at));
                start = None;
            }
            (false, None) => start = Some(at),
            _ => {}
        }
    }
    if let Some(from) = start.filter(|_| text.len() <= super::LONGEST_SENTENCE) {
        edges.push((from, text.len()));
    }
    let mut ranges = quoted_ranges(text);
    // What looks like a name comes first; runs of plain words are tried as long as there is room.
    for plain in [false, true] {
        for (index, &(from, _)) in edges.iter().enumerate() {
            for &(_, to) in edges[index..].iter().take(WORDS).rev() {
                let value = text[from..to].trim_end_matches([',', ';', ':', '.', '!', '?', ')', '"', '\'', '”', '»']);
                let range = (byte(from), byte(from + value.len()));
                if ranges.len() < MOST && is_name(value) && is_plain(value) == plain && !ranges.contains(&range) {
                    ranges.push(range);
                }
            }
        }
    }
    ranges.sort_by_key(|&(from, to)| (from, std::cmp::Reverse(to)));
    ranges
}

/// What stands between quotes, whatever it holds: a name in quotes may have line breaks.
fn quoted_ranges(text: &str) -> Vec<(u32, u32)> {
    const MOST: usize = 16;
    const PAIRS: [(char, char); 5] = [('"', '"'), ('\'', '\''), ('“', '”'), ('«', '»'), ('‘', '’')];
    let mut ranges = Vec::new();
    for (open, close) in PAIRS {
        let mut rest = 0;
        while let Some(found) = text.get(rest..).and_then(|text| text.find(open)).filter(|_| ranges.len() < MOST) {
            let from = rest + found + open.len_utf8();
            let Some(length) = text[from..].find(close) else { break };
            if length > 0 && from + length <= super::LONGEST_SENTENCE {
                ranges.push((byte(from), byte(from + length)));
            }
            rest = from + length + close.len_utf8();
        }
    }
    ranges
}

fn is_name(value: &str) -> bool {
    value.len() > 1
        && value.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '~' | '.' | '_'))
        && !value.contains(['\n', '"', '“', '«'])
}

/// Words in lower case without a dot or slash.
fn is_plain(value: &str) -> bool {
    value.contains(' ') && !value.contains(['/', '.', '~']) && !value.contains(char::is_uppercase)
}

/// A byte position of a sentence, which is far shorter than `u32` can count.
pub(crate) fn byte(position: usize) -> u32 {
    u32::try_from(position).expect("sentences are bounded far below four gigabytes")
}
