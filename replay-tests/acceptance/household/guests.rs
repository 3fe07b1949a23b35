//! Guests over Telegram: each reaches their own folder and what was opened to them, and nothing else of the house. Two
//! guests and the host, the real daemon, the strict server; what a guest tries is tried as a person would write it.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::bot_api::{BotApi, Sent, TOKEN};
use super::daemon::Daemon;
use super::telegram::{GUEST, HOST, Talk, home_at};

/// The other guest.
const SECOND: i64 = 5252;
/// A group that all of them are in.
const GROUP: i64 = -77;
/// What only the host may read.
const TREASURE: &str = "sotto il noce";
/// What a refusal at the perimeter says.
const OUTSIDE: &str = "è fuori. Chi abita qui può aprirti una cartella.";

/// A house with a secret, two guests, and a file that each of them sent.
struct House {
    talk: Talk,
    anna: String,
    /// The guests' own folders.
    own: [PathBuf; 2],
}

impl House {
    fn begin() -> Self {
        let api = BotApi::start();
        let home = home_at(&api.url(), TOKEN);
        let clock = home.file("clock", "2026-11-22T20:00:00Z");
        let home = home.with("METNOS_CLOCK", clock.to_str().unwrap());
        let daemon = Some(Daemon::serve(&home));
        let talk = Talk { api, home, daemon };
        talk.says("/start", "Eccomi");
        talk.home.file("segreto.txt", format!("{TREASURE}\n"));
        std::fs::create_dir(talk.home.files().join("foto")).unwrap();
        talk.home.file("foto/elenco.txt", "mare\nmonti\n");
        let [anna, bruno] = [("Anna", GUEST), ("Bruno", SECOND)].map(|(name, person)| {
            let id = talk.knows(name, person);
            let from = talk.api.count();
            talk.api.sends(person, &format!("{name}.txt"), format!("uno\n{name}\n").as_bytes(), None);
            assert!(talk.answers(from, person).text.contains(&format!("guests/{id}/inbox/{name}.txt")));
            id
        });
        let own = [&anna, &bruno].map(|id| talk.home.metnos().join("workspace/guests").join(id));
        Self { talk, anna, own }
    }

    fn path(&self, name: &str) -> String {
        self.talk.home.files().join(name).display().to_string()
    }

    /// A guest says this, and is told that it lies outside.
    #[track_caller]
    fn is_refused(&self, person: i64, text: &str) {
        let said = self.talk.hears(person, text);
        assert!(said.text.ends_with(OUTSIDE) && said.keys.is_empty(), "{text}: {}", said.text);
        assert!(!said.text.contains("noce"), "{text}: {}", said.text);
    }

    /// Says something, agrees to what is asked, and what comes of it.
    #[track_caller]
    fn agrees(&self, person: i64, text: &str) -> (Sent, String) {
        let asked = self.talk.hears(person, text);
        assert_eq!(asked.keys.len(), 2, "{text}: {}", asked.text);
        let from = self.talk.api.count();
        self.talk.api.presses(person, &asked, &asked.keys[0].1);
        (asked, self.talk.answers(from, person).text)
    }

    /// A command of the house's owner.
    #[track_caller]
    fn runs(&self, words: &[&str]) -> Value {
        let ran = self.talk.home.run(["--json"].iter().chain(words));
        assert_eq!(ran.code, 0, "{words:?}: {} {}", ran.out, ran.err);
        ran.json()
    }

    /// The events of one kind, as JSON lines.
    fn events(home: &super::home::Home, label: &str) -> Vec<Value> {
        let log = home.run(["--json", "log", "tail", "-n", "2000"]).out;
        let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line.to_string().contains(&format!("\"{label}\""))).collect()
    }
}

