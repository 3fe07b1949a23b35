//! Steps 1 to 4 before the verdict, 5 to 7 after it: prepares a call and runs it in its cage.

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use metnos_log::event::actor::Granted;
use metnos_log::event::turn::{Check, Lead, Target};
use metnos_projections::machines::turn::command::Prepared;
use metnos_projections::machines::turn::react::{wanted, with_targets};
use metnos_projections::machines::turn::{salted, writers};
use metnos_projections::manifest::Manifest;
use metnos_projections::rules::cage_plan::{self, Autonomy, CagePlan, CallGrants, Places};
use metnos_projections::rules::core_paths::{self, OwnDirs};
use metnos_projections::rules::grants::concerns;
use metnos_projections::rules::{perimeter, policy};
use rustix::fs::{Mode, OFlags};
use serde_json::{Value, json};

use super::declared::{self, Declared};
use super::hidden::Hidden;
use super::loaded::{LoadError, Loaded};
use super::made::Before;
use super::targets::{self, Base, Looked};
use super::{failed, passed};
use crate::broker::{self, HostGrant};
use crate::cause::plain;
use crate::effects::disk::exact;
use crate::manifest::{ERROR_CLASSES, OWN_CLASSES};
use crate::sandbox::{Call, CallFailure, CancelFlag, Grant, Level, Outcome, Progress, RUN, Sandbox, masks};

/// The most requests of one call, redirects included.
const REQUESTS_MAX: u32 = 64;
/// The longest body of one fetched page.
const BODY_BYTES_MAX: u64 = 2 << 20;
const REQUEST_BODY_BYTES_MAX: u64 = 1 << 20;

/// What a call needs to know of its surroundings.
#[derive(Clone, Debug)]
pub struct Caller {
    /// What `~` stands for.
    pub home: PathBuf,
    /// Where relative paths start.
    pub folder: PathBuf,
    /// Of a guest: the folders below which alone anything is shown.
    pub within: Option<Vec<String>>,
    /// What the plan's symbols stand for.
    pub places: Places,
    /// The instance's own folders.
    pub own: OwnDirs,
    /// How freely it may act.
    pub autonomy: Autonomy,
    /// What whoever asks was granted until later than now.
    pub grants: Vec<Granted>,
    /// Where lock files of living cages lie.
    pub cages: PathBuf,
    /// Hosts that this instance lets pages be fetched from.
    pub network_allow: Vec<String>,
    /// The language of the turn.
    pub language: String,
    /// IANA name of the local zone.
    pub zone: String,
    /// The turn's id.
    pub turn_id: String,
    /// What digests of this turn are made under.
    pub salt: Option<String>,
}

/// The digest of a plan as the record has it. A plan names files, and what holds its digest outlives what names them.
fn recorded(plan: &CagePlan, caller: &Caller) -> String {
    let digest = plan.digest();
    match &caller.salt {
        Some(salt) => format!("blake3:{}", salted::digest(Some(salt), &digest)),
        None => digest,
    }
}

/// A prepared call: the facts for the turn, and what is held for the cage.
pub struct PreparedCall {
    /// The facts.
    pub facts: Prepared,
    /// The executor, when it resolved and verified.
    pub loaded: Option<Loaded>,
    /// The arguments, targets replaced by their canonical values.
    pub args: Arc<Value>,
    /// What was looked up.
    pub looked: Vec<Looked>,
    /// The call's plan.
    pub plan: Option<CagePlan>,
}

/// What came back from the cage.
pub struct Returned {
    /// Whether the executor did what was asked.
    pub ok: bool,
    /// The error class, when it did not.
    pub class: Option<String>,
    /// The result; of a failed call, its error.
    pub result: Value,
    /// Steps 5 to 7.
    pub checks: Vec<Check>,
    /// Whether its effects are all that it can have changed.
    pub acts_by_effects_alone: bool,
    /// The hosts that it could reach, and that its requests may go to.
    pub hosts: Vec<HostGrant>,
    /// Whether the executor says that what it wants sent may be sent twice.
    pub is_idempotent: bool,
    /// Whether it may have messages sent to people.
    pub may_message: bool,
    /// The rest of what is known.
    pub outcome: Outcome,
}

