// SPDX-License-Identifier: Apache-2.0
//! Sorted rows are those of a stable sort of all of them, however little memory there is.

use std::sync::{Arc, Mutex};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, DictionaryArray, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat_batches;

use super::*;

/// Keeps what it is given.
#[derive(Default, Clone)]
struct Kept(Arc<Mutex<Vec<RecordBatch>>>);

impl Sink for Kept {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        assert!(batch.num_rows() <= ROWS_MAX);
        self.0.lock().unwrap().push(batch.clone());
        Ok(())
    }

    fn bytes(&mut self) -> Result<u64> {
        Ok(0)
    }

    fn finish(self: Box<Self>) -> Result<SinkSummary> {
        Ok(SinkSummary { bytes: 7, ..SinkSummary::default() })
    }
}

/// Batches of some rows each: a key with many equal values and nulls, another, a dictionary that
/// differs from batch to batch, and the number of the row.
fn batches(rows: &[usize]) -> Vec<RecordBatch> {
    let mut number = 0_i64;
    let mut random = 1_u64;
    let mut next = move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040);
        i64::try_from(random >> 33).unwrap()
    };
    let batches = rows.iter().map(|rows| {
        let key: Int64Array = (0..*rows).map(|_| Some(next() % 50).filter(|k| *k > 3)).collect();
        let text: StringArray = (0..*rows).map(|_| Some(format!("{}", next() % 7))).collect();
        let word: DictionaryArray<Int32Type> = (0..*rows)
            .map(|_| ["a", "b", "c"].get(usize::try_from(next() % 4).unwrap()).copied())
            .collect();
        let numbers: Int64Array = (number..).take(*rows).map(Some).collect();
        number += i64::try_from(*rows).unwrap();
        RecordBatch::try_from_iter_with_nullable([
            ("key", Arc::new(key) as ArrayRef, true),
            ("text", Arc::new(text), true),
            ("word", Arc::new(word), true),
            ("number", Arc::new(numbers), true),
        ])
        .unwrap()
    });
    batches.collect()
}

fn sorted(batches: &[RecordBatch], keys: &[&str], bytes_max: usize) -> RecordBatch {
    let kept = Kept::default();
    let keys = keys.iter().map(|key| key.parse().unwrap()).collect();
    let options = SortOptions { keys, bytes_max };
    let schema = batches[0].schema();
    let mut sink = SortSink::new(Box::new(kept.clone()), &schema, &options).unwrap();
    for batch in batches {
        sink.write(batch).unwrap();
        assert!(sink.held_bytes() < bytes_max as u64);
    }
    let rows = batches.iter().map(|batch| batch.num_rows() as u64).sum();
    let expected = SinkSummary { rows, batches: batches.len() as u64, bytes: 7 };
    assert_eq!(Box::new(sink).finish().unwrap(), expected);
    let all = kept.0.lock().unwrap();
    concat_batches(&schema, all.iter()).unwrap()
}

/// The numbers of the rows, by a stable sort of the standard library.
fn expected(batches: &[RecordBatch]) -> Vec<i64> {
    let all = concat_batches(&batches[0].schema(), batches).unwrap();
    let (key, text) = (all.column(0).as_primitive::<Int64Type>(), all.column(1).as_string::<i32>());
    let mut order: Vec<usize> = (0..all.num_rows()).collect();
    let by = |row: &usize| {
        (key.is_null(*row), std::cmp::Reverse(key.is_valid(*row).then(|| key.value(*row))))
    };
    order.sort_by(|one, other| {
        by(one).cmp(&by(other)).then_with(|| text.value(*one).cmp(text.value(*other)))
    });
    order.into_iter().map(|row| i64::try_from(row).unwrap()).collect()
}

#[test]
fn the_order_is_that_of_a_stable_sort_in_any_memory() {
    let batches = batches(&[1, 0, 700, 3000, 2, 9000, 500]);
    let all = concat_batches(&batches[0].schema(), &batches).unwrap();
    let expected = expected(&batches);
    // Of the smallest there are more runs than are merged at once.
    for bytes_max in [1 << 30, 200_000, 50_000, 1_000] {
        let found = sorted(&batches, &["key desc", "text"], bytes_max);
        let numbers = found.column(3).as_primitive::<Int64Type>();
        assert_eq!(numbers.values(), &expected[..], "{bytes_max}");
        let words = found.column(2).as_dictionary::<Int32Type>();
        let words = words.downcast_dict::<StringArray>().unwrap();
        let of = all.column(2).as_dictionary::<Int32Type>().downcast_dict::<StringArray>().unwrap();
        let of: Vec<_> = of.into_iter().collect();
        for (word, number) in words.into_iter().zip(numbers.values()) {
            assert_eq!(word, of[usize::try_from(*number).unwrap()]);
        }
    }
}

/// One row at a time, so that there are many runs, and runs of runs.
#[test]
fn many_runs_become_one() {
    let batches = batches(&[1; 300]);
    let found = sorted(&batches, &["key desc", "text"], 1);
    assert_eq!(found.column(3).as_primitive::<Int64Type>().values(), &expected(&batches)[..]);
    let released = {
        let kept = Kept::default();
        let options =
            SortOptions { keys: vec!["number desc".parse().unwrap()], bytes_max: 1 << 20 };
        let mut sink =
            SortSink::new(Box::new(kept.clone()), &batches[0].schema(), &options).unwrap();
        for batch in &batches[..3] {
            sink.write(batch).unwrap();
            assert!(sink.held_bytes() > 0);
            sink.release().unwrap();
            assert_eq!(sink.held_bytes(), 0);
        }
        Box::new(sink).finish().unwrap();
        let all = kept.0.lock().unwrap();
        concat_batches(&batches[0].schema(), all.iter()).unwrap()
    };
    assert_eq!(released.column(3).as_primitive::<Int64Type>().values(), &[2, 1, 0]);
}

#[test]
fn what_has_no_order_is_refused() {
    let union = DataType::Union([].into_iter().collect(), arrow_schema::UnionMode::Dense);
    let fields = vec![Field::new("a", DataType::Int64, true), Field::new("u", union, true)];
    let schema = Arc::new(Schema::new(fields));
    let refused = |keys: Vec<SortKey>| {
        let options = SortOptions { keys, ..SortOptions::default() };
        SortSink::new(Box::new(Kept::default()), &schema, &options).err().unwrap().to_string()
    };
    assert!(refused(vec!["b".parse().unwrap()]).contains("no such column"));
    assert!(refused(vec![]).contains("name a column"));
    for text in ["", " desc"] {
        assert!(text.parse::<SortKey>().is_err() || text.trim() == "desc", "{text:?}");
    }
    let key: SortKey = " two words  DESC ".parse().unwrap();
    assert_eq!((key.column.as_str(), key.descending), ("two words", true));
    assert_eq!(key.to_string().parse::<SortKey>().unwrap(), key);
    assert_eq!("ts".parse::<SortKey>().unwrap().to_string(), "ts");
}
