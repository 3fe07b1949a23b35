//! Files that go below folders which their own data names: «tidy ~/Downloads by type and year».

use serde_json::json;

use super::super::fill::{Filled, fill, path};
use super::super::items::Item;
use super::super::lexicon::{Cue, Sense};
use super::super::lift::byte;
use super::super::tools::Indexed;
use super::{Builder, Clause, Trouble};
use crate::manifest::Role;
use crate::plan::Origin;

impl Builder<'_> {
    /// «sort the files of ~/x into folders by type»: sorting that moves; the verb of moving, at the verb of sorting.
    pub(super) fn filing(&self, clause: &Clause) -> Option<(usize, usize)> {
        let sorts = |&&(_, v): &&(usize, usize)| matches!(self.class(v).verbs[0].as_str(), "sort" | "group");
        let &(at, _) = clause.verbs.iter().find(sorts)?;
        let into = clause.range.clone().any(|i| {
            let plural = ["folders", "subfolders", "directories", "cartelle", "sottocartelle"];
            let noun = self.names(&self.items[i], "dirs") && plural.contains(&self.items[i].folded.as_str());
            noun && (1..3).any(|back| i.checked_sub(back).is_some_and(|b| self.items[b].is(Cue::Into)))
        });
        let verb = self.lexicons.verbs.iter().position(|class| class.verbs[0] == "move")?;
        into.then_some((at, verb))
    }

    /// «by type and year»: the folders below which files are filed, and the items that say so.
    pub(super) fn folders_by(&self, available: &[usize], target: Option<usize>) -> Option<(String, Vec<usize>)> {
        let field = |at: usize| {
            let name = self.items.get(at)?.senses().iter().find_map(|s| match s {
                Sense::Field(f) => Some(self.lexicons.fields[*f].name.as_str()),
                _ => None,
            })?;
            Some(match name {
                "extension" => "{ext}",
                "type" => "{type}",
                "year" => "{year}",
                "month" => "{year}-{month}",
                "day" | "modified" => "{date}",
                _ => return None,
            })
        };
        let passes = |i: &Item| i.is(Cue::Connector) || i.is_punctuation() || i.is(Cue::By) || i.is_noise();
        let by = available
            .iter()
            .copied()
            .find(|&at| self.items[at].is(Cue::By) && (at + 1..at + 3).any(|next| field(next).is_some()))?;
        let mut parts: Vec<&str> = Vec::new();
        let mut used = vec![by];
        for at in by + 1..self.items.len() {
            if let Some(part) = field(at) {
                if parts.contains(&"{year}") && part == "{year}-{month}" {
                    parts.push("{month}");
                } else {
                    parts.push(part);
                }
            } else if !passes(&self.items[at]) {
                break;
            }
            used.push(at);
        }
        let base = target.or_else(|| available.iter().copied().find(|&at| path(&self.items[at]).is_some()))?;
        let (base, _) = path(&self.items[base])?;
        (!parts.is_empty()).then(|| (format!("{}/{}/", base.trim_end_matches('/'), parts.join("/")), used))
    }

    /// Files of one folder go below folders that their own data names.
    pub(super) fn file_away(
        &mut self,
        tool: &Indexed,
        available: &[usize],
        target: Option<usize>,
        (template, used): (String, Vec<usize>),
    ) -> Result<(), Trouble> {
        let Some(finder) = self.tools.by_grammar("find", "files") else {
            return Err(Trouble::NoTool { words: self.said(used[0]..used[0] + 1) });
        };
        let paths = available.iter().filter(|&&at| path(&self.items[at]).is_some()).count();
        let takes: Vec<usize> =
            available.iter().copied().filter(|at| !(used.contains(at) || paths > 1 && Some(*at) == target)).collect();
        let mut found = fill(self.lexicons, finder, self.items, &takes, None);
        found.args.remove("kind");
        found.args.entry("recursive".to_owned()).or_insert_with(|| {
            found.provenance.insert("/recursive".to_owned(), Origin::Default);
            json!(false)
        });
        self.push(finder, found)?;
        let Some(argument) = tool.with_role(Role::TargetPath).find(|a| !tool.is_list(a)).map(str::to_owned) else {
            return Err(Trouble::NoTool { words: self.said(used[0]..used[0] + 1) });
        };
        let mut filled = Filled::default();
        filled.refer("entries", u32::try_from(self.steps.len()).unwrap_or(u32::MAX), "");
        let base = target.or_else(|| available.iter().copied().find(|&at| path(&self.items[at]).is_some()));
        let ends = used.iter().copied().chain(base);
        let start = ends.clone().map(|at| self.items[at].start).min().unwrap_or(0);
        let end = ends.map(|at| self.items[at].end).max().unwrap_or(0);
        filled.args.insert(argument.clone(), json!(template));
        filled.provenance.insert(format!("/{argument}"), Origin::Words { start: byte(start), end: byte(end) });
        filled.used.extend(used);
        filled.used.extend(base);
        self.push(tool, filled)?;
        for &at in available {
            self.used[at] |= self.names(&self.items[at], "dirs") || self.names(&self.items[at], "files");
        }
        Ok(())
    }
}
