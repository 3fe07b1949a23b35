//! What an act must not be, however well it was understood: a question, a report, a doubt, or done to more than was meant.
//!
//! It looks at the finished plan of one that changes something, whoever planned it, and turns it into a question.

use super::super::compose::number;
use super::super::fill::path;
use super::super::items::{Item, Lines, What};
use super::super::lexicon::{Cue, Sense};
use super::super::lift::Looks;
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
            return match (0..self.items.len()).find(|&at| done(&self.items[at]) && !self.used[at]) {
                Some(at) => Err(Trouble::Unclear { words: self.said(at..at + 1) }),
                None => Ok(()),
            };
        };
        let found = [
            self.unasked(tool),
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

    /// «the second highest price», «the first 3 columns»: said of the table or the order, and gone into nothing.
    fn lost_of_reading(&self) -> Option<usize> {
        let ordinal = |i: &Item| !i.is_noise() && i.senses().iter().any(|s| matches!(s, Sense::Ordinal(n) if *n > 1));
        let ranked = (0..self.steps.len()).any(|at| self.does(at, "sort") || self.does(at, "compute"));
        let lines = self.steps.iter().any(|s| self.tools.indexed(&s.tool).is_some_and(|t| t.name() == "read_files"));
        (0..self.items.len()).find(|&at| {
            let item = &self.items[at];
            !self.used[at] && ((ranked && ordinal(item)) || (lines && item.is(Cue::Column) && !item.is_noise()))
        })
    }

    /// Whether this step's executor has that verb.
    fn does(&self, step: usize, verb: &str) -> bool {
        self.steps.get(step).and_then(|s| self.tools.indexed(&s.tool)).is_some_and(|t| t.verb == verb)
    }

    /// Whether something is planned before the act that the act does not use: its result would be lost.
    fn is_dropped(&self) -> bool {
        (1..self.steps.len()).any(|number| {
            let used = |s: &crate::plan::PlannedStep| {
                let args = s.args.to_string();
                s.args.get("from_step").and_then(serde_json::Value::as_u64) == u64::try_from(number).ok()
                    || args.contains(&format!("{{{{step{number}."))
                    || args.contains(&format!("{{{{step{number}}}"))
            };
            !self.steps[number..].iter().any(used)
        })
    }

    /// «at the end of ~/a.md»: what is to be added would replace what is there.
    fn mode_lost(&self) -> Option<usize> {
        let kept = |s: &crate::plan::PlannedStep| {
            self.tools.indexed(&s.tool).is_none_or(|t| t.verb != "write") || s.args.get("mode").is_some()
        };
        let appends = |i: &Item| {
            i.senses().iter().any(|s| match s {
                Sense::Setting(at) => {
                    let setting = &self.lexicons.settings[*at];
                    setting.argument == "mode" && setting.value == "append"
                }
                _ => false,
            })
        };
        (0..self.items.len()).find(|&at| appends(&self.items[at])).filter(|_| !self.steps.iter().all(kept))
    }

    /// «their names start with a»: what names are told apart by.
    fn name_part_lost(&self) -> Option<usize> {
        let told = |i: &Item| (i.is(Cue::Begins) || i.is(Cue::Ends)) && !i.is_noise();
        (0..self.items.len()).find(|&at| told(&self.items[at]) && !self.used[at])
    }

    /// «one folder per year»: things would go into one folder, not into one for each.
    fn sorting_lost(&self) -> Option<usize> {
        let moves = |s: &crate::plan::PlannedStep| self.tools.indexed(&s.tool).is_some_and(|t| t.verb == "move");
        let templated = |v: &serde_json::Value| v.as_str().is_some_and(|v| v.contains('{'));
        let sorted = self.steps.iter().filter(|s| moves(s)).all(|s| s.args.get("dst_template").is_none_or(templated));
        let each = |at: usize| {
            let item = &self.items[at];
            let period = |i: &Item| i.senses().iter().any(|s| matches!(s, Sense::Period(_) | Sense::Field(_)));
            (item.is(Cue::Grouped) || item.is(Cue::By)) && self.items.get(at + 1).is_some_and(period)
        };
        (0..self.items.len()).find(|&at| each(at)).filter(|_| !sorted)
    }

    /// «zip ~/a and delete it»: an act that is named and that no step does.
    fn act_lost(&self) -> Option<usize> {
        // Where something is found first, to read it out is the finding.
        let grave: &[&str] = if self.steps.len() == 1 {
            &["delete", "move", "compress", "send", "read"]
        } else {
            &["delete", "move", "compress", "send"]
        };
        let done: Vec<&str> =
            self.steps.iter().filter_map(|s| self.tools.indexed(&s.tool)).map(|t| t.verb.as_str()).collect();
        let told = self.items.iter().any(|i| matches!(i.what, What::Quoted(_))) || done.contains(&"send");
        let later = done.iter().any(|v| matches!(*v, "schedule" | "cancel" | "toggle" | "run" | "undo"));
        if told || later {
            return None;
        }
        (0..self.items.len()).find(|&at| {
            let item = &self.items[at];
            let named = item.verb().is_some_and(|v| {
                let class = &self.class(v).verbs;
                grave.contains(&class[0].as_str()) && !class.iter().any(|verb| done.contains(&verb.as_str()))
            });
            let noun = at.checked_sub(1).is_some_and(|b| self.items[b].is(Cue::Determiner));
            let before = at.checked_sub(1).map(|b| &self.items[b]);
            let opens = before.is_none_or(|i| i.is_punctuation() || i.is(Cue::Connector) || i.is(Cue::Polite));
            let other = (item.object().is_some() && !opens) || item.is(Cue::Arranges) || item.is(Cue::Puts);
            let weak = item.verb().is_some_and(|v| self.class(v).weak);
            named && !noun && !other && !weak && !item.is_noise() && !self.negated[at]
        })
    }

    /// «move it to ~/a or to ~/b», «to ~/a and to ~/b»: one of two is left open, or there is more than one goal.
    fn left_open(&self, tool: &Indexed) -> Option<usize> {
        let end = self.items.iter().position(|i| matches!(i.what, What::Quoted(_))).unwrap_or(self.items.len());
        let paths: Vec<usize> = (0..end).filter(|&at| path(&self.items[at]).is_some()).collect();
        let (first, last) = (*paths.first()?, *paths.last()?);
        if tool.verb == "send" || tool.verb == "schedule" {
            return None;
        }
        let choice = (first..last).find(|&at| self.items[at].is(Cue::Choice));
        let goals = |at: &usize| {
            let led = self.items[..*at].iter().rev().find(|i| !i.is(Cue::Determiner) && i.object().is_none());
            led.is_some_and(|i| i.is(Cue::Into) && !i.is(Cue::From))
        };
        let moves = self.steps.len() == 1 && matches!(tool.verb.as_str(), "move" | "compress");
        choice.or_else(|| paths.iter().copied().filter(goals).nth(1).filter(|_| moves && paths.len() > 2))
    }

    /// «but keep ~/a/b»: something is to be left as it is.
    fn spared(&self, tool: &Indexed) -> Option<usize> {
        let takes = matches!(tool.verb.as_str(), "delete" | "move");
        (0..self.items.len()).find(|&at| takes && self.items[at].is(Cue::Keeps))
    }

    /// «discard the changes to ~/a.txt», «clear out ~/x»: not the thing itself, but something of it.
    fn part_of_a_thing(&self, tool: &Indexed) -> Option<usize> {
        if tool.verb != "delete" || self.steps.len() > 1 || tool.object == "processes" {
            return None;
        }
        let target = self.items.iter().position(|i| path(i).is_some())?;
        let act = (0..self.items.len()).find(|&at| self.items[at].verb().is_some_and(|v| self.acts(v)))?;
        let folder = path(&self.items[target]).is_some_and(|(_, looks)| looks != Looks::File);
        if self.items[act].is(Cue::Empties) && folder {
            return Some(act);
        }
        let thing = |i: &Item| {
            ["files", "dirs", "images", "archives"].iter().any(|n| self.names(i, n))
                || matches!(i.what, What::Globs { .. } | What::Number(_))
        };
        let passes = |at: usize| {
            let item = &self.items[at];
            item.is_noise() || !item.is_word() || thing(item) || item.is(Cue::Every) || item.is(Cue::Pronoun)
        };
        let led = target
            .checked_sub(1)
            .filter(|&b| b > act && (self.items[b].is(Cue::Into) || self.items[b].is(Cue::From)))?;
        (act + 1..led).find(|&at| !passes(at) || self.items[at].is(Cue::Modified))
    }

    /// «~/x does not exist yet: create it»: words that tell to do something are no text to be written.
    fn text_of_an_act(&self) -> Option<usize> {
        let writes = |s: &&crate::plan::PlannedStep| self.tools.indexed(&s.tool).is_some_and(|t| t.verb == "write");
        let step = self.steps.last().filter(writes)?;
        let text = step.args.get("content")?.as_str()?;
        let quoted = |i: &Item| matches!(&i.what, What::Quoted(said) if said == text);
        if self.items.iter().any(quoted) || text.contains("{{") {
            return None;
        }
        let said = text.split_whitespace().count();
        (0..self.items.len()).find(|&at| {
            let item = &self.items[at];
            let whole = said == 1 && self.said(at..at + 1) == text;
            whole && (item.pronoun || self.steps.len() > 1)
        })
    }

    /// «the .log files of the folder ~/x»: an ending is one of files, whatever the place is called.
    fn folders_by_extension(&self) -> Option<usize> {
        let dirs = |s: &&crate::plan::PlannedStep| self.tools.indexed(&s.tool).is_some_and(|t| t.object == "dirs");
        let patterns = self.steps.first().filter(dirs)?.args.get("patterns")?.as_array()?;
        let ending = |g: &str| {
            g.strip_prefix("*.").is_some_and(|e| self.lexicons.file_extensions.iter().any(|known| known == e))
        };
        let found = patterns.iter().filter_map(serde_json::Value::as_str).any(ending);
        (0..self.items.len()).find(|&at| found && matches!(self.items[at].what, What::Globs { .. }))
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
                || ((asks || at == first) && item.is(Cue::Wonders))
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

    /// «delete the list files», «i file archivio»: a word beside the noun that says which of them, and that nothing took.
    fn of_a_sort(&self, tool: &Indexed) -> Option<usize> {
        let over_found = self.steps.len() > 1 && self.does(0, "find") && tool.verb != "write";
        let noun = |i: &Item| self.names(i, "files") || self.names(i, "dirs");
        let word = |at: usize| {
            let item = &self.items[at];
            let content = item.verb().is_some() || item.object().is_some_and(|_| !noun(item));
            item.is_word() && content && !item.is_noise()
        };
        let determined = |at: usize| {
            let item = &self.items[at];
            item.is(Cue::Determiner) || item.is(Cue::Every) || item.verb().is_some_and(|v| self.acts(v))
        };
        (1..self.items.len())
            .filter(|_| over_found)
            .find(|&at| {
                let before = noun(&self.items[at]) && at > 1 && word(at - 1) && determined(at - 2);
                before.then_some(()).is_some()
            })
            .map(|at| at - 1)
            .or_else(|| {
                let after = |&at: &usize| {
                    let takes = self.items[at].verb().is_some_and(|v| self.acts(v));
                    noun(&self.items[at - 1]) && word(at) && (takes || self.items[at].verb().is_none())
                };
                (1..self.items.len()).filter(|_| over_found).find(after)
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
        (0..self.items.len()).filter(|_| tool.verb == "undo").find(|&at| {
            many(&self.items[at]) || number(self.items, at).is_some_and(|(n, _)| n > 1) && !self.items[at].is_noise()
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
