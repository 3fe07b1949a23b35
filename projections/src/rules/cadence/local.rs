//! Cron in the time that clocks show, through their jumps.
//!
//! The pattern is matched against clock times alone; what a jump does is said here. A fixed time that a jump leaves out
//! fires at the first minute after it; one that comes twice fires the first time. An interval fires each time that its
//! clock time is shown: no real interval is left out.

use croner::Cron;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

/// The most jumps that are looked across for one firing: some thousand years of them.
const JUMPS_MAX: usize = 4096;

/// The stretch between two jumps: clocks are `offset` ahead of UTC in it.
struct Stretch {
    offset: Offset,
    /// Its first moment, and how far clocks were ahead before it.
    from: Option<(Timestamp, Offset)>,
    /// The first moment after it.
    until: Option<Timestamp>,
}

impl Stretch {
    fn of(moment: Timestamp, zone: &TimeZone) -> Self {
        let offset = zone.to_offset(moment);
        let after = moment.checked_add(SignedDuration::from_nanos(1)).unwrap_or(moment);
        let from = zone.preceding(after).next().map(|jump| jump.timestamp());
        let before = |from: Timestamp| {
            let before = from.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(from);
            (from, zone.to_offset(before))
        };
        Self { offset, from: from.map(before), until: zone.following(moment).next().map(|jump| jump.timestamp()) }
    }

    /// Up to where its clock times were shown already before it.
    fn shown_before(&self) -> Option<DateTime> {
        let (from, before) = self.from?;
        (before > self.offset).then(|| before.to_datetime(from))
    }
}

/// The first firing after `after`.
pub(super) fn next(cron: &Cron, is_interval: bool, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let mut stretch = Stretch::of(after, zone);
    let mut lower = stretch.offset.to_datetime(after);
    let mut inclusive = false;
    for _ in 0..JUMPS_MAX {
        if let Some(shown) = stretch.shown_before().filter(|shown| !is_interval && lower < *shown) {
            (lower, inclusive) = (shown, true);
        }
        let fits = cron.find_next_occurrence(&lower, inclusive).ok()?;
        let moment = stretch.offset.to_timestamp(fits).ok()?;
        let Some(jump) = stretch.until.filter(|until| moment >= *until) else { return Some(moment) };
        let entered = Stretch::of(jump, zone);
        let shows = entered.offset.to_datetime(jump);
        if fits < shows {
            return Some(jump);
        }
        (stretch, lower, inclusive) = (entered, shows, true);
    }
    None
}

/// The moment at which clocks show a time: the first of two, and the first minute after a jump that leaves it out.
pub(super) fn instant(civil: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    match zone.to_ambiguous_timestamp(civil).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(civil).ok(),
        AmbiguousOffset::Fold { before, .. } => before.to_timestamp(civil).ok(),
        // As clocks ran before the jump, the time would come after it.
        AmbiguousOffset::Gap { before, .. } => {
            Stretch::of(before.to_timestamp(civil).ok()?, zone).from.map(|(jump, _)| jump)
        }
    }
}
