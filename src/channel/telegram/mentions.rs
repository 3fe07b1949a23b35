//! Names of files in the inbox in what a person writes: their paths take the names' place. Only what can be nothing but a
//! name is one: it has an ending, or stands in quotes.

use std::path::{Path, PathBuf};

use metnos_log::Event;
use metnos_projections::rules::simple;

use super::chats::inbox;
use super::documents::Document;
use super::wire::Update;
use crate::instance::{Instance, InstanceError};

/// Marks that stand before and behind a name.
const QUOTES: [(char, char); 5] = [('"', '"'), ('\'', '\''), ('“', '”'), ('«', '»'), ('‘', '’')];

/// A sentence in which names of files that were sent are their paths, so that they can be asked about by name. What is
/// there in the person's own folder is meant first, and of several files of one name the newest.
pub(super) fn with_paths(instance: &Instance, text: &str, folder: &Path) -> Result<String, InstanceError> {
    let inbox = inbox(instance);
    if !inbox.is_dir() {
        return Ok(text.to_owned());
    }
    let mut sent = None;
    replaced(text, &mut |name| {
        if folder.join(name).symlink_metadata().is_ok() {
            return Ok(Meant::Other);
        }
        if sent.is_none() {
            sent = Some(newest(instance)?);
        }
        let is_there = |document: &&Document| document.is_called(name) && Path::new(&document.path).is_file();
        let found = sent.iter().flatten().find(is_there).map(|document| PathBuf::from(&document.path));
        // It may have been laid there by hand.
        let beside = Some(inbox.join(name)).filter(|path| !name.contains(['/', '\0']) && path.is_file());
        Ok(found.or(beside).map_or(Meant::Nothing, |path| Meant::Path(path.to_string_lossy().into_owned())))
    })
}

/// What is written below a file: its name in it is its path, or its path follows. No other file is meant.
pub(super) fn below(document: &Document, text: &str) -> String {
    let path = |name: &str| {
        Ok::<_, std::convert::Infallible>(if document.is_called(name) {
            Meant::Path(document.path.clone())
        } else {
            Meant::Nothing
        })
    };
    let text = match replaced(text, &mut { path }) {
        Ok(text) => text,
        Err(never) => match never {},
    };
    if text.contains(&document.path) { text } else { format!("{text} {}", document.path) }
}

/// What a name in a sentence means.
enum Meant {
    /// A file that was sent.
    Path(String),
    /// A file elsewhere, which is found by its name.
    Other,
    /// No file.
    Nothing,
}

/// A text with paths in the place of names.
fn replaced<E>(text: &str, meant: &mut impl FnMut(&str) -> Result<Meant, E>) -> Result<String, E> {
    let candidates = simple::candidates_for_existing(text);
    let ranges = candidates.iter().map(|&(start, end)| (start as usize, end as usize));
    let (mut whole, mut done) = (String::new(), 0);
    for (start, end) in ranges.clone() {
        let Some(name) = text.get(start..end).filter(|_| start >= done) else { continue };
        let is_quoted = is_quoted(text, start, end);
        if !(is_quoted || has_ending(name)) || matches!(name, "." | "..") {
            continue;
        }
        let Meant::Path(path) = meant(name)? else { continue };
        if !is_quoted && name.contains(char::is_whitespace) && holds_another((start, end), text, ranges.clone(), meant)?
        {
            continue;
        }
        whole.push_str(&text[done..start]);
        whole.push_str(&path);
        done = end;
    }
    Ok(whole + &text[done..])
}

/// Whether one word among those of a name is a file's name itself: then nobody knows where the long one begins, and it
/// counts in quotes only.
fn holds_another<E>(
    (start, end): (usize, usize),
    text: &str,
    ranges: impl Iterator<Item = (usize, usize)>,
    meant: &mut impl FnMut(&str) -> Result<Meant, E>,
) -> Result<bool, E> {
    for (from, to) in ranges.filter(|(from, to)| start <= *from && *to <= end && to - from < end - start) {
        let word = text.get(from..to).filter(|word| has_ending(word) && !word.contains(char::is_whitespace));
        if let Some(word) = word
            && !matches!(meant(word)?, Meant::Nothing)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a name ends as only names do: with a dot and letters, or letters and digits, behind something.
pub(super) fn has_ending(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty() && ending.chars().all(char::is_alphanumeric) && ending.contains(char::is_alphabetic)
    })
}

