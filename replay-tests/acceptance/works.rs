//! What must work in a cage, and what a call must leave behind: nothing.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use base64::Engine;
use metnos::sandbox::{Backend, Level, Sandbox, SandboxError, Settings};
use serde_json::json;

use crate::support::{Bench, children, class, grant, helper, is_warm, ok};

#[test]
fn a_plain_call_answers() {
    for backend in crate::support::caged().into_iter().chain([Backend::None]) {
        let bench = Bench::open(backend, &[]);
        let code = "def run(args, ctx):\n    print('hello')\n    ctx.log('seen')\n    ctx.progress(1, 2, 'half')\n    return {'ok': True, 'content': args['a'] * 2, 'left': ctx.remaining() > 0, 'zone': ctx.timezone}\n";
        let outcome = bench.run(code, json!({"a": 21}));
        assert_eq!(*ok(&outcome), json!({"ok": true, "content": 42, "left": true, "zone": "Europe/Rome"}));
        assert_eq!(outcome.stdout.text(), "hello\n");
        assert_eq!(outcome.log, ["seen"]);
        assert_eq!(outcome.report.backend, backend);
        assert_eq!(outcome.report.warm, backend == Backend::Native && is_warm());
        let level = match backend {
            Backend::Native | Backend::Bubblewrap => Level::Full,
            Backend::Landlock => Level::Partial,
            Backend::None => Level::None,
        };
        assert_eq!(outcome.report.level, level, "{:?}", outcome.report);
        assert_eq!(outcome.report.missing.is_empty(), level == Level::Full, "{:?}", outcome.report);
    }
}

#[test]
fn common_libraries_work() {
    let bench = Bench::native();
    let code = "
def run(args, ctx):
    import json, re, hashlib, datetime, zoneinfo, threading, tempfile, os, csv, zlib, asyncio, socket
    zone = datetime.datetime(2026, 7, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Rome')).utcoffset().seconds
    seen = []
    thread = threading.Thread(target=seen.append, args=(1,)); thread.start(); thread.join()
    with tempfile.TemporaryDirectory() as folder:
        open(folder + '/x', 'w').write('y')
        os.chmod(folder + '/x', 0o600)
    async def twice():
        await asyncio.sleep(0)
        return 2
    child = os.fork()
    if child == 0: os._exit(7)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    a, b = socket.socketpair()
    a.send(b'x')
    return {'ok': True, 'zone': zone, 'seen': seen, 'twice': asyncio.run(twice()), 'hash': hashlib.sha256(b'').hexdigest()[:8], 'code': code, 'pair': b.recv(1).decode()}
";
    let outcome = bench.run(code, json!({}));
    let wanted = json!({"ok": true, "zone": 7200, "seen": [1], "twice": 2, "hash": "e3b0c442", "code": 7, "pair": "x"});
    assert_eq!(*ok(&outcome), wanted);
}

#[test]
fn names_of_every_kind_are_read() {
    let names: [&[u8]; 7] = [
        b"plain.txt",
        b"with space",
        b"quo'te\"s",
        b"new\nline",
        "emoji 🦀".as_bytes(),
        b"not utf-8 \xff\xfe",
        b"-dash",
    ];
    let code = "def run(args, ctx):\n    import base64, os\n    path = base64.b64decode(args['path'])\n    open(path).close()\n    return {'ok': True, 'listed': len(os.listdir(os.path.dirname(path)))}\n";
    let alone = "def run(args, ctx):\n    import base64\n    path = base64.b64decode(args['path'])\n    return {'ok': True, 'content': base64.b64encode(open(path, 'rb').read()).decode()}\n";
    for backend in crate::support::caged() {
        let bench = Bench::open(backend, &[]);
        let folder = bench.path("odd 'folder'\n");
        std::fs::create_dir(&folder).unwrap();
        for name in names {
            std::fs::write(folder.join(OsStr::from_bytes(name)), name).unwrap();
        }
        for name in names {
            let path = folder.join(OsStr::from_bytes(name));
            let args = json!({"path": base64::engine::general_purpose::STANDARD.encode(path.as_os_str().as_bytes())});
            let as_folder = bench.run_with(code, args.clone(), vec![grant(&folder, false)]);
            assert_eq!(ok(&as_folder)["listed"], names.len(), "{name:?}");
            let as_file = bench.run_with(alone, args, vec![grant(&path, false)]);
            assert_eq!(ok(&as_file)["content"], base64::engine::general_purpose::STANDARD.encode(name), "{name:?}");
        }
    }
}

#[test]
fn hundreds_of_files_are_granted_one_by_one() {
    for backend in crate::support::caged() {
        let bench = Bench::open(backend, &[]);
        std::fs::create_dir(bench.path("many")).unwrap();
        let files: Vec<_> = (0..300).map(|number| bench.path(&format!("many/{number}"))).collect();
        for file in &files {
            std::fs::write(file, "x").unwrap();
        }
        let code = "def run(args, ctx):\n    return {'ok': True, 'n': sum(len(open(path).read()) for path in args['paths'])}\n";
        let outcome =
            bench.run_with(code, json!({"paths": files}), files.iter().map(|file| grant(file, false)).collect());
        assert_eq!(ok(&outcome)["n"], 300);
    }
}

#[test]
fn a_single_file_is_shown_alone() {
    let bench = Bench::native();
    let folder = bench.path("folder");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("granted"), "yes").unwrap();
    std::fs::write(folder.join("other"), "no").unwrap();
    let code = "def run(args, ctx):\n    import os\n    return {'ok': True, 'content': open(args['path']).read(), 'listed': os.listdir(os.path.dirname(args['path'])) }\n";
    let outcome =
        bench.run_with(code, json!({"path": folder.join("granted")}), vec![grant(&folder.join("granted"), false)]);
    // Without a right to list, the folder that merely leads to the file is opaque.
    match &outcome.reply {
        Ok(reply) => assert_eq!(reply["listed"], json!(["granted"])),
        Err(failure) => assert!(failure.message.contains("Permission"), "{failure:?}"),
    }
    let code = "def run(args, ctx):\n    return {'ok': True, 'content': open(args['path']).read()}\n";
    let outcome =
        bench.run_with(code, json!({"path": folder.join("granted")}), vec![grant(&folder.join("granted"), false)]);
    assert_eq!(ok(&outcome)["content"], "yes");
}

