//! Acts that change something: what is written, where, and over which files.
//!
//! A target is a path of the words or nothing; text is what the sentence holds or what an earlier step gives.

use std::ops::Range;

use serde_json::json;

use super::super::fill::{Filled, fill, is_label, path, words};
use super::super::items::{Item, What};
use super::super::lexicon::{Cue, Sense};
use super::super::lift::{Looks, byte};
use super::super::tools::Indexed;
use super::wanted::Kind;
use super::{Builder, Clause, Trouble};
use crate::manifest::Role;
use crate::plan::{AnswerSpec, Origin};

/// «scriveresti»: the conditional of an Italian verb asks or supposes.
fn is_hypothetical(folded: &str) -> bool {
    ["rei", "resti", "rebbe", "remmo", "reste", "rebbero"].iter().any(|ending| {
        folded.strip_suffix(ending).is_some_and(|stem| stem.ends_with(['e', 'i']) && stem.chars().count() > 3)
    })
}

impl<'a> Builder<'a> {
    pub(super) fn acting(&mut self, clause: &Clause, at: usize, verb: usize) -> Result<(), Trouble> {
        if let Some(asking) = clause.range.clone().find(|&i| i < at && self.items[i].is(Cue::Asking)) {
            return Err(Trouble::Unclear { words: self.said(asking..at + 1) });
        }
        if is_hypothetical(&self.items[at].folded) || self.forbidden.contains(&verb) {
            return Err(Trouble::Unclear { words: self.said(clause.range.clone()) });
        }
        let available = self.within(clause);
        let packs = self.acting_tool(&available, verb).is_some_and(|t| t.verb == "compress");
        let target =
            self.archive(&available).filter(|_| packs).or_else(|| self.target(&available, at).filter(|_| !packs));
        if let Some(other) = target.and_then(|target| self.second_target(&available, target)) {
            return Err(Trouble::Unclear { words: self.said(other) });
        }
        let tool = self.acting_tool(&available, verb);
        let Some(tool) = tool else {
            let bare = clause.pronoun && self.steps.is_empty() && target.is_none();
            return Err(if bare {
                Trouble::NoAntecedent
            } else {
                Trouble::NoTool { words: self.said(clause.range.clone()) }
            });
        };
        let sources: Vec<usize> = available.iter().copied().filter(|&i| Some(i) != target).collect();
        let content = tool.with_role(Role::Content).next().map(str::to_owned);
        if let Some(content) = content {
            let literal = self.literal(&available, at, target);
            let listed = literal.is_none()
                && tool.with_role(Role::Entries).next().is_some()
                && (self.bring_listed(clause, at, &sources)? || self.last_gives_entries());
            if listed {
                return self.write_entries(tool, clause, (at, verb), &available, target);
            }
            let named = self.has(&sources, |w| matches!(w, What::Path { .. } | What::Url(_)));
            if literal.is_none() && (named || self.last_gives_content()) {
                self.selection(clause, &sources)?;
            }
            let mut filled = fill(self.lexicons, tool, self.items, &self.unused(&available), target);
            self.set_mode(tool, verb, at, &mut filled);
            let literal_used = literal.is_some();
            if let Some((value, origin, items)) = literal {
                filled.args.insert(content.clone(), json!(value));
                filled.provenance.insert(format!("/{content}"), origin);
                filled.used.extend(items);
            }
            if !filled.args.contains_key(&content) {
                self.refer_content(tool, &content, clause, &mut filled)?;
            }
            self.used[at] = true;
            if literal_used {
                self.explain_labels(&available);
            }
            for &(weak, verb) in &clause.verbs {
                self.used[weak] |= self.class(verb).weak;
            }
            return self.push(tool, filled);
        }
        self.used[at] = true;
        self.over_entries(tool, clause, &available, target)
    }

