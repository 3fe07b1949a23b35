//! Cadences: what is read and what is refused, and a table of what clocks do twice a year in four zones.

use super::*;
use crate::messages::{Language, Messages};

fn zone(name: &str) -> Zone {
    Zone::named(name).unwrap()
}

fn micros(text: &str) -> i64 {
    text.parse::<Timestamp>().unwrap().as_microsecond()
}

fn shown(zone: &Zone, micros: i64) -> String {
    timestamp(micros).to_zoned(zone.zone.clone()).strftime("%d %H:%M%:z").to_string()
}

/// The firings from a moment on, as clocks show them.
#[track_caller]
fn check(name: &str, from: &str, text: &str, expected: &[&str]) {
    let zone = zone(name);
    let cadence = Cadence::read(text, &zone).unwrap();
    let from = micros(from);
    let found: Vec<String> =
        cadence.firings(from, from, &zone, expected.len()).into_iter().map(|at| shown(&zone, at)).collect();
    assert_eq!(found, expected, "{name} {text}");
}

#[test]
fn a_missing_hour_fires_once_at_the_next_valid_minute() {
    let (rome, york, howe) = ("2026-03-28T12:00:00Z", "2026-03-07T12:00:00Z", "2026-10-03T01:00:00Z");
    check("Europe/Rome", rome, "30 2 * * *", &["29 03:00+02:00", "30 02:30+02:00", "31 02:30+02:00"]);
    check("Europe/Rome", rome, "0 2,3 * * *", &["29 03:00+02:00", "30 02:00+02:00", "30 03:00+02:00"]);
    check("Europe/Rome", rome, "0,15,30 2 * * *", &["29 03:00+02:00", "30 02:00+02:00", "30 02:15+02:00"]);
    check("Europe/Rome", rome, "0 3 * * *", &["29 03:00+02:00", "30 03:00+02:00"]);
    check("Europe/Rome", rome, "59 1 * * *", &["29 01:59+01:00", "30 01:59+02:00"]);
    check("America/New_York", york, "30 2 * * *", &["08 03:00-04:00", "09 02:30-04:00"]);
    check("America/New_York", york, "15 2,4 * * *", &["08 03:00-04:00", "08 04:15-04:00", "09 02:15-04:00"]);
    check("Australia/Lord_Howe", howe, "15 2 * * *", &["04 02:30+11:00", "05 02:15+11:00"]);
    check("Australia/Lord_Howe", howe, "30 2 * * *", &["04 02:30+11:00", "05 02:30+11:00"]);
    check("Australia/Lord_Howe", howe, "0 2 * * *", &["04 02:30+11:00", "05 02:00+11:00"]);
    // A day that was left out.
    check(
        "Pacific/Apia",
        "2011-12-29T09:00:00Z",
        "0 12 * * *",
        &["29 12:00-10:00", "31 00:00+14:00", "31 12:00+14:00"],
    );
}

#[test]
fn a_repeated_hour_fires_once() {
    let (rome, york, howe) = ("2026-10-24T12:00:00Z", "2026-10-31T12:00:00Z", "2026-04-04T01:00:00Z");
    check("Europe/Rome", rome, "30 2 * * *", &["25 02:30+02:00", "26 02:30+01:00"]);
    check("Europe/Rome", rome, "0 2,3 * * *", &["25 02:00+02:00", "25 03:00+01:00", "26 02:00+01:00"]);
    check("Europe/Rome", rome, "0,59 2 * * *", &["25 02:00+02:00", "25 02:59+02:00", "26 02:00+01:00"]);
    check("America/New_York", york, "30 1 * * *", &["01 01:30-04:00", "02 01:30-05:00"]);
    check("America/New_York", york, "0 2 * * *", &["01 02:00-05:00", "02 02:00-05:00"]);
    check("Australia/Lord_Howe", howe, "45 1 * * *", &["05 01:45+11:00", "06 01:45+10:30"]);
    check("Australia/Lord_Howe", howe, "0 2 * * *", &["05 02:00+10:30", "06 02:00+10:30"]);
    // Asked within the second time, it has fired.
    check("Europe/Rome", "2026-10-25T01:10:00Z", "30 2 * * *", &["26 02:30+01:00"]);
}

