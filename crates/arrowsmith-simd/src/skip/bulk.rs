// SPDX-License-Identifier: Apache-2.0
//! Skips an object or array 64 bytes at a time, and still checks all of JSON's grammar.
//!
//! ```text
//! for each window:
//!   masks of quotes, strings, punctuation, white space; the rest are numbers and literals
//!   check control characters and escapes in strings, by masks
//!   tokens: punctuation and the starts of strings, numbers and literals; gather them to the low
//!     bits, so that the previous token is a shift by one
//!   brackets one by one: a stack of bits, and for every token whether it is in an object
//!   check which token may follow which: masks, for all tokens at once
//!   check numbers and literals one by one, independently of each other
//! ```
//! No error is classified here: for anything that is not clearly valid the result is `None`, and
//! the scalar code determines the error. The same applies to nesting deeper than 64 levels.

use crate::Input;
use crate::isa::{BracketMasks, Isa};

use super::{Rules, escaped, literal, number};

/// One bit for each token of a window, or the last token of the previous window in bit 0.
#[derive(Debug, Clone, Copy, Default)]
struct Tokens {
    /// `{` and `}`.
    curly: [u64; 2],
    /// `[` and `]`.
    square: [u64; 2],
    comma: u64,
    colon: u64,
    /// Strings that are values, numbers and literals.
    scalar: u64,
    /// Strings that are keys.
    key: u64,
    /// Whether the innermost container that is open after the token is an object.
    object: u64,
}

impl Tokens {
    /// The token before each; `last` is the one before the first.
    #[inline(always)]
    fn before(self, last: Self) -> Self {
        Self {
            curly: [self.curly[0] << 1 | last.curly[0], self.curly[1] << 1 | last.curly[1]],
            square: [self.square[0] << 1 | last.square[0], self.square[1] << 1 | last.square[1]],
            comma: self.comma << 1 | last.comma,
            colon: self.colon << 1 | last.colon,
            scalar: self.scalar << 1 | last.scalar,
            key: self.key << 1 | last.key,
            object: self.object << 1 | last.object,
        }
    }

    /// The token of number `at`, in bit 0.
    #[inline(always)]
    fn only(self, at: u32) -> Self {
        Self {
            curly: [self.curly[0] >> at & 1, self.curly[1] >> at & 1],
            square: [self.square[0] >> at & 1, self.square[1] >> at & 1],
            comma: self.comma >> at & 1,
            colon: self.colon >> at & 1,
            scalar: self.scalar >> at & 1,
            key: self.key >> at & 1,
            object: self.object >> at & 1,
        }
    }
}

/// The containers that are open, innermost in the lowest bit: whether each is an object.
#[derive(Debug, Clone, Copy)]
struct Stack {
    objects: u64,
    depth: usize,
    depth_max: usize,
}

/// State carried from one window to the next.
#[derive(Debug, Clone, Copy)]
struct Carry {
    /// All ones inside a string.
    string: u64,
    escape: bool,
    /// The low bits of the next window that have to be hexadecimal digits.
    hex: u64,
    /// Whether the window ended in a number or literal.
    scalar: u64,
    last: Tokens,
}

/// The position after the container whose bracket is at `pos`, if it is valid JSON.
#[inline(always)]
pub(super) fn container<I: Isa>(
    isa: I,
    input: Input<'_>,
    pos: usize,
    rules: Rules,
) -> Option<usize> {
    let mut stack = Stack { objects: 0, depth: 0, depth_max: rules.depth.min(64) };
    let mut carry = Carry { string: 0, escape: false, hex: 0, scalar: 0, last: Tokens::default() };
    let mut at = pos;
    while at < input.end() {
        match window(isa, input, at, rules, &mut stack, &mut carry)? {
            0 => at += 64,
            len => return (at + len <= input.end()).then_some(at + len),
        }
    }
    None
}

