//! Which models there are: a binding a tier, as `[runtime.llm.TIER]` of `metnos.toml` says. None is bound until one is
//! configured. No key stands here: a binding names a credential.

use std::collections::BTreeMap;

use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ConfigError, settings::Source};

/// The tiers, the one that proposes steps first, then those that stand in for it.
pub const TIERS: [&str; 4] = ["wise", "middle", "fast", "frontier"];
/// What a tier's table may hold, with what it means.
pub const FIELDS: [(&str, &str); 7] = [
    ("provider", "llamacpp or openai: which server speaks at base_url"),
    ("base_url", "where the server is, for example http://127.0.0.1:8080"),
    ("model", "the model's name, as the server knows it"),
    ("think", "true or false: whether it thinks before it answers"),
    ("max_tokens", "the most tokens of one answer"),
    ("timeout_s", "how long one answer may take, in seconds"),
    ("credential", "the name of the credential that holds the key"),
];
/// The tier that no request is sent to by itself.
const FRONTIER: &str = "frontier";
const MAX_TOKENS: u32 = 2048;
const TIMEOUT_S: u32 = 120;
const TURN_TIMEOUT_S: u32 = 600;

/// `[runtime]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Runtime {
    simple_first: Option<bool>,
    turn_timeout_s: Option<u32>,
    #[serde(default)]
    llm: BTreeMap<String, Table>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    provider: Option<String>,
    base_url: Option<String>,
    model: Option<String>,
    think: Option<bool>,
    max_tokens: Option<u32>,
    timeout_s: Option<u32>,
    credential: Option<String>,
}

/// A model that is bound to a tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Binding {
    /// The tier.
    pub tier: &'static str,
    /// `llamacpp` or `openai`.
    pub provider: String,
    /// Where the server is; no path behind it but its prefix.
    pub base_url: String,
    /// The model's name.
    pub model: String,
    /// Whether it thinks first; as it likes when absent.
    pub think: Option<bool>,
    /// The most tokens of one answer.
    pub max_tokens: u32,
    /// How long one answer may take, in seconds.
    pub timeout_s: u32,
    /// The credential that holds the key.
    pub credential: Option<String>,
}

/// All that is known of models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Llm {
    /// Whether the built-in engine answers first where it is sure.
    pub simple_first: bool,
    /// How long a turn with a model may take, in seconds.
    pub turn_timeout_s: u32,
    bindings: BTreeMap<&'static str, Binding>,
    /// What the file says, for `config show`.
    said: Vec<(String, String)>,
}

impl Llm {
    pub(super) fn of(runtime: Runtime) -> Result<Self, ConfigError> {
        let mut said = Vec::new();
        let mut bindings = BTreeMap::new();
        if let Some(first) = runtime.simple_first {
            said.push(("runtime.simple_first".to_owned(), first.to_string()));
        }
        if let Some(seconds) = runtime.turn_timeout_s {
            said.push(("runtime.turn_timeout_s".to_owned(), seconds.to_string()));
        }
        for (name, table) in runtime.llm {
            let Some(tier) = TIERS.into_iter().find(|tier| *tier == name) else {
                let there = TIERS.map(|tier| format!("runtime.llm.{tier}")).join(", ");
                return Err(ConfigError::Unknown { key: format!("runtime.llm.{name}"), there });
            };
            let binding = table.binding(tier)?;
            said.extend(binding.listed());
            bindings.insert(tier, binding);
        }
        let turn_timeout_s = positive("runtime.turn_timeout_s", runtime.turn_timeout_s, TURN_TIMEOUT_S)?;
        Ok(Self { simple_first: runtime.simple_first.unwrap_or(true), turn_timeout_s, bindings, said })
    }

    /// The binding of a tier.
    pub fn get(&self, tier: &str) -> Option<&Binding> {
        self.bindings.get(tier)
    }

    /// What proposes steps: the wise tier, or the next one that is bound. The frontier only stands in where a model was asked
    /// for by name: nothing leaves for it unasked.
    pub fn proposer(&self, engine: &str) -> Option<&Binding> {
        let may = |tier: &&str| *tier != FRONTIER || engine == "metis";
        TIERS.into_iter().filter(may).find_map(|tier| self.get(tier))
    }

    /// All bindings, in the order in which they stand in for each other.
    pub fn all(&self) -> impl Iterator<Item = &Binding> {
        TIERS.into_iter().filter_map(|tier| self.get(tier))
    }

