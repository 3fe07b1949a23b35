//! What Metnos knew at a moment, as self-describing JSON lines: the text of a monthly state (design 6-memory, «Monthly
//! state»), and what changed between two of them.
//!
//! The text is a pure function of the projections at one event and of the moment that weights are taken at, so any month can
//! be computed again from the log and must be the same bytes.

use std::collections::{BTreeMap, BTreeSet};

use metnos_log::canonical;
use metnos_log::envelope::Body;
use metnos_log::{Event, Micros, Recorded};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::machines::catalog::Catalog;
use crate::machines::mnestome::{Mnestome, State};
use crate::machines::schedules::Schedules;
use crate::projection::Projection;

/// The number of the form of the lines.
const FORMAT: u32 = 1;
/// Weights that differ by less are called the same.
const WEIGHT_STEP: f64 = 0.05;

/// Which state it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Its name: `2026-10`, or the moment that it was asked for.
    pub name: String,
    /// The log.
    pub log: String,
    /// The last event that it holds.
    pub position: u64,
    /// The chain's head there, hexadecimal.
    pub head: String,
    /// The moment that weights are taken at, µs.
    pub until: i64,
}

/// The state as text, one line a thing, the head first.
pub fn text(head: &Head, catalog: &Catalog, mnestome: &Mnestome, schedules: &Schedules) -> String {
    let mut lines = Vec::new();
    let mut first = serde_json::to_value(head).expect("a head is plain data");
    first["kind"] = "state".into();
    first["format"] = FORMAT.into();
    lines.push(first);
    for (name, entry) in &catalog.executors {
        lines.push(json!({
            "kind": "executor", "name": name, "life": entry.life, "current": entry.current,
            "versions": entry.versions.keys().collect::<Vec<_>>(),
        }));
    }
    for edge in mnestome.each(Micros(head.until)) {
        let mut line = serde_json::to_value(edge.mnest).expect("a mnest is plain data");
        line["kind"] = "mnest".into();
        line["src"] = edge.src.into();
        line["dst"] = edge.dst.into();
        line["weight_then"] = edge.weight.into();
        lines.push(line);
    }
    for (id, schedule) in &schedules.schedules {
        // What was asked for stays in the events, where it can be erased.
        lines.push(json!({
            "kind": "schedule", "schedule": id, "actor": schedule.actor, "state": schedule.state,
            "cadence": schedule.contract.cadence, "zone": schedule.contract.zone, "next": schedule.next,
            "fired": schedule.fired, "failures": schedule.failures, "missed": schedule.missed,
        }));
    }
    let mut text = String::new();
    for line in &lines {
        text.push_str(&canonical::to_string(line));
        text.push('\n');
    }
    text
}

/// blake3 of the text, hexadecimal.
pub fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// What changed between two states.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Difference {
    /// Executors that became active.
    pub born: Vec<String>,
    /// Executors whose version or life changed: name, before, after.
    pub changed: Vec<(String, String, String)>,
    /// Executors that are gone or not active any more.
    pub gone: Vec<String>,
    /// Pairs that were learned, with their weight.
    pub learned: Vec<(String, String, f64)>,
    /// Pairs that weigh more: before, after.
    pub strengthened: Vec<(String, String, f64, f64)>,
    /// Pairs that weigh less: before, after.
    pub faded: Vec<(String, String, f64, f64)>,
    /// Pairs and wishes that are not there any more.
    pub forgotten: Vec<(String, String)>,
    /// Executors that were wished for: from where, which.
    pub wished: Vec<(String, String)>,
    /// Schedules that were made.
    pub scheduled: Vec<String>,
    /// Schedules that run no more.
    pub ended: Vec<String>,
}

