//! What a person is asked, in words, and what exactly an answer binds.

mod messages;
mod requests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use metnos_log::event::turn::{PlannedOp, Target};
use serde_json::{Value, json};

use super::decide::{bound, trouble};
use super::salted;
use super::state::{Step, Turn};
use super::writers;
use crate::machines::schedules::task;
use crate::manifest::{Manifest, Role};
use crate::messages::{Language, Messages};
use crate::plan::Origin;
use crate::presented::visible;
use crate::rules::core_paths::lexical;
use crate::rules::grants;
use crate::rules::policy::{self, Class};
use crate::rules::undo::{self, Reach};
use crate::rules::{cage_plan, core_paths};

pub(super) use messages::are_own as are_own_messages;

/// The most changes that a question lists one by one.
const LISTED_MAX: usize = 20;
/// The most letters that the names of all others take.
const SHORT_CHARS: usize = 1500;
/// The most letters of a value that is no text.
const VALUE_CHARS: usize = 300;
/// The most letters of an argument that is a text.
const TEXT_CHARS: usize = 2000;
/// The most targets that are shown with where they came from.
const SOURCES_MAX: usize = 5;

/// Hash of tool, resolved arguments, effects, cage plan and version: an answer to anything else does not count.
pub(super) fn digest(turn: &Turn, step: &Step, about: &str) -> String {
    salted::digest(turn.salt(), &bound(step, about))
}

/// The question: what would happen, to what, where that was named, whether it can be taken back.
pub(super) fn text(messages: &Messages, turn: &Turn, step: &Step, manifest: &Manifest, about: &str) -> String {
    let language = turn.language;
    let asking = Asking { messages, language, home: turn.opened.as_ref().map_or("", |opened| opened.home.as_str()) };
    if about == "call" {
        return asking.call(turn, step, manifest);
    }
    let mut open: Vec<&PlannedOp> = step.ops.iter().filter(|op| op.trouble.is_none()).collect();
    // What cannot be taken back, and then what takes the place of something, is not among what is told in short.
    open.sort_by_key(|op| (undo::reach(op) != Reach::Never, short_kind(op) != "replace"));
    // A change of one task is told in full: nobody can look it up beside the question.
    if let ([op], Some(told)) = (open.as_slice(), open.first().and_then(|op| task::told(messages, language, op)))
        && op.own.is_some()
    {
        return messages.say(language, "schedule.consent", told);
    }
    let (listed, rest) = open.split_at(open.len().min(LISTED_MAX));
    // Where none can be taken back the end of the question says so.
    let is_mixed = open.iter().any(|op| undo::reach(op) != Reach::Never);
    let mut lines: Vec<String> = listed.iter().map(|op| asking.line(op, is_mixed)).collect();
    lines.extend(asking.in_short(rest));
    lines.extend(asking.impossible(&step.ops));
    lines.extend(asking.contents(turn, step, manifest, &open));
    lines.extend(asking.own_messages(step, manifest, &open));
    lines.extend(asking.bodies(&open));
    lines.extend(asking.own_servers(step, &open));
    lines.extend(asking.leads(step));
    lines.extend(asking.sources(turn, step));
    let are_messages = open.iter().all(|op| op.message.is_some());
    let is_chosen = requests::are_chosen(step, &open) || (are_messages && messages::are_own_people(step));
    messages.say(
        language,
        "consent.effects",
        json!({
            "summary": asking.summary(&open),
            "changes": lines.join("\n"),
            "named": named(turn, step).filter(|_| !is_chosen),
            "names": asking.said(step),
            "people": are_messages.then(|| asking.people(&open)),
            "count": targets(&open),
            "from": asking.made_of(step, &open),
            "takes_back": taken_back(step),
            "undo": asking.undo(&open),
        }),
    )
}

/// The request whose changes a step takes back.
fn taken_back(step: &Step) -> Option<String> {
    let request = step.result.as_ref()?.pointer("/metadata/text")?.as_str()?;
    let is_undo = step.ops.iter().any(|op| op.reverses.is_some());
    (is_undo && !request.is_empty()).then(|| as_end_of_line(request))
}

/// Who named what a step is about: the person each thing, or the folder that it lies in; `None` where neither is so, or there
/// is nothing.
fn named(turn: &Turn, step: &Step) -> Option<&'static str> {
    let by = |named: fn(&Turn, &Step, &Target) -> bool| step.targets.iter().all(|target| named(turn, step, target));
    if step.targets.is_empty() {
        None
    } else if by(|turn, step, target| turn.is_said(step, &target.pointer)) {
        Some("each")
    } else if by(Turn::is_granted) && by(Turn::goes_without_saying) {
        Some("folder")
    } else {
        None
    }
}

/// What kind of thing a call does, for people: the gravest of what it may use.
fn kind_of_call(manifest: &Manifest) -> &'static str {
    const KINDS: [(&str, &str); 8] = [
        ("code:exec", "run"),
        ("mail:send", "send"),
        ("channel:out", "send"),
        ("fs:write", "write"),
        ("network:http", "fetch"),
        ("fs:read", "read"),
        ("system:read", "machine"),
        ("metnos:read", "record"),
    ];
    let uses = |name: &str| manifest.capabilities.iter().any(|capability| capability.name == name);
    let is_known = |name: &str| KINDS.iter().any(|(known, _)| *known == name);
    let harmless = |name: &str| policy::registered(name).is_some_and(|known| known.class == Class::None);
    // What has no words of its own is told by its capabilities.
    if !manifest.capabilities.iter().all(|capability| is_known(&capability.name) || harmless(&capability.name)) {
        return "other";
    }
    KINDS.iter().find(|(name, _)| uses(name)).map_or("other", |(_, kind)| kind)
}

