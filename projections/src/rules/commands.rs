//! Command lines as the guard reads them: which programs would start, with which words, and fed by what.
//!
//! This is a guard's reading and no shell's: what a shell only makes while it runs (names put together from variables) it does not
//! know, and of files that match, only whether they could be core paths. What gets by is for the cage to hold.

mod patterns;
mod tokens;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::manifest::{Manifest, Role};
use crate::rules::core_paths;
pub use patterns::Pattern;
use tokens::{Token, Tokens, Word};

/// How deep commands in commands are read (`sh -c "sh -c …"`).
const DEPTH_MAX: u32 = 8;
/// The most that is kept of what was read.
const READ_BYTES_MAX: usize = 16 << 20;
/// The fewest letters of a long switch that may stand for all of it.
const ABBREVIATED_MIN: usize = 3;
/// The most words behind a program that starts another one.
const WORDS_MAX: usize = 2048;

/// What reads a text as commands.
const SHELLS: &[&str] =
    &["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "eval", "source", "."];
/// What starts the program that it is given.
const STARTERS: &[&str] = &[
    "at",
    "batch",
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
    "screen",
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
    "tmux",
    "toybox",
    "unshare",
    "watch",
    "xargs",
];
/// Which of them are given a whole line in one word.
const OF_LINES: &[&str] = &["at", "batch", "flock", "parallel", "screen", "script", "ssh", "su", "tmux", "watch"];
/// What runs a text in a language of its own, which can start programs as well.
const INTERPRETERS: &[&str] = &["awk", "gawk", "lua", "mawk", "nawk", "node", "perl", "php", "python", "ruby", "vim"];
/// How a text in such a language starts a program.
const CALLS: &[&str] = &[
    "Popen(",
    "call(",
    "check_call(",
    "check_output(",
    "exec(",
    "execSync(",
    "execl(",
    "execlp(",
    "execv(",
    "execvp(",
    "getoutput(",
    "passthru(",
    "popen(",
    "run(",
    "shell_exec(",
    "spawn(",
    "spawnSync(",
    "system(",
    "system ",
    "exec ",
];
/// Switches by which an interpreter is told what to run, so that what it reads is only data.
const TOLD: &[&str] = &["c", "m", "e", "f"];
/// Tests of `find` that make it find less than all.
const FILTERS: &[&str] = &[
    "name",
    "iname",
    "path",
    "ipath",
    "wholename",
    "regex",
    "iregex",
    "size",
    "empty",
    "newer",
    "mtime",
    "mmin",
    "atime",
    "amin",
    "ctime",
    "cmin",
    "user",
    "group",
    "perm",
    "inum",
    "samefile",
];
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
    /// The programs whose output tells it what to do: what it runs, or what it runs on.
    pub fed_by: Vec<String>,
}

/// How much a word stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wide {
    /// A part of something, as far as its letters tell.
    No,
    /// All of where it runs, wherever that is.
    Here,
    /// All of a home, of the system, or a part of the system.
    Places,
}

/// More commands in commands than anybody means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

impl Command {
    /// Whether it is given this switch, in a cluster, by its long name or the beginning of it, or as `find` writes them.
    pub fn has_flag(&self, name: &str) -> bool {
        self.words.iter().any(|word| match (word.strip_prefix("--"), word.strip_prefix('-')) {
            (Some(long), _) => {
                let long = long.split('=').next().unwrap_or_default();
                long == name || long.len() >= ABBREVIATED_MIN && name.starts_with(long)
            }
            (None, Some(short)) if name.chars().count() == 1 => short.contains(name),
            (None, short) => short == Some(name),
        })
    }

