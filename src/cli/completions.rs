//! `metnos completions`: the script by which a shell completes commands and options.
//!
//! It is made from the command line's own definition and printed; installing it is the owner's choice.

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::Shell;
use serde_json::json;

use super::{Cli, Context, Failure, output};

/// Print the script that completes commands in a shell.
#[derive(Args, Debug)]
pub(super) struct Completions {
    /// Which shell.
    #[arg(value_enum)]
    shell: Known,
}

/// A shell that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Known {
    /// Load it by: source <(metnos completions bash)
    Bash,
    /// Put it as _metnos into a folder of $fpath.
    Zsh,
    /// Put it into ~/.config/fish/completions/metnos.fish
    Fish,
}

pub(super) fn run(context: &Context, completions: &Completions) -> Result<u8, Failure> {
    let script = script(completions.shell)?;
    if context.global.json {
        output::result_json(&json!({ "script": script }));
    } else {
        output::result(&script);
    }
    Ok(0)
}

fn script(shell: Known) -> Result<String, Failure> {
    let shell = match shell {
        Known::Bash => Shell::Bash,
        Known::Zsh => Shell::Zsh,
        Known::Fish => Shell::Fish,
    };
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "metnos", &mut bytes);
    String::from_utf8(bytes).map_err(|error| Failure::internal(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn every_command_is_completed() {
        for shell in [Known::Bash, Known::Zsh, Known::Fish] {
            let script = script(shell).expect("a script");
            for command in Cli::command().get_subcommands() {
                assert!(script.contains(command.get_name()), "{shell:?} lacks {}", command.get_name());
            }
            assert!(script.contains("--home") || script.contains("-l home"), "{shell:?} lacks a global option");
        }
    }

    /// Bash is on every machine that this is built on; zsh and fish are looked at where they are.
    #[test]
    fn shells_can_read_their_script() {
        for (shell, name) in [(Known::Bash, "bash"), (Known::Zsh, "zsh"), (Known::Fish, "fish")] {
            let Ok(mut child) = Command::new(name).arg("-n").stdin(Stdio::piped()).spawn() else {
                println!("SKIPPED: {name} is not installed");
                continue;
            };
            let script = script(shell).expect("a script");
            child.stdin.take().expect("it was piped").write_all(script.as_bytes()).expect("it reads");
            assert!(child.wait().expect("it ends").success(), "{name} cannot read its script");
        }
    }
}
