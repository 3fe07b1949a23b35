//! A plan by its frame: what sentences of a kind usually mean says which pipeline, the words' own spans fill it.
//!
//! Nothing is taken that the words do not hold: a frame whose targets, texts or numbers are missing, or that would leave a
//! span of the sentence aside, makes no plan.

use serde_json::{Value, json};

use super::super::compose::number;
use super::super::fill::{Filled, fill, path, words};
use super::super::items::{Item, Lines, What};
use super::super::lexicon::{Cue, Sense};
use super::super::lift::{Looks, byte};
use super::super::tools::Indexed;
use super::super::usage::{Likely, Usage};
use super::wanted::SOME;
use super::{Builder, Clause, Trouble};
use crate::manifest::Role;
use crate::plan::{AnswerSpec, Origin};

/// How likely a frame is when politeness and words of other acts no longer speak against it, in thousandths.
const SURE_PERMILLE: u32 = 900;

/// One step of a frame: an executor's name, and the settings that the frame fixes.
pub(super) struct Part<'f> {
    pub(super) tool: &'f str,
    settings: Vec<&'f str>,
}

impl Part<'_> {
    pub(super) fn has(&self, setting: &str) -> bool {
        self.settings.contains(&setting)
    }

    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.settings.iter().find_map(|s| s.strip_prefix(name)?.strip_prefix('='))
    }
}

fn parts(frame: &str) -> Vec<Part<'_>> {
    frame
        .split(" > ")
        .map(|step| {
            let mut words = step.split(' ');
            Part { tool: words.next().unwrap_or_default(), settings: words.collect() }
        })
        .collect()
}

impl<'a> Builder<'a> {
    /// Plans the whole sentence by that frame; an error when the words do not fill it.
    pub(crate) fn by_frame(&mut self, usage: &Usage, likely: &Likely) -> Result<(), Trouble> {
        let frame = likely.frame.as_str();
        let sure = likely.permille >= SURE_PERMILLE;
        let parts = parts(frame);
        let names: Vec<&str> = parts.iter().map(|p| p.tool).collect();
        let all: Vec<usize> = (0..self.items.len()).collect();
        let acts = names.iter().any(|name| self.tools.indexed(name).is_some_and(Indexed::acts));
        let unsound = |i: &Item| matches!(i.what, What::Lines(lines) if !lines.sound());
        if let Some(at) = self.items.iter().position(unsound) {
            return Err(Trouble::NoSuchLines { words: self.said(at..at + 1) });
        }
        self.refuse_turned(usage, frame, acts, sure)?;
        match names.as_slice() {
            ["find_files" | "find_dirs" | "find_files_hash", rest @ ..] => {
                self.found(&all, &parts)?;
                if rest == ["filter_entries"] {
                    self.all_but(&all)?;
                }
                if let [act @ ("delete_files" | "move_files" | "compress_files")] = rest {
                    self.act_on_found(act, &all)?;
                }
            }
            ["delete_files"] => self.deleted(&all)?,
            ["move_files" | "compress_files"] => self.put(names[0], &all)?,
            ["create_dirs"] => self.made(&all)?,
            ["get_files"] => {
                self.over_paths(names[0], &all)?;
                // «the last time that it was changed»
                for at in all.iter().copied() {
                    self.used[at] |= self.items[at].is(Cue::Last) || self.items[at].is(Cue::Modified);
                }
            }
            ["write_files"] => self.written(&parts[0], &all)?,
            ["read_files"] => self.lines_read(&parts[0], &all)?,
            ["read_files", "filter_texts_lines"] => self.searched(&all)?,
            ["get_urls" | "read_files", act @ ("write_files" | "send_messages")] => {
                self.passed_on(&parts[0], act, &all)?;
            }
            ["read_files", "compare_entries"] => {
                if self.paths(&all).len() < 2 {
                    return Err(self.not_filled());
                }
                self.over_paths("read_files", &all)?;
                self.next("compare_entries", &[])?;
            }
            ["get_urls" | "read_urls_html"] => self.page_read(&parts[0], &all)?,
            ["get_now" | "undo_last_turn" | "list_recurring"] => {
                let tool = self.known(names[0])?;
                let filled = fill(self.lexicons, tool, self.items, &all, None);
                self.push(tool, filled)?;
            }
            ["get_processes", ..] => {
                let tool = self.known("get_processes")?;
                let mut filled = Filled::default();
                if parts.len() == 1 {
                    self.name_of_process(tool, &all, &mut filled);
                }
                self.push(tool, filled)?;
                self.ranked(&parts, usage, frame)?;
            }
            ["cancel_recurring" | "toggle_recurring" | "run_now_recurring"] => self.ended(names[0], usage, frame)?,
            ["send_messages"] => self.sent(&all)?,
            ["read_files_csv", ..] => {
                self.over_paths("read_files_csv", &all)?;
                self.rows_by_frame(&parts, usage, frame)?;
            }
            _ => return Err(self.not_filled()),
        }
        if names[0].starts_with("find_") {
            self.counted_or_ranked(&parts, usage, frame)?;
        }
        self.explain_by_usage(usage, frame, &parts);
        self.explain_numbers();
        let strange = self.items.iter().zip(&self.used).any(|(item, used)| item.is_unknown() && !used);
        if acts && (strange && !sure || !self.says_act(usage, frame)) {
            return Err(self.not_filled());
        }
        match (0..self.items.len()).find(|&at| !self.used[at] && self.is_lost(at, usage, frame, sure && !acts)) {
            Some(at) => Err(Trouble::Unclear { words: self.said(at..at + 1) }),
            None => Ok(()),
        }
    }

