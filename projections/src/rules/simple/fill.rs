//! Fills an executor's arguments from lifted things, by the roles that its manifest gives them.
//!
//! A value never comes from anywhere but the words: each one keeps the bytes that it was read from.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::items::{Item, Lines, What};
use super::lexicon::{Cue, Lexicons, Sense};
use super::lift::{Looks, byte};
use super::tools::Indexed;
use crate::manifest::Role;
use crate::plan::Origin;

/// Arguments of one step in the making.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filled {
    pub(crate) args: Map<String, Value>,
    pub(crate) provenance: BTreeMap<String, Origin>,
    /// The items that went into it.
    pub(crate) used: Vec<usize>,
}

impl Filled {
    /// Sets an argument from an item's words.
    pub(crate) fn set(&mut self, argument: &str, value: Value, items: &[Item], at: usize) {
        if let Some(there) = self.args.get(argument) {
            if *there == value {
                self.used.push(at);
            }
            return;
        }
        self.args.insert(argument.to_owned(), value);
        self.provenance.insert(format!("/{argument}"), words(&items[at]));
        self.used.push(at);
    }

    /// Adds to a list argument, or sets a single one.
    pub(crate) fn add(&mut self, tool: &Indexed, argument: &str, value: Value, items: &[Item], at: usize) -> bool {
        if !tool.is_list(argument) {
            let free = !self.args.contains_key(argument);
            self.set(argument, value, items, at);
            return free;
        }
        let list = self.args.entry(argument).or_insert_with(|| json!([]));
        let Some(list) = list.as_array_mut() else { return false };
        if list.contains(&value) {
            self.used.push(at);
            return true;
        }
        self.provenance.insert(format!("/{argument}/{}", list.len()), words(&items[at]));
        list.push(value);
        self.used.push(at);
        true
    }

    /// Sets an argument that comes from an earlier step's output.
    pub(crate) fn refer(&mut self, argument: &str, step: u32, path: &str) {
        let (key, value) = if path.is_empty() {
            ("from_step", json!(step))
        } else {
            (argument, json!(format!("{{{{step{step}.{path}}}}}")))
        };
        self.args.insert(key.to_owned(), value);
        self.provenance.insert(format!("/{key}"), Origin::Step { step, path: path.to_owned() });
    }
}

pub(crate) fn words(item: &Item) -> Origin {
    Origin::Words { start: byte(item.start), end: byte(item.end) }
}

/// Whether `item` names a file or folder, and how it looks.
pub(crate) fn path(item: &Item) -> Option<(&str, Looks)> {
    if let What::Path { value, looks, .. } = &item.what { Some((value, *looks)) } else { None }
}

/// Whether a path is named like an archive that can be packed and unpacked.
pub(crate) fn is_archive(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    [".zip", ".tar.gz", ".tgz", ".tar"].iter().any(|ending| lower.ends_with(ending))
}

/// Fills all arguments that the items at `available` can fill. `target` is the path that is written, if one is.
pub(crate) fn fill(
    lexicons: &Lexicons,
    tool: &Indexed,
    items: &[Item],
    available: &[usize],
    target: Option<usize>,
) -> Filled {
    let mut filled = Filled::default();
    targets(tool, items, available, target, &mut filled);
    paths(tool, items, available, target, &mut filled);
    patterns(tool, items, available, &mut filled);
    for &at in available {
        values(tool, items, at, &mut filled);
        settings(lexicons, tool, items, at, &mut filled);
    }
    kinds(lexicons, tool, items, available, &mut filled);
    cued(tool, items, available, &mut filled);
    flat(tool, items, available, &mut filled);
    filled
}

/// «~/x/*.tmp» names what lies in that very folder, as in every shell; `**` and «in subfolders» say otherwise.
fn flat(tool: &Indexed, items: &[Item], available: &[usize], filled: &mut Filled) {
    let placed = available.iter().any(|&at| match &items[at].what {
        What::Globs { base: Some(_), globs } => globs.iter().all(|g| !g.contains("**")),
        _ => false,
    });
    if placed && tool.accepts("recursive", &json!(false)) && !filled.args.contains_key("recursive") {
        filled.args.insert("recursive".to_owned(), json!(false));
        filled.provenance.insert("/recursive".to_owned(), Origin::Default);
    }
}

