//! Three months of a household, invented but for the code that takes them in: what is remembered of them, what each month's
//! state says, and that all of it comes back from the log alone.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

use jiff::tz::TimeZone;
use metnos::config::{Flags, Variables};
use metnos::instance::{Instance, now};
use metnos::snapshots;
use metnos_log::event::mnestome::{DesiredSignature, PassingObserved, WishObserved};
use metnos_log::{Draft, Event, EventId, Micros, TurnId};
use metnos_projections::machines::mnestome;
use serde_json::Value;

use crate::home::Home;

const ZONE: &str = "Europe/Rome";
const DAY: i64 = 86_400_000_000;
/// How many days are lived: three whole months and what is left of this one, whatever the day.
const DAYS: i64 = 125;

/// Numbers that look like chance and are the same in every run.
struct Chance(u64);

impl Chance {
    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// What was observed between two executors, by whether it was a wish: when, µs.
type Observed = BTreeMap<(String, String, bool), Vec<i64>>;

fn open(home: &Home) -> Instance {
    let variables = Variables { user_home: Some(home.files()), zone: Some(ZONE.to_owned()), ..Variables::default() };
    Instance::open(Some(&home.metnos()), &Flags::default(), &variables, Duration::from_secs(10)).unwrap()
}

fn append(instance: &Instance, actor: &str, time: i64, number: u64, event: Event) {
    let mut random = [0; 10];
    random[..8].copy_from_slice(&number.to_be_bytes());
    let draft = Draft {
        id: EventId::new(Micros(time), random),
        time: Micros(time),
        stream: "mnestome".to_owned(),
        actor: actor.to_owned(),
        turn: None,
        cause: None,
        event,
        blobs: Vec::new(),
    };
    instance.append_decided(|_| Ok::<_, Infallible>(vec![draft])).unwrap().unwrap();
}

/// Lives day after day: some passings, now and then a wish, the ager at night, the month's state on its first tick.
fn live(instance: &Instance) -> (Observed, Vec<String>) {
    const NAMES: [&str; 6] =
        ["find_files", "read_files", "filter_entries", "sort_entries", "group_entries", "write_files"];
    let mut chance = Chance(20_261_122);
    let mut observed = Observed::new();
    let mut months = Vec::new();
    let version = |name: &str| instance.catalog().active(name).unwrap().1.to_owned();
    let (begun, mut number) = (now().0, 0);
    for day in 0..DAYS {
        for _ in 0..chance.below(4) {
            number += 1;
            let time = begun + day * DAY + i64::try_from(number).unwrap();
            let name = |chance: &mut Chance| NAMES[usize::try_from(chance.below(6)).unwrap()].to_owned();
            let (src, dst) = (name(&mut chance), name(&mut chance));
            let turn = TurnId::new(Micros(time), [1; 10]);
            let src_version = version(&src);
            // Somebody asks for the same thing again and again, until the second month.
            let is_wish = day < 50 && chance.below(5) == 0;
            let event: Event = if is_wish {
                let desired =
                    DesiredSignature { summary: "extract invoices".to_owned(), ..DesiredSignature::default() };
                WishObserved {
                    src: src.clone(),
                    src_version,
                    dst: "extract_invoices".to_owned(),
                    desired,
                    purpose: None,
                    turn,
                }
                .into()
            } else {
                let dst_version = version(&dst);
                PassingObserved { src: src.clone(), src_version, dst: dst.clone(), dst_version, turn }.into()
            };
            append(instance, "owner", time, number, event);
            let dst = if is_wish { "extract_invoices".to_owned() } else { dst };
            observed.entry((src, dst, is_wish)).or_default().push(time);
        }
        let night = begun + day * DAY + DAY / 2;
        let events = mnestome::age(&instance.projected().mnestome, &format!("day {day:05}"), Micros(night)).unwrap();
        for event in events {
            number += 1;
            append(instance, "metnos", night, number, event);
        }
        months.extend(snapshots::take_months(instance, Micros(night)).unwrap());
    }
    (observed, months)
}

/// The weight that the formula gives for what was observed when, after the usual pairs' first run.
#[expect(clippy::cast_precision_loss, reason = "days are few")]
fn weight(seeded: Option<i64>, times: &[i64], until: i64) -> f64 {
    let days = |from: i64, to: i64| (to - from) as f64 / DAY as f64;
    let mut all: Vec<i64> = seeded.into_iter().collect();
    all.extend(times);
    let mut weight = 0.30;
    for pair in all.windows(2) {
        weight = (weight * (-0.018 * days(pair[0], pair[1])).exp() + 0.15).clamp(0.0, 1.0);
    }
    weight * (-0.018 * days(*all.last().unwrap(), until)).exp()
}

#[test]
fn three_months_are_remembered_as_the_formula_says_and_come_back_from_the_log() {
    let home = Home::new();
    let instance = open(&home);
    let seeds: BTreeMap<(String, String), i64> = instance
        .projected()
        .mnestome
        .each(now())
        .map(|edge| ((edge.src.to_owned(), edge.dst.to_owned()), edge.mnest.ts_first))
        .collect();
    assert!(seeds.len() > 10, "the usual pairs of the first run are there");
    let (observed, months) = live(&instance);
    let until = Micros(now().0 + DAYS * DAY);
    let graph = instance.projected().mnestome;
    let mut wishes = 0;
    for edge in graph.each(until) {
        let key = (edge.src.to_owned(), edge.dst.to_owned());
        let is_wish = edge.mnest.state == mnestome::State::Proto;
        wishes += u64::from(is_wish);
        let seeded = seeds.get(&key).copied().filter(|_| !is_wish);
        let times = observed.get(&(key.0.clone(), key.1.clone(), is_wish)).map_or(&[][..], Vec::as_slice);
        let expected = weight(seeded, times, until.0);
        assert!((edge.weight - expected).abs() < 1e-12, "{key:?}: {} for {expected}", edge.weight);
        assert_eq!(edge.mnest.uses, times.len() as u64 + u64::from(seeded.is_some()), "{key:?}");
    }
    let real =
        observed.keys().filter(|(src, dst, is_wish)| !is_wish && !seeds.contains_key(&(src.clone(), dst.clone())));
    assert_eq!(graph.each(until).count() as u64 - wishes, (seeds.len() + real.count()) as u64);
    assert!(wishes > 0 && observed.keys().any(|(_, _, is_wish)| *is_wish));

    let begun = jiff::Timestamp::from_microsecond(now().0).unwrap().to_zoned(TimeZone::get(ZONE).unwrap()).date();
    let expected: Vec<String> = (0..i64::try_from(months.len()).unwrap())
        .map(|month| begun.first_of_month().checked_add(jiff::Span::new().months(month)).unwrap())
        .map(|month| month.strftime("%Y-%m").to_string())
        .collect();
    assert_eq!(months, expected, "each month once, none left out");
    assert!(months.len() >= 4);
    let states = instance.projected().states;
    for name in &months {
        let taken = &states.taken[name];
        let verdict = snapshots::verify(&instance, taken).unwrap();
        assert!(verdict.is_good(), "{name}: {verdict:?}");
        let file = std::fs::read(home.metnos().join(format!("workspace/.mnestome/snapshots/{name}.jsonl"))).unwrap();
        assert_eq!(file, snapshots::computed(&instance, taken).unwrap().into_bytes());
    }
    let live = instance.projected().digests();
    drop(instance);
    tampered_months_are_found(&home, &months);
    a_difference_can_be_read(&home, &months);
    all_comes_back(&home, &live, &months);
}

fn tampered_months_are_found(home: &Home, months: &[String]) {
    let file = |name: &String| home.metnos().join(format!("workspace/.mnestome/snapshots/{name}.jsonl"));
    let text = std::fs::read_to_string(file(&months[1])).unwrap();
    std::fs::write(file(&months[1]), text.replacen("\"uses\":", "\"uses\":9", 1)).unwrap();
    std::fs::remove_file(file(&months[2])).unwrap();
    let verified = home.run(["snapshot", "verify"]);
    assert_eq!(verified.code, 1, "{} {}", verified.out, verified.err);
    let lines: Vec<&str> = verified.out.lines().collect();
    assert!(lines[0].ends_with(": good"), "{}", verified.out);
    assert!(lines[1].contains("does NOT hold"), "{}", verified.out);
    assert!(lines[2].contains("is written again"), "{}", verified.out);
    assert!(file(&months[2]).exists());
    assert!(verified.err.contains(&format!("metnos snapshot verify {}", months[1])), "{}", verified.err);
    // What is no file at all holds nothing either, and keeps nobody from the others.
    std::fs::remove_file(file(&months[1])).unwrap();
    std::fs::create_dir(file(&months[1])).unwrap();
    let verified = home.run(["snapshot", "verify"]);
    assert_eq!((verified.code, verified.out.lines().count()), (1, months.len()), "{} {}", verified.out, verified.err);
    std::fs::remove_dir(file(&months[1])).unwrap();
    std::fs::write(file(&months[1]), text).unwrap();
    assert_eq!(home.run(["snapshot", "verify"]).code, 0);
}

fn a_difference_can_be_read(home: &Home, months: &[String]) {
    let shown = home.run(["snapshot", "diff", &months[0], &months[2]]);
    assert_eq!(shown.code, 0, "{}", shown.err);
    for part in ["Learned: ", "Wished for in vain: ", " → "] {
        assert!(shown.out.contains(part), "{part}: {}", shown.out);
    }
    let shown = home.run(["--lang", "it", "snapshot", "diff", &months[0], &months[2]]);
    assert!(shown.out.contains("Imparate: "), "{}", shown.out);
}

/// Every projection and every export is deleted, and the same digests come back.
fn all_comes_back(home: &Home, live: &[(&'static str, String)], states: &[String]) {
    let metnos = home.metnos();
    let exports: Vec<&Path> = ["data/projections", "workspace/.audit", "workspace/.mnestome"].map(Path::new).into();
    for folder in exports {
        std::fs::remove_dir_all(metnos.join(folder)).unwrap();
    }
    let checked = home.run(["--json", "replay", "check"]);
    let report = checked.json();
    let rebuilt: BTreeMap<String, String> = report["projections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| {
            assert_eq!(line["equal"], Value::Bool(true), "{line}");
            (line["projection"].as_str().unwrap().to_owned(), line["digest"].as_str().unwrap().to_owned())
        })
        .collect();
    for (name, digest) in live {
        assert_eq!(rebuilt.get(*name), Some(digest), "{name}");
    }
    // The files come back by themselves, with the job that takes the months.
    assert_eq!(home.run(["schedule", "run-now", "monthly-state"]).code, 0);
    for name in states {
        assert!(metnos.join(format!("workspace/.mnestome/snapshots/{name}.jsonl")).exists(), "{name}");
    }
    let verified = home.run(["snapshot", "verify"]);
    assert_eq!(verified.code, 0, "{} {}", verified.out, verified.err);
}
