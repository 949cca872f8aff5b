// SPDX-License-Identifier: Apache-2.0
//! Newline-delimited JSON files as a dataset: one schema, given or inferred when they are opened.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_schema::Schema;
use arrowsmith::json::ReaderBuilder;
use arrowsmith::{
    DataFile, Error, Input, JsonReadOptions, Partitions, Result, UnknownKeys, expand_datasets,
};

use super::identity::{Identity, Watched, version};
use super::{Batches, Content, Format, Read, Snapshot, split};

/// The files, in order.
#[derive(Debug)]
pub(crate) struct Files {
    files: Vec<FileEntry>,
    /// How they are read: with the schema of the records, given or inferred.
    options: Box<JsonReadOptions>,
    /// Whether the schema was inferred.
    inferred: bool,
    /// Whether files are mapped. One that shrinks then ends the server.
    map: bool,
}

#[derive(Debug)]
struct FileEntry {
    path: PathBuf,
    identity: Identity,
    bytes: usize,
    partitions: Vec<(String, Option<String>)>,
}

/// What to do about keys that an inferred schema lacks.
const LATE: &str = "the schema was inferred from the first records; serve the dataset with --infer-records all, or \
     with --schema";

impl Files {
    pub(super) fn open(
        paths: &[PathBuf],
        options: &JsonReadOptions,
        map: bool,
    ) -> Result<Snapshot> {
        let found = expand_datasets(paths, Format::Json.extensions())?;
        let partitions = Partitions::new(&found, &[])?;
        let mut files = Vec::with_capacity(found.len());
        for DataFile { input, partitions, .. } in found {
            let bytes = input.stored_bytes().and_then(|bytes| usize::try_from(bytes).ok());
            let (Input::Path(path), Some(bytes)) = (input, bytes) else {
                return Err(Error::Config("only files can be served".to_owned()));
            };
            let identity = Identity::at(&path)?;
            files.push(FileEntry { path, identity, bytes, partitions });
        }
        let (records, inferred) = match &options.schema {
            Some(schema) => (Arc::clone(schema), false),
            None => {
                let inputs = files.iter().map(|file| Input::Path(file.path.clone()));
                let builder = ReaderBuilder::new().options(options.clone()).map_files(map);
                (builder.infer_schema(inputs)?.schema, true)
            }
        };
        let options = Box::new(JsonReadOptions {
            schema: Some(Arc::clone(&records)),
            // The types are those of all files.
            partitions: Some(Arc::new(Schema::new(partitions.fields().to_vec()))),
            ..options.clone()
        });
        Ok(Snapshot {
            version: version(files.iter().map(|file| (&file.path, &file.identity))),
            schema: partitions.schema(&records),
            rows: None,
            bytes: Some(files.iter().map(|file| file.bytes as u64).sum()),
            content: Content::Json(Self { files, options, inferred, map }),
        })
    }

    pub(super) fn units(&self) -> usize {
        self.files.len()
    }

    pub(super) fn read(&self, read: &Read) -> Result<Batches> {
        let range = split(self.files.iter().map(|file| file.bytes), read.part, read.parts);
        let files = self.files.get(range).unwrap_or_default();
        if files.is_empty() {
            return Ok(Box::new(std::iter::empty()));
        }
        // The selection of a client skips other keys on purpose.
        let inferred = self.inferred && read.columns.is_none();
        let unknown_keys = if inferred { UnknownKeys::Error } else { UnknownKeys::Skip };
        let options = JsonReadOptions {
            unknown_keys,
            threads: Some(read.threads.max(1)),
            batch_bytes: Some(read.batch_bytes),
            ..JsonReadOptions::clone(&self.options)
        };
        let builder = ReaderBuilder::new().options(options).map_files(self.map);
        let reader =
            builder.cancel(Arc::clone(&read.cancel)).open(files.iter().map(|file| DataFile {
                input: Input::Path(file.path.clone()),
                partitions: file.partitions.clone(),
                deleted: None,
            }));
        let watched = files.iter().map(|file| (file.path.clone(), file.identity));
        let watched = Watched::new(watched);
        watched.before()?;
        let mut reader = reader?;
        let mut done = false;
        Ok(Box::new(std::iter::from_fn(move || {
            if done {
                return None;
            }
            let next = reader.next_batch().transpose();
            let next = next.or_else(|| watched.after().err().map(Err));
            let next = next.map(|next| next.map_err(|error| with_hint(error, inferred)));
            done = !matches!(next, Some(Ok(_)));
            next
        })))
    }
}

fn with_hint(error: Error, inferred: bool) -> Error {
    match error {
        Error::Data(mut data) if inferred => {
            data.hint.get_or_insert_with(|| LATE.to_owned());
            Error::Data(data)
        }
        error => error,
    }
}
