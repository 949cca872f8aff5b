// SPDX-License-Identifier: Apache-2.0
//! Asking for memory before it is needed. What the CPU fetches ahead by itself ends with each page
//! of memory, and a column is a walk through many: without this a decoder waits for each of them.
//! It never reads.

/// How far ahead of what it reads a kernel asks, in bytes: what one core decodes while memory
/// answers.
pub(crate) const AHEAD_BYTES: usize = 2048;

/// Asks for the cache lines of the `len` bytes from byte `at` of `bytes` on, as far as there are
/// any. It has no effect but on time, and none where the CPU cannot be asked.
#[inline(always)]
pub fn ask(bytes: &[u8], at: usize, len: usize) {
    let end = at.saturating_add(len).min(bytes.len());
    for line in (at..end).step_by(64) {
        ask_line(bytes.as_ptr().wrapping_add(line));
    }
}

/// As [`ask`], for the line of one address, which need not be one of anything.
#[inline(always)]
pub(crate) fn ask_line(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing that could be seen, and may be of any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
