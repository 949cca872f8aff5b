// SPDX-License-Identifier: Apache-2.0
//! Growable, aligned, pooled memory that becomes an Arrow buffer without a copy.
//!
//! Fresh memory costs more than decoding into it: a 4 KiB page is zeroed by the kernel at a quarter
//! of the speed at which a warm one is written. So blocks of 2 MiB and more are mapped with huge
//! pages, blocks of 256 KiB and more share one, and a block returns to a process-wide pool when the
//! last Arrow buffer over it is dropped. The pool keeps up to a sixteenth of the machine's memory,
//! at most [`POOL_BYTES_MAX`], or the limit of [`set_pool_bytes_max`]; blocks above that are
//! returned to the system. It never holds more than the peak memory of live arrays.
//!
//! Every allocation is accounted by [`arrowsmith_core::memory`]: growth that the thread's budget or
//! the system refuses unwinds with [`Refused`], and [`Buf::try_reserve`] returns it as an error.
//! Nothing here aborts the process.

use std::alloc::{Layout, alloc, dealloc};
use std::io;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, ScalarBuffer};
use arrowsmith_core::memory::{self, Refused};

/// Default maximum of bytes that the pool keeps mapped for reuse.
pub const POOL_BYTES_MAX: usize = 1 << 30;

/// Bytes that the pool may keep even on the smallest machines.
const POOL_BYTES_MIN: usize = 64 << 20;

/// Smallest buffer, in bytes, that column kernels fill with non-temporal stores: half of a core's
/// typical share of the last-level cache, so that the consumer's data is not evicted.
pub(crate) const STREAM_BYTES_MIN: usize = 8 << 20;

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

/// A source of bytes that is read by offset, such as a file.
///
/// # Safety
/// When [`ReadAt::read_at`] returns `Ok`, it has written all of `into`.
pub unsafe trait ReadAt: Send + Sync {
    /// Reads the bytes from byte `offset` on.
    ///
    /// # Errors
    /// I/O errors of the system; [`io::ErrorKind::UnexpectedEof`] if there are fewer bytes.
    fn read_at(&self, offset: u64, into: &mut [MaybeUninit<u8>]) -> io::Result<()>;
}

/// A block of memory, returned to the pool when dropped.
#[derive(Debug)]
struct Block {
    ptr: NonNull<u8>,
    capacity: usize,
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
fn memory_bytes() -> usize {
    // SAFETY: the calls only return a value.
    let (pages, bytes) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let known = |n: libc::c_long| usize::try_from(n).unwrap_or(0);
    known(pages).saturating_mul(known(bytes))
}

#[cfg(windows)]
fn memory_bytes() -> usize {
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
    fn new(bytes: usize) -> Result<Self, Refused> {
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

/// A growable array of `T` in pooled memory.
///
/// Kernels write whole vectors into its spare room and then advance it by the number of
/// elements that count.
#[derive(Debug)]
pub struct Buf<T> {
    block: Option<Block>,
    /// Start of the block; dangling if there is none.
    ptr: NonNull<T>,
    len: usize,
    capacity: usize,
    /// Elements to reserve with the first one: the number in the previous batch.
    hint: usize,
}

// SAFETY: the buffer owns its block, and elements are plain numbers.
unsafe impl<T: ArrowNativeType> Send for Buf<T> {}
// SAFETY: as above; a shared buffer is only read.
unsafe impl<T: ArrowNativeType> Sync for Buf<T> {}

impl<T: ArrowNativeType> Default for Buf<T> {
    fn default() -> Self {
        Self { block: None, ptr: NonNull::dangling(), len: 0, capacity: 0, hint: 0 }
    }
}

impl<T: ArrowNativeType> Buf<T> {
    /// An empty buffer with room for `capacity` elements. If the input determines the capacity, use
    /// [`Buf::try_with_capacity`].
    pub fn with_capacity(capacity: usize) -> Self {
        let mut buf = Self::default();
        // Bounded: `reserve` accounts all growth.
        buf.reserve(capacity);
        buf
    }

    /// As [`Buf::with_capacity`].
    ///
    /// # Errors
    /// As [`Buf::try_reserve`].
    pub fn try_with_capacity(capacity: usize) -> Result<Self, Refused> {
        let mut buf = Self::default();
        buf.try_reserve(capacity)?;
        Ok(buf)
    }

    /// Elements in the buffer.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: the first `len` elements are initialised; without a block `len` is 0.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) }
    }

    /// The elements, mutable.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as in `as_slice`; the buffer is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.len) }
    }

    /// The last element.
    #[inline(always)]
    pub fn last(&self) -> Option<T> {
        self.as_slice().last().copied()
    }

    /// Keeps the first `len` elements.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Appends one element.
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        if self.len == self.capacity {
            self.grow(1);
        }
        // SAFETY: `len < capacity`, or `grow` has just made it so.
        unsafe { self.ptr.as_ptr().add(self.len).write(value) };
        self.len += 1;
    }

