// SPDX-License-Identifier: Apache-2.0
//! A device of CUDA: the driver and NVRTC, loaded when they are there. Every call is checked; what the
//! driver says becomes an error with its name. A fault of a kernel shows at the next `fetch`, and at every
//! call after it, so that nothing that it left is taken for a result.

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
use crate::kernel;

/// The error of a driver call.
fn checked<T>(what: &str, outcome: Result<T, DriverError>) -> Result<T> {
    outcome.map_err(|error| failure(format!("gpu: {what}: {error}")))
}

fn absent(message: &str) -> Error {
    let message =
        format!("engine gpu: {message}; --engine auto takes the CPU where there is no GPU");
    Error::Config(message)
}

/// One device of CUDA, with the kernels loaded.
#[derive(Debug)]
pub struct CudaDevice {
    number: i32,
    device: sys::CUdevice,
    context: Handle<sys::CUctx_st>,
    module: Handle<sys::CUmod_st>,
    kernels: HashMap<String, Handle<sys::CUfunc_st>>,
}

/// What the driver handed out. It may be used from any thread: the driver keeps its own locks.
#[derive(Debug)]
struct Handle<T>(*mut T);

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

// SAFETY: handles of contexts, modules, functions and streams are names; CUDA's driver takes them from every
// thread.
unsafe impl<T> Send for Handle<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Handle<T> {}

/// The context that a thread gets back, if it had another, or none.
struct Entered(Option<sys::CUcontext>);

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            // SAFETY: it was the context of this thread before, or is none.
            let _ = unsafe { result::ctx::set_current(before) };
        }
    }
}

impl CudaDevice {
    /// The device of this number, with its kernels compiled, or taken from the cache.
    ///
    /// # Errors
    /// [`Error::Config`] when there is no driver, no device, no NVRTC and nothing in the cache, or whatever else keeps it from
    /// being used.
    pub fn open(number: i32) -> Result<Self> {
        Self::ready(number).map_err(|error| match error {
            Error::Config(_) => error,
            other => absent(other.to_string().trim_start_matches("gpu: ")),
        })
    }

    fn ready(number: i32) -> Result<Self> {
        // SAFETY: it only tries to load the library; the driver's constructors are CUDA's own.
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
            // SAFETY: the device is one that the driver named.
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
        // SAFETY: the device is one that the driver named; `drop` releases it.
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

    /// Makes the context that of this thread, until what comes back is dropped: the thread may be one of a consumer that
    /// has another device in hand.
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
        // Without a cache the next start takes longer, and that is all.
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
        // SAFETY: the text ends in 0 and outlives the call.
        let module =
            checked("cuModuleLoadData", unsafe { result::module::load_data(ptx.as_ptr().cast()) })?;
        self.module = Handle(module);
        for name in kernel::names() {
            let c_name = CString::new(name.as_str()).map_err(|_| failure("gpu: a name"))?;
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
            // SAFETY: streams hold the device, so that none is left; nothing runs in this module.
            let _ = unsafe { result::module::unload(self.module.0) };
        }
        // SAFETY: retained once, in `open`.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// PTX of all kernels for an architecture (`compute_90`), by NVRTC.
///
/// # Errors
/// [`Error::Config`] when NVRTC is not there; else what it says.
pub fn compile(arch: &str) -> Result<String> {
    // SAFETY: it only tries to load the library.
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

/// Where compiled kernels are kept: `ARROWSMITH_CACHE`, or the user's folder for caches.
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
        // The driver refuses to give nothing.
        let bytes = host_len(bytes.max(1))?;
        // SAFETY: what is in fresh memory is never read before it is written; kernels are written so.
        match unsafe { result::malloc_sync(bytes) } {
            // The one error of the driver after which it goes on as before.
            Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => Ok(None),
            at => Ok(Some(Ptr(checked("cuMemAlloc", at)?))),
        }
    }

    fn free(&self, at: Ptr, _: u64) {
        if let Ok(_entered) = self.enter() {
            // SAFETY: `allocate` gave it, and callers give it back once. The driver waits for what uses it.
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
                // SAFETY: both have as many bytes, and the stream is waited for.
                let copied = unsafe {
                    result::memcpy_htod_async(at.0, staged, stream)
                        .and_then(|()| result::stream::synchronize(stream))
                };
                checked("cuMemcpyHtoDAsync", copied)?;
                up.push(started.elapsed().as_secs_f64());
                let started = Instant::now();
                // SAFETY: as above.
                let copied = unsafe {
                    result::memcpy_dtoh_async(staged, at.0, stream)
                        .and_then(|()| result::stream::synchronize(stream))
                };
                checked("cuMemcpyDtoHAsync", copied)?;
                down.push(started.elapsed().as_secs_f64());
            }
            Ok((up, down))
        });
        // SAFETY: waited for above; nothing is queued.
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
        let mut bus = vec![0; BUS_BYTES as usize];
        let most = std::ffi::c_int::try_from(BUS_BYTES).unwrap_or(0);
        // SAFETY: there are as many bytes, of which the driver makes a text that ends in 0.
        let found = unsafe { sys::cuDeviceGetPCIBusId(bus.as_mut_ptr(), most, self.device) };
        found.result().map_err(|error| format!("cuDeviceGetPCIBusId: {error}"))?;
        // A `char` of C has a sign on some machines and none on others.
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

/// Memory of the host that the device copies to and from by itself.
#[derive(Debug)]
struct Pinned {
    at: Option<Handle<c_void>>,
    bytes: usize,
    /// Bytes that queued copies still use.
    used: usize,
}

impl Pinned {
    const EMPTY: Self = Self { at: None, bytes: 0, used: 0 };

