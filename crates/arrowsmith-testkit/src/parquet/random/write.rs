// SPDX-License-Identifier: Apache-2.0
//! Writes rows with random settings of the `parquet` crate: page version, page size, row groups,
//! dictionary and its limit, encoding and codec of each column, statistics and indexes.

use std::fmt::Write;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, IntervalUnit};
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use parquet::basic::{BrotliLevel, Compression, Encoding, GzipLevel, Type, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};

use super::RandomFile;
use crate::random::Rng;

pub(super) fn write(rng: &mut Rng, rows: RecordBatch) -> RandomFile {
    let mut how = String::new();
    let properties = properties(rng, &rows, &mut how);
    // Without the Arrow schema, intervals of months cannot be represented, and are refused.
    let months = rows.schema_ref().fields().iter().any(|field| has_months(field.data_type()));
    let skip_arrow_metadata = rng.one_in(3) && !months;
    let _ = write!(how, " no-arrow-schema={skip_arrow_metadata}");
    let options = ArrowWriterOptions::new()
        .with_properties(properties)
        .with_skip_arrow_metadata(skip_arrow_metadata);
    let writer = ArrowWriter::try_new_with_options(Vec::new(), rows.schema(), options);
    let mut writer = writer.unwrap_or_else(|error| panic!("{error}: {:?}", rows.schema()));
    // In one piece or in several, which fill row groups together.
    let step = if rng.one_in(2) { rows.num_rows().max(1) } else { 1 + rng.below(2_000) };
    let mut start = 0;
    while start < rows.num_rows() {
        let len = step.min(rows.num_rows() - start);
        let written = writer.write(&rows.slice(start, len));
        written.unwrap_or_else(|error| panic!("{error}: {:?}", rows.schema()));
        if rng.one_in(10) {
            writer.flush().expect("memory takes it");
        }
        start += len;
    }
    let bytes = writer.into_inner().expect("memory takes it");
    RandomFile { bytes: bytes.into(), rows, how }
}

fn has_months(kind: &DataType) -> bool {
    match kind {
        DataType::Interval(unit) => *unit == IntervalUnit::YearMonth,
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => has_months(item.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_months(field.data_type())),
        _ => false,
    }
}

fn properties(rng: &mut Rng, rows: &RecordBatch, how: &mut String) -> WriterProperties {
    let version = *rng.pick(&[WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0]);
    // Tens of thousands of tiny pages show no more than hundreds, and take minutes.
    let count = rows.num_rows();
    let page = (*rng.pick(&[64, 1_000, 1_000, 20_000, 1 << 20])).max(count / 10);
    let page_rows = (*rng.pick(&[1, 7, 100, 5_000, usize::MAX])).max(count / 300);
    let group = (*rng.pick(&[10, 150, 1_000, 1 << 20, 1 << 20])).max(count / 50);
    let batch = *rng.pick(&[1, 16, 64, 1_024]);
    let statistics =
        *rng.pick(&[EnabledStatistics::None, EnabledStatistics::Chunk, EnabledStatistics::Page]);
    let dictionary_page = *rng.pick(&[32, 500, 1 << 20]);
    let _ = write!(
        how,
        "{version:?} page={page} page-rows={page_rows} group={group} batch={batch} \
         dictionary-page={dictionary_page} {statistics:?}"
    );
    let mut builder = WriterProperties::builder()
        .set_writer_version(version)
        .set_data_page_size_limit(page)
        .set_data_page_row_count_limit(page_rows)
        .set_max_row_group_row_count(Some(group))
        .set_write_batch_size(batch)
        .set_dictionary_page_size_limit(dictionary_page)
        .set_statistics_enabled(statistics)
        .set_write_page_header_statistics(rng.one_in(3))
        .set_offset_index_disabled(rng.one_in(4))
        .set_data_page_v2_compression_ratio_threshold(*rng.pick(&[0.5, 1.0, 10.0]))
        .set_bloom_filter_enabled(rng.one_in(3));

    let schema = ArrowSchemaConverter::new().convert(&rows.schema());
    let schema = schema.unwrap_or_else(|error| panic!("{error}: {:?}", rows.schema()));
    let one_codec = rng.one_in(2).then(|| codec(rng));
    for column in schema.columns() {
        let path = column.path();
        let codec = one_codec.unwrap_or_else(|| codec(rng));
        let dictionary = rng.one_in(2);
        let encoding = *rng.pick(encodings(column.physical_type()));
        let _ = write!(how, " {}={dictionary}/{encoding:?}/{codec:?}", path.string());
        builder = builder
            .set_column_compression(path.clone(), codec)
            .set_column_dictionary_enabled(path.clone(), dictionary)
            .set_column_encoding(path.clone(), encoding);
    }
    builder.build()
}

fn codec(rng: &mut Rng) -> Compression {
    match rng.below(9) {
        0..=2 => Compression::UNCOMPRESSED,
        3 => Compression::SNAPPY,
        4 => Compression::GZIP(GzipLevel::default()),
        5 => Compression::BROTLI(BrotliLevel::try_new(3).unwrap_or_default()),
        6 => Compression::LZ4,
        7 => Compression::LZ4_RAW,
        _ => Compression::ZSTD(ZstdLevel::default()),
    }
}

/// The encodings that the crate can write without a dictionary, or once it is full.
fn encodings(kind: Type) -> &'static [Encoding] {
    use Encoding as E;
    match kind {
        Type::BOOLEAN => &[E::PLAIN, E::RLE],
        Type::INT32 | Type::INT64 => &[E::PLAIN, E::DELTA_BINARY_PACKED, E::BYTE_STREAM_SPLIT],
        Type::FLOAT | Type::DOUBLE => &[E::PLAIN, E::BYTE_STREAM_SPLIT],
        Type::BYTE_ARRAY => &[E::PLAIN, E::DELTA_LENGTH_BYTE_ARRAY, E::DELTA_BYTE_ARRAY],
        Type::FIXED_LEN_BYTE_ARRAY => &[E::PLAIN, E::DELTA_BYTE_ARRAY, E::BYTE_STREAM_SPLIT],
        Type::INT96 => &[E::PLAIN],
    }
}
