//! Development tasks as functions, so that the test suite runs them too. The binary beside it only prints.
//!
//! Nothing of the product depends on this package.

pub mod tidy;
