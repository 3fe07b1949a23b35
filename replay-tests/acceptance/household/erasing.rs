//! What someone wants to be gone is in no file of the home, and the record still holds together and goes on.

use std::path::{Path, PathBuf};

use crate::daemon::Daemon;
use crate::home::Home;
use crate::models;
use crate::telegram::{GUEST, Talk};

pub(crate) const SECRET: &str = "the combination is 4711";

/// The files below a folder in which a text stands, anything in them that unpacks looked into.
pub(crate) fn holding(folder: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else if path.is_file() && bytes_hold(&std::fs::read(&path).unwrap(), text.as_bytes()) {
            found.push(path);
        }
    }
    found
}

fn bytes_hold(bytes: &[u8], text: &[u8]) -> bool {
    let holds = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    let magic = [0x28, 0xb5, 0x2f, 0xfd];
    let frames = (0..bytes.len().saturating_sub(4)).filter(|at| bytes[*at..*at + 4] == magic);
    holds(bytes)
        || frames.into_iter().any(|at| {
            let Ok(length) = zstd::zstd_safe::find_frame_compressed_size(&bytes[at..]) else { return false };
            bytes.get(at..at + length).is_some_and(|frame| zstd::decode_all(frame).is_ok_and(|plain| holds(&plain)))
        })
}

/// A home in which the secret was read, written, sent through a long text, and backed up twice.
pub(crate) fn told() -> (Home, PathBuf) {
    let home = Home::new();
    home.file("safe.txt", format!("{SECRET}\nbread\n"));
    home.file("long.txt", format!("{SECRET}\n{}", "milk and bread\n".repeat(2000)));
    assert_eq!(home.ask("read the file ~/safe.txt").code, 0);
    assert_eq!(home.ask("read the file ~/long.txt").code, 0);
    let sentence = format!("write \"{SECRET}\" to ~/copy.txt");
    assert_eq!(home.ask_approved(&sentence).code, 0);
    assert_eq!(home.ask_approved("write \"nothing\" to ~/copy.txt").code, 0);
    assert_eq!(home.ask("what time is it in Tokyo").code, 0);
    let elsewhere = home.files().join("backup");
    for folder in [None, Some(&elsewhere)] {
        let words = ["log", "backup"].map(PathBuf::from).into_iter().chain(folder.cloned());
        assert_eq!(home.run(words).code, 0);
    }
    (home, elsewhere)
}

#[test]
fn an_erased_text_is_in_no_file_of_the_home() {
    let (home, elsewhere) = told();
    assert!(holding(&home.metnos(), SECRET).len() >= 3, "the search finds it while it is there");
    let before = home.run(["--json", "log", "verify"]).json();
    let asked = home.run(["log", "erase", "--text", SECRET]);
    assert_eq!(asked.code, 3, "nobody is there to say yes: {}", asked.err);
    let erased = home.run(["--yes", "--json", "log", "erase", "--text", SECRET, "--reason", "a guest saw it"]).json();
    assert_eq!(erased["left"], serde_json::json!([]), "{erased}");
    assert_eq!(holding(&home.metnos(), SECRET), Vec::<PathBuf>::new());

    let after = home.run(["--json", "log", "verify"]).json();
    assert_eq!((&after["ok"], &after["erased"]), (&true.into(), &erased["payloads"]), "{after}");
    assert_eq!(after["events"].as_u64(), before["events"].as_u64().map(|events| events + 1));
    let checked = home.run(["--json", "replay", "check"]).json();
    assert_eq!(checked["ok"], true, "{checked}");
    assert!(checked["not_decidable"].as_u64() >= Some(3), "{checked}");
    let lines = home.run(["--json", "log", "tail", "-n", "1"]).json();
    assert_eq!((&lines["kind"], &lines["payload"]["reason"]), (&"erased".into(), &"a guest saw it".into()));

    // It goes on: what was erased is not open, cannot be undone, and other turns still can.
    assert_eq!(home.ask("what time is it in Tokyo").code, 0);
    let turns = home.run(["turn", "list"]);
    assert!(turns.out.contains("(erased)") && !turns.out.contains("4711"), "{}", turns.out);

    // The backup that lies elsewhere still has it, until it is brought up to date.
    assert!(!holding(&elsewhere, SECRET).is_empty());
    assert_eq!(home.run(["log", "backup", elsewhere.to_str().unwrap()]).code, 0);
    assert_eq!(holding(&elsewhere, SECRET), Vec::<PathBuf>::new());
}

