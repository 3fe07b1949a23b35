//! Calls in cages that waited for them: the same as those in cages that are built for them, only sooner; and what keeps such
//! cages.

use std::ffi::OsStr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use metnos::broker::{Canned, Grants, target};
use metnos::sandbox::{CageReport, CallFailure, CancelFlag, Grant, Outcome, Warm, WarmCounts};
use metnos_projections::rules::cage_plan::Limits;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{Bench, LIMITS, class, grant, ok};

const GOOD: &str = "def run(args, ctx):\n    return {'ok': True}\n";
/// With file systems of the size that those of a waiting cage have: nothing is mounted for such a call.
const USUAL: Limits = Limits { stage_bytes: 16 << 20, tmp_bytes: 32 << 20, ..LIMITS };
const PATIENCE: Duration = Duration::from_secs(20);

#[track_caller]
fn until(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// One call, to be made in both kinds of cage.
struct Case {
    name: &'static str,
    code: String,
    args: Value,
    grants: fn(&Path) -> Vec<Grant>,
    limits: Limits,
    net: Option<fn() -> Grants>,
    cancelled: bool,
    /// Whether a cage that waits can have it.
    warm: bool,
}

impl Case {
    fn new(name: &'static str, code: &str) -> Self {
        let (code, limits) = (code.to_owned(), LIMITS);
        Self { name, code, args: json!({}), grants: |_| vec![], limits, net: None, cancelled: false, warm: true }
    }

    fn run(&self, bench: &mut Bench, folder: &Path) -> Outcome {
        bench.limits = self.limits;
        let mut args = self.args.clone();
        args["folder"] = json!(folder);
        let cancel = CancelFlag::new().unwrap();
        if self.cancelled {
            let raised = cancel.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(200));
                raised.cancel();
            });
        }
        bench.full(&self.code, args, (self.grants)(folder), cancel, self.net.map(|net| net()))
    }
}

/// A broker that fetches nothing.
fn nothing() -> Grants {
    Grants {
        hosts: Vec::new(),
        read_only: true,
        max_body_bytes: 1 << 10,
        max_request_bytes: 1 << 10,
        max_requests: 4,
        timeout: Duration::from_secs(5),
        canned: None,
    }
}

/// A broker that has one answer, and dials nobody.
fn canned() -> Grants {
    let headers = [].into();
    let answer = Canned::Answer { status: 200, headers, body: b"canned".to_vec(), url: None, truncated: false };
    Grants {
        hosts: vec![target::grant_for("http://example.org/", true).unwrap()],
        canned: Some([("http://example.org/".to_owned(), answer)].into()),
        ..nothing()
    }
}

const FORBIDDEN: &str = "def run(args, ctx):\n    try: ctx.http('GET', 'http://127.0.0.1:1/')\n    except ctx.Failure as failure: return {'ok': True, 'why': [failure.error_class, failure.message]}\n";

/// Wraps lines that fill `seen`; what they raise is seen, too, as its kind and number.
fn looks(lines: &str) -> String {
    let lines = lines.lines().collect::<Vec<_>>().join("\n    ");
    format!(
        "
import os, sys
seen = {{}}
def tried(work):
    try: return work()
    except BaseException as error: return type(error).__name__ + ' ' + str(getattr(error, 'errno', None))
def run(args, ctx):
    {lines}
    return {{'ok': True, 'seen': seen}}
"
    )
}

