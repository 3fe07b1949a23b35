//! Acts that change something: what is written, where, and over which files.
//!
//! A target is a path of the words or nothing; text is what the sentence holds or what an earlier step gives.

use std::ops::Range;

use serde_json::{Value, json};

use super::super::fill::{Filled, fill, is_archive, path, words};
use super::super::items::{Item, What};
use super::super::lexicon::{Cue, Sense};
use super::super::lift::{Looks, byte};
use super::super::tools::Indexed;
use super::wanted::Kind;
use super::{Builder, Clause, Trouble};
use crate::manifest::Role;
use crate::plan::Origin;

/// «scriveresti»: the conditional of an Italian verb asks or supposes.
pub(super) fn is_hypothetical(folded: &str) -> bool {
    ["rei", "resti", "rebbe", "remmo", "reste", "rebbero"].iter().any(|ending| {
        folded.strip_suffix(ending).is_some_and(|stem| stem.ends_with(['e', 'i']) && stem.chars().count() > 3)
    })
}

impl<'a> Builder<'a> {
    /// An act that is asked about, supposed or forbidden is none.
    fn refuse_asking(&self, clause: &Clause, at: usize, verb: usize) -> Result<(), Trouble> {
        // «would you put …» asks for it; «what would you put …» asks about it.
        let first = clause
            .range
            .clone()
            .find(|&i| !self.items[i].is_punctuation() && (!self.items[i].is_noise() || self.items[i].is(Cue::Polite)));
        // «…, would you move them» asks for it as well.
        let opens = |i: usize| first == Some(i) || i.checked_sub(1).is_some_and(|b| self.items[b].is_punctuation());
        let asks = |i: usize| self.items[i].is(Cue::Asking) && !(opens(i) && self.items[i].is(Cue::Polite));
        if let Some(asking) = clause.range.clone().find(|&i| i < at && asks(i)) {
            return Err(Trouble::Unclear { words: self.said(asking..at + 1) });
        }
        // «mi metteresti …» asks for it.
        let wished = at.checked_sub(1).is_some_and(|b| self.items[b].is(Cue::Listener));
        if (is_hypothetical(&self.items[at].folded) && !wished) || self.forbidden.contains(&verb) {
            return Err(Trouble::Unclear { words: self.said(clause.range.clone()) });
        }
        Ok(())
    }

    pub(super) fn acting(&mut self, clause: &Clause, at: usize, verb: usize) -> Result<(), Trouble> {
        self.refuse_asking(clause, at, verb)?;
        let available = self.within(clause);
        if let Some(named) = self.names_elsewhere(clause) {
            return Err(Trouble::Unclear { words: self.said(named..clause.range.end) });
        }
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
        let tool = self.putting(clause, at, &available, target).unwrap_or(tool);
        let sources: Vec<usize> = available.iter().copied().filter(|&i| Some(i) != target).collect();
        // Text is never written into an archive.
        if tool.verb == "write" && target.is_some() && self.archive(&available) == target {
            return Err(Trouble::NoTool { words: self.said(clause.range.clone()) });
        }
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

    /// «put them in ~/x»: files that were found or named are put by moving them.
    fn putting(&self, clause: &Clause, at: usize, available: &[usize], target: Option<usize>) -> Option<&'a Indexed> {
        let folder = target.is_some_and(|t| path(&self.items[t]).is_some_and(|(_, looks)| looks != Looks::File));
        let puts = self.items[at].is(Cue::Puts);
        self.tools.by_grammar("move", "files").filter(|_| {
            let described =
                self.has(available, |w| matches!(w, What::Globs { .. } | What::Window { .. } | What::Bound { .. }));
            let file = available
                .iter()
                .any(|&i| Some(i) != target && path(&self.items[i]).is_some_and(|(_, looks)| looks == Looks::File));
            let quoted = self.has(available, |w| matches!(w, What::Quoted(_)));
            folder && puts && !quoted && (described || file || (clause.pronoun && self.last_gives_entries()))
        })
    }

    /// «the files named in list.txt»: the names stand in that file; the file itself is not meant.
    fn names_elsewhere(&self, clause: &Clause) -> Option<usize> {
        let near = |at: usize, reach: usize, fits: &dyn Fn(&Item) -> bool| {
            (at + 1..at + reach).any(|i| self.items.get(i).is_some_and(fits))
        };
        clause.range.clone().find(|&at| {
            let file = |i: &Item| path(i).is_some_and(|(_, looks)| looks == Looks::File);
            self.items[at].is(Cue::ListedIn) && near(at, 3, &|i| i.is(Cue::Inside)) && near(at, 5, &file)
        })
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
        // «put a.pdf in the folder ~/x» makes no folder: the noun labels the place.
        let makes = |v: &str, o: &str| v != "create" || o != "dirs" || verbs[0] == "create";
        let choose =
            |v: &String| objects.iter().filter(|o| makes(v, o)).find_map(|o| self.tools.by_grammar(v, o).filter(runs));
        // «zip the folder ~/x»: what takes files takes folders too.
        let labelled = nouns.contains(&"dirs") && matches!(verbs[0].as_str(), "write" | "compress" | "move");
        let tool = verbs
            .iter()
            .find_map(choose)
            .or_else(|| if labelled { self.tools.by_grammar(&verbs[0], "files") } else { None });
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
        available.iter().rev().copied().find(|&at| path(&self.items[at]).is_some_and(|(value, _)| is_archive(value)))
    }

