// SPDX-License-Identifier: Apache-2.0
//! Checkpoints of a log: Parquet files with a column for each kind of action.
//!
//! Others write them, so they are read by the reader that checks every count before it asks for
//! memory, and under a budget.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_json::LineDelimitedWriter;
use arrowsmith_core::{Limits, Result, memory};
use arrowsmith_engine::{ColumnRequest, Engine};
use arrowsmith_engine_cpu::CpuEngine;
use arrowsmith_parquet::{Budget, Claim, File, ReadOptions, ReadPlan};
use bytes::Bytes;

/// Rows that are read at once.
const ROWS: usize = 1024;

/// Maximum memory of the columns that are read at once, in bytes.
const BYTES_MAX: usize = 256 << 20;

/// The columns that count here: others (statistics as columns, for one) may have any type.
const WANTED: &[(&str, &[&str])] = &[
    (
        "add",
        &["path", "partitionValues", "size", "modificationTime", "dataChange", "deletionVector"],
    ),
    (
        "metaData",
        &["id", "format", "schemaString", "partitionColumns", "configuration", "createdTime"],
    ),
    // The rest of the files is elsewhere then.
    ("sidecar", &["path"]),
    ("protocol", &["minReaderVersion", "minWriterVersion", "readerFeatures", "writerFeatures"]),
];

/// Hands over the actions as the lines that they would be in a commit.
///
/// # Errors
/// A file that is malformed, or needs too much memory; the error of `take`.
pub(super) fn actions(
    bytes: Vec<u8>,
    mut take: impl FnMut(&[u8]) -> std::result::Result<(), String>,
) -> std::result::Result<(), String> {
    let mut budget = memory::Budget::new("the memory for a checkpoint", BYTES_MAX);
    let read = budget.run(|| read(bytes, &mut take));
    read.map_err(|refused| refused.to_string())?
}

fn read(
    bytes: Vec<u8>,
    take: &mut dyn FnMut(&[u8]) -> std::result::Result<(), String>,
) -> std::result::Result<(), String> {
    // An action takes more than a byte.
    let mut rows_left = bytes.len();
    let limits = Limits::default().with_memory_bytes_max(BYTES_MAX);
    let text = |error: arrowsmith_core::Error| error.to_string();
    let file = File::open(Bytes::from(bytes), &limits).map_err(text)?;
    let options = ReadOptions::default().with_columns(columns(&file)).with_arrow_schema(false);
    let plan = ReadPlan::new(&file, &options).map_err(text)?;
    for row_group in 0..file.row_groups() {
        let rows = file.row_group_rows(row_group).map_err(text)?;
        rows_left = rows_left.checked_sub(rows).ok_or("more rows than bytes")?;
        group(&file, &plan, &options, row_group, take)?;
    }
    Ok(())
}

/// The paths of the columns that count, as far as the file has them.
fn columns(file: &File) -> Vec<String> {
    let schema = file.metadata().file_metadata().schema_descr();
    let mut found = Vec::new();
    for root in schema.root_schema().get_fields().iter().filter(|root| root.is_group()) {
        for (_, names) in WANTED.iter().filter(|(name, _)| *name == root.name()) {
            let fields = root.get_fields().iter().map(|field| field.name());
            let known = fields.filter(|name| names.contains(name));
            found.extend(known.map(|name| format!("{}.{name}", root.name())));
        }
    }
    found
}

fn group(
    file: &File,
    plan: &ReadPlan,
    options: &ReadOptions,
    row_group: usize,
    take: &mut dyn FnMut(&[u8]) -> std::result::Result<(), String>,
) -> std::result::Result<(), String> {
    let engine = CpuEngine::default();
    let text = |error: arrowsmith_core::Error| error.to_string();
    let mut left = file.row_group_rows(row_group).map_err(text)?;
    let budget = Budget::new(file.limits(), 0, &Claim::unbounded());
    let decoders = plan.fields.iter().map(|column| {
        engine.column(&ColumnRequest {
            file,
            row_group,
            column,
            selection: None,
            batch_rows: ROWS,
            options,
            budget: &budget,
        })
    });
    let mut decoders = decoders.collect::<Result<Vec<_>>>().map_err(text)?;
    while left > 0 {
        let rows = left.min(ROWS);
        let arrays = decoders.iter_mut().map(|decoder| decoder.next(rows));
        let arrays = arrays.collect::<Result<Vec<_>>>().map_err(text)?;
        let count = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&plan.schema), arrays, &count);
        let mut writer = LineDelimitedWriter::new(Vec::new());
        let written = batch.and_then(|batch| writer.write(&batch));
        written.map_err(|error| error.to_string())?;
        let lines = writer.into_inner();
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            take(line)?;
        }
        left -= rows;
    }
    Ok(())
}
