// SPDX-License-Identifier: Apache-2.0
//! Record batches to comma- or tab-separated values: a sink, the last step of source → plan →
//! engine → batch → sink.
//!
//! By arrow-csv: a header with the names, then a line for each row; quotes only where a value needs
//! them. Timestamps and dates are ISO 8601 (in UTC, if they have a time zone), binary is
//! hexadecimal. CSV has one form for null and for an empty text: nothing between two delimiters.
//! Lists, maps and records have no form in CSV, and are refused before the first byte; VARIANT is
//! its JSON text.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{Int64Array, RecordBatch};
//! use arrowsmith_core::sink::{Output, Sink};
//! use arrowsmith_sink::csv::{CsvOptions, CsvSink};
//!
//! let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![1, 2])) as _)])?;
//! let path = std::env::temp_dir().join(format!("csv-doctest-{}.csv", std::process::id()));
//! let sink = CsvSink::new(Output::create(&path)?, &batch.schema(), &CsvOptions::default())?;
//! let mut sink: Box<dyn Sink> = Box::new(sink);
//! sink.write(&batch)?;
//! assert_eq!(sink.finish()?.rows, 2);
//! assert_eq!(std::fs::read_to_string(&path)?, "n\n1\n2\n");
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_cast::cast;
use arrow_csv::WriterBuilder;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use arrowsmith_core::sink::{Output, Sink, SinkSummary};
use arrowsmith_core::{Error, Result};

pub use crate::text::TextCompression;
use crate::text::TextOutput;
use crate::times;
use crate::variant::TO_TEXT;

/// Rows whose text is made at once: it bounds the buffer.
const ROWS_MAX: usize = 4096;

/// The options of a [`CsvSink`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CsvOptions {
    /// What is between two values. Default `,`.
    pub delimiter: u8,
    /// Compression of the file. Default none.
    pub compression: TextCompression,
}

impl Default for CsvOptions {
    fn default() -> Self {
        Self { delimiter: b',', compression: TextCompression::None }
    }
}

/// Writes record batches as comma-separated values with a header.
pub struct CsvSink {
    /// The fields of the batches, and with VARIANT as JSON text.
    fields: Fields,
    texts: Fields,
    /// The schema as written: every timestamp in UTC.
    schema: SchemaRef,
    builder: WriterBuilder,
    /// The text of some rows.
    text: Vec<u8>,
    output: TextOutput,
    summary: SinkSummary,
}

impl CsvSink {
    /// Starts the file with the header.
    ///
    /// # Errors
    /// [`Error::Schema`] for a type that CSV does not have, for two columns of one name, which
    /// readers could not tell apart, and for no columns; [`Error::Io`] if it cannot be written.
    pub fn new(output: Output, schema: &Schema, options: &CsvOptions) -> Result<Self> {
        let mut names = BTreeSet::new();
        let texts: Fields = schema.fields().iter().map(|field| TO_TEXT.field(field)).collect();
        for field in &texts {
            check(field)?;
            if !names.insert(field.name()) {
                return Err(Error::schema(field.name(), "CSV has no two columns of one name"));
            }
        }
        if names.is_empty() {
            return Err(Error::schema("", "CSV needs at least one column"));
        }
        let fields = schema.fields().clone();
        let schema = Schema::new(texts.iter().map(|field| written(field)).collect::<Vec<_>>());
        let output = TextOutput::new(output, options.compression)?;
        let builder = WriterBuilder::new().with_delimiter(options.delimiter);
        let mut sink = Self {
            fields,
            texts,
            schema: Arc::new(schema),
            text: Vec::new(),
            builder: builder.clone().with_header(false),
            output,
            summary: SinkSummary::default(),
        };
        sink.put(&builder, &RecordBatch::new_empty(Arc::clone(&sink.schema)))?;
        Ok(sink)
    }

    /// Writes the lines of some rows. By way of a buffer: arrow-csv panics if a file fails when it
    /// is flushed.
    fn put(&mut self, builder: &WriterBuilder, batch: &RecordBatch) -> Result<()> {
        self.text.clear();
        builder.clone().build(&mut self.text).write(batch)?;
        let put = self.output.write_all(&self.text);
        put.map_err(|error| Error::io(self.output.path(), error))
    }
}

impl Sink for CsvSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = TO_TEXT.columns(batch.columns(), &self.fields, &self.texts)?;
        let columns = columns.iter().zip(self.schema.fields());
        let columns = columns.map(|(column, field)| cast(column, field.data_type()));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        for (column, field) in columns.iter().zip(self.schema.fields()) {
            times::check(field.name(), column)?;
        }
        let cast = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        let builder = self.builder.clone();
        for start in (0..cast.num_rows()).step_by(ROWS_MAX) {
            let rows = ROWS_MAX.min(cast.num_rows() - start);
            self.put(&builder, &cast.slice(start, rows))?;
        }
        self.summary.count(batch);
        Ok(())
    }

    fn bytes(&mut self) -> Result<u64> {
        Ok(self.output.bytes())
    }

    fn finish(self: Box<Self>) -> Result<SinkSummary> {
        let bytes = self.output.commit()?;
        Ok(SinkSummary { bytes, ..self.summary })
    }
}

/// An error for a type without a form in CSV.
fn check(field: &Field) -> Result<()> {
    if field.data_type().is_nested() || matches!(field.data_type(), DataType::Union(..)) {
        let message = "CSV has no lists, maps and records: leave the column out, or write JSON";
        return Err(Error::schema(field.name(), message));
    }
    Ok(())
}

/// The field as it is written: `+00:00` for every time zone, which needs no table of time zones.
fn written(field: &Field) -> Field {
    let data_type = match field.data_type() {
        DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, Some("+00:00".into())),
        DataType::Dictionary(_, values) => values.as_ref().clone(),
        other => other.clone(),
    };
    field.clone().with_data_type(data_type).with_nullable(true)
}
