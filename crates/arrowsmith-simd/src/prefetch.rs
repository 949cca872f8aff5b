// SPDX-License-Identifier: Apache-2.0
//! Software prefetching. The CPU's hardware prefetchers stop at the end of each 4 KiB page, and a
//! column spans many: without this a decoder stalls at the start of each. A prefetch has no effect
//! but on time.

/// How far ahead of its reads a kernel prefetches, in bytes: what one core decodes during the
/// latency of memory.
pub(crate) const DISTANCE_BYTES: usize = 2048;

/// Prefetches the cache lines of `bytes[at..at + len]`, as far as they are within `bytes`. It does
/// nothing on CPUs without an instruction for it.
#[inline(always)]
pub fn prefetch(bytes: &[u8], at: usize, len: usize) {
    let end = at.saturating_add(len).min(bytes.len());
    for line in (at..end).step_by(64) {
        prefetch_line(bytes.as_ptr().wrapping_add(line));
    }
}

/// Prefetches the cache line of one address, which may be invalid.
#[inline(always)]
pub(crate) fn prefetch_line(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch has no visible effect, and allows any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
