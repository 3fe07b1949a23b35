//! Floor 2.
