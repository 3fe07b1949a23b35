//! The cage's helper as a program of its own: the same code as `metnos __cage`, without what the rest of Metnos would have
//! the loader do at each start. Nothing depends on it: where it is missing, the `metnos` binary does the same.

fn main() {
    metnos::sandbox::helper_main()
}
