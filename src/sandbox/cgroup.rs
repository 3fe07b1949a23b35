//! A cgroup of its own for each call, where one is delegated to this process: the kernel then bounds the memory and the
//! number of the processes of the whole tree, and not of each process.
//!
//! Found by doing: whoever lives alone in a cgroup of version 2 that it may write has it. The process moves into a leaf of
//! its own, since no cgroup with processes in it gives its controllers on, and makes a sibling of that leaf for each call.
//! It never moves another process, touches nothing above its own cgroup and nothing that it has not made itself; where one
//! step fails it takes back those before it, and calls are bounded as if there were no cgroups. Version 1 it does not use:
//! nothing is delegated there.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use metnos_projections::rules::cage_plan::Limits;
use rustix::fs::{Mode, OFlags};

use super::owners;
use super::report::Backend;
use super::wire::Caps;

/// What every cgroup of ours is called first.
const PREFIX: &str = "metnos-";
/// The controllers that bound a call.
const CONTROLLERS: [&str; 2] = ["memory", "pids"];
/// What the kernel itself holds for a call and charges to it: the inodes that its file systems may have, about a KiB each,
/// stacks, page tables, sockets.
const KERNEL_BYTES: u64 = 32 << 20;
/// The most that `pids.max` takes.
const PIDS_MAX: u64 = 1 << 22;
/// How long the last processes of a cgroup that was killed may take to go, and between two looks.
const PATIENCE: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_millis(1);

/// The cgroup that this process has taken, while someone holds it.
static TAKEN: Mutex<Weak<Own>> = Mutex::new(Weak::new());

/// Takes this process's own cgroup, where it is delegated to it: for a process that makes many calls, before it starts any
/// other. All of it is as it was once nobody holds this any more. `None` where there is none to take, or it was taken already.
///
/// Commands that end after a call or two do not even look: the shell that they were typed into lives in the same cgroup.
pub fn take() -> Option<Arc<Own>> {
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    if taken.strong_count() > 0 {
        return None;
    }
    match Own::take(&CONTROLLERS) {
        Ok(own) => {
            let own = Arc::new(own);
            *taken = Arc::downgrade(&own);
            Some(own)
        }
        Err(error) => {
            tracing::debug!(%error, "no cgroup is delegated to this process");
            None
        }
    }
}

/// The cgroup that this process has taken.
pub(super) fn taken() -> Option<Arc<Own>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner).upgrade()
}

/// A cgroup that was delegated to this process and that it has taken.
#[derive(Debug)]
pub struct Own {
    folder: PathBuf,
    /// The leaf that this process lives in.
    leaf: PathBuf,
    enabled: Vec<&'static str>,
    calls: AtomicU64,
    /// Cgroups of calls that could not be removed yet.
    left: Mutex<Vec<PathBuf>>,
}

impl Own {
    fn take(controllers: &[&'static str]) -> io::Result<Self> {
        let places = places(&fs::read("/proc/self/cgroup")?, &fs::read("/proc/self/mountinfo")?);
        let mut failed = io::Error::new(io::ErrorKind::NotFound, "no cgroup of version 2 is in sight");
        for folder in places {
            match Self::take_at(&folder, controllers) {
                Ok(own) => return Ok(own),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    fn take_at(folder: &Path, controllers: &[&'static str]) -> io::Result<Self> {
        let available = fs::read_to_string(folder.join("cgroup.controllers"))?;
        let is_there = |name: &&&str| available.split_ascii_whitespace().any(|word| word == **name);
        let wanted: Vec<&'static str> = controllers.iter().filter(is_there).copied().collect();
        if wanted.is_empty() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "it has no controller of use"));
        }
        let mut own = Self::place(folder)?;
        own.settle()?;
        own.enable(&wanted)?;
        Ok(own)
    }

    /// Makes the leaf, where nobody but this process lives.
    fn place(folder: &Path) -> io::Result<Self> {
        let pid = std::process::id().to_string();
        // Also says that this is the cgroup that it is taken for: another's would not list this process.
        if !fs::read_to_string(folder.join("cgroup.procs"))?.split_ascii_whitespace().eq([pid.as_str()]) {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, "others live there"));
        }
        sweep(folder);
        let leaf = folder.join(format!("{PREFIX}core-{pid}"));
        fs::create_dir(&leaf)?;
        let (calls, left) = (AtomicU64::new(0), Mutex::default());
        Ok(Self { folder: folder.to_owned(), leaf, enabled: Vec::new(), calls, left })
    }

