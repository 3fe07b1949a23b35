//! Sends a command to the daemon that serves its home, and carries bytes between the two until the exit code.
//!
//! It decides nothing: what is printed, asked and recorded is the daemon's. Where no daemon listens it says so, and the
//! command opens the log itself.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags};
use serde_json::{Value, json};

use super::chat::Exchange;
use super::console::{self, Console, Heard, Stream, Wanted};
use super::interrupt::News;
use super::output::by;
use super::wire::{self, Frame, Refusal, Request, Why};
use super::{Context, Failure, PATIENCE};
use crate::cause::plain;
use crate::config::{Dirs, Variables};
use crate::sandbox::CancelFlag;

/// How long a daemon may take to say whose it is.
const ABOUT_PATIENCE: Duration = Duration::from_secs(2);
/// How often one that has too much to do is asked again.
const BUSY_STEP: Duration = Duration::from_millis(100);
/// The longest head of an answer.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// How a command ended that the daemon carried out.
#[derive(Debug)]
pub(super) struct Ended {
    /// Its exit code.
    pub code: u8,
    /// What it handed back.
    pub back: Option<Value>,
}

/// The name of the socket of a runtime folder, however long the folder's own name is: the system allows a hundred bytes.
/// The name holds while the descriptor is open.
pub(super) fn socket(runtime: &Path) -> io::Result<(OwnedFd, PathBuf)> {
    use std::os::fd::AsRawFd;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(CWD, runtime, flags, Mode::empty())?;
    let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(wire::SOCKET);
    Ok((folder, path))
}

/// Whether someone listens there.
pub(super) fn connect(runtime: &Path) -> Option<UnixStream> {
    let (_folder, path) = socket(runtime).ok()?;
    // Where nobody listens no socket is opened at all: a command that only looks back needs none.
    if path.symlink_metadata().is_err() {
        return None;
    }
    UnixStream::connect(path).ok()
}

/// The process that serves this command's home. One that listens there for another home does not.
pub(super) fn server(context: &Context) -> Option<u32> {
    let dirs = Dirs::resolve(context.global.home.as_deref(), &context.variables).ok()?;
    let mut stream = connect(&dirs.runtime)?;
    stream.set_read_timeout(Some(ABOUT_PATIENCE)).ok()?;
    let head = format!("GET {} HTTP/1.1\r\nhost: metnos\r\nconnection: close\r\n\r\n", wire::ABOUT_PATH);
    stream.write_all(head.as_bytes()).ok()?;
    let (mut received, end) = read_head(&mut stream).ok()?;
    stream.take(HEAD_BYTES_MAX as u64).read_to_end(&mut received).ok()?;
    let about: wire::About = serde_json::from_slice(&received[end..]).ok()?;
    is_same(&dirs.data, &about.data).then_some(about.pid)
}

/// Has the daemon carry the command out; `None` where none serves this home. One that has too much to do is waited for as
/// long as one waits for the log.
pub(super) fn send(context: &Context, exchange: Option<Exchange>) -> Result<Option<Ended>, Failure> {
    // What is wrong with the folders is said by whoever opens them.
    let Ok(dirs) = Dirs::resolve(context.global.home.as_deref(), &context.variables) else { return Ok(None) };
    let console = console::own();
    let request = request(&dirs, exchange, &*console);
    let since = Instant::now();
    loop {
        let Some(mut stream) = connect(&dirs.runtime) else { return Ok(None) };
        match begin(&mut stream, &request).map_err(|error| went_away(&error))? {
            Begun::Upgraded(received) => return converse(&console, stream, received).map(Some),
            Begun::Refused(Refusal { why: Why::Busy, .. }) if since.elapsed() < PATIENCE => {
                std::thread::sleep(BUSY_STEP);
            }
            Begun::Refused(refusal) => return refused(refusal).map(|()| None),
        }
    }
}

