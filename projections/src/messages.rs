//! User-facing texts by key and language, from `prompts/<lang>/messages.toml`.
//!
//! Texts are minijinja templates; a missing key or variable is an error that a test finds, never a blank before a person.

use std::collections::BTreeMap;

use minijinja::{Environment, UndefinedBehavior};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::presented::visible;

/// A language that Metnos speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// English.
    #[default]
    En,
    /// Italian.
    It,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 2] = [Self::En, Self::It];

    /// The two-letter code.
    pub fn code(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::It => "it",
        }
    }

    /// Reads a two-letter code, or a locale's name (`it_IT.UTF-8`).
    pub fn parse(text: &str) -> Option<Self> {
        match text.get(..2)?.to_ascii_lowercase().as_str() {
            "en" => Some(Self::En),
            "it" => Some(Self::It),
            _ => None,
        }
    }
}

/// Why the message data cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum MessagesError {
    /// Not TOML, or not a table of tables of strings.
    #[error("prompts/{language}/messages.toml: {source}")]
    Syntax {
        /// The language's code.
        language: &'static str,
        /// What is wrong, with line and column.
        #[source]
        source: Box<toml::de::Error>,
    },
}

/// All texts, by language and `section.key`.
#[derive(Clone, Debug)]
pub struct Messages {
    texts: BTreeMap<Language, BTreeMap<String, String>>,
}

impl Messages {
    /// The texts that this binary was built with.
    pub fn embedded() -> Self {
        Self::parse(include_str!("../../prompts/en/messages.toml"), include_str!("../../prompts/it/messages.toml"))
            .expect("the embedded texts are parsed by a test")
    }

    /// Reads the two files' texts.
    pub fn parse(en: &str, it: &str) -> Result<Self, MessagesError> {
        let mut texts = BTreeMap::new();
        for (language, source) in [(Language::En, en), (Language::It, it)] {
            let sections: BTreeMap<String, BTreeMap<String, String>> = toml::from_str(source)
                .map_err(|source| MessagesError::Syntax { language: language.code(), source: Box::new(source) })?;
            let flat = sections.into_iter().flat_map(|(section, keys)| {
                keys.into_iter().map(move |(key, text)| (format!("{section}.{key}"), text))
            });
            texts.insert(language, flat.collect());
        }
        Ok(Self { texts })
    }

    /// The keys of one language.
    pub fn keys(&self, language: Language) -> Vec<&str> {
        self.texts.get(&language).map(|texts| texts.keys().map(String::as_str).collect()).unwrap_or_default()
    }

    /// The text of `section.key`, filled in. A text that cannot be filled in is shown with its key, so that the
    /// person sees something and a test sees the fault.
    pub fn say(&self, language: Language, key: &str, values: impl Serialize) -> String {
        let Some(text) = self.texts.get(&language).and_then(|texts| texts.get(key)) else {
            return format!("[{key}]");
        };
        fill(text, on_one_line(values)).unwrap_or_else(|error| format!("[{key}: {error}]"))
    }
}

/// The values with each name of a file, folder or address on one line, whatever it holds.
fn on_one_line(values: impl Serialize) -> Value {
    const NAMES: [&str; 13] = [
        "path",
        "dst",
        "target",
        "targets",
        "place",
        "folder",
        "folders",
        "names",
        "detail",
        "arguments",
        "shown",
        "via",
        "addresses",
    ];
    let mut values = serde_json::to_value(values).unwrap_or_default();
    for name in NAMES {
        match values.get_mut(name) {
            Some(Value::String(text)) => *text = visible::name(text).into_owned(),
            Some(Value::Array(items)) => {
                for item in items.iter_mut().filter(|item| item.is_string()) {
                    *item = visible::name(item.as_str().unwrap_or_default()).into();
                }
            }
            _ => {}
        }
    }
    values
}

/// Fills a template in: strict about variables, bounded in work, no access to anything but `values`.
pub fn fill(template: &str, values: impl Serialize) -> Result<String, minijinja::Error> {
    environment().render_str(template, minijinja::value::Serde(values))
}

