//! The manifest of an executor as a typed value: identity, contract, capabilities, roles of arguments, sentences, presentation.
//!
//! Reading TOML with file, line and column lives on the floor above (`src/manifest.rs`); this file only says which
//! fields there are (design 3-executors, «Six artefacts») and refuses all others.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::rules::grants::{self, Kind};
use crate::rules::policy;

/// `manifest.toml`, whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Who the executor is.
    pub executor: Identity,
    /// One description a language, shown to people and searched by the pre-filter.
    pub description: Description,
    /// What it promises.
    pub contract: Contract,
    /// What it asks of the cage, by name from the closed registry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<Capability>,
    /// What each argument stands for, by argument name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, Argument>,
    /// How its results are said to a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presentation: Option<Presentation>,
    /// Sentence templates by language.
    #[serde(default)]
    pub sentences: Sentences,
    /// The declared cage.
    pub sandbox: Sandbox,
    /// The birth tests' hash, written when it is signed.
    #[serde(default)]
    pub tests: Tests,
    /// Where its audit lines go.
    pub audit: Audit,
}

impl Manifest {
    /// The capabilities by which it changes files by itself, instead of asking the core for effects.
    pub fn writes_by_itself(&self) -> impl Iterator<Item = &Capability> {
        self.capabilities.iter().filter(|capability| capability.name == "fs:write")
    }

    /// Whether effects are all by which it can change anything: what it says that it did is then for the core to say.
    pub fn acts_by_effects_alone(&self) -> bool {
        let reaches_out = |capability: &Capability| {
            matches!(capability.name.as_str(), "network:http" | "network:sites" | "provider:access")
        };
        self.contract.side_effects && !self.is_critical() && !self.capabilities.iter().any(reaches_out)
    }

    /// Whether what it reads here can reach a server: it may see files, and ask hosts.
    pub fn can_leak(&self) -> bool {
        let uses = |kind: Kind| self.capabilities.iter().any(|capability| grants::kind(&capability.name) == kind);
        uses(Kind::Path) && uses(Kind::Host)
    }

    /// Whether a call could do harm by itself, before the core commits anything for it.
    pub fn is_critical(&self) -> bool {
        self.capabilities
            .iter()
            .any(|capability| policy::registered(&capability.name).is_none_or(|known| known.critical))
    }
}

/// `[executor]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// `verb_object[_qualifier]`, from the closed vocabulary.
    pub name: String,
    /// `major.minor.patch`.
    pub version: String,
    /// When it was written (RFC 3339), as a text or as a date of TOML.
    #[serde(deserialize_with = "moment")]
    pub created_at: String,
    /// `seed`, `owner` or `synt:<run id>`.
    pub created_by: String,
    /// One line.
    pub summary: String,
    /// Words and phrases that speak for it, in every language.
    #[serde(default)]
    pub affinity: Vec<String>,
    /// Older names that resolve to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Systems it runs on; empty means any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub platforms: Vec<String>,
    /// Where it may run.
    #[serde(default)]
    pub placement: Placement,
}

/// A date of TOML as its text: the format hands it over as a map of one entry.
fn moment<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    struct Moment;
    impl<'de> serde::de::Visitor<'de> for Moment {
        type Value = String;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a moment such as 2026-01-31T09:00:00Z")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<String, E> {
            Ok(text.to_owned())
        }

        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<String, A::Error> {
            match map.next_key::<String>()? {
                Some(key) if key.starts_with("$__toml") => map.next_value(),
                _ => Err(serde::de::Error::invalid_type(serde::de::Unexpected::Map, &self)),
            }
        }
    }
    deserializer.deserialize_any(Moment)
}

/// Where an executor may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// On the machine of the instance.
    Server,
    /// On a paired device.
    Device,
    /// On either.
    #[default]
    Any,
}

/// `[description]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// In English.
    pub en: String,
    /// In Italian.
    pub it: String,
}

