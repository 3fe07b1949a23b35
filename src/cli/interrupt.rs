//! Ctrl-C and SIGTERM: what they mean at each moment of a command.
//!
//! A running turn is stopped and leaves its record; a second one during it ends the program at once, which the log
//! survives as it survives a kill. Outside a turn the first one ends the program. Each says so on stderr. A command that
//! another process carries out hears of them there, and that process says so.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};

use super::console::{self, Console, Stream};
use super::output::Failure;
use crate::sandbox::CancelFlag;

/// Tells the process that carries the command out; `false` when it cannot be told.
pub(super) type Forward = Arc<dyn Fn(News) -> bool + Send + Sync>;

/// What another process that carries the command out is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// A signal came, as the exit code that it means.
    Signal(u8),
    /// The terminal has another width.
    Resized,
}

/// What a signal means to one console now.
#[derive(Default)]
pub(super) struct Interrupts(Mutex<State>);

#[derive(Default)]
struct State {
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
    /// Who is told instead, while another process carries the command out.
    forward: Option<Forward>,
    /// Nobody is there any more: whatever begins is stopped.
    gone: bool,
}

/// What follows from a signal.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// Nothing is to be said.
    Quiet,
    /// The turn stops; this is said.
    Say(String),
    /// The program ends with this code; this is said.
    End(u8, &'static str),
}

/// The exit code of a program that Ctrl-C ended: 128 and the signal's number, as a shell has it.
pub(super) const INTERRUPTED: u8 = 130;
/// The same of SIGTERM.
pub(super) const TERMINATED: u8 = 143;
/// From this one on, a process that carries the command out is not waited for.
const IMPATIENT: u32 = 3;

impl Interrupts {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One signal came.
    pub(super) fn came(&self, code: u8) -> Then {
        let mut state = self.lock();
        if code == INTERRUPTED && state.edited && state.current.is_none() && state.forward.is_none() {
            return Then::Quiet;
        }
        state.count += 1;
        state.code = Some(code);
        state.ending |= code == TERMINATED;
        if let Some(forward) = state.forward.clone() {
            let is_told = state.count < IMPATIENT && forward(News::Signal(code));
            return if is_told { Then::Quiet } else { Then::End(code, AT_ONCE) };
        }
        match &state.current {
            Some(turn) if state.count == 1 => {
                turn.cancel();
                let is_said = !state.asking && !state.stopping.is_empty();
                if is_said { Then::Say(state.stopping.clone()) } else { Then::Quiet }
            }
            Some(_) => Then::End(code, AT_ONCE),
            None => Then::End(code, "error: interrupted"),
        }
    }

    /// Nobody is there any more: stops the turn that runs, and whatever would begin.
    pub(super) fn gone(&self) {
        let mut state = self.lock();
        state.gone = true;
        if let Some(turn) = &state.current {
            turn.cancel();
        }
    }

    /// Tells another process of signals until this is undone by `None`.
    pub(super) fn forward(&self, forward: Option<Forward>) {
        let mut state = self.lock();
        if forward.is_some() {
            state.count = 0;
        }
        state.forward = forward;
    }

    /// The terminal has another width. This process asks for it when it wants to know; another one is told.
    fn resized(&self) {
        let forward = self.lock().forward.clone();
        if let Some(forward) = forward {
            // A daemon that is gone is noticed by whoever waits for what it says.
            forward(News::Resized);
        }
    }

    /// The terminal as it is to be left.
    fn mend_terminal(&self) {
        if let Some(before) = &self.lock().before {
            // A terminal that is gone needs no mending.
            tcsetattr(std::io::stdin(), OptionalActions::Now, before).ok();
        }
    }
}

const AT_ONCE: &str = "error: ended at once; the next command settles what was left open";

/// The flag that stops the turn: the one of the line that is being carried out, or a new one. `stopping` is what the
/// person is told when it is raised.
pub(super) fn begin_turn(stopping: String) -> Result<CancelFlag, Failure> {
    let console = console::current();
    let mut state = console.interrupts().lock();
    if let Some(flag) = &state.current {
        return Ok(flag.clone());
    }
    let flag = CancelFlag::new().map_err(|error| Failure::internal(error.to_string()))?;
    if state.gone {
        flag.cancel();
    }
    *state = State { current: Some(flag.clone()), stopping, gone: state.gone, ..State::default() };
    Ok(flag)
}

/// Between two turns Ctrl-C ends the program, unless a line editor takes it.
pub(super) fn between_turns(edited: bool) {
    let console = console::current();
    let mut state = console.interrupts().lock();
    let (code, ending, gone) = (state.code, state.ending, state.gone);
    let before = if edited { tcgetattr(std::io::stdin()).ok() } else { None };
    *state = State { edited, before, code, ending, gone, ..State::default() };
}

/// Whether a turn is running, or a line is being carried out.
pub(super) fn is_in_turn() -> bool {
    console::current().interrupts().lock().current.is_some()
}

/// Whether the turn that runs was stopped.
pub(super) fn is_stopped() -> bool {
    console::current().interrupts().lock().count > 0
}

/// Whether it was stopped a second time.
pub(super) fn is_at_once() -> bool {
    console::current().interrupts().lock().count > 1
}

/// Whether the program is to end once the turn has.
pub(super) fn is_ending() -> bool {
    console::current().interrupts().lock().ending
}

/// The exit code of what was stopped.
pub(super) fn code() -> u8 {
    console::current().interrupts().lock().code.unwrap_or(INTERRUPTED)
}

/// A question that is open until this is dropped.
pub(super) struct Asking {
    console: Arc<dyn Console>,
    turn: Option<CancelFlag>,
}

impl Asking {
    /// The turn that the question belongs to.
    pub(super) fn turn(&self) -> Option<&CancelFlag> {
        self.turn.as_ref()
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.console.interrupts().lock().asking = false;
    }
}

/// Says that a question is put to the person.
pub(super) fn asking() -> Asking {
    let console = console::current();
    let turn = {
        let mut state = console.interrupts().lock();
        state.asking = true;
        state.current.clone()
    };
    Asking { console, turn }
}

/// Starts to listen for this process; when this returns, signals are heard.
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
        let mut resized = signal(SignalKind::window_change())?;
        ready.send(Ok(())).ok();
        loop {
            tokio::select! {
                Some(()) = interrupt.recv() => heard(INTERRUPTED),
                Some(()) = terminate.recv() => heard(TERMINATED),
                Some(()) = resized.recv() => console::own().interrupts().resized(),
                else => return Ok(()),
            }
        }
    })
}

/// One signal came to this process.
fn heard(code: u8) {
    let own = console::own();
    match own.interrupts().came(code) {
        Then::Quiet => {}
        Then::Say(text) => say(&*own, &text),
        Then::End(code, text) => {
            own.interrupts().mend_terminal();
            say(&*own, text);
            std::process::exit(i32::from(code));
        }
    }
}

/// Over what a terminal shows of the key and of the progress.
pub(super) fn over(console: &dyn Console, text: &str) -> String {
    let start = if console.is_terminal(Stream::Err) { "\r\u{1b}[K" } else { "" };
    format!("{start}{text}\n")
}

fn say(console: &dyn Console, text: &str) {
    // A terminal that is gone is no error.
    console.write(Stream::Err, over(console, text).as_bytes()).ok();
}
