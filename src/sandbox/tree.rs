//! The processes of a cage as the helper sees them from outside: who they are, how many, how much memory, and their end.

use std::fs;
use std::io::Read as _;
use std::os::fd::OwnedFd;

use rustix::fs::{Dir, Mode, OFlags};
use rustix::process::{Pid, Signal, WaitOptions};

/// Whether this kernel lists the children of a process.
pub(super) fn available() -> bool {
    fs::metadata("/proc/thread-self/children").is_ok()
}

/// The processes of the machine, by a `/proc` that stays the same wherever this process goes.
pub(super) struct Processes(Option<OwnedFd>);

impl Processes {
    /// Where there is no `/proc`, nobody is seen.
    pub(super) fn open() -> Self {
        Self(rustix::fs::open("/proc", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok())
    }

    /// A process and everything that descends from it. A tree that changes while it is read may be seen in part.
    pub(super) fn members(&self, root: Pid) -> Vec<i32> {
        let mut found = vec![root.as_raw_pid()];
        let mut next = 0;
        while let Some(&pid) = found.get(next) {
            next += 1;
            found.extend(self.children(pid));
            if found.len() > 100_000 {
                break;
            }
        }
        found
    }

    fn children(&self, pid: i32) -> Vec<i32> {
        let lists = self.tasks_of(pid).into_iter().filter_map(|task| self.text(&format!("{pid}/task/{task}/children")));
        lists
            .flat_map(|list| list.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<i32>>())
            .collect()
    }

    /// How many processes and threads there are.
    pub(super) fn tasks(&self, members: &[i32]) -> u64 {
        members.iter().map(|pid| self.tasks_of(*pid).len() as u64).sum()
    }

    /// Whether a tree holds more memory than so many MiB. Pages that processes share count once.
    pub(super) fn exceeds(&self, members: &[i32], limit_mb: u64) -> bool {
        let kib = |pid: i32, file: &str, name: &str| field_kib(&self.text(&format!("{pid}/{file}"))?, name);
        let resident: u64 = members.iter().filter_map(|pid| kib(*pid, "status", "VmRSS:")).sum();
        if resident <= limit_mb * 1024 {
            return false;
        }
        let proportional: Option<u64> = members.iter().map(|pid| kib(*pid, "smaps_rollup", "Pss:")).sum();
        proportional.is_none_or(|kib| kib > limit_mb * 1024)
    }

    fn tasks_of(&self, pid: i32) -> Vec<String> {
        let folder = self.object(&format!("{pid}/task"), OFlags::DIRECTORY);
        let Some(entries) = folder.and_then(|folder| Dir::read_from(folder).ok()) else { return Vec::new() };
        let names = entries.flatten().filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned));
        names.filter(|name| !name.starts_with('.')).collect()
    }

    fn text(&self, name: &str) -> Option<String> {
        let mut text = String::new();
        fs::File::from(self.object(name, OFlags::empty())?).read_to_string(&mut text).ok()?;
        Some(text)
    }

    fn object(&self, name: &str, flags: OFlags) -> Option<OwnedFd> {
        let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC;
        rustix::fs::openat(self.0.as_ref()?, name, flags, Mode::empty()).ok()
    }

    /// Kills and reaps everything that this process has adopted, until nothing is left.
    pub(super) fn end_orphans(&self) {
        for _ in 0..10_000 {
            for pid in self.children(rustix::process::getpid().as_raw_pid()) {
                if let Some(pid) = Pid::from_raw(pid) {
                    // One that is gone already needs no signal.
                    rustix::process::kill_process(pid, Signal::KILL).ok();
                }
            }
            match rustix::process::wait(WaitOptions::empty()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }
}

fn field_kib(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().trim_end_matches(" kB").parse().ok())
}
