//! What a clause wants done to entries: conditions, groups, totals, an order, how many of them.
//!
//! It reads the words only; which executors do it is planned in `records`. A field is a name that the words hold: for files
//! and processes one of those that their entries have, for the rows of a table whatever stands beside «by» or «column».

use serde_json::{Value, json};

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
const SOME: i64 = 10;

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
    }

    fn takes(&self, at: usize) -> bool {
        self.used.contains(&at)
    }
}

/// A reading in the making.
struct Reading<'b, 'a> {
    builder: &'b Builder<'a>,
    clause: &'b Clause,
    available: &'b [usize],
    /// Which items those are.
    free: Vec<bool>,
    kind: Kind,
    wanted: Wanted,
}

impl Builder<'_> {
    /// What the clause wants done to entries of that kind.
    pub(super) fn wanted(&self, clause: &Clause, available: &[usize], kind: Kind) -> Wanted {
        let mut free = vec![false; self.items.len()];
        for &at in available {
            free[at] = true;
        }
        let mut reading = Reading { builder: self, clause, available, free, kind, wanted: Wanted::default() };
        match kind {
            Kind::Rows => reading.conditions(),
            Kind::Processes => reading.memory_bound(),
            Kind::Files => {}
        }
        reading.superlatives();
        reading.fields_after_by();
        reading.totals();
        reading.firsts();
        if kind == Kind::Rows {
            reading.columns();
        }
        reading.directions();
        reading.wanted
    }
}

impl Reading<'_, '_> {
    fn items(&self) -> &[Item] {
        self.builder.items
    }

    fn item(&self, at: usize) -> Option<&Item> {
        self.free.get(at).copied().unwrap_or(false).then(|| &self.builder.items[at])
    }

    fn said(&self, at: usize) -> String {
        self.builder.said(at..at + 1)
    }

    fn order_of(&self, at: usize) -> Option<(&str, bool)> {
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

    fn total_of(&self, at: usize) -> Option<&str> {
        self.items()[at].senses().iter().find_map(|s| match s {
            Sense::Aggregate(a) => Some(self.builder.lexicons.aggregates[*a].op.as_str()),
            _ => None,
        })
    }

    /// The field that files or processes have under that word, and whether the most of it usually comes first.
    fn known_field(&self, at: usize) -> Option<(&str, bool)> {
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
    fn field(&self, at: usize) -> Option<(String, bool)> {
        if self.kind == Kind::Rows {
            return self.column_name(at).map(|name| (name, false));
        }
        self.known_field(at).map(|(name, desc)| (name.to_owned(), desc))
    }

    /// A word or quotation that may be a column's name.
    fn column_name(&self, at: usize) -> Option<String> {
        let item = self.item(at)?;
        let verb =
            item.verb().is_some_and(|v| !self.builder.class(v).weak && self.builder.class(v).verbs[0] != "write");
        let grammar = item.is_noise() && item.senses().iter().all(|s| matches!(s, Sense::Noise | Sense::Cue(_)));
        match &item.what {
            What::Quoted(name) if !name.is_empty() && name.len() < 100 => Some(name.clone()),
            What::Word(_) if item.is(Cue::From) || item.is(Cue::Inside) => None,
            What::Word(_) if grammar || item.is(Cue::Column) || item.is(Cue::Connector) || item.is(Cue::By) => None,
            What::Word(_) if verb && !self.beside_column(at) && !self.compares(at + 1) => None,
            What::Word(senses) if senses.iter().any(|s| matches!(s, Sense::Order(_))) => None,
            What::Word(senses) if senses.iter().any(|s| matches!(s, Sense::Aggregate(_))) => {
                (self.beside_column(at) || self.compares(at + 1)).then(|| self.said(at))
            }
            What::Word(_) if self.compares(at) || item.is(Cue::Superlative) => None,
            What::Word(_) if item.is(Cue::Descending) || item.is(Cue::Ascending) || item.is(Cue::Only) => None,
            What::Word(_) => Some(self.said(at)),
            _ => None,
        }
    }

    fn beside_column(&self, at: usize) -> bool {
        let column = |at: Option<usize>| at.and_then(|at| self.item(at)).is_some_and(|i| i.is(Cue::Column));
        column(at.checked_sub(1)) || column(at.checked_add(1))
    }

    /// The next item from `at` on that is no grammar, at most three words away.
    fn after(&self, at: usize) -> Option<usize> {
        let passes = |i: &Item| {
            let plain = i.senses().iter().all(|s| matches!(s, Sense::Noise | Sense::Cue(_)));
            (i.is_noise() && plain) || i.is(Cue::Determiner) || i.is(Cue::Column) || (i.is(Cue::From) && plain)
        };
        (at..at + 4).take_while(|&at| self.item(at).is_some()).find(|&at| !passes(&self.items()[at]))
    }

    /// The column named from `at` on: «the value column», «the column value», «value».
    fn column_from(&self, at: usize) -> Option<(String, usize)> {
        let next = self.after(at)?;
        let name = self.field(next)?;
        Some((name.0, next))
    }

    /// «the two smallest files», «il file più recente»: an order, and how many of them.
    fn superlatives(&mut self) {
        if self.kind == Kind::Rows {
            return self.most_of_a_column();
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
            None if by == "name" => None,
            None if self.is_one(at) => Some(1),
            None => Some(SOME),
        };
        self.wanted.top = top.map(|top| (top, at));
        self.wanted.order = Some(Order { by, desc, at });
    }

    /// «the 3 rows with the most sales».
    fn most_of_a_column(&mut self) {
        let cue = |at: &usize| self.items()[*at].is(Cue::Superlative) && !self.wanted.takes(*at);
        let Some(at) = self.available.iter().copied().find(cue) else { return };
        let Some((by, found)) = self.column_from(at + 1) else { return };
        let Some(top) = self.rows_meant(at) else { return };
        let desc = !matches!(self.items()[at].folded.as_str(), "least" | "meno");
        self.wanted.order = Some(Order { by, desc, at });
        self.wanted.top = Some((top, at));
        self.wanted.used.extend(at..=found);
    }

    /// «what changed in ~/x»: without a window, what changed last.
    fn changes(&mut self) {
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
    fn consumption(&mut self) {
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
            self.wanted.order = Some(Order { by, desc: true, at: found });
            return;
        }
    }

    /// A number right before or after, nouns and grammar between them.
    fn count_beside(&self, at: usize) -> Option<(i64, Vec<usize>)> {
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
    fn is_one(&self, at: usize) -> bool {
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
                folded.ends_with('s')
                    || matches!(folded.as_str(), "file" | "processi" | "documenti") && !self.is_english(at)
            })
        };
        let after = (at + 1..at + 4).take_while(|&i| self.item(i).is_some()).find_map(plural);
        let before = (0..at).rev().filter(|&i| self.item(i).is_some()).find_map(plural);
        !after.or(before).unwrap_or(false)
    }

