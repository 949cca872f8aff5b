// SPDX-License-Identifier: Apache-2.0
//! Arrow IPC: the messages of a stream, or of the blocks listed in the footer of a file.
//!
//! Only the headers of messages are read; the bodies, which hold the values, are skipped.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use arrow_ipc::{CompressionType, MessageHeader, RecordBatch, root_as_footer, root_as_message};
use arrowsmith::plan::load::schema_from_ipc;
use serde::Serialize;

use super::table::Table;
use super::{Report, invalid};
use crate::schema;
use crate::size::{display, grouped};

/// The contents of an Arrow IPC file or stream.
#[derive(Debug, Serialize)]
pub struct ArrowReport {
    format: &'static str,
    bytes: u64,
    rows: u64,
    buffer_compression: &'static str,
    schema: String,
    metadata: BTreeMap<String, String>,
    dictionary_batches: u64,
    batches: Vec<Batch>,
}

/// One record batch.
#[derive(Debug, Serialize)]
struct Batch {
    rows: u64,
    /// Size of header and body.
    bytes: u64,
}

/// Maximum size of a message header: a schema of a million fields is shorter.
const HEADER_BYTES_MAX: u64 = 256 << 20;

/// The end of a file: the length of the footer, and the magic number once more.
const TRAILER_BYTES: u64 = 10;

impl ArrowReport {
    fn new(format: &'static str, ipc: arrow_ipc::Schema<'_>) -> io::Result<Self> {
        let schema = schema_from_ipc(ipc).map_err(|error| invalid(error.to_string()))?;
        let metadata = schema.metadata().iter().map(|(key, value)| (key.clone(), value.clone()));
        Ok(Self {
            format,
            bytes: 0,
            rows: 0,
            buffer_compression: "none",
            schema: schema::text(&schema),
            metadata: metadata.collect(),
            dictionary_batches: 0,
            batches: Vec::new(),
        })
    }

    fn add(&mut self, batch: RecordBatch<'_>, bytes: u64) -> io::Result<()> {
        let rows = u64::try_from(batch.length())
            .map_err(|_| invalid("a batch has a negative row count"))?;
        if let Some(compression) = batch.compression() {
            self.buffer_compression = match compression.codec() {
                CompressionType::LZ4_FRAME => "lz4",
                CompressionType::ZSTD => "zstd",
                _ => "unknown",
            };
        }
        self.rows = self.rows.saturating_add(rows);
        self.batches.push(Batch { rows, bytes });
        Ok(())
    }
}

/// The messages of a stream, up to its end.
pub fn stream(reader: &mut impl Read) -> io::Result<ArrowReport> {
    let mut bytes = 0;
    let mut report: Option<ArrowReport> = None;
    while let Some(header) = read_header(reader)? {
        let message = root_as_message(&header).map_err(|error| invalid(error.to_string()))?;
        let body = u64::try_from(message.bodyLength())
            .map_err(|_| invalid("a message body has a negative length"))?;
        if io::copy(&mut reader.take(body), &mut io::sink())? < body {
            return Err(invalid("the stream ends inside a message"));
        }
        let message_bytes = header.len() as u64 + 8 + body;
        bytes += message_bytes;
        match (message.header_type(), &mut report) {
            (MessageHeader::Schema, None) => {
                let ipc = message
                    .header_as_schema()
                    .ok_or_else(|| invalid("a schema message has no schema"))?;
                report = Some(ArrowReport::new("arrow-stream", ipc)?);
            }
            (MessageHeader::RecordBatch, Some(report)) => {
                let batch = message.header_as_record_batch();
                report.add(
                    batch.ok_or_else(|| invalid("a batch message has no batch"))?,
                    message_bytes,
                )?;
            }
            (MessageHeader::DictionaryBatch, Some(report)) => report.dictionary_batches += 1,
            (_, None) => return Err(invalid("the stream does not start with a schema")),
            (kind, Some(_)) => {
                let kind = kind.variant_name().unwrap_or("unknown");
                return Err(invalid(format!(
                    "expected a record batch, found a message of kind {kind}"
                )));
            }
        }
    }
    let mut report = report.ok_or_else(|| invalid("an empty stream"))?;
    report.bytes = bytes;
    Ok(report)
}

/// The header of the next message; `None` at the end of the stream, marked or not.
fn read_header(reader: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let Some(marker) = read_word(reader)? else { return Ok(None) };
    if marker != u32::MAX {
        return Err(invalid("not an Arrow stream: a message starts with ff ff ff ff"));
    }
    let length = read_word(reader)?.ok_or_else(|| invalid("the stream ends inside a message"))?;
    if length == 0 {
        return Ok(None);
    }
    let header = read_exactly(reader, u64::from(length))?;
    header.map(Some).ok_or_else(|| invalid("the stream ends inside a message"))
}

