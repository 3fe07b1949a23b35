//! `cargo bench`.
fn main() {}
