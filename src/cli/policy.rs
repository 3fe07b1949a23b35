//! `metnos policy`: what may be done unasked, what is asked, what is denied, and what would be decided of one call.

use clap::Subcommand;
use metnos_log::event::turn::Target;
use metnos_projections::machines::catalog::Version;
use metnos_projections::machines::turn::{self, Turn};
use metnos_projections::rules::cage_plan::Autonomy;
use metnos_projections::rules::grants::{Kind, kind};
use metnos_projections::rules::policy::{self, Class, Decision, REGISTRY, Registered, Use};
use serde_json::{Value, json};

use super::output::by;
use super::{Context, Failure, grants, output};
use crate::broker::target::{self, Refusal};
use crate::builtins;
use crate::conversation;
use crate::engine::Request;
use crate::gateway::call::address_grant;
use crate::instance::Instance;

/// The levels, the narrowest first.
const LEVELS: [Autonomy; 3] = [Autonomy::ReadOnly, Autonomy::Supervised, Autonomy::Full];

/// Look at what is allowed, asked and denied.
#[derive(Subcommand, Debug)]
pub(super) enum Policy {
    /// Every capability at every level of autonomy.
    Table,
    /// One capability: what it is, who uses it, what is decided of it.
    Explain {
        /// Its name, like fs:write.
        capability: String,
    },
    /// What would be decided of one call, as if it were asked for now; nothing runs.
    Check {
        /// The executor.
        executor: String,
        /// Its arguments, a JSON object.
        #[arg(long, default_value = "{}")]
        args: String,
    },
}

pub(super) fn run(context: &Context, command: &Policy) -> Result<u8, Failure> {
    match command {
        Policy::Table => table(context),
        Policy::Explain { capability } => explain(context, capability),
        Policy::Check { executor, args } => check(context, executor, args),
    }
}

fn name(autonomy: Autonomy) -> &'static str {
    match autonomy {
        Autonomy::ReadOnly => "read_only",
        Autonomy::Supervised => "supervised",
        Autonomy::Full => "full",
    }
}

/// What is decided of a capability at a level, in the four cases that policy tells apart: what the words or a grant name, or not;
/// an act that can be repeated, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decided {
    named: Decision,
    unnamed: Decision,
    unrepeatable: Decision,
}

impl Decided {
    fn of((capability, sends): (&str, bool), autonomy: Autonomy) -> Self {
        // By a channel nothing is looked at.
        let sends = sends || capability == policy::CHANNEL;
        let decide = |granted, unrepeatable_act| {
            policy::decide(autonomy, Use { capability, granted, unrepeatable_act, sends, ..Use::default() })
        };
        Self { named: decide(true, false), unnamed: decide(false, false), unrepeatable: decide(false, true) }
    }

    /// Its sentence in `[policy]`.
    fn key(self) -> &'static str {
        use Decision::{Allow, Ask, Deny};
        match (self.named, self.unnamed, self.unrepeatable) {
            (Allow, Allow, Allow) => "allowed",
            (Allow, Allow, _) => "allowed_unless_unrepeatable",
            (Allow, Ask, _) => "asked_unless_named",
            (Deny, ..) => "denied",
            _ => "asked",
        }
    }

    fn json(self) -> Value {
        json!({
            "named": self.named.name(), "unnamed": self.unnamed.name(), "unrepeatable": self.unrepeatable.name(),
        })
    }
}

fn class(class: Class) -> &'static str {
    match class {
        Class::None => "none",
        Class::PerTarget => "per_target",
        Class::Always => "always",
    }
}

/// What is decided of a capability at each level; `sends`: of what is sent by it, which is more than a look.
fn decided(context: &Context, instance: &Instance, asked: (&str, bool)) -> [String; 3] {
    LEVELS.map(|level| context.text(instance, &format!("policy.{}", Decided::of(asked, level).key()), &json!({})))
}

/// Whether something can be sent by it, and something looked at, too.
fn can_send(capability: &Registered) -> bool {
    kind(capability.name) == Kind::Host
}

fn as_json(capability: Registered) -> Value {
    let levels = |sends| {
        let levels = LEVELS.map(|level| (name(level).to_owned(), Decided::of((capability.name, sends), level).json()));
        levels.into_iter().collect::<serde_json::Map<_, _>>()
    };
    let mut line = json!({
        "capability": capability.name, "class": class(capability.class), "critical": capability.critical,
        "decided": levels(false),
    });
    if can_send(&capability) {
        line["decided_sent"] = levels(true).into();
    }
    line
}

