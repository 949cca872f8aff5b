// SPDX-License-Identifier: Apache-2.0
//! Newline-delimited JSON files as a dataset: one schema, given or inferred when they are opened.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use arrowsmith::json::{ReaderBuilder, SampleOptions, infer_schema};
use arrowsmith::{DataFile, Error, Input, Result, expand_datasets};

use super::{Batches, Content, Format, Read, Snapshot, split, version};

/// The files, in order, with their sizes in bytes.
#[derive(Debug)]
pub(crate) struct Files {
    files: Vec<(PathBuf, usize)>,
}

impl Files {
    pub(super) fn open(paths: &[PathBuf], schema: Option<&SchemaRef>) -> Result<Snapshot> {
        let found = expand_datasets(paths, Format::Json.extensions())?;
        let mut files = Vec::with_capacity(found.len());
        for DataFile { input, .. } in found {
            let bytes = input.stored_bytes().and_then(|bytes| usize::try_from(bytes).ok());
            match (input, bytes) {
                (Input::Path(path), Some(bytes)) => files.push((path, bytes)),
                _ => return Err(Error::Config("only files can be served".to_owned())),
            }
        }
        let names: Vec<PathBuf> = files.iter().map(|(path, _)| path.clone()).collect();
        let schema = match schema {
            Some(schema) => Arc::clone(schema),
            None => {
                let inputs = names.iter().cloned().map(Input::Path);
                infer_schema(inputs, &SampleOptions::default())?.schema
            }
        };
        Ok(Snapshot {
            version: version(&names),
            schema,
            rows: None,
            bytes: Some(files.iter().map(|(_, bytes)| *bytes as u64).sum()),
            content: Content::Json(Self { files }),
        })
    }

    pub(super) fn units(&self) -> usize {
        self.files.len()
    }

    pub(super) fn read(&self, read: &Read, schema: &SchemaRef) -> Result<Batches> {
        let range = split(self.files.iter().map(|(_, bytes)| *bytes), read.part, read.parts);
        let files = self.files.get(range).unwrap_or_default();
        if files.is_empty() {
            return Ok(Box::new(std::iter::empty()));
        }
        let mut reader = ReaderBuilder::new()
            .schema(Arc::clone(schema))
            .threads(read.threads.max(1))
            .batch_bytes(Some(read.batch_bytes))
            .cancel(Arc::clone(&read.cancel))
            .open(files.iter().map(|(path, _)| Input::Path(path.clone())))?;
        Ok(Box::new(std::iter::from_fn(move || reader.next_batch().transpose())))
    }
}
