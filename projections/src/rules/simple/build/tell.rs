//! What a clause wants told about the result: all of it, a count, one quantity.

use super::{Builder, Clause, Trouble};
use crate::plan::AnswerSpec;

impl Builder<'_> {
    /// What the clause wants told about the result: a count, or one quantity.
    pub(super) fn tell(&mut self, clause: &Clause, before: usize) -> Result<(), Trouble> {
        let range = clause.range.clone().filter(|&at| !self.negated[at]);
        let measures: Vec<usize> = range.clone().filter(|&at| self.items[at].measure().is_some()).collect();
        let past = range.clone().find_map(|at| Some((at, self.items[at].past()?)));
        let asked = |at: &usize| {
            let noun = self.items[*at].object().is_some() || self.items[*at].form().is_some();
            clause.counts || !noun
        };
        let Some(last) = self.steps.last() else { return Ok(()) };
        let Some(tool) = self.tools.indexed(&last.tool) else { return Ok(()) };
        let data = tool.verb == "get" && tool.object == "files";
        // A number that was computed is itself the answer; so are groups with their counts.
        let ran = tool.verb == "create" && tool.object == "processes";
        let told = data || ran || matches!(tool.verb.as_str(), "compute" | "group" | "compare" | "undo");
        if told && self.steps.len() > before {
            for at in measures.into_iter().chain(past.map(|(at, _)| at)) {
                self.used[at] = true;
            }
            self.answer = AnswerSpec::Result;
            return Ok(());
        }
        let counted = clause.counts && tool.gives_entries();
        if let Some(at) = measures.into_iter().find(|at| asked(at)).filter(|_| !(counted && tool.verb == "read")) {
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
            let links = last.args.get("what").is_some_and(|what| what == "links");
            if !tool.gives_entries() && !links {
                return Err(Trouble::NoMeasure { words: self.said(clause.range.clone()) });
            }
            self.answer = AnswerSpec::Count;
        } else if self.steps.len() > before {
            self.answer = AnswerSpec::Result;
        }
        Ok(())
    }
}
