// SPDX-License-Identifier: Apache-2.0
//! Binary values written as hexadecimal or base64 text.
//!
//! Convert stage, for `binary` columns. The text is the whole, unescaped string. Both functions
//! append to the caller's buffer, and leave it unchanged on an error.

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::TextError;

/// Decodes pairs of hexadecimal digits, of either case, and appends the bytes.
///
/// # Errors
/// [`TextError::Syntax`] for an odd length or another byte.
#[inline]
pub fn decode_hex(text: &[u8], out: &mut Vec<u8>) -> Result<(), TextError> {
    let (pairs, rest) = text.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(TextError::Syntax);
    }
    // A nibble above 15 marks an invalid digit; all are checked at once at the end.
    let mut seen = 0;
    let before = out.len();
    out.extend(pairs.iter().map(|&[high, low]| {
        let (high, low) = (NIBBLES[usize::from(high)], NIBBLES[usize::from(low)]);
        seen |= high | low;
        (high << 4) | (low & 15)
    }));
    if seen > 15 {
        out.truncate(before);
        return Err(TextError::Syntax);
    }
    Ok(())
}

const NIBBLES: [u8; 256] = {
    let mut table = [0xF0; 256];
    let mut value = 0;
    while value < 16 {
        let digit = b"0123456789abcdef"[value as usize];
        table[digit as usize] = value;
        table[digit.to_ascii_uppercase() as usize] = value;
        value += 1;
    }
    table
};

/// Decodes base64 and appends the bytes. The alphabet is the standard or the URL-safe one, not both
/// in one text; padding is complete or absent. Unused bits of the last character have to be 0.
///
/// # Errors
/// [`TextError::Syntax`].
#[inline]
pub fn decode_base64(text: &[u8], out: &mut Vec<u8>) -> Result<(), TextError> {
    const BARE: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::RequireNone);
    const PADDED: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::RequireCanonical);
    static ENGINES: [[GeneralPurpose; 2]; 2] = [
        [GeneralPurpose::new(&STANDARD, BARE), GeneralPurpose::new(&STANDARD, PADDED)],
        [GeneralPurpose::new(&URL_SAFE, BARE), GeneralPurpose::new(&URL_SAFE, PADDED)],
    ];

    let url_safe = text.iter().any(|b| matches!(b, b'-' | b'_'));
    let padded = text.ends_with(b"=");
    let before = out.len();
    ENGINES[usize::from(url_safe)][usize::from(padded)].decode_vec(text, out).map_err(|_| {
        out.truncate(before);
        TextError::Syntax
    })
}