/// The grants that a call could use: of what its executor declares, and of the changes that it may want, on what the call names.
/// Only they are recorded: whoever is shown the call learns nothing of what is granted elsewhere.
fn usable(manifest: &Manifest, grants: &[Granted], targets: &[Target], (home, leads): (&str, &[Lead])) -> Vec<Granted> {
    let own_hosts = cage_plan::own_hosts(manifest);
    let declares = |name: &str| manifest.capabilities.iter().any(|capability| capability.name == name);
    let wants = |name: &str| manifest.contract.side_effects && matches!(name, "fs:write" | "metnos:write");
    let could = |grant: &&Granted| {
        let own = manifest.capabilities.iter().filter(|capability| capability.name == grant.capability);
        let own_folders: Vec<String> =
            own.flat_map(|capability| cage_plan::own_folders(capability, home, leads)).collect();
        (declares(&grant.capability) || wants(&grant.capability)) && concerns(grant, targets, &own_hosts, &own_folders)
    };
    grants.iter().filter(could).cloned().collect()
}

impl PreparedCall {
    /// Steps 1 to 4: receive, resolve, verify, validate_input. `args` has its references replaced.
    pub fn new(step: u32, loaded: Result<Loaded, LoadError>, args: impl Into<Arc<Value>>, caller: &Caller) -> Self {
        let args = args.into();
        let mut checks = vec![passed("receive")];
        let loaded = match loaded {
            Ok(loaded) => loaded,
            Err(error) => {
                let at = if matches!(error, LoadError::Resolve(..)) { "resolve" } else { "verify" };
                checks.push(failed(at, error.class(), error.to_string()));
                let facts = Prepared { step, checks, ..Prepared::default() };
                return Self { facts, loaded: None, args, looked: Vec::new(), plan: None };
            }
        };
        checks.extend([passed("resolve"), passed("verify")]);
        let wanted = wanted(&loaded.manifest, &args);
        let mut looked = targets::look_up(&wanted, Base { home: &caller.home, folder: &caller.folder });
        leave_outside(&mut looked, caller);
        let args = with_targets(args, looked.iter().map(|looked| &looked.target));
        checks.push(match loaded.input_fault(&args) {
            None => passed("validate_input"),
            Some(fault) => failed("validate_input", "invalid_args", fault),
        });
        let plan = call_plan(&loaded, &looked, caller);
        refuse_undeclared(&mut looked, (&plan, &loaded.declared), caller);
        let targets: Vec<Target> = looked.iter().map(|looked| looked.target.clone()).collect();
        let leads = declared::leads(&declared::held(&plan, caller));
        let facts = Prepared {
            step,
            grants: usable(&loaded.manifest, &caller.grants, &targets, (&caller.places.home, &leads)),
            targets,
            version: loaded.version.clone(),
            checks,
            plan_digest: recorded(&plan, caller),
            mnest_permille: None,
            leads,
            uncaged: false,
            may_do_less: false,
        };
        Self { facts, loaded: Some(loaded), args, looked, plan: Some(plan) }
    }

    /// Steps 5 to 7: open_cage, run, validate_output. Blocks until the cage is gone, and what the executor changed by itself is
    /// on the disk.
    pub fn run(self, sandbox: &Sandbox, around: &Around<'_>) -> Result<Returned, CallFailure> {
        let (loaded, outcome, hosts) = self.call(sandbox, around, RUN)?;
        Ok(judged(&loaded, outcome, hosts))
    }

    /// Asks the executor's own check what became of a call like this; it can look at what the call could change, and change
    /// nothing. `None` where it does not say.
    pub fn check(mut self, sandbox: &Sandbox, around: &Around<'_>) -> Option<String> {
        let check = self.loaded.as_ref()?.manifest.contract.check.clone()?;
        self.plan.iter_mut().for_each(CagePlan::look_only);
        let (_, outcome, _) = self.call(sandbox, around, &check).ok()?;
        let reply = outcome.reply.ok().filter(|reply| reply["ok"] == json!(true))?;
        reply.get("outcome").and_then(Value::as_str).map(str::to_owned)
    }

    /// Why this call will not run in the cage that this machine has, whatever anybody says to it.
    pub fn lacks(&self, sandbox: &Sandbox) -> Option<String> {
        let loaded = self.loaded.as_ref().filter(|loaded| loaded.builtin.is_none())?;
        lacks(&loaded.manifest, sandbox, sandbox.capabilities().level == Level::None)
    }

