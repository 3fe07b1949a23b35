//! What a clause picks out of a text: lines, matches, values; and the step that brings the text.
//!
//! Lines of a file are read in place where the reader can, so that the tail of a large file costs its end only.

use serde_json::{Value, json};

use super::super::fill::{Filled, fill, is_label};
use super::super::items::{Item, What};
use super::super::lexicon::Cue;
use super::super::lift::Looks;
use super::super::tools::Indexed;
use super::{Builder, Clause, Trouble};
use crate::manifest::Role;

/// A text as a regular expression that matches it alone.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if "\\.+*?()|[]{}^$".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Text that lines must hold.
struct Search {
    /// The item that holds the text.
    at: usize,
    text: String,
    /// It is a regular expression, made from how the lines begin or end.
    regex: bool,
    /// The negation that turns the search round.
    not: Option<usize>,
    /// The item that introduces the text.
    cue: usize,
}

impl<'a> Builder<'a> {
    /// Plans what a clause picks out of a text, with the step that brings the text. False when it picks nothing.
    pub(super) fn selection(&mut self, clause: &Clause, available: &[usize]) -> Result<bool, Trouble> {
        let lines = available.iter().copied().find(|&at| matches!(self.items[at].what, What::Lines(_)));
        let search = self.search(clause, available);
        let extract = if search.is_none() { self.extraction(clause, available) } else { None };
        let brings = self.sources(available);
        let writes = clause.verbs.iter().any(|&(_, v)| self.acts(v));
        let picks = lines.is_some() || search.is_some() || extract.is_some();
        if !picks && (brings.is_empty() || !writes) {
            return Ok(false);
        }
        if extract.is_some() && lines.is_none() && brings.is_empty() && self.steps.is_empty() {
            return Ok(false);
        }
        let in_place = self.bring(&brings, lines.filter(|_| search.is_none()))?;
        if let Some(Search { at, text, regex, not, cue }) = search {
            let tool = self
                .tools
                .by_grammar("filter", "texts_lines")
                .ok_or_else(|| Trouble::NoTool { words: self.said(cue..at + 1) })?;
            let rest: Vec<usize> =
                available.iter().copied().filter(|&i| matches!(self.items[i].what, What::Word(_))).collect();
            let mut filled = fill(self.lexicons, tool, self.items, &rest, None);
            filled.args.remove("regex");
            filled.args.remove("substring");
            filled.set(if regex { "regex" } else { "substring" }, json!(text), self.items, at);
            if let Some(not) = not {
                filled.set("invert", json!(true), self.items, not);
            }
            filled.used.push(cue);
            let label = |&i: &usize| self.items[i].is(Cue::Contains) || self.items[i].is(Cue::Spelled);
            filled.used.extend((cue..at).filter(label));
            self.select(tool, filled)?;
            self.search_further(tool, at)?;
        }
        if let Some(at) = lines.filter(|_| !in_place) {
            let tool = self
                .tools
                .by_grammar("filter", "texts_lines")
                .ok_or_else(|| Trouble::NoTool { words: self.said(at..at + 1) })?;
            let filled = fill(self.lexicons, tool, self.items, &[at], None);
            self.select(tool, filled)?;
        }
        if let Some(filled) = extract {
            let tool = self
                .tools
                .by_grammar("extract", "entries")
                .ok_or_else(|| Trouble::NoTool { words: self.said(clause.range.clone()) })?;
            self.select(tool, filled)?;
        }
        self.explain_nouns(available);
        Ok(true)
    }

    /// «error or warning»: either of them; «both "a" and "b"»: a second search through what the first one leaves.
    fn search_further(&mut self, tool: &'a Indexed, first: usize) -> Result<(), Trouble> {
        let sought = |at: usize| match &self.items.get(at)?.what {
            What::Quoted(text) => Some(text.clone()),
            What::Word(senses) if senses.is_empty() => Some(self.said(at..at + 1)),
            _ => None,
        };
        let Some(joint) = self.items.get(first + 1) else { return Ok(()) };
        let both = first.checked_sub(1).is_some_and(|b| self.items[b].is(Cue::Both))
            && (joint.is(Cue::Connector) || joint.is(Cue::Both));
        let either = joint.is(Cue::Choice);
        let Some(other) = sought(first + 2).filter(|_| either || both) else { return Ok(()) };
        let argument = self.steps.last_mut().and_then(|s| s.args.as_object_mut());
        if either {
            let Some(args) = argument else { return Ok(()) };
            let Some(Value::String(text)) = args.remove("substring") else { return Ok(()) };
            args.insert("regex".to_owned(), json!(format!("{}|{}", escaped(&text), escaped(&other))));
            let step = self.steps.last_mut().expect("looked at above");
            if let Some(origin) = step.provenance.remove("/substring") {
                step.provenance.insert("/regex".to_owned(), origin);
            }
        } else {
            let mut filled = Filled::default();
            filled.set("substring", json!(other), self.items, first + 2);
            self.select(tool, filled)?;
        }
        for at in first + 1..first + 3 {
            self.used[at] = true;
        }
        Ok(())
    }

