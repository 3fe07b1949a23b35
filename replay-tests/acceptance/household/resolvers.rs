//! A name that cannot be looked up, or by a resolver that lies; and a list of hosts that cannot be read: nothing is fetched.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::daemon::Daemon;
use super::home::{Home, Ran};

/// A server on loopback that counts who comes.
struct Counting {
    address: SocketAddr,
    count: Arc<AtomicUsize>,
}

impl Counting {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, count) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&count);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                counted.fetch_add(1, Ordering::SeqCst);
                let answer = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 6\r\nconnection: close\r\n\r\nhello\n";
                let mut head = [0; 4096];
                std::io::Read::read(&mut stream, &mut head).ok();
                std::io::Write::write_all(&mut stream, answer).ok();
            }
        });
        Self { address, count }
    }

    fn url(&self, host: &str) -> String {
        format!("http://{host}:{}/", self.address.port())
    }

    fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }
}

/// What a resolver answers.
#[derive(Clone, Copy)]
enum Says {
    Nothing,
    Noise,
    Failure,
    NoAddress,
    Address(Ipv4Addr),
}

/// A resolver on an address of loopback of its own, and the file that leads there.
struct Resolver {
    file: tempfile::NamedTempFile,
    asked: Arc<AtomicUsize>,
}

impl Resolver {
    /// `None` where nobody may listen on its port.
    fn start(says: Says, last: u8) -> Option<Self> {
        let [.., high, low] = std::process::id().to_be_bytes();
        let at = Ipv4Addr::new(127, high | 1, low, last);
        let socket = UdpSocket::bind((at, 53)).ok()?;
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(&file, format!("nameserver {at}\noptions timeout:1 attempts:1\n")).unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        std::thread::spawn(move || {
            let mut query = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut query) {
                counted.fetch_add(1, Ordering::SeqCst);
                if let Some(answer) = answer(&query[..length], says) {
                    socket.send_to(&answer, from).ok();
                }
            }
        });
        Some(Self { file, asked })
    }

    /// One sentence where names are looked up here and nowhere else.
    fn ask(&self, home: &Home, sentence: &str) -> Ran {
        let plain = home.command();
        let mut command = Command::new("unshare");
        let bound = format!("mount --bind {} /etc/resolv.conf && exec \"$0\" \"$@\"", self.file.path().display());
        command.args(["-m", "sh", "-c", &bound]).arg(plain.get_program()).args(["ask", sentence]);
        command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(home.files()).stdin(std::process::Stdio::null());
        command.output().unwrap().into()
    }
}

/// The answer to a query: its header with flags, the question, and an address where one was asked for.
fn answer(query: &[u8], says: Says) -> Option<Vec<u8>> {
    let end = 12 + query.get(12..)?.iter().position(|byte| *byte == 0)? + 5;
    let is_for_v4 = query.get(end - 4..end - 2)? == [0, 1];
    let (code, address) = match says {
        Says::Nothing => return None,
        Says::Noise => return Some([&query[..2], &[0xff; 60]].concat()),
        Says::Failure => (2, None),
        Says::NoAddress => (0, None),
        Says::Address(address) => (0, Some(address).filter(|_| is_for_v4)),
    };
    let header = [0x81, 0x80 | code, 0, 1, 0, u8::from(address.is_some()), 0, 0, 0, 0];
    let record = address.map(|address| [&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4][..], &address.octets()].concat());
    Some([&query[..2], &header, query.get(12..end)?, &record.unwrap_or_default()].concat())
}

#[test]
fn what_a_resolver_does_not_say_or_lies_about_is_not_fetched() {
    let (home, server) = (Home::new(), Counting::start());
    let sentence = format!("fetch {}", server.url("shop.example"));
    let cases = [
        (Says::Nothing, "dns_error"),
        (Says::Noise, "dns_error"),
        (Says::Failure, "dns_error"),
        (Says::NoAddress, "dns_error"),
        // A public name that leads into the house.
        (Says::Address(Ipv4Addr::LOCALHOST), "policy_violation"),
        (Says::Address(Ipv4Addr::UNSPECIFIED), "policy_violation"),
    ];
    for (last, (says, class)) in (1..).zip(cases) {
        let Some(resolver) = Resolver::start(says, last) else {
            eprintln!("SKIPPED: nobody may listen on a resolver's port here");
            return;
        };
        let ran = resolver.ask(&home, &sentence);
        if ran.err.contains("unshare") || ran.err.contains("mount:") || resolver.asked.load(Ordering::SeqCst) == 0 {
            eprintln!("SKIPPED: names cannot be looked up by another resolver here: {}", ran.err);
            return;
        }
        assert_ne!(ran.code, 0, "{} {}", ran.out, ran.err);
        let record = home.run(["--json", "turn", "show"]).json();
        assert_eq!(record["steps"][0]["result"]["error_class"], class, "{last}: {record}");
        assert_eq!(server.count(), 0, "{class}");
    }
    let ran = home.ask(&format!("fetch {}", server.url("localhost")));
    assert_eq!((ran.code, ran.out.as_str(), server.count()), (0, "hello\n", 1), "the control: {}", ran.err);
    home.is_whole();
}

#[test]
fn a_list_of_hosts_that_cannot_be_read_lets_nothing_out() {
    let (home, server) = (Home::new(), Counting::start());
    let file = home.metnos().join("config/metnos.toml");
    let list = |hosts: &str| format!("[network]\nallow = {hosts}\n");
    let fetch = || home.ask(&format!("fetch {}", server.url("localhost")));
    let refused = |why: &str| {
        let ran = fetch();
        assert!(matches!(ran.code, 1 | 2) && server.count() == 0, "{why}: {} {} {}", ran.code, ran.out, ran.err);
    };
    for text in [list("[]"), list("[\"other.example\"]"), list("\"localhost\""), list("[1]"), list("[\"localhost\"")] {
        fs::write(&file, &text).unwrap();
        refused(&text);
    }
    fs::write(&file, "[netwrok]\nallow = []\n").unwrap();
    refused("a table that is misspelled");
    fs::write(&file, b"[network]\nallow = [\"\xff\"]\n").unwrap();
    refused("no text");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    refused("a folder");
    fs::remove_dir(&file).unwrap();
    symlink(home.files().join("elsewhere.toml"), &file).unwrap();
    refused("a link that leads nowhere");
    // What serves reads it for each command, and does not go on with what it read before.
    fs::remove_file(&file).unwrap();
    fs::write(&file, list("[\"localhost\"]")).unwrap();
    let daemon = Daemon::serve(&home);
    fs::remove_file(&file).unwrap();
    symlink(home.files().join("elsewhere.toml"), &file).unwrap();
    refused("a link that leads nowhere, while it is served");
    fs::remove_file(&file).unwrap();
    fs::write(&file, list("[\"localhost\"]")).unwrap();
    let ran = fetch();
    assert_eq!((ran.code, ran.out.as_str(), server.count()), (0, "hello\n", 1), "the control: {}", ran.err);
    assert!(daemon.stop() < Duration::from_secs(5));
    home.is_whole();
}
