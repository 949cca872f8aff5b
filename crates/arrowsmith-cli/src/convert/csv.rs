// SPDX-License-Identifier: Apache-2.0
//! CSV with a header, by arrow-csv: records in bounded memory, errors with the name of the file.

use std::io::{self, BufRead, Read};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_csv::ReaderBuilder;
use arrow_csv::reader::{Decoder, Format};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use arrowsmith::Error;

use crate::failure::{Failure, Outcome};

/// Rows of a batch.
const BATCH_ROWS: usize = 8192;

/// The start of a text: whole lines of at most `most` bytes, or the first line if it is longer.
pub fn head(reader: &mut dyn BufRead, most: usize) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut limited = Read::take(&mut *reader, u64::try_from(most).unwrap_or(u64::MAX));
    limited.read_to_end(&mut head)?;
    if head.len() == most {
        // What was begun is part of the start, so that it can be read again from there.
        reader.read_until(b'\n', &mut head)?;
    }
    Ok(head)
}

/// The schema of the records after the header; `records` of them, or all.
pub fn infer(head: &[u8], delimiter: u8, records: Option<usize>) -> Result<Schema, ArrowError> {
    let format = Format::default().with_header(true).with_delimiter(delimiter);
    Ok(format.infer_schema(head, records)?.0)
}

/// The error of a file.
pub fn named(error: ArrowError, name: Option<&str>) -> Failure {
    let text = error.to_string();
    let text =
        text.strip_prefix("Csv error: ").or(text.strip_prefix("Parser error: ").or(Some(&text)));
    invalid(name, text.unwrap_or_default())
}

/// The error for what is in a file.
pub fn invalid(name: Option<&str>, reason: &str) -> Failure {
    let error = io::Error::new(io::ErrorKind::InvalidData, reason);
    Failure::Work(Error::io(name.unwrap_or_default(), error))
}

/// The batches of a text.
pub struct Csv {
    name: Option<Arc<str>>,
    reader: Box<dyn BufRead>,
    decoder: Decoder,
    schema: SchemaRef,
    /// Bytes since the last complete record.
    pending: usize,
    record_bytes_max: usize,
    is_done: bool,
}

impl Csv {
    /// Reads a text whose header has the names of the schema; some of the columns, or all.
    pub fn new(
        name: Option<Arc<str>>,
        reader: Box<dyn BufRead>,
        schema: &SchemaRef,
        columns: Option<&[usize]>,
        delimiter: u8,
        record_bytes_max: usize,
    ) -> Self {
        let builder = ReaderBuilder::new(Arc::clone(schema))
            .with_header(true)
            .with_header_validation(true)
            .with_delimiter(delimiter)
            .with_batch_size(BATCH_ROWS);
        let (builder, schema) = match columns {
            None => (builder, Arc::clone(schema)),
            Some(columns) => {
                let fields = columns.iter().filter_map(|at| schema.fields().get(*at).cloned());
                let schema = Schema::new(fields.collect::<Vec<_>>());
                (builder.with_projection(columns.to_vec()), Arc::new(schema))
            }
        };
        let decoder = builder.build_decoder();
        Self { name, reader, decoder, schema, pending: 0, record_bytes_max, is_done: false }
    }

    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn batch(&mut self) -> Outcome<Option<RecordBatch>> {
        let name = self.name.clone();
        let name = name.as_deref();
        loop {
            let buffer = self.reader.fill_buf();
            let buffer = buffer.map_err(|error| Error::io(name.unwrap_or_default(), error))?;
            // A piece at a time, so that a record without an end is noticed.
            let piece = buffer.get(..64 << 10).unwrap_or(buffer);
            let before = self.decoder.capacity();
            let read = self.decoder.decode(piece).map_err(|error| named(error, name))?;
            let is_end = piece.is_empty();
            self.reader.consume(read);
            self.pending = if self.decoder.capacity() < before { 0 } else { self.pending + read };
            if self.pending > self.record_bytes_max {
                let most = self.record_bytes_max;
                return Err(invalid(name, &format!("a record is longer than {most} bytes")));
            }
            if is_end || self.decoder.capacity() == 0 {
                return self.decoder.flush().map_err(|error| named(error, name));
            }
        }
    }
}

impl Iterator for Csv {
    type Item = Outcome<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let batch = self.batch().transpose();
        self.is_done = !matches!(batch, Some(Ok(_)));
        batch
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::DataType;

    use super::*;

    fn read(text: &'static str, most: usize) -> Outcome<Vec<RecordBatch>> {
        let schema = infer(text.as_bytes(), b',', None).unwrap();
        Csv::new(None, Box::new(text.as_bytes()), &Arc::new(schema), None, b',', most).collect()
    }

    #[test]
    fn types_are_inferred_and_records_read() {
        let text = "a,b,c\n1,x,2024-01-01\n,\"y,\n\"\"z\",\n";
        let batches = read(text, 100).unwrap();
        let types: Vec<_> = batches[0].columns().iter().map(|c| c.data_type().clone()).collect();
        assert_eq!(types, [DataType::Int64, DataType::Utf8, DataType::Date32]);
        assert_eq!(batches[0].num_rows(), 2);
        assert!(batches[0].column(0).is_null(1) && batches[0].column(2).is_null(1));
    }

    #[test]
    fn a_record_without_an_end_is_noticed() {
        let text: &'static str =
            Box::leak(format!("a\n\"{}", "x".repeat(300_000)).into_boxed_str());
        assert!(read(text, 100_000).is_err());
    }

    #[test]
    fn the_start_ends_with_a_line() {
        let mut text: &[u8] = b"a,b\n1,2\n3,4\n";
        assert_eq!(head(&mut text, 5).unwrap(), b"a,b\n1,2\n");
        assert_eq!(text, b"3,4\n");
        let mut text: &[u8] = b"a";
        assert_eq!(head(&mut text, 5).unwrap(), b"a");
    }
}
