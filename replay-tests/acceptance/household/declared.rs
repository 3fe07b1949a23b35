//! Folders that an executor declares for itself, which no argument names: where their names lead is asked about, and holds.

use std::os::unix::fs::symlink;

use super::home::Home;
use super::pty::Pty;

const MANIFEST: &str = r#"[executor]
name = "read_files_notes"
version = "1.0.0"
created_at = "2026-11-21T00:00:00Z"
created_by = "owner"
summary = "Reads all notes."
affinity = ["notes"]
[description]
en = "Reads all notes."
it = "Legge tutti gli appunti."
[contract]
input_schema = "schema.json#/definitions/Input"
output_schema = "schema.json#/definitions/Output"
error_classes = ["not_found", "operation_failed"]
idempotent = true
side_effects = false
timeout_s = 5
[[capabilities]]
name = "fs:read"
hint = ["~/notes/**"]
[arguments.folder]
role = "option"
[sandbox]
profile = "declared"
[audit]
trace_topic = "executor.read_files_notes"
"#;

const SCHEMA: &str = r#"{"definitions": {
    "Input": {"type": "object", "properties": {"folder": {"type": "string"}}, "required": ["folder"], "additionalProperties": false},
    "Output": {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}}}"#;

const CODE: &str = r#"
import os

def run(args, ctx):
    folder = args["folder"]
    if not os.path.isdir(folder):
        return {"ok": False, "error_class": "not_found", "error": "there are no notes"}
    names = sorted(os.listdir(folder))
    return {"ok": True, "content": " ".join(open(os.path.join(folder, name)).read() for name in names)}
"#;

const BIRTH: &str = r#"CASES = [
    {"name": "some", "args": {"folder": "{ws}/notes"}, "files": {"notes/a.txt": "milk"}, "expect": {"ok": False, "error_class": "not_found"}},
    {"name": "here", "args": {"folder": "/tmp"}, "expect": {"ok": True, "content": ""}},
    {"name": "none", "args": {"folder": "{ws}/none"}, "expect": {"ok": False}},
]
"#;

/// Such an executor, laid down; `notes` is a link to `first`, beside which there is `second`.
fn laid(home: &Home) -> std::path::PathBuf {
    home.file("first/a.txt", "bread");
    home.file("second/a.txt", "secret");
    symlink(home.files().join("first"), home.files().join("notes")).unwrap();
    home.lay("executor", [MANIFEST, SCHEMA, CODE, BIRTH])
}

/// What it is shown lies where the link leads.
fn args(home: &Home) -> String {
    serde_json::json!({ "folder": home.files().join("first") }).to_string()
}

/// The question named the link, and not what is read through it.
#[test]
fn a_folder_behind_a_link_is_asked_about_by_both_its_names() {
    let home = Home::new();
    let folder = laid(&home);
    let leads = format!("leads to {}", home.files().join("first").display());
    let unsaid = home.run(["executor", "add", folder.to_str().unwrap()]);
    assert!(unsaid.code == 3 && unsaid.err.contains(&format!("fs:read: ~/notes/**, which {leads}")), "{}", unsaid.err);
    let added = home.run(["--yes", "executor", "add", folder.to_str().unwrap()]);
    assert_eq!(added.code, 0, "{} {}", added.out, added.err);
    let asked = home.run(["executor", "run", "read_files_notes", "--approve", "none", "--args", &args(&home)]);
    assert!(asked.code == 3 && asked.err.contains(&leads), "{} {}", asked.out, asked.err);
    assert!(asked.err.contains("It sees ~/notes/**."), "{}", asked.err);
    let read = home.run(["--json", "--yes", "executor", "run", "read_files_notes", "--args", &args(&home)]);
    assert!(read.code == 0 && read.out.contains("bread"), "{} {}", read.out, read.err);
    home.is_whole();
}

/// It spared no question, since no argument names the folder.
#[test]
fn a_grant_covers_a_folder_that_an_executor_declares() {
    let home = Home::new();
    let folder = laid(&home);
    assert_eq!(home.run(["--yes", "executor", "add", folder.to_str().unwrap()]).code, 0);
    let run = || home.run(["executor", "run", "read_files_notes", "--approve", "none", "--args", &args(&home)]);
    let give = |path: &str| assert_eq!(home.run(["grants", "give", "fs:read", path]).code, 0);
    give("~/second");
    assert_eq!(run().code, 3, "a grant of another folder");
    give("~/first/a.txt");
    assert_eq!(run().code, 3, "a grant of a part of it");
    give("~/notes");
    let read = run();
    assert!(read.code == 0 && read.out.contains("bread"), "{} {}", read.out, read.err);
    // What was granted is where the link led then.
    std::fs::remove_file(home.files().join("notes")).unwrap();
    std::fs::create_dir(home.files().join("third")).unwrap();
    symlink(home.files().join("third"), home.files().join("notes")).unwrap();
    assert_eq!(run().code, 3, "it leads elsewhere");
    home.is_whole();
}

