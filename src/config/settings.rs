//! The settings, typed, each with where it came from.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use metnos_projections::messages::Language;
use serde::{Deserialize, Serialize};

use super::Variables;
use super::keeping::{self, AnchorFile, Retention, RetentionFile};
use super::llm::{self, Llm, Runtime};
use crate::broker::{Ports, target};
use crate::located::Located;

/// What the command line says.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// `--lang`.
    pub language: Option<Language>,
    /// `--engine`.
    pub engine: Option<String>,
}

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A flag.
    Flag,
    /// An environment variable.
    Environment,
    /// `metnos.toml`.
    File,
    /// Built in.
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flag => "flag",
            Self::Environment => "environment",
            Self::File => "metnos.toml",
            Self::Default => "default",
        })
    }
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is refused.
    #[error(transparent)]
    File(#[from] Located),
    /// The file cannot be read or written.
    #[error("{path} cannot be used")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A value that is none of those allowed.
    #[error("{key} = «{value}» is not possible; {allowed}")]
    Value {
        /// The setting.
        key: &'static str,
        /// What was given.
        value: String,
        /// What may be given.
        allowed: String,
        /// Where it was given.
        from: Source,
    },
    /// No such setting.
    #[error("there is no setting {key}; there are {there}")]
    Unknown {
        /// What was asked for.
        key: String,
        /// What there is.
        there: String,
    },
}

impl ConfigError {
    /// The same, where its value came from put right.
    fn from(self, sources: &BTreeMap<&'static str, Source>) -> Self {
        match self {
            Self::Value { key, value, allowed, from } => {
                Self::Value { key, value, allowed, from: sources.get(key).copied().unwrap_or(from) }
            }
            other => other,
        }
    }
}

/// `metnos.toml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    language: Option<String>,
    zone: Option<String>,
    autonomy: Option<String>,
    engine: Option<String>,
    log_level: Option<String>,
    #[serde(default)]
    network: Network,
    #[serde(default)]
    http: Http,
    #[serde(default)]
    runtime: Runtime,
    #[serde(default)]
    telegram: TelegramFile,
    #[serde(default)]
    retention: RetentionFile,
    #[serde(default)]
    anchor: AnchorFile,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TelegramFile {
    base_url: Option<String>,
    poll_seconds: Option<String>,
    default_chat: Option<String>,
    progress_seconds: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Network {
    allow: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Http {
    listen: Option<String>,
}

/// Where the daemon's pages are when nothing else is said.
const HTTP_LISTEN: &str = "127.0.0.1:8770";
/// Where Telegram's bots are served.
const TELEGRAM: &str = "https://api.telegram.org";
/// How long Telegram holds a request for news when nothing else is said, in seconds.
const TELEGRAM_POLL: &str = "50";

/// After how long a turn shows in a chat that it is at work when nothing else is said, in seconds.
const TELEGRAM_PROGRESS: &str = "2";

/// How Telegram is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Telegram {
    /// The server: `https`, or this machine.
    pub base_url: String,
    /// How long it holds a request for news, in seconds.
    pub poll_s: u64,
    /// The chat whose first message makes it the host's, while nobody is paired.
    pub default_chat: Option<i64>,
    /// After how long a turn shows that it is at work, in seconds.
    pub progress_s: u64,
}

/// The settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The language where the sentence does not tell; `None`: English.
    pub language: Option<Language>,
    /// Whether the language was asked for by a flag, so that it is not guessed.
    pub language_forced: bool,
    /// IANA name of the local time zone.
    pub zone: String,
    /// `read_only`, `supervised`, `full`.
    pub autonomy: String,
    /// `auto`, `simple` or `metis`.
    pub engine: String,
    /// Of the program's own messages.
    pub log_level: String,
    /// Hosts that `get_urls` may reach; `*` is any.
    pub network_allow: Vec<String>,
    /// Where the daemon's pages are: an address of this machine; `None`: nowhere.
    pub http_listen: Option<SocketAddr>,
    /// The models.
    pub llm: Llm,
    /// How Telegram is reached.
    pub telegram: Telegram,
    /// How long what may expire is kept.
    pub retention: Retention,
    /// Whether the newest checkpoint goes to the owner's chat each day.
    pub is_anchored: bool,
    sources: BTreeMap<&'static str, Source>,
}

