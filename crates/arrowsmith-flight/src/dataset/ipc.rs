// SPDX-License-Identifier: Apache-2.0
//! Arrow IPC files as a dataset: mapped, and served from where they lie.
//!
//! A read of everything sends the stored messages as they are (`Messages`); any other one decodes batches whose
//! buffers are the map. Blocks and metadata come from a file and are checked before they are used.

use std::fs::File;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, MessageHeader, root_as_footer, root_as_message};
use arrow_schema::SchemaRef;
use arrowsmith::{DataFile, Error, Input, Result, expand_datasets};
use arrowsmith_mmap::FileMap;
use bytes::Bytes;

use super::{Batches, Content, Format, Snapshot, split, version};

const MAGIC: &[u8] = b"ARROW1";
/// The footer's length, and the magic again.
const TRAILER_BYTES: usize = 10;
/// Continuation marker and length before a message.
const PREFIX_BYTES: usize = 8;

/// A block of a file: a message and its body, and the rows in it.
#[derive(Debug, Clone, Copy)]
struct Place {
    block: Block,
    rows: usize,
}

#[derive(Debug)]
struct Mapped {
    bytes: Bytes,
    /// The schema message, as it is stored.
    schema: Bytes,
    decoder: FileDecoder,
    dictionaries: Vec<Block>,
    batches: Vec<Place>,
}

/// The files, in order.
#[derive(Debug)]
pub(crate) struct Files {
    files: Vec<Arc<Mapped>>,
}

fn refuse(path: &std::path::Path, reason: &str) -> Error {
    Error::Config(format!("{}: {reason}", path.display()))
}

impl Files {
    pub(super) fn open(paths: &[PathBuf]) -> Result<Snapshot> {
        let found = expand_datasets(paths, Format::Ipc.extensions())?;
        let (mut files, mut names) = (Vec::new(), Vec::new());
        let mut schema: Option<SchemaRef> = None;
        let (mut rows, mut bytes) = (0, 0);
        for DataFile { input, .. } in found {
            let Input::Path(path) = input else {
                return Err(Error::Config("only files can be served".to_owned()));
            };
            let (file, its) = Mapped::open(&path)?;
            match &schema {
                Some(first) if first.fields() != its.fields() => {
                    return Err(refuse(&path, "has other columns than the first file"));
                }
                Some(_) => {}
                None => schema = Some(its),
            }
            rows += file.batches.iter().map(|place| place.rows as u64).sum::<u64>();
            bytes += file.bytes.len() as u64;
            files.push(Arc::new(file));
            names.push(path);
        }
        let schema = schema.ok_or_else(|| Error::Config("there is no file".to_owned()))?;
        Ok(Snapshot {
            version: version(&names),
            schema,
            rows: Some(rows),
            bytes: Some(bytes),
            content: Content::Ipc(Self { files }),
        })
    }

    pub(super) fn units(&self) -> usize {
        self.files.iter().map(|file| file.batches.len()).sum()
    }

    /// The blocks of a part, by file.
    fn places(&self, part: usize, parts: usize) -> Vec<(Arc<Mapped>, Range<usize>)> {
        let all = self.files.iter().flat_map(|file| file.batches.iter().map(|place| place.rows));
        let range = split(all.clone(), part, parts);
        let mut first = 0;
        let mut places = Vec::new();
        for file in &self.files {
            let count = file.batches.len();
            let from = range.start.saturating_sub(first).min(count);
            let to = range.end.saturating_sub(first).min(count);
            if from < to {
                places.push((Arc::clone(file), from..to));
            }
            first += count;
        }
        places
    }

    pub(super) fn batches(&self, part: usize, parts: usize) -> Batches {
        let places = self.places(part, parts);
        Box::new(
            places.into_iter().flat_map(|(file, range)| range.map(move |index| file.batch(index))),
        )
    }

    /// The stored messages of a part, if they can be sent as they are: no body is larger than `bytes_max`, and
    /// dictionaries mean the same in all files.
    pub(super) fn messages(&self, part: usize, parts: usize, bytes_max: usize) -> Option<Messages> {
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
        (alike && fits).then(|| Messages { schema, queue: plan(places), at: 0 })
    }
}

/// What is sent of the files: dictionaries first, then batches.
fn plan(places: Vec<(Arc<Mapped>, Range<usize>)>) -> Vec<(Arc<Mapped>, Block)> {
    let mut queue = Vec::new();
    for (file, range) in places {
        queue.extend(file.dictionaries.iter().map(|block| (Arc::clone(&file), *block)));
        let batches = file.batches.get(range).unwrap_or_default();
        queue.extend(batches.iter().map(|place| (Arc::clone(&file), place.block)));
    }
    queue
}

/// Stored messages, in the order in which they are sent.
pub(crate) struct Messages {
    schema: Bytes,
    queue: Vec<(Arc<Mapped>, Block)>,
    at: usize,
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
        let (file, block) = self.queue.get(self.at)?;
        self.at += 1;
        let parts = file.message(block);
        Some(parts.ok_or_else(|| Error::Config("a block lies outside of its file".to_owned())))
    }
}

