//! What the Bot API sends, as far as it is used. Lenient: servers leave fields out and add new ones, and a field that is
//! not understood must not hide the rest.

#![expect(clippy::struct_field_names, reason = "fields are named as the Bot API names them")]

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The envelope of every answer.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Envelope {
    /// Whether the request was carried out.
    #[serde(default)]
    pub ok: bool,
    /// Its result.
    #[serde(default)]
    pub result: Value,
    /// Why it was not.
    #[serde(default)]
    pub description: Option<String>,
    /// What can be done about it.
    #[serde(default, deserialize_with = "or_none")]
    pub parameters: Option<Parameters>,
}

/// What can be done about a refusal.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Parameters {
    /// When to try again, in seconds.
    #[serde(default)]
    pub retry_after: Option<u64>,
    /// Where the group is that this one has become.
    #[serde(default, deserialize_with = "or_none")]
    pub migrate_to_chat_id: Option<i64>,
}

/// The bot itself.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Me {
    /// Its number.
    pub id: i64,
    /// Its name, by which people find it.
    #[serde(default)]
    pub username: Option<String>,
}

/// A chat.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Chat {
    /// Its number.
    pub id: i64,
    /// `private`, `group`, `supergroup`, `channel`.
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
}

impl Chat {
    /// Whether only one person is in it.
    pub(super) fn is_private(&self) -> bool {
        self.kind.as_deref().is_none_or(|kind| kind == "private")
    }
}

/// Who wrote.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct User {
    /// Their number.
    pub id: i64,
    /// The language of their app.
    #[serde(default)]
    pub language_code: Option<String>,
}

/// Something that was written.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Message {
    /// Its number in the chat.
    #[serde(default)]
    pub message_id: i64,
    /// The chat.
    pub chat: Chat,
    /// Who wrote it.
    #[serde(default, deserialize_with = "or_none")]
    pub from: Option<User>,
    /// The text.
    #[serde(default, deserialize_with = "or_none")]
    pub text: Option<String>,
    /// The text below a file.
    #[serde(default, deserialize_with = "or_none")]
    pub caption: Option<String>,
    /// A file.
    #[serde(default, deserialize_with = "or_none")]
    pub document: Option<File>,
    /// A picture in several sizes, the largest last.
    #[serde(default, deserialize_with = "or_none")]
    pub photo: Option<Vec<File>>,
    /// A voice message.
    #[serde(default, deserialize_with = "or_none")]
    pub voice: Option<File>,
    /// Music.
    #[serde(default, deserialize_with = "or_none")]
    pub audio: Option<File>,
    /// A film.
    #[serde(default, deserialize_with = "or_none")]
    pub video: Option<File>,
    /// What it answers.
    #[serde(default, deserialize_with = "or_none")]
    pub reply_to_message: Option<Box<Message>>,
    /// Where the group is that this one has become.
    #[serde(default, deserialize_with = "or_none")]
    pub migrate_to_chat_id: Option<i64>,
    /// The rest of it, by its names.
    #[serde(flatten)]
    pub rest: serde_json::Map<String, Value>,
}

/// What a person may send that is neither a text nor a file.
const OTHER_CONTENT: [&str; 14] = [
    "sticker",
    "animation",
    "video_note",
    "location",
    "venue",
    "contact",
    "poll",
    "dice",
    "game",
    "story",
    "paid_media",
    "checklist",
    "invoice",
    "giveaway",
];

impl Message {
    /// Whose it is: the person, or the chat where it does not say.
    pub(super) fn sender(&self) -> i64 {
        self.from.as_ref().map_or(self.chat.id, |from| from.id)
    }

    /// Whether it brings something that nothing can be done with.
    pub(super) fn is_of_another_kind(&self) -> bool {
        OTHER_CONTENT.iter().any(|name| self.rest.get(*name).is_some_and(Value::is_object))
    }

    /// The file that it brings, and the name that it has when it brings none: never a word of a sentence.
    pub(super) fn file(&self) -> Option<(&File, String)> {
        let photo = self.photo.as_ref().and_then(|sizes| sizes.iter().max_by_key(|size| size.file_size.unwrap_or(0)));
        let files = [
            (self.document.as_ref(), None),
            (photo, Some("photo.jpg")),
            (self.voice.as_ref(), Some("voice.ogg")),
            (self.audio.as_ref(), Some("audio.mp3")),
            (self.video.as_ref(), Some("video.mp4")),
        ];
        files.into_iter().find_map(|(file, name)| {
            let file = file?;
            let of_kind = || format!("document-{}.{}", self.message_id, file.ending());
            Some((file, name.map_or_else(of_kind, str::to_owned)))
        })
    }
}

/// A file, before it is asked for or after.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct File {
    /// By which it is asked for.
    pub file_id: String,
    /// Its name, as its sender has it.
    #[serde(default, deserialize_with = "or_none")]
    pub file_name: Option<String>,
    /// What it holds, as its sender has it.
    #[serde(default, deserialize_with = "or_none")]
    pub mime_type: Option<String>,
    /// Its length in bytes.
    #[serde(default, deserialize_with = "or_none")]
    pub file_size: Option<u64>,
    /// Where it can be fetched, once it was asked for.
    #[serde(default, deserialize_with = "or_none")]
    pub file_path: Option<String>,
}

