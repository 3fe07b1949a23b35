//! Builds a pipeline clause by clause: which act, by which executor, over what, into what.
//!
//! Executors are chosen by name grammar, then by their sentence templates, then by the pre-filter. It never fills a
//! target that the words do not hold; what is missing becomes a question.

use std::ops::Range;

use serde_json::{Value, json};

use super::fill::{Filled, fill, is_label, path, words};
use super::items::{Item, What};
use super::lexicon::{Cue, Lexicons, Sense, VerbClass};
use super::lift::Looks;
use super::rank::Ranking;
use super::tools::{Indexed, Tools};
use crate::manifest::Role;
use crate::plan::{AnswerSpec, Origin, PlannedStep};

/// Why no plan came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The value of this role is missing; the executor that wants it.
    Missing { role: Role, argument: String, tool: String },
    /// «it» stands for nothing.
    NoAntecedent,
    /// A mutation with a rest that is not understood, or a restriction that no executor honours.
    Unclear { words: String },
    /// No executor does this.
    NoTool { words: String },
    /// All that was said is what not to do.
    OnlyNegated,
    /// What is to be told is not in any result.
    NoMeasure { words: String },
}

/// What a clause says, before executors are looked for.
struct Clause {
    range: Range<usize>,
    /// Strong verbs first, by their items.
    verbs: Vec<(usize, usize)>,
    counts: bool,
    only: Option<usize>,
    pronoun: bool,
}

/// The plan in the making.
pub(crate) struct Builder<'a> {
    lexicons: &'a Lexicons,
    tools: &'a Tools,
    ranking: &'a Ranking,
    text: &'a str,
    items: &'a [Item],
    pub(crate) used: Vec<bool>,
    pub(crate) steps: Vec<PlannedStep>,
    pub(crate) answer: AnswerSpec,
    /// Some clause had no verb of its own: «anything over 5 MB in ~/x».
    pub(crate) implied: bool,
    /// Verbs that a negation took away.
    negated: Vec<bool>,
}

const ACTING: [&str; 14] =
    ["move", "delete", "send", "share", "write", "set", "create", "change", "order", "compress", "open", "login", "install", "act"];

impl<'a> Builder<'a> {
    pub(crate) fn new(lexicons: &'a Lexicons, tools: &'a Tools, ranking: &'a Ranking, text: &'a str, items: &'a [Item]) -> Self {
        Self {
            lexicons,
            tools,
            ranking,
            text,
            items,
            used: vec![false; items.len()],
            steps: Vec::new(),
            answer: AnswerSpec::Result,
            implied: false,
            negated: vec![false; items.len()],
        }
    }

    /// Plans all clauses.
    pub(crate) fn build(&mut self, clauses: &[Range<usize>]) -> Result<(), Trouble> {
        let mut dropped = 0;
        for range in clauses {
            if self.negate(range.clone())? {
                dropped += 1;
                continue;
            }
            let clause = self.read(range.clone());
            self.clause(&clause)?;
        }
        if self.steps.is_empty() && dropped > 0 {
            return Err(Trouble::OnlyNegated);
        }
        match self.left_over() {
            Some(range) if !self.steps.is_empty() => Err(Trouble::Unclear { words: self.said(range) }),
            _ => Ok(()),
        }
    }

    /// What was understood and yet went into no step: a restriction that would be lost, an act that would not be done, a
    /// word right after a path that may belong to its name.
    pub(crate) fn left_over(&self) -> Option<Range<usize>> {
        let lost = |at: &usize| {
            let item = &self.items[*at];
            let glued = *at > 0 && matches!(&self.items[at - 1].what, What::Path { quoted: false, .. }) && item.start == self.items[at - 1].end + 1;
            match &item.what {
                // «/tmp/my file.txt» without quotes: where the name begins and ends is a guess.
                What::Path { quoted: false, value, .. } if glued && !value.starts_with(['/', '~', '.']) => true,
                _ if self.used[*at] => false,
                What::Punctuation(_) => false,
                What::Word(senses) if senses.is_empty() => glued || item.folded.starts_with(|c: char| c.is_ascii_digit()),
                What::Word(_) if item.is(Cue::Superlative) => true,
                What::Word(_) if item.is_noise() => false,
                What::Word(senses) => item.verb().is_some() || (glued && senses.iter().any(|s| matches!(s, Sense::Size(_) | Sense::Number(_)))),
                _ => true,
            }
        };
        (0..self.items.len()).find(lost).map(|at| at..at + 1)
    }

