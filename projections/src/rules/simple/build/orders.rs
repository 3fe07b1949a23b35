//! Orders: «the two smallest files», «newest first», «the top 5 by price», and how many of them are wanted.
//!
//! It says which field comes first and in which direction; whether there is such a column is for the executor.

use super::super::compose::number;
use super::super::items::{Item, Lines, What};
use super::super::lexicon::{Cue, Sense};
use super::wanted::{Kind, Order, Reading, SOME, Total};

impl Reading<'_, '_> {
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

    /// «biggest group first»: groups by what was counted or summed in them.
    pub(super) fn order_of_groups(&mut self) {
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
