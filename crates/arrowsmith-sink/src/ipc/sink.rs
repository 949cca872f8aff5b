// SPDX-License-Identifier: Apache-2.0
//! [`IpcSink`]: arrow-ipc's writers as a sink.

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use arrowsmith_core::sink::{Output, Sink, SinkSummary};
use arrowsmith_core::{Error, Result};

use super::again::read_again;
use super::dictionary::Unifier;

/// Arrow's two IPC formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Random access: a footer with the position of every batch. Also called Feather, version 2.
    #[default]
    File,
    /// Batches one after another, readable while they are being written.
    Stream,
}

/// The compression of the buffers of the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BufferCompression {
    /// Not compressed: a reader can map the file and use the buffers in place.
    #[default]
    None,
    /// LZ4 frames.
    Lz4,
    /// Zstandard at its default level.
    Zstd,
}

/// The options of an [`IpcSink`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IpcOptions {
    /// File or stream.
    pub format: Format,
    /// Compression of the buffers.
    pub compression: BufferCompression,
}

/// Writes record batches as an Arrow IPC file or stream. The schema's metadata is kept.
pub struct IpcSink {
    /// `None` after an error.
    writer: Option<Writer>,
    options: IpcOptions,
    path: PathBuf,
    schema: SchemaRef,
    /// Whether the schema has become wider.
    widened: bool,
    summary: SinkSummary,
}

enum Writer {
    File(FileWriter<Output>, Unifier),
    Stream(StreamWriter<Output>),
}

impl IpcSink {
    /// Starts the file: writes magic number and schema.
    ///
    /// # Errors
    /// [`Error::Io`] if that cannot be written, [`Error::Arrow`] for a type that IPC does not have.
    pub fn new(output: Output, schema: &SchemaRef, options: &IpcOptions) -> Result<Self> {
        let path = output.path().to_owned();
        let writer = Writer::new(output, schema, options);
        Ok(Self {
            writer: Some(writer.map_err(|error| name_file(error, &path))?),
            options: *options,
            path,
            schema: SchemaRef::clone(schema),
            widened: false,
            summary: SinkSummary::default(),
        })
    }

    fn writer(&mut self) -> Result<&mut Writer> {
        let failed = || Error::Config("the writer has failed before".to_owned());
        self.writer.as_mut().ok_or_else(failed)
    }

    /// Ends the file or stream.
    fn end(&mut self) -> Result<Output> {
        let failed = || Error::Config("the writer has failed before".to_owned());
        let output = self.writer.take().ok_or_else(failed)?.into_inner();
        output.map_err(|error| name_file(error, &self.path))
    }

    /// Writes everything again, with a schema.
    fn write_again(&mut self, schema: &SchemaRef) -> Result<Writer> {
        // Without the footer.
        let bytes = self.writer()?.output().bytes();
        let mut output = self.end()?;
        let written = output.start_again()?;
        let mut writer = Writer::new(output, schema, &self.options)?;
        if let Some(written) = written {
            read_again(written, bytes, schema, |batch| writer.write(batch))?;
        }
        Ok(writer)
    }
}

impl Sink for IpcSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let written = self.writer()?.write(batch);
        written.map_err(|error| name_file(error, &self.path))?;
        self.summary.count(batch);
        Ok(())
    }

    fn bytes(&mut self) -> Result<u64> {
        Ok(self.writer()?.output().bytes())
    }

    /// Once: a schema that becomes wider again may do so often, and each time all is read again.
    fn widen(&mut self, schema: &SchemaRef) -> Result<bool> {
        if *schema == self.schema {
            return Ok(true);
        }
        if self.widened || self.writer()?.output().temporary_path().is_none() {
            return Ok(false);
        }
        let writer = self.write_again(schema).map_err(|error| name_file(error, &self.path))?;
        (self.writer, self.schema) = (Some(writer), SchemaRef::clone(schema));
        self.widened = true;
        Ok(true)
    }

    fn finish(mut self: Box<Self>) -> Result<SinkSummary> {
        let bytes = self.end()?.commit()?;
        Ok(SinkSummary { bytes, ..self.summary })
    }
}

impl Writer {
    fn new(output: Output, schema: &Schema, options: &IpcOptions) -> Result<Self> {
        let compression = match options.compression {
            BufferCompression::None => None,
            BufferCompression::Lz4 => Some(CompressionType::LZ4_FRAME),
            BufferCompression::Zstd => Some(CompressionType::ZSTD),
        };
        let ipc = IpcWriteOptions::default()
            .try_with_compression(compression)?
            .with_dictionary_handling(DictionaryHandling::Delta);
        match options.format {
            Format::File => {
                let writer = FileWriter::try_new_with_options(output, schema, ipc)?;
                Ok(Self::File(writer, Unifier::new(schema)))
            }
            Format::Stream => {
                Ok(Self::Stream(StreamWriter::try_new_with_options(output, schema, ipc)?))
            }
        }
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            Self::File(writer, unifier) => match unifier.unify(batch)? {
                Some(unified) => writer.write(&unified)?,
                None => writer.write(batch)?,
            },
            Self::Stream(writer) => writer.write(batch)?,
        }
        Ok(())
    }

    /// Ends the file or stream.
    fn into_inner(self) -> Result<Output> {
        match self {
            Self::File(writer, _) => Ok(writer.into_inner()?),
            Self::Stream(writer) => Ok(writer.into_inner()?),
        }
    }

    fn output(&self) -> &Output {
        match self {
            Self::File(writer, _) => writer.get_ref(),
            Self::Stream(writer) => writer.get_ref(),
        }
    }
}

/// Adds the name of the file to an I/O error.
fn name_file(error: Error, path: &Path) -> Error {
    match error {
        Error::Io { source, .. } | Error::Arrow(ArrowError::IoError(_, source)) => {
            Error::io(path, source)
        }
        other => other,
    }
}
