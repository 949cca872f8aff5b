// SPDX-License-Identifier: Apache-2.0
//! Random rows of random schemas are read back as they were, by the `parquet` crate and by us.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Date64Array, DictionaryArray, FixedSizeListArray, Int64Array, ListArray,
    ListViewArray, NullArray, RecordBatch, RecordBatchOptions, StringArray, StringViewArray,
    StructArray, Time32SecondArray, TimestampSecondArray,
    builder::{ListBuilder, StringBuilder},
    types::{Int8Type, Int32Type},
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema};
use arrowsmith_parquet_writer::{Encoding, Options, ParquetWriter};
use arrowsmith_testkit::parquet::random::file;
use arrowsmith_testkit::parquet::{
    Ask, ByEngine, ParquetRs, Reader, as_stored, difference, properties,
};
use arrowsmith_testkit::random::Rng;
use arrowsmith_testkit::{engines, scale};
use bytes::Bytes;
use parquet::file::metadata::ParquetMetaDataReader;

use crate::settings;

/// What a reader reads, compared with the rows.
pub fn check(reader: &dyn Reader, file: &Bytes, rows: &RecordBatch) -> Result<(), String> {
    let name = reader.name();
    let found = reader.read(file, &Ask::default()).and_then(|rows| rows.concat());
    let found = found.map_err(|error| format!("{name}: {error}"))?;
    match difference(&found, &as_stored(rows).unwrap()) {
        None => Ok(()),
        Some(text) => Err(format!("{name}: {text}")),
    }
}

fn check_both(file: &Bytes, rows: &RecordBatch) -> Result<(), String> {
    let cpu = engines::cpu();
    let ours = check(&ByEngine(cpu.as_ref()), file, rows);
    match (check(&ParquetRs, file, rows), ours) {
        // Version 59.3 cannot read such a file of its own writer either, if pages are as short:
        // structs in lists with a required child. pyarrow and DuckDB read it.
        (Err(theirs), Ok(())) if theirs.contains("nulls not present in parent") => Ok(()),
        (Err(theirs), ours) => Err(format!("{theirs}; we: {ours:?}")),
        (Ok(()), ours) => ours,
    }
}

fn check_seed(seed: u64) -> Result<(), String> {
    let rows = file(seed).rows;
    let rng = &mut Rng::new(seed ^ 0x31);
    let mut options = settings::options(rng, rows.schema_ref());
    // Pages of one row are slow to read.
    if rows.num_rows() > 3_000 {
        options.page_rows = options.page_rows.max(100);
        options.page_bytes = options.page_bytes.max(3_000);
        options.row_group_rows = options.row_group_rows.max(300);
        options.row_group_bytes = options.row_group_bytes.max(100_000);
    }
    let told = |error: String| format!("seed {seed}: {error}\n{options:?}\n{:?}", rows.schema());
    let pieces = rng.clone();
    let file = settings::write(rng, &rows, &options).map_err(told)?;
    check_both(&file, &rows).map_err(told)?;
    // The page index leads to the same rows.
    if seed.is_multiple_of(4) {
        let cpu = engines::cpu();
        let rows = as_stored(&rows).unwrap();
        properties::check_file(&ByEngine(cpu.as_ref()), &file, &rows, seed).map_err(told)?;
    }
    let other = Options { threads: 1 + options.threads % 3, ..options.clone() };
    let again = settings::write(&mut pieces.clone(), &rows, &other).map_err(told)?;
    if again != file {
        return Err(told(format!("another file with {} threads", other.threads)));
    }
    Ok(())
}

#[test]
fn random_rows_are_read_back() {
    let seeds = scale::number("ARROWSMITH_SEEDS", 200, 10_000);
    let failures: Vec<String> = (0..seeds).filter_map(|seed| check_seed(seed).err()).collect();
    assert!(failures.is_empty(), "{} of {seeds}: {}", failures.len(), failures.join("\n"));
}

