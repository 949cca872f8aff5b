// SPDX-License-Identifier: Apache-2.0
//! UTF-8, for programs that have to know which lines of a file are valid before they are read.

use crate::bytes::lent;

/// The number of bytes before the first that is not UTF-8: `text_bytes` if all of them are.
///
/// # Safety
/// `text` is null or points to `text_bytes` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrowsmith_utf8_prefix(text: *const u8, text_bytes: u64) -> u64 {
    // SAFETY: null, or readable bytes, by contract.
    let text = unsafe { lent(text, text_bytes) };
    let valid =
        simdutf8::compat::from_utf8(text).map_or_else(|error| error.valid_up_to(), str::len);
    valid as u64
}
