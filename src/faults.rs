//! Named points at which a debug build can be made to wait, so that a test's kill lands in a chosen phase of a turn; and
//! commits of the log at which it can be made to kill itself, since no kill from outside would land between two of them.
//!
//! The waiting is the only thing that is added; the kill is a real one. Release builds have none of it.

/// Waits if `METNOS_PAUSE_AT` names this point (`point:milliseconds`).
#[cfg(debug_assertions)]
#[expect(clippy::print_stderr, reason = "the test that asked for the wait reads that it has begun")]
pub fn reach(point: &str) {
    static PAUSE: std::sync::OnceLock<Option<(String, u64)>> = std::sync::OnceLock::new();
    let pause = PAUSE.get_or_init(|| {
        let text = crate::config::Variables::read().pause_at?;
        let (point, milliseconds) = text.split_once(':')?;
        Some((point.to_owned(), milliseconds.parse().ok()?))
    });
    if let Some((_, milliseconds)) = pause.as_ref().filter(|(named, _)| named == point) {
        eprintln!("waiting at {point}");
        std::thread::sleep(std::time::Duration::from_millis(*milliseconds));
    }
}

/// Does nothing.
#[cfg(not(debug_assertions))]
pub fn reach(_point: &str) {}

/// Has this process kill itself where `METNOS_KILL_AT` says: right before or after so many commits of the log.
#[cfg(debug_assertions)]
pub fn arm(variables: &crate::config::Variables) {
    use std::sync::OnceLock;

    use metnos_log::store::{Side, watch_commits};
    use rustix::process::{Signal, getpid, kill_process};

    static KILL: OnceLock<(u64, Side)> = OnceLock::new();
    let Some(text) = variables.kill_at.as_deref().and_then(|text| text.strip_prefix("append:")) else { return };
    let Some((number, side)) = text.split_once(':') else { return };
    let side = if side == "before" { Side::Before } else { Side::After };
    let Ok(number) = number.parse() else { return };
    KILL.get_or_init(|| (number, side));
    watch_commits(|number, side| {
        if KILL.get() == Some(&(number, side)) {
            kill_process(getpid(), Signal::KILL).expect("a process may kill itself");
        }
    });
}

/// Does nothing.
#[cfg(not(debug_assertions))]
pub fn arm(_variables: &crate::config::Variables) {}

/// Has this process kill itself where `METNOS_KILL_AT` says (`view:NUMBER`): at so many steps of the making of views, of which
/// there is one right before and one right after each commit.
#[cfg(debug_assertions)]
pub fn view_step() {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use rustix::process::{Signal, getpid, kill_process};

    static KILL: OnceLock<Option<u64>> = OnceLock::new();
    static STEPS: AtomicU64 = AtomicU64::new(0);
    let number = || crate::config::Variables::read().kill_at?.strip_prefix("view:")?.parse().ok();
    let kill = *KILL.get_or_init(number);
    if kill == Some(STEPS.fetch_add(1, Ordering::Relaxed) + 1) {
        kill_process(getpid(), Signal::KILL).expect("a process may kill itself");
    }
}

/// Does nothing.
#[cfg(not(debug_assertions))]
pub fn view_step() {}
