// SPDX-License-Identifier: Apache-2.0
//! Complete readings: threads, batches, conditions, limits, partitions, several files, remote
//! files, malformed files.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, MapArray, RecordBatch,
    StringArray, StructArray, new_null_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat_batches;
use arrow_select::filter::{filter, filter_record_batch};
use arrowsmith_core::{Error, Limits, Result};
use arrowsmith_parquet::{Columns, Predicate, ReadOptions, RowSelection};
use arrowsmith_source::{DataFile, Input, Ranged, expand_dataset};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::{LateColumns, ParquetBatches, ParquetPipeline};

mod engines;
mod hostile;

/// `id` counts from `first`; `text` is null now and then; `even` is 0 or 1 in long runs.
fn rows(first: i64, count: i64) -> RecordBatch {
    let ids: Int64Array = (first..first + count).collect();
    let texts: StringArray = (first..first + count)
        .map(|id| (id % 7 != 3).then(|| format!("text {}", id % 50)))
        .collect();
    let runs: Int32Array = (first..first + count).map(|id| i32::from(id / 1000 % 2 == 0)).collect();
    RecordBatch::try_from_iter_with_nullable([
        ("id", Arc::new(ids) as ArrayRef, false),
        ("text", Arc::new(texts) as ArrayRef, true),
        ("run", Arc::new(runs) as ArrayRef, true),
    ])
    .unwrap()
}

fn file(batch: &RecordBatch, group_rows: usize) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group_rows))
        .set_data_page_row_count_limit(200)
        .set_write_batch_size(100)
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    // One row group at a time: given more, the writer recurses once per row group.
    for from in (0..batch.num_rows()).step_by(group_rows) {
        writer.write(&batch.slice(from, group_rows.min(batch.num_rows() - from))).unwrap();
    }
    writer.into_inner().unwrap()
}

fn builder() -> ParquetPipeline {
    ParquetPipeline::builder().engine(arrowsmith_testkit::engines::cpu())
}

fn pipeline(bytes: Vec<u8>) -> ParquetPipeline {
    builder().files([Input::bytes(bytes)])
}

fn whole(batches: ParquetBatches) -> RecordBatch {
    let schema = Arc::clone(batches.schema());
    let batches: Vec<RecordBatch> = batches.map(Result::unwrap).collect();
    assert!(batches.iter().all(|batch| batch.num_rows() > 0));
    concat_batches(&schema, &batches).unwrap()
}

fn condition(text: &str) -> Option<Predicate> {
    Some(Predicate::parse(text).unwrap())
}

