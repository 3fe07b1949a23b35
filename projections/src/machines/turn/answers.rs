//! What a person wrote, read as what was asked for: words, a number, a day, a path, one of several things, yes or no.
//!
//! Nothing is guessed: what may mean two things is asked again with the reason.

use jiff::civil::Date;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, ToSpan};
use metnos_log::Micros;
use metnos_log::event::dialog::Choice;
use serde_json::{Value, json};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::forms::{Expected, Question};
use crate::messages::Language;

/// The longest answer, in characters.
const LONGEST: usize = 4000;

/// What an answer is read with.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// The language of the turn.
    pub language: Language,
    /// When it was given.
    pub time: Micros,
    /// The person's zone.
    pub zone: &'a str,
    /// The person's home folder.
    pub home: &'a str,
    /// Where relative paths start.
    pub folder: &'a str,
}

/// Why an answer is none: a key of `[dialog]`, and what it is filled in with.
#[derive(Clone, Debug, PartialEq)]
pub struct Wrong(pub &'static str, pub Value);

fn wrong<T>(key: &'static str) -> Result<T, Wrong> {
    Err(Wrong(key, json!({})))
}

/// The value that an answer is; null where an optional one was left out.
pub fn read(question: &Question, answer: &str, around: Around<'_>) -> Result<Value, Wrong> {
    let answer = answer.trim();
    if answer.is_empty() {
        return if question.required { wrong("dialog.wrong_empty") } else { Ok(Value::Null) };
    }
    if answer.chars().count() > LONGEST {
        return Err(Wrong("dialog.wrong_long", json!({ "most": LONGEST })));
    }
    match &question.expected {
        Expected::Text => Ok(answer.into()),
        Expected::Number => number(answer, around.language),
        Expected::Date => date(answer, around),
        Expected::Path => path(answer, around),
        Expected::Choice(options) => match choose(options, answer) {
            Some(at) => Ok(options[at].id.as_str().into()),
            None => wrong("dialog.wrong_choice"),
        },
        Expected::Numbered(options) => match choose_numbered(options, answer) {
            Some(at) => Ok(options[at].id.as_str().into()),
            None => wrong("dialog.wrong_choice"),
        },
        Expected::Approval => yes_or_no(answer).map_or_else(|| wrong("dialog.wrong_approval"), |yes| Ok(yes.into())),
    }
}

/// Which of these an answer means: by label or id, by its number, by a beginning that only one label has.
pub fn choose(options: &[Choice], answer: &str) -> Option<usize> {
    let said = fold(answer.trim().trim_matches(['"', '«', '»', '“', '”']));
    if said.is_empty() {
        return None;
    }
    let exact = |option: &Choice| fold(&option.label) == said || fold(&option.id) == said;
    if let Some(at) = options.iter().position(exact) {
        return Some(at);
    }
    let digits = said.trim_start_matches('#').trim_end_matches(['.', ')', ':']);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits.parse::<usize>().ok()?.checked_sub(1).filter(|at| *at < options.len());
    }
    let begins = |option: &Choice| fold(&option.label).starts_with(&said) || fold(&option.id).starts_with(&said);
    let mut found = (0..options.len()).filter(|&at| begins(&options[at]));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The same where the number of each is its own, whatever its place in the list.
pub fn choose_numbered(options: &[Choice], answer: &str) -> Option<usize> {
    let digits = answer.trim().trim_start_matches('#').trim_end_matches(['.', ')', ':']);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return options.iter().position(|option| option.id == digits);
    }
    choose(options, answer)
}

/// Whether an answer is meant for a choice and hits none of it: a number that is not there, a beginning that several have.
pub fn misses(options: &[Choice], answer: &str) -> bool {
    let said = fold(answer);
    let is_number = !said.is_empty() && said.bytes().all(|byte| byte.is_ascii_digit());
    let begun = options.iter().filter(|option| !said.is_empty() && fold(&option.label).starts_with(&said)).count();
    choose(options, answer).is_none() && (is_number || begun > 1)
}

/// Yes or no, in either language, with or without thanks; nothing else counts.
pub fn yes_or_no(answer: &str) -> Option<bool> {
    let said = fold(answer);
    let said = said.trim_end_matches(ENDS);
    plain(said).or_else(|| plain(without_courtesy(said)?))
}

