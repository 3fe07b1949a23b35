//! Frames over files and folders that the words name themselves: deleted, made, moved, packed, written.
//!
//! A path that is only the place of something else is no target.

use serde_json::json;

use super::super::super::fill::{Filled, fill, is_archive, path};
use super::super::super::items::{Item, What};
use super::super::super::lexicon::{Cue, Sense};
use super::super::super::lift::byte;
use super::super::{Builder, Trouble};
use super::Part;
use crate::manifest::Role;
use crate::plan::Origin;

impl Builder<'_> {
    /// «the comments in ~/a.py»: the path is where something lies, not what is meant.
    pub(super) fn is_place(&self, at: usize) -> bool {
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
    pub(super) fn deleted(&mut self, all: &[usize]) -> Result<(), Trouble> {
        let paths = self.paths(all);
        if paths.iter().any(|&at| self.is_place(at)) {
            return Err(self.not_filled());
        }
        let folders = self.nouns(all).any(|n| n == "dirs")
            || paths.iter().all(|&at| path(&self.items[at]).is_some_and(|(value, _)| value.ends_with('/')));
        self.over_paths(if folders { "delete_dirs" } else { "delete_files" }, all)
    }

    /// New folders; one that another of them lies in is made with it.
    pub(super) fn made(&mut self, all: &[usize]) -> Result<(), Trouble> {
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
            self.used[*at] |= empty || holding.contains(at) || self.items[*at].is(Cue::Fresh);
        }
        Ok(())
    }

    /// «… that is called receipts»: the word or quotation after «called».
    pub(super) fn name_said(&self) -> Option<usize> {
        let cue = self.items.iter().position(|i| i.is(Cue::Named))?;
        (cue + 1..self.items.len().min(cue + 3)).find(|&at| {
            let item = &self.items[at];
            matches!(item.what, What::Quoted(_))
                || item.is_unknown()
                || matches!(&item.what, What::Path { value, .. } if !value.contains('/'))
        })
    }

    pub(super) fn made_in(&mut self, place: usize, name: usize) -> Result<(), Trouble> {
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

    /// The last path is where the others go.
    pub(super) fn put(&mut self, name: &str, all: &[usize]) -> Result<(), Trouble> {
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

    pub(super) fn written(&mut self, part: &Part<'_>, all: &[usize]) -> Result<(), Trouble> {
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
    pub(super) fn dictation(&self, target: usize) -> Option<(usize, usize)> {
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
}