#[test]
fn nested_grants_and_a_write_grant() {
    let bench = Bench::native();
    let (outer, inner) = (bench.path("outer"), bench.path("outer/deep/inner"));
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::write(outer.join("a"), "a").unwrap();
    let code = "def run(args, ctx):\n    content = open(args['outer'] + '/a').read()\n    open(args['inner'] + '/b', 'w').write('written')\n    try:\n        open(args['outer'] + '/c', 'w'); extra = True\n    except OSError: extra = False\n    return {'ok': True, 'content': content, 'extra': extra}\n";
    let outcome =
        bench.run_with(code, json!({"outer": outer, "inner": inner}), vec![grant(&inner, true), grant(&outer, false)]);
    assert_eq!(*ok(&outcome), json!({"ok": true, "content": "a", "extra": false}));
    assert_eq!(std::fs::read_to_string(inner.join("b")).unwrap(), "written");
}

#[test]
fn the_stage_outlives_the_cage() {
    for backend in crate::support::caged() {
        let bench = Bench::open(backend, &[]);
        let code =
            "def run(args, ctx):\n    open(ctx.stage + '/0', 'wb').write(b'new bytes')\n    return {'ok': True}\n";
        let outcome = bench.run(code, json!({}));
        ok(&outcome);
        let stage = outcome.stage.expect("a stage");
        assert_eq!(stage.list().unwrap(), [("0".to_owned(), 9)]);
        assert_eq!(stage.read("0", 100).unwrap(), b"new bytes");
        drop(stage);
        let left: Vec<_> = std::fs::read_dir(bench.path("runtime"))
            .unwrap()
            .flatten()
            .map(|entry| entry.file_name())
            .filter(|name| name.to_string_lossy().starts_with("cage-"))
            .collect();
        assert_eq!(left, Vec::<std::ffi::OsString>::new(), "{backend:?}");
    }
}

#[test]
fn the_whole_root_can_be_looked_at() {
    let bench = Bench::native();
    let code = "def run(args, ctx):\n    import os\n    return {'ok': True, 'usr': os.path.isdir('/usr/bin'), 'etc': 'hostname' in os.listdir('/etc') or len(os.listdir('/etc')) > 3}\n";
    let outcome = bench.run_with(code, json!({}), vec![grant(std::path::Path::new("/"), false)]);
    assert_eq!(*ok(&outcome), json!({"ok": true, "usr": true, "etc": true}));
}

