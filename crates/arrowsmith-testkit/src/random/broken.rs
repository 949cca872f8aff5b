// SPDX-License-Identifier: Apache-2.0
//! Mutations of a text: single bytes, truncations, and pieces that are difficult for decoders.

use super::Rng;

/// Texts that are invalid almost everywhere.
const PIECES: &[&[u8]] = &[
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"-",
    b"01",
    b"1.",
    b"1e",
    b"1e400",
    b"-1e-400",
    b".5",
    b"+1",
    b"99999999999999999999999999999999999999999",
    b"-99999999999",
    b"18446744073709551616",
    b"9223372036854775808",
    b"1.0",
    b"1e3",
    b"\"x\"",
    b"\"",
    b"\\",
    b"\\x",
    b"\\u12",
    b"\\ud800",
    b"\\udc00",
    b"\\ud800\\udc0",
    b"\\u0041",
    b"{",
    b"}",
    b"[",
    b"]",
    b"{}",
    b"[]",
    b"[1]",
    b":",
    b",",
    b",,",
    b"null",
    b"true",
    b"false",
    b"nul",
    b"tru",
    b"truex",
    b"\xFF",
    b"\xED\xA0\x80",
    b"\xC3",
    b"\xF4\x90\x80\x80",
    b"\xEF\xBB\xBF",
    b"\0",
    b"\x1F",
    b"\x7F",
    b"\n",
    b"\r",
    b"\r\n",
    b"/* */",
    b"\"a\":1,",
    b"\"\":",
    b"[[[[[[[[",
    b"{\"a\":{\"a\":{\"a\":{\"a\":",
    b"-0",
    b"-1",
    b"\"2020-02-30\"",
    b"\"24:00:00\"",
    b"\"23:59:60\"",
    b"\"0000-01-01\"",
    b"\"P1Y\"",
];

/// Mutates `text` in one place. (It may still be valid.)
pub fn mutate(rng: &mut Rng, text: &mut Vec<u8>) {
    let at = rng.below(text.len() + 1);
    let byte = || *b"\"\\{}[],:0123456789-+.eE \n\r\ttfn\0\x80\xFF".get(at % 33).unwrap_or(&b'x');
    match rng.below(9) {
        0 if at < text.len() => text[at] ^= 1 << rng.below(8),
        1 if at < text.len() => text[at] = byte(),
        2 => text.insert(at, *rng.pick(b"\"\\{}[],:0123456789-+.eE \n\r\ttfn\0\x80\xFF")),
        3 if at < text.len() => {
            text.remove(at);
        }
        4 => text.truncate(at),
        5 => {
            let end = (at + rng.below(8)).min(text.len());
            text.drain(at..end);
        }
        6 => {
            let end = (at + rng.below(40)).min(text.len());
            let again = text[at..end].to_vec();
            text.splice(at..at, again);
        }
        7 => {
            // In place of a whole scalar, if there is one.
            let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
            let len = text[at..].iter().take_while(|byte| is_part(byte)).count();
            text.splice(at..at + len, rng.pick(PIECES).iter().copied());
        }
        _ => {
            text.splice(at..at, rng.pick(PIECES).iter().copied());
        }
    }
}
