//! Files that people send: kept in the inbox of the workspace, under a name that harms nothing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use metnos_log::Kept;
use metnos_log::event::channel::DocumentReceived;
use serde_json::json;

use super::chats::inbox;
use super::client::FILE_BYTES_MAX;
use super::inbound::Said;
use super::mentions::has_ending;
use super::{Bot, CHANNEL, Pause, TelegramError};
use crate::channel::outbox;
use crate::engine::EngineError;
use crate::instance::Instance;

/// The longest name that a file keeps, in bytes; and how many files of one name there may be.
const NAME_BYTES_MAX: usize = 100;
const SAME_NAME_MAX: u32 = 1000;

/// A file that was sent.
pub(super) struct Document {
    /// Its name, as its sender has it.
    pub given: Option<String>,
    /// Where it is.
    pub path: String,
}

impl Document {
    /// The name that it has where it is.
    fn kept(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Whether it goes by this name.
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.kept() == name || self.given.as_deref() == Some(name)
    }

    /// What is said when it is kept.
    pub(super) fn told(&self, bot: &Bot, instance: &Instance) -> String {
        let is_plain = |c: char| c.is_alphanumeric() || " .-_()[]".contains(c);
        let name = self.given.as_deref().filter(|name| name.chars().all(is_plain)).unwrap_or(self.kept());
        let values = json!({ "path": self.path, "name": name, "quoted": !has_ending(name) });
        bot.told(instance, "telegram.file_kept", &values)
    }
}

impl Bot {
    /// Fetches the file of a message and keeps it, or what is said instead; `None` when this bot is left before.
    pub(super) fn received(
        &self,
        instance: &Instance,
        said: &Said<'_>,
    ) -> Result<Option<Result<Document, String>>, EngineError> {
        let Some((file, fallback)) = said.message.file() else { return Ok(None) };
        let mut pause = Pause::default();
        let bytes = loop {
            let error = match self.until_leaving(self.client.download(file)) {
                None => return Ok(None),
                Some(Ok(bytes)) => break bytes,
                Some(Err(error)) => error,
            };
            match error {
                TelegramError::TooLarge => {
                    let values = json!({ "most": FILE_BYTES_MAX >> 20 });
                    return Ok(Some(Err(self.told(instance, "telegram.file_too_large", &values))));
                }
                TelegramError::Refused(reason) | TelegramError::Blocked(reason) => {
                    return Ok(Some(Err(self.told(instance, "telegram.file_refused", &json!({ "reason": reason })))));
                }
                error if self.wait(pause.next(&error)) => return Ok(None),
                _ => {}
            }
        };
        let given = file.file_name.clone();
        let name = plain(given.as_deref().unwrap_or(&fallback), &fallback);
        let path = match keep(&inbox(instance), &name, &bytes) {
            Ok(path) => path,
            Err(error) => {
                let values = json!({ "reason": error.to_string() });
                return Ok(Some(Err(self.told(instance, "telegram.file_not_kept", &values))));
            }
        };
        let path = path.to_string_lossy().into_owned();
        let received = DocumentReceived {
            update: said.update,
            path: Kept::text(path.clone()),
            bytes: bytes.len() as u64,
            content: instance.log.keyed_blob_hash(&bytes),
        };
        let id = outbox::derived(said.update.0, &[b"document"]);
        outbox::record(instance, vec![outbox::draft(instance, CHANNEL, id, received)])?;
        Ok(Some(Ok(Document { given, path })))
    }
}

/// A name without folders and without letters that mean something to anyone but a person; it begins with a letter or digit.
fn plain(name: &str, fallback: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let kept = |letter: char| if letter.is_alphanumeric() || matches!(letter, '.' | '-' | '_') { letter } else { '_' };
    let name: String = last.trim().chars().map(kept).collect();
    let name = name.trim_matches(|letter| matches!(letter, '.' | '_' | '-'));
    let (stem, ending) = name.rsplit_once('.').filter(|(_, ending)| ending.len() <= 10).unwrap_or((name, ""));
    let mut stem = stem.trim_end_matches('_').to_owned();
    while stem.len() > NAME_BYTES_MAX {
        stem.pop();
    }
    match (stem.is_empty(), ending.is_empty()) {
        (true, true) => fallback.to_owned(),
        (true, false) => format!("{}.{ending}", fallback.split('.').next().unwrap_or(fallback)),
        (false, true) => stem,
        (false, false) => format!("{stem}.{ending}"),
    }
}

/// Keeps bytes under a name, or under one beside it where another file has that name. The same bytes are kept once.
fn keep(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let folder = folder.canonicalize()?;
    let (stem, ending) = name.rsplit_once('.').map_or((name, String::new()), |(stem, end)| (stem, format!(".{end}")));
    for number in 1..SAME_NAME_MAX {
        let name = if number == 1 { name.to_owned() } else { format!("{stem}-{number}{ending}") };
        let path = folder.join(name);
        match path.symlink_metadata() {
            Ok(there) if there.is_file() && there.len() == bytes.len() as u64 && fs::read(&path)? == bytes => {
                return Ok(path);
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => match write(&folder, &path, bytes) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => return other.map(|()| path),
            },
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("there are too many files of that name"))
}

/// Writes a file that is there whole or not at all, and takes no other one's place.
fn write(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = folder.join(format!(".{}.part", crate::signing::hex(&crate::instance::random::<8>())));
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        // A link takes no name that is taken.
        fs::hard_link(&part, path)
    })();
    fs::remove_file(&part)?;
    written?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_harms_nothing() {
        for (name, kept) in [
            ("report.csv", "report.csv"),
            ("my report (1).csv", "my_report__1.csv"),
            ("../../etc/passwd", "passwd"),
            ("..\\..\\boot.ini", "boot.ini"),
            (".bashrc", "bashrc"),
            ("...", "file"),
            ("", "file"),
            ("-rf", "rf"),
            ("a\u{202e}gpj.exe", "a_gpj.exe"),
            ("caffè\n.txt", "caffè.txt"),
        ] {
            assert_eq!(plain(name, "file"), kept, "{name:?}");
        }
        assert!(plain(&"è".repeat(500), "file").len() <= NAME_BYTES_MAX);
    }

    #[test]
    fn no_file_takes_the_place_of_another_and_none_is_there_twice() {
        let folder = tempfile::tempdir().unwrap();
        let kept = |bytes: &[u8]| {
            let path = keep(&folder.path().join("inbox"), "a.txt", bytes).unwrap();
            path.file_name().unwrap().to_string_lossy().into_owned()
        };
        assert_eq!([kept(b"one"), kept(b"two"), kept(b"one"), kept(b"two")], ["a.txt", "a-2.txt", "a.txt", "a-2.txt"]);
        assert_eq!(fs::read_dir(folder.path().join("inbox")).unwrap().count(), 2);
    }
}
