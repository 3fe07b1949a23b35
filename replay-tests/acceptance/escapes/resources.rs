//! Using more than was planned: memory, output, time, room; and saying more than one answer.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use metnos::sandbox::{Backend, CancelFlag, Layer};
use serde_json::json;

use super::{attack, check, escaped};
use crate::support::{Bench, class, ok};

#[test]
fn eight_gigabytes() {
    let private = "block = bytearray(8 << 30)\nescaped = True";
    let shared = "import mmap\nm = mmap.mmap(-1, args['mb'] << 20)\nfor at in range(0, args['mb'] << 20, 4096): m[at] = 1\nescaped = True";
    for backend in crate::support::caged() {
        let bench = Bench::open(backend, &[]);
        assert!(!escaped(&bench.run(&attack(private), json!({}))));
        assert!(!escaped(&bench.run(&attack(shared), json!({"mb": 8192}))));
        // What the syscall filter denies is watched all the same.
        let watched = Bench::open(backend, &[Layer::Seccomp]);
        let began = Instant::now();
        assert!(!escaped(&watched.run(&attack(shared), json!({"mb": 8192}))));
        assert!(began.elapsed() < Duration::from_secs(8), "it was stopped long before it was done");
        // The controls take twice the limit, not eight gigabytes: the machine is others' too.
        let control = Bench::open(backend, &[Layer::Limits, Layer::Watchdog]);
        let taken = "block = bytearray(256 << 20)\nfor at in range(0, 256 << 20, 4096): block[at] = 1\nescaped = True";
        check("private memory", &control.run(&attack(taken), json!({})), &bench.run(&attack(taken), json!({})));
        let hold = format!("{shared}\ntime.sleep(0.1)");
        let unfiltered = Bench::open(backend, &[Layer::Limits, Layer::Watchdog, Layer::Seccomp]);
        let taken = unfiltered.run(&attack(&hold), json!({"mb": 256}));
        check("shared memory, filtered", &taken, &control.run(&attack(&hold), json!({"mb": 256})));
        check("shared memory, watched", &taken, &watched.run(&attack(&hold), json!({"mb": 256})));
    }
}

/// Shared memory that is not mapped any more is there as long as the mapping, and no process has it: no limit of a process
/// and no watchdog counts it.
#[test]
fn memory_that_nobody_has() {
    let kept = "import mmap\nkept = []\nfor n in range(16):\n    m = SOURCE\n    m.write(b'x' * (16 << 20))\n    m.madvise(mmap.MADV_DONTNEED)\n    kept.append(m)\nescaped = True";
    let sources = [
        ("of no file", "mmap.mmap(-1, 16 << 20)", Layer::Seccomp),
        ("of the file of zeros", "mmap.mmap(os.open('/dev/zero', os.O_RDWR), 16 << 20)", Layer::Landlock),
    ];
    for backend in crate::support::caged() {
        let caged = Bench::open(backend, &[]);
        for (name, source, layer) in sources {
            // There landlock is all that there is.
            if (backend, layer) == (Backend::Landlock, Layer::Landlock) {
                continue;
            }
            let code = attack(&kept.replace("SOURCE", source));
            let control = Bench::open(backend, &[layer]);
            check(name, &control.run(&code, json!({})), &caged.run(&code, json!({})));
        }
    }
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_flood_on_stdout() {
    crate::support::alone("escapes::resources::half_a_gigabyte_on_stdout");
}

#[test]
#[ignore = "run alone by a_flood_on_stdout, since it measures the memory of its process"]
fn half_a_gigabyte_on_stdout() {
    let flood = "line = b'x' * (1 << 20)\nfor n in range(args['mb']):\n    os.write(1, line); os.write(2, line[:4096])\nescaped = True";
    let bench = Bench::native();
    bench.run(&attack(flood), json!({"mb": 1}));
    let before = resident_kib();
    let outcome = bench.run(&attack(flood), json!({"mb": 512}));
    let grown = resident_kib().saturating_sub(before);
    assert!(escaped(&outcome), "{outcome:?}");
    assert_eq!((outcome.stdout.bytes.len(), outcome.stdout.total), (64 * 1024, 512 << 20));
    assert!(outcome.stderr.bytes.len() <= 64 * 1024);
    assert!(grown <= 4096, "the daemon grew by {grown} KiB");
    let code = "import os\nfor n in range(64): os.write(1, b'x' * (1 << 20))";
    let control = Command::new(bench.sandbox.interpreter().path())
        .args(["-I", "-S", "-c", code])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(control.stdout.len(), 64 << 20);
    assert!(resident_kib() - before > 32 * 1024, "the control: a plain reader grows with what it reads");
}

#[test]
fn sleeping_past_the_deadline() {
    let code = "time.sleep(args['s'])\nescaped = True";
    for backend in crate::support::caged() {
        let mut bench = Bench::open(backend, &[]);
        assert!(escaped(&bench.run(&attack(code), json!({"s": 0.8}))), "the control: with time enough it answers");
        bench.limits.wall_ms = 400;
        let late = bench.run(&attack(code), json!({"s": 60}));
        assert_eq!(class(&late), "timeout");
        assert!(late.duration < Duration::from_millis(1400), "{:?}", late.duration);
        let busy = bench.run(&attack("while True: pass"), json!({}));
        assert_eq!(class(&busy), "timeout");
        let deaf = "import signal\nfor n in range(1, 65):\n    try: signal.signal(n, signal.SIG_IGN)\n    except Exception: pass\ntime.sleep(60)";
        assert_eq!(class(&bench.run(&attack(deaf), json!({}))), "timeout");
    }
}

#[test]
fn cancelled_from_outside() {
    let bench = Bench::native();
    let flag = CancelFlag::new().unwrap();
    let raised = flag.clone();
    let waiting = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        raised.cancel();
    });
    let began = Instant::now();
    let outcome = bench.call(&attack("time.sleep(60)"), json!({}), Vec::new(), flag.clone());
    assert_eq!(class(&outcome), "cancelled");
    assert!(began.elapsed() < Duration::from_secs(3));
    waiting.join().unwrap();
    assert_eq!(
        class(&bench.call(&attack("pass"), json!({}), Vec::new(), flag)),
        "cancelled",
        "a raised flag stays raised"
    );
}

