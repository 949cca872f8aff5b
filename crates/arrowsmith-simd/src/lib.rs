// SPDX-License-Identifier: Apache-2.0
//! Vector kernels and recycled buffers: the parts of the CPU engine that need `unsafe`, behind safe
//! interfaces.
//!
//! * [`prefetch()`]: software prefetching.
//! * [`input`]: a text with readable padding, so that a 64-byte load at any position is in bounds.
//! * [`buffer`]: growable, aligned, pooled memory that becomes an Arrow buffer without a copy.
//! * [`text`]: string columns; the kernel that finds, unescapes and copies a JSON string.
//! * [`isa`]: one token type per instruction set; holding one proves that the CPU has it.
//! * [`ints`]: arrays of integers, many numbers per instruction.
//! * [`stream`]: whole records that are nothing but one array of integers, 4 KiB at a time.
//! * [`lanes`]: the same place of eight records at once.
//! * [`skip`]: values that no column needs.
//! * [`column`](mod@column): encoded columns, as Parquet has them, to Arrow buffers.
//!
//! Every kernel has a portable form with the same result; tests compare the two. This crate knows
//! no schema, plan or record.

pub mod arch;
pub mod buffer;
pub mod column;
pub mod input;
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(dead_code, reason = "with NEON, lists are read value by value")
)]
pub mod ints;
pub mod isa;
pub mod lanes;
mod prefetch;
pub mod skip;
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(dead_code, reason = "with NEON, lists are read value by value")
)]
pub mod stream;
pub mod text;

pub use buffer::{BitBuffer, Buf, ReadAt};
pub use input::Input;
pub use isa::{Isa, Kernel, Level};
pub use prefetch::prefetch;
pub use text::TextBuf;
