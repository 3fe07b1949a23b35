//! How much memory a template may take. It comes with an executor, and is filled in outside of any cage.
//!
//! Steps are counted by the engine. What grows without steps is bounded here: there is no state that outlives a turn of a loop,
//! no list out of nothing; texts that are made of others are refused before they are made; what comes out ends where it is long.

use std::borrow::Cow;
use std::io;

use minijinja::value::{Serde, Value};
use minijinja::{Environment, Error, ErrorKind};
use serde::Serialize;

use crate::messages::environment;

/// The most bytes that a text made by a filter has, and that come out.
const TEXT_BYTES_MAX: usize = 16 << 20;
/// The most bytes that variables may come to hold.
const HELD_BYTES_MAX: usize = 256 << 20;
/// What a small result has.
const SMALL_BYTES: usize = 4096;
/// The most turns of loops that steps are given for.
const LOOPS_MAX: usize = 500_000;
/// The tags that there are: others keep state, or take in what comes out.
const TAGS: [&str; 8] = ["if", "elif", "else", "endif", "for", "endfor", "set", "endset"];
/// Functions and filters that make much of little, and that no presentation needs.
const FUNCTIONS: [&str; 2] = ["namespace", "range"];
const FILTERS: [&str; 5] = ["batch", "format", "indent", "pprint", "slice"];

/// Fills a presentation in with values that are about so many bytes.
pub(crate) fn filled(template: &str, values: impl Serialize, bytes: impl FnOnce() -> usize) -> Result<String, Error> {
    refuse_growth(template, bytes)?;
    let mut environment = environment();
    bound(&mut environment);
    let mut filled = Filled::default();
    environment.template_from_str(template)?.render_captured_to(Serde(values), &mut filled)?;
    Ok(filled.text())
}

/// Why a presentation would not be filled in, whatever there is to say: one that cannot be read, asks for what there is not, or
/// could grow without end out of a small result.
pub fn check(template: &str) -> Result<(), String> {
    let said = |error: &Error| {
        let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
        error
            .line()
            .filter(|line| *line > 1)
            .map_or_else(|| detail.clone(), |line| format!("{detail} (its line {line})"))
    };
    refuse_growth(template, || SMALL_BYTES).map_err(|error| said(&error))?;
    let mut environment = environment();
    bound(&mut environment);
    let read = environment.template_from_str(template).map_err(|error| said(&error))?;
    let nothing = serde_json::json!({ "result": {}, "args": {}, "metadata": {} });
    // Nothing is there to be said yet; only what is there for no result is a fault of the presentation.
    let missing = |error: &Error| {
        matches!(
            error.kind(),
            ErrorKind::UnknownFilter | ErrorKind::UnknownFunction | ErrorKind::UnknownTest | ErrorKind::UnknownMethod
        )
    };
    match read.render(Serde(nothing)) {
        Err(error) if missing(&error) => Err(said(&error)),
        _ => Ok(()),
    }
}

/// Takes out of an environment what has no bounds, and bounds the rest.
fn bound(environment: &mut Environment<'_>) {
    for name in FUNCTIONS {
        environment.remove_global(name);
    }
    for name in FILTERS {
        environment.remove_filter(name);
    }
    environment.add_filter("replace", replaced);
    environment.add_filter("join", joined);
}

fn too_long() -> Error {
    Error::new(ErrorKind::InvalidOperation, "the text would be too long")
}

fn replaced(value: &Value, from: &str, to: &str) -> Result<String, Error> {
    let value = value.as_str().map_or_else(|| Cow::Owned(value.to_string()), Cow::Borrowed);
    let places = if from.is_empty() { value.len() + 1 } else { value.matches(from).count() };
    let grown = places.checked_mul(to.len()).and_then(|more| more.checked_add(value.len()));
    match grown {
        Some(bytes) if bytes <= TEXT_BYTES_MAX => Ok(value.replace(from, to)),
        _ => Err(too_long()),
    }
}

fn joined(value: &Value, by: Option<&str>) -> Result<String, Error> {
    let mut text = String::new();
    for (place, item) in value.try_iter()?.enumerate() {
        if place > 0 {
            text.push_str(by.unwrap_or_default());
        }
        match item.as_str() {
            Some(part) => text.push_str(part),
            None => text.push_str(&item.to_string()),
        }
        if text.len() > TEXT_BYTES_MAX {
            return Err(too_long());
        }
    }
    Ok(text)
}

/// Refuses a template whose variables could come to hold too much of values of so many bytes. Each place where a tag may begin is
/// read for itself, also where it is part of a quotation or a comment: what is seen there only makes the bound a lower one.
fn refuse_growth(template: &str, bytes: impl FnOnce() -> usize) -> Result<(), Error> {
    let tags: Vec<Tag<'_>> = template.match_indices("{%").map(|(at, _)| Tag::at(template, at)).collect();
    if tags.iter().any(|tag| !TAGS.contains(&tag.word)) {
        return Err(Error::new(ErrorKind::InvalidOperation, "a presentation has if, for and set, and no other tags"));
    }
    // A list times a number, and a loop that calls itself.
    if template.contains('*') || template.contains("recursive") {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            "a presentation has no «*», and no loop that calls itself",
        ));
    }
    if tags.iter().all(|tag| tag.word != "set") {
        return Ok(());
    }
    let base = bytes().saturating_add(template.len());
    let mut held = base;
    let mut names = Vec::new();
    let blocks_end = template.rfind("endset").unwrap_or_default();
    for tag in &tags {
        if tag.word == "for" {
            names.extend(words(tag.rest).take_while(|word| *word != "in"));
        }
        if tag.word != "set" {
            continue;
        }
        let (left, value) = tag.rest.split_once('=').unwrap_or((tag.rest, ""));
        // A block holds what comes out up to its end, which is nowhere behind the last one.
        let is_block = !tag.rest.trim_start().trim_start_matches(is_of_a_word).trim_start().starts_with(['=', ',']);
        let inside = if is_block { template.get(tag.at..blocks_end).unwrap_or_default() } else { "" };
        let made_of = |word: &str| match word {
            _ if names.contains(&word) => held,
            "result" | "args" | "metadata" => base,
            _ => 0,
        };
        let parts = words(value).chain(words(inside)).map(made_of);
        let whole = parts.fold(base, usize::saturating_add);
        let loops = words(inside).filter(|word| *word == "for").count();
        let each = (0..loops).fold(1_usize, |times, _| times.saturating_mul(base)).min(LOOPS_MAX);
        held = held.max(whole.saturating_mul(each));
        names.extend(words(left));
    }
    if held > HELD_BYTES_MAX { Err(too_long()) } else { Ok(()) }
}

