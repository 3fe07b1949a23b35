//! The clock: the one place that reads it for events. A debug build can be given another one by a test, which then decides
//! what time it is: months pass in a moment.

use std::time::{SystemTime, UNIX_EPOCH};

use metnos_log::Micros;

/// The time, by the system's clock, or by the file that `METNOS_CLOCK` names.
pub fn now() -> Micros {
    simulated::now().unwrap_or_else(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    })
}

/// Whether a test decides what time it is: then real time says nothing about how long to wait.
pub fn is_simulated() -> bool {
    simulated::now().is_some()
}

#[cfg(debug_assertions)]
mod simulated {
    use std::path::PathBuf;
    use std::sync::OnceLock;
    use std::time::Duration;

    use super::Micros;

    /// How often a file is read again that is being written, and after how long: it is empty for a moment then.
    const READS: usize = 5_000;
    const PAUSE: Duration = Duration::from_millis(1);

    /// The moment that the file holds (`2026-11-23T08:00:00Z`).
    pub(super) fn now() -> Option<Micros> {
        static CLOCK: OnceLock<Option<PathBuf>> = OnceLock::new();
        let path = CLOCK.get_or_init(|| crate::config::Variables::read().clock).as_ref()?;
        let mut text = std::fs::read_to_string(path).ok()?;
        for _ in 0..READS {
            if !text.is_empty() {
                break;
            }
            std::thread::sleep(PAUSE);
            text = std::fs::read_to_string(path).ok()?;
        }
        Some(Micros(text.trim().parse::<jiff::Timestamp>().ok()?.as_microsecond()))
    }
}

#[cfg(not(debug_assertions))]
mod simulated {
    use super::Micros;

    /// Nothing but the system's clock counts.
    pub(super) fn now() -> Option<Micros> {
        None
    }
}
