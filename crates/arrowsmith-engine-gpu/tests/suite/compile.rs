// SPDX-License-Identifier: Apache-2.0
//! CUDA's run-time compiler, if installed, compiles the kernels; a machine without a GPU gets a
//! clear message.

#![cfg(feature = "cuda")]

use std::path::PathBuf;

use arrowsmith_engine_gpu::device::cuda::compile;
use arrowsmith_engine_gpu::{GpuEngine, GpuOptions, abi};
use arrowsmith_testkit::{absent, unsupported};
use libloading::Library;

/// Loads NVRTC from where `tools/gpu install` puts it, so that the engine finds it by its name.
fn load_nvrtc() {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let cache = variable("ARROWSMITH_CACHE")
        .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("arrowsmith")))
        .or_else(|| Some(variable("HOME")?.join(".cache/arrowsmith")));
    let inside = |folder: PathBuf| {
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
    };
    let installed = cache.into_iter().flat_map(inside).filter(|folder| {
        folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("cuda-"))
    });
    for version in installed.flat_map(|folder| inside(folder.join("lib"))) {
        let libraries = version.join("site-packages/nvidia/cu13/lib");
        for name in ["libnvrtc-builtins.so.13.0", "libnvrtc.so.13"] {
            // SAFETY: it is the library of CUDA, which is never unloaded.
            if let Ok(library) = unsafe { Library::new(libraries.join(name)) } {
                std::mem::forget(library);
            }
        }
    }
}

#[test]
fn nvrtc_compiles_every_kernel() {
    load_nvrtc();
    for arch in ["compute_80", "compute_90", "compute_100"] {
        match compile(arch) {
            Ok(ptx) => {
                for name in abi::NAMES {
                    assert!(ptx.contains(&format!(".entry {name}(")), "{arch}: {name}");
                }
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("NVRTC (libnvrtc) is not on this machine"), "{text}");
                return absent("CUDA's compiler NVRTC", "tools/gpu install");
            }
        }
    }
}

#[test]
fn without_a_device_the_error_says_what_to_do() {
    match GpuEngine::open(GpuOptions::default()) {
        Ok(engine) => unsupported(&format!("there is a device, {}", engine.device().name())),
        Err(error) => assert!(error.to_string().contains("--engine auto"), "{error}"),
    }
}