fn refused(pipeline: ParquetPipeline) -> String {
    match pipeline.start() {
        Ok(_) => panic!("it was taken"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn threads_and_batches_change_nothing() {
    let wanted = rows(0, 10_000);
    let bytes = file(&wanted, 3000);
    for threads in [1, 2, 5] {
        for batch_rows in [None, Some(1), Some(777), Some(100_000)] {
            for memory in [1, 256 << 20] {
                if (batch_rows, memory) == (Some(1), 1) && threads > 1 {
                    continue;
                }
                let batches = pipeline(bytes.clone())
                    .threads(threads)
                    .batch_rows(batch_rows)
                    .limits(Limits::default().with_memory_bytes_max(memory))
                    .start()
                    .unwrap();
                assert_eq!(whole(batches), wanted, "{threads} {batch_rows:?} {memory}");
            }
        }
    }
}

#[test]
fn large_row_groups_are_cut_for_threads() {
    let count = 700_000;
    let wanted = rows(0, count).project(&[0]).unwrap();
    let bytes = file(&wanted, 1 << 20);
    let batches = pipeline(bytes.clone()).threads(2).start().unwrap();
    assert_eq!(whole(batches), wanted);
    let made = pipeline(bytes).threads(2).filter(condition("id >= 262140 and id < 600000"));
    assert_eq!(whole(made.start().unwrap()), wanted.slice(262_140, 337_860));
}

#[test]
fn conditions_are_exact() {
    let all = rows(0, 10_000);
    let bytes = file(&all, 3000);
    for (text, holds) in [
        ("id < 5", (|id| id < 5) as fn(i64) -> bool),
        ("id >= 2990 and id < 3010", |id| (2990..3010).contains(&id)),
        ("run = 1", |id| id / 1000 % 2 == 0),
        ("text is null", |id| id % 7 == 3),
        ("text = 'text 7' or id = 9999", |id| (id % 50 == 7 && id % 7 != 3) || id == 9999),
        ("not (text = 'text 7')", |id| id % 50 != 7 && id % 7 != 3),
        ("id < 0", |_| false),
    ] {
        let mask: BooleanArray = (0..10_000).map(|id| Some(holds(id))).collect();
        let wanted = filter_record_batch(&all, &mask).unwrap();
        for threads in [1, 3] {
            let made = pipeline(bytes.clone()).filter(condition(text)).threads(threads);
            assert_eq!(whole(made.batch_rows(Some(512)).start().unwrap()), wanted, "{text}");
        }
        // A column that only the condition looks at.
        let options = ReadOptions::default().with_columns(["run"]);
        let made = pipeline(bytes.clone()).filter(condition(text)).options(options);
        assert_eq!(whole(made.start().unwrap()), wanted.project(&[2]).unwrap(), "{text}");
    }
    let explained = pipeline(bytes.clone()).filter(condition("id < 5")).start().unwrap();
    assert_eq!(explained.explanation().row_groups, (4, 1));
    let error = refused(pipeline(bytes).filter(condition("nothing = 1")));
    assert!(error.contains("nothing"), "{error}");
}

#[test]
fn limits_and_row_groups() {
    let all = rows(0, 10_000);
    let bytes = file(&all, 3000);
    for limit in [0, 1, 2999, 3001, 10_000, 20_000] {
        for threads in [1, 2] {
            let made = pipeline(bytes.clone()).limit(Some(limit)).threads(threads);
            let count = usize::try_from(limit).unwrap().min(10_000);
            assert_eq!(whole(made.start().unwrap()), all.slice(0, count));
        }
    }
    let made = pipeline(bytes.clone()).limit(Some(3)).filter(condition("id > 4000"));
    assert_eq!(whole(made.start().unwrap()), all.slice(4001, 3));
    let made = pipeline(bytes.clone()).row_groups(Some(vec![3, 1]));
    let parts = [all.slice(9000, 1000), all.slice(3000, 3000)];
    assert_eq!(whole(made.start().unwrap()), concat_batches(&all.schema(), &parts).unwrap());
    let error = refused(pipeline(bytes.clone()).row_groups(Some(vec![4])));
    assert!(error.contains("there is no 4, the file has 4"), "{error}");
    let two = builder()
        .files([Input::bytes(bytes.clone()), Input::bytes(bytes)])
        .row_groups(Some(vec![0]));
    assert!(refused(two).contains("one file only"));
    assert!(refused(builder()).contains("no file"));
}

#[test]
fn no_columns_still_have_rows() {
    let bytes = file(&rows(0, 100), 30);
    let options = ReadOptions::default().with_columns(Vec::<String>::new());
    let batches = pipeline(bytes).options(options).start().unwrap();
    let rows: usize = batches.map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 100);
}

fn put(root: &Path, name: &str, bytes: &[u8]) {
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn folders_give_columns() {
    let folder = tempfile::tempdir().unwrap();
    for (number, name) in [
        "year=2023/zone=A/0.parquet",
        "year=2024/zone=__HIVE_DEFAULT_PARTITION__/0.parquet",
        "year=2024/zone=B/0.parquet",
        "year=2024/zone=B/1.parquet",
    ]
    .into_iter()
    .enumerate()
    {
        let first = i64::try_from(number).unwrap() * 10;
        put(folder.path(), name, &file(&rows(first, 10), 4));
    }
    let read = |text: Option<&str>, columns: Option<&[&str]>| {
        let mut options = ReadOptions::default();
        if let Some(columns) = columns {
            options = options.with_columns(columns.iter().copied());
        }
        let batches = builder()
            .files(expand_dataset(folder.path(), &["parquet"]).unwrap())
            .filter(text.and_then(condition))
            .options(options)
            .threads(2)
            .start()
            .unwrap();
        whole(batches)
    };
    let all = read(None, None);
    assert_eq!(all.num_rows(), 40);
    let schema = all.schema();
    assert_eq!(schema.field(3), &Field::new("year", DataType::Int64, true));
    assert_eq!(schema.field(4), &Field::new("zone", DataType::Utf8, true));
    let ids = |batch: &RecordBatch| -> Vec<i64> {
        let ids = batch.column_by_name("id").unwrap();
        ids.as_any().downcast_ref::<Int64Array>().unwrap().values().to_vec()
    };
    // Folders in the order of their names: 2024's null zone is after B.
    let order = ids(&all);
    assert_eq!(order[..10], (0..10).collect::<Vec<_>>());
    for (text, wanted) in [
        ("year = 2023", (0..10).collect::<Vec<i64>>()),
        ("zone is null", (10..20).collect()),
        ("zone <> 'A'", (20..40).collect()),
        ("not (zone = 'A' or id = 25)", (20..25).chain(26..40).collect()),
        ("not (not (zone = 'B')) and id > 37", vec![38, 39]),
        ("year = 1999", vec![]),
        ("zone = 'A' or id = 31", (0..10).chain([31]).collect()),
    ] {
        let mut found = ids(&read(Some(text), None));
        found.sort_unstable();
        assert_eq!(found, wanted, "{text}");
    }
    let few = read(Some("year = 2023"), Some(&["zone", "id"]));
    let names: Vec<String> =
        few.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["id", "zone"]);
    let only = read(None, Some(&["year"]));
    assert_eq!((only.num_columns(), only.num_rows()), (1, 40));

    let declared = |data_type: DataType| {
        builder()
            .files(expand_dataset(folder.path(), &["parquet"]).unwrap())
            .partition_types(vec![Arc::new(Field::new("year", data_type, true))])
    };
    let batches = declared(DataType::Int16).start().unwrap();
    assert_eq!(whole(batches).column(3).data_type(), &DataType::Int16);
    assert!(refused(declared(DataType::Int8)).contains("year=2023 is not a value"), "out of range");
}

#[test]
fn files_that_differ_are_made_one_or_refused() {
    let narrow = RecordBatch::try_from_iter_with_nullable([(
        "id",
        Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef,
        false,
    )])
    .unwrap();
    let read = |second: &RecordBatch| -> Result<Vec<RecordBatch>> {
        builder()
            .files([Input::bytes(file(&rows(0, 3), 10)), Input::bytes(file(second, 10))])
            .threads(1)
            .start()?
            .collect()
    };
    let batches = read(&narrow).unwrap();
    assert_eq!(batches[1].column(0).as_ref(), &Int64Array::from(vec![1, 2]));
    assert_eq!(batches[1].column(1).null_count(), 2);
    let list = Field::new("id", DataType::new_list(DataType::Utf8, true), true);
    let schema = Arc::new(Schema::new(vec![list]));
    let other = RecordBatch::new_empty(schema);
    let error = read(&other).unwrap_err().to_string();
    assert!(error.contains("in the first file it is Int64"), "{error}");
    // What is added has a type for it.
    let fraction = Arc::new(Float64Array::from(vec![1.5])) as ArrayRef;
    let fraction = RecordBatch::try_from_iter([("id", fraction)]).unwrap();
    let error = read(&fraction).unwrap_err().to_string();
    assert!(
        error.contains("1.5 is not of type Int64") && error.contains("; --late-columns add"),
        "{error}"
    );
}

/// Fields of structs are found by name, as columns are, and not by their place.
#[test]
fn structs_that_differ_are_made_one() {
    let record = |names: [&str; 2], first: i64| -> RecordBatch {
        let field = |name: &str| Arc::new(Field::new(name, DataType::Int64, true));
        let values = |at| Arc::new(Int64Array::from(vec![first + at])) as ArrayRef;
        let fields = names.iter().zip([0, 1]).map(|(name, at)| (field(name), values(at)));
        let record: ArrayRef = Arc::new(StructArray::from(fields.collect::<Vec<_>>()));
        RecordBatch::try_from_iter([("s", record)]).unwrap()
    };
    let one = file(&record(["a", "b"], 1), 10);
    let other = file(&record(["a", "c"], 3), 10);
    let read = |late| {
        let files = [Input::bytes(one.clone()), Input::bytes(other.clone())];
        builder().files(files).late_columns(late).start().unwrap()
    };
    let refused = read(LateColumns::Error).last().unwrap().unwrap_err().to_string();
    assert!(refused.contains("column s.c is not in the first file"), "{refused}");
    let all = whole(read(LateColumns::Ignore));
    let found = all.column(0).as_any().downcast_ref::<StructArray>().unwrap();
    assert_eq!(found.column(0).as_ref(), &Int64Array::from(vec![1, 3]));
    assert_eq!(found.column(1).as_ref(), &Int64Array::from(vec![Some(2), None]));
    let all = whole(read(LateColumns::Add));
    let found = all.column(0).as_any().downcast_ref::<StructArray>().unwrap();
    assert_eq!(found.num_columns(), 3);
    assert_eq!(found.column(2).as_ref(), &Int64Array::from(vec![None, Some(4)]));
}

/// Several at a time have a share of the limit; what needs all of it is read alone.
#[test]
fn metadata_of_every_size_within_the_limit_is_read_for_late_columns() {
    let bytes = file(&rows(0, 100), 10);
    let open = |count: usize, bytes_max: usize| {
        let files = vec![bytes.clone(); count].into_iter().map(Input::bytes);
        let limits = Limits::default().with_metadata_bytes_max(bytes_max);
        builder().files(files).late_columns(LateColumns::Add).limits(limits).start()
    };
    let least = (0..30).map(|power| 1 << power).find(|most| open(1, *most).is_ok()).unwrap();
    assert_eq!(whole(open(3, least).unwrap()).num_rows(), 300);
    assert!(open(3, least / 2).err().unwrap().to_string().contains("metadata_bytes_max"));
}

/// Columns that the first file lacks are not lost, unless it is said.
#[test]
fn columns_of_later_files_are_added() {
    let batch = |columns: Vec<(&str, ArrayRef)>| RecordBatch::try_from_iter(columns).unwrap();
    let numbers = |values: [i64; 2]| Arc::new(Int64Array::from(values.to_vec())) as ArrayRef;
    let one = batch(vec![
        ("none", new_null_array(&DataType::Null, 2)),
        ("id", Arc::new(Int32Array::from(vec![1, 2]))),
    ]);
    let other = batch(vec![
        ("late", Arc::new(StringArray::from(vec!["x", "y"]))),
        ("id", numbers([3, 1 << 40])),
        ("none", numbers([5, 6])),
    ]);
    let read = |late, change: &dyn Fn(ParquetPipeline) -> ParquetPipeline| {
        let files = [Input::bytes(file(&one, 10)), Input::bytes(file(&other, 10))];
        change(builder().files(files).late_columns(late)).start()?.collect::<Result<Vec<_>>>()
    };
    let columns = |names: &'static [&str]| {
        move |builder: ParquetPipeline| {
            builder.options(ReadOptions::default().with_columns(names.iter().copied()))
        }
    };
    let texts = |batch: &RecordBatch| {
        let column = |column: &ArrayRef| {
            let texts = cast(column, &DataType::Utf8).unwrap();
            texts.as_string::<i32>().iter().map(|text| text.unwrap_or("-").to_owned()).collect()
        };
        batch.columns().iter().map(column).collect::<Vec<Vec<String>>>()
    };
    let added = |change: &dyn Fn(ParquetPipeline) -> ParquetPipeline| {
        let batches = read(LateColumns::Add, change).unwrap();
        let all = concat_batches(&batches[0].schema(), &batches).unwrap();
        let names = all.schema().fields().iter().map(|field| field.name().clone()).collect();
        (names, texts(&all))
    };
    let (names, values): (Vec<String>, _) = added(&|builder| builder);
    assert_eq!(names, ["none", "id", "late"]);
    let big = (1_i64 << 40).to_string();
    let expected = [["-", "-", "5", "6"], ["1", "2", "3", &big], ["-", "-", "x", "y"]];
    assert_eq!(values, expected);
    // Whatever is read of it, and however.
    let (names, values) = added(&columns(&["late", "none"]));
    assert_eq!(
        (names, values),
        (
            vec!["late".to_owned(), "none".to_owned()],
            vec![
                ["-", "-", "x", "y"].map(str::to_owned).to_vec(),
                ["-", "-", "5", "6"].map(str::to_owned).to_vec()
            ],
        )
    );
    let (_, values) =
        added(&|builder| builder.filter(Some(Predicate::parse("late = 'y' or id = 2").unwrap())));
    assert_eq!(values[1], ["2", &big]);
    let dictionary = |builder: ParquetPipeline| {
        let mut options = ReadOptions::default();
        options.dictionary = Columns::Paths(vec!["late".to_owned()]);
        builder.options(options)
    };
    let others = |builder: ParquetPipeline| {
        let mut options = ReadOptions::default().with_columns(["id"]);
        options.dictionary = Columns::Paths(vec!["late".to_owned()]);
        builder.options(options)
    };
    assert_eq!(read(LateColumns::Add, &others).unwrap()[1].num_columns(), 1);
    let batches = read(LateColumns::Add, &dictionary).unwrap();
    let late = batches[0].column_by_name("late").unwrap();
    assert!(matches!(late.data_type(), DataType::Dictionary(..)));

    // Text in any file is text in all, whichever is the first. Conditions compare what each stores.
    let words = batch(vec![("id", Arc::new(StringArray::from(vec!["007", "x"])) as ArrayRef)]);
    for files in [[&one, &words], [&words, &one]] {
        let read = |filter: Option<Predicate>| {
            let inputs = files.map(|batch| Input::bytes(file(batch, 10)));
            let options = ReadOptions::default().with_columns(["id"]);
            let builder = builder().files(inputs).late_columns(LateColumns::Add).options(options);
            builder.filter(filter).start()?.collect::<Result<Vec<_>>>()
        };
        let all = read(None).unwrap();
        assert!(all.iter().all(|batch| *batch.column(0).data_type() == DataType::Utf8));
        let mut found: Vec<String> = all.iter().flat_map(|batch| texts(batch).concat()).collect();
        found.sort();
        assert_eq!(found, ["007", "1", "2", "x"]);
        let error = read(Some(Predicate::parse("id = '1'").unwrap())).unwrap_err();
        assert!(error.to_string().contains("column id is Int32"), "{error}");
    }

    let refused = |late, change: &dyn Fn(ParquetPipeline) -> ParquetPipeline| {
        read(late, change).unwrap_err().to_string()
    };
    let error = refused(LateColumns::Error, &columns(&["none"]));
    assert!(error.contains("column none is Int64, in the first file it is Null"), "{error}");
    assert!(error.contains("--late-columns add"), "{error}");
    let only = |late| read(late, &columns(&["id"])).map(|batches| batches.len());
    assert!(only(LateColumns::Error).unwrap_err().to_string().contains("1099511627776"));
    let swapped = [Input::bytes(file(&other, 10)), Input::bytes(file(&one, 10))];
    assert_eq!(whole(builder().files(swapped).start().unwrap()).num_columns(), 3);
    let late = batch(vec![("id", numbers([1, 2])), ("late", numbers([1, 2]))]);
    let two = |late_columns, names: Option<&[&str]>| {
        let id = batch(vec![("id", numbers([1, 2]))]);
        let mut options = ReadOptions::default();
        options.columns = names.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        let files = [Input::bytes(file(&id, 10)), Input::bytes(file(&late, 10))];
        let builder = builder().files(files).late_columns(late_columns).options(options);
        builder.start().and_then(|batches| batches.collect::<Result<Vec<_>>>())
    };
    let error = two(LateColumns::Error, None).unwrap_err().to_string();
    assert!(error.contains("column late is not in the first file; --late-columns add"), "{error}");
    assert!(two(LateColumns::Error, Some(&["id"])).is_ok());
    assert!(two(LateColumns::Error, Some(&["late"])).is_err());
    assert_eq!(two(LateColumns::Ignore, None).unwrap()[1].num_columns(), 1);
    assert_eq!(two(LateColumns::Add, Some(&["late"])).unwrap()[0].column(0).null_count(), 2);

    let once = || Input::reader(io::Cursor::new(file(&one, 10)));
    let files = [once(), Input::bytes(file(&other, 10))];
    let error = builder().files(files).late_columns(LateColumns::Add).start().err().unwrap();
    assert!(error.to_string().contains("can be read only once"), "{error}");
}

/// What a file lacks is null in its rows, in conditions as in the batches, whichever file is first.
#[test]
fn what_a_file_lacks_is_null_as_a_dictionary() {
    let narrow = rows(9, 3).project(&[0]).unwrap();
    let read = |files: [&RecordBatch; 2], path: &str| {
        let mut options = ReadOptions::default();
        options.dictionary = Columns::Paths(vec![path.to_owned()]);
        let files = files.map(|batch| Input::bytes(file(batch, 10)));
        builder().files(files).options(options).start()
    };
    let all = whole(read([&rows(0, 9), &narrow], "text").unwrap());
    let text = all.column_by_name("text").unwrap();
    assert!(matches!(text.data_type(), DataType::Dictionary(..)));
    assert_eq!((text.len(), text.logical_null_count()), (12, 4));
    assert!(read([&narrow, &rows(0, 9)], "text").is_err());
    assert!(read([&rows(0, 9), &narrow], "other").is_err());
}

/// What may not be null in one file may be in another, in maps, too.
#[test]
fn values_that_only_later_files_have_as_null() {
    let map = |values: ArrayRef, is_nullable: bool| {
        let keys = Arc::new(StringArray::from(vec!["k"; values.len()])) as ArrayRef;
        let key = Arc::new(Field::new("key", DataType::Utf8, false));
        let value = Arc::new(Field::new("value", values.data_type().clone(), is_nullable));
        let pairs = StructArray::from(vec![(key, keys), (value, values)]);
        let entries = Arc::new(Field::new("entries", pairs.data_type().clone(), false));
        let ends = OffsetBuffer::from_lengths([1]);
        let column = Arc::new(MapArray::new(entries, ends, pairs, None, false)) as ArrayRef;
        file(&RecordBatch::try_from_iter([("m", column)]).unwrap(), 10)
    };
    let one = map(Arc::new(Int32Array::from(vec![1])), false);
    let other = map(new_null_array(&DataType::Int32, 1), true);
    let files = [Input::bytes(one), Input::bytes(other)];
    let all = whole(builder().files(files).late_columns(LateColumns::Add).start().unwrap());
    let values = all.column(0).as_map().values();
    assert_eq!(values.as_ref(), &Int32Array::from(vec![Some(1), None]));
}

/// Other processes read parts of several files, which have one schema.
#[test]
fn a_part_has_the_schema_of_all() {
    let ids = |ids: Vec<i32>| Arc::new(Int32Array::from(ids)) as ArrayRef;
    let texts = |texts: Vec<&str>| Arc::new(StringArray::from(texts)) as ArrayRef;
    let batch = |columns: Vec<(&str, ArrayRef)>| RecordBatch::try_from_iter(columns).unwrap();
    let files = [
        batch(vec![("text", texts(vec!["x"])), ("id", ids(vec![1]))]),
        batch(vec![("id", Arc::new(Int64Array::from(vec![2])) as ArrayRef)]),
        batch(vec![("late", ids(vec![7])), ("text", texts(vec!["z"]))]),
    ];
    let inputs = || files.iter().map(|batch| Input::bytes(file(batch, 10)));
    let names: [Option<&[&str]>; 4] = [None, Some(&["id"]), Some(&["late", "text"]), Some(&[])];
    for names in names {
        let mut options = ReadOptions::default();
        options.columns = names.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        for late in [LateColumns::Add, LateColumns::Ignore, LateColumns::Error] {
            let all = |options: ReadOptions| builder().files(inputs()).options(options);
            let read = |late, options: ReadOptions| all(options).late_columns(late).start();
            let schema = Arc::clone(read(late, ReadOptions::default()).unwrap().schema());
            let Ok(batches) = read(late, options.clone()) else {
                // The first file has no such column.
                assert!(late != LateColumns::Add && names.unwrap().contains(&"late"));
                continue;
            };
            let expected = Arc::clone(batches.schema());
            let expected_rows: Result<Vec<RecordBatch>> = batches.collect();
            let part = |input| {
                let part = builder().files([input]).options(options.clone()).late_columns(late);
                let part = part.schema(Some(Arc::clone(&schema))).exact_schema(true).start()?;
                assert_eq!(part.schema(), &expected, "{names:?} {late:?}");
                part.collect::<Result<Vec<RecordBatch>>>()
            };
            let parts = inputs().map(part).collect::<Result<Vec<_>>>();
            match expected_rows {
                Ok(rows) => assert_eq!(parts.unwrap().concat(), rows, "{names:?} {late:?}"),
                Err(error) => {
                    assert_eq!(parts.unwrap_err().to_string(), error.to_string());
                    assert!(late == LateColumns::Error && names.is_none());
                }
            }
        }
    }
}

#[test]
fn what_a_file_lacks_is_null_in_conditions() {
    let with_struct = |batch: RecordBatch| {
        let inner = Arc::new(Int64Array::from_iter_values(0..batch.num_rows() as i64)) as ArrayRef;
        let fields = vec![Field::new("x", DataType::Int64, true)];
        let column = StructArray::new(fields.into(), vec![inner], None);
        let mut fields = batch.schema().fields().to_vec();
        fields.push(Arc::new(Field::new("s", column.data_type().clone(), true)));
        let columns = [batch.columns(), &[Arc::new(column) as ArrayRef]].concat();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
    };
    let full = with_struct(rows(0, 9));
    let narrow = rows(9, 3).project(&[0]).unwrap();
    let read = |files: [&RecordBatch; 2], condition: Option<Predicate>, columns: &[&str]| {
        let mut options = ReadOptions::default();
        if !columns.is_empty() {
            options = options.with_columns(columns.iter().copied());
        }
        let is_narrow_first = files[0].num_columns() == 1;
        let pipeline = builder()
            .files(files.map(|batch| Input::bytes(file(batch, 10))))
            .filter(condition)
            .options(options)
            .schema(is_narrow_first.then(|| full.schema()));
        whole(pipeline.start().unwrap())
    };
    for files in [[&full, &narrow], [&narrow, &full]] {
        let all = read(files, None, &[]);
        assert_eq!((all.num_rows(), all.num_columns()), (12, 4));
        assert_eq!(all.column_by_name("text").unwrap().null_count(), 4);
        // The same rows in one file.
        let one = file(&all, 100);
        for text in [
            "text is null",
            "not text is null",
            "text = 'text 1'",
            "not text = 'text 1'",
            "text in ('text 1', 'text 2')",
            "not (text = 'text 1' or id = 2)",
            "text = 'text 1' or id > 9",
            "not (text is null and id < 10)",
            "s.x >= 3 or run = 0",
            "s.x is null",
            "not s.x > 3 and id > 0",
        ] {
            let found = read(files, condition(text), &[]);
            let expected = pipeline(one.clone()).filter(condition(text)).start().unwrap();
            assert_eq!(found.columns(), whole(expected).columns(), "{text}");
        }
        // A column that only the condition needs; a field of a struct that is not there.
        let found = read(files, condition("text is null"), &["id"]);
        assert_eq!((found.num_rows(), found.num_columns()), (4, 1));
        let found = read(files, None, &["text", "id"]);
        assert_eq!((found.num_rows(), found.num_columns()), (12, 2));
    }
    let found = read([&full, &narrow], None, &["s.x", "id"]);
    assert_eq!(found.column_by_name("s").unwrap().null_count(), 3);
    // What no file has is an error still, if the first one or the schema tells.
    let first = pipeline(file(&narrow, 10)).filter(condition("text is null"));
    assert!(refused(first).contains("no column text"));
    let other = pipeline(file(&narrow, 10)).schema(Some(full.schema()));
    assert!(refused(other.filter(condition("texts is null"))).contains("no column texts"));
}

/// A store that counts its requests.
struct Elsewhere {
    bytes: Bytes,
    requests: AtomicUsize,
    fetched: AtomicUsize,
    broken: AtomicBool,
}

impl Ranged for Elsewhere {
    fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        if self.broken.load(Ordering::Relaxed) {
            return Err(io::Error::other("the cable is cut"));
        }
        self.requests.fetch_add(ranges.len(), Ordering::Relaxed);
        let place = |at: u64| usize::try_from(at).unwrap();
        Ok(ranges
            .iter()
            .map(|range| {
                let bytes = self.bytes.slice(place(range.start)..place(range.end));
                self.fetched.fetch_add(bytes.len(), Ordering::Relaxed);
                bytes
            })
            .collect())
    }
}

