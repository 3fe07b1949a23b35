//! A client of the Bot API: requests exactly as it documents them, answers leniently, failures by what can be done about
//! them.
//!
//! The token is part of every address, so no address is ever in an error, an event or a message of the program.

use std::time::Duration;

use metnos_log::redact::Secret;
use metnos_projections::rules::markup;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Response, StatusCode};
use secrecy::ExposeSecret;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::wire::{Envelope, File, Me, Message};
use crate::cause;
use crate::instance::random;

/// The largest file that the Bot API gives out, and that is taken.
pub(super) const FILE_BYTES_MAX: u64 = 20 << 20;
/// How long a request may take beyond what the server is asked to wait.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a file may take.
const FILE_PATIENCE: Duration = Duration::from_mins(5);
/// The largest answer: a hundred updates with long texts.
const ANSWER_BYTES_MAX: usize = 8 << 20;
/// What is wanted of all that can happen.
const ALLOWED_UPDATES: [&str; 4] = ["message", "edited_message", "callback_query", "my_chat_member"];

/// Why a request was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TelegramError {
    /// Telegram cannot be reached; nothing was sent.
    #[error("Telegram cannot be reached: {0}")]
    Unreachable(String),
    /// The connection broke, or the answer makes no sense: nobody knows what became of the request.
    #[error("Telegram did not answer: {0}")]
    Broken(String),
    /// The token is wrong, or was revoked.
    #[error("Telegram does not know this token")]
    Token,
    /// It answers as if there were no such thing: a wrong address, something in between, or a token that it cannot read.
    #[error("Telegram answers oddly: {0}")]
    Odd(String),
    /// Another program asks for this bot's news.
    #[error("another copy asks Telegram for the news of this bot")]
    Conflict {
        /// Whether it is a webhook, which can be taken away.
        is_webhook: bool,
    },
    /// Too many requests.
    #[error("Telegram wants {0} s of silence")]
    TooMany(u64),
    /// The person does not want the bot, or it is not in the group.
    #[error("Telegram does not let the bot write there: {0}")]
    Blocked(String),
    /// The request makes no sense to it.
    #[error("Telegram refuses: {0}")]
    Refused(String),
    /// The group has another address now; nothing was sent.
    #[error("the group has become another one")]
    Moved(i64),
    /// A file that is larger than what is taken.
    #[error("the file has more than {FILE_BYTES_MAX} bytes")]
    TooLarge,
}

/// One button: what is seen, and what it carries.
pub(super) type Key = (String, String);

/// The client of one bot.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base_url: String,
    token: Secret,
}

