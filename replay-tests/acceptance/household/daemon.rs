//! The daemon of a home, run as its owner would: `metnos serve` in a process of its own, with what it says kept line by
//! line; and commands that run beside it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::home::{Home, Ran};

/// The longest that anything may take to be said.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct Daemon {
    child: Child,
    said: Receiver<String>,
    /// Where its pages are.
    pub(crate) http: String,
}

impl Daemon {
    /// Starts it and waits until it serves.
    #[track_caller]
    pub(crate) fn serve(home: &Home) -> Self {
        let mut daemon = Self::start(home, &[("METNOS_HTTP_LISTEN", "127.0.0.1:0")]);
        let ready = daemon.says("serving");
        let (_, after) = ready.split_once("http://").unwrap();
        after.split('/').next().unwrap().clone_into(&mut daemon.http);
        daemon
    }

    /// Starts it with more variables, and waits for nothing.
    pub(crate) fn start(home: &Home, variables: &[(&str, &str)]) -> Self {
        let mut command = home.command_with(variables.iter().copied());
        command.arg("serve");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (say, said) = channel();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| say.send(line)));
        Self { child, said, http: String::new() }
    }

    /// Waits for a line that holds this text.
    #[track_caller]
    pub(crate) fn says(&mut self, text: &str) -> String {
        let mut all = Vec::new();
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.said.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) if line.contains(text) => return line,
                Ok(line) => all.push(line),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("«{text}» is not said: {all:?}")
                }
            }
        }
    }

    pub(crate) fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Whether it has ended by itself, or by a kill of its own.
    pub(crate) fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for its end; the exit code.
    pub(crate) fn ends(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Stops it as the system does; how long that took. It must say that all is well.
    #[track_caller]
    pub(crate) fn stop(self) -> Duration {
        let sent = Instant::now();
        self.send(Signal::TERM);
        assert_eq!(self.ends(), Some(0));
        sent.elapsed()
    }

    /// A page, head and body.
    pub(crate) fn page(&self, path: &str, host: &str) -> String {
        let mut stream = TcpStream::connect(&self.http).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        page
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // A test that failed half-way leaves no program behind; one that ended is reaped already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The socket of a home.
pub(crate) fn socket(home: &Home) -> PathBuf {
    home.metnos().join("data/run/metnos.sock")
}

/// Sends bytes to the daemon's socket; what it answers until it closes the connection.
pub(crate) fn raw(home: &Home, bytes: &[u8]) -> String {
    let mut stream = UnixStream::connect(socket(home)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // A daemon that turns us away at once does not take all of it.
    stream.write_all(bytes).ok();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok();
    String::from_utf8_lossy(&answer).into_owned()
}

/// A command that runs by itself.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn new(home: &Home, args: &[&str]) -> Self {
        let mut command = home.command();
        Self(command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    pub(crate) fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    pub(crate) fn ends(mut self) -> Ran {
        let (mut out, mut err) = (String::new(), String::new());
        self.0.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        Ran { code: self.0.wait().unwrap().code().unwrap_or(-1), out, err }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that failed half-way leaves no program behind; one that ended is reaped already.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// A home whose daemon makes its turns wait at that point.
pub(crate) fn waiting_at(point: &str, milliseconds: u32) -> (Home, Daemon) {
    let home = Home::new().with("METNOS_PAUSE_AT", &format!("{point}:{milliseconds}"));
    let daemon = Daemon::serve(&home);
    (home, daemon)
}
