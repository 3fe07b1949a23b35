//! What would go amiss although an act was asked for: other things than were meant, another place, another text, or less than
//! the whole request.
//!
//! Each rule looks at the finished plan beside the words and gives the item that speaks against it; `guard` asks about that.

use super::super::fill::path;
use super::super::items::{Item, What};
use super::super::lexicon::{Cue, Request, Sense};
use super::super::tools::Indexed;
use super::Builder;

impl Builder<'_> {
    /// Whether something is planned before the act that the act does not use: its result would be lost.
    pub(super) fn is_dropped(&self) -> bool {
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
    pub(super) fn mode_lost(&self) -> Option<usize> {
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
    pub(super) fn name_part_lost(&self) -> Option<usize> {
        let told = |i: &Item| (i.is(Cue::Begins) || i.is(Cue::Ends)) && !i.is_noise();
        (0..self.items.len()).find(|&at| told(&self.items[at]) && !self.used[at])
    }

    /// «one folder per year»: things would go into one folder, not into one for each.
    pub(super) fn sorting_lost(&self) -> Option<usize> {
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
    pub(super) fn act_lost(&self) -> Option<usize> {
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
    pub(super) fn left_open(&self, tool: &Indexed) -> Option<usize> {
        let end = self.items.iter().position(|i| matches!(i.what, What::Quoted(_))).unwrap_or(self.items.len());
        let paths: Vec<usize> = (0..end).filter(|&at| path(&self.items[at]).is_some()).collect();
        let (first, last) = (*paths.first()?, *paths.last()?);
        if tool.verb == "send" || tool.verb == "schedule" {
            return None;
        }
        let told = |at: usize| {
            let described = |i: &Item| matches!(i.what, What::Globs { .. } | What::Bound { .. } | What::Window { .. });
            at > 0 && described(&self.items[at - 1]) && self.items.get(at + 1).is_some_and(described)
        };
        let choice = (0..end).find(|&at| self.items[at].is(Cue::Choice) && told(at));
        let choice = choice.or_else(|| (first..last).find(|&at| self.items[at].is(Cue::Choice)));
        let goals = |at: &usize| {
            let led = self.items[..*at].iter().rev().find(|i| !i.is(Cue::Determiner) && i.object().is_none());
            led.is_some_and(|i| i.is(Cue::Into) && !i.is(Cue::From))
        };
        let moves = self.steps.len() == 1 && matches!(tool.verb.as_str(), "move" | "compress");
        choice.or_else(|| paths.iter().copied().filter(goals).nth(1).filter(|_| moves && paths.len() > 2))
    }

    /// «but keep ~/a/b»: something is to be left as it is.
    pub(super) fn spared(&self, tool: &Indexed) -> Option<usize> {
        let takes = matches!(tool.verb.as_str(), "delete" | "move");
        (0..self.items.len()).find(|&at| takes && self.items[at].is(Cue::Keeps))
    }

    /// «discard the changes to ~/a.txt», «clear out ~/x»: not the thing itself, but something of it.
    pub(super) fn part_of_a_thing(&self, tool: &Indexed) -> Option<usize> {
        if tool.verb != "delete" || self.steps.len() > 1 || tool.object == "processes" {
            return None;
        }
        let target = self.items.iter().position(|i| path(i).is_some())?;
        let act = (0..self.items.len()).find(|&at| self.items[at].verb().is_some_and(|v| self.acts(v)))?;
        // «delete what ~/a.txt says» is done to something else as well.
        let said = (act + 1..target).find(|&at| {
            let first = self.items[at].folded.split(' ').next().unwrap_or_default();
            self.lexicons.request.iter().any(|r| r.asks.iter().any(|a| a == first))
        });
        if self.items[act].is(Cue::Empties) || said.is_some() {
            return said.or(Some(act));
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

    /// «keep the pdfs and delete the rest», «everything but ~/a.txt»: what is meant was not named.
    pub(super) fn left_over_things(&self, tool: &Indexed) -> Option<usize> {
        let copies = self.steps.iter().any(|s| self.tools.indexed(&s.tool).is_some_and(|t| t.qualifier == "hash"));
        let named = !copies && matches!(tool.verb.as_str(), "delete" | "move" | "compress" | "write");
        self.phrase_said(tool, |r| &r.rest).filter(|_| named)
    }

    /// «list the pdfs and delete the jpgs», «the pdfs, I mean the jpgs», «the pdfs in ~/a and the jpgs in ~/b»: kinds of two
    /// clauses are not one search.
    pub(super) fn mixed_kinds(&self) -> Option<usize> {
        let kinds: Vec<usize> = (0..self.items.len())
            .filter(|&at| matches!(self.items[at].what, What::Globs { base: None, .. }) && self.used[at])
            .collect();
        kinds.windows(2).find_map(|pair| {
            let between = &self.items[pair[0] + 1..pair[1]];
            let verb = |i: &Item| i.verb().is_some_and(|v| !self.class(v).weak) && !i.is_noise();
            let place = between.iter().any(|i| path(i).is_some()) && between.iter().any(|i| i.is(Cue::Connector));
            let parted = place || between.iter().any(|i| verb(i) || i.is(Cue::Retracts));
            parted.then_some(pair[1])
        })
    }

    /// «one of the pdfs», «recent files», «the documents», «sort them and delete the first»: not all that is found.
    pub(super) fn not_all(&self, tool: &Indexed) -> Option<usize> {
        let takes = matches!(tool.verb.as_str(), "delete" | "move" | "compress");
        let over_found = takes && self.steps.len() > 1 && self.does(0, "find");
        let picked = self.steps.iter().any(|s| s.args.get("top").is_some());
        let thing =
            |i: &Item| matches!(i.what, What::Globs { .. }) || self.names(i, "files") || self.names(i, "images");
        let among = |at: usize, of: fn(&Request) -> &Vec<String>| {
            let folded = self.items[at].folded.as_str();
            self.lexicons.request.iter().any(|r| of(r).iter().any(|w| w == folded))
        };
        let some = (0..self.items.len()).find(|&at| {
            let next = self.items.get(at + 1).is_some_and(thing)
                || self.items.get(at + 2).is_some_and(thing) && self.items[at + 1].is(Cue::From);
            let random = among(at, |r| &r.random);
            let single = among(at, |r| &r.indefinite);
            // «any .tmp files» are all of them.
            let plural = (at + 1..at + 3).any(|n| n < self.items.len() && self.said(n..n + 1).ends_with('s'));
            let many = plural && (self.items[at].is(Cue::Every) || among(at, |r| &r.whole));
            takes && tool.verb != "compress" && (random || (single && next && !picked && !many))
        });
        let kind = self
            .phrase_said(tool, |r| &r.kinds)
            .filter(|_| over_found && !self.items.iter().any(|i| matches!(i.what, What::Globs { .. })));
        let sorted = (0..self.steps.len()).any(|at| self.does(at, "sort")) && !picked;
        let unsaid = (0..self.items.len()).find(|&at| {
            let item = &self.items[at];
            let fresh =
                item.is(Cue::Fresh) && !picked && !self.items.iter().any(|i| matches!(i.what, What::Window { .. }));
            over_found && ((sorted && !item.is_noise() && item.is_word()) || fresh)
        });
        let several = self.items.iter().filter(|i| path(i).is_some()).count() > 2 && tool.verb != "delete";
        let goals = self.items.iter().rposition(|i| path(i).is_some()).filter(|_| over_found && several);
        some.or(kind).or(unsaid).or(goals)
    }

    /// «copy ~/a to ~/b», «replace milk with eggs»: nothing here does that.
    pub(super) fn copied(&self, tool: &Indexed) -> Option<usize> {
        let quoted = self.items.iter().any(|i| matches!(i.what, What::Quoted(_)));
        let refers = self.steps.iter().any(|s| s.args.to_string().contains("{{"));
        let wrong = tool.verb == "move" || (tool.verb == "write" && !quoted && !refers);
        (0..self.items.len()).find(|&at| {
            let item = &self.items[at];
            let set = item.senses().iter().any(|s| matches!(s, Sense::Setting(_)));
            wrong && !set && item.is(Cue::Copying)
        })
    }

    /// «into ~/a move what is in ~/b»: the goal is the one that is led to.
    pub(super) fn swapped(&self, tool: &Indexed) -> Option<usize> {
        let step = self.steps.iter().find(|s| self.tools.indexed(&s.tool).is_some_and(|t| t.name() == tool.name()))?;
        let goal = step.args.get("dst_template").or_else(|| step.args.get("dst"))?.as_str()?;
        let led = |at: usize| self.items[..at].iter().rev().find(|i| !i.is(Cue::Determiner) || i.is(Cue::From));
        let paths: Vec<usize> = (0..self.items.len()).filter(|&at| path(&self.items[at]).is_some()).collect();
        let is_goal = |at: usize| path(&self.items[at]).is_some_and(|(value, _)| goal.starts_with(value));
        let chosen = paths.iter().copied().find(|&at| is_goal(at))?;
        let from = led(chosen).is_some_and(|i| i.is(Cue::From) || (i.is(Cue::Inside) && !i.is(Cue::Into)));
        let inside = led(chosen).is_some_and(|i| i.is(Cue::Inside));
        let towards = |&&at: &&usize| {
            let only = |i: &Item| i.is(Cue::Into) && !i.is(Cue::Inside) && !i.is(Cue::From);
            let into = |i: &Item| i.is(Cue::Into) && i.folded.ends_with("to");
            at < chosen && led(at).is_some_and(|i| (only(i) || into(i)) && (inside || from))
        };
        paths.iter().find(towards).map(|_| chosen)
    }

    /// «write "eggs" also in ~/a», «on a new line»: beside what is there, which would be replaced.
    pub(super) fn replaced(&self, tool: &Indexed) -> Option<usize> {
        let step = self.steps.last().filter(|_| tool.verb == "write")?;
        let lines = step.args.get("newline").is_some();
        let line = (0..self.items.len()).find(|&at| {
            let sets = |s: &Sense| matches!(s, Sense::Setting(i) if self.lexicons.settings[*i].argument == "newline");
            lines && self.items[at].senses().iter().any(sets)
        });
        self.phrase_said(tool, |r| &r.also).or(line).filter(|_| step.args.get("mode").is_none())
    }

    /// «send Anna "hi" and Bob "bye"», «… and tell Anna to wait», «email bob@… the report»: more than one message, or none.
    pub(super) fn told_twice(&self, tool: &Indexed) -> Option<usize> {
        if tool.verb != "send" {
            return None;
        }
        let quotes: Vec<usize> =
            (0..self.items.len()).filter(|&at| matches!(self.items[at].what, What::Quoted(_))).collect();
        if let Some(&second) = quotes.get(1) {
            return Some(second);
        }
        let body = self.steps.last()?.args.get("body")?.as_str().filter(|b| !b.contains("{{"))?;
        let start = self.text.rfind(body)?;
        let within: Vec<usize> = (0..self.items.len()).filter(|&at| self.items[at].start >= start).collect();
        let person = |at: usize| {
            self.items.get(at).is_some_and(|i| {
                i.is(Cue::People) || (i.is_unknown() && self.said(at..at + 1).starts_with(char::is_uppercase))
            })
        };
        let again = within.iter().copied().find(|&at| {
            let tells = self.items[at].is(Cue::Tells)
                || self.items[at].verb().is_some_and(|v| self.class(v).verbs[0] == "send");
            let joined = at.checked_sub(1).is_some_and(|b| self.items[b].is(Cue::Connector) && b >= within[0]);
            quotes.is_empty() && tells && joined && person(at + 1)
        });
        let first = within.first().copied()?;
        let noun = quotes.is_empty()
            && within.len() < 3
            && self.items[first].is(Cue::Determiner)
            && !(first > 0 && self.items[first - 1].what == What::Punctuation(':'));
        let timed = quotes.is_empty() && self.later_at(first);
        again.or((noun || timed).then_some(first))
    }

    /// «~/x does not exist yet: create it»: words that tell to do something are no text to be written.
    pub(super) fn text_of_an_act(&self) -> Option<usize> {
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
    pub(super) fn folders_by_extension(&self) -> Option<usize> {
        let dirs = |s: &&crate::plan::PlannedStep| self.tools.indexed(&s.tool).is_some_and(|t| t.object == "dirs");
        let patterns = self.steps.first().filter(dirs)?.args.get("patterns")?.as_array()?;
        let ending = |g: &str| {
            g.strip_prefix("*.").is_some_and(|e| self.lexicons.file_extensions.iter().any(|known| known == e))
        };
        let found = patterns.iter().filter_map(serde_json::Value::as_str).any(ending);
        (0..self.items.len()).find(|&at| found && matches!(self.items[at].what, What::Globs { .. }))
    }

    /// «delete the list files», «i file archivio»: a word beside the noun that says which of them, and that nothing took.
    pub(super) fn of_a_sort(&self, tool: &Indexed) -> Option<usize> {
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
        if !over_found {
            return None;
        }
        let before = |&at: &usize| at > 1 && noun(&self.items[at]) && word(at - 1) && determined(at - 2);
        let after = |&at: &usize| {
            let takes = self.items[at].verb().is_some_and(|v| self.acts(v));
            noun(&self.items[at - 1]) && word(at) && (takes || self.items[at].verb().is_none())
        };
        (1..self.items.len()).find(before).map(|at| at - 1).or_else(|| (1..self.items.len()).find(after))
    }
}
