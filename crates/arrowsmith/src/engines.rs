// SPDX-License-Identifier: Apache-2.0
//! The one table of engines: name, cargo feature, constructor.
//!
//! The command, Python, the C ABI and with it Java, the ingest service and Flight take names only
//! from here. A name opens a [`Chain`]: the engine itself, and after it those that decode what it
//! declines. A new engine is a crate that implements [`Engine`](crate::Engine), a feature, and a
//! row here.

#[cfg(feature = "gpu")]
use std::sync::Arc;

use arrowsmith_core::{Error, Result};
#[cfg(feature = "cpu")]
use arrowsmith_engine::Absent;
use arrowsmith_engine::Chain;

#[cfg(feature = "gpu")]
use crate::gpu::{GpuEngine, GpuOptions, device::Device};

/// An engine by its name.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// What `--engine`, `engine=` and the like take.
    pub name: &'static str,
    /// The cargo feature of this crate and of the command.
    pub feature: &'static str,
    /// What it is, for help texts.
    pub about: &'static str,
    /// `None` if this build does not have it.
    open: Option<fn(&EngineOptions) -> Result<Chain>>,
}

/// Opens the device of a GPU.
#[cfg(feature = "gpu")]
pub type OpenDevice = fn() -> Result<Arc<dyn Device>>;

/// The constructor of an engine, where the feature is on.
macro_rules! built {
    ($feature:literal, $open:ident) => {{
        #[cfg(feature = $feature)]
        let open: Option<fn(&EngineOptions) -> Result<Chain>> = Some($open);
        #[cfg(not(feature = $feature))]
        let open = None;
        open
    }};
}

/// All engines, the default one first.
pub const ENGINES: &[Entry] = &[
    Entry {
        name: "cpu",
        feature: "cpu",
        about: "SIMD on this machine's processor",
        open: built!("cpu", cpu),
    },
    Entry {
        name: "gpu",
        feature: "gpu",
        about: "CUDA on the first NVIDIA GPU",
        open: built!("gpu", gpu),
    },
    Entry {
        name: "rtl",
        feature: "rtl",
        about: "generated circuits, simulated by Verilator",
        open: built!("rtl", rtl),
    },
    Entry {
        name: "reference",
        feature: "reference",
        about: "arrow-json and the parquet crate, slower; arrow-json lacks some options",
        open: built!("reference", reference),
    },
    Entry {
        name: "auto",
        feature: "cpu",
        about: "gpu where there is one, else cpu",
        open: built!("cpu", auto),
    },
];

/// Options for opening engines.
#[derive(Debug, Clone, Copy, Default)]
pub struct EngineOptions {
    explain: bool,
    gpu_memory_bytes_max: Option<u64>,
    gpu_pinned_bytes_max: u64,
    #[cfg(feature = "gpu")]
    gpu_device: Option<OpenDevice>,
}

impl EngineOptions {
    /// Only for explanations, which need no GPU. Decoding with it fails.
    #[must_use]
    pub fn with_explain(mut self, explain: bool) -> Self {
        self.explain = explain;
        self
    }

    /// GPU memory per decoder thread, in bytes. The default is 2 GiB.
    #[must_use]
    pub fn with_gpu_memory_bytes_max(mut self, bytes: u64) -> Self {
        self.gpu_memory_bytes_max = Some(bytes);
        self
    }

    /// Pinned memory in which a GPU may leave batches, in bytes; beyond that, they are copied. Such
    /// a batch must not be read in a child process after a fork. The default is 0.
    #[must_use]
    pub fn with_gpu_pinned_bytes_max(mut self, bytes: u64) -> Self {
        self.gpu_pinned_bytes_max = bytes;
        self
    }

    /// A device other than CUDA's first. An [`Error::Config`] of `open` means to engine `auto` that
    /// there is no device.
    #[cfg(feature = "gpu")]
    #[must_use]
    pub fn with_gpu_device(mut self, open: OpenDevice) -> Self {
        self.gpu_device = Some(open);
        self
    }
}

/// The engine of this name with every option at its default. `gpu` is CUDA's first device; `auto`
/// is that, or `cpu` if there is none.
///
/// # Errors
/// [`Error::Config`] lists the known names, names the feature that this build lacks, or has the
/// reason why there is no GPU.
///
/// ```
/// use arrowsmith::Engine;
///
/// assert_eq!(arrowsmith::engine("cpu")?.name(), "cpu");
/// assert!(arrowsmith::engine("abacus").is_err());
/// # Ok::<(), arrowsmith::Error>(())
/// ```
pub fn engine(name: &str) -> Result<Chain> {
    open(name, &EngineOptions::default())
}