/// The arguments of a call that name no target: a program's words must be seen by whoever lets it run.
fn arguments(asking: &Asking<'_>, step: &Step) -> Vec<String> {
    let Some(given) = step.args.as_object() else { return Vec::new() };
    let is_target = |name: &str| step.targets.iter().any(|target| target.pointer.split('/').nth(1) == Some(name));
    let shown = |(name, value): (&String, &Value)| match value {
        Value::Array(words) if words.iter().all(Value::is_string) => {
            let words = words.iter().filter_map(Value::as_str).map(as_word).collect::<Vec<_>>().join(" ");
            // A command is read as it would be typed.
            let words = asking.beginning(&words);
            if name == "argv" { words } else { format!("{name}: {words}") }
        }
        Value::Array(_) => format!("{name}: {}", json_in_short(value)),
        Value::String(text) => format!("{name}: {}", asking.beginning(&text.escape_debug().to_string())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            format!("{name}: {}", json_in_short(value))
        }
    };
    given.iter().filter(|(name, _)| !is_target(name)).map(shown).collect()
}

/// A value that is no text, as much of it as a question has room for.
fn json_in_short(value: &Value) -> String {
    let text = value.to_string();
    let mut shown: String = text.chars().take(VALUE_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    visible::name(&shown).into_owned()
}

/// What an executor gets to see that no argument names.
fn shown(manifest: &Manifest) -> Vec<&str> {
    let reads = manifest.capabilities.iter().filter(|capability| capability.name == "fs:read");
    let whole = reads.filter(|capability| capability.from_args.is_empty());
    whole.flat_map(|capability| &capability.hint).map(String::as_str).filter(|hint| *hint != cage_plan::ARGS).collect()
}

/// Whether whoever asks lets things be looked at alone.
fn is_looking(turn: &Turn) -> bool {
    turn.opened.as_ref().is_some_and(|opened| opened.autonomy == "read_only")
}

/// Whether an executor can be given something to read by an argument.
fn reads_named(manifest: &Manifest) -> bool {
    manifest.capabilities.iter().any(|capability| capability.name == "fs:read" && !capability.from_args.is_empty())
}

/// Whether a call gets to see nothing of anybody's: its cage holds what programs need to start, and no more.
fn is_blind(step: &Step, manifest: &Manifest) -> bool {
    let is_file = |target: &Target| target.role.ends_with("path");
    !step.targets.iter().any(is_file)
        && shown(manifest).is_empty()
        && writers::reach(manifest, &step.targets).is_empty()
}

/// Whether words of a command look like files, which it does not see for that.
fn names_files(step: &Step) -> bool {
    let words = step.args.get("argv").and_then(Value::as_array).into_iter().flatten().skip(1);
    words.filter_map(Value::as_str).any(|word| word.contains('/'))
}

/// One word of a command, so that it is seen where it begins and ends.
fn as_word(word: &str) -> String {
    if word.contains(char::is_whitespace) { format!("{word:?}") } else { visible::quoted(word).into_owned() }
}

/// The text that a step would store or send, with its argument's name.
fn content<'s>(step: &'s Step, manifest: &'s Manifest) -> Option<(&'s str, &'s str)> {
    let mut stored = manifest.arguments.iter().filter(|(_, argument)| argument.role == Role::Content);
    stored.find_map(|(name, _)| Some((name.as_str(), step.args.get(name)?.as_str()?)))
}

/// A text of several lines below a question's own.
fn indented(text: &str) -> String {
    text.trim_end().lines().map(visible::name).collect::<Vec<_>>().join("\n    ")
}

/// What a question is worded with.
struct Asking<'a> {
    messages: &'a Messages,
    language: Language,
    home: &'a str,
}

