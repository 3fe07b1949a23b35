//! `metnos log erase`: says what would go, asks, and takes it out of the log and of everything that is made of it.

use std::borrow::Cow;
use std::path::PathBuf;

use clap::Args;
use metnos_log::TurnId;
use metnos_projections::{as_word, visible};
use serde_json::{Value, json};

use super::super::output::{Failure, by, remedy};
use super::super::{Context, actor, output, progress, terminal, turn};
use crate::cause::plain;
use crate::engine;
use crate::erasure::search::Sought;
use crate::erasure::{self, BrokenOff, ErasureError, Left, Report, Selected, Selector};
use crate::instance::Instance;

/// Take what someone wrote or what came back out of the record, for ever.
#[derive(Args, Debug)]
pub(in crate::cli) struct Erase {
    #[command(flatten)]
    what: What,
    /// Why; it stays in the record.
    #[arg(long, default_value = "")]
    reason: String,
    /// Only say what would go.
    #[arg(long)]
    preview: bool,
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct What {
    /// All that was said and returned in a turn: its id, or «last».
    #[arg(long, value_name = "ID")]
    turn: Option<String>,
    /// The same of every turn of a person.
    #[arg(long, value_name = "PERSON")]
    actor: Option<String>,
    /// What one event holds.
    #[arg(long, value_name = "SEQ")]
    event: Option<u64>,
    /// Everything that holds just this text; where other capitals or normal forms of it stay, that is said.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
}

impl From<ErasureError> for Failure {
    fn from(error: ErasureError) -> Self {
        match error {
            ErasureError::Read(error) => error.into(),
            ErasureError::Rewrite(error) => error.into(),
            ErasureError::Backup(error) => error.into(),
            ErasureError::Snapshot(error) => error.into(),
            ErasureError::Export(error) => Self::failed(error.to_string(), by("next.erase_again")),
            ErasureError::Io { ref path, ref source } => Self::failed(
                ("error.file_unusable", json!({ "file": path, "reason": plain(source) })),
                remedy(&error, Some(path), by("next.erase_again")),
            ),
            ErasureError::Unfollowed(error) => {
                let path = if let ErasureError::Io { path, .. } = &*error { Some(path.as_path()) } else { None };
                let reason = json!({ "reason": output::causes(&*error) });
                Self::failed(("error.erased_in_part", reason), remedy(&*error, path, by("next.erase_again")))
            }
            ErasureError::Open { turn } => {
                Self::refused(("error.turn_open", json!({ "turn": turn })), ("next.end_turn", json!({ "turn": turn })))
            }
            ErasureError::Runs { name } => Self::refused(
                ("error.task_alive", json!({ "task": name })),
                ("next.cancel_task", json!({ "task": name })),
            ),
            ErasureError::Bare { seq, kind } => {
                let stays = stays(&kind);
                let values = json!({ "seq": seq, "kind": kind, "stays": stays });
                let next =
                    if stays.is_empty() { by("next.erasable") } else { ("next.event_stays", values.clone()).into() };
                Self::refused(("error.event_bare", values), next)
            }
            ErasureError::Short => Self::usage(by("error.text_short"), by("next.longer_text")),
        }
    }
}

/// What of a person's an event holds by which Metnos works; nothing of the kinds that hold none.
fn stays(kind: &str) -> &'static str {
    match kind {
        "actor_added" => "name",
        "address_bound" | "address_revoked" | "address_moved" => "address",
        "folder_opened" | "folder_closed" => "folder",
        "grant_given" | "grant_revoked" => "grant",
        kind if kind.starts_with("schedule_") => "task",
        _ => "",
    }
}

/// So many other spellings, and turns, are shown, each with its command.
const SPELLINGS: usize = 5;
/// The most letters of a text that a question quotes.
const QUOTED_MAX: usize = 80;

