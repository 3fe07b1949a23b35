//! User-facing texts by key and language, from `prompts/<lang>/messages.toml`.
//!
//! Texts are minijinja templates; a missing key or variable is an error that a test finds, never a blank before a person.

use std::collections::BTreeMap;

use minijinja::{Environment, UndefinedBehavior};
use serde::{Deserialize, Serialize};

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
        fill(text, values).unwrap_or_else(|error| format!("[{key}: {error}]"))
    }
}

/// Fills a template in: strict about variables, bounded in work, no access to anything but `values`.
pub fn fill(template: &str, values: impl Serialize) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(2_000_000));
    environment.add_filter("size", size);
    environment.render_str(template, minijinja::value::Serde(values))
}

/// The filter `size`: bytes as a person reads them, `2100000|size` is «2.1 MB» and `2100000|size("it")` «2,1 MB».
#[expect(clippy::needless_pass_by_value, reason = "filters take their arguments by value")]
fn size(bytes: u64, language: Option<String>) -> String {
    let it = language.as_deref() == Some("it");
    if bytes < 1000 {
        return format!("{bytes} {}", if it || bytes == 1 { "byte" } else { "bytes" });
    }
    let mut unit = 1000_u128;
    let mut names = ["kB", "MB", "GB", "TB", "PB", "EB"].into_iter();
    let mut name = names.next().unwrap_or_default();
    // The next unit from where the rounded figure would be 1000.
    while (u128::from(bytes) * 10 + unit / 2) / unit >= 10_000
        && let Some(next) = names.next()
    {
        unit *= 1000;
        name = next;
    }
    let tenths = (u128::from(bytes) * 10 + unit / 2) / unit;
    let point = if it { ',' } else { '.' };
    match tenths % 10 {
        0 => format!("{} {name}", tenths / 10),
        part => format!("{}{point}{part} {name}", tenths / 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_by_people() {
        let said = |bytes: u64, language: &str| size(bytes, Some(language.to_owned()));
        assert_eq!((said(1, "en"), said(2, "en"), said(2, "it")), ("1 byte".into(), "2 bytes".into(), "2 byte".into()));
        assert_eq!((said(2_100_000, "en"), said(2_100_000, "it")), ("2.1 MB".into(), "2,1 MB".into()));
        assert_eq!((said(999_949, "en"), said(999_950, "en")), ("999.9 kB".into(), "1 MB".into()));
        assert_eq!(fill("{{ n | size }}", serde_json::json!({ "n": 5_000_000_000_u64 })).unwrap(), "5 GB");
    }

    #[test]
    fn every_key_exists_in_every_language() {
        let messages = Messages::embedded();
        assert_eq!(messages.keys(Language::En), messages.keys(Language::It));
    }
}
