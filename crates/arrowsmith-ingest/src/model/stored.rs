// SPDX-License-Identifier: Apache-2.0
//! What the model finds on its disk, held to what was sent and acknowledged.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::FileReader;

use super::disk::SimulatedDisk;
use super::sent::{Fated, name, record};
use super::simulated::Chance;
use super::{Record, World, out, prefix, spool};
use crate::disk::{Disk, read_all};
use crate::publish::sinks::directory::{FileFormat, Set};
use crate::spool::Spool;

impl World {
    /// Looks at what is stored. Whatever was left of parts has been completed.
    pub(super) fn check(&self) {
        if self.may_have_lost {
            // Files may be torn: nothing was promised. That the service starts is all.
            return;
        }
        let changed = self.stores.changed();
        assert!(changed.is_empty(), "{changed:?} have got another content");
        let rejected = self.rejected();
        for number in 0..self.settings.sinks {
            let mut stored = self.in_files(number);
            stored.extend(self.spooled(number));
            self.hold(number, &stored, &rejected);
        }
    }

    /// Looks for what was acknowledged where it has to be at the end.
    pub(super) fn check_end(&self) {
        if self.may_have_lost || (self.settings.spool.is_some() && self.settings.away > 0) {
            return;
        }
        let rejected = self.rejected();
        for number in 0..self.settings.sinks {
            let hidden = self.disk.below(&out(number));
            let waits = hidden.iter().any(|path| path.extension().is_some_and(|end| end == "set"));
            assert!(!waits, "{hidden:?}: everything is uploaded at the end");
            self.hold(number, &self.in_files(number), &rejected);
        }
    }

    fn hold(&self, number: usize, stored: &BTreeSet<Record>, rejected: &BTreeSet<Record>) {
        for id in &self.acknowledged {
            let there = match self.sent[id] {
                Fated::Row => stored.contains(id),
                Fated::Reject => rejected.contains(id),
            };
            assert!(there, "{id:?}, {:?}, is acknowledged and not in {number}", self.sent[id]);
        }
        for id in &self.refused {
            assert!(!stored.contains(id) && !rejected.contains(id), "{id:?} was refused");
        }
    }

    /// The records in the files of a sink: each once, and those of a connection in their order,
    /// which is that of a folder where there are several.
    fn in_files(&self, number: usize) -> BTreeSet<Record> {
        let mut places: BTreeMap<Record, String> = BTreeMap::new();
        let mut last: BTreeMap<(String, u64), u64> = BTreeMap::new();
        for (path, bytes) in self.files(number) {
            let (folder, _) = path.rsplit_once('/').unwrap_or_default();
            for record in self.in_file(folder, bytes) {
                let sent = self.sent.get(&record);
                assert_eq!(sent, Some(&Fated::Row), "{path}: {record:?} was not sent as a row");
                let other = places.insert(record, path.clone());
                assert!(other.is_none(), "{path}: {record:?} is in {other:?} too");
                let before = last.insert((folder.to_owned(), record.0), record.1);
                assert!(before < Some(record.1), "{path}: {record:?} comes after {before:?}");
            }
        }
        places.into_keys().collect()
    }

    /// The files of a sink by their paths: also those that wait to be uploaded.
    fn files(&self, number: usize) -> BTreeMap<String, Vec<u8>> {
        let folder = out(number);
        let read = |path: &Path| read_all(&self.disk, path).unwrap();
        let extension =
            if self.settings.format == FileFormat::Arrow { ".arrow" } else { ".parquet" };
        let below = |path: &PathBuf| path.strip_prefix(&folder).unwrap().display().to_string();
        let paths = self.disk.below(&folder);
        let named = paths.iter().filter(|path| below(path).ends_with(extension));
        let mut files: BTreeMap<_, _> = named.map(|path| (below(path), read(path))).collect();
        assert!(files.is_empty() || !self.settings.store, "{:?}", files.keys());
        files.extend(self.stores.objects(&prefix(number)));
        for path in paths.iter().filter(|path| below(path).ends_with(".set")) {
            let set: Set = serde_json::from_slice(&read(path)).unwrap();
            assert_eq!(set.store, Some(prefix(number)), "it is completed at the start");
            for (at, file) in set.files.into_iter().enumerate() {
                let hidden = path.with_extension(format!("{at}.file"));
                if self.disk.exists(&hidden) {
                    let bytes = read(&hidden);
                    let uploaded = files.insert(file.path, bytes.clone());
                    assert!(uploaded.is_none_or(|uploaded| uploaded == bytes));
                }
            }
        }
        files
    }

