//! What a step is decided with: its executor, verified, and what its arguments name, looked up.

use std::sync::Arc;

use metnos_projections::machines::mnestome::Direction;
use metnos_projections::machines::turn::command::{Command, Prepared};
use metnos_projections::rules::references::ReferenceError;
use serde_json::{Value, json};

use super::{EngineError, Run};
use crate::gateway::Loaded;
use crate::gateway::call::PreparedCall;
use crate::instance::now;

impl Run<'_> {
    pub(super) fn prepare(
        &mut self,
        step: u32,
        tool: &str,
        args: Result<Arc<Value>, ReferenceError>,
    ) -> Result<(), EngineError> {
        // References that cannot be replaced are refused by the turn itself; there is nothing to look up.
        let args = args.unwrap_or_else(|_| Arc::new(json!({})));
        let loaded = Loaded::from_catalog(&self.instance.catalog(), &self.instance.log.reader(), tool);
        let prepared = PreparedCall::new(step, loaded, args, &self.caller());
        let (mnest_permille, uncaged) = (self.strongest_mnest(tool), self.instance.is_uncaged());
        // What its executor may reach is made out of the settings of now.
        let may_do_less = self.instance.is_lessened(&self.turn);
        let facts = Prepared { mnest_permille, uncaged, may_do_less, ..prepared.facts.clone() };
        self.prepared = Some(prepared);
        self.take(Command::Prepared(facts), Vec::new())
    }

    /// How strongly earlier turns lead from what ended well in this one to an executor, in thousandths.
    fn strongest_mnest(&self, tool: &str) -> Option<u16> {
        let before: Vec<&str> = self.turn.steps.iter().filter(|step| step.ok).map(|step| step.tool.as_str()).collect();
        if before.is_empty() {
            return None;
        }
        let mnestome = self.instance.projected().mnestome;
        let leading = mnestome.at(tool, Direction::In, now()).into_iter().filter(|edge| before.contains(&edge.src));
        let strongest = leading.map(|edge| edge.weight).fold(0.0, f64::max);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a weight lies between 0 and 1")]
        let permille = (strongest.clamp(0.0, 1.0) * 1000.0) as u16;
        Some(permille).filter(|permille| *permille > 0)
    }
}
