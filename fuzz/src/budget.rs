// SPDX-License-Identifier: Apache-2.0
//! The memory that the bodies of targets may take: an allocator that has no more, as a machine might not.
//!
//! What asks for too much then ends as it would in a host, by an abort, where it did not ask the gate of
//! `arrowsmith_core::memory`. Counted is what the thread of the body allocates; other threads are held to
//! sizes that nothing needs which an input of a few KiB leads to.

#![expect(unsafe_code, reason = "an allocator is unsafe")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// What a body may hold beside a multiple of its input, in bytes: what the limits of its options allow.
const HELD_BYTES_MAX: usize = 1 << 30;

/// Bytes for each of the input.
const GROWTH_MAX: usize = 1 << 10;

/// The largest single allocation of a thread that has no budget, in bytes.
const ONCE_BYTES_MAX: usize = 4 << 30;

thread_local! {
    /// What the thread may still allocate; nothing is said at first.
    static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Runs `body` on `data`, with as much memory as such an input may take.
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

/// Runs a part of a body that makes inputs of its own, to which the size of its input says nothing.
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

// SAFETY: all memory is the system allocator's, asked for with the caller's layout; some requests are
// refused, as any may be.
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
        // SAFETY: the caller's layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        let left = LEFT.get();
        if left != usize::MAX {
            LEFT.set(left.saturating_add(layout.size()).min(usize::MAX - 1));
        }
        // SAFETY: the caller's pointer, which came from `System` with this layout.
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
