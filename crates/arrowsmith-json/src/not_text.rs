// SPDX-License-Identifier: Apache-2.0
//! Keys that no column can have, because they are not Unicode text. A record with one cannot be
//! kept as a whole, whatever its schema.

use std::fmt::Write;
use std::ops::Range;

use crate::cursor::Cursor;
use crate::key::unescaped;

/// Where the first key of a record that is not text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyNotText {
    /// The bytes of the key in the record, with its quotes.
    pub range: Range<usize>,
    /// The path of the object that has it; empty for the record itself.
    pub path: String,
}

/// A container that is open, and which of its values is read.
enum Open<'a> {
    Object(&'a [u8]),
    List(usize),
}

/// Finds the first key that is not text in a record that is valid JSON otherwise; `None` if there
/// is none, or the text before it is not JSON.
pub fn key_not_text(record: &[u8]) -> Option<KeyNotText> {
    // Not recursive: only `depth_max`, which users set, bounds how deep records are.
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut cursor = Cursor { text: record, at: 0 };
    loop {
        match cursor.peek()? {
            b'{' => open.push(Open::Object(b"")),
            b'[' => open.push(Open::List(0)),
            b'}' | b']' => {
                open.pop()?;
            }
            b',' => {
                if let Open::List(index) = open.last_mut()? {
                    *index += 1;
                }
            }
            _ => {
                let start = cursor.at;
                cursor.skip()?;
                let range = start..cursor.at;
                let value = record.get(range.clone())?;
                // A word that does not end where one can, such as a colon without a key.
                if value.is_empty() {
                    return None;
                }
                if let Some(Open::Object(key)) = open.last_mut()
                    && cursor.peek() == Some(b':')
                {
                    cursor.at += 1;
                    *key = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
                    if unescaped(key).is_none() {
                        open.pop();
                        return Some(KeyNotText { range, path: path(&open) });
                    }
                }
                continue;
            }
        }
        cursor.at += 1;
    }
}

fn path(open: &[Open<'_>]) -> String {
    let mut path = String::new();
    for container in open {
        // Writing to a string cannot fail.
        let _ = match container {
            Open::Object(key) => {
                let dot = if path.is_empty() { "" } else { "." };
                write!(path, "{dot}{}", unescaped(key).unwrap_or_default())
            }
            Open::List(index) => write!(path, "[{index}]"),
        };
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(record: &[u8]) -> Option<(usize, usize, String)> {
        key_not_text(record).map(|found| (found.range.start, found.range.end, found.path))
    }

    #[test]
    fn the_first_one_is_found_at_any_depth() {
        assert_eq!(found(b"{\"a\":\"\xff\",\"b\":[1,{}]}"), None);
        assert_eq!(found(b" {\"a\": 1 , \"\xff\" : 2,\"\xfe\":3}"), Some((11, 14, String::new())));
        let nested = b"{\"a\":{\"x\":{}},\"b\\u0041\":[0,[{\"c\":1},{\"\\ud800\":[]}]]}";
        assert_eq!(found(nested), Some((37, 45, "bA[1][1]".to_owned())));
        assert_eq!(found(b"[[{\"\\ud83d\\ude00\":{\"\\udc00\":1}}]]").unwrap().2, "[0][0].😀");
    }

    #[test]
    fn depth_needs_no_stack_and_what_is_no_json_ends() {
        let deep = [b"{\"a\":[".repeat(200_000), b"{\"\xff\":1}".to_vec()].concat();
        assert_eq!(found(&deep).unwrap().0, 200_000 * 6 + 1);
        for text in [&b""[..], b":", b"{:", b"{\"a", b"}", b",", b"{\"a\" 1}", b"\xff", b"nul"] {
            assert_eq!(found(text), None);
        }
    }
}
