// SPDX-License-Identifier: Apache-2.0
//! Schemas from files and bytes: valid, invalid, and malicious.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrowsmith_testkit::tools;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ArrowWriter};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::{load_schema, load_schema_file, schema_from_bytes};
use crate::text::{format_schema, parse_schema};

const EVERYTHING: &str = r#"
a: int8 not null, b: uint64, c: float16, d: float64, e: bool, f: null
g: decimal128(10, 2), h: decimal256(50, 3), i: utf8, j: large_utf8, k: json, l: binary encoding hex
m: fixed_size_binary(16), n: date32, o: date64, p: time32(ms), q: time64(ns), r: timestamp(us, "UTC")
s: timestamp(s), t: duration(ns), u: list<int8 not null>, v: large_list<element: utf8>
w: fixed_size_list<float32, 3> not null, x: struct<a: int64, "odd name": struct<>>
y: map<utf8, list<int8>>, z: dictionary<int16, utf8>, view: utf8_view, bytes: binary_view
li: list_view<int8>, i1: interval(day_time), un: sparse_union<3 a: int8, 5 b: utf8>
re: run_end_encoded<run_ends: int32 not null, values: utf8>, d32: decimal32(5, 1), d64: decimal64(5, 1)
metadata "k" = "v"
"#;

fn everything() -> SchemaRef {
    Arc::new(parse_schema(EVERYTHING).unwrap())
}

/// An IPC stream without batches; it starts with the output of pyarrow's `schema.serialize()`.
fn stream(schema: &Schema) -> Vec<u8> {
    let mut bytes = Vec::new();
    StreamWriter::try_new(&mut bytes, schema).unwrap().finish().unwrap();
    bytes
}

fn error(bytes: &[u8]) -> String {
    schema_from_bytes(bytes).unwrap_err().to_string()
}

#[test]
fn arrow_messages_streams_and_files() {
    let schema = everything();
    let stream = stream(&schema);
    assert_eq!(schema_from_bytes(&stream).unwrap(), *schema);
    let len = u32::from_le_bytes(stream[4..8].try_into().unwrap()) as usize;
    let message = &stream[..8 + len];
    assert_eq!(schema_from_bytes(message).unwrap(), *schema);
    assert_eq!(schema_from_bytes(&message[4..]).unwrap(), *schema, "before Arrow 0.15");
    let mut file = Vec::new();
    FileWriter::try_new(&mut file, &schema).unwrap().finish().unwrap();
    assert_eq!(schema_from_bytes(&file).unwrap(), *schema);

    for len in 0..message.len() {
        assert!(schema_from_bytes(&message[..len]).is_err(), "{len} bytes");
    }
    assert_eq!(error(&message[..100]), "schema: the Arrow schema message is cut off");
    let huge = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F];
    assert!(error(&huge).contains("67108864 are allowed"));
}

