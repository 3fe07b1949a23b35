//! Pipelines over entries: where they come from, then conditions, groups, totals and an order, each by the executor that does it.
//!
//! A clause without a source of its own goes on with what the last step gave. What is wanted is read in `wanted`.

use serde_json::{Value, json};

use super::super::fill::{Filled, fill, path};
use super::super::items::What;
use super::super::lexicon::{Cue, Sense};
use super::super::lift::{Looks, byte};
use super::super::tools::Indexed;
use super::wanted::{Kind, Total, Wanted};
use super::{Builder, Clause, Trouble};
use crate::plan::Origin;

/// Where a clause's entries come from.
enum Source<'a> {
    /// An executor, over these items.
    Tool(&'a Indexed, Vec<usize>),
    /// The last step.
    Earlier,
}

impl<'a> Builder<'a> {
    /// Plans entries and what is done to them. False when the clause does not speak of entries.
    pub(super) fn records(&mut self, clause: &Clause, available: &[usize]) -> Result<bool, Trouble> {
        let Some((kind, source)) = self.entries_source(clause, available) else { return Ok(false) };
        let wanted = self.wanted(clause, available, kind);
        let shown = |&at: &usize| self.items[at].is(Cue::Column) || self.items[at].is(Cue::Table);
        let tabular = kind == Kind::Rows && (clause.counts || available.iter().any(shown));
        let describes = clause.verbs.iter().any(|&(_, v)| self.class(v).verbs[0] == "describe");
        let format = self.format(available);
        let forced = (kind == Kind::Processes && matches!(source, Source::Tool(..))) || describes || format.is_some();
        if wanted.is_empty() && !tabular && !forced {
            return Ok(false);
        }
        let lonely = wanted.order.is_none() && wanted.groups.is_empty() && wanted.totals.is_empty();
        if kind == Kind::Rows
            && wanted.top.is_some()
            && lonely
            && wanted.conditions.is_empty()
            && matches!(source, Source::Tool(..))
        {
            return Ok(false);
        }
        match source {
            Source::Tool(tool, items) => self.bring_entries(tool, &items, available, &wanted)?,
            Source::Earlier => self.as_rows(),
        }
        self.stages(kind, &wanted, clause)?;
        if describes {
            self.stage("describe", &[], &Origin::Default, clause)?;
        } else if let Some((format, at)) = format {
            let origin = self.origin(&[at]);
            let mut args = vec![("format", format)];
            args.extend(
                self.columns_from().map(|step| ("columns", json!(format!("{{{{step{step}.metadata.columns}}}}")))),
            );
            self.stage("render", &args, &origin, clause)?;
            self.used[at] = true;
        }
        self.explain_entries(clause, available);
        Ok(true)
    }

    /// How the entries are to be shown, and the item that says so.
    fn format(&self, available: &[usize]) -> Option<(Value, usize)> {
        available.iter().find_map(|&at| {
            self.items[at].senses().iter().find_map(|s| match s {
                Sense::Setting(i) if self.lexicons.settings[*i].argument == "format" => {
                    Some((self.lexicons.settings[*i].value.clone(), at))
                }
                _ => None,
            })
        })
    }

