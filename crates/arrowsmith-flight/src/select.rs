// SPDX-License-Identifier: Apache-2.0
//! Conditions, columns and limits over batches that are in Arrow already: mapped files, memory,
//! JSON.
//!
//! The Parquet reader applies conditions itself, before it decodes. Here the same test ([`Filter`])
//! is put to batches that come from elsewhere, so that a condition means the same whatever the
//! format. No I/O.

use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_cast::cast;
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use arrowsmith::parquet::Predicate;
use arrowsmith::{Error, Result};
use arrowsmith_parquet::{
    Column, Conversion, Filter, Leaf, List, ListKind, Physical, ReadPlan, RepeatedLevels, Struct,
};

/// A batch with the columns of `schema`, found by name, and its schema.
pub(crate) fn conform(batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    if Arc::ptr_eq(batch.schema_ref(), schema) || batch.schema_ref() == schema {
        return Ok(batch);
    }
    let rows = batch.num_rows();
    let column = |field: &FieldRef| match batch.column_by_name(field.name()) {
        Some(column) if column.data_type() == field.data_type() => Ok(Arc::clone(column)),
        Some(column) => Ok(cast(column, field.data_type())?),
        None => Ok(new_null_array(field.data_type(), rows)),
    };
    let columns = schema.fields().iter().map(column).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// Some columns of a schema, in this order; all without names.
///
/// # Errors
/// [`Error::Config`] names a column that is not there, or twice.
pub fn project(schema: &SchemaRef, columns: Option<&[String]>) -> Result<SchemaRef> {
    let Some(columns) = columns else { return Ok(Arc::clone(schema)) };
    let mut places = Vec::with_capacity(columns.len());
    for column in columns {
        let place = schema
            .index_of(column)
            .map_err(|_| Error::Config(format!("there is no column {column:?}")))?;
        if places.contains(&place) {
            return Err(Error::Config(format!("column {column:?} is named twice")));
        }
        places.push(place);
    }
    Ok(Arc::new(schema.project(&places)?))
}

/// Rows that a condition leaves, and some of their columns.
pub struct Selected<I> {
    batches: I,
    schema: SchemaRef,
    condition: Option<Filter>,
}

impl<I> Selected<I> {
    /// `from` is the schema of `batches`, `schema` that of the result: some of its columns.
    ///
    /// # Errors
    /// A condition on a missing column, and a value that cannot be compared with its type.
    pub fn new(
        batches: I,
        from: &Schema,
        schema: SchemaRef,
        filter: Option<Predicate>,
    ) -> Result<Self> {
        let condition = filter.map(|filter| condition(&filter, from)).transpose()?;
        Ok(Self { batches, schema, condition })
    }

    fn select(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let Some(condition) = &self.condition else { return conform(batch, &self.schema) };
        let mask = BooleanArray::new(condition.mask(&batch)?, None);
        let batch = conform(batch, &self.schema)?;
        Ok(filter_record_batch(&batch, &mask)?)
    }
}

impl<I: Iterator<Item = Result<RecordBatch>>> Iterator for Selected<I> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let batch = match self.batches.next()? {
                Ok(batch) => self.select(batch),
                Err(error) => return Some(Err(error)),
            };
            if !matches!(&batch, Ok(batch) if batch.num_rows() == 0) {
                return Some(batch);
            }
        }
    }
}

/// No more than some rows, and nothing after an error.
pub(crate) struct Limited<I> {
    batches: I,
    rows_left: u64,
}

impl<I> Limited<I> {
    pub(crate) fn new(batches: I, limit: Option<u64>) -> Self {
        Self { batches, rows_left: limit.unwrap_or(u64::MAX) }
    }
}

impl<I: Iterator<Item = Result<RecordBatch>>> Iterator for Limited<I> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rows_left == 0 {
            return None;
        }
        match self.batches.next()? {
            Ok(batch) => {
                let left = usize::try_from(self.rows_left).unwrap_or(usize::MAX);
                let batch = batch.slice(0, batch.num_rows().min(left));
                self.rows_left -= batch.num_rows() as u64;
                Some(Ok(batch))
            }
            Err(error) => {
                self.rows_left = 0;
                Some(Err(error))
            }
        }
    }
}

/// A condition on batches of a schema.
///
/// # Errors
/// A missing column, and a value that cannot be compared with its type.
pub(crate) fn condition(predicate: &Predicate, schema: &Schema) -> Result<Filter> {
    let fields = schema.fields().iter().map(column).collect();
    Filter::new(predicate, &ReadPlan { schema: Arc::new(schema.clone()), fields })
}

/// A column as conditions see it: structures have columns inside, lists and maps do not.
fn column(field: &FieldRef) -> Column {
    match field.data_type() {
        DataType::Struct(fields) => Column::Struct(Struct {
            field: Arc::clone(field),
            children: fields.iter().map(column).collect(),
            def: 0,
        }),
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::FixedSizeList(..)
        | DataType::Map(..)
        | DataType::Union(..) => Column::List(List {
            field: Arc::clone(field),
            kind: ListKind::Small,
            item: Box::new(leaf(field)),
            levels: RepeatedLevels { def_list: 0, def_item: 0, rep_item: 0 },
        }),
        _ => leaf(field),
    }
}

/// Conditions on a leaf depend on its type.
fn leaf(field: &FieldRef) -> Column {
    Column::Leaf(Leaf {
        field: Arc::clone(field),
        index: 0,
        path: field.name().clone(),
        physical: Physical::BYTE_ARRAY,
        type_bytes: 0,
        conversion: Conversion::AsStored,
        max_def: 0,
        max_rep: 0,
    })
}
