// SPDX-License-Identifier: Apache-2.0
//! Filters over files that the `parquet` crate writes: what is pruned never held a row that
//! matches.

use std::sync::Arc;

use arrow_array::builder::{Decimal128Builder, FixedSizeBinaryBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float32Array, Float64Array, Int16Array, Int64Array,
    RecordBatch, StringArray, StructArray, TimestampMicrosecondArray, UInt32Array,
};
use arrow_schema::{DataType, Field};
use arrowsmith_core::Limits;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use proptest::prelude::*;

use crate::options::ReadOptions;
use crate::{File, Filter, Predicate, ReadPlan};

/// A column of each kind. Values grow with the row, with some noise and nulls, so that pages
/// differ.
fn batch(rows: i64, noise: &[u8]) -> RecordBatch {
    let bit = |row: i64| noise[usize::try_from(row).unwrap() % noise.len()];
    let value = |row: i64| (bit(row) % 9 != 0).then(|| row + i64::from(bit(row) % 13) - 50);
    let values: Vec<Option<i64>> = (0..rows).map(value).collect();
    let small = |value: i64| i16::try_from(value).unwrap();
    let floats = values.iter().zip(0..).map(|(value, row)| {
        value.map(|value| if bit(row) % 11 == 0 { f64::NAN } else { value as f64 / 4.0 })
    });
    let floats: Vec<Option<f64>> = floats.collect();
    let mut decimals = Decimal128Builder::new().with_precision_and_scale(20, 2).unwrap();
    let mut fixed = FixedSizeBinaryBuilder::new(8);
    for value in &values {
        decimals.append_option(value.map(i128::from));
        match value {
            Some(value) => fixed.append_value(value.to_be_bytes()).unwrap(),
            None => fixed.append_null(),
        }
    }
    let inner: ArrayRef = Arc::new(Int64Array::from(values.clone()));
    let parents = (0..rows).map(|row| bit(row) % 5 != 0).collect::<Vec<_>>();
    let structure = StructArray::try_new(
        vec![Field::new("x", DataType::Int64, true)].into(),
        vec![inner],
        Some(parents.into()),
    )
    .unwrap();
    let f32s = values.iter().map(|value| value.map(|value| f32::from(small(value)) / 40.0));
    let unsigned = |value: i64| value.cast_unsigned().to_le_bytes();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i", Arc::new(Int64Array::from(values.clone()))),
        ("h", Arc::new(values.iter().map(|v| v.map(small)).collect::<Int16Array>())),
        (
            "u",
            Arc::new(
                values
                    .iter()
                    .map(|v| v.map(|v| u32::from_le_bytes(*unsigned(v).first_chunk().unwrap())))
                    .collect::<UInt32Array>(),
            ),
        ),
        ("f", Arc::new(Float64Array::from(floats.clone()))),
        ("g", Arc::new(f32s.collect::<Float32Array>())),
        (
            "s",
            Arc::new(
                values
                    .iter()
                    .map(|v| v.map(|v| format!("{v:04} and more")))
                    .collect::<StringArray>(),
            ),
        ),
        ("b", Arc::new(values.iter().map(|v| v.map(|v| v > 20)).collect::<BooleanArray>())),
        (
            "d",
            Arc::new(
                values
                    .iter()
                    .map(|v| v.map(|v| i32::try_from(v).unwrap()))
                    .collect::<Date32Array>(),
            ),
        ),
        (
            "t",
            Arc::new(
                values
                    .iter()
                    .map(|v| v.map(|v| v * 1_000_000))
                    .collect::<TimestampMicrosecondArray>(),
            ),
        ),
        ("n", Arc::new(decimals.finish())),
        ("x", Arc::new(fixed.finish())),
        ("p", Arc::new(structure)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true)))
        .unwrap()
}

fn written(batch: &RecordBatch, page_rows: usize, bounds: usize, index: bool) -> Bytes {
    let statistics = if index { EnabledStatistics::Page } else { EnabledStatistics::Chunk };
    let properties = WriterProperties::builder()
        .set_data_page_row_count_limit(page_rows)
        .set_write_batch_size(page_rows)
        .set_max_row_group_row_count(Some(200))
        .set_statistics_enabled(statistics)
        .set_statistics_truncate_length(Some(bounds))
        .set_column_index_truncate_length(Some(bounds))
        .set_bloom_filter_enabled(true)
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes.into()
}