    /// The most that one of its words stands for; of its last word nothing counts where that is only where things go.
    pub fn width(&self, home: &str, but_last: bool) -> Wide {
        if self.finds_less_than_all() {
            return Wide::No;
        }
        let plain: Vec<&String> = self.words.iter().filter(|word| !word.starts_with('-')).collect();
        let count = if but_last { plain.len().saturating_sub(1) } else { plain.len() };
        plain[..count].iter().map(|word| width(word, home)).max().unwrap_or(Wide::No)
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

    /// Whether it does what it reads: it is told nothing else to run.
    fn does_what_it_reads(&self) -> bool {
        let is_told = TOLD.iter().any(|flag| self.has_flag(flag));
        !is_told && self.words.iter().all(|word| word.starts_with('-') || word.starts_with('<'))
    }

    /// Whether it is a search that is told what to look for: nothing of it is wide.
    fn finds_less_than_all(&self) -> bool {
        self.program == "find" && FILTERS.iter().any(|filter| self.has_flag(filter))
    }

    /// The words that whoever reads its output is given to work on.
    fn handed_on(&self) -> Vec<String> {
        if self.finds_less_than_all() {
            Vec::new()
        } else {
            self.words.iter().filter(|word| !word.starts_with('-')).cloned().collect()
        }
    }
}

/// What is read in the arguments of an executor.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// What would start.
    pub commands: Vec<Command>,
    /// The words that a shell would put names in the place of.
    pub patterns: Vec<Pattern>,
}

/// The commands among the arguments of an executor: of those that its manifest says are commands, of all where it says
/// nothing.
pub fn given(manifest: &Manifest, args: &Value) -> Result<Given, Unreadable> {
    let role = |name: &str| manifest.arguments.get(name).map(|argument| argument.role);
    let says = manifest.arguments.values().any(|argument| argument.role == Role::Command);
    let values = args.as_object().into_iter().flatten();
    let (lines, texts): (Vec<_>, Vec<_>) =
        values.partition(|(name, _)| if says { role(name) == Some(Role::Command) } else { true });
    let mut found = Found { is_for_shells: true, ..Found::default() };
    for (_, value) in lines {
        of_value(value, &mut found)?;
    }
    // What is typed into a shell is a command, too.
    let is_read_by = |names| found.given.commands.iter().any(|command| is_among(&command.program, names));
    let by_shell = is_read_by(SHELLS);
    if by_shell || is_read_by(INTERPRETERS) {
        found.is_for_shells = by_shell;
        for (_, value) in texts {
            of_value(value, &mut found)?;
        }
    }
    Ok(found.given)
}

/// The programs that an executor lists; `None` where it runs none.
pub fn programs(manifest: &Manifest) -> Option<Vec<&str>> {
    let mut runs = manifest.capabilities.iter().filter(|capability| capability.name == "code:exec").peekable();
    runs.peek()?;
    Some(runs.flat_map(|capability| &capability.hint).map(String::as_str).collect())
}

/// The programs that the arguments name which are commands in words, and those that an option has them start.
pub fn named<'a>(manifest: &'a Manifest, args: &'a Value) -> impl Iterator<Item = &'a str> {
    let commands = manifest.arguments.iter().filter(|(_, argument)| argument.role == Role::Command);
    commands.filter_map(|(name, _)| args.get(name)?.as_array()).flat_map(|words| {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        words.first().copied().into_iter().chain(compressors(&words)).collect::<Vec<_>>()
    })
}

/// The programs that `sort` is to hand what it keeps beside: of its long options, which may be cut short.
fn compressors<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let is_option = |name: &str| name.len() > "--c".len() && "--compress-program".starts_with(name);
    let given = words.iter().enumerate().skip(1).filter_map(|(at, word)| match word.split_once('=') {
        Some((name, value)) => is_option(name).then_some(value),
        None => words.get(at + 1).copied().filter(|_| is_option(word)),
    });
    let is_sort = words.first().is_some_and(|program| program.rsplit('/').next() == Some("sort"));
    given.filter(|_| is_sort).collect()
}