fn round_trip(rows: &RecordBatch, options: &Options) {
    let mut writer = ParquetWriter::try_new(Vec::new(), rows.schema(), options.clone()).unwrap();
    writer.write(rows).unwrap();
    let (_, file) = writer.close().unwrap();
    check_both(&file.into(), rows).unwrap();
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

/// A dictionary that grows too large is given up in the middle of a chunk.
#[test]
fn dictionaries_are_given_up() {
    let options = Options { page_rows: 1_000, dictionary_bytes: 20_000, ..Options::default() };
    let few = (0..5_000).map(|i| format!("value {}", i % 50));
    let many = (0..20_000).map(|i| format!("value {i}"));
    let texts = StringArray::from_iter_values(few.chain(many));
    let numbers = Int64Array::from_iter_values(
        (0..25_000).map(|i| if i < 5_000 { i % 40 * 1_000_003 } else { i * 7_919_999_999 }),
    );
    let rows = batch(vec![("texts", Arc::new(texts)), ("numbers", Arc::new(numbers))]);
    round_trip(&rows, &options);
    let forced = [("texts", Encoding::Dictionary), ("numbers", Encoding::Dictionary)];
    let encodings = forced.map(|(name, encoding)| (name.to_owned(), encoding)).into();
    round_trip(&rows, &Options { encodings, ..options });
}

/// Dictionary arrays, with nulls among keys and values, keep their values where batches have
/// different dictionaries.
#[test]
fn dictionary_arrays_are_translated() {
    let options = Options { page_rows: 100, ..Options::default() };
    let mut parts = Vec::new();
    for part in 0..5_usize {
        let values = StringArray::from_iter(
            (0..20).map(|i| (i % 7 != 3).then(|| format!("text {}", i * (part + 1)))),
        );
        let keys = arrow_array::Int8Array::from_iter(
            (0..150_u8).map(|i| (i % 11 != 0).then_some((i % 20) as i8)),
        );
        let array = DictionaryArray::<Int8Type>::try_new(keys, Arc::new(values)).unwrap();
        let numbers = DictionaryArray::<Int32Type>::new(
            (0..150).map(|i| (i * i) % 10).collect::<Vec<i32>>().into(),
            Arc::new(Int64Array::from_iter_values((0..10).map(|i| i << part))),
        );
        parts.push(batch(vec![("texts", Arc::new(array)), ("numbers", Arc::new(numbers))]));
    }
    let mut writer = ParquetWriter::try_new(Vec::new(), parts[0].schema(), options).unwrap();
    parts.iter().for_each(|part| writer.write(part).unwrap());
    let file: Bytes = writer.close().unwrap().1.into();
    let plain: Vec<RecordBatch> = parts.iter().map(without_dictionaries).collect();
    let expected = arrow_select::concat::concat_batches(plain[0].schema_ref(), &plain).unwrap();
    let cpu = engines::cpu();
    for reader in [&ParquetRs as &dyn Reader, &ByEngine(cpu.as_ref())] {
        let found = reader.read(&file, &Ask::default()).unwrap();
        let found: Vec<RecordBatch> = found.batches.iter().map(without_dictionaries).collect();
        let found = arrow_select::concat::concat_batches(plain[0].schema_ref(), &found).unwrap();
        assert_eq!(difference(&found, &expected), None);
    }
}

/// Each batch has few values, the file more than keys of 8 bits can number: readers make one
/// dictionary of them.
#[test]
fn dictionaries_have_keys_for_all_values_of_the_file() {
    for (parts, kind) in [(1, DataType::Int8), (2, DataType::Int32)] {
        let mut batches = Vec::new();
        for part in 0..parts {
            let texts = StringArray::from_iter_values((0..100).map(|i| format!("{part}, {i}")));
            let keys = arrow_array::Int8Array::from_iter_values(0..100);
            let texts = DictionaryArray::<Int8Type>::try_new(keys, Arc::new(texts)).unwrap();
            batches.push(batch(vec![("n", Arc::new(NullArray::new(100))), ("d", Arc::new(texts))]));
        }
        let schema = batches[0].schema();
        for encodings in [[].into(), [("d".to_owned(), Encoding::Plain)].into()] {
            let options = Options { encodings, ..Options::default() };
            let mut writer =
                ParquetWriter::try_new(Vec::new(), Arc::clone(&schema), options).unwrap();
            batches.iter().for_each(|batch| writer.write(batch).unwrap());
            let file: Bytes = writer.close().unwrap().1.into();
            let cpu = engines::cpu();
            for reader in [&ParquetRs as &dyn Reader, &ByEngine(cpu.as_ref())] {
                let found = reader.read(&file, &Ask::default()).unwrap();
                let values = Box::new(DataType::Utf8);
                let expected = DataType::Dictionary(Box::new(kind.clone()), values);
                assert_eq!(found.batches[0].schema().field(1).data_type(), &expected);
                let count = |batch: &RecordBatch| {
                    arrow_cast::cast(batch.column(1), &DataType::Utf8).unwrap().len()
                };
                assert_eq!(found.batches.iter().map(count).sum::<usize>(), parts * 100);
            }
        }
    }
}

fn without_dictionaries(rows: &RecordBatch) -> RecordBatch {
    let schema = rows.schema();
    let columns = schema.fields().iter().zip(rows.columns()).map(|(field, column)| {
        let DataType::Dictionary(_, kind) = field.data_type() else { unreachable!() };
        (field.name().clone(), arrow_cast::cast(column, kind).unwrap())
    });
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
        .unwrap()
}

/// Values beneath nulls are not stored, wherever the null is.
#[test]
fn values_beneath_nulls_are_not_stored() {
    let nulls = |every: usize, len| {
        Some(NullBuffer::from((0..len).map(|i| i % every != 1).collect::<Vec<bool>>()))
    };
    let texts = StringArray::new(
        OffsetBuffer::from_lengths((0..60).map(|i| i % 5)),
        "abcde".repeat(24).into_bytes().into(),
        nulls(3, 60),
    );
    let item = Arc::new(Field::new("item", DataType::Utf8, true));
    // Lists that are null have items here.
    let lists = ListArray::new(
        Arc::clone(&item),
        OffsetBuffer::from_lengths([7, 0, 13, 20, 20]),
        Arc::new(texts.clone()),
        Some(vec![true, true, false, true, true].into()),
    );
    let fixed = FixedSizeListArray::new(
        Arc::clone(&item),
        12,
        Arc::new(texts.clone()),
        Some(vec![true, false, true, false, true].into()),
    );
    let inner = StructArray::from(vec![
        (Arc::new(Field::new("a", DataType::Utf8, true)), Arc::new(texts.slice(3, 5)) as ArrayRef),
        (Arc::new(Field::new("l", lists.data_type().clone(), true)), Arc::new(lists.clone())),
    ]);
    let structs = StructArray::new(
        inner.fields().clone(),
        inner.columns().to_vec(),
        Some(vec![true, false, true, true, false].into()),
    );
    let rows = batch(vec![
        ("lists", Arc::new(lists)),
        ("fixed", Arc::new(fixed)),
        ("structs", Arc::new(structs)),
    ]);
    round_trip(&rows, &Options::default());
    round_trip(&rows.slice(1, 3), &Options { page_rows: 2, ..Options::default() });
}

/// The names in the file are those of the format; we return those that Arrow had.
#[test]
fn parts_of_lists_and_maps_have_the_names_of_the_format() {
    let field = |name: &str, data_type| Arc::new(Field::new(name, data_type, true));
    let list = DataType::List(field("bag", DataType::LargeList(field("item", DataType::Int64))));
    let pair = vec![Field::new("k", DataType::Utf8, false), Field::new("v", list, true)];
    let pair = Field::new("pairs", DataType::Struct(pair.into()), false);
    let map = DataType::Map(Arc::new(pair), false);
    let column = arrow_array::new_null_array(&map, 3);
    let rows = batch(vec![("m", column)]);
    let mut writer = ParquetWriter::try_new(Vec::new(), rows.schema(), Options::default()).unwrap();
    writer.write(&rows).unwrap();
    let file: Bytes = writer.close().unwrap().1.into();
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&file).unwrap();
    let columns = metadata.file_metadata().schema_descr().columns().to_vec();
    let paths: Vec<_> = columns.iter().map(|column| column.path().string()).collect();
    assert_eq!(paths, ["m.key_value.key", "m.key_value.value.list.element.list.element"]);
    let found = ByEngine(engines::cpu().as_ref()).read(&file, &Ask::default()).unwrap();
    assert_eq!(found.concat().unwrap().schema(), rows.schema());
}

