//! What a question says of requests to servers: where they go, who named that, what they hold.

use std::collections::BTreeSet;

use metnos_log::event::turn::PlannedOp;
use serde_json::json;

use super::super::state::Step;
use super::{Asking, SOURCES_MAX, as_end_of_line, indented};

/// The requests among changes.
pub(super) fn requests<'o>(ops: &[&'o PlannedOp]) -> impl Iterator<Item = &'o PlannedOp> {
    ops.iter().copied().filter(|op| op.request.is_some())
}

/// A request as a name among others: its method and its address.
pub(super) fn in_short(op: &PlannedOp) -> String {
    let method = op.request.as_ref().map_or("", |request| request.method.as_str());
    let is_plain = !op.path.contains([',', ';', '(', ')', '[', ']']);
    if is_plain { format!("{method} {}", op.path) } else { format!("{method} {:?}", op.path) }
}

/// The servers that requests go to, with their ports, each once.
pub(super) fn servers(ops: &[&PlannedOp]) -> Vec<String> {
    let found: BTreeSet<&str> = requests(ops).map(|op| server(&op.path)).collect();
    found.into_iter().map(str::to_owned).collect()
}

/// The server of an address in normal form.
fn server(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

/// The requests whose address no argument of the call names: the executor itself chose it, if not the server.
fn chosen<'o>(step: &Step, ops: &[&'o PlannedOp]) -> impl Iterator<Item = &'o PlannedOp> {
    let named: BTreeSet<&str> = step.targets.iter().map(|target| target.canonical.as_str()).collect();
    let found: Vec<_> = requests(ops).filter(|op| !named.contains(op.path.as_str())).collect();
    found.into_iter()
}

/// Whether nothing but requests is planned, and an address of theirs is the executor's own choice.
pub(super) fn are_chosen(step: &Step, ops: &[&PlannedOp]) -> bool {
    ops.iter().all(|op| op.request.is_some()) && chosen(step, ops).next().is_some()
}