#[test]
fn listed_programs_run_and_no_others() {
    let mut bench = Bench::native();
    bench.programs = ["wc", "sort", "no-such-program", "../bin/sh", "/etc/shadow"].map(str::to_owned).to_vec();
    let code = "
def run(args, ctx):
    import os, subprocess
    wc = subprocess.run(['wc', '-c'], input=b'abc', stdout=subprocess.PIPE)
    seen = {}
    for name in ('cat', 'sh', '/bin/sh', 'no-such-program'):
        try: seen[name] = subprocess.run([name], stdin=subprocess.DEVNULL).returncode
        except FileNotFoundError: seen[name] = 'absent'
    return {'ok': True, 'wc': int(wc.stdout), 'seen': sorted(set(map(str, seen.values()))), 'there': [name for name in ('cat', 'sh', 'sort', 'wc') if os.path.exists('/usr/bin/' + name)]}
";
    let outcome = bench.run(code, json!({}));
    assert_eq!(*ok(&outcome), json!({"ok": true, "wc": 3, "seen": ["absent"], "there": ["sort", "wc"]}));
    assert_eq!(outcome.report.level, Level::Full, "{:?}", outcome.report);
}

const PDF_READER: &str = include_str!("../../executors/read_files_pdf/main.py");

/// A document of one line of text a page, as small as one can be.
fn pdf(pages: &[&str]) -> Vec<u8> {
    let kids: Vec<String> = (0..pages.len()).map(|page| format!("{} 0 R", 4 + 2 * page)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), pages.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    for (page, text) in pages.iter().enumerate() {
        let content = format!("BT /F1 12 Tf 72 700 Td ({text}) Tj ET");
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents {} 0 R >>",
            5 + 2 * page
        ));
        objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
    }
    let (mut bytes, mut table) = (b"%PDF-1.4\n".to_vec(), Vec::new());
    for (number, object) in objects.iter().enumerate() {
        table.push(format!("{:010} 00000 n \n", bytes.len()));
        bytes.extend(format!("{} 0 obj\n{object}\nendobj\n", number + 1).bytes());
    }
    let table = table.concat();
    let (start, size) = (bytes.len(), objects.len() + 1);
    let end = format!(
        "xref\n0 {size}\n0000000000 65535 f \n{table}trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    );
    bytes.extend(end.bytes());
    bytes
}

#[test]
fn a_document_without_its_program_says_what_installs_it() {
    let bench = Bench::native();
    let path = bench.path("a.pdf");
    std::fs::write(&path, pdf(&["One"])).unwrap();
    let outcome = bench.run_with(PDF_READER, json!({"paths": [path]}), vec![grant(&path, false)]);
    let reply = ok(&outcome);
    assert_eq!(reply["error_class"], "binary_missing", "{reply}");
    assert!(reply["error"].as_str().unwrap().contains("apt install poppler-utils"), "{reply}");
}

#[test]
fn documents_are_read_by_pdftotext() {
    if !std::path::Path::new("/usr/bin/pdftotext").exists() {
        eprintln!("SKIPPED documents_are_read_by_pdftotext: pdftotext is not installed (apt install poppler-utils)");
        return;
    }
    let mut bench = Bench::native();
    bench.programs = vec!["pdftotext".to_owned()];
    let read = |name: &str, bytes: &[u8], more: serde_json::Value| {
        let path = bench.path(name);
        std::fs::write(&path, bytes).unwrap();
        let mut args = json!({"paths": [path]});
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let outcome = bench.run_with(PDF_READER, args, vec![grant(&path, false)]);
        ok(&outcome).clone()
    };
    let whole = read("a b.pdf", &pdf(&["Total due 12.50", "Second page", ""]), json!({}));
    let pages: Vec<&str> = whole["content"].as_str().unwrap_or_default().split('\u{c}').map(str::trim).collect();
    assert_eq!(pages, ["Total due 12.50", "Second page", ""], "{whole}");
    assert_eq!((&whole["metadata"]["pages"], &whole["metadata"]["empty_pages"]), (&json!(3), &json!(1)), "{whole}");
    let second = read("-dash.pdf", &pdf(&["One", "Two", "Three"]), json!({"first_page": 2, "last_page": 2}));
    assert_eq!(second["content"].as_str().unwrap_or_default().trim(), "Two", "{second}");
    assert_eq!(second["metadata"]["pages"], json!(null), "{second}");
    let beyond = read("c.pdf", &pdf(&["One"]), json!({"first_page": 7}));
    assert_eq!(beyond["error_class"], "invalid_args", "{beyond}");
    let damaged = read("d.pdf", b"%PDF-1.4\nnothing of the kind\n", json!({}));
    assert_eq!(damaged["error_class"], "unparseable", "{damaged}");
}

