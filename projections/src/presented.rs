//! Filters for presentations: how values are said to a person (sizes, numbers, days), and tables of entries.
//!
//! All of them are pure: the language and the time zone come with the call, never from the machine that runs them.
//!
//! | filter | does |
//! |---|---|
//! | `bytes \| human_size("it")` | `2,1 MB`, `1 byte` |
//! | `value \| local_number("it")` | `1.234,5`; what is no number stays as it is |
//! | `text \| local_date("it", zone)` | `5 mar 2026 14:05` of an ISO 8601 day or moment; other text stays as it is |
//! | `names \| field_names("it", own)` | fields as they are called, joined: `dimensione, nome` |
//! | `path \| as_word` | the text as a shell takes it back: `'my home'` |
//! | `entries \| table("it", …)` | aligned lines of at most 100 characters, see `table` |

pub(crate) mod bounds;
mod local;
pub(crate) mod rows;
mod table;
pub mod visible;
pub(crate) mod word;

use std::borrow::Cow;
use std::sync::Arc;

use minijinja::value::{Kwargs, Value};
use minijinja::{Environment, Error, ErrorKind};

use crate::messages::Language;
use crate::rules::simple::answer::StepResult;

/// Makes the filters known to templates.
pub(crate) fn add_filters(environment: &mut Environment<'_>) {
    environment.add_filter("human_size", human_size);
    environment.add_filter("local_number", local_number);
    environment.add_filter("local_date", local_date);
    environment.add_filter("field_names", field_names);
    environment.add_filter("table", tabled);
    environment.add_filter("as_word", word::as_word);
}

/// The step with its columns in the order of what was read first: an object's fields have no order of their own, but a
/// CSV file's columns have one, and its reader tells it (`metadata.columns`).
pub(crate) fn in_reading_order<'a>(last: &'a StepResult, earlier: &[StepResult]) -> Cow<'a, StepResult> {
    const KEEPERS: [&str; 5] =
        ["filter_entries", "sort_entries", "compute_entries", "classify_entries", "filter_lists"];
    let columns = |step: &StepResult| -> Option<Vec<String>> {
        let names = step.result.pointer("/metadata/columns")?.as_array()?;
        names.iter().map(|name| name.as_str().map(str::to_owned)).collect()
    };
    let read = earlier.iter().find(|step| step.tool.starts_with("read_")).and_then(columns);
    let (Some(read), Some(mut shown)) = (read, columns(last)) else { return Cow::Borrowed(last) };
    if !KEEPERS.contains(&last.tool.as_str()) {
        return Cow::Borrowed(last);
    }
    // What the reader knows changes places among itself; what was added stays where it is.
    let mut ordered: Vec<String> = shown.iter().filter(|name| read.contains(name)).cloned().collect();
    ordered.sort_by_key(|name| read.iter().position(|known| known == name));
    let mut ordered = ordered.into_iter();
    for name in shown.iter_mut().filter(|name| read.contains(name)) {
        *name = ordered.next().unwrap_or_default();
    }
    let mut last = last.clone();
    Arc::make_mut(&mut last.result)["metadata"]["columns"] = shown.into();
    Cow::Owned(last)
}

fn language(code: &str) -> Result<Language, Error> {
    Language::parse(code).ok_or_else(|| Error::new(ErrorKind::InvalidOperation, format!("no language {code:?}")))
}

fn human_size(value: &Value, code: &str) -> Result<String, Error> {
    let language = language(code)?;
    Ok(local::bytes_of(value).map_or_else(|| value.to_string(), |bytes| local::size_said(bytes, language)))
}

fn local_number(value: &Value, code: &str) -> Result<String, Error> {
    let language = language(code)?;
    Ok(local::Number::of(value).map_or_else(|| value.to_string(), |number| number.said(language)))
}

fn local_date(value: &Value, code: &str, zone: Option<&str>) -> Result<String, Error> {
    let language = language(code)?;
    let Some(text) = value.as_str() else { return Ok(value.to_string()) };
    Ok(local::date(text, language, zone).unwrap_or_else(|| text.to_owned()))
}

fn field_names(names: &Value, code: &str, own: bool) -> Result<String, Error> {
    let language = language(code)?;
    let called = names.try_iter()?.map(|name| table::field_name(&name.to_string(), language, own));
    Ok(called.collect::<Vec<_>>().join(", "))
}

