//! `metnos at`: how anything stood at a moment, folded from the events up to it.

mod tables;

use clap::Args;
use serde_json::{Value, json};

use super::moment::Moment;
use super::{Context, Failure, output};
use crate::instance::Instance;
use crate::projector::{Projected, Until};
use crate::signing::hex;

/// How anything stood at a moment.
#[derive(Args, Debug)]
pub(super) struct At {
    /// The moment: an event's number, a day as 2026-11-22, a day and an hour as «2026-11-22 18:30», a time with its zone as
    /// 2026-11-22T18:30:00+01:00, or now. Of a day its end is meant.
    #[arg(value_name = "MOMENT")]
    moment: Moment,
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
pub(super) fn then(context: &Context, instance: &Instance, moment: &Moment) -> Result<Then, Failure> {
    let until = moment.until(instance)?;
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
