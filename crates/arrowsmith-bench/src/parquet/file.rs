// SPDX-License-Identifier: Apache-2.0
//! Writes the file of a workload, and sums the expected totals.
//!
//! The totals come from the rows before they are written, so they do not depend on a reader. An
//! existing file of the same recipe is reused; its totals are stored beside it.

use std::fs;
use std::path::{Path, PathBuf};

use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use serde::{Deserialize, Serialize};

use super::data::Rows;
use super::definition::{CodecName, EncodingName, WorkloadDefinition};
use crate::BenchError;
use crate::check::{self, Check, Checker};

/// Rows generated and written at once.
const BATCH_ROWS: u64 = 65_536;

/// Changed whenever the writer's settings change, so that no older file is used.
const RECIPE: u32 = 2;

/// An existing file.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) file_bytes: u64,
    /// Bytes of the output's Arrow arrays.
    pub(crate) arrow_bytes: u64,
    pub(crate) expected: Check,
}

/// The note stored beside files: how they were made, and what is in them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) recipe: String,
    pub(crate) parquet_bytes: u64,
    pub(crate) arrow_bytes: u64,
    pub(crate) expected: Check,
}

impl Note {
    /// The note of files that were made by this recipe.
    pub(crate) fn read(path: &Path, recipe: &str) -> Option<Self> {
        let note: Self = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        (note.recipe == recipe).then_some(note)
    }

    pub(crate) fn write(&self, path: &Path) -> Result<(), BenchError> {
        let text =
            serde_json::to_string(self).map_err(|e| BenchError::Definition(e.to_string()))?;
        fs::write(path, text).map_err(BenchError::io(path))
    }
}

impl File {
    /// Makes the file, or finds it.
    pub(crate) fn make(
        workload: &WorkloadDefinition,
        seed: u64,
        size_bytes: u64,
        group_bytes: u64,
        folder: &Path,
    ) -> Result<Self, BenchError> {
        fs::create_dir_all(folder).map_err(BenchError::io(folder))?;
        let path = folder.join(format!("{}.parquet", workload.name));
        let note_path = folder.join(format!("{}.json", workload.name));
        let recipe = format!("{RECIPE} {workload:?} {seed} {size_bytes} {group_bytes}");
        if let (Some(note), true) = (Note::read(&note_path, &recipe), path.is_file()) {
            let Note { parquet_bytes: file_bytes, arrow_bytes, expected, .. } = note;
            return Ok(Self { path, file_bytes, arrow_bytes, expected });
        }

        // An interrupted run leaves no note, so that its file is not taken for a complete one.
        let _ = fs::remove_file(&note_path);
        let io = |error: String| BenchError::io(&path)(std::io::Error::other(error));
        let (expected, arrow_bytes) =
            write(workload, seed, size_bytes, group_bytes, &path).map_err(io)?;
        let parquet_bytes = fs::metadata(&path).map_err(BenchError::io(&path))?.len();
        let note = Note { recipe, parquet_bytes, arrow_bytes, expected };
        note.write(&note_path)?;
        Ok(Self { path, file_bytes: parquet_bytes, arrow_bytes, expected: note.expected })
    }

    /// Removes the file and its note.
    pub(crate) fn remove(&self) -> Result<(), BenchError> {
        for path in [self.path.clone(), self.path.with_extension("json")] {
            fs::remove_file(&path).map_err(BenchError::io(path))?;
        }
        Ok(())
    }
}

fn write(
    workload: &WorkloadDefinition,
    seed: u64,
    size_bytes: u64,
    group_bytes: u64,
    path: &Path,
) -> Result<(Check, u64), String> {
    let row_bytes = workload.data.row_bytes();
    let rows = (size_bytes / row_bytes).max(1);
    let group_rows =
        usize::try_from((group_bytes / row_bytes).max(1)).map_err(|e| e.to_string())?;
    let options = ArrowWriterOptions::new()
        .with_properties(properties(workload, group_rows))
        .with_skip_arrow_metadata(true);
    let file = fs::File::create(path).map_err(|error| error.to_string())?;
    let mut writer = ArrowWriter::try_new_with_options(file, workload.data.schema(), options)
        .map_err(|error| error.to_string())?;

    let mut source = Rows::new(workload.data, seed, rows);
    let mut checker = Checker::default();
    let mut arrow_bytes = 0;
    let mut left = rows;
    while left > 0 {
        let count = left.min(BATCH_ROWS);
        let batch = source.batch(usize::try_from(count).map_err(|e| e.to_string())?)?;
        checker.add(&batch)?;
        arrow_bytes += check::arrow_bytes(&batch)?;
        writer.write(&batch).map_err(|error| error.to_string())?;
        left -= count;
    }
    writer.close().map_err(|error| error.to_string())?;
    Ok((checker.finish(), arrow_bytes))
}

