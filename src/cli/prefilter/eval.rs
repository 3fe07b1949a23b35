//! How well and how fast the pre-filter ranks the rows of a corpus, and what it can decline.
//!
//! It tunes nothing: the same index and weights that serve the engine are asked once a row.

use std::path::Path;
use std::time::{Duration, Instant};

use metnos_projections::rules::prefilter::{Hints, Index, Order};
use metnos_projections::rules::simple::Lexicons;
use serde_json::{Value, json};

use super::super::{Context, Failure, output};
use super::corpus::{Corpus, Row};
use super::{order, rounded};

/// Shares of answerable questions that are kept, at which the curve is told.
const KEPT: [f64; 4] = [0.99, 0.97, 0.95, 0.9];

pub(super) fn run(
    context: &Context,
    corpus: &Path,
    irrelevant: Option<&Path>,
    catalog: Option<&Index>,
) -> Result<u8, Failure> {
    let lexicons = Lexicons::embedded();
    let mut asked = read(context, corpus, catalog, true)?;
    let mut unanswerable = irrelevant.map(|path| read(context, path, catalog, false)).transpose()?;
    let mut measured = Measured::default();
    measured.ask(&lexicons, catalog, &mut asked);
    let mut figures = measured.figures();
    if let Some(rows) = &mut unanswerable {
        let mut declined = Measured::default();
        declined.ask(&lexicons, catalog, rows);
        figures["irrelevant"] =
            json!({ "n": declined.relevances.len(), "curve": curve(&measured.relevances, &declined.relevances) });
    }
    if context.global.json {
        output::result_json(&figures);
    } else {
        output::result(&for_people(&figures));
    }
    Ok(0)
}

fn read(context: &Context, path: &Path, catalog: Option<&Index>, answered: bool) -> Result<Vec<Row>, Failure> {
    let corpus = Corpus::read(path, catalog.is_some(), answered)?;
    for (line, reason) in &corpus.broken {
        context.say(&format!("{}: line {line} is left out: {reason}", path.display()));
    }
    Ok(corpus.rows)
}

/// What was measured over the rows of a corpus.
#[derive(Debug, Default)]
struct Measured {
    /// The place of the right tool, from 0; none where it does not enter.
    places: Vec<Option<usize>>,
    relevances: Vec<f32>,
    queries: Vec<Duration>,
    indexes: Vec<Duration>,
}

impl Measured {
    fn ask(&mut self, lexicons: &Lexicons, catalog: Option<&Index>, rows: &mut Vec<Row>) {
        // The tables of words are read when they are first asked for: not a query's time.
        Index::new([]).order("", &Hints::default());
        for row in rows.drain(..) {
            let start = Instant::now();
            let own = row.functions.as_ref().map(super::Catalog::index);
            if own.is_some() {
                self.indexes.push(start.elapsed());
            }
            let Some(index) = own.as_ref().or(catalog) else { continue };
            let start = Instant::now();
            let order = order(index, lexicons, &row.query);
            self.queries.push(start.elapsed());
            self.relevances.push(order.relevance);
            self.places.push(row.first_tool.as_deref().and_then(|wanted| place(index, &order, wanted)));
        }
    }

    /// `{"n","r1","r5","r8","mean_us","p95_us","index_us"?}`.
    fn figures(&self) -> Value {
        let within = |most: usize| {
            let hits = self.places.iter().filter(|place| place.is_some_and(|place| place < most)).count();
            rounded(share(hits, self.places.len()), 4)
        };
        let mut times: Vec<f64> = self.queries.iter().map(|time| time.as_secs_f64() * 1e6).collect();
        times.sort_unstable_by(f64::total_cmp);
        let p95 = times.get((times.len() * 95).div_ceil(100).saturating_sub(1)).copied().unwrap_or_default();
        let mut figures = json!({
            "n": self.places.len(),
            "r1": within(1), "r5": within(5), "r8": within(8),
            "mean_us": rounded(mean(&self.queries), 1), "p95_us": rounded(p95, 1),
        });
        if !self.indexes.is_empty() {
            figures["index_us"] = json!(rounded(mean(&self.indexes), 1));
        }
        figures
    }
}

/// Where the wanted tool came; of several with its name the best.
fn place(index: &Index, order: &Order, wanted: &str) -> Option<usize> {
    order.placed.iter().position(|place| index.name(place.tool) == wanted)
}

#[expect(clippy::cast_precision_loss, reason = "rows of a corpus are far below 2^52")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// In microseconds.
fn mean(times: &[Duration]) -> f64 {
    times.iter().sum::<Duration>().as_secs_f64() * 1e6 / share(times.len().max(1), 1)
}

/// For each share of answerable questions kept: under which relevance one declines, and how many others that declines.
fn curve(answerable: &[f32], others: &[f32]) -> Vec<Value> {
    let mut sorted = answerable.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    let point = |kept: f64| {
        let lost =
            (0..sorted.len()).take_while(|lost| share(sorted.len() - lost - 1, sorted.len()) >= kept - 1e-9).count();
        let threshold = sorted.get(lost).copied().unwrap_or_default();
        let declined = others.iter().filter(|relevance| **relevance < threshold).count();
        json!({
            "kept": kept,
            "declined": rounded(share(declined, others.len()), 3),
            "threshold": rounded(f64::from(threshold), 4),
        })
    };
    KEPT.into_iter().map(point).collect()
}

fn for_people(figures: &Value) -> String {
    let mut lines = vec![
        format!(
            "{} questions: the right tool first {}, among five {}, among eight {}",
            figures["n"], figures["r1"], figures["r5"], figures["r8"]
        ),
        format!("a query takes {} µs, 95 % at most {} µs", figures["mean_us"], figures["p95_us"]),
    ];
    if let Some(index) = figures.get("index_us") {
        lines.push(format!("an index takes {index} µs"));
    }
    for point in figures["irrelevant"]["curve"].as_array().into_iter().flatten() {
        lines.push(format!(
            "below relevance {}: {} of the unanswerable declined, {} of the answerable kept",
            point["threshold"], point["declined"], point["kept"]
        ));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_keeps_what_it_says() {
        let answerable: Vec<f32> = (1..=100_u8).map(f32::from).collect();
        let others = [0.5, 3.0, 5.5, 10.5, 200.0];
        let curve = curve(&answerable, &others);
        let points: Vec<_> =
            curve.iter().map(|p| (p["kept"].clone(), p["threshold"].clone(), p["declined"].clone())).collect();
        let point = |kept: f64, threshold: f64, declined: f64| (json!(kept), json!(threshold), json!(declined));
        assert_eq!(
            points,
            [point(0.99, 2.0, 0.2), point(0.97, 4.0, 0.4), point(0.95, 6.0, 0.6), point(0.9, 11.0, 0.8)]
        );
        assert!(super::curve(&[], &[]).iter().all(|point| point["declined"] == json!(0.0)));
    }

    #[test]
    fn figures_count_places() {
        let places = vec![Some(0), Some(4), Some(7), Some(8), None];
        let times = vec![Duration::from_micros(10); 5];
        let measured = Measured { places, queries: times, ..Measured::default() };
        let figures = measured.figures();
        assert_eq!(
            (figures["r1"].clone(), figures["r5"].clone(), figures["r8"].clone()),
            (json!(0.2), json!(0.4), json!(0.6))
        );
        assert_eq!((figures["mean_us"].clone(), figures["p95_us"].clone()), (json!(10.0), json!(10.0)));
    }
}