impl Asking<'_> {
    fn say(&self, key: &str, values: &Value) -> String {
        self.messages.say(self.language, key, values)
    }

    /// As much of a long text as a question has room for, and how much there is beside it.
    fn beginning(&self, text: &str) -> String {
        let Some((at, _)) = text.char_indices().nth(TEXT_CHARS) else { return text.to_owned() };
        let (shown, rest) = text.split_at(at);
        let count = rest.chars().count();
        format!("{shown}… {}", self.say("consent.not_shown", &json!({ "count": count })))
    }

    /// What is asked before a call.
    fn call(&self, turn: &Turn, step: &Step, manifest: &Manifest) -> String {
        let capabilities: Vec<&str> = manifest.capabilities.iter().map(|capability| capability.name.as_str()).collect();
        let targets: Vec<&str> = step.targets.iter().map(|target| target.canonical.as_str()).collect();
        let sources = self.leads(step).into_iter().chain(self.sources(turn, step)).collect::<Vec<_>>().join("\n");
        let kind = kind_of_call(manifest);
        // What is sent is told as it would be read.
        let body = content(step, manifest).filter(|_| kind == "send").map(|(_, text)| indented(&self.beginning(text)));
        let arguments = if body.is_some() { Vec::new() } else { arguments(self, step) };
        let own_hosts: Vec<_> = cage_plan::own_hosts(manifest).into_iter().map(visible::quoted).collect();
        let is_host = |name: &str| grants::kind(name) == grants::Kind::Host;
        let is_net = manifest.capabilities.iter().any(|capability| is_host(&capability.name));
        let folders: Vec<String> =
            writers::reach(manifest, &step.targets).iter().map(|folder| self.short(folder)).collect();
        let values = json!({
            "kind": kind, "tool": step.tool, "targets": targets, "arguments": arguments, "capabilities": capabilities,
            "named": named(turn, step), "sources": sources, "body": body, "via": step.args.get("via"),
            "is_blind": is_blind(step, manifest), "names_files": names_files(step), "may_name": reads_named(manifest),
            "folders": folders, "shown": shown(manifest), "hosts": own_hosts, "uncaged": step.uncaged,
            // Who only looks has nothing sent, by the cage itself.
            "sends": is_net && manifest.contract.side_effects && !is_looking(turn), "leaks": manifest.can_leak(),
        });
        self.say("consent.call", &values)
    }

    /// The beginnings of the texts that would be written, and where they come from.
    fn contents(&self, turn: &Turn, step: &Step, manifest: &Manifest, ops: &[&PlannedOp]) -> Vec<String> {
        let given = content(step, manifest);
        let source = given.and_then(|(name, _)| step.origin(&format!("/{name}")));
        let from = turn
            .steps
            .iter()
            .find(|step| matches!(source, Some(Origin::Step { step: number, .. }) if step.number == *number));
        let said = |op: &PlannedOp, text: &str| {
            let rest = op.bytes.saturating_sub(text.len() as u64);
            // What an executor writes need not be what it was given.
            let is_given = given.is_some_and(|(_, given)| match (given.trim(), text.trim()) {
                (given, text) if rest > 0 => given.starts_with(text),
                (given, text) => given == text,
            });
            let origin = match source {
                _ if !is_given => "executor",
                _ if from.is_some() => "step",
                Some(Origin::Model) => "model",
                _ => "given",
            };
            let values = json!({
                "text": indented(text), "rest": rest, "origin": origin, "path": self.short(&op.path),
                "is_message": op.message.is_some(),
                "step": from.map(|step| step.number), "tool": from.map(|step| &step.tool),
            });
            self.say("consent.contents", &values)
        };
        let written: Vec<&PlannedOp> = ops
            .iter()
            .copied()
            .filter(|op| matches!(op.op.as_str(), "write" | "append" | "send") && op.image.is_none())
            .collect();
        let shown = written.iter().filter_map(|op| Some((op, op.text.as_deref()?)));
        let mut lines: Vec<String> =
            shown.filter(|(_, text)| !text.is_empty()).map(|(op, text)| said(op, text)).collect();
        // What several people are told is shown once.
        lines.dedup();
        let unseen = unseen(step);
        if unseen > 0 {
            lines.push(self.say("consent.contents_more", &json!({ "count": unseen })));
        }
        lines
    }

    /// What a step is about, where its changes are not one for each of that; nothing where they are, or that is long.
    fn said(&self, step: &Step) -> Vec<String> {
        let is_one_each = step.targets.len() == step.ops.len();
        let are_few = step.targets.len() <= SOURCES_MAX;
        let names = step.targets.iter().filter(|_| are_few && !is_one_each);
        // A pattern of new names has no place of its own: it is told as it was given.
        let name = |target: &Target| match target.canonical.strip_prefix("{dir}/") {
            Some(name) => name.to_owned(),
            None => self.short(target.canonical.trim_end_matches('/')),
        };
        let names: BTreeSet<String> = names.map(name).collect();
        names.into_iter().collect()
    }

    /// What else is read for files that are written: an archive of a folder says by no word what it holds.
    fn made_of(&self, step: &Step, ops: &[&PlannedOp]) -> Vec<String> {
        let writes = !ops.is_empty() && ops.iter().all(|op| matches!(op.op.as_str(), "write" | "append" | "mkdir"));
        let is_written = |path: &str| ops.iter().any(|op| op.path == path);
        let read = step.targets.iter().filter(|target| {
            writes && target.role == "path" && target.trouble.is_none() && !is_written(&target.canonical)
        });
        let read: Vec<String> = read.map(|target| self.short(target.canonical.trim_end_matches('/'))).collect();
        let beyond = read.len().saturating_sub(SOURCES_MAX);
        let more = (beyond > 0).then(|| self.say("consent.made_of_more", &json!({ "count": beyond })));
        read.into_iter().take(SOURCES_MAX).map(|path| visible::name(&path).into_owned()).chain(more).collect()
    }

    /// Changes by name alone, one line a kind, as many as fit.
    fn in_short(&self, ops: &[&PlannedOp]) -> Vec<String> {
        let mut kinds: Vec<(&str, Vec<&PlannedOp>)> = Vec::new();
        for op in ops {
            let kind = short_kind(op);
            match kinds.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, alike)) => alike.push(op),
                None => kinds.push((kind, vec![op])),
            }
        }
        let mut room = SHORT_CHARS;
        let mut lines = Vec::new();
        for (kind, ops) in kinds {
            let place = common_folder(&ops);
            let mut names = Vec::new();
            let (distinct, mut told) = (spots(&ops), BTreeSet::new());
            for op in ops.iter().filter(|op| told.insert(spot(op))) {
                let name = short_name(op, place.as_deref().unwrap_or_default());
                let Some(left) = room.checked_sub(name.chars().count() + 2) else { break };
                room = left;
                names.push(name);
            }
            let place = place.map(|place| self.short(&place));
            let beyond = distinct - names.len();
            let values = json!({
                "kind": kind, "count": ops.len(), "named": distinct, "place": place, "beyond": beyond, "names": names,
            });
            lines.push(self.say("consent.in_short", &values));
        }
        lines
    }

    /// One change as it will be made; among others that can be taken back it says that it cannot.
    fn line(&self, op: &PlannedOp, is_mixed: bool) -> String {
        if let Some(told) = task::told(self.messages, self.language, op) {
            return self.say("schedule.change", &told);
        }
        let values = json!({
            "op": op.op, "path": as_end_of_line(&op.path), "bytes": op.bytes, "before": op.before.kind,
            "link": op.before.leads_to().map(|target| as_part(&target)), "before_bytes": op.before.bytes, "dst": op.dst.as_deref().map(as_end_of_line), "to": op.to, "holds": op.holds,
            "never": is_mixed && undo::reach(op) == Reach::Never, "mode": op.mode.map(|mode| format!("{mode:o}")),
            "method": op.request.as_ref().map(|request| &request.method),
            "person": op.message.as_ref().map(|message| self.person(message)),
            "channel": op.message.as_ref().map(|message| &message.channel),
        });
        self.say("consent.change", &values)
    }

    /// «delete 14 files, 2.1 MB, all in ~/old», one part a kind of change.
    fn summary(&self, ops: &[&PlannedOp]) -> String {
        let mut parts = Vec::new();
        for kind in [
            "write", "append", "mkdir", "move", "trash", "delete", "restore", "link", "set_mode", "task", "http",
            "send",
        ] {
            let of_kind: Vec<&PlannedOp> = ops.iter().copied().filter(|op| kind_of(op) == kind).collect();
            if of_kind.is_empty() {
                continue;
            }
            let (links, others): (Vec<&PlannedOp>, Vec<_>) =
                of_kind.iter().copied().partition(|op| op.before.link.is_some());
            let (folders, files): (Vec<&PlannedOp>, Vec<_>) =
                others.iter().copied().partition(|op| op.before.kind == "folder");
            // Of a link nothing counts but that it is one.
            let bytes: u64 = others.iter().map(|op| op.bytes).sum();
            let place = common_folder(&of_kind).map(|folder| self.short(&folder));
            let values = json!({
                "kind": kind, "count": targets(&of_kind), "times": of_kind.len(), "files": targets(&files),
                "folders": targets(&folders), "links": targets(&links), "bytes": bytes, "place": place,
                "servers": requests::servers(&of_kind), "people": self.people(&of_kind),
            });
            parts.push(self.say("consent.would", &values));
        }
        parts.join("; ")
    }

    /// Whether it can be undone: wholly, in part or never, and until when.
    fn undo(&self, ops: &[&PlannedOp]) -> String {
        let never = ops.iter().filter(|op| undo::reach(op) == Reach::Never).count();
        let trash = ops.iter().any(|op| undo::reach(op) == Reach::UntilTrashEmptied);
        let overwrites = |op: &PlannedOp| {
            let rewrites = matches!(op.op.as_str(), "write" | "append" | "set_mode");
            (rewrites || kind_of(op) == "delete") && op.before.kind != "absent"
        };
        let fresh = !ops.iter().any(|op| overwrites(op));
        let sent = ops.iter().filter(|op| op.is_sent()).count();
        let values = json!({ "never": never, "count": ops.len(), "trash": trash, "fresh": fresh, "sent": sent });
        self.say("consent.undo", &values)
    }

    /// What is not tried, and why.
    fn impossible(&self, ops: &[PlannedOp]) -> Vec<String> {
        let troubled: Vec<_> = ops.iter().filter_map(|op| Some((op, op.trouble.as_ref()?))).collect();
        let said = |(op, (class, key)): &(&PlannedOp, &(String, String))| {
            let reason = trouble_of_one(self.messages, self.language, (class, key), &op.path);
            self.say("consent.cannot", &json!({ "path": as_end_of_line(&op.path), "reason": reason }))
        };
        let mut lines: Vec<String> = troubled.iter().take(LISTED_MAX).map(said).collect();
        if troubled.len() > LISTED_MAX {
            lines.push(self.say("consent.more", &json!({ "count": troubled.len() - LISTED_MAX })));
        }
        lines
    }

    /// Where targets came from that neither the person's words nor a listing below a folder of theirs named.
    fn sources(&self, turn: &Turn, step: &Step) -> Vec<String> {
        let mut by_source: BTreeMap<(u32, String), Vec<&str>> = BTreeMap::new();
        for target in step.targets.iter().filter(|target| !turn.goes_without_saying(step, target)) {
            let source = match step.origin(&target.pointer) {
                Some(Origin::Step { step, path }) => (*step, path.clone()),
                Some(Origin::Model | Origin::Default) | None => (0, String::new()),
                Some(Origin::Words { .. } | Origin::Configuration) => continue,
            };
            by_source.entry(source).or_default().push(&target.canonical);
        }
        let said = |((number, path), targets): ((u32, String), Vec<&str>)| {
            let tool = turn.steps.iter().find(|step| step.number == number).map(|step| step.tool.clone());
            let shown: Vec<&str> = targets.iter().copied().take(SOURCES_MAX).collect();
            let rest = targets.len().saturating_sub(SOURCES_MAX);
            let values = json!({ "step": number, "tool": tool, "field": path, "targets": shown, "rest": rest });
            self.say("consent.source", &values)
        };
        by_source.into_iter().map(said).collect()
    }

    /// What was named by one path and is another, by an argument or by the executor itself: a link on the way leads there.
    fn leads(&self, step: &Step) -> Vec<String> {
        let led = step.targets.iter().filter(|target| leads_elsewhere(self.home, target));
        let named = led.map(|target| (target.given.as_str(), target.canonical.as_str()));
        let declared = step.leads.iter().map(|lead| (lead.given.as_str(), lead.at.as_str()));
        let led: BTreeSet<(&str, &str)> = named.chain(declared).collect();
        let rest = led.len().saturating_sub(SOURCES_MAX);
        let said = |(given, canonical): (&str, &str)| {
            self.say("consent.leads", &json!({ "path": as_end_of_line(given), "target": as_end_of_line(canonical) }))
        };
        let more = (rest > 0).then(|| self.say("consent.leads_more", &json!({ "count": rest })));
        led.into_iter().take(SOURCES_MAX).map(said).chain(more).collect()
    }

    fn short(&self, folder: &str) -> String {
        short(self.home, folder)
    }
}