    /// Frees what is there and takes `bytes`. Nothing queued may use it.
    fn grow(&mut self, bytes: usize) -> Result<()> {
        self.release();
        let bytes = bytes.next_power_of_two().max(1 << 20);
        // SAFETY: what is in it is written before it is read.
        let at = checked("cuMemHostAlloc", unsafe { result::malloc_host(bytes, 0) })?;
        if NonNull::new(at).is_none() {
            return Err(failure("gpu: no pinned memory"));
        }
        (self.at, self.bytes, self.used) = (Some(Handle(at)), bytes, 0);
        Ok(())
    }

    fn release(&mut self) {
        if let Some(at) = self.at.take() {
            // SAFETY: `malloc_host` gave it; the stream was waited for.
            let _ = unsafe { result::free_host(at.0) };
        }
        (self.bytes, self.used) = (0, 0);
    }

    /// Bytes of it.
    fn slice(&mut self, from: usize, len: usize) -> &mut [u8] {
        match self.at {
            // SAFETY: callers stay within `bytes`, which they have grown; the stream was waited for, or
            // uses other parts.
            Some(at) if from + len <= self.bytes => unsafe {
                std::slice::from_raw_parts_mut(at.0.cast::<u8>().add(from), len)
            },
            _ => &mut [],
        }
    }
}

/// A stream of CUDA, with pinned memory for what goes up and what comes down.
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

/// An event of CUDA; its handle stays at one address, as the Arrow C Device interface wants it.
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
        // SAFETY: created in `record`; the driver keeps what is still to happen.
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
        // SAFETY: callers name device memory that holds as many bytes; the staged bytes stay as they are
        // until the stream was waited for, because `used` keeps them.
        let copied = unsafe { result::memcpy_htod_async(to.0, staged, self.stream.0) };
        self.up.used += bytes.len();
        checked("cuMemcpyHtoDAsync", copied)
    }

    fn copy_within(&mut self, to: Ptr, from: Ptr, bytes: u64) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let _entered = self.device.enter()?;
        // SAFETY: callers name device memory of as many bytes, twice.
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
        // SAFETY: callers name device memory of as many bytes.
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
        // SAFETY: a kernel takes one structure of fields of eight bytes, of as many as `args` has: the shim,
        // through which every launch is tested, compares the two. The driver copies it at once.
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
                // SAFETY: callers name device memory of as many bytes; the staged bytes are not touched
                // until the stream was waited for, below.
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
        // SAFETY: created in `stream`; all its work is done.
        let _ = unsafe { result::stream::destroy(self.stream.0) };
    }
}
