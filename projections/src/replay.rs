//! Replay: folds the history again and decides every recorded turn again, with all effects left out.
//!
//! Facts are taken from their events; decisions are computed and compared. With the rules of then, a difference is an
//! error; a turn that other rules decided is only checked for order (design 1-architecture, «The loop»).

use std::collections::{BTreeMap, VecDeque};

use metnos_log::envelope::{Body, REDACTED};
use metnos_log::{Event, Recorded, TurnId};
use serde_json::Value;

use crate::machines::catalog::{Catalog, Version};
use crate::machines::turn::{Command, Context, Phase, Turn, decide};
use crate::projection::Projection;
use crate::rules::Rules;
use crate::rules::simple::{Tool, Tools};

/// Why an epoch opened, where the log was made of what was sound in a damaged one.
const SALVAGED: &str = "salvaged";

/// The planner's index of a catalog.
pub fn tools(catalog: &Catalog) -> Tools {
    Tools::new(catalog.all_active().filter_map(|(_, _, version)| tool(version)).collect(), catalog.digest())
}

/// The same with what is switched off: what a sentence would run if it were not.
pub fn tools_and_disabled(catalog: &Catalog) -> Tools {
    let active = catalog.all_active().map(|(_, _, version)| version);
    let all = active.chain(catalog.all_disabled().map(|(_, version)| version));
    Tools::new(all.filter_map(tool).collect(), catalog.digest())
}

fn tool(version: &Version) -> Option<Tool> {
    Some(Tool { manifest: version.manifest()?, input: version.definition("Input").unwrap_or(Value::Null) })
}

/// The first place where a turn's record and its replay part.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The event's number.
    pub seq: u64,
    /// The turn.
    pub turn: TurnId,
    /// What the log says: label and payload.
    pub recorded: Option<(String, Value)>,
    /// What the rules say: label and payload.
    pub computed: Option<(String, Value)>,
    /// Why nothing could be computed, where that is so.
    pub note: Option<String>,
}

/// What a replay found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Events folded.
    pub events: u64,
    /// Turns decided again, with equal outcome or not.
    pub turns: u64,
    /// Turns that other rules decided.
    pub by_other_rules: u64,
    /// Turns whose text was erased or redacted.
    pub not_decidable: u64,
    /// Events of turns whose kind or schema this program does not know.
    pub unknown: u64,
    /// Turns that have not ended.
    pub open: u64,
    /// First difference of each turn that has one.
    pub differences: Vec<Difference>,
}

/// How one turn fares.
#[derive(Default)]
struct Course {
    turn: Turn,
    expected: VecDeque<Event>,
    /// Compared no more: it differed, or cannot be decided.
    released: bool,
    /// A difference of it was reported, or nothing can be said of it.
    reported: bool,
    /// It ended, and how was erased.
    is_over: bool,
    last_seq: u64,
}

/// Replays a history event by event.
pub struct Checker<'r> {
    rules: &'r Rules,
    strict: bool,
    catalog: Catalog,
    tools: Option<(u64, Tools)>,
    courses: BTreeMap<TurnId, Course>,
    /// Up to here lie events from behind a gap: what they go on from, and what they were decided by, may be lost.
    behind_gap: u64,
    report: Report,
}

impl<'r> Checker<'r> {
    /// Checks against these rules. `strict` compares turns of other rules too.
    pub fn new(rules: &'r Rules, strict: bool) -> Self {
        let (catalog, courses, report) = (Catalog::default(), BTreeMap::new(), Report::default());
        Self { rules, strict, catalog, tools: None, courses, behind_gap: 0, report }
    }

    /// Takes the next event, its blobs fetched.
    pub fn take(&mut self, recorded: &Recorded) {
        self.report.events += 1;
        recorded.each(|recorded| match recorded.turn {
            Some(id) => self.take_of_turn(id, recorded),
            None => self.take_of_instance(recorded),
        });
    }

