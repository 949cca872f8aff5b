// SPDX-License-Identifier: Apache-2.0
//! Random options, and files written with them.

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use arrowsmith_parquet_writer::{Choice, Codec, Encoding, Options, PageVersion, ParquetWriter};
use arrowsmith_testkit::random::Rng;
use bytes::Bytes;
use parquet::arrow::ArrowSchemaConverter;
use parquet::basic::Type as Physical;

/// Encodings that a type has.
fn encodings(physical: Physical) -> &'static [Encoding] {
    use Encoding as E;
    match physical {
        Physical::BOOLEAN => &[E::Plain, E::Rle],
        Physical::INT32 | Physical::INT64 => {
            &[E::Plain, E::Dictionary, E::DeltaBinaryPacked, E::ByteStreamSplit]
        }
        Physical::BYTE_ARRAY => {
            &[E::Plain, E::Dictionary, E::DeltaLengthByteArray, E::DeltaByteArray]
        }
        Physical::FIXED_LEN_BYTE_ARRAY => {
            &[E::Plain, E::Dictionary, E::DeltaByteArray, E::ByteStreamSplit]
        }
        _ => &[E::Plain, E::Dictionary, E::ByteStreamSplit],
    }
}

/// Random options for a schema.
pub fn options(rng: &mut Rng, schema: &Schema) -> Options {
    let codecs = ["auto", "none", "snappy", "lz4", "zstd", "zstd:7", "gzip:1", "brotli:2"];
    let codec: Codec = rng.pick(&codecs).parse().unwrap();
    let mut options = Options {
        codec,
        page_version: *rng.pick(&[PageVersion::V1, PageVersion::V2]),
        page_rows: *rng.pick(&[1, 7, 100, 5_000, 20_000]),
        page_bytes: *rng.pick(&[1, 100, 3_000, 1 << 20]),
        dictionary_bytes: *rng.pick(&[0, 10, 1_000, 1 << 20]),
        row_group_rows: *rng.pick(&[10, 300, 2_000, 1 << 20]),
        row_group_bytes: *rng.pick(&[5_000, 1 << 28]),
        threads: 1 + rng.below(4),
        backlog_bytes: *rng.pick(&[1, 10_000, 1 << 25]),
        choice: *rng.pick(&[Choice::Smallest, Choice::Smallest, Choice::Compatible, Choice::Plain]),
        skip_incompressible: rng.one_in(2),
        crc: rng.one_in(2),
        statistics: !rng.one_in(8),
        statistics_bytes: *rng.pick(&[1, 4, 64]),
        ..Options::default()
    };
    let descr = ArrowSchemaConverter::new().with_coerce_types(true).convert(schema).unwrap();
    for column in descr.columns() {
        if rng.one_in(3) {
            let encoding = *rng.pick(encodings(column.physical_type()));
            options.encodings.insert(column.path().string(), encoding);
        }
        if column.physical_type() != Physical::BOOLEAN && rng.one_in(4) {
            options.bloom_filters.push(column.path().string());
        }
    }
    options
}

/// The file of rows, written in pieces of a random size.
pub fn write(rng: &mut Rng, rows: &RecordBatch, options: &Options) -> Result<Bytes, String> {
    let text = |error: arrowsmith_core::Error| error.to_string();
    let mut writer =
        ParquetWriter::try_new(Vec::new(), rows.schema(), options.clone()).map_err(text)?;
    let step = if rng.one_in(2) { rows.num_rows().max(1) } else { 1 + rng.below(2_000) };
    let mut start = 0;
    while start < rows.num_rows() {
        let len = step.min(rows.num_rows() - start);
        writer.write(&rows.slice(start, len)).map_err(text)?;
        start += len;
    }
    let (summary, file) = writer.close().map_err(text)?;
    assert_eq!(summary.rows, rows.num_rows() as u64);
    assert_eq!(summary.bytes, file.len() as u64);
    Ok(file.into())
}
