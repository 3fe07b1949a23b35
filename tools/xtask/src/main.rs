//! Development tasks: `cargo xtask tidy`.
fn main() {}
