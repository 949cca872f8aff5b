// SPDX-License-Identifier: Apache-2.0
//! LZ4_RAW: one raw block. LZ4: what Hadoop wrote (blocks, each with its two lengths), and what
//! others wrote under that name before it was specified (LZ4 frames, a raw block).

use arrowsmith_core::Result;
use lz4_flex::block::decompress_into;
use lz4_flex::frame::FrameDecoder;

use super::{Decompressor, corrupt, gzip, wrong_length};

/// A raw block expands one byte to at most 255.
const RATIO_MAX: usize = 255;

/// See the module.
pub(super) struct Lz4Raw;

impl Decompressor for Lz4Raw {
    fn decompress(&mut self, input: &[u8], output: &mut [u8]) -> Result<()> {
        let bytes =
            decompress_into(input, output).map_err(|error| corrupt(format!("lz4: {error}")))?;
        if bytes == output.len() { Ok(()) } else { Err(wrong_length(bytes, output.len())) }
    }

    fn output_bytes_max(&self, input_bytes: usize) -> Option<usize> {
        Some(input_bytes.saturating_mul(RATIO_MAX))
    }
}

/// See the module.
pub(super) struct Lz4Hadoop;

impl Decompressor for Lz4Hadoop {
    fn decompress(&mut self, input: &[u8], output: &mut [u8]) -> Result<()> {
        if hadoop(input, output).is_some() {
            return Ok(());
        }
        if input.starts_with(&[0x04, 0x22, 0x4d, 0x18]) {
            return gzip::fill(&mut FrameDecoder::new(input), output);
        }
        Lz4Raw.decompress(input, output)
    }

    fn output_bytes_max(&self, input_bytes: usize) -> Option<usize> {
        Some(input_bytes.saturating_mul(RATIO_MAX))
    }
}

/// Hadoop's form: length after, length of the block before decompression, both big-endian, then the
/// block; several of them. None where the input is not of that form.
fn hadoop(mut input: &[u8], mut output: &mut [u8]) -> Option<()> {
    while !input.is_empty() {
        let (after, rest) = input.split_first_chunk::<4>()?;
        let (before, rest) = rest.split_first_chunk::<4>()?;
        let after = usize::try_from(u32::from_be_bytes(*after)).ok()?;
        let before = usize::try_from(u32::from_be_bytes(*before)).ok()?;
        if after > output.len() || before > rest.len() {
            return None;
        }
        let (block, rest) = rest.split_at(before);
        let (target, left) = output.split_at_mut(after);
        if decompress_into(block, target).ok()? != after {
            return None;
        }
        (input, output) = (rest, left);
    }
    output.is_empty().then_some(())
}
