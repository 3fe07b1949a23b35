//! A circuit: a server that failed again and again is left alone for a while, so that turns do not wait for it one by one.

use std::time::{Duration, Instant};

/// How many failures running open it.
const FAILURES_MAX: u32 = 3;
/// How long it stays open; then one request may try.
const OPEN_FOR: Duration = Duration::from_secs(30);

/// One server's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Circuit {
    failures: u32,
    since: Option<Instant>,
}

/// Whether a failure says that the server is away, rather than that it did not like what it was asked.
pub(super) fn counts(class: &str) -> bool {
    matches!(class, "network" | "timeout" | "resource_unavailable" | "rate_limited")
}

impl Circuit {
    /// How long it is still open.
    pub(super) fn open_for(&self, now: Instant) -> Option<Duration> {
        let since = self.since.filter(|_| self.failures >= FAILURES_MAX)?;
        OPEN_FOR.checked_sub(now.saturating_duration_since(since)).filter(|left| !left.is_zero())
    }

    /// A request ended.
    pub(super) fn note(&mut self, is_away: bool, now: Instant) {
        self.failures = if is_away { self.failures.saturating_add(1) } else { 0 };
        self.since = is_away.then_some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_after_failures_and_closes_with_time_or_an_answer() {
        let (mut circuit, start) = (Circuit::default(), Instant::now());
        circuit.note(true, start);
        circuit.note(true, start);
        assert_eq!(circuit.open_for(start), None);
        circuit.note(true, start);
        assert_eq!(circuit.open_for(start), Some(OPEN_FOR));
        assert_eq!(circuit.open_for(start + OPEN_FOR), None);
        circuit.note(true, start + OPEN_FOR);
        assert!(circuit.open_for(start + OPEN_FOR).is_some());
        circuit.note(false, start + OPEN_FOR);
        assert_eq!(circuit.open_for(start + OPEN_FOR), None);
        assert!(counts("network") && !counts("unparseable") && !counts("unauthorized"));
    }
}