/// Rows that the filter keeps, and rows that pruning keeps; the first are a subset of the second.
fn check(bytes: &Bytes, text: &str) -> (usize, usize) {
    let file = File::open(bytes.clone(), &Limits::default()).unwrap();
    let plan = ReadPlan::new(&file, &ReadOptions::default()).unwrap();
    let filter = Filter::new(&Predicate::parse(text).unwrap(), &plan).unwrap();
    let (mut matched, mut left) = (0, 0);
    for row_group in 0..file.row_groups() {
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes.clone()).unwrap();
        let mut reader =
            reader.with_row_groups(vec![row_group]).with_batch_size(1 << 20).build().unwrap();
        let batch = reader.next().unwrap().unwrap();
        let mask = filter.mask(&batch).unwrap();
        let rows = filter.prune(&file, row_group).unwrap();
        left += rows.rows();
        for row in mask.set_indices() {
            matched += 1;
            assert!(
                rows.ranges().iter().any(|range| range.contains(&row)),
                "{text}: row {row} of group {row_group} matches, pruned to {rows:?}"
            );
        }
        let end = rows.ranges().last().map_or(0, |range| range.end);
        assert!(end <= batch.num_rows());
    }
    (matched, left)
}

fn condition() -> impl Strategy<Value = String> {
    let operator = prop::sample::select(vec!["=", "!=", "<", "<=", ">", ">="]);
    let literal = (-80..700_i32, 0..4_u8);
    let compare = (
        prop::sample::select(vec!["i", "h", "u", "f", "g", "s", "b", "d", "t", "n", "x", "p.x"]),
        operator,
        literal,
    )
        .prop_map(|(column, operator, (value, quarter))| {
            let literal = match column {
                "s" => format!("'{value:04}{}'", if quarter == 0 { " and more" } else { "" }),
                "b" => (value > 0).to_string(),
                "d" | "t" => format!("'1970-0{}-0{}'", quarter + 1, value.unsigned_abs() % 9 + 1),
                "x" => format!("x'00000000{:08x}'", value.unsigned_abs()),
                _ if quarter == 0 => value.to_string(),
                _ => format!("{value}.{}", u32::from(quarter) * 25),
            };
            format!("{column} {operator} {literal}")
        });
    let null =
        prop::sample::select(vec!["i", "s", "p", "p.x", "f"]).prop_map(|c| format!("{c} is null"));
    let within = (-80..700_i32, -80..700_i32).prop_map(|(a, b)| format!("i in ({a}, {b})"));
    prop_oneof![8 => compare, 1 => null, 1 => within].prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..3)
                .prop_map(|all| format!("({})", all.join(" and "))),
            prop::collection::vec(inner.clone(), 1..3)
                .prop_map(|all| format!("({})", all.join(" or "))),
            inner.prop_map(|one| format!("not ({one})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_row_that_matches_is_pruned(
        noise in prop::collection::vec(any::<u8>(), 1..300),
        page_rows in 1..80_usize,
        bounds in 1..12_usize,
        index in any::<bool>(),
        conditions in prop::collection::vec(condition(), 1..12),
    ) {
        let bytes = written(&batch(600, &noise), page_rows, bounds, index);
        for text in conditions {
            check(&bytes, &text);
        }
    }
}

/// Digits of a picosecond's count, and a text of as many places: seconds of a day, before or after
/// 1970.
fn instant(seconds: i64, picos: i64, places: usize) -> (String, i128) {
    let step = 10_i64.pow(u32::try_from(12 - places).unwrap());
    let picos = picos / step * step;
    let day = if seconds < 0 { "1969-12-31" } else { "1970-01-01" };
    let of_day = seconds.rem_euclid(86_400);
    let fraction = format!("{picos:012}");
    let dot = if places == 0 { "" } else { "." };
    let text = format!(
        "{day}T{:02}:{:02}:{:02}{dot}{}",
        of_day / 3600,
        of_day / 60 % 60,
        of_day % 60,
        &fraction[..places]
    );
    (text, i128::from(seconds) * 1_000_000_000_000 + i128::from(picos))
}

fn holds(comparison: &str, left: i128, right: i128) -> bool {
    match comparison {
        "=" => left == right,
        "!=" => left != right,
        "<" => left < right,
        "<=" => left <= right,
        ">" => left > right,
        _ => left >= right,
    }
}

