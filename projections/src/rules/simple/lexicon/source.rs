//! The lexicon files as they are written: one table a kind of meaning. Anything unknown in them is refused.
//!
//! What the words come to mean together is the engine's business; here are only the lists.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Cue;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Source {
    pub(super) verbs: Vec<VerbClass>,
    pub(super) objects: BTreeMap<String, Vec<String>>,
    pub(super) forms: Vec<FormSource>,
    pub(super) measures: Vec<Measure>,
    pub(super) settings: Vec<Setting>,
    pub(super) patterns: Vec<Globs>,
    pub(super) orders: Vec<Order>,
    pub(super) fields: Vec<FieldName>,
    pub(super) aggregates: Vec<Aggregate>,
    pub(super) recurrence: Recurrence,
    pub(super) cues: BTreeMap<Cue, Vec<String>>,
    pub(super) sizes: Vec<Valued<u64>>,
    pub(super) periods: BTreeMap<String, Vec<String>>,
    pub(super) numbers: Vec<Valued<i64>>,
    pub(super) ordinals: Vec<Valued<i64>>,
    pub(super) weekdays: Vec<Vec<String>>,
    pub(super) months: Vec<Vec<String>>,
    pub(super) zones: BTreeMap<String, Vec<String>>,
    pub(super) folders: Vec<String>,
    pub(super) noise: Vec<String>,
    #[serde(default)]
    pub(super) elisions: Vec<String>,
    #[serde(default)]
    pub(super) enclitics: Vec<Enclitic>,
    #[serde(default)]
    pub(super) file_extensions: Vec<String>,
    #[serde(default)]
    pub(super) domain_endings: Vec<String>,
    #[serde(default)]
    pub(super) quantities: Vec<String>,
    #[serde(default)]
    pub(super) generics: Vec<String>,
    pub(super) about: About,
    pub(super) request: Request,
}

/// Words that tell a request of an act from a question about it, a statement of it, or one for another time. Phrases of
/// folded words.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    /// «which», «is there»: a clause that begins so asks.
    pub(crate) asks: Vec<String>,
    /// «I», «someone», «ho»: somebody else does what follows, or did it.
    pub(crate) tellers: Vec<String>,
    /// «please», «I want», «could you»: makes a request of what follows.
    pub(crate) wishes: Vec<String>,
    /// «to», «da»: what follows stands for the act, and does not ask for it.
    pub(crate) infinitives: Vec<String>,
    /// «tomorrow», «at midnight»: another time.
    pub(crate) later: Vec<String>,
    /// «on», «by»: leads to a day on which it is to be done.
    pub(crate) days: Vec<String>,
    /// «the rest», «everything else»: what was not named.
    pub(crate) rest: Vec<String>,
    /// «a», «one of the», «any»: not all of them, and nobody said which.
    pub(crate) indefinite: Vec<String>,
    /// «also»: beside what is there.
    pub(crate) also: Vec<String>,
    /// «documents»: a kind that no ending tells.
    pub(crate) kinds: Vec<String>,
    /// «in», «fra»: leads to how long from now.
    pub(crate) spans: Vec<String>,
    /// «at», «alle»: leads to an hour.
    pub(crate) hours: Vec<String>,
    /// «at random»: not all of them, and nobody said which.
    pub(crate) random: Vec<String>,
    /// «any»: before several things, all of them.
    pub(crate) whole: Vec<String>,
}

/// Questions about Metnos itself, in the notation of sentence templates.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct About {
    /// «what can you do».
    pub(crate) skills: Vec<String>,
    /// «what did you do».
    pub(crate) done: Vec<String>,
    /// «what did you change».
    pub(crate) changed: Vec<String>,
    /// «the last thing you did».
    pub(crate) last: Vec<String>,
    /// «why did you ask».
    pub(crate) why_asked: Vec<String>,
    /// «why did you do that».
    pub(crate) why_did: Vec<String>,
    /// «why?», with nothing else.
    pub(crate) why: Vec<String>,
    /// Words before a topic («with»); before a thing, they make it a question about that thing.
    pub(crate) with: Vec<String>,
    /// Words that may stand anywhere inside («actually»).
    pub(crate) fillers: Vec<String>,
}

