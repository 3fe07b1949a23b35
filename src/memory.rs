//! What a daemon's memory is handed out from.
//!
//! The C library gives threads that allocate at the same time a heap each, up to eight a processor, and keeps what each was
//! once grown to. A daemon runs every command on a new thread: what one left in its heap the next one leaves in another. With
//! one heap for all, that is used again.
#![cfg_attr(target_env = "gnu", expect(unsafe_code, reason = "the C library's settings have no safe form"))]

/// Bytes from which on memory comes from the kernel and goes back to it at once, and of which no more stays unused at the end
/// of the heap; glibc's own values, which it would raise to the greatest block that was ever freed (mallopt(3)).
#[cfg(target_env = "gnu")]
const THRESHOLD: libc::c_int = 128 << 10;

/// Has all threads of this process share one heap that is given back where it is not used. Without effect but for glibc.
pub(crate) fn share_one_heap() {
    #[cfg(target_env = "gnu")]
    for (setting, value) in
        [(libc::M_ARENA_MAX, 1), (libc::M_MMAP_THRESHOLD, THRESHOLD), (libc::M_TRIM_THRESHOLD, THRESHOLD)]
    {
        // SAFETY: it takes two numbers and the heap's own lock, and no block that was handed out is touched.
        if unsafe { libc::mallopt(setting, value) } == 0 {
            tracing::debug!(setting, value, "the C library does not take a setting of its heap");
        }
    }
}
