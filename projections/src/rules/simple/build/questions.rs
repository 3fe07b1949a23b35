//! Questions that name their own executor: copies of one content, what differs, a file's data, a page, Metnos's own acts.
//!
//! Each is read from words and spans alone; where the executor is not in the catalog, the clause is planned like any other.

use std::ops::Range;

use serde_json::json;

use super::super::fill::{Filled, fill, is_label, path};
use super::super::items::{Item, What};
use super::super::lexicon::{Cue, Sense};
use super::super::lift::Looks;
use super::wanted::Kind;
use super::{Builder, Clause, Trouble};
use crate::manifest::Role;

impl Builder<'_> {
    /// Tries each of them; false when the clause is none.
    pub(super) fn question(&mut self, clause: &Clause, available: &[usize]) -> Result<bool, Trouble> {
        Ok(self.comparison(clause, available)?
            || self.duplicates(clause, available)?
            || self.two_lists(clause, available)?
            || self.attributes(clause, available)?
            || self.page(clause, available)?)
    }

    fn two_files(&self, available: &[usize]) -> bool {
        let file = |&&at: &&usize| path(&self.items[at]).is_some_and(|(_, looks)| looks == Looks::File);
        available.iter().filter(file).count() == 2
    }

    fn files_named(&self, available: &[usize]) -> Vec<usize> {
        available
            .iter()
            .copied()
            .filter(|&at| {
                path(&self.items[at]).is_some_and(|(value, looks)| looks == Looks::File || !value.ends_with('/'))
            })
            .collect()
    }

    /// «what differs between a.txt and b.txt»: both are read, then compared.
    fn comparison(&mut self, clause: &Clause, available: &[usize]) -> Result<bool, Trouble> {
        let verb = clause.verbs.iter().find(|&&(_, v)| self.class(v).verbs[0] == "compare").map(|&(at, _)| at);
        let cue = available.iter().copied().find(|&at| {
            let item = &self.items[at];
            let changed = item.is(Cue::Modified) && !item.is_noise();
            item.is(Cue::Difference)
                || item.is(Cue::Duplicate)
                || (changed && verb.is_none() && self.two_files(available))
        });
        let files = self.files_named(available);
        let copies = available.iter().any(|&at| self.items[at].is(Cue::Duplicate));
        let all_files = files.iter().all(|&at| path(&self.items[at]).is_some_and(|(_, looks)| looks == Looks::File));
        if copies && !all_files && verb.is_none() {
            return Ok(false);
        }
        let Some(cue) = verb.or(cue).filter(|_| files.len() >= 2) else { return Ok(false) };
        let tables = self.tools.by_grammar("read", "files");
        let (Some(reader), Some(tool)) = (tables, self.tools.by_grammar("compare", "entries")) else {
            return Ok(false);
        };
        let filled = fill(self.lexicons, reader, self.items, &files, None);
        self.push(reader, filled)?;
        let mut compared = Filled::default();
        compared.refer("entries", self.last(), "");
        compared.used.push(cue);
        self.push(tool, compared)?;
        for &at in available {
            let item = &self.items[at];
            let told = [Cue::Difference, Cue::Between, Cue::Duplicate, Cue::Modified].iter().any(|&cue| item.is(cue))
                || item.past().is_some();
            self.used[at] |= told;
        }
        self.explain_entries(clause, available);
        self.explain_nouns(available);
        Ok(true)
    }

    /// «duplicate photos in ~/x»: files of one content.
    fn duplicates(&mut self, clause: &Clause, available: &[usize]) -> Result<bool, Trouble> {
        let cues: Vec<usize> = available.iter().copied().filter(|&at| self.items[at].is(Cue::Duplicate)).collect();
        let Some(tool) = self.tools.by_grammar("find", "files_hash").filter(|_| !cues.is_empty()) else {
            return Ok(false);
        };
        let file = |&&at: &&usize| path(&self.items[at]).is_some_and(|(_, looks)| looks == Looks::File);
        let single = available.iter().filter(file).count() == 1;
        if single || clause.verbs.iter().any(|&(at, v)| self.acts(v) && !cues.contains(&at)) {
            return Ok(false);
        }
        let mut filled = fill(self.lexicons, tool, self.items, available, None);
        filled.used.extend(cues);
        let alike =
            |at: &&usize| [Cue::Difference, Cue::Restriction, Cue::Named].iter().any(|&cue| self.items[**at].is(cue));
        filled.used.extend(available.iter().filter(alike));
        self.push(tool, filled)?;
        let wanted = self.wanted(clause, available, Kind::Files);
        self.stages(Kind::Files, &wanted, clause)?;
        self.explain_entries(clause, available);
        Ok(true)
    }

    /// «which rows are in a.csv but not in b.csv»: two tables, joined or held against each other.
    fn two_lists(&mut self, clause: &Clause, available: &[usize]) -> Result<bool, Trouble> {
        let (Some(reader), Some(tool)) =
            (self.tools.by_grammar("read", "files_csv"), self.tools.by_grammar("filter", "lists"))
        else {
            return Ok(false);
        };
        let op = available.iter().find_map(|&at| {
            self.items[at].senses().iter().find_map(|s| match s {
                Sense::Setting(i) if self.lexicons.settings[*i].argument == "op" => {
                    Some((self.lexicons.settings[*i].value.clone(), at))
                }
                _ => None,
            })
        });
        let tables: Vec<usize> = available
            .iter()
            .copied()
            .filter(|&at| path(&self.items[at]).is_some_and(|(value, _)| value.to_ascii_lowercase().ends_with(".csv")))
            .collect();
        if let Some((op, cue)) = op.clone().filter(|_| tables.is_empty())
            && self.two_folders(clause, available, (&op, cue))?
        {
            return Ok(true);
        }
        let (Some((op, cue)), [first, second]) = (op, tables.as_slice()) else { return Ok(false) };
        if clause.verbs.iter().any(|&(at, v)| self.acts(v) && at != cue) {
            return Ok(false);
        }
        for at in [*first, *second] {
            let filled = fill(self.lexicons, reader, self.items, &[at], None);
            self.push(reader, filled)?;
        }
        let mut filled = Filled::default();
        filled.refer("first", self.last() - 1, "entries");
        filled.refer("second", self.last(), "entries");
        filled.set("op", op, self.items, cue);
        self.push(tool, filled)?;
        self.explain_entries(clause, available);
        Ok(true)
    }

    /// «which files of ~/a are missing from ~/b»: two folders, held against each other by the names of their files.
    fn two_folders(
        &mut self,
        clause: &Clause,
        available: &[usize],
        (op, cue): (&serde_json::Value, usize),
    ) -> Result<bool, Trouble> {
        let (Some(finder), Some(tool)) =
            (self.tools.by_grammar("find", "files"), self.tools.by_grammar("filter", "lists"))
        else {
            return Ok(false);
        };
        let folder = |at: &usize| path(&self.items[*at]).is_some_and(|(_, looks)| looks != Looks::File);
        let folders: Vec<usize> = available.iter().copied().filter(folder).collect();
        let paths = available.iter().filter(|&&at| path(&self.items[at]).is_some()).count();
        let [first, second] = *folders.as_slice() else { return Ok(false) };
        if paths != 2 || clause.verbs.iter().any(|&(at, v)| self.acts(v) && at != cue) {
            return Ok(false);
        }
        let others: Vec<usize> = available.iter().copied().filter(|at| *at != first && *at != second).collect();
        for at in [first, second] {
            let take: Vec<usize> = others.iter().copied().chain([at]).collect();
            let filled = fill(self.lexicons, finder, self.items, &take, None);
            self.push(finder, filled)?;
        }
        let mut filled = Filled::default();
        filled.refer("first", self.last() - 1, "entries");
        filled.refer("second", self.last(), "entries");
        filled.set("op", op.clone(), self.items, cue);
        filled.args.insert("key".to_owned(), json!("name"));
        filled.provenance.insert("/key".to_owned(), crate::plan::Origin::Default);
        self.push(tool, filled)?;
        self.explain_entries(clause, available);
        Ok(true)
    }

    /// «how large is ~/a.iso», «when was ~/a.txt changed»: data of named files, without opening them.
    fn attributes(&mut self, clause: &Clause, available: &[usize]) -> Result<bool, Trouble> {
        let Some(tool) = self.tools.by_grammar("get", "files") else { return Ok(false) };
        if clause.verbs.iter().any(|&(_, v)| self.acts(v))
            || self.has(available, |w| matches!(w, What::Url(_) | What::Lines(_)))
        {
            return Ok(false);
        }
        let files: Vec<usize> = available
            .iter()
            .copied()
            .filter(|&at| path(&self.items[at]).is_some_and(|(_, looks)| looks == Looks::File))
            .collect();
        let paths = available.iter().filter(|&&at| path(&self.items[at]).is_some()).count();
        let asks = |&at: &usize| {
            let item = &self.items[at];
            let set = item
                .senses()
                .iter()
                .any(|s| matches!(s, Sense::Setting(i) if self.lexicons.settings[*i].argument == "fields"));
            let sized = item.measure().is_some_and(|m| self.lexicons.measures[m].fields.contains_key("find"));
            let unit = clause.counts && item.senses().iter().any(|s| matches!(s, Sense::Size(_)));
            set || sized || unit
        };
        let asking: Vec<usize> = available.iter().copied().filter(asks).collect();
        // «when was it taken» asks for more than a date of the file.
        let taken = |&at: &usize| {
            let is = |s: &Sense| matches!(s, Sense::Setting(i) if self.lexicons.settings[*i].value == json!(["taken"]));
            self.items[at].senses().iter().any(is)
        };
        let only: Vec<usize> = asking.iter().copied().filter(taken).collect();
        let (asking, others) = if only.is_empty() { (asking, Vec::new()) } else { (only, asking) };
        if files.is_empty() || files.len() != paths || asking.is_empty() {
            return Ok(false);
        }
        let take: Vec<usize> = files.iter().chain(&asking).copied().collect();
        let mut filled = fill(self.lexicons, tool, self.items, &take, None);
        filled.used.extend(asking);
        filled.used.extend(others);
        self.push(tool, filled)?;
        for &at in available {
            let item = &self.items[at];
            let idle = item.is(Cue::HowMany) || item.is(Cue::Modified) || item.past().is_some();
            let unit = item.senses().iter().any(|s| matches!(s, Sense::Size(_) | Sense::Field(_)));
            self.used[at] |= idle || unit || self.names(item, "now") || self.names(item, "files");
        }
        self.explain_entries(clause, available);
        Ok(true)
    }

    /// «what does the page … say», «the links of …»: a page as a person reads it, not its source.
    fn page(&mut self, clause: &Clause, available: &[usize]) -> Result<bool, Trouble> {
        let Some(tool) = self.tools.by_grammar("read", "urls_html") else { return Ok(false) };
        let urls: Vec<usize> =
            available.iter().copied().filter(|&at| matches!(self.items[at].what, What::Url(_))).collect();
        let stores = clause.verbs.iter().any(|&(_, v)| self.acts(v));
        if urls.is_empty() || stores || available.iter().any(|&at| path(&self.items[at]).is_some()) {
            return Ok(false);
        }
        let links = available
            .iter()
            .copied()
            .find(|&at| self.items[at].form().is_some_and(|(form, _)| self.lexicons.forms[form] == "url"))
            .filter(|&at| !is_label(self.items, at));
        let part = available.iter().copied().find(|&at| {
            self.items[at]
                .senses()
                .iter()
                .any(|s| matches!(s, Sense::Setting(i) if self.lexicons.settings[*i].argument == "what"))
        });
        let noun = available.iter().copied().find(|&at| self.is_page(&self.items[at]));
        let reads = clause.verbs.iter().all(|&(_, v)| self.class(v).weak || self.class(v).verbs[0] != "get");
        let other = available.iter().any(|&at| {
            let form = self.items[at].form().is_some_and(|(form, _)| self.lexicons.forms[form] != "url");
            form || self.items[at].measure().is_some() || matches!(self.items[at].what, What::Lines(_))
        });
        if links.is_none() && part.is_none() && (noun.is_none() || !reads || other) {
            return Ok(false);
        }
        let mut take = urls;
        take.extend(part);
        let mut filled = fill(self.lexicons, tool, self.items, &take, None);
        if let Some(at) = links.filter(|_| tool.accepts("what", &json!("links"))) {
            filled.args.insert("what".to_owned(), json!("links"));
            filled.provenance.insert("/what".to_owned(), super::super::fill::words(&self.items[at]));
            filled.used.push(at);
        }
        filled.used.extend(noun);
        self.push(tool, filled)?;
        self.explain_entries(clause, available);
        self.explain_nouns(available);
        Ok(true)
    }

    fn is_page(&self, item: &Item) -> bool {
        self.names(item, "urls")
            && ["page", "pagin", "site", "sito", "articl", "articol", "web"].iter().any(|w| item.folded.contains(w))
    }

    /// «take back your last action»: an act of Metnos itself; true when it is one.
    pub(super) fn undo(&mut self, clause: &Clause, at: usize, verb: usize) -> Result<bool, Trouble> {
        if self.class(verb).verbs[0] != "undo" {
            return Ok(false);
        }
        // «what would undo do» asks about it.
        if let Some(asking) = clause.range.clone().find(|&i| i < at && self.items[i].is(Cue::Asking)) {
            return Err(Trouble::Unclear { words: self.said(asking..at + 1) });
        }
        let Some(tool) = self.tools.all().iter().find(|t| t.verb == "undo") else { return Ok(false) };
        let available = self.within(clause);
        if self.has(&available, |w| !matches!(w, What::Word(_) | What::Punctuation(_) | What::Lines(_))) {
            return Err(Trouble::Unclear { words: self.said(clause.range.clone()) });
        }
        for &i in &available {
            let item = &self.items[i];
            let own = item.is(Cue::OwnAct) || item.is(Cue::Last) || item.is(Cue::Pronoun) || item.past().is_some();
            let previous = item.is(Cue::Previous) || item.is(Cue::Only);
            self.used[i] |= own || previous || item.verb() == Some(verb) || matches!(item.what, What::Lines(_));
        }
        self.used[at] = true;
        let repeated = self.steps.iter().any(|s| s.tool == tool.name());
        if repeated {
            return Ok(true);
        }
        self.push(tool, Filled::default())?;
        Ok(true)
    }

    /// «run the command df -h»: a command line, word by word, never through a shell.
    pub(super) fn command(&mut self, clause: &Clause, at: usize, verb: usize) -> Result<bool, Trouble> {
        let Some(tool) = self.tools.by_grammar("create", "processes") else { return Ok(false) };
        if self.class(verb).verbs[0] != "run" {
            return Ok(false);
        }
        let folder = self.folder_of_command(clause, at);
        let end = folder.as_ref().map_or(clause.range.end, |place| place.start);
        let quoted = (at + 1..end).find_map(|i| match &self.items[i].what {
            What::Quoted(text) | What::Path { value: text, quoted: true, .. } => Some((i, text.clone())),
            _ => None,
        });
        let label = (at + 1..end).find(|&i| self.items[i].is(Cue::Command));
        let is_quoted = quoted.is_some();
        let (start, line) = match (quoted, label) {
            (Some(quoted), _) => quoted,
            (None, label) => {
                let from = label.unwrap_or(at) + 1;
                if from >= end {
                    return Err(Trouble::Missing {
                        role: Role::Option,
                        argument: "argv".to_owned(),
                        tool: tool.name().to_owned(),
                    });
                }
                // «start the washing machine»: a noun with its article is no command line.
                if label.is_none() && self.items[from].is(Cue::Determiner) {
                    return Ok(false);
                }
                (from, self.text[self.items[from].start..self.items[end - 1].end].to_owned())
            }
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() || line.contains(['|', '>', '<', ';', '&', '$', '`', '"', '\'', '\\', '*', '?']) {
            return Err(Trouble::Unclear { words: line });
        }
        let mut filled = Filled::default();
        filled.set("argv", json!(words), self.items, start);
        filled.used.extend(start..if is_quoted { start + 1 } else { end });
        if let Some(place) = folder {
            let at = place.end - 1;
            if let What::Path { value, .. } = &self.items[at].what {
                filled.set("folder", json!(value), self.items, at);
            }
            filled.used.extend(place);
        }
        filled.used.push(at);
        filled.used.extend(label);
        self.push(tool, filled)?;
        Ok(true)
    }

    /// «… in the folder ~/x» at the end of a command: where it is to run, by the first word of that to its last.
    fn folder_of_command(&self, clause: &Clause, at: usize) -> Option<Range<usize>> {
        let last = clause.range.clone().next_back()?;
        if !matches!(self.items[last].what, What::Path { looks: Looks::Folder | Looks::Either, .. }) {
            return None;
        }
        let is_article = |item: &Item| item.is(Cue::Determiner) && !item.is(Cue::Inside);
        let is_between = |i: &usize| is_article(&self.items[*i]) || self.names(&self.items[*i], "dirs");
        let inside = (at + 1..last).rev().find(|i| !is_between(i))?;
        self.items[inside].is(Cue::Inside).then_some(inside..last + 1)
    }
}
