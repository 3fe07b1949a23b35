//! A moment as a person writes it, wherever a command takes one: the same forms, said in the same words.

use std::str::FromStr;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use metnos_log::store::ReadError;
use serde_json::json;

use super::output::by;
use super::{Context, Failure, output};
use crate::instance::Instance;
use crate::projector::Until;

/// What is written; what it means depends on the owner's zone and on the log.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    text: String,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// The newest event.
    Now,
    /// An event's number.
    Event(u64),
    /// A time with its zone, µs.
    Time(i64),
    /// A day of the owner's.
    Day(Date),
    /// A day and an hour of the owner's.
    Hour(DateTime),
}

impl Context {
    /// Tells of events that were passed over, because the clock was ahead for a while: what was up to a time ends at the first
    /// event that is later.
    pub(super) fn tell_clock(&self, instance: &Instance, until: Until, position: u64) -> Result<(), Failure> {
        let Until::Time(time) = until else { return Ok(()) };
        let reader = instance.log.reader();
        let passed_over = match reader.not_later_behind(position, time) {
            // What lies in files that are elsewhere is not needed for anything else.
            Err(ReadError::Archive { .. }) => None,
            found => found?,
        };
        if let (Some((count, last)), Some(ahead)) = (passed_over, reader.event(position + 1)?) {
            let when = output::moment(ahead.time.0, &instance.settings.zone);
            let values = json!({ "next": ahead.seq, "when": when, "count": count, "last": last });
            self.say(&self.text(instance, "notice.clock_ahead", &values));
        }
        Ok(())
    }
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            if text == "now" {
                return Some(Form::Now);
            }
            if let Ok(seq) = text.parse() {
                return Some(Form::Event(seq));
            }
            let zoned = || Some(text.parse::<Zoned>().ok()?.timestamp());
            if let Some(time) = text.parse::<Timestamp>().ok().or_else(zoned) {
                return Some(Form::Time(time.as_microsecond()));
            }
            if !text.contains(['T', 't', ' ']) {
                return text.parse().ok().map(Form::Day);
            }
            let hour = text.parse().or_else(|_| format!("{text}:00").parse());
            hour.ok().map(Form::Hour)
        };
        let form = read().ok_or_else(|| {
            "it is an event's number, a day as 2026-11-22, a day and an hour as «2026-11-22 18:30», a time with its zone as \
             2026-11-22T18:30:00+01:00, or now"
                .to_owned()
        })?;
        Ok(Self { text: text.to_owned(), form })
    }
}

impl Moment {
    /// Everything up to it; of a day, up to its end.
    pub(super) fn until(&self, instance: &Instance) -> Result<Until, Failure> {
        match self.form {
            Form::Now => Ok(Until::Seq(instance.log.head().size)),
            Form::Event(seq) => there(instance, seq).map(Until::Seq),
            Form::Time(_) | Form::Day(_) | Form::Hour(_) => self.span(instance).map(|(_, end)| Until::Time(end - 1)),
        }
    }

    /// When it is, µs, as it is written; of the day that has begun, now. None of an event's number.
    pub(super) fn when(&self, instance: &Instance) -> Result<Option<i64>, Failure> {
        let now = crate::instance::now().0;
        Ok(match self.form {
            Form::Event(_) => None,
            Form::Now => Some(now),
            Form::Time(_) | Form::Day(_) | Form::Hour(_) => {
                let (first, end) = self.span(instance)?;
                Some(if (first..end).contains(&now) { now } else { end - 1 })
            }
        })
    }

    /// What was written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Where it begins, of a day too; an event need not be there yet.
    pub(super) fn since(&self, instance: &Instance) -> Result<Until, Failure> {
        match self.form {
            Form::Now => self.until(instance),
            Form::Event(seq) => Ok(Until::Seq(seq)),
            Form::Time(_) | Form::Day(_) | Form::Hour(_) => self.span(instance).map(|(first, _)| Until::Time(first)),
        }
    }

