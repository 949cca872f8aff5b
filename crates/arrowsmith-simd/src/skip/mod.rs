// SPDX-License-Identifier: Apache-2.0
//! Values that no column needs, and values kept as text: their end is found without conversion.
//!
//! [`value`] checks the full grammar of JSON, depth and escapes included, but not UTF-8 and lone
//! surrogates. [`balanced`] only matches brackets outside strings, and is several times as fast.

mod bulk;

use arrowsmith_core::ErrorKind;

use crate::Input;
use crate::isa::{BracketMasks, Isa};
use crate::text::{Fault, hex4};

/// Maximum nesting that [`value`] supports, whatever the limit.
pub const DEPTH_MAX: usize = 4096;

/// How a value is skipped.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Maximum number of open containers inside the value.
    pub depth: usize,
    /// Whether a line feed ends the text (NDJSON) or is white space.
    pub lines: bool,
    /// Whether [`NAN_WORDS`] are values.
    pub nan: bool,
}

/// Position of the first byte from `pos` on that is not white space. With `lines`, a line feed does
/// not count as white space.
#[inline(always)]
pub fn space<I: Isa>(isa: I, input: Input<'_>, mut pos: usize, lines: bool) -> usize {
    loop {
        let byte = input.at(pos);
        if byte > b' ' || (byte == b'\n' && lines) || pos >= input.end() {
            return pos;
        }
        if !lines {
            let rest = isa.not_space(input.window(pos));
            if rest & 1 != 0 {
                return pos;
            }
            pos += rest.trailing_zeros() as usize;
        } else if matches!(byte, b' ' | b'\t' | b'\r') {
            pos += 1;
        } else {
            return pos;
        }
    }
}

/// Skips the string whose first byte after the quote is at `pos`; returns the position after it.
///
/// # Errors
/// `control-character`, `invalid-escape`.
#[inline(always)]
pub fn string<I: Isa>(isa: I, input: Input<'_>, mut pos: usize) -> Result<usize, Fault> {
    loop {
        let window = input.window(pos);
        let stop = isa.string_stop(window);
        let count = stop.trailing_zeros() as usize;
        pos += count;
        if stop == 0 {
            continue;
        }
        match window[count & 63] {
            b'"' => return Ok(pos + 1),
            b'\\' => {}
            _ => return Err(Fault { kind: ErrorKind::ControlCharacter, pos }),
        }
        pos += match input.at(pos + 1) {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
            b'u' if hex4(input, pos + 2).is_some() => 6,
            _ => return Err(Fault { kind: ErrorKind::InvalidEscape, pos }),
        };
    }
}

/// Skips the number at `pos`; `None` if it is malformed.
#[inline(always)]
pub fn number<I: Isa>(isa: I, input: Input<'_>, mut pos: usize) -> Option<usize> {
    pos += usize::from(input.at(pos) == b'-');
    let start = pos;
    pos = digits(isa, input, pos);
    if pos == start || (input.at(start) == b'0' && pos - start > 1) {
        return None;
    }
    if input.at(pos) == b'.' {
        let end = digits(isa, input, pos + 1);
        if end == pos + 1 {
            return None;
        }
        pos = end;
    }
    if input.at(pos) | 0x20 == b'e' {
        pos += 1;
        pos += usize::from(matches!(input.at(pos), b'+' | b'-'));
        let end = digits(isa, input, pos);
        if end == pos {
            return None;
        }
        pos = end;
    }
    // A byte that could continue a number must not follow it.
    (!matches!(input.at(pos), b'.' | b'+' | b'-' | b'e' | b'E' | b'0'..=b'9')).then_some(pos)
}

/// The end of the digits from `pos` on.
#[inline(always)]
fn digits<I: Isa>(isa: I, input: Input<'_>, mut pos: usize) -> usize {
    loop {
        let count = isa.digits(input.window(pos)).trailing_ones() as usize;
        pos += count;
        if count < 64 {
            return pos;
        }
    }
}

