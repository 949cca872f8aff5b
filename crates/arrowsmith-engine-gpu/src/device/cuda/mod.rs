// SPDX-License-Identifier: Apache-2.0
//! A CUDA device: the driver and NVRTC, loaded if present. Every call is checked; the driver's
//! error is returned with its name. A kernel fault is reported by the next `fetch`, and by every
//! call after it, so that none of its output is taken for a result.

mod pinned;
mod stream;

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use arrowsmith_core::{Error, Result, whole};
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;
use cudarc::nvrtc::{self, CompileOptions};

use self::pinned::{Pinned, Results};
use self::stream::CudaStream;
use super::nvml::{BUS_BYTES, Nvml};
use super::{Device, Ptr, Stream, failure, host_len, no_room};
use crate::{abi, kernel};

/// The part of a device's memory that the pool may keep: one in this many bytes.
const KEPT_PART: u64 = 8;

/// Maximum size of the cached PTX, in bytes.
const PTX_BYTES_MAX: u64 = 64 << 20;

/// The error of a driver call.
fn checked<T>(what: &str, outcome: Result<T, DriverError>) -> Result<T> {
    outcome.map_err(|error| failure(format!("gpu: {what}: {error}")))
}

fn absent(message: &str) -> Error {
    let message =
        format!("engine gpu: {message}; --engine auto takes the CPU where there is no GPU");
    Error::Config(message)
}

/// One CUDA device, with the kernels loaded.
#[derive(Debug)]
pub struct CudaDevice {
    number: i32,
    device: sys::CUdevice,
    context: Handle<sys::CUctx_st>,
    module: Handle<sys::CUmod_st>,
    /// Memory that is freed here is not returned to the system up to a limit: an allocation of the
    /// driver takes as long as the decoding of some megabytes.
    pool: Handle<sys::CUmemPoolHandle_st>,
    /// The stream of allocations; no other work is on it.
    order: Handle<sys::CUstream_st>,
    kernels: HashMap<&'static str, Handle<sys::CUfunc_st>>,
    results: Results,
}

/// A driver handle. It may be used from any thread: the driver is thread-safe.
#[derive(Debug)]
struct Handle<T>(*mut T);

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

// SAFETY: handles of contexts, modules, functions and streams are opaque; the CUDA driver accepts
// them from every thread.
unsafe impl<T> Send for Handle<T> {}
// SAFETY: as for `Send`: the driver locks internally.
unsafe impl<T> Sync for Handle<T> {}

/// The context to restore for this thread, if it had another; or none.
struct Entered(Option<sys::CUcontext>);

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            // SAFETY: `enter` saved it as this thread's current context (or null), which is still
            // valid.
            let _ = unsafe { result::ctx::set_current(before) };
        }
    }
}

impl CudaDevice {
    /// The device of this number, with its kernels compiled, or loaded from the cache.
    ///
    /// # Errors
    /// [`Error::Config`] if there is no driver, no device, no NVRTC and no cached kernels, or if
    /// the device cannot be used for another reason.
    pub fn open(number: i32) -> Result<Self> {
        Self::ready(number).map_err(|error| match error {
            Error::Config(_) => error,
            other => absent(other.to_string().trim_start_matches("gpu: ")),
        })
    }

    fn ready(number: i32) -> Result<Self> {
        // SAFETY: loads the system's CUDA driver, whose constructors are sound to run.
        if !unsafe { sys::is_culib_present() } {
            return Err(absent("there is no CUDA driver (libcuda) on this machine"));
        }
        checked("cuInit", result::init())?;
        let count = checked("cuDeviceGetCount", result::device::get_count())?;
        if number >= count {
            return Err(absent("the CUDA driver shows no such device"));
        }
        let device = checked("cuDeviceGet", result::device::get(number))?;
        use sys::CUdevice_attribute as Attribute;
        let attribute = |attribute| {
            // SAFETY: the driver returned this device ordinal.
            checked("cuDeviceGetAttribute", unsafe {
                result::device::get_attribute(device, attribute)
            })
        };
        let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        if major < 8 {
            let found = format!("compute capability {major}.{minor}, and 8.0 is needed");
            return Err(absent(&found));
        }
        // SAFETY: the driver returned this device; `drop` releases the context.
        let context =
            checked("cuDevicePrimaryCtxRetain", unsafe { result::primary_ctx::retain(device) })?;
        let context = Handle(context);
        // From here on, so that `drop` gives the context back whatever fails.
        let mut opened = Self {
            number,
            device,
            context,
            module: Handle(std::ptr::null_mut()),
            pool: Handle(std::ptr::null_mut()),
            order: Handle(std::ptr::null_mut()),
            kernels: HashMap::new(),
            results: Results::default(),
        };
        let _entered = opened.enter()?;
        opened.make_pool()?;
        opened.load(&format!("compute_{major}{minor}"))?;
        Ok(opened)
    }

