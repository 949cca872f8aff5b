// SPDX-License-Identifier: Apache-2.0
//! Bodies of the targets for Parquet: whole files, page streams, value decoders, levels.

use arrow_buffer::{ArrowNativeType, ToByteSlice};
use arrow_schema::Fields;
use arrowsmith_core::Limits;
use arrowsmith_parquet::{
    ColumnMapping, File, PHYSICAL_NAME_KEY, Page, Pages, ReadOptions, ReadPlan,
};
use arrowsmith_simd::column::{
    BigEndian, Cast, Decode, DecodeBytes, DecodeStrings, Delta, DeltaLengthStrings, DeltaStrings,
    DictionaryStrings, Gather, GatherBytes, Hybrid, Indices, Int96, Plain, PlainBytes,
    PlainStrings, Result, Rows, Split, SplitBytes, StringDictionary, Strings, TimeUnit, levels,
    packed_levels, plain_bits, read, read_bytes, skip,
};
use arrowsmith_simd::{BitBuffer, Buf, Level};
use bytes::Bytes;
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;
use std::sync::Arc;

/// Small limits for pages and footers: a target has to be fast, and its memory bounded.
pub(crate) fn limits() -> Limits {
    let limits = Limits::default().with_page_bytes_max(1 << 22).with_metadata_bytes_max(1 << 22);
    limits.with_memory_bytes_max(32 << 20)
}

/// Any bytes as a file: its schema, its plan, every page of every column.
pub fn parquet_file(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    let Ok(file) = File::open(bytes, &limits()) else { return };
    if let Ok(plan) = ReadPlan::new(&file, &ReadOptions::default()) {
        with_other_names(&file, &plan);
        for group in 0..file.row_groups().min(4) {
            let _ = plan.ranges(&file, group);
            for leaf in plan.leaves().into_iter().take(8) {
                walk(&file, group, leaf);
            }
        }
    }
}

/// The columns of a table that has other names for those of the file are as many.
fn with_other_names(file: &File, plan: &ReadPlan) {
    let fields = plan.schema.fields().iter().enumerate().map(|(number, field)| {
        let mut metadata = field.metadata().clone();
        metadata.insert(PHYSICAL_NAME_KEY.to_owned(), field.name().clone());
        field.as_ref().clone().with_name(format!("column {number}")).with_metadata(metadata)
    });
    let fields: Fields = fields.collect();
    for mapping in [ColumnMapping::Name, ColumnMapping::Id] {
        let Ok(renamed) = file.with_names_of(&fields, mapping) else { continue };
        if let Ok(found) = ReadPlan::new(&renamed, &ReadOptions::default()) {
            assert_eq!(found.leaves().len(), plan.leaves().len(), "{mapping:?}");
        }
    }
}

/// The columns that page streams are read as.
const COLUMNS: &[&str] = &[
    "required int64 a",
    "optional int32 a",
    "optional boolean a",
    "required binary a (UTF8)",
    "optional binary a (UTF8)",
    "optional fixed_len_byte_array(3) a",
    "optional int96 a",
    "optional double a",
    "optional group a (LIST) { repeated group list { optional int64 element; } }",
    "optional group a (MAP) { repeated group key_value { required binary key (UTF8); optional int32 value; } }",
];

/// Any bytes as the pages of a column: two bytes choose column and codec, one the number of values.
pub fn parquet_pages(data: &[u8]) {
    let [column, codec, values, pages @ ..] = data else { return };
    let Some(bytes) = file_of(*column, *codec, i64::from(*values), pages) else { return };
    let Ok(file) = File::open(bytes, &limits()) else { return };
    for leaf in 0..file.metadata().row_group(0).num_columns() {
        walk(&file, 0, leaf);
    }
}

