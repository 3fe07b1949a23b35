//! Conditions on the rows of a table, and the columns that are shown: «with category rent», «price over 100», «only the columns …».
//!
//! A condition is a field, a comparison and a value that all stand in the words; nothing is guessed about the table.

use serde_json::{Value, json};

use super::super::items::{Item, What};
use super::super::lexicon::{Cue, Sense};
use super::wanted::{Condition, Reading};

impl Reading<'_, '_> {
    /// «with category rent», «whose price is over 100», «containing "x"».
    pub(super) fn conditions(&mut self) {
        let mut at = self.clause.range.start;
        while at < self.clause.range.end {
            let next = self.comparison(at).or_else(|| self.equality(at)).or_else(|| self.containing(at));
            at = match next {
                Some((condition, used)) => {
                    let end = used.iter().max().map_or(at, |&last| last) + 1;
                    self.wanted.conditions.push(condition);
                    self.wanted.used.extend(used);
                    end.max(at + 1)
                }
                None => at + 1,
            };
        }
    }

    /// «processes over 1 GB».
    pub(super) fn memory_bound(&mut self) {
        for &at in self.available {
            if let What::Bound { least, bytes } = self.items()[at].what {
                let op = if least { "gt" } else { "lt" };
                self.wanted.conditions.push(Condition { field: "memory".to_owned(), op, value: json!(bytes) });
                self.wanted.used.push(at);
            }
        }
    }

    /// The number or text that an item gives as a value.
    pub(super) fn value(&self, at: usize) -> Option<Value> {
        let item = self.item(at)?;
        let text = self.said(at);
        match &item.what {
            What::Number(n) => Some(json!(n)),
            // «class 3B» is no size.
            What::Bytes(_)
                if text.ends_with(['B', 'b']) && text.trim_end_matches(['B', 'b']).parse::<u64>().is_ok() =>
            {
                Some(json!(text))
            }
            What::Bytes(n) => Some(json!(n)),
            What::Quoted(text) => Some(json!(text)),
            What::Zone(_) | What::Email(_) => Some(json!(text)),
            What::Word(senses) => {
                if let Some(n) = senses.iter().find_map(|s| if let Sense::Number(n) = s { Some(*n) } else { None })
                    && !item.is_noise()
                {
                    return Some(json!(n));
                }
                let decimal = text.replace(',', ".").parse::<f64>().ok();
                let grammar =
                    item.is_noise() || item.is(Cue::Connector) || item.is(Cue::Determiner) || self.compares(at);
                decimal.map(|n| json!(n)).or_else(|| (!grammar).then(|| json!(text)))
            }
            _ => None,
        }
    }

    /// «price over 100», «price > 100», «quantity at least 3», «price between 10 and 20».
    pub(super) fn comparison(&self, at: usize) -> Option<(Condition, Vec<usize>)> {
        let field = self.column_name(at).filter(|_| !self.wanted.takes(at))?;
        let mut probe = at + 1;
        while self
            .item(probe)
            .is_some_and(|i| (i.is(Cue::Equal) || i.is(Cue::Column) || i.is_noise()) && !self.compares(probe))
            && probe < at + 4
        {
            probe += 1;
        }
        let item = self.item(probe)?;
        if item.is(Cue::Between) {
            let low = probe + 1;
            let (from, to) = (self.value(low)?, self.value(low + 2)?);
            let condition = Condition { field, op: "between", value: json!([from, to]) };
            return (from_number(&from) && from_number(&to)).then(|| (condition, (at..=low + 2).collect()));
        }
        if let What::Bound { least, bytes } = item.what {
            let op = if least { "gt" } else { "lt" };
            return Some((Condition { field, op, value: json!(bytes) }, (at..=probe).collect()));
        }
        let symbol = self.symbol(at, at + 1).filter(|_| probe == at + 1);
        if let Some(op) = symbol {
            let value = self.value(probe)?;
            return Some((Condition { field, op, value }, vec![at, probe]));
        }
        let op = self.comparator(probe)?;
        let number = probe + 1 + usize::from(self.item(probe + 1).is_some_and(|i| i.is_noise() && i.is_word()));
        let value = self.value(number).filter(from_number)?;
        // «products with more than 10 in the stock column»
        if let Some((column, last)) = self.column_after(number).filter(|_| !self.beside_column(at)) {
            return Some((Condition { field: column, op, value }, (at..=last).collect()));
        }
        Some((Condition { field, op, value }, (at..=number).collect()))
    }

