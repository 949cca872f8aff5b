// SPDX-License-Identifier: Apache-2.0
//! Any bytes as a file of an Iceberg table's metadata: a table, or an error; what is added to one
//! that can be added to is there afterwards.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use arrow_array::{RecordBatch, new_null_array};
use arrowsmith::{Error, Input, Result};
use arrowsmith_core::sink::{Output, Sink, SinkSummary};
use arrowsmith_sink::folder::FolderOptions;
use arrowsmith_sink::iceberg::{self, IcebergSink};
use arrowsmith_sink::table::{self, FilesOf};
use arrowsmith_source::iceberg::{Place, Table, encoded};

use crate::convert::Recorder;

/// A table, one of whose files is the input.
struct OneFile<'a> {
    metadata: &'a [u8],
    /// The list of manifests, or a manifest.
    file: &'a [u8],
}

impl Place for OneFile<'_> {
    fn list(&self, _folder: &str) -> Result<Vec<String>> {
        Ok(vec!["v1.metadata.json".to_owned()])
    }

    fn read(&self, location: &str, most: u64) -> Result<Vec<u8>> {
        let bytes = match location {
            "t/metadata/v1.metadata.json" => self.metadata,
            "t/file.avro" => self.file,
            _ => return Err(Error::io(location, io::ErrorKind::NotFound.into())),
        };
        assert!(bytes.len() as u64 <= most);
        Ok(bytes.to_vec())
    }

    fn input(&self, _location: &str) -> Result<Input> {
        Ok(Input::bytes(Vec::new()))
    }
}

/// Metadata whose current snapshot is in `file.avro`: `KEY` says as what.
const METADATA: &str = r#"{"format-version":2,"location":"/t","current-schema-id":0,
"last-sequence-number":1,"default-spec-id":0,
"schemas":[{"schema-id":0,"fields":[
{"id":1,"name":"level","required":false,"type":"string"},
{"id":2,"name":"ts","required":false,"type":"timestamp"},
{"id":3,"name":"n","required":false,"type":"long"},
{"id":4,"name":"d","required":false,"type":"decimal(9, 2)"}]}],
"partition-specs":[{"spec-id":0,"fields":[
{"source-id":1,"field-id":1000,"name":"level","transform":"identity"},
{"source-id":2,"field-id":1001,"name":"ts_day","transform":"day"},
{"source-id":4,"field-id":1002,"name":"d","transform":"identity"}]}],
"current-snapshot-id":1,"snapshots":[{"snapshot-id":1,KEY}]}"#;

/// A byte chooses which of a table's files the rest is: its metadata, its list of manifests, or a
/// manifest.
pub fn table(data: &[u8]) {
    let [how, rest @ ..] = data else { return };
    let with = |key: &str| METADATA.replace("KEY", key);
    let place = |metadata: &[u8], file: &[u8]| {
        let found = Table::load(&OneFile { metadata, file }, "t");
        append(metadata, file, found.as_ref().ok());
        if let Ok(table) = found {
            let names = |file: &arrowsmith::DataFile| file.partitions.len();
            let first = table.files.first().map(names);
            assert!(table.files.iter().all(|file| Some(names(file)) == first));
            assert!(first.unwrap_or(0) <= table.schema.fields().len());
        }
    };
    match how % 3 {
        0 => place(rest, b""),
        1 => place(with(r#""manifest-list":"/t/file.avro""#).as_bytes(), rest),
        _ => place(with(r#""manifests":["/t/file.avro"]"#).as_bytes(), rest),
    }
}

/// The files of a table in memory.
#[derive(Clone, Default)]
struct Files(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

impl table::Place for Files {
    fn list(&self, folder: &str) -> Result<Vec<String>> {
        let files = self.0.lock().expect("no panic");
        let below = files.keys().filter_map(|path| path.strip_prefix(folder)?.strip_prefix('/'));
        Ok(below.map(str::to_owned).collect())
    }

    fn read(&self, path: &str, most: u64) -> Result<Vec<u8>> {
        let files = self.0.lock().expect("no panic");
        let missing = || Error::io(path, io::ErrorKind::NotFound.into());
        let bytes = files.get(path).ok_or_else(missing)?;
        assert!(bytes.len() as u64 <= most);
        Ok(bytes.clone())
    }

    fn create(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        let mut files = self.0.lock().expect("no panic");
        let new = !files.contains_key(path);
        if new {
            files.insert(path.to_owned(), bytes.to_vec());
        }
        Ok(new)
    }

    fn replace(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.0.lock().expect("no panic").insert(path.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn delete(&self, path: &str) {
        self.0.lock().expect("no panic").remove(path);
    }

    fn location(&self) -> Result<String> {
        Ok("/t".to_owned())
    }

    fn is_at(&self, _location: &str) -> Result<bool> {
        Ok(true)
    }
}

const FIRST: &str = "metadata/v1.metadata.json";

/// Counts rows.
#[derive(Default)]
struct Count(SinkSummary);

impl Sink for Count {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.0.count(batch);
        Ok(())
    }

    fn bytes(&mut self) -> Result<u64> {
        Ok(0)
    }

    fn finish(self: Box<Self>) -> Result<SinkSummary> {
        Ok(self.0)
    }
}

/// Adds a row of nulls to the table, where that is possible.
fn append(metadata: &[u8], file: &[u8], found: Option<&Table>) {
    let files = Files::default();
    for (path, bytes) in [(FIRST, metadata), ("file.avro", file)] {
        files.0.lock().expect("no panic").insert(path.to_owned(), bytes.to_vec());
    }
    let place = || Arc::new(files.clone());
    let Ok(Some(table)) = iceberg::Table::load(place(), "fuzz") else { return };
    let Some(found) = found else { return };
    let columns = found.schema.fields().iter().map(|field| new_null_array(field.data_type(), 1));
    let Ok(row) = RecordBatch::try_new(Arc::clone(&found.schema), columns.collect()) else {
        return;
    };
    let files_of = FilesOf {
        folder: Box::new(Recorder(Arc::default())),
        append: true,
        options: FolderOptions::default(),
        make: Box::new(|_: Output, _: &_| Ok(Box::new(Count::default()))),
    };
    let sink = IcebergSink::new(Some(table), place(), "fuzz", &found.schema, files_of);
    let Ok(mut sink) = sink else { return };
    if sink.write(&row).is_err() || Box::new(sink).finish().is_err() {
        return;
    }
    let table = iceberg::Table::load(place(), "fuzz").expect("it was read before");
    assert_eq!(table.expect("there is metadata").version(), 2);
    let files = files.0.lock().expect("no panic");
    let list = files.iter().find(|(path, _)| path.starts_with("metadata/snap-"));
    let records = encoded(list.expect("there is a list").1).expect("it is valid").records;
    let before = encoded(file).map_or(0, |before| before.records);
    assert!(records == before + 1 || records == 1);
}
