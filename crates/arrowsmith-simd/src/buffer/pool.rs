// SPDX-License-Identifier: Apache-2.0
//! Blocks of memory: from the allocator, from huge pages, and from the process-wide pool, to which
//! they return.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use arrowsmith_core::memory::{self, Refused};

/// Default maximum of bytes that the pool keeps mapped for reuse.
pub const POOL_BYTES_MAX: usize = 1 << 30;

/// Bytes that the pool may keep even on the smallest machines.
pub(super) const POOL_BYTES_MIN: usize = 64 << 20;

/// Size of the smallest pooled block, in bytes; smaller ones come from the allocator.
const POOLED_BYTES_MIN: usize = 4 << 10;

/// Alignment of every block: a cache line, and a 512-bit vector.
const ALIGN_BYTES: usize = 64;

/// Size of a huge page on x86-64 and aarch64 (4 KiB base pages), and of the smallest block that is
/// mapped on its own.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Smallest block that shares a huge page with others of its size: at most eight stay mapped while
/// one is in use.
const SHARED_BYTES_MIN: usize = 256 << 10;

/// A block of memory, returned to the pool when dropped.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) ptr: NonNull<u8>,
    pub(super) capacity: usize,
    /// The huge page that it is a part of.
    page: Option<Arc<HugePage>>,
}

/// Memory of several blocks, returned to the system with the last of them.
#[derive(Debug)]
struct HugePage {
    ptr: NonNull<u8>,
}

// SAFETY: plain memory; only the blocks within it are read and written.
unsafe impl Send for HugePage {}
// SAFETY: as above.
unsafe impl Sync for HugePage {}

impl Drop for HugePage {
    fn drop(&mut self) {
        unmap(self.ptr, HUGE_PAGE_BYTES);
    }
}

// SAFETY: a block is plain memory with one owner; nothing in it is tied to a thread.
unsafe impl Send for Block {}
// SAFETY: a shared block is only read.
unsafe impl Sync for Block {}

/// Free mapped blocks by size class (log2 of the capacity).
struct Pool {
    free: [Vec<Block>; usize::BITS as usize],
    bytes: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { free: [const { Vec::new() }; 64], bytes: 0 });

/// Bytes of the blocks that are in use.
static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Bytes of blocks in use, of the whole process: by readers, and by arrays that were not dropped.
pub fn live_bytes() -> usize {
    LIVE_BYTES.load(Ordering::Relaxed)
}

/// Maximum bytes that the pool keeps; [`UNSET`] until first used.
static POOL_LIMIT_BYTES: AtomicUsize = AtomicUsize::new(UNSET);

/// Marks that no limit has been set.
const UNSET: usize = usize::MAX - 1;

fn pool_limit_bytes() -> usize {
    match POOL_LIMIT_BYTES.load(Ordering::Relaxed) {
        UNSET => {
            let usual = (memory_bytes() / 16).clamp(POOL_BYTES_MIN, POOL_BYTES_MAX);
            POOL_LIMIT_BYTES.store(usual, Ordering::Relaxed);
            usual
        }
        said => said,
    }
}

/// Physical memory of the machine, in bytes; 0 if unknown.
#[cfg(unix)]
pub(super) fn memory_bytes() -> usize {
    // SAFETY: the calls only return a value.
    let (pages, bytes) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let known = |n: libc::c_long| usize::try_from(n).unwrap_or(0);
    known(pages).saturating_mul(known(bytes))
}

#[cfg(windows)]
pub(super) fn memory_bytes() -> usize {
    /// The system's `MEMORYSTATUSEX`.
    #[repr(C)]
    struct Status {
        length: u32,
        load: u32,
        memory_bytes: u64,
        others: [u64; 6],
    }
    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn GlobalMemoryStatusEx(status: *mut Status) -> i32;
    }
    const LENGTH: u32 = 64;
    const { assert!(size_of::<Status>() == LENGTH as usize) };
    let mut status = Status { length: LENGTH, load: 0, memory_bytes: 0, others: [0; 6] };
    // SAFETY: the call writes only into `status`, whose size is in `length`.
    let known = unsafe { GlobalMemoryStatusEx(&mut status) } != 0;
    if known { usize::try_from(status.memory_bytes).unwrap_or(usize::MAX) } else { 0 }
}

/// Sets the maximum number of bytes that the pool keeps mapped for reuse, for the whole process.
/// Blocks that it already holds stay until they are used or [`pool_clear`] is called.
pub fn set_pool_bytes_max(bytes: usize) {
    POOL_LIMIT_BYTES.store(bytes, Ordering::Relaxed);
}

/// Returns all blocks in the pool to the system.
pub fn pool_clear() {
    let Ok(mut pool) = POOL.lock() else { return };
    let blocks: Vec<Block> = pool.free.iter_mut().flat_map(std::mem::take).collect();
    pool.bytes = 0;
    drop(pool);
    blocks.into_iter().for_each(Block::free);
}

