// SPDX-License-Identifier: Apache-2.0
//! A piece of text through the kernels: scan, index, walk, convert; the result is columns.
//!
//! The host waits for the device where the size of the next step is only known there: the number of
//! tokens, of records, of the items of lists, and of the bytes of strings. Other steps do not wait.

use arrow_buffer::{Buffer, MutableBuffer};
use arrowsmith_core::{Error, Framing, Result};

use super::program::{NONE, Program};
use crate::abi::{self, *};
use crate::device::memory::{Arena, Refused};
use crate::device::resident::{DeviceBatch, Tree};
use crate::device::{Ptr, Stream, failure};

/// Bytes after a text that kernels may read; they are line feeds, which no word goes past.
const PADDING: [u8; 256] = [b'\n'; 256];

/// Bytes of text that a thread scans.
const SCAN_BYTES: u64 = 64;

/// Why a piece was not decoded.
#[derive(Debug)]
pub(crate) enum Halt {
    /// It exceeds the memory limit: try a smaller one.
    TooLarge,
    /// The device, or its driver, failed.
    Failed(Error),
}

impl From<Refused> for Halt {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Bound => Self::TooLarge,
            Refused::Device(error) => Self::Failed(error),
        }
    }
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// One column as the device returns it.
#[derive(Debug, Default)]
pub(crate) struct Fetched {
    pub len: usize,
    pub null_count: usize,
    /// One bit per value.
    pub valid: Option<Buffer>,
    /// Values, or the bytes of strings.
    pub values: Option<Buffer>,
    /// 32 or 64 bits each.
    pub offsets: Option<Buffer>,
}

/// The device's result for a piece.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    pub records: usize,
    /// Records in doubt, in ascending order, each with its start.
    pub suspects: Vec<Suspect>,
    /// Line feeds in it.
    pub feeds: u64,
    /// Begins with invalid text, in a framing where the following records are independent of it.
    pub unframed: bool,
    /// Where the next piece begins, if the text was split within or after a record.
    pub next: Option<usize>,
    /// By node, unless they stay on the device.
    pub columns: Vec<Fetched>,
    /// The columns in device memory: valid until the arena is reset.
    pub trees: Option<Vec<Tree>>,
    /// The same columns in memory of their own.
    pub kept: Option<DeviceBatch>,
}

/// A record in doubt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Suspect {
    pub record: usize,
    /// Its first byte.
    pub from: usize,
    /// One past its last token's first byte, or the start of the next record.
    pub upto: usize,
    /// Brackets match and no other text is beside it: only its values are in doubt.
    pub framed: bool,
}

/// The limits that the walker checks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub depth_max: u64,
    pub record_bytes_max: u64,
    pub record_tokens_max: u64,
    pub refuse_unknown: bool,
    pub allow_nan: bool,
    /// Maximum values of a column, and bytes numbered by 32-bit offsets, of one piece.
    pub offset_max: u64,
}

/// The tables of a plan in device memory, which stay there.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tables {
    pub nodes: Ptr,
    pub unders: Ptr,
    pub keys: Ptr,
    pub key_text: Ptr,
    pub tables: Ptr,
    pub powers: Ptr,
}

/// The device memory of one column.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Column {
    pub len: u64,
    pub places: Ptr,
    /// One byte per value of nested columns, one position per value of kept JSON text.
    pub valid: Ptr,
    pub bits: Ptr,
    pub values: Ptr,
    pub offsets: Ptr,
    pub narrow: Ptr,
    pub bytes: u64,
}

/// One piece in progress.
pub(crate) struct Run<'r> {
    pub stream: &'r mut dyn Stream,
    pub arena: &'r mut Arena,
    pub program: &'r Program,
    pub tables: Tables,
    pub rules: Rules,
    pub framing: Framing,
    /// Whether more text follows that may belong to the last record.
    pub more: bool,
    /// Whether columns stay on the device, if all records are valid.
    pub stay: bool,
    /// Whether records are values of one column.
    pub value_root: bool,
}

