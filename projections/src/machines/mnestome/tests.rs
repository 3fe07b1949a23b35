//! Tests of the graph: given what was observed, what weighs how much.

use metnos_log::event::executor::VersionPromoted;
use metnos_log::event::mnestome::{PassingObserved, WishObserved};
use metnos_log::{Micros, TurnId};
use proptest::prelude::*;

use super::formula::{DECAYING_BELOW, PROTO_MIN};
use super::*;
use crate::projection;

const DAY: i64 = 86_400_000_000;

fn text(text: &str) -> String {
    text.to_owned()
}

fn recorded(seq: u64, time: i64, actor: &str, event: Event) -> Recorded {
    Recorded { actor: text(actor), ..projection::recorded(seq, time, event) }
}

fn passing(src: &str, dst: &str) -> Event {
    let (src_version, dst_version) = (text("1.0.0"), text("1.0.0"));
    let turn = TurnId::new(Micros(0), [1; 10]);
    PassingObserved { src: text(src), src_version, dst: text(dst), dst_version, turn }.into()
}

fn wish(src: &str, dst: &str) -> Event {
    let desired = DesiredSignature { summary: text("extract invoice number"), ..DesiredSignature::default() };
    let turn = TurnId::new(Micros(0), [1; 10]);
    WishObserved { src: text(src), src_version: text("1.0.0"), dst: text(dst), desired, purpose: None, turn }.into()
}

fn folded(events: impl IntoIterator<Item = (i64, Event)>) -> Mnestome {
    let mut mnestome = Mnestome::default();
    for (seq, (day, event)) in (1..).zip(events) {
        mnestome.evolve(&recorded(seq, day * DAY, "owner", event));
    }
    mnestome
}

fn night(mnestome: &mut Mnestome, day: i64) -> AgerRun {
    let events = age(mnestome, &format!("2026-{day:05}"), Micros(day * DAY)).unwrap();
    let event = events.into_iter().next().unwrap();
    mnestome.evolve(&recorded(9, day * DAY, "metnos", event.clone()));
    let Event::AgerRun(run) = event else { panic!("{event:?}") };
    run
}

fn only(mnestome: &Mnestome) -> &Mnest {
    let all: Vec<&Mnest> = mnestome.each(Micros(0)).map(|edge| edge.mnest).collect();
    assert_eq!(all.len(), 1, "{all:?}");
    all[0]
}

#[test]
fn a_passing_begins_at_three_tenths_and_is_reinforced_after_fading() {
    let once = folded([(0, passing("a", "b"))]);
    assert_eq!((only(&once).weight.to_bits(), only(&once).uses), (0.3_f64.to_bits(), 1));
    let twice = folded([(0, passing("a", "b")), (10, passing("a", "b"))]);
    let expected = 0.3 * libm::exp(-0.018 * 10.0) + 0.15;
    assert_eq!((only(&twice).weight.to_bits(), only(&twice).uses), (expected.to_bits(), 2));
    assert_eq!((only(&twice).ts_first, only(&twice).ts_last), (0, 10 * DAY));
}

#[test]
fn versions_are_mnests_of_their_own() {
    let mut other = passing("a", "b");
    if let Event::PassingObserved(passing) = &mut other {
        passing.dst_version = text("1.1.0");
    }
    let mnestome = folded([(0, passing("a", "b")), (0, other)]);
    assert_eq!(mnestome.each(Micros(0)).count(), 2);
}

#[test]
fn what_is_not_used_fades_and_use_revives_it() {
    let mut mnestome = folded([(0, passing("a", "b"))]);
    assert_eq!(night(&mut mnestome, 22).decaying, Vec::<String>::new());
    // 0.3 · exp(−0.018 · 23) is below 0.2.
    let run = night(&mut mnestome, 23);
    assert_eq!((run.decaying.len(), only(&mnestome).state), (1, State::Decaying));
    assert_eq!(night(&mut mnestome, 24).decaying.len(), 0, "it is only told once");
    mnestome.evolve(&recorded(10, 25 * DAY, "owner", passing("a", "b")));
    assert_eq!(only(&mnestome).state, State::Active);
}

