//! Payload fields that may be large: kept inline up to 16 KiB, as a blob beyond (design 2-log, «Tables»).

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::canonical;
use crate::id::FixedBytes;

/// Fields longer than this leave the payload and become a blob.
pub const INLINE_BYTES_MAX: usize = 16 * 1024;

/// Names a blob by its hash: plain blake3 for artefacts, keyed blake3 for payload parts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobHash(pub [u8; 32]);

impl fmt::Display for BlobHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(blake3::Hash::from_bytes(self.0).to_hex().as_str())
    }
}

impl fmt::Debug for BlobHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for BlobHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() { serializer.collect_str(self) } else { serializer.serialize_bytes(&self.0) }
    }
}

impl<'de> Deserialize<'de> for BlobHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        if deserializer.is_human_readable() {
            let text = String::deserialize(deserializer)?;
            blake3::Hash::from_hex(text).map(|hash| Self(*hash.as_bytes())).map_err(D::Error::custom)
        } else {
            deserializer.deserialize_bytes(FixedBytes::<32>).map(Self)
        }
    }
}

/// Text of a payload that is stored inline or as a blob.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Kept {
    /// The text, when it is short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inline: Option<String>,
    /// The blob that holds it, when it is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blob: Option<BlobHash>,
    /// Length of the text in bytes.
    len: u64,
    /// The blob's text, once it was fetched. Never stored.
    #[serde(skip)]
    fetched: Option<String>,
    /// The value that the text was made from, so that whoever made it need not read it again. Never stored.
    #[serde(skip)]
    held: Option<Arc<Value>>,
}

/// Values nested deeper are not held: the reader of JSON refuses at 128, and what is held must be what is read back.
const HELD_DEPTH_MAX: usize = 100;

fn is_within(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(_) | Value::Object(_) if depth == 0 => false,
        Value::Array(items) => items.iter().all(|item| is_within(item, depth - 1)),
        Value::Object(map) => map.values().all(|item| is_within(item, depth - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

impl Kept {
    /// A text, not yet stored.
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { len: text.len() as u64, inline: Some(text), blob: None, fetched: None, held: None }
    }

    /// A JSON value, kept as its canonical text.
    pub fn json(value: &Value) -> Self {
        Self::text(canonical::to_string(value))
    }

    /// The same of a value that is needed further: [`Self::shared`] gives it back without reading the text.
    pub fn json_of(value: Arc<Value>) -> Self {
        let kept = Self::json(&value);
        Self { held: Some(value).filter(|value| is_within(value, HELD_DEPTH_MAX)), ..kept }
    }

    /// The text, if it is inline or was fetched.
    pub fn get(&self) -> Option<&str> {
        self.inline.as_deref().or(self.fetched.as_deref())
    }

    /// The value of a text that is JSON.
    pub fn value(&self) -> Option<Value> {
        serde_json::from_str(self.get()?).ok()
    }

    /// The same, shared with whoever else holds it.
    pub fn shared(&self) -> Option<Arc<Value>> {
        self.held.clone().or_else(|| self.value().map(Arc::new))
    }

    /// Length of the text in bytes, wherever it lies.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is no text at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The blob that must be fetched before [`Self::get`] answers.
    pub fn wanted(&self) -> Option<BlobHash> {
        if self.fetched.is_none() { self.blob } else { None }
    }

    /// The blob that holds the text, fetched or not.
    pub fn blob(&self) -> Option<BlobHash> {
        self.blob
    }

    /// Fills in the blob's text.
    pub fn fetched(&mut self, text: String) {
        self.fetched = Some(text);
    }

    /// Takes a fetched text back in, as an exported history carries it.
    pub fn settle_inline(&mut self) {
        if let Some(text) = self.fetched.take() {
            self.inline = Some(text);
            self.blob = None;
        }
    }

    /// Replaces the text by what a redactor made of it.
    pub(crate) fn rewrite(&mut self, rewrite: impl FnOnce(&str) -> Option<String>) {
        if let Some(text) = self.inline.as_deref().and_then(rewrite) {
            *self = Self::text(text);
        }
    }

    /// A text that [`Self::detach`] would move out.
    pub(crate) fn long(&self) -> Option<&str> {
        self.inline.as_deref().filter(|text| text.len() > INLINE_BYTES_MAX)
    }

    /// Moves a long text out; returns what must be stored under the hash that `name` gives.
    pub(crate) fn detach(&mut self, name: impl FnOnce(&[u8]) -> BlobHash) -> Option<(BlobHash, String)> {
        let text = self.inline.take_if(|text| text.len() > INLINE_BYTES_MAX)?;
        let hash = name(text.as_bytes());
        self.blob = Some(hash);
        self.fetched = None;
        self.held = None;
        Some((hash, text))
    }
}

/// Equal when the texts are, or, where a text is not at hand, when the blobs are.
impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        match (self.get(), other.get()) {
            (Some(one), Some(two)) => one == two,
            _ => self.blob == other.blob && self.len == other.len,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_held_is_what_would_be_read_back() {
        let value = Arc::new(json!({
            "z": [1, -1, 0.1, 1.0, 1e300, u64::MAX, i64::MIN, -0.0], "a": {"è": "\u{1}\"\\ \n", "": null}, "b": true,
        }));
        let kept = Kept::json_of(Arc::clone(&value));
        assert!(Arc::ptr_eq(&kept.shared().unwrap(), &value));
        assert_eq!(kept.value().as_ref(), Some(&*value));
        assert_eq!(kept, Kept::json(&value));
    }

    #[test]
    fn what_no_reader_takes_back_is_not_held() {
        let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([inner]));
        let held = |depth: usize| Kept::json_of(Arc::new(nested(depth))).held.is_some();
        assert!(held(HELD_DEPTH_MAX) && !held(HELD_DEPTH_MAX + 1));
        let kept = Kept::json_of(Arc::new(nested(200)));
        assert_eq!((kept.shared(), kept.value()), (None, None));
    }

    #[test]
    fn a_text_that_was_redacted_or_moved_out_holds_nothing() {
        let long = Arc::new(json!("x".repeat(INLINE_BYTES_MAX + 1)));
        let mut kept = Kept::json_of(Arc::clone(&long));
        kept.rewrite(|_| Some("\"redacted\"".to_owned()));
        assert_eq!(kept.shared().as_deref(), Some(&json!("redacted")));
        let mut kept = Kept::json_of(long);
        assert!(kept.detach(|_| BlobHash([0; 32])).is_some());
        assert_eq!(kept.shared(), None);
    }
}
