//! Back from a change, or from any event, to what led to it: which turn, by whose words, with whose leave.
//!
//! It works on events that it is given and knows no log: whoever reads one follows the links that are named here.

use std::collections::{BTreeMap, BTreeSet};

use metnos_log::event::turn::{ConsentAsked, PlannedOp, VerdictGiven};
use metnos_log::{Event, EventId, Micros, Recorded, TurnId};
use serde::Serialize;
use serde_json::Value;

use crate::plan::Origin;

/// What became of a planned change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was made.
    Done,
    /// It was found made, by whoever went on after a crash.
    FoundDone,
    /// It was not made: class and reason.
    Failed(String, String),
    /// Nobody has said yet.
    Open,
}

impl Outcome {
    fn is_made(&self) -> bool {
        matches!(self, Self::Done | Self::FoundDone)
    }
}

/// One change that touched what is asked about.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Touch {
    /// Its turn.
    pub turn: TurnId,
    /// Its step.
    pub step: u32,
    /// Its place in the step's planned changes, from 0.
    pub index: u32,
    /// The event that planned it.
    pub seq: u64,
    /// When it was planned, µs.
    pub time: i64,
    /// The change.
    pub op: PlannedOp,
    /// What became of it.
    pub outcome: Outcome,
    /// The turn that took it back, where that still holds.
    pub undone_by: Option<TurnId>,
}

/// Changes of a step by their place there.
type Outcomes = BTreeMap<(u32, u32), Outcome>;

/// Follows a path back through the turns, the newest first: through moves to the names that it had before.
#[derive(Clone, Debug)]
pub struct Trail {
    names: BTreeSet<String>,
    /// Changes that were taken back, by turn, step and place, and by which turn.
    reversed: BTreeMap<(String, u32, u32), TurnId>,
}

impl Trail {
    /// A trail that ends at a path: absolute, without a slash at its end unless it is `/`.
    pub fn of(path: &str) -> Self {
        Self { names: BTreeSet::from([path.to_owned()]), reversed: BTreeMap::new() }
    }

    /// The names that it has had so far.
    pub fn names(&self) -> &BTreeSet<String> {
        &self.names
    }

    /// The changes of one turn that touched it, the last one first. Turns are to come newest first.
    pub fn take(&mut self, turn: TurnId, events: &[Recorded]) -> Vec<Touch> {
        let outcomes = outcomes(events);
        let mut touches = Vec::new();
        for recorded in events.iter().rev() {
            let Some(Event::EffectsPlanned(planned)) = recorded.event() else { continue };
            let ops: Vec<PlannedOp> =
                planned.ops.get().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
            for (index, op) in (0_u32..).zip(ops).collect::<Vec<_>>().into_iter().rev() {
                let outcome = outcomes.get(&(planned.step, index)).cloned().unwrap_or(Outcome::Open);
                let undone_by = self.reversed.get(&(turn.to_string(), planned.step, index)).copied();
                if let Some(source) = op.reverses.as_ref().filter(|_| outcome.is_made() && undone_by.is_none()) {
                    self.reversed.insert((source.turn.clone(), source.step, source.index), turn);
                }
                if !self.touches(&op) {
                    continue;
                }
                if outcome.is_made() {
                    self.follow(&op);
                }
                let (seq, time) = (recorded.seq, recorded.time.0);
                touches.push(Touch { turn, step: planned.step, index, seq, time, op, outcome, undone_by });
            }
        }
        touches
    }

    fn touches(&self, op: &PlannedOp) -> bool {
        let carries = matches!(op.op.as_str(), "move" | "delete" | "restore");
        let ends = [Some(&op.path), op.dst.as_ref()];
        self.names.iter().any(|name| ends.iter().flatten().any(|end| within(end, name) || carries && within(name, end)))
    }

    /// Before it was moved here, it was called otherwise.
    fn follow(&mut self, op: &PlannedOp) {
        let Some(dst) = op.dst.as_ref().filter(|_| matches!(op.op.as_str(), "move" | "restore" | "delete")) else {
            return;
        };
        let before = |name: &String| Some(format!("{}{}", op.path, name.strip_prefix(dst.as_str())?));
        let earlier: Vec<String> = self.names.iter().filter(|name| within(name, dst)).filter_map(before).collect();
        self.names.extend(earlier);
    }
}

