//! Processes of one call as the host sees them: found by the mark that is their name or among their words.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Beyond so many processes only their number is of interest.
const LOOKED_AT: usize = 12;

/// The capability to read whatever may be reached, which root keeps where landlock alone says what that is.
const READS: u64 = 1 << 2;

/// What was seen of a call's processes while they ran.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Moments at which there were so many processes and threads.
    tasks: Vec<(Instant, u64)>,
    pub(crate) memory_mb: u64,
    pub(crate) held: BTreeSet<String>,
    pub(crate) programs: BTreeSet<String>,
    pub(crate) namespaces: BTreeSet<String>,
    pub(crate) roots: BTreeSet<(u64, u64)>,
    pub(crate) personalities: BTreeSet<String>,
    pub(crate) unlimited: BTreeSet<String>,
    pub(crate) is_capable: bool,
    pub(crate) is_traced: bool,
    pub(crate) is_parent_stopped: bool,
    pub(crate) stored_mb: u64,
    pub(crate) files: u64,
    pub(crate) was_there: bool,
}

/// The processes of a mark.
pub(crate) struct Watch {
    mark: String,
    /// What was there before the call is not of it.
    before: BTreeSet<i32>,
}

fn pids() -> impl Iterator<Item = i32> {
    fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

pub(crate) fn text(pid: i32, name: &str) -> String {
    String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default()).into_owned()
}

/// The value of a field of `/proc/PID/status`.
pub(crate) fn field(status: &str, name: &str) -> String {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap_or_default().trim().to_owned()
}

pub(crate) fn mib(status: &str, name: &str) -> u64 {
    field(status, name).trim_end_matches(" kB").parse::<u64>().unwrap_or(0) / 1024
}

impl Watch {
    pub(crate) fn new(mark: &str) -> Self {
        Self { mark: mark.to_owned(), before: pids().collect() }
    }

    /// The processes of the mark that are alive.
    pub(crate) fn living(&self) -> Vec<i32> {
        let is_new = |pid: &i32| !self.before.contains(pid);
        let is_ours = |pid: &i32| {
            let is_named = text(*pid, "comm").trim_end() == self.mark
                || text(*pid, "cmdline").split('\0').next() == Some(&self.mark);
            is_named && !field(&text(*pid, "status"), "State").starts_with(['Z', 'X'])
        };
        pids().filter(is_new).filter(is_ours).collect()
    }

    /// Ends what is left of the call, each by its number.
    pub(crate) fn end(&self) {
        for pid in self.living() {
            // One that is gone already needs no signal.
            kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).ok();
        }
    }

    /// Adds what is to be seen now.
    pub(crate) fn look(&self, seen: &mut Seen) {
        let living = self.living();
        seen.was_there |= !living.is_empty();
        let (mut tasks, mut memory) = (0, 0);
        for pid in &living {
            let status = text(*pid, "status");
            tasks += field(&status, "Threads").parse::<u64>().unwrap_or(1);
            memory += mib(&status, "RssAnon") + mib(&status, "RssShmem");
        }
        seen.tasks.push((Instant::now(), tasks));
        seen.memory_mb = seen.memory_mb.max(memory);
        for pid in living.into_iter().take(LOOKED_AT) {
            seen.process(pid);
        }
    }
}

impl Seen {
    /// Whether there were more tasks than this for so long, without a moment of fewer.
    pub(crate) fn crowded(&self, most: u64, least: Duration) -> bool {
        let crowds = self.tasks.split(|(_, tasks)| *tasks <= most);
        crowds.filter_map(|crowd| Some(crowd.last()?.0 - crowd.first()?.0)).any(|span| span > least)
    }

    fn process(&mut self, pid: i32) {
        let status = text(pid, "status");
        self.is_capable |= u64::from_str_radix(&field(&status, "CapEff"), 16).unwrap_or(0) & !READS != 0;
        self.is_traced |= !["", "0"].contains(&field(&status, "TracerPid").as_str());
        if let Ok(parent) = field(&status, "PPid").parse::<i32>() {
            self.is_parent_stopped |= field(&text(parent, "status"), "State").starts_with('T');
        }
        let link = |name: &str| fs::read_link(format!("/proc/{pid}/{name}"));
        self.programs.extend(link("exe").map(|exe| exe.to_string_lossy().trim_end_matches(" (deleted)").to_owned()));
        let kinds = ["user", "mnt", "net", "ipc", "uts", "cgroup"];
        let all: Result<Vec<_>, _> = kinds.iter().map(|kind| link(&format!("ns/{kind}"))).collect();
        self.namespaces.extend(all.map(|all| format!("{all:?}")));
        self.roots.extend(fs::metadata(format!("/proc/{pid}/root/.")).map(|root| (root.dev(), root.ino())));
        self.personalities.insert(text(pid, "personality"));
        let limits = text(pid, "limits");
        let none = limits.lines().filter(|line| line.get(26..).is_some_and(|rest| rest.starts_with("unlimited")));
        self.unlimited.extend(none.map(|line| line[..26].trim().to_owned()));
        self.held(pid);
    }

    /// Looks at descriptor 57, by which attempts show what they got.
    fn held(&mut self, pid: i32) {
        let place = format!("/proc/{pid}/fd/57");
        let (Ok(link), Ok(meta)) = (fs::read_link(&place), fs::metadata(&place)) else { return };
        let info = text(pid, "fdinfo/57");
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap_or_default();
        let access = match u32::from_str_radix(flags.trim(), 8).unwrap_or(0) & 3 {
            0 => "r",
            1 => "w",
            _ => "rw",
        };
        let kind = match meta.file_type() {
            kind if kind.is_socket() => "socket",
            kind if kind.is_block_device() => "block",
            kind if kind.is_char_device() => "char",
            kind if kind.is_dir() => "folder",
            _ if meta.mode() & 0o170_000 == 0 => "other",
            _ => "file",
        };
        self.held.insert(format!("{access} {kind} {}", link.display()));
        if kind == "folder" {
            self.stored(Path::new(&place));
        }
    }

    fn stored(&mut self, folder: &Path) {
        let entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
        // Whoever has thousands of files is found by that; looking at each takes longer than they are there.
        let bytes: u64 = entries.iter().take(100).filter_map(|entry| Some(entry.metadata().ok()?.blocks() * 512)).sum();
        self.files = self.files.max(entries.len() as u64);
        self.stored_mb = self.stored_mb.max(bytes >> 20);
    }
}
