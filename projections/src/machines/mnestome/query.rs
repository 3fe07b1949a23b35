//! Questions to the graph. Weights are those of the moment that is asked about.

use std::collections::{BTreeMap, BTreeSet};

use metnos_log::Micros;
use serde::Serialize;

use super::{Mnest, Mnestome, State};

/// The deepest walk.
const DEPTH_MAX: usize = 8;

/// Which end is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// What an executor's output went into.
    Out,
    /// What went into an executor.
    In,
}

/// One mnest with its ends and its weight at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge<'m> {
    /// The source.
    pub src: &'m str,
    /// The destination.
    pub dst: &'m str,
    /// The weight then.
    pub weight: f64,
    /// The rest.
    pub mnest: &'m Mnest,
}

/// An executor that a walk came to, by the strongest of the shortest ways.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reached {
    /// The executors on the way, from where the walk began.
    pub path: Vec<String>,
    /// The mean of the weights on the way.
    pub mean_weight: f64,
}

/// The graph in numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stats {
    /// Mnests by state.
    pub states: BTreeMap<&'static str, u64>,
    /// Passings and wishes in all.
    pub uses: u64,
    /// Executors at either end.
    pub executors: u64,
    /// Mnests whose archival the ager proposed.
    pub proposed: u64,
}

impl Mnestome {
    /// Every mnest, by source and destination.
    pub fn each(&self, now: Micros) -> impl Iterator<Item = Edge<'_>> {
        self.edges.iter().flat_map(move |(src, to)| {
            to.iter().flat_map(move |(dst, mnests)| mnests.iter().map(move |mnest| self.edge(src, dst, mnest, now)))
        })
    }

    fn edge<'m>(&'m self, src: &'m str, dst: &'m str, mnest: &'m Mnest, now: Micros) -> Edge<'m> {
        Edge { src, dst, weight: self.law().faded(mnest.weight, mnest.ts_last, now.0), mnest }
    }

    /// One mnest by its id.
    pub fn find(&self, id: &str, now: Micros) -> Option<Edge<'_>> {
        self.each(now).find(|edge| edge.mnest.id == id)
    }

    /// The mnests at one end of an executor, wishes left out.
    pub fn at<'m>(&'m self, name: &'m str, direction: Direction, now: Micros) -> Vec<Edge<'m>> {
        let edges = |src: &'m str, dst: &'m str, mnests: &'m [Mnest]| {
            let real = mnests.iter().filter(|mnest| mnest.state != State::Proto);
            real.map(move |mnest| self.edge(src, dst, mnest, now))
        };
        match direction {
            Direction::Out => {
                let to = self.edges.get(name).into_iter().flatten();
                to.flat_map(|(dst, mnests)| edges(name, dst, mnests)).collect()
            }
            Direction::In => {
                let from = self.incoming.get(name).into_iter().flatten();
                let found = from.filter_map(|src| Some((src, self.edges.get(src)?.get(name)?)));
                found.flat_map(|(src, mnests)| edges(src, name, mnests)).collect()
            }
        }
    }

    /// The strongest mnests: of the whole graph, or at one end of an executor; the strongest first, equals by name.
    pub fn top<'m>(&'m self, at: Option<(&'m str, Direction)>, most: usize, now: Micros) -> Vec<Edge<'m>> {
        let mut found = match at {
            Some((name, direction)) => self.at(name, direction, now),
            None => self.each(now).filter(|edge| edge.mnest.state != State::Proto).collect(),
        };
        strongest_first(&mut found);
        found.truncate(most);
        found
    }

    /// What can be come to from an executor in at most `depth` steps, wishes left out: breadth first, each by the strongest
    /// of its shortest ways, the strongest mean first within a depth.
    pub fn walk(&self, from: &str, depth: usize, now: Micros) -> Vec<Reached> {
        let mut reached = Vec::new();
        let mut seen = BTreeSet::from([from.to_owned()]);
        let mut level = vec![(vec![from.to_owned()], 0.0)];
        for steps in 1..=depth.min(DEPTH_MAX) {
            let mut next: BTreeMap<String, (Vec<String>, f64)> = BTreeMap::new();
            for (path, sum) in &level {
                let Some(last) = path.last() else { continue };
                for edge in self.at(last, Direction::Out, now).into_iter().filter(|edge| !seen.contains(edge.dst)) {
                    let total = sum + edge.weight;
                    if next.get(edge.dst).is_none_or(|(_, best)| total > *best) {
                        let path = path.iter().cloned().chain([edge.dst.to_owned()]).collect();
                        next.insert(edge.dst.to_owned(), (path, total));
                    }
                }
            }
            seen.extend(next.keys().cloned());
            level = next.into_values().collect();
            level.sort_by(|(one, a), (other, b)| b.total_cmp(a).then_with(|| one.cmp(other)));
            #[expect(clippy::cast_precision_loss, reason = "a walk has few steps")]
            let mean = |total: f64| total / steps as f64;
            reached.extend(level.iter().map(|(path, total)| Reached { path: path.clone(), mean_weight: mean(*total) }));
        }
        reached
    }

    /// Wishes, the strongest first: what synthesis would begin with.
    pub fn protos(&self, now: Micros) -> Vec<Edge<'_>> {
        let mut found: Vec<Edge<'_>> = self.each(now).filter(|edge| edge.mnest.state == State::Proto).collect();
        strongest_first(&mut found);
        found
    }

    /// The graph in numbers.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats::default();
        let mut names = BTreeSet::new();
        for edge in self.each(Micros(0)) {
            *stats.states.entry(edge.mnest.state.name()).or_default() += 1;
            stats.uses += edge.mnest.uses;
            stats.proposed += u64::from(edge.mnest.is_fading_away);
            names.extend([edge.src, edge.dst]);
        }
        stats.executors = names.len() as u64;
        stats
    }
}

fn strongest_first(edges: &mut [Edge<'_>]) {
    edges.sort_by(|one, other| {
        let names = |edge: &Edge<'_>| (edge.src.to_owned(), edge.dst.to_owned(), edge.mnest.id.clone());
        other.weight.total_cmp(&one.weight).then_with(|| names(one).cmp(&names(other)))
    });
}