#[test]
fn a_night_is_only_had_once() {
    let mut mnestome = folded([(0, passing("a", "b"))]);
    night(&mut mnestome, 1);
    assert_eq!(age(&mnestome, "2026-00001", Micros(DAY)), Err(Rejection::AlreadyAged(text("2026-00001"))));
}

#[test]
fn archival_is_proposed_after_ninety_idle_days_and_withdrawn_by_use() {
    let mut mnestome = folded([(0, passing("a", "b"))]);
    // Below 0.05 only after 99.5 days.
    assert_eq!(night(&mut mnestome, 99).proposed.len(), 0);
    assert_eq!(night(&mut mnestome, 100).proposed.len(), 1);
    assert!(only(&mnestome).is_fading_away);
    mnestome.evolve(&recorded(10, 101 * DAY, "owner", passing("a", "b")));
    assert!(!only(&mnestome).is_fading_away);
}

#[test]
fn a_wish_is_forgotten_unless_the_executor_is_born() {
    let mut mnestome = folded([(0, wish("a", "extract_invoices")), (1, wish("a", "extract_invoices"))]);
    let strongest = mnestome.protos(Micros(DAY));
    assert_eq!((strongest.len(), strongest[0].mnest.uses, strongest[0].dst), (1, 2, "extract_invoices"));
    assert_eq!(mnestome.top(None, 10, Micros(DAY)).len(), 0, "a wish is no way to go");
    let mut born = mnestome.clone();
    let promoted = VersionPromoted { name: text("extract_invoices"), version: text("1.0.0") };
    born.evolve(&recorded(10, 2 * DAY, "owner", promoted.into()));
    let mnest = only(&born);
    assert_eq!((mnest.state, mnest.dst_version.as_deref()), (State::Active, Some("1.0.0")));
    for day in 2..200 {
        night(&mut mnestome, day);
    }
    assert_eq!(mnestome.each(Micros(0)).count(), 0);
    assert_eq!(mnestome, Mnestome { aged: mnestome.aged.clone(), ..Mnestome::default() });
}

#[test]
fn a_guests_passings_say_whose_they_are() {
    let mut mnestome = Mnestome::default();
    mnestome.evolve(&recorded(1, 0, "guest_1", passing("a", "b")));
    assert_eq!(only(&mnestome).tags, BTreeSet::from([text("actor:guest_1")]));
    let id = only(&mnestome).id.clone();
    let events = retag(&mnestome, &id, &[text("invoice")]).unwrap();
    mnestome.evolve(&recorded(2, 0, "owner", events.into_iter().next().unwrap()));
    assert_eq!(only(&mnestome).tags, BTreeSet::from([text("invoice")]));
    for bad in ["", "Two Words", "x\u{1b}", &"x".repeat(33)] {
        assert_eq!(retag(&mnestome, &id, &[text(bad)]), Err(Rejection::Tag(text(bad))));
    }
    assert_eq!(retag(&mnestome, "nothing", &[]), Err(Rejection::NoneSuch(text("nothing"))));
}

#[test]
fn usual_pairs_are_there_before_anything_was_observed() {
    let pair = ["a", "1.0.0", "b", "1.0.0"].map(text);
    let seeded: Event = MnestsSeeded { pairs: vec![pair.clone(), ["b", "1.0.0", "c", "1.0.0"].map(text)] }.into();
    let mnestome = folded([(0, seeded.clone()), (0, seeded.clone())]);
    let ids: BTreeSet<&str> = mnestome.each(Micros(0)).map(|edge| edge.mnest.id.as_str()).collect();
    assert_eq!(ids.len(), 2);
    // What was observed before is not set back.
    let mnestome =
        folded([(0, passing("a", "b")), (0, passing("a", "b")), (0, MnestsSeeded { pairs: vec![pair] }.into())]);
    assert_eq!(only(&mnestome).uses, 2);
}

