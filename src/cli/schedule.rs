//! `metnos schedule`: what happens at times. `add` and `modify` are turns, with their consent; the rest is the owner's own
//! word.

use clap::{Args, Subcommand};
use metnos_projections::machines::schedules::{Command, Schedule as Kept};
use metnos_projections::messages::Language;
use metnos_projections::rules::simple::{self, Facts};
use serde_json::{Map, Value, json};

use super::ask::{self, Approve};
use super::{Context, Failure, inbox, output, terminal};
use crate::engine::{Answer, Person};
use crate::instance::{Instance, now};
use crate::sandbox::Progress;
use crate::scheduler::asked::{self, AskError, Asked};
use crate::scheduler::{self, Stopping, changes, delivery, is_theirs, named, questions, told};

/// Look at and change what happens at times.
#[derive(Subcommand, Debug)]
pub(super) enum Schedule {
    /// Have something done at times: «every morning at 8 tell me how many files are in ~/inbox».
    Add(Add),
    /// What is kept, with the next times.
    List {
        /// Also what is over.
        #[arg(long)]
        all: bool,
    },
    /// One of them in full.
    Show {
        /// Its number, a job's name, or words of what it does.
        which: String,
    },
    /// Let nothing of it be due until it is resumed.
    Pause {
        /// Its number, a job's name, or words of what it does.
        which: String,
    },
    /// Let it go on.
    Resume {
        /// Its number, a job's name, or words of what it does.
        which: String,
    },
    /// End it.
    Cancel {
        /// Its number, a job's name, or words of what it does.
        which: String,
    },
    /// Change what it does, or when.
    Modify(Modify),
    /// Make it happen now, once.
    RunNow {
        /// Its number, a job's name, or words of what it does.
        which: String,
    },
    /// What came of each time, the newest last.
    History {
        /// Its number, a job's name, or words of what it does.
        which: String,
        /// How many.
        #[arg(long, default_value_t = 20)]
        last: usize,
    },
}

/// Have something done at times.
#[derive(Args, Debug)]
pub(super) struct Add {
    /// The request, with its time unless --when says it.
    text: Option<String>,
    #[command(flatten)]
    options: Options,
    /// An executor to run, instead of a request.
    #[arg(long, value_name = "NAME", requires = "when", conflicts_with = "text")]
    executor: Option<String>,
    /// Its arguments.
    #[arg(long, value_name = "JSON", requires = "executor")]
    args: Option<String>,
    /// What is approved in advance.
    #[arg(long, value_enum, default_value_t = Approve::None)]
    approve: Approve,
}

/// Change what it does, or when.
#[derive(Args, Debug)]
pub(super) struct Modify {
    /// Its number, a job's name, or words of what it does.
    which: String,
    /// What to do from now on.
    #[arg(long = "do", value_name = "TEXT")]
    query: Option<String>,
    #[command(flatten)]
    options: Options,
    /// What is approved in advance.
    #[arg(long, value_enum, default_value_t = Approve::None)]
    approve: Approve,
}

/// What can be said of any schedule.
#[derive(Args, Debug)]
struct Options {
    /// When: words, five fields of cron, daily@HH:MM, every_N_minutes, at:2026-11-23T08:00 or manual.
    #[arg(long, value_name = "WHEN")]
    when: Option<String>,
    /// The time zone, like Europe/Rome.
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// How many times; for ever without it.
    #[arg(long, value_name = "N")]
    times: Option<u32>,
    /// No firing after this moment, like 2026-12-31T00:00.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// After a failure: skip, retry, notify or cancel.
    #[arg(long, value_name = "POLICY")]
    on_failure: Option<String>,
    /// How late a missed time may still be made up for, in minutes.
    #[arg(long, value_name = "MINUTES")]
    grace: Option<u32>,
    /// Where results go: console or telegram.
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<String>,
}