    /// Nouns of texts and their lines, and the labels of what was lifted, are explained by a selection.
    pub(super) fn explain_nouns(&mut self, available: &[usize]) {
        for &at in available {
            let text = self.items[at].object().is_some_and(|o| self.lexicons.objects[o].starts_with("texts"));
            self.used[at] |= text;
        }
    }

    /// Files and addresses that a text may come from.
    pub(super) fn sources(&self, available: &[usize]) -> Vec<usize> {
        let is_source = |what: &What| matches!(what, What::Path { .. } | What::Url(_) | What::Globs { .. });
        available.iter().copied().filter(|&at| is_source(&self.items[at].what) && !self.used[at]).collect()
    }

    /// Adds the step that reads the sources; true when it takes the wanted lines itself.
    pub(super) fn bring(&mut self, sources: &[usize], lines: Option<usize>) -> Result<bool, Trouble> {
        if sources.is_empty() {
            return self.bring_earlier(lines);
        }
        let url = self.has(sources, |w| matches!(w, What::Url(_)));
        let pdf = |&at: &usize| matches!(&self.items[at].what, What::Path { value, .. } if value.to_ascii_lowercase().ends_with(".pdf"));
        let pdf = if sources.iter().all(pdf) { self.tools.by_grammar("read", "files_pdf") } else { None };
        let tool = if url {
            self.tools.by_grammar("get", "urls")
        } else {
            pdf.or_else(|| self.tools.by_grammar("read", "files"))
        };
        let Some(tool) = tool else { return Err(Trouble::NoTool { words: self.said(sources[0]..sources[0] + 1) }) };
        let describes = self.has(sources, |w| matches!(w, What::Globs { .. }));
        if let Some(finder) = self.tools.by_grammar("find", &tool.object).filter(|_| describes) {
            let filled = fill(self.lexicons, finder, self.items, sources, None);
            self.push(finder, filled)?;
            return self.bring_earlier(lines);
        }
        let mut take = sources.to_vec();
        take.extend(lines);
        let filled = fill(self.lexicons, tool, self.items, &take, None);
        let in_place = lines.is_some_and(|at| filled.used.contains(&at));
        self.push(tool, filled)?;
        Ok(in_place)
    }

    /// Whether the last step gives one text: a reader of one thing does, a reader of several gives entries.
    pub(super) fn last_gives_content(&self) -> bool {
        self.steps.last().is_some_and(|step| {
            let several = step.args.get("from_step").is_some()
                || step
                    .args
                    .as_object()
                    .is_some_and(|args| args.values().any(|v| v.as_array().is_some_and(|l| l.len() > 1)));
            let reads = |t: &Indexed| matches!(t.verb.as_str(), "read" | "get");
            self.tools.indexed(&step.tool).is_some_and(|t| t.gives_content() && !(several && reads(t)))
        })
    }

    /// The text of an earlier step: its content, or the files that it found, read.
    pub(super) fn bring_earlier(&mut self, lines: Option<usize>) -> Result<bool, Trouble> {
        let Some(tool) = self.steps.last().and_then(|s| self.tools.indexed(&s.tool)) else {
            return Err(Trouble::Missing {
                role: Role::Path,
                argument: "paths".to_owned(),
                tool: "read_files".to_owned(),
            });
        };
        if tool.gives_content() {
            return Ok(lines.is_some_and(|at| self.narrow(at)));
        }
        if tool.acts() || !tool.gives_entries() {
            return Err(Trouble::NoAntecedent);
        }
        let reader = self.tools.by_grammar("read", &tool.object);
        let Some(reader) = reader else { return Err(Trouble::NoTool { words: String::new() }) };
        let take: Vec<usize> = lines.into_iter().collect();
        let mut filled = fill(self.lexicons, reader, self.items, &take, None);
        let in_place = lines.is_some_and(|at| filled.used.contains(&at));
        filled.refer("entries", u32::try_from(self.steps.len()).unwrap_or(u32::MAX), "");
        self.push(reader, filled)?;
        Ok(in_place)
    }

