// SPDX-License-Identifier: Apache-2.0
//! Schemas and outputs of the tests, written and read with the Arrow crates alone.

use std::fs::File;
use std::io::Cursor;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Fields, Schema};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::cli::run::Folder;

/// Writes a schema as pyarrow's `schema.serialize()` does: an IPC message.
pub fn write_schema(folder: &Folder, name: &str, fields: Vec<Field>) {
    let mut message = Vec::new();
    StreamWriter::try_new(&mut message, &Schema::new(fields)).unwrap();
    folder.write(name, message);
}

/// A schema with three kinds of numbers, text, nesting, nullable and required fields.
pub fn everyday() -> Vec<Field> {
    let tags = DataType::List(Arc::new(Field::new("item", DataType::Utf8, true)));
    let user = Fields::from(vec![
        Field::new("name", DataType::Utf8, true),
        Field::new("tags", tags, true),
    ]);
    vec![
        Field::new("id", DataType::Int64, false),
        Field::new("name", DataType::Utf8, true),
        Field::new("score", DataType::Float64, true),
        Field::new("small", DataType::UInt8, true),
        Field::new("user", DataType::Struct(user), true),
    ]
}

pub fn read_file(folder: &Folder, name: &str) -> Vec<RecordBatch> {
    let reader = FileReader::try_new(File::open(folder.path(name)).unwrap(), None).unwrap();
    reader.map(Result::unwrap).collect()
}

pub fn read_stream(bytes: &[u8]) -> Vec<RecordBatch> {
    StreamReader::try_new(Cursor::new(bytes), None).unwrap().map(Result::unwrap).collect()
}

pub fn read_parquet(folder: &Folder, name: &str) -> Vec<RecordBatch> {
    let file = File::open(folder.path(name)).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    reader.map(Result::unwrap).collect()
}

/// All rows in one batch: outputs may split batches anywhere.
pub fn whole(batches: &[RecordBatch]) -> RecordBatch {
    let schema = batches.first().unwrap().schema();
    // Field by field, because concatenation needs equal schemas and Parquet drops the metadata.
    let columns = (0..schema.fields().len()).map(|column| {
        let parts: Vec<_> = batches.iter().map(|batch| batch.column(column).as_ref()).collect();
        arrow_select::concat::concat(&parts).unwrap()
    });
    RecordBatch::try_new(Arc::clone(&schema), columns.collect()).unwrap()
}
