// SPDX-License-Identifier: Apache-2.0
//! A hash that is the same in every process, version and platform: what names cached programs,
//! plans and files. It is not for tables, nor against an attacker who looks for collisions.

/// The 64-bit FNV-1a hash of bytes (draft-eastlake-fnv).
///
/// ```
/// assert_eq!(arrowsmith_core::hash::fnv1a(*b"a"), 0xaf63_dc4c_8601_ec8c);
/// ```
#[must_use]
pub fn fnv1a(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