/// Words that name the same acts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VerbClass {
    /// Verbs of the closed vocabulary, the likeliest first.
    #[serde(rename = "as")]
    pub(crate) verbs: Vec<String>,
    /// It only asks for an answer («tell», «show»): another verb, or what is there, says what to do.
    #[serde(default)]
    pub(crate) weak: bool,
    /// It asks how many.
    #[serde(default)]
    pub(crate) counts: bool,
    /// The object that its words bring with them («mkdir»: folders).
    #[serde(default)]
    pub(crate) object: Option<String>,
    pub(super) words: Vec<String>,
    #[serde(default)]
    pub(super) past: Vec<String>,
}

/// Words that name a quantity of a result, and where each kind of step holds it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Measure {
    /// The result's dotted path by the verb of the step.
    pub(crate) fields: BTreeMap<String, String>,
    pub(super) words: Vec<String>,
}

/// Words that set an argument.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Setting {
    pub(crate) argument: String,
    pub(crate) value: serde_json::Value,
    pub(super) words: Vec<String>,
}

/// Words that stand for globs over names.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Globs {
    pub(crate) globs: Vec<String>,
    pub(super) words: Vec<String>,
}

/// Words that order entries by a field («largest», «newest»).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    /// The field that entries of files and processes have.
    pub(crate) by: String,
    /// Whether the first is the one with the most of it.
    pub(crate) desc: bool,
    pub(super) words: Vec<String>,
}

/// Words that name a field of files or processes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FieldName {
    /// The field's name in entries.
    pub(crate) name: String,
    /// Whether people who sort by it usually want the most first.
    #[serde(default)]
    pub(crate) desc: bool,
    pub(super) words: Vec<String>,
}

/// Words that make one number of many.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Aggregate {
    /// `sum`, `avg`, `min`, `max`, `median`.
    pub(crate) op: String,
    pub(super) words: Vec<String>,
}

