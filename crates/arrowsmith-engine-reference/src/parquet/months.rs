// SPDX-License-Identifier: Apache-2.0
//! Months of INTERVAL columns, which the `parquet` crate omits silently: an interval has months,
//! days and milliseconds, and what Arrow schema does not say becomes `interval(day-time)`. They are
//! read separately, and a value that has some is rejected, as the `cpu` engine does.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::IntervalYearMonthType;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, FieldRef, Fields, IntervalUnit, Schema};
use arrowsmith_core::{Error, FileErrorKind, Result};

/// The type with months in place of days and milliseconds; `None` if it has no such interval.
fn with_months(data_type: &DataType) -> Option<DataType> {
    let inside = |field: &FieldRef| field_with_months(field).map(Arc::new);
    Some(match data_type {
        DataType::Interval(IntervalUnit::DayTime) => DataType::Interval(IntervalUnit::YearMonth),
        DataType::List(item) => DataType::List(inside(item)?),
        DataType::LargeList(item) => DataType::LargeList(inside(item)?),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(inside(item)?, *size),
        DataType::Map(entries, sorted) => DataType::Map(inside(entries)?, *sorted),
        DataType::Struct(fields) => DataType::Struct(fields_with_months(fields)?),
        _ => return None,
    })
}

fn field_with_months(field: &FieldRef) -> Option<Field> {
    let data_type = with_months(field.data_type())?;
    Some(field.as_ref().clone().with_data_type(data_type))
}

fn fields_with_months(fields: &Fields) -> Option<Fields> {
    let found: Vec<Option<Field>> = fields.iter().map(field_with_months).collect();
    found.iter().any(Option::is_some).then(|| {
        let pairs = fields.iter().zip(found);
        pairs.map(|(field, found)| found.map_or_else(|| Arc::clone(field), Arc::new)).collect()
    })
}

/// The schema by which months are read; `None` if no column omits any.
pub(super) fn schema(schema: &Schema) -> Option<Schema> {
    let fields = fields_with_months(schema.fields())?;
    Some(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Whether a column omits months.
pub(super) fn omits_months(data_type: &DataType) -> bool {
    with_months(data_type).is_some()
}

/// Rejects a batch that has months.
///
/// # Errors
/// [`FileErrorKind::Overflow`].
pub(super) fn check(batch: &RecordBatch) -> Result<()> {
    if batch.columns().iter().any(has_months) {
        let message = "an interval with months, which interval(day-time) does not have";
        return Err(Error::file(FileErrorKind::Overflow, message));
    }
    Ok(())
}

fn has_months(array: &ArrayRef) -> bool {
    match array.data_type() {
        DataType::Interval(IntervalUnit::YearMonth) => {
            let months = array.as_primitive::<IntervalYearMonthType>();
            months.iter().flatten().any(|months| months != 0)
        }
        DataType::List(_) => has_months(array.as_list::<i32>().values()),
        DataType::LargeList(_) => has_months(array.as_list::<i64>().values()),
        DataType::FixedSizeList(..) => has_months(array.as_fixed_size_list().values()),
        DataType::Map(..) => array.as_map().entries().columns().iter().any(has_months),
        DataType::Struct(_) => array.as_struct().columns().iter().any(has_months),
        _ => false,
    }
}
