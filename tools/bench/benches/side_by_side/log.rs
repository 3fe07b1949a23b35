//! Everything that the log's design sets a goal for, in one run: the tables, each figure beside its goal, and a plot.

use std::path::{Path, PathBuf};

use crate::append::{self, REFERENCE_SYNC, Size};
use crate::goals::{self, Goal};
use crate::group::{self, Group};
use crate::million::{self, LARGE, Million, SMALL};
use crate::plot::{self, Panel, Scale};
use crate::replay::{self, Replayed};
use crate::steps::{self, Steps};
use crate::table::Table;
use crate::written::{self, Written};

/// The sections that this one is made of.
pub(crate) const PARTS: [&str; 7] = ["append", "slow_disk", "written", "group", "steps", "replay", "million"];
/// How much more memory ten times the events may take and still be called flat.
const FLAT: f64 = 1.2;
const KIB: f64 = 1024.0;

/// What all sections found.
struct Found {
    append: Vec<Size>,
    slow_disk: Vec<Size>,
    written: Vec<Written>,
    group: Vec<Group>,
    steps: Steps,
    replay: Replayed,
    million: Million,
}

/// Runs all of it; hands each table to `print` as soon as there is one.
pub(crate) fn run(mut print: impl FnMut(&str, &Table)) -> std::io::Result<PathBuf> {
    let append = append::measure();
    print("append", &append::table(&append));
    let slow_disk = append::measure_on_slow_disk();
    print("slow_disk", &append::table(&slow_disk));
    let written = written::measure();
    print("written", &written::table(&written));
    let group = group::measure();
    print("group", &group::table(&group));
    let steps = steps::measure();
    print("steps", &steps::table(&steps));
    let replay = replay::measure();
    print("replay", &replay::table(&replay));
    let million = million::measure();
    print("million", &million::table(&million));
    let found = Found { append, slow_disk, written, group, steps, replay, million };
    print("goals", &goals::table(&found.goals()));
    found.draw()
}

impl Found {
    fn goals(&self) -> Vec<Goal> {
        let mut goals = Vec::new();
        for Written { events, syncs, .. } in &self.written {
            let most = if *events > 64 { 1.1 } else { 1.02 };
            goals.push(Goal::at_most(format!("syncs a commit, {events} at once"), "", most, *syncs));
        }
        // As the design measured them: a sync of that disk, and rivals that keep what the log keeps.
        for size in self.slow_disk.iter().filter(|size| size.longer == REFERENCE_SYNC) {
            let Size { events, log, log_by_indexed, .. } = size;
            let at = format!("{events} at once, a sync {}", append::said(REFERENCE_SYNC));
            goals.push(Goal::at_most(format!("append p50 × raw write and fdatasync, {at}"), "", 1.25, log.by_file));
            goals.push(Goal::at_most(
                format!("append p50 × SQLite WAL FULL, same indexes, {at}"),
                "",
                1.0,
                *log_by_indexed,
            ));
        }
        for Written { events, log, payload, .. } in &self.written {
            match events {
                1 => goals.push(Goal::at_most("written a commit of one event", " KiB", 60.0, log / KIB)),
                512 => goals.push(Goal::at_most("written a commit of 512 events ÷ payloads", "", 2.0, log / payload)),
                _ => {}
            }
        }
        for Group { producers, by_one, .. } in self.group.iter().filter(|group| group.producers == 256) {
            goals.push(Goal::at_least(format!("{producers} producers × one producer"), "", 15.0, *by_one));
        }
        let [_, _, decoded, ..] = &self.replay.readings;
        let Replayed { log_bytes, sqlite_bytes, .. } = self.replay;
        let million = &self.million;
        #[expect(clippy::cast_precision_loss, reason = "bytes of an event")]
        let bytes = log_bytes as f64 / sqlite_bytes as f64;
        let grown = |[small, large]: [f64; 2]| large / small;
        goals.extend([
            Goal::at_least("replay, two threads × SQLite's scan and decode", "", 1.3, decoded.by_sqlite),
            Goal::at_most("file bytes an event × SQLite's, same indexes", "", 0.5, bytes),
            Goal::at_most("chain and seal an event", " µs", 2.5, self.steps.chain_and_seal_us),
            Goal::at_most("open after kill -9 ÷ replay, 1 M events", "", 0.5, million.open_by_replay),
            Goal::at_least("verify, 1 M events", " M/s", 0.5, million.verified / 1e6),
            Goal::at_most("any moment's state, 1 M events", " s", 1.0, million.moment_s),
            Goal::at_most("peak of replay, 1 M ÷ 0.1 M events", "", FLAT, grown(million.replay_mb)),
            Goal::at_most("peak of verify, 1 M ÷ 0.1 M events", "", FLAT, grown(million.verify_mb)),
        ]);
        goals
    }

