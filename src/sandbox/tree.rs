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
        let lists = self
            .tasks_of(pid)
            .into_iter()
            .filter_map(|task| text(self.0.as_ref()?, &format!("{pid}/task/{task}/children")));
        lists
            .flat_map(|list| list.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<i32>>())
            .collect()
    }

    /// How many processes and threads there are.
    pub(super) fn tasks(&self, members: &[i32]) -> u64 {
        members.iter().map(|pid| self.tasks_of(*pid).len() as u64).sum()
    }

    /// Those of so many processes that are still there.
    pub(super) fn hold(&self, pids: &[i32]) -> Vec<Member> {
        pids.iter().filter_map(|pid| self.member(*pid, pids)).collect()
    }

    fn member(&self, pid: i32, all: &[i32]) -> Option<Member> {
        let handle = self.object(&pid.to_string(), OFlags::DIRECTORY)?;
        let status = text(&handle, "status")?;
        // Whoever has got the number of one that is gone since is nobody's business here.
        let parent: i32 = field(&status, "PPid:")?.parse().ok()?;
        if all.first() != Some(&pid) && !all.contains(&parent) {
            return None;
        }
        let is_stopped = field(&status, "State:").is_some_and(|state| state.starts_with(['T', 't']));
        Some(Member { handle, resident_kib: kib(&status, "VmRSS:").unwrap_or(0), is_stopped })
    }

    fn tasks_of(&self, pid: i32) -> Vec<String> {
        let folder = self.object(&format!("{pid}/task"), OFlags::DIRECTORY);
        let Some(entries) = folder.and_then(|folder| Dir::read_from(folder).ok()) else { return Vec::new() };
        let names = entries.flatten().filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned));
        names.filter(|name| !name.starts_with('.')).collect()
    }

    fn object(&self, name: &str, flags: OFlags) -> Option<OwnedFd> {
        open(self.0.as_ref()?, name, flags)
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

/// A process of a cage, held so that its number means it and no other.
pub(super) struct Member {
    /// Its folder in `/proc`, which also takes signals.
    handle: OwnedFd,
    /// Its pages in memory when it was looked at, in KiB, those that it shares with others among them.
    pub(super) resident_kib: u64,
    /// Whether somebody had stopped it then.
    pub(super) is_stopped: bool,
}

impl Member {
    /// What it holds, in KiB, of each page as much as is its share; all of it where the kernel does not say.
    pub(super) fn proportional_kib(&self) -> u64 {
        let share = text(&self.handle, "smaps_rollup").and_then(|rollup| kib(&rollup, "Pss:"));
        // One that has ended has neither.
        share.or_else(|| kib(&text(&self.handle, "status")?, "VmRSS:")).unwrap_or(0)
    }

    pub(super) fn send(&self, signal: Signal) {
        // One that is gone already needs no signal.
        rustix::process::pidfd_send_signal(&self.handle, signal).ok();
    }
}

fn open(folder: &OwnedFd, name: &str, flags: OFlags) -> Option<OwnedFd> {
    rustix::fs::openat(folder, name, flags | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
}

fn text(folder: &OwnedFd, name: &str) -> Option<String> {
    let mut text = String::new();
    fs::File::from(open(folder, name, OFlags::empty())?).read_to_string(&mut text).ok()?;
    Some(text)
}

fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

fn kib(text: &str, name: &str) -> Option<u64> {
    field(text, name)?.trim_end_matches(" kB").parse().ok()
}
