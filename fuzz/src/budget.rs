// SPDX-License-Identifier: Apache-2.0
//! The memory limit of fuzz targets: an allocator that fails beyond it.
//!
//! An allocation beyond the limit aborts, as it would in a host, unless it goes through
//! `arrowsmith_core::memory`. The allocations of the target's thread are counted; for other threads
//! a single allocation is limited to a size that no input of a few KiB needs.

#![expect(unsafe_code, reason = "an allocator is unsafe")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Maximum bytes besides a multiple of the input: what the limits of the target's options allow.
const HELD_BYTES_MAX: usize = 1 << 30;

/// Maximum bytes per byte of the input.
const GROWTH_MAX: usize = 1 << 10;

/// The largest single allocation of a thread that has no budget, in bytes.
const ONCE_BYTES_MAX: usize = 4 << 30;

thread_local! {
    /// Bytes that the thread may still allocate; unlimited at first.
    static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Runs `body` on `data`, with the memory that an input of this size may take.
pub fn run(body: fn(&[u8]), data: &[u8]) {
    struct Unbounded;
    impl Drop for Unbounded {
        fn drop(&mut self) {
            LEFT.set(usize::MAX);
        }
    }
    LEFT.set(HELD_BYTES_MAX + data.len().saturating_mul(GROWTH_MAX));
    let _after = Unbounded;
    body(data);
}

/// Runs a part of a target that generates its own inputs, whose size does not depend on the fuzz
/// input.
pub fn lifted<T>(part: impl FnOnce() -> T) -> T {
    let left = LEFT.replace(usize::MAX);
    let made = part();
    LEFT.set(left);
    made
}

/// The system's allocator, with the thread's budget.
struct Counted;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

// SAFETY: every call is passed to `System` with the same layout and pointer; some requests return
// null, which is allowed.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let left = LEFT.get();
        let bytes = layout.size();
        if left == usize::MAX {
            if bytes > ONCE_BYTES_MAX {
                return std::ptr::null_mut();
            }
        } else {
            let Some(left) = left.checked_sub(bytes) else { return std::ptr::null_mut() };
            LEFT.set(left);
        }
        // SAFETY: `layout` has a non-zero size, by the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        let left = LEFT.get();
        if left != usize::MAX {
            LEFT.set(left.saturating_add(layout.size()).min(usize::MAX - 1));
        }
        // SAFETY: `ptr` came from `System` with this layout, by the contract of
        // `GlobalAlloc::dealloc`.
        unsafe { System.dealloc(ptr, layout) };
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_body_has_no_more_memory_than_its_input_allows() {
        super::run(
            |_| {
                let mut vec = Vec::<u8>::new();
                assert!(vec.try_reserve_exact(2 << 30).is_err());
                assert!(vec.try_reserve_exact(1 << 20).is_ok());
            },
            b"abc",
        );
        assert!(Vec::<u8>::new().try_reserve_exact(5 << 30).is_err());
    }
}
