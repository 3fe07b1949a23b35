//! What each method does, and what it refuses.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::texts::seen;
use super::{BOT, NAME, Sent, Shared, State, refusal};

type Answer = (u16, Value);
type File = Option<(String, Vec<u8>)>;

/// The fields that a method has.
fn known(method: &str) -> Option<&'static [&'static str]> {
    Some(match method {
        "getMe" | "getWebhookInfo" => &[],
        "getUpdates" => &["offset", "limit", "timeout", "allowed_updates"],
        "sendMessage" => &["chat_id", "text", "parse_mode", "link_preview_options", "reply_markup", "reply_parameters"],
        "editMessageText" => &["chat_id", "message_id", "text", "parse_mode", "link_preview_options", "reply_markup"],
        "editMessageReplyMarkup" => &["chat_id", "message_id", "reply_markup"],
        "deleteMessage" => &["chat_id", "message_id"],
        "answerCallbackQuery" => &["callback_query_id", "text", "show_alert"],
        "sendDocument" => &["chat_id", "document", "caption", "parse_mode"],
        "getFile" => &["file_id"],
        "setMyCommands" => &["commands", "language_code", "scope"],
        "deleteWebhook" => &["drop_pending_updates"],
        _ => return None,
    })
}

fn bad(description: &str) -> Answer {
    (400, refusal(400, &format!("Bad Request: {description}")))
}

fn done(result: &Value) -> Answer {
    (200, json!({ "ok": true, "result": result }))
}

pub(super) async fn carry_out(shared: &Shared, method: &str, fields: &Value, file: File) -> Answer {
    let Some(names) = known(method) else { return (404, refusal(404, "Not Found: method not found")) };
    if let Some(name) = fields.as_object().unwrap().keys().find(|name| !names.contains(&name.as_str())) {
        return bad(&format!("there is no field {name}"));
    }
    if method == "getUpdates" {
        return updates(shared, fields).await;
    }
    let state = &mut *shared.state();
    let outcome = match method {
        "getMe" => Ok(json!({ "id": BOT, "is_bot": true, "first_name": "Metnos", "username": NAME })),
        "getWebhookInfo" => Ok(json!({
            "url": state.webhook.clone().unwrap_or_default(), "has_custom_certificate": false, "pending_update_count": 0,
        })),
        "sendMessage" => state.send(fields),
        "editMessageText" | "editMessageReplyMarkup" => state.edit(fields, method == "editMessageText"),
        "deleteMessage" => state.delete(fields),
        "answerCallbackQuery" => state.answer(fields),
        "sendDocument" => state.send_document(fields, file),
        "getFile" => state.file(fields),
        "setMyCommands" => commands(fields),
        _ => {
            state.webhook = None;
            Ok(true.into())
        }
    };
    outcome.map_or_else(|description| bad(&description), |result| done(&result))
}

async fn updates(shared: &Shared, fields: &Value) -> Answer {
    let poll = {
        let mut state = shared.state();
        if state.webhook.is_some() {
            let why = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete it";
            return (409, refusal(409, why));
        }
        state.polls += 1;
        if let Some(offset) = fields["offset"].as_i64() {
            // Whatever is older is confirmed, and forgotten.
            state.updates.retain(|update| update["update_id"].as_i64().unwrap() >= offset);
        }
        state.polls
    };
    shared.changed();
    let limit = fields["limit"].as_u64().unwrap_or(100);
    let timeout = fields["timeout"].as_u64().unwrap_or(0);
    if !(1..=100).contains(&limit) || timeout > 50 {
        return bad("limit or timeout is out of range");
    }
    let deadline = Instant::now() + Duration::from_secs(timeout);
    loop {
        let news = shared.news.notified();
        {
            let state = shared.state();
            if state.is_revoked {
                return (401, refusal(401, "Unauthorized"));
            }
            if state.polls != poll {
                let why =
                    "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running";
                return (409, refusal(409, why));
            }
            let found: Vec<&Value> = state.updates.iter().take(usize::try_from(limit).unwrap()).collect();
            if !found.is_empty() || Instant::now() >= deadline {
                return done(&json!(found));
            }
        }
        tokio::time::timeout_at(deadline.into(), news).await.ok();
    }
}

fn commands(fields: &Value) -> Result<Value, String> {
    let list = fields["commands"].as_array().ok_or("commands must be a list")?;
    for command in list {
        let (name, what) = (command["command"].as_str().unwrap_or(""), command["description"].as_str().unwrap_or(""));
        let is_name = name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
        if !(1..=32).contains(&name.len()) || !is_name || !(1..=256).contains(&what.chars().count()) {
            return Err(format!("BOT_COMMAND_INVALID {name}"));
        }
    }
    if list.len() > 100 { Err("too many commands".to_owned()) } else { Ok(true.into()) }
}

/// The buttons below a message, held against the limits.
fn keys(markup: &Value) -> Result<Vec<(String, String)>, String> {
    if markup.is_null() {
        return Ok(Vec::new());
    }
    let rows = markup["inline_keyboard"].as_array().ok_or("inline_keyboard must be a list")?;
    let mut keys = Vec::new();
    for key in rows.iter().flat_map(|row| row.as_array().into_iter().flatten()) {
        let (text, data) = (key["text"].as_str().unwrap_or(""), key["callback_data"].as_str().unwrap_or(""));
        if text.is_empty() || !(1..=64).contains(&data.len()) {
            return Err("BUTTON_DATA_INVALID".to_owned());
        }
        keys.push((text.to_owned(), data.to_owned()));
    }
    Ok(keys)
}

