// SPDX-License-Identifier: Apache-2.0
//! Whether a row group has the rows that its metadata says, for readings that decode no column of it: whoever
//! decodes one meets its pages, and finds out.

use arrowsmith_core::{Error, FileErrorKind, Result};

use crate::file::File;
use crate::pages::Pages;

/// Rows that are believed for each byte of a column chunk: more are counted.
const ROWS_PER_BYTE: u64 = 64;

/// Rows that a row group may have of which no column chunk can be looked at.
const ROWS_UNSEEN_MAX: u64 = i32::MAX.unsigned_abs() as u64;

/// The column whose pages have to be counted ([`count_rows`]) before the rows of a row group are believed; none
/// where its bytes are enough for them.
///
/// # Errors
/// More rows than the row group's bytes can stand for.
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
            _ => Err(wrong(format!("{rows} rows and no column to show for them"))),
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

/// Goes over the headers of a column's pages, whose values have to be those that its metadata says.
///
/// # Errors
/// Fewer values, or pages that are not sound.
pub fn count_rows(file: &File, row_group: usize, leaf: usize) -> Result<()> {
    let mut pages = Pages::new(file, row_group, leaf)?;
    while pages.peek()?.is_some() {
        pages.skip()?;
    }
    Ok(())
}
