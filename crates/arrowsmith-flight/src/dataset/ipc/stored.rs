// SPDX-License-Identifier: Apache-2.0
//! One Arrow IPC file: its footer, and its blocks, which are checked before they are used.

use std::fs::File;
use std::io::{Read as _, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions};
use arrow_ipc::{Block, MessageHeader, root_as_footer, root_as_message};
use arrow_schema::{Schema, SchemaRef};
use arrowsmith::{Error, Result};
use arrowsmith_source::FileMap;
use bytes::Bytes;

use super::super::identity::{Identity, changed};
use crate::ipc::{Bounds, caught, check, check_schema};

const MAGIC: &[u8] = b"ARROW1";
/// The footer's length, and the magic again.
const TRAILER_BYTES: u64 = 10;
/// Continuation marker and length before a message.
const PREFIX_BYTES: usize = 8;

/// A block of a file: a message and its body, and the rows in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) block: Block,
    pub(super) rows: usize,
}

/// A file, by its footer.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) path: PathBuf,
    pub(super) identity: Identity,
    /// All of it, if it is mapped.
    pub(super) map: Option<Bytes>,
    /// The schema message, as it is stored.
    pub(super) schema: Bytes,
    decoder: FileDecoder,
    pub(super) dictionaries: Vec<Block>,
    pub(super) batches: Vec<Place>,
}

pub(super) fn refuse(path: &Path, reason: &str) -> Error {
    Error::Config(format!("{}: {reason}", path.display()))
}

/// The bytes of one file, while it is read.
enum Held {
    Map(Bytes),
    File(File),
}

impl Held {
    /// This many bytes from `offset`; never more than the file had when it was opened.
    fn bytes(&mut self, offset: u64, count: u64, all: u64) -> std::io::Result<Bytes> {
        let end = offset.checked_add(count).filter(|end| *end <= all);
        let missing = || std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        let end = end.ok_or_else(missing)?;
        match self {
            Self::Map(map) => {
                let range = usize::try_from(offset).ok().zip(usize::try_from(end).ok());
                let (from, to) = range.filter(|(_, to)| *to <= map.len()).ok_or_else(missing)?;
                Ok(map.slice(from..to))
            }
            Self::File(file) => {
                let mut bytes = Vec::new();
                // A length comes from the file: memory that is not there is an error and no end of
                // the process.
                bytes
                    .try_reserve_exact(usize::try_from(count).map_err(|_| missing())?)
                    .map_err(|_| std::io::Error::from(std::io::ErrorKind::OutOfMemory))?;
                file.seek(SeekFrom::Start(offset))?;
                file.take(count).read_to_end(&mut bytes)?;
                if bytes.len() as u64 == count { Ok(bytes.into()) } else { Err(missing()) }
            }
        }
    }
}

/// The file that a stream reads just now.
#[derive(Default)]
pub(super) struct Open(Option<(Arc<Stored>, Held)>);

impl Open {
    fn held(&mut self, stored: &Arc<Stored>) -> Result<&mut Held> {
        if !self.0.as_ref().is_some_and(|(open, _)| Arc::ptr_eq(open, stored)) {
            self.close()?;
            let held = match &stored.map {
                Some(map) => Held::Map(map.clone()),
                None => {
                    let path = &stored.path;
                    let file = File::open(path).map_err(|error| Error::io(path, error))?;
                    stored.identity.check(&file, path)?;
                    Held::File(file)
                }
            };
            self.0 = Some((Arc::clone(stored), held));
        }
        self.0.as_mut().map(|(_, held)| held).ok_or_else(changed)
    }

    /// Lets go of the file, which must be as it was.
    pub(super) fn close(&mut self) -> Result<()> {
        match self.0.take() {
            Some((stored, Held::File(file))) => stored.identity.check(&file, &stored.path),
            _ => Ok(()),
        }
    }

    /// A block's message with its prefix, and its body, in one piece.
    fn block(&mut self, stored: &Arc<Stored>, block: &Block) -> Result<Bytes> {
        let (offset, length) = extent(block).ok_or_else(outside)?;
        let bytes = self.held(stored)?.bytes(offset, length, stored.identity.bytes());
        bytes.map_err(|error| Error::io(&stored.path, error))
    }

