// SPDX-License-Identifier: Apache-2.0
//! Batches that have been written, read again to be given a wider schema.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_ipc::reader::StreamReader;
use arrow_schema::{FieldRef, SchemaRef};
use arrowsmith_core::Result;

/// What every message of a stream begins with; nothing in front of the first one does.
const CONTINUATION: u8 = 0xFF;
/// For the heads of messages: their bodies are read past it.
const BUFFER_BYTES: usize = 8 << 10;

/// Calls `each` with all batches of the first bytes of a file or stream, which are messages, each
/// with `schema`.
///
/// # Errors
/// Those of the file and of `each`.
pub(super) fn read_again(
    file: File,
    bytes: u64,
    schema: &SchemaRef,
    mut each: impl FnMut(&RecordBatch) -> Result<()>,
) -> Result<()> {
    let mut messages = BufReader::with_capacity(BUFFER_BYTES, file.take(bytes));
    skip_magic(&mut messages)?;
    for batch in StreamReader::try_new(messages, None)? {
        each(&widened(&batch?, schema)?)?;
    }
    Ok(())
}

/// Skips the magic number of a file and what fills it up.
fn skip_magic(messages: &mut impl BufRead) -> io::Result<()> {
    let start = messages.fill_buf()?;
    let magic = start.iter().position(|byte| *byte == CONTINUATION).unwrap_or(start.len());
    messages.consume(magic);
    Ok(())
}

/// The batch with a wider schema: what is new, or has another type, is null.
fn widened(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let rows = batch.num_rows();
    let column = |field: &FieldRef| -> ArrayRef {
        match batch.column_by_name(field.name()) {
            Some(column) if column.data_type() == field.data_type() => ArrayRef::clone(column),
            _ => new_null_array(field.data_type(), rows),
        }
    };
    let columns = schema.fields().iter().map(column).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(SchemaRef::clone(schema), columns, &options)?)
}
