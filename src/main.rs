//! The `metnos` binary: the cage's helper when it is called as such, else the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|word| word == metnos::sandbox::HELPER_ARG) {
        metnos::sandbox::helper_main();
    }
    hush_damage();
    metnos::cli::main()
}

/// What the log takes for damage is told as such; that the store panicked over it is for whoever looks for its faults.
fn hush_damage() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if metnos_log::store::is_guarded() {
            tracing::debug!(%panic, "the store cannot make sense of what it reads");
        } else {
            usual(panic);
        }
    }));
}
