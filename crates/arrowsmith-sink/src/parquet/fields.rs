// SPDX-License-Identifier: Apache-2.0
//! The schema as it is written: what Parquet has in another form only is cast.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_cast::{can_cast_types, cast};
use arrow_schema::{DataType, FieldRef, Fields, Schema, SchemaRef};
use arrowsmith_core::{Error, Result};

use crate::cast::{exact, has_times};
use crate::variant::TO_VARIANT;

/// Casts batches to the schema as it is written.
pub(super) struct Written {
    schema: SchemaRef,
    /// The schema that batches are cast to before JSON text becomes VARIANT.
    cast: SchemaRef,
    /// Whether `cast` differs from the schema of the batches.
    differs: bool,
}

impl Written {
    /// Of the schema of the batches; `variant`: whether JSON text becomes VARIANT.
    pub(super) fn new(schema: &SchemaRef, variant: bool) -> Result<Self> {
        let fields = schema.fields();
        let cast: Fields = fields.iter().map(written).collect();
        let of = |fields| Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
        let written = if variant {
            cast.iter().map(|field| TO_VARIANT.field(field)).collect()
        } else {
            cast.clone()
        };
        for (from, to) in fields.iter().zip(&cast) {
            if !can_cast_types(from.data_type(), to.data_type()) {
                let message = format!("{} is not written: cast it first", from.data_type());
                return Err(Error::schema(from.name(), message));
            }
        }
        Ok(Self { differs: cast != *fields, schema: of(written), cast: of(cast) })
    }

    /// The schema as it is written.
    pub(super) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// A batch with this schema; none if it has it already.
    pub(super) fn cast(&self, batch: &RecordBatch) -> Result<Option<RecordBatch>> {
        let has_variant = self.schema.fields() != self.cast.fields();
        if !self.differs && !has_variant {
            return Ok(None);
        }
        let columns = batch.columns().iter().zip(self.cast.fields());
        let columns = columns.map(|(column, field)| cast(column, field.data_type()));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let columns = TO_VARIANT.columns(&columns, self.cast.fields(), self.schema.fields())?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(Some(RecordBatch::try_new_with_options(self.schema(), columns, &options)?))
    }
}

/// Checks that a batch has no time without a place in Parquet, so that its values cannot make
/// writing fail.
///
/// # Errors
/// [`Error::Schema`] or [`Error::Arrow`] for a date with a time of day, and for seconds beyond
/// what 64 bits state in milliseconds.
pub fn check_values(batch: &RecordBatch) -> Result<()> {
    let stored = arrowsmith_parquet_writer::stored(batch.schema_ref());
    for (field, column) in stored.fields().iter().zip(batch.columns()) {
        if has_times(column.data_type()) {
            exact(field, column, field.data_type())?;
        }
    }
    Ok(())
}

/// The field as written: run-end encoding and dictionaries of fixed-size binary are undone, and
/// dictionaries of views are those of plain values, as readers of other libraries fail at them.
fn written(field: &FieldRef) -> FieldRef {
    use DataType as T;
    let data_type = match field.data_type() {
        T::Dictionary(key, values) if **values == T::Utf8View => {
            T::Dictionary(key.clone(), Box::new(T::Utf8))
        }
        T::Dictionary(key, values) if **values == T::BinaryView => {
            T::Dictionary(key.clone(), Box::new(T::Binary))
        }
        T::Dictionary(_, values) if matches!(**values, T::FixedSizeBinary(_)) => {
            values.as_ref().clone()
        }
        T::RunEndEncoded(_, values) => {
            let values = written(values);
            let nullable = field.is_nullable() || values.is_nullable();
            let field = field.as_ref().clone().with_nullable(nullable);
            return Arc::new(field.with_data_type(values.data_type().clone()));
        }
        T::List(item) => T::List(written(item)),
        T::LargeList(item) => T::LargeList(written(item)),
        T::ListView(item) => T::ListView(written(item)),
        T::LargeListView(item) => T::LargeListView(written(item)),
        T::FixedSizeList(item, size) => T::FixedSizeList(written(item), *size),
        T::Struct(fields) => T::Struct(fields.iter().map(written).collect()),
        T::Map(entries, sorted) => T::Map(written(entries), *sorted),
        _ => return Arc::clone(field),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}
