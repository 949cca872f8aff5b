// SPDX-License-Identifier: Apache-2.0
//! Totals of hand-made arrays, with nulls in difficult places.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeListArray, Float64Array, Int64Array, ListArray, StringArray,
    StructArray, UInt64Array,
};
use arrow_schema::{Field, Fields};

use super::*;

fn totals(name: &str, array: ArrayRef) -> Check {
    let mut checker = Checker::default();
    checker.add(&RecordBatch::try_from_iter([(name, array)]).unwrap()).unwrap();
    checker.finish()
}

#[test]
fn values_under_a_null_struct_do_not_count() {
    let fields = Fields::from(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("name", DataType::Utf8, true),
    ]);
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 500, -3]));
    let names: ArrayRef = Arc::new(StringArray::from(vec![Some("ab"), Some("zzz"), None]));
    let valid = NullBuffer::from(vec![true, false, true]);
    let array = StructArray::new(fields, vec![ids, names], Some(valid));
    let check = totals("user", Arc::new(array));
    assert_eq!(check.rows, 3);
    let minus_two = (-2_i64).cast_unsigned().to_string();
    assert_eq!(
        check.columns["user.id"],
        Column { n: 2, sum: Some(minus_two), ..Column::default() }
    );
    assert_eq!(check.columns["user.name"], Column { n: 1, bytes: Some(2), ..Column::default() });
}

#[test]
fn items_outside_of_valid_lists_do_not_count() {
    let lists = vec![Some(vec![Some(1), None]), None, Some(vec![]), Some(vec![Some(7)])];
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>(lists);
    let whole = totals("x", Arc::new(list.clone()));
    assert_eq!(whole.columns["x[]"], Column { n: 2, sum: Some("8".into()), ..Column::default() });
    let sliced = totals("x", Arc::new(list.slice(1, 3)));
    assert_eq!(sliced.columns["x[]"], Column { n: 1, sum: Some("7".into()), ..Column::default() });

    let item = Arc::new(Field::new("item", DataType::UInt64, false));
    let values = Arc::new(UInt64Array::from(vec![1, 2, 3, 4]));
    let valid = NullBuffer::from(vec![false, true]);
    let fixed = FixedSizeListArray::new(item, 2, values, Some(valid));
    let check = totals("x", Arc::new(fixed));
    assert_eq!(check.columns["x[]"], Column { n: 2, sum: Some("7".into()), ..Column::default() });
}

#[test]
fn batches_add_up_and_integers_wrap() {
    let mut checker = Checker::default();
    for values in [vec![u64::MAX, 1], vec![5]] {
        let array: ArrayRef = Arc::new(UInt64Array::from(values));
        checker.add(&RecordBatch::try_from_iter([("x", array)]).unwrap()).unwrap();
    }
    let check = checker.finish();
    assert_eq!((check.rows, check.columns["x"].sum.as_deref()), (3, Some("5")));
}

#[test]
fn booleans_count_what_is_true() {
    let check = totals("b", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])));
    assert_eq!(check.columns["b"], Column { n: 2, sum: Some("1".into()), ..Column::default() });
}

#[test]
fn a_type_without_totals_is_refused() {
    let array: ArrayRef = Arc::new(arrow_array::NullArray::new(1));
    let batch = RecordBatch::try_from_iter([("x", array)]).unwrap();
    assert!(Checker::default().add(&batch).unwrap_err().starts_with("x: no totals"));
}

#[test]
fn differences_are_named_and_rounding_is_none() {
    let floats = |v: f64| totals("f", Arc::new(Float64Array::from(vec![v])));
    assert_eq!(floats(1e9).difference(&floats(1e9 + 0.5)), None);
    let words = floats(1.0).difference(&floats(2.0)).unwrap();
    assert_eq!(words, "f is 1 values with the sum 1, expected 1 values with the sum 2");

    let one = totals("x", Arc::new(UInt64Array::from(vec![1])));
    let two = totals("x", Arc::new(UInt64Array::from(vec![1, 0])));
    assert_eq!(one.difference(&two).unwrap(), "1 rows instead of 2");
    let other = totals("y", Arc::new(UInt64Array::from(vec![1])));
    assert_eq!(one.difference(&other).unwrap(), "y is missing");
    let mut more = one.clone();
    more.columns.insert("z".into(), Column::default());
    assert_eq!(more.difference(&one).unwrap(), "z was not requested");
}