    /// «save the list of files in ~/x to …»: what is written are entries, which are planned first. False when it is text.
    fn bring_listed(&mut self, clause: &Clause, act: usize, sources: &[usize]) -> Result<bool, Trouble> {
        let links = sources.iter().any(|&at| {
            self.items[at].form().is_some_and(|(form, _)| self.lexicons.forms[form] == "url")
                && !is_label(self.items, at)
        });
        if links && self.as_links() {
            for &at in sources {
                self.used[at] |= self.items[at].form().is_some();
            }
            return Ok(true);
        }
        let verbs: Vec<(usize, usize)> = clause.verbs.iter().copied().filter(|&(at, _)| at != act).collect();
        let lists = verbs.iter().any(|&(_, v)| matches!(self.class(v).verbs[0].as_str(), "list" | "find"));
        let noun = |&at: &usize| {
            let plural = ["files", "dirs", "processes"].iter().any(|n| self.names(&self.items[at], n));
            plural && !is_label(self.items, at)
        };
        let folder = |&at: &usize| path(&self.items[at]).is_some_and(|(_, looks)| looks != Looks::File);
        let table =
            |&at: &usize| path(&self.items[at]).is_some_and(|(value, _)| value.to_ascii_lowercase().ends_with(".csv"));
        let narrowed =
            self.has(sources, |w| matches!(w, What::Globs { .. } | What::Bound { .. } | What::Window { .. }));
        let place = sources.iter().any(|at| folder(at)) || narrowed;
        let url = self.has(sources, |w| matches!(w, What::Url(_)));
        let processes = self.nouns(sources).any(|n| n == "processes");
        let url = url && links;
        let files = place && (lists || narrowed || sources.iter().any(noun));
        let sub = Clause { range: clause.range.clone(), verbs, counts: false, pronoun: false };
        let rows = sources.iter().any(table) && !self.wanted(&sub, sources, Kind::Rows).is_empty();
        if !(files || url || processes || rows) {
            return Ok(false);
        }
        if self.question(&sub, sources)? || self.records(&sub, sources)? {
            return Ok(self.last_gives_entries());
        }
        let Some(finder) = self.tools.by_grammar("find", "files").filter(|_| files) else { return Ok(false) };
        let filled = fill(self.lexicons, finder, self.items, sources, None);
        self.push(finder, filled)?;
        self.explain_entries(&sub, sources);
        Ok(true)
    }

    /// «fetch the page … and save the links»: the step that fetches reads the links instead.
    fn as_links(&mut self) -> bool {
        let Some(tool) = self.tools.by_grammar("read", "urls_html") else { return false };
        let Some(step) = self.steps.last_mut().filter(|s| s.tool == "get_urls" || s.tool == tool.name()) else {
            return false;
        };
        let Some(args) = step.args.as_object_mut().filter(|a| a.len() == 1) else { return false };
        args.insert("what".to_owned(), json!("links"));
        step.provenance.insert("/what".to_owned(), Origin::Default);
        tool.name().clone_into(&mut step.tool);
        true
    }

    /// Whether the last step gives entries rather than one text.
    fn last_gives_entries(&self) -> bool {
        self.steps.last().is_some_and(|step| {
            let links = step.args.get("what").is_some_and(|what| what == "links");
            links
                || self.tools.indexed(&step.tool).is_some_and(|t| {
                    t.gives_entries() && t.verb != "extract" && t.verb != "compare" && t.object != "texts"
                })
        })
    }

    /// Writes the entries of the last step, in the columns of the table that they came from.
    fn write_entries(
        &mut self,
        tool: &Indexed,
        clause: &Clause,
        (at, verb): (usize, usize),
        available: &[usize],
        target: Option<usize>,
    ) -> Result<(), Trouble> {
        let words: Vec<usize> =
            self.unused(available).into_iter().filter(|&i| Some(i) == target || self.items[i].is_word()).collect();
        let mut filled = fill(self.lexicons, tool, self.items, &words, target);
        self.set_mode(tool, verb, at, &mut filled);
        // «how many are there? write it to …»: the number, not what was counted.
        if self.answer == AnswerSpec::Count && clause.pronoun {
            self.stage("compute", &[("op", json!("count"))], &Origin::Default, clause)?;
            self.answer = AnswerSpec::Result;
            self.used[at] = true;
            filled.refer("content", self.last(), "content");
            return self.push(tool, filled);
        }
        filled.refer("entries", self.last(), "");
        let named = available.iter().copied().find(|&i| {
            let field = self.items[i].senses().iter().any(|s| matches!(s, Sense::Field(_)));
            field && !self.used[i] && self.items.get(i + 1).is_some_and(|n| n.is(Cue::From))
        });
        let field = named.and_then(|i| {
            self.items[i].senses().iter().find_map(|s| match s {
                Sense::Field(f) => Some((self.lexicons.fields[*f].name.clone(), i)),
                _ => None,
            })
        });
        if let Some((name, i)) = field {
            filled.add(tool, "columns", json!(name), self.items, i);
        } else if let Some(step) = self.columns_from() {
            filled.refer("columns", step, "metadata.columns");
        }
        self.used[at] = true;
        for &(weak, v) in &clause.verbs {
            self.used[weak] |= self.class(v).weak || self.class(v).verbs[0] == "list";
        }
        self.explain_entries(clause, available);
        self.push(tool, filled)
    }

