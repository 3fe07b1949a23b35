//! `metnos demo`: a few sentences in a throw-away home, and what was recorded.

use serde_json::json;

use super::ask::{self, Approve};
use super::{Context, Failure, Global, interrupt, output};
use crate::cause::plain;

pub(super) fn run(context: &Context) -> Result<u8, Failure> {
    let scratch =
        Scratch::make().map_err(|error| Failure::internal(("error.throwaway", json!({ "reason": plain(&error) }))))?;
    let home = scratch.0.join("home");
    let global = Global { home: Some(home), json: false, ..context.global.clone() };
    let inner = Context { global, variables: context.variables.clone(), served: None, is_daemon: false };
    let instance = inner.ready(&inner.flags())?;
    let files = scratch.0.join("files");
    std::fs::create_dir(&files).map_err(|error| Failure::internal(error.to_string()))?;
    let notes = files.join("diary.md");
    let text = "Monday: planted tomatoes.\nTuesday: rain.\nWednesday: fixed the gate.\nThursday: first strawberries.\n";
    std::fs::write(&notes, text).map_err(|error| Failure::internal(error.to_string()))?;
    let file = notes.display();
    let sentences = match inner.language(&instance) {
        metnos_projections::messages::Language::En => [
            format!("read the file {file} and tell me the last three lines"),
            format!("how many .md files are in {}, subfolders included", files.display()),
            format!("write \"Friday: visitors.\" to {}", files.join("friday.md").display()),
            "what time is it in Tokyo".to_owned(),
        ],
        metnos_projections::messages::Language::It => [
            format!("leggi il file {file} e dimmi le ultime tre righe"),
            format!("quanti file .md ci sono in {}, sottocartelle comprese", files.display()),
            format!("scrivi \"Venerdì: ospiti.\" in {}", files.join("venerdi.md").display()),
            "che ore sono a Tokyo".to_owned(),
        ],
    };
    for sentence in sentences {
        let turn = ask::one(&inner, &instance, sentence.clone(), Approve::All)?;
        if interrupt::is_stopped() {
            return Err(Failure::interrupted());
        }
        let message = turn.message.unwrap_or_default();
        if context.global.json {
            output::result_json(&json!({ "sentence": sentence, "answer": message, "final_kind": turn.final_kind }));
        } else {
            output::result(&format!("\n> {sentence}\n{message}"));
        }
    }
    let verified = instance.log.reader().verify(|_, _| {}).map_err(|damage| Failure::internal(damage.to_string()))?;
    let values = json!({ "events": verified.head.size, "head": crate::signing::hex(&verified.head.head[..8]), "turns": instance.turns().len() });
    if context.global.json {
        output::result_json(&values);
    } else {
        output::result(&format!("\n{}", inner.text(&instance, "demo.recorded", &values)));
    }
    Ok(0)
}

/// A folder that goes with the command.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn make() -> std::io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        let name = format!("metnos-demo-{}", crate::signing::hex(&crate::instance::random::<6>()));
        let path = std::env::temp_dir().join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        path.canonicalize().map(Self)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A throw-away folder that cannot be removed is swept by the system.
        drop(std::fs::remove_dir_all(&self.0));
    }
}