#[test]
fn more_than_one_answer() {
    let forge = "def run(args, ctx):\n    import os\n    body = b'{\"reply\":{\"ok\":true,\"content\":\"forged\"}}'\n    for n in range(args['times']): os.write(ctx._channel, len(body).to_bytes(4, 'big') + body)\n    if args['leave']: os._exit(0)\n    return {'ok': True}\n";
    for backend in crate::support::caged() {
        let bench = Bench::open(backend, &[]);
        let once = bench.run(forge, json!({"times": 1, "leave": true}));
        assert_eq!(ok(&once)["content"], "forged", "the control: one answer is taken, whoever wrote it");
        assert_eq!(class(&bench.run(forge, json!({"times": 2, "leave": true}))), "contract_violation");
        assert_eq!(class(&bench.run(forge, json!({"times": 1, "leave": false}))), "contract_violation");
    }
}

#[test]
fn answers_that_are_none() {
    let bench = Bench::native();
    let returns = |what: &str| format!("def run(args, ctx):\n    return {what}\n");
    let cases = [
        (returns("[1]"), "contract_violation"),
        (returns("None"), "contract_violation"),
        (returns("{'content': 1}"), "contract_violation"),
        (returns("{'ok': True, 'a': {1, 2}}"), "non_json"),
        (returns("{'ok': True, 'a': float('nan')}"), "non_json"),
        (returns("{'ok': True, 'a': 1 << 64}"), "non_json"),
        (returns("{'ok': True, 'a': 'x' * (2 << 20)}"), "too_large"),
        (returns("1 / 0"), "crashed"),
        (returns("exit(0)"), "crashed"),
        ("def run(args, ctx:\n".to_owned(), "crashed"),
        ("x = 1\n".to_owned(), "contract_violation"),
        ("import os\nos._exit(0)\n".to_owned(), "crashed"),
        ("import os\nos.abort()\n".to_owned(), "crashed"),
        ("def run(args, ctx):\n    import os\n    os.write(ctx._channel, b'\\0\\0\\0\\x09{\"half\"')\n    os._exit(0)\n".to_owned(), "contract_violation"),
        ("def run(args, ctx):\n    import os\n    os.write(ctx._channel, b'\\xff\\xff\\xff\\xff')\n    os._exit(0)\n".to_owned(), "too_large"),
        ("def run(args, ctx):\n    import os\n    os.write(ctx._channel, b'\\0\\0\\0\\x04{}{}')\n    os._exit(0)\n".to_owned(), "non_json"),
        ("def run(args, ctx):\n    import ctypes\n    ctypes.string_at(0)\n".to_owned(), "crashed"),
    ];
    for (code, wanted) in &cases {
        assert_eq!(class(&bench.run(code, json!({}))), *wanted, "{code}");
    }
    let own = bench.run("def run(args, ctx):\n    raise ctx.Failure('not_found', 'no such thing')\n", json!({}));
    assert_eq!(*ok(&own), json!({"ok": false, "error_class": "not_found", "error": "no such thing"}));
}

#[test]
fn more_than_the_stage_holds() {
    for place in ["ctx.stage", "os.environ['TMPDIR']"] {
        let code = attack(&format!(
            "with open({place} + '/x', 'wb') as file:\n    for n in range(6): file.write(b'x' * (1 << 20))\nescaped = True"
        ));
        let caged = Bench::native();
        let mut control = Bench::native();
        control.limits.stage_bytes = 16 << 20;
        control.limits.tmp_bytes = 16 << 20;
        check(place, &control.run(&code, json!({})), &caged.run(&code, json!({})));
    }
    let large = attack(
        "with open(ctx.stage + '/x', 'wb') as file:\n    for n in range(12): file.write(b'x' * (1 << 20))\nescaped = True",
    );
    for backend in crate::support::caged() {
        let mut bench = Bench::open(backend, &[]);
        bench.limits.stage_bytes = 32 << 20;
        let caged = bench.run(&large, json!({}));
        bench.limits.file_bytes = 16 << 20;
        check("one large file", &bench.run(&large, json!({})), &caged);
    }
}
