// SPDX-License-Identifier: Apache-2.0
//! Avro object container files, as they are written for manifests: one block, not compressed. By
//! the [specification](https://avro.apache.org/docs/1.12.0/specification/).

use serde_json::Value;

use crate::table::random;

/// Records as they are encoded.
#[derive(Debug, Default)]
pub(super) struct Encoder(pub(super) Vec<u8>);

impl Encoder {
    /// A number of variable length, in zigzag form.
    pub(super) fn long(&mut self, number: i64) {
        let mut left = ((number << 1) ^ (number >> 63)).cast_unsigned();
        while left > 0x7F {
            self.0.push((left & 0x7F) as u8 | 0x80);
            left >>= 7;
        }
        self.0.push((left & 0x7F) as u8);
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.long(bytes.len() as i64);
        self.0.extend_from_slice(bytes);
    }

    /// The null of a union of null and another type.
    pub(super) fn null(&mut self) {
        self.long(0);
    }

    /// What follows is the other type of such a union.
    pub(super) fn some(&mut self) {
        self.long(1);
    }

    /// The elements of an array.
    pub(super) fn array<T>(
        &mut self,
        elements: impl ExactSizeIterator<Item = T>,
        mut each: impl FnMut(&mut Self, T),
    ) {
        if elements.len() > 0 {
            self.long(elements.len() as i64);
            elements.for_each(|element| each(self, element));
        }
        self.long(0);
    }
}

/// A file with this schema, these entries of metadata, and `count` records.
pub(super) fn file(
    schema: &Value,
    entries: &[(&str, &str)],
    count: i64,
    records: &[u8],
) -> Vec<u8> {
    let schema = schema.to_string();
    let own = [("avro.schema", schema.as_str()), ("avro.codec", "null")];
    let mut file = Encoder(b"Obj\x01".to_vec());
    let entries = [&own[..], entries].concat();
    file.array(entries.iter(), |file, (key, value)| {
        file.bytes(key.as_bytes());
        file.bytes(value.as_bytes());
    });
    let sync = [random().to_le_bytes(), random().to_le_bytes()].concat();
    file.0.extend_from_slice(&sync);
    if count > 0 {
        file.long(count);
        file.bytes(records);
        file.0.extend_from_slice(&sync);
    }
    file.0
}
