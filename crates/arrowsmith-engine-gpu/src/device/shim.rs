// SPDX-License-Identifier: Apache-2.0
//! The device of tests: kernels compiled for the CPU, host memory. Blocks and threads run in an
//! order determined by a seed, fresh memory holds garbage, and every allocation is fenced.

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use arrow_buffer::{Buffer, MutableBuffer};
use arrowsmith_core::Result;

use super::{Device, Event, Ptr, Stream, failure, host_len};

unsafe extern "C" {
    fn arrowsmith_shim_launch(
        name: *const c_char,
        grid: u64,
        args: *const u64,
        count: usize,
        seed: u64,
    ) -> c_int;
}

/// The kernels on the CPU.
#[derive(Debug)]
pub struct ShimDevice {
    seed: AtomicU64,
    /// Allocations that are not freed yet, and their bytes.
    live: AtomicU64,
    taken: AtomicU64,
    bytes_max: u64,
}

impl ShimDevice {
    /// A device whose threads run in the order of this seed.
    pub fn new(seed: u64) -> Self {
        Self {
            seed: AtomicU64::new(seed),
            live: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            bytes_max: u64::MAX,
        }
    }

    /// The same with this many bytes of memory.
    #[must_use]
    pub fn with_bytes_max(mut self, bytes: u64) -> Self {
        self.bytes_max = bytes;
        self
    }

    /// Allocations that are not freed yet.
    pub fn live(&self) -> u64 {
        self.live.load(Ordering::SeqCst)
    }
}

fn layout(bytes: u64) -> Result<Layout> {
    Layout::from_size_align(host_len(bytes)?.max(1), 256)
        .map_err(|_| failure("gpu: more memory than there can be"))
}

impl Device for ShimDevice {
    fn name(&self) -> String {
        "the CPU, in place of a GPU".to_owned()
    }

    fn fences(&self) -> bool {
        true
    }

    fn arrow_device(&self) -> (i32, i64) {
        (1, 0)
    }

    fn allocate(&self, bytes: u64) -> Result<Option<Ptr>> {
        let room = |taken: u64| taken.checked_add(bytes).filter(|taken| *taken <= self.bytes_max);
        if self.taken.fetch_update(Ordering::SeqCst, Ordering::SeqCst, room).is_err() {
            return Ok(None);
        }
        // SAFETY: the layout's size is not 0: `layout` rounds it up.
        let at = unsafe { alloc(layout(bytes)?) };
        if at.is_null() {
            return Err(failure("gpu: no memory"));
        }
        // SAFETY: these bytes were just allocated.
        unsafe { at.write_bytes(0xA5, host_len(bytes)?) };
        self.live.fetch_add(1, Ordering::SeqCst);
        Ok(Some(Ptr(at as u64)))
    }

    fn free(&self, at: Ptr, bytes: u64) {
        if let Ok(layout) = layout(bytes) {
            // Fills freed memory, so that a later read returns this pattern.
            if let Ok(len) = host_len(bytes) {
                // SAFETY: the memory is not freed yet.
                unsafe { (at.0 as *mut u8).write_bytes(0x5A, len) };
            }
            // SAFETY: `allocate` returned this address for this many bytes; callers free it once.
            unsafe { dealloc(at.0 as *mut u8, layout) };
            self.live.fetch_sub(1, Ordering::SeqCst);
            self.taken.fetch_sub(bytes, Ordering::SeqCst);
        }
    }

    fn copy_seconds(&self, bytes: usize, rounds: usize) -> Result<(Vec<f64>, Vec<f64>)> {
        // Bounded: by the caller, which measures.
        let (from, mut to) = (vec![1_u8; bytes], vec![0_u8; bytes]);
        let mut copy = || {
            let started = Instant::now();
            to.copy_from_slice(&from);
            started.elapsed().as_secs_f64()
        };
        Ok((0..rounds).map(|_| (copy(), copy())).unzip())
    }

    fn stream(self: Arc<Self>) -> Result<Box<dyn Stream>> {
        Ok(Box::new(ShimStream { device: self }))
    }
}

/// Work is done immediately.
#[derive(Debug)]
struct ShimStream {
    device: Arc<ShimDevice>,
}

impl Stream for ShimStream {
    /// Two warps: a block costs its threads, and most texts of tests are short.
    fn block_threads(&self) -> u64 {
        64
    }

    fn copy_in(&mut self, to: Ptr, bytes: &[u8]) -> Result<()> {
        // SAFETY: by the contract of `Stream`, `to` is memory that `allocate` returned with at
        // least this many bytes; the fences of the arena, which every test checks, detect
        // violations.
        unsafe { (to.0 as *mut u8).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    fn copy_within(&mut self, to: Ptr, from: Ptr, bytes: u64) -> Result<()> {
        // SAFETY: as in `copy_in`, for both addresses.
        unsafe {
            (to.0 as *mut u8).copy_from_nonoverlapping(from.0 as *const u8, host_len(bytes)?);
        }
        Ok(())
    }

    /// All work is done when its call returns.
    fn record(&mut self) -> Result<Option<Box<dyn Event>>> {
        Ok(None)
    }

    fn fill(&mut self, at: Ptr, byte: u8, bytes: u64) -> Result<()> {
        // SAFETY: as in `copy_in`.
        unsafe { (at.0 as *mut u8).write_bytes(byte, host_len(bytes)?) };
        Ok(())
    }

    fn launch(&mut self, kernel: &'static str, grid: u64, args: &[u64]) -> Result<()> {
        let name = CString::new(kernel).map_err(|_| failure("gpu: a kernel without a name"))?;
        let name: &CStr = &name;
        let seed = self.device.seed.fetch_add(0x9E37_79B9, Ordering::Relaxed) | 1;
        // SAFETY: the name is NUL-terminated; the number of arguments is compared with that of the
        // kernel. The tests exist to check how the kernel uses addresses.
        let status =
            unsafe { arrowsmith_shim_launch(name.as_ptr(), grid, args.as_ptr(), args.len(), seed) };
        match status {
            0 => Ok(()),
            status => Err(failure(format!("gpu: kernel {kernel}: error {status} of the shim"))),
        }
    }

    fn fetch(&mut self, parts: &[(Ptr, u64)]) -> Result<Vec<Buffer>> {
        let mut fetched = Vec::with_capacity(parts.len());
        for &(at, bytes) in parts {
            let mut buffer = MutableBuffer::from_len_zeroed(host_len(bytes)?);
            // SAFETY: as in `copy_in`; the buffer has this many bytes.
            unsafe {
                buffer.as_mut_ptr().copy_from_nonoverlapping(at.0 as *const u8, buffer.len());
            }
            fetched.push(buffer.into());
        }
        Ok(fetched)
    }
}