/// Whether a path is a folder or lies below it.
fn within(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || folder.ends_with('/'))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "outcomes stand in two kinds")]
fn outcomes(events: &[Recorded]) -> Outcomes {
    let mut found = Outcomes::new();
    for event in events.iter().filter_map(Recorded::event) {
        match event {
            Event::EffectCommitted(committed) => {
                let outcome = match (&committed.failure, committed.outcome.as_str()) {
                    (Some((class, reason)), _) => Outcome::Failed(class.clone(), reason.clone()),
                    (None, "found_done") => Outcome::FoundDone,
                    (None, _) => Outcome::Done,
                };
                found.insert((committed.step, committed.index), outcome);
            }
            Event::EffectsCommitted(committed) => {
                let mut runs = |runs: &[(u32, u32)], outcome: &Outcome| {
                    let places = runs.iter().flat_map(|(first, end)| *first..*end);
                    found.extend(places.map(|place| ((committed.step, place), outcome.clone())));
                };
                runs(&committed.done, &Outcome::Done);
                runs(&committed.found_done, &Outcome::FoundDone);
                for (place, class, reason) in &committed.failed {
                    found.insert((committed.step, *place), Outcome::Failed(class.clone(), reason.clone()));
                }
            }
            _ => {}
        }
    }
    found
}

/// Where a value came from, with the words or the executor themselves.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum From {
    /// These words of the request.
    Words {
        /// The words.
        words: String,
    },
    /// What an earlier step gave.
    Step {
        /// The step.
        step: u32,
        /// Its executor.
        tool: String,
        /// Where in its result.
        path: String,
    },
    /// A setting.
    Configuration,
    /// A default.
    Default,
    /// A model's own words.
    Model,
}

/// One argument of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Argument {
    /// JSON pointer into the arguments.
    pub pointer: String,
    /// Its value.
    pub value: Value,
    /// Where it came from.
    pub origin: From,
}

/// With whose leave something was done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Leave {
    /// `call` or `effects`.
    pub about: String,
    /// What was decided about it, and by which rule.
    pub verdict: Option<VerdictGiven>,
    /// What a person was asked, and when, µs; nothing where no rule asked for it.
    pub asked: Option<(ConsentAsked, i64)>,
    /// `yes`, `no` or `nobody`, by what, and when, µs.
    pub answer: Option<(&'static str, String, i64)>,
}

/// What led to a step of a turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Account {
    /// The event that opened the turn.
    pub seq: u64,
    /// When that was, µs.
    pub time: i64,
    /// Whose turn it is.
    pub actor: String,
    /// The event that led to the turn.
    pub cause: Option<EventId>,
    /// Where it was asked.
    pub channel: String,
    /// Where on that channel: of what a schedule begins, the schedule.
    pub address: Option<String>,
    /// The request as it reads with all answers; none where it was erased.
    pub text: Option<String>,
    /// Whether a command named the step instead of a sentence.
    pub is_given: bool,
    /// How much was done unasked for its person then.
    pub autonomy: String,
    /// The executor.
    pub tool: String,
    /// Its version.
    pub version: String,
    /// Its arguments.
    pub args: Vec<Argument>,
    /// Leave for the call and for what it changes.
    pub leave: Vec<Leave>,
}

/// What a turn's events say about one of its steps.
pub fn account(events: &[Recorded], step: u32) -> Account {
    let mut account = Account::default();
    let mut tools = BTreeMap::new();
    for recorded in events {
        if account.seq == 0 {
            (account.seq, account.time) = (recorded.seq, recorded.time.0);
            (account.actor, account.cause) = (recorded.actor.clone(), recorded.cause);
        }
        if let Some(event) = recorded.event() {
            account.take(event, recorded.time, step, &mut tools);
        }
    }
    account
}

impl Account {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others say nothing about why")]
    fn take(&mut self, event: &Event, time: Micros, wanted: u32, tools: &mut BTreeMap<u32, String>) {
        let answer = match event {
            Event::TurnOpened(opened) => {
                self.text = Some(opened.text.clone());
                self.is_given = opened.given.is_some();
                (self.channel, self.address) = (opened.channel.clone(), opened.address.clone());
                self.autonomy.clone_from(&opened.autonomy);
                return;
            }
            Event::TurnResumed(resumed) => {
                self.text = resumed.text.clone().or(self.text.take());
                return;
            }
            Event::StepProposed(proposed) => {
                tools.insert(proposed.step, proposed.tool.clone());
                if proposed.step == wanted {
                    self.tool.clone_from(&proposed.tool);
                }
                return;
            }
            Event::ArgumentsResolved(resolved) if resolved.step == wanted => {
                self.version.clone_from(&resolved.version);
                let args = resolved.args.value().unwrap_or_default();
                self.args = self.arguments(&args, &resolved.provenance.0, tools);
                return;
            }
            Event::VerdictGiven(verdict) if verdict.step == wanted => {
                let verdict = Some(verdict.clone());
                let about = verdict.as_ref().map(|verdict| verdict.about.clone()).unwrap_or_default();
                return self.leave.push(Leave { about, verdict, asked: None, answer: None });
            }
            Event::ConsentAsked(asked) if asked.step == wanted => {
                let leave = self.leave.iter_mut().rev().find(|leave| leave.about == asked.about);
                let asked_at = Some((asked.clone(), time.0));
                if let Some(leave) = leave {
                    (leave.asked, leave.answer) = (asked_at, None);
                } else {
                    let about = asked.about.clone();
                    self.leave.push(Leave { about, verdict: None, asked: asked_at, answer: None });
                }
                return;
            }
            Event::ConsentGiven(given) => (&given.digest, "yes", &given.by),
            Event::ConsentDenied(denied) => (&denied.digest, "no", &denied.by),
            Event::ConsentExpired(expired) => (&expired.digest, "nobody", &expired.why),
            _ => return,
        };
        let (digest, what, by) = answer;
        let is_meant = |leave: &&mut Leave| leave.asked.as_ref().is_some_and(|(asked, _)| asked.digest == *digest);
        if let Some(leave) = self.leave.iter_mut().rev().find(is_meant) {
            leave.answer = Some((what, by.clone(), time.0));
        }
    }

