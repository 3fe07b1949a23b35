//! Writes the made histories that are not there yet, and pins what the projections make of each. Nothing that is there is
//! changed: a history is added, never edited, and so is the line of a projection that is new.

use std::fs;
use std::io;
use std::path::Path;

use metnos_replay_tests::{digests, made, read};

fn main() -> io::Result<()> {
    let histories = Path::new(env!("CARGO_MANIFEST_DIR")).join("histories");
    for made in made::all() {
        let folder = histories.join(made.name);
        if folder.exists() {
            continue;
        }
        fs::create_dir(&folder)?;
        fs::write(folder.join("history.jsonl"), (made.make)().text())?;
        fs::write(folder.join("notes.md"), format!("# {}\n\n{}\n", title(made.name), wrapped(made.notes)))?;
    }
    for entry in fs::read_dir(histories)? {
        pin(&entry?.path())?;
    }
    Ok(())
}

fn title(name: &str) -> String {
    let text = name.replace('-', " ");
    let (first, rest) = text.split_at(1);
    first.to_uppercase() + rest
}

/// Lines of at most 120 characters.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is always one");
        if last.len() + word.len() < 120 {
            *last = [last.as_str(), word].join(if last.is_empty() { "" } else { " " });
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.join("\n")
}

/// Adds the lines of projections that are not pinned.
fn pin(folder: &Path) -> io::Result<()> {
    let file = folder.join("digests.txt");
    let mut pinned = fs::read_to_string(&file).unwrap_or_default();
    for line in digests(&read(&folder.join("history.jsonl"))) {
        let name = line.split(' ').next().unwrap_or_default();
        if !pinned.lines().any(|known| known.split(' ').next() == Some(name)) {
            pinned.push_str(&line);
            pinned.push('\n');
        }
    }
    fs::write(file, pinned)
}
