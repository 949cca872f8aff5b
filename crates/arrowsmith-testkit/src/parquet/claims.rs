// SPDX-License-Identifier: Apache-2.0
//! Files whose numbers are inconsistent: counts and sizes in the footer, in page headers, of
//! levels, dictionaries and encoded values are drawn independently. A reader must not trust them:
//! it returns an error or rows, and stays within its memory limit.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, ParquetMetaDataReader,
    ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;

use super::random;
use crate::random::Rng;

/// Columns that pages are generated for.
const COLUMNS: &[&str] = &[
    "required int64 a;",
    "optional int32 a;",
    "required boolean a;",
    "optional boolean a;",
    "required binary a (UTF8);",
    "optional binary a;",
    "required fixed_len_byte_array(16) a;",
    "optional fixed_len_byte_array(2147483647) a;",
    "optional fixed_len_byte_array(9) a (DECIMAL(20, 2));",
    "optional binary a (DECIMAL(20, 2));",
    "optional int96 a;",
    "required double a;",
    "optional group a (LIST) { repeated group list { optional int64 element; } }",
    "optional group a (LIST) { repeated group list { optional group element (LIST) {
        repeated group list { optional binary element (UTF8); } } } }",
    "optional group a (MAP) { repeated group key_value { required binary key (UTF8);
        optional int32 value; } }",
    "optional group a { optional int64 x; optional group y { required float z; } }",
];

const CODECS: &[Compression] = &[
    Compression::UNCOMPRESSED,
    Compression::UNCOMPRESSED,
    Compression::UNCOMPRESSED,
    Compression::SNAPPY,
    Compression::SNAPPY,
    Compression::LZ4_RAW,
    Compression::LZ4,
];

/// A number that is close to the true one, or far from it.
fn claim(rng: &mut Rng, truth: i64) -> i64 {
    match rng.below(8) {
        0..=3 => truth,
        4 => truth.saturating_add([-1, 1, 8, 100][rng.below(4)]),
        5 => 1 << rng.below(63),
        6 => (1 << rng.below(63)) - 1,
        _ => [0, -1, i64::MAX, i64::MIN, i32::MAX.into(), 1 << 31, 1 << 62][rng.below(7)],
    }
}

/// As [`claim`], limited so that the writer can add several without overflow.
fn claimed_rows(rng: &mut Rng, truth: i64) -> i64 {
    within(claim(rng, truth))
}

fn within(claim: i64) -> i64 {
    claim.clamp(-1, 1 << 55)
}

/// A count of values in a page, which has 31 bits.
fn count(rng: &mut Rng) -> u64 {
    match rng.below(4) {
        0 => rng.below(20) as u64,
        1 => 1 << rng.below(31),
        2 => i32::MAX.unsigned_abs().into(),
        _ => rng.below(100_000) as u64,
    }
}

