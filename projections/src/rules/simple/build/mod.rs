//! Builds a pipeline clause by clause: which act, by which executor, over what, into what.
//!
//! Executors are chosen by name grammar, then by their sentence templates, then by the pre-filter. It never fills a
//! target that the words do not hold; what is missing becomes a question.

mod acting;
mod amiss;
mod conditions;
mod filing;
mod frames;
mod guard;
mod orders;
mod own;
mod people;
mod questions;
mod reading;
mod records;
mod request;
mod selection;
mod tell;
mod timed;
mod totals;
mod wanted;
mod writing;

use std::ops::Range;

use serde_json::Value;

use super::compose::number;
use super::fill::{Filled, is_label};
use super::items::{Item, What};
use super::lexicon::{Cue, Lexicons, Sense, VerbClass};
use super::tools::{Indexed, Tools};
use crate::manifest::Role;
use crate::plan::{AnswerSpec, PlannedStep};
use crate::rules::prefilter::Ranking;
use crate::rules::references;
use crate::rules::shape::{self, State, Violation};

/// Why no plan came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The value of this role is missing; the executor that wants it.
    Missing { role: Role, argument: String, tool: String },
    /// «it» stands for nothing.
    NoAntecedent,
    /// A mutation with a rest that is not understood, or a restriction that no executor honours.
    Unclear { words: String },
    /// No executor does this.
    NoTool { words: String },
    /// All that was said is what not to do.
    OnlyNegated,
    /// Lines that cannot be: none of them, from the fourth to the second.
    NoSuchLines { words: String },
    /// More acts than one plan takes.
    OneAtATime,
    /// A date that can be either of two days.
    TwoDays { words: String, one: String, other: String },
    /// A time to come, where the rest would be done at once.
    Time { words: String },
    /// The verb is an added executor's, and the rest is not what it takes: the executor, and a sentence of its own.
    OwnSentence { tool: String, said: String },
    /// What is to be told is not in any result.
    NoMeasure { words: String },
}

/// What a clause says, before executors are looked for.
struct Clause {
    range: Range<usize>,
    /// Strong verbs first, by their items.
    verbs: Vec<(usize, usize)>,
    counts: bool,
    pronoun: bool,
}

/// The plan in the making.
pub(crate) struct Builder<'a> {
    lexicons: &'a Lexicons,
    tools: &'a Tools,
    ranking: &'a Ranking,
    text: &'a str,
    items: &'a [Item],
    pub(crate) used: Vec<bool>,
    pub(crate) steps: Vec<PlannedStep>,
    pub(crate) answer: AnswerSpec,
    /// Some clause had no verb of its own: «anything over 5 MB in ~/x».
    pub(crate) implied: bool,
    /// All of it is the sentence of one executor that did not come with Metnos.
    pub(crate) is_own: bool,
    /// Verbs that a negation took away.
    negated: Vec<bool>,
    /// Classes of verbs that a negated clause forbids.
    forbidden: Vec<usize>,
}

const ACTING: [&str; 20] = [
    "move", "delete", "send", "share", "write", "set", "create", "change", "order", "compress", "open", "login",
    "install", "act", "undo", "run", "cancel", "pause", "resume", "schedule",
];

impl<'a> Builder<'a> {
    pub(crate) fn new(
        lexicons: &'a Lexicons,
        tools: &'a Tools,
        ranking: &'a Ranking,
        text: &'a str,
        items: &'a [Item],
    ) -> Self {
        Self {
            lexicons,
            tools,
            ranking,
            text,
            items,
            used: vec![false; items.len()],
            steps: Vec::new(),
            answer: AnswerSpec::Result,
            implied: false,
            is_own: false,
            negated: vec![false; items.len()],
            forbidden: Vec::new(),
        }
    }