    /// The kind of entries that the clause speaks of, and where they come from.
    fn entries_source(&self, clause: &Clause, available: &[usize]) -> Option<(Kind, Source<'a>)> {
        let paths: Vec<usize> = available.iter().copied().filter(|&at| path(&self.items[at]).is_some()).collect();
        let globs: Vec<usize> =
            available.iter().copied().filter(|&at| matches!(self.items[at].what, What::Globs { .. })).collect();
        let url = self.has(available, |w| matches!(w, What::Url(_)));
        let processes = self.nouns(available).any(|n| n == "processes")
            || (paths.is_empty() && !url && (self.speaks_of_load(available) || self.is_running(clause, available)));
        if processes && paths.is_empty() {
            let tool = ["get", "list", "find"].iter().find_map(|v| self.tools.by_grammar(v, "processes"))?;
            let rest = available.iter().copied().filter(|&at| self.items[at].is_word()).collect();
            return Some((Kind::Processes, Source::Tool(tool, rest)));
        }
        if url {
            return None;
        }
        let table = |&at: &usize| path(&self.items[at]).is_some_and(|(value, _)| is_table(value));
        if !paths.is_empty() && paths.iter().all(table) {
            let tool = self.tools.by_grammar("read", "files_csv")?;
            return Some((Kind::Rows, Source::Tool(tool, paths)));
        }
        // «~/Expenses/*.csv»: the rows of all of them, where the words want rows.
        let rows = |w: &What| matches!(w, What::Globs { base: Some(_), globs } if globs.iter().all(|g| is_table(g)));
        let wants_rows = available.iter().any(|&at| {
            let item = &self.items[at];
            item.is(Cue::Column) || item.senses().iter().any(|s| matches!(s, Sense::Aggregate(_)))
        });
        if paths.is_empty() && wants_rows && globs.len() == 1 && self.has(&globs, rows) {
            let tool = self.tools.by_grammar("read", "files_csv")?;
            return Some((Kind::Rows, Source::Tool(tool, globs)));
        }
        let files = |&at: &usize| path(&self.items[at]).is_some_and(|(_, looks)| looks == Looks::File);
        if paths.len() > 1 && paths.iter().all(files) && globs.is_empty() {
            let ordered = |&at: &usize| self.items[at].senses().iter().any(|s| matches!(s, Sense::Order(_)));
            let tool = self.tools.by_grammar("get", "files").filter(|_| available.iter().any(ordered))?;
            return Some((Kind::Files, Source::Tool(tool, paths)));
        }
        let folder = paths.iter().any(|&at| path(&self.items[at]).is_some_and(|(_, looks)| looks != Looks::File));
        let named = self.has(&globs, |w| matches!(w, What::Globs { base: Some(_), .. }));
        if folder || named || !globs.is_empty() && paths.is_empty() && self.steps.is_empty() {
            let dirs = self.nouns(available).any(|n| n == "dirs")
                && !self.nouns(available).any(|n| n == "files")
                && globs.is_empty();
            let tool = if dirs { self.tools.by_grammar("find", "dirs") } else { None };
            let tool = tool.or_else(|| self.tools.by_grammar("find", "files"))?;
            return Some((Kind::Files, Source::Tool(tool, available.to_vec())));
        }
        let files = self.nouns(available).any(|n| n == "files") && self.steps.is_empty();
        if files && paths.is_empty() {
            return Some((Kind::Files, Source::Tool(self.tools.by_grammar("find", "files")?, available.to_vec())));
        }
        let free = paths.is_empty() && globs.is_empty();
        let kind = self.earlier_kind().filter(|_| free && !clause.range.is_empty())?;
        Some((kind, Source::Earlier))
    }

    /// «what is eating my memory»: an order that only processes have.
    fn speaks_of_load(&self, available: &[usize]) -> bool {
        let order = |s: &Sense| matches!(s, Sense::Order(o) if matches!(self.lexicons.orders[*o].by.as_str(), "memory" | "cpu"));
        let total = |s: &Sense| matches!(s, Sense::Aggregate(_));
        let field = |s: &Sense| matches!(s, Sense::Field(f) if matches!(self.lexicons.fields[*f].name.as_str(), "memory" | "cpu"));
        let consumed =
            |at: usize| (at + 1..at + 6).any(|i| self.items.get(i).is_some_and(|item| item.senses().iter().any(field)));
        let most = |at: &usize| {
            let item = &self.items[*at];
            item.is(Cue::Consumes) || item.is(Cue::Superlative) || item.senses().iter().any(total)
        };
        available.iter().any(|&at| self.items[at].senses().iter().any(order))
            || (self.steps.is_empty() && available.iter().copied().filter(most).any(consumed))
    }

    /// «is firefox running».
    fn is_running(&self, clause: &Clause, available: &[usize]) -> bool {
        let named = available.iter().any(|&at| {
            self.items[at].is_unknown()
                || matches!(self.items[at].what, What::Quoted(_) | What::Globs { base: None, .. })
        });
        let strong = clause.verbs.iter().any(|&(_, v)| !self.class(v).weak);
        named && !strong && self.steps.is_empty() && available.iter().any(|&at| self.items[at].is(Cue::Running))
    }

    /// The kind of entries that the steps so far give; none when the last gives none.
    fn earlier_kind(&self) -> Option<Kind> {
        let last = self.tools.indexed(&self.steps.last()?.tool)?;
        let text = last.verb == "read" && last.qualifier.is_empty() && self.reads_a_table();
        if !(last.gives_entries() || text) || last.acts() {
            return None;
        }
        self.steps.iter().rev().find_map(|step| {
            let tool = self.tools.indexed(&step.tool)?;
            match (tool.verb.as_str(), tool.object.as_str()) {
                (_, "processes") => Some(Kind::Processes),
                ("read" | "extract", _) => Some(Kind::Rows),
                ("find" | "list" | "get", _) => Some(Kind::Files),
                _ => None,
            }
        })
    }

