// SPDX-License-Identifier: Apache-2.0
//! Checks that a row group has as many rows as its metadata says, for readings that decode no
//! column of it; decoding a column checks that by itself.

use arrowsmith_core::{Error, FileErrorKind, Result};

use crate::file::File;
use crate::pages::Pages;

/// Rows per byte of a column chunk that are plausible without counting.
const ROWS_PER_BYTE: u64 = 64;

/// Maximum rows of a row group without a readable column chunk.
const ROWS_UNSEEN_MAX: u64 = i32::MAX.unsigned_abs() as u64;

/// The column whose pages have to be counted ([`count_rows`]) before the rows of a row group are
/// trusted; none where its bytes are enough for them.
///
/// # Errors
/// More rows than the row group's bytes can hold.
pub fn uncounted_column(file: &File, row_group: usize) -> Result<Option<usize>> {
    let rows = file.row_group_rows(row_group)? as u64;
    let wrong = |message: String| {
        file.error(FileErrorKind::Corrupt, message).at(|place| place.row_group = Some(row_group))
    };
    let repeats =
        |leaf| file.chunk(row_group, leaf).is_ok_and(|c| c.column_descr().max_rep_level() > 0);
    let leaves = file.metadata().file_metadata().schema_descr().num_columns();
    // The shortest that has a value for each row.
    let shortest = (0..leaves)
        .filter_map(|leaf| Some((leaf, file.chunk_range(row_group, leaf).ok()?)))
        .min_by_key(|(leaf, range)| (repeats(*leaf), range.end - range.start));
    let Some((leaf, range)) = shortest else {
        return match rows {
            0..=ROWS_UNSEEN_MAX => Ok(None),
            _ => Err(wrong(format!("{rows} rows without a column"))),
        };
    };
    file.plausible_values(row_group, leaf)?;
    let values = file.chunk(row_group, leaf)?.num_values();
    let enough = u64::try_from(values).is_ok_and(|values| values >= rows);
    if !enough || (!repeats(leaf) && values.unsigned_abs() != rows) {
        let message = format!("{values} values in a row group of {rows} rows");
        return Err(file.place(Error::file(FileErrorKind::Corrupt, message), row_group, leaf));
    }
    Ok((rows / ROWS_PER_BYTE > range.end - range.start).then_some(leaf))
}

/// Reads the headers of a column's pages, and checks the number of values against the metadata.
///
/// # Errors
/// Fewer values, or pages that are malformed.
pub fn count_rows(file: &File, row_group: usize, leaf: usize) -> Result<()> {
    let mut pages = Pages::new(file, row_group, leaf)?;
    while pages.peek()?.is_some() {
        pages.skip()?;
    }
    Ok(())
}
