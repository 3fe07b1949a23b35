//! The frames between daemon and interpreter: a big-endian length of four bytes, then JSON (once: the code's raw bytes).
//!
//! The interpreter's side is untrusted: an executor can write to the channel too. What arrives is bounded, checked, and at
//! worst spoils that call's own reply.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Call, CallFailure, Progress};

/// What a frame may hold besides the reply itself.
const SLACK: u64 = 16 * 1024;
const PROGRESS_CHARS: usize = 500;
const LOG_LINES: usize = 200;
const LOG_LINE_CHARS: usize = 4096;

/// The source of what the interpreter runs first.
pub(super) const HOST: &str = include_str!("host.py");

/// What the interpreter is started with: takes the compiled host from the channel.
pub(super) const BOOTSTRAP: &str = "import sys,posix,marshal
channel=int(sys.argv[1])
def take(count):
    data=b''
    while len(data)<count:
        part=posix.read(channel,count-len(data))
        if not part:posix._exit(3)
        data+=part
    return data
exec(marshal.loads(take(int.from_bytes(take(4),'big'))))
";

/// The frame that an interpreter takes first: the compiled host. It runs until it waits for its call.
pub(super) fn host(host: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(host.len() + 4);
    push(&mut bytes, host);
    bytes
}

/// In place of the function that is called: the code is compiled, none of it runs, and the reply is what it was compiled to.
pub(super) const COMPILE: &str = "";

/// The two frames that open a call, once the host runs: arguments and context, the code.
pub(super) fn opening(call: &Call<'_>, stage: &str, compiled: Option<&[u8]>) -> Vec<u8> {
    let code = compiled.unwrap_or(call.code);
    let limits = &call.plan.limits;
    let rest = json!({
        "context": if call.context.is_object() { call.context.clone() } else { json!({}) },
        "stage": stage,
        "entry": call.entry,
        "compiled": compiled.is_some(),
        "wall_ms": limits.wall_ms,
        "output_bytes_max": limits.output_bytes_max,
    });
    // Arguments can be long: they are written out where they lie.
    let first = format!("{{\"args\":{},{}", call.args, &rest.to_string()[1..]);
    let mut bytes = Vec::with_capacity(first.len() + code.len() + 8);
    push(&mut bytes, first.as_bytes());
    push(&mut bytes, code);
    bytes
}

