//! The command line (design cli): one file a command, results on stdout, everything else on stderr.
//!
//! Exit: 0 done · 1 refused or not found · 2 failed or wrong usage · 3 needs a person and none is there.

mod actor;
mod approvals;
mod ask;
mod at;
mod audit;
mod audit_correct;
mod chat;
mod client;
mod completions;
mod config;
mod connect;
mod console;
mod context;
mod credential;
mod demo;
mod diff;
mod doctor;
mod editor;
mod executor;
mod fit;
mod grants;
mod inbox;
mod interrupt;
mod key;
mod log;
mod man;
mod mistyped;
mod mnest;
mod model;
mod moment;
mod named;
mod output;
mod pair;
mod place;
mod plainly;
mod plan;
mod policy;
mod prefilter;
mod progress;
mod provenance;
mod record_test;
mod replay;
mod schedule;
mod serve;
mod service;
mod snapshot;
mod status;
mod terminal;
mod turn;
mod typed;
mod undo;
mod why;
mod wire;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use metnos_projections::messages::Language;

use crate::config::Variables;
use crate::faults;
use crate::instance::Instance;
use context::{Context, PATIENCE};
use moment::Moment;
use output::Failure;

/// A household assistant whose every act is signed, caged, recorded and replayable.
#[derive(Parser, Debug)]
#[command(name = "metnos", version, max_term_width = 100, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Options of every command.
#[derive(Args, Debug, Clone)]
struct Global {
    /// Keep configuration, data and workspace in this folder (also METNOS_HOME).
    #[arg(long, global = true, value_name = "DIR")]
    home: Option<PathBuf>,
    /// Print one JSON object, or JSON lines, on stdout.
    #[arg(long, global = true)]
    json: bool,
    /// Say nothing on stderr but errors.
    #[arg(long, global = true)]
    quiet: bool,
    /// Take the host user's own consent as given, for scripts.
    #[arg(long, global = true)]
    yes: bool,
    /// Show how things stood at a moment: an event's number, a day as 2026-11-22, a day and an hour as «2026-11-22 18:30», a time with its zone as
    /// 2026-11-22T18:30:00+01:00, or now. Of a day its end is meant.
    #[arg(long, global = true, value_name = "MOMENT")]
    at: Option<Moment>,
    /// Answer in this language: en or it.
    #[arg(long, global = true, value_name = "LANG", value_parser = language)]
    lang: Option<Language>,
}

fn language(text: &str) -> Result<Language, String> {
    match text {
        "en" => Ok(Language::En),
        "it" => Ok(Language::It),
        _ => Err("it is en or it".to_owned()),
    }
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Carry out one sentence and print the answer.
    Ask(ask::Ask),
    /// Show what a sentence would run; nothing runs.
    Plan(plan::Plan),
    /// Rank tools for a sentence, or measure the ranking over a corpus.
    Prefilter(prefilter::Prefilter),
    /// Look at what is allowed, asked and denied.
    #[command(subcommand)]
    Policy(policy::Policy),
    /// Measure the provenance rules over recorded tasks and attacks on them.
    Provenance(provenance::Provenance),
    /// Talk, one sentence a line.
    Chat(chat::Chat),
    /// Keep the instance open, and carry out the other commands without their seeing it.
    Serve,
    /// Have the daemon started by systemd, now and at every login.
    #[command(subcommand)]
    Service(service::Service),
    /// Take back what an earlier request changed.
    Undo(undo::Undo),
    /// Say how the instance is.
    Status,
    /// Say what this machine gives and what is missing, with the command that mends it.
    Doctor,
    /// Play a few sentences in a throw-away home and show what was recorded.
    Demo,
    /// Show, check or change settings.
    #[command(subcommand)]
    Config(config::Config),
    /// Look at the models and try them.
    #[command(subcommand)]
    Model(model::Model),
    /// Keep credentials for executors that name them.
    #[command(subcommand)]
    Credential(credential::Credential),
    /// Say what may be done unasked, and until when.
    #[command(subcommand)]
    Grants(grants::Grants),
    /// Say who may sign executors.
    #[command(subcommand)]
    Key(key::Key),
    /// Know people, and say how much is done unasked for each.
    #[command(subcommand)]
    Actor(actor::Actor),
    /// Bind chats to people by one-use codes.
    #[command(subcommand)]
    Pair(pair::Pair),
    /// Make a channel work.
    #[command(subcommand)]
    Connect(connect::Connect),
    /// Look at what went into what.
    #[command(subcommand)]
    Mnest(mnest::Mnest),
    /// Keep and compare what Metnos knew.
    #[command(subcommand)]
    Snapshot(snapshot::Snapshot),
    /// Look at and change what happens at times.
    #[command(subcommand)]
    Schedule(schedule::Schedule),
    /// Show what schedules have to tell, and answer what they ask.
    Inbox(inbox::Inbox),
    /// See what waits for a yes, wherever it was asked, and answer it from here.
    #[command(subcommand)]
    Approvals(approvals::Approvals),
    /// Answer a question that wants words: a field of a form, a choice, a place.
    Answer(approvals::Words),
    /// Look at past turns.
    #[command(subcommand)]
    Turn(turn::Turn),
    /// Look at, run, check and add executors.
    #[command(subcommand)]
    Executor(executor::Executor),
    /// Look at the log and verify it.
    #[command(subcommand)]
    Log(log::Log),
    /// Replay the history and compare.
    #[command(subcommand)]
    Replay(replay::Replay),
    /// Show how anything stood at a moment.
    At(at::At),
    /// Show what changed between two moments.
    Diff(diff::Diff),
    /// Go back from a thing to the sentence, the consent and the signature behind it.
    Why(why::Why),
    /// Write a turn down as a test that needs no model, no network and no secret.
    RecordTest(record_test::RecordTest),
    /// Export audit lines, check an export, correct a line.
    #[command(subcommand)]
    Audit(audit::Audit),
    /// Print the script that completes commands in a shell.
    Completions(completions::Completions),
    /// Print a page of the manual, or write all of them.
    Man(man::Man),
}

