// SPDX-License-Identifier: Apache-2.0
//! Statistics, page index and size statistics, each against what is found in the values by brute
//! force.

use std::cmp::Ordering;

use arrowsmith_parquet_writer::Options;
use arrowsmith_testkit::parquet::random;
use arrowsmith_testkit::random::Rng;
use arrowsmith_testkit::scale;
use bytes::Bytes;
use parquet::basic::{BoundaryOrder, ConvertedType, LogicalType, SortOrder, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{AsBytes, DataType};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::ReadOptionsBuilder;
use parquet::schema::types::ColumnDescriptor;

use crate::settings;

/// A value in the order of its column.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
enum Key {
    Integer(i128),
    Float(f64),
    Bytes(Vec<u8>),
}

/// How values of a column are ordered; `None` for those that are not.
fn order(column: &ColumnDescriptor) -> Option<fn(&[u8]) -> Key> {
    let signed = |bytes: &[u8]| {
        let mut wide = [if bytes.last().is_some_and(|b| *b >= 128) { 255 } else { 0 }; 16];
        wide[..bytes.len()].copy_from_slice(bytes);
        Key::Integer(i128::from_le_bytes(wide))
    };
    let unsigned = |bytes: &[u8]| {
        let mut wide = [0; 16];
        wide[..bytes.len()].copy_from_slice(bytes);
        Key::Integer(i128::from_le_bytes(wide))
    };
    if column.converted_type() == ConvertedType::INTERVAL
        || column.logical_type_ref() == Some(&LogicalType::Unknown)
    {
        return None;
    }
    Some(match (column.physical_type(), column.sort_order()) {
        (Physical::BOOLEAN, _) => unsigned,
        (Physical::INT32 | Physical::INT64, SortOrder::UNSIGNED) => unsigned,
        (Physical::INT32 | Physical::INT64, _) => signed,
        (Physical::FLOAT, _) => {
            |bytes| Key::Float(f64::from(f32::from_le_bytes(bytes.try_into().unwrap())))
        }
        (Physical::DOUBLE, _) => |bytes| Key::Float(f64::from_le_bytes(bytes.try_into().unwrap())),
        _ if column.logical_type_ref() == Some(&LogicalType::Float16) => {
            |bytes| Key::Float(half::f16::from_le_bytes(bytes.try_into().unwrap()).to_f64())
        }
        (_, SortOrder::SIGNED) => |bytes| {
            let mut bytes = bytes.to_vec();
            bytes[0] ^= 0x80;
            Key::Bytes(bytes)
        },
        _ => |bytes| Key::Bytes(bytes.to_vec()),
    })
}

/// What is in some rows of a column.
#[derive(Debug, Default)]
pub struct Found {
    pub values: Vec<Vec<u8>>,
    pub def: Vec<i16>,
    pub rep: Vec<i16>,
}

impl Found {
    /// The smallest and the largest value that has an order.
    fn extremes(&self, key: fn(&[u8]) -> Key) -> Option<(&[u8], &[u8])> {
        let ordered = |v: &&Vec<u8>| key(v).partial_cmp(&key(v)).is_some();
        let less = |a: &&Vec<u8>, b: &&Vec<u8>| key(a).partial_cmp(&key(b)).unwrap();
        let min = self.values.iter().filter(ordered).min_by(less)?;
        let max = self.values.iter().filter(ordered).max_by(less)?;
        Some((min, max))
    }
}

pub fn read(reader: &mut ColumnReader, rows: usize, column: &ColumnDescriptor) -> Found {
    fn typed<T: DataType>(reader: &mut ColumnReaderImpl<T>, rows: usize, found: &mut Found) {
        let mut values = Vec::new();
        let (def, rep) = (Some(&mut found.def), Some(&mut found.rep));
        let (records, ..) = reader.read_records(rows, def, rep, &mut values).unwrap();
        assert_eq!(records, rows);
        found.values = values.iter().map(|value| value.as_bytes().to_vec()).collect();
    }
    let mut found = Found::default();
    match reader {
        ColumnReader::BoolColumnReader(reader) => typed(reader, rows, &mut found),
        ColumnReader::Int32ColumnReader(reader) => typed(reader, rows, &mut found),
        ColumnReader::Int64ColumnReader(reader) => typed(reader, rows, &mut found),
        ColumnReader::Int96ColumnReader(reader) => typed(reader, rows, &mut found),
        ColumnReader::FloatColumnReader(reader) => typed(reader, rows, &mut found),
        ColumnReader::DoubleColumnReader(reader) => typed(reader, rows, &mut found),
        ColumnReader::ByteArrayColumnReader(reader) => typed(reader, rows, &mut found),
        ColumnReader::FixedLenByteArrayColumnReader(reader) => typed(reader, rows, &mut found),
    }
    if column.max_def_level() == 0 {
        found.def = vec![0; found.values.len()];
    }
    if column.max_rep_level() == 0 {
        found.rep = vec![0; found.def.len()];
    }
    found
}

/// The bounds of a page in the column index.
fn page_bounds(index: &ColumnIndexMetaData, page: usize) -> Option<(Vec<u8>, Vec<u8>)> {
    macro_rules! of {
        ($index:expr) => {
            Some((
                $index.min_value(page)?.as_bytes().to_vec(),
                $index.max_value(page)?.as_bytes().to_vec(),
            ))
        };
    }
    match index {
        ColumnIndexMetaData::BOOLEAN(index) => of!(index),
        ColumnIndexMetaData::INT32(index) => of!(index),
        ColumnIndexMetaData::INT64(index) => of!(index),
        ColumnIndexMetaData::FLOAT(index) => of!(index),
        ColumnIndexMetaData::DOUBLE(index) => of!(index),
        ColumnIndexMetaData::BYTE_ARRAY(index) => of!(index),
        ColumnIndexMetaData::FIXED_LEN_BYTE_ARRAY(index) => of!(index),
        _ => None,
    }
}

fn histogram(levels: &[i16], max: i16) -> Vec<i64> {
    (0..=max).map(|level| levels.iter().filter(|l| **l == level).count() as i64).collect()
}

/// Checks bounds against the extremes of values; `exact` if they say that they are values.
fn check_bounds(
    bounds: (&[u8], &[u8]),
    exact: Option<(bool, bool)>,
    found: &Found,
    key: fn(&[u8]) -> Key,
    most: usize,
) -> Result<(), String> {
    let told = |text: &str| Err(format!("{text}: {bounds:?} of {:?}", found.extremes(key)));
    let Some((min, max)) = found.extremes(key) else { return told("bounds of no values") };
    let (low, high) = (key(bounds.0), key(bounds.1));
    if low > key(min) || high < key(max) {
        return told("a value outside");
    }
    let is_text = matches!(low, Key::Bytes(_));
    if (!is_text || min.len() <= most) && low != key(min)
        || (!is_text || max.len() <= most) && high != key(max)
    {
        return told("wider than the values");
    }
    if let Key::Float(low) = low
        && (low == 0.0 && low.is_sign_positive()
            || key(bounds.1) == Key::Float(0.0) && bounds.1[bounds.1.len() - 1] & 0x80 != 0)
    {
        return told("zero of the wrong sign");
    }
    if let Some((min_exact, max_exact)) = exact
        && (min_exact != (bounds.0 == min || !is_text)
            || max_exact != (bounds.1 == max || !is_text))
    {
        return told("exactness");
    }
    Ok(())
}

fn check_chunk(chunk: &ColumnChunkMetaData, all: &Found, options: &Options) -> Result<(), String> {
    let column = chunk.column_descr();
    let nulls = all.def.iter().filter(|def| **def < column.max_def_level()).count();
    if chunk.num_values() != all.def.len() as i64 {
        return Err(format!("{} values, not {}", chunk.num_values(), all.def.len()));
    }
    if column.physical_type() == Physical::BYTE_ARRAY {
        let bytes: usize = all.values.iter().map(Vec::len).sum();
        if chunk.unencoded_byte_array_data_bytes() != Some(bytes as i64) {
            return Err(format!("{:?} bytes", chunk.unencoded_byte_array_data_bytes()));
        }
    }
    for (found, levels, max) in [
        (chunk.definition_level_histogram(), &all.def, column.max_def_level()),
        (chunk.repetition_level_histogram(), &all.rep, column.max_rep_level()),
    ] {
        let found = found.map(|histogram| histogram.values().to_vec());
        if max > 0 && found != Some(histogram(levels, max)) {
            return Err(format!("{found:?}, not {:?}", histogram(levels, max)));
        }
    }
    let statistics = chunk.statistics().filter(|_| options.statistics);
    let Some(statistics) = statistics else {
        return if options.statistics { Err("no statistics".to_owned()) } else { Ok(()) };
    };
    if statistics.null_count_opt() != Some(nulls as u64) {
        return Err(format!("{:?} nulls, not {nulls}", statistics.null_count_opt()));
    }
    let bounds = statistics.min_bytes_opt().zip(statistics.max_bytes_opt());
    let Some(key) = order(column) else {
        return if bounds.is_none() { Ok(()) } else { Err("bounds without order".to_owned()) };
    };
    match bounds {
        Some(bounds) => {
            let exact = Some((statistics.min_is_exact(), statistics.max_is_exact()));
            check_bounds(bounds, exact, all, key, options.statistics_bytes)
        }
        None if all.extremes(key).is_none() => Ok(()),
        None => Err("no bounds".to_owned()),
    }
}

fn check_file(file: &Bytes, options: &Options) -> Result<(), String> {
    let read_options = ReadOptionsBuilder::new().with_page_index().build();
    let reader = SerializedFileReader::new_with_options(file.clone(), read_options).unwrap();
    let metadata = reader.metadata();
    for group in 0..metadata.num_row_groups() {
        let rows = metadata.row_group(group).num_rows();
        for at in 0..metadata.row_group(group).num_columns() {
            let chunk = metadata.row_group(group).column(at);
            let column = chunk.column_descr();
            let told = |error: String| format!("group {group}, column {}: {error}", column.path());
            let group_reader = reader.get_row_group(group).unwrap();
            let mut pages_reader = group_reader.get_column_reader(at).unwrap();
            let offsets = &metadata.offset_index().ok_or("no offset index")?[group][at];
            let index = metadata.column_index().map(|index| &index[group][at]);
            let index = index.filter(|index| !matches!(index, ColumnIndexMetaData::NONE));
            let mut all = Found::default();
            let mut last: Option<(Key, Key)> = None;
            let (mut ascending, mut descending) = (true, true);
            let mut unordered = false;
            let starts = offsets.page_locations();
            for page in 0..starts.len() {
                let end = starts.get(page + 1).map_or(rows, |next| next.first_row_index);
                let count = usize::try_from(end - starts[page].first_row_index).unwrap();
                if count > options.page_rows {
                    return Err(told(format!("a page of {count} rows")));
                }
                let found = read(&mut pages_reader, count, column);
                let nulls = found.def.len() - found.values.len();
                if let Some(bytes) = offsets.unencoded_byte_array_data_bytes() {
                    let sum: usize = found.values.iter().map(Vec::len).sum();
                    if bytes[page] != sum as i64 {
                        return Err(told(format!("page {page}: {} bytes", bytes[page])));
                    }
                }
                let key = order(column);
                unordered |=
                    !found.values.is_empty() && key.is_none_or(|key| found.extremes(key).is_none());
                if let (Some(index), Some(key)) = (index, key) {
                    let told = |error: String| told(format!("page {page}: {error}"));
                    if index.null_count(page) != Some(nulls as i64)
                        || index.is_null_page(page) != found.values.is_empty()
                    {
                        return Err(told("nulls".to_owned()));
                    }
                    for (levels, max, of_index) in [
                        (
                            &found.def,
                            column.max_def_level(),
                            index.definition_level_histogram(page),
                        ),
                        (
                            &found.rep,
                            column.max_rep_level(),
                            index.repetition_level_histogram(page),
                        ),
                    ] {
                        if max > 0 && of_index != Some(&histogram(levels, max)) {
                            return Err(told(format!("histogram {of_index:?}")));
                        }
                    }
                    if let Some((min, max)) = page_bounds(index, page) {
                        let most = options.statistics_bytes;
                        check_bounds((&min, &max), None, &found, key, most).map_err(told)?;
                        let both = (key(&min), key(&max));
                        if let Some(last) = &last {
                            ascending &= last.0 <= both.0 && last.1 <= both.1;
                            descending &= last.0 >= both.0 && last.1 >= both.1;
                        }
                        last = Some(both);
                    } else if !found.values.is_empty() {
                        return Err(told("no bounds".to_owned()));
                    }
                }
                all.values.extend(found.values);
                all.def.extend(found.def);
                all.rep.extend(found.rep);
            }
            if index.is_some() == (unordered || !options.statistics) {
                return Err(told(format!("index: {}", index.is_some())));
            }
            match index.and_then(ColumnIndexMetaData::get_boundary_order) {
                Some(BoundaryOrder::ASCENDING) if !ascending => {
                    return Err(told("not ascending".to_owned()));
                }
                Some(BoundaryOrder::DESCENDING) if !descending => {
                    return Err(told("not descending".to_owned()));
                }
                Some(BoundaryOrder::UNORDERED) if ascending || descending => {
                    return Err(told("ordered".to_owned()));
                }
                _ => {}
            }
            check_chunk(chunk, &all, options).map_err(told)?;
        }
    }
    Ok(())
}

#[test]
fn statistics_are_those_of_the_values() {
    let seeds = scale::number("ARROWSMITH_SEEDS", 300, 5_000);
    let mut failures = Vec::new();
    for seed in 0..seeds {
        let rows = random::file(seed).rows;
        let rng = &mut Rng::new(seed ^ 0x57A7);
        let mut options = settings::options(rng, rows.schema_ref());
        if rows.num_rows() > 1_000 {
            options.page_rows = options.page_rows.max(100);
            options.page_bytes = options.page_bytes.max(3_000);
        }
        let checked =
            settings::write(rng, &rows, &options).and_then(|file| check_file(&file, &options));
        if let Err(error) = checked {
            failures.push(format!("seed {seed}: {error}\n{options:?}\n{:?}", rows.schema()));
        }
    }
    assert!(failures.is_empty(), "{} of {seeds}: {}", failures.len(), failures.join("\n"));
}

#[test]
fn keys_are_ordered_as_numbers() {
    assert_eq!(Key::Integer(-1).partial_cmp(&Key::Integer(1)), Some(Ordering::Less));
    assert_eq!(Key::Float(f64::NAN).partial_cmp(&Key::Float(1.0)), None);
}
