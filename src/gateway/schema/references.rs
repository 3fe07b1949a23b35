//! How often the references of a schema multiply. It comes with an executor, and every value is held against it outside of any
//! cage: thirty definitions that name the next one twice are a thousand million parts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The most parts that one value may be held against, references followed.
const PARTS_MAX: u64 = 20_000;
/// How often one reference may lead to the next.
const DEPTH_MAX: usize = 64;
/// What names a part by another way than where it is, so that nobody sees where it leads before it is followed.
const NAMES: [&str; 5] = ["$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef"];

/// Why a schema is refused: its references lead elsewhere, multiply, or go round in more than one way.
pub(super) fn refuse_growth(schema: &Value) -> Result<(), String> {
    let mut references = References { schema, leads: BTreeMap::new() };
    references.look("#", &mut Vec::new())?;
    for (from, (_, to)) in &references.leads {
        // Twice into the same circle is twice as many parts each time round; once is what a tree needs.
        if to.iter().filter(|to| references.reaches(to, from)).count() > 1 {
            return Err(format!(
                "«{from}» refers to itself in more than one way, so that what it holds would multiply"
            ));
        }
    }
    let parts = references.parts("#", &mut BTreeMap::new());
    if parts > PARTS_MAX {
        return Err(format!("its references multiply to more than {PARTS_MAX} parts"));
    }
    Ok(())
}

struct References<'s> {
    schema: &'s Value,
    /// Of each part that is referred to: how many parts it has itself, and where its references lead.
    leads: BTreeMap<&'s str, (u64, Vec<&'s str>)>,
}

impl<'s> References<'s> {
    /// Takes in a part and all that it leads to.
    fn look(&mut self, at: &'s str, open: &mut Vec<&'s str>) -> Result<(), String> {
        if self.leads.contains_key(at) {
            return Ok(());
        }
        if open.len() >= DEPTH_MAX {
            return Err(format!("its references lead on from one to the next more than {DEPTH_MAX} times"));
        }
        let pointer =
            at.strip_prefix('#').ok_or_else(|| format!("it refers to «{at}», and a schema is all in its own file"))?;
        let part = self.schema.pointer(pointer).ok_or_else(|| format!("it refers to «{at}», which is not there"))?;
        let (mut parts, mut to, mut left) = (0, Vec::new(), vec![part]);
        while let Some(value) = left.pop() {
            parts += 1;
            match value {
                Value::Object(fields) => {
                    if let Some(name) = NAMES.iter().find(|name| fields.contains_key(**name)) {
                        return Err(format!("it says «{name}»: refer to «#/definitions/…»"));
                    }
                    to.extend(fields.get("$ref").and_then(Value::as_str));
                    // The whole holds its definitions, and is held against those that it refers to.
                    left.extend(
                        fields.iter().filter(|(name, _)| at != "#" || *name != "definitions").map(|(_, value)| value),
                    );
                }
                Value::Array(values) => left.extend(values),
                _ => {}
            }
        }
        self.leads.insert(at, (parts, to.clone()));
        open.push(at);
        for at in to {
            self.look(at, open)?;
        }
        open.pop();
        Ok(())
    }

    /// Whether one part leads to another.
    fn reaches(&self, from: &'s str, to: &str) -> bool {
        let (mut seen, mut left) = (BTreeSet::new(), vec![from]);
        while let Some(at) = left.pop() {
            if at == to {
                return true;
            }
            if seen.insert(at) {
                left.extend(self.leads.get(at).into_iter().flat_map(|(_, to)| to));
            }
        }
        false
    }

    /// How many parts there are with all that is led to; what goes round is counted once.
    fn parts(&self, at: &'s str, known: &mut BTreeMap<&'s str, u64>) -> u64 {
        if let Some(parts) = known.get(at) {
            return *parts;
        }
        let Some((own, to)) = self.leads.get(at) else { return 0 };
        known.insert(at, 0);
        let parts = to.iter().fold(*own, |parts, to| parts.saturating_add(self.parts(to, known)));
        known.insert(at, parts);
        parts
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(definitions: &Value) -> Result<(), String> {
        refuse_growth(&json!({ "$ref": "#/definitions/first", "definitions": definitions }))
    }

    /// So many definitions, each of which names the next one so often.
    fn chain(length: usize, times: usize) -> Value {
        let name = |number: usize| if number == 0 { "first".to_owned() } else { format!("d{number}") };
        let next = |number: usize| json!({ "$ref": format!("#/definitions/{}", name(number + 1)) });
        let mut definitions: serde_json::Map<String, Value> =
            (0..length).map(|number| (name(number), json!({ "allOf": vec![next(number); times] }))).collect();
        definitions.insert(name(length), json!({ "type": "object" }));
        definitions.into()
    }

    #[test]
    fn references_that_multiply_are_refused() {
        for (definitions, says) in [
            (chain(30, 2), "more than 20000 parts"),
            (chain(14, 2), "more than 20000 parts"),
            (chain(200, 1), "more than 64 times"),
            (
                json!({ "first": { "anyOf": [{ "$ref": "#/definitions/first" }, { "$ref": "#/definitions/first" }] } }),
                "more than one way",
            ),
            (
                json!({ "first": { "items": { "anyOf": [{ "$ref": "#/definitions/b" }, { "$ref": "#/definitions/b" }] } }, "b": { "not": { "$ref": "#/definitions/first" } } }),
                "more than one way",
            ),
            (json!({ "first": { "$ref": "https://127.0.0.1/x" } }), "in its own file"),
            (json!({ "first": { "$ref": "json-schema:///#/definitions/first" } }), "in its own file"),
            (json!({ "first": { "$ref": "#/definitions/other" } }), "is not there"),
            (json!({ "first": { "$ref": "#there" } }), "is not there"),
            (json!({ "first": { "$dynamicRef": "#/definitions/first" } }), "$dynamicRef"),
        ] {
            let refused = of(&definitions).expect_err(&definitions.to_string());
            assert!(refused.contains(says), "{definitions}: {refused}");
        }
    }

    #[test]
    fn what_a_schema_needs_is_there() {
        let entry = json!({ "$ref": "#/definitions/entry" });
        let tree = json!({ "type": "object", "properties": { "children": { "type": "array", "items": entry } } });
        let fields: serde_json::Map<String, Value> =
            (0..300).map(|number| (format!("f{number}"), entry.clone())).collect();
        for definitions in [
            chain(8, 2),
            chain(60, 1),
            json!({ "first": entry, "entry": tree }),
            json!({ "first": { "properties": fields }, "entry": { "type": "object", "properties": { "a": { "type": "string" } } } }),
        ] {
            assert_eq!(of(&definitions), Ok(()), "{definitions}");
        }
    }
}
