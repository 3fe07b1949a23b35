//! What a command and the daemon say to each other over the socket: one request that names the command and what surrounds
//! it, then small frames both ways until the exit code.
//!
//! A frame is its length (four bytes, big-endian), a byte that says what it is, and what it carries. Nothing here reads or
//! writes; nothing is kept from one connection to the next.

use std::ffi::OsString;
use std::io;

use serde::{Deserialize, Serialize};

use super::chat::Exchange;
use super::console::Wanted;

/// Changes with every change of what is said.
pub(super) const PROTOCOL: u32 = 2;
/// Where a command is sent to.
pub(super) const PATH: &str = "/v1/command";
/// Where the daemon says whose it is.
pub(super) const ABOUT_PATH: &str = "/v1/about";
/// What the connection becomes.
pub(super) const UPGRADE: &str = "metnos-command";
/// The socket's name in the runtime folder.
pub(super) const SOCKET: &str = "metnos.sock";
/// The longest request: a command line and a few variables.
pub(super) const REQUEST_BYTES_MAX: usize = 4 << 20;
/// The longest frame.
pub(super) const FRAME_BYTES_MAX: usize = 1 << 20;
/// Longer texts go in pieces of this size.
pub(super) const PIECE_BYTES: usize = 64 << 10;

/// A command and what surrounds it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Request {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// The version of the program that asks.
    pub version: String,
    /// The data folder that it would open itself.
    pub data: OsString,
    /// Its command line, with its own name first.
    pub argv: Vec<OsString>,
    /// One exchange of a conversation, instead of the whole of it.
    pub exchange: Option<Exchange>,
    /// Its process.
    pub process: u32,
    /// Its folder.
    pub folder: Option<OsString>,
    /// Its variables, those that Metnos reads.
    pub variables: Vec<(String, OsString)>,
    /// Which of its streams are terminals: input, output, errors.
    pub terminals: [bool; 3],
    /// How wide they are.
    pub columns: [Option<usize>; 3],
}

/// Whose a daemon is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct About {
    /// The data folder that it serves.
    pub data: OsString,
    /// Its process.
    pub pid: u32,
}

/// Why the daemon does not carry a command out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Refusal {
    /// What kind of refusal.
    pub why: Why,
    /// In words.
    pub error: String,
}

/// Kinds of refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Why {
    /// It serves another home: the command opens its own.
    OtherHome,
    /// It is about to end: the command waits for the log.
    Stopping,
    /// It is of another version.
    OtherVersion,
    /// Too much goes on.
    Busy,
    /// The request makes no sense.
    Malformed,
}

/// One thing that is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// Bytes for standard output.
    Out(Vec<u8>),
    /// Bytes for standard error.
    Err(Vec<u8>),
    /// Standard input is wanted.
    Read(Wanted),
    /// It is not wanted any more.
    StopReading,
    /// What was typed before now answers nothing.
    ForgetTyped,
    /// A value for the program that asked, as JSON.
    Back(Vec<u8>),
    /// The command has ended with this exit code. Nothing follows.
    Exit(u8),
    /// Bytes of standard input, and whether they are the last of what was wanted.
    Input(bool, Vec<u8>),
    /// Ctrl-C or SIGTERM came, as the exit code that it means.
    Signal(u8),
    /// The terminals have so many columns from now on: input, output, errors; 0 where there is none, or it does not say.
    Columns([u16; 3]),
}

/// A frame that makes no sense.
fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a frame makes no sense")
}

