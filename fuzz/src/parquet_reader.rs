// SPDX-License-Identifier: Apache-2.0
//! Bodies of the targets that read whole Parquet files as a user does: any bytes, and random files
//! that are valid or nearly so, compared with the `parquet` crate.

use arrow_array::RecordBatchReader;
use arrowsmith::parquet::{
    Columns, LateColumns, Predicate, ReaderBuilder, RowSelection, StringForm, open_file,
};
use arrowsmith::{Input, ParquetReadOptions};
use arrowsmith_testkit::parquet::{
    Ask, Reader, Rows, broken, claims, predicates, properties, random,
};
use bytes::Bytes;

use crate::parquet::limits;

/// The library's reader.
struct Library;

impl Reader for Library {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn read(&self, file: &Bytes, ask: &Ask) -> Result<Rows, String> {
        let condition = ask.condition.as_deref().map(Predicate::parse).transpose();
        let mut options = ParquetReadOptions {
            filter: condition.map_err(|error| error.to_string())?,
            batch_rows: ask.batch_rows,
            row_groups: ask.row_groups.clone(),
            ..plain()
        };
        if let Some(columns) = &ask.columns {
            let file = open_file(Input::bytes(file.clone()), &limits());
            let file = file.map_err(|error| error.to_string())?;
            let fields = file.metadata().file_metadata().schema_descr().root_schema().get_fields();
            let names = columns.iter().map(|at| fields[*at].name().to_owned());
            options.columns = Some(names.collect());
        }
        let rows = ask.rows.as_ref().map(|rows| RowSelection::from_ranges(rows.iter().cloned()));
        read(ReaderBuilder::new().options(options).rows(rows), std::slice::from_ref(file))
    }
}

/// The defaults, for one thread and little memory.
fn plain() -> ParquetReadOptions {
    let limits = limits();
    ParquetReadOptions {
        threads: Some(1),
        depth_max: limits.depth_max,
        memory_bytes_max: limits.memory_bytes_max,
        metadata_bytes_max: limits.metadata_bytes_max,
        page_bytes_max: limits.page_bytes_max,
        ..ParquetReadOptions::default()
    }
}

fn read(builder: ReaderBuilder, files: &[Bytes]) -> Result<Rows, String> {
    let reader = builder.open(files.iter().map(|file| Input::bytes(file.clone())));
    let mut reader = reader.map_err(|error| error.to_string())?;
    let mut batches = Vec::new();
    while let Some(batch) = reader.next_batch().map_err(|error| error.to_string())? {
        batches.push(batch);
    }
    Ok(Rows { schema: reader.schema(), batches })
}

/// Any bytes as a file, read in several forms: all arrays are valid.
pub fn parquet_reader(data: &[u8]) {
    let bytes = [Bytes::copy_from_slice(data)];
    // A file of a few bytes may declare any number of null rows.
    let few = ParquetReadOptions { limit: Some(10_000), batch_rows: Some(999), ..plain() };
    for options in [
        few.clone(),
        ParquetReadOptions { strings: StringForm::View, arrow_schema: false, ..few.clone() },
        ParquetReadOptions { dictionary: Columns::All, verify_checksums: true, ..few },
    ] {
        let Ok(rows) = read(ReaderBuilder::new().options(options), &bytes) else { continue };
        if let Err(error) = rows.concat() {
            assert!(error.to_lowercase().contains("overflow"), "{error}");
        }
    }
}

/// Eight bytes as the seed of a file whose counts contradict each other.
pub fn parquet_claims(data: &[u8]) {
    let Some(seed) = data.first_chunk() else { return };
    parquet_reader(&claims::claiming_file(u64::from_le_bytes(*seed)));
}

/// Eight bytes as the seed of a random file, read with all options.
pub fn parquet_random(data: &[u8]) {
    let Some(seed) = data.first_chunk() else { return };
    let seed = u64::from_le_bytes(*seed);
    for check in [properties::check_seed, predicates::check_seed, broken::check_seed] {
        if let Err(difference) = crate::budget::lifted(|| check(&Library, seed)) {
            panic!("{difference}");
        }
    }
    crate::budget::lifted(|| files_that_differ(seed));
}

/// Two random files with the columns of both. What the first has is as in itself, unless another
/// type holds the values of the other, too; types may also have nothing in common.
fn files_that_differ(seed: u64) {
    let files = [random::file(seed).bytes, random::file(seed.rotate_left(32) ^ 1).bytes];
    let Ok(alone) = read(ReaderBuilder::new().options(plain()), &files[..1]) else { return };
    let alone = alone.concat().unwrap();
    for late_columns in [LateColumns::Add, LateColumns::Ignore] {
        let options = ParquetReadOptions { late_columns, ..plain() };
        let Ok(both) = read(ReaderBuilder::new().options(options), &files) else { continue };
        let both = both.concat().unwrap();
        assert!(both.num_rows() >= alone.num_rows());
        for (field, column) in alone.schema().fields().iter().zip(alone.columns()) {
            let found = both.column_by_name(field.name()).expect("a column of the first file");
            if found.data_type() == column.data_type() {
                assert_eq!(&found.slice(0, column.len()), column, "seed {seed}, {field}");
            }
        }
    }
}
