// SPDX-License-Identifier: Apache-2.0
//! Partition columns: values from folder names, constant for all rows of a file.
//!
//! Their type is inferred over all files, unless it is declared: int64 if all values are such
//! numbers, date32 if all are dates, else utf8. A condition on them is decided once for each file.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, RecordBatch, RecordBatchOptions, StringArray, UInt32Array, new_null_array,
};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow_select::take::take;
use arrowsmith_core::{Error, Result};
use arrowsmith_parquet::{Column, Conversion, Filter, Leaf, Physical, Predicate, ReadPlan};
use arrowsmith_source::DataFile;

use crate::{decide, exact};

/// The partition columns of a set of files.
#[derive(Debug, Clone, Default)]
pub struct Partitions {
    pub(crate) fields: Vec<FieldRef>,
}

impl Partitions {
    /// Names from the files, types declared or inferred.
    ///
    /// # Errors
    /// Files with other names than the first, two folders of one name, and a declared type of a
    /// column that no folder has.
    pub fn new(files: &[DataFile], declared: &[FieldRef]) -> Result<Self> {
        let Some(first) = files.first() else { return Ok(Self::default()) };
        let mut fields: Vec<FieldRef> = Vec::new();
        for (place, (name, _)) in first.partitions.iter().enumerate() {
            if fields.iter().any(|field| field.name() == name) {
                return Err(Error::Config(format!("two folders give values of {name}")));
            }
            let declared = declared.iter().find(|field| field.name() == name);
            let data_type = match declared {
                Some(field) => field.data_type().clone(),
                None => {
                    let values = files.iter().filter_map(|file| {
                        file.partitions.get(place).and_then(|(_, value)| value.as_deref())
                    });
                    inferred(values)
                }
            };
            fields.push(Arc::new(Field::new(name, data_type, true)));
        }
        for file in files {
            let names = file.partitions.iter().map(|(name, _)| name);
            if !names.eq(fields.iter().map(|field| field.name())) {
                let name = file.input.name().unwrap_or_else(|| "bytes in memory".into());
                return Err(Error::Config(format!("{name}: has other partition names")));
            }
        }
        if let Some(other) = declared
            .iter()
            .find(|field| !first.partitions.iter().any(|(name, _)| name == field.name()))
        {
            return Err(Error::Config(format!("no folder gives values of {}", other.name())));
        }
        Ok(Self { fields })
    }

    /// The columns, all of which may be null.
    pub fn fields(&self) -> &[FieldRef] {
        &self.fields
    }

    /// A schema of files, with the partition columns after the others. A folder's name counts more
    /// than a column of the same name.
    pub fn schema(&self, files: &SchemaRef) -> SchemaRef {
        if self.fields.is_empty() {
            return Arc::clone(files);
        }
        let own = files.fields().iter().filter(|field| !self.has(field.name()));
        let fields: Vec<FieldRef> = own.chain(&self.fields).cloned().collect();
        Arc::new(Schema::new_with_metadata(fields, files.metadata().clone()))
    }

    /// A batch of a file with these [`values`](Self::values), by [`Partitions::schema`].
    ///
    /// # Errors
    /// Values that are not of these columns.
    pub fn extend(&self, batch: &RecordBatch, values: &[ArrayRef]) -> Result<RecordBatch> {
        let schema = self.schema(batch.schema_ref());
        let own = batch.schema_ref().fields().iter().zip(batch.columns());
        let own = own.filter(|(field, _)| !self.has(field.name()));
        let mut columns: Vec<ArrayRef> = own.map(|(_, column)| Arc::clone(column)).collect();
        for value in values {
            columns.push(repeated(value, batch.num_rows())?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
    }

    /// Whether a path names a partition column.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name() == name)
    }

    /// The values of a file, as arrays of one row.
    ///
    /// # Errors
    /// A value that is not of the column's type.
    pub fn values(&self, file: &DataFile) -> Result<Vec<ArrayRef>> {
        let values = self.fields.iter().zip(&file.partitions).map(|(field, (name, value))| {
            let Some(value) = value else { return Ok(new_null_array(field.data_type(), 1)) };
            let text: ArrayRef = Arc::new(StringArray::from(vec![value.as_str()]));
            exact::cast(&text, field.data_type()).map_err(|_| {
                let file = file.input.name().unwrap_or_default();
                let data_type = field.data_type();
                Error::Config(format!("{file}: {name}={value} is not a value of type {data_type}"))
            })
        });
        values.collect()
    }

    /// The rest of a condition for a file with these values. Columns that are `absent` from it are
    /// null in all of its rows.
    pub(crate) fn decide(
        &self,
        predicate: &Predicate,
        values: &[ArrayRef],
        absent: &[&str],
    ) -> Result<Predicate> {
        if self.fields.is_empty() && absent.is_empty() {
            return Ok(predicate.clone());
        }
        let schema = Arc::new(Schema::new(self.fields.clone()));
        let fields = self.fields.iter().enumerate().map(|(index, field)| column(index, field));
        let plan = ReadPlan { fields: fields.collect(), schema: Arc::clone(&schema) };
        let count = RecordBatchOptions::new().with_row_count(Some(1));
        let row = RecordBatch::try_new_with_options(schema, values.to_vec(), &count)?;
        let holds = |test: &Predicate| -> Result<bool> {
            Ok(Filter::new(test, &plan)?.mask(&row)?.count_set_bits() == 1)
        };
        decide::decide(predicate, &|test| {
            let columns = test.columns();
            if columns.iter().all(|column| absent.contains(column)) {
                let is_null = matches!(test, Predicate::IsNull(_)).then_some(true);
                return Ok(Some(is_null));
            }
            if !columns.iter().all(|column| self.has(column)) {
                return Ok(None);
            }
            if holds(test)? {
                return Ok(Some(Some(true)));
            }
            let is_false = holds(&Predicate::Not(Box::new(test.clone())))?;
            Ok(Some(is_false.then_some(false)))
        })
    }
}

/// An array of one row as one of `rows` rows.
pub(crate) fn repeated(value: &ArrayRef, rows: usize) -> Result<ArrayRef> {
    Ok(take(value, &UInt32Array::from_value(0, rows), None)?)
}

/// A partition column as a condition needs it. It is in no file, so it is never used for pruning.
pub(crate) fn column(index: usize, field: &FieldRef) -> Column {
    Column::Leaf(Leaf {
        field: Arc::clone(field),
        index,
        path: field.name().clone(),
        physical: Physical::BYTE_ARRAY,
        type_bytes: 0,
        conversion: Conversion::AsStored,
        max_def: 1,
        max_rep: 0,
    })
}

fn inferred<'a>(values: impl Iterator<Item = &'a str> + Clone) -> DataType {
    // `007` is a name, not a number: the text would not survive the round trip.
    let number = |text: &str| {
        text.parse::<i64>().is_ok_and(|value| value.to_string() == text)
            || (text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let date = |text: &str| {
        text.len() == 10
            && text.bytes().enumerate().all(|(at, byte)| match at {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            })
            && is_date(text)
    };
    if values.clone().next().is_none() {
        DataType::Utf8
    } else if values.clone().all(number) {
        DataType::Int64
    } else if values.clone().all(date) {
        DataType::Date32
    } else {
        DataType::Utf8
    }
}

fn is_date(text: &str) -> bool {
    let array: ArrayRef = Arc::new(StringArray::from(vec![text]));
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(&array, &DataType::Date32, &options).is_ok()
}
