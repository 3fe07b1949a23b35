//! A cadence in words, in both languages.

use serde_json::{Value, json};

use super::{Cadence, Zone};
use crate::messages::{Language, Messages};

/// What is said for a cadence: «every Monday at 09:00». A line of cron that has no plain words is shown as it is.
pub fn said(messages: &Messages, language: Language, cadence: &Cadence, zone: &Zone) -> String {
    let say = |key: &str, values: Value| messages.say(language, &format!("cadence.{key}"), values);
    match cadence {
        Cadence::Cron(fields) => fields_said(fields, &say).unwrap_or_else(|| say("cron", json!({ "cron": fields }))),
        Cadence::Every(seconds) if seconds % 3600 == 0 => say("hours", json!({ "n": seconds / 3600 })),
        Cadence::Every(seconds) => say("minutes", json!({ "n": seconds / 60 })),
        Cadence::At(micros) => say("at", json!({ "moment": moment(messages, language, *micros, zone) })),
        Cadence::Manual => say("manual", json!({})),
    }
}

/// A moment as people of a zone write it: «Mon 2026-11-23 08:00».
pub fn moment(messages: &Messages, language: Language, micros: i64, zone: &Zone) -> String {
    let civil = zone.civil(micros);
    let day = messages.say(language, "cadence.short_days", json!({ "day": civil.weekday().to_sunday_zero_offset() }));
    format!("{day} {}", civil.strftime("%Y-%m-%d %H:%M"))
}

fn fields_said(fields: &str, say: &impl Fn(&str, Value) -> String) -> Option<String> {
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let [minute, hour, day, month, weekday] = fields.as_slice() else { return None };
    let figure = |field: &str| field.parse::<u32>().ok();
    let step = |field: &str| if field == "*" { Some(1) } else { figure(field.strip_prefix("*/")?) };
    let any_day = (*day, *month, *weekday) == ("*", "*", "*");
    if let (Some(n), "*", true) = (step(minute), *hour, any_day) {
        return (n == 1 || 60 % n == 0).then(|| say("minutes", json!({ "n": n })));
    }
    let at = figure(minute)?;
    if let (Some(n), true) = (step(hour), any_day) {
        let key = if at == 0 { "hours" } else { "hours_past" };
        return (n == 1 || 24 % n == 0).then(|| say(key, json!({ "n": n, "minute": at })));
    }
    let times: Vec<String> =
        hour.split(',').map(|hour| Some(format!("{:02}:{at:02}", figure(hour)?))).collect::<Option<_>>()?;
    let time = say("times", json!({ "times": times }));
    let with = |key: &str, more: Value| {
        let mut values = json!({ "time": time });
        if let (Some(values), Value::Object(more)) = (values.as_object_mut(), more) {
            values.extend(more);
        }
        Some(say(key, values))
    };
    match (*day, *month, *weekday) {
        ("*", "*", "*") => with("daily", json!({})),
        ("*", "*", "1,2,3,4,5" | "1-5") => with("weekdays", json!({})),
        ("*", "*", "6,0" | "0,6" | "6,7") => with("weekend", json!({})),
        ("*", "*", nth) if nth.contains('#') => {
            let (day, nth) = nth.split_once('#')?;
            let nth = if nth == "L" { 0 } else { figure(nth).filter(|nth| (1..=5).contains(nth))? };
            let day = figure(day)? % 7;
            with("month_weekday", json!({ "nth": nth, "number": day, "day": say("days", json!({ "day": day })) }))
        }
        ("*", "*", days) => {
            let days: Vec<u32> = days.split(',').map(figure).collect::<Option<_>>()?;
            let names: Vec<String> = days.iter().map(|day| say("days", json!({ "day": day % 7 }))).collect();
            with("weekly", json!({ "days": names }))
        }
        ("L", "*", "*") => with("month_end", json!({})),
        (day, months, "*") if months.starts_with("*/") => {
            with("months_step", json!({ "day": figure(day)?, "n": step(months)? }))
        }
        (day, "*", "*") => match (figure(day), step(day)) {
            (Some(day), _) => with("monthly", json!({ "day": day })),
            (None, Some(n)) => with("month_days", json!({ "n": n })),
            (None, None) => None,
        },
        (day, month, "*") => {
            let name = say("months", json!({ "month": figure(month)? }));
            with("yearly", json!({ "day": figure(day)?, "month": name }))
        }
        _ => None,
    }
}