impl Command {
    /// Whether it is about what an instance holds. What is not never asks for one.
    fn needs_instance(&self) -> bool {
        match self {
            Self::Ask(_)
            | Self::Plan(_)
            | Self::Chat(_)
            | Self::Undo(_)
            | Self::Status
            | Self::Doctor
            | Self::Model(_)
            | Self::Credential(_)
            | Self::Grants(_)
            | Self::Key(_)
            | Self::Actor(_)
            | Self::Pair(_)
            | Self::Connect(_)
            | Self::Snapshot(_)
            | Self::Mnest(_)
            | Self::Schedule(_)
            | Self::Inbox(_)
            | Self::Approvals(_)
            | Self::Answer(_)
            | Self::Turn(_)
            | Self::At(_)
            | Self::Diff(_)
            | Self::Why(_)
            | Self::RecordTest(_)
            | Self::Policy(_)
            | Self::Executor(_) => true,
            Self::Log(log) => log.needs_instance(),
            Self::Audit(audit) => audit.needs_instance(),
            Self::Prefilter(prefilter) => prefilter.needs_instance(),
            Self::Config(config) => config.needs_instance(),
            Self::Replay(replay) => replay.needs_instance(),
            Self::Serve | Self::Service(_) | Self::Demo | Self::Completions(_) | Self::Man(_) | Self::Provenance(_) => {
                false
            }
        }
    }

    /// Whether it is asked whether something is right, so that its exit code says so whoever reads its output, and how far.
    fn is_check(&self) -> bool {
        matches!(
            self,
            Self::Doctor
                | Self::Log(log::Log::Verify { .. })
                | Self::Replay(replay::Replay::Check { .. })
                | Self::Audit(audit::Audit::Verify { .. })
                | Self::Config(config::Config::Check)
                | Self::Executor(executor::Executor::Check { .. } | executor::Executor::Verify)
        )
    }
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(error) => return mistyped::told(&error, &words),
    };
    let variables = Variables::read();
    faults::arm(&variables);
    let is_daemon = matches!(cli.command, Command::Serve);
    if cli.command.is_check() {
        console::go_on_unread();
    }
    let context = Context { global: cli.global, variables, served: None, is_daemon };
    let carried = console::until_left(|| {
        let started = context.start(&cli.command);
        context.told(started.and_then(|()| context.somewhere(&cli.command)))
    });
    let code = carried.unwrap_or_else(|error| match error.kind() {
        // A reader that went away (`| head`).
        std::io::ErrorKind::BrokenPipe => 0,
        _ => Failure::unwritten(&error).told_aside(context.spoken(), context.global.home.as_deref()),
    });
    ExitCode::from(code)
}