/// A folder as a person writes it.
pub(super) fn short(home: &str, folder: &str) -> String {
    match folder.strip_prefix(home) {
        Some("") if !home.is_empty() => "~".to_owned(),
        Some(rest) if !home.is_empty() && rest.starts_with('/') => format!("~{rest}"),
        _ => folder.to_owned(),
    }
}

/// How many different things these changes are made to.
fn targets(ops: &[&PlannedOp]) -> usize {
    let (own, others): (Vec<&PlannedOp>, Vec<_>) = ops.iter().copied().partition(|op| op.own.is_some());
    own.len() + others.into_iter().map(|op| (&op.path, &op.path_b64)).collect::<BTreeSet<_>>().len()
}

/// What a change in short is told by: two of one thing are told once.
type Spot<'o> = (&'o str, Option<&'o str>, Option<&'o str>, Option<u32>, Option<&'o str>);

fn spot(op: &PlannedOp) -> Spot<'_> {
    let method = op.request.as_ref().map(|request| request.method.as_str());
    (&op.path, op.path_b64.as_deref(), op.dst.as_deref(), op.mode, method)
}

fn spots(ops: &[&PlannedOp]) -> usize {
    ops.iter().copied().map(spot).collect::<BTreeSet<_>>().len()
}

/// How many files will hold what is not shown: of several texts for one file the last one counts.
fn unseen(step: &Step) -> usize {
    let written = step.ops.iter().filter(|op| op.trouble.is_none() && op.image.is_none());
    let written = written.filter(|op| matches!(op.op.as_str(), "write" | "append"));
    let last: BTreeMap<_, bool> = written.map(|op| ((&op.path, &op.path_b64), op.text.is_none())).collect();
    last.into_values().filter(|unseen| *unseen).count()
}

