//! Questions of a turn: put, answered, lapsed, withdrawn (design 7-people, «Dialogs»).
//!
//! A question about the request comes before any step: its answer completes the request, takes its place, or chooses the
//! executor that is meant. A question of a step comes in place of a call until all of them are answered; what was answered
//! is the call's result then. Consent is no such question.

use metnos_log::Kept;
use metnos_log::canonical::Json;
use metnos_log::event::dialog::{Choice, DialogOpened};
use metnos_log::event::turn::{StepProposed, TurnResumed, TurnSuspended};
use serde_json::{Value, json};

use super::answers::{self, Around, Wrong};
use super::decide::{Decider, Rejection};
use super::forms::{self, Question};
use super::state::{Step, Turn};
use crate::plan::Abstention;
use crate::rules::simple::{self, Proposal, Tools};

/// The most questions about one request; after that it closes with the last one.
const DIALOGS_MAX: u32 = 3;
/// How long an answer is waited for, in seconds (design 5-turn, «Recovery»).
const EXPIRES_S: u32 = 600;

impl Turn {
    /// What the answer to an open question is read with.
    fn around(&self, time: metnos_log::Micros) -> Around<'_> {
        let opened = self.opened.as_ref();
        let (zone, home, folder) = opened
            .map_or(("UTC", "/", "/"), |opened| (opened.zone.as_str(), opened.home.as_str(), opened.folder.as_str()));
        Around { language: self.language, time, zone, home, folder }
    }

    /// What the planner's own question lets the person choose from, while it is open.
    fn offered(&self, tools: &Tools) -> Vec<Choice> {
        let abstention = self.plan.as_ref().and_then(|plan| plan.abstention.as_ref());
        let Some(abstention) = abstention.filter(|abstention| abstention.offers) else { return Vec::new() };
        let choice = |name: &String| {
            Some(Choice { id: name.clone(), label: simple::skills::described(tools, name, self.language)? })
        };
        abstention.candidates.iter().filter_map(choice).collect()
    }

    /// Whether a line is an answer to the open question by itself: of a form, one that fits; of a choice, one of it. `None`
    /// where words are asked for that only complete the request.
    pub fn is_answer(&self, tools: &Tools, line: &str, time: metnos_log::Micros) -> Option<bool> {
        if let Some(question) = self.asking() {
            return Some(answers::read(&question, line, self.around(time)).is_ok());
        }
        let offered = self.offered(tools);
        let missed = !offered.is_empty() && answers::misses(&offered, line);
        (answers::is_refusal(line) || missed || chosen(&offered, line).is_some()).then_some(true)
    }

    /// Whether an empty answer leaves out what is asked.
    pub fn may_be_left_out(&self) -> bool {
        self.asking().is_some_and(|question| !question.required)
    }
}

/// Which one is chosen; the only one there is also by a yes.
fn chosen<'c>(offered: &'c [Choice], answer: &str) -> Option<&'c Choice> {
    match offered {
        [only] if answers::yes_or_no(answer) == Some(true) => Some(only),
        _ => answers::choose(offered, answer).map(|at| &offered[at]),
    }
}