/// All that an executor can see of the cage itself.
const SURROUNDINGS: &str = "
seen['env'] = dict(os.environ)
seen['argv'] = sys.argv, sys.path, sys.flags.isolated, sorted(sys.modules), os.getcwd(), os.getpid(), os.getuid()
seen['fds'] = sorted(tried(lambda: os.readlink('/proc/self/fd/' + fd).split(':')[0]) for fd in os.listdir('/proc/self/fd'))
status = open('/proc/self/status').read().splitlines()
seen['status'] = [line for line in status if line.split(':')[0] in ('Uid', 'Gid', 'Groups', 'NoNewPrivs', 'Seccomp', 'Seccomp_filters', 'CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'SigIgn', 'SigBlk', 'SigCgt', 'Umask')]
seen['limits'] = [line for line in open('/proc/self/limits') if not line.startswith('Max processes')]
seen['oom'] = open('/proc/self/oom_score_adj').read()
seen['mounts'] = sorted(line.split(' - ')[0].split()[4] + ' ' + line.split(' - ')[0].split()[5] for line in open('/proc/self/mountinfo'))
seen['listed'] = [tried(lambda: sorted(os.listdir(path))) for path in ('/', '/dev', '/proc/self/task', '/etc', '/tmp', '/home', '/usr', '/run', ctx.stage)]
seen['mode'] = [tried(lambda: oct(os.stat(path).st_mode)) for path in ('/', '/dev', '/etc', '/tmp', ctx.stage, '/dev/null')]
seen['made'] = [tried(lambda: open(path + '/x', 'w').write('x')) for path in ('/', '/dev', '/etc', '/tmp', ctx.stage)]
seen['room'] = [(os.statvfs(path).f_blocks, os.statvfs(path).f_files) for path in ('/', '/tmp', ctx.stage)]
seen['left'] = 0 < ctx.remaining() <= 10
seen['zone'] = ctx.timezone, ctx.language, ctx.stage, ctx._net < 0
";

/// Tries everything on everything below the granted folder, and at last on the places that lead to it.
const EVERYWHERE: &str = "
paths = [args['folder'] + '/' + name for name in ('a', 'closed', 'closed/x', 'sub', 'sub/secret', 'sub/b', 'sub/deep', 'sub/deep/c', 'link', 'other', 'no')]
while os.path.dirname(paths[-1]) != '/':
    paths.append(os.path.dirname(paths[-1]))
for path in paths + ['/etc/passwd', '/etc']:
    seen[path] = [
        tried(lambda: open(path).read()),
        tried(lambda: sorted(os.listdir(path))),
        tried(lambda: oct(os.lstat(path).st_mode)),
        tried(lambda: open(path, 'a').close()),
        tried(lambda: open(path + '/new', 'w').close()),
        tried(lambda: os.chmod(path, 0o777)),
        tried(lambda: os.utime(path)),
        tried(lambda: os.unlink(path)),
        tried(lambda: os.rename(path, path + '.old')),
        tried(lambda: os.access(path, os.R_OK)),
        tried(lambda: os.execv(path, [path])),
    ]
seen['mounts'] = sorted(line.split(' - ')[0].split()[4] + ' ' + line.split(' - ')[0].split()[5] for line in open('/proc/self/mountinfo'))
";

const WRITES: &str = "def run(args, ctx):\n    path = args['folder'] + '/sub/deep/w'\n    open(path, 'w').write('new')\n    return {'ok': True, 'content': open(path).read()}\n";

fn masked(folder: &Path) -> Vec<Grant> {
    let mut granted = grant(folder, false);
    granted.masks = ["closed", "sub/secret"].map(|name| folder.join(name)).to_vec();
    vec![granted]
}

fn below_each_other(folder: &Path) -> Vec<Grant> {
    vec![grant(&folder.join("sub/deep"), false), grant(folder, false), grant(&folder.join("other"), false)]
}

fn several(folder: &Path) -> Vec<Grant> {
    vec![
        grant(&folder.join("a"), false),
        grant(&folder.join("sub/deep"), false),
        grant(Path::new("/etc/passwd"), false),
    ]
}

fn for_writing(folder: &Path) -> Vec<Grant> {
    vec![grant(&folder.join("sub/deep"), true)]
}

fn cases() -> Vec<Case> {
    let larger = Limits { stage_bytes: 6 << 20, tmp_bytes: 1 << 20, open_files: 40, ..LIMITS };
    let fill = "import os\ndef run(args, ctx):\n    kept = []\n    for place in (ctx.stage, os.environ['TMPDIR']):\n        written = 0\n        try:\n            with open(place + '/x', 'wb', 0) as file:\n                while written < 1 << 26: written += file.write(b'x' * (1 << 16))\n        except OSError as error: kept.append(error.errno)\n        kept.append(written)\n    return {'ok': True, 'kept': kept}\n";
    let flood = "def run(args, ctx):\n    import os\n    os.write(ctx._channel, (1 << 30).to_bytes(4, 'big'))\n    line = b'x' * (1 << 20)\n    for n in range(1024): os.write(ctx._channel, line)\n    return {'ok': True}\n";
    let forge = "def run(args, ctx):\n    import os\n    body = b'{\"reply\":{\"ok\":true}}'\n    for n in range(2): os.write(ctx._channel, len(body).to_bytes(4, 'big') + body)\n    os._exit(0)\n";
    let fetch = "def run(args, ctx):\n    first = ctx.http('GET', 'http://example.org/')\n    try: ctx.http('GET', 'http://127.0.0.1:1/')\n    except ctx.Failure as failure: second = [failure.error_class, failure.message]\n    return {'ok': True, 'status': first.status, 'body': first.body.decode(), 'second': second}\n";
    let multiply = "import os, time\ndef run(args, ctx):\n    made = 0\n    try:\n        while made < 40:\n            if os.fork() == 0: time.sleep(30)\n            made += 1\n    except OSError as error: return {'ok': True, 'made': made, 'why': error.errno}\n    time.sleep(5)\n    return {'ok': True, 'made': made}\n";
    let few = Limits { processes: 9, ..LIMITS };
    let said = "import sys\ndef run(args, ctx):\n    print('out' * 50000)\n    print('err', file=sys.stderr)\n    ctx.log('seen')\n    open(ctx.stage + '/kept', 'w').write('bytes')\n    return {'ok': True, 'text': 'é🦀'}\n";
    let at_import =
        "import os\ntext = open('/etc/passwd').read()\ndef run(args, ctx):\n    return {'ok': True, 'n': len(text)}\n";
    vec![
        Case::new("surroundings", &looks(SURROUNDINGS)),
        Case { limits: larger, ..Case::new("other limits", &looks(SURROUNDINGS)) },
        Case { limits: USUAL, ..Case::new("usual limits", &looks(SURROUNDINGS)) },
        Case { net: Some(nothing), ..Case::new("surroundings with a network", &looks(SURROUNDINGS)) },
        Case { net: Some(canned), ..Case::new("answers laid out", fetch) },
        Case { net: Some(nothing), ..Case::new("requests that are refused", FORBIDDEN) },
        Case { grants: masked, ..Case::new("a folder under masks", &looks(EVERYWHERE)) },
        Case { grants: below_each_other, ..Case::new("grants below each other", &looks(EVERYWHERE)) },
        Case { grants: several, ..Case::new("several grants", &looks(EVERYWHERE)) },
        Case { grants: several, ..Case::new("what is granted is there from the first line", at_import) },
        Case { grants: for_writing, warm: false, ..Case::new("for writing", WRITES) },
        // The machine's own trees are listed, however large and slow they are.
        Case {
            grants: |_| vec![grant(Path::new("/"), false)],
            limits: Limits { wall_ms: 120_000, ..LIMITS },
            warm: false,
            ..Case::new("all", &looks(EVERYWHERE))
        },
        Case { grants: |_| vec![grant(Path::new("/usr"), false)], warm: false, ..Case::new("the runtime", GOOD) },
        Case::new("output, log and stage", said),
        Case::new("room", fill),
        Case { limits: larger, ..Case::new("other room", fill) },
        Case::new("memory", "def run(args, ctx):\n    block = bytearray(200 << 20)\n    return {'ok': True}\n"),
        Case {
            limits: Limits { memory_mb: 512, ..LIMITS },
            ..Case::new(
                "more memory",
                "def run(args, ctx):\n    block = bytearray(200 << 20)\n    return {'ok': True}\n",
            )
        },
        Case { limits: Limits { wall_ms: 300, ..LIMITS }, ..Case::new("deadline", "while True: pass\n") },
        Case { limits: Limits { cpu_s: 1, ..LIMITS }, ..Case::new("processor", "while True: pass\n") },
        Case { cancelled: true, ..Case::new("cancel", "import time\ntime.sleep(60)\n") },
        // What bounds their number is another for root: there a watchdog ends it all.
        Case { limits: few, ..Case::new("processes", multiply) },
        Case { limits: Limits { processes: 9, ..USUAL }, ..Case::new("processes, no mounts", multiply) },
        Case { limits: few, grants: several, ..Case::new("processes beside grants", multiply) },
        Case::new("two replies", forge),
        Case::new("a reply of a gigabyte", flood),
        Case {
            args: json!({ "long": "é".repeat(70_000) }),
            ..Case::new("long both ways", "def run(args, ctx):\n    return {'ok': True, 'twice': args['long'] * 2}\n")
        },
        Case::new("an end without an answer", "import os\nos._exit(7)\n"),
        Case::new(
            "what other languages wrote",
            "import ctypes\ndef run(args, ctx):\n    return {'ok': True, 'pid': ctypes.CDLL(None).getpid()}\n",
        ),
        Case::new("a fault", "def run(args, ctx):\n    return 1 / 0\n"),
        Case::new("no program", "def run(args, ctx:\n"),
    ]
}

type Seen = (Result<Value, CallFailure>, Vec<String>, Vec<(String, u64)>, CageReport);

fn seen(outcome: &Outcome) -> Seen {
    let staged = outcome.stage.as_ref().map(|stage| stage.list().unwrap()).unwrap_or_default();
    let streams = [&outcome.stdout, &outcome.stderr].map(|stream| format!("{} {}", stream.total, stream.text()));
    let said = streams.into_iter().chain(outcome.log.clone()).collect();
    (outcome.reply.clone(), said, staged, CageReport { warm: false, ..outcome.report.clone() })
}

#[test]
fn a_warm_call_is_a_cold_one_that_began_earlier() {
    let (mut cold, mut warm) = (Bench::only(false), Bench::only(true));
    let folder = cold.path("granted");
    for name in ["closed", "sub/deep"] {
        std::fs::create_dir_all(folder.join(name)).unwrap();
    }
    for name in ["a", "closed/x", "sub/secret", "sub/b", "sub/deep/c", "other"] {
        std::fs::write(folder.join(name), name).unwrap();
    }
    symlink(folder.join("sub/secret"), folder.join("link")).unwrap();
    let mut looked = 0;
    for case in cases() {
        let (one, other) = (case.run(&mut cold, &folder), case.run(&mut warm, &folder));
        assert_eq!((one.report.warm, other.report.warm), (false, case.warm), "{}: {:?}", case.name, other.reply);
        assert_eq!(seen(&one), seen(&other), "{}", case.name);
        if let Some(mounts) = one.reply.as_ref().ok().and_then(|reply| reply["seen"]["mounts"].as_array()) {
            // Else whoever is first to read there is its writer for an instant, and it cannot be closed again.
            let root = mounts.iter().filter_map(|mount| mount.as_str()).find(|mount| mount.starts_with("/ "));
            assert!(root.unwrap().contains("ro,") && root.unwrap().contains("noatime"), "{}: {root:?}", case.name);
            looked += 1;
        }
        assert_eq!(one.connections, other.connections, "{}", case.name);
        assert_eq!(one.connections.is_empty(), case.name != "requests that are refused", "{}", case.name);
    }
    assert_eq!(std::fs::read(folder.join("sub/secret")).unwrap(), b"sub/secret", "what is masked was not touched");
    assert!(looked > 4, "only {looked} cases list the mounts");
    assert_eq!(warm.sandbox.warm_counts().failed, 0);
    assert_eq!(cold.sandbox.warm_counts(), WarmCounts::default());
}

/// A bench whose sandbox keeps cages, with as many waiting as it keeps.
fn kept(warm: Warm) -> Bench {
    let bench = Bench::with_fresh_helpers();
    bench.sandbox.keep_warm(warm);
    assert!(!bench.run(GOOD, json!({})).report.warm, "the first call finds none");
    until("they are built", || bench.sandbox.warm_counts().waiting == warm.size);
    bench
}

/// The helpers of this process's cages. Only where nothing runs beside it.
fn helpers() -> Vec<i32> {
    children(std::process::id().cast_signed())
}

fn children(pid: i32) -> Vec<i32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>()).collect()
}

