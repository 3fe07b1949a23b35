//! What cannot be parsed: a sentence that was typed without `ask`, or without quotes, is told how it goes; everything else
//! is left to clap, with its «did you mean».
//!
//! Nothing is guessed and run: the line is shown for the person to type.

use std::error::Error as _;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use metnos_projections::as_word;
use metnos_projections::messages::Language;
use serde_json::json;

use super::Cli;
use super::output::{Failure, by};
use crate::config::Variables;

/// Options that a sentence may come with, those with a value of their own last.
const PLAIN: [&str; 3] = ["--json", "--quiet", "--yes"];
const VALUED: [&str; 5] = ["--home", "--lang", "--at", "--approve", "--engine"];

/// Tells the person what was wrong with the command line; the exit code.
pub(super) fn told(error: &clap::Error, words: &[OsString]) -> ExitCode {
    let Some(failure) = sentence_alone(error, words).or_else(|| no_number(error)) else {
        let code = u8::try_from(error.exit_code()).unwrap_or(2);
        // A terminal that is gone is no error of ours.
        error.print().ok();
        return ExitCode::from(code);
    };
    failure.print(words.iter().any(|word| word == "--json"), language(words), None);
    ExitCode::from(failure.code)
}

/// The language of a command line that says no more than its words.
fn language(words: &[OsString]) -> Language {
    let Split { options, .. } = split(words);
    let mut given = options.iter().skip_while(|option| *option != "--lang").skip(1);
    let joined = || options.iter().find_map(|option| option.strip_prefix("--lang="));
    let variables = Variables::read();
    let said = given.next().map(String::as_str).or_else(joined).map(str::to_owned);
    said.or(variables.language).or(variables.locale).and_then(|said| Language::parse(&said)).unwrap_or_default()
}

/// The words of a command line: options, and the rest.
struct Split {
    options: Vec<String>,
    rest: Vec<String>,
}

fn split(words: &[OsString]) -> Split {
    let mut split = Split { options: Vec::new(), rest: Vec::new() };
    let mut words = words.iter().skip(1).map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name).to_owned();
        if word == "--" {
            split.rest.extend(words.by_ref());
        } else if PLAIN.contains(&word.as_str()) || (VALUED.contains(&name.as_str()) && word.contains('=')) {
            split.options.push(as_word(&word));
        } else if VALUED.contains(&name.as_str()) {
            split.options.push(word);
            split.options.extend(words.next().map(|value| as_word(&value)));
        } else {
            split.rest.push(word);
        }
    }
    split
}

/// What to say of a sentence that stands where a command should, or behind `ask` in several words.
fn sentence_alone(error: &clap::Error, words: &[OsString]) -> Option<Failure> {
    let Split { options, rest } = split(words);
    let first = rest.first()?;
    let meant = meant(error, first);
    let (verb, message, said) = match error.kind() {
        ErrorKind::InvalidSubcommand if named(error, ContextKind::InvalidSubcommand).as_ref() == Some(first) => {
            let is_word = rest.len() == 1 && !first.contains(char::is_whitespace);
            if first.trim().is_empty() || (is_word && named(error, ContextKind::SuggestedSubcommand).is_some()) {
                return None;
            }
            let message = ("error.no_command", json!({ "word": super::output::short(first, 60) })).into();
            match meant.as_deref().filter(|_| rest.len() > 1) {
                Some("ask") => ("ask", message, &rest[1..]),
                Some("plan") => ("plan", message, &rest[1..]),
                _ => ("ask", message, rest.as_slice()),
            }
        }
        ErrorKind::UnknownArgument if matches!(first.as_str(), "ask" | "plan") && rest.len() > 2 => {
            (first.as_str(), by("error.one_argument"), &rest[1..])
        }
        _ => return None,
    };
    let mut line = vec!["metnos".to_owned(), verb.to_owned()];
    line.extend(options);
    line.push(as_word(&joined(said)));
    let meant = meant.filter(|meant| meant != verb);
    Some(Failure::usage(message, ("next.sentence", json!({ "line": line.join(" "), "meant": meant }))))
}

