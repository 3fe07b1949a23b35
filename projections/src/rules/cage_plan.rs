//! The plan of a cage, in symbols: what an executor declared as its maximum, and what one call of it gets.
//!
//! Pure and deterministic: the canonical bytes of the declared plan are what `profile.lock` holds the hash of, so they name
//! no folder of this machine (`{home}`, `{workspace}`, `{runtime}` stand for them) and no version of the interpreter. What
//! the symbols resolve to, which descriptors are bound and which layers the kernel gives is the sandbox's business, not this
//! file's. The runtime's own mounts (interpreter, libraries, loader) are a class apart and are not listed here.

use std::collections::BTreeSet;

use metnos_log::event::turn::Lead;
use serde::{Deserialize, Serialize};

use crate::manifest::{Capability, Manifest};
use crate::rules::core_paths::{self, OwnDirs};
use crate::rules::{grants, policy};

/// The hint that stands for exactly what the arguments name.
pub const ARGS: &str = "{args}";

const CANONICAL_PREFIX: &[u8] = b"metnos-cage-plan-1\n";
const ENV: &[&str] = &["HOME", "LANG", "PATH", "TMPDIR", "TZ"];
const MIB: u64 = 1 << 20;

/// How freely the executors of an instance may act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Autonomy {
    /// Looks, never acts.
    ReadOnly,
    /// Acts when asked and consented.
    Supervised,
    /// Acts, and asks only for what is always asked. Never means «no cage».
    Full,
}

/// The five dimensions of a cage, in symbols.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CagePlan {
    /// What is visible besides the runtime, sorted.
    pub mounts: Vec<Mount>,
    /// Programs that may be started besides the interpreter, sorted.
    pub binaries: Vec<String>,
    /// Programs that may be started because all they do is to read a format (`parse:local`), sorted; no one is asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parsers: Vec<String>,
    /// What may be reached.
    pub net: Net,
    /// Names of the environment variables that are set, sorted.
    pub env: Vec<String>,
    /// Which syscall filter holds.
    pub syscalls: SyscallProfile,
    /// How much of everything.
    pub limits: Limits,
}

/// One visible file or folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mount {
    /// A symbolic or absolute path, or `{args}` in a declared plan.
    pub path: String,
    /// Whether it may be changed through this mount.
    pub access: Access,
    /// The capability that asks for it.
    pub capability: String,
    /// Globs below it that stay hidden.
    pub except: Vec<String>,
    /// The arguments whose values it narrows to.
    pub from_args: Vec<String>,
}

/// What a mount allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Reading only.
    Read,
    /// Reading and changing.
    Write,
}

/// What may be reached; never by a route, only through the broker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Net {
    /// Nothing.
    None,
    /// Requests that the broker carries out.
    Brokered {
        /// Hosts, `*.suffix` patterns, or `{args}` in a declared plan; sorted. Empty means nothing.
        hosts: Vec<String>,
        /// Only GET and HEAD.
        read_only: bool,
    },
}

/// Which syscall filter holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyscallProfile {
    /// The one deny list that all executors run under.
    Standard,
}

/// How much of everything; all whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Wall time in milliseconds.
    pub wall_ms: u64,
    /// CPU time of one process in seconds.
    pub cpu_s: u64,
    /// Memory of the whole tree in MiB.
    pub memory_mb: u64,
    /// Processes and threads of the whole tree.
    pub processes: u64,
    /// The largest file in bytes.
    pub file_bytes: u64,
    /// Open descriptors of one process.
    pub open_files: u64,
    /// The longest reply in bytes.
    pub output_bytes_max: u64,
    /// Size of the staging folder in bytes.
    pub stage_bytes: u64,
    /// Size of `/tmp` in bytes.
    pub tmp_bytes: u64,
}

/// What a call was granted, in symbols; the caller has already asked policy and guard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallGrants {
    /// Paths to read.
    pub read: Vec<String>,
    /// Paths to change by the executor itself.
    pub write: Vec<String>,
    /// Hosts to reach.
    pub hosts: Vec<String>,
}

/// What the symbols stand for on this machine: absolute paths without a slash at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The owner's home folder.
    pub home: String,
    /// The workspace.
    pub workspace: String,
    /// The runtime directory.
    pub runtime: String,
}

impl Places {
    /// The symbols that a path of a plan may begin with.
    pub const SYMBOLS: [&str; 3] = ["{home}", "{workspace}", "{runtime}"];