#[test]
fn large_arguments_and_results_pass() {
    let bench = Bench::native();
    let text = "é🦀\\\"\n".repeat(60_000);
    let outcome = bench.run(
        "def run(args, ctx):\n    return {'ok': True, 'n': len(args['text']), 'back': args['text'][:1000]}\n",
        json!({"text": text}),
    );
    assert_eq!(ok(&outcome)["n"], text.chars().count());
    assert_eq!(ok(&outcome)["back"], text.chars().take(1000).collect::<String>());
    let outcome = bench.run(
        "def run(args, ctx):\n    return {'ok': True, 'name': b'\\xff.txt'.decode('utf-8', 'surrogateescape')}\n",
        json!({}),
    );
    assert_eq!(ok(&outcome)["name"], "\\udcff.txt");
    // Half of the memory is the result itself: there is none for its JSON.
    let outcome = bench.run("def run(args, ctx):\n    return {'ok': True, 's': 'x' * (90 << 20)}\n", json!({}));
    let failure = outcome.reply.unwrap_err();
    assert_eq!(failure.class, "too_large", "{failure:?}");
    assert!(failure.message.contains("memory that is left"), "{failure:?}");
}

/// Five processes that show 600 MiB and hold 120, looked at while they work: none of them is ended for it, and the one that
/// was stopped by its own parent is not woken by the look.
#[test]
fn pages_that_processes_share_count_once() {
    let code = "
import os, signal, time
def run(args, ctx):
    block = bytearray(b'x') * (120 << 20)
    workers = []
    for number in range(4):
        if (child := os.fork()) == 0:
            if number == 0: os.kill(os.getpid(), signal.SIGSTOP)
            end = time.monotonic() + 0.3
            while time.monotonic() < end: sum(block[:1000])
            os._exit(number)
        workers.append(child)
    stopped = os.WIFSTOPPED(os.waitpid(workers[0], os.WUNTRACED)[1])
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in workers[1:]]
    woken = os.waitpid(workers[0], os.WNOHANG | os.WCONTINUED)[0] != 0
    os.kill(workers[0], signal.SIGKILL)
    return {'ok': True, 'stopped': stopped, 'codes': codes, 'woken': woken}
";
    for backend in crate::support::caged().into_iter().filter(|backend| *backend != Backend::Landlock) {
        let mut bench = Bench::open(backend, &[]);
        bench.limits.memory_mb = 256;
        let outcome = bench.run(code, json!({}));
        assert_eq!(
            *ok(&outcome),
            json!({"ok": true, "stopped": true, "codes": [1, 2, 3], "woken": false}),
            "{backend:?}"
        );
    }
}

#[test]
fn another_interpreter_works_wherever_it_lies() {
    let asked = Command::new("python3").args(["-I", "-S", "-c", "import sys;print(sys.executable)"]).output();
    let Ok(asked) = asked else {
        eprintln!("SKIPPED another_interpreter_works_wherever_it_lies: no python3 on the path");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut settings = Settings::new(helper(), folder.path().join("runtime"));
    settings.python = Some(String::from_utf8(asked.stdout).unwrap().trim().into());
    let mut bench = Bench::native();
    bench.sandbox = Sandbox::open(&settings).unwrap();
    let outcome = bench.run("import json, zoneinfo, ctypes\ndef run(args, ctx):\n    return {'ok': True}\n", json!({}));
    assert_eq!(*ok(&outcome), json!({"ok": true}));
}

#[test]
fn the_second_search_for_an_interpreter_finds_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::new(helper(), folder.path().join("runtime"));
    let first = Sandbox::open(&settings).unwrap();
    assert!(folder.path().join("runtime/interpreter.json").exists());
    assert_eq!(Sandbox::open(&settings).unwrap().interpreter(), first.interpreter());
}

