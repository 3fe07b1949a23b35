//! Groups of words that mean nearly the same, from `vocabulary.txt`: a general table, made for no catalog.
//!
//! It knows single words only; what an executor's own people call it stands in its affinity.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::text::Words;

/// A group of the table.
pub(super) type Group = u16;

/// What is known about a word.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// The groups that it is in.
    pub(super) groups: Vec<Group>,
    /// How much its appearance says: a word of grammar nothing, a common one less than a rare one.
    pub(super) weight: Weight,
}

/// How much a word says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// Grammar and politeness.
    Nothing,
    /// A common word.
    Little,
    /// Any other word.
    #[default]
    Full,
}

/// The table, by stem.
#[derive(Debug)]
pub(super) struct Vocabulary {
    known: BTreeMap<String, Known>,
    /// Whether a group is of verbs.
    verbs: Vec<bool>,
}

impl Vocabulary {
    /// The table that this binary was built with.
    pub(super) fn embedded() -> &'static Self {
        static TABLE: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary::parse(include_str!("vocabulary.txt")));
        &TABLE
    }

    fn parse(table: &str) -> Self {
        let mut known: BTreeMap<String, Known> = BTreeMap::new();
        let mut verbs = Vec::new();
        for line in table.lines() {
            let Some((kind, words)) = line.split_once(' ').filter(|(kind, _)| *kind != "#") else { continue };
            let group = Group::try_from(verbs.len()).expect("the table is shorter than that");
            let grouped = matches!(kind, "v" | "n");
            if grouped {
                verbs.push(kind == "v");
            }
            for stem in Words::cut(words, words.len()).stems() {
                let entry = known.entry(stem.to_owned()).or_default();
                if grouped && !entry.groups.contains(&group) {
                    entry.groups.push(group);
                }
                entry.weight = match kind {
                    "s" => Weight::Nothing,
                    "c" => entry.weight.min(Weight::Little),
                    _ => entry.weight,
                };
            }
        }
        Self { known, verbs }
    }

    pub(super) fn groups(&self) -> usize {
        self.verbs.len()
    }

    pub(super) fn is_verb(&self, group: Group) -> bool {
        self.verbs[usize::from(group)]
    }

    /// What is known about the word with that stem.
    pub(super) fn get(&self, stem: &str) -> Option<&Known> {
        self.known.get(stem)
    }
}