    /// Moves this process into the leaf.
    fn settle(&self) -> io::Result<()> {
        set(&self.leaf, "cgroup.procs", "0")
    }

    /// Gives controllers on to what is below: those that can be, at least one.
    fn enable(&mut self, controllers: &[&'static str]) -> io::Result<()> {
        let mut enabled = Err(io::ErrorKind::Unsupported.into());
        for name in controllers {
            let given = set(&self.folder, "cgroup.subtree_control", &format!("+{name}"));
            if given.is_ok() {
                self.enabled.push(name);
            }
            enabled = enabled.or(given);
        }
        enabled
    }

    /// The controllers that bound its calls.
    pub fn controllers(&self) -> &[&'static str] {
        &self.enabled
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes the cgroup of a call, with its limits. Nothing lives there yet.
    pub(super) fn enclose(self: &Arc<Self>, limits: &Limits, backend: Backend) -> io::Result<Enclosure> {
        let mut made = self.make()?;
        made.caps = made.bound(limits, backend);
        if made.caps == Caps::default() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "it takes no limit"));
        }
        Ok(made)
    }

    fn make(self: &Arc<Self>) -> io::Result<Enclosure> {
        self.remove_left();
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let folder = self.folder.join(format!("{PREFIX}call-{}-{number}", std::process::id()));
        fs::create_dir(&folder)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::open(&folder, flags, Mode::empty()) {
            Ok(descriptor) => Ok(Enclosure { own: Arc::clone(self), folder, descriptor, caps: Caps::default() }),
            Err(error) => {
                fs::remove_dir(&folder)?;
                Err(error.into())
            }
        }
    }

    fn left(&self) -> std::sync::MutexGuard<'_, Vec<PathBuf>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tries once more to remove what could not be.
    fn remove_left(&self) {
        self.left().retain(|folder| !is_removed(folder));
    }
}

impl Drop for Own {
    /// Moves back, and leaves all as it was found.
    fn drop(&mut self) {
        self.remove_left();
        // Whatever still lives there is bounded by what would be taken away here.
        if !self.left().is_empty() {
            return;
        }
        let mut end = || {
            while let Some(name) = self.enabled.pop() {
                set(&self.folder, "cgroup.subtree_control", &format!("-{name}"))?;
            }
            set(&self.folder, "cgroup.procs", "0")?;
            fs::remove_dir(&self.leaf)
        };
        if let Err(error) = end() {
            tracing::debug!(%error, "this process stays in the cgroup that it made");
        }
    }
}

/// The cgroup of one call. Ends what still lives there, and is removed, with this value.
#[derive(Debug)]
pub(super) struct Enclosure {
    own: Arc<Own>,
    folder: PathBuf,
    descriptor: OwnedFd,
    caps: Caps,
}

impl Enclosure {
    /// Which caps it was made with.
    pub(super) fn caps(&self) -> Caps {
        self.caps
    }

    /// The folder, to clone a process into.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Gives it other limits.
    ///
    /// # Errors
    /// One that was held to before is not taken.
    pub(super) fn rebound(&self, limits: &Limits, backend: Backend) -> io::Result<()> {
        if self.bound(limits, backend) == self.caps { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
    }

    /// Sets the limits of a plan, and says which were taken.
    fn bound(&self, limits: &Limits, backend: Backend) -> Caps {
        let memory = set(&self.folder, "memory.max", &memory_bytes(limits).to_string()).is_ok();
        if memory {
            // Where there is no swap there is no such file; a kernel that knows no groups still ends a process of it.
            set(&self.folder, "memory.swap.max", "0").ok();
            set(&self.folder, "memory.oom.group", "1").ok();
        }
        // Bubblewrap itself stays beside what it started.
        let processes = limits.processes.saturating_add(u64::from(backend == Backend::Bubblewrap)).min(PIDS_MAX);
        Caps { memory, processes: set(&self.folder, "pids.max", &processes.to_string()).is_ok() }
    }

    /// Whether the kernel ended something here because this cgroup's own memory was used up, and not the machine's.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        let events = fs::read_to_string(self.folder.join("memory.events")).unwrap_or_default();
        counted(&events, "oom") && counted(&events, "oom_kill")
    }
}