#[test]
fn files_are_known_by_their_bytes() {
    let schema = parse_schema("a: int64 not null, t: timestamp(ns, \"+01:00\"), k: json").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);

    fs::write(path("text"), format_schema(&schema)).unwrap();
    fs::write(path("stream"), stream(&schema)).unwrap();
    let schema = Arc::new(schema);
    let file = File::create(path("arrow")).unwrap();
    FileWriter::try_new(file, &schema).unwrap().finish().unwrap();
    let file = File::create(path("parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, Arc::clone(&schema), None).unwrap();
    writer.write(&RecordBatch::new_empty(Arc::clone(&schema))).unwrap();
    writer.close().unwrap();

    for name in ["text", "stream", "arrow", "parquet"] {
        let path = path(name);
        assert_eq!(load_schema_file(&path).unwrap(), *schema, "{name}");
        assert_eq!(load_schema(path.to_str().unwrap()).unwrap(), *schema, "{name}");
    }
}

#[test]
fn parquet_without_an_arrow_schema_gives_what_its_types_come_to() {
    let schema = Arc::new(parse_schema("a: int32 not null, b: utf8, l: list<float64>").unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p");
    let options = parquet::arrow::arrow_writer::ArrowWriterOptions::new();
    let options = options.with_skip_arrow_metadata(true);
    let file = File::create(&path).unwrap();
    let writer = ArrowWriter::try_new_with_options(file, Arc::clone(&schema), options).unwrap();
    writer.close().unwrap();
    let loaded = load_schema_file(&path).unwrap();
    assert_eq!(format_schema(&loaded), "a: int32 not null\nb: utf8\nl: list<float64>\n");
}

/// Parquet has other names for the parts of lists, and no seconds.
#[test]
fn parquet_gives_the_schema_that_its_writer_kept() {
    let item = Arc::new(Field::new("bag", DataType::Int64, true));
    let seconds = DataType::Timestamp(TimeUnit::Second, None);
    let fields = vec![Field::new("l", DataType::List(item), true), Field::new("t", seconds, true)];
    let schema = Arc::new(Schema::new(fields));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p");
    let write = |kept: &Schema| {
        let options = parquet::arrow::arrow_writer::ArrowWriterOptions::new();
        let file = File::create(&path).unwrap();
        let properties = WriterProperties::builder().set_coerce_types(true);
        let properties = properties.set_key_value_metadata(Some(vec![KeyValue::new(
            ARROW_SCHEMA_META_KEY.to_owned(),
            BASE64_STANDARD.encode(stream(kept)),
        )]));
        let options = options.with_skip_arrow_metadata(true).with_properties(properties.build());
        let writer = ArrowWriter::try_new_with_options(file, Arc::clone(&schema), options);
        writer.unwrap().close().unwrap();
    };
    write(&schema);
    assert_eq!(load_schema_file(&path).unwrap(), *schema);
    // One of other columns is not that of the file.
    write(&parse_schema("l: list<int64>").unwrap());
    let loaded = load_schema_file(&path).unwrap();
    assert_eq!(format_schema(&loaded), "l: list<element: int64>\nt: int64\n");
}

#[test]
fn inline_text_and_what_is_wrong() {
    let schema = load_schema("a: int64, b: utf8").unwrap();
    assert_eq!(schema.fields().len(), 2);
    assert_eq!(
        load_schema("missing.schema").unwrap_err().to_string(),
        "schema: there is no file \"missing.schema\", and a schema is written 'name: type, …'"
    );
    assert_eq!(error(b""), "schema: there is nothing in it");
    assert_eq!(error(b"\xEF\xBB\xBF \n"), "schema: there is nothing in it");
    assert_eq!(error(b"a\xFF"), "schema: neither text in UTF-8 nor an Arrow or Parquet file");
    assert_eq!(error(b"PAR1...."), "schema: the schema of a Parquet file is read from the file");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wrong.schema");
    fs::write(&path, "a: int64\nb: in64\n").unwrap();
    let message = load_schema_file(&path).unwrap_err().to_string();
    let expected = format!("schema: {}: line 2, column 4: expected a type", path.display());
    assert!(message.starts_with(&expected), "{message}");
    assert!(load_schema_file(folder.path().join("none")).is_err());
}

#[test]
fn any_byte_may_be_any_other() {
    // Changing any byte of a message gives a schema or an error.
    let schema = everything();
    let stream = stream(&schema);
    let len = u32::from_le_bytes(stream[4..8].try_into().unwrap()) as usize;
    let mut bytes = stream[..8 + len].to_vec();
    let mut sound = 0;
    for at in 0..bytes.len() {
        let kept = bytes[at];
        for other in [0, 1, 7, 20, 64, 0x80, 0xFF, kept ^ 1, kept.wrapping_add(1)] {
            bytes[at] = other;
            if let Ok(schema) = schema_from_bytes(&bytes) {
                // A schema that was read can be written and, if its names are unique, compiled.
                sound += usize::from(parse_schema(&format_schema(&schema)).is_ok());
            }
        }
        bytes[at] = kept;
    }
    assert!(sound > 1000, "{sound}");
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files_below(&path, files) } else { files.push(path) }
    }
}

#[test]
fn corpora_of_good_and_bad_files() {
    let Some(corpora) = tools::corpora() else { return };
    let mut files = Vec::new();
    for entry in fs::read_dir(corpora).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("parquet") || name.starts_with("arrow") {
            files_below(&folder, &mut files);
        }
    }
    let (mut schemas, mut plans) = (0, 0);
    for path in &files {
        if let Ok(schema) = load_schema_file(path) {
            schemas += 1;
            if crate::Plan::new(Arc::new(schema.clone())).is_ok() {
                plans += 1;
                let text = format_schema(&schema);
                assert_eq!(parse_schema(&text).unwrap(), schema, "{}:\n{text}", path.display());
            }
        }
    }
    eprintln!("{} files, {schemas} schemas, {plans} plans", files.len());
    assert!(plans > 0 && schemas > files.len() / 2);
}
