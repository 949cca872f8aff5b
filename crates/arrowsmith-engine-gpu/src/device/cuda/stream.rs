// SPDX-License-Identifier: Apache-2.0
//! A CUDA stream: copies through pinned memory, launches, and events.

use std::ffi::c_void;
use std::sync::Arc;

use arrow_buffer::{Buffer, MutableBuffer};
use arrowsmith_core::Result;
use cudarc::driver::{result, sys};

use super::pinned::{Held, Pinned, Results};
use super::{CudaDevice, Handle, checked};
use crate::abi::{COPY_PARTS, CopyArgs, CopyPart, Shared, bytes_of};
use crate::device::{BLOCK, Event, Ptr, Stream, failure, host_len};

/// Copies of at most this many bytes are made by a kernel: a copy engine serves the streams in
/// turn, and a small copy would wait for one of some megabytes of another stream.
const KERNEL_BYTES_MAX: usize = 4 << 10;

/// Each part of a result begins at a multiple of this.
const PART_BYTES: usize = 64;

/// Pinned memory that kernels read begins at a multiple of this.
const ALIGN: usize = 8;

/// A CUDA stream, with pinned memory for uploads and downloads.
#[derive(Debug)]
pub(super) struct CudaStream {
    device: Arc<CudaDevice>,
    stream: Handle<sys::CUstream_st>,
    up: Pinned,
    down: Pinned,
}

impl CudaStream {
    pub(super) fn new(device: Arc<CudaDevice>, stream: sys::CUstream) -> Self {
        Self { device, stream: Handle(stream), up: Pinned::EMPTY, down: Pinned::EMPTY }
    }

    fn wait(&mut self) -> Result<()> {
        // SAFETY: the stream lives until `drop`.
        let waited = unsafe { result::stream::synchronize(self.stream.0) };
        self.up.used = 0;
        checked("cuStreamSynchronize", waited)
    }

    /// Reserves pinned memory until the stream is synchronized; returns where it is.
    fn reserve(&mut self, bytes: usize) -> Result<usize> {
        let bytes = bytes.next_multiple_of(ALIGN);
        if self.up.bytes - self.up.used < bytes {
            self.wait()?;
            if self.up.bytes < bytes {
                self.up.grow(bytes)?;
            }
        }
        let from = self.up.used;
        self.up.used += bytes;
        Ok(from)
    }

    /// Queues copies of parts to the memory of a result, or to that of downloads.
    fn queue(&mut self, parts: &[(Ptr, u64)], held: Option<&Held>) -> Result<()> {
        let mut from = 0;
        for &(at, len) in parts {
            let len = host_len(len)?;
            if len > 0 {
                let room = match held {
                    // SAFETY: each part has its own bytes, which are read after the copy only.
                    Some(held) => unsafe { held.room(from, len) },
                    None => self.down.slice(from, len),
                };
                // SAFETY: by the contract of `Stream`, `at` is device memory of at least `len`
                // bytes; `room` is not accessed until the stream is synchronized.
                let copied = unsafe { result::memcpy_dtoh_async(room, at.0, self.stream.0) };
                if copied.is_err() {
                    // Earlier copies may still write to it.
                    self.wait()?;
                }
                checked("cuMemcpyDtoHAsync", copied)?;
            }
            from += len.next_multiple_of(PART_BYTES);
        }
        Ok(())
    }

    /// The same, by a kernel, to the memory of downloads.
    fn queue_small(&mut self, parts: &[(Ptr, u64)]) -> Result<()> {
        let mut from = 0;
        let mut copies = Vec::with_capacity(parts.len());
        for &(at, bytes) in parts {
            copies.push(CopyPart { to: self.down.on_device(from).0, from: at.0, bytes });
            from += host_len(bytes)?.next_multiple_of(PART_BYTES);
        }
        let at = self.reserve(copies.len() * CopyPart::BYTES)?;
        self.copy_parts(at, &copies)
    }

    /// Makes small copies by a kernel; there is room for the parts at `at`.
    fn copy_parts(&mut self, at: usize, parts: &[CopyPart]) -> Result<()> {
        let bytes = bytes_of(parts);
        self.up.slice(at, bytes.len()).copy_from_slice(&bytes);
        let args = CopyArgs { parts: self.up.on_device(at) };
        COPY_PARTS.launch(self, parts.len() as u64, &args)
    }
}

/// A CUDA event; its handle has a stable address, as the Arrow C Device interface requires.
#[derive(Debug)]
struct CudaEvent {
    device: Arc<CudaDevice>,
    event: Box<Handle<sys::CUevent_st>>,
}

impl Event for CudaEvent {
    fn address(&self) -> *mut c_void {
        std::ptr::from_ref(&self.event.0).cast_mut().cast()
    }

    fn wait(&self) -> Result<()> {
        let _entered = self.device.enter()?;
        // SAFETY: the event lives until `drop`.
        checked("cuEventSynchronize", unsafe { result::event::synchronize(self.event.0) })
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        let _entered = self.device.enter();
        // SAFETY: created in `record`; the driver keeps a pending event until it has happened.
        let _ = unsafe { result::event::destroy(self.event.0) };
    }
}

