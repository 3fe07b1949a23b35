//! Answers that are none, too many, too long, or not the executor's to give.

use crate::attempt::{Aim, Attempt, Control, Kind, Sign};

const ONE: Control = Control::Within(Sign::Accepted("forged"));
const FORGED: Sign = Sign::Accepted("forged");

pub(super) const ATTEMPTS: &[Attempt] = &[
    Attempt::new(
        "two answers",
        Kind::Bare,
        Aim::Protocol,
        FORGED,
        r#"
for number in range(1 if small else 2): frame(b'{"reply":{"ok":true,"said":["forged"]}}')
os._exit(0)"#,
    )
    .control(ONE),
    Attempt::new(
        "an answer before the host's own",
        Kind::Bare,
        Aim::Protocol,
        FORGED,
        r#"
frame(b'{"reply":{"ok":true,"said":["forged"]}}')
if small: os._exit(0)"#,
    )
    .control(ONE),
    Attempt::new(
        "an answer longer than allowed",
        Kind::Bare,
        Aim::Protocol,
        FORGED,
        r#"
frame(b'{"reply":{"ok":true,"said":["forged"],"more":"' + b'x' * (1000 if small else 66000) + b'"}}')
os._exit(0)"#,
    )
    .control(ONE),
    Attempt::new(
        "an answer of a gigabyte",
        Kind::Bare,
        Aim::Protocol,
        Sign::Grew(400),
        r#"
if small:
    frame(b'{"reply":{"ok":true,"said":["forged"]}}')
    os._exit(0)
os.write(ctx._channel, (1 << 30).to_bytes(4, 'big'))
block = b'x' * (1 << 20)
for number in range(700): os.write(ctx._channel, block)"#,
    )
    .control(ONE),
    Attempt::new(
        "a length that lies",
        Kind::Bare,
        Aim::Protocol,
        FORGED,
        r#"
body = b'{"reply":{"ok":true,"said":["forged"]}}'
frame(body, len(body) + (0 if small else 5))
os._exit(0)"#,
    )
    .control(ONE),
    Attempt::new(
        "an answer with something behind it",
        Kind::Bare,
        Aim::Protocol,
        FORGED,
        r#"
frame(b'{"reply":{"ok":true,"said":["forged"]}}')
if not small: os.write(ctx._channel, b'\x00\x00\x00\x09{"log"')
os._exit(0)"#,
    )
    .control(ONE),
    Attempt::new(
        "an answer of the gateway itself",
        Kind::Bare,
        Aim::Protocol,
        FORGED,
        r#"
body = b'{"reply":{"ok":true,"said":["forged"]}}'
frame(body if small else body[:-1] + b',"cage":{"level":"full"}}')
os._exit(0)"#,
    )
    .control(ONE),
    Attempt::new(
        "an answer on the output",
        Kind::Bare,
        Aim::Protocol,
        FORGED,
        r#"
for fd in (0, 1, 2):
    try: os.write(fd, b'\n{"ok":true,"result":{"ok":true,"said":["forged"]}}\n')
    except OSError: pass
os._exit(0)"#,
    )
    .control(Control::Bare),
    Attempt::new(
        "numbers and texts that break readers",
        Kind::Bare,
        Aim::Protocol,
        FORGED,
        r#"
body = b'{"reply":{"ok":true,"said":["forged"],"n":1}}'
frame(body if small else body.replace(b':1}', b':NaN}'))
os._exit(0)"#,
    )
    .control(ONE),
];