fn is_dead(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_none_or(|rest| rest.trim().is_empty() || rest.trim().starts_with('Z'))
}

fn kill(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// The end of a process takes the longer the more pages are mapped, and a warm call is mostly that.
#[test]
fn what_waited_holds_fewer_pages() {
    let code = "def run(args, ctx):\n    return {'ok': True, 'pages': open('/proc/self/statm').read().split()}\n";
    let pages = |warm| {
        let outcome = Bench::only(warm).run(code, json!({}));
        assert_eq!(outcome.report.warm, warm);
        // Resident, and those of them that lie in files (proc(5)).
        [1, 2].map(|at| ok(&outcome)["pages"][at].as_str().unwrap().parse::<u64>().unwrap())
    };
    let (cold, warm) = (pages(false), pages(true));
    assert!(warm[0] < cold[0] && warm[1] * 4 < cold[1] * 3, "{cold:?} {warm:?}");
}

/// What is said of a call may be longer than what a socket holds.
#[test]
fn a_warm_call_may_have_thousands_of_closed_paths() {
    let bench = Bench::only(true);
    let folder = bench.path("many");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("open"), "x").unwrap();
    let masks: Vec<PathBuf> = (0..3000).map(|number| folder.join(format!("{number:0>100}"))).collect();
    for path in &masks {
        std::fs::write(path, "secret").unwrap();
    }
    let granted = Grant { masks, ..grant(&folder, false) };
    let code = "def run(args, ctx):\n    def read(name):\n        try: return open(args['folder'] + '/' + name).read()\n        except PermissionError: return 'closed'\n    return {'ok': True, 'read': [read('open'), read('0' * 100), read('2999'.rjust(100, '0'))]}\n";
    let outcome = bench.run_with(code, json!({ "folder": folder }), vec![granted]);
    assert!(outcome.report.warm, "{:?}", outcome.reply);
    assert_eq!(ok(&outcome)["read"], json!(["x", "closed", "closed"]));
}

