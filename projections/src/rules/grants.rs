//! Grants: that an actor may use a capability on what a pattern names, until a moment (design 3-executors, «Policy»).
//!
//! Pure. A grant makes a question unnecessary; it lifts no denial, and the guard, the perimeter and the judge speak beside it.

use metnos_log::Micros;
use metnos_log::event::actor::Granted;
use metnos_log::event::turn::Target;

use crate::rules::core_paths;
use crate::rules::policy::{self, Class};

/// The pattern that names everything that a capability is used on.
pub const ALL: &str = "*";
/// What stands behind a folder in a pattern: everything below it.
const BELOW: &str = "/**";

/// Why something cannot be granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ungrantable {
    /// There is no such capability.
    Unknown,
    /// It needs nobody's leave.
    Free,
    /// It is asked about each time, whatever was granted.
    Always,
    /// Nobody and nothing reaches that place, whatever was granted: the rule.
    Core(&'static str),
    /// Nothing is changed there, whatever was granted: the rule.
    Protected(&'static str),
    /// A path is meant, and this is none: absolute, without dots and wildcards.
    NoPath,
    /// A path with `..`: where it leads hangs on the links in it.
    Upwards,
    /// A host is meant, and this is none.
    NoHost,
    /// It is reached only where a person names it in their own words, and then nobody is asked.
    OnlyTyped,
    /// This capability names no targets.
    NoTargets,
}

/// What kind of targets a capability has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Files and folders.
    Path,
    /// Hosts.
    Host,
    /// None that could be told apart.
    Whole,
}

/// What kind of targets a capability has.
pub fn kind(capability: &str) -> Kind {
    match capability {
        "fs:read" | "fs:write" => Kind::Path,
        "network:http" | "network:sites" => Kind::Host,
        _ => Kind::Whole,
    }
}

/// A capability that grants are given for.
pub fn grantable(capability: &str) -> Result<(), Ungrantable> {
    match policy::registered(capability).map(|known| known.class) {
        None => Err(Ungrantable::Unknown),
        Some(Class::None) => Err(Ungrantable::Free),
        Some(Class::Always) => Err(Ungrantable::Always),
        Some(Class::PerTarget) => Ok(()),
    }
}

/// Why a pattern cannot be granted; of a path, its links are resolved.
pub fn refusal(capability: &str, target: &str, home: &str, own: &core_paths::OwnDirs) -> Option<Ungrantable> {
    if let Err(refused) = grantable(capability) {
        return Some(refused);
    }
    match kind(capability) {
        Kind::Path => {
            if target.split('/').any(|part| part == "..") {
                return Some(Ungrantable::Upwards);
            }
            if !is_plain(target) {
                return Some(Ungrantable::NoPath);
            }
            let core = core_paths::forbidden(target, home, own).map(Ungrantable::Core);
            let changes = capability == "fs:write";
            core.or_else(|| core_paths::protected_from_change(target).filter(|_| changes).map(Ungrantable::Protected))
        }
        Kind::Host => (!is_host(target)).then_some(Ungrantable::NoHost),
        Kind::Whole => (target != ALL).then_some(Ungrantable::NoTargets),
    }
}

/// A pattern as it is kept: a folder stands for itself and everything below it, with and without `/**`.
pub fn folder(target: &str) -> &str {
    target.strip_suffix(BELOW).unwrap_or(target)
}

fn is_plain(path: &str) -> bool {
    let is_part = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['*', '?', '[', '{']);
    path.strip_prefix('/').is_some_and(|rest| rest.split('/').all(is_part))
}

fn is_host(pattern: &str) -> bool {
    let name = pattern.strip_prefix("*.").unwrap_or(pattern);
    let is_part = |part: &str| {
        let is_letter = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'-';
        !part.is_empty() && part.bytes().all(is_letter)
    };
    name.len() <= 253 && name.contains('.') && name.split('.').all(is_part) || name == "localhost"
}