    fn is_english(&self, at: usize) -> bool {
        self.builder.lexicons.speaks(&self.items()[at].folded, crate::messages::Language::En) > 0
    }

    /// «by memory», «sorted by price», «for each type»: the field of an order or of groups.
    fn fields_after_by(&mut self) {
        let cues: Vec<usize> = self
            .available
            .iter()
            .copied()
            .filter(|&at| self.items()[at].is(Cue::By) || self.items()[at].is(Cue::Grouped))
            .collect();
        for at in cues {
            let Some((name, found)) = self.column_from(at + 1) else { continue };
            if self.wanted.takes(found) {
                continue;
            }
            let groups = self.groups(at);
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
    fn ranks(&self) -> bool {
        self.available.iter().any(|&i| {
            let item = &self.items()[i];
            let some = matches!(item.what, What::Lines(Lines::First(_))) || item.is(Cue::First);
            some || item.is(Cue::Descending) || item.is(Cue::Ascending) || item.is(Cue::Superlative)
        })
    }

    /// «by type and year»: the fields that follow.
    fn more_groups(&mut self, from: usize) {
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

    fn sorts_or_groups(&self, at: usize) -> bool {
        let verb = self.verb_before(at);
        verb.is_some_and(|v| matches!(self.builder.class(v).verbs[0].as_str(), "sort" | "group"))
    }

    /// The last verb before `at` that says what to do.
    fn verb_before(&self, at: usize) -> Option<usize> {
        let strong = |i: usize| self.items()[i].verb().filter(|&v| !self.builder.class(v).weak);
        (0..at).rev().filter(|&i| self.item(i).is_some()).find_map(strong)
    }

    /// Whether the field after this cue makes groups: by the words themselves, the verb before it, or what is counted.
    fn groups(&self, at: usize) -> bool {
        let item = &self.items()[at];
        if item.is(Cue::Grouped) && !item.is(Cue::By) {
            return true;
        }
        let verb = self.verb_before(at);
        match verb.map(|v| self.builder.class(v).verbs[0].as_str()) {
            Some("sort") => false,
            Some("group") => true,
            _ => {
                let totals = self.available.iter().any(|&i| self.total_of(i).is_some());
                (totals || self.clause.counts) && self.wanted.order.is_none()
            }
        }
    }

    /// «total the value column», «the average size», «quanto fanno in totale».
    fn totals(&mut self) {
        let said: Vec<usize> = self.available.iter().copied().filter(|&at| self.total_of(at).is_some()).collect();
        let explicit = |at: &usize| !self.items()[*at].is_noise();
        let some: Vec<usize> =
            if said.iter().any(explicit) { said.iter().copied().filter(explicit).collect() } else { said.clone() };
        for at in some {
            if self.wanted.takes(at) {
                continue;
            }
            let op = self.total_of(at).map(str::to_owned).expect("only those were kept");
            let key = self.key_of(at);
            // «sum the expenses of ~/expenses.csv»: the rows themselves; their amount is meant.
            let rows = key.as_ref().is_some_and(|(name, _)| self.names_the_table(name));
            let key = match key {
                Some((_, used)) if rows => {
                    self.wanted.used.extend(used);
                    None
                }
                other => other,
            };
            let bare = !rows
                && key.is_none()
                && (self.kind != Kind::Files || self.items()[at].is_noise() && self.clause.counts);
            if bare || self.wanted.totals.iter().any(|t| t.op == op) {
                continue;
            }
            let key = key.map(|(name, used)| {
                self.wanted.used.extend(used);
                name
            });
            self.wanted.used.push(at);
            if let (Some(key), true) = (&key, matches!(op.as_str(), "max" | "min"))
                && let Some(top) = self.rows_meant(at)
            {
                self.wanted.order = Some(Order { by: key.clone(), desc: op == "max", at });
                self.wanted.top = Some((top, at));
                continue;
            }
            self.wanted.totals.push(Total { op, key, at });
        }
        let sized = |&i: &usize| {
            let bytes = self.items()[i]
                .measure()
                .is_some_and(|m| self.builder.lexicons.measures[m].fields.contains_key("find"));
            bytes || matches!(self.known_field(i), Some(("size", _)))
        };
        let asked = self.kind == Kind::Files && self.clause.counts && self.wanted.is_empty();
        if let Some(at) = self.available.iter().copied().find(sized).filter(|_| asked) {
            self.wanted.used.push(at);
            self.wanted.totals.push(Total { op: "sum".to_owned(), key: Some("size".to_owned()), at });
        }
        // «in total» beside a sum that was read says nothing more.
        if !self.wanted.totals.is_empty() {
            self.wanted.used.extend(said);
        }
    }

    /// «the 3 rows with the highest price»: rows are wanted, not the number; how many of them.
    fn rows_meant(&mut self, at: usize) -> Option<i64> {
        if self.kind != Kind::Rows {
            return None;
        }
        let before = (self.clause.range.start..at).rev().filter(|&i| self.item(i).is_some());
        let noun = before
            .into_iter()
            .find(|&i| matches!(self.items()[i].what, What::Lines(Lines::First(_))) || self.is_rows_noun(i))?;
        if let What::Lines(Lines::First(n)) = self.items()[noun].what {
            self.wanted.used.push(noun);
            return Some(n);
        }
        if let Some((n, used)) = self.count_beside(noun) {
            self.wanted.used.extend(used);
            return Some(n);
        }
        let folded = self.items()[noun].folded.as_str();
        Some(if folded.ends_with('s') || folded.ends_with("he") || folded.ends_with("ee") { SOME } else { 1 })
    }

    fn names_the_table(&self, name: &str) -> bool {
        let name = super::super::words::fold(name);
        let stem = super::super::words::stem(&name);
        self.available.iter().any(|&at| match &self.items()[at].what {
            What::Path { value, .. } => {
                let file = super::super::words::fold(value.rsplit('/').next().unwrap_or(value));
                let table = file.rsplit_once('.').is_some_and(|(_, e)| matches!(e, "csv" | "tsv"));
                table && file.split(|c: char| !c.is_alphanumeric()).any(|part| super::super::words::stem(part) == stem)
            }
            _ => false,
        })
    }

    /// The field that a total is of: after it, else before it.
    fn key_of(&self, at: usize) -> Option<(String, Vec<usize>)> {
        let with_column = |found: usize| {
            let column = |i: &usize| self.item(*i).is_some_and(|item| item.is(Cue::Column));
            [found.checked_sub(1), found.checked_add(1)].into_iter().flatten().filter(column).chain([found]).collect()
        };
        if self.kind != Kind::Rows {
            let found =
                self.available.iter().copied().find(|&i| self.known_field(i).is_some() && !self.wanted.takes(i));
            return found.and_then(|i| Some((self.known_field(i)?.0.to_owned(), vec![i])));
        }
        let column = self.available.iter().copied().find(|&i| self.items()[i].is(Cue::Column));
        let beside = column.and_then(|column| {
            let usable = |&i: &usize| self.column_name(i).is_some() && !self.wanted.takes(i);
            [column + 1, column.wrapping_sub(1)].into_iter().find(usable)
        });
        let next = self.after(at + 1).filter(|&i| !self.wanted.takes(i) && self.column_name(i).is_some());
        let before = (0..at)
            .rev()
            .take(3)
            .find(|&i| self.item(i).is_some() && self.column_name(i).is_some() && !self.wanted.takes(i));
        let found = beside.or(next).or(before)?;
        Some((self.column_name(found)?, with_column(found)))
    }

    /// «the first 8», «top 5»: how many of them; «the last 3 files»: the newest.
    fn firsts(&mut self) {
        if self.wanted.top.is_some() && self.wanted.order.is_some() {
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
    fn directions(&mut self) {
        let found = self
            .available
            .iter()
            .copied()
            .find(|&at| self.items()[at].is(Cue::Descending) || self.items()[at].is(Cue::Ascending));
        let top = self.wanted.top.is_some();
        let rows = self.kind == Kind::Rows;
        let Some(order) = &mut self.wanted.order else { return };
        match found {
            Some(at) => {
                order.desc = self.builder.items[at].is(Cue::Descending);
                self.wanted.used.push(at);
            }
            // «the top 5 by price»: those with the most of it.
            None if top && rows => {
                let best = |&at: &usize| {
                    self.builder.items[at].folded.split(' ').any(|w| matches!(w, "top" | "best" | "migliori"))
                };
                order.desc |= self.available.iter().any(best);
            }
            None => {}
        }
    }

    /// «with category rent», «whose price is over 100», «containing "x"».
    fn conditions(&mut self) {
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
    fn memory_bound(&mut self) {
        for &at in self.available {
            if let What::Bound { least, bytes } = self.items()[at].what {
                let op = if least { "gt" } else { "lt" };
                self.wanted.conditions.push(Condition { field: "memory".to_owned(), op, value: json!(bytes) });
                self.wanted.used.push(at);
            }
        }
    }

    /// The number or text that an item gives as a value.
    fn value(&self, at: usize) -> Option<Value> {
        let item = self.item(at)?;
        let text = self.said(at);
        match &item.what {
            What::Number(n) => Some(json!(n)),
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
    fn comparison(&self, at: usize) -> Option<(Condition, Vec<usize>)> {
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
        Some((Condition { field, op, value }, (at..=number).collect()))
    }

    fn compares(&self, at: usize) -> bool {
        self.item(at).is_some_and(|i| i.is(Cue::MinSize) || i.is(Cue::MaxSize) || i.is(Cue::Between))
    }

    fn comparator(&self, at: usize) -> Option<&'static str> {
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
    fn symbol(&self, left: usize, right: usize) -> Option<&'static str> {
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
    fn equality(&self, at: usize) -> Option<(Condition, Vec<usize>)> {
        if let Some(op) = self.symbol(at, at + 1) {
            let condition = Condition { field: self.column_name(at)?, op, value: self.value(at + 1)? };
            return Some((condition, vec![at, at + 1]));
        }
        let opens = self.item(at)?;
        let orders = opens.is(Cue::By) && self.sorts_or_groups(at);
        if !(opens.is(Cue::Where) || opens.is(Cue::Contains)) || self.wanted.takes(at) || orders {
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
        let bare = opens.is(Cue::From) || opens.is(Cue::Inside);
        if bare && !stated && !self.beside_column(field_at) && !self.named_column(field_at) {
            return None;
        }
        let value = self.value(value_at).filter(|_| !self.wanted.takes(value_at))?;
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
        Some((Condition { field, op, value }, (at..=last).collect()))
    }

    /// A noun that usually names a column of a household's tables.
    fn named_column(&self, at: usize) -> bool {
        self.items()[at].is_unknown()
    }

    fn is_rows_noun(&self, at: usize) -> bool {
        ["texts_lines", "files", "entries"].iter().any(|name| self.builder.names(&self.items()[at], name))
    }

    /// «New York», «Banca Intesa»: words in capitals that belong together.
    fn phrase(&self, at: usize) -> Option<(String, usize)> {
        let capital =
            |i: usize| self.item(i).is_some_and(|item| item.is_word()) && self.said(i).starts_with(char::is_uppercase);
        if !capital(at) {
            return None;
        }
        let last = (at..at + 4).take_while(|&i| capital(i)).last()?;
        Some((self.builder.said(at..last + 1), last))
    }

    /// «the rows containing x»: any field.
    fn containing(&self, at: usize) -> Option<(Condition, Vec<usize>)> {
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
    fn columns(&mut self) {
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
