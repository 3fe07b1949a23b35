//! What commands print: results on stdout, the rest on stderr, errors as `error:` and `hint:`.

use std::borrow::Cow;
use std::error::Error;

use serde::Serialize;
use serde_json::json;

use super::console::{self, Stream};
use super::fit::{self, Lines};
use crate::config::ConfigError;
use crate::config::credentials::CredentialError;
use crate::engine::EngineError;
use crate::export::audit::ExportError;
use crate::instance::InstanceError;
use crate::loader::InstallError;
use crate::sandbox::SandboxError;
use metnos_log::OpenError;
use metnos_log::store::ReadError;
use metnos_projections::visible;

pub(super) use crate::why::{plain, short};

/// Why a command ends otherwise than well.
#[derive(Debug)]
pub(super) struct Failure {
    /// The exit code.
    pub code: u8,
    message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// Whether a daemon has the log, which can carry the command out.
    pub is_served: bool,
}

impl Failure {
    /// Refused or not found.
    pub(super) fn refused(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code: 1, message: message.into(), hint: Some(hint.into()), is_served: false }
    }

    /// Wrong usage.
    pub(super) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code: 2, message: message.into(), hint: Some(hint.into()), is_served: false }
    }

    /// Something failed that the person cannot mend by another command.
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self { code: 2, message: message.into(), hint: None, is_served: false }
    }

    /// Something failed; the hint says how to find out what was done.
    pub(super) fn failed(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code: 2, message: message.into(), hint: Some(hint.into()), is_served: false }
    }

    /// A daemon has the log. Only told where it goes away again before it has taken the command.
    pub(super) fn served() -> Self {
        let hint = "run it again: either the daemon takes it, or the log is free";
        Self { is_served: true, ..Self::failed("a daemon has the log and does not take the command", hint) }
    }

    /// A person is needed and none is there.
    pub(super) fn needs_person(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code: 3, message: message.into(), hint: Some(hint.into()), is_served: false }
    }

    /// The person, or the system, ended the command.
    pub(super) fn interrupted() -> Self {
        Self { code: super::interrupt::code(), message: "interrupted".to_owned(), hint: None, is_served: false }
    }

    /// An error with its causes.
    fn of(error: &dyn Error, hint: Option<&str>) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !message.contains(&text) {
                message.push_str(": ");
                message.push_str(&text);
            }
            cause = error.source();
        }
        Self { code: 2, message, hint: hint.map(str::to_owned), is_served: false }
    }

    /// Prints it on stderr; with `json` also as an object on stdout.
    pub(super) fn print(&self, json: bool) {
        aside(&format!("error: {}", self.message));
        if let Some(hint) = &self.hint {
            aside(&format!("hint: {hint}"));
        }
        if json {
            result_json(&json!({ "ok": false, "error": self.message, "hint": self.hint, "exit": self.code }));
        }
    }
}

impl From<InstanceError> for Failure {
    fn from(error: InstanceError) -> Self {
        let hint = match &error {
            InstanceError::Log(OpenError::Busy { .. }) => "wait for the other command to finish, then run this again",
            InstanceError::Log(OpenError::Newer { .. }) => {
                "run the newer metnos that wrote this log; nothing was changed"
            }
            InstanceError::Log(OpenError::Damaged { .. }) => {
                "keep the file; nothing was changed. Copy it elsewhere before you try anything"
            }
            InstanceError::Log(OpenError::Io { .. }) | InstanceError::Dirs(_) => {
                "choose a folder that you can write to: metnos --home DIR …, or see metnos doctor"
            }
            InstanceError::Config(error) => return Self::of(error, Some(&error.next_step())),
            InstanceError::Key(crate::signing::KeyError::Exposed { .. }) => "make it private: chmod 600 on that file",
            InstanceError::Key(_) => "restore the key from your backup; without it this instance cannot sign",
            InstanceError::Credentials(_) => "restore the file that belongs to this instance's key",
            InstanceError::ForeignKey { .. } => "restore config/keys from your backup; nothing was changed",
            InstanceError::LogLost { .. } => {
                "restore the log from your backup; to begin anew, move the workspace's executors folder away first"
            }
            InstanceError::DiskFull { .. } => "free some space; nothing was lost",
            InstanceError::Read(_) => "run metnos log verify",
            InstanceError::Append(_) => "run the command again: what is on disk is known after reopening",
        };
        Self::of(&error, Some(hint))
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Instance(error) => error.into(),
            other => Self::of(&other, Some("run metnos log verify; what was acknowledged is not lost")),
        }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::of(&error, Some("run metnos log verify"))
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::of(&error, Some(&error.next_step()))
    }
}

