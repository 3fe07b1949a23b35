//! Acts that only read: which executor takes most of what was said.
//!
//! By name grammar, then by sentence templates, then by the pre-filter; what picks something out of a text is planned in
//! `selection`.

use serde_json::{Value, json};

use super::super::fill::{Filled, fill, is_depth, is_label, path};
use super::super::items::{Item, What};
use super::super::lexicon::{Cue, Sense};
use super::super::lift::Looks;
use super::super::tools::Indexed;
use super::{Builder, Clause, Trouble};
use crate::manifest::Role;
use crate::plan::Origin;

impl<'a> Builder<'a> {
    pub(super) fn reading(&mut self, clause: &Clause) -> Result<(), Trouble> {
        const LOOKS: [&str; 6] = ["read", "get", "find", "list", "filter", "extract"];
        for &(at, verb) in &clause.verbs {
            let looks = self.class(verb).verbs.iter().any(|v| LOOKS.contains(&v.as_str()));
            let told = clause.counts && self.acts(verb);
            self.used[at] |= (looks && !self.acts(verb)) || told;
        }
        let available: Vec<usize> = clause.range.clone().filter(|&at| !self.negated[at]).collect();
        if self.question(clause, &available)? || self.records(clause, &available)? {
            return Ok(());
        }
        if self.selection(clause, &available)? {
            return Ok(());
        }
        if self.refers_back(clause, &available) {
            return Ok(());
        }
        if self.download(clause, &available)? {
            return Ok(());
        }
        if self.look_up(&available)? || self.listing(clause, &available)? {
            return Ok(());
        }
        // An unknown verb may be an executor's own word.
        let strange = clause.verbs.iter().all(|&(_, v)| self.class(v).weak)
            && available.iter().any(|&at| self.items[at].is_unknown());
        let own = strange || clause.verbs.iter().any(|&(at, _)| self.is_in_no_lexicon(at));
        let is_meant = |(tool, _): &(&Indexed, Filled)| strange || !tool.is_seed();
        if let Some((tool, filled)) = own.then(|| self.by_own_sentence(clause)).flatten().filter(is_meant) {
            self.is_own = self.steps.is_empty() && !tool.is_seed();
            return self.push(tool, filled);
        }
        if self.data_of_many(clause, &available)? {
            return Ok(());
        }
        if let Some(tool) = self.reading_tool(clause, &available) {
            // Its own sentence says which numbers are which: «pages 3 to 6 of ~/a.pdf».
            let counts = |(own, filled): &(&Indexed, Filled)| {
                own.name() == tool.name() && filled.args.keys().any(|a| own.role(a) == Some(Role::Count))
            };
            if let Some((own, filled)) = self.by_template(clause).filter(counts) {
                return self.push(own, filled);
            }
            return self.read_with(tool, clause, &available);
        }
        if let Some((tool, filled)) = self.by_template(clause) {
            return self.push(tool, filled);
        }
        if let Some(tool) = self.by_rank() {
            return self.read_with(tool, clause, &available);
        }
        let words = self.said(clause.range.clone());
        let bare = |&at: &usize| {
            self.items[at].is_noise() || self.items[at].is_punctuation() || self.items[at].verb().is_some()
        };
        if self.steps.is_empty() && !clause.verbs.is_empty() && available.iter().all(bare) {
            let tool = self.ranking.candidates.first().map_or_else(String::new, |c| c.tool.clone());
            return Err(if clause.pronoun {
                Trouble::NoAntecedent
            } else {
                Trouble::Missing { role: Role::Path, argument: "paths".to_owned(), tool }
            });
        }
        Err(if self.steps.is_empty() { Trouble::NoTool { words } } else { Trouble::Unclear { words } })
    }

