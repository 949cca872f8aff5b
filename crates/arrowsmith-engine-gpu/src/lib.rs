// SPDX-License-Identifier: Apache-2.0
//! The GPU engine: the same plan under CUDA.
//!
//! One set of kernels reads any plan as data, so nothing is compiled per schema and the kernels can
//! be tested without a GPU: the same source also runs on the CPU (feature `shim`), through the same
//! tests as every engine. `device` is memory, copies and launches, for CUDA and for the shim;
//! `json` drives the kernels of `kernels/json`, `parquet` those of `kernels/parquet`. A doubtful
//! record or column is passed to the rest of the engine's chain, so errors are that engine's to the
//! byte. The crate starts no threads: one decoder is one stream.

#![deny(unsafe_code)]

#[doc(hidden)]
pub mod abi;
#[expect(unsafe_code, reason = "the CUDA driver and the shim are C")]
pub mod device;
mod json;
pub mod kernel;
mod parquet;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(not(feature = "cuda"))]
use arrowsmith_core::Error;
use arrowsmith_core::{DecodeOptions, Decoder, Result};
use arrowsmith_engine::{Answer, Chain, ColumnDecoder, ColumnRequest, Declined, Engine};
use arrowsmith_parquet::{Column, File, ReadOptions, ReadPlan};
use arrowsmith_plan::Plan;

use device::Device;
use device::lanes::Lanes;
pub use device::resident::{DeviceBatch, FfiDeviceArray};
use json::program::Program;
pub use json::{DeviceDecoder, DeviceText, ResidentEngine};
use json::{JsonDecoder, LastTables};
use parquet::Columns;
#[doc(hidden)]
pub use parquet::trial::{Unpacked, unpack_pages};

/// How much of a device a decoder may use.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GpuOptions {
    /// Device memory of one decoder, in bytes; a chunk that needs more is split. Default 2 GiB.
    pub memory_bytes_max: u64,
    /// Text that goes through the kernels at once, in bytes. Default 128 MiB.
    pub piece_bytes_max: usize,
    /// Tokens (brackets, commas, colons, words) of a record that one thread walks; longer ones are
    /// left to another engine. Default 65536.
    pub record_tokens_max: u64,
    /// Maximum value of a 32-bit offset: rows with more text, or more items, become further
    /// batches. Default 2³¹ − 1; tests set a smaller one.
    pub offset_max: u64,
    /// Pages of a column chunk from which on each is decoded by one block of threads: as many
    /// blocks as a device runs at once. Of fewer pages, each is split. Default 1056.
    pub split_pages_max: u64,
    /// Bytes up to which a page is not split. Default 16 KiB.
    pub split_bytes_min: u64,
    /// Pinned memory in which the device may leave results, in bytes; beyond that, they are copied.
    /// It saves half of the host's work where results are large. A batch in it is part of a larger
    /// allocation, and must not be read in a child process after a fork. Default 0.
    pub pinned_bytes_max: u64,
}

/// Maximum value of a 32-bit offset.
const OFFSET_MAX: u64 = i32::MAX.unsigned_abs() as u64;

/// Text of one chunk that fills the device and is still divided among threads, in bytes.
const CHUNK_BYTES: usize = 4 << 20;

impl Default for GpuOptions {
    fn default() -> Self {
        Self {
            memory_bytes_max: 2 << 30,
            piece_bytes_max: 128 << 20,
            record_tokens_max: 1 << 16,
            offset_max: OFFSET_MAX,
            split_pages_max: 1056,
            split_bytes_min: 16 << 10,
            pinned_bytes_max: 0,
        }
    }
}

impl GpuOptions {
    /// Sets the maximum device memory of one decoder, in bytes.
    #[must_use]
    pub fn with_memory_bytes_max(mut self, bytes: u64) -> Self {
        self.memory_bytes_max = bytes;
        self
    }

    /// Sets the maximum offset, limited to what 32 bits hold.
    #[must_use]
    pub fn with_offset_max(mut self, most: u64) -> Self {
        self.offset_max = most.min(OFFSET_MAX);
        self
    }

    /// Sets how much pinned memory results may be in, in bytes.
    #[must_use]
    pub fn with_pinned_bytes_max(mut self, bytes: u64) -> Self {
        self.pinned_bytes_max = bytes;
        self
    }

    /// Sets which pages are split among many blocks of threads: those of more bytes than this.
    #[must_use]
    pub fn with_split_bytes_min(mut self, bytes: u64) -> Self {
        self.split_bytes_min = bytes;
        self
    }

    /// Sets the maximum bytes of text that go through the kernels at once.
    #[must_use]
    pub fn with_piece_bytes_max(mut self, bytes: usize) -> Self {
        self.piece_bytes_max = bytes;
        self
    }
}

