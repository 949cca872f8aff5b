// SPDX-License-Identifier: Apache-2.0
//! A piece of text through the kernels: scan, index, frame here; walk and convert in `columns`.
//!
//! The host waits for the device where the size of the next step is only known there: the number of
//! tokens, of records, of the items of lists, and of the bytes of strings. Other steps do not wait.

mod columns;

use arrow_buffer::Buffer;
use arrowsmith_core::{Error, Framing, Result};

pub(super) use self::columns::Column;
use self::columns::Marks;
use super::program::{NONE, Program};
use crate::abi::*;
use crate::device::memory::{Arena, Refused};
use crate::device::resident::{DeviceBatch, Tree};
use crate::device::{Ptr, Stream};

/// Bytes after a text that kernels may read; they are line feeds, which no word goes past.
const PADDING: [u8; 256] = [b'\n'; 256];

/// Bytes of text that a thread scans.
const SCAN_BYTES: u64 = 64;

/// Tokens in which a thread looks for records: `TOKENS` of the kernels.
const FRAME_TOKENS: u64 = 16;

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
        // They are read in groups, from any token on.
        let room = tokens.next_multiple_of(FRAME_TOKENS) + 2 * FRAME_TOKENS;
        let bytes = self.take(room)?;
        self.stream.fill(bytes.offset(tokens), 0, room - tokens)?;
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
        let token_blocks = self.stream.blocks(tokens.div_ceil(FRAME_TOKENS));
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

    /// The marked records, for their structure or their values.
    fn suspects(&mut self, input: &Input, marks: Marks, piece: &mut Piece) -> Result<(), Halt> {
        let parts = [(marks.suspect, input.records), (marks.structure, input.records)];
        let [marks, structure] = &self.stream.fetch(&parts)?[..] else { return Ok(()) };
        let marked: Vec<usize> = (0..piece.records).filter(|r| marks[*r] != 0).collect();
        let parts = [(input.starts, input.records * 4), (input.places, input.tokens * 4)];
        let fetched = self.stream.fetch(&parts)?;
        let place = |token: usize| narrow(&fetched[1], token);
        let text_end = usize::try_from(input.len).unwrap_or(usize::MAX);
        for record in marked {
            let from = place(narrow(&fetched[0], record));
            let next = record + 1;
            let upto =
                if next < piece.records { place(narrow(&fetched[0], next)) } else { text_end };
            let framed = structure[record] == 0;
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
