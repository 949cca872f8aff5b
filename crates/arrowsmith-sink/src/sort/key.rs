// SPDX-License-Identifier: Apache-2.0
//! [`SortKey`]: a column to sort by, and its direction.

use std::fmt;
use std::str::FromStr;

use arrow_array::RecordBatch;
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{SchemaRef, SortOptions as Direction};
use arrowsmith_core::{Error, Result};

/// A column to sort by: `ts`, or `ts desc` for the largest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortKey {
    /// The name of the column.
    pub column: String,
    /// Whether the largest value is first.
    pub descending: bool,
}

impl FromStr for SortKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let (column, descending) = match text.rsplit_once(char::is_whitespace) {
            Some((column, word)) if word.eq_ignore_ascii_case("desc") => (column.trim_end(), true),
            Some((column, word)) if word.eq_ignore_ascii_case("asc") => (column.trim_end(), false),
            _ => (text, false),
        };
        match column {
            "" => Err(Error::Config("to sort by, name a column: `ts` or `ts desc`".to_owned())),
            column => Ok(Self { column: column.to_owned(), descending }),
        }
    }
}

impl fmt::Display for SortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.column)?;
        if self.descending { f.write_str(" desc") } else { Ok(()) }
    }
}

/// The keys of rows, as bytes that are in the order of the rows.
pub(super) struct Keys {
    columns: Vec<usize>,
    converter: RowConverter,
}

impl Keys {
    pub(super) fn new(schema: &SchemaRef, keys: &[SortKey]) -> Result<Self> {
        let (mut columns, mut fields) = (Vec::new(), Vec::new());
        for key in keys {
            let (at, field) = schema
                .column_with_name(&key.column)
                .ok_or_else(|| Error::schema(&key.column, "there is no such column to sort by"))?;
            let direction = Direction { descending: key.descending, nulls_first: false };
            let sort = SortField::new_with_options(field.data_type().clone(), direction);
            if !RowConverter::supports_fields(std::slice::from_ref(&sort)) {
                let message = format!("{} has no order to sort by", field.data_type());
                return Err(Error::schema(&key.column, message));
            }
            columns.push(at);
            fields.push(sort);
        }
        if columns.is_empty() {
            return Err(Error::Config("to sort by, name a column".to_owned()));
        }
        Ok(Self { columns, converter: RowConverter::new(fields)? })
    }

    /// The keys of a batch.
    pub(super) fn of(&self, batch: &RecordBatch) -> Result<Rows> {
        let columns: Vec<_> = self.columns.iter().map(|at| batch.column(*at).clone()).collect();
        Ok(self.converter.convert_columns(&columns)?)
    }
}
