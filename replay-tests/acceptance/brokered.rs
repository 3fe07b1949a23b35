//! Requests from inside of a cage, through the broker, to a server on loopback.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use metnos::broker::{Broker, Grants, target};
use metnos::sandbox::{CancelFlag, Outcome};
use serde_json::{Value, json};

use crate::support::{Bench, class, ok};

/// A small server: answers by path, and remembers the requests' heads.
struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, seen) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let remembered = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let remembered = Arc::clone(&remembered);
                std::thread::spawn(move || answer(stream, &remembered).ok());
            }
        });
        Self { address, seen }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

fn answer(stream: TcpStream, seen: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    head.push_str(&String::from_utf8_lossy(&body));
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    seen.lock().unwrap().push(head);
    let mut stream = stream;
    match path.split_once("?to=") {
        Some((_, to)) => {
            write!(stream, "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        }
        None if path == "/large" => {
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", 4 << 20)?;
            stream.write_all(&vec![b'x'; 4 << 20])
        }
        None if path == "/slow" => {
            std::thread::sleep(Duration::from_secs(20));
            Ok(())
        }
        None if path == "/missing" => {
            write!(stream, "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno")
        }
        None => write!(
            stream,
            "HTTP/1.1 200 OK\r\nX-Kind: a\r\nx-kind: b\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello"
        ),
    }
}

const FETCH: &str = "
def run(args, ctx):
    answer = ctx.http(args.get('method', 'GET'), args['url'], headers=args.get('headers'), body=args.get('body'))
    return {'ok': True, 'status': answer.status, 'content': answer.body[:100].decode(), 'bytes': len(answer.body), 'url': answer.url, 'truncated': answer.truncated, 'kind': answer.headers.get('x-kind')}
";

/// A grant for exactly these addresses, as the person typed them.
fn typed(urls: &[String]) -> Grants {
    Grants {
        hosts: urls.iter().map(|url| target::grant_for(url, true).unwrap()).collect(),
        read_only: true,
        max_body_bytes: 1 << 20,
        ..Grants::nothing()
    }
}

fn fetch(bench: &Bench, grants: Grants, args: Value) -> Outcome {
    bench.full(FETCH, args, Vec::new(), CancelFlag::new().unwrap(), Some(grants))
}

#[track_caller]
fn refused(outcome: &Outcome, class: &str) {
    let reply = ok(outcome);
    assert_eq!((&reply["ok"], &reply["error_class"]), (&json!(false), &json!(class)), "{reply}");
}

#[test]
fn a_granted_address_is_fetched() {
    let server = Server::start();
    for backend in crate::support::caged() {
        let bench = Bench::open(backend, &[]);
        let url = server.url("/x?y=1");
        let outcome = fetch(&bench, typed(std::slice::from_ref(&url)), json!({"url": url, "headers": {"X-Test": "1"}}));
        assert_eq!(
            *ok(&outcome),
            json!({"ok": true, "status": 200, "content": "hello", "bytes": 5, "url": url, "truncated": false, "kind": "a, b"})
        );
        let connection = &outcome.connections[0];
        assert_eq!(
            (connection.host.as_str(), connection.port, connection.method.as_str(), connection.status),
            ("127.0.0.1", server.address.port(), "GET", Some(200))
        );
        assert_eq!((connection.bytes, connection.verdict.as_str(), outcome.connections.len()), (5, "allowed", 1));
    }
    assert!(server.seen.lock().unwrap().iter().all(|head| head.contains("x-test: 1")));
    let missing = fetch(&Bench::native(), typed(&[server.url("/")]), json!({"url": server.url("/missing")}));
    assert_eq!(ok(&missing)["status"], 404);
}

#[test]
fn what_was_not_granted_is_refused_and_recorded() {
    let (server, other) = (Server::start(), Server::start());
    let bench = Bench::native();
    for (grants, url) in [
        (Grants::nothing(), server.url("/")),
        (typed(&[other.url("/")]), server.url("/")),
        (typed(&[server.url("/")]), format!("http://localhost:{}/", server.address.port())),
        (typed(&[server.url("/")]), format!("http://user@{}/", server.address)),
    ] {
        let outcome = fetch(&bench, grants, json!({"url": url}));
        refused(&outcome, "policy_violation");
        assert_eq!(outcome.connections.len(), 1);
        assert_ne!(outcome.connections[0].verdict, "allowed");
    }
    let mut untyped = typed(&[server.url("/")]);
    untyped.hosts[0].typed = false;
    refused(&fetch(&bench, untyped, json!({"url": server.url("/")})), "policy_violation");
    assert_eq!(server.seen.lock().unwrap().len() + other.seen.lock().unwrap().len(), 0, "nothing was dialled");
    let without = bench.run(FETCH, json!({"url": server.url("/")}));
    refused(&without, "policy_violation");
}

#[test]
fn each_redirect_is_a_request_of_its_own() {
    let (server, other) = (Server::start(), Server::start());
    let bench = Bench::native();
    let there = fetch(
        &bench,
        typed(&[server.url("/"), other.url("/")]),
        json!({"url": server.url(&format!("/?to={}", other.url("/end")))}),
    );
    assert_eq!((&ok(&there)["url"], there.connections.len()), (&json!(other.url("/end")), 2));
    other.seen.lock().unwrap().clear();
    let elsewhere =
        fetch(&bench, typed(&[server.url("/")]), json!({"url": server.url(&format!("/?to={}", other.url("/end")))}));
    refused(&elsewhere, "policy_violation");
    assert_eq!((elsewhere.connections.len(), other.seen.lock().unwrap().len()), (2, 0));
    for to in ["file:///etc/passwd", "http://169.254.169.254/", "gopher://x/", "http://u:p@127.0.0.1/"] {
        assert_eq!(
            ok(&fetch(&bench, typed(&[server.url("/")]), json!({"url": server.url(&format!("/?to={to}"))})))["ok"],
            false,
            "{to}"
        );
    }
    let round = server.url("/?to=/?to=/?to=/");
    assert_eq!(
        ok(&fetch(&bench, typed(&[server.url("/")]), json!({"url": round})))["ok"],
        true,
        "a redirect within the host"
    );
}

#[test]
fn credentials_stay_with_their_host() {
    let (server, other) = (Server::start(), Server::start());
    let url = server.url(&format!("/?to={}", other.url("/end")));
    let args = json!({"url": url, "headers": {"Authorization": "Bearer SECRET", "Cookie": "SECRET"}});
    ok(&fetch(&Bench::native(), typed(&[server.url("/"), other.url("/")]), args));
    assert!(server.seen.lock().unwrap()[0].contains("SECRET"), "the control");
    assert!(!other.seen.lock().unwrap()[0].contains("SECRET"));
}

#[test]
fn methods_bodies_and_headers_are_bounded() {
    let server = Server::start();
    let bench = Bench::native();
    let post = json!({"url": server.url("/"), "method": "POST", "body": "sent"});
    refused(&fetch(&bench, typed(&[server.url("/")]), post.clone()), "policy_violation");
    let carried = json!({"url": server.url("/"), "method": "GET", "body": "sent"});
    refused(&fetch(&bench, typed(&[server.url("/")]), carried.clone()), "policy_violation");
    assert_eq!(server.seen.lock().unwrap().len(), 0);
    let acting = || Grants { read_only: false, ..typed(&[server.url("/")]) };
    ok(&fetch(&bench, acting(), post.clone()));
    assert!(server.seen.lock().unwrap()[0].ends_with("sent"));
    ok(&fetch(&bench, acting(), carried));
    refused(&fetch(&bench, Grants { max_request_bytes: 3, ..acting() }, post), "too_large");
    refused(
        &fetch(&bench, acting(), json!({"url": server.url("/"), "headers": {"Host": "other.example"}})),
        "policy_violation",
    );
    let large = fetch(&bench, acting(), json!({"url": server.url("/large")}));
    assert_eq!((&ok(&large)["bytes"], &ok(&large)["truncated"]), (&json!(1 << 20), &json!(true)));
    assert_eq!(large.connections[0].bytes, 1 << 20);
}

#[test]
fn silence_is_a_timeout_and_no_one_waits_for_it() {
    let server = Server::start();
    let mut bench = Bench::native();
    let grants = Grants { timeout: Duration::from_millis(300), ..typed(&[server.url("/")]) };
    refused(&fetch(&bench, grants, json!({"url": server.url("/slow")})), "timeout");
    bench.limits.wall_ms = 500;
    let began = Instant::now();
    let late = fetch(&bench, typed(&[server.url("/")]), json!({"url": server.url("/slow")}));
    assert_eq!(class(&late), "timeout");
    assert!(began.elapsed() < Duration::from_secs(3));
    assert_eq!(late.connections[0].verdict, "unfinished", "what was sent is on the record");
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    bench.limits.wall_ms = 10_000;
    refused(
        &fetch(&bench, typed(&[format!("http://{closed}/")]), json!({"url": format!("http://{closed}/")})),
        "network",
    );
}

/// Says to the broker what it was told to say, and then asks as an executor does or takes the answer to what it said.
const LIE: &str = "
import json, posix
def take(fd, count):
    return b''.join(posix.read(fd, 1) for _ in range(count))
def run(args, ctx):
    frame = bytes.fromhex(args['frame'])
    while frame:
        frame = frame[posix.write(ctx._net, frame):]
    if args['closes']:
        posix.close(ctx._net)
    if args['asks']:
        return {'ok': True, 'content': ctx.http('GET', args['url']).body.decode()}
    head = json.loads(take(ctx._net, int.from_bytes(take(ctx._net, 4), 'big')))
    take(ctx._net, int.from_bytes(take(ctx._net, 4), 'big'))
    raise ctx.Failure(head['error_class'], head['error'])
";

/// A head and a body as they go over the socket; the lengths may lie.
fn frame(head: &str, length: u32, body: &[u8]) -> String {
    let body_length = u32::try_from(body.len()).unwrap();
    metnos_log::hex(&[&length.to_be_bytes()[..], head.as_bytes(), &body_length.to_be_bytes(), body].concat())
}

fn honest(head: &str) -> String {
    frame(head, u32::try_from(head.len()).unwrap(), b"")
}

/// What is said in an executor's place is a request like any other, or none.
#[test]
fn a_frame_that_lies_fetches_nothing() {
    let (server, other) = (Server::start(), Server::start());
    let bench = Bench::native();
    let request = |url: &str| json!({"method": "GET", "url": url, "headers": []}).to_string();
    let granting = json!({"method": "GET", "url": other.url("/"), "headers": [], "typed": true, "hosts": ["*"]});
    let headed =
        json!({"method": "GET", "url": server.url("/"), "headers": [["X-A", format!("b\r\nHost: {}", other.address)]]});
    let inside = request(&other.url("/"));
    let lies = [
        (honest("\u{1}no request"), "invalid_args"),
        (honest("[]"), "invalid_args"),
        (honest(&granting.to_string()), "invalid_args"),
        (honest(&inside), "policy_violation"),
        (honest(&headed.to_string()), "invalid_args"),
        // A whole request within the body of one that is refused.
        (frame("{}", 2, honest(&inside).as_bytes()), "invalid_args"),
    ];
    for (lie, class) in lies {
        let args = json!({"frame": lie, "asks": false, "closes": false});
        refused(&fetch_by(LIE, &bench, typed(&[server.url("/only")]), args), class);
    }
    let asking = |lie: &str, closes: bool| {
        let args = json!({"frame": lie, "asks": true, "closes": closes, "url": server.url("/")});
        fetch_by(LIE, &bench, typed(&[server.url("/")]), args)
    };
    assert_eq!(server.seen.lock().unwrap().len() + other.seen.lock().unwrap().len(), 0, "nothing was dialled");
    // A head that is longer than any ends the broker, and with it every way out.
    refused(&asking(&frame(&inside, u32::MAX, b""), false), "network");
    // The way to it is closed in the middle of a request, or before one.
    let whole = honest(&request(&server.url("/")));
    refused(&asking(&whole[..whole.len() / 4 * 2], true), "network");
    refused(&asking("", true), "network");
    assert_eq!(server.seen.lock().unwrap().len() + other.seen.lock().unwrap().len(), 0, "nothing was dialled");
    assert_eq!(ok(&asking("", false))["content"], "hello", "the control");
}

fn fetch_by(code: &str, bench: &Bench, grants: Grants, args: Value) -> Outcome {
    bench.full(code, args, Vec::new(), CancelFlag::new().unwrap(), Some(grants))
}

/// The broker by itself, over a pair of sockets: how it ends is what its executor sees.
#[test]
fn a_broker_that_ends_gives_no_answer_and_says_what_it_did() {
    let server = Server::start();
    let begin = |grants: Grants| {
        let (ours, its) = UnixStream::pair().unwrap();
        (ours, Broker::start(its.into(), grants).unwrap())
    };
    let bytes = |text: &str| -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    };
    let request = bytes(&honest(&json!({"method": "GET", "url": server.url("/slow"), "headers": []}).to_string()));
    // The request breaks off, wherever that is.
    for end in 0..request.len() {
        let (mut ours, broker) = begin(typed(&[server.url("/")]));
        ours.write_all(&request[..end]).unwrap();
        ours.shutdown(Shutdown::Both).unwrap();
        assert_eq!(broker.finish(), [], "{end}");
    }
    assert_eq!(server.seen.lock().unwrap().len(), 0, "nothing was dialled");
    // The broker ends while a request is on its way.
    let (mut ours, broker) = begin(typed(&[server.url("/")]));
    ours.write_all(&request).unwrap();
    while server.seen.lock().unwrap().is_empty() {
        std::thread::yield_now();
    }
    let connections = broker.finish();
    assert_eq!((connections.len(), connections[0].verdict.as_str(), connections[0].bytes), (1, "unfinished", 0));
    let mut answer = Vec::new();
    ours.read_to_end(&mut answer).unwrap();
    assert!(answer.is_empty(), "half an answer is none: {answer:?}");
}
