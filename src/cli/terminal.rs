//! The person at the terminal: consent by a question, progress on stderr.
//!
//! Nothing is asked where nobody can answer; Ctrl-C instead of an answer stops the turn.

use std::io::{BufRead, IsTerminal, Write};
use std::os::fd::AsFd;

use metnos_projections::messages::{Language, Messages};
use metnos_projections::visible;
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::json;

use super::interrupt;
use super::progress::ProgressLine;
use crate::engine::{Answer, Person};
use crate::sandbox::Progress;

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
        write_aside(&format!("{} {prompt} ", visible::text(text)));
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
    write_aside(&format!("{}\n{prompt} ", visible::text(question)));
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
    let asking = interrupt::asking();
    if let Some(cancel) = asking.turn() {
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
