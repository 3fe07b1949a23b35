//! What a clause wants done to entries: conditions, groups, totals, an order, how many of them.
//!
//! It reads the words only; which executors do it is planned in `records`. A field is a name that the words hold: for files
//! and processes one of those that their entries have, for the rows of a table whatever stands beside «by» or «column».

use serde_json::Value;

use super::super::compose::number;
use super::super::items::{Item, Lines, What};
use super::super::lexicon::{Cue, Sense};
use super::{Builder, Clause};

/// What kind of entries a clause speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Files,
    Rows,
    Processes,
}

/// How many «the largest files» are, when no number is said.
pub(super) const SOME: i64 = 10;

/// One condition on a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Condition {
    pub(super) field: String,
    pub(super) op: &'static str,
    pub(super) value: Value,
}

/// An order of entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) by: String,
    pub(super) desc: bool,
    pub(super) at: usize,
}

/// One number of many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Total {
    pub(super) op: String,
    pub(super) key: Option<String>,
    pub(super) at: usize,
}

/// All that a clause wants done to entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Wanted {
    pub(super) conditions: Vec<Condition>,
    pub(super) groups: Vec<String>,
    pub(super) totals: Vec<Total>,
    pub(super) order: Option<Order>,
    pub(super) top: Option<(i64, usize)>,
    pub(super) columns: Vec<String>,
    /// What classes are made by.
    pub(super) class: Option<(String, usize)>,
    /// The items that say so.
    pub(super) used: Vec<usize>,
}

impl Wanted {
    pub(super) fn is_empty(&self) -> bool {
        self.conditions.is_empty()
            && self.groups.is_empty()
            && self.totals.is_empty()
            && self.order.is_none()
            && self.top.is_none()
            && self.columns.is_empty()
            && self.class.is_none()
    }

    pub(super) fn takes(&self, at: usize) -> bool {
        self.used.contains(&at)
    }
}

/// A reading in the making.
pub(super) struct Reading<'b, 'a> {
    pub(super) builder: &'b Builder<'a>,
    pub(super) clause: &'b Clause,
    pub(super) available: &'b [usize],
    /// Which items those are.
    pub(super) free: Vec<bool>,
    pub(super) kind: Kind,
    pub(super) wanted: Wanted,
    /// How many is only what is usual; the words may say otherwise.
    pub(super) usual_top: bool,
}

impl Builder<'_> {
    /// What the clause wants done to entries of that kind.
    pub(super) fn wanted(&self, clause: &Clause, available: &[usize], kind: Kind) -> Wanted {
        let mut free = vec![false; self.items.len()];
        for &at in available {
            free[at] = true;
        }
        let mut reading =
            Reading { builder: self, clause, available, free, kind, wanted: Wanted::default(), usual_top: false };
        if kind == Kind::Rows {
            reading.table_nouns();
        }
        match kind {
            Kind::Rows => reading.conditions(),
            Kind::Processes => reading.memory_bound(),
            Kind::Files => {}
        }
        reading.classes();
        reading.superlatives();
        reading.fields_after_by();
        reading.totals();
        reading.firsts();
        if kind == Kind::Rows {
            reading.columns();
        }
        reading.directions();
        reading.order_of_groups();
        reading.wanted
    }
}

impl Reading<'_, '_> {
    pub(super) fn items(&self) -> &[Item] {
        self.builder.items
    }

    pub(super) fn item(&self, at: usize) -> Option<&Item> {
        self.free.get(at).copied().unwrap_or(false).then(|| &self.builder.items[at])
    }

    pub(super) fn said(&self, at: usize) -> String {
        self.builder.said(at..at + 1)
    }

    pub(super) fn order_of(&self, at: usize) -> Option<(&str, bool)> {
        // «più grandi di 5 MB» compares; «i più grandi di ~/x» orders.
        let place = |i: &Item| matches!(i.what, What::Path { .. } | What::Globs { .. });
        if self.items()[at].folded.ends_with(" di") && !self.items().get(at + 1).is_some_and(place) {
            return None;
        }
        self.items()[at].senses().iter().find_map(|s| match s {
            Sense::Order(o) => {
                Some((self.builder.lexicons.orders[*o].by.as_str(), self.builder.lexicons.orders[*o].desc))
            }
            _ => None,
        })
    }

    pub(super) fn total_of(&self, at: usize) -> Option<&str> {
        self.items()[at].senses().iter().find_map(|s| match s {
            Sense::Aggregate(a) => Some(self.builder.lexicons.aggregates[*a].op.as_str()),
            _ => None,
        })
    }