    fn call(
        self,
        sandbox: &Sandbox,
        around: &Around<'_>,
        entry: &str,
    ) -> Result<(Loaded, Outcome, Vec<HostGrant>), CallFailure> {
        let refused = |message: &str| CallFailure { class: "internal_error", message: message.to_owned() };
        let loaded = self.loaded.ok_or_else(|| refused("the executor was not verified"))?;
        let plan = self.plan.ok_or_else(|| refused("the call has no plan"))?;
        if !cage_plan::is_subset(&plan, &loaded.declared) {
            return Err(CallFailure {
                class: "lock_mismatch",
                message: "the call asks for more than was signed".to_owned(),
            });
        }
        // A birth test is no call: it decides nothing and sees nothing of anybody's.
        let is_chosen = around.canned.is_some() || sandbox.capabilities().level == Level::None;
        let needs_full = needs_full(&loaded.manifest, is_chosen);
        if let Some(message) = lacks(&loaded.manifest, sandbox, is_chosen) {
            return Err(CallFailure { class: "cage_refused", message });
        }
        if let Some(message) = declared::opens_too_much(&plan, around.caller) {
            return Err(CallFailure { class: "policy_violation", message });
        }
        let declared = declared::held(&plan, around.caller);
        if declared::leads(&declared) != self.facts.leads {
            let message = "a folder that it declares leads elsewhere than when that was looked at".to_owned();
            return Err(CallFailure { class: "target_changed", message });
        }
        let net = network(&plan, &loaded, &self.looked, around);
        let hosts = net.as_ref().map(|net| net.hosts.clone()).unwrap_or_default();
        let grants = grants((self.looked, declared), &plan, around.caller);
        let (changeable, hidden) = (changeable(&grants), Hidden::look(&grants));
        let (places, own) = (&around.caller.places, &around.caller.own);
        let before = Before::look(&grants, &places.home, own, excepted(&plan, places));
        if let Some(message) = before.as_ref().and_then(Before::fault) {
            return Err(CallFailure { class: "policy_violation", message });
        }
        let context = json!({
            "workspace": around.caller.places.workspace,
            "turn_id": around.caller.turn_id,
            "trace_id": around.trace_id,
            "language": around.caller.language,
            "timezone": around.caller.zone,
            "config": {},
            "credentials": {},
        });
        let lock_file = around.caller.cages.join(format!("{}.lock", around.trace_id));
        let mut outcome = sandbox.call(Call {
            plan: &plan,
            grants,
            code: &loaded.code,
            // Only birth tests have canned answers.
            ahead: around.canned.is_none(),
            entry,
            args: &self.args,
            context: &context,
            lock_file: &lock_file,
            needs_full,
            net,
            cancel: around.cancel.clone(),
            progress: around.progress,
        });
        bring_to_disk(&changeable).map_err(|error| CallFailure {
            class: "operation_failed",
            message: format!("what it changed could not be brought to the disk: {}", plain(&error)),
        })?;
        if let Some(message) = hidden.fault(&places.home, own) {
            outcome.reply = Err(CallFailure { class: "policy_violation", message });
            (outcome.stdout, outcome.stderr, outcome.log) = Default::default();
        }
        // Whatever it says of itself, and whether it was stopped: it did what nobody may.
        if let Some(message) = before.as_ref().and_then(Before::violation) {
            outcome.reply = Err(CallFailure { class: "policy_violation", message });
        }
        Ok((loaded, outcome, hosts))
    }
}