    /// Appends `value` `count` times.
    pub fn push_n(&mut self, value: T, count: usize) {
        self.room(count).fill(MaybeUninit::new(value));
        // SAFETY: just written.
        unsafe { self.advance(count) };
    }

    /// Moves the elements from `first` on, one for each bit of `places`, to the places from `first`
    /// on whose bits are set, of `count` places, at most 64; zeros fill the others.
    #[inline(always)]
    pub fn expand(&mut self, first: usize, places: u64, count: usize) {
        let mut next = places.count_ones() as usize;
        self.push_n(T::default(), (first + count).saturating_sub(self.len));
        let Some(values) = self.as_mut_slice().get_mut(first..first + count) else { return };
        for place in (0..count).rev() {
            let there = places >> place & 1 != 0;
            next -= usize::from(there);
            let value = values[next & 63];
            values[place] = if there { value } else { T::default() };
        }
    }

    /// As [`Buf::expand`], for the ends of pieces, of which the first one starts at element
    /// `first`: the others are empty.
    #[inline(always)]
    pub fn expand_ends(&mut self, first: usize, places: u64, count: usize) {
        let mut next = places.count_ones() as usize;
        self.push_n(T::default(), (first + 1 + count).saturating_sub(self.len));
        let Some(ends) = self.as_mut_slice().get_mut(first..=first + count) else { return };
        for place in (0..count).rev() {
            ends[place + 1] = ends[next];
            next -= usize::from(places >> place & 1 != 0);
        }
    }

    /// Appends a slice.
    #[inline]
    pub fn extend(&mut self, values: &[T]) {
        self.reserve(values.len());
        // SAFETY: the room was reserved; the ranges are of different allocations.
        unsafe {
            std::ptr::copy_nonoverlapping(
                values.as_ptr(),
                self.ptr.as_ptr().add(self.len),
                values.len(),
            );
        }
        self.len += values.len();
    }

    /// Appends the elements of an array, whose length is known at compile time.
    #[inline(always)]
    pub fn extend_array<const N: usize>(&mut self, values: &[T; N]) {
        let to = self.spare(N);
        // SAFETY: room for N elements was reserved, in another allocation than `values`.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), to, N) };
        self.len += N;
    }

    /// Makes room for `additional` more elements. If the memory is refused this unwinds with a
    /// [`Refused`], as all growth does; [`memory::Budget::run`] turns it into an error.
    #[inline(always)]
    pub fn reserve(&mut self, additional: usize) {
        if self.capacity - self.len < additional {
            self.grow(additional);
        }
    }

    /// As [`Buf::reserve`], for a number that the input determines.
    ///
    /// # Errors
    /// If the thread's budget or the system refuses the memory; the buffer is then unchanged.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), Refused> {
        if self.capacity - self.len < additional {
            self.try_grow(additional)?;
        }
        Ok(())
    }

    /// Pointer to room for `additional` more elements, reserved if needed. Kernels write there and
    /// then add the elements with [`Buf::advance`].
    #[inline(always)]
    pub(crate) fn spare(&mut self, additional: usize) -> *mut T {
        // Bounded: `reserve` accounts all growth.
        self.reserve(additional);
        // SAFETY: `len <= capacity`.
        unsafe { self.ptr.as_ptr().add(self.len) }
    }

    /// Room for `additional` more elements, reserved if needed; [`Buf::advance`] adds them.
    #[inline(always)]
    pub(crate) fn room(&mut self, additional: usize) -> &mut [MaybeUninit<T>] {
        let ptr = self.spare(additional);
        // SAFETY: the room was reserved, and may be uninitialised.
        unsafe { std::slice::from_raw_parts_mut(ptr.cast(), additional) }
    }

    /// Appends `count` elements, stored as little-endian from byte `offset` of `from` on.
    ///
    /// # Errors
    /// As [`ReadAt::read_at`]; nothing is appended then.
    pub fn append_at(&mut self, from: &dyn ReadAt, offset: u64, count: usize) -> io::Result<()> {
        let room = self.room(count);
        // SAFETY: the same memory, still as `MaybeUninit`.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(room.as_mut_ptr().cast(), size_of_val(room)) };
        from.read_at(offset, bytes)?;
        // SAFETY: all of the room was written, and every bit pattern is a valid number.
        unsafe { self.advance(count) };
        Ok(())
    }

    /// The number of further elements that fit without growing.
    #[inline(always)]
    pub(crate) fn room_left(&self) -> usize {
        self.capacity - self.len
    }

    /// Whether the buffer is large enough for non-temporal stores to pay off.
    #[inline(always)]
    pub(crate) fn streams(&self) -> bool {
        self.capacity * size_of::<T>() >= STREAM_BYTES_MIN
    }

    /// Adds `count` elements that were written to the spare room.
    ///
    /// # Safety
    /// The next `count` elements were reserved and written through [`Buf::spare`].
    #[inline(always)]
    pub(crate) unsafe fn advance(&mut self, count: usize) {
        debug_assert!(self.len + count <= self.capacity);
        self.len += count;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, additional: usize) {
        self.try_grow(additional).unwrap_or_else(|refused| refused.unwind());
    }

    #[cold]
    fn try_grow(&mut self, additional: usize) -> Result<(), Refused> {
        let least = self.len.saturating_add(additional);
        let wanted = least.max(self.capacity.saturating_mul(2)).max(self.hint).max(32);
        let block = Block::new(wanted.saturating_mul(size_of::<T>()))?;
        let capacity = block.capacity / size_of::<T>();
        let to: NonNull<T> = block.ptr.cast();
        // SAFETY: both ranges hold `len` elements and belong to different blocks.
        unsafe { std::ptr::copy_nonoverlapping(self.ptr.as_ptr(), to.as_ptr(), self.len) };
        self.ptr = to;
        self.block = Some(block);
        self.capacity = capacity;
        Ok(())
    }

    /// Takes the elements out as an Arrow buffer without copying, and keeps their number as a hint
    /// for the next batch.
    pub fn take(&mut self) -> ScalarBuffer<T> {
        let len = std::mem::take(&mut self.len);
        self.hint = len + len / 16;
        self.capacity = 0;
        self.ptr = NonNull::dangling();
        let Some(block) = self.block.take() else { return ScalarBuffer::from(Vec::new()) };
        let ptr = block.ptr;
        // SAFETY: the block holds `len` initialised elements, and the buffer keeps it alive.
        let buffer =
            unsafe { Buffer::from_custom_allocation(ptr, len * size_of::<T>(), Arc::new(block)) };
        ScalarBuffer::new(buffer, 0, len)
    }
}