/// The settings that exist, with what they mean.
pub const KEYS: &[(&str, &str)] = &[
    ("language", "en or it: the language where a sentence does not tell"),
    ("zone", "IANA name of the time zone, for example Europe/Rome"),
    ("autonomy", "read_only, supervised or full"),
    ("engine", "auto, simple or metis: who plans"),
    ("log_level", "error, warn, info, debug or trace"),
    ("network.allow", "hosts that pages may be fetched from; * is any"),
    ("http.listen", "where metnos serve shows /health and /metrics: an address of this machine, or off"),
    ("retention.observations", "days that long results of executors are kept, or never: they are kept for ever"),
    ("retention.models", "days that long requests and answers of models are kept, or never: they are kept for ever"),
    ("anchor.daily", "chat or off: whether the newest signed checkpoint goes to your chat each day at 07:05"),
    ("telegram.base_url", "where Telegram's bots are served"),
    ("telegram.poll_seconds", "how long Telegram holds a request for news"),
    ("telegram.default_chat", "the chat whose first message makes it the host's while nobody is paired, or none"),
    ("telegram.progress_seconds", "after how long a turn shows in its chat that it is at work"),
];

impl Settings {
    /// Resolves everything; a missing file is an empty one.
    pub fn resolve(path: &Path, flags: &Flags, variables: &Variables) -> Result<Self, ConfigError> {
        let file = read(path)?;
        let mut sources = BTreeMap::new();
        let mut pick = |key, flag: Option<String>, variable: Option<String>, file: Option<String>, default: &str| {
            let found = [(flag, Source::Flag), (variable, Source::Environment), (file, Source::File)];
            let (value, source) = found
                .into_iter()
                .find_map(|(value, source)| value.map(|value| (value, source)))
                .unwrap_or_else(|| (default.to_owned(), Source::Default));
            sources.insert(key, source);
            value
        };
        let flag_language = flags.language.map(|language| language.code().to_owned());
        let locale = variables.locale.as_deref().and_then(Language::parse).map_or("en", Language::code);
        let language = pick("language", flag_language, variables.language.clone(), file.language, locale);
        // TZ may hold what is no name of a zone (a path, a rule): then the system's own link says which it is.
        let named = variables.zone.as_deref().map(|zone| zone.trim_start_matches(':'));
        let named = named.filter(|zone| jiff::tz::TimeZone::get(zone).is_ok()).map(str::to_owned);
        let zone = pick("zone", None, named, file.zone, &system_zone());
        let autonomy = pick("autonomy", None, variables.autonomy.clone(), file.autonomy, "supervised");
        let engine = pick("engine", flags.engine.clone(), variables.engine.clone(), file.engine, "auto");
        let log_level = pick("log_level", None, variables.log_level.clone(), file.log_level, "warn");
        let http = pick("http.listen", None, variables.http_listen.clone(), file.http.listen, HTTP_LISTEN);
        let (observations, models) = file.retention.texts();
        let observations = pick("retention.observations", None, None, observations, keeping::OBSERVATIONS);
        let models = pick("retention.models", None, None, models, keeping::NEVER);
        let anchor = pick("anchor.daily", None, None, file.anchor.daily, keeping::ANCHOR);
        let TelegramFile { base_url, poll_seconds, default_chat, progress_seconds } = file.telegram;
        let progress = variables.telegram_progress_seconds.clone();
        let telegram = [
            pick("telegram.base_url", None, variables.telegram_base_url.clone(), base_url, TELEGRAM),
            pick("telegram.poll_seconds", None, variables.telegram_poll_seconds.clone(), poll_seconds, TELEGRAM_POLL),
            pick("telegram.default_chat", None, variables.telegram_default_chat.clone(), default_chat, "none"),
            pick("telegram.progress_seconds", None, progress, progress_seconds, TELEGRAM_PROGRESS),
        ];
        sources.insert("network.allow", if file.network.allow.is_some() { Source::File } else { Source::Default });
        let settings = Self {
            language: Language::parse(&language),
            language_forced: flags.language.is_some(),
            zone,
            autonomy,
            engine,
            log_level,
            http_listen: http_listen(&http).map_err(|error| error.from(&sources))?,
            llm: Llm::of(file.runtime)?,
            telegram: self::telegram(&telegram).map_err(|error| error.from(&sources))?,
            retention: retention(&observations, &models).map_err(|error| error.from(&sources))?,
            is_anchored: keeping::anchor(&anchor).map_err(|error| error.from(&sources))?,
            network_allow: allowed_hosts(file.network.allow)?,
            sources,
        };
        settings.checked(&language).map_err(|error| error.from(&settings.sources))?;
        Ok(settings)
    }