/// A file of one row group, of whose columns all have the same pages.
pub(crate) fn file_of(column: u8, codec: u8, values: i64, pages: &[u8]) -> Option<Bytes> {
    use parquet::basic::Compression as C;
    let codecs = [
        C::UNCOMPRESSED,
        C::SNAPPY,
        C::GZIP(Default::default()),
        C::ZSTD(Default::default()),
        C::LZ4,
        C::LZ4_RAW,
        C::BROTLI(Default::default()),
    ];
    let column = COLUMNS[usize::from(column) % COLUMNS.len()];
    // Groups end with a brace, leaves with a semicolon.
    let end = if column.ends_with('}') { "" } else { ";" };
    let message = parse_message_type(&format!("message m {{ {column}{end} }}")).ok()?;
    let schema = Arc::new(SchemaDescriptor::new(Arc::new(message)));
    let size = i64::try_from(pages.len()).ok()?;
    let chunk = |leaf: usize| {
        ColumnChunkMetaData::builder(schema.column(leaf))
            .set_compression(codecs[usize::from(codec) % codecs.len()])
            .set_num_values(values)
            .set_data_page_offset(4)
            .set_total_compressed_size(size)
            .set_total_uncompressed_size(size)
            .build()
    };
    let chunks =
        (0..schema.num_columns()).map(chunk).collect::<std::result::Result<_, _>>().ok()?;
    let group = RowGroupMetaData::builder(Arc::clone(&schema))
        .set_num_rows(values)
        .set_total_byte_size(size)
        .set_column_metadata(chunks)
        .build()
        .ok()?;
    let file = FileMetaData::new(2, values, None, None, schema, None);
    let metadata = ParquetMetaData::new(file, vec![group]);
    let mut bytes = [b"PAR1", pages].concat();
    ParquetMetaDataWriter::new(&mut bytes, &metadata).finish().ok()?;
    Some(bytes.into())
}

/// Reads all pages; what a page claims must be present.
fn walk(file: &File, group: usize, leaf: usize) {
    let Ok(mut pages) = Pages::new(file, group, leaf) else { return };
    for _ in 0..1_000 {
        let peeked = pages.peek();
        match pages.next() {
            Ok(Some(Page::Data(page))) => {
                let info = peeked.expect("it was read").expect("there is a page");
                assert_eq!((info.dictionary, info.count), (false, page.count));
                assert!(page.readable.starts_with(page.values));
                assert!(page.def.readable.starts_with(page.def.bytes));
                assert!(page.rep.readable.starts_with(page.rep.bytes));
                assert!(page.nulls.is_none_or(|nulls| nulls <= page.count));
            }
            Ok(Some(Page::Dictionary(page))) => assert!(page.readable.starts_with(page.values)),
            Ok(None) | Err(_) => return,
        }
    }
}

/// A few bits that look random, for rows that are null.
fn validity(rows: usize, pattern: u8) -> BitBuffer {
    let mut bits = BitBuffer::default();
    for row in 0..rows {
        let noise =
            (row as u64 ^ u64::from(pattern) << 32).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56;
        bits.push(noise >= u64::from(pattern));
    }
    bits
}

/// The rows that are requested from a decoder: all or by validity, in pieces.
#[derive(Clone, Copy)]
struct Asked<'a> {
    rows: usize,
    step: usize,
    skipped: usize,
    bits: Option<&'a BitBuffer>,
}

impl Asked<'_> {
    fn pieces(&self) -> impl Iterator<Item = Rows<'_>> {
        (0..self.rows).step_by(self.step).map(|from| {
            let to = (from + self.step).min(self.rows);
            match self.bits {
                None => Rows::All(to - from),
                Some(bits) => Rows::Valid { bits, from, to },
            }
        })
    }
}

/// The result of all instruction sets for the same bytes, which have to agree.
fn same<T: PartialEq + std::fmt::Debug>(decode: impl Fn(Level) -> Result<T>) {
    let mut levels = Level::available().into_iter().rev();
    let portable = levels.next().map(&decode).expect("there is a portable one");
    for level in levels {
        assert_eq!(decode(level), portable, "{}", level.name());
    }
}

