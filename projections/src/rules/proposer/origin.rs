//! Where the values of a model's call come from: the person's own words, where they stand there as they are; else the model.
//!
//! Only whole words count: a folder above what was typed, or a letter of a word, was not said by anyone.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::plan::Origin;
use crate::rules::references;

/// What a sentence and its surroundings say.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// The person's words.
    pub text: &'a str,
    /// What `~` stands for.
    pub home: &'a str,
    /// Where relative paths start.
    pub folder: &'a str,
}

/// The origin of every value, by JSON pointer. References have none yet: they get that of the step.
pub fn origins(args: &Value, said: Said<'_>) -> BTreeMap<String, Origin> {
    let mut found = BTreeMap::new();
    walk(args, "", said, &mut found);
    found
}

fn walk(value: &Value, pointer: &str, said: Said<'_>, found: &mut BTreeMap<String, Origin>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(item, &format!("{pointer}/{index}"), said, found);
            }
        }
        Value::Object(map) => {
            for (name, item) in map {
                walk(item, &format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1")), said, found);
            }
        }
        Value::String(text) if references::reference(text).is_some() => {}
        _ if pointer == "/from_step" => {}
        Value::String(text) => {
            found.insert(pointer.to_owned(), of(text, said));
        }
        Value::Number(number) => {
            found.insert(pointer.to_owned(), of(&number.to_string(), said));
        }
        Value::Null | Value::Bool(_) => {
            found.insert(pointer.to_owned(), Origin::Model);
        }
    }
}

/// Where one value stands in the words: itself, or the same path as a person writes it.
fn of(value: &str, said: Said<'_>) -> Origin {
    let below = |folder: &str| {
        let rest = value.strip_prefix(folder.trim_end_matches('/'))?.strip_prefix('/')?;
        (!folder.is_empty() && !rest.is_empty()).then(|| rest.to_owned())
    };
    let spelled = [
        Some(value.to_owned()),
        below(said.home).map(|rest| format!("~/{rest}")),
        below(said.folder),
        value.strip_prefix("./").map(str::to_owned),
        value.strip_prefix("~/").map(|rest| format!("{}/{rest}", said.home.trim_end_matches('/'))),
        value.strip_suffix('/').filter(|rest| !rest.is_empty()).map(str::to_owned),
    ];
    let found = spelled.iter().flatten().find_map(|spelling| place(said.text, spelling));
    found.map_or(Origin::Model, |(start, end)| Origin::Words { start, end })
}

/// Where a text stands whole in another.
fn place(text: &str, value: &str) -> Option<(u32, u32)> {
    if value.trim().is_empty() {
        return None;
    }
    let opens = |c: char| c.is_whitespace() || "\"'«“”‘’([{<,;:".contains(c);
    let closes = |rest: &str| {
        let mut chars = rest.chars();
        match chars.next() {
            None => true,
            // The mark that ends a sentence, not the one inside of a name.
            Some('.' | '!' | '?' | ':' | '/') => chars.next().is_none_or(char::is_whitespace),
            Some(c) => c.is_whitespace() || "\"'»”“’‘)]}>,;".contains(c),
        }
    };
    let (start, found) = text
        .match_indices(value)
        .find(|(at, found)| text[..*at].chars().next_back().is_none_or(opens) && closes(&text[at + found.len()..]))?;
    let end = start + found.len();
    Some((u32::try_from(start).ok()?, u32::try_from(end).ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SAID: Said<'static> = Said {
        text: "read ~/notes/diary.md, then l'altro file «my list.txt» and write 3 lines to /tmp/out.txt.",
        home: "/home/o",
        folder: "/home/o/docs",
    };

    fn word(value: &str) -> Option<&'static str> {
        let Origin::Words { start, end } = of(value, SAID) else { return None };
        Some(&SAID.text[start as usize..end as usize])
    }

    #[test]
    fn what_the_person_wrote_is_theirs_however_a_path_is_spelled() {
        assert_eq!(word("~/notes/diary.md"), Some("~/notes/diary.md"));
        assert_eq!(word("/home/o/notes/diary.md"), Some("~/notes/diary.md"));
        assert_eq!(word("my list.txt"), Some("my list.txt"));
        assert_eq!(word("/home/o/docs/my list.txt"), Some("my list.txt"));
        assert_eq!(word("/tmp/out.txt"), Some("/tmp/out.txt"));
        assert_eq!(word("3"), Some("3"));
    }

    #[test]
    fn what_only_stands_inside_of_words_was_not_said() {
        for invented in [
            "~/notes",
            "/home/o/notes",
            "/tmp",
            "/",
            "~",
            "diary",
            "diary.md",
            "out.txt",
            "",
            " ",
            "e",
            "/tmp/out",
            "30",
        ] {
            assert_eq!(word(invented), None, "{invented}");
        }
    }

    #[test]
    fn every_value_has_its_own_origin() {
        let args = json!({ "paths": ["/tmp/out.txt", "/etc/passwd"], "from_step": 1, "content": "{{step1.content}}", "deep": { "a/b": 3 } });
        let found = origins(&args, SAID);
        assert!(matches!(found["/paths/0"], Origin::Words { .. }) && found["/paths/1"] == Origin::Model);
        assert!(matches!(found["/deep/a~1b"], Origin::Words { .. }));
        assert_eq!(found.len(), 3);
    }
}
