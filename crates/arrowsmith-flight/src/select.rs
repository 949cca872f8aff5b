// SPDX-License-Identifier: Apache-2.0
//! Conditions, columns and limits over batches that are in Arrow already: mapped files, memory, JSON.
//!
//! The Parquet reader applies conditions itself, before it decodes. Here they are evaluated with Arrow's kernels, in
//! the same logic of three values: a comparison with null is neither true nor false, and a row stays only where the
//! whole is true. No I/O.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Datum, RecordBatch, RecordBatchOptions, Scalar,
    StringArray, new_null_array,
};
use arrow_cast::{CastOptions, cast, cast_with_options};
use arrow_ord::cmp;
use arrow_schema::{DataType, Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use arrowsmith::parquet::{Comparison, Literal, Predicate};
use arrowsmith::{Error, Result};

use arrow_arith::boolean::{and_kleene, not, or_kleene};

/// A batch with the columns of `schema`, found by name, and its schema.
pub(crate) fn conform(batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    if Arc::ptr_eq(batch.schema_ref(), schema) || batch.schema_ref() == schema {
        return Ok(batch);
    }
    let rows = batch.num_rows();
    let column = |field: &arrow_schema::FieldRef| match batch.column_by_name(field.name()) {
        Some(column) if column.data_type() == field.data_type() => Ok(Arc::clone(column)),
        Some(column) => Ok(cast(column, field.data_type())?),
        None => Ok(new_null_array(field.data_type(), rows)),
    };
    let columns = schema.fields().iter().map(column).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// Rows that a condition leaves, and some of their columns.
pub(crate) struct Selected<I> {
    batches: I,
    schema: SchemaRef,
    condition: Option<Condition>,
}

impl<I> Selected<I> {
    /// `from` is the schema of `batches`, `schema` that of what comes out.
    pub(crate) fn new(
        batches: I,
        from: &Schema,
        schema: SchemaRef,
        filter: Option<Predicate>,
    ) -> Result<Self> {
        let condition = filter.map(|filter| Condition::new(&filter, from)).transpose()?;
        Ok(Self { batches, schema, condition })
    }

    fn select(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let Some(condition) = &self.condition else { return conform(batch, &self.schema) };
        let mask = condition.mask(&batch)?;
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

/// A condition whose columns are found and whose literals have their columns' types.
pub(crate) enum Condition {
    Compare(Path, Comparison, Scalar<ArrayRef>),
    IsNull(Path),
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
}

/// A column, or a field inside of structs: places from the top.
pub(crate) struct Path(Vec<usize>);

impl Condition {
    pub(crate) fn new(predicate: &Predicate, schema: &Schema) -> Result<Self> {
        Ok(match predicate {
            Predicate::Compare { column, comparison, value } => {
                let (path, data_type) = find(column, schema)?;
                Self::Compare(path, *comparison, literal(column, value, &data_type)?)
            }
            Predicate::In { column, values } => {
                let one = |value: &Literal| {
                    let (path, data_type) = find(column, schema)?;
                    let value = literal(column, value, &data_type)?;
                    Ok(Self::Compare(path, Comparison::Equal, value))
                };
                Self::Any(values.iter().map(one).collect::<Result<_>>()?)
            }
            Predicate::IsNull(column) => Self::IsNull(find(column, schema)?.0),
            Predicate::And(parts) => {
                Self::All(parts.iter().map(|part| Self::new(part, schema)).collect::<Result<_>>()?)
            }
            Predicate::Or(parts) => {
                Self::Any(parts.iter().map(|part| Self::new(part, schema)).collect::<Result<_>>()?)
            }
            Predicate::Not(part) => Self::Not(Box::new(Self::new(part, schema)?)),
        })
    }

    fn mask(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let rows = batch.num_rows();
        Ok(match self {
            Self::Compare(path, comparison, value) => {
                let column = path.column(batch)?;
                let (column, value): (&dyn Datum, &dyn Datum) = (&column, value);
                match comparison {
                    Comparison::Equal => cmp::eq(column, value)?,
                    Comparison::NotEqual => cmp::neq(column, value)?,
                    Comparison::Less => cmp::lt(column, value)?,
                    Comparison::LessOrEqual => cmp::lt_eq(column, value)?,
                    Comparison::Greater => cmp::gt(column, value)?,
                    Comparison::GreaterOrEqual => cmp::gt_eq(column, value)?,
                }
            }
            Self::IsNull(path) => match path.column(batch)?.logical_nulls() {
                Some(nulls) => BooleanArray::new(!nulls.inner(), None),
                None => BooleanArray::from(vec![false; rows]),
            },
            Self::All(parts) => {
                let mut all = BooleanArray::from(vec![true; rows]);
                for part in parts {
                    all = and_kleene(&all, &part.mask(batch)?)?;
                }
                all
            }
            Self::Any(parts) => {
                let mut any = BooleanArray::from(vec![false; rows]);
                for part in parts {
                    any = or_kleene(&any, &part.mask(batch)?)?;
                }
                any
            }
            Self::Not(part) => not(&part.mask(batch)?)?,
        })
    }
}

impl Path {
    fn column(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        let gone = || Error::Config("condition: a column is not there".to_owned());
        let (first, rest) = self.0.split_first().ok_or_else(gone)?;
        let mut column = Arc::clone(batch.columns().get(*first).ok_or_else(gone)?);
        for place in rest {
            let parent =
                column.as_any().downcast_ref::<arrow_array::StructArray>().ok_or_else(gone)?;
            let child = Arc::clone(parent.columns().get(*place).ok_or_else(gone)?);
            // A field of a null is null.
            let nulls = arrow_buffer::NullBuffer::union(parent.nulls(), child.nulls());
            let data = child.to_data().into_builder().nulls(nulls).build()?;
            column = arrow_array::make_array(data);
        }
        Ok(column)
    }
}

/// A column by its path; one whose name has dots is found too.
fn find(column: &str, schema: &Schema) -> Result<(Path, DataType)> {
    let missing = || Error::Config(format!("condition: there is no column {column:?}"));
    if let Ok(place) = schema.index_of(column) {
        return Ok((Path(vec![place]), schema.field(place).data_type().clone()));
    }
    let mut fields = schema.fields();
    let mut places = Vec::new();
    let mut parts = column.split('.').peekable();
    while let Some(part) = parts.next() {
        let (place, field) = fields.find(part).ok_or_else(missing)?;
        places.push(place);
        match field.data_type() {
            data_type if parts.peek().is_none() => return Ok((Path(places), data_type.clone())),
            DataType::Struct(children) => fields = children,
            _ => return Err(missing()),
        }
    }
    Err(missing())
}

/// A literal in its column's type. What the type cannot hold is an error, not null.
fn literal(column: &str, value: &Literal, data_type: &DataType) -> Result<Scalar<ArrayRef>> {
    let to = match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    };
    let array: ArrayRef = match value {
        Literal::Number(text) | Literal::Text(text) => {
            Arc::new(StringArray::from(vec![text.as_str()]))
        }
        Literal::Bytes(bytes) => Arc::new(BinaryArray::from(vec![bytes.as_slice()])),
        Literal::Boolean(value) => Arc::new(BooleanArray::from(vec![*value])),
    };
    let fits = match value {
        Literal::Number(_) => to.is_numeric(),
        Literal::Text(_) => !to.is_numeric() && !to.is_nested() && *to != DataType::Boolean,
        Literal::Bytes(_) => matches!(
            to,
            DataType::Binary
                | DataType::LargeBinary
                | DataType::BinaryView
                | DataType::FixedSizeBinary(_)
        ),
        Literal::Boolean(_) => *to == DataType::Boolean,
    };
    let refuse = |why: &str| {
        Error::Config(format!(
            "condition: column {column:?} has type {to}, not that of {value}{why}"
        ))
    };
    if !fits {
        return Err(refuse(""));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let array =
        cast_with_options(&array, to, &options).map_err(|error| refuse(&format!(": {error}")))?;
    Ok(Scalar::new(array))
}
