//! Reaching what was not granted: files, sockets, other processes' secrets, kernel surface.

use std::io::Write;
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use metnos::sandbox::{Backend, Layer, masks};
use metnos_projections::rules::core_paths::OwnDirs;
use serde_json::{Value, json};

use super::{attack, check, escaped};
use crate::support::{Bench, grant};

const READ: &str = "escaped = 'SECRET' in open(args['path']).read()";

/// Runs an attack without grants: bare, then at both levels.
#[track_caller]
fn bare_against_caged(name: &str, code: &str, args: &Value) {
    let control = Bench::open(Backend::None, &[]).run(&attack(code), args.clone());
    for backend in crate::support::caged() {
        let caged = Bench::open(backend, &[]).run(&attack(code), args.clone());
        check(&format!("{name} ({})", backend.name()), &control, &caged);
    }
}

/// Runs an attack that one layer alone stands against.
#[track_caller]
fn against_layer(name: &str, code: &str, backend: Backend, layers: &[Layer]) {
    let control = Bench::open(backend, layers).run(&attack(code), json!({}));
    let caged = Bench::open(backend, &[]).run(&attack(code), json!({}));
    check(name, &control, &caged);
    let report = &control.report;
    for layer in layers {
        assert!(
            report.missing.iter().any(|missing| missing.contains(&format!("{layer:?}"))),
            "{name}: {layer:?} is not named in {report:?}"
        );
    }
}

#[test]
fn ssh_keys_that_were_not_granted() {
    let bench = Bench::native();
    let secret = bench.path("home/.ssh/id_ed25519");
    std::fs::create_dir_all(secret.parent().unwrap()).unwrap();
    std::fs::write(&secret, "SECRET").unwrap();
    bare_against_caged("read a file", READ, &json!({"path": secret}));
    let through =
        "os.symlink(args['path'], ctx.stage + '/link')\nescaped = 'SECRET' in open(ctx.stage + '/link').read()";
    bare_against_caged("read through a link", through, &json!({"path": secret}));
    let up = "escaped = 'SECRET' in open(ctx.stage + '/../../../../../../../../..' + args['path']).read()";
    bare_against_caged("read by going up", up, &json!({"path": secret}));
}

