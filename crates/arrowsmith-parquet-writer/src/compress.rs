// SPDX-License-Identifier: Apache-2.0
//! [`Compressor`]: the codecs, with what each keeps from one page to the next.

use std::io::Write;

use arrowsmith_core::{Error, Result};

use crate::options::Codec;

/// Bytes that Brotli collects before it compresses.
const BROTLI_BUFFER_BYTES: usize = 64 << 10;
/// Binary logarithm of Brotli's window, in bytes.
const BROTLI_WINDOW_BITS: u32 = 22;

/// The codecs of a thread.
#[derive(Default)]
pub(crate) struct Compressor {
    zstd: Option<(i32, zstd::bulk::Compressor<'static>)>,
    snappy: Option<snap::raw::Encoder>,
    gzip: Option<(u32, flate2::Compress)>,
    /// Reused from one page to the next.
    scratch: Vec<u8>,
}

fn failed(codec: Codec, error: impl std::fmt::Display) -> Error {
    Error::Io { path: None, source: std::io::Error::other(format!("{codec}: {error}")) }
}

impl Compressor {
    /// Compresses bytes; the result is valid until the next call.
    pub(crate) fn compress(&mut self, codec: Codec, input: &[u8]) -> Result<&[u8]> {
        self.scratch.clear();
        let out = &mut self.scratch;
        match codec {
            // A chunk has a codec of its own: see `Codec::base`.
            Codec::Auto | Codec::None => out.extend_from_slice(input),
            Codec::Snappy => {
                let encoder = self.snappy.get_or_insert_with(snap::raw::Encoder::new);
                // Bounded: by the input, which is in memory.
                out.resize(snap::raw::max_compress_len(input.len()), 0);
                let bytes = encoder.compress(input, out).map_err(|e| failed(codec, e))?;
                out.truncate(bytes);
            }
            Codec::Lz4 => {
                // Bounded: by the input, which is in memory.
                out.resize(lz4_flex::block::get_maximum_output_size(input.len()), 0);
                let bytes = lz4_flex::block::compress_into(input, out);
                let bytes = bytes.map_err(|e| failed(codec, e))?;
                out.truncate(bytes);
            }
            Codec::Zstd(level) => {
                let context = match &mut self.zstd {
                    Some((same, context)) if *same == level => context,
                    other => {
                        let context = zstd::bulk::Compressor::new(level);
                        let context = context.map_err(|e| failed(codec, e))?;
                        &mut other.insert((level, context)).1
                    }
                };
                // Bounded: by the input, which is in memory.
                out.reserve(zstd::zstd_safe::compress_bound(input.len()));
                context.compress_to_buffer(input, out).map_err(|e| failed(codec, e))?;
            }
            Codec::Gzip(level) => {
                let context = match &mut self.gzip {
                    Some((same, context)) if *same == level => context,
                    other => &mut other.insert((level, gzip_context(level))).1,
                };
                gzip(context, input, out).map_err(|e| failed(codec, e))?;
            }
            Codec::Brotli(level) => {
                let mut encoder = brotli::CompressorWriter::new(
                    &mut *out,
                    BROTLI_BUFFER_BYTES,
                    level,
                    BROTLI_WINDOW_BITS,
                );
                encoder.write_all(input).map_err(|e| failed(codec, e))?;
                encoder.flush().map_err(|e| failed(codec, e))?;
            }
        }
        Ok(&self.scratch)
    }
}

/// Deflate without a frame, which [`gzip`] puts around it.
fn gzip_context(level: u32) -> flate2::Compress {
    flate2::Compress::new(flate2::Compression::new(level), false)
}

/// A gzip member: ten bytes of header, deflate, CRC-32 and length.
fn gzip(
    context: &mut flate2::Compress,
    input: &[u8],
    out: &mut Vec<u8>,
) -> std::result::Result<(), flate2::CompressError> {
    context.reset();
    out.extend_from_slice(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
    loop {
        // Bounded: by the input, which is in memory.
        out.reserve(input.len() / 2 + 1_024);
        let read = usize::try_from(context.total_in()).unwrap_or(input.len());
        let rest = input.get(read..).unwrap_or_default();
        let status = context.compress_vec(rest, out, flate2::FlushCompress::Finish)?;
        if status == flate2::Status::StreamEnd {
            break;
        }
    }
    out.extend_from_slice(&crc32fast::hash(input).to_le_bytes());
    out.extend_from_slice(&(input.len() as u64).to_le_bytes()[..4]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn one_compressor_does_all_codecs_again_and_again() {
        let mut compressor = Compressor::default();
        for bytes in [0, 1, 100, 1 << 20] {
            let input: Vec<u8> = (0..bytes).map(|i: u64| ((i * i) >> 7).to_le_bytes()[0]).collect();
            for text in ["none", "snappy", "lz4", "zstd", "zstd:3", "gzip:0", "gzip:9", "brotli"] {
                let codec: Codec = text.parse().unwrap();
                let found = compressor.compress(codec, &input).unwrap();
                let mut plain = vec![0; input.len()];
                match codec {
                    Codec::Auto | Codec::None => plain = found.to_vec(),
                    Codec::Snappy => {
                        plain = snap::raw::Decoder::new().decompress_vec(found).unwrap()
                    }
                    Codec::Lz4 => {
                        lz4_flex::block::decompress_into(found, &mut plain).unwrap();
                    }
                    Codec::Zstd(_) => plain = zstd::decode_all(found).unwrap(),
                    Codec::Gzip(_) => {
                        let mut decoder = flate2::read::GzDecoder::new(found);
                        plain.clear();
                        decoder.read_to_end(&mut plain).unwrap();
                    }
                    Codec::Brotli(_) => {
                        plain.clear();
                        brotli::Decompressor::new(found, 4_096).read_to_end(&mut plain).unwrap();
                    }
                }
                assert!(plain == input, "{text} {bytes}");
            }
        }
    }
}