fn targets(tool: &Indexed, items: &[Item], available: &[usize], target: Option<usize>, filled: &mut Filled) {
    let single = tool.with_role(Role::TargetPath).any(|a| !tool.is_list(a));
    for argument in tool.with_role(Role::TargetPath) {
        let many = tool.is_list(argument);
        if many && !single {
            let paths: Vec<usize> = available.iter().copied().filter(|&at| path(&items[at]).is_some()).collect();
            if within(tool, argument, items, &paths, filled) {
                continue;
            }
        }
        let chosen =
            available.iter().filter(|&&at| if many { !(single && Some(at) == target) } else { Some(at) == target });
        for &at in chosen {
            if let Some((value, _)) = path(&items[at]) {
                filled.add(tool, argument, json!(value), items, at);
            }
        }
    }
}

fn paths(tool: &Indexed, items: &[Item], available: &[usize], target: Option<usize>, filled: &mut Filled) {
    let takes_target = tool.with_role(Role::TargetPath).next().is_some();
    let Some(argument) = tool.with_role(Role::Path).next() else { return };
    let sources: Vec<usize> = available
        .iter()
        .copied()
        .filter(|&at| path(&items[at]).is_some() && !(takes_target && Some(at) == target))
        .collect();
    if tool.is_list(argument) {
        if joined(tool, argument, items, &sources, filled) {
            return;
        }
        for at in sources {
            let value = path(&items[at]).map(|(value, _)| json!(value)).unwrap_or_default();
            filled.add(tool, argument, value, items, at);
        }
        return;
    }
    let inside = |&&at: &&usize| at > 0 && items[at - 1].is(Cue::Inside);
    let best = sources
        .iter()
        .find(|&&at| path(&items[at]).is_some_and(|(_, looks)| looks == Looks::Folder))
        .or_else(|| {
            sources
                .iter()
                .find(|&&at| path(&items[at]).is_some_and(|(v, looks)| looks != Looks::File && v.contains('/')))
        })
        .or_else(|| sources.iter().find(inside))
        .or_else(|| sources.first());
    if let Some(&at) = best {
        if let Some((value, _)) = path(&items[at]) {
            filled.set(argument, json!(value), items, at);
        }
        let bare =
            sources.iter().filter(|&&other| other != at && path(&items[other]).is_some_and(|(v, _)| !v.contains('/')));
        if let Some(pattern) = tool.with_role(Role::Pattern).find(|a| tool.is_list(a)) {
            for &other in bare {
                let value = path(&items[other]).map(|(value, _)| json!(value)).unwrap_or_default();
                filled.add(tool, pattern, value, items, other);
            }
        }
    }
}

/// «a folder receipts inside ~/tax»: a bare name and, after a word of place, the folder that it lies in.
fn within(tool: &Indexed, argument: &str, items: &[Item], paths: &[usize], filled: &mut Filled) -> bool {
    let [one, other] = *paths else { return false };
    let bare = |at: usize| path(&items[at]).is_some_and(|(value, _)| !value.contains('/') && value != "~");
    let (name, folder) = match (bare(one), bare(other)) {
        (true, false) => (one, other),
        (false, true) => (other, one),
        _ => return false,
    };
    let passes = |i: &&Item| i.is(Cue::Inside) || !(i.object().is_some() || i.is(Cue::Determiner));
    let led = items[..folder].iter().rev().find(passes).is_some_and(|i| i.is(Cue::Inside));
    let (Some((place, looks)), Some((value, _))) = (path(&items[folder]), path(&items[name])) else { return false };
    if !led || looks == Looks::File {
        return false;
    }
    filled.add(tool, argument, json!(format!("{}/{value}", place.trim_end_matches('/'))), items, name);
    let (from, to) = (items[one].start, items[other].end);
    filled.provenance.insert(format!("/{argument}/0"), Origin::Words { start: byte(from), end: byte(to) });
    filled.used.push(folder);
    true
}

/// «notes.txt in ~/docs» is one file: a bare name and the folder that a word of place introduces right after it.
fn joined(tool: &Indexed, argument: &str, items: &[Item], sources: &[usize], filled: &mut Filled) -> bool {
    let [file, folder] = *sources else { return false };
    let (Some((name, Looks::File)), Some((place, looks))) = (path(&items[file]), path(&items[folder])) else {
        return false;
    };
    let nearby = items[file + 1..folder].iter().all(Item::is_noise) && items[folder - 1].is(Cue::Inside);
    if name.contains('/') || looks == Looks::File || !nearby || folder == file + 1 {
        return false;
    }
    filled.add(tool, argument, json!(format!("{}/{name}", place.trim_end_matches('/'))), items, file);
    let origin = Origin::Words { start: byte(items[file].start), end: byte(items[folder].end) };
    filled.provenance.insert(format!("/{argument}/0"), origin);
    filled.used.push(folder);
    true
}

