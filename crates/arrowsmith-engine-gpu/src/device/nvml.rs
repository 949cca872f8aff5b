// SPDX-License-Identifier: Apache-2.0
//! NVML, the driver's library of management, loaded where it is: the energy that a device has used. Nothing else
//! is asked of it, and nothing is set.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use libloading::Library;

/// What NVML says when all is well.
const SUCCESS: c_int = 0;

type Init = unsafe extern "C" fn() -> c_int;
type Find = unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int;
type Energy = unsafe extern "C" fn(*mut c_void, *mut u64) -> c_int;
type Words = unsafe extern "C" fn(c_int) -> *const c_char;

/// A library that is open, and initialised once.
pub struct Nvml(Library);

impl Nvml {
    /// Opens the library.
    ///
    /// # Errors
    /// That it is not there, or what it says.
    pub fn open() -> Result<Self, String> {
        let name = if cfg!(windows) { "nvml.dll" } else { "libnvidia-ml.so.1" };
        // SAFETY: the library is the driver's own; what it does when it is loaded is its to know.
        let library = unsafe { Library::new(name) };
        let nvml = Self(library.map_err(|_| format!("NVML ({name}) is not on this machine"))?);
        let init: Init = nvml.function(c"nvmlInit_v2")?;
        // SAFETY: the function takes nothing; it counts its calls.
        nvml.checked(unsafe { init() })?;
        Ok(nvml)
    }

    /// Joules that a device has used since the driver was loaded; the device by its place on the bus.
    ///
    /// # Errors
    /// What NVML says: devices before Volta do not count.
    pub fn joules(&self, bus: &CStr) -> Result<f64, String> {
        let find: Find = self.function(c"nvmlDeviceGetHandleByPciBusId_v2")?;
        let energy: Energy = self.function(c"nvmlDeviceGetTotalEnergyConsumption")?;
        let mut device = std::ptr::null_mut();
        // SAFETY: the name ends in 0, and the handle outlives the call.
        self.checked(unsafe { find(bus.as_ptr(), &raw mut device) })?;
        let mut millijoules = 0;
        // SAFETY: the handle is one that NVML gave.
        self.checked(unsafe { energy(device, &raw mut millijoules) })?;
        #[expect(clippy::cast_precision_loss, reason = "2^53 millijoules are many years")]
        Ok(millijoules as f64 / 1e3)
    }

    fn function<T: Copy>(&self, name: &CStr) -> Result<T, String> {
        // SAFETY: callers name a function of NVML with its type; the pointer is used while the library is open.
        let found = unsafe { self.0.get::<T>(name.to_bytes_with_nul()) };
        found.map(|function| *function).map_err(|error| error.to_string())
    }

    fn checked(&self, status: c_int) -> Result<(), String> {
        if status == SUCCESS {
            return Ok(());
        }
        let words: Words = self.function(c"nvmlErrorString")?;
        // SAFETY: NVML has a text for every number, which stays.
        let words = unsafe { CStr::from_ptr(words(status)) };
        Err(format!("NVML: {}", words.to_string_lossy()))
    }
}

impl Drop for Nvml {
    fn drop(&mut self) {
        if let Ok(shutdown) = self.function::<Init>(c"nvmlShutdown") {
            // SAFETY: initialised once, in `open`.
            let _ = unsafe { shutdown() };
        }
    }
}

/// What fits the name of a place on the bus.
pub(super) const BUS_BYTES: c_uint = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_nvml_the_reason_is_said() {
        match Nvml::open() {
            Ok(_) => eprintln!("NVML is here"),
            Err(reason) => assert!(reason.contains("NVML"), "{reason}"),
        }
    }
}