impl Options {
    /// As the builtin's arguments.
    fn args(&self, when: Option<&str>, query: Option<&str>) -> Map<String, Value> {
        let mut args = Map::new();
        for (name, value) in [("schedule", when), ("query", query)] {
            args.extend(value.map(|value| (name.to_owned(), value.into())));
        }
        let texts = [
            ("timezone", &self.zone),
            ("until", &self.until),
            ("on_failure", &self.on_failure),
            ("delivery_channel", &self.channel),
        ];
        for (name, value) in texts {
            if let Some(value) = value {
                args.insert(name.to_owned(), value.as_str().into());
            }
        }
        for (name, value) in [("times", self.times), ("grace_window_minutes", self.grace)] {
            if let Some(value) = value {
                args.insert(name.to_owned(), value.into());
            }
        }
        args
    }

    fn asked(&self, when: &str, query: &str, instance: &Instance) -> Asked {
        Asked {
            when: when.to_owned(),
            query: query.to_owned(),
            zone: self.zone.clone(),
            times: self.times,
            until: self.until.clone(),
            on_failure: self.on_failure.clone(),
            grace_minutes: self.grace,
            channel: self.channel.clone(),
            folder: super::folder(instance).to_string_lossy().into_owned(),
            ..Asked::default()
        }
    }
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Refused(refused) if refused.class == "invalid_args" => {
                Self::usage(refused.said, "metnos schedule add --help shows what can be said")
            }
            AskError::Refused(refused) => Self::refused(refused.said, "metnos schedule list shows what is kept"),
            AskError::Instance(error) => error.into(),
        }
    }
}

pub(super) fn run(context: &Context, command: &Schedule) -> Result<u8, Failure> {
    match command {
        Schedule::Add(add) => self::add(context, add),
        Schedule::RunNow { which } => run_now(context, which),
        Schedule::List { all } => list(context, *all),
        Schedule::Show { which } => {
            let instance = context.instance()?;
            let language = context.language(&instance);
            let id = named::the_one(&instance, language, which, true)?;
            show(context, &instance, &id)
        }
        Schedule::Pause { which } => changed(context, which, Command::Pause),
        Schedule::Resume { which } => changed(context, which, Command::Resume),
        Schedule::Cancel { which } => changed(context, which, Command::Cancel),
        Schedule::Modify(modify) => self::modify(context, modify),
        Schedule::History { which, last } => history(context, which, *last),
    }
}

fn add(context: &Context, add: &Add) -> Result<u8, Failure> {
    let instance = context.ready(&context.flags())?;
    let language = context.language(&instance);
    if let (Some(executor), Some(when)) = (&add.executor, &add.options.when) {
        let args: Value = serde_json::from_str(add.args.as_deref().unwrap_or("{}")).map_err(|error| {
            Failure::usage(format!("--args is not JSON: {error}"), "--args '{\"paths\": [\"~/x\"]}'")
        })?;
        let steps = json!([{ "tool": executor, "args": args }]);
        let asked = add.options.asked(when, executor, &instance);
        asked::check(&instance, language, &Asked { steps: Some(json!({ "steps": steps })), ..asked })?;
        let mut given = add.options.args(Some(when), Some(executor));
        given.insert("steps".to_owned(), steps);
        return carried_out(
            context,
            &instance,
            ("schedule_recurring", given),
            format!("schedule add {executor}"),
            add.approve,
        );
    }
    let Some(text) = &add.text else {
        return Err(Failure::usage(
            "there is nothing to do",
            "metnos schedule add \"every morning at 8 tell me how many files are in ~/inbox\"",
        ));
    };
    let (when, query) = match &add.options.when {
        Some(when) => (when.clone(), text.clone()),
        None => said(&instance, language, text)?,
    };
    asked::check(&instance, language, &add.options.asked(&when, &query, &instance))?;
    let args = add.options.args(Some(&when), Some(&query));
    carried_out(context, &instance, ("schedule_recurring", args), format!("schedule add {text}"), add.approve)
}