    /// Makes the context current for this thread, until the guard is dropped: the thread may belong
    /// to a consumer that uses another device.
    fn enter(&self) -> Result<Entered> {
        let before = checked("cuCtxGetCurrent", result::ctx::get_current())?;
        let before = before.unwrap_or(std::ptr::null_mut());
        if before == self.context.0 {
            return Ok(Entered(None));
        }
        // SAFETY: the context is retained until `drop`.
        checked("cuCtxSetCurrent", unsafe { result::ctx::set_current(self.context.0) })?;
        Ok(Entered(Some(before)))
    }

    fn make_pool(&mut self) -> Result<()> {
        // SAFETY: zeros are valid in every field: no handles for other processes, no limit.
        let mut wanted: sys::CUmemPoolProps = unsafe { std::mem::zeroed() };
        wanted.allocType = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        wanted.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        wanted.location.id = self.number;
        // SAFETY: `wanted` is complete, and lives during the call.
        let pool =
            checked("cuMemPoolCreate", unsafe { result::mem_pool::create(&raw const wanted) })?;
        self.pool = Handle(pool);
        // SAFETY: the driver returned this device.
        let all = checked("cuDeviceTotalMem", unsafe { result::device::total_mem(self.device) })?;
        let mut kept = all as u64 / KEPT_PART;
        let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: the attribute is a number of 64 bits.
        let set =
            unsafe { result::mem_pool::set_attribute(pool, attribute, (&raw mut kept).cast()) };
        checked("cuMemPoolSetAttribute", set)?;
        let kind = result::stream::StreamKind::NonBlocking;
        self.order = Handle(checked("cuStreamCreate", result::stream::create(kind))?);
        Ok(())
    }

    fn load(&mut self, arch: &str) -> Result<()> {
        let cache = cache_file(arch);
        let kept = cache.as_ref().and_then(|path| whole::read(path, PTX_BYTES_MAX).ok());
        if let Some(ptx) = kept.and_then(|ptx| CString::new(ptx).ok())
            && self.load_ptx(&ptx).is_ok()
        {
            return Ok(());
        }
        let ptx = compile(arch)?;
        let text = CString::new(ptx).map_err(|_| failure("gpu: NVRTC gave no text"))?;
        self.load_ptx(&text)?;
        // Without a cache the next start only takes longer.
        if let Some(path) = cache
            && let Some(folder) = path.parent()
            && fs::create_dir_all(folder).is_ok()
        {
            let unfinished = path.with_extension(format!("{}.part", std::process::id()));
            if fs::write(&unfinished, text.as_bytes()).is_ok() {
                let _ = fs::rename(&unfinished, &path);
            }
        }
        Ok(())
    }

    fn load_ptx(&mut self, ptx: &CString) -> Result<()> {
        // SAFETY: the PTX text is NUL-terminated and outlives the call.
        let module =
            checked("cuModuleLoadData", unsafe { result::module::load_data(ptx.as_ptr().cast()) })?;
        self.module = Handle(module);
        for &name in abi::NAMES {
            let c_name = CString::new(name).map_err(|_| failure("gpu: a name"))?;
            // SAFETY: the module was just loaded.
            let function = unsafe { result::module::get_function(module, c_name) };
            self.kernels.insert(name, Handle(checked("cuModuleGetFunction", function)?));
        }
        Ok(())
    }
}

impl Drop for CudaDevice {
    fn drop(&mut self) {
        if !self.module.0.is_null()
            && let Ok(_entered) = self.enter()
        {
            // SAFETY: streams hold the device, so none is left, and no kernel of this module runs.
            let _ = unsafe { result::module::unload(self.module.0) };
        }
        if let Ok(_entered) = self.enter() {
            self.results.release();
            if !self.order.0.is_null() {
                // SAFETY: created in `make_pool`; `free` has waited for its work.
                let _ = unsafe { result::stream::destroy(self.order.0) };
            }
            if !self.pool.0.is_null() {
                // SAFETY: created in `make_pool`; what was allocated holds the device.
                let _ = unsafe { result::mem_pool::destroy(self.pool.0) };
            }
        }
        // SAFETY: retained once, in `open`.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// PTX of all kernels for an architecture (`compute_90`), by NVRTC.
///
/// # Errors
/// [`Error::Config`] if NVRTC is missing; else NVRTC's error.
pub fn compile(arch: &str) -> Result<String> {
    // SAFETY: loads the system's NVRTC, whose constructors are sound to run.
    if !unsafe { nvrtc::sys::is_culib_present() } {
        return Err(absent("CUDA's compiler NVRTC (libnvrtc) is not on this machine"));
    }
    let mut options: Vec<String> =
        kernel::OPTIONS.iter().map(|option| (*option).to_owned()).collect();
    options.push(format!("--gpu-architecture={arch}"));
    let name = Some("arrowsmith.cu".to_owned());
    let options = CompileOptions { options, name, ..CompileOptions::default() };
    let ptx = nvrtc::compile_ptx_with_opts(kernel::source(), options)
        .map_err(|error| failure(format!("gpu: NVRTC: {error}")))?;
    Ok(ptx.to_src())
}

/// The folder of compiled kernels: `ARROWSMITH_CACHE`, or the user's cache folder.
fn cache_file(arch: &str) -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let folder = variable("ARROWSMITH_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|folder| folder.join("arrowsmith")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/arrowsmith")))?;
    Some(folder.join(format!("kernels-{:016x}-{arch}.ptx", kernel::fingerprint())))
}