    fn checked(&self, language: &str) -> Result<(), ConfigError> {
        let one_of = |key: &'static str, value: &str, allowed: &[&str]| {
            if allowed.contains(&value) {
                return Ok(());
            }
            Err(ConfigError::Value {
                key,
                value: value.to_owned(),
                allowed: format!("it is one of {}", allowed.join(", ")),
                from: Source::File,
            })
        };
        one_of("language", language, &["en", "it"])?;
        one_of("autonomy", &self.autonomy, &["read_only", "supervised", "full"])?;
        one_of("engine", &self.engine, &["auto", "simple", "metis"])?;
        one_of("log_level", &self.log_level, &["error", "warn", "info", "debug", "trace"])?;
        if jiff::tz::TimeZone::get(&self.zone).is_err() {
            let allowed = "it is an IANA name such as Europe/Rome".to_owned();
            return Err(ConfigError::Value { key: "zone", value: self.zone.clone(), allowed, from: Source::File });
        }
        Ok(())
    }

    /// What is kept how long, and whether the log is anchored: name, value, and whether that is the default.
    pub fn kept(&self) -> Vec<(&'static str, String, bool)> {
        let usual = [
            ("retention.observations", keeping::OBSERVATIONS),
            ("retention.models", keeping::NEVER),
            ("anchor.daily", keeping::ANCHOR),
        ];
        usual.map(|(key, usual)| (key, self.value(key), self.value(key) == usual)).to_vec()
    }

    /// Every setting as text, with where it came from.
    pub fn listed(&self) -> Vec<(String, String, Source)> {
        let source = |key: &str| self.sources.get(key).copied().unwrap_or(Source::Default);
        let known = KEYS.iter().map(|(key, _)| ((*key).to_owned(), self.value(key), source(key)));
        // What is not configured of models is none: there is nothing to show.
        let of_models = self.llm.listed().iter().map(|(key, value)| (key.clone(), value.clone(), Source::File));
        known.chain(of_models).collect()
    }

    fn value(&self, key: &str) -> String {
        match key {
            "language" => self.language.unwrap_or_default().code().to_owned(),
            "zone" => self.zone.clone(),
            "autonomy" => self.autonomy.clone(),
            "engine" => self.engine.clone(),
            "log_level" => self.log_level.clone(),
            "http.listen" => self.http_listen.map_or_else(|| "off".to_owned(), |address| address.to_string()),
            "retention.observations" => keeping::said(self.retention.observations),
            "retention.models" => keeping::said(self.retention.models),
            "anchor.daily" => if self.is_anchored { keeping::ANCHOR } else { "off" }.to_owned(),
            "telegram.base_url" => self.telegram.base_url.clone(),
            "telegram.poll_seconds" => self.telegram.poll_s.to_string(),
            "telegram.progress_seconds" => self.telegram.progress_s.to_string(),
            "telegram.default_chat" => {
                self.telegram.default_chat.map_or_else(|| "none".to_owned(), |chat| chat.to_string())
            }
            _ => self.network_allow.join(", "),
        }
    }
}

fn retention(observations: &str, models: &str) -> Result<Retention, ConfigError> {
    Ok(Retention {
        observations: keeping::days("retention.observations", observations)?,
        models: keeping::days("retention.models", models)?,
    })
}

/// Hosts that may be reached, as they will be compared; what would allow nothing is an error.
fn allowed_hosts(hosts: Option<Vec<String>>) -> Result<Vec<String>, ConfigError> {
    const ANY: &str = "*";
    let one = |host: String| {
        let bare = if host.parse::<Ipv6Addr>().is_ok() { format!("[{host}]") } else { host.clone() };
        match target::grant_for_pattern(&bare) {
            _ if host == ANY => Ok(host),
            Ok(grant) if grant.ports == Ports::Web => Ok(grant.pattern),
            _ => Err(ConfigError::Value {
                key: "network.allow",
                value: host,
                allowed: "it is a list of hosts like example.org and *.example.org, without ports; * is any".to_owned(),
                from: Source::File,
            }),
        }
    };
    hosts.unwrap_or_else(|| vec![ANY.to_owned()]).into_iter().map(one).collect()
}

/// The address that is meant; only this machine may reach it.
fn http_listen(text: &str) -> Result<Option<SocketAddr>, ConfigError> {
    if text == "off" {
        return Ok(None);
    }
    let address = text.parse().ok().filter(|address: &SocketAddr| address.ip().is_loopback());
    address.map(Some).ok_or_else(|| ConfigError::Value {
        key: "http.listen",
        value: text.to_owned(),
        allowed: format!("it is an address of this machine such as {HTTP_LISTEN}, or off"),
        from: Source::File,
    })
}