#[test]
fn remote_files_are_read_in_parts() {
    let all = rows(0, 400_000);
    let bytes = Bytes::from(file(&all, 100_000));
    let remote = Arc::new(Elsewhere {
        bytes: bytes.clone(),
        requests: AtomicUsize::new(0),
        fetched: AtomicUsize::new(0),
        broken: AtomicBool::new(false),
    });
    let input = || Input::Ranged { name: Some("far".into()), ranged: remote.clone() };
    let read = |made: ParquetPipeline| whole(made.files([input()]).threads(2).start().unwrap());
    assert_eq!(read(builder()), all);
    remote.fetched.store(0, Ordering::Relaxed);
    let options = ReadOptions::default().with_columns(["run"]);
    let found = read(builder().options(options).filter(condition("id < 10")));
    assert_eq!(found.num_rows(), 10);
    assert!(remote.fetched.load(Ordering::Relaxed) < bytes.len() / 2);
    remote.broken.store(true, Ordering::Relaxed);
    let error = refused(builder().files([input()]));
    assert_eq!(error, "far: the cable is cut");
}

#[test]
fn rows_before_an_error_come_first() {
    let all = rows(0, 4000);
    let mut bytes = file(&all, 1000);
    let metadata = super::format::File::open(bytes.clone().into(), &Limits::default()).unwrap();
    let range = metadata.chunk_range(2, 0).unwrap();
    let (from, to) = (usize::try_from(range.start).unwrap(), usize::try_from(range.end).unwrap());
    bytes[from..to].fill(0xff);
    for threads in [1, 2, 4] {
        let mut batches = pipeline(bytes.clone()).threads(threads).start().unwrap();
        for number in 0..2 {
            let batch = batches.next().unwrap().unwrap();
            assert_eq!(batch, all.slice(number * 1000, 1000));
        }
        let error = batches.next().unwrap().unwrap_err();
        let place = &error.as_file().unwrap().place;
        assert_eq!((place.row_group, place.column.as_deref()), (Some(2), Some("id")));
        assert!(batches.next().is_none());
    }
}