#[test]
fn a_guest_reads_their_own_folder_and_whatever_leads_out_of_it_is_refused() {
    let house = House::begin();
    let (talk, [annas, brunos]) = (&house.talk, &house.own);
    // Their own: by its name, by their home, from their folder.
    assert_eq!(talk.hears(GUEST, "quante righe ha Anna.txt?").text, "2 righe");
    assert_eq!(talk.hears(GUEST, "leggi il file inbox/Anna.txt").text, "uno\nAnna\n");
    assert_eq!(talk.hears(SECOND, "leggi ~/inbox/Bruno.txt").text, "uno\nBruno\n");
    // Named whole, by way of folders above, by globs, by what another guest has.
    house.is_refused(GUEST, &format!("leggi il file {}", house.path("segreto.txt")));
    house.is_refused(GUEST, "leggi il file ../../../../files/segreto.txt");
    house.is_refused(GUEST, &format!("trova i file *.txt in {}", house.path("foto")));
    house.is_refused(GUEST, &format!("leggi il file {}", brunos.join("inbox/Bruno.txt").display()));
    house.is_refused(GUEST, "trova tutti i file in /");
    house.is_refused(GUEST, "trova i file duplicati in ..");
    // What is there and what is not sound the same.
    house.is_refused(SECOND, &format!("leggi il file {}", house.path("non-esiste.txt")));
    house.is_refused(SECOND, &format!("quali file ci sono in {}", house.path("")));
    // Links that lie in their own folder, however they came there.
    symlink(talk.home.files().join("segreto.txt"), annas.join("via.txt")).unwrap();
    symlink(talk.home.files(), annas.join("casa")).unwrap();
    house.is_refused(GUEST, "leggi il file via.txt");
    house.is_refused(GUEST, "leggi il file casa/segreto.txt");
    let listed = talk.hears(GUEST, "quali file ci sono in ~").text;
    assert!(listed.starts_with("3 file in ") && !listed.contains("segreto"), "{listed}");
    // A name of somebody's home is a name like any other, below their own folder.
    for whose in ["owner", "root"] {
        let said = talk.hears(SECOND, &format!("leggi il file ~{whose}/segreto.txt")).text;
        assert!(said.starts_with("Lì non c'è nulla") && said.contains("workspace/guests"), "{said}");
    }
    // What is the house's and no file.
    for text in ["quali processi sono in esecuzione", "esegui il programma date"] {
        assert_eq!(talk.hears(SECOND, text).text, "Questo lo faccio solo per chi abita qui.");
    }
    let page = talk.hears(SECOND, "leggi la pagina http://127.0.0.1:8770/metrics").text;
    assert!(page.starts_with("Qui non è permesso"), "{page}");
    talk.api.is_drained();
    let home = house.talk.ends();
    let refused = House::events(&home, "step_refused");
    assert_eq!(refused.iter().filter(|line| line.to_string().contains("\"perimeter\"")).count(), 12, "{refused:#?}");
    // What was refused never ran.
    let opened = House::events(&home, "turn_opened");
    assert!(opened.iter().any(|line| line.to_string().contains("\"within\"")), "{opened:#?}");
}

