//! The harness for recorded histories: each is folded whole and cut at every index, and its turns are decided again.
//!
//! A history is what `metnos log export` wrote. It is added, never edited. Turns that other rules decided are checked
//! for legality and folded; turns of the present rules must decide the same. Live behaviour is tested in `acceptance/`.

pub mod builder;
pub mod made;
pub mod month;
pub mod turning;

use std::fs;
use std::path::Path;

use metnos::export::history;
use metnos::projector::Projected;
use metnos_log::Recorded;
use metnos_projections::machines::catalog::Catalog;
use metnos_projections::replay::{Checker, Report};
use metnos_projections::rules::Rules;

/// Reads a history.
///
/// # Panics
/// A line is no event, or the file cannot be read: a recorded history is part of the tests.
pub fn read(file: &Path) -> Vec<Recorded> {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let read = |(number, line): (usize, &str)| {
        history::read_line(line).unwrap_or_else(|error| panic!("{}:{}: {error}", file.display(), number + 1))
    };
    text.lines().enumerate().map(read).collect()
}

/// Replays a history by the rules of this build.
pub fn replay(rules: &Rules, history: &[Recorded]) -> (Report, Catalog) {
    let mut checker = Checker::new(rules, false);
    for recorded in history {
        checker.take(recorded);
    }
    checker.finish()
}

/// The digests of a history's projections, one a line: what its `digests.txt` pins.
pub fn digests(history: &[Recorded]) -> Vec<String> {
    let mut projected = Projected::default();
    for recorded in history {
        projected.evolve(recorded);
    }
    projected.digests().iter().map(|(name, digest)| format!("{name} {digest}")).collect()
}
