//! Reaching, leaving and multiplying processes.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use metnos::sandbox::{Backend, Layer, lock};
use serde_json::json;

use super::{attack, check};
use crate::support::{Bench, class, grant};

/// A process of the host that may be killed; ended with this value.
struct Victim(Child);

impl Victim {
    fn new() -> Self {
        Self(Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().unwrap();
    }
}

#[test]
fn listing_and_killing_processes_of_the_host() {
    let list = attack("escaped = str(args['pid']) in os.listdir('/proc')");
    let kill = attack("os.kill(args['pid'], 9)\nescaped = True");
    let all = attack(
        "import ctypes\nfor pid in range(2, 400000):\n    if pid == args['pid']:\n        os.kill(pid, 0)\n        escaped = True",
    );
    let limit = attack("import resource\nresource.prlimit(args['pid'], resource.RLIMIT_CPU, (1, 1))\nescaped = True");
    for (name, code) in [("list", &list), ("kill", &kill), ("look for", &all), ("limit", &limit)] {
        let run = |backend: Backend| {
            let mut victim = Victim::new();
            let outcome = Bench::open(backend, &[]).run(code, json!({"pid": victim.0.id()}));
            if backend != Backend::None {
                assert_eq!(victim.0.try_wait().unwrap(), None, "{name}: the process of the host is still there");
            }
            outcome
        };
        let control = run(Backend::None);
        for backend in crate::support::caged() {
            check(name, &control, &run(backend));
        }
    }
}

/// Leaves a daemon that beats into a file, then answers or hangs.
const DAEMON: &str = "
if os.fork() == 0:
    try: os.setsid()
    except OSError: pass
    if os.fork() == 0:
        end = time.time() + 20
        with open(args['beat'], 'a') as beat:
            while time.time() < end:
                beat.write('%d\\n' % os.getpid()); beat.flush(); time.sleep(0.01)
    os._exit(0)
os.wait()
while not os.path.getsize(args['beat']): time.sleep(0.005)
escaped = True
if args['hang']: time.sleep(60)
";

/// Whether any process of the host has a file open.
fn holders(file: &Path) -> Vec<i32> {
    let processes = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    processes
        .filter(|pid| {
            let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            open.into_iter().any(|entry| std::fs::read_link(entry.path()).is_ok_and(|target| target == file))
        })
        .collect()
}

/// Runs the daemon's executor with a folder that it may write to, and says who is left of it.
fn leave_daemon(backend: Backend, hang: bool) -> (metnos::sandbox::Outcome, Vec<i32>) {
    let mut bench = Bench::open(backend, &[]);
    bench.limits.wall_ms = if hang { 700 } else { 10_000 };
    let folder = bench.path("beat");
    std::fs::create_dir(&folder).unwrap();
    let beat = folder.join("file");
    std::fs::write(&beat, "").unwrap();
    let outcome = bench.run_with(&attack(DAEMON), json!({"beat": beat, "hang": hang}), vec![grant(&folder, true)]);
    (outcome, holders(&beat))
}

#[test]
fn a_daemon_does_not_survive() {
    let (answered, left) = leave_daemon(Backend::Native, false);
    assert!(super::escaped(&answered), "the daemon was there while the call ran: {answered:?}");
    assert_eq!(left, Vec::<i32>::new(), "after a normal return");
    let (late, left) = leave_daemon(Backend::Native, true);
    assert_eq!((class(&late), left), ("timeout", Vec::new()), "after a timeout");
    let (refused, left) = leave_daemon(Backend::Landlock, false);
    assert!(!super::escaped(&refused), "landlock-only lets no process start: {refused:?}");
    assert_eq!(left, Vec::<i32>::new());
    let (_, left) = leave_daemon(Backend::None, false);
    assert_eq!(left, Vec::<i32>::new(), "without a cage the helper adopts and ends orphans");
}

#[test]
fn a_daemon_survives_a_bare_interpreter() {
    let bench = Bench::native();
    let beat = bench.path("beat");
    std::fs::write(&beat, "").unwrap();
    let code = format!("import os, time\nargs = {{'beat': {:?}, 'hang': False}}\n{DAEMON}", beat.to_str().unwrap());
    let status = Command::new(bench.sandbox.interpreter().path())
        .args(["-I", "-S", "-c", &code])
        .stdin(Stdio::null())
        .process_group(0)
        .status()
        .unwrap();
    assert!(status.success());
    let left = holders(&beat);
    assert_eq!(left.len(), 1, "the control: the daemon lives on");
    for pid in left {
        rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), rustix::process::Signal::KILL)
            .unwrap();
    }
}

