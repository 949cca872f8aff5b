// SPDX-License-Identifier: Apache-2.0
//! Parquet: schema, row groups and columns, from the footer.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;

use parquet::arrow::{ARROW_SCHEMA_META_KEY, parquet_to_arrow_schema};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaDataReader, RowGroupMetaData};
use serde::Serialize;

use super::table::Table;
use super::{Report, invalid};
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

pub fn file(file: &File) -> io::Result<ParquetReport> {
    let bytes = file.metadata()?.len();
    let metadata = ParquetMetaDataReader::new().parse_and_finish(file).map_err(io_error)?;
    let about = metadata.file_metadata();
    let arrow = parquet_to_arrow_schema(about.schema_descr(), about.key_value_metadata());
    let pairs = about.key_value_metadata().into_iter().flatten();
    let pairs = pairs.filter(|pair| pair.key != ARROW_SCHEMA_META_KEY);
    let row_groups: Vec<RowGroup> = metadata.row_groups().iter().map(row_group).collect();
    let mut columns: Vec<Column> = Vec::new();
    for group in metadata.row_groups() {
        for (index, chunk) in group.columns().iter().enumerate() {
            match columns.get_mut(index) {
                Some(column) => column.add(chunk),
                None => columns.push(Column::new(chunk)),
            }
        }
    }
    Ok(ParquetReport {
        format: "parquet",
        bytes,
        rows: unsigned(about.num_rows()),
        version: about.version(),
        created_by: about.created_by().map(str::to_owned),
        schema: schema::text(&arrow.map_err(io_error)?),
        metadata: pairs
            .map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default()))
            .collect(),
        row_groups,
        columns,
    })
}

fn row_group(group: &RowGroupMetaData) -> RowGroup {
    RowGroup {
        rows: unsigned(group.num_rows()),
        bytes_compressed: unsigned(group.compressed_size()),
        bytes_uncompressed: unsigned(group.total_byte_size()),
    }
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

fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => *source,
            Err(source) => invalid(source.to_string()),
        },
        other => invalid(other.to_string()),
    }
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
            let mut table = Table::new(&["#row group", "#rows", "#bytes", "#uncompressed"]);
            for (index, group) in self.row_groups.iter().enumerate() {
                table.push(vec![
                    index.to_string(),
                    grouped(group.rows),
                    grouped(group.bytes_compressed),
                    grouped(group.bytes_uncompressed),
                ]);
            }
            text.push_str(&format!("\nrow groups:\n{}", table.text()));
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
        text
    }
}
