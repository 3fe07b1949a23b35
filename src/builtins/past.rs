//! Past turns as the log has them: each read from its events, the newest first. It writes nothing.

use metnos_log::event::turn::{ConsentAsked, VerdictGiven};
use metnos_log::store::ReadError;
use metnos_log::{Event, TurnId};
use metnos_projections::machines::turn::{Turn, stream};

use crate::instance::Instance;

/// The executors that answer questions about Metnos itself.
const ABOUT: &[&str] = &["list_skills", "find_tasks_done", "get_tasks_reason"];

/// A past turn, with what its state does not keep.
pub(super) struct Past {
    /// Its state after its last event.
    pub(super) turn: Turn,
    /// The last consent that was asked for, and how it was answered (`yes`, `no`, `nobody`; none while it is open).
    pub(super) consent: Option<(ConsentAsked, Option<&'static str>)>,
    /// The verdict before it.
    pub(super) verdict: Option<VerdictGiven>,
}

impl Past {
    /// Reads a turn.
    pub(super) fn read(instance: &Instance, id: TurnId) -> Result<Self, ReadError> {
        let reader = instance.log.reader();
        let mut past = Self { turn: Turn::default(), consent: None, verdict: None };
        for recorded in reader.stream(&stream(id))? {
            let recorded = reader.rehydrated(recorded)?;
            let Some(event) = recorded.event() else { continue };
            past.turn.apply(id, recorded.time, event);
            past.note(event);
        }
        Ok(past)
    }

    fn note(&mut self, event: &Event) {
        let answered = match event {
            Event::VerdictGiven(verdict) if self.consent.is_none() || verdict.policy == "ask" => {
                self.verdict = Some(verdict.clone());
                return;
            }
            Event::ConsentAsked(asked) => {
                self.consent = Some((asked.clone(), None));
                return;
            }
            Event::ConsentGiven(_) => "yes",
            Event::ConsentDenied(_) => "no",
            Event::ConsentExpired(_) => "nobody",
            _ => return,
        };
        if let Some((_, answer)) = &mut self.consent {
            *answer = Some(answered);
        }
    }

    /// Whether it only answered a question about Metnos itself.
    pub(super) fn is_about_itself(&self) -> bool {
        let planned = self.turn.plan.iter().flat_map(|plan| &plan.steps);
        let mut tools = planned.map(|step| step.tool.as_str()).peekable();
        tools.peek().is_some() && tools.all(|tool| ABOUT.contains(&tool))
    }

    /// What was asked for.
    pub(super) fn text(&self) -> &str {
        self.turn.text()
    }
}

/// A moment of the log as text, in UTC.
pub(super) fn moment(micros: i64) -> String {
    jiff::Timestamp::from_microsecond(micros).map(|time| time.to_string()).unwrap_or_default()
}
