// SPDX-License-Identifier: Apache-2.0
//! GZIP: one or several gzip members, one after another; some writers omit the gzip frame or write
//! zlib's.

use std::io::Read;

use arrowsmith_core::Result;
use flate2::bufread::{MultiGzDecoder, ZlibDecoder};

use super::{Decompressor, corrupt};

/// See the module.
pub(super) struct Gzip;

impl Decompressor for Gzip {
    fn decompress(&mut self, input: &[u8], output: &mut [u8]) -> Result<()> {
        if input.starts_with(&[0x1f, 0x8b]) {
            fill(&mut MultiGzDecoder::new(input), output)
        } else {
            fill(&mut ZlibDecoder::new(input), output)
        }
    }

    /// Deflate makes at most 258 bytes of two bits.
    fn output_bytes_max(&self, input_bytes: usize) -> Option<usize> {
        Some(input_bytes.saturating_mul(1032))
    }
}

/// Fills `output`; input that has more is an error.
pub(super) fn fill(reader: &mut dyn Read, output: &mut [u8]) -> Result<()> {
    let failed = |error: std::io::Error| corrupt(format!("the page does not decompress: {error}"));
    reader.read_exact(output).map_err(failed)?;
    match reader.read(&mut [0]).map_err(failed)? {
        0 => Ok(()),
        _ => Err(corrupt(format!(
            "the page decompresses to more than the {} bytes that its header says",
            output.len()
        ))),
    }
}
