//! One canonical JSON text: keys sorted by bytes, no blanks, shortest numbers, only the escapes that JSON demands.
//!
//! Digests, comparisons and exports all go through it (design 1-architecture, invariant 6), whatever order a map had.

mod stream;

use std::fmt::{self, Write as _};

use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// The canonical text of a value.
pub fn to_string(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// The canonical text of anything that serialises. `None` when it cannot be JSON (a map with keys that are no text).
pub fn of(value: &impl Serialize) -> Option<String> {
    let mut writer = stream::Writer::default();
    value.serialize(&mut writer).ok()?;
    Some(writer.out)
}

/// The kind of a value, as JSON Schema names it.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(yes) => out.push_str(if *yes { "true" } else { "false" }),
        Value::Number(number) => write!(out, "{number}").expect("a text takes what is written to it"),
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut fields: Vec<(&String, &Value)> = map.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (index, (key, item)) in fields.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_text(key, out);
                out.push(':');
                write(item, out);
            }
            out.push('}');
        }
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    // What needs an escape is one byte in UTF-8, so the runs between can be copied whole.
    let (mut from, mut at) = (0, 0);
    while let Some(&byte) = text.as_bytes().get(at) {
        at += 1;
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[from..at - 1]);
        from = at;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            control => {
                out.push_str("\\u00");
                out.extend([u32::from(control) >> 4, u32::from(control) & 0xf].map(hex_digit));
            }
        }
    }
    out.push_str(&text[from..]);
    out.push('"');
}

fn hex_digit(nibble: u32) -> char {
    char::from_digit(nibble, 16).expect("four bits are one digit")
}

/// A JSON value that is stored as its canonical text, so that stored bytes do not depend on a map's order and hold no
/// binary float.
#[derive(Clone, Default, PartialEq)]
pub struct Json(pub Value);

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_string(&self.0))
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            self.0.serialize(serializer)
        } else {
            serializer.serialize_str(&to_string(&self.0))
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            Value::deserialize(deserializer).map(Self)
        } else {
            deserializer.deserialize_str(CanonicalText)
        }
    }
}

/// Reads the stored text where it lies, without a copy of its own.
struct CanonicalText;

impl Visitor<'_> for CanonicalText {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON text")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Json, E> {
        serde_json::from_str(text).map(Json).map_err(E::custom)
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self(value)
    }
}

/// The same, kept as its canonical text in memory too: for values that are large and seldom looked into. Stored and
/// exported alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonText(String);

impl JsonText {
    /// The canonical text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The value.
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }

    /// The value as a type; `None` when it has another shape.
    pub fn parse<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(&self.0).ok()
    }
}

impl From<Value> for JsonText {
    fn from(value: Value) -> Self {
        Self(to_string(&value))
    }
}

impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            self.value().serialize(serializer)
        } else {
            serializer.serialize_str(&self.0)
        }
    }
}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Json::deserialize(deserializer).map(|json| json.0.into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sorted_and_controls_escaped() {
        let value = json!({"b": [1, 2.5, null], "a": "x\u{1}\n\"é"});
        assert_eq!(to_string(&value), "{\"a\":\"x\\u0001\\n\\\"é\",\"b\":[1,2.5,null]}");
    }

    proptest! {
        #[test]
        fn the_canonical_text_reads_back(text in ".*", number in any::<f64>(), whole in any::<i64>()) {
            let value = json!({ "t": text, "n": number, "w": [whole] });
            prop_assert_eq!(serde_json::from_str::<Value>(&to_string(&value)).unwrap(), value);
        }
    }
}
