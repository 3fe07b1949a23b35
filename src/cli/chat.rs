//! `metnos chat`: one sentence a line, until the end of the input.

use std::io::{BufRead, IsTerminal, Write};

use clap::Args;
use serde_json::json;

use super::ask::{self, Approve};
use super::{Context, Failure, output};

/// Talk, one sentence a line.
#[derive(Args, Debug)]
pub(super) struct Chat {
    /// What is approved in advance.
    #[arg(long, value_enum, default_value_t = Approve::None)]
    approve: Approve,
}

pub(super) fn run(context: &Context, chat: &Chat) -> Result<u8, Failure> {
    let mut instance = context.ready(&context.flags())?;
    let interactive = std::io::stdin().is_terminal();
    if interactive {
        context.say(&context.text(&instance, "chat.welcome", &json!({})));
    }
    let mut worst = 0;
    loop {
        if interactive {
            prompt();
        }
        let mut line = Vec::new();
        let read = std::io::stdin().lock().read_until(b'\n', &mut line);
        if read.map_err(|error| Failure::internal(format!("the input cannot be read: {error}")))? == 0 {
            return Ok(if interactive { 0 } else { worst });
        }
        let Ok(text) = String::from_utf8(line) else {
            output::aside("error: that line is not valid UTF-8");
            worst = worst.max(2);
            continue;
        };
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        if matches!(text, "/quit" | "/exit" | "/esci") {
            return Ok(worst);
        }
        let turn = ask::one(context, &mut instance, text.to_owned(), chat.approve)?;
        worst = worst.max(ask::exit_code(&turn));
        if context.global.json {
            output::result_json(&ask::record(&instance, &turn)?);
        } else {
            output::result(&turn.message.unwrap_or_default());
        }
    }
}

fn prompt() {
    let mut stderr = std::io::stderr().lock();
    drop(stderr.write_all(b"> ").and_then(|()| stderr.flush()));
}
