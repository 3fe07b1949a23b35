//! The client against a scripted server on loopback: what a model server can do wrong, and what comes of it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::*;

/// What the server does with one connection.
enum Act {
    /// Says this, in pieces of so many bytes, and hangs up.
    Say(String, usize),
    /// Says this, and then nothing until the client goes away.
    Hang(String),
    /// Says the first once and the second for ever, until the client goes away.
    Repeat(String, String),
}

struct Scripted {
    url: String,
    heard: Arc<Mutex<Vec<String>>>,
    /// One message for each request.
    arrived: Receiver<()>,
}

fn serve(script: Vec<Act>) -> Scripted {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let (tell, arrived) = channel();
    let all = Arc::clone(&heard);
    std::thread::spawn(move || {
        for act in script {
            let Ok((stream, _)) = listener.accept() else { return };
            played(stream, &act, &all, &tell);
        }
    });
    Scripted { url, heard, arrived }
}

/// Carries one act out; a client that goes away ends it.
fn played(mut stream: TcpStream, act: &Act, heard: &Mutex<Vec<String>>, tell: &Sender<()>) {
    let request = read_request(&mut stream);
    heard.lock().unwrap().push(request);
    tell.send(()).ok();
    match act {
        Act::Say(text, size) => {
            for piece in text.as_bytes().chunks(*size) {
                if stream.write_all(piece).and_then(|()| stream.flush()).is_err() {
                    return;
                }
            }
        }
        Act::Hang(text) => {
            stream.write_all(text.as_bytes()).ok();
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).ok();
        }
        Act::Repeat(first, again) => {
            let mut said = stream.write_all(first.as_bytes());
            while said.is_ok() {
                said = stream.write_all(again.as_bytes());
            }
        }
    }
}

fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let count = stream.read(&mut piece).unwrap_or(0);
        bytes.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let length = text
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok());
        let whole = text.find("\r\n\r\n").is_some_and(|at| bytes.len() >= at + 4 + length.unwrap_or(0));
        if whole || count == 0 {
            return text;
        }
    }
}

fn stream_of(lines: &[&str]) -> String {
    let body = lines.iter().fold(String::new(), |body, line| body + "data: " + line + "\n\n");
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-request-id: r1\r\nset-cookie: no\r\nconnection: close\r\n\r\n{body}"
    )
}

fn said(words: &str) -> String {
    json!({ "choices": [{ "index": 0, "delta": { "content": words }, "finish_reason": null }] }).to_string()
}

const STOP: &str = "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}";

fn good() -> Act {
    let usage =
        "{\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2},\"timings\":{\"prompt_ms\":1.5}}";
    Act::Say(stream_of(&[&said("hel"), &said("lo è"), STOP, usage, "[DONE]"]), 7)
}