/// What a call may change by itself, open for as long as it runs; `None` for what cannot be opened.
fn changeable(grants: &[Grant]) -> Vec<Option<OwnedFd>> {
    let writable = grants.iter().filter(|grant| grant.write);
    // The very object that is granted, whatever its name means by now.
    let same = |grant: &Grant| format!("/proc/self/fd/{}", grant.fd.as_raw_fd());
    writable.map(|grant| rustix::fs::open(same(grant), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()).collect()
}

/// Brings what an executor may have changed to the disk.
fn bring_to_disk(changed: &[Option<OwnedFd>]) -> rustix::io::Result<()> {
    if changed.iter().any(Option::is_none) {
        rustix::fs::sync();
    }
    changed.iter().flatten().try_for_each(rustix::fs::syncfs)
}

/// What a cage lacks, in short: the whole list is long, and `doctor` has it.
fn lacking(missing: &[String]) -> String {
    const SHOWN: usize = 2;
    let shown = missing.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("; ");
    if missing.len() > SHOWN { format!("{shown}; and {} more", missing.len() - SHOWN) } else { shown }
}

/// Why an executor does not run in the cage that this machine has: it needs a full one.
fn lacks(manifest: &Manifest, sandbox: &Sandbox, is_chosen: bool) -> Option<String> {
    let report = sandbox.capabilities();
    let is_enough = report.level == Level::Full || !needs_full(manifest, is_chosen);
    (!is_enough).then(|| {
        let (name, missing) = (&manifest.executor.name, lacking(&report.missing));
        format!("{name} runs in a full cage only, and this machine's lacks {missing}")
    })
}

/// Whether an executor runs in a full cage only.
fn needs_full(manifest: &Manifest, is_chosen: bool) -> bool {
    let capabilities = manifest.capabilities.iter().map(|capability| capability.name.as_str());
    !policy::may_lack_layers(&manifest.executor.created_by, capabilities, is_chosen)
}

/// What surrounds a run.
pub struct Around<'a> {
    /// Whose call it is.
    pub caller: &'a Caller,
    /// Names the call.
    pub trace_id: &'a str,
    /// Whether a target was named by the person's own words.
    pub typed: &'a dyn Fn(&Target) -> bool,
    /// Ends it from outside.
    pub cancel: CancelFlag,
    /// Told how far it is.
    pub progress: &'a (dyn Fn(Progress) + Sync),
    /// Canned answers instead of the network, by address: only birth tests have them.
    pub canned: Option<BTreeMap<String, broker::Canned>>,
}

fn judged(loaded: &Loaded, mut outcome: Outcome, hosts: Vec<HostGrant>) -> Returned {
    let failure = |class: &str, message: &str| json!({ "ok": false, "error_class": class, "error": message });
    let (result, checks) = match std::mem::replace(&mut outcome.reply, Ok(Value::Null)) {
        Err(refused) if refused.class == "cage_refused" => (
            failure(refused.class, &refused.message),
            vec![failed("open_cage", refused.class, refused.message.clone())],
        ),
        Err(other) => {
            let checks = vec![passed("open_cage"), failed("run", other.class, other.message.clone())];
            (failure(other.class, &other.message), checks)
        }
        Ok(value) => match fault(loaded, &value) {
            None => (value, vec![passed("open_cage"), passed("run"), passed("validate_output")]),
            Some(fault) => {
                let message = format!("{} returned what its schema does not allow: {fault}", loaded.name);
                let check = failed("validate_output", "contract_violation", message.clone());
                (failure("contract_violation", &message), vec![passed("open_cage"), passed("run"), check])
            }
        },
    };
    let ok = result.get("ok").and_then(Value::as_bool).unwrap_or(false);
    let class =
        (!ok).then(|| result.get("error_class").and_then(Value::as_str).unwrap_or("contract_violation").to_owned());
    let acts_by_effects_alone = loaded.manifest.acts_by_effects_alone();
    let is_idempotent = loaded.manifest.contract.idempotent;
    let may_message = loaded.manifest.capabilities.iter().any(|used| used.name == policy::CHANNEL);
    Returned { ok, class, result, checks, acts_by_effects_alone, hosts, is_idempotent, may_message, outcome }
}

/// Why what an executor returned is none of the results that it may have.
fn fault(loaded: &Loaded, result: &Value) -> Option<String> {
    let undeclared = || {
        let wants = result.get("effects").is_some_and(|effects| !effects.is_null() && *effects != json!([]));
        let declares = loaded.manifest.contract.side_effects;
        (wants && !declares).then(|| "effects, though its manifest says side_effects = false".to_owned())
    };
    loaded.output_fault(result).or_else(|| class_fault(result)).or_else(undeclared)
}

/// Why the class of a failure is not one that an executor can have: it is none, or says what a person,
/// the vaglio or Metnos itself decided.
fn class_fault(result: &Value) -> Option<String> {
    let class = result.get("error_class")?.as_str().filter(|_| result["ok"] == json!(false))?;
    let is_metnos = class.starts_with("consent_") || class.starts_with("vaglio_") || OWN_CLASSES.contains(&class);
    (is_metnos || !ERROR_CLASSES.contains(&class)).then(|| format!("error_class: {class}"))
}

