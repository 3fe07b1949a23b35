//! Five tasks of a household, from the sentence to the undo: real files, a real page, the real binary.
//!
//! Each task is asked without consent first, then with it, checked entry by entry, and taken back. Their histories are
//! in `replay-tests/histories`; the answers of single executors are checked in `seeds.rs`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use super::acts::tree;
use super::home::Home;
use super::server::Server;

/// Asks for an act that nobody consents to, then with consent; the tree stands still until then. Returns the answer.
#[track_caller]
fn consented(home: &Home, sentence: &str, asked: &[&str]) -> String {
    let before = tree(home);
    let ran = home.ask(sentence);
    assert_eq!(ran.code, 3, "{sentence}: {} {}", ran.out, ran.err);
    for words in asked {
        assert!(ran.err.contains(words), "{sentence}: no «{words}» in: {}", ran.err);
    }
    assert_eq!(tree(home), before, "{sentence}");
    let ran = home.ask_approved(sentence);
    assert_eq!(ran.code, 0, "{sentence}: {} {}", ran.out, ran.err);
    assert_ne!(tree(home), before, "{sentence}");
    ran.out
}

/// Undoes the last act, which gives back the tree; asked without consent first, like any other act.
#[track_caller]
fn taken_back(home: &Home, sentence: &str, before: &BTreeMap<PathBuf, Option<Vec<u8>>>) -> String {
    let undone = consented(home, sentence, &[]);
    assert_eq!(&tree(home), before, "{sentence}");
    home.is_whole();
    undone
}

/// Lays a file that was last changed at noon (UTC) of a day, given in seconds of the epoch.
pub(crate) fn dated(home: &Home, name: &str, bytes: impl AsRef<[u8]>, seconds: u64) {
    let path = home.file(name, bytes);
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
}

// 15 June of each, noon in Greenwich.
pub(crate) const IN_2023: u64 = 1_686_830_400;
const IN_2024: u64 = 1_718_452_800;

/// Where each download belongs, by its type and year.
const DOWNLOADS: [(&str, &str, u64); 8] = [
    ("beach.jpg", "picture/2023", IN_2023),
    ("film.mkv", "video/2024", IN_2024),
    ("invoice.PDF", "document/2023", IN_2023),
    ("old.zip", "archive/2023", IN_2023),
    ("so far.txt", "document/2024", IN_2024),
    ("song.mp3", "audio/2024", IN_2024),
    ("strange.xyz", "other/2024", IN_2024),
    ("sunset.png", "picture/2024", IN_2024),
];

#[test]
fn a_download_folder_is_tidied_by_type_and_year() {
    for (folder, sentence, told, undo) in [
        ("Downloads", "tidy ~/Downloads by type and year", "Moved 8 files", "undo"),
        ("Scaricati", "metti in ordine ~/Scaricati per tipo e anno", "Spostati 8 file", "annulla"),
    ] {
        let home = Home::new();
        for (name, _, day) in DOWNLOADS {
            dated(&home, &format!("{folder}/{name}"), name, day);
        }
        home.file(format!("{folder}/project/inner.txt"), "a folder is left as it is");
        let before = tree(&home);
        let said = consented(&home, sentence, &["beach.jpg", "picture/2023", "strange.xyz", "other/2024"]);
        assert!(said.contains(told), "{said}");
        let after = tree(&home);
        for (name, place, _) in DOWNLOADS {
            let there = home.files().join(folder).join(place).join(name);
            assert_eq!(after[&there].as_deref(), Some(name.as_bytes()), "{name}");
            assert!(!after.contains_key(&home.files().join(folder).join(name)), "{name}");
            assert!(said.contains(&*there.to_string_lossy()), "{name} is not told: {said}");
        }
        assert!(after.contains_key(&home.files().join(folder).join("project/inner.txt")));
        let files = |tree: &BTreeMap<PathBuf, Option<Vec<u8>>>| tree.values().flatten().count();
        assert_eq!(files(&after), files(&before), "nothing more, nothing less");
        let undone = taken_back(&home, undo, &before);
        assert!(undone.contains(sentence), "{undone}");
    }
}

/// The names and bytes in an archive, read by a reader that is not ours.
fn archived(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let script = "import sys, zipfile\nwith zipfile.ZipFile(sys.argv[1]) as a:\n assert a.testzip() is None\n \
                  [print(i.filename, a.read(i).hex(), sep='\\t') for i in a.infolist()]";
    let ran = Command::new("python3").args(["-I", "-S", "-c", script]).arg(path).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let bytes = |hex: &str| hex.as_bytes().chunks(2).map(|two| std::str::from_utf8(two).unwrap().to_owned()).collect();
    let listed = String::from_utf8(ran.stdout).unwrap();
    let mut found = BTreeMap::new();
    for line in listed.lines() {
        let (name, hex) = line.split_once('\t').unwrap();
        let digits: Vec<String> = bytes(hex);
        let content = digits.iter().map(|two| u8::from_str_radix(two, 16).unwrap()).collect();
        assert!(found.insert(name.to_owned(), content).is_none(), "{name} is there twice");
    }
    found
}

