//! What a clause wants done to entries: conditions, groups, totals, an order, how many of them.
//!
//! It reads the words only; which executors do it is planned in `records`. A field is a name that the words hold: for files
//! and processes one of those that their entries have, for the rows of a table whatever stands beside «by» or «column».

use serde_json::Value;

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
            What::Word(_) if item.is(Cue::Due) || item.is(Cue::HowMany) || item.is(Cue::Restriction) => None,
            What::Word(_) if item.is_noise() && item.verb().is_some_and(|v| self.builder.class(v).weak) => None,
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
}
