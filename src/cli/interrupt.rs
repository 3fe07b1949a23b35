//! Ctrl-C and SIGTERM: what they mean at each moment of a command.
//!
//! A running turn is stopped and leaves its record; a second one during it ends the program at once, which the log
//! survives as it survives a kill. Outside a turn the first one ends the program. Each says so on stderr.

use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, mpsc};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};

use super::output::Failure;
use super::terminal::write_aside;
use crate::sandbox::CancelFlag;

/// What a signal means now.
#[derive(Debug, Default)]
struct Interrupts {
    /// The turn that it stops; between turns, none.
    current: Option<CancelFlag>,
    /// What is said then.
    stopping: String,
    /// How often one came during this turn.
    count: u32,
    /// Whether Ctrl-C is ignored between turns, because a line editor takes it.
    edited: bool,
    /// The terminal as it was before the line editor changed it.
    before: Option<Termios>,
    /// Whether a question is open: the answer that follows says all there is to say.
    asking: bool,
    /// The exit code that the latest one means.
    code: Option<u8>,
    /// Whether the system wants the program to end, and not only the turn.
    ending: bool,
}

/// The exit code of a program that Ctrl-C ended: 128 and the signal's number, as a shell has it.
const INTERRUPTED: u8 = 130;
/// The same of SIGTERM.
const TERMINATED: u8 = 143;

fn interrupts() -> MutexGuard<'static, Interrupts> {
    static INTERRUPTS: OnceLock<Mutex<Interrupts>> = OnceLock::new();
    INTERRUPTS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// The flag that stops the turn: the one of the line that is being carried out, or a new one. `stopping` is what the
/// person is told when it is raised.
pub(super) fn begin_turn(stopping: String) -> Result<CancelFlag, Failure> {
    let mut interrupts = interrupts();
    if let Some(flag) = &interrupts.current {
        return Ok(flag.clone());
    }
    let flag = CancelFlag::new().map_err(|error| Failure::internal(error.to_string()))?;
    *interrupts = Interrupts { current: Some(flag.clone()), stopping, ..Interrupts::default() };
    Ok(flag)
}

/// Between two turns Ctrl-C ends the program, unless a line editor takes it.
pub(super) fn between_turns(edited: bool) {
    let mut interrupts = interrupts();
    let (code, ending) = (interrupts.code, interrupts.ending);
    let before = if edited { tcgetattr(std::io::stdin()).ok() } else { None };
    *interrupts = Interrupts { edited, before, code, ending, ..Interrupts::default() };
}

/// Whether a turn is running, or a line is being carried out.
pub(super) fn is_in_turn() -> bool {
    interrupts().current.is_some()
}

/// Whether the turn that runs was stopped.
pub(super) fn is_stopped() -> bool {
    interrupts().count > 0
}

/// Whether the program is to end once the turn has.
pub(super) fn is_ending() -> bool {
    interrupts().ending
}

/// The exit code of what was stopped.
pub(super) fn code() -> u8 {
    interrupts().code.unwrap_or(INTERRUPTED)
}

/// A question that is open until this is dropped.
pub(super) struct Asking(Option<CancelFlag>);

impl Asking {
    /// The turn that the question belongs to.
    pub(super) fn turn(&self) -> Option<&CancelFlag> {
        self.0.as_ref()
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        interrupts().asking = false;
    }
}

/// Says that a question is put to the person.
pub(super) fn asking() -> Asking {
    let mut interrupts = interrupts();
    interrupts.asking = true;
    Asking(interrupts.current.clone())
}

/// Starts to listen; when this returns, signals are heard.
pub(super) fn listen() -> std::io::Result<()> {
    let (ready, is_ready) = mpsc::channel();
    std::thread::Builder::new().name("interrupt".to_owned()).spawn(move || {
        if let Err(error) = hear(&ready) {
            ready.send(Err(error)).ok();
        }
    })?;
    is_ready.recv().map_err(std::io::Error::other)?
}

fn hear(ready: &mpsc::Sender<std::io::Result<()>>) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        ready.send(Ok(())).ok();
        loop {
            tokio::select! {
                Some(()) = interrupt.recv() => heard(INTERRUPTED),
                Some(()) = terminate.recv() => heard(TERMINATED),
                else => return Ok(()),
            }
        }
    })
}

/// One signal came.
fn heard(code: u8) {
    let mut interrupts = interrupts();
    if code == INTERRUPTED && interrupts.edited && interrupts.current.is_none() {
        return;
    }
    interrupts.count += 1;
    interrupts.code = Some(code);
    interrupts.ending |= code == TERMINATED;
    match &interrupts.current {
        Some(turn) if interrupts.count == 1 => {
            turn.cancel();
            if !interrupts.asking && !interrupts.stopping.is_empty() {
                say(&interrupts.stopping);
            }
        }
        Some(_) => end(code, "error: ended at once; the next command settles what was left open"),
        None => {
            if let Some(before) = &interrupts.before {
                // A terminal that is gone needs no mending.
                tcsetattr(std::io::stdin(), OptionalActions::Now, before).ok();
            }
            end(code, "error: interrupted")
        }
    }
}

/// Over what a terminal shows of the key and of the progress.
fn say(text: &str) {
    let start = if std::io::stderr().is_terminal() { "\r\u{1b}[K" } else { "" };
    write_aside(&format!("{start}{text}\n"));
}

fn end(code: u8, text: &str) -> ! {
    say(text);
    std::process::exit(i32::from(code))
}