/// Changes one, after the question that shows what it is and what it would be.
fn modify(context: &Context, modify: &Modify) -> Result<u8, Failure> {
    let instance = context.ready(&context.flags())?;
    let language = context.language(&instance);
    let id = named::the_one(&instance, language, &modify.which, false)?;
    let (when, query) = (modify.options.when.as_deref(), modify.query.as_deref());
    let asked = modify.options.asked(when.unwrap_or_default(), query.unwrap_or_default(), &instance);
    changes::modify(&instance, language, &id, &asked)?;
    let mut args = modify.options.args(when, query);
    if args.is_empty() {
        return Err(Failure::usage("nothing is to change", "metnos schedule modify 1 --when \"every Monday at 9\""));
    }
    args.insert("name".to_owned(), id.as_str().into());
    carried_out(context, &instance, ("modify_recurring", args), format!("schedule modify {id}"), modify.approve)
}

/// A turn of one named step, with its consent.
fn carried_out(
    context: &Context,
    instance: &Instance,
    (tool, args): (&str, Map<String, Value>),
    text: String,
    approve: Approve,
) -> Result<u8, Failure> {
    let approve = if context.global.yes { Approve::All } else { approve };
    let given = json!({ "tool": tool, "args": args });
    let turn = ask::carry_out(context, instance, text, approve, Some(given))?;
    ask::tell(context, instance, &turn)
}

/// The time and the request that a sentence holds.
fn said(instance: &Instance, language: Language, text: &str) -> Result<(String, String), Failure> {
    let rules = &instance.rules;
    let home = instance.dirs.user_home.to_string_lossy();
    let facts = Facts {
        now_us: now().0,
        zone: &instance.settings.zone,
        home: &home,
        cwd: &home,
        language: None,
        fallback: language,
        existing: &[],
    };
    let proposal = simple::propose(&rules.lexicons, &instance.tools(), &rules.messages, &facts, text);
    if let Some(abstention) = proposal.plan.abstention {
        return Err(Failure::refused(abstention.message, "metnos schedule add \"TEXT\" --when \"every Monday at 9\""));
    }
    if let [only] = proposal.plan.steps.as_slice()
        && only.tool == "schedule_recurring"
    {
        let text = |name: &str| only.args[name].as_str().unwrap_or_default().to_owned();
        return Ok((text("schedule"), text("query")));
    }
    let message = rules.messages.say(proposal.language, "schedule.no_time", json!({}));
    Err(Failure::refused(message, "metnos schedule add \"TEXT\" --when \"every Monday at 9\""))
}

fn changed(context: &Context, which: &str, command: impl FnOnce(String) -> Command) -> Result<u8, Failure> {
    let instance = context.ready(&context.flags())?;
    let language = context.language(&instance);
    let id = named::the_one(&instance, language, which, false)?;
    asked::command(&instance, language, &id, &command(id.clone()))?;
    show(context, &instance, &id)
}

/// Does something with whoever sits before the command, or has said yes in advance.
pub(super) fn with_person<T>(context: &Context, instance: &Instance, work: impl FnOnce(Option<&dyn Person>) -> T) -> T {
    if context.global.yes {
        return work(Some(&InAdvance));
    }
    if !terminal::Terminal::is_there() {
        return work(None);
    }
    let terminal = terminal::Terminal::new(&instance.rules.messages, context.global.quiet || context.global.json);
    work(Some(&terminal))
}

/// Whoever typed --yes.
struct InAdvance;

impl Person for InAdvance {
    fn consent(&self, _about: &str, _text: &str, _language: Language) -> Answer {
        Answer::Yes("approve_option")
    }

    fn progress(&self, _progress: &Progress) {}
}

