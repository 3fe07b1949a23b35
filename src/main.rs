//! The `metnos` binary.
fn main() {}