pub(super) fn run(context: &Context, command: &Erase) -> Result<u8, Failure> {
    context.refuse_past()?;
    let instance = context.instance()?;
    // One that broke off is gone on with first: the log may not hold its text any more where other files still do.
    let has_ended = !command.preview && resume(context, &instance)?;
    let selector = selector(&instance, &command.what)?;
    if matches!(&selector, Selector::Text(text) if text.len() < erasure::TEXT_BYTES_MIN) {
        return Err(ErasureError::Short.into());
    }
    if matches!(&selector, Selector::Text(text) if Sought::of(text).is_in(command.reason.as_bytes())) {
        return Err(Failure::usage(by("error.reason_holds_text"), by("next.other_reason")));
    }
    let line = progress::line(context);
    line.say(&context.text(&instance, "log.searching", &json!({})));
    let selected = erasure::select(&instance, &selector)?;
    drop(line);
    let values = preview(&instance, &selected);
    if selected.seqs.is_empty() && has_ended {
        if context.global.json {
            output::result_json(&json!({ "ended": true }));
        }
        return Ok(0);
    }
    if selected.seqs.is_empty() && !selected.spellings.is_empty() {
        return Err(Failure::refused(("error.spelled_otherwise", values.clone()), ("next.spellings", values)));
    }
    if let Selector::Event(seq) = selector
        && selected.seqs.is_empty()
        && instance.log.reader().event(seq)?.is_none()
    {
        let last = instance.log.head().size;
        return Err(Failure::refused(
            ("error.no_event", json!({ "seq": seq })),
            ("next.events", json!({ "last": last })),
        ));
    }
    if selected.seqs.is_empty() && !selected.staying.is_empty() {
        return Err(Failure::refused(("error.text_stays", values), by("next.erasable")));
    }
    if selected.seqs.is_empty() {
        return nothing(context, &instance, (&selector, &selected));
    }
    if command.preview {
        if context.global.json {
            output::result_json(&values);
        } else {
            output::result(&context.text(&instance, "log.would_erase", &values));
        }
        return Ok(0);
    }
    erasure::refuse_open(&instance, &selected)?;
    let asked = naming(&instance, &selector, values);
    terminal::agreed(context, &instance, ("consent.erase", &asked), "error.not_erased")?;
    let line = progress::line(context);
    line.say(&context.text(&instance, "log.erasing", &json!({})));
    let report = erasure::erase(&instance, &selector, selected, &command.reason)?;
    drop(line);
    told(context, &instance, &selector, &report);
    if report.later > 0 {
        let values = json!({ "payloads": report.later });
        return Err(Failure::refused(("error.written_meanwhile", values), by("next.erase_later")));
    }
    if report.missed.is_empty() {
        return Ok(0);
    }
    Err(Failure::failed(("error.erased_yet_there", json!({ "files": report.missed })), by("next.erased_yet_there")))
}

/// That the log holds nothing of it, and which files of the home do all the same. Where that was erased from here, it is as it
/// was asked for.
fn nothing(
    context: &Context,
    instance: &Instance,
    (selector, selected): (&Selector, &Selected),
) -> Result<u8, Failure> {
    let mut left = Left::default();
    if let Selector::Text(text) = selector {
        let line = progress::line(context);
        line.say(&context.text(instance, "log.searching", &json!({})));
        left = erasure::beside_the_log(instance, text)?;
    }
    if !left.holding.is_empty() || !left.copies.is_empty() {
        let values = json!({ "files": named(&left.holding), "copies": named(&left.copies) });
        // A backup in the home follows the log.
        let backups = instance.dirs.data.join("backups");
        let below =
            |path: &PathBuf| path.strip_prefix(&backups).ok()?.components().next().map(|name| backups.join(name));
        let hint: output::Said = match left.holding.iter().find_map(below) {
            Some(folder) => ("next.backup_behind", json!({ "folder": folder })).into(),
            None => by("next.only_in_files"),
        };
        return Err(Failure::refused(("error.only_in_files", values), hint));
    }
    let Some(before) = erasure::erased_before(instance, selector)? else {
        let hint = if selected.closed.is_empty() {
            by("next.erasable")
        } else {
            ("next.closed_events", preview(instance, selected)).into()
        };
        return Err(Failure::refused(by("error.nothing_to_erase"), hint));
    };
    let values = json!({
        "seq": before.seq, "when": output::moment(before.time.0, &instance.settings.zone), "payloads": 0,
    });
    if context.global.json {
        output::result_json(&values);
    } else {
        output::result(&context.text(instance, "log.erased_before", &values));
    }
    Ok(0)
}

