//! Side-by-side measurements.
