// SPDX-License-Identifier: Apache-2.0
//! Shared by the tests: slow reference implementations that are obviously correct.

use arrowsmith_number::NumberError;

/// Length of the JSON number that `input` starts with, byte by byte; `None` if it is malformed or
/// the byte after it makes it so.
pub fn number_len(input: &[u8]) -> Option<usize> {
    let digits = |at: usize| input[at..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut at = usize::from(input.first() == Some(&b'-'));
    let integer = digits(at);
    if integer == 0 || (integer > 1 && input[at] == b'0') {
        return None;
    }
    at += integer;
    if input.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        if fraction == 0 {
            return None;
        }
        at += 1 + fraction;
    }
    if matches!(input.get(at), Some(b'e' | b'E')) {
        at += 1;
        if matches!(input.get(at), Some(b'+' | b'-')) {
            at += 1;
        }
        let exponent = digits(at);
        if exponent == 0 {
            return None;
        }
        at += exponent;
    }
    let next = input.get(at).copied().unwrap_or(b' ');
    (!b"0123456789.eE+-".contains(&next)).then_some(at)
}

/// A float parsed by the standard library from the text of the number.
pub fn std_float<F: std::str::FromStr>(
    input: &[u8],
    is_infinite: impl Fn(&F) -> bool,
) -> Result<(F, usize), NumberError> {
    let len = number_len(input).ok_or(NumberError::Syntax)?;
    let text = std::str::from_utf8(&input[..len]).unwrap();
    let value: F = text.parse().ok().unwrap();
    if is_infinite(&value) { Err(NumberError::Range) } else { Ok((value, len)) }
}

/// The number in the three contexts with different code paths: at the end of the input, close to
/// the end, and with much text after it.
pub fn surroundings(text: &str) -> [Vec<u8>; 3] {
    ["".to_owned(), ",12345".to_owned(), format!("]{}", "7".repeat(80))]
        .map(|behind| format!("{text}{behind}").into_bytes())
}