    /// Lets the last step read only the lines that are wanted of it, where it can.
    pub(super) fn narrow(&mut self, at: usize) -> bool {
        let Some(step) = self.steps.last() else { return false };
        let Some(tool) = self.tools.indexed(&step.tool).filter(|t| t.verb == "read") else { return false };
        let filled = fill(self.lexicons, tool, self.items, &[at], None);
        let named = step.args.as_object().is_some_and(|args| filled.args.keys().any(|k| args.contains_key(k)));
        if filled.used.is_empty() || named {
            return false;
        }
        let step = self.steps.last_mut().expect("looked at above");
        if let Some(args) = step.args.as_object_mut() {
            args.extend(filled.args);
        }
        step.provenance.extend(filled.provenance);
        self.used[at] = true;
        true
    }

    pub(super) fn select(&mut self, tool: &'a Indexed, mut filled: Filled) -> Result<(), Trouble> {
        let several = self.steps.last().is_some_and(|s| s.tool.starts_with("read_")) && !self.last_gives_content();
        if several && tool.with_role(Role::Entries).next().is_some() {
            filled.refer("entries", u32::try_from(self.steps.len()).unwrap_or(u32::MAX), "");
            return self.push(tool, filled);
        }
        if let Some(argument) = tool.with_role(Role::Text).next() {
            if !self.last_gives_content() {
                return Err(Trouble::NoAntecedent);
            }
            filled.refer(argument, u32::try_from(self.steps.len()).unwrap_or(u32::MAX), "content");
        }
        self.push(tool, filled)
    }

    /// The text that lines must hold: after «containing», or quoted beside a search in a file.
    fn search(&self, clause: &Clause, available: &[usize]) -> Option<Search> {
        let of_lines = available.iter().any(|&at| {
            self.items[at].object().is_some_and(|o| self.lexicons.objects[o] == "texts_lines")
                || matches!(self.items[at].what, What::Lines(_))
        });
        let text = |at: usize| match &self.items[at].what {
            What::Quoted(text) => Some(text.clone()),
            What::Path { value, quoted: true, .. } => Some(value.clone()),
            What::Word(senses) if senses.is_empty() => {
                Some(self.text[self.items[at].start..self.items[at].end].to_owned())
            }
            _ => None,
        };
        let filters = clause.verbs.iter().any(|&(_, v)| self.class(v).verbs[0] == "filter")
            || self.has(available, |w| matches!(w, What::Regex(_)));
        let reads = self.sources(available).iter().any(|&at| match &self.items[at].what {
            What::Path { looks, quoted, .. } => *looks == Looks::File || ((of_lines || filters) && !quoted),
            What::Url(_) => true,
            _ => of_lines,
        });
        if !(reads || self.last_gives_content()) {
            return None;
        }
        if let Some(at) = available.iter().copied().find(|&at| matches!(self.items[at].what, What::Regex(_))) {
            let What::Regex(text) = &self.items[at].what else { return None };
            let cue = available.iter().copied().rfind(|&i| i < at && self.items[i].is(Cue::Regex)).unwrap_or(at);
            return Some(Search { at, text: text.clone(), regex: true, not: None, cue });
        }
        let affix = available.iter().copied().find(|&at| matches!(self.items[at].what, What::Affix { .. }));
        if let Some(at) = affix.filter(|_| of_lines) {
            let What::Affix { begins, text } = &self.items[at].what else { return None };
            let text = escaped(text);
            let text = if *begins { format!("^{text}") } else { format!("{text}$") };
            return Some(Search { at, text, regex: true, not: None, cue: at });
        }
        for &at in available {
            let explicit = self.items[at].is(Cue::Contains);
            if !explicit || (self.items[at].is_noise() && !of_lines) {
                continue;
            }
            let passes = |i: &Item| i.is_noise() || i.is(Cue::Contains) || i.is(Cue::Spelled) || i.object().is_some();
            let next = (at + 1..clause.range.end).find(|&n| !passes(&self.items[n]));
            if let Some((next, text)) = next.and_then(|n| Some((n, text(n)?))) {
                let invert = (clause.range.start..at).rev().take(3).find(|&n| self.items[n].is(Cue::Not));
                return Some(Search { at: next, text, regex: false, not: invert, cue: at });
            }
        }
        let seeks = clause.verbs.iter().any(|&(_, v)| matches!(self.class(v).verbs[0].as_str(), "find" | "filter"));
        let asks = of_lines || seeks || clause.verbs.iter().all(|&(_, v)| self.class(v).weak);
        let field = available.iter().any(|&at| self.items[at].is(Cue::Field) && self.items[at].measure().is_none());
        let quoted = available
            .iter()
            .copied()
            .find(|&at| matches!(self.items[at].what, What::Quoted(_)))
            .filter(|_| !field || of_lines)
            .filter(|&at| !at.checked_sub(1).is_some_and(|b| self.items[b].is(Cue::Beside)));
        quoted
            .filter(|_| asks && !clause.verbs.iter().any(|&(_, v)| self.acts(v)))
            .or_else(|| self.sought_word(clause))
            .and_then(|at| {
                let not = at.checked_sub(1).filter(|&before| self.items[before].is(Cue::Not));
                Some(Search { at, text: text(at)?, regex: false, not, cue: at })
            })
    }