#[test]
fn every_real_interval_fires() {
    check(
        "Europe/Rome",
        "2026-03-29T00:00:00Z",
        "*/30 * * * *",
        &["29 01:30+01:00", "29 03:00+02:00", "29 03:30+02:00", "29 04:00+02:00"],
    );
    check(
        "Europe/Rome",
        "2026-10-24T23:45:00Z",
        "*/30 * * * *",
        &["25 02:00+02:00", "25 02:30+02:00", "25 02:00+01:00", "25 02:30+01:00", "25 03:00+01:00"],
    );
    check(
        "America/New_York",
        "2026-11-01T04:30:00Z",
        "0 * * * *",
        &["01 01:00-04:00", "01 01:00-05:00", "01 02:00-05:00"],
    );
    check("America/New_York", "2026-03-08T06:30:00Z", "0 * * * *", &["08 03:00-04:00", "08 04:00-04:00"]);
    check(
        "Australia/Lord_Howe",
        "2026-04-04T14:20:00Z",
        "*/30 * * * *",
        &["05 01:30+11:00", "05 01:30+10:30", "05 02:00+10:30"],
    );
    check("Australia/Lord_Howe", "2026-10-03T15:10:00Z", "*/30 * * * *", &["04 02:30+11:00", "04 03:00+11:00"]);
    check(
        "Europe/Rome",
        "2026-03-28T23:00:00Z",
        "every_90_minutes",
        &["29 01:30+01:00", "29 04:00+02:00", "29 05:30+02:00"],
    );
    check("Europe/Rome", "2026-10-25T00:00:00Z", "every_1_hours", &["25 02:00+01:00", "25 03:00+01:00"]);
}

#[test]
fn years_of_half_hours_are_all_there() {
    // A zone whose jump is half an hour, over two years: as many firings as there are real half hours.
    for (name, step) in [("Europe/Rome", 30), ("America/New_York", 60), ("Australia/Lord_Howe", 30)] {
        let zone = zone(name);
        let cadence = Cadence::read(&format!("*/{step} * * * *").replace("*/60", "0"), &zone).unwrap();
        let (from, to) = (micros("2026-01-01T00:00:00Z"), micros("2028-01-01T00:00:00Z"));
        let (mut at, mut count) = (from, 0);
        while let Some(next) = cadence.next(at, from, &zone).filter(|next| *next <= to) {
            assert_eq!(next - at, i64::from(step) * 60 * SECOND_US, "{name} {}", shown(&zone, at));
            (at, count) = (next, count + 1);
        }
        assert_eq!(count, (to - from) / (i64::from(step) * 60 * SECOND_US), "{name}");
    }
}

#[test]
fn fixed_times_fire_once_a_day_for_years() {
    for name in ["Europe/Rome", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "America/Sao_Paulo"] {
        let zone = zone(name);
        for text in ["30 2 * * *", "0 0 * * *", "45 1 * * *", "15 2 * * *"] {
            let cadence = Cadence::read(text, &zone).unwrap();
            let from = micros("2024-01-01T12:00:00Z");
            let days: Vec<String> = cadence
                .firings(from, from, &zone, 1500)
                .into_iter()
                .map(|at| zone.civil(at).strftime("%Y-%m-%d").to_string())
                .collect();
            let mut single = days.clone();
            single.dedup();
            assert_eq!((single.len(), &days), (1500, &single), "{name} {text}");
            let last = days[0].parse::<civil::Date>().unwrap().checked_add(jiff::Span::new().days(1499)).unwrap();
            assert_eq!(days[1499], last.to_string(), "{name} {text}");
        }
    }
}