impl Decider<'_> {
    pub(super) fn is_open(&self, dialog: &str) -> Result<(), Rejection> {
        if self.turn.dialog().as_deref() == Some(dialog) { Ok(()) } else { Err(Rejection::OtherQuestion) }
    }

    /// Puts a question about the request: the turn waits where someone can answer, and closes with it elsewhere.
    pub(super) fn question(&mut self, abstention: &Abstention) {
        if self.turn.dialogs >= DIALOGS_MAX {
            return self.close("ask", None, abstention.message.clone());
        }
        let options = self.turn.offered(self.context.tools);
        let kind = if options.is_empty() { forms::GET_INPUTS } else { forms::DISAMBIGUATION };
        self.put("ask", &abstention.message, |dialog| DialogOpened {
            kind: kind.to_owned(),
            candidates: abstention.candidates.clone(),
            options,
            ..dialog
        });
    }

    /// Puts the next question of the step that is up, after what was wrong with the last answer; with all of them
    /// answered, its call begins.
    pub(super) fn ask_of_step(&mut self, wrong: Option<&Wrong>) {
        let Some(step) = self.turn.step().cloned() else { return };
        if let Some((key, name)) = forms::fault(&step.tool, &step.args) {
            let reason = self.say(key, &json!({ "name": name }));
            return self.refuse("schema", "invalid_args", Some(reason));
        }
        let Some(question) = forms::question(&step.tool, &step.args, step.answers.len()) else {
            return self.start_call(&step);
        };
        let kind = forms::waits_for(&step.tool);
        let message = self.question_text(&step, &question, wrong);
        if step.tries >= forms::TRIES_MAX {
            return self.close(kind, None, message);
        }
        self.put(kind, &message, |dialog| DialogOpened {
            kind: step.tool.clone(),
            step: Some(step.number),
            field: question.field.clone(),
            options: question.options().to_vec(),
            ..dialog
        });
    }

    /// A question as it is put: for the first time, or again with what was wrong with the answer.
    fn question_text(&self, step: &Step, question: &Question, wrong: Option<&Wrong>) -> String {
        let text = self.say(question.key, &question.values);
        let Some(Wrong(key, values)) = wrong else { return text };
        let reason = self.say(key, values);
        let key = if step.tries < forms::TRIES_MAX { "dialog.again" } else { "dialog.given_up" };
        self.say(key, &json!({ "reason": reason, "question": text }))
    }

    /// Asks which of several things is meant, where the call of the step that is up met more than one; `None` where it did
    /// not, or not by its own words.
    pub(super) fn ask_which(&mut self, wrong: Option<&Wrong>) -> Option<()> {
        let step = self.turn.step()?.clone();
        let (_, question) = forms::choice(&step)?;
        // A question of somebody's program is no question of ours.
        self.manifest(&step.tool).filter(|manifest| manifest.executor.created_by == "builtin")?;
        let message = self.question_text(&step, &question, wrong);
        if step.tries >= forms::TRIES_MAX {
            self.close("ask", None, message);
            return Some(());
        }
        self.put("ask", &message, |dialog| DialogOpened {
            kind: forms::DISAMBIGUATION.to_owned(),
            step: Some(step.number),
            options: question.options().to_vec(),
            ..dialog
        });
        Some(())
    }

    /// The call once more, with what the person chose in place of the words that fitted several.
    fn proposed_again(&mut self, argument: &str, chosen: &Value) {
        let Some(step) = self.turn.step().cloned() else { return };
        let mut args = (*step.args).clone();
        args[argument] = chosen.clone();
        let provenance = serde_json::to_value(&step.provenance).expect("origins are plain data");
        self.push(StepProposed {
            step: step.number + 1,
            tool: step.tool,
            args: Kept::json(&args),
            provenance: Some(Json(provenance)),
            call: None,
        });
    }

    fn put(&mut self, kind: &str, message: &str, with: impl FnOnce(DialogOpened) -> DialogOpened) {
        let opened = self.turn.opened.as_ref().filter(|opened| opened.dialogs);
        let (Some(opened), Some(id)) = (opened, self.turn.id) else {
            return self.close(kind, None, message.to_owned());
        };
        let dialog = with(DialogOpened {
            dialog: format!("{id}-{}", self.turn.dialogs + 1),
            kind: String::new(),
            question: Kept::text(message.to_owned()),
            candidates: Vec::new(),
            channel: opened.channel.clone(),
            expires_s: EXPIRES_S,
            step: None,
            field: None,
            options: Vec::new(),
        });
        self.push(dialog);
        self.push(TurnSuspended { kind: kind.to_owned(), message: Kept::text(message.to_owned()) });
    }

    /// Takes an answer to the question that is open.
    pub(super) fn answered(&mut self, answer: &str, existing: &[(u32, u32)]) {
        match self.turn.asking() {
            Some(question) => {
                let read = answers::read(&question, answer, self.turn.around(self.context.time));
                let taken = read.as_ref().ok().map(|value| Json(json!({ "value": value })));
                let which = self.turn.step().and_then(forms::choice);
                self.push(TurnResumed { by: "dialog".to_owned(), text: None, taken, only: None });
                match (which, read) {
                    (Some((argument, _)), Ok(chosen)) => self.proposed_again(&argument, &chosen),
                    (Some(_), Err(wrong)) => self.ask_which(Some(&wrong)).unwrap_or_default(),
                    (None, read) => self.ask_of_step(read.err().as_ref()),
                }
            }
            None => self.completed(answer, existing),
        }
    }

    /// Takes an answer about the request: one of what was offered, with the request, or by itself where it is a request of
    /// its own.
    fn completed(&mut self, answer: &str, existing: &[(u32, u32)]) {
        let Some(opened) = self.turn.opened.clone() else { return };
        let language = Some(self.turn.language);
        let offered = self.turn.offered(self.context.tools);
        if let Some(choice) = chosen(&offered, answer) {
            let (text, only) = (self.turn.text().to_owned(), Some(choice.id.clone()));
            // The answer stands behind the request; what it names on the disk is none of it.
            let end = u32::try_from(text.len()).unwrap_or(u32::MAX);
            let within: Vec<(u32, u32)> = existing.iter().copied().filter(|&(_, to)| to <= end).collect();
            let proposal = self.planned(&opened, &text, &within, language, only.as_deref());
            self.push(TurnResumed { by: "dialog".to_owned(), text: Some(text), taken: None, only });
            return self.follow(&proposal);
        }
        if answers::is_refusal(answer) {
            let text = Some(self.turn.text().to_owned());
            self.push(TurnResumed { by: "dialog".to_owned(), text, taken: None, only: None });
            let is_about_choice = !offered.is_empty() && answers::yes_or_no(answer).is_some();
            let message = self.say(if is_about_choice { "planner.none_of_them" } else { "planner.left" }, &json!({}));
            return self.close("ask", None, message);
        }
        if !offered.is_empty() && answers::misses(&offered, answer) {
            return self.offer_again();
        }
        let whole = simple::completed(self.turn.text(), answer);
        let alone_at = whole.len() - answer.len();
        let within: Vec<(u32, u32)> = existing
            .iter()
            .filter_map(|&(from, to)| {
                let offset = u32::try_from(alone_at).ok()?;
                Some((from.checked_sub(offset)?, to.checked_sub(offset)?))
            })
            .collect();
        let planned = |proposal: &Proposal| proposal.plan.abstention.is_none();
        let only = self.turn.only.clone();
        let together = self.planned(&opened, &whole, existing, language, only.as_deref());
        let alone = self.planned(&opened, answer, &within, language, None);
        let takes_its_place = planned(&alone) && !(planned(&together) && simple::is_bare(answer, &within));
        let (text, only, proposal) =
            if takes_its_place { (answer.to_owned(), None, alone) } else { (whole, only, together) };
        self.push(TurnResumed { by: "dialog".to_owned(), text: Some(text), taken: None, only });
        self.follow(&proposal);
    }

    /// The same choice once more, after an answer that was none of it.
    fn offer_again(&mut self) {
        let abstention = self.turn.plan.as_ref().and_then(|plan| plan.abstention.clone());
        let Some(mut abstention) = abstention else { return };
        let (text, only) = (Some(self.turn.text().to_owned()), self.turn.only.clone());
        self.push(TurnResumed { by: "dialog".to_owned(), text, taken: None, only });
        let reason = self.say("dialog.wrong_choice", &json!({}));
        abstention.message = self.say("dialog.again", &json!({ "reason": reason, "question": abstention.message }));
        self.question(&abstention);
    }

    /// Nobody answered, or nobody is to: the turn ends with its question.
    pub(super) fn close_question(&mut self) {
        let message = self.turn.message.clone().unwrap_or_default();
        let kind = self.turn.step().map_or("ask", |step| forms::waits_for(&step.tool));
        self.close(kind, None, message);
    }
}