/// Appends many short pieces to a [`BitBuffer`], without branches on their lengths.
#[derive(Debug)]
pub(crate) struct BitWriter<'a> {
    buffer: &'a mut BitBuffer,
    to: *mut u64,
    partial: u64,
    shift: usize,
    /// Bits that may still be appended.
    left: usize,
    /// Number of complete words.
    full: usize,
}

impl BitWriter<'_> {
    /// Appends `count` bits, at most 64 and at most `left`; the other bits of `bits` are zero.
    #[inline(always)]
    pub(crate) fn put(&mut self, bits: u64, count: usize) {
        assert!(count <= 64 && count <= self.left);
        self.left -= count;
        self.partial |= bits << self.shift;
        // SAFETY: room was made for all words that `left` allows, and one more.
        unsafe { self.to.add(self.full).write(self.partial) };
        let end = self.shift + count;
        // In two steps, as a shift by 64 would be a shift by 0.
        let rest = bits >> 1 >> (63 - self.shift);
        self.partial = if end >= 64 { rest } else { self.partial };
        self.full += end >> 6;
        self.shift = end & 63;
    }
}

impl Drop for BitWriter<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        let buffer = &mut *self.buffer;
        // SAFETY: these words were written.
        unsafe { buffer.words.advance(self.full) };
        buffer.len = buffer.words.len() * 64 + self.shift;
        buffer.partial = self.partial;
    }
}

/// A growable bit map, least significant bit first as Arrow has it.
#[derive(Debug, Default)]
pub struct BitBuffer {
    words: Buf<u64>,
    /// Bits not yet in `words`.
    partial: u64,
    len: usize,
}

impl BitBuffer {
    /// Bits in the map.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends one bit.
    #[inline(always)]
    pub fn push(&mut self, bit: bool) {
        self.partial |= u64::from(bit) << (self.len & 63);
        self.len += 1;
        if self.len & 63 == 0 {
            self.words.push(self.partial);
            self.partial = 0;
        }
    }

    /// Makes room for `additional` more bits.
    pub fn reserve(&mut self, additional: usize) {
        // Bounded: `reserve` accounts all growth.
        self.words.reserve(additional / 64 + 1);
    }

