//! What is said to a step that would start programs, and to one whose executor declares folders for itself.

use serde_json::json;

use super::decide::Decider;
use super::state::Step;
use super::verdicts::UNJUDGED;
use crate::manifest::{Capability, Manifest};
use crate::presented::visible;
use crate::rules::{cage_plan, commands};

impl Decider<'_> {
    /// The guard on what a call names and would start.
    pub(super) fn guard_call(
        &self,
        tool: &str,
        manifest: Option<&Manifest>,
        mut paths: Vec<String>,
    ) -> Option<(String, String)> {
        let declared: Vec<&str> =
            manifest.iter().flat_map(|manifest| &manifest.capabilities).map(|c| &*c.name).collect();
        let runs = manifest.filter(|_| declared.contains(&"code:exec"));
        let Some((manifest, step)) = runs.and_then(|manifest| Some((manifest, self.turn.step()?))) else {
            return self.guard("call", tool, &paths);
        };
        let Ok(commands) = commands::given(manifest, &step.args) else {
            return Some((UNJUDGED.to_owned(), self.say("refusal.unread_command", &json!({}))));
        };
        let home = self.turn.opened.as_ref().map_or("", |opened| opened.home.as_str());
        paths.extend(commands.iter().flat_map(|command| command.paths(home)));
        self.guarded("call", tool, &paths, (&declared, &commands))
    }

    /// Why a program does not run that an executor was to start and does not list: nobody is asked about what its cage would
    /// not hold.
    pub(super) fn unlisted_program(&self, manifest: &Manifest) -> Option<String> {
        let args = &self.turn.step()?.args;
        let programs = commands::programs(manifest)?;
        let named = commands::named(manifest, args).find(|named| !programs.contains(named))?;
        let values = json!({ "program": visible::name(named), "programs": programs, "is_line": named.contains(' ') });
        Some(self.say("refusal.unlisted_program", &values))
    }

    /// The folders that an executor declares for itself by this capability, as they are called without links.
    pub(super) fn own_folders(&self, capability: &Capability, step: &Step) -> Vec<String> {
        let home = self.turn.opened.as_ref().map_or("", |opened| opened.home.as_str());
        let leads = |folder: String| match step.leads.iter().find(|lead| lead.given == folder) {
            Some(lead) => lead.at.clone(),
            None => folder,
        };
        cage_plan::own_folders(capability, home).into_iter().map(leads).collect()
    }
}
