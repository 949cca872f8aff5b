// SPDX-License-Identifier: Apache-2.0
//! [`Codec`]: the compression of pages, and its name on a command line.

use std::fmt;
use std::str::FromStr;

use arrowsmith_core::Error;
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::errors::ParquetError;

/// The compression of pages: `none`, `snappy`, `lz4`, or `zstd`, `gzip`, `brotli`, each with an
/// optional level after a colon (`zstd:9`). The default is `zstd` at level 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Codec(Compression);

/// The names that [`Codec::from_str`] accepts, for messages.
const NAMES: &str = "none, snappy, lz4, zstd[:1-22], gzip[:0-9], brotli[:0-11]";

impl Codec {
    /// The setting of the `parquet` crate.
    pub(crate) fn compression(self) -> Compression {
        self.0
    }

    fn new(name: &str, level: Option<u32>) -> Result<Self, ParquetError> {
        let unknown = || ParquetError::General(format!("there are {NAMES}"));
        Ok(Self(match (name, level) {
            ("none", None) => Compression::UNCOMPRESSED,
            ("snappy", None) => Compression::SNAPPY,
            // The variant with Hadoop's framing is deprecated; every reader supports this one.
            ("lz4", None) => Compression::LZ4_RAW,
            ("zstd", None) => Compression::ZSTD(ZstdLevel::default()),
            ("zstd", Some(level)) => {
                let level = i32::try_from(level).map_err(|_| unknown())?;
                Compression::ZSTD(ZstdLevel::try_new(level)?)
            }
            ("gzip", None) => Compression::GZIP(GzipLevel::default()),
            ("gzip", Some(level)) => Compression::GZIP(GzipLevel::try_new(level)?),
            ("brotli", None) => Compression::BROTLI(BrotliLevel::default()),
            ("brotli", Some(level)) => Compression::BROTLI(BrotliLevel::try_new(level)?),
            _ => return Err(unknown()),
        }))
    }
}

impl Default for Codec {
    fn default() -> Self {
        Self(Compression::ZSTD(ZstdLevel::default()))
    }
}

impl FromStr for Codec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refuse = |why: &dyn fmt::Display| Error::Config(format!("codec {text:?}: {why}"));
        let (name, level) = match text.split_once(':') {
            None => (text, None),
            Some((name, level)) => {
                let level = level.parse().map_err(|_| refuse(&format!("there are {NAMES}")))?;
                (name, Some(level))
            }
        };
        Self::new(name, level).map_err(|error| match error {
            ParquetError::General(message) => refuse(&message),
            other => refuse(&other),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_levels_are_read() {
        for name in ["none", "snappy", "lz4", "zstd", "zstd:22", "gzip", "gzip:9", "brotli:11"] {
            assert!(name.parse::<Codec>().is_ok(), "{name}");
        }
        assert_eq!("zstd".parse::<Codec>().unwrap(), Codec::default());
        assert_eq!("zstd:1".parse::<Codec>().unwrap(), Codec::default());
        for name in
            ["", "zip", "none:1", "zstd:", "zstd:23", "zstd:-1", "gzip:10", "zstd:99999999999"]
        {
            let message = name.parse::<Codec>().unwrap_err().to_string();
            assert!(message.starts_with(&format!("codec {name:?}: ")), "{message}");
        }
    }
}
