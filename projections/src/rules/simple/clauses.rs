//! Cuts a sentence into clauses: at punctuation and connectors, but only where an act or a question begins.
//!
//! «a.txt, b.txt and c.txt» stays together; «read it and tell me …» does not. A stretch without an act of its own
//! belongs to the clause before it.

use std::ops::Range;

use super::items::{Item, What};
use super::lexicon::{Cue, Lexicons};

/// The clauses, as ranges of items; connectors and punctuation between them belong to none.
pub(crate) fn clauses(lexicons: &Lexicons, items: &[Item]) -> Vec<Range<usize>> {
    let mut clauses: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while at <= items.len() {
        let boundary = items.get(at).is_none_or(|i| i.is_punctuation() || i.is(Cue::Connector));
        if !boundary {
            at += 1;
            continue;
        }
        if start < at {
            let listed = clauses.last().is_some_and(|last| items[last.clone()].iter().any(|i| i.is(Cue::Column)))
                && items.get(start + 1).is_none_or(|i| start + 1 >= at || i.is(Cue::From) || i.is(Cue::Inside));
            let opens = !listed && opens(lexicons, &items[start..at]);
            match clauses.last_mut() {
                Some(last) if !opens || !has_act(&items[last.clone()]) => last.end = at,
                _ => clauses.push(start..at),
            }
        }
        at += 1;
        start = at;
    }
    fronted(lexicons, items, clauses)
}

/// «the file ~/a.txt, bin it»: what is named first and then only meant by a pronoun is one clause with its act.
fn fronted(lexicons: &Lexicons, items: &[Item], clauses: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let things = |range: &Range<usize>| {
        items[range.clone()].iter().any(|i| matches!(i.what, What::Path { .. } | What::Globs { .. } | What::Url(_)))
    };
    let strong = |i: &Item| i.verb().is_some_and(|v| !lexicons.verbs[v].weak);
    let acts = |range: &Range<usize>| items[range.clone()].iter().any(|i| strong(i) && !i.is_noise());
    let refers = |range: &Range<usize>| items[range.clone()].iter().any(|i| i.pronoun || i.is(Cue::Pronoun));
    let mut joined: Vec<Range<usize>> = Vec::new();
    for clause in clauses {
        match joined.last_mut() {
            Some(last) if things(last) && !acts(last) && acts(&clause) && refers(&clause) && !things(&clause) => {
                last.end = clause.end;
            }
            _ => joined.push(clause),
        }
    }
    joined
}

fn has_act(items: &[Item]) -> bool {
    items.iter().any(|i| {
        (i.verb().is_some() && !i.is_noise())
            || i.is(Cue::HowMany)
            || !(i.is_noise() || i.is_punctuation() || i.is(Cue::Connector))
    }) && items.iter().any(|i| i.verb().is_some() || i.is(Cue::HowMany) || !i.is_word())
}

/// Whether the first word that carries weight is an act, a question or a restriction.
fn opens(lexicons: &Lexicons, items: &[Item]) -> bool {
    for (at, item) in items.iter().enumerate() {
        if item.is(Cue::HowMany) || item.is(Cue::Only) {
            return true;
        }
        if item.is(Cue::Not) {
            return items[at + 1..].iter().take(3).any(|i| i.verb().is_some_and(|v| !lexicons.verbs[v].weak));
        }
        if item.verb().is_some() && !item.is_noise() {
            return true;
        }
        if !(item.is_noise() || item.is(Cue::Listener) || item.is(Cue::Connector)) {
            return false;
        }
    }
    false
}
