//! Raising, by upcasters of kinds that never were: a rename, a split, nothing, two steps. Everything in this crate's tests that
//! reads events goes by this table.

use rmpv::Value;
use serde_json::json;

use super::instance::{ConfigurationChanged, CredentialRemoved};
use super::upcast::{Kind, Made, UpcastError, Upcaster, climbed, from_value, read, read_json};
use super::*;
use crate::envelope::Body;

const CONFIGURATION: Kind = ("configuration_changed", 1);
const REMOVED: Kind = ("credential_removed", 1);

pub(super) const TABLE: &[Upcaster] = &[
    // A field was renamed, and so was the kind.
    Upcaster { from: ("setting_changed", 1), to: &[CONFIGURATION], raise: setting_changed },
    // One was many.
    Upcaster {
        from: ("credentials_removed", 1),
        to: &[REMOVED, ("credential_dropped", 1)],
        raise: credentials_removed,
    },
    // What was recorded says nothing any more.
    Upcaster { from: ("lamp_lit", 1), to: &[], raise: |_| Ok(Vec::new()) },
    // Two steps.
    Upcaster {
        from: ("credential_dropped", 1),
        to: &[("credential_dropped", 2)],
        raise: |map| dropped(map, "n", "title"),
    },
    Upcaster { from: ("credential_dropped", 2), to: &[REMOVED], raise: |map| dropped(map, "title", "name") },
];

fn field(value: &Value, name: &str) -> Result<Value, String> {
    let pairs = value.as_map().ok_or("it is no map")?;
    let found = pairs.iter().find(|(key, _)| key.as_str() == Some(name));
    found.map(|(_, value)| value.clone()).ok_or_else(|| format!("it has no {name}"))
}

fn map(pairs: &[(&str, Value)]) -> Value {
    Value::Map(pairs.iter().map(|(key, value)| ((*key).into(), value.clone())).collect())
}

fn setting_changed(value: &Value) -> Result<Made, String> {
    let key = field(value, "name")?;
    let raised = map(&[("key", key), ("old", field(value, "old")?), ("new", field(value, "new")?)]);
    Ok(vec![(CONFIGURATION, raised)])
}

/// The first is of today's kind, each other one has two steps to go; the last is of today's kind again.
fn credentials_removed(value: &Value) -> Result<Made, String> {
    let names = field(value, "names")?;
    let names = names.as_array().ok_or("its names are no list")?;
    let raised = |(place, name): (usize, &Value)| match place {
        0 => (REMOVED, map(&[("name", name.clone())])),
        _ if place + 1 == names.len() => (REMOVED, map(&[("name", name.clone())])),
        _ => (("credential_dropped", 1), map(&[("n", name.clone())])),
    };
    Ok(names.iter().enumerate().map(raised).collect())
}

fn dropped(value: &Value, from: &str, to: &str) -> Result<Made, String> {
    let kind = if to == "name" { REMOVED } else { ("credential_dropped", 2) };
    Ok(vec![(kind, map(&[(to, field(value, from)?)]))])
}

pub(super) fn bytes(value: &serde_json::Value) -> Vec<u8> {
    rmp_serde::to_vec_named(value).unwrap()
}

fn removed(name: &str) -> Event {
    CredentialRemoved { name: name.to_owned() }.into()
}

#[track_caller]
fn check((label, schema): (&str, u16), stored: serde_json::Value, expected: &Body) {
    assert_eq!(read(label, schema, &bytes(&stored)).unwrap(), *expected, "as stored");
    assert_eq!(read_json(label, schema, stored).unwrap(), *expected, "as exported");
}

#[test]
fn a_renamed_field_is_found_under_its_new_name() {
    let (old, new) = (None, crate::canonical::Json(json!("it")));
    let expected = ConfigurationChanged { key: "language".to_owned(), old, new };
    let stored = json!({ "name": "language", "old": null, "new": "\"it\"" });
    let Body::Known(raised) = read("setting_changed", 1, &bytes(&stored)).unwrap() else { panic!("it is one event") };
    assert_eq!(raised, expected.clone().into());
    let exported = json!({ "name": "language", "old": null, "new": "it" });
    assert_eq!(read_json("setting_changed", 1, exported).unwrap(), Body::Known(expected.into()));
}