/// How Telegram is reached. The address carries the token, so it is encrypted or stays on this machine.
fn telegram([base_url, poll, chat, progress]: &[String; 4]) -> Result<Telegram, ConfigError> {
    let refused = |key, value: &str, allowed: &str| {
        let (value, allowed) = (value.to_owned(), allowed.to_owned());
        ConfigError::Value { key, value, allowed, from: Source::File }
    };
    let is_safe = |url: &reqwest::Url| {
        let host = url.host_str().unwrap_or_default();
        let bare = host.trim_matches(['[', ']']);
        let is_here = bare == "localhost" || bare.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback());
        url.query().is_none() && (url.scheme() == "https" || (url.scheme() == "http" && is_here))
    };
    if !reqwest::Url::parse(base_url).is_ok_and(|url| is_safe(&url)) {
        let allowed = "it begins with https://, or with http:// for this machine";
        return Err(refused("telegram.base_url", base_url, allowed));
    }
    let poll_s = poll.parse().ok().filter(|seconds| (0..=50).contains(seconds));
    let poll_s = poll_s.ok_or_else(|| refused("telegram.poll_seconds", poll, "it is a number from 0 to 50"))?;
    let default_chat = match chat.as_str() {
        "none" => None,
        chat => {
            Some(chat.parse().map_err(|_| refused("telegram.default_chat", chat, "it is a chat's number, or none"))?)
        }
    };
    let progress_s = progress.parse().ok().filter(|seconds| (0..=3600).contains(seconds));
    let progress_s =
        progress_s.ok_or_else(|| refused("telegram.progress_seconds", progress, "it is a number from 0 to 3600"))?;
    Ok(Telegram { base_url: base_url.trim_end_matches('/').to_owned(), poll_s, default_chat, progress_s })
}

/// The local zone, by the system's own link; UTC where it does not say.
fn system_zone() -> String {
    let named = || jiff::tz::TimeZone::try_system().ok()?.iana_name().map(str::to_owned);
    named().unwrap_or_else(|| "UTC".to_owned())
}

fn read(path: &Path) -> Result<File, ConfigError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        // A link that leads nowhere is settings that cannot be read: what they held back is not to be let go.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && path.symlink_metadata().is_err() => {
            return Ok(File::default());
        }
        Err(source) => return Err(ConfigError::Io { path: path.to_owned(), source }),
    };
    parse(&path.to_string_lossy(), &text)
}

fn parse(file: &str, text: &str) -> Result<File, ConfigError> {
    toml::from_str(text).map_err(|error| Located::toml(file, text, &error).into())
}

