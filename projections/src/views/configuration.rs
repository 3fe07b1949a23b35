//! The settings that shape decisions, as the log knows them at a moment.

use std::collections::BTreeMap;

use metnos_log::{Event, Recorded};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::projection::Projection;

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
        if let Some(Event::ConfigurationChanged(changed)) = recorded.event() {
            self.values.insert(changed.key.clone(), changed.new.0.clone());
        }
    }
}
