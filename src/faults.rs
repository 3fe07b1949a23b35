//! Named points at which a debug build can be made to wait, so that a test's kill lands in a chosen phase of a turn.
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
