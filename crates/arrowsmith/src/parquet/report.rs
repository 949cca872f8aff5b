// SPDX-License-Identifier: Apache-2.0
//! What is in a Parquet file, for people and programs: row groups, columns, sizes, statistics,
//! pages.
//!
//! It is made from the footer and, if pages are requested, from their headers; no value is
//! decoded.

use std::collections::BTreeMap;

use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;
use arrowsmith_core::Result;
use arrowsmith_plan::text::format_schema;
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
#[cfg(feature = "serde")]
use serde::Serialize;

use super::{Column, File, Leaf, Pages, ReadOptions, ReadPlan};

/// What is in a Parquet file. Sizes are in bytes.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct FileReport {
    /// `parquet`.
    pub format: &'static str,
    /// Length of the file.
    pub bytes: u64,
    /// Rows.
    pub rows: u64,
    /// Version of the format, as the writer says.
    pub version: i32,
    /// The writer.
    pub created_by: Option<String>,
    /// The Arrow schema that the file is read as, in its text form.
    pub schema: String,
    /// Keys and values in the footer, without the Arrow schema.
    pub metadata: BTreeMap<String, String>,
    /// The row groups, in the order of the file.
    pub row_groups: Vec<RowGroupReport>,
    /// Leaf columns, summed over the row groups.
    pub columns: Vec<ColumnReport>,
}

/// A row group. Sizes are in bytes.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct RowGroupReport {
    /// Rows.
    pub rows: u64,
    /// As it is stored.
    pub bytes_compressed: u64,
    /// After decompression, still encoded.
    pub bytes_uncompressed: u64,
    /// Its column chunks.
    pub columns: Vec<ChunkReport>,
}

/// A leaf column of the whole file. Sizes are in bytes.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct ColumnReport {
    /// Path in the Parquet schema, dotted.
    pub path: String,
    /// How values are stored: `INT64`, `BYTE_ARRAY`, …
    pub physical_type: String,
    /// Compression, by the first row group.
    pub codec: String,
    /// Encodings of its pages and levels.
    pub encodings: Vec<String>,
    /// Values and nulls.
    pub values: u64,
    /// Unknown when a row group has no statistics.
    pub nulls: Option<u64>,
    /// As it is stored.
    pub bytes_compressed: u64,
    /// After decompression, still encoded.
    pub bytes_uncompressed: u64,
}

/// A column chunk. Sizes are in bytes.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct ChunkReport {
    /// Path in the Parquet schema, dotted.
    pub path: String,
    /// Compression.
    pub codec: String,
    /// Encodings of its pages and levels.
    pub encodings: Vec<String>,
    /// Values and nulls.
    pub values: u64,
    /// Nulls, if the writer says.
    pub nulls: Option<u64>,
    /// Smallest value, if the file has it; a long one may be truncated.
    pub min: Option<String>,
    /// Largest value, if the file has it; a long one may be truncated.
    pub max: Option<String>,
    /// As it is stored.
    pub bytes_compressed: u64,
    /// After decompression, still encoded.
    pub bytes_uncompressed: u64,
    /// Whether there are bounds of each page.
    pub column_index: bool,
    /// Whether there are places of each page.
    pub offset_index: bool,
    /// Whether there is a bloom filter.
    pub bloom_filter: bool,
    /// Its pages, if they were requested.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub pages: Option<Vec<PageReport>>,
}

/// A page. Sizes are in bytes.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct PageReport {
    /// Whether it is the dictionary.
    pub dictionary: bool,
    /// How its values are encoded.
    pub encoding: String,
    /// Values, nulls included; entries of a dictionary.
    pub values: usize,
    /// Rows, where the header says.
    pub rows: Option<usize>,
    /// As it is stored, without its header.
    pub bytes_compressed: usize,
    /// After decompression.
    pub bytes_uncompressed: usize,
    /// Offset of its header in the file.
    pub offset: u64,
}

/// Describes a file, and with `pages` every page of it.
///
/// # Errors
/// A schema that has no meaning; with `pages` also headers that are malformed.
pub fn describe(file: &File, pages: bool) -> Result<FileReport> {
    let plan = ReadPlan::new(file, &ReadOptions::default())?;
    let metadata = file.metadata();
    let about = metadata.file_metadata();
    let pairs = about.key_value_metadata().into_iter().flatten();
    let pairs = pairs.filter(|pair| pair.key != ARROW_SCHEMA_META_KEY);
    let mut columns: Vec<ColumnReport> = Vec::new();
    let mut row_groups = Vec::with_capacity(metadata.num_row_groups());
    for (index, group) in metadata.row_groups().iter().enumerate() {
        for (leaf, chunk) in group.columns().iter().enumerate() {
            match columns.get_mut(leaf) {
                Some(column) => column.add(chunk),
                None => columns.push(ColumnReport::new(chunk)),
            }
        }
        row_groups.push(RowGroupReport::new(file, &plan, index, group, pages)?);
    }
    Ok(FileReport {
        format: "parquet",
        bytes: file.file_bytes(),
        rows: unsigned(about.num_rows()),
        version: about.version(),
        created_by: about.created_by().map(str::to_owned),
        schema: format_schema(&plan.schema),
        metadata: pairs
            .map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default()))
            .collect(),
        row_groups,
        columns,
    })
}

