// SPDX-License-Identifier: Apache-2.0
//! The library's Parquet reader, as a user calls it, against the `parquet` crate: random files read
//! as a whole, in part and with conditions, corrupted files, and third-party files. The instruction
//! set is the best, or the one in `ARROWSMITH_CPU`.

use arrow_array::RecordBatchReader;
use arrowsmith::parquet::{EXTENSIONS, Predicate, ReaderBuilder, RowSelection, open_file};
use arrowsmith::{Input, ParquetReadOptions};
use arrowsmith_testkit::parquet::{Ask, Reader, Rows, broken, corpora, predicates, properties};
use arrowsmith_testkit::{scale, tools};
use bytes::Bytes;

struct Library {
    engine: &'static str,
    threads: usize,
    /// Whether it reads from a file instead of memory.
    disk: bool,
}

impl Reader for Library {
    fn name(&self) -> &str {
        self.engine
    }

    fn read(&self, file: &Bytes, ask: &Ask) -> Result<Rows, String> {
        self.read(file, ask).map_err(|error| error.to_string())
    }
}

impl Library {
    fn read(&self, bytes: &Bytes, ask: &Ask) -> arrowsmith::Result<Rows> {
        let file = self.disk.then(|| tempfile::NamedTempFile::new().expect("a file can be made"));
        if let Some(file) = &file {
            std::fs::write(file.path(), bytes).expect("the file can be written");
        }
        let input = || match &file {
            Some(file) => Input::from(file.path()),
            None => Input::bytes(bytes.clone()),
        };
        let mut options = ParquetReadOptions {
            engine: self.engine.to_owned(),
            threads: Some(self.threads),
            batch_rows: ask.batch_rows,
            row_groups: ask.row_groups.clone(),
            filter: ask.condition.as_deref().map(Predicate::parse).transpose()?,
            ..ParquetReadOptions::default()
        };
        if let Some(columns) = &ask.columns {
            let file = open_file(input(), &arrowsmith::Limits::default())?;
            let fields = file.metadata().file_metadata().schema_descr().root_schema().get_fields();
            let names = columns.iter().map(|at| fields[*at].name().to_owned());
            options.columns = Some(names.collect());
        }
        let rows = ask.rows.as_ref().map(|rows| RowSelection::from_ranges(rows.iter().cloned()));
        let mut reader = ReaderBuilder::new().options(options).rows(rows).open([input()])?;
        let mut batches = Vec::new();
        while let Some(batch) = reader.next_batch()? {
            batches.push(batch);
        }
        Ok(Rows { schema: reader.schema(), batches })
    }
}

/// Seeds to try, or the number in `ARROWSMITH_SEEDS`.
fn seeds(usual: u64) -> u64 {
    scale::number("ARROWSMITH_SEEDS", usual, 40_000)
}

fn each_seed(usual: u64, check: fn(&dyn Reader, u64) -> Result<(), String>) {
    for seed in 0..seeds(usual) {
        // One thread, or enough for row groups and columns to overtake each other.
        let threads = if seed % 2 == 0 { 1 } else { 3 };
        let disk = seed % 4 > 1;
        if let Err(difference) = check(&Library { engine: "cpu", threads, disk }, seed) {
            panic!("{difference}");
        }
    }
}

#[test]
fn random_files_are_read_as_the_parquet_crate_reads_them() {
    each_seed(150, properties::check_seed);
}

#[test]
fn filtered_files_are_whole_ones_filtered() {
    each_seed(300, predicates::check_seed);
}

#[test]
fn broken_files_get_a_sound_answer() {
    each_seed(1_000, broken::check_seed);
}

#[test]
fn the_fall_back_reads_the_same() {
    for seed in 1_000_000..1_000_000 + seeds(30) {
        let library = Library { engine: "reference", threads: 2, disk: seed % 2 == 0 };
        for check in [properties::check_seed, predicates::check_seed] {
            if let Err(difference) = check(&library, seed) {
                panic!("{difference}");
            }
        }
    }
}

#[test]
fn files_of_others_are_read_as_the_parquet_crate_reads_them() {
    let Some(folder) = tools::corpora() else { return };
    let library = Library { engine: "cpu", threads: 2, disk: true };
    let summary = corpora::run(&library, &folder).expect("the corpora can be read");
    assert!(
        summary.failures.is_empty(),
        "{} of {} files equal\n{}",
        summary.equal,
        summary.files,
        summary.failures.join("\n")
    );
    assert!(summary.equal > 400, "{} files were equal", summary.equal);
}

#[test]
fn only_known_columns_are_left_to_the_parquet_crate() {
    let Some(folder) = tools::corpora() else { return };
    let mut fall_backs = Vec::new();
    for entry in corpora::files(&folder).expect("the corpora can be listed") {
        let path = folder.join(&entry.path);
        let files = arrowsmith::expand_dataset(&path, EXTENSIONS).expect("the file is there");
        let one = ParquetReadOptions { threads: Some(1), ..ParquetReadOptions::default() };
        let Ok(reader) = ReaderBuilder::new().options(one).open(files) else { continue };
        for (column, decision) in reader.explanation().declined() {
            fall_backs.push(format!("{}: {column}: {decision}", entry.path));
        }
    }
    assert!(fall_backs.is_empty(), "{}", fall_backs.join("\n"));
}