#[test]
fn a_folder_is_opened_to_one_guest_and_closed_again() {
    let house = House::begin();
    let (talk, photos) = (&house.talk, house.path("foto"));
    let read = format!("leggi il file {photos}/elenco.txt");
    house.is_refused(GUEST, &read);
    let opened = house.runs(&["actor", "grant", "Anna", &photos]);
    assert_eq!((&opened["actor"], &opened["folder"]), (&json!(house.anna), &json!(photos)));
    assert_eq!(house.runs(&["actor", "show", "Anna"])["folders"], json!([photos]));
    let shown = talk.home.run(["actor", "show", "anna"]).out;
    assert!(shown.contains(&photos) && shown.contains("workspace/guests/"), "{shown}");
    assert_eq!(talk.hears(GUEST, &read).text, "mare\nmonti\n");
    // To nobody else, and no further than its edge.
    house.is_refused(SECOND, &read);
    symlink(talk.home.files().join("segreto.txt"), Path::new(&photos).join("via.txt")).unwrap();
    house.is_refused(GUEST, &format!("leggi il file {photos}/via.txt"));
    house.is_refused(GUEST, &format!("leggi il file {photos}/../segreto.txt"));
    let copies = talk.hears(GUEST, &format!("trova i file duplicati in {photos}")).text;
    assert!(!copies.contains("segreto") && !copies.contains(OUTSIDE), "{copies}");
    // Reading is all that a guest may unasked for; with more autonomy they change what is open to them, and only that.
    let refused = talk.hears(GUEST, &format!("cancella il file {photos}/elenco.txt"));
    assert!(refused.keys.is_empty() && Path::new(&photos).join("elenco.txt").exists(), "{}", refused.text);
    house.runs(&["actor", "autonomy", "Anna", "supervised"]);
    house.is_refused(GUEST, &format!("cancella il file {}", house.path("segreto.txt")));
    house.is_refused(GUEST, &format!("sposta il file inbox/Anna.txt in {}", house.path("")));
    let (asked, done) = house.agrees(GUEST, &format!("cancella il file {photos}/elenco.txt"));
    assert!(asked.text.contains("elenco.txt") && done.contains("cestino"), "{} {done}", asked.text);
    assert!(!Path::new(&photos).join("elenco.txt").exists());
    let (_, undone) = house.agrees(GUEST, "/annulla");
    assert!(undone.contains("elenco.txt"), "{undone}");
    assert_eq!(std::fs::read_to_string(Path::new(&photos).join("elenco.txt")).unwrap(), "mare\nmonti\n");
    house.runs(&["actor", "revoke-grant", "Anna", &photos]);
    house.is_refused(GUEST, &read);
    for (words, code, hint) in [
        (vec!["actor", "grant", "owner", photos.as_str()], 1, "no guest"),
        (vec!["actor", "grant", "Anna", "/"], 1, "cannot be opened"),
        (vec!["actor", "grant", "Anna", "/nowhere-at-all"], 1, "name a folder that is there"),
        (vec!["actor", "revoke-grant", "Anna", photos.as_str()], 1, "not open to them"),
    ] {
        let ran = talk.home.run(&words);
        assert!(ran.code == code && ran.err.contains(hint), "{words:?}: {} {}", ran.code, ran.err);
    }
    house.talk.ends();
}

/// A folder that was opened is that folder: what is put in its place later opens nothing.
#[test]
fn an_opened_folder_that_becomes_a_link_is_closed() {
    let house = House::begin();
    let (talk, photos) = (&house.talk, house.path("foto"));
    house.runs(&["actor", "grant", "Anna", &photos]);
    std::fs::rename(&photos, talk.home.files().join("altrove")).unwrap();
    symlink(talk.home.files(), &photos).unwrap();
    house.is_refused(GUEST, &format!("leggi il file {photos}/segreto.txt"));
    // So is their own folder: then they reach nothing at all.
    let own = &house.own[0];
    std::fs::rename(own, talk.home.files().join("di-anna")).unwrap();
    symlink(talk.home.files(), own).unwrap();
    for text in ["leggi il file segreto.txt", "leggi il file ~/segreto.txt"] {
        let said = talk.hears(GUEST, text).text;
        assert!(said.ends_with(OUTSIDE), "{said}");
    }
    house.talk.ends();
}