    /// Its first microsecond, and the first one behind it; of an event, those of its time.
    pub(super) fn span(&self, instance: &Instance) -> Result<(i64, i64), Failure> {
        let seq = match self.form {
            Form::Now => instance.log.head().size,
            Form::Event(seq) => there(instance, seq)?,
            Form::Time(_) | Form::Day(_) | Form::Hour(_) => {
                let zone = TimeZone::get(&instance.settings.zone).unwrap_or(TimeZone::UTC);
                let values = json!({ "text": self.text });
                let none = || Failure::usage(("error.no_such_moment", values), by("next.moment"));
                return self.form.in_zone(&zone).ok_or_else(none);
            }
        };
        let time = instance.log.reader().event(seq)?.map_or(0, |event| event.time.0);
        Ok((time, time.saturating_add(1)))
    }
}

impl Form {
    /// First microsecond, and the first one behind it; none of events, and of what no calendar has.
    fn in_zone(self, zone: &TimeZone) -> Option<(i64, i64)> {
        let micros = |local: DateTime| Some(local.to_zoned(zone.clone()).ok()?.timestamp().as_microsecond());
        let (first, end) = match self {
            Self::Now | Self::Event(_) => return None,
            Self::Time(time) => (time, None),
            Self::Hour(hour) => (micros(hour)?, None),
            Self::Day(day) => (micros(day.at(0, 0, 0, 0))?, Some(micros(day.tomorrow().ok()?.at(0, 0, 0, 0))?)),
        };
        Some((first, end.map_or_else(|| first.checked_add(1), Some)?))
    }
}

fn there(instance: &Instance, seq: u64) -> Result<u64, Failure> {
    let last = instance.log.head().size;
    if seq <= last {
        return Ok(seq);
    }
    Err(Failure::refused(("error.no_event", json!({ "seq": seq })), ("next.events", json!({ "last": last }))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let zone = TimeZone::get("Europe/Rome").unwrap();
        let found = text.parse::<Moment>().ok().and_then(|moment| moment.form.in_zone(&zone));
        let shown = |time: i64| Timestamp::from_microsecond(time).unwrap().to_string();
        let found = found.map(|(first, end)| (shown(first), shown(end - 1)));
        let found = found.map(|(first, last)| if first == last { first } else { format!("{first} to {last}") });
        assert_eq!(found.as_deref(), expected, "{text}");
    }

    #[test]
    fn a_moment_is_read_in_the_owners_zone() {
        check("2026-11-22", Some("2026-11-21T23:00:00Z to 2026-11-22T22:59:59.999999Z"));
        check("2026-11-22 18", Some("2026-11-22T17:00:00Z"));
        check("2026-11-22T18:30", Some("2026-11-22T17:30:00Z"));
        check("2026-11-22 18:30:05", Some("2026-11-22T17:30:05Z"));
        check("2026-11-22T18:30:00+01:00", Some("2026-11-22T17:30:00Z"));
        check("2026-11-22T18:30:00Z", Some("2026-11-22T18:30:00Z"));
        check("2026-11-22T18:30[America/New_York]", Some("2026-11-22T23:30:00Z"));
    }

    #[test]
    fn a_day_of_another_length_ends_when_it_ends() {
        check("2026-03-29", Some("2026-03-28T23:00:00Z to 2026-03-29T21:59:59.999999Z"));
        check("2026-10-25", Some("2026-10-24T22:00:00Z to 2026-10-25T22:59:59.999999Z"));
        check("2026-03-29 02:30", Some("2026-03-29T01:30:00Z"));
    }

    #[test]
    fn what_is_no_moment_is_none() {
        for text in ["soon", "", "2026-13-01", "2026-11-22 25", "yesterday", "-3", "9999-12-31", "2026-11-22T"] {
            check(text, None);
        }
        let form = |text: &str| text.parse::<Moment>().unwrap().form;
        assert_eq!((form("now"), form("7")), (Form::Now, Form::Event(7)));
    }
}
