// SPDX-License-Identifier: Apache-2.0
//! [`JsonSink`]: arrow-json's line writer as a sink.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions, new_null_array};
use arrow_cast::cast;
use arrow_json::writer::LineDelimited;
use arrow_json::{Writer, WriterBuilder};
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use arrowsmith_core::sink::{Output, Sink, SinkSummary};
use arrowsmith_core::{Error, Result};

use super::encode::{self, Encoders};
use crate::text::{TextCompression, TextOutput};
use crate::times;
use crate::variant::TO_TEXT;

/// The same in `arrowsmith-plan`, which this crate does not need otherwise.
const ENCODING_METADATA_KEY: &str = "arrowsmith:encoding";

/// The options of a [`JsonSink`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonOptions {
    /// Whether a null is written as `null`; otherwise its key is omitted. Default `true`.
    pub nulls: bool,
    /// Compression of the file. Default none.
    pub compression: TextCompression,
}

impl Default for JsonOptions {
    fn default() -> Self {
        Self { nulls: true, compression: TextCompression::None }
    }
}

/// Why a column is refused.
const NO_TYPE: &str = "JSON has no such type: it has a union, or a map whose keys are not text";

/// Writes record batches as newline-delimited JSON.
pub struct JsonSink {
    /// The fields of the batches, and with VARIANT as JSON text.
    fields: Fields,
    texts: Fields,
    /// The schema as written: every timestamp in UTC, every JSON text and hexadecimal marked.
    schema: SchemaRef,
    writer: Writer<TextOutput, LineDelimited>,
    summary: SinkSummary,
}

impl JsonSink {
    /// Starts the file.
    ///
    /// # Errors
    /// [`Error::Schema`] for a type that JSON does not have, and for two fields of one name in a
    /// record: readers would take one of them.
    pub fn new(output: Output, schema: &Schema, options: &JsonOptions) -> Result<Self> {
        let builder = WriterBuilder::new()
            .with_explicit_nulls(options.nulls)
            .with_encoder_factory(Arc::new(Encoders));
        // A type that cannot be written is reported before the first byte.
        let texts = schema.fields().iter().map(|field| TO_TEXT.field(field)).collect();
        names_are_distinct("", &texts)?;
        let fields = schema.fields().clone();
        let schema = Schema::new(texts.iter().map(written).collect::<Vec<_>>());
        for field in schema.fields() {
            let schema = Schema::new(vec![field.as_ref().clone().with_nullable(true)]);
            let column = new_null_array(field.data_type(), 1);
            let batch = RecordBatch::try_new(schema.into(), vec![column])?;
            let written = builder.clone().build::<_, LineDelimited>(io::sink()).write(&batch);
            written.map_err(|_| Error::schema(field.name(), NO_TYPE))?;
        }
        let writer = builder.build(TextOutput::new(output, options.compression)?);
        let (schema, summary) = (Arc::new(schema), SinkSummary::default());
        Ok(Self { fields, texts, schema, writer, summary })
    }
}

impl Sink for JsonSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = TO_TEXT.columns(batch.columns(), &self.fields, &self.texts)?;
        let columns = columns.iter().zip(self.schema.fields());
        let columns = columns.map(|(column, field)| cast(column, field.data_type()));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        for (column, field) in columns.iter().zip(self.schema.fields()) {
            times::check(field.name(), column)?;
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch_written =
            RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        let written = self.writer.write(&batch_written);
        written.map_err(|error| name_file(error, self.writer.get_ref().path()))?;
        self.summary.count(batch);
        Ok(())
    }

    fn bytes(&mut self) -> Result<u64> {
        Ok(self.writer.get_ref().bytes())
    }

    fn finish(mut self: Box<Self>) -> Result<SinkSummary> {
        let path = self.writer.get_ref().path().to_owned();
        self.writer.finish().map_err(|error| name_file(error, &path))?;
        let bytes = self.writer.into_inner().commit()?;
        Ok(SinkSummary { bytes, ..self.summary })
    }
}

