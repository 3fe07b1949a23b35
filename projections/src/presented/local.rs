//! Numbers, sizes and dates in the notation of a language.
//!
//! Nothing here knows what a value stands for: that a number is a size is said by whoever asks.

use jiff::civil::{Date, DateTime};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, Zoned};
use minijinja::value::{Value, ValueKind};

use crate::messages::Language;

const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
const MONTHS: [[&str; 12]; 2] = [
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
    ["gen", "feb", "mar", "apr", "mag", "giu", "lug", "ago", "set", "ott", "nov", "dic"],
];

/// A whole number of bytes, negative ones too (a difference).
pub(super) fn bytes_of(value: &Value) -> Option<i128> {
    if value.kind() != ValueKind::Number {
        return None;
    }
    match i128::try_from(value.clone()) {
        Ok(whole) => Some(whole),
        // An average of sizes: a part of a byte is nothing to a person.
        Err(_) => format!("{:.0}", f64::try_from(value.clone()).ok()?).parse().ok(),
    }
}

/// `2.1 MB`; below a kilobyte the word: `1 byte`, `512 bytes`.
pub(super) fn size_said(bytes: i128, language: Language) -> String {
    match (scaled(bytes, language), language) {
        (Some(text), _) => text,
        (None, Language::En) if bytes.abs() != 1 => format!("{bytes} bytes"),
        (None, Language::En | Language::It) => format!("{bytes} byte"),
    }
}

/// `2.1 MB`, `512 B`: the short form that stands in tables.
pub(super) fn size_short(bytes: i128, language: Language) -> String {
    scaled(bytes, language).unwrap_or_else(|| format!("{bytes} B"))
}

/// In units of a thousand: one decimal below a hundred, none above; none below a kilobyte.
fn scaled(bytes: i128, language: Language) -> Option<String> {
    let (sign, amount) = (if bytes < 0 { "-" } else { "" }, bytes.unsigned_abs());
    let mut unit: u128 = 1000;
    for (index, name) in UNITS.iter().enumerate() {
        let last = index + 1 == UNITS.len();
        let (whole, tenths) = ((amount + unit / 2) / unit, (amount * 10 + unit / 2) / unit);
        if amount < 1000 {
            return None;
        }
        if tenths < 1000 {
            let point = if language == Language::It { ',' } else { '.' };
            return Some(format!("{sign}{}{point}{} {name}", tenths / 10, tenths % 10));
        }
        if whole < 1000 || last {
            return Some(format!("{sign}{whole} {name}"));
        }
        unit *= 1000;
    }
    None
}

/// A number as digits before and after the point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Number {
    negative: bool,
    whole: String,
    decimals: String,
}

impl Number {
    /// The value as a number; none where it is no finite number.
    pub(super) fn of(value: &Value) -> Option<Self> {
        if value.kind() != ValueKind::Number {
            return None;
        }
        if let Ok(whole) = i128::try_from(value.clone()) {
            return Some(Self {
                negative: whole < 0,
                whole: whole.unsigned_abs().to_string(),
                decimals: String::new(),
            });
        }
        let number = f64::try_from(value.clone()).ok().filter(|number| number.is_finite())?;
        let mut text = format!("{}", number.abs());
        let places = shown_decimals(&text);
        if text.split_once('.').is_some_and(|(_, decimals)| decimals.len() > places) {
            text = format!("{:.places$}", number.abs());
        }
        let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
        let decimals = decimals.trim_end_matches('0');
        Some(Self { negative: number < 0.0, whole: whole.to_owned(), decimals: decimals.to_owned() })
    }

    /// How many digits are after the point.
    pub(super) fn decimals(&self) -> usize {
        self.decimals.len()
    }

    /// How many digits are before the point.
    pub(super) fn digits(&self) -> usize {
        self.whole.len()
    }

    /// `1,234.5`, in Italian `1.234,5`.
    pub(super) fn said(&self, language: Language) -> String {
        self.written(language, 0, true)
    }

    /// With at least so many decimals, and with or without a sign between thousands.
    pub(super) fn written(&self, language: Language, decimals: usize, grouped: bool) -> String {
        if self.whole.len() > 24 {
            return self.scientific();
        }
        let (group, point) = if language == Language::It { ('.', ',') } else { (',', '.') };
        let mut text = String::from(if self.negative { "-" } else { "" });
        for (index, digit) in self.whole.chars().enumerate() {
            if grouped && index > 0 && (self.whole.len() - index).is_multiple_of(3) {
                text.push(group);
            }
            text.push(digit);
        }
        if decimals > 0 || !self.decimals.is_empty() {
            text.push(point);
            text.push_str(&self.decimals);
            text.extend(std::iter::repeat_n('0', decimals.saturating_sub(self.decimals.len())));
        }
        text
    }

    fn scientific(&self) -> String {
        let (first, rest) = self.whole.split_at(1);
        let rest = rest[..rest.len().min(6)].trim_end_matches('0');
        let point = if rest.is_empty() { "" } else { "." };
        format!("{}{first}{point}{rest}e{}", if self.negative { "-" } else { "" }, self.whole.len() - 1)
    }
}

/// Four decimals; of a number below one the first four digits that are not zero.
fn shown_decimals(text: &str) -> usize {
    match text.strip_prefix("0.") {
        Some(decimals) => decimals.len() - decimals.trim_start_matches('0').len() + 4,
        None => 4,
    }
}

/// An ISO 8601 day or moment as a person writes it, in the zone; a moment without one is taken as it is.
pub(super) fn date(text: &str, language: Language, zone: Option<&str>) -> Option<String> {
    let bytes = text.as_bytes();
    if !(10..=40).contains(&bytes.len()) || bytes[4] != b'-' || !bytes[0].is_ascii_digit() {
        return None;
    }
    let months = MONTHS[usize::from(language == Language::It)];
    let day =
        |date: Date| format!("{} {} {}", date.day(), months[usize::from(date.month().unsigned_abs()) - 1], date.year());
    if bytes.len() == 10 {
        return text.parse::<Date>().ok().map(day);
    }
    let local: DateTime = match text.parse::<Timestamp>() {
        Ok(moment) => Zoned::new(moment, zone_of(zone)).datetime(),
        Err(_) => text.parse::<DateTime>().ok()?,
    };
    Some(format!("{} {:02}:{:02}", day(local.date()), local.hour(), local.minute()))
}

fn zone_of(name: Option<&str>) -> TimeZone {
    name.and_then(|name| TimeZoneDatabase::bundled().get(name).ok()).unwrap_or(TimeZone::UTC)
}