fn unsigned(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push((value & 0x7f).to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// An integer field of a Thrift structure, whose id is one more than that of the previous field.
fn field(value: u64, out: &mut Vec<u8>) {
    out.push(0x15);
    // The format's integers have 32 bits.
    unsigned(value.min(u64::from(u32::MAX >> 1)) << 1, out);
}

/// Runs of levels or indices, with their own lengths.
fn runs(rng: &mut Rng, values: u64) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..=rng.below(3) {
        let run = if rng.one_in(2) { values } else { count(rng) };
        unsigned(run << 1 | u64::from(rng.one_in(4)), &mut out);
        out.extend((0..=rng.below(4)).map(|_| rng.below(4).to_le_bytes()[0]));
    }
    out
}

/// The header of delta-encoded integers, and some bytes after it.
fn deltas(rng: &mut Rng, values: u64, out: &mut Vec<u8>) {
    let block = [128, 1 << 20, 1 << 32, 8, 0][rng.below(5)];
    unsigned(block, out);
    unsigned([4, 1, 0, block][rng.below(4)], out);
    unsigned(if rng.one_in(3) { count(rng) } else { values }, out);
    unsigned([0, 2, 32, 1 << 33][rng.below(4)], out);
    for _ in 0..rng.below(3) {
        unsigned([0, 2][rng.below(2)], out);
        out.extend((0..rng.below(5)).map(|_| [0, 0, 1, 64, 255][rng.below(5)]));
    }
}

/// Values in one of the encodings.
fn values(rng: &mut Rng, encoding: u64, values: u64) -> Vec<u8> {
    let mut out = Vec::new();
    match encoding {
        8 => {
            out.push([0, 1, 2, 8, 32, 33][rng.below(6)]);
            out.extend(runs(rng, values));
        }
        3 => {
            let runs = runs(rng, values);
            out.extend(u32::try_from(runs.len()).unwrap_or(0).to_le_bytes());
            out.extend(runs);
        }
        5..=7 => {
            for _ in 0..=u64::from(encoding == 7) {
                deltas(rng, values, &mut out);
            }
        }
        _ => {
            for _ in 0..rng.below(6) {
                out.extend([[1, 0, 0, 0], [3, 0, 0, 0], [0; 4], [0xff; 4]][rng.below(4)]);
            }
        }
    }
    let long = if rng.one_in(8) { 5_000 } else { 40 };
    out.extend((0..rng.below(long)).map(|_| rng.below(3).to_le_bytes()[0]));
    out
}

/// Levels of a data page.
fn levels(rng: &mut Rng, entries: u64, max: i16) -> Vec<u8> {
    if max == 0 { Vec::new() } else { runs(rng, entries) }
}

/// In the format of SNAPPY, a length and literals; other codecs reject it.
fn packed(codec: Compression, body: &[u8]) -> Vec<u8> {
    if codec != Compression::SNAPPY {
        return body.to_vec();
    }
    let mut out = Vec::new();
    unsigned(body.len() as u64, &mut out);
    for part in body.chunks(256) {
        out.extend([60 << 2, u8::try_from(part.len() - 1).unwrap_or(0)]);
        out.extend(part);
    }
    out
}

/// A page: its header and its body, and the number of values in its header.
fn page(rng: &mut Rng, first: bool, codec: Compression, (def, rep): (i16, i16)) -> (Vec<u8>, u64) {
    let entries = count(rng);
    let dictionary = first && rng.one_in(2);
    let v2 = rng.one_in(2);
    let encoding = if dictionary { 0 } else { *rng.pick(&[0, 0, 3, 5, 6, 7, 8, 8, 9]) };
    let (reps, defs) = (levels(rng, entries, rep), levels(rng, entries, def));
    let values = values(rng, encoding, entries);
    let mut plain = Vec::new();
    if !dictionary && !v2 {
        for (levels, max) in [(&reps, rep), (&defs, def)] {
            if max > 0 {
                plain.extend(u32::try_from(levels.len()).unwrap_or(0).to_le_bytes());
                plain.extend(levels);
            }
        }
    }
    plain.extend(values);
    let (mut body, mut bytes) = (packed(codec, &plain), plain.len());
    if !dictionary && v2 {
        body = [&reps[..], &defs, &body].concat();
        bytes += reps.len() + defs.len();
    }
    let size = |rng: &mut Rng, truth: usize| {
        let truth = i64::try_from(truth).unwrap_or(0);
        let said = if rng.one_in(6) { claim(rng, truth) } else { truth };
        said.clamp(0, i32::MAX.into()).unsigned_abs()
    };
    let mut out = Vec::new();
    field(if dictionary { 2 } else { 3 * u64::from(v2) }, &mut out);
    field(size(rng, bytes), &mut out);
    field(size(rng, body.len()), &mut out);
    out.push(if dictionary {
        0x4c
    } else if v2 {
        0x5c
    } else {
        0x2c
    });
    field(entries, &mut out);
    if dictionary {
        field(0, &mut out);
    } else if v2 {
        field(if rng.one_in(2) { 0 } else { entries }, &mut out);
        field(if rng.one_in(4) { count(rng) } else { entries }, &mut out);
        field(encoding, &mut out);
        field(size(rng, defs.len()), &mut out);
        field(size(rng, reps.len()), &mut out);
        out.push(0x11);
    } else {
        field(encoding, &mut out);
        field(3, &mut out);
        field(3, &mut out);
    }
    out.extend([0, 0]);
    out.extend(body);
    (out, if dictionary { 0 } else { entries })
}

/// A file of one row group with pages generated here.
fn of_pages(rng: &mut Rng) -> Option<Bytes> {
    let codec = *rng.pick(CODECS);
    let message = parse_message_type(&format!("message m {{ {} }}", rng.pick(COLUMNS))).ok()?;
    let schema = Arc::new(SchemaDescriptor::new(Arc::new(message)));
    let mut bytes = b"PAR1".to_vec();
    let mut chunks = Vec::new();
    let mut rows = 0;
    for leaf in 0..schema.num_columns() {
        let column = schema.column(leaf);
        let start = bytes.len();
        let mut entries = 0_u64;
        for number in 0..=rng.below(3) {
            let max = (column.max_def_level(), column.max_rep_level());
            let (page, more) = page(rng, number == 0, codec, max);
            bytes.extend(page);
            entries = entries.saturating_add(more);
        }
        rows = i64::try_from(entries).ok()?;
        let size = i64::try_from(bytes.len() - start).ok()?;
        let said = if rng.one_in(4) { claim(rng, rows) } else { rows };
        let compressed = if rng.one_in(12) { claim(rng, size) } else { size };
        let start = i64::try_from(start).ok()?;
        let chunk = ColumnChunkMetaData::builder(column)
            .set_compression(codec)
            .set_num_values(said)
            .set_data_page_offset(if rng.one_in(20) { claim(rng, start) } else { start })
            .set_total_compressed_size(compressed)
            .set_total_uncompressed_size(claim(rng, size))
            .set_unencoded_byte_array_data_bytes(rng.one_in(3).then(|| claim(rng, size)));
        chunks.push(chunk.build().ok()?);
    }
    let rows = if rng.one_in(4) { claimed_rows(rng, rows) } else { rows };
    let group = RowGroupMetaData::builder(Arc::clone(&schema))
        .set_num_rows(rows)
        .set_total_byte_size(claimed_rows(rng, 1000))
        .set_column_metadata(chunks)
        .build()
        .ok()?;
    let file = FileMetaData::new(2, claim(rng, rows), None, None, schema, None);
    ParquetMetaDataWriter::new(&mut bytes, &ParquetMetaData::new(file, vec![group]))
        .finish()
        .ok()?;
    Some(bytes.into())
}

/// A valid file with other numbers in its footer.
fn of_footer(rng: &mut Rng) -> Option<Bytes> {
    let whole = random::file(rng.bits()).bytes;
    if whole.len() > 200_000 {
        return None;
    }
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&whole).ok()?;
    let length = u32::from_le_bytes(*whole[..whole.len() - 4].last_chunk()?);
    let mut bytes = whole[..whole.len() - 8 - usize::try_from(length).ok()?].to_vec();
    let same = rng.one_in(2).then(|| claim(rng, 100));
    let mut groups = Vec::new();
    for group in metadata.row_groups() {
        let mut chunks = Vec::new();
        for chunk in group.columns() {
            let values = same.unwrap_or_else(|| claim(rng, chunk.num_values()));
            let sizes = (chunk.compressed_size(), chunk.uncompressed_size());
            let mut made = chunk.clone().into_builder().set_num_values(values);
            made = made.set_total_uncompressed_size(claim(rng, sizes.1));
            if rng.one_in(4) {
                made = made.set_total_compressed_size(claim(rng, sizes.0));
            }
            if rng.one_in(4) {
                made = made.set_data_page_offset(claim(rng, chunk.data_page_offset()));
            }
            if rng.one_in(4) {
                let offset = claim(rng, chunk.data_page_offset());
                made = made.set_dictionary_page_offset(Some(offset));
            }
            if rng.one_in(3) {
                let index = claim(rng, chunk.offset_index_offset().unwrap_or(4));
                made = made.set_offset_index_offset(Some(index));
                let length = i32::try_from(claim(rng, 40)).unwrap_or(i32::MAX);
                made = made.set_offset_index_length(Some(length));
                made =
                    made.set_column_index_offset(Some(index)).set_column_index_length(Some(length));
            }
            if rng.one_in(3) {
                made = made.set_bloom_filter_offset(Some(claim(rng, 4)));
                made = made.set_bloom_filter_length(i32::try_from(claim(rng, 32)).ok());
            }
            chunks.push(made.build().ok()?);
        }
        let rows = same.map_or_else(|| claimed_rows(rng, group.num_rows()), within);
        let made = group.clone().into_builder().set_num_rows(rows).set_column_metadata(chunks);
        groups.push(made.build().ok()?);
    }
    let metadata = ParquetMetaData::new(metadata.file_metadata().clone(), groups);
    ParquetMetaDataWriter::new(&mut bytes, &metadata).finish().ok()?;
    Some(bytes.into())
}

/// The file of a seed.
#[must_use]
pub fn claiming_file(seed: u64) -> Bytes {
    let rng = &mut Rng::new(seed ^ 0xC1A1);
    loop {
        let made = if rng.one_in(4) { of_footer(rng) } else { of_pages(rng) };
        if let Some(bytes) = made {
            return bytes;
        }
    }
}
