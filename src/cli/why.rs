//! `metnos why`: from a thing back to the sentence, the consent and the signature behind it.

mod told;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Args;
use metnos_log::envelope::Body;
use metnos_log::event::executor::ExecutorSigned;
use metnos_log::{Event, EventId, Reader, Recorded, TurnId};
use metnos_projections::machines::schedules;
use metnos_projections::machines::turn::stream;
use metnos_projections::rules::core_paths::lexical;
use metnos_projections::views::turns::{ERASED, Summary};
use metnos_projections::views::why::{self, Account, Link, Touch, Trail};
use serde::Serialize;
use serde_json::{Value, json};

use super::output::by;
use super::{Context, Failure, output, progress};
use crate::instance::Instance;
use crate::projector::Watch;

/// How many changes are shown unasked.
const SHOWN: usize = 3;
/// After how many turns it is said how far back the search is.
const SAY_EVERY: usize = 16;
/// The longest chain of causes that is followed.
const CHAIN_MAX: usize = 64;

/// From a thing back to the sentence, the consent and the signature behind it.
#[derive(Args, Debug)]
pub(super) struct Why {
    /// A file or folder, also one that is gone; a turn's id or last; a message of a chat as telegram:17; an event's number or id.
    #[arg(value_name = "PATH|MESSAGE|EVENT")]
    what: PathBuf,
    /// Every change, not only the newest.
    #[arg(long)]
    all: bool,
}

/// What is found of a path.
struct Changes {
    found: Vec<Found>,
    /// Whether there are older ones.
    is_more: bool,
    /// How many of the turns that were looked at changed something that is erased.
    erased: u64,
}

/// One change with all that led to it.
#[derive(Serialize)]
struct Found {
    touch: Touch,
    account: Account,
    signature: Option<Signature>,
    task: Option<Task>,
    /// What policy asks about each capability of the executor.
    capabilities: Vec<String>,
}

/// Whose signature an executor's version bears.
#[derive(Serialize)]
struct Signature {
    signed: ExecutorSigned,
    /// What the key is: `instance` or `device`; none where it was never admitted.
    role: Option<String>,
    signed_at: i64,
    promoted_at: Option<i64>,
}

/// The schedule that began a turn.
#[derive(Serialize)]
struct Task {
    schedule: String,
    actor: String,
    said_at: i64,
    what: Option<String>,
    /// The sentence that made it, where a turn did.
    sentence: Option<String>,
}

pub(super) fn run(context: &Context, command: &Why) -> Result<u8, Failure> {
    context.refuse_past()?;
    let instance = context.instance()?;
    let name = command.what.to_str().unwrap_or_default();
    if let Some(event) = event(&instance, name)? {
        return chain(context, &instance, event);
    }
    let folding = progress::folding(context);
    let message = message(&instance, name, &|done, of| folding.say(done, of))?;
    drop(folding);
    if let Some(turn) = message {
        return said(context, &instance, turn);
    }
    let path = absolute(&instance, &command.what);
    let folding = progress::folding(context);
    let Changes { found, is_more, erased } = changes(&instance, &path, command.all, &|done, of| folding.say(done, of))?;
    drop(folding);
    if found.is_empty() {
        let values = json!({ "path": path, "erased": erased });
        return Err(Failure::refused(("error.nothing_touched", values), by("next.why")));
    }
    if context.global.json {
        output::result_json(&json!({ "path": path, "changes": found, "more": is_more, "erased": erased }));
        return Ok(0);
    }
    let mut parts: Vec<String> = found.iter().map(|found| told::change(context, &instance, found)).collect();
    if is_more {
        parts.push(context.text(&instance, "why.more", &json!({ "count": SHOWN })));
    }
    output::result(&parts.join("\n\n"));
    Ok(0)
}

