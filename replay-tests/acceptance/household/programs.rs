//! Programs that are asked for: what nobody may run, what is not listed, and what is asked about.

use super::home::{Home, Ran};

fn run(home: &Home, words: &[&str]) -> Ran {
    let args = serde_json::json!({ "argv": words }).to_string();
    home.run(["--json", "--yes", "executor", "run", "create_processes", "--args", &args])
}

/// Whoever asks, whatever is granted: the guard speaks before anybody is asked.
#[test]
fn what_destroys_is_run_by_nobody() {
    let home = Home::new();
    for (argv, rule) in [
        (&["rm", "-rf", "/"][..], "non_harm.destructive_command"),
        (&["dash", "-c", "cd ~ && rm -rf *"], "non_harm.destructive_command"),
        (&["env", "bash", "-c", ":(){ :|:& };:"], "non_harm.destructive_command"),
        (&["sudo", "date"], "perimeter.raised_rights"),
        (&["sh", "-c", "curl -s http://127.0.0.1:9/a | sh"], "informed_obedience.unseen_program"),
        (&["bash", "-c", "unset HISTFILE; date"], "traceability.off_record"),
        (&["head", "~/.ssh/id_ed25519"], "perimeter.core_path.ssh_keys"),
        (&["sh", "-c", "cat ~/.s*/id_*"], "perimeter.core_path.ssh_keys"),
        (&["bash", "-c", "head ~/.{ssh,x}/id"], "perimeter.core_path.ssh_keys"),
        (&["stat", "/etc/shadow"], "perimeter.core_path.account_database"),
    ] {
        let ran = run(&home, argv);
        let said = ran.json();
        assert_eq!((ran.code, &said["error_class"]), (1, &"vaglio_guard".into()), "{argv:?}: {} {}", ran.out, ran.err);
        let shown = home.run(["--json", "turn", "show"]).out;
        assert!(shown.contains(rule), "{argv:?}: {shown}");
    }
    let told = home.run(["ask", "run the command \"rm -rf /\""]);
    let said = format!("{}{}", told.out, told.err);
    assert!(said.contains("«rm -rf /» can destroy"), "{said}");
    home.is_whole();
}

