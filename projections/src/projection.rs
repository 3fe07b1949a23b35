//! What a projection is: state that is folded from the log, can be deleted, and comes back the same.

use metnos_log::Recorded;
use metnos_log::canonical;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// State folded from events. `evolve` is total: an event that it does not know, or whose payload was erased, changes
/// nothing.
pub trait Projection: Default + Serialize + DeserializeOwned {
    /// Names its checkpoint file.
    const NAME: &'static str;
    /// A new number means that old checkpoints are rebuilt.
    const VERSION: u32;

    /// Takes one event in. One that was stored in an earlier schema comes as it is read today; where it became several, each
    /// comes by itself with the same `seq`, and none where it became none: whoever feeds folds calls `Recorded::each`.
    fn evolve(&mut self, recorded: &Recorded);

    /// The whole state as canonical JSON.
    fn snapshot(&self) -> String {
        canonical::of(self).expect("projections are structs with text keys")
    }

    /// The state that [`Self::snapshot`] wrote; `None` when the text is none.
    fn restore(snapshot: &str) -> Option<Self> {
        serde_json::from_str(snapshot).ok()
    }

    /// blake3 of the snapshot. Holds no erasable text, so erasing one changes no digest.
    fn digest(&self) -> String {
        blake3::hash(self.snapshot().as_bytes()).to_hex().to_string()
    }
}

/// An event as the log would hold it, for tests of folds: the host's, at that moment, of no stream.
#[cfg(test)]
pub(crate) fn recorded(seq: u64, time: i64, event: metnos_log::Event) -> Recorded {
    use metnos_log::envelope::Body;
    use metnos_log::{EventId, Micros};
    Recorded {
        seq,
        id: EventId::new(Micros(time), [seq.to_le_bytes()[0]; 10]),
        time: Micros(time),
        stream: String::new(),
        version: seq,
        kind: event.label().into(),
        schema: event.schema(),
        actor: crate::machines::actors::HOST.to_owned(),
        turn: None,
        cause: None,
        flags: 0,
        body: Body::Known(event),
    }
}