impl Device for CudaDevice {
    fn name(&self) -> String {
        result::device::get_name(self.device).unwrap_or_else(|_| "a CUDA device".to_owned())
    }

    fn arrow_device(&self) -> (i32, i64) {
        (2, i64::from(self.number))
    }

    fn allocate(&self, bytes: u64) -> Result<Option<Ptr>> {
        let _entered = self.enter()?;
        // The driver refuses allocations of zero bytes.
        let bytes = host_len(bytes.max(1))?;
        // SAFETY: kernels and copies write this memory before they read it.
        match unsafe { result::mem_pool::alloc_async(self.pool.0, bytes, self.order.0) } {
            // The only driver error after which the context is still usable.
            Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => Ok(None),
            at => {
                let at = Ptr(checked("cuMemAllocFromPoolAsync", at)?);
                // Other streams use it from now on.
                // SAFETY: the stream lives until `drop`.
                let ordered = unsafe { result::stream::synchronize(self.order.0) };
                if ordered.is_err() {
                    self.free(at, bytes as u64);
                }
                checked("cuStreamSynchronize", ordered)?;
                Ok(Some(at))
            }
        }
    }

    fn free(&self, at: Ptr, _: u64) {
        if let Ok(_entered) = self.enter() {
            // A consumer of Arrow's device interface may have queued work that uses it.
            let _ = result::ctx::synchronize();
            // SAFETY: `allocate` returned this address, and callers free it once; no work uses it.
            let _ = unsafe { result::free_async(at.0, self.order.0) };
        }
    }

    fn hold_results(&self, bytes_max: u64) {
        self.results.set_bytes_max(usize::try_from(bytes_max).unwrap_or(usize::MAX));
    }

    fn copy_seconds(&self, bytes: usize, rounds: usize) -> Result<(Vec<f64>, Vec<f64>)> {
        let bytes = bytes.max(1);
        let _entered = self.enter()?;
        let kind = result::stream::StreamKind::NonBlocking;
        let stream = checked("cuStreamCreate", result::stream::create(kind))?;
        let mut pinned = Pinned::EMPTY;
        let device = self.allocate(bytes as u64);
        let device = device.and_then(|at| at.ok_or_else(|| no_room(bytes as u64)));
        let copies = device.as_ref().map_err(|error| failure(error.to_string())).and_then(|at| {
            pinned.grow(bytes)?;
            let (mut up, mut down) = (Vec::new(), Vec::new());
            for _ in 0..rounds {
                let staged = pinned.slice(0, bytes);
                let started = Instant::now();
                // SAFETY: `staged` and the allocation at `at` have `bytes` bytes, and the stream is
                // synchronized here.
                let copied = unsafe {
                    result::memcpy_htod_async(at.0, staged, stream)
                        .and_then(|()| result::stream::synchronize(stream))
                };
                checked("cuMemcpyHtoDAsync", copied)?;
                up.push(started.elapsed().as_secs_f64());
                let started = Instant::now();
                // SAFETY: as for the copy to the device.
                let copied = unsafe {
                    result::memcpy_dtoh_async(staged, at.0, stream)
                        .and_then(|()| result::stream::synchronize(stream))
                };
                checked("cuMemcpyDtoHAsync", copied)?;
                down.push(started.elapsed().as_secs_f64());
            }
            Ok((up, down))
        });
        // SAFETY: created above; synchronized before `pinned` is released.
        let _ = unsafe { result::stream::synchronize(stream) };
        pinned.release();
        if let Ok(at) = device {
            self.free(at, bytes as u64);
        }
        // SAFETY: created above; all its work is done.
        let _ = unsafe { result::stream::destroy(stream) };
        copies
    }

    fn joules(&self) -> Result<f64, String> {
        // Bounded: it is a constant.
        let mut bus = vec![0; BUS_BYTES as usize];
        let most = std::ffi::c_int::try_from(BUS_BYTES).unwrap_or(0);
        // SAFETY: `bus` has `most` bytes, into which the driver writes a NUL-terminated text.
        let found = unsafe { sys::cuDeviceGetPCIBusId(bus.as_mut_ptr(), most, self.device) };
        found.result().map_err(|error| format!("cuDeviceGetPCIBusId: {error}"))?;
        // C's `char` is signed on some machines only.
        let bus: Vec<u8> = bus.iter().flat_map(|byte| byte.to_ne_bytes()).collect();
        let bus = CStr::from_bytes_until_nul(&bus).map_err(|error| error.to_string())?;
        Nvml::open()?.joules(bus)
    }

    fn stream(self: Arc<Self>) -> Result<Box<dyn Stream>> {
        let _entered = self.enter()?;
        let kind = result::stream::StreamKind::NonBlocking;
        let stream = checked("cuStreamCreate", result::stream::create(kind))?;
        Ok(Box::new(CudaStream::new(self, stream)))
    }
}
