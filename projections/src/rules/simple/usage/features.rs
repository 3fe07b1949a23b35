//! What the model of usage sees of a sentence: words, their beginnings, pairs of neighbours, kinds of spans, meanings.
//!
//! Names, paths and numbers are only kinds here («FILE», «NUM»): what they are must not matter to what is meant.

use super::super::fill::is_archive;
use super::super::items::{Item, Lines, What};
use super::super::lexicon::{Lexicons, Sense};
use super::super::lift::Looks;

/// The features of a sentence, each once, in a fixed order.
pub(crate) fn features(lexicons: &Lexicons, text: &str, items: &[Item]) -> Vec<String> {
    let named = |at: usize| at > 0 && is_name(text, &items[at - 1], &items[at]);
    let read = |(at, item): (usize, &Item)| if named(at) { vec!["NAME".to_owned()] } else { tokens(item) };
    let tokens: Vec<String> = items.iter().enumerate().flat_map(read).collect();
    let mut features = vec!["bias".to_owned()];
    for token in &tokens {
        features.extend(of_word(token));
    }
    let ends = |at: usize| tokens.get(at).map_or("$", String::as_str);
    for at in 0..=tokens.len() {
        let before = at.checked_sub(1).map_or("^", |b| tokens[b].as_str());
        features.push(format!("2:{before} {}", ends(at)));
    }
    let kinds: Vec<&str> = tokens.iter().filter(|t| is_kind(t)).map(String::as_str).collect();
    features.push(format!("k:{}", kinds.join(" ")));
    for item in items {
        features.extend(item.senses().iter().filter_map(|s| meaning(lexicons, s)));
        if item.pronoun {
            features.push("m:pronoun".to_owned());
        }
    }
    features.sort_unstable();
    features.dedup();
    features
}

/// A word in capitals that the lexicons do not know, inside of a sentence: whose name it is does not matter.
fn is_name(text: &str, before: &Item, item: &Item) -> bool {
    let opens = matches!(before.what, What::Punctuation('.' | '?' | '!'));
    let strange = item.is_unknown() || item.forgiven;
    strange && !opens && text[item.start..item.end].starts_with(char::is_uppercase)
}

/// The features of one word: itself and how it begins.
pub(super) fn of_word(token: &str) -> Vec<String> {
    let mut features = vec![format!("w:{token}")];
    if !is_kind(token) {
        for length in [4, 5, 6] {
            if let Some((end, _)) = token.char_indices().nth(length) {
                features.push(format!("b:{}", &token[..end]));
            }
        }
    }
    features
}

fn is_kind(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_uppercase())
}

/// The words of an item, and the kind of thing that it is.
fn tokens(item: &Item) -> Vec<String> {
    let words = || {
        item.folded
            .split([' ', '\''])
            .filter(|w| !w.is_empty())
            .map(|w| if w.starts_with(|c: char| c.is_ascii_digit()) { "NUM".to_owned() } else { w.to_owned() })
    };
    let with = |kind: &str| words().chain([kind.to_owned()]).collect();
    let only = |kind: &str| vec![kind.to_owned()];
    match &item.what {
        What::Punctuation(mark) if matches!(mark, '?' | ':' | '!') => vec![mark.to_string()],
        What::Punctuation(_) => Vec::new(),
        What::Word(_) => words().collect(),
        What::Path { value, looks, .. } => only(kind_of(value, *looks)),
        What::Globs { .. } => with("GLOB"),
        What::Url(_) => only("URL"),
        What::Email(_) => only("MAIL"),
        What::Quoted(_) | What::Regex(_) => only("TEXT"),
        What::Zone(_) => only("ZONE"),
        What::Number(_) => only("NUM"),
        What::Bytes(_) => only("SIZE"),
        What::Bound { least: true, .. } => with("LEAST"),
        What::Bound { .. } => with("MOST"),
        What::Lines(Lines::First(_)) => with("HEAD"),
        What::Lines(Lines::Last(_)) => with("TAIL"),
        What::Lines(_) => with("RANGE"),
        What::Affix { .. } => with("AFFIX"),
        What::Window { .. } => with("WINDOW"),
    }
}

fn kind_of(path: &str, looks: Looks) -> &'static str {
    let lower = path.to_ascii_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|e| lower.ends_with(e));
    if ends(&[".csv", ".tsv"]) {
        "TABLE"
    } else if is_archive(path) {
        "ARCHIVE"
    } else if ends(&[".pdf"]) {
        "PDF"
    } else if looks == Looks::File {
        "FILE"
    } else {
        "FOLDER"
    }
}

/// A meaning that the lexicons give, by the name of its class.
fn meaning(lexicons: &Lexicons, sense: &Sense) -> Option<String> {
    Some(match sense {
        Sense::Verb(v) => format!("v:{}", lexicons.verbs[*v].verbs[0]),
        Sense::Past(v) => format!("past:{}", lexicons.verbs[*v].verbs[0]),
        Sense::Object(o) => format!("o:{}", lexicons.objects[*o]),
        Sense::Form { index, .. } => format!("form:{}", lexicons.forms[*index]),
        Sense::Measure(m) => {
            format!("measure:{}", lexicons.measures[*m].fields.keys().cloned().collect::<Vec<_>>().join(" "))
        }
        Sense::Setting(s) => format!("s:{}={}", lexicons.settings[*s].argument, lexicons.settings[*s].value),
        Sense::Order(o) => format!("order:{} {}", lexicons.orders[*o].by, lexicons.orders[*o].desc),
        Sense::Field(f) => format!("field:{}", lexicons.fields[*f].name),
        Sense::Aggregate(a) => format!("total:{}", lexicons.aggregates[*a].op),
        Sense::Cue(cue) => format!("c:{cue:?}"),
        Sense::Ordinal(_) | Sense::Number(_) => "n:".to_owned(),
        Sense::Weekday(_) => "weekday".to_owned(),
        Sense::Period(_) => "period".to_owned(),
        Sense::Zone(_) => "zone".to_owned(),
        Sense::Globs(_) | Sense::Size(_) | Sense::Month(_) | Sense::Folder | Sense::Noise => return None,
    })
}
