//! The person at the terminal: consent by a question, progress on stderr, Ctrl-C.

use std::io::{BufRead, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use metnos_projections::messages::{Language, Messages};
use serde_json::json;

use crate::engine::{Answer, Person};
use crate::sandbox::{CancelFlag, Progress};

/// Whoever started the command.
pub(super) struct Terminal<'a> {
    /// What is said.
    pub messages: &'a Messages,
    /// Whether progress is shown.
    pub quiet: bool,
    shown: AtomicBool,
}

impl<'a> Terminal<'a> {
    /// A terminal, or the lack of one.
    pub(super) fn new(messages: &'a Messages, quiet: bool) -> Self {
        Self { messages, quiet, shown: AtomicBool::new(false) }
    }

    /// Whether someone can answer.
    pub(super) fn is_there() -> bool {
        std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    /// Clears the progress line.
    pub(super) fn clear(&self) {
        if self.shown.swap(false, Ordering::Relaxed) {
            write_aside("\r\u{1b}[K");
        }
    }
}

/// Writes to stderr without a line's end; a terminal that is gone is no error.
fn write_aside(text: &str) {
    let mut stderr = std::io::stderr().lock();
    drop(stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()));
}

impl Person for Terminal<'_> {
    fn consent(&self, _about: &str, text: &str, language: Language) -> Answer {
        if !Self::is_there() {
            return Answer::Nobody;
        }
        self.clear();
        let prompt = self.messages.say(language, "consent.prompt", json!({}));
        write_aside(&format!("{text} {prompt} "));
        let mut line = String::new();
        match std::io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => Answer::Nobody,
            Ok(_) => match line.trim().to_lowercase().as_str() {
                "y" | "yes" | "s" | "si" | "sì" => Answer::Yes("terminal"),
                _ => Answer::No("terminal"),
            },
        }
    }

    fn progress(&self, progress: &Progress) {
        if self.quiet || !std::io::stderr().is_terminal() {
            return;
        }
        self.shown.store(true, Ordering::Relaxed);
        let part = if progress.total > 0.0 {
            format!(" {:.0} %", 100.0 * progress.done / progress.total)
        } else {
            String::new()
        };
        write_aside(&format!("\r\u{1b}[K{}{part}", super::output::short(&progress.text, 70)));
    }
}

static CANCEL: OnceLock<CancelFlag> = OnceLock::new();

/// A flag that Ctrl-C raises; the same for the whole process. A second Ctrl-C ends it at once.
pub(super) fn cancel_on_interrupt() -> std::io::Result<CancelFlag> {
    if let Some(flag) = CANCEL.get() {
        return Ok(flag.clone());
    }
    let flag =
        CANCEL.get_or_init(|| CancelFlag::new().expect("a process that just started has descriptors left")).clone();
    let raised = flag.clone();
    std::thread::Builder::new().name("interrupt".to_owned()).spawn(move || wait_for_interrupts(&raised))?;
    Ok(flag)
}

fn wait_for_interrupts(flag: &CancelFlag) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    runtime.block_on(async {
        let mut count = 0;
        while tokio::signal::ctrl_c().await.is_ok() {
            count += 1;
            flag.cancel();
            if count > 1 {
                std::process::exit(130);
            }
        }
    });
}
