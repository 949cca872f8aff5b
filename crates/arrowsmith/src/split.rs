// SPDX-License-Identifier: Apache-2.0
//! A table in parts of about the same size, for engines that read on several processes or machines:
//! small files together, lines of a byte range of large files of JSON, row groups of large Parquet
//! files. Reading the parts in order reads the table.
//!
//! Only sizes, the start of large files of JSON, and the footers of large Parquet files are read,
//! and of several Parquet files that of the first, or of all.

use std::sync::Arc;

use arrow_array::RecordBatchReader;
use arrow_schema::{FieldRef, Schema, SchemaRef};
use arrowsmith_core::{Error, Framing, Result};
use arrowsmith_json::frame::{DETECT_BYTES, Detection, detect};
use arrowsmith_source::{Content, DataFile, Input, OpenOptions};

use crate::options::{Format, JsonReadOptions, ParquetReadOptions};
use crate::parquet::{Columns, Predicate, ReaderBuilder, open_file};

/// What is read by itself.
#[derive(Debug)]
pub struct Split {
    /// The files, of which there is one if only a part of it is read.
    pub files: Vec<DataFile>,
    /// The part of the file; all of each file if `None`.
    pub part: Option<Part>,
}

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// The options `range_start` and `range_end` of JSON, in bytes.
    Range(u64, u64),
    /// The option `row_groups` of Parquet.
    RowGroups(Vec<usize>),
}

/// Splits files of JSON into parts of about `bytes` stored bytes each. A plain local file with one
/// record per line is split where it is larger than that; no other file is.
///
/// # Errors
/// [`Error::Config`] for an input that cannot be read again, and for options that concern the whole
/// table: `limit`, `skip`, a byte range; [`Error::Io`] if a file cannot be read.
pub fn split_json(
    files: Vec<DataFile>,
    options: &JsonReadOptions,
    bytes: u64,
) -> Result<Vec<Split>> {
    let is_part = options.range_start > 0 || options.range_end.is_some();
    refuse(&[
        ("limit", options.limit.is_some()),
        ("skip", options.skip > 0),
        ("range_start, range_end", is_part),
    ])?;
    // The number of a record is known only from the start of its file on.
    let by_line = matches!(options.format, Format::Auto | Format::Ndjson);
    let cuts = by_line && options.record_column.is_none() && options.records.is_none();
    split(files, bytes, |input, size| {
        if !(cuts && has_lines(input, options)?) {
            return Ok(Vec::new());
        }
        let count = size.div_ceil(bytes.max(1));
        let at = |index: u64| size / count * index + index.min(size % count);
        Ok((0..count).map(|index| Part::Range(at(index), at(index + 1))).collect())
    })
}

/// Splits Parquet files into parts of about `bytes` stored bytes each. Larger files are split
/// between row groups.
///
/// # Errors
/// [`Error::Config`] for an input that cannot be read again, and for options that concern the whole
/// table: `limit`, `row_groups`; otherwise as [`open_file`].
pub fn split_parquet(
    files: Vec<DataFile>,
    options: &ParquetReadOptions,
    bytes: u64,
) -> Result<Vec<Split>> {
    refuse(&[("limit", options.limit.is_some()), ("row_groups", options.row_groups.is_some())])?;
    split(files, bytes, |input, _| {
        let Some(input) = input.again() else { return Ok(Vec::new()) };
        let file = open_file(input, &options.limits())?;
        let mut parts: Vec<Vec<usize>> = Vec::new();
        let mut taken = bytes;
        for (index, group) in file.metadata().row_groups().iter().enumerate() {
            if taken >= bytes {
                parts.push(Vec::new());
                taken = 0;
            }
            if let Some(part) = parts.last_mut() {
                part.push(index);
            }
            taken = taken.saturating_add(u64::try_from(group.compressed_size()).unwrap_or(0));
        }
        Ok(parts.into_iter().map(Part::RowGroups).collect())
    })
}

