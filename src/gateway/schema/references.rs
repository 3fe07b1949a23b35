//! How often the references of a schema multiply. It comes with an executor, and every value is held against it outside of any
//! cage: thirty definitions that name the next one twice are a thousand million parts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The most parts that one value may be held against, references followed.
const PARTS_MAX: u64 = 20_000;
/// How often one reference may lead to the next.
const DEPTH_MAX: usize = 64;
/// The most references of a schema, so that it is looked through in a moment.
const REFERENCES_MAX: usize = 1000;
/// What names a part by another way than where it is, so that nobody sees where it leads before it is followed.
const NAMES: [&str; 6] = ["$anchor", "$dynamicAnchor", "$dynamicRef", "$id", "$recursiveAnchor", "$recursiveRef"];
/// The only rules by which a schema is read; to name others is to refer to a file elsewhere.
const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Why a schema is refused: its references lead elsewhere, multiply, or go round in more than one way.
pub(super) fn refuse_growth(schema: &Value) -> Result<(), String> {
    let mut references = References { schema, seen: BTreeMap::new(), count: 0 };
    let whole = references.look("#", 0)?;
    if whole.parts > PARTS_MAX {
        return Err(format!("its references multiply to more than {PARTS_MAX} parts"));
    }
    for (from, part) in &references.seen {
        // Twice into the same circle is twice as many parts each time round; once is what a tree needs.
        if part.to.iter().filter(|to| references.reaches(to, from)).count() > 1 {
            return Err(format!(
                "«{from}» refers to itself in more than one way, so that what it holds would multiply"
            ));
        }
    }
    Ok(())
}

struct References<'s> {
    schema: &'s Value,
    /// Each part that is referred to.
    seen: BTreeMap<&'s str, Part<'s>>,
    count: usize,
}

/// A part that is referred to.
#[derive(Clone, Default)]
struct Part<'s> {
    /// Where its references lead.
    to: Vec<&'s str>,
    /// How many parts it has with all that is led to; what goes round is counted once.
    parts: u64,
    /// How often one reference leads to the next from here.
    depth: usize,
}

impl<'s> References<'s> {
    /// Takes in a part, so many references away from the whole, and all that it leads to.
    fn look(&mut self, at: &'s str, away: usize) -> Result<Part<'s>, String> {
        if let Some(known) = self.seen.get(at) {
            return Ok(known.clone());
        }
        let too_deep = || format!("its references lead on from one to the next more than {DEPTH_MAX} times");
        if away > DEPTH_MAX {
            return Err(too_deep());
        }
        let mut part = self.alone(at)?;
        self.count += part.to.len();
        if self.count > REFERENCES_MAX {
            return Err(format!("it has more than {REFERENCES_MAX} references"));
        }
        // Whoever leads back to it while it is looked at finds it here.
        self.seen.insert(at, Part::default());
        for to in part.to.clone() {
            let next = self.look(to, away + 1)?;
            part.parts = part.parts.saturating_add(next.parts);
            part.depth = part.depth.max(next.depth + 1);
        }
        // By whatever way it was come to first.
        if part.depth > DEPTH_MAX {
            return Err(too_deep());
        }
        self.seen.insert(at, part.clone());
        Ok(part)
    }

    /// A part without what its references lead to.
    fn alone(&self, at: &'s str) -> Result<Part<'s>, String> {
        let pointer =
            at.strip_prefix('#').ok_or_else(|| format!("it refers to «{at}», and a schema is all in its own file"))?;
        let own = self.schema.pointer(pointer).ok_or_else(|| format!("it refers to «{at}», which is not there"))?;
        let (mut part, mut left) = (Part::default(), vec![own]);
        while let Some(value) = left.pop() {
            part.parts += 1;
            match value {
                Value::Object(fields) => {
                    if let Some(name) = NAMES.iter().find(|name| fields.contains_key(**name)) {
                        return Err(format!("it says «{name}»: refer to «#/definitions/…»"));
                    }
                    if let Some(draft) = fields.get("$schema").and_then(Value::as_str)
                        && draft.trim_end_matches('#') != DRAFT
                    {
                        return Err(format!("its «$schema» is {draft}, and it is read by {DRAFT}"));
                    }
                    part.to.extend(fields.get("$ref").and_then(Value::as_str));
                    // The whole holds its definitions, and is held against those that it refers to.
                    let is_held = |name: &str| at != "#" || name != "definitions";
                    left.extend(fields.iter().filter(|(name, _)| is_held(name)).map(|(_, value)| value));
                }
                Value::Array(values) => left.extend(values),
                _ => {}
            }
        }
        Ok(part)
    }

    /// Whether one part leads to another.
    fn reaches(&self, from: &'s str, to: &str) -> bool {
        let (mut met, mut left) = (BTreeSet::new(), vec![from]);
        while let Some(at) = left.pop() {
            if at == to {
                return true;
            }
            if met.insert(at) {
                left.extend(self.seen.get(at).into_iter().flat_map(|part| &part.to));
            }
        }
        false
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

    /// A chain of which every fiftieth part is named beside the first, the last of them first.
    fn from_the_end(length: usize) -> Value {
        let mut definitions = chain(length, 1);
        let named = (1..length).rev().step_by(50).map(|number| json!({ "$ref": format!("#/definitions/d{number}") }));
        definitions["first"] =
            json!({ "anyOf": named.chain([json!({ "$ref": "#/definitions/d1" })]).collect::<Vec<_>>() });
        definitions
    }

    #[test]
    fn references_that_multiply_are_refused() {
        for (definitions, says) in [
            (chain(30, 2), "more than 20000 parts"),
            (chain(14, 2), "more than 20000 parts"),
            (chain(200, 1), "more than 64 times"),
            // Also where its parts are named from the end on.
            (from_the_end(200), "more than 64 times"),
            (
                json!({ "first": { "allOf": vec![json!({ "$ref": "#/definitions/b" }); 2000] }, "b": {} }),
                "more than 1000",
            ),
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
            (json!({ "first": { "$id": "https://127.0.0.1/x", "type": "object" } }), "$id"),
            (json!({ "first": { "$schema": "http://127.0.0.1/meta" } }), "is read by"),
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
