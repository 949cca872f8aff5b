// SPDX-License-Identifier: Apache-2.0
//! The Arrow schema that a writer has put into the file's metadata, for types that Parquet has no name for.

use std::collections::HashMap;

use arrow_ipc::convert::fb_to_schema;
use arrow_schema::Schema;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use parquet::file::metadata::FileMetaData;

/// The key of the schema.
const ARROW_SCHEMA_KEY: &str = "ARROW:schema";

/// The file's key-value metadata without the Arrow schema, and that schema. One that cannot be read is left
/// out: it is advice, and the Parquet schema says all that is needed.
pub(super) fn metadata(file: &FileMetaData) -> (HashMap<String, String>, Option<Schema>) {
    let mut metadata = HashMap::new();
    let mut hint = None;
    for pair in file.key_value_metadata().into_iter().flatten() {
        match &pair.value {
            Some(value) if pair.key == ARROW_SCHEMA_KEY => hint = decode(value),
            Some(value) => {
                metadata.insert(pair.key.clone(), value.clone());
            }
            None => {}
        }
    }
    if let Some(schema) = &hint {
        for (key, value) in schema.metadata() {
            metadata.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    (metadata, hint)
}

fn decode(value: &str) -> Option<Schema> {
    let bytes = BASE64_STANDARD.decode(value).ok()?;
    // The message stands behind a marker and its length, unless the writer is an old one.
    let message = match bytes.get(..4) {
        Some([0xff, 0xff, 0xff, 0xff]) => bytes.get(8..)?,
        _ => &bytes,
    };
    let schema = arrow_ipc::root_as_message(message).ok()?.header_as_schema()?;
    Some(fb_to_schema(schema))
}
