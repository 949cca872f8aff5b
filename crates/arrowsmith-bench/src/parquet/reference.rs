// SPDX-License-Identifier: Apache-2.0
//! The Arrow reader of the `parquet` crate as an engine: a peer that needs no installation.

use std::fs::File;
use std::num::NonZeroUsize;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use arrowsmith_source::FileMap;
use bytes::Bytes;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};

use crate::definition::Strings;
use crate::engine::{InProcess, OTHER_FORMAT, Prepared, Sink, Source};

/// The reader with a given number of rows per batch, as this command was built.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ParquetRs {
    pub(crate) name: &'static str,
    pub(crate) batch_rows: usize,
}

impl InProcess for ParquetRs {
    fn name(&self) -> &str {
        self.name
    }

    fn version(&self) -> String {
        "parquet 59".to_owned()
    }

    fn prepare<'a>(
        &'a self,
        source: Source<'a>,
        threads: NonZeroUsize,
    ) -> Result<Box<dyn Prepared + 'a>, String> {
        let Source::Parquet { file, strings, memory } = source else {
            return Err(OTHER_FORMAT.to_owned());
        };
        let read = || std::fs::read(file).map(Bytes::from).map_err(|error| error.to_string());
        let bytes = memory.then(read).transpose()?;
        let path = file.to_owned();
        Ok(Box::new(Reading { path, bytes, batch_rows: self.batch_rows, threads, strings }))
    }
}

struct Reading {
    path: std::path::PathBuf,
    /// The file, if it is in memory.
    bytes: Option<Bytes>,
    batch_rows: usize,
    threads: NonZeroUsize,
    strings: Strings,
}

impl Prepared for Reading {
    fn run(&mut self, sink: Sink<'_>) -> Result<(), String> {
        let bytes = match &self.bytes {
            Some(bytes) => bytes.clone(),
            None => {
                let file = File::open(&self.path).map_err(|error| error.to_string())?;
                Bytes::from_owner(FileMap::open(&file).map_err(|error| error.to_string())?)
            }
        };
        let metadata = metadata(&bytes, self.strings)?;
        let groups = metadata.metadata().num_row_groups();
        let threads = self.threads.get().min(groups.max(1));
        if threads == 1 {
            return read(&bytes, &metadata, (0..groups).collect(), self.batch_rows, sink);
        }
        // Whole row groups for each thread: the reader itself is single-threaded.
        let rows = self.batch_rows;
        let parts = std::thread::scope(|scope| {
            let part = |thread: usize| {
                let groups = groups * thread / threads..groups * (thread + 1) / threads;
                let (bytes, metadata) = (&bytes, &metadata);
                scope.spawn(move || {
                    let mut batches: Vec<RecordBatch> = Vec::new();
                    read(bytes, metadata, groups.collect(), rows, &mut |batch| {
                        batches.push(batch);
                        Ok(())
                    })?;
                    Ok(batches)
                })
            };
            let parts: Vec<_> = (0..threads).map(part).collect();
            let joined = parts
                .into_iter()
                .map(|part| part.join().map_err(|_| "a reading thread ended early".to_owned())?);
            joined.collect::<Result<Vec<_>, String>>()
        })?;
        parts.into_iter().flatten().try_for_each(sink)
    }
}

/// The footer, with the requested schema of strings.
fn metadata(bytes: &Bytes, strings: Strings) -> Result<ArrowReaderMetadata, String> {
    let text = |error: parquet::errors::ParquetError| error.to_string();
    let plain = ArrowReaderMetadata::load(bytes, ArrowReaderOptions::new()).map_err(text)?;
    let to = match strings {
        Strings::Plain => return Ok(plain),
        Strings::View => DataType::Utf8View,
        Strings::Dictionary => {
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
        }
    };
    let fields: Fields = plain.schema().fields().iter().map(|field| retype(field, &to)).collect();
    let options = ArrowReaderOptions::new().with_schema(Arc::new(Schema::new(fields)));
    ArrowReaderMetadata::try_new(Arc::clone(plain.metadata()), options).map_err(text)
}

fn retype(field: &FieldRef, to: &DataType) -> FieldRef {
    match field.data_type() {
        DataType::Utf8 => Arc::new(Field::new(field.name(), to.clone(), field.is_nullable())),
        _ => Arc::clone(field),
    }
}

fn read(
    bytes: &Bytes,
    metadata: &ArrowReaderMetadata,
    groups: Vec<usize>,
    batch_rows: usize,
    sink: Sink<'_>,
) -> Result<(), String> {
    let builder =
        ParquetRecordBatchReaderBuilder::new_with_metadata(bytes.clone(), metadata.clone());
    let reader = builder.with_row_groups(groups).with_batch_size(batch_rows).build();
    for batch in reader.map_err(|error| error.to_string())? {
        sink(batch.map_err(|error| error.to_string())?)?;
    }
    Ok(())
}
