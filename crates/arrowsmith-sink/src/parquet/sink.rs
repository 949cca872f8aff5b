// SPDX-License-Identifier: Apache-2.0
//! [`ParquetSink`]: a Parquet writer as a sink.

use std::io::{self, Write};
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrowsmith_core::sink::{Output, Sink, SinkSummary};
use arrowsmith_core::{Error, Result};
use arrowsmith_parquet_writer::{ParquetWriter, Workers};

use super::fields::Written;
use super::options::{ParquetOptions, Writer};
use super::reference::Reference;

/// Writes record batches as Parquet to any writer. The Arrow schema and its metadata are stored in
/// the footer.
pub struct ParquetStream<W: Write + Send> {
    writer: Inner<W>,
    written: Written,
    /// Whether JSON text becomes VARIANT.
    variant: bool,
}

/// Who encodes.
enum Inner<W: Write + Send> {
    Arrowsmith(Box<ParquetWriter<W>>),
    Reference(Box<Reference<W>>),
}

impl<W: Write + Send> ParquetStream<W> {
    /// Starts the file.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be written, [`Error::Schema`] for a type that Parquet does not
    /// have, [`Error::Config`] for an option with an invalid value, as row groups of 0 rows.
    pub fn new(output: W, schema: &SchemaRef, options: &ParquetOptions) -> Result<Self> {
        Self::with_workers(output, schema, options, None)
    }

    /// Starts the file, with threads that other files may use, too: those of
    /// [`ParquetOptions::workers`] for the same options.
    ///
    /// # Errors
    /// As [`ParquetStream::new`].
    pub fn with_workers(
        output: W,
        schema: &SchemaRef,
        options: &ParquetOptions,
        workers: Option<&Workers>,
    ) -> Result<Self> {
        let written = Written::new(schema, options.variant)?;
        let schema = written.schema();
        // The `parquet` crate panics at some of these types.
        arrowsmith_parquet_writer::check(&schema)?;
        let writer = match options.writer {
            Writer::Arrowsmith => {
                let workers = match workers {
                    Some(workers) => workers.clone(),
                    None => options.workers()?,
                };
                let writer = ParquetWriter::with_workers(output, schema, workers)?;
                Inner::Arrowsmith(Box::new(writer))
            }
            Writer::Reference => {
                Inner::Reference(Box::new(Reference::new(output, schema, options)?))
            }
        };
        Ok(Self { writer, written, variant: options.variant })
    }

    /// Writes the next batch.
    ///
    /// # Errors
    /// As [`ParquetStream::new`].
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let cast = self.written.cast(batch)?;
        let batch = cast.as_ref().unwrap_or(batch);
        match &mut self.writer {
            Inner::Arrowsmith(writer) => writer.write(batch),
            Inner::Reference(writer) => writer.write(batch),
        }
    }

    /// Goes on with a wider schema, see [`Sink::widen`] and [`ParquetWriter::widen`].
    ///
    /// # Errors
    /// As [`ParquetStream::new`].
    fn widen(&mut self, schema: &SchemaRef, completable: bool) -> Result<bool> {
        let Inner::Arrowsmith(writer) = &mut self.writer else { return Ok(false) };
        let written = Written::new(schema, self.variant)?;
        let widened = writer.widen(written.schema(), completable)?;
        if widened {
            self.written = written;
        }
        Ok(widened)
    }

    /// Writes the footer; returns the output.
    ///
    /// # Errors
    /// As [`ParquetStream::new`].
    pub fn finish(self) -> Result<W> {
        match self.writer {
            Inner::Arrowsmith(writer) => Ok(writer.close()?.1),
            Inner::Reference(writer) => writer.finish(),
        }
    }

    /// Bytes of the file so far, with the row groups that have ended.
    ///
    /// # Errors
    /// As [`ParquetStream::new`].
    pub fn bytes(&mut self) -> Result<u64> {
        match &mut self.writer {
            Inner::Arrowsmith(writer) => writer.bytes(),
            Inner::Reference(writer) => Ok(writer.bytes()),
        }
    }

    /// Size of the data in the row group that is being filled, in bytes.
    pub fn group_bytes(&self) -> u64 {
        match &self.writer {
            Inner::Arrowsmith(writer) => writer.group_bytes(),
            Inner::Reference(writer) => writer.group_bytes(),
        }
    }

    /// Ends the row group with the rows that have been written.
    ///
    /// # Errors
    /// As [`ParquetStream::new`].
    pub fn end_row_group(&mut self) -> Result<()> {
        match &mut self.writer {
            Inner::Arrowsmith(writer) => writer.end_row_group(),
            Inner::Reference(writer) => writer.end_row_group(),
        }
    }

    /// The output, to look at.
    pub fn output(&self) -> &W {
        match &self.writer {
            Inner::Arrowsmith(writer) => writer.sink(),
            Inner::Reference(writer) => writer.output(),
        }
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
        Self::with_workers(output, schema, options, None)
    }

    /// Starts the file, see [`ParquetStream::with_workers`].
    ///
    /// # Errors
    /// As [`ParquetSink::new`].
    pub fn with_workers(
        output: Output,
        schema: &SchemaRef,
        options: &ParquetOptions,
        workers: Option<&Workers>,
    ) -> Result<Self> {
        let path = output.path().to_owned();
        let stream = ParquetStream::with_workers(output, schema, options, workers);
        let stream = stream.map_err(|error| name_file(error, &path))?;
        Ok(Self { stream, summary: SinkSummary::default() })
    }
}

impl Sink for ParquetSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let written = self.stream.write(batch);
        written.map_err(|error| name_file(error, self.stream.output().path()))?;
        self.summary.count(batch);
        Ok(())
    }

    fn bytes(&mut self) -> Result<u64> {
        let bytes = self.stream.bytes();
        bytes.map_err(|error| name_file(error, self.stream.output().path()))
    }

    fn held_bytes(&self) -> u64 {
        self.stream.group_bytes()
    }

    fn release(&mut self) -> Result<()> {
        let ended = self.stream.end_row_group();
        ended.map_err(|error| name_file(error, self.stream.output().path()))
    }

    fn widen(&mut self, schema: &SchemaRef) -> Result<bool> {
        let completable = self.stream.output().temporary_path().is_some();
        let widened = self.stream.widen(schema, completable);
        widened.map_err(|error| name_file(error, self.stream.output().path()))
    }

    fn finish(self: Box<Self>) -> Result<SinkSummary> {
        let Self { mut stream, summary } = *self;
        let path = stream.output().path().to_owned();
        let completed = match &mut stream.writer {
            Inner::Arrowsmith(writer) if writer.is_incomplete() => writer.complete(|output| {
                let written = output.start_again()?;
                written.ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))
            }),
            _ => Ok(()),
        };
        let output = completed.and_then(|()| stream.finish());
        let output = output.map_err(|error| name_file(error, &path))?;
        let bytes = output.commit()?;
        Ok(SinkSummary { bytes, ..summary })
    }
}

/// Adds the name of the file, if it is an I/O error.
fn name_file(error: Error, path: &Path) -> Error {
    match error {
        Error::Io { source, .. } => Error::io(path, source),
        other => other,
    }
}
