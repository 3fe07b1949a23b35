//! Reading what was not granted.

use crate::attempt::{Aim, Attempt, Control, Kind, Need, Sign, What};

const SECRET: Sign = Sign::Says(What::Secret);

pub(super) const ATTEMPTS: &[Attempt] = &[
    Attempt::new(
        "ssh key below a granted home",
        Kind::Home,
        Aim::Masks,
        SECRET,
        "tell(open(root + '/.ssh/id_ed25519').read())",
    ),
    Attempt::new(
        "ssh key in a backup deep below a granted home",
        Kind::Home,
        Aim::Masks,
        SECRET,
        "tell(open(root + '/files/old/backup/.ssh/id_rsa').read())",
    ),
    Attempt::new(
        "credentials, browser profile and shell history",
        Kind::Home,
        Aim::Masks,
        SECRET,
        r"
for name in ('.aws/credentials', '.bash_history', '.config/gh/credentials.json', '.mozilla/firefox/logins.json'):
    try: tell(open(root + '/' + name).read())
    except OSError as error: tell(error)",
    ),
    Attempt::new(
        "what the capability excepts",
        Kind::Home,
        Aim::Masks,
        SECRET,
        "tell(open(root + '/private/diary.txt').read())",
    ),
    Attempt::new(
        "what the capability excepts, by its second name",
        Kind::Home,
        Aim::Masks,
        SECRET,
        "tell(open(root + '/files/old/journal').read())",
    ),
    Attempt::new(
        "ssh key by its second name",
        Kind::Home,
        Aim::Masks,
        SECRET,
        "tell(open(root + '/files/old/spare').read())",
    ),
    Attempt::new(
        "ssh key that lies deep in the home, by its second name",
        Kind::Home,
        Aim::Masks,
        SECRET,
        "tell(open(root + '/files/deep').read())",
    ),
    Attempt::new(
        "size of what the capability excepts",
        Kind::Home,
        Aim::Masks,
        Sign::Says(What::Size),
        "tell(os.stat(root + '/private/sized').st_size)",
    ),
    Attempt::new(
        "the instance's configuration",
        Kind::Home,
        Aim::Masks,
        SECRET,
        "tell(open(root + '/metnos/config/escape').read())",
    ),
    Attempt::new(
        "the instance's log",
        Kind::Home,
        Aim::Masks,
        Sign::Says(What::LogHead),
        "tell(open(root + '/metnos/data/log/events.redb', 'rb').read(9).hex())",
    ),
    Attempt::new(
        "the instance's exported audit",
        Kind::Home,
        Aim::Masks,
        SECRET,
        "tell(open(root + '/metnos/workspace/.audit/escape').read())",
    ),
    Attempt::new(
        "a mask, unmounted",
        Kind::Home,
        Aim::Masks,
        SECRET,
        r"
libc.umount2((root + '/.ssh').encode(), 2)
tell(open(root + '/.ssh/id_ed25519').read())",
    ),
    Attempt::new(
        "a hard link to what is masked",
        Kind::Home,
        Aim::Masks,
        SECRET,
        r"
os.link(root + '/.ssh/id_ed25519', ctx.stage + '/own')
tell(open(ctx.stage + '/own').read())",
    ),
    Attempt::new(
        "the folder of a mask, renamed",
        Kind::Home,
        Aim::Masks,
        SECRET,
        r"
os.rename(root + '/files/old', root + '/files/new')
tell(open(root + '/files/new/backup/.ssh/id_rsa').read())",
    ),
    Attempt::new(
        "masked files through the folder's own descriptor",
        Kind::Home,
        Aim::Masks,
        SECRET,
        r"
home = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
below = os.open('.ssh', os.O_PATH | os.O_DIRECTORY, dir_fd=home)
again = os.open('/proc/self/fd/%d' % below, os.O_RDONLY)
tell(os.read(os.open('id_ed25519', os.O_RDONLY, dir_fd=again), 200))",
    ),
    Attempt::new(
        "a file by its name",
        Kind::Bare,
        Aim::PrivateRoot,
        SECRET,
        "tell(open(outside + '/secret.txt').read())",
    ),
    Attempt::new(
        "a file by going up",
        Kind::Bare,
        Aim::PrivateRoot,
        SECRET,
        "tell(open(ctx.stage + '/..' * 40 + outside + '/secret.txt').read())",
    ),
    Attempt::new(
        "a file through a link in the stage",
        Kind::Bare,
        Aim::PrivateRoot,
        SECRET,
        r"
os.symlink(outside, ctx.stage + '/way')
tell(open(ctx.stage + '/way/secret.txt').read())",
    ),
    Attempt::new(
        "a file through the root of a process",
        Kind::Bare,
        Aim::PrivateRoot,
        SECRET,
        r"
for pid in ('1', 'self', os.getppid()):
    for way in ('root', 'cwd/../../../../../../../..'):
        try: tell(open('/proc/%s/%s%s/secret.txt' % (pid, way, outside)).read())
        except OSError as error: tell(error)",
    ),
    Attempt::new(
        "a file beside a named folder",
        Kind::Named,
        Aim::PrivateRoot,
        SECRET,
        r"
folder = os.open(args['paths'][0], os.O_RDONLY | os.O_DIRECTORY)
tell(os.read(os.open('../../private/diary.txt', os.O_RDONLY, dir_fd=folder), 200))",
    ),
    Attempt::new(
        "names and sizes elsewhere",
        Kind::Bare,
        Aim::PrivateRoot,
        Sign::Says(What::Size),
        "tell(os.stat(outside + '/sized').st_size)",
    ),
    Attempt::new(
        "the machine's accounts",
        Kind::Bare,
        Aim::PrivateRoot,
        Sign::Says(What::FirstLine("/etc/passwd")),
        "tell(open('/etc/passwd').readline())",
    ),
    Attempt::new(
        "the machine's passwords",
        Kind::Bare,
        Aim::PrivateRoot,
        Sign::Says(What::FirstLine("/etc/shadow")),
        "tell(open('/etc/shadow').readline())",
    )
    .needs(&[Need::Root]),
    Attempt::new(
        "a file by its handle",
        Kind::Named,
        Aim::Seccomp,
        SECRET,
        r"
near = os.open(args['paths'][0], os.O_RDONLY)
handle = (ctypes.c_uint32 * 4)(8, 1, 2, 0)
top = call(304, near, handle, os.O_RDONLY)
tell(os.read(os.open(outside[1:] + '/secret.txt', os.O_RDONLY, dir_fd=top), 200))",
    )
    .needs(&[Need::Root, Need::X86, Need::Handles]),
    Attempt::new(
        "descriptors that the parent left open",
        Kind::Bare,
        Aim::Inheritance,
        SECRET,
        r"
for fd in range(3, 256):
    for way in (lambda: os.pread(fd, 200, 0), lambda: os.pread(os.open('/proc/self/fd/%d' % fd, os.O_RDONLY), 200, 0)):
        try:
            if os.fstat(fd).st_mode & 0o170000 == 0o100000: tell(way())
        except OSError: pass",
    )
    .control(Control::Bare),
    Attempt::new(
        "the parent's standard input",
        Kind::Bare,
        Aim::Inheritance,
        SECRET,
        r"
os.lseek(0, 0, 0)
tell(os.read(0, 200))",
    )
    .control(Control::Bare),
    Attempt::new("variables of the parent", Kind::Bare, Aim::Inheritance, SECRET, "tell(dict(os.environ))")
        .control(Control::Bare),
    Attempt::new(
        "variables of whoever stands above",
        Kind::Bare,
        Aim::Namespaces,
        SECRET,
        r"
pid = os.getppid()
while pid > 0:
    try: tell(open('/proc/%d/environ' % pid, 'rb').read())
    except OSError as error: tell(error)
    pid = int(open('/proc/%d/stat' % pid).read().rsplit(')', 1)[1].split()[1])",
    ),
    Attempt::new(
        "a block device",
        Kind::Bare,
        Aim::PrivateRoot,
        Sign::Holds("r block"),
        r"
for name in sorted(os.listdir('/dev')):
    if os.path.exists('/dev/' + name) and os.stat('/dev/' + name).st_mode & 0o170000 == 0o060000:
        show(os.open('/dev/' + name, os.O_RDONLY))
        break",
    )
    .needs(&[Need::Root, Need::BlockDevice]),
    Attempt::new(
        "the kernel's messages",
        Kind::Bare,
        Aim::PrivateRoot,
        Sign::Holds("r char /dev/kmsg"),
        "show(os.open('/dev/kmsg', os.O_RDONLY | os.O_NONBLOCK))",
    )
    .needs(&[Need::Root, Need::Exists("/dev/kmsg")]),
    Attempt::new(
        "the machine's devices by /sys",
        Kind::Bare,
        Aim::PrivateRoot,
        Sign::Holds("r file /sys/"),
        "show(os.open('/sys/devices/system/cpu/online', os.O_RDONLY))",
    )
    .needs(&[Need::Exists("/sys/devices/system/cpu/online")]),
];