/// A tag as it is if one begins there.
struct Tag<'t> {
    at: usize,
    word: &'t str,
    /// What is between its word and its end.
    rest: &'t str,
}

impl<'t> Tag<'t> {
    fn at(template: &'t str, at: usize) -> Self {
        let text = template[at + 2..].trim_start_matches(['-', '+']).trim_start();
        let (word, rest) = text.split_at(text.find(|sign: char| !is_of_a_word(sign)).unwrap_or(text.len()));
        let (mut quote, mut is_escaped) = (None, false);
        let end = rest.char_indices().find(|(at, sign)| {
            match (quote, sign) {
                _ if is_escaped => is_escaped = false,
                (Some(_), '\\') => is_escaped = true,
                (Some(open), sign) if open == *sign => quote = None,
                (None, '"' | '\'') => quote = Some(*sign),
                (None, '%') => return rest[*at..].starts_with("%}"),
                _ => {}
            }
            false
        });
        let bytes = end.map_or(rest.len(), |(at, _)| at);
        Self { at, word, rest: &rest[..bytes] }
    }
}

fn is_of_a_word(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|sign| !is_of_a_word(sign)).filter(|word| !word.is_empty())
}

/// What comes out of a template, up to its end.
#[derive(Default)]
struct Filled(Vec<u8>);

impl Filled {
    fn text(self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

impl io::Write for Filled {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > TEXT_BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_would_grow_without_end_is_refused() {
        let long = "x".repeat(100_000);
        let values = json!({ "s": long, "l": vec![0; 10_000] });
        let doubled = "{% set a = s ~ s %}".to_owned() + &"{% set a = a ~ a %}".repeat(40);
        for template in [
            r#"{% set x = namespace(s="aaaaaaaaaa") %}{% for i in l %}{% set x.s = x.s ~ x.s %}{% endfor %}{{ x.s | length }}"#,
            &format!("{doubled}{{{{ a | length }}}}"),
            "{% for i in l %}{{ s }}{% endfor %}",
            "{{ s | replace('x', s) | length }}",
            "{{ s | replace('', s) | length }}",
            "{{ s | list | join(s) | length }}",
            "{{ s | indent(1000000) }}",
            "{{ l | slice(2000000000) | list | length }}",
            "{{ l | batch(2000000000, 0) | list | length }}",
            "{% for i in range(1000000) %}{{ s }}{% endfor %}",
            "{% set b %}{% for i in l %}{{ s }}{% endfor %}{% endset %}{{ b | length }}",
            "{% set b %}{{ s }}{{ s }}{% endset %}{% set b %}{{ b }}{{ b }}{{ b }}{{ b }}{{ b }}{{ b }}{{ b }}{% endset %}{% set c = b * 400 %}{{ c }}",
            "{{ [s, s] * 100000000 }}",
            "{{ ([s] * 100000000) | list | length }}",
            // Whatever they are written with.
            &doubled.replace("set a", "set\na"),
            &"{% set a = '%}' ~ a ~ a %}".repeat(40),
            &"{% set a = '{% set' ~ a ~ a %}".repeat(40),
            &("{% set a = [s, s] %}".to_owned() + &"{% set a = [a, a] %}".repeat(40) + "{{ a | string | length }}"),
            &"{% with a = a ~ a %}".repeat(40),
            "{# {% set q = ' #}{% filter upper %}{{ s }}{% endfilter %}",
            "{% set x %}{{ 'endset' }}{% for i in l %}{{ s }}{% endfor %}{% endset %}{{ x | length }}",
            "{% set x %}{% set q = 1 %}{% for i in l %}{{ s }}{% endfor %}{% endset %}{{ x | length }}",
            "{% for i in l recursive %}{{ loop(l) }}{% endfor %}",
        ] {
            let shown: String = template.chars().take(80).collect();
            assert!(filled(template, &values, || 110_000).is_err(), "{shown}");
        }
    }

    #[test]
    fn what_stays_small_is_filled_in() {
        let values = json!({ "s": "a\nb", "l": ["x", 2, true] });
        for (template, said) in [
            ("{% set n = l | length %}{% set t = s ~ '!' %}{{ n }} {{ t }}", "3 a\nb!"),
            ("{{ s | replace('\n', ' ') }} {{ l | join(', ') }} {{ l | join }}", "a b x, 2, True x2True"),
            ("{% set what %}{% if l %}{{ l[0] }}{% endif %}{% endset %}{{ what }}", "x"),
        ] {
            assert_eq!(filled(template, &values, || 50).unwrap(), said, "{template}");
        }
    }
}