/// Checks one window; returns the number of bytes up to the end of the container, 0 if it
/// continues.
#[inline(always)]
fn window<I: Isa>(
    isa: I,
    input: Input<'_>,
    at: usize,
    rules: Rules,
    stack: &mut Stack,
    carry: &mut Carry,
) -> Option<usize> {
    let bytes = input.window(at);
    let BracketMasks { quote, backslash, open, close } = isa.bracket_masks(bytes);
    let stop = isa.string_stop(bytes);
    let escapes = escaped(backslash, &mut carry.escape);
    let quotes = quote & !escapes;
    let strings = isa.prefix_xor(quotes) ^ carry.string;
    let bare = !(strings | quotes);
    let (open, close) = (open & bare, close & bare);
    let comma = isa.equal_to(bytes, b',') & bare;
    let colon = isa.equal_to(bytes, b':') & bare;
    let solid = isa.not_space(bytes);
    let words = bare & solid & !(open | close | comma | colon);
    let starts = words & !(words << 1 | carry.scalar);
    let tokens = open | close | comma | colon | (quotes & strings) | starts;

    let gather = |bits: u64| isa.gather_bits(bits, tokens);
    let curly = isa.equal_to(bytes, b'{') | isa.equal_to(bytes, b'}');
    let (opens, closes, curly) = (gather(open), gather(close), gather(curly));
    let strings_at = gather(quotes & strings);
    let mut found = Tokens {
        curly: [opens & curly, closes & curly],
        square: [opens & !curly, closes & !curly],
        comma: gather(comma),
        colon: gather(colon),
        scalar: gather(starts),
        key: 0,
        object: 0,
    };
    let (object, end) = brackets(stack, opens, closes, curly, carry.last.object)?;
    found.object = object;

    // The tokens, and the bytes, up to the end.
    let (used, bytes_used) = match end {
        Some(token) => {
            let last = isa.scatter_bits(1 << token, tokens);
            (u64::MAX >> (63 - token), last | (last - 1))
        }
        None => {
            let count = tokens.count_ones();
            (if count == 0 { 0 } else { u64::MAX >> (64 - count) }, u64::MAX)
        }
    };

    // A string after `{`, or after a comma of an object, is a key.
    let before = found.before(carry.last);
    found.key = strings_at & (before.curly[0] | (before.comma & before.object));
    found.scalar |= strings_at & !found.key;
    let keys_before = found.key << 1 | carry.last.key;
    let ended = (found.scalar << 1 | carry.last.scalar) | before.curly[1] | before.square[1];
    let value = found.scalar | opens;
    let mut wrong = ended & !(found.comma | closes);
    wrong |= found.colon ^ keys_before;
    wrong |= before.colon & !value;
    wrong |= before.curly[0] & !(found.key | found.curly[1]);
    wrong |= before.square[0] & !(value | found.square[1]);
    wrong |= before.comma & before.object & !found.key;
    wrong |= before.comma & !before.object & !value;
    let mut faults = wrong & used;

    // Inside strings: no control characters, and no escapes but those of JSON.
    faults |= stop & !quote & !backslash & strings & bytes_used;
    if (escapes | carry.hex) != 0 {
        faults |= wrong_escapes(isa, bytes, escapes & strings, &mut carry.hex) & bytes_used;
    }
    if rules.lines {
        faults |= isa.equal_to(bytes, b'\n') & bytes_used;
    }
    if faults != 0 {
        return None;
    }

    let mut rest = starts & bytes_used;
    if rest != 0 {
        rest &= !plain_words(isa, bytes, words, starts, carry.scalar, bytes_used);
    }
    while rest != 0 {
        let from = at + rest.trailing_zeros() as usize;
        let end = match input.at(from) {
            b'-' | b'0'..=b'9' => number(isa, input, from)?,
            _ => literal(input, from)?,
        };
        let after = input.at(end);
        if !matches!(after, b',' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t') {
            return None;
        }
        rest &= rest - 1;
    }

    if end.is_some() {
        return Some(bytes_used.count_ones() as usize);
    }
    carry.string = if strings >> 63 != 0 { u64::MAX } else { 0 };
    carry.scalar = words >> 63;
    if let Some(last) = tokens.count_ones().checked_sub(1) {
        carry.last = found.only(last);
    }
    Some(0)
}

