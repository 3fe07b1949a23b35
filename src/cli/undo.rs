//! `metnos undo`: takes back what an earlier request changed. A turn of its own, with its question and its record.

use clap::Args;
use serde_json::{Map, Value, json};

use super::ask::{self, Approve};
use super::{Context, Failure};

/// Take back what an earlier request changed.
#[derive(Args, Debug)]
pub(super) struct Undo {
    /// The turn, by its id or the end of it; else the last one that changed something.
    turn: Option<String>,
    /// Only say what would be undone.
    #[arg(long)]
    preview: bool,
    /// What is approved in advance.
    #[arg(long, value_enum, default_value_t = Approve::None)]
    approve: Approve,
}

pub(super) fn run(context: &Context, undo: &Undo) -> Result<u8, Failure> {
    let mut args = Map::new();
    let mut text = "undo".to_owned();
    if let Some(turn) = &undo.turn {
        text = format!("{text} {turn}");
        args.insert("turn".to_owned(), turn.clone().into());
    }
    if undo.preview {
        text.push_str(" --preview");
        args.insert("preview".to_owned(), true.into());
    }
    let given = json!({ "tool": "undo_last_turn", "args": Value::Object(args) });
    let instance = context.ready(&context.flags())?;
    // Who typed --yes has said yes to just this: what is taken back is what the command names.
    let approve = if context.global.yes { Approve::All } else { undo.approve };
    let turn = ask::carry_out(context, &instance, text, approve, Some(given))?;
    ask::tell(context, &instance, &turn)
}