/// Paths as they are told: whoever laid a file into the workspace named it.
fn named(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

/// Goes on with what broke off; whether there was any.
fn resume(context: &Context, instance: &Instance) -> Result<bool, Failure> {
    let line = progress::line(context);
    if erasure::is_pending(instance) {
        line.say(&context.text(instance, "log.erasing", &json!({})));
    }
    let resumed = erasure::resume(instance)?;
    drop(line);
    let said = match resumed {
        BrokenOff::Nothing => None,
        BrokenOff::Midway => Some("log.erasure_ended"),
        BrokenOff::BeforeIt => Some("log.erasure_not_begun"),
    };
    if let Some(key) = said.filter(|_| !context.global.json) {
        output::result(&context.text(instance, key, &json!({})));
    }
    Ok(resumed == BrokenOff::Midway)
}

fn selector(instance: &Instance, what: &What) -> Result<Selector, Failure> {
    let What { turn, actor, event, text } = what;
    match (turn, actor, event, text) {
        (Some(turn), ..) => turn::id(instance, turn).map(Selector::Turn),
        (_, Some(actor), ..) => actor::known(instance, actor).map(Selector::Actor),
        (_, _, Some(seq), _) => Ok(Selector::Event(*seq)),
        (.., text) => Ok(Selector::Text(text.clone().unwrap_or_default())),
    }
}

/// What a question about erasing is worded with: what was named, beside what that comes to.
fn naming(instance: &Instance, selector: &Selector, mut values: Value) -> Value {
    for name in ["text", "actor", "turn", "sentence", "event"] {
        values[name] = Value::Null;
    }
    match selector {
        Selector::Text(text) => values["text"] = in_quotes(text).into(),
        Selector::Actor(id) => {
            let actors = instance.actors();
            let name = actors.get(id).and_then(|actor| actor.name.as_deref());
            values["actor"] =
                name.map_or_else(|| id.clone(), |name| format!("{} ({id})", visible::quoted(name))).into();
        }
        Selector::Turn(id) => {
            values["turn"] = id.to_string().into();
            // One that was erased in part may have no sentence any more.
            let turn = engine::folded(instance, *id).unwrap_or_default();
            values["sentence"] = (!turn.text().is_empty()).then(|| in_quotes(turn.text())).into();
        }
        Selector::Event(seq) => values["event"] = (*seq).into(),
    }
    values
}

/// The beginning of a text among other words, with whatever is not seen in it written out.
fn in_quotes(text: &str) -> String {
    let mut shown: String = text.chars().take(QUOTED_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    match visible::quoted(&shown) {
        Cow::Borrowed(plain) => format!("“{plain}”"),
        Cow::Owned(escaped) => escaped,
    }
}

fn preview(instance: &Instance, selected: &Selected) -> Value {
    let (turn, task) = match erasure::refuse_open(instance, selected) {
        Err(ErasureError::Open { turn }) => (Some(turn), None),
        Err(ErasureError::Runs { name }) => (None, Some(name)),
        Ok(()) | Err(_) => (None, None),
    };
    let mut values = json!({
        "payloads": selected.seqs.len(), "blobs": selected.blobs.len(), "turns": selected.turns.len(),
        "kinds": selected.kinds, "seqs": selected.seqs, "open_turn": turn, "open_task": task,
        "is_pending": erasure::is_pending(instance),
    });
    spelled(selected, &mut values);
    values
}

/// What else holds the text and stays: events without which Metnos would not work, events that spell it otherwise or hold a piece
/// of it, and what was made of the parts of a request.
fn spelled(selected: &Selected, values: &mut Value) {
    let shown: Vec<String> = selected.spellings.iter().take(SPELLINGS).map(|text| as_word(text)).collect();
    values["staying"] = json!(selected.staying);
    values["spelled"] = selected.spelled.len().into();
    values["spellings"] = json!(selected.spellings);
    values["more_spellings"] = (selected.spellings.len() - shown.len()).into();
    values["spelling_words"] = json!(shown);
    let apart: Vec<String> = selected.taken_apart.iter().take(SPELLINGS).map(TurnId::to_string).collect();
    values["more_apart"] = (selected.taken_apart.len() - apart.len()).into();
    values["apart"] = apart.into();
    let closed: Vec<u64> = selected.closed.iter().take(SPELLINGS).copied().collect();
    values["more_closed_events"] = (selected.closed.len() - closed.len()).into();
    values["closed_events"] = closed.into();
}

fn told(context: &Context, instance: &Instance, selector: &Selector, report: &Report) {
    let left = &report.left;
    let mut values = json!({
        "payloads": report.rewritten.payloads, "blobs": report.rewritten.blobs, "turns": report.turns,
        "quotes": !matches!(selector, Selector::Text(_)), "backups": report.backups,
        "left": named(&left.holding), "copies": named(&left.copies), "unread": named(&left.unread), "closed": named(&left.closed),
        "elsewhere": report.elsewhere, "head": crate::signing::hex(&instance.log.head().head),
    });
    spelled(&report.selected, &mut values);
    if context.global.json {
        output::result_json(&values);
    } else {
        output::result(&context.text(instance, "log.erased", &values));
    }
}
