// SPDX-License-Identifier: Apache-2.0
//! The batches of a part, up to where it is whole.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_schema::{ArrowError, SchemaRef};

use super::complete::Files;
use crate::disk::OpenFile;

/// What an Arrow file begins with; a stream follows.
const MAGIC: &[u8; 6] = b"ARROW1";

impl Files {
    /// The batches of the first `bytes` of a part, or of all of it, whose end may be torn; `None`
    /// if there is not even a schema.
    pub(super) fn batches(&self, name: &str, bytes: Option<u64>) -> io::Result<Option<Batches>> {
        let path = self.path(name, "part");
        let end = match bytes {
            Some(bytes) => bytes,
            None => whole_frames(self.disk.read(&path)?)?,
        };
        let mut file = BufReader::with_capacity(1 << 20, self.disk.read(&path)?.take(end));
        match stream_start(&mut file)? {
            Some(start) if start < end => {
                let reader = StreamReader::try_new(file, None).map_err(plain)?;
                Ok(Some(Batches { reader, is_verified: bytes.is_some() }))
            }
            _ => Ok(None),
        }
    }
}

/// The batches of a part.
pub(super) struct Batches {
    reader: StreamReader<BufReader<io::Take<OpenFile>>>,
    /// Whether all of them are there as they were written.
    is_verified: bool,
}

impl Batches {
    pub(super) fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }
}

impl Iterator for Batches {
    type Item = io::Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.reader.next()? {
            Ok(batch) => Some(Ok(batch)),
            // The first torn one was never acknowledged, nor was anything after it. An error of the
            // disk is reported.
            Err(ArrowError::IoError(_, source)) if source.raw_os_error().is_some() => {
                Some(Err(source))
            }
            Err(error) if self.is_verified => Some(Err(plain(error))),
            Err(_) => None,
        }
    }
}

/// The system's error within an Arrow error.
pub(super) fn plain(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, source) => source,
        other => io::Error::other(other),
    }
}

/// Where the stream begins in an Arrow file, which is then read up to there; `None` without the
/// magic number.
fn stream_start(file: &mut impl BufRead) -> io::Result<Option<u64>> {
    let mut eight = [0; 8];
    let mut at = 0;
    // The writer pads the magic number to 64 bytes or to 8, by its version: the stream begins with
    // its mark of a message.
    while at <= 64 {
        match file.read_exact(&mut eight) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            result => result?,
        }
        if at == 0 && !eight.starts_with(MAGIC) {
            return Ok(None);
        }
        at += 8;
        if file.fill_buf()?.starts_with(&[0xff; 4]) {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Where the last message of a part ends that is not longer than what is there.
fn whole_frames(file: OpenFile) -> io::Result<u64> {
    let bytes = file.size()?;
    let mut file = BufReader::with_capacity(1 << 20, file);
    let Some(mut at) = stream_start(&mut file)? else { return Ok(0) };
    while bytes - at >= 8 {
        let mut head = [0; 8];
        file.read_exact(&mut head)?;
        let [0xff, 0xff, 0xff, 0xff, len @ ..] = head else { break };
        let len = u64::from(u32::from_le_bytes(len));
        if len == 0 || len > bytes - at - 8 {
            break;
        }
        let mut meta = Vec::new();
        (&mut file).take(len).read_to_end(&mut meta)?;
        let Ok(message) = arrow_ipc::root_as_message(&meta) else { break };
        let body = u64::try_from(message.bodyLength()).unwrap_or(u64::MAX);
        if body > bytes - at - 8 - len {
            break;
        }
        at += 8 + len + body;
        file.seek(SeekFrom::Start(at))?;
    }
    Ok(at)
}
