// SPDX-License-Identifier: Apache-2.0
//! The instruction sets, one thin file each; [`portable`] is the reference that the others are
//! tested against.

pub mod portable;

#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
#[cfg(target_arch = "aarch64")]
pub mod neon;