    /// Whether the last step reads one table as text.
    fn reads_a_table(&self) -> bool {
        let paths = self.steps.last().and_then(|s| s.args.get("paths")).and_then(Value::as_array);
        paths.is_some_and(|paths| !paths.is_empty() && paths.iter().all(|p| p.as_str().is_some_and(is_table)))
    }

    /// «read ~/a.csv and sort it by price»: the step that reads the text reads rows instead.
    fn as_rows(&mut self) {
        if !self.reads_a_table() {
            return;
        }
        let Some(rows) = self.tools.by_grammar("read", "files_csv") else { return };
        let Some(step) = self.steps.last_mut() else { return };
        let only_paths = step.args.as_object().is_some_and(|args| args.len() == 1);
        if only_paths && self.tools.indexed(&step.tool).is_some_and(|t| t.verb == "read" && t.qualifier.is_empty()) {
            rows.name().clone_into(&mut step.tool);
        }
    }

    fn bring_entries(
        &mut self,
        tool: &'a Indexed,
        items: &[usize],
        available: &[usize],
        wanted: &Wanted,
    ) -> Result<(), Trouble> {
        let free: Vec<usize> = items.iter().copied().filter(|at| !wanted.used.contains(at)).collect();
        let mut filled = fill(self.lexicons, tool, self.items, &free, None);
        if tool.object == "processes" {
            self.name_of_process(tool, available, &mut filled);
        }
        let entries =
            tool.object == "files" && tool.verb == "read" && self.has(available, |w| matches!(w, What::Globs { .. }));
        if let Some(finder) = self.tools.by_grammar("find", "files").filter(|_| entries) {
            let found = fill(self.lexicons, finder, self.items, available, None);
            self.push(finder, found)?;
            filled.refer("entries", self.last(), "");
        }
        self.push(tool, filled)
    }

    /// «processes named firefox»: the word that is a name.
    pub(super) fn name_of_process(&mut self, tool: &Indexed, available: &[usize], filled: &mut Filled) {
        if !tool.accepts("name", &json!("x")) || filled.args.contains_key("name") {
            return;
        }
        let named = available.iter().copied().find(|&at| {
            let cue =
                at.checked_sub(1).is_some_and(|b| self.items[b].is(Cue::Named) || self.items[b].is(Cue::Contains));
            let beside = [at.checked_sub(1), at.checked_add(1)]
                .into_iter()
                .flatten()
                .any(|i| self.items.get(i).is_some_and(|item| self.names(item, "processes") || item.is(Cue::Running)));
            let running = available.iter().any(|&i| self.items[i].is(Cue::Running))
                && !self.nouns(available).any(|n| n == "processes");
            let beside = beside || running;
            let plain = self.items[at].is_unknown() || matches!(self.items[at].what, What::Globs { base: None, .. });
            plain && (cue || beside) || matches!(self.items[at].what, What::Quoted(_))
        });
        if let Some(at) = named {
            let value = match &self.items[at].what {
                What::Quoted(text) => text.clone(),
                _ => self.said(at..at + 1),
            };
            filled.set("name", json!(value), self.items, at);
            filled
                .used
                .extend(at.checked_sub(1).filter(|&b| self.items[b].is(Cue::Named) || self.items[b].is(Cue::Contains)));
        }
    }

    pub(super) fn last(&self) -> u32 {
        u32::try_from(self.steps.len()).unwrap_or(u32::MAX)
    }

