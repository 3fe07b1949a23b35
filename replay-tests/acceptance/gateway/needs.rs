//! What controls need of a machine, found out by trying.

use std::collections::BTreeMap;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use crate::attempt::{Attempt, Need};
use crate::home::User;

/// How the file system ext4 calls itself.
const EXT4: i64 = 0xef53;
const CALL: &str = "import ctypes, sys\nsys.exit(ctypes.CDLL(None).syscall(NUMBER) < 0)";
const FAMILY: &str = r"
import socket, sys
for kind in (1, 5):
    try: socket.socket(FAMILY, kind)
    except OSError: continue
    sys.exit(0)
sys.exit(1)
";
/// `getpid` by a call of 32 bits; where there are none, a signal ends it.
const INT80: &str = r"
import ctypes, mmap
page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 7)
page.write(bytes.fromhex('b814000000cd80c3'))
assert ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))() > 0
";

/// The first need of an attempt that this machine does not give this user.
pub(crate) fn lacking(attempt: &Attempt, user: User) -> Option<Need> {
    attempt.needs.iter().copied().find(|need| !is_there(*need, user))
}

fn is_there(need: Need, user: User) -> bool {
    static KNOWN: Mutex<BTreeMap<String, bool>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap();
    *known.entry(format!("{need:?} {user:?}")).or_insert_with(|| look(need, user))
}

fn look(need: Need, user: User) -> bool {
    let is_x86 = cfg!(target_arch = "x86_64");
    match need {
        Need::Root => user.number() == 0,
        Need::BlockDevice => {
            let mut devices = std::fs::read_dir("/dev").unwrap().flatten();
            let is_block = |path: &Path| path.metadata().is_ok_and(|meta| meta.file_type().is_block_device());
            devices.any(|entry| is_block(&entry.path()) && std::fs::File::open(entry.path()).is_ok())
        }
        Need::Handles => {
            let device = |path: &Path| path.metadata().unwrap().dev();
            let temporary = std::env::temp_dir();
            device(&temporary) == device(Path::new("/")) && rustix::fs::statfs(&temporary).unwrap().f_type == EXT4
        }
        Need::X32 => is_x86 && runs(user, &CALL.replace("NUMBER", "0x40000000 + 39")),
        Need::Rings => is_x86 && runs(user, &CALL.replace("NUMBER", "425, 4, ctypes.create_string_buffer(120)")),
        Need::Int80 => is_x86 && runs(user, INT80),
        Need::X86 => is_x86,
        Need::Family(family) => runs(user, &FAMILY.replace("FAMILY", &family.to_string())),
        Need::Exists(path) => Path::new(path).exists(),
        Need::UserNamespaces => runs(user, &CALL.replace("NUMBER", "272, 0x10000000")),
    }
}

/// Whether a plain interpreter of this user gets through a few lines.
fn runs(user: User, code: &str) -> bool {
    let mut command = Command::new("python3");
    command.args(["-I", "-S", "-c", code]).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    user.take(&mut command);
    command.status().unwrap().success()
}