/// The engine of this name.
///
/// # Errors
/// As [`engine`].
pub fn open(name: &str, options: &EngineOptions) -> Result<Chain> {
    let Some(entry) = entry(name) else {
        let known: Vec<&str> = ENGINES.iter().map(|entry| entry.name).collect();
        let known = known.join(", ");
        return Err(Error::Config(format!("there is no engine {name:?}; there are: {known}")));
    };
    match entry.open {
        Some(open) => open(options),
        None => Err(Error::Config(lacks(entry))),
    }
}

fn entry(name: &str) -> Option<&'static Entry> {
    ENGINES.iter().find(|entry| entry.name == name)
}

/// The engine named by the options of reading.
pub(crate) fn named(name: &str, gpu_memory_bytes_max: u64) -> Result<Chain> {
    open(name, &EngineOptions::default().with_gpu_memory_bytes_max(gpu_memory_bytes_max))
}

/// The error for an engine that this build does not have.
fn lacks(entry: &Entry) -> String {
    let Entry { name, feature, .. } = entry;
    format!("this build has no engine `{name}`: build it with the feature `{feature}`")
}

/// The engines without hardware, which decode what others decline.
#[cfg(any(feature = "cpu", feature = "gpu", feature = "rtl"))]
fn on_host() -> Chain {
    let chain = Chain::default();
    #[cfg(feature = "cpu")]
    let chain = chain.then(&Chain::of(arrowsmith_engine_cpu::CpuEngine::default()));
    #[cfg(feature = "reference")]
    let chain = chain.then(&Chain::of(arrowsmith_engine_reference::ReferenceEngine::default()));
    chain
}

#[cfg(feature = "cpu")]
#[expect(clippy::unnecessary_wraps, reason = "as the constructors of all engines")]
fn cpu(_options: &EngineOptions) -> Result<Chain> {
    Ok(on_host())
}

#[cfg(feature = "reference")]
#[expect(clippy::unnecessary_wraps, reason = "as the constructors of all engines")]
fn reference(_options: &EngineOptions) -> Result<Chain> {
    Ok(Chain::of(arrowsmith_engine_reference::ReferenceEngine::default()))
}

#[cfg(feature = "rtl")]
#[expect(clippy::unnecessary_wraps, reason = "as the constructors of all engines")]
fn rtl(_options: &EngineOptions) -> Result<Chain> {
    Ok(Chain::of(crate::rtl::RtlEngine::default()).then(&on_host()))
}

#[cfg(feature = "gpu")]
fn gpu(options: &EngineOptions) -> Result<Chain> {
    if options.explain {
        let device = Arc::new(crate::gpu::device::NoDevice);
        return Ok(Chain::of(GpuEngine::new(device, GpuOptions::default())).then(&on_host()));
    }
    Ok(Chain::of(open_gpu(options)?).then(&on_host()))
}

/// Engine `gpu` by itself, for batches that stay on the device.
///
/// # Errors
/// [`Error::Config`] if there is no usable GPU, with the reason; errors of the driver.
#[cfg(feature = "gpu")]
pub fn open_gpu(options: &EngineOptions) -> Result<GpuEngine> {
    let mut bounds = GpuOptions::default().with_pinned_bytes_max(options.gpu_pinned_bytes_max);
    if let Some(bytes) = options.gpu_memory_bytes_max {
        bounds = bounds.with_memory_bytes_max(bytes);
    }
    match options.gpu_device {
        Some(device) => Ok(GpuEngine::new(device()?, bounds)),
        None => GpuEngine::open(bounds),
    }
}

#[cfg(feature = "cpu")]
fn auto(options: &EngineOptions) -> Result<Chain> {
    let host = on_host();
    #[cfg(feature = "gpu")]
    let absent = match open_gpu(options) {
        Ok(gpu) => return Ok(Chain::of(gpu).then(&host)),
        Err(Error::Config(absent)) => absent,
        Err(error) => return Err(error),
    };
    #[cfg(not(feature = "gpu"))]
    let absent = entry("gpu").map(lacks).unwrap_or_default();
    // In explanations, a missing engine is one that declined.
    Ok(if options.explain { Chain::of(Absent::new("gpu", absent)).then(&host) } else { host })
}
