// SPDX-License-Identifier: Apache-2.0
//! [`Reference`]: the `parquet` crate's Arrow writer, which ours is compared with.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, SchemaRef};
use arrowsmith_core::{Error, Result};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::options::{Choice, Codec, ParquetOptions};
use crate::cast;

/// The writer of the `parquet` crate.
pub(super) struct Reference<W: Write + Send> {
    writer: ArrowWriter<W>,
    /// The schema of the file.
    schema: SchemaRef,
    row_group_rows: usize,
}

impl<W: Write + Send> Reference<W> {
    /// Starts the file.
    pub(super) fn new(output: W, schema: SchemaRef, options: &ParquetOptions) -> Result<Self> {
        if options.row_group_rows == 0 || options.row_group_bytes == 0 {
            let message = "row_group_rows and row_group_bytes must be at least 1";
            return Err(Error::Config(message.to_owned()));
        }
        let has_filters = !options.bloom_filters.is_empty();
        if options.codec == Codec::Auto || has_filters || options.variant {
            let message =
                "the writer \"reference\" has no codec auto, no bloom filters and no VARIANT";
            return Err(Error::Config(message.to_owned()));
        }
        let properties = WriterProperties::builder()
            .set_created_by(concat!("arrowsmith version ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(compression(options.codec).map_err(plain)?)
            .set_dictionary_enabled(options.encodings != Choice::Plain)
            .set_max_row_group_row_count(Some(options.row_group_rows))
            .set_max_row_group_bytes(Some(options.row_group_bytes))
            .build();
        let schema = Arc::new(arrowsmith_parquet_writer::stored(&schema));
        let with = ArrowWriterOptions::new()
            .with_parquet_schema(arrowsmith_parquet_writer::parquet_schema(&schema)?)
            .with_properties(properties);
        let writer = ArrowWriter::try_new_with_options(output, Arc::clone(&schema), with);
        let writer = writer.map_err(plain)?;
        Ok(Self { writer, schema, row_group_rows: options.row_group_rows })
    }

    /// Writes the next batch.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = batch.columns().iter().zip(self.schema.fields());
        let columns =
            columns.map(|(column, field)| match column.data_type() == field.data_type() {
                true => Ok(Arc::clone(column)),
                false => cast::exact(field, column, field.data_type()),
            });
        let columns = columns.collect::<Result<_>>()?;
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let schema = Arc::clone(&self.schema);
        let batch = &RecordBatch::try_new_with_options(schema, columns, &rows)?;
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

    /// Bytes of the row groups that have ended.
    pub(super) fn bytes(&self) -> u64 {
        self.writer.bytes_written() as u64
    }

    /// Size of the encoded row group that is being filled, in bytes.
    pub(super) fn group_bytes(&self) -> u64 {
        self.writer.in_progress_size() as u64
    }

    /// Ends the row group.
    pub(super) fn end_row_group(&mut self) -> Result<()> {
        self.writer.flush().map_err(plain)
    }

    /// Writes the footer; returns the output.
    pub(super) fn finish(self) -> Result<W> {
        self.writer.into_inner().map_err(plain)
    }

    /// The output, to look at.
    pub(super) fn output(&self) -> &W {
        self.writer.inner()
    }
}

/// The codec as the `parquet` crate names it.
fn compression(codec: Codec) -> Result<Compression, ParquetError> {
    Ok(match codec {
        Codec::Auto | Codec::None => Compression::UNCOMPRESSED,
        Codec::Snappy => Compression::SNAPPY,
        // The variant with Hadoop's framing is deprecated; every reader supports this one.
        Codec::Lz4 => Compression::LZ4_RAW,
        Codec::Zstd(level) => Compression::ZSTD(ZstdLevel::try_new(level)?),
        Codec::Gzip(level) => Compression::GZIP(GzipLevel::try_new(level)?),
        Codec::Brotli(level) => Compression::BROTLI(BrotliLevel::try_new(level)?),
    })
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
