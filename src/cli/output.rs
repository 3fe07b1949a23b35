//! What commands print: results on stdout, the rest on stderr, errors as `error:` and `hint:`.

use std::borrow::Cow;
use std::error::Error;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use super::console::{self, Stream};
use super::fit::{self, Lines};
use super::{place, typed};
use crate::ageing::AgeingError;
use crate::cause;
use crate::config::ConfigError;
use crate::config::credentials::CredentialError;
use crate::config::dirs::DirsError;
use crate::config::settings::Source;
use crate::engine::EngineError;
use crate::export::audit::ExportError;
use crate::instance::{InstanceError, closed_folder};
use crate::loader::{InstallError, SignerError};
use crate::sandbox::SandboxError;
use crate::signing::KeyError;
use metnos_log::store::{ReadError, refusal};
use metnos_log::{AppendError, OpenError};
use metnos_projections::machines::catalog::Rejection;
use metnos_projections::messages::{Language, Messages};
use metnos_projections::visible;

pub(super) use crate::why::{plain, short};

/// What a person is told: a text by its key in `prompts/*/messages.toml`, or one that is the same in every language (a
/// command line, what a library said).
#[derive(Debug)]
pub(super) enum Said {
    Plain(String),
    Keyed(&'static str, Value),
}

/// The text of a key that takes no values.
pub(super) const fn by(key: &'static str) -> Said {
    Said::Keyed(key, Value::Null)
}

impl Said {
    /// In one language.
    fn in_language(&self, messages: &Messages, language: Language) -> String {
        match self {
            Self::Plain(text) => text.clone(),
            Self::Keyed(key, values) => messages.say(language, key, values),
        }
    }
}

impl From<String> for Said {
    fn from(text: String) -> Self {
        Self::Plain(text)
    }
}

impl From<&str> for Said {
    fn from(text: &str) -> Self {
        Self::Plain(text.to_owned())
    }
}

impl From<(&'static str, Value)> for Said {
    fn from((key, values): (&'static str, Value)) -> Self {
        Self::Keyed(key, values)
    }
}

/// Why a command ends otherwise than well.
#[derive(Debug)]
pub(super) struct Failure {
    /// The exit code.
    pub code: u8,
    message: Said,
    /// What to do next.
    hint: Option<Said>,
    /// Whether a daemon has the log, which can carry the command out.
    pub is_served: bool,
    /// Whether it is a question that waits for a person, and nothing went wrong.
    is_question: bool,
}

impl Failure {
    /// Refused or not found.
    pub(super) fn refused(message: impl Into<Said>, hint: impl Into<Said>) -> Self {
        Self { code: 1, message: message.into(), hint: Some(hint.into()), is_served: false, is_question: false }
    }

    /// Wrong usage.
    pub(super) fn usage(message: impl Into<Said>, hint: impl Into<Said>) -> Self {
        Self { code: 2, ..Self::refused(message, hint) }
    }

    /// Something failed that the person cannot mend by another command.
    pub(super) fn internal(message: impl Into<Said>) -> Self {
        Self { code: 2, message: message.into(), hint: None, is_served: false, is_question: false }
    }

    /// Something failed; the hint says how to find out what was done.
    pub(super) fn failed(message: impl Into<Said>, hint: impl Into<Said>) -> Self {
        Self::usage(message, hint)
    }

    /// A daemon has the log. Only told where it goes away again before it has taken the command.
    pub(super) fn served() -> Self {
        Self { is_served: true, ..Self::failed(by("error.daemon_deaf"), by("next.daemon_or_log")) }
    }

    /// A person is needed and none is there.
    pub(super) fn needs_person(message: impl Into<Said>, hint: impl Into<Said>) -> Self {
        Self { code: 3, ..Self::refused(message, hint) }
    }

    /// A question that nobody was there to answer.
    pub(super) fn unanswered(question: impl Into<Said>) -> Self {
        Self { is_question: true, ..Self::needs_person(question, by("next.terminal_or_yes")) }
    }

    /// The person, or the system, ended the command.
    pub(super) fn interrupted() -> Self {
        Self { code: super::interrupt::code(), ..Self::internal(by("error.interrupted")) }
    }

    /// The same with another next step.
    pub(super) fn with_hint(self, hint: impl Into<Said>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// An error with its causes.
    pub(super) fn of(error: &dyn Error, hint: Option<Said>) -> Self {
        Self { code: 2, message: causes(error).into(), hint, is_served: false, is_question: false }
    }

    /// What was printed went nowhere.
    pub(super) fn unwritten(error: &io::Error) -> Self {
        let values = json!({ "reason": cause::plain(error) });
        Self::failed(("error.output_unwritten", values), remedy(error, None, by("next.other_output")))
    }

    /// What to do next, in one language.
    pub(super) fn next_step(&self, messages: &Messages, language: Language) -> Option<String> {
        self.hint.as_ref().map(|hint| hint.in_language(messages, language))
    }

    /// Prints it where nothing else can be printed; the exit code.
    pub(super) fn told_aside(&self, language: Language, home: Option<&Path>) -> u8 {
        self.print(false, language, home);
        self.code
    }

    /// Prints it on stderr; with `json` also as an object on stdout. `home` is the one that the command line named.
    pub(super) fn print(&self, json: bool, language: Language, home: Option<&Path>) {
        let messages = Messages::embedded();
        let message = self.message.in_language(&messages, language);
        let hint = self.next_step(&messages, language).map(|hint| typed::for_home(&hint, home));
        aside(&format!("{}: {message}", if self.is_question { "question" } else { "error" }));
        if let Some(hint) = &hint {
            aside(&format!("hint: {hint}"));
        }
        if json {
            result_json(&json!({ "ok": false, "error": message, "hint": hint, "exit": self.code }));
        }
    }
}

impl From<InstanceError> for Failure {
    fn from(error: InstanceError) -> Self {
        let hint = match &error {
            InstanceError::Log(OpenError::Busy { .. }) => "next.other_command",
            InstanceError::Log(OpenError::Away { .. }) => "next.log_away",
            InstanceError::Log(OpenError::Unrestored { .. }) => "next.restore_again",
            InstanceError::Log(OpenError::Newer { .. }) => "next.newer",
            InstanceError::Log(OpenError::Damaged { .. }) => "next.salvage",
            InstanceError::Log(OpenError::Io { path, .. }) => {
                let is_refused = refusal(&error).is_some_and(|said| said.kind() == io::ErrorKind::PermissionDenied);
                if let Some((message, hint)) = is_refused.then(|| place::not_writable(path)).flatten() {
                    return Self::failed(message, hint);
                }
                let hint = others(&error, path, "next.others_log")
                    .unwrap_or_else(|| remedy(&error, Some(path), by("next.choose_home")));
                return Self::of(&error, Some(hint));
            }
            InstanceError::Closed { folder } => return place::closed(folder),
            InstanceError::NoFile { path } => {
                return place::no_file(path).unwrap_or_else(|| Self::of(&error, Some(by("next.log_place"))));
            }
            InstanceError::Dirs(DirsError::Create { path, .. }) if closed_folder(path).is_some() => {
                return place::closed(&closed_folder(path).unwrap_or_default());
            }
            InstanceError::Dirs(DirsError::Create { path, .. }) if seen(path).is_symlink() && !seen(path).exists() => {
                let to = std::fs::read_link(seen(path)).unwrap_or_default();
                return Self::failed(
                    ("error.link_to_nothing", json!({ "path": seen(path), "to": to })),
                    by("next.disk_there"),
                );
            }
            InstanceError::Dirs(DirsError::Create { path, .. }) if !seen(path).is_dir() => {
                return Self::of(&error, Some(("next.in_the_way", json!({ "path": seen(path) })).into()));
            }
            InstanceError::Dirs(_) => "next.choose_home",
            InstanceError::Config(error) => return Self::of(error, Some(error.next_step())),
            InstanceError::Key(KeyError::Exposed { .. }) => "next.private_key",
            InstanceError::Key(KeyError::Io { path, source }) if source.kind() == io::ErrorKind::PermissionDenied => {
                return Self::of(&error, Some(not_permitted(Some(path))));
            }
            InstanceError::Key(_) => "next.restore_key",
            InstanceError::Credentials(_) => "next.restore_credentials",
            InstanceError::ForeignKey { .. } => "next.restore_keys",
            InstanceError::LogLost { .. } => "next.restore_log",
            InstanceError::DiskFull { .. } => "next.free_space",
            InstanceError::Read(ReadError::Archive { .. }) => "next.archive_back",
            InstanceError::Read(read) => return Self::of(&error, Some(remedy(read, None, by("next.verify_log")))),
            InstanceError::Append(AppendError::TakenAway { .. }) => "next.put_log_back",
            InstanceError::Append(_) => "next.after_reopening",
        };
        Self::of(&error, Some(by(hint)))
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Instance(error) => error.into(),
            EngineError::Append(error @ AppendError::TakenAway { .. }) => InstanceError::from(error).into(),
            other => Self::of(&other, Some(by("next.verify_nothing_lost"))),
        }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        let hint = if matches!(error, ReadError::Archive { .. }) { "next.archive_back" } else { "next.verify_log" };
        Self::of(&error, Some(remedy(&error, None, by(hint))))
    }
}

impl ConfigError {
    /// What to do about it.
    fn next_step(&self) -> Said {
        match self {
            Self::Value { key, from: Source::Environment, .. } => {
                let variable = format!("METNOS_{}", key.replace('.', "_").to_uppercase());
                ("next.unset", json!({ "name": variable })).into()
            }
            Self::Value { from: Source::Flag, .. } => by("next.flags"),
            Self::Value { key, .. } => ("next.set_setting", json!({ "key": key })).into(),
            Self::File(_) | Self::Io { .. } => by("next.correct_file"),
            Self::Unknown { .. } => by("next.settings"),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::of(&error, Some(error.next_step()))
    }
}

impl From<CredentialError> for Failure {
    fn from(error: CredentialError) -> Self {
        Self::of(&error, None)
    }
}

impl From<SandboxError> for Failure {
    fn from(error: SandboxError) -> Self {
        Self::of(&error, Some(by("next.doctor")))
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        let hint = match &error {
            ExportError::Read(_) => remedy(&error, None, by("next.verify_log")),
            ExportError::Io { path, .. } => remedy(&error, Some(path), by("next.writable_folder")),
        };
        Self::of(&error, Some(hint))
    }
}

impl From<AgeingError> for Failure {
    fn from(error: AgeingError) -> Self {
        match error {
            AgeingError::Install(error) => error.into(),
            other => Self::of(&other, Some(by("next.verify_log"))),
        }
    }
}

impl From<SignerError> for Failure {
    fn from(error: SignerError) -> Self {
        let (key, values) = match error {
            SignerError::Malformed => ("error.signature_malformed", json!({})),
            SignerError::Differs { file, .. } => ("error.signature_differs", json!({ "file": file })),
            SignerError::Revoked { key_id, reason } => {
                ("error.signature_revoked", json!({ "key": key_id, "reason": reason }))
            }
            SignerError::NotAdmitted => {
                return Self::refused(by("error.signature_not_admitted"), by("next.admit_signer"));
            }
        };
        Self::refused((key, values), by("next.sign_it_here"))
    }
}

impl From<InstallError> for Failure {
    fn from(error: InstallError) -> Self {
        let error = match error {
            InstallError::Signer(error) => return error.into(),
            other => other,
        };
        let code = if matches!(error, InstallError::Instance(_) | InstallError::Sandbox(_)) { 2 } else { 1 };
        let is_mended = !matches!(
            error,
            InstallError::Rejected(
                Rejection::NoWay { .. }
                    | Rejection::NoVersion { .. }
                    | Rejection::Tainted { .. }
                    | Rejection::Builtin { .. }
                    | Rejection::Unknown { .. }
                    | Rejection::AlreadyActive { .. }
            )
        );
        let next = if is_mended { "next.mend_executor" } else { "next.life_cycle" };
        Self { code, ..Self::of(&error, Some(by(next))) }
    }
}

/// What helps where the system refused for want of room or of rights; elsewhere, what usually does.
pub(super) fn remedy(error: &(dyn Error + 'static), path: Option<&Path>, usual: Said) -> Said {
    use io::ErrorKind::{FileTooLarge, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    match refusal(error).map(io::Error::kind) {
        Some(StorageFull | QuotaExceeded | FileTooLarge) => by("next.make_room"),
        Some(PermissionDenied) => not_permitted(path),
        Some(ReadOnlyFilesystem) => by("next.read_only"),
        _ => usual,
    }
}

/// What helps where something may not be read or written: whose it is, or how it is marked.
fn not_permitted(path: Option<&Path>) -> Said {
    let path = path.map(seen);
    let own = rustix::process::geteuid().as_raw();
    let is_own = path.and_then(|path| path.symlink_metadata().ok()).is_some_and(|found| found.uid() == own);
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let folder = path.and_then(Path::parent).filter(|_| is_own).map(text);
    ("next.not_permitted", json!({ "path": path.map(text), "folder": folder })).into()
}

/// The same where what is refused belongs to somebody else.
fn others(error: &(dyn Error + 'static), path: &Path, hint: &'static str) -> Option<Said> {
    let is_refused = refusal(error).is_some_and(|said| said.kind() == io::ErrorKind::PermissionDenied);
    is_refused.then(|| (hint, json!({ "path": seen(path) })).into())
}

/// As much of a path as can be looked at.
fn seen(path: &Path) -> &Path {
    path.ancestors().find(|path| path.symlink_metadata().is_ok()).unwrap_or(path)
}

/// An error with what led to it, in one line, without the numbers that the system has for errors.
pub(super) fn causes(error: &dyn Error) -> String {
    let mut message = cause::plain(&error);
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = cause::plain(&error);
        if !message.contains(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        cause = error.source();
    }
    message
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

/// Whole lines of an export: piped with every byte as it is, at a terminal without anything that it would obey.
pub(super) fn exported(text: &str, is_json: bool) {
    match (console::current().is_terminal(Stream::Out), is_json) {
        (false, _) => write_bytes(text),
        (true, true) => json_text(text),
        (true, false) => write_line(text.trim_end_matches("\r\n")),
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

/// A reader that went away (`| head`) is no error of ours; a disk that is full is.
fn write_bytes(text: &str) {
    let console = console::current();
    let written = if text.ends_with('\n') {
        console.write(Stream::Out, text.as_bytes())
    } else {
        console.write(Stream::Out, format!("{text}\n").as_bytes())
    };
    if let Err(error) = written {
        console::leave(error);
    }
}

/// Rows under headings, padded to the widest cell of each column.
pub(super) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let seen = |row: &Vec<String>| row.iter().map(|cell| visible::name(cell).into_owned()).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(seen).collect();
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
