//! What speaks against a plan by its frame: a meaning that is turned round, words and spans that went into no step.
//!
//! It only looks; nothing is planned here.

use super::super::super::compose::number;
use super::super::super::fill::path;
use super::super::super::items::{Item, What};
use super::super::super::lexicon::{Cue, Sense};
use super::super::{Builder, Clause, Trouble};
use super::Meaning;
use crate::plan::AnswerSpec;

impl Builder<'_> {
    /// A negation, a condition, a question about an act turn the meaning round: those sentences are not guessed at.
    pub(super) fn refuse_turned(&self, meant: &Meaning<'_>) -> Result<(), Trouble> {
        let acts = meant.acts;
        let who = |at: usize| at.checked_sub(1).is_some_and(|b| self.items[b].is(Cue::Doer));
        let undoes = meant.frame == "undo_last_turn";
        let named = |at: Option<usize>| at.and_then(|at| self.items.get(at)).is_some_and(|i| path(i).is_some());
        let chooses = |at: usize| self.items[at].is(Cue::Choice) && named(at.checked_sub(1)) && named(Some(at + 1));
        if let Some(at) = (0..self.items.len()).find(|&at| acts && chooses(at)) {
            return Err(Trouble::Unclear { words: self.said(at - 1..at + 2) });
        }
        let verb = meant.frame.split('_').next().unwrap_or_default();
        let says = |i: &Item| i.verb().is_some_and(|v| self.class(v).verbs[0] == verb);
        // «I have no use for it, so delete it»: the negation ends before the act is named.
        let apart = |at: usize| {
            let end =
                self.items[at..].iter().position(|i| i.is_punctuation() || (i.is(Cue::Connector) && !i.is_noise()));
            end.is_some_and(|end| self.items[at + end..].iter().any(says) && !self.items[at..at + end].iter().any(says))
                && self.items[..at].iter().all(|i| !says(i))
        };
        let ends = meant.frame.ends_with("_recurring");
        let turns = |at: &usize| {
            let i = &self.items[*at];
            let usual = i.folded.split(' ').any(|w| meant.explains(w));
            let asks = i.is(Cue::Asking) && (!i.is_noise() || i.is(Cue::Unasked)) && !i.is(Cue::Polite);
            let told = i.past().is_some() && i.verb().is_none() && who(*at);
            let denied = (*at + 1..self.items.len().min(*at + 3)).any(|n| says(&self.items[n]));
            let turned = i.is(Cue::Not)
                && !(ends && meant.sure && !denied)
                && meant.frame != "find_files > filter_entries"
                && !(usual && (undoes || ends || !acts || apart(*at)));
            turned || (acts && !undoes && !ends && (i.is(Cue::Condition) || asks || told))
        };
        // What a message says is none of this.
        let tells = |i: &Item| i.is(Cue::Tells) || i.verb().is_some_and(|v| self.class(v).verbs[0] == "send");
        let said =
            self.items.iter().position(|i| tells(i) || i.is(Cue::Saying)).filter(|_| meant.frame == "send_messages");
        match (0..said.unwrap_or(self.items.len())).find(turns) {
            Some(at) => Err(Trouble::Unclear { words: self.said(at..at + 1) }),
            None => Ok(()),
        }
    }

    /// «zippami la cartella ~/x»: where a word is strange, another one than a noun must say what is to be done.
    pub(super) fn says_act(&self, meant: &Meaning<'_>) -> bool {
        const CLEARLY: i16 = 15;
        let strange = |(at, i): (usize, &Item)| i.is_unknown() && !self.used[at];
        let says = |i: &Item| {
            let told = i.folded.split([' ', '\'']).any(|w| meant.speaks(w) >= CLEARLY);
            let named =
                i.verb().is_some_and(|v| self.class(v).verbs.iter().any(|v| meant.frame.contains(&format!("{v}_"))));
            i.is_word() && ((i.object().is_none() && told) || named)
        };
        !self.items.iter().enumerate().any(strange) || self.items.iter().any(says)
    }

    /// A span, a number, a restriction or another act that went into no step. A word that nobody knows is lost only where
    /// it may narrow what an act is done to.
    pub(super) fn is_lost(&self, at: usize, meant: &Meaning<'_>) -> bool {
        let item = &self.items[at];
        if item.is_punctuation() {
            return false;
        }
        if !item.is_word() {
            return true;
        }
        let ordinal = item.senses().iter().any(|s| matches!(s, Sense::Ordinal(_)));
        let counted = number(self.items, at).is_some_and(|(n, _)| n > 1) && !item.is_noise();
        if self.talks_of_metnos() {
            return counted && !item.is_noise();
        }
        let over_found = self.steps.len() > 1 && meant.frame.starts_with("find_") && meant.acts;
        // «a folder called foo bar»: the name goes on.
        let named = at
            .checked_sub(1)
            .is_some_and(|b| matches!(&self.items[b].what, What::Path { value, .. } if !value.contains(['/', '~'])));
        if item.is_unknown() && named {
            return true;
        }
        if item.is_unknown() {
            // «the red photos»: a reading that leaves it out would answer another question.
            let clause = at > 0 && self.items[at - 1].is(Cue::Relative);
            let narrows = meant.frame.starts_with("find_") && (self.qualifies(at) || clause) && !self.stands_apart(at);
            let now = meant.frame == "get_now" && !self.stands_apart(at);
            let figure = item.folded.starts_with(|c: char| c.is_ascii_digit());
            return (over_found && !self.stands_apart(at)) || narrows || now || figure;
        }
        let grave = item.verb().is_some_and(|v| {
            ["delete", "compress", "send", "schedule", "cancel", "undo", "create"]
                .contains(&self.class(v).verbs[0].as_str())
        });
        let other_act = item.verb().is_some_and(|v| {
            let class = self.class(v);
            let same =
                class.verbs.iter().any(|verb| meant.frame.split(" > ").any(|step| step.starts_with(verb.as_str())));
            let idle = meant.sure && !meant.acts && !grave;
            !idle && self.acts(v) && !same && !meant.explains(&item.folded)
        });
        ordinal || counted || other_act || self.restricts(at)
    }

    /// «the desktop is a mess. Move …»: in a sentence of its own that describes no entries.
    pub(super) fn stands_apart(&self, at: usize) -> bool {
        let ends = |i: &Item| matches!(i.what, What::Punctuation('.' | ':' | ';' | '!' | '?'));
        let from = self.items[..at].iter().rposition(ends).map_or(0, |p| p + 1);
        let to = self.items[at..].iter().position(ends).map_or(self.items.len(), |p| at + p);
        let describes = |i: &Item| matches!(i.what, What::Globs { .. } | What::Bound { .. } | What::Window { .. });
        to - from < self.items.len() && !self.items[from..to].iter().any(describes)
    }

    /// «should be deleted», «vanno eliminati»: what the frame does, said as if it were done.
    fn is_due(&self, at: usize, meant: &Meaning<'_>) -> bool {
        let of_frame = |v: usize| {
            let class = self.class(v);
            class.verbs.iter().any(|verb| meant.frame.split(" > ").any(|step| step.starts_with(verb.as_str())))
        };
        self.items[at].past().is_some_and(of_frame) && self.items[..at].iter().any(|i| i.is(Cue::Due))
    }

    pub(super) fn talks_of_metnos(&self) -> bool {
        matches!(self.steps.as_slice(), [only] if matches!(only.tool.as_str(), "undo_last_turn" | "list_recurring"))
    }

    /// Words that usually stand in such sentences are explained by that.
    pub(super) fn explain_by_usage(&mut self, meant: &Meaning<'_>) {
        let counts = self.answer == AnswerSpec::Count;
        let sums = meant.parts.iter().any(|p| p.tool == "compute_entries");
        for at in 0..self.items.len() {
            let item = &self.items[at];
            if !item.is_word() || number(self.items, at).is_some() {
                continue;
            }
            let known = item.folded.split([' ', '\'']).filter(|w| w.len() > 1).all(|w| meant.explains(w));
            let total = sums
                && item.senses().iter().any(|s| matches!(s, Sense::Aggregate(_) | Sense::Size(_) | Sense::Field(_)));
            let noun = item.object().is_some() && known;
            // What narrows is honoured or asked about; a word beside what is acted on may narrow it.
            let over_found = meant.acts && meant.frame.starts_with("find_");
            if meant.acts && self.restricts(at) || over_found && item.is_unknown() && self.qualifies(at) {
                continue;
            }
            let due = meant.acts && self.is_due(at, meant);
            self.used[at] |= known || noun || total || due || (counts && item.is(Cue::HowMany));
        }
        let clause = Clause { range: 0..self.items.len(), verbs: Vec::new(), counts, pronoun: false };
        let all: Vec<usize> = clause.range.clone().collect();
        self.explain_entries(&clause, &all);
        self.explain_nouns(&all);
        if meant.parts.iter().any(|p| p.tool == "find_files_hash") {
            for at in all {
                let copies = [Cue::Duplicate, Cue::Copies, Cue::Restriction, Cue::Difference]
                    .iter()
                    .any(|&c| self.items[at].is(c));
                self.used[at] |= copies;
            }
        }
    }
}
