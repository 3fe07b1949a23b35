//! What both sides do: a sentence, a pipeline of the usual tools, and how the figure is read out of either's words.
//!
//! The figures are compared, never assumed. `sha256sum` reads every file whole; Metnos reads whole only what may be
//! equal, which is the better half of its figure there.

use std::fs;
use std::path::Path;
use std::time::Instant;

use crate::measured::Side;

/// One work.
pub(crate) struct Work {
    pub(crate) name: &'static str,
    pub(crate) sentence: &'static str,
    pub(crate) peer: &'static str,
    pub(crate) of_answer: fn(&str, &Path) -> Vec<String>,
    pub(crate) of_peer: fn(&str) -> Vec<String>,
}

/// The works that change nothing.
pub(crate) fn reading() -> Vec<Work> {
    vec![
        Work {
            name: "count",
            sentence: "how many files are in ~/all",
            peer: "find all -type f | wc -l",
            of_answer: |text, _| numbers(text, 1),
            of_peer: |text| numbers(text, 1),
        },
        Work {
            name: "5 biggest",
            sentence: "the 5 biggest files in ~/all",
            peer: "find all -type f -printf '%s\\t%p\\n' | sort -rn | head -5 | cut -f2",
            of_answer: paths,
            of_peer: lines,
        },
        Work {
            name: "by type",
            sentence: "count the files of ~/all by type",
            peer: "find all -type f -printf '%f\\n' | awk -F. '
                function of(kind, list) { n = split(list, endings, \" \"); for (i = 1; i <= n; i++) type[endings[i]] = kind }
                BEGIN { of(\"picture\", \"jpg png\"); of(\"audio\", \"mp3\"); of(\"archive\", \"zip\")
                    of(\"document\", \"txt md pdf csv log doc\"); of(\"code\", \"json py html xml\") }
                { print type[$NF] }' | sort | uniq -c",
            of_answer: |text, _| {
                let rows = text.lines().skip(2).filter(|line| !line.starts_with("total"));
                sorted(rows.filter_map(named_count).collect())
            },
            of_peer: |text| {
                let swapped = |line: &str| line.trim().split_once(' ').map(|(count, name)| format!("{name} {count}"));
                sorted(text.lines().filter_map(swapped).collect())
            },
        },
        Work {
            name: "duplicates",
            sentence: "duplicates in ~/all",
            peer: "find all -type f -size +0 -exec sha256sum {} + | sort | uniq -w64 -D | cut -c1-64 | uniq -c |
                awk '{ files += $1; groups++ } END { print files - groups, groups }'",
            of_answer: |text, _| numbers(text, 2),
            of_peer: |text| numbers(text, 2),
        },
        Work {
            name: "large and recent",
            sentence: "files in ~/all over 100 KB modified in the last 7 days",
            peer: "find all -type f -size +100000c -newermt '7 days ago' | sort",
            of_answer: paths,
            of_peer: lines,
        },
    ]
}

/// The first whole numbers of a text, with or without signs between thousands.
fn numbers(text: &str, count: usize) -> Vec<String> {
    let words = text.split_whitespace().map(|word| word.replace(',', ""));
    words.filter(|word| word.parse::<u64>().is_ok()).take(count).collect()
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// The paths that an answer lists, from the home folder on.
fn paths(text: &str, home: &Path) -> Vec<String> {
    let home = format!("{}/", home.display());
    text.lines().skip(1).filter_map(|line| line.split_once(&home)).map(|(_, path)| path.to_owned()).collect()
}

fn named_count(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    Some(format!("{} {}", words.next()?, words.next()?.replace(',', "")))
}

fn sorted(mut list: Vec<String>) -> Vec<String> {
    list.sort();
    list
}

/// All files of one folder moved into another, and taken back: once each, since neither can be repeated as it was.
pub(crate) fn moved_and_back(metnos: &Side, home: &Path, files: usize) -> Result<String, String> {
    let (from, to) = (home.join("flat"), home.join("moved"));
    let told = |error: std::io::Error| error.to_string();
    fs::create_dir(&from).and_then(|()| fs::create_dir(&to)).map_err(told)?;
    for number in 0..files {
        fs::write(from.join(format!("f{number:06}.txt")), format!("{number}\n")).map_err(told)?;
    }
    let there = |folder: &Path| fs::read_dir(folder).map_or(0, Iterator::count);
    let check = |what: &str, left: usize, right: usize| {
        let found = (there(&from), there(&to));
        if found == (left, right) { Ok(()) } else { Err(format!("after {what}, {found:?} files are here and there")) }
    };
    let (_, forth) = metnos.run("move all the files of ~/flat to ~/moved")?;
    check("the move", 0, files)?;
    let (_, back) = metnos.run("undo the last turn")?;
    check("the undo", files, 0)?;
    let shell = Side::shell(home);
    let began = Instant::now();
    shell.run("find flat -type f -print0 | xargs -0 mv -t moved && sync -f moved")?;
    let peer = began.elapsed();
    check("mv", 0, files)?;
    Ok(format!(
        "{files} files moved: metnos {:.1} s, and undone {:.1} s; mv and one sync {:.1} s, with nothing to undo it by",
        forth.as_secs_f64(),
        back.as_secs_f64(),
        peer.as_secs_f64()
    ))
}
