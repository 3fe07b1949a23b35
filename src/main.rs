//! The `metnos` binary: the cage's helper when it is called as such, else the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|word| word == metnos::sandbox::HELPER_ARG) {
        metnos::sandbox::helper_main();
    }
    metnos::cli::main()
}
