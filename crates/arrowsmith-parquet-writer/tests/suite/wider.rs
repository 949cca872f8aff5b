// SPDX-License-Identifier: Apache-2.0
//! A file whose schema becomes known while it is written is the same as if it had been known.

use std::io::Cursor;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, StringArray, new_null_array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::concat::{concat, concat_batches};
use arrowsmith_parquet_writer::{Options, ParquetWriter};
use arrowsmith_testkit::parquet::random::file;
use arrowsmith_testkit::random::Rng;
use arrowsmith_testkit::scale;

use crate::settings;

/// Rows whose columns come one after another.
struct Drift {
    /// The batches, all with the final schema.
    batches: Vec<RecordBatch>,
    /// The batch with the first value of each column, 0 for those that are there from the start.
    first: Vec<usize>,
    /// Whether a column is there before as one of strings, with nulls.
    as_text: Vec<bool>,
}

impl Drift {
    fn new(rng: &mut Rng, rows: &RecordBatch) -> Self {
        let (mut ends, mut at) = (vec![0], 0);
        while at < rows.num_rows() {
            at = (at + 1 + rng.below(rows.num_rows() / 2 + 1)).min(rows.num_rows());
            ends.push(at);
        }
        let (mut columns, mut first, mut as_text) = (Vec::new(), Vec::new(), Vec::new());
        for (field, column) in rows.schema().fields().iter().zip(rows.columns()) {
            let late = if field.is_nullable() { rng.below(ends.len()) } else { 0 };
            let nulls = new_null_array(column.data_type(), ends[late]);
            let rest = column.slice(ends[late], column.len() - ends[late]);
            columns.push(concat(&[&nulls, &rest]).unwrap());
            first.push(late);
            as_text.push(rng.one_in(3));
        }
        let rows = RecordBatch::try_new(rows.schema(), columns).unwrap();
        let batch = |pair: &[usize]| rows.slice(pair[0], pair[1] - pair[0]);
        Self { batches: ends.windows(2).map(batch).collect(), first, as_text }
    }