    fn class(&self, verb: usize) -> &'a VerbClass {
        &self.lexicons.verbs[verb]
    }

    fn acts(&self, verb: usize) -> bool {
        self.class(verb).verbs.first().is_some_and(|v| ACTING.contains(&v.as_str()))
    }

    /// Takes the verbs after a negation away; true when nothing is left to do in the clause. A negation that is bound to
    /// neither a verb nor a cue is not understood.
    fn negate(&mut self, range: Range<usize>) -> Result<bool, Trouble> {
        let Some(first) = range.clone().find(|&at| self.items[at].is(Cue::Not)) else { return Ok(false) };
        let is_noise = |at: &usize| self.items[*at].is_noise() && !self.items[*at].is(Cue::Contains);
        let next = (first + 1..range.end).find(|at| !is_noise(at));
        let Some(next) = next else { return Err(Trouble::Unclear { words: self.said(first..range.end) }) };
        if self.items[next].is(Cue::Contains) {
            return Ok(false);
        }
        if self.items[next].verb().is_none() {
            return Err(Trouble::Unclear { words: self.said(first..range.end) });
        }
        let restricts = |at: usize| !matches!(self.items[at].what, What::Word(_) | What::Punctuation(_) | What::Path { .. } | What::Url(_));
        if (first..range.end).any(restricts) {
            return Err(Trouble::Unclear { words: self.said(first..range.end) });
        }
        for at in first..range.end {
            self.negated[at] = true;
            self.used[at] = true;
        }
        let left = (range.start..first).any(|at| self.items[at].verb().is_some() && !self.items[at].is_noise() || !self.items[at].is_word());
        Ok(!left)
    }

    pub(crate) fn said(&self, range: Range<usize>) -> String {
        match (self.items.get(range.start), self.items.get(range.end.saturating_sub(1))) {
            (Some(first), Some(last)) if first.start < last.end => self.text[first.start..last.end].to_owned(),
            _ => String::new(),
        }
    }

    fn read(&mut self, range: Range<usize>) -> Clause {
        let mut verbs = Vec::new();
        let (mut counts, mut only, mut pronoun) = (false, None, false);
        for at in range.clone() {
            let item = &self.items[at];
            pronoun |= item.pronoun || (item.is(Cue::Pronoun) && !self.is_article(at, &range));
            counts |= item.is(Cue::HowMany);
            only = only.or(item.is(Cue::Only).then_some(at));
            if let Some(verb) = item.verb().filter(|_| !self.negated[at]) {
                counts |= self.class(verb).counts;
                verbs.push((at, verb));
            }
        }
        verbs.sort_by_key(|&(at, verb)| (self.class(verb).weak, at));
        Clause { range, verbs, counts, only, pronoun }
    }

    /// «la» before a noun is no pronoun.
    fn is_article(&self, at: usize, range: &Range<usize>) -> bool {
        self.items[at].is(Cue::Determiner)
            && range.contains(&(at + 1))
            && !self.items[at + 1].is(Cue::Into)
            && !self.items[at + 1].is(Cue::Inside)
    }

    fn clause(&mut self, clause: &Clause) -> Result<(), Trouble> {
        let strong = clause.verbs.iter().find(|&&(_, v)| !self.class(v).weak).copied();
        let before = self.steps.len();
        // «how many bytes did you write» asks, it does not act.
        let lifted = clause.range.clone().any(|at| !self.items[at].is_word() && !self.items[at].is_punctuation());
        match strong.filter(|&(_, verb)| self.acts(verb) && !(clause.counts && !lifted)) {
            Some((at, verb)) => self.acting(clause, at, verb)?,
            None => {
                self.implied |= strong.is_none();
                self.reading(clause)?;
            }
        }
        self.tell(clause, before)
    }

    fn within(&self, clause: &Clause) -> Vec<usize> {
        clause.range.clone().filter(|&at| !self.negated[at] && !self.used[at]).collect()
    }

    fn has(&self, at: &[usize], fits: impl Fn(&What) -> bool) -> bool {
        at.iter().any(|&at| fits(&self.items[at].what))
    }

    // --- acts that change something -----------------------------------------------------------------------------

    fn acting(&mut self, clause: &Clause, at: usize, verb: usize) -> Result<(), Trouble> {
        let available = self.within(clause);
        let target = self.target(&available, at);
        let tool = self.acting_tool(&available, verb);
        let Some(tool) = tool else {
            let bare = clause.pronoun && self.steps.is_empty() && target.is_none();
            return Err(if bare { Trouble::NoAntecedent } else { Trouble::NoTool { words: self.said(clause.range.clone()) } });
        };
        let sources: Vec<usize> = available.iter().copied().filter(|&i| Some(i) != target).collect();
        let content = tool.with_role(Role::Content).next().map(str::to_owned);
        if let Some(content) = content {
            let literal = self.literal(&available, at, target);
            if literal.is_none() && self.has(&sources, |w| matches!(w, What::Path { .. } | What::Url(_))) {
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

    /// «the words», «la riga», «with»: labels of a text that was given word for word.
    fn explain_labels(&mut self, available: &[usize]) {
        self.explain_nouns(available);
        for &at in available {
            let quoted = self.items.get(at + 1).is_some_and(|i| matches!(i.what, What::Quoted(_) | What::Path { quoted: true, .. }));
            self.used[at] |= self.items[at].is(Cue::Contains) && quoted;
        }
    }

    fn unused(&self, available: &[usize]) -> Vec<usize> {
        available.iter().copied().filter(|&at| !self.used[at]).collect()
    }

    /// The executor of an act: by verb and the nouns said; what the spans imply counts only where no noun was said.
    fn acting_tool(&self, available: &[usize], verb: usize) -> Option<&'a Indexed> {
        let nouns: Vec<&str> = self.nouns(available).filter(|n| !n.starts_with("texts") && *n != "entries" && *n != "urls").collect();
        let implied = ["files"];
        let objects: &[&str] = if nouns.is_empty() { &implied } else { &nouns };
        let verbs = &self.class(verb).verbs;
        verbs.iter().find_map(|v| objects.iter().find_map(|o| self.tools.by_grammar(v, o)))
    }

    /// Objects that nouns name, labels of a path aside unless they are all there is.
    fn nouns<'b>(&'b self, available: &'b [usize]) -> impl Iterator<Item = &'a str> + 'b {
        available.iter().filter_map(|&at| self.items[at].object()).map(|o| self.lexicons.objects[o].as_str())
    }

    /// The path that an act writes: the last one that a word of direction or a mode's phrase introduces; a single path.
    fn target(&self, available: &[usize], verb: usize) -> Option<usize> {
        let paths: Vec<usize> = available.iter().copied().filter(|&at| path(&self.items[at]).is_some()).collect();
        let directed = |&at: &usize| {
            let before = self.items[..at].iter().rev().find(|i| {
                !(i.is(Cue::Determiner) && !i.is(Cue::Into)) && i.object().is_none() && !i.is(Cue::Named) && !(i.is_unknown() || i.folded == "new" || i.folded == "nuovo")
            });
            before.is_some_and(|i| i.is(Cue::Into) || i.senses().iter().any(|s| matches!(s, Sense::Setting(_))))
        };
        let after_verb: Vec<usize> = paths.iter().copied().filter(|&at| at > verb).collect();
        after_verb.iter().rev().find(|at| directed(at)).or(paths.iter().rev().find(|at| directed(at))).copied().or(match paths.as_slice() {
            [only] if !self.has(available, |w| matches!(w, What::Lines(_))) => Some(*only),
            _ => None,
        })
    }

    /// Text that the sentence itself holds: a quotation, or the words between the verb and the target.
    fn literal(&self, available: &[usize], verb: usize, target: Option<usize>) -> Option<(String, Origin, Vec<usize>)> {
        let quoted = |at: &&usize| match &self.items[**at].what {
            What::Quoted(_) => true,
            What::Path { quoted, .. } => *quoted && Some(**at) != target,
            _ => false,
        };
        let filtered = |at: &usize| self.items[..*at].iter().rev().find(|i| !i.is(Cue::Determiner) || i.is(Cue::Contains)).is_some_and(|i| i.is(Cue::Contains));
        let selects = self.nouns(available).any(|n| n == "texts_lines") && available.iter().any(|&at| path(&self.items[at]).is_some() && Some(at) != target);
        if let Some(&at) = available.iter().find(quoted).filter(|at| !(selects && filtered(at))) {
            let value = match &self.items[at].what {
                What::Quoted(text) | What::Path { value: text, .. } => text.clone(),
                _ => return None,
            };
            return Some((value, words(&self.items[at]), vec![at]));
        }
        let end = target?;
        let stop = (verb + 1..end).rev().find(|&at| self.items[at].is(Cue::Into) || self.items[at].senses().iter().any(|s| matches!(s, Sense::Setting(_))))?;
        let mut start = verb + 1;
        let label = |at: usize| self.items[at].object().is_some_and(|o| self.lexicons.objects[o].starts_with("texts"));
        if start + 1 < stop && self.items[start].is(Cue::Determiner) && label(start + 1) {
            start += 2;
        } else if start < stop && label(start) {
            start += 1;
        }
        let range = start..stop;
        let opens_with_words = self.items.get(start).is_some_and(|i| !i.is(Cue::Determiner) && !i.is(Cue::Every) && !i.is(Cue::Only));
        let plain = range.clone().all(|at| (self.items[at].is_word() || self.items[at].is_punctuation()) && available.contains(&at));
        let meant = range.clone().any(|at| !self.items[at].is(Cue::Pronoun)) && !self.items[verb].pronoun;
        let first_is_write = self.items[verb].verb().is_some_and(|v| self.class(v).verbs[0] == "write");
        if range.is_empty() || !opens_with_words || !plain || !meant || !first_is_write {
            return None;
        }
        let (from, to) = (self.items[start].start, self.items[stop - 1].end);
        let origin = Origin::Words { start: super::lift::byte(from), end: super::lift::byte(to) };
        Some((self.text[from..to].to_owned(), origin, range.collect()))
    }

    /// An executor whose mode has the verb's own name is told so («append», «create»).
    fn set_mode(&self, tool: &Indexed, verb: usize, at: usize, filled: &mut Filled) {
        let name = json!(self.class(verb).verbs.first());
        if tool.accepts("mode", &name) {
            filled.set("mode", name, self.items, at);
        }
    }

    fn refer_content(&self, tool: &Indexed, content: &str, clause: &Clause, filled: &mut Filled) -> Result<(), Trouble> {
        let last = self.steps.len();
        if self.last_gives_content() {
            filled.refer(content, u32::try_from(last).unwrap_or(u32::MAX), "content");
            return Ok(());
        }
        Err(if clause.pronoun {
            Trouble::NoAntecedent
        } else {
            Trouble::Missing { role: Role::Content, argument: content.to_owned(), tool: tool.name().to_owned() }
        })
    }

    /// An act over files: literal paths, or a search first when the words describe them, or what an earlier step found.
    fn over_entries(&mut self, tool: &'a Indexed, clause: &Clause, available: &[usize], target: Option<usize>) -> Result<(), Trouble> {
        let describes = self.has(available, |w| matches!(w, What::Globs { .. } | What::Bound { .. } | What::Window { .. }));
        let entries = tool.with_role(Role::Entries).next().map(str::to_owned);
        let own_target = tool.with_role(Role::TargetPath).next().is_some_and(|a| !tool.is_list(a));
        let mut rest = available.to_vec();
        let mut searched = false;
        if let (true, Some(finder)) = (describes && entries.is_some(), self.tools.by_grammar("find", &tool.object)) {
            let takes: Vec<usize> = available.iter().copied().filter(|&at| !(own_target && Some(at) == target)).collect();
            let filled = fill(self.lexicons, finder, self.items, &takes, None);
            self.push(finder, filled)?;
            rest = self.unused(available);
            searched = true;
        }
        let mut filled = fill(self.lexicons, tool, self.items, &rest, target);
        let sourceless = !filled.args.keys().any(|a| matches!(tool.role(a), Some(Role::Path | Role::Entries)) || (tool.role(a) == Some(Role::TargetPath) && !own_target));
        let found = self.steps.last().and_then(|s| self.tools.indexed(&s.tool)).is_some_and(Indexed::gives_entries);
        if let Some(entries) = entries.filter(|_| sourceless) {
            if found && (searched || clause.pronoun || !self.nouns(available).any(|_| true)) {
                filled.refer(&entries, u32::try_from(self.steps.len()).unwrap_or(u32::MAX), "");
            } else if clause.pronoun {
                return Err(Trouble::NoAntecedent);
            }
        } else if sourceless && clause.pronoun {
            return Err(Trouble::NoAntecedent);
        }
        self.push(tool, filled)
    }

    // --- acts that only read ------------------------------------------------------------------------------------

    fn reading(&mut self, clause: &Clause) -> Result<(), Trouble> {
        const LOOKS: [&str; 6] = ["read", "get", "find", "list", "filter", "extract"];
        for &(at, verb) in &clause.verbs {
            let looks = self.class(verb).verbs.iter().any(|v| LOOKS.contains(&v.as_str()));
            let told = clause.counts && self.acts(verb);
            self.used[at] |= (looks && !self.acts(verb)) || told;
        }
        let available: Vec<usize> = clause.range.clone().filter(|&at| !self.negated[at]).collect();
        if self.selection(clause, &available)? {
            return Ok(());
        }
        if self.refers_back(clause, &available) {
            return Ok(());
        }
        if self.download(clause, &available)? {
            return Ok(());
        }
        if self.size_of_path(&available)? {
            return Ok(());
        }
        // An unknown verb may be an executor's own word.
        let strange = clause.verbs.iter().all(|&(_, v)| self.class(v).weak) && available.iter().any(|&at| self.items[at].is_unknown());
        if let Some((tool, filled)) = strange.then(|| self.by_template(clause)).flatten() {
            return self.push(tool, filled);
        }
        if let Some(tool) = self.reading_tool(clause, &available) {
            return self.read_with(tool, clause, &available);
        }
        if let Some((tool, filled)) = self.by_template(clause) {
            return self.push(tool, filled);
        }
        if let Some(tool) = self.by_rank() {
            return self.read_with(tool, clause, &available);
        }
        Err(Trouble::NoTool { words: self.said(clause.range.clone()) })
    }

    /// A question about what was done or found before («how many bytes you wrote»): no step of its own.
    fn refers_back(&self, clause: &Clause, available: &[usize]) -> bool {
        if self.steps.is_empty() {
            return false;
        }
        let spans = available.iter().any(|&at| !self.items[at].is_word() && !self.items[at].is_punctuation());
        let measured = available.iter().any(|&at| self.items[at].measure().is_some() || (self.items[at].past().is_some() && self.items[at].verb().is_none()));
        let idle = available.iter().all(|&at| self.items[at].is_noise() || self.items[at].is(Cue::Pronoun) || self.used[at] || self.items[at].is_punctuation() || self.items[at].is(Cue::HowMany) || self.items[at].is(Cue::Only));
        let weak = clause.counts || clause.verbs.iter().all(|&(_, v)| self.class(v).weak || !self.acts(v));
        let counted = clause.counts && available.iter().all(|&at| self.items[at].is_word());
        let told = clause.counts || clause.verbs.iter().all(|&(_, v)| self.class(v).weak);
        !spans && weak && (measured || (idle && told) || counted)
    }

    /// «download URL to FILE»: what is fetched is written to the path that a word of direction introduces.
    fn download(&mut self, clause: &Clause, available: &[usize]) -> Result<bool, Trouble> {
        let strong = clause.verbs.iter().find(|&&(_, v)| !self.class(v).weak && self.class(v).verbs[0] == "get");
        let urls: Vec<usize> = available.iter().copied().filter(|&at| matches!(self.items[at].what, What::Url(_))).collect();
        let paths: Vec<usize> = available.iter().copied().filter(|&at| path(&self.items[at]).is_some()).collect();
        let (Some(&(verb, _)), [target], false) = (strong, paths.as_slice(), urls.is_empty()) else { return Ok(false) };
        let directed = self.items[*target - 1].is(Cue::Into) || fill_label(self.items, *target);
        let (Some(getter), Some(writer)) = (self.tools.by_grammar("get", "urls"), self.tools.by_grammar("write", "files")) else { return Ok(false) };
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

    /// The size of one file or folder comes from looking it up, never from reading it. False when that is not asked.
    fn size_of_path(&mut self, available: &[usize]) -> Result<bool, Trouble> {
        let by_find = |at: &usize| self.items[*at].measure().is_some_and(|m| self.lexicons.measures[m].fields.contains_key("find"));
        let paths: Vec<usize> = available.iter().copied().filter(|&at| path(&self.items[at]).is_some()).collect();
        let (true, [at]) = (available.iter().any(by_find), paths.as_slice()) else { return Ok(false) };
        let Some(tool) = self.tools.by_grammar("find", "files") else { return Ok(false) };
        let Some((value, looks)) = path(&self.items[*at]) else { return Ok(false) };
        let (Some(place), Some(names)) = (tool.with_role(Role::Path).next(), tool.with_role(Role::Pattern).next()) else { return Ok(false) };
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

    /// Chooses among verbs and objects the executor that can take most of what was lifted.
    fn reading_tool(&self, clause: &Clause, available: &[usize]) -> Option<&'a Indexed> {
        let mut verbs: Vec<&str> = clause.verbs.iter().flat_map(|&(_, v)| self.class(v).verbs.iter().map(String::as_str)).collect();
        let weak = clause.verbs.iter().all(|&(_, v)| self.class(v).weak);
        if weak {
            verbs.extend(["read", "get", "list", "find"]);
        }
        let folder = available.iter().any(|&at| path(&self.items[at]).is_some_and(|(_, l)| l != Looks::File));
        let file = available.iter().any(|&at| path(&self.items[at]).is_some_and(|(_, l)| l == Looks::File));
        let mut objects: Vec<&str> = available.iter().filter(|&&at| !is_label(self.items, at)).filter_map(|&at| self.items[at].object()).map(|o| self.lexicons.objects[o].as_str()).collect();
        if objects.is_empty() && clause.pronoun {
            objects.extend(self.steps.last().and_then(|s| self.tools.indexed(&s.tool)).map(|t| t.object.as_str()));
        }
        let named = available.iter().any(|&at| at > 0 && self.items[at - 1].is(Cue::Named));
        let several = available.iter().filter(|&&at| path(&self.items[at]).is_some()).count() > 1;
        let implied = [
            (self.has(available, |w| matches!(w, What::Url(_))), "urls"),
            (self.has(available, |w| matches!(w, What::Path { .. } | What::Globs { .. } | What::Bound { .. })), "files"),
            (self.has(available, |w| matches!(w, What::Zone(_))), "now"),
        ];
        objects.extend(implied.into_iter().filter_map(|(there, object)| there.then_some(object)));
        // Folders are listed by the executor that lists files where there is none of their own.
        if objects.contains(&"dirs") {
            objects.push("files");
        }
        let mut best: Option<(usize, &'a Indexed)> = None;
        for verb in &verbs {
            for object in &objects {
                let Some(tool) = self.tools.by_grammar(verb, object) else { continue };
                if named && several && tool.verb == "read" {
                    continue;
                }
                let misfit = (weak && tool.verb == "read" && folder && !file) || (matches!(tool.verb.as_str(), "find" | "list") && file && !folder && weak);
                let takes = fill(self.lexicons, tool, self.items, available, None).used.len() * 2 + usize::from(!misfit);
                if best.is_none_or(|(most, _)| takes > most) {
                    best = Some((takes, tool));
                }
            }
        }
        best.map(|(_, tool)| tool)
    }

    fn by_template(&self, clause: &Clause) -> Option<(&'a Indexed, Filled)> {
        let items = &self.items[clause.range.clone()];
        for tool in self.tools.all() {
            for said in &tool.said {
                let accepts = |name: &str, item: &Item| self.slot(tool, name, item).is_some();
                let Some(found) = said.template.matches(self.lexicons, items, accepts) else { continue };
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
                if tool.acts() || !tool.missing(&filled.args).is_empty() {
                    continue;
                }
                return Some((tool, filled));
            }
        }
        None
    }

    /// The value that an item gives to an argument, where its kind fits the argument's role.
    fn slot(&self, tool: &Indexed, argument: &str, item: &Item) -> Option<Value> {
        let role = tool.role(argument).unwrap_or(Role::Option);
        let value = match (&item.what, role) {
            (What::Path { value, .. }, Role::Path | Role::TargetPath) => json!(value),
            (What::Url(url), Role::Url) => json!(url),
            (What::Zone(zone), Role::Timezone) => json!(zone),
            (What::Number(n), Role::Count | Role::Option | Role::Size) => json!(n),
            (What::Quoted(text), Role::Content | Role::Field | Role::Option | Role::Pattern | Role::Text | Role::Id) => json!(text),
            (What::Email(address), Role::Recipient | Role::Id) => json!(address),
            (What::Word(senses), Role::Field | Role::Option | Role::Id) if senses.is_empty() => json!(self.text[item.start..item.end]),
            _ => return None,
        };
        let list = json!([value]);
        (tool.accepts(argument, &value) || tool.accepts(argument, &list)).then_some(value)
    }

    /// The pre-filter's first, where it leads clearly and only reads.
    fn by_rank(&self) -> Option<&'a Indexed> {
        let first = self.ranking.candidates.first().filter(|c| c.score >= 10 && self.ranking.confidence_permille >= 300)?;
        self.tools.indexed(&first.tool).filter(|t| !t.acts())
    }

    fn read_with(&mut self, tool: &'a Indexed, clause: &Clause, available: &[usize]) -> Result<(), Trouble> {
        // «how many files does ~/docs contain»: nothing follows that would be looked for.
        for &at in available {
            let next = self.items.get(at + 1);
            let idle = next.is_none_or(|i| i.is_punctuation() || i.is(Cue::Inside) || i.senses().iter().any(|s| matches!(s, Sense::Setting(_))));
            self.used[at] |= self.items[at].is(Cue::Contains) && idle;
        }
        for &at in available {
            if tool.speaks_of(&self.items[at].folded) {
                self.used[at] = true;
            }
        }
        if tool.with_role(Role::Entries).next().is_some() {
            return self.over_entries(tool, clause, available, None);
        }
        let mut filled = fill(self.lexicons, tool, self.items, available, None);
        if let Some(text) = tool.with_role(Role::Text).next().filter(|a| !filled.args.contains_key(*a)) {
            self.refer_content(tool, text, clause, &mut filled)?;
        }
        self.push(tool, filled)
    }

    // --- selections from a text: lines, matches, values ---------------------------------------------------------

    /// Plans what a clause picks out of a text, with the step that brings the text. False when it picks nothing.
    fn selection(&mut self, clause: &Clause, available: &[usize]) -> Result<bool, Trouble> {
        let lines = available.iter().copied().find(|&at| matches!(self.items[at].what, What::Lines(_)));
        let search = self.search(clause, available);
        let extract = if search.is_none() { self.extraction(clause, available) } else { None };
        let brings = self.sources(available);
        let writes = clause.verbs.iter().any(|&(_, v)| self.acts(v));
        if lines.is_none() && search.is_none() && extract.is_none() && !(writes && !brings.is_empty()) {
            return Ok(false);
        }
        if extract.is_some() && lines.is_none() && brings.is_empty() && self.steps.is_empty() {
            return Ok(false);
        }
        let in_place = self.bring(&brings, lines.filter(|_| search.is_none()))?;
        if let Some((at, text, invert, cue)) = search {
            let tool = self.tools.by_grammar("filter", "texts_lines").ok_or_else(|| Trouble::NoTool { words: self.said(cue..at + 1) })?;
            let rest: Vec<usize> = available.iter().copied().filter(|&i| matches!(self.items[i].what, What::Word(_))).collect();
            let mut filled = fill(self.lexicons, tool, self.items, &rest, None);
            filled.args.remove("regex");
            filled.set("substring", json!(text), self.items, at);
            if let Some(not) = invert {
                filled.set("invert", json!(true), self.items, not);
            }
            filled.used.push(cue);
            self.select(tool, filled)?;
        }
        if let Some(at) = lines.filter(|_| !in_place) {
            let tool = self.tools.by_grammar("filter", "texts_lines").ok_or_else(|| Trouble::NoTool { words: self.said(at..at + 1) })?;
            let filled = fill(self.lexicons, tool, self.items, &[at], None);
            self.select(tool, filled)?;
        }
        if let Some(filled) = extract {
            let tool = self.tools.by_grammar("extract", "entries").ok_or_else(|| Trouble::NoTool { words: self.said(clause.range.clone()) })?;
            self.select(tool, filled)?;
        }
        self.explain_nouns(available);
        Ok(true)
    }

    /// Nouns of texts and their lines, and the labels of what was lifted, are explained by a selection.
    fn explain_nouns(&mut self, available: &[usize]) {
        for &at in available {
            let text = self.items[at].object().is_some_and(|o| self.lexicons.objects[o].starts_with("texts"));
            self.used[at] |= text;
        }
    }

    /// Files and addresses that a text may come from.
    fn sources(&self, available: &[usize]) -> Vec<usize> {
        let is_source = |what: &What| matches!(what, What::Path { .. } | What::Url(_) | What::Globs { .. });
        available.iter().copied().filter(|&at| is_source(&self.items[at].what) && !self.used[at]).collect()
    }

    /// Adds the step that reads the sources; true when it takes the wanted lines itself.
    fn bring(&mut self, sources: &[usize], lines: Option<usize>) -> Result<bool, Trouble> {
        if sources.is_empty() {
            return self.bring_earlier(lines);
        }
        let url = self.has(sources, |w| matches!(w, What::Url(_)));
        let tool = if url { self.tools.by_grammar("get", "urls") } else { self.tools.by_grammar("read", "files") };
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
    fn last_gives_content(&self) -> bool {
        self.steps.last().is_some_and(|step| {
            let several = step.args.get("from_step").is_some()
                || step.args.as_object().is_some_and(|args| args.values().any(|v| v.as_array().is_some_and(|l| l.len() > 1)));
            let reads = |t: &Indexed| matches!(t.verb.as_str(), "read" | "get");
            self.tools.indexed(&step.tool).is_some_and(|t| t.gives_content() && !(several && reads(t)))
        })
    }

    /// The text of an earlier step: its content, or the files that it found, read.
    fn bring_earlier(&mut self, lines: Option<usize>) -> Result<bool, Trouble> {
        let Some(tool) = self.steps.last().and_then(|s| self.tools.indexed(&s.tool)) else {
            return Err(Trouble::Missing { role: Role::Path, argument: "paths".to_owned(), tool: "read_files".to_owned() });
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
    fn narrow(&mut self, at: usize) -> bool {
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

    fn select(&mut self, tool: &'a Indexed, mut filled: Filled) -> Result<(), Trouble> {
        if let Some(argument) = tool.with_role(Role::Text).next() {
            if !self.last_gives_content() {
                return Err(Trouble::NoAntecedent);
            }
            filled.refer(argument, u32::try_from(self.steps.len()).unwrap_or(u32::MAX), "content");
        }
        self.push(tool, filled)
    }

    /// The text that lines must hold: after «containing», or quoted beside a search in a file.
    fn search(&self, clause: &Clause, available: &[usize]) -> Option<(usize, String, Option<usize>, usize)> {
        let of_lines = available.iter().any(|&at| self.items[at].object().is_some_and(|o| self.lexicons.objects[o] == "texts_lines") || matches!(self.items[at].what, What::Lines(_)));
        let text = |at: usize| match &self.items[at].what {
            What::Quoted(text) => Some(text.clone()),
            What::Path { value, quoted: true, .. } => Some(value.clone()),
            What::Word(senses) if senses.is_empty() => Some(self.text[self.items[at].start..self.items[at].end].to_owned()),
            _ => None,
        };
        let reads = self.sources(available).iter().any(|&at| match &self.items[at].what {
            What::Path { looks, quoted, .. } => *looks == Looks::File || (of_lines && !quoted),
            What::Url(_) => true,
            _ => of_lines,
        });
        if !(reads || self.last_gives_content()) {
            return None;
        }
        for &at in available {
            let explicit = self.items[at].is(Cue::Contains);
            if !explicit || (self.items[at].is_noise() && !of_lines) {
                continue;
            }
            let next = (at + 1..clause.range.end).find(|&n| !(self.items[n].is_noise() || self.items[n].is(Cue::Contains) || self.items[n].object().is_some()));
            if let Some((next, text)) = next.and_then(|n| Some((n, text(n)?))) {
                let invert = (clause.range.start..at).rev().take(3).find(|&n| self.items[n].is(Cue::Not));
                return Some((next, text, invert, at));
            }
        }
        let seeks = clause.verbs.iter().any(|&(_, v)| matches!(self.class(v).verbs[0].as_str(), "find" | "filter"));
        let asks = of_lines || seeks || clause.verbs.iter().all(|&(_, v)| self.class(v).weak);
        let field = available.iter().any(|&at| self.items[at].is(Cue::Field) && self.items[at].measure().is_none());
        let quoted = available.iter().copied().find(|&at| matches!(self.items[at].what, What::Quoted(_))).filter(|_| !field || of_lines);
        quoted.filter(|_| asks && !clause.verbs.iter().any(|&(_, v)| self.acts(v))).and_then(|at| Some((at, text(at)?, None, at)))
    }

    /// Fields or regular forms to pick out, as arguments of the executor that extracts.
    fn extraction(&self, clause: &Clause, available: &[usize]) -> Option<Filled> {
        let tool = self.tools.by_grammar("extract", "entries")?;
        let mut filled = Filled::default();
        let field = tool.with_role(Role::Field).next()?;
        let adjacent = |at: usize| is_label(self.items, at) && self.items[at].object().is_some();
        for &at in available {
            let Some((form, plural)) = self.items[at].form().filter(|_| !adjacent(at)) else { continue };
            let form = self.lexicons.forms[form].as_str();
            let before = at.checked_sub(1).map_or("", |b| self.items[b].folded.as_str());
            let plural = plural || clause.counts || available.iter().any(|&i| self.items[i].is(Cue::Every)) || matches!(before, "i" | "gli" | "le" | "dei" | "degli" | "delle");
            if tool.accepts("form", &json!(form)) {
                filled.set("form", json!(form), self.items, at);
                if !plural {
                    filled.add(tool, field, json!(self.items[at].folded.replace(' ', "_")), self.items, at);
                }
            }
        }
        if filled.used.is_empty() {
            for &at in available {
                let follows = at > clause.range.start
                    && (self.items[..at].iter().enumerate().rev().take_while(|(i, _)| *i >= clause.range.start)).find(|(_, i)| !i.is(Cue::Determiner) || i.is(Cue::Only) || i.is(Cue::Field)).is_some_and(|(_, i)| i.is(Cue::Only) || i.is(Cue::Field));
                let name = match &self.items[at].what {
                    What::Word(senses) if senses.is_empty() => self.text[self.items[at].start..self.items[at].end].to_owned(),
                    What::Quoted(name) => name.clone(),
                    _ => continue,
                };
                if follows {
                    filled.add(tool, field, json!(name), self.items, at);
                }
            }
            if !filled.used.is_empty() {
                filled.used.extend(clause.range.clone().filter(|&i| self.items[i].is(Cue::Field)));
            }
        }
        (!filled.used.is_empty()).then_some(filled)
    }

    // --- the end of a clause ------------------------------------------------------------------------------------

    fn push(&mut self, tool: &Indexed, filled: Filled) -> Result<(), Trouble> {
        for &at in &filled.used {
            self.used[at] = true;
        }
        if let Some(argument) = tool.missing(&filled.args).into_iter().next() {
            let role = tool.role(&argument).unwrap_or(Role::Option);
            return Err(Trouble::Missing { role, argument, tool: tool.name().to_owned() });
        }
        for (argument, value) in &filled.args {
            if argument != "from_step" && !tool.accepts(argument, value) {
                return Err(Trouble::Unclear { words: argument.clone() });
            }
        }
        self.explain(tool);
        self.steps.push(PlannedStep { tool: tool.name().to_owned(), args: Value::Object(filled.args), provenance: filled.provenance });
        Ok(())
    }

    /// Nouns that name the executor's own object are explained by its being chosen.
    fn explain(&mut self, tool: &Indexed) {
        for at in 0..self.items.len() {
            let verb = self.items[at].verb().is_some_and(|v| !self.acts(v) && self.class(v).verbs.contains(&tool.verb));
            let noun = self.items[at].object().is_some_and(|o| {
                let name = self.lexicons.objects[o].as_str();
                let object = name.split('_').next() == Some(tool.object.as_str());
                object || (name == "dirs" && tool.object == "files") || is_label(self.items, at)
            });
            let today = tool.object == "now" && matches!(self.items[at].what, What::Window { today: true, .. });
            self.used[at] |= (noun || today || verb) && !self.items[at].is(Cue::Superlative);
        }
    }

    /// What the clause wants told about the result: a count, or one quantity.
    fn tell(&mut self, clause: &Clause, before: usize) -> Result<(), Trouble> {
        let range = clause.range.clone().filter(|&at| !self.negated[at]);
        let measures: Vec<usize> = range.clone().filter(|&at| self.items[at].measure().is_some()).collect();
        let past = range.clone().find_map(|at| Some((at, self.items[at].past()?)));
        let asked = |at: &usize| {
            let noun = self.items[*at].object().is_some() || self.items[*at].form().is_some();
            clause.counts || clause.only.is_some_and(|only| only < *at) && !noun || !noun
        };
        let Some(last) = self.steps.last() else { return Ok(()) };
        let Some(tool) = self.tools.indexed(&last.tool) else { return Ok(()) };
        if let Some(at) = measures.into_iter().find(|at| asked(at)) {
            let measure = self.items[at].measure().map(|m| &self.lexicons.measures[m]);
            let fits = past.is_none_or(|(_, verb)| self.class(verb).verbs.contains(&tool.verb));
            if let Some(field) = measure.and_then(|m| m.fields.get(&tool.verb)).filter(|_| fits) {
                self.answer = AnswerSpec::Field { path: field.clone() };
                self.used[at] = true;
                if let Some((at, _)) = past {
                    self.used[at] = true;
                }
                return Ok(());
            }
            if self.steps.len() == before || past.is_some() {
                return Err(Trouble::NoMeasure { words: self.said(clause.range.clone()) });
            }
        }
        if clause.counts {
            if !tool.gives_entries() {
                return Err(Trouble::NoMeasure { words: self.said(clause.range.clone()) });
            }
            self.answer = AnswerSpec::Count;
        } else if self.steps.len() > before {
            self.answer = AnswerSpec::Result;
        }
        Ok(())
    }
}

/// «to the file ~/a.txt»: a noun stands between the word of direction and the path.
fn fill_label(items: &[Item], target: usize) -> bool {
    items[..target].iter().rev().take(4).find(|i| i.object().is_none() && !(i.is(Cue::Determiner) && !i.is(Cue::Into))).is_some_and(|i| i.is(Cue::Into))
}