    /// Adds the steps that do what is wanted to the entries of the last step.
    pub(super) fn stages(&mut self, kind: Kind, wanted: &Wanted, clause: &Clause) -> Result<(), Trouble> {
        let origin = self.origin(&wanted.used);
        if self.totals_of_groups(wanted, &origin) {
            return Ok(());
        }
        if !wanted.conditions.is_empty() {
            let wheres: Vec<Value> =
                wanted.conditions.iter().map(|c| json!({ "field": c.field, "op": c.op, "value": c.value })).collect();
            self.stage("filter", &[("where", json!(wheres))], &origin, clause)?;
        }
        if let Some((by, _)) = &wanted.class {
            self.stage("classify", &[("by", json!(by))], &origin, clause)?;
        }
        if !wanted.groups.is_empty() {
            let by = if let [only] = wanted.groups.as_slice() { json!(only) } else { json!(wanted.groups) };
            let mut args = vec![("by", by)];
            // «sum per category (columns: category, amount)»: not of what groups are made by.
            let own = |t: &Total| t.op != "count" && t.key.as_ref().is_some_and(|key| wanted.groups.contains(key));
            if kind == Kind::Rows && wanted.totals.iter().any(own) {
                return Err(Trouble::Unclear { words: self.said(clause.range.clone()) });
            }
            let totals: Vec<Value> = wanted
                .totals
                .iter()
                .map(|t| {
                    let key = t.key.clone().or_else(|| (kind == Kind::Files).then(|| "size".to_owned()));
                    key.map_or_else(|| json!({ "op": t.op }), |key| json!({ "op": t.op, "key": key }))
                })
                .collect();
            if !totals.is_empty() {
                args.push(("aggregate", json!(totals)));
            }
            // «what percentage of the amount by category»
            if let Some(at) = clause.range.clone().find(|&at| self.items[at].is(Cue::Share)) {
                args.push(("share", json!(true)));
                self.used[at] = true;
            }
            self.stage("group", &args, &origin, clause)?;
        } else if let [total] = wanted.totals.as_slice() {
            let key = total.key.clone().or_else(|| (kind == Kind::Files).then(|| "size".to_owned()));
            // «how big is the folder ~/x»: what is in it is summed, not its folders.
            let files = self.tools.by_grammar("find", "files").map(|t| t.name().to_owned());
            let dirs = self.tools.by_grammar("find", "dirs").map(|t| t.name().to_owned());
            if let (Some(step), Some(files), Some("size")) = (self.steps.last_mut(), files, key.as_deref())
                && Some(&step.tool) == dirs.as_ref()
                && step.args.get("empty").is_none()
            {
                step.tool = files;
            }
            if total.op == "describe" {
                let args: Vec<(&str, Value)> = key.map(|key| ("key", json!(key))).into_iter().collect();
                self.stage_of("describe", "numbers", &args, &origin, clause)?;
                wanted.used.iter().for_each(|&at| self.used[at] = true);
                return Ok(());
            }
            let mut args = vec![("op", json!(total.op))];
            args.extend(key.map(|key| ("key", json!(key))));
            self.stage("compute", &args, &origin, clause)?;
        } else if wanted.totals.len() > 1 {
            return Err(Trouble::OneAtATime);
        }
        self.ordered(wanted, &origin, clause)?;
        if !wanted.columns.is_empty() {
            self.stage("extract", &[("fields", json!(wanted.columns))], &origin, clause)?;
        }
        for &at in &wanted.used {
            self.used[at] = true;
        }
        Ok(())
    }

    /// «group it by category and sum the amount»: the step that groups takes the totals.
    fn totals_of_groups(&mut self, wanted: &Wanted, origin: &Origin) -> bool {
        let only_totals = wanted.groups.is_empty() && wanted.conditions.is_empty() && wanted.order.is_none();
        let grouped = self.steps.last_mut().filter(|s| s.tool.starts_with("group_"));
        let Some(step) = grouped.filter(|_| only_totals && !wanted.totals.is_empty()) else { return false };
        let Some(args) = step.args.as_object_mut().filter(|a| !a.contains_key("aggregate")) else { return false };
        let totals: Vec<Value> =
            wanted.totals.iter().map(|t| json!({ "op": t.op, "key": t.key.as_deref().unwrap_or("size") })).collect();
        args.insert("aggregate".to_owned(), json!(totals));
        step.provenance.insert("/aggregate".to_owned(), origin.clone());
        for &at in &wanted.used {
            self.used[at] = true;
        }
        true
    }

    fn ordered(&mut self, wanted: &Wanted, origin: &Origin, clause: &Clause) -> Result<(), Trouble> {
        let Some(order) = &wanted.order else {
            let Some((top, _)) = wanted.top else { return Ok(()) };
            let sorted = self.steps.last_mut().filter(|s| s.tool.starts_with("sort_"));
            if let Some(args) = sorted.as_ref().and_then(|s| s.args.as_object()).filter(|a| !a.contains_key("top")) {
                let mut args = args.clone();
                args.insert("top".to_owned(), json!(top));
                let step = self.steps.last_mut().expect("looked at above");
                step.args = Value::Object(args);
                step.provenance.insert("/top".to_owned(), origin.clone());
                return Ok(());
            }
            return self.stage("sort", &[("by", json!("name")), ("top", json!(top))], origin, clause);
        };
        let mut args = vec![("by", json!(order.by)), ("desc", json!(order.desc))];
        args.extend(wanted.top.map(|(top, _)| ("top", json!(top))));
        self.stage("sort", &args, origin, clause)
    }

