//! Messages to people, and what was asked to happen again: their executors take words, not files.
//!
//! A recipient is a name or address that the words hold; what is told is the rest of the sentence as it was written.

use serde_json::json;

use super::super::fill::{Filled, words};
use super::super::items::{Item, What};
use super::super::lexicon::{Cue, Recurrence};
use super::super::lift::byte;
use super::{Builder, Trouble};
use crate::manifest::Role;
use crate::plan::Origin;

impl Builder<'_> {
    /// «let Anna know that dinner is ready», «manda a Marco "arrivo"». True when the sentence was one.
    pub(super) fn message(&mut self) -> Result<bool, Trouble> {
        let Some(tool) = self.tools.by_grammar("send", "messages") else { return Ok(false) };
        let sends = |i: &Item| i.is(Cue::Tells) || i.verb().is_some_and(|v| self.class(v).verbs[0] == "send");
        let Some(at) = (0..self.items.len()).find(|&at| sends(&self.items[at])) else { return Ok(false) };
        let leads = self.items[..at].iter().all(|i| i.is_noise() || i.is_punctuation() || i.is(Cue::Listener));
        let spans = self.items.iter().any(|i| matches!(i.what, What::Path { .. } | What::Globs { .. } | What::Url(_)));
        if !leads || spans || self.items[..at].iter().any(|i| i.is(Cue::Asking) || i.is(Cue::Not)) {
            return Ok(false);
        }
        let strict = self.items[at].verb().is_none_or(|v| self.class(v).verbs[0] != "send");
        let Some((to, name, last)) = self.recipient(at) else {
            if strict {
                return Ok(false);
            }
            let known = self.items[at + 1..].iter().all(|i| i.is_noise() || self.names(i, "messages"));
            let missing =
                Trouble::Missing { role: Role::Recipient, argument: "to".to_owned(), tool: tool.name().to_owned() };
            return if known { Err(missing) } else { Ok(false) };
        };
        let (others, last) = self.more_recipients(last);
        self.refuse_choice(last)?;
        let body = self.told(at, to, last);
        let Some((body, origin)) = body else {
            for at in 0..self.items.len() {
                self.used[at] = true;
            }
            if strict && self.items.len() > last + 1 {
                return Ok(false);
            }
            return Err(Trouble::Missing {
                role: Role::Content,
                argument: "body".to_owned(),
                tool: tool.name().to_owned(),
            });
        };
        let mut filled = Filled::default();
        let mut names = vec![name];
        for (index, (name, item)) in (1..).zip(others) {
            names.push(name);
            filled.provenance.insert(format!("/to/{index}"), words(&self.items[item]));
        }
        filled.args.insert("to".to_owned(), json!(names));
        filled.provenance.insert("/to/0".to_owned(), words(&self.items[to]));
        filled.args.insert("body".to_owned(), json!(body));
        filled.provenance.insert("/body".to_owned(), origin);
        filled.used.extend(0..self.items.len());
        self.push(tool, filled)?;
        Ok(true)
    }

    /// The item that is a person: an address, or a name in capitals right after the verb; how it is written, and the last item of it.
    fn recipient(&self, verb: usize) -> Option<(usize, String, usize)> {
        let passes = |i: &Item| {
            let name = i.is_unknown() || i.forgiven || i.is(Cue::People);
            !name
                && (i.is_noise()
                    || i.is(Cue::Into)
                    || self.names(i, "messages")
                    || i.is(Cue::Tells)
                    || i.is(Cue::Determiner))
        };
        let at = (verb + 1..self.items.len()).take(8).find(|&at| !passes(&self.items[at]) && !self.is_quote(at))?;
        let item = &self.items[at];
        if let What::Email(address) = &item.what {
            return Some((at, address.clone(), at));
        }
        let named = |at: usize| {
            let item = self.items.get(at)?;
            let written = &self.text[item.start..item.end];
            let name =
                item.is_word() && (item.verb().is_none() || item.forgiven) && written.starts_with(char::is_uppercase);
            name.then_some(written)
        };
        if item.is(Cue::People) && named(at + 1).is_none() {
            return Some((at, self.said(at..at + 1), at));
        }
        if !item.is(Cue::People) {
            named(at)?;
        }
        let titled = |i: usize| {
            self.items.get(i).is_some_and(|p| p.what == What::Punctuation('.')) && self.items[i - 1].is(Cue::Title)
        };
        let more = (at + 1..at + 4)
            .take_while(|&i| titled(i) || named(i).is_some() && (self.items[i].is_unknown() || self.items[i].forgiven))
            .last();
        let last = more.unwrap_or(at);
        Some((at, self.said(at..last + 1), last))
    }

    /// «to Julia and Tom»: the further names, and the last item of them.
    pub(super) fn more_recipients(&self, mut last: usize) -> (Vec<(String, usize)>, usize) {
        let joins = |i: &Item| i.is(Cue::Connector) || (i.is(Cue::Both) && !i.is(Cue::Saying));
        // «sia a Lucia che a Sandro»: «che» joins where «a» and a name follow.
        let both = self.items[..=last].iter().any(|i| i.is(Cue::Both));
        let capital = |i: &Item| i.is_word() && self.text[i.start..i.end].starts_with(char::is_uppercase);
        let paired = |at: usize| {
            both && self.items[at].is(Cue::Both)
                && self.items.get(at + 1).is_some_and(|i| i.is(Cue::Into))
                && self.items.get(at + 2).is_some_and(capital)
        };
        let mut others = Vec::new();
        while let Some(next) =
            self.items.get(last + 1).filter(|i| joins(i) || paired(last + 1) || i.what == What::Punctuation(','))
        {
            let skip = usize::from(next.is_punctuation() && self.items.get(last + 2).is_some_and(joins));
            let mut at = last + 2 + skip;
            while self.items.get(at).is_some_and(|i| i.is(Cue::Determiner) || i.is(Cue::Into)) && at < last + 5 {
                at += 1;
            }
            let Some(item) = self.items.get(at) else { break };
            let written = &self.text[item.start..item.end];
            let named = item.is(Cue::People)
                || (item.is_word() && (item.is_unknown() || item.forgiven) && written.starts_with(char::is_uppercase));
            match &item.what {
                What::Email(address) => others.push((address.clone(), at)),
                _ if named => others.push((written.to_owned(), at)),
                _ => break,
            }
            last = at;
        }
        (others, last)
    }

    /// «Anna or Franca»: which of them is for the person to say.
    pub(super) fn refuse_choice(&self, last: usize) -> Result<(), Trouble> {
        let or = |i: &Item| i.is(Cue::Choice);
        let before = self.items[..last].iter().rposition(or);
        let after = self.items.get(last + 1).is_some_and(or);
        match before.or(after.then_some(last)) {
            Some(at) => Err(Trouble::Unclear { words: self.said(at..self.items.len().min(last + 3)) }),
            None => Ok(()),
        }
    }

    fn is_quote(&self, at: usize) -> bool {
        matches!(self.items[at].what, What::Quoted(_))
    }

    /// What is told: a quotation, what follows «that» or a colon, or the rest of the sentence.
    fn told(&self, verb: usize, recipient: usize, last: usize) -> Option<(String, Origin)> {
        let quoted = (verb + 1..self.items.len()).find_map(|at| match &self.items[at].what {
            What::Quoted(text) => Some((text.clone(), words(&self.items[at]))),
            _ => None,
        });
        if quoted.is_some() {
            return quoted;
        }
        let mark = |at: &usize| self.items[*at].is(Cue::Saying) || self.items[*at].what == What::Punctuation(':');
        let mut start = last + 1;
        // «message Ben and tell him …»
        let joins = self.items.get(start).is_some_and(|i| i.is(Cue::Connector) || i.is_punctuation());
        let retold = (start + 1..start + 4).find(|&at| self.items.get(at).is_some_and(|i| i.is(Cue::Tells)));
        if let Some(at) = retold.filter(|_| joins) {
            start = at + 1;
            while self
                .items
                .get(start)
                .is_some_and(|i| matches!(i.folded.as_str(), "him" | "her" | "them" | "gli" | "le"))
            {
                start += 1;
            }
        }
        let before = (verb + 1..recipient).find(mark);
        while self.items.get(start).is_some_and(|i| {
            i.is(Cue::Saying)
                || matches!(i.what, What::Punctuation(':' | ','))
                || (i.is(Cue::Determiner) && self.items.get(start + 1).is_some_and(|n| self.names(n, "messages")))
                || self.names(i, "messages")
                || (i.is(Cue::Inside)
                    && (start + 1..start + 3).any(|at| self.items.get(at).is_some_and(|n| self.names(n, "messages"))))
        }) {
            start += 1;
        }
        // «tell that dinner is ready to Anna» would need the rest before the name.
        if before.is_some() || start >= self.items.len() {
            return None;
        }
        let marked = start > last + 1;
        let strict =
            self.items[verb].is(Cue::Tells) && self.items[verb].verb().is_none_or(|v| self.class(v).verbs[0] != "send");
        let end = self.items.last()?.end;
        let rest = self.items.len() - start;
        let from = self.items[start].start;
        let person = self.items[recipient].is(Cue::People)
            || self.text[self.items[recipient].start..].starts_with(char::is_uppercase);
        if (strict && !marked && !(person && rest > 2)) || (!marked && rest < 2) {
            return None;
        }
        // «could you let Anna know that dinner is ready?»: the question is ours, not hers.
        let asked = self.items[..verb].iter().any(|i| !i.is_punctuation());
        let text = self.text[from..end].trim_end();
        let text = if asked && marked { text.strip_suffix('?').unwrap_or(text).trim_end() } else { text };
        let bare = self.items[start..].iter().all(|i| {
            i.is(Cue::Determiner)
                || self.names(i, "messages")
                || self.names(i, "texts")
                || i.is_punctuation()
                || self.names(i, "texts_lines")
        });
        if bare {
            return None;
        }
        let to = from + text.len();
        text.contains(char::is_alphanumeric)
            .then(|| (text.to_owned(), Origin::Words { start: byte(from), end: byte(to) }))
    }

    /// «cancel the backup reminder», «le mie attività programmate»: what was asked to recur. True when it was planned.
    pub(super) fn tasks(&mut self) -> Result<bool, Trouble> {
        let noun = (0..self.items.len()).find(|&at| self.names(&self.items[at], "tasks"));
        match noun.and_then(|noun| self.next_of(noun)) {
            Some(number) => self.shown(number),
            None => self.task(noun),
        }
    }

    /// What is asked of the task whose noun stands there.
    fn task(&mut self, noun: Option<usize>) -> Result<bool, Trouble> {
        let round = |i: &Item| i.is(Cue::Recurring) || i.is(Cue::Cadence) || i.is(Cue::Condition);
        let ends = |i: &Item| {
            i.verb().is_some_and(|v| matches!(self.class(v).verbs[0].as_str(), "cancel" | "pause" | "resume"))
        };
        let reminds = |i: &Item| i.verb().is_some_and(|v| self.class(v).verbs[0] == "schedule");
        let never = self.items.iter().any(|i| i.is(Cue::Not)) && self.items.iter().any(reminds);
        let quoted = self.items.iter().any(ends) && self.items.iter().any(|i| matches!(i.what, What::Quoted(_)));
        let implied = quoted
            || self.items.iter().any(ends) && (self.items.iter().any(round) || self.items.iter().any(reminds))
            || never;
        if noun.is_none() && !implied {
            return Ok(false);
        }
        // «stop the inbox task» speaks of a task, even where something on the disk is called so.
        let plain = |i: &Item| self.text[i.start..i.end].chars().all(char::is_alphanumeric);
        let spans = |i: &Item| matches!(i.what, What::Path { .. } | What::Globs { .. } | What::Url(_)) && !plain(i);
        if self.items.iter().any(spans) {
            return Ok(false);
        }
        let class = |name: &[&str]| {
            (0..self.items.len())
                .find(|&at| self.items[at].verb().is_some_and(|v| name.contains(&self.class(v).verbs[0].as_str())))
        };
        let (end, pause, go_on, run) =
            (class(&["cancel", "delete", "undo"]), class(&["pause"]), class(&["resume"]), class(&["run"]));
        let (name, verb, paused) = match (end, pause, go_on, run) {
            (Some(at), ..) => ("cancel_recurring", at, None),
            _ if never => ("cancel_recurring", self.items.iter().position(reminds).unwrap_or(0), None),
            (_, Some(at), ..) => ("toggle_recurring", at, Some(true)),
            (_, _, Some(at), _) => ("toggle_recurring", at, Some(false)),
            (.., Some(at)) => ("run_now_recurring", at, None),
            _ => match self.told_of_one() {
                Some((name, at)) => (name, at, None),
                None => return self.list_tasks(),
            },
        };
        let Some(tool) = self.tools.indexed(name) else { return Ok(false) };
        if let Some(span) = self.task_timed() {
            return Err(Trouble::Time { words: self.said(span) });
        }
        let looks = matches!(name, "history_recurring" | "show_recurring");
        let about = |at: &usize| {
            let item = &self.items[*at];
            let grammar = item.is_noise() || item.is_punctuation() || item.is(Cue::Determiner) || item.is(Cue::From);
            let shows = looks && item.verb().is_some();
            let idle = item.is(Cue::Not) || reminds(item) || item.is(Cue::Superlative) || shows;
            let task = self.names(item, "tasks") || self.counts_tasks(*at);
            *at != verb && Some(*at) != noun && !(grammar || idle || task)
        };
        let said: Vec<usize> = (0..self.items.len()).filter(about).collect();
        let (Some(&first), Some(&last)) = (said.first(), said.last()) else {
            return Err(Trouble::Missing { role: Role::Id, argument: "name".to_owned(), tool: name.to_owned() });
        };
        let mut filled = Filled::default();
        let (from, to) = (self.items[first].start, self.items[last].end);
        let crosses = (first..=last).any(|at| at == verb || Some(at) == noun);
        let text = if crosses {
            said.iter().map(|&at| self.said(at..at + 1)).collect::<Vec<_>>().join(" ")
        } else {
            self.text[from..to].to_owned()
        };
        filled.args.insert("name".to_owned(), json!(text));
        filled.provenance.insert("/name".to_owned(), Origin::Words { start: byte(from), end: byte(to) });
        if let Some(paused) = paused {
            filled.set("paused", json!(paused), self.items, verb);
        }
        filled.used.extend(0..self.items.len());
        self.push(tool, filled)?;
        Ok(true)
    }

    /// «when does task 6 run next»: the number of the task.
    fn next_of(&self, noun: usize) -> Option<usize> {
        let first = self.items.iter().find(|i| !i.is_punctuation())?;
        let when = |words: &Recurrence| words.when.contains(&first.folded);
        let number = if self.counts_tasks(noun + 1) { noun + 2 } else { noun + 1 };
        let numbered = matches!(self.items.get(number)?.what, What::Number(_));
        (numbered && self.lexicons.recurrence.iter().any(|(_, words)| when(words))).then_some(number)
    }

    /// Shows the task of that number.
    fn shown(&mut self, number: usize) -> Result<bool, Trouble> {
        let Some(tool) = self.tools.indexed("show_recurring") else { return Ok(false) };
        let mut filled = Filled::default();
        filled.set("name", json!(self.said(number..number + 1)), self.items, number);
        filled.used.extend(0..self.items.len());
        self.push(tool, filled)?;
        Ok(true)
    }

    /// «history of the task 3», «dettagli dell'attività inbox»: what is wanted of one task, and the item that says it.
    fn told_of_one(&self) -> Option<(&'static str, usize)> {
        let words = |at: usize| {
            let mut tables = self.lexicons.recurrence.iter().map(|(_, words)| words);
            let named = |list: &[String]| list.iter().any(|word| *word == self.items[at].folded);
            tables.find_map(|words| {
                let history = named(&words.history).then_some("history_recurring");
                history.or_else(|| named(&words.details).then_some("show_recurring"))
            })
        };
        if let Some(told) = (0..self.items.len()).find_map(|at| Some((words(at)?, at))) {
            return Some(told);
        }
        // «show task 1»: one that is called by its number.
        let noun = self.items.iter().position(|i| self.names(i, "tasks"))?;
        let next = if self.counts_tasks(noun + 1) { noun + 2 } else { noun + 1 };
        let number = matches!(self.items.get(next)?.what, What::Number(_)) && next + 1 == self.items.len();
        let shows = self.items[..noun].iter().position(|i| i.verb().is_some_and(|v| self.class(v).weak));
        Some(("show_recurring", shows.filter(|_| number)?))
    }

    /// «number», before the number of a task; «all», before tasks.
    fn counts_tasks(&self, at: usize) -> bool {
        let Some((item, next)) = self.items.get(at).zip(self.items.get(at + 1)) else { return false };
        let word = self.lexicons.recurrence.iter().any(|(_, words)| words.number.contains(&item.folded));
        let all = item.is(Cue::Every) || item.is(Cue::Recurring);
        (word && matches!(next.what, What::Number(_))) || (all && self.names(next, "tasks"))
    }

    fn list_tasks(&mut self) -> Result<bool, Trouble> {
        let asks =
            self.items.iter().filter_map(Item::verb).all(|v| self.class(v).weak || self.class(v).verbs[0] == "list");
        // «which reminders do I have on Friday»: all of them are listed with their times.
        let timed = |i: &Item| matches!(i.what, What::Window { .. } | What::Number(_));
        let plain = self.items.iter().all(|i| i.is_word() || i.is_punctuation() || timed(i));
        let unknown = self.items.iter().any(Item::is_unknown);
        let Some(tool) = self.tools.by_grammar("list", "recurring").filter(|_| asks && plain && !unknown) else {
            return Ok(false);
        };
        self.push(tool, Filled { used: (0..self.items.len()).collect(), ..Filled::default() })?;
        Ok(true)
    }
}