/// What is in the way of the rest is told as that: the log itself does not hold it any more.
#[test]
fn what_is_erased_from_the_log_alone_is_told_and_ended_later() {
    let (home, _) = told();
    let folder = std::fs::read_dir(home.metnos().join("data/backups")).unwrap().next().unwrap().unwrap().path();
    let tail = folder.join("tail.seg");
    std::fs::remove_file(&tail).unwrap();
    std::fs::create_dir_all(tail.join("in the way")).unwrap();
    let erase = ["--yes", "log", "erase", "--text", SECRET];
    let broken = home.run(erase);
    assert_eq!(broken.code, 2, "{} {}", broken.out, broken.err);
    assert!(broken.err.contains("it is gone from the log, and not yet from everything"), "{}", broken.err);
    let after = home.run(["--json", "log", "verify"]).json();
    assert!(after["erased"].as_u64() > Some(0), "{after}");
    // Whatever looks at the record or copies it says that it is not all.
    let copy = home.files().join("copy").into_os_string().into_string().unwrap();
    for words in [&["log", "status"][..], &["log", "backup", &copy], &["audit", "export", "--kind", "erasures"]] {
        let ran = home.run(words);
        assert!(ran.code == 0 && ran.err.contains("An erasure broke off"), "{words:?}: {} {}", ran.out, ran.err);
    }
    std::fs::remove_dir_all(&tail).unwrap();
    let ended = home.run(erase);
    assert_eq!(ended.code, 0, "{} {}", ended.out, ended.err);
    assert_eq!(holding(&home.metnos(), SECRET), Vec::<PathBuf>::new());
    let again = home.run(erase);
    assert!(again.code == 0 && again.out.contains("That was erased on "), "{} {}", again.out, again.err);
    assert!(!home.run(["log", "status"]).err.contains("broke off"));
}