/// Words of recurring times; each is one word, or several where a space stands in it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recurrence {
    /// «every».
    pub(crate) every: Vec<String>,
    /// «at».
    pub(crate) at: Vec<String>,
    /// «on»: before days.
    pub(crate) on: Vec<String>,
    /// «other», after «every».
    pub(crate) other: Vec<String>,
    /// Times of day with the hour that is meant when none is said.
    pub(crate) parts: BTreeMap<String, u8>,
    /// Parts of the day whose hours up to eleven are in the afternoon.
    pub(crate) afternoon: Vec<String>,
    /// «noon», «midnight».
    pub(crate) moments: BTreeMap<String, u8>,
    /// Monday to Friday.
    pub(crate) weekdays: Vec<String>,
    /// Saturday and Sunday.
    pub(crate) weekend: Vec<String>,
    /// «daily» to the number of days; 1, 7, 30.
    pub(crate) adverbs: BTreeMap<String, u8>,
    /// «first», of the month.
    pub(crate) first: Vec<String>,
    /// «half past», «quarter to»: added to the hour, in minutes.
    pub(crate) minutes: BTreeMap<String, i8>,
    /// «half hour», after «every», in minutes.
    pub(crate) fractions: BTreeMap<String, u8>,
    /// «to», between two days of the week.
    pub(crate) through: Vec<String>,
    /// «in», before a stretch of time: that long from now.
    pub(crate) after: Vec<String>,
    /// «an», before a unit of time.
    pub(crate) one: Vec<String>,
    /// «number», before that of a task.
    pub(crate) number: Vec<String>,
    /// «history», of a task.
    pub(crate) history: Vec<String>,
    /// «details», of a task.
    pub(crate) details: Vec<String>,
    /// «next», beside a day of the week: the one to come.
    pub(crate) next: Vec<String>,
    /// «tomorrow», «tonight».
    pub(crate) days: BTreeMap<String, Day>,
    /// «say», «like»: stand between days and a time and say nothing.
    pub(crate) fillers: Vec<String>,
    /// «and», between times of day and between units.
    pub(crate) and: Vec<String>,
    /// «a half», after a unit of time.
    pub(crate) halves: Vec<String>,
    /// «last», of the month.
    pub(crate) last: Vec<String>,
    /// «of the», before the month that a day is one of.
    pub(crate) of: Vec<String>,
    /// «times», after a number.
    pub(crate) times: Vec<String>,
    /// «twice», as a number.
    pub(crate) twice: BTreeMap<String, u8>,
    /// «a», between «twice» and a unit of time.
    pub(crate) per: Vec<String>,
    /// Units of time that are too short for anything to recur.
    pub(crate) instants: Vec<String>,
    /// «every other day», in other words than «every».
    pub(crate) alternate: Vec<String>,
    /// «until», before the day that is the last one.
    pub(crate) until: Vec<String>,
    /// «for», before how long it goes on.
    pub(crate) lasting: Vec<String>,
    /// «starting», before the first day.
    pub(crate) starting: Vec<String>,
    /// «except», before days that are left out.
    pub(crate) except: Vec<String>,
    /// «from», before the first hour of a part of each day.
    pub(crate) between: Vec<String>,
    /// «on the», before a day of this month or the next.
    pub(crate) that_day: Vec<String>,
    /// «the end of», before a unit of time.
    pub(crate) ends: Vec<String>,
    /// Days of the year that have a name, as `MM-DD`.
    pub(crate) feasts: BTreeMap<String, String>,
    /// «in», where it may lead to how long something took as well: that long from now only at the beginning.
    pub(crate) within: Vec<String>,
    /// «from now», behind a stretch of time.
    pub(crate) hence: Vec<String>,
    /// «next», beside a week, a month or a year.
    pub(crate) coming: Vec<String>,
    /// «during», «except»: what they lead to, beside a time, bounds it or names another one.
    pub(crate) bounding: Vec<String>,
    /// «in», «on»: the same, where a word of time follows.
    pub(crate) placing: Vec<String>,
    /// «summer», «holidays».
    pub(crate) seasons: Vec<String>,
    /// «CET», «local time»: whose time it is.
    pub(crate) clocks: Vec<String>,
    /// «change», «move», before a task that is to happen at other times.
    pub(crate) changes: Vec<String>,
    /// «to», between a task and its new times.
    pub(crate) new_time: Vec<String>,
    /// «when», at the beginning of a question about the next time of a task.
    pub(crate) when: Vec<String>,
    /// «to», «that»: behind them stands what somebody is to be reminded of.
    pub(crate) reminded: Vec<String>,
    /// «for», «of»: what they lead to belongs to a thing («the report of Friday»).
    pub(crate) about: Vec<String>,
}

/// A day that is named from today on.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Day {
    /// How many days from now.
    pub(crate) after: i8,
    /// The part of the day that it names too.
    #[serde(default)]
    pub(crate) part: Option<String>,
}

impl Request {
    /// The same with every phrase folded as sentences are.
    pub(super) fn folded(self) -> Self {
        let all = |phrases: Vec<String>| phrases.iter().map(|p| super::super::words::fold(p)).collect();
        Self {
            asks: all(self.asks),
            tellers: all(self.tellers),
            wishes: all(self.wishes),
            infinitives: all(self.infinitives),
            later: all(self.later),
            days: all(self.days),
            rest: all(self.rest),
            indefinite: all(self.indefinite),
            also: all(self.also),
            kinds: all(self.kinds),
            spans: all(self.spans),
            hours: all(self.hours),
            random: all(self.random),
            whole: all(self.whole),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FormSource {
    pub(super) form: String,
    #[serde(default)]
    pub(super) singular: Vec<String>,
    #[serde(default)]
    pub(super) plural: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Valued<T> {
    pub(super) value: T,
    pub(super) words: Vec<String>,
}

/// A pronoun that is written onto a verb («leggi-lo», «leggi-mi»).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Enclitic {
    pub(super) suffix: String,
    pub(super) pronoun: bool,
}