    /// «zippami la cartella ~/x»: where a word is strange, another one than a noun must say what is to be done.
    fn says_act(&self, usage: &Usage, frame: &str) -> bool {
        const CLEARLY: i16 = 15;
        let strange = |(at, i): (usize, &Item)| i.is_unknown() && !self.used[at];
        let says = |i: &Item| {
            let told = i.folded.split([' ', '\'']).any(|w| usage.speaks(w, frame) >= CLEARLY);
            let named = i.verb().is_some_and(|v| self.class(v).verbs.iter().any(|v| frame.contains(&format!("{v}_"))));
            i.is_word() && ((i.object().is_none() && told) || named)
        };
        !self.items.iter().enumerate().any(strange) || self.items.iter().any(says)
    }

    /// A span, a number, a restriction or another act that went into no step. A word that nobody knows is lost only where
    /// it may narrow what an act is done to.
    fn is_lost(&self, at: usize, usage: &Usage, frame: &str, reads_surely: bool) -> bool {
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
        let over_found = self.steps.len() > 1 && frame.starts_with("find_") && self.frame_acts(frame);
        if item.is_unknown() {
            return (over_found && !self.stands_apart(at)) || item.folded.starts_with(|c: char| c.is_ascii_digit());
        }
        let grave = item.verb().is_some_and(|v| {
            ["delete", "compress", "send", "schedule", "cancel", "undo", "create"]
                .contains(&self.class(v).verbs[0].as_str())
        });
        let other_act = item.verb().is_some_and(|v| {
            let class = self.class(v);
            let same = class.verbs.iter().any(|verb| frame.split(" > ").any(|step| step.starts_with(verb.as_str())));
            !(reads_surely && !grave) && self.acts(v) && !same && !usage.explains(&item.folded, frame)
        });
        ordinal || counted || other_act || self.restricts(at)
    }

    /// «the desktop is a mess. Move …»: in a sentence of its own that describes no entries.
    fn stands_apart(&self, at: usize) -> bool {
        let ends = |i: &Item| matches!(i.what, What::Punctuation('.' | ':' | ';' | '!' | '?'));
        let from = self.items[..at].iter().rposition(ends).map_or(0, |p| p + 1);
        let to = self.items[at..].iter().position(ends).map_or(self.items.len(), |p| at + p);
        let describes = |i: &Item| matches!(i.what, What::Globs { .. } | What::Bound { .. } | What::Window { .. });
        to - from < self.items.len() && !self.items[from..to].iter().any(describes)
    }

    fn talks_of_metnos(&self) -> bool {
        matches!(self.steps.as_slice(), [only] if matches!(only.tool.as_str(), "undo_last_turn" | "list_recurring"))
    }

    fn frame_acts(&self, frame: &str) -> bool {
        parts(frame).iter().any(|p| self.tools.indexed(p.tool).is_some_and(Indexed::acts))
    }

    /// A negation, a condition, a question about an act turn the meaning round: those sentences are not guessed at.
    fn refuse_turned(&self, usage: &Usage, frame: &str, acts: bool, sure: bool) -> Result<(), Trouble> {
        let who = |at: usize| {
            let before = at.checked_sub(1).map(|b| self.items[b].folded.as_str()).unwrap_or_default();
            ["i", "you", "we", "have", "has", "had", "i've", "you've", "did", "ho", "hai", "ha", "abbiamo", "avete"]
                .contains(&before)
        };
        let undoes = frame == "undo_last_turn";
        let named = |at: Option<usize>| at.and_then(|at| self.items.get(at)).is_some_and(|i| path(i).is_some());
        let chooses = |at: usize| {
            let or = matches!(self.items[at].folded.as_str(), "or" | "o" | "oppure");
            or && named(at.checked_sub(1)) && named(Some(at + 1))
        };
        if let Some(at) = (0..self.items.len()).find(|&at| acts && chooses(at)) {
            return Err(Trouble::Unclear { words: self.said(at - 1..at + 2) });
        }
        let verb = frame.split('_').next().unwrap_or_default();
        let says = |i: &Item| i.verb().is_some_and(|v| self.class(v).verbs[0] == verb);
        // «I have no use for it, so delete it»: the negation ends before the act is named.
        let apart = |at: usize| {
            let end =
                self.items[at..].iter().position(|i| i.is_punctuation() || (i.is(Cue::Connector) && !i.is_noise()));
            end.is_some_and(|end| self.items[at + end..].iter().any(says) && !self.items[at..at + end].iter().any(says))
                && self.items[..at].iter().all(|i| !says(i))
        };
        let ends = frame.ends_with("_recurring");
        let turns = |at: &usize| {
            let i = &self.items[*at];
            let usual = i.folded.split(' ').any(|w| usage.explains(w, frame));
            let polite = [
                "would you",
                "will you",
                "would it be possible",
                "is it possible",
                "are you able",
                "sarebbe possibile",
                "è possibile",
            ]
            .contains(&i.folded.as_str());
            let asks = i.is(Cue::Asking) && !i.is_noise() && !(sure && polite);
            let told = i.past().is_some() && i.verb().is_none() && who(*at);
            let denied = (*at + 1..self.items.len().min(*at + 3)).any(|n| says(&self.items[n]));
            let turned = i.is(Cue::Not)
                && !(ends && sure && !denied)
                && frame != "find_files > filter_entries"
                && !(usual && (undoes || ends || !acts || apart(*at)));
            turned || (acts && !undoes && !ends && (i.is(Cue::Condition) || asks || told))
        };
        match (0..self.items.len()).find(turns) {
            Some(at) => Err(Trouble::Unclear { words: self.said(at..at + 1) }),
            None => Ok(()),
        }
    }

    pub(super) fn not_filled(&self) -> Trouble {
        Trouble::NoTool { words: self.said(0..self.items.len()) }
    }

