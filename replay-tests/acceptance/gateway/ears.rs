//! Sockets of the test, none of which an executor may reach but one server that it was granted.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::Path;
use std::time::Duration;

use crate::attempt::Ear;

/// What a page of the granted server pads its secret with, and how far into the body it lies.
const PAD: &[u8] = &[b'.'; 1 << 20];

/// All sockets of one home.
pub(crate) struct Ears {
    pub(crate) tcp: TcpListener,
    pub(crate) udp: UdpSocket,
    unix: UnixListener,
    own: UnixListener,
    hidden: UnixDatagram,
    pub(crate) granted: TcpListener,
    pub(crate) other: TcpListener,
    /// A port that is free.
    pub(crate) listen: u16,
    secret: String,
    /// What both servers were sent since the last call.
    pub(crate) asked: Vec<u8>,
    pub(crate) requests: usize,
    pub(crate) is_connected: bool,
}

pub(crate) fn port(listener: &TcpListener) -> u16 {
    listener.local_addr().unwrap().port()
}

fn loopback() -> TcpListener {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
}

impl Ears {
    pub(crate) fn open(outside: &Path, own: &Path, name: &str, secret: &str) -> Self {
        let unix = UnixListener::bind(outside.join("socket")).unwrap();
        let own = UnixListener::bind(own).unwrap();
        let hidden = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name).unwrap()).unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        unix.set_nonblocking(true).unwrap();
        own.set_nonblocking(true).unwrap();
        hidden.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        Self {
            tcp: loopback(),
            udp,
            unix,
            own,
            hidden,
            granted: loopback(),
            other: loopback(),
            listen: port(&TcpListener::bind("127.0.0.1:0").unwrap()),
            secret: secret.to_owned(),
            asked: Vec::new(),
            requests: 0,
            is_connected: false,
        }
    }

    /// Forgets what came before.
    pub(crate) fn clear(&mut self) {
        for ear in [Ear::Tcp, Ear::Udp, Ear::Unix, Ear::Own, Ear::Abstract] {
            while self.heard(ear) {}
        }
        self.serve();
        self.asked.clear();
        (self.requests, self.is_connected) = (0, false);
    }

    /// Whether something came that was not asked for yet.
    pub(crate) fn heard(&self, ear: Ear) -> bool {
        let mut byte = [0];
        match ear {
            Ear::Tcp => self.tcp.accept().is_ok(),
            Ear::Unix => self.unix.accept().is_ok(),
            Ear::Own => self.own.accept().is_ok(),
            Ear::Udp => self.udp.recv(&mut byte).is_ok(),
            Ear::Abstract => self.hidden.recv(&mut byte).is_ok(),
        }
    }

    /// Tries to connect to the executor.
    pub(crate) fn connect(&mut self) {
        self.is_connected |= TcpStream::connect(("127.0.0.1", self.listen)).is_ok();
    }

    /// Answers whoever waits.
    pub(crate) fn serve(&mut self) {
        loop {
            let accepted = self.granted.accept().map(|(stream, _)| (stream, true));
            let (stream, is_granted) = match accepted.or_else(|_| Ok((self.other.accept()?.0, false))) {
                Ok(found) => found,
                Err(error) => {
                    let error: std::io::Error = error;
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    return;
                }
            };
            // A client that goes away in the middle is no trouble of the server.
            self.answer(stream, is_granted).ok();
        }
    }

    fn answer(&mut self, mut stream: TcpStream, is_granted: bool) -> std::io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(Duration::from_millis(300)))?;
        stream.set_write_timeout(Some(Duration::from_millis(300)))?;
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        while !request.windows(4).any(|end| end == b"\r\n\r\n") {
            match stream.read(&mut buffer)? {
                0 => break,
                read => request.extend_from_slice(&buffer[..read]),
            }
        }
        self.requests += 1;
        self.asked.extend_from_slice(&request);
        let asks = |page: &str| is_granted && request.starts_with(format!("GET {page} ").as_bytes());
        let place = |port: u16| format!("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{port}/forbidden\r\n");
        let plain = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n".to_owned();
        let before = usize::from(asks("/middle")) + 3 * usize::from(asks("/long"));
        let head = match () {
            () if asks("/away") => place(port(&self.other)),
            () if asks("/near") => place(port(&self.granted)),
            () => plain,
        };
        let body = if before > 0 || asks("/secret") { self.secret.clone() } else { "fine".to_owned() };
        let length = before * PAD.len() + body.len();
        write!(stream, "{head}Content-Length: {length}\r\nConnection: close\r\n\r\n")?;
        for _ in 0..before {
            stream.write_all(PAD)?;
        }
        stream.write_all(body.as_bytes())
    }
}