/// Checks the names of a record's fields, and of those of records inside.
fn names_are_distinct(path: &str, fields: &Fields) -> Result<()> {
    let mut seen = BTreeSet::new();
    for field in fields {
        let path = if path.is_empty() { field.name() } else { &format!("{path}.{}", field.name()) };
        if !seen.insert(field.name()) {
            return Err(Error::schema(path, "JSON has no two fields of one name in a record"));
        }
        let mut data_type = field.data_type();
        // Lists and dictionaries add no names.
        loop {
            use DataType as T;
            data_type = match data_type {
                T::List(item)
                | T::LargeList(item)
                | T::ListView(item)
                | T::LargeListView(item)
                | T::FixedSizeList(item, _)
                | T::Map(item, _)
                | T::RunEndEncoded(_, item) => item.data_type(),
                T::Dictionary(_, values) => values,
                T::Struct(fields) => break names_are_distinct(path, fields)?,
                _ => break,
            };
        }
    }
    Ok(())
}

/// The field as it is written: `+00:00` for every time zone in it (the same instants, which need no
/// table of time zones), and the types that [`encode`] tells apart.
fn written(field: &FieldRef) -> FieldRef {
    use DataType as T;
    let of_values = |values: &DataType| {
        let field = Field::new("", values.clone(), true).with_metadata(field.metadata().clone());
        written(&Arc::new(field)).data_type().clone()
    };
    let data_type = match field.data_type() {
        T::Utf8 | T::LargeUtf8 | T::Utf8View if is_json(field) => encode::JSON,
        T::Dictionary(_, values) if is_json(field) && values.is_string() => encode::JSON,
        T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) if is_hex(field) => {
            encode::HEX
        }
        T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => encode::BASE64,
        T::Timestamp(unit, Some(_)) => T::Timestamp(*unit, Some("+00:00".into())),
        T::List(item) => T::List(written(item)),
        T::LargeList(item) => T::LargeList(written(item)),
        T::ListView(item) => T::ListView(written(item)),
        T::LargeListView(item) => T::LargeListView(written(item)),
        T::FixedSizeList(item, size) => T::FixedSizeList(written(item), *size),
        T::Struct(fields) => T::Struct(fields.iter().map(written).collect()),
        T::Map(entries, sorted) => T::Map(with_text_keys(&written(entries)), *sorted),
        T::Dictionary(key, values) => T::Dictionary(key.clone(), Box::new(of_values(values))),
        T::RunEndEncoded(_, values) => of_values(values.data_type()),
        other => other.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// The entries of a map with keys as JSON has them: text, of what has one text.
fn with_text_keys(entries: &FieldRef) -> FieldRef {
    use DataType as T;
    let T::Struct(fields) = entries.data_type() else { return Arc::clone(entries) };
    let mut fields = fields.to_vec();
    if let Some(key) = fields.first_mut() {
        let plain = match key.data_type() {
            T::Dictionary(_, values) => values.as_ref(),
            other => other,
        };
        // An instant has a text for each zone.
        let has_a_text = match plain {
            T::Timestamp(_, zone) => zone.is_none(),
            T::Boolean => true,
            other => other.is_string() || other.is_numeric() || other.is_temporal(),
        };
        if has_a_text {
            *key = Arc::new(key.as_ref().clone().with_data_type(T::Utf8));
        }
    }
    Arc::new(entries.as_ref().clone().with_data_type(T::Struct(fields.into())))
}

/// Whether the schema says that binary values are hexadecimal: `encoding hex` in its text.
fn is_hex(field: &Field) -> bool {
    field.metadata().get(ENCODING_METADATA_KEY).is_some_and(|encoding| encoding == "hex")
}

/// Whether a field contains JSON text: Arrow's `arrow.json`.
fn is_json(field: &Field) -> bool {
    field.metadata().get(EXTENSION_TYPE_NAME_KEY).is_some_and(|name| name == "arrow.json")
}

/// Adds the name of the file to an I/O error inside Arrow's.
fn name_file(error: ArrowError, path: &Path) -> Error {
    match error {
        ArrowError::IoError(_, source) => Error::io(path, source),
        other => Error::Arrow(other),
    }
}
