//! The executors that a plan may use, indexed once per catalog version by name grammar, words and templates.
//!
//! It reads manifests and input schemas only; no executor is known here by name.

use std::collections::BTreeMap;

use serde_json::Value;

use super::template::Template;
use super::words::{cut, stem};
use crate::manifest::{Manifest, Role};
use crate::rules::prefilter::{Index, Offered};

/// An executor as the engine sees it.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The manifest.
    pub manifest: Manifest,
    /// `definitions.Input` of its schema.
    pub input: Value,
}

/// A sentence template, parsed.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    /// As the manifest has it.
    pub(crate) text: String,
    pub(crate) template: Template,
    pub(crate) set: BTreeMap<String, Value>,
}

/// What is looked up about an executor.
#[derive(Clone, Debug)]
pub(crate) struct Indexed {
    pub(crate) tool: Tool,
    pub(crate) verb: String,
    pub(crate) object: String,
    pub(crate) qualifier: String,
    /// Stems of each affinity word or phrase.
    pub(crate) affinity: Vec<Vec<String>>,
    pub(crate) said: Vec<Said>,
}

/// The catalog that a sentence is planned over.
#[derive(Clone, Debug)]
pub struct Tools {
    indexed: Vec<Indexed>,
    by_name: BTreeMap<String, usize>,
    prefilter: Index,
    catalog_digest: String,
}

impl Tools {
    /// Indexes executors, which are those of the catalog with that digest.
    pub fn new(tools: Vec<Tool>, catalog_digest: String) -> Self {
        let mut indexed: Vec<Indexed> = tools.into_iter().map(Indexed::new).collect();
        indexed.sort_by(|a, b| a.name().cmp(b.name()));
        let by_name = indexed.iter().enumerate().map(|(i, t)| (t.name().to_owned(), i)).collect();
        let prefilter = prefilter(&indexed);
        Self { indexed, by_name, prefilter, catalog_digest }
    }

    /// The digest of the catalog that this is the index of.
    pub fn catalog_digest(&self) -> &str {
        &self.catalog_digest
    }

    /// The pre-filter over this catalog.
    pub fn prefilter(&self) -> &Index {
        &self.prefilter
    }

    /// An executor by its name.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.indexed(name).map(|i| &i.tool)
    }

    pub(crate) fn indexed(&self, name: &str) -> Option<&Indexed> {
        self.by_name.get(name).map(|&i| &self.indexed[i])
    }

    pub(crate) fn all(&self) -> &[Indexed] {
        &self.indexed
    }

    /// The executor of that verb and object; the one without qualifier, or else with the qualifier that was said.
    pub(crate) fn by_grammar(&self, verb: &str, object: &str) -> Option<&Indexed> {
        let (object, qualifier) = object.split_once('_').unwrap_or((object, ""));
        self.indexed.iter().find(|t| t.verb == verb && t.object == object && t.qualifier == qualifier)
    }
}

/// Indexes what manifests say about their executors, in both languages. What asks a person is no answer to any words: a
/// model has it at hand always.
fn prefilter(tools: &[Indexed]) -> Index {
    let asks = |tool: &&Indexed| tool.tool.manifest.capabilities.iter().any(|used| used.name == "dialog:input");
    let tools: Vec<&Indexed> = tools.iter().filter(|tool| !asks(tool)).collect();
    let described = |tool: &Indexed| {
        let description = &tool.tool.manifest.description;
        format!("{} {}", description.en, description.it)
    };
    let descriptions: Vec<String> = tools.iter().copied().map(described).collect();
    Index::new(tools.iter().zip(&descriptions).map(|(tool, description)| Offered {
        name: tool.name(),
        description,
        affinity: &tool.tool.manifest.executor.affinity,
        args: &tool.tool.input,
    }))
}

impl Indexed {
    fn new(tool: Tool) -> Self {
        let mut parts = tool.manifest.executor.name.splitn(3, '_').map(str::to_owned);
        let mut next = || parts.next().unwrap_or_default();
        let (verb, object, qualifier) = (next(), next(), next());
        let affinity = tool.manifest.executor.affinity.iter().map(|a| stems(a)).filter(|s| !s.is_empty()).collect();
        let sentences = &tool.manifest.sentences;
        let said = sentences.en.iter().chain(&sentences.it).filter_map(|s| {
            Some(Said { text: s.text.clone(), template: Template::parse(&s.text).ok()?, set: s.set.clone() })
        });
        let said = said.collect();
        Self { tool, verb, object, qualifier, affinity, said }
    }

    pub(crate) fn name(&self) -> &str {
        &self.tool.manifest.executor.name
    }

    /// It came with Metnos.
    pub(crate) fn is_seed(&self) -> bool {
        self.tool.manifest.executor.created_by == "seed"
    }

