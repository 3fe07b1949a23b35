//! `month make` prints the standard large history; `month digest` reads a history and prints what everything that is made of
//! it comes to. Two builds, two users and two runs must print the same.
#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;

use metnos::export::history;
use metnos_replay_tests::month::{Month, digests};

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("make") => {
            let text = Month::default().live().text();
            std::io::stdout().lock().write_all(text.as_bytes()).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
        }
        Some("digest") => {
            let read = std::io::stdin().lock().lines().map(|line| history::read_line(&line.ok()?).ok());
            match read.collect::<Option<Vec<_>>>() {
                Some(events) => {
                    print!("{}", digests(&events));
                    ExitCode::SUCCESS
                }
                None => ExitCode::FAILURE,
            }
        }
        _ => ExitCode::from(2),
    }
}
