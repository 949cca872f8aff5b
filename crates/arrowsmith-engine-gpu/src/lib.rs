// SPDX-License-Identifier: Apache-2.0
//! The GPU engine: the same plan under CUDA.
//!
//! One set of kernels reads any plan as data, so that nothing is compiled for a schema and the kernels can
//! be proved: their one source also runs on the CPU (feature `shim`), through the same tests as every
//! engine. `device` is memory, copies and launches, for CUDA and for that; `json` drives the kernels of
//! `kernels/json`. A record that the device is not sure of is decoded by the CPU engine, so that errors
//! are the same to the byte. The crate makes no threads: one decoder is one stream.

#![deny(unsafe_code)]

#[expect(unsafe_code, reason = "the CUDA driver and the shim are C")]
pub mod device;
mod json;
pub mod kernel;
pub mod parquet;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrowsmith_core::{DecodeOptions, Decoder, Error, Result};
use arrowsmith_engine_cpu::CpuEngine;
use arrowsmith_plan::{Engine, Plan};

use device::Device;
pub use device::resident::{DeviceBatch, FfiDeviceArray};
use json::JsonDecoder;
use json::program::Program;
pub use json::{DeviceDecoder, DeviceText, ResidentEngine};

/// How much of a device a decoder may use.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GpuOptions {
    /// Device memory of one decoder, in bytes; a chunk that needs more is cut. Default 2 GiB.
    pub memory_bytes_max: u64,
    /// Text that goes through the kernels at once, in bytes. Default 128 MiB.
    pub piece_bytes_max: usize,
    /// Tokens (brackets, commas, colons, words) of a record that one thread walks over; longer ones are left to the
    /// CPU engine. Default 65536.
    pub record_tokens_max: u64,
    /// What an offset of 32 bits may say at most: rows with more text, or more items, come as further batches.
    /// Default 2³¹ − 1; a smaller one is for tests.
    pub offset_max: u64,
}

/// What an offset of 32 bits may say.
const OFFSET_MAX: u64 = i32::MAX.unsigned_abs() as u64;

/// Text of one chunk that fills the device and is still divided among threads, in bytes.
const CHUNK_BYTES: usize = 32 << 20;

impl Default for GpuOptions {
    fn default() -> Self {
        Self {
            memory_bytes_max: 2 << 30,
            piece_bytes_max: 128 << 20,
            record_tokens_max: 1 << 16,
            offset_max: OFFSET_MAX,
        }
    }
}

impl GpuOptions {
    /// The defaults, with another bound on device memory, in bytes.
    #[must_use]
    pub fn with_memory_bytes_max(mut self, bytes: u64) -> Self {
        self.memory_bytes_max = bytes;
        self
    }

    /// The defaults, with another largest offset; never more than 32 bits hold.
    #[must_use]
    pub fn with_offset_max(mut self, most: u64) -> Self {
        self.offset_max = most.min(OFFSET_MAX);
        self
    }

    /// The defaults, with another most text at once, in bytes.
    #[must_use]
    pub fn with_piece_bytes_max(mut self, bytes: usize) -> Self {
        self.piece_bytes_max = bytes;
        self
    }
}

/// What an engine's decoders did so far.
#[derive(Debug, Default)]
pub struct Counters {
    bytes: AtomicU64,
    careful: AtomicU64,
}

impl Counters {
    fn add_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn add_careful(&self, bytes: u64) {
        self.careful.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes of text that were decoded.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Bytes among them that the CPU engine decoded, because the kernels were not sure of them.
    pub fn careful_bytes(&self) -> u64 {
        self.careful.load(Ordering::Relaxed)
    }
}

/// The engine named `gpu`.
#[derive(Debug, Clone)]
pub struct GpuEngine {
    device: Arc<dyn Device>,
    options: GpuOptions,
    counters: Arc<Counters>,
}

impl GpuEngine {
    /// On this device.
    pub fn new(device: Arc<dyn Device>, options: GpuOptions) -> Self {
        Self { device, options, counters: Arc::default() }
    }

    /// On the first device that CUDA shows, of this machine.
    ///
    /// # Errors
    /// [`Error::Config`] where there is none that will do, with the reason; and what the driver says.
    pub fn open(options: GpuOptions) -> Result<Self> {
        #[cfg(feature = "cuda")]
        {
            Ok(Self::new(Arc::new(device::cuda::CudaDevice::open(0)?), options))
        }
        #[cfg(not(feature = "cuda"))]
        {
            drop(options);
            Err(Error::Config("this build has no engine gpu".to_owned()))
        }
    }

    /// Sets a plan up for batches that stay on the device.
    ///
    /// # Errors
    /// As [`Engine::decoder`].
    pub fn device_decoder(
        &self,
        plan: &Arc<Plan>,
        options: &DecodeOptions,
    ) -> Result<DeviceDecoder> {
        match Program::new(plan) {
            Ok(program) => self.kernels(plan, options, program).map(DeviceDecoder::kernels),
            Err(_) => {
                let decoder = CpuEngine::default().decoder(plan, options)?;
                Ok(DeviceDecoder::cpu(decoder, &self.device))
            }
        }
    }

    fn kernels(
        &self,
        plan: &Arc<Plan>,
        options: &DecodeOptions,
        program: Program,
    ) -> Result<JsonDecoder> {
        let counters = Arc::clone(&self.counters);
        JsonDecoder::new(plan, options, &self.device, &self.options, program, counters)
    }

    /// What its decoders did so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The device.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }
}

/// The engine that a name asks for: with `gpu` what `open` opens; with `auto` the same, or nothing where there is no
/// GPU; nothing with any other name.
///
/// # Errors
/// As `open`.
pub fn by_name(name: &str, open: impl FnOnce() -> Result<GpuEngine>) -> Result<Option<GpuEngine>> {
    match (name, ["gpu", "auto"].contains(&name).then(open)) {
        (_, None) | ("auto", Some(Err(Error::Config(_)))) => Ok(None),
        (_, Some(opened)) => opened.map(Some),
    }
}

/// Whether the kernels read this plan.
///
/// # Errors
/// What in it they do not hold, in words: the CPU engine decodes it then.
pub fn supports(plan: &Plan) -> Result<(), String> {
    Program::new(plan).map(|_| ())
}

impl Engine for GpuEngine {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn decoder(&self, plan: &Arc<Plan>, options: &DecodeOptions) -> Result<Box<dyn Decoder>> {
        plan.check(&options.limits)?;
        match Program::new(plan) {
            Ok(program) => Ok(Box::new(self.kernels(plan, options, program)?)),
            Err(_) => CpuEngine::default().decoder(plan, options),
        }
    }

    fn chunk_bytes(&self) -> Option<usize> {
        Some(CHUNK_BYTES)
    }
}
