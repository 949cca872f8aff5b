// SPDX-License-Identifier: Apache-2.0
//! Codecs: what their libraries write comes back, and nothing else does.

use std::io::Write;

use flate2::write::{GzEncoder, ZlibEncoder};
use parquet::basic::{BrotliLevel, GzipLevel, ZstdLevel};

use super::*;

fn sample() -> Vec<u8> {
    (0..20_000_u32).flat_map(|i| (i % 251).to_le_bytes()).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn hadoop(blocks: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for block in blocks {
        let packed = lz4_flex::block::compress(block);
        out.extend(u32::try_from(block.len()).unwrap().to_be_bytes());
        out.extend(u32::try_from(packed.len()).unwrap().to_be_bytes());
        out.extend(packed);
    }
    out
}

/// A brotli stream of meta-blocks that are not compressed: no encoder is a dependency of ours, and
/// the compressed ones are in the corpora.
fn brotli_bytes(bytes: &[u8]) -> Vec<u8> {
    // The window of 16 bits is one zero bit, which only the first block has before it.
    let mut out = Vec::new();
    let mut carry: u32 = 0;
    let mut bits: i32 = 1;
    for block in bytes.chunks(1 << 16) {
        // Not the last, four nibbles of length, length - 1, stored.
        let length = u32::try_from(block.len() - 1).unwrap();
        carry |= (length << 3 | 1 << 19) << bits;
        bits += 20;
        while bits > 0 {
            out.push(carry.to_le_bytes()[0]);
            carry >>= 8;
            bits = (bits - 8).max(0);
        }
        carry = 0;
        out.extend_from_slice(block);
    }
    // The last and empty.
    out.push(3);
    out
}

/// What each codec's writers make of the sample, by name.
fn packed() -> Vec<(Compression, Vec<u8>)> {
    let plain = sample();
    let (first, second) = plain.split_at(30_000);
    let mut zlib = ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    zlib.write_all(&plain).unwrap();
    let mut frame = lz4_flex::frame::FrameEncoder::new(Vec::new());
    frame.write_all(&plain).unwrap();
    let gzip_codec = Compression::GZIP(GzipLevel::default());
    vec![
        (Compression::UNCOMPRESSED, plain.clone()),
        (Compression::SNAPPY, snap::raw::Encoder::new().compress_vec(&plain).unwrap()),
        (gzip_codec, gzip(&plain)),
        (gzip_codec, [gzip(first), gzip(b""), gzip(second)].concat()),
        (gzip_codec, zlib.finish().unwrap()),
        (Compression::ZSTD(ZstdLevel::default()), zstd::bulk::compress(&plain, 1).unwrap()),
        (
            Compression::ZSTD(ZstdLevel::default()),
            [zstd::bulk::compress(first, 1).unwrap(), zstd::bulk::compress(second, 1).unwrap()]
                .concat(),
        ),
        (Compression::BROTLI(BrotliLevel::default()), brotli_bytes(&plain)),
        (Compression::LZ4_RAW, lz4_flex::block::compress(&plain)),
        (Compression::LZ4, lz4_flex::block::compress(&plain)),
        (Compression::LZ4, hadoop(&[&plain])),
        (Compression::LZ4, hadoop(&[first, second])),
        (Compression::LZ4, frame.finish().unwrap()),
    ]
}

#[test]
fn what_writers_make_comes_back() {
    let plain = sample();
    for (index, (codec, input)) in packed().iter().enumerate() {
        let mut decompressor = decompressor(*codec).unwrap();
        let mut output = vec![0; plain.len()];
        decompressor.decompress(input, &mut output).unwrap();
        assert_eq!(output, plain, "{index} {codec:?}");
        let bound = decompressor.output_bytes_max(input.len());
        assert!(bound.is_none_or(|bound| bound >= plain.len()), "{index} {codec:?}");
    }
}

#[test]
fn another_length_is_an_error() {
    let plain = sample();
    for (index, (codec, input)) in packed().iter().enumerate() {
        let mut decompressor = decompressor(*codec).unwrap();
        for wrong in [0, 1, plain.len() - 1, plain.len() + 1, plain.len() * 2] {
            let mut output = vec![0; wrong];
            let error = decompressor.decompress(input, &mut output).unwrap_err();
            let kind = error.as_file().unwrap().kind;
            assert_eq!(kind, FileErrorKind::Corrupt, "{index} {codec:?} {wrong}");
        }
        // The decompressor is sound after an error.
        let mut output = vec![0; plain.len()];
        decompressor.decompress(input, &mut output).unwrap();
        assert_eq!(output, plain);
    }
}

#[test]
fn cut_and_changed_input_never_panics() {
    let plain = sample();
    for (codec, input) in packed() {
        let mut decompressor = decompressor(codec).unwrap();
        let mut output = vec![0; plain.len()];
        for cut in (0..input.len()).step_by(97) {
            assert!(
                decompressor.decompress(&input[..cut], &mut output).is_err(),
                "{codec:?} {cut}"
            );
        }
        for at in (0..input.len()).step_by(89) {
            let mut changed = input.clone();
            changed[at] ^= 0x55;
            // Without a checksum a change may be another text of the same length.
            let _ = decompressor.decompress(&changed, &mut output);
        }
    }
}

#[test]
fn broken_brotli_and_lzo_are_refused() {
    let mut brotli = decompressor(Compression::BROTLI(BrotliLevel::default())).unwrap();
    // An empty stream is one byte.
    brotli.decompress(&[0x06], &mut []).unwrap();
    assert!(brotli.decompress(&[0x06], &mut [0]).is_err());
    assert!(brotli.decompress(&[0xff, 0xff], &mut [0; 8]).is_err());
    let error = decompressor(Compression::LZO).err().unwrap();
    assert_eq!(error.as_file().unwrap().kind, FileErrorKind::Unsupported);
}

#[test]
fn buffers_are_kept() {
    let plain = sample();
    let mut buffers = PageBuffers::default();
    for (codec, input) in packed() {
        buffers.choose(codec).unwrap();
        assert!(buffers.plausible(input.len(), plain.len()));
        buffers.reserve(plain.len() + 7);
        let start = buffers.output().as_ptr();
        buffers.decompress(&input, 7, plain.len()).unwrap();
        assert_eq!(&buffers.output()[7..7 + plain.len()], plain);
        buffers.reserve(10);
        assert_eq!(buffers.output().as_ptr(), start);
    }
    assert_eq!(DECOMPRESSORS.with_borrow(Vec::len), 7);
    buffers.choose(Compression::SNAPPY).unwrap();
    assert!(!buffers.plausible(10, 1_000_000));
}