    /// «when were the photos in ~/x taken»: data of files that are looked for first.
    fn data_of_many(&mut self, clause: &Clause, available: &[usize]) -> Result<bool, Trouble> {
        let data = |s: &Sense| matches!(s, Sense::Setting(i) if self.lexicons.settings[*i].argument == "fields");
        let asked: Vec<usize> =
            available.iter().copied().filter(|&at| self.items[at].senses().iter().any(data)).collect();
        let (Some(finder), Some(tool)) =
            (self.tools.by_grammar("find", "files"), self.tools.by_grammar("get", "files"))
        else {
            return Ok(false);
        };
        let many = self.has(available, |w| matches!(w, What::Globs { .. })) || self.many_in_folder(finder, available);
        if asked.is_empty() || !many {
            return Ok(false);
        }
        let rest: Vec<usize> = available.iter().copied().filter(|at| !asked.contains(at)).collect();
        let found = fill(self.lexicons, finder, self.items, &rest, None);
        self.push(finder, found)?;
        // The last thing that is asked says most: «when were they taken».
        let last = asked[asked.len() - 1];
        let mut filled = fill(self.lexicons, tool, self.items, &[last], None);
        filled.refer("entries", self.last(), "");
        filled.used.extend(asked);
        self.push(tool, filled)?;
        self.explain_entries(clause, available);
        Ok(true)
    }

    /// A question about what was done or found before («how many bytes you wrote»): no step of its own.
    pub(super) fn refers_back(&self, clause: &Clause, available: &[usize]) -> bool {
        if self.steps.is_empty() {
            return false;
        }
        let spans = available.iter().any(|&at| !self.items[at].is_word() && !self.items[at].is_punctuation());
        let measured = available.iter().any(|&at| {
            self.items[at].measure().is_some() || (self.items[at].past().is_some() && self.items[at].verb().is_none())
        });
        let idle = available.iter().all(|&at| {
            self.items[at].is_noise()
                || self.items[at].is(Cue::Pronoun)
                || self.used[at]
                || self.items[at].is_punctuation()
                || self.items[at].is(Cue::HowMany)
                || self.items[at].is(Cue::Only)
        });
        let weak = clause.counts || clause.verbs.iter().all(|&(_, v)| self.class(v).weak || !self.acts(v));
        let counted = clause.counts && available.iter().all(|&at| self.items[at].is_word());
        let told = clause.counts || clause.verbs.iter().all(|&(_, v)| self.class(v).weak);
        !spans && weak && (measured || (idle && told) || counted)
    }

    /// «download URL to FILE»: what is fetched is written to the path that a word of direction introduces.
    pub(super) fn download(&mut self, clause: &Clause, available: &[usize]) -> Result<bool, Trouble> {
        let strong = clause.verbs.iter().find(|&&(_, v)| !self.class(v).weak && self.class(v).verbs[0] == "get");
        let urls: Vec<usize> =
            available.iter().copied().filter(|&at| matches!(self.items[at].what, What::Url(_))).collect();
        let paths: Vec<usize> = available.iter().copied().filter(|&at| path(&self.items[at]).is_some()).collect();
        let (Some(&(verb, _)), [target], false) = (strong, paths.as_slice(), urls.is_empty()) else { return Ok(false) };
        let directed = target.checked_sub(1).is_some_and(|before| self.items[before].is(Cue::Into))
            || fill_label(self.items, *target);
        let (Some(getter), Some(writer)) =
            (self.tools.by_grammar("get", "urls"), self.tools.by_grammar("write", "files"))
        else {
            return Ok(false);
        };
        if !directed || *target < verb {
            return Ok(false);
        }
        let got = fill(self.lexicons, getter, self.items, &urls, None);
        self.push(getter, got)?;
        let mut filled = fill(self.lexicons, writer, self.items, &self.unused(available), Some(*target));
        let Some(content) = writer.with_role(Role::Content).next() else { return Ok(false) };
        self.refer_content(writer, content, clause, &mut filled)?;
        self.push(writer, filled)?;
        Ok(true)
    }