/// Skips the literal at `pos`; `None` if it is not spelled `true`, `false` or `null`.
#[inline(always)]
pub fn literal(input: Input<'_>, pos: usize) -> Option<usize> {
    let word = input.word(pos);
    #[expect(clippy::cast_possible_truncation, reason = "the low four bytes are meant")]
    let four = (word as u32).to_le_bytes();
    if four == *b"true" || four == *b"null" {
        Some(pos + 4)
    } else if four == *b"fals" && input.at(pos + 4) == b'e' {
        Some(pos + 5)
    } else {
        None
    }
}

/// Skips the scalar or string at `pos`, which is not a bracket.
#[inline(always)]
fn scalar<I: Isa>(isa: I, input: Input<'_>, pos: usize, rules: Rules) -> Result<usize, Fault> {
    let end = match input.at(pos) {
        b'"' => return string(isa, input, pos + 1),
        b'-' | b'0'..=b'9' => number(isa, input, pos),
        _ => literal(input, pos),
    };
    match end {
        Some(end) => Ok(end),
        None => other_scalar(input, pos, rules),
    }
}

/// The words that Python's `json` writes for values that JSON numbers cannot express.
pub const NAN_WORDS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// Skips a word of [`NAN_WORDS`] at `pos`, if they are accepted; anything else is a syntax error.
#[cold]
#[inline(never)]
fn other_scalar(input: Input<'_>, pos: usize, rules: Rules) -> Result<usize, Fault> {
    if rules.nan {
        for word in NAN_WORDS {
            if input.slice(pos, pos + word.len()) == word.as_bytes() {
                return Ok(pos + word.len());
            }
        }
    }
    Err(match cut_scalar(input, pos, rules.lines, rules.nan) {
        Some(end) => Fault { kind: ErrorKind::Truncated, pos: end },
        None => Fault { kind: ErrorKind::Syntax, pos },
    })
}

/// The end of the text, or with `lines` of the line, if it truncates the number or literal at
/// `pos`, which is valid up to there.
pub fn cut_scalar(input: Input<'_>, pos: usize, lines: bool, nan: bool) -> Option<usize> {
    let rest = input.text().get(pos..)?;
    let len = if lines { rest.iter().position(|b| *b == b'\n') } else { None };
    let rest = &rest[..len.unwrap_or(rest.len())];
    let begins = |word: &&str| word.len() > rest.len() && word.as_bytes().starts_with(rest);
    let words = ["true", "false", "null"];
    let cut = words.iter().any(begins) || (nan && NAN_WORDS.iter().any(begins));
    (cut || begins_number(rest)).then_some(pos + rest.len())
}

/// Whether `text` is the start of a number, but not a complete one.
fn begins_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|b| b.is_ascii_digit()).count();
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let integer = digits(text);
    if integer == 0 {
        return text.is_empty();
    }
    let mut rest = &text[integer..];
    if text[0] == b'0' && integer > 1 {
        return false;
    }
    if let Some(fraction) = rest.strip_prefix(b".") {
        let count = digits(fraction);
        if count == 0 {
            return fraction.is_empty();
        }
        rest = &fraction[count..];
    }
    matches!(rest, [b'e' | b'E'] | [b'e' | b'E', b'+' | b'-'])
}

/// Skips the value whose first byte is at `pos`, checking all of JSON's grammar; returns the
/// position after it.
///
/// # Errors
/// The first error in the text: `syntax`, `control-character`, `invalid-escape`, `depth-exceeded`.
#[inline(always)]
pub fn value<I: Isa>(isa: I, input: Input<'_>, pos: usize, rules: Rules) -> Result<usize, Fault> {
    if !matches!(input.at(pos), b'{' | b'[') {
        return scalar(isa, input, pos, rules);
    }
    if I::BULK_SKIP
        && let Some(end) = bulk::container(isa, input, pos, rules)
    {
        return Ok(end);
    }
    walk(isa, input, pos, rules)
}