    /// The field that files or processes have under that word, and whether the most of it usually comes first.
    pub(super) fn known_field(&self, at: usize) -> Option<(&str, bool)> {
        let field =
            self.items()[at].senses().iter().find_map(|s| if let Sense::Field(f) = s { Some(*f) } else { None })?;
        let field = &self.builder.lexicons.fields[field];
        let has = match self.kind {
            Kind::Files => !matches!(field.name.as_str(), "memory" | "cpu" | "user" | "pid"),
            Kind::Processes => matches!(field.name.as_str(), "memory" | "cpu" | "user" | "pid" | "name"),
            Kind::Rows => false,
        };
        has.then_some((field.name.as_str(), field.desc))
    }

    /// The field that the item names, whatever the kind.
    pub(super) fn field(&self, at: usize) -> Option<(String, bool)> {
        if self.kind == Kind::Rows {
            return self.column_name(at).map(|name| (name, false));
        }
        self.known_field(at).map(|(name, desc)| (name.to_owned(), desc))
    }

    /// A word or quotation that may be a column's name.
    pub(super) fn column_name(&self, at: usize) -> Option<String> {
        let item = self.item(at)?;
        let verb =
            item.verb().is_some_and(|v| !self.builder.class(v).weak && self.builder.class(v).verbs[0] != "write");
        let grammar = item.is_noise() && item.senses().iter().all(|s| matches!(s, Sense::Noise | Sense::Cue(_)));
        match &item.what {
            What::Quoted(name) if !name.is_empty() && name.len() < 100 => Some(name.clone()),
            What::Word(_) if item.verb().is_some() && item.folded.contains(' ') => None,
            What::Word(_) if item.is(Cue::From) || item.is(Cue::Inside) || item.is(Cue::Ahead) => None,
            What::Word(_) if item.is(Cue::Due) => None,
            What::Word(_) if grammar || item.is(Cue::Column) || item.is(Cue::Connector) || item.is(Cue::By) => None,
            What::Word(_) if verb && !self.beside_column(at) && !self.compares(at + 1) => None,
            What::Word(senses) if senses.iter().any(|s| matches!(s, Sense::Order(_) | Sense::Number(_))) => None,
            What::Word(senses) if senses.iter().any(|s| matches!(s, Sense::Aggregate(_))) => {
                (self.beside_column(at) || self.compares(at + 1)).then(|| self.said(at))
            }
            What::Word(_) if self.compares(at) || item.is(Cue::Superlative) => None,
            What::Word(_) if item.is(Cue::Descending) || item.is(Cue::Ascending) || item.is(Cue::Only) => None,
            What::Word(_) => Some(self.said(at)),
            _ => None,
        }
    }

    pub(super) fn beside_column(&self, at: usize) -> bool {
        let column = |at: Option<usize>| at.and_then(|at| self.item(at)).is_some_and(|i| i.is(Cue::Column));
        column(at.checked_sub(1)) || column(at.checked_add(1))
    }

    /// The next item from `at` on that is no grammar, at most three words away.
    pub(super) fn after(&self, at: usize) -> Option<usize> {
        let passes = |i: &Item| {
            let plain = i.senses().iter().all(|s| matches!(s, Sense::Noise | Sense::Cue(_)));
            (i.is_noise() && plain) || i.is(Cue::Determiner) || i.is(Cue::Column) || i.is(Cue::From)
        };
        (at..at + 4).take_while(|&at| self.item(at).is_some()).find(|&at| !passes(&self.items()[at]))
    }

    /// The column named from `at` on: «the value column», «the column value», «value».
    pub(super) fn column_from(&self, at: usize) -> Option<(String, usize)> {
        let next = self.after(at)?;
        let name = self.field(next)?;
        Some((name.0, next))
    }