/// What every template is filled in by.
pub(crate) fn environment<'t>() -> Environment<'t> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(2_000_000));
    crate::presented::add_filters(&mut environment);
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_exists_in_every_language() {
        let messages = Messages::embedded();
        assert_eq!(messages.keys(Language::En), messages.keys(Language::It));
    }
    /// Questions about changes named a filter that does not exist, and only whoever was asked in Italian saw it.
    #[test]
    fn every_filter_that_a_text_uses_exists() {
        let messages = Messages::embedded();
        let filter = regex::Regex::new(r"\|\s*([a-z_]+)").unwrap();
        for text in messages.texts.values().flat_map(BTreeMap::values) {
            let expressions = text.split(['{', '}']).skip(1);
            for name in expressions.flat_map(|part| filter.captures_iter(part)).map(|found| found[1].to_owned()) {
                let used = fill(&format!("{{{{ 'x' | {name} }}}}"), serde_json::json!({}));
                let unknown = used.is_err_and(|error| error.kind() == minijinja::ErrorKind::UnknownFilter);
                assert!(!unknown, "«{name}» in: {text}");
            }
        }
    }

    /// What is not in a list is an error there, and no `or` comes after one: a span of turns of which one was erased had no text.
    #[test]
    fn what_a_list_does_not_have_is_given_by_default() {
        let messages = Messages::embedded();
        let lost = regex::Regex::new(r"\}\[[^\]]+\]\s+or\b").unwrap();
        for text in messages.texts.values().flat_map(BTreeMap::values) {
            assert!(!lost.is_match(text), "{text}");
        }
    }

    /// «1 events» was said wherever there was one of something, and «of 0 turns» where there was none.
    #[test]
    fn one_is_not_many() {
        let messages = Messages::embedded();
        let row = serde_json::json!({ "class": "other", "texts": 1, "days": 1 });
        let lists = serde_json::json!({
            "files": ["f"], "left": ["f"], "copies": ["f"], "closed": ["f"], "unread": ["f"], "elsewhere": ["f"], "runs": [[1, 1]], "lost_blobs": ["b"],
            "classes": [row], "kinds": {}, "staying": { "actor_added": 1 }, "spelling_words": ["w"], "apart": ["t"], "more_apart": 0, "closed_events": [1], "more_closed_events": 0, "file": "f", "folder": "f", "path": "p", "reason": "r", "backup": "b", "home": "h", "history": "h",
            "names": ["n"], "head": "0123456789abcdef", "more_spellings": 0, "log": "l", "key": "k", "name": "n",
        });
        let many = regex::Regex::new(
            r"(?x)\b1\ (signed\ |long\ |other\ |birth\ )?(events|turns|segments|blobs|payloads|lines|checkpoints|executors|tests|texts|
            copies|days|backups|results|tokens|cases|active\ are)\b | (^|[^d]\ )1\ [a-z]+\ (are|were|have|spell)\b | first\ 1\b | notes?\ 1\ of\ 1\b |
            \b1\ (eventi|turni|segmenti|contenuti|righe|punti|testi|giorni|aperti|attivi|cancellati|copie|esecutori|prove|lunghi|risultati|altri)\b |
            (^|[^e]\ )1\ [a-z]+\ (sono|erano|vengono)\b | primi\ 1\b",
        );
        let (many, variable) = (many.unwrap(), regex::Regex::new(r"\b[a-z_]+\b").unwrap());
        let sections = [
            "log.",
            "replay.",
            "audit.",
            "turns.",
            "notice.log_",
            "consent.erase",
            "error.anchor",
            "error.spelled",
            "status.body",
        ];
        for language in Language::ALL {
            let say = |key: &str, others: &serde_json::Value| {
                let text = &messages.texts[&language][key];
                let ones = variable.find_iter(text).map(|name| (name.as_str().to_owned(), 1.into()));
                let mut values: serde_json::Map<String, Value> = ones.collect();
                values.extend(
                    lists
                        .as_object()
                        .into_iter()
                        .chain(others.as_object())
                        .flatten()
                        .map(|(name, value)| (name.clone(), value.clone())),
                );
                let said = messages.say(language, key, values);
                assert!(!said.starts_with('['), "{said}");
                said
            };
            let counts = |key: &&str| sections.iter().any(|section| key.starts_with(section));
            for key in messages.keys(language).into_iter().filter(counts) {
                let said = say(key, &Value::Null);
                assert!(!many.is_match(&said), "{key}: {said}");
            }
            for key in ["consent.erase", "log.would_erase", "log.erased"] {
                let said = say(key, &serde_json::json!({ "turns": 0 }));
                assert!(!said.contains('0'), "{key}: {said}");
            }
        }
    }
}