#[test]
fn written_forms_are_read_and_written_back() {
    let rome = zone("Europe/Rome");
    for (text, kept) in [
        ("0 8 * * *", "0 8 * * *"),
        ("  0  8 *  * 1,5 ", "0 8 * * 1,5"),
        ("daily@07:05", "5 7 * * *"),
        ("daily@7:05", "5 7 * * *"),
        ("every_90_minutes", "every_90_minutes"),
        ("every_120_minutes", "every_2_hours"),
        ("every_2_hours", "every_2_hours"),
        ("at:2026-11-23T08:00", "at:2026-11-23T07:00:00Z"),
        ("at:2026-11-23T08:00:00+05:00", "at:2026-11-23T03:00:00Z"),
        ("at:2026-03-29T02:30", "at:2026-03-29T01:00:00Z"),
        ("at:2026-10-25T02:30", "at:2026-10-25T00:30:00Z"),
        ("manual", "manual"),
        ("0 0 29 2 *", "0 0 29 2 *"),
    ] {
        let cadence = Cadence::read(text, &rome).unwrap();
        assert_eq!(cadence.to_string(), kept);
        assert_eq!(Cadence::read(kept, &rome).unwrap(), cadence);
    }
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let rome = zone("Europe/Rome");
    let read = |text: &str| Cadence::read(text, &rome).unwrap_err();
    let messages = Messages::embedded();
    for text in ["0 0 8 * * *", "0 0 8 * * * 2026", "* * * *"] {
        assert!(matches!(read(text), CadenceError::Fields(..)), "{text}: {:?}", read(text));
    }
    for text in ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *"] {
        assert!(matches!(read(text), CadenceError::Never(_)), "{text}");
    }
    for text in ["61 * * * *", "0 25 * * *", "0 8 * * x", "*/0 * * * *"] {
        assert!(matches!(read(text), CadenceError::Field(..)), "{text}: {:?}", read(text));
    }
    for text in ["every_0_minutes", "every_99999999999_minutes", "every_9999999_hours"] {
        assert_eq!(read(text), CadenceError::Interval, "{text}");
    }
    for text in [
        "every_x_minutes",
        "every_-5_minutes",
        "every_5_moons",
        "a b c d e",
        "ogni 2 giorni alle 7",
        "",
        "soon",
        "every blue moon",
        "every_5",
    ] {
        assert!(matches!(read(text), CadenceError::Form(_)), "{text}");
    }
    for text in ["daily@24:00", "daily@7:5", "daily@x", "at:tomorrow", "at:2026-02-30T08:00", "at:"] {
        assert!(matches!(read(text), CadenceError::Moment(_)), "{text}");
    }
    assert!(matches!(read(&"1".repeat(200)), CadenceError::Form(_)));
    for name in ["Mars/Olympus", "", "Europe/Roma", "../etc"] {
        assert_eq!(Zone::named(name).unwrap_err(), CadenceError::Zone(name.to_owned()));
    }
    assert_eq!(zone("europe/rome").name(), "Europe/Rome");
    for error in [read("0 0 8 * * *"), read("0 0 30 2 *"), read("61 * * * *"), read("every_0_minutes"), read("soon")] {
        let (key, values) = error.told();
        for language in Language::ALL {
            let said = messages.say(language, key, &values);
            assert!(!said.starts_with('['), "{said}");
        }
    }
}

#[test]
fn missed_firings_are_counted_no_further_than_needed() {
    let rome = zone("Europe/Rome");
    let (from, to) = (micros("2026-01-01T00:00:00Z"), micros("2026-12-31T23:59:59Z"));
    let minutes = Cadence::read("*/1 * * * *", &rome).unwrap();
    let (count, last) = minutes.passed((from, to), from, &rome, 100);
    assert_eq!((count, last), (100, Some(from + 100 * 60 * SECOND_US)));
    let every = Cadence::read("every_1_minutes", &rome).unwrap();
    let (count, last) = every.passed((from, to), from, &rome, u32::MAX);
    assert_eq!((count, last), (365 * 24 * 60 - 1, Some(to / 60_000_000 * 60_000_000)));
    let daily = Cadence::read("daily@08:00", &rome).unwrap();
    assert_eq!(daily.passed((from, to), from, &rome, 1000).0, 365);
    assert_eq!(Cadence::Manual.passed((from, to), from, &rome, 10), (0, None));
}

