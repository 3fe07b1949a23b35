//! What stored payloads promise: pinned bytes for every kind, and how a payload may differ and still be read.
//!
//! `pinned/payloads.txt` holds one line a kind: label, schema, bytes. A line is never changed and never removed; a new
//! kind or schema gets a new one.

use std::collections::{BTreeMap, BTreeSet};

use rmpv::Value;
use serde::{Deserialize, Serialize};

use super::examples::{examples, grown};
use super::instance::{CredentialRemoved, InstanceCreated};
use super::*;
use crate::envelope::Body;

const PINNED: &str = include_str!("../../pinned/payloads.txt");

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

pub(super) fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

pub(super) fn pinned() -> BTreeMap<(&'static str, u16), Vec<u8>> {
    let mut lines = BTreeMap::new();
    for line in PINNED.lines() {
        let [label, schema, bytes] = line.split(' ').collect::<Vec<_>>().try_into().expect("three words a line");
        assert!(lines.insert((label, schema.parse().unwrap()), unhex(bytes)).is_none(), "{label} is there twice");
    }
    lines
}

fn map(event: &Event) -> Vec<(Value, Value)> {
    let Value::Map(pairs) = rmpv::decode::read_value(&mut event.encode().as_slice()).unwrap() else { panic!("no map") };
    pairs
}