    fn known(&self, name: &str) -> Result<&'a Indexed, Trouble> {
        self.tools.indexed(name).ok_or_else(|| self.not_filled())
    }

    fn paths(&self, all: &[usize]) -> Vec<usize> {
        all.iter().copied().filter(|&at| path(&self.items[at]).is_some()).collect()
    }

    /// Entries are looked for in the one folder that the words hold; a second path is where they go.
    fn found(&mut self, all: &[usize], parts: &[Part<'_>]) -> Result<(), Trouble> {
        let tool = self.known(parts[0].tool)?;
        let paths = self.paths(all);
        let target = parts.iter().skip(1).any(|p| matches!(p.tool, "move_files" | "compress_files"));
        let based = self.has(all, |w| matches!(w, What::Globs { base: Some(_), .. }));
        let places = usize::from(!based) + usize::from(target);
        let goal = self.destination(&paths).filter(|_| target);
        let source = paths.iter().copied().find(|&at| Some(at) != goal);
        let folder = |at: &usize| path(&self.items[*at]).is_some_and(|(_, looks)| looks != Looks::File);
        if paths.len() != places || (!based && source.filter(folder).is_none()) {
            return Err(self.not_filled());
        }
        let described = self.has(all, |w| matches!(w, What::Globs { .. } | What::Bound { .. } | What::Window { .. }));
        if target && !described {
            return Err(self.not_filled());
        }
        let last = self.destination(&paths).filter(|_| target);
        let take: Vec<usize> = all.iter().copied().filter(|&at| Some(at) != last).collect();
        let filled = fill(self.lexicons, tool, self.items, &take, None);
        self.push(tool, filled)
    }

    /// «everything in ~/x except the pdfs»: what was found, less the kinds that a negation names.
    fn all_but(&mut self, all: &[usize]) -> Result<(), Trouble> {
        let not = self.items.iter().position(|i| i.is(Cue::Not)).ok_or_else(|| self.not_filled())?;
        let left_out: Vec<usize> = all
            .iter()
            .copied()
            .filter(|&at| at > not && matches!(self.items[at].what, What::Globs { base: None, .. }))
            .collect();
        let mut wheres = Vec::new();
        for &at in &left_out {
            let What::Globs { globs, .. } = &self.items[at].what else { continue };
            for glob in globs {
                let extension = glob.strip_prefix("*.").filter(|e| e.chars().all(char::is_alphanumeric));
                let extension = extension.ok_or_else(|| self.not_filled())?;
                wheres.push(json!({ "field": "extension", "op": "ne", "value": extension }));
            }
        }
        let (Some(step), Some(&first)) = (self.steps.last_mut(), left_out.first()) else {
            return Err(self.not_filled());
        };
        if let Some(args) = step.args.as_object_mut() {
            args.remove("patterns");
        }
        step.provenance.retain(|name, _| !name.starts_with("/patterns"));
        let origin = words(&self.items[first]);
        self.used[not] = true;
        self.next("filter_entries", &[("where", json!(wheres), origin)])
    }

    /// Of the paths, the one that things go to: the last, unless a word says that it is where they come from.
    fn destination(&self, paths: &[usize]) -> Option<usize> {
        let (&last, rest) = paths.split_last()?;
        let led = |at: usize| {
            let passes = |i: &&Item| !(i.object().is_some() || (i.is(Cue::Determiner) && !i.is(Cue::From)));
            self.items[..at].iter().rev().find(passes)
        };
        let origin = |at: usize| led(at).is_some_and(|i| i.is(Cue::From) && !i.is(Cue::Into));
        match rest {
            [first] if origin(last) && !origin(*first) => Some(*first),
            _ => Some(last),
        }
    }

    fn act_on_found(&mut self, act: &str, all: &[usize]) -> Result<(), Trouble> {
        let tool = self.known(act)?;
        let empty = self.steps.last().is_some_and(|s| s.args.get("empty") == Some(&json!(true)));
        let tool = if self.steps.last().is_some_and(|s| s.tool == "find_dirs") && act == "delete_files" {
            self.known("delete_dirs")?
        } else {
            tool
        };
        let described =
            empty || self.has(all, |w| matches!(w, What::Globs { .. } | What::Bound { .. } | What::Window { .. }));
        let target = self.paths(all).last().copied().filter(|&at| !self.used[at]);
        let mut filled = Filled::default();
        if act != "delete_files" {
            let single = tool.with_role(Role::TargetPath).find(|a| !tool.is_list(a)).map(str::to_owned);
            let (Some(argument), Some(at)) = (single, target) else { return Err(self.not_filled()) };
            filled.set(&argument, json!(path(&self.items[at]).map(|(value, _)| value)), self.items, at);
        } else if !described {
            return Err(self.not_filled());
        }
        filled.refer("entries", self.last(), "");
        self.push(tool, filled)
    }

    /// «the comments in ~/a.py»: the path is where something lies, not what is meant.
    fn is_place(&self, at: usize) -> bool {
        let label = |i: &Item| {
            ["files", "dirs", "archives"].iter().any(|n| self.names(i, n))
                || i.is(Cue::Named)
                || (i.is(Cue::Determiner) && !i.is(Cue::Inside) && !i.is(Cue::From))
        };
        let led = self.items[..at].iter().rposition(|i| !label(i));
        // «the name of ~/a.txt»
        let of_name = led.and_then(|l| l.checked_sub(1)).is_some_and(|l| {
            self.items[l]
                .senses()
                .iter()
                .any(|s| matches!(s, Sense::Field(f) if self.lexicons.fields[*f].name == "name"))
        });
        let before = led.map(|l| &self.items[l]).filter(|_| !of_name);
        before.is_some_and(|i| (i.is(Cue::Inside) || i.is(Cue::From)) && !i.is(Cue::Connector))
    }

    /// Paths that are named are deleted: as folders where the words or their spelling say so.
    fn deleted(&mut self, all: &[usize]) -> Result<(), Trouble> {
        let paths = self.paths(all);
        if paths.iter().any(|&at| self.is_place(at)) {
            return Err(self.not_filled());
        }
        let folders = self.nouns(all).any(|n| n == "dirs")
            || paths.iter().all(|&at| path(&self.items[at]).is_some_and(|(value, _)| value.ends_with('/')));
        self.over_paths(if folders { "delete_dirs" } else { "delete_files" }, all)
    }

    /// New folders; one that another of them lies in is made with it.
    fn made(&mut self, all: &[usize]) -> Result<(), Trouble> {
        let value = |at: usize| path(&self.items[at]).map_or("", |(value, _)| value).trim_end_matches('/');
        let paths = self.paths(all);
        let outer = |&&at: &&usize| {
            let within = format!("{}/", value(at));
            paths.iter().any(|&other| other != at && value(other).starts_with(&within))
        };
        if let ([place], Some(name)) = (paths.as_slice(), self.name_said()) {
            if self.is_place(*place) {
                return self.made_in(*place, name);
            }
        } else if paths.len() == 1 && self.is_place(paths[0]) && all.iter().any(|&at| self.items[at].is(Cue::Named)) {
            return Err(self.not_filled());
        }
        let holding: Vec<usize> = paths.iter().filter(outer).copied().collect();
        let new: Vec<usize> = paths.iter().copied().filter(|at| !holding.contains(at)).collect();
        let tool = self.known("create_dirs")?;
        let filled = fill(self.lexicons, tool, self.items, &new, None);
        self.push(tool, filled)?;
        for at in all {
            let empty = self.items[*at].senses().iter().any(|s| matches!(s, Sense::Setting(_)));
            self.used[*at] |= empty || holding.contains(at);
        }
        Ok(())
    }

    /// «… that is called receipts»: the word or quotation after «called».
    fn name_said(&self) -> Option<usize> {
        let cue = self.items.iter().position(|i| i.is(Cue::Named))?;
        (cue + 1..self.items.len().min(cue + 3)).find(|&at| {
            let item = &self.items[at];
            matches!(item.what, What::Quoted(_))
                || item.is_unknown()
                || matches!(&item.what, What::Path { value, .. } if !value.contains('/'))
        })
    }

    fn made_in(&mut self, place: usize, name: usize) -> Result<(), Trouble> {
        let tool = self.known("create_dirs")?;
        let Some(argument) = tool.with_role(Role::TargetPath).next() else { return Err(self.not_filled()) };
        let folder = path(&self.items[place]).map_or("", |(value, _)| value).trim_end_matches('/');
        let name_text = match &self.items[name].what {
            What::Quoted(text) => text.clone(),
            _ => self.said(name..name + 1),
        };
        let mut filled = Filled::default();
        filled.args.insert(argument.to_owned(), json!([format!("{folder}/{name_text}")]));
        let (first, last) = (place.min(name), place.max(name));
        let origin = Origin::Words { start: byte(self.items[first].start), end: byte(self.items[last].end) };
        filled.provenance.insert(format!("/{argument}/0"), origin);
        filled.used.extend([place, name]);
        self.push(tool, filled)
    }

    /// Every path goes into the executor's list of paths.
    fn over_paths(&mut self, name: &str, all: &[usize]) -> Result<(), Trouble> {
        let tool = self.known(name)?;
        let filled = fill(self.lexicons, tool, self.items, all, None);
        self.push(tool, filled)
    }

    /// The last path is where the others go.
    fn put(&mut self, name: &str, all: &[usize]) -> Result<(), Trouble> {
        let tool = self.known(name)?;
        let paths = self.paths(all);
        let archives = |&&at: &&usize| path(&self.items[at]).is_some_and(|(value, _)| is_archive(value));
        let target = match name {
            "compress_files" => paths.iter().rev().find(archives).copied(),
            _ => self.destination(&paths),
        };
        let moved = name == "move_files" && (paths.len() > 2 || paths.first().is_some_and(|&at| self.is_place(at)));
        if paths.len() < 2 || target.is_none() || moved {
            return Err(self.not_filled());
        }
        let filled = fill(self.lexicons, tool, self.items, &paths, target);
        self.push(tool, filled)
    }

    fn written(&mut self, part: &Part<'_>, all: &[usize]) -> Result<(), Trouble> {
        let tool = self.known(part.tool)?;
        let quoted: Vec<usize> =
            all.iter().copied().filter(|&at| matches!(self.items[at].what, What::Quoted(_))).collect();
        let paths = self.paths(all);
        let [target] = *paths.as_slice() else { return Err(self.not_filled()) };
        let mut filled = match quoted.as_slice() {
            [text] => fill(self.lexicons, tool, self.items, &[*text, target], Some(target)),
            [] => {
                let (from, start) = self.dictation(target).ok_or_else(|| self.not_filled())?;
                let mut filled = fill(self.lexicons, tool, self.items, &[target], Some(target));
                let Some(argument) = tool.with_role(Role::Content).next() else { return Err(self.not_filled()) };
                let text = self.text[start..].trim_end();
                filled.args.insert(argument.to_owned(), json!(text));
                let end = byte(start + text.len());
                filled.provenance.insert(format!("/{argument}"), Origin::Words { start: byte(start), end });
                filled.used.extend(from..self.items.len());
                filled
            }
            _ => return Err(self.not_filled()),
        };
        for &at in all {
            let modes = |s: &Sense| matches!(s, Sense::Setting(i) if self.lexicons.settings[*i].argument == "mode");
            if self.items[at].senses().iter().any(modes) && !part.has("append") {
                let set = fill(self.lexicons, tool, self.items, &[at], None);
                filled.args.extend(set.args);
                filled.provenance.extend(set.provenance);
                filled.used.extend(set.used);
            }
        }
        if part.has("append") {
            filled.args.insert("mode".to_owned(), json!("append"));
            filled.provenance.insert("/mode".to_owned(), Origin::Default);
        }
        self.push(tool, filled)
    }

    /// «… saying we are out of milk»: the rest of the sentence, after a word or a colon that opens a text; its first item
    /// and byte.
    fn dictation(&self, target: usize) -> Option<(usize, usize)> {
        let opens = |i: &Item| {
            i.what == What::Punctuation(':')
                || (i.is_word() && !i.is_noise() && (i.is(Cue::Saying) || i.is(Cue::Contains)))
        };
        let at = (target + 1..self.items.len()).find(|&at| opens(&self.items[at]))?;
        let first = self.items.get(at + 1)?;
        let plain = self.items[at + 1..]
            .iter()
            .all(|i| !matches!(i.what, What::Path { .. } | What::Url(_) | What::Globs { .. }));
        plain.then_some((at, first.start))
    }

    fn lines_read(&mut self, part: &Part<'_>, all: &[usize]) -> Result<(), Trouble> {
        let tool = self.known(part.tool)?;
        if self.paths(all).iter().any(|&at| path(&self.items[at]).is_some_and(|(v, _)| v.ends_with('/'))) {
            return Err(self.not_filled());
        }
        let lines_at = all.iter().copied().find(|&at| matches!(self.items[at].what, What::Lines(_)));
        if part.has("range") {
            let at = lines_at.ok_or_else(|| self.not_filled())?;
            self.over_paths("read_files", &self.paths(all))?;
            let picker = self.known("filter_texts_lines")?;
            let picked = fill(self.lexicons, picker, self.items, &[at], None);
            return self.select(picker, picked);
        }
        let mut filled = fill(self.lexicons, tool, self.items, all, None);
        let end = [("head", "head_lines"), ("tail", "tail_lines")].into_iter().find(|(end, _)| part.has(end));
        if let Some((_, argument)) = end.filter(|(_, argument)| !filled.args.contains_key(*argument)) {
            let other = all.iter().any(|&at| matches!(self.items[at].what, What::Lines(_)));
            let (at, n, length) = self.number_said(all).filter(|_| !other).ok_or_else(|| self.not_filled())?;
            filled.set(argument, json!(n), self.items, at);
            filled.used.extend(at..at + length);
        }
        let lines = all.iter().find_map(|&at| if let What::Lines(l) = self.items[at].what { Some(l) } else { None });
        let agrees = match lines {
            Some(Lines::First(_)) => part.has("head"),
            Some(Lines::Last(_)) => part.has("tail"),
            _ => true,
        };
        if !agrees {
            return Err(self.not_filled());
        }
        self.push(tool, filled)
    }

    fn searched(&mut self, all: &[usize]) -> Result<(), Trouble> {
        let quoted: Vec<usize> =
            all.iter().copied().filter(|&at| matches!(self.items[at].what, What::Quoted(_))).collect();
        let [text] = *quoted.as_slice() else { return Err(self.not_filled()) };
        self.over_paths("read_files", all)?;
        if !self.last_gives_content() {
            return Err(self.not_filled());
        }
        let tool = self.known("filter_texts_lines")?;
        let mut filled = Filled::default();
        let What::Quoted(value) = &self.items[text].what else { return Err(self.not_filled()) };
        filled.set("substring", json!(value), self.items, text);
        self.select(tool, filled)
    }

    /// What is to recur no longer: by the words that usage does not explain.
    fn ended(&mut self, name: &str, usage: &Usage, frame: &str) -> Result<(), Trouble> {
        let tool = self.known(name)?;
        let verb = |name: &str| self.items.iter().any(|i| i.verb().is_some_and(|v| self.class(v).verbs[0] == name));
        let paused = match (name == "toggle_recurring", verb("pause"), verb("resume")) {
            (false, ..) => None,
            (true, true, false) => Some(true),
            (true, false, true) => Some(false),
            (true, ..) => return Err(self.not_filled()),
        };
        let spans = |i: &Item| {
            !matches!(i.what, What::Word(_) | What::Punctuation(_) | What::Quoted(_) | What::Globs { base: None, .. })
        };
        if self.items.iter().any(spans) {
            return Err(self.not_filled());
        }
        let (first, last) = self.task_named(usage, frame).ok_or_else(|| self.not_filled())?;
        let mut filled = Filled::default();
        let text = self.text[self.items[first].start..self.items[last].end].to_owned();
        filled.args.insert("name".to_owned(), json!(text));
        if let Some(paused) = paused {
            filled.args.insert("paused".to_owned(), json!(paused));
            filled.provenance.insert("/paused".to_owned(), Origin::Default);
        }
        let origin = Origin::Words { start: byte(self.items[first].start), end: byte(self.items[last].end) };
        filled.provenance.insert("/name".to_owned(), origin);
        filled.used.extend(0..self.items.len());
        self.push(tool, filled)
    }

    /// The words that name a task: the longest run of them, first and last.
    fn task_named(&self, usage: &Usage, frame: &str) -> Option<(usize, usize)> {
        let acts = ["cancel", "delete", "undo", "schedule", "pause", "resume", "run", "move", "write"];
        let names = |at: usize| {
            let item = &self.items[at];
            let label = self.names(item, "tasks") && item.is_word();
            let told = item.senses().iter().all(|s| matches!(s, Sense::Noise | Sense::Cue(_) | Sense::Setting(_)));
            let act = item.verb().is_some_and(|v| self.acts(v) && acts.contains(&self.class(v).verbs[0].as_str()));
            let idle = item.is_word() && !item.is_unknown() && told;
            matches!(item.what, What::Quoted(_) | What::Globs { .. }) || (item.is_word() && !label && !idle && !act)
        };
        let ends = |i: &Item| i.is_punctuation();
        let acting = |i: &Item| i.verb().is_some_and(|v| self.acts(v)) || self.names(i, "tasks");
        let here = |at: usize| {
            let from = self.items[..at].iter().rposition(ends).map_or(0, |p| p + 1);
            let to = self.items[at..].iter().position(ends).map_or(self.items.len(), |p| at + p);
            self.items[from..to].iter().any(acting)
        };
        let weight = |at: usize| {
            let item = &self.items[at];
            let strange = item.is_unknown() || !item.is_word();
            i32::from(here(at)) * 4 + if strange && usage.speaks(&item.folded, frame) < 10 { 3 } else { 1 }
        };
        let mut best: Option<(i32, usize, usize)> = None;
        let mut at = 0;
        while at < self.items.len() {
            if !names(at) {
                at += 1;
                continue;
            }
            // «photo of the garden»: small words inside of a name belong to it.
            let small = |at: usize| self.items[at].is(Cue::From) || self.items[at].is(Cue::Determiner);
            let mut last = at;
            while let Some(next) = (last + 1..self.items.len().min(last + 3)).find(|&n| names(n))
                && (last + 1..next).all(small)
            {
                last = next;
            }
            let points: i32 = (at..=last).filter(|&n| names(n)).map(weight).sum();
            if best.is_none_or(|(most, ..)| points > most) {
                best = Some((points, at, last));
            }
            at = last + 1;
        }
        best.map(|(_, first, last)| (first, last))
    }

    /// A message: to the person who is named, what stands in quotes or after a word or mark that opens what is told.
    fn sent(&mut self, all: &[usize]) -> Result<(), Trouble> {
        let tool = self.known("send_messages")?;
        if all.iter().any(|&at| matches!(self.items[at].what, What::Path { .. } | What::Globs { .. } | What::Url(_))) {
            return Err(self.not_filled());
        }
        let capital = |at: usize| {
            let item = &self.items[at];
            item.is_word()
                && (item.is_unknown() || item.forgiven)
                && self.said(at..at + 1).starts_with(char::is_uppercase)
        };
        let quoted = all.iter().copied().find(|&at| matches!(self.items[at].what, What::Quoted(_)));
        let person =
            |at: usize| self.items[at].is(Cue::People) || matches!(self.items[at].what, What::Email(_)) || capital(at);
        let led = |at: usize| {
            at.checked_sub(1).is_some_and(|b| {
                self.items[b].is(Cue::Into) || self.items[b].folded == "per" || self.items[b].folded == "for"
            })
        };
        let opens = |at: usize| {
            at.checked_sub(1).is_none_or(|b| matches!(self.items[b].what, What::Punctuation('.' | '!' | '?')))
        };
        let people: Vec<usize> = all.iter().copied().filter(|&at| person(at)).collect();
        let to = people
            .iter()
            .find(|&&at| led(at))
            .or_else(|| people.iter().find(|&&at| !opens(at)))
            .or(people.first())
            .copied()
            .ok_or_else(|| self.not_filled())?;
        let titled = |at: usize| self.items[at].what == What::Punctuation('.') && is_title(&self.items[at - 1].folded);
        let last = (to..all.len()).take_while(|&at| at == to || capital(at) || titled(at)).last().unwrap_or(to);
        let (others, last) = self.more_recipients(last);
        self.refuse_choice(last)?;
        let (start, end, text) = match quoted {
            Some(at) => match &self.items[at].what {
                What::Quoted(text) => (self.items[at].start, self.items[at].end, text.clone()),
                _ => return Err(self.not_filled()),
            },
            None => {
                let opens = |i: &Item| {
                    i.what == What::Punctuation(':')
                        || i.is(Cue::Saying)
                        || matches!(i.folded.as_str(), "che" | "that" | "di")
                };
                let mut at =
                    (last + 1..self.items.len()).find(|&at| opens(&self.items[at])).ok_or_else(|| self.not_filled())?;
                while self.items.get(at).is_some_and(opens) {
                    at += 1;
                }
                let start = self.items.get(at).ok_or_else(|| self.not_filled())?.start;
                let text = self.text[start..].trim_end();
                let text = text.strip_suffix('?').unwrap_or(text).trim_end();
                (start, start + text.len(), text.to_owned())
            }
        };
        let mut names = vec![self.said(to..to + 1)];
        if last > to && others.is_empty() {
            names = vec![self.said(to..last + 1)];
        }
        let mut filled = Filled::default();
        filled.provenance.insert("/to/0".to_owned(), words(&self.items[to]));
        for (index, (name, item)) in (1..).zip(others) {
            names.push(name);
            filled.provenance.insert(format!("/to/{index}"), words(&self.items[item]));
        }
        filled.args.insert("to".to_owned(), json!(names));
        filled.args.insert("body".to_owned(), json!(text));
        filled.provenance.insert("/body".to_owned(), Origin::Words { start: byte(start), end: byte(end) });
        filled.used.extend(0..self.items.len());
        self.push(tool, filled)
    }

    /// What a page or a file holds is written elsewhere, or sent to somebody.
    fn passed_on(&mut self, part: &Part<'_>, act: &str, all: &[usize]) -> Result<(), Trouble> {
        let tool = self.known(act)?;
        let paths = self.paths(all);
        let target = self.destination(&paths).filter(|_| act == "write_files");
        let sources: Vec<usize> = all.iter().copied().filter(|&at| Some(at) != target).collect();
        let fetched = part.tool == "get_urls";
        if paths.len() != usize::from(!fetched) + usize::from(act == "write_files") {
            return Err(self.not_filled());
        }
        if fetched {
            self.page_read(part, &sources)?;
        } else {
            self.lines_read(part, &sources)?;
        }
        if !self.last_gives_content() {
            return Err(self.not_filled());
        }
        let mut filled = match target {
            Some(at) => fill(self.lexicons, tool, self.items, &[at], target),
            None => {
                let capital = |at: &&usize| {
                    let item = &self.items[**at];
                    let name = (item.is_unknown() || item.forgiven)
                        && self.said(**at..**at + 1).starts_with(char::is_uppercase);
                    item.is(Cue::People) || matches!(item.what, What::Email(_)) || (name && **at > 0)
                };
                let to = *all.iter().find(capital).ok_or_else(|| self.not_filled())?;
                let mut filled = Filled::default();
                filled.args.insert("to".to_owned(), json!([self.said(to..to + 1)]));
                filled.provenance.insert("/to/0".to_owned(), words(&self.items[to]));
                filled.used.push(to);
                filled
            }
        };
        let Some(argument) = tool.with_role(Role::Content).chain(tool.with_role(Role::Text)).next() else {
            return Err(self.not_filled());
        };
        filled.refer(argument, self.last(), "content");
        self.push(tool, filled)
    }

    fn page_read(&mut self, part: &Part<'_>, all: &[usize]) -> Result<(), Trouble> {
        let tool = self.known(part.tool)?;
        let mut filled = fill(self.lexicons, tool, self.items, all, None);
        if let Some(what) = part.value("what") {
            filled.args.insert("what".to_owned(), json!(what));
            filled.provenance.entry("/what".to_owned()).or_insert(Origin::Default);
        }
        // «the json at https://…»: what the page is, not files of that kind.
        filled.used.extend(all.iter().filter(|&&at| matches!(self.items[at].what, What::Globs { base: None, .. })));
        self.push(tool, filled)?;
        let clause = Clause { range: 0..self.items.len(), verbs: Vec::new(), counts: false, pronoun: false };
        let picked = if part.settings.is_empty() { self.extraction(&clause, all) } else { None };
        if let (Some(filled), Some(extract)) = (picked, self.tools.by_grammar("extract", "entries")) {
            self.select(extract, filled)?;
        }
        Ok(())
    }

    /// Adds a step over the entries of the last one.
    pub(super) fn next(&mut self, name: &str, args: &[(&str, Value, Origin)]) -> Result<(), Trouble> {
        let tool = self.known(name)?;
        let mut filled = Filled::default();
        filled.refer("entries", self.last(), "");
        for (argument, value, origin) in args {
            let listed = if tool.is_list(argument) && !value.is_array() { json!([value]) } else { value.clone() };
            filled.args.insert((*argument).to_owned(), listed);
            filled.provenance.insert(format!("/{argument}"), origin.clone());
        }
        self.push(tool, filled)
    }

    /// What the frame of a search says beside it: a total, an order, a count.
    fn counted_or_ranked(&mut self, parts: &[Part<'_>], usage: &Usage, frame: &str) -> Result<(), Trouble> {
        match parts.get(1).map(|p| p.tool) {
            Some("sort_entries") => self.ranked(parts, usage, frame),
            Some("group_entries") if parts.len() == 2 => self.grouped_by(),
            Some("compute_entries") if parts[1].has("key=size") => {
                let op = parts[1].value("op").unwrap_or("sum");
                self.next(
                    "compute_entries",
                    &[("op", json!(op), Origin::Default), ("key", json!("size"), Origin::Default)],
                )
            }
            Some("delete_files" | "move_files" | "compress_files" | "filter_entries") => Ok(()),
            Some(_) => Err(self.not_filled()),
            None => {
                if self.items.iter().any(|i| i.is(Cue::HowMany)) {
                    self.answer = AnswerSpec::Count;
                }
                Ok(())
            }
        }
    }

    /// Files in groups, by the one field that the words name.
    fn grouped_by(&mut self) -> Result<(), Trouble> {
        let field = |i: &Item| {
            i.senses().iter().find_map(|s| match s {
                Sense::Field(f) => Some(self.lexicons.fields[*f].name.clone()),
                _ => None,
            })
        };
        let grouping = ["extension", "type", "year", "month", "day", "folder", "week"];
        let mut named = (0..self.items.len()).filter_map(|at| Some((at, field(&self.items[at])?)));
        let found = named.find(|(_, name)| grouping.contains(&name.as_str())).ok_or_else(|| self.not_filled())?;
        self.next("group_entries", &[("by", json!(found.1), words(&self.items[found.0]))])?;
        self.used[found.0] = true;
        for at in 0..self.items.len() {
            self.used[at] |= [Cue::Grouped, Cue::By, Cue::HowMany, Cue::Every].iter().any(|&c| self.items[at].is(c));
        }
        Ok(())
    }

    /// The order that the frame fixes, over a field that it names or that only one word of the sentence can be.
    fn ranked(&mut self, parts: &[Part<'_>], usage: &Usage, frame: &str) -> Result<(), Trouble> {
        let Some(part) = parts.get(1) else { return Ok(()) };
        if part.tool != "sort_entries" || parts.len() > 2 {
            return Err(self.not_filled());
        }
        let desc = part.has("desc");
        let mut args = Vec::new();
        match part.value("by") {
            Some(by) => {
                let contradicts = |i: &Item| {
                    i.senses().iter().any(|s| match s {
                        Sense::Order(o) => {
                            let order = &self.lexicons.orders[*o];
                            order.by != by || order.desc != desc
                        }
                        _ => false,
                    })
                };
                let least =
                    self.items.iter().any(|i| i.is(Cue::Superlative) && matches!(i.folded.as_str(), "least" | "meno"));
                if self.items.iter().any(|i| contradicts(i) && !i.is(Cue::Fresh)) || (least && desc) {
                    return Err(self.not_filled());
                }
                args.push(("by", json!(by), Origin::Default));
            }
            None => {
                let (key, at) = self.residue(usage, frame)?;
                args.push(("by", json!(key), words(&self.items[at])));
                self.used[at] = true;
            }
        }
        args.push(("desc", json!(desc), Origin::Default));
        let all: Vec<usize> = (0..self.items.len()).collect();
        let said = self.number_said(&all);
        if part.has("top") || said.is_some() {
            let (top, origin) = match said {
                Some((at, n, length)) => {
                    (at..at + length).for_each(|at| self.used[at] = true);
                    (n, words(&self.items[at]))
                }
                None if self.says_many() => (SOME, Origin::Default),
                None => (1, Origin::Default),
            };
            args.push(("top", json!(top), origin));
        }
        self.next("sort_entries", &args)?;
        for at in 0..self.items.len() {
            let item = &self.items[at];
            let order = item.senses().iter().any(|s| matches!(s, Sense::Order(_) | Sense::Aggregate(_)));
            let direction = [
                Cue::Superlative,
                Cue::Consumes,
                Cue::First,
                Cue::Descending,
                Cue::Ascending,
                Cue::Fresh,
                Cue::Running,
            ]
            .iter()
            .any(|&cue| item.is(cue));
            self.used[at] |= order || direction;
        }
        Ok(())
    }

    /// A noun in the plural: «the files», «i processi».
    pub(super) fn says_many(&self) -> bool {
        self.items.iter().enumerate().any(|(at, i)| {
            let noun = i.object().is_some() || matches!(i.what, What::Globs { base: None, .. });
            let said = self.said(at..at + 1).to_lowercase();
            noun && said != "process"
                && (said.ends_with('s') || matches!(said.as_str(), "processi" | "documenti" | "programmi" | "immagini"))
        })
    }

    /// The one number of the sentence, what it is, and how many items it takes.
    pub(super) fn number_said(&self, all: &[usize]) -> Option<(usize, i64, usize)> {
        if let Some(found) = all.iter().copied().find_map(|at| match &self.items[at].what {
            What::Lines(Lines::First(n) | Lines::Last(n)) => Some((at, *n, 1)),
            _ => None,
        }) {
            return Some(found);
        }
        let at = all.iter().copied().find(|&at| {
            let word = self.items[at].is_word();
            number(self.items, at).is_some_and(|(n, _)| n > 1 || (n == 1 && !word && !self.items[at].is_noise()))
        })?;
        let (n, length) = number(self.items, at)?;
        (n > 0).then_some((at, n, length))
    }

    /// The only word that neither the lexicons nor usage explain: the name of a column.
    fn residue(&self, usage: &Usage, frame: &str) -> Result<(String, usize), Trouble> {
        let open = |&at: &usize| {
            let item = &self.items[at];
            let quoted = matches!(item.what, What::Quoted(_));
            quoted || (item.is_unknown() && !self.used[at] && !usage.explains(&item.folded, frame))
        };
        let left: Vec<usize> = (0..self.items.len()).filter(open).collect();
        match *left.as_slice() {
            [at] => match &self.items[at].what {
                What::Quoted(name) => Ok((name.clone(), at)),
                _ => Ok((self.said(at..at + 1), at)),
            },
            _ => Err(self.not_filled()),
        }
    }

    /// Words that usually stand in such sentences are explained by that.
    fn explain_by_usage(&mut self, usage: &Usage, frame: &str, parts: &[Part<'_>]) {
        let counts = self.answer == AnswerSpec::Count;
        let sums = parts.iter().any(|p| p.tool == "compute_entries");
        for at in 0..self.items.len() {
            let item = &self.items[at];
            if !item.is_word() || number(self.items, at).is_some() {
                continue;
            }
            let known = item.folded.split([' ', '\'']).filter(|w| w.len() > 1).all(|w| usage.explains(w, frame));
            let total = sums
                && item.senses().iter().any(|s| matches!(s, Sense::Aggregate(_) | Sense::Size(_) | Sense::Field(_)));
            let noun = item.object().is_some() && known;
            self.used[at] |= known || noun || total || (counts && item.is(Cue::HowMany));
        }
        let clause = Clause { range: 0..self.items.len(), verbs: Vec::new(), counts, pronoun: false };
        let all: Vec<usize> = clause.range.clone().collect();
        self.explain_entries(&clause, &all);
        self.explain_nouns(&all);
        if parts.iter().any(|p| p.tool == "find_files_hash") {
            for at in all {
                let copies = [Cue::Duplicate, Cue::Copies, Cue::Restriction, Cue::Difference]
                    .iter()
                    .any(|&c| self.items[at].is(c));
                self.used[at] |= copies;
            }
        }
    }
}

/// «Dr.», «Sig.»: the point belongs to the name.
pub(super) fn is_title(folded: &str) -> bool {
    ["dr", "mr", "mrs", "ms", "prof", "sig", "dott", "avv", "ing", "st"].contains(&folded)
}

fn is_archive(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    [".zip", ".tar.gz", ".tgz", ".tar"].iter().any(|ending| lower.ends_with(ending))
}