#[test]
fn settings_that_cannot_be_met_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::new(helper(), folder.path().join("runtime"));
    assert!(matches!(settings.clone().with_variables(None, Some("docker")), Err(SandboxError::UnknownBackend { .. })));
    assert!(settings.clone().with_variables(Some("Off"), None).unwrap().off);
    assert!(!settings.clone().with_variables(Some("on"), None).unwrap().off);
    let mut absent = settings.clone();
    absent.helper_exe = "/nonexistent/metnos".into();
    assert!(matches!(Sandbox::open(&absent), Err(SandboxError::NoCage { .. })));
    let mut absent = settings;
    absent.python = Some("/nonexistent/python3".into());
    assert!(matches!(Sandbox::open(&absent), Err(SandboxError::NoInterpreter { .. })));
}

#[test]
fn a_small_helper_is_used_only_when_it_is_ours() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (binary, small) = (folder.path().join("metnos"), folder.path().join("metnos-cage"));
    let level = || {
        let settings = Settings::new(binary.clone(), folder.path().join("runtime"));
        Sandbox::open(&settings).unwrap().capabilities().level
    };
    std::fs::copy(helper(), &binary).unwrap();
    assert_eq!(level(), Level::Full, "there is none");
    // It says that it was run, and nothing that a daemon expects.
    let (ran, script) = (folder.path().join("ran"), "#!/bin/sh\necho > \"${0%/*}/ran\"\n");
    for (mode, wanted) in [(0o777, false), (0o755, true)] {
        std::fs::write(&small, script).unwrap();
        std::fs::set_permissions(&small, std::fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(level(), Level::Full, "{mode:o}");
        assert_eq!(ran.exists(), wanted, "{mode:o}");
    }
}

#[test]
fn a_grant_that_is_gone_refuses_the_call() {
    let bench = Bench::native();
    let file = bench.path("file");
    std::fs::write(&file, "x").unwrap();
    let taken = grant(&file, false);
    std::fs::remove_file(&file).unwrap();
    let outcome = bench.run_with("def run(args, ctx):\n    return {'ok': True}\n", json!({}), vec![taken]);
    assert_eq!(class(&outcome), "target_changed");
}

#[test]
fn calls_leave_nothing_behind() {
    crate::support::alone("works::forty_calls");
}

#[test]
fn a_deadline_while_the_cage_is_built_is_a_deadline() {
    for backend in crate::support::caged() {
        let mut bench = Bench::open(backend, &[]);
        for number in 0..60 {
            bench.limits.wall_ms = 1 + number % 20;
            let late = bench.run("import time\ntime.sleep(9)\n", json!({})).reply.unwrap_err();
            assert_eq!(late.class, "timeout", "{backend:?}, {} ms: {}", bench.limits.wall_ms, late.message);
        }
    }
}

#[test]
#[ignore = "run alone by calls_leave_nothing_behind"]
fn forty_calls() {
    let bench = Bench::native();
    let granted = bench.path("granted");
    std::fs::create_dir(&granted).unwrap();
    let good = "def run(args, ctx):\n    open(ctx.stage + '/x', 'w').write('y')\n    return {'ok': True}\n";
    let bad = "import os\nos._exit(1)\n";
    let count = |folder: &str| std::fs::read_dir(folder).unwrap().count();
    let state = || {
        (
            count("/proc/self/fd"),
            std::fs::read_to_string("/proc/self/mountinfo").unwrap().lines().count(),
            children(),
            count("/proc/self/task"),
        )
    };
    ok(&bench.run(good, json!({})));
    let before = state();
    for _ in 0..20 {
        ok(&bench.run_with(good, json!({}), vec![grant(&granted, false)]));
        class(&bench.run_with(bad, json!({}), vec![grant(&granted, false)]));
    }
    assert_eq!(state(), before, "descriptors, mounts, children, threads");
    assert_eq!(count(bench.path("cages").to_str().unwrap()), 0, "lock files");
}

/// The kernel counts what all processes of a user have in flight; a call that meets too much of it waits for a moment. Root
/// is not counted, so this says something only as an ordinary user.
#[test]
fn descriptors_in_flight_elsewhere_delay_a_call_and_end_none() {
    use rustix::net::{AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType};
    use std::os::fd::AsFd;
    let bench = Bench::native();
    let good = "def run(args, ctx):\n    return {'ok': True}\n";
    ok(&bench.run(good, json!({})));
    let flood = || {
        let pair =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        let many = [pair.0.as_fd(); 200];
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(200))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&many)));
        rustix::net::sendmsg(&pair.0, &[std::io::IoSlice::new(b"d")], &mut control, SendFlags::NOSIGNAL).unwrap();
        pair
    };
    for _ in 0..5 {
        // Far more than the 64 that the cage itself may have open.
        let held = flood();
        let freed = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(300));
            drop(held);
        });
        ok(&bench.run(good, json!({})));
        freed.join().unwrap();
    }
}