    /// «grep error ~/a.log»: the word right after a verb that filters.
    fn sought_word(&self, clause: &Clause) -> Option<usize> {
        let filters = clause.verbs.iter().find(|&&(_, v)| self.class(v).verbs[0] == "filter");
        let from = filters.map(|&(at, _)| at + 1)?;
        (from..clause.range.end).find(|&at| !self.items[at].is_noise()).filter(|&at| self.items[at].is_unknown())
    }

    /// Fields or regular forms to pick out, as arguments of the executor that extracts.
    pub(super) fn extraction(&self, clause: &Clause, available: &[usize]) -> Option<Filled> {
        let tool = self.tools.by_grammar("extract", "entries")?;
        let mut filled = Filled::default();
        let field = tool.with_role(Role::Field).next()?;
        let adjacent = |at: usize| is_label(self.items, at) && self.items[at].object().is_some();
        for &at in available {
            let Some((form, plural)) = self.items[at].form().filter(|_| !adjacent(at)) else { continue };
            let form = self.lexicons.forms[form].as_str();
            let before = at.checked_sub(1).map_or("", |b| self.items[b].folded.as_str());
            let plural = plural
                || clause.counts
                || available.iter().any(|&i| self.items[i].is(Cue::Every))
                || matches!(before, "i" | "gli" | "le" | "dei" | "degli" | "delle");
            if tool.accepts("form", &json!(form)) {
                filled.set("form", json!(form), self.items, at);
                if !plural {
                    filled.add(tool, field, json!(self.items[at].folded.replace(' ', "_")), self.items, at);
                }
            }
        }
        if !filled.used.is_empty() {
            filled.used.extend(available.iter().filter(|&&i| self.items[i].is(Cue::Field)));
        }
        if filled.used.is_empty() {
            for &at in available {
                let follows = at > clause.range.start
                    && (self.items[..at].iter().enumerate().rev().take_while(|(i, _)| *i >= clause.range.start))
                        .find(|(_, i)| !i.is(Cue::Determiner) || i.is(Cue::Only) || i.is(Cue::Field))
                        .is_some_and(|(_, i)| i.is(Cue::Only) || i.is(Cue::Field));
                let name = match &self.items[at].what {
                    What::Word(senses)
                        if senses.is_empty()
                            || self.items.get(at + 1).is_some_and(|i| i.is(Cue::Field) && i.is_word()) =>
                    {
                        self.text[self.items[at].start..self.items[at].end].to_owned()
                    }
                    What::Quoted(name) => name.clone(),
                    _ => continue,
                };
                // «the name field»
                let label = |i: &Item| i.is(Cue::Field) && !i.folded.contains(' ');
                let plain =
                    !self.items[at].is_noise() && !self.items[at].is(Cue::Only) && self.items[at].verb().is_none();
                let labelled = self.items.get(at + 1).is_some_and(label) && plain;
                if follows || labelled {
                    filled.add(tool, field, json!(name), self.items, at);
                }
            }
            // «stargazers_count from https://…»: a name that only a field can have.
            let technical = |at: &usize| {
                let item = &self.items[*at];
                item.is_unknown() && self.text[item.start..item.end].contains(['_', '-'])
            };
            let from_page = self.has(available, |w| matches!(w, What::Url(_)));
            if let Some(at) = available.iter().copied().find(technical).filter(|_| from_page && filled.used.is_empty())
            {
                filled.add(tool, field, json!(self.text[self.items[at].start..self.items[at].end]), self.items, at);
            }
            if !filled.used.is_empty() {
                filled.used.extend(clause.range.clone().filter(|&i| self.items[i].is(Cue::Field)));
            }
        }
        (!filled.used.is_empty()).then_some(filled)
    }
}