/// Each has its own `exec`: nothing of one call's layout, hashes or namespaces is another's.
#[test]
fn no_two_calls_share_a_cage() {
    let bench = kept(Warm::default());
    let code = "import os\nmark = []\ndef run(args, ctx):\n    spaces = [os.stat('/proc/self/ns/' + name).st_ino for name in ('user', 'mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup')]\n    left = os.listdir(ctx.stage) + os.listdir('/tmp')\n    open('/tmp/x', 'w').close(); open(ctx.stage + '/x', 'w').close()\n    return {'ok': True, 'hash': hash('metnos'), 'place': id(mark), 'spaces': spaces, 'left': left, 'pid': os.getpid()}\n";
    let calls = [(), ()].map(|()| {
        let outcome = bench.run(code, json!({}));
        assert!(outcome.report.warm);
        ok(&outcome).clone()
    });
    for part in ["hash", "place", "spaces"] {
        assert_ne!(calls[0][part], calls[1][part], "{part}");
    }
    assert_eq!([&calls[0]["left"], &calls[1]["left"]], [&json!([]), &json!([])]);
    assert_eq!(calls[0]["pid"], 1);
}

#[test]
fn cages_wait_as_long_and_as_many_as_was_said() {
    crate::support::alone("warm::what_is_kept");
}

