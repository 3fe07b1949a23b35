//! What an act must not be, however well it was understood: a question, a report, a doubt, or done to more than was meant.
//!
//! It looks at the finished plan of one that changes something, whoever planned it, and turns it into a question.

use super::super::compose::number;
use super::super::fill::path;
use super::super::items::{Item, Lines, What};
use super::super::lexicon::{Cue, Sense};
use super::super::tools::Indexed;
use super::wanted::SOME;
use super::{Builder, Trouble};
use crate::messages::Language;

impl Builder<'_> {
    /// An error where what would be done is not what was said: for readings one rule, for acts all of them.
    pub(super) fn guard(&self) -> Result<(), Trouble> {
        if let Some(at) = self.taken_in() {
            return Err(Trouble::Unclear { words: self.said(at..at + 1) });
        }
        // «the lines with ERROR»: what was to be looked for went into nothing.
        let sought =
            |at: usize| self.items[at].is(Cue::Contains) && self.items[at + 1].is_unknown() && !self.used[at + 1];
        if let Some(at) = (0..self.items.len().saturating_sub(1)).find(|&at| sought(at)) {
            return Err(Trouble::Unclear { words: self.said(at + 1..at + 2) });
        }
        if let Some(at) = self.kinds_and_names() {
            return Err(Trouble::Unclear { words: self.said(at..at + 1) });
        }
        if let Some(at) = self.lost_of_reading() {
            return Err(Trouble::Unclear { words: self.said(at..at + 1) });
        }
        // «what percentage …»: a list or a count would answer another question.
        if let Some(at) = (0..self.items.len()).find(|&at| self.items[at].is(Cue::Share) && !self.used[at]) {
            return Err(Trouble::Unclear { words: self.said(at..at + 1) });
        }
        let Some(tool) = self.steps.iter().filter_map(|s| self.tools.indexed(&s.tool)).find(|t| t.acts()) else {
            // «could they be deleted?»: to show them is not what was asked.
            let takes = |v: usize| matches!(self.class(v).verbs[0].as_str(), "delete" | "move" | "compress");
            let done = |i: &Item| i.past().is_some_and(takes) && i.verb().is_none() && !i.is_noise();
            if let Some(at) = (0..self.items.len()).find(|&at| done(&self.items[at]) && !self.used[at]) {
                return Err(Trouble::Unclear { words: self.said(at..at + 1) });
            }
            return self.reading_timed();
        };
        self.act_timed(tool)?;
        let found = [
            self.no_request(tool),
            self.unasked(tool),
            self.left_over_things(tool),
            self.mixed_kinds(),
            self.not_all(tool),
            self.copied(tool),
            self.swapped(tool),
            self.replaced(tool),
            self.told_twice(tool),
            self.partly(tool),
            self.of_a_sort(tool),
            self.mode_lost(),
            self.name_part_lost(),
            self.sorting_lost(),
            self.text_of_an_act(),
            self.act_lost(),
            self.left_open(tool),
            self.spared(tool),
            self.part_of_a_thing(tool),
            self.folders_by_extension(),
            self.loosely_joined(tool),
            self.inside_of(tool),
            self.several_undone(tool),
            self.moved_from(tool),
            self.task_kept(tool),
            self.place_made(tool),
        ];
        if let Some(at) = found.into_iter().flatten().next() {
            return Err(Trouble::Unclear { words: self.said(at..at + 1) });
        }
        let quoted = self.items.iter().any(|i| matches!(i.what, What::Quoted(_)));
        if self.steps.len() > 1 && !quoted && self.is_dropped() {
            return Err(Trouble::OneAtATime);
        }
        if self.found_and_named() || self.picked_unasked(tool) {
            return Err(Trouble::Unclear { words: self.said(0..self.items.len()) });
        }
        self.two_days()
    }

    /// «the pictures with IMG in the name»: both must hold, and a search takes either.
    fn kinds_and_names(&self) -> Option<usize> {
        let patterns = self.steps.first()?.args.get("patterns")?.as_array()?;
        let globs: Vec<&str> = patterns.iter().filter_map(serde_json::Value::as_str).collect();
        let kinds = globs.iter().any(|g| g.starts_with("*.") && !g[2..].contains('*'));
        let names = |g: &&str| g.len() > 2 && g.starts_with('*') && g.ends_with('*') && !g.contains('.');
        let name = globs.iter().copied().find(names).filter(|_| kinds)?;
        let held = |i: &Item| matches!(&i.what, What::Globs { globs, .. } if globs.len() == 1 && globs[0] == name);
        self.items.iter().position(held)
    }

    /// «the second highest price», «the first 3 columns»: said of the table or the order, and gone into nothing.
    fn lost_of_reading(&self) -> Option<usize> {
        // «the pdfs in Downloads and Documents»: a second folder of the person's.
        let second = |at: usize| {
            let joined = self.items[at].is(Cue::Connector) || self.items[at].is(Cue::Choice);
            let folder = self.items.get(at + 1).is_some_and(|i| {
                i.senses().contains(&Sense::Folder) && self.said(at + 1..at + 2).starts_with(char::is_uppercase)
            });
            joined && folder && at > 0 && path(&self.items[at - 1]).is_some()
        };
        if let Some(at) = (0..self.items.len()).find(|&at| second(at)) {
            return Some(at + 1);
        }
        if let Some(at) = self.condition_lost() {
            return Some(at);
        }
        let ordinal = |i: &Item| !i.is_noise() && i.senses().iter().any(|s| matches!(s, Sense::Ordinal(n) if *n > 1));
        let ranked = (0..self.steps.len()).any(|at| self.does(at, "sort") || self.does(at, "compute"));
        let lines = self.steps.iter().any(|s| self.tools.indexed(&s.tool).is_some_and(|t| t.name() == "read_files"));
        (0..self.items.len()).find(|&at| {
            let item = &self.items[at];
            !self.used[at] && ((ranked && ordinal(item)) || (lines && item.is(Cue::Column) && !item.is_noise()))
        })
    }

    /// «amount > 10 or category is food», «with category food and fun»: rows would be kept by the first alone.
    fn condition_lost(&self) -> Option<usize> {
        let conditions = || {
            let kept = (0..self.steps.len()).filter(|&at| self.does(at, "filter"));
            kept.filter_map(|at| self.steps[at].args.get("where")?.as_array()).flatten()
        };
        conditions().next()?;
        let any = conditions().any(|c| c["op"] == "in");
        let either = |at: usize| self.items[at].is(Cue::Choice) && !any;
        let held = |at: usize| {
            let said = self.said(at..at + 1);
            let among = |v: &serde_json::Value| v.as_array().is_some_and(|all| all.iter().any(|v| *v == said));
            conditions().any(|c| c["value"] == said || c["field"] == said || among(&c["value"]))
        };
        let value = |at: Option<usize>| at.filter(|&at| self.items.get(at).is_some_and(Item::is_unknown));
        let both = |at: usize| match (value(at.checked_sub(1)), value(Some(at + 1))) {
            (Some(left), Some(right)) => self.items[at].is(Cue::Connector) && held(left) != held(right),
            _ => false,
        };
        (0..self.items.len()).find(|&at| either(at) || both(at)).map(|at| (at + 1).min(self.items.len() - 1))
    }

    /// Whether this step's executor has that verb.
    pub(super) fn does(&self, step: usize, verb: &str) -> bool {
        self.steps.get(step).and_then(|s| self.tools.indexed(&s.tool)).is_some_and(|t| t.verb == verb)
    }

    /// Something is looked for, and something else that has a name is deleted.
    fn found_and_named(&self) -> bool {
        let deletes = |at: usize| self.does(at, "delete") && self.steps[at].args.get("paths").is_some();
        self.does(0, "find") && (1..self.steps.len()).any(deletes)
    }

    /// «delete the newest»: ten of them, though nobody said how many.
    fn picked_unasked(&self, tool: &Indexed) -> bool {
        let tops = |at: usize| {
            self.does(at, "sort") && self.steps[at].args.get("top").and_then(serde_json::Value::as_i64) == Some(SOME)
        };
        let said = (0..self.items.len()).any(|at| number(self.items, at).is_some_and(|(n, _)| n == SOME));
        let writes = (0..self.steps.len()).any(|at| self.does(at, "write"));
        tool.object != "processes" && !said && !writes && (0..self.steps.len()).any(tops)
    }

    /// «before 03/04/2024»: March or April; what is changed must not hang on a habit.
    fn two_days(&self) -> Result<(), Trouble> {
        for at in 0..self.items.len() {
            if !matches!(self.items[at].what, What::Window { .. }) {
                continue;
            }
            let said = self.said(at..at + 1);
            if let Some((words, [one, other])) = said.split_whitespace().find_map(|w| Some((w, either_day(w)?))) {
                return Err(Trouble::TwoDays { words: words.to_owned(), one, other });
            }
        }
        Ok(())
    }

    /// «the size without the jpgs»: what was to be left out is what would be looked for. Holds for readings too.
    fn taken_in(&self) -> Option<usize> {
        let sought = self.steps.first()?.args.get("patterns")?.as_array()?;
        (0..self.items.len()).find(|&at| {
            let not = self.items[at].is(Cue::Not) && !self.items[at].is_noise();
            let left_out = |i: &Item| matches!(&i.what, What::Globs { globs, .. } if globs.iter().any(|g| sought.iter().any(|s| s == g)));
            not && self.items.iter().skip(at + 1).take(2).any(left_out)
        })
    }

    /// «should I», «later», «a bad idea», «was it moved»: words that make no request of an act.
    fn unasked(&self, tool: &Indexed) -> Option<usize> {
        // What a message says is none of this.
        let tells = |i: &Item| i.is(Cue::Tells) || i.verb().is_some_and(|v| self.class(v).verbs[0] == "send");
        let texts = tool.verb == "send";
        let end = if texts { self.items.iter().position(tells).or(Some(1)) } else { None };
        let asks = self.items.iter().any(|i| i.what == What::Punctuation('?'));
        let first = self.items.iter().position(|i| !i.is_punctuation())?;
        (0..end.unwrap_or(self.items.len())).find(|&at| {
            let item = &self.items[at];
            let kept = tool.verb == "toggle";
            (item.is(Cue::Unasked) && !kept)
                || ((asks || at == first) && item.is(Cue::Wonders) && !self.wishes_at(at))
                || (asks && item.forgiven && item.verb().is_some_and(|v| self.acts(v)))
                || self.answers_itself(at)
                || (at == first && item.is(Cue::Reports))
        })
    }

    /// «delete ~/a.txt? no, read it»: something else to do after the question mark.
    fn answers_itself(&self, at: usize) -> bool {
        let more = |i: &Item| !i.is_noise() && !i.is_punctuation() && (i.verb().is_some() || i.is(Cue::Not));
        let acted = self.items[..at].iter().any(|i| i.verb().is_some_and(|v| self.acts(v)));
        self.items[at].what == What::Punctuation('?') && acted && self.items[at + 1..].iter().any(more)
    }

    /// «some files», «the other photos», «the files I downloaded»: not all that was found is meant.
    fn partly(&self, tool: &Indexed) -> Option<usize> {
        let over_found = self.steps.len() > 1 && self.does(0, "find") && tool.verb != "write";
        let act = self.items.iter().position(|i| i.verb().is_some_and(|v| self.acts(v))).unwrap_or(0);
        let noun = |at: usize| {
            self.items.get(at + 1).is_some_and(|i| i.object().is_some() || matches!(i.what, What::Globs { .. }))
        };
        (0..self.items.len()).find(|&at| {
            let item = &self.items[at];
            // «that I have on the desktop» only says where.
            let there = self.items.get(at + 1).is_some_and(|i| i.is(Cue::Inside) || path(i).is_some());
            let done = (item.is(Cue::Doer) || self.holds(item, Cue::Doer)) && !there;
            let whose = item.is(Cue::People) && noun(at);
            // «those files bigger than 20 MB» are told apart by what follows.
            let told = |i: &Item| matches!(i.what, What::Bound { .. } | What::Window { .. });
            let apart = item.is(Cue::Pronoun) && self.items[at + 1..].iter().any(told);
            (item.is(Cue::Partial) && noun(at) && !apart) || (over_found && at > act && (done || whose))
        })
    }

    /// «che ho»: a phrase of which a word that plays this role is a part.
    fn holds(&self, item: &Item, cue: Cue) -> bool {
        let plays = |w: &str| {
            w.len() > 1 && Language::ALL.iter().any(|&l| self.lexicons.senses_of(w, l).contains(&Sense::Cue(cue)))
        };
        item.is_word() && item.folded.contains(' ') && item.folded.split(' ').any(plays)
    }

    /// «don't cancel the report», «cancel all but one»: a negation beside the end of what recurs.
    fn task_kept(&self, tool: &Indexed) -> Option<usize> {
        let ends = tool.object == "recurring" && tool.verb != "schedule";
        let verb = |i: &Item| {
            i.verb().is_some_and(|v| {
                matches!(self.class(v).verbs[0].as_str(), "cancel" | "delete" | "pause" | "resume" | "run")
            })
        };
        let not = (0..self.items.len()).find(|&at| self.items[at].is(Cue::Not)).filter(|_| ends)?;
        let denied = self.items.iter().skip(not + 1).take(2).any(verb);
        // «all but the milk one»: only what is ended for good is held to that.
        let left_out = tool.verb == "cancel" && self.items[..not].iter().any(verb);
        (denied || left_out).then_some(not)
    }

    /// «a folder for each year in ~/x»: where folders are to be made, not which.
    fn place_made(&self, tool: &Indexed) -> Option<usize> {
        if tool.verb != "create" || tool.object != "dirs" || self.steps.len() > 1 {
            return None;
        }
        let made = self.steps[0].args.get("paths")?.as_array()?;
        (1..self.items.len()).find(|&at| {
            let placed = self.items[at - 1].is(Cue::Inside)
                && !self.items[at - 1].is(Cue::OwnPlace)
                && !self.items[at - 1].is(Cue::Named);
            placed && path(&self.items[at]).is_some_and(|(value, _)| made.iter().any(|m| m == value))
        })
    }

    /// Targets that something else than «and» stands between: «a or b», «a from b», «a to b».
    fn loosely_joined(&self, tool: &Indexed) -> Option<usize> {
        if !matches!(tool.verb.as_str(), "delete" | "create") || tool.object == "processes" || self.steps.len() > 1 {
            return None;
        }
        let paths: Vec<usize> = (0..self.items.len()).filter(|&at| path(&self.items[at]).is_some()).collect();
        let listed = self.steps[0].args.get("paths").and_then(serde_json::Value::as_array).map_or(0, Vec::len);
        if listed < 2 {
            return None;
        }
        paths.windows(2).find_map(|pair| {
            let parts = |i: &Item| {
                i.is(Cue::From) || i.is(Cue::Into) || i.is(Cue::Inside) || i.is(Cue::Through) || i.is(Cue::Choice)
            };
            let joins = |i: &Item| i.is(Cue::Connector) && !i.is(Cue::Choice) && !i.is(Cue::Into);
            (pair[0] + 1..pair[1]).find(|&at| {
                let item = &self.items[at];
                !item.is_punctuation() && !joins(item) && (parts(item) || item.is_unknown() || item.is(Cue::Retracts))
            })
        })
    }

    /// «the folders in ~/x», «the contents of ~/a.txt»: the path is where they are, not what is meant.
    fn inside_of(&self, tool: &Indexed) -> Option<usize> {
        let named = self.steps.len() == 1 && matches!(tool.verb.as_str(), "delete" | "move" | "compress");
        if !named {
            return None;
        }
        // «with all its contents» takes nothing away from the thing.
        let held =
            self.items.iter().position(|i| i.is(Cue::Contents) || (self.holds(i, Cue::Contents) && !i.is_noise()));
        if let Some(at) = held.filter(|_| tool.verb == "delete") {
            return Some(at);
        }
        let things = |i: &Item| ["dirs", "texts"].iter().any(|n| self.names(i, n)) && !i.is_noise();
        let every = self.items.iter().position(|i| path(i).is_some())?;
        let led = (0..every).rev().find(|&at| !self.items[at].is(Cue::Determiner) || self.items[at].is(Cue::From))?;
        let place = self.items[led].is(Cue::Inside) || self.items[led].is(Cue::From);
        let noun = led.checked_sub(1).filter(|&at| things(&self.items[at]));
        noun.filter(|_| place)
    }

    /// «undo the last two actions»: one is undone at a time.
    fn several_undone(&self, tool: &Indexed) -> Option<usize> {
        let many = |i: &Item| matches!(i.what, What::Lines(Lines::First(n) | Lines::Last(n)) if n > 1);
        let which = |i: &Item| {
            let ordinal = i.senses().iter().any(|s| matches!(s, Sense::Ordinal(n) if !matches!(n, 1 | -1)));
            ordinal || (i.is(Cue::Not) && !i.is_noise())
        };
        // «undo everything» is more than the last; «put everything back» is not.
        let all = |at: usize| self.items[at].is(Cue::Every) && self.items.get(at + 1).is_none_or(Item::is_punctuation);
        // «due cose» is one item, and no number.
        let counts = |at: usize| {
            let first = self.items[at].folded.split(' ').next().unwrap_or_default();
            let many =
                |&l: &Language| self.lexicons.senses_of(first, l).iter().any(|s| matches!(s, Sense::Number(2..)));
            self.items[at].is(Cue::Vague) && Language::ALL.iter().any(many)
        };
        let act = self.items.iter().position(|i| i.verb().is_some_and(|v| self.acts(v))).unwrap_or(self.items.len());
        let from = self.items[..act].iter().rposition(Item::is_punctuation).map_or(0, |at| at + 1);
        (0..self.items.len()).filter(|_| tool.verb == "undo").find(|&at| {
            (at >= from && which(&self.items[at]))
                || all(at)
                || many(&self.items[at])
                || counts(at)
                || number(self.items, at).is_some_and(|(n, _)| n > 1) && !self.items[at].is_noise()
        })
    }

    /// «move ~/a.txt from ~/x to ~/y», «out of ~/x»: a folder that things come from is neither moved nor their goal.
    fn moved_from(&self, tool: &Indexed) -> Option<usize> {
        if tool.verb != "move" || self.steps.len() > 1 {
            return None;
        }
        let paths: Vec<usize> = (0..self.items.len()).filter(|&at| path(&self.items[at]).is_some()).collect();
        let from = |at: usize| {
            let led = self.items[..at].iter().rev().find(|i| !i.is(Cue::Determiner) && i.object().is_none());
            led.is_some_and(|i| i.is(Cue::From) && !i.is(Cue::Into) && !i.is(Cue::Named))
        };
        paths.iter().copied().find(|&at| at != paths[0] && from(at))
    }
}

/// Both days that a date in figures can be, day first and month first; none where only one is possible.
fn either_day(word: &str) -> Option<[String; 2]> {
    let figures: Vec<&str> = word.trim_matches(|c: char| !c.is_ascii_digit()).split(['/', '-']).collect();
    let [a, b, year] = figures.as_slice() else { return None };
    let (first, second) = (a.parse::<u8>().ok()?, b.parse::<u8>().ok()?);
    let open = a.len() < 3 && year.len() == 4 && first != second && first.max(second) <= 12 && first.min(second) > 0;
    let day = |month: u8, day: u8| format!("{year}-{month:02}-{day:02}");
    open.then(|| [day(second, first), day(first, second)])
}