fn call_plan(loaded: &Loaded, looked: &[Looked], caller: &Caller) -> CagePlan {
    let declared = &loaded.declared;
    let own_hosts = cage_plan::own_hosts(&loaded.manifest).into_iter().map(str::to_owned);
    let mut grants = CallGrants { hosts: own_hosts.collect(), ..CallGrants::default() };
    for Looked { target, held, by_itself } in looked {
        let argument = target.pointer.split('/').nth(1).unwrap_or_default();
        let shown = caller.places.symbolise(&target.canonical);
        match (target.role.as_str(), held) {
            ("url", _) => grants.hosts.extend(host(&target.canonical)),
            (_, Some((_, folder))) if *by_itself => {
                grants.write.push(caller.places.symbolise(&folder.to_string_lossy()));
            }
            // An argument that no capability names shows nothing: nobody was asked about it.
            ("path" | "target_path", Some(_)) if cage_plan::may_read(declared, argument, &shown) => {
                grants.read.push(shown);
            }
            _ => {}
        }
    }
    // What is declared without being named by arguments: policy has asked for it.
    let whole = declared.mounts.iter().filter(|mount| mount.from_args.is_empty() && mount.path != cage_plan::ARGS);
    for mount in whole {
        match mount.access {
            cage_plan::Access::Read => grants.read.push(mount.path.clone()),
            cage_plan::Access::Write => grants.write.push(mount.path.clone()),
        }
    }
    let plan = cage_plan::narrow(declared, caller.autonomy, &grants);
    match &caller.within {
        Some(folders) => perimeter::confined(&plan, folders, &caller.places),
        None => plan,
    }
}

/// Lets go of what a guest may not see. The turn refuses the call; were it not to, there would still be nothing to show.
fn leave_outside(looked: &mut [Looked], caller: &Caller) {
    let Some(folders) = &caller.within else { return };
    for looked in looked {
        let is_inside = |at: &Path| at.to_str().is_some_and(|at| perimeter::holds(folders, at));
        looked.held = looked.held.take().filter(|(_, at)| is_inside(at));
    }
}

/// Marks targets that the executor did not declare: it does not get to see them, whatever the arguments say.
fn refuse_undeclared(looked: &mut [Looked], plans: (&CagePlan, &CagePlan), caller: &Caller) {
    // What nobody touches lies in the house's home, whoever asks.
    let core = masks::Core::new(Path::new(&caller.places.home), &caller.own);
    for looked in looked.iter_mut().filter(|looked| looked.target.trouble.is_none()) {
        if let Some(reason) = objection(looked, plans, &core, caller) {
            looked.target.trouble = Some(("policy_violation".to_owned(), reason));
            looked.held = None;
        }
    }
}

/// Why an executor does not get a target, whatever the arguments say.
fn objection(
    Looked { target, held, by_itself }: &Looked,
    (plan, declared): (&CagePlan, &CagePlan),
    core: &masks::Core<'_>,
    caller: &Caller,
) -> Option<String> {
    let undeclared = || Some("undeclared".to_owned());
    // What is excepted below a folder is excepted where it is named, too.
    if (*by_itself || held.is_some()) && is_excepted(plan, target, *by_itself, caller) {
        return undeclared();
    }
    if target.kind == "file" && is_second_name(target, held.as_ref().filter(|_| !*by_itself), core) {
        return Some("second_name".to_owned());
    }
    let (_, at) = held.as_ref()?;
    if *by_itself {
        // In the workspace itself what is closed is masked, and stays where it is; above it, all of it could be moved.
        let is_above = Path::new(&caller.places.workspace).starts_with(at) && Path::new(&caller.places.workspace) != at;
        let holds_own =
            is_above || [&caller.own.config, &caller.own.data].iter().any(|own| Path::new(own).starts_with(at));
        let folder = at.to_string_lossy();
        return match () {
            () if holds_own || core_paths::holds_forbidden_names(&folder) => Some(format!("whole_home: {folder}")),
            () if cage_plan::may_change(declared, &caller.places.symbolise(&folder)) => None,
            () => Some(format!("undeclared_folder: {folder}")),
        };
    }
    let is_mounted = plan.mounts.iter().any(|mount| mount.path == caller.places.symbolise(&target.canonical));
    if target.role == "path" && !is_mounted { undeclared() } else { None }
}