#[test]
#[ignore = "run alone by cages_wait_as_long_and_as_many_as_was_said, which counts processes"]
fn what_is_kept() {
    let idle = Duration::from_secs(4);
    let mut bench = kept(Warm { size: 3, idle });
    until("what was called is compiled", || helpers().len() == 3);
    let waiting = helpers();
    // Other limits and other grants are the same cage; with a network, or with another environment, it is not.
    bench.limits.memory_mb = 77;
    bench.limits.stage_bytes = 5 << 20;
    assert!(bench.run_with(GOOD, json!({}), vec![grant(Path::new("/etc/passwd"), false)]).report.warm);
    until("it is replaced", || bench.sandbox.warm_counts().waiting == 3 && helpers().len() == 3);
    assert_eq!(helpers().iter().filter(|pid| waiting.contains(pid)).count(), 2, "one was used, and is gone");
    let with_net = || bench.full(GOOD, json!({}), Vec::new(), CancelFlag::new().unwrap(), Some(nothing())).report.warm;
    let before = helpers();
    assert!(!with_net(), "no cage with a broker waits yet");
    until("two of the others make room", || {
        let left = helpers().into_iter().filter(|pid| before.contains(pid)).count();
        left == 1 && helpers().len() == 3 && bench.sandbox.warm_counts().waiting == 3
    });
    let called = Instant::now();
    assert!(with_net() && bench.run(GOOD, json!({})).report.warm, "some of each kind wait");
    until("they go", || bench.sandbox.warm_counts().waiting == 0 && helpers().is_empty());
    assert!(called.elapsed() >= idle, "{:?}", called.elapsed());
    assert!(!bench.run(GOOD, json!({})).report.warm);
    until("they come back", || bench.sandbox.warm_counts().waiting == 3);
    let left = helpers();
    drop(bench);
    assert!(left.iter().all(|pid| is_dead(*pid)), "a sandbox that is closed leaves none");
}