impl From<CredentialError> for Failure {
    fn from(error: CredentialError) -> Self {
        Self::of(&error, None)
    }
}

impl From<SandboxError> for Failure {
    fn from(error: SandboxError) -> Self {
        Self::of(&error, Some("metnos doctor says what is missing"))
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        Self::of(&error, None)
    }
}

impl From<InstallError> for Failure {
    fn from(error: InstallError) -> Self {
        let code = if matches!(error, InstallError::Instance(_) | InstallError::Sandbox(_)) { 2 } else { 1 };
        Self { code, ..Self::of(&error, Some("mend the executor's files, then run metnos executor check DIR")) }
    }
}

/// A result for people.
pub(super) fn result(text: &str) {
    write_line(text);
}

/// An answer to a person: at a terminal it fits its width, piped it stays as it is.
pub(super) fn answer(text: &str, lines: Lines) {
    match console::current().columns(Stream::Out) {
        // Tabs are as wide as where they stand; they come as blanks before anything is measured.
        Some(columns) => write_line(&fit::fit(&text.replace('\t', "    "), columns, lines)),
        None => write_line(text),
    }
}

/// A result for programs: one JSON value on a line.
pub(super) fn result_json(value: &impl Serialize) {
    let text = serde_json::to_string(value)
        .unwrap_or_else(|error| json!({ "ok": false, "error": error.to_string() }).to_string());
    json_text(&text);
}

/// A result for programs that is JSON text already.
pub(super) fn json_text(text: &str) {
    write_bytes(&in_ascii_orders(text));
}

/// JSON leaves some control characters as they are (`DEL`, C1); written as `\u009b` they mean the same to a program and
/// nothing to a terminal.
fn in_ascii_orders(json: &str) -> Cow<'_, str> {
    let is_left = |sign: char| sign.is_control() && sign != '\n';
    if !json.contains(is_left) {
        return Cow::Borrowed(json);
    }
    let written = |sign: char| if is_left(sign) { format!("\\u{:04x}", u32::from(sign)) } else { sign.to_string() };
    Cow::Owned(json.chars().map(written).collect())
}

/// What was read for a person: at a terminal as an answer, piped with every byte as it was read.
pub(super) fn content(text: &str) {
    if console::current().is_terminal(Stream::Out) {
        answer(text, Lines::Text);
    } else {
        write_bytes(text);
    }
}

/// Something that is not the result.
pub(super) fn aside(text: &str) {
    write_aside(&format!("{}\n", visible::text(text)));
}

/// Writes to stderr without a line's end; a terminal that is gone is no error.
pub(super) fn write_aside(text: &str) {
    console::current().write(Stream::Err, text.as_bytes()).ok();
}

/// What a terminal would obey is written out, for whoever shows it in the end: `metnos … | less -R` obeys too.
fn write_line(text: &str) {
    write_bytes(&visible::text(text));
}

/// A reader that went away (`| head`) is no error of ours.
fn write_bytes(text: &str) {
    let console = console::current();
    let written = if text.ends_with('\n') {
        console.write(Stream::Out, text.as_bytes())
    } else {
        console.write(Stream::Out, format!("{text}\n").as_bytes())
    };
    if written.is_err() {
        console::leave();
    }
}

/// Rows under headings, padded to the widest cell of each column.
pub(super) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([headings[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let line = |cells: Vec<&str>| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines = vec![line(headings.to_vec())];
    lines.extend(rows.iter().map(|row| line(row.iter().map(String::as_str).collect())));
    lines.join("\n")
}

/// A moment for people: local to the zone, to the second.
pub(super) fn moment(micros: i64, zone: &str) -> String {
    let time = jiff::Timestamp::from_microsecond(micros).unwrap_or_default();
    let zone = jiff::tz::TimeZone::get(zone).unwrap_or(jiff::tz::TimeZone::UTC);
    time.to_zoned(zone).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_means_the_same_and_gives_no_orders() {
        let value = json!({ "name": "a\u{1b}[31m\n\u{7f}\u{9b}é" });
        let text = serde_json::to_string(&value).unwrap();
        let shown = in_ascii_orders(&text);
        assert!(!shown.contains(char::is_control), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
