// SPDX-License-Identifier: Apache-2.0
//! Drives arrow-json chunk by chunk: rows are converted at the end of each chunk, so an error is
//! returned by the call that passed the record.
//!
//! A chunk is first decoded as a whole. Only if that fails, it is decoded again one record at a
//! time, which finds the bad record and keeps the rows before it.
//!
//! arrow-json's own buffers are unbounded, so memory is limited by its input: as many rows at
//! once as their width allows, and no more lists in a chunk than their items allow.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use arrowsmith_core::{
    Chunk, DataError, Decoder, Error, ErrorKind, Framing, Limits, Position, Report, Result,
};
use arrowsmith_plan::{Node, Op, Plan, width};

use crate::pieces::{advance, newlines, pieces, skip_space, too_long};
use crate::scan::{Scan, scan};

/// Rows that arrow-json converts at once. It reserves memory for this many.
const ROWS_AT_ONCE: usize = 8192;

/// arrow-json counts what it holds in 32 bits, so a chunk may not be longer, in bytes.
const CHUNK_BYTES_MAX: usize = u32::MAX as usize / 2;

/// A decoder of one plan by arrow-json, and the rows decoded since the last flush.
pub(crate) struct ReferenceDecoder {
    plan: Arc<Plan>,
    strict: bool,
    limits: Limits,
    /// Rows that are converted at once.
    rows_at_once: usize,
    /// Approximate bytes of a batch, after which decoding stops.
    batch_bytes: usize,
    /// Whether lists that may take more than a batch are decoded.
    oversize: bool,
    bulk: arrow_json::reader::Decoder,
    done: Vec<RecordBatch>,
    rows: usize,
}

/// Bytes that arrow-json reserves for each field of these rows, those inside others counted too.
const FIELD_BYTES: usize = 24;

/// Arrow bytes that rows converted at once take, if they have no values.
const BYTES_AT_ONCE: usize = 4 << 20;

impl ReferenceDecoder {
    /// Sets arrow-json up for `plan`; `strict` refuses unknown keys.
    pub(crate) fn new(plan: Arc<Plan>, strict: bool, limits: Limits) -> Result<Self> {
        let fields = plan.schema().flattened_fields().len();
        let row_bytes = plan.row_bytes().max(fields.saturating_mul(FIELD_BYTES)).max(1);
        let rows_at_once = (BYTES_AT_ONCE / row_bytes).clamp(1, ROWS_AT_ONCE);
        let bulk = build(&plan, strict, rows_at_once)?;
        let (done, rows) = (Vec::new(), 0);
        let (batch_bytes, oversize) = (usize::MAX, true);
        Ok(Self { plan, strict, limits, rows_at_once, batch_bytes, oversize, bulk, done, rows })
    }

    /// Decodes `pieces`, or nothing: as many as a batch takes. Also returns the bytes that are left
    /// of them, one byte between each two included.
    fn decode_bulk(&mut self, pieces: &[&[u8]], joined: bool) -> Result<(Vec<RecordBatch>, usize)> {
        let mut batches = Vec::new();
        let mut left = 0;
        let mut held = bytes(&self.done);
        for (number, piece) in pieces.iter().enumerate() {
            let before = self.bulk.len();
            let room = if joined { usize::MAX } else { self.batch_bytes.saturating_sub(held) };
            let (full, rest) = feed(&mut self.bulk, piece, room)?;
            // Between the commas of an array there is exactly one record.
            let full_rows: usize = full.iter().map(RecordBatch::num_rows).sum();
            let added = full_rows + self.bulk.len() - before;
            held += bytes(&full);
            batches.extend(full);
            if joined && added != 1 {
                let message = format!("{added} values in place of element {number} of the array");
                return Err(ArrowError::JsonError(message).into());
            }
            if rest > 0 || held > self.batch_bytes {
                let behind = &pieces[number + 1..];
                left = rest + behind.iter().map(|piece| piece.len()).sum::<usize>();
                left += behind.len().saturating_sub(1);
                break;
            }
        }
        batches.extend(self.bulk.flush()?);
        Ok((batches, left))
    }

    /// Checks that the lists of a chunk do not exceed a batch.
    fn check_lists(&self, bytes: usize) -> Result<(), String> {
        let most = self.limits.batch_bytes_max;
        if bytes <= most {
            return Ok(());
        }
        Err(format!("lists that may take {bytes} bytes, more than batch_bytes_max, {most}"))
    }

