//! What leaves: requests to servers and messages to people, among the other changes of a plan.

use metnos_projections::rules::policy;
use serde_json::Value;

use super::plan::{Named, Planner, SHOWN_MAX, Trouble, beginning};
use super::{messages, requests};

/// How much is to leave.
#[derive(Debug, Default)]
pub(super) struct Sent {
    requests: usize,
    messages: usize,
}

impl Planner<'_> {
    /// What is sent to a server.
    pub(super) fn request(&mut self, effect: &Value) -> Result<(), Trouble> {
        let (hosts, is_idempotent) = self.around.web;
        let (mut op, body) = requests::planned(effect, hosts, is_idempotent)?;
        self.sent.requests += 1;
        if self.sent.requests > requests::REQUESTS_MAX {
            return Err(("policy_violation", format!("too_many_requests: {}", requests::REQUESTS_MAX)));
        }
        // Both as they are: what stands in events is without the secrets that are known as such, and may be all that a later
        // process has.
        let sealed = self.around.keys.seal(&requests::whole(&op.path, &body));
        let name = (self.around.name_of)(&sealed);
        op.image = Some(name);
        self.planned.blobs.push((name, sealed));
        if !body.is_empty() && self.shown.len() < SHOWN_MAX {
            self.shown.push(self.planned.ops.len());
            op.text = Some(beginning(&body));
        }
        self.planned.ops.push(op);
        Ok(())
    }

    /// What is said to a person.
    pub(super) fn message(&mut self, effect: &Value, named: &Named) -> Result<(), Trouble> {
        let undeclared = ("policy_violation", format!("no_capability: {}", policy::CHANNEL));
        let people = self.around.people.ok_or(undeclared)?;
        let (mut op, body) = messages::planned(effect, people)?;
        if let Some(to) = op.message.as_ref().map(|message| &message.to).filter(|to| !named.has_person(to, people)) {
            let name = people.get(to).and_then(|actor| actor.name.as_ref()).unwrap_or(to);
            return Err(("policy_violation", format!("unasked_person: {name}")));
        }
        self.sent.messages += 1;
        if self.sent.messages > messages::MESSAGES_MAX {
            return Err(("policy_violation", format!("too_many_messages: {}", messages::MESSAGES_MAX)));
        }
        let name = (self.around.name_of)(&body);
        op.content = Some(name);
        // They are few, and each is said in somebody's name.
        op.text = Some(beginning(&body));
        self.planned.ops.push(op);
        self.planned.blobs.push((name, body));
        Ok(())
    }
}
