//! A disk whose syncs take as long as those of a household: every rival's, since all of them ask the same two functions of libc.
//!
//! This program brings its own `fsync` and `fdatasync`, which sync in earnest and then wait as long as such a disk takes to
//! empty its cache. What links against them, Rust's standard library and SQLite alike, finds these; it is counted, so
//! that a rival that goes another way is noticed.

#![expect(unsafe_code, reason = "what stands in for a function of libc has its form")]

use std::ffi::c_int;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How much longer a sync takes than here, in ns.
static LONGER: AtomicU64 = AtomicU64::new(0);
/// How many there were.
static SYNCS: AtomicU64 = AtomicU64::new(0);

/// Runs something while each sync of this process takes so much longer; says how many there were.
pub(crate) fn with<T>(longer: Duration, work: impl FnOnce() -> T) -> (T, u64) {
    let nanoseconds = u64::try_from(longer.as_nanos()).unwrap_or(u64::MAX);
    let syncs = SYNCS.load(Ordering::SeqCst);
    LONGER.store(nanoseconds, Ordering::SeqCst);
    let done = work();
    LONGER.store(0, Ordering::SeqCst);
    (done, SYNCS.load(Ordering::SeqCst) - syncs)
}

fn synced(sync: impl FnOnce() -> rustix::io::Result<()>) -> c_int {
    SYNCS.fetch_add(1, Ordering::SeqCst);
    if let Err(error) = sync() {
        // SAFETY: the place is this thread's own.
        unsafe { *libc::__errno_location() = error.raw_os_error() };
        return -1;
    }
    let longer = LONGER.load(Ordering::SeqCst);
    if longer > 0 {
        std::thread::sleep(Duration::from_nanos(longer));
    }
    0
}

/// libc's, by the kernel's own call and no libc.
#[unsafe(no_mangle)]
extern "C" fn fdatasync(file: c_int) -> c_int {
    // SAFETY: as in libc, the caller's descriptor is open while it calls.
    synced(|| rustix::fs::fdatasync(unsafe { BorrowedFd::borrow_raw(file) }))
}

/// libc's, by the kernel's own call and no libc.
#[unsafe(no_mangle)]
extern "C" fn fsync(file: c_int) -> c_int {
    // SAFETY: as in libc, the caller's descriptor is open while it calls.
    synced(|| rustix::fs::fsync(unsafe { BorrowedFd::borrow_raw(file) }))
}
