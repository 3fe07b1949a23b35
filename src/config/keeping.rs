//! What is kept for a while only, and what leaves the house by itself: `[retention]` and `[anchor]` of `metnos.toml`.

use metnos_log::event::retention::Class;
use serde::Deserialize;

use super::ConfigError;
use super::settings::Source;

/// The most days: as good as for ever, and said so.
const DAYS_MAX: u32 = 36_500;
/// How long observations are kept where nothing else is said (design 2-log, «Retention»).
pub(super) const OBSERVATIONS: &str = "90";
/// What is not said to expire does not.
pub(super) const NEVER: &str = "never";
/// Where the newest checkpoint goes each day where nothing else is said. It holds a count and hashes and nothing of what anyone
/// said, it costs one message on days on which something happened, and what is not anchored before a break-in cannot be
/// anchored after it.
pub(super) const ANCHOR: &str = "chat";

/// How long each class is kept, in days; for ever where there is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// What executors returned and what models were shown of it.
    pub observations: Option<u32>,
    /// What was said to models and what they said.
    pub models: Option<u32>,
}

impl Retention {
    /// Days that a class is kept; none: for ever.
    pub fn days(self, class: Class) -> Option<u32> {
        match class {
            Class::Observation => self.observations,
            Class::Model => self.models,
        }
    }
}

/// A value as it is written by hand: in quotes or as a number.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "toml::Value")]
struct Written(String);

impl TryFrom<toml::Value> for Written {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        match value {
            toml::Value::String(text) => Ok(Self(text)),
            toml::Value::Integer(number) => Ok(Self(number.to_string())),
            other => Err(format!("it is a number of days or \"{NEVER}\", not {}", other.type_str())),
        }
    }
}

/// `[retention]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RetentionFile {
    observations: Option<Written>,
    models: Option<Written>,
}

impl RetentionFile {
    /// What is written, for observations and for models.
    pub(super) fn texts(self) -> (Option<String>, Option<String>) {
        (self.observations.map(|days| days.0), self.models.map(|days| days.0))
    }
}

/// `[anchor]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnchorFile {
    pub(super) daily: Option<String>,
}

/// How long something is kept. No days at all would take away what a turn is still at.
pub(super) fn days(key: &'static str, text: &str) -> Result<Option<u32>, ConfigError> {
    if text == NEVER {
        return Ok(None);
    }
    let days = text.parse().ok().filter(|days| (1..=DAYS_MAX).contains(days));
    days.map(Some).ok_or_else(|| ConfigError::Value {
        key,
        value: text.to_owned(),
        allowed: format!("it is a number of days from 1 to {DAYS_MAX}, or {NEVER}"),
        from: Source::File,
    })
}

/// Whether the newest checkpoint goes to the owner's chat each day.
pub(super) fn anchor(text: &str) -> Result<bool, ConfigError> {
    match text {
        ANCHOR => Ok(true),
        "off" => Ok(false),
        other => Err(ConfigError::Value {
            key: "anchor.daily",
            value: other.to_owned(),
            allowed: format!("it is {ANCHOR} or off"),
            from: Source::File,
        }),
    }
}

/// As it is shown and recorded.
pub fn said(days: Option<u32>) -> String {
    days.map_or_else(|| NEVER.to_owned(), |days| days.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_days_and_nonsense_is_refused_with_what_there_is() {
        assert_eq!(days("retention.observations", "90").unwrap(), Some(90));
        assert_eq!(days("retention.observations", "never").unwrap(), None);
        for nonsense in ["0", "-1", "", "36501", "1.5", "90 days", "ever", "٣"] {
            let refused = days("retention.observations", nonsense).unwrap_err().to_string();
            assert!(refused.contains("from 1 to 36500, or never"), "{refused}");
        }
        assert!(anchor("chat").unwrap() && !anchor("off").unwrap() && anchor("on").is_err());
    }
}
