//! The console of a command that came over the socket: what it prints goes there as frames, what it asks for comes back.
//!
//! The command's thread writes and waits; the connection's task hands in what was received.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::mpsc;

use crate::cli::console::{Console, Heard, Stream, Wanted};
use crate::cli::interrupt::{self, Interrupts, Then};
use crate::cli::wire::{Frame, PIECE_BYTES, Request};
use crate::sandbox::CancelFlag;

/// The most that is kept of what a command reads at once. A sentence that is anywhere near as long is refused for that.
const INPUT_BYTES_MAX: usize = 16 << 20;

/// How often whoever waits for input looks whether it is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How long a client may take to make room for what is said out of turn.
const SAY_PATIENCE: Duration = Duration::from_millis(500);

/// The console of one connection.
pub(super) struct Remote {
    frames: mpsc::Sender<Frame>,
    interrupts: Interrupts,
    inbox: Mutex<Inbox>,
    arrived: Condvar,
    process: u32,
    folder: Option<PathBuf>,
    terminals: [bool; 3],
    /// 0 where there is no terminal, or it does not say.
    columns: [AtomicUsize; 3],
}

/// What was received and is not taken yet.
#[derive(Default)]
struct Inbox {
    input: Vec<u8>,
    /// Whether that is all of what was wanted.
    is_whole: bool,
    /// Nobody is there any more.
    gone: bool,
}

impl Remote {
    /// The console of a request; its frames go into that channel.
    pub(super) fn new(request: &Request, frames: mpsc::Sender<Frame>) -> Self {
        Self {
            frames,
            interrupts: Interrupts::default(),
            inbox: Mutex::default(),
            arrived: Condvar::new(),
            process: request.process,
            folder: request.folder.clone().map(PathBuf::from),
            terminals: request.terminals,
            columns: request.columns.map(|columns| AtomicUsize::new(columns.unwrap_or(0))),
        }
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a frame in; what is to be said at once, and whether that ends the connection.
    pub(super) fn receive(&self, frame: Frame) -> io::Result<Vec<Frame>> {
        match frame {
            Frame::Input(is_last, bytes) => {
                let mut inbox = self.inbox();
                let room = INPUT_BYTES_MAX.saturating_sub(inbox.input.len());
                inbox.input.extend(bytes.into_iter().take(room));
                inbox.is_whole |= is_last;
                drop(inbox);
                self.arrived.notify_all();
                Ok(Vec::new())
            }
            Frame::Columns(columns) => {
                for (kept, columns) in self.columns.iter().zip(columns) {
                    kept.store(columns.into(), Ordering::Relaxed);
                }
                Ok(Vec::new())
            }
            Frame::Signal(code) => Ok(self.signal(code, None)),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "it says what only a daemon says")),
        }
    }

    /// A signal came to the command, or the daemon is stopping, which is said where no turn runs.
    pub(super) fn signal(&self, code: u8, stopping: Option<&str>) -> Vec<Frame> {
        let then = self.interrupts.came(code);
        // Whoever waits for input looks whether the turn was stopped.
        drop(self.inbox());
        self.arrived.notify_all();
        let said = |text: &str| Frame::Err(interrupt::over(self, text).into_bytes());
        match then {
            Then::Quiet => Vec::new(),
            Then::Say(text) => vec![said(&text)],
            Then::End(code, text) => vec![said(stopping.unwrap_or(text)), Frame::Exit(code)],
        }
    }

    /// Says something out of turn; a client that takes nothing any more is not waited for.
    pub(super) async fn say(&self, frame: Frame) {
        if self.frames.send_timeout(frame, SAY_PATIENCE).await.is_err() {
            tracing::debug!("a command does not take what it is told");
        }
    }

    /// The other side went away: its turn stops, and what it would be told is not.
    pub(super) fn gone(&self) {
        self.inbox().gone = true;
        self.interrupts.gone();
        self.arrived.notify_all();
    }
}

impl Console for Remote {
    fn write(&self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.chunks(PIECE_BYTES) {
            let frame = if stream == Stream::Err { Frame::Err(piece.to_vec()) } else { Frame::Out(piece.to_vec()) };
            self.frames.blocking_send(frame).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        }
        Ok(())
    }

    fn read(&self, wanted: Wanted, until: &[&CancelFlag]) -> io::Result<Heard> {
        let mut inbox = self.inbox();
        inbox.input.clear();
        inbox.is_whole = false;
        drop(inbox);
        self.frames.blocking_send(Frame::Read(wanted)).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        let is_raised = || until.iter().any(|flag| flag.is_raised());
        let mut inbox = self.inbox();
        while !(inbox.is_whole || inbox.gone || is_raised()) {
            // A question that is answered in another place wakes nobody here.
            let heard = self.arrived.wait_timeout(inbox, LOOK_EVERY);
            inbox = heard.unwrap_or_else(PoisonError::into_inner).0;
        }
        if inbox.gone && until.is_empty() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if is_raised() || inbox.gone {
            drop(inbox);
            // A connection that is gone reads nothing more.
            self.frames.blocking_send(Frame::StopReading).ok();
            return Ok(Heard::Cancelled);
        }
        let bytes = std::mem::take(&mut inbox.input);
        Ok(if bytes.is_empty() { Heard::Ended } else { Heard::Bytes(bytes) })
    }

    fn forget_typed(&self) {
        // A connection that is gone holds nothing.
        self.frames.blocking_send(Frame::ForgetTyped).ok();
    }

    fn is_terminal(&self, stream: Stream) -> bool {
        self.terminals[stream as usize]
    }

    fn columns(&self, stream: Stream) -> Option<usize> {
        Some(self.columns[stream as usize].load(Ordering::Relaxed)).filter(|columns| *columns > 0)
    }

    fn folder(&self) -> Option<PathBuf> {
        self.folder.clone()
    }

    fn interrupts(&self) -> &Interrupts {
        &self.interrupts
    }

    fn process(&self) -> u32 {
        self.process
    }

    fn wait(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut inbox = self.inbox();
        while !inbox.gone {
            let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else {
                return true;
            };
            inbox = self.arrived.wait_timeout(inbox, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }

    fn hand_back(&self, value: &Value) {
        // A connection that is gone has no use for it.
        self.frames.blocking_send(Frame::Back(value.to_string().into_bytes())).ok();
    }
}