/// The same to a question for consent, where whoever takes the request back has said no. Of what may have happened already
/// (`is_doubt`) that says nothing.
pub fn consent(answer: &str, is_doubt: bool) -> Option<bool> {
    let said = fold(answer);
    let said = said.trim_end_matches(ENDS);
    let takes_back = |said| !is_doubt && matches!(said, "annulla" | "cancel");
    let is_taken_back = takes_back(said) || without_courtesy(said).is_some_and(takes_back);
    yes_or_no(answer).or(is_taken_back.then_some(false))
}

/// What an answer ends in, or its word before the thanks.
const ENDS: [char; 3] = ['.', '!', ','];

/// A word of yes or no alone.
fn plain(said: &str) -> Option<bool> {
    match said {
        "y" | "yes" | "yep" | "yeah" | "ok" | "okay" | "sure" | "s" | "si" | "certo" | "va bene" | "d'accordo" => {
            Some(true)
        }
        "n" | "no" | "nope" | "nah" => Some(false),
        _ => None,
    }
}

/// The rest of an answer that ends in one word of courtesy.
fn without_courtesy(said: &str) -> Option<&str> {
    const COURTESIES: [&str; 8] =
        ["please", "thanks", "thank you", "thanks a lot", "grazie", "per favore", "per piacere", "grazie mille"];
    let rest = |courtesy| said.strip_suffix(courtesy)?.strip_suffix(char::is_whitespace);
    let rest = COURTESIES.iter().find_map(rest)?;
    Some(rest.trim_end().trim_end_matches(ENDS))
}

/// Whether a person does not want to answer, and the request is to be left: a no, or words of that.
pub fn is_refusal(answer: &str) -> bool {
    const LEFT: [&str; 18] = [
        "cancel",
        "stop",
        "quit",
        "never mind",
        "nevermind",
        "forget it",
        "leave it",
        "nothing",
        "none",
        "no thanks",
        "annulla",
        "basta",
        "niente",
        "nulla",
        "nessuno",
        "lascia stare",
        "lascia perdere",
        "no grazie",
    ];
    let said = fold(answer).replace(',', "");
    let said = said.trim_end_matches(['.', '!']);
    yes_or_no(answer) == Some(false) || LEFT.contains(&said)
}

/// Lower case without accents.
fn fold(text: &str) -> String {
    let decomposed = text.trim().nfkd().filter(|c| !is_combining_mark(*c));
    decomposed.map(|c| if c == '’' { '\'' } else { c }).flat_map(char::to_lowercase).collect()
}

/// A number in plain, English or Italian notation: `1,234.5` and `1.234,5` are the same; one separator alone is the
/// language's own.
fn number(answer: &str, language: Language) -> Result<Value, Wrong> {
    let compact: String = answer.chars().filter(|c| !c.is_whitespace() && !matches!(c, '\'' | '’' | '_')).collect();
    let (sign, digits) = match compact.strip_prefix(['-', '−']) {
        Some(rest) => ("-", rest),
        None => ("", compact.strip_prefix('+').unwrap_or(&compact)),
    };
    let plain = unseparated(digits, language).filter(|plain| plain.len() <= 40);
    let Some(plain) = plain else { return wrong("dialog.wrong_number") };
    let signed = format!("{sign}{plain}");
    if let Ok(whole) = signed.parse::<i64>() {
        return Ok(whole.into());
    }
    let number = signed.parse::<f64>().ok().and_then(serde_json::Number::from_f64);
    number.map_or_else(|| wrong("dialog.wrong_number"), |number| Ok(Value::Number(number)))
}

/// The digits with a point for decimals and no grouping.
fn unseparated(digits: &str, language: Language) -> Option<String> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (dots, commas) = (digits.matches('.').count(), digits.matches(',').count());
    let (grouping, decimal) = match (dots, commas) {
        (0, 0) => return is_number(digits).then(|| digits.to_owned()),
        (_, 0) if dots > 1 => ('.', None),
        (0, _) if commas > 1 => (',', None),
        (1, 0) if language == Language::En || !is_grouped(digits, '.') => (',', Some('.')),
        (1, 0) => ('.', None),
        (0, 1) if language == Language::It || !is_grouped(digits, ',') => ('.', Some(',')),
        (0, 1) => (',', None),
        _ if digits.rfind('.') > digits.rfind(',') => (',', Some('.')),
        _ => ('.', Some(',')),
    };
    let (whole, fraction) = match decimal {
        Some(point) => digits.split_once(point).map(|(whole, fraction)| (whole, Some(fraction)))?,
        None => (digits, None),
    };
    let is_whole = is_number(whole) || (whole.contains(grouping) && is_grouped(whole, grouping));
    let whole = whole.replace(grouping, "");
    match fraction {
        None => is_whole.then_some(whole),
        Some(fraction) => (is_whole && is_number(fraction)).then(|| format!("{whole}.{fraction}")),
    }
}

