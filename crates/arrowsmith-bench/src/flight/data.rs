// SPDX-License-Identifier: Apache-2.0
//! The data set: taxi trips in a folder of Parquet files, and the same as Arrow files; with the
//! expected totals.
//!
//! Every file has a seed of its own, so that files are generated in parallel and are the same on
//! every machine. Existing files of the same recipe are reused.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_ipc::writer::FileWriter;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use crate::BenchError;
use crate::check::{Check, Checker, arrow_bytes as arrow_bytes_of};
use crate::machine;
use crate::parquet::data::{Data, Rows};
use crate::parquet::file::Note;

/// Seed of the first file; each further file adds one.
pub(super) const SEED: u64 = 42;
/// Approximate bytes of a row in a Parquet file: determines the rows per file.
const PARQUET_ROW_BYTES: u64 = 27;
/// Changed whenever the content changes, so that no older file is used.
const RECIPE: u32 = 2;

/// The location and the content of the files.
#[derive(Debug, Clone)]
pub(super) struct DataSet {
    /// Only Parquet files; the folder's name is the flight's.
    pub(super) parquet: PathBuf,
    /// Arrow files of the same rows, in the same order.
    pub(super) arrow: PathBuf,
    pub(super) files: u64,
    pub(super) parquet_bytes: u64,
    /// Of the arrays.
    pub(super) arrow_bytes: u64,
    pub(super) expected: Check,
}

/// The totals of one file.
struct Part {
    check: Check,
    parquet_bytes: u64,
    arrow_bytes: u64,
}

/// Makes the files, or finds them.
pub(super) fn make(
    folder: &Path,
    size_bytes: u64,
    file_bytes: u64,
    batch_rows: u64,
    progress: &mut dyn FnMut(&str),
) -> Result<DataSet, BenchError> {
    let files = (size_bytes / file_bytes).max(1);
    let rows = (file_bytes.min(size_bytes) / PARQUET_ROW_BYTES).max(1);
    let recipe = format!("{RECIPE} {SEED} {files} {rows} {batch_rows}");
    let set = DataSet {
        parquet: folder.join("parquet/taxi"),
        arrow: folder.join("arrow/taxi"),
        files,
        parquet_bytes: 0,
        arrow_bytes: 0,
        expected: Check::default(),
    };
    let note_path = folder.join("note.json");
    if let Some(note) = Note::read(&note_path, &recipe) {
        let Note { parquet_bytes, arrow_bytes, expected, .. } = note;
        return Ok(DataSet { parquet_bytes, arrow_bytes, expected, ..set });
    }
    progress(&format!("writing {files} files of {rows} rows"));
    for place in [&set.parquet, &set.arrow] {
        // Files of an older recipe would be served too.
        if place.exists() {
            fs::remove_dir_all(place).map_err(BenchError::io(place))?;
        }
        fs::create_dir_all(place).map_err(BenchError::io(place))?;
    }
    let set = write_all(set, rows, batch_rows)?;
    let DataSet { parquet_bytes, arrow_bytes, expected, .. } = set.clone();
    Note { recipe, parquet_bytes, arrow_bytes, expected }.write(&note_path)?;
    Ok(set)
}

/// Worker threads, one per processor, take the files one by one.
fn write_all(mut set: DataSet, rows: u64, batch_rows: u64) -> Result<DataSet, BenchError> {
    let next = AtomicU64::new(0);
    let parts = Mutex::new(Vec::new());
    let work = || -> Result<(), String> {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= set.files {
                return Ok(());
            }
            let part = write(&set, index, rows, batch_rows)?;
            parts.lock().map_err(|error| error.to_string())?.push((index, part));
        }
    };
    let done: Result<Vec<()>, String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..machine::cores()).map(|_| scope.spawn(work)).collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined.map(|result| result.unwrap_or_else(|_| Err("a thread ended".into()))).collect()
    });
    let io = |error: String| BenchError::io(&set.parquet)(std::io::Error::other(error));
    done.map_err(io)?;
    let mut parts = parts.into_inner().map_err(|error| io(error.to_string()))?;
    // Sums of floats depend on the order.
    parts.sort_by_key(|(index, _)| *index);
    for (_, part) in parts {
        set.parquet_bytes += part.parquet_bytes;
        set.arrow_bytes += part.arrow_bytes;
        set.expected.add(&part.check);
    }
    Ok(set)
}

