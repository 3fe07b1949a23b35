//! What the record keeps for a while only (design 2-log, «Retention»): long texts of the classes that the settings give a number
//! of days. A file that is read every day must not fill the disk for ever.
//!
//! The long text goes, and the long answer of a turn that such a text was returned to; the event that names it stays, and an
//! `erased` event says which went. Everything else is kept.

use std::collections::{BTreeMap, BTreeSet};

use metnos_log::event::instance::Erased;
use metnos_log::event::retention::Class;
use metnos_log::store::ReadError;
use metnos_log::{AppendError, BlobHash, Draft, EventId, Micros};

use crate::instance::{Instance, random};

const DAY_US: i64 = 86_400_000_000;

/// Why nothing expired.
#[derive(Debug, thiserror::Error)]
pub enum ExpiryError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The log cannot be written.
    #[error(transparent)]
    Append(#[from] AppendError),
}

/// What is past its time.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// After how many days texts of this class go.
    pub days: u32,
    /// The events that name them.
    pub seqs: BTreeSet<u64>,
    /// The texts.
    pub blobs: BTreeSet<BlobHash>,
}

/// What has expired by now, by class, as the settings say; changes nothing.
pub fn due(instance: &Instance, now: Micros) -> Result<BTreeMap<Class, Due>, ExpiryError> {
    let retention = instance.settings.retention;
    let is_past = |class: Class, time: Micros| {
        let border = retention.days(class).map(|days| now.0.saturating_sub(i64::from(days) * DAY_US));
        border.is_some_and(|border| time.0 < border)
    };
    let reader = instance.log.reader();
    let (mut old, mut kept, mut observed) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    reader.each(1, |mut recorded| {
        let (seq, time, turn) = (recorded.seq, recorded.time, recorded.turn);
        for event in recorded.events_mut() {
            let mut of_class = event.expiring();
            if let Some(turn) = turn {
                if of_class.iter().any(|(class, _)| *class == Class::Observation) {
                    observed.insert(turn);
                }
                let answer = event.answer().filter(|_| observed.contains(&turn));
                of_class.extend(answer.map(|blob| (Class::Observation, blob)));
            }
            let expires: BTreeMap<BlobHash, Class> = of_class
                .into_iter()
                .filter(|(class, _)| is_past(*class, time))
                .map(|(class, blob)| (blob, class))
                .collect();
            kept.extend(event.blobs().into_iter().filter(|blob| !expires.contains_key(blob)));
            old.extend(expires.into_iter().map(|(blob, class)| (seq, blob, class)));
        }
        Ok::<bool, ExpiryError>(true)
    })?;
    // One that something else names, or a newer event of the same kind, stays for their sake.
    let mut due: BTreeMap<Class, Due> = BTreeMap::new();
    for (seq, blob, class) in old.into_iter().filter(|(_, blob, _)| !kept.contains(blob)) {
        if reader.has_blob(blob)? {
            let due = due.entry(class).or_default();
            due.days = retention.days(class).unwrap_or_default();
            due.seqs.insert(seq);
            due.blobs.insert(blob);
        }
    }
    Ok(due)
}

