// SPDX-License-Identifier: Apache-2.0
//! A CUDA device: the driver and NVRTC, loaded if present. Every call is checked; the driver's
//! error is returned with its name. A kernel fault is reported by the next `fetch`, and by every
//! call after it, so that none of its output is taken for a result.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::fs;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Instant;

use arrow_buffer::MutableBuffer;
use arrowsmith_core::{Error, Result};
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;
use cudarc::nvrtc::{self, CompileOptions};

use super::nvml::{BUS_BYTES, Nvml};
use super::{BLOCK, Device, Event, Ptr, Stream, failure, host_len, no_room};
use crate::{abi, kernel};

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
    kernels: HashMap<&'static str, Handle<sys::CUfunc_st>>,
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
            kernels: HashMap::new(),
        };
        let _entered = opened.enter()?;
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

    fn load(&mut self, arch: &str) -> Result<()> {
        let cache = cache_file(arch);
        let kept = cache.as_ref().and_then(|path| fs::read(path).ok());
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
        match unsafe { result::malloc_sync(bytes) } {
            // The only driver error after which the context is still usable.
            Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => Ok(None),
            at => Ok(Some(Ptr(checked("cuMemAlloc", at)?))),
        }
    }

    fn free(&self, at: Ptr, _: u64) {
        if let Ok(_entered) = self.enter() {
            // SAFETY: `allocate` returned this address, and callers free it once. The driver waits
            // for pending work that uses it.
            let _ = unsafe { result::free_sync(at.0) };
        }
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
        Ok(Box::new(CudaStream {
            device: self,
            stream: Handle(stream),
            up: Pinned::EMPTY,
            down: Pinned::EMPTY,
        }))
    }
}

/// Pinned host memory, which the device copies to and from by DMA.
#[derive(Debug)]
struct Pinned {
    at: Option<Handle<c_void>>,
    bytes: usize,
    /// Bytes that queued copies still use.
    used: usize,
}

impl Pinned {
    const EMPTY: Self = Self { at: None, bytes: 0, used: 0 };

    /// Frees the old memory and allocates `bytes`. No queued copy may use the old memory.
    fn grow(&mut self, bytes: usize) -> Result<()> {
        self.release();
        let bytes = bytes.next_power_of_two().max(1 << 20);
        // SAFETY: the memory is written before it is read.
        let at = checked("cuMemHostAlloc", unsafe { result::malloc_host(bytes, 0) })?;
        if NonNull::new(at).is_none() {
            return Err(failure("gpu: no pinned memory"));
        }
        (self.at, self.bytes, self.used) = (Some(Handle(at)), bytes, 0);
        Ok(())
    }

    fn release(&mut self) {
        if let Some(at) = self.at.take() {
            // SAFETY: `malloc_host` returned it; the stream was synchronized, so no copy uses it.
            let _ = unsafe { result::free_host(at.0) };
        }
        (self.bytes, self.used) = (0, 0);
    }

    /// The bytes `from..from + len`.
    fn slice(&mut self, from: usize, len: usize) -> &mut [u8] {
        match self.at {
            // SAFETY: `from + len <= self.bytes`, the size of the allocation; the stream was
            // synchronized, or queued copies use other parts.
            Some(at) if from + len <= self.bytes => unsafe {
                std::slice::from_raw_parts_mut(at.0.cast::<u8>().add(from), len)
            },
            _ => &mut [],
        }
    }
}

/// A CUDA stream, with pinned memory for uploads and downloads.
#[derive(Debug)]
struct CudaStream {
    device: Arc<CudaDevice>,
    stream: Handle<sys::CUstream_st>,
    up: Pinned,
    down: Pinned,
}

impl CudaStream {
    fn wait(&mut self) -> Result<()> {
        // SAFETY: the stream lives until `drop`.
        let waited = unsafe { result::stream::synchronize(self.stream.0) };
        self.up.used = 0;
        checked("cuStreamSynchronize", waited)
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
        if self.up.bytes - self.up.used < bytes.len() {
            self.wait()?;
            if self.up.bytes < bytes.len() {
                self.up.grow(bytes.len())?;
            }
        }
        let from = self.up.used;
        let staged = self.up.slice(from, bytes.len());
        staged.copy_from_slice(bytes);
        // SAFETY: by the contract of `Stream`, `to` is device memory of at least `bytes.len()`
        // bytes; the staged bytes are unchanged until the stream is synchronized, because `used`
        // reserves them.
        let copied = unsafe { result::memcpy_htod_async(to.0, staged, self.stream.0) };
        self.up.used += bytes.len();
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

    fn fetch(&mut self, parts: &[(Ptr, u64)]) -> Result<Vec<MutableBuffer>> {
        let _entered = self.device.enter()?;
        let mut bytes = 0;
        for part in parts {
            bytes += host_len(part.1.next_multiple_of(64))?;
        }
        if self.down.bytes < bytes {
            // A fetch that failed half-way may still use this memory.
            self.wait()?;
            self.down.grow(bytes)?;
        }
        let mut from = 0;
        for &(at, len) in parts {
            let len = host_len(len)?;
            if len > 0 {
                let staged = self.down.slice(from, len);
                // SAFETY: by the contract of `Stream`, `at` is device memory of at least `len`
                // bytes; the staged bytes are not accessed until the stream is synchronized, below.
                let copied = unsafe { result::memcpy_dtoh_async(staged, at.0, self.stream.0) };
                checked("cuMemcpyDtoHAsync", copied)?;
            }
            from += len.next_multiple_of(64);
        }
        self.wait()?;
        let mut fetched = Vec::with_capacity(parts.len());
        let mut from = 0;
        for part in parts {
            let len = host_len(part.1)?;
            let mut buffer = MutableBuffer::new(len);
            buffer.extend_from_slice(self.down.slice(from, len));
            from += len.next_multiple_of(64);
            fetched.push(buffer);
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
