// SPDX-License-Identifier: Apache-2.0
//! Any bytes as a file of an Iceberg table's metadata: a table, or an error.

use std::io;

use arrowsmith::{Error, Input, Result};
use arrowsmith_source::iceberg::{Place, Table};

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
"schemas":[{"schema-id":0,"fields":[
{"id":1,"name":"level","required":false,"type":"string"},
{"id":2,"name":"ts","required":false,"type":"timestamp"},
{"id":3,"name":"n","required":true,"type":"long"},
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
        if let Ok(table) = Table::load(&OneFile { metadata, file }, "t") {
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
