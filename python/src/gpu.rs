// SPDX-License-Identifier: Apache-2.0
//! The GPU, and row groups of Parquet files decoded to device memory.
//!
//! The GPU is opened once per process, because that takes time and device memory. With the feature
//! `shim`, and `ARROWSMITH_GPU_TESTS=shim` in the environment, the kernels run on the CPU instead,
//! for tests.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::SchemaRef;
use arrowsmith::engines::open_gpu;
use arrowsmith::gpu::device::Device;
use arrowsmith::gpu::{DeviceBatch, GpuEngine, GpuOptions};
use arrowsmith::parquet::{File, ReadOptions, ReadPlan, open_file};
use arrowsmith::{
    Chain, DataFile, EngineOptions, Error, Limits, ParquetReadOptions, Progress, Result,
};

static OPENED: Mutex<Option<Arc<dyn Device>>> = Mutex::new(None);

/// The engine of a name. Each decoder of a GPU uses at most `memory_bytes_max` bytes of device
/// memory. If batches stay on the device, also engine `gpu` by itself, if there is one; the chain
/// then decodes what that one declines.
pub(crate) fn open(
    name: &str,
    memory_bytes_max: u64,
    on_device: bool,
) -> Result<(Chain, Option<GpuEngine>)> {
    let options = EngineOptions::default()
        .with_gpu_memory_bytes_max(memory_bytes_max)
        .with_gpu_device(device);
    if on_device {
        return match open_gpu(&options) {
            Ok(gpu) => Ok((arrowsmith::engine("cpu")?, Some(gpu))),
            Err(Error::Config(_)) if name == "auto" => Ok((arrowsmith::engine("cpu")?, None)),
            Err(error) => Err(error),
        };
    }
    Ok((arrowsmith::engines::open(name, &options)?, None))
}

fn device() -> Result<Arc<dyn Device>> {
    #[cfg(feature = "shim")]
    if let Some(device) = shim::device() {
        return Ok(device);
    }
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = &*opened {
        return Ok(Arc::clone(device));
    }
    let engine = GpuEngine::open(GpuOptions::default())?;
    Ok(Arc::clone(opened.insert(Arc::clone(engine.device()))))
}

/// Refuses engines without a device for `on_device`.
pub(crate) fn refuse_host(name: &str) -> Result<()> {
    if matches!(name, "gpu" | "auto") {
        return Ok(());
    }
    let message = format!("on_device: engine {name:?} has no device; \"gpu\" and \"auto\" have");
    Err(Error::Config(message))
}

/// Refuses an option that has a value but is not supported with `on_device`.
pub(crate) fn refuse(option: &str, given: bool) -> Result<()> {
    if !given {
        return Ok(());
    }
    let message = format!("{option}: not supported with on_device");
    Err(Error::Config(message))
}

/// Row groups as batches that stay on a device, file by file.
pub(crate) struct RowGroups {
    gpu: GpuEngine,
    /// What decodes the columns that it does not.
    rest: Chain,
    read: ReadOptions,
    limits: Limits,
    /// The files not opened yet.
    files: VecDeque<DataFile>,
    file: File,
    plan: ReadPlan,
    /// The row groups of the current file that are still to be read.
    groups: VecDeque<usize>,
    schema: SchemaRef,
    progress: Arc<Progress>,
    cancel: Arc<AtomicBool>,
}

impl RowGroups {
    /// Opens the first file, whose schema is that of all.
    pub(crate) fn open(
        (gpu, rest): (GpuEngine, Chain),
        files: Vec<DataFile>,
        options: &ParquetReadOptions,
        cancel: Arc<AtomicBool>,
    ) -> Result<Self> {
        let (read, limits) = (options.read(), options.limits());
        let row_groups = options.row_groups.clone();
        refuse("name=value folders", files.iter().any(|file| !file.partitions.is_empty()))?;
        let mut files = VecDeque::from(files);
        if row_groups.is_some() && files.len() > 1 {
            let message = "row_groups: only for a single file, and there are several";
            return Err(Error::Config(message.to_owned()));
        }
        let first = files.pop_front();
        let first = first.ok_or_else(|| Error::Config("there is no file to read".to_owned()))?;
        let file = open_file(first.input, &limits)?;
        let plan = ReadPlan::new(&file, &read)?;
        let groups = match row_groups {
            Some(groups) => groups.into(),
            None => (0..file.row_groups()).collect(),
        };
        let schema = Arc::clone(&plan.schema);
        let progress = Arc::default();
        Ok(Self { gpu, rest, read, limits, files, file, plan, groups, schema, progress, cancel })
    }

    /// The next row group; none at the end.
    pub(crate) fn next_batch(&mut self) -> Result<Option<DeviceBatch>> {
        loop {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
            let Some(group) = self.groups.pop_front() else {
                let Some(file) = self.files.pop_front() else { return Ok(None) };
                self.advance(file)?;
                continue;
            };
            let batch =
                self.gpu.device_batch(&self.file, group, &self.plan, &self.read, &self.rest)?;
            self.progress.add_rows(batch.num_rows() as u64);
            return Ok(Some(batch));
        }
    }

    fn advance(&mut self, file: DataFile) -> Result<()> {
        self.file = open_file(file.input, &self.limits)?;
        self.plan = ReadPlan::new(&self.file, &self.read)?;
        if self.plan.schema.fields() != self.schema.fields() {
            let name = self.file.name().map_or("a file", |name| name.as_ref());
            let message = format!(
                "{name}: its columns differ from those of the first file, which is not supported on a device"
            );
            return Err(Error::Config(message));
        }
        self.groups = (0..self.file.row_groups()).collect();
        Ok(())
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    pub(crate) fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }
}

/// The kernels on the CPU.
#[cfg(feature = "shim")]
pub(crate) mod shim {
    use std::sync::{Arc, LazyLock};

    use arrowsmith::gpu::device::Device;
    use arrowsmith::gpu::device::shim::ShimDevice;
    use pyo3::prelude::*;

    static SHIM: LazyLock<Arc<ShimDevice>> = LazyLock::new(|| Arc::new(ShimDevice::new(1)));

    /// The device of tests, if the environment requests it.
    pub(super) fn device() -> Option<Arc<dyn Device>> {
        let asked = std::env::var_os("ARROWSMITH_GPU_TESTS").is_some_and(|asked| asked == "shim");
        asked.then(|| Arc::clone(&*SHIM) as Arc<dyn Device>)
    }

    /// Number of allocations that were not freed.
    #[pyfunction]
    pub(crate) fn shim_live() -> u64 {
        SHIM.live()
    }
}