    /// Decodes one record at a time; returns the rows before the bad record, its offset, and the
    /// reason.
    fn decode_slowly(
        &self,
        data: &[u8],
        pieces: &[&[u8]],
        joined: bool,
    ) -> Result<(Vec<RecordBatch>, Option<Fault>)> {
        let mut single = build(&self.plan, self.strict, 1)?;
        let mut batches = Vec::new();
        let mut start = 0;
        for piece in pieces {
            let mut offset = skip_space(piece, 0);
            let mut records = 0;
            while offset < piece.len() || (joined && records == 0) {
                let step = one_record(&mut single, &piece[offset..]);
                let fault = |reason| Fault { offset: start + offset, reason };
                match step {
                    Ok((_, None)) => {
                        let reason =
                            ArrowError::JsonError("no value between two commas".to_owned());
                        return Ok((batches, Some(fault(reason))));
                    }
                    Ok(_) if joined && records == 1 => {
                        let reason =
                            ArrowError::JsonError("no comma between two values".to_owned());
                        return Ok((batches, Some(fault(reason))));
                    }
                    Ok((consumed, Some(batch))) => {
                        batches.push(batch);
                        offset = skip_space(piece, offset + consumed);
                    }
                    Err(reason) => return Ok((batches, Some(fault(reason)))),
                }
                records += 1;
            }
            start = (start + piece.len() + 1).min(data.len());
        }
        Ok((batches, None))
    }

    fn keep(&mut self, batches: Vec<RecordBatch>) {
        for batch in batches {
            self.rows += batch.num_rows();
            self.done.push(batch);
        }
    }
}

/// What arrow-json rejected, and the offset of the record in the chunk, in bytes.
struct Fault {
    offset: usize,
    reason: ArrowError,
}

impl Decoder for ReferenceDecoder {
    fn decode(&mut self, chunk: &Chunk<'_>) -> Result<Report> {
        let mut data = chunk.data();
        let mut position = chunk.position.clone();
        if data.len() > CHUNK_BYTES_MAX {
            let message = format!("the reference engine takes chunks of {CHUNK_BYTES_MAX} bytes");
            return Err(Error::Config(message));
        }
        let lines = newlines(data);
        if position.offset == 0 && data.starts_with(b"\xEF\xBB\xBF") {
            data = &data[3..];
            position.offset = 3;
        }
        let found = scan(data, self.limits.depth_max);
        if let Some(offset) = found.too_deep {
            let expected = format!("at most {} levels of nesting", self.limits.depth_max);
            return Err(data_error(
                ErrorKind::DepthExceeded,
                advance(&position, data, offset, 0),
                expected,
                "one more".to_owned(),
            ));
        }
        let joined = chunk.framing == Framing::Array;
        let pieces = pieces(data, &found, joined);
        let most = self.limits.record_bytes_max;
        if let Some(offset) = too_long(data, &pieces, chunk.framing, most) {
            let kind = ErrorKind::RecordTooLong;
            let expected = format!("a record of at most {most} bytes");
            let position = advance(&position, data, offset, 0);
            return Err(data_error(kind, position, expected, "a longer one".to_owned()));
        }
        let rows_before = self.rows;
        let list_bytes = lists(self.plan.root(), &found);
        if let Err(found) = self.check_lists(list_bytes) {
            let expected = "items of lists that fit into a batch".to_owned();
            return Err(data_error(ErrorKind::Limit, position, expected, found));
        }
        if list_bytes > self.batch_bytes && !self.oversize {
            return Ok(Report { unread: chunk.data().len(), ..Report::default() });
        }
        let mut unread = 0;
        let whole = match self.decode_bulk(&pieces, joined) {
            Ok((batches, left)) => {
                unread = left;
                self.keep(batches);
                Ok(())
            }
            Err(first) => {
                // arrow-json's state from the failed chunk must not reach the next one.
                self.bulk = build(&self.plan, self.strict, self.rows_at_once)?;
                let (batches, fault) = self.decode_slowly(data, &pieces, joined)?;
                self.keep(batches);
                match fault {
                    Some(fault) => {
                        let records = (self.rows - rows_before) as u64;
                        let position = advance(&position, data, fault.offset, records);
                        let kind = kind_of(&fault.reason);
                        Err(data_error(
                            kind,
                            position,
                            "a record that arrow-json takes (the position is the record's start)"
                                .to_owned(),
                            fault.reason.to_string(),
                        ))
                    }
                    // Every record alone is valid, so their number or total size was the cause.
                    None => Err(first),
                }
            }
        };
        whole?;
        let records = (self.rows - rows_before) as u64;
        let lines = lines - newlines(&data[data.len() - unread..]);
        Ok(Report { records, lines, unread, ..Report::default() })
    }

    fn set_batch_bytes(&mut self, bytes: usize) -> bool {
        self.batch_bytes = bytes;
        true
    }