    /// What `metnos.toml` says of models, by name.
    pub fn listed(&self) -> &[(String, String)] {
        &self.said
    }

    /// What shapes decisions, for the record; nothing while no model is bound.
    pub fn recorded(&self) -> Value {
        let bindings: Value = self.all().map(|binding| (binding.tier.to_owned(), json!(binding))).collect();
        json!({ "simple_first": self.simple_first, "turn_timeout_s": self.turn_timeout_s, "llm": bindings })
    }
}

impl Table {
    fn binding(self, tier: &'static str) -> Result<Binding, ConfigError> {
        let provider = self.provider.unwrap_or_else(|| "llamacpp".to_owned());
        let base_url = match (&self.base_url, provider.as_str()) {
            (Some(url), "llamacpp" | "openai") => server(url)?,
            (None, "llamacpp") => "http://127.0.0.1:8080".to_owned(),
            (None, "openai") => "https://api.openai.com".to_owned(),
            _ => return Err(refused("provider", provider, "it is one of llamacpp, openai")),
        };
        if self.credential.is_some() && !is_private(&base_url) {
            return Err(refused("base_url", base_url, "a key goes to another machine over https only"));
        }
        let model = self.model.unwrap_or_else(|| "default".to_owned());
        if model.trim().is_empty() {
            return Err(refused("model", model, "it is the model's name, as the server knows it"));
        }
        Ok(Binding {
            tier,
            provider,
            base_url,
            model,
            think: self.think,
            max_tokens: positive("max_tokens", self.max_tokens, MAX_TOKENS)?,
            timeout_s: positive("timeout_s", self.timeout_s, TIMEOUT_S)?,
            credential: self.credential,
        })
    }
}

impl Binding {
    fn listed(&self) -> Vec<(String, String)> {
        let key = |name: &str| format!("runtime.llm.{}.{name}", self.tier);
        let mut all = vec![
            (key("provider"), self.provider.clone()),
            (key("base_url"), self.base_url.clone()),
            (key("model"), self.model.clone()),
            (key("max_tokens"), self.max_tokens.to_string()),
            (key("timeout_s"), self.timeout_s.to_string()),
        ];
        all.extend(self.think.map(|think| (key("think"), think.to_string())));
        all.extend(self.credential.clone().map(|name| (key("credential"), name)));
        all
    }

    /// The address that a path of the server's interface has.
    pub fn endpoint(&self, path: &str) -> String {
        format!("{}{path}", self.base_url)
    }
}

/// The server's address without what Metnos adds to it. A key has no place in it.
fn server(url: &str) -> Result<String, ConfigError> {
    let allowed = "it is an address such as http://127.0.0.1:8080, without a name, a password or a question mark";
    let parsed = Url::parse(url).ok().filter(|parsed| matches!(parsed.scheme(), "http" | "https"));
    let plain = parsed.filter(|parsed| {
        parsed.host_str().is_some()
            && parsed.username().is_empty()
            && parsed.password().is_none()
            && parsed.query().is_none()
            && parsed.fragment().is_none()
    });
    let Some(plain) = plain else {
        let shown = if url.contains('@') { "…".to_owned() } else { url.to_owned() };
        return Err(refused("base_url", shown, allowed));
    };
    let text = plain.as_str().trim_end_matches('/');
    Ok(text.strip_suffix("/chat/completions").unwrap_or(text).trim_end_matches("/v1").to_owned())
}

/// Whether nobody on the way can read what is sent there.
fn is_private(base_url: &str) -> bool {
    let Ok(url) = Url::parse(base_url) else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let is_here = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    url.scheme() == "https" || is_here
}

fn positive(key: &'static str, given: Option<u32>, default: u32) -> Result<u32, ConfigError> {
    match given {
        Some(0) => Err(refused(key, "0".to_owned(), "it is at least 1")),
        other => Ok(other.unwrap_or(default)),
    }
}

fn refused(key: &'static str, value: String, allowed: &str) -> ConfigError {
    ConfigError::Value { key, value, allowed: allowed.to_owned(), from: Source::File }
}

