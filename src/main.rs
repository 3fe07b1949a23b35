//! The `metnos` binary.

fn main() {
    if std::env::args_os().nth(1).is_some_and(|word| word == metnos::sandbox::HELPER_ARG) {
        metnos::sandbox::helper_main();
    }
}
