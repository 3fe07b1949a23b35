//! States results in words.
