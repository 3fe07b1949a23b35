//! Checks a file of `metnos audit export --proof` with its bytes and a public key, for those who have no instance: no home,
//! no network, no environment is looked at.
//!
//! Exit: 0 proved · 1 refused, with the reason · 2 wrong usage.

use std::fs::File;
use std::io::{BufReader, Write as _};
use std::process::ExitCode;

use metnos_projections::messages::{Language, Messages};
use metnos_projections::views::audit::verify;
use metnos_projections::visible;
use serde_json::{Value, json};

const USAGE: &str = "usage: metnos-audit-verify FILE --key KEY [--lang en|it] [--json]\n\nKEY: 64 hexadecimal digits, or a \
                     file with them such as config/keys/instance.pub";

/// What was asked for.
#[derive(Default)]
struct Asked {
    file: String,
    key: String,
    language: Language,
    is_json: bool,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    if words.iter().any(|word| matches!(word.as_str(), "-h" | "--help")) {
        return printed(USAGE);
    }
    let Some(asked) = asked(&words) else {
        told(USAGE);
        return ExitCode::from(2);
    };
    let messages = Messages::embedded();
    match checked(&asked) {
        Ok(mut proved) if asked.is_json => {
            proved["ok"] = true.into();
            printed(&proved.to_string())
        }
        Ok(proved) => printed(&messages.say(asked.language, "proof.proved", proved)),
        Err((key, values)) => {
            let reason = messages.say(asked.language, key, values);
            told(&format!("error: {reason}"));
            if asked.is_json {
                // What it says is in the exit code too.
                printed(&json!({ "ok": false, "error": reason }).to_string());
            }
            ExitCode::from(1)
        }
    }
}

/// Prints a result. A reader that went away (`| head`) wants no more; whatever else keeps it from being read is a failure.
fn printed(text: &str) -> ExitCode {
    match writeln!(std::io::stdout(), "{}", visible::text(text)) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            told(&format!("error: {error}"));
            ExitCode::from(2)
        }
        Ok(()) | Err(_) => ExitCode::SUCCESS,
    }
}

/// Says something aside; where nobody listens, the exit code is left.
fn told(text: &str) {
    drop(writeln!(std::io::stderr(), "{}", visible::text(text)));
}

/// The words of the command; none where they are not those of [`USAGE`].
fn asked(words: &[String]) -> Option<Asked> {
    let mut asked = Asked::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--json" => asked.is_json = true,
            "--key" => asked.key.clone_from(words.next()?),
            "--lang" => asked.language = Language::parse(words.next()?)?,
            file if !file.starts_with('-') && asked.file.is_empty() => file.clone_into(&mut asked.file),
            _ => return None,
        }
    }
    (!asked.file.is_empty() && !asked.key.is_empty()).then_some(asked)
}

/// What the file proves, as values of a text; or the text that says why it proves nothing.
fn checked(asked: &Asked) -> Result<Value, (&'static str, Value)> {
    let in_file = || std::fs::read_to_string(&asked.key).ok().as_deref().and_then(verify::key);
    let key = verify::key(&asked.key).or_else(in_file).ok_or(("error.no_public_key", json!({})))?;
    let unreadable = |error: &std::io::Error| {
        // Without the system's number for it.
        let reason = error.to_string().split(" (os error").next().unwrap_or_default().to_owned();
        ("error.file_unreadable", json!({ "file": visible::name(&asked.file), "reason": reason }))
    };
    let file = File::open(&asked.file).map_err(|error| unreadable(&error))?;
    let verified = verify::verified(&mut BufReader::new(file), key).map_err(|error| unreadable(&error))?;
    Ok(verified.map_err(|refusal| refusal.said())?.said())
}