/// Where relative paths start.
fn folder(instance: &Instance) -> PathBuf {
    console::current().folder().unwrap_or_else(|| instance.dirs.user_home.clone())
}

impl Context {
    /// The exit code; a failure is printed.
    fn told(&self, outcome: Result<u8, Failure>) -> u8 {
        outcome.unwrap_or_else(|failure| {
            failure.print(self.global.json, self.spoken(), self.global.home.as_deref());
            failure.code
        })
    }

    /// Has the daemon carry a command out that is about the instance; where there is none, this process does.
    fn somewhere(&self, command: &Command) -> Result<u8, Failure> {
        let is_whole = !matches!(command, Command::Chat(_) if chat::is_edited(self));
        if command.needs_instance()
            && is_whole
            && let Some(ended) = client::send(self, None)?
        {
            return Ok(ended.code);
        }
        self.refuse_absent(command)?;
        match self.dispatch(command) {
            // One began to serve while this command waited for the log; nothing was done yet.
            Err(failure) if failure.is_served => match client::send(self, None)? {
                Some(ended) => Ok(ended.code),
                None => Err(failure),
            },
            other => other,
        }
    }

    fn dispatch(&self, command: &Command) -> Result<u8, Failure> {
        match command {
            Command::Ask(ask) => ask::run(self, ask),
            Command::Plan(plan) => plan::run(self, plan),
            Command::Prefilter(prefilter) => prefilter::run(self, prefilter),
            Command::Policy(command) => policy::run(self, command),
            Command::Provenance(provenance) => provenance::run(self, provenance),
            Command::Chat(chat) => chat::run(self, chat),
            Command::Serve => serve::run(self),
            Command::Service(command) => service::run(self, command),
            Command::Undo(undo) => undo::run(self, undo),
            Command::Status => status::run(self),
            Command::Doctor => doctor::run(self),
            Command::Demo => demo::run(self),
            Command::Config(command) => config::run(self, command),
            Command::Model(command) => model::run(self, command),
            Command::Credential(command) => credential::run(self, command),
            Command::Grants(command) => grants::run(self, command),
            Command::Key(command) => key::run(self, command),
            Command::Actor(command) => actor::run(self, command),
            Command::Pair(command) => pair::run(self, command),
            Command::Connect(command) => connect::run(self, command),
            Command::Mnest(command) => mnest::run(self, command),
            Command::Snapshot(command) => snapshot::run(self, command),
            Command::Schedule(command) => schedule::run(self, command),
            Command::Inbox(inbox) => inbox::run(self, inbox),
            Command::Approvals(command) => approvals::run(self, command),
            Command::Answer(words) => approvals::answer(self, words),
            Command::Turn(command) => turn::run(self, command),
            Command::Executor(command) => executor::run(self, command),
            Command::Log(command) => log::run(self, command),
            Command::Replay(command) => replay::run(self, command),
            Command::At(at) => at::run(self, at),
            Command::Diff(diff) => diff::run(self, diff),
            Command::Why(why) => why::run(self, why),
            Command::RecordTest(command) => record_test::run(self, command),
            Command::Audit(command) => audit::run(self, command),
            Command::Completions(command) => completions::run(self, command),
            Command::Man(command) => man::run(self, command),
        }
    }

    fn start(&self, command: &Command) -> Result<(), Failure> {
        let level = self.variables.log_level.clone().unwrap_or_else(|| "warn".to_owned());
        let filter = tracing_subscriber::EnvFilter::try_new(format!("metnos={level}")).map_err(|_| {
            Failure::usage(
                ("error.bad_log_level", serde_json::json!({ "level": level })),
                output::by("next.log_levels"),
            )
        })?;
        let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).without_time();
        subscriber.try_init().map_err(|error| Failure::internal(error.to_string()))?;
        if !matches!(command, Command::Serve) {
            // What serves hears of signals itself, and carries out commands to which they are not meant.
            interrupt::listen().map_err(|error| Failure::internal(error.to_string()))?;
        }
        tracing::debug!(?command, "started");
        Ok(())
    }
}
