//! Secrets never enter an event: a scanner replaces what looks like one before anything is encoded.
//!
//! Two means, both precise: the values that the credential store holds, and the forms of well-known keys, tokens and
//! private keys. A page's UUIDs and commit hashes stay as they are.

use std::sync::OnceLock;

use memchr::memmem;
use regex::{Regex, bytes};
use rmpv::Value;
use secrecy::{ExposeSecret, SecretString};

use crate::event::Event;
use crate::kept::Kept;

/// A value that must never be stored. It cannot be serialised, so no event can hold it.
pub type Secret = SecretString;

/// The forms of secrets: name and pattern. The first group, where there is one, is the secret part.
const FORMS: &[(&str, &str)] = &[
    ("private_key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----"),
    ("api_key", r"\bsk-(?:[A-Za-z]+-)*[A-Za-z0-9_-]{20,}"),
    ("github_token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,})"),
    ("aws_key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("google_key", r"\bAIza[A-Za-z0-9_-]{35}"),
    ("slack_token", r"\bxox[abprs]-[A-Za-z0-9-]{10,}"),
    ("telegram_token", r"\b[0-9]{8,10}:[A-Za-z0-9_-]{35}\b"),
    ("web_token", r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    ("bearer_token", r"(?i)\bbearer(?:\s|\\+[nrt])+([A-Za-z0-9._~+/-]{20,}=*)"),
    ("url_password", r"\b[a-z][a-z0-9+.-]*://[^\s/:@]+:([^\s/@]+)@"),
    (
        "password",
        r#"(?i)\b(?:password|passwd|passphrase|api[_-]?key|secret[_-]?key|access[_-]?token)\\*["']?(?:\s|\\+[nrt])*[:=](?:\s|\\+[nrt])*\\*["']?([^\s"'\\,;<>{}]{6,})"#,
    ),
];

/// Where a word begins; and where one does in a text within JSON, in which a break of a line is an escape that ends in a letter.
const BORDER: &str = r"\b";
const BORDER_IN_JSON: &str = r"(?:\b|\\[bfnrt]|\\u[0-9A-Fa-f]{4})";

/// How the form of a token begins that has no letters to look for, and the fewest digits that it asks for before the colon.
const TOKEN_DIGITS: &str = r"\b[0-9]{8,10}:";
const TOKEN_DIGITS_MIN: usize = 8;

/// How the form of an address begins: nothing in it is a letter to look for, and what follows is telling enough.
const URL_SCHEME: &str = r"\b[a-z][a-z0-9+.-]*";

/// A salt's length.
pub(crate) const SALT_BYTES: usize = 16;
/// What most payloads have at most, with the salt.
const BYTES_USUAL: usize = 400;

/// The length below which a stored credential is not searched for: it would hit ordinary words.
const KNOWN_CHARS_MIN: usize = 6;

struct Form {
    name: &'static str,
    pattern: Regex,
}

fn forms() -> &'static [Form] {
    static COMPILED: OnceLock<Vec<Form>> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let compile = |pattern: &str| Regex::new(pattern).expect("the patterns are compiled by a test");
        let form = |(name, pattern): &(&'static str, &'static str)| {
            // What stands before the secret is no part of it.
            let is_whole = compile(pattern).captures_len() == 1;
            let pattern = match pattern.strip_prefix(BORDER) {
                Some(rest) if is_whole => compile(&format!("{BORDER_IN_JSON}({rest})")),
                _ => compile(&pattern.replacen(BORDER, BORDER_IN_JSON, 1)),
            };
            Form { name, pattern }
        };
        FORMS.iter().map(form).collect()
    })
}

/// Whether some bytes may hold a secret of a known form. Quick; sees something wherever a form does in any text that lies in
/// them, and sometimes where none does.
fn may_hold_a_form(bytes: &[u8]) -> bool {
    let is_after_digits = |colon: usize| {
        let before = colon.checked_sub(TOKEN_DIGITS_MIN).map(|start| &bytes[start..colon]);
        before.is_some_and(|before| before.iter().all(u8::is_ascii_digit))
    };
    memchr::memchr_iter(b':', bytes).any(is_after_digits) || quick_forms().is_match(bytes)
}