impl Drop for Enclosure {
    fn drop(&mut self) {
        if is_removed(&self.folder) {
            return;
        }
        // Linux before 5.14 has no such file: then the helper's own end of the tree is all there is.
        set(&self.folder, "cgroup.kill", "1").ok();
        let until = Instant::now() + PATIENCE;
        while !is_removed(&self.folder) {
            if Instant::now() >= until {
                tracing::debug!(folder = %self.folder.display(), "a cgroup is removed later");
                return self.own.left().push(std::mem::take(&mut self.folder));
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// The most that a call's cgroup may be charged with: its processes' memory, what the file systems of its own may hold, what
/// is copied for it, and the kernel's share. What it reads and writes elsewhere is charged too, and given back when needed.
fn memory_bytes(limits: &Limits) -> u64 {
    let room = [limits.stage_bytes, limits.tmp_bytes, owners::COPIED_MAX, KERNEL_BYTES];
    room.into_iter().fold(limits.memory_mb.saturating_mul(1 << 20), u64::saturating_add)
}

/// Whether a line of an events file counts any.
fn counted(events: &str, name: &str) -> bool {
    let mut lines = events.lines().filter_map(|line| line.split_once(' '));
    lines.any(|(key, count)| key == name && count.trim() != "0")
}

/// Writes to a file of a cgroup that is there already.
fn set(folder: &Path, name: &str, value: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(folder.join(name))?.write_all(value.as_bytes())
}

/// Removes a cgroup that nothing lives in; the kernel removes no other. One that is not there is removed.
fn is_removed(folder: &Path) -> bool {
    fs::remove_dir(folder).map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |()| true)
}

/// Removes what a process left that was killed: only what is called as ours is, and is empty.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().as_bytes().starts_with(PREFIX.as_bytes()) && !is_removed(&entry.path()) {
            tracing::debug!(folder = %entry.path().display(), "a cgroup is in use");
        }
    }
}

/// Where the cgroup of a process may be seen, by its `/proc/PID/cgroup` and `/proc/PID/mountinfo`: below each mount of
/// version 2 that shows it.
fn places(cgroup: &[u8], mounts: &[u8]) -> Vec<PathBuf> {
    let lines = |text| <[u8]>::split(text, |byte| *byte == b'\n');
    let Some(path) = lines(cgroup).find_map(|line| line.strip_prefix(b"0::")) else { return Vec::new() };
    let path = Path::new(OsStr::from_bytes(path));
    lines(mounts).filter_map(|line| below(line, path)).collect()
}

/// The place of a cgroup below one line of mountinfo, where that is a mount of version 2 with the cgroup in it. Both name
/// cgroups from the root of the reader's cgroup namespace; what lies above that has no names.
fn below(line: &[u8], path: &Path) -> Option<PathBuf> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let dash = fields.iter().position(|field| *field == b"-")?;
    if *fields.get(dash + 1)? != b"cgroup2" {
        return None;
    }
    let rest = path.strip_prefix(unescaped(fields.get(3)?)).ok()?;
    let is_plain = rest.components().all(|part| matches!(part, Component::Normal(_)));
    let mount = fields.get(4).filter(|_| is_plain)?;
    Some(unescaped(mount).join(rest))
}