fn run_now(context: &Context, which: &str) -> Result<u8, Failure> {
    let instance = context.ready(&context.flags())?;
    let language = context.language(&instance);
    let id = named::the_one(&instance, language, which, false)?;
    let stopping = Stopping::by(context.begin_turn(&instance)?);
    let ran = with_person(context, &instance, |here| scheduler::run_now(&instance, &id, here, &stopping));
    ran?.map_err(|rejection| asked::refusal(&instance, language, rejection))?;
    let schedule = asked::known(&instance, language, &id)?;
    let last = told::history(&instance, language, (&id, &schedule), 1)?.pop().unwrap_or(Value::Null);
    let waits = schedule.fire.is_some();
    if waits && let Some(pending) = questions::pending(&instance)?.into_iter().find(|pending| pending.schedule == id) {
        ask::follow(context, &instance);
        return Ok(inbox::waits(context, &pending));
    }
    // What is shown here is not shown again.
    for (untold, _) in delivery::untold(&instance)?.iter().filter(|(untold, _)| untold.schedule == id) {
        delivery::deliver(&instance, untold)?;
    }
    ask::follow(context, &instance);
    if context.global.json {
        output::result_json(
            &json!({ "schedule_id": id, "again": waits, "result": if waits { Value::Null } else { last.clone() } }),
        );
    } else if waits {
        context.say(&context.text(&instance, "schedule.tried_again", &json!({})));
    } else {
        let message = last["message"].as_str().filter(|message| !message.is_empty());
        let done = context.text(&instance, "schedule.done", &json!({}));
        output::result(message.unwrap_or(&done));
    }
    Ok(if waits || last["outcome"] != "done" { 2 } else { 0 })
}

fn line(context: &Context, instance: &Instance, id: &str, schedule: &Kept) -> Result<Value, Failure> {
    Ok(told::line(instance, context.language(instance), id, schedule)?)
}

fn show(context: &Context, instance: &Instance, id: &str) -> Result<u8, Failure> {
    let schedule = asked::known(instance, context.language(instance), id)?;
    let line = line(context, instance, id, &schedule)?;
    if context.global.json {
        output::result_json(&line);
    } else {
        let values = json!({ "item": line, "serves": context.served.is_some() });
        output::result(&context.text(instance, "schedule.shown", &values));
    }
    Ok(0)
}

fn list(context: &Context, all: bool) -> Result<u8, Failure> {
    let instance = context.instance()?;
    let schedules = instance.schedules();
    let mut lines = Vec::new();
    for (id, schedule) in &schedules.schedules {
        if is_theirs(&instance, schedule) && (all || schedule.state.is_alive()) {
            lines.push(line(context, &instance, id, schedule)?);
        }
    }
    let number = |line: &Value| line["schedule_id"].as_str().and_then(|id| id.parse::<u64>().ok()).unwrap_or(u64::MAX);
    lines.sort_by_key(number);
    if context.global.json {
        output::result_json(&json!({ "schedules": lines, "daemon": context.served.is_some() }));
        return Ok(0);
    }
    let says = |key: &str| context.text(&instance, &format!("schedule.{key}"), &json!({}));
    let text = |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
    let rows: Vec<Vec<String>> = lines
        .iter()
        .map(|line| {
            let next = match line["state"].as_str() {
                Some("active") => line["next"][0].as_str().unwrap_or("–").to_owned(),
                state => says(state.unwrap_or_default()),
            };
            let what = crate::why::short(&text(line, "what"), 60);
            let zone = line["other_zone"].as_str().map(|zone| format!(" ({zone})")).unwrap_or_default();
            vec![text(line, "schedule_id"), text(line, "words") + &zone, next, what]
        })
        .collect();
    let headings = [says("heading_id"), says("heading_when"), says("heading_next"), says("heading_what")];
    output::result(&output::table(&headings.each_ref().map(String::as_str), &rows));
    if context.served.is_none() {
        context.say(&says("no_daemon"));
    }
    inbox::show(context, &instance)?;
    Ok(0)
}

fn history(context: &Context, which: &str, last: usize) -> Result<u8, Failure> {
    let instance = context.instance()?;
    let language = context.language(&instance);
    let id = named::the_one(&instance, language, which, true)?;
    let schedule = asked::known(&instance, language, &id)?;
    let lines = told::history(&instance, language, (&id, &schedule), last)?;
    if context.global.json {
        output::result_json(&json!({ "schedule_id": id, "history": lines }));
        return Ok(0);
    }
    if lines.is_empty() {
        output::result(&context.text(&instance, "schedule.no_history", &json!({})));
    }
    for item in lines {
        output::result(&context.text(&instance, "schedule.history", &json!({ "item": item })));
    }
    Ok(0)
}