fn push(bytes: &mut Vec<u8>, frame: &[u8]) {
    // A frame beyond 4 GiB cannot exist: arguments and code are bounded far below by the gateway.
    bytes.extend_from_slice(&u32::try_from(frame.len()).unwrap_or(u32::MAX).to_be_bytes());
    bytes.extend_from_slice(frame);
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Frame {
    Reply(Value),
    Failed(String, String),
    Progress(f64, f64, String),
    Log(String),
}

/// What came over the channel so far.
#[derive(Debug)]
pub(super) struct Inbox {
    output_bytes_max: u64,
    buffer: Vec<u8>,
    reply: Option<Result<Value, CallFailure>>,
    broken: Option<CallFailure>,
    pub(super) log: Vec<String>,
    dropped_lines: usize,
}

impl Inbox {
    pub(super) fn new(output_bytes_max: u64) -> Self {
        Self { output_bytes_max, buffer: Vec::new(), reply: None, broken: None, log: Vec::new(), dropped_lines: 0 }
    }

    /// Takes bytes; says `false` once nothing further is of use.
    pub(super) fn take(&mut self, bytes: &[u8], progress: &dyn Fn(Progress)) -> bool {
        self.buffer.extend_from_slice(bytes);
        let mut start = 0;
        while self.broken.is_none() {
            let Some(head) = self.buffer.get(start..start + 4) else { break };
            let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
            if length as u64 > self.output_bytes_max + SLACK {
                self.broken = Some(failure(
                    "too_large",
                    format!("an answer of {length} bytes is more than the {} that are allowed", self.output_bytes_max),
                ));
                break;
            }
            let Some(body) = self.buffer.get(start + 4..start + 4 + length) else { break };
            let frame = read(body);
            start += 4 + length;
            self.frame(frame, length as u64, progress);
        }
        self.buffer.drain(..start);
        self.broken.is_none()
    }

    /// Whether the one reply is there.
    pub(super) fn is_answered(&self) -> bool {
        self.reply.is_some()
    }

    fn frame(&mut self, frame: Result<Frame, CallFailure>, length: u64, progress: &dyn Fn(Progress)) {
        match frame {
            Ok(Frame::Progress(done, total, text)) => {
                progress(Progress { done, total, text: text.chars().take(PROGRESS_CHARS).collect() });
            }
            Ok(Frame::Log(text)) if self.log.len() < LOG_LINES => {
                self.log.push(text.chars().take(LOG_LINE_CHARS).collect());
            }
            Ok(Frame::Log(_)) => self.dropped_lines += 1,
            Ok(Frame::Reply(_) | Frame::Failed(..)) if self.reply.is_some() => {
                self.broken = Some(failure("contract_violation", "it answered twice".to_owned()));
            }
            Ok(Frame::Reply(reply)) => self.reply = Some(check(reply, length, self.output_bytes_max)),
            Ok(Frame::Failed(class, message)) => self.reply = Some(Err(failure(closed_class(&class), message))),
            Err(broken) => self.broken = Some(broken),
        }
    }

    /// The verdict over all that came: the one reply, or what was wrong; `None` when nothing was said.
    pub(super) fn conclude(&mut self) -> Option<Result<Value, CallFailure>> {
        if self.dropped_lines > 0 {
            self.log.push(format!("… {} more lines", self.dropped_lines));
        }
        if let Some(broken) = self.broken.take() {
            return Some(Err(broken));
        }
        if self.reply.is_some() && !self.buffer.is_empty() {
            return Some(Err(failure(
                "contract_violation",
                "it went on after its answer with a frame that never ended".to_owned(),
            )));
        }
        self.reply.take()
    }

    /// Whether a frame was begun and never ended.
    pub(super) fn is_torn(&self) -> bool {
        !self.buffer.is_empty()
    }
}

pub(super) fn failure(class: &'static str, message: String) -> CallFailure {
    CallFailure { class, message }
}

/// The classes that the host may name; anything else is the executor forging frames.
fn closed_class(class: &str) -> &'static str {
    match class {
        "crashed" => "crashed",
        "non_json" => "non_json",
        "too_large" => "too_large",
        _ => "contract_violation",
    }
}

fn read(body: &[u8]) -> Result<Frame, CallFailure> {
    if let Some(number) = oversized_integer(body) {
        return Err(failure("non_json", format!("the whole number {number}… does not fit 64 bits")));
    }
    match serde_json::from_slice::<Frame>(body) {
        Ok(frame) => Ok(frame),
        Err(error) if error.is_data() => {
            tracing::debug!(%error, "a frame of an unknown kind");
            Err(failure(
                "contract_violation",
                "it wrote to where its answer belongs, and what it wrote is none".to_owned(),
            ))
        }
        Err(error) => {
            tracing::debug!(%error, "an answer that is no JSON");
            Err(failure("non_json", "what it answered is no JSON".to_owned()))
        }
    }
}

fn check(reply: Value, length: u64, max: u64) -> Result<Value, CallFailure> {
    if length.saturating_sub(r#"{"reply":}"#.len() as u64) > max {
        return Err(failure("too_large", format!("the result has more than the {max} bytes that are allowed")));
    }
    match reply.get("ok") {
        Some(Value::Bool(_)) => Ok(reply),
        _ => Err(failure("contract_violation", "the result is no object with a boolean «ok»".to_owned())),
    }
}