#[test]
fn of_several_broken_columns_the_first_is_told() {
    let mut bytes = file(&rows(0, 20_000), 20_000);
    let file = SerializedFileReader::new(Bytes::from(bytes.clone())).unwrap();
    // The first column is malformed at its end, and thus found last; the others at their start.
    for (column, from_end) in [(0, true), (1, false), (2, false)] {
        let (start, len) = file.metadata().row_group(0).column(column).byte_range();
        let at = if from_end { start + len - 200 } else { start };
        bytes[usize::try_from(at).unwrap()..][..20].fill(0xFF);
    }
    let error = |threads| {
        let batches = pipeline(bytes.clone()).threads(threads).batch_rows(Some(20_000)).start();
        batches.unwrap().find_map(Result::err).unwrap().to_string()
    };
    let alone = error(1);
    assert!(alone.contains("id"), "{alone}");
    for _ in 0..20 {
        assert_eq!(error(3), alone);
    }
}

#[test]
fn memory_is_bounded_without_a_reader() {
    let all = rows(0, 300_000);
    let bytes = file(&all, 20_000);
    let limits = Limits::default().with_memory_bytes_max(1 << 20);
    let mut batches =
        pipeline(bytes).threads(3).batch_rows(Some(5000)).limits(limits).start().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    let first = batches.next().unwrap().unwrap();
    assert_eq!(first, all.slice(0, 5000));
    std::thread::sleep(std::time::Duration::from_millis(100));
    // One job for each thread may begin before the others' outputs are known.
    assert!(batches.bytes_peak() < 2 << 20, "{}", batches.bytes_peak());
    let rows: usize = batches.map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 295_000);
}

