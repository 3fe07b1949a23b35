//! Frames over texts: lines of a file, searches in it, pages, and what is passed on of them.

use serde_json::json;

use super::super::super::fill::{Filled, fill, path, words};
use super::super::super::items::{Item, Lines, What};
use super::super::super::lexicon::{Cue, Sense};
use super::super::wanted::SOME;
use super::super::{Builder, Clause, Trouble};
use super::Part;
use crate::manifest::Role;
use crate::plan::{AnswerSpec, Origin};

impl Builder<'_> {
    pub(super) fn lines_read(&mut self, part: &Part<'_>, all: &[usize]) -> Result<(), Trouble> {
        let tool = self.known(part.tool)?;
        if self.paths(all).iter().any(|&at| path(&self.items[at]).is_some_and(|(v, _)| v.ends_with('/'))) {
            return Err(self.not_filled());
        }
        let lines_at = all.iter().copied().find(|&at| matches!(self.items[at].what, What::Lines(_)));
        if part.has("range") {
            let at = lines_at.ok_or_else(|| self.not_filled())?;
            self.over_paths("read_files", &self.paths(all))?;
            let picker = self.known("filter_texts_lines")?;
            let lines = fill(self.lexicons, picker, self.items, &[at], None);
            return self.select(picker, lines);
        }
        let mut filled = fill(self.lexicons, tool, self.items, all, None);
        let end = [("head", "head_lines"), ("tail", "tail_lines")].into_iter().find(|(end, _)| part.has(end));
        if let Some((_, argument)) = end.filter(|(_, argument)| !filled.args.contains_key(*argument)) {
            let other = all.iter().any(|&at| matches!(self.items[at].what, What::Lines(_)));
            if let Some((at, n, length)) = self.number_said(all).filter(|_| !other) {
                filled.set(argument, json!(n), self.items, at);
                filled.used.extend(at..at + length);
            } else {
                // «how does ~/a.md begin»: some of it.
                let end = |i: &Item| i.is(Cue::First) || i.is(Cue::Last);
                let at = self.items.iter().position(end).filter(|_| !other).ok_or_else(|| self.not_filled())?;
                filled.set(argument, json!(SOME), self.items, at);
                filled.provenance.insert(format!("/{argument}"), Origin::Default);
            }
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

    pub(super) fn searched(&mut self, all: &[usize]) -> Result<(), Trouble> {
        let (at, text) = self.text_sought(all)?;
        self.over_paths("read_files", all)?;
        if !self.last_gives_content() {
            return Err(self.not_filled());
        }
        let tool = self.known("filter_texts_lines")?;
        let mut filled = Filled::default();
        filled.set("substring", json!(text), self.items, at);
        self.select(tool, filled)?;
        self.used[at - usize::from(at > 0 && self.items[at - 1].is(Cue::Contains))] = true;
        if self.items.iter().any(|i| i.is(Cue::HowMany)) {
            self.answer = AnswerSpec::Field { path: "metadata.count".to_owned() };
        }
        Ok(())
    }

    /// The one text in quotes, or the word right after one that says that it is looked for.
    fn text_sought(&self, all: &[usize]) -> Result<(usize, String), Trouble> {
        let quoted: Vec<usize> =
            all.iter().copied().filter(|&at| matches!(self.items[at].what, What::Quoted(_))).collect();
        match *quoted.as_slice() {
            [at] => match &self.items[at].what {
                What::Quoted(text) => Ok((at, text.clone())),
                _ => Err(self.not_filled()),
            },
            [] => {
                let opens = |i: &Item| i.is(Cue::Contains) || i.is(Cue::Saying) || i.is(Cue::Says);
                let word = |at: usize| {
                    let item = &self.items[at];
                    let said = self.said(at..at + 1);
                    let capitals = said.len() > 1 && said.chars().all(|c| c.is_uppercase() || c == '_' || c == '-');
                    item.is_unknown() || (item.is_word() && (capitals || self.items[at - 1].is(Cue::Says)))
                };
                let mut after = all.iter().copied().filter(|&at| at > 0 && opens(&self.items[at - 1]) && word(at));
                match (after.next(), after.next()) {
                    (Some(at), None) => Ok((at, self.said(at..at + 1))),
                    _ => Err(self.not_filled()),
                }
            }
            _ => Err(self.not_filled()),
        }
    }

    /// «put the lines with "x" of ~/a into ~/b»: the lines that are found are written elsewhere.
    pub(super) fn searched_and_written(&mut self, all: &[usize]) -> Result<(), Trouble> {
        let paths = self.paths(all);
        let target = self.destination(&paths).filter(|_| paths.len() == 2).ok_or_else(|| self.not_filled())?;
        let sources: Vec<usize> = all.iter().copied().filter(|&at| at != target).collect();
        self.searched(&sources)?;
        self.answer = AnswerSpec::Result;
        let tool = self.known("write_files")?;
        let mode = |at: &usize| {
            let set = |s: &Sense| matches!(s, Sense::Setting(i) if self.lexicons.settings[*i].argument == "mode");
            self.items[*at].senses().iter().any(set)
        };
        let mut said: Vec<usize> = all.iter().copied().filter(mode).collect();
        said.push(target);
        let mut filled = fill(self.lexicons, tool, self.items, &said, Some(target));
        filled.refer("content", self.last(), "content");
        self.push(tool, filled)
    }

    /// «which files in ~/notes mention "x"»: what was found is read, and its lines are looked through.
    pub(super) fn searched_in_found(&mut self, all: &[usize]) -> Result<(), Trouble> {
        let quoted = all.iter().copied().find(|&at| matches!(self.items[at].what, What::Quoted(_)));
        let after = all.iter().copied().find(|&at| {
            at > 0
                && self.items[at].is_unknown()
                && self.items[at - 1].is(Cue::Contains)
                && !self.items[at - 1].is_noise()
        });
        let at = quoted.or(after).ok_or_else(|| self.not_filled())?;
        let text = match &self.items[at].what {
            What::Quoted(text) => text.clone(),
            _ => self.said(at..at + 1),
        };
        let reader = self.known("read_files")?;
        let mut read = Filled::default();
        read.refer("entries", self.last(), "");
        self.push(reader, read)?;
        let tool = self.known("filter_texts_lines")?;
        let mut filled = Filled::default();
        filled.set("substring", json!(text), self.items, at);
        self.select(tool, filled)?;
        for &at in all {
            self.used[at] |= self.items[at].is(Cue::Contains) || self.items[at].is(Cue::Spelled);
        }
        Ok(())
    }

    /// What a page or a file holds is written elsewhere, or sent to somebody.
    pub(super) fn passed_on(&mut self, part: &Part<'_>, act: &str, all: &[usize]) -> Result<(), Trouble> {
        let tool = self.known(act)?;
        let paths = self.paths(all);
        let target = self.destination(&paths).filter(|_| act == "write_files");
        let sources: Vec<usize> = all.iter().copied().filter(|&at| Some(at) != target).collect();
        let fetched = part.tool == "get_urls";
        // What is picked out of a page is not the page.
        if fetched && self.items.iter().any(|i| i.form().is_some()) {
            return Err(self.not_filled());
        }
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
        let mut filled = if let Some(at) = target {
            let mode = |at: &usize| {
                self.items[*at]
                    .senses()
                    .iter()
                    .any(|s| matches!(s, Sense::Setting(i) if self.lexicons.settings[*i].argument == "mode"))
            };
            let mut said: Vec<usize> = all.iter().copied().filter(mode).collect();
            said.push(at);
            fill(self.lexicons, tool, self.items, &said, target)
        } else {
            let to = self.person_said(all).ok_or_else(|| self.not_filled())?;
            let mut filled = Filled::default();
            filled.args.insert("to".to_owned(), json!([self.said(to..to + 1)]));
            filled.provenance.insert("/to/0".to_owned(), words(&self.items[to]));
            filled.used.push(to);
            filled
        };
        let Some(argument) = tool.with_role(Role::Content).chain(tool.with_role(Role::Text)).next() else {
            return Err(self.not_filled());
        };
        filled.refer(argument, self.last(), "content");
        self.push(tool, filled)
    }

    pub(super) fn page_read(&mut self, part: &Part<'_>, all: &[usize]) -> Result<(), Trouble> {
        let told = |s: &Sense| matches!(s, Sense::Setting(i) if self.lexicons.settings[*i].argument == "what");
        let partly = all.iter().any(|&at| self.items[at].senses().iter().any(told));
        let tool = self.known(if partly { "read_urls_html" } else { part.tool })?;
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
}