fn table(context: &Context) -> Result<u8, Failure> {
    let instance = context.instance()?;
    if context.global.json {
        output::result_json(&json!({
            "autonomy": instance.as_actor(&instance.actor).autonomy(),
            "capabilities": REGISTRY.iter().map(|capability| as_json(*capability)).collect::<Vec<_>>(),
        }));
        return Ok(0);
    }
    let row = |(capability, sends): (&Registered, bool)| {
        let critical = capability.critical || sends || capability.name == policy::CHANNEL;
        let values = json!({ "name": capability.name, "sends": sends, "critical": critical });
        let name = context.text(&instance, "policy.row", &values);
        [vec![name], decided(context, &instance, (capability.name, sends)).to_vec()].concat()
    };
    let rows = REGISTRY.iter().flat_map(|capability| {
        let sent = can_send(capability).then_some((capability, true));
        [(capability, false)].into_iter().chain(sent)
    });
    let heading = context.text(&instance, "policy.heading", &json!({}));
    let headings = [heading.as_str(), name(LEVELS[0]), name(LEVELS[1]), name(LEVELS[2])];
    output::result(&output::table(&headings, &rows.map(row).collect::<Vec<_>>()));
    let values = json!({ "autonomy": instance.as_actor(&instance.actor).autonomy() });
    output::result(&context.text(&instance, "policy.footer", &values));
    Ok(0)
}

fn explain(context: &Context, capability: &str) -> Result<u8, Failure> {
    let instance = context.instance()?;
    let known = policy::registered(capability).ok_or_else(|| {
        Failure::refused(("error.no_capability", json!({ "name": capability })), by("next.capabilities"))
    })?;
    let catalog = instance.catalog();
    let of = |uses: &dyn Fn(&str, &Version) -> bool| -> Vec<String> {
        catalog.all_active().filter(|(name, _, version)| uses(name, version)).map(|(name, _, _)| name.into()).collect()
    };
    let executors = of(&|_, version| {
        version.manifest().is_some_and(|manifest| manifest.capabilities.iter().any(|used| used.name == known.name))
    });
    let by_changes = of(&|name, version| changes_as(name, version).contains(&known.name));
    let granted = grants::told(context, &instance, |capability, _| capability == known.name);
    if context.global.json {
        let mut line = as_json(known);
        line["executors"] = json!(executors);
        line["by_changes"] = json!(by_changes);
        line["grants"] = json!(granted);
        output::result_json(&line);
        return Ok(0);
    }
    let values = json!({ "name": known.name, "class": class(known.class), "critical": known.critical });
    let mut lines = vec![context.text(&instance, "policy.explained", &values)];
    let levels = |sends| {
        let decided = LEVELS.into_iter().zip(decided(context, &instance, (known.name, sends)));
        decided.map(|(level, decided)| format!("{:<11} {decided}", name(level)))
    };
    lines.extend(levels(false));
    if can_send(&known) {
        lines.push(context.text(&instance, "policy.sent", &json!({})));
        lines.extend(levels(true));
    }
    lines.push(context.text(&instance, "policy.used_by", &json!({ "executors": executors, "by_changes": by_changes })));
    lines.extend(granted.iter().map(|grant| context.text(&instance, "policy.granted", grant)));
    output::result(&lines.join("\n"));
    Ok(0)
}

/// The capabilities that what an executor wants changed counts as, though it does not change it itself (design 3-executors,
/// «Policy»).
fn changes_as(name: &str, version: &Version) -> &'static [&'static str] {
    let Some(manifest) = version.manifest().filter(|manifest| manifest.contract.side_effects) else { return &[] };
    match builtins::find(name).filter(|_| builtins::is_builtin(name, version)) {
        Some(builtin) => builtin.changes_as(),
        // What can do harm by itself does its work before anything is asked of the core.
        None if manifest.is_critical() => &[],
        None if manifest.capabilities.iter().any(|used| used.name == "network:http") => &["fs:write", "network:http"],
        None => &["fs:write"],
    }
}