    /// Draws the plot; returns where it lies.
    fn draw(&self) -> std::io::Result<PathBuf> {
        let panels = [self.appended(), self.bytes(), self.grouped(), self.read(), self.opened(), self.memory()];
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let note =
            format!("{cores} cores, one run; logarithmic axes where the lines of the grid are tens of each other");
        let sheet = plot::sheet("The log beside a raw file and SQLite", &note, &panels);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("log.svg");
        std::fs::write(&path, sheet)?;
        Ok(path)
    }

    fn appended(&self) -> Panel {
        let of = |figure: fn(&Size) -> f64| self.append.iter().map(figure).collect();
        Panel {
            title: "Durable append, median".to_owned(),
            unit: "µs a commit",
            scale: Scale::Logarithmic,
            along: "events a commit",
            groups: self.append.iter().map(|size| size.events.to_string()).collect(),
            series: vec![
                ("raw file + fdatasync", of(|size| size.file_us)),
                ("SQLite, same indexes", of(|size| size.indexed.us)),
                ("the log", of(|size| size.log.us)),
            ],
        }
    }

    fn bytes(&self) -> Panel {
        let of = |figure: fn(&Written) -> f64| self.written.iter().map(|size| figure(size) / KIB).collect();
        Panel {
            title: "Written by a commit".to_owned(),
            unit: "KiB a commit",
            scale: Scale::Logarithmic,
            along: "events a commit",
            groups: self.written.iter().map(|size| size.events.to_string()).collect(),
            series: vec![
                ("raw file", of(|size| size.raw)),
                ("SQLite, same indexes", of(|size| size.sqlite)),
                ("the log", of(|size| size.log)),
            ],
        }
    }

    fn grouped(&self) -> Panel {
        Panel {
            title: "Events a second, each producer waiting for its own".to_owned(),
            unit: "events/s",
            scale: Scale::Logarithmic,
            along: "producers",
            groups: self.group.iter().map(|group| group.producers.to_string()).collect(),
            series: vec![("the log", self.group.iter().map(|group| group.rate).collect())],
        }
    }

    fn read(&self) -> Panel {
        let rate = |reading: &replay::Reading| f64::from(replay::EVENTS) / reading.time.as_secs_f64();
        let groups = ["SQLite decode", "SQLite scan", "log decode", "log fold", "log verify"];
        Panel {
            title: "Reading the whole history".to_owned(),
            unit: "events/s",
            scale: Scale::Linear,
            along: "SQLite checks nothing and reads on one thread, the log decodes on two",
            groups: groups.map(str::to_owned).into(),
            series: vec![("events/s", self.replay.readings.iter().map(rate).collect())],
        }
    }

    fn opened(&self) -> Panel {
        let Million { open_s, replay_s, moment_s, first_fold_s, verified, .. } = &self.million;
        let verify_s = f64::from(LARGE) / verified;
        let groups = ["open, killed", "replay", "verify", "a moment", "fold all"];
        Panel {
            title: "A log of a million events".to_owned(),
            unit: "ms",
            scale: Scale::Linear,
            along: "each in a fresh process",
            groups: groups.map(str::to_owned).into(),
            series: vec![("ms", [open_s, replay_s, &verify_s, moment_s, first_fold_s].map(|s| s * 1e3).into())],
        }
    }

    fn memory(&self) -> Panel {
        let Million { replay_mb, verify_mb, .. } = &self.million;
        Panel {
            title: "Memory at most".to_owned(),
            unit: "MB resident",
            scale: Scale::Linear,
            along: "events in the log",
            groups: [SMALL, LARGE].map(|events| format!("{events}")).into(),
            series: vec![("replay", replay_mb.to_vec()), ("verify", verify_mb.to_vec())],
        }
    }
}
