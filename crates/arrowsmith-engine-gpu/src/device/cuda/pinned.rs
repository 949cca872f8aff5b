// SPDX-License-Identifier: Apache-2.0
//! Pinned host memory, which the device copies to and from by DMA: of a stream, and of results that
//! are handed out where they are.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_buffer::Buffer;
use arrowsmith_core::Result;
use cudarc::driver::{result, sys};

use super::{CudaDevice, Handle, checked};
use crate::device::{Ptr, failure};

/// Pinned memory of a stream, which is used again.
#[derive(Debug)]
pub(super) struct Pinned {
    block: Option<Block>,
    pub(super) bytes: usize,
    /// Bytes that queued copies still use.
    pub(super) used: usize,
}

/// Room for small copies.
const SMALL_BYTES: usize = 64 << 10;

impl Pinned {
    pub(super) const EMPTY: Self = Self { block: None, bytes: 0, used: 0 };

    /// Frees the old memory and allocates `bytes`, and room for small copies beside them, which
    /// would have to wait else. No queued copy may use the old memory.
    pub(super) fn grow(&mut self, bytes: usize) -> Result<()> {
        self.release();
        let step = (bytes.next_power_of_two() / 8).max(1 << 20);
        let bytes = bytes.saturating_add(SMALL_BYTES).next_multiple_of(step);
        (self.block, self.bytes, self.used) = (Some(allocate(bytes)?), bytes, 0);
        Ok(())
    }

    pub(super) fn release(&mut self) {
        if let Some(block) = self.block.take() {
            // The stream was synchronized, so no copy uses it.
            free(block);
        }
        (self.bytes, self.used) = (0, 0);
    }

    /// Where the device finds the byte `at`.
    pub(super) fn on_device(&self, at: usize) -> Ptr {
        self.block.map_or(Ptr(0), |block| block.on_device.offset(at as u64))
    }

    /// The bytes `from..from + len`.
    pub(super) fn slice(&mut self, from: usize, len: usize) -> &mut [u8] {
        match self.block {
            // SAFETY: `from + len <= self.bytes`, the size of the allocation; the stream was
            // synchronized, or queued copies use other parts.
            Some(block) if from + len <= self.bytes => unsafe {
                std::slice::from_raw_parts_mut(block.at.0.cast::<u8>().add(from), len)
            },
            _ => &mut [],
        }
    }
}

/// Pinned memory.
#[derive(Debug, Clone, Copy)]
struct Block {
    at: Handle<c_void>,
    /// Its address on the device.
    on_device: Ptr,
    bytes: usize,
    /// The mapping around it that is registered with the driver; none if it is the driver's own.
    mapping: Option<Mapping>,
}

/// Allocates pinned memory, whose content is undefined.
fn allocate(bytes: usize) -> Result<Block> {
    if let Some(mapping) = Mapping::new(bytes) {
        let at = mapping.at;
        let flags = sys::CU_MEMHOSTREGISTER_DEVICEMAP;
        // SAFETY: the range is mapped, and stays so until it is unregistered.
        let registered = unsafe { sys::cuMemHostRegister_v2(at.0, bytes, flags) }.result();
        if registered.is_ok() {
            return placed(at, bytes, Some(mapping));
        }
        mapping.unmap();
    }
    let flags = sys::CU_MEMHOSTALLOC_DEVICEMAP;
    // SAFETY: the memory is written before it is read.
    let at = checked("cuMemHostAlloc", unsafe { result::malloc_host(bytes, flags) })?;
    if at.is_null() {
        return Err(failure("gpu: no pinned memory"));
    }
    placed(Handle(at), bytes, None)
}

/// Pinned memory with its address on the device.
fn placed(at: Handle<c_void>, bytes: usize, mapping: Option<Mapping>) -> Result<Block> {
    let mut block = Block { at, on_device: Ptr(0), bytes, mapping };
    // SAFETY: `at` is pinned memory of this context.
    let found = unsafe {
        sys::cuMemHostGetDevicePointer_v2(&raw mut block.on_device.0, block.at.0, 0).result()
    };
    if found.is_err() {
        free(block);
    }
    checked("cuMemHostGetDevicePointer", found)?;
    Ok(block)
}

/// Frees pinned memory, which no copy uses.
fn free(block: Block) {
    match block.mapping {
        Some(mapping) => {
            // SAFETY: `allocate` registered it.
            let _ = unsafe { sys::cuMemHostUnregister(block.at.0) };
            mapping.unmap();
        }
        None => {
            // SAFETY: `allocate` returned it.
            let _ = unsafe { result::free_host(block.at.0) };
        }
    }
}

