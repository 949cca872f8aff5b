// SPDX-License-Identifier: Apache-2.0
//! [`IpcSink`]: arrow-ipc's writers as a sink.

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, Schema};
use arrowsmith_core::sink::{Output, Sink, SinkSummary};
use arrowsmith_core::{Error, Result};

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
    writer: Writer,
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
    pub fn new(output: Output, schema: &Schema, options: &IpcOptions) -> Result<Self> {
        let compression = match options.compression {
            BufferCompression::None => None,
            BufferCompression::Lz4 => Some(CompressionType::LZ4_FRAME),
            BufferCompression::Zstd => Some(CompressionType::ZSTD),
        };
        let ipc = IpcWriteOptions::default()
            .try_with_compression(compression)?
            .with_dictionary_handling(DictionaryHandling::Delta);
        let path = output.path().to_owned();
        let writer = match options.format {
            Format::File => FileWriter::try_new_with_options(output, schema, ipc)
                .map(|writer| Writer::File(writer, Unifier::new(schema))),
            Format::Stream => {
                StreamWriter::try_new_with_options(output, schema, ipc).map(Writer::Stream)
            }
        };
        let writer = writer.map_err(|error| name_file(error, &path))?;
        Ok(Self { writer, summary: SinkSummary::default() })
    }
}

impl Sink for IpcSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let written = match &mut self.writer {
            Writer::File(writer, unifier) => match unifier.unify(batch)? {
                Some(unified) => writer.write(&unified),
                None => writer.write(batch),
            },
            Writer::Stream(writer) => writer.write(batch),
        };
        written.map_err(|error| name_file(error, self.writer.output().path()))?;
        self.summary.count(batch);
        Ok(())
    }

    fn bytes(&mut self) -> Result<u64> {
        Ok(self.writer.output().bytes())
    }

    fn finish(self: Box<Self>) -> Result<SinkSummary> {
        let path = self.writer.output().path().to_owned();
        let output = match self.writer {
            Writer::File(writer, _) => writer.into_inner(),
            Writer::Stream(writer) => writer.into_inner(),
        };
        let bytes = output.map_err(|error| name_file(error, &path))?.commit()?;
        Ok(SinkSummary { bytes, ..self.summary })
    }
}

impl Writer {
    fn output(&self) -> &Output {
        match self {
            Self::File(writer, _) => writer.get_ref(),
            Self::Stream(writer) => writer.get_ref(),
        }
    }
}

/// Adds the name of the file to an I/O error inside Arrow's.
fn name_file(error: ArrowError, path: &std::path::Path) -> Error {
    match error {
        ArrowError::IoError(_, source) => Error::io(path, source),
        other => Error::Arrow(other),
    }
}
