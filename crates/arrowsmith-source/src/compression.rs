// SPDX-License-Identifier: Apache-2.0
//! Decompression while reading; formats are detected by their magic numbers.
//!
//! No JSON text starts with any of these magic numbers, so names are ignored: a file named `.gz`
//! that contains plain text is read as plain text, and a compressed file may have any name.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
/// declare 4 GiB.
#[cfg(feature = "xz")]
const XZ_MEMORY_BYTES_MAX: u64 = 256 << 20;

/// Size of the input buffer of a decompressor, in bytes.
const BUFFER_BYTES: usize = 128 << 10;

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

    /// As users call it.
    fn name(self) -> &'static str {
        match self {
            Self::Auto | Self::None => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "Zstandard",
            Self::Lz4 => "LZ4",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
        }
    }

    /// Wraps `reader` with a decompressor, which may use this many threads, or with 0 one for each
    /// core. `Auto` is treated as `None`: the caller has already detected it. Its own errors name
    /// the format; those of `reader` stay as they are.
    pub(crate) fn decoder<R>(self, reader: R, threads: usize) -> io::Result<Box<dyn Read + Send>>
    where
        R: Read + Send + 'static,
    {
        let has_failed = Arc::<AtomicBool>::default();
        let reader = Watched { reader, has_failed: Arc::clone(&has_failed) };
        let reader = BufReader::with_capacity(BUFFER_BYTES, reader);
        let decoder: Box<dyn Read + Send> = match self {
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
        };
        Ok(Box::new(Named { decoder, name: self.name(), source_has_failed: has_failed }))
    }
}

/// Notes whether a read failed.
struct Watched<R> {
    reader: R,
    has_failed: Arc<AtomicBool>,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer);
        self.has_failed.store(read.is_err(), Ordering::Relaxed);
        read
    }
}

/// A decompressor, of which the errors say what is wrong with which format.
struct Named {
    decoder: Box<dyn Read + Send>,
    name: &'static str,
    source_has_failed: Arc<AtomicBool>,
}

impl Read for Named {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(buffer).map_err(|error| {
            if self.source_has_failed.load(Ordering::Relaxed) {
                return error;
            }
            let name = self.name;
            let what = match error.kind() {
                io::ErrorKind::UnexpectedEof => format!("the {name} data ends early"),
                io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                    format!("damaged {name} data: {error}")
                }
                _ => format!("{name}: {error}"),
            };
            io::Error::new(error.kind(), what)
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

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use super::*;

    fn packed() -> [(Compression, Vec<u8>); 3] {
        let text: Vec<u8> = (0..20_000).flat_map(|n: u32| format!("{n}\n").into_bytes()).collect();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(&text).unwrap();
        let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
        lz4.write_all(&text).unwrap();
        [
            (Compression::Gzip, gzip.finish().unwrap()),
            (Compression::Zstd, zstd::stream::encode_all(&*text, 1).unwrap()),
            (Compression::Lz4, lz4.finish().unwrap()),
        ]
    }

    fn error(compression: Compression, reader: impl Read + Send + 'static) -> String {
        let mut decoder = compression.decoder(reader, 2).unwrap();
        decoder.read_to_end(&mut Vec::new()).unwrap_err().to_string()
    }

    #[test]
    fn errors_name_the_format() {
        for (compression, bytes) in packed() {
            let name = compression.name();
            for cut in [bytes.len() - 1, bytes.len() / 2, 5] {
                let found = error(compression, Cursor::new(bytes[..cut].to_vec()));
                assert_eq!(found, format!("the {name} data ends early"), "{cut}");
            }
            let mut damaged = bytes.clone();
            // The end of the last block, or what follows it.
            for byte in &mut damaged[bytes.len() - 12..] {
                *byte = !*byte;
            }
            let found = error(compression, Cursor::new(damaged));
            assert!(found.contains(name), "{found}");
        }
    }

    /// What a source says is not for a decompressor to explain.
    #[test]
    fn errors_of_the_source_stay_as_they_are() {
        struct Away;
        impl Read for Away {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server is away"))
            }
        }
        for (compression, bytes) in packed() {
            let start = Cursor::new(bytes[..bytes.len() / 2].to_vec());
            assert_eq!(error(compression, start.chain(Away)), "the server is away");
        }
    }
}