#[test]
fn a_walk_goes_breadth_first_by_the_strongest_of_the_shortest_ways() {
    let strong = |src: &str, dst: &str| [(0, passing(src, dst)), (0, passing(src, dst))];
    let edges = [strong("a", "b"), strong("b", "d"), strong("d", "a")].concat();
    let mnestome =
        folded(edges.into_iter().chain([(0, passing("a", "c")), (0, passing("c", "d")), (0, wish("d", "e"))]));
    let reached = mnestome.walk("a", 5, Micros(0));
    let paths: Vec<String> = reached.iter().map(|reached| reached.path.join(" ")).collect();
    assert_eq!(paths, ["a b", "a c", "a b d"]);
    assert!((reached[2].mean_weight - 0.45).abs() < 1e-12);
    let into: Vec<&str> = mnestome.top(Some(("d", Direction::In)), 9, Micros(0)).iter().map(|edge| edge.src).collect();
    assert_eq!(into, ["b", "c"]);
    assert!(dot(&mnestome, Micros(0)).contains("\"d\" -> \"e\" [label=\"0.30\", penwidth=2.20, style=dashed];"));
    assert!(svg(&mnestome, Micros(0)).contains("<title>a → b: 0.45, 2</title>"));
}

proptest! {
    /// Whatever was observed when, each weight is what the formula gives, worked out apart from the fold; and a checkpoint
    /// in between changes nothing.
    #[test]
    fn weights_are_what_the_formula_gives(
        life in proptest::collection::vec((0_u8..4, 0_u8..4, any::<bool>(), 0_i64..9), 1..60),
        cut in 0_usize..60,
    ) {
        let name = |index: u8| ["a", "b", "c", "d"][usize::from(index)];
        let mut day = 0;
        let mut observed: BTreeMap<(u8, u8, bool), Vec<i64>> = BTreeMap::new();
        let mut mnestome = Mnestome::default();
        for (at, (src, dst, is_wish, wait)) in life.iter().enumerate() {
            day += wait;
            observed.entry((*src, *dst, *is_wish)).or_default().push(day);
            let event = if *is_wish { wish(name(*src), name(*dst)) } else { passing(name(*src), name(*dst)) };
            mnestome.evolve(&recorded(at as u64 + 1, day * DAY, "owner", event));
            if at == cut {
                mnestome = Mnestome::restore(&mnestome.snapshot()).unwrap();
            }
        }
        let now = day + 7;
        let mut found = 0;
        for edge in mnestome.each(Micros(now * DAY)) {
            let key = |index: &str| u8::try_from("abcd".find(index).unwrap()).unwrap();
            let days = &observed[&(key(edge.src), key(edge.dst), edge.mnest.state == State::Proto)];
            let mut weight = 0.30;
            for pair in days.windows(2) {
                #[expect(clippy::cast_precision_loss, reason = "few days")]
                let idle = (pair[1] - pair[0]) as f64;
                weight = (weight * libm::exp(-0.018 * idle) + 0.15).clamp(0.0, 1.0);
            }
            #[expect(clippy::cast_precision_loss, reason = "few days")]
            let idle = (now - days.last().unwrap()) as f64;
            weight = (weight * libm::exp(-0.018 * idle)).clamp(0.0, 1.0);
            prop_assert!((edge.weight - weight).abs() < 1e-12, "{} {weight}", edge.weight);
            prop_assert_eq!(edge.mnest.uses, days.len() as u64);
            found += 1;
        }
        prop_assert_eq!(found, observed.len());
        let run = age(&mnestome, "2026-01-01", Micros(now * DAY)).unwrap();
        let Some(Event::AgerRun(run)) = run.first() else { panic!("no run") };
        for edge in mnestome.each(Micros(now * DAY)) {
            let is_proto = edge.mnest.state == State::Proto;
            prop_assert_eq!(run.purged.contains(&edge.mnest.id), is_proto && edge.weight < PROTO_MIN);
            prop_assert_eq!(run.decaying.contains(&edge.mnest.id), !is_proto && edge.weight < DECAYING_BELOW);
        }
    }
}
