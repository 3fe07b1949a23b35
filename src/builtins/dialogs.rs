//! `get_inputs`, `get_approval`, `request_disambiguation_from_user`: what a person was asked becomes the result of a call.
//!
//! The turn machine puts the questions and reads the answers, before the call; nothing is asked here.

use metnos_projections::machines::turn::forms;

use super::{Answer, Call};

pub(super) fn get_inputs(call: &Call<'_>) -> Answer {
    answered(forms::GET_INPUTS, call)
}

pub(super) fn get_approval(call: &Call<'_>) -> Answer {
    answered(forms::GET_APPROVAL, call)
}

pub(super) fn disambiguation(call: &Call<'_>) -> Answer {
    answered(forms::DISAMBIGUATION, call)
}

fn answered(tool: &str, call: &Call<'_>) -> Answer {
    Answer::of(forms::result(tool, call.args, call.answers))
}