/// What was granted is data: not even its bytes run as a program within the interpreter.
#[test]
fn code_mapped_out_of_a_granted_file() {
    let code = attack(
        "import mmap\nfd = os.open(args['path'], os.O_RDONLY)\nmmap.mmap(fd, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)\nescaped = True",
    );
    let run = |backend: Backend| {
        let bench = Bench::open(backend, &[]);
        let (folder, path) = (bench.path("granted"), bench.path("granted/code"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(&path, vec![0xc3; 4096]).unwrap();
        bench.run_with(&code, json!({"path": path}), vec![grant(&folder, false)])
    };
    for backend in crate::support::caged().into_iter().filter(|backend| *backend != Backend::Landlock) {
        check(&format!("mapped code ({})", backend.name()), &run(Backend::None), &run(backend));
    }
}

#[test]
fn ssh_keys_inside_of_a_granted_folder() {
    for backend in crate::support::caged() {
        let bench = Bench::open(backend, &[]);
        let home = bench.path("home");
        let secrets = [".ssh/id_ed25519", "old/backup/.ssh/id_rsa", "old/.netrc"].map(|name| home.join(name));
        for secret in &secrets {
            std::fs::create_dir_all(secret.parent().unwrap()).unwrap();
            std::fs::write(secret, "SECRET").unwrap();
        }
        std::fs::write(home.join("old/note.txt"), "plain").unwrap();
        for secret in &secrets {
            let run = |hidden: bool| {
                let mut granted = grant(&home, false);
                if hidden {
                    granted.masks = masks::below(&home, &masks::Core::new(&home, &OwnDirs::default()));
                    assert_eq!(granted.masks.len(), 3);
                }
                bench.run_with(&attack(READ), json!({"path": secret}), vec![granted])
            };
            check(&format!("{} ({})", secret.display(), backend.name()), &run(false), &run(true));
        }
        let mut granted = grant(&home, false);
        granted.masks = masks::below(&home, &masks::Core::new(&home, &OwnDirs::default()));
        let beside = bench.run_with(
            &attack("escaped = open(args['path']).read() == 'plain'"),
            json!({"path": home.join("old/note.txt")}),
            vec![granted],
        );
        assert!(escaped(&beside), "what is beside a mask stays readable: {beside:?}");
    }
}

#[test]
fn a_name_that_was_swapped_after_it_was_granted() {
    let bench = Bench::native();
    let (granted_file, secret) = (bench.path("note"), bench.path("secret"));
    std::fs::write(&granted_file, "plain").unwrap();
    std::fs::write(&secret, "SECRET").unwrap();
    let taken = grant(&granted_file, false);
    std::fs::remove_file(&granted_file).unwrap();
    std::os::unix::fs::symlink(&secret, &granted_file).unwrap();
    let outcome = bench.run_with(&attack(READ), json!({"path": granted_file}), vec![taken]);
    assert_eq!(crate::support::class(&outcome), "target_changed");
    std::fs::remove_file(&granted_file).unwrap();
    std::fs::rename(&secret, &granted_file).unwrap();
    let control = bench.run_with(&attack(READ), json!({"path": granted_file}), vec![grant(&granted_file, false)]);
    assert!(escaped(&control), "the same file, granted: {control:?}");
}

#[test]
fn sockets_of_every_kind() {
    let bench = Bench::native();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let path = bench.path("socket");
    let _unix = UnixListener::bind(&path).unwrap();
    let name = format!("metnos-cage-{}", std::process::id());
    let _abstract = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let connect = "import socket\ns = socket.socket(args['family'])\ns.connect(tuple(args['to']) if args['family'] == socket.AF_INET else args['to'])\nescaped = True";
    let port = tcp.local_addr().unwrap().port();
    bare_against_caged("tcp", connect, &json!({"family": libc::AF_INET, "to": ["127.0.0.1", port]}));
    bare_against_caged("unix by path", connect, &json!({"family": libc::AF_UNIX, "to": path}));
    bare_against_caged("unix abstract", connect, &json!({"family": libc::AF_UNIX, "to": format!("\0{name}")}));
    let udp = "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', args['port']))\nescaped = True";
    bare_against_caged("udp", udp, &json!({"port": port}));
    if rustix::process::geteuid().is_root() {
        bare_against_caged(
            "packet",
            "import socket\nsocket.socket(socket.AF_PACKET, socket.SOCK_RAW)\nescaped = True",
            &json!({}),
        );
    } else {
        eprintln!("SKIPPED packet socket: only root could open one without the cage");
    }
    bare_against_caged(
        "netlink",
        "import socket\nsocket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)\nescaped = True",
        &json!({}),
    );
}

#[test]
fn a_socket_in_a_granted_folder() {
    let listen = |bench: &Bench| {
        std::fs::create_dir_all(bench.path("granted")).unwrap();
        UnixListener::bind(bench.path("granted/socket")).unwrap()
    };
    let code = attack("import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect(args['to'])\nescaped = True");
    let run = |without: &[Layer]| {
        let bench = Bench::open(Backend::Native, without);
        let _listener = listen(&bench);
        bench.run_with(&code, json!({"to": bench.path("granted/socket")}), vec![grant(&bench.path("granted"), false)])
    };
    check("a socket in a granted folder", &run(&[Layer::Seccomp]), &run(&[]));
}

#[test]
fn a_datagram_from_half_of_a_pair() {
    let code = attack(
        "import socket\na, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\na.sendto(b'out', args['to'])\nescaped = True",
    );
    for backend in crate::support::caged() {
        let run = |without: &[Layer]| {
            let bench = Bench::open(backend, without);
            let folder = bench.path("granted");
            std::fs::create_dir(&folder).unwrap();
            let listener = std::os::unix::net::UnixDatagram::bind(folder.join("socket")).unwrap();
            listener.set_nonblocking(true).unwrap();
            let outcome = bench.run_with(&code, json!({"to": folder.join("socket")}), vec![grant(&folder, true)]);
            assert_eq!(
                listener.recv(&mut [0; 8]).is_ok(),
                escaped(&outcome),
                "what arrived agrees with what was claimed"
            );
            outcome
        };
        // The newest landlock covers this as well; the filter stands on every kernel.
        check("datagram", &run(&[Layer::Seccomp, Layer::Landlock]), &run(&[]));
        assert!(!escaped(&run(&[Layer::Landlock])), "the filter alone");
    }
}

#[test]
fn an_inherited_descriptor() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"SECRET").unwrap();
    // A descriptor that survives exec, as a careless parent leaves them.
    let open = rustix::io::fcntl_dupfd_cloexec(&file, 20).unwrap();
    rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).unwrap();
    let code = "for fd in range(3, 64):\n    try:\n        escaped = escaped or b'SECRET' in os.pread(fd, 64, 0)\n    except OSError: pass";
    against_layer("inherited descriptor", code, Backend::Native, &[Layer::Inheritance]);
    against_layer("inherited descriptor", code, Backend::Landlock, &[Layer::Inheritance]);
    assert!(open.as_raw_fd() >= 20);
}