    /// Each symbol with what it stands for.
    fn named(&self) -> [(&'static str, &String); 3] {
        let [home, workspace, runtime] = Self::SYMBOLS;
        [(home, &self.home), (workspace, &self.workspace), (runtime, &self.runtime)]
    }

    /// Writes an absolute path with symbols; the most specific place wins.
    pub fn symbolise(&self, path: &str) -> String {
        let mut places = self.named();
        places.sort_by_key(|(_, folder)| std::cmp::Reverse(folder.len()));
        for (symbol, folder) in places {
            if !folder.is_empty() && folder != "/" && core_paths::is_within(path, folder) {
                return format!("{symbol}{}", &path[folder.len()..]);
            }
        }
        path.to_owned()
    }

    /// Turns symbols (and `~`) into an absolute path.
    pub fn resolve(&self, symbolic: &str) -> String {
        for (symbol, folder) in self.named().into_iter().chain([("~", &self.home)]) {
            if let Some(rest) = symbolic.strip_prefix(symbol)
                && (rest.is_empty() || rest.starts_with('/'))
            {
                return format!("{folder}{rest}");
            }
        }
        symbolic.to_owned()
    }
}

/// Derives the declared maximum from a manifest.
pub fn declared(manifest: &Manifest) -> CagePlan {
    let mut mounts = BTreeSet::new();
    let mut binaries = BTreeSet::new();
    let mut parsers = BTreeSet::new();
    let mut hosts: Option<BTreeSet<String>> = None;
    for capability in &manifest.capabilities {
        match capability.name.as_str() {
            "fs:read" => mounts.extend(mounts_of(capability, Access::Read)),
            "fs:write" => mounts.extend(mounts_of(capability, Access::Write)),
            "code:exec" => binaries.extend(capability.hint.iter().cloned()),
            // Nobody is asked for these, so only programs of the closed list count, whatever the manifest says.
            "parse:local" => parsers.extend(capability.hint.iter().filter(|name| policy::is_parser(name)).cloned()),
            "network:http" | "network:sites" => hosts.get_or_insert_default().extend(capability.hint.iter().cloned()),
            _ => {}
        }
    }
    let contract = &manifest.contract;
    let many = !binaries.is_empty() || !parsers.is_empty();
    CagePlan {
        mounts: mounts.into_iter().collect(),
        net: hosts.map_or(Net::None, |hosts| Net::Brokered {
            hosts: hosts.into_iter().collect(),
            read_only: !contract.side_effects,
        }),
        env: ENV.iter().map(|&name| name.to_owned()).collect(),
        syscalls: SyscallProfile::Standard,
        limits: Limits {
            wall_ms: u64::from(contract.timeout_s) * 1000,
            cpu_s: u64::from(contract.timeout_s).max(1),
            memory_mb: u64::from(contract.memory_mb),
            processes: if many { 64 } else { 16 },
            file_bytes: 64 * MIB,
            open_files: 256,
            output_bytes_max: contract.output_bytes_max,
            stage_bytes: if contract.side_effects { 64 * MIB } else { 16 * MIB },
            tmp_bytes: 32 * MIB,
        },
        binaries: binaries.into_iter().collect(),
        parsers: parsers.into_iter().collect(),
    }
}

fn mounts_of(capability: &Capability, access: Access) -> Vec<Mount> {
    let sorted =
        |list: &[String]| list.iter().map(|glob| symbolic_home(glob)).collect::<BTreeSet<_>>().into_iter().collect();
    capability
        .hint
        .iter()
        .map(|hint| Mount {
            path: folder(hint),
            access,
            capability: capability.name.clone(),
            except: sorted(&capability.except),
            from_args: sorted(&capability.from_args),
        })
        .collect()
}

/// A glob with the symbol for `~`.
pub fn symbolic_home(glob: &str) -> String {
    match glob.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{{home}}{rest}"),
        _ => glob.to_owned(),
    }
}

/// The folder that a hint asks for, in symbols, as a declared plan has it.
pub fn folder(hint: &str) -> String {
    fixed_part(&symbolic_home(hint))
}

/// The folders that an executor declares for itself by this capability and no argument names, where those lead that are links.
pub fn own_folders(capability: &Capability, home: &str, leads: &[Lead]) -> Vec<String> {
    let is_own = capability.from_args.is_empty();
    let hints = capability.hint.iter().filter(|hint| is_own && hint.as_str() != ARGS);
    let named = hints.map(|hint| folder(hint).replacen("{home}", home, 1));
    let led = |folder: String| leads.iter().find(|lead| lead.given == folder).map_or(folder, |lead| lead.at.clone());
    named.map(led).collect()
}

/// The directory up to the first segment that holds a glob; the whole hint when none does.
fn fixed_part(hint: &str) -> String {
    if hint == ARGS {
        return hint.to_owned();
    }
    let kept: Vec<&str> = hint.split('/').take_while(|segment| !segment.contains(['*', '?', '['])).collect();
    match kept.join("/") {
        path if path.is_empty() => "/".to_owned(),
        path => path,
    }
}

