//! The console of this process: its standard streams, its folder, its signals.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::QueueSelector;

use super::{Console, Heard, Stream, Wanted};
use crate::cli::interrupt::Interrupts;
use crate::sandbox::CancelFlag;

/// As much as is kept of a line, in bytes: far more than a sentence may have, so what is longer is still too long.
const LINE_BYTES_MAX: usize = 1 << 20;

#[derive(Default)]
pub(super) struct Own {
    interrupts: Interrupts,
    /// What was read of the input and not yet asked for.
    input: Mutex<Option<BufReader<File>>>,
    /// Whether the command goes on when nobody reads what it prints any more.
    goes_on_unread: AtomicBool,
}

impl Own {
    /// From now on a reader that goes away (`| head`) does not end the command.
    pub(super) fn go_on_unread(&self) {
        self.goes_on_unread.store(true, Ordering::Relaxed);
    }
}

impl Console for Own {
    fn write(&self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        if stream == Stream::Err {
            let mut stderr = io::stderr().lock();
            return stderr.write_all(bytes).and_then(|()| stderr.flush());
        }
        let mut stdout = io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe && self.goes_on_unread.load(Ordering::Relaxed) => {
                Ok(())
            }
            written => written,
        }
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
                line(reader, &mut bytes)?
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

/// Reads up to the end of a line, which belongs to it; of one that has no end in sight only the beginning is kept, in whole
/// letters.
fn line(reader: &mut impl BufRead, kept: &mut Vec<u8>) -> io::Result<usize> {
    let mut read = 0;
    loop {
        let there = match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            there => there?,
        };
        let end = memchr::memchr(b'\n', there);
        let part = &there[..end.map_or(there.len(), |end| end + 1)];
        kept.extend(&part[..part.len().min(LINE_BYTES_MAX.saturating_sub(kept.len()))]);
        let length = part.len();
        reader.consume(length);
        read += length;
        if end.is_some() || length == 0 {
            break;
        }
    }
    if read > kept.len() {
        let cut = kept.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
        kept.truncate(kept.len() - cut);
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(mut input: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        loop {
            let mut kept = Vec::new();
            if line(&mut input, &mut kept).unwrap() == 0 {
                return lines;
            }
            lines.push(kept);
        }
    }

    #[test]
    fn a_line_without_end_is_cut_and_the_next_one_is_whole() {
        assert_eq!(lines(b"one\ntwo"), [b"one\n".to_vec(), b"two".to_vec()]);
        for letter in ["a", "é", "€", "🙂"] {
            let long = letter.repeat(2 * LINE_BYTES_MAX);
            let read = lines(format!("x{long}\nnext\n").as_bytes());
            assert_eq!((read.len(), read[1].as_slice()), (2, b"next\n".as_slice()));
            let text = std::str::from_utf8(&read[0]).unwrap();
            assert!(text.len() > LINE_BYTES_MAX - 4 && text.len() <= LINE_BYTES_MAX && text.ends_with(letter));
        }
    }
}
