//! One small program, run bare and run in a cage.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use metnos::sandbox::{Call, CancelFlag, Sandbox};
use metnos_projections::rules::cage_plan::{CagePlan, Limits, Net, SyscallProfile};
use serde_json::{Value, json};

/// What a bare interpreter needs to do the same work: take code and arguments as JSON, run, answer as JSON.
const BARE: &str = "
import json, sys
request = json.load(sys.stdin)
scope = {'__name__': 'executor'}
exec(compile(request['code'], 'main.py', 'exec'), scope)
class Context: language = 'en'; timezone = 'Europe/Rome'
json.dump(scope['run'](request['args'], Context()), sys.stdout)
";

const LIMITS: Limits = Limits {
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

static CALLS: AtomicU32 = AtomicU32::new(0);

/// `python3 -I -S -c pass`: the floor.
pub(crate) fn nothing(python: &Path) {
    let status = Command::new(python).args(["-I", "-S", "-c", "pass"]).status().expect("the interpreter starts");
    assert!(status.success());
}

/// `python3 -I -S` that does the work.
pub(crate) fn bare(python: &Path, code: &str, args: &Value) -> Value {
    let mut command = Command::new(python);
    command.args(["-I", "-S", "-c", BARE]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the interpreter starts");
    let request = json!({ "code": code, "args": args }).to_string();
    child.stdin.take().expect("it is piped").write_all(request.as_bytes()).expect("the interpreter reads");
    let output = child.wait_with_output().expect("the interpreter ends");
    serde_json::from_slice(&output.stdout).expect("an answer in JSON")
}

/// The same work in a cage without grants.
pub(crate) fn caged(sandbox: &Sandbox, folder: &Path, code: &str, args: &Value) -> Value {
    let env = ["HOME", "LANG", "PATH", "TMPDIR"].map(str::to_owned).to_vec();
    let plan = CagePlan {
        mounts: Vec::new(),
        binaries: Vec::new(),
        parsers: Vec::new(),
        net: Net::None,
        env,
        syscalls: SyscallProfile::Standard,
        limits: LIMITS,
    };
    let outcome = sandbox.call(Call {
        plan: &plan,
        grants: Vec::new(),
        code: code.as_bytes(),
        args,
        context: &json!({ "turn_id": "t", "trace_id": "x", "language": "en", "timezone": "Europe/Rome" }),
        lock_file: &folder.join(format!("{}.lock", CALLS.fetch_add(1, Ordering::Relaxed))),
        net: None,
        cancel: CancelFlag::new().expect("a descriptor is left"),
        progress: &|_| {},
    });
    outcome.reply.expect("the program answers")
}