/// Whether the separator stands after every third digit from the right: `1.234.567`.
fn is_grouped(digits: &str, separator: char) -> bool {
    let mut groups = digits.split(separator);
    let first = groups.next().unwrap_or_default();
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (1..=3).contains(&first.len()) && is_number(first) && groups.all(|group| group.len() == 3 && is_number(group))
}

const MONTHS: [(&str, &str); 12] = [
    ("january", "gennaio"),
    ("february", "febbraio"),
    ("march", "marzo"),
    ("april", "aprile"),
    ("may", "maggio"),
    ("june", "giugno"),
    ("july", "luglio"),
    ("august", "agosto"),
    ("september", "settembre"),
    ("october", "ottobre"),
    ("november", "novembre"),
    ("december", "dicembre"),
];

/// A day as `YYYY-MM-DD`. Numbers alone are day before month in Italian; in English they must not fit both ways.
fn date(answer: &str, around: Around<'_>) -> Result<Value, Wrong> {
    let said = fold(answer);
    let today = today(around);
    let relative = match said.as_str() {
        "today" | "oggi" => Some(0),
        "tomorrow" | "domani" => Some(1),
        "yesterday" | "ieri" => Some(-1),
        "the day after tomorrow" | "day after tomorrow" | "dopodomani" => Some(2),
        "the day before yesterday" | "day before yesterday" | "l'altro ieri" | "ieri l'altro" => Some(-2),
        _ => None,
    };
    let day = match relative {
        Some(days) => today.checked_add(i64::from(days).days()).ok(),
        None => written(&said, around.language)?,
    };
    let example = json!({ "example": today.to_string() });
    day.map(|day| day.to_string().into()).ok_or(Wrong("dialog.wrong_date", example))
}

fn today(around: Around<'_>) -> Date {
    let zone = TimeZoneDatabase::bundled().get(around.zone).unwrap_or(TimeZone::UTC);
    Timestamp::from_microsecond(around.time.0).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(zone).date()
}

fn written(said: &str, language: Language) -> Result<Option<Date>, Wrong> {
    let parts: Vec<&str> = said
        .split(|c: char| c.is_whitespace() || matches!(c, '/' | '.' | '-' | ','))
        .filter(|part| !matches!(*part, "" | "of" | "the" | "il" | "l'" | "del" | "di"))
        .collect();
    let [first, second, third] = parts.as_slice() else { return Ok(None) };
    let ordinal = |part: &str| {
        let part = part.trim_end_matches(['°', 'º']);
        ["st", "nd", "rd", "th"].iter().find_map(|end| part.strip_suffix(end)).unwrap_or(part).parse::<i16>().ok()
    };
    let month = |part: &str| {
        let begins = |name: &str| part.len() >= 3 && name.starts_with(part);
        let at = MONTHS.iter().position(|(en, it)| begins(en) || begins(it))?;
        i16::try_from(at + 1).ok()
    };
    let on = |year: Option<i16>, month: Option<i16>, day: Option<i16>| {
        let small = |number: i16| i8::try_from(number).ok();
        Date::new(year.filter(|year| *year >= 1000)?, small(month?)?, small(day?)?).ok()
    };
    if let (Some(named), Some(day)) = (month(second), ordinal(first)) {
        return Ok(on(ordinal(third), Some(named), Some(day)));
    }
    if let (Some(named), Some(day)) = (month(first), ordinal(second)) {
        return Ok(on(ordinal(third), Some(named), Some(day)));
    }
    if first.len() == 4 {
        return Ok(on(ordinal(first), ordinal(second), ordinal(third)));
    }
    let (day_first, month_first) =
        (on(ordinal(third), ordinal(second), ordinal(first)), on(ordinal(third), ordinal(first), ordinal(second)));
    match (day_first, month_first) {
        (Some(one), Some(other)) if one != other && language == Language::En => {
            Err(Wrong("dialog.wrong_date_order", json!({ "one": one.to_string(), "other": other.to_string() })))
        }
        (Some(date), _) => Ok(Some(date)),
        (None, Some(date)) if language == Language::En => Ok(Some(date)),
        (None, _) => Ok(None),
    }
}