/// Whether a file is one that nobody sees under another name: what is held of it, else what lies there now.
fn is_second_name(target: &Target, held: Option<&(OwnedFd, PathBuf)>, core: &masks::Core<'_>) -> bool {
    match held {
        Some((fd, _)) => core.is_second_name(fd),
        None => core.is_second_name_at(&exact(&target.canonical, target.canonical_b64.as_deref())),
    }
}

/// Whether the capability that a target is shown by takes it out again.
fn is_excepted(plan: &CagePlan, target: &Target, by_itself: bool, caller: &Caller) -> bool {
    let shown = if by_itself { writers::folder(&target.canonical, &target.kind) } else { &target.canonical };
    let path = caller.places.symbolise(shown);
    let mounts = plan.mounts.iter().filter(|mount| mount.path == path);
    let globs: Vec<String> = mounts.flat_map(|mount| &mount.except).map(|glob| caller.places.resolve(glob)).collect();
    masks::is_excepted(Path::new(&target.canonical), &globs)
        || masks::is_excepted_elsewhere(&exact(&target.canonical, target.canonical_b64.as_deref()), &globs)
}

/// The host of an address, as the broker will compare it.
fn host(address: &str) -> Option<String> {
    broker::target::grant_for(address, false).ok().map(|grant| grant.pattern)
}

/// The globs that the capabilities of a plan take out again, absolute.
fn excepted(plan: &CagePlan, places: &Places) -> Vec<String> {
    plan.mounts.iter().flat_map(|mount| &mount.except).map(|glob| places.resolve(glob)).collect()
}

