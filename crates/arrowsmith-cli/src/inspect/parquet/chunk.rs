// SPDX-License-Identifier: Apache-2.0
//! One column chunk: sizes, encodings, statistics, indexes, and its pages.

use arrow_array::{Array, ArrayRef};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrowsmith::Result;
use arrowsmith::parquet::{File, Leaf, Pages};
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::file::metadata::RowGroupMetaData;
use serde::Serialize;

use super::unsigned;
use crate::size::{display, grouped};

/// Characters of a bound that are shown as text; `--json` has all.
const BOUND_CHARS_MAX: usize = 32;

/// Pages of a chunk that are shown as text; `--json` has all.
const PAGES_MAX: usize = 20;

/// A column chunk. Sizes are in bytes.
#[derive(Debug, Serialize)]
pub struct Chunk {
    path: String,
    codec: String,
    encodings: Vec<String>,
    values: u64,
    nulls: Option<u64>,
    /// Smallest and largest value, as far as the writer says; long ones may be cut.
    min: Option<String>,
    max: Option<String>,
    bytes_compressed: u64,
    bytes_uncompressed: u64,
    column_index: bool,
    offset_index: bool,
    bloom_filter: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pages: Option<Vec<PageReport>>,
}

#[derive(Debug, Serialize)]
struct PageReport {
    dictionary: bool,
    encoding: String,
    /// Values, nulls included; entries of a dictionary.
    values: usize,
    rows: Option<usize>,
    bytes_compressed: usize,
    bytes_uncompressed: usize,
    offset: u64,
}

impl Chunk {
    pub fn new(file: &File, row_group: usize, leaf: &Leaf, pages: bool) -> Result<Self> {
        let chunk = file.chunk(row_group, leaf.index)?;
        let (min, max) = bounds(file, file.metadata().row_group(row_group), leaf);
        let encodings = chunk.encodings().map(|encoding| encoding.to_string().to_lowercase());
        let nulls = chunk.statistics().and_then(|statistics| statistics.null_count_opt());
        Ok(Self {
            path: leaf.path.clone(),
            codec: chunk.compression_codec().to_string().to_lowercase(),
            encodings: encodings.collect(),
            values: unsigned(chunk.num_values()),
            nulls,
            min,
            max,
            bytes_compressed: unsigned(chunk.compressed_size()),
            bytes_uncompressed: unsigned(chunk.uncompressed_size()),
            column_index: chunk.column_index_offset().is_some(),
            offset_index: chunk.offset_index_offset().is_some(),
            bloom_filter: chunk.bloom_filter_offset().is_some(),
            pages: if pages { Some(read_pages(file, row_group, leaf)?) } else { None },
        })
    }

    /// Its lines of the tree.
    pub fn tree(&self, last: bool, text: &mut String) {
        let (branch, trunk) = if last { ("└─", "  ") } else { ("├─", "│ ") };
        text.push_str(&format!(
            "{branch} {}: {}, {}; {} values, {} nulls; {} ({} uncompressed)",
            self.path,
            self.codec,
            self.encodings.join(" "),
            grouped(self.values),
            self.nulls.map_or_else(|| "?".to_owned(), grouped),
            display(self.bytes_compressed),
            display(self.bytes_uncompressed)
        ));
        if let (Some(min), Some(max)) = (&self.min, &self.max) {
            text.push_str(&format!("; {} … {}", short(min), short(max)));
        }
        let extras = [
            ("column index", self.column_index),
            ("offset index", self.offset_index),
            ("bloom filter", self.bloom_filter),
        ];
        for (name, _) in extras.iter().filter(|(_, there)| *there) {
            text.push_str(&format!("; {name}"));
        }
        text.push('\n');
        let pages = self.pages.as_deref().unwrap_or_default();
        for (number, page) in pages.iter().enumerate().take(PAGES_MAX) {
            let branch = if number + 1 == pages.len() { "└─" } else { "├─" };
            let kind = if page.dictionary { "dictionary, " } else { "" };
            let rows = match page.rows {
                Some(rows) if !page.dictionary && rows != page.values => {
                    format!(" in {} rows", grouped(rows as u64))
                }
                _ => String::new(),
            };
            text.push_str(&format!(
                "{trunk} {branch} page {number}: {kind}{}, {} values{rows}; {} ({} uncompressed)\n",
                page.encoding,
                grouped(page.values as u64),
                display(page.bytes_compressed as u64),
                display(page.bytes_uncompressed as u64)
            ));
        }
        if pages.len() > PAGES_MAX {
            text.push_str(&format!("{trunk} └─ and {} more\n", pages.len() - PAGES_MAX));
        }
    }
}

fn short(text: &str) -> String {
    if text.chars().count() <= BOUND_CHARS_MAX {
        return text.escape_debug().to_string();
    }
    let start: String = text.chars().take(BOUND_CHARS_MAX).collect();
    format!("{}…", start.escape_debug())
}

fn read_pages(file: &File, row_group: usize, leaf: &Leaf) -> Result<Vec<PageReport>> {
    let mut pages = Pages::new(file, row_group, leaf.index)?;
    let mut found = Vec::new();
    while let Some(page) = pages.peek()? {
        found.push(PageReport {
            dictionary: page.dictionary,
            encoding: format!("{:?}", page.encoding),
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

/// The bounds in the footer as text, in the column's Arrow type; none where they cannot be told.
fn bounds(file: &File, group: &RowGroupMetaData, leaf: &Leaf) -> (Option<String>, Option<String>) {
    let schema = file.metadata().file_metadata().schema_descr();
    let Ok(converter) = StatisticsConverter::from_column_index(leaf.index, &leaf.field, schema)
    else {
        return (None, None);
    };
    let text = |array: parquet::errors::Result<ArrayRef>| -> Option<String> {
        let array = array.ok().filter(|array| array.len() == 1 && array.is_valid(0))?;
        let formatter = ArrayFormatter::try_new(&array, &FormatOptions::default()).ok()?;
        formatter.value(0).try_to_string().ok()
    };
    (text(converter.row_group_mins([group])), text(converter.row_group_maxes([group])))
}