/// The location of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Text<'t> {
    Host(&'t [u8]),
    /// On the device: its address and length.
    Device(Ptr, u64),
}

impl Run<'_> {
    pub(super) fn take(&mut self, bytes: u64) -> Result<Ptr, Halt> {
        let at = self.arena.take(bytes)?;
        self.arena.fence(self.stream, at, bytes)?;
        Ok(at)
    }

    fn take_filled(&mut self, bytes: u64, byte: u8) -> Result<Ptr, Halt> {
        let at = self.take(bytes)?;
        self.stream.fill(at, byte, bytes)?;
        Ok(at)
    }

    fn take_with(&mut self, bytes: &[u8]) -> Result<Ptr, Halt> {
        let at = self.take(bytes.len() as u64)?;
        self.stream.copy_in(at, bytes)?;
        Ok(at)
    }

    fn fetch_u64(&mut self, at: &[Ptr]) -> Result<Vec<u64>, Halt> {
        let parts: Vec<_> = at.iter().map(|at| (*at, 8)).collect();
        let fetched = self.stream.fetch(&parts)?;
        Ok(fetched.iter().map(|part| word(part, 0)).collect())
    }

    /// Decodes a text.
    pub fn piece(&mut self, text: Text<'_>) -> Result<Piece, Halt> {
        let len = match text {
            Text::Host(text) => text.len() as u64,
            Text::Device(_, len) => len,
        };
        if len == 0 {
            return Ok(Piece::default());
        }
        let device = self.take(len.next_multiple_of(64) + PADDING.len() as u64)?;
        match text {
            Text::Host(text) => self.stream.copy_in(device, text)?,
            Text::Device(at, len) => self.stream.copy_within(device, at, len)?,
        }
        self.stream.copy_in(device.offset(len), &PADDING)?;
        let (tokens, feeds, places, bytes) = self.tokens(device, len)?;
        let mut piece = Piece { feeds, ..Piece::default() };
        if tokens == 0 {
            return Ok(piece);
        }
        let (records, starts) = self.frame(bytes, tokens)?;
        piece.records = usize::try_from(records).unwrap_or(usize::MAX);
        if records == 0 {
            piece.unframed = self.framing != Framing::Lines;
            return Ok(piece);
        }
        let mut input = Input { device, len, places, bytes, tokens, starts, records };
        if self.framing != Framing::Lines {
            let first = self.stream.fetch(&[(starts, 4)])?;
            piece.unframed = narrow(&first[0], 0) != 0;
            if piece.unframed {
                return Ok(piece);
            }
        }
        if self.more && !self.cut(&mut input, &mut piece)? {
            return Ok(piece);
        }
        self.columns(&input, &mut piece)?;
        Ok(piece)
    }

    /// Leaves the last record to the next piece; returns whether there is one before it.
    fn cut(&mut self, input: &mut Input, piece: &mut Piece) -> Result<bool, Halt> {
        if input.records < 2 {
            return Ok(false);
        }
        let last = input.starts.offset((input.records - 1) * 4);
        let token = narrow(&self.stream.fetch(&[(last, 4)])?[0], 0);
        let place = self.stream.fetch(&[(input.places.offset(token as u64 * 4), 4)])?;
        let next = narrow(&place[0], 0);
        piece.next = Some(next);
        input.records -= 1;
        (input.tokens, input.len) = (token as u64, next as u64);
        piece.records = usize::try_from(input.records).unwrap_or(usize::MAX);
        Ok(true)
    }

    /// Scan and index: tokens, line feeds, and the positions and bytes of the tokens.
    fn tokens(&mut self, text: Ptr, len: u64) -> Result<(u64, u64, Ptr, Ptr), Halt> {
        let words = len.div_ceil(64);
        let scan_blocks = self.stream.blocks(len.div_ceil(SCAN_BYTES));
        let states = self.take((scan_blocks + 1) * 8)?;
        let masks = self.take(words * 8)?;
        let counts = self.take((scan_blocks + 1) * 8)?;
        let lines = self.framing == Framing::Lines;
        let args = ScanArgs { text, len, lines, states, tokens: masks, counts };
        SCAN_STATES.launch(self.stream, scan_blocks, &args)?;
        SCAN_JOIN.launch(self.stream, 1, &JoinArgs { values: states, count: scan_blocks })?;
        SCAN_MASKS.launch(self.stream, scan_blocks, &args)?;
        self.sum_join(counts, scan_blocks)?;
        let total = self.fetch_u64(&[counts.offset(scan_blocks * 8)])?[0];
        let tokens = total & u64::from(u32::MAX);
        let places = self.take(tokens * 4)?;
        let bytes = self.take(tokens)?;
        if tokens > 0 {
            let args = IndexArgs { text, tokens: masks, words, counts, places, bytes };
            INDEX_TOKENS.launch(self.stream, scan_blocks, &args)?;
        }
        Ok((tokens, total >> 32, places, bytes))
    }

    fn sum_join(&mut self, values: Ptr, count: u64) -> Result<(), Halt> {
        Ok(SUM_JOIN.launch(self.stream, 1, &JoinArgs { values, count })?)
    }

    /// Records: how many, and the first token of each.
    fn frame(&mut self, bytes: Ptr, tokens: u64) -> Result<(u64, Ptr), Halt> {
        let token_blocks = self.stream.blocks(tokens);
        let depths = self.take((token_blocks + 1) * 8)?;
        let counts = self.take((token_blocks + 1) * 8)?;
        let framing = match self.framing {
            Framing::Lines => Framed::Lines,
            Framing::Concatenated => Framed::Concatenated,
            Framing::Array => Framed::Array,
        };
        let mut args = FrameArgs { bytes, tokens, framing, depths, counts, starts: Ptr(0) };
        if framing != Framed::Lines {
            FRAME_DEPTHS.launch(self.stream, token_blocks, &args)?;
            self.sum_join(depths, token_blocks)?;
        }
        FRAME_COUNT.launch(self.stream, token_blocks, &args)?;
        self.sum_join(counts, token_blocks)?;
        let records = self.fetch_u64(&[counts.offset(token_blocks * 8)])?[0];
        args.starts = self.take(records * 4)?;
        if records > 0 {
            FRAME_WRITE.launch(self.stream, token_blocks, &args)?;
        }
        Ok((records, args.starts))
    }

    /// Walk and convert.
    fn columns(&mut self, input: &Input, piece: &mut Piece) -> Result<(), Halt> {
        let records = input.records;
        let slots = self.program.slots as u64;
        let counts = self.take_filled(slots * records * 8, 0)?;
        let seen = self.take(self.program.seen_words as u64 * records * 8)?;
        let suspect = self.take_filled(records, 0)?;
        let Tables { nodes, unders, keys, key_text, tables, .. } = self.tables;
        let mut args = WalkArgs {
            text: input.device,
            len: input.len,
            places: input.places,
            bytes: input.bytes,
            tokens: input.tokens,
            starts: input.starts,
            records,
            framing: match self.framing {
                Framing::Lines => Framed::Lines,
                Framing::Concatenated => Framed::Concatenated,
                Framing::Array if self.more => Framed::ArrayPart,
                Framing::Array => Framed::Array,
            },
            nodes,
            unders,
            keys,
            key_text,
            tables,
            counts,
            seen,
            suspect,
            columns: Ptr(0),
            depth_max: self.rules.depth_max,
            record_bytes_max: self.rules.record_bytes_max,
            record_tokens_max: self.rules.record_tokens_max,
            refuse_unknown: self.rules.refuse_unknown,
            slots,
        };
        let blocks = self.stream.blocks(records);
        WALK_COUNT.launch(self.stream, blocks, &args)?;
        let totals = self.scan_slots(counts, slots, records)?;
        let structure = self.stream.fetch(&[(suspect, records)])?;
        let mut columns = self.lay_out(records, &totals)?;
        let table: Vec<abi::Column> = columns
            .iter()
            .map(|column| abi::Column { places: column.places.0, valid: column.valid.0 })
            .collect();
        args.columns = self.take_with(&bytes_of(&table))?;
        WALK_WRITE.launch(self.stream, blocks, &args)?;
        let nulls = self.convert(input, &mut columns, suspect)?;
        self.suspects(input, suspect, &structure, piece)?;
        if self.stay && piece.suspects.is_empty() {
            piece.trees = Some(self.trees(&columns, nulls)?);
            return Ok(());
        }
        self.collect(&columns, nulls, piece)
    }

    /// Replaces the counters of each slot by their exclusive prefix sums.
    fn scan_slots(&mut self, values: Ptr, slots: u64, count: u64) -> Result<Vec<u64>, Halt> {
        if slots == 0 {
            return Ok(Vec::new());
        }
        let totals = self.take(slots * 8)?;
        self.scan(values, slots, count, totals)?;
        let fetched = self.stream.fetch(&[(totals, slots * 8)])?;
        Ok((0..self.program.slots).map(|slot| word(&fetched[0], slot)).collect())
    }

    fn scan(&mut self, values: Ptr, slots: u64, count: u64, totals: Ptr) -> Result<(), Halt> {
        let blocks = self.stream.blocks(count);
        let sums = self.take(slots * (blocks + 1) * 8)?;
        let args = SlotArgs { values, count, blocks, sums, totals };
        SLOTS_SUM.launch(self.stream, slots * blocks, &args)?;
        SLOTS_JOIN.launch(self.stream, slots, &args)?;
        SLOTS_SPREAD.launch(self.stream, slots * blocks, &args)?;
        Ok(())
    }

    /// Allocates the memory of the columns known so far.
    fn lay_out(&mut self, records: u64, totals: &[u64]) -> Result<Vec<Column>, Halt> {
        let program = self.program;
        let mut columns: Vec<Column> = Vec::with_capacity(program.steps.len());
        for step in &program.steps {
            let len = match step.parent {
                None => records,
                Some(parent) => {
                    let around = &program.steps[parent];
                    match around.kind {
                        Kind::List | Kind::Map => totals.get(around.slot).copied().unwrap_or(0),
                        Kind::FixedList => columns[parent].len.saturating_mul(around.count as u64),
                        _ => columns[parent].len,
                    }
                }
            };
            if len > self.rules.offset_max {
                return Err(Halt::TooLarge);
            }
            let mut column = Column { len, ..Column::default() };
            match step.kind {
                Kind::List | Kind::Map => {
                    column.places = self.take((len + 1) * 4)?;
                    self.stream.fill(column.places, 0, 4)?;
                    column.valid = self.take(len)?;
                }
                Kind::Struct | Kind::FixedList => column.valid = self.take(len)?,
                Kind::Json => {
                    column.places = self.take(len * 4)?;
                    column.valid = self.take(len * 4)?;
                }
                _ => column.places = self.take(len * 4)?,
            }
            columns.push(column);
        }
        Ok(columns)
    }

    /// From a value of a node to its record.
    fn hops(&mut self, columns: &[Column], id: usize) -> Result<(Ptr, u64), Halt> {
        let mut hops = Vec::new();
        let mut at = id;
        while let Some(parent) = self.program.steps[at].parent {
            let step = &self.program.steps[parent];
            match step.kind {
                Kind::List | Kind::Map if columns[parent].len > 0 => {
                    let Column { places, len, .. } = columns[parent];
                    hops.push(Hop { ends: places.0, count: len, size: 0 });
                }
                Kind::FixedList if step.count > 0 => {
                    hops.push(Hop { ends: 0, count: 0, size: step.count as u64 });
                }
                _ => {}
            }
            at = parent;
        }
        let at = if hops.is_empty() { Ptr(0) } else { self.take_with(&bytes_of(&hops))? };
        Ok((at, hops.len() as u64))
    }

    /// Converts every value of every column; returns where the device counts the nulls of each.
    fn convert(
        &mut self,
        input: &Input,
        columns: &mut [Column],
        suspect: Ptr,
    ) -> Result<Ptr, Halt> {
        let program = self.program;
        let nulls = self.take_filled(columns.len() as u64 * 4, 0)?;
        let mut texts = Vec::new();
        for (id, step) in program.steps.iter().enumerate() {
            let column = columns[id];
            if column.len == 0 || step.kind == Kind::Null {
                continue;
            }
            let valid = self.take(column.len.div_ceil(32) * 4)?;
            columns[id].bits = valid;
            let null_count = nulls.offset(id as u64 * 4);
            let (count, blocks) = (column.len, self.stream.blocks(column.len));
            if step.kind.is_nested() {
                let args = PackArgs { bytes: column.valid, count, valid, nulls: null_count };
                PACK_VALID.launch(self.stream, blocks, &args)?;
                continue;
            }
            let (hops, hop_count) = self.hops(columns, id)?;
            if step.kind.is_text() {
                if step.kind != Kind::FixedBinary {
                    columns[id].offsets = self.take((column.len + 1) * 8)?;
                }
                let args = StringArgs {
                    text: input.device,
                    places: column.places,
                    last: column.valid,
                    count,
                    kind: step.kind,
                    hex: step.option != 0,
                    size: step.value_bytes,
                    offsets: columns[id].offsets,
                    bytes: Ptr(0),
                    narrow: Ptr(0),
                    valid,
                    nulls: null_count,
                    hops,
                    hop_count,
                    suspect,
                };
                STRING_LENS.launch(self.stream, blocks, &args)?;
                if step.kind != Kind::FixedBinary {
                    let totals = columns[id].offsets.offset(column.len * 8);
                    self.scan(columns[id].offsets, 1, column.len, totals)?;
                }
                texts.push((id, args));
                continue;
            }
            columns[id].bytes = match step.kind {
                Kind::Bool => column.len.div_ceil(32) * 4,
                _ => column.len * step.value_bytes,
            };
            columns[id].values = self.take(columns[id].bytes)?;
            let args = ConvertArgs {
                text: input.device,
                places: column.places,
                count,
                kind: step.kind,
                width: step.width,
                option: step.option,
                local: step.local,
                allow_nan: self.rules.allow_nan,
                values: columns[id].values,
                valid,
                nulls: null_count,
                hops,
                hop_count,
                suspect,
                powers: self.tables.powers,
            };
            CONVERT_FIXED.launch(self.stream, blocks, &args)?;
        }
        self.texts(columns, texts)?;
        Ok(nulls)
    }

    /// The bytes of strings, once their number is known.
    fn texts(
        &mut self,
        columns: &mut [Column],
        texts: Vec<(usize, StringArgs)>,
    ) -> Result<(), Halt> {
        let variable = |id: &usize| self.program.steps[*id].kind != Kind::FixedBinary;
        let ids: Vec<usize> = texts.iter().map(|text| text.0).filter(variable).collect();
        let totals: Vec<Ptr> =
            ids.iter().map(|id| columns[*id].offsets.offset(columns[*id].len * 8)).collect();
        let totals = if totals.is_empty() { Vec::new() } else { self.fetch_u64(&totals)? };
        for (id, total) in ids.iter().zip(totals) {
            if total > self.rules.offset_max && !self.program.steps[*id].is_large() {
                return Err(Halt::TooLarge);
            }
            columns[*id].bytes = total;
        }
        for (id, mut args) in texts {
            let step = &self.program.steps[id];
            let column = columns[id];
            if step.kind == Kind::FixedBinary {
                columns[id].bytes = column.len * step.value_bytes;
            }
            columns[id].values = self.take(columns[id].bytes)?;
            if step.kind != Kind::FixedBinary && !step.is_large() {
                columns[id].narrow = self.take((column.len + 1) * 4)?;
            }
            (args.bytes, args.narrow) = (columns[id].values, columns[id].narrow);
            let blocks = self.stream.blocks(column.len);
            STRING_COPY.launch(self.stream, blocks, &args)?;
        }
        Ok(())
    }

    /// Fetches all columns.
    fn collect(&mut self, columns: &[Column], nulls: Ptr, piece: &mut Piece) -> Result<(), Halt> {
        let program = self.program;
        let mut parts = vec![(nulls, columns.len() as u64 * 4)];
        for (step, column) in program.steps.iter().zip(columns) {
            if column.len == 0 {
                continue;
            }
            if step.nullable && step.kind != Kind::Null {
                parts.push((column.bits, column.len.div_ceil(32) * 4));
            }
            match step.kind {
                Kind::List | Kind::Map => parts.push((column.places, (column.len + 1) * 4)),
                Kind::Struct | Kind::FixedList | Kind::Null => {}
                kind => {
                    parts.push((column.values, column.bytes));
                    if kind.is_text() && kind != Kind::FixedBinary {
                        parts.push(if step.is_large() {
                            (column.offsets, (column.len + 1) * 8)
                        } else {
                            (column.narrow, (column.len + 1) * 4)
                        });
                    }
                }
            }
        }
        let mut fetched = self.stream.fetch(&parts)?.into_iter();
        let counts = fetched.next().unwrap_or_default();
        let mut next =
            || fetched.next().map(Buffer::from).ok_or_else(|| failure("gpu: a part less"));
        for (id, (step, column)) in program.steps.iter().zip(columns).enumerate() {
            let len = usize::try_from(column.len).unwrap_or(usize::MAX);
            let mut out = Fetched { len, ..Fetched::default() };
            if len > 0 {
                if step.nullable && step.kind != Kind::Null {
                    out.valid = Some(next()?);
                    let bytes = counts.as_slice().get(id * 4..id * 4 + 4).unwrap_or(&[0; 4]);
                    out.null_count =
                        bytes.iter().rev().fold(0, |n, byte| n << 8 | usize::from(*byte));
                }
                match step.kind {
                    Kind::List | Kind::Map => out.offsets = Some(next()?),
                    Kind::Struct | Kind::FixedList | Kind::Null => {}
                    kind => {
                        out.values = Some(next()?);
                        if kind.is_text() && kind != Kind::FixedBinary {
                            out.offsets = Some(next()?);
                        }
                    }
                }
            }
            piece.columns.push(out);
        }
        Ok(())
    }

    /// The marked records, for their structure or their values.
    fn suspects(
        &mut self,
        input: &Input,
        suspect: Ptr,
        structure: &[MutableBuffer],
        piece: &mut Piece,
    ) -> Result<(), Halt> {
        let marks = self.stream.fetch(&[(suspect, input.records)])?;
        let marked: Vec<usize> = (0..piece.records).filter(|r| marks[0][*r] != 0).collect();
        if marked.is_empty() {
            return Ok(());
        }
        let parts = [(input.starts, input.records * 4), (input.places, input.tokens * 4)];
        let fetched = self.stream.fetch(&parts)?;
        let place = |token: usize| narrow(&fetched[1], token);
        let text_end = usize::try_from(input.len).unwrap_or(usize::MAX);
        for record in marked {
            let from = place(narrow(&fetched[0], record));
            let next = record + 1;
            let upto =
                if next < piece.records { place(narrow(&fetched[0], next)) } else { text_end };
            let framed = structure[0][record] == 0;
            piece.suspects.push(Suspect { record, from, upto, framed });
        }
        Ok(())
    }
}

/// The addresses of a piece on the device.
struct Input {
    device: Ptr,
    len: u64,
    places: Ptr,
    bytes: Ptr,
    tokens: u64,
    starts: Ptr,
    records: u64,
}

/// The number at `index` of fetched words of 64 bits.
fn word(bytes: &[u8], index: usize) -> u64 {
    let word = bytes.get(index * 8..index * 8 + 8).and_then(|bytes| bytes.try_into().ok());
    u64::from_le_bytes(word.unwrap_or_default())
}

/// The number at `index` of fetched words of 32 bits.
pub(super) fn narrow(bytes: &[u8], index: usize) -> usize {
    let word = bytes.get(index * 4..index * 4 + 4).and_then(|bytes| bytes.try_into().ok());
    word.map_or(NONE as usize, |word| u32::from_le_bytes(word) as usize)
}
