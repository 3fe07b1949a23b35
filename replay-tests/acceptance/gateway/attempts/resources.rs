//! Using more than was planned. No attempt takes more than 700 MB or 400 processes, whether it is stopped or not.

use crate::attempt::{Aim, Attempt, Control, Kind, Sign};

pub(super) const ATTEMPTS: &[Attempt] = &[
    Attempt::new(
        "memory of its own",
        Kind::Bare,
        Aim::Limits,
        Sign::Memory(400),
        r"
block = bytearray(600 << 20)
for place in range(0, len(block), 4096): block[place] = 1
hold()",
    )
    .control(Control::Bare),
    Attempt::new(
        "shared memory without a name",
        Kind::Bare,
        Aim::Limits,
        Sign::Memory(400),
        r"
import mmap
block = mmap.mmap(-1, 600 << 20)
page = b'x' * (1 << 20)
for number in range(600): block.write(page)
hold()",
    )
    .control(Control::Bare),
    Attempt::new(
        "memory of many processes together",
        Kind::Bare,
        Aim::Limits,
        Sign::Memory(400),
        r"
for number in range(8):
    if os.fork() == 0:
        block = bytearray(b'x') * (75 << 20)
        time.sleep(0.8)
        os._exit(0)
hold(0.7)",
    )
    .control(Control::Bare),
    Attempt::new(
        "shared memory that nobody maps any more",
        Kind::Bare,
        Aim::Limits,
        Sign::Accepted("through"),
        r"
let_go(-1)
tell('through')",
    )
    .control(Control::Bare),
    Attempt::new(
        "the file of zeros, shared, that nobody maps any more",
        Kind::Bare,
        Aim::Limits,
        Sign::Accepted("through"),
        r"
let_go(os.open('/dev/zero', os.O_RDWR))
tell('through')",
    )
    .control(Control::Bare),
    Attempt::new(
        "a session of its own, and its share of the processor",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Accepted("through"),
        r"
if (child := os.fork()) == 0:
    try: os.setsid()
    except OSError: os._exit(1)
    os._exit(0)
if os.waitpid(child, 0)[1] == 0: tell('through')",
    )
    .control(Control::Bare),
    // A process that starts at the usual priority may ask for what it has.
    Attempt::new(
        "a larger share of the processor than the watchdog",
        Kind::Bare,
        Aim::Limits,
        Sign::Accepted("through"),
        r"
os.setpriority(os.PRIO_PROCESS, 0, 0)
tell('through')",
    )
    .control(Control::Bare),
    Attempt::new(
        "more bytes and files than the stage holds",
        Kind::Bare,
        Aim::SizedFolders,
        Sign::Stored(64),
        r"
block = b'x' * (1 << 20)
try:
    for name in 'ab':
        with open(ctx.stage + '/' + name, 'wb') as file:
            for number in range(48): file.write(block)
except OSError as error: tell(error)
folder = os.open(ctx.stage, os.O_RDONLY)
show(folder)
try:
    for number in range(16500): os.close(os.open(ctx.stage + '/%d' % number, os.O_CREAT | os.O_WRONLY))
except OSError as error: tell(error)
show(folder)",
    ),
    Attempt::new(
        "a file longer than allowed",
        Kind::Bare,
        Aim::Limits,
        Sign::Stored(70),
        r"
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with open(ctx.stage + '/a', 'wb') as file:
    try:
        for number in range(80): file.write(b'x' * (1 << 20))
    except OSError as error: tell(error)
show(os.open(ctx.stage, os.O_RDONLY))",
    )
    .control(Control::Bare),
    Attempt::new(
        "asleep past the deadline, deaf to signals",
        Kind::Brief,
        Aim::Deadline,
        Sign::Slow(4),
        r"
import signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
time.sleep(0.1 if small else 6)
tell('through')",
    )
    .control(Control::Within(Sign::Accepted("through"))),
    Attempt::new(
        "busy past the deadline",
        Kind::Brief,
        Aim::Deadline,
        Sign::Slow(4),
        r"
end = time.time() + (0.1 if small else 6)
while time.time() < end: pass
tell('through')",
    )
    .control(Control::Within(Sign::Accepted("through"))),
    Attempt::new(
        "a child that keeps the channel open",
        Kind::Brief,
        Aim::TreeKill,
        Sign::Slow(4),
        r"
if not small and os.fork() == 0:
    time.sleep(6)
    os._exit(0)
tell('through')",
    )
    .control(Control::Within(Sign::Accepted("through"))),
    Attempt::new(
        "a flood on the output",
        Kind::Bare,
        Aim::Protocol,
        Sign::Grew(400),
        r"
block = b'x' * (1 << 20)
for number in range(1 if small else 700): os.write(1, block)
tell('through')",
    )
    .control(Control::Within(Sign::Accepted("through"))),
    Attempt::new(
        "a flood of remarks",
        Kind::Bare,
        Aim::Protocol,
        Sign::Grew(400),
        r"
block = 'x' * 60000
for number in range(10 if small else 8000): ctx.log(block)
tell('through')",
    )
    .control(Control::Within(Sign::Accepted("through"))),
];
