//! Words of time: a table of both languages, and every act and reading beside every time, before and behind it.

use super::{line, world};
use crate::plan::AbstentionKind;

/// What a row of the table expects: a plan as `line` shows it, or `ask` and what the question names.
fn differs(text: &str, right: &str) -> Option<String> {
    let plan = world().propose(text).plan;
    let Some(named) = right.strip_prefix("ask") else {
        let got = line(&plan);
        return (got != right).then_some(got);
    };
    let Some(asked) = plan.abstention.as_ref().filter(|a| a.kind == AbstentionKind::Ask) else {
        return Some(line(&plan));
    };
    (!asked.message.contains(named.trim())).then(|| format!("ask {}", asked.message))
}

#[test]
fn times_are_read_as_they_are_said() {
    let table: Vec<(&str, &str)> = include_str!("times.tsv").lines().filter_map(|l| l.split_once('\t')).collect();
    assert!(table.len() >= 150, "the table lost its rows: {}", table.len());
    let wrong: Vec<String> = table
        .iter()
        .filter_map(|(text, right)| Some(format!("{text}\n   want {right}\n   got  {}", differs(text, right)?)))
        .collect();
    assert!(wrong.is_empty(), "{} of {} sentences:\n{}", wrong.len(), table.len(), wrong.join("\n"));
}

const REQUESTS_EN: [&str; 9] = [
    "delete ~/a.txt",
    "move ~/a.txt to ~/b",
    "zip ~/docs into ~/docs.zip",
    "create the folder ~/new",
    "write \"x\" to ~/a.txt",
    "delete the pdfs in ~/x",
    "read ~/a.txt",
    "list the files in ~/x",
    "fetch https://example.com",
];
const TIMES_EN: [&str; 42] = [
    "tomorrow",
    "tomorrow at 9",
    "tomorrow morning",
    "tonight",
    "this evening",
    "at noon",
    "at midnight",
    "at 18:30",
    "at 6 pm",
    "at half past six",
    "in 20 minutes",
    "in half an hour",
    "in an hour and a half",
    "in a couple of hours",
    "on friday at 9",
    "next monday at 9",
    "at the weekend",
    "this weekend",
    "on weekends",
    "on mondays",
    "on mondays at 9",
    "every day",
    "every morning",
    "every hour",
    "every 90 minutes",
    "every -5 minutes",
    "every 0.5 hours",
    "every other day",
    "every second monday",
    "every blue moon",
    "daily",
    "twice a day",
    "once a week",
    "every day at 8 and at 20",
    "on the last day of the month",
    "the first monday of the month",
    "on 24 december at 10",
    "at christmas",
    "every day until friday",
    "every day for a week",
    "the day after tomorrow",
    "every day except sunday",
];
const REQUESTS_IT: [&str; 9] = [
    "cancella ~/a.txt",
    "sposta ~/a.txt in ~/b",
    "comprimi ~/doc in ~/doc.zip",
    "crea la cartella ~/nuova",
    "scrivi \"x\" in ~/a.txt",
    "cancella i pdf in ~/x",
    "leggi ~/a.txt",
    "elenca i file in ~/x",
    "scarica https://example.com",
];
const TIMES_IT: [&str; 40] = [
    "domani",
    "domani alle 9",
    "domani mattina",
    "stasera",
    "stanotte",
    "a mezzogiorno",
    "a mezzanotte",
    "alle 18:30",
    "alle 6 di sera",
    "alle sei e mezza",
    "tra 20 minuti",
    "tra mezz'ora",
    "tra un'ora e mezza",
    "fra due ore",
    "venerdì alle 9",
    "lunedì prossimo alle 9",
    "nel weekend",
    "questo weekend",
    "nei giorni feriali",
    "ogni lunedì",
    "il lunedì alle 9",
    "ogni giorno",
    "ogni mattina",
    "ogni ora",
    "ogni 90 minuti",
    "ogni -3 giorni",
    "ogni 0,5 ore",
    "a giorni alterni",
    "ogni due lunedì",
    "tutti i giorni",
    "quotidianamente",
    "due volte al giorno",
    "una volta alla settimana",
    "ogni giorno alle 8 e alle 20",
    "l'ultimo giorno del mese",
    "il primo lunedì del mese",
    "il 24 dicembre alle 10",
    "a natale",
    "ogni giorno fino a venerdì",
    "dopodomani",
];

/// A time word was dropped, and what was asked for later was done at once: of all faults the worst.
#[test]
fn what_is_asked_for_later_is_never_done_at_once() {
    let mut wrong = Vec::new();
    for (requests, times) in [(&REQUESTS_EN, &TIMES_EN[..]), (&REQUESTS_IT, &TIMES_IT[..])] {
        for (request, time) in requests.iter().flat_map(|r| times.iter().map(move |t| (r, t))) {
            for text in [format!("{time} {request}"), format!("{time}, {request}"), format!("{request} {time}")] {
                let plan = world().propose(&text).plan;
                let is_kept = plan.steps.iter().all(|step| step.tool == "schedule_recurring");
                let holds = plan.steps.iter().all(|step| step.args["query"] == **request);
                if !(is_kept && holds) {
                    wrong.push(format!("{text}\n   {}", line(&plan)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Names of files and what is quoted or told hold words of time that say nothing of when.
#[test]
fn names_and_texts_are_no_times() {
    let texts = [
        "read ~/monday.txt",
        "delete ~/every-day.log",
        "cancella ~/ogni-giorno.txt",
        "leggi ~/domani.txt",
        "read \"tomorrow at 9.txt\"",
        "delete \"~/every monday.txt\"",
        "list the files in ~/tomorrow",
        "move ~/daily.csv to ~/weekly",
        "create the folder ~/monday",
        "write \"tomorrow at 9\" to ~/a.txt",
        "scrivi in ~/a.txt: domani alle 9 dentista",
        "add the line \"buy milk every day\" to ~/a.txt",
        "send Anna \"the shop closes at noon\"",
        "tell Anna that dinner is tomorrow at 8",
        "di' a Anna che la riunione è ogni lunedì alle 9",
        "Please tell Anna that the plumber comes on Thursday at nine",
    ];
    for text in texts {
        let plan = world().propose(text).plan;
        assert!(!plan.steps.is_empty(), "{text}: {}", line(&plan));
        assert!(plan.steps.iter().all(|step| step.tool != "schedule_recurring"), "{text}: {}", line(&plan));
    }
}

/// «remind me to <b>x</b>» lost its first sign.
#[test]
fn a_reminder_keeps_every_sign() {
    let facts = super::World::facts(&[]);
    for (text, words) in [
        ("remind me to <b>x</b>", "<b>x</b>"),
        ("remind me to buy <b>x</b>", "buy <b>x</b>"),
        ("remind me: «call» Anna!", "«call» Anna"),
        ("ricordami di *chiamare* Anna", "*chiamare* Anna"),
        ("ricordami «la spesa»", "«la spesa»"),
    ] {
        let kept = crate::rules::simple::again::reminder(&world().lexicons, &facts, text);
        assert_eq!(kept.as_deref(), Some(words), "{text}");
    }
}
