// SPDX-License-Identifier: Apache-2.0
//! Page headers and page indexes in Thrift's compact protocol.
//!
//! The footer is written by the `parquet` crate, as the reader has it read by that crate.

use crate::number::{byte, signed};
use crate::rle::varint;

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Writes the fields of one structure; a structure inside is another writer on the same bytes.
struct Fields<'a> {
    out: &'a mut Vec<u8>,
    last: u8,
}

impl<'a> Fields<'a> {
    fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, last: 0 }
    }

    /// Numbers ascend by less than 16.
    fn head(&mut self, number: u8, kind: u8) {
        self.out.push((number - self.last) << 4 | kind);
        self.last = number;
    }

    fn int(&mut self, number: u8, value: i64) {
        self.head(number, I32);
        zigzag(value, self.out);
    }

    fn bool(&mut self, number: u8, value: bool) {
        self.head(number, if value { TRUE } else { FALSE });
    }

    fn list(&mut self, number: u8, kind: u8, count: usize) {
        self.head(number, LIST);
        list(kind, count, self.out);
    }

    fn longs(&mut self, number: u8, values: impl ExactSizeIterator<Item = i64>) {
        self.list(number, I64, values.len());
        values.for_each(|value| zigzag(value, self.out));
    }

    fn inner(&mut self, number: u8) -> Fields<'_> {
        self.head(number, STRUCT);
        Fields::new(self.out)
    }

    fn end(self) {
        self.out.push(0);
    }
}

fn zigzag(value: i64, out: &mut Vec<u8>) {
    varint((value << 1 ^ value >> 63).cast_unsigned(), out);
}

fn list(kind: u8, count: usize, out: &mut Vec<u8>) {
    if count < 15 {
        out.push(byte(count as u64) << 4 | kind);
    } else {
        out.push(0xf0 | kind);
        varint(count as u64, out);
    }
}

/// What follows a page header's sizes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PageKind {
    /// Number of entries, and the encoding's number.
    V1 { entries: usize, encoding: i64 },
    /// As well the lengths of the levels, in bytes, and whether the values are compressed.
    V2 {
        entries: usize,
        nulls: usize,
        rows: usize,
        encoding: i64,
        def_bytes: usize,
        rep_bytes: usize,
        compressed: bool,
    },
    /// Number of values.
    Dictionary { entries: usize },
}

/// The number of PLAIN, in which dictionary pages are.
const PLAIN: i64 = 0;
/// The number of RLE, in which levels are.
const RLE: i64 = 3;

/// A page header; sizes in bytes.
pub(crate) fn page_header(
    kind: PageKind,
    plain_bytes: usize,
    bytes: usize,
    crc: Option<u32>,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(48);
    let mut fields = Fields::new(&mut out);
    let number = match kind {
        PageKind::V1 { .. } => 0,
        PageKind::Dictionary { .. } => 2,
        PageKind::V2 { .. } => 3,
    };
    fields.int(1, number);
    fields.int(2, signed(plain_bytes));
    fields.int(3, signed(bytes));
    if let Some(crc) = crc {
        fields.int(4, i64::from(crc.cast_signed()));
    }
    match kind {
        PageKind::V1 { entries, encoding } => {
            let mut inner = fields.inner(5);
            inner.int(1, signed(entries));
            inner.int(2, encoding);
            inner.int(3, RLE);
            inner.int(4, RLE);
            inner.end();
        }
        PageKind::Dictionary { entries } => {
            let mut inner = fields.inner(7);
            inner.int(1, signed(entries));
            inner.int(2, PLAIN);
            inner.end();
        }
        PageKind::V2 { entries, nulls, rows, encoding, def_bytes, rep_bytes, compressed } => {
            let mut inner = fields.inner(8);
            inner.int(1, signed(entries));
            inner.int(2, signed(nulls));
            inner.int(3, signed(rows));
            inner.int(4, encoding);
            inner.int(5, signed(def_bytes));
            inner.int(6, signed(rep_bytes));
            inner.bool(7, compressed);
            inner.end();
        }
    }
    fields.end();
    out
}

/// The column index's part of a page.
#[derive(Debug)]
pub(crate) struct IndexEntry<'a> {
    /// Minimum and maximum; `None` for a page of nulls only.
    pub(crate) bounds: Option<(&'a [u8], &'a [u8])>,
    pub(crate) nulls: usize,
    pub(crate) def_histogram: &'a [i64],
    pub(crate) rep_histogram: &'a [i64],
}

/// A column index; `order` as the format numbers it.
pub(crate) fn column_index(pages: &[IndexEntry<'_>], order: u8) -> Vec<u8> {
    let mut out = Vec::new();
    let mut fields = Fields::new(&mut out);
    // The type of Booleans in a list is that of `false`, whatever they are.
    fields.list(1, FALSE, pages.len());
    for page in pages {
        fields.out.push(if page.bounds.is_none() { TRUE } else { FALSE });
    }
    for number in [2, 3] {
        fields.list(number, BINARY, pages.len());
        for page in pages {
            let (min, max) = page.bounds.unwrap_or_default();
            let value = if number == 2 { min } else { max };
            varint(value.len() as u64, fields.out);
            fields.out.extend_from_slice(value);
        }
    }
    fields.int(4, i64::from(order));
    fields.longs(5, pages.iter().map(|page| signed(page.nulls)));
    let histograms: [(u8, Vec<i64>); 2] = [
        (6, pages.iter().flat_map(|page| page.rep_histogram).copied().collect()),
        (7, pages.iter().flat_map(|page| page.def_histogram).copied().collect()),
    ];
    for (number, histogram) in histograms {
        if !histogram.is_empty() {
            fields.longs(number, histogram.into_iter());
        }
    }
    fields.end();
    out
}

/// Where a page is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Location {
    /// Of its header, from the start of the chunk.
    pub(crate) offset: u64,
    /// With its header.
    pub(crate) bytes: usize,
    /// Number of its first row in the row group.
    pub(crate) first_row: usize,
    /// Bytes of its texts without lengths; `None` for other types.
    pub(crate) text_bytes: Option<usize>,
}

/// The offset index of a chunk at an offset of the file.
pub(crate) fn offset_index(pages: &[Location], start: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let mut fields = Fields::new(&mut out);
    fields.list(1, STRUCT, pages.len());
    for page in pages {
        let mut inner = Fields::new(fields.out);
        inner.head(1, I64);
        zigzag((start + page.offset).cast_signed(), inner.out);
        inner.int(2, signed(page.bytes));
        inner.head(3, I64);
        zigzag(signed(page.first_row), inner.out);
        inner.end();
    }
    let texts: Option<Vec<i64>> = pages.iter().map(|page| page.text_bytes.map(signed)).collect();
    if let Some(texts) = texts {
        fields.longs(2, texts.into_iter());
    }
    fields.end();
    out
}