    /// «… in the stock column», «… nella colonna giacenza»: the column that is named as one after a value.
    fn column_after(&self, value: usize) -> Option<(String, usize)> {
        let place = self.item(value + 1).filter(|i| i.is(Cue::Inside) || i.is(Cue::Beneath))?;
        let from = value + 1 + usize::from(!place.is(Cue::Column));
        let column = (from..from + 3).find(|&i| self.item(i).is_some_and(|i| i.is(Cue::Column)))?;
        let name = [column + 1, column - 1].into_iter().find(|&i| i > value + 1 && self.column_name(i).is_some())?;
        Some((self.column_name(name)?, name.max(column)))
    }

    pub(super) fn compares(&self, at: usize) -> bool {
        self.item(at).is_some_and(|i| i.is(Cue::MinSize) || i.is(Cue::MaxSize) || i.is(Cue::Between))
    }

    pub(super) fn comparator(&self, at: usize) -> Option<&'static str> {
        let item = self.item(at)?;
        let inclusive = matches!(
            item.folded.as_str(),
            "at least" | "almeno" | "at most" | "al massimo" | "no more than" | "non piu di" | "up to" | "fino a"
        );
        match (item.is(Cue::MinSize), item.is(Cue::MaxSize), inclusive) {
            (true, _, true) => Some("ge"),
            (true, _, false) => Some("gt"),
            (_, true, true) => Some("le"),
            (_, true, false) => Some("lt"),
            _ => None,
        }
    }

    /// The sign that stands between two items.
    pub(super) fn symbol(&self, left: usize, right: usize) -> Option<&'static str> {
        let (left, right) = (self.item(left)?, self.item(right)?);
        let gap = self.builder.text[left.end..right.start].trim();
        Some(match gap {
            ">" => "gt",
            "<" => "lt",
            ">=" | "≥" => "ge",
            "<=" | "≤" => "le",
            "=" | "==" => "eq",
            "!=" | "≠" | "<>" => "ne",
            _ => return None,
        })
    }

    /// «with category rent», «whose status is open», «where city = "Rome"»: a field and its value, side by side.
    pub(super) fn equality(&self, at: usize) -> Option<(Condition, Vec<usize>)> {
        if let Some(op) = self.symbol(at, at + 1) {
            let condition = Condition { field: self.column_name(at)?, op, value: self.value(at + 1)? };
            return Some((condition, vec![at, at + 1]));
        }
        let opens = self.item(at)?;
        let orders = opens.is(Cue::By) && self.sorts_or_groups(at);
        // «where price > 10 and city is Rome»
        let further = opens.is(Cue::Connector) && !opens.is(Cue::Choice) && !self.wanted.conditions.is_empty();
        if !(opens.is(Cue::Where) || opens.is(Cue::Contains) || further) || self.wanted.takes(at) || orders {
            return None;
        }
        let passes = |i: &Item| i.is(Cue::Determiner) || i.is(Cue::Column);
        let field_at = (at + 1..at + 4).find(|&i| self.item(i).is_some_and(|item| !passes(item)))?;
        let field =
            self.column_name(field_at).filter(|_| !self.wanted.takes(field_at) && !self.is_rows_noun(field_at))?;
        if let Some((condition, mut used)) = self.comparison(field_at) {
            used.push(at);
            return Some((condition, used));
        }
        let (mut negated, mut stated) = (false, false);
        let mut value_at = field_at + 1;
        while let Some(item) = self.item(value_at) {
            let value = matches!(item.what, What::Quoted(_) | What::Number(_));
            if item.is(Cue::Descending) || item.is(Cue::Ascending) {
                return None;
            }
            if value || !(item.is(Cue::Equal) || item.is(Cue::Not) || item.is(Cue::Column) || item.is(Cue::Determiner))
            {
                break;
            }
            negated |= item.is(Cue::Not);
            stated |= item.is(Cue::Equal);
            value_at += 1;
        }
        let bare = opens.is(Cue::From) || opens.is(Cue::Inside) || further;
        if bare && !stated && !self.beside_column(field_at) && !self.named_column(field_at) {
            return None;
        }
        let ranks = |s: &Sense| matches!(s, Sense::Order(_) | Sense::Aggregate(_));
        let ranked = self.item(value_at).is_some_and(|i| i.senses().iter().any(ranks));
        // «equal to yes»: what an explicit comparison leads to is a value, whatever else the word is.
        let stated_well = (field_at..value_at).any(|i| self.items()[i].is(Cue::Equal) && !self.items()[i].is_noise());
        let word = self.item(value_at).filter(|i| stated_well && i.is_noise() && i.is_word());
        let value = self.value(value_at).or_else(|| word.map(|_| json!(self.said(value_at))));
        let value = value.filter(|_| !self.wanted.takes(value_at) && !ranked)?;
        let text = self.phrase(value_at);
        let (value, last) = match (&value, text) {
            (Value::String(_), Some((text, last))) => (json!(text), last),
            _ => (value, value_at),
        };
        let op = match self.symbol(field_at, value_at) {
            Some(op) => op,
            None if negated => "ne",
            None => "eq",
        };
        let (op, value, last) = match op {
            "eq" => self.any_of(value, last),
            _ => (op, value, last),
        };
        Some((Condition { field, op, value }, (at..=last).collect()))
    }

    /// «category is food or fun»: any of the values that are named one after the other. What is compared itself
    /// («or price > 10») is a condition of its own.
    fn any_of(&self, first: Value, mut last: usize) -> (&'static str, Value, usize) {
        let mut values = vec![first];
        while self.item(last + 1).is_some_and(|or| or.is(Cue::Choice) && !self.wanted.takes(last + 1)) {
            let plain = |item: &Item| item.is_unknown() || matches!(item.what, What::Quoted(_) | What::Number(_));
            let free = self.item(last + 2).is_some_and(|item| plain(item) && !self.wanted.takes(last + 2));
            let compared = self.item(last + 3).is_some_and(|item| item.is(Cue::Equal)) || self.compares(last + 3);
            let Some(value) = self.value(last + 2).filter(|_| free && !compared) else { break };
            values.push(value);
            last += 2;
        }
        match values.len() {
            1 => ("eq", values.remove(0), last),
            _ => ("in", json!(values), last),
        }
    }

    /// A noun that usually names a column of a household's tables.
    pub(super) fn named_column(&self, at: usize) -> bool {
        self.items()[at].is_unknown()
    }

    pub(super) fn is_rows_noun(&self, at: usize) -> bool {
        ["texts_lines", "files"].iter().any(|name| self.builder.names(&self.items()[at], name))
    }

    /// «New York», «Banca Intesa»: words in capitals that belong together.
    pub(super) fn phrase(&self, at: usize) -> Option<(String, usize)> {
        let capital =
            |i: usize| self.item(i).is_some_and(Item::is_word) && self.said(i).starts_with(char::is_uppercase);
        if !capital(at) {
            return None;
        }
        let last = (at..at + 4).take_while(|&i| capital(i)).last()?;
        Some((self.builder.said(at..last + 1), last))
    }

    /// «the rows containing x»: any field.
    pub(super) fn containing(&self, at: usize) -> Option<(Condition, Vec<usize>)> {
        let opens = self.item(at).filter(|i| i.is(Cue::Contains) && !self.wanted.takes(at))?;
        let spoken = self
            .available
            .iter()
            .any(|&i| i < at && self.is_rows_noun(i) && !self.builder.names(&self.items()[i], "files"));
        if !spoken || (opens.is_noise() && opens.is(Cue::Connector)) {
            return None;
        }
        let next = (at + 1..at + 4).find(|&i| {
            self.item(i)
                .is_some_and(|item| !item.is(Cue::Spelled) && !item.is(Cue::Determiner) && !item.is(Cue::Contains))
        })?;
        let modifies = |s: &Sense| matches!(s, Sense::Aggregate(_) | Sense::Order(_) | Sense::Cue(Cue::Superlative));
        let value = self.value(next).filter(|_| !self.items()[next].senses().iter().any(modifies))?;
        let op =
            if self.items()[..at].iter().rev().take(2).any(|i| i.is(Cue::Not)) { "not_contains" } else { "contains" };
        Some((Condition { field: "*".to_owned(), op, value }, (at..=next).collect()))
    }

    /// «only the columns name and price».
    pub(super) fn columns(&mut self) {
        if !self.wanted.is_empty() {
            return;
        }
        let Some(at) = self.available.iter().copied().find(|&at| self.items()[at].is(Cue::Column)) else { return };
        let mut names = Vec::new();
        let mut used = vec![at];
        let mut probe = at + 1;
        while let Some(item) = self.item(probe) {
            if item.is(Cue::Connector) || item.is_punctuation() {
                used.push(probe);
            } else if let Some(name) = self.column_name(probe).filter(|_| !self.is_rows_noun(probe)) {
                names.push(name);
                used.push(probe);
            } else {
                break;
            }
            probe += 1;
        }
        let mut probe = at;
        while names.is_empty() || probe < at {
            let Some(before) = probe.checked_sub(1).filter(|&b| self.item(b).is_some()) else { break };
            probe = before;
            let item = &self.items()[before];
            if item.is(Cue::Connector) || item.is_punctuation() {
                used.push(before);
            } else if let Some(name) = self.column_name(before).filter(|_| probe + 1 >= at - names.len() * 2) {
                names.insert(0, name);
                used.push(before);
            } else {
                break;
            }
        }
        if !names.is_empty() {
            self.wanted.columns = names;
            self.wanted.used.extend(used);
        }
    }
}

fn from_number(value: &Value) -> bool {
    value.is_number()
}