/// A path, absolute; what it names need not be there. Links are resolved where it is used.
fn path(answer: &str, around: Around<'_>) -> Result<Value, Wrong> {
    let quotes = [('"', '"'), ('\'', '\''), ('«', '»'), ('“', '”')];
    let inside = quotes.iter().find_map(|(open, close)| answer.strip_prefix(*open)?.strip_suffix(*close));
    let name = inside.unwrap_or(answer);
    if name.trim().is_empty() || name.chars().any(char::is_control) || name.contains("://") {
        return wrong("dialog.wrong_path");
    }
    let below = |base: &str, rest: &str| format!("{}/{}", base.trim_end_matches('/'), rest.trim_start_matches('/'));
    Ok(match name.strip_prefix('~') {
        Some("") => around.home.into(),
        Some(rest) if rest.starts_with('/') => below(around.home, rest).into(),
        _ if name.starts_with('/') => name.into(),
        _ => below(around.folder, name).into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(expected: Expected) -> Question {
        Question { field: None, expected, required: true, key: "dialog.field", values: json!({}) }
    }

    #[track_caller]
    fn check(expected: Expected, language: Language, answers: &[(&str, Option<Value>)]) {
        // 22 November 2026, 23:30 in UTC: in Rome it is the day after.
        let time = Micros(1_795_390_200_000_000);
        let around = Around { language, time, zone: "Europe/Rome", home: "/home/o", folder: "/home/o/docs" };
        let question = ask(expected);
        for (answer, value) in answers {
            assert_eq!(read(&question, answer, around).ok(), *value, "{answer}");
        }
    }

    #[test]
    fn numbers_are_read_as_the_language_writes_them() {
        let same = [
            ("3", Some(json!(3))),
            (" -12 ", Some(json!(-12))),
            ("+7", Some(json!(7))),
            ("1 234 567", Some(json!(1_234_567))),
            ("1,234.5", Some(json!(1234.5))),
            ("1.234,5", Some(json!(1234.5))),
            ("0.5", Some(json!(0.5))),
            ("0,5", Some(json!(0.5))),
            ("three", None),
            ("3 apples", None),
            ("1.2.3", None),
            ("1,2,3", None),
            ("12,34.5", None),
            (".", None),
            ("-", None),
            ("5.", None),
            ("1e5", None),
            ("NaN", None),
            ("", None),
        ];
        check(Expected::Number, Language::En, &same);
        check(Expected::Number, Language::It, &same);
        check(Expected::Number, Language::En, &[("1,234", Some(json!(1234))), ("1.234", Some(json!(1.234)))]);
        check(Expected::Number, Language::It, &[("1,234", Some(json!(1.234))), ("1.234", Some(json!(1234)))]);
    }

    #[test]
    fn a_day_is_read_in_both_languages_and_never_guessed() {
        let same = [
            ("2026-03-04", Some(json!("2026-03-04"))),
            ("25/12/2026", Some(json!("2026-12-25"))),
            ("25.12.2026", Some(json!("2026-12-25"))),
            ("4 March 2026", Some(json!("2026-03-04"))),
            ("March 4th, 2026", Some(json!("2026-03-04"))),
            ("4 mar 2026", Some(json!("2026-03-04"))),
            ("il 4 marzo 2026", Some(json!("2026-03-04"))),
            ("1° gennaio 2027", Some(json!("2027-01-01"))),
            ("today", Some(json!("2026-11-23"))),
            ("Domani", Some(json!("2026-11-24"))),
            ("ieri", Some(json!("2026-11-22"))),
            ("29 February 2027", None),
            ("31/4/2026", None),
            ("4 March", None),
            ("4/3/26", None),
            ("soon", None),
        ];
        check(Expected::Date, Language::En, &same);
        check(Expected::Date, Language::It, &same);
        check(Expected::Date, Language::It, &[("4/3/2026", Some(json!("2026-03-04"))), ("12/25/2026", None)]);
        let en =
            [("4/3/2026", None), ("4/4/2026", Some(json!("2026-04-04"))), ("12/25/2026", Some(json!("2026-12-25")))];
        check(Expected::Date, Language::En, &en);
    }

    #[test]
    fn a_path_is_where_the_person_is() {
        let paths = [
            ("notes.txt", Some(json!("/home/o/docs/notes.txt"))),
            ("~/a b.txt", Some(json!("/home/o/a b.txt"))),
            ("\"~/a b.txt\"", Some(json!("/home/o/a b.txt"))),
            ("~", Some(json!("/home/o"))),
            ("/etc/hosts", Some(json!("/etc/hosts"))),
            ("https://x.test/a", None),
            ("a\u{1b}b", None),
            ("«»", None),
        ];
        check(Expected::Path, Language::En, &paths);
    }

    #[test]
    fn a_choice_is_made_by_number_name_or_beginning() {
        let options: Vec<Choice> =
            [("zip", "Zip archive"), ("tar", "Tar archive"), ("tgz", "Tar, packed"), ("x", "Già lì")]
                .map(|(id, label)| Choice { id: id.to_owned(), label: label.to_owned() })
                .into();
        let found = |answer: &str| choose(&options, answer);
        assert_eq!([found("1"), found("2."), found("#3"), found("4)")], [Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!(
            [found("ZIP"), found("zip a"), found("tar"), found("tar archive")],
            [Some(0), Some(0), Some(1), Some(1)]
        );
        assert_eq!([found("tar,"), found("gia"), found("«tgz»")], [Some(2), Some(3), Some(2)]);
        assert_eq!([found("ta"), found("0"), found("5"), found("rar"), found("")], [None; 5]);
        assert!([("ta"), ("5"), ("0")].iter().all(|answer| misses(&options, answer)));
        assert!(!["rar", "a.txt", "", "1", "zip"].iter().any(|answer| misses(&options, answer)));
        // A label that is a number is meant before the place in the list.
        let years: Vec<Choice> = ["2", "1"].map(|year| Choice { id: year.to_owned(), label: year.to_owned() }).into();
        assert_eq!(choose(&years, "1"), Some(1));
    }

    #[test]
    fn only_a_plain_yes_is_yes() {
        let said = ["yes", "Sì", "s", "ok!", "no", "N", "yes but later", "forse", "1", ""];
        let found = said.map(yes_or_no);
        let expected = [Some(true); 4].into_iter().chain([Some(false); 2]).chain([None; 4]);
        assert_eq!(found.to_vec(), expected.collect::<Vec<_>>());
    }

    #[test]
    fn a_yes_or_no_may_be_polite_and_nothing_more() {
        let yes = ["sì, grazie", "Si grazie!", "sì per favore", "yes please", "Yes, thank you.", "ok, thanks"];
        let no = ["no, grazie", "No grazie", "no thanks", "no, thank you"];
        assert_eq!((yes.map(yes_or_no), no.map(yes_or_no)), ([Some(true); 6], [Some(false); 4]));
        let of_consent = |is_doubt| move |answer| consent(answer, is_doubt);
        let taken_back = ["annulla", "Annulla, grazie", "cancel!"];
        assert_eq!(taken_back.map(of_consent(false)), [Some(false); 3]);
        assert_eq!((taken_back.map(of_consent(true)), taken_back.map(yes_or_no)), ([None; 3], [None; 3]));
        assert_eq!((no.map(of_consent(true)), yes.map(of_consent(false))), ([Some(false); 4], [Some(true); 6]));
        let vaguer = [
            "grazie",
            "please",
            "grazie, sì",
            "sì grazie ma dopo",
            "yes please not",
            "yes thanks please",
            "certo che no, grazie",
            "nograzie",
            "sì, no, grazie",
            "forse, grazie",
            "annulla tutto",
        ];
        assert_eq!(vaguer.map(of_consent(false)), [None; 11]);
    }

    #[test]
    fn what_may_be_left_out_is_null() {
        let around = Around { language: Language::En, time: Micros(0), zone: "UTC", home: "/h", folder: "/h" };
        let optional = Question { required: false, ..ask(Expected::Number) };
        assert_eq!(read(&optional, " ", around), Ok(Value::Null));
        assert_eq!(read(&ask(Expected::Text), " ", around).map_err(|wrong| wrong.0), Err("dialog.wrong_empty"));
        let long = "x".repeat(LONGEST + 1);
        assert_eq!(read(&ask(Expected::Text), &long, around).map_err(|wrong| wrong.0), Err("dialog.wrong_long"));
    }
}
