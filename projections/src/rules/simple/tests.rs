//! The engine over a small catalog: sentences of both languages against the plans that are right, and what must not happen.

mod answers;
mod times;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use include_dir::{Dir, include_dir};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Facts, Lexicons, Proposal, Tool, Tools, candidates_for_existing, propose};
use crate::messages::{Language, Messages};
use crate::plan::{AbstentionKind, AnswerSpec, Origin, Plan};

/// Saturday 21 November 2026, 23:26:40 in Rome.
const NOW_US: i64 = 1_795_300_000_000_000;

static EXECUTORS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../executors");
static BUILTINS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../src/builtins");

/// Every executor that ships.
fn catalog() -> Tools {
    Tools::new(EXECUTORS.dirs().chain(BUILTINS.dirs()).map(read_tool).collect(), String::new())
}

fn read_tool(folder: &Dir<'_>) -> Tool {
    let text = |name: &str| folder.get_file(folder.path().join(name)).and_then(|f| f.contents_utf8()).unwrap();
    let schema: Value = serde_json::from_str(text("schema.json")).unwrap();
    Tool { manifest: toml::from_str(text("manifest.toml")).unwrap(), input: schema["definitions"]["Input"].clone() }
}

struct World {
    lexicons: Lexicons,
    tools: Tools,
    messages: Messages,
}

/// Built once: reading all manifests and words takes most of a test's time.
fn world() -> &'static World {
    static WORLD: LazyLock<World> = LazyLock::new(World::new);
    &WORLD
}

impl World {
    fn new() -> Self {
        Self { lexicons: Lexicons::embedded(), tools: catalog(), messages: Messages::embedded() }
    }

    fn facts(existing: &[(u32, u32)]) -> Facts<'_> {
        Facts {
            now_us: NOW_US,
            zone: "Europe/Rome",
            home: "/home/owner",
            cwd: "/home/owner",
            language: None,
            fallback: Language::En,
            existing,
        }
    }

    fn propose(&self, text: &str) -> Proposal {
        propose(&self.lexicons, &self.tools, &self.messages, &Self::facts(&[]), text)
    }

    /// The proposal in one line: `tool {args} > tool {args} => what is told`, or how it abstains.
    fn line(&self, text: &str) -> String {
        line(&self.propose(text).plan)
    }
}

fn line(plan: &Plan) -> String {
    if let Some(abstention) = &plan.abstention {
        return match abstention.kind {
            AbstentionKind::Ask => "ask".to_owned(),
            AbstentionKind::Cannot => "cannot".to_owned(),
        };
    }
    let steps: Vec<String> = plan.steps.iter().map(|s| format!("{} {}", s.tool, s.args)).collect();
    let tell = match &plan.answer {
        AnswerSpec::Result => String::new(),
        AnswerSpec::Count => " => count".to_owned(),
        AnswerSpec::Field { path } => format!(" => {path}"),
    };
    steps.join(" > ") + &tell
}

