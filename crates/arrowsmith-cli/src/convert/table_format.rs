// SPDX-License-Identifier: Apache-2.0
//! Delta and Iceberg tables as inputs, by the arguments.

use arrowsmith::ParquetReadOptions;
use arrowsmith::parquet::{Table, TableFormat};

use crate::args::{Format, InputArgs};
use crate::failure::{Failure, Outcome};

/// The one table that the arguments name; `None` if they name files. Partition columns have the
/// types of the table, unless others are given.
pub fn open(
    format: Format,
    args: &InputArgs,
    options: &mut ParquetReadOptions,
) -> Outcome<Option<Table>> {
    let format = match format {
        Format::Delta => TableFormat::Delta,
        Format::Iceberg => TableFormat::Iceberg,
        _ => return Ok(None),
    };
    let [name] = args.inputs.as_slice() else {
        let message = format!("--format {} reads one table", format.to_string().to_lowercase());
        return Err(Failure::Usage(message));
    };
    #[cfg(not(feature = "store"))]
    if crate::input::is_url(name) {
        return Err(crate::input::no_store(name));
    }
    let table = Table::open(format, name)?;
    options.partitions = options.partitions.take().or_else(|| table.partitions().map(Into::into));
    Ok(Some(table))
}
