//! Which words of a sentence about a table name a column, and which a value: by what they stand beside.
//!
//! Each word gets points for its neighbours («the price column», «by price», «highest price», «prezzo più alto»); the one with
//! the most is taken, and none when two have equally many. The table itself is not looked at.

use serde_json::{Value, json};

use super::super::super::compose::number;
use super::super::super::fill::words;
use super::super::super::items::{Item, What};
use super::super::super::lexicon::{Cue, Sense};
use super::super::super::words::{fold, stem};
use super::super::wanted::SOME;
use super::super::{Builder, Trouble};
use super::{Meaning, Part};
use crate::plan::{AnswerSpec, Origin};

/// The fewest points that make a column of a word.
const ENOUGH: i32 = 3;

impl Builder<'_> {
    /// Plans what a frame does to the rows of a table that was read.
    pub(super) fn rows_by_frame(&mut self, meant: &Meaning<'_>) -> Result<(), Trouble> {
        let mut value = None;
        if meant.parts.get(1).is_some_and(|p| p.tool == "filter_entries") {
            let (at, field) = if let Some((at, field)) = self.value_as_field() {
                (at, Some(field))
            } else {
                let at = self.value_said(meant).ok_or_else(|| self.not_filled())?;
                (at, self.field_of(at, meant))
            };
            value = Some((at, field));
            self.used[at] = true;
            if let Some(field) = field {
                self.used[field] = true;
            }
        }
        let rest = if value.is_some() { &meant.parts[2..] } else { &meant.parts[1..] };
        let key = match rest {
            [part] if part.tool == "compute_entries" && part.value("op") == Some("count") => None,
            [part] if matches!(part.tool, "sort_entries" | "compute_entries" | "group_entries") => {
                let grouped = part.tool == "group_entries";
                Some(self.column_said(meant, grouped).ok_or_else(|| self.not_filled())?)
            }
            [] => None,
            _ => return Err(self.not_filled()),
        };
        // «average price by shop» is a total of each group.
        let grouping = |key: usize| {
            key.checked_sub(1).is_some_and(|b| self.items[b].is(Cue::Grouped) || self.items[b].is(Cue::By))
                && !self.beside_a_column(key)
        };
        if key.is_some_and(grouping) && rest.first().is_some_and(|p| p.tool == "compute_entries") {
            return Err(self.not_filled());
        }
        if let Some(key) = key {
            self.used[key] = true;
        }
        if let Some((at, field)) = value {
            self.rows_with(at, field)?;
            if rest.is_empty() && self.items.iter().any(|i| i.is(Cue::HowMany)) {
                self.answer = AnswerSpec::Field { path: "metadata.count".to_owned() };
            }
        }
        let (Some(part), origin) = (rest.first(), key.map_or(Origin::Default, |at| words(&self.items[at]))) else {
            return Ok(());
        };
        let name = key.map(|at| self.column_written(at));
        match part.tool {
            "sort_entries" => {
                let by = name.unwrap_or_default();
                self.sort_rows(part, &by, origin)?;
            }
            "group_entries" => {
                self.grouped_rows(meant, name.as_deref(), origin)?;
            }
            _ => {
                let op = part.value("op").unwrap_or("sum");
                let mut args = vec![("op", json!(op), Origin::Default)];
                args.extend(name.map(|name| ("key", json!(name), origin)));
                self.next("compute_entries", &args)?;
            }
        }
        self.explain_table();
        Ok(())
    }

    /// Groups by that column, with the total that the words name and each one's share of it.
    fn grouped_rows(&mut self, meant: &Meaning<'_>, by: Option<&str>, origin: Origin) -> Result<(), Trouble> {
        let mut args = vec![("by", json!(by), origin)];
        let total = self.total_of_groups(meant).or_else(|| self.quantity_per_group());
        if total.is_none() && self.items.iter().any(|i| self.total_said(i).is_some() && !i.is_noise()) {
            return Err(self.not_filled());
        }
        args.extend(total);
        if let Some(at) = self.items.iter().position(|i| i.is(Cue::Share)) {
            args.push(("share", json!(true), words(&self.items[at])));
            self.used[at] = true;
        }
        self.next("group_entries", &args)
    }

    fn sort_rows(&mut self, part: &Part<'_>, by: &str, origin: Origin) -> Result<(), Trouble> {
        let desc = self.direction_said().unwrap_or(part.has("desc"));
        let mut args = vec![("by", json!(by), origin), ("desc", json!(desc), Origin::Default)];
        let all: Vec<usize> = (0..self.items.len()).collect();
        let said = self.number_said(&all);
        if let Some((at, n, length)) = said {
            (at..at + length).for_each(|at| self.used[at] = true);
            args.push(("top", json!(n), words(&self.items[at])));
        } else if part.has("top") {
            args.push(("top", json!(if self.says_many() { SOME } else { 1 }), Origin::Default));
        }
        self.next("sort_entries", &args)
    }

    /// «descending», «from A to Z»: the words' own direction.
    fn direction_said(&self) -> Option<bool> {
        let said = self.items.iter().find_map(|i| {
            let by_name = i.senses().iter().find_map(|s| match s {
                Sense::Order(o) if self.lexicons.orders[*o].by == "name" => Some(self.lexicons.orders[*o].desc),
                _ => None,
            });
            match (i.is(Cue::Descending), i.is(Cue::Ascending)) {
                (true, false) => Some(true),
                (false, true) => Some(false),
                _ => by_name,
            }
        });
        said.or_else(|| self.extreme_first().map(|(_, _, most)| most))
    }

    /// «the average score per team»: what is counted or summed in each group.
    fn total_of_groups(&mut self, meant: &Meaning<'_>) -> Option<(&'static str, Value, Origin)> {
        let said = |i: &Item| self.total_said(i).is_some();
        let total =
            self.items.iter().position(|i| !i.is_noise() && said(i)).or_else(|| self.items.iter().position(said));
        let sums = |i: &Item| i.verb().is_some_and(|v| self.class(v).verbs[0] == "compute");
        let op = match total {
            Some(at) => self.total_said(&self.items[at])?.to_owned(),
            None => self.items.iter().any(sums).then(|| "sum".to_owned())?,
        };
        let key = self.column_said(meant, false)?;
        self.used[key] = true;
        let name = self.column_written(key);
        Some(("aggregate", json!([{ "op": op, "key": name }]), words(&self.items[key])))
    }

    /// «hours per client»: the sum of what is measured, right before the word that groups.
    fn quantity_per_group(&mut self) -> Option<(&'static str, Value, Origin)> {
        let grouping = |i: &Item| i.is(Cue::Grouped) || i.is(Cue::By);
        let measured = (1..self.items.len()).find(|&at| grouping(&self.items[at]) && self.measures(at - 1));
        // The column that is named as one, and is not what is grouped by.
        let named =
            || (0..self.items.len()).find(|&at| !self.used[at] && self.names_data(at) && self.beside_a_column(at));
        let key = measured.map(|at| at - 1).or_else(named)?;
        self.used[key] = true;
        let name = self.column_written(key);
        Some(("aggregate", json!([{ "op": "sum", "key": name }]), words(&self.items[key])))
    }

    pub(in super::super) fn total_said(&self, item: &Item) -> Option<&str> {
        item.senses().iter().find_map(|s| match s {
            Sense::Aggregate(a) => Some(self.lexicons.aggregates[*a].op.as_str()),
            _ => None,
        })
    }

    /// One condition: the value, the column beside it if one is named, and how they compare.
    fn rows_with(&mut self, value: usize, field: Option<usize>) -> Result<(), Trouble> {
        let near =
            |cue: Cue| (value.saturating_sub(4)..self.items.len().min(value + 3)).any(|at| self.items[at].is(cue));
        let held = match &self.items[value].what {
            What::Quoted(text) => json!(text),
            _ => number(self.items, value).map_or_else(|| json!(self.phrase_from(value)), |(n, _)| json!(n)),
        };
        let sign = value.checked_sub(1).and_then(|before| self.sign_between(before, value));
        let op = match sign {
            Some(op) => op,
            None if held.is_number() && near(Cue::MinSize) => "gt",
            None if held.is_number() && near(Cue::MaxSize) => "lt",
            None if field.is_none() || near(Cue::Contains) => "contains",
            None => "eq",
        };
        let name = field.map_or_else(|| "*".to_owned(), |at| self.column_written(at));
        let condition = json!([{ "field": name, "op": op, "value": held }]);
        let origin = words(&self.items[value]);
        self.next("filter_entries", &[("where", condition, origin)])
    }

    /// «New York»: words in capitals that follow belong to the value.
    fn phrase_from(&mut self, at: usize) -> String {
        let capital = |at: usize| self.items[at].is_word() && self.said(at..at + 1).starts_with(char::is_uppercase);
        let last = if capital(at) {
            (at..self.items.len().min(at + 3)).take_while(|&i| capital(i)).last().unwrap_or(at)
        } else {
            at
        };
        (at..=last).for_each(|i| self.used[i] = true);
        self.said(at..last + 1)
    }

    fn sign_between(&self, left: usize, right: usize) -> Option<&'static str> {
        Some(match self.text[self.items[left].end..self.items[right].start].trim() {
            ">" => "gt",
            "<" => "lt",
            ">=" | "≥" => "ge",
            "<=" | "≤" => "le",
            "!=" | "≠" => "ne",
            "=" | "==" => "eq",
            _ => return None,
        })
    }

    /// The name of a column as written; a noun phrase of the lexicon is taken whole.
    fn column_written(&self, at: usize) -> String {
        match &self.items[at].what {
            What::Quoted(name) => name.clone(),
            _ => self.said(at..at + 1),
        }
    }

    /// Whether the item can be the name of a column or a value at all.
    fn names_data(&self, at: usize) -> bool {
        let item = &self.items[at];
        let plain = |s: &Sense| matches!(s, Sense::Noise | Sense::Cue(_));
        match &item.what {
            What::Quoted(_) => true,
            What::Word(senses) if senses.is_empty() || item.forgiven => true,
            What::Word(senses) => {
                let strong = item.verb().is_some_and(|v| !self.class(v).weak);
                (!senses.iter().all(plain) || item.is(Cue::Share))
                    && !item.is_noise()
                    && !strong
                    && number(self.items, at).is_none()
                    && !senses.iter().any(|s| matches!(s, Sense::Order(_) | Sense::Aggregate(_)))
                    && item.verb().is_none()
                    && !item.is(Cue::Column)
                    && !item.is(Cue::Table)
                    && !item.is(Cue::Every)
            }
            _ => false,
        }
    }

    /// The next item in that direction that is no grammar, at most three away.
    fn beside(&self, at: usize, forward: bool) -> Option<usize> {
        let grammar = |i: &Item| {
            i.is_noise()
                || i.is(Cue::Determiner)
                || i.is(Cue::Equal)
                || i.is(Cue::From)
                || i.is(Cue::Named)
                || matches!(i.what, What::Punctuation(':' | ','))
        };
        let passes = |i: &Item| {
            grammar(i) && !i.is(Cue::Column) && i.senses().iter().all(|s| matches!(s, Sense::Noise | Sense::Cue(_)))
        };
        let mut next = at;
        for _ in 0..4 {
            next = if forward { next + 1 } else { next.checked_sub(1)? };
            let item = self.items.get(next)?;
            if !passes(item) || item.is_punctuation() && !forward && item.what != What::Punctuation(':') {
                return Some(next);
            }
        }
        None
    }

    /// How much speaks for that word to be the column that is sorted, summed or grouped by.
    fn column_points(&self, at: usize, meant: &Meaning<'_>, grouped: bool) -> Option<i32> {
        if self.used[at] || !self.names_data(at) || self.names_rows(at) {
            return None;
        }
        let item = &self.items[at];
        // A column that is taken is not taken twice.
        if (0..self.items.len())
            .any(|i| i != at && self.used[i] && self.items[i].folded == item.folded && item.is_word())
        {
            return None;
        }
        let is = |place: Option<usize>, fits: &dyn Fn(&Item) -> bool| place.is_some_and(|p| fits(&self.items[p]));
        let (before, after) = (self.beside(at, false), self.beside(at, true));
        let ranks = |i: &Item| {
            i.is(Cue::Superlative)
                || i.is(Cue::First)
                || i.senses().iter().any(|s| matches!(s, Sense::Order(_) | Sense::Aggregate(_)))
        };
        // «how much did each shop cost, column amount»: what is grouped by is said by «each».
        let each = grouped && (1..self.items.len()).any(|i| self.each_of(i));
        let column = |i: &Item| i.is(Cue::Column) && !each;
        let groups = |i: &Item| i.is(Cue::Grouped) || i.is(Cue::Every);
        let led = at.checked_sub(1).map(|b| &self.items[b]);
        let by = led.is_some_and(|i| i.is(Cue::By) || (grouped && i.is(Cue::Grouped)))
            || led.is_some_and(Item::is_noise) && at.checked_sub(2).is_some_and(|b| self.items[b].is(Cue::By));
        let on = led.is_some_and(|i| {
            matches!(
                i.folded.as_str(),
                "on" | "under" | "su" | "sotto" | "in order of" | "in ordine di" | "sul" | "di" | "going by"
            )
        });
        let mut points = 0;
        points += 6 * i32::from(is(before, &column) || is(after, &column));
        points += 5 * i32::from(by) + i32::from(on);
        if grouped {
            points += 3 * i32::from(is(before, &groups));
        } else {
            points += 3 * i32::from(is(before, &ranks)) + 2 * i32::from(after == Some(at + 1) && is(after, &ranks));
        }
        let unknown = item.is_unknown() || matches!(item.what, What::Quoted(_));
        points += i32::from(unknown && !meant.explains(&item.folded)) + i32::from(unknown);
        let capital = at > 0 && self.said(at..at + 1).starts_with(char::is_uppercase);
        points -= 5 * i32::from(self.is_generic(at));
        points -= 3 * i32::from(capital) + 3 * i32::from(self.is_the_table(&item.folded));
        points += 3 * i32::from(led.is_some_and(|i| i.is(Cue::Beneath)));
        // «the highest value in population»
        let of_value =
            at > 1 && self.items[at - 1].is(Cue::Inside) && (at.saturating_sub(5)..at).any(|g| self.is_generic(g));
        points += 3 * i32::from(of_value);
        Some(points)
    }

    /// Whether groups are made of what this word names: «each shop», «ogni negozio».
    fn each_of(&self, at: usize) -> bool {
        let led = &self.items[at - 1];
        (led.is(Cue::Every) || led.is(Cue::Grouped)) && self.names_data(at) && !self.names_rows(at)
    }

    /// «rows», «entries»: what a table is made of, no column of it.
    fn names_rows(&self, at: usize) -> bool {
        ["texts_lines", "entries", "files"].iter().any(|n| self.names(&self.items[at], n)) && !self.beside_a_column(at)
    }

    fn beside_a_column(&self, at: usize) -> bool {
        let near = [self.beside(at, false), self.beside(at, true)];
        near.into_iter().flatten().any(|p| self.items[p].is(Cue::Column))
    }

    /// The column that the sentence is about.
    fn column_said(&self, meant: &Meaning<'_>, grouped: bool) -> Option<usize> {
        let mut ranked: Vec<(i32, usize)> =
            (0..self.items.len()).filter_map(|at| Some((self.column_points(at, meant, grouped)?, at))).collect();
        ranked.sort_by_key(|&(points, at)| (std::cmp::Reverse(points), at));
        match ranked.as_slice() {
            [(points, at)] if *points >= 2 => Some(*at),
            [(points, at), (next, _), ..] if *points >= ENOUGH && points > next => Some(*at),
            _ => None,
        }
    }

    /// «shipped as their status», «come stato spedito»: a value and its column, and the word that pairs them.
    fn value_as_field(&mut self) -> Option<(usize, usize)> {
        let pair = (0..self.items.len()).find_map(|at| {
            let data = |at: usize| !self.used[at] && self.names_data(at) && !self.is_the_table(&self.items[at].folded);
            let determined = self.items.get(at + 1).is_some_and(|i| i.is(Cue::Determiner) && i.is_noise());
            let field = at + 1 + usize::from(determined);
            // «stato» is a column where «come» says so, whatever else the word is.
            let named =
                |f: usize| self.items.get(f).is_some_and(|i| i.is_word() && i.folded.len() > 2) && !self.used[f];
            let field = Some(field).filter(|&f| self.items[at].is(Cue::As) && named(f))?;
            let before = at.checked_sub(1).filter(|&v| data(v) && data(field));
            let value = before.or_else(|| self.beside(field, true).filter(|&v| data(v)))?;
            Some((at, value, field))
        });
        let (at, value, field) = pair?;
        self.used[at] = true;
        Some((value, field))
    }

    /// The value that rows are to have.
    fn value_said(&self, meant: &Meaning<'_>) -> Option<usize> {
        let mut ranked: Vec<(i32, usize)> =
            (0..self.items.len()).filter_map(|at| Some((self.value_points(at, meant)?, at))).collect();
        ranked.sort_by_key(|&(points, at)| (std::cmp::Reverse(points), at));
        match ranked.as_slice() {
            [(points, at)] if *points >= 2 => Some(*at),
            [(points, at), (next, _), ..] if *points >= ENOUGH && points > next => Some(*at),
            _ => None,
        }
    }

    fn value_points(&self, at: usize, meant: &Meaning<'_>) -> Option<i32> {
        let item = &self.items[at];
        let figure = number(self.items, at).is_some() && !item.is_noise();
        let place = matches!(item.what, What::Zone(_))
            || item.senses().iter().any(|s| matches!(s, Sense::Zone(_) | Sense::Month(_)));
        let marked = matches!(item.what, What::Bytes(_));
        if self.used[at] || !(self.names_data(at) || figure || place || marked) {
            return None;
        }
        let led = at.checked_sub(1).map(|b| &self.items[b]);
        let capital = at > 0 && item.is_word() && self.said(at..at + 1).starts_with(char::is_uppercase);
        let equal = led.is_some_and(|i| i.is(Cue::Equal))
            || at.checked_sub(1).is_some_and(|b| self.sign_between(b, at).is_some());
        let named = led.is_some_and(|i| i.is_unknown() || i.is(Cue::Column)) || self.follows_field(at);
        let column = |place: Option<usize>| place.is_some_and(|p| self.items[p].is(Cue::Column));
        let mut points = 5 * i32::from(matches!(item.what, What::Quoted(_)));
        points += 4 * i32::from(equal)
            + 3 * i32::from(capital || place)
            + 3 * i32::from(figure || marked)
            + 2 * i32::from(named);
        points += i32::from(item.is_unknown() && !meant.explains(&item.folded)) + i32::from(item.is_unknown());
        points -= 4 * i32::from(column(self.beside(at, false)) || column(self.beside(at, true)));
        points -= 3 * i32::from(self.is_the_table(&item.folded));
        points -= 3 * i32::from(["texts_lines", "entries", "files"].iter().any(|n| self.names(item, n)));
        Some(points)
    }

    fn follows_field(&self, at: usize) -> bool {
        at.checked_sub(1).is_some_and(|b| {
            self.names_data(b) && !self.is_the_table(&self.items[b].folded) && self.items[b].verb().is_none()
        })
    }

    /// The column whose value is meant: named as one, or right before the value.
    fn field_of(&self, value: usize, meant: &Meaning<'_>) -> Option<usize> {
        let open = |&at: &usize| at != value && !self.used[at] && self.names_data(at);
        let column = |&at: &usize| {
            [self.beside(at, false), self.beside(at, true)].into_iter().flatten().any(|p| self.items[p].is(Cue::Column))
        };
        let rows = |at: &usize| !["texts_lines", "entries", "files"].iter().any(|n| self.names(&self.items[*at], n));
        let named = (0..self.items.len()).filter(open).filter(rows).find(column);
        let before = (value.saturating_sub(3)..value)
            .rev()
            .filter(open)
            .find(|&at| {
                let between = &self.items[at + 1..value];
                let passes = |i: &Item| {
                    i.is_noise()
                        || i.is(Cue::Equal)
                        || i.is(Cue::MinSize)
                        || i.is(Cue::MaxSize)
                        || i.is_punctuation()
                        || i.verb().is_some()
                        || i.is(Cue::Contains)
                        || meant.explains(&i.folded)
                };
                let known = meant.explains(&self.items[at].folded);
                !self.is_the_table(&self.items[at].folded) && between.iter().all(passes) && !known
            })
            .or_else(|| self.follows_field(value).then(|| value - 1));
        // Beside a total the column that is named is rather the one that is summed.
        let further = meant.frame.matches(" > ").count() > 1;
        if further { before.or(named) } else { named.or(before) }.filter(rows)
    }

    fn is_the_table(&self, folded: &str) -> bool {
        let wanted = stem(folded);
        self.items.iter().any(|i| match &i.what {
            What::Path { value, .. } => {
                let file = fold(value.rsplit('/').next().unwrap_or(value));
                file.split(|c: char| !c.is_alphanumeric()).any(|part| stem(part) == wanted)
            }
            _ => false,
        })
    }

    /// Words that say how rows are ranked, summed or compared are explained by the frame that does so.
    fn explain_table(&mut self) {
        const CUES: [Cue; 16] = [
            Cue::Superlative,
            Cue::Descending,
            Cue::Ascending,
            Cue::First,
            Cue::Column,
            Cue::By,
            Cue::Grouped,
            Cue::Equal,
            Cue::Where,
            Cue::MinSize,
            Cue::MaxSize,
            Cue::Contains,
            Cue::Only,
            Cue::Table,
            Cue::HowMany,
            Cue::Fresh,
        ];
        for at in 0..self.items.len() {
            let item = &self.items[at];
            let cue = CUES.iter().any(|&cue| item.is(cue));
            let said = item.senses().iter().any(|s| matches!(s, Sense::Order(_) | Sense::Aggregate(_)));
            self.used[at] |= cue || said || (item.is_word() && self.is_the_table(&item.folded));
        }
    }
}
