// SPDX-License-Identifier: Apache-2.0
//! Loads schemas from a text, an Arrow IPC file, stream or schema message, or a Parquet file.
//!
//! The format is detected from the first bytes, not from the name. Only the schema is read: the
//! data after it may be of any size, or invalid. Any bytes give a schema or an error.

mod ipc;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use arrow_schema::Schema;
use arrowsmith_core::{Error, Result};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use parquet::arrow::{ARROW_SCHEMA_META_KEY, parquet_to_arrow_schema};
use parquet::file::metadata::{KeyValue, ParquetMetaDataReader};

use crate::text::parse_schema;

pub use ipc::schema_from_ipc;

/// Maximum size of a schema, as text or as message, in bytes.
const SCHEMA_BYTES_MAX: usize = 64 << 20;

const ARROW_FILE: &[u8] = b"ARROW1";
const ARROW_MESSAGE: &[u8] = &[0xFF; 4];
const PARQUET: &[u8] = b"PAR1";
const PARQUET_ENCRYPTED: &[u8] = b"PARE";

/// Number of bytes used to detect the format of a file.
const HEAD_BYTES: usize = 8;

/// Reads a schema from a file, or from the text itself, as `--schema` accepts it.
///
/// A text that is not the name of a file is parsed as a schema if it contains a `:`. Files may have
/// any format of [`load_schema_file`].
///
/// # Errors
/// As [`load_schema_file`] and [`parse_schema`]; [`Error::Schema`] for a text that is neither a
/// file nor a schema.
pub fn load_schema(spec: &str) -> Result<Schema> {
    let path = Path::new(spec);
    if path.is_file() {
        load_schema_file(path)
    } else if spec.contains(':') || spec.contains('\n') {
        parse_schema(spec)
    } else {
        // A space means that a schema text was intended, unless it is in a path.
        let text = spec.trim().contains(' ') && !spec.contains(['/', '\\']);
        let message = match text {
            true => format!("expected 'name: type, …', found no ':' in {spec:?}"),
            false => format!("there is no file {spec:?}, and a schema is written 'name: type, …'"),
        };
        Err(Error::schema("", message))
    }
}

/// Reads the schema of a file that holds the text form, an Arrow IPC schema message (as pyarrow's
/// `schema.serialize()` makes it), an Arrow IPC file or stream, or Parquet.
///
/// # Errors
/// [`Error::Io`] if the file cannot be read; [`Error::Schema`], whose message names the file, if it
/// contains no schema.
pub fn load_schema_file(path: impl AsRef<Path>) -> Result<Schema> {
    let path = path.as_ref();
    let mut file = File::open(path).map_err(|error| Error::io(path, error))?;
    let mut head = Vec::new();
    let mut read = |most: usize, bytes: &mut Vec<u8>| {
        let result = (&mut file).take(most as u64).read_to_end(bytes);
        result.map_err(|error| Error::io(path, error))
    };
    read(HEAD_BYTES, &mut head)?;
    let schema = if head.starts_with(PARQUET) {
        from_parquet(&file)
    } else {
        read(SCHEMA_BYTES_MAX + 1, &mut head)?;
        schema_from_bytes(&head)
    };
    schema.map_err(|error| match error {
        Error::Schema { path: field, message } => {
            Error::Schema { path: field, message: format!("{}: {message}", path.display()) }
        }
        other => other,
    })
}

/// Reads a schema from bytes, in any format of [`load_schema_file`] except Parquet.
///
/// # Errors
/// [`Error::Schema`] if the bytes contain no schema.
pub fn schema_from_bytes(bytes: &[u8]) -> Result<Schema> {
    if let Some(rest) = bytes.strip_prefix(ARROW_FILE) {
        // Zeros pad up to the alignment of the first message: 8 bytes in C++, 64 in Rust.
        let padding = rest.iter().take(64).take_while(|byte| **byte == 0).count();
        return schema_from_message(&rest[padding..]);
    }
    if bytes.starts_with(ARROW_MESSAGE) || is_old_message(bytes) {
        return schema_from_message(bytes);
    }
    if bytes.starts_with(PARQUET) {
        return Err(Error::schema("", "the schema of a Parquet file is read from the file"));
    }
    if bytes.starts_with(PARQUET_ENCRYPTED) {
        return Err(Error::schema("", "this is Parquet with an encrypted footer"));
    }
    if bytes.len() > SCHEMA_BYTES_MAX {
        let message = format!("a schema has at most {SCHEMA_BYTES_MAX} bytes; is this data?");
        return Err(Error::schema("", message));
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        let message = "neither text in UTF-8 nor an Arrow or Parquet file";
        return Err(Error::schema("", message));
    };
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Err(Error::schema("", "there is nothing in it"));
    }
    parse_schema(text)
}

/// Whether this is a message in the format of Arrow before 0.15, which starts with the length.
fn is_old_message(bytes: &[u8]) -> bool {
    bytes.first_chunk::<8>().is_some_and(|head| head[3] == 0 && head[7] == 0)
}

/// Reads an encapsulated message that contains a schema; more may follow.
fn schema_from_message(bytes: &[u8]) -> Result<Schema> {
    let cut_off = || Error::schema("", "the Arrow schema message is cut off");
    let bytes = bytes.strip_prefix(ARROW_MESSAGE).unwrap_or(bytes);
    let (len, bytes) = bytes.split_first_chunk::<4>().ok_or_else(cut_off)?;
    let len = u32::from_le_bytes(*len) as usize;
    if len > SCHEMA_BYTES_MAX {
        let message =
            format!("an Arrow schema message of {len} bytes; {SCHEMA_BYTES_MAX} are allowed");
        return Err(Error::schema("", message));
    }
    // The verifier requires aligned tables; a copy is aligned.
    let message = bytes.get(..len).ok_or_else(cut_off)?.to_vec();
    let message = arrow_ipc::root_as_message(&message)
        .map_err(|error| Error::schema("", format!("this is not an Arrow message: {error}")))?;
    match message.header_as_schema() {
        Some(schema) => schema_from_ipc(schema),
        None => Err(Error::schema("", "the first Arrow message is not a schema")),
    }
}

/// The Arrow schema of a Parquet file: the one stored in the metadata by its writer, if it is of
/// the same columns, or else one derived from its types.
fn from_parquet(file: &File) -> Result<Schema> {
    let broken = |error: &dyn std::fmt::Display| Error::schema("", error.to_string());
    let metadata =
        ParquetMetaDataReader::new().parse_and_finish(file).map_err(|error| match error {
            parquet::errors::ParquetError::External(source) => {
                Error::from(io::Error::other(source))
            }
            error => broken(&error),
        })?;
    let metadata = metadata.file_metadata();
    let pairs = metadata.key_value_metadata().map_or(&[][..], |pairs| pairs);
    let columns = metadata.schema_descr().root_schema().get_fields();
    if let Some(stored) = stored(pairs)
        && stored.fields().iter().map(|field| field.name()).eq(columns.iter().map(|of| of.name()))
    {
        return Ok(stored);
    }
    // Without the stored schema: the `parquet` crate panics on some of those that are invalid.
    parquet_to_arrow_schema(metadata.schema_descr(), None).map_err(|error| broken(&error))
}

/// The Arrow schema in the metadata, if there is a valid one.
fn stored(pairs: &[KeyValue]) -> Option<Schema> {
    let pair = pairs.iter().find(|pair| pair.key == ARROW_SCHEMA_META_KEY)?;
    let bytes = BASE64_STANDARD.decode(pair.value.as_ref()?).ok()?;
    schema_from_message(&bytes).ok()
}

#[cfg(test)]
mod tests;