fn numbers<'a, T, D>(asked: Asked<'_>, make: impl Fn() -> Result<D> + 'a)
where
    T: ArrowNativeType + std::fmt::Debug,
    D: Decode<T>,
{
    same(|level| {
        let mut decoder = make()?;
        skip::<T, D>(level, &mut decoder, asked.skipped)?;
        let mut out = Buf::default();
        for rows in asked.pieces() {
            read(level, &mut decoder, rows, &mut out)?;
        }
        // As bytes: NaN is not equal to itself.
        Ok(out
            .as_slice()
            .iter()
            .flat_map(|value: &T| value.to_byte_slice().to_vec())
            .collect::<Vec<u8>>())
    });
}

fn bytes<D: DecodeBytes>(asked: Asked<'_>, make: impl Fn() -> Result<D>) {
    same(|level| {
        let mut decoder = make()?;
        let mut out = Buf::default();
        for rows in asked.pieces() {
            read_bytes(level, &mut decoder, rows, &mut out)?;
        }
        Ok(out.as_slice().to_vec())
    });
}

fn strings<D: DecodeStrings>(asked: Asked<'_>, utf8: bool, make: impl Fn() -> Result<D>) {
    same(|level| {
        let mut decoder = make()?;
        let mut out = Strings::<i32>::new(utf8, asked.rows, 0, 1 << 24);
        for rows in asked.pieces() {
            out.read(level, &mut decoder, rows)?;
        }
        let read = (out.offsets().to_vec(), out.bytes().to_vec());
        if utf8 {
            let array = out.take_strings(None)?;
            // Panics if an offset is inside a character.
            (0..arrow_array::Array::len(&array))
                .for_each(|row| assert!(array.value(row).len() <= 1 << 24));
        }
        Ok(read)
    });
}

/// Any bytes as encoded values: four bytes choose the decoder, the number of rows, the pieces and
/// the nulls.
pub fn parquet_values(data: &[u8]) {
    let [which, rows, step, nulls, data @ ..] = data else { return };
    let rows = usize::from(*rows) * 9;
    let bits = (*nulls > 0).then(|| validity(rows, *nulls));
    let width = usize::from(*step % 9) + 1;
    let step = usize::from(*step) * 5 + 1;
    let asked = Asked { rows, step, skipped: usize::from(*nulls & 7), bits: bits.as_ref() };
    let dictionary: Vec<i64> = (0..1 + i64::from(*nulls)).map(|value| value * -3).collect();
    match which % 20 {
        0 => numbers::<i64, _>(asked, || Ok(Plain::new(data))),
        1 => numbers::<i32, _>(asked, || Delta::new(data)),
        2 => numbers::<i64, _>(asked, || Delta::new(data)),
        3 => numbers::<i64, _>(asked, || Ok(Gather::new(Hybrid::indices(data)?, &dictionary))),
        4 => {
            numbers::<u32, _>(asked, || Ok(Indices::new(Hybrid::indices(data)?, dictionary.len())))
        }
        5 => numbers::<i32, _>(asked, || Ok(Split::new(data))),
        6 => numbers::<f64, _>(asked, || Ok(Split::new(data))),
        7 => numbers::<i64, _>(asked, || Ok(Int96::new(data, TimeUnit::Nanosecond))),
        8 => numbers::<i128, _>(asked, || Ok(BigEndian::new(PlainBytes::new(data, width)))),
        9 => numbers::<i8, _>(asked, || Ok(Cast::<i32, _>::new(Delta::new(data)?))),
        10 => numbers::<i128, _>(asked, || Ok(Cast::<i64, _>::new(Plain::new(data)))),
        11 => bytes(asked, || Ok(PlainBytes::new(data, width))),
        12 => bytes(asked, || SplitBytes::new(data, width)),
        13 => {
            let values: Vec<u8> = (0..=255).cycle().take(width * 20).collect();
            bytes(asked, || GatherBytes::new(Hybrid::indices(data)?, &values, width));
        }
        14 => strings(asked, true, || Ok(PlainStrings::new(data))),
        15 => strings(asked, nulls & 1 == 1, || DeltaLengthStrings::new(data)),
        16 => strings(asked, nulls & 1 == 1, || DeltaStrings::new(data)),
        17 => {
            let mut words = Strings::<i32>::new(true, 5, 20, 1 << 20);
            let plain = b"\x01\0\0\0a\0\0\0\0\x03\0\0\0abc\x02\0\0\0\xC3\xA4\x04\0\0\0wxyz";
            let mut decoder = PlainStrings::new(plain);
            words.read(Level::get(), &mut decoder, Rows::All(5)).expect("five words");
            let words = StringDictionary::new(&words).expect("a dictionary");
            strings(asked, true, || Ok(DictionaryStrings::new(Hybrid::indices(data)?, &words)));
        }
        18 => numbers::<u64, _>(asked, || Ok(Cast::<i64, _>::new(Delta::new(data)?))),
        _ => strings(asked, false, || Ok(PlainStrings::new(data))),
    }
}