    /// Whether one file exists and how large it is comes from looking it up by name in its folder, never from reading it.
    /// False when that is not asked.
    pub(super) fn look_up(&mut self, available: &[usize]) -> Result<bool, Trouble> {
        let by_find = |at: &usize| {
            self.items[*at].measure().is_some_and(|m| self.lexicons.measures[m].fields.contains_key("find"))
        };
        let paths: Vec<usize> = available.iter().copied().filter(|&at| path(&self.items[at]).is_some()).collect();
        let [at] = paths.as_slice() else { return Ok(false) };
        let file = path(&self.items[*at]).is_some_and(|(_, looks)| looks == Looks::File);
        let sought = |at: &usize| {
            self.items[*at].verb().is_some_and(|v| self.class(v).verbs[0] == "find" && !self.class(v).counts)
        };
        let lifted = |at: &usize| !self.items[*at].is_word() && !self.items[*at].is_punctuation();
        let only_path = available.iter().filter(|at| lifted(at)).count() == 1;
        let exists = file && only_path && available.iter().any(sought);
        if !exists && !available.iter().any(by_find) {
            return Ok(false);
        }
        let Some(tool) = self.tools.by_grammar("find", "files") else { return Ok(false) };
        let Some((value, looks)) = path(&self.items[*at]) else { return Ok(false) };
        let (Some(place), Some(names)) = (tool.with_role(Role::Path).next(), tool.with_role(Role::Pattern).next())
        else {
            return Ok(false);
        };
        let mut filled = Filled::default();
        match value.rsplit_once('/') {
            _ if looks != Looks::File => filled.set(place, json!(value), self.items, *at),
            Some((folder, name)) if !name.contains(['*', '?', '[']) => {
                filled.set(place, json!(if folder.is_empty() { "/" } else { folder }), self.items, *at);
                filled.add(tool, names, json!(name), self.items, *at);
                if tool.accepts("recursive", &json!(false)) {
                    filled.args.insert("recursive".to_owned(), json!(false));
                    filled.provenance.insert("/recursive".to_owned(), Origin::Default);
                }
            }
            _ => return Ok(false),
        }
        self.push(tool, filled)?;
        Ok(true)
    }

    /// «where did I put notes.txt»: a file by its name alone is looked for in the person's home.
    fn anywhere(&self, tool: &Indexed, clause: &Clause, available: &[usize], filled: &mut Filled) {
        let seeks = clause.verbs.iter().any(|&(_, v)| self.class(v).verbs[0] == "find" && !self.class(v).counts);
        let Some(place) = tool.with_role(Role::Path).next().filter(|a| !tool.is_list(a)) else { return };
        let Some(names) = tool.with_role(Role::Pattern).next() else { return };
        let bare = available.iter().copied().find(|&at| {
            path(&self.items[at]).is_some_and(|(value, looks)| looks == Looks::File && !value.contains('/'))
        });
        let elsewhere = filled.args.get(place).is_some_and(|v| v.as_str().is_some_and(|v| v.contains('/')));
        let Some(at) = bare.filter(|_| seeks && tool.verb == "find" && !elsewhere) else { return };
        let Some((name, _)) = path(&self.items[at]) else { return };
        filled.args.insert(place.to_owned(), json!("~"));
        filled.provenance.insert(format!("/{place}"), Origin::Default);
        filled.args.remove(names);
        filled.add(tool, names, json!(name), self.items, at);
    }

    /// «what's in ~/x», «ls ~/x»: what lies in one folder, and nothing that narrows it.
    pub(super) fn listing(&mut self, clause: &Clause, available: &[usize]) -> Result<bool, Trouble> {
        let Some(tool) = self.tools.by_grammar("list", "dirs") else { return Ok(false) };
        let lists = |&(_, v): &(usize, usize)| {
            let class = self.class(v);
            !class.counts && (class.weak || class.verbs[0] == "list")
        };
        let paths: Vec<usize> = available.iter().copied().filter(|&at| path(&self.items[at]).is_some()).collect();
        let [at] = *paths.as_slice() else { return Ok(false) };
        let folder = path(&self.items[at]).is_some_and(|(_, looks)| looks != Looks::File);
        let plain = available.iter().all(|&i| {
            let item = &self.items[i];
            let set = item.senses().iter().any(|s| matches!(s, Sense::Setting(_) | Sense::Measure(_)));
            let noun = item.object().is_some() && !is_label(self.items, i) && !item.is_noise() && item.verb().is_none();
            i == at || ((item.is_word() || item.is_punctuation()) && !set && !noun && !item.is(Cue::Contains))
        });
        if !folder || !plain || clause.counts || clause.verbs.is_empty() || !clause.verbs.iter().all(lists) {
            return Ok(false);
        }
        let filled = fill(self.lexicons, tool, self.items, &[at], None);
        self.push(tool, filled)?;
        for &i in available {
            self.used[i] |= is_label(self.items, i) && self.items[i].object().is_some();
        }
        Ok(true)
    }

