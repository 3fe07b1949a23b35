//! `metnos mnest`: the graph of what went into what (design 6-memory).

use clap::{Args, Subcommand};
use metnos_log::{Event, Micros};
use metnos_projections::machines::mnestome::formula::Law;
use metnos_projections::machines::mnestome::{Direction, Edge, Mnestome, dot, retag, svg};
use metnos_projections::projection::Projection;
use serde_json::{Value, json};

use super::output::by;
use super::{Context, Failure, actor, output};
use crate::instance::{Instance, now};
use crate::projector::Until;

/// How many mnests are shown where nothing else is said.
const SHOWN: usize = 20;

/// Look at what went into what.
#[derive(Subcommand, Debug)]
pub(super) enum Mnest {
    /// Every mnest, by source.
    List {
        /// Only those with this tag.
        #[arg(long)]
        tag: Option<String>,
    },
    /// The strongest mnests, of all or at one executor.
    Top(Top),
    /// One mnest, with the turns that made it.
    Show {
        /// Its id.
        id: String,
    },
    /// What can be come to from an executor, step by step.
    Walk {
        /// Where to begin.
        executor: String,
        /// How many steps.
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=8))]
        depth: u8,
    },
    /// The whole graph as text or as a drawing.
    Graph {
        /// In the language of Graphviz.
        #[arg(long, conflicts_with = "svg")]
        dot: bool,
        /// As an SVG.
        #[arg(long)]
        svg: bool,
    },
    /// Give a mnest these tags and no others; none clears them.
    Tag {
        /// Its id.
        id: String,
        /// Its tags.
        tags: Vec<String>,
    },
    /// Wishes: what was asked for and does not exist.
    Protos,
    /// The graph that would have been under another law, over the whole history. Changes nothing.
    Recompute(Recompute),
}

/// Which are the strongest.
#[derive(Args, Debug)]
pub(super) struct Top {
    /// At this executor.
    executor: Option<String>,
    /// What went into it, instead of what its output went into.
    #[arg(long, requires = "executor")]
    into: bool,
    /// How many.
    #[arg(short = 'n', default_value_t = SHOWN)]
    most: usize,
}

/// Another law.
#[derive(Args, Debug)]
pub(super) struct Recompute {
    /// How fast a weight fades, a day.
    #[arg(long, default_value_t = Law::default().lambda, value_parser = number)]
    lambda: f64,
    /// What a passing adds.
    #[arg(long, default_value_t = Law::default().reinforcement, value_parser = number)]
    reinforcement: f64,
    /// How many are shown.
    #[arg(short = 'n', default_value_t = SHOWN)]
    most: usize,
}

fn number(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| (0.0..=10.0).contains(number));
    number.ok_or_else(|| "it is a number from 0 to 10".to_owned())
}

pub(super) fn run(context: &Context, command: &Mnest) -> Result<u8, Failure> {
    let instance = context.instance()?;
    let mnestome = instance.projected().mnestome;
    let now = moment(context, &instance)?;
    match command {
        Mnest::List { tag } => {
            let is_wanted = |edge: &Edge<'_>| tag.as_ref().is_none_or(|tag| edge.mnest.tags.contains(tag));
            shown(context, &instance, &mnestome.each(now).filter(is_wanted).collect::<Vec<_>>());
        }
        Mnest::Top(top) => {
            let direction = if top.into { Direction::In } else { Direction::Out };
            let at = top.executor.as_deref().map(|name| (name, direction));
            shown(context, &instance, &mnestome.top(at, top.most, now));
        }
        Mnest::Show { id } => show(context, &instance, &mnestome, (id, now))?,
        Mnest::Walk { executor, depth } => walk(context, &instance, &mnestome, (executor, *depth, now)),
        Mnest::Graph { dot: true, .. } => output::content(&dot(&mnestome, now)),
        Mnest::Graph { svg: true, .. } => output::content(&svg(&mnestome, now)),
        Mnest::Graph { .. } => graph(context, &instance, &mnestome, now),
        Mnest::Tag { id, tags } => {
            context.refuse_past()?;
            let events = |then: &crate::projector::Projected| {
                retag(&then.mnestome, id, tags).map(|events| ("mnestome".to_owned(), events))
            };
            let decided = instance.decide(events)?;
            decided.map_err(|rejection| Failure::refused(rejection.to_string(), by("next.mnests")))?;
            actor::done(context, &instance, "mnest.tagged", &json!({ "id": id, "tags": tags }));
        }
        Mnest::Protos => protos(context, &instance, &mnestome, now),
        Mnest::Recompute(law) => recompute(context, &instance, law, now)?,
    }
    Ok(0)
}

/// The moment that weights are asked for.
fn moment(context: &Context, instance: &Instance) -> Result<Micros, Failure> {
    Ok(match context.until(instance)? {
        None => now(),
        Some(Until::Time(time)) => Micros(time),
        Some(Until::Seq(seq)) => instance.log.reader().event(seq)?.map_or_else(now, |recorded| recorded.time),
    })
}

fn value(edge: &Edge<'_>) -> Value {
    let mut value = serde_json::to_value(edge.mnest).unwrap_or_default();
    value["src"] = edge.src.into();
    value["dst"] = edge.dst.into();
    value["weight_now"] = edge.weight.into();
    value
}

fn heading(context: &Context, instance: &Instance, key: &str) -> String {
    context.text(instance, &format!("mnest.heading_{key}"), &json!({}))
}