/// Any bytes as levels: three bytes choose the decoder, the width and the number.
pub fn parquet_levels(data: &[u8]) {
    let [which, width, count, data @ ..] = data else { return };
    let count = usize::from(*count) * 5;
    let max = *width % 12;
    let width = u32::from(*width % 10);
    match which % 5 {
        0 => same(|level| {
            let mut out = Buf::default();
            let mut hybrid = Hybrid::new(data, width)?;
            hybrid.levels(level, count / 2, max, &mut out)?;
            hybrid.levels(level, count - count / 2, max, &mut out)?;
            Ok(out.as_slice().to_vec())
        }),
        1 => same(|level| {
            let mut out = BitBuffer::default();
            let mut hybrid = Hybrid::new(data, 1)?;
            let ones = hybrid.bits(level, count, &mut out)?;
            assert_eq!(ones, out.count_ones(0, out.len()));
            Ok(out.take())
        }),
        2 => {
            let mut out = Buf::default();
            if packed_levels(data, width, count, max, &mut out).is_ok() {
                assert_eq!(out.len(), count);
            }
        }
        3 => same(|level| {
            let mut out = BitBuffer::default();
            plain_bits(level, data, 3, Rows::All(count), &mut out)?;
            Ok(out.take())
        }),
        // The levels themselves, of a list of lists.
        _ => {
            let (definition, repetition) = data.split_at(data.len() / 2);
            let entries = definition.len();
            let definition: Vec<u8> = definition.iter().map(|level| level % 6).collect();
            let repetition: Vec<u8> =
                repetition.iter().take(entries).map(|level| level % 3).collect();
            let levels = levels::Levels { definition: &definition, repetition: &repetition };
            shapes(levels, entries);
        }
    }
}

/// The offsets of two nested lists ascend, and end with their number of elements.
fn shapes(of: levels::Levels<'_>, entries: usize) {
    use levels::{ListShape, Slots};
    let slots = [(0, 0), (1, 2), (2, 4)].map(|(r, d)| Slots { repetition: r, definition: d });
    for (outer, inner) in [(0, 1), (1, 2)] {
        let shape = ListShape { slots: slots[outer], elements: slots[inner] };
        same(|level| {
            let mut starts = Buf::default();
            let mut elements = 0;
            levels::list_starts(level, of, entries, shape, &mut elements, &mut starts)?;
            let starts = starts.as_slice().to_vec();
            assert!(starts.is_sorted());
            assert!(
                starts
                    .last()
                    .is_none_or(|last| usize::try_from(*last).is_ok_and(|l| l <= elements))
            );
            let mut bits = BitBuffer::default();
            let (found, valid) = levels::validity(level, of, entries, slots[outer], 1, &mut bits)?;
            assert_eq!((found, valid), (starts.len(), bits.count_ones(0, bits.len())));
            assert_eq!(levels::count(level, of, entries, slots[inner], 1)?.0, elements);
            Ok((starts, elements, bits.take()))
        });
    }
}
