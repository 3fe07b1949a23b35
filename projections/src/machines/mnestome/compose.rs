//! Composes what was wished for out of what there is: the shortest way from the output that is there to an executor that does
//! what the wished-for name says (design 6-memory, «Synt: compose first, generate last»).
//!
//! A way goes over mnests, which were seen to work, and over types that fit: a list of entries into whoever takes one, a
//! text into whoever takes one. It never passes through an executor that acts: a wish is no order. Costs no model.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use metnos_log::Micros;

use super::{Direction, Mnestome};
use crate::machines::catalog::Catalog;
use crate::manifest::{Manifest, Role};
use crate::rules::prefilter::{Hints, Index};

/// The longest way, in steps between executors (design 6-memory).
const HOPS_MAX: usize = 5;
/// How many of the best-ranked executors may be what was wished for.
const ENDS_MAX: usize = 3;
/// Below this the words of a name speak of nothing here, in thousandths.
const RELEVANCE_MIN: u16 = 250;
/// An end is ranked at least so high beside the best, in hundredths.
const END_SHARE: u32 = 60;

/// What an executor takes and gives, as far as chains go.
#[derive(Clone, Copy, Debug, Default)]
struct Ports {
    takes_entries: bool,
    takes_text: bool,
    gives_entries: bool,
    gives_text: bool,
}

impl Ports {
    fn feeds(self, next: Self) -> bool {
        (self.gives_entries && next.takes_entries) || (self.gives_text && next.takes_text)
    }
}

/// The chain of executors that does what was wished for, without the one whose output is there. `None`: there is none.
pub fn compose(
    mnestome: &Mnestome,
    catalog: &Catalog,
    index: &Index,
    (src, wished): (&str, &str),
) -> Option<Vec<String>> {
    let ports = ports(catalog);
    let ends = ends(index, &ports, wished);
    let mut waiting = VecDeque::from([vec![src.to_owned()]]);
    let mut seen = BTreeSet::from([src.to_owned()]);
    while let Some(path) = waiting.pop_front() {
        let last = path.last()?;
        if path.len() > 1 && ends.contains(last) {
            return Some(path.into_iter().skip(1).collect());
        }
        if path.len() > HOPS_MAX {
            continue;
        }
        // What was seen to work comes first, the strongest first.
        let walked = mnestome.top(Some((last, Direction::Out)), usize::MAX, Micros(0));
        let walked = walked.into_iter().map(|edge| edge.dst).filter(|dst| ports.contains_key(dst));
        let gives = ports.get(last.as_str()).copied().unwrap_or_default();
        let fitting = ports.iter().filter(|(_, next)| gives.feeds(**next)).map(|(name, _)| *name);
        let nexts: Vec<String> = walked.chain(fitting).map(str::to_owned).collect();
        for next in nexts {
            if seen.insert(next.clone()) {
                waiting.push_back(path.iter().cloned().chain([next]).collect());
            }
        }
    }
    None
}

/// The executors that only look, with what they take and give.
fn ports(catalog: &Catalog) -> BTreeMap<&str, Ports> {
    let of = |(name, _, version): (_, _, &crate::machines::catalog::Version)| {
        let manifest: Manifest = version.manifest()?;
        let asks = manifest.capabilities.iter().any(|used| used.name == "dialog:input");
        if manifest.contract.side_effects || asks {
            return None;
        }
        let takes = |roles: &[Role]| manifest.arguments.values().any(|argument| roles.contains(&argument.role));
        let output = version.definition("Output").unwrap_or_default();
        let ways = output["anyOf"].as_array().map_or(std::slice::from_ref(&output), Vec::as_slice);
        let gives = |field: &str| ways.iter().any(|way| way["properties"][field].is_object());
        let ports = Ports {
            takes_entries: takes(&[Role::Entries]),
            takes_text: takes(&[Role::Text]),
            gives_entries: gives("entries"),
            gives_text: gives("content"),
        };
        Some((name, ports))
    };
    catalog.all_active().filter_map(of).collect()
}

/// The executors that the words of a name speak of most.
fn ends(index: &Index, ports: &BTreeMap<&str, Ports>, wished: &str) -> BTreeSet<String> {
    let words = wished.replace('_', " ");
    let ranking = index.rank(&words, &Hints::default());
    if ranking.relevance_permille < RELEVANCE_MIN {
        return BTreeSet::new();
    }
    let ranked = ranking.candidates;
    let best = ranked.first().map_or(0, |first| first.score);
    let near = ranked.into_iter().filter(|candidate| candidate.score * 100 >= best * END_SHARE);
    near.filter(|candidate| ports.contains_key(candidate.tool.as_str()))
        .take(ENDS_MAX)
        .map(|candidate| candidate.tool)
        .collect()
}
