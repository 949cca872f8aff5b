// SPDX-License-Identifier: Apache-2.0
//! Keys as they are compared.

use std::borrow::Cow;

use arrowsmith_core::PADDING_BYTES;
use arrowsmith_simd::{Input, text::unescape};

/// A key of this text, which is between the quotes; `None` if it is not Unicode.
pub(crate) fn unescaped(text: &[u8]) -> Option<Cow<'_, str>> {
    if !text.contains(&b'\\') {
        return std::str::from_utf8(text).ok().map(Cow::Borrowed);
    }
    let padded = [text, &[0; PADDING_BYTES]].concat();
    let input = Input::new(&padded, text.len())?;
    let (mut key, mut at) = (String::with_capacity(text.len()), 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let plain = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
        key.push_str(std::str::from_utf8(rest.get(..plain)?).ok()?);
        at += plain;
        if at < text.len() {
            let (character, end) = unescape(input, at).ok()?;
            key.push(character);
            at = end;
        }
    }
    Some(Cow::Owned(key))
}