#[test]
fn sentences_become_the_right_plans() {
    let world = world();
    let table: Vec<(&str, &str)> =
        include_str!("tests/sentences.tsv").lines().filter_map(|l| l.split_once('\t')).collect();
    assert!(table.len() >= 80, "the table lost its rows: {}", table.len());
    let wrong: Vec<String> = table
        .iter()
        .filter_map(|(text, right)| {
            let got = world.line(text);
            (got != *right).then(|| format!("{text}\n   want {right}\n   got  {got}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} sentences:\n{}", wrong.len(), table.len(), wrong.join("\n"));
}

#[test]
fn abstains_with_words_in_the_language_of_the_sentence() {
    let world = world();
    for (text, language) in
        [("play some jazz in the kitchen", Language::En), ("metti un po' di jazz in cucina", Language::It)]
    {
        let proposal = world.propose(text);
        assert_eq!(proposal.language, language, "{text}");
        assert!(proposal.plan.steps.is_empty(), "{text}");
        assert!(!proposal.plan.abstention.unwrap().message.is_empty(), "{text}");
    }
}

#[test]
fn no_message_shows_its_key() {
    let world = world();
    let sentences = [
        "",
        "read",
        "write \"x\"",
        "remove those",
        "play jazz",
        "don't read ~/a.txt",
        "the odd files in ~/x",
        "fetch",
        "how many bytes did you write",
    ];
    for text in sentences {
        for language in Language::ALL {
            let facts = Facts { language: Some(language), ..World::facts(&[]) };
            let plan = propose(&world.lexicons, &world.tools, &world.messages, &facts, text).plan;
            let message = plan.abstention.unwrap().message;
            assert!(!message.contains('['), "{text}: {message}");
        }
    }
}

#[test]
fn an_unexplained_word_lowers_the_confidence() {
    let world = world();
    let sure = world.propose("find the txt files in ~/drafts").plan.confidence_permille;
    let less = world.propose("find the txt files gronkly in ~/drafts").plan.confidence_permille;
    let least = world.propose("find the txt files gronkly in ~/drafts zorbing flumly").plan.confidence_permille;
    assert_eq!(sure, 1000);
    assert!(less < sure && least < less, "{sure} {less} {least}");
}

#[test]
fn a_plan_that_changes_something_needs_every_word() {
    let world = world();
    assert!(world.line("write \"x\" to ~/a.txt").starts_with("write_files"));
    assert_eq!(world.line("write \"x\" gronkly to ~/a.txt"), "ask");
}

#[test]
fn values_come_from_the_bytes_that_they_name() {
    let world = world();
    let text = "leggi «perché.txt» e dimmi le ultime tre righe";
    let plan = world.propose(text).plan;
    let origin = |pointer: &str| match plan.steps[0].provenance[pointer] {
        Origin::Words { start, end } => &text[start as usize..end as usize],
        _ => "",
    };
    assert_eq!(origin("/paths/0"), "perché.txt");
    assert_eq!(origin("/tail_lines"), "ultime tre righe");
}

/// «old» is a word of the sentence everywhere else, and so is every other word that a folder may be called by.
#[test]
fn the_folder_that_a_word_announces_is_called_by_whatever_follows() {
    let world = world();
    let plan = |text: &str, name: &str| {
        let start = text.rfind(name).unwrap();
        let range = (u32::try_from(start).unwrap(), u32::try_from(start + name.len()).unwrap());
        line(&propose(&world.lexicons, &world.tools, &world.messages, &World::facts(&[range]), text).plan)
    };
    let all = |name: &str| format!(r#"find_files {{"base_path":"{name}"}} > delete_files {{"from_step":1}}"#);
    assert_eq!(plan("delete all the files in the folder old", "old"), all("old"));
    assert_eq!(plan("delete the files in the directory list.", "list"), all("list"));
    assert_eq!(plan("cancella tutti i file nella cartella nuovi", "nuovi"), all("nuovi"));
    for text in [
        "delete all the files in the old folder",
        "delete the old files",
        "delete all the files in the folder old and new",
    ] {
        assert_eq!(plan(text, "old"), "ask", "{text}");
    }
}

#[test]
fn what_exists_is_a_path_whatever_its_name() {
    let world = world();
    let text = "read my shopping list and tell me the last three lines";
    let start = text.find("my shopping list").unwrap();
    let range = (u32::try_from(start).unwrap(), u32::try_from(start + "my shopping list".len()).unwrap());
    assert!(candidates_for_existing(text).contains(&range));
    let existing = [range];
    let plan = propose(&world.lexicons, &world.tools, &world.messages, &World::facts(&existing), text).plan;
    assert_eq!(line(&plan), r#"read_files {"paths":["my shopping list"],"tail_lines":3}"#);
}

#[test]
fn candidates_are_bounded_and_on_characters() {
    let text = "è ".repeat(5_000) + "~/a b/c.txt";
    let ranges = candidates_for_existing(&text);
    assert!(ranges.len() <= 64);
    assert!(ranges.iter().all(|&(from, to)| text.get(from as usize..to as usize).is_some()));
}

#[test]
fn long_empty_and_odd_sentences_are_asked_about() {
    let world = world();
    let long = "leggi il file e poi ".repeat(5_200);
    for text in ["", "   \n\t", "?!", &long, "read \u{1b}[31m~/a.txt", "🙂"] {
        assert_eq!(world.line(text), "ask", "{:?}", text.chars().take(20).collect::<String>());
    }
}

#[test]
fn a_forced_language_is_kept() {
    let world = world();
    let facts = Facts { language: Some(Language::It), ..World::facts(&[]) };
    let proposal = propose(&world.lexicons, &world.tools, &world.messages, &facts, "read ~/a.txt");
    assert_eq!(proposal.language, Language::It);
    assert_eq!(line(&proposal.plan), r#"read_files {"paths":["~/a.txt"]}"#);
}

#[test]
fn a_changed_entry_changes_the_digest_and_the_plan() {
    let en = include_str!("../../../../prompts/en/lexicon.toml");
    let it = include_str!("../../../../prompts/it/lexicon.toml");
    let changed = en.replace("\"larger than\"", "\"vaster than\"");
    assert_ne!(changed, en);
    let lexicons = Lexicons::parse(&changed, it).unwrap();
    assert_ne!(lexicons.digest(), Lexicons::embedded().digest());
    let world = World { lexicons, ..World::new() };
    let text = "find files larger than 5 MB in ~/docs";
    assert_ne!(world.line(text), World::new().line(text));
}

#[test]
fn an_unknown_field_of_a_lexicon_is_refused_by_name() {
    let en = include_str!("../../../../prompts/en/lexicon.toml");
    let it = include_str!("../../../../prompts/it/lexicon.toml");
    let broken = format!("nonsense = 1\n{en}");
    let error = Lexicons::parse(&broken, it).unwrap_err().to_string();
    assert!(error.contains("prompts/en/lexicon.toml") && error.contains("nonsense"), "{error}");
}

#[test]
fn a_further_manifest_extends_the_engine() {
    let mut median = read_tool(EXECUTORS.get_dir("get_now").unwrap());
    "compute_files_median".clone_into(&mut median.manifest.executor.name);
    median.manifest.executor.affinity = vec!["frobnicate".to_owned(), "median".to_owned()];
    median.manifest.arguments = serde_json::from_value(json!({"path": {"role": "path"}})).unwrap();
    median.manifest.sentences =
        serde_json::from_value(json!({"en": [{"text": "(frobnicate|defrobnicate) {path} [twice]"}], "it": []}))
            .unwrap();
    median.input = json!({"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}});
    let tools = EXECUTORS.dirs().map(read_tool).chain([median]);
    let world = World { tools: Tools::new(tools.collect(), String::new()), ..World::new() };
    assert_eq!(world.line("frobnicate ~/a.csv twice"), r#"compute_files_median {"path":"~/a.csv"}"#);
}

#[test]
fn a_further_manifest_that_acts_is_found_by_its_own_sentences() {
    let mut stamp = read_tool(EXECUTORS.get_dir("write_files").unwrap());
    "change_files_stamp".clone_into(&mut stamp.manifest.executor.name);
    "owner".clone_into(&mut stamp.manifest.executor.created_by);
    stamp.manifest.executor.affinity = vec!["stamp".to_owned(), "timbra".to_owned()];
    stamp.manifest.arguments = serde_json::from_value(json!({"path": {"role": "target_path"}})).unwrap();
    stamp.manifest.sentences = serde_json::from_value(json!({
        "en": [{"text": "stamp {path}"}, {"text": "glaze [the] [file] {path}"}, {"text": "embellish everything"}],
        "it": [{"text": "timbra [il file] {path}"}],
    }))
    .unwrap();
    stamp.input = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    assert!(stamp.manifest.contract.side_effects);
    let tools = EXECUTORS.dirs().map(read_tool).chain([stamp]);
    let world = World { tools: Tools::new(tools.collect(), String::new()), ..World::new() };
    for (sentence, path) in [
        ("stamp ~/notes/a.txt", "~/notes/a.txt"),
        ("stamp notes.txt", "notes.txt"),
        ("please stamp notes.txt", "notes.txt"),
        ("glaze the file notes.txt", "notes.txt"),
        ("glaze notes.txt", "notes.txt"),
        ("timbra notes.txt", "notes.txt"),
        ("timbra il file ~/notes/a.txt", "~/notes/a.txt"),
    ] {
        assert_eq!(world.line(sentence), format!(r#"change_files_stamp {{"path":"{path}"}}"#), "{sentence}");
    }
    assert_eq!(world.line("embellish everything"), "change_files_stamp {}");
    // Nothing less than its whole sentence leads to it.
    for sentence in ["stamp", "read notes.txt", "stamp notes.txt and delete it", "where is the stamp in notes.txt"] {
        assert!(!world.line(sentence).contains("change_files_stamp"), "{sentence}: {}", world.line(sentence));
    }
}

/// «stamp the file notes.txt» was read, and surely so: the verb was taken for another.
#[test]
fn an_added_executors_verb_is_its_own_or_asked_about() {
    let mut stamp = read_tool(EXECUTORS.get_dir("write_files").unwrap());
    "change_files_stamp".clone_into(&mut stamp.manifest.executor.name);
    "owner".clone_into(&mut stamp.manifest.executor.created_by);
    stamp.manifest.executor.affinity = vec!["stamp".to_owned()];
    stamp.manifest.arguments = serde_json::from_value(json!({"path": {"role": "target_path"}})).unwrap();
    let sentences =
        json!({"en": [{"text": "stamp {path}"}, {"text": "glaze {path}"}], "it": [{"text": "bolla {path}"}]});
    stamp.manifest.sentences = serde_json::from_value(sentences).unwrap();
    stamp.input = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let tools = EXECUTORS.dirs().chain(BUILTINS.dirs()).map(read_tool).chain([stamp]);
    let world = World { tools: Tools::new(tools.collect(), String::new()), ..World::new() };
    for (sentence, path) in [
        ("stamp the file notes.txt", "notes.txt"),
        ("stamp the file x", "x"),
        ("stamp the document ~/notes/a.txt", "~/notes/a.txt"),
        ("please stamp the file named notes.txt", "notes.txt"),
        ("glaze the file notes.txt", "notes.txt"),
        ("bolla il file notes.txt", "notes.txt"),
        ("per favore bolla il documento ~/notes/a.txt", "~/notes/a.txt"),
    ] {
        assert_eq!(world.line(sentence), format!(r#"change_files_stamp {{"path":"{path}"}}"#), "{sentence}");
    }
    for (sentence, says) in [
        ("stamp", "stamp {path}"),
        ("stamp the file notes.txt twice", "stamp {path}"),
        ("stamp the lines of notes.txt that contain \"x\"", "stamp {path}"),
        ("glaze the last three lines of notes.txt", "glaze {path}"),
        ("bolla le ultime tre righe di notes.txt", "bolla {path}"),
        ("bolla il file notes.txt e il file altro.txt", "bolla {path}"),
    ] {
        let plan = world.propose(sentence).plan;
        assert_eq!(line(&plan), "ask", "{sentence}: {plan:?}");
        let abstention = plan.abstention.unwrap();
        assert_eq!(abstention.candidates, ["change_files_stamp"], "{sentence}");
        let is_named = abstention.message.contains("change_files_stamp") && abstention.message.contains(says);
        assert!(is_named, "{sentence}: {}", abstention.message);
    }
    // Words that a lexicon has mean what they always do.
    for sentence in
        ["read the file notes.txt", "print notes.txt", "stampa il file notes.txt", "read notes.txt and stamp"]
    {
        assert!(!world.line(sentence).contains("change_files_stamp"), "{sentence}: {}", world.line(sentence));
    }
    assert_eq!(world.line("stampa il file notes.txt"), self::world().line("stampa il file notes.txt"));
}

#[test]
fn ranking_follows_the_scores() {
    let world = world();
    let proposal = world.propose("read the file ~/a.txt");
    assert_eq!(proposal.candidates[0].tool, "read_files");
    assert!(proposal.candidates.iter().all(|c| c.score > 0));
    assert!((5..=8).contains(&proposal.k));
}

// --- any input ----------------------------------------------------------------------------------------------------

/// Every byte range that a plan names lies on characters of the sentence; every reference names an earlier step.
fn check(text: &str, proposal: &Proposal) {
    assert_eq!(proposal.plan.steps.is_empty(), proposal.plan.abstention.is_some(), "{text:?}");
    for (number, step) in (1_u32..).zip(&proposal.plan.steps) {
        for (pointer, origin) in &step.provenance {
            assert!(step.args.pointer(pointer).is_some(), "{text:?}: {pointer}");
            match origin {
                Origin::Words { start, end } => {
                    let words = text.get(*start as usize..*end as usize);
                    assert!(words.is_some_and(|w| !w.is_empty()), "{text:?}: {pointer}");
                }
                Origin::Step { step, .. } => assert!((1..number).contains(step), "{text:?}: {pointer}"),
                Origin::Configuration | Origin::Default | Origin::Model => {}
            }
        }
        for key in step.args.as_object().unwrap().keys() {
            let named = |p: &String| p == &format!("/{key}") || p.starts_with(&format!("/{key}/"));
            assert!(step.provenance.keys().any(named), "{text:?}: {key} comes from nowhere");
        }
    }
}

const PIECES: [&str; 40] = [
    "read",
    "leggi",
    "the",
    "il",
    "file",
    "~/a.txt",
    "~/dir",
    "and",
    "e",
    ",",
    "last",
    "ultime",
    "tre",
    "three",
    "lines",
    "righe",
    "\"x y\"",
    "«ciao»",
    "http://127.0.0.1:8/x",
    "fetch",
    "scarica",
    "save it to",
    "salvalo in",
    "how many",
    "quanti",
    ".md",
    "in",
    "not",
    "non",
    "containing",
    "con",
    "larger than",
    "5 MB",
    "yesterday",
    "ieri",
    "only",
    "solo l'UUID",
    "è",
    "'",
    "write",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_text_is_planned_or_asked_about(text in "\\PC{0,120}") {
        let world = world();
        check(&text, &world.propose(&text));
    }

    #[test]
    fn any_words_of_the_lexicons_are_planned_or_asked_about(picked in proptest::collection::vec(0..PIECES.len(), 1..16)) {
        let world = world();
        let text = picked.iter().map(|&i| PIECES[i]).collect::<Vec<_>>().join(" ");
        check(&text, &world.propose(&text));
    }

    #[test]
    fn any_ranges_said_to_exist_do_no_harm(from in 0_u32..200, to in 0_u32..200) {
        let world = world();
        let text = "leggi il file è qui e dimmi le ultime «tre» righe";
        let existing = [(from, to)];
        let proposal = propose(&world.lexicons, &world.tools, &world.messages, &World::facts(&existing), text);
        check(text, &proposal);
    }
}

#[test]
fn words_that_tell_no_language_are_answered_in_the_persons_own() {
    let world = world();
    for fallback in Language::ALL {
        for text in ["foo", "foo bar", "/tmp/x.txt", "zzz qqq"] {
            let facts = Facts { fallback, ..World::facts(&[]) };
            let proposal = propose(&world.lexicons, &world.tools, &world.messages, &facts, text);
            assert_eq!(proposal.language, fallback, "{text}");
        }
        let facts = Facts { fallback, ..World::facts(&[]) };
        let proposal = propose(&world.lexicons, &world.tools, &world.messages, &facts, "che ore sono");
        assert_eq!(proposal.language, Language::It);
    }
}

#[test]
fn what_cannot_be_is_asked_about_by_its_own_question() {
    let world = world();
    let said = |text: &str| world.propose(text).plan.abstention.unwrap().message;
    assert!(said("read the last 0 lines of ~/a.txt").starts_with("Which lines"));
    assert!(said("leggi le ultime 0 righe di ~/a.txt").starts_with("Quali righe"));
    assert!(said("read line 4 to line 2 of ~/a.txt").starts_with("Which lines"));
    let acts = r#"write "a" to ~/a.txt, write "b" to ~/b.txt, write "c" to ~/c.txt"#;
    assert!(said(acts).starts_with("I do one act at a time"), "{}", said(acts));
    for language in Language::ALL {
        for key in ["planner.no_tool", "planner.unclear", "planner.no_measure"] {
            let message = world.messages.say(language, key, json!({"words": ""}));
            assert!(!message.contains("“”") && !message.contains("«»"), "{message}");
        }
    }
}

// --- questions about Metnos itself ----------------------------------------------------------------------------------

#[test]
fn every_example_plans_in_its_language() {
    let world = world();
    let tools = world.tools.all().iter().map(super::tools::Indexed::name).collect();
    for language in Language::ALL {
        let pool = world.messages.say(language, "about.examples", json!({}));
        for line in pool.lines() {
            let proposal = world.propose(line);
            assert!(proposal.plan.abstention.is_none(), "{line}: {}", world.line(line));
        }
        let facts = Facts { language: Some(language), ..World::facts(&[]) };
        let all = super::skills::examples(&world.lexicons, &world.tools, &world.messages, &facts, &pool, &tools);
        assert_eq!(all.len(), 3, "{all:?}");
    }
}

#[test]
fn skills_are_grouped_and_narrowed_by_a_topic() {
    let world = world();
    let names = |topic| {
        let found = super::skills::skills(&world.tools, Language::It, topic);
        found.into_iter().map(|skill| (skill.group, skill.name)).collect::<Vec<_>>()
    };
    let all = names(None);
    assert_eq!(all.len(), world.tools.all().len());
    assert!(all.contains(&("files", "find_files".to_owned())) && all.contains(&("other", "undo_last_turn".to_owned())));
    let mut groups: Vec<&str> = all.iter().map(|(group, _)| *group).collect();
    groups.dedup();
    assert_eq!(groups.len(), groups.iter().collect::<BTreeSet<_>>().len(), "each group stands together: {groups:?}");
    for (topic, name, other) in [
        ("csv files", "read_files_csv", "get_now"),
        ("pagine web", "read_urls_html", "delete_dirs"),
        ("photos", "find_files_hash", "get_processes"),
        ("processi", "get_processes", "find_files"),
    ] {
        let found = names(Some(topic));
        assert!(found.iter().any(|(_, found)| found == name), "{topic}: {found:?}");
        assert!(!found.iter().any(|(_, found)| found == other), "{topic}: {found:?}");
    }
    assert!(names(Some("gronkle")).is_empty());
}

#[test]
fn every_wording_about_metnos_itself_can_be_read() {
    for source in
        [include_str!("../../../../prompts/en/lexicon.toml"), include_str!("../../../../prompts/it/lexicon.toml")]
    {
        let table: toml::Table = toml::from_str(source).unwrap();
        for (kind, texts) in table["about"].as_table().unwrap() {
            for text in texts.as_array().unwrap() {
                let text = text.as_str().unwrap();
                assert_eq!(super::check_template(text), Ok(()), "{kind}: {text}");
            }
        }
    }
}

#[test]
fn the_wording_tells_the_language_of_the_answer() {
    let world = world();
    for (text, language) in [("help", Language::En), ("aiuto", Language::It), ("perché?", Language::It)] {
        assert_eq!(world.propose(text).language, language, "{text}");
    }
    let facts = Facts { language: Some(Language::It), ..World::facts(&[]) };
    let forced = propose(&world.lexicons, &world.tools, &world.messages, &facts, "what can you do");
    assert_eq!(forced.language, Language::It);
}

#[test]
fn a_folder_called_many_does_not_take_the_question_away() {
    let world = World::new();
    let text = "how many files are in ~/d";
    let from = u32::try_from(text.find("many").unwrap()).unwrap();
    let existing = [(from, from + 4)];
    let plan = propose(&world.lexicons, &world.tools, &world.messages, &World::facts(&existing), text).plan;
    assert_eq!(plan.steps.len(), 1);
    assert_eq!(plan.steps[0].args, json!({ "base_path": "~/d" }));
}
