//! Hashes the sources and the data that decide turns into `METNOS_RULES_DIGEST`, which every turn records.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads this crate's own sources; the crate itself stays pure"
)]

use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let mut files = Vec::new();
    for root in ["src/machines", "src/rules", "src/plan.rs", "src/manifest.rs", "src/messages.rs", "../prompts"] {
        println!("cargo::rerun-if-changed={root}");
        collect(Path::new(root), &mut files);
    }
    files.sort();
    let mut hasher = blake3::Hasher::new();
    for file in files {
        let bytes = fs::read(&file).expect("a file that was just listed can be read");
        hasher.update(file.to_string_lossy().as_bytes()).update(&(bytes.len() as u64).to_le_bytes()).update(&bytes);
    }
    println!("cargo::rustc-env=METNOS_RULES_DIGEST={}", &hasher.finalize().to_hex()[..32]);
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if !path.is_dir() {
        files.push(path.to_owned());
        return;
    }
    for entry in fs::read_dir(path).expect("a folder of this crate can be listed") {
        collect(&entry.expect("an entry of that folder").path(), files);
    }
}
