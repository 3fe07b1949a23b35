//! What is written when it is a list: entries are planned first, then written in the columns that they have.

use serde_json::json;

use super::super::fill::{fill, is_label, path};
use super::super::items::What;
use super::super::lexicon::{Cue, Sense};
use super::super::lift::Looks;
use super::super::tools::Indexed;
use super::wanted::Kind;
use super::{Builder, Clause, Trouble};
use crate::plan::{AnswerSpec, Origin};

impl Builder<'_> {
    /// «save the list of files in ~/x to …»: what is written are entries, which are planned first. False when it is text.
    pub(super) fn bring_listed(&mut self, clause: &Clause, act: usize, sources: &[usize]) -> Result<bool, Trouble> {
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
        let place = sources.iter().any(folder) || narrowed;
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
    pub(super) fn as_links(&mut self) -> bool {
        let Some(tool) = self.tools.by_grammar("read", "urls_html") else { return false };
        let getter = self.tools.by_grammar("get", "urls");
        let Some(step) =
            self.steps.last_mut().filter(|s| s.tool == tool.name() || getter.is_some_and(|g| g.name() == s.tool))
        else {
            return false;
        };
        let Some(args) = step.args.as_object_mut().filter(|a| a.len() == 1) else { return false };
        args.insert("what".to_owned(), json!("links"));
        step.provenance.insert("/what".to_owned(), Origin::Default);
        tool.name().clone_into(&mut step.tool);
        true
    }

    /// Whether the last step gives entries rather than one text.
    pub(super) fn last_gives_entries(&self) -> bool {
        self.steps.last().is_some_and(|step| {
            let links = step.args.get("what").is_some_and(|what| what == "links");
            links
                || self.tools.indexed(&step.tool).is_some_and(|t| {
                    t.gives_entries() && t.verb != "extract" && t.verb != "compare" && t.object != "texts"
                })
        })
    }

    /// Writes the entries of the last step, in the columns of the table that they came from.
    pub(super) fn write_entries(
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
}
