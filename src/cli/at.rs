//! `metnos at`: how anything stood at a moment, folded from the events up to it.

mod tables;

use clap::Args;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};
use serde_json::{Value, json};

use super::output::by;
use super::{Context, Failure, output};
use crate::instance::Instance;
use crate::projector::{Projected, Until};
use crate::signing::hex;

/// How anything stood at a moment.
#[derive(Args, Debug)]
pub(super) struct At {
    /// An event's number; a time with a zone, or one of your own: 2026-11-22, «2026-11-22 18:30» or now. A day means its end.
    #[arg(value_name = "SEQ|TIME")]
    moment: String,
    /// What to show; without it, all that can be shown is listed.
    projection: Option<String>,
    /// Leave nothing out of long lists.
    #[arg(long)]
    all: bool,
}

/// The projections at a moment.
pub(super) struct Then {
    pub(super) projected: Projected,
    /// The chain's head there.
    pub(super) head: [u8; 32],
    /// When the last event of it was written, µs; none before the first.
    pub(super) written: Option<i64>,
    /// The moment that was asked for, µs.
    pub(super) until: i64,
}

pub(super) fn run(context: &Context, at: &At) -> Result<u8, Failure> {
    context.refuse_past()?;
    let instance = context.unfolded()?;
    if let Some(name) = &at.projection {
        known(name)?;
    }
    let then = then(context, &instance, &at.moment)?;
    match &at.projection {
        None => list(context, &instance, &then),
        Some(name) if context.global.json => snapshot(&then, name),
        Some(name) => {
            output::result(&headline(context, &instance, &then));
            let shown = tables::shown(context, &instance, &then, name, at.all);
            output::result(&shown);
        }
    }
    Ok(0)
}

/// Refuses what is no projection.
pub(super) fn known(name: &str) -> Result<(), Failure> {
    if Projected::NAMES.contains(&name) {
        return Ok(());
    }
    let values = json!({ "names": Projected::NAMES });
    Err(Failure::refused(("error.no_projection", json!({ "name": name })), ("next.projections", values)))
}

/// Folds the events up to a moment.
pub(super) fn then(context: &Context, instance: &Instance, moment: &str) -> Result<Then, Failure> {
    let until = read(instance, moment)?;
    let reader = instance.log.reader();
    let (projected, head) = instance.at(until)?;
    context.tell_clock(instance, until, projected.position)?;
    let written = reader.event(projected.position)?.map(|event| event.time.0);
    let until = match until {
        Until::Time(time) => time,
        Until::Seq(_) => written.unwrap_or_default(),
    };
    Ok(Then { projected, head, written, until })
}

/// What a person means by a moment.
fn read(instance: &Instance, text: &str) -> Result<Until, Failure> {
    let size = instance.log.head().size;
    if text == "now" {
        return Ok(Until::Seq(size));
    }
    if let Ok(seq) = text.parse::<u64>() {
        let missing =
            || Failure::refused(("error.no_event", json!({ "seq": seq })), ("next.events", json!({ "last": size })));
        return if seq > size { Err(missing()) } else { Ok(Until::Seq(seq)) };
    }
    let zone = TimeZone::get(&instance.settings.zone).unwrap_or(TimeZone::UTC);
    let time = time(text, &zone);
    time.map(Until::Time)
        .ok_or_else(|| Failure::usage(("error.no_such_moment", json!({ "text": text })), by("next.moment")))
}

/// A time with a zone, a local day (its end), or a local day and hour, in µs.
fn time(text: &str, zone: &TimeZone) -> Option<i64> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.as_microsecond());
    }
    if let Ok(zoned) = text.parse::<Zoned>() {
        return Some(zoned.timestamp().as_microsecond());
    }
    let has_hour = text.contains(['T', 't', ' ']);
    if !has_hour {
        let next = text.parse::<Date>().ok()?.checked_add(1.day()).ok()?;
        return Some(next.to_zoned(zone.clone()).ok()?.timestamp().as_microsecond() - 1);
    }
    let civil = text.parse::<DateTime>().or_else(|_| format!("{text}:00").parse::<DateTime>()).ok()?;
    Some(civil.to_zoned(zone.clone()).ok()?.timestamp().as_microsecond())
}

