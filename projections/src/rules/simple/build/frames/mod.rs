//! A plan by its frame: what sentences of a kind usually mean says which pipeline, the words' own spans fill it.
//!
//! Nothing is taken that the words do not hold: a frame whose targets, texts or numbers are missing, or that would leave a
//! span of the sentence aside, makes no plan.

mod columns;
mod doubts;
mod found;
mod named;
mod people;
mod texts;

use serde_json::{Value, json};

use super::super::compose::number;
use super::super::fill::{Filled, fill, path};
use super::super::items::{Item, Lines, What};
use super::super::lexicon::{Cue, Sense};
use super::super::tools::Indexed;
use super::super::usage::{Likely, Usage};
use super::{Builder, Trouble};
use crate::plan::Origin;

/// How likely a frame is when politeness and words of other acts no longer speak against it, in thousandths.
const SURE_PERMILLE: u32 = 900;

/// One step of a frame: an executor's name, and the settings that the frame fixes.
struct Part<'f> {
    tool: &'f str,
    settings: Vec<&'f str>,
}

impl Part<'_> {
    fn has(&self, setting: &str) -> bool {
        self.settings.contains(&setting)
    }

    fn value(&self, name: &str) -> Option<&str> {
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

/// What a sentence probably means.
struct Meaning<'f> {
    usage: &'f Usage,
    frame: &'f str,
    parts: Vec<Part<'f>>,
    /// One of its executors changes something.
    acts: bool,
    /// Hardly anything else is meant.
    sure: bool,
}

impl Meaning<'_> {
    /// Whether the word usually stands in sentences of this meaning.
    fn explains(&self, word: &str) -> bool {
        self.usage.explains(word, self.frame)
    }

    /// How much the word itself speaks for this meaning.
    fn speaks(&self, word: &str) -> i16 {
        self.usage.speaks(word, self.frame)
    }
}

impl<'a> Builder<'a> {
    /// Plans the whole sentence by that frame; an error when the words do not fill it.
    pub(crate) fn by_frame(&mut self, usage: &Usage, likely: &Likely) -> Result<(), Trouble> {
        let parts = parts(&likely.frame);
        let acts = parts.iter().any(|p| self.tools.indexed(p.tool).is_some_and(Indexed::acts));
        let sure = likely.permille >= SURE_PERMILLE;
        let meant = Meaning { usage, frame: &likely.frame, parts, acts, sure };
        let unsound = |i: &Item| matches!(i.what, What::Lines(lines) if !lines.sound());
        if let Some(at) = self.items.iter().position(unsound) {
            return Err(Trouble::NoSuchLines { words: self.said(at..at + 1) });
        }
        self.refuse_turned(&meant)?;
        self.fill_frame(&meant)?;
        self.explain_by_usage(&meant);
        self.explain_numbers();
        self.explain_sizes();
        let strange = self.items.iter().zip(&self.used).any(|(item, used)| item.is_unknown() && !used);
        if acts && (strange && !sure || !self.says_act(&meant)) {
            return Err(self.not_filled());
        }
        match (0..self.items.len()).find(|&at| !self.used[at] && self.is_lost(at, &meant)) {
            Some(at) => Err(Trouble::Unclear { words: self.said(at..at + 1) }),
            None => self.guard(),
        }
    }

    /// The steps of the frame, their arguments from the words.
    fn fill_frame(&mut self, meant: &Meaning<'_>) -> Result<(), Trouble> {
        let names: Vec<&str> = meant.parts.iter().map(|p| p.tool).collect();
        let all: Vec<usize> = (0..self.items.len()).collect();
        let parts = &meant.parts;
        match names.as_slice() {
            ["find_files" | "find_dirs" | "find_files_hash", rest @ ..] => {
                self.found(&all, meant)?;
                if rest == ["filter_entries"] {
                    self.all_but(&all)?;
                }
                if rest == ["read_files", "filter_texts_lines"] {
                    self.searched_in_found(&all)?;
                }
                if let [.., act @ ("delete_files" | "move_files" | "compress_files" | "write_files")] = rest {
                    if rest.len() == 2 && rest[0] == "sort_entries" {
                        self.ranked(meant)?;
                        return self.act_on_found(act, &all);
                    }
                    if rest.len() > 1 {
                        return Err(self.not_filled());
                    }
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
            ["read_files", "filter_texts_lines", "write_files"] => self.searched_and_written(&all)?,
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
                self.ranked(meant)?;
            }
            ["cancel_recurring" | "toggle_recurring" | "run_now_recurring"] => self.ended(names[0], meant)?,
            ["send_messages"] => self.sent(&all)?,
            ["read_files_csv", ..] => {
                self.over_paths("read_files_csv", &all)?;
                self.rows_by_frame(meant)?;
            }
            _ => return Err(self.not_filled()),
        }
        if names[0].starts_with("find_") { self.counted_or_ranked(meant) } else { Ok(()) }
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

    /// Every path goes into the executor's list of paths.
    fn over_paths(&mut self, name: &str, all: &[usize]) -> Result<(), Trouble> {
        let tool = self.known(name)?;
        let filled = fill(self.lexicons, tool, self.items, all, None);
        self.push(tool, filled)
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
            let unit = |i: &Item| i.senses().iter().any(|s| matches!(s, Sense::Size(_)));
            // «150 MB» counts nothing.
            if self.items.get(at + 1).is_some_and(unit) {
                return false;
            }
            number(self.items, at).is_some_and(|(n, _)| n > 1 || (n == 1 && !word && !self.items[at].is_noise()))
        })?;
        let (n, length) = number(self.items, at)?;
        (n > 0).then_some((at, n, length))
    }
}
