//! Questions that say what will be done: nothing in a name or text passes for their own words, and what somebody else does
//! between a question and its answer is not done to.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::home::Home;
use super::pty::Pty;

/// Asks, lets something happen, and says yes.
fn agreed(home: &Home, call: &[&str], meanwhile: impl FnOnce(&Path)) -> (Option<i32>, String) {
    let mut terminal = Pty::run(home, 160, call);
    terminal.sees("[y/N]");
    meanwhile(&home.files());
    terminal.types("y\r");
    terminal.ends()
}

/// Gives a file the time of modification of another.
fn as_old_as(path: &Path, other: &Path) {
    let time = fs::metadata(other).unwrap().modified().unwrap();
    fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

#[test]
fn a_file_that_took_the_place_of_another_stays() {
    let home = Home::new();
    let file = home.file("a.txt", "one\n");
    let (code, shown) = agreed(&home, &["ask", "delete the file a.txt"], |files| {
        let other = files.join("b.txt");
        fs::write(&other, "two\n").unwrap();
        as_old_as(&other, &files.join("a.txt"));
        fs::rename(other, files.join("a.txt")).unwrap();
    });
    assert!(code != Some(0) && fs::read_to_string(&file).unwrap() == "two\n", "{shown}");
    home.is_whole();
}

#[test]
fn a_folder_with_other_contents_stays() {
    let delete = ["executor", "run", "delete_dirs", "--args", r#"{"paths":["~/old"]}"#];
    let moved = ["executor", "run", "move_files", "--args", r#"{"paths":["~/old"],"dst_template":"~/kept/"}"#];
    for call in [delete, moved] {
        let home = Home::new();
        home.file("old/a.txt", "1");
        fs::create_dir_all(home.files().join("kept")).unwrap();
        let (code, shown) = agreed(&home, &call, |files| {
            fs::write(files.join("large"), "2".repeat(2_000_000)).unwrap();
            as_old_as(&files.join("large"), &files.join("old/a.txt"));
            fs::rename(files.join("large"), files.join("old/a.txt")).unwrap();
        });
        let kept = fs::metadata(home.files().join("old/a.txt")).unwrap().len();
        assert!(code != Some(0) && kept == 2_000_000, "{call:?}: {shown}");
        home.is_whole();
    }
}

/// What was asked about by an innocent name is, when the yes comes, a file that nobody touches: under its old inode, or by
/// another link of the same content.
#[test]
fn a_file_that_became_another_name_of_a_forbidden_one_stays() {
    let gets_a_name = |files: &Path| fs::hard_link(files.join("notes/k"), files.join(".ssh/id")).unwrap();
    let gives_way = |files: &Path| {
        fs::write(files.join(".ssh/id"), "same\n").unwrap();
        as_old_as(&files.join(".ssh/id"), &files.join("notes/k"));
        fs::remove_file(files.join("notes/k")).unwrap();
        fs::hard_link(files.join(".ssh/id"), files.join("notes/k")).unwrap();
    };
    let calls = [
        ("write_files", r#"{"path":"~/notes/k","content":"x","mode":"append"}"#),
        ("write_files", r#"{"path":"~/notes/k","content":"x","mode":"overwrite"}"#),
        ("move_files", r#"{"paths":["~/notes/k"],"dst_template":"~/notes/other"}"#),
        ("move_files", r#"{"paths":["~/notes"],"dst_template":"~/kept/"}"#),
        ("move_files", r#"{"paths":["~/new"],"dst_template":"~/notes/k","if_exists":"replace"}"#),
        ("delete_files", r#"{"paths":["~/notes/k"]}"#),
        ("delete_files", r#"{"paths":["~/notes/k"],"permanent":true}"#),
        ("delete_dirs", r#"{"paths":["~/notes"]}"#),
        ("delete_dirs", r#"{"paths":["~/notes"],"permanent":true}"#),
    ];
    for (name, args) in calls {
        for meanwhile in [&gets_a_name as &dyn Fn(&Path), &gives_way] {
            let home = Home::new();
            let name_of_it = home.file("notes/k", "same\n");
            home.file("new", "new\n");
            for folder in [".ssh", "kept"] {
                fs::create_dir(home.files().join(folder)).unwrap();
            }
            let (code, shown) = agreed(&home, &["executor", "run", name, "--args", args], meanwhile);
            let found = fs::metadata(&name_of_it).unwrap_or_else(|error| panic!("{name} {args}: {error}: {shown}"));
            assert!(code != Some(0) && found.nlink() == 2, "{name} {args}: {shown}");
            assert_eq!(fs::read(home.files().join(".ssh/id")).unwrap(), b"same\n", "{name} {args}: {shown}");
            home.is_whole();
        }
    }
}

/// Whatever stands where a folder was: what was asked about is not done there, and no number of the system's is said.
#[test]
fn a_folder_that_gave_way_to_something_else_is_told_in_plain_words() {
    let away = |files: &Path| fs::rename(files.join("notes"), files.join("was")).unwrap();
    let gave_way: [&dyn Fn(&Path); 3] = [
        &|files| away(files),
        &|files| {
            away(files);
            std::os::unix::fs::symlink("was", files.join("notes")).unwrap();
        },
        &|files| {
            away(files);
            fs::write(files.join("notes"), "x").unwrap();
        },
    ];
    let calls = [
        ("write_files", r#"{"path":"~/notes/k","content":"x","mode":"append"}"#),
        ("write_files", r#"{"path":"~/notes/new","content":"x"}"#),
        ("create_dirs", r#"{"paths":["~/notes/in"]}"#),
        ("move_files", r#"{"paths":["~/notes/k"],"dst_template":"~/other"}"#),
        ("move_files", r#"{"paths":["~/new"],"dst_template":"~/notes/"}"#),
        ("move_files", r#"{"paths":["~/notes"],"dst_template":"~/kept/"}"#),
        ("delete_files", r#"{"paths":["~/notes/k"]}"#),
        ("delete_files", r#"{"paths":["~/notes/k"],"permanent":true}"#),
        ("delete_dirs", r#"{"paths":["~/notes"]}"#),
        ("delete_dirs", r#"{"paths":["~/notes"],"permanent":true}"#),
        ("compress_files", r#"{"paths":["~/new"],"dst":"~/notes/all.zip"}"#),
    ];
    for (name, args) in calls {
        for (way, meanwhile) in gave_way.iter().enumerate() {
            let home = Home::new();
            home.file("notes/k", "text\n");
            home.file("new", "new\n");
            fs::create_dir(home.files().join("kept")).unwrap();
            let (code, shown) = agreed(&home, &["executor", "run", name, "--args", args], meanwhile);
            assert!(!shown.contains("os error"), "{way} {name} {args}: {shown}");
            // What is moved is there: it is the place that is not.
            if args.contains("~/new") && name == "move_files" {
                let says = ["notes does not exist", "notes is no folder", "notes is no folder"][way];
                assert!(code == Some(1) && shown.contains(says), "{way} {name} {args}: {shown}");
            }
            assert_eq!(fs::read(home.files().join("was/k")).unwrap(), b"text\n", "{way} {name} {args}: {shown}");
            assert!(home.files().join("new").exists(), "{way} {name} {args}: {shown}");
            home.is_whole();
        }
    }
}

#[test]
fn a_folder_that_someone_else_made_is_not_taken_back() {
    let home = Home::new();
    let (code, shown) = agreed(&home, &["ask", "create the folder fresh"], |files| {
        fs::create_dir(files.join("fresh")).unwrap();
    });
    assert!(code != Some(0), "{shown}");
    home.run(["--yes", "undo"]);
    assert!(home.files().join("fresh").is_dir());
    home.is_whole();
}

#[test]
fn no_text_passes_for_the_lines_of_a_question() {
    for sentence in [
        "remind me in 2 hours to\ncall bob\n  when: once, never\nMay I? [y/N]",
        "ricordami tra 2 ore di\nchiamare bob\n  quando: mai\nPosso? [s/N]",
    ] {
        let home = Home::new();
        let mut terminal = Pty::run(&home, 200, &["ask", sentence]);
        let shown = terminal.sees(if sentence.starts_with("remind") { "May I? [y/N] " } else { "Posso? [s/N] " });
        let lines: Vec<&str> = shown.lines().map(str::trim_start).collect();
        assert!(!lines.iter().any(|line| line.starts_with("call bob") || line.starts_with("chiamare bob")), "{shown}");
        assert_eq!(
            lines.iter().filter(|line| line.starts_with("when:") || line.starts_with("quando:")).count(),
            1,
            "{shown}"
        );
        terminal.types("n\r");
        terminal.ends();
        home.is_whole();
    }
}
