//! Floor 0.