fn write(set: &DataSet, index: u64, rows: u64, batch_rows: u64) -> Result<Part, String> {
    let name = format!("part-{index:05}");
    let parquet_path = set.parquet.join(&name).with_extension("parquet");
    let schema = Data::Taxi.schema();
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by("arrowsmith bench".to_owned())
        .build();
    let options =
        ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let file = File::create(&parquet_path).map_err(|e| text(&e))?;
    let mut parquet =
        ArrowWriter::try_new_with_options(file, schema.clone(), options).map_err(|e| text(&e))?;
    let file = File::create(set.arrow.join(&name).with_extension("arrow")).map_err(|e| text(&e))?;
    let mut arrow = FileWriter::try_new_buffered(file, &schema).map_err(|e| text(&e))?;

    let mut source = Rows::new(Data::Taxi, SEED + index, rows);
    let mut checker = Checker::default();
    let (mut left, mut arrow_bytes) = (rows, 0);
    while left > 0 {
        let count = left.min(batch_rows.max(1));
        let batch = source.batch(usize::try_from(count).map_err(|e| text(&e))?)?;
        checker.add(&batch)?;
        arrow_bytes += arrow_bytes_of(&batch)?;
        parquet.write(&batch).map_err(|e| text(&e))?;
        arrow.write(&batch).map_err(|e| text(&e))?;
        left -= count;
    }
    parquet.close().map_err(|e| text(&e))?;
    arrow.finish().map_err(|e| text(&e))?;
    let parquet_bytes = fs::metadata(&parquet_path).map_err(|e| text(&e))?.len();
    Ok(Part { check: checker.finish(), parquet_bytes, arrow_bytes })
}

/// The totals of one Arrow file, and the bytes of its arrays.
pub(super) fn of_file(path: &Path) -> Result<(Check, u64), String> {
    let text = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let file = File::open(path).map_err(|e| text(&e))?;
    let reader =
        arrow_ipc::reader::FileReader::try_new_buffered(file, None).map_err(|e| text(&e))?;
    let (mut checker, mut bytes) = (Checker::default(), 0);
    for batch in reader {
        let batch = batch.map_err(|e| text(&e))?;
        checker.add(&batch)?;
        bytes += arrow_bytes_of(&batch)?;
    }
    Ok((checker.finish(), bytes))
}

#[cfg(test)]
mod tests {
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;

    #[test]
    fn both_forms_hold_what_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let make = || make(folder.path(), 200_000, 60_000, 500, &mut |_| {}).unwrap();
        let set = make();
        assert_eq!((set.files, set.expected.rows), (3, 3 * 60_000 / PARQUET_ROW_BYTES));
        let (mut parquet, mut arrow) = (Checker::default(), Checker::default());
        for index in 0..3 {
            let name = set.parquet.join(format!("part-{index:05}.parquet"));
            let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(name).unwrap());
            for batch in reader.unwrap().build().unwrap() {
                parquet.add(&batch.unwrap()).unwrap();
            }
            let name = set.arrow.join(format!("part-{index:05}.arrow"));
            let reader = arrow_ipc::reader::FileReader::try_new(File::open(name).unwrap(), None);
            for batch in reader.unwrap() {
                let batch = batch.unwrap();
                assert!(batch.num_rows() <= 500);
                arrow.add(&batch).unwrap();
            }
        }
        assert_eq!(parquet.finish().difference(&set.expected), None);
        assert_eq!(arrow.finish().difference(&set.expected), None);
        // Found, not generated again.
        let written =
            fs::metadata(set.parquet.join("part-00000.parquet")).unwrap().modified().unwrap();
        let again = make();
        assert_eq!(again.expected, set.expected);
        let found =
            fs::metadata(set.parquet.join("part-00000.parquet")).unwrap().modified().unwrap();
        assert_eq!(found, written);
    }
}
