// SPDX-License-Identifier: Apache-2.0
//! The column of what the schema has no column for.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, Int64Array, StringArray};
use arrow_schema::{ArrowError, DataType, Field};
use arrowsmith_core::{Framing, Reject, Result};
use arrowsmith_json::rescue::Rescuer;
use arrowsmith_plan::plan::{EXTENSION_NAME_KEY, JSON_EXTENSION_NAME};

use super::bound::Origin;
use crate::work::Output;

/// The records of an output whose rows may be beyond the schema.
#[derive(Debug)]
pub(crate) struct Records<'a> {
    pub(super) text: &'a [u8],
    pub(super) framing: Framing,
    /// See [`doubtful`].
    pub(super) doubtful: &'a [u64],
}

pub(super) fn field(name: &str) -> Field {
    let json = (EXTENSION_NAME_KEY.to_owned(), JSON_EXTENSION_NAME.to_owned());
    Field::new(name, DataType::Utf8, true).with_metadata(HashMap::from([json]))
}

/// Whether the schema is known to have every key of the records in an output.
pub(super) fn nothing_left_out(output: &Output, counted: bool) -> bool {
    // What is counted of records that were read twice, or of those before an error, is not certain.
    let certain = counted && output.error.is_none() && output.report.rejects.is_empty();
    certain && output.report.left_out == 0
}

/// The numbers, in order, of records that are rows of nulls if they are not JSON.
pub(super) fn doubtful(rejects: &[Reject]) -> Vec<u64> {
    let nulled = rejects.iter().filter(|reject| reject.kept_as_null);
    nulled.map(|reject| reject.error.position.record).collect()
}

/// What is beyond the schema in the records with these numbers.
pub(super) fn column(
    rescuer: Option<&Rescuer>,
    origin: &Origin<'_>,
    numbers: Option<&Int64Array>,
    rows: usize,
) -> Result<ArrayRef> {
    let (Some(rescuer), Some(records), Some(numbers)) = (rescuer, &origin.records, numbers) else {
        return Ok(Arc::new(StringArray::new_null(rows)));
    };
    let mut column = StringBuilder::new();
    let numbers = numbers.values().iter().map(|number| number.unsigned_abs());
    let Records { text, framing, doubtful } = *records;
    for found in rescuer.records(text, framing, numbers, doubtful) {
        let bytes = column.values_slice().len() + found.as_ref().map_or(0, String::len);
        if i32::try_from(bytes).is_err() {
            return Err(ArrowError::OffsetOverflowError(bytes).into());
        }
        column.append_option(found);
    }
    Ok(Arc::new(column.finish()))
}