impl Difference {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What changed between two states; `None` where a text is none.
pub fn difference(before: &str, after: &str) -> Option<Difference> {
    let (before, after) = (Read::of(before)?, Read::of(after)?);
    let mut difference = Difference::default();
    for (name, now) in &after.executors {
        let was = before.executors.get(name);
        match (was.map(|was| was.0.as_str()), now.0.as_str()) {
            (Some("active"), "active") if was == Some(now) => {}
            (None | Some(_), "active") if was.is_none_or(|was| was.0 != "active") => {
                difference.born.push(name.clone());
            }
            (Some("active"), life) if life != "active" => difference.gone.push(name.clone()),
            _ if was == Some(now) || was.is_none() => {}
            _ => {
                let said = |(life, version): &(String, String)| format!("{version} ({life})");
                difference.changed.push((name.clone(), was.map(said).unwrap_or_default(), said(now)));
            }
        }
    }
    difference.gone.extend(before.executors.keys().filter(|name| !after.executors.contains_key(*name)).cloned());
    for ((src, dst), (weight, is_wish)) in &after.pairs {
        let ends = (src.clone(), dst.clone());
        match before.pairs.get(&ends) {
            Some((_, true)) | None if !is_wish => difference.learned.push((ends.0, ends.1, *weight)),
            None => difference.wished.push(ends),
            Some((was, _)) if weight - was >= WEIGHT_STEP => {
                difference.strengthened.push((ends.0, ends.1, *was, *weight));
            }
            Some((was, _)) if was - weight >= WEIGHT_STEP => difference.faded.push((ends.0, ends.1, *was, *weight)),
            Some(_) => {}
        }
    }
    difference.forgotten.extend(before.pairs.keys().filter(|ends| !after.pairs.contains_key(*ends)).cloned());
    difference.scheduled.extend(after.schedules.difference(&before.schedules).cloned());
    difference.ended.extend(before.schedules.difference(&after.schedules).cloned());
    Some(difference)
}

/// A state as far as a comparison needs it.
struct Read {
    /// Life and current version by name.
    executors: BTreeMap<String, (String, String)>,
    /// The greatest weight of any versions, and whether it is a wish, by source and destination.
    pairs: BTreeMap<(String, String), (f64, bool)>,
    /// Schedules that are active or paused, with their cadence.
    schedules: BTreeSet<String>,
}

impl Read {
    fn of(text: &str) -> Option<Self> {
        let mut read = Self { executors: BTreeMap::new(), pairs: BTreeMap::new(), schedules: BTreeSet::new() };
        let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).ok());
        lines.next()?.filter(|head| head["kind"] == "state" && head["format"] == FORMAT)?;
        for line in lines {
            let line = line?;
            let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
            match line["kind"].as_str() {
                Some("executor") => {
                    read.executors.insert(text("name"), (text("life"), text("current")));
                }
                Some("mnest") => {
                    let weight = line["weight_then"].as_f64()?;
                    let is_wish = line["state"] == json!(State::Proto);
                    let found = read.pairs.entry((text("src"), text("dst"))).or_insert((weight, is_wish));
                    *found = (found.0.max(weight), found.1 && is_wish);
                }
                Some("schedule") if matches!(line["state"].as_str(), Some("active" | "paused")) => {
                    read.schedules.insert(format!("{} ({})", text("schedule"), text("cadence")));
                }
                _ => {}
            }
        }
        Some(read)
    }
}

/// A state that was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// Which.
    pub head: Head,
    /// The zone that its month is of.
    pub zone: String,
    /// blake3 of its text.
    pub digest: String,
    /// Bytes of its text.
    pub bytes: u64,
}

/// All states that were taken, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct States {
    /// By name.
    pub taken: BTreeMap<String, Taken>,
    /// When the first event was written, µs.
    pub begun_at: Option<i64>,
    /// The first event of a schedule that was erased: later states do not tell of it any more.
    pub erased_from: Option<u64>,
}

impl States {
    /// Whether something was erased since that this state told of.
    pub fn is_erased(&self, taken: &Taken) -> bool {
        self.erased_from.is_some_and(|seq| seq <= taken.head.position)
    }
}