    /// Chooses among verbs and objects the executor that can take most of what was lifted.
    pub(super) fn reading_tool(&self, clause: &Clause, available: &[usize]) -> Option<&'a Indexed> {
        let mut verbs: Vec<&str> =
            clause.verbs.iter().flat_map(|&(_, v)| self.class(v).verbs.iter().map(String::as_str)).collect();
        let weak = clause.verbs.iter().all(|&(_, v)| self.class(v).weak);
        if weak {
            verbs.extend(["read", "get", "list", "find"]);
        } else if verbs.first() == Some(&"get") && self.has(available, |w| matches!(w, What::Globs { .. })) {
            verbs.push("find");
        }
        let folder = available.iter().any(|&at| path(&self.items[at]).is_some_and(|(_, l)| l != Looks::File));
        let file = available.iter().any(|&at| path(&self.items[at]).is_some_and(|(_, l)| l == Looks::File));
        let mut objects: Vec<&str> = available
            .iter()
            .filter(|&&at| !is_label(self.items, at) && !is_depth(self.items, at))
            .filter_map(|&at| self.items[at].object())
            .map(|o| self.lexicons.objects[o].as_str())
            .collect();
        if objects.is_empty() && clause.pronoun {
            objects.extend(self.steps.last().and_then(|s| self.tools.indexed(&s.tool)).map(|t| t.object.as_str()));
        }
        let named = available.iter().any(|&at| at > 0 && self.items[at - 1].is(Cue::Named));
        let several = available.iter().filter(|&&at| path(&self.items[at]).is_some()).count() > 1;
        let implied = [
            (self.has(available, |w| matches!(w, What::Url(_))), "urls"),
            (
                self.has(available, |w| matches!(w, What::Path { .. } | What::Globs { .. } | What::Bound { .. })),
                "files",
            ),
            (self.has(available, |w| matches!(w, What::Zone(_))), "now"),
        ];
        objects.extend(implied.into_iter().filter_map(|(there, object)| there.then_some(object)));
        // Folders are listed by the executor that lists files where there is none of their own.
        if objects.contains(&"dirs") {
            objects.push("files");
        }
        let mut seen = Vec::new();
        objects.retain(|object| {
            let first = !seen.contains(object);
            if first {
                seen.push(*object);
            }
            first
        });
        let pdf =
            |&at: &usize| path(&self.items[at]).is_none_or(|(value, _)| value.to_ascii_lowercase().ends_with(".pdf"));
        if file && available.iter().all(pdf) && verbs.contains(&"read") {
            objects.insert(0, "files_pdf");
        }
        let mut best: Option<(usize, &'a Indexed)> = None;
        for verb in &verbs {
            for object in &objects {
                let Some(tool) = self.tools.by_grammar(verb, object) else { continue };
                // Data of files is its own question; here what is in them is meant.
                if (named && several && tool.verb == "read")
                    || (tool.verb == "get" && tool.object == "files")
                    || (tool.verb == "list" && tool.object == "dirs")
                {
                    continue;
                }
                let misfit = (weak && tool.verb == "read" && folder && !file)
                    || (matches!(tool.verb.as_str(), "find" | "list") && file && !folder && weak);
                let takes =
                    fill(self.lexicons, tool, self.items, available, None).used.len() * 2 + usize::from(!misfit);
                if best.is_none_or(|(most, _)| takes > most) {
                    best = Some((takes, tool));
                }
            }
        }
        best.map(|(_, tool)| tool)
    }

    /// The executor whose own sentence a whole clause is. One that acts is meant by nothing less.
    pub(super) fn by_own_sentence(&self, clause: &Clause) -> Option<(&'a Indexed, Filled)> {
        self.templated(clause, |_| true)
    }

    pub(super) fn by_template(&self, clause: &Clause) -> Option<(&'a Indexed, Filled)> {
        self.templated(clause, |tool| !tool.acts())
    }

