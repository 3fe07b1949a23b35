//! Words of time to come that a plan took no notice of: to do it at once is not what was said.
//!
//! It reads no time; `when` does that before anything is planned. What arrives here was not understood as one.

use std::ops::Range;

use super::super::items::{Item, What};
use super::super::lexicon::{Cue, Sense};
use super::super::once::Once;
use super::super::recurring::tokens;
use super::super::tools::Indexed;
use super::super::words::fold;
use super::{Builder, Trouble};
use crate::messages::Language;
use crate::plan::PlannedStep;

impl Builder<'_> {
    /// For an act: any time to come outside of what is quoted or told.
    pub(super) fn act_timed(&self, tool: &Indexed) -> Result<(), Trouble> {
        // What is begun, ended or paused has a name that may be one of time, and is looked at where it is planned.
        let named = matches!(tool.verb.as_str(), "run" | "toggle" | "pause" | "resume" | "schedule" | "cancel");
        if named {
            return Ok(());
        }
        let end = self.body_starts(tool);
        let told = |at: usize| at >= end && !self.after_quote(end).contains(&at);
        let held = self.held();
        let taken = |at: usize| match self.items[at].what {
            What::Window { .. } | What::Lines(_) => self.used[at],
            _ => self.says_how(at) || self.items[at].is_unknown() && held(at),
        };
        let found = self.time_to_come(|at| told(at) || taken(at));
        let first = if self.is_command_line() { None } else { self.later(tool, end) };
        if let Some(span) = found {
            return Err(Trouble::Time { words: self.said(span) });
        }
        let Some(at) = first else { return Ok(()) };
        let words = self.said(at..at + 1);
        // What is only spelt like a month may be anything.
        let sure = !self.is_day_to_come(at) || self.says_a_day(at);
        Err(if sure { Trouble::Time { words } } else { Trouble::Unclear { words } })
    }

    /// Whether an item names a day of the week, and is not only spelt like a month.
    fn says_a_day(&self, at: usize) -> bool {
        let weekday = |word: &str| {
            let senses =
                |&l: &Language| self.lexicons.senses_of(word, l).iter().any(|s| matches!(s, Sense::Weekday(_)));
            word.len() > 2 && Language::ALL.iter().any(senses)
        };
        self.items[at].folded.split(' ').any(weekday)
    }

    /// For a reading: a time to come of which no word went into the plan.
    pub(super) fn reading_timed(&self) -> Result<(), Trouble> {
        // «which tasks are scheduled for tomorrow»: all of them are listed with their times.
        let tasks = |step: &PlannedStep| self.tools.indexed(&step.tool).is_some_and(|tool| tool.object == "recurring");
        if self.steps.iter().any(tasks) {
            return Ok(());
        }
        let held = self.held();
        match self.time_to_come(|at| held(at) && !self.items[at].is_noise()) {
            Some(span) => Err(Trouble::Time { words: self.said(span) }),
            None => Ok(()),
        }
    }

    /// Whether an item is in the plan. What such sentences usually hold is explained by that, and need not be in it.
    fn held(&self) -> impl Fn(usize) -> bool {
        let args: Vec<String> = self.steps.iter().map(|step| fold(&step.args.to_string())).collect();
        move |at| {
            let item = &self.items[at];
            let named = || item.verb().is_none() && args.iter().any(|args| args.contains(&item.folded));
            self.used[at] && (!item.is_word() || named())
        }
    }

    /// For the end or pause of a task: a time that its name does not hold. What recurs is what the task does, except where
    /// the sentence begins with it.
    pub(super) fn task_timed(&self) -> Option<Range<usize>> {
        let verb = self.items.iter().position(|i| i.verb().is_some_and(|v| self.acts(v))).unwrap_or(0);
        let noun = (0..self.items.len()).find(|&at| self.names(&self.items[at], "tasks"));
        let span = self.time_to_come(|_| false)?;
        let bounded = self.reads_at(span.start, |once, at| once.until(at).is_some());
        let recurs = self.reads_at(span.start, |once, at| once.reader.cadence(at).is_some());
        if recurs && span.start > 0 {
            return None;
        }
        let ends = self.items[span.end..].iter().all(Item::is_punctuation);
        // «stop the task at noon», but «stop the noon task», «stop the reminder of Friday».
        let apart = noun.is_some_and(|noun| noun < span.start)
            && ends
            && !self.reads_at(span.start, |once, at| once.reader.is_about(at));
        // «run the backup, don't wait for tonight»
        let denied = self.items[..span.start].iter().rev().take_while(|i| !i.is_punctuation()).any(|i| i.is(Cue::Not));
        (!denied && (bounded || span.start < verb || apart)).then_some(span)
    }

    /// The first words of a time to come, none of whose items are passed over.
    fn time_to_come(&self, passed: impl Fn(usize) -> bool) -> Option<Range<usize>> {
        let tokens = tokens(self.text, self.items);
        Language::ALL.into_iter().find_map(|language| {
            let once = Once::undated(self.lexicons, language, self.items, &tokens)?;
            (0..tokens.len()).find_map(|at| {
                let span = once.reader.items_of(at..once.to_come(at)?);
                let plain = |at: usize| {
                    matches!(
                        self.items[at].what,
                        What::Word(_) | What::Number(_) | What::Window { .. } | What::Punctuation(_)
                    )
                };
                span.clone().all(|at| plain(at) && !passed(at)).then_some(span)
            })
        })
    }

    /// Whether that is so, in any language, where an item begins.
    fn reads_at(&self, item: usize, is: impl Fn(&Once<'_>, usize) -> bool) -> bool {
        let tokens = tokens(self.text, self.items);
        let Some(at) = tokens.iter().position(|(_, of)| *of == item) else { return false };
        Language::ALL.into_iter().any(|language| {
            Once::undated(self.lexicons, language, self.items, &tokens).is_some_and(|once| is(&once, at))
        })
    }
}