#[test]
fn a_cage_that_is_of_no_use_costs_the_call_nothing_but_time() {
    crate::support::alone("warm::what_fails");
}

#[test]
#[ignore = "run alone by a_cage_that_is_of_no_use_costs_the_call_nothing_but_time, which kills what waits"]
fn what_fails() {
    let bench = kept(Warm::default());
    let failed = || bench.sandbox.warm_counts().failed;
    let again = || {
        until("they are replaced", || bench.sandbox.warm_counts().waiting == 2 && helpers().len() == 2);
        assert!(bench.run(GOOD, json!({})).report.warm);
        until("the last one is replaced", || bench.sandbox.warm_counts().waiting == 2 && helpers().len() == 2);
    };
    // What waits is dead: its helper, or the interpreter.
    for inner in [false, true] {
        again();
        let before = failed();
        let killed = helpers();
        let killed: Vec<i32> = if inner { killed.into_iter().flat_map(children).collect() } else { killed };
        assert_eq!(killed.len(), 2);
        killed.iter().copied().for_each(kill);
        until("they are dead", || killed.iter().all(|pid| is_dead(*pid)));
        for number in 1..=2 {
            let outcome = bench.run(GOOD, json!({}));
            assert!(!outcome.report.warm && ok(&outcome)["ok"] == true, "{outcome:?}");
            assert_eq!(failed(), before + number);
        }
    }
    // What was granted is not what is there.
    again();
    let file = bench.path("file");
    std::fs::write(&file, "x").unwrap();
    let held = grant(&file, false);
    std::fs::rename(&file, bench.path("elsewhere")).unwrap();
    std::fs::write(&file, "y").unwrap();
    let before = failed();
    let outcome = bench.run_with(GOOD, json!({}), vec![held]);
    assert_eq!((class(&outcome), failed()), ("target_changed", before + 1));
    again();
}

#[test]
fn warm_calls_leave_nothing_behind() {
    crate::support::alone("warm::two_hundred_calls");
}

#[test]
#[ignore = "run alone by warm_calls_leave_nothing_behind"]
fn two_hundred_calls() {
    let bench = kept(Warm::default());
    let granted = bench.path("granted");
    std::fs::create_dir(&granted).unwrap();
    let code = "import os\ndef run(args, ctx):\n    open(ctx.stage + '/x', 'w').write('y')\n    if args['fails']: os._exit(1)\n    return {'ok': True}\n";
    let count = |folder: &str| std::fs::read_dir(folder).unwrap().count();
    let state = || {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap().lines().count();
        (count("/proc/self/fd"), mounts, helpers().len(), count("/proc/self/task"))
    };
    // The helper of the last call goes in its own time, and what the pool held of it a moment later.
    let settled = || {
        until("they wait, and no others are left", || bench.sandbox.warm_counts().waiting == 2 && helpers().len() == 2);
        let mut last = state();
        for _ in 0..100 {
            std::thread::sleep(Duration::from_millis(100));
            let now = state();
            if now == last {
                return now;
            }
            last = now;
        }
        panic!("something always changes: {last:?}");
    };
    let call = |number: u32| {
        let grants = if number.is_multiple_of(2) { vec![grant(&granted, false)] } else { Vec::new() };
        bench.run_with(code, json!({"fails": number.is_multiple_of(5)}), grants)
    };
    call(0);
    until("what is called is compiled", || {
        until("one waits", || bench.sandbox.warm_counts().waiting > 0);
        call(1);
        bench.sandbox.warm_counts().compiled > 0
    });
    let before = settled();
    for number in 0..200 {
        until("one waits", || bench.sandbox.warm_counts().waiting > 0);
        assert!(call(number).report.warm, "{number}: {:?}", bench.sandbox.warm_counts());
    }
    assert_eq!(settled(), before, "descriptors, mounts, helpers, threads");
    assert_eq!(count(bench.path("cages").to_str().unwrap()), 2, "lock files of those that wait");
    assert_eq!(bench.sandbox.warm_counts().failed, 0);
}

