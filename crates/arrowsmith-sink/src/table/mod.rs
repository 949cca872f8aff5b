// SPDX-License-Identifier: Apache-2.0
//! What writing the tables of [`delta`](crate::delta) and [`iceberg`](crate::iceberg) has in
//! common: where a table is, the files that a sink adds to it, and their statistics. What makes
//! files part of a table is the format's business.

mod columns;
mod files;
mod place;
mod statistics;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) use self::columns::{Columns, Conversion};
pub use self::files::FilesOf;
pub(crate) use self::files::{Added, File, lock};
pub(crate) use self::place::{Failed, create_once};
pub use self::place::{LocalPlace, Place};
pub(crate) use self::statistics::{Bound, Column, Statistics, lower_text, upper_text};

/// How often the number of a commit is tried that others take at the same time.
pub(crate) const TRIES_MAX: usize = 1000;

/// Milliseconds since 1970.
pub(crate) fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

/// 64 random bits: hash maps of the standard library have random keys.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A random UUID.
pub(crate) fn identifier() -> String {
    let bits = (u128::from(random()) << 64) | u128::from(random());
    let bits = bits & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let digits = format!("{bits:032x}");
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| digits.get(part));
    parts.into_iter().flatten().collect::<Vec<_>>().join("-")
}
