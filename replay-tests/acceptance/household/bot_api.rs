//! A strict server of the Bot API on loopback: what Telegram's own documentation says it does, as far as a bot at home uses
//! it. Updates stay until a higher offset confirms them, what is sent is held against the documented limits, and faults can
//! be laid out. A bot of the public framework aiogram runs against it in `telegram_peers.rs`.

#[path = "bot_api/methods.rs"]
mod methods;
#[path = "bot_api/texts.rs"]
mod texts;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};

/// The token of the bot that is served; no real one.
pub(crate) const TOKEN: &str = "7000001:AAtest-token_that-is-known-to-nobody";
/// The bot's number and name.
pub(crate) const BOT: i64 = 7_000_001;
pub(crate) const NAME: &str = "metnos_test_bot";
/// The longest that a test waits for something to happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// One message in a chat.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) id: i64,
    pub(crate) chat: i64,
    /// What the person sees.
    pub(crate) text: String,
    /// Text and what it carries, button by button.
    pub(crate) keys: Vec<(String, String)>,
    pub(crate) is_deleted: bool,
    /// How often its text was changed.
    pub(crate) edits: usize,
    /// A file: its name and its bytes.
    pub(crate) file: Option<(String, Vec<u8>)>,
    /// What was there as markup, to tell whether an edit changes anything.
    markup: (String, Value),
}

/// What happens instead of, or after, what a method does.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// This answer, and nothing is done.
    Refuse(u16, Value),
    /// It is done, and the connection ends without an answer.
    Swallow,
    /// Nothing: a later fault is for a later request.
    Pass,
}

/// What the server knows.
#[derive(Default)]
pub(crate) struct State {
    /// Not confirmed yet.
    updates: VecDeque<Value>,
    next_update: i64,
    next_message: i64,
    /// In the order in which they were sent.
    pub(crate) sent: Vec<Sent>,
    /// Who wrote, so that they may be written to.
    chats: Vec<i64>,
    /// Every request that was made with the right token.
    pub(crate) requests: Vec<(String, Value)>,
    /// Every update that there was.
    pub(crate) given: Vec<Value>,
    /// Requests with another one.
    pub(crate) strangers: usize,
    files: BTreeMap<String, Vec<u8>>,
    presses: BTreeMap<String, bool>,
    /// What each press was answered with.
    pub(crate) answers: Vec<(String, String)>,
    faults: BTreeMap<String, VecDeque<Fault>>,
    /// Whether another program has the updates sent to it.
    pub(crate) webhook: Option<String>,
    pub(crate) is_revoked: bool,
    /// Whether it gives out files of any length, as it never should.
    pub(crate) is_lenient: bool,
    polls: u64,
}

pub(crate) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    news: Notify,
}