/// List views, of which items are in any order and used more than once.
#[test]
fn list_views_are_written_as_lists() {
    let item = Arc::new(Field::new("item", DataType::Int64, true));
    let views = ListViewArray::new(
        Arc::clone(&item),
        ScalarBuffer::from(vec![5, 0, 2, 9, 1]),
        ScalarBuffer::from(vec![3, 0, 4, 1, 7]),
        Arc::new(Int64Array::from_iter((0..10).map(|i| (i % 4 != 0).then_some(i)))),
        Some(vec![true, true, false, true, true].into()),
    );
    let rows = batch(vec![("views", Arc::new(views.clone()))]);
    let mut writer = ParquetWriter::try_new(Vec::new(), rows.schema(), Options::default()).unwrap();
    writer.write(&rows).unwrap();
    let file: Bytes = writer.close().unwrap().1.into();
    for reader in [&ParquetRs as &dyn Reader, &ByEngine(engines::cpu().as_ref())] {
        let found = reader.read(&file, &Ask::default()).unwrap().concat().unwrap();
        let list = DataType::List(Arc::clone(&item));
        let found = arrow_cast::cast(found.column(0), &list).unwrap();
        let expected = arrow_cast::cast(&(Arc::new(views.clone()) as ArrayRef), &list).unwrap();
        assert_eq!(found.to_data(), expected.to_data(), "{}", reader.name());
    }
}

