// SPDX-License-Identifier: Apache-2.0
//! [`Columns`]: the columns of batches as those of a table.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{Field, Schema, SchemaRef};
use arrowsmith_core::{Error, Result};

use crate::cast;

/// How a column of the batches becomes one of the table.
pub(crate) struct Conversion {
    /// The column in files.
    pub(crate) field: Field,
    /// Whether the table's column may be null.
    pub(crate) nullable: bool,
}

/// How batches become those of a table.
pub(crate) struct Columns {
    columns: Vec<Conversion>,
    /// Of all columns in files.
    schema: SchemaRef,
}

impl Columns {
    /// For columns in the order of the batches; `missing` are more, which are null.
    pub(crate) fn new(columns: Vec<Conversion>, missing: Vec<Field>) -> Self {
        let fields = columns.iter().map(|column| column.field.clone()).chain(missing);
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Self { columns, schema }
    }

    /// The schema of the converted batches.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// A batch as files have it.
    ///
    /// # Errors
    /// [`Error::Schema`] for a null where the table has none; as [`cast::exact`].
    pub(crate) fn converted(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let mut arrays = Vec::with_capacity(self.schema.fields().len());
        for (column, array) in self.columns.iter().zip(batch.columns()) {
            let field = &column.field;
            if !column.nullable && array.logical_null_count() > 0 {
                return Err(Error::schema(field.name(), "is null, and may not be in the table"));
            }
            arrays.push(match array.data_type() == field.data_type() {
                true => Arc::clone(array),
                false => cast::exact(field, array, field.data_type())?,
            });
        }
        for field in self.schema.fields().iter().skip(self.columns.len()) {
            arrays.push(new_null_array(field.data_type(), batch.num_rows()));
        }
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &rows)?)
    }
}
