//! What a question says of messages: whom they are for.

use std::collections::BTreeSet;

use metnos_log::event::turn::{PersonalMessage, PlannedOp};
use serde_json::json;

use super::super::state::Step;
use super::{Asking, as_part};
use crate::manifest::{Manifest, Role};
use crate::presented::visible;

/// A message among others: whom it is for.
pub(super) fn in_short(op: &PlannedOp) -> String {
    op.message.as_ref().map_or_else(String::new, |message| as_part(message.name.as_ref().unwrap_or(&message.to)))
}

/// Whether what a message says was given to the executor as it stands, as far as it is shown.
fn is_given(step: &Step, manifest: &Manifest, op: &PlannedOp) -> bool {
    let Some(said) = op.text.as_deref().map(str::trim) else { return false };
    let is_whole = op.bytes <= said.len() as u64;
    given(step, manifest).iter().any(|text| if is_whole { text == said } else { text.starts_with(said) })
}

/// The texts that a step was given, in the form in which they are sent.
fn given(step: &Step, manifest: &Manifest) -> Vec<String> {
    let stored = manifest.arguments.iter().filter(|(_, argument)| argument.role == Role::Content);
    stored.filter_map(|(name, _)| Some(visible::text(step.args.get(name)?.as_str()?.trim()).into_owned())).collect()
}

/// Whether no argument of the call names whom its messages are for: the executor itself chose them.
pub(super) fn are_own_people(step: &Step) -> bool {
    !step.targets.iter().any(|target| target.role == "recipient")
}

/// Whether an executor writes to people of its own choice, or in words of its own.
pub(in crate::machines::turn) fn are_own(step: &Step, manifest: &Manifest) -> bool {
    let mut messages = step.ops.iter().filter(|op| op.message.is_some());
    messages.any(|op| are_own_people(step) || !is_given(step, manifest, op))
}

impl Asking<'_> {
    /// Says whose choice it is whom messages go to, and whose words they hold, where it is the executor's.
    pub(super) fn own_messages(&self, step: &Step, manifest: &Manifest, ops: &[&PlannedOp]) -> Vec<String> {
        let messages: Vec<&PlannedOp> = ops.iter().copied().filter(|op| op.message.is_some()).collect();
        let people = if are_own_people(step) { self.people(&messages) } else { Vec::new() };
        let is_worded = messages.iter().any(|op| !is_given(step, manifest, op));
        let values = json!({ "tool": step.tool, "people": people, "words": is_worded });
        let is_own = is_worded || !people.is_empty();
        is_own.then(|| self.say("consent.own_messages", &values)).into_iter().collect()
    }

    /// Whom a message is for, as they are called.
    pub(super) fn person(&self, message: &PersonalMessage) -> String {
        let name = message.name.as_deref().map(as_part);
        self.say("consent.person", &json!({ "name": name, "id": message.to }))
    }

    /// Whom messages are for, each once.
    pub(super) fn people(&self, ops: &[&PlannedOp]) -> Vec<String> {
        let people: BTreeSet<String> = ops.iter().filter_map(|op| Some(self.person(op.message.as_ref()?))).collect();
        people.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use metnos_log::event::turn::Target;

    use super::super::text;
    use super::*;
    use crate::machines::turn::state::{Step, Turn};
    use crate::manifest::Manifest;
    use crate::messages::{Language, Messages};
    use crate::plan::Origin;

    fn message(to: &str, name: Option<&str>) -> PlannedOp {
        let message =
            PersonalMessage { to: to.to_owned(), name: name.map(str::to_owned), channel: "telegram".to_owned() };
        PlannedOp {
            op: "send".to_owned(),
            path: "telegram:7".to_owned(),
            bytes: 11,
            text: Some("dinner at 8".to_owned()),
            message: Some(Box::new(message)),
            ..PlannedOp::default()
        }
    }

    fn asked(ops: Vec<PlannedOp>, (to, body): (&[&str], &str), language: Language) -> String {
        let manifest: Manifest =
            toml::from_str(include_str!("../../../../../src/builtins/send_messages/manifest.toml")).unwrap();
        let person = |(at, name): (usize, &&str)| Target {
            pointer: format!("/to/{at}"),
            role: "recipient".to_owned(),
            given: (*name).to_owned(),
            canonical: (*name).to_owned(),
            canonical_b64: None,
            kind: "recipient".to_owned(),
            trouble: None,
        };
        let said = |(at, _)| (format!("/to/{at}"), Origin::Words { start: 0, end: 1 });
        let (targets, provenance) =
            (to.iter().enumerate().map(person).collect(), to.iter().enumerate().map(said).collect());
        let args = Arc::new(json!({ "to": to, "body": body }));
        let step =
            Step { tool: "send_messages".to_owned(), ops: ops.into(), targets, provenance, args, ..Step::default() };
        text(&Messages::embedded(), &Turn { language, ..Turn::default() }, &step, &manifest, "effects")
    }

    #[test]
    fn a_message_is_told_by_whom_it_is_for_and_what_it_says() {
        let said = asked(vec![message("guest_1", Some("Guest"))], (&["guest"], "dinner at 8"), Language::En);
        assert_eq!(
            said,
            "I would send 1 message to Guest:\n  to Guest, by telegram (11 bytes)\n  the message:\n    dinner at 8\n\
             You named Guest. What is sent cannot be taken back. May I?"
        );
        let both = vec![message("owner", None), message("guest_1", Some("Guest"))];
        let said = asked(both, (&["owner", "Guest"], "dinner at 8"), Language::It);
        assert!(said.starts_with("Vorrei inviare 2 messaggi per Guest, il proprietario:\n"), "{said}");
        assert_eq!(said.matches("dinner at 8").count(), 1, "{said}");
    }

    #[test]
    fn what_an_executor_itself_says_or_to_whom_is_told_as_its_own() {
        let one = || vec![message("guest_1", Some("Guest"))];
        let said = asked(one(), (&["guest"], "hi"), Language::En);
        assert!(said.contains("\n  the words are of send_messages itself, not yours\n"), "{said}");
        let said = asked(one(), (&[], "dinner at 8"), Language::En);
        assert!(said.contains("\n  send_messages itself chose to write to Guest\n"), "{said}");
        let said = asked(one(), (&[], "dinner"), Language::En);
        let both = "\n  send_messages itself chose to write to Guest, in words of its own\n";
        assert!(said.contains(both) && !said.contains("You named"), "{said}");
    }
}