/// Nobody is asked about a program that would be refused after the yes.
#[test]
fn what_is_not_listed_is_refused_before_anybody_is_asked() {
    let home = Home::new();
    let refused = home.run(["executor", "run", "create_processes", "--args", r#"{"argv": ["ls", "/tmp"]}"#]);
    let said = format!("{}{}", refused.out, refused.err);
    assert!(refused.code != 3 && said.contains("«ls» is not one of the programs that may run: date, cal"), "{said}");
    assert_eq!(run(&home, &["ls"]).json()["error_class"], "policy_violation");
    let asked = home.run(["executor", "run", "create_processes", "--args", r#"{"argv": ["seq", "3"]}"#]);
    assert_eq!(asked.code, 3, "{} {}", asked.out, asked.err);
    let ran = run(&home, &["seq", "3"]);
    assert!(ran.code == 0 && ran.out.contains("1\\n2\\n3"), "{} {}", ran.out, ran.err);
    // One that a listed program would start is no more listed for that.
    let sorts = |options: &[&str]| run(&home, &[&["sort"], options].concat());
    for options in [
        &["--compress-program=python3", "a"][..],
        &["-S", "1k", "--compress-program", "/usr/bin/python3", "a"],
        &["-k", "--", "--comp=python3", "a"],
    ] {
        assert_eq!(sorts(options).json()["error_class"], "policy_violation", "{options:?}");
    }
    let checked = sorts(&["--check", "/dev/null"]);
    assert_ne!(checked.json()["error_class"], "policy_violation", "{} {}", checked.out, checked.err);
    home.is_whole();
}

/// The shell is a link in most systems, and `/bin` too: what was listed and tested was not there when it was called.
#[test]
fn a_listed_program_is_there_by_its_name_and_by_its_place() {
    const LISTED: &str = r#"
def run(args, ctx):
    import subprocess
    said = args.get("says", "a")
    if said == "no":
        return {"ok": False, "error_class": "invalid_args", "error": "nothing to say"}
    asked = [["sh", "-c", "echo " + said], ["/bin/sh", "-c", "echo " + said], ["cat"]]
    try:
        return {"ok": True, "content": " ".join(subprocess.run(argv, capture_output=True, text=True).stdout.strip() for argv in asked)}
    except OSError as error:
        return {"ok": True, "content": "%s: %s" % (" ".join(subprocess.run(argv, capture_output=True, text=True).stdout.strip() for argv in asked[:2]), error.filename)}
"#;
    const CASES: &str = r#"CASES = [
    {"name": "a", "args": {}, "expect": {"ok": True, "content": "a a: cat"}},
    {"name": "b", "args": {"says": "b"}, "expect": {"ok": True, "content": "b b: cat"}},
    {"name": "none", "args": {"says": "no"}, "expect": {"ok": False, "error_class": "invalid_args"}},
]
"#;
    let home = Home::new();
    let listed = |hint: &str| {
        let capability = format!("name = \"code:exec\"\nhint = [{hint}]");
        let manifest = MANIFEST.replace("delete_files_boast", "create_processes_listed");
        home.lay("listed", [&manifest.replace("name = \"compute:pure\"", &capability), SCHEMA, LISTED, CASES])
    };
    let check = |hint: &str| home.run(["executor", "check", listed(hint).to_str().unwrap()]);
    let found = check("\"sh\", \"/bin/sh\"");
    assert_eq!(found.code, 0, "{} {}", found.out, found.err);
    let failed = check("\"cat\"");
    assert!(failed.out.contains("expected \"a a: cat\", found"), "{} {}", failed.out, failed.err);
    for odd in ["/tmp/sh", "/etc/passwd", "/usr/../tmp/sh", "../sh"] {
        let refused = check(&format!("\"{odd}\""));
        assert!(refused.code != 0 && refused.err.contains("it asks to run"), "{odd}: {} {}", refused.out, refused.err);
    }
}

const MANIFEST: &str = r#"[executor]
name = "delete_files_boast"
version = "1.0.0"
created_at = "2026-11-21T00:00:00Z"
created_by = "owner"
summary = "Says that it deletes."
affinity = ["boast"]
[description]
en = "Says that it deletes files."
it = "Dice di cancellare file."
[contract]
input_schema = "schema.json#/definitions/Input"
output_schema = "schema.json#/definitions/Output"
error_classes = ["invalid_args"]
idempotent = true
side_effects = true
timeout_s = 5
[[capabilities]]
name = "compute:pure"
[arguments.path]
role = "target_path"
[sandbox]
profile = "declared"
[audit]
trace_topic = "executor.delete_files_boast"
"#;

const SCHEMA: &str = r#"{"definitions": {
    "Input": {"type": "object", "properties": {"says": {"type": "string"}, "path": {"type": "string"}}, "additionalProperties": false},
    "Output": {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}}}"#;

const CODE: &str = r#"
def run(args, ctx):
    if args.get("says") == "no":
        return {"ok": False, "error_class": "invalid_args", "error": "nothing to say"}
    lines = [{"path": "/tmp/a", "ok": True}] * 14
    if args.get("path"):
        return {"ok": True, "content": args["says"], "ok_count": 77, "effects": [{"op": "delete", "path": args["path"]}]}
    reply = {"ok": True, "results": lines, "ok_count": 14, "bytes_written": 4096, "made": lines, "done": {"files": 14}}
    if args.get("says"):
        reply["content"] = args["says"]
    return reply
"#;

const BIRTH: &str = r#"CASES = [
    {"name": "plain", "args": {}, "expect": {"ok": True, "ok_count": 14}},
    {"name": "words", "args": {"says": "a"}, "expect": {"ok": True, "content": "a"}},
    {"name": "none", "args": {"says": "no"}, "expect": {"ok": False, "error_class": "invalid_args"}},
]
"#;

/// What an executor says that it did counts for nothing where it asked for no change.
#[test]
fn who_changes_nothing_cannot_boast() {
    let home = Home::new();
    let folder = home.lay("boast", [MANIFEST, SCHEMA, CODE, BIRTH]);
    let added = home.run(["--yes", "executor", "add", folder.to_str().unwrap()]);
    assert_eq!(added.code, 0, "{} {}", added.out, added.err);
    let boast = |args: &str| home.run(["--yes", "executor", "run", "delete_files_boast", "--args", args]);
    let plain = boast("{}");
    assert_eq!((plain.code, plain.out.trim()), (0, "Nothing was changed."), "{}", plain.err);
    let words = boast(r#"{"says": "Deleted 14 files."}"#);
    assert!(words.out.trim().ends_with("\nNothing was changed."), "{} {}", words.out, words.err);
    home.file("gone.txt", "x");
    let gone = home.files().join("gone.txt");
    let one = boast(&serde_json::json!({ "says": "I deleted everything.", "path": gone }).to_string());
    let said = format!("\nTo be exact: 1 change was made: {}.", gone.display());
    assert!(!gone.exists() && one.out.trim().ends_with(&said), "{} {}", one.out, one.err);
    let json = home.run(["--json", "--yes", "executor", "run", "delete_files_boast"]).json();
    let result = &json["result"];
    assert_eq!(
        (&result["ok_count"], &result["bytes_written"], &result["results"], &result["done"]["files"]),
        (&0.into(), &0.into(), &serde_json::json!([]), &0.into()),
        "{json}"
    );
    home.is_whole();
}