/// Memory in huge pages, where the system has them. The driver's own pinned memory consists of
/// small pages, which it clears one after the other under a lock: 0.4 ms for 1 MiB.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "none is made there"))]
struct Mapping {
    at: Handle<c_void>,
    /// All of it, with what is before the first huge page.
    all: Handle<c_void>,
    all_bytes: usize,
}

#[cfg(target_os = "linux")]
const HUGE_PAGE_BYTES: usize = 2 << 20;
#[cfg(target_os = "linux")]
const PAGE_BYTES: usize = 4 << 10;

impl Mapping {
    /// Maps memory, all of it present; `None` if it is too small for huge pages, or there is none.
    #[cfg(target_os = "linux")]
    fn new(bytes: usize) -> Option<Self> {
        if bytes < HUGE_PAGE_BYTES {
            return None;
        }
        let bytes = bytes.checked_next_multiple_of(HUGE_PAGE_BYTES)?;
        let all_bytes = bytes.checked_add(HUGE_PAGE_BYTES)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: an anonymous private mapping touches no memory that exists.
        let all = unsafe { libc::mmap(std::ptr::null_mut(), all_bytes, access, kind, -1, 0) };
        if all == libc::MAP_FAILED {
            return None;
        }
        let before = all.align_offset(HUGE_PAGE_BYTES).min(HUGE_PAGE_BYTES);
        // SAFETY: `before + bytes` is at most the length of the mapping.
        let at = unsafe { all.add(before) };
        // SAFETY: the range is mapped. The advice may be refused.
        unsafe { libc::madvise(at, bytes, libc::MADV_HUGEPAGE) };
        for page in (0..bytes).step_by(PAGE_BYTES) {
            // SAFETY: within the mapping.
            unsafe { at.cast::<u8>().add(page).write_volatile(0) };
        }
        Some(Self { at: Handle(at), all: Handle(all), all_bytes })
    }

    #[cfg(not(target_os = "linux"))]
    fn new(_: usize) -> Option<Self> {
        None
    }

    /// Unmaps it. No copy uses it.
    fn unmap(self) {
        #[cfg(target_os = "linux")]
        // SAFETY: `new` mapped this range.
        unsafe {
            libc::munmap(self.all.0, self.all_bytes)
        };
    }
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
    free: Vec<Block>,
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
        let mut taken = device.results.lock();
        let found = taken.free.iter().position(|free| free.bytes == wanted);
        let block = match found {
            Some(found) => taken.free.swap_remove(found),
            None if taken.bytes + wanted > most => return Ok(None),
            None => {
                taken.bytes += wanted;
                // Others are served meanwhile.
                drop(taken);
                allocate(wanted).inspect_err(|_| device.results.lock().bytes -= wanted)?
            }
        };
        Ok(Some(Arc::new(Held { device: Arc::clone(device), block })))
    }

    /// Frees all. No batch has any of it: they hold the device.
    pub(super) fn release(&self) {
        let mut taken = self.lock();
        for block in std::mem::take(&mut taken.free) {
            taken.bytes -= block.bytes;
            // No copy uses it: streams hold the device, too.
            free(block);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Pinned memory of one result.
#[derive(Debug)]
pub(super) struct Held {
    device: Arc<CudaDevice>,
    block: Block,
}

impl Held {
    /// The bytes `from..from + len`, for the copy from the device.
    ///
    /// # Safety
    /// Nothing else may read or write them meanwhile.
    #[expect(clippy::mut_from_ref, reason = "parts of it are written before any is read")]
    pub(super) unsafe fn room(&self, from: usize, len: usize) -> &mut [u8] {
        let len = len.min(self.block.bytes.saturating_sub(from));
        // SAFETY: within the allocation; nothing else reads or writes these bytes meanwhile.
        unsafe { std::slice::from_raw_parts_mut(self.block.at.0.cast::<u8>().add(from), len) }
    }

    /// The bytes `from..from + len`, once they are copied.
    pub(super) fn buffer(self: &Arc<Self>, from: usize, len: usize) -> Buffer {
        let len = len.min(self.block.bytes.saturating_sub(from));
        // SAFETY: within the allocation, which is not null.
        let at = unsafe { NonNull::new_unchecked(self.block.at.0.cast::<u8>().add(from)) };
        // SAFETY: `self` keeps the memory, and nothing writes to it until it is dropped.
        unsafe { Buffer::from_custom_allocation(at, len, Arc::clone(self) as _) }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.device.results.lock().free.push(self.block);
    }
}
