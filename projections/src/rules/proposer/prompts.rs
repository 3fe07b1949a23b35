//! The prompts: one minijinja template a role and language, strict about its variables, with a header that names them.

use std::collections::BTreeMap;

use minijinja::{Environment, UndefinedBehavior};
use serde::Deserialize;
use serde_json::Value;

use crate::messages::Language;

/// What the proposer's prompt is filled in with.
pub const PROPOSER_INPUTS: [&str; 4] = ["folder", "home", "now", "zone"];

/// Why a prompt cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// It does not begin with a comment that is its header.
    #[error("prompts/{language}/proposer.j2 does not begin with {{#- … -#}}")]
    NoHeader {
        /// The language's code.
        language: &'static str,
    },
    /// The header is no TOML, or not that of a prompt.
    #[error("the header of prompts/{language}/proposer.j2: {source}")]
    Header {
        /// The language's code.
        language: &'static str,
        /// What is wrong.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// The template cannot be filled in with just what its header names.
    #[error("prompts/{language}/proposer.j2: {source}")]
    Template {
        /// The language's code.
        language: &'static str,
        /// What is wrong.
        #[source]
        source: Box<minijinja::Error>,
    },
    /// The header names other inputs than the code gives.
    #[error("prompts/{language}/proposer.j2 names the inputs {named:?}; there are {given:?}")]
    Inputs {
        /// The language's code.
        language: &'static str,
        /// What the header names.
        named: Vec<String>,
        /// What the code gives.
        given: Vec<&'static str>,
    },
}

/// What a prompt says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// What the model is asked as.
    pub role: String,
    /// Counts its changes.
    pub version: u32,
    /// The variables that it needs.
    pub inputs: Vec<String>,
}

/// One template.
#[derive(Clone, Debug)]
struct Prompt {
    text: String,
    digest: String,
}

/// The proposer's prompt in every language.
#[derive(Clone, Debug)]
pub struct Prompts {
    proposer: BTreeMap<Language, Prompt>,
}

impl Prompts {
    /// The prompts that this binary was built with.
    pub fn embedded() -> Self {
        let (en, it) =
            (include_str!("../../../../prompts/en/proposer.j2"), include_str!("../../../../prompts/it/proposer.j2"));
        Self::parse(en, it).expect("the embedded prompts are parsed by a test")
    }

    /// Reads the proposer's prompt in both languages.
    pub fn parse(en: &str, it: &str) -> Result<Self, PromptError> {
        let mut proposer = BTreeMap::new();
        for (language, text) in [(Language::En, en), (Language::It, it)] {
            check(language.code(), text)?;
            let digest = blake3::hash(text.as_bytes()).to_hex()[..32].to_owned();
            proposer.insert(language, Prompt { text: text.to_owned(), digest });
        }
        Ok(Self { proposer })
    }

    /// The proposer's prompt, filled in, and the hash of its template.
    pub fn proposer(&self, language: Language, values: &Value) -> (String, String) {
        let prompt = self.proposer.get(&language).expect("every language is there");
        let text = fill(&prompt.text, values).unwrap_or_else(|error| format!("[{error}]"));
        (text, prompt.digest.clone())
    }
}

/// The header of a template.
pub fn header(language: &'static str, text: &str) -> Result<Header, PromptError> {
    let inside = text.strip_prefix("{#-").and_then(|rest| rest.split_once("-#}"));
    let (inside, _) = inside.ok_or(PromptError::NoHeader { language })?;
    toml::from_str(inside).map_err(|source| PromptError::Header { language, source: Box::new(source) })
}

fn check(language: &'static str, text: &str) -> Result<(), PromptError> {
    let header = header(language, text)?;
    if header.inputs != PROPOSER_INPUTS {
        return Err(PromptError::Inputs { language, named: header.inputs, given: PROPOSER_INPUTS.to_vec() });
    }
    let values: Value = PROPOSER_INPUTS.iter().map(|name| ((*name).to_owned(), Value::from("x"))).collect();
    let filled = fill(text, &values).map(|_| ());
    filled.map_err(|source| PromptError::Template { language, source: Box::new(source) })
}

fn fill(template: &str, values: &Value) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(2_000_000));
    environment.render_str(template, minijinja::value::Serde(values)).map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "{#-\nrole = \"proposer\"\nversion = 1\ninputs = [\"folder\", \"home\", \"now\", \"zone\"]\n-#}\n\
        {{ now }} {{ zone }} {{ home }} {{ folder }}";

    #[test]
    fn the_embedded_prompts_name_each_of_their_inputs() {
        for (code, text) in [
            ("en", include_str!("../../../../prompts/en/proposer.j2")),
            ("it", include_str!("../../../../prompts/it/proposer.j2")),
        ] {
            check(code, text).unwrap();
            for name in PROPOSER_INPUTS {
                let without: Value = PROPOSER_INPUTS
                    .iter()
                    .filter(|other| **other != name)
                    .map(|n| ((*n).to_owned(), Value::from("x")))
                    .collect();
                assert!(fill(text, &without).is_err(), "{code}: {name} is named and not used");
            }
            // References are the model's to write: the template must not take them for its own.
            let values: Value = PROPOSER_INPUTS.iter().map(|n| ((*n).to_owned(), Value::from("x"))).collect();
            assert!(fill(text, &values).unwrap().contains("{{stepN.field}}"), "{code}");
        }
        Prompts::embedded();
    }

    #[test]
    fn a_prompt_that_the_code_cannot_fill_in_is_refused() {
        assert!(Prompts::parse(GOOD, GOOD).is_ok());
        let refused = |text: &str| Prompts::parse(text, GOOD).is_err();
        assert!(refused("{{ now }}"));
        assert!(refused(&GOOD.replace("{{ zone }}", "{{ zome }}")));
        assert!(refused(&GOOD.replace(", \"zone\"", "")));
        assert!(refused(&GOOD.replace("version = 1", "version = 1\nmood = 2")));
        assert!(refused(&GOOD.replace("{{ zone }}", "{{ zone")));
    }
}
