//! What is said to a step that would start programs.

use serde_json::json;

use super::decide::Decider;
use super::verdicts::UNJUDGED;
use crate::manifest::Manifest;
use crate::presented::visible;
use crate::rules::commands::{self, Given};

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
        let Ok(Given { commands, patterns }) = commands::given(manifest, &step.args) else {
            return Some((UNJUDGED.to_owned(), self.say("refusal.unread_command", &json!({}))));
        };
        let home = self.turn.opened.as_ref().map_or("", |opened| opened.home.as_str());
        paths.extend(commands.iter().flat_map(|command| command.paths(home)));
        paths.extend(patterns.iter().filter_map(|pattern| pattern.core_path(home, &self.own())));
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
}