#[test]
fn row_groups_without_a_batch_do_not_stop_the_others() {
    // Within the bounds, but no row has this text.
    let all = rows(0, 20_000);
    let bytes = file(&all, 10);
    for (text, count) in [("text = 'text 15x'", 0), ("text = 'text 15x' or id = 19999", 1)] {
        for threads in [1, 2, 5] {
            let made = pipeline(bytes.clone()).threads(threads).filter(condition(text));
            assert_eq!(whole(made.start().unwrap()).num_rows(), count);
        }
    }
}

#[test]
fn batches_without_rows_do_not_stop_the_others() {
    // Rows so close that those between them are decoded too, one batch each.
    let all = rows(0, 3000);
    let bytes = file(&all, 1000);
    let chosen = (0..3000).step_by(60).map(|row| row..row + 1);
    for threads in [1, 2, 5] {
        let made = pipeline(bytes.clone())
            .threads(threads)
            .batch_rows(Some(1))
            .rows(Some(RowSelection::from_ranges(chosen.clone())));
        assert_eq!(whole(made.start().unwrap()).num_rows(), 50);
    }
}

/// Two files, the first with deleted rows in stretches of any length and place, some of them beyond
/// its end.
#[test]
fn deleted_rows_are_no_part_of_a_file() {
    let all = rows(0, 6_000);
    let mut state = 5_u64;
    let mut below = |limit: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    let cases = std::iter::repeat_with(|| {
        let (gap_max, run_max) = (1 + below(2_000), 1 + below(900));
        let (mut deleted, mut next) = (Vec::new(), 0);
        while next < 6_500 {
            let start = next + below(gap_max);
            let end = start + 1 + below(run_max);
            deleted.push(start..end);
            next = end + 1;
        }
        deleted
    });
    let cases: Vec<Vec<Range<u64>>> = cases.take(24).collect();
    let once = |range| std::iter::once(range).collect::<Vec<_>>();
    // All of it, and nothing.
    for deleted in cases.into_iter().chain([once(0..6_000), vec![], once(5_999..7_000)]) {
        let left: BooleanArray = (0..6_000_u64)
            .map(|row| Some(!deleted.iter().any(|range| range.contains(&row))))
            .collect();
        let left = filter_record_batch(&all, &left).unwrap();
        let other = rows(6_000, 10);
        let wanted = concat_batches(&all.schema(), [&left, &other]).unwrap();
        let (group_rows, threads) = (1 + below(7_000), below(5));
        let bytes = file(&all, usize::try_from(group_rows).unwrap().max(50));
        let made = || {
            let input = Input::bytes(bytes.clone());
            let first = DataFile { deleted: Some(deleted.clone().into()), ..input.into() };
            let other = Input::bytes(file(&other, 10)).into();
            builder().files([first, other]).threads(usize::try_from(threads).unwrap())
        };
        let what = format!("{group_rows} {threads} {deleted:?}");
        let wanted = wanted.columns();
        assert_eq!(whole(made().start().unwrap()).columns(), wanted, "{what}");
        let limited = whole(made().limit(Some(1_234)).start().unwrap());
        let rows = wanted[0].len().min(1_234);
        assert_eq!(limited.column(1).as_ref(), wanted[1].slice(0, rows).as_ref(), "{what}");

        let text = "run = 1 and text is not null and id >= 1500";
        let (ids, texts) = (wanted[0].as_primitive::<Int64Type>(), &wanted[1]);
        let holds = ids
            .values()
            .iter()
            .enumerate()
            .map(|(row, id)| Some(*id >= 1500 && id / 1000 % 2 == 0 && texts.is_valid(row)));
        let holds: BooleanArray = holds.collect();
        let wanted = filter(&wanted[0], &holds).unwrap();
        let found = whole(made().filter(condition(text)).start().unwrap());
        assert_eq!(found.column(0), &wanted, "{what}");
    }
}

