//! Objects and states of the kernel that no executor has a use for. Numbers of calls are those of x86-64.

use crate::attempt::{Aim, Attempt, Control, Kind, Need, Sign};

/// A program of 64 bits that waits 0.4 s and ends, for machines that run x86-64.
macro_rules! with_program {
    ($rest:literal) => {
        concat!(
            r"
code = bytes.fromhex('b807000000 31ff 31f6 ba90010000 0f05 b83c000000 31ff 0f05')
start = 0x400078
elf = (b'\x7fELF\x02\x01\x01' + bytes(9) + (2).to_bytes(2, 'little') + (62).to_bytes(2, 'little') + (1).to_bytes(4, 'little')
    + start.to_bytes(8, 'little') + (64).to_bytes(8, 'little') + bytes(12) + b'\x40\x00\x38\x00\x01\x00\x00\x00\x00\x00\x00\x00'
    + (1).to_bytes(4, 'little') + (5).to_bytes(4, 'little') + bytes(8) + (0x400000).to_bytes(8, 'little') * 2
    + (120 + len(code)).to_bytes(8, 'little') * 2 + (4096).to_bytes(8, 'little') + code)
",
            $rest
        )
    };
}

pub(super) const ATTEMPTS: &[Attempt] = &[
    Attempt::new(
        "a ring",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Holds("anon_inode:[io_uring]"),
        r"
show(call(425, 4, ctypes.create_string_buffer(120)))",
    )
    .needs(&[Need::X86, Need::Rings])
    .control(Control::Bare),
    Attempt::new(
        "a map of bpf",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Holds("anon_inode:bpf-map"),
        r"
show(call(321, 0, (ctypes.c_uint32 * 20)(2, 4, 4, 1), 80))",
    )
    .needs(&[Need::Root, Need::X86]),
    Attempt::new(
        "a performance counter",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Holds("anon_inode:[perf_event]"),
        r"
show(call(298, (ctypes.c_uint32 * 32)(1, 128), 0, -1, -1, 0))",
    )
    .needs(&[Need::Root, Need::X86]),
    Attempt::new(
        "faults of its own",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Holds("anon_inode:[userfaultfd]"),
        r"
show(call(323, 1))",
    )
    .needs(&[Need::X86]),
    Attempt::new(
        "a watch over all files",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Holds("anon_inode:[fanotify]"),
        r"
show(call(300, 0, 0))",
    )
    .needs(&[Need::Root, Need::X86]),
    Attempt::new(
        "memory that is a file",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Holds("rw file /memfd:"),
        r"
show(os.memfd_create('x'))",
    ),
    Attempt::new(
        "a program out of memory",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Program("/memfd:x"),
        with_program!(
            r"
fd = os.memfd_create('x')
os.write(fd, elf)
call(322, fd, b'', (ctypes.c_char_p * 2)(mark.encode(), None), (ctypes.c_char_p * 1)(None), 0x1000)"
        ),
    )
    .needs(&[Need::X86]),
    Attempt::new(
        "a program out of the stage",
        Kind::Bare,
        Aim::NoExec,
        Sign::Program("/own"),
        with_program!(
            r"
with open(ctx.stage + '/own', 'wb') as file: file.write(elf)
try: os.chmod(ctx.stage + '/own', 0o700)
except OSError: file = os.open(ctx.stage + '/own', os.O_WRONLY | os.O_CREAT, 0o700)
os.execv(ctx.stage + '/own', [mark])"
        ),
    )
    .needs(&[Need::X86]),
    Attempt::new(
        "a program out of a granted folder",
        Kind::Home,
        Aim::NoExec,
        Sign::Program("/tool"),
        r"
os.execv(root + '/files/tool', [mark, '0.4'])",
    ),
    Attempt::new(
        "a program of the machine",
        Kind::Bare,
        Aim::NoExec,
        Sign::Program("/sleep"),
        r"
os.execv('/usr/bin/sleep', [mark, '0.4'])",
    )
    .needs(&[Need::Exists("/usr/bin/sleep")]),
    Attempt::new(
        "a key that outlives the call",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Keys,
        r"
key = call(248, b'user', mark.encode(), b'x', 1, -4)
hold()
call(250, 21, key)
",
    )
    .needs(&[Need::X86, Need::Exists("/proc/key-users")]),
    Attempt::new(
        "shared memory of the host",
        Kind::Bare,
        Aim::Seccomp,
        Sign::SharedMemory,
        r"
segment = call(29, at['key'], 4096, 0o1600)
hold()
call(31, segment, 0, 0)
",
    )
    .needs(&[Need::X86]),
    Attempt::new(
        "a tracer",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Traced,
        r"
call(101, 0, 0, 0, 0)
hold()",
    )
    .needs(&[Need::X86]),
    Attempt::new(
        "another personality",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Personality,
        r"
call(135, 0x0040000)
hold()",
    )
    .needs(&[Need::X86]),
    Attempt::new(
        "a user namespace of its own",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Namespaces,
        r"
hold(0.1)
call(272, 0x10000000 | 0x20000)
try: open('/proc/self/uid_map', 'w').write('0 %d 1' % os.getuid())
except OSError as error: tell(error)
hold()",
    )
    .needs(&[Need::X86, Need::UserNamespaces]),
    Attempt::new(
        "a child in a user namespace",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Namespaces,
        r"
hold(0.1)
pid = call(56, 0x10000000 | 17, 0, 0, 0, 0)
hold()
if pid == 0: os._exit(0)
os.waitpid(pid, 0)",
    )
    .needs(&[Need::X86, Need::UserNamespaces]),
    Attempt::new(
        "a child in a user namespace, by clone3",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Namespaces,
        r"
hold(0.1)
pid = call(435, (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17), 88)
hold()
if pid == 0: os._exit(0)
os.waitpid(pid, 0)",
    )
    .needs(&[Need::X86, Need::UserNamespaces]),
    Attempt::new(
        "mounts of its own",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Namespaces,
        r"
hold(0.1)
call(272, 0x20000)
hold()",
    )
    .needs(&[Need::Root, Need::X86]),
    Attempt::new(
        "a network of its own",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Namespaces,
        r"
hold(0.1)
call(272, 0x40000000)
hold()",
    )
    .needs(&[Need::Root, Need::X86]),
    Attempt::new(
        "a file system of its own",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Holds("anon_inode:[fscontext]"),
        r"
show(call(430, b'tmpfs', 0))",
    )
    .needs(&[Need::Root, Need::X86]),
    Attempt::new(
        "another root",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Root,
        r"
hold(0.1)
os.chroot(ctx.stage)
hold()",
    )
    .needs(&[Need::Root]),
    Attempt::new(
        "capabilities",
        Kind::Bare,
        Aim::Capabilities,
        Sign::Capable,
        r"
head, all = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[0xffffffff] * 6)
for change in (lambda: call(126, head, all), lambda: os.setuid(0)):
    try: change()
    except OSError as error: tell(error)
hold()",
    )
    .needs(&[Need::Root, Need::X86]),
    Attempt::new(
        "the machine's name",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Claims,
        r"
import socket
name = os.uname().nodename.encode()
call(170, name, len(name))
tell('claims')",
    )
    .needs(&[Need::Root, Need::X86]),
    Attempt::new(
        "the machine's clock",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Claims,
        r"
state = (ctypes.c_uint64 * 26)()
call(159, state)
state[0] = 2
call(159, state)
tell('claims')",
    )
    .needs(&[Need::Root, Need::X86]),
    Attempt::new(
        "calls of the x32 ABI",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Holds("rw socket"),
        r"
show(call(0x40000000 + 41, 2, 1, 0))",
    )
    .needs(&[Need::X32]),
    Attempt::new(
        "calls of 32 bits",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Holds("rw socket"),
        r"
import mmap
page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex('53 b867010000 bb02000000 b901000000 31d2 cd80 5b c3'))
fd = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
tell(fd)
show(fd)",
    )
    .needs(&[Need::Int80]),
    Attempt::new(
        "core dumps",
        Kind::Bare,
        Aim::Limits,
        Sign::Unlimited("Max core file size"),
        r"
import resource
resource.setrlimit(resource.RLIMIT_CORE, (-1, -1))
hold()",
    )
    .control(Control::Bare),
    Attempt::new(
        "no limit of memory",
        Kind::Bare,
        Aim::Limits,
        Sign::Unlimited("Max data size"),
        r"
import resource
resource.setrlimit(resource.RLIMIT_DATA, (-1, -1))
hold()",
    )
    .control(Control::Bare),
    Attempt::new(
        "no limit of time",
        Kind::Bare,
        Aim::Limits,
        Sign::Unlimited("Max cpu time"),
        r"
import resource
resource.setrlimit(resource.RLIMIT_CPU, (-1, -1))
hold()",
    )
    .control(Control::Bare),
];