/// Timestamps, dates and times of every unit, by columns' names, and picoseconds of a tick.
fn times(ticks: &[Option<i64>]) -> (RecordBatch, Vec<i128>) {
    use arrow_array::{
        Date64Array, Time64NanosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
        TimestampSecondArray,
    };
    let of = |scale: i64| ticks.iter().map(move |tick| tick.map(|tick| tick * scale));
    let days = ticks.iter().map(|tick| tick.map(|tick| i32::from(tick > 0)));
    let day = of(1).map(|tick| tick.map(|tick| tick.unsigned_abs().cast_signed() % 86_000));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("s", Arc::new(TimestampSecondArray::from_iter(of(1)))),
        ("ms", Arc::new(TimestampMillisecondArray::from_iter(of(1)))),
        ("us", Arc::new(TimestampMicrosecondArray::from_iter(of(1)).with_timezone("UTC"))),
        ("ns", Arc::new(TimestampNanosecondArray::from_iter(of(1)))),
        ("d", Arc::new(days.collect::<Date32Array>())),
        (
            "d64",
            Arc::new(Date64Array::from_iter(
                ticks.iter().map(|tick| tick.map(|tick| i64::from(tick > 0) * 86_400_000)),
            )),
        ),
        ("t", Arc::new(Time64NanosecondArray::from_iter(day))),
    ];
    let second = 1_000_000_000_000_i128;
    let picos = vec![
        second,
        second / 1_000,
        second / 1_000_000,
        second / 1_000_000_000,
        86_400 * second,
        second / 1_000,
        second / 1_000_000_000,
    ];
    (
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true)))
            .unwrap(),
        picos,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn times_are_compared_exactly_whatever_their_units(
        ticks in prop::collection::vec(prop::option::weighted(0.9, -3000_i64..3000), 1..60),
        literals in prop::collection::vec(
            (-2_i64..3, prop_oneof![0..4000_i64, 0..1_000_000_000_000_i64], 0..13_usize),
            1..6,
        ),
        comparison in prop::sample::select(vec!["=", "!=", "<", "<=", ">", ">="]),
    ) {
        let (batch, units) = times(&ticks);
        let bytes = written(&batch, 7, 64, true);
        for (seconds, picos, places) in literals {
            let (text, literal) = instant(seconds, picos, places);
            for (column, unit) in units.iter().enumerate() {
                let name = batch.schema().field(column).name().clone();
                let values = arrow_cast::cast(batch.column(column), &integer_of(batch.column(column).data_type())).unwrap();
                let values = arrow_cast::cast(&values, &DataType::Int64).unwrap();
                let values = values.as_primitive::<arrow_array::types::Int64Type>();
                let (text, literal) = match name.as_str() {
                    "t" => (text[11..].to_owned(), literal.rem_euclid(86_400_000_000_000_000)),
                    _ => (text.clone(), literal),
                };
                let wanted = values.iter().flatten().filter(|value| {
                    holds(comparison, i128::from(*value) * unit, literal)
                });
                let found = check(&bytes, &format!("{name} {comparison} '{text}'")).0;
                prop_assert_eq!(found, wanted.count(), "{} {} {}", name, comparison, text);
            }
        }
    }

    #[test]
    fn decimals_are_compared_exactly(
        values in prop::collection::vec(-2000_i128..2000, 1..60),
        literal in -2_000_000_i128..2_000_000,
        scale in -2_i8..4,
        places in 0..6_u32,
        comparison in prop::sample::select(vec!["=", "!=", "<", "<=", ">", ">="]),
    ) {
        let array = arrow_array::Decimal128Array::from(values.clone());
        let array: ArrayRef = Arc::new(array.with_precision_and_scale(20, scale.max(0)).unwrap());
        let batch = RecordBatch::try_from_iter([("n", array)]).unwrap();
        let bytes = written(&batch, 7, 64, true);
        let unit = 10_i128.pow(places);
        let (whole, rest) = (literal.unsigned_abs() / unit.unsigned_abs(), literal.unsigned_abs() % unit.unsigned_abs());
        let sign = if literal < 0 { "-" } else { "" };
        let fraction = match places {
            0 => String::new(),
            places => format!(".{rest:0width$}", width = usize::try_from(places).unwrap()),
        };
        let scale = u32::try_from(scale.max(0)).unwrap();
        let (left, right) = (10_i128.pow(places), 10_i128.pow(scale));
        let wanted = values.iter().filter(|value| holds(comparison, *value * left, literal * right));
        let found = check(&bytes, &format!("n {comparison} {sign}{whole}{fraction}")).0;
        prop_assert_eq!(found, wanted.count());
    }
}

/// The integer type of the same width.
fn integer_of(kind: &DataType) -> DataType {
    match kind.primitive_width() {
        Some(4) => DataType::Int32,
        _ => DataType::Int64,
    }
}