fn bytes_of(pairs: &[(Value, Value)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    rmpv::encode::write_value(&mut bytes, &Value::Map(pairs.to_vec())).unwrap();
    bytes
}

#[test]
fn every_kind_has_one_example_and_one_pinned_line() {
    let mut kinds = Event::KINDS.to_vec();
    kinds.sort_unstable();
    let mut shown: Vec<_> = examples().iter().map(|event| (event.label(), event.schema())).collect();
    shown.sort_unstable();
    assert_eq!(shown, kinds, "examples() against the vocabulary");
    let lines = pinned();
    let missing: Vec<String> = examples()
        .iter()
        .filter(|event| !lines.contains_key(&(event.label(), event.schema())))
        .map(|event| format!("{} {} {}", event.label(), event.schema(), hex(&event.encode())))
        .collect();
    assert!(missing.is_empty(), "pinned/payloads.txt lacks:\n{}", missing.join("\n"));
}

#[test]
fn every_kind_is_written_as_it_was_pinned() {
    let lines = pinned();
    for event in examples() {
        let found = hex(&event.encode());
        let expected = lines.get(&(event.label(), event.schema())).map(|bytes| hex(bytes));
        assert_eq!(Some(found), expected, "the stored bytes of {} v{}", event.label(), event.schema());
    }
}

#[test]
fn every_pinned_payload_reads_back() {
    let lines = pinned();
    for event in examples() {
        let bytes = &lines[&(event.label(), event.schema())];
        assert_eq!(Event::decode(event.label(), event.schema(), bytes).unwrap(), Some(event));
    }
    // A line outlives its schema and its label: what was once written is read for ever.
    for ((label, schema), bytes) in lines {
        let read = upcast::read(label, schema, &bytes).unwrap();
        assert!(!matches!(read, Body::Unknown(_)), "{label} v{schema} is not read any more");
    }
}

/// A kind that is not declared any more was pinned while it was.
#[test]
fn every_upcaster_has_a_pinned_line() {
    let lines = pinned();
    for upcast::Upcaster { from, .. } in UPCASTERS {
        assert!(lines.contains_key(from), "pinned/payloads.txt has no line of {from:?}");
    }
}

/// Fields that came later are written as they were pinned when they came; `pinned/grown.txt` has one line a kind.
#[test]
fn optional_fields_that_were_added_are_written_as_pinned() {
    let lines = include_str!("../../pinned/grown.txt");
    let line = |event: &Event| format!("{} {} {}", event.label(), event.schema(), hex(&event.encode()));
    let found: BTreeSet<String> = grown().iter().map(line).collect();
    let lines: BTreeSet<String> = lines.lines().map(str::to_owned).collect();
    let missing: Vec<&String> = found.difference(&lines).collect();
    assert!(missing.is_empty(), "pinned/grown.txt lacks: {missing:#?}");
    assert_eq!(lines.difference(&found).next(), None, "a line of pinned/grown.txt has no example");
    for event in grown() {
        assert_eq!(Event::decode(event.label(), event.schema(), &event.encode()).unwrap(), Some(event.clone()));
        assert_eq!(Event::from_json(event.label(), event.schema(), event.to_json()).unwrap(), Some(event));
    }
}

#[test]
fn json_says_the_same_as_the_stored_bytes() {
    for event in examples() {
        let read = Event::from_json(event.label(), event.schema(), event.to_json()).unwrap();
        assert_eq!(read, Some(event));
    }
}

#[test]
fn a_kind_or_schema_that_is_not_known_is_no_error() {
    let bytes = CredentialRemoved { name: "weather".to_owned() };
    let bytes = Event::from(bytes).encode();
    assert_eq!(Event::decode("kettle_boiled", 1, &bytes).unwrap(), None);
    assert_eq!(Event::decode("credential_removed", 2, &bytes).unwrap(), None);
}

#[test]
fn bytes_behind_a_payload_are_an_error() {
    for event in examples() {
        let mut bytes = event.encode();
        bytes.push(0xc0);
        let found = Event::decode(event.label(), event.schema(), &bytes);
        assert!(matches!(found, Err(DecodeError::Trailing { extra: 1, .. })), "{}: {found:?}", event.label());
    }
}

/// Whatever they are: whole values, pieces of one, or nonsense.
#[test]
fn any_bytes_behind_a_payload_are_an_error() {
    let event = examples().remove(0);
    for first in 0..=u8::MAX {
        for behind in
            [vec![first], vec![first, first], vec![first, 0xc0, 0xc0, 0xc0], [vec![first], vec![0x91; 40]].concat()]
        {
            let bytes = [event.encode(), behind.clone()].concat();
            let found = Event::decode(event.label(), event.schema(), &bytes);
            let counted = matches!(found, Err(DecodeError::Trailing { extra, .. }) if extra == behind.len() as u64);
            assert!(counted, "{behind:x?}: {found:?}");
        }
    }
}

#[test]
fn a_payload_cut_short_is_an_error() {
    for event in examples() {
        let bytes = event.encode();
        for length in 0..bytes.len() {
            let found = Event::decode(event.label(), event.schema(), &bytes[..length]);
            assert!(matches!(found, Err(DecodeError::Payload { .. })), "{} cut at {length}", event.label());
        }
    }
}

/// A field that is not there is an error, or it was optional and reads as absent.
#[test]
fn a_missing_field_is_an_error_or_reads_as_absent() {
    for event in examples() {
        let pairs = map(&event);
        let mut demanded = 0;
        for index in 0..pairs.len() {
            let mut fewer = pairs.clone();
            let (key, _) = fewer.remove(index);
            match Event::decode(event.label(), event.schema(), &bytes_of(&fewer)) {
                Err(DecodeError::Payload { .. }) => demanded += 1,
                Ok(Some(read)) => {
                    let value = map(&read).into_iter().find(|(name, _)| *name == key).map(|(_, value)| value);
                    assert!(
                        matches!(value, None | Some(Value::Nil)),
                        "{} reads without {key} as {value:?}",
                        event.label()
                    );
                }
                other => panic!("{} without {key}: {other:?}", event.label()),
            }
        }
        assert!(demanded > 0, "{} demands no field", event.label());
    }
}

#[test]
fn a_field_of_a_later_program_is_passed_over() {
    for event in examples() {
        let mut pairs = map(&event);
        pairs.push((Value::from("colour"), Value::from("green")));
        assert_eq!(Event::decode(event.label(), event.schema(), &bytes_of(&pairs)).unwrap(), Some(event));
    }
}

/// The array form of rmp-serde would read a field in another's place; the named form does not.
#[test]
fn a_payload_is_never_an_array() {
    for event in examples() {
        let values = map(&event).into_iter().map(|(_, value)| value).collect();
        let mut bytes = Vec::new();
        rmpv::encode::write_value(&mut bytes, &Value::Array(values)).unwrap();
        assert_ne!(event.encode(), bytes, "{}", event.label());
        assert!(matches!(event.encode()[0], 0x80..=0x8f | 0xde), "{}: no map", event.label());
    }
}

/// `InstanceCreated` as a later program might declare it: with one more optional field.
#[derive(Serialize, Deserialize)]
struct LaterInstanceCreated {
    log_id: String,
    version: String,
    public_key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nickname: Option<String>,
}

#[test]
fn an_added_optional_field_keeps_old_and_new_programs_reading() {
    let old = &pinned()[&("instance_created", 1)];
    let later: LaterInstanceCreated = strict("instance_created", 1, old).unwrap();
    assert_eq!((later.version.as_str(), later.nickname.as_deref()), ("0.1.0", None));
    assert_eq!(&rmp_serde::to_vec_named(&later).unwrap(), old, "an absent field leaves no byte");
    let named = rmp_serde::to_vec_named(&LaterInstanceCreated { nickname: Some("attic".to_owned()), ..later }).unwrap();
    let now: InstanceCreated = strict("instance_created", 1, &named).unwrap();
    assert_eq!(now.version, "0.1.0");
}

mod properties {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::turn::{TurnClosed, VerdictGiven};
    use super::super::*;
    use crate::canonical::Json;
    use crate::event::instance::ConfigurationChanged;

    fn check(event: &Event) -> Result<(), TestCaseError> {
        let bytes = event.encode();
        let read = Event::decode(event.label(), event.schema(), &bytes).unwrap().unwrap();
        prop_assert_eq!(&read, event);
        prop_assert_eq!(read.encode(), bytes);
        Ok(())
    }

    proptest! {
        #[test]
        fn decoding_what_was_encoded_changes_nothing(
            text in ".*",
            lines in prop::collection::vec(".*", 0..5),
            counts in prop::collection::btree_map(".*", any::<u64>(), 0..5),
            (step, score_permille) in any::<(u32, u16)>(),
            (float, whole) in any::<(f64, i64)>(),
            class in prop::option::of(".*"),
        ) {
            check(&TurnClosed { final_kind: text.clone(), class: class.clone(), message: Kept::text(text.clone()), counts }.into())?;
            check(&VerdictGiven {
                step,
                about: text.clone(),
                approved: step % 2 == 0,
                policy: text.clone(),
                score_permille,
                blocked_by: class,
                judge_kind: text.clone(),
                reasons: lines.clone(),
            }.into())?;
            let new = Json(json!({ text.clone(): lines, "f": float, "i": whole }));
            check(&ConfigurationChanged { key: text, old: None, new }.into())?;
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            for (label, schema) in Event::KINDS {
                drop(Event::decode(label, *schema, &bytes));
            }
        }
    }
}
