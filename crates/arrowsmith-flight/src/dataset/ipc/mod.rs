// SPDX-License-Identifier: Apache-2.0
//! Arrow IPC files as a dataset: read block by block, or mapped and served without a copy.
//!
//! A read of everything sends the stored messages as they are (`Messages`); any other one decodes
//! batches. Files may have different columns: then the batches have the columns of all. Blocks and
//! metadata come from a file and are checked before they are used. A file that is read may be
//! truncated or replaced at any time: that is an error of the streams that read it. One that is
//! mapped must not change.

mod stored;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_ipc::Block;
use arrow_schema::SchemaRef;
use arrowsmith::{
    Error, Input, Partitions, Result, conform_batch, expand_datasets, misfit, union_schema,
};
use bytes::Bytes;

use self::stored::{Open, Stored, refuse};
use super::identity::version;
use super::{Batches, Content, Format, Snapshot, split};

/// The files, in order.
#[derive(Debug)]
pub(crate) struct Files {
    files: Vec<Arc<Stored>>,
    partitions: Partitions,
    /// The columns of all files, where these differ.
    union: Option<SchemaRef>,
    /// The values of the partition columns, by file.
    values: Vec<Arc<[ArrayRef]>>,
}

impl Files {
    pub(super) fn open(paths: &[PathBuf], map: bool) -> Result<Snapshot> {
        let found = expand_datasets(paths, Format::Ipc.extensions())?;
        let partitions = Partitions::new(&found, &[])?;
        let (mut files, mut values, mut schemas) = (Vec::new(), Vec::new(), Vec::new());
        let (mut rows, mut bytes) = (0, 0);
        for found in found {
            values.push(partitions.values(&found)?.into());
            let Input::Path(path) = found.input else {
                return Err(Error::Config("only files can be served".to_owned()));
            };
            let (file, its, length) = Stored::open(&path, map)?;
            schemas.push(its);
            rows += file.batches.iter().map(|place| place.rows as u64).sum::<u64>();
            bytes += length;
            files.push(Arc::new(file));
        }
        let first = schemas.first().ok_or_else(|| Error::Config("there is no file".to_owned()))?;
        let schema =
            schemas.iter().fold(Arc::clone(first), |all, schema| union_schema(&all, schema));
        let union = schemas.iter().any(|own| own.fields() != schema.fields());
        let union = union.then(|| Arc::clone(&schema));
        for (own, file) in schemas.iter().zip(&files) {
            let Some(field) = misfit(own, &schema) else { continue };
            let (name, own) = (field.name(), field.data_type());
            let all = schema.field_with_name(name).map_or(own, |field| field.data_type());
            let reason = format!("column {name} is {own}, in other files it is {all}");
            return Err(refuse(&file.path, &reason));
        }
        Ok(Snapshot {
            version: version(files.iter().map(|file| (&file.path, &file.identity))),
            schema: partitions.schema(&schema),
            rows: Some(rows),
            bytes: Some(bytes),
            content: Content::Ipc(Self { files, partitions, union, values }),
        })
    }

    pub(super) fn units(&self) -> usize {
        self.files.iter().map(|file| file.batches.len()).sum()
    }

    /// Bytes of the largest block that is read; those that are mapped take none.
    pub(super) fn block_bytes(&self) -> u64 {
        let read = self.files.iter().filter(|file| file.map.is_none());
        let blocks = read.flat_map(|file| file.batches.iter().map(|place| &place.block));
        blocks.map(|block| u64::try_from(block.bodyLength()).unwrap_or(0)).max().unwrap_or(0)
    }

