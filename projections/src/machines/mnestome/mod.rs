//! The mnestome: which executor's output went into which, and how strong that trace is by now (design 6-memory).
//!
//! Observed, never inferred; each mnest is one step long. A mnest is keyed by both names and both versions; one whose
//! destination does not exist is a wish (`proto`). Weights are stored as of the last passing and faded when they are read.

mod ager;
mod compose;
mod drawn;
pub mod formula;
mod query;
#[cfg(test)]
mod tests;
mod usual;

use std::collections::{BTreeMap, BTreeSet};

use metnos_log::event::mnestome::{AgerRun, DesiredSignature, MnestRetagged, MnestsSeeded};
use metnos_log::{Event, Recorded};
use serde::{Deserialize, Serialize};

use crate::projection::Projection;
pub use ager::{Rejection, age, retag};
pub use compose::compose;
pub use drawn::{dot, svg};
use formula::Law;
pub use query::{Direction, Edge, Reached, Stats};
pub use usual::seed;

/// Where a mnest stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Two real executors, in use.
    #[default]
    Active,
    /// The destination does not exist.
    Proto,
    /// It fades; a passing revives it.
    Decaying,
}

impl State {
    /// Its name, as in exports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Proto => "proto",
            Self::Decaying => "decaying",
        }
    }
}

/// One trace between two executors, whose names stand where it lies in [`Mnestome::edges`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mnest {
    /// Names it: the id of the event that it began with, and its place there.
    pub id: String,
    /// The source's version.
    pub src_version: String,
    /// The destination's version; none while that does not exist.
    pub dst_version: Option<String>,
    /// What it weighed at [`Self::ts_last`], 0 to 1.
    pub weight: f64,
    /// How often it was observed; a usual pair counts as once.
    pub uses: u64,
    /// When it began, µs.
    pub ts_first: i64,
    /// When it was last observed, µs.
    pub ts_last: i64,
    /// Where it stands.
    pub state: State,
    /// What the owner files it under, and whose turns made it where that was a guest.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tags: BTreeSet<String>,
    /// Of a wish: what the executor would have to be like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired: Option<DesiredSignature>,
    /// Whether the ager proposed to archive it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_fading_away: bool,
}

/// The graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mnestome {
    /// Mnests by source and destination; several where versions differ.
    pub edges: BTreeMap<String, BTreeMap<String, Vec<Mnest>>>,
    /// Whether the usual pairs were told.
    pub is_seeded: bool,
    /// The last day that the ager ran for.
    pub aged: Option<String>,
    /// Sources by destination: the same edges from the other end.
    #[serde(skip)]
    incoming: BTreeMap<String, BTreeSet<String>>,
    #[serde(skip)]
    law: Law,
}

impl Mnestome {
    /// An empty graph under another law.
    pub fn under(law: Law) -> Self {
        Self { law, ..Self::default() }
    }

    /// The law that weights follow.
    pub fn law(&self) -> Law {
        self.law
    }

    /// The mnest between two executors in these versions, new where there is none.
    fn between(&mut self, (src, src_version): (&str, &str), (dst, dst_version): (&str, Option<&str>)) -> &mut Mnest {
        self.incoming.entry(dst.to_owned()).or_default().insert(src.to_owned());
        let versions = self.edges.entry(src.to_owned()).or_default().entry(dst.to_owned()).or_default();
        let is_it = |mnest: &Mnest| mnest.src_version == src_version && mnest.dst_version.as_deref() == dst_version;
        let at = versions.iter().position(is_it).unwrap_or_else(|| {
            let dst_version = dst_version.map(str::to_owned);
            versions.push(Mnest { src_version: src_version.to_owned(), dst_version, ..Mnest::default() });
            versions.len() - 1
        });
        &mut versions[at]
    }

    /// Every mnest with its ends.
    fn each_mut(&mut self) -> impl Iterator<Item = (&str, &str, &mut Mnest)> {
        self.edges.iter_mut().flat_map(|(src, to)| {
            to.iter_mut()
                .flat_map(move |(dst, mnests)| mnests.iter_mut().map(move |mnest| (src.as_str(), dst.as_str(), mnest)))
        })
    }

    fn seeded(&mut self, recorded: &Recorded, seeded: &MnestsSeeded) {
        self.is_seeded = true;
        let first = self.law.first;
        for (place, [src, src_version, dst, dst_version]) in (1..).zip(&seeded.pairs) {
            let mnest = self.between((src, src_version), (dst, Some(dst_version)));
            if mnest.uses == 0 {
                begin(mnest, format!("{}-{place}", recorded.id), recorded.time.0, first);
            }
        }
    }