fn is_quoted(text: &str, start: usize, end: usize) -> bool {
    let mut before = text[..start].chars().rev();
    let (Some(open), Some(close)) = (before.next(), text[end..].chars().next()) else { return false };
    // An apostrophe is no quote.
    QUOTES.contains(&(open, close)) && !before.next().is_some_and(char::is_alphanumeric)
}

/// The files that a person sent, newest first.
fn newest(instance: &Instance) -> Result<Vec<Document>, InstanceError> {
    let projected = instance.projected();
    let reader = instance.log.reader();
    let mut found = Vec::new();
    for seq in projected.documents.newest_of(&instance.actor) {
        let Some(recorded) = reader.event(seq)? else { continue };
        let Some(Event::DocumentReceived(received)) = reader.rehydrated(recorded)?.event().cloned() else { continue };
        let Some(path) = received.path.get().map(str::to_owned) else { continue };
        // The name that the sender gave stands in the update.
        let mut given = None;
        if let Some(seq) = reader.seq_of(received.update)?
            && let Some(update) = reader.event(seq)?
            && let Some(Event::UpdateReceived(update)) = reader.rehydrated(update)?.event()
            && let Some(Update::Message(message)) = update.raw.value().as_ref().map(Update::read)
        {
            given = message.file().and_then(|(file, _)| file.file_name.clone());
        }
        found.push(Document { given, path });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const THERE: [&str; 7] = ["file", "8", "8.30", "r.csv", "my report (1).csv", "perché no.txt", "delete doomed.txt"];

    #[track_caller]
    fn check(text: &str, others: &[&str], expected: &str) {
        let meant = &mut |name: &str| {
            Ok::<_, std::convert::Infallible>(if others.contains(&name) {
                Meant::Other
            } else if THERE.contains(&name) {
                Meant::Path(format!("<{name}>"))
            } else {
                Meant::Nothing
            })
        };
        assert_eq!(replaced(text, meant).unwrap(), expected);
    }

    #[test]
    fn only_what_can_be_nothing_but_a_name_is_one() {
        check("read the file r.csv.", &[], "read the file <r.csv>.");
        check("every day at 8 read file", &[], "every day at 8 read file");
        check("ogni giorno alle 8.30 leggi r.csv", &[], "ogni giorno alle 8.30 leggi <r.csv>");
        check("read «file» and \"8\"", &[], "read «<file>» and \"<8>\"");
        check("l'8' e dell'8 r.csv", &[], "l'8' e dell'8 <r.csv>");
        check("how many rows are in my report (1).csv?", &[], "how many rows are in <my report (1).csv>?");
        check("leggi \"perché no.txt\", poi perché no.txt", &[], "leggi \"<perché no.txt>\", poi <perché no.txt>");
    }

    /// A friend's file called «delete doomed.txt» took the whole sentence's place.
    #[test]
    fn a_long_name_with_a_files_name_in_it_counts_in_quotes_only() {
        check("delete doomed.txt", &["doomed.txt"], "delete doomed.txt");
        check("read 'delete doomed.txt'", &["doomed.txt"], "read '<delete doomed.txt>'");
        check("delete doomed.txt", &[], "<delete doomed.txt>");
    }

    #[test]
    fn the_words_below_a_file_speak_of_it_alone() {
        let document = Document { given: Some("r.csv".to_owned()), path: "/inbox/r-2.csv".to_owned() };
        assert_eq!(below(&document, "how many rows are in r.csv"), "how many rows are in /inbox/r-2.csv");
        assert_eq!(below(&document, "how many rows"), "how many rows /inbox/r-2.csv");
        assert_eq!(below(&document, "rows of x.csv"), "rows of x.csv /inbox/r-2.csv");
    }
}