/// Units that Parquet does not have are stored in those that it has, so that readers that do not
/// know Arrow's schema read times, not integers.
#[test]
fn times_have_logical_types() {
    let days = [Some(-1), None, Some(19_000)];
    let seconds = TimestampSecondArray::from(days.map(|day| Some(day? * 86_400 + 5)).to_vec());
    let keys = arrow_array::Int8Array::from(vec![Some(2), None, Some(0)]);
    let few = DictionaryArray::<Int8Type>::try_new(keys, Arc::new(seconds.clone())).unwrap();
    let dates = Date64Array::from(days.map(|day| Some(day? * 86_400_000)).to_vec());
    let clock = Time32SecondArray::from(vec![Some(0), None, Some(86_399)]);
    let rows = batch(vec![
        ("seconds", Arc::new(seconds.clone())),
        ("utc", Arc::new(seconds.with_timezone("UTC"))),
        ("few", Arc::new(few)),
        ("dates", Arc::new(dates)),
        ("clock", Arc::new(clock)),
    ]);
    let mut writer = ParquetWriter::try_new(Vec::new(), rows.schema(), Options::default()).unwrap();
    writer.write(&rows).unwrap();
    let file: Bytes = writer.close().unwrap().1.into();
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&file).unwrap();
    let columns = metadata.file_metadata().schema_descr().columns().to_vec();
    let logical = columns.iter().map(|column| format!("{:?}", column.logical_type_ref().unwrap()));
    let names = ["Timestamp", "Timestamp", "Timestamp", "Date", "Time"];
    for (found, expected) in logical.zip(names) {
        assert!(found.starts_with(expected), "{found}");
    }
    for reader in [&ParquetRs as &dyn Reader, &ByEngine(engines::cpu().as_ref())] {
        let found = reader.read(&file, &Ask::default()).unwrap().concat().unwrap();
        for (found, given) in found.columns().iter().zip(rows.columns()) {
            let found = arrow_cast::cast(found, given.data_type()).unwrap();
            assert_eq!(&found, given, "{}", reader.name());
        }
    }
}

#[test]
fn columns_of_nulls_are_read_back() {
    let rows = batch(vec![("nulls", Arc::new(NullArray::new(3)))]);
    round_trip(&rows, &Options::default());
}

/// Records without members are rows, too.
#[test]
fn a_file_without_columns_has_its_rows() {
    let options = RecordBatchOptions::new().with_row_count(Some(7));
    let schema = Arc::new(Schema::empty());
    let rows = RecordBatch::try_new_with_options(Arc::clone(&schema), vec![], &options).unwrap();
    let mut writer = ParquetWriter::try_new(Vec::new(), schema, Options::default()).unwrap();
    writer.write(&rows).unwrap();
    let file: Bytes = writer.close().unwrap().1.into();
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&file).unwrap();
    assert_eq!((metadata.file_metadata().num_rows(), metadata.row_group(0).num_rows()), (7, 7));
}

#[test]
fn a_file_without_rows_has_its_schema() {
    let rows = batch(vec![("a", Arc::new(Int64Array::from(vec![1])))]).slice(0, 0);
    round_trip(&rows, &Options::default());
}

/// Rows that are much larger than the first ones make pages of their own.
#[test]
fn pages_of_uneven_rows_stay_within_their_size() {
    let mut lists = ListBuilder::new(StringBuilder::new());
    for row in 0..2_000 {
        let items = if row % 500 == 7 { 3_000 } else { row % 3 };
        (0..items).for_each(|i| lists.values().append_value(format!("{row} and {i}")));
        lists.append(true);
    }
    let views = StringViewArray::from_iter_values(
        (0..2_000).map(|i| "v".repeat(if i == 999 { 200_000 } else { i % 30 })),
    );
    let rows = batch(vec![("l", Arc::new(lists.finish())), ("v", Arc::new(views))]);
    let options = Options { page_bytes: 10_000, ..Options::default() };
    round_trip(&rows, &options);
}