    /// «the two smallest files», «il file più recente»: an order, and how many of them.
    pub(super) fn superlatives(&mut self) {
        if self.kind == Kind::Rows {
            return self.most_of_a_column();
        }
        let window = self.available.iter().any(|&at| matches!(self.items()[at].what, What::Window { .. }));
        let plain = |at: &usize| self.items()[*at].is(Cue::Fresh) && self.order_of(*at).is_some();
        if let Some(at) = self.available.iter().copied().find(plain).filter(|_| window) {
            self.wanted.used.push(at);
            return;
        }
        let Some(at) = self.available.iter().copied().find(|&at| self.order_of(at).is_some()) else {
            self.consumption();
            self.changes();
            return;
        };
        let (by, desc) = self.order_of(at).map(|(by, desc)| (by.to_owned(), desc)).expect("found above");
        let by = match (self.kind, by.as_str()) {
            (Kind::Processes, "size") => "memory".to_owned(),
            (Kind::Processes, "modified") => "started".to_owned(),
            (Kind::Files, "memory") => "size".to_owned(),
            (Kind::Files, "cpu") => return,
            _ => by,
        };
        self.wanted.used.push(at);
        let counted = self.count_beside(at);
        let top = match counted {
            Some((count, used)) => {
                self.wanted.used.extend(used);
                Some(count)
            }
            None if by == "name" || self.is_whole_order(at) => None,
            None if self.is_one(at) => Some(1),
            None => {
                self.usual_top = true;
                Some(SOME)
            }
        };
        self.wanted.top = top.map(|top| (top, at));
        self.wanted.order = Some(Order { by, desc, at });
    }

    /// «newest first», «dal più grande»: an order of all, not some of them.
    pub(super) fn is_whole_order(&self, at: usize) -> bool {
        let word = self.items()[at].folded.as_str();
        let whole = ["from ", "dal ", "dai ", "dalla ", "partendo ", "prima "].iter().any(|w| word.starts_with(w));
        whole
            || word.ends_with(" first")
            || word.contains(" to ")
            || matches!(word, "nuovi" | "nuove" | "recenti" | "recent" | "new files" | "new ones" | "huge")
    }

    /// «the 3 rows with the most sales».
    pub(super) fn most_of_a_column(&mut self) {
        let cue = |at: &usize| self.items()[*at].is(Cue::Superlative) && !self.wanted.takes(*at);
        let Some(at) = self.available.iter().copied().find(cue) else { return };
        let Some((by, found)) = self.column_from(at + 1) else { return };
        let Some(top) = self.rows_meant(at) else { return };
        let desc = !self.items()[at].is(Cue::Least);
        self.wanted.order = Some(Order { by, desc, at });
        self.wanted.top = Some((top, at));
        self.wanted.used.extend(at..=found);
    }

    /// «what changed in ~/x»: without a window, what changed last.
    pub(super) fn changes(&mut self) {
        let dated = |&at: &usize| self.items()[at].is(Cue::Modified) && !self.items()[at].is_noise();
        let window = self.available.iter().any(|&at| matches!(self.items()[at].what, What::Window { .. }));
        if self.kind != Kind::Files || window || self.clause.counts {
            return;
        }
        if let Some(at) = self.available.iter().copied().find(dated) {
            self.wanted.used.push(at);
            self.wanted.top = Some((SOME, at));
            self.wanted.order = Some(Order { by: "modified".to_owned(), desc: true, at });
        }
    }

    /// «what is eating my cpu», «the processes that use most memory».
    pub(super) fn consumption(&mut self) {
        if self.kind != Kind::Processes {
            return;
        }
        let cue = |at: &usize| self.items()[*at].is(Cue::Consumes) || self.items()[*at].is(Cue::Superlative);
        for at in self.available.iter().copied().filter(cue) {
            let field = (at + 1..at + 6)
                .find(|&i| self.item(i).is_some() && matches!(self.known_field(i), Some(("memory" | "cpu", _))));
            let Some(found) = field else { continue };
            let by = self.known_field(found).map(|(name, _)| name.to_owned()).unwrap_or_default();
            self.wanted.used.extend(at..=found);
            let top = self.count_beside(at);
            self.wanted.used.extend(top.iter().flat_map(|(_, used)| used.iter().copied()));
            let top = top.map_or(if self.is_one(at) { 1 } else { SOME }, |(n, _)| n);
            self.wanted.top = Some((top, at));
            let least = self.available.iter().any(|&i| i >= at && i <= found && self.items()[i].is(Cue::Least));
            self.wanted.order = Some(Order { by, desc: !least, at: found });
            return;
        }
    }

