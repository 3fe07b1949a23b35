//! What a mnest weighs: `weight(t) = clamp01(weight(t−Δ)·exp(−λΔ) + reinforcement)` (design 6-memory, «Mnest»).
//!
//! `exp` is `libm`'s, so that the same history gives the same bits on every machine.

/// The numbers of the formula. Another law over the same history gives the graph that would have been.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    /// How fast a weight fades, a day.
    pub lambda: f64,
    /// What a passing adds after the fading.
    pub reinforcement: f64,
    /// What a first passing starts at, and a usual pair.
    pub first: f64,
}

impl Default for Law {
    fn default() -> Self {
        Self { lambda: 0.018, reinforcement: 0.15, first: 0.30 }
    }
}

/// Below this weight a wish is forgotten.
pub const PROTO_MIN: f64 = 0.05;
/// Below this weight a mnest fades.
pub const DECAYING_BELOW: f64 = 0.20;
/// Below this weight, unused for [`ARCHIVE_IDLE_DAYS`], archival is proposed.
pub const ARCHIVE_BELOW: f64 = 0.05;
/// How long a mnest must not have been used for that, in days.
pub const ARCHIVE_IDLE_DAYS: f64 = 90.0;

const DAY_US: f64 = 86_400_000_000.0;

/// Days between two moments in µs; none where the clock went back.
#[expect(clippy::cast_precision_loss, reason = "an error of µs over centuries does not matter to a weight")]
pub fn days(from: i64, to: i64) -> f64 {
    to.saturating_sub(from).max(0) as f64 / DAY_US
}

impl Law {
    /// A weight after it has faded from one moment to another.
    pub fn faded(&self, weight: f64, from: i64, to: i64) -> f64 {
        (weight * libm::exp(-self.lambda * days(from, to))).clamp(0.0, 1.0)
    }

    /// A weight after a passing: faded first, then reinforced.
    pub fn reinforced(&self, weight: f64, from: i64, to: i64) -> f64 {
        (self.faded(weight, from, to) + self.reinforcement).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000_000;

    #[test]
    fn a_weight_fades_to_a_half_in_thirty_eight_and_a_half_days() {
        let law = Law::default();
        let after = law.faded(1.0, 0, DAY * 385 / 10);
        assert!((after - 0.5).abs() < 0.001, "{after}");
        // exp(-0.018) to the last bit, by libm.
        assert_eq!(law.faded(1.0, 0, DAY).to_bits(), libm::exp(-0.018).to_bits());
    }

    #[test]
    fn a_passing_adds_after_the_fading_and_never_beyond_one() {
        let law = Law::default();
        let expected = 0.3 * libm::exp(-0.18) + 0.15;
        assert_eq!(law.reinforced(0.3, 0, 10 * DAY).to_bits(), expected.to_bits());
        assert_eq!(law.reinforced(0.95, 5, 5).to_bits(), 1.0_f64.to_bits());
    }

    #[test]
    fn a_clock_that_goes_back_fades_nothing() {
        let law = Law::default();
        assert_eq!(law.faded(0.4, DAY, 0).to_bits(), 0.4_f64.to_bits());
        assert_eq!(law.faded(0.4, i64::MAX, i64::MIN).to_bits(), 0.4_f64.to_bits());
    }
}
