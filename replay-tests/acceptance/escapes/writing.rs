//! Getting further from a folder that may be changed: files that run as their owner, what is masked below it, what lies beside.

use std::os::unix::fs::PermissionsExt;

use metnos::sandbox::{Backend, Grant, Layer};
use serde_json::json;

use super::{attack, check, escaped};
use crate::support::{Bench, caged, grant};

/// Each tries to leave a file in the folder that runs as its owner: by setting the mode, by making the file with it, by making
/// it without a name, by making no plain file, by calls that libraries do not use.
const SET_ID: &str = "
import ctypes
folder, tried = args['folder'], []
def chmod(path):
    open(path, 'w').close(); os.chmod(path, 0o4755)
def of_group(path):
    open(path, 'w').close(); os.chmod(path, 0o2755)
def by_descriptor(path):
    fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o755); os.fchmod(fd, 0o6755)
def at_birth(path):
    os.umask(0); os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o4755))
def without_a_name(path):
    os.umask(0)
    fd = os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o4755)
    os.link('/proc/self/fd/%d' % fd, path, src_dir_fd=None, follow_symlinks=True)
def as_a_node(path):
    os.umask(0); os.mknod(path, 0o104755)
def by_openat2(path):
    os.umask(0)
    how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, 0o4755, 0)
    ctypes.CDLL(None).syscall(437, -100, path.encode(), how, 24)
def by_fchmodat2(path):
    open(path, 'w').close(); ctypes.CDLL(None).syscall(452, -100, path.encode(), 0o4755, 0)
for way in (chmod, of_group, by_descriptor, at_birth, without_a_name, as_a_node, by_openat2, by_fchmodat2):
    path = folder + '/' + way.__name__
    try: way(path)
    except OSError: pass
    try: tried += [way.__name__] if os.stat(path).st_mode & 0o6000 else []
    except OSError: pass
escaped = len(tried) >= args['least']
why = ' '.join(tried)
";

#[test]
fn files_that_run_as_their_owner() {
    for backend in caged().into_iter().filter(|backend| *backend != Backend::Landlock) {
        let run = |bench: &Bench, least: usize| {
            let folder = bench.path("work");
            std::fs::create_dir(&folder).unwrap();
            let outcome =
                bench.run_with(&attack(SET_ID), json!({"folder": folder, "least": least}), vec![grant(&folder, true)]);
            let modes = std::fs::read_dir(&folder).unwrap().flatten();
            let marked = modes.filter(|entry| entry.metadata().unwrap().permissions().mode() & 0o6000 != 0).count();
            (outcome, marked)
        };
        // A way that this kernel lacks proves nothing; most of them must be there.
        let (control, marked) = run(&Bench::open(backend, &[Layer::Seccomp]), 6);
        assert!(escaped(&control) && marked >= 6, "{backend:?}: {marked} {:?}", control.reply);
        let (caged, marked) = run(&Bench::open(backend, &[]), 1);
        check(backend.name(), &control, &caged);
        assert_eq!(marked, 0, "{backend:?}: {:?}", caged.reply);
    }
}

/// A folder to change, with a part that must stay hidden.
fn folder_with_a_mask(bench: &Bench, masked: bool) -> Grant {
    let folder = bench.path("work");
    std::fs::create_dir_all(folder.join("deep/.ssh")).unwrap();
    std::fs::write(folder.join("deep/.ssh/id"), "SECRET").unwrap();
    std::fs::create_dir_all(folder.join("deep/er/.kube")).unwrap();
    std::fs::write(folder.join("deep/er/.kube/config"), "SECRET").unwrap();
    std::fs::write(bench.path("beside"), "SECRET").unwrap();
    let hidden = ["deep/.ssh", "deep/er/.kube/config"].map(|name| folder.join(name));
    let masks = if masked { hidden.to_vec() } else { Vec::new() };
    Grant { masks, ..grant(&folder, true) }
}