/// The host of a URL in normal form; none where it names a port or a user beside it.
fn host(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    (!authority.is_empty() && !authority.contains(['@', ':'])).then_some(authority)
}

/// Whether a pattern names a path, or a place below it.
fn covers_path(pattern: &str, path: &str) -> bool {
    is_plain(pattern) && is_plain(path) && core_paths::is_within(path, pattern)
}

fn covers_host(pattern: &str, url: &str) -> bool {
    host(url).is_some_and(|host| match pattern.strip_prefix("*.") {
        Some(domain) => host.strip_suffix(domain).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
        None => host == pattern,
    })
}

/// Whether a pattern covers all that another one names; what names a port is covered by none.
fn covers_hosts(pattern: &str, hosts: &str) -> bool {
    pattern == hosts || !hosts.contains(':') && covers_host(pattern, &format!("https://{hosts}/"))
}

/// Whether a grant of a capability that a step asks for can matter to it: it covers one of the step's targets, lies below one
/// that the step may change all of, or covers a host or a folder that the executor names itself. Another one decides nothing,
/// and is nobody's business here.
pub fn concerns(grant: &Granted, targets: &[Target], own_hosts: &[&str], own_folders: &[String]) -> bool {
    let mut named = targets.iter().map(|target| target.canonical.as_str());
    let pattern = grant.target.as_str();
    match kind(&grant.capability) {
        Kind::Whole => true,
        Kind::Path if own_folders.iter().any(|folder| covers_path(pattern, folder)) => true,
        Kind::Host => {
            named.any(|url| covers_host(pattern, url)) || own_hosts.iter().any(|hosts| covers_hosts(pattern, hosts))
        }
        Kind::Path if grant.capability == "fs:write" => {
            let paths: Vec<&str> = named.filter(|name| !name.contains("://")).collect();
            // What is changed is known only later where no path says it: an undo, or names that are made of others.
            let is_open = !paths.iter().any(|path| is_plain(path)) || paths.iter().any(|path| path.contains('{'));
            is_open || paths.iter().any(|path| covers_path(pattern, path) || covers_path(path, pattern))
        }
        Kind::Path => named.any(|path| covers_path(pattern, path)),
    }
}

/// What a step may do by the grants that held when it was prepared.
#[derive(Clone, Copy, Debug)]
pub struct Leave<'a> {
    /// The grants of whoever asked.
    pub grants: &'a [Granted],
    /// When it is decided: what has ended by then grants nothing.
    pub time: Micros,
}