    fn aged(&mut self, run: &AgerRun) {
        self.aged = Some(run.day.clone());
        let set = |ids: &[String]| ids.iter().cloned().collect::<BTreeSet<String>>();
        let (decaying, purged, proposed) = (set(&run.decaying), set(&run.purged), set(&run.proposed));
        for (_, _, mnest) in self.each_mut() {
            if decaying.contains(&mnest.id) {
                mnest.state = State::Decaying;
            }
            mnest.is_fading_away |= proposed.contains(&mnest.id);
        }
        if purged.is_empty() {
            return;
        }
        for to in self.edges.values_mut() {
            for mnests in to.values_mut() {
                mnests.retain(|mnest| !purged.contains(&mnest.id));
            }
            to.retain(|_, mnests| !mnests.is_empty());
        }
        self.edges.retain(|_, to| !to.is_empty());
        self.index();
    }

    fn retagged(&mut self, retagged: &MnestRetagged) {
        if let Some((_, _, mnest)) = self.each_mut().find(|(_, _, mnest)| mnest.id == retagged.mnest) {
            mnest.tags = retagged.tags.iter().cloned().collect();
        }
    }

    /// The executor that was wished for exists from here on.
    fn born(&mut self, name: &str, version: &str) {
        for to in self.edges.values_mut() {
            let Some(mnests) = to.get_mut(name) else { continue };
            for at in (0..mnests.len()).rev() {
                if mnests[at].state != State::Proto {
                    continue;
                }
                // What was observed of that version before, as after a rebirth, is the same mnest.
                let is_same = |other: &Mnest| {
                    other.src_version == mnests[at].src_version && other.dst_version.as_deref() == Some(version)
                };
                if mnests.iter().any(is_same) {
                    mnests.remove(at);
                } else {
                    mnests[at].dst_version = Some(version.to_owned());
                    mnests[at].state = State::Active;
                }
            }
        }
    }

    fn index(&mut self) {
        self.incoming = BTreeMap::new();
        for (src, to) in &self.edges {
            for dst in to.keys() {
                self.incoming.entry(dst.clone()).or_default().insert(src.clone());
            }
        }
    }
}

fn begin(mnest: &mut Mnest, id: String, time: i64, weight: f64) {
    (mnest.id, mnest.weight, mnest.uses) = (id, weight, 1);
    (mnest.ts_first, mnest.ts_last) = (time, time);
}

/// One more passing, or one more wish.
fn observe(mnest: &mut Mnest, law: Law, recorded: &Recorded) {
    let time = recorded.time.0;
    if mnest.uses == 0 {
        begin(mnest, recorded.id.to_string(), time, law.first);
    } else {
        mnest.weight = law.reinforced(mnest.weight, mnest.ts_last, time);
        mnest.uses += 1;
        mnest.ts_last = mnest.ts_last.max(time);
    }
    mnest.is_fading_away = false;
    if recorded.actor != super::actors::HOST {
        mnest.tags.insert(format!("actor:{}", recorded.actor));
    }
}

impl Projection for Mnestome {
    const NAME: &'static str = "mnestome";
    const VERSION: u32 = 1;

    fn evolve(&mut self, recorded: &Recorded) {
        let law = self.law;
        match recorded.event() {
            Some(Event::PassingObserved(passing)) => {
                let src = (passing.src.as_str(), passing.src_version.as_str());
                let mnest = self.between(src, (&passing.dst, Some(&passing.dst_version)));
                observe(mnest, law, recorded);
                mnest.state = State::Active;
            }
            // Without an output to be passed on there is no mnest.
            Some(Event::WishObserved(wish)) if !wish.src.is_empty() => {
                let mnest = self.between((&wish.src, &wish.src_version), (&wish.dst, None));
                observe(mnest, law, recorded);
                mnest.state = State::Proto;
                mnest.desired = Some(wish.desired.clone());
            }
            Some(Event::MnestsSeeded(seeded)) => self.seeded(recorded, seeded),
            Some(Event::MnestRetagged(retagged)) => self.retagged(retagged),
            Some(Event::AgerRun(run)) => self.aged(run),
            Some(Event::VersionPromoted(promoted)) => self.born(&promoted.name, &promoted.version),
            _ => {}
        }
    }

    fn restore(snapshot: &str) -> Option<Self> {
        let mut restored: Self = serde_json::from_str(snapshot).ok()?;
        restored.index();
        Some(restored)
    }
}