#[test]
fn duplicate_photos_are_found_and_the_originals_zipped() {
    let photo = |mark: u8, length: usize| [&[0xff, 0xd8, 0xff, 0xe0][..], &vec![mark; length]].concat();
    let home = Home::new();
    dated(&home, "Pictures/trip/sea.jpg", photo(b'S', 5000), IN_2023);
    dated(&home, "Pictures/phone/sea (1).jpg", photo(b'S', 5000), IN_2023 + 60);
    dated(&home, "Pictures/phone/IMG_7.JPG", photo(b'S', 5000), IN_2023 + 120);
    dated(&home, "Pictures/trip/hill.png", photo(b'H', 3000), IN_2024);
    dated(&home, "Pictures/hill copy.png", photo(b'H', 3000), IN_2024 + 60);
    // Neither of these is a photo twice: one is alone, one differs in its last byte, one is no photo.
    dated(&home, "Pictures/alone.jpg", photo(b'A', 5000), IN_2023);
    dated(&home, "Pictures/nearly.jpg", [photo(b'S', 4999), vec![b'T']].concat(), IN_2023);
    home.file("Pictures/one.txt", "the same");
    home.file("Pictures/two.txt", "the same");
    let before = tree(&home);
    let listed = home.ask("find duplicate photos in ~/Pictures");
    assert_eq!(listed.code, 0, "{}", listed.err);
    for words in ["3 copies of 2 files", "13.0 kB", "trip/sea.jpg", "phone/IMG_7.JPG", "hill copy.png"] {
        assert!(listed.out.contains(words), "no «{words}»: {}", listed.out);
    }
    assert!(["alone", "nearly", "one.txt"].iter().all(|name| !listed.out.contains(name)), "{}", listed.out);
    for (sentence, archive, told, undo) in [
        (
            "find duplicate photos in ~/Pictures and zip the originals to ~/originals.zip",
            "originals.zip",
            "Packed 2 files (8.0 kB)",
            "undo",
        ),
        (
            "trova le foto doppie in ~/Pictures e comprimi gli originali in ~/originali.zip",
            "originali.zip",
            "2 file (8,0 kB) compressi",
            "annulla",
        ),
    ] {
        let said = consented(&home, sentence, &[archive]);
        let path = home.files().join(archive);
        let bytes = std::fs::metadata(&path).unwrap().len().to_string();
        assert!(said.contains(told) && said.contains(&bytes), "{said}");
        let expected =
            BTreeMap::from([("hill.png".to_owned(), photo(b'H', 3000)), ("sea.jpg".to_owned(), photo(b'S', 5000))]);
        assert_eq!(archived(&path), expected);
        taken_back(&home, undo, &before);
    }
}

/// Three CSVs as three banks write them; what is in them is known here in cents.
const EXPENSES: [(&str, &str); 3] = [
    (
        "january.csv",
        "date,category,amount\n2026-01-03,food,12.50\n2026-01-05,car,40\n2026-01-07,\"garden, balcony\",8.05\n",
    ),
    (
        "february.csv",
        "\u{feff}date;category;amount\r\n03/02/2026;food;1.234,56\r\n14/02/2026;home;99,90\r\n15/02/2026;car;20,00;spare\r\n",
    ),
    ("march.csv", "date,category,amount\n2026-03-01,home,10.00\n2026-03-02,food\n2026-03-04,car,\"1,000.10\"\n"),
];

/// Cents spent, by category.
fn spent() -> BTreeMap<&'static str, u64> {
    let mut sums = BTreeMap::new();
    for (category, cents) in [
        ("food", 1250),
        ("car", 4000),
        ("garden, balcony", 805),
        ("food", 123_456),
        ("home", 9990),
        ("car", 2000),
        ("home", 1000),
        ("car", 100_010),
    ] {
        *sums.entry(category).or_insert(0) += cents;
    }
    sums
}

/// An amount as a person of a language writes it.
fn money(cents: u64, thousands: char, point: char) -> String {
    let (whole, rest) = (cents / 100, cents % 100);
    if whole < 1000 {
        return format!("{whole}{point}{rest:02}");
    }
    format!("{}{thousands}{:03}{point}{rest:02}", whole / 1000, whole % 1000)
}