    /// Somebody added it to this instance.
    pub(crate) fn is_added(&self) -> bool {
        let by = &self.tool.manifest.executor.created_by;
        by == "owner" || by.starts_with("synt:")
    }

    /// The first of its own sentences that may begin with a word.
    pub(crate) fn begins_with(&self, folded: &str) -> Option<&Said> {
        self.said.iter().find(|said| said.template.firsts().contains(&folded))
    }

    /// It changes something.
    pub(crate) fn acts(&self) -> bool {
        self.tool.manifest.contract.side_effects
    }

    pub(crate) fn role(&self, argument: &str) -> Option<Role> {
        self.tool.manifest.arguments.get(argument).map(|a| a.role)
    }

    /// The arguments of that role that the schema knows, in the order of their names.
    pub(crate) fn with_role(&self, role: Role) -> impl Iterator<Item = &str> {
        let of_role = self.tool.manifest.arguments.iter().filter(move |(_, a)| a.role == role);
        of_role.map(|(name, _)| name.as_str()).filter(|name| self.has(name))
    }

    pub(crate) fn has(&self, argument: &str) -> bool {
        self.property(argument).is_some()
    }

    fn property(&self, argument: &str) -> Option<&Value> {
        self.tool.input.get("properties")?.get(argument)
    }

    fn has_type(&self, argument: &str, name: &str) -> bool {
        let Some(property) = self.property(argument) else { return false };
        let choices = ["anyOf", "oneOf"].into_iter().filter_map(|key| property.get(key)?.as_array()).flatten();
        choices.chain([property]).any(|schema| Self::is_type(schema, name))
    }

    fn is_type(schema: &Value, name: &str) -> bool {
        match schema.get("type") {
            Some(Value::String(kind)) => kind == name,
            Some(Value::Array(kinds)) => kinds.iter().any(|k| k == name),
            _ => false,
        }
    }

    pub(crate) fn is_list(&self, argument: &str) -> bool {
        self.has_type(argument, "array")
    }

    /// Whether the schema lets `argument` have `value`, by type and closed list.
    pub(crate) fn accepts(&self, argument: &str, value: &Value) -> bool {
        let Some(property) = self.property(argument) else { return false };
        if let Some(choices) = property.get("enum").and_then(Value::as_array) {
            return choices.contains(value);
        }
        if property.get("type").is_none() {
            return true;
        }
        let name = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(n) if n.is_f64() => "number",
            Value::Number(_) => return self.has_type(argument, "integer") || self.has_type(argument, "number"),
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        self.has_type(argument, name)
    }

    /// Required arguments that `args` lacks. A list of entries may come as `from_step`; of the alternatives of an
    /// `anyOf` or `oneOf` the first counts when none is met.
    pub(crate) fn missing(&self, args: &serde_json::Map<String, Value>) -> Vec<String> {
        let has = |name: &str| args.contains_key(name) || (name == "entries" && args.contains_key("from_step"));
        let lacks = |schema: &Value| -> Vec<String> {
            let required = schema.get("required").and_then(Value::as_array);
            required.into_iter().flatten().filter_map(Value::as_str).filter(|n| !has(n)).map(str::to_owned).collect()
        };
        let mut missing = lacks(&self.tool.input);
        for key in ["anyOf", "oneOf"] {
            let alternatives = self.tool.input.get(key).and_then(Value::as_array);
            let lacking: Vec<Vec<String>> = alternatives.into_iter().flatten().map(lacks).collect();
            if !lacking.iter().any(Vec::is_empty) {
                missing.extend(lacking.into_iter().next().unwrap_or_default());
            }
        }
        missing
    }

    /// Readers of one thing give `content`; a filter over text too.
    pub(crate) fn gives_content(&self) -> bool {
        let reads = matches!(self.verb.as_str(), "read" | "get" | "extract") && !self.lists();
        reads || (self.verb == "filter" && self.object == "texts")
    }

    /// Producers give `entries`; a reader does when it was given several.
    pub(crate) fn gives_entries(&self) -> bool {
        let emits =
            ["find", "list", "filter", "sort", "group", "extract", "classify", "compare"].contains(&self.verb.as_str());
        emits || self.lists()
    }

    /// What it reads or gets is a list: rows of a table, processes, data of files.
    fn lists(&self) -> bool {
        (self.verb == "read" && self.qualifier == "csv")
            || (self.verb == "get" && matches!(self.object.as_str(), "processes" | "files"))
    }

    /// Whether the executor's own words hold this one.
    pub(crate) fn speaks_of(&self, folded: &str) -> bool {
        let word = stem(folded);
        self.affinity.iter().any(|phrase| phrase.iter().any(|w| w == word))
    }
}

/// The stems of a text's words.
pub(crate) fn stems(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    cut(text, 0, text.len(), &[], &mut words);
    words.into_iter().filter(|w| !w.punctuation).map(|w| stem(&w.folded).to_owned()).collect()
}