fn status(line: &str, headers: &str, body: &Value) -> Act {
    let body = body.to_string();
    Act::Say(
        format!("HTTP/1.1 {line}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len()),
        4096,
    )
}

fn binding(url: &str, timeout_s: u32) -> Binding {
    Binding {
        tier: "wise",
        provider: "llamacpp".to_owned(),
        base_url: url.to_owned(),
        model: "m".to_owned(),
        think: None,
        max_tokens: 9,
        timeout_s,
        credential: None,
    }
}

const BODY: &str = "{\"model\":\"m\",\"messages\":[]}";
const KEY: &str = "sk-very-secret-key";

/// Asks a server that does this, with a key; what came, and how many requests it took.
fn ask(script: Vec<Act>) -> (Asked, usize) {
    let server = serve(script);
    let key = Secret::from(KEY.to_owned());
    let asked =
        Models::default().ask(&binding(&server.url, 20), Some(&key), BODY, &CancelFlag::new().unwrap(), &|_| {});
    let heard = server.heard.lock().unwrap().len();
    assert!(!format!("{asked:?}").contains(KEY), "{asked:?}");
    (asked, heard)
}

#[track_caller]
fn fails(script: Vec<Act>, class: &str, status: u16, requests: usize) -> Failure {
    let (asked, heard) = ask(script);
    let failure = asked.outcome.unwrap().unwrap_err();
    assert_eq!((failure.class.as_str(), failure.status, heard), (class, status, requests), "{failure:?}");
    failure
}

#[test]
fn an_answer_comes_in_pieces_and_is_whole() {
    let server = serve(vec![good()]);
    let words = Mutex::new(String::new());
    let key = Secret::from(KEY.to_owned());
    let asked =
        Models::default().ask(&binding(&server.url, 20), Some(&key), BODY, &CancelFlag::new().unwrap(), &|piece| {
            words.lock().unwrap().push_str(piece);
        });
    let reply = asked.outcome.unwrap().unwrap();
    assert_eq!((reply.answer.content.as_deref(), words.lock().unwrap().as_str()), (Some("hello è"), "hello è"));
    assert_eq!((&reply.usage["prompt_tokens"], &reply.timings["prompt_ms"]), (&json!(3), &json!(1.5)));
    // What is recorded of the headers is on a list.
    assert_eq!(reply.headers, json!({ "status": 200, "content-type": "text/event-stream", "x-request-id": "r1" }));
    assert!(reply.raw.starts_with("data: ") && reply.raw.contains("[DONE]"));
    let heard = server.heard.lock().unwrap().join("");
    assert!(heard.contains(&format!("authorization: Bearer {KEY}")) && heard.ends_with(BODY), "{heard}");
    assert!(!format!("{reply:?}").contains(KEY));
}

#[test]
fn a_server_that_does_not_stream_is_understood() {
    let body = json!({ "choices": [{ "message": { "content": "hi" }, "finish_reason": "stop" }], "usage": { "total_tokens": 1 } });
    let (asked, _) = ask(vec![status("200 OK", "content-type: application/json\r\n", &body)]);
    assert_eq!(asked.outcome.unwrap().unwrap().answer.content.as_deref(), Some("hi"));
}

#[test]
fn half_a_stream_and_garbage_are_the_answers_fault_and_kept() {
    let half = fails(vec![Act::Say(stream_of(&[&said("hel")]), 4096)], "unparseable", 200, 1);
    assert!(half.raw.contains("hel") && half.reason.contains("broke off"), "{half:?}");
    let garbage = fails(vec![Act::Say(stream_of(&["{\"choices\": [", STOP]), 4096)], "unparseable", 200, 1);
    assert!(garbage.reason.contains("no JSON"), "{garbage:?}");
    // A body that is shorter than it was said to be.
    let cut = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\ndata: ".to_owned();
    fails(vec![Act::Say(cut, 4096)], "unparseable", 200, 1);
    fails(vec![Act::Say(stream_of(&[]), 4096)], "unparseable", 200, 1);
    let inside = "{\"error\":{\"code\":500,\"message\":\"out of memory\",\"type\":\"server_error\"}}";
    fails(vec![Act::Say(stream_of(&[&said("hel"), inside]), 4096)], "resource_unavailable", 200, 1);
}

#[test]
fn an_endless_answer_has_an_end() {
    let piece = format!("data: {}\n\n", said(&"again and again ".repeat(4000)));
    let endless = fails(vec![Act::Repeat(stream_of(&[]), piece)], "unparseable", 200, 1);
    assert!(endless.reason.contains("longer than"), "{endless:?}");
}

#[test]
fn a_busy_server_is_asked_again_when_it_says_and_a_loading_one_waited_for() {
    let busy =
        |headers: &str| status("429 Too Many Requests", headers, &json!({ "error": { "message": "slow down" } }));
    let (asked, heard) = ask(vec![busy("retry-after-ms: 10\r\n"), busy("retry-after: 0\r\n"), good()]);
    assert!(asked.outcome.unwrap().is_ok() && heard == 3);
    assert_eq!(asked.failed, [(429, "rate_limited".to_owned()), (429, "rate_limited".to_owned())]);
    assert_eq!(asked.waited, Duration::from_millis(10));
    fails((0..3).map(|_| busy("retry-after-ms: 1\r\n")).collect(), "rate_limited", 429, 3);
    // A pause that is too long is not waited for.
    fails(vec![busy("retry-after: 3600\r\n")], "rate_limited", 429, 1);
    let loading = || {
        status(
            "503 Service Unavailable",
            "",
            &json!({ "error": { "code": 503, "message": "Loading model", "type": "unavailable_error" } }),
        )
    };
    let (asked, heard) = ask(vec![loading(), loading(), loading(), loading(), good()]);
    assert!(asked.outcome.unwrap().is_ok() && heard == 5 && asked.failed.is_empty());
}

#[test]
fn what_would_fail_again_is_not_asked_again() {
    let error = |message: &str, kind: &str| json!({ "error": { "code": 500, "message": message, "type": kind } });
    let format = error("The model produced output that does not match the expected peg-native format", "server_error");
    fails(vec![status("500 Internal Server Error", "", &format)], "unparseable", 500, 1);
    fails(vec![status("400 Bad Request", "", &error("too long", "exceed_context_size_error"))], "too_large", 400, 1);
    let spent = json!({ "error": { "code": "insufficient_quota", "message": "you spent it all" } });
    fails(vec![status("429 Too Many Requests", "retry-after: 1\r\n", &spent)], "budget_exceeded", 429, 1);
    // A server that shows the key again is not quoted.
    let echo = json!({ "error": { "message": format!("Incorrect API key provided: {KEY}") } });
    let refused = fails(vec![status("401 Unauthorized", "", &echo)], "unauthorized", 401, 1);
    assert!(refused.reason.contains("Incorrect API key"), "{refused:?}");
    // Nothing is followed: a key must not go elsewhere.
    fails(
        vec![status("307 Temporary Redirect", "location: http://127.0.0.1:9/\r\n", &json!({}))],
        "resource_unavailable",
        307,
        1,
    );
}

#[test]
fn nobody_there_is_told_and_tried_thrice() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let asked = Models::default().ask(
        &binding(&format!("http://{address}"), 20),
        None,
        BODY,
        &CancelFlag::new().unwrap(),
        &|_| {},
    );
    let failure = asked.outcome.unwrap().unwrap_err();
    assert_eq!((failure.class.as_str(), failure.status, asked.failed.len()), ("network", 0, 3), "{failure:?}");
    assert!(failure.reason.contains("refused") && !failure.reason.contains("os error"), "{failure:?}");
}