/// One expression for all forms but tokens that begin with digits.
///
/// Each form in it begins with fixed letters, which are looked for many bytes at once. Borders of words are left out:
/// what stands before a text among encoded bytes (its length, say) can look like a letter, and would hide a secret. Without
/// them an expression has no look at what lies around a match, so that a match in a text is also one in any bytes that hold
/// the text.
fn quick_forms() -> &'static bytes::Regex {
    static COMPILED: OnceLock<bytes::Regex> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let begins_with_digits = |pattern: &str| pattern.starts_with(TOKEN_DIGITS);
        let patterns: Vec<String> = FORMS
            .iter()
            .filter(|(_, pattern)| !begins_with_digits(pattern))
            .map(|(_, pattern)| format!("(?:{})", pattern.replacen(URL_SCHEME, "", 1).replace(r"\b", "")))
            .collect();
        bytes::Regex::new(&patterns.join("|")).expect("the patterns are compiled by a test")
    })
}

/// A text as it stands between the quotes of a JSON text.
fn in_json(text: &str) -> String {
    let quoted = crate::canonical::to_string(&serde_json::Value::String(text.to_owned()));
    quoted[1..quoted.len() - 1].to_owned()
}

/// Events as they are stored, without secrets: a salt and a payload of each, one behind the other.
#[derive(Debug, Default)]
pub(crate) struct Encoded {
    pub(crate) bytes: Vec<u8>,
    /// Where each ends.
    pub(crate) ends: Vec<usize>,
    /// From which something was taken out.
    pub(crate) redacted: Vec<bool>,
}

impl Encoded {
    fn of_so_many(events: usize) -> Self {
        let bytes = Vec::with_capacity(events * BYTES_USUAL);
        Self { bytes, ends: Vec::with_capacity(events), redacted: Vec::with_capacity(events) }
    }

    fn push(&mut self, salt: &[u8; SALT_BYTES], redacted: bool, write: impl FnOnce(&mut Vec<u8>)) {
        self.bytes.extend_from_slice(salt);
        write(&mut self.bytes);
        self.ends.push(self.bytes.len());
        self.redacted.push(redacted);
    }

    /// Salt and payload of one of them.
    pub(crate) fn salted(&self, place: usize) -> &[u8] {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[place]]
    }
}

/// Replaces secrets by `<redacted:NAME:keyed-hash>`.
#[derive(Debug)]
pub struct Redactor {
    key: [u8; 32],
    known: Vec<(String, Secret)>,
}

impl Redactor {
    /// A redactor that hashes under `key` and knows the values of `known` by name.
    pub fn new(key: [u8; 32], mut known: Vec<(String, Secret)>) -> Self {
        known.retain(|(_, secret)| secret.expose_secret().chars().count() >= KNOWN_CHARS_MIN);
        // A value also lies in JSON texts, and in JSON texts within JSON texts, where quotes and the like are escaped.
        let escaped = |(name, secret): &(String, Secret)| {
            let once = in_json(secret.expose_secret());
            let twice = in_json(&once);
            [once, twice].map(|form| (name.clone(), Secret::from(form)))
        };
        let forms: Vec<(String, Secret)> = known.iter().flat_map(escaped).collect();
        for (name, form) in forms {
            if !known.iter().any(|(_, secret)| secret.expose_secret() == form.expose_secret()) {
                known.push((name, form));
            }
        }
        // The longest first: an escaped form may hold a plain one.
        known.sort_by_key(|(_, secret)| std::cmp::Reverse(secret.expose_secret().len()));
        Self { key, known }
    }

    /// The hash that stands for a secret: the same secret gives the same hash, which says nothing without the key.
    pub fn keyed_hash(&self, secret: &str) -> String {
        blake3::keyed_hash(&self.key, secret.as_bytes()).to_hex()[..16].to_owned()
    }

    /// Whether a text or encoded bytes may hold a secret. Quick; where it says no, [`Self::rewritten`] finds nothing in any
    /// text that lies in them.
    fn suspects(&self, bytes: &[u8]) -> bool {
        // The known values are searched for one by one: a joint automaton would be one more copy of them in memory.
        self.known.iter().any(|(_, secret)| memmem::find(bytes, secret.expose_secret().as_bytes()).is_some())
            || may_hold_a_form(bytes)
    }

    /// The text without its secrets; `None` when it holds none.
    pub fn redact(&self, text: &str) -> Option<String> {
        if self.suspects(text.as_bytes()) { self.rewritten(text) } else { None }
    }

