//! The core forbidden paths and the system trees that are never changed, as data and pure functions over canonical paths.
//!
//! These rules stand above every profile, grant and level of autonomy. They judge names only: resolving links, finding
//! what lies below a folder and hiding it in a cage is done by the floor above. A path here is absolute, has no `.`, `..`
//! or double slash and had its links resolved; bytes that are no UTF-8 may have been replaced, since every rule is ASCII.

pub mod patterns;

use std::path::{Component, Path, PathBuf};

/// The instance's own folders that no executor ever sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnDirs {
    /// Where `metnos.toml`, keys and credentials lie.
    pub config: String,
    /// Where the log and its projections lie.
    pub data: String,
    /// The exported audit lines (`workspace/.audit`).
    pub audit: String,
}

/// One rule that looks for a run of path segments, at any depth.
struct Anywhere {
    /// Its name in verdicts.
    rule: &'static str,
    /// Consecutive segments; `*` at the end of one means any continuation, `*` alone any one segment.
    segments: &'static [&'static str],
}

const fn anywhere(rule: &'static str, segments: &'static [&'static str]) -> Anywhere {
    Anywhere { rule, segments }
}

/// Names that are forbidden wherever they appear.
const ANYWHERE: &[Anywhere] = &[
    anywhere("ssh_keys", &[".ssh"]),
    anywhere("gnupg_keys", &[".gnupg"]),
    anywhere("aws_credentials", &[".aws"]),
    anywhere("netrc", &[".netrc"]),
    anywhere("application_credentials", &[".config", "*", "credentials*"]),
    anywhere("kube_config", &[".kube", "config"]),
    anywhere("docker_config", &[".docker", "config.json"]),
    anywhere("browser_profile", &[".mozilla"]),
    anywhere("browser_profile", &[".config", "google-chrome*"]),
    anywhere("browser_profile", &[".config", "chromium"]),
    anywhere("browser_profile", &[".config", "BraveSoftware"]),
    anywhere("browser_profile", &[".config", "microsoft-edge*"]),
    anywhere("browser_profile", &[".config", "vivaldi*"]),
    anywhere("browser_profile", &[".config", "opera*"]),
    anywhere("browser_profile", &[".librewolf"]),
    anywhere("browser_profile", &[".zen"]),
    anywhere("browser_profile", &[".var", "app", "org.mozilla.firefox"]),
    anywhere("browser_profile", &[".var", "app", "com.google.Chrome"]),
    anywhere("browser_profile", &[".var", "app", "org.chromium.Chromium"]),
    anywhere("browser_profile", &["snap", "chromium"]),
    anywhere("browser_profile", &["snap", "firefox"]),
    anywhere("shell_history", &[".bash_history"]),
    anywhere("shell_history", &[".zsh_history"]),
    anywhere("shell_history", &[".sh_history"]),
    anywhere("shell_history", &[".ash_history"]),
    anywhere("shell_history", &[".ksh_history"]),
    anywhere("shell_history", &[".history"]),
    anywhere("shell_history", &[".histfile"]),
    anywhere("shell_history", &[".python_history"]),
    anywhere("shell_history", &[".node_repl_history"]),
    anywhere("shell_history", &[".psql_history"]),
    anywhere("shell_history", &[".mysql_history"]),
    anywhere("shell_history", &[".mariadb_history"]),
    anywhere("shell_history", &[".sqlite_history"]),
    anywhere("shell_history", &[".rediscli_history"]),
    anywhere("shell_history", &["fish", "fish_history"]),
];

/// How the first segment of each of them begins: nearly every path has none of these, and is looked at no further.
const FIRST: &[&str] = &["/.", "/snap", "/fish"];

/// One rule about a place: the path itself and everything below it.
struct Place {
    rule: &'static str,
    path: &'static str,
}

const fn place(rule: &'static str, path: &'static str) -> Place {
    Place { rule, path }
}

/// Places that are forbidden; a `*` at the end means any continuation of the last segment.
const PLACES: &[Place] = &[
    place("account_database", "/etc/passwd*"),
    place("account_database", "/etc/shadow*"),
    place("account_database", "/etc/gshadow*"),
    place("account_database", "/etc/security/opasswd*"),
    place("sudoers", "/etc/sudoers*"),
    place("ssh_host_keys", "/etc/ssh"),
    place("tls_private_keys", "/etc/ssl/private"),
    place("boot", "/boot"),
    place("sysfs", "/sys"),
    place("host_processes", "/proc"),
    place("block_device", "/dev/sd*"),
    place("block_device", "/dev/hd*"),
    place("block_device", "/dev/vd*"),
    place("block_device", "/dev/xvd*"),
    place("block_device", "/dev/sr*"),
    place("block_device", "/dev/nvme*"),
    place("block_device", "/dev/mmcblk*"),
    place("block_device", "/dev/loop*"),
    place("block_device", "/dev/dm-*"),
    place("block_device", "/dev/md*"),
    place("block_device", "/dev/ram*"),
    place("block_device", "/dev/zram*"),
    place("block_device", "/dev/zd*"),
    place("block_device", "/dev/nbd*"),
    place("block_device", "/dev/mapper"),
    place("block_device", "/dev/disk"),
    place("block_device", "/dev/block"),
    place("block_device", "/dev/mem"),
    place("block_device", "/dev/kmem"),
    place("block_device", "/dev/port"),
];

/// System trees that nothing is changed in; a `*` at the end means any continuation (`/lib64`, `/libx32`).
const PROTECTED: &[Place] = &[
    place("system_etc", "/etc"),
    place("system_usr", "/usr"),
    place("system_var", "/var"),
    place("system_dev", "/dev"),
    place("system_lib", "/lib"),
    place("system_lib", "/lib32"),
    place("system_lib", "/lib64"),
    place("system_lib", "/libx32"),
    place("system_bin", "/bin"),
    place("system_sbin", "/sbin"),
    place("system_opt", "/opt"),
];

/// Says which rule forbids a path above every grant, if one does.
///
/// `home` is the home folder of the instance's own user: when that is `/root`, the rule about `/root` does not hold.
pub fn forbidden(path: &str, home: &str, own: &OwnDirs) -> Option<&'static str> {
    for (rule, folder) in [("own_config", &own.config), ("own_data", &own.data), ("own_audit", &own.audit)] {
        if !folder.is_empty() && is_within(path, folder) {
            return Some(rule);
        }
    }
    if is_within(path, "/root") && !is_within(home, "/root") {
        return Some("root_home");
    }
    if let Some(found) = PLACES.iter().find(|place| matches_place(path, place.path)) {
        return Some(found.rule);
    }
    if !FIRST.iter().any(|first| path.contains(first)) {
        return None;
    }
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    ANYWHERE
        .iter()
        .find(|rule| segments.windows(rule.segments.len()).any(|run| matches_run(run, rule.segments)))
        .map(|rule| rule.rule)
}