/// The forms that words of months come to: what croner makes of them.
#[test]
fn days_within_months_fire_on_those_days() {
    let from = "2026-01-15T12:00:00Z";
    check("UTC", from, "0 8 L * *", &["31 08:00+00:00", "28 08:00+00:00", "31 08:00+00:00", "30 08:00+00:00"]);
    check("UTC", from, "0 9 * * 1#1", &["02 09:00+00:00", "02 09:00+00:00", "06 09:00+00:00"]);
    check("UTC", from, "0 9 * * 0#1", &["01 09:00+00:00", "01 09:00+00:00", "05 09:00+00:00"]);
    check("UTC", from, "0 9 * * 5#L", &["30 09:00+00:00", "27 09:00+00:00", "27 09:00+00:00", "24 09:00+00:00"]);
    let zone = zone("UTC");
    let quarters = Cadence::read("0 8 1 */3 *", &zone).unwrap().firings(micros(from), micros(from), &zone, 4);
    let months: Vec<i8> = quarters.into_iter().map(|at| zone.civil(at).month()).collect();
    assert_eq!(months, [4, 7, 10, 1]);
}

#[test]
fn cadences_are_said_in_both_languages() {
    let (rome, messages) = (zone("Europe/Rome"), Messages::embedded());
    for (text, en, it) in [
        ("0 8 * * *", "every day at 08:00", "ogni giorno alle 08:00"),
        ("0 9 * * 1", "every Monday at 09:00", "ogni lunedì alle 09:00"),
        (
            "30 18 * * 1,3,5",
            "every Monday, Wednesday and Friday at 18:30",
            "ogni lunedì, mercoledì e venerdì alle 18:30",
        ),
        ("0 9 * * 1,2,3,4,5", "from Monday to Friday at 09:00", "dal lunedì al venerdì alle 09:00"),
        ("0 10 * * 6,0", "every Saturday and Sunday at 10:00", "ogni sabato e domenica alle 10:00"),
        ("0 8 1 * *", "on day 1 of every month at 08:00", "il primo di ogni mese alle 08:00"),
        ("0 8 24 12 *", "every year on 24 December at 08:00", "ogni anno il 24 dicembre alle 08:00"),
        ("*/15 * * * *", "every 15 minutes", "ogni 15 minuti"),
        ("* * * * *", "every minute", "ogni minuto"),
        ("0 */2 * * *", "every 2 hours", "ogni 2 ore"),
        ("20 * * * *", "every hour, 20 minutes past the hour", "ogni ora, 20 minuti dopo l'ora"),
        ("every_90_minutes", "every 90 minutes", "ogni 90 minuti"),
        ("every_1_hours", "every hour", "ogni ora"),
        ("at:2026-11-23T08:00", "once, Mon 2026-11-23 08:00", "una volta, lun 2026-11-23 08:00"),
        ("manual", "only when you say so", "solo quando lo chiedi"),
        ("0 8,20 * * *", "every day at 08:00 and 20:00", "ogni giorno alle 08:00 e 20:00"),
        ("0 8 L * *", "on the last day of every month at 08:00", "l'ultimo giorno di ogni mese alle 08:00"),
        ("0 9 * * 1#2", "on the second Monday of every month at 09:00", "il secondo lunedì di ogni mese alle 09:00"),
        ("0 9 * * 0#1", "on the first Sunday of every month at 09:00", "la prima domenica di ogni mese alle 09:00"),
        ("0 9 * * 5#L", "on the last Friday of every month at 09:00", "l'ultimo venerdì di ogni mese alle 09:00"),
        (
            "0 8 1 */3 *",
            "every 3 months from January, on day 1 at 08:00",
            "ogni 3 mesi a partire da gennaio, il primo alle 08:00",
        ),
        ("0-10 8 * * *", "by the cron line “0-10 8 * * *”", "secondo la riga cron «0-10 8 * * *»"),
    ] {
        let cadence = Cadence::read(text, &rome).unwrap();
        assert_eq!(said(&messages, Language::En, &cadence, &rome), en);
        assert_eq!(said(&messages, Language::It, &cadence, &rome), it);
    }
}