impl State {
    fn chat(&self, fields: &Value) -> Result<i64, String> {
        let chat = fields["chat_id"].as_i64().ok_or("chat_id must be a number")?;
        if self.chats.contains(&chat) { Ok(chat) } else { Err("chat not found".to_owned()) }
    }

    fn text(fields: &Value, name: &str, most: usize) -> Result<String, String> {
        let text = fields[name].as_str().ok_or("message text is empty")?;
        let text = match fields["parse_mode"].as_str() {
            None => text.to_owned(),
            Some("HTML") => seen(text)?,
            Some(_) => return Err("unsupported parse_mode".to_owned()),
        };
        if text.trim().is_empty() {
            return Err("message text is empty".to_owned());
        }
        if text.encode_utf16().count() > most { Err("message is too long".to_owned()) } else { Ok(text) }
    }

    fn shown(&mut self, sent: Sent) -> Value {
        let shown = json!({
            "message_id": sent.id, "date": 1_790_000_000, "chat": { "id": sent.chat, "type": "private", "first_name": "A" },
            "from": { "id": BOT, "is_bot": true, "first_name": "Metnos" }, "text": sent.text,
        });
        self.sent.push(sent);
        shown
    }

    fn send(&mut self, fields: &Value) -> Result<Value, String> {
        let chat = self.chat(fields)?;
        let text = Self::text(fields, "text", 4096)?;
        let keys = keys(&fields["reply_markup"])?;
        let id = self.next_message;
        self.next_message += 1;
        let markup = (fields["text"].to_string(), fields["reply_markup"].clone());
        Ok(self.shown(Sent { id, chat, text, keys, is_deleted: false, edits: 0, file: None, markup }))
    }

    fn send_document(&mut self, fields: &Value, file: File) -> Result<Value, String> {
        let chat = self.chat(fields)?;
        let file = file.filter(|(name, bytes)| !name.is_empty() && !bytes.is_empty()).ok_or("there is no document")?;
        let text = if fields["caption"].is_null() { String::new() } else { Self::text(fields, "caption", 1024)? };
        let id = self.next_message;
        self.next_message += 1;
        let markup = (String::new(), Value::Null);
        let keys = Vec::new();
        Ok(self.shown(Sent { id, chat, text, keys, is_deleted: false, edits: 0, file: Some(file), markup }))
    }

    fn edit(&mut self, fields: &Value, is_text: bool) -> Result<Value, String> {
        let chat = self.chat(fields)?;
        let text = if is_text { Some(Self::text(fields, "text", 4096)?) } else { None };
        let keys = keys(&fields["reply_markup"])?;
        let id = fields["message_id"].as_i64();
        let found = self.sent.iter_mut().find(|sent| Some(sent.id) == id && sent.chat == chat && !sent.is_deleted);
        let sent = found.ok_or("message to edit not found")?;
        let words = if is_text { fields["text"].to_string() } else { sent.markup.0.clone() };
        let is_same = words == sent.markup.0 && keys == sent.keys;
        if is_same {
            return Err(
                "message is not modified: specified new message content and reply markup are exactly the same".into()
            );
        }
        if let Some(text) = text {
            sent.text = text;
            sent.edits += 1;
        }
        sent.keys = keys;
        sent.markup = (words, fields["reply_markup"].clone());
        Ok(
            json!({ "message_id": sent.id, "date": 1_790_000_000, "chat": { "id": chat, "type": "private" }, "text": sent.text }),
        )
    }

    fn delete(&mut self, fields: &Value) -> Result<Value, String> {
        let (chat, id) = (self.chat(fields)?, fields["message_id"].as_i64());
        let found = self.sent.iter_mut().find(|sent| Some(sent.id) == id && sent.chat == chat && !sent.is_deleted);
        found.ok_or("message to delete not found")?.is_deleted = true;
        Ok(true.into())
    }

    fn answer(&mut self, fields: &Value) -> Result<Value, String> {
        let id = fields["callback_query_id"].as_str().unwrap_or_default();
        let text = fields["text"].as_str().unwrap_or_default();
        let is_answered = self.presses.get_mut(id).filter(|is_answered| !**is_answered);
        *is_answered.ok_or("query is too old and response timeout expired or query ID is invalid")? = true;
        if text.chars().count() > 200 {
            return Err("MESSAGE_TOO_LONG".to_owned());
        }
        self.answers.push((id.to_owned(), text.to_owned()));
        Ok(true.into())
    }

    fn file(&mut self, fields: &Value) -> Result<Value, String> {
        let id = fields["file_id"].as_str().unwrap_or_default();
        let bytes = self.files.get(id).ok_or("wrong file_id or the file is temporarily unavailable")?;
        if bytes.len() > 20 << 20 && !self.is_lenient {
            return Err("file is too big".to_owned());
        }
        Ok(
            json!({ "file_id": id, "file_unique_id": id, "file_size": bytes.len(), "file_path": format!("documents/{id}") }),
        )
    }

    /// How often each text was sent to a chat.
    pub(crate) fn texts(&self, chat: i64) -> BTreeMap<&str, usize> {
        let mut texts = BTreeMap::new();
        for sent in self.sent.iter().filter(|sent| sent.chat == chat) {
            *texts.entry(sent.text.as_str()).or_default() += 1;
        }
        texts
    }
}
