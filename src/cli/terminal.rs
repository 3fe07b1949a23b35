//! The person at the terminal: consent by a question, progress on stderr.
//!
//! Nothing is asked where nobody can answer; Ctrl-C instead of an answer stops the turn.

use metnos_projections::machines::turn::DOUBT;
use metnos_projections::machines::turn::answers::consent;
use metnos_projections::machines::turn::state::Asked;
use metnos_projections::messages::{Language, Messages};
use metnos_projections::visible;
use serde_json::{Value, json};

use super::console::{self, Stream, Wanted};
use super::interrupt;
use super::output::{by, write_aside};
use super::progress::ProgressLine;
use super::{Context, Failure};
use crate::engine::{Answer, ELSEWHERE, Person};
use crate::instance::Instance;
use crate::sandbox::{CancelFlag, Progress};
use crate::seats::{Said, Seat};

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
        let console = console::current();
        let shows = !quiet && console.is_terminal(Stream::Err) && console.is_terminal(Stream::Out);
        Self { messages, line: shows.then(|| ProgressLine::start(console)) }
    }

    /// Whether someone can answer.
    pub(super) fn is_there() -> bool {
        let console = console::current();
        console.is_terminal(Stream::In) && console.is_terminal(Stream::Err)
    }
}

/// What is not done in passing is asked about, each time: by one text, and refused by another.
pub(super) fn agreed(
    context: &Context,
    instance: &Instance,
    (asks, values): (&'static str, &Value),
    refused: &'static str,
) -> Result<(), Failure> {
    if context.global.yes {
        return Ok(());
    }
    let text = context.text(instance, asks, values);
    let person = Terminal::new(&instance.rules.messages, true);
    match person.consent("call", &text, context.language(instance)) {
        Answer::Yes(_) => Ok(()),
        Answer::No(_) | Answer::Late | Answer::Cancelled => Err(Failure::refused(by(refused), by("next.when_sure"))),
        Answer::Nobody | Answer::Later => Err(Failure::unanswered(text)),
    }
}

impl Person for Terminal<'_> {
    fn consent(&self, about: &str, text: &str, language: Language) -> Answer {
        self.asked(about, text, language, None)
    }

    fn consent_to(&self, asked: &Asked, language: Language, elsewhere: &Seat<'_>) -> Answer {
        self.asked(&asked.about, &asked.text, language, Some(elsewhere))
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

    fn thinking(&self, model: &str) {
        self.starting(&super::output::short(model, 70));
    }
}

impl Terminal<'_> {
    fn asked(&self, about: &str, text: &str, language: Language, elsewhere: Option<&Seat<'_>>) -> Answer {
        if !Self::is_there() {
            return Answer::Nobody;
        }
        if let Some(line) = &self.line {
            line.hold();
        }
        let prompt = self.messages.say(language, "consent.prompt", json!({}));
        // Nobody consents to what was not yet to be read.
        console::current().forget_typed();
        write_aside(&format!("{} {prompt} ", visible::text(text)));
        let answer = self.answer(about, &prompt, language, elsewhere);
        if let Answer::Yes(ELSEWHERE) | Answer::No(ELSEWHERE) = answer {
            let values = json!({ "answer": if answer == Answer::Yes(ELSEWHERE) { "yes" } else { "no" } });
            write_aside(&format!("\n{}\n", self.messages.say(language, "approvals.elsewhere", values)));
        }
        if let Some(line) = &self.line {
            line.release();
        }
        answer
    }

    /// What was answered. Other words than a yes or a no are asked about again; to a consent silence is a no, and so are they
    /// in the end. A no to what may have happened is a statement as a yes is, and nothing else stands for it.
    fn answer(&self, about: &str, prompt: &str, language: Language, elsewhere: Option<&Seat<'_>>) -> Answer {
        for tries in 0..TRIES_MAX {
            if tries > 0 {
                let again = self.messages.say(language, "dialog.wrong_approval", json!({}));
                write_aside(&format!("{again} {prompt} "));
            }
            let line = match read_line(elsewhere) {
                Heard::Nobody => return Answer::Nobody,
                Heard::Cancelled => return Answer::Cancelled,
                Heard::Elsewhere(said) => return Answer::elsewhere(&said).unwrap_or(Answer::Nobody),
                Heard::Line(line) => line,
            };
            match consent(&line, about == DOUBT) {
                Some(true) => return Answer::Yes("terminal"),
                Some(false) => return Answer::No("terminal"),
                None if about != DOUBT && line.trim().is_empty() => return Answer::No("terminal"),
                None => {}
            }
        }
        if about == DOUBT { Answer::Nobody } else { Answer::No("terminal") }
    }
}

/// How often a question is put that other words than a yes or a no do not answer.
const TRIES_MAX: usize = 3;

/// What came instead of a line, or the line.
enum Heard {
    Line(String),
    Nobody,
    Cancelled,
    Elsewhere(Said),
}

/// Puts a question and takes one line; none when nobody answers.
pub(super) fn ask_line(question: &str, prompt: &str) -> Option<String> {
    line_or(question, prompt, None)
}

/// The same for a question that may be answered in another place meanwhile: then that is the line.
pub(super) fn ask_line_or(question: &str, prompt: &str, elsewhere: &Seat<'_>) -> Option<String> {
    line_or(question, prompt, Some(elsewhere))
}

fn line_or(question: &str, prompt: &str, elsewhere: Option<&Seat<'_>>) -> Option<String> {
    write_aside(&format!("{}\n{prompt} ", visible::text(question)));
    match read_line(elsewhere) {
        Heard::Line(line) => Some(line),
        Heard::Elsewhere(Said::Words(words)) => {
            write_aside(&format!("{}\n", visible::text(&words)));
            Some(words)
        }
        Heard::Nobody | Heard::Cancelled | Heard::Elsewhere(Said::Consent(_)) => None,
    }
}

/// One line from the person, or Ctrl-C instead of it, or an answer from elsewhere.
fn read_line(elsewhere: Option<&Seat<'_>>) -> Heard {
    let asking = interrupt::asking();
    let until: Vec<&CancelFlag> = asking.turn().into_iter().chain(elsewhere.map(Seat::wakes)).collect();
    match console::current().read(Wanted::Line, &until) {
        Ok(console::Heard::Bytes(bytes)) => String::from_utf8(bytes).map_or(Heard::Nobody, Heard::Line),
        Ok(console::Heard::Ended) | Err(_) => Heard::Nobody,
        Ok(console::Heard::Cancelled) => {
            // Ctrl-C counts, whatever else came.
            let is_stopped = asking.turn().is_some_and(CancelFlag::is_raised);
            if let Some(said) = elsewhere.filter(|_| !is_stopped).and_then(Seat::take) {
                return Heard::Elsewhere(said);
            }
            write_aside("\n");
            Heard::Cancelled
        }
    }
}
