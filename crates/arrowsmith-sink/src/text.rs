// SPDX-License-Identifier: Apache-2.0
//! [`TextOutput`]: the file of a sink that writes text, compressed on the way or not.
//!
//! The compressed file is one gzip member or one Zstandard frame with a checksum, which every
//! program reads. It is complete only after [`TextOutput::commit`]: what a reader finds under the
//! name of the file ends as it should.

use std::io::{self, Write};
use std::path::Path;

use arrowsmith_core::sink::Output;
use arrowsmith_core::{Error, Result};
use flate2::write::GzEncoder;
use zstd::stream::write::Encoder;

/// The compression of a whole file of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TextCompression {
    /// None.
    #[default]
    None,
    /// Gzip at a level from 0 to 9.
    Gzip(u32),
    /// Zstandard at a level from 1 to 22.
    Zstd(i32),
}

impl TextCompression {
    /// Gzip at the level that its own program takes.
    pub const GZIP: Self = Self::Gzip(6);
    /// Zstandard at the level that its own program takes.
    pub const ZSTD: Self = Self::Zstd(3);

    /// The end of a file's name: of `name.jsonl.gz` it is `gz`. `None` for any other word.
    pub fn by_extension(extension: &str) -> Option<Self> {
        match extension {
            "gz" => Some(Self::GZIP),
            "zst" => Some(Self::ZSTD),
            _ => None,
        }
    }

    /// What is appended to the extension of a file, with its dot.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Gzip(_) => ".gz",
            Self::Zstd(_) => ".zst",
        }
    }
}

/// An [`Output`] that text is written to.
pub(crate) enum TextOutput {
    Plain(Output),
    Gzip(GzEncoder<Output>),
    Zstd(Encoder<'static, Output>),
}

impl TextOutput {
    pub(crate) fn new(output: Output, compression: TextCompression) -> Result<Self> {
        let wrong = |what: &str| Err(Error::Config(format!("{what}: no such level")));
        match compression {
            TextCompression::None => Ok(Self::Plain(output)),
            TextCompression::Gzip(level @ 0..=9) => {
                Ok(Self::Gzip(GzEncoder::new(output, flate2::Compression::new(level))))
            }
            TextCompression::Zstd(level @ 1..=22) => {
                let path = output.path().to_owned();
                let failed = |error| Error::io(&path, error);
                let mut encoder = Encoder::new(output, level).map_err(failed)?;
                encoder.include_checksum(true).map_err(failed)?;
                Ok(Self::Zstd(encoder))
            }
            TextCompression::Gzip(level) => wrong(&format!("gzip:{level}")),
            TextCompression::Zstd(level) => wrong(&format!("zstd:{level}")),
        }
    }

    fn output(&self) -> &Output {
        match self {
            Self::Plain(output) => output,
            Self::Gzip(encoder) => encoder.get_ref(),
            Self::Zstd(encoder) => encoder.get_ref(),
        }
    }

    /// The path that was requested.
    pub(crate) fn path(&self) -> &Path {
        self.output().path()
    }

    /// Bytes of the file so far, without those that the compression still holds.
    pub(crate) fn bytes(&self) -> u64 {
        self.output().bytes()
    }

    /// Ends the compression and gives the file its name; returns its length in bytes.
    pub(crate) fn commit(self) -> Result<u64> {
        let path = self.path().to_owned();
        let ended = match self {
            Self::Plain(output) => Ok(output),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        };
        ended.map_err(|error| Error::io(&path, error))?.commit()
    }
}

impl Write for TextOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(output) => output.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(output) => output.flush(),
            // A flush in the middle costs compression; the end of the file is in `commit`.
            Self::Gzip(_) | Self::Zstd(_) => Ok(()),
        }
    }
}