    /// A number right before or after, nouns and grammar between them.
    pub(super) fn count_beside(&self, at: usize) -> Option<(i64, Vec<usize>)> {
        let passes = |i: &Item| i.object().is_some() || i.is_noise() || matches!(i.what, What::Globs { .. });
        for before in (at.saturating_sub(4)..at).rev() {
            let item = self.item(before)?;
            if let Some((n, length)) = number(self.items(), before).filter(|(n, l)| *n > 0 && before + l <= at) {
                if item.is_noise() && item.is_word() && n == 1 {
                    continue;
                }
                let tens = before.checked_sub(1).and_then(|b| number(self.items(), b)).filter(|(_, l)| *l == 2);
                let start = if tens.is_some() { before - 1 } else { before };
                return Some((tens.map_or(n, |(n, _)| n), (start..before + length).collect()));
            }
            if !passes(item) {
                break;
            }
        }
        let next = at + 1;
        self.item(next)?;
        let (n, length) = number(self.items(), next).filter(|(n, _)| *n > 0)?;
        (!(self.items()[next].is_noise() && self.items()[next].is_word())).then(|| (n, (next..next + length).collect()))
    }

    /// Whether «the newest» is one thing: by the ending of the word itself in Italian, by the noun nearest to it in English.
    pub(super) fn is_one(&self, at: usize) -> bool {
        let word = self.items()[at].folded.as_str();
        let word = word.strip_suffix(" di").unwrap_or(word);
        let last = word.rsplit(' ').next().unwrap_or(word);
        let italian =
            word.split(' ').any(|w| matches!(w, "piu" | "meno" | "modificato" | "modificati" | "ultimo" | "ultimi"));
        if italian {
            let verbs = word.split(' ').any(|w| w.ends_with("ano") || w.ends_with("ono"));
            let singular = last.ends_with(['o', 'a'])
                || matches!(last, "grande" | "recente" | "pesante" | "ingombrante")
                || word
                    .split(' ')
                    .any(|w| matches!(w, "modificato" | "salvato" | "toccato" | "cambiato" | "ultimo" | "pesa"));
            return singular && !verbs;
        }
        if last == "ones" {
            return false;
        }
        let plural = |at: usize| {
            let item = &self.items()[at];
            let noun = item.object().is_some() || matches!(item.what, What::Globs { .. });
            let folded = if item.folded.is_empty() { self.said(at).to_lowercase() } else { item.folded.clone() };
            noun.then(|| {
                folded.ends_with('s') && folded != "process"
                    || matches!(folded.as_str(), "file" | "processi" | "documenti") && !self.is_english(at)
            })
        };
        let after = (at + 1..at + 4).take_while(|&i| self.item(i).is_some()).find_map(plural);
        let before = (0..at).rev().filter(|&i| self.item(i).is_some()).find_map(plural);
        !after.or(before).unwrap_or(false)
    }

    pub(super) fn is_english(&self, at: usize) -> bool {
        self.builder.lexicons.speaks(&self.items()[at].folded, crate::messages::Language::En) > 0
    }

    /// «classify the files by size»: labels, by what the words say or by the kind of file.
    pub(super) fn classes(&mut self) {
        let verb = self.clause.verbs.iter().find(|&&(_, v)| self.builder.class(v).verbs[0] == "classify");
        let Some(&(at, _)) = verb.filter(|_| self.kind == Kind::Files) else { return };
        let said = self.available.iter().copied().find_map(|i| {
            let by = match self.known_field(i)?.0 {
                "size" => "size",
                "type" | "extension" => "type",
                "modified" | "year" | "month" => "age",
                _ => return None,
            };
            Some((by, i))
        });
        let (by, found) = said.unwrap_or(("type", at));
        let cue = found.checked_sub(1).filter(|&c| self.item(c).is_some_and(|i| i.is(Cue::By)));
        self.wanted.used.extend([at, found].into_iter().chain(cue));
        self.wanted.class = Some((by.to_owned(), at));
    }