#[test]
fn one_becomes_none_one_or_several_in_order() {
    let names = |names: &[&str]| json!({ "names": names });
    check(("credentials_removed", 1), names(&[]), &Body::Raised(Vec::new()));
    check(("credentials_removed", 1), names(&["a"]), &Body::Known(removed("a")));
    check(("credentials_removed", 1), names(&["a", "b"]), &Body::Raised(vec![removed("a"), removed("b")]));
    let all = ["a", "b", "c", "d"];
    check(("credentials_removed", 1), names(&all), &Body::Raised(all.map(removed).to_vec()));
    check(("lamp_lit", 1), json!({ "room": "attic" }), &Body::Raised(Vec::new()));
}

#[test]
fn two_steps_are_climbed_from_either() {
    check(("credential_dropped", 1), json!({ "n": "weather" }), &Body::Known(removed("weather")));
    check(("credential_dropped", 2), json!({ "title": "weather" }), &Body::Known(removed("weather")));
    // Of a later program: kept.
    let later = bytes(&json!({ "title": "weather" }));
    assert_eq!(read("credential_dropped", 3, &later).unwrap(), Body::Unknown(later));
}

#[track_caller]
fn refused(label: &str, bytes: &[u8], says: &str) {
    let error = read(label, 1, bytes).unwrap_err();
    assert!(matches!(error, DecodeError::Raise { .. }) && error.to_string().contains(says), "{error}");
}

/// Of an erased one nothing but the label is left, and folds go by that.
#[test]
fn an_erased_one_is_called_what_it_is_called_today() {
    use super::upcast::named;
    assert_eq!(named("credential_dropped", 1), REMOVED);
    assert_eq!(named("setting_changed", 1), CONFIGURATION);
    assert_eq!(named("credentials_removed", 1), ("credentials_removed", 1), "it may have been several");
    assert_eq!(named("lamp_lit", 1), ("lamp_lit", 1));
    assert_eq!(named("kettle_boiled", 1), ("kettle_boiled", 1));
}

#[test]
fn what_cannot_be_raised_is_an_error() {
    refused("setting_changed", &bytes(&json!({ "colour": "green" })), "it has no name");
    refused("setting_changed", &[0x81], "no single MessagePack value");
    let twice = [bytes(&json!({ "n": "a" })), vec![0xc0]].concat();
    refused("credential_dropped", &twice, "no single MessagePack value");
    // Of the right fields, and not what the kind of today says.
    refused("credential_dropped", &bytes(&json!({ "n": 7 })), "not what its kind says");
    refused("credentials_removed", &bytes(&json!({ "names": ["a", "b", 7, "d"] })), "not what its kind says");
}

#[test]
fn a_table_that_leads_nowhere_or_in_a_circle_is_an_error() {
    const CIRCLE: &[Upcaster] = &[
        Upcaster { from: ("a", 1), to: &[("a", 2)], raise: |value| Ok(vec![(("a", 2), value.clone())]) },
        Upcaster { from: ("a", 2), to: &[("a", 1)], raise: |value| Ok(vec![(("a", 1), value.clone())]) },
    ];
    const NOWHERE: &[Upcaster] =
        &[Upcaster { from: ("a", 1), to: &[("a", 2)], raise: |value| Ok(vec![(("a", 2), value.clone())]) }];
    const SECRETLY: &[Upcaster] =
        &[Upcaster { from: ("a", 1), to: &[CONFIGURATION], raise: |value| Ok(vec![(REMOVED, value.clone())]) }];
    let climb = |table: &[Upcaster]| climbed(table, ("a", 1), Value::Nil, &from_value).unwrap_err();
    assert!(matches!(climb(CIRCLE), UpcastError::Circle { .. }));
    assert!(matches!(climb(NOWHERE), UpcastError::End { schema: 2, .. }));
    assert!(matches!(climb(SECRETLY), UpcastError::End { .. }));
}

