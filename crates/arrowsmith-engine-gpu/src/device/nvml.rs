// SPDX-License-Identifier: Apache-2.0
//! NVML, the driver's management library, loaded if present: the energy that a device has used. No
//! other query is made, and no setting is changed.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use libloading::Library;

/// NVML's success code.
const SUCCESS: c_int = 0;

type Init = unsafe extern "C" fn() -> c_int;
type Find = unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int;
type Energy = unsafe extern "C" fn(*mut c_void, *mut u64) -> c_int;
type Words = unsafe extern "C" fn(c_int) -> *const c_char;

/// The open library, initialised once.
pub struct Nvml(Library);

impl Nvml {
    /// Opens the library.
    ///
    /// # Errors
    /// That the library is missing, or NVML's error.
    pub fn open() -> Result<Self, String> {
        let name = if cfg!(windows) { "nvml.dll" } else { "libnvidia-ml.so.1" };
        // SAFETY: loads the system's NVML, whose constructors are sound to run.
        let library = unsafe { Library::new(name) };
        let nvml = Self(library.map_err(|_| format!("NVML ({name}) is not on this machine"))?);
        let init: Init = nvml.function(c"nvmlInit_v2")?;
        // SAFETY: `nvmlInit_v2` takes no argument and counts its calls.
        nvml.checked(unsafe { init() })?;
        Ok(nvml)
    }

    /// Joules that a device has used since the driver was loaded; the device is named by its PCI
    /// bus id.
    ///
    /// # Errors
    /// NVML's error: devices before Volta do not count.
    pub fn joules(&self, bus: &CStr) -> Result<f64, String> {
        let find: Find = self.function(c"nvmlDeviceGetHandleByPciBusId_v2")?;
        let energy: Energy = self.function(c"nvmlDeviceGetTotalEnergyConsumption")?;
        let mut device = std::ptr::null_mut();
        // SAFETY: the name is NUL-terminated, and the handle outlives the call.
        self.checked(unsafe { find(bus.as_ptr(), &raw mut device) })?;
        let mut millijoules = 0;
        // SAFETY: NVML returned this handle.
        self.checked(unsafe { energy(device, &raw mut millijoules) })?;
        #[expect(clippy::cast_precision_loss, reason = "2^53 millijoules are many years")]
        Ok(millijoules as f64 / 1e3)
    }

    fn function<T: Copy>(&self, name: &CStr) -> Result<T, String> {
        // SAFETY: callers pass the name of an NVML function with its true type; the pointer is used
        // while the library is open.
        let found = unsafe { self.0.get::<T>(name.to_bytes_with_nul()) };
        found.map(|function| *function).map_err(|error| error.to_string())
    }

    fn checked(&self, status: c_int) -> Result<(), String> {
        if status == SUCCESS {
            return Ok(());
        }
        let words: Words = self.function(c"nvmlErrorString")?;
        // SAFETY: NVML returns a static text for every code.
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

/// The buffer size of a PCI bus id.
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
