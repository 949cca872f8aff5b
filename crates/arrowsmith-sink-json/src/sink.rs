// SPDX-License-Identifier: Apache-2.0
//! [`JsonSink`]: arrow-json's line writer behind the sink trait.

use std::io;
use std::path::Path;

use arrow_array::{RecordBatch, new_null_array};
use arrow_json::writer::LineDelimited;
use arrow_json::{Writer, WriterBuilder};
use arrow_schema::{ArrowError, Schema};
use arrowsmith_core::sink::{Output, Sink, SinkSummary};
use arrowsmith_core::{Error, Result};

/// The options of a [`JsonSink`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonOptions {
    /// Whether a null is written as `null`; else its key is left out. Default yes.
    pub nulls: bool,
}

impl Default for JsonOptions {
    fn default() -> Self {
        Self { nulls: true }
    }
}

/// Writes record batches as newline-delimited JSON.
pub struct JsonSink {
    writer: Writer<Output, LineDelimited>,
    summary: SinkSummary,
}

impl JsonSink {
    /// Starts the file.
    ///
    /// # Errors
    /// [`Error::Arrow`] for a type that JSON does not have.
    pub fn new(output: Output, schema: &Schema, options: &JsonOptions) -> Result<Self> {
        let builder = WriterBuilder::new().with_explicit_nulls(options.nulls);
        // A type that cannot be written is known before the first byte.
        for field in schema.fields() {
            let schema = Schema::new(vec![field.as_ref().clone().with_nullable(true)]);
            let column = new_null_array(field.data_type(), 1);
            let batch = RecordBatch::try_new(schema.into(), vec![column])?;
            builder.clone().build::<_, LineDelimited>(io::sink()).write(&batch)?;
        }
        Ok(Self { writer: builder.build(output), summary: SinkSummary::default() })
    }
}

impl Sink for JsonSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let written = self.writer.write(batch);
        written.map_err(|error| name_file(error, self.writer.get_ref().path()))?;
        self.summary.count(batch);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<SinkSummary> {
        let path = self.writer.get_ref().path().to_owned();
        self.writer.finish().map_err(|error| name_file(error, &path))?;
        let bytes = self.writer.into_inner().commit()?;
        Ok(SinkSummary { bytes, ..self.summary })
    }
}

/// The system's error behind Arrow's, with the name of the file.
fn name_file(error: ArrowError, path: &Path) -> Error {
    match error {
        ArrowError::IoError(_, source) => Error::io(path, source),
        other => Error::Arrow(other),
    }
}