/// Whether a folder is there for names that no executor sees: a hidden one that a forbidden run of segments begins with, as
/// `.kube` is of `.kube/config`.
pub fn holds_forbidden_names(folder: &str) -> bool {
    let segments: Vec<&str> = folder.split('/').filter(|segment| !segment.is_empty()).collect();
    let ends_with = |begun: &[&str]| {
        let is_named = begun[0].starts_with('.') && begun.last() != Some(&"*");
        is_named && segments.len() >= begun.len() && matches_run(&segments[segments.len() - begun.len()..], begun)
    };
    ANYWHERE.iter().any(|rule| (1..rule.segments.len()).any(|length| ends_with(&rule.segments[..length])))
}

/// Says which system tree protects a path from any change, if one does. The root folder itself is protected too.
pub fn protected_from_change(path: &str) -> Option<&'static str> {
    if path == "/" {
        return Some("system_root");
    }
    PROTECTED.iter().find(|place| matches_place(path, place.path)).map(|place| place.rule)
}

/// A path without `.` and `..`, by its words alone: what it would mean were none of its parts a link.
pub fn lexical(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut whole, component| {
        match component {
            Component::ParentDir => drop(whole.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => whole.push(component),
        }
        whole
    })
}

/// Whether rules about paths can judge this one at all: absolute, and every segment a name. What was looked up is such a path;
/// anything else is a fault of whoever looked it up, or a forgery.
pub fn can_be_judged(path: &str) -> bool {
    path.starts_with('/') && !path.contains('\0') && !path.split('/').any(|segment| matches!(segment, "." | ".."))
}

/// Whether a path is a folder or lies below it; both absolute.
pub fn is_within(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    match path.strip_prefix(folder) {
        Some(rest) => rest.is_empty() || rest.starts_with('/'),
        None => false,
    }
}

