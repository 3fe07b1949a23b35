//! Days and windows of time said in words, resolved against the moment and the zone that the caller gives.
//!
//! It uses the time-zone data that the binary carries, never the machine's, so that a recorded turn resolves alike
//! everywhere.

use jiff::civil::{Date, Weekday};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{Span, Timestamp, Zoned};

use super::lexicon::Period;

/// A zone of the carried data by its IANA name.
pub(crate) fn zone(name: &str) -> Option<TimeZone> {
    TimeZoneDatabase::bundled().get(name).ok()
}

/// The moment that sentences are resolved against.
pub(crate) struct Clock {
    now_us: i64,
    zone: String,
}

/// From and to, as RFC 3339 moments with the zone's offset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) since: Option<String>,
    pub(crate) until: Option<String>,
}

impl Clock {
    pub(crate) fn new(now_us: i64, zone: &str) -> Self {
        Self { now_us, zone: zone.to_owned() }
    }

    fn now(&self) -> Zoned {
        let zone = zone(&self.zone).unwrap_or(TimeZone::UTC);
        Timestamp::from_microsecond(self.now_us).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(zone)
    }

    /// A whole day, `offset` days from today.
    pub(crate) fn day(&self, offset: i64) -> Option<Window> {
        let now = self.now();
        let date = now.date().checked_add(Span::new().try_days(offset).ok()?).ok()?;
        span_of(&now, date, date.tomorrow().ok()?)
    }

    /// The calendar period that holds now, or the one before it.
    pub(crate) fn calendar(&self, period: Period, previous: bool) -> Option<Window> {
        let now = self.now();
        let today = now.date();
        let first = match period {
            Period::Week => {
                today.checked_sub(Span::new().days(i64::from(today.weekday().to_monday_zero_offset()))).ok()?
            }
            Period::Month => today.first_of_month(),
            Period::Year => today.first_of_year(),
            Period::Day => today,
            Period::Hour | Period::HalfHour | Period::Minute => return self.last(1, period),
        };
        let step = span(1, period)?;
        let (from, to) =
            if previous { (first.checked_sub(step).ok()?, first) } else { (first, first.checked_add(step).ok()?) };
        span_of(&now, from, to)
    }

    /// The stretch of `count` periods that ends now.
    pub(crate) fn last(&self, count: i64, period: Period) -> Option<Window> {
        Some(Window { since: Some(self.ago(count, period)?), until: None })
    }

    /// The moment `count` periods before now.
    pub(crate) fn ago(&self, count: i64, period: Period) -> Option<String> {
        let moment = self.now().checked_sub(span(count, period)?).ok()?;
        Some(show(&moment))
    }

    /// The whole day that lies `count` periods before today.
    pub(crate) fn day_ago(&self, count: i64, period: Period) -> Option<Window> {
        if matches!(period, Period::Hour | Period::HalfHour | Period::Minute) {
            return Some(Window { since: Some(self.ago(count, period)?), until: None });
        }
        let now = self.now();
        let date = now.date().checked_sub(span(count, period)?).ok()?;
        span_of(&now, date, date.tomorrow().ok()?)
    }

    /// The latest day of that name before today (Monday is 1).
    pub(crate) fn weekday(&self, number: i8) -> Option<Window> {
        let now = self.now();
        let weekday = Weekday::from_monday_one_offset(number).ok()?;
        let date = now.date().nth_weekday(-1, weekday).ok()?;
        span_of(&now, date, date.tomorrow().ok()?)
    }

    /// A day by month and day, of the given or the current year (of the last one if it is still to come).
    pub(crate) fn month_day(&self, month: i8, day: i8, year: Option<i16>) -> Option<Window> {
        let now = self.now();
        let mut date = Date::new(year.unwrap_or(now.year()), month, day).ok()?;
        if year.is_none() && date > now.date() {
            date = Date::new(now.year() - 1, month, day).ok()?;
        }
        span_of(&now, date, date.tomorrow().ok()?)
    }

    /// A whole month of the given year, else the latest one.
    pub(crate) fn month(&self, month: i8, year: Option<i16>) -> Option<Window> {
        let now = self.now();
        let mut first = Date::new(year.unwrap_or(now.year()), month, 1).ok()?;
        if year.is_none() && first > now.date() {
            first = Date::new(now.year() - 1, month, 1).ok()?;
        }
        span_of(&now, first, first.checked_add(Span::new().months(1)).ok()?)
    }

    /// A whole year.
    pub(crate) fn year(&self, year: i16) -> Option<Window> {
        let first = Date::new(year, 1, 1).ok()?;
        span_of(&self.now(), first, Date::new(year.checked_add(1)?, 1, 1).ok()?)
    }

    /// A day in figures: `2026-11-21`, or day and month by the language's habit (`21/11/2026`, `11/21/2026`).
    pub(crate) fn figures(&self, text: &str, day_first: bool) -> Option<Window> {
        let now = self.now();
        // With points the day comes first in every language that writes dates so.
        let day_first = day_first || text.contains('.');
        let parts: Vec<i16> = text.split(['-', '/', '.']).map(|p| p.parse().ok()).collect::<Option<_>>()?;
        let small = |n: i16| i8::try_from(n).ok();
        let date = match *parts.as_slice() {
            [year, month, day] if year > 999 => Date::new(year, small(month)?, small(day)?),
            [a, b, year] if year > 999 && (day_first || a > 12) => Date::new(year, small(b)?, small(a)?),
            [a, b, year] if year > 999 => Date::new(year, small(a)?, small(b)?),
            _ => return None,
        };
        let date = date.ok()?;
        span_of(&now, date, date.tomorrow().ok()?)
    }
}

/// So many of a period.
pub(super) fn span(count: i64, period: Period) -> Option<Span> {
    let span = Span::new();
    match period {
        Period::Minute => span.try_minutes(count),
        Period::HalfHour => span.try_minutes(count.checked_mul(30)?),
        Period::Hour => span.try_hours(count),
        Period::Day => span.try_days(count),
        Period::Week => span.try_weeks(count),
        Period::Month => span.try_months(count),
        Period::Year => span.try_years(count),
    }
    .ok()
}

fn span_of(now: &Zoned, from: Date, to: Date) -> Option<Window> {
    let zone = now.time_zone();
    let start = from.to_zoned(zone.clone()).ok()?;
    let end = to.to_zoned(zone.clone()).ok()?;
    Some(Window { since: Some(show(&start)), until: Some(show(&end)) })
}

fn show(moment: &Zoned) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}
