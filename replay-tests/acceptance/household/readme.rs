//! The README's two commands, as they are written.

use std::path::Path;
use std::process::Command;

/// The shell blocks of the README.
fn commands() -> Vec<String> {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let blocks = readme.split("```sh\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap().trim().to_owned()).collect()
}

#[test]
fn there_are_two_commands() {
    let commands = commands();
    assert_eq!(commands.len(), 2, "{commands:?}");
    assert_eq!(commands[1], "cargo test --workspace");
}

#[test]
fn the_first_command_answers_about_a_real_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let home = tempfile::tempdir().unwrap();
    // Only the place of the home is another one, so that a person's own trial is left alone.
    let command = commands()[0].replace("target/try", &home.path().to_string_lossy());
    let ran = Command::new("sh").args(["-c", &command]).current_dir(root).output().unwrap();
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let lines: Vec<&str> = readme.lines().collect();
    let last = lines[lines.len() - 3..].join("\n");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(said.trim_end_matches('\n'), last.trim_end_matches('\n'));
}