    fn arguments(&self, args: &Value, provenance: &Value, tools: &BTreeMap<u32, String>) -> Vec<Argument> {
        let origins = provenance.as_object().into_iter().flatten();
        let argument = |(pointer, origin): (&String, &Value)| {
            let origin = serde_json::from_value::<Origin>(origin.clone()).ok()?;
            let value = args.pointer(pointer).cloned().unwrap_or_default();
            Some(Argument { pointer: pointer.clone(), value, origin: self.origin(origin, tools) })
        };
        origins.filter_map(argument).collect()
    }

    fn origin(&self, origin: Origin, tools: &BTreeMap<u32, String>) -> From {
        match origin {
            Origin::Words { start, end } => {
                let words = self.text.as_deref().and_then(|text| text.get(start as usize..end as usize));
                From::Words { words: words.unwrap_or_default().to_owned() }
            }
            Origin::Step { step, path } => {
                From::Step { step, tool: tools.get(&step).cloned().unwrap_or_default(), path }
            }
            Origin::Configuration => From::Configuration,
            Origin::Default => From::Default,
            Origin::Model => From::Model,
        }
    }
}

/// Where to look for what led to an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// This event.
    Event(EventId),
    /// The first event of this turn.
    Opening(TurnId),
    /// The newest event of one of these kinds in this stream, before the event itself.
    Before(String, &'static [&'static str]),
    /// The admission of this key.
    Admission(String),
}

/// What led to an event, the nearest first; nothing for what began by itself.
pub fn links(recorded: &Recorded) -> Vec<Link> {
    let mut found = Vec::new();
    let stream = |kinds: &'static [&'static str]| Link::Before(recorded.stream.clone(), kinds);
    match recorded.event() {
        Some(Event::MessageSent(sent)) => found.push(Link::Event(sent.message)),
        Some(Event::DeliveryStarted(started)) => found.push(Link::Event(started.message)),
        Some(Event::DeliveryFailed(failed)) => found.push(Link::Event(failed.message)),
        Some(Event::UpdateSettled(settled)) => found.push(Link::Event(settled.update)),
        Some(Event::DocumentReceived(received)) => found.push(Link::Event(received.update)),
        Some(Event::ButtonPressed(pressed)) => found.push(Link::Event(pressed.update)),
        Some(Event::MessageQueued(message)) => {
            found.extend(message.bound.as_ref().map(|bound| Link::Opening(bound.turn)));
            found.extend(message.for_event.map(Link::Event));
        }
        Some(Event::ProgressShown(shown)) => found.push(Link::Opening(shown.turn)),
        Some(Event::ConsentGiven(_) | Event::ConsentDenied(_) | Event::ConsentExpired(_)) => {
            found.push(stream(&["consent_asked"]));
        }
        Some(Event::ConsentAsked(_)) => found.push(stream(&["verdict_given"])),
        Some(Event::EffectCommitted(_) | Event::EffectsCommitted(_)) => found.push(stream(&["effects_planned"])),
        Some(Event::VerdictGiven(_)) => found.push(stream(&["arguments_resolved", "invocation_finished"])),
        Some(Event::InvocationFinished(_)) => found.push(stream(&["invocation_started"])),
        Some(Event::InvocationStarted(_) | Event::EffectsPlanned(_)) => {
            found.push(stream(&["consent_given", "verdict_given"]));
        }
        Some(Event::ArgumentsResolved(_)) => found.push(stream(&["step_proposed"])),
        Some(Event::StepProposed(_)) => found.push(stream(&["plan_proposed", "model_answered"])),
        Some(Event::ScheduleCreated(created)) => {
            found.extend(created.turn.as_ref().and_then(|turn| turn.parse().ok()).map(Link::Opening));
        }
        Some(Event::SlotClaimed(_)) => {
            found.push(stream(&["schedule_modified", "schedule_created"]));
        }
        Some(Event::SlotSettled(_) | Event::SlotDelivered(_)) => found.push(stream(&["slot_claimed"])),
        Some(Event::LifeCycleChanged(_) | Event::VersionPromoted(_)) => found.push(stream(&["executor_signed"])),
        Some(Event::ExecutorSigned(signed)) => found.push(Link::Admission(signed.key_id.clone())),
        Some(Event::KeyRevoked(revoked)) => found.push(Link::Admission(revoked.key_id.clone())),
        Some(Event::GrantRevoked(_)) => found.push(stream(&["grant_given"])),
        Some(Event::AddressBound(_)) => found.push(stream(&["pairing_issued"])),
        _ => {}
    }
    // Within a turn everything follows from its opening, and that from what the turn was begun for.
    found.extend(recorded.turn.filter(|_| recorded.kind != "turn_opened").map(Link::Opening));
    found.extend(recorded.cause.map(Link::Event));
    found
}