    /// Plans all clauses.
    pub(crate) fn build(&mut self, clauses: &[Range<usize>]) -> Result<(), Trouble> {
        let unsound = |i: &Item| matches!(i.what, What::Lines(lines) if !lines.sound());
        if let Some(at) = self.items.iter().position(unsound) {
            return Err(Trouble::NoSuchLines { words: self.said(at..at + 1) });
        }
        let is_own = clauses.iter().any(|range| self.own_word(range.clone()).is_some());
        if !is_own && (self.message()? || self.tasks()?) {
            return self.guard();
        }
        let mut dropped = 0;
        for range in clauses {
            if self.negate(range.clone())? {
                dropped += 1;
                continue;
            }
            let clause = self.read(range.clone());
            self.clause(&clause)?;
        }
        if self.steps.is_empty() && dropped > 0 {
            return Err(Trouble::OnlyNegated);
        }
        self.explain_numbers();
        self.explain_sizes();
        let shaped = self.steps.iter().try_fold(State::Start, |state, step| shape::next(state, &step.tool, &step.args));
        match shaped {
            Err(Violation::PipelineAlreadyClosed) => return Err(Trouble::OneAtATime),
            Err(Violation::NeedsDataSource) => return Err(Trouble::NoTool { words: self.said(0..self.items.len()) }),
            _ => {}
        }
        match self.left_over() {
            Some(range) if !self.steps.is_empty() => Err(Trouble::Unclear { words: self.said(range) }),
            // Its own sentence says all that was asked.
            None if self.is_own && self.steps.len() == 1 => Ok(()),
            _ => self.guard(),
        }
    }

    /// «tiny files, under 2 kB»: the bound says how small.
    pub(super) fn explain_sizes(&mut self) {
        let bounded = self.items.iter().zip(&self.used).any(|(i, used)| matches!(i.what, What::Bound { .. }) && *used);
        for at in 0..self.items.len() {
            self.used[at] |= bounded && self.items[at].is(Cue::Sized);
        }
    }

    /// «two folders: ~/a and ~/b»: a number that only says how many were named. «I no longer need it», of what goes.
    fn explain_numbers(&mut self) {
        let things = self.items.iter().filter(|i| matches!(i.what, What::Path { .. } | What::Url(_))).count();
        let deletes = self.steps.iter().any(|s| self.tools.indexed(&s.tool).is_some_and(|t| t.verb == "delete"));
        for at in 0..self.items.len() {
            let counts = number(self.items, at).is_some_and(|(n, _)| usize::try_from(n) == Ok(things) && things > 1);
            let noun = self.items[at + 1..].iter().take(3).any(|i| i.object().is_some());
            self.used[at] |= (counts && noun) || (deletes && self.items[at].is(Cue::Unwanted));
        }
    }

    /// What was understood and yet went into no step: a restriction that would be lost, an act that would not be done, a
    /// word right after a path that may belong to its name.
    pub(crate) fn left_over(&self) -> Option<Range<usize>> {
        self.left_over_of(true)
    }

    /// The same; words that nobody knows need not count, where what such sentences mean is known from elsewhere.
    fn left_over_of(&self, strange: bool) -> Option<Range<usize>> {
        let lost = |at: &usize| {
            let item = &self.items[*at];
            let glued = *at > 0
                && matches!(&self.items[at - 1].what, What::Path { quoted: false, .. })
                && item.start == self.items[at - 1].end + 1;
            match &item.what {
                // «/tmp/my file.txt» without quotes: where the name begins and ends is a guess.
                What::Path { quoted: false, value, .. } if glued && !value.starts_with(['/', '~', '.']) => true,
                _ if self.used[*at] => false,
                What::Punctuation(_) => false,
                What::Word(senses) if senses.is_empty() => {
                    (strange && (glued || self.qualifies(*at))) || item.folded.starts_with(|c: char| c.is_ascii_digit())
                }
                What::Word(_) if self.restricts(*at) => true,
                What::Word(_) if item.is_noise() || item.is(Cue::Modified) => false,
                What::Word(_) if item.past().is_some_and(|v| self.acts(v)) => true,
                What::Word(senses) => {
                    item.verb().is_some()
                        || (glued && senses.iter().any(|s| matches!(s, Sense::Size(_) | Sense::Number(_))))
                }
                _ => true,
            }
        };
        (0..self.items.len()).find(lost).map(|at| at..at + 1)
    }

