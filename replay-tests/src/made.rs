//! The made histories: each is a hazard, told in a few lines of notes and made by the builder.
//!
//! A history that is written down stays as it is; what is made here anew must still end as it says, by the rules of today.

mod people;
mod times;
mod turns;

use crate::builder::History;

/// One hazard.
pub struct Made {
    /// Its folder.
    pub name: &'static str,
    /// What happens in it.
    pub notes: &'static str,
    /// Makes it.
    pub make: fn() -> History,
}

/// All of them.
pub fn all() -> Vec<Made> {
    [turns::ALL, times::ALL, people::ALL].concat_all()
}

trait Concat {
    fn concat_all(self) -> Vec<Made>;
}

impl<const N: usize> Concat for [&[(&'static str, &'static str, fn() -> History)]; N] {
    fn concat_all(self) -> Vec<Made> {
        let made =
            |(name, notes, make): &(&'static str, &'static str, fn() -> History)| Made { name, notes, make: *make };
        self.into_iter().flatten().map(made).collect()
    }
}
