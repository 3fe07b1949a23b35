//! `metnos turn search`: the turns in which words were said, by the view that knows them.

use clap::Args;
use metnos_projections::views::search::words;
use serde_json::json;

use super::super::output::{Failure, by, remedy};
use super::super::{Context, progress};
use super::shown;
use crate::views::{self, ViewError};

/// List the turns in whose sentence or answer all of these words stand, newest last; exit code 1 when there is none.
#[derive(Args, Debug)]
#[command(after_help = "Whole words count, in any order, capital or small, with or without accents.")]
pub(in crate::cli) struct Search {
    /// The words.
    #[arg(required = true, value_name = "WORDS")]
    words: Vec<String>,
    /// How many at most, the newest.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    last: u32,
}

impl From<ViewError> for Failure {
    fn from(error: ViewError) -> Self {
        match error {
            ViewError::Read(error) => error.into(),
            ViewError::Instance(error) => (*error).into(),
            ViewError::File(error) => Self::of(&error, Some(remedy(&error, None, by("next.view_unusable")))),
        }
    }
}

pub(super) fn run(context: &Context, command: &Search) -> Result<u8, Failure> {
    let words = words(&command.words.join(" "));
    if words.is_empty() {
        return Err(Failure::usage(by("error.no_words"), by("next.words")));
    }
    let mut instance = context.instance()?;
    // What an erasure that broke off has left is not searched; gone on with, it folds all of the log.
    context.resume_erasure(&instance)?;
    if let Some(until) = context.until(&instance)? {
        instance.rewind(until)?;
    }
    let size = instance.projected().position;
    let folding = progress::folding(context);
    let most = usize::try_from(command.last).unwrap_or(usize::MAX);
    let found = views::turns::find(&instance, &words, (most, size), &|done, of| folding.say(done, of));
    folding.end();
    context.tell_views(&instance);
    let found = found?;
    let reader = instance.log.reader();
    let mut ids = Vec::new();
    for seq in found.opened.iter().rev() {
        ids.extend(reader.event(*seq)?.and_then(|opened| opened.turn));
    }
    if found.position < size {
        let values = json!({ "position": found.position, "events": size });
        context.say(&context.text(&instance, "turns.searched_so_far", &values));
    }
    if ids.is_empty() {
        context.say(&context.text(&instance, "turns.none_found", &json!({})));
        return Ok(1);
    }
    let turns = instance.turns();
    shown(context, &instance, ids.iter().filter_map(|id| Some((*id, turns.get(*id)?))))?;
    if found.is_cut {
        context.say(&context.text(&instance, "turns.found_more", &json!({ "count": most })));
    }
    Ok(0)
}