    fn rewritten(&self, text: &str) -> Option<String> {
        let mut out: Option<String> = None;
        for (name, secret) in &self.known {
            let secret = secret.expose_secret();
            let current = out.as_deref().unwrap_or(text);
            if current.contains(secret) {
                out = Some(current.replace(secret, &self.placeholder(name, secret)));
            }
        }
        for form in forms() {
            let current = out.as_deref().unwrap_or(text);
            if form.pattern.is_match(current) {
                out = Some(self.replace_form(form, current));
            }
        }
        out.filter(|redacted| redacted != text)
    }

    fn replace_form(&self, form: &Form, text: &str) -> String {
        let replace = |captures: &regex::Captures<'_>| {
            let whole = captures.get(0).expect("group 0 is the match");
            let secret = captures.get(1).unwrap_or(whole);
            if secret.as_str().starts_with("<redacted:") || text[..whole.start()].ends_with("<redacted:") {
                return whole.as_str().to_owned();
            }
            let before = &text[whole.start()..secret.start()];
            let after = &text[secret.end()..whole.end()];
            format!("{before}{}{after}", self.placeholder(form.name, secret.as_str()))
        };
        form.pattern.replace_all(text, replace).into_owned()
    }

    fn placeholder(&self, name: &str, secret: &str) -> String {
        format!("<redacted:{name}:{}>", self.keyed_hash(secret))
    }

    /// Takes secrets out of events and encodes them, each behind its salt, as they are stored. `detach` is told the place of an
    /// event and moves long texts out of it before it is encoded; it is handed only texts without secrets.
    ///
    /// All that is encoded is looked through at once: what is found in a part of it is found in the whole as well.
    pub(crate) fn encode_all(
        &self,
        events: &mut [(&mut Event, [u8; SALT_BYTES])],
        mut detach: impl FnMut(usize, &mut Event),
    ) -> Encoded {
        let mut all = Encoded::of_so_many(events.len());
        let mut alone = Vec::new();
        for (place, (event, salt)) in events.iter_mut().enumerate() {
            let is_suspect = self.suspects_long(event);
            if is_suspect {
                let redacted = self.encode(event, &mut alone, |event| detach(place, event));
                all.push(salt, redacted, |bytes| bytes.extend_from_slice(&alone));
            } else {
                detach(place, event);
                all.push(salt, false, |bytes| event.encode_onto(bytes));
            }
        }
        if !self.suspects(&all.bytes) {
            return all;
        }
        // One of them, or where two of them meet.
        let mut each = Encoded::of_so_many(events.len());
        for (place, (event, salt)) in events.iter_mut().enumerate() {
            let (payload, was_redacted) = (&all.salted(place)[SALT_BYTES..], all.redacted[place]);
            if was_redacted || !self.suspects(payload) {
                each.push(salt, was_redacted, |bytes| bytes.extend_from_slice(payload));
            } else {
                let redacted = self.encode(event, &mut alone, |event| detach(place, event));
                each.push(salt, redacted, |bytes| bytes.extend_from_slice(&alone));
            }
        }
        each
    }

    /// Whether a long text of an event, which is not encoded with it, may hold a secret.
    fn suspects_long(&self, event: &mut Event) -> bool {
        let suspects = |kept: &mut Kept| kept.long().is_some_and(|text| self.suspects(text.as_bytes()));
        event.kept().into_iter().any(suspects)
    }

    /// Takes secrets out of one event and encodes it into `payload`, as it is stored. `detach` moves long texts out before it is
    /// encoded, and is handed only texts without secrets. Says whether anything was taken out.
    pub fn encode(&self, event: &mut Event, payload: &mut Vec<u8>, mut detach: impl FnMut(&mut Event)) -> bool {
        let mut encode = |event: &mut Event, payload: &mut Vec<u8>| {
            detach(event);
            payload.clear();
            event.encode_onto(payload);
        };
        if !self.suspects_long(event) {
            encode(event, payload);
            if !self.suspects(payload) {
                return false;
            }
        }
        let redacted = self.redact_event(event.clone());
        let changed = redacted != *event;
        *event = redacted;
        encode(event, payload);
        changed
    }

    /// The event without secrets, in its kept fields and in every other text of its payload.
    fn redact_event(&self, mut event: Event) -> Event {
        for kept in event.kept() {
            kept.rewrite(|text| self.rewritten(text));
        }
        let encoded = event.encode();
        let mut value = rmpv::decode::read_value(&mut encoded.as_slice()).expect("an encoded payload reads back");
        if !self.redact_value(&mut value) {
            return event;
        }
        let mut bytes = Vec::new();
        rmpv::encode::write_value(&mut bytes, &value).expect("writing to memory does not fail");
        // A «secret» that is a word of the vocabulary itself (a state's name, say) cannot be taken out of it: then each is
        // tried alone, and only that one is left.
        match Event::decode(event.label(), event.schema(), &bytes) {
            Ok(Some(redacted)) => redacted,
            Ok(None) | Err(_) => match self.known.as_slice() {
                [] => event,
                [_] => Self { key: self.key, known: Vec::new() }.redact_event(event),
                several => several
                    .iter()
                    .fold(event, |event, known| Self { key: self.key, known: vec![known.clone()] }.redact_event(event)),
            },
        }
    }

    fn redact_value(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => {
                let redacted = text.as_str().and_then(|text| self.rewritten(text));
                let changed = redacted.is_some();
                if let Some(redacted) = redacted {
                    *value = Value::from(redacted);
                }
                changed
            }
            Value::Array(items) => self.redact_all(items.iter_mut()),
            Value::Map(pairs) => self.redact_all(pairs.iter_mut().map(|(_, item)| item)),
            _ => false,
        }
    }

    /// Every one of them, also after one that changed.
    fn redact_all<'v>(&self, values: impl Iterator<Item = &'v mut Value>) -> bool {
        let mut changed = false;
        for value in values {
            changed |= self.redact_value(value);
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::instance::CredentialRemoved;

    fn redactor() -> Redactor {
        Redactor::new([1; 32], vec![("weather".to_owned(), Secret::from("hunter2hunter2".to_owned()))])
    }

    #[test]
    fn secrets_go_and_the_rest_stays() {
        let redactor = redactor();
        for secret in [
            "sk-proj-abcdefghijklmnopqrstuvwxyz0123",
            "ghp_abcdefghijklmnopqrstuvwxyz0123456789AB",
            "AKIAABCDEFGHIJKLMNOP",
            "123456789:AAFabcdefghijklmnopqrstuvwxyz012345",
            "hunter2hunter2",
        ] {
            let redacted = redactor.redact(&format!("it is {secret}, use it")).unwrap();
            assert!(!redacted.contains(secret), "{redacted}");
            assert!(redacted.starts_with("it is <redacted:") && redacted.ends_with(">, use it"), "{redacted}");
        }
        let url = redactor.redact("see https://me:s3cretword@host.test/a").unwrap();
        assert!(url.starts_with("see https://me:<redacted:url_password:") && url.ends_with(">@host.test/a"), "{url}");
    }

    #[test]
    fn a_secret_with_quotes_is_found_inside_of_json_too() {
        let secret = "pass\"word\\with\nall";
        let redactor = Redactor::new([1; 32], vec![("odd".to_owned(), Secret::from(secret.to_owned()))]);
        let once = serde_json::json!({ "a": secret }).to_string();
        let twice = serde_json::json!({ "b": once }).to_string();
        for text in [secret.to_owned(), once, twice] {
            let redacted = redactor.redact(&text).unwrap();
            assert!(redacted.contains("<redacted:odd:") && !redacted.contains("word"), "{redacted}");
        }
    }

    /// A credential whose value was the word «active» once kept every other secret of a life-cycle event in place.
    #[test]
    fn a_secret_that_is_a_word_of_the_vocabulary_shields_no_other() {
        use crate::event::executor::{LifeCycle, LifeCycleChanged};
        let known = [("word", "active"), ("real", "hunter2hunter2")];
        let known = known.map(|(name, value)| (name.to_owned(), Secret::from(value.to_owned())));
        let redactor = Redactor::new([1; 32], known.to_vec());
        let changed = LifeCycleChanged {
            name: "get_now".to_owned(),
            version: "1.0.0".to_owned(),
            from: None,
            to: LifeCycle::Active,
            reason: "hunter2hunter2 and AKIAABCDEFGHIJKLMNOP".to_owned(),
            by: "owner".to_owned(),
        };
        let mut event = Event::from(changed);
        redactor.encode(&mut event, &mut Vec::new(), |_| {});
        let Event::LifeCycleChanged(changed) = event else { panic!("another kind") };
        assert!(!changed.reason.contains("hunter2") && !changed.reason.contains("AKIA"), "{}", changed.reason);
    }

    #[test]
    fn what_is_no_secret_is_left_alone() {
        for text in [
            "7c089d54-1f6e-4b0a-9a55-0f0e2a2c9d10",
            "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
            "the password is long",
            "https://host.test:8080/a?b=c",
            "write skill-set and task-force-one to a file",
        ] {
            assert_eq!(redactor().redact(text), None, "{text}");
        }
    }

    #[test]
    fn redacting_twice_is_redacting_once() {
        let once = redactor().redact("password = correcthorse").unwrap();
        assert_eq!(redactor().redact(&once), None);
    }

    #[test]
    fn an_event_loses_its_secrets_wherever_they_are() {
        let mut event = Event::from(CredentialRemoved { name: "AKIAABCDEFGHIJKLMNOP".to_owned() });
        let mut payload = Vec::new();
        redactor().encode(&mut event, &mut payload, |_| {});
        assert_eq!(payload, event.encode());
        let Event::CredentialRemoved(payload) = event else { panic!("another kind") };
        assert!(payload.name.starts_with("<redacted:aws_key:"));
    }

    /// The length before a text can be a letter (here 0x41): a secret at the text's start must be seen all the same.
    #[test]
    fn a_secret_behind_a_length_that_is_a_letter_is_seen() {
        let name = format!("AKIAABCDEFGHIJKLMNOP{}", " .".repeat(23)) + "x";
        let mut event = Event::from(CredentialRemoved { name });
        assert!(event.encode().windows(5).any(|bytes| bytes == b"CAKIA"), "{:?}", event.encode());
        redactor().encode(&mut event, &mut Vec::new(), |_| {});
        let Event::CredentialRemoved(payload) = event else { panic!("another kind") };
        assert!(payload.name.starts_with("<redacted:aws_key:"), "{}", payload.name);
    }

    /// The quick look may leave out borders of words and nothing else that depends on what lies around a match.
    #[test]
    fn the_quick_look_sees_nothing_but_the_match() {
        for (name, pattern) in FORMS {
            let rest = pattern.replace(r"\b", "");
            for around in [r"\B", r"\A", r"\z", r"\<", r"\>", "$", "(?m", "(?x"] {
                assert!(!rest.contains(around), "{name} has {around}");
            }
            assert!(!rest.replace("[^", "").contains('^'), "{name} is anchored");
        }
    }

    /// A form is one on whatever line of a text that lies in JSON.
    #[test]
    fn a_secret_is_found_on_whatever_line_of_a_text_within_json() {
        let mut left = Vec::new();
        for secret in [
            "sk-proj-abcdefghijklmnopqrstuvwxyz0123",
            "ghp_abcdefghijklmnopqrstuvwxyz0123456789AB",
            "github_pat_abcdefghijklmnopqrstuvwxyz0123456789ABabcdefghijklmnopqr",
            "AKIAABCDEFGHIJKLMNOP",
            "AIzaabcdefghijklmnopqrstuvwxyz012345678",
            "xoxb-abcdefghij0123",
            "123456789:AAFabcdefghijklmnopqrstuvwxyz012345",
            "eyJabcdefghijk.abcdefghijk.abcdefghijk",
            "Bearer abcdefghijklmnopqrstuvwxyz",
            "Bearer\tabcdefghijklmnopqrstuvwxyz",
            "password: correcthorse",
            "password = correcthorse",
            "password:\tcorrecthorse",
            "password\t= correcthorse",
            "api_key=\"correcthorse\"",
            "postgres://me:correcthorse@host.test/a",
            "-----BEGIN PRIVATE KEY-----\nabcdefghijklmnop\n-----END PRIVATE KEY-----",
        ] {
            for before in ["", "the first line\n", "a\t", "a\r\n", "caffè\u{1}"] {
                let text = format!("{before}{secret}\nlast");
                let once = crate::canonical::to_string(&serde_json::json!({ "content": text }));
                let twice = crate::canonical::to_string(&serde_json::json!({ "content": once }));
                for (depth, text) in [text, once, twice].into_iter().enumerate() {
                    let hidden = redactor().redact(&text);
                    let core = secret.rsplit([' ', '\t', '=', '\n']).next().unwrap_or(secret).trim_matches('"');
                    let core = if secret.starts_with("-----") { "abcdefghijklmnop" } else { core };
                    let core = if secret.contains("://") { "correcthorse" } else { core };
                    if hidden.as_deref().unwrap_or(&text).contains(core) {
                        left.push(format!("depth {depth}: {text}"));
                    }
                }
            }
        }
        assert!(left.is_empty(), "{} left:\n{}", left.len(), left.join("\n"));
    }

    mod properties {
        use proptest::prelude::*;

        use super::*;
        use crate::event::turn::TurnClosed;

        /// Secrets, things that nearly are, and what lies between them.
        fn text() -> impl Strategy<Value = String> {
            let piece = prop_oneof![
                4 => "[ -~]{0,12}",
                2 => "[a-zé€\u{212a}\u{17f}\u{1f511} \n]{0,6}",
                1 => Just("hunter2hunter2".to_owned()),
                1 => "sk-(proj-)?[A-Za-z0-9_-]{17,24}",
                1 => "gh[pousr]_[A-Za-z0-9]{34,38}",
                1 => "github_pat_[A-Za-z0-9_]{48,52}",
                1 => "A(KI|SI)A[A-Z0-9]{15,17}",
                1 => "AIza[A-Za-z0-9_-]{34,36}",
                1 => "xox[abprsz]-[A-Za-z0-9-]{9,11}",
                1 => "[0-9]{7,11}:[A-Za-z0-9_-]{34,36}",
                1 => "eyJ[a-z]{9,11}\\.[a-z]{9,11}\\.[a-z]{9,11}",
                1 => "(?i:bearer)[ \n\u{a0}]{0,2}[a-z~+/]{19,21}=?",
                1 => "[a-z]{0,5}://[a-z]{0,3}:[a-zé]{0,3}@",
                2 => "(password|PASSWD|paſſword|api_?\u{212a}ey|access-token)[\"']?[:= ]{1,3}[\"']?[a-zé]{4,8}",
                1 => "-----BEGIN (RSA )?PRIVATE KEY-----[a-z\n]{0,9}(-----END PRIVATE KEY-----)?",
            ];
            proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
        }

        proptest! {
            #![proptest_config(ProptestConfig::with_cases(2048))]

            #[test]
            fn the_quick_way_finds_what_the_thorough_one_does(text in text()) {
                prop_assert_eq!(redactor().redact(&text), redactor().rewritten(&text));
            }
        }

        proptest! {
            /// In a plain text, a short kept one or one that becomes a blob, as it is or far inside.
            #[test]
            fn an_event_loses_the_same_either_way(one in text(), two in text(), pad in prop_oneof![Just(0_usize), Just(20_000)]) {
                let mut event = Event::from(TurnClosed {
                    final_kind: one.clone(),
                    class: Some(two.clone()),
                    message: Kept::text(format!("{}{two}", " ".repeat(pad))),
                    counts: std::collections::BTreeMap::from([(one, 1)]),
                });
                let thorough = redactor().redact_event(event.clone());
                let mut payload = Vec::new();
        redactor().encode(&mut event, &mut payload, |_| {});
                prop_assert_eq!(&event, &thorough);
                prop_assert_eq!(payload, thorough.encode());
            }

            /// What `detach` is handed has no secret in it.
            #[test]
            fn a_long_text_is_clean_before_it_moves_out(secret in text()) {
                let long = format!("{secret}{}", " .".repeat(10_000));
                let mut event = Event::from(TurnClosed {
                    final_kind: "answer".to_owned(),
                    class: None,
                    message: Kept::text(long.clone()),
                    counts: std::collections::BTreeMap::new(),
                });
                let mut moved = Vec::new();
                redactor().encode(&mut event, &mut Vec::new(), |event| {
                    for kept in event.kept() {
                        moved.extend(kept.detach(|_| crate::kept::BlobHash([0; 32])).map(|(_, text)| text));
                    }
                });
                // The kept fields first, then every text of the payload: what one secret hid is seen the second time.
                let once = redactor().rewritten(&long).unwrap_or(long);
                let twice = redactor().rewritten(&once).unwrap_or(once);
                prop_assert!(moved == [twice], "{:?}", &moved[0][..moved[0].len() - 20_000]);
            }
        }
    }
}