fn patterns(tool: &Indexed, items: &[Item], available: &[usize], filled: &mut Filled) {
    let Some(argument) = tool.with_role(Role::Pattern).find(|a| tool.is_list(a)) else { return };
    for &at in available {
        match &items[at].what {
            What::Affix { begins, text } if !text.contains(['*', '?', '[']) => {
                let glob = if *begins { format!("{text}*") } else { format!("*{text}") };
                filled.add(tool, argument, json!(glob), items, at);
            }
            What::Globs { base, globs } => {
                for glob in globs {
                    filled.add(tool, argument, json!(glob), items, at);
                }
                let place = tool.with_role(Role::Path).next().filter(|a| !tool.is_list(a));
                if let (Some(base), Some(place)) = (base, place) {
                    filled.set(place, json!(base), items, at);
                }
            }
            What::Affix { begins, text } if !text.contains(['*', '?', '[', '/']) => {
                let glob = if *begins { format!("{text}*") } else { format!("*{text}") };
                filled.add(tool, argument, json!(glob), items, at);
            }
            What::Quoted(name) | What::Path { value: name, .. } if !filled.used.contains(&at) => {
                let before = at.checked_sub(1).filter(|&b| items[b].is(Cue::Named));
                let after =
                    Some(at + 1).filter(|&a| items.get(a).is_some_and(|i| i.is(Cue::Named)) && before.is_none());
                let Some(cue) = before.or(after) else { continue };
                let whole = before.is_some() && name.contains(['.', '*']);
                let glob = if whole { name.clone() } else { format!("*{name}*") };
                filled.add(tool, argument, json!(glob), items, at);
                filled.used.push(cue);
                filled.used.extend(at.checked_sub(1).filter(|&b| items[b].is(Cue::Contains)));
            }
            _ => {}
        }
    }
}

fn values(tool: &Indexed, items: &[Item], at: usize, filled: &mut Filled) {
    let named = |role: Role, parts: &[&str]| {
        tool.with_role(role).find(|a| a.split('_').any(|part| parts.contains(&part))).map(str::to_owned)
    };
    match &items[at].what {
        What::Url(url) => {
            if let Some(argument) = tool.with_role(Role::Url).next() {
                filled.add(tool, argument, json!(url), items, at);
            }
        }
        What::Zone(zone) => {
            if let Some(argument) = tool.with_role(Role::Timezone).next() {
                filled.add(tool, argument, json!(zone), items, at);
            }
        }
        What::Bound { least, bytes } => {
            if let Some(argument) = named(Role::Size, if *least { &["min"] } else { &["max"] }) {
                filled.set(&argument, json!(bytes), items, at);
            }
        }
        What::Window { window, .. } => {
            let ends = [(&window.since, ["since", "after"]), (&window.until, ["until", "before"])];
            for (moment, parts) in ends {
                if let (Some(moment), Some(argument)) = (moment, named(Role::Time, &parts)) {
                    filled.set(&argument, json!(moment), items, at);
                }
            }
        }
        What::Lines(lines) => {
            let (parts, value) = match lines {
                Lines::First(n) => (["head", "first"], json!(n)),
                Lines::Last(n) => (["tail", "last"], json!(n)),
                Lines::Range(..) | Lines::From(_) | Lines::Until(_) => {
                    let range = match lines {
                        Lines::From(n) => json!({"start": n}),
                        Lines::Until(n) => json!({"end": n}),
                        Lines::Range(from, to) => json!({"start": from, "end": to}),
                        Lines::First(_) | Lines::Last(_) => return,
                    };
                    if tool.accepts("range", &range) {
                        filled.set("range", range, items, at);
                    }
                    return;
                }
            };
            if let Some(argument) = named(Role::Count, &parts) {
                filled.set(&argument, value, items, at);
            }
        }
        What::Quoted(text) if tool.acts() => {
            if let Some(argument) = tool.with_role(Role::Content).next() {
                filled.set(argument, json!(text), items, at);
            }
        }
        _ => {}
    }
}