fn shown(context: &Context, instance: &Instance, edges: &[Edge<'_>]) {
    if context.global.json {
        return output::result_json(&json!({ "mnests": edges.iter().map(value).collect::<Vec<_>>() }));
    }
    if edges.is_empty() {
        return output::result(&context.text(instance, "mnest.none", &json!({})));
    }
    let zone = &instance.settings.zone;
    let row = |edge: &Edge<'_>| {
        let state = context.text(instance, &format!("mnest.state_{}", edge.mnest.state.name()), &json!({}));
        let dst_version = edge.mnest.dst_version.clone().unwrap_or_else(|| "–".to_owned());
        let tags: Vec<&str> = edge.mnest.tags.iter().map(String::as_str).collect();
        vec![
            format!("{:.2}", edge.weight),
            edge.mnest.uses.to_string(),
            format!("{} {}", edge.src, edge.mnest.src_version),
            format!("{} {dst_version}", edge.dst),
            state,
            output::moment(edge.mnest.ts_last, zone),
            edge.mnest.id.clone(),
            tags.join(" "),
        ]
    };
    let headings =
        ["weight", "uses", "src", "dst", "state", "last", "id", "tags"].map(|key| heading(context, instance, key));
    let rows: Vec<Vec<String>> = edges.iter().map(row).collect();
    output::result(&output::table(&headings.each_ref().map(String::as_str), &rows));
}

/// One mnest and the turns that made it, which only the log knows.
fn show(context: &Context, instance: &Instance, mnestome: &Mnestome, (id, now): (&str, Micros)) -> Result<(), Failure> {
    let edge = mnestome.find(id, now);
    let none = || Failure::refused(("error.no_mnest", json!({ "id": id })), by("next.mnests"));
    let edge = edge.ok_or_else(none)?;
    let mnest = edge.mnest;
    let mut turns = Vec::new();
    for recorded in instance.log.reader().stream("mnestome")? {
        let ends = match recorded.event() {
            Some(Event::PassingObserved(seen)) => {
                Some((&seen.src, &seen.src_version, &seen.dst, Some(&seen.dst_version), seen.turn))
            }
            Some(Event::WishObserved(seen)) => Some((&seen.src, &seen.src_version, &seen.dst, None, seen.turn)),
            _ => None,
        };
        let Some((src, src_version, dst, dst_version, turn)) = ends else { continue };
        let is_same_version = dst_version.is_none() || dst_version == mnest.dst_version.as_ref();
        if (src.as_str(), dst.as_str(), src_version) == (edge.src, edge.dst, &mnest.src_version) && is_same_version {
            turns.push((turn, recorded.time));
        }
    }
    if context.global.json {
        let mut shown = value(&edge);
        shown["turns"] = turns.iter().map(|(turn, _)| turn.to_string()).collect();
        output::result_json(&shown);
        return Ok(());
    }
    shown(context, instance, &[edge]);
    let zone = &instance.settings.zone;
    let lines: Vec<String> =
        turns.iter().map(|(turn, time)| format!("  {turn}  {}", output::moment(time.0, zone))).collect();
    let values = json!({ "count": turns.len(), "seeded": turns.len() as u64 != mnest.uses });
    output::result(&context.text(instance, "mnest.turns", &values));
    if !lines.is_empty() {
        output::result(&lines.join("\n"));
    }
    Ok(())
}

fn walk(context: &Context, instance: &Instance, mnestome: &Mnestome, (executor, depth, now): (&str, u8, Micros)) {
    let reached = mnestome.walk(executor, usize::from(depth), now);
    if context.global.json {
        return output::result_json(&json!({ "reached": reached }));
    }
    if reached.is_empty() {
        return output::result(&context.text(instance, "mnest.leads_nowhere", &json!({ "executor": executor })));
    }
    let lines: Vec<String> =
        reached.iter().map(|way| format!("{:.2}  {}", way.mean_weight, way.path.join(" → "))).collect();
    output::result(&lines.join("\n"));
}

fn graph(context: &Context, instance: &Instance, mnestome: &Mnestome, now: Micros) {
    if context.global.json {
        let edges: Vec<Value> = mnestome.each(now).map(|edge| value(&edge)).collect();
        return output::result_json(&json!({ "mnests": edges, "stats": mnestome.stats() }));
    }
    let stats = mnestome.stats();
    output::result(&context.text(instance, "mnest.stats", &json!({ "stats": stats })));
    let mut last = None;
    for edge in mnestome.each(now) {
        if last != Some(edge.src) {
            output::result(edge.src);
            last = Some(edge.src);
        }
        output::result(&format!("  {:.2} → {}", edge.weight, edge.dst));
    }
}

fn protos(context: &Context, instance: &Instance, mnestome: &Mnestome, now: Micros) {
    let wishes = mnestome.protos(now);
    if context.global.json {
        return output::result_json(&json!({ "protos": wishes.iter().map(value).collect::<Vec<_>>() }));
    }
    if wishes.is_empty() {
        return output::result(&context.text(instance, "mnest.no_wishes", &json!({})));
    }
    shown(context, instance, &wishes);
}

/// Folds the whole history under another law and says what would be different.
fn recompute(context: &Context, instance: &Instance, law: &Recompute, now: Micros) -> Result<(), Failure> {
    let other = Law { lambda: law.lambda, reinforcement: law.reinforcement, ..Law::default() };
    let mut mnestome = Mnestome::under(other);
    instance.log.reader().each(1, |recorded| {
        recorded.each(|recorded| mnestome.evolve(recorded));
        Ok::<bool, Failure>(true)
    })?;
    shown(context, instance, &mnestome.top(None, law.most, now));
    Ok(())
}