/// Takes out what has expired by now; how many texts went.
pub fn expire(instance: &Instance, now: Micros) -> Result<usize, ExpiryError> {
    let due = due(instance, now)?;
    let count = due.values().flat_map(|due| &due.blobs).collect::<BTreeSet<_>>().len();
    for (class, due) in due {
        let record = Erased {
            selector: Erased::EXPIRY.to_owned(),
            of: class.name().to_owned(),
            seqs: due.seqs.iter().map(|seq| (*seq, *seq)).collect(),
            blobs: due.blobs.iter().copied().collect(),
            reason: format!("kept for {} day{}", due.days, if due.days == 1 { "" } else { "s" }),
            by: instance.actor.clone(),
        };
        let record = Draft {
            id: EventId::new(now, random()),
            time: now,
            stream: "instance".to_owned(),
            actor: instance.actor.clone(),
            turn: None,
            cause: None,
            event: record.into(),
            blobs: Vec::new(),
        };
        instance.log.drop_blobs(due.blobs, record)?;
    }
    instance.catch_up()?;
    Ok(count)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use metnos_log::event::model::ModelAsked;
    use metnos_log::event::turn::{InvocationFinished, TurnClosed};
    use metnos_log::{Append, Event, Expect, Kept, TurnId};

    use super::*;
    use crate::config::keeping::Retention;
    use crate::config::{Flags, Variables};

    fn finished(text: &str) -> Event {
        let result = Kept::text(text);
        InvocationFinished {
            trace_id: String::new(),
            step: 1,
            ok: true,
            class: None,
            result,
            effects: Vec::new(),
            checks: Vec::new(),
            duration_us: 0,
            cage: serde_json::json!({}).into(),
            connections: serde_json::json!([]).into(),
            diagnostics: Kept::text(""),
            changes: Kept::default(),
            may_do_less: false,
        }
        .into()
    }

    fn asked(text: &str) -> Event {
        let words = || "x".to_owned();
        ModelAsked {
            ask: 1,
            role: words(),
            tier: words(),
            provider: words(),
            model: words(),
            template: words(),
            tools: words(),
            parameters: serde_json::json!({}).into(),
            body: Kept::text(text),
        }
        .into()
    }

    #[test]
    fn long_observations_go_after_their_time_and_nothing_else_does() {
        let place = tempfile::tempdir().unwrap();
        let variables = Variables { user_home: Some(place.path().to_owned()), ..Variables::default() };
        let home = place.path().join("home");
        let mut instance = Instance::open(Some(&home), &Flags::default(), &variables, Duration::ZERO).unwrap();
        let long = |letter: &str| letter.repeat(20_000);
        let closed = TurnClosed {
            final_kind: "answer".to_owned(),
            class: None,
            message: Kept::text(long("m")),
            counts: BTreeMap::new(),
        };
        let day = 200 * DAY_US;
        let said: [(i64, Event); 7] = [
            (0, finished(&long("a"))),
            (0, finished(&long("b"))),
            (0, finished("short")),
            (0, closed.into()),
            (150 * DAY_US, finished(&long("b"))),
            (150 * DAY_US, finished(&long("c"))),
            (150 * DAY_US, asked(&long("d"))),
        ];
        let drafts = said.into_iter().zip(1..).map(|((time, event), number)| Draft {
            id: EventId([number; 16]),
            time: Micros(time),
            stream: format!("turn/{number}"),
            actor: "host".to_owned(),
            turn: None,
            cause: None,
            event,
            blobs: Vec::new(),
        });
        instance.log.append(Append { events: drafts.collect(), expect: Expect::Any }).unwrap();
        instance.catch_up().unwrap();
        let first = instance.log.head().size - 6;
        let usual = instance.settings.retention;
        instance.settings.retention = Retention { observations: None, models: None };
        assert_eq!(expire(&instance, Micros(i64::MAX)).unwrap(), 0, "never is never");
        instance.settings.retention = usual;
        let due = due(&instance, Micros(day)).unwrap();
        assert_eq!(due.keys().copied().collect::<Vec<_>>(), [Class::Observation]);
        assert_eq!((due[&Class::Observation].days, &due[&Class::Observation].seqs), (90, &BTreeSet::from([first])));
        assert_eq!(expire(&instance, Micros(day)).unwrap(), 1);
        assert_eq!(expire(&instance, Micros(day)).unwrap(), 0, "once");
        let reader = instance.log.reader();
        let is_whole = |place: u64| {
            let recorded = reader.rehydrated(reader.event(first + place).unwrap().unwrap()).unwrap();
            recorded.event().unwrap().is_whole()
        };
        assert_eq!([0, 1, 2, 3, 4, 5].map(is_whole), [false, true, true, true, true, true]);
        let verified = reader.verify(|_, _| {}).unwrap();
        assert_eq!((verified.blobs_erased, verified.erased), (1, 0));
        // What models say is kept until someone says for how long.
        instance.settings.retention = Retention { observations: Some(40), models: Some(10) };
        assert_eq!(expire(&instance, Micros(day)).unwrap(), 3, "two observations and a request");
        assert_eq!([0, 3, 4, 5, 6].map(is_whole), [false, true, false, false, false]);
        let reasons = reader.stream("instance").unwrap().into_iter().filter_map(|recorded| match recorded.event() {
            Some(Event::Erased(erased)) => Some((erased.of.clone(), erased.reason.clone())),
            _ => None,
        });
        let said = [("observation", "90"), ("observation", "40"), ("model", "10")];
        let said = said.map(|(class, days)| (class.to_owned(), format!("kept for {days} days")));
        assert_eq!(reasons.collect::<Vec<_>>(), said);
        reader.verify(|_, _| {}).unwrap();
    }

    /// A file that is read every day and answered in full: the answer is the text again, and went for ever into each day's turn.
    #[test]
    fn a_long_answer_goes_with_what_it_quotes_and_one_of_no_such_turn_stays() {
        let place = tempfile::tempdir().unwrap();
        let variables = Variables { user_home: Some(place.path().to_owned()), ..Variables::default() };
        let home = place.path().join("home");
        let instance = Instance::open(Some(&home), &Flags::default(), &variables, Duration::ZERO).unwrap();
        let first = instance.log.head().size + 1;
        let long = |words: &str| format!("{words} ").repeat(4_000);
        let closed = |text: String| -> Event {
            let (final_kind, message) = ("answer".to_owned(), Kept::text(text));
            TurnClosed { final_kind, class: None, message, counts: BTreeMap::new() }.into()
        };
        let said = [
            // In other words, in the same, from nothing that was read, and from a short text.
            (1, finished(&long("first day"))),
            (1, closed(format!("It says: {}", long("first day")))),
            (2, finished(&long("second day"))),
            (2, closed(long("second day"))),
            (3, closed(long("a poem"))),
            (4, finished("short")),
            (4, closed(long("an essay"))),
        ];
        let drafts = said.into_iter().zip(1..).map(|((turn, event), number)| Draft {
            id: EventId([number; 16]),
            time: Micros(0),
            stream: format!("day/{number}"),
            actor: "host".to_owned(),
            turn: Some(TurnId([turn; 16])),
            cause: None,
            event,
            blobs: Vec::new(),
        });
        instance.log.append(Append { events: drafts.collect(), expect: Expect::Any }).unwrap();
        assert_eq!(expire(&instance, Micros(80 * DAY_US)).unwrap(), 0, "not yet");
        assert_eq!(expire(&instance, Micros(100 * DAY_US)).unwrap(), 3, "two texts, and one answer that is no copy");
        let reader = instance.log.reader();
        let is_whole = |place: u64| {
            let recorded = reader.rehydrated(reader.event(first + place).unwrap().unwrap()).unwrap();
            recorded.event().unwrap().is_whole()
        };
        assert_eq!([0, 1, 2, 3, 4, 5, 6].map(is_whole), [false, false, false, false, true, true, true]);
        let verified = reader.verify(|_, _| {}).unwrap();
        assert_eq!((verified.blobs_erased, verified.erased), (4, 0), "one of them is named twice");
    }
}
