// SPDX-License-Identifier: Apache-2.0
//! The decompressor: a page's bytes as they are in the file → as they were before.
//!
//! One trait, one small module for each library behind it. An output buffer has exactly the size
//! that the page's header declares, within
//! [`Limits::page_bytes_max`](arrowsmith_core::Limits::page_bytes_max) and within what the codec
//! can produce from that much input, so that neither a false header nor a decompression bomb takes
//! more memory.

mod brotli;
mod gzip;
mod lz4;
mod snappy;
mod zstandard;

use std::cell::RefCell;

use arrowsmith_core::{Error, FileErrorKind, Result};
use parquet::basic::Compression;

/// What turns compressed bytes into plain ones.
pub trait Decompressor: Send {
    /// Fills `output`, whose length is what the page's header declares.
    ///
    /// # Errors
    /// Input that is not of this codec, or that decompresses to fewer or more bytes than `output`
    /// has.
    fn decompress(&mut self, input: &[u8], output: &mut [u8]) -> Result<()>;

    /// The maximum number of bytes that can come out of `input_bytes`, where the codec has such a
    /// bound.
    fn output_bytes_max(&self, input_bytes: usize) -> Option<usize>;
}

/// The output buffer of a column chunk, reused by one after another, and the chunk's codec.
///
/// Decompressors, which are large and slow to create, are those of the thread: thousands of chunks
/// may be read in turns.
pub struct PageBuffers {
    codec: Compression,
    /// At least as long as requested: never shrunk, never zeroed again.
    output: Vec<u8>,
}

impl Default for PageBuffers {
    fn default() -> Self {
        Self { codec: Compression::UNCOMPRESSED, output: Vec::new() }
    }
}

impl std::fmt::Debug for PageBuffers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PageBuffers")
            .field("codec", &self.codec)
            .field("output_bytes", &self.output.len())
            .finish()
    }
}

thread_local! {
    /// The decompressors that a thread has used; one for each codec, whatever its level.
    static DECOMPRESSORS: RefCell<Vec<(Compression, Box<dyn Decompressor>)>> =
        const { RefCell::new(Vec::new()) };
}

/// Calls with the thread's decompressor of a codec.
fn with_decompressor<T>(
    codec: Compression,
    call: impl FnOnce(&mut dyn Decompressor) -> Result<T>,
) -> Result<T> {
    let same =
        |known: &Compression| std::mem::discriminant(known) == std::mem::discriminant(&codec);
    DECOMPRESSORS.with_borrow_mut(|all| {
        let place = match all.iter().position(|(known, _)| same(known)) {
            Some(place) => place,
            None => {
                all.push((codec, decompressor(codec)?));
                all.len() - 1
            }
        };
        call(all[place].1.as_mut())
    })
}

/// Readable bytes after a decompressed page, of any value.
pub(crate) const SLACK_BYTES: usize = 128;

impl PageBuffers {
    /// Gets ready for a chunk of a codec.
    pub(crate) fn choose(&mut self, codec: Compression) -> Result<()> {
        self.codec = codec;
        with_decompressor(codec, |_| Ok(()))
    }

    /// Bytes that the buffers keep for the next chunk.
    pub fn bytes_held(&self) -> usize {
        self.output.len()
    }

    /// Reserves `skip + bytes` bytes of output and the slack after it.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        let wanted = bytes.saturating_add(SLACK_BYTES);
        if self.output.len() < wanted {
            // A new zeroed vector costs nothing until it is written, unlike one that grows.
            self.output = Vec::new();
            // Pages of one chunk are about as long.
            // Bounded: by page_bytes_max, and by what the compressed bytes may become.
            self.output = vec![0; (wanted + wanted / 16).next_multiple_of(4 << 10)];
        }
    }

    /// Decompresses into `output[skip..skip + bytes]`; `output[..skip]` stays as the caller wrote
    /// it.
    pub(crate) fn decompress(&mut self, input: &[u8], skip: usize, bytes: usize) -> Result<()> {
        let output = &mut self.output[skip..skip + bytes];
        with_decompressor(self.codec, |decompressor| decompressor.decompress(input, output))
    }

    /// Whether this much input can become this much output.
    pub(crate) fn plausible(&self, input_bytes: usize, output_bytes: usize) -> bool {
        let bound = with_decompressor(self.codec, |decompressor| {
            Ok(decompressor.output_bytes_max(input_bytes))
        });
        bound.is_ok_and(|bound| bound.is_none_or(|bound| output_bytes <= bound))
    }

    /// The buffer that [`PageBuffers::decompress`] writes to.
    pub(crate) fn output(&self) -> &[u8] {
        &self.output
    }

    pub(crate) fn output_mut(&mut self) -> &mut [u8] {
        &mut self.output
    }
}

/// The decompressor of a codec.
///
/// # Errors
/// LZO: its licence forbids use, and no current writer produces it.
pub fn decompressor(codec: Compression) -> Result<Box<dyn Decompressor>> {
    Ok(match codec {
        Compression::UNCOMPRESSED => Box::new(Stored),
        Compression::SNAPPY => Box::new(snappy::Snappy::default()),
        Compression::GZIP(_) => Box::new(gzip::Gzip),
        Compression::BROTLI(_) => Box::new(brotli::Brotli),
        Compression::ZSTD(_) => Box::new(zstandard::Zstd::new()?),
        Compression::LZ4 => Box::new(lz4::Lz4Hadoop),
        Compression::LZ4_RAW => Box::new(lz4::Lz4Raw),
        Compression::LZO => {
            return Err(Error::file(FileErrorKind::Unsupported, "compression LZO"));
        }
    })
}

/// UNCOMPRESSED: for pages marked compressed in a chunk that is not.
struct Stored;

impl Decompressor for Stored {
    fn decompress(&mut self, input: &[u8], output: &mut [u8]) -> Result<()> {
        if input.len() != output.len() {
            return Err(wrong_length(input.len(), output.len()));
        }
        output.copy_from_slice(input);
        Ok(())
    }

    fn output_bytes_max(&self, input_bytes: usize) -> Option<usize> {
        Some(input_bytes)
    }
}

/// The error for a page that decompresses to another length than its header says.
fn wrong_length(found: usize, declared: usize) -> Error {
    corrupt(format!("the page decompresses to {found} bytes, its header says {declared}"))
}

fn corrupt(message: impl Into<String>) -> Error {
    Error::file(FileErrorKind::Corrupt, message)
}

#[cfg(test)]
mod tests;
