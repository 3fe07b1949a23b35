//! `cargo xtask tidy`: looks through the tree for what the compiler does not see.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use metnos_xtask::tidy::{self, Level, Tree};

fn main() -> anyhow::Result<ExitCode> {
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => tidy(),
        Some(other) => bail!("there is no task {other}; there is: tidy"),
        None => bail!("which task? There is: tidy"),
    }
}

#[expect(clippy::print_stdout, reason = "printing is what this command is for")]
fn tidy() -> anyhow::Result<ExitCode> {
    let root = tidy::repository();
    let tree = Tree::read(&root).with_context(|| format!("the tree at {} cannot be read", root.display()))?;
    let findings = tidy::check(&tree);
    for finding in &findings {
        println!("{finding}");
    }
    let errors = findings.iter().filter(|finding| finding.level == Level::Error).count();
    println!("tidy: {} files, {errors} errors, {} warnings", tree.files().len(), findings.len() - errors);
    Ok(if errors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
