//! Rivals that take turns: the first is the measure, the others are told as ratios to it.

use std::time::{Duration, Instant};

/// Something that is measured in bursts; returns how long one burst took (its own set-up left out).
pub(crate) type Rival<'r> = Box<dyn FnMut() -> Duration + 'r>;

/// One whose bursts are several steps, each measured for itself; returns how long each took, as many every time.
pub(crate) type Stepped<'r> = Box<dyn FnMut() -> Vec<Duration> + 'r>;

/// What the bursts of one rival say.
pub(crate) struct Figure {
    /// Median of a burst, or of its steps.
    pub(crate) median: Duration,
    /// Median of (its burst / the first rival's burst of the same round), step by step where there are steps.
    pub(crate) ratio: f64,
    /// Its bursts or their steps, in seconds, in the order of the rounds.
    times: Vec<f64>,
    /// Steps of a burst.
    steps: usize,
}

impl Figure {
    /// The burst that this share of the bursts does not exceed.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        quantile(self.times.clone(), share)
    }

    /// Median of (its burst / the other one's burst of the same round), step by step where there are steps.
    pub(crate) fn beside(&self, other: &Self) -> f64 {
        median(pairs(&self.times, &other.times))
    }

    /// How far from 1 the median ratio of two that are the same comes by chance: what 95 of 100 medians stay within that are
    /// drawn from these rounds (bootstrap).
    pub(crate) fn apart_by_chance(&self, same: &Self) -> f64 {
        const DRAWS: usize = 2_000;
        let (pairs, mut dice) = (pairs(&self.times, &same.times), Dice::new());
        // Rounds as a whole: what one step meets, its neighbours meet, too.
        let rounds: Vec<&[f64]> = pairs.chunks(self.steps).collect();
        let drawn = |dice: &mut Dice| {
            median((0..rounds.len()).flat_map(|_| rounds[dice.below(rounds.len())].to_vec()).collect())
        };
        quantile((0..DRAWS).map(|_| (drawn(&mut dice) - 1.0).abs()).collect(), 0.95)
    }
}

/// What each of one is beside that of the other in the same place.
fn pairs(own: &[f64], other: &[f64]) -> Vec<f64> {
    own.iter().zip(other).map(|(own, other)| own / other).collect()
}

/// Numbers by chance, the same in every run.
struct Dice(u64);

impl Dice {
    fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    /// A number below this one (xorshift64*).
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let drawn = (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % (end as u64).max(1);
        usize::try_from(drawn).unwrap_or_default()
    }
}

/// Runs `rounds` rounds, each in another order: what one rival leaves behind in caches is not always the same other's.
pub(crate) fn take_turns(rounds: usize, rivals: &mut [Rival<'_>]) -> Vec<Figure> {
    take_turns_by_steps(
        rounds,
        &mut rivals.iter_mut().map(|rival| -> Stepped<'_> { Box::new(|| vec![rival()]) }).collect::<Vec<_>>(),
    )
}

/// The same with rivals whose bursts are several steps.
pub(crate) fn take_turns_by_steps(rounds: usize, rivals: &mut [Stepped<'_>]) -> Vec<Figure> {
    let count = rivals.len();
    let mut times = vec![Vec::new(); count];
    for rival in rivals.iter_mut() {
        rival(); // To warm up.
    }
    let (mut order, mut dice): (Vec<usize>, _) = ((0..count).collect(), Dice::new());
    for _ in 0..rounds {
        for place in (1..count).rev() {
            order.swap(place, dice.below(place + 1));
        }
        for &which in &order {
            times[which].extend(rivals[which]().iter().map(Duration::as_secs_f64));
        }
    }
    let figure = |own: &Vec<f64>| Figure {
        median: Duration::from_secs_f64(median(own.clone())),
        ratio: median(pairs(own, &times[0])),
        times: own.clone(),
        steps: own.len() / rounds,
    };
    times.iter().map(figure).collect()
}

/// How long something takes.
pub(crate) fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// The middle value.
pub(crate) fn median(values: Vec<f64>) -> f64 {
    quantile(values, 0.5)
}

/// The value that this share of the values does not exceed.
pub(crate) fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index into a short list"
    )]
    let index = ((values.len().max(1) - 1) as f64 * share).round() as usize;
    values.get(index).copied().unwrap_or(f64::NAN)
}

/// Microseconds a piece.
pub(crate) fn micros_each(time: Duration, pieces: u32) -> f64 {
    time.as_secs_f64() * 1e6 / f64::from(pieces)
}

/// A rate in words.
pub(crate) fn per_second(time: Duration, pieces: u32) -> String {
    let rate = f64::from(pieces) / time.as_secs_f64();
    if rate >= 1e6 {
        format!("{:.2} M/s", rate / 1e6)
    } else if rate >= 1e4 {
        format!("{:.0} k/s", rate / 1e3)
    } else {
        format!("{rate:.0} /s")
    }
}
