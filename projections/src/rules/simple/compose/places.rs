//! Names of things: extensions, folders and files by bare names, parts of names, zones, words that are only text.

use super::super::items::{Item, What};
use super::super::lexicon::{Cue, Lexicons, Sense};
use super::super::lift::Looks;

/// «the letter e», «la parola oggi»: the word that follows is text, whatever it means elsewhere.
pub(super) fn spelled(lexicons: &Lexicons, text: &str, items: &mut [Item]) {
    let writes =
        |i: &Item| i.verb().is_some_and(|v| matches!(lexicons.verbs[v].verbs[0].as_str(), "write" | "create" | "send"));
    for at in 1..items.len() {
        let letter = items[at - 1].object().is_none() && !items[at - 1].is(Cue::Contains);
        if !items[at - 1].is(Cue::Spelled) || !items[at].is_word() || items[..at].iter().any(writes) {
            continue;
        }
        let written = &text[items[at].start..items[at].end];
        // «passa parola a Dario»: a preposition that a name follows is no letter.
        let named = items.get(at + 1).is_some_and(|i| i.is_word() && text[i.start..].starts_with(char::is_uppercase));
        let single = written.chars().count() == 1 && !(items[at].is(Cue::Into) && named);
        let word = !written.contains(char::is_whitespace) && !items[at].is_noise();
        if single || (word && !letter) {
            items[at].what = What::Quoted(written.to_owned());
        }
    }
}

/// «head -n 5», «ls -la»: the letters of an option, whose number or path says the rest.
pub(super) fn flag(text: &str, items: &[Item], at: usize) -> Option<(What, usize)> {
    let item = &items[at];
    let before = text[..item.start].strip_suffix('-')?.trim_end_matches('-');
    let short = item.is_word()
        && (item.folded.len() <= 3 || matches!(item.folded.as_str(), "name" | "iname" | "type" | "size" | "mtime"))
        && item.folded.bytes().all(|b| b.is_ascii_lowercase());
    let led = at > 0 && before.ends_with(char::is_whitespace);
    (short && led).then(|| (What::Word(vec![Sense::Noise]), 1))
}

/// «with invoice in the name», «whose name contains "x"»: a part of a name as a glob.
pub(super) fn name_part(text: &str, items: &[Item], at: usize) -> Option<(What, usize)> {
    let held = |item: &Item| match &item.what {
        What::Quoted(held) => Some(held.clone()),
        What::Word(senses) if senses.is_empty() || item.forgiven => Some(text[item.start..item.end].to_owned()),
        _ => None,
    };
    let glob = |held: String| {
        let plain = !held.contains(['*', '?', '[', '/']);
        plain.then(|| What::Globs { base: None, globs: vec![format!("*{held}*")] })
    };
    let mut from = at + 1;
    while items.get(from).is_some_and(|i| i.is(Cue::Spelled) || (i.is(Cue::Determiner) && i.end > i.start + 1)) {
        from += 1;
    }
    let part = held(items.get(from)?)?;
    let opens = &items[at].folded;
    if items[at].is(Cue::Named) && ["contain", "contiene", " has", "con dentro"].iter().any(|w| opens.contains(w)) {
        return Some((glob(part)?, from + 1 - at));
    }
    let places = |i: &Item| {
        i.is(Cue::Named) && ["in the", "in their", "in its", "nel ", "nei "].iter().any(|w| i.folded.starts_with(w))
    };
    let closes = items.get(from + 1).is_some_and(places);
    (items[at].is(Cue::Contains) && closes).then(|| Some((glob(part)?, from + 2 - at))).flatten()
}

/// «the files named diary»: a word that names them, where nothing is made or written.
pub(super) fn named_so(lexicons: &Lexicons, text: &str, items: &[Item], at: usize) -> Option<(What, usize)> {
    let makes = |i: &Item| {
        i.verb()
            .is_some_and(|v| matches!(lexicons.verbs[v].verbs[0].as_str(), "write" | "create" | "compress" | "move"))
    };
    let files = |i: &Item| i.object().is_some_and(|o| lexicons.objects[o] == "files");
    let led = items[..at].iter().rev().find(|i| !i.is_noise() && !i.is(Cue::Pronoun)).is_some_and(files);
    let name = items.get(at + 1).filter(|i| i.is_unknown() && items[at].is(Cue::Named) && led)?;
    if items.iter().any(makes) {
        return None;
    }
    Some((What::Globs { base: None, globs: vec![format!("*{}*", &text[name.start..name.end])] }, 2))
}

