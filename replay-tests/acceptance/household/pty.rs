//! A terminal for the binary: a pseudo-terminal of the kernel, what is typed into it and what it shows.
//!
//! The shown bytes are kept as they come; nothing here understands escape codes.

use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::home::Home;

/// Becomes a session of its own with this terminal, then the program: what a terminal window does.
const IN_A_SESSION: &str = "import os, sys\n\
    os.setsid()\n\
    terminal = os.open(sys.argv[1], os.O_RDWR)\n\
    for n in range(3): os.dup2(terminal, n)\n\
    os.execv(sys.argv[2], sys.argv[2:])\n";

/// The longest that anything may take to be shown.
const PATIENCE: Duration = Duration::from_secs(30);

/// What takes the line of a turn's progress away.
pub(crate) const LINE_TAKEN_AWAY: &str = "\r\u{1b}[K";

pub(crate) struct Pty {
    master: OwnedFd,
    child: Child,
    shown: Vec<u8>,
    seen: usize,
}

impl Pty {
    /// Runs the binary at a terminal of that many columns.
    pub(crate) fn run(home: &Home, columns: u16, args: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        rustix::io::fcntl_setfd(&master, rustix::io::FdFlags::CLOEXEC).unwrap();
        let plain = home.command();
        let mut command = Command::new("python3");
        command.args(["-I", "-S", "-c", IN_A_SESSION, &name]).arg(plain.get_program()).args(args);
        command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("TERM", "xterm").current_dir(home.files());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { master, child, shown: Vec::new(), seen: 0 }
    }

    /// Makes the terminal wider or narrower; the system tells whoever runs in it.
    pub(crate) fn resizes(&self, columns: u16) {
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.master, size).unwrap();
    }

    /// Types.
    pub(crate) fn types(&mut self, keys: &str) {
        let mut left = keys.as_bytes();
        while !left.is_empty() {
            left = &left[rustix::io::write(&self.master, left).unwrap()..];
        }
    }

    /// Waits until a text is shown after what was seen before; what was shown until then.
    #[track_caller]
    pub(crate) fn sees(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let unseen = &self.shown[self.seen..];
            if let Some(at) = unseen.windows(text.len()).position(|window| window == text.as_bytes()) {
                let until = self.seen + at + text.len();
                let shown = String::from_utf8_lossy(&self.shown[self.seen..until]).into_owned();
                self.seen = until;
                return shown;
            }
            let is_open = Instant::now() < deadline && self.reads();
            assert!(is_open, "«{text}» is not shown: {}", String::from_utf8_lossy(&self.shown[self.seen..]));
        }
    }

    /// Waits until a line is shown that is this text and nothing else; how far a slow turn is may have stood there before.
    #[track_caller]
    pub(crate) fn sees_line(&mut self, text: &str) -> String {
        let mut shown = String::new();
        loop {
            shown += &self.sees(&format!("{text}\r\n"));
            let before = shown.strip_suffix("\r\n").and_then(|shown| shown.strip_suffix(text)).unwrap();
            if before.ends_with('\n') || before.ends_with(LINE_TAKEN_AWAY) {
                return shown;
            }
        }
    }

    /// Waits for the end; the exit code and what was shown since.
    #[track_caller]
    pub(crate) fn ends(mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + PATIENCE;
        while self.reads() {
            assert!(
                Instant::now() < deadline,
                "it does not end: {}",
                String::from_utf8_lossy(&self.shown[self.seen..])
            );
        }
        let code = self.child.wait().unwrap().code();
        (code, String::from_utf8_lossy(&self.shown[self.seen..]).into_owned())
    }

    /// Reads what comes within a second; false once the terminal's other side is closed.
    fn reads(&mut self) -> bool {
        // Before the program has opened its side the kernel reports a hang-up too, but then it still runs.
        let timeout = Timespec { tv_sec: 1, tv_nsec: 0 };
        if poll(&mut [PollFd::new(&self.master, PollFlags::IN)], Some(&timeout)).unwrap() == 0 {
            return true;
        }
        let mut bytes = [0; 4096];
        match rustix::io::read(&self.master, &mut bytes[..]) {
            Ok(count) if count > 0 => {
                self.shown.extend_from_slice(&bytes[..count]);
                true
            }
            _ => {
                std::thread::sleep(Duration::from_millis(20));
                self.child.try_wait().unwrap().is_none()
            }
        }
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // A test that failed half-way leaves no program behind; one that ended is reaped already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