    /// For any error in a block of a file that has changed, the change is reported.
    fn blame<T>(&mut self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.close().err().unwrap_or(error))
    }

    pub(super) fn message(
        &mut self,
        stored: &Arc<Stored>,
        block: &Block,
    ) -> Result<(Bytes, Bytes)> {
        let message = self.block(stored, block).and_then(|bytes| sound(&bytes, block));
        self.blame(message)
    }

    pub(super) fn batch(&mut self, stored: &Arc<Stored>, index: usize) -> Result<RecordBatch> {
        let batch = self.decoded(stored, index);
        self.blame(batch)
    }

    fn decoded(&mut self, stored: &Arc<Stored>, index: usize) -> Result<RecordBatch> {
        let place = stored.batches.get(index).ok_or_else(outside)?;
        let bytes = self.block(stored, &place.block)?;
        sound(&bytes, &place.block)?;
        let buffer = Buffer::from(bytes);
        let batch = caught(|| stored.decoder.read_record_batch(&place.block, &buffer))?;
        batch.ok_or_else(|| Error::Config("a block is not a batch".to_owned()))
    }
}

impl Stored {
    /// The file, its schema, and its bytes.
    pub(super) fn open(path: &Path, map: bool) -> Result<(Self, SchemaRef, u64)> {
        let io = |error| Error::io(path, error);
        let file = File::open(path).map_err(io)?;
        let identity = Identity::of(&file.metadata().map_err(io)?);
        let mut held = match map {
            true => Held::Map(Bytes::from_owner(FileMap::open(&file).map_err(io)?)),
            false => Held::File(file),
        };
        let (stored, schema) =
            Self::new(path, identity, &mut held).map_err(|error| match error {
                Error::Io { .. } => error,
                Error::Config(reason) => refuse(path, &reason),
                other => refuse(path, &other.to_string()),
            })?;
        Ok((stored, schema, identity.bytes()))
    }

    fn new(path: &Path, identity: Identity, held: &mut Held) -> Result<(Self, SchemaRef)> {
        let unsound = |reason: &str| Error::Config(format!("no Arrow IPC file: {reason}"));
        let all = identity.bytes();
        let mut get =
            |offset, count| held.bytes(offset, count, all).map_err(|e| Error::io(path, e));
        let end = all.checked_sub(TRAILER_BYTES).ok_or_else(|| unsound("too short"))?;
        let start = get(0, all.min(STREAM_AT_MAX))?;
        if !start.starts_with(MAGIC) {
            return Err(unsound("it does not begin as one"));
        }
        let trailer = get(end, TRAILER_BYTES)?;
        let trailer = trailer.as_ref().try_into().map_err(|_| unsound("too short"))?;
        let length = read_footer_length(trailer)? as u64;
        let at = end.checked_sub(length).ok_or_else(|| unsound("its footer is cut off"))?;
        let footer = get(at, length)?;
        let footer = root_as_footer(&footer).map_err(|error| unsound(&error.to_string()))?;
        let ipc_schema = footer.schema().ok_or_else(|| unsound("it has no schema"))?;
        check_schema(ipc_schema).map_err(|reason| unsound(&reason))?;
        let schema = Arc::new(caught(|| Ok(fb_to_schema(ipc_schema)))?);
        let mut decoder = FileDecoder::new(Arc::clone(&schema), footer.version());
        let dictionaries: Vec<Block> = footer.dictionaries().iter().flatten().copied().collect();
        for block in &dictionaries {
            let (offset, length) = extent(block).ok_or_else(outside)?;
            let bytes = get(offset, length)?;
            sound(&bytes, block)?;
            let buffer = Buffer::from(bytes);
            caught(|| decoder.read_dictionary(block, &buffer))?;
        }
        // Readers of files need the footer's alone: Polars' have no message of a stream in front.
        let stored = leading_schema(&start, &mut get).unwrap_or_else(|| schema_message(&schema));
        let mut batches = Vec::new();
        for block in footer.recordBatches().iter().flatten() {
            let (offset, length) = extent(block).ok_or_else(outside)?;
            if offset.checked_add(length).is_none_or(|end| end > all) {
                return Err(unsound("a block lies outside"));
            }
            let metadata = u64::try_from(block.metaDataLength()).map_err(|_| outside())?;
            let head = get(offset, metadata)?;
            let head = message(&head).ok_or_else(|| unsound("a block lies outside"))?;
            let head = root_as_message(&head).map_err(|error| unsound(&error.to_string()))?;
            let batch = head.header_as_record_batch();
            let rows = batch.and_then(|batch| usize::try_from(batch.length()).ok());
            let rows = rows.ok_or_else(|| unsound("a block is not a batch"))?;
            batches.push(Place { block: *block, rows });
        }
        let map = match held {
            Held::Map(map) => Some(map.clone()),
            Held::File(_) => None,
        };
        let path = path.to_owned();
        Ok((Self { path, identity, map, schema: stored, decoder, dictionaries, batches }, schema))
    }
}

