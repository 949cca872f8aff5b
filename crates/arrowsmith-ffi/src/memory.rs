// SPDX-License-Identifier: Apache-2.0
//! Memory from the pool that the readers' columns come from, for columns that are written
//! elsewhere: huge pages, reused, unlike fresh memory of the system.

use std::ptr;

use arrowsmith_simd::buffer::Buf;

use crate::error::guarded;

/// One block, from [`arrowsmith_memory_new`].
pub struct Memory(Buf<u64>);

/// Allocates `bytes` uninitialised bytes, whose address, a multiple of 64, is written to
/// `*address`. Null if there is no memory. Freed by [`arrowsmith_memory_free`], on any thread.
///
/// # Safety
/// `address` is valid for writing a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrowsmith_memory_new(bytes: u64, address: *mut *mut u8) -> *mut Memory {
    let work = || {
        let Some(words) = usize::try_from(bytes.div_ceil(8)).ok().filter(|words| *words > 0) else {
            return Ok(ptr::null_mut());
        };
        // Tried first without touching the memory, because the pool unwinds if there is none.
        let mut attempt = Vec::<u64>::new();
        let rounded = words.checked_next_power_of_two().unwrap_or(usize::MAX);
        if attempt.try_reserve_exact(rounded).is_err() {
            return Ok(ptr::null_mut());
        }
        drop(attempt);
        let mut memory = Box::new(Memory(Buf::with_capacity(words)));
        // SAFETY: `address` is valid for writing, by contract. The block does not move while
        // `memory` lives.
        unsafe { address.write(memory.0.as_mut_slice().as_mut_ptr().cast()) };
        Ok(Box::into_raw(memory))
    };
    // SAFETY: the error pointer is null.
    unsafe { guarded(ptr::null_mut(), ptr::null_mut(), work) }
}

/// Returns a block to the pool. Null is ignored.
///
/// # Safety
/// `memory` is null or came from [`arrowsmith_memory_new`] and was not freed; nothing uses its
/// bytes any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrowsmith_memory_free(memory: *mut Memory) {
    if !memory.is_null() {
        // SAFETY: it came from `Box::into_raw` in `arrowsmith_memory_new` and was not freed yet, by
        // contract.
        drop(unsafe { Box::from_raw(memory) });
    }
}
