//! What someone wants to be gone is gone in every form that was made of it, and what may hold it in a form that nobody looks into is
//! told.

use serde_json::{Value, json};

use crate::erasing::holding;
use crate::home::Home;

#[track_caller]
fn erased(home: &Home, text: &str) {
    let erased = home.run(["--yes", "log", "erase", "--text", text]);
    assert_eq!(erased.code, 0, "{}{}", erased.out, erased.err);
}

/// All events, as the log is exported.
fn exported(home: &Home) -> Vec<Value> {
    let exported = home.run(["log", "export"]);
    exported.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of_kind<'e>(events: &'e [Value], kind: &str) -> &'e Value {
    &events.iter().rfind(|event| event["kind"] == kind).unwrap()["payload"]
}

#[test]
fn what_an_answer_made_of_a_text_goes_with_it() {
    let home = Home::new();
    home.file("people.csv", "name,phone,born,note\nAnna,5551234567,1980-03-17,my_secret <plan>\n");
    for (sentence, text, form) in [
        ("what is the total of phone in ~/people.csv", "5551234567", "5,551,234,567"),
        ("show ~/people.csv as markdown", "my_secret <plan>", "my\\_secret &lt;plan&gt;"),
        ("show the table ~/people.csv", "1980-03-17", "17 Mar 1980"),
    ] {
        let told = home.ask(sentence);
        assert!(told.code == 0 && told.out.contains(form), "{sentence}: {}{}", told.out, told.err);
        erased(&home, text);
        for gone in [text, form] {
            assert_eq!(holding(&home.metnos(), gone), Vec::<std::path::PathBuf>::new(), "{gone}");
        }
    }
}

/// A copy of a file as it was before it was changed is in whatever encoding the file was.
#[test]
fn it_goes_in_other_encodings() {
    let home = Home::new();
    let text = "call Frau Müller-9090 today";
    let latin: Vec<u8> = text.chars().map(|sign| u8::try_from(u32::from(sign)).unwrap()).collect();
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (name, bytes) in [("latin.txt", &latin), ("wide.txt", &wide)] {
        let path = home.file(name, bytes);
        assert_eq!(home.ask_approved(&format!("overwrite ~/{name} with \"nothing\"")).code, 0);
        erased(&home, "Müller-9090");
        home.run(["undo", "--approve", "all"]);
        assert_eq!(std::fs::read_to_string(&path).unwrap().trim_end(), "nothing", "{name} came back");
    }
}

#[test]
fn a_packed_file_in_the_record_is_told() {
    let home = Home::new();
    home.file("letter.txt", "the vault is behind the clock. ".repeat(30));
    assert_eq!(home.ask_approved("compress ~/letter.txt to ~/letter.zip").code, 0);
    let nothing = home.run(["log", "erase", "--text", "the vault is behind"]);
    assert!(nothing.code == 1 && nothing.err.contains("log erase --preview --event "), "{}", nothing.err);
    assert_eq!(home.ask("read the file ~/letter.txt").code, 0);
    let told = home.run(["--yes", "log", "erase", "--text", "the vault is behind"]);
    assert!(told.code == 0 && told.out.contains("\n  metnos log erase --event "), "{}{}", told.out, told.err);
}

#[test]
fn the_same_words_on_two_lines_are_told() {
    let home = Home::new();
    home.file("two.txt", "PIN 4711\nof Anna B\n");
    assert_eq!(home.ask("read the file ~/two.txt").code, 0);
    let told = home.run(["log", "erase", "--text", "PIN 4711 of Anna B"]);
    assert!(told.code == 1 && told.err.contains("--text with $'PIN 4711\\nof Anna B'"), "{}", told.err);
}

/// A yes stays, with the digest of what it was given to: made under what goes with the request.
#[test]
fn what_stays_of_a_request_tells_nothing_of_it() {
    let home = Home::new();
    assert_eq!(home.ask_approved("run the command echo pin 4711").code, 0);
    let events = exported(&home);
    let started = of_kind(&events, "invocation_started");
    let guessed = json!({
        "about": "call", "args": { "argv": ["echo", "pin", "4711"] }, "effects": null, "plan": started["plan_digest"],
        "tool": started["tool"], "version": started["version"],
    });
    let guessed = metnos_log::canonical::to_string(&guessed);
    let salt = of_kind(&events, "turn_opened")["salt"].as_str().unwrap();
    let under = |salt: &str| {
        let key = blake3::derive_key("metnos turn digest v1", salt.as_bytes());
        blake3::keyed_hash(&key, guessed.as_bytes()).to_hex().to_string()
    };
    let given = &of_kind(&events, "consent_given")["digest"];
    assert_eq!(*given, under(salt));
    assert_ne!(*given, blake3::hash(guessed.as_bytes()).to_hex().to_string());

    assert_eq!(home.run(["--yes", "log", "erase", "--turn", "last"]).code, 0);
    assert_eq!(holding(&home.metnos(), salt), Vec::<std::path::PathBuf>::new());
    assert_eq!(of_kind(&exported(&home), "consent_given")["digest"], *given, "it stays");
    // Of another turn the same yes has another digest.
    assert_eq!(home.ask_approved("run the command echo pin 4711").code, 0);
    assert_ne!(of_kind(&exported(&home), "consent_given")["digest"], *given);
}

#[test]
fn a_file_that_is_called_so_is_told() {
    let home = Home::new();
    home.file("note.txt", "Quasimodo lies under the second pot\n");
    assert_eq!(home.ask("read the file ~/note.txt").code, 0);
    let folder = home.metnos().join("workspace/Quasimodo");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("a-Quasimodo.txt"), "nothing").unwrap();
    home.own(&folder);
    let told = home.run(["--yes", "log", "erase", "--text", "Quasimodo"]);
    for path in [folder.join("a-Quasimodo.txt"), folder] {
        assert!(told.out.contains(&format!("\n  {}\n", path.display())), "{}{}", told.out, told.err);
    }
}