fn settings(lexicons: &Lexicons, tool: &Indexed, items: &[Item], at: usize, filled: &mut Filled) {
    for sense in items[at].senses() {
        if let Sense::Setting(index) = sense {
            let setting = &lexicons.settings[*index];
            let text = matches!(tool.role(&setting.argument), Some(Role::Content | Role::Text));
            if (tool.acts() || !text) && tool.accepts(&setting.argument, &setting.value) {
                filled.set(&setting.argument, setting.value.clone(), items, at);
            }
        }
    }
}

/// «folders» and «files and folders» set the kind of entry where an executor knows kinds.
fn kinds(lexicons: &Lexicons, tool: &Indexed, items: &[Item], available: &[usize], filled: &mut Filled) {
    let noun = |name: &str| {
        available.iter().copied().find(|&at| {
            let after_path = at > 0 && path(&items[at - 1]).is_some();
            let other = after_path || is_label(items, at) || is_depth(items, at);
            !other && items[at].object().is_some_and(|o| lexicons.objects[o] == name)
        })
    };
    let (Some(folder), file) = (noun("dirs"), noun("files")) else { return };
    let kind = if file.is_some() { json!("any") } else { json!("dir") };
    if tool.accepts("kind", &kind) {
        filled.set("kind", kind, items, folder);
    }
}

/// «and its subfolders»: how deep to look, not what to look for; that it is only after «how many» or a verb.
pub(crate) fn is_depth(items: &[Item], at: usize) -> bool {
    let deep = items[at].senses().iter().any(|s| matches!(s, Sense::Setting(_)));
    let asked = items[..at].iter().rev().find(|i| !i.is_noise() || i.is(Cue::HowMany) || i.verb().is_some());
    deep && !asked.is_some_and(|i| i.is(Cue::HowMany) || i.verb().is_some())
}

/// A noun that only labels the path or address after it («the file ~/a.txt», «nella cartella ~/x»).
pub(crate) fn is_label(items: &[Item], at: usize) -> bool {
    // «which subfolders does ~/x have»: they are asked for, ~/x is none of them.
    let has = |i: &Item| i.is(Cue::Where) || i.is(Cue::Reports) || i.is(Cue::Has);
    let place = |i: &Item| i.is(Cue::Inside) || i.is(Cue::From) || has(i);
    let passes =
        |i: &Item| i.is(Cue::Named) || i.is_punctuation() || (i.is_noise() && i.object().is_none() && !place(i));
    // «the Downloads folder»: the noun right behind a path that an article leads to.
    let after = at > 1
        && matches!(items[at - 1].what, What::Path { .. })
        && items[at].object().is_some()
        && (items[at - 2].is(Cue::Determiner) || items[at - 2].is(Cue::Inside) || items[at - 2].is(Cue::Listener));
    if after {
        return true;
    }
    let next = items[at + 1..].iter().find(|i| !passes(i));
    next.is_some_and(|i| matches!(i.what, What::Path { .. } | What::Url(_)))
}

/// Arguments whose manifest names the words that introduce them take the number, quotation or word that follows.
fn cued(tool: &Indexed, items: &[Item], available: &[usize], filled: &mut Filled) {
    for (argument, told) in &tool.tool.manifest.arguments {
        if filled.args.contains_key(argument)
            || matches!(told.role, Role::Path | Role::TargetPath | Role::Recipient | Role::Content | Role::Command)
        {
            continue;
        }
        for cue in told.cues.iter().flat_map(|c| c.values().flatten()) {
            let cue = super::words::fold(cue);
            let found = available.iter().copied().find(|&at| {
                items[at].is_word()
                    && !items[at].is_noise()
                    && items[at].folded == cue
                    && available.binary_search(&(at + 1)).is_ok()
            });
            let Some(at) = found.filter(|at| !filled.used.contains(&(at + 1))) else { continue };
            let value = match &items[at + 1].what {
                // A size has a unit: «over 100» may be anything; times are lifted before.
                What::Number(_) if told.role == Role::Size => continue,
                _ if told.role == Role::Time => continue,
                What::Number(n) => json!(n),
                What::Quoted(text) => json!(text),
                What::Word(senses) if senses.is_empty() => json!(items[at + 1].folded),
                _ => continue,
            };
            if tool.accepts(argument, &value) {
                filled.set(argument, value, items, at + 1);
                filled.used.push(at);
                break;
            }
        }
    }
}