    fn take_of_instance(&mut self, recorded: &Recorded) {
        if let Some(Event::EpochOpened(epoch)) = recorded.event()
            && epoch.reason == SALVAGED
        {
            self.interrupt();
            let again = epoch.again.filter(|_| !epoch.lost.is_empty()).unwrap_or_default();
            self.behind_gap = recorded.seq.saturating_add(again);
        }
        self.catalog.evolve(recorded);
    }

    /// What followed in turns that are open here may be lost: nothing more is said of them.
    fn interrupt(&mut self) {
        let mut courses = std::mem::take(&mut self.courses);
        for course in courses.values_mut().filter(|course| course.turn.final_kind.is_none() && !course.is_over) {
            self.release(course);
            course.reported = true;
        }
        self.courses = courses;
    }

    fn take_of_turn(&mut self, id: TurnId, recorded: &Recorded) {
        let known = self.courses.remove(&id);
        let is_behind_gap = known.is_none() && recorded.seq <= self.behind_gap;
        let mut course = known.unwrap_or_default();
        course.last_seq = recorded.seq;
        if is_behind_gap {
            self.release(&mut course);
            // Nothing is said of a turn whose beginning is lost.
            course.reported = recorded.kind != "turn_opened";
        }
        match &recorded.body {
            // A long text that was erased or has expired.
            Body::Known(event) if !event.is_whole() => {
                self.start(&mut course, event, recorded.flags);
                self.release(&mut course);
                course.turn.apply(id, recorded.time, event);
            }
            Body::Known(event) => {
                self.start(&mut course, event, recorded.flags);
                if course.released {
                    self.hold_to_order(id, &mut course, recorded, event);
                } else {
                    self.compare(id, &mut course, recorded, event);
                }
                course.turn.apply(id, recorded.time, event);
            }
            // `each` gives none that was raised to several.
            Body::Unknown(_) | Body::Raised(_) => {
                self.report.unknown += 1;
                course.released = true;
            }
            Body::Erased => {
                if recorded.kind == "turn_opened" {
                    self.report.turns += 1;
                }
                self.release(&mut course);
                // The order of what is left says nothing any more.
                course.reported = true;
                course.is_over |= recorded.kind == "turn_closed";
            }
        }
        self.courses.insert(id, course);
    }

    /// Compares a turn no more, for something that it was decided by is gone.
    fn release(&mut self, course: &mut Course) {
        if !course.released {
            course.released = true;
            self.report.not_decidable += 1;
        }
        course.expected.clear();
    }

    /// Looks at whether a turn can be decided by these rules at all.
    fn start(&mut self, course: &mut Course, event: &Event, flags: u32) {
        if let Event::TurnOpened(opened) = event {
            self.report.turns += 1;
            if opened.rules_digest != self.rules.digest() && !self.strict && !course.released {
                course.released = true;
                self.report.by_other_rules += 1;
            }
        }
        // Of a decision too: what was decided is not what is there to be compared.
        if !course.released && flags & REDACTED != 0 {
            course.released = true;
            self.report.not_decidable += 1;
        }
    }

    fn compare(&mut self, id: TurnId, course: &mut Course, recorded: &Recorded, event: &Event) {
        let mut note = None;
        if course.expected.is_empty() {
            match Command::recorded(event) {
                None => note = Some("the log holds a decision that nothing led to".to_owned()),
                Some(command) => match self.decided(id, &course.turn, recorded, command) {
                    Ok(events) => course.expected = events.into(),
                    Err(rejection) => note = Some(rejection),
                },
            }
        }
        let computed = course.expected.pop_front();
        if computed.as_ref() == Some(event) {
            return;
        }
        course.released = true;
        course.reported = true;
        course.expected.clear();
        let said = |event: &Event| (event.label().to_owned(), event.to_json());
        self.report.differences.push(Difference {
            seq: recorded.seq,
            turn: id,
            recorded: Some(said(event)),
            computed: computed.as_ref().map(said),
            note,
        });
    }

