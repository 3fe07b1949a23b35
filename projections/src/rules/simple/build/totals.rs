//! Totals: «sum the amount column», «the average size», «the 3 rows with the highest price», and the field that they are of.

use super::super::items::{Lines, What};
use super::super::lexicon::{Cue, Sense};
use super::Builder;
use super::wanted::{Kind, Order, Reading, SOME, Total};

impl Builder<'_> {
    /// «highest first», «dalla più alta»: the word beside an extreme by which it comes first.
    fn ahead(&self, at: usize) -> Option<usize> {
        let is = |i: usize, cue: Cue| self.items.get(i).is_some_and(|i| i.is(cue) && !i.is_unknown());
        let after = (at + 1..at + 5).find(|&i| is(i, Cue::Ahead));
        after.or_else(|| (at.saturating_sub(3)..at).find(|&i| is(i, Cue::Starting)))
    }

    /// Whether the word is something measured, of which a sum makes sense.
    pub(super) fn measures(&self, at: usize) -> bool {
        self.items[at].is_word() && self.lexicons.quantities.contains(&self.items[at].folded)
    }

    /// «value»: stands for what a column holds, and names none where another word does.
    pub(super) fn is_generic(&self, at: usize) -> bool {
        self.items.get(at).is_some_and(|i| i.is_word() && self.lexicons.generics.contains(&i.folded))
    }

    /// An extreme that comes first, the word that says so, and whether it is the most.
    pub(super) fn extreme_first(&self) -> Option<(usize, usize, bool)> {
        (0..self.items.len()).find_map(|at| {
            let item = &self.items[at];
            let most = item.senses().iter().find_map(|s| match s {
                Sense::Aggregate(a) => match self.lexicons.aggregates[*a].op.as_str() {
                    "max" => Some(true),
                    "min" => Some(false),
                    _ => None,
                },
                Sense::Cue(Cue::Superlative) => Some(!item.is(Cue::Least)),
                _ => None,
            })?;
            Some((at, self.ahead(at)?, most))
        })
    }
}