impl Projection for States {
    const NAME: &'static str = "states";
    const VERSION: u32 = 2;

    fn evolve(&mut self, recorded: &Recorded) {
        if matches!(recorded.body, Body::Erased) && recorded.stream.starts_with("schedule/") {
            self.erased_from.get_or_insert(recorded.seq);
        }
        self.begun_at.get_or_insert(recorded.time.0);
        if let Some(Event::StateSnapshotTaken(taken)) = recorded.event() {
            let head = Head {
                name: taken.name.clone(),
                log: taken.log.clone(),
                position: taken.position,
                head: taken.head.clone(),
                until: taken.until,
            };
            let taken = Taken { head, zone: taken.zone.clone(), digest: taken.digest.clone(), bytes: taken.bytes };
            self.taken.insert(taken.head.name.clone(), taken);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(lines: &[Value]) -> String {
        let head = json!({ "kind": "state", "format": 1 });
        let lines: Vec<String> = [&[head], lines].concat().iter().map(Value::to_string).collect();
        lines.join("\n")
    }

    fn executor(name: &str, life: &str, version: &str) -> Value {
        json!({ "kind": "executor", "name": name, "life": life, "current": version })
    }

    fn mnest(src: &str, dst: &str, weight: f64, state: &str) -> Value {
        json!({ "kind": "mnest", "src": src, "dst": dst, "weight_then": weight, "state": state })
    }

    #[test]
    fn each_change_is_told_once_under_its_name() {
        let before = state(&[
            executor("a", "active", "1.0.0"),
            executor("b", "active", "1.0.0"),
            executor("c", "active", "1.0.0"),
            executor("d", "quarantined", "1.0.0"),
            mnest("a", "b", 0.3, "active"),
            mnest("a", "c", 0.5, "active"),
            mnest("b", "c", 0.4, "active"),
            mnest("a", "x", 0.3, "proto"),
            mnest("c", "y", 0.3, "proto"),
        ]);
        let after = state(&[
            executor("a", "active", "1.0.0"),
            executor("b", "active", "1.1.0"),
            executor("c", "archived", "1.0.0"),
            executor("d", "active", "1.0.0"),
            executor("x", "active", "1.0.0"),
            mnest("a", "b", 0.45, "active"),
            mnest("a", "c", 0.2, "decaying"),
            mnest("a", "x", 0.3, "active"),
            mnest("a", "z", 0.3, "proto"),
            mnest("b", "c", 0.42, "active"),
            json!({ "kind": "schedule", "schedule": "s1", "state": "active", "cadence": "0 8 * * *" }),
            json!({ "kind": "schedule", "schedule": "s2", "state": "cancelled", "cadence": "0 9 * * *" }),
        ]);
        let ends = |one: &str, other: &str| (one.to_owned(), other.to_owned());
        let found = difference(&before, &after).unwrap();
        assert_eq!(found.born, ["d", "x"]);
        assert_eq!(found.gone, ["c"]);
        assert_eq!(found.changed, [("b".to_owned(), "1.0.0 (active)".to_owned(), "1.1.0 (active)".to_owned())]);
        assert_eq!(found.learned, [("a".to_owned(), "x".to_owned(), 0.3)]);
        assert_eq!(found.strengthened, [("a".to_owned(), "b".to_owned(), 0.3, 0.45)]);
        assert_eq!(found.faded, [("a".to_owned(), "c".to_owned(), 0.5, 0.2)]);
        assert_eq!((found.forgotten, found.wished), (vec![ends("c", "y")], vec![ends("a", "z")]));
        assert_eq!((found.scheduled, found.ended), (vec!["s1 (0 8 * * *)".to_owned()], Vec::new()));
        assert!(difference(&before, &before).unwrap().is_empty());
        assert_eq!(difference("", &after), None);
        assert_eq!(difference(&before, "{\"kind\":\"other\"}\n"), None);
    }
}
