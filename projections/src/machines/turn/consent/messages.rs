//! What a question says of messages: whom they are for.

use std::collections::BTreeSet;

use metnos_log::event::turn::{PersonalMessage, PlannedOp};
use serde_json::json;

use super::{Asking, as_part};

/// A message among others: whom it is for.
pub(super) fn in_short(op: &PlannedOp) -> String {
    op.message.as_ref().map_or_else(String::new, |message| as_part(message.name.as_ref().unwrap_or(&message.to)))
}

impl Asking<'_> {
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
    use super::super::text;
    use super::*;
    use crate::machines::turn::state::{Step, Turn};
    use crate::manifest::Manifest;
    use crate::messages::{Language, Messages};

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

    fn asked(ops: Vec<PlannedOp>, language: Language) -> String {
        let manifest: Manifest =
            toml::from_str(include_str!("../../../../../src/builtins/send_messages/manifest.toml")).unwrap();
        let step = Step { tool: "send_messages".to_owned(), ops: ops.into(), ..Step::default() };
        text(&Messages::embedded(), &Turn { language, ..Turn::default() }, &step, &manifest, "effects")
    }

    #[test]
    fn a_message_is_told_by_whom_it_is_for_and_what_it_says() {
        let said = asked(vec![message("guest_1", Some("Guest"))], Language::En);
        assert_eq!(
            said,
            "I would send 1 message to Guest:\n  to Guest, by telegram (11 bytes)\n  the message:\n    dinner at 8\n\
             What is sent cannot be taken back. May I?"
        );
        let said = asked(vec![message("owner", None), message("guest_1", Some("Guest"))], Language::It);
        assert!(said.starts_with("Vorrei inviare 2 messaggi per Guest, il proprietario:\n"), "{said}");
        assert_eq!(said.matches("dinner at 8").count(), 1, "{said}");
    }
}
