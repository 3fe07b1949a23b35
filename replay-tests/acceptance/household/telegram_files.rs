//! Files that people send over Telegram: kept once under names that harm nothing, and what is said where they are not.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::bot_api::Fault;
use super::telegram::{HOST, Talk};

fn inbox(talk: &Talk) -> PathBuf {
    talk.home.metnos().join("workspace/inbox")
}

/// The names of what is kept; nothing half-written is among them.
fn kept(talk: &Talk) -> Vec<String> {
    let entries = std::fs::read_dir(inbox(talk)).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn files_are_kept_once_and_asked_about_by_name() {
    let talk = Talk::begin();
    let api = &talk.api;
    talk.says("/start", "Eccomi");
    let from = api.count();
    api.sends(HOST, "../../note di casa.txt", b"uno\ndue\ntre\n", None);
    assert!(api.said(from, HOST, "inbox/note_di_casa.txt").text.starts_with("Tengo il file come"));
    talk.says("leggi note_di_casa.txt e dimmi l'ultima riga", "tre");
    // The same file again is the same file; another one of that name is not.
    let from = api.count();
    api.sends(HOST, "note di casa.txt", b"uno\ndue\ntre\n", Some("leggi"));
    api.said(from, HOST, "due");
    api.sends(HOST, "note di casa.txt", b"altro\n", None);
    api.said(from, HOST, "note_di_casa-2.txt");
    api.writes_with(HOST, &json!({ "document": { "file_id": "x", "file_name": "big.iso", "file_size": 21 << 20 } }));
    api.said(from, HOST, "più di 20 MB");
    api.writes_with(HOST, &json!({ "document": { "file_id": "gone", "file_name": "gone.txt", "file_size": 2 } }));
    api.said(from, HOST, "Telegram non mi dà il file");
    let inbox = talk.home.metnos().join("workspace/inbox");
    let mut kept: Vec<String> =
        std::fs::read_dir(inbox).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    kept.sort();
    assert_eq!(kept, ["note_di_casa-2.txt", "note_di_casa.txt"]);
    api.is_drained();
    talk.ends();
}

/// Names that mean something to a system, and none that a person would give.
#[test]
fn a_file_with_an_odd_name_is_kept_under_a_plain_one() {
    let talk = Talk::begin();
    talk.says("/start", "Eccomi");
    let long = "è".repeat(125) + ".txt";
    assert_eq!(long.len(), 254);
    for (name, plain) in [
        ("...", "document-N.bin"),
        ("../../..", "document-N.bin"),
        ("/", "document-N.bin"),
        (".bashrc", "bashrc"),
        ("a\u{202e}gpj.exe", "a_gpj.exe"),
        ("con\nto.csv", "con_to.csv"),
        (long.as_str(), &("è".repeat(50) + ".txt")),
    ] {
        let from = talk.api.count();
        talk.api.sends(HOST, name, name.as_bytes(), None);
        let number = talk.api.state().given.last().unwrap()["message"]["message_id"].to_string();
        let said = talk.answers(from, HOST).text;
        let path = inbox(&talk).join(plain.replace('N', &number));
        assert!(said.starts_with(&format!("Tengo il file come {}. ", path.display())), "{name:?}: {said}");
        assert_eq!(std::fs::read(&path).unwrap(), name.as_bytes());
    }
    let kept = kept(&talk);
    assert_eq!(kept.len(), 7, "{kept:?}");
    talk.ends();
}

#[test]
fn a_file_that_is_too_long_lies_breaks_off_or_has_no_room_is_not_kept() {
    let talk = Talk::begin();
    let api = &talk.api;
    talk.says("/start", "Eccomi");
    // One byte too long, as it says itself.
    let most = 20 << 20;
    let from = api.count();
    api.sends(HOST, "big.bin", &vec![7; most + 1], None);
    assert_eq!(talk.answers(from, HOST).text, "Non posso prendere file di più di 20 MB.");
    // It says that it is short: the server does not give it out, and where it does, it is cut off here.
    let lies = |name: &str| json!({ "document": { "file_id": "file-0", "file_unique_id": "f", "file_name": name, "file_size": 5 } });
    let from = api.count();
    api.writes_with(HOST, &lies("small.bin"));
    let said = talk.answers(from, HOST).text;
    assert!(said.starts_with("Telegram non mi dà il file: ") && said.contains("too big"), "{said}");
    api.state().is_lenient = true;
    let from = api.count();
    api.writes_with(HOST, &lies("small.bin"));
    assert_eq!(talk.answers(from, HOST).text, "Non posso prendere file di più di 20 MB.");
    assert_eq!(kept(&talk), Vec::<String>::new());
    // The longest that there may be, after a connection that breaks off.
    api.fault("file", Fault::Swallow);
    let from = api.count();
    api.sends(HOST, "whole.bin", &vec![7; most], None);
    assert!(talk.answers(from, HOST).text.contains("inbox/whole.bin"));
    assert_eq!(std::fs::metadata(inbox(&talk).join("whole.bin")).unwrap().len(), most as u64);
    assert_eq!(kept(&talk), ["whole.bin"]);
    // Nothing can be kept: something else lies where the folder should be.
    std::fs::remove_dir_all(inbox(&talk)).unwrap();
    std::fs::write(inbox(&talk), "").unwrap();
    let from = api.count();
    api.sends(HOST, "a.txt", b"one\n", None);
    let said = talk.answers(from, HOST).text;
    assert!(said.starts_with("Non sono riuscito a tenere il file: "), "{said}");
    // It is well again, and so is the next file.
    std::fs::remove_file(inbox(&talk)).unwrap();
    let from = api.count();
    api.sends(HOST, "b.txt", b"two\n", Some("leggi"));
    assert_eq!(talk.answers(from, HOST).text, "two\n");
    talk.ends();
}

/// An update that comes twice is one, and the three pictures of an album are three.
#[test]
fn an_update_twice_is_one_file_and_an_album_is_each_of_its_own() {
    let talk = Talk::begin();
    let api = &talk.api;
    talk.says("/start", "Eccomi");
    let from = api.count();
    let number = api.sends(HOST, "a.txt", b"one\n", None);
    talk.answers(from, HOST);
    let again: Value = api.state().given.last().unwrap().clone();
    assert_eq!(again["update_id"], number);
    api.update(again);
    for picture in 0..3_u8 {
        let id = api.stores(&[picture; 9]);
        let sizes = json!([
            { "file_id": "small", "file_unique_id": "s", "width": 1, "height": 1, "file_size": 1 },
            { "file_id": id, "file_unique_id": id, "width": 9, "height": 9, "file_size": 9 },
        ]);
        api.writes_with(HOST, &json!({ "media_group_id": "7", "photo": sizes }));
    }
    talk.says("che ore sono", "Ora:");
    api.is_drained();
    assert_eq!(kept(&talk), ["a.txt", "photo-2.jpg", "photo-3.jpg", "photo.jpg"]);
    for picture in 0..3_u8 {
        let name = if picture == 0 { "photo.jpg".to_owned() } else { format!("photo-{}.jpg", picture + 1) };
        assert_eq!(std::fs::read(inbox(&talk).join(name)).unwrap(), [picture; 9], "the largest size is taken");
    }
    let told = api.state().sent.iter().filter(|sent| sent.text.contains("a.txt")).count();
    assert_eq!(told, 1, "the file is told once");
    let home = talk.ends();
    let log = home.run(["--json", "log", "tail", "-n", "500"]).out;
    assert_eq!(log.matches("\"document_received\"").count(), 4, "{log}");
}

/// A document without a name was kept as «file», which every later sentence with that word then spoke of; others were
/// called «tomorrow» or «8».
#[test]
fn no_word_of_a_sentence_is_taken_for_a_file_that_was_sent() {
    let talk = Talk::begin();
    let api = &talk.api;
    talk.says("/start", "Eccomi");
    talk.home.file("notes.txt", "mine\n");
    let id = api.stores(b"a\n1\n");
    let from = api.count();
    api.writes_with(
        HOST,
        &json!({ "document": { "file_id": id, "file_unique_id": id, "mime_type": "text/csv", "file_size": 4 } }),
    );
    let number = api.state().given.last().unwrap()["message"]["message_id"].to_string();
    let name = format!("document-{number}.csv");
    api.said(from, HOST, &format!("Chiedimi pure qualcosa usando il suo nome: {name}"));
    for name in ["file", "notes", "8", "inbox"] {
        let from = api.count();
        api.sends(HOST, name, name.as_bytes(), None);
        api.said(from, HOST, &format!("usando il suo nome tra virgolette: «{name}»."));
    }
    talk.says("leggi il file notes.txt", "mine");
    talk.says(&format!("quante righe ci sono in {name}"), "2");
    talk.says("leggi «notes»", "notes");
    let asked = talk.hears(HOST, "ogni giorno alle 8 leggi il file notes.txt").text;
    assert!(asked.contains("alle 08:00") && !asked.contains("inbox/"), "{asked}");
    talk.ends();
}

/// Asked about by the name that the sender gave, in quotes or not; of several of one name the newest is meant.
#[test]
fn a_file_goes_by_the_name_that_its_sender_gave() {
    let talk = Talk::begin();
    let api = &talk.api;
    talk.says("/start", "Eccomi");
    let sends = |name: &str, bytes: &[u8], caption: Option<&str>| {
        let from = api.count();
        api.sends(HOST, name, bytes, caption);
        talk.answers(from, HOST).text
    };
    sends("my report (1).txt", b"first\n", None);
    sends("perché no.txt", b"second\n", None);
    for asked in ["leggi my report (1).txt", "leggi \"my report (1).txt\"", "leggi my_report__1.txt"] {
        talk.says(asked, "first");
    }
    talk.says("leggi perché no.txt", "second");
    talk.says("leggi «perché no.txt»", "second");
    // What is written below a file is about that one, though another has its name.
    assert_eq!(sends("r.txt", b"older\n", Some("leggi r.txt")), "older\n");
    assert_eq!(sends("r.txt", b"newer\n", Some("leggi r.txt")), "newer\n");
    talk.says("leggi r.txt", "newer");
    // The first one, sent again, is the newest.
    sends("r.txt", b"older\n", None);
    talk.says("leggi r.txt", "older");
    talk.home.file("r.txt", "own\n");
    talk.says("leggi r.txt", "own");
    talk.ends();
}
