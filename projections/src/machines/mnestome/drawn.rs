//! The graph as a drawing: DOT for those who have Graphviz, and an SVG of our own that needs nothing.

use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::fmt::Write;

use metnos_log::Micros;

use super::{Edge, Mnestome, State};

const INFALLIBLE: &str = "writing to a text does not fail";
/// Of an SVG, in its own units.
const NODE_HEIGHT: f64 = 24.0;
const LETTER_WIDTH: f64 = 7.2;
const MARGIN: f64 = 40.0;

/// The graph in Graphviz' language; thicker is stronger, dashed is a wish.
pub fn dot(mnestome: &Mnestome, now: Micros) -> String {
    let mut text = "digraph mnestome {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n".to_owned();
    for Edge { src, dst, weight, mnest } in mnestome.each(now) {
        let style = if mnest.state == State::Proto { ", style=dashed" } else { "" };
        let (src, dst) = (quoted(src), quoted(dst));
        let width = 1.0 + 4.0 * weight;
        writeln!(text, "  {src} -> {dst} [label=\"{weight:.2}\", penwidth={width:.2}{style}];").expect(INFALLIBLE);
    }
    text.push_str("}\n");
    text
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The graph as an SVG: executors on a circle in the order of their names, a line a mnest, its width its weight. The same
/// graph gives the same bytes.
pub fn svg(mnestome: &Mnestome, now: Micros) -> String {
    let edges: Vec<Edge<'_>> = mnestome.each(now).collect();
    let mut names: Vec<&str> = edges.iter().flat_map(|edge| [edge.src, edge.dst]).collect();
    names.sort_unstable();
    names.dedup();
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let width = float(longest).mul_add(LETTER_WIDTH, 20.0);
    let radius = (float(names.len()) * (NODE_HEIGHT + 12.0) / TAU * 1.6).max(140.0);
    let (middle_x, middle_y) = (radius + width / 2.0 + MARGIN, radius + NODE_HEIGHT + MARGIN);
    let place = |index: usize| {
        let angle = TAU * float(index) / float(names.len().max(1)) - TAU / 4.0;
        (middle_x + radius * libm::cos(angle), middle_y + radius * libm::sin(angle))
    };
    let places: BTreeMap<&str, (f64, f64)> = names.iter().enumerate().map(|(at, name)| (*name, place(at))).collect();
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} {:.0}\" font-family=\"sans-serif\" font-size=\"12\">\n",
        2.0 * middle_x,
        2.0 * middle_y
    );
    text.push_str(
        "<style>line{stroke:#5b7fa6;stroke-opacity:.7}line.proto{stroke:#b3622d;stroke-dasharray:6 4}\
         rect{fill:#f4f6f8;stroke:#8899aa}text{fill:#223;text-anchor:middle;dominant-baseline:central}\
         @media(prefers-color-scheme:dark){rect{fill:#1e242b;stroke:#667}text{fill:#dde}}</style>\n",
    );
    for edge in &edges {
        line(&mut text, edge, &places);
    }
    for (name, (x, y)) in &places {
        let (left, top) = (x - width / 2.0, y - NODE_HEIGHT / 2.0);
        writeln!(
            text,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{NODE_HEIGHT}\" rx=\"5\"/>\
             <text x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            escaped(name)
        )
        .expect(INFALLIBLE);
    }
    text.push_str("</svg>\n");
    text
}

fn line(text: &mut String, edge: &Edge<'_>, places: &BTreeMap<&str, (f64, f64)>) {
    let (Some((x1, y1)), Some((x2, y2))) = (places.get(edge.src), places.get(edge.dst)) else { return };
    let class = if edge.mnest.state == State::Proto { " class=\"proto\"" } else { "" };
    writeln!(
        text,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke-width=\"{:.2}\"{class}>\
         <title>{} → {}: {:.2}, {}</title></line>",
        1.0 + 5.0 * edge.weight,
        escaped(edge.src),
        escaped(edge.dst),
        edge.weight,
        edge.mnest.uses
    )
    .expect(INFALLIBLE);
}

fn escaped(name: &str) -> String {
    name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[expect(clippy::cast_precision_loss, reason = "a drawing has few nodes")]
fn float(count: usize) -> f64 {
    count as f64
}