/// What to say of a value that is no number where one must be: what the library says of it is for programmers.
fn no_number(error: &clap::Error) -> Option<Failure> {
    error.source()?.downcast_ref::<std::num::ParseIntError>()?;
    let [argument, value] = [ContextKind::InvalidArg, ContextKind::InvalidValue].map(|kind| named(error, kind));
    let values = json!({ "argument": argument?, "value": super::output::short(&value?, 60) });
    Some(Failure::usage(("error.no_number", values), by("next.number")))
}

fn named(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(name) => Some(name.clone()),
        ContextValue::Strings(names) => names.first().cloned(),
        _ => None,
    }
}

/// The command that a word comes close to: clap's guess, or one of the same letters, which clap does not see in short ones.
fn meant(error: &clap::Error, word: &str) -> Option<String> {
    let letters = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    let same = || {
        let command = Cli::command();
        let mut names = command.get_subcommands().map(|command| command.get_name().to_owned());
        names.find(|name| letters(name) == letters(word))
    };
    named(error, ContextKind::SuggestedSubcommand).or_else(same)
}

/// One sentence of several words; a word that had blanks keeps its ends.
fn joined(words: &[String]) -> String {
    let [word] = words else {
        let whole = |word: &String| {
            let has_blanks = word.contains(char::is_whitespace) && !word.contains('"');
            if has_blanks { format!("\"{word}\"") } else { word.clone() }
        };
        return words.iter().map(whole).collect::<Vec<_>>().join(" ");
    };
    word.clone()
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use metnos_projections::messages::Messages;

    use super::*;

    fn failure(line: &[&str]) -> Option<Failure> {
        let words: Vec<OsString> = ["metnos"].iter().chain(line).map(OsString::from).collect();
        sentence_alone(&Cli::try_parse_from(&words).err()?, &words)
    }

    #[track_caller]
    fn goes(line: &[&str], expected: &str) {
        let failure = failure(line).expect("it is taken for a sentence");
        assert_eq!(failure.code, 2);
        let hint = failure.next_step(&Messages::embedded(), Language::En);
        assert!(hint.is_some_and(|hint| hint.contains(expected)), "{failure:?}");
    }

    #[test]
    fn a_sentence_is_shown_with_ask_and_quotes() {
        goes(&["what is in ~/a.txt"], "metnos ask 'what is in ~/a.txt'");
        goes(&["leggi", "/home/o/a.txt"], "metnos ask 'leggi /home/o/a.txt'");
        goes(
            &["--home", "/x y", "read", "my file.txt", "--json"],
            "metnos ask --home '/x y' --json 'read \"my file.txt\"'",
        );
        goes(&["what's in a.txt"], r"metnos ask 'what'\''s in a.txt'");
        goes(&["read $HOME/`a`\n"], r"metnos ask $'read $HOME/`a`\n'");
        goes(&["ask", "read", "a.txt"], "metnos ask 'read a.txt'");
        goes(&["plan", "read", "a.txt"], "metnos plan 'read a.txt'");
        goes(&["ciao"], "metnos ask ciao");
    }

    #[test]
    fn a_command_with_a_typo_is_not_a_sentence() {
        for line in [["stauts"].as_slice(), &["--json", "stauts"], &["turn", "lsit"], &["", ""], &["ask"], &["log"]] {
            assert!(failure(line).is_none(), "{line:?}");
        }
        goes(&["aks", "what time is it"], "metnos ask 'what time is it'");
        // Both readings are named where several words leave it open.
        goes(&["create", "a", "folder"], "metnos ask 'create a folder'");
        goes(&["statsu", "of", "the", "disk"], "did you mean the command metnos status?");
    }

    #[test]
    fn a_shell_reads_back_what_was_meant() {
        for word in [
            "/home/owner/.metnos",
            "",
            "my home",
            "it's",
            "two\nlines",
            "$HOME `a` \"b\" \\",
            "casa/perché",
            "~",
            "#1",
            "*",
        ] {
            let said =
                std::process::Command::new("bash").args(["-c", &format!("printf %s {}", as_word(word))]).output();
            assert_eq!(String::from_utf8(said.unwrap().stdout).unwrap(), word);
        }
        assert_eq!(as_word("/home/owner/.metnos"), "/home/owner/.metnos");
        assert_eq!(as_word("my home"), "'my home'");
    }
}
