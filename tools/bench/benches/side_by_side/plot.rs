//! Grouped bars as an SVG: a panel a question, a group of bars a case, a colour a rival, the figure above each bar.

use std::fmt::Write as _;

use crate::goals::number;

/// The colours of the series, told apart by those who see fewer colours as well.
const COLOURS: [&str; 4] = ["#4c78a8", "#f2a541", "#c44e52", "#72a98f"];
const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 320.0;
/// Room beside the bars: for numbers, title and legend, and names.
const LEFT: f64 = 62.0;
const RIGHT: f64 = 14.0;
const ABOVE: f64 = 66.0;
const BELOW: f64 = 42.0;
const COLUMNS: usize = 2;
/// About how wide a letter of the legend is.
const LETTER: f64 = 6.4;

/// How the bars grow.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// From zero.
    Linear,
    /// Each line of the grid is ten times the one below.
    Logarithmic,
}

/// One question.
pub(crate) struct Panel {
    pub(crate) title: String,
    /// Of the upright axis.
    pub(crate) unit: &'static str,
    pub(crate) scale: Scale,
    /// What the groups are of.
    pub(crate) along: &'static str,
    pub(crate) groups: Vec<String>,
    /// A name, and a figure for each group.
    pub(crate) series: Vec<(&'static str, Vec<f64>)>,
}

/// All panels on one sheet, with a line below.
pub(crate) fn sheet(title: &str, note: &str, panels: &[Panel]) -> String {
    let rows = panels.len().div_ceil(COLUMNS);
    let (width, height) = (WIDTH * float(COLUMNS), HEIGHT * float(rows) + 76.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\" fill=\"#222\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    text(&mut svg, (16.0, 28.0), "font-size=\"17\" font-weight=\"bold\"", title);
    text(&mut svg, (16.0, height - 12.0), "fill=\"#555\"", note);
    for (place, panel) in panels.iter().enumerate() {
        let (x, y) = (WIDTH * float(place % COLUMNS), 44.0 + HEIGHT * float(place / COLUMNS));
        write(&mut svg, format_args!("<g transform=\"translate({x} {y})\">\n"));
        panel.draw(&mut svg);
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

impl Panel {
    fn draw(&self, svg: &mut String) {
        let (low, high) = self.range();
        let height = |value: f64| {
            let share = match self.scale {
                Scale::Linear => value / high,
                Scale::Logarithmic => (value.max(low) / low).log10() / (high / low).log10(),
            };
            HEIGHT - BELOW - share.clamp(0.0, 1.0) * (HEIGHT - ABOVE - BELOW)
        };
        text(svg, (16.0, 20.0), "font-size=\"13\" font-weight=\"bold\"", &self.title);
        self.legend(svg);
        for line in self.lines(low, high) {
            let y = height(line);
            let (from, to) = (LEFT, WIDTH - RIGHT);
            write(svg, format_args!("<path d=\"M{from} {y:.1}H{to}\" stroke=\"#ddd\"/>\n"));
            text(svg, (LEFT - 6.0, y + 4.0), "text-anchor=\"end\"", &short(line));
        }
        let middle = f64::midpoint(ABOVE, HEIGHT - BELOW);
        let turned = format!("text-anchor=\"middle\" transform=\"rotate(-90 14 {middle})\"");
        text(svg, (14.0, middle), &turned, self.unit);
        self.bars(svg, height);
        let (from, to, y) = (LEFT, WIDTH - RIGHT, HEIGHT - BELOW);
        write(svg, format_args!("<path d=\"M{from} {y}H{to}M{from} {y}V{ABOVE}\" stroke=\"#222\" fill=\"none\"/>\n"));
        text(svg, (f64::midpoint(LEFT, WIDTH), HEIGHT - 6.0), "text-anchor=\"middle\"", self.along);
    }

    fn bars(&self, svg: &mut String, height: impl Fn(f64) -> f64) {
        let group = (WIDTH - LEFT - RIGHT) / float(self.groups.len());
        let bar = (group * 0.8 / float(self.series.len())).min(64.0);
        for (place, name) in self.groups.iter().enumerate() {
            let centre = LEFT + group * (float(place) + 0.5);
            text(svg, (centre, HEIGHT - BELOW + 16.0), "text-anchor=\"middle\"", name);
            let left = centre - bar * float(self.series.len()) / 2.0;
            for (nth, (_, values)) in self.series.iter().enumerate() {
                let (value, colour) = (values[place], COLOURS[nth % COLOURS.len()]);
                let (x, y) = (left + bar * float(nth), height(value));
                let (width, tall) = (bar - 2.0, HEIGHT - BELOW - y);
                write(
                    svg,
                    format_args!(
                        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{tall:.1}\" fill=\"{colour}\"/>\n"
                    ),
                );
                let size = if bar < 30.0 { 9 } else { 11 };
                let style = format!("text-anchor=\"middle\" font-size=\"{size}\"");
                text(svg, (x + width / 2.0, y - 4.0), &style, &short(value));
            }
        }
    }

    fn legend(&self, svg: &mut String) {
        let mut x = LEFT;
        for (nth, (name, _)) in self.series.iter().enumerate().filter(|_| self.series.len() > 1) {
            let colour = COLOURS[nth % COLOURS.len()];
            write(svg, format_args!("<rect x=\"{x:.1}\" y=\"32\" width=\"10\" height=\"10\" fill=\"{colour}\"/>\n"));
            text(svg, (x + 14.0, 41.0), "", name);
            x += 34.0 + LETTER * float(name.chars().count());
        }
    }

    /// What the upright axis goes from and to.
    fn range(&self) -> (f64, f64) {
        let values = || self.series.iter().flat_map(|(_, values)| values.iter().copied()).filter(|value| *value > 0.0);
        let greatest = values().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        match self.scale {
            Scale::Linear => (0.0, greatest * 1.1),
            Scale::Logarithmic => {
                let least = values().fold(greatest, f64::min);
                (10_f64.powf((least / 1.5).log10().floor()), 10_f64.powf((greatest * 1.2).log10().ceil()))
            }
        }
    }

    /// Where the lines of the grid are.
    fn lines(&self, low: f64, high: f64) -> Vec<f64> {
        let (first, step): (f64, Box<dyn Fn(f64) -> f64>) = match self.scale {
            Scale::Logarithmic => (low, Box::new(|line| line * 10.0)),
            Scale::Linear => {
                let power = 10_f64.powf((high / 4.0).log10().floor());
                let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * power);
                let step = step.into_iter().find(|step| high / step <= 6.0).unwrap_or(high);
                (0.0, Box::new(move |line| line + step))
            }
        };
        std::iter::successors(Some(first), |line| Some(step(*line))).take_while(|line| *line <= high * 1.0001).collect()
    }
}

fn text(svg: &mut String, (x, y): (f64, f64), style: &str, said: &str) {
    let said = said.replace('&', "&amp;").replace('<', "&lt;");
    write(svg, format_args!("<text x=\"{x:.1}\" y=\"{y:.1}\" {style}>{said}</text>\n"));
}

fn write(svg: &mut String, what: std::fmt::Arguments<'_>) {
    svg.write_fmt(what).expect("a text takes any text");
}

/// A figure in few letters.
fn short(value: f64) -> String {
    let whole = |value: f64| number(value).trim_end_matches(['0']).trim_end_matches('.').to_owned();
    let told = |value: f64| if value >= 100.0 { format!("{value:.0}") } else { whole(value) };
    match value {
        none if none <= 0.0 => "0".to_owned(),
        millions if millions >= 1e6 => format!("{} M", told(millions / 1e6)),
        thousands if thousands >= 1e4 => format!("{} k", told(thousands / 1e3)),
        few => told(few),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a handful of bars")]
fn float(count: usize) -> f64 {
    count as f64
}
