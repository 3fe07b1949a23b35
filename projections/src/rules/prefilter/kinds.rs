//! Kinds of values: which ones an argument takes, by its name, description and schema, and which ones a query holds.
//!
//! It recognises by form (`2024-05-01`, `3 pm`, a capital letter inside of a sentence) and extracts nothing: filling
//! arguments is the engine's business.

use serde_json::Value;

use super::text::Words;

/// A set of kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kinds(u16);

impl Kinds {
    pub(super) const DATE: Self = Self(1);
    pub(super) const TIME: Self = Self(1 << 1);
    pub(super) const NUMBER: Self = Self(1 << 2);
    pub(super) const NAMED: Self = Self(1 << 3);
    pub(super) const EMAIL: Self = Self(1 << 4);
    pub(super) const URL: Self = Self(1 << 5);
    pub(super) const PATH: Self = Self(1 << 6);
    pub(super) const QUOTED: Self = Self(1 << 7);
    pub(super) const MONEY: Self = Self(1 << 8);
    pub(super) const CODE: Self = Self(1 << 9);

    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn put(&mut self, other: Self, when: bool) {
        if when {
            *self = self.or(other);
        }
    }

    pub(super) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// What is in this set and not in that.
    pub(super) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// How many kinds it holds.
    pub(super) fn count(self) -> f32 {
        super::index::count(self.0.count_ones() as usize)
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The kinds of values that an argument takes; none where it may be anything.
pub(super) fn of_argument(name: &str, schema: &Value) -> Kinds {
    let mut kinds = Kinds::default();
    let text = |key: &str| schema.get(key).and_then(Value::as_str).unwrap_or_default();
    let format = text("format");
    let names = Words::cut(name, LONGEST_NAME);
    let described = Words::cut(text("description"), LONGEST_DESCRIPTION);
    let has = |list: &[&str]| names.stems().any(|stem| list.contains(&stem));
    let tells = |list: &[&str]| described.stems().take(12).any(|stem| list.contains(&stem));
    let of_type = |wanted: &str| match schema.get("type") {
        Some(Value::String(kind)) => kind == wanted,
        Some(Value::Array(list)) => list.iter().any(|kind| kind == wanted),
        _ => false,
    };
    kinds.put(Kinds::DATE, has(&DATES) || format.starts_with("date") || tells(&["date"]));
    kinds.put(Kinds::TIME, has(&TIMES) || matches!(format, "time" | "date-time") || tells(&["time"]));
    kinds.put(Kinds::NUMBER, of_type("integer") || of_type("number") || of_type("float"));
    kinds.put(Kinds::MONEY, has(&MONEY));
    kinds.put(Kinds::NAMED, has(&NAMED) || tells(&["city", "name", "location"]));
    kinds.put(Kinds::EMAIL, has(&["email", "mail", "recipient"]) || format == "email");
    kinds.put(Kinds::URL, has(&["url", "uri", "link", "site", "domain"]) || format.starts_with("uri"));
    kinds.put(Kinds::PATH, has(&["path", "file", "folder", "dir", "directory", "filenam"]));
    kinds.put(Kinds::CODE, has(&["id", "uuid", "key", "cod", "code", "token", "identifier", "hash", "ip"]));
    if kinds.meets(Kinds::NAMED.or(Kinds::CODE)) {
        kinds.put(Kinds::QUOTED, true);
    }
    kinds
}

/// Names and descriptions are looked at this far, in bytes.
const LONGEST_NAME: usize = 200;
const LONGEST_DESCRIPTION: usize = 200;

const DATES: [&str; 12] =
    ["date", "day", "month", "year", "when", "deadlin", "birthday", "giorno", "data", "mese", "anno", "scadenz"];
const TIMES: [&str; 6] = ["time", "hour", "minut", "orari", "ora", "start"];
const MONEY: [&str; 8] = ["amount", "price", "cost", "budget", "fare", "salary", "import", "prezz"];
const NAMED: [&str; 28] = [
    "city", "location", "locat", "place", "plac", "address", "country", "state", "stat", "region", "origin",
    "destinat", "area", "airport", "station", "nam", "name", "title", "titl", "artist", "director", "author", "person",
    "company", "team", "user", "usernam", "citta",
];

/// The kinds of values that a query holds.
pub(super) fn of_query(text: &str, words: &Words) -> Kinds {
    let mut kinds = Kinds::default();
    let list = words.words();
    let raw = |at: usize| &text[list[at].start as usize..list[at].end as usize];
    for (at, word) in list.iter().enumerate() {
        let stem = words.stem(word);
        let next = list.get(at + 1).map(|next| words.stem(next)).unwrap_or_default();
        if word.number {
            kinds.put(Kinds::NUMBER, true);
            let after = text[word.end as usize..].chars().next();
            let before = text[..word.start as usize].chars().next_back();
            let joined = |c: char| list.get(at + 1).is_some_and(|next| next.number) && after == Some(c);
            kinds.put(Kinds::DATE, joined('-') || joined('/') || matches!(next, "st" | "nd" | "rd" | "th"));
            kinds.put(Kinds::DATE, stem.len() == 4 && (stem.starts_with("19") || stem.starts_with("20")));
            kinds.put(Kinds::TIME, joined(':') || matches!(next, "am" | "pm" | "clock" | "hour" | "minut" | "or"));
            kinds.put(Kinds::MONEY, matches!(before, Some('$' | '€' | '£')) || matches!(after, Some('$' | '€' | '£')));
            kinds.put(Kinds::MONEY, matches!(next, "dollar" | "euro" | "buck" | "usd" | "eur" | "pound"));
            let glued = at > 0 && list[at - 1].end == word.start && !list[at - 1].number;
            kinds.put(Kinds::CODE, stem.len() > 2 || glued);
        } else {
            kinds.put(Kinds::NAMED, word.named);
            kinds.put(Kinds::DATE, MOMENTS.contains(&stem));
            kinds.put(Kinds::TIME, HOURS.contains(&stem));
            kinds.put(Kinds::NUMBER, NUMBERS.contains(&stem));
            kinds.put(Kinds::CODE, raw(at).len() > 1 && raw(at).bytes().all(|b| b.is_ascii_uppercase()));
        }
    }
    let inside = |c: char| text.split_whitespace().any(|part| part.trim_matches(c).contains(c));
    kinds.put(Kinds::EMAIL, inside('@'));
    kinds.put(Kinds::URL, text.contains("://") || text.contains("www.") || text.contains(".com"));
    kinds.put(Kinds::PATH, text.split_whitespace().any(|part| part.starts_with(['/', '~']) || part.contains(":\\")));
    kinds.put(Kinds::QUOTED, text.contains(['"', '«', '“', '`']) || text.contains(" '"));
    kinds
}

const MOMENTS: [&str; 50] = [
    "today",
    "tomorrow",
    "yesterday",
    "tonight",
    "week",
    "weekend",
    "month",
    "year",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "oggi",
    "domani",
    "ier",
    "stasera",
    "settiman",
    "lunedi",
    "martedi",
    "mercoledi",
    "giovedi",
    "venerdi",
    "sabat",
    "domenic",
    "gennai",
    "febbrai",
    "marz",
    "april",
    "maggi",
    "giugn",
    "lugli",
    "agost",
    "settembr",
    "ottobr",
    "novembr",
    "dicembr",
];
const HOURS: [&str; 14] = [
    "morn",
    "noon",
    "afternoon",
    "even",
    "night",
    "midnight",
    "hour",
    "clock",
    "mattin",
    "pomeriggi",
    "sera",
    "nott",
    "mezzogiorn",
    "or",
];
const NUMBERS: [&str; 22] = [
    "one", "two", "three", "four", "fiv", "six", "seven", "eight", "nine", "ten", "dozen", "hundr", "thousand", "due",
    "tre", "quattr", "cinqu", "sei", "sett", "otto", "nove", "dieci",
];