#[test]
fn floats_beyond_their_type_and_dictionaries_are_exact() {
    let values = [f32::NEG_INFINITY, f32::MIN, -0.0, 0.0, 1e-45, f32::MAX, f32::INFINITY, f32::NAN];
    let words: arrow_array::DictionaryArray<arrow_array::types::Int32Type> =
        [Some("a"), Some("b"), None, Some("a"), Some("c"), Some("b"), None, Some("a")]
            .into_iter()
            .collect();
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("x", Arc::new(Float32Array::from(values.to_vec())) as ArrayRef, true),
        ("w", Arc::new(words) as ArrayRef, true),
    ])
    .unwrap();
    let bytes = written(&batch, 20, 64, true);
    for (text, count) in [
        ("x > 1e39", 1),
        ("x >= 1e39", 1),
        ("x = 1e39", 0),
        ("x < 1e39", 6),
        ("x != 1e39", 8),
        ("x < -1e39", 1),
        ("x > -1e39", 6),
        ("x = 0", 2),
        ("x = -0.0", 2),
        ("x < 0", 2),
        ("x >= 1e-60", 3),
        ("x < 1e-60", 4),
        ("x = 1e-60", 0),
        ("not x = 0", 6),
        ("x between -1e39 and 1e39", 5),
        ("x in (1e39, 0)", 2),
        ("w = 'a'", 3),
        ("w != 'a'", 3),
        ("not w > 'a'", 3),
        ("w is null", 2),
    ] {
        assert_eq!(check(&bytes, text).0, count, "{text}");
    }
}

#[test]
fn pages_and_row_groups_without_a_match_are_left_out() {
    let bytes = written(&batch(600, &[1]), 20, 64, true);
    // Row groups of 200 rows, pages of 20, values = row - 49.
    assert_eq!(check(&bytes, "i = 10"), (1, 20));
    assert_eq!(check(&bytes, "i = 10.5"), (0, 0));
    assert_eq!(check(&bytes, "i >= 500"), (51, 60));
    assert_eq!(check(&bytes, "i < -49"), (0, 0));
    assert_eq!(check(&bytes, "i between 0 and 20 and s > '0010'"), (11, 40));
    assert_eq!(check(&bytes, "not (i > -40)"), (10, 20));
    assert_eq!(check(&bytes, "n = 0.10"), (1, 20));
    assert_eq!(check(&bytes, "n = 0.105"), (0, 0));
    assert_eq!(check(&bytes, "i is null"), (0, 0));
    assert_eq!(check(&bytes, "s = '0010 and mor'"), (0, 0));
    // NaN is equal to nothing, so that no page can be pruned for !=.
    assert_eq!(check(&bytes, "f != 1000").1, 600);
    // 4294967247 is stored as -49; the page of -9 to 10 reaches from 0 to 4294967295.
    assert_eq!(check(&bytes, "u = 4294967247"), (1, 40));
    // Without a page index only whole row groups can be pruned.
    let bytes = written(&batch(600, &[1]), 20, 64, false);
    assert_eq!(check(&bytes, "i >= 500"), (51, 200));
    // Statistics allow it, the bloom filter does not: the strings in between end otherwise.
    assert_eq!(check(&bytes, "s = '0010 and m'"), (0, 0));
}

#[test]
fn conditions_that_do_not_fit_are_refused() {
    let bytes = written(&batch(10, &[1]), 20, 64, true);
    let file = File::open(bytes, &Limits::default()).unwrap();
    let plan = ReadPlan::new(&file, &ReadOptions::default()).unwrap();
    for text in [
        "missing = 1",
        "i = 'x'",
        "s = 1",
        "b = 1",
        "d = 5",
        "d = 'no date'",
        "p = 1",
        "p.y = 1",
        "x = 1",
        "f = 'a'",
        "i = true",
        "t = 'x'",
    ] {
        let error = Filter::new(&Predicate::parse(text).unwrap(), &plan).unwrap_err().to_string();
        assert!(error.starts_with("condition: "), "{text}: {error}");
    }
    let filter = Filter::new(&Predicate::parse("p.x = 1").unwrap(), &plan).unwrap();
    let other =
        RecordBatch::try_from_iter([("a", Arc::new(Int64Array::from(vec![1])) as ArrayRef)]);
    assert!(filter.mask(&other.unwrap()).is_err());
    assert!(filter.prune(&file, 7).is_err());
}

#[test]
fn a_path_of_two_columns_is_refused() {
    let one: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let fields = vec![Field::new("b", DataType::Int64, true)].into();
    let inside = StructArray::try_new(fields, vec![Arc::clone(&one)], None).unwrap();
    let both = [("a.b", Arc::clone(&one)), ("a", Arc::new(inside)), ("a.c", one)];
    let batch = RecordBatch::try_from_iter(both).unwrap();
    let file = File::open(written(&batch, 20, 64, true), &Limits::default()).unwrap();
    let plan = ReadPlan::new(&file, &ReadOptions::default()).unwrap();
    let filter = |text: &str| Filter::new(&Predicate::parse(text).unwrap(), &plan);
    let error = filter("a.b = 1").unwrap_err().to_string();
    assert_eq!(error, "condition: a.b is the path of more than one column");
    assert!(filter("a.c = 1").is_ok());
}
