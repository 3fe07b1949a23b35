//! Questions about a request: put, answered, lapsed, withdrawn (design 7-people, «Dialogs»).
//!
//! An answer completes the request that it is asked about, or takes its place; what then happens is decided like any
//! request. Consent is no such question.

use metnos_log::Kept;
use metnos_log::event::dialog::DialogOpened;
use metnos_log::event::turn::{TurnResumed, TurnSuspended};

use super::decide::{Decider, Rejection};
use crate::plan::Abstention;
use crate::rules::simple::{self, Proposal};

/// The most questions about one request; after that it closes with the last one.
const DIALOGS_MAX: u32 = 3;
/// How long an answer is waited for, in seconds (design 5-turn, «Recovery»).
const EXPIRES_S: u32 = 600;

impl Decider<'_> {
    pub(super) fn is_open(&self, dialog: &str) -> Result<(), Rejection> {
        if self.turn.dialog().as_deref() == Some(dialog) { Ok(()) } else { Err(Rejection::OtherQuestion) }
    }

    /// Puts a question: the turn waits where someone can answer, and closes with it elsewhere.
    pub(super) fn question(&mut self, abstention: &Abstention) {
        let message = abstention.message.clone();
        let opened = self.turn.opened.as_ref().filter(|opened| opened.dialogs);
        let (Some(opened), Some(id)) = (opened, self.turn.id) else { return self.close("ask", None, message) };
        if self.turn.dialogs >= DIALOGS_MAX {
            return self.close("ask", None, message);
        }
        // Candidates come with every question; only one that names them leaves a choice.
        let named = abstention.candidates.iter().all(|name| message.contains(name.as_str()));
        let chooses = named && abstention.candidates.len() > 1;
        let kind = if chooses { "request_disambiguation_from_user" } else { "get_inputs" };
        let dialog = DialogOpened {
            dialog: format!("{id}-{}", self.turn.dialogs + 1),
            kind: kind.to_owned(),
            question: Kept::text(message.clone()),
            candidates: abstention.candidates.clone(),
            channel: opened.channel.clone(),
            expires_s: EXPIRES_S,
        };
        self.push(dialog);
        self.push(TurnSuspended { kind: "ask".to_owned(), message: Kept::text(message) });
    }

    /// Takes an answer: with the request, or by itself where it is a request of its own.
    pub(super) fn answered(&mut self, answer: &str, existing: &[(u32, u32)]) {
        let Some(opened) = self.turn.opened.clone() else { return };
        let language = Some(self.turn.language);
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
        let together = self.planned(&opened, &whole, existing, language);
        let alone = self.planned(&opened, answer, &within, language);
        let takes_its_place = planned(&alone) && !(planned(&together) && simple::is_bare(answer, &within));
        let (text, proposal) = if takes_its_place { (answer.to_owned(), alone) } else { (whole, together) };
        self.push(TurnResumed { by: "dialog".to_owned(), text: Some(text) });
        self.follow(&proposal);
    }

    /// Nobody answered, or nobody is to: the turn ends with its question.
    pub(super) fn close_question(&mut self) {
        let message = self.turn.message.clone().unwrap_or_default();
        self.close("ask", None, message);
    }
}