    /// As [`BitBuffer::reserve`], for a number that the input determines.
    ///
    /// # Errors
    /// As [`Buf::try_reserve`].
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), Refused> {
        self.words.try_reserve(additional / 64 + 1)
    }

    /// Appends the lowest `count` bits of `bits`, at most 64.
    #[inline(always)]
    pub fn push_bits(&mut self, bits: u64, count: usize) {
        let count = count.min(64);
        if count == 0 {
            return;
        }
        let bits = bits & (u64::MAX >> (64 - count));
        let shift = self.len & 63;
        self.partial |= bits << shift;
        self.len += count;
        if shift + count >= 64 {
            self.words.push(self.partial);
            self.partial = if shift == 0 { 0 } else { bits >> (64 - shift) };
        }
    }

    /// Appends up to `bits` bits, with one check of the capacity.
    #[inline(always)]
    pub(crate) fn writer(&mut self, bits: usize) -> BitWriter<'_> {
        // The complete words, the partial one, and one that may be written but is not part of the
        // result.
        let words = bits / 64 + 2;
        let to = self.words.spare(words);
        let shift = self.len & 63;
        BitWriter { partial: self.partial, shift, to, left: bits, full: 0, buffer: self }
    }

    /// Appends `bit` `count` times.
    pub fn push_run(&mut self, bit: bool, mut count: usize) {
        let bits = if bit { u64::MAX } else { 0 };
        let head = count.min((64 - (self.len & 63)) & 63);
        self.push_bits(bits, head);
        count -= head;
        // At a word boundary now, so that whole words can be appended.
        self.words.push_n(bits, count / 64);
        self.len += count & !63;
        self.push_bits(bits, count & 63);
    }

    /// The 64 bits from bit `at` on, the first in the lowest place; zeros beyond the end.
    #[inline(always)]
    pub fn word(&self, at: usize) -> u64 {
        let words = self.words.as_slice();
        let get = |i: usize| match words.get(i) {
            Some(&word) => word,
            None if i == words.len() => self.partial,
            None => 0,
        };
        let low = get(at / 64) >> (at & 63);
        if at & 63 == 0 { low } else { low | get(at / 64 + 1) << (64 - (at & 63)) }
    }

    /// The number of set bits in `from..to`.
    pub fn count_ones(&self, from: usize, to: usize) -> usize {
        let to = to.min(self.len);
        let mut ones = 0;
        for at in (from..to).step_by(64) {
            let rest = to - at;
            let bits = self.word(at);
            let bits = if rest < 64 { bits & ((1 << rest) - 1) } else { bits };
            ones += bits.count_ones() as usize;
        }
        ones
    }

    /// Keeps the first `len` bits.
    pub fn truncate(&mut self, len: usize) {
        if len >= self.len {
            return;
        }
        let word = len / 64;
        if word < self.words.len() {
            self.partial = self.words.as_slice()[word];
            self.words.truncate(word);
        }
        self.partial &= (1 << (len & 63)) - 1;
        self.len = len;
    }

    /// Takes the bits out.
    pub fn take(&mut self) -> BooleanBuffer {
        let len = std::mem::take(&mut self.len);
        if len & 63 != 0 {
            self.words.push(self.partial);
        }
        self.partial = 0;
        BooleanBuffer::new(self.words.take().into_inner(), 0, len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_charged_and_refused() {
        let mut budget = memory::Budget::new("batch_bytes_max", 64 << 10);
        let mut buf = Buf::<u64>::default();
        let mut bits = BitBuffer::default();
        let refused = budget.run(|| {
            for value in 0.. {
                buf.push(value);
                bits.push(value % 3 == 0);
            }
        });
        assert_eq!(refused.unwrap_err().limit, "batch_bytes_max");
        // While it grows, a buffer exists twice: 16 KiB and 32 KiB fit, 64 KiB do not.
        assert_eq!(buf.len(), 4096);
        assert!(budget.held_bytes() < 40 << 10, "{}", budget.held_bytes());
        assert_eq!(buf.as_slice()[4095], 4095);
        // The full buffer is unchanged, and can be truncated and used again.
        bits.truncate(4096);
        assert_eq!(budget.run(|| buf.truncate(4000)), Ok(()));
        assert_eq!(budget.run(|| buf.push(7)), Ok(()));
        assert_eq!(bits.count_ones(0, 4096), 1366);
        assert_eq!(budget.run(|| drop((buf, bits))), Ok(()));
        assert_eq!(budget.held_bytes(), 0);
    }

    #[test]
    fn sizes_beyond_the_machine_are_refused() {
        let refused = |capacity| Buf::<u64>::try_with_capacity(capacity).unwrap_err();
        for capacity in [usize::MAX, usize::MAX / 8, 1 << 59, 1 << 56] {
            assert_eq!(refused(capacity).limit, "", "{capacity}");
        }
        let mut buf = Buf::<u8>::default();
        buf.push(1);
        let caught = memory::Budget::UNBOUNDED.clone().run(|| buf.push_n(0, usize::MAX - 1));
        assert!(caught.is_err());
        assert_eq!(buf.as_slice(), [1]);
        assert!(BitBuffer::default().try_reserve(usize::MAX).is_err());
    }

    #[test]
    fn the_memory_of_the_machine_is_known() {
        assert!(memory_bytes() > POOL_BYTES_MIN, "{}", memory_bytes());
    }
}