impl Frame {
    /// The frame's bytes.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let framed = |kind: u8, parts: &[&[u8]]| {
            let length = 1 + parts.iter().map(|part| part.len()).sum::<usize>();
            let length = u32::try_from(length).expect("frames are made of pieces");
            let mut bytes = Vec::with_capacity(length as usize + 4);
            bytes.extend(length.to_be_bytes());
            bytes.push(kind);
            for part in parts {
                bytes.extend_from_slice(part);
            }
            bytes
        };
        match self {
            Self::Out(bytes) => framed(1, &[bytes]),
            Self::Err(bytes) => framed(2, &[bytes]),
            Self::Read(Wanted::Line) => framed(3, &[&0_u64.to_be_bytes()]),
            Self::Read(Wanted::All(most)) => framed(3, &[&most.max(&1).to_be_bytes()]),
            Self::StopReading => framed(4, &[]),
            Self::Back(json) => framed(5, &[json]),
            Self::Exit(code) => framed(6, &[&[*code]]),
            Self::ForgetTyped => framed(7, &[]),
            Self::Input(is_last, bytes) => framed(16, &[&[u8::from(*is_last)], bytes]),
            Self::Signal(code) => framed(17, &[&[*code]]),
            Self::Columns(columns) => framed(18, &[&columns.map(u16::to_be_bytes).concat()]),
        }
    }

    /// Takes the first frame off what was received; `None` until it is whole.
    pub(super) fn take(received: &mut Vec<u8>) -> io::Result<Option<Self>> {
        let Some(length) = received.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length == 0 || length > FRAME_BYTES_MAX {
            return Err(malformed());
        }
        if received.len() < 4 + length {
            return Ok(None);
        }
        let rest = received.split_off(4 + length);
        let whole = std::mem::replace(received, rest);
        Self::of(whole[4], &whole[5..]).map(Some)
    }

    fn of(kind: u8, carried: &[u8]) -> io::Result<Self> {
        Ok(match (kind, carried) {
            (1, bytes) => Self::Out(bytes.to_vec()),
            (2, bytes) => Self::Err(bytes.to_vec()),
            (3, bytes) => {
                let most = u64::from_be_bytes(bytes.try_into().map_err(|_| malformed())?);
                Self::Read(if most == 0 { Wanted::Line } else { Wanted::All(most) })
            }
            (4, []) => Self::StopReading,
            (5, json) => Self::Back(json.to_vec()),
            (6, [code]) => Self::Exit(*code),
            (7, []) => Self::ForgetTyped,
            (16, [is_last, bytes @ ..]) => Self::Input(*is_last == 1, bytes.to_vec()),
            (17, [code]) => Self::Signal(*code),
            (18, columns) if columns.len() == 6 => {
                Self::Columns([0, 2, 4].map(|at| u16::from_be_bytes([columns[at], columns[at + 1]])))
            }
            _ => return Err(malformed()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_whole_however_they_are_cut() {
        let frames = [
            Frame::Out(b"a\n".to_vec()),
            Frame::Err(Vec::new()),
            Frame::Read(Wanted::Line),
            Frame::Read(Wanted::All(9)),
            Frame::StopReading,
            Frame::ForgetTyped,
            Frame::Back(b"{}".to_vec()),
            Frame::Input(true, b"yes\n".to_vec()),
            Frame::Signal(130),
            Frame::Columns([0, 80, 300]),
            Frame::Exit(3),
        ];
        let all: Vec<u8> = frames.iter().flat_map(Frame::bytes).collect();
        for piece in [1, 3, all.len()] {
            let (mut received, mut taken) = (Vec::new(), Vec::new());
            for bytes in all.chunks(piece) {
                received.extend_from_slice(bytes);
                while let Some(frame) = Frame::take(&mut received).unwrap() {
                    taken.push(frame);
                }
            }
            assert_eq!((taken.as_slice(), received.len()), (frames.as_slice(), 0));
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for bytes in [&[0, 0, 0, 0][..], &[255, 0, 0, 0], &[0, 0, 0, 1, 99], &[0, 0, 0, 2, 4, 4], &[0, 0, 0, 1, 17]] {
            assert!(Frame::take(&mut bytes.to_vec()).is_err(), "{bytes:?}");
        }
        assert_eq!(Frame::take(&mut vec![0, 0, 0, 2, 6]).unwrap(), None);
    }
}
