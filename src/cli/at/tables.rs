//! Each projection as a table for people: what it is about, how many there are, the newest or the first of them.
//!
//! One that has no table of its own is shown by what it holds and how much of it.

use metnos_log::Micros;
use metnos_projections::machines::schedules::Schedule;
use serde_json::{Value, json};

use super::Then;
use crate::cli::{Context, output};
use crate::instance::Instance;
use crate::projector::Projected;

/// The most rows that are shown unasked.
const ROWS_MAX: usize = 20;

/// Rows under headings. The headings are keys of `[at]`.
struct Table {
    headings: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// Whether the last rows are those of most interest.
    is_newest_last: bool,
}

impl Table {
    fn of(headings: &[&'static str], rows: Vec<Vec<String>>) -> Self {
        Self { headings: headings.to_vec(), rows, is_newest_last: false }
    }
}

/// How much a projection holds, in a word or two.
pub(super) fn counted(context: &Context, instance: &Instance, projected: &Projected, name: &str) -> String {
    let count = match name {
        "catalog" => projected.catalog.executors.len(),
        "turns" => projected.turns.len(),
        "configuration" => projected.configuration.values.len(),
        "actors" => projected.actors.actors.len(),
        "channels" => projected.channels.channels.len(),
        "documents" => projected.documents.count(),
        "mnestome" => projected.mnestome.each(Micros(0)).count(),
        "states" => projected.states.taken.len(),
        "schedules" => projected.schedules.schedules.len(),
        other => parts(projected, other).iter().map(|(_, count)| count).sum(),
    };
    context.text(instance, "at.count", &json!({ "name": name, "count": count }))
}

/// The names of what a projection holds, with how much of each.
fn parts(projected: &Projected, name: &str) -> Vec<(String, usize)> {
    let state: Value = projected.snapshot(name).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let size = |value: &Value| match value {
        Value::Array(items) => items.len(),
        Value::Object(map) => map.len(),
        Value::Null => 0,
        Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    };
    state.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), size(value))).collect()
}

/// A projection in words and rows.
pub(super) fn shown(context: &Context, instance: &Instance, then: &Then, name: &str, all: bool) -> String {
    let Table { headings, mut rows, is_newest_last } = table(context, instance, then, name);
    let mut lines = vec![counted(context, instance, &then.projected, name)];
    if rows.is_empty() {
        return lines.remove(0);
    }
    let left_out = if all { 0 } else { rows.len().saturating_sub(ROWS_MAX) };
    if is_newest_last {
        rows.drain(..left_out);
    } else {
        rows.truncate(rows.len() - left_out);
    }
    let headings: Vec<String> =
        headings.iter().map(|key| context.text(instance, &format!("at.heading_{key}"), &json!({}))).collect();
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    lines.push(output::table(&headings, &rows));
    if left_out > 0 {
        lines.push(context.text(instance, "at.left_out", &json!({ "count": left_out, "older": is_newest_last })));
    }
    lines.join("\n")
}

fn table(context: &Context, instance: &Instance, then: &Then, name: &str) -> Table {
    let projected = &then.projected;
    let zone = &instance.settings.zone;
    let moment = |time: i64| output::moment(time, zone);
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "–".to_owned());
    match name {
        "catalog" => executors(context, instance, projected),
        "turns" => turns(context, instance, projected),
        "configuration" => {
            let row = |(key, value): (&String, &Value)| vec![key.clone(), output::short(&output::plain(value), 100)];
            Table::of(&["setting", "value"], projected.configuration.values.iter().map(row).collect())
        }
        "actors" => people(context, instance, projected),
        "channels" => {
            let numbers = |channel: &metnos_projections::machines::channels::Channel| {
                [channel.pending.len(), channel.outbox.len(), channel.consents.len(), channel.strangers.len()]
            };
            let row = |(name, channel): (&String, &_)| {
                let numbers = numbers(channel).into_iter().map(|count| count.to_string());
                [name.clone()].into_iter().chain(numbers).collect()
            };
            let rows = projected.channels.channels.iter().map(row).collect();
            Table::of(&["channel", "unsettled", "to_say", "questions", "strangers"], rows)
        }
        "documents" => {
            let row = |(actor, count): (&str, usize)| vec![actor.to_owned(), count.to_string()];
            Table::of(&["who", "files"], projected.documents.people().map(row).collect())
        }
        "mnestome" => mnests(context, instance, then),
        "states" => {
            let row = |taken: &metnos_projections::views::state::Taken| {
                let head = &taken.head;
                vec![head.name.clone(), head.position.to_string(), moment(head.until), taken.digest.clone()]
            };
            Table::of(&["name", "event", "until", "digest"], projected.states.taken.values().map(row).collect())
        }
        "schedules" => {
            let row = |(id, schedule): (&String, &Schedule)| {
                let state = context.text(instance, "at.state", &json!({ "state": schedule.state.name() }));
                let contract = &schedule.contract;
                let code = context.language(instance).code();
                let words = contract.words.get(code).filter(|words| !words.is_empty()).unwrap_or(&contract.cadence);
                let next = or_none(&schedule.next.map(|next| output::moment(next, &contract.zone)));
                let (fired, missed) = (schedule.fired.to_string(), schedule.missed.to_string());
                vec![id.clone(), schedule.actor.clone(), state, words.clone(), next, fired, missed]
            };
            let rows = projected.schedules.schedules.iter().map(row).collect();
            Table::of(&["task", "who", "state", "when", "next", "fired", "missed"], rows)
        }
        other => {
            let row = |(part, count): (String, usize)| vec![part, count.to_string()];
            Table::of(&["part", "holds"], parts(projected, other).into_iter().map(row).collect())
        }
    }
}

