//! A next step as the person has to type it: where the command line named a home, the commands of a hint name it too. Without
//! that they would be about another one.

use std::path::Path;

use clap::CommandFactory as _;
use metnos_projections::as_word;

use super::Cli;

const PROGRAM: &str = "metnos ";

/// A hint whose commands are about the home that was named.
pub(super) fn for_home(hint: &str, home: Option<&Path>) -> String {
    let Some(home) = home else { return hint.to_owned() };
    let cli = Cli::command();
    let is_command = |name: &str| cli.get_subcommands().any(|command| command.get_name() == name);
    let option = format!("--home {} ", as_word(&home.to_string_lossy()));
    let (mut typed, mut rest) = (String::new(), hint);
    while let Some(at) = rest.find(PROGRAM) {
        let begins = !rest[..at].ends_with(|sign: char| sign.is_alphanumeric() || sign == '-');
        let (before, behind) = rest.split_at(at + PROGRAM.len());
        typed.push_str(before);
        let name = behind.split(|sign: char| !sign.is_alphanumeric() && sign != '-').next().unwrap_or_default();
        if begins && is_command(name) {
            typed.push_str(&option);
        }
        rest = behind;
    }
    typed + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_name_the_home_and_prose_does_not() {
        let hint =
            "metnos serves; «metnos log verify», or metnos-cage and metnos --home NEW log, then metnos log salvage NEW";
        assert_eq!(for_home(hint, None), hint);
        assert_eq!(
            for_home(hint, Some(Path::new("my home"))),
            "metnos serves; «metnos --home 'my home' log verify», or metnos-cage and metnos --home NEW log, \
             then metnos --home 'my home' log salvage NEW"
        );
    }
}
