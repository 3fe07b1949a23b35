//! Identifiers and times as newtypes. Nothing here draws a random number or reads a clock: both come from the edge.

use std::fmt;
use std::str::FromStr;

use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ulid::Ulid;

/// Microseconds since 1970-01-01T00:00:00Z, by the injected clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Micros(pub i64);

macro_rules! ulid_newtype {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; 16]);

        impl $name {
            /// A ULID of the given time with 80 bits of the caller's randomness.
            pub fn new(time: Micros, random: [u8; 10]) -> Self {
                let milliseconds = u64::try_from(time.0.max(0) / 1000).unwrap_or(0) & ((1 << 48) - 1);
                let mut bytes = [0; 16];
                bytes[..6].copy_from_slice(&milliseconds.to_be_bytes()[2..]);
                bytes[6..].copy_from_slice(&random);
                Self(bytes)
            }

            /// A ULID whose random part is derived from a natural key, so that saying the same thing twice is seen.
            pub fn derived(time: Micros, domain: &str, key: &[&[u8]]) -> Self {
                let mut hasher = blake3::Hasher::new_derive_key(domain);
                for part in key {
                    hasher.update(&(part.len() as u64).to_le_bytes());
                    hasher.update(part);
                }
                let mut random = [0; 10];
                random.copy_from_slice(&hasher.finalize().as_bytes()[..10]);
                Self::new(time, random)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Ulid::from_bytes(self.0).fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }

        impl FromStr for $name {
            type Err = ulid::DecodeError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Ulid::from_string(text).map(|id| Self(id.to_bytes()))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    serializer.collect_str(self)
                } else {
                    serializer.serialize_bytes(&self.0)
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if deserializer.is_human_readable() {
                    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
                } else {
                    deserializer.deserialize_bytes(FixedBytes::<16>).map(Self)
                }
            }
        }
    };
}

ulid_newtype!(
    /// Names one event.
    EventId
);
ulid_newtype!(
    /// Names one turn.
    TurnId
);

/// Reads exactly `N` bytes.
pub(crate) struct FixedBytes<const N: usize>;

impl<const N: usize> Visitor<'_> for FixedBytes<N> {
    type Value = [u8; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{N} bytes")
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        bytes.try_into().map_err(|_| E::invalid_length(bytes.len(), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_derived_id_depends_on_the_borders_of_its_key() {
        let one = EventId::derived(Micros(5_000), "t", &[b"ab", b"c"]);
        let two = EventId::derived(Micros(5_000), "t", &[b"a", b"bc"]);
        assert_ne!(one, two);
        assert_eq!(one, EventId::derived(Micros(5_000), "t", &[b"ab", b"c"]));
    }

    #[test]
    fn text_and_bytes_name_the_same_id() {
        let id = TurnId::new(Micros(1_700_000_000_000_000), [7; 10]);
        assert_eq!(id.to_string().parse::<TurnId>().unwrap(), id);
        let bytes = rmp_serde::to_vec_named(&id).unwrap();
        assert_eq!(rmp_serde::from_slice::<TurnId>(&bytes).unwrap(), id);
    }
}