    /// The blocks of a part, by the number of the file.
    fn places(&self, part: usize, parts: usize) -> Vec<(usize, Range<usize>)> {
        let all = self.files.iter().flat_map(|file| file.batches.iter().map(|place| place.rows));
        let range = split(all.clone(), part, parts);
        let mut first = 0;
        let mut places = Vec::new();
        for (number, file) in self.files.iter().enumerate() {
            let count = file.batches.len();
            let from = range.start.saturating_sub(first).min(count);
            let to = range.end.saturating_sub(first).min(count);
            if from < to {
                places.push((number, from..to));
            }
            first += count;
        }
        places
    }

    pub(super) fn batches(&self, part: usize, parts: usize) -> Batches {
        let mut blocks = Vec::new();
        for (number, range) in self.places(part, parts) {
            if let (Some(file), Some(values)) = (self.files.get(number), self.values.get(number)) {
                blocks.push((Arc::clone(file), Arc::clone(values), range));
            }
        }
        let mut blocks = blocks.into_iter().flat_map(|(file, values, range)| {
            range.map(move |index| (Arc::clone(&file), Arc::clone(&values), index))
        });
        let (partitions, union) = (self.partitions.clone(), self.union.clone());
        let (mut open, mut failed) = (Open::default(), false);
        Box::new(std::iter::from_fn(move || {
            if failed {
                return None;
            }
            let batch = match blocks.next() {
                Some((file, values, index)) => {
                    let batch = open.batch(&file, index).and_then(|batch| match &union {
                        Some(union) => conform_batch(&batch, union).map_err(|error| {
                            let name = || Some(file.path.to_string_lossy().into());
                            error.at(|place| place.source = name())
                        }),
                        None => Ok(batch),
                    });
                    batch.and_then(|batch| partitions.extend(&batch, &values))
                }
                None => open.close().err().map(Err)?,
            };
            failed = batch.is_err();
            Some(batch)
        }))
    }

    /// The stored messages of a part, if they can be sent as they are: no body is larger than
    /// `bytes_max`, and dictionaries mean the same in all files.
    pub(super) fn messages(&self, part: usize, parts: usize, bytes_max: usize) -> Option<Messages> {
        if self.union.is_some() || !self.partitions.fields().is_empty() {
            return None;
        }
        let places = self.places(part, parts);
        let schema = self.files.first()?.schema.clone();
        let alike =
            self.files.iter().all(|file| file.schema == schema || file.dictionaries.is_empty());
        let fits = self.files.iter().all(|file| {
            let places = file.batches.iter().map(|place| &place.block);
            places.chain(&file.dictionaries).all(|block| {
                usize::try_from(block.bodyLength()).is_ok_and(|bytes| bytes <= bytes_max)
            })
        });
        let messages = Messages {
            schema,
            queue: self.queue(places),
            at: 0,
            open: Open::default(),
            failed: false,
        };
        (alike && fits).then_some(messages)
    }

    /// The messages that are sent: dictionaries first, then batches.
    fn queue(&self, places: Vec<(usize, Range<usize>)>) -> Vec<(Arc<Stored>, Block)> {
        let mut queue = Vec::new();
        for (number, range) in places {
            let Some(file) = self.files.get(number) else { continue };
            queue.extend(file.dictionaries.iter().map(|block| (Arc::clone(file), *block)));
            let batches = file.batches.get(range).unwrap_or_default();
            queue.extend(batches.iter().map(|place| (Arc::clone(file), place.block)));
        }
        queue
    }
}

/// Stored messages, in the order in which they are sent.
pub(crate) struct Messages {
    schema: Bytes,
    queue: Vec<(Arc<Stored>, Block)>,
    at: usize,
    open: Open,
    failed: bool,
}

impl Messages {
    /// The schema message.
    pub(crate) fn schema(&self) -> &Bytes {
        &self.schema
    }
}

impl Iterator for Messages {
    /// Message and body.
    type Item = Result<(Bytes, Bytes)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let message = match self.queue.get(self.at) {
            Some((file, block)) => self.open.message(file, block),
            None => Err(self.open.close().err()?),
        };
        self.at += 1;
        self.failed = message.is_err();
        Some(message)
    }
}