#[test]
fn cancelling_stops() {
    let bytes = file(&rows(0, 10_000), 100);
    for threads in [1, 2] {
        let cancel = Arc::new(AtomicBool::new(false));
        let mut batches =
            pipeline(bytes.clone()).threads(threads).cancel(Arc::clone(&cancel)).start().unwrap();
        assert!(batches.next().unwrap().is_ok());
        cancel.store(true, Ordering::Relaxed);
        assert!(matches!(batches.next(), Some(Err(Error::Cancelled))));
        assert!(batches.next().is_none());
    }
}

#[test]
fn a_file_of_no_rows_has_a_schema() {
    let empty = rows(0, 0);
    let batches = pipeline(file(&empty, 10)).start().unwrap();
    assert_eq!(whole(batches), empty);
    let file: DataFile = Input::bytes(&b"PAR1 is not all there is to it PAR1"[..]).into();
    assert!(builder().files([file]).start().is_err());
}

/// Reads at most this many bytes at once.
struct Slow<R>(R, usize);

impl<R: io::Read> io::Read for Slow<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = buffer.len().min(self.1);
        self.0.read(&mut buffer[..len])
    }
}

#[test]
fn streams_are_read_as_files_are() {
    // The limit of what stays in memory is 1000 bytes here.
    for count in [1, 10, 50, 100, 300, 10_000] {
        let wanted = rows(0, count);
        let bytes = file(&wanted, 3000);
        for piece in [1, 999, usize::MAX] {
            let stream = Slow(io::Cursor::new(bytes.clone()), piece);
            let batches = builder().files([Input::reader(stream)]).start().unwrap();
            assert_eq!(whole(batches), wanted, "{count} {piece}");
        }
        let short = io::Cursor::new(bytes[..bytes.len() - 1].to_vec());
        let error = refused(builder().files([Input::reader(short)]));
        assert!(error.contains("does not end with PAR1"), "{error}");
    }
}

#[test]
fn streams_that_begin_otherwise_are_not_read_on() {
    let error = refused(builder().files([Input::reader(io::repeat(0))]));
    assert!(error.contains("does not start with PAR1"), "{error}");
    for text in ["", "P", "PAR1", "PAR1PAR1"] {
        refused(builder().files([Input::reader(io::Cursor::new(text))]));
    }
}