/// A text that somebody wrote with escapes, and that is JSON in an answer: what is searched for at the end goes as well, wherever.
#[test]
fn a_text_goes_in_every_form_in_which_it_is_known() {
    let home = Home::new();
    assert_eq!(home.ask_approved(r#"write "say \"zebra\" loud" to ~/q.txt"#).code, 0);
    home.file("o.txt", "they say \"zebra\" loud\n");
    assert_eq!(home.ask("read the file ~/o.txt").code, 0);
    assert_eq!(home.run(["log", "backup"]).code, 0);
    assert!(holding(&home.metnos(), "zebra").len() > 2);
    let erased = home.run(["--yes", "--json", "log", "erase", "--text", "say \"zebra\" loud"]);
    assert_eq!(erased.code, 0, "{}", erased.err);
    assert_eq!(erased.json()["left"], serde_json::json!([]), "{}", erased.out);
    assert_eq!(holding(&home.metnos(), "zebra"), Vec::<PathBuf>::new());
    assert_eq!(home.run(["--json", "log", "verify"]).json()["ok"], true);
    let refused = home.run(["--yes", "log", "erase", "--text", "a \"b\" c", "--reason", "for a \\\"b\\\" c"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
}

/// A question sets its lines below its own, a report tells its beginning: neither is the text, and both say it.
#[test]
fn a_text_goes_where_it_was_shown_in_other_lines_or_cut() {
    let home = Home::new();
    let lines = "the zucchini are\n  behind the azalea\nunder the wisteria";
    let long = format!("the marmalade is on the {}shelf by the oleander", "third or fourth or fifth ".repeat(120));
    for (name, text) in [("lines", lines), ("long", &long)] {
        assert_eq!(home.ask_approved(&format!("write \"{text}\" to {name}.txt")).code, 0);
        assert_eq!(home.ask("what did you do").code, 0);
        assert_eq!(home.ask("why did you ask me").code, 0);
        assert_eq!(home.run(["--yes", "undo"]).code, 0);
    }
    for other in ["the marmalade is good", "the marmalade is … who knows, ask the oak"] {
        assert_eq!(home.ask_approved(&format!("write \"{other}\" to other.txt")).code, 0);
    }
    assert_eq!(home.ask("what did you do").code, 0);
    assert_eq!(home.run(["log", "backup"]).code, 0);
    for (text, words) in [
        (lines, ["zucchini", "azalea", "wisteria"].as_slice()),
        (&long, &["marmalade is on the third", "the third or fourth", "oleander"]),
    ] {
        assert!(words.iter().all(|word| holding(&home.metnos(), word).len() >= 2), "{words:?}");
        let erased = home.run(["--yes", "log", "erase", "--text", text]);
        assert_eq!(erased.code, 0, "{}", erased.err);
        for word in words {
            assert_eq!(holding(&home.metnos(), word), Vec::<PathBuf>::new(), "{word}");
            assert!(!home.run(["log", "grep", word]).out.contains(word));
        }
    }
    // What says something else stays, however it begins.
    for other in ["marmalade is good", "ask the oak"] {
        assert!(home.run(["log", "grep", "--kind", "turn_opened", other]).out.contains(other));
    }
    home.is_whole();
}

#[test]
fn the_question_names_what_is_to_be_erased() {
    let home = Home::new();
    let text = format!("{SECRET} and \u{202e}{}", "more ".repeat(40));
    home.file("safe.txt", &text);
    assert_eq!(home.ask("read the file ~/safe.txt").code, 0);
    let asked = home.run(["log", "erase", "--text", text.trim_end()]);
    assert_eq!(asked.code, 3, "{}", asked.err);
    let begins = "Erase all that holds \"the combination is 4711 and \\u{202e}more more";
    assert!(asked.err.contains(begins) && asked.err.contains("…\"?\n"), "{}", asked.err);
    assert!(!asked.err.contains(&"more ".repeat(30)) && !asked.err.contains('\u{202e}'), "{}", asked.err);
    let asked = home.run(["log", "erase", "--text", "4711"]);
    assert!(asked.err.contains("Erase all that holds “4711”?\n"), "{}", asked.err);
    let asked = home.run(["log", "erase", "--event", "5"]);
    assert!(asked.code != 3 || asked.err.contains("Erase what event 5 holds?\n"), "{}", asked.err);
    let turn = home.run(["--json", "turn", "show"]).json()["turn_id"].as_str().unwrap().to_owned();
    let asked = home.run(["log", "erase", "--turn", &turn]);
    let says = format!("Erase the turn {turn} (“read the file ~/safe.txt”)?\n");
    assert!(asked.err.contains(&says), "{}", asked.err);
}

#[test]
fn the_question_names_whose_words_are_to_be_erased() {
    let talk = Talk::begin();
    talk.says("/start", "Eccomi");
    let id = talk.knows("Anna Maria", GUEST);
    talk.hears(GUEST, "che ore sono");
    let asked = talk.home.run(["log", "erase", "--actor", "anna maria"]);
    let says = format!("Erase all that Anna Maria ({id}) said and got?\n");
    assert!(asked.code == 3 && asked.err.contains(&says), "{} {}", asked.code, asked.err);
}

#[test]
fn a_turn_is_erased_whole_and_others_stay() {
    let (home, _) = told();
    let turns = home.run(["--json", "turn", "list"]).out;
    let turns = turns.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let is_meant = |turn: &serde_json::Value| turn["user_query"].as_str().is_some_and(|text| text.contains("safe.txt"));
    let id = turns.filter(is_meant).map(|turn| turn["turn_id"].as_str().unwrap().to_owned()).next().unwrap();
    let erased = home.run(["--yes", "log", "erase", "--turn", &id]);
    assert_eq!(erased.code, 0, "{}", erased.err);
    let shown = home.run(["--json", "turn", "show", &id]);
    assert!(!shown.out.contains("4711") && !shown.out.contains("safe.txt"), "{}", shown.out);
    let others = home.run(["turn", "list"]);
    assert!(others.out.contains("long.txt") && !others.out.contains("safe.txt"), "{}", others.out);
    assert_eq!(home.run(["--json", "replay", "check"]).json()["ok"], true);
    let unknown = home.run(["--yes", "log", "erase", "--turn", "01ARZ3NDEKTSV4RRFFQ69G5FAV"]);
    assert_eq!(unknown.code, 1, "{}", unknown.err);
    let structural = home.run(["--yes", "log", "erase", "--event", "1"]);
    assert_eq!(structural.code, 1, "{}", structural.err);
    assert!(structural.err.contains("instance_created"), "{}", structural.err);
}

/// A turn that was erased is over, and what it changed is not known any more: neither is told as something else.
#[test]
fn an_erased_turn_is_told_as_erased() {
    let home = Home::new();
    assert_eq!(home.ask_approved("write \"hello\" to ~/one.txt").code, 0);
    assert_eq!(home.ask("what time is it in Tokyo").code, 0);
    let one = home.files().join("one.txt");
    let why = |path: &Path| home.run(["why", path.to_str().unwrap()]);
    assert_eq!(why(&one).code, 0);
    assert!(!why(&home.files().join("no.txt")).err.contains("erased"));
    let turns = home.run(["--json", "turn", "list"]).out;
    for line in turns.lines() {
        let id = serde_json::from_str::<serde_json::Value>(line).unwrap()["turn_id"].as_str().unwrap().to_owned();
        assert_eq!(home.run(["--yes", "log", "erase", "--turn", &id]).code, 0);
    }
    let told = home.ask("what did you do today").out;
    assert_eq!(told.matches("  erased from the record").count(), turns.lines().count(), "{told}");
    assert!(!told.contains("not ended") && !told.contains(" — "), "{told}");
    let unknown = why(&one);
    assert!(
        unknown.code == 1 && unknown.err.contains("what one request changed was erased from it"),
        "{}",
        unknown.err
    );
    let first = serde_json::from_str::<serde_json::Value>(turns.lines().next().unwrap()).unwrap();
    for undo in [&["--yes", "undo"][..], &["--yes", "undo", first["turn_id"].as_str().unwrap()]] {
        let undone = home.run(undo);
        assert!(
            undone.code == 1 && (undone.out.clone() + &undone.err).contains("erased from"),
            "{} {}",
            undone.out,
            undone.err
        );
    }
    assert!(one.is_file());
    home.is_whole();
}

#[test]
fn an_unknown_turn_or_an_empty_text_is_refused_in_words() {
    let (home, _) = told();
    let unknown = home.run(["--yes", "log", "erase", "--turn", "01ARZ3NDEKTSV4RRFFQ69G5FAV"]);
    assert!(unknown.code == 1 && unknown.err.contains("01ARZ3NDEKTSV4RRFFQ69G5FAV"), "{}", unknown.err);
    assert!(!unknown.err.contains("undefined"), "{}", unknown.err);
    let empty = home.run(["--yes", "log", "erase", "--text", "", "--reason", "why not"]);
    assert!(empty.code == 2 && empty.err.contains("that short"), "{} {}", empty.code, empty.err);
}

/// What is looked for by its bytes passes over other capitals and normal forms: they are said, with the commands that erase them.
#[test]
fn other_spellings_that_stay_are_said() {
    let home = Home::new();
    let spellings = ["the Caffè 4711", "the CAFFÈ 4711", "the caffe\u{300} 4711"];
    for (number, text) in spellings.iter().enumerate() {
        home.file(format!("{number}.txt"), text);
        assert_eq!(home.ask(&format!("read the file ~/{number}.txt")).code, 0);
    }
    let erase = |words: &[&str]| home.run(["log", "erase"].iter().chain(words));
    let previewed = erase(&["--preview", "--text", spellings[0]]);
    assert_eq!(previewed.code, 0, "{}", previewed.err);
    let json = erase(&["--json", "--preview", "--text", spellings[0]]).json();
    assert_eq!(json["spellings"], serde_json::json!([spellings[1], spellings[2]]), "{json}");
    assert!(json["spelled"].as_u64() >= Some(2), "{json}");
    let erased = erase(&["--yes", "--text", spellings[0]]);
    for (ran, flag) in [(&previewed, "--preview "), (&erased, "")] {
        for other in &spellings[1..] {
            assert!(ran.out.contains(&format!("  metnos log erase {flag}--text '{other}'")), "{}", ran.out);
        }
    }
    assert!(erased.out.contains("events spell it otherwise or hold a piece of it, and stay."), "{}", erased.out);
    // Another spelling alone is no «nothing».
    let otherwise = erase(&["--yes", "--text", "the caffè 4711"]);
    assert_eq!(otherwise.code, 1);
    assert!(otherwise.err.contains("otherwise") && otherwise.err.contains(spellings[1]), "{}", otherwise.err);
    for other in &spellings[1..] {
        assert_eq!(erase(&["--yes", "--text", other]).code, 0);
    }
    let again = erase(&["--yes", "--text", spellings[0]]);
    assert!(again.code == 0 && again.out.contains("That was erased on "), "{} {}", again.out, again.err);
    let nothing = erase(&["--yes", "--text", "the tea 4711"]);
    assert!(nothing.code == 1 && nothing.err.contains("nothing was found"), "{}", nothing.err);
}

/// What holds a piece of it does not hold it; whoever erases the whole may mean that too.
#[test]
fn pieces_that_stay_are_said() {
    let home = Home::new();
    let line = |name: &str| format!("the {name} of the hidden poem");
    let poem = ["alpha line", "beta line", "gamma line"].map(line).join("\n");
    home.file("poem.txt", format!("{poem}\n"));
    assert_eq!(home.ask("read the file poem.txt and tell me the last line").code, 0);
    assert_eq!(home.ask("read the file poem.txt").code, 0);
    let erased = home.run(["--yes", "log", "erase", "--text", &poem]);
    assert!(erased.code == 0 && erased.out.contains("it otherwise or hold a piece of it, and stay"), "{}", erased.out);
    let left = |erased: &str| {
        let told = erased.lines().filter_map(|line| line.strip_prefix("  metnos log erase --text '"));
        told.map(|text| text.trim_end_matches('\'').to_owned()).collect::<Vec<_>>()
    };
    // What is told is erased by what is told.
    assert_eq!(left(&erased.out), [line("gamma line")]);
    assert_eq!(home.run(["--yes", "log", "erase", "--text", &line("gamma line")]).code, 0);
    assert_eq!(holding(&home.metnos(), "of the hidden poem"), Vec::<PathBuf>::new());

    // What is told is taken as it stands, whatever it begins with.
    let list = ["- buy the milk and bread for the week", "- and the oak is behind the shed"];
    home.file("one.txt", list[0]);
    home.file("two.txt", list.join("\n"));
    assert_eq!((home.ask("read the file one.txt").code, home.ask("read the file two.txt").code), (0, 0));
    let erased = home.run(["--yes", "log", "erase", "--text", &list.join("\n")]).out;
    assert_eq!(left(&erased), [list[0]], "{erased}");
    assert_eq!(home.run(["--yes", "log", "erase", "--text", list[0]]).code, 0);

    // A whole sentence is in one event; what it was understood by is in others.
    let sentence = "write \"the walnut lock opens with 7741\" to walnut.txt";
    assert_eq!(home.ask_approved(sentence).code, 0);
    let erased = home.run(["--yes", "log", "erase", "--text", sentence]).out;
    assert_eq!(left(&erased), ["the walnut lock opens with 7741"], "{erased}");
    let turn = erased.lines().find_map(|line| line.strip_prefix("  metnos log erase --turn ")).unwrap();
    assert_eq!(home.run(["--yes", "log", "erase", "--turn", turn]).code, 0);
    assert_eq!(holding(&home.metnos(), "the walnut lock"), Vec::<PathBuf>::new());
    // A text that was understood as it stands leaves nothing to be said.
    assert_eq!(home.ask_approved("write \"the chestnut lock opens with 7742\" to walnut.txt").code, 0);
    let erased = home.run(["--yes", "log", "erase", "--text", "the chestnut lock opens with 7742"]).out;
    assert!(!erased.contains("stay") && !erased.contains("--turn"), "{erased}");
    home.is_whole();
}

/// Two requests of the same words are two turns.
#[test]
fn a_request_of_the_same_words_stays() {
    let home = Home::new();
    home.file("one.txt", "one\ntwo\nthree\n");
    for sentence in
        ["read the file one.txt", "read the file one.txt", "read the file one.txt and tell me the last line"]
    {
        assert_eq!(home.ask(sentence).code, 0);
    }
    let turns = home.run(["--json", "turn", "list"]).out;
    let turns: Vec<serde_json::Value> = turns.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let first = turns.iter().find(|turn| turn["user_query"] == "read the file one.txt").unwrap();
    let erased = home.run(["--yes", "--json", "log", "erase", "--turn", first["turn_id"].as_str().unwrap()]).json();
    assert_eq!(erased["turns"], 1, "{erased}");
    assert_eq!(home.run(["turn", "list"]).out.matches("read the file one.txt").count(), 2);
    home.is_whole();
}

/// A preview changes nothing: it is given where the erasure itself has to wait, and says for what.
#[test]
fn a_preview_waits_for_nothing() {
    let home = Home::new();
    let made = home.ask_approved("every morning at 8 tell me how many files are in ~/inbox");
    assert_eq!(made.code, 0, "{} {}", made.out, made.err);
    let daemon = Daemon::serve(&home);
    std::fs::write(home.metnos().join("data/erasure.pending"), "").unwrap();
    let size = || home.run(["--json", "log", "status"]).json()["events"].clone();
    let before = size();
    let preview = ["log", "erase", "--preview", "--text", "how many files are in"];
    let previewed = home.run(preview);
    assert_eq!(previewed.code, 0, "{}", previewed.err);
    assert!(previewed.out.contains("would go") && previewed.out.contains("still runs"), "{}", previewed.out);
    assert!(previewed.out.contains("metnos schedule cancel"), "{}", previewed.out);
    assert!(home.metnos().join("data/erasure.pending").exists(), "it goes on with nothing");
    assert_eq!(size(), before);
    let json = home.run(["--json"].iter().chain(&preview)).json();
    assert!(json["payloads"].as_u64() > Some(0) && json["open_task"].is_string(), "{json}");
    let refused = home.run(["--yes", "log", "erase", "--text", "how many files are in"]);
    assert_eq!(refused.code, 1, "{}", refused.out);
    assert!(refused.err.contains("still runs"), "{}", refused.err);
    daemon.stop();
}

/// A model is reminded of what was said before: short words whole, and the beginning of long ones.
#[test]
fn what_later_turns_were_reminded_of_goes_too() {
    let home = Home::new();
    let Some(packages) = models::packages() else { return };
    let long = format!("The vault of the house opens with 8842-XK, {}", "and then the door is open, ".repeat(30));
    let told = [
        ("tell me how the vault of my house is opened", long.as_str()),
        ("and the pin", "6631-ZZ"),
        ("how are we today my dear house friend", "All is well today."),
    ];
    for (sentence, said) in told {
        let model = models::Model::start(&packages, &home, &[models::words(said)]);
        models::bind(&home, &model.url);
        let ran = home.ask(sentence);
        assert_eq!(ran.code, 0, "{sentence}: {}", ran.err);
    }
    std::fs::remove_file(home.metnos().join("script.json")).unwrap();
    let turns = home.run(["--json", "turn", "list"]).out;
    let turns: Vec<serde_json::Value> = turns.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let id_of = |sentence: &str| {
        let turn = turns.iter().find(|turn| turn["user_query"] == sentence).unwrap();
        turn["turn_id"].as_str().unwrap().to_owned()
    };
    assert!(home.run(["log", "grep", "8842-XK"]).out.lines().count() > 2, "later turns quote it");
    for ((sentence, _), secret) in told.iter().zip(["8842-XK", "6631-ZZ"]) {
        assert!(!holding(&home.metnos(), secret).is_empty());
        assert_eq!(home.run(["--yes", "log", "erase", "--turn", &id_of(sentence)]).code, 0);
        let left = home.run(["log", "grep", secret]);
        assert_eq!(holding(&home.metnos(), secret), Vec::<PathBuf>::new(), "{secret}: {}", left.out);
    }
    assert_eq!(home.run(["--json", "log", "verify"]).json()["ok"], true);
    assert_eq!(home.run(["--json", "replay", "check"]).json()["ok"], true);
}

#[test]
fn a_backup_is_restored_where_no_log_is() {
    let (home, elsewhere) = told();
    let folder = elsewhere.to_str().unwrap();
    let over = home.run(["log", "restore", folder]);
    assert_eq!(over.code, 1);
    assert!(over.err.contains("there is a log already"), "{}", over.err);
    let log = home.metnos().join("data/log/events.redb");
    let kept = std::fs::read(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    // What the key signed was changed: the key itself is there.
    let summary = elsewhere.join("backup.json");
    let sound = std::fs::read_to_string(&summary).unwrap();
    let mut changed: serde_json::Value = serde_json::from_str(&sound).unwrap();
    let note = changed["checkpoint"].as_str().unwrap().replacen('\n', "\n1", 1);
    changed["checkpoint"] = note.into();
    std::fs::write(&summary, changed.to_string()).unwrap();
    let refused = home.run(["log", "restore", folder]);
    assert!(refused.code == 1 && refused.err.contains("try an older backup"), "{} {}", refused.code, refused.err);
    std::fs::write(&summary, sound).unwrap();
    let restored = home.run(["log", "restore", folder]);
    assert_eq!(restored.code, 0, "{}", restored.err);
    assert_eq!(home.run(["--json", "log", "verify"]).json()["ok"], true);
    assert_eq!(home.run(["--json", "replay", "check"]).json()["ok"], true);
    let last = home.run(["--json", "log", "tail", "-n", "1"]).json();
    assert_eq!(last["kind"], "epoch_opened");
    assert_eq!(home.ask("what time is it in Tokyo").code, 0);
    std::fs::write(&log, kept).unwrap();
    // What was made of the one that was restored knows more.
    assert_eq!(home.run(["--json", "log", "verify"]).json()["ok"], false);
    std::fs::remove_dir_all(home.metnos().join("data/projections")).unwrap();
    std::fs::remove_file(log.with_extension("head")).unwrap();
    assert_eq!(home.run(["--json", "log", "verify"]).json()["ok"], true);
    // Of another instance, which has another key.
    let other = Home::empty(crate::home::User::Current);
    assert_eq!(other.run(["config", "show"]).code, 0);
    std::fs::remove_file(other.metnos().join("data/log/events.redb")).ok();
    let foreign = other.run(["log", "restore", folder]);
    assert!(foreign.code == 1 && foreign.err.contains("put config/keys back"), "{} {}", foreign.code, foreign.err);
    // Where no key is, nothing is made.
    let nowhere = home.files().join("nowhere");
    let keyless = home.run(["--home", nowhere.to_str().unwrap(), "log", "restore", folder]);
    assert!(keyless.code == 1 && keyless.err.contains("Nothing was changed"), "{} {}", keyless.code, keyless.err);
    assert!(!nowhere.exists());
}

/// What is said of an erasure is never erased.
#[test]
fn a_reason_does_not_bring_back_what_is_erased() {
    let (home, _) = told();
    let reason = format!("{SECRET} was seen by a guest");
    let refused = home.run(["--yes", "log", "erase", "--text", SECRET, "--reason", &reason]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("holds the text itself"), "{}", refused.err);
    assert_eq!(home.run(["--json", "log", "verify"]).json()["erased"], 0);
}

#[test]
fn an_anchor_is_a_new_file_and_is_on_record() {
    let home = Home::new();
    let file = home.files().join("anchor.note");
    let path = file.to_str().unwrap();
    assert_eq!(home.run(["log", "anchor", path]).code, 0);
    let note = std::fs::read_to_string(&file).unwrap();
    assert!(note.starts_with("metnos/") && note.contains("\nhead "), "{note}");
    assert_eq!(home.run(["log", "anchor", path]).code, 1, "what is there is never overwritten");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), note);
    let last = home.run(["--json", "log", "tail", "-n", "1"]).json();
    assert_eq!((&last["kind"], &last["payload"]["place"]), (&"checkpoint_anchored".into(), &path.into()));
}

/// What Metnos works by is not erased; whoever asks for it is told so, and is not sent to change the log's own files.
#[test]
fn what_stays_is_named() {
    let home = Home::new();
    let name = "Zebulon Quark";
    assert_eq!(home.run(["actor", "add", name]).code, 0);
    let only = home.run(["--yes", "log", "erase", "--text", name]);
    assert_eq!(only.code, 1, "{}", only.out);
    assert!(only.err.contains("1  actor_added") && only.err.contains("stays"), "{}", only.err);
    assert_eq!(home.ask(&format!("write a file {name}.txt")).out.matches("panicked").count(), 0);
    let erased = home.run(["--yes", "log", "erase", "--text", name]);
    assert_eq!(erased.code, 0, "{}", erased.err);
    assert!(erased.out.contains("1  actor_added"), "{}", erased.out);
    assert!(!erased.out.contains("events.redb") && !erased.out.contains("actors.jsonl"), "{}", erased.out);
    // What a person is called, and what was granted where, are no nothing.
    assert_eq!(home.run(["grants", "give", "fs:write", "~/quarks"]).code, 0);
    let events = home.run(["--json", "log", "tail", "-n", "100"]).out;
    let events: Vec<serde_json::Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (kind, says, how) in [
        ("actor_added", "stays, with the name of a person", "no command changes a name"),
        ("grant_given", "stays, with what was granted on which folder", "metnos grants revoke"),
    ] {
        let event = events.iter().rfind(|event| event["kind"] == kind).unwrap()["seq"].to_string();
        let refused = home.run(["--yes", "log", "erase", "--event", &event]);
        assert_eq!(refused.code, 1, "{}", refused.err);
        assert!(refused.err.contains(says) && refused.err.contains(how), "{}", refused.err);
    }
    let none = home.run(["--yes", "log", "erase", "--event", "99999"]);
    assert!(none.code == 1 && none.err.contains("99999"), "{}", none.err);
    home.is_whole();
}

/// What was erased is told as erased: not as a request that still runs, nor as one that was decided again.
#[test]
fn why_and_replay_and_spans_say_that_a_turn_was_erased() {
    let home = Home::new();
    home.file("safe.txt", "bread\n");
    assert_eq!(home.ask("read the file ~/safe.txt").code, 0);
    let turn = home.run(["why", "last"]).out.split_whitespace().nth(1).unwrap().to_owned();
    assert_eq!(home.run(["--yes", "log", "erase", "--turn", &turn]).code, 0);
    let why = home.run(["why", "last"]);
    assert_eq!(why.code, 0, "{}", why.err);
    assert!(why.out.contains("this was erased") && why.out.contains("How it ended was erased."), "{}", why.out);
    assert!(!why.out.contains("nothing yet") && !why.out.contains("has not ended"), "{}", why.out);
    let changed = home.run(["diff", "1", "now"]);
    assert!(changed.out.contains("with an end that was erased"), "{} {}", changed.out, changed.err);
    let checked = home.run(["replay", "check"]);
    assert!(checked.out.contains(" 1 turn decided again, 0 by other rules, 1 not decidable"), "{}", checked.out);
    // The spans say so too, as the other forms do.
    let spans = home.run(["audit", "export", "--format", "otel"]);
    let found: Vec<serde_json::Value> = spans.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let erased = found.iter().map(|line| &line["resourceSpans"][0]["scopeSpans"][0]["spans"][0]);
    let erased: Vec<_> = erased.filter(|span| span["name"] == "erase metnos").collect();
    assert_eq!(erased.len(), 1, "{}", spans.out);
    assert_eq!(erased[0]["links"][0]["traceId"].as_str().map(str::len), Some(32), "{}", erased[0]);
}