/// The server, gone with its value.
pub(crate) struct BotApi {
    pub(crate) shared: Arc<Shared>,
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Shared {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn changed(&self) {
        self.changed.notify_all();
        self.news.notify_waiters();
    }
}

impl BotApi {
    pub(crate) fn start() -> Self {
        let state = State { next_update: 500_000_001, next_message: 1, ..State::default() };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new(), news: Notify::new() });
        let mut api = Self { shared, address: SocketAddr::from(([127, 0, 0, 1], 0)), stop: None, thread: None };
        api.opens(0);
        api
    }

    /// Begins to listen.
    pub(crate) fn opens(&mut self, port: u16) {
        let (stop, stopped) = oneshot::channel::<()>();
        let (tell, told) = std::sync::mpsc::channel();
        let serving = Arc::clone(&self.shared);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                let routes = axum::Router::new().fallback(move |request| answered(Arc::clone(&serving), request));
                tokio::select! {
                    served = async { axum::serve(listener, routes).await } => served.unwrap(),
                    _ = stopped => {}
                }
            });
        });
        (self.stop, self.thread, self.address) = (Some(stop), Some(thread), told.recv().unwrap());
    }

    /// Is not there any more; what it knows it keeps.
    pub(crate) fn shuts(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.send(()).ok();
        }
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state()
    }

    /// Waits until the state holds what is looked for.
    #[track_caller]
    pub(crate) fn until<T>(&self, what: &str, mut look: impl FnMut(&mut State) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        let mut state = self.state();
        loop {
            if let Some(found) = look(&mut state) {
                return found;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let texts: Vec<&str> = state.sent.iter().map(|sent| sent.text.as_str()).collect();
                panic!("{what}: {texts:#?}");
            }
            state = self.shared.changed.wait_timeout(state, left).unwrap().0;
        }
    }

    /// An update as it is.
    pub(crate) fn update(&self, mut update: Value) -> i64 {
        let mut state = self.state();
        let number = update.get("update_id").and_then(Value::as_i64).unwrap_or(state.next_update);
        update["update_id"] = number.into();
        state.next_update = state.next_update.max(number + 1);
        state.given.push(update.clone());
        state.updates.push_back(update);
        drop(state);
        self.shared.changed();
        number
    }

    /// A message of a person in their private chat, with more fields.
    pub(crate) fn writes_with(&self, person: i64, more: &Value) -> i64 {
        let mut message = self.message(person, person, "private");
        for (name, value) in more.as_object().unwrap() {
            message[name] = value.clone();
        }
        self.update(json!({ "message": message }))
    }

    /// A text of a person in their private chat; the number of its update.
    pub(crate) fn writes(&self, person: i64, text: &str) -> i64 {
        self.writes_with(person, &json!({ "text": text }))
    }

    /// Has a file's bytes; by which it is asked for.
    pub(crate) fn stores(&self, bytes: &[u8]) -> String {
        let mut state = self.state();
        let id = format!("file-{}", state.files.len());
        state.files.insert(id.clone(), bytes.to_vec());
        id
    }

    /// A file of a person.
    pub(crate) fn sends(&self, person: i64, name: &str, bytes: &[u8], caption: Option<&str>) -> i64 {
        let id = self.stores(bytes);
        let mut more = json!({ "document": {
            "file_id": id, "file_unique_id": id, "file_name": name, "file_size": bytes.len(),
        } });
        if let Some(caption) = caption {
            more["caption"] = caption.into();
        }
        self.writes_with(person, &more)
    }

    pub(crate) fn message(&self, chat: i64, person: i64, kind: &str) -> Value {
        let mut state = self.state();
        if !state.chats.contains(&chat) {
            state.chats.push(chat);
        }
        let id = state.next_message;
        state.next_message += 1;
        json!({
            "message_id": id, "date": 1_790_000_000, "chat": { "id": chat, "type": kind, "first_name": "A" },
            "from": { "id": person, "is_bot": false, "first_name": "A", "language_code": "it" },
        })
    }

    /// A person presses a button that carries this, below that message.
    pub(crate) fn presses(&self, person: i64, message: &Sent, data: &str) -> String {
        let id = {
            let mut state = self.state();
            let id = format!("press-{}", state.presses.len());
            state.presses.insert(id.clone(), false);
            id
        };
        self.update(json!({ "callback_query": {
            "id": id, "chat_instance": "c", "data": data,
            "from": { "id": person, "is_bot": false, "first_name": "A", "language_code": "it" },
            "message": {
                "message_id": message.id, "date": 1_790_000_000, "chat": { "id": message.chat, "type": "private" },
                "text": message.text,
            },
        } }));
        id
    }

    /// What a press was answered with.
    #[track_caller]
    pub(crate) fn answer_to(&self, press: &str) -> String {
        self.until(&format!("no answer to {press}"), |state| {
            state.answers.iter().find(|(id, _)| id == press).map(|(_, text)| text.clone())
        })
    }

    /// The first message to a chat from that place in `sent` on that holds a text.
    #[track_caller]
    pub(crate) fn said(&self, from: usize, chat: i64, text: &str) -> Sent {
        self.until(&format!("«{text}» is not said to {chat}"), |state| {
            let late = state.sent.iter().skip(from);
            late.filter(|sent| sent.chat == chat && sent.text.contains(text)).map(Sent::clone).next()
        })
    }

    /// A message with buttons.
    #[track_caller]
    pub(crate) fn asked(&self, from: usize, chat: i64) -> Sent {
        self.until(&format!("{chat} is not asked"), |state| {
            let late = state.sent.iter().skip(from);
            late.filter(|sent| sent.chat == chat && !sent.keys.is_empty()).map(Sent::clone).next()
        })
    }

    /// How many messages were sent.
    pub(crate) fn count(&self) -> usize {
        self.state().sent.len()
    }

    pub(crate) fn fault(&self, method: &str, fault: Fault) {
        self.state().faults.entry(method.to_owned()).or_default().push_back(fault);
    }

    /// Takes the token back, as BotFather does.
    pub(crate) fn revoke(&self) {
        self.state().is_revoked = true;
        self.shared.changed();
    }

    /// Waits until no update is left that was not confirmed.
    #[track_caller]
    pub(crate) fn is_drained(&self) {
        self.until("updates are left", |state| state.updates.is_empty().then_some(()));
    }
}

impl Drop for BotApi {
    fn drop(&mut self) {
        self.shuts();
    }
}

/// An answer as the Bot API gives it.
pub(crate) fn refusal(status: u16, description: &str) -> Value {
    json!({ "ok": false, "error_code": status, "description": description })
}

fn reply(status: u16, body: &Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap();
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

/// Ends the connection without an answer: the task that serves it ends, and nothing else does.
fn swallowed() -> ! {
    std::panic::resume_unwind(Box::new("the connection ends here"))
}

async fn answered(shared: Arc<Shared>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let kind =
        parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default().to_owned();
    let Ok(body) = axum::body::to_bytes(body, 60 << 20).await else { return reply(413, &refusal(413, "Too Large")) };
    let is_revoked = shared.state().is_revoked;
    let own = |rest: &str| rest.strip_prefix(TOKEN).and_then(|rest| rest.strip_prefix('/')).map(str::to_owned);
    if let Some(file) = path.strip_prefix("/file/bot").and_then(own).filter(|_| parts.method == Method::GET) {
        // The connection may end before the file is through.
        let fault = shared.state().faults.get_mut("file").and_then(VecDeque::pop_front);
        if matches!(fault, Some(Fault::Swallow)) {
            swallowed();
        }
        return match shared.state().files.get(file.trim_start_matches("documents/")) {
            Some(bytes) => bytes.clone().into_response(),
            None => reply(404, &refusal(404, "Not Found")),
        };
    }
    let Some(method) = path.strip_prefix("/bot").and_then(own).filter(|_| !is_revoked) else {
        shared.state().strangers += 1;
        shared.changed();
        return reply(401, &refusal(401, "Unauthorized"));
    };
    let Some((fields, file)) = texts::fields(&kind, &body, parts.uri.query().unwrap_or_default()) else {
        return reply(400, &refusal(400, "Bad Request: the body cannot be read"));
    };
    shared.state().requests.push((method.clone(), fields.clone()));
    let fault = shared.state().faults.get_mut(&method).and_then(VecDeque::pop_front);
    if let Some(Fault::Refuse(status, body)) = &fault {
        shared.changed();
        return reply(*status, body);
    }
    let (status, body) = methods::carry_out(&shared, &method, &fields, file).await;
    shared.changed();
    if matches!(fault, Some(Fault::Swallow)) { swallowed() } else { reply(status, &body) }
}
