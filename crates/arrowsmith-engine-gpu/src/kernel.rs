// SPDX-License-Identifier: Apache-2.0
//! The kernels' source as one text, for the compiler that CUDA has at run time (NVRTC): the files
//! of `kernels/`, without their `#include` lines, in an order in which everything is declared
//! before its use.

/// Files, in that order.
const FILES: &[&str] = &[
    include_str!("../kernels/common.cuh"),
    include_str!("../kernels/abi.cuh"),
    include_str!("../kernels/copy.cu"),
    include_str!("../kernels/json/text.cuh"),
    include_str!("../kernels/json/plan.cuh"),
    include_str!("../kernels/json/number.cuh"),
    include_str!("../kernels/json/time.cuh"),
    include_str!("../kernels/json/scan.cu"),
    include_str!("../kernels/json/index.cu"),
    include_str!("../kernels/json/walk.cu"),
    include_str!("../kernels/json/convert.cu"),
    include_str!("../kernels/json/strings.cu"),
    include_str!("../kernels/parquet/column.cuh"),
    include_str!("../kernels/parquet/levels.cu"),
    include_str!("../kernels/parquet/unpack.cuh"),
    include_str!("../kernels/parquet/snappy.cuh"),
    include_str!("../kernels/parquet/delta.cuh"),
    include_str!("../kernels/parquet/index.cu"),
    include_str!("../kernels/parquet/delta.cu"),
    include_str!("../kernels/parquet/chain.cuh"),
    include_str!("../kernels/parquet/chain.cu"),
    include_str!("../kernels/parquet/values.cu"),
    include_str!("../kernels/parquet/snappy.cu"),
    include_str!("../kernels/parquet/zstd.cuh"),
    include_str!("../kernels/parquet/zstd.cu"),
];

/// Options of NVRTC besides the architecture: 128-bit integers, and the C++ dialect.
pub const OPTIONS: &[&str] = &["--std=c++17", "--device-int128", "-lineinfo"];

/// All kernels.
pub fn source() -> String {
    let mut text = String::new();
    for line in FILES.iter().flat_map(|file| file.lines()) {
        if !line.starts_with("#include") {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// A hash of source and options, equal on every machine: the key of the kernel cache.
pub fn fingerprint() -> u64 {
    let text = source() + &OPTIONS.join(" ");
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}
