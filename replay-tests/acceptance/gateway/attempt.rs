//! What an attempt is: an executor's own code, the layer that must hold against it, the sign that it did not, its control.

/// One attempt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) aim: Aim,
    pub(crate) sign: Sign,
    pub(crate) control: Control,
    pub(crate) needs: &'static [Need],
    /// Python, run by the executor after the common beginning (see `kinds`).
    pub(crate) body: &'static str,
    /// Whether the granted folder is exchanged for a link once the attack runs.
    pub(crate) exchanges: bool,
}

impl Attempt {
    /// An attempt whose control is the same call with no cage.
    pub(crate) const fn new(name: &'static str, kind: Kind, aim: Aim, sign: Sign, body: &'static str) -> Self {
        Self { name, kind, aim, sign, control: Control::Off, needs: &[], body, exchanges: false }
    }

    pub(crate) const fn control(self, control: Control) -> Self {
        Self { control, ..self }
    }

    pub(crate) const fn needs(self, needs: &'static [Need]) -> Self {
        Self { needs, ..self }
    }

    pub(crate) const fn exchanging(self) -> Self {
        Self { exchanges: true, ..self }
    }
}

/// The executor that an attempt is the code of, by what it declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing.
    Bare,
    /// Nothing, and one second.
    Brief,
    /// Reading the whole home but for `private`.
    Home,
    /// Reading the folder that the call names.
    Named,
    /// The host that the call names.
    Host,
    /// Starting one listed program.
    Exec,
    /// Writing to `outbox` by itself.
    Outbox,
    /// Effects, out of the stage.
    Staged,
}

/// The layer that an attempt is aimed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aim {
    PrivateRoot,
    Masks,
    ReadOnlyMounts,
    NoExec,
    SizedFolders,
    Namespaces,
    Seccomp,
    Capabilities,
    Limits,
    Deadline,
    TreeKill,
    Inheritance,
    Broker,
    Protocol,
    Stage,
}

impl Aim {
    /// How a report that lacks this layer begins to say so; none where no cage may lack it.
    pub(crate) fn missing(self) -> Option<&'static str> {
        match self {
            Self::PrivateRoot => Some("a private root"),
            Self::Masks => Some("masks hide contents"),
            Self::SizedFolders => Some("a sized file system"),
            Self::Namespaces => Some("namespaces of its own"),
            _ => None,
        }
    }
}

/// What is seen from outside when an attempt succeeds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sign {
    /// The command's output holds something that only the target holds.
    Says(What),
    /// Something below this folder changed: `outside`, or a folder of the home.
    Touched(&'static str),
    /// A socket of the test heard something.
    Heard(Ear),
    /// A server of the test was asked for the forbidden page.
    Asked,
    /// A server of the test was asked more often than this.
    Requests(usize),
    /// Somebody else could connect to the executor.
    Listens,
    /// The process that stands for all others of the host is not what it was.
    Victim,
    /// Its descriptor 57 is such an object (`r`, `w` or `rw`, its file type, what `/proc` calls it).
    Holds(&'static str),
    /// It, or what it started, runs a program of such a path.
    Program(&'static str),
    /// It is in other namespaces than it began in.
    Namespaces,
    /// It has another root than it began with.
    Root,
    /// It has a capability beyond that to read.
    Capable,
    /// Somebody traces it.
    Traced,
    /// The personality that the kernel keeps of it changed.
    Personality,
    /// Such a limit of it is none.
    Unlimited(&'static str),
    /// The kernel keeps more keys for this user than before.
    Keys,
    /// The host has a shared memory segment of the call's number.
    SharedMemory,
    /// Its parent is stopped.
    ParentStopped,
    /// Something of it lives when the command has ended.
    Alive,
    /// More processes and threads than this for longer than any watchdog needs.
    Tasks(u64),
    /// More MiB of memory than this at once.
    Memory(u64),
    /// More MiB than this, or more than 16,400 files, in the folder that its descriptor 57 is.
    Stored(u64),
    /// The command took longer than so many seconds.
    Slow(u64),
    /// The gateway took such an answer.
    Accepted(&'static str),
    /// The gateway held more MiB than this.
    Grew(u64),
    /// The core wrote the secret to `files/out.txt`.
    Committed,
    /// A file below the folder for writing can change who runs it, or is a device.
    Special,
    /// Only the executor can know, and says it: nothing of it is seen from outside without harm to the machine.
    Claims,
}

/// What only a target holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// The secret of this home.
    Secret,
    /// The size of a file.
    Size,
    /// How the log's file begins.
    LogHead,
    /// The first line of a file of the machine.
    FirstLine(&'static str),
    /// The session of the process that stands for all others.
    Session,
}

/// A socket that must not hear of an executor.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ear {
    Tcp,
    Udp,
    Unix,
    /// The same in a folder of the instance.
    Own,
    Abstract,
}

/// What shows that an attempt can succeed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Control {
    /// The same call, `METNOS_SANDBOX=off`.
    Off,
    /// The same code in a plain interpreter: what ends, bounds or cleans up is there without a cage as well.
    Bare,
    /// The same call in the same cage, told to stay within what is granted: this sign shows that it got that far.
    Within(Sign),
}

/// What a control needs of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Root,
    /// A block device that root can open.
    BlockDevice,
    /// Files that can be opened by handle, from the root of the file system of temporary files.
    Handles,
    /// Calls of the x32 ABI.
    X32,
    /// An x86 that takes 32-bit calls.
    Int80,
    /// An x86, for machine code.
    X86,
    /// A family of sockets.
    Family(i32),
    /// A file.
    Exists(&'static str),
    /// A kernel that lets this user make user namespaces.
    UserNamespaces,
    /// A kernel that lets this user make rings.
    Rings,
}