impl Leave<'_> {
    /// The grants that cover every one of these paths; none where one is left out, or there is none.
    pub fn paths<'p>(&self, capability: &str, paths: impl IntoIterator<Item = &'p str>) -> Vec<u64> {
        self.each(capability, paths, covers_path)
    }

    /// The grants that cover every one of these targets.
    pub fn targets<'t>(&self, capability: &str, targets: impl IntoIterator<Item = &'t Target>) -> Vec<u64> {
        let named = targets.into_iter().map(|target| target.canonical.as_str());
        match kind(capability) {
            Kind::Path => self.each(capability, named, covers_path),
            Kind::Host => self.each(capability, named, covers_host),
            Kind::Whole => self.whole(capability),
        }
    }

    /// The grants that cover every one of these addresses.
    pub fn addresses<'a>(&self, capability: &str, addresses: impl IntoIterator<Item = &'a str>) -> Vec<u64> {
        self.each(capability, addresses, covers_host)
    }

    /// The grants that cover every one of these hosts and patterns of hosts, which an executor names itself.
    pub fn hosts(&self, capability: &str, hosts: &[&str]) -> Vec<u64> {
        self.each(capability, hosts.iter().copied(), covers_hosts)
    }

    /// The grant of a capability as a whole.
    pub fn whole(&self, capability: &str) -> Vec<u64> {
        if kind(capability) == Kind::Whole {
            self.each(capability, [ALL], |pattern, _| pattern == ALL)
        } else {
            Vec::new()
        }
    }

    fn each<'p>(
        &self,
        capability: &str,
        named: impl IntoIterator<Item = &'p str>,
        covers: impl Fn(&str, &str) -> bool,
    ) -> Vec<u64> {
        let holds = |grant: &&Granted| grant.capability == capability && self.time.0 < grant.until;
        let live: Vec<&Granted> = self.grants.iter().filter(holds).collect();
        let one = |name: &str| live.iter().find(|grant| covers(&grant.target, name)).map(|grant| grant.grant);
        let mut found = named.into_iter().map(one).collect::<Option<Vec<u64>>>().unwrap_or_default();
        found.sort_unstable();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(grant: u64, capability: &str, target: &str) -> Granted {
        Granted { grant, capability: capability.to_owned(), target: target.to_owned(), until: 100 }
    }

    fn named(canonical: &str) -> Target {
        Target {
            pointer: "/path".to_owned(),
            role: "path".to_owned(),
            given: String::new(),
            canonical: canonical.to_owned(),
            canonical_b64: None,
            kind: "file".to_owned(),
            trouble: None,
        }
    }

    #[track_caller]
    fn check(capability: &str, pattern: &str, target: &str, expected: bool) {
        let grants = [granted(3, capability, pattern)];
        let target = named(target);
        let at = |time| Leave { grants: &grants, time: Micros(time) }.targets(capability, [&target]);
        assert_eq!(at(99), if expected { vec![3] } else { vec![] }, "{pattern} {}", target.canonical);
        assert_eq!(at(100), Vec::<u64>::new(), "it has ended");
        let other = if capability == "fs:read" { "fs:write" } else { "fs:read" };
        assert!(Leave { grants: &grants, time: Micros(0) }.targets(other, [&target]).is_empty());
    }

    #[test]
    fn a_folder_covers_what_lies_below_it_and_nothing_beside_it() {
        check("fs:read", "/home/a/notes", "/home/a/notes", true);
        check("fs:read", "/home/a/notes", "/home/a/notes/b/c.txt", true);
        check("fs:write", "/home/a/notes", "/home/a/notes/b.txt", true);
        check("fs:read", "/home/a/notes", "/home/a/notes2/b.txt", false);
        check("fs:read", "/home/a/notes", "/home/a", false);
        check("fs:read", "/home/a/notes", "/home/a/notes/../secret", false);
        check("fs:read", "/home/a/notes", "{dir}/b", false);
    }

    #[test]
    fn a_host_covers_itself_and_with_a_star_those_below_it() {
        check("network:http", "example.com", "https://example.com/a?b", true);
        check("network:http", "example.com", "https://www.example.com/", false);
        check("network:http", "*.example.com", "https://www.example.com/", true);
        check("network:http", "*.example.com", "https://example.com/", false);
        check("network:http", "*.example.com", "https://badexample.com/", false);
        for url in ["https://example.com:8080/", "https://example.com@evil.test/", "https://evil.test/example.com", "x"]
        {
            check("network:http", "example.com", url, false);
        }
    }

    #[test]
    fn all_of_several_must_be_covered() {
        let grants = [granted(1, "fs:write", "/a/b"), granted(2, "fs:write", "/c")];
        let leave = Leave { grants: &grants, time: Micros(0) };
        assert_eq!(leave.paths("fs:write", ["/c/d", "/a/b/x", "/c"]), [1, 2]);
        assert!(leave.paths("fs:write", ["/c/d", "/e"]).is_empty() && leave.paths("fs:write", []).is_empty());
        assert!(leave.whole("fs:write").is_empty());
        let grants = [granted(4, "system:read", ALL)];
        assert_eq!(Leave { grants: &grants, time: Micros(0) }.whole("system:read"), [4]);
    }

    #[test]
    fn what_nobody_reaches_or_what_is_always_asked_is_not_granted() {
        let own = core_paths::OwnDirs {
            config: "/home/a/.config/metnos".to_owned(),
            data: "/home/a/.local/share/metnos".to_owned(),
            audit: "/home/a/metnos/.audit".to_owned(),
        };
        let refused = |capability: &str, target: &str| refusal(capability, target, "/home/a", &own);
        assert_eq!(refused("fs:read", "/home/a/notes"), None);
        assert_eq!(refused("fs:write", "/home/a/notes"), None);
        assert_eq!(refused("network:http", "example.com"), None);
        assert_eq!(refused("system:read", ALL), None);
        for (path, rule) in [
            ("/home/a/.ssh", "ssh_keys"),
            ("/home/a/x/.ssh/id_ed25519", "ssh_keys"),
            ("/etc/shadow", "account_database"),
            ("/home/a/.config/metnos/keys", "own_config"),
            ("/root/x", "root_home"),
        ] {
            for capability in ["fs:read", "fs:write"] {
                assert_eq!(refused(capability, path), Some(Ungrantable::Core(rule)), "{path}");
            }
        }
        assert_eq!(refused("fs:write", "/etc/hosts"), Some(Ungrantable::Protected("system_etc")));
        assert_eq!(refused("fs:read", "/etc/hosts"), None);
        for path in ["/", "notes", "/a/./b", "/a/*.csv", "/a//b", "/a/", "*"] {
            assert_eq!(refused("fs:read", path), Some(Ungrantable::NoPath), "{path}");
        }
        assert_eq!(refused("fs:read", "/a/../b"), Some(Ungrantable::Upwards));
        for host in ["*", "*.com/", "https://example.com", "example", "Example.com", "a..b", "example.com:80"] {
            assert_eq!(refused("network:http", host), Some(Ungrantable::NoHost), "{host}");
        }
        assert_eq!(refused("code:exec", "*"), Some(Ungrantable::Always));
        assert_eq!(refused("mail:send", "*"), Some(Ungrantable::Always));
        assert_eq!(refused("time:read", "*"), Some(Ungrantable::Free));
        assert_eq!(refused("no:such", "*"), Some(Ungrantable::Unknown));
        assert_eq!(refused("system:read", "/home/a"), Some(Ungrantable::NoTargets));
    }

    #[test]
    fn what_covers_nothing_of_a_step_does_not_concern_it() {
        let check = |capability: &str, pattern: &str, targets: &[&str]| {
            let targets: Vec<Target> = targets.iter().map(|target| named(target)).collect();
            concerns(
                &granted(1, capability, pattern),
                &targets,
                &["api.w.org", "*.y.org", "z.org:8080"],
                &["/h/own".to_owned()],
            )
        };
        assert!(check("network:http", "api.w.org", &[]) && check("network:http", "*.w.org", &[]));
        assert!(check("network:http", "*.y.org", &[]) && !check("network:http", "a.y.org", &[]));
        assert!(!check("network:http", "z.org", &[]) && !check("network:http", "y.org", &[]));
        assert!(check("fs:read", "/a", &["/a/b", "/c"]) && !check("fs:read", "/a/b/c", &["/a/b"]));
        assert!(check("fs:write", "/a/b/c", &["/a/b"]) && check("fs:write", "/a", &["/a/b"]));
        assert!(!check("fs:write", "/a/other", &["/a/b"]) && !check("fs:write", "/ab", &["/a", "https://x.y/"]));
        assert!(
            check("fs:read", "/h", &["/c"]) && !check("fs:read", "/h/own/b", &["/c"]),
            "its own folder, and all of it"
        );
        // An undo names nothing, and new names are made of old ones.
        assert!(check("fs:write", "/z", &[]) && check("fs:write", "/z", &["/a/b", "{dir}/{name}.bak"]));
        assert!(!check("fs:read", "/z", &[]));
        assert!(check("network:http", "*.x.org", &["https://a.x.org/b"]));
        assert!(!check("network:http", "*.x.org", &["https://x.com/"]));
        assert!(check("system:read", ALL, &[]));
    }
}
