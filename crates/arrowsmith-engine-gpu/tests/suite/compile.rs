// SPDX-License-Identifier: Apache-2.0
//! The kernels compile as CUDA's run-time compiler sees them, where that is there; and a machine without a
//! GPU gets a clear word.

#![cfg(feature = "cuda")]

use arrowsmith_engine_gpu::device::cuda::compile;
use arrowsmith_engine_gpu::{GpuEngine, GpuOptions, kernel};

#[test]
fn nvrtc_compiles_every_kernel() {
    for arch in ["compute_80", "compute_90", "compute_100"] {
        match compile(arch) {
            Ok(ptx) => {
                for name in kernel::names() {
                    assert!(ptx.contains(&format!(".entry {name}(")), "{arch}: {name}");
                }
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("NVRTC (libnvrtc) is not on this machine"), "{text}");
                eprintln!("NVRTC is not here: nothing was compiled for {arch}");
            }
        }
    }
}

#[test]
fn without_a_device_the_error_says_what_to_do() {
    match GpuEngine::open(GpuOptions::default()) {
        Ok(engine) => eprintln!("there is a device: {}", engine.device().name()),
        Err(error) => assert!(error.to_string().contains("--engine auto"), "{error}"),
    }
}