fn outside() -> Error {
    Error::Config("a block lies outside of its file".to_owned())
}

/// The range of a block: its message and body together.
fn extent(block: &Block) -> Option<(u64, u64)> {
    let metadata = u64::try_from(block.metaDataLength()).ok()?;
    let length = metadata.checked_add(u64::try_from(block.bodyLength()).ok()?)?;
    (metadata >= PREFIX_BYTES as u64).then_some((u64::try_from(block.offset()).ok()?, length))
}

/// A block's message without its prefix, and its body, if they are consistent.
fn sound(bytes: &Bytes, block: &Block) -> Result<(Bytes, Bytes)> {
    let metadata = usize::try_from(block.metaDataLength()).map_err(|_| outside())?;
    if metadata > bytes.len() {
        return Err(outside());
    }
    let head = message(&bytes.slice(..metadata)).ok_or_else(outside)?;
    let body = bytes.slice(metadata..);
    check(&head, &body, &Bounds::default()).map_err(arrow_schema::ArrowError::IpcError)?;
    Ok((head, body))
}

/// How far from the start the stream inside of a file can begin.
const STREAM_AT_MAX: u64 = 72;

/// Where the stream inside a file starts: after the magic number, at a multiple of 8, or of 64 with
/// some writers.
fn stream_at(start: &Bytes) -> u64 {
    let marked = |at: &u64| {
        let at = usize::try_from(*at).unwrap_or(usize::MAX);
        start.get(at..at.saturating_add(4)) == Some(&[0xff; 4])
    };
    (8..=64).step_by(8).find(marked).unwrap_or(8)
}

/// The message of the schema that the stream inside a file starts with, without its prefix, if
/// there is one.
fn leading_schema(start: &Bytes, get: &mut impl FnMut(u64, u64) -> Result<Bytes>) -> Option<Bytes> {
    let stream = stream_at(start);
    let length = message_bytes(&get(stream, PREFIX_BYTES as u64).ok()?)?;
    let stored = message(&get(stream, length).ok()?)?;
    let is_schema = root_as_message(&stored).ok()?.header_type() == MessageHeader::Schema;
    is_schema.then_some(stored)
}

/// The message of a schema, without its prefix.
fn schema_message(schema: &Schema) -> Bytes {
    let generator = IpcDataGenerator::default();
    let mut dictionaries = DictionaryTracker::new(false);
    let options = IpcWriteOptions::default();
    let encoded =
        generator.schema_to_bytes_with_dictionary_tracker(schema, &mut dictionaries, &options);
    Bytes::from(encoded.ipc_message)
}

/// The range of the message after a prefix.
fn message_range(prefix: &[u8]) -> Option<Range<usize>> {
    let (marker, length) = prefix.get(..PREFIX_BYTES)?.split_at_checked(4)?;
    // Files from before Arrow 0.15 have the length alone.
    let (length, start) = if marker == [0xff; 4] { (length, PREFIX_BYTES) } else { (marker, 4) };
    let length = usize::try_from(i32::from_le_bytes(length.try_into().ok()?)).ok()?;
    Some(start..start.checked_add(length)?)
}

/// Bytes of a message with its prefix.
fn message_bytes(prefix: &[u8]) -> Option<u64> {
    message_range(prefix).map(|range| range.end as u64)
}

/// The message after a prefix.
fn message(bytes: &Bytes) -> Option<Bytes> {
    let range = message_range(bytes)?;
    (range.end <= bytes.len()).then(|| bytes.slice(range))
}