/// Whether the first `len` bytes of a window are a usual value: a string without escapes, a number
/// without exponent, a literal, or a list of natural numbers without white space. There is no
/// branch on which of them. Others are left to [`value`].
#[inline(always)]
pub fn is_usual<I: Isa>(isa: I, window: &[u8; 64], len: usize) -> bool {
    let byte = |at: usize| window[at & 63];
    let digits = isa.digits(window);
    let first = byte(0);
    let last = byte(len.wrapping_sub(1));

    let stops = isa.string_stop(window) & !1;
    let string = (first == b'"') & (stops.trailing_zeros() as usize == len.wrapping_sub(1));
    let string = string & (last == b'"');

    let minus = usize::from(first == b'-');
    let whole = (digits >> minus).trailing_ones() as usize;
    let point = minus + whole;
    let places = (digits >> ((point + 1) & 63)).trailing_ones() as usize;
    let fraction = (byte(point) == b'.') & (places > 0);
    let end = point + if fraction { 1 + places } else { 0 };
    let number = (whole > 0) & ((whole == 1) | (byte(minus) != b'0')) & (end == len);

    let word = window.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let four = word & 0xFFFF_FFFF;
    let truth = four == u64::from(u32::from_le_bytes(*b"true"));
    let null = four == u64::from(u32::from_le_bytes(*b"null"));
    let lie = word & 0xFF_FFFF_FFFF == u64::from_le_bytes(*b"false\0\0\0");
    let literal = ((truth | null) & (len == 4)) | (lie & (len == 5));

    let list = is_list(isa, window, len);
    (len <= 64) & (string | number | literal | list)
}

/// Whether the first `len` bytes of a window are a list of natural numbers without white space.
#[inline(always)]
fn is_list<I: Isa>(isa: I, window: &[u8; 64], len: usize) -> bool {
    let digits = isa.digits(window);
    // The bytes between the brackets.
    let inner = u64::MAX >> (66_usize.wrapping_sub(len) & 63) << 1;
    let commas = isa.equal_to(window, b',');
    let starts = digits & !(digits << 1);
    let zeros = isa.equal_to(window, b'0') & starts & (digits >> 1);
    let mut odd = !(digits | commas) & inner;
    // A number follows the bracket and each comma.
    odd |= ((commas & inner) << 1 | 2) & !starts;
    odd |= zeros & inner;
    let last = window[len.wrapping_sub(1) & 63];
    (window[0] == b'[') & (last == b']') & ((len == 2) | (odd == 0))
}

/// The length of the value at the start of a window, if it ends in it and is a string without
/// escapes, or a list of natural numbers without white space.
#[inline(always)]
pub fn short<I: Isa>(isa: I, window: &[u8; 64]) -> Option<usize> {
    if window[0] == b'"' {
        let stops = isa.string_stop(window) & !1;
        let end = stops.trailing_zeros() as usize;
        return (stops != 0 && window[end & 63] == b'"').then_some(end + 1);
    }
    let close = isa.equal_to(window, b']');
    let len = close.trailing_zeros() as usize + 1;
    (close != 0 && is_list(isa, window, len)).then_some(len)
}