    /// «by memory», «sorted by price», «for each type»: the field of an order or of groups.
    pub(super) fn fields_after_by(&mut self) {
        let cues: Vec<usize> = self
            .available
            .iter()
            .copied()
            .filter(|&at| {
                let item = &self.items()[at];
                // «in ordine crescente di prezzo»
                let whole = item.is(Cue::Ascending) || item.is(Cue::Descending);
                let of = self.item(at + 1).is_some_and(|i| i.is(Cue::From) || i.is(Cue::By));
                item.is(Cue::By) || item.is(Cue::Grouped) || (whole && of)
            })
            .collect();
        for at in cues {
            let Some((name, found)) = self.column_from(at + 1) else { continue };
            if self.wanted.takes(found) || self.wanted.takes(at) {
                continue;
            }
            let directed = self.items()[at].is(Cue::Ascending) || self.items()[at].is(Cue::Descending);
            let measured = at.checked_sub(1).is_some_and(|b| self.builder.measures(b));
            let sorts = self.clause.verbs.iter().any(|&(_, v)| self.builder.class(v).verbs[0] == "sort");
            let groups = !directed && (self.groups(at) || (measured && !sorts && self.items()[at].is(Cue::Grouped)));
            if !groups && self.wanted.order.is_some() && self.wanted.order.as_ref().is_some_and(|o| o.by != name) {
                continue;
            }
            let plain = self.items()[at].is_noise() && !self.sorts_or_groups(at);
            if plain && self.kind == Kind::Rows && !groups && !self.ranks() {
                continue;
            }
            self.wanted.used.extend(at..=found);
            if groups {
                self.wanted.groups.push(name);
                self.more_groups(found + 1);
            } else {
                let usual = self.known_field(found).is_some_and(|(_, desc)| desc);
                self.wanted.order.get_or_insert(Order { by: name, desc: usual, at: found });
            }
        }
        let sorts = |&(_, v): &(usize, usize)| self.builder.class(v).verbs[0] == "sort";
        let verb = self.clause.verbs.iter().find(|v| sorts(v)).map(|&(at, _)| at);
        if let (Some(at), None, Kind::Files) = (verb, &self.wanted.order, self.kind) {
            self.wanted.order = Some(Order { by: "name".to_owned(), desc: false, at });
        }
    }

    /// Whether some of the words rank rows: a number of the first, a direction.
    pub(super) fn ranks(&self) -> bool {
        self.available.iter().any(|&i| {
            let item = &self.items()[i];
            let some = matches!(item.what, What::Lines(Lines::First(_))) || item.is(Cue::First);
            some || item.is(Cue::Descending) || item.is(Cue::Ascending) || item.is(Cue::Superlative)
        })
    }

    /// «by type and year»: the fields that follow.
    pub(super) fn more_groups(&mut self, from: usize) {
        let joins = self.item(from).is_some_and(|i| i.is(Cue::Connector) || i.is_punctuation());
        let next = from + 1 + usize::from(self.item(from + 1).is_some_and(|i| i.is(Cue::By)));
        if !joins || self.item(next).is_none() || self.kind == Kind::Rows && self.items()[next].verb().is_some() {
            return;
        }
        if let Some((name, _)) = self.field(next) {
            self.wanted.groups.push(name);
            self.wanted.used.extend(from..=next);
            self.more_groups(next + 1);
        }
    }

    pub(super) fn sorts_or_groups(&self, at: usize) -> bool {
        let verb = self.verb_before(at);
        verb.is_some_and(|v| matches!(self.builder.class(v).verbs[0].as_str(), "sort" | "group"))
    }

    /// The last verb before `at` that says what to do.
    pub(super) fn verb_before(&self, at: usize) -> Option<usize> {
        let strong = |i: usize| self.items()[i].verb().filter(|&v| !self.builder.class(v).weak);
        (0..at).rev().filter(|&i| self.item(i).is_some()).find_map(strong)
    }

    /// Whether the field after this cue makes groups: by the words themselves, the verb before it, or what is counted.
    pub(super) fn groups(&self, at: usize) -> bool {
        let item = &self.items()[at];
        if item.is(Cue::Grouped) && !item.is(Cue::By) {
            return true;
        }
        let verb = self.verb_before(at);
        match verb.map(|v| self.builder.class(v).verbs[0].as_str()) {
            Some("sort") => false,
            Some("group") => true,
            _ => {
                let rows = self.kind == Kind::Rows && self.available.iter().any(|&i| self.is_rows_noun(i));
                let total = |&i: &usize| self.total_of(i).is_some_and(|op| !(rows && matches!(op, "max" | "min")));
                let totals = self.available.iter().any(total);
                (totals || self.clause.counts) && self.wanted.order.is_none()
            }
        }
    }

    /// «how many customers are there» of ~/customers.csv: the noun is the table's own.
    fn table_nouns(&mut self) {
        for &at in self.available {
            let counted =
                at.checked_sub(1).is_some_and(|b| self.items()[b].is(Cue::HowMany)) && self.items()[at].is_unknown();
            let plain = counted || self.names_the_table(&self.said(at));
            if self.items()[at].is_word() && self.clause.counts && plain {
                self.wanted.used.push(at);
            }
        }
    }