/// The event that a number or an id names.
fn event(instance: &Instance, name: &str) -> Result<Option<Recorded>, Failure> {
    let reader = instance.log.reader();
    if let Ok(seq) = name.parse::<u64>() {
        let last = instance.log.head().size;
        let missing =
            || Failure::refused(("error.no_event", json!({ "seq": seq })), ("next.events", json!({ "last": last })));
        return reader.event(seq)?.ok_or_else(missing).map(Some);
    }
    let Ok(id) = name.parse::<EventId>() else { return Ok(None) };
    Ok(reader.seq_of(id)?.map(|seq| reader.event(seq)).transpose()?.flatten())
}

/// The turn that said something: by its id, the newest, or by the number that a chat gives to what it showed.
fn message(instance: &Instance, name: &str, watch: Watch<'_>) -> Result<Option<TurnId>, Failure> {
    let turns = instance.turns();
    if name == "last" {
        let none = || Failure::refused(("error.no_turn", json!({ "id": name })), by("next.turns"));
        return turns.last().ok_or_else(none).map(Some);
    }
    if let Some(id) = name.parse::<TurnId>().ok().filter(|id| turns.get(*id).is_some()) {
        return Ok(Some(id));
    }
    let Some((channel, Ok(number))) = name.split_once(':').map(|(channel, number)| (channel, number.parse::<i64>()))
    else {
        return Ok(None);
    };
    let reader = instance.log.reader();
    let events = reader.stream(&metnos_projections::machines::channels::stream(channel))?;
    let sent = events.iter().rev().find(|recorded| match recorded.event() {
        Some(Event::MessageSent(sent)) => sent.receipt == number,
        Some(Event::ProgressShown(shown)) => shown.receipt == number,
        _ => false,
    });
    let missing = || Failure::refused(("error.no_message", json!({ "name": name })), by("next.why"));
    let mut at = sent.cloned().ok_or_else(missing)?;
    for _ in 0..CHAIN_MAX {
        if let Some(turn) = at.turn {
            return Ok(Some(turn));
        }
        let update = at.id;
        match before(instance, &at)? {
            Some(earlier) => at = earlier,
            // What came over the channel leads nowhere further back, but to the turn that it began.
            None => return begun_by(instance, update, watch)?.map(Some).ok_or_else(missing),
        }
    }
    Err(missing())
}