impl Stream for CudaStream {
    fn copy_in(&mut self, to: Ptr, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let _entered = self.device.enter()?;
        if bytes.len() <= KERNEL_BYTES_MAX {
            let at = self.reserve(CopyPart::BYTES + bytes.len())?;
            let from = at + CopyPart::BYTES;
            self.up.slice(from, bytes.len()).copy_from_slice(bytes);
            let from = self.up.on_device(from).0;
            return self.copy_parts(at, &[CopyPart { to: to.0, from, bytes: bytes.len() as u64 }]);
        }
        let from = self.reserve(bytes.len())?;
        let staged = self.up.slice(from, bytes.len());
        staged.copy_from_slice(bytes);
        // SAFETY: by the contract of `Stream`, `to` is device memory of at least `bytes.len()`
        // bytes; the staged bytes are unchanged until the stream is synchronized, because they are
        // reserved.
        let copied = unsafe { result::memcpy_htod_async(to.0, staged, self.stream.0) };
        checked("cuMemcpyHtoDAsync", copied)
    }

    fn copy_within(&mut self, to: Ptr, from: Ptr, bytes: u64) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let _entered = self.device.enter()?;
        // SAFETY: by the contract of `Stream`, both addresses are device memory of at least `bytes`
        // bytes.
        let copied =
            unsafe { result::memcpy_dtod_async(to.0, from.0, host_len(bytes)?, self.stream.0) };
        checked("cuMemcpyDtoDAsync", copied)
    }

    fn record(&mut self) -> Result<Option<Box<dyn Event>>> {
        let _entered = self.device.enter()?;
        let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING;
        let event = checked("cuEventCreate", result::event::create(flags))?;
        // From here on, so that `drop` destroys it whatever fails.
        let device = Arc::clone(&self.device);
        let recorded = CudaEvent { device, event: Box::new(Handle(event)) };
        // SAFETY: the event was just created, and the stream lives until `drop`.
        let done = unsafe { result::event::record(event, self.stream.0) };
        checked("cuEventRecord", done)?;
        Ok(Some(Box::new(recorded)))
    }

    fn fill(&mut self, at: Ptr, byte: u8, bytes: u64) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let _entered = self.device.enter()?;
        // SAFETY: by the contract of `Stream`, `at` is device memory of at least `bytes` bytes.
        let filled =
            unsafe { result::memset_d8_async(at.0, byte, host_len(bytes)?, self.stream.0) };
        checked("cuMemsetD8Async", filled)
    }

    fn launch(&mut self, kernel: &'static str, grid: u64, args: &[u64]) -> Result<()> {
        let _entered = self.device.enter()?;
        let function = self.device.kernels.get(kernel).copied();
        let function =
            function.ok_or_else(|| failure(format!("gpu: there is no kernel {kernel}")))?;
        let grid = u32::try_from(grid).ok().filter(|grid| *grid <= i32::MAX.unsigned_abs());
        let grid = grid.ok_or_else(|| failure("gpu: more blocks than a grid has"))?;
        let mut held = args.to_vec();
        let mut params = [held.as_mut_ptr().cast::<c_void>()];
        let block = u32::try_from(BLOCK).unwrap_or(256);
        // SAFETY: a kernel takes one structure of `args.len()` eight-byte fields: the shim, which
        // tests every launch, compares the numbers. The driver copies the parameters before it
        // returns.
        let launched = unsafe {
            result::launch_kernel(
                function.0,
                (grid, 1, 1),
                (block, 1, 1),
                0,
                self.stream.0,
                &mut params,
            )
        };
        checked(&format!("kernel {kernel}"), launched)
    }

    fn fetch(&mut self, parts: &[(Ptr, u64)]) -> Result<Vec<Buffer>> {
        let device = Arc::clone(&self.device);
        let _entered = device.enter()?;
        let mut bytes = 0;
        for part in parts {
            bytes += host_len(part.1.next_multiple_of(PART_BYTES as u64))?;
        }
        let held = Results::take(&self.device, bytes)?;
        if held.is_none() && self.down.bytes < bytes {
            // A fetch that failed half-way may still use this memory.
            self.wait()?;
            self.down.grow(bytes)?;
        }
        match bytes {
            0 => {}
            1..=KERNEL_BYTES_MAX => self.queue_small(parts)?,
            _ => self.queue(parts, held.as_deref())?,
        }
        self.wait()?;
        let mut fetched = Vec::with_capacity(parts.len());
        let mut from = 0;
        for part in parts {
            let len = host_len(part.1)?;
            fetched.push(match &held {
                Some(held) => held.buffer(from, len),
                None => {
                    let mut buffer = MutableBuffer::new(len);
                    buffer.extend_from_slice(self.down.slice(from, len));
                    buffer.into()
                }
            });
            from += len.next_multiple_of(PART_BYTES);
        }
        Ok(fetched)
    }
}

impl Drop for CudaStream {
    fn drop(&mut self) {
        let _entered = self.device.enter();
        let _ = self.wait();
        self.up.release();
        self.down.release();
        // SAFETY: created in `stream`; the stream was synchronized, so no work is left.
        let _ = unsafe { result::stream::destroy(self.stream.0) };
    }
}
