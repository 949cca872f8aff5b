// SPDX-License-Identifier: Apache-2.0
//! Decompression while reading; formats are detected by their magic numbers.
//!
//! No JSON text starts with any of these magic numbers, so names are ignored: a file named `.gz`
//! that contains plain text is read as plain text, and a compressed file may have any name.

use std::io::{self, BufRead, BufReader, Read};

use crate::gzip::Gzip;

/// How the bytes of an input are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// Detect from the first bytes.
    #[default]
    Auto,
    /// Not compressed.
    None,
    /// gzip, one member or several.
    Gzip,
    /// Zstandard, one frame or several.
    Zstd,
    /// LZ4 in its frame format, one frame or several.
    Lz4,
    /// bzip2, one stream or several; needs the feature `bzip2`.
    Bzip2,
    /// xz, one stream or several; needs the feature `xz`.
    Xz,
}

/// Maximum memory of the decoder of an xz stream, in bytes: `xz -9` needs 65 MiB, and a header can
/// ask for 4 GiB.
#[cfg(feature = "xz")]
const XZ_MEMORY_BYTES_MAX: u64 = 256 << 20;

/// Length of the longest magic number, in bytes.
pub(crate) const MAGIC_BYTES: usize = 6;

impl Compression {
    /// The compression with this name, as on the command line: `auto`, `none`, `gzip`, `zstd`,
    /// `lz4`, `bzip2`, `xz`.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "auto" => Self::Auto,
            "none" => Self::None,
            "gzip" | "gz" => Self::Gzip,
            "zstd" | "zst" => Self::Zstd,
            "lz4" => Self::Lz4,
            "bzip2" | "bz2" => Self::Bzip2,
            "xz" => Self::Xz,
            _ => return None,
        })
    }

    /// Detects the compression from the first bytes; [`Compression::None`] without a magic number.
    pub fn of_magic(head: &[u8]) -> Self {
        match head {
            [0x1F, 0x8B, ..] => Self::Gzip,
            [0x28, 0xB5, 0x2F, 0xFD, ..] => Self::Zstd,
            // A skippable frame, with which zstd's own tools may start (pzstd, seekable format).
            [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Self::Zstd,
            [0x04, 0x22, 0x4D, 0x18, ..] => Self::Lz4,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Self::Bzip2,
            [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            _ => Self::None,
        }
    }

    /// Wraps `reader` with a decompressor, which may use this many threads, or with 0 one for each
    /// core. `Auto` is treated as `None`: the caller has already detected it.
    pub(crate) fn decoder<R>(
        self,
        reader: BufReader<R>,
        threads: usize,
    ) -> io::Result<Box<dyn Read + Send>>
    where
        R: Read + Send + 'static,
    {
        Ok(match self {
            Self::Auto | Self::None => Box::new(reader),
            Self::Gzip => Box::new(Gzip::new(reader, threads)),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(reader)?),
            Self::Lz4 => Box::new(Lz4Frames::new(reader)),
            #[cfg(feature = "bzip2")]
            Self::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(reader)),
            #[cfg(not(feature = "bzip2"))]
            Self::Bzip2 => return Err(lacks("bzip2")),
            #[cfg(feature = "xz")]
            Self::Xz => {
                let flags = liblzma::stream::CONCATENATED;
                let stream =
                    liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY_BYTES_MAX, flags)?;
                Box::new(liblzma::bufread::XzDecoder::new_stream(reader, stream))
            }
            #[cfg(not(feature = "xz"))]
            Self::Xz => return Err(lacks("xz")),
        })
    }
}

/// This build was made without a decoder.
#[cfg(not(all(feature = "bzip2", feature = "xz")))]
fn lacks(feature: &str) -> io::Error {
    let message = format!("compressed with {feature}, which this build lacks (feature {feature})");
    io::Error::new(io::ErrorKind::Unsupported, message)
}

/// Consecutive LZ4 frames. `lz4_flex` ends at the end of each frame, and accepts a file that was
/// truncated between two blocks; here that is an error, because rows would be lost silently.
struct Lz4Frames<R: BufRead> {
    decoder: lz4_flex::frame::FrameDecoder<Tracked<R>>,
    done: bool,
}

/// Notes whether a read reached the end.
struct Tracked<R> {
    reader: R,
    ran_out: bool,
}

impl<R: BufRead> Read for Tracked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.ran_out |= read == 0 && !buffer.is_empty();
        Ok(read)
    }
}

impl<R: BufRead> Lz4Frames<R> {
    fn new(reader: R) -> Self {
        let tracked = Tracked { reader, ran_out: false };
        Self { decoder: lz4_flex::frame::FrameDecoder::new(tracked), done: false }
    }
}

impl<R: BufRead> Read for Lz4Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.done && !buffer.is_empty() {
            let read = self.decoder.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            let tracked = self.decoder.get_mut();
            if tracked.ran_out {
                let message = "the lz4 frame is truncated";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
            }
            self.done = tracked.reader.fill_buf()?.is_empty();
        }
        Ok(0)
    }
}
