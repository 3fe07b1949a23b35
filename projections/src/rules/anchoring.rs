//! Whether there is anything that a new anchor would say: what the program writes for its own upkeep is nothing.

use metnos_log::event::channel::MessageQueued;
use metnos_log::{Event, Recorded};

use crate::machines::schedules::{JOB, Schedules};

/// What a message that holds an anchor is for.
pub const ANCHOR: &str = "anchor";

/// Whether an event is a reason to anchor the log anew. The nightly jobs, what they leave, and the way of a message to its
/// chat are none: otherwise a home in which nobody lives would have an anchor every day, of the anchor before.
pub fn is_news(recorded: &Recorded, schedules: &Schedules) -> bool {
    let is_job = |id: &str| schedules.get(id).is_some_and(|schedule| schedule.contract.kind == JOB);
    if recorded.stream.strip_prefix("schedule/").is_some_and(is_job) {
        return false;
    }
    #[expect(clippy::wildcard_enum_match_arm, reason = "whatever else happens is news")]
    let is_upkeep = |event: &Event| match event {
        Event::MessageQueued(MessageQueued { purpose, .. }) => purpose == ANCHOR,
        Event::DeliveryStarted(_)
        | Event::MessageSent(_)
        | Event::MessageMaybeSent(_)
        | Event::DeliveryFailed(_)
        | Event::CheckpointAnchored(_)
        | Event::StateSnapshotTaken(_)
        | Event::AgerRun(_) => true,
        _ => false,
    };
    match recorded.events() {
        // Erased, or of a kind that is not known: something happened.
        [] => true,
        events => !events.iter().all(is_upkeep),
    }
}

#[cfg(test)]
mod tests {
    use metnos_log::Kept;
    use metnos_log::event::channel::MessageSent;
    use metnos_log::event::instance::{CheckpointAnchored, CredentialRemoved};
    use metnos_log::event::schedule::{Contract, ScheduleCreated, SlotClaimed};
    use metnos_log::{EventId, envelope::Body};

    use super::*;
    use crate::projection::{Projection as _, recorded};

    fn created(schedule: &str, kind: &str) -> Recorded {
        let contract = Contract { kind: kind.to_owned(), ..Contract::default() };
        let what = Kept::text("x");
        let event = ScheduleCreated { schedule: schedule.to_owned(), what, contract, turn: None };
        Recorded { stream: format!("schedule/{schedule}"), ..recorded(1, 0, event.into()) }
    }

    fn claimed(schedule: &str) -> Recorded {
        let (fire, by) = ("f".to_owned(), String::new());
        let event = SlotClaimed { schedule: schedule.to_owned(), slot: 7, fire, by, next: None };
        Recorded { stream: format!("schedule/{schedule}"), ..recorded(2, 0, event.into()) }
    }

    fn queued(purpose: &str) -> Event {
        MessageQueued {
            channel: "telegram".to_owned(),
            address: "7".to_owned(),
            purpose: purpose.to_owned(),
            text: Kept::text("x"),
            is_fixed: false,
            buttons: Vec::new(),
            bound: None,
            reply_to: None,
            for_event: None,
        }
        .into()
    }

    #[test]
    fn what_people_do_is_news_and_the_upkeep_is_not() {
        let mut schedules = Schedules::default();
        schedules.evolve(&created("expiry", JOB));
        schedules.evolve(&created("1", "query"));
        let (name, text) = (|| "x".to_owned(), |event: Event| recorded(3, 0, event));
        let anchored = CheckpointAnchored { size: 1, head: name(), place: name() };
        let sent = MessageSent { message: EventId([1; 16]), piece: 0, pieces: 1, receipt: 1 };
        for upkeep in [claimed("expiry"), text(queued(ANCHOR)), text(sent.into()), text(anchored.clone().into())] {
            assert!(!is_news(&upkeep, &schedules), "{upkeep:?}");
        }
        let removed: Event = CredentialRemoved { name: name() }.into();
        let several = Body::Raised(vec![anchored.into(), removed.clone()]);
        for news in [
            claimed("1"),
            text(queued("answer")),
            text(removed.clone()),
            Recorded { body: Body::Erased, ..text(removed.clone()) },
            Recorded { body: several, ..text(removed) },
        ] {
            assert!(is_news(&news, &schedules), "{news:?}");
        }
    }
}