fn of_value(value: &Value, found: &mut Found) -> Result<(), Unreadable> {
    match value {
        Value::String(text) => of_text(text, 0, found),
        Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_string) => {
            let words = items.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            of_words(words, &Source::default(), 0, found)
        }
        Value::Array(items) => items.iter().try_for_each(|item| of_value(item, found)),
        Value::Object(fields) => fields.values().try_for_each(|item| of_value(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// The commands of a text that a shell would read.
fn of_text(text: &str, depth: u32, found: &mut Found) -> Result<(), Unreadable> {
    if depth > DEPTH_MAX {
        return Err(Unreadable);
    }
    if multiplies(text) {
        found.push(Command { program: FORK_BOMB.to_owned(), ..Command::default() })?;
    }
    let mut words = Vec::new();
    let mut source = Source::default();
    let mut redirected = false;
    for token in Tokens::new(text) {
        match token {
            Token::Word(Word { text: word, inner, pattern }) => {
                if found.is_for_shells {
                    found.push_patterns(pattern.patterns()?)?;
                }
                for text in inner {
                    let before = found.given.commands.len();
                    of_text(&text, depth + 1, found)?;
                    source.made_of.extend(found.given.commands[before..].iter().map(|command| command.program.clone()));
                }
                if std::mem::take(&mut redirected) {
                    let program = REDIRECTION.to_owned();
                    found.push(Command { program, words: vec![word], fed_by: Vec::new() })?;
                } else {
                    words.push(word);
                }
            }
            Token::Redirection => redirected = true,
            Token::Pipe | Token::End => {
                let before = found.given.commands.len();
                of_words(std::mem::take(&mut words), &source, depth, found)?;
                source.made_of.clear();
                if matches!(token, Token::Pipe) {
                    source.pipe.extend_from_slice(&found.given.commands[before..]);
                } else {
                    source.pipe.clear();
                }
            }
        }
    }
    Ok(())
}

/// What was read, and how many letters it has: a text that names itself again and again is not read to its end.
#[derive(Default)]
struct Found {
    given: Given,
    bytes: usize,
    /// Whether a shell reads it; nothing else puts names in the place of words.
    is_for_shells: bool,
}

impl Found {
    fn push(&mut self, command: Command) -> Result<(), Unreadable> {
        let texts = command.words.iter().chain(&command.fed_by);
        self.count(texts.map(|text| text.len() + size_of::<String>()).sum::<usize>() + size_of::<Command>())?;
        self.given.commands.push(command);
        Ok(())
    }

    fn push_patterns(&mut self, patterns: Vec<Pattern>) -> Result<(), Unreadable> {
        self.count(patterns.iter().map(|pattern| pattern.len() * size_of::<(char, bool)>()).sum())?;
        self.given.patterns.extend(patterns);
        Ok(())
    }

    fn count(&mut self, bytes: usize) -> Result<(), Unreadable> {
        self.bytes += bytes;
        if self.bytes > READ_BYTES_MAX { Err(Unreadable) } else { Ok(()) }
    }
}

/// Where a command's input comes from.
#[derive(Clone, Default)]
struct Source {
    /// The commands before it in its pipe.
    pipe: Vec<Command>,
    /// The programs that its words are made by.
    made_of: Vec<String>,
}

impl Source {
    fn pipe(&self) -> impl Iterator<Item = String> {
        self.pipe.iter().map(|command| command.program.clone())
    }
}

/// The commands that the words of one stand for: itself, and what it would start.
fn of_words(mut words: Vec<String>, source: &Source, depth: u32, found: &mut Found) -> Result<(), Unreadable> {
    if depth > DEPTH_MAX {
        return Err(Unreadable);
    }
    let is_setting = |word: &String| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
    };
    let begins = words.iter().position(|word| !is_setting(word) && !KEYWORDS.contains(&word.as_str()));
    let settings: Vec<String> = words.drain(..begins.unwrap_or(words.len())).filter(is_setting).collect();
    let Some(first) = words.first() else {
        // What is set for one command alone ends with it.
        if !settings.is_empty() {
            found.push(Command { program: SETTING.to_owned(), words: settings, fed_by: Vec::new() })?;
        }
        return Ok(());
    };
    // One word that is a whole line: somebody takes it for a command.
    if first.trim().contains(char::is_whitespace) {
        let text = first.clone();
        of_text(&text, depth + 1, found)?;
    }
    let program = first.trim().rsplit('/').next().unwrap_or_default().to_owned();
    let mut command = Command { program, words: words.split_off(1), fed_by: source.made_of.clone() };
    if is_among(&command.program, SHELLS) {
        of_shell(&mut command, source, depth, found)?;
    } else if is_among(&command.program, INTERPRETERS) {
        if command.does_what_it_reads() {
            command.fed_by.extend(source.pipe());
        }
        for word in &command.words {
            of_program_text(word, depth, found)?;
        }
    } else if is_among(&command.program, STARTERS) {
        let mut given = command.words.clone();
        if matches!(command.program.as_str(), "xargs" | "parallel") {
            given.extend(source.pipe.iter().flat_map(Command::handed_on));
        }
        started(&given, source, depth, found)?;
        let lines = command.words.iter().filter(|word| word.contains(char::is_whitespace));
        for line in lines.filter(|_| is_among(&command.program, OF_LINES)) {
            of_text(line, depth + 1, found)?;
        }
    }
    match command.program.as_str() {
        "find" => of_find(&mut command, depth, found)?,
        "trap" | "alias" => {
            for word in &command.words {
                of_text(word.split_once('=').map_or(word.as_str(), |(_, value)| value), depth + 1, found)?;
            }
        }
        "" => command.fed_by.extend(source.pipe()),
        _ => {}
    }
    found.push(command)
}

/// What a shell is told to do, or reads.
fn of_shell(command: &mut Command, source: &Source, depth: u32, found: &mut Found) -> Result<(), Unreadable> {
    let line: Vec<&str> = command.words.iter().map(String::as_str).skip_while(|word| word.starts_with('-')).collect();
    of_text(&line.join(" "), depth + 1, found)?;
    for word in command.words.iter().filter(|word| word.contains(|c: char| c.is_whitespace() || "|;&$`>".contains(c))) {
        of_text(word, depth + 1, found)?;
    }
    if command.does_what_it_reads() {
        command.fed_by.extend(source.pipe());
        for printed in source.pipe.iter().filter(|before| PRINTERS.contains(&before.program.as_str())) {
            of_text(&printed.words.join(" "), depth + 1, found)?;
        }
    }
    Ok(())
}

/// What a text in another language starts: what stands in the brackets of a call, as a line and as a list of words.
fn of_program_text(text: &str, depth: u32, found: &mut Found) -> Result<(), Unreadable> {
    let calls = CALLS.iter().flat_map(|call| text.match_indices(call).map(|(at, call)| at + call.len()));
    let piped = text.match_indices("| \"").map(|(at, sign)| at + sign.len() - 1);
    for start in calls.chain(piped) {
        let rest = &text[start..];
        let inside = rest.split([')', ';', '\n']).next().unwrap_or(rest);
        for piece in inside.split(['"', '\'', '`']).skip(1).step_by(2) {
            of_text(piece, depth + 1, found)?;
        }
        let plain = inside.replace(['"', '\'', '`', '(', '[', ']', '{', '}', ','], " ");
        of_words(plain.split_whitespace().map(str::to_owned).collect(), &Source::default(), depth + 1, found)?;
    }
    Ok(())
}

/// What `find` does to what it finds; where it is told no place, it looks through where it runs.
fn of_find(command: &mut Command, depth: u32, found: &mut Found) -> Result<(), Unreadable> {
    let is_place = |word: &&String| !word.starts_with('-') && !matches!(word.as_str(), "(" | "!");
    let mut places: Vec<String> = command.words.iter().take_while(is_place).cloned().collect();
    if places.is_empty() {
        places.push(".".to_owned());
        command.words.insert(0, ".".to_owned());
    }
    if command.finds_less_than_all() {
        places = vec!["{}".to_owned()];
    }
    let executes = |word: &str| matches!(word, "-exec" | "-execdir" | "-ok" | "-okdir");
    for at in (0..command.words.len()).filter(|at| executes(&command.words[*at])) {
        let line = command.words[at + 1..].iter().take_while(|word| !matches!(word.as_str(), ";" | "+"));
        let filled = line.flat_map(|word| if word == "{}" { places.clone() } else { vec![word.clone()] });
        let by_find = Source { pipe: Vec::new(), made_of: vec![command.program.clone()] };
        of_words(filled.collect(), &by_find, depth + 1, found)?;
    }
    Ok(())
}

/// What a program would start that is given these words: the first that is no switch, and the next one too where it may be the
/// value of a switch.
fn started(words: &[String], source: &Source, depth: u32, found: &mut Found) -> Result<(), Unreadable> {
    if words.len() > WORDS_MAX {
        return Err(Unreadable);
    }
    let is_value_of = |before: &str| before.starts_with('-') && before.len() == 2 || before.starts_with("--");
    let is_amount = |word: &str| word.trim_end_matches(['s', 'm', 'h', 'd', '%', 'k', 'M', 'G']).parse::<f64>().is_ok();
    let mut before = "";
    for (at, word) in words.iter().enumerate() {
        let is_own =
            word.starts_with('-') || is_amount(word) || word.contains('=') && !word.contains(char::is_whitespace);
        if !is_own {
            of_words(words[at..].to_vec(), source, depth + 1, found)?;
            if !is_value_of(before) {
                break;
            }
        }
        before = word;
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
    let squeezed = squeezed.replace("(){", "{").replace('{', "(){");
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

fn width(word: &str, home: &str) -> Wide {
    // One folder with all that it holds, however that is written.
    const ALL: [&str; 5] = ["/*", "/.*", "/**", "/{*,.*}", "/."];
    let mut all = word.trim_end_matches('/');
    while let Some(less) = ALL.iter().find_map(|end| all.strip_suffix(end)) {
        all = less.trim_end_matches('/');
    }
    let is_root = all.is_empty() && word.starts_with('/') || all.starts_with("{/");
    if is_root || matches!(all, "/home" | "/root" | "/Users") {
        return Wide::Places;
    }
    if all.is_empty() || all.split('/').all(|part| is_any(part) || matches!(part, "." | "..")) || all == "~+" {
        return Wide::Here;
    }
    if all.starts_with('~') && !all.contains('/') {
        return Wide::Places;
    }
    let path = at_home(all, home);
    if !path.starts_with('/') || HARMLESS_DEVICES.contains(&all) || all.starts_with("/dev/fd/") {
        return Wide::No;
    }
    let path = core_paths::lexical(std::path::Path::new(&path));
    let path = path.to_string_lossy();
    let is_of_the_system =
        core_paths::protected_from_change(&path).is_some() && !core_paths::is_within(&path, "/var/tmp");
    // What matches many names below the root or a home is as good as all of them.
    let (above, last) = path.rsplit_once('/').unwrap_or_default();
    let is_glob = above.is_empty() && last.contains(['*', '?', '[', '{']) || above == home && is_any(last);
    if is_of_the_system || is_glob || core_paths::is_within(home, &path) { Wide::Places } else { Wide::No }
}

/// Whether a name stands for any name: it has no letter of its own.
fn is_any(part: &str) -> bool {
    let outside = part.split('[').enumerate().map(|(place, piece)| match place {
        0 => piece,
        _ => piece.split_once(']').map_or(piece, |(_, rest)| rest),
    });
    part.contains(['*', '?', '[']) && outside.flat_map(str::chars).all(|sign| matches!(sign, '*' | '?' | '.' | '!'))
}

#[cfg(test)]
mod tests;
