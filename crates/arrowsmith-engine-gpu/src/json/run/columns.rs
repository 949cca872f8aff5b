// SPDX-License-Identifier: Apache-2.0
//! The columns of a piece: walks its records, converts its values, fetches the result.

use arrowsmith_core::Framing;

use super::{Fetched, Halt, Input, Piece, Run, Tables, word};
use crate::abi::{self, *};
use crate::device::{Ptr, failure};

/// Threads of a list of scalars: `ITEM_THREADS` of the kernels.
const ITEM_THREADS: u64 = 8;

/// Values of a thread that converts numbers: `CONVERT_EACH` of the kernels.
const CONVERT_EACH: u64 = 2;

/// The device memory of one column.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::json) struct Column {
    pub len: u64,
    /// The token of each value; of lists and maps, the end offsets.
    pub tokens: Ptr,
    /// One byte per value of nested columns, the last token of each value of kept JSON text.
    pub valid: Ptr,
    /// The first item of each list of scalars.
    pub firsts: Ptr,
    pub bits: Ptr,
    pub values: Ptr,
    pub offsets: Ptr,
    pub narrow: Ptr,
    pub bytes: u64,
}

/// What is known of each record, in device memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marks {
    /// One byte per record: 1 if it is in doubt; and the same before its values were looked at.
    pub suspect: Ptr,
    pub structure: Ptr,
    /// Whether any is.
    pub doubt: Ptr,
}

impl Run<'_> {
    /// Walk and convert.
    pub(super) fn columns(&mut self, input: &Input, piece: &mut Piece) -> Result<(), Halt> {
        let records = input.records;
        let slots = self.program.slots as u64;
        let counts = self.take_filled(slots * records * 8, 0)?;
        let seen = self.take(self.program.seen_words as u64 * records * 8)?;
        let suspect = self.take_filled(records, 0)?;
        let doubt = self.take_filled(4, 0)?;
        // What is in doubt for its structure; before values are looked at.
        let structure = self.take(records)?;
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
            doubt,
            columns: Ptr(0),
            depth_max: self.rules.depth_max,
            record_bytes_max: self.rules.record_bytes_max,
            record_tokens_max: self.rules.record_tokens_max,
            refuse_unknown: self.rules.refuse_unknown,
            slots,
        };
        let blocks = self.stream.blocks(records);
        let totals = match slots {
            0 => Vec::new(),
            _ => {
                WALK_COUNT.launch(self.stream, blocks, &args)?;
                self.scan_slots(counts, slots, records)?
            }
        };
        let mut columns = self.lay_out(records, &totals)?;
        let table: Vec<abi::Column> = columns
            .iter()
            .map(|&Column { tokens, valid, firsts, .. }| abi::Column {
                tokens: tokens.0,
                valid: valid.0,
                firsts: firsts.0,
            })
            .collect();
        args.columns = self.take_with(&bytes_of(&table))?;
        let kernel = if slots == 0 { WALK_ONCE } else { WALK_WRITE };
        kernel.launch(self.stream, blocks, &args)?;
        self.stream.copy_within(structure, suspect, records)?;
        self.items(input, &columns)?;
        let marks = Marks { suspect, structure, doubt };
        let nulls = self.convert(input, &mut columns, marks)?;
        if self.stay {
            let parts = [(doubt, 4), (nulls, columns.len() as u64 * 4)];
            let fetched = self.stream.fetch(&parts)?;
            if fetched[0].iter().all(|byte| *byte == 0) {
                piece.trees = Some(self.trees(&columns, &fetched[1])?);
                return Ok(());
            }
        }
        if self.collect(&columns, nulls, doubt, piece)? {
            self.suspects(input, marks, piece)?;
        }
        Ok(())
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
                    column.tokens = self.take((len + 1) * 4)?;
                    self.stream.fill(column.tokens, 0, 4)?;
                    column.valid = self.take(len)?;
                }
                Kind::Struct | Kind::FixedList => column.valid = self.take(len)?,
                Kind::Json => {
                    column.tokens = self.take(len * 4)?;
                    column.valid = self.take(len * 4)?;
                }
                _ => column.tokens = self.take(len * 4)?,
            }
            if program.has_scalars(step) {
                column.firsts = self.take(len * 4)?;
            }
            columns.push(column);
        }
        Ok(columns)
    }

    /// Lists the items of lists of scalars.
    fn items(&mut self, input: &Input, columns: &[Column]) -> Result<(), Halt> {
        for (step, column) in self.program.steps.iter().zip(columns) {
            if column.firsts == Ptr(0) || column.len == 0 || columns[step.first].len == 0 {
                continue;
            }
            let args = ExpandArgs {
                bytes: input.bytes,
                firsts: column.firsts,
                lists: column.len,
                ends: column.tokens,
                size: if step.kind == Kind::FixedList { step.count as u64 } else { 0 },
                tokens: columns[step.first].tokens,
            };
            let blocks = self.stream.blocks(column.len * ITEM_THREADS);
            EXPAND_ITEMS.launch(self.stream, blocks, &args)?;
        }
        Ok(())
    }

    /// From a value of a node to its record.
    fn hops(&mut self, columns: &[Column], id: usize) -> Result<(Ptr, u64), Halt> {
        let mut hops = Vec::new();
        let mut at = id;
        while let Some(parent) = self.program.steps[at].parent {
            let step = &self.program.steps[parent];
            match step.kind {
                Kind::List | Kind::Map if columns[parent].len > 0 => {
                    let Column { tokens, len, .. } = columns[parent];
                    hops.push(Hop { ends: tokens.0, count: len, size: 0 });
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
        Marks { suspect, doubt, .. }: Marks,
    ) -> Result<Ptr, Halt> {
        let program = self.program;
        let nulls = self.take_filled(columns.len() as u64 * 4, 0)?;
        let mut texts = Vec::new();
        for (id, step) in program.steps.iter().enumerate() {
            let column = columns[id];
            let always = step.kind.is_nested() && !step.nullable;
            if column.len == 0 || step.kind == Kind::Null || always {
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
                    places: input.places,
                    tokens: column.tokens,
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
                    doubt,
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
                places: input.places,
                tokens: column.tokens,
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
                doubt,
                powers: self.tables.powers,
            };
            let blocks = self.stream.blocks(count.div_ceil(CONVERT_EACH));
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

    /// Fetches all columns; returns whether any record is in doubt.
    fn collect(
        &mut self,
        columns: &[Column],
        nulls: Ptr,
        doubt: Ptr,
        piece: &mut Piece,
    ) -> Result<bool, Halt> {
        let program = self.program;
        let mut parts = vec![(doubt, 4), (nulls, columns.len() as u64 * 4)];
        for (step, column) in program.steps.iter().zip(columns) {
            if column.len == 0 {
                continue;
            }
            if step.nullable && step.kind != Kind::Null {
                parts.push((column.bits, column.len.div_ceil(32) * 4));
            }
            match step.kind {
                Kind::List | Kind::Map => parts.push((column.tokens, (column.len + 1) * 4)),
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
        let doubts = fetched.next().unwrap_or_default();
        let counts = fetched.next().unwrap_or_default();
        let mut next = || fetched.next().ok_or_else(|| failure("gpu: a part less"));
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
        Ok(doubts.iter().any(|byte| *byte != 0))
    }
}