/// The schema of all files, without the columns of folders: each part of several has it by
/// [`exact_schema`](crate::parquet::ReaderBuilder::exact_schema), whatever its first file has. It
/// has the columns that the options name. `None` for one file, whose parts have its schema.
///
/// # Errors
/// As [`ReaderBuilder::open`](crate::parquet::ReaderBuilder::open), and as [`split_parquet`].
pub fn parquet_schema(
    files: &[DataFile],
    options: &ParquetReadOptions,
) -> Result<Option<SchemaRef>> {
    let [first, _, ..] = files else { return Ok(None) };
    let mut options = ParquetReadOptions { limit: Some(0), threads: Some(1), ..options.clone() };
    if let Some(columns) = &mut options.columns {
        let filter = options.filter.iter().flat_map(Predicate::columns);
        columns.extend(filter.map(str::to_owned));
        if let Columns::Paths(dictionaries) = &options.dictionary {
            columns.extend_from_slice(dictionaries);
        }
    }
    let all = files.iter().map(again).collect::<Result<Vec<_>>>()?;
    let schema = ReaderBuilder::new().options(options).open(all)?.schema();
    let is_stored = |name: &str| first.partitions.iter().all(|(column, _)| column != name);
    let fields = schema.fields().iter().filter(|field| is_stored(field.name()));
    let fields: Vec<FieldRef> = fields.cloned().collect();
    Ok(Some(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))))
}

fn refuse(options: &[(&str, bool)]) -> Result<()> {
    match options.iter().find(|option| option.1) {
        None => Ok(()),
        Some((name, _)) => Err(Error::Config(format!(
            "{name}: concerns the whole table, which cannot be split with it"
        ))),
    }
}

/// Files in order, small ones together; `cut` returns the parts of one that is larger than `bytes`.
fn split(
    files: Vec<DataFile>,
    bytes: u64,
    mut cut: impl FnMut(&Input, u64) -> Result<Vec<Part>>,
) -> Result<Vec<Split>> {
    let mut splits: Vec<Split> = Vec::new();
    // Bytes of the last split, while more files may join it.
    let mut joined = None;
    for file in files {
        let size = match (&file.input, file.input.stored_bytes()) {
            (Input::Path(_) | Input::Ranged { .. }, Some(size)) => size,
            // An empty file has no size that is known to be that of its content.
            (Input::Path(path), None) if path.metadata().is_ok_and(|file| file.is_file()) => 0,
            (input, _) => {
                let name = input.name().unwrap_or_else(|| "<memory>".into());
                let why = "only files and objects in stores can be read by other processes";
                return Err(Error::Config(format!("{name}: {why}")));
            }
        };
        let parts = if size > bytes { cut(&file.input, size)? } else { Vec::new() };
        if parts.len() > 1 {
            joined = None;
            for part in parts {
                splits.push(Split { files: vec![again(&file)?], part: Some(part) });
            }
            continue;
        }
        match (splits.last_mut(), joined) {
            (Some(last), Some(before)) if size.saturating_add(before) <= bytes => {
                last.files.push(file);
                joined = Some(before + size);
            }
            _ => {
                splits.push(Split { files: vec![file], part: None });
                joined = Some(size);
            }
        }
    }
    Ok(splits)
}

fn again(file: &DataFile) -> Result<DataFile> {
    let input = file.input.again();
    let input = input.ok_or_else(|| Error::Config("an input was replaced meanwhile".to_owned()))?;
    let (partitions, deleted) = (file.partitions.clone(), file.deleted.clone());
    Ok(DataFile { input, partitions, deleted })
}

