// SPDX-License-Identifier: Apache-2.0
//! Values that arrow-json would write otherwise: JSON text as JSON values instead of strings, and
//! binary as base64 or, by the schema, as hexadecimal, as JSON is read.
//!
//! arrow-json calls a factory for each array, but passes the field of a list or map also for its
//! children. So such columns are told apart by their type: the sink casts them, and no others, to
//! [`JSON`], [`BASE64`] or [`HEX`]. A column from another program with the name `arrow.json` may
//! contain text that is not JSON: it is written as a string, never raw.

use arrow_array::cast::AsArray;
use arrow_array::{Array, BinaryViewArray, LargeBinaryArray};
use arrow_cast::base64::{BASE64_STANDARD, Engine};
use arrow_json::writer::NullableEncoder;
use arrow_json::{Encoder, EncoderFactory, EncoderOptions};
use arrow_schema::{ArrowError, DataType, FieldRef};
use serde::de::IgnoredAny;

/// The type that columns of JSON text are cast to.
pub(super) const JSON: DataType = DataType::BinaryView;
/// That of binary columns.
pub(super) const BASE64: DataType = DataType::LargeBinary;
/// That of binary columns in hexadecimal, which is how arrow-json writes it.
pub(super) const HEX: DataType = DataType::Binary;

/// Creates the encoders of these columns.
#[derive(Debug)]
pub(super) struct Encoders;

impl EncoderFactory for Encoders {
    fn make_default_encoder<'a>(
        &self,
        _field: &'a FieldRef,
        array: &'a dyn Array,
        _options: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        let encoder: Box<dyn Encoder + 'a> = match array.data_type() {
            data_type if *data_type == JSON => Box::new(Raw(array.as_binary_view())),
            data_type if *data_type == BASE64 => Box::new(Base64(array.as_binary())),
            _ => return Ok(None),
        };
        Ok(Some(NullableEncoder::new(encoder, array.nulls().cloned())))
    }
}

struct Base64<'a>(&'a LargeBinaryArray);

impl Encoder for Base64<'_> {
    fn encode(&mut self, idx: usize, out: &mut Vec<u8>) {
        out.push(b'"');
        let bytes = self.0.value(idx);
        let start = out.len();
        // Bounded: four bytes for three of a value that is in memory.
        out.resize(start + bytes.len().div_ceil(3) * 4, 0);
        // The text has just this length.
        let len = BASE64_STANDARD.encode_slice(bytes, &mut out[start..]).unwrap_or_default();
        out.truncate(start + len);
        out.push(b'"');
    }
}

struct Raw<'a>(&'a BinaryViewArray);

impl Encoder for Raw<'_> {
    fn encode(&mut self, idx: usize, out: &mut Vec<u8>) {
        write(self.0.value(idx), out);
    }
}

/// Appends a text as a JSON value on one line; a text that is not JSON as a string.
fn write(text: &[u8], out: &mut Vec<u8>) {
    match serde_json::from_slice::<IgnoredAny>(text) {
        // Line ends inside strings are escaped, so all others are white space.
        Ok(IgnoredAny) if text.iter().any(|byte| matches!(byte, b'\n' | b'\r')) => {
            out.extend(text.iter().filter(|byte| !matches!(byte, b'\n' | b'\r')));
        }
        Ok(IgnoredAny) => out.extend_from_slice(text),
        Err(_) => {
            let start = out.len();
            let text = String::from_utf8_lossy(text);
            // Writing to memory does not fail.
            if serde_json::to_writer(&mut *out, &text).is_err() {
                out.truncate(start);
                out.extend_from_slice(b"null");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        let mut out = Vec::new();
        write(text.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn json_is_written_as_it_is_and_all_else_as_a_string() {
        let deep = "[".repeat(5000) + &"]".repeat(5000);
        for text in
            ["1", "-0.10e+400", "\"a\\n\"", "{\"a\": [null, {}] }", " true ", &deep, "\"\\ud800\""]
        {
            assert_eq!(written(text), text);
        }
        assert_eq!(written("{\n\t\"a\":\r\n1}"), "{\t\"a\":1}");
        for text in [
            "",
            " ",
            "{",
            "1 2",
            "01",
            "NaN",
            "'a'",
            "1}\n{\"b\":2",
            "\"a\nb\"",
            "nul",
            "\u{feff}1",
        ] {
            let read: String = serde_json::from_str(&written(text)).unwrap();
            assert_eq!(read, text);
            assert!(!written(text).contains('\n'));
        }
    }
}