/// «starting with a», «che finiscono con "x"»: how lines or names begin or end.
pub(super) fn affix(text: &str, items: &[Item], at: usize) -> Option<(What, usize)> {
    let begins = items[at].is(Cue::Begins);
    if !begins && !items[at].is(Cue::Ends) {
        return None;
    }
    let mut from = at + 1;
    while items.get(from).is_some_and(|i| i.is(Cue::Spelled) || (i.is(Cue::Determiner) && i.end > i.start + 1)) {
        from += 1;
    }
    let item = items.get(from)?;
    let closes = items.get(from + 1).is_none_or(|i| i.is_punctuation() || i.is_noise() || !i.is_word());
    let written = &text[item.start..item.end];
    let held = match &item.what {
        What::Quoted(held) | What::Path { value: held, quoted: true, .. } => held.clone(),
        What::Word(senses) if closes && (senses.is_empty() || written.chars().count() == 1) => written.to_owned(),
        _ => return None,
    };
    Some((What::Affix { begins, text: held }, from + 1 - at))
}

/// «md files», «i markdown», «every jpg»: words that stand for globs.
pub(super) fn extension(lexicons: &Lexicons, text: &str, items: &[Item], at: usize) -> Option<(What, usize)> {
    let item = &items[at];
    // «all the .ipynb»: of many, a name that begins with a point is an ending.
    if let What::Path { value, .. } = &item.what
        && let Some(ending) = value.strip_prefix('.').filter(|e| e.bytes().all(|b| b.is_ascii_alphanumeric()))
    {
        let many = |i: &Item| i.is(Cue::Every) || i.is(Cue::HowMany) || matches!(i.what, What::Number(n) if n > 1);
        let led = (at.saturating_sub(2)..at).any(|i| many(&items[i]));
        return led.then(|| (What::Globs { base: None, globs: vec![format!("*.{ending}")] }, 1));
    }
    if !item.is_word() || item.is(Cue::Restriction) {
        return None;
    }
    let files = |item: Option<&Item>| item.and_then(Item::object).is_some_and(|o| lexicons.objects[o] == "files");
    let near_files = files(items.get(at + 1)) || at > 0 && files(items.get(at - 1));
    let globs = item.senses().iter().find_map(|s| if let Sense::Globs(g) = s { Some(*g) } else { None });
    // «in Pictures» is the folder of that name.
    let led = at.checked_sub(1).is_some_and(|b| items[b].is(Cue::Inside));
    let capital = text[item.start..item.end].starts_with(char::is_uppercase);
    if led && capital && item.senses().contains(&Sense::Folder) {
        return None;
    }
    if let Some(globs) = globs {
        return Some((What::Globs { base: None, globs: lexicons.globs[globs].globs.clone() }, 1));
    }
    let known = |word: &str| lexicons.file_extensions.iter().any(|e| e == word);
    let word =
        if known(&item.folded) { item.folded.as_str() } else { item.folded.strip_suffix('s').unwrap_or(&item.folded) };
    if known(word) && word.len() >= 2 && (near_files || item.is_unknown() || item.forgiven) && !files(Some(item)) {
        return Some((What::Globs { base: None, globs: vec![format!("*.{word}")] }, 1));
    }
    None
}

/// «pictures (jpg)», «spreadsheets ending in .xlsx»: where an extension is written, the noun only says what such files are.
pub(super) fn explicit(lexicons: &Lexicons, text: &str, items: &mut [Item]) {
    let written = |item: &Item| {
        matches!(&item.what, What::Globs { .. })
            && (text[..item.end].ends_with(|c: char| c.is_ascii_alphanumeric()) && {
                let said = text[item.start..item.end].to_lowercase();
                said.contains(['.', '*']) || lexicons.file_extensions.contains(&said)
            })
    };
    // «the pdf ~/a.pdf»: a label of the path after it.
    let labels = |items: &[Item], at: usize| {
        matches!(items[at].what, What::Globs { base: None, .. })
            && items.get(at + 1).is_some_and(|i| matches!(i.what, What::Path { .. }))
    };
    if let (Some(at), Some(files)) =
        ((0..items.len()).find(|&at| labels(items, at)), lexicons.objects.iter().position(|o| o == "files"))
    {
        items[at].folded = text[items[at].start..items[at].end].to_lowercase();
        items[at].what = What::Word(vec![Sense::Object(files)]);
    }
    if !items.iter().any(written) {
        return;
    }
    let Some(files) = lexicons.objects.iter().position(|o| o == "files") else { return };
    for item in items.iter_mut().filter(|i| matches!(i.what, What::Globs { base: None, .. })) {
        let word = text[item.start..item.end].to_lowercase();
        if !word.contains(['.', '*'])
            && !lexicons.file_extensions.contains(&word)
            && !lexicons.file_extensions.iter().any(|e| word == format!("{e}s"))
        {
            item.folded = word;
            item.what = What::Word(vec![Sense::Object(files)]);
        }
    }
}