impl Reading<'_, '_> {
    /// «total the value column», «the average size», «quanto fanno in totale».
    pub(super) fn totals(&mut self) {
        let said: Vec<usize> = self.available.iter().copied().filter(|&at| self.total_of(at).is_some()).collect();
        let explicit = |at: &usize| !self.items()[*at].is_noise();
        let some: Vec<usize> =
            if said.iter().any(explicit) { said.iter().copied().filter(explicit).collect() } else { said.clone() };
        for at in some {
            // «takes up more than 3 GB» bounds each file.
            let bounds = (at + 1..at + 4).any(|i| self.item(i).is_some_and(|i| matches!(i.what, What::Bound { .. })));
            if self.wanted.takes(at) || (bounds && self.kind == Kind::Files && !self.clause.counts) {
                self.wanted.used.extend(bounds.then_some(at));
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
            // «lowest price first», «prezzo più alto in cima»: an order of all rows.
            let whole = self.kind == Kind::Rows && matches!(op.as_str(), "max" | "min") && self.puts_first(at);
            if let (Some(key), true) = (&key, whole) {
                self.wanted.order = Some(Order { by: key.clone(), desc: op == "max", at });
                continue;
            }
            if let (Some(key), true) = (&key, matches!(op.as_str(), "max" | "min"))
                && let Some(top) = self.rows_meant(at)
            {
                let by = self.wanted.order.take().map_or_else(|| key.clone(), |order| order.by);
                self.wanted.order = Some(Order { by, desc: op == "max", at });
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
        let weak = self
            .clause
            .verbs
            .iter()
            .all(|&(_, v)| self.builder.class(v).weak || self.builder.class(v).verbs[0] == "compute");
        let asked = self.kind == Kind::Files && (self.clause.counts || weak) && self.wanted.is_empty();
        if let Some(at) = self.available.iter().copied().find(sized).filter(|_| asked) {
            self.wanted.used.push(at);
            self.wanted.totals.push(Total { op: "sum".to_owned(), key: Some("size".to_owned()), at });
        }
        self.quantities();
        // «in total» beside a sum that was read says nothing more.
        if !self.wanted.totals.is_empty() {
            self.wanted.used.extend(said);
        }
    }

    /// «hours per client»: the sum of what is measured, right before the word that groups.
    fn quantities(&mut self) {
        if self.kind != Kind::Rows || !self.wanted.totals.is_empty() {
            return;
        }
        let groups = |at: usize| self.item(at).is_some_and(|i| i.is(Cue::Grouped) || i.is(Cue::By));
        let said = |&at: &usize| {
            let bare = at.checked_sub(1).is_none_or(|b| !self.item(b).is_some_and(|i| i.is(Cue::By)));
            self.builder.measures(at) && groups(at + 1) && bare && !self.wanted.takes(at)
        };
        let Some(at) = self.available.iter().copied().find(said) else {
            // «total per month»: of the one column that holds numbers, which the executor finds.
            let bare = |&at: &usize| self.total_of(at) == Some("sum") && groups(at + 1) && !self.wanted.takes(at);
            if let Some(at) = self.available.iter().copied().find(bare) {
                self.wanted.totals.push(Total { op: "sum".to_owned(), key: None, at });
                self.wanted.used.push(at);
            }
            return;
        };
        let sorts = self.clause.verbs.iter().any(|&(_, v)| self.builder.class(v).verbs[0] == "sort");
        if let Some(key) = self.column_name(at).filter(|_| !sorts) {
            self.wanted.totals.push(Total { op: "sum".to_owned(), key: Some(key), at });
            self.wanted.used.push(at);
        }
    }

    /// Whether what has the most or the least of a field is to come first.
    fn puts_first(&mut self, at: usize) -> bool {
        let found = self.builder.ahead(at);
        self.wanted.used.extend(found);
        found.is_some()
    }

    /// «the 3 rows with the highest price»: rows are wanted, not the number; how many of them.
    pub(super) fn rows_meant(&mut self, at: usize) -> Option<i64> {
        if self.kind != Kind::Rows {
            return None;
        }
        let before = (self.clause.range.start..at).rev().filter(|&i| self.item(i).is_some());
        let after = (at + 1..at + 3).filter(|&i| self.item(i).is_some());
        let noun = before
            .chain(after)
            .find(|&i| matches!(self.items()[i].what, What::Lines(Lines::First(_))) || self.is_rows_noun(i))?;
        if let What::Lines(Lines::First(n)) = self.items()[noun].what {
            self.wanted.used.push(noun);
            return Some(n);
        }
        if let Some((n, used)) = self.count_beside(at).or_else(|| self.count_beside(noun)) {
            self.wanted.used.extend(used);
            return Some(n);
        }
        let folded = self.items()[noun].folded.as_str();
        Some(if folded.ends_with('s') || folded.ends_with("he") || folded.ends_with("ee") { SOME } else { 1 })
    }

    pub(super) fn names_the_table(&self, name: &str) -> bool {
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
    pub(super) fn key_of(&self, at: usize) -> Option<(String, Vec<usize>)> {
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
        // «the highest value under score», «col valore più alto in abitanti»
        let beneath = self.available.iter().copied().find(|&i| {
            let led = i.checked_sub(1).is_some_and(|b| {
                let held = self.items()[b].is(Cue::Beneath);
                let generic = (b.saturating_sub(3)..b).any(|g| self.builder.is_generic(g));
                held || (generic && self.items()[b].is(Cue::Inside))
            });
            led && self.column_name(i).is_some() && !self.wanted.takes(i)
        });
        let quoted = self
            .available
            .iter()
            .copied()
            .find(|&i| matches!(self.items()[i].what, What::Quoted(_)) && !self.wanted.takes(i));
        let entries =
            |i: &usize| !["entries", "texts_lines", "files"].iter().any(|n| self.builder.names(&self.items()[*i], n));
        // «how much did I spend on food»: what follows is no column but a value.
        let spent = |i: &usize| self.items()[*i].is(Cue::Spends);
        let valued = |i: &usize| {
            i.checked_sub(1).is_some_and(|b| self.items()[b].is(Cue::Inside) || self.items()[b].is(Cue::From))
        };
        let next = next.filter(|i| !(self.available.iter().any(spent) && valued(i)));
        let label = next.filter(|_| beside.is_some() && beside != next);
        let word = |i: &usize| entries(i) && !self.builder.is_generic(*i);
        let found =
            quoted.or(beside).or(beneath).or(next.filter(word)).or(before.filter(word)).or(next.filter(entries))?;
        let mut used: Vec<usize> = with_column(found);
        used.extend(label);
        Some((self.column_name(found)?, used))
    }
}