    /// «I need an archive ~/a.zip of ~/b.txt»: an act that only its noun names; the verb of packing, at the noun.
    pub(super) fn packing(&self, clause: &Clause) -> Option<(usize, usize)> {
        let available = self.within(clause);
        let makes = |&at: &usize| self.items[at].is(Cue::Makes);
        let named = |&at: &usize| self.names(&self.items[at], "archives");
        let noun = available.iter().copied().find(named).or_else(|| available.iter().copied().find(makes))?;
        let asks = clause.verbs.iter().all(|&(_, v)| self.class(v).weak || self.class(v).verbs[0] == "create");
        let archive = self.archive(&available)?;
        let source = available
            .iter()
            .any(|&at| at != archive && matches!(self.items[at].what, What::Path { .. } | What::Globs { .. }));
        let verb = self.lexicons.verbs.iter().position(|class| class.verbs[0] == "compress")?;
        (asks && !clause.counts && (source || clause.pronoun)).then_some((noun, verb))
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
        if let Some(said) = self.said_after(end, verb) {
            return Some(said);
        }
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
        // «add something to ~/a.txt»
        let vague = |at: usize| {
            self.items[at].is(Cue::Vague) || self.items[at].is(Cue::Determiner) || self.items[at].is_noise()
        };
        if range.clone().all(vague) && range.clone().any(|at| self.items[at].is(Cue::Vague)) {
            return None;
        }
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

    /// «add a line to ~/a.md saying finally fixed it»: what follows «saying», to the end.
    fn said_after(&self, target: usize, verb: usize) -> Option<(String, Origin, Vec<usize>)> {
        let next = target + 1;
        let says = self.items.get(next).is_some_and(|i| i.is(Cue::Saying) && !i.is(Cue::Pronoun));
        let (first, last) = (self.items.get(next + 1)?, self.items.last()?);
        let writes = self.items[verb].verb().is_some_and(|v| self.class(v).verbs[0] == "write");
        if !says || !writes {
            return None;
        }
        let text = self.text[first.start..last.end].trim_end();
        let origin = Origin::Words { start: byte(first.start), end: byte(first.start + text.len()) };
        Some((text.to_owned(), origin, (next..self.items.len()).collect()))
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

    /// Whether a word of place introduces what is at `at`, with at most «the folder» in between.
    fn is_inside_of(&self, at: usize) -> bool {
        let of_folders = |item: &Item| item.object().is_some_and(|o| self.lexicons.objects[o] == "dirs");
        let mut before = self.items[..at].iter().rev();
        // «nella» is both at once.
        let led = before.find(|item| item.is(Cue::Inside) || !(item.is(Cue::Determiner) || of_folders(item)));
        led.is_some_and(|item| item.is(Cue::Inside) && !item.is(Cue::Every))
    }

    /// «every file in ~/x», «the files in the folder ~/x»: many of them, in a folder that a word of place introduces.
    pub(super) fn many_in_folder(&self, tool: &Indexed, available: &[usize]) -> bool {
        let place = available.iter().copied().find(|&at| path(&self.items[at]).is_some());
        let folder = place.filter(|&at| at > 0 && path(&self.items[at]).is_some_and(|(_, looks)| looks != Looks::File));
        let inside = folder.is_some_and(|at| self.is_inside_of(at));
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
        if tool.verb == "compress" {
            for &at in available {
                self.used[at] |= self.names(&self.items[at], "archives") || self.items[at].is(Cue::Named);
            }
        }
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
        let tool = self.reader_of_found(tool).or_else(|| self.remover_of_found(tool, &filled)).unwrap_or(tool);
        self.push(tool, filled)
    }

    /// «find the empty folders in ~/x and remove them»: folders that were found are deleted as folders.
    fn remover_of_found(&self, tool: &Indexed, filled: &Filled) -> Option<&'a Indexed> {
        let found = filled.args.get("from_step").and_then(Value::as_u64)?;
        let step = self.steps.get(usize::try_from(found).ok()?.checked_sub(1)?)?;
        let folders = self.tools.indexed(&step.tool).is_some_and(|t| t.object == "dirs");
        (folders && tool.verb == "delete").then(|| self.tools.by_grammar("delete", "dirs")).flatten()
    }

    /// «read all the pdf files in ~/x»: what was found is read by the executor of its kind.
    fn reader_of_found(&self, tool: &Indexed) -> Option<&'a Indexed> {
        let patterns = self.steps.last()?.args.get("patterns")?.as_array()?;
        let pdfs = patterns.iter().all(|p| p.as_str().is_some_and(|p| p.to_ascii_lowercase().ends_with(".pdf")));
        let reads = tool.verb == "read" && tool.qualifier.is_empty() && pdfs;
        if reads { self.tools.by_grammar("read", "files_pdf") } else { None }
    }
}