#[test]
fn what_others_asked_for_is_not_a_guests_to_know_or_to_take_back() {
    let house = House::begin();
    let talk = &house.talk;
    let (_, done) = house.agrees(HOST, "aggiungi la riga \"pepita\" al file segreto.txt");
    assert!(done.contains("segreto.txt"), "{done}");
    let (_, kept) = house.agrees(HOST, "ogni lunedì alle 9 ricordami di innaffiare l'orto");
    assert!(kept.starts_with("Numero 1, ogni lunedì alle 09:00."), "{kept}");
    house.runs(&["actor", "autonomy", "Bruno", "supervised"]);
    // The host's turn is not theirs to take back: not as the last one, not by its name.
    assert_eq!(talk.hears(SECOND, "/annulla").text, "Nessuna richiesta ha ancora cambiato qualcosa.");
    let turns = talk.home.run(["--json", "turn", "list"]).out;
    let mut turns = turns.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let changed = turns.find(|turn| turn.to_string().contains("pepita")).unwrap();
    let id = ["turn_id", "turn", "id"].into_iter().find_map(|name| changed[name].as_str()).unwrap();
    let named = format!("/annulla {id}");
    let said = talk.hears(SECOND, &named);
    assert!(said.keys.is_empty() && !said.text.contains("segreto") && !said.text.contains("pepita"), "{}", said.text);
    assert_eq!(std::fs::read_to_string(house.path("segreto.txt")).unwrap(), format!("{TREASURE}\npepita\n"));
    // Nor to know.
    let status = talk.hears(GUEST, "/stato").text;
    assert!(status.contains("Finora 0 richieste"), "{status}");
    for text in ["che cosa hai fatto oggi", "perché me l'hai chiesto", "/perche", "quali promemoria ci sono"] {
        let said = talk.hears(GUEST, text).text;
        for word in ["pepita", "segreto", "orto", "lunedì"] {
            assert!(!said.contains(word), "{text}: {said}");
        }
    }
    // Nor to end: neither by its words nor by its number.
    for name in ["annulla il promemoria dell'orto", "annulla il promemoria 1"] {
        let said = talk.hears(GUEST, name);
        assert!(said.keys.is_empty() && said.text.contains("Non tengo nessuna attività"), "{}", said.text);
    }
    // A reminder of their own needs no leave to change anything, is told to them, and is theirs to end.
    let (_, kept) = house.agrees(GUEST, "tra 20 minuti ricordami di spegnere il forno");
    assert!(kept.contains("una volta, dom 2026-11-22 21:20. Ti ricorderò: spegnere il forno"), "{kept}");
    let (_, kept) = house.agrees(GUEST, "tra 2 ore ricordami di telefonare");
    assert!(kept.contains("Ti ricorderò: telefonare"), "{kept}");
    let (_, ended) = house.agrees(GUEST, "annulla il promemoria di telefonare");
    assert!(ended.contains("telefonare"), "{ended}");
    let from = talk.api.count();
    std::fs::write(talk.home.files().join("clock"), "2026-11-22T20:20:01Z").unwrap();
    talk.api.said(from, GUEST, "Promemoria (dom 2026-11-22 21:20): spegnere il forno");
    talk.api.is_drained();
    let told = talk.api.state().sent.iter().filter(|sent| sent.text.starts_with("Promemoria (")).count();
    assert_eq!(told, 1, "it is told to nobody else");
    house.talk.ends();
}

#[test]
fn in_a_group_a_guest_neither_answers_nor_stops_nor_borrows_what_is_the_hosts() {
    let house = House::begin();
    let (talk, api) = (&house.talk, &house.talk.api);
    let writes = |person: i64, text: &str, more: Value| {
        let mut message = api.message(GROUP, person, "group");
        message["text"] = text.into();
        for (name, value) in more.as_object().into_iter().flatten() {
            message[name] = value.clone();
        }
        let from = api.count();
        api.update(json!({ "message": message }));
        from
    };
    // The host is asked; a guest presses, stops, and says yes.
    let from = writes(HOST, "/annulla", json!({}));
    talk.answers(from, GROUP);
    let from = writes(HOST, "@metnos_test_bot cancella il file segreto.txt", json!({}));
    let asked = api.asked(from, GROUP);
    let press = api.presses(GUEST, &asked, &asked.keys[0].1);
    assert_eq!(api.answer_to(&press), "Questa domanda è per un'altra persona.");
    let from = writes(GUEST, "/ferma", json!({}));
    assert_eq!(
        talk.answers(from, GROUP).text,
        "Di tuo qui non è in corso nulla. Ciò che ha chiesto un'altra persona continua: può fermarlo solo lei."
    );
    let question = json!({ "reply_to_message": {
        "message_id": asked.id, "date": 1, "chat": { "id": GROUP, "type": "group" },
        "from": { "id": 7_000_001, "is_bot": true, "first_name": "Metnos" }, "text": asked.text,
    } });
    writes(GUEST, "sì", question);
    assert!(talk.home.files().join("segreto.txt").exists());
    let press = api.presses(HOST, &asked, &asked.keys[1].1);
    assert_eq!(api.answer_to(&press), "No, lascio stare.");
    api.is_drained();
    // An open question of the host's stays open whatever a guest asks about meanwhile.
    let from = writes(HOST, "@metnos_test_bot leggi il file", json!({}));
    api.said(from, GROUP, "Quale file");
    let from = writes(GUEST, "@metnos_test_bot leggi il file", json!({}));
    api.said(from, GROUP, "Quale file");
    let from = writes(HOST, "@metnos_test_bot segreto.txt", json!({}));
    api.said(from, GROUP, TREASURE);
    // What was forwarded, or answers what the host wrote, is the words of whoever sends it.
    let read = format!("leggi il file {}", house.path("segreto.txt"));
    let host = json!({ "id": HOST, "is_bot": false, "first_name": "A" });
    for more in [
        json!({ "text": read, "forward_origin": { "type": "user", "date": 1, "sender_user": host }, "forward_from": host }),
        json!({ "text": read, "reply_to_message": {
            "message_id": 1, "date": 1, "chat": { "id": GUEST, "type": "private" }, "from": host, "text": read,
        } }),
        json!({ "text": read, "sender_chat": { "id": HOST, "type": "private" }, "via_bot": host }),
    ] {
        let from = api.count();
        api.writes_with(GUEST, &more);
        let said = talk.answers(from, GUEST).text;
        assert!(said.ends_with(OUTSIDE), "{said}");
    }
    assert!(talk.home.files().join("segreto.txt").exists());
    house.talk.ends();
}