/// Where in the history it is, for people.
pub(super) fn headline(context: &Context, instance: &Instance, then: &Then) -> String {
    let values = json!({
        "position": then.projected.position, "head": hex(&then.head),
        "when": then.written.map(|time| output::moment(time, &instance.settings.zone)),
    });
    context.text(instance, "at.headline", &values)
}

/// The same for programs.
pub(super) fn place(then: &Then) -> Value {
    json!({ "position": then.projected.position, "head": hex(&then.head), "time": then.written })
}

fn list(context: &Context, instance: &Instance, then: &Then) {
    let digests = then.projected.digests();
    if context.global.json {
        let projections: Vec<Value> =
            digests.iter().map(|(name, digest)| json!({ "projection": name, "digest": digest })).collect();
        let mut said = place(then);
        said["projections"] = projections.into();
        return output::result_json(&said);
    }
    output::result(&headline(context, instance, then));
    let row = |name: &&str| {
        let about = context.text(instance, "at.about", &json!({ "name": name }));
        vec![(*name).to_owned(), tables::counted(context, instance, &then.projected, name), about]
    };
    let rows: Vec<Vec<String>> = Projected::NAMES.iter().map(row).collect();
    let headings =
        ["name", "holds", "about"].map(|key| context.text(instance, &format!("at.heading_{key}"), &json!({})));
    output::result(&output::table(&headings.each_ref().map(String::as_str), &rows));
}

/// The whole canonical text, with where it stands and its digest.
fn snapshot(then: &Then, name: &str) {
    let Some(state) = then.projected.snapshot(name) else { return };
    let mut said = place(then);
    said["projection"] = name.into();
    said["digest"] = blake3::hash(state.as_bytes()).to_hex().as_str().into();
    let said = said.to_string();
    // The state stands in it as it is, byte for byte: whoever hashes it gets the digest.
    let open = said.strip_suffix('}').unwrap_or(&said);
    output::json_text(&format!("{open},\"state\":{state}}}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let zone = TimeZone::get("Europe/Rome").unwrap();
        let found = time(text, &zone).map(|time| Timestamp::from_microsecond(time).unwrap().to_string());
        assert_eq!(found.as_deref(), expected, "{text}");
    }

    #[test]
    fn a_moment_is_read_in_the_owners_zone() {
        check("2026-11-22", Some("2026-11-22T22:59:59.999999Z"));
        check("2026-11-22 18", Some("2026-11-22T17:00:00Z"));
        check("2026-11-22T18:30", Some("2026-11-22T17:30:00Z"));
        check("2026-11-22 18:30:05", Some("2026-11-22T17:30:05Z"));
        check("2026-11-22T18:30:00+01:00", Some("2026-11-22T17:30:00Z"));
        check("2026-11-22T18:30:00Z", Some("2026-11-22T18:30:00Z"));
        check("2026-11-22T18:30[America/New_York]", Some("2026-11-22T23:30:00Z"));
    }

    #[test]
    fn a_day_of_another_length_ends_when_it_ends() {
        check("2026-03-29", Some("2026-03-29T21:59:59.999999Z"));
        check("2026-10-25", Some("2026-10-25T22:59:59.999999Z"));
        check("2026-03-29 02:30", Some("2026-03-29T01:30:00Z"));
    }

    #[test]
    fn what_is_no_moment_is_none() {
        for text in ["soon", "", "2026-13-01", "2026-11-22 25", "yesterday", "-3", "9999-12-31", "2026-11-22T"] {
            check(text, None);
        }
    }
}