#[test]
fn forks_without_end() {
    let bomb = attack("while True:\n    if os.fork() == 0:\n        while True:\n            os.fork()");
    for backend in crate::support::caged() {
        let mut bench = Bench::open(backend, &[]);
        bench.limits.wall_ms = 3000;
        let began = Instant::now();
        let caged = bench.run(&bomb, json!({}));
        assert!(!super::escaped(&caged), "{caged:?}");
        assert!(began.elapsed() < Duration::from_secs(5));
    }
    let many = attack(
        "import signal\nfor n in range(60):\n    if os.fork() == 0:\n        time.sleep(30)\n        os._exit(0)\ntime.sleep(0.3)\nescaped = True",
    );
    let control = Bench::open(Backend::Native, &[Layer::Limits, Layer::Watchdog]).run(&many, json!({}));
    check("sixty processes", &control, &Bench::native().run(&many, json!({})));
}

#[test]
fn threads_without_end() {
    let many = attack(
        "import _thread\nfor n in range(60): _thread.start_new_thread(time.sleep, (30,))\ntime.sleep(0.3)\nescaped = True",
    );
    for backend in crate::support::caged() {
        let run = |without: &[Layer]| Bench::open(backend, without).run(&many, json!({}));
        check("sixty threads", &run(&[Layer::Limits, Layer::Watchdog]), &run(&[]));
    }
}

#[test]
fn nothing_outlives_a_killed_helper() {
    crate::support::alone("escapes::processes::a_helper_that_is_killed");
}

#[test]
#[ignore = "run alone by nothing_outlives_a_killed_helper, since it kills whatever this process started"]
fn a_helper_that_is_killed() {
    let bench = Bench::native();
    let folder = bench.path("granted");
    std::fs::create_dir(&folder).unwrap();
    let beat = folder.join("beat");
    std::fs::write(&beat, "").unwrap();
    let code = attack(
        "with open(args['beat'], 'a') as beat:\n    while True:\n        beat.write('x'); beat.flush(); time.sleep(0.005)",
    );
    let outcome = std::thread::scope(|scope| {
        let call = scope.spawn(|| bench.run_with(&code, json!({"beat": beat}), vec![grant(&folder, true)]));
        while std::fs::metadata(&beat).unwrap().len() == 0 {
            assert!(!call.is_finished(), "the call never began");
            std::thread::yield_now();
        }
        assert_eq!(holders(&beat).len(), 1, "the control: it is seen while it lives");
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let helpers: String =
            tasks.map(|task| std::fs::read_to_string(task.path().join("children")).unwrap()).collect();
        let helper = rustix::process::Pid::from_raw(helpers.trim().parse().unwrap()).unwrap();
        rustix::process::kill_process(helper, rustix::process::Signal::KILL).unwrap();
        call.join().unwrap()
    });
    assert_eq!(class(&outcome), "crashed");
    let patience = Instant::now() + Duration::from_secs(5);
    while !holders(&beat).is_empty() {
        assert!(Instant::now() < patience, "the cage outlived its helper");
        std::thread::yield_now();
    }
}

/// The other half of `nothing_outlives_a_killed_daemon`: a daemon in the middle of a call.
#[test]
#[ignore = "run by nothing_outlives_a_killed_daemon, which kills it"]
fn a_daemon_that_is_killed() {
    let Some(folder) = std::env::var_os("METNOS_TEST_FOLDER") else { return };
    let mut bench = Bench::native();
    bench.limits.wall_ms = 30_000;
    bench.locks = Some(Path::new(&folder).join("locks"));
    let granted = Path::new(&folder).join("granted");
    let code = attack(
        "with open(args['beat'], 'a') as beat:\n    while True:\n        beat.write('x'); beat.flush(); time.sleep(0.005)",
    );
    bench.run_with(&code, json!({"beat": granted.join("beat")}), vec![grant(&granted, true)]);
}

#[test]
fn nothing_outlives_a_killed_daemon() {
    let bench = Bench::native();
    let (granted, locks) = (bench.path("granted"), bench.path("locks"));
    std::fs::create_dir(&granted).unwrap();
    let beat = granted.join("beat");
    std::fs::write(&beat, "").unwrap();
    let mut daemon = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "escapes::processes::a_daemon_that_is_killed"])
        .env("METNOS_TEST_FOLDER", bench.path(""))
        // It cannot clean up after itself.
        .env("TMPDIR", bench.path(""))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let patience = Instant::now() + Duration::from_secs(20);
    while std::fs::metadata(&beat).unwrap().len() == 0 {
        assert!(Instant::now() < patience, "the call never began");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(lock::settle(&locks, Duration::ZERO).unwrap().len(), 1, "the lock is held while the cage lives");
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    assert_eq!(lock::settle(&locks, Duration::from_secs(5)).unwrap(), Vec::<std::path::PathBuf>::new());
    assert_eq!(holders(&beat), Vec::<i32>::new(), "once the lock is free there is no writer left");
}
