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
    pub(crate) of_answer: OfAnswer,
    pub(crate) of_peer: OfPeer,
}

/// How an answer, and the peer's words, are read: the figures in them, in an order that can be compared.
type OfAnswer = fn(&str, &Path) -> Vec<String>;
type OfPeer = fn(&str) -> Vec<String>;

/// The works that change nothing: name, sentence, peer, and how the figure is read of either.
const READING: [(&str, &str, &str, OfAnswer, OfPeer); 5] = [
    ("count", "how many files are in ~/all", "find all -type f | wc -l", |text, _| numbers(text, 1), |text| numbers(text, 1)),
    (
        "5 biggest",
        "the 5 biggest files in ~/all",
        "find all -type f -printf '%s\\t%p\\n' | sort -rn | head -5 | cut -f2",
        paths,
        lines,
    ),
    (
        "by type",
        "count the files of ~/all by type",
        "find all -type f -printf '%f\\n' | awk -F. '
            function of(kind, list) { n = split(list, endings, \" \"); for (i = 1; i <= n; i++) type[endings[i]] = kind }
            BEGIN { of(\"picture\", \"jpg png\"); of(\"audio\", \"mp3\"); of(\"archive\", \"zip\")
                of(\"document\", \"txt md pdf csv log doc\"); of(\"code\", \"json py html xml\") }
            { print type[$NF] }' | sort | uniq -c",
        |text, _| {
            let rows = text.lines().skip(2).filter(|line| !line.starts_with("total"));
            sorted(rows.filter_map(named_count).collect())
        },
        |text| {
            let swapped = |line: &str| line.trim().split_once(' ').map(|(count, name)| format!("{name} {count}"));
            sorted(text.lines().filter_map(swapped).collect())
        },
    ),
    (
        "duplicates",
        "duplicates in ~/all",
        "find all -type f -size +0 -exec sha256sum {} + | sort | uniq -w64 -D | cut -c1-64 | uniq -c |
            awk '{ files += $1; groups++ } END { print files - groups, groups }'",
        |text, _| numbers(text, 2),
        |text| numbers(text, 2),
    ),
    (
        "large and recent",
        "files in ~/all over 100 KB modified in the last 7 days",
        "find all -type f -size +100000c -newermt '7 days ago' | sort",
        paths,
        lines,
    ),
];

/// The works that change nothing.
pub(crate) fn reading() -> impl Iterator<Item = Work> {
    READING.into_iter().map(|(name, sentence, peer, of_answer, of_peer)| Work {
        name,
        sentence,
        peer,
        of_answer,
        of_peer,
    })
}

/// The first whole numbers of a text, with or without signs between thousands.
fn numbers(text: &str, count: usize) -> Vec<String> {
    let words = text.split_whitespace().map(|word| word.replace(',', ""));
    words.filter(|word| word.parse::<u64>().is_ok()).take(count).collect()
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// The paths that an answer lists, from the home folder on, without the size and time that stand behind each.
fn paths(text: &str, home: &Path) -> Vec<String> {
    let home = format!("{}/", home.display());
    let path = |line: &str| {
        let (_, listed) = line.split_once(&home)?;
        Some(listed.split_once(" (").map_or(listed, |(path, _)| path).to_owned())
    };
    text.lines().skip(1).filter_map(path).collect()
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