/// What holds of every table: each kind has one upcaster, none that is declared has one, and each way up ends.
fn is_sound(table: &[Upcaster]) -> Result<(), String> {
    for (place, Upcaster { from, to, .. }) in table.iter().enumerate() {
        if Event::KINDS.contains(from) {
            return Err(format!("{from:?} is read as it is"));
        }
        if table[..place].iter().any(|other| other.from == *from) {
            return Err(format!("{from:?} has two upcasters"));
        }
        // The same label goes up; any other one is new or has a way up of its own.
        if to.iter().any(|(label, schema)| *label == from.0 && *schema <= from.1) {
            return Err(format!("{from:?} does not go up"));
        }
        let mut reached = to.to_vec();
        for _ in table {
            let above = |kind: Kind| match table.iter().find(|upcaster| upcaster.from == kind) {
                Some(upcaster) => upcaster.to.to_vec(),
                None => vec![kind],
            };
            reached = reached.into_iter().flat_map(above).collect();
        }
        if let Some(stray) = reached.iter().find(|kind| !Event::KINDS.contains(kind)) {
            return Err(format!("{from:?} ends at {stray:?}, which nobody reads"));
        }
    }
    Ok(())
}

#[test]
fn the_tables_are_sound_and_unsound_ones_are_told() {
    assert_eq!(is_sound(UPCASTERS), Ok(()));
    assert_eq!(is_sound(TABLE), Ok(()));
    let step = |from: Kind, to: &'static [Kind]| Upcaster { from, to, raise: |_| Ok(Vec::new()) };
    for unsound in [
        vec![step(REMOVED, &[])],
        vec![step(("a", 1), &[]), step(("a", 1), &[])],
        vec![step(("a", 2), &[("a", 1)]), step(("a", 1), &[])],
        vec![step(("a", 1), &[("a", 2)])],
        vec![step(("a", 1), &[("b", 1)]), step(("b", 1), &[("a", 1)])],
    ] {
        assert!(is_sound(&unsound).is_err(), "{unsound:?}");
    }
}

/// Every line that ever landed is read; so is every old kind of the test's own, raised or refused, never passed over.
#[test]
fn raising_is_total_over_everything_that_is_pinned() {
    for ((label, schema), bytes) in super::tests::pinned() {
        let body = read(label, schema, &bytes).unwrap();
        assert!(!matches!(body, Body::Unknown(_) | Body::Erased), "{label} v{schema}: {body:?}");
        // Whatever stands in a payload, an upcaster gives events or says why not.
        for Upcaster { from, .. } in TABLE.iter().chain(UPCASTERS) {
            let read = read(from.0, from.1, &bytes);
            assert!(matches!(read, Ok(Body::Known(_) | Body::Raised(_)) | Err(DecodeError::Raise { .. })), "{read:?}");
        }
    }
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

        #[test]
        fn raising_gives_events_or_says_why_not(
            names in prop::collection::vec(prop_oneof![".*".prop_map(Value::from), any::<i64>().prop_map(Value::from)], 0..6),
            noise in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let all: Option<Vec<Event>> = names.iter().map(|name| name.as_str().map(removed)).collect();
            let mut stored = Vec::new();
            rmpv::encode::write_value(&mut stored, &map(&[("names", Value::Array(names))])).unwrap();
            let body = read("credentials_removed", 1, &stored);
            match all {
                None => prop_assert!(matches!(body, Err(DecodeError::Raise { .. })), "{:?}", body),
                Some(mut all) if all.len() == 1 => prop_assert_eq!(body.unwrap(), Body::Known(all.remove(0))),
                Some(all) => prop_assert_eq!(body.unwrap(), Body::Raised(all)),
            }
            for Upcaster { from, .. } in TABLE {
                let read = read(from.0, from.1, &noise);
                let is_said = matches!(read, Ok(Body::Known(_) | Body::Raised(_)) | Err(DecodeError::Raise { .. }));
                prop_assert!(is_said, "{:?}", read);
            }
        }
    }
}
