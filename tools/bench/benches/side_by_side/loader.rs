//! Three hundred executors in one instance: what opening it costs where nothing changed, and what the look before each turn
//! does.

use std::fs;
use std::path::Path;
use std::time::Duration;

use metnos::config::{Flags, Variables};
use metnos::instance::Instance;
use metnos::loader::{self, check, source::Source};

use crate::bursts::{median, quantile, timed};
use crate::goals::{self, Goal};
use crate::history;
use crate::table::Table;

const EXECUTORS: usize = 300;
const BOOTS: usize = 9;
const LOOKS: usize = 200;

pub(crate) fn run() -> Table {
    let folder = history::folder();
    let open = || opened(folder.path());
    let instance = open();
    let filled = timed(|| fill(&instance, folder.path()));
    println!("{EXECUTORS} executors checked, tested in the cage and signed in {:.1} s", filled.as_secs_f64());
    // What a turn looks at is settled only after a moment.
    std::thread::sleep(Duration::from_millis(200));
    looked(&instance, 0);
    drop(instance);
    let boot = || {
        let mut opened = None;
        let took = timed(|| {
            let instance = open();
            instance.sandbox().expect("a cage");
            looked(&instance, 0);
            opened = Some(instance);
        });
        drop(opened);
        millis(took)
    };
    let boots: Vec<f64> = (0..BOOTS).map(|_| boot()).collect();
    let instance = open();
    looked(&instance, 0);
    let looks: Vec<f64> = (0..LOOKS).map(|_| millis(timed(|| looked(&instance, 0)))).collect();
    let changed = instance.dirs.workspace.join("executors/describe_numbers_k150/1.0.0/main.py");
    let mut bytes = fs::read(&changed).expect("it is exported");
    *bytes.last_mut().expect("it is not empty") ^= 1;
    fs::write(&changed, bytes).expect("it can be written");
    let found = if looked_at(&instance) == 1 { 1.0 } else { 0.0 };
    goals::table(&[
        Goal::at_most("warm boot, p50", " ms", 300.0, median(boots)),
        Goal::at_most("the look before a turn, p50", " ms", 2.0, median(looks.clone())),
        Goal::at_most("the look before a turn, p99", " ms", 2.0, quantile(looks, 0.99)),
        Goal::at_least("executors whose changed byte the next look finds, of 1", "", 1.0, found),
    ])
}

fn opened(folder: &Path) -> Instance {
    let variables = Variables { user_home: Some(folder.to_owned()), ..Variables::default() };
    let home = folder.join("instance");
    Instance::open(Some(&home), &Flags::default(), &variables, Duration::ZERO).expect("an instance")
}

fn looked_at(instance: &Instance) -> usize {
    check::all(instance).expect("the log takes what is found").len()
}

#[track_caller]
fn looked(instance: &Instance, expected: usize) {
    assert_eq!(looked_at(instance), expected);
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A seed under many names, each with three birth tests.
fn fill(instance: &Instance, folder: &Path) {
    let seed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../executors/describe_numbers");
    let read = |name: &str| fs::read_to_string(seed.join(name)).expect("a seed");
    let (manifest, code, schema) = (read("manifest.toml"), read("main.py"), read("schema.json"));
    let case = |number: u32| {
        format!("{{\"name\": \"{number}\", \"args\": {{\"numbers\": [{number}]}}, \"expect\": {{\"ok\": True}}}}")
    };
    let tests = format!("CASES = [{}]\n", [1, 2, 3].map(case).join(", "));
    let place = folder.join("source");
    fs::create_dir_all(place.join("tests")).expect("a new folder");
    for number in 0..EXECUTORS {
        let manifest = manifest.replace("describe_numbers\"", &format!("describe_numbers_k{number}\""));
        for (name, text) in [("manifest.toml", manifest.as_str()), ("main.py", &code), ("schema.json", &schema)] {
            fs::write(place.join(name), text).expect("a new file");
        }
        fs::write(place.join("tests/birth.py"), &tests).expect("a new file");
        let source = Source::read(&place).expect("a source");
        loader::install(instance, source, "owner").expect("it is sound");
    }
}
