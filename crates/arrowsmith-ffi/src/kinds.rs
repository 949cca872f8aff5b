// SPDX-License-Identifier: Apache-2.0
//! The kinds of values in lines of JSON, for programs that choose types by rules of their own.

use std::fmt::Write;

use arrowsmith_json::kinds::Kinds;

use crate::bytes::{buffer_of, lent};
use crate::error::{ErrorInfo, guarded};

/// The kinds of values at every place of the records of some lines, one record per line, as JSON
/// text in a buffer of [`arrowsmith_buffer_new`](crate::arrowsmith_buffer_new), whose length is
/// written to `*bytes`: `{"read":…,"left":[…],"kinds":{…}}`. `read` is the number of bytes read:
/// fewer than there are if many lines are left; `left` has the positions of lines that have no part
/// in it; `kinds` is what [`arrowsmith_json::kinds`] describes. Null is failure.
///
/// # Safety
/// `lines` is null or points to `lines_bytes` readable bytes; `bytes` is valid for writing; `error`
/// is null or valid for writing a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arrowsmith_json_kinds(
    lines: *const u8,
    lines_bytes: u64,
    bytes: *mut u64,
    error: *mut *mut ErrorInfo,
) -> *mut u8 {
    let work = || {
        // SAFETY: null, or readable bytes, by contract.
        let lines = unsafe { lent(lines, lines_bytes) };
        let mut kinds = Kinds::default();
        let mut text = format!("{{\"read\":{},\"left\":[", kinds.observe(lines)?);
        for (number, line) in kinds.left().iter().enumerate() {
            let _ = write!(text, "{}{line}", if number > 0 { "," } else { "" });
        }
        let _ = write!(text, "],\"kinds\":{kinds}}}");
        // SAFETY: `bytes` is valid for writing, by contract.
        unsafe { buffer_of(text.as_bytes(), bytes) }
    };
    // SAFETY: `error` is null or valid for writing, by contract.
    unsafe { guarded(error, std::ptr::null_mut(), work) }
}
