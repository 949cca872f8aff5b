// SPDX-License-Identifier: Apache-2.0
//! The executable `arrowsmith`: only the call of the library.

#![forbid(unsafe_code)]

use std::process::ExitCode;

// musl's allocator has one lock for all threads.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(arrowsmith_cli::run(std::env::args_os()))
}