/// Where user namespaces are forbidden, as on many desktops and in many containers.
#[test]
fn without_user_namespaces_landlock_remains() {
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" --exact --ignored --nocapture works::the_step_below_native";
    let unshared = Command::new("unshare")
        .args(["-Ur", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .stdin(std::process::Stdio::null())
        .output();
    match unshared {
        Ok(output) if output.status.success() => assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed")),
        Ok(output) if !String::from_utf8_lossy(&output.stdout).contains("running 1 test") => {
            eprintln!("SKIPPED without_user_namespaces_landlock_remains: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(output) => panic!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)),
        Err(error) => eprintln!("SKIPPED without_user_namespaces_landlock_remains: unshare: {error}"),
    }
}

#[test]
#[ignore = "run by without_user_namespaces_landlock_remains, where they are forbidden"]
fn the_step_below_native() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::new(helper(), folder.path().join("runtime"));
    let mut forced = settings.clone();
    forced.forced = Some(Backend::Native);
    assert!(matches!(Sandbox::open(&forced), Err(SandboxError::NoCage { .. })));
    let mut bench = Bench::open(Backend::Landlock, &[]);
    bench.sandbox = Sandbox::open(&settings).unwrap();
    let found = bench.sandbox.capabilities();
    assert_eq!((found.backend, found.level), (Backend::Landlock, Level::Partial));
    assert!(found.missing.iter().any(|missing| missing.starts_with("native: ")), "{found:?}");
    let outcome = bench.run("def run(args, ctx):\n    return {'ok': True}\n", json!({}));
    assert_eq!((ok(&outcome)["ok"].as_bool(), outcome.report.backend), (Some(true), Backend::Landlock));
}

/// Prints what a cage costs beside the same host and code run bare; not a check, since it depends on the machine.
#[test]
#[ignore = "a measurement; run it alone, in release"]
fn measure_a_cold_call() {
    let (caged, bare) = (Bench::native(), Bench::open(Backend::None, &[]));
    let code = "def run(args, ctx):\n    import json\n    return {'ok': True, 'content': json.dumps(args)}\n";
    let python = caged.sandbox.interpreter().path();
    let alone =
        format!("{code}\nimport sys, json\nsys.stdout.write(json.dumps(run(json.loads('{{\"a\": 1}}'), None)))");
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    let mut ticks = [0; 3];
    let spent = || {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let children = stat.rsplit(')').next().unwrap().split_ascii_whitespace().skip(13).take(2);
        children.map(|ticks| ticks.parse::<u64>().unwrap()).sum::<u64>()
    };
    for _ in 0..101 {
        let before = spent();
        let began = std::time::Instant::now();
        let output = Command::new(&python)
            .args(["-I", "-S", "-c", &alone])
            .env_clear()
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        times[0].push(began.elapsed());
        ticks[0] += spent() - before;
        assert!(output.status.success());
        for (bench, slot) in [(&bare, 1), (&caged, 2)] {
            let before = spent();
            let outcome = bench.run(code, json!({"a": 1}));
            ticks[slot] += spent() - before;
            ok(&outcome);
            times[slot].push(outcome.duration);
        }
    }
    let [python, uncaged, caged] = times.map(|mut times| {
        times.sort();
        times[times.len() / 2].as_secs_f64() * 1000.0
    });
    let mut late: Vec<f64> = (0..30)
        .map(|_| {
            let mut bench = Bench::native();
            bench.limits.wall_ms = 150;
            bench.run("import time\ntime.sleep(60)\n", json!({})).duration.as_secs_f64() * 1000.0 - 150.0
        })
        .collect();
    late.sort_by(f64::total_cmp);
    println!(
        "from the call to the dead tree beyond a deadline of 150 ms, start of the cage included: median {:.1} ms, worst of 30 {:.1} ms",
        late[15], late[29]
    );
    println!("CPU of 101 calls in ticks of 10 ms: bare {}, host {}, caged {}", ticks[0], ticks[1], ticks[2]);
    println!(
        "bare python3 -I -S {python:.2} ms, our host without a cage {uncaged:.2} ms, native cage {caged:.2} ms: {:.2} x bare",
        caged / python
    );
}
