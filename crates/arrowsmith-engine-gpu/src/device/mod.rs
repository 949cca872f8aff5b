// SPDX-License-Identifier: Apache-2.0
//! The interface of a device: memory, copies, kernels in order on a stream.
//!
//! Two implementations: `cuda` and `shim`, which runs the same kernel source on the CPU. All other
//! code uses only these traits, so that CI results with the one hold for the other. An address is a
//! number here and is never dereferenced on the host.

#[cfg(feature = "cuda")]
pub mod cuda;
pub mod lanes;
pub mod memory;
#[cfg(feature = "cuda")]
pub mod nvml;
pub mod resident;
#[cfg(feature = "shim")]
pub mod shim;
pub mod upload;

use std::ffi::c_void;
use std::fmt::Debug;
use std::io;
use std::sync::Arc;

use arrow_buffer::Buffer;
use arrowsmith_core::{Error, Result};

/// Threads of a block on a GPU, in every kernel; `BLOCK` of kernels/common.cuh.
pub const BLOCK: u64 = 256;

/// An address in the memory of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ptr(pub u64);

impl Ptr {
    /// The address plus `bytes`.
    #[must_use]
    pub fn offset(self, bytes: u64) -> Self {
        Self(self.0 + bytes)
    }
}

/// A device.
pub trait Device: Send + Sync + Debug {
    /// Its name, for people.
    fn name(&self) -> String;

    /// Whether allocations are followed by fence bytes that must not change.
    fn fences(&self) -> bool {
        false
    }

    /// Whether it is none, in whose place an engine explains what it would do.
    fn only_answers(&self) -> bool {
        false
    }

    /// The device type and number of the Arrow C Device interface.
    fn arrow_device(&self) -> (i32, i64);

    /// Allocates memory, aligned to 256 bytes; `None` if there is not enough, as other processes
    /// use the device too.
    ///
    /// # Errors
    /// Other errors of the driver.
    fn allocate(&self, bytes: u64) -> Result<Option<Ptr>>;

    /// Frees memory returned by `allocate`, after all work so far of every stream.
    fn free(&self, at: Ptr, bytes: u64);

    /// Lets results be in pinned memory, where the device has written them, up to this many bytes;
    /// by default, and beyond that, they are copied to other memory.
    fn hold_results(&self, _bytes_max: u64) {}

    /// Seconds that each of some copies took, from the host to the device and back, from pinned
    /// memory: the upper limit of the machine.
    ///
    /// # Errors
    /// Errors of the driver.
    fn copy_seconds(&self, bytes: usize, rounds: usize) -> Result<(Vec<f64>, Vec<f64>)>;

    /// Energy that it has used so far, joules.
    ///
    /// # Errors
    /// Why it is unknown, in words.
    fn joules(&self) -> Result<f64, String> {
        Err("this device does not count".to_owned())
    }

    /// Another queue of work.
    ///
    /// # Errors
    /// Errors of the driver.
    fn stream(self: Arc<Self>) -> Result<Box<dyn Stream>>;
}

/// No device: for queries about a file that need none.
#[derive(Debug)]
pub struct NoDevice;

impl NoDevice {
    fn absent<T>() -> Result<T> {
        Err(failure("gpu: there is no device"))
    }
}

impl Device for NoDevice {
    fn name(&self) -> String {
        "no device".to_owned()
    }

    fn only_answers(&self) -> bool {
        true
    }

    fn arrow_device(&self) -> (i32, i64) {
        (1, 0)
    }

    fn allocate(&self, _: u64) -> Result<Option<Ptr>> {
        Self::absent()
    }

    fn free(&self, _: Ptr, _: u64) {}

    fn copy_seconds(&self, _: usize, _: usize) -> Result<(Vec<f64>, Vec<f64>)> {
        Self::absent()
    }

    fn stream(self: Arc<Self>) -> Result<Box<dyn Stream>> {
        Self::absent()
    }
}

/// Work that the device does in order.
pub trait Stream: Send + Debug {
    /// Threads of a block, in every kernel.
    fn block_threads(&self) -> u64 {
        BLOCK
    }

    /// The number of blocks that cover this many threads.
    fn blocks(&self, threads: u64) -> u64 {
        threads.div_ceil(self.block_threads())
    }

    /// Copies bytes to the device. `to` must be device memory of at least that many bytes.
    ///
    /// # Errors
    /// Errors of the driver.
    fn copy_in(&mut self, to: Ptr, bytes: &[u8]) -> Result<()>;

    /// Copies memory of the device to other memory of it.
    ///
    /// # Errors
    /// Errors of the driver.
    fn copy_within(&mut self, to: Ptr, from: Ptr, bytes: u64) -> Result<()>;

    /// Sets memory to a byte.
    ///
    /// # Errors
    /// Errors of the driver.
    fn fill(&mut self, at: Ptr, byte: u8, bytes: u64) -> Result<()>;

    /// Runs a kernel over `grid` blocks of [`Stream::block_threads`] each. `args` are the fields of
    /// the structure that the kernel takes, in their order.
    ///
    /// # Errors
    /// The driver's launch error; an error inside the kernel is reported by the next `fetch`.
    fn launch(&mut self, kernel: &'static str, grid: u64, args: &[u64]) -> Result<()>;

    /// Waits for all work, and copies memory to the host.
    ///
    /// # Errors
    /// The driver's error for any work queued before.
    fn fetch(&mut self, parts: &[(Ptr, u64)]) -> Result<Vec<Buffer>>;

    /// An event that is signalled when all work so far is done; `None` if it is done already.
    ///
    /// # Errors
    /// Errors of the driver.
    fn record(&mut self) -> Result<Option<Box<dyn Event>>>;
}

/// A recorded event of a stream.
pub trait Event: Send + Sync + Debug {
    /// The synchronisation event of the Arrow C Device interface: an address that is stable while
    /// this lives.
    fn address(&self) -> *mut c_void;

    /// Waits for it.
    ///
    /// # Errors
    /// The driver's error for any work queued before.
    fn wait(&self) -> Result<()>;
}

/// The error of a device.
pub(crate) fn failure(message: impl Into<String>) -> Error {
    Error::Io { path: None, source: io::Error::other(message.into()) }
}

/// The error for data that must be on the device as a whole but does not fit.
pub(crate) fn no_room(bytes: u64) -> Error {
    failure(format!("gpu: the device has no room for {bytes} bytes"))
}

/// A device byte count as a host `usize`.
pub(crate) fn host_len(bytes: u64) -> Result<usize> {
    usize::try_from(bytes).map_err(|_| failure("gpu: more bytes than this machine addresses"))
}