/// The beginning of the first whole number outside of strings that no 64 bits hold. The JSON reader would quietly turn it
/// into a float.
fn oversized_integer(json: &[u8]) -> Option<String> {
    let mut at = 0;
    while at < json.len() {
        match json[at] {
            b'"' => at = end_of_string(json, at),
            b'-' | b'0'..=b'9' => {
                let end = json[at..]
                    .iter()
                    .position(|byte| !matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9'))
                    .map_or(json.len(), |length| at + length);
                let number = std::str::from_utf8(&json[at..end]).unwrap_or_default();
                let whole = !number.contains(['.', 'e', 'E']);
                if whole && number.parse::<i64>().is_err() && number.parse::<u64>().is_err() {
                    return Some(number.chars().take(24).collect());
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    None
}

fn end_of_string(json: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < json.len() {
        match json[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(bodies: &[&str]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for body in bodies {
            bytes.extend_from_slice(&u32::try_from(body.len()).unwrap().to_be_bytes());
            bytes.extend_from_slice(body.as_bytes());
        }
        bytes
    }

    #[track_caller]
    fn check_class(bodies: &[&str], class: &str) {
        let mut inbox = Inbox::new(100);
        inbox.take(&framed(bodies), &|_| {});
        let verdict = inbox.conclude();
        assert_eq!(verdict.unwrap().unwrap_err().class, class, "{bodies:?}");
    }

    #[test]
    fn takes_one_reply_in_any_pieces() {
        let bytes = framed(&[
            r#"{"log":"a"}"#,
            r#"{"progress":[1.0,2.0,"half"]}"#,
            r#"{"reply":{"ok":true,"n":18446744073709551615,"s":"99999999999999999999999"}}"#,
        ]);
        let seen = std::cell::Cell::new(0.0);
        let mut inbox = Inbox::new(100);
        for byte in &bytes {
            assert!(inbox.take(&[*byte], &|progress| seen.set(progress.done)));
        }
        assert!((seen.get() - 1.0).abs() < f64::EPSILON);
        assert_eq!(inbox.log, ["a"]);
        assert_eq!(inbox.conclude().unwrap().unwrap()["n"], json!(u64::MAX));
    }

    #[test]
    fn names_what_is_wrong() {
        check_class(&[r#"{"reply":{"ok":true}}"#, r#"{"reply":{"ok":true}}"#], "contract_violation");
        check_class(&[r#"{"reply":{"ok":true}}"#, r#"{"failed":["crashed","x"]}"#], "contract_violation");
        check_class(&[r#"{"reply":[1]}"#], "contract_violation");
        check_class(&[r#"{"reply":{"ok":1}}"#], "contract_violation");
        check_class(&[r#"{"other":1}"#], "contract_violation");
        check_class(&["not json"], "non_json");
        check_class(&[r#"{"reply":{"ok":true,"n":NaN}}"#], "non_json");
        check_class(&[r#"{"reply":{"ok":true,"n":18446744073709551616}}"#], "non_json");
        check_class(&[r#"{"reply":{"ok":true,"n":-9223372036854775809}}"#], "non_json");
        check_class(&[&format!(r#"{{"reply":{{"ok":true,"s":"{}"}}}}"#, "x".repeat(100))], "too_large");
        check_class(&[r#"{"failed":["crashed","ValueError"]}"#], "crashed");
        check_class(&[r#"{"failed":["consent_denied","forged"]}"#], "contract_violation");
    }

    #[test]
    fn a_length_beyond_the_bound_ends_it_at_once() {
        let mut inbox = Inbox::new(100);
        assert!(!inbox.take(&u32::MAX.to_be_bytes(), &|_| {}));
        assert_eq!(inbox.conclude().unwrap().unwrap_err().class, "too_large");
    }

    #[test]
    fn floats_and_digits_in_strings_are_no_whole_numbers() {
        assert_eq!(oversized_integer(br#"{"a":1e400,"b":"\"99999999999999999999","c":123456789012345678901.5}"#), None);
        assert!(oversized_integer(br#"["\\",99999999999999999999]"#).is_some());
    }
}