#[test]
fn a_yes_that_comes_after_the_rights_are_gone_agrees_to_nothing() {
    let house = House::begin();
    let talk = &house.talk;
    let (folder, file) = (house.path("foto"), house.path("foto/elenco.txt"));
    house.runs(&["actor", "autonomy", "Anna", "supervised"]);
    house.runs(&["actor", "grant", "Anna", &folder]);
    let taken: [&[&str]; 2] =
        [&["actor", "revoke-grant", "Anna", &folder], &["actor", "autonomy", "Anna", "read_only"]];
    let given: [&[&str]; 2] = [&["actor", "grant", "Anna", &folder], &["actor", "autonomy", "Anna", "supervised"]];
    for (taken, given) in taken.iter().zip(given) {
        let asked = talk.hears(GUEST, &format!("cancella il file {file}"));
        assert_eq!(asked.keys.len(), 2, "{}", asked.text);
        house.runs(taken);
        let from = talk.api.count();
        talk.api.presses(GUEST, &asked, &asked.keys[0].1);
        let said = talk.answers(from, GUEST).text;
        assert!(said.contains("Quello che puoi fare è cambiato dopo che te l'ho chiesto"), "{said}");
        assert!(Path::new(&file).exists(), "{taken:?}");
        house.runs(given);
    }
    // With nothing taken the same yes counts.
    house.agrees(GUEST, &format!("cancella il file {file}"));
    assert!(!Path::new(&file).exists());
    // Whoever reaches nothing any more has nothing that goes on.
    house.agrees(GUEST, "ogni giorno alle 9 ricordami di innaffiare");
    assert_eq!(house.runs(&["actor", "revoke", "Anna"])["paused"], 1);
    assert_eq!(house.runs(&["schedule", "show", "1"])["state"], "paused");
    talk.home.is_whole();
}

/// What nobody touches is the house's, whoever asks: a second name of it in a guest's own folder shows nothing of it.
#[test]
fn a_second_name_of_a_forbidden_file_is_no_way_to_it_for_a_guest() {
    let house = House::begin();
    let secret = house.talk.home.file(".ssh/id", format!("{TREASURE}\n"));
    let second = house.own[0].join("inbox/k.txt");
    std::fs::hard_link(&secret, &second).unwrap();
    let said = house.talk.hears(GUEST, &format!("leggi {}", second.display())).text;
    assert!(said.contains("altro nome di un file che nessun esecutore può vedere"), "{said}");
    let found = house.talk.hears(GUEST, &format!("cerca \"{TREASURE}\" nei file in {}", house.own[0].display())).text;
    assert!(!said.contains(TREASURE) && !found.contains("k.txt:"), "{said} {found}");
    let own = house.talk.hears(GUEST, &format!("leggi {}", house.own[0].join("inbox/Anna.txt").display())).text;
    assert!(own.contains("Anna"), "{own}");
}