    /// A word that narrows what is meant, and that no step honours.
    fn restricts(&self, at: usize) -> bool {
        let item = &self.items[at];
        let next = self.items.get(at + 1);
        // «don't worry», «non ti preoccupare»: politeness.
        if item.is(Cue::Not) && item.is_noise() {
            return false;
        }
        let narrows = [Cue::Superlative, Cue::Condition, Cue::Restriction, Cue::Duplicate, Cue::Unwanted, Cue::Not]
            .iter()
            .any(|&cue| item.is(cue));
        if narrows || self.restricts_order(at) {
            return true;
        }
        if item.is(Cue::Begins) || item.is(Cue::Ends) {
            return !next.is_some_and(|i| matches!(i.what, What::Globs { .. }));
        }
        if item.is(Cue::Spelled) {
            let plain = item.object().is_some() || item.is(Cue::Contains);
            return !plain && !next.is_some_and(|i| matches!(i.what, What::Quoted(_)));
        }
        // «first read …»: an order of acts, not a place among things.
        let opens = next.is_none_or(|i| i.is_punctuation() || i.verb().is_some());
        let set = item.senses().iter().any(|s| matches!(s, Sense::Setting(_)));
        if (item.is(Cue::First) || item.is(Cue::Last)) && !item.is_noise() && !set {
            return !opens;
        }
        let number = item.senses().iter().find_map(|s| if let Sense::Number(n) = s { Some(*n) } else { None });
        if let Some(number) = number.filter(|_| !item.is(Cue::Determiner)) {
            let things = self.items.iter().filter(|i| matches!(i.what, What::Path { .. } | What::Url(_))).count();
            let noun = next.is_some_and(|i| self.names(i, "texts_lines"));
            return noun || (!item.is_noise() && usize::try_from(number) != Ok(things));
        }
        let place = [Cue::Inside, Cue::From, Cue::Into, Cue::Through, Cue::Onwards].iter().any(|&cue| item.is(cue));
        let compares =
            [Cue::MinSize, Cue::MaxSize, Cue::Older, Cue::Newer, Cue::Beside].iter().any(|&cue| item.is(cue));
        compares && !place && !item.is_noise() && !item.is(Cue::Connector)
    }

    /// «gronkly files», «righe strambe»: a word that nobody knows, right beside what it qualifies.
    fn qualifies(&self, at: usize) -> bool {
        let noun = |i: Option<&Item>| {
            i.is_some_and(|i| {
                matches!(i.what, What::Globs { .. } | What::Lines(_))
                    || ["files", "dirs", "texts_lines"].iter().any(|name| self.names(i, name))
            })
        };
        noun(self.items.get(at + 1)) || noun(at.checked_sub(1).and_then(|before| self.items.get(before)))
    }

    fn names(&self, item: &Item, object: &str) -> bool {
        item.object().is_some_and(|o| self.lexicons.objects[o] == object)
    }