/// A folder or file that is named by a bare word: «in Documents», «the folder projects», «here».
pub(super) fn place(lexicons: &Lexicons, text: &str, items: &[Item], at: usize) -> Option<(What, usize)> {
    let item = &items[at];
    let path = |value: String, looks| Some((What::Path { value, looks, quoted: false }, 1));
    let named = items.get(at + 1).is_some_and(|i| matches!(i.what, What::Path { .. }));
    if item.is(Cue::Here) && !named && (item.folded.contains(' ') || at > 0) {
        return path(".".to_owned(), Looks::Folder);
    }
    let noun =
        |item: Option<&Item>, name: &str| item.and_then(Item::object).is_some_and(|o| lexicons.objects[o] == name);
    let written = &text[item.start..item.end];
    let before = at.checked_sub(1).and_then(|b| items.get(b));
    let after_named = before.is_some_and(|b| b.is(Cue::Named));
    let labelled = if after_named { at.checked_sub(2).and_then(|b| items.get(b)) } else { before };
    let (folder, file) = (noun(labelled, "dirs"), noun(labelled, "files") && is_singular_file(labelled));
    if item.senses().contains(&Sense::Folder) {
        let capital = written.starts_with(char::is_uppercase) && before.is_some_and(Item::is_word);
        // «the largest files in pictures»: a place at the end of what is said, where no other is named.
        let led = before.is_some_and(|b| b.is(Cue::Inside) && !b.is(Cue::Every));
        let ends = items.get(at + 1).is_none_or(|i| i.is_punctuation() || i.is(Cue::Connector));
        let alone = !items.iter().any(|i| matches!(&i.what, What::Path { value, .. } if value.contains(['/', '~'])));
        let capital = capital || (led && ends && alone);
        if capital || folder || noun(items.get(at + 1), "dirs") {
            let mut letters = written.chars();
            let name: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
            return path(format!("~/{name}"), Looks::Folder);
        }
    }
    if !(item.is_unknown() || item.forgiven && (folder || file)) {
        return match &item.what {
            What::Quoted(name) if folder && !name.contains('\n') => path(name.clone(), Looks::Folder),
            What::Quoted(name) if file && name.len() < 256 && !name.contains('\n') => path(name.clone(), Looks::File),
            _ => None,
        };
    }
    let next = items.get(at + 1);
    let closes = next.is_none_or(|n| n.is_punctuation() || n.is_noise() || n.is(Cue::Inside) || n.is(Cue::Connector));
    let folder = folder || (noun(items.get(at + 1), "dirs") && before.is_some_and(|b| b.is(Cue::Determiner)));
    // «the damn folder ~/x», «folder wanted: ~/x»: what is named is written right after.
    let placed = items[at + 1..].iter().take(2).any(|i| i.is(Cue::Inside));
    let written_out = |i: &Item| matches!(&i.what, What::Path { value, .. } if value.contains(['/', '~']));
    if !after_named && !placed && items[at + 1..].iter().take(3).any(written_out) {
        return None;
    }
    if folder || (file && closes && !item.folded.chars().all(char::is_numeric)) {
        return path(written.to_owned(), if folder { Looks::Folder } else { Looks::Either });
    }
    None
}

/// «file» in both languages is a label («the file notes») only in the singular, which Italian does not show.
fn is_singular_file(item: Option<&Item>) -> bool {
    item.is_some_and(|i| matches!(i.folded.as_str(), "file" | "document" | "documento"))
}

pub(super) fn zone(lexicons: &Lexicons, items: &[Item], at: usize) -> Option<(What, usize)> {
    let index = items[at].senses().iter().find_map(|s| if let Sense::Zone(z) = s { Some(*z) } else { None })?;
    Some((What::Zone(lexicons.zones[index].clone()), 1))
}