#[test]
fn a_secret_in_the_environment() {
    let known = ["HOME", "LANG", "PATH", "TMPDIR"];
    let (name, _) = std::env::vars()
        .find(|(name, value)| !known.contains(&name.as_str()) && !value.is_empty())
        .expect("the test has an environment");
    let code = "escaped = args['name'] in os.environ\nfor pid in [p for p in os.listdir('/proc') if p.isdigit()]:\n    escaped = escaped or (args['name'] + '=').encode() in open('/proc/%s/environ' % pid, 'rb').read()";
    let args = json!({"name": name});
    for backend in crate::support::caged() {
        let run = |without: &[Layer]| Bench::open(backend, without).run(&attack(code), args.clone());
        check("environment", &run(&[Layer::Inheritance]), &run(&[]));
    }
}

#[test]
fn changing_what_was_granted_for_reading() {
    let cases = [
        ("write", "open(args['path'], 'a').write('x')\nescaped = True"),
        ("truncate", "os.truncate(args['path'], 0)\nescaped = True"),
        ("create", "open(args['path'] + '.new', 'w').close()\nescaped = True"),
        ("delete", "os.remove(args['path'])\nescaped = True"),
        ("chmod", "os.chmod(args['path'], 0o600)\nescaped = True"),
        ("times", "os.utime(args['path'], (1, 1))\nescaped = True"),
        ("rename", "os.rename(args['path'], args['path'] + '.old')\nescaped = True"),
    ];
    for (name, code) in cases {
        let run = |backend: Backend, without: &[Layer]| {
            let bench = Bench::open(backend, without);
            let folder = bench.path("granted");
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join("file"), "content").unwrap();
            bench.run_with(&attack(code), json!({"path": folder.join("file")}), vec![grant(&folder, false)])
        };
        check(name, &run(Backend::Native, &[Layer::ReadOnlyMounts, Layer::Landlock]), &run(Backend::Native, &[]));
        check(name, &run(Backend::Landlock, &[Layer::Landlock, Layer::Seccomp]), &run(Backend::Landlock, &[]));
    }
}

