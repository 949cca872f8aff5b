// SPDX-License-Identifier: Apache-2.0
//! The oracle's hex and base64 (rule 13), a digit at a time.

/// Pairs of hexadecimal digits of either case.
pub(super) fn hex(text: &[u8]) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    text.chunks(2).map(|pair| u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok()).collect()
}

/// One of the two alphabets; complete padding or none; no stray bits in the last digit.
pub(super) fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let padding = text.iter().rev().take_while(|&&byte| byte == b'=').count();
    let digits = &text[..text.len() - padding];
    let rest = digits.len() % 4;
    if rest == 1 || (padding > 0 && !(digits.len() + padding).is_multiple_of(4)) || padding > 2 {
        return None;
    }
    let url = digits.iter().any(|byte| b"-_".contains(byte));
    let mut bits = 0_u32;
    let mut bit_count = 0;
    let mut bytes = Vec::new();
    for &byte in digits {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' if !url => 62,
            b'/' if !url => 63,
            b'-' => 62,
            b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        bit_count += 6;
        if bit_count >= 8 {
            bit_count -= 8;
            bytes.push(u8::try_from(bits >> bit_count).ok()?);
            bits &= (1 << bit_count) - 1;
        }
    }
    (bits == 0).then_some(bytes)
}