/// Four bytes, little-endian; `None` if the input is at its end.
fn read_word(reader: &mut impl Read) -> io::Result<Option<u32>> {
    let mut word = [0; 4];
    let mut filled = 0;
    while filled < word.len() {
        match reader.read(&mut word[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(invalid("the stream ends inside a message")),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(u32::from_le_bytes(word)))
}

/// `length` bytes, or `None` if there are fewer. Memory grows with the bytes read, not with the
/// claimed length.
fn read_exactly(reader: &mut impl Read, length: u64) -> io::Result<Option<Vec<u8>>> {
    if length > HEADER_BYTES_MAX {
        let limit = display(HEADER_BYTES_MAX);
        return Err(invalid(format!("metadata of {} (the limit is {limit})", display(length))));
    }
    let mut bytes = Vec::new();
    let count = reader.take(length).read_to_end(&mut bytes)?;
    Ok((count as u64 == length).then_some(bytes))
}

/// The blocks listed in the footer of a file.
pub fn file(mut file: &File) -> io::Result<ArrowReport> {
    let bytes = file.metadata()?.len();
    let footer = read_footer(file, bytes)?;
    let footer = root_as_footer(&footer).map_err(|error| invalid(format!("footer: {error}")))?;
    let ipc = footer.schema().ok_or_else(|| invalid("the footer has no schema"))?;
    let mut report = ArrowReport::new("arrow-file", ipc)?;
    report.bytes = bytes;
    report.dictionary_batches = footer.dictionaries().map_or(0, |blocks| blocks.len() as u64);
    for block in footer.recordBatches().iter().flatten() {
        let outside = || invalid("a batch listed in the footer is outside the file");
        let offset = u64::try_from(block.offset()).map_err(|_| outside())?;
        let header_bytes = u64::try_from(block.metaDataLength()).map_err(|_| outside())?;
        let body = u64::try_from(block.bodyLength()).map_err(|_| outside())?;
        let block_bytes = header_bytes.checked_add(body).ok_or_else(outside)?;
        if offset.checked_add(block_bytes).is_none_or(|end| end > bytes) {
            return Err(outside());
        }
        file.seek(SeekFrom::Start(offset))?;
        let header =
            read_header(&mut file)?.ok_or_else(|| invalid("a batch message has no batch"))?;
        let message = root_as_message(&header).map_err(|error| invalid(error.to_string()))?;
        let batch = message.header_as_record_batch();
        let batch =
            batch.ok_or_else(|| invalid("a batch listed in the footer is not a record batch"))?;
        report.add(batch, block_bytes)?;
    }
    Ok(report)
}

fn read_footer(mut file: &File, bytes: u64) -> io::Result<Vec<u8>> {
    let incomplete = || invalid("the file has no footer: it is incomplete");
    let trailer_start = bytes.checked_sub(TRAILER_BYTES).ok_or_else(incomplete)?;
    file.seek(SeekFrom::Start(trailer_start))?;
    let mut length = [0; 4];
    let mut magic = [0; 6];
    file.read_exact(&mut length)?;
    file.read_exact(&mut magic)?;
    if magic != super::ARROW_FILE {
        return Err(incomplete());
    }
    let length = u64::from(u32::from_le_bytes(length));
    let start = trailer_start.checked_sub(length).ok_or_else(incomplete)?;
    file.seek(SeekFrom::Start(start))?;
    read_exactly(&mut file, length)?.ok_or_else(incomplete)
}

impl Report for ArrowReport {
    fn text(&self) -> String {
        let name = if self.format == "arrow-file" { "Arrow IPC file" } else { "Arrow IPC stream" };
        let mut text = format!("{name}, {}\n", display(self.bytes));
        text.push_str(&format!(
            "{} rows in {} batches, {} dictionary batches, buffer compression: {}\n",
            grouped(self.rows),
            self.batches.len(),
            self.dictionary_batches,
            self.buffer_compression
        ));
        text.push_str(&schema::section(&self.schema));
        if !self.batches.is_empty() {
            let mut table = Table::new(&["#batch", "#rows", "#bytes"]);
            for (index, batch) in self.batches.iter().enumerate() {
                let (rows, bytes) = (grouped(batch.rows), grouped(batch.bytes));
                table.push(vec![index.to_string(), rows, bytes]);
            }
            text.push_str(&format!("\nbatches:\n{}", table.text()));
        }
        text
    }
}
