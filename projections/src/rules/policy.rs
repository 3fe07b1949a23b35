//! Policy: which capabilities exist, and whether a use of one is allowed, asked or denied (design 3-executors, «Policy»).

use crate::rules::cage_plan::Autonomy;

/// How a capability is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Never asked.
    None,
    /// Asked once for each target.
    PerTarget,
    /// Asked every time.
    Always,
}

/// One capability of the closed registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registered {
    /// Its name.
    pub name: &'static str,
    /// How it is treated.
    pub class: Class,
    /// Whether it can do harm.
    pub critical: bool,
}

const fn capability(name: &'static str, class: Class, critical: bool) -> Registered {
    Registered { name, class, critical }
}

/// The registry. A manifest that names another capability is refused.
pub const REGISTRY: &[Registered] = &[
    capability("compute:pure", Class::None, false),
    capability("time:read", Class::None, false),
    capability("parse:local", Class::None, false),
    capability("llm:local", Class::None, false),
    capability("metnos:cache", Class::None, false),
    capability("dialog:input", Class::None, false),
    capability("channel:in", Class::None, false),
    capability("fs:read", Class::PerTarget, false),
    capability("fs:write", Class::PerTarget, true),
    capability("network:http", Class::PerTarget, false),
    capability("network:sites", Class::PerTarget, false),
    capability("llm:online", Class::PerTarget, false),
    capability("mail:read", Class::PerTarget, false),
    capability("channel:out", Class::PerTarget, false),
    capability("calendar:read", Class::PerTarget, false),
    capability("index:read", Class::PerTarget, false),
    capability("metnos:read", Class::PerTarget, false),
    capability("metnos:write", Class::PerTarget, true),
    capability("system:read", Class::PerTarget, false),
    capability("provider:access", Class::PerTarget, false),
    capability("code:exec", Class::Always, true),
    capability("mail:send", Class::Always, true),
    capability("mail:write", Class::Always, true),
    capability("system:admin", Class::Always, true),
    capability("drive:permissions", Class::Always, true),
];

/// What messages to people need. No cage reaches a channel: what the core is asked to send is judged as it will be sent.
pub const CHANNEL: &str = "channel:out";

/// Programs that `parse:local` may name: they turn a file that was granted into text and do nothing else. None of them runs
/// what it is given.
pub const PARSERS: &[&str] = &["pdftotext"];

/// Whether `parse:local` may name this program.
pub fn is_parser(name: &str) -> bool {
    PARSERS.contains(&name)
}

/// The registered capability of that name.
pub fn registered(name: &str) -> Option<Registered> {
    REGISTRY.iter().copied().find(|capability| capability.name == name)
}

/// What policy says about one use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// It may go on.
    Allow,
    /// A person is asked.
    Ask,
    /// It may not.
    Deny,
}

impl Decision {
    /// Its name in events.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// One use of a capability.
#[derive(Clone, Copy, Debug, Default)]
pub struct Use<'a> {
    /// The capability.
    pub capability: &'a str,
    /// The person's own words named every target of it.
    pub granted: bool,
    /// Grants cover every target of it.
    pub leave: bool,
    /// It changes something and cannot simply be repeated.
    pub unrepeatable_act: bool,
    /// It changes nothing but what the person keeps here for themselves: their reminders. Then it needs no leave to change
    /// anything, but it is asked.
    pub own: bool,
    /// Something is sent to a server, which is more than to look there. It can do harm, whatever the capability.
    pub sends: bool,
}

/// Decides one use at one level of autonomy. An unknown capability is denied.
pub fn decide(autonomy: Autonomy, what: Use<'_>) -> Decision {
    let Some(capability) = registered(what.capability) else { return Decision::Deny };
    let critical = capability.critical || what.sends;
    match (autonomy, capability.class) {
        (Autonomy::ReadOnly, _) if critical && !what.own => Decision::Deny,
        (_, Class::None) => Decision::Allow,
        (_, Class::Always) => Decision::Ask,
        (_, Class::PerTarget) => {
            let granted = what.granted && !critical;
            let trusted = autonomy == Autonomy::Full && !what.unrepeatable_act;
            if granted || trusted || what.leave { Decision::Allow } else { Decision::Ask }
        }
    }
}

/// The beginning of `created_by` where an executor was synthesised.
pub const SYNTHESISED: &str = "synt:";

