// SPDX-License-Identifier: Apache-2.0
//! ZSTD: one or several frames, one after another.

use arrowsmith_core::Result;
use zstd::bulk;

use super::{Decompressor, corrupt, wrong_length};

/// A context, which is large and slow to create.
pub(super) struct Zstd(bulk::Decompressor<'static>);

impl Zstd {
    pub(super) fn new() -> Result<Self> {
        Ok(Self(bulk::Decompressor::new()?))
    }
}

impl Decompressor for Zstd {
    fn decompress(&mut self, input: &[u8], output: &mut [u8]) -> Result<()> {
        let declared = output.len();
        let bytes = self
            .0
            .decompress_to_buffer(input, output)
            .map_err(|error| corrupt(format!("zstd: {error}")))?;
        if bytes == declared { Ok(()) } else { Err(wrong_length(bytes, declared)) }
    }

    /// A block of one repeated byte takes 4 bytes and makes up to 128 KiB; a frame has a few bytes
    /// more.
    fn output_bytes_max(&self, input_bytes: usize) -> Option<usize> {
        Some(input_bytes.saturating_mul(128 << 10))
    }
}
