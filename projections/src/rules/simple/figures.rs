//! Days in figures that are to come: `2026-12-25`, `25/12/2026`, `25.12.2026`, «il 25/12».
//!
//! Of a day and a month that may be the other way round it takes neither.

use jiff::civil::Date;

/// A day that is written in figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Figures {
    /// The days that it may be, the nearest first; none where there is no such day.
    Days(Vec<Date>),
    /// Day first or month first: both, as they would be written without a doubt.
    Either([String; 2]),
}

/// Reads a word as a day; without a year it is that day of this year or the next.
pub(super) fn figures(word: &str, this_year: i16) -> Option<Figures> {
    let mark = word.chars().find(|c| !c.is_ascii_digit()).filter(|c| matches!(c, '-' | '/' | '.'))?;
    let parts: Vec<&str> = word.split(mark).collect();
    let number = |part: &str| part.parse::<i16>().ok().filter(|n| *n > 0 && part.len() <= 4);
    let parsed: Vec<i16> = parts.iter().map(|part| number(part)).collect::<Option<_>>()?;
    let years = |year: i16| vec![year];
    let (first, second, years) = match (parsed.as_slice(), mark) {
        (&[year, month, day], _) if parts[0].len() == 4 => return Some(days(years(year), month, day)),
        (&[a, b, year], _) if parts[2].len() == 4 => (a, b, years(year)),
        // «9.30» is a time, and «1-2» a range; no clock shows «25.12».
        (&[a, b], '.') if a > 23 => (a, b, vec![this_year, this_year + 1]),
        (&[a, b], '/') => (a, b, vec![this_year, this_year + 1]),
        _ => return None,
    };
    if first.max(second) > 31 {
        return None;
    }
    match (first <= 12, second <= 12) {
        (true, true) if first != second && mark != '.' => {
            let year = years[0];
            Some(Figures::Either([(second, first), (first, second)].map(|(m, d)| format!("{year}-{m:02}-{d:02}"))))
        }
        (_, true) => Some(days(years, second, first)),
        (true, false) => Some(days(years, first, second)),
        (false, false) => None,
    }
}

fn days(years: Vec<i16>, month: i16, day: i16) -> Figures {
    let date = |year: i16| Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok();
    Figures::Days(years.into_iter().filter_map(date).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expected: Option<&[&str]>) {
        let shown = match figures(word, 2026) {
            None => None,
            Some(Figures::Days(days)) => Some(days.iter().map(ToString::to_string).collect::<Vec<_>>()),
            Some(Figures::Either(both)) => Some(both.iter().map(|day| format!("or {day}")).collect()),
        };
        let expected = expected.map(|days| days.iter().map(|day| (*day).to_owned()).collect::<Vec<_>>());
        assert_eq!(shown, expected, "{word}");
    }

    #[test]
    fn days_in_figures() {
        check("2026-12-25", Some(&["2026-12-25"]));
        check("2026/12/25", Some(&["2026-12-25"]));
        check("25/12/2026", Some(&["2026-12-25"]));
        check("12/25/2026", Some(&["2026-12-25"]));
        check("25.12.2026", Some(&["2026-12-25"]));
        check("3.4.2027", Some(&["2027-04-03"]));
        check("4/4/2027", Some(&["2027-04-04"]));
        check("25/12", Some(&["2026-12-25", "2027-12-25"]));
        check("25.12", Some(&["2026-12-25", "2027-12-25"]));
        check("3/4/2027", Some(&["or 2027-04-03", "or 2027-03-04"]));
        check("3/4", Some(&["or 2026-04-03", "or 2026-03-04"]));
        check("2026-02-30", Some(&[]));
        check("30/2", Some(&[]));
        for word in ["9.30", "9:30", "1-2", "25", "25/13/26", "99/12/2026", "0/12/2026", "25/", "a/b", ""] {
            check(word, None);
        }
    }
}