#[test]
fn what_is_masked_below_it() {
    let ways = [
        ("reading", "escaped = 'SECRET' in open(args['folder'] + '/deep/.ssh/id').read()"),
        (
            "moving what holds it",
            "os.rename(args['folder'] + '/deep', args['folder'] + '/other')\nescaped = 'SECRET' in open(args['folder'] + '/other/.ssh/id').read()",
        ),
        (
            "moving what holds it, for the next call",
            "os.rename(args['folder'] + '/deep/er/.kube', args['folder'] + '/deep/er/kube')\nescaped = True",
        ),
        (
            "moving what holds all of it, for the next call",
            "os.rename(args['folder'] + '/deep', args['folder'] + '/other')\nescaped = True",
        ),
        (
            "moving a folder between, for the next call",
            "os.rename(args['folder'] + '/deep/er', args['folder'] + '/er')\nescaped = True",
        ),
        (
            "moving it",
            "os.rename(args['folder'] + '/deep/.ssh', args['folder'] + '/ssh')\nescaped = 'SECRET' in open(args['folder'] + '/ssh/id').read()",
        ),
        (
            "writing",
            "open(args['folder'] + '/deep/.ssh/authorized_keys', 'w').write('mine')\nescaped = os.path.exists(args['folder'] + '/deep/.ssh/authorized_keys')",
        ),
        (
            "a second name",
            "os.link(args['folder'] + '/deep/.ssh/id', args['folder'] + '/id')\nescaped = 'SECRET' in open(args['folder'] + '/id').read()",
        ),
    ];
    for backend in caged().into_iter().filter(|backend| *backend != Backend::Landlock) {
        for (name, way) in ways {
            let run = |masked: bool| {
                let bench = Bench::open(backend, &[]);
                let granted = folder_with_a_mask(&bench, masked);
                let outcome = bench.run_with(&attack(way), json!({"folder": bench.path("work")}), vec![granted]);
                let kept = ["work/deep/.ssh/id", "work/deep/er/.kube/config"].map(|name| bench.path(name));
                (outcome, kept.map(|path| std::fs::read_to_string(path).unwrap_or_default()))
            };
            let (control, (caged, kept)) = (run(false).0, run(true));
            check(&format!("{name} ({})", backend.name()), &control, &caged);
            assert_eq!(kept, ["SECRET", "SECRET"], "{name}: they are still where they were");
        }
    }
}

#[test]
fn what_lies_beside_it() {
    let ways = [
        ("going up", "open(args['folder'] + '/../beside', 'a').write('x')\nescaped = True"),
        (
            "a link",
            "os.symlink(args['beside'], args['folder'] + '/link')\nopen(args['folder'] + '/link', 'a').write('x')\nescaped = True",
        ),
        (
            "a second name",
            "os.link(args['beside'], args['folder'] + '/name')\nopen(args['folder'] + '/name', 'a').write('x')\nescaped = True",
        ),
        ("moving it in", "os.rename(args['beside'], args['folder'] + '/moved')\nescaped = True"),
    ];
    for backend in caged().into_iter().filter(|backend| *backend != Backend::Landlock) {
        for (name, way) in ways {
            let run = |backend: Backend| {
                let bench = Bench::open(backend, &[]);
                let granted = folder_with_a_mask(&bench, false);
                let args = json!({"folder": bench.path("work"), "beside": bench.path("beside")});
                let outcome = bench.run_with(&attack(way), args, vec![granted]);
                // In a cage, what lies beside may be made anew in its own `/tmp`: what counts is the host's.
                (outcome, std::fs::read_to_string(bench.path("beside")).unwrap_or_default())
            };
            let ((control, changed), (_, beside)) = (run(Backend::None), run(backend));
            assert!(escaped(&control) && changed != "SECRET", "{name}: the control must succeed: {:?}", control.reply);
            assert_eq!(beside, "SECRET", "{name} ({})", backend.name());
        }
    }
}