/// Carries bytes until the command has ended.
fn converse(console: &Arc<dyn Console>, mut stream: UnixStream, received: Vec<u8>) -> Result<Ended, Failure> {
    let to = stream
        .try_clone()
        .map_err(|error| Failure::internal(("error.no_descriptor", json!({ "reason": plain(&error) }))))?;
    let conversation = Conversation { to: Arc::new(Mutex::new(to)), console: Arc::clone(console), reading: None };
    let to = Arc::clone(&conversation.to);
    let terminals = Arc::clone(console);
    let tell = move |news| {
        let frame = match news {
            News::Signal(code) => Frame::Signal(code),
            News::Resized => Frame::Columns(
                columns(&*terminals).map(|columns| u16::try_from(columns.unwrap_or(0)).unwrap_or(u16::MAX)),
            ),
        };
        put(&to, &frame).is_ok()
    };
    console.interrupts().forward(Some(Arc::new(tell)));
    let ended = conversation.carry(&mut stream, received);
    console.interrupts().forward(None);
    ended.map_err(|error| went_away(&error))
}

const STREAMS: [Stream; 3] = [Stream::In, Stream::Out, Stream::Err];

fn columns(console: &dyn Console) -> [Option<usize>; 3] {
    STREAMS.map(|stream| console.columns(stream))
}

fn request(dirs: &Dirs, exchange: Option<Exchange>, console: &dyn Console) -> Request {
    Request {
        protocol: wire::PROTOCOL,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        data: dirs.data.clone().into_os_string(),
        argv: std::env::args_os().collect(),
        exchange,
        process: console.process(),
        folder: console.folder().map(PathBuf::into_os_string),
        variables: Variables::found(),
        terminals: STREAMS.map(|stream| console.is_terminal(stream)),
        columns: columns(console),
    }
}

/// Whether the command can be carried out elsewhere.
fn refused(refusal: Refusal) -> Result<(), Failure> {
    match refusal.why {
        Why::OtherHome | Why::Stopping => Ok(()),
        Why::OtherVersion => Err(Failure::refused(refusal.error, by("next.restart_daemon"))),
        Why::Busy => Err(Failure::refused(refusal.error, by("next.again_soon"))),
        Why::Malformed => Err(Failure::internal(refusal.error)),
    }
}

fn went_away(error: &io::Error) -> Failure {
    let why = match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => String::new(),
        _ => format!(": {error}"),
    };
    Failure::failed(("error.daemon_gone", json!({ "why": why })), by("next.see_turns"))
}

/// What came of a request.
enum Begun {
    /// The daemon has taken it; these bytes came after its answer.
    Upgraded(Vec<u8>),
    Refused(Refusal),
}

fn begin(stream: &mut UnixStream, request: &Request) -> io::Result<Begun> {
    let body = serde_json::to_vec(request).map_err(io::Error::other)?;
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: metnos\r\nconnection: upgrade\r\nupgrade: {}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        wire::PATH,
        wire::UPGRADE,
        body.len()
    );
    match stream.write_all(&[head.as_bytes(), &body].concat()) {
        // Whoever is turned away at once is still told why.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        other => other?,
    }
    let (mut received, end) = read_head(stream)?;
    let rest = received.split_off(end);
    if received.starts_with(b"HTTP/1.1 101 ") {
        return Ok(Begun::Upgraded(rest));
    }
    let mut body = rest;
    // A refusal is short and ends the connection.
    stream.take(HEAD_BYTES_MAX as u64).read_to_end(&mut body)?;
    let status = String::from_utf8_lossy(received.get(9..12).unwrap_or_default()).into_owned();
    let refusal = serde_json::from_slice(&body).unwrap_or_else(|_| Refusal {
        why: Why::Malformed,
        error: format!("the daemon refuses the command: {status} {}", String::from_utf8_lossy(&body).trim()),
    });
    Ok(Begun::Refused(refusal))
}

