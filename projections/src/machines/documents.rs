//! Which files people sent, newest last. Names and places stay in the events: here are only the events' numbers.

use std::collections::BTreeMap;

use metnos_log::{Event, Recorded};
use serde::{Deserialize, Serialize};

use crate::projection::Projection;

/// How many are remembered of each person, to be asked about by name.
const KEPT: usize = 256;

/// The files of everybody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Documents {
    /// The events of each person's, in their order.
    of: BTreeMap<String, Vec<u64>>,
}

impl Documents {
    /// How many are remembered.
    pub fn count(&self) -> usize {
        self.of.values().map(Vec::len).sum()
    }

    /// How many of each person's.
    pub fn people(&self) -> impl Iterator<Item = (&str, usize)> {
        self.of.iter().map(|(actor, theirs)| (actor.as_str(), theirs.len()))
    }

    /// The events of a person's files, newest first.
    pub fn newest_of(&self, actor: &str) -> impl Iterator<Item = u64> + '_ {
        self.of.get(actor).into_iter().flatten().rev().copied()
    }
}

impl Projection for Documents {
    const NAME: &'static str = "documents";
    const VERSION: u32 = 1;

    fn evolve(&mut self, recorded: &Recorded) {
        if let Some(Event::DocumentReceived(_)) = recorded.event() {
            let theirs = self.of.entry(recorded.actor.clone()).or_default();
            theirs.push(recorded.seq);
            if theirs.len() > KEPT {
                theirs.remove(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use metnos_log::event::channel::DocumentReceived;
    use metnos_log::{EventId, Kept, Micros};

    use super::*;
    use crate::machines::actors::HOST;
    use crate::projection::recorded;

    #[test]
    fn the_newest_come_first_and_no_more_than_are_kept() {
        let mut documents = Documents::default();
        let most = u64::try_from(KEPT).unwrap();
        for seq in 1..=most + 2 {
            let update = EventId::new(Micros(0), [0; 10]);
            let received =
                DocumentReceived { update, path: Kept::text("/x"), bytes: 1, content: metnos_log::BlobHash([9; 32]) };
            documents.evolve(&recorded(seq, 0, received.into()));
        }
        let newest: Vec<u64> = documents.newest_of(HOST).collect();
        assert_eq!((newest.len(), newest.first(), newest.last()), (KEPT, Some(&(most + 2)), Some(&3)));
        assert_eq!(documents.newest_of("guest_1").count(), 0);
        assert_eq!(Documents::restore(&documents.snapshot()), Some(documents));
    }
}
