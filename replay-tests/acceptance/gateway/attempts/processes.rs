//! Other processes: their secrets, their lives, and outliving the call. One process of the test stands for all others; it
//! belongs to the same user. Signals to all are `SIGURG`, which ends nobody.

use crate::attempt::{Aim, Attempt, Control, Kind, Need, Sign, What};

const SECRET: Sign = Sign::Says(What::Secret);

pub(super) const ATTEMPTS: &[Attempt] = &[
    Attempt::new("variables of another process", Kind::Bare, Aim::Namespaces, SECRET, r"
tell(open('/proc/%d/environ' % at['victim'], 'rb').read())"),
    Attempt::new("words of another process", Kind::Bare, Aim::Namespaces, SECRET, r"
tell(open('/proc/%d/cmdline' % at['victim'], 'rb').read())"),
    Attempt::new("what another process has open", Kind::Bare, Aim::Namespaces, SECRET, r"
tell(open('/proc/%d/fd/9' % at['victim']).read())"),
    Attempt::new("where another process stands", Kind::Bare, Aim::Namespaces, SECRET, r"
tell(open('/proc/%d/cwd/secret.txt' % at['victim']).read())"),
    Attempt::new("memory of another process", Kind::Bare, Aim::Namespaces, SECRET, r"
place = int(open('/proc/%d/stat' % at['victim']).read().rsplit(')', 1)[1].split()[47])
memory = os.open('/proc/%d/mem' % at['victim'], os.O_RDONLY)
tell(os.pread(memory, 600, place))")
        .needs(&[Need::Root]),
    Attempt::new("memory of another process, by a call", Kind::Bare, Aim::Seccomp, SECRET, r"
place = int(open('/proc/%d/stat' % at['victim']).read().rsplit(')', 1)[1].split()[47])
buffer = ctypes.create_string_buffer(600)
call(310, at['victim'], (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), 600), 1, (ctypes.c_uint64 * 2)(place, 600), 1, 0)
tell(buffer.raw)")
        .needs(&[Need::Root, Need::X86]),
    Attempt::new("a descriptor of another process", Kind::Bare, Aim::Seccomp, SECRET, r"
got = call(438, call(434, at['victim'], 0), 9, 0)
tell(os.pread(got, 200, 0))")
        .needs(&[Need::Root]),
    Attempt::new("which processes there are", Kind::Bare, Aim::Namespaces, Sign::Says(What::Session), r"
tell('session %d' % os.getsid(at['victim']))"),
    Attempt::new("kill another process", Kind::Bare, Aim::Namespaces, Sign::Victim, r"
os.kill(at['victim'], 9)
hold(0.1)"),
    Attempt::new("stop another process, by a descriptor", Kind::Bare, Aim::Namespaces, Sign::Victim, r"
call(424, call(434, at['victim'], 0), 19, 0, 0)
hold(0.1)"),
    Attempt::new("signal all processes", Kind::Bare, Aim::Namespaces, Sign::Victim, r"
import signal
signal.signal(signal.SIGURG, signal.SIG_IGN)
os.kill(-1, signal.SIGURG)
hold(0.3)"),
    Attempt::new("a signal that the kernel sends", Kind::Bare, Aim::Namespaces, Sign::Victim, r"
import fcntl, socket
ours, theirs = socket.socketpair()
fcntl.fcntl(ours, fcntl.F_SETOWN, at['victim'])
fcntl.fcntl(ours, 10, 23)
fcntl.fcntl(ours, fcntl.F_SETFL, fcntl.fcntl(ours, fcntl.F_GETFL) | os.O_ASYNC)
theirs.send(b'x')
hold(0.3)"),
    Attempt::new("limits of another process", Kind::Bare, Aim::Namespaces, Sign::Victim, r"
import resource
resource.prlimit(at['victim'], resource.RLIMIT_NOFILE, (33, 33))"),
    Attempt::new("a lower priority of another process", Kind::Bare, Aim::Namespaces, Sign::Victim, r"
os.setpriority(os.PRIO_PROCESS, at['victim'], 7)"),
    Attempt::new("the next to die when memory ends", Kind::Bare, Aim::Namespaces, Sign::Victim, r"
open('/proc/%d/oom_score_adj' % at['victim'], 'w').write('777')"),
    Attempt::new("the parent, stopped", Kind::Brief, Aim::Namespaces, Sign::ParentStopped, r"
parent = os.getppid()
if parent > 0: os.kill(parent, 19)
hold()"),
    Attempt::new("a life without the parent", Kind::Bare, Aim::TreeKill, Sign::Alive, r"
import signal
if libc.prctl(1, 0) != 0: raise OSError('still tied')
if os.getppid() > 0: os.kill(os.getppid(), 9)
hold(3)"),
    Attempt::new("a daemon", Kind::Bare, Aim::TreeKill, Sign::Alive, r"
if os.fork() == 0:
    try: os.setsid()
    except OSError: pass
    if os.fork() == 0:
        import signal
        for number in range(1, 65):
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        for fd in range(256):
            try: os.close(fd)
            except OSError: pass
        time.sleep(5)
    os._exit(0)
os.wait()
hold(0.1)")
        .control(Control::Bare),
    Attempt::new("four hundred processes", Kind::Bare, Aim::Limits, Sign::Tasks(80), r"
started = 0
for number in range(400):
    if os.fork() == 0:
        time.sleep(2.2)
        os._exit(0)
    started += 1
tell(started)
hold(2)")
        .control(Control::Bare),
    Attempt::new("forks that fork", Kind::Bare, Aim::Limits, Sign::Tasks(80), r"
first = os.getpid()
for depth in range(9):
    try: os.fork()
    except OSError: pass
time.sleep(2)
if os.getpid() != first: os._exit(0)")
        .control(Control::Bare),
    Attempt::new("four hundred threads", Kind::Bare, Aim::Limits, Sign::Tasks(80), r"
import _thread
_thread.stack_size(1 << 16)
for number in range(400): _thread.start_new_thread(time.sleep, (2.2,))
hold(2)")
        .control(Control::Bare),
];