    /// A turn that cannot be decided again must still have its events in a possible order.
    fn hold_to_order(&mut self, id: TurnId, course: &mut Course, recorded: &Recorded, event: &Event) {
        if course.reported || is_legal(course.turn.phase, event) {
            return;
        }
        course.reported = true;
        self.report.differences.push(Difference {
            seq: recorded.seq,
            turn: id,
            recorded: Some((event.label().to_owned(), event.to_json())),
            computed: None,
            note: Some(format!("this cannot follow in a turn that is {:?}", course.turn.phase)),
        });
    }

    fn decided(
        &mut self,
        id: TurnId,
        turn: &Turn,
        recorded: &Recorded,
        command: Command,
    ) -> Result<Vec<Event>, String> {
        if self.tools.as_ref().is_none_or(|(generation, _)| *generation != self.catalog.generation) {
            self.tools = Some((self.catalog.generation, tools(&self.catalog)));
        }
        let (_, tools) = self.tools.as_ref().expect("it was just made");
        let context = Context { rules: self.rules, catalog: &self.catalog, tools, time: recorded.time };
        decide(turn, id, context, command).map_err(|rejection| rejection.to_string())
    }

    /// What was found, and the catalog as replay built it.
    pub fn finish(mut self) -> (Report, Catalog) {
        for (id, course) in self.courses {
            if let Some(missing) = course.expected.front() {
                self.report.differences.push(Difference {
                    seq: course.last_seq,
                    turn: id,
                    recorded: None,
                    computed: Some((missing.label().to_owned(), missing.to_json())),
                    note: Some("the log lacks a decision that must follow".to_owned()),
                });
            }
            if course.turn.final_kind.is_none() && !course.is_over {
                self.report.open += 1;
            }
        }
        self.report.differences.sort_by_key(|difference| difference.seq);
        (self.report, self.catalog)
    }
}

/// Whether an event can happen where a turn stands, whatever the rules were.
#[expect(clippy::wildcard_enum_match_arm, reason = "the rest may stand anywhere in an open turn")]
fn is_legal(phase: Phase, event: &Event) -> bool {
    use Phase::{Asking, Calling, Closed, Committing, New, Planning, Preparing, Returned, Thinking, Waiting};
    let allowed: &[Phase] = match event {
        Event::TurnOpened(_) => &[New],
        Event::CandidatesRanked(_) | Event::PlanProposed(_) | Event::ModelAsked(_) => &[Planning],
        // Of a step, they come in place of its call.
        Event::DialogOpened(_) | Event::TurnSuspended(_) => &[Planning, Preparing, Asking],
        Event::StepProposed(_) => &[Planning, Returned],
        Event::ArgumentsResolved(_) => &[Preparing],
        Event::VerdictGiven(_) => &[Preparing, Returned],
        // Of a call in doubt, while it stands open.
        Event::ConsentAsked(_) => &[Preparing, Returned, Calling],
        Event::InvocationSettled(_) => &[Calling, Asking],
        Event::ConsentGiven(_) | Event::ConsentDenied(_) | Event::ConsentExpired(_) => &[Asking],
        Event::DialogAnswered(_) | Event::DialogExpired(_) | Event::DialogWithdrawn(_) | Event::TurnResumed(_) => {
            &[Waiting]
        }
        Event::InvocationStarted(_) => &[Preparing, Asking],
        Event::InvocationFinished(_) | Event::InvocationInDoubt(_) => &[Calling],
        Event::EffectsPlanned(_) => &[Returned, Asking],
        Event::EffectCommitted(_) | Event::EffectsCommitted(_) => &[Committing],
        Event::ModelAnswered(_) | Event::ModelFailed(_) => &[Thinking],
        Event::ObservationKept(_) => &[Planning, Preparing, Asking, Returned],
        Event::TurnCancelled(_) => &[Planning, Returned, Preparing, Asking, Calling, Committing, Thinking],
        _ => &[Planning, Thinking, Waiting, Preparing, Asking, Calling, Returned, Committing],
    };
    debug_assert!(!allowed.contains(&Closed), "nothing follows a closing");
    allowed.contains(&phase)
}
