//! Figures beside the goals that they are to reach.

use crate::table::Table;

/// What a figure is to be.
#[derive(Clone, Copy)]
pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// A figure and its goal.
pub(crate) struct Goal {
    what: String,
    unit: &'static str,
    bound: Bound,
    found: f64,
}

impl Goal {
    pub(crate) fn at_most(what: impl Into<String>, unit: &'static str, most: f64, found: f64) -> Self {
        Self { what: what.into(), unit, bound: Bound::AtMost(most), found }
    }

    pub(crate) fn at_least(what: impl Into<String>, unit: &'static str, least: f64, found: f64) -> Self {
        Self { what: what.into(), unit, bound: Bound::AtLeast(least), found }
    }

    /// A figure that could not be had is no figure that is good enough.
    fn is_met(&self) -> bool {
        match self.bound {
            Bound::AtMost(most) => self.found <= most,
            Bound::AtLeast(least) => self.found >= least,
        }
    }
}

/// One row a goal, and how many are met.
pub(crate) fn table(goals: &[Goal]) -> Table {
    let met = goals.iter().filter(|goal| goal.is_met()).count();
    let note = format!("{met} of {} met; the goals are those of the design", goals.len());
    let mut table = Table::new(&["what", "goal", "found", ""], &note);
    for goal in goals {
        let bound = match goal.bound {
            Bound::AtMost(most) => format!("≤ {}{}", number(most), goal.unit),
            Bound::AtLeast(least) => format!("≥ {}{}", number(least), goal.unit),
        };
        let met = if goal.is_met() { "met" } else { "NOT met" };
        table.row(vec![goal.what.clone(), bound, format!("{}{}", number(goal.found), goal.unit), met.to_owned()]);
    }
    table
}

/// Three digits that count, which is as many as differ from run to run.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
