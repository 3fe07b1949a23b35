//! The executors that carry the attempts: folders as an owner would add them.
//!
//! The loader looks through an executor's code and refuses `exec` and its like. That is no boundary, and is not taken for one
//! here: each attempt is a function of the code, written out, and needs none of what is refused.

use std::fmt::Write as _;
use std::path::Path;

use super::attempt::{Attempt, Kind};

pub(crate) const KINDS: [Kind; 8] =
    [Kind::Bare, Kind::Brief, Kind::Home, Kind::Named, Kind::Host, Kind::Exec, Kind::Outbox, Kind::Staged];

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bare => "compute_numbers_bare",
            Self::Brief => "compute_numbers_brief",
            Self::Home => "read_files_home",
            Self::Named => "read_files_named",
            Self::Host => "get_urls_host",
            Self::Exec => "create_processes_listed",
            Self::Outbox => "write_files_outbox",
            Self::Staged => "write_files_staged",
        }
    }

    /// Whether it changes something, so that a call is a turn with a consent.
    pub(crate) fn acts(self) -> bool {
        matches!(self, Self::Exec | Self::Outbox | Self::Staged)
    }

    /// Capabilities and arguments, as its manifest says them.
    fn declares(self) -> String {
        let capability = |name: &str, rest: &str| format!("[[capabilities]]\nname = \"{name}\"\n{rest}");
        let of_argument = |argument: &str, role: &str| {
            format!("hint = [\"{{args}}\"]\nfrom_args = [\"{argument}\"]\n[arguments.{argument}]\nrole = \"{role}\"")
        };
        match self {
            Self::Bare | Self::Brief => capability("compute:pure", ""),
            Self::Staged => capability("compute:pure", "[arguments.path]\nrole = \"target_path\""),
            Self::Home => capability("fs:read", "hint = [\"~/**\"]\nexcept = [\"~/private/**\"]"),
            Self::Named => capability("fs:read", &of_argument("paths", "path")),
            Self::Host => capability("network:http", &of_argument("urls", "url")),
            Self::Exec => capability("code:exec", "hint = [\"true\"]"),
            Self::Outbox => capability("fs:write", "hint = [\"~/files/outbox/**\"]"),
        }
    }

    fn manifest(self) -> String {
        let (name, declares) = (self.name(), self.declares());
        let (acts, seconds) = (self.acts(), if self == Self::Brief { 1 } else { 8 });
        format!(
            r#"[executor]
name = "{name}"
version = "1.0.0"
created_at = "2026-11-21T00:00:00Z"
created_by = "owner"
summary = "Attempts."
affinity = ["attempt"]
[description]
en = "Attempts."
it = "Tentativi."
[contract]
input_schema = "schema.json#/definitions/Input"
output_schema = "schema.json#/definitions/Output"
error_classes = ["invalid_args"]
idempotent = false
side_effects = {acts}
timeout_s = {seconds}
memory_mb = {MEMORY_MB}
output_bytes_max = 65536
{declares}
[sandbox]
profile = "declared"
[audit]
trace_topic = "executor.{name}"
"#
        )
    }
}

/// The memory of each kind.
const MEMORY_MB: u64 = 256;

const SCHEMA: &str = r#"{
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "definitions": {"Input": {"type": "object"}, "Output": {"type": "object"}}
}"#;
const CASE: &str = "{\"name\": \"NAME\", \"args\": {}, \"expect\": {\"ok\": True}}";

/// What every attempt is written with: the name by which it is found among all processes, and a few words to attack with.
const BEGINNING: &str = r"
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
said, reply = [], {}
def begin(its_args, its_ctx):
    global args, ctx, root, small, at, outside, mark
    args, ctx = its_args, its_ctx
    root, small, at = args['root'], args['small'], args['numbers']
    outside, mark = root + '-outside', args['mark']
    libc.prctl(15, mark.encode())
def tell(what): said.append(str(what)[:20000])
def hold(seconds=0.25): time.sleep(seconds)
def show(fd):
    os.dup2(fd, 57)
    hold()
def call(number, *values):
    ctypes.set_errno(0)
    got = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(v) if isinstance(v, int) else v for v in values])
    if got < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return got
def let_go(file):
    import mmap
    kept = [mmap.mmap(file, 16 << 20) for number in range(20)]
    for block in kept:
        block.write(b'x' * (16 << 20))
        block.madvise(mmap.MADV_DONTNEED)
def frame(body, length=None): os.write(ctx._channel, (len(body) if length is None else length).to_bytes(4, 'big') + body)
";

const RUN: &str = r#"
def run(args, ctx):
    error = ""
    try:
        if "attempt" in args:
            begin(args, ctx)
            ATTEMPTS[args["attempt"]]()
    except BaseException as caught:
        error = repr(caught)
    return {"ok": True, "said": said, "error": error, **reply}
"#;

/// The code of all kinds.
pub(crate) fn code(attempts: &[&Attempt]) -> String {
    let mut code = BEGINNING.to_owned();
    for (number, attempt) in attempts.iter().enumerate() {
        let body = attempt.body.trim().replace('\n', "\n    ");
        write!(code, "\n\ndef attempt_{number}():\n    {body}\n").unwrap();
    }
    let row = |(number, attempt): (usize, &&Attempt)| {
        format!("    {}: attempt_{number},\n", serde_json::to_string(attempt.name).unwrap())
    };
    let table: String = attempts.iter().enumerate().map(row).collect();
    format!("{code}\n\nATTEMPTS = {{\n{table}}}\n\n{RUN}")
}

/// Lays the folder of a kind.
pub(crate) fn lay(folder: &Path, kind: Kind, code: &str) {
    std::fs::create_dir_all(folder.join("tests")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("manifest.toml", &kind.manifest());
    write("schema.json", SCHEMA);
    write("main.py", code);
    let case = |name: &str| CASE.replace("NAME", name);
    write("tests/birth.py", &format!("CASES = [{}, {}, {}]\n", case("a"), case("b"), case("c")));
}

/// A plain interpreter's word for a call: the same code, with no gateway and no cage around it.
pub(crate) const PLAIN: &str = r"
import json, sys, types
space = {}
exec(open(sys.argv[1]).read(), space)
ctx = types.SimpleNamespace(stage=sys.argv[2], _channel=1, _net=-1)
print(json.dumps(space['run'](json.loads(sys.argv[3]), ctx)))
";
