//! The console of this process: its standard streams, its folder, its signals.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::QueueSelector;

use super::{Console, Heard, Stream, Wanted};
use crate::cli::interrupt::Interrupts;
use crate::sandbox::CancelFlag;

#[derive(Default)]
pub(super) struct Own {
    interrupts: Interrupts,
    /// What was read of the input and not yet asked for.
    input: Mutex<Option<BufReader<File>>>,
}

impl Console for Own {
    fn write(&self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        if stream == Stream::Err {
            let mut stderr = io::stderr().lock();
            return stderr.write_all(bytes).and_then(|()| stderr.flush());
        }
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes).and_then(|()| stdout.flush())
    }

    fn read(&self, wanted: Wanted, until: &[&CancelFlag]) -> io::Result<Heard> {
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        let reader = match &mut *input {
            Some(reader) => reader,
            None => input.insert(BufReader::new(File::from(io::stdin().as_fd().try_clone_to_owned()?))),
        };
        let mut bytes = Vec::new();
        match wanted {
            Wanted::All(most) => reader.by_ref().take(most).read_to_end(&mut bytes)?,
            Wanted::Line => {
                if reader.buffer().is_empty() && is_cancelled(reader.get_ref(), until)? {
                    return Ok(Heard::Cancelled);
                }
                reader.read_until(b'\n', &mut bytes)?
            }
        };
        Ok(if bytes.is_empty() { Heard::Ended } else { Heard::Bytes(bytes) })
    }

    fn forget_typed(&self) {
        if !self.is_terminal(Stream::In) {
            return;
        }
        // Whoever is still reading waits for a line, and holds none.
        if let Ok(mut input) = self.input.try_lock() {
            *input = None;
        }
        // A terminal that is gone holds nothing.
        rustix::termios::tcflush(io::stdin(), QueueSelector::IFlush).ok();
    }

    fn is_terminal(&self, stream: Stream) -> bool {
        match stream {
            Stream::In => io::stdin().is_terminal(),
            Stream::Out => io::stdout().is_terminal(),
            Stream::Err => io::stderr().is_terminal(),
        }
    }

    fn columns(&self, stream: Stream) -> Option<usize> {
        let size = match stream {
            Stream::In => rustix::termios::tcgetwinsize(io::stdin()),
            Stream::Out => rustix::termios::tcgetwinsize(io::stdout()),
            Stream::Err => rustix::termios::tcgetwinsize(io::stderr()),
        };
        size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
    }

    fn folder(&self) -> Option<PathBuf> {
        std::env::current_dir().ok()
    }

    fn interrupts(&self) -> &Interrupts {
        &self.interrupts
    }

    fn process(&self) -> u32 {
        std::process::id()
    }

    fn wait(&self, time: Duration) -> bool {
        std::thread::sleep(time);
        true
    }

    fn is_own(&self) -> bool {
        true
    }
}

/// Waits until there is something to read; whether one of these was raised first.
fn is_cancelled(input: &File, until: &[&CancelFlag]) -> io::Result<bool> {
    if until.is_empty() {
        return Ok(false);
    }
    loop {
        let flags = until.iter().map(|flag| PollFd::from_borrowed_fd(flag.fd(), PollFlags::IN));
        let mut descriptors: Vec<PollFd<'_>> = [PollFd::new(input, PollFlags::IN)].into_iter().chain(flags).collect();
        match poll(&mut descriptors, None) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => return Ok(descriptors[1..].iter().any(|flag| !flag.revents().is_empty())),
        }
    }
}
