//! Every executor used by a sentence in each language, on real files, each answer held to its facts.
//!
//! A sentence is the whole way: planner, cage, answer. What single executors do with odd input is checked by their own
//! birth tests; here it is whether a person can reach them, and whether what they are told is true and whole.

use std::collections::BTreeSet;
use std::path::Path;

use super::acts::tree;
use super::home::Home;
use super::server::{Server, UUID_BODY};
use super::tasks::{IN_2023, dated};

/// A sentence in one language and what its answer says; a fact that begins with `!` must not be in it.
type Said = (&'static str, &'static [&'static str]);

/// An executor, and what it is asked in English and in Italian.
type Use = (&'static str, Said, Said);

const LOOKS: &[Use] = &[
    (
        "list_dirs",
        ("list ~/Downloads", &["7 entries", "2.2 kB in all", "beach.jpg (2.0 kB)", "strange.xyz (1 byte)"]),
        ("elenca ~/Downloads", &["7 elementi", "2,2 kB in tutto", "beach.jpg (2,0 kB)", "strange.xyz (1 byte)"]),
    ),
    (
        "list_dirs",
        ("what is in the folder ~/Many", &["60 entries", "f50.txt", "!f51.txt", "and 10 more"]),
        ("cosa c'è nella cartella ~/Many", &["60 elementi", "f50.txt", "!f51.txt", "e altri 10"]),
    ),
    (
        "find_files",
        ("find all pdf files in ~/Downloads", &["2 files", "invoice.PDF", "manual.pdf", "!beach"]),
        ("trova tutti i pdf in ~/Downloads", &["2 file", "invoice.PDF", "manual.pdf", "!beach"]),
    ),
    (
        "find_files",
        ("how many *.nothing files are in ~/Downloads", &["0 files"]),
        ("trova i file *.nulla in ~/Downloads", &["Nessun file"]),
    ),
    (
        "find_files",
        ("find files larger than 1 kB in ~/Downloads", &["1 file in", "beach.jpg (2.0 kB)"]),
        ("trova i file più grandi di 1 kB in ~/Downloads", &["1 file in", "beach.jpg (2,0 kB)"]),
    ),
    (
        "find_dirs",
        ("find the empty folders in ~/Pictures", &["1 empty folder", "Pictures/empty", "!Pictures/trip"]),
        ("trova le cartelle vuote in ~/Pictures", &["1 cartella vuota", "Pictures/empty", "!Pictures/trip"]),
    ),
    (
        "find_files_hash",
        ("find duplicate files in ~/Pictures", &["1 copy of 1 file", "5.0 kB", "trip/sea.jpg", "sea (1).jpg", "!hill"]),
        ("trova i file doppi in ~/Pictures", &["1 copia di 1 file", "5,0 kB", "trip/sea.jpg", "sea (1).jpg", "!hill"]),
    ),
    (
        "find_files_hash",
        ("how many duplicate files are in ~/Pictures", &["1 copy of 1 file\n"]),
        ("quanti doppioni ci sono in ~/Pictures", &["1 copia di 1 file\n"]),
    ),
    (
        "get_files",
        ("how big is ~/Downloads/beach.jpg", &["image/jpeg", "2.0 kB (2003 bytes)", "2023"]),
        ("quanto è grande ~/Downloads/beach.jpg", &["image/jpeg", "2,0 kB (2003 byte)", "2023"]),
    ),
    (
        "get_now",
        ("what time is it in Tokyo", &["It is ", "Asia/Tokyo, UTC+09:00"]),
        ("che ore sono a Tokyo", &["Ora: ", "Asia/Tokyo, UTC+09:00"]),
    ),
    (
        "get_processes",
        ("list the running processes", &[" processes, ", "of memory in all", "metnos"]),
        ("elenca i processi attivi", &[" processi, ", "di memoria in tutto", "metnos"]),
    ),
    // The sentence itself stands in the command line of the process that looks.
    (
        "get_processes",
        ("is nosuchprogram running", &["No process of the name nosuchprogram is running", "!metnos"]),
        ("nessunprogramma è in esecuzione", &["nessunprogramma", "!metnos"]),
    ),
    ("get_urls", ("fetch SERVER/uuid", &[UUID_BODY]), ("scarica SERVER/uuid", &[UUID_BODY])),
    (
        "read_urls_html",
        (
            "show the links of SERVER/page",
            &["4 links on Garden links", "Home: SERVER/home", "Seeds | bulbs: SERVER/seeds.html", "!again"],
        ),
        (
            "quali sono i link della pagina SERVER/page",
            &["4 collegamenti in Garden links", "Home: SERVER/home", "Seeds | bulbs: SERVER/seeds.html", "!again"],
        ),
    ),
    (
        "read_urls_html",
        ("read the page SERVER/latin", &["Caffè", "Perché no? Là è così.", "!\u{fffd}"]),
        ("leggi la pagina SERVER/silent", &["Caffè", "Perché no? Là è così.", "!\u{fffd}"]),
    ),
    (
        "read_urls_html",
        ("what is the title of the page SERVER/latin", &["Caffè", "!\u{fffd}"]),
        ("qual è il titolo della pagina SERVER/silent", &["Caffè", "!\u{fffd}"]),
    ),
    (
        "read_files",
        ("read ~/Notes/latin.txt", &["caffè\n[It is no UTF-8; it was read as Latin-1]\n", "!\u{fffd}"]),
        ("leggi ~/Notes/latin.txt", &["caffè\n[Non è UTF-8: è stato letto come Latin-1]\n", "!\u{fffd}"]),
    ),
    (
        "read_files_csv",
        (
            "read the table ~/Expenses/ragged.csv",
            &["3 rows, 3 columns", "name ", "milk ", "2 rows have too few or too many cells", "!\u{feff}"],
        ),
        (
            "leggi la tabella ~/Expenses/ragged.csv",
            &["3 righe, 3 colonne", "name ", "milk ", "2 righe hanno troppe o troppo poche celle", "!\u{feff}"],
        ),
    ),
    (
        "read_files_csv",
        ("how many rows are in ~/Expenses/huge.csv", &["100,001 rows\n", "!files"]),
        ("quante righe ha ~/Expenses/huge.csv", &["100.001 righe\n", "!file"]),
    ),
    (
        "read_files_csv",
        ("read the table ~/Expenses/empty.csv", &["The table has no rows.\n", "!matches"]),
        ("leggi la tabella ~/Expenses/empty.csv", &["La tabella non ha righe.\n", "!corrisponde"]),
    ),
    (
        "read_files_csv",
        (
            "read the table ~/Expenses/twice.csv",
            &[
                "amount  day         amount (2)  column 4",
                "Repeated or empty column names became amount (2), column 4.",
            ],
        ),
        (
            "leggi la tabella ~/Expenses/twice.csv",
            &["amount (2)  colonna 4", "Nomi di colonna ripetuti o vuoti sono diventati amount (2), colonna 4."],
        ),
    ),
    (
        "sort_entries",
        (
            "sort ~/Expenses/twice.csv by day",
            &[
                "3 rows by day, oldest first:\n",
                "One value is no date and comes last.",
                "Dates like 03/04/2024 were read with the month before the day",
            ],
        ),
        (
            "ordina le righe di ~/Expenses/twice.csv per day",
            &[
                "3 righe per day, dalla più vecchia:\n",
                "Un valore non è una data e viene per ultimo.",
                "Le date come 03/04/2024 sono lette con il giorno prima del mese",
            ],
        ),
    ),
    (
        "compute_entries",
        (
            "sum the amount in ~/Expenses/twice.csv",
            &["6 over 3 rows", "Repeated or empty column names became amount (2)."],
        ),
        (
            "somma la colonna amount di ~/Expenses/twice.csv",
            &["6 su 3 righe", "Nomi di colonna ripetuti o vuoti sono diventati amount (2)."],
        ),
    ),
    ("read_files_pdf", ("read ~/Notes/plan.pdf", &["Garden plan"]), ("leggi ~/Notes/plan.pdf", &["Garden plan"])),
    (
        "compute_entries",
        ("what is the average amount in ~/Expenses/january.csv", &["19.9167 over 3 rows"]),
        ("qual è la media di amount in ~/Expenses/january.csv", &["19,9167 su 3 righe"]),
    ),
    (
        "compute_entries",
        ("sum the amount in ~/Expenses/ragged.csv", &["3.7 over 2 rows", "1 value is no number and is left out"]),
        ("somma la colonna amount di ~/Expenses/january.csv", &["59,75 su 3 righe", "!fuori"]),
    ),
    (
        "compute_entries",
        (
            "sum the price in ~/Expenses/huge.csv",
            &["50,000 over 100,000 rows", "Only the first 100,000 of 100,001 rows were looked at", "!search"],
        ),
        (
            "somma la colonna price di ~/Expenses/huge.csv",
            &["50.000 su 100.000 righe", "solo le prime 100.000 righe su 100.001", "!ricerca"],
        ),
    ),
    (
        "compare_entries",
        (
            "compare ~/Notes/diary.md and ~/Notes/diary2.md",
            &["2 lines added, 1 removed", "-Tuesday: rain.", "+Tuesday: sun.", "+Friday: rest."],
        ),
        (
            "confronta ~/Notes/diary.md e ~/Notes/diary2.md",
            &["2 righe aggiunte, 1 tolta", "-Tuesday: rain.", "+Tuesday: sun.", "+Friday: rest."],
        ),
    ),
    (
        "describe_entries",
        ("describe ~/Expenses/january.csv", &["3 rows, 3 fields", "from 7.25 to 40; sum 59.75", "food (2), car (1)"]),
        ("descrivi ~/Expenses/january.csv", &["3 righe, 3 campi", "da 7,25 a 40; somma 59,75", "food (2), car (1)"]),
    ),
    (
        "describe_numbers",
        (
            "read the table ~/Expenses/january.csv and give me the statistics of amount",
            &["3 numbers in «amount»", "59.75", "19.9167", "17.5897"],
        ),
        (
            "leggi la tabella ~/Expenses/january.csv e dammi le statistiche di amount",
            &["3 numeri in «amount»", "59,75", "19,9167", "17,5897"],
        ),
    ),
    (
        "extract_entries",
        ("extract the email addresses from ~/Notes/people.txt", &["garden@example.org\nseeds@example.org\n", "!055"]),
        ("estrai gli indirizzi email da ~/Notes/people.txt", &["garden@example.org\nseeds@example.org\n", "!055"]),
    ),
    (
        "filter_entries",
        ("show the rows of ~/Expenses/january.csv where amount is greater than 10", &["2 of 3 rows", "car", "!7.25"]),
        ("mostra le righe di ~/Expenses/january.csv con amount maggiore di 10", &["2 righe su 3", "car", "!7,25"]),
    ),
    (
        "filter_lists",
        (
            "which rows are in ~/Expenses/january.csv but not in ~/Expenses/checked.csv",
            &["2 rows only in the first list", "3 in the first, 1 in the second", "car", "!12.5"],
        ),
        (
            "quali righe sono in ~/Expenses/january.csv ma non in ~/Expenses/checked.csv",
            &["2 righe solo nella prima lista", "3 nella prima, 1 nella seconda", "car", "!12,5"],
        ),
    ),
    (
        "filter_texts_lines",
        ("show the lines of ~/Notes/diary.md that contain rain", &["Tuesday: rain.\n", "!Monday"]),
        ("mostra le righe di ~/Notes/diary.md che contengono rain", &["Tuesday: rain.\n", "!Monday"]),
    ),
    (
        "filter_texts_lines",
        ("show the lines of ~/Notes/latin.txt that contain caff", &["caffè\n", "Latin-1"]),
        ("mostra le righe di ~/Notes/latin.txt che contengono caff", &["caffè\n", "Latin-1"]),
    ),
    (
        "filter_texts_lines",
        ("show the lines of ~/Logs/app.log that contain ERROR", &["ERROR 50\nand 10 more of 60 lines\n", "!ERROR 51"]),
        (
            "mostra le righe di ~/Logs/app.log che contengono ERROR",
            &["ERROR 50\ne altre 10 delle 60 righe\n", "!ERROR 51"],
        ),
    ),
    (
        "group_entries",
        ("count the files in ~/Downloads by type", &["7 files in 5 groups", "document      3", "total         7"]),
        (
            "quanti file per tipo ci sono in ~/Downloads",
            &["7 file in 5 gruppi", "documento       3", "totale          7"],
        ),
    ),
    (
        "classify_entries",
        ("classify the files in ~/Downloads by type", &["7 files in 5 classes", "document      3", "beach.jpg"]),
        ("classifica i file di ~/Downloads per tipo", &["7 file in 5 classi", "documento       3", "beach.jpg"]),
    ),
    (
        "render_entries",
        ("show ~/Expenses/january.csv as markdown", &["| date | category | amount |", "| 5 Jan 2026 | car | 40.00 |"]),
        (
            "mostra ~/Expenses/january.csv in markdown",
            &["| date | category | amount |", "| 5 gen 2026 | car | 40,00 |"],
        ),
    ),
    (
        "sort_entries",
        ("the 3 largest files in ~/Downloads", &["3 of 7 files by size, largest first", "2.0 kB", "!strange"]),
        ("i 3 file più grandi in ~/Downloads", &["3 file su 7 per dimensione, dal più grande", "2,0 kB", "!strange"]),
    ),
    (
        "sort_entries",
        ("sort the files in ~/Downloads by type", &["7 files by type, from A to Z", "\narchive   ", "\npicture   "]),
        (
            "ordina i file in ~/Downloads per tipo",
            &["7 file per tipo, dalla A alla Z", "\narchivio   ", "\nimmagine   "],
        ),
    ),
    (
        "sort_entries",
        ("sort ~/Expenses/huge.csv by price", &["100,000 rows by price", "and 99,950 more\n", "100,001 rows"]),
        ("ordina ~/Expenses/huge.csv per price", &["dalla più piccola", "e altre 99.950\n", "100.001"]),
    ),
    (
        "sort_entries",
        ("the 3 largest files in ~/Pictures/empty", &["nothing to sort", "Nothing was found in ", "!matches"]),
        (
            "i 3 file più grandi in ~/Pictures/empty",
            &["niente da ordinare", "Non è stato trovato nulla in ", "!corrisponde"],
        ),
    ),
];

/// Each of these is asked without consent first. What one lays another finds: they are carried out in this order.
const ACTS: &[Use] = &[
    (
        "create_dirs",
        ("make the folders ~/New/a and ~/New/b", &["Made 3 folders", "New/a", "New/b"]),
        ("crea una cartella ~/Nuova", &["Creata la cartella", "Nuova"]),
    ),
    (
        "write_files",
        ("write \"hello\" to ~/New/hello.txt", &["Wrote 5 bytes", "New/hello.txt"]),
        ("scrivi \"perché\" in ~/Nuova/ciao.txt", &["Scritti 7 byte", "Nuova/ciao.txt"]),
    ),
    (
        "move_files",
        ("move ~/New/hello.txt to ~/New/a", &["Moved ", "New/hello.txt to ", "New/a/hello.txt"]),
        ("sposta ~/Nuova/ciao.txt in ~/New/b", &["Spostato ", "Nuova/ciao.txt", "New/b/ciao.txt"]),
    ),
    (
        "move_files",
        (
            "move ~/in/a.txt and ~/in/b.txt to ~/out",
            &["in/b.txt to ", "1 item failed", "in/a.txt: There is one of that name already"],
        ),
        ("sposta ~/in/a.txt e ~/in/c.txt in ~/out", &["in/c.txt", "out/c.txt", "in/a.txt: C'è già"]),
    ),
    (
        "compress_files",
        ("zip ~/Notes to ~/New/notes.zip", &["Packed 5 files and 1 folder", "New/notes.zip"]),
        ("comprimi ~/Notes in ~/New/note.zip", &["5 file e 1 cartella", "compressi in", "New/note.zip"]),
    ),
    (
        "delete_files",
        ("delete ~/Downloads/strange.xyz", &["strange.xyz to the trash (1 byte)"]),
        ("cancella ~/Downloads/old.zip", &["old.zip", "nel cestino", "22 byte"]),
    ),
    (
        "delete_dirs",
        ("delete the folder ~/Pictures/empty", &["Pictures/empty to the trash"]),
        ("cancella la cartella ~/Many", &["Many", "nel cestino"]),
    ),
    ("undo_last_turn", ("undo", &["Undid «", "1 change taken back"]), ("annulla", &["Annullato «", "1 modifica"])),
];

/// Programs change nothing that could be taken back, and are asked about all the same.
const RUN: Use = ("create_processes", ("run \"seq 2 4\"", &["2\n3\n4\n"]), ("esegui \"seq 2 4\"", &["2\n3\n4\n"]));

/// A PDF of one page that says «Garden plan».
const PDF: &str = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj \
    3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj \
    4 0 obj<</Length 44>>stream\nBT /F1 18 Tf 20 100 Td (Garden plan) Tj ET  \nendstream endobj \
    5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\ntrailer<</Root 1 0 R>>\n";

fn household() -> Home {
    let home = Home::new();
    let photo = |mark: u8, length: usize| [&[0xff, 0xd8, 0xff][..], &vec![mark; length]].concat();
    dated(&home, "Downloads/beach.jpg", photo(b'B', 2000), IN_2023);
    home.file("Downloads/invoice.PDF", "%PDF-1.4 y");
    home.file("Downloads/manual.pdf", "%PDF-1.4 x");
    home.file("Downloads/old.zip", [&b"PK\x05\x06"[..], &[0; 18]].concat());
    home.file("Downloads/so far.txt", "hello");
    home.file("Downloads/song.mp3", [&b"ID3"[..], &[b'm'; 100]].concat());
    home.file("Downloads/strange.xyz", "?");
    home.file("Pictures/trip/sea.jpg", photo(b'S', 5000));
    home.file("Pictures/phone/sea (1).jpg", photo(b'S', 5000));
    home.file("Pictures/phone/hill.jpg", photo(b'H', 3000));
    std::fs::create_dir(home.files().join("Pictures/empty")).unwrap();
    for number in 1..=60 {
        home.file(format!("Many/f{number:02}.txt"), "x");
    }
    let january = "date,category,amount\n2026-01-03,food,12.50\n2026-01-05,car,40\n2026-01-09,food,7.25\n";
    home.file("Expenses/january.csv", january);
    home.file("Expenses/checked.csv", "date,category,amount\n2026-01-03,food,12.50\n");
    let ragged = "\u{feff}name;amount;note\nbread;2,50\nmilk;1,20;fresh;extra;more\n;;\ncheese;;hard\n";
    home.file("Expenses/ragged.csv", ragged);
    home.file("Expenses/huge.csv", format!("id,price\n{}", "7,0.5\n".repeat(100_001)));
    home.file("Expenses/empty.csv", "");
    home.file("Expenses/twice.csv", "amount,day,amount,\n1,03/04/2024,10,p\n2,4 Mar 2024,20,q\n3,soon,30,r\n");
    home.file("Logs/app.log", (1..=60).map(|number| format!("ERROR {number}")).collect::<Vec<_>>().join("\n"));
    home.file("Notes/diary.md", "Monday: planted tomatoes.\nTuesday: rain.\nWednesday: fixed the gate.\n");
    home.file(
        "Notes/diary2.md",
        "Monday: planted tomatoes.\nTuesday: sun.\nWednesday: fixed the gate.\nFriday: rest.\n",
    );
    home.file("Notes/people.txt", "Write to garden@example.org or to seeds@example.org, phone 055 123456.\n");
    home.file("Notes/latin.txt", b"caff\xe8\n");
    home.file("Notes/plan.pdf", PDF);
    for (name, text) in [("in/a.txt", "new"), ("in/b.txt", "b"), ("in/c.txt", "c"), ("out/a.txt", "old")] {
        home.file(name, text);
    }
    home.own(&home.files());
    home
}

/// One sentence, done by an executor and answered with its facts.
#[track_caller]
fn told(home: &Home, server: &Server, tool: &str, (sentence, facts): Said, approved: bool) {
    let sentence = sentence.replace("SERVER", &server.url(""));
    let ran = if approved { home.ask_approved(&sentence) } else { home.ask(&sentence) };
    if tool == "read_files_pdf" && !Path::new("/usr/bin/pdftotext").exists() {
        assert!(ran.code == 1 && ran.err.contains("poppler"), "{sentence}: {} {}", ran.out, ran.err);
        eprintln!("SKIPPED: pdftotext is not here, so no PDF was read");
        return;
    }
    assert_eq!(ran.code, 0, "{sentence}: {} {}", ran.out, ran.err);
    let record = home.run(["--json", "turn", "show"]).json();
    let used: Vec<&str> = record["steps"].as_array().unwrap().iter().filter_map(|step| step["tool"].as_str()).collect();
    assert!(used.contains(&tool), "{sentence}: {tool} was not used but {used:?}");
    for fact in facts {
        let fact = fact.replace("SERVER", &server.url(""));
        let (wanted, fact) = fact.strip_prefix('!').map_or((true, &*fact), |absent| (false, absent));
        assert_eq!(ran.out.contains(fact), wanted, "{sentence}: «{fact}», {wanted}, in: {}", ran.out);
    }
    let raw = ran.out.trim_start().starts_with(['{', '[']) && tool != "get_urls";
    assert!(!raw && ran.out.ends_with('\n') && !ran.out.contains("undefined"), "{sentence}: {}", ran.out);
}

#[test]
fn every_executor_has_a_sentence_in_each_language() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("executors");
    let mut there: BTreeSet<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    there.extend(["get_processes".to_owned(), "undo_last_turn".to_owned()]);
    let asked = LOOKS.iter().chain(ACTS).chain([&RUN]).map(|(tool, ..)| *tool);
    let asked: BTreeSet<String> = asked.map(str::to_owned).collect();
    assert_eq!(asked, there);
}

#[test]
fn every_look_is_answered_with_its_facts() {
    let (home, server) = (household(), Server::start());
    let before = tree(&home);
    for (tool, english, italian) in LOOKS {
        told(&home, &server, tool, *english, false);
        told(&home, &server, tool, *italian, false);
    }
    assert_eq!(tree(&home), before);
    home.is_whole();
}

#[test]
fn every_act_waits_for_consent_and_is_answered_with_its_facts() {
    let (home, server) = (household(), Server::start());
    for (tool, english, italian) in ACTS.iter().chain([&RUN]) {
        for said in [*english, *italian] {
            let before = tree(&home);
            let ran = home.ask(said.0);
            assert_eq!(ran.code, 3, "{}: {} {}", said.0, ran.out, ran.err);
            assert_eq!(tree(&home), before, "{}", said.0);
            assert!(*tool != RUN.0 || ran.err.contains("\n  seq 2 4\n"), "what would run is not told: {}", ran.err);
            told(&home, &server, tool, said, true);
            assert_eq!(tree(&home) == before, *tool == RUN.0, "{}", said.0);
        }
    }
    home.is_whole();
}

/// What is written to files is for people: their language, their clock, sizes that can be read.
#[test]
fn reports_are_written_for_a_person() {
    let home = household();
    for (sentence, report, told, facts) in [
        (
            "find all files in ~/Downloads and write a report to ~/report.md",
            "report.md",
            "Wrote 7 entries (",
            [
                "| path | size | modified |",
                "/beach.jpg | 2.0 kB | 15 Jun 2023 14:00 |\n",
                "\n7 files, 2.2 kB in all.\n",
            ],
        ),
        (
            "salva l'elenco dei file di ~/Downloads in ~/elenco.csv",
            "elenco.csv",
            "Scritti 7 elementi (",
            ["percorso,dimensione (byte),modificato\n", "/beach.jpg,2003,2023-06-15 14:00:00\n", "/strange.xyz,1,"],
        ),
        (
            "somma amount per category di ~/Expenses/january.csv e salva il risultato in ~/somma.md",
            "somma.md",
            "Scritti 2 elementi (",
            ["| category | quanti | somma di amount |\n", "| car | 1 | 40,00 |\n", "| food | 2 | 19,75 |\n"],
        ),
    ] {
        let ran = home.ask_approved(sentence);
        assert!(ran.code == 0 && ran.out.contains(told), "{sentence}: {} {}", ran.out, ran.err);
        let text = std::fs::read_to_string(home.files().join(report)).unwrap();
        for fact in facts {
            assert!(text.contains(fact), "{sentence}: «{fact}» in: {text}");
        }
        assert!(!text.contains("path_b64") && !text.contains("Z |"), "{text}");
    }
}

/// What changes nothing says so.
#[test]
fn a_folder_that_is_there_is_said_to_be_there() {
    let home = household();
    for (sentence, answer) in [
        ("make the folder ~/Notes", "The folder is there already.\n"),
        ("crea la cartella ~/Notes", "La cartella c'è già.\n"),
    ] {
        let ran = home.ask_approved(sentence);
        assert_eq!((ran.code, &*ran.out), (0, answer), "{sentence}: {}", ran.err);
    }
}

/// What cannot be done says why, and what can.
#[test]
fn a_refusal_names_what_is_there() {
    let home = household();
    for (sentence, reason) in [
        (
            "sum the category in ~/Expenses/january.csv",
            "None of the 3 values of «category» is a number; numbers are in: amount.",
        ),
        (
            "somma la colonna category di ~/Expenses/january.csv",
            "Nessuno dei 3 valori di «category» è un numero; ci sono numeri in: amount.",
        ),
        ("extract the email addresses from ~/Notes/diary.md", "There are no email addresses in it."),
        ("estrai gli indirizzi email da ~/Notes/diary.md", "Non ci sono indirizzi email."),
        ("which folder in ~/Pictures is the largest", "Folders have no size of their own"),
        ("quale cartella in ~/Pictures è la più grande", "Le cartelle non hanno una dimensione propria"),
        ("comprimi i file txt di ~/Pictures in ~/niente.zip", "Non è stato trovato niente da comprimere"),
    ] {
        let ran = home.ask_approved(sentence);
        assert!(ran.code == 1 && ran.err.contains(reason), "{sentence}: {} {}", ran.out, ran.err);
    }
}