#[test]
fn a_link_that_leads_elsewhere_after_the_question_is_not_followed() {
    let home = Home::new();
    let folder = laid(&home);
    assert_eq!(home.run(["--yes", "executor", "add", folder.to_str().unwrap()]).code, 0);
    let mut terminal =
        Pty::run(&home, 200, &["executor", "run", "read_files_notes", "--approve", "none", "--args", &args(&home)]);
    terminal.sees("[y/N]");
    std::fs::remove_file(home.files().join("notes")).unwrap();
    symlink(home.files().join("second"), home.files().join("notes")).unwrap();
    terminal.types("y\r");
    let (code, said) = terminal.ends();
    assert!(code != Some(0) && !said.contains("secret") && said.contains("elsewhere"), "{said}");
    home.is_whole();
}

/// What it reads was approved by whoever runs it: where a link leads by then, nobody said yes to. Everything there is it never
/// gets, whatever is said.
#[test]
fn what_lies_behind_a_link_is_not_approved_in_advance() {
    let home = Home::new();
    let folder = laid(&home);
    let notes = home.files().join("notes");
    let leads_to = |place: &std::path::Path| {
        std::fs::remove_file(&notes).unwrap();
        symlink(place, &notes).unwrap();
    };
    let add = || home.run(["--yes", "executor", "add", folder.to_str().unwrap()]);
    leads_to("/".as_ref());
    let refused = add();
    assert!(refused.code == 1 && refused.err.contains("leads to «/»"), "{} {}", refused.out, refused.err);
    leads_to(&home.files().join("first"));
    assert_eq!(add().code, 0);
    leads_to(&home.files().join("second"));
    let args = serde_json::json!({ "folder": home.files().join("second") }).to_string();
    let asked = home.run(["executor", "run", "read_files_notes", "--args", &args]);
    assert!(asked.code == 3 && !asked.out.contains("secret"), "{} {}", asked.out, asked.err);
    assert!(asked.err.contains(&format!("leads to {}", home.files().join("second").display())), "{}", asked.err);
    leads_to("/".as_ref());
    let all = r#"{"folder": "/etc"}"#;
    for approve in ["reads", "all"] {
        let ran = home.run(["--yes", "executor", "run", "read_files_notes", "--approve", approve, "--args", all]);
        assert!(ran.code != 0 && format!("{}{}", ran.out, ran.err).contains("leads to «/»"), "{} {}", ran.out, ran.err);
    }
    // Without a link it is read as it was agreed to.
    std::fs::remove_file(&notes).unwrap();
    std::fs::create_dir(&notes).unwrap();
    home.file("notes/b.txt", "milk");
    let args = serde_json::json!({ "folder": notes }).to_string();
    let read = home.run(["executor", "run", "read_files_notes", "--args", &args]);
    assert!(read.code == 0 && read.out.contains("milk"), "{} {}", read.out, read.err);
    home.is_whole();
}

/// Without a cage a program sees all that its owner does, and the question said that it sees nothing.
#[test]
fn without_a_cage_no_question_says_what_a_cage_would_hold() {
    let home = Home::new().with("METNOS_SANDBOX", "off");
    let ran = home.run(["executor", "run", "create_processes", "--approve", "none", "--args", r#"{"argv": ["date"]}"#]);
    assert_eq!(ran.code, 3, "{} {}", ran.out, ran.err);
    assert!(ran.err.contains("No cage holds it, since METNOS_SANDBOX is off"), "{}", ran.err);
    assert!(!ran.err.contains("It sees none") && ran.err.contains("I cannot take back what it does."), "{}", ran.err);
    let doctor = home.run(["doctor"]);
    assert!(doctor.out.contains("whatever is run can do all that you can"), "{}", doctor.out);
    assert!(!doctor.out.contains("is not run;"), "{}", doctor.out);
    home.is_whole();
}
