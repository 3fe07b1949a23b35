//! `metnos man`: the manual's pages, made from the command line's own definition.
//!
//! It prints one page as troff, or writes all of them into a folder; it installs nothing.

use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory};
use clap_mangen::Man as Page;
use serde_json::json;

use super::output::by;
use super::{Cli, Context, Failure, output};
use crate::cause::plain;

/// Print a page of the manual, to be shown by: metnos man | man -l -
#[derive(Args, Debug)]
pub(super) struct Man {
    /// The command whose page is printed, like executor run; without it, the page of metnos.
    command: Vec<String>,
    /// Write the pages of all commands into this folder instead.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

pub(super) fn run(context: &Context, man: &Man) -> Result<u8, Failure> {
    if let Some(folder) = &man.dir {
        let pages = write(folder)?;
        if context.global.json {
            output::result_json(&json!({ "ok": true, "folder": folder, "pages": pages }));
        } else {
            output::result(&format!("{pages} pages are in {}", folder.display()));
        }
        return Ok(0);
    }
    let page = page(&man.command)?;
    if context.global.json {
        output::result_json(&json!({ "page": page }));
    } else {
        output::result(&page);
    }
    Ok(0)
}

/// The command line with its pages' names (`metnos-executor-run`) filled in.
fn built() -> clap::Command {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    command
}

/// The page of a command, by its words.
fn page(words: &[String]) -> Result<String, Failure> {
    let mut command = built();
    for word in words {
        let Some(found) = command.find_subcommand(word) else {
            return Err(Failure::refused(
                (
                    "error.no_subcommand",
                    json!({ "word": word, "command": command.get_display_name().unwrap_or("metnos") }),
                ),
                by("next.commands"),
            ));
        };
        command = found.clone();
    }
    let mut bytes = Vec::new();
    Page::new(command).render(&mut bytes).map_err(|error| Failure::internal(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| Failure::internal(error.to_string()))
}

/// Writes every page and says how many there are.
fn write(folder: &Path) -> Result<usize, Failure> {
    let refuse = |error: std::io::Error| {
        Failure::refused(
            ("error.pages_unwritten", json!({ "folder": folder, "reason": plain(&error) })),
            by("next.writable_folder"),
        )
    };
    std::fs::create_dir_all(folder).map_err(refuse)?;
    let mut waiting = vec![built()];
    let mut pages = 0;
    while let Some(command) = waiting.pop() {
        waiting.extend(command.get_subcommands().cloned());
        Page::new(command).generate_to(folder).map_err(refuse)?;
        pages += 1;
    }
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let folder = tempfile::tempdir().expect("a folder");
        let pages = write(&folder.path().join("man1")).expect("pages");
        let written = std::fs::read_dir(folder.path().join("man1")).expect("the folder").count();
        assert_eq!(pages, written, "two pages share a name");
        assert!(folder.path().join("man1/metnos.1").exists() && folder.path().join("man1/metnos-log-tail.1").exists());
    }

    #[test]
    fn a_page_tells_its_command_and_an_unknown_one_is_refused() {
        let main = page(&[]).expect("the page of metnos");
        assert!(main.contains(".TH metnos 1") && main.contains("metnos\\-prefilter(1)"), "{main}");
        let tail = page(&["log".to_owned(), "tail".to_owned()]).expect("the page of log tail");
        assert!(tail.contains("metnos\\-log\\-tail") && tail.contains("\\-\\-json"), "{tail}");
        assert!(page(&["log".to_owned(), "nothing".to_owned()]).is_err());
    }
}