/// Tracks the brackets: returns which tokens are in an object, and the token that ends the
/// container.
#[inline(always)]
fn brackets(
    stack: &mut Stack,
    opens: u64,
    closes: u64,
    curly: u64,
    object: u64,
) -> Option<(u64, Option<u32>)> {
    let mut objects = if object == 0 { 0 } else { u64::MAX };
    let mut rest = opens | closes;
    while rest != 0 {
        let token = rest.trailing_zeros();
        let is_object = curly >> token & 1;
        if opens >> token & 1 != 0 {
            if stack.depth >= stack.depth_max {
                return None;
            }
            stack.objects = stack.objects << 1 | is_object;
            stack.depth += 1;
        } else {
            if stack.objects & 1 != is_object {
                return None;
            }
            stack.objects >>= 1;
            stack.depth = stack.depth.checked_sub(1)?;
            if stack.depth == 0 {
                return Some((objects, Some(token)));
            }
        }
        let inside = if stack.objects & 1 == 0 { 0 } else { u64::MAX };
        objects ^= (objects ^ inside) & (u64::MAX << token);
        rest &= rest - 1;
    }
    Some((objects, None))
}

/// The starts of numbers and literals that need no further check: all that end in the window, if
/// they are plain integers, `true`, `false` and `null`; else none. `scalar` is whether the window
/// starts inside one, which was checked before.
#[inline(always)]
fn plain_words<I: Isa>(
    isa: I,
    bytes: &[u8; 64],
    words: u64,
    starts: u64,
    scalar: u64,
    used: u64,
) -> u64 {
    let is = |byte: u8| isa.equal_to(bytes, byte);
    let (u, l, e) = (is(b'u'), is(b'l'), is(b'e'));
    let four = starts
        & ((is(b'n') & u >> 1 & l >> 2 & l >> 3) | (is(b't') & is(b'r') >> 1 & u >> 2 & e >> 3));
    let five = starts & is(b'f') & is(b'a') >> 1 & l >> 2 & is(b's') >> 3 & e >> 4;
    let either = four | five;
    let literals = either | either << 1 | either << 2 | either << 3 | five << 4;

    let digits = isa.digits(bytes) & words;
    let minus = is(b'-') & starts;
    let first_digits = digits & (starts | minus << 1);
    let mut wrong = words & !(digits | literals | minus);
    wrong |= (four << 4 | five << 5) & words;
    wrong |= (is(b'0') & first_digits) << 1 & digits;
    wrong |= minus << 1 & !digits;

    // The scalar that the window starts in, and the one that it ends in.
    let first = if scalar != 0 { words & !words.wrapping_add(1) } else { 0 };
    let last_start = if words >> 63 != 0 { 63 - starts.leading_zeros().min(63) } else { 64 };
    let last = u64::MAX.checked_shl(last_start).unwrap_or(0);
    if wrong & !first & !last & used == 0 { starts & !last } else { 0 }
}

/// A mask of escapes that JSON does not have, and of bytes that should be hexadecimal digits but
/// are not.
#[inline(always)]
fn wrong_escapes<I: Isa>(isa: I, bytes: &[u8; 64], escapes: u64, hex: &mut u64) -> u64 {
    let unicode = isa.equal_to(bytes, b'u') & escapes;
    let mut simple = 0;
    for byte in *b"\"\\/bfnrt" {
        simple |= isa.equal_to(bytes, byte);
    }
    let mut wrong = escapes & !(simple | unicode);
    let wanted = unicode << 1 | unicode << 2 | unicode << 3 | unicode << 4 | *hex;
    *hex = unicode >> 63 | unicode >> 62 | unicode >> 61 | unicode >> 60;
    if wanted != 0 {
        let mut digits = 0;
        for (i, byte) in bytes.iter().enumerate() {
            digits |= u64::from(byte.is_ascii_hexdigit()) << i;
        }
        wrong |= wanted & !digits;
    }
    wrong
}
