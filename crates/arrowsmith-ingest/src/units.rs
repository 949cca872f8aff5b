// SPDX-License-Identifier: Apache-2.0
//! Values that the settings of several parts have: sizes, times, compression, when to sync.

use std::fmt;
use std::time::Duration;

use arrowsmith_core::duration::{self, SECONDS_MAX};
use arrowsmith_core::size::parse_memory;
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

/// A number of bytes: `65536` or `"64KiB"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub usize);

/// A time in seconds, at most about 30 years.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seconds(pub f64);

impl Seconds {
    /// The same as a duration.
    #[must_use]
    pub fn duration(self) -> Duration {
        Duration::try_from_secs_f64(self.0.clamp(0.0, SECONDS_MAX)).unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Sizes;
        impl Visitor<'_> for Sizes {
            type Value = Size;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of bytes, as 65536 or \"64KiB\"")
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Size, E> {
                usize::try_from(value).map(Size).map_err(|_| E::custom("a size is not negative"))
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Size, E> {
                usize::try_from(value).map(Size).map_err(|_| E::custom("too large"))
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<Size, E> {
                parse_memory(value).map(Size).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Sizes)
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Times;
        impl Visitor<'_> for Times {
            type Value = Seconds;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of seconds above 0, or a duration such as \"5min\"")
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<Seconds, E> {
                let duration = duration::parse(value).map_err(E::custom)?;
                self.visit_f64(duration.as_secs_f64())
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Seconds, E> {
                self.visit_f64(u32::try_from(value).map_or(f64::INFINITY, f64::from))
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Seconds, E> {
                if value > 0.0 && value <= SECONDS_MAX {
                    return Ok(Seconds(value));
                }
                Err(E::custom(format!("a time is above 0 and at most {SECONDS_MAX} seconds")))
            }
        }
        deserializer.deserialize_any(Times)
    }
}

/// Compression of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum CompressionConfig {
    /// None.
    #[default]
    None,
    /// LZ4 frames.
    Lz4,
    /// Zstandard.
    Zstd,
}

impl From<CompressionConfig> for arrowsmith_publish::Compression {
    fn from(config: CompressionConfig) -> Self {
        match config {
            CompressionConfig::None => Self::None,
            CompressionConfig::Lz4 => Self::Lz4,
            CompressionConfig::Zstd => Self::Zstd,
        }
    }
}

/// When data is synced to disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Fsync {
    /// Before anything is acknowledged: outlives a loss of power.
    #[default]
    Always,
    /// Once a second.
    Second,
    /// When the system likes: outlives `kill -9` only.
    Never,
}
