//! Executors that act: what they stage, what they write by themselves, what they start.

use crate::attempt::{Aim, Attempt, Control, Kind, Need, Sign, What};

/// What the effect says that the other staging attempts have in common.
macro_rules! staging {
    ($body:literal) => {
        concat!(
            $body,
            r"

reply['effects'] = [{'op': 'write', 'path': args['path'], 'from': name}]
reply.update(results=[], ok_count=1, fail_count=0)"
        )
    };
}

const STAGED: Control = Control::Within(Sign::Committed);

pub(super) const ATTEMPTS: &[Attempt] = &[
    Attempt::new(
        "a link in the stage, to be committed",
        Kind::Staged,
        Aim::Stage,
        Sign::Committed,
        staging!(
            r"
name = 'own'
if small: open(ctx.stage + '/own', 'w').write('staged')
else: os.symlink(outside + '/secret.txt', ctx.stage + '/own')"
        ),
    )
    .control(STAGED),
    Attempt::new(
        "a folder of the stage that is a link",
        Kind::Staged,
        Aim::Stage,
        Sign::Committed,
        staging!(
            r"
name = 'way/secret.txt'
if small:
    os.mkdir(ctx.stage + '/way')
    open(ctx.stage + '/way/secret.txt', 'w').write('staged')
else: os.symlink(outside, ctx.stage + '/way')"
        ),
    )
    .control(STAGED),
    Attempt::new(
        "a staged name that goes up",
        Kind::Staged,
        Aim::Stage,
        Sign::Committed,
        staging!(
            r"
name = 'own' if small else '../' * 40 + outside[1:] + '/secret.txt'
if small: open(ctx.stage + '/own', 'w').write('staged')"
        ),
    )
    .control(STAGED),
    Attempt::new(
        "a staged name that is a whole path",
        Kind::Staged,
        Aim::Stage,
        Sign::Committed,
        staging!(
            r"
name = 'own' if small else outside + '/secret.txt'
if small: open(ctx.stage + '/own', 'w').write('staged')"
        ),
    )
    .control(STAGED),
    Attempt::new(
        "a hard link in the stage, to be committed",
        Kind::Staged,
        Aim::PrivateRoot,
        Sign::Committed,
        staging!(
            r"
name = 'own'
os.link(outside + '/secret.txt', ctx.stage + '/own')"
        ),
    ),
    Attempt::new(
        "a pipe in the stage that nobody feeds",
        Kind::Staged,
        Aim::Stage,
        Sign::Slow(10),
        staging!(
            r"
name = 'own'
if small: open(ctx.stage + '/own', 'w').write('staged')
else: os.mkfifo(ctx.stage + '/own')"
        ),
    )
    .control(STAGED),
    Attempt::new(
        "a program that anybody runs as its owner",
        Kind::Outbox,
        Aim::Seccomp,
        Sign::Special,
        r"
path = root + '/files/outbox/own'
open(path, 'w').write('x')
unnamed = lambda: os.open(os.path.dirname(path), os.O_TMPFILE | os.O_RDWR, 0o4755)
name, makes = path.encode(), os.O_CREAT | os.O_WRONLY
os.umask(0)
ways = [
    lambda: os.chmod(path, 0o4755),
    lambda: os.fchmod(os.open(path, os.O_RDONLY), 0o2755),
    lambda: call(268, -100, name, 0o4755),
    lambda: call(452, -100, name, 0o4755, 0),
    lambda: os.open(path + '2', makes, 0o4755),
    lambda: call(2, name + b'3', makes, 0o2755),
    lambda: call(85, name + b'4', 0o4755),
    lambda: call(437, -100, name + b'5', (ctypes.c_uint64 * 3)(makes, 0o4755, 0), 24),
    lambda: os.mknod(path + '6', 0o104755),
    lambda: os.link('/proc/self/fd/%d' % unnamed(), path + '7', follow_symlinks=True),
]
for way in ways:
    try: way()
    except OSError as error: tell(error)",
    )
    .needs(&[Need::X86]),
    Attempt::new(
        "a device in a folder for writing",
        Kind::Outbox,
        Aim::Capabilities,
        Sign::Special,
        r"
os.mknod(root + '/files/outbox/own', 0o060666, at['disk'])",
    )
    .needs(&[Need::Root, Need::BlockDevice]),
    Attempt::new(
        "out of a folder for writing by a link",
        Kind::Outbox,
        Aim::PrivateRoot,
        Sign::Touched("outside"),
        r"
os.symlink(outside, root + '/files/outbox/way')
open(root + '/files/outbox/way/new', 'w').write('x')",
    ),
    Attempt::new(
        "out of a folder for writing by a move",
        Kind::Outbox,
        Aim::PrivateRoot,
        Sign::Touched("files/shared"),
        r"
open(root + '/files/outbox/own', 'w').write('x')
os.rename(root + '/files/outbox/own', root + '/files/shared/own')",
    ),
    Attempt::new(
        "the folder for writing itself, moved",
        Kind::Outbox,
        Aim::ReadOnlyMounts,
        Sign::Touched("files"),
        r"
os.rename(root + '/files/outbox', root + '/files/elsewhere')",
    ),
    Attempt::new(
        "a program of the home, beside the listed one",
        Kind::Exec,
        Aim::PrivateRoot,
        Sign::Program("/tool"),
        r"
if os.fork() == 0: os.execv(root + '/files/tool', [mark, '0.4'])
hold(0.5)",
    ),
    Attempt::new(
        "a shell, beside the listed program",
        Kind::Exec,
        Aim::PrivateRoot,
        Sign::Program("sh"),
        r"
if os.fork() == 0: os.execv('/bin/sh', [mark, '-c', 'sleep 0.4; :'])
hold(0.5)",
    ),
    Attempt::new(
        "a secret, by a program that may be started",
        Kind::Exec,
        Aim::PrivateRoot,
        Sign::Says(What::Secret),
        r"
import subprocess
for words in (['true'], ['cat', outside + '/secret.txt']):
    try: tell(subprocess.run(words, capture_output=True, env={'PATH': '/usr/bin:/bin'}).stdout)
    except OSError as error: tell(error)",
    ),
    Attempt::new(
        "a daemon of a listed program's executor",
        Kind::Exec,
        Aim::TreeKill,
        Sign::Alive,
        r"
if os.fork() == 0:
    try: os.setsid()
    except OSError: pass
    if os.fork() == 0: time.sleep(5)
    os._exit(0)
os.wait()
hold(0.1)",
    )
    .control(Control::Bare),
];
