//! What the record keeps for a while only (design 2-log, «Retention»): long observations. A file that is read every day must not
//! fill the disk for ever.
//!
//! The long text goes, the event that names it stays, and an `erased` event says which went. Everything else is kept.

use std::collections::BTreeSet;

use metnos_log::event::instance::Erased;
use metnos_log::store::ReadError;
use metnos_log::{AppendError, BlobHash, Draft, Event, EventId, Micros};

use crate::instance::{Instance, random};

/// How long an observation of more than 16 KiB is kept, in days.
const DAYS: i64 = 90;
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

/// Takes out what has expired by now; how many texts went.
pub fn expire(instance: &Instance, now: Micros) -> Result<usize, ExpiryError> {
    let border = now.0.saturating_sub(DAYS * DAY_US);
    let reader = instance.log.reader();
    let (mut old, mut kept) = (Vec::new(), BTreeSet::new());
    reader.each(1, |recorded| {
        let mut body = recorded.body;
        if let metnos_log::envelope::Body::Known(event) = &mut body {
            let expires = if recorded.time.0 < border { observations(event) } else { Vec::new() };
            kept.extend(event.blobs().into_iter().filter(|blob| !expires.contains(blob)));
            old.extend(expires.into_iter().map(|blob| (recorded.seq, blob)));
        }
        Ok::<bool, ExpiryError>(true)
    })?;
    // One that something else names, or a newer event of the same kind, stays for their sake.
    let mut gone = Vec::new();
    for (seq, blob) in old.into_iter().filter(|(_, blob)| !kept.contains(blob)) {
        if reader.has_blob(blob)? {
            gone.push((seq, blob));
        }
    }
    let blobs: BTreeSet<BlobHash> = gone.iter().map(|(_, blob)| *blob).collect();
    if blobs.is_empty() {
        return Ok(0);
    }
    let record = Erased {
        selector: Erased::EXPIRY.to_owned(),
        of: "observation".to_owned(),
        seqs: gone.iter().map(|(seq, _)| *seq).collect::<BTreeSet<u64>>().into_iter().map(|seq| (seq, seq)).collect(),
        blobs: blobs.iter().copied().collect(),
        reason: format!("kept for {DAYS} days"),
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
    let count = blobs.len();
    instance.log.drop_blobs(blobs, record)?;
    instance.catch_up()?;
    Ok(count)
}

/// The blobs of an event that hold what was observed.
fn observations(event: &Event) -> Vec<BlobHash> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest is kept")]
    let fields = match event {
        Event::InvocationFinished(finished) => [finished.result.blob(), finished.diagnostics.blob()],
        Event::ObservationKept(kept) => [kept.shown.blob(), None],
        _ => [None, None],
    };
    fields.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use metnos_log::event::turn::{InvocationFinished, TurnClosed};
    use metnos_log::{Append, Expect, Kept};

    use super::*;
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
        }
        .into()
    }

    #[test]
    fn long_observations_go_after_their_time_and_nothing_else_does() {
        let place = tempfile::tempdir().unwrap();
        let variables = Variables { user_home: Some(place.path().to_owned()), ..Variables::default() };
        let home = place.path().join("home");
        let instance = Instance::open(Some(&home), &Flags::default(), &variables, Duration::ZERO).unwrap();
        let long = |letter: &str| letter.repeat(20_000);
        let closed = TurnClosed {
            final_kind: "answer".to_owned(),
            class: None,
            message: Kept::text(long("m")),
            counts: BTreeMap::new(),
        };
        let day = 200 * DAY_US;
        let said: [(i64, Event); 6] = [
            (0, finished(&long("a"))),
            (0, finished(&long("b"))),
            (0, finished("short")),
            (0, closed.into()),
            (150 * DAY_US, finished(&long("b"))),
            (150 * DAY_US, finished(&long("c"))),
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
        let first = instance.log.head().size - 5;
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
    }
}
