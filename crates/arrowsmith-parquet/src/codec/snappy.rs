// SPDX-License-Identifier: Apache-2.0
//! SNAPPY: the raw block format, without frames.

use arrowsmith_core::Result;

use super::{Decompressor, corrupt, wrong_length};

/// See the module.
#[derive(Default)]
pub(super) struct Snappy(snap::raw::Decoder);

impl Decompressor for Snappy {
    fn decompress(&mut self, input: &[u8], output: &mut [u8]) -> Result<()> {
        let failed = |error: snap::Error| corrupt(format!("snappy: {error}"));
        // The block says how long it becomes, which has to be what the page's header says.
        let bytes = snap::raw::decompress_len(input).map_err(failed)?;
        if bytes != output.len() {
            return Err(wrong_length(bytes, output.len()));
        }
        self.0.decompress(input, output).map_err(failed)?;
        Ok(())
    }

    /// The densest element copies 64 bytes and takes 3.
    fn output_bytes_max(&self, input_bytes: usize) -> Option<usize> {
        Some(input_bytes.saturating_mul(22))
    }
}
