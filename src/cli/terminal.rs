//! The person at the terminal: consent by a question, progress on stderr, Ctrl-C.
//!
//! Ctrl-C ends the running turn and leaves its record; a second one during the same turn ends the program at once.

use std::io::{BufRead, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, mpsc};

use metnos_projections::messages::{Language, Messages};
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::json;

use super::progress::ProgressLine;
use crate::engine::{Answer, Person};
use crate::sandbox::{CancelFlag, Progress};

/// Whoever started the command.
pub(super) struct Terminal<'a> {
    /// What is said.
    messages: &'a Messages,
    /// How far the turn is; none where nobody looks.
    line: Option<ProgressLine>,
}

impl<'a> Terminal<'a> {
    /// A terminal, or the lack of one; `quiet` shows no progress.
    pub(super) fn new(messages: &'a Messages, quiet: bool) -> Self {
        let shows = !quiet && std::io::stderr().is_terminal() && std::io::stdout().is_terminal();
        Self { messages, line: shows.then(ProgressLine::start) }
    }

    /// Whether someone can answer.
    pub(super) fn is_there() -> bool {
        std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }
}

/// How many columns a terminal has; `None` where there is none, or it does not say.
pub(super) fn columns(stream: &(impl AsFd + IsTerminal)) -> Option<usize> {
    let size = stream.is_terminal().then(|| rustix::termios::tcgetwinsize(stream).ok())??;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Writes to stderr without a line's end; a terminal that is gone is no error.
pub(super) fn write_aside(text: &str) {
    let mut stderr = std::io::stderr().lock();
    drop(stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()));
}

impl Person for Terminal<'_> {
    fn consent(&self, _about: &str, text: &str, language: Language) -> Answer {
        if !Self::is_there() {
            return Answer::Nobody;
        }
        if let Some(line) = &self.line {
            line.hold();
        }
        let prompt = self.messages.say(language, "consent.prompt", json!({}));
        write_aside(&format!("{} {prompt} ", super::output::shown(text, true)));
        let answer = read_answer();
        if let Some(line) = &self.line {
            line.release();
        }
        answer
    }

    fn progress(&self, progress: &Progress) {
        let Some(line) = &self.line else { return };
        let part = if progress.total > 0.0 {
            format!(" {:.0} %", 100.0 * progress.done / progress.total)
        } else {
            String::new()
        };
        line.say(format!("{}{part}", super::output::short(&progress.text, 70)));
    }

    fn starting(&self, tool: &str) {
        if let Some(line) = &self.line {
            line.say(tool.to_owned());
        }
    }
}

/// What came instead of a line, or the line.
enum Heard {
    Line(String),
    Nobody,
    Cancelled,
}

/// Puts a question and takes one line; none when nobody answers.
pub(super) fn ask_line(question: &str, prompt: &str) -> Option<String> {
    write_aside(&format!("{}\n{prompt} ", super::output::shown(question, true)));
    match read_line() {
        Heard::Line(line) => Some(line),
        Heard::Nobody | Heard::Cancelled => None,
    }
}

fn read_answer() -> Answer {
    match read_line() {
        Heard::Nobody => Answer::Nobody,
        Heard::Cancelled => Answer::Cancelled,
        Heard::Line(line) => match line.trim().to_lowercase().as_str() {
            "y" | "yes" | "s" | "si" | "sì" => Answer::Yes("terminal"),
            _ => Answer::No("terminal"),
        },
    }
}

/// One line from the person, or Ctrl-C instead of it.
fn read_line() -> Heard {
    let stdin = std::io::stdin();
    // A statement of its own: the listener needs the lock while this waits.
    let current = interrupts().current.clone();
    if let Some(cancel) = current {
        loop {
            let mut descriptors =
                [PollFd::new(&stdin, PollFlags::IN), PollFd::from_borrowed_fd(cancel.fd(), PollFlags::IN)];
            match poll(&mut descriptors, None) {
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return Heard::Nobody,
                Ok(_) => {}
            }
            if !descriptors[1].revents().is_empty() {
                write_aside("\n");
                return Heard::Cancelled;
            }
            break;
        }
    }
    let mut line = String::new();
    match stdin.lock().read_line(&mut line) {
        Ok(0) | Err(_) => Heard::Nobody,
        Ok(_) => Heard::Line(line),
    }
}

/// What Ctrl-C means now.
#[derive(Debug, Default)]
struct Interrupts {
    /// The turn that it cancels; between turns, none.
    current: Option<CancelFlag>,
    /// How often it was pressed during this turn.
    count: u32,
    /// Whether it is ignored between turns, because a line editor takes it.
    edited: bool,
}

fn interrupts() -> MutexGuard<'static, Interrupts> {
    static INTERRUPTS: OnceLock<Mutex<Interrupts>> = OnceLock::new();
    INTERRUPTS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// A flag that Ctrl-C raises until the turn is over.
pub(super) fn begin_turn() -> std::io::Result<CancelFlag> {
    listen()?;
    let flag = CancelFlag::new()?;
    let mut interrupts = interrupts();
    interrupts.current = Some(flag.clone());
    interrupts.count = 0;
    Ok(flag)
}

/// Between two turns Ctrl-C ends the program, unless a line editor takes it.
pub(super) fn between_turns(edited: bool) -> std::io::Result<()> {
    listen()?;
    let mut interrupts = interrupts();
    interrupts.current = None;
    interrupts.edited = edited;
    Ok(())
}

/// The exit code of a program that Ctrl-C ended.
pub(super) const INTERRUPTED: u8 = 130;

/// Starts to listen, once a process; when this returns, Ctrl-C is heard.
fn listen() -> std::io::Result<()> {
    static LISTENS: Mutex<bool> = Mutex::new(false);
    let mut listens = LISTENS.lock().unwrap_or_else(PoisonError::into_inner);
    if *listens {
        return Ok(());
    }
    let (ready, is_ready) = mpsc::channel();
    std::thread::Builder::new().name("interrupt".to_owned()).spawn(move || {
        if let Err(error) = hear_interrupts(&ready) {
            ready.send(Err(error)).ok();
        }
    })?;
    is_ready.recv().map_err(std::io::Error::other)??;
    *listens = true;
    Ok(())
}

fn hear_interrupts(ready: &mpsc::Sender<std::io::Result<()>>) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut signals = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())?;
        ready.send(Ok(())).ok();
        while signals.recv().await.is_some() {
            let mut interrupts = interrupts();
            interrupts.count += 1;
            match &interrupts.current {
                Some(turn) if interrupts.count == 1 => turn.cancel(),
                None if interrupts.edited => {}
                _ => std::process::exit(i32::from(INTERRUPTED)),
            }
        }
        Ok(())
    })
}
