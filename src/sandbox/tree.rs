//! The processes of a cage as the helper sees them from outside: who they are, how many, how much memory, and their end.

use std::fs;

use rustix::process::{Pid, Signal, WaitOptions};

/// Whether this kernel lists the children of a process.
pub(super) fn available() -> bool {
    fs::metadata("/proc/thread-self/children").is_ok()
}

/// A process and everything that descends from it. A tree that changes while it is read may be seen in part.
pub(super) fn members(root: Pid) -> Vec<i32> {
    let mut found = vec![root.as_raw_pid()];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        next += 1;
        found.extend(children(pid));
        if found.len() > 100_000 {
            break;
        }
    }
    found
}

fn children(pid: i32) -> Vec<i32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<i32>>())
        .collect()
}

/// How many processes and threads there are.
pub(super) fn tasks(members: &[i32]) -> u64 {
    members.iter().map(|pid| fs::read_dir(format!("/proc/{pid}/task")).map_or(0, |tasks| tasks.count() as u64)).sum()
}

/// Whether a tree holds more memory than so many MiB. Pages that processes share count once.
pub(super) fn exceeds(members: &[i32], limit_mb: u64) -> bool {
    let resident: u64 = members.iter().map(|pid| resident_kib(*pid)).sum();
    if resident <= limit_mb * 1024 {
        return false;
    }
    let proportional: Option<u64> = members.iter().map(|pid| proportional_kib(*pid)).sum();
    proportional.is_none_or(|kib| kib > limit_mb * 1024)
}

fn resident_kib(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    field_kib(&status, "VmRSS:").unwrap_or(0)
}

fn proportional_kib(pid: i32) -> Option<u64> {
    field_kib(&fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?, "Pss:")
}

fn field_kib(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().trim_end_matches(" kB").parse().ok())
}

/// Kills and reaps everything that this process has adopted, until nothing is left.
pub(super) fn end_orphans() {
    for _ in 0..10_000 {
        for pid in children(rustix::process::getpid().as_raw_pid()) {
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
