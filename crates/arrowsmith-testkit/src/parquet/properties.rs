// SPDX-License-Identifier: Apache-2.0
//! Properties for every readable file: reading in batches, or a part of the columns, row groups or
//! rows, gives the corresponding part of the full result.

use std::ops::Range;

use arrow_array::RecordBatch;
use bytes::Bytes;

use super::random::{RandomFile, file};
use super::{Ask, ParquetRs, Reader, Rows, difference};
use crate::random::Rng;

/// Checks a reader on the file of a seed, read as a whole and in part.
///
/// # Errors
/// What differs, with the seed and how the file was written.
pub fn check_seed(reader: &dyn Reader, seed: u64) -> Result<(), String> {
    let RandomFile { bytes, rows, how } = file(seed);
    let told = |message: String| {
        format!("{}: seed {seed}: {message}\n{how}\n{:?}", reader.name(), rows.schema())
    };
    let expected = ParquetRs.read(&bytes, &Ask::default()).and_then(|rows| rows.concat());
    let expected = match expected {
        Err(error) if ParquetRs::refuses_sound_file(&error) => {
            return check_alone(reader, &bytes, &rows).map_err(told);
        }
        expected => expected.map_err(|error| told(format!("parquet-rs: {error}")))?,
    };
    if expected.num_rows() != rows.num_rows() {
        return Err(told(format!("parquet-rs: {} rows", expected.num_rows())));
    }
    check_file(reader, &bytes, &expected, seed).map_err(told)
}

/// Checks a reader on a file that the reference refuses: it has as many rows as were written, also
/// in small batches, and the same ones both times.
fn check_alone(reader: &dyn Reader, bytes: &Bytes, rows: &RecordBatch) -> Result<(), String> {
    if reader.name() == ParquetRs.name() {
        return Ok(());
    }
    let read = reader.read(bytes, &Ask::default())?.concat()?;
    if read.num_rows() != rows.num_rows() {
        return Err(format!("{} rows of {}", read.num_rows(), rows.num_rows()));
    }
    agree(reader, bytes, &Ask { batch_rows: Some(3), ..Ask::default() }, &read)
}

/// Checks a reader against the known rows of a file, read as a whole and in parts that are chosen
/// by a seed.
///
/// # Errors
/// The difference.
pub fn check_file(
    reader: &dyn Reader,
    bytes: &Bytes,
    expected: &RecordBatch,
    seed: u64,
) -> Result<(), String> {
    let rng = &mut Rng::new(seed ^ 0x9A27);
    agree(reader, bytes, &Ask::default(), expected)?;

    let batch_rows = Some(*rng.pick(&[1, 3, 100, 1_000, 1_024, 65_536]));
    let ask = Ask { batch_rows, ..Ask::default() };
    agree(reader, bytes, &ask, expected)?;

    let chosen: Vec<usize> = (0..expected.num_columns()).filter(|_| rng.one_in(2)).collect();
    let some = expected.project(&chosen).map_err(|error| error.to_string())?;
    let ask = Ask { columns: Some(chosen), batch_rows, ..Ask::default() };
    agree(reader, bytes, &ask, &some)?;

    let rows = ranges(rng, expected.num_rows());
    let some = take(expected, &rows)?;
    for batch_rows in [None, batch_rows] {
        let ask = Ask { rows: Some(rows.clone()), batch_rows, ..Ask::default() };
        agree(reader, bytes, &ask, &some)?;
    }

    // All combined, against the reference with the same request.
    let groups = group_rows(bytes)?;
    let row_groups: Vec<usize> = (0..groups.len()).filter(|_| rng.one_in(2)).collect();
    let left = row_groups.iter().map(|group| groups[*group]).sum();
    let columns = (0..expected.num_columns()).filter(|_| !rng.one_in(3)).collect();
    let rows = ranges(rng, left);
    let ask = Ask {
        batch_rows,
        columns: Some(columns),
        row_groups: Some(row_groups),
        rows: rng.one_in(2).then_some(rows),
        condition: None,
    };
    let some = ParquetRs.read(bytes, &ask)?.concat()?;
    agree(reader, bytes, &ask, &some)
}

fn agree(
    reader: &dyn Reader,
    bytes: &Bytes,
    ask: &Ask,
    expected: &RecordBatch,
) -> Result<(), String> {
    let found = reader.read(bytes, ask).map_err(|error| format!("{ask:?}: {error}"))?;
    if let Some(most) = ask.batch_rows {
        short_batches(&found, most).map_err(|error| format!("{ask:?}: {error}"))?;
    }
    let found = found.concat().map_err(|error| format!("{ask:?}: {error}"))?;
    match difference(&found, expected) {
        None => Ok(()),
        Some(text) => Err(format!("{ask:?}: {text}")),
    }
}

fn short_batches(rows: &Rows, most: usize) -> Result<(), String> {
    match rows.batches.iter().find(|batch| batch.num_rows() > most || batch.num_rows() == 0) {
        None => Ok(()),
        Some(batch) => Err(format!("a batch of {} rows", batch.num_rows())),
    }
}

/// Ascending ranges of rows with gaps: many short ones, or a few long ones.
pub(super) fn ranges(rng: &mut Rng, rows: usize) -> Vec<Range<usize>> {
    let longest = *rng.pick(&[3, 50, 1 + rows / 2]);
    let mut ranges = Vec::new();
    let mut start = rng.below(longest);
    while start < rows {
        let end = (start + 1 + rng.below(longest)).min(rows);
        ranges.push(start..end);
        start = end + 1 + rng.below(longest);
    }
    ranges
}

fn take(batch: &RecordBatch, ranges: &[Range<usize>]) -> Result<RecordBatch, String> {
    let slices: Vec<_> = ranges.iter().map(|range| batch.slice(range.start, range.len())).collect();
    arrow_select::concat::concat_batches(&batch.schema(), &slices).map_err(|e| e.to_string())
}

fn group_rows(bytes: &Bytes) -> Result<Vec<usize>, String> {
    let metadata = parquet::file::metadata::ParquetMetaDataReader::new().parse_and_finish(bytes);
    let metadata = metadata.map_err(|error| error.to_string())?;
    let groups = metadata.row_groups().iter();
    groups.map(|group| usize::try_from(group.num_rows()).map_err(|e| e.to_string())).collect()
}