/// Writes one setting into the file, keeping its comments and order. The file is checked before it is replaced.
pub fn set(path: &Path, key: &str, value: &str) -> Result<(), ConfigError> {
    if !KEYS.iter().any(|(known, _)| *known == key) && !llm::is_key(key) {
        let tiers = format!(
            "runtime.simple_first, runtime.turn_timeout_s, runtime.llm.({}).({})",
            llm::TIERS.join("|"),
            llm::FIELDS.map(|(name, _)| name).join("|")
        );
        let there = KEYS.iter().map(|(known, _)| *known).chain([tiers.as_str()]).collect::<Vec<_>>().join(", ");
        return Err(ConfigError::Unknown { key: key.to_owned(), there });
    }
    let io = |source| ConfigError::Io { path: path.to_owned(), source };
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        other => other.map_err(io)?,
    };
    parse(&path.to_string_lossy(), &text)?;
    let mut document: toml_edit::DocumentMut = text.parse().expect("text that parsed as TOML is a document");
    if let Some(name) = key.strip_prefix("network.") {
        let list: toml_edit::Array = value.split(',').map(str::trim).filter(|host| !host.is_empty()).collect();
        document["network"].or_insert(toml_edit::table())[name] = toml_edit::value(list);
    } else if llm::is_key(key) {
        llm::set(&mut document, key, value);
    } else if let Some((table, name)) = key.split_once('.') {
        document[table].or_insert(toml_edit::table())[name] = toml_edit::value(value);
    } else {
        document[key] = toml_edit::value(value);
    }
    let text = document.to_string();
    parse(&path.to_string_lossy(), &text)?;
    let fresh = path.with_extension("toml.new");
    std::fs::write(&fresh, text).map_err(io)?;
    if let Err(refused) = Settings::resolve(&fresh, &Flags::default(), &Variables::default()) {
        std::fs::remove_file(&fresh).map_err(io)?;
        return Err(refused);
    }
    std::fs::rename(&fresh, path).map_err(io)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearer_source_wins() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metnos.toml");
        std::fs::write(&path, "language = \"it\"\nautonomy = \"full\"\n").unwrap();
        let flags = Flags { language: Some(Language::En), engine: None };
        let variables = Variables { autonomy: Some("read_only".to_owned()), ..Variables::default() };
        let settings = Settings::resolve(&path, &flags, &variables).unwrap();
        let listed: BTreeMap<_, _> =
            settings.listed().into_iter().map(|(key, value, source)| (key, (value, source))).collect();
        assert_eq!(listed["language"], ("en".to_owned(), Source::Flag));
        assert_eq!(listed["autonomy"], ("read_only".to_owned(), Source::Environment));
        assert_eq!(listed["engine"], ("auto".to_owned(), Source::Default));
    }

    #[test]
    fn a_tz_that_names_no_zone_stops_nothing() {
        let path = Path::new("/nowhere/metnos.toml");
        for (tz, name) in [(":Europe/Rome", Some("Europe/Rome")), (":/etc/localtime", None), ("CET-1CEST,M3.5.0", None)]
        {
            let variables = Variables { zone: Some(tz.to_owned()), ..Variables::default() };
            let settings = Settings::resolve(path, &Flags::default(), &variables).unwrap();
            assert_eq!(settings.zone, name.map_or_else(system_zone, str::to_owned), "{tz}");
        }
    }

    /// What the file held back would be let go by the defaults: only a file that is not there is an empty one.
    #[test]
    fn what_cannot_be_read_is_not_taken_for_empty() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metnos.toml");
        let resolved = || Settings::resolve(&path, &Flags::default(), &Variables::default());
        assert_eq!(resolved().unwrap().network_allow, ["*"]);
        std::os::unix::fs::symlink(folder.path().join("elsewhere.toml"), &path).unwrap();
        assert!(matches!(resolved(), Err(ConfigError::Io { .. })));
        std::fs::write(folder.path().join("elsewhere.toml"), "[network]\nallow = []\n").unwrap();
        assert_eq!(resolved().unwrap().network_allow, Vec::<String>::new());
    }

    #[test]
    fn an_unknown_setting_names_line_and_column() {
        let error = parse("metnos.toml", "language = \"en\"\nlanguag = \"it\"\n").unwrap_err();
        assert!(
            matches!(&error, ConfigError::File(Located { line: 2, column: 1, text, .. }) if text.starts_with("languag ")),
            "{error}"
        );
    }

    #[test]
    fn days_may_be_written_as_a_number_or_in_quotes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metnos.toml");
        let resolved = || Settings::resolve(&path, &Flags::default(), &Variables::default()).unwrap();
        assert_eq!(resolved().retention, Retention { observations: Some(90), models: None });
        std::fs::write(&path, "[retention]\nobservations = 7\nmodels = \"30\"\n[anchor]\ndaily = \"off\"\n").unwrap();
        assert_eq!(resolved().retention, Retention { observations: Some(7), models: Some(30) });
        assert!(!resolved().is_anchored);
        set(&path, "retention.observations", "never").unwrap();
        assert_eq!(resolved().retention, Retention { observations: None, models: Some(30) });
    }

    #[test]
    fn setting_keeps_comments_and_refuses_nonsense() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metnos.toml");
        std::fs::write(&path, "# mine\nengine = \"auto\"\n").unwrap();
        set(&path, "language", "it").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# mine\n") && text.contains("language = \"it\""), "{text}");
        assert!(set(&path, "language", "klingon").is_err());
        assert!(set(&path, "colour", "red").is_err());
        assert!(set(&path, "http.listen", "0.0.0.0:8770").is_err());
        // The token would be readable on its way.
        assert!(set(&path, "telegram.base_url", "http://example.org").is_err());
        assert!(set(&path, "telegram.base_url", "http://localhost.example.org").is_err());
        assert!(
            set(&path, "telegram.poll_seconds", "51").is_err() && set(&path, "telegram.default_chat", "me").is_err()
        );
        assert!(set(&path, "retention.observations", "0").is_err() && set(&path, "anchor.daily", "maybe").is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}