fn check(context: &Context, executor: &str, args: &str) -> Result<u8, Failure> {
    let args: Value = serde_json::from_str(args).ok().filter(Value::is_object).ok_or_else(|| {
        Failure::usage(
            by("error.args_no_object"),
            "metnos policy check read_files --args '{\"paths\": [\"~/notes.txt\"]}'",
        )
    })?;
    let instance = context.ready(&context.flags())?;
    let catalog = instance.catalog();
    let (tool, _) = catalog
        .find(executor)
        .ok_or_else(|| Failure::refused(("error.no_executor", json!({ "name": executor })), by("next.executors")))?;
    let text = format!("executor run {tool} --args {args}");
    let (approve, channel, folder) = ("none".to_owned(), "console".to_owned(), super::folder(&instance));
    let given = Some(json!({ "tool": tool, "args": args }));
    let request = Request { text, approve, folder, channel, given, ..Request::default() };
    let turn = conversation::rehearse(&instance, &request)?;
    let changes = changes(&instance, tool);
    let (decision, reason) = match (&turn.asked, &turn.final_class) {
        (Some(asked), _) => (Decision::Ask, Some(asked.text.clone())),
        (None, Some(_)) => (Decision::Deny, turn.message.clone()),
        (None, None) if changes == Some(Decision::Deny) => {
            (Decision::Deny, Some(context.text(&instance, "policy.changes_denied", &json!({}))))
        }
        (None, None) => (Decision::Allow, None),
    };
    // Whatever is decided, and whoever says yes, the broker does not go everywhere.
    let unreachable = unreachable(&instance, &turn).filter(|_| decision != Decision::Deny);
    let error_class = turn.final_class.clone().or_else(|| unreachable.as_ref().map(|refusal| refusal.class.to_owned()));
    let (decision, reason) = match unreachable {
        Some(refusal) => (Decision::Deny, Some(refusal.message)),
        None => (decision, reason),
    };
    // What it wants changed is not known here; a grant that lies where it is spares the question.
    let changed_as = catalog.active(tool).map_or(&[][..], |(name, _, version)| changes_as(name, version));
    let sparing = match changes {
        Some(Decision::Ask) => grants::told(context, &instance, |capability, _| changed_as.contains(&capability)),
        _ => Vec::new(),
    };
    let sparing: Vec<Value> = sparing.into_iter().filter(|grant| grant["actor"] == instance.actor).collect();
    let changes = changes.map(Decision::name);
    let by_grants = turn.step().map(|step| turn::grants(&step.reasons)).unwrap_or_default();
    if context.global.json {
        output::result_json(&json!({
            "decision": decision.name(), "error_class": error_class, "reason": reason, "grants": by_grants,
            "changes": changes, "change_grants": sparing,
        }));
    } else {
        let values = json!({
            "decision": decision.name(), "reason": reason, "grants": by_grants, "changes": changes, "sparing": sparing,
        });
        output::result(&context.text(&instance, "policy.checked", &values));
    }
    Ok(u8::from(decision == Decision::Deny))
}

/// Why the broker would refuse an address that the call names; nothing is looked up.
fn unreachable(instance: &Instance, turn: &Turn) -> Option<Refusal> {
    let step = turn.step()?;
    let catalog = instance.catalog();
    let (_, _, version) = catalog.active(&step.tool)?;
    let manifest = version.manifest()?;
    let is_brokered = manifest.capabilities.iter().any(|used| kind(&used.name) == Kind::Host);
    let is_guest = instance.perimeter().is_some();
    let refusal = |address: &Target| {
        let typed = !is_guest && turn.is_granted(step, address);
        let around = (is_guest, instance.settings.network_allow.as_slice());
        let grant = address_grant(&address.canonical, typed, around, &manifest);
        target::foreseen(&address.canonical, grant.as_slice()).err()
    };
    step.targets.iter().filter(|target| is_brokered && target.role == "url").find_map(refusal)
}

/// What becomes of the changes that an executor asks the core for, whatever they will be; nothing where it declares none.
fn changes(instance: &Instance, tool: &str) -> Option<Decision> {
    let catalog = instance.catalog();
    let contract = &catalog.active(tool)?.2.manifest()?.contract;
    let autonomy = LEVELS.into_iter().find(|level| name(*level) == instance.as_actor(&instance.actor).autonomy())?;
    let decided = Decided::of(("fs:write", false), autonomy);
    contract.side_effects.then_some(if contract.idempotent { decided.unnamed } else { decided.unrepeatable })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(capability: &str, autonomy: Autonomy, key: &str) {
        let asked = (capability, false);
        assert_eq!(Decided::of(asked, autonomy).key(), key, "{capability} at {}", name(autonomy));
    }

    #[test]
    fn each_case_has_its_sentence() {
        reads("compute:pure", Autonomy::ReadOnly, "allowed");
        reads("fs:read", Autonomy::ReadOnly, "asked_unless_named");
        reads("fs:read", Autonomy::Supervised, "asked_unless_named");
        reads("fs:read", Autonomy::Full, "allowed_unless_unrepeatable");
        reads("fs:write", Autonomy::ReadOnly, "denied");
        reads("fs:write", Autonomy::Supervised, "asked");
        reads("fs:write", Autonomy::Full, "allowed_unless_unrepeatable");
        reads("code:exec", Autonomy::Full, "asked");
    }
}