    /// Adds one step over the entries of the last one.
    pub(super) fn stage(
        &mut self,
        verb: &str,
        args: &[(&str, Value)],
        origin: &Origin,
        clause: &Clause,
    ) -> Result<(), Trouble> {
        self.stage_of(verb, "entries", args, origin, clause)
    }

    fn stage_of(
        &mut self,
        verb: &str,
        object: &str,
        args: &[(&str, Value)],
        origin: &Origin,
        clause: &Clause,
    ) -> Result<(), Trouble> {
        let Some(tool) = self.tools.by_grammar(verb, object) else {
            return Err(Trouble::NoTool { words: self.said(clause.range.clone()) });
        };
        let mut filled = Filled::default();
        filled.refer("entries", self.last(), "");
        for (name, value) in args {
            let refers = value.as_str().is_some_and(|text| text.starts_with("{{"));
            let listed =
                if tool.is_list(name) && !value.is_array() && !refers { json!([value]) } else { value.clone() };
            filled.args.insert((*name).to_owned(), listed);
            filled.provenance.insert(format!("/{name}"), origin.clone());
        }
        self.push(tool, filled)
    }

    /// The bytes from the first of these items to the last.
    fn origin(&self, items: &[usize]) -> Origin {
        let start = items.iter().map(|&at| self.items[at].start).min().unwrap_or(0);
        let end = items.iter().map(|&at| self.items[at].end).max().unwrap_or(0);
        Origin::Words { start: byte(start), end: byte(end) }
    }

    /// Verbs that ask, nouns and labels are explained once entries were planned.
    pub(super) fn explain_entries(&mut self, clause: &Clause, available: &[usize]) {
        const ASKS: [&str; 12] = [
            "classify", "sort", "group", "compute", "filter", "compare", "describe", "find", "list", "get", "read",
            "extract",
        ];
        for &(at, verb) in &clause.verbs {
            self.used[at] |= ASKS.contains(&self.class(verb).verbs[0].as_str());
        }
        let sized = self.steps.iter().any(|s| s.args.get("key").is_some_and(|key| key == "size"));
        let dated = self.steps.iter().any(|s| s.args.get("by").is_some_and(|by| by.to_string().contains("modified")));
        for &at in available {
            let size = matches!(
                self.items[at].folded.as_str(),
                "small"
                    | "tiny"
                    | "little"
                    | "big"
                    | "large"
                    | "huge"
                    | "piccoli"
                    | "grandi"
                    | "grossi"
                    | "piccolo"
                    | "grande"
            );
            self.used[at] |= size && self.has(available, |w| matches!(w, What::Bound { .. }));
            self.used[at] |= dated && self.items[at].is(Cue::Modified);
            self.used[at] |=
                sized && self.items[at].senses().iter().any(|s| matches!(s, Sense::Size(_) | Sense::Field(_)));
            let running = self.items[at].is(Cue::Running);
            let noun = running
                || ["texts_lines", "entries", "files", "dirs", "processes"]
                    .iter()
                    .any(|n| self.names(&self.items[at], n));
            let label = self.items[at].is(Cue::Column) || self.items[at].is(Cue::By) || self.items[at].is(Cue::Table);
            let csv = matches!(self.items[at].folded.as_str(), "csv" | "tsv");
            let narrows = self.restricts_order(at);
            self.used[at] |= (noun || label || csv) && !narrows;
        }
    }

    /// An order or a total that nothing has honoured.
    pub(super) fn restricts_order(&self, at: usize) -> bool {
        let item = &self.items[at];
        item.senses().iter().any(|s| match s {
            Sense::Order(_) => true,
            Sense::Aggregate(_) => !item.is_noise() && item.verb().is_none(),
            _ => false,
        }) || ((item.is(Cue::Descending) || item.is(Cue::Ascending)) && !item.is_noise())
    }
}

/// Whether a path names a table of rows.
fn is_table(path: &str) -> bool {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("csv") || ending.eq_ignore_ascii_case("tsv"))
}