    fn class(&self, verb: usize) -> &'a VerbClass {
        &self.lexicons.verbs[verb]
    }

    fn acts(&self, verb: usize) -> bool {
        self.class(verb).verbs.first().is_some_and(|v| ACTING.contains(&v.as_str()))
    }

    /// Takes the verbs after a negation away; true when nothing is left to do in the clause. A negation that is bound to
    /// neither a verb nor a cue is not understood.
    fn negate(&mut self, range: Range<usize>) -> Result<bool, Trouble> {
        let Some(first) = range.clone().find(|&at| self.items[at].is(Cue::Not)) else { return Ok(false) };
        let is_noise = |at: &usize| self.items[*at].is_noise() && !self.items[*at].is(Cue::Contains);
        let next = (first + 1..range.end).find(|at| !is_noise(at));
        let Some(next) = next else { return Err(Trouble::Unclear { words: self.said(first..range.end) }) };
        let of_lines = |at: usize| self.items[at].object().is_some_and(|o| self.lexicons.objects[o] == "texts_lines");
        let quoted = matches!(self.items[next].what, What::Quoted(_)) && range.clone().any(of_lines);
        if self.items[next].is(Cue::Contains) || quoted {
            return Ok(false);
        }
        if self.items[next].verb().is_none() {
            return Err(Trouble::Unclear { words: self.said(first..range.end) });
        }
        let restricts = |at: usize| {
            !matches!(self.items[at].what, What::Word(_) | What::Punctuation(_) | What::Path { .. } | What::Url(_))
        };
        if (first..range.end).any(|at| restricts(at) || self.items[at].is(Cue::Condition)) {
            return Err(Trouble::Unclear { words: self.said(first..range.end) });
        }
        for at in first..range.end {
            self.forbidden.extend(self.items[at].verb());
            self.negated[at] = true;
            self.used[at] = true;
        }
        let left = (range.start..first)
            .any(|at| self.items[at].verb().is_some() && !self.items[at].is_noise() || !self.items[at].is_word());
        Ok(!left)
    }

    pub(crate) fn said(&self, range: Range<usize>) -> String {
        match (self.items.get(range.start), self.items.get(range.end.saturating_sub(1))) {
            (Some(first), Some(last)) if first.start < last.end => self.text[first.start..last.end].to_owned(),
            _ => String::new(),
        }
    }

    fn read(&mut self, range: Range<usize>) -> Clause {
        let mut verbs = Vec::new();
        let (mut counts, mut pronoun) = (false, false);
        for at in range.clone() {
            let item = &self.items[at];
            pronoun |= item.pronoun || (item.is(Cue::Pronoun) && !self.is_article(at, &range));
            counts |= item.is(Cue::HowMany);
            let new =
                item.is(Cue::Fresh) && self.items.get(at + 1).is_some_and(|i| matches!(i.what, What::Globs { .. }));
            let adjective =
                new || (item.is(Cue::Duplicate) && self.describes_noun(at)) || self.is_column_name(at, range.start);
            if let Some(verb) = item.verb().filter(|_| !self.negated[at] && !adjective) {
                counts |= self.class(verb).counts;
                verbs.push((at, verb));
            }
        }
        verbs.sort_by_key(|&(at, verb)| (self.class(verb).weak, at));
        Clause { range, verbs, counts, pronoun }
    }

    /// «the columns name and email»: the names of columns, whatever else they mean.
    fn is_column_name(&self, at: usize, start: usize) -> bool {
        let mut before = (start..at).rev().take(6).map(|i| &self.items[i]);
        let listed = |i: &&Item| {
            (i.is_word() && !i.is(Cue::From) && !i.is(Cue::Inside) && !i.is(Cue::Column)) || i.is_punctuation()
        };
        let plural = |i: &Item| matches!(i.folded.as_str(), "columns" | "fields" | "colonne" | "campi");
        before.find(|i| !listed(i)).is_some_and(|i| i.is(Cue::Column) && plural(i))
    }

    /// «duplicate photos»: an adjective beside its noun, no act.
    fn describes_noun(&self, at: usize) -> bool {
        let noun = |i: &Item| i.object().is_some() || matches!(i.what, What::Globs { .. });
        let after = self.items.get(at + 1).is_some_and(noun);
        after || (self.items[at].folded.ends_with('s') && self.items.get(at + 1).is_none_or(Item::is_noise))
    }

    /// «la» before a noun is no pronoun.
    fn is_article(&self, at: usize, range: &Range<usize>) -> bool {
        self.items[at].is(Cue::Determiner)
            && range.contains(&(at + 1))
            && !self.items[at + 1].is(Cue::Into)
            && !self.items[at + 1].is(Cue::Inside)
    }

    fn clause(&mut self, clause: &Clause) -> Result<(), Trouble> {
        let before = self.steps.len();
        if self.own(clause)? {
            return self.tell(clause, before);
        }
        let strong = clause.verbs.iter().find(|&&(_, v)| !self.class(v).weak).copied();
        // «how many bytes did you write» asks, it does not act.
        if let Some((at, verb)) = self.packing(clause) {
            self.acting(clause, at, verb)?;
            for &(at, _) in &clause.verbs {
                self.used[at] = true;
            }
            return self.tell(clause, before);
        }
        // «me li metti in ordine dal più vecchio»: what was found is sorted, not moved.
        let orders = |&&(at, _): &&(usize, usize)| self.items[at].is(Cue::Arranges);
        if clause.verbs.iter().any(|v| orders(&v)) && clause.pronoun {
            let available = self.within(clause);
            if self.records(clause, &available)? {
                for &(at, _) in &clause.verbs {
                    self.used[at] = true;
                }
                return self.tell(clause, before);
            }
        }
        if let Some((at, verb)) = self.filing(clause) {
            self.acting(clause, at, verb)?;
            self.used[at] = true;
            return self.tell(clause, before);
        }
        let lifted = clause.range.clone().any(|at| !self.items[at].is_word() && !self.items[at].is_punctuation());
        if let Some((at, verb)) = strong.filter(|&(_, verb)| self.acts(verb) && (lifted || !clause.counts)) {
            if !(self.undo(clause, at, verb)? || self.command(clause, at, verb)?) {
                self.acting(clause, at, verb)?;
            }
        } else {
            self.implied |= strong.is_none();
            self.reading(clause)?;
        }
        self.tell(clause, before)
    }

    fn within(&self, clause: &Clause) -> Vec<usize> {
        clause.range.clone().filter(|&at| !self.negated[at] && !self.used[at]).collect()
    }

    fn has(&self, at: &[usize], fits: impl Fn(&What) -> bool) -> bool {
        at.iter().any(|&at| fits(&self.items[at].what))
    }

    fn push(&mut self, tool: &Indexed, filled: Filled) -> Result<(), Trouble> {
        for &at in &filled.used {
            self.used[at] = true;
        }
        if let Some(argument) = tool.missing(&filled.args).into_iter().next() {
            let role = tool.role(&argument).unwrap_or(Role::Option);
            return Err(Trouble::Missing { role, argument, tool: tool.name().to_owned() });
        }
        for (argument, value) in &filled.args {
            let refers = value.as_str().is_some_and(|text| references::reference(text).is_some());
            if argument != "from_step" && !refers && !tool.accepts(argument, value) {
                return Err(Trouble::Unclear { words: argument.clone() });
            }
        }
        self.explain(tool);
        self.steps.push(PlannedStep {
            tool: tool.name().to_owned(),
            args: Value::Object(filled.args),
            provenance: filled.provenance,
        });
        Ok(())
    }

    /// Nouns that name the executor's own object are explained by its being chosen.
    fn explain(&mut self, tool: &Indexed) {
        for at in 0..self.items.len() {
            let verb = self.items[at].verb().is_some_and(|v| !self.acts(v) && self.class(v).verbs.contains(&tool.verb));
            let noun = self.items[at].object().is_some_and(|o| {
                let name = self.lexicons.objects[o].as_str();
                let object = name.split('_').next() == Some(tool.object.as_str());
                object || (name == "dirs" && tool.object == "files") || is_label(self.items, at)
            });
            let today = tool.object == "now" && matches!(self.items[at].what, What::Window { today: true, .. });
            let narrows =
                [Cue::Superlative, Cue::Restriction, Cue::Duplicate].iter().any(|&cue| self.items[at].is(cue));
            self.used[at] |= (noun || today || verb) && !narrows && !self.restricts_order(at);
        }
    }
}