/// A path without the octal escapes that mountinfo writes for spaces and the like.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, after @ ..] = rest {
        let escaped = after.get(..3).filter(|_| *first == b'\\').and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 8).ok()
        });
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[3..] } else { after };
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    const MOUNT: &str = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw";

    #[track_caller]
    fn check(cgroup: &str, mounts: &str, wanted: &[&str]) {
        let found = places(cgroup.as_bytes(), mounts.as_bytes());
        assert_eq!(found, wanted.iter().map(PathBuf::from).collect::<Vec<_>>(), "{cgroup} {mounts}");
    }

    #[test]
    fn a_cgroup_is_found_below_the_mount_that_shows_it() {
        let unified =
            "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n";
        let unit = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/metnos.service\n";
        check(unit, unified, &[&format!("/sys/fs/cgroup{}", unit.trim().trim_start_matches("0::"))]);
        check("0::/\n", unified, &["/sys/fs/cgroup"]);
        // Version 1 beside it, in either order, and what only looks like the mount.
        let hybrid = format!(
            "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
             36 31 0:33 / /cgroup2 rw - ext4 cgroup2 rw\n{MOUNT}\n"
        );
        check("9:name=systemd:/x\n4:memory:/y\n0::/z\n", &hybrid, &["/sys/fs/cgroup/unified/z"]);
        check("4:memory:/y\n", &hybrid, &[]);
        check("", "", &[]);
        check("0::/z", "36 31 0:33 / /sys\n- cgroup2\n1 - cgroup2 x\n1 2 3 - cgroup2\n\n", &[]);
        // More fields before the dash, or none.
        check(
            "0::/z",
            "41 31 0:38 / /a rw shared:1 master:2 - cgroup2 x rw\n1 2 0:3 / /b rw - cgroup2 x rw",
            &["/a/z", "/b/z"],
        );
    }

    #[test]
    fn a_mount_of_a_part_shows_that_part() {
        let part = |root: &str| format!("41 31 0:38 {root} /part rw - cgroup2 cgroup2 rw");
        check("0::/docker/abc/job", &part("/docker/abc"), &["/part/job"]);
        check("0::/docker/abc", &part("/docker/abc"), &["/part"]);
        check("0::/docker/abcd", &part("/docker/abc"), &[]);
        check("0::/docker", &part("/docker/abc"), &[]);
        // As seen from a cgroup namespace: what lies above its root has no names.
        check("0::/", &part("/../.."), &[]);
        check("0::/job", &part("/../.."), &[]);
        check("0::/../other/job", &part("/.."), &["/part/other/job"]);
        check("0::/../../job", &part("/.."), &[]);
        check("0::/../job", &part("/"), &[]);
    }

    #[test]
    fn escapes_of_the_table_of_mounts_are_read() {
        check("0::/a b", "1 2 0:3 / /with\\040space\\134x rw - cgroup2 x rw", &["/with space\\x/a b"]);
        check("0::/a b/c", "1 2 0:3 /a\\040b /m\\011t rw - cgroup2 x rw", &["/m\tt/c"]);
        // What is no escape stands for itself.
        check(
            "0::/x",
            "1 2 0:3 / /m\\04 rw - cgroup2 x rw\n1 2 0:3 / /m\\999 rw - cgroup2 x rw",
            &["/m\\04/x", "/m\\999/x"],
        );
        let found = places(b"0::/\xff", b"1 2 0:3 / /\\377 rw - cgroup2 x rw");
        assert_eq!(found[0].as_os_str().as_bytes(), b"/\xff/\xff");
    }

    #[test]
    fn only_the_own_limit_counts_as_out_of_memory() {
        let both = "low 0\nhigh 0\nmax 33\noom 1\noom_kill 2\noom_group_kill 1\n";
        assert!(counted(both, "oom") && counted(both, "oom_kill"));
        let machine = "low 0\nhigh 0\nmax 0\noom 0\noom_kill 1\n";
        assert!(!counted(machine, "oom") && counted(machine, "oom_kill"));
        assert!(!counted("", "oom"));
    }

    #[test]
    fn what_its_file_systems_may_hold_is_added_to_the_memory() {
        let mut limits = super::super::limits::WAITING;
        assert_eq!(memory_bytes(&limits), u64::MAX);
        (limits.memory_mb, limits.stage_bytes, limits.tmp_bytes) = (256, 3 << 20, 5 << 20);
        assert_eq!(memory_bytes(&limits), (256 + 3 + 5 + 16 + 32) << 20);
    }

    /// A cgroup of the test's own below that of this process, removed with this value.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Option<Self> {
            let places = places(&fs::read("/proc/self/cgroup").unwrap(), &fs::read("/proc/self/mountinfo").unwrap());
            let name = format!("test-{name}-{}", std::process::id());
            let made = places.iter().map(|place| place.join(&name)).find(|place| fs::create_dir(place).is_ok());
            if made.is_none() {
                eprintln!("SKIPPED cgroup: below that of this process none can be made");
            }
            made.map(Self)
        }

        /// Runs one ignored test of this target in it.
        #[track_caller]
        fn run(&self, name: &str) {
            let output = Command::new("sh")
                .args(["-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\""])
                .arg(&self.0)
                .arg(std::env::current_exe().unwrap())
                .args(["--exact", "--ignored", "--nocapture", &format!("sandbox::cgroup::tests::{name}")])
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && said.contains("1 passed"), "{said}");
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            for name in names(&self.0) {
                fs::remove_dir(self.0.join(name)).ok();
            }
            let is_gone = is_removed(&self.0);
            assert!(is_gone || std::thread::panicking(), "something lives in {}", self.0.display());
        }
    }

    fn sleeper() -> std::process::Child {
        Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap()
    }

    fn names(folder: &Path) -> Vec<String> {
        let folders = fs::read_dir(folder).unwrap().flatten().filter(|entry| entry.path().is_dir());
        folders.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }

    fn here() -> PathBuf {
        let mut places = places(&fs::read("/proc/self/cgroup").unwrap(), &fs::read("/proc/self/mountinfo").unwrap());
        places.remove(0)
    }

    #[test]
    fn only_what_is_delegated_is_taken_and_all_of_it_given_back() {
        let Some(place) = Place::new("own") else { return };
        fs::create_dir(place.0.join("metnos-call-1-1")).unwrap();
        fs::create_dir(place.0.join("another")).unwrap();
        place.run("takes_a_cgroup_and_gives_it_back");
        assert_eq!(names(&place.0), ["another"], "what a killed process left is gone, what is another's is not");
        fs::remove_dir(place.0.join("another")).unwrap();
    }

    /// With the controllers that are there: what matters here is who lives where.
    #[test]
    #[ignore = "run in a cgroup of its own by only_what_is_delegated_is_taken_and_all_of_it_given_back"]
    fn takes_a_cgroup_and_gives_it_back() {
        let folder = here();
        assert_eq!(Own::take(&["none-of-that-name"]).unwrap_err().kind(), io::ErrorKind::Unsupported);
        let mut other = sleeper();
        let own = Own::place(&folder).map(drop);
        assert_eq!(own.unwrap_err().kind(), io::ErrorKind::ResourceBusy, "it is not alone");
        assert_eq!(names(&folder).len(), 2, "nothing was touched");
        other.kill().unwrap();
        other.wait().unwrap();

        let mut own = Own::place(&folder).unwrap();
        let left = format!("{PREFIX}call-1-1");
        assert!(!names(&folder).contains(&left) && names(&folder).contains(&"another".to_owned()));
        own.settle().unwrap();
        assert_eq!(here(), own.leaf, "it lives in a leaf now");
        assert_eq!(fs::read_to_string(folder.join("cgroup.procs")).unwrap(), "");
        assert_eq!(own.enable(&["none-of-that-name"]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        let own = Arc::new(own);
        let made = own.make().unwrap();
        let (at, mut left) = (made.folder.clone(), sleeper());
        set(&at, "cgroup.procs", &left.id().to_string()).unwrap();
        // The kernel says no to whoever would take it away now.
        assert!(!is_removed(&at));
        drop(made);
        assert!(!at.exists(), "what still lived there was ended, and the cgroup removed");
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&left.wait().unwrap()), Some(9));
        drop(own);
        assert_eq!(here(), folder, "it is back where it was");
    }
}