fn kind_of(op: &PlannedOp) -> &str {
    if op.op == "delete" && op.to.as_deref() == Some("trash") { "trash" } else { op.op.as_str() }
}

/// The same, with what takes the place of something told apart.
fn short_kind(op: &PlannedOp) -> &str {
    let kind = kind_of(op);
    if kind == "write" && op.before.kind != "absent" { "replace" } else { kind }
}

/// What changes, by its name below a folder; quoted where it could be read as more than a name.
fn short_name(op: &PlannedOp, place: &str) -> String {
    let below = |path: &str| path.strip_prefix(place)?.strip_prefix('/').filter(|_| !place.is_empty()).map(as_part);
    // What lies elsewhere is told by its whole path.
    let quoted = |path: &str| below(path).unwrap_or_else(|| as_part(path));
    let dst = op.dst.as_deref().unwrap_or_default();
    match op.op.as_str() {
        "restore" => quoted(dst),
        "move" => format!("{} → {}", quoted(&op.path), quoted(dst)),
        "http" => requests::in_short(op),
        "send" => messages::in_short(op),
        "set_mode" => format!("{} ({:o})", quoted(&op.path), op.mode.unwrap_or_default()),
        _ if op.before.kind == "folder" => quoted(&op.path) + "/",
        _ => quoted(&op.path),
    }
}

/// A name among other words; quoted where it could be read as more than a name.
fn as_part(name: &str) -> String {
    let is_plain = !name.contains([',', ';', '(', ')', '[', ']', ':']);
    if is_plain { as_word(name) } else { format!("{name:?}") }
}

