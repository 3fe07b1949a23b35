//! Changing what was granted for reading only, or not at all. No control changes anything but canaries of the test: of the
//! machine's own files it only opens what could be written.

use crate::attempt::{Aim, Attempt, Kind, Need, Sign, What};

const SHARED: Sign = Sign::Touched("files/shared");

pub(super) const ATTEMPTS: &[Attempt] = &[
    Attempt::new(
        "append to a file for reading",
        Kind::Named,
        Aim::ReadOnlyMounts,
        SHARED,
        "open(args['paths'][0] + '/note', 'a').write('x')",
    ),
    Attempt::new(
        "delete a file for reading",
        Kind::Named,
        Aim::ReadOnlyMounts,
        SHARED,
        "os.remove(args['paths'][0] + '/note')",
    ),
    Attempt::new(
        "open a file for reading to all",
        Kind::Named,
        Aim::ReadOnlyMounts,
        SHARED,
        "os.chmod(args['paths'][0] + '/note', 0o666)",
    ),
    Attempt::new(
        "turn a file's clock back",
        Kind::Named,
        Aim::ReadOnlyMounts,
        SHARED,
        "os.utime(args['paths'][0] + '/note', (1, 1))",
    ),
    Attempt::new(
        "a descriptor opened anew for writing",
        Kind::Named,
        Aim::ReadOnlyMounts,
        SHARED,
        r"
fd = os.open(args['paths'][0] + '/note', os.O_RDONLY)
os.write(os.open('/proc/self/fd/%d' % fd, os.O_WRONLY | os.O_APPEND), b'x')",
    ),
    Attempt::new(
        "write through a hard link in the stage",
        Kind::Named,
        Aim::ReadOnlyMounts,
        SHARED,
        r"
os.link(args['paths'][0] + '/note', ctx.stage + '/own')
open(ctx.stage + '/own', 'a').write('x')",
    ),
    Attempt::new(
        "move a file for reading into the stage",
        Kind::Named,
        Aim::ReadOnlyMounts,
        SHARED,
        "os.rename(args['paths'][0] + '/note', ctx.stage + '/own')",
    ),
    Attempt::new(
        "make the mount writable again",
        Kind::Named,
        Aim::Seccomp,
        SHARED,
        r"
libc.mount(None, args['paths'][0].encode(), None, 32 | 4096, None)
try: call(442, -100, args['paths'][0].encode(), 0, (ctypes.c_uint64 * 4)(0, 1, 0, 0), 32)
except OSError as error: tell(error)
open(args['paths'][0] + '/more', 'w').write('x')",
    ),
    Attempt::new(
        "a folder exchanged for a link meanwhile",
        Kind::Named,
        Aim::PrivateRoot,
        Sign::Says(What::Secret),
        r"
hold(0.5)
tell(os.listdir(args['paths'][0]))
tell(open(args['paths'][0] + '/secret.txt').read())",
    )
    .exchanging(),
    Attempt::new(
        "a file elsewhere, written",
        Kind::Bare,
        Aim::PrivateRoot,
        Sign::Touched("outside"),
        "open(outside + '/new', 'w').write('x')",
    ),
    Attempt::new(
        "mode and times of a file elsewhere",
        Kind::Bare,
        Aim::PrivateRoot,
        Sign::Touched("outside"),
        r"
file = outside + '/secret.txt'
for change in (lambda: os.chmod(file, 0o666), lambda: os.utime(file, (1, 1)), lambda: os.chmod(outside, 0o777)):
    try: change()
    except OSError as error: tell(error)",
    ),
    Attempt::new(
        "truncate a file elsewhere",
        Kind::Bare,
        Aim::PrivateRoot,
        Sign::Touched("outside"),
        "os.truncate(outside + '/secret.txt', 0)",
    ),
    Attempt::new(
        "an executor planted in the instance",
        Kind::Home,
        Aim::ReadOnlyMounts,
        Sign::Touched("metnos/workspace/executors"),
        "open(root + '/metnos/workspace/executors/escape', 'w').write('x')",
    ),
    Attempt::new(
        "the instance configured",
        Kind::Home,
        Aim::Masks,
        Sign::Touched("metnos/config"),
        "open(root + '/metnos/config/planted', 'w').write('x')",
    ),
    Attempt::new(
        "a start file planted in a granted home",
        Kind::Home,
        Aim::ReadOnlyMounts,
        Sign::Touched(".profile"),
        "open(root + '/.profile', 'a').write('x')",
    ),
    Attempt::new(
        "a library that the next call imports",
        Kind::Bare,
        Aim::ReadOnlyMounts,
        Sign::Holds("rw file"),
        "show(os.open(os.__file__, os.O_RDWR))",
    )
    .needs(&[Need::Root]),
    Attempt::new(
        "a file beside the libraries",
        Kind::Bare,
        Aim::ReadOnlyMounts,
        Sign::Holds("rw file"),
        "show(os.open(os.path.dirname(os.__file__), os.O_TMPFILE | os.O_RDWR, 0o600))",
    )
    .needs(&[Need::Root]),
    Attempt::new(
        "the loader's index",
        Kind::Bare,
        Aim::ReadOnlyMounts,
        Sign::Holds("rw file"),
        "show(os.open('/etc/ld.so.cache', os.O_RDWR))",
    )
    .needs(&[Need::Root, Need::Exists("/etc/ld.so.cache")]),
    Attempt::new(
        "the host's shared memory",
        Kind::Bare,
        Aim::PrivateRoot,
        Sign::Holds("rw file /dev/shm"),
        "show(os.open('/dev/shm', os.O_TMPFILE | os.O_RDWR, 0o600))",
    )
    .needs(&[Need::Exists("/dev/shm")]),
    Attempt::new(
        "a setting of the kernel",
        Kind::Bare,
        Aim::PrivateRoot,
        Sign::Holds("w file /proc/sys/"),
        "show(os.open('/proc/sys/kernel/hostname', os.O_WRONLY))",
    )
    .needs(&[Need::Root]),
    Attempt::new(
        "a device node of one's own",
        Kind::Bare,
        Aim::Capabilities,
        Sign::Holds("r block"),
        r"
os.mknod(ctx.stage + '/disk', 0o600 | 0o060000, at['disk'])
show(os.open(ctx.stage + '/disk', os.O_RDONLY))",
    )
    .needs(&[Need::Root, Need::BlockDevice]),
];
