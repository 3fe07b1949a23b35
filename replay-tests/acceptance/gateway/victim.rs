//! A process of the test that stands for all others of its user, and what must not change of it.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::home::User;
use crate::watch::{field, text};

const ORDINARY: u32 = 65_534;
/// The bit of `SIGURG` among the signals that a process takes.
const URGENT: u64 = 1 << 22;
/// Holds a secret open, has one among its words and variables, and notes the one signal that it takes.
const SCRIPT: &str = "exec 9<secret.txt; trap 'echo hit >> \"$2\"' URG; while :; do sleep 1000 & wait; done";

impl User {
    pub(crate) fn number(self) -> u32 {
        if self == Self::Ordinary { ORDINARY } else { rustix::process::geteuid().as_raw() }
    }

    /// Has a command run as this user.
    pub(crate) fn take(self, command: &mut Command) {
        if self == Self::Ordinary {
            command.uid(ORDINARY).gid(ORDINARY);
        }
    }
}

pub(crate) struct Victim {
    child: Child,
    heard: PathBuf,
    whole: String,
}

impl Victim {
    pub(crate) fn new(user: User, outside: &Path, root: &Path, secret: &str) -> Self {
        let heard = root.join("heard");
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "victim", secret]).arg(&heard).current_dir(outside).env_clear();
        command.env("PATH", "/usr/bin:/bin").env("TOKEN", secret).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        user.take(&mut command);
        let child = command.spawn().unwrap();
        let mut victim = Self { child, heard, whole: String::new() };
        let patience = Instant::now() + Duration::from_secs(10);
        let takes = |pid| u64::from_str_radix(&field(&text(pid, "status"), "SigCgt"), 16).unwrap_or(0) & URGENT != 0;
        while !takes(victim.pid()) {
            assert!(Instant::now() < patience, "it does not start");
            std::thread::sleep(Duration::from_millis(2));
        }
        victim.whole = victim.state();
        victim
    }

    pub(crate) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    fn stat(&self) -> Vec<String> {
        let stat = text(self.pid(), "stat");
        let rest = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
        rest.split_whitespace().map(str::to_owned).collect()
    }

    pub(crate) fn session(&self) -> String {
        self.stat()[3].clone()
    }

    /// All of it that others could change.
    fn state(&self) -> String {
        let stat = self.stat();
        let is_running = stat.first().is_some_and(|state| ["S", "R", "D"].contains(&state.as_str()));
        let (nice, limits, score) = (stat.get(16), text(self.pid(), "limits"), text(self.pid(), "oom_score_adj"));
        format!("{is_running} {nice:?} {score} {limits} {}", self.heard.exists())
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.state() == self.whole
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // Whoever was attacked may be gone; what it started is of its group.
        kill_process_group(Pid::from_raw(self.pid()).unwrap(), Signal::KILL).ok();
        self.child.wait().unwrap();
        std::fs::remove_file(&self.heard).ok();
    }
}
