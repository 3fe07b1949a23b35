//! The attempts, by what they are after.

mod acts;
mod changes;
mod files;
mod kernel;
mod network;
mod processes;
mod replies;
mod resources;

use super::attempt::Attempt;

/// All of them.
pub(crate) fn all() -> Vec<&'static Attempt> {
    let themes: [&[Attempt]; 8] = [
        files::ATTEMPTS,
        changes::ATTEMPTS,
        kernel::ATTEMPTS,
        processes::ATTEMPTS,
        network::ATTEMPTS,
        resources::ATTEMPTS,
        replies::ATTEMPTS,
        acts::ATTEMPTS,
    ];
    themes.into_iter().flatten().collect()
}