/// Whether a setting is one of a tier, or of models at all.
pub(super) fn is_key(key: &str) -> bool {
    if matches!(key, "runtime.simple_first" | "runtime.turn_timeout_s") {
        return true;
    }
    let Some((tier, field)) = key.strip_prefix("runtime.llm.").and_then(|rest| rest.split_once('.')) else {
        return false;
    };
    TIERS.contains(&tier) && FIELDS.iter().any(|(known, _)| *known == field)
}

/// Writes such a setting into the document; numbers and switches as such.
pub(super) fn set(document: &mut toml_edit::DocumentMut, key: &str, value: &str) {
    let typed = match value.parse::<bool>() {
        Ok(switch) => toml_edit::value(switch),
        Err(_) => match value.parse::<i64>() {
            Ok(number) if key.rsplit('.').next() != Some("model") => toml_edit::value(number),
            _ => toml_edit::value(value),
        },
    };
    let mut place = document.as_item_mut();
    let mut parts = key.split('.').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            place[part] = typed;
            return;
        }
        if place.get(part).is_none() {
            let mut table = toml_edit::Table::new();
            table.set_implicit(part == "runtime" || part == "llm");
            place[part] = toml_edit::Item::Table(table);
        }
        place = &mut place[part];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Llm, ConfigError> {
        #[derive(Deserialize)]
        struct File {
            runtime: Runtime,
        }
        Llm::of(toml::from_str::<File>(text).unwrap().runtime)
    }

    #[test]
    fn a_tier_is_bound_once_it_is_configured_and_another_stands_in() {
        let none = read("[runtime]").unwrap();
        assert!(none.proposer("auto").is_none() && none.simple_first && none.listed().is_empty());
        let one = read("[runtime.llm.fast]\nmodel = 'm'\nbase_url = 'http://127.0.0.1:9/v1/'").unwrap();
        let binding = one.proposer("auto").unwrap();
        assert_eq!((binding.tier, binding.base_url.as_str(), binding.max_tokens), ("fast", "http://127.0.0.1:9", 2048));
        assert_eq!(binding.endpoint("/v1/chat/completions"), "http://127.0.0.1:9/v1/chat/completions");
        let two = read("[runtime.llm.fast]\n[runtime.llm.wise]\nthink = true").unwrap();
        assert_eq!(two.proposer("auto").unwrap().tier, "wise");
        let far = read("[runtime.llm.frontier]\nbase_url = 'https://models.test'\ncredential = 'mine'").unwrap();
        assert!(far.proposer("auto").is_none() && far.proposer("metis").is_some());
    }

    #[test]
    fn nonsense_and_keys_in_addresses_are_refused() {
        for bad in [
            "[runtime.llm.clever]",
            "[runtime.llm.wise]\nprovider = 'carrier pigeon'",
            "[runtime.llm.wise]\nprovider = 'pigeon'\nbase_url = 'http://127.0.0.1'",
            "[runtime.llm.wise]\nbase_url = 'ftp://127.0.0.1'",
            "[runtime.llm.wise]\nbase_url = 'http://me:secret@127.0.0.1'",
            "[runtime.llm.wise]\nbase_url = 'http://127.0.0.1/?key=secret'",
            "[runtime.llm.wise]\nbase_url = 'http://10.0.0.9:8080'\ncredential = 'mine'",
            "[runtime.llm.wise]\nmax_tokens = 0",
            "[runtime]\nturn_timeout_s = 0",
        ] {
            let refused = read(bad).unwrap_err().to_string();
            assert!(!refused.contains("me:secret"), "{refused}");
        }
    }

    #[test]
    fn settings_are_written_as_what_they_are() {
        let mut document: toml_edit::DocumentMut = "# mine\nengine = \"auto\"\n".parse().unwrap();
        set(&mut document, "runtime.llm.wise.base_url", "http://127.0.0.1:1");
        set(&mut document, "runtime.llm.wise.think", "true");
        set(&mut document, "runtime.llm.wise.max_tokens", "64");
        let text = document.to_string();
        assert!(
            text.starts_with("# mine") && text.contains("[runtime.llm.wise]\n") && text.contains("think = true"),
            "{text}"
        );
        let llm = read(&text).unwrap();
        assert_eq!((llm.get("wise").unwrap().think, llm.get("wise").unwrap().max_tokens), (Some(true), 64));
        assert!(
            is_key("runtime.llm.wise.model") && !is_key("runtime.llm.wise.price") && !is_key("runtime.llm.x.model")
        );
    }
}
