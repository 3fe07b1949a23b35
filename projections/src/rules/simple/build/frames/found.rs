//! Frames over entries that are looked for first: searches, what is done to what was found, orders, groups, totals.
//!
//! A target is the path that the words lead to, never one that was found.

use serde_json::json;

use super::super::super::fill::{Filled, fill, is_archive, path, words};
use super::super::super::items::{Item, What};
use super::super::super::lexicon::{Cue, Sense};
use super::super::super::lift::Looks;
use super::super::wanted::SOME;
use super::super::{Builder, Trouble};
use super::Meaning;
use crate::manifest::Role;
use crate::plan::{AnswerSpec, Origin};

impl Builder<'_> {
    /// Entries are looked for in the one folder that the words hold; a second path is where they go.
    pub(super) fn found(&mut self, all: &[usize], meant: &Meaning<'_>) -> Result<(), Trouble> {
        let tool = self.known(meant.parts[0].tool)?;
        let paths = self.paths(all);
        let target =
            meant.parts.iter().skip(1).any(|p| matches!(p.tool, "move_files" | "compress_files" | "write_files"));
        let based = self.has(all, |w| matches!(w, What::Globs { base: Some(_), .. }));
        let places = usize::from(!based) + usize::from(target);
        let packs = meant.parts.iter().any(|p| p.tool == "compress_files");
        let goal = self.goal(&paths, packs).filter(|_| target);
        let source = paths.iter().copied().find(|&at| Some(at) != goal);
        let folder = |at: &usize| path(&self.items[*at]).is_some_and(|(_, looks)| looks != Looks::File);
        if paths.len() != places || (!based && source.is_none_or(|at| !folder(&at))) {
            return Err(self.not_filled());
        }
        let described = self.has(all, |w| matches!(w, What::Globs { .. } | What::Bound { .. } | What::Window { .. }));
        let some = described || meant.parts.iter().any(|p| matches!(p.tool, "sort_entries" | "write_files"));
        if target && !some {
            return Err(self.not_filled());
        }
        let take: Vec<usize> = all.iter().copied().filter(|&at| Some(at) != goal).collect();
        let filled = fill(self.lexicons, tool, self.items, &take, None);
        self.push(tool, filled)
    }

    /// «everything in ~/x except the pdfs»: what was found, less the kinds that a negation names.
    pub(super) fn all_but(&mut self, all: &[usize]) -> Result<(), Trouble> {
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

    /// Where things go: an archive wherever it stands, else the folder that they are led to.
    fn goal(&self, paths: &[usize], packs: bool) -> Option<usize> {
        let archives: Vec<usize> =
            paths.iter().copied().filter(|&at| path(&self.items[at]).is_some_and(|(v, _)| is_archive(v))).collect();
        match (packs, archives.as_slice()) {
            (true, [only]) => Some(*only),
            _ => self.destination(paths),
        }
    }

    /// Of the paths, the one that things go to: the last, unless a word says that it is where they come from.
    pub(super) fn destination(&self, paths: &[usize]) -> Option<usize> {
        let (&last, rest) = paths.split_last()?;
        let led = |at: usize| {
            let passes = |i: &&Item| !(i.object().is_some() || (i.is(Cue::Determiner) && !i.is(Cue::From)));
            self.items[..at].iter().rev().find(passes)
        };
        let origin = |at: usize| led(at).is_some_and(|i| i.is(Cue::From) && !i.is(Cue::Into));
        // «bring to ~/a what is in ~/b»: nothing was named yet when the first is led to, and all of it before the second.
        let things = |range: std::ops::Range<usize>| {
            self.items[range].iter().any(|i| {
                matches!(i.what, What::Globs { .. } | What::Window { .. } | What::Bound { .. }) || i.object().is_some()
            })
        };
        let goal_first = |first: usize| {
            let towards = led(first).is_some_and(|i| i.is(Cue::Into) && !i.is(Cue::From));
            // Right after the act: «bring to ~/a …», not «the small ones in ~/a …».
            let opens = self.items[..first].iter().rev().find(|i| !i.is(Cue::Determiner) && !i.is(Cue::Into));
            let towards = towards && opens.is_none_or(|i| i.verb().is_some_and(|v| self.acts(v)) || i.is(Cue::Due));
            let place = led(last).is_some_and(|i| i.is(Cue::Inside) || i.is(Cue::From));
            towards && place && !things(0..first) && things(first + 1..last)
        };
        match rest {
            [first] if (origin(last) && !origin(*first)) || goal_first(*first) => Some(*first),
            _ => Some(last),
        }
    }

    pub(super) fn act_on_found(&mut self, act: &str, all: &[usize]) -> Result<(), Trouble> {
        let tool = self.known(act)?;
        let empty = self.steps.last().is_some_and(|s| s.args.get("empty") == Some(&json!(true)));
        let tool = if self.steps.last().is_some_and(|s| s.tool == "find_dirs") && act == "delete_files" {
            self.known("delete_dirs")?
        } else {
            tool
        };
        let picked = self.steps.last().is_some_and(|s| s.args.get("top").is_some());
        let described = empty
            || picked
            || self.has(all, |w| matches!(w, What::Globs { .. } | What::Bound { .. } | What::Window { .. }));
        let paths = self.paths(all);
        let target = self.goal(&paths, act == "compress_files").filter(|&at| !self.used[at]);
        let mut filled = Filled::default();
        if act != "delete_files" {
            let single = tool.with_role(Role::TargetPath).find(|a| !tool.is_list(a)).map(str::to_owned);
            let (Some(argument), Some(at)) = (single, target) else { return Err(self.not_filled()) };
            // «one folder per year»
            match self.folders_by(all, Some(at)).filter(|_| act == "move_files") {
                Some((template, used)) => {
                    filled.set(&argument, json!(template), self.items, at);
                    filled.used.extend(used);
                }
                None => filled.set(&argument, json!(path(&self.items[at]).map(|(value, _)| value)), self.items, at),
            }
        } else if !described {
            return Err(self.not_filled());
        }
        filled.refer("entries", self.last(), "");
        self.push(tool, filled)
    }

    /// What the frame of a search says beside it: a total, an order, a count.
    pub(super) fn counted_or_ranked(&mut self, meant: &Meaning<'_>) -> Result<(), Trouble> {
        match meant.parts.get(1).map(|p| p.tool) {
            Some("sort_entries") => self.ranked(meant),
            Some("group_entries") if meant.parts.len() == 2 => self.grouped_by(),
            // «list ~/x by size» is an order.
            Some("compute_entries") if self.is_by_field() => Err(self.not_filled()),
            Some("compute_entries") if meant.parts[1].has("key=size") => {
                let op = meant.parts[1].value("op").unwrap_or("sum");
                self.next(
                    "compute_entries",
                    &[("op", json!(op), Origin::Default), ("key", json!("size"), Origin::Default)],
                )
            }
            Some(
                "delete_files" | "move_files" | "compress_files" | "write_files" | "filter_entries" | "read_files",
            ) => Ok(()),
            Some(_) => Err(self.not_filled()),
            None => {
                if self.items.iter().any(|i| i.is(Cue::HowMany)) {
                    self.answer = AnswerSpec::Count;
                }
                Ok(())
            }
        }
    }

    /// «by size», «per dimensione».
    fn is_by_field(&self) -> bool {
        let field = |i: Option<&Item>| i.is_some_and(|i| i.senses().iter().any(|s| matches!(s, Sense::Field(_))));
        (0..self.items.len()).any(|at| self.items[at].is(Cue::By) && field(self.items.get(at + 1)))
    }

    /// Files in groups, by the one field that the words name.
    pub(super) fn grouped_by(&mut self) -> Result<(), Trouble> {
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

    /// The order that the frame fixes, over the field that it names; no word may contradict either.
    pub(super) fn ranked(&mut self, meant: &Meaning<'_>) -> Result<(), Trouble> {
        let Some(part) = meant.parts.get(1) else { return Ok(()) };
        if part.tool != "sort_entries" || meant.parts.len() > 3 {
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
                let least = self.items.iter().any(|i| i.is(Cue::Superlative) && i.is(Cue::Least));
                if self.items.iter().any(|i| contradicts(i) && !i.is(Cue::Fresh)) || (least && desc) {
                    return Err(self.not_filled());
                }
                args.push(("by", json!(by), Origin::Default));
            }
            None => return Err(self.not_filled()),
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
}