impl RowGroupReport {
    fn new(
        file: &File,
        plan: &ReadPlan,
        index: usize,
        group: &RowGroupMetaData,
        pages: bool,
    ) -> Result<Self> {
        let leaves = plan.fields.iter().flat_map(Column::leaves);
        let columns = leaves.map(|leaf| ChunkReport::new(file, index, leaf, pages));
        Ok(Self {
            rows: unsigned(group.num_rows()),
            bytes_compressed: unsigned(group.compressed_size()),
            bytes_uncompressed: unsigned(group.total_byte_size()),
            columns: columns.collect::<Result<_>>()?,
        })
    }
}

impl ColumnReport {
    fn new(chunk: &ColumnChunkMetaData) -> Self {
        let mut column = Self {
            path: chunk.column_path().string(),
            physical_type: chunk.column_type().to_string(),
            codec: codec(chunk),
            encodings: Vec::new(),
            values: 0,
            nulls: Some(0),
            bytes_compressed: 0,
            bytes_uncompressed: 0,
        };
        column.add(chunk);
        column
    }

    fn add(&mut self, chunk: &ColumnChunkMetaData) {
        for encoding in chunk.encodings() {
            let name = encoding.to_string().to_lowercase();
            if !self.encodings.contains(&name) {
                self.encodings.push(name);
            }
        }
        self.nulls = self.nulls.zip(nulls(chunk)).map(|(sum, nulls)| sum.saturating_add(nulls));
        self.values = self.values.saturating_add(unsigned(chunk.num_values()));
        self.bytes_compressed =
            self.bytes_compressed.saturating_add(unsigned(chunk.compressed_size()));
        self.bytes_uncompressed =
            self.bytes_uncompressed.saturating_add(unsigned(chunk.uncompressed_size()));
    }
}

impl ChunkReport {
    fn new(file: &File, row_group: usize, leaf: &Leaf, pages: bool) -> Result<Self> {
        let chunk = file.chunk(row_group, leaf.index)?;
        let (min, max) = bounds(file, file.metadata().row_group(row_group), leaf);
        let encodings = chunk.encodings().map(|encoding| encoding.to_string().to_lowercase());
        Ok(Self {
            path: leaf.path.clone(),
            codec: codec(chunk),
            encodings: encodings.collect(),
            values: unsigned(chunk.num_values()),
            nulls: nulls(chunk),
            min,
            max,
            bytes_compressed: unsigned(chunk.compressed_size()),
            bytes_uncompressed: unsigned(chunk.uncompressed_size()),
            column_index: chunk.column_index_offset().is_some(),
            offset_index: chunk.offset_index_offset().is_some(),
            bloom_filter: chunk.bloom_filter_offset().is_some(),
            pages: if pages { Some(page_reports(file, row_group, leaf)?) } else { None },
        })
    }
}

fn page_reports(file: &File, row_group: usize, leaf: &Leaf) -> Result<Vec<PageReport>> {
    let mut pages = Pages::new(file, row_group, leaf.index)?;
    let mut found = Vec::new();
    while let Some(page) = pages.peek()? {
        found.push(PageReport {
            dictionary: page.dictionary,
            encoding: page.encoding.name().to_lowercase(),
            values: page.count,
            rows: page.rows,
            bytes_compressed: page.compressed_bytes,
            bytes_uncompressed: page.uncompressed_bytes,
            offset: page.offset,
        });
        pages.skip()?;
    }
    Ok(found)
}

fn codec(chunk: &ColumnChunkMetaData) -> String {
    chunk.compression_codec().to_string().to_lowercase()
}

fn nulls(chunk: &ColumnChunkMetaData) -> Option<u64> {
    chunk.statistics().and_then(|statistics| statistics.null_count_opt())
}

/// Counts are signed in the format; a broken file may hold a negative one.
fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

/// Whether the bounds of decimals are of bytes that such a number has: the crate panics over
/// others.
fn fit(chunk: &ColumnChunkMetaData, data_type: &DataType) -> bool {
    let bytes_max = match data_type {
        DataType::Dictionary(_, values) => return fit(chunk, values),
        DataType::Decimal32(..) => 4,
        DataType::Decimal64(..) => 8,
        DataType::Decimal128(..) => 16,
        DataType::Decimal256(..) => 32,
        _ => return true,
    };
    chunk.statistics().is_none_or(|statistics| {
        let mut bounds = statistics.min_bytes_opt().into_iter().chain(statistics.max_bytes_opt());
        bounds.all(|bound| (1..=bytes_max).contains(&bound.len()))
    })
}

/// The bounds in the footer as text, in the column's Arrow type; `None` where they cannot be told.
fn bounds(file: &File, group: &RowGroupMetaData, leaf: &Leaf) -> (Option<String>, Option<String>) {
    let schema = file.metadata().file_metadata().schema_descr();
    if !fit(group.column(leaf.index), leaf.field.data_type()) {
        return (None, None);
    }
    let converter = StatisticsConverter::from_column_index(leaf.index, &leaf.field, schema);
    let Ok(converter) = converter else { return (None, None) };
    let text = |array: parquet::errors::Result<ArrayRef>| -> Option<String> {
        let array = array.ok().filter(|array| array.len() == 1 && array.is_valid(0))?;
        // Instants in UTC: other time zones would need a table of them.
        let array = match array.data_type() {
            DataType::Timestamp(unit, Some(_)) => {
                cast(&array, &DataType::Timestamp(*unit, Some("+00:00".into()))).ok()?
            }
            _ => array,
        };
        let formatter = ArrayFormatter::try_new(&array, &FormatOptions::default()).ok()?;
        formatter.value(0).try_to_string().ok()
    };
    (text(converter.row_group_mins([group])), text(converter.row_group_maxes([group])))
}
