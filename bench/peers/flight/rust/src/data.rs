// SPDX-License-Identifier: Apache-2.0
//! The data of the server: a folder of Parquet files that is read for every query, one after
//! another, or Arrow files that are mapped once.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, root_as_footer};
use arrow_schema::SchemaRef;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use parquet::arrow::ParquetRecordBatchStreamBuilder;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::harness::Failure;

pub struct Data {
    schema: SchemaRef,
    files: Vec<PathBuf>,
    batches: Option<Vec<RecordBatch>>,
    batch_rows: usize,
}

impl Data {
    pub fn open(folder: &Path, memory: bool, batch_rows: usize) -> Result<Self, Failure> {
        let entries = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
        let mut files = entries.collect::<std::io::Result<Vec<_>>>()?;
        files.sort();
        let first = files.first().ok_or("no files")?;
        if !memory {
            let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(first)?)?;
            return Ok(Self { schema: reader.schema().clone(), files, batches: None, batch_rows });
        }
        let mut batches = Vec::new();
        for file in &files {
            batches.extend(map(file)?);
        }
        let schema = batches.first().ok_or("no batches")?.schema();
        Ok(Self { schema, files, batches: Some(batches), batch_rows })
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub fn read(&self) -> BoxStream<'static, Result<RecordBatch, Failure>> {
        if let Some(batches) = self.batches.clone() {
            return stream::iter(batches.into_iter().map(Ok)).boxed();
        }
        let rows = self.batch_rows;
        let open = move |path| async move {
            let file = tokio::fs::File::open(path).await?;
            let builder = ParquetRecordBatchStreamBuilder::new(file).await?;
            let stream = builder.with_batch_size(rows).build()?;
            Ok::<_, Failure>(stream.map_err(Failure::from))
        };
        stream::iter(self.files.clone()).then(open).try_flatten().boxed()
    }
}

/// The batches of a mapped file, without a copy.
fn map(path: &Path) -> Result<Vec<RecordBatch>, Failure> {
    // SAFETY: the file is not modified while it is mapped: only the benchmark writes it, before the
    // run.
    let mapped = unsafe { memmap2::Mmap::map(&File::open(path)?)? };
    let buffer = Buffer::from(Bytes::from_owner(mapped));
    let end = buffer.len().checked_sub(10).ok_or("too short")?;
    let footer_len = read_footer_length(buffer[end..].try_into()?)?;
    let footer = root_as_footer(&buffer[end - footer_len..end]).map_err(|e| e.to_string())?;
    let schema = fb_to_schema(footer.schema().ok_or("no schema")?);
    let decoder = FileDecoder::new(schema.into(), footer.version());
    let blocks = footer.recordBatches().ok_or("no batches")?;
    let read = |block: &Block| -> Result<RecordBatch, Failure> {
        let len = block.metaDataLength() as usize + block.bodyLength() as usize;
        let data = buffer.slice_with_length(block.offset() as usize, len);
        Ok(decoder.read_record_batch(block, &data)?.ok_or("no batch")?)
    };
    blocks.iter().map(read).collect()
}
