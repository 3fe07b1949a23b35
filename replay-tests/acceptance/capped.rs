//! Calls in cgroups of their own: what bounds the whole tree, that nothing leaves it, and that nothing of it stays behind.
//!
//! Such cgroups can be made only by who lives alone in one that is delegated, so all of it is one test that systemd starts in
//! a scope. Where there is no systemd, the ignored test can be run in any such cgroup by itself.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use metnos::sandbox::{Backend, CageReport, Layer, Sandbox, Settings, cgroup};
use serde_json::json;

use crate::escapes::{attack, check, escaped};
use crate::support::{Bench, caged, class, helper, is_warm, ok};

const NONE: &str = "no cgroup is delegated";
const GOOD: &str = "def run(args, ctx):\n    return {'ok': True}\n";

#[test]
fn calls_in_cgroups_of_their_own() {
    if is_warm() {
        return eprintln!("SKIPPED calls_in_cgroups_of_their_own: it tests cold and warm calls in one run");
    }
    let whose = if rustix::process::geteuid().is_root() { "--system" } else { "--user" };
    let started = Command::new("systemd-run")
        .args([whose, "--quiet", "--no-ask-password", "--scope", "--property=Delegate=yes", "--"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--nocapture", "capped::in_a_delegated_cgroup"])
        .stdin(Stdio::null())
        .output();
    let said = match started {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
            if said.contains("running 1 test") && !said.contains(NONE) {
                return assert!(output.status.success() && said.contains("1 passed"), "{said}");
            }
            said
        }
        Err(error) => format!("systemd-run: {error}"),
    };
    eprintln!("SKIPPED calls_in_cgroups_of_their_own: {NONE} ({})", said.trim());
}

#[test]
#[ignore = "run by calls_in_cgroups_of_their_own, or by hand, alone in a cgroup that is delegated to it"]
fn in_a_delegated_cgroup() {
    let before = std::fs::read_to_string("/proc/self/cgroup").unwrap();
    let Some(own) = cgroup::take() else { return eprintln!("{NONE}") };
    assert!(cgroup::take().is_none(), "it is taken once");
    eprintln!("by cgroup: {:?}", own.controllers());
    let place = own.folder().to_owned();
    for backend in caged() {
        let kinds: &[bool] = if backend == Backend::Native { &[false, true] } else { &[false] };
        for warm in kinds {
            eprintln!("{} {}", backend.name(), if *warm { "warm" } else { "cold" });
            is_told(&own, backend, *warm);
            bounds_memory(&own, backend, *warm);
            bounds_processes(&own, backend, *warm);
            leaves_room(&own, backend, *warm);
            stays(&own, backend, *warm);
        }
        assert_eq!(calls(&place), Vec::<PathBuf>::new(), "{}: nothing of a call is left", backend.name());
    }
    ends_what_is_left(&own);
    assert_eq!(calls(&place), Vec::<PathBuf>::new());
    drop(own);
    assert_eq!(std::fs::read_to_string("/proc/self/cgroup").unwrap(), before, "it is back where it was");
    let left = std::fs::read_dir(&place).unwrap().flatten();
    let left: Vec<_> = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("metnos-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The cgroups of calls.
fn calls(place: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(place).unwrap().flatten().map(|entry| entry.path());
    all.filter(|path| path.to_string_lossy().contains("metnos-call-")).collect()
}

/// A bench with or without cgroups, and without layers.
fn bench(backend: Backend, warm: bool, without: &[Layer], cgroup: Option<Arc<cgroup::Own>>) -> Bench {
    let mut bench = Bench::open(backend, &[]);
    let mut settings = Settings::new(helper(), bench.folder.path().join("runtime"));
    settings.off = backend == Backend::None;
    settings.forced = Some(backend);
    settings.without = without.to_vec();
    settings.always_warm = warm;
    settings.cgroup = cgroup;
    bench.sandbox = Sandbox::open(&settings).unwrap();
    // The controls use up what they can, which a slow machine takes its time for.
    bench.limits.wall_ms = 60_000;
    bench
}

fn is_told(own: &Arc<cgroup::Own>, backend: Backend, warm: bool) {
    let says = |report: &CageReport, expected: bool| {
        let bounds = |name| expected && own.controllers().contains(&name);
        assert_eq!(report.memory_cap == "cgroup", bounds("memory"), "{report:?}");
        assert_eq!(report.process_cap == "cgroup", bounds("pids"), "{report:?}");
    };
    for (cgroup, expected) in [(Some(Arc::clone(own)), true), (None, false)] {
        let bench = bench(backend, warm, &[], cgroup);
        says(bench.sandbox.capabilities(), expected);
        let ran = bench.run(GOOD, json!({}));
        ok(&ran);
        assert_eq!(ran.report.warm, warm);
        says(&ran.report, expected);
    }
    says(&bench(backend, warm, &[Layer::Limits], Some(Arc::clone(own))).run(GOOD, json!({})).report, false);
}

/// What neither a limit of each process nor a watchdog stops.
fn bounds_memory(own: &Arc<cgroup::Own>, backend: Backend, warm: bool) {
    if !own.controllers().contains(&"memory") {
        return;
    }
    let take =
        "import mmap\nm = mmap.mmap(-1, args['mb'] << 20)\nfor at in range(0, args['mb'] << 20, 4096): m[at] = 1";
    let alone = attack(&format!("{take}\nescaped = True"));
    let many = attack(
        "pids = []\nfor n in range(8):\n    pid = os.fork()\n    if pid == 0:\n        block = b'x' * (64 << 20)\n        time.sleep(1)\n        os._exit(0)\n    pids.append(pid)\nescaped = all(os.waitpid(pid, 0)[1] == 0 for pid in pids)",
    );
    // The syscall filter has its own word about shared memory.
    let (filtered, unfiltered) = ([Layer::Watchdog], [Layer::Watchdog, Layer::Seccomp]);
    for (name, code, without) in [("shared memory", &alone, &unfiltered[..]), ("eight processes", &many, &filtered)] {
        let run = |code: &str, cgroup| bench(backend, warm, without, cgroup).run(code, json!({"mb": 256}));
        if name == "eight processes" && backend == Backend::Landlock {
            continue;
        }
        let capped = run(code, Some(Arc::clone(own)));
        check(name, &run(code, None), &capped);
        let failure = capped.reply.unwrap_err();
        let wanted = ("crashed", "it used more than 128 MiB of memory");
        assert_eq!((failure.class, failure.message.as_str()), wanted, "{name}");
    }
}

fn bounds_processes(own: &Arc<cgroup::Own>, backend: Backend, warm: bool) {
    if !own.controllers().contains(&"pids") {
        return;
    }
    let many = attack(
        "import _thread\n_thread.stack_size(1 << 18)\nfor n in range(60): _thread.start_new_thread(time.sleep, (30,))\ntime.sleep(0.3)\nescaped = True",
    );
    let run = |cgroup| bench(backend, warm, &[Layer::Watchdog], cgroup).run(&many, json!({}));
    let capped = run(Some(Arc::clone(own)));
    // The kernel counts an ordinary user's processes in any case.
    if rustix::process::geteuid().is_root() {
        check("sixty threads", &run(None), &capped);
    }
    assert!(!escaped(&capped), "{capped:?}");
    let within = many.replace("range(60)", "range(20)");
    assert!(
        escaped(&bench(backend, warm, &[], Some(Arc::clone(own))).run(&within, json!({}))),
        "what was planned is there"
    );
}

/// Files of the call's own are charged to it as well, and are no memory of the executor.
fn leaves_room(own: &Arc<cgroup::Own>, backend: Backend, warm: bool) {
    let bench = bench(backend, warm, &[], Some(Arc::clone(own)));
    let full = "def run(args, ctx):\n    import os\n    block = b'x' * (96 << 20)\n    for folder in (ctx.stage, os.environ['TMPDIR']):\n        with open(folder + '/x', 'wb') as file: file.write(block[:(4 << 20) - 65536])\n    return {'ok': True, 'taken': len(block)}\n";
    assert_eq!(ok(&bench.run(full, json!({})))["taken"], 96 << 20);
    let crashed = bench.run("import os\nos.abort()\n", json!({}));
    assert!(crashed.reply.unwrap_err().message.contains("signal"), "no other end is taken for that");
}

/// Nobody moves out, and of the cgroups around one's own none is named.
fn stays(own: &Arc<cgroup::Own>, backend: Backend, warm: bool) {
    let leaf = std::fs::read_dir(own.folder()).unwrap().flatten().map(|entry| entry.path());
    let leaf = leaf.into_iter().find(|path| path.to_string_lossy().contains("metnos-core-")).unwrap();
    let leave = attack("open(args['procs'], 'w').write('0')\nescaped = True");
    let run = |backend, warm| {
        let bench = bench(backend, warm, &[], Some(Arc::clone(own)));
        bench.run(&leave, json!({"procs": leaf.join("cgroup.procs")}))
    };
    check("moving out", &run(Backend::None, false), &run(backend, warm));
    if backend != Backend::Landlock {
        let looks =
            "def run(args, ctx):\n    return {'ok': True, 'seen': open('/proc/self/cgroup').read().splitlines()}\n";
        let seen = bench(backend, warm, &[], Some(Arc::clone(own))).run(looks, json!({}));
        let seen: Vec<&str> = ok(&seen)["seen"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
        assert!(seen.contains(&"0::/"), "{seen:?}");
    }
}

/// Without a cage nothing but the helper ends what a call has left; a helper that is killed does not.
fn ends_what_is_left(own: &Arc<cgroup::Own>) {
    let code = "import os, signal, time\ndef run(args, ctx):\n    if os.fork() == 0:\n        os.setsid()\n        open(args['beat'], 'w').write(str(os.getpid()))\n        time.sleep(60)\n    while not os.path.exists(args['beat']) or not os.path.getsize(args['beat']): time.sleep(0.005)\n    os.kill(os.getppid(), signal.SIGKILL)\n    time.sleep(60)\n";
    let is_alive = |cgroup| {
        let bench = bench(Backend::None, false, &[], cgroup);
        let beat = bench.path("beat");
        assert_eq!(class(&bench.run(code, json!({"beat": beat}))), "crashed");
        let left: i32 = std::fs::read_to_string(&beat).unwrap().parse().unwrap();
        let status = std::fs::read_to_string(format!("/proc/{left}/status")).unwrap_or_default();
        let is_alive = status.contains("State:") && !status.contains("State:\tZ");
        if is_alive {
            let left = rustix::process::Pid::from_raw(left).unwrap();
            rustix::process::kill_process(left, rustix::process::Signal::KILL).unwrap();
        }
        is_alive
    };
    assert!(is_alive(None), "the control: it lives on");
    assert!(!is_alive(Some(Arc::clone(own))), "it ends with the cgroup");
}
