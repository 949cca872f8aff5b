// SPDX-License-Identifier: Apache-2.0
//! What the engine asks of a device: memory, copies, kernels in order on a stream.
//!
//! Two implementations: `cuda` and `shim`, which runs the same kernel source on the CPU. Everything
//! above sees only these traits, so that what CI proves with the one holds for the other. An address is a
//! number here and is never followed on the host.

#[cfg(feature = "cuda")]
pub mod cuda;
pub mod memory;
#[cfg(feature = "cuda")]
pub mod nvml;
pub mod resident;
#[cfg(feature = "shim")]
pub mod shim;

use std::ffi::c_void;
use std::fmt::Debug;
use std::io;
use std::sync::Arc;

use arrow_buffer::MutableBuffer;
use arrowsmith_core::{Error, Result};

/// Threads of a block on a GPU, in every kernel; `BLOCK` of kernels/common.cuh.
pub const BLOCK: u64 = 256;

/// An address in the memory of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ptr(pub u64);

impl Ptr {
    /// The address `bytes` further.
    #[must_use]
    pub fn offset(self, bytes: u64) -> Self {
        Self(self.0 + bytes)
    }
}

/// A device.
pub trait Device: Send + Sync + Debug {
    /// What it is called, for people.
    fn name(&self) -> String;

    /// Whether memory that was handed out is fenced by bytes that must not change.
    fn fences(&self) -> bool {
        false
    }

    /// The device type and number of the Arrow C Device interface.
    fn arrow_device(&self) -> (i32, i64);

    /// Takes memory, aligned to 256 bytes; nothing where there is no room for it, as others use the device too.
    ///
    /// # Errors
    /// What the driver says else.
    fn allocate(&self, bytes: u64) -> Result<Option<Ptr>>;

    /// Gives memory back that `allocate` gave.
    fn free(&self, at: Ptr, bytes: u64);

    /// Seconds that each of some copies took, between the host and the device and back, by memory that the device
    /// reads by itself: what the machine can do at most.
    ///
    /// # Errors
    /// What the driver says.
    fn copy_seconds(&self, bytes: usize, rounds: usize) -> Result<(Vec<f64>, Vec<f64>)>;

    /// Joules that it has used so far.
    ///
    /// # Errors
    /// Why nobody knows, in words.
    fn joules(&self) -> Result<f64, String> {
        Err("this device does not count".to_owned())
    }

    /// Another queue of work.
    ///
    /// # Errors
    /// What the driver says.
    fn stream(self: Arc<Self>) -> Result<Box<dyn Stream>>;
}

/// No device: for what can be said of a file without one.
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

    /// Blocks that cover so many threads.
    fn blocks(&self, threads: u64) -> u64 {
        threads.div_ceil(self.block_threads())
    }

    /// Copies bytes to the device.
    ///
    /// # Errors
    /// What the driver says.
    fn copy_in(&mut self, to: Ptr, bytes: &[u8]) -> Result<()>;

    /// Copies memory of the device to other memory of it.
    ///
    /// # Errors
    /// What the driver says.
    fn copy_within(&mut self, to: Ptr, from: Ptr, bytes: u64) -> Result<()>;

    /// Sets memory to a byte.
    ///
    /// # Errors
    /// What the driver says.
    fn fill(&mut self, at: Ptr, byte: u8, bytes: u64) -> Result<()>;

    /// Runs a kernel over `grid` blocks of [`Stream::block_threads`] each. `args` are the fields of the structure that
    /// the kernel takes, in their order.
    ///
    /// # Errors
    /// What the driver says of the launch; what goes wrong in the kernel is said by the next `fetch`.
    fn launch(&mut self, kernel: &'static str, grid: u64, args: &[u64]) -> Result<()>;

    /// Waits for all work, and copies memory to the host.
    ///
    /// # Errors
    /// What the driver says of anything that was queued before.
    fn fetch(&mut self, parts: &[(Ptr, u64)]) -> Result<Vec<MutableBuffer>>;

    /// Something that says when all work so far is done; none where it is done already.
    ///
    /// # Errors
    /// What the driver says.
    fn record(&mut self) -> Result<Option<Box<dyn Event>>>;
}

/// Something that happens on a stream.
pub trait Event: Send + Sync + Debug {
    /// What the Arrow C Device interface calls a synchronisation event: an address that stays while this lives.
    fn address(&self) -> *mut c_void;

    /// Waits for it.
    ///
    /// # Errors
    /// What the driver says of anything that was queued before.
    fn wait(&self) -> Result<()>;
}

/// The error of a device.
pub(crate) fn failure(message: impl Into<String>) -> Error {
    Error::Io { path: None, source: io::Error::other(message.into()) }
}

/// The error of what has to be on the device as a whole.
pub(crate) fn no_room(bytes: u64) -> Error {
    failure(format!("gpu: the device has no room for {bytes} bytes"))
}

/// A number of bytes of the device as one of the host.
pub(crate) fn host_len(bytes: u64) -> Result<usize> {
    usize::try_from(bytes).map_err(|_| failure("gpu: more bytes than this machine addresses"))
}