impl Asking<'_> {
    /// The servers that no argument of the call names, and those that one names with another address: the executor itself chose
    /// what is asked of them.
    pub(super) fn own_servers(&self, step: &Step, ops: &[&PlannedOp]) -> Vec<String> {
        let named: BTreeSet<&str> = step.targets.iter().map(|target| server(&target.canonical)).collect();
        let chosen: BTreeSet<&str> = chosen(step, ops).map(|op| server(&op.path)).collect();
        let (known, own): (Vec<&str>, Vec<&str>) = chosen.into_iter().partition(|server| named.contains(server));
        let said = |key: &str, mut servers: Vec<&str>| {
            let rest = servers.len().saturating_sub(SOURCES_MAX);
            servers.truncate(SOURCES_MAX);
            let values = json!({ "servers": servers, "rest": rest, "tool": step.tool });
            (!servers.is_empty()).then(|| self.say(key, &values))
        };
        said("consent.own_servers", own).into_iter().chain(said("consent.own_addresses", known)).collect()
    }

    /// What requests hold, as far as it is shown, and how many others hold something.
    pub(super) fn bodies(&self, ops: &[&PlannedOp]) -> Vec<String> {
        let said = |op: &PlannedOp, text: &str| {
            let rest = op.bytes.saturating_sub(text.len() as u64);
            let kind = op.request.as_ref().and_then(|request| request.content_type.as_deref());
            let path = as_end_of_line(&op.path);
            self.say("consent.body", &json!({ "text": indented(text), "rest": rest, "path": path, "kind": kind }))
        };
        let shown = requests(ops).filter_map(|op| Some((op, op.text.as_deref().filter(|text| !text.is_empty())?)));
        let mut lines: Vec<String> = shown.map(|(op, text)| said(op, text)).collect();
        let unseen = requests(ops).filter(|op| op.bytes > 0 && op.text.as_ref().is_none_or(String::is_empty)).count();
        if unseen > 0 {
            lines.push(self.say("consent.bodies_more", &json!({ "count": unseen })));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use metnos_log::event::turn::{Target, WebRequest};

    use super::super::text;
    use super::*;
    use crate::machines::turn::state::Turn;
    use crate::manifest::Manifest;
    use crate::messages::{Language, Messages};

    fn request(method: &str, path: &str, body: Option<&str>) -> PlannedOp {
        let request = WebRequest {
            method: method.to_owned(),
            content_type: body.map(|_| "application/json".to_owned()),
            ..WebRequest::default()
        };
        PlannedOp {
            op: "http".to_owned(),
            path: path.to_owned(),
            bytes: body.map_or(0, str::len) as u64,
            text: Some(body.unwrap_or_default().to_owned()),
            request: Some(Box::new(request)),
            ..PlannedOp::default()
        }
    }

    fn asked(ops: Vec<PlannedOp>, targets: Vec<Target>, language: Language) -> String {
        let manifest: Manifest =
            toml::from_str(include_str!("../../../../../executors/get_urls/manifest.toml")).unwrap();
        let step =
            Step { tool: "set_lights".to_owned(), ops: ops.into(), targets, args: Arc::default(), ..Step::default() };
        text(&Messages::embedded(), &Turn { language, ..Turn::default() }, &step, &manifest, "effects")
    }

    #[test]
    fn a_request_is_told_by_where_it_goes_and_what_it_holds() {
        let on = || request("POST", "https://hub.example/lights", Some(r#"{"on":true}"#));
        let said = asked(vec![on()], Vec::new(), Language::En);
        assert_eq!(
            said,
            "I would send 1 request, 11 bytes, to hub.example:\n  POST https://hub.example/lights (11 bytes)\n  \
             sent to https://hub.example/lights (application/json):\n    {\"on\":true}\n  hub.example is named by set_lights \
             itself, not by you\nWhat is sent cannot be taken back. May I?"
        );
        let said = asked(vec![on(), request("DELETE", "https://hub.example/a", None)], Vec::new(), Language::It);
        assert!(said.starts_with("Vorrei inviare 2 richieste, 11 byte, a hub.example:\n"), "{said}");
        assert!(said.contains("  DELETE https://hub.example/a\n") && said.contains("non si può ritirare"), "{said}");
    }

    #[test]
    fn with_other_changes_it_says_which_of_them_cannot_be_taken_back() {
        let write = PlannedOp {
            op: "write".to_owned(),
            path: "/h/a".to_owned(),
            before: metnos_log::event::turn::BeforeImage { kind: "absent".to_owned(), ..Default::default() },
            text: Some("x".to_owned()),
            bytes: 1,
            ..PlannedOp::default()
        };
        let said = asked(vec![write, request("PUT", "https://hub.example/b", Some("1"))], Vec::new(), Language::En);
        assert!(said.contains("; send 1 request, 1 byte, to hub.example:\n"), "{said}");
        assert!(said.contains("PUT https://hub.example/b (1 byte) (cannot be undone)\n"), "{said}");
        assert!(said.contains("only in part: 1 of 2 changes cannot, for what is sent cannot be taken back."), "{said}");
    }

    #[test]
    fn many_are_told_in_short() {
        let many: Vec<PlannedOp> = (0..25)
            .map(|n| PlannedOp {
                text: (n < 3).then(|| "1".to_owned()),
                ..request("POST", &format!("https://hub.example:8443/{n}"), Some("1"))
            })
            .collect();
        let said = asked(many, Vec::new(), Language::En);
        assert!(said.starts_with("I would send 25 requests, 25 bytes, to hub.example:8443:\n"), "{said}");
        assert!(said.contains("… and 5 more requests: POST https://hub.example:8443/20,"), "{said}");
        assert!(said.contains("(what 22 more requests hold is not shown)"), "{said}");
    }
}