    /// «biggest group first»: groups by what was counted or summed in them.
    fn order_of_groups(&mut self) {
        if self.wanted.groups.is_empty() || self.wanted.order.is_some() {
            return;
        }
        let order = |at: &usize| {
            self.order_of(*at).is_some()
                || self.items()[*at].is(Cue::Descending)
                || self.items()[*at].is(Cue::Ascending)
        };
        let Some(at) = self.available.iter().copied().find(order) else { return };
        let desc = self.order_of(at).map_or(!self.items()[at].is(Cue::Ascending), |(_, desc)| desc);
        let by = match self.wanted.totals.first() {
            Some(Total { op, key: Some(key), .. }) => format!("{op}_{key}"),
            _ => "count".to_owned(),
        };
        let label = |i: &usize| {
            matches!(
                self.items()[*i].folded.as_str(),
                "first" | "group" | "groups" | "gruppo" | "gruppi" | "prima" | "prime"
            )
        };
        let labels: Vec<usize> = self.available.iter().copied().filter(label).collect();
        self.wanted.used.push(at);
        self.wanted.used.extend(labels);
        self.wanted.order = Some(Order { by, desc, at });
    }

    /// «the first 8», «top 5»: how many of them; «the last 3 files»: the newest.
    pub(super) fn firsts(&mut self) {
        if self.wanted.top.is_some() && self.wanted.order.is_some() && !self.usual_top {
            return;
        }
        for &at in self.available {
            if let What::Lines(lines) = &self.items()[at].what {
                let words = self.items()[at].folded.split(' ');
                let of_lines = self.kind != Kind::Rows
                    && words.into_iter().any(|w| self.builder.lexicons.is_object(w, "texts_lines"));
                if let Lines::First(n) = lines
                    && !of_lines
                {
                    self.wanted.top = Some((*n, at));
                    self.wanted.used.push(at);
                }
                continue;
            }
            let item = &self.items()[at];
            if !(item.is(Cue::First) || item.is(Cue::Last)) || self.item(at + 1).is_none() {
                continue;
            }
            let Some((n, length)) = number(self.items(), at + 1).filter(|(n, _)| *n > 0) else { continue };
            if item.is(Cue::Last) && !item.is(Cue::First) {
                if self.kind != Kind::Files || self.wanted.order.is_some() {
                    continue;
                }
                self.wanted.order = Some(Order { by: "modified".to_owned(), desc: true, at });
            }
            self.wanted.top = Some((n, at + 1));
            self.wanted.used.extend(at..at + 1 + length);
        }
    }

    /// «descending», «smallest first».
    pub(super) fn directions(&mut self) {
        let found = self
            .available
            .iter()
            .copied()
            .find(|&at| self.items()[at].is(Cue::Descending) || self.items()[at].is(Cue::Ascending));
        let top = self.wanted.top.is_some();
        let rows = self.kind == Kind::Rows;
        let extreme = self.builder.extreme_first().filter(|_| rows && found.is_none());
        let Some(order) = &mut self.wanted.order else { return };
        if let Some((at, ahead, most)) = extreme {
            order.desc = most;
            self.wanted.used.extend([at, ahead]);
            // «dalla più lunga»: the adjective that goes with it.
            let adjective = |i: &Item| i.is_unknown() && !i.is_punctuation();
            self.wanted.used.extend(self.item(at + 1).is_some_and(adjective).then_some(at + 1));
            return;
        }
        // «the 5 costliest lines, going by the cost column»: so many rows, by the column that is named.
        let most = |at: &usize| match self.builder.total_said(&self.builder.items[*at]) {
            Some("max") => Some((*at, true)),
            Some("min") => Some((*at, false)),
            _ => None,
        };
        let bare =
            self.available.iter().find_map(most).filter(|(at, _)| rows && !top && !self.wanted.used.contains(at));
        if let Some((at, desc)) = bare {
            order.desc = desc;
            if let Some(n) = self.rows_meant(at) {
                self.wanted.top = Some((n, at));
                self.wanted.used.push(at);
            }
            return;
        }
        match found {
            Some(at) => {
                order.desc = self.builder.items[at].is(Cue::Descending);
                self.wanted.used.push(at);
            }
            // «the first three by price»: those with the most of it, unless it is a name or a date.
            None if top && rows => {
                let running = |i: &Item| {
                    i.senses().iter().any(|s| match s {
                        Sense::Field(f) => {
                            matches!(self.builder.lexicons.fields[*f].name.as_str(), "name" | "modified")
                        }
                        _ => false,
                    })
                };
                order.desc |= !self.builder.items.get(order.at).is_some_and(running);
            }
            None => {}
        }
    }
}
