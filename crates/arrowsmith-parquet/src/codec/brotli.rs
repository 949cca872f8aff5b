// SPDX-License-Identifier: Apache-2.0
//! BROTLI: one stream.

use arrowsmith_core::Result;

use super::{Decompressor, gzip};

/// Bytes that the decoder takes from its input at a time.
const BUFFER_BYTES: usize = 4 << 10;

/// See the module.
pub(super) struct Brotli;

impl Decompressor for Brotli {
    fn decompress(&mut self, input: &[u8], output: &mut [u8]) -> Result<()> {
        gzip::fill(&mut brotli_decompressor::Decompressor::new(input, BUFFER_BYTES), output)
    }

    fn output_bytes_max(&self, _: usize) -> Option<usize> {
        None
    }
}