/// As [`value`], token by token.
#[inline(always)]
fn walk<I: Isa>(isa: I, input: Input<'_>, mut pos: usize, rules: Rules) -> Result<usize, Fault> {
    // One bit per level: whether it is an object. The innermost is bit `depth - 1`.
    let mut objects = [0_u64; DEPTH_MAX / 64];
    let mut depth = 0;
    let depth_max = rules.depth.min(DEPTH_MAX);
    let syntax = |pos| Err(Fault { kind: ErrorKind::Syntax, pos });
    loop {
        // A value starts at `pos`.
        let first = input.at(pos);
        if first == b'{' || first == b'[' {
            if depth == depth_max {
                return Err(Fault { kind: ErrorKind::DepthExceeded, pos });
            }
            let bit = 1 << (depth % 64);
            let object = first == b'{';
            objects[depth / 64] &= !bit;
            objects[depth / 64] |= if object { bit } else { 0 };
            depth += 1;
            pos = space(isa, input, pos + 1, rules.lines);
            if input.at(pos) == first + 2 {
                depth -= 1;
                pos += 1;
            } else if object {
                pos = key(isa, input, pos, rules)?;
                continue;
            } else {
                continue;
            }
        } else {
            pos = scalar(isa, input, pos, rules)?;
        }
        // A value ended before `pos`.
        loop {
            if depth == 0 {
                return Ok(pos);
            }
            let object = objects[(depth - 1) / 64] >> ((depth - 1) % 64) & 1 != 0;
            pos = space(isa, input, pos, rules.lines);
            match input.at(pos) {
                b',' => {
                    pos = space(isa, input, pos + 1, rules.lines);
                    if object {
                        pos = key(isa, input, pos, rules)?;
                    }
                    break;
                }
                b'}' if object => {}
                b']' if !object => {}
                _ => return syntax(pos),
            }
            depth -= 1;
            pos += 1;
        }
    }
}

/// Skips a key and its colon; returns the position of the value.
#[inline(always)]
fn key<I: Isa>(isa: I, input: Input<'_>, pos: usize, rules: Rules) -> Result<usize, Fault> {
    if input.at(pos) != b'"' {
        return Err(Fault { kind: ErrorKind::Syntax, pos });
    }
    let pos = string(isa, input, pos + 1)?;
    let pos = space(isa, input, pos, rules.lines);
    if input.at(pos) != b':' {
        return Err(Fault { kind: ErrorKind::Syntax, pos });
    }
    Ok(space(isa, input, pos + 1, rules.lines))
}

/// A mask of the escaped bytes: those after an active backslash. `carry` is whether the first byte
/// of the window is escaped, and is set for the next window.
#[inline(always)]
pub fn escaped(backslash: u64, carry: &mut bool) -> u64 {
    if backslash == 0 {
        return u64::from(std::mem::take(carry));
    }
    // Backslashes that are not escaped themselves start runs; runs of odd length escape what
    // follows.
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let backslash = backslash & !u64::from(*carry);
    let follows = backslash << 1 | u64::from(*carry);
    let odd_starts = backslash & !EVEN & !follows;
    let (even_series, overflow) = odd_starts.overflowing_add(backslash);
    *carry = overflow;
    (EVEN ^ (even_series << 1)) & follows
}

/// Skips the container whose bracket is at `pos` by matching brackets outside strings only; returns
/// the position after it. For trusted text, and to find the end of an invalid record.
///
/// # Errors
/// `truncated`, at the end of the text.
#[inline(always)]
pub fn balanced<I: Isa>(isa: I, input: Input<'_>, pos: usize) -> Result<usize, Fault> {
    let mut depth = 0_usize;
    let mut at = pos;
    let mut escape = false;
    let mut inside = 0_u64;
    while at < input.end() {
        let BracketMasks { quote, backslash, open, close } = isa.bracket_masks(input.window(at));
        let quote = quote & !escaped(backslash, &mut escape);
        let strings = isa.prefix_xor(quote) ^ inside;
        inside = if strings >> 63 != 0 { u64::MAX } else { 0 };
        let (open, mut close) = (open & !strings, close & !strings);
        let closing = close.count_ones() as usize;
        if closing < depth {
            depth = depth + open.count_ones() as usize - closing;
        } else {
            let mut closed = 0;
            while close != 0 {
                let bit = close & close.wrapping_neg();
                let opened = (open & (bit - 1)).count_ones() as usize;
                closed += 1;
                if depth + opened <= closed {
                    let end = at + bit.trailing_zeros() as usize + 1;
                    return if end <= input.end() { Ok(end) } else { break };
                }
                close &= close - 1;
            }
            depth = depth + open.count_ones() as usize - closed;
        }
        at += 64;
    }
    Err(Fault { kind: ErrorKind::Truncated, pos: input.end() })
}
