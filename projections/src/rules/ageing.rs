//! When a synthesised executor that nobody uses falls below the threshold, and when its archival is proposed (design
//! 3-executors, «Life cycle»).

use metnos_log::Micros;
use metnos_log::event::executor::LifeCycle;

/// After how many days without a use it falls below the threshold.
pub const IDLE_DAYS: i64 = 30;
/// After how many more its archival is proposed. Only the owner archives.
pub const PROPOSED_DAYS: i64 = 14;

const DAY_US: i64 = 86_400_000_000;

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// It falls below the threshold.
    BelowThreshold,
    /// Its archival is proposed.
    Archival,
}

/// Whether an executor ages at all: what the owner wrote, and what came with the release, does not.
pub fn ages(created_by: &str) -> bool {
    created_by.starts_with("synt:")
}

/// What is due of one that stands there; `since` is its last use, or its last move where that is later.
pub fn due(life: LifeCycle, since: Micros, now: Micros) -> Option<Due> {
    let days = now.0.saturating_sub(since.0) / DAY_US;
    match life {
        LifeCycle::Active => (days >= IDLE_DAYS).then_some(Due::BelowThreshold),
        LifeCycle::BelowThreshold => (days >= PROPOSED_DAYS).then_some(Due::Archival),
        LifeCycle::Seed
        | LifeCycle::Proposed
        | LifeCycle::Fused
        | LifeCycle::Quarantined
        | LifeCycle::Archived
        | LifeCycle::Disabled => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_and_then_two_weeks() {
        let after = |life, days: i64, more: i64| due(life, Micros(7), Micros(7 + days * DAY_US + more));
        assert_eq!(after(LifeCycle::Active, 30, -1), None);
        assert_eq!(after(LifeCycle::Active, 30, 0), Some(Due::BelowThreshold));
        assert_eq!(after(LifeCycle::BelowThreshold, 14, -1), None);
        assert_eq!(after(LifeCycle::BelowThreshold, 14, 0), Some(Due::Archival));
        for life in [LifeCycle::Quarantined, LifeCycle::Archived, LifeCycle::Fused, LifeCycle::Disabled] {
            assert_eq!(after(life, 1000, 0), None);
        }
        // A clock that was set back makes nothing older.
        assert_eq!(due(LifeCycle::Active, Micros(i64::MAX), Micros(0)), None);
        assert!(ages("synt:01AB") && !ages("owner") && !ages("seed") && !ages("builtin"));
    }
}