    fn set_oversize(&mut self, decoded: bool) {
        let before = std::mem::replace(&mut self.oversize, decoded);
        // arrow-json keeps buffers of the size of what it has decoded.
        if before
            && !decoded
            && let Ok(bulk) = build(&self.plan, self.strict, self.rows_at_once)
        {
            self.bulk = bulk;
        }
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>> {
        self.rows = 0;
        let done = std::mem::take(&mut self.done);
        let batch = match done.as_slice() {
            [] => return Ok(None),
            [only] => only.clone(),
            several => arrow_select::concat::concat_batches(&several[0].schema(), several)?,
        };
        // arrow-json drops the schema's metadata where records are values.
        Ok(Some(RecordBatch::try_new(Arc::clone(self.plan.schema()), batch.columns().to_vec())?))
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(self.plan.schema())
    }
}

fn build(plan: &Plan, strict: bool, rows: usize) -> Result<arrow_json::reader::Decoder> {
    let schema = plan.schema();
    let builder = if plan.is_value_root() {
        arrow_json::ReaderBuilder::new_with_field(Arc::clone(&schema.fields()[0]))
    } else {
        arrow_json::ReaderBuilder::new(Arc::clone(schema))
    };
    builder
        .with_batch_size(rows)
        .with_strict_mode(strict)
        .build_decoder()
        .map_err(|error| Error::schema("", format!("arrow-json: {error}")))
}

/// Memory of batches.
fn bytes(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::get_array_memory_size).sum()
}

/// Maximum Arrow bytes of the items of all lists, from the brackets, commas and nulls of the text.
fn lists(node: &Node, found: &Scan) -> usize {
    let of = |item: &Node| {
        let items = match item.op {
            Op::Struct(_) | Op::Map { .. } => found.braces,
            Op::List(_) | Op::FixedSizeList(..) => found.brackets,
            _ => found.brackets + found.separators,
        };
        (items + found.nulls).saturating_mul(width(item)).saturating_add(lists(item, found))
    };
    match &node.op {
        Op::List(item) => of(item),
        Op::Map { value, .. } => {
            let pairs = found.braces + found.separators;
            pairs.saturating_mul(width(value)).saturating_add(lists(value, found))
        }
        Op::FixedSizeList(item, _) => lists(item, found),
        Op::Struct(fields) => {
            fields.iter().map(|field| lists(&field.node, found)).fold(0, usize::saturating_add)
        }
        _ => 0,
    }
}

/// Feeds whole records, and takes batches out as they fill up. A number at the end needs the white
/// space that follows. Stops between two records when the batches have more than `room` bytes;
/// returns the bytes that are left.
fn feed(
    decoder: &mut arrow_json::reader::Decoder,
    piece: &[u8],
    room: usize,
) -> Result<(Vec<RecordBatch>, usize)> {
    let mut batches = Vec::new();
    for (mut rest, last) in [(piece, false), (b"\n".as_slice(), true)] {
        while !rest.is_empty() {
            let consumed = decoder.decode(rest)?;
            rest = &rest[consumed..];
            if !rest.is_empty() {
                batches.extend(decoder.flush()?);
                if !last && bytes(&batches) > room {
                    return Ok((batches, rest.len()));
                }
            }
        }
    }
    if decoder.has_partial_record() {
        return Err(ArrowError::JsonError("Truncated record".to_owned()).into());
    }
    Ok((batches, 0))
}

/// Decodes the first record of `rest`: the bytes it took and its row, `None` where there is no
/// record.
fn one_record(
    decoder: &mut arrow_json::reader::Decoder,
    rest: &[u8],
) -> Result<(usize, Option<RecordBatch>), ArrowError> {
    let consumed = decoder.decode(rest)?;
    if consumed == rest.len() {
        decoder.decode(b"\n")?;
    }
    if decoder.has_partial_record() {
        return Err(ArrowError::JsonError("Truncated record".to_owned()));
    }
    Ok((consumed, decoder.flush()?))
}

fn data_error(kind: ErrorKind, position: Position, expected: String, found: String) -> Error {
    DataError { kind, position, path: String::new(), expected, found, hint: None }.into()
}

/// The kind, as far as arrow-json's message tells.
fn kind_of(reason: &ArrowError) -> ErrorKind {
    let text = reason.to_string();
    let has = |part: &str| text.contains(part);
    if has("Truncated record") {
        ErrorKind::Truncated
    } else if has("UTF-8") {
        ErrorKind::InvalidUtf8
    } else if has("not nullable") || has("non-nullable") || has("unmasked nulls") {
        ErrorKind::MissingField
    } else if has("strict mode") {
        ErrorKind::UnknownKey
    } else if has("whilst parsing escape") {
        ErrorKind::InvalidEscape
    } else if has("surrogate") {
        ErrorKind::LoneSurrogate
    } else if has("whilst parsing") || has("no comma") || has("between two commas") {
        ErrorKind::Syntax
    } else {
        ErrorKind::WrongType
    }
}
