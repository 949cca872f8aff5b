// SPDX-License-Identifier: Apache-2.0
//! Converts a public JSON file to records, one per line, without changing a value.
//!
//! Values keep their text (a float keeps its seventeen digits), which parsing and printing would
//! not ensure; white space outside strings is removed, and the elements of one array become the
//! records. The files are known to be valid JSON; any other input gives a useless result, but no
//! panic.

/// The text without the white space between its tokens.
pub(crate) fn minify(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut strings = Strings::default();
    for &byte in text {
        let inside = strings.inside(byte);
        if inside || !byte.is_ascii_whitespace() {
            out.push(byte);
        }
    }
    out
}

/// The elements of the first array with the key `key`, in minified text.
pub(crate) fn elements<'a>(minified: &'a [u8], key: &str) -> Vec<&'a [u8]> {
    let opening = format!("\"{key}\":[");
    let found = minified.windows(opening.len()).position(|part| part == opening.as_bytes());
    let Some(array) = found.and_then(|at| minified.get(at + opening.len()..)) else {
        return Vec::new();
    };

    let mut elements = Vec::new();
    let mut strings = Strings::default();
    let mut depth = 0_usize;
    let mut start = 0;
    for (at, &byte) in array.iter().enumerate() {
        if strings.inside(byte) {
            continue;
        }
        match byte {
            b'[' | b'{' => depth += 1,
            b',' if depth == 0 => {
                elements.push(&array[start..at]);
                start = at + 1;
            }
            b']' | b'}' if depth == 0 => {
                if at > start {
                    elements.push(&array[start..at]);
                }
                return elements;
            }
            b']' | b'}' => depth -= 1,
            _ => {}
        }
    }
    Vec::new()
}

/// Tracks where strings begin and end.
#[derive(Default)]
struct Strings {
    open: bool,
    escaped: bool,
}

impl Strings {
    /// Whether this byte belongs to a string, including its quotes.
    fn inside(&mut self, byte: u8) -> bool {
        let was_open = self.open;
        if self.escaped {
            self.escaped = false;
        } else if byte == b'\\' {
            self.escaped = self.open;
        } else if byte == b'"' {
            self.open = !self.open;
        }
        was_open || self.open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minify_keeps_strings_and_numbers_as_they_are() {
        let text = b" { \"a b\" : [ 1.50 , \"x \\\" y\\\\\" ,\n\ttrue ] } \n";
        assert_eq!(minify(text), b"{\"a b\":[1.50,\"x \\\" y\\\\\",true]}");
    }

    #[test]
    fn elements_are_those_of_the_named_array() {
        let text = br#"{"skip":[1],"rows":[{"a":[1,2]},"],[",[3,{"b":4}]],"rest":[5]}"#;
        let found: Vec<&str> =
            elements(text, "rows").into_iter().map(|e| std::str::from_utf8(e).unwrap()).collect();
        assert_eq!(found, ["{\"a\":[1,2]}", "\"],[\"", "[3,{\"b\":4}]"]);
        assert!(elements(br#"{"rows":[]}"#, "rows").is_empty());
        assert!(elements(text, "missing").is_empty());
        assert!(elements(br#"{"rows":[1,2"#, "rows").is_empty());
    }
}