fn properties(workload: &WorkloadDefinition, group_rows: usize) -> WriterProperties {
    let version = match workload.page_version {
        1 => WriterVersion::PARQUET_1_0,
        _ => WriterVersion::PARQUET_2_0,
    };
    let page_bytes = usize::try_from(workload.page_bytes).unwrap_or(usize::MAX);
    let builder = WriterProperties::builder()
        .set_writer_version(version)
        .set_created_by("arrowsmith bench".to_owned())
        .set_data_page_size_limit(page_bytes)
        .set_data_page_row_count_limit(workload.page_rows.unwrap_or(usize::MAX))
        // The writer checks the size of its page after each of these batches.
        .set_write_batch_size(if page_bytes > 4_096 { 1_024 } else { 64 })
        .set_max_row_group_row_count(Some(group_rows))
        .set_dictionary_enabled(workload.encoding == EncodingName::Dictionary)
        .set_dictionary_page_size_limit(dictionary_limit(workload))
        .set_compression(match workload.codec {
            CodecName::None => Compression::UNCOMPRESSED,
            CodecName::Snappy => Compression::SNAPPY,
            CodecName::Zstd => Compression::ZSTD(ZstdLevel::default()),
            CodecName::Lz4 => Compression::LZ4_RAW,
        })
        .set_statistics_enabled(match workload.statistics {
            true => EnabledStatistics::Chunk,
            false => EnabledStatistics::None,
        });
    let encoding = match workload.encoding {
        // Values that do not fit the dictionary.
        EncodingName::Plain | EncodingName::Dictionary => Encoding::PLAIN,
        EncodingName::DeltaBinaryPacked => Encoding::DELTA_BINARY_PACKED,
        EncodingName::DeltaLengthByteArray => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        EncodingName::DeltaByteArray => Encoding::DELTA_BYTE_ARRAY,
        EncodingName::ByteStreamSplit => Encoding::BYTE_STREAM_SPLIT,
    };
    builder.set_encoding(encoding).build()
}

/// A file of one column has all its strings in the dictionary; a table has the usual limit.
fn dictionary_limit(workload: &WorkloadDefinition) -> usize {
    if workload.data.is_strings() { 64 << 20 } else { 1 << 20 }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;
    use crate::definition::Definition;

    #[test]
    fn every_workload_is_written_as_it_is_defined() {
        let folder = tempfile::tempdir().unwrap();
        for workload in Definition::parquet().unwrap().workloads {
            let file = File::make(&workload, 42, 400_000, 1 << 27, folder.path()).unwrap();
            let found = file.arrow_bytes as f64 / 400_000.0;
            assert!((0.8..1.3).contains(&found), "{}: {}", workload.name, file.arrow_bytes);
            let reader = fs::File::open(&file.path).unwrap();
            let reader = SerializedFileReader::new(reader).unwrap();
            let column = reader.metadata().row_group(0).column(0).clone();
            let encodings: Vec<Encoding> = column.encodings().collect();
            let wanted = match workload.encoding {
                EncodingName::Plain => Encoding::PLAIN,
                EncodingName::Dictionary => Encoding::RLE_DICTIONARY,
                EncodingName::DeltaBinaryPacked => Encoding::DELTA_BINARY_PACKED,
                EncodingName::DeltaLengthByteArray => Encoding::DELTA_LENGTH_BYTE_ARRAY,
                EncodingName::DeltaByteArray => Encoding::DELTA_BYTE_ARRAY,
                EncodingName::ByteStreamSplit => Encoding::BYTE_STREAM_SPLIT,
            };
            assert!(encodings.contains(&wanted), "{}: {encodings:?}", workload.name);
        }
    }

    #[test]
    fn a_file_is_made_once_and_again_when_its_recipe_changes() {
        let folder = tempfile::tempdir().unwrap();
        let workload = Definition::parquet().unwrap().workloads.remove(0);
        let make = |size| File::make(&workload, 1, size, 1 << 20, folder.path()).unwrap();
        let first = make(10_000);
        let written = fs::metadata(&first.path).unwrap().modified().unwrap();
        let again = make(10_000);
        assert_eq!(again.expected, first.expected);
        assert_eq!(fs::metadata(&first.path).unwrap().modified().unwrap(), written);
        assert_eq!(make(20_000).expected.rows, 2 * first.expected.rows);
        first.remove().unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
