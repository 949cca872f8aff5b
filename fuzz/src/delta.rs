// SPDX-License-Identifier: Apache-2.0
//! Any bytes as the log of a Delta table: a table whose files are within it, or an error; what is
//! added to one that can be added to is there afterwards.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use arrowsmith::{Error, Result};
use arrowsmith_core::sink::{Output, Sink};
use arrowsmith_sink::delta::{DeltaSink, LOG, Table};
use arrowsmith_sink::folder::FolderOptions;
use arrowsmith_sink::table::{FilesOf, Place};
use arrowsmith_source::deletion_vector::{count, parse};

use crate::convert::{Recorder, Rows};

/// A log in memory, by the names of its files.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

impl Place for Log {
    fn list(&self, folder: &str) -> Result<Vec<String>> {
        assert_eq!(folder, LOG);
        Ok(self.0.lock().expect("no panic").keys().cloned().collect())
    }

    fn read(&self, path: &str, most: u64) -> Result<Vec<u8>> {
        let name = name(path);
        let files = self.0.lock().expect("no panic");
        let missing = || Error::io(name, io::ErrorKind::NotFound.into());
        let bytes = files.get(name).ok_or_else(missing)?;
        assert!(bytes.len() as u64 <= most);
        Ok(bytes.clone())
    }

    fn create(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        let mut files = self.0.lock().expect("no panic");
        let new = !files.contains_key(name(path));
        if new {
            files.insert(name(path).to_owned(), bytes.to_vec());
        }
        Ok(new)
    }

    fn replace(&self, path: &str, _bytes: &[u8]) -> Result<()> {
        unreachable!("no log has {path} replaced")
    }

    fn delete(&self, _path: &str) {}

    fn location(&self) -> Result<String> {
        Ok("memory:".to_owned())
    }

    fn is_at(&self, location: &str) -> Result<bool> {
        unreachable!("no log has its place {location}")
    }
}

/// The name in the log; files of the table keep their paths.
fn name(path: &str) -> &str {
    path.strip_prefix(LOG).and_then(|name| name.strip_prefix('/')).unwrap_or(path)
}

/// A commit that makes a table of its own, after checkpoints that have other actions.
const FIRST: &str = r#"{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}
{"metaData":{"id":"x","format":{"provider":"parquet"},"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"k\",\"type\":\"string\"}]}","partitionColumns":["k"]}}
"#;

/// The file of a checkpoint that names a sidecar.
const MANIFEST: &str = r#"{"checkpointMetadata":{"version":3}}
{"sidecar":{"path":"s%2Eparquet","sizeInBytes":1,"modificationTime":1}}
"#;

/// A byte chooses what the rest is: commits between zero bytes; names of files of the log, one per
/// line, that all are the same commit; or a checkpoint, alone or before that commit, as text, or in
/// a sidecar.
pub fn log(data: &[u8]) {
    let [how, rest @ ..] = data else { return };
    let log = Log::default();
    let put = |name: String, bytes: &[u8]| {
        log.0.lock().expect("no panic").insert(name, bytes.to_vec());
    };
    match how {
        b'J' => put(format!("{:020}.checkpoint.u-1.json", 3), rest),
        b'S' => {
            put(format!("{:020}.json", 4), FIRST.as_bytes());
            put(format!("{:020}.checkpoint.u-1.json", 3), MANIFEST.as_bytes());
            put("_sidecars/s.parquet".to_owned(), rest);
        }
        how => plain(how % 4, rest, put),
    }
    let load = || Table::load(Arc::new(log.clone()), "fuzz");
    let Ok(Some(table)) = load() else { return };
    let _ = table.schema();
    let Ok(files) = table.files() else { return };
    for file in &files {
        assert!(!file.path.starts_with('/') && !file.path.contains("://"), "{file:?}");
        assert!(file.path.split('/').all(|name| name != ".."), "{file:?}");
        assert!(file.url_path().is_ascii(), "{file:?}");
        assert_eq!(file.partitions.len(), table.partition_columns().len(), "{file:?}");
    }
    append(&log, table, files.len());
}

/// A log without checkpoints of version 2.
fn plain(how: u8, rest: &[u8], put: impl Fn(String, &[u8])) {
    match how {
        0 => {
            for (version, commit) in rest.split(|byte| *byte == 0).enumerate() {
                put(format!("{version:020}.json"), commit);
            }
        }
        1 => {
            for name in String::from_utf8_lossy(rest).lines() {
                put(name.to_owned(), FIRST.as_bytes());
            }
        }
        with => {
            put(format!("{:020}.checkpoint.parquet", 3), rest);
            if with == 3 {
                put(format!("{:020}.json", 4), FIRST.as_bytes());
            }
        }
    }
}

/// Adds no rows to the table, where that is possible.
fn append(log: &Log, table: Table, files: usize) {
    let Ok(schema) = table.schema() else { return };
    let version = table.version();
    let written = Arc::default();
    let into = Arc::clone(&written);
    let make = move |output: Output, _: &_| -> Result<Box<dyn Sink>> {
        Ok(Box::new(Rows::new(&output, &into)))
    };
    let files_of = FilesOf {
        folder: Box::new(Recorder(written)),
        append: true,
        options: FolderOptions::default(),
        make: Box::new(make),
    };
    let place = Arc::new(log.clone());
    let Ok(sink) = DeltaSink::new(Some(table), place, "fuzz", &schema, files_of) else { return };
    if Box::new(sink).finish().is_ok() {
        let table = Table::load(Arc::new(log.clone()), "fuzz").expect("it was read before");
        let table = table.expect("there is a log");
        assert!(table.version() > version);
        // Files without a partition are written even if there are no rows.
        assert!(table.files().expect("as before").len() >= files);
    }
}

/// Any bytes as a deletion vector: ascending ranges, or an error.
pub fn deletion_vector(data: &[u8]) {
    let Ok(rows) = parse(data) else { return };
    assert!(rows.iter().all(|rows| rows.start < rows.end));
    assert!(rows.windows(2).all(|pair| pair[0].end < pair[1].start));
    // A bit takes the least: of two, one begins a range.
    assert!(rows.len() <= data.len() * 4);
    assert!(count(&rows) >= rows.len() as u64);
}