    /// The first of these executors that has a sentence for a whole clause. To one that was added, «the file» before a file
    /// says nothing more.
    pub(super) fn templated(
        &self,
        clause: &Clause,
        is_meant: impl Fn(&Indexed) -> bool,
    ) -> Option<(&'a Indexed, Filled)> {
        let items = &self.items[clause.range.clone()];
        for tool in self.tools.all().iter().filter(|tool| is_meant(tool)) {
            let fills = |at: usize| tool.is_added() && items[at].object().is_some() && is_label(items, at);
            for said in &tool.said {
                let accepts = |name: &str, item: &Item| self.slot(tool, name, item).is_some();
                let Some(found) = said.template.matches(self.lexicons, items, accepts, fills) else { continue };
                let mut filled = Filled::default();
                for (slot, at) in found.slots {
                    let value = self.slot(tool, &slot, &items[at])?;
                    filled.add(tool, &slot, value, self.items, clause.range.start + at);
                }
                for (argument, value) in &said.set {
                    filled.args.entry(argument.clone()).or_insert_with(|| {
                        filled.provenance.insert(format!("/{argument}"), Origin::Default);
                        value.clone()
                    });
                }
                filled.used.extend(found.explained.iter().map(|at| clause.range.start + at));
                let consumes = tool.with_role(Role::Entries).chain(tool.with_role(Role::Text)).next().is_some();
                let fed = filled.args.keys().any(|a| {
                    matches!(tool.role(a), Some(Role::Entries | Role::Text | Role::Path | Role::Url | Role::TargetPath))
                });
                if !tool.missing(&filled.args).is_empty() || (consumes && !fed) {
                    continue;
                }
                return Some((tool, filled));
            }
        }
        None
    }

    /// The value that an item gives to an argument, where its kind fits the argument's role.
    pub(super) fn slot(&self, tool: &Indexed, argument: &str, item: &Item) -> Option<Value> {
        let role = tool.role(argument).unwrap_or(Role::Option);
        let value = match (&item.what, role) {
            (What::Path { value, .. }, Role::Path | Role::TargetPath) => json!(value),
            (What::Url(url), Role::Url) => json!(url),
            (What::Zone(zone), Role::Timezone) => json!(zone),
            (What::Number(n), Role::Count | Role::Option | Role::Size) => json!(n),
            (
                What::Quoted(text),
                Role::Content | Role::Field | Role::Option | Role::Pattern | Role::Text | Role::Id,
            ) => json!(text),
            (What::Email(address), Role::Recipient | Role::Id) => json!(address),
            (What::Word(senses), Role::Field | Role::Option | Role::Id) if senses.is_empty() => {
                json!(self.text[item.start..item.end])
            }
            _ => return None,
        };
        let list = json!([value]);
        (tool.accepts(argument, &value) || tool.accepts(argument, &list)).then_some(value)
    }

    /// The pre-filter's first, where it leads clearly and only reads.
    pub(super) fn by_rank(&self) -> Option<&'a Indexed> {
        let first =
            self.ranking.candidates.first().filter(|c| c.score >= 10 && self.ranking.confidence_permille >= 300)?;
        self.tools.indexed(&first.tool).filter(|t| !t.acts())
    }

    pub(super) fn read_with(&mut self, tool: &'a Indexed, clause: &Clause, available: &[usize]) -> Result<(), Trouble> {
        // «how many files does ~/docs contain»: nothing follows that would be looked for.
        for &at in available {
            let next = self.items.get(at + 1);
            let idle = next.is_none_or(|i| {
                i.is_punctuation() || i.is(Cue::Inside) || i.senses().iter().any(|s| matches!(s, Sense::Setting(_)))
            });
            self.used[at] |= self.items[at].is(Cue::Contains) && idle;
        }
        for &at in available {
            let picks = self.items[at].is(Cue::First) || self.items[at].is(Cue::Last);
            let line = tool.verb == "read" && (picks || self.names(&self.items[at], "texts_lines"));
            if tool.speaks_of(&self.items[at].folded) && !self.items[at].is(Cue::Restriction) && !line {
                self.used[at] = true;
            }
        }
        if tool.with_role(Role::Entries).next().is_some() {
            if tool.verb == "read" {
                let whole = ["text", "testo", "contents", "content", "contenuto", "contenuti", "body"];
                for &at in available {
                    self.used[at] |= whole.contains(&self.items[at].folded.as_str());
                }
            }
            return self.over_entries(tool, clause, available, None);
        }
        let mut filled = fill(self.lexicons, tool, self.items, available, None);
        self.anywhere(tool, clause, available, &mut filled);
        if let Some(text) = tool.with_role(Role::Text).next().filter(|a| !filled.args.contains_key(*a)) {
            self.refer_content(tool, text, clause, &mut filled)?;
        }
        self.push(tool, filled)
    }
}

/// «to the file ~/a.txt»: a noun stands between the word of direction and the path.
fn fill_label(items: &[Item], target: usize) -> bool {
    items[..target]
        .iter()
        .rev()
        .take(4)
        .find(|i| i.object().is_none() && (i.is(Cue::Into) || !i.is(Cue::Determiner)))
        .is_some_and(|i| i.is(Cue::Into))
}