/// A path at the end of a line; quoted where it could be read as more than a path.
fn as_end_of_line(path: &str) -> String {
    let is_plain = !path.ends_with(')') && !path.contains(": ");
    if is_plain { visible::quoted(path).into_owned() } else { format!("{path:?}") }
}

/// Whether a path that was given is the name of what it turned out to be only by a link. A relative one is taken to begin
/// anywhere.
fn leads_elsewhere(home: &str, target: &Target) -> bool {
    if !target.role.ends_with("path") || target.trouble.is_some() || target.kind == "url" {
        return false;
    }
    let (canonical, plain) = (lexical(Path::new(&target.canonical)), |path: &str| lexical(Path::new(path)));
    match target.given.strip_prefix('~') {
        Some(below) if below.is_empty() || below.starts_with('/') => plain(&format!("{home}{below}")) != canonical,
        _ if target.given.starts_with('/') => plain(&target.given) != canonical,
        _ => !canonical.ends_with(plain(&target.given)),
    }
}

/// The deepest folder that holds everything these changes start from.
fn common_folder(ops: &[&PlannedOp]) -> Option<String> {
    let parent = |op: &PlannedOp| {
        let path = if op.op == "restore" { op.dst.as_deref()? } else { op.path.as_str() };
        path.rsplit_once('/').map(|(folder, _)| folder.to_owned())
    };
    let mut common = parent(ops.first().filter(|op| op.is_of_files())?)?;
    for op in ops {
        let folder = parent(op)?;
        while !core_paths::is_within(&folder, &common) {
            common.truncate(common.rfind('/')?);
        }
    }
    (!common.is_empty()).then_some(common)
}

/// Why one thing of several was not done; reasons that a whole answer says in its own words get some here too.
pub(super) fn trouble_of_one(
    messages: &Messages,
    language: Language,
    (class, reason): (&str, &str),
    path: &str,
) -> String {
    let said = trouble(messages, language, reason, path);
    let key = match class {
        _ if !said.is_empty() => return said,
        "not_found" => "trouble.not_there",
        "permission_denied" => "trouble.not_let",
        _ => "trouble.not_done",
    };
    messages.say(language, key, json!({ "class": class }))
}

#[cfg(test)]
mod tests {
    use metnos_log::event::turn::{BeforeImage, Holds};

    use super::*;

    fn deleted(name: &str, to: Option<&str>, bytes: u64) -> PlannedOp {
        PlannedOp {
            op: "delete".to_owned(),
            path: format!("/home/owner/old/{name}"),
            to: to.map(str::to_owned),
            bytes,
            before: BeforeImage { kind: "file".to_owned(), bytes, ..BeforeImage::default() },
            ..PlannedOp::default()
        }
    }

    fn asked(ops: Vec<PlannedOp>) -> String {
        let manifest: Manifest =
            toml::from_str(include_str!("../../../../executors/delete_files/manifest.toml")).unwrap();
        let step = Step { ops: ops.into(), ..Step::default() };
        text(&Messages::embedded(), &Turn::default(), &step, &manifest, "effects")
    }

    #[test]
    fn each_of_many_changes_is_named() {
        let said = asked((0..50).map(|n| deleted(&format!("{n:02} a.txt"), Some("trash"), 1)).collect());
        for n in 0..50 {
            assert!(said.contains(&format!("{n:02} a.txt")), "{n}: {said}");
        }
        assert!(said.contains("… and 30 more to the trash in /home/owner/old: \"20 a.txt\", \"21 a.txt\""), "{said}");
        // Where there are too many, their number is told.
        let said = asked((0..5000).map(|n| deleted(&format!("{n:04}\nb"), Some("trash"), 1)).collect());
        assert!(said.contains("… and 4980 more to the trash in /home/owner/old: \"0020\\nb\""), "{said}");
        let (named, others) = said.split_once(" and ").and_then(|(_, rest)| rest.split_once(" and ")).unwrap();
        let named = named.matches(", ").count() + 1;
        assert!(others.starts_with(&format!("{} others", 4980 - named)), "{said}");
        assert!(said.len() < 4000 && said.lines().count() < 25, "{said}");
    }

    #[test]
    fn what_will_be_written_is_shown_and_not_what_was_given() {
        let manifest: Manifest =
            toml::from_str(include_str!("../../../../executors/write_files/manifest.toml")).unwrap();
        let written = |text: &str, bytes: u64| {
            let op = PlannedOp { op: "write".to_owned(), path: "/h/t.txt".to_owned(), bytes, ..PlannedOp::default() };
            let ops = [PlannedOp { text: Some(text.to_owned()), ..op.clone() }, op].into();
            let args = std::sync::Arc::new(json!({ "content": "buy milk" }));
            let step = Step { args, ops, ..Step::default() };
            super::text(&Messages::embedded(), &Turn::default(), &step, &manifest, "effects")
        };
        let said = written("buy milk\n", 9);
        assert!(said.contains("the text:\n    buy milk\n"), "{said}");
        let said = written("sell cow", 8);
        assert!(said.contains("will be in /h/t.txt:\n    sell cow\n") && !said.contains("milk"), "{said}");
        let said = written("buy", 5000);
        assert!(said.contains("the text:\n    buy\n    … and 5.0 kB more"), "{said}");
        let said = written("", 8);
        assert!(!said.contains("milk") && said.contains("what 1 more file will hold is not shown"), "{said}");
    }

