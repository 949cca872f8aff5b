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

mod bits;
mod pool;

use std::io;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};
use arrowsmith_core::memory::Refused;

pub use self::bits::BitBuffer;
pub(crate) use self::bits::BitWriter;
use self::pool::Block;
pub use self::pool::{POOL_BYTES_MAX, live_bytes, pool_clear, set_pool_bytes_max};

/// Smallest buffer, in bytes, that column kernels fill with non-temporal stores: half of a core's
/// typical share of the last-level cache, so that the consumer's data is not evicted.
pub(crate) const STREAM_BYTES_MIN: usize = 8 << 20;

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
    /// [`Refused`], as all growth does; [`Budget::run`](arrowsmith_core::memory::Budget::run) turns
    /// it into an error.
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

#[cfg(test)]
mod tests;