/// What was received of an answer, and where its head ends.
fn read_head(stream: &mut UnixStream) -> io::Result<(Vec<u8>, usize)> {
    let mut received = Vec::new();
    loop {
        if let Some(at) = received.windows(4).position(|window| window == b"\r\n\r\n") {
            return Ok((received, at + 4));
        }
        if received.len() > HEAD_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its answer makes no sense"));
        }
        more(stream, &mut received)?;
    }
}

fn more(stream: &mut UnixStream, received: &mut Vec<u8>) -> io::Result<()> {
    let mut bytes = [0; 8192];
    match stream.read(&mut bytes)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        count => {
            received.extend_from_slice(&bytes[..count]);
            Ok(())
        }
    }
}

fn put(to: &Mutex<UnixStream>, frame: &Frame) -> io::Result<()> {
    let mut to: MutexGuard<'_, UnixStream> = to.lock().unwrap_or_else(PoisonError::into_inner);
    to.write_all(&frame.bytes())
}

/// One command while the daemon carries it out.
struct Conversation {
    to: Arc<Mutex<UnixStream>>,
    console: Arc<dyn Console>,
    /// Ends the reading of standard input.
    reading: Option<CancelFlag>,
}

impl Conversation {
    fn carry(mut self, stream: &mut UnixStream, mut received: Vec<u8>) -> io::Result<Ended> {
        let mut back = None;
        loop {
            let Some(frame) = Frame::take(&mut received)? else {
                more(stream, &mut received)?;
                continue;
            };
            match frame {
                Frame::Out(bytes) => {
                    match self.console.write(Stream::Out, &bytes) {
                        Ok(()) => {}
                        // A reader that went away (`| head`) is no error; the daemon hears of it by the end of this.
                        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(Ended { code: 0, back }),
                        Err(error) => console::leave(error),
                    }
                }
                Frame::Err(bytes) => {
                    // A terminal that is gone is no error.
                    self.console.write(Stream::Err, &bytes).ok();
                }
                Frame::Read(wanted) => self.read(wanted)?,
                Frame::StopReading => self.stop_reading(),
                Frame::ForgetTyped => self.console.forget_typed(),
                Frame::Back(json) => back = serde_json::from_slice(&json).ok(),
                Frame::Exit(code) => {
                    self.stop_reading();
                    return Ok(Ended { code, back });
                }
                Frame::Input(..) | Frame::Signal(_) | Frame::Columns(_) => {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "it says what only a command says"));
                }
            }
        }
    }

    fn stop_reading(&mut self) {
        if let Some(reading) = self.reading.take() {
            reading.cancel();
        }
    }

    /// Reads on a thread of its own, so that what the daemon says meanwhile is heard.
    fn read(&mut self, wanted: Wanted) -> io::Result<()> {
        let flag = CancelFlag::new()?;
        self.reading = Some(flag.clone());
        let (to, console) = (Arc::clone(&self.to), Arc::clone(&self.console));
        std::thread::Builder::new().name("input".to_owned()).spawn(move || {
            let bytes = match console.read(wanted, &[&flag]) {
                Ok(Heard::Bytes(bytes)) => bytes,
                Ok(Heard::Ended) | Err(_) => Vec::new(),
                Ok(Heard::Cancelled) => return,
            };
            let mut pieces = bytes.chunks(wire::PIECE_BYTES).peekable();
            let mut is_sent = true;
            while let (true, Some(piece)) = (is_sent, pieces.next()) {
                is_sent = put(&to, &Frame::Input(pieces.peek().is_none(), piece.to_vec())).is_ok();
            }
            if bytes.is_empty() {
                // A daemon that is gone is noticed by whoever waits for what it says.
                put(&to, &Frame::Input(true, Vec::new())).ok();
            }
        })?;
        Ok(())
    }
}

/// The bytes of a path, as they are compared.
pub(super) fn is_same(path: &Path, named: &std::ffi::OsStr) -> bool {
    path.as_os_str().as_bytes() == named.as_bytes()
}