    #[test]
    fn a_name_that_a_link_leads_elsewhere_says_where() {
        let led = |given: &str, canonical: &str| {
            let (given, canonical) = (given.to_owned(), canonical.to_owned());
            let target = Target {
                pointer: "/paths/0".to_owned(),
                role: "path".to_owned(),
                given,
                canonical,
                canonical_b64: None,
                kind: "file".to_owned(),
                trouble: None,
            };
            leads_elsewhere("/home/owner", &target)
        };
        for (given, canonical) in [
            ("a.txt", "/home/owner/a.txt"),
            ("notes/./a.txt", "/home/owner/notes/a.txt"),
            ("~/notes/../a.txt", "/home/owner/a.txt"),
            ("~", "/home/owner"),
            ("/srv//a/", "/srv/a"),
            ("~other/a", "/home/~other/a"),
        ] {
            assert!(!led(given, canonical), "{given} {canonical}");
        }
        for (given, canonical) in [
            ("a.txt", "/home/owner/b.txt"),
            ("album/sl/x.txt", "/home/owner/elsewhere/x.txt"),
            ("~/a", "/srv/a"),
            ("/srv/a", "/mnt/srv/a"),
            ("~", "/srv"),
        ] {
            assert!(led(given, canonical), "{given} {canonical}");
        }
    }

    #[test]
    fn a_name_cannot_pass_for_what_is_said_of_it() {
        let said = asked(vec![deleted("a (cannot be undone)", Some("trash"), 1), deleted("b → c", Some("trash"), 1)]);
        assert!(said.contains("trash: \"/home/owner/old/a (cannot be undone)\"\n"), "{said}");
        assert!(said.contains("trash: \"/home/owner/old/b → c\"\n"), "{said}");
    }

    #[test]
    fn what_is_written_again_and_again_is_one_file() {
        let written = |name: &str, before: &str, text: bool| PlannedOp {
            op: "write".to_owned(),
            path: format!("/h/{name}"),
            bytes: 3,
            before: BeforeImage { kind: before.to_owned(), ..BeforeImage::default() },
            text: text.then(|| "abc".to_owned()),
            ..PlannedOp::default()
        };
        let mut ops = vec![written("a", "absent", false)];
        ops.extend((1..3000).map(|number| written("a", "file", number == 2999)));
        let said = asked(ops.clone());
        assert!(said.starts_with("I would write 1 file, 3000 times, 9.0 kB, in /h:\n"), "{said}");
        assert!(said.contains("… and 2979 more to replace in /h (1 name): a\n"), "{said}");
        assert!(!said.contains("is not shown"), "{said}");
        ops.push(written("b", "absent", false));
        let said = asked(ops);
        assert!(said.starts_with("I would write 2 files, 3001 times in all, 9.0 kB, all in /h:\n"), "{said}");
        assert!(said.contains("what 1 more file will hold is not shown"), "{said}");
    }

    #[test]
    fn a_folder_that_is_moved_says_what_is_in_it_as_one_that_is_deleted_does() {
        let holds = Some(Holds { files: 12, bytes: 3_400_000, ..Holds::default() });
        let folder = |op: &str, to: Option<&str>, dst: &str| PlannedOp {
            op: op.to_owned(),
            dst: Some(format!("/home/owner/{dst}")),
            holds: holds.clone(),
            before: BeforeImage { kind: "folder".to_owned(), ..BeforeImage::default() },
            ..deleted("a", to, 3_400_000)
        };
        let inside = "(a folder with 12 files, 3.4 MB)";
        let said = asked(vec![folder("move", None, "b")]);
        assert!(said.contains(&format!("move: /home/owner/old/a {inside} → /home/owner/b\n")), "{said}");
        let said = asked(vec![folder("delete", Some("trash"), "t")]);
        assert!(said.contains(&format!("to the trash: /home/owner/old/a {inside}\n")), "{said}");
        let said = asked(vec![folder("restore", Some("trash"), "c")]);
        assert!(said.contains(&format!("out of the trash: /home/owner/c {inside}\n")), "{said}");
    }

    #[test]
    fn a_link_is_called_one_and_says_where_it_leads() {
        // In base64, as the log holds it: /home/owner/y, `../a; b)`, y.
        let link = |target: &str, op: PlannedOp| {
            let link = Some(target.to_owned());
            PlannedOp { before: BeforeImage { kind: "other".to_owned(), link, ..BeforeImage::default() }, ..op }
        };
        let said = asked(vec![link("L2hvbWUvb3duZXIveQ==", deleted("x", Some("trash"), 13))]);
        assert!(said.starts_with("I would delete 1 link, into the trash, in /home/owner/old:\n"), "{said}");
        let whole = "to the trash: the link /home/owner/old/x (to /home/owner/y; what it leads to stays)\n";
        assert!(said.contains(whole), "{said}");
        let said = asked(vec![link("Li4vYTsgYik=", deleted("x", None, 8)), deleted("f", None, 5)]);
        assert!(said.starts_with("I would delete 1 file and 1 link without the trash, 5 bytes, all in"), "{said}");
        assert!(said.contains("trash: the link /home/owner/old/x (to \"../a; b)\"; what it leads to stays)"), "{said}");
        let moved =
            PlannedOp { op: "move".to_owned(), dst: Some("/home/owner/z".to_owned()), ..deleted("x", None, 13) };
        let said = asked(vec![link("eQ==", moved)]);
        assert!(
            said.contains("move: the link /home/owner/old/x (to y; what it leads to stays) → /home/owner/z"),
            "{said}"
        );
    }