    /// The step that read the table whose columns the last step's entries still have.
    pub(super) fn columns_from(&self) -> Option<u32> {
        let kept = |verb: &str| matches!(verb, "filter" | "sort" | "classify");
        let mut at = self.steps.len();
        loop {
            let step = self.steps.get(at.checked_sub(1)?)?;
            let tool = self.tools.indexed(&step.tool)?;
            if tool.verb == "read" && tool.qualifier == "csv" {
                return u32::try_from(at).ok();
            }
            if !kept(&tool.verb) {
                return None;
            }
            at = usize::try_from(step.args.get("from_step")?.as_u64()?).ok()?;
        }
    }

    /// «the words», «la riga», «with»: labels of a text that was given word for word.
    pub(super) fn explain_labels(&mut self, available: &[usize]) {
        self.explain_nouns(available);
        for &at in available {
            let quoted = self
                .items
                .get(at + 1)
                .is_some_and(|i| matches!(i.what, What::Quoted(_) | What::Path { quoted: true, .. }));
            self.used[at] |= self.items[at].is(Cue::Contains) && quoted;
        }
    }

    pub(super) fn unused(&self, available: &[usize]) -> Vec<usize> {
        available.iter().copied().filter(|&at| !self.used[at]).collect()
    }

    /// The executor of an act: by verb and the nouns said; what the spans imply counts only where no noun was said.
    pub(super) fn acting_tool(&self, available: &[usize], verb: usize) -> Option<&'a Indexed> {
        let nouns: Vec<&str> =
            self.nouns(available).filter(|n| !n.starts_with("texts") && *n != "entries" && *n != "urls").collect();
        let class = self.class(verb);
        let implied = [class.object.as_deref().unwrap_or("files")];
        let objects: &[&str] = if nouns.is_empty() || class.object.is_some() { &implied } else { &nouns };
        let verbs = &class.verbs;
        // A command line is its own question.
        let runs = |t: &&'a Indexed| !(t.verb == "create" && t.object == "processes");
        let archives = nouns.contains(&"archives") && matches!(verbs[0].as_str(), "create" | "write" | "compress");
        if let Some(tool) = self.tools.by_grammar("compress", "files").filter(|_| archives) {
            return Some(tool);
        }
        let tool = verbs.iter().find_map(|v| objects.iter().find_map(|o| self.tools.by_grammar(v, o).filter(runs)));
        // «save the list of the processes»: what is written about need not be files.
        let about = nouns.contains(&"processes") && verbs[0] == "write";
        tool.or_else(|| if about { self.tools.by_grammar("write", "files") } else { None })
    }

    /// Objects that nouns name, labels of a path aside unless they are all there is.
    pub(super) fn nouns<'b>(&'b self, available: &'b [usize]) -> impl Iterator<Item = &'a str> + 'b {
        available.iter().filter_map(|&at| self.items[at].object()).map(|o| self.lexicons.objects[o].as_str())
    }

    /// The path that an act writes: the last one that a word of direction or a mode's phrase introduces; a single path.
    pub(super) fn target(&self, available: &[usize], verb: usize) -> Option<usize> {
        let paths: Vec<usize> = available.iter().copied().filter(|&at| path(&self.items[at]).is_some()).collect();
        let directed = |&at: &usize| {
            let before = self.items[..at].iter().rev().find(|i| {
                let passes = i.is_unknown()
                    || i.object().is_some()
                    || i.is(Cue::Named)
                    || matches!(i.folded.as_str(), "new" | "nuovo");
                !passes && (i.is(Cue::Into) || !i.is(Cue::Determiner))
            });
            before.is_some_and(|i| i.is(Cue::Into) || i.senses().iter().any(|s| matches!(s, Sense::Setting(_))))
        };
        let after_verb: Vec<usize> = paths.iter().copied().filter(|&at| at > verb).collect();
        after_verb.iter().rev().find(|at| directed(at)).or(paths.iter().rev().find(|at| directed(at))).copied().or(
            match paths.as_slice() {
                // «mv a b».
                [from, to]
                    if self.items[verb].verb().is_some_and(|v| self.class(v).verbs[0] == "move") && from < to =>
                {
                    Some(*to)
                }
                [only] if !self.has(available, |w| matches!(w, What::Lines(_))) => Some(*only),
                _ => None,
            },
        )
    }

    /// The path of an archive that is made: by its name; of several, the last.
    fn archive(&self, available: &[usize]) -> Option<usize> {
        const ENDINGS: [&str; 4] = [".zip", ".tar.gz", ".tgz", ".tar"];
        let packed = |value: &str| ENDINGS.iter().any(|e| value.to_ascii_lowercase().ends_with(e));
        available.iter().rev().copied().find(|&at| path(&self.items[at]).is_some_and(|(value, _)| packed(value)))
    }

    /// «I need an archive ~/a.zip of ~/b.txt»: an act that only its noun names; the verb of packing, at the noun.
    pub(super) fn packing(&self, clause: &Clause) -> Option<(usize, usize)> {
        let available = self.within(clause);
        let noun = available.iter().copied().find(|&at| self.names(&self.items[at], "archives"))?;
        let asks = clause.verbs.iter().all(|&(_, v)| self.class(v).weak || self.class(v).verbs[0] == "create");
        let archive = self.archive(&available)?;
        let source = available
            .iter()
            .any(|&at| at != archive && matches!(self.items[at].what, What::Path { .. } | What::Globs { .. }));
        let verb = self.lexicons.verbs.iter().position(|class| class.verbs[0] == "compress")?;
        (asks && !clause.counts && (source || clause.pronoun)).then_some((noun, verb))
    }

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
    fn folders_by(&self, available: &[usize], target: Option<usize>) -> Option<(String, Vec<usize>)> {
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
    fn file_away(
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
            available.iter().copied().filter(|at| !used.contains(at) && !(paths > 1 && Some(*at) == target)).collect();
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

    /// «to c3.txt and to c4.txt»: a second path beside the target, joined to it by a connector or a comma alone.
    fn second_target(&self, available: &[usize], target: usize) -> Option<Range<usize>> {
        let joins = |between: &[Item]| {
            let passes = |i: &Item| i.is_noise() || i.is_punctuation() || i.is(Cue::Connector) || i.object().is_some();
            let link = |i: &Item| i.is_punctuation() || i.is(Cue::Connector);
            between.iter().all(passes) && between.iter().any(link)
        };
        available.iter().copied().filter(|&at| at != target && path(&self.items[at]).is_some()).find_map(|at| {
            let (first, last) = (at.min(target), at.max(target));
            joins(&self.items[first + 1..last]).then_some(first..last + 1)
        })
    }

    /// Text that the sentence itself holds: a quotation, or the words between the verb and the target.
    pub(super) fn literal(
        &self,
        available: &[usize],
        verb: usize,
        target: Option<usize>,
    ) -> Option<(String, Origin, Vec<usize>)> {
        let quoted = |at: &&usize| match &self.items[**at].what {
            What::Quoted(_) => true,
            What::Path { quoted, .. } => *quoted && Some(**at) != target,
            _ => false,
        };
        let filtered = |at: &usize| {
            self.items[..*at]
                .iter()
                .rev()
                .find(|i| !i.is(Cue::Determiner) || i.is(Cue::Contains))
                .is_some_and(|i| i.is(Cue::Contains))
        };
        let selects = self.nouns(available).any(|n| n == "texts_lines")
            && available.iter().any(|&at| path(&self.items[at]).is_some() && Some(at) != target);
        if let Some(&at) = available.iter().find(quoted).filter(|at| !(selects && filtered(at))) {
            let value = match &self.items[at].what {
                What::Quoted(text) | What::Path { value: text, .. } => text.clone(),
                _ => return None,
            };
            return Some((value, words(&self.items[at]), vec![at]));
        }
        let end = target?;
        let stop = (verb + 1..end).rev().find(|&at| {
            self.items[at].is(Cue::Into) || self.items[at].senses().iter().any(|s| matches!(s, Sense::Setting(_)))
        })?;
        let mut start = verb + 1;
        let label = |at: usize| self.items[at].object().is_some_and(|o| self.lexicons.objects[o].starts_with("texts"));
        if start + 1 < stop && self.items[start].is(Cue::Determiner) && label(start + 1) {
            start += 2;
        } else if start < stop && (label(start) || (start + 1 < stop && self.items[start].is(Cue::Spelled))) {
            start += 1;
        }
        let range = start..stop;
        let named = |at: usize| self.items[at].form().is_some() || self.items[at].object().is_some();
        if range.clone().any(|at| self.names(&self.items[at], "processes")) {
            return None;
        }
        if !self.steps.is_empty() && range.len() <= 2 && range.clone().any(named) {
            return None;
        }
        let opens_with_words =
            self.items.get(start).is_some_and(|i| !i.is(Cue::Determiner) && !i.is(Cue::Every) && !i.is(Cue::Only));
        let plain = range
            .clone()
            .all(|at| (self.items[at].is_word() || self.items[at].is_punctuation()) && available.contains(&at));
        let meant = range.clone().any(|at| !self.items[at].is(Cue::Pronoun)) && !self.items[verb].pronoun;
        let first_is_write = self.items[verb].verb().is_some_and(|v| self.class(v).verbs[0] == "write");
        if range.is_empty() || !opens_with_words || !plain || !meant || !first_is_write {
            return None;
        }
        let (from, to) = (self.items[start].start, self.items[stop - 1].end);
        let origin = Origin::Words { start: byte(from), end: byte(to) };
        Some((self.text[from..to].to_owned(), origin, (verb + 1..stop).collect()))
    }

    /// An executor whose mode has the verb's own name is told so («append», «create»).
    pub(super) fn set_mode(&self, tool: &Indexed, verb: usize, at: usize, filled: &mut Filled) {
        let name = json!(self.class(verb).verbs.first());
        if tool.accepts("mode", &name) {
            filled.set("mode", name, self.items, at);
        }
    }

    pub(super) fn refer_content(
        &self,
        tool: &Indexed,
        content: &str,
        clause: &Clause,
        filled: &mut Filled,
    ) -> Result<(), Trouble> {
        let last = self.steps.len();
        let number =
            self.steps.last().is_some_and(|s| s.tool.starts_with("compute_") || s.tool.starts_with("compare_"));
        if self.last_gives_content() || number {
            filled.refer(content, u32::try_from(last).unwrap_or(u32::MAX), "content");
            return Ok(());
        }
        Err(if clause.pronoun {
            Trouble::NoAntecedent
        } else {
            Trouble::Missing { role: Role::Content, argument: content.to_owned(), tool: tool.name().to_owned() }
        })
    }

    /// «write … to ~/a.txt, then read it»: the file that the last step wrote, by the same words.
    fn refer_written(&self, tool: &Indexed, filled: &mut Filled) -> bool {
        let Some((step, writer)) = self.steps.last().and_then(|s| Some((s, self.tools.indexed(&s.tool)?))) else {
            return false;
        };
        let (Some(from), Some(to)) = (writer.with_role(Role::TargetPath).next(), tool.with_role(Role::Path).next())
        else {
            return false;
        };
        let written = (step.args.get(from).filter(|v| v.is_string()), step.provenance.get(&format!("/{from}")));
        let (Some(value), Some(origin)) = written else { return false };
        let (value, pointer) =
            if tool.is_list(to) { (json!([value]), format!("/{to}/0")) } else { (value.clone(), format!("/{to}")) };
        filled.args.insert(to.to_owned(), value);
        filled.provenance.insert(pointer, origin.clone());
        true
    }

    /// «every file in ~/x», «the files in ~/x»: many of them, in a folder that a word of place introduces.
    pub(super) fn many_in_folder(&self, tool: &Indexed, available: &[usize]) -> bool {
        let place = available.iter().copied().find(|&at| path(&self.items[at]).is_some());
        let folder = place.filter(|&at| at > 0 && path(&self.items[at]).is_some_and(|(_, looks)| looks != Looks::File));
        let inside = folder.is_some_and(|at| self.items[at - 1].is(Cue::Inside) && !self.items[at - 1].is(Cue::Every));
        let every = available.iter().any(|&at| self.items[at].is(Cue::Every));
        let noun = |at: &usize| {
            let item = &self.items[*at];
            let plural = item.folded.ends_with('s') || item.folded == "documenti" || every;
            let determiner = at.checked_sub(1).map_or("", |b| self.items[b].folded.as_str());
            item.object().is_some_and(|o| self.lexicons.objects[o] == "files")
                && (plural || matches!(determiner, "i" | "dei" | "tutti i"))
        };
        tool.object == "files" && inside && available.iter().any(noun)
    }

    /// «zip the originals», «delete the copies», after copies of one content were found: one of each, or all others.
    fn copies_kept(&mut self, available: &[usize], clause: &Clause) -> Result<bool, Trouble> {
        let hashed = self.steps.last().and_then(|s| self.tools.indexed(&s.tool)).is_some_and(|t| t.qualifier == "hash");
        let cue = available.iter().copied().find(|&at| {
            self.items[at].is(Cue::Originals) || self.items[at].is(Cue::Copies) || self.items[at].is(Cue::Duplicate)
        });
        let Some(at) = cue.filter(|_| hashed) else { return Ok(false) };
        let first = self.items[at].is(Cue::Originals);
        let wheres = json!([{ "field": "first", "op": "eq", "value": first }]);
        self.stage("filter", &[("where", wheres)], &words(&self.items[at]), clause)?;
        self.used[at] = true;
        Ok(true)
    }

    /// An act over files: literal paths, or a search first when the words describe them, or what an earlier step found.
    pub(super) fn over_entries(
        &mut self,
        tool: &'a Indexed,
        clause: &Clause,
        available: &[usize],
        target: Option<usize>,
    ) -> Result<(), Trouble> {
        let restricted =
            self.has(available, |w| matches!(w, What::Globs { .. } | What::Bound { .. } | What::Window { .. }));
        let mut wanted = self.wanted(clause, available, Kind::Files);
        wanted.totals.clear();
        wanted.groups.clear();
        if tool.verb == "move"
            && let Some((template, used)) = self.folders_by(available, target)
        {
            return self.file_away(tool, available, target, (template, used));
        }
        let picked = tool.acts() && (wanted.order.is_some() || wanted.top.is_some());
        let describes = restricted || picked || self.many_in_folder(tool, available);
        let entries = tool.with_role(Role::Entries).next().map(str::to_owned);
        let own_target = tool.with_role(Role::TargetPath).any(|a| !tool.is_list(a));
        let mut rest = available.to_vec();
        let mut searched = false;
        if let (true, Some(finder)) = (describes && entries.is_some(), self.tools.by_grammar("find", &tool.object)) {
            let takes: Vec<usize> =
                available.iter().copied().filter(|&at| !(own_target && Some(at) == target)).collect();
            let filled = fill(self.lexicons, finder, self.items, &takes, None);
            self.push(finder, filled)?;
            if picked {
                self.stages(Kind::Files, &wanted, clause)?;
            }
            rest = self.unused(available);
            searched = true;
        }
        let kept = self.copies_kept(available, clause)?;
        let mut filled = fill(self.lexicons, tool, self.items, &rest, target);
        let sourceless = !filled.args.keys().any(|a| {
            matches!(tool.role(a), Some(Role::Path | Role::Entries))
                || (tool.role(a) == Some(Role::TargetPath) && !own_target)
        });
        let found = self.steps.last().and_then(|s| self.tools.indexed(&s.tool)).is_some_and(Indexed::gives_entries);
        if let Some(entries) = entries.filter(|_| sourceless) {
            if found && (searched || kept || clause.pronoun || !self.nouns(available).any(|_| true)) {
                filled.refer(&entries, u32::try_from(self.steps.len()).unwrap_or(u32::MAX), "");
            } else if clause.pronoun && !self.refer_written(tool, &mut filled) {
                return Err(Trouble::NoAntecedent);
            }
        } else if sourceless && clause.pronoun {
            return Err(Trouble::NoAntecedent);
        }
        self.push(tool, filled)
    }
}