fn matches_place(path: &str, place: &str) -> bool {
    match place.strip_suffix('*') {
        Some(stem) => path.starts_with(stem),
        None => is_within(path, place),
    }
}

fn matches_run(run: &[&str], pattern: &[&str]) -> bool {
    run.iter().zip(pattern).all(|(segment, wanted)| match wanted.strip_suffix('*') {
        Some(stem) => segment.starts_with(stem),
        None => segment == wanted,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> OwnDirs {
        OwnDirs {
            config: "/home/a/.config/metnos".to_owned(),
            data: "/home/a/.local/share/metnos".to_owned(),
            audit: "/home/a/metnos/.audit".to_owned(),
        }
    }

    #[track_caller]
    fn check(path: &str, rule: Option<&str>) {
        assert_eq!(forbidden(path, "/home/a", &own()), rule, "{path}");
    }

    #[test]
    fn no_name_is_overlooked_by_its_beginning() {
        for rule in ANYWHERE {
            let path = format!("/{}", rule.segments[0]);
            assert!(FIRST.iter().any(|first| path.starts_with(first)), "{path}");
        }
    }

    #[test]
    fn forbids_secrets_at_any_depth() {
        check("/home/a/.ssh", Some("ssh_keys"));
        check("/home/a/backup/2020/.ssh/id_ed25519", Some("ssh_keys"));
        check("/mnt/disk/.config/tool/credentials.db", Some("application_credentials"));
        check("/home/a/.config/credentials", None);
        check("/home/a/.kube/config", Some("kube_config"));
        check("/home/a/.kube/cache", None);
        check("/home/a/.docker/config.json", Some("docker_config"));
        check("/home/a/.config/google-chrome-beta/Default", Some("browser_profile"));
        check("/home/a/.bash_history", Some("shell_history"));
        check("/home/a/.local/share/fish/fish_history", Some("shell_history"));
        check("/home/a/.sshd-notes.txt", None);
        check("/home/a/notes/ssh.md", None);
    }

    #[test]
    fn knows_the_folders_of_forbidden_names() {
        for folder in ["/home/a/.kube", "/mnt/.docker", "/home/a/.config", "/home/a/.var/app"] {
            assert!(holds_forbidden_names(folder), "{folder}");
        }
        for folder in ["/home/a/.config/tool", "/home/a/fish", "/home/a/snap", "/home/a/.kubes", "/home/a", "/"] {
            assert!(!holds_forbidden_names(folder), "{folder}");
        }
    }

    #[test]
    fn forbids_system_places_and_the_instances_own() {
        check("/etc/passwd", Some("account_database"));
        check("/etc/shadow-", Some("account_database"));
        check("/etc/sudoers.d/admins", Some("sudoers"));
        check("/etc/security/opasswd", Some("account_database"));
        check("/etc/security/limits.conf", None);
        check("/etc/ssl/private/server.key", Some("tls_private_keys"));
        check("/etc/ssl/certs", None);
        check("/etc/hostname", None);
        check("/proc/1/environ", Some("host_processes"));
        check("/process", None);
        check("/sys/kernel", Some("sysfs"));
        check("/dev/nvme0n1p2", Some("block_device"));
        check("/dev/null", None);
        check("/home/a/.config/metnos/keys/instance.ed25519", Some("own_config"));
        check("/home/a/.local/share/metnos/log/events.redb", Some("own_data"));
        check("/home/a/metnos/.audit/turns/2026-11-21.jsonl", Some("own_audit"));
        check("/home/a/metnos/inbox/a.txt", None);
        check("/", None);
    }

    #[test]
    fn forbids_roots_home_only_to_others() {
        check("/root/notes.txt", Some("root_home"));
        assert_eq!(forbidden("/root/notes.txt", "/root", &own()), None);
        assert_eq!(forbidden("/root/.ssh/id", "/root", &own()), Some("ssh_keys"));
        check("/rooted/x", None);
    }

    #[test]
    fn protects_system_trees_from_change() {
        for path in
            ["/", "/etc", "/usr/bin/env", "/var/log/x", "/dev/null", "/lib64/ld.so", "/bin/sh", "/sbin", "/opt/x"]
        {
            assert!(protected_from_change(path).is_some(), "{path}");
        }
        for path in ["/home/a/etc/x", "/tmp/usr", "/library/a", "/srv/x", "/etcetera"] {
            assert_eq!(protected_from_change(path), None, "{path}");
        }
    }
}