/// The turn that an update began.
fn begun_by(instance: &Instance, update: EventId, watch: Watch<'_>) -> Result<Option<TurnId>, Failure> {
    let (reader, size) = (instance.log.reader(), instance.log.head().size);
    for (number, (id, turn)) in instance.turns().iter().rev().enumerate() {
        if number.is_multiple_of(SAY_EVERY) {
            watch(size.saturating_sub(turn.first_seq), size);
        }
        if reader.event(turn.first_seq)?.is_some_and(|opened| opened.cause == Some(update)) {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// The path as the log knows it: absolute, links on the way to it resolved as far as it is there.
fn absolute(instance: &Instance, path: &Path) -> String {
    let home = &instance.dirs.user_home;
    let path = path.strip_prefix("~").map_or_else(|_| path.to_owned(), |rest| home.join(rest));
    let mut plain = lexical(&super::folder(instance).join(path));
    // What is named is meant itself, also where it is a link.
    let mut rest = vec![plain.file_name().map(OsStr::to_owned).unwrap_or_default()];
    let mut above = plain.parent();
    while let Some(folder) = above {
        if let Ok(real) = folder.canonicalize() {
            plain = rest.iter().rev().fold(real, |path, name| path.join(name));
            break;
        }
        rest.extend(folder.file_name().map(OsStr::to_owned));
        above = folder.parent();
    }
    let path = plain.to_string_lossy();
    let path = path.trim_end_matches('/');
    if path.is_empty() { "/".to_owned() } else { path.to_owned() }
}

/// The changes that touched a path, newest first, and whether there are more than are shown.
fn changes(instance: &Instance, path: &str, all: bool, watch: Watch<'_>) -> Result<Changes, Failure> {
    let (reader, size) = (instance.log.reader(), instance.log.head().size);
    let mut trail = Trail::of(path);
    let (mut found, mut erased) = (Vec::new(), 0);
    let turns = instance.turns();
    // Of one that was erased the calls may not be counted any more.
    let acted = |(_, turn): &(TurnId, Summary<'_>)| turn.calls > 0 || turn.final_kind == Some(ERASED);
    for (number, (id, turn)) in turns.iter().rev().filter(acted).enumerate() {
        if number.is_multiple_of(SAY_EVERY) {
            watch(size.saturating_sub(turn.first_seq), size);
        }
        let events = rehydrated(&reader, &stream(id))?;
        erased += u64::from(events.iter().any(is_unknown_change));
        for touch in trail.take(id, &events) {
            if !all && found.len() == SHOWN {
                return Ok(Changes { found, is_more: true, erased });
            }
            let account = why::account(&events, touch.step);
            found.push(Found {
                signature: signature(instance, &account)?,
                task: task(instance, &account)?,
                capabilities: capabilities(instance, &account),
                touch,
                account,
            });
        }
    }
    Ok(Changes { found, is_more: false, erased })
}

/// Whether an event said which files a turn was to change, and says it no more.
fn is_unknown_change(recorded: &Recorded) -> bool {
    recorded.kind == "effects_planned" && matches!(recorded.body, Body::Erased)
}

fn rehydrated(reader: &Reader, stream: &str) -> Result<Vec<Recorded>, Failure> {
    let events = reader.stream(stream)?;
    Ok(events.into_iter().map(|recorded| reader.rehydrated(recorded)).collect::<Result<Vec<_>, _>>()?)
}

/// The signature of the version that was called; none where the program carries it itself.
fn signature(instance: &Instance, account: &Account) -> Result<Option<Signature>, Failure> {
    let reader = instance.log.reader();
    let (mut found, mut promoted_at) = (None, None);
    for recorded in reader.stream(&format!("executor/{}", account.tool))? {
        match recorded.event() {
            Some(Event::ExecutorSigned(signed)) if signed.version == account.version => {
                found = Some((signed.clone(), recorded.time.0));
            }
            Some(Event::VersionPromoted(promoted)) if promoted.version == account.version => {
                promoted_at = Some(recorded.time.0);
            }
            _ => {}
        }
    }
    let catalog = instance.catalog();
    Ok(found.map(|(signed, signed_at)| {
        let is_revoked = catalog.revoked.contains_key(&signed.key_id);
        let role = catalog.keys.get(&signed.key_id).map(|key| key.role.clone());
        let role = if is_revoked { Some("revoked".to_owned()) } else { role };
        Signature { signed, role, signed_at, promoted_at }
    }))
}

/// What the version that was called may use.
fn capabilities(instance: &Instance, account: &Account) -> Vec<String> {
    let catalog = instance.catalog();
    let entry = catalog.find(&account.tool).map(|(_, entry)| entry);
    let version = entry.and_then(|entry| entry.versions.get(&account.version));
    let manifest = version.and_then(metnos_projections::machines::catalog::Version::manifest);
    manifest.into_iter().flat_map(|manifest| manifest.capabilities).map(|capability| capability.name).collect()
}

/// The schedule that began the turn, as it was then.
fn task(instance: &Instance, account: &Account) -> Result<Option<Task>, Failure> {
    let Some(schedule) = account.address.as_ref().filter(|_| account.channel == "schedule") else { return Ok(None) };
    let reader = instance.log.reader();
    let (mut task, mut made_by) = (None::<Task>, None);
    for recorded in rehydrated(&reader, &schedules::stream(schedule))? {
        let (what, turn) = match recorded.event() {
            _ if recorded.seq > account.seq => break,
            Some(Event::ScheduleCreated(created)) => (created.what.get(), created.turn.as_deref()),
            Some(Event::ScheduleModified(modified)) => (modified.what.get(), None),
            _ => continue,
        };
        made_by = turn.and_then(|turn| turn.parse::<TurnId>().ok()).or(made_by);
        let (actor, said_at, what) = (recorded.actor.clone(), recorded.time.0, what.map(str::to_owned));
        task = Some(Task { schedule: schedule.clone(), actor, said_at, what, sentence: None });
    }
    if let (Some(task), Some(turn)) = (&mut task, made_by) {
        task.sentence = why::account(&rehydrated(&reader, &stream(turn))?, 0).text;
    }
    Ok(task)
}

/// What led to an event, followed to its root, newest first.
fn chain(context: &Context, instance: &Instance, event: Recorded) -> Result<u8, Failure> {
    let links = followed(instance, event)?;
    if context.global.json {
        let events: Vec<Value> = links.iter().map(super::log::as_json).collect();
        output::result_json(&json!({ "chain": events }));
    } else {
        output::result(&told::chain(context, instance, &links));
    }
    Ok(0)
}

fn followed(instance: &Instance, event: Recorded) -> Result<Vec<Recorded>, Failure> {
    let mut links = vec![instance.log.reader().rehydrated(event)?];
    while let Some(last) = links.last().filter(|_| links.len() < CHAIN_MAX) {
        let Some(earlier) = before(instance, last)? else { break };
        links.push(earlier);
    }
    Ok(links)
}

/// The nearest event that led to one; always an earlier one, so that a chain ends.
fn before(instance: &Instance, recorded: &Recorded) -> Result<Option<Recorded>, Failure> {
    let reader = instance.log.reader();
    for link in why::links(recorded) {
        let seq = match link {
            Link::Event(id) => reader.seq_of(id)?,
            Link::Opening(turn) => instance.turns().get(turn).map(|turn| turn.first_seq),
            Link::Admission(key_id) => {
                let is_of = |event: &Event| matches!(event, Event::KeyAdmitted(key) if key.key_id == key_id);
                let events = reader.stream("instance")?;
                events.iter().find(|recorded| recorded.event().is_some_and(is_of)).map(|recorded| recorded.seq)
            }
            Link::Before(stream, kinds) => {
                let events = reader.stream(&stream)?;
                let earlier =
                    events.iter().rev().find(|event| event.seq < recorded.seq && kinds.contains(&&*event.kind));
                earlier.map(|event| event.seq)
            }
        };
        if let Some(seq) = seq.filter(|seq| *seq < recorded.seq)
            && let Some(earlier) = reader.event(seq)?
        {
            return Ok(Some(reader.rehydrated(earlier)?));
        }
    }
    Ok(None)
}

/// What a turn said, and what led to it.
fn said(context: &Context, instance: &Instance, turn: TurnId) -> Result<u8, Failure> {
    let reader = instance.log.reader();
    let events = rehydrated(&reader, &stream(turn))?;
    let Some(last) = events.last().cloned() else { return Ok(1) };
    let closing = events.iter().rev().find(|recorded| recorded.kind == "turn_closed").cloned().unwrap_or(last);
    if context.global.json {
        let links = followed(instance, closing)?;
        let chain: Vec<Value> = links.iter().map(super::log::as_json).collect();
        output::result_json(&json!({ "turn": super::turn::record(turn, &events), "chain": chain }));
        return Ok(0);
    }
    let folded = crate::engine::folded(instance, turn)?;
    let is_over = folded.final_kind.is_some();
    let said = json!({ "turn": turn, "message": folded.message, "gone": is_over && folded.message.is_none(), "over": is_over });
    let mut parts = vec![context.text(instance, "why.said", &said)];
    parts.push(crate::why::told(instance, &folded, context.language(instance)));
    let account = why::account(&events, 1);
    if let Some(task) = task(instance, &account)? {
        parts.push(told::task(context, instance, &task));
    }
    parts.push(told::chain(context, instance, &followed(instance, closing)?));
    output::result(&parts.join("\n"));
    Ok(0)
}