#[test]
fn a_slow_server_is_not_waited_for_for_ever() {
    let server = serve(vec![Act::Hang(stream_of(&[&said("hel")]))]);
    let asked = Models::default().ask(&binding(&server.url, 1), None, BODY, &CancelFlag::new().unwrap(), &|_| {});
    assert_eq!(asked.outcome.unwrap().unwrap_err().class, "timeout");
}

#[test]
fn a_turn_that_is_stopped_asks_no_more() {
    let server = serve(vec![Act::Hang(String::new())]);
    let cancel = CancelFlag::new().unwrap();
    let (raised, arrived) = (cancel.clone(), server.arrived);
    let stopper = std::thread::spawn(move || {
        arrived.recv().unwrap();
        raised.cancel();
    });
    let asked = Models::default().ask(&binding(&server.url, 30), None, BODY, &cancel, &|_| {});
    stopper.join().unwrap();
    assert!(asked.outcome.is_none());
}

#[test]
fn a_server_that_fails_again_and_again_is_left_alone() {
    let down = || status("502 Bad Gateway", "x-should-retry: false\r\n", &json!({}));
    let server = serve((0..9).map(|_| down()).collect());
    let models = Models::default();
    let mut reasons = Vec::new();
    for _ in 0..4 {
        let asked = models.ask(&binding(&server.url, 20), None, BODY, &CancelFlag::new().unwrap(), &|_| {});
        reasons.push(asked.outcome.unwrap().unwrap_err().reason);
    }
    assert_eq!(server.heard.lock().unwrap().len(), 3);
    assert!(reasons[3].contains("again and again"), "{reasons:?}");
}

#[test]
fn a_server_says_how_much_it_can_look_at_if_it_knows() {
    let props = json!({ "default_generation_settings": { "n_ctx": 32768 }, "total_slots": 1 });
    let server = serve(vec![status("200 OK", "content-type: application/json\r\n", &props)]);
    let models = Models::default();
    let binding_of = binding(&server.url, 20);
    assert_eq!(models.props(&binding_of, None), Some(Props { context: 32768 }));
    // It is asked once.
    assert_eq!(models.props(&binding_of, None), Some(Props { context: 32768 }));
    let server = serve(vec![status("404 Not Found", "", &json!({}))]);
    assert_eq!(models.props(&binding(&server.url, 20), None), None);
}