    /// What is known of a batch when it comes.
    fn known(&self, number: usize) -> RecordBatch {
        let batch = &self.batches[number];
        let schema = batch.schema();
        let (mut fields, mut columns): (Vec<Field>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
        for (at, field) in schema.fields().iter().enumerate() {
            if self.first[at] <= number {
                fields.push(field.as_ref().clone());
                columns.push(Arc::clone(batch.column(at)));
            } else if self.as_text[at] {
                // In front of the others, so that places change.
                fields.insert(0, field.as_ref().clone().with_data_type(DataType::Utf8));
                columns.insert(0, new_null_array(&DataType::Utf8, batch.num_rows()));
            }
        }
        let metadata = schema.metadata().clone();
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        // There may be no column yet.
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(schema, columns, &rows).unwrap()
    }
}

fn whole(batches: &[RecordBatch], schema: SchemaRef, options: &Options) -> Vec<u8> {
    let mut writer = ParquetWriter::try_new(Vec::new(), schema, options.clone()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap().1
}

/// The file of a writer that learns of columns as they come, and whether it had to be completed;
/// `None` once there is a row group, without `completable`.
fn widened(
    drift: &Drift,
    schema: &SchemaRef,
    options: &Options,
    completable: bool,
) -> Option<(Vec<u8>, bool)> {
    let first = drift.known(0).schema();
    let mut writer = ParquetWriter::try_new(Vec::new(), first, options.clone()).unwrap();
    for number in 0..drift.batches.len() {
        let known = drift.known(number);
        if !writer.widen(known.schema(), completable).unwrap() {
            return None;
        }
        writer.write(&known).unwrap();
    }
    if !writer.widen(Arc::clone(schema), completable).unwrap() {
        return None;
    }
    let incomplete = writer.is_incomplete();
    if incomplete {
        writer.complete(|sink| Ok(Cursor::new(std::mem::take(sink)))).unwrap();
    }
    Some((writer.close().unwrap().1, incomplete))
}

#[test]
fn columns_that_come_late_make_the_same_file() {
    let (mut widenings, mut completed, mut refused) = (0, 0, 0);
    for seed in 0..scale::number("ARROWSMITH_SEEDS", 100, 10_000) {
        let rows = file(seed).rows;
        let rng = &mut Rng::new(seed ^ 0x77);
        if rows.num_rows() == 0 || rows.num_columns() == 0 {
            continue;
        }
        let schema = rows.schema();
        let drift = Drift::new(rng, &rows);
        let mut options = settings::options(rng, &schema);
        // There is an error for names that are not known when the file begins.
        options.encodings.clear();
        let known = drift.known(0).schema();
        let is_known = |path: &String| {
            let field = known.column_with_name(path.split('.').next().unwrap_or_default());
            field.is_some_and(|(_, field)| schema.fields().iter().any(|same| **same == *field))
        };
        options.bloom_filters.retain(is_known);
        if rng.one_in(2) {
            (options.row_group_rows, options.row_group_bytes) = (1 << 20, 256 << 20);
        }
        let expected = whole(&drift.batches, Arc::clone(&schema), &options);
        for threads in [1, 3] {
            let options = Options { threads, ..options.clone() };
            let label = format!("seed {seed}, {options:?}\n{schema:?}");
            let (found, incomplete) = widened(&drift, &schema, &options, true).unwrap();
            assert!(found == expected, "{label}");
            widenings += drift.first.iter().filter(|first| **first > 0).count();
            completed += u64::from(incomplete);
            match widened(&drift, &schema, &options, false) {
                Some((found, _)) => assert!(found == expected, "{label}"),
                None => refused += 1,
            }
        }
    }
    assert!(widenings > 50 && completed > 10 && refused > 10);
}

/// Arrays of nulls alone, of which only the number of rows is kept, are as any.
#[test]
fn nulls_in_arrays_of_their_own_make_the_same_file() {
    for seed in 0..scale::number("ARROWSMITH_SEEDS", 100, 10_000) {
        let rows = file(seed).rows;
        let rng = &mut Rng::new(seed ^ 0x19);
        if rows.num_rows() == 0 || rows.num_columns() == 0 {
            continue;
        }
        let schema = rows.schema();
        let drift = Drift::new(rng, &rows);
        // Where pages end by their size depends on the arrays.
        let mut options = settings::options(rng, &schema);
        (options.page_rows, options.page_bytes) = (1 + rng.below(500), 1 << 28);
        (options.row_group_rows, options.row_group_bytes) = (1 << 20, 1 << 30);
        let rows = concat_batches(&schema, &drift.batches).unwrap();
        let expected = whole(&[rows], Arc::clone(&schema), &options);
        let found = whole(&drift.batches, Arc::clone(&schema), &options);
        assert!(found == expected, "seed {seed}, {options:?}\n{schema:?}");
    }
}

fn batch(columns: Vec<(&str, ArrayRef, bool)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// What would need a row group that has ended, or values that have been written, to be written
/// again; the writer goes on as it was.
#[test]
fn what_is_not_wider_is_not_adopted() {
    let numbers = || Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef;
    let texts = || Arc::new(StringArray::from(vec!["x", "y"])) as ArrayRef;
    let first = batch(vec![("a", numbers(), true)]);
    let refused = [
        ("another type", batch(vec![("a", texts(), true)])),
        ("not nullable any more", batch(vec![("a", numbers(), false)])),
        ("a column less", batch(vec![("b", numbers(), true)])),
        ("a new column without nulls", batch(vec![("a", numbers(), true), ("b", texts(), false)])),
    ];
    let start = || {
        let options = Options { row_group_rows: 4, ..Options::default() };
        let mut writer = ParquetWriter::try_new(Vec::new(), first.schema(), options).unwrap();
        writer.write(&first).unwrap();
        writer
    };
    let (_, expected) = start().close().unwrap();
    for (what, wider) in refused {
        let mut writer = start();
        assert!(!writer.widen(wider.schema(), true).unwrap(), "{what}");
        assert!(writer.close().unwrap().1 == expected, "{what}");
    }
    let wider = batch(vec![("b", texts(), true), ("a", numbers(), true)]);
    let mut writer = start();
    assert!(writer.widen(wider.schema(), false).unwrap());
    writer.write(&wider).unwrap();
    let more = batch(vec![("a", numbers(), true), ("b", texts(), true), ("c", texts(), true)]);
    assert!(!writer.widen(more.schema(), false).unwrap(), "the row group has ended");
    writer.write(&wider).unwrap();
    assert!(!writer.is_incomplete());
    assert!(writer.widen(more.schema(), true).unwrap() && writer.is_incomplete());
    let message = writer.close().err().unwrap().to_string();
    assert!(message.contains("complete them first"), "{message}");
}
