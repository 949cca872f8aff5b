// SPDX-License-Identifier: Apache-2.0
//! Compiles the kernels for the CPU with the feature `shim`; without it, does nothing.

fn main() {
    println!("cargo::rerun-if-changed=kernels");
    #[cfg(feature = "shim")]
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .opt_level(2)
        .define("ARROWSMITH_SHIM", None)
        .include("kernels")
        .warnings(false)
        .file("kernels/shim/shim.cpp")
        .compile("arrowsmith_shim");
}