    #[test]
    fn a_program_that_sees_nothing_of_the_house_says_so() {
        let manifest: Manifest =
            toml::from_str(include_str!("../../../../executors/create_processes/manifest.toml")).unwrap();
        let folder = || Target {
            pointer: "/folder".to_owned(),
            role: "path".to_owned(),
            given: "notes".to_owned(),
            canonical: "/h/notes".to_owned(),
            canonical_b64: None,
            kind: "folder".to_owned(),
            trouble: None,
        };
        let command = |file: &str, targets: Vec<Target>, manifest: &Manifest| {
            let args = std::sync::Arc::new(json!({ "argv": ["wc", "-l", file] }));
            let step = Step { args, targets, ..Step::default() };
            text(&Messages::embedded(), &Turn::default(), &step, manifest, "call")
        };
        let asked = |targets: Vec<Target>, manifest: &Manifest| command("a.txt", targets, manifest);
        let said = command("~/a.txt", Vec::new(), &manifest);
        assert!(said.contains("It sees none of your files, not even those that it names: if it needs one,"), "{said}");
        let said = asked(Vec::new(), &manifest);
        assert!(said.contains("\n  wc -l a.txt\n"), "{said}");
        assert!(
            said.contains("It sees none of your files: if it needs one, name the folder that it may read."),
            "{said}"
        );
        let said = asked(vec![folder()], &manifest);
        assert!(said.contains("it can read: /h/notes\n") && said.contains("It sees no other file of yours."), "{said}");
        // Where it could be given none, nobody is told to name one.
        let mut blind = manifest;
        blind.capabilities.retain(|capability| capability.name == "code:exec");
        let said = asked(Vec::new(), &blind);
        assert!(said.contains("It sees none of your files. ") && !said.contains("name the folder"), "{said}");
    }

    #[test]
    fn what_goes_elsewhere_is_told_in_short_by_its_whole_path() {
        let moved = |number: u32| PlannedOp {
            op: "move".to_owned(),
            dst: Some(format!("/srv/new/f{number}.txt")),
            ..deleted(&format!("f{number}.txt"), None, 5)
        };
        let said = asked((0..25).map(moved).collect());
        assert!(said.contains(": f20.txt → /srv/new/f20.txt, f21.txt → /srv/new/f21.txt"), "{said}");
    }

    #[test]
    fn of_a_long_argument_a_question_shows_the_beginning_and_says_how_much_is_left() {
        let manifest: Manifest =
            toml::from_str(include_str!("../../../../executors/create_processes/manifest.toml")).unwrap();
        let args = std::sync::Arc::new(json!({ "argv": ["wc"], "stdin": "x".repeat(100_000) }));
        let step = Step { args, ..Step::default() };
        let said = text(&Messages::embedded(), &Turn::default(), &step, &manifest, "call");
        assert!(said.len() < 3_000 && said.contains("xx… (98,000 more letters, not shown here)"), "{said}");
    }

    #[test]
    fn what_is_replaced_is_listed_and_each_kind_named_apart() {
        let written = |name: String, before: &str| PlannedOp {
            op: "write".to_owned(),
            path: format!("/h/{name}"),
            before: BeforeImage { kind: before.to_owned(), ..BeforeImage::default() },
            text: Some(String::new()),
            ..PlannedOp::default()
        };
        let mut ops: Vec<PlannedOp> = (0..30).map(|n| written(format!("n{n}"), "absent")).collect();
        ops.push(written("kept".to_owned(), "file"));
        ops.push(PlannedOp {
            op: "set_mode".to_owned(),
            path: "/h/x, y".to_owned(),
            mode: Some(0o700),
            ..ops[0].clone()
        });
        let said = asked(ops);
        assert!(said.lines().nth(1).unwrap().contains("existing file"), "{said}");
        assert!(said.contains("… and 11 more to write in /h: n19, n20"), "{said}");
        assert!(said.contains("… and 1 more to set the rights of in /h: \"x, y\" (700)"), "{said}");
    }

    #[test]
    fn what_cannot_be_undone_is_listed_first_and_says_so() {
        let mut ops: Vec<PlannedOp> = (0..50).map(|n| deleted(&format!("{n}.txt"), Some("trash"), 1)).collect();
        ops.push(deleted("film.mkv", None, 1 << 40));
        let said = asked(ops);
        let first = said.lines().nth(1).unwrap();
        assert!(first.contains("film.mkv (cannot be undone)"), "{said}");
        assert_eq!(said.matches("cannot be undone").count(), 1, "{said}");
        assert!(said.contains("only in part: 1 of 51"), "{said}");
        // Of one alone the last line says it.
        let said = asked(vec![deleted("film.mkv", None, 1 << 40)]);
        assert!(!said.contains("(cannot be undone)") && said.contains("This cannot be undone"), "{said}");
    }
}