impl Block {
    /// A block of at least `bytes` bytes, contents undefined.
    pub(super) fn new(bytes: usize) -> Result<Self, Refused> {
        let capacity = match bytes {
            ..POOLED_BYTES_MIN => bytes.next_multiple_of(ALIGN_BYTES).max(ALIGN_BYTES),
            _ => bytes.checked_next_power_of_two().ok_or(Refused::by_system(bytes))?,
        };
        memory::charge(capacity)?;
        let block = Self::find(capacity).ok_or_else(|| {
            memory::release(capacity);
            Refused::by_system(capacity)
        })?;
        LIVE_BYTES.fetch_add(capacity, Ordering::Relaxed);
        Ok(block)
    }

    /// A block of this capacity from the pool or the system; `None` if the system has no memory.
    fn find(capacity: usize) -> Option<Self> {
        if capacity >= POOLED_BYTES_MIN
            && let Ok(mut pool) = POOL.lock()
            && let Some(block) = pool.free[capacity.trailing_zeros() as usize].pop()
        {
            pool.bytes -= block.capacity;
            return Some(block);
        }
        match capacity {
            ..SHARED_BYTES_MIN => Some(Self { ptr: allocate(capacity)?, capacity, page: None }),
            SHARED_BYTES_MIN..HUGE_PAGE_BYTES => Self::share(capacity),
            HUGE_PAGE_BYTES.. => Some(Self { ptr: map(capacity)?, capacity, page: None }),
        }
    }

    /// The first part of a new huge page; the other parts go to the pool. `capacity` divides the
    /// page size.
    fn share(capacity: usize) -> Option<Self> {
        let page = Arc::new(HugePage { ptr: map(HUGE_PAGE_BYTES)? });
        let part = |at: usize| {
            // SAFETY: `at * capacity` is less than the size of the page.
            let ptr = unsafe { page.ptr.add(at * capacity) };
            Self { ptr, capacity, page: Some(Arc::clone(&page)) }
        };
        if let Ok(mut pool) = POOL.lock() {
            let others = 1..HUGE_PAGE_BYTES / capacity;
            pool.bytes += others.len() * capacity;
            pool.free[capacity.trailing_zeros() as usize].extend(others.map(part));
        }
        Some(part(0))
    }

    /// Returns the memory to the system.
    fn free(self) {
        let mut this = std::mem::ManuallyDrop::new(self);
        if let Some(page) = this.page.take() {
            drop(page);
            return;
        }
        if this.capacity < HUGE_PAGE_BYTES {
            give_back(this.ptr, this.capacity);
        } else {
            unmap(this.ptr, this.capacity);
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        memory::release(self.capacity);
        LIVE_BYTES.fetch_sub(self.capacity, Ordering::Relaxed);
        let block = Self { ptr: self.ptr, capacity: self.capacity, page: self.page.take() };
        if self.capacity >= POOLED_BYTES_MIN
            && let Ok(mut pool) = POOL.lock()
            && pool.bytes + self.capacity <= pool_limit_bytes()
        {
            pool.bytes += self.capacity;
            pool.free[self.capacity.trailing_zeros() as usize].push(block);
            return;
        }
        block.free();
    }
}

/// The layout of a block; `None` for more than an address space has.
fn layout(capacity: usize) -> Option<Layout> {
    Layout::from_size_align(capacity, ALIGN_BYTES).ok()
}

fn allocate(capacity: usize) -> Option<NonNull<u8>> {
    // SAFETY: the layout has a size of at least ALIGN_BYTES.
    NonNull::new(unsafe { alloc(layout(capacity)?) })
}

/// Frees a block of [`allocate`].
fn give_back(ptr: NonNull<u8>, capacity: usize) {
    if let Some(layout) = layout(capacity) {
        // SAFETY: the block comes from `allocate` with this very layout and has no other owner.
        unsafe { dealloc(ptr.as_ptr(), layout) };
    }
}

#[cfg(target_os = "linux")]
fn map(capacity: usize) -> Option<NonNull<u8>> {
    // SAFETY: an anonymous private mapping touches no memory that exists.
    let ptr = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            capacity,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if ptr == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the range was mapped above. The advice may be refused; the memory is usable anyway.
    unsafe { libc::madvise(ptr, capacity, libc::MADV_HUGEPAGE) };
    NonNull::new(ptr.cast())
}

#[cfg(target_os = "linux")]
fn unmap(ptr: NonNull<u8>, capacity: usize) {
    // SAFETY: the range comes from `map` with this capacity and has no other owner.
    unsafe { libc::munmap(ptr.as_ptr().cast(), capacity) };
}

#[cfg(not(target_os = "linux"))]
fn map(capacity: usize) -> Option<NonNull<u8>> {
    allocate(capacity)
}

#[cfg(not(target_os = "linux"))]
fn unmap(ptr: NonNull<u8>, capacity: usize) {
    give_back(ptr, capacity);
}