impl Client {
    /// A client; nothing is asked yet.
    pub fn new(base_url: &str, token: Secret) -> Result<Self, TelegramError> {
        if !is_token(token.expose_secret()) {
            return Err(TelegramError::Token);
        }
        // Another part of the process may have installed it first.
        rustls::crypto::ring::default_provider().install_default().ok();
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .connect_timeout(Duration::from_secs(10))
            .user_agent(concat!("metnos/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| unreachable(&error))?;
        Ok(Self { http, base_url: base_url.to_owned(), token })
    }

    /// The bot's number, which is no secret.
    pub fn account(&self) -> String {
        let token = self.token.expose_secret();
        token.split_once(':').map_or_else(String::new, |(account, _)| account.to_owned())
    }

    /// Who the bot is.
    pub async fn get_me(&self) -> Result<Me, TelegramError> {
        self.call("getMe", &json!({}), PATIENCE).await
    }

    /// What happened from `offset` on; waits up to `timeout_s` for it. Confirms all before.
    pub(super) async fn get_updates(&self, offset: Option<i64>, timeout_s: u64) -> Result<Vec<Value>, TelegramError> {
        let mut body = json!({ "limit": 100, "timeout": timeout_s, "allowed_updates": ALLOWED_UPDATES });
        if let Some(offset) = offset {
            body["offset"] = offset.into();
        }
        self.call("getUpdates", &body, PATIENCE + Duration::from_secs(timeout_s)).await
    }

    /// Lets updates be asked for again.
    pub(super) async fn delete_webhook(&self) -> Result<(), TelegramError> {
        self.done("deleteWebhook", &json!({ "drop_pending_updates": false })).await
    }

    /// Says what commands there are, in one language or in all.
    pub(super) async fn set_my_commands(
        &self,
        list: &[(&str, String)],
        language: Option<&str>,
    ) -> Result<(), TelegramError> {
        let list: Vec<Value> =
            list.iter().map(|(name, what)| json!({ "command": name, "description": what })).collect();
        let mut body = json!({ "commands": list });
        if let Some(language) = language {
            body["language_code"] = language.into();
        }
        self.done("setMyCommands", &body).await
    }

    /// Sends markup; its number. What the server cannot read as markup is sent as plain text once.
    pub(super) async fn send_message(
        &self,
        chat: &str,
        markup: &str,
        keys: &[Key],
        reply_to: Option<i64>,
    ) -> Result<i64, TelegramError> {
        let mut body = json!({ "chat_id": chat_id(chat), "text": markup, "parse_mode": "HTML" });
        body["link_preview_options"] = json!({ "is_disabled": true });
        if !keys.is_empty() {
            body["reply_markup"] = keyboard(keys);
        }
        if let Some(message) = reply_to {
            body["reply_parameters"] = json!({ "message_id": message, "allow_sending_without_reply": true });
        }
        let sent: Message = self.say("sendMessage", body).await?;
        Ok(sent.message_id)
    }

    /// Puts another text in the place of a message.
    pub(super) async fn edit_text(&self, chat: &str, message: i64, markup: &str) -> Result<(), TelegramError> {
        let body = json!({
            "chat_id": chat_id(chat), "message_id": message, "text": markup, "parse_mode": "HTML",
            "link_preview_options": { "is_disabled": true },
        });
        unless_unmodified(self.say::<Value>("editMessageText", body).await)
    }

    /// Takes the buttons of a message away.
    pub(super) async fn remove_keys(&self, chat: &str, message: i64) -> Result<(), TelegramError> {
        let body = json!({
            "chat_id": chat_id(chat), "message_id": message, "reply_markup": { "inline_keyboard": [] },
        });
        unless_unmodified(self.call::<Value>("editMessageReplyMarkup", &body, PATIENCE).await)
    }

    /// Takes a message away.
    pub(super) async fn delete_message(&self, chat: &str, message: i64) -> Result<(), TelegramError> {
        self.done("deleteMessage", &json!({ "chat_id": chat_id(chat), "message_id": message })).await
    }

    /// Tells the app that the press of a button was heard.
    pub(super) async fn answer_press(&self, press: &str, text: &str) -> Result<(), TelegramError> {
        let text: String = text.chars().take(200).collect();
        self.done("answerCallbackQuery", &json!({ "callback_query_id": press, "text": text })).await
    }

    /// Sends a file; the number of its message.
    pub(super) async fn send_document(
        &self,
        chat: &str,
        (name, bytes): (&str, &[u8]),
        caption: &str,
    ) -> Result<i64, TelegramError> {
        let boundary = format!("metnos-{}", crate::signing::hex(&random::<12>()));
        let mut body = Vec::with_capacity(bytes.len() + 1024);
        for (field, value) in [("chat_id", chat), ("caption", caption), ("parse_mode", "HTML")] {
            let part = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{field}\"\r\n\r\n{value}\r\n");
            body.extend_from_slice(part.as_bytes());
        }
        let quoted: String = name.chars().filter(|c| !c.is_control() && !matches!(c, '"' | '\\')).collect();
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"document\"; filename=\"{quoted}\"\r\n\
             Content-Type: application/octet-stream\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(bytes);
        body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
        let kind = format!("multipart/form-data; boundary={boundary}");
        let sent: Message = self.post("sendDocument", body, &kind, FILE_PATIENCE).await?;
        Ok(sent.message_id)
    }

    /// The bytes of a file that someone sent.
    pub(super) async fn download(&self, file: &File) -> Result<Vec<u8>, TelegramError> {
        if file.file_size.is_some_and(|size| size > FILE_BYTES_MAX) {
            return Err(TelegramError::TooLarge);
        }
        let found: File = self.call("getFile", &json!({ "file_id": file.file_id }), PATIENCE).await?;
        let path =
            found.file_path.ok_or_else(|| TelegramError::Refused("it does not say where the file is".to_owned()))?;
        let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        if !path.split('/').all(is_plain) || path.contains(['?', '#', '\\', '%']) {
            return Err(TelegramError::Refused("it names the file in an odd way".to_owned()));
        }
        let url = format!("{}/file/bot{}/{path}", self.base_url, self.token.expose_secret());
        let response = self.http.get(url).timeout(FILE_PATIENCE).send().await.map_err(|error| lost(&error))?;
        match response.status() {
            StatusCode::OK => {}
            status if status.is_server_error() => return Err(TelegramError::Broken(status.to_string())),
            status => return Err(TelegramError::Refused(format!("the file is not there: {status}"))),
        }
        let most = usize::try_from(FILE_BYTES_MAX).unwrap_or(usize::MAX);
        body(response, most).await?.ok_or(TelegramError::TooLarge)
    }

    /// A request that says something: once more as plain text where its markup is not understood.
    async fn say<T: DeserializeOwned>(&self, method: &str, mut body: Value) -> Result<T, TelegramError> {
        match self.call(method, &body, PATIENCE).await {
            Err(TelegramError::Refused(reason)) if reason.contains("can't parse entities") => {
                tracing::warn!(method, reason, "the markup was not understood");
                let plain = markup::visible(body["text"].as_str().unwrap_or_default());
                body["text"] = plain.into();
                if let Some(fields) = body.as_object_mut() {
                    fields.remove("parse_mode");
                }
                self.call(method, &body, PATIENCE).await
            }
            other => other,
        }
    }

    /// A request whose result does not matter.
    async fn done(&self, method: &str, body: &Value) -> Result<(), TelegramError> {
        self.call::<Value>(method, body, PATIENCE).await.map(drop)
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        body: &Value,
        patience: Duration,
    ) -> Result<T, TelegramError> {
        let body = serde_json::to_vec(body).map_err(|error| TelegramError::Refused(error.to_string()))?;
        self.post(method, body, "application/json", patience).await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        method: &str,
        body: Vec<u8>,
        kind: &str,
        patience: Duration,
    ) -> Result<T, TelegramError> {
        let url = format!("{}/bot{}/{method}", self.base_url, self.token.expose_secret());
        let kind = HeaderValue::from_str(kind).map_err(|error| TelegramError::Refused(error.to_string()))?;
        let request = self.http.post(url).header(CONTENT_TYPE, kind).timeout(patience).body(body);
        let response = request.send().await.map_err(|error| lost(&error))?;
        let result = result(response).await?;
        serde_json::from_value(result)
            .map_err(|error| TelegramError::Broken(format!("{method} gave no sense: {error}")))
    }
}

/// Whether a text has the form of a token: a number, a colon, letters. What it holds goes into addresses.
pub fn is_token(text: &str) -> bool {
    let Some((account, secret)) = text.split_once(':') else { return false };
    let is_number = (1..=20).contains(&account.len()) && account.bytes().all(|byte| byte.is_ascii_digit());
    let is_secret = secret.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    is_number && (8..=128).contains(&secret.len()) && is_secret
}

/// A chat as the Bot API wants it: a number.
fn chat_id(chat: &str) -> Value {
    chat.parse::<i64>().map_or_else(|_| chat.into(), Value::from)
}

fn keyboard(keys: &[Key]) -> Value {
    let row: Vec<Value> = keys.iter().map(|(text, data)| json!({ "text": text, "callback_data": data })).collect();
    json!({ "inline_keyboard": [row] })
}

/// What is as it should be already is no failure.
fn unless_unmodified(done: Result<Value, TelegramError>) -> Result<(), TelegramError> {
    match done {
        Err(TelegramError::Refused(reason)) if reason.contains("message is not modified") => Ok(()),
        other => other.map(drop),
    }
}

/// The result of an answer, or what the answer says is wrong.
async fn result(response: Response) -> Result<Value, TelegramError> {
    let status = response.status();
    let body = body(response, ANSWER_BYTES_MAX).await?;
    let body = body.ok_or_else(|| TelegramError::Broken("the answer is too long".to_owned()))?;
    let envelope: Option<Envelope> = serde_json::from_slice(&body).ok();
    let description = envelope.as_ref().and_then(|envelope| envelope.description.clone());
    let described = || description.clone().unwrap_or_else(|| status.to_string());
    match status {
        StatusCode::UNAUTHORIZED => Err(TelegramError::Token),
        StatusCode::NOT_FOUND => Err(TelegramError::Odd(described())),
        StatusCode::CONFLICT => Err(TelegramError::Conflict { is_webhook: described().contains("webhook") }),
        StatusCode::FORBIDDEN => Err(TelegramError::Blocked(described())),
        StatusCode::TOO_MANY_REQUESTS => {
            let parameters = envelope.and_then(|envelope| envelope.parameters);
            Err(TelegramError::TooMany(parameters.and_then(|parameters| parameters.retry_after).unwrap_or(1)))
        }
        status if status.is_client_error() => {
            let parameters = envelope.as_ref().and_then(|envelope| envelope.parameters.as_ref());
            match parameters.and_then(|parameters| parameters.migrate_to_chat_id) {
                Some(chat) => Err(TelegramError::Moved(chat)),
                None => Err(TelegramError::Refused(described())),
            }
        }
        StatusCode::OK => match envelope {
            Some(envelope) if envelope.ok => Ok(envelope.result),
            Some(_) => Err(TelegramError::Refused(described())),
            None => Err(TelegramError::Broken("the answer is no JSON".to_owned())),
        },
        status => Err(TelegramError::Broken(format!("it answers {status}"))),
    }
}

/// The body, if it is not longer than this.
async fn body(mut response: Response, most: usize) -> Result<Option<Vec<u8>>, TelegramError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| broken(&error))? {
        if body.len() + chunk.len() > most {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}

/// A request that got no answer: whether it can have been received.
fn lost(error: &reqwest::Error) -> TelegramError {
    if error.is_connect() || error.is_builder() { unreachable(error) } else { broken(error) }
}

fn unreachable(error: &reqwest::Error) -> TelegramError {
    TelegramError::Unreachable(cause(error))
}

fn broken(error: &reqwest::Error) -> TelegramError {
    TelegramError::Broken(if error.is_timeout() { "time ran out".to_owned() } else { cause(error) })
}

/// What the system said. The error's own text names the address, which holds the token.
fn cause(error: &reqwest::Error) -> String {
    cause::innermost(error).unwrap_or_else(|| "the request failed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_looks_like_a_token_goes_into_an_address() {
        assert!(is_token("123456:AAE_x-0123456789"));
        for odd in ["", ":", "123456", "x:AAAAAAAAAA", "1:short", "1:AAAAAAAA/../x", "1:AAAA AAAA", "1:AAAAAAAA\n"] {
            assert!(!is_token(odd), "{odd:?}");
        }
    }

    #[test]
    fn what_is_not_modified_is_as_it_should_be() {
        let refused = |text: &str| Err(TelegramError::Refused(text.to_owned()));
        assert_eq!(unless_unmodified(refused("Bad Request: message is not modified: same")), Ok(()));
        assert!(unless_unmodified(refused("Bad Request: message to edit not found")).is_err());
    }
}
