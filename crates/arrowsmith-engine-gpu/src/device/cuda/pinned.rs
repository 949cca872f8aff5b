// SPDX-License-Identifier: Apache-2.0
//! Pinned host memory, which the device copies to and from by DMA: of a stream, and of results that
//! are handed out where they are.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_buffer::Buffer;
use arrowsmith_core::Result;
use cudarc::driver::result;

use super::{CudaDevice, Handle, checked};
use crate::device::failure;

/// Pinned memory of a stream, which is used again.
#[derive(Debug)]
pub(super) struct Pinned {
    at: Option<Handle<c_void>>,
    pub(super) bytes: usize,
    /// Bytes that queued copies still use.
    pub(super) used: usize,
}

impl Pinned {
    pub(super) const EMPTY: Self = Self { at: None, bytes: 0, used: 0 };

    /// Frees the old memory and allocates `bytes`. No queued copy may use the old memory.
    pub(super) fn grow(&mut self, bytes: usize) -> Result<()> {
        self.release();
        let bytes = bytes.next_power_of_two().max(1 << 20);
        (self.at, self.bytes, self.used) = (Some(allocate(bytes)?), bytes, 0);
        Ok(())
    }

    pub(super) fn release(&mut self) {
        if let Some(at) = self.at.take() {
            // SAFETY: `allocate` returned it; the stream was synchronized, so no copy uses it.
            let _ = unsafe { result::free_host(at.0) };
        }
        (self.bytes, self.used) = (0, 0);
    }

    /// The bytes `from..from + len`.
    pub(super) fn slice(&mut self, from: usize, len: usize) -> &mut [u8] {
        match self.at {
            // SAFETY: `from + len <= self.bytes`, the size of the allocation; the stream was
            // synchronized, or queued copies use other parts.
            Some(at) if from + len <= self.bytes => unsafe {
                std::slice::from_raw_parts_mut(at.0.cast::<u8>().add(from), len)
            },
            _ => &mut [],
        }
    }
}

fn allocate(bytes: usize) -> Result<Handle<c_void>> {
    // SAFETY: the memory is written before it is read.
    let at = checked("cuMemHostAlloc", unsafe { result::malloc_host(bytes, 0) })?;
    if at.is_null() {
        return Err(failure("gpu: no pinned memory"));
    }
    Ok(Handle(at))
}

/// Fetches of fewer bytes are copied.
const RESULT_BYTES_MIN: usize = 256 << 10;

/// Pinned memory of results. What a batch has given back is used again; it is freed with the
/// device.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// All of it together, at most; none at first.
    bytes_max: AtomicUsize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    bytes: usize,
    /// What is free: bytes, and where.
    free: Vec<(usize, Handle<c_void>)>,
}

impl Results {
    pub(super) fn set_bytes_max(&self, bytes: usize) {
        self.bytes_max.store(bytes, Ordering::Relaxed);
    }

    /// Memory of a device for a result of this many bytes; `None` if it is to be copied.
    pub(super) fn take(device: &Arc<CudaDevice>, bytes: usize) -> Result<Option<Arc<Held>>> {
        let most = device.results.bytes_max.load(Ordering::Relaxed);
        let wanted = bytes.next_power_of_two();
        if bytes < RESULT_BYTES_MIN || wanted > most {
            return Ok(None);
        }
        let mut taken = device.results.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let found = taken.free.iter().position(|free| free.0 == wanted);
        let at = match found {
            Some(found) => taken.free.swap_remove(found).1,
            None if taken.bytes + wanted > most => return Ok(None),
            None => {
                let at = allocate(wanted)?;
                taken.bytes += wanted;
                at
            }
        };
        Ok(Some(Arc::new(Held { device: Arc::clone(device), at, bytes: wanted })))
    }

    /// Frees all. No batch has any of it: they hold the device.
    pub(super) fn release(&self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        for (bytes, at) in std::mem::take(&mut taken.free) {
            taken.bytes -= bytes;
            // SAFETY: `allocate` returned it, and no copy uses it: streams hold the device, too.
            let _ = unsafe { result::free_host(at.0) };
        }
    }
}

/// Pinned memory of one result.
#[derive(Debug)]
pub(super) struct Held {
    device: Arc<CudaDevice>,
    at: Handle<c_void>,
    bytes: usize,
}

impl Held {
    /// The bytes `from..from + len`, for the copy from the device.
    ///
    /// # Safety
    /// Nothing else may read or write them meanwhile.
    #[expect(clippy::mut_from_ref, reason = "parts of it are written before any is read")]
    pub(super) unsafe fn room(&self, from: usize, len: usize) -> &mut [u8] {
        let len = len.min(self.bytes.saturating_sub(from));
        // SAFETY: within the allocation; nothing else reads or writes these bytes meanwhile.
        unsafe { std::slice::from_raw_parts_mut(self.at.0.cast::<u8>().add(from), len) }
    }

    /// The bytes `from..from + len`, once they are copied.
    pub(super) fn buffer(self: &Arc<Self>, from: usize, len: usize) -> Buffer {
        let len = len.min(self.bytes.saturating_sub(from));
        // SAFETY: within the allocation, which is not null.
        let at = unsafe { NonNull::new_unchecked(self.at.0.cast::<u8>().add(from)) };
        // SAFETY: `self` keeps the memory, and nothing writes to it until it is dropped.
        unsafe { Buffer::from_custom_allocation(at, len, Arc::clone(self) as _) }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let taken = self.device.results.taken.lock();
        taken.unwrap_or_else(PoisonError::into_inner).free.push((self.bytes, self.at));
    }
}