/// Counters of an engine's decoders.
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

    /// Bytes among them that another engine decoded, because the kernels were in doubt.
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
    columns: Arc<Columns>,
    lanes: Arc<Lanes>,
    tables: Arc<LastTables>,
}

impl GpuEngine {
    /// An engine on this device.
    pub fn new(device: Arc<dyn Device>, options: GpuOptions) -> Self {
        device.hold_results(options.pinned_bytes_max);
        let lanes = Arc::new(Lanes::new(Arc::clone(&device), options.memory_bytes_max));
        let columns = Arc::new(Columns::new(Arc::clone(&lanes), options.clone()));
        Self { device, options, counters: Arc::default(), columns, lanes, tables: Arc::default() }
    }

    /// An engine on the first CUDA device of this machine.
    ///
    /// # Errors
    /// [`Error::Config`](arrowsmith_core::Error::Config) if there is no usable device, with the
    /// reason; errors of the driver.
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

    /// Returns a decoder whose batches stay on the device. What the kernels do not support, `rest`
    /// decodes.
    ///
    /// # Errors
    /// As [`Engine::decoder`], of `rest` too; failures of the device.
    pub fn device_decoder(
        &self,
        plan: &Arc<Plan>,
        options: &DecodeOptions,
        rest: &Chain,
    ) -> Result<DeviceDecoder> {
        let host = rest.decoder(plan, options)?;
        match program(plan, options) {
            Ok(program) => self.kernels(plan, options, program, host).map(DeviceDecoder::kernels),
            Err(_) => Ok(DeviceDecoder::host(host, &self.device)),
        }
    }

    fn kernels(
        &self,
        plan: &Arc<Plan>,
        options: &DecodeOptions,
        program: Program,
        host: Box<dyn Decoder>,
    ) -> Result<JsonDecoder> {
        JsonDecoder::new(plan, options, self, program, host)
    }

    /// A row group as a batch that stays on the device. Columns that the kernels do not decode
    /// completely, `rest` does.
    ///
    /// # Errors
    /// Those of `rest`; [`Error::Config`](arrowsmith_core::Error::Config) for views, which do not
    /// stay; memory above the limit; failures of the device.
    pub fn device_batch(
        &self,
        file: &File,
        row_group: usize,
        plan: &ReadPlan,
        options: &ReadOptions,
        rest: &Chain,
    ) -> Result<DeviceBatch> {
        self.columns.device_batch(file, row_group, plan, options, rest)
    }

    /// Counts of Parquet column windows that the device decoded, and of columns that it left to
    /// another engine.
    pub fn column_chunks(&self) -> (u64, u64) {
        self.columns.chunks()
    }

    /// Counters of its decoders.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The device.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }
}

impl Engine for GpuEngine {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn check_json(&self, plan: &Plan, options: &DecodeOptions) -> Answer<()> {
        plan.check(&options.limits)?;
        Ok(program(plan, options).map(|_| ())?)
    }

    fn json(
        &self,
        plan: &Arc<Plan>,
        options: &DecodeOptions,
        rest: &Chain,
    ) -> Answer<Box<dyn Decoder>> {
        let program = program(plan, options)?;
        if rest.engines().is_empty() {
            let reason = "it needs another engine for records that its kernels doubt";
            return Err(Declined::new("", reason).into());
        }
        let host = rest.decoder(plan, options)?;
        Ok(Box::new(self.kernels(plan, options, program, host)?))
    }

    fn check_parquet(&self, _file: &File, column: &Column, _options: &ReadOptions) -> Answer<()> {
        Ok(parquet::check(column)?)
    }

    /// Of an engine that only answers what it would do: it reads the headers of pages.
    fn describe_parquet(&self, file: &File, column: &Column) -> Option<String> {
        let only_answers = self.device.only_answers() && file.row_groups() > 0;
        only_answers.then(|| parquet::describe(file, column, &self.options).ok()).flatten()
    }

    fn parquet(&self, request: &ColumnRequest<'_>, rest: &Chain) -> Answer<Box<dyn ColumnDecoder>> {
        Ok(Box::new(parquet::FieldDecoder::new(&self.columns, request, rest)?))
    }

    fn chunk_bytes(&self) -> Option<usize> {
        Some(CHUNK_BYTES)
    }
}

/// Lays a plan out for the kernels.
fn program(plan: &Plan, options: &DecodeOptions) -> std::result::Result<Program, Declined> {
    Declined::other_dialects(options)?;
    Declined::unselected_keys(plan, options)?;
    if plan.has_coercions() {
        return Err(Declined::new("", "its kernels have no coercions"));
    }
    Program::new(plan).map_err(|lacks| Declined::new("", format!("its kernels have no {lacks}")))
}
