//! Whose panic it was: redb may stop at a damaged page, this crate may not.

use std::panic::PanicHookInfo;
use std::sync::{Mutex, Once};

static OWN: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// From here on panics that become errors are told apart, and those of the store are not shown.
pub(super) fn watch() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(
            move |panic| if crate::store::is_guarded() { note(panic) } else { usual(panic) },
        ));
    });
}

/// Paths of this workspace are relative, those of the store and of the language are not.
fn note(panic: &PanicHookInfo<'_>) {
    if panic.location().is_none_or(|location| !location.file().starts_with('/')) {
        OWN.lock().expect("nobody panics with it").push(panic.to_string());
    }
}

/// The panics of this crate that were taken for damage.
pub(super) fn own() -> Vec<String> {
    OWN.lock().expect("nobody panics with it").clone()
}
