//! Events of the streams `schedule/ID`: what is to happen at which times, and what came of each time.
//!
//! A slot is a moment at which a schedule is due; a fire is what happens in it. What cron and zones say is in the payload:
//! no fold asks again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::kept::Kept;

/// When, for how long, and what to do about failures and about times that were missed. What is to happen stands beside it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Contract {
    /// `sentence`: a request; `reminder`: words to be said; `steps`: named executors; `job`: a task of the program's own.
    pub kind: String,
    /// `0 8 * * *`, `every_90_minutes`, `at:2026-11-23T07:00:00Z`, `manual`.
    pub cadence: String,
    /// From when on intervals count, µs.
    pub anchor: i64,
    /// The cadence in words, by language.
    pub words: BTreeMap<String, String>,
    /// The time zone, by IANA name.
    pub zone: String,
    /// The version of the time-zone database.
    pub zone_version: String,
    /// The first slot, µs; none where nothing is due by itself.
    pub next: Option<i64>,
    /// How many times; none for ever.
    pub count: Option<u32>,
    /// No slot after this, µs.
    pub until: Option<i64>,
    /// `skip`, `retry`, `notify`, `cancel`.
    pub on_failure: String,
    /// After so many failures in a row it is paused.
    pub failures_max: u32,
    /// How late a slot may still be run, in seconds.
    pub grace_s: u32,
    /// How long one fire may take, in seconds.
    pub timeout_s: u32,
    /// Where results go.
    pub channel: String,
    /// Where on that channel.
    pub address: Option<String>,
    /// The language of results.
    pub language: String,
    /// Where relative paths start.
    pub folder: String,
    /// How long its question waits for an answer each time, in seconds, where what is to happen changes something and so
    /// asks first; none where it does not ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks_s: Option<u32>,
}

/// Something is to happen at times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScheduleCreated {
    /// Names it: a number, or the job's name.
    pub schedule: String,
    /// What is to happen: the sentence, or steps as JSON, or a job's name.
    pub what: Kept,
    /// The rest.
    pub contract: Contract,
    /// The turn that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
}

/// Something else is to happen, or at other times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScheduleModified {
    /// Which.
    pub schedule: String,
    /// What is to happen from now on.
    pub what: Kept,
    /// The rest.
    pub contract: Contract,
}

/// Nothing is due until it is resumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SchedulePaused {
    /// Which.
    pub schedule: String,
    /// `person` or `failures`.
    pub by: String,
}

/// It goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScheduleResumed {
    /// Which.
    pub schedule: String,
    /// The next slot, µs.
    pub next: Option<i64>,
}

/// It is over before its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScheduleCancelled {
    /// Which.
    pub schedule: String,
    /// `person` or `failure`.
    pub by: String,
}

/// No slot is left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScheduleCompleted {
    /// Which.
    pub schedule: String,
}

/// The clock had been ahead, or has been set back: what is next is looked up anew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlotsReaimed {
    /// Which schedule.
    pub schedule: String,
    /// The next slot by the clock as it is now, µs.
    pub next: i64,
    /// Slots from there on that were claimed while the clock was ahead: they do not come again.
    pub taken: Vec<i64>,
}

/// What is due in a slot is about to happen: the intent. Its id follows from schedule and slot, so the log takes one only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlotClaimed {
    /// Which schedule.
    pub schedule: String,
    /// When it was due, µs.
    pub slot: i64,
    /// Names what happens in the slot: a hash of schedule and slot.
    pub fire: String,
    /// `due`, `late`, `person`.
    pub by: String,
    /// The slot after it, µs.
    pub next: Option<i64>,
}

/// What was due has happened, or will not: the outcome of one attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlotSettled {
    /// Which schedule.
    pub schedule: String,
    /// When it was due, µs.
    pub slot: i64,
    /// Which fire.
    pub fire: String,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// `done`, `failed`, `declined`, `in_doubt`.
    pub outcome: String,
    /// The class of a failure.
    pub class: Option<String>,
    /// What the person is told.
    pub message: Kept,
    /// Whether they are told.
    pub is_told: bool,
    /// When it is tried once more, µs.
    pub again: Option<i64>,
}

/// Slots passed in which nothing was begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlotMissed {
    /// Which schedule.
    pub schedule: String,
    /// The first of them, µs.
    pub slot: i64,
    /// The last of them, µs.
    pub last: i64,
    /// How many.
    pub count: u32,
    /// Whether there were more than are counted.
    pub is_more: bool,
    /// `skip`: left out; `late`: the one slot is run now; `busy`: left out, for the fire before it still ran.
    pub verdict: String,
    /// Whether the person is told.
    pub is_told: bool,
    /// The slot after them, µs.
    pub next: Option<i64>,
}

/// The person has, or will have, what a slot had to tell them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlotDelivered {
    /// Which schedule.
    pub schedule: String,
    /// The slot whose outcome, or whose being missed, was told.
    pub slot: i64,
    /// Over which channel.
    pub channel: String,
}