    /// The records of a file in a folder, in order.
    fn in_file(&self, folder: &str, bytes: Vec<u8>) -> Vec<Record> {
        match self.settings.format {
            FileFormat::Arrow => {
                let reader = FileReader::try_new(std::io::Cursor::new(bytes), None).unwrap();
                reader.flat_map(|batch| self.records(&batch.unwrap())).collect()
            }
            FileFormat::Parquet => {
                use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
                let bytes = bytes::Bytes::from(bytes);
                let reader = ParquetRecordBatchReader::try_new(bytes, 1024).unwrap();
                let records = reader.flat_map(|batch| match self.settings.partitions {
                    None => self.records(&batch.unwrap()),
                    Some(_) => self.records_in(folder, &batch.unwrap()),
                });
                records.collect()
            }
        }
    }

    fn spooled(&self, number: usize) -> Vec<Record> {
        if self.settings.spool.is_none() {
            return Vec::new();
        }
        // A look at a copy of the files, not at the spool that is open.
        let copy = SimulatedDisk::new(Chance::new(0));
        let folder = spool(number);
        for name in self.disk.list(&folder).unwrap() {
            let bytes = read_all(&self.disk, &folder.join(&name)).unwrap();
            copy.create_new(&folder.join(&name)).unwrap().write_all(&bytes).unwrap();
        }
        let mut spool = Spool::open(Arc::new(copy), &folder, 1 << 20).unwrap();
        let mut all = Vec::new();
        while let Some((message, _)) = spool.next().unwrap() {
            all.extend(self.records(&message.batch));
        }
        all
    }

    /// Records in the rejects that are not rows.
    fn rejected(&self) -> BTreeSet<Record> {
        let folder = Path::new("/rejects");
        let mut all = BTreeSet::new();
        for name in self.disk.list(folder).unwrap() {
            let text = read_all(&self.disk, &folder.join(&name)).unwrap();
            for line in text.split(|byte| *byte == b'\n') {
                // The last line may be half of one until something is added.
                let Ok(line) = serde_json::from_slice::<serde_json::Value>(line) else { continue };
                if line["kept_as_null"] == false {
                    all.insert(record(line["text"].as_str().unwrap()));
                }
            }
        }
        all
    }

    /// The records of a batch whose names the folder has.
    fn records_in(&self, folder: &str, batch: &RecordBatch) -> Vec<Record> {
        let column = |at| batch.column(at).as_primitive::<UInt64Type>().values();
        let rows = column(0).iter().zip(column(1)).map(|(connection, number)| {
            match folder.strip_prefix("name=").unwrap() {
                "__HIVE_DEFAULT_PARTITION__" => assert!(self.settings.nulls),
                name_here => assert_eq!(name_here, name(*number)),
            }
            (*connection, *number)
        });
        rows.collect()
    }

    fn records(&self, batch: &RecordBatch) -> Vec<Record> {
        let column = |at| batch.column(at).as_primitive::<UInt64Type>().values();
        let names = arrow_cast::cast(batch.column(2), &arrow_schema::DataType::Utf8).unwrap();
        let names = names.as_string::<i32>();
        let rows = column(0).iter().zip(column(1)).enumerate();
        let rows = rows.map(|(row, (connection, number))| {
            if names.is_null(row) {
                assert!(self.settings.nulls);
            } else {
                assert_eq!(names.value(row), name(*number));
            }
            (*connection, *number)
        });
        rows.collect()
    }
}