#[cfg(test)]
mod tests {
    use metnos_log::event::turn::{EffectCommitted, EffectsPlanned, Reversed};
    use metnos_log::{Kept, Micros};
    use serde_json::json;

    use super::*;
    use crate::projection::recorded;

    /// A turn that plans these changes and makes them all.
    fn made(ops: &[PlannedOp]) -> Vec<Recorded> {
        let planned = EffectsPlanned { step: 1, ops: Kept::json(&json!(ops)) };
        let mut events: Vec<Event> = vec![planned.into()];
        for index in (0..).take(ops.len()) {
            events.push(EffectCommitted { step: 1, index, outcome: "done".to_owned(), failure: None }.into());
        }
        (1..).zip(events).map(|(seq, event)| recorded(seq, 0, event)).collect()
    }

    fn op(op: &str, path: &str, dst: Option<&str>) -> PlannedOp {
        PlannedOp { op: op.to_owned(), path: path.to_owned(), dst: dst.map(str::to_owned), ..PlannedOp::default() }
    }

    fn back(of: u8, back: PlannedOp) -> PlannedOp {
        PlannedOp { reverses: Some(Reversed { turn: turn(of).to_string(), step: 1, index: 0 }), ..back }
    }

    fn turn(number: u8) -> TurnId {
        TurnId::new(Micros(i64::from(number) * 1000), [number; 10])
    }

    /// Turns, oldest first; what touched the path is told as turn, change, and by which turn it was taken back.
    #[track_caller]
    fn check(path: &str, turns: &[PlannedOp], expected: &[(u8, &str, Option<u8>)]) {
        let mut trail = Trail::of(path);
        let mut found = Vec::new();
        for (number, op) in (1..).zip(turns).collect::<Vec<_>>().into_iter().rev() {
            found.extend(trail.take(turn(number), &made(std::slice::from_ref(op))));
        }
        let found: Vec<_> = found.iter().map(|touch| (touch.turn, touch.op.op.as_str(), touch.undone_by)).collect();
        let expected: Vec<_> =
            expected.iter().map(|(number, op, undone)| (turn(*number), *op, undone.map(turn))).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_file_is_followed_back_through_its_moves_and_those_of_its_folder() {
        let turns = [
            op("write", "/h/a", None),
            op("write", "/h/other", None),
            op("move", "/h/a", Some("/h/in/b")),
            op("move", "/h/in", Some("/h/out")),
            op("append", "/h/out/b", None),
        ];
        let all = [(5, "append", None), (4, "move", None), (3, "move", None), (1, "write", None)];
        check("/h/out/b", &turns, &all);
        check("/h/a", &turns, &[(3, "move", None), (1, "write", None)]);
        check("/h/aa", &turns, &[]);
    }

    #[test]
    fn an_undo_that_was_undone_takes_nothing_back() {
        let write = op("write", "/h/a", None);
        let undo = back(1, op("delete", "/h/a", None));
        let again = back(2, op("write", "/h/a", None));
        check("/h/a", &[write.clone(), undo.clone()], &[(2, "delete", None), (1, "write", Some(2))]);
        check("/h/a", &[write, undo, again], &[(3, "write", None), (2, "delete", Some(3)), (1, "write", None)]);
    }

    #[test]
    fn a_folder_is_touched_by_what_happens_in_it() {
        check("/h", &[op("write", "/h/x/y", None), op("mkdir", "/hh", None)], &[(1, "write", None)]);
        check("/", &[op("write", "/h/x/y", None)], &[(1, "write", None)]);
        check("/h/x/y", &[op("mkdir", "/h/x", None), op("delete", "/h", Some("/t/1"))], &[(2, "delete", None)]);
    }
}