fn executors(context: &Context, instance: &Instance, projected: &Projected) -> Table {
    let row = |(name, entry): (&String, &metnos_projections::machines::catalog::Entry)| {
        let version = entry.current.as_deref().unwrap_or("–");
        let signed = entry.versions.get(version).and_then(|version| version.signed.as_ref());
        let life = context.text(instance, "at.life", &json!({ "life": entry.life }));
        let key = signed.map_or("–", |signed| signed.key_id.as_str());
        vec![name.clone(), version.to_owned(), entry.versions.len().to_string(), life, key.to_owned()]
    };
    let rows = projected.catalog.executors.iter().map(row).collect();
    Table::of(&["executor", "version", "versions", "state", "key"], rows)
}

fn turns(context: &Context, instance: &Instance, projected: &Projected) -> Table {
    let row = |(id, turn): (metnos_log::TurnId, metnos_projections::views::turns::Summary<'_>)| {
        let kind = turn.final_kind.unwrap_or("open");
        let ended = context.text(instance, "turns.ended", &json!({ "kind": kind, "class": turn.class }));
        vec![
            id.to_string(),
            output::moment(turn.opened_at, &instance.settings.zone),
            turn.actor.unwrap_or(metnos_projections::machines::actors::HOST).to_owned(),
            turn.channel.to_owned(),
            ended,
            turn.calls.to_string(),
            turn.changes.to_string(),
        ]
    };
    let rows = projected.turns.iter().map(row).collect();
    let headings = ["turn", "begun", "who", "channel", "ended", "calls", "changes"];
    Table { is_newest_last: true, ..Table::of(&headings, rows) }
}

fn people(context: &Context, instance: &Instance, projected: &Projected) -> Table {
    let row = |(id, actor): (&String, &metnos_projections::machines::actors::Actor)| {
        let addresses: Vec<String> =
            actor.addresses.iter().map(|(channel, address)| format!("{channel} {address}")).collect();
        let is_host = actor.role == metnos_projections::machines::actors::Role::Host;
        let cell = |text: Option<&str>| text.filter(|text| !text.is_empty()).unwrap_or("–").to_owned();
        vec![
            id.clone(),
            context.text(instance, "at.role", &json!({ "is_host": is_host })),
            cell(actor.name.as_deref()),
            cell(actor.autonomy.as_deref()),
            cell(actor.language.as_deref()),
            cell(Some(&addresses.join(", "))),
            cell(Some(&actor.folders.iter().cloned().collect::<Vec<_>>().join(", "))),
        ]
    };
    let headings = ["who", "role", "called", "autonomy", "language", "addresses", "folders"];
    Table::of(&headings, projected.actors.actors.iter().map(row).collect())
}

fn mnests(context: &Context, instance: &Instance, then: &Then) -> Table {
    let mut edges: Vec<_> = then.projected.mnestome.each(Micros(then.until)).collect();
    edges.sort_by(|one, other| other.weight.total_cmp(&one.weight));
    let row = |edge: &metnos_projections::machines::mnestome::Edge<'_>| {
        let state = context.text(instance, &format!("mnest.state_{}", edge.mnest.state.name()), &json!({}));
        let (weight, uses) = (format!("{:.2}", edge.weight), edge.mnest.uses.to_string());
        vec![edge.src.to_owned(), edge.dst.to_owned(), weight, uses, state]
    };
    Table::of(&["from", "into", "weight", "uses", "state"], edges.iter().map(row).collect())
}
