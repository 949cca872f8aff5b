// SPDX-License-Identifier: Apache-2.0
//! Describes an error: the path of the field at a byte of a record, and the text found there.
//!
//! Paths are not tracked while decoding: after an error, this code walks over the record again,
//! slowly, up to it. Everything before the first error of a record is valid JSON.

use std::fmt::Write;

/// One open container, and which of its values is being read.
enum Frame {
    Object(String),
    Array(usize),
}

/// What the grammar expects next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Value,
    Key,
    Colon,
    /// Comma or closing bracket.
    Comma,
}

/// The path at `offset` of `record`: of the value there, such as `user.tags[3]`; for punctuation
/// and keys that of the object or array around it.
pub(crate) fn path(record: &[u8], offset: usize) -> String {
    let mut frames: Vec<Frame> = Vec::new();
    let mut next = Next::Value;
    let mut pos = 0;
    loop {
        pos = skip_space(record, pos);
        if pos >= offset.min(record.len()) {
            break;
        }
        match record[pos] {
            b'{' => {
                frames.push(Frame::Object(String::new()));
                next = Next::Key;
            }
            b'[' => {
                frames.push(Frame::Array(0));
                next = Next::Value;
            }
            b'}' | b']' => {
                frames.pop();
                next = Next::Comma;
            }
            b':' => next = Next::Value,
            b',' => match frames.last_mut() {
                Some(Frame::Array(index)) => {
                    *index += 1;
                    next = Next::Value;
                }
                _ => next = Next::Key,
            },
            first => {
                let end = match first {
                    b'"' => string_end(record, pos + 1),
                    _ => token_end(record, pos),
                };
                if end > offset {
                    break;
                }
                if next == Next::Key {
                    let text = &record[pos + 1..end - 1];
                    if let Some(Frame::Object(key)) = frames.last_mut() {
                        *key = unescaped(text);
                    }
                    next = Next::Colon;
                } else {
                    next = Next::Comma;
                }
                pos = end;
                continue;
            }
        }
        pos += 1;
    }
    if next != Next::Value {
        frames.pop();
    }
    render(&frames)
}

fn render(frames: &[Frame]) -> String {
    let mut path = String::new();
    for frame in frames {
        // Writing to a string cannot fail.
        let _ = match frame {
            Frame::Object(key) if path.is_empty() => write!(path, "{key}"),
            Frame::Object(key) => write!(path, ".{key}"),
            Frame::Array(index) => write!(path, "[{index}]"),
        };
    }
    path
}

/// Position after the number or literal at `pos`; beyond the record if it is neither.
fn token_end(record: &[u8], pos: usize) -> usize {
    let rest = &record[pos..];
    for word in ["true", "false", "null", "NaN", "Infinity", "-Infinity"] {
        if rest.starts_with(word.as_bytes()) {
            return pos + word.len();
        }
    }
    match arrowsmith_number::scan_number(rest) {
        Ok(shape) => pos + shape.len,
        Err(_) => record.len() + 1,
    }
}

/// Position after the string whose first byte is at `pos`, or the end of the record.
fn string_end(record: &[u8], mut pos: usize) -> usize {
    while pos < record.len() {
        match record[pos] {
            b'"' => return pos + 1,
            b'\\' => pos += 2,
            _ => pos += 1,
        }
    }
    record.len() + 1
}

fn skip_space(record: &[u8], mut pos: usize) -> usize {
    while matches!(record.get(pos), Some(b' ' | b'\t' | b'\r' | b'\n')) {
        pos += 1;
    }
    pos
}

/// The unescaped key; invalid escapes stay unchanged.
fn unescaped(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    if !text.contains('\\') {
        return text.into_owned();
    }
    let mut key = String::new();
    let mut chars = text.chars();
    let mut units: Vec<u16> = Vec::new();
    while let Some(c) = chars.next() {
        let escaped = if c == '\\' { chars.next() } else { None };
        if escaped == Some('u') {
            let digits: String = chars.by_ref().take(4).collect();
            units.push(u16::from_str_radix(&digits, 16).unwrap_or(0xFFFD));
            continue;
        }
        key.push_str(&String::from_utf16_lossy(&units));
        units.clear();
        key.push(match escaped {
            None => c,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some(other) => other,
        });
    }
    key.push_str(&String::from_utf16_lossy(&units));
    key
}

/// A short description of the text at `offset` of `text`.
pub(crate) fn found(text: &[u8], offset: usize) -> String {
    let Some(rest) = text.get(offset..).filter(|rest| !rest.is_empty()) else {
        return "end of input".to_owned();
    };
    let shown = |len: usize| {
        let cut = &rest[..len.min(rest.len()).min(40)];
        let dots = if len > 40 { "…" } else { "" };
        format!("{}{dots}", String::from_utf8_lossy(cut))
    };
    match rest[0] {
        b'"' => {
            let len = string_end(rest, 1).min(rest.len());
            format!("string {}", shown(len))
        }
        b'{' => "object".to_owned(),
        b'[' => "array".to_owned(),
        b'-' | b'0'..=b'9' => {
            let end = rest
                .iter()
                .position(|b| !matches!(b, b'0'..=b'9' | b'.' | b'+' | b'-' | b'e' | b'E'));
            format!("number {}", shown(end.unwrap_or(rest.len())))
        }
        b'a'..=b'z' | b'A'..=b'Z' => {
            let end = rest.iter().position(|b| !b.is_ascii_alphanumeric());
            shown(end.unwrap_or(rest.len()))
        }
        b'\n' => "end of line".to_owned(),
        byte @ (0x21..=0x7e) => format!("'{}'", char::from(byte)),
        byte => format!("byte 0x{byte:02x}"),
    }
}
