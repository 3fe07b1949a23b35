//! One small program, run bare and run in a cage.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use metnos::broker::Grants;
use metnos::sandbox::{Call, CancelFlag, Grant, Outcome, Sandbox};
use metnos_projections::rules::cage_plan::{CagePlan, Limits, Net, SyscallProfile};
use serde_json::{Value, json};

/// What a bare interpreter needs to do the same work: take code and arguments as JSON, run, answer as JSON. By the module `json`,
/// as in the measurements that the goals were set by.
pub(crate) const PLAIN: &str = "
import json, sys
request = json.load(sys.stdin)
scope = {'__name__': 'executor'}
exec(compile(request['code'], 'main.py', 'exec'), scope)
class Context: language = 'en'; timezone = 'Europe/Rome'
json.dump(scope['run'](request['args'], Context()), sys.stdout)
";

/// The same without that module, which takes longer to load than all the rest: by the interpreter's own reader, as what runs in
/// a cage does.
pub(crate) const LEAN: &str = "
import _json, sys
class Reading:
    strict, memo, parse_float, parse_int = True, {}, float, int
    object_hook = object_pairs_hook = parse_constant = None
request = _json.make_scanner(Reading)(sys.stdin.read(), 0)[0]
scope = {'__name__': 'executor'}
exec(compile(request['code'], 'main.py', 'exec'), scope)
class Context: language = 'en'; timezone = 'Europe/Rome'
encode = _json.make_encoder({}, None, _json.encode_basestring_ascii, None, ':', ',', False, False, False)
sys.stdout.write(''.join(encode(scope['run'](request['args'], Context()), 0)))
";

pub(crate) const LIMITS: Limits = Limits {
    wall_ms: 10_000,
    cpu_s: 10,
    memory_mb: 128,
    processes: 24,
    file_bytes: 8 << 20,
    open_files: 64,
    output_bytes_max: 1 << 20,
    stage_bytes: 4 << 20,
    tmp_bytes: 4 << 20,
};

/// Linux' numbers for these.
const O_PATH: i32 = 0o10_000_000;
const O_CLOEXEC: i32 = 0o2_000_000;

static CALLS: AtomicU32 = AtomicU32::new(0);

/// `python3 -I -S -c pass`: the floor.
pub(crate) fn nothing(python: &Path) {
    let status = Command::new(python).args(["-I", "-S", "-c", "pass"]).status().expect("the interpreter starts");
    assert!(status.success());
}

/// `python3 -I -S` that does the work by one of the two programs.
pub(crate) fn bare(python: &Path, program: &str, code: &str, args: &Value) -> Value {
    worked(Command::new(python), program, code, args)
}

/// The same in bubblewrap, with the flags that the project's first documents had: the system's folders and the executor's
/// read-only, private file systems, no network, what is always on; no system call filter, no limits, no pid namespace.
pub(crate) fn bubblewrapped(python: &Path, program: &str, folder: &Path, code: &str, args: &Value) -> Value {
    let mut command = Command::new("bwrap");
    let system = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/etc", "/opt", "/var/lib/python3"];
    for shown in system.map(Path::new).into_iter().filter(|path| path.exists()).chain([folder]) {
        command.arg("--ro-bind").arg(shown).arg(shown);
    }
    command.args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--unshare-net", "--unshare-user"]);
    command.args(["--unshare-ipc", "--unshare-uts", "--die-with-parent", "--"]).arg(python);
    worked(command, program, code, args)
}

fn worked(mut command: Command, program: &str, code: &str, args: &Value) -> Value {
    command.args(["-I", "-S", "-c", program]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the interpreter starts");
    let request = json!({ "code": code, "args": args }).to_string();
    child.stdin.take().expect("it is piped").write_all(request.as_bytes()).expect("the interpreter reads");
    let output = child.wait_with_output().expect("the interpreter ends");
    serde_json::from_slice(&output.stdout).expect("an answer in JSON")
}

/// The same work in a cage without grants.
pub(crate) fn caged(sandbox: &Sandbox, folder: &Path, code: &str, args: &Value) -> Value {
    called(sandbox, folder, code, args, More::default()).reply.expect("the program answers")
}

/// What else a call may have.
pub(crate) struct More {
    pub(crate) limits: Limits,
    pub(crate) grants: Vec<Grant>,
    pub(crate) net: Option<Grants>,
}

impl Default for More {
    fn default() -> Self {
        Self { limits: LIMITS, grants: Vec::new(), net: None }
    }
}

/// A grant to read something that is there.
pub(crate) fn grant(path: &Path) -> Grant {
    let held = OpenOptions::new().read(true).custom_flags(O_PATH | O_CLOEXEC).open(path).expect("it is there");
    Grant { fd: held.into(), at: path.to_owned(), write: false, is_dir: path.is_dir(), masks: Vec::new() }
}

/// One call in a cage.
pub(crate) fn called(sandbox: &Sandbox, folder: &Path, code: &str, args: &Value, more: More) -> Outcome {
    let env = ["HOME", "LANG", "PATH", "TMPDIR"].map(str::to_owned).to_vec();
    let plan = CagePlan {
        mounts: Vec::new(),
        binaries: Vec::new(),
        parsers: Vec::new(),
        net: Net::None,
        env,
        syscalls: SyscallProfile::Standard,
        limits: more.limits,
    };
    sandbox.call(Call {
        plan: &plan,
        grants: more.grants,
        code: code.as_bytes(),
        ahead: true,
        args,
        context: &json!({ "turn_id": "t", "trace_id": "x", "language": "en", "timezone": "Europe/Rome" }),
        lock_file: &folder.join(format!("{}.lock", CALLS.fetch_add(1, Ordering::Relaxed))),
        needs_full: false,
        entry: metnos::sandbox::RUN,
        net: more.net,
        cancel: CancelFlag::new().expect("a descriptor is left"),
        progress: &|_| {},
    })
}
