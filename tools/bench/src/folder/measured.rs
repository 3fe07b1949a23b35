//! Runs one side and measures it: wall time, and the peak resident memory of its processes.
//!
//! Memory is read in a run of its own, every few milliseconds from `/proc`, so that looking costs no measured time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(4);

/// What was measured of one side.
#[derive(Default)]
pub(crate) struct Measured {
    pub(crate) times: Vec<Duration>,
    /// KiB: the first process, and the largest other.
    pub(crate) memory: (u64, u64),
}

impl Measured {
    pub(crate) fn best(&self) -> Duration {
        self.times.iter().min().copied().unwrap_or_default()
    }

    pub(crate) fn median(&self) -> Duration {
        let mut times = self.times.clone();
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    }
}

/// A program that takes a work as its last argument.
pub(crate) struct Side {
    program: PathBuf,
    arguments: Vec<String>,
    home: PathBuf,
}

impl Side {
    pub(crate) fn metnos(program: &Path, home: &Path) -> Self {
        let words = ["--home".to_owned(), home.join("metnos").to_string_lossy().into_owned(), "ask".to_owned()];
        let approve = ["--approve".to_owned(), "all".to_owned()];
        Self {
            program: program.to_owned(),
            arguments: words.into_iter().chain(approve).collect(),
            home: home.to_owned(),
        }
    }

    pub(crate) fn shell(home: &Path) -> Self {
        Self { program: "sh".into(), arguments: vec!["-c".to_owned()], home: home.to_owned() }
    }

    fn command(&self, work: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).arg(work).current_dir(&self.home).stdin(Stdio::null());
        command.env("HOME", &self.home).env("LC_ALL", "C").env_remove("METNOS_HOME");
        command
    }

    /// Runs it to its end: what it printed, and how long it took.
    pub(crate) fn run(&self, work: &str) -> Result<(String, Duration), String> {
        let began = Instant::now();
        let output = self.command(work).output().map_err(|error| format!("{}: {error}", self.program.display()))?;
        let took = began.elapsed();
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("«{work}» ended with {}: {said}", output.status));
        }
        Ok((String::from_utf8_lossy(&output.stdout).into_owned(), took))
    }

    /// Runs it once more: the peak memory of its first process, and of the largest among those that it starts, in KiB.
    pub(crate) fn memory(&self, work: &str) -> Result<(u64, u64), String> {
        let mut command = self.command(work);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let mut peaks: BTreeMap<u32, u64> = BTreeMap::new();
        loop {
            for pid in tree(child.id()) {
                let peak = peaks.entry(pid).or_default();
                *peak = (*peak).max(peak_kib(pid));
            }
            if child.try_wait().map_err(|error| error.to_string())?.is_some() {
                break;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        let first = peaks.remove(&child.id()).unwrap_or(0);
        Ok((first, peaks.into_values().max().unwrap_or(0)))
    }
}

/// A process and all that descend from it.
fn tree(root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        next += 1;
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            found.extend(children.split_ascii_whitespace().filter_map(|word| word.parse::<u32>().ok()));
        }
    }
    found
}

fn peak_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