/// Narrows a declared plan to one call. Grants outside of the declaration are dropped, never added.
///
/// `ReadOnly` sees what it was granted to read; `Supervised` also gets what it was granted to change; `Full` also gets what
/// was declared without being named by arguments. Every result is a subset of the declared plan.
pub fn narrow(declared: &CagePlan, autonomy: Autonomy, grants: &CallGrants) -> CagePlan {
    let mut mounts = BTreeSet::new();
    for path in &grants.read {
        mounts.extend(granted(declared, path, Access::Read));
    }
    if autonomy > Autonomy::ReadOnly {
        for path in &grants.write {
            mounts.extend(granted(declared, path, Access::Write));
        }
    }
    if autonomy == Autonomy::Full {
        mounts.extend(declared.mounts.iter().filter(|mount| mount.path != ARGS).cloned());
    }
    CagePlan {
        mounts: mounts.into_iter().collect(),
        binaries: if autonomy == Autonomy::ReadOnly { Vec::new() } else { declared.binaries.clone() },
        parsers: declared.parsers.clone(),
        net: narrow_net(&declared.net, autonomy, &grants.hosts),
        env: declared.env.clone(),
        syscalls: declared.syscalls,
        limits: declared.limits,
    }
}

/// Whether a declared plan lets an argument name a path to be read: by a capability that names the argument, or by one that is
/// open whatever the arguments say.
pub fn may_read(declared: &CagePlan, argument: &str, path: &str) -> bool {
    let is_meant = |mount: &&Mount| match mount.from_args.as_slice() {
        [] => mount.path != ARGS,
        names => names.iter().any(|name| name == argument),
    };
    declared.mounts.iter().filter(is_meant).any(|mount| covers(&mount.path, path))
}

/// Whether a declared plan lets a folder be changed by the executor itself.
pub fn may_change(declared: &CagePlan, folder: &str) -> bool {
    granted(declared, folder, Access::Write).is_some()
}

/// The mount of a granted path: the narrowest declared one that covers it lends capability and exceptions.
fn granted(declared: &CagePlan, path: &str, access: Access) -> Option<Mount> {
    let cover = declared
        .mounts
        .iter()
        .filter(|mount| mount.access >= access && covers(&mount.path, path))
        .max_by_key(|mount| mount.path.len())?;
    Some(Mount { path: path.to_owned(), access, ..cover.clone() })
}

/// The hosts that an executor may reach whatever its arguments say: those that its manifest names itself.
pub fn own_hosts(manifest: &Manifest) -> Vec<&str> {
    let whole = of_hosts(manifest).filter(|capability| capability.from_args.is_empty());
    whole.flat_map(|capability| &capability.hint).map(String::as_str).filter(|hint| *hint != ARGS).collect()
}

/// The hosts and patterns of hosts that a manifest names, `{args}` among them.
pub fn host_hints(manifest: &Manifest) -> impl Iterator<Item = &str> {
    of_hosts(manifest).flat_map(|capability| &capability.hint).map(String::as_str)
}

fn of_hosts(manifest: &Manifest) -> impl Iterator<Item = &Capability> {
    manifest.capabilities.iter().filter(|capability| grants::kind(&capability.name) == grants::Kind::Host)
}

fn narrow_net(declared: &Net, autonomy: Autonomy, granted: &[String]) -> Net {
    let Net::Brokered { hosts, read_only } = declared else { return Net::None };
    let mut kept: BTreeSet<String> =
        granted.iter().filter(|host| hosts.iter().any(|pattern| covers_host(pattern, host))).cloned().collect();
    if autonomy == Autonomy::Full {
        kept.extend(hosts.iter().filter(|host| *host != ARGS).cloned());
    }
    Net::Brokered { hosts: kept.into_iter().collect(), read_only: *read_only || autonomy == Autonomy::ReadOnly }
}

/// Whether a plan gives nothing that the other does not give.
pub fn is_subset(call: &CagePlan, declared: &CagePlan) -> bool {
    let mounts = call.mounts.iter().all(|mount| {
        declared.mounts.iter().any(|wide| {
            wide.access >= mount.access
                && covers(&wide.path, &mount.path)
                && wide.except.iter().all(|glob| mount.except.contains(glob))
        })
    });
    let binaries = call.binaries.iter().all(|binary| declared.binaries.contains(binary))
        && call.parsers.iter().all(|parser| declared.parsers.contains(parser));
    let env = call.env.iter().all(|name| declared.env.contains(name));
    mounts
        && binaries
        && env
        && call.syscalls <= declared.syscalls
        && net_within(&call.net, &declared.net)
        && limits_within(&call.limits, &declared.limits)
}