/// The other half of `nothing_waits_for_a_killed_daemon`: a daemon between two calls.
#[test]
#[ignore = "run by nothing_waits_for_a_killed_daemon, which kills it"]
fn a_daemon_that_is_killed() {
    let Some(folder) = std::env::var_os("METNOS_TEST_FOLDER") else { return };
    let _bench = kept(Warm::default());
    tell_who_waits(&folder, 2);
    std::thread::sleep(PATIENCE);
}

/// Writes down the helpers of so many cages that wait, and their interpreters after them.
fn tell_who_waits(folder: &OsStr, count: usize) {
    until("what was called is compiled", || helpers().len() == count);
    let waiting: Vec<i32> = helpers();
    let all: Vec<i32> = waiting.iter().copied().chain(waiting.iter().flat_map(|pid| children(*pid))).collect();
    let folder = PathBuf::from(folder);
    std::fs::write(folder.join("new"), json!(all).to_string()).unwrap();
    std::fs::rename(folder.join("new"), folder.join("waiting")).unwrap();
}

#[test]
fn nothing_waits_for_a_killed_daemon() {
    // Nor does it where somebody has stopped the helpers.
    for stops in [false, true] {
        kill_a_daemon(stops);
    }
}

/// Starts the other half of a test as a process of its own; also says who waits there.
fn daemon(half: &str, folder: &Path) -> (Child, Vec<i32>) {
    let daemon = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", half])
        .env("METNOS_TEST_FOLDER", folder)
        // It cannot clean up after itself.
        .env("TMPDIR", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("cages wait", || folder.join("waiting").exists());
    (daemon, serde_json::from_slice(&std::fs::read(folder.join("waiting")).unwrap()).unwrap())
}

/// The other half of `a_stopped_daemon_takes_no_deadline_away`: it stops as soon as what waited has a call.
#[test]
#[ignore = "run by a_stopped_daemon_takes_no_deadline_away, which kills it"]
fn a_daemon_that_is_stopped() {
    let Some(folder) = std::env::var_os("METNOS_TEST_FOLDER") else { return };
    let mut bench = kept(Warm { size: 1, ..Warm::default() });
    bench.limits = Limits { wall_ms: 1000, ..USUAL };
    tell_who_waits(&folder, 1);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while bench.sandbox.warm_counts().taken == 0 {
                std::hint::spin_loop();
            }
            kill_process(rustix::process::getpid(), Signal::STOP).unwrap();
        });
        bench.run("import time\ntime.sleep(60)\n", json!({}));
    });
}

/// Whoever has a call has somebody who keeps its deadline, whatever becomes of the daemon.
#[test]
fn a_stopped_daemon_takes_no_deadline_away() {
    let folder = tempfile::tempdir().unwrap();
    let (mut daemon, waiting) = daemon("warm::a_daemon_that_is_stopped", folder.path());
    assert_eq!(waiting.len(), 2, "a helper, an interpreter");
    let state = || std::fs::read_to_string(format!("/proc/{}/stat", daemon.id())).unwrap();
    until("it stops", || state().rsplit(')').next().is_some_and(|rest| rest.trim().starts_with('T')));
    assert!(waiting.iter().all(|pid| !is_dead(*pid)), "the control: they are seen while they live");
    until("the deadline is kept", || waiting.iter().all(|pid| is_dead(*pid)));
    assert!(state().contains(") T "), "the daemon has slept through it");
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}

fn kill_a_daemon(stops: bool) {
    let folder = tempfile::tempdir().unwrap();
    let (mut daemon, waiting) = daemon("warm::a_daemon_that_is_killed", folder.path());
    assert_eq!(waiting.len(), 4, "two helpers, two interpreters");
    assert!(waiting.iter().all(|pid| !is_dead(*pid)), "the control: they are seen while they live");
    for helper in waiting.iter().take(2).filter(|_| stops) {
        kill_process(Pid::from_raw(*helper).unwrap(), Signal::STOP).unwrap();
    }
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    until("a waiting cage outlived its daemon", || waiting.iter().all(|pid| is_dead(*pid)));
}