impl Mapped {
    fn open(path: &std::path::Path) -> Result<(Self, SchemaRef)> {
        let file = File::open(path).map_err(|error| Error::io(path, error))?;
        let map = FileMap::open(&file).map_err(|error| Error::io(path, error))?;
        Self::new(Bytes::from_owner(map)).map_err(|error| match error {
            Error::Config(reason) => refuse(path, &reason),
            other => refuse(path, &other.to_string()),
        })
    }

    fn new(bytes: Bytes) -> Result<(Self, SchemaRef)> {
        let unsound = |reason: &str| Error::Config(format!("no Arrow IPC file: {reason}"));
        let end = bytes.len().checked_sub(TRAILER_BYTES).ok_or_else(|| unsound("too short"))?;
        if !bytes.starts_with(MAGIC) {
            return Err(unsound("it does not begin as one"));
        }
        let trailer = bytes.get(end..).and_then(|trailer| trailer.try_into().ok());
        let length = read_footer_length(trailer.ok_or_else(|| unsound("too short"))?)?;
        let start = end.checked_sub(length).ok_or_else(|| unsound("its footer is cut off"))?;
        let footer = bytes.slice(start..end);
        let footer = root_as_footer(&footer).map_err(|error| unsound(&error.to_string()))?;
        let ipc_schema = footer.schema().ok_or_else(|| unsound("it has no schema"))?;
        let schema = Arc::new(fb_to_schema(ipc_schema));
        let mut decoder = FileDecoder::new(Arc::clone(&schema), footer.version());
        let dictionaries: Vec<Block> = footer.dictionaries().iter().flatten().copied().collect();
        let whole = Buffer::from(bytes.clone());
        for block in &dictionaries {
            let buffer = slice(&whole, block).ok_or_else(|| unsound("a block lies outside"))?;
            decoder.read_dictionary(block, &buffer)?;
        }
        let stored =
            message(&bytes, stream_at(&bytes)).ok_or_else(|| unsound("its schema is cut off"))?;
        let first = root_as_message(&stored).map_err(|error| unsound(&error.to_string()))?;
        if first.header_type() != MessageHeader::Schema {
            return Err(unsound("it does not begin with its schema"));
        }
        let mut mapped = Self { schema: stored, bytes, decoder, dictionaries, batches: Vec::new() };
        for block in footer.recordBatches().iter().flatten() {
            let (head, _) = mapped.message(block).ok_or_else(|| unsound("a block lies outside"))?;
            let head = root_as_message(&head).map_err(|error| unsound(&error.to_string()))?;
            let batch = head.header_as_record_batch();
            let rows = batch.and_then(|batch| usize::try_from(batch.length()).ok());
            let rows = rows.ok_or_else(|| unsound("a block is no batch"))?;
            mapped.batches.push(Place { block: *block, rows });
        }
        Ok((mapped, schema))
    }

    /// The message of a block, and its body.
    fn message(&self, block: &Block) -> Option<(Bytes, Bytes)> {
        let offset = usize::try_from(block.offset()).ok()?;
        let metadata = usize::try_from(block.metaDataLength()).ok()?;
        let body = usize::try_from(block.bodyLength()).ok()?;
        let end = offset.checked_add(metadata)?;
        let body = end..end.checked_add(body)?;
        if body.end > self.bytes.len() {
            return None;
        }
        let head = message(&self.bytes.slice(offset..end), 0)?;
        Some((head, self.bytes.slice(body)))
    }

    fn batch(&self, index: usize) -> Result<RecordBatch> {
        let gone = || Error::Config("a block lies outside of its file".to_owned());
        let place = self.batches.get(index).ok_or_else(gone)?;
        let whole = Buffer::from(self.bytes.clone());
        let buffer = slice(&whole, &place.block).ok_or_else(gone)?;
        let batch = self.decoder.read_record_batch(&place.block, &buffer)?;
        batch.ok_or_else(|| Error::Config("a block is no batch".to_owned()))
    }
}

/// Where the stream inside of a file begins: behind the magic, at a multiple of eight, of 64 in some writers' files.
fn stream_at(bytes: &Bytes) -> usize {
    let marked = |at: &usize| bytes.get(*at..*at + 4) == Some(&[0xff; 4]);
    (8..=64).step_by(8).find(marked).unwrap_or(8)
}

/// The message whose prefix is at `at`, without the prefix.
fn message(bytes: &Bytes, at: usize) -> Option<Bytes> {
    let prefix = bytes.get(at..at.checked_add(PREFIX_BYTES)?)?;
    let (marker, length) = prefix.split_at_checked(4)?;
    // Files from before Arrow 0.15 have the length alone.
    let (length, start) = if marker == [0xff; 4] {
        (length, at.checked_add(PREFIX_BYTES)?)
    } else {
        (marker, at.checked_add(4)?)
    };
    let length = usize::try_from(i32::from_le_bytes(length.try_into().ok()?)).ok()?;
    let end = start.checked_add(length)?;
    (end <= bytes.len()).then(|| bytes.slice(start..end))
}

/// A block's bytes, where the file has them.
fn slice(whole: &Buffer, block: &Block) -> Option<Buffer> {
    let offset = usize::try_from(block.offset()).ok()?;
    let metadata = usize::try_from(block.metaDataLength()).ok()?;
    let length = metadata.checked_add(usize::try_from(block.bodyLength()).ok()?)?;
    let inside = metadata >= PREFIX_BYTES && offset.checked_add(length)? <= whole.len();
    inside.then(|| whole.slice_with_length(offset, length))
}
