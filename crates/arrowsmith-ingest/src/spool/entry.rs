// SPDX-License-Identifier: Apache-2.0
//! One entry of a spool: a header with length and checksum, what is known of the message, its
//! batch.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arrowsmith_publish::{Compression, Layout, Message, Origin, decode, encode};
use serde::{Deserialize, Serialize};

/// Maximum length of an entry.
const ENTRY_BYTES_MAX: u64 = 4 << 30;

/// Mark, length, checksum, rows: little endian.
pub(super) const HEADER_BYTES: usize = 24;

/// What an entry begins with.
pub(super) const MARK_BYTES: [u8; 4] = *b"ASP1";

const MARK: u32 = u32::from_le_bytes(MARK_BYTES);

/// The start of an entry.
pub(super) struct Header {
    /// Length of what follows, in bytes.
    pub(super) len: u64,
    checksum: u32,
    pub(super) rows: u64,
}

impl Header {
    pub(super) fn parse(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let (mark, rest) = bytes.split_first_chunk::<4>()?;
        let (checksum, rest) = rest.split_first_chunk::<4>()?;
        let (len, rest) = rest.split_first_chunk::<8>()?;
        let rows = rest.first_chunk::<8>()?;
        let len = u64::from_le_bytes(*len);
        let checksum = u32::from_le_bytes(*checksum);
        let valid = u32::from_le_bytes(*mark) == MARK && len <= ENTRY_BYTES_MAX;
        valid.then_some(Self { len, checksum, rows: u64::from_le_bytes(*rows) })
    }

    pub(super) fn fits(&self, content: &[u8]) -> bool {
        content.len() as u64 == self.len && checksum(self.rows, content) == self.checksum
    }
}

/// A checksum that comes about piece by piece.
pub(super) struct Sum(u32);

impl Sum {
    pub(super) fn begin(rows: u64) -> Self {
        Self(crc32c::crc32c(&rows.to_le_bytes()))
    }

    pub(super) fn add(&mut self, content: &[u8]) {
        self.0 = crc32c::crc32c_append(self.0, content);
    }

    pub(super) fn fits(&self, header: &Header) -> bool {
        self.0 == header.checksum
    }
}

fn checksum(rows: u64, content: &[u8]) -> u32 {
    let mut sum = Sum::begin(rows);
    sum.add(content);
    sum.0
}

/// What is known of a message beside its batch and schema.
#[derive(Serialize, Deserialize)]
struct Known<'a> {
    stream: &'a str,
    sequence: u64,
    origins: Vec<(u64, u64, u64, usize)>,
    key: Option<String>,
    received_at_us: u64,
}

/// The bytes of an entry.
pub(super) fn write(message: &Message) -> io::Result<Vec<u8>> {
    let since = message.received_at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let known = Known {
        stream: &message.stream,
        sequence: message.sequence,
        origins: message.origins.iter().map(|o| (o.connection, o.first, o.last, o.rows)).collect(),
        key: message.key.as_deref().map(str::to_owned),
        received_at_us: u64::try_from(since.as_micros()).unwrap_or(u64::MAX),
    };
    let known = serde_json::to_vec(&known)?;
    let batch = encode(&message.batch, Layout::SelfContained, Compression::None)
        .map_err(io::Error::other)?;
    let known_len = u64::try_from(known.len()).unwrap_or(u64::MAX);
    let mut bytes = Vec::with_capacity(HEADER_BYTES + 8 + known.len() + batch.len());
    bytes.resize(HEADER_BYTES, 0);
    bytes.extend_from_slice(&known_len.to_le_bytes());
    bytes.extend_from_slice(&known);
    bytes.extend_from_slice(&batch);
    let rows = message.rows() as u64;
    let content = &bytes[HEADER_BYTES..];
    let (sum, len) = (checksum(rows, content), content.len() as u64);
    bytes[..4].copy_from_slice(&MARK.to_le_bytes());
    bytes[4..8].copy_from_slice(&sum.to_le_bytes());
    bytes[8..16].copy_from_slice(&len.to_le_bytes());
    bytes[16..24].copy_from_slice(&rows.to_le_bytes());
    Ok(bytes)
}

/// Reads an entry; returns its length too. The payload is empty. No more memory than the file has
/// bytes is allocated, whatever length the header states.
pub(super) fn read(file: &mut impl Read) -> io::Result<(Message, u64)> {
    let broken = || io::Error::new(io::ErrorKind::InvalidData, "an entry of the spool is damaged");
    let mut header = [0; HEADER_BYTES];
    file.read_exact(&mut header)?;
    let header = Header::parse(&header).ok_or_else(broken)?;
    let mut content = Vec::new();
    file.take(header.len).read_to_end(&mut content)?;
    if !header.fits(&content) {
        return Err(broken());
    }
    let (known_len, rest) = content.split_first_chunk::<8>().ok_or_else(broken)?;
    let known_len = usize::try_from(u64::from_le_bytes(*known_len)).map_err(|_| broken())?;
    let (known, batch) = rest.split_at_checked(known_len).ok_or_else(broken)?;
    let known: Known<'_> = serde_json::from_slice(known)?;
    let batch = decode(batch).map_err(io::Error::other)?.pop().ok_or_else(broken)?;
    let message = Message {
        origins: known
            .origins
            .into_iter()
            .map(|(connection, first, last, rows)| Origin { connection, first, last, rows })
            .collect(),
        key: known.key.map(Arc::from),
        received_at: SystemTime::UNIX_EPOCH + Duration::from_micros(known.received_at_us),
        ..Message::new(known.stream, known.sequence, batch)
    };
    Ok((message, HEADER_BYTES as u64 + header.len))
}