/// Whether the input is plain, local, and has one record per line.
fn has_lines(input: &Input, options: &JsonReadOptions) -> Result<bool> {
    let (Input::Path(_), Some(input)) = (input, input.again()) else { return Ok(false) };
    let open = OpenOptions { compression: options.compression, ..OpenOptions::default() };
    let Content::Whole(content) = input.open(&open)?.content else { return Ok(false) };
    let content = (*content).as_ref();
    let start = &content[..content.len().min(DETECT_BYTES)];
    let is_all = start.len() == content.len();
    Ok(options.format == Format::Ndjson
        || detect(start, is_all) == Detection::Found(Framing::Lines))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ::parquet::arrow::ArrowWriter;
    use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    use arrowsmith_source::expand_dataset;

    use super::*;
    use crate::json::{EXTENSIONS, ReaderBuilder};
    use crate::parquet::LateColumns;

    fn ids(split: Split, options: &JsonReadOptions) -> Vec<i64> {
        let mut options = options.clone();
        if let Some(Part::Range(start, end)) = split.part {
            (options.range_start, options.range_end) = (start, Some(end));
        }
        let schema = arrow_schema::Field::new("id", arrow_schema::DataType::Int64, false);
        let schema = Schema::new(vec![schema]);
        let reader = ReaderBuilder::new().options(options).schema(schema.into());
        let batches = reader.open(split.files).unwrap().map(Result::unwrap);
        let ids = batches.flat_map(|batch| {
            let ids = batch.column(0).to_data();
            ids.buffer::<i64>(0)[..ids.len()].to_vec()
        });
        ids.collect()
    }

    #[test]
    fn any_size_gives_every_record_once_and_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let mut expected = Vec::new();
        for (file, records) in [0, 3, 40, 1, 0, 25].into_iter().enumerate() {
            let ids = (0..records).map(|record| 1000 * file as i64 + record);
            let text: String = ids.clone().map(|id| format!("{{\"id\":{id}}}\n")).collect();
            fs::write(folder.path().join(format!("{file}.jsonl")), text).unwrap();
            expected.extend(ids);
        }
        let options = JsonReadOptions { threads: Some(1), ..JsonReadOptions::default() };
        let mut counts = Vec::new();
        for bytes in [1, 2, 10, 37, 100, 499, 5000] {
            let files = expand_dataset(folder.path(), EXTENSIONS).unwrap();
            let splits = split_json(files, &options, bytes).unwrap();
            counts.push(splits.len());
            let found: Vec<i64> =
                splits.into_iter().flat_map(|split| ids(split, &options)).collect();
            assert_eq!(found, expected, "{bytes}");
        }
        assert!(counts.is_sorted_by(|a, b| a >= b), "{counts:?}");
        assert_eq!(counts.last(), Some(&1));
    }

    #[test]
    fn parts_of_parquet_have_the_schema_of_all() {
        let folder = tempfile::tempdir().unwrap();
        for (name, columns) in [("year=1/1.parquet", &["a"][..]), ("year=2/2.parquet", &["b", "a"])]
        {
            let values = || Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef;
            let columns = columns.iter().map(|name| (*name, values()));
            let batch = RecordBatch::try_from_iter(columns).unwrap();
            let path = folder.path().join(name);
            fs::create_dir(path.parent().unwrap()).unwrap();
            let file = fs::File::create(path).unwrap();
            let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
            writer.write(&batch).unwrap();
            writer.close().unwrap();
        }
        let options =
            ParquetReadOptions { late_columns: LateColumns::Add, ..ParquetReadOptions::default() };
        let files = || expand_dataset(folder.path(), crate::parquet::EXTENSIONS).unwrap();
        let names = |schema: &Schema| {
            schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>()
        };
        let mut some = options.clone();
        some.columns = Some(vec!["a".to_owned(), "year".to_owned()]);
        some.filter = Some(Predicate::parse("b = 1 and year = 2").unwrap());
        some.dictionary = Columns::Paths(vec!["b".to_owned()]);
        for (options, stored, found, rows) in [
            (options.clone(), ["a", "b"], &["a", "b", "year"][..], 4),
            (some, ["a", "b"], &["a", "year"], 1),
        ] {
            let schema = parquet_schema(&files(), &options).unwrap().unwrap();
            assert_eq!(names(&schema), stored);
            let mut count = 0;
            for split in split_parquet(files(), &options, 1).unwrap() {
                let reader = crate::parquet::ReaderBuilder::new().options(options.clone());
                let reader = reader.exact_schema(Arc::clone(&schema)).open(split.files).unwrap();
                assert_eq!(names(&reader.schema()), found);
                count += reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>();
            }
            assert_eq!(count, rows);
        }
        let one = files().into_iter().take(1).collect::<Vec<_>>();
        assert_eq!(parquet_schema(&one, &options).unwrap(), None);
    }

    #[test]
    fn what_another_process_cannot_read_is_refused() {
        let input = || vec![Input::bytes(b"{}".to_vec()).into()];
        let error = split_json(input(), &JsonReadOptions::default(), 10).unwrap_err();
        assert!(error.to_string().contains("<memory>"), "{error}");
        let error = split_parquet(input(), &ParquetReadOptions::default(), 10).unwrap_err();
        assert!(error.to_string().contains("<memory>"), "{error}");
        let options = ParquetReadOptions { limit: Some(1), ..ParquetReadOptions::default() };
        let error = split_parquet(input(), &options, 10).unwrap_err();
        assert!(error.to_string().starts_with("limit:"), "{error}");
    }
}
