// SPDX-License-Identifier: Apache-2.0
//! Files and folders of every format.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::*;

#[test]
fn a_target_is_a_file_or_a_folder() {
    let outer = tempfile::tempdir().unwrap();
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
    let names = ["x.arrow", "x.arrows", "x.parquet", "x.JSONL", "x.jsonl.gz", "x.ndjson.zst"];
    for name in names.into_iter().chain(["x.csv", "x.TSV", "x.csv.ZST", "x.tsv.gz"]) {
        let path = outer.path().join(name);
        let format = Format::by_extension(&path).unwrap();
        let options = FolderOptions { rows_per_file: Some(2), ..FolderOptions::default() };
        let folder = outer.path().join(format!("{name}.d"));
        let last = folder.join(format!("part-00001.{}", format.extension()));
        let file = Target::file(&path, format.clone());
        let folder = Target::folder(&folder, format, options, false);
        for (target, written) in [(file, path), (folder, last)] {
            let mut cleanup = None;
            let mut open = || target.open(&batch.schema(), |call| cleanup = Some(call)).unwrap();
            assert!(!target.is_stream());
            let mut sink = open();
            sink.write(&batch).unwrap();
            sink.finish().unwrap();
            cleanup.unwrap()();
            assert!(written.exists(), "{}", written.display());
        }
    }
    for name in ["x.txt", "x.gz", "x.parquet.gz", "x.csv.gz.zst", "x", ".csv"] {
        assert_eq!(Format::by_extension(Path::new(name)), None, "{name}");
    }
    assert!(Target::is_folder(Path::new("new/")) && Target::is_folder(outer.path()));
    assert!(!Target::is_folder(Path::new("new")));
}

/// The order of the rows is in the file, and the footer states it.
#[test]
fn a_sorted_file_states_its_order() {
    let outer = tempfile::tempdir().unwrap();
    let column: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
    let batch = RecordBatch::try_from_iter([("a", Arc::clone(&column)), ("n", column)]).unwrap();
    let path = outer.path().join("x.parquet");
    let keys = ["n desc", "a"].map(|key| key.parse().unwrap()).to_vec();
    let sort = SortOptions { keys, ..SortOptions::default() };
    let format = Format::Parquet(ParquetOptions::default());
    let target = Target::file(&path, format).with_sort(sort.clone());
    let mut sink = target.open(&batch.schema(), |_| {}).unwrap();
    sink.write(&batch).unwrap();
    sink.finish().unwrap();
    let reader = SerializedFileReader::new(fs::File::open(&path).unwrap()).unwrap();
    let order = reader.metadata().row_group(0).sorting_columns().unwrap();
    let order: Vec<_> =
        order.iter().map(|by| (by.column_idx, by.descending, by.nulls_first)).collect();
    assert_eq!(order, [(1, true, false), (0, false, false)]);
    let rows = reader.get_row_iter(None).unwrap();
    let rows: Vec<String> = rows.map(|row| row.unwrap().to_string()).collect();
    assert_eq!(rows, ["{a: 3, n: 3}", "{a: 1, n: 1}", "{a: null, n: null}"]);

    // A file that ends after some bytes is not known before it is sorted.
    let options = FolderOptions { bytes_per_file: Some(1), ..FolderOptions::default() };
    let format = Format::Parquet(ParquetOptions::default());
    let folder = Target::folder(outer.path().join("d"), format, options, false);
    let refused = folder.with_sort(sort).open(&batch.schema(), |_| {}).err().unwrap();
    assert!(matches!(refused, Error::Config(_)));
}

/// Rows of a table are not added to its folder without its log.
#[test]
fn a_table_is_written_as_one() {
    let outer = tempfile::tempdir().unwrap();
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
    let path = outer.path().join("t");
    let write = |target: Target| {
        let mut sink = target.open(&batch.schema(), |_| {})?;
        sink.write(&batch)?;
        sink.finish()
    };
    let (parquet, options) = (ParquetOptions::default(), FolderOptions::default());
    let table =
        |append| Target::table(&path, TableFormat::Delta, parquet.clone(), options.clone(), append);
    assert_eq!(write(table(false)).unwrap().rows, 3);
    assert_eq!(write(table(true)).unwrap().rows, 3);
    assert!(matches!(write(table(false)), Err(Error::Io { .. })));
    let format = Format::Parquet(parquet.clone());
    let folder = Target::folder(&path, format, options.clone(), true);
    assert!(matches!(write(folder), Err(Error::Config(_))));
    let read = delta::Table::load(Arc::new(LocalPlace::new(&path)), "t").unwrap().unwrap();
    assert_eq!((read.version(), read.files().unwrap().len()), (1, 2));
    // A file with the name of a folder that a table would have does not make it one.
    let other = outer.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("metadata"), "x").unwrap();
    write(Target::folder(&other, Format::Parquet(parquet), options, true)).unwrap();
}

/// First appends at the same time: all rows are in one table.
#[test]
fn tables_are_started_by_several() {
    let outer = tempfile::tempdir().unwrap();
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
    for round in 0..40 {
        let path = outer.path().join(round.to_string());
        let format = [TableFormat::Delta, TableFormat::Iceberg][round % 2];
        let table = || {
            let (parquet, options) = (ParquetOptions::default(), FolderOptions::default());
            let target = Target::table(&path, format, parquet, options, true);
            let mut sink = target.open(&batch.schema(), |_| {}).unwrap();
            sink.write(&batch).unwrap();
            sink.finish().unwrap();
        };
        thread::scope(|scope| (0..5).for_each(|_| drop(scope.spawn(table))));
        let place = Arc::new(LocalPlace::new(&path));
        if format == TableFormat::Delta {
            let read = delta::Table::load(place, "t").unwrap().unwrap();
            assert_eq!((read.version(), read.files().unwrap().len()), (4, 5));
        } else {
            let read = iceberg::Table::load(place, "t").unwrap().unwrap();
            let place = arrowsmith_source::iceberg::LocalPlace;
            let files = arrowsmith_source::iceberg::Table::load(&place, path.to_str().unwrap());
            assert_eq!((read.version(), files.unwrap().files.len()), (5, 5));
        }
    }
    // What is not a table stays none.
    let path = outer.path().join("other");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("a.parquet"), "x").unwrap();
    let options = (ParquetOptions::default(), FolderOptions::default());
    let target = Target::table(&path, TableFormat::Delta, options.0, options.1, true);
    let error = target.open(&batch.schema(), |_| {}).err().unwrap();
    assert!(error.to_string().contains("not empty"), "{error}");
}

#[test]
fn names_and_extensions_are_those_of_one_format() {
    let names = FORMATS.iter().flat_map(|named| named.aliases.iter().chain([&named.name]));
    let extensions = FORMATS.iter().flat_map(|named| named.extensions);
    for (mut words, what) in [(names.collect::<Vec<_>>(), "name"), (extensions.collect(), "end")] {
        words.sort_unstable();
        assert!(words.windows(2).all(|two| two[0] != two[1]), "{what}: {words:?}");
    }
    for named in FORMATS {
        assert_eq!((named.format)().extension(), named.extensions[0], "{}", named.name);
    }
}
