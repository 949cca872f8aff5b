// SPDX-License-Identifier: Apache-2.0
//! The compressions that are taken off while reading: told apart by their magic numbers.
//!
//! No JSON text begins with any of these magic numbers, so that they decide alone: a file that is
//! named `.gz` and holds plain text is read as plain text, and a compressed file may have any name.

use std::io::{self, BufRead, Read};

/// How the bytes of an input are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// Whatever the first bytes say.
    #[default]
    Auto,
    /// Not at all.
    None,
    /// gzip, one member or several.
    Gzip,
    /// Zstandard, one frame or several.
    Zstd,
    /// LZ4 in its frame format, one frame or several.
    Lz4,
}

/// Longest magic number, in bytes.
pub(crate) const MAGIC_BYTES: usize = 4;

impl Compression {
    /// The compression with this name, as the command line takes it: `auto`, `none`, `gzip`,
    /// `zstd`, `lz4`.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "auto" => Self::Auto,
            "none" => Self::None,
            "gzip" | "gz" => Self::Gzip,
            "zstd" | "zst" => Self::Zstd,
            "lz4" => Self::Lz4,
            _ => return None,
        })
    }

    /// The compression that data beginning like this has; [`Compression::None`] when no magic is
    /// there.
    pub fn of_magic(head: &[u8]) -> Self {
        match head {
            [0x1F, 0x8B, ..] => Self::Gzip,
            [0x28, 0xB5, 0x2F, 0xFD, ..] => Self::Zstd,
            // A skippable frame: zstd's own tools put one first (pzstd, seekable format).
            [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Self::Zstd,
            [0x04, 0x22, 0x4D, 0x18, ..] => Self::Lz4,
            _ => Self::None,
        }
    }

    /// Wraps `reader` so that it gives the text. `Auto` counts as `None` here: the caller has
    /// looked.
    pub(crate) fn decoder<R>(self, reader: R) -> io::Result<Box<dyn Read + Send>>
    where
        R: BufRead + Send + 'static,
    {
        Ok(match self {
            Self::Auto | Self::None => Box::new(reader),
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(reader)),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(reader)?),
            Self::Lz4 => Box::new(Lz4Frames::new(reader)),
        })
    }
}

/// LZ4 frames one after another. `lz4_flex` ends at the end of each frame, and takes a file that
/// was cut between two blocks for a complete one: here that is an error, since rows would be lost
/// silently.
struct Lz4Frames<R: BufRead> {
    decoder: lz4_flex::frame::FrameDecoder<Tracked<R>>,
    done: bool,
}

/// Remembers that somebody wanted bytes beyond the end.
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
                let message = "the lz4 frame is cut short";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
            }
            self.done = tracked.reader.fill_buf()?.is_empty();
        }
        Ok(0)
    }
}
