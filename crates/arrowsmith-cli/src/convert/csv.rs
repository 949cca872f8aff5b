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

/// The schema of the first `records` records after the header, or of all; and what of the text was
/// read for it, at most about `most` bytes.
pub fn infer(
    reader: &mut dyn BufRead,
    delimiter: u8,
    records: Option<usize>,
    most: usize,
) -> Result<(Schema, Vec<u8>), ArrowError> {
    let format = Format::default().with_header(true).with_delimiter(delimiter);
    let mut start = Start { reader, read: Vec::new(), most };
    let (schema, _) = format.infer_schema(&mut start, records)?;
    Ok((schema, start.read))
}

/// Keeps what is read.
struct Start<'a> {
    reader: &'a mut dyn BufRead,
    read: Vec<u8>,
    most: usize,
}

impl Read for Start<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read.len() >= self.most {
            let message = format!(
                "the records to infer the schema from take more than {} bytes; give --schema",
                self.most
            );
            return Err(io::Error::other(message));
        }
        let count = self.reader.read(buffer)?;
        self.read.extend_from_slice(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
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
        let (schema, start) = infer(&mut text.as_bytes(), b',', None, usize::MAX).unwrap();
        assert_eq!(start, text.as_bytes());
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
    fn inference_reads_what_it_needs_and_no_more_than_it_may() {
        let text = "a,b\n1,\"x\ny\"\n".to_owned() + &"2,z\n".repeat(100_000);
        let (schema, start) = infer(&mut text.as_bytes(), b',', Some(1), 1 << 20).unwrap();
        assert_eq!(schema.field(0).data_type(), &DataType::Int64);
        assert!(text.as_bytes().starts_with(&start) && start.len() < 100_000);
        let error = infer(&mut text.as_bytes(), b',', None, 1000).unwrap_err().to_string();
        assert!(error.contains("give --schema"), "{error}");
    }
}