#[test]
fn expenses_of_three_csvs_are_summed_by_category() {
    let home = Home::new();
    for (name, text) in EXPENSES {
        home.file(format!("Expenses/{name}"), text);
    }
    let before = tree(&home);
    let files = |and: &str| format!("~/Expenses/january.csv, ~/Expenses/february.csv {and} ~/Expenses/march.csv");
    for (sentence, thousands, point, total, left_out) in [
        (format!("sum the amount by category from {}", files("and")), ',', '.', "total", "1 value is no number"),
        (
            format!("somma la colonna amount per category da {}", files("e")),
            '.',
            ',',
            "totale",
            "1 valore non è un numero",
        ),
    ] {
        let ran = home.ask(&sentence);
        assert_eq!(ran.code, 0, "{sentence}: {}", ran.err);
        let told = |name: &str| {
            let line = ran.out.lines().find(|line| line.starts_with(name));
            line.unwrap_or_else(|| panic!("no {name} in: {}", ran.out)).split_whitespace().next_back().unwrap()
        };
        for (category, cents) in spent() {
            assert_eq!(told(category), money(cents, thousands, point), "{category}: {}", ran.out);
        }
        assert_eq!(told(total), money(spent().values().sum(), thousands, point), "{}", ran.out);
        assert!(ran.out.contains(left_out), "{}", ran.out);
        assert!(ran.out.starts_with("9 "), "nine rows were read: {}", ran.out);
    }
    assert_eq!(tree(&home), before);
    home.is_whole();
}

#[test]
fn what_changed_this_week_is_listed_and_reported() {
    let home = Home::new();
    home.file("Notes/diary.md", "fixed the gate\n");
    home.file("Notes/garden/plan.txt", "tomatoes\n");
    dated(&home, "Notes/last year.md", "snow\n", IN_2023);
    dated(&home, "Notes/garden/seeds.csv", "a,b\n", IN_2024);
    let before = tree(&home);
    for (list, sentence, report, told, undo) in [
        (
            "list what changed this week in ~/Notes",
            "list what changed this week in ~/Notes and write a report to ~/report.md",
            "report.md",
            ["2 files", "Wrote "],
            "undo",
        ),
        (
            "elenca cosa è cambiato questa settimana in ~/Notes",
            "elenca cosa è cambiato questa settimana in ~/Notes e scrivi un rapporto in ~/rapporto.md",
            "rapporto.md",
            ["2 file", "Scritti "],
            "annulla",
        ),
    ] {
        let ran = home.ask(list);
        assert!(ran.code == 0 && ran.out.contains(told[0]), "{} {}", ran.out, ran.err);
        let said = consented(&home, sentence, &[report]);
        let path = home.files().join(report);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(said.contains(told[1]) && said.contains(&text.len().to_string()), "{said}");
        for answer in [&ran.out, &text] {
            assert!(answer.contains("Notes/diary.md") && answer.contains("Notes/garden/plan.txt"), "{answer}");
            assert!(!answer.contains("last year") && !answer.contains("seeds.csv"), "{answer}");
        }
        let rows = text.lines().filter(|line| line.contains("/Notes/")).count();
        assert_eq!(rows, 2, "{text}");
        let (table, summary) = text.split_once("\n\n").unwrap();
        assert!(table.lines().all(|line| line.starts_with('|') && line.ends_with('|')), "no table: {text}");
        assert!(summary.starts_with("2 file"), "{text}");
        taken_back(&home, undo, &before);
    }
}

#[test]
fn the_links_of_a_page_are_kept_as_a_table() {
    let server = Server::start();
    let home = Home::new();
    let before = tree(&home);
    for (sentence, file, told, undo) in [
        (format!("save the links of {} as a table in ~/links.md", server.url("/page")), "links.md", "Wrote ", "undo"),
        (
            format!("salva i link di {} come tabella in ~/link.md", server.url("/page")),
            "link.md",
            "Scritti ",
            "annulla",
        ),
    ] {
        let said = consented(&home, &sentence, &[file]);
        let text = std::fs::read_to_string(home.files().join(file)).unwrap();
        assert!(said.contains(told) && said.contains(&text.len().to_string()), "{said}");
        let expected = [
            "| text | url |".to_owned(),
            "| --- | --- |".to_owned(),
            format!("| Home | {} |", server.url("/home")),
            "| Tomatoes | https://example.org/tomatoes |".to_owned(),
            format!("| Seeds \\| bulbs | {} |", server.url("/seeds.html")),
            "| mail | mailto:garden@example.org |".to_owned(),
        ];
        assert_eq!(text.trim_end().lines().collect::<Vec<_>>(), expected);
        taken_back(&home, undo, &before);
    }
}