/// The endings of the kinds of files that people send most.
const ENDINGS: [(&str, &str); 22] = [
    ("application/json", "json"),
    ("application/msword", "doc"),
    ("application/pdf", "pdf"),
    ("application/vnd.ms-excel", "xls"),
    ("application/vnd.oasis.opendocument.spreadsheet", "ods"),
    ("application/vnd.oasis.opendocument.text", "odt"),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),
    ("application/xml", "xml"),
    ("application/zip", "zip"),
    ("audio/mpeg", "mp3"),
    ("audio/ogg", "ogg"),
    ("image/gif", "gif"),
    ("image/jpeg", "jpg"),
    ("image/png", "png"),
    ("image/webp", "webp"),
    ("text/calendar", "ics"),
    ("text/csv", "csv"),
    ("text/html", "html"),
    ("text/markdown", "md"),
    ("text/plain", "txt"),
    ("video/mp4", "mp4"),
];

impl File {
    /// The ending that a name for it has: that of its kind, where it is known.
    fn ending(&self) -> &'static str {
        let kind = self.mime_type.as_deref().unwrap_or_default();
        ENDINGS.iter().find(|(known, _)| *known == kind).map_or("bin", |(_, ending)| ending)
    }
}

/// A pressed button.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Press {
    /// By which it is answered.
    pub id: String,
    /// Who pressed.
    #[serde(default, deserialize_with = "or_none")]
    pub from: Option<User>,
    /// The message with the button.
    #[serde(default, deserialize_with = "or_none")]
    pub message: Option<Message>,
    /// What the button carries.
    #[serde(default, deserialize_with = "or_none")]
    pub data: Option<String>,
}

/// What an update is.
#[derive(Clone, Debug)]
pub(super) enum Update {
    /// A message.
    Message(Box<Message>),
    /// A message that its writer changed afterwards, as it is now.
    Edited(Box<Message>),
    /// A pressed button.
    Press(Box<Press>),
    /// Anything else, by its name.
    Other(String),
}

impl Update {
    /// Reads one; `None` where it has no number.
    pub(super) fn number(raw: &Value) -> Option<i64> {
        raw.get("update_id")?.as_i64()
    }

    /// What it is.
    pub(super) fn read(raw: &Value) -> Self {
        let part = |name: &str| raw.get(name).filter(|part| part.is_object());
        if let Some(message) = part("message").and_then(|part| Message::deserialize(part).ok()) {
            return Self::Message(Box::new(message));
        }
        if let Some(message) = part("edited_message").and_then(|part| Message::deserialize(part).ok()) {
            return Self::Edited(Box::new(message));
        }
        if let Some(press) = part("callback_query").and_then(|part| Press::deserialize(part).ok()) {
            return Self::Press(Box::new(press));
        }
        let names = raw.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        Self::Other(names.filter(|name| *name != "update_id").collect::<Vec<_>>().join(","))
    }

    /// How events name it.
    pub(super) fn kind(&self) -> String {
        match self {
            Self::Message(_) => "message".to_owned(),
            Self::Edited(_) => "edited_message".to_owned(),
            Self::Press(_) => "callback_query".to_owned(),
            Self::Other(name) => name.chars().take(64).collect(),
        }
    }

    /// The chat that it comes from.
    pub(super) fn chat(&self) -> Option<i64> {
        match self {
            Self::Message(message) | Self::Edited(message) => Some(message.chat.id),
            Self::Press(press) => press
                .message
                .as_ref()
                .map(|message| message.chat.id)
                .or_else(|| press.from.as_ref().map(|from| from.id)),
            Self::Other(_) => None,
        }
    }
}

/// A field whose value is of another kind than it should be counts as left out.
fn or_none<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    let value = Option::<Value>::deserialize(deserializer)?;
    Ok(value.and_then(|value| T::deserialize(value).ok()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_left_out_or_of_another_kind_hides_nothing_else() {
        let raw = json!({ "update_id": 5, "message": {
            "message_id": 1, "chat": { "id": 7 }, "date": "soon", "text": "ciao", "from": "me", "document": [1], "new": {},
        } });
        let Update::Message(message) = Update::read(&raw) else { panic!("{raw}") };
        assert_eq!((message.text.as_deref(), message.sender()), (Some("ciao"), 7));
        assert!(message.chat.is_private() && message.file().is_none());
        let raw = json!({ "update_id": 6, "callback_query": { "id": "q", "from": { "id": 7 }, "data": "x" } });
        assert_eq!((Update::read(&raw).kind().as_str(), Update::read(&raw).chat()), ("callback_query", Some(7)));
        for raw in [json!({ "update_id": 7, "poll": {} }), json!({ "update_id": 7, "message": 5, "poll": 1 })] {
            assert!(matches!(Update::read(&raw), Update::Other(_)), "{raw}");
        }
        assert_eq!(Update::number(&json!({ "update_id": "x" })), None);
    }
}