fn grants((looked, declared): (Vec<Looked>, Vec<Declared<'_>>), plan: &CagePlan, caller: &Caller) -> Vec<Grant> {
    let core = masks::Core::new(Path::new(&caller.places.home), &caller.own);
    let except = excepted(plan, &caller.places);
    let mount_of = |at: &Path| {
        let path = caller.places.symbolise(&at.to_string_lossy());
        plan.mounts.iter().filter(move |mount| mount.path == path)
    };
    let grant = |looked: Looked| {
        // What is to be moved is shown to an executor that declares to read it, and held back from any other.
        let (fd, at) = looked.held.filter(|(_, at)| looked.target.role == "path" || mount_of(at).next().is_some())?;
        let is_dir = looked.by_itself || looked.target.kind == "folder";
        let write = looked.by_itself && mount_of(&at).any(|mount| mount.access == cage_plan::Access::Write);
        let mut masks = if is_dir { masks::below(&at, &core) } else { Vec::new() };
        masks.extend(masks::excepted(&at, &except));
        masks.extend(executors(caller).filter(|executors| write && executors.starts_with(&at)));
        Some(Grant { fd, at, write, is_dir, masks })
    };
    let named = looked.into_iter().filter_map(grant);
    let whole = declared.into_iter().map(|Declared { mount, fd, at, is_dir, .. }| {
        let write = mount.access == cage_plan::Access::Write;
        let mut hidden = if is_dir { masks::below(&at, &core) } else { Vec::new() };
        hidden.extend(masks::excepted(&at, &except));
        hidden.extend(executors(caller).filter(|executors| write && executors.starts_with(&at)));
        Grant { fd, at, write, is_dir, masks: hidden }
    });
    named.chain(whole).collect()
}

/// The folder of the signed executors, as it is called without links: nothing changes it but signing.
fn executors(caller: &Caller) -> Option<PathBuf> {
    Path::new(&caller.places.workspace).join("executors").canonicalize().ok()
}

/// What the broker may fetch: the hosts of the plan, at the ports that the addresses name, as far as the instance allows.
fn network(
    plan: &CagePlan,
    Loaded { manifest, .. }: &Loaded,
    looked: &[Looked],
    around: &Around<'_>,
) -> Option<broker::Grants> {
    let cage_plan::Net::Brokered { hosts, read_only } = &plan.net else { return None };
    let allowed = |host: &str| allows(&around.caller.network_allow, host);
    let is_guest = around.caller.within.is_some();
    let grant = |Looked { target, .. }: &Looked| {
        let address = Some(&target.canonical).filter(|_| target.role == "url")?;
        let allow = &around.caller.network_allow;
        address_grant(address, (around.typed)(target), (is_guest, allow), manifest)
            .filter(|grant| hosts.contains(&grant.pattern))
    };
    // A host of this house that a manifest names is meant: whoever added it was shown it. It is no guest's all the same.
    let own = |pattern: &&str| {
        let grant = broker::target::grant_for_pattern(pattern).ok()?;
        let is_meant = !is_guest || broker::target::is_public(&grant);
        let is_there = hosts.iter().any(|host| host == pattern) && allowed(&grant.pattern) && is_meant;
        is_there.then_some(broker::HostGrant { typed: !is_guest, ..grant })
    };
    let own_hosts = cage_plan::own_hosts(manifest);
    Some(broker::Grants {
        hosts: looked.iter().filter_map(grant).chain(own_hosts.iter().filter_map(own)).collect(),
        read_only: *read_only,
        max_body_bytes: BODY_BYTES_MAX,
        max_request_bytes: REQUEST_BODY_BYTES_MAX,
        max_requests: REQUESTS_MAX,
        timeout: Duration::from_millis(plan.limits.wall_ms),
        canned: around.canned.clone(),
    })
}

/// The grant of an address that a call names, typed by the person or not; none where it may not be reached.
pub fn address_grant(
    address: &str,
    typed: bool,
    (is_guest, network_allow): (bool, &[String]),
    manifest: &Manifest,
) -> Option<broker::HostGrant> {
    let grant = broker::target::grant_for(address, typed).ok()?;
    let is_theirs = !is_guest || !broker::target::is_of_this_network(address);
    (is_theirs && allows(network_allow, &grant.pattern)).then(|| declared_ports(manifest, grant)).flatten()
}

/// A grant at the ports that the manifest names for its host; none where the address names another one.
fn declared_ports(manifest: &Manifest, grant: broker::HostGrant) -> Option<broker::HostGrant> {
    let covering = cage_plan::host_hints(manifest).filter(|hint| cage_plan::covers_host(hint, &grant.pattern));
    // `{args}` is no pattern, and names no port.
    let ports =
        covering.map(|hint| broker::target::grant_for_pattern(hint).map_or(broker::Ports::Web, |hint| hint.ports));
    let ports: Vec<broker::Ports> = ports.collect();
    if ports.contains(&broker::Ports::Web) || ports.contains(&grant.ports) {
        return Some(grant);
    }
    let port = [80, 443].map(broker::Ports::Exact).into_iter().find(|port| ports.contains(port))?;
    (grant.ports == broker::Ports::Web).then_some(broker::HostGrant { ports: port, ..grant })
}

/// Whether the settings let a host be reached.
pub fn allows(patterns: &[String], host: &str) -> bool {
    patterns.iter().any(|pattern| {
        pattern == "*"
            || pattern == host
            || pattern.strip_prefix('*').is_some_and(|suffix| suffix.starts_with('.') && host.ends_with(suffix))
    })
}

/// The folder of a path's lock file is made once; this names it.
pub fn cages(data: &Path) -> PathBuf {
    data.join("cages")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A question of whoever adds it says that it changes nothing, and so it does.
    #[test]
    fn who_declares_no_effects_has_none() {
        let manifest = include_str!("../../executors/write_files/manifest.toml");
        let schema = json!({ "definitions": { "Input": { "type": "object" }, "Output": { "type": "object" } } });
        let loaded = |manifest: &str| {
            Loaded::new(crate::manifest::parse("manifest.toml", manifest).unwrap(), &schema, Vec::new()).unwrap()
        };
        let quiet = loaded(&manifest.replacen("side_effects = true", "side_effects = false", 1));
        let result = |effects: Value| json!({ "ok": true, "effects": effects });
        let writes = result(json!([{ "op": "write", "path": "/h/a", "from": "a", "if_exists": "replace" }]));
        assert_eq!(fault(&loaded(manifest), &writes), None);
        assert!(fault(&quiet, &writes).is_some_and(|fault| fault.contains("side_effects = false")));
        assert_eq!(fault(&quiet, &result(json!([]))), None);
    }
}