fn net_within(call: &Net, declared: &Net) -> bool {
    match (call, declared) {
        (Net::None, _) => true,
        (Net::Brokered { hosts, .. }, Net::None) => hosts.is_empty(),
        (Net::Brokered { hosts, read_only }, Net::Brokered { hosts: wide, read_only: wide_read_only }) => {
            (*read_only || !wide_read_only)
                && hosts.iter().all(|host| wide.iter().any(|pattern| covers_host(pattern, host)))
        }
    }
}

fn limits_within(call: &Limits, wide: &Limits) -> bool {
    call.wall_ms <= wide.wall_ms
        && call.cpu_s <= wide.cpu_s
        && call.memory_mb <= wide.memory_mb
        && call.processes <= wide.processes
        && call.file_bytes <= wide.file_bytes
        && call.open_files <= wide.open_files
        && call.output_bytes_max <= wide.output_bytes_max
        && call.stage_bytes <= wide.stage_bytes
        && call.tmp_bytes <= wide.tmp_bytes
}

fn covers(wide: &str, path: &str) -> bool {
    wide == path || wide == ARGS || (!path.starts_with(ARGS) && has_no_dots(path) && core_paths::is_within(path, wide))
}

fn has_no_dots(path: &str) -> bool {
    !path.split('/').any(|segment| segment == ".." || segment == ".")
}

/// Whether a pattern of a manifest covers a host; at which port is the broker's to hold.
pub fn covers_host(pattern: &str, host: &str) -> bool {
    if pattern == ARGS || pattern == host || without_port(pattern) == host {
        return true;
    }
    without_port(pattern).strip_prefix("*.").is_some_and(|suffix| {
        let name = host.strip_prefix("*.").unwrap_or(host);
        name.strip_suffix(suffix).is_some_and(|rest| rest.ends_with('.')) || (host.starts_with("*.") && name == suffix)
    })
}

/// A host pattern without its port; of an IPv6 address without its brackets.
fn without_port(pattern: &str) -> &str {
    if let Some(rest) = pattern.strip_prefix('[') {
        return rest.split(']').next().unwrap_or(rest);
    }
    match pattern.split_once(':') {
        Some((host, port)) if !port.contains(':') => host,
        _ => pattern,
    }
}

/// Says which mounts of a plan a core rule forbids, after the symbols were resolved; `{args}` names nothing by itself.
pub fn forbidden_mounts(plan: &CagePlan, places: &Places, own: &OwnDirs) -> Vec<(String, &'static str)> {
    plan.mounts
        .iter()
        .filter(|mount| mount.path != ARGS)
        .filter_map(|mount| {
            let path = places.resolve(&mount.path);
            let rule = core_paths::forbidden(&path, &places.home, own);
            let rule = rule.or_else(|| {
                if mount.access == Access::Write { core_paths::protected_from_change(&path) } else { None }
            });
            rule.map(|rule| (mount.path.clone(), rule))
        })
        .collect()
}

/// Takes out of a plan every mount that a core rule forbids.
pub fn without_forbidden(plan: &CagePlan, places: &Places, own: &OwnDirs) -> CagePlan {
    let refused: BTreeSet<String> = forbidden_mounts(plan, places, own).into_iter().map(|(path, _)| path).collect();
    CagePlan {
        mounts: plan.mounts.iter().filter(|mount| !refused.contains(&mount.path)).cloned().collect(),
        ..plan.clone()
    }
}

impl CagePlan {
    /// The bytes that are hashed: a version line and JSON with fixed field order, sorted lists and whole numbers only.
    pub fn canonical_bytes(&self) -> Vec<u8> {
        let mut bytes = CANONICAL_PREFIX.to_vec();
        let json = serde_json::to_vec(self).expect("a plan holds only strings, lists and whole numbers");
        bytes.extend_from_slice(&json);
        bytes
    }

    /// Takes out of it whatever could change something: what is left can look.
    pub fn look_only(&mut self) {
        for mount in &mut self.mounts {
            mount.access = Access::Read;
        }
        if let Net::Brokered { read_only, .. } = &mut self.net {
            *read_only = true;
        }
    }

    /// `blake3:<hex>` over the canonical bytes: of a declared plan, what `profile.lock` holds.
    pub fn digest(&self) -> String {
        format!("blake3:{}", blake3::hash(&self.canonical_bytes()).to_hex())
    }
}

#[cfg(test)]
#[path = "cage_plan_tests.rs"]
mod tests;
