//! Which blobs an event stands on: what must be stored beside it, and what goes with it when it is erased.

use super::Event;
use super::turn::PlannedOp;
use crate::kept::{BlobHash, Kept};

impl Event {
    /// The blobs that this event names: fields that were moved out, artefacts, new bytes and before-images of changes. Those
    /// of a list that lies in a blob itself are named once it was fetched.
    pub fn blobs(&mut self) -> Vec<BlobHash> {
        let mut blobs: Vec<BlobHash> = self.kept().into_iter().filter_map(|kept| kept.blob()).collect();
        #[expect(clippy::wildcard_enum_match_arm, reason = "all others name blobs in kept fields only")]
        match self {
            Self::ExecutorInstalled(installed) => {
                blobs.extend(installed.artefacts.iter().map(|artefact| artefact.blob));
            }
            Self::InvocationFinished(finished) => {
                blobs.extend(finished.wanted().iter().flat_map(of_change));
            }
            Self::EffectsPlanned(planned) => {
                blobs.extend(planned_ops(&planned.ops).iter().flat_map(of_change));
            }
            _ => {}
        }
        blobs
    }
}

fn planned_ops(ops: &Kept) -> Vec<PlannedOp> {
    ops.get().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

fn of_change(op: &PlannedOp) -> Vec<BlobHash> {
    [op.content, op.image, op.before.image].into_iter().flatten().collect()
}
