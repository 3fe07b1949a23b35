//! `metnos log expire`: takes out now what the night would take out, or says what that is.

use clap::Args;
use metnos_log::event::retention::Class;
use serde_json::{Value, json};

use super::super::output::Failure;
use super::super::{Context, output};
use crate::expiry::{self, Due, ExpiryError};
use crate::instance::now;

/// Take out the long texts whose days are over, as the nightly job does: see metnos config show, retention.
#[derive(Args, Debug)]
pub(in crate::cli) struct Expire {
    /// Only say what would go.
    #[arg(long)]
    preview: bool,
}

impl From<ExpiryError> for Failure {
    fn from(error: ExpiryError) -> Self {
        match error {
            ExpiryError::Read(error) => error.into(),
            ExpiryError::Append(error) => crate::instance::InstanceError::from(error).into(),
        }
    }
}

pub(super) fn run(context: &Context, command: &Expire) -> Result<u8, Failure> {
    context.refuse_past()?;
    let instance = context.instance()?;
    let due = expiry::due(&instance, now())?;
    if !command.preview {
        instance.alone(|| expiry::expire(&instance, now()))?;
    }
    let row = |(class, due): (&Class, &Due)| json!({ "class": class.name(), "days": due.days, "texts": due.blobs.len(), "events": due.seqs.len() });
    let classes: Vec<Value> = due.iter().map(row).collect();
    let values = json!({ "classes": classes, "preview": command.preview });
    if context.global.json {
        output::result_json(&values);
    } else {
        output::result(&context.text(&instance, "log.expired", &values));
    }
    Ok(0)
}
