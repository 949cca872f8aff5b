// SPDX-License-Identifier: Apache-2.0
//! Parquet: schema, columns, and a tree of row groups, column chunks and pages, from the footer and, where
//! they are asked for, the headers of pages.

mod chunk;

use std::collections::BTreeMap;
use std::path::Path;

use arrowsmith::Limits;
use arrowsmith::parquet::{File, ReadOptions, ReadPlan, open_file};
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use serde::Serialize;

use self::chunk::Chunk;
use super::Report;
use super::table::{ROWS_MAX, Table};
use crate::failure::Outcome;
use crate::schema;
use crate::size::{display, grouped};

/// What is in a Parquet file. Sizes are in bytes.
#[derive(Debug, Serialize)]
pub struct ParquetReport {
    format: &'static str,
    bytes: u64,
    rows: u64,
    version: i32,
    created_by: Option<String>,
    schema: String,
    metadata: BTreeMap<String, String>,
    row_groups: Vec<RowGroup>,
    /// Leaf columns, summed over the row groups.
    columns: Vec<Column>,
}

#[derive(Debug, Serialize)]
struct RowGroup {
    rows: u64,
    bytes_compressed: u64,
    bytes_uncompressed: u64,
    columns: Vec<Chunk>,
}

#[derive(Debug, Serialize)]
struct Column {
    path: String,
    physical_type: String,
    codec: String,
    encodings: Vec<String>,
    /// Values and nulls.
    values: u64,
    /// Unknown when a row group has no statistics.
    nulls: Option<u64>,
    bytes_compressed: u64,
    bytes_uncompressed: u64,
}

pub fn file(path: &Path, pages: bool) -> Outcome<ParquetReport> {
    let file = open_file(path.into(), &Limits::default())?;
    let plan = ReadPlan::new(&file, &ReadOptions::default())?;
    let metadata = file.metadata();
    let about = metadata.file_metadata();
    let pairs = about.key_value_metadata().into_iter().flatten();
    let pairs = pairs.filter(|pair| pair.key != ARROW_SCHEMA_META_KEY);
    let mut columns: Vec<Column> = Vec::new();
    for group in metadata.row_groups() {
        for (index, chunk) in group.columns().iter().enumerate() {
            match columns.get_mut(index) {
                Some(column) => column.add(chunk),
                None => columns.push(Column::new(chunk)),
            }
        }
    }
    let mut row_groups = Vec::with_capacity(metadata.num_row_groups());
    for index in 0..metadata.num_row_groups() {
        row_groups.push(row_group(&file, &plan, index, pages)?);
    }
    Ok(ParquetReport {
        format: "parquet",
        bytes: file.file_bytes(),
        rows: unsigned(about.num_rows()),
        version: about.version(),
        created_by: about.created_by().map(str::to_owned),
        schema: schema::text(&plan.schema),
        metadata: pairs
            .map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default()))
            .collect(),
        row_groups,
        columns,
    })
}

fn row_group(file: &File, plan: &ReadPlan, index: usize, pages: bool) -> Outcome<RowGroup> {
    let group: &RowGroupMetaData = file.metadata().row_group(index);
    let mut columns = Vec::with_capacity(group.num_columns());
    for leaf in plan.fields.iter().flat_map(|column| column.leaves()) {
        columns.push(Chunk::new(file, index, leaf, pages)?);
    }
    Ok(RowGroup {
        rows: unsigned(group.num_rows()),
        bytes_compressed: unsigned(group.compressed_size()),
        bytes_uncompressed: unsigned(group.total_byte_size()),
        columns,
    })
}

impl Column {
    fn new(chunk: &ColumnChunkMetaData) -> Self {
        let mut column = Self {
            path: chunk.column_path().string(),
            physical_type: chunk.column_type().to_string(),
            codec: chunk.compression_codec().to_string().to_lowercase(),
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
        let nulls = chunk.statistics().and_then(|statistics| statistics.null_count_opt());
        self.nulls = self.nulls.zip(nulls).map(|(sum, nulls)| sum.saturating_add(nulls));
        self.values = self.values.saturating_add(unsigned(chunk.num_values()));
        self.bytes_compressed =
            self.bytes_compressed.saturating_add(unsigned(chunk.compressed_size()));
        self.bytes_uncompressed =
            self.bytes_uncompressed.saturating_add(unsigned(chunk.uncompressed_size()));
    }
}

/// Counts are signed in the format; a broken file may hold a negative one.
fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

impl Report for ParquetReport {
    fn text(&self) -> String {
        let mut text = format!("Parquet file, {}, version {}", display(self.bytes), self.version);
        if let Some(created_by) = &self.created_by {
            text.push_str(&format!(", created by {created_by}"));
        }
        text.push_str(&format!(
            "\n{} rows in {} row groups\n",
            grouped(self.rows),
            self.row_groups.len()
        ));
        text.push_str(&schema::section(&self.schema));
        if !self.row_groups.is_empty() {
            let headings = [
                "column",
                "type",
                "codec",
                "#values",
                "#nulls",
                "#bytes",
                "#uncompressed",
                "encodings",
            ];
            let mut table = Table::new(&headings);
            for column in &self.columns {
                table.push(vec![
                    column.path.clone(),
                    column.physical_type.to_lowercase(),
                    column.codec.clone(),
                    grouped(column.values),
                    column.nulls.map_or_else(|| "?".to_owned(), grouped),
                    grouped(column.bytes_compressed),
                    grouped(column.bytes_uncompressed),
                    column.encodings.join(" "),
                ]);
            }
            text.push_str(&format!("\ncolumns:\n{}", table.text()));
        }
        for (index, group) in self.row_groups.iter().enumerate().take(ROWS_MAX) {
            text.push_str(&format!(
                "\nrow group {index}: {} rows, {} ({} uncompressed)\n",
                grouped(group.rows),
                display(group.bytes_compressed),
                display(group.bytes_uncompressed)
            ));
            let last = group.columns.len().saturating_sub(1);
            for (place, chunk) in group.columns.iter().enumerate() {
                chunk.tree(place == last, &mut text);
            }
        }
        if self.row_groups.len() > ROWS_MAX {
            let more = self.row_groups.len() - ROWS_MAX;
            text.push_str(&format!("\nand {more} more row groups (--json has all)\n"));
        }
        text
    }
}