/// `[contract]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// `schema.json#/definitions/Input`.
    pub input_schema: String,
    /// `schema.json#/definitions/Output`.
    pub output_schema: String,
    /// The classes that it may fail with, from the closed list.
    #[serde(default)]
    pub error_classes: Vec<String>,
    /// Calling it twice is the same as calling it once.
    pub idempotent: bool,
    /// It changes something outside of the cage (through effects or, with `fs:write`, by itself).
    pub side_effects: bool,
    /// Whether what it does can be undone.
    #[serde(default)]
    pub reversible: bool,
    /// How a direct writer is undone; effects need none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<String>,
    /// It takes many targets in one call.
    #[serde(default)]
    pub vectorial: bool,
    /// How a direct writer in doubt is asked what became of its call: the name of a function beside `run` in `main.py`, called
    /// with the same arguments where it can only look. It returns `{"ok": true, "outcome": "happened" | "did_not_happen"}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Wall time of one call, in seconds.
    #[serde(default = "default_timeout_s")]
    pub timeout_s: u32,
    /// Memory of the whole process tree, in MiB.
    #[serde(default = "default_memory_mb")]
    pub memory_mb: u32,
    /// The longest reply, in bytes.
    #[serde(default = "default_output_bytes_max")]
    pub output_bytes_max: u64,
}

fn default_timeout_s() -> u32 {
    30
}
fn default_memory_mb() -> u32 {
    256
}
fn default_output_bytes_max() -> u64 {
    1 << 20
}

/// One `[[capabilities]]` entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capability {
    /// From the closed registry (`fs:read`, `network:http`, …).
    pub name: String,
    /// Globs that bound it; `{args}` means exactly what the arguments name. Hosts for `network:http`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hint: Vec<String>,
    /// Globs taken out of the hints.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// At the call the grant narrows to the values of these arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from_args: Vec<String>,
}

/// One `[arguments.NAME]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Argument {
    /// What the value stands for.
    pub role: Role,
    /// The words of a sentence that introduce this argument, by language (for example a column's name after «by»).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cues: Option<BTreeMap<String, Vec<String>>>,
}

/// What an argument's value stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A file or folder that is read.
    Path,
    /// A file or folder that is written, moved to or deleted.
    TargetPath,
    /// A glob over names.
    Pattern,
    /// An address on the web.
    Url,
    /// A host name.
    Host,
    /// A person or account that receives something.
    Recipient,
    /// An opaque identifier.
    Id,
    /// Text that is stored or sent.
    Content,
    /// A program with its words, or a line that a shell would read.
    Command,
    /// A list of entries from an earlier step.
    Entries,
    /// Text that an earlier step produced.
    Text,
    /// The name of a field.
    Field,
    /// How many lines or items.
    Count,
    /// A size in bytes.
    Size,
    /// A moment or a day.
    Time,
    /// A time zone by IANA name.
    Timezone,
    /// A choice, a switch or anything else that is no target.
    Option,
}

impl Role {
    /// Whether the value names who or what is affected: such values are checked by guard and policy.
    pub fn is_target(self) -> bool {
        matches!(self, Self::Path | Self::TargetPath | Self::Url | Self::Host | Self::Recipient | Self::Id)
    }
}

/// `[presentation]`: a minijinja template a language.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Presentation {
    /// In English.
    pub en: String,
    /// In Italian.
    pub it: String,
}

/// `[[sentences.en]]` and `[[sentences.it]]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sentences {
    /// In English.
    #[serde(default)]
    pub en: Vec<SentenceTemplate>,
    /// In Italian.
    #[serde(default)]
    pub it: Vec<SentenceTemplate>,
}

/// One way to say what the executor does: `(a|b)` alternatives, `[optional]`, `{slot}` for an argument, `<rule>` for a
/// lexicon class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentenceTemplate {
    /// The template.
    pub text: String,
    /// Arguments that saying it this way sets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, serde_json::Value>,
}

/// `[sandbox]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sandbox {
    /// `declared` (derived from the capabilities) or a registered profile's name.
    pub profile: String,
    /// `blake3:<hex>` of the declared plan; written when it is signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// `[tests]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tests {
    /// `blake3:<hex>` of `tests/birth.py`; written when it is signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// `[audit]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Audit {
    /// `executor.<name>`.
    pub trace_topic: String,
}
