//! How late a slot may be, and how long its question waits, where nobody says.

use crate::rules::cadence::{Cadence, Zone};

/// How late a single moment may still be run: a reminder is worth something a day later too.
pub const ONCE_GRACE_S: u32 = 24 * 3600;
/// The latest that what comes again is still run.
const GRACE_MAX_S: u32 = 3600;
/// The longest that a question waits for an answer.
const PATIENCE_MAX_S: u32 = 12 * 3600;
/// The shortest, and how long before the next slot it ends.
const PATIENCE_MIN_S: u32 = 60;

/// How far apart slots are, in seconds, by the next two; none where no second one comes.
fn period_s(cadence: &Cadence, (now, anchor): (i64, i64), zone: &Zone) -> Option<u32> {
    match cadence.firings(now, anchor, zone, 2).as_slice() {
        [first, second] => u32::try_from((second - first) / 1_000_000).ok(),
        _ => None,
    }
}

/// How late a slot may be run, in seconds: a quarter of the time to the next, an hour at most. What changes something is
/// done at its time or not at all.
pub fn grace_s(cadence: &Cadence, moment: (i64, i64), zone: &Zone, acts: bool) -> u32 {
    match period_s(cadence, moment, zone) {
        _ if !cadence.recurs() => ONCE_GRACE_S,
        _ if acts => 0,
        Some(period) => (period / 4).min(GRACE_MAX_S),
        None => GRACE_MAX_S,
    }
}

/// How long the question of a slot waits, in seconds: half a day, or until shortly before the next slot.
pub fn patience_s(cadence: &Cadence, moment: (i64, i64), zone: &Zone) -> u32 {
    let period = period_s(cadence, moment, zone).filter(|_| cadence.recurs());
    let until = period.map_or(PATIENCE_MAX_S, |period| period.saturating_sub(PATIENCE_MIN_S));
    until.clamp(PATIENCE_MIN_S, PATIENCE_MAX_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_follow_how_often_it_comes() {
        let zone = Zone::named("Europe/Rome").unwrap();
        for (cadence, grace, patience) in [
            ("0 8 * * *", 3600, 12 * 3600),
            ("0 8 * * 1", 3600, 12 * 3600),
            ("0 * * * *", 900, 3540),
            ("every_10_minutes", 150, 540),
            ("* * * * *", 15, 60),
            ("at:2027-01-01T08:00:00Z", ONCE_GRACE_S, 12 * 3600),
        ] {
            let cadence = Cadence::read(cadence, &zone).unwrap();
            let moment = (1_795_305_600_000_000, 1_795_305_600_000_000);
            assert_eq!(grace_s(&cadence, moment, &zone, false), grace, "{cadence}");
            assert_eq!(patience_s(&cadence, moment, &zone), patience, "{cadence}");
            let acting = grace_s(&cadence, moment, &zone, true);
            assert_eq!(acting, if cadence.recurs() { 0 } else { ONCE_GRACE_S });
        }
    }
}
