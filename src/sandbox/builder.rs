//! Which program builds the cages: the small one beside the binary where it is there and of this very build, else the
//! binary itself.
//!
//! The small one is the same code; all it spares is what the loader does for the rest of Metnos at each start. It is never
//! needed, never looked for elsewhere, and not trusted where others may write it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The small program's name.
pub(crate) const SMALL: &str = "metnos-cage";

/// Says which sources daemon and helper were built from; a helper of other sources does not answer.
pub(super) fn build() -> String {
    format!("{BUILD:016x}")
}

const BUILD: u64 = {
    let mut hash = OFFSET;
    let mut file = 0;
    while file < SOURCES.len() {
        hash = mixed(hash, SOURCES[file]);
        file += 1;
    }
    hash
};

const SOURCES: [&[u8]; 12] = [
    include_bytes!("bwrap.rs"),
    include_bytes!("child.rs"),
    include_bytes!("landlock.rs"),
    include_bytes!("late.rs"),
    include_bytes!("limits.rs"),
    include_bytes!("native.rs"),
    include_bytes!("owners.rs"),
    include_bytes!("report.rs"),
    include_bytes!("seccomp.rs"),
    include_bytes!("sys.rs"),
    include_bytes!("tree.rs"),
    include_bytes!("wire.rs"),
];

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a: it tells builds apart, it protects nothing.
const fn mixed(mut hash: u64, bytes: &[u8]) -> u64 {
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

/// The small program beside a binary, where nobody but the binary's owner may have written it.
pub(super) fn beside(binary: &Path) -> Option<PathBuf> {
    let small = binary.with_file_name(SMALL);
    let (own, found) = (fs::metadata(binary).ok()?, fs::symlink_metadata(&small).ok()?);
    let same = found.is_file() && found.uid() == own.uid() && found.mode() & 0o022 == 0;
    (same && small != binary).then_some(small)
}
