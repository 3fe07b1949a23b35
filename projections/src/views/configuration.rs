//! The settings that shape decisions, as the log knows them at a moment.

use std::collections::BTreeMap;

use metnos_log::{Event, Recorded};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::projection::Projection;

/// The key under which an accepted lower cage level stands.
pub const CAGE_DOWNGRADE: &str = "sandbox.accepted_level";

/// Settings by key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Configuration {
    /// Values by dotted name.
    pub values: BTreeMap<String, Value>,
}

impl Projection for Configuration {
    const NAME: &'static str = "configuration";
    const VERSION: u32 = 1;

    fn evolve(&mut self, recorded: &Recorded) {
        match recorded.event() {
            Some(Event::ConfigurationChanged(changed)) => {
                self.values.insert(changed.key.clone(), changed.new.0.clone());
            }
            Some(Event::CageDowngradeAccepted(accepted)) => {
                self.values.insert(CAGE_DOWNGRADE.to_owned(), accepted.level.clone().into());
            }
            Some(_) | None => {}
        }
    }
}