#[expect(clippy::needless_pass_by_value, reason = "a filter takes its named arguments by value")]
fn tabled(entries: &Value, code: &str, options: Kwargs) -> Result<String, Error> {
    let texts = |name: &str| -> Result<Option<Vec<String>>, Error> {
        let value: Option<Value> = options.get(name)?;
        let Some(value) = value.filter(|value| !value.is_none() && !value.is_undefined()) else { return Ok(None) };
        Ok(Some(value.try_iter()?.map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned)).collect()))
    };
    let chosen = table::Options {
        language: language(code)?,
        columns: texts("columns")?,
        sizes: texts("sizes")?.unwrap_or_default(),
        computed: texts("computed")?,
        zone: options.get("zone")?,
        own: options.get::<Option<bool>>("own")?.unwrap_or(false),
        header: options.get::<Option<bool>>("header")?.unwrap_or(true),
        missing: options.get::<Option<String>>("missing")?.unwrap_or_default(),
        total: options.get("total")?,
        limit: options.get::<Option<usize>>("limit")?.unwrap_or(50),
        feminine: options.get::<Option<bool>>("feminine")?.unwrap_or(false),
    };
    options.assert_all_used()?;
    table::table(entries, &chosen)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::in_reading_order;
    use crate::messages::fill;
    use crate::rules::simple::answer::StepResult;

    #[track_caller]
    fn check(template: &str, value: &Value, said: &str) {
        assert_eq!(fill(template, json!({ "v": value })).unwrap(), said, "{template} of {value}");
    }

    #[test]
    fn sizes_are_human() {
        for (bytes, en, it) in [
            (0_u64, "0 bytes", "0 byte"),
            (1, "1 byte", "1 byte"),
            (999, "999 bytes", "999 byte"),
            (1000, "1.0 kB", "1,0 kB"),
            (2_149_999, "2.1 MB", "2,1 MB"),
            (99_949_999, "99.9 MB", "99,9 MB"),
            (99_950_000, "100 MB", "100 MB"),
            (999_499_999, "999 MB", "999 MB"),
            (999_500_000, "1.0 GB", "1,0 GB"),
            (u64::MAX, "18.4 EB", "18,4 EB"),
        ] {
            check(r#"{{ v | human_size("en") }}"#, &json!(bytes), en);
            check(r#"{{ v | human_size("it") }}"#, &json!(bytes), it);
        }
        check(r#"{{ v | human_size("it") }}"#, &json!(-1500), "-1,5 kB");
        check(r#"{{ v | human_size("it") }}"#, &json!("much"), "much");
    }

    #[test]
    fn numbers_are_written_as_in_the_language() {
        for (value, en, it) in [
            (json!(1234.5), "1,234.5", "1.234,5"),
            (json!(0.3), "0.3", "0,3"),
            (json!(-1_234_567), "-1,234,567", "-1.234.567"),
            (json!(41.666_666_666), "41.6667", "41,6667"),
            (json!(0.000_012_345_6), "0.00001235", "0,00001235"),
            (json!(12.0), "12", "12"),
            (json!(1e300), "1e300", "1e300"),
            (json!(999.99996), "1,000", "1.000"),
            (json!("n/a"), "n/a", "n/a"),
        ] {
            check(r#"{{ v | local_number("en") }}"#, &value, en);
            check(r#"{{ v | local_number("it") }}"#, &value, it);
        }
    }

    #[test]
    fn dates_are_said_in_the_zone_of_the_person() {
        let say = r#"{{ v | local_date("it", "Europe/Rome") }}"#;
        check(say, &json!("2026-03-05T23:30:00Z"), "6 mar 2026 00:30");
        check(say, &json!("2026-03-05"), "5 mar 2026");
        check(say, &json!("2026-03-05 10:00"), "5 mar 2026 10:00");
        check(say, &json!("2026-13-05"), "2026-13-05");
        check(say, &json!("someday"), "someday");
        check(r#"{{ v | local_date("en", "No/Where") }}"#, &json!("2026-05-05T23:30:00Z"), "5 May 2026 23:30");
    }

    #[test]
    fn columns_stand_as_in_the_file_that_was_read() {
        let step = |tool: &str, columns: &Value| StepResult {
            tool: tool.to_owned(),
            args: json!({}).into(),
            result: json!({"ok": true, "metadata": {"columns": columns}}).into(),
            is_counted: false,
        };
        let read = [step("read_files_csv", &json!(["when", "what", "amount"]))];
        let shown = |tool: &str, columns: &Value, earlier: &[StepResult]| {
            in_reading_order(&step(tool, columns), earlier).result["metadata"]["columns"].clone()
        };
        let sorted = json!(["amount", "what", "when"]);
        assert_eq!(shown("sort_entries", &sorted, &read), json!(["when", "what", "amount"]));
        let classes = json!(["class", "amount", "new", "when"]);
        assert_eq!(shown("classify_entries", &classes, &read), json!(["class", "when", "new", "amount"]));
        assert_eq!(shown("group_entries", &sorted, &read), sorted);
        assert_eq!(shown("sort_entries", &sorted, &[]), sorted);
    }

    #[test]
    fn an_option_that_is_none_is_told() {
        let error = fill(r#"{{ [] | table("en", colums=[]) }}"#, json!({})).unwrap_err();
        assert!(format!("{error:#}").contains("colums"), "{error:#}");
    }
}
