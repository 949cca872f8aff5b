// SPDX-License-Identifier: Apache-2.0
//! [`ParquetSink`]: the `parquet` crate's Arrow writer as a sink.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, Schema, SchemaRef};
use arrowsmith_core::sink::{Output, Sink, SinkSummary};
use arrowsmith_core::{Error, Result};
use parquet::arrow::ArrowWriter;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::Codec;

/// The options of a [`ParquetSink`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParquetOptions {
    /// Compression of the pages.
    pub codec: Codec,
    /// Maximum rows per row group. Default 1 Mi.
    pub row_group_rows: usize,
    /// Encoded size at which a row group ends regardless of its rows, in bytes: a group is kept in
    /// memory until it is full. Default 128 MiB.
    pub row_group_bytes_max: usize,
    /// Whether columns are dictionary-encoded where that is smaller. Default `true`.
    pub dictionary: bool,
}

impl Default for ParquetOptions {
    fn default() -> Self {
        Self {
            codec: Codec::default(),
            row_group_rows: 1 << 20,
            row_group_bytes_max: 128 << 20,
            dictionary: true,
        }
    }
}

/// Writes record batches as Parquet to any writer. The Arrow schema and its metadata are stored in
/// the footer.
pub struct ParquetStream<W: Write + Send> {
    writer: ArrowWriter<W>,
    /// The schema as written, if it differs from that of the batches.
    cast_to: Option<SchemaRef>,
    row_group_rows: usize,
}

impl<W: Write + Send> ParquetStream<W> {
    /// Starts the file.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be written, [`Error::Arrow`] for a type that Parquet does not
    /// have, [`Error::Config`] for row groups of 0 rows.
    pub fn new(output: W, schema: &SchemaRef, options: &ParquetOptions) -> Result<Self> {
        if options.row_group_rows == 0 || options.row_group_bytes_max == 0 {
            return Err(Error::Config("row_group_rows must be at least 1".to_owned()));
        }
        let properties = WriterProperties::builder()
            .set_created_by(concat!("arrowsmith version ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(options.codec.compression())
            .set_dictionary_enabled(options.dictionary)
            .set_max_row_group_row_count(Some(options.row_group_rows))
            .set_max_row_group_bytes(Some(options.row_group_bytes_max))
            .build();
        let fields: Fields = schema.fields().iter().map(written).collect();
        let cast_to = (fields != *schema.fields())
            .then(|| Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())));
        let kept = cast_to.clone().unwrap_or_else(|| schema.clone());
        let writer = ArrowWriter::try_new(output, kept, Some(properties)).map_err(plain)?;
        Ok(Self { writer, cast_to, row_group_rows: options.row_group_rows })
    }

    /// Writes the next batch.
    ///
    /// # Errors
    /// As [`ParquetStream::new`].
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let cast = self.cast_to.as_ref().map(|schema| cast_to(batch, schema)).transpose()?;
        let batch = cast.as_ref().unwrap_or(batch);
        // The writer splits a batch at the end of a row group by recursion, once per group: small
        // groups would need a deep stack. Pieces that fit into the group avoid the recursion.
        let mut start = 0;
        while start < batch.num_rows() {
            let room = self.row_group_rows - self.writer.in_progress_rows();
            let rows = room.min(batch.num_rows() - start);
            self.writer.write(&batch.slice(start, rows)).map_err(plain)?;
            start += rows;
        }
        Ok(())
    }

    /// Writes the footer; returns the writer.
    ///
    /// # Errors
    /// As [`ParquetStream::new`].
    pub fn finish(self) -> Result<W> {
        self.writer.into_inner().map_err(plain)
    }
}

/// Writes record batches as a Parquet file, see [`ParquetStream`].
pub struct ParquetSink {
    stream: ParquetStream<Output>,
    summary: SinkSummary,
}

impl ParquetSink {
    /// Starts the file.
    ///
    /// # Errors
    /// As [`ParquetStream::new`]; I/O errors name the file.
    pub fn new(output: Output, schema: &SchemaRef, options: &ParquetOptions) -> Result<Self> {
        let path = output.path().to_owned();
        let stream = ParquetStream::new(output, schema, options);
        let stream = stream.map_err(|error| name_file(error, &path))?;
        Ok(Self { stream, summary: SinkSummary::default() })
    }
}

impl Sink for ParquetSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let written = self.stream.write(batch);
        written.map_err(|error| name_file(error, self.stream.writer.inner().path()))?;
        self.summary.count(batch);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<SinkSummary> {
        let path = self.stream.writer.inner().path().to_owned();
        let output = self.stream.finish().map_err(|error| name_file(error, &path))?;
        let bytes = output.commit()?;
        Ok(SinkSummary { bytes, ..self.summary })
    }
}

/// The field as written: the `parquet` crate panics at dictionaries of views.
fn written(field: &FieldRef) -> FieldRef {
    use DataType as T;
    let data_type = match field.data_type() {
        T::Dictionary(key, values) if **values == T::Utf8View => {
            T::Dictionary(key.clone(), Box::new(T::Utf8))
        }
        T::Dictionary(key, values) if **values == T::BinaryView => {
            T::Dictionary(key.clone(), Box::new(T::Binary))
        }
        T::List(item) => T::List(written(item)),
        T::LargeList(item) => T::LargeList(written(item)),
        T::FixedSizeList(item, size) => T::FixedSizeList(written(item), *size),
        T::Struct(fields) => T::Struct(fields.iter().map(written).collect()),
        T::Map(entries, sorted) => T::Map(written(entries), *sorted),
        _ => return Arc::clone(field),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

fn cast_to(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| cast(column, field.data_type()));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// Extracts the I/O error inside Parquet's.
fn plain(error: ParquetError) -> Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => Error::from(*source),
            Err(source) => Error::Arrow(ArrowError::from_external_error(source)),
        },
        other => Error::Arrow(ArrowError::ParquetError(other.to_string())),
    }
}

/// Adds the name of the file, if it is an I/O error.
fn name_file(error: Error, path: &Path) -> Error {
    match error {
        Error::Io { source, .. } => Error::io(path, source),
        other => other,
    }
}
