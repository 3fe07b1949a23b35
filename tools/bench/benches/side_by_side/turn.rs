//! A whole turn, sentence to durable answer, beside the bare program and the caged call that it is about.

use metnos::config::{Flags, Variables};
use metnos::engine::{self, Answer, Person, Request};
use metnos::instance::Instance;
use metnos::loader::seeds;
use metnos::sandbox::{CancelFlag, Progress};
use metnos_projections::messages::Language;
use serde_json::json;

use crate::bursts::{Rival, take_turns, timed};
use crate::table::Table;
use crate::{cage, history};

const ROUNDS: usize = 20;

/// Nobody is there to be asked: these turns ask nothing.
struct Nobody;

impl Person for Nobody {
    fn consent(&self, _: &str, _: &str, _: Language) -> Answer {
        Answer::Nobody
    }

    fn progress(&self, _: &Progress) {}
}

pub(crate) fn run() -> Table {
    let folder = history::folder();
    let user_home = folder.path().join("person");
    std::fs::create_dir(&user_home).expect("a new folder");
    let variables =
        Variables { user_home: Some(user_home.clone()), zone: Some("Europe/Rome".to_owned()), ..Variables::default() };
    let instance =
        Instance::open(Some(&folder.path().join("instance")), &Flags::default(), &variables, std::time::Duration::ZERO)
            .expect("a new instance");
    let laid = seeds::install_missing(&instance);
    let failed: Vec<&str> = laid.iter().filter(|seed| seed.outcome.is_err()).map(|seed| seed.name.as_str()).collect();
    let code = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../executors/get_now/main.py"))
        .expect("a seed");
    let sandbox = instance.sandbox().expect("this machine gives a cage");
    let python = sandbox.interpreter().path();
    let args = json!({ "timezone": "UTC" });
    let turn = |text: &str| {
        let request = Request {
            text: text.to_owned(),
            approve: "none".to_owned(),
            folder: user_home.clone(),
            channel: "console".to_owned(),
            ..Request::default()
        };
        let cancel = CancelFlag::new().expect("a descriptor is left");
        engine::run(&instance, &Nobody, cancel, &request).expect("a turn comes to its end").final_kind
    };
    let before = instance.log.head().size;
    let kind = turn("what time is it in UTC?");
    let events = instance.log.head().size - before;
    let mut rivals: Vec<Rival<'_>> = vec![
        Box::new(|| timed(|| assert_eq!(cage::caged(sandbox, folder.path(), &code, &args)["ok"], true))),
        Box::new(|| timed(|| assert_eq!(cage::bare(&python, cage::PLAIN, &code, &args)["ok"], true))),
        Box::new(|| timed(|| assert_eq!(turn("what time is it in UTC?"), kind))),
        Box::new(|| timed(|| drop(turn("please frobnicate the lighthouse")))),
    ];
    let figures = take_turns(ROUNDS, &mut rivals);
    let names = [
        "get_now, caged call alone",
        "get_now, bare python3 -I -S",
        "the whole turn that calls it",
        "a turn that calls nothing",
    ];
    let overhead = (figures[2].median.as_secs_f64() - figures[0].median.as_secs_f64()) * 1e3;
    let note = format!(
        "the turn ends as {}, {events} events; over its call it costs {overhead:.1} ms{}",
        kind.as_deref().unwrap_or("nothing"),
        if failed.is_empty() { String::new() } else { format!("; seeds not laid out: {}", failed.join(", ")) },
    );
    let mut table = Table::new(&["turn", "p50 ms", "× caged call"], &note);
    for (name, figure) in names.iter().zip(figures) {
        table.row(vec![
            (*name).to_owned(),
            format!("{:.1}", figure.median.as_secs_f64() * 1e3),
            format!("{:.2}", figure.ratio),
        ]);
    }
    table
}