#[test]
fn kernel_surface() {
    let call = |arguments: &str| {
        format!(
            "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nescaped = libc.syscall({arguments}) >= 0\nwhy = str(ctypes.get_errno())"
        )
    };
    let cases = [
        ("ptrace", call(&format!("{}, 0, 0, 0, 0", libc::SYS_ptrace))),
        ("nested user namespace", call(&format!("{}, {}", libc::SYS_unshare, libc::CLONE_NEWUSER))),
        ("io_uring", call(&format!("{}, 4, ctypes.create_string_buffer(120)", libc::SYS_io_uring_setup))),
        ("memfd", call(&format!("{}, b'x', 0", libc::SYS_memfd_create))),
        ("personality", call(&format!("{}, 0xffffffff", libc::SYS_personality))),
        ("shared memory", call(&format!("{}, 0, 4096, 0o1600", libc::SYS_shmget))),
        ("shedding the tie to the helper", call(&format!("{}, 1, 0, 0, 0, 0", libc::SYS_prctl))),
        (
            "set own handle",
            "import fcntl\nr, w = os.pipe()\nfcntl.fcntl(r, fcntl.F_SETOWN, os.getpid())\nescaped = True".to_owned(),
        ),
    ];
    for (name, code) in &cases {
        // Rings and handles need locked memory, which the limits forbid as well.
        against_layer(name, code, Backend::Native, &[Layer::Seccomp, Layer::Limits]);
    }
    // Linux passes the flags of clone3 in memory; a child made by it ends at once.
    let clone3 = format!(
        "import ctypes, struct\nlibc = ctypes.CDLL(None, use_errno=True)\nflags = struct.pack('<11Q', {}, 0, 0, 0, {}, 0, 0, 0, 0, 0, 0)\npid = libc.syscall({}, flags, 88)\nif pid == 0: os._exit(0)\nescaped = pid > 0\nwhy = str(ctypes.get_errno())",
        libc::CLONE_NEWUSER,
        libc::SIGCHLD,
        libc::SYS_clone3
    );
    against_layer("clone3 into a user namespace", &clone3, Backend::Native, &[Layer::Seccomp]);
    let clone = format!(
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\npid = libc.syscall({}, {}, 0, 0, 0, 0)\nif pid == 0: os._exit(0)\nescaped = pid > 0\nwhy = str(ctypes.get_errno())",
        libc::SYS_clone,
        libc::CLONE_NEWUSER | libc::SIGCHLD
    );
    against_layer("clone into a user namespace", &clone, Backend::Native, &[Layer::Seccomp]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_x32_numbers() {
    let code = attack(&format!(
        "import ctypes\nescaped = ctypes.CDLL(None).syscall({}) > 0",
        0x4000_0000_i64 + libc::SYS_getpid
    ));
    let caged = Bench::native().run(&code, json!({}));
    assert_eq!(crate::support::class(&caged), "crashed", "the filter kills it: {caged:?}");
    let control = Bench::open(Backend::Native, &[Layer::Seccomp]).run(&code, json!({}));
    if !escaped(&control) {
        eprintln!(
            "SKIPPED the control of x32: this kernel has no x32 calls, they fail without the filter too (but are not killed)"
        );
    }
}

#[test]
fn capabilities_and_mounts() {
    if rustix::process::geteuid().is_root() {
        let any = "status = open('/proc/self/status').read()\nescaped = any(int(line.split()[1], 16) for line in status.splitlines() if line.startswith('Cap'))";
        against_layer("capabilities", any, Backend::Native, &[Layer::Capabilities]);
        let mount =
            "import ctypes\nescaped = ctypes.CDLL(None).mount(b'none', ctx.stage.encode(), b'tmpfs', 0, None) == 0";
        against_layer("mount", mount, Backend::Native, &[Layer::Capabilities, Layer::Seccomp, Layer::Landlock]);
    } else {
        eprintln!("SKIPPED the controls of capabilities: an ordinary user's interpreter has none anyway");
    }
    let root = "escaped = bool(set(os.listdir('/')) & {'home', 'etc', 'var'} - {'etc'})";
    against_layer("the host's root", root, Backend::Native, &[Layer::PrivateRoot, Layer::Landlock]);
    let network = "escaped = open('/proc/self/net/dev').read().count(':') > 1";
    against_layer(
        "the host's network devices",
        network,
        Backend::Native,
        &[Layer::NetNamespace, Layer::PrivateRoot, Layer::Landlock],
    );
}