/// Whether an executor may run in a cage that lacks layers; `chosen` is the consent of whoever started Metnos to run without
/// one (design 4-sandbox, «Backends»). What only computes or reads may; what could do harm by itself may not, unless that was
/// chosen; what nobody wrote never may.
pub fn may_lack_layers<'c>(created_by: &str, mut capabilities: impl Iterator<Item = &'c str>, chosen: bool) -> bool {
    let is_harmless = |name: &str| registered(name).is_some_and(|known| !known.critical);
    !created_by.starts_with(SYNTHESISED) && (chosen || capabilities.all(is_harmless))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(autonomy: Autonomy, capability: &str, granted: bool, expected: Decision) {
        let unrepeatable_act = registered(capability).is_some_and(|known| known.critical);
        let what = Use { capability, granted, unrepeatable_act, ..Use::default() };
        assert_eq!(decide(autonomy, what), expected, "{autonomy:?} {capability} granted={granted}");
    }

    #[test]
    fn the_table() {
        use Autonomy::{Full, ReadOnly, Supervised};
        use Decision::{Allow, Ask, Deny};
        for autonomy in [ReadOnly, Supervised, Full] {
            check(autonomy, "compute:pure", false, Allow);
            check(autonomy, "no:such", true, Deny);
        }
        check(ReadOnly, "fs:read", false, Ask);
        check(ReadOnly, "fs:read", true, Allow);
        check(ReadOnly, "fs:write", true, Deny);
        check(Supervised, "fs:read", false, Ask);
        check(Supervised, "fs:write", true, Ask);
        check(Supervised, "code:exec", true, Ask);
        check(Full, "fs:read", false, Allow);
        check(Full, "fs:write", false, Ask);
        check(Full, "code:exec", true, Ask);
    }

    /// An act that cannot be repeated or can, of one's own or not, that sends or does not.
    fn cases() -> impl Iterator<Item = (bool, bool, bool)> {
        (0..8).map(|case| (case & 1 > 0, case & 2 > 0, case & 4 > 0))
    }

    #[test]
    fn what_is_sent_is_asked_about_though_its_server_was_named() {
        use Autonomy::{Full, ReadOnly, Supervised};
        let sent = Use { capability: "network:http", granted: true, sends: true, ..Use::default() };
        assert_eq!(
            [ReadOnly, Supervised, Full].map(|autonomy| decide(autonomy, sent)),
            [Decision::Deny, Decision::Ask, Decision::Allow]
        );
        assert_eq!(decide(Full, Use { unrepeatable_act: true, ..sent }), Decision::Ask);
        assert_eq!(decide(Supervised, Use { leave: true, ..sent }), Decision::Allow);
        assert_eq!(decide(ReadOnly, Use { leave: true, ..sent }), Decision::Deny);
    }

    #[test]
    fn what_could_do_harm_needs_every_layer() {
        let may = |created_by, capabilities: &[&str], chosen| {
            may_lack_layers(created_by, capabilities.iter().copied(), chosen)
        };
        assert!(may("seed", &["compute:pure", "fs:read", "network:http"], false));
        assert!(!may("seed", &["fs:read", "code:exec"], false) && may("seed", &["fs:read", "code:exec"], true));
        assert!(!may("owner", &["fs:write"], false) && !may("owner", &["no:such"], false));
        assert!(!may("synt:1", &["compute:pure"], false) && !may("synt:1", &["compute:pure"], true));
    }

    #[test]
    fn what_is_ones_own_needs_no_leave_but_is_asked() {
        let own =
            Use { capability: "metnos:write", granted: true, unrepeatable_act: true, own: true, ..Use::default() };
        for autonomy in [Autonomy::ReadOnly, Autonomy::Supervised, Autonomy::Full] {
            assert_eq!(decide(autonomy, own), Decision::Ask, "{autonomy:?}");
        }
        assert_eq!(decide(Autonomy::ReadOnly, Use { own: false, ..own }), Decision::Deny);
    }

    #[test]
    fn a_grant_makes_a_question_about_a_target_unnecessary_and_nothing_else() {
        for autonomy in [Autonomy::ReadOnly, Autonomy::Supervised, Autonomy::Full] {
            for capability in REGISTRY.iter().map(|capability| capability.name).chain(["no:such"]) {
                for (unrepeatable_act, own, sends) in cases() {
                    let asked = Use { capability, unrepeatable_act, own, sends, ..Use::default() };
                    let is_of_targets = registered(capability).is_some_and(|known| known.class == Class::PerTarget);
                    let without = decide(autonomy, asked);
                    let is_spared = is_of_targets && without == Decision::Ask;
                    let expected = if is_spared { Decision::Allow } else { without };
                    assert_eq!(decide(autonomy, Use { leave: true, ..asked }), expected, "{autonomy:?} {capability}");
                }
            }
        }
        let write = Use { capability: "fs:write", leave: true, unrepeatable_act: true, ..Use::default() };
        assert_eq!(decide(Autonomy::ReadOnly, write), Decision::Deny);
        assert_eq!(decide(Autonomy::Supervised, write), Decision::Allow);
        assert_eq!(decide(Autonomy::Full, Use { capability: "code:exec", ..write }), Decision::Ask);
    }

    #[test]
    fn more_autonomy_never_means_a_stricter_decision() {
        for capability in REGISTRY {
            for granted in [false, true] {
                for (unrepeatable_act, own, sends) in cases() {
                    let (capability, leave) = (capability.name, granted);
                    let what = Use { capability, granted, leave, unrepeatable_act, own, sends };
                    let by = |autonomy| decide(autonomy, what);
                    assert!(by(Autonomy::ReadOnly) >= by(Autonomy::Supervised), "{capability:?}");
                    assert!(by(Autonomy::Supervised) >= by(Autonomy::Full), "{capability:?}");
                }
            }
        }
    }
}
