// SPDX-License-Identifier: Apache-2.0
//! The types of results: those that drivers know. Dictionaries become their values and string views
//! strings, at any depth: the JDBC driver shows the keys of dictionaries, and cannot list the
//! columns of tables with views.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, FieldRef, Fields, SchemaRef};
use datafusion::arrow::compute::cast;
use datafusion::common::{DataFusionError, Result};

use crate::budget::{Budget, hold};
use crate::growth::{self, lengths};

/// Approximate maximum size of the values that are copied for one batch, in bytes.
const PART_BYTES: u64 = 16 << 20;

/// Maximum size of the values of one row, in bytes: offsets have 32 bits.
const ROW_BYTES_MAX: u64 = 1 << 30;

/// The type that a column of this type has in a result.
pub(crate) fn data_type(of: &DataType) -> DataType {
    match of {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, values) => data_type(values),
        DataType::List(item) => DataType::List(field(item)),
        DataType::LargeList(item) => DataType::LargeList(field(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(field(item), *size),
        DataType::Struct(parts) => DataType::Struct(fields(parts)),
        DataType::Map(entries, sorted) => DataType::Map(field(entries), *sorted),
        other => other.clone(),
    }
}

fn field(of: &FieldRef) -> FieldRef {
    let found = data_type(of.data_type());
    match found == *of.data_type() {
        true => Arc::clone(of),
        false => Arc::new(Field::clone(of).with_data_type(found)),
    }
}

/// Columns as they are in a result.
pub(crate) fn fields(of: &Fields) -> Fields {
    of.iter().map(field).collect()
}

/// A batch as its schema in a result demands, in parts where its values would become too large.
///
/// # Errors
/// Of each part: memory that the query does not have, a row that is too large.
pub(crate) fn parts(
    batch: RecordBatch,
    schema: SchemaRef,
    budget: Budget,
) -> impl Iterator<Item = Result<RecordBatch>> {
    let mut left = vec![batch];
    std::iter::from_fn(move || {
        let mut part = left.pop()?;
        let changed = |part: &RecordBatch| {
            let columns = part.columns().iter().zip(schema.fields());
            let changed = columns.filter(|(column, field)| column.data_type() != field.data_type());
            changed.fold(0, |sum: u64, (column, _)| sum.saturating_add(size(column)))
        };
        let mut bytes = changed(&part);
        while bytes > PART_BYTES && part.num_rows() > 1 {
            let half = part.num_rows() / 2;
            left.push(part.slice(half, part.num_rows() - half));
            part = part.slice(0, half);
            bytes = changed(&part);
        }
        if bytes > ROW_BYTES_MAX {
            let why = format!("a row of {bytes} bytes, of {ROW_BYTES_MAX} at most");
            return Some(Err(DataFusionError::ResourcesExhausted(why)));
        }
        Some(plain(&part, &schema, &budget))
    })
}

fn plain(batch: &RecordBatch, schema: &SchemaRef, budget: &Budget) -> Result<RecordBatch> {
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| {
        if column.data_type() == field.data_type() {
            return Ok(Arc::clone(column));
        }
        let offsets = 8 * growth::leaves(column);
        let reservation = budget.reserve("a result", size(column).saturating_add(offsets))?;
        hold(cast(column, field.data_type())?, reservation)
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// Upper bound of the bytes of a column's values without dictionaries and views; what has neither
/// does not count, as it is not copied.
fn size(array: &ArrayRef) -> u64 {
    let part = |values: &ArrayRef, first: usize, last: usize| {
        size(&values.slice(first, last.saturating_sub(first)))
    };
    match array.data_type() {
        DataType::Utf8View | DataType::BinaryView => {
            lengths(array).map_or(0, |all| all.into_iter().fold(0, u64::saturating_add))
        }
        DataType::Dictionary(..) => of_dictionary(array),
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let (first, last) = growth::ends(list.offsets());
            part(list.values(), first, last)
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let (first, last) = growth::ends(list.offsets());
            part(list.values(), first, last)
        }
        // Its values are sliced with it.
        DataType::FixedSizeList(..) => size(array.as_fixed_size_list().values()),
        DataType::Map(..) => {
            let map = array.as_map();
            let (first, last) = growth::ends(map.offsets());
            let columns = map.entries().columns();
            columns.iter().fold(0, |sum: u64, column| sum.saturating_add(part(column, first, last)))
        }
        DataType::Struct(_) => {
            let columns = array.as_struct().columns();
            columns.iter().fold(0, |sum: u64, column| sum.saturating_add(size(column)))
        }
        _ => 0,
    }
}

fn of_dictionary(array: &ArrayRef) -> u64 {
    let dictionary = array.as_any_dictionary();
    let values = dictionary.values();
    if values.is_empty() {
        return 0;
    }
    let rows = array.len() as u64;
    // Only of the values that are used: a dictionary may be much longer than a batch.
    let sum = |length: &dyn Fn(usize) -> u64| {
        dictionary.normalized_keys().into_iter().map(length).fold(0, u64::saturating_add)
    };
    match values.data_type() {
        DataType::Utf8 => {
            let values = values.as_string::<i32>();
            sum(&|key| values.value_length(key).unsigned_abs().into())
        }
        DataType::LargeUtf8 => {
            let values = values.as_string::<i64>();
            sum(&|key| values.value_length(key).unsigned_abs())
        }
        DataType::Binary => {
            let values = values.as_binary::<i32>();
            sum(&|key| values.value_length(key).unsigned_abs().into())
        }
        DataType::LargeBinary => {
            let values = values.as_binary::<i64>();
            sum(&|key| values.value_length(key).unsigned_abs())
        }
        other => match (lengths(values), other.primitive_width()) {
            (Some(all), _) => sum(&|key| all.get(key).copied().unwrap_or(0)),
            (None, Some(width)) => rows.saturating_mul(width as u64),
            (None, None) => rows.saturating_mul(growth::payload(values)),
        },
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::{ListBuilder, MapBuilder, StringBuilder, StringDictionaryBuilder};
    use arrow_array::types::Int32Type;
    use arrow_array::{DictionaryArray, Int64Array, StringViewArray, StructArray};
    use arrow_schema::Schema;
    use datafusion::execution::memory_pool::{MemoryPool, UnboundedMemoryPool};

    use super::*;
    use crate::budget::QueryPool;
    use crate::clock::Ends;

    fn budget(limit: usize) -> Budget {
        let all: Arc<dyn MemoryPool> = Arc::new(UnboundedMemoryPool::default());
        Budget::new(Arc::new(QueryPool::new(all, limit)), Ends::default())
    }

    /// Words, the third of them null.
    fn coded() -> DictionaryArray<Int32Type> {
        ["a", "bc", "", "bc", "a", "def"]
            .into_iter()
            .enumerate()
            .map(|(at, word)| (at != 2).then_some(word))
            .collect()
    }

    fn batch() -> RecordBatch {
        let coded: ArrayRef = Arc::new(coded());
        let views: ArrayRef = Arc::new(StringViewArray::from_iter_values([
            "a text that is no longer inline",
            "b",
            "c",
            "d",
            "e",
            "f",
        ]));
        let mut lists = ListBuilder::new(StringDictionaryBuilder::<Int32Type>::new());
        let mut maps = MapBuilder::new(
            None,
            StringBuilder::new(),
            StringDictionaryBuilder::<Int32Type>::new(),
        );
        for row in 0..6 {
            for at in 0..row {
                lists.values().append_value(["x", "yz"][at % 2]);
                maps.keys().append_value(at.to_string());
                maps.values().append_value(["x", "yz"][at % 2]);
            }
            lists.append(row != 1);
            maps.append(row != 1).unwrap();
        }
        let both =
            StructArray::try_from(vec![("c", Arc::clone(&coded)), ("v", Arc::clone(&views))]);
        let columns: [(&str, ArrayRef); 6] = [
            ("n", Arc::new(Int64Array::from_iter_values(0..6))),
            ("coded", coded),
            ("views", views),
            ("lists", Arc::new(lists.finish())),
            ("maps", Arc::new(maps.finish())),
            ("both", Arc::new(both.unwrap())),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn schema(of: &SchemaRef) -> SchemaRef {
        Arc::new(Schema::new(fields(of.fields())))
    }

    fn text(batches: &[RecordBatch]) -> String {
        arrow_cast::pretty::pretty_format_batches(batches).unwrap().to_string()
    }

    #[test]
    fn values_are_the_same_without_dictionaries_and_views() {
        let batch = batch();
        // Slices, too: what is before and after them is neither counted nor returned.
        for (first, rows) in [(0, 6), (2, 3), (5, 1), (0, 0)] {
            let batch = batch.slice(first, rows);
            let to = schema(&batch.schema());
            let found: Vec<_> = parts(batch.clone(), Arc::clone(&to), budget(1 << 20))
                .map(Result::unwrap)
                .collect();
            assert_eq!(found.len(), 1);
            assert_eq!(text(&found), text(&[batch]));
            assert_eq!(found[0].schema(), to);
            let names = format!("{to:?}");
            assert!(!names.contains("Dictionary") && !names.contains("View"), "{names}");
            assert_eq!(schema(&to), to);
        }
    }

    #[test]
    fn sizes_are_those_of_the_values() {
        let batch = batch();
        let sizes: Vec<u64> = batch.columns().iter().map(size).collect();
        // Keys of null are any.
        assert!((9..=12).contains(&sizes[1]), "{sizes:?}");
        assert_eq!(sizes[2], 32 + 5 - 1);
        assert_eq!((sizes[3], sizes[4]), (15 + 6, 15 + 6));
        assert_eq!(sizes[5], sizes[1] + sizes[2]);
        assert_eq!(size(&batch.column(2).slice(1, 3)), 3);
        assert_eq!(size(&batch.column(3).slice(0, 3)), 2 + 2);
    }

    #[test]
    fn a_batch_that_would_be_large_comes_in_parts() {
        let long = "x".repeat(1 << 20);
        let coded: DictionaryArray<Int32Type> =
            (0..100).map(|row| if row == 50 { "short" } else { long.as_str() }).collect();
        let batch = RecordBatch::try_from_iter([("c", Arc::new(coded) as ArrayRef)]).unwrap();
        let to = schema(&batch.schema());
        let found: Vec<_> = parts(batch.clone(), Arc::clone(&to), budget(64 << 20))
            .map(|part| {
                let part = part.unwrap();
                assert!(part.num_rows() <= 17);
                let column = part.column(0).as_string::<i32>();
                (0..part.num_rows()).map(|row| column.value(row).len()).collect::<Vec<_>>()
            })
            .collect();
        let found: Vec<usize> = found.concat();
        assert_eq!((found.len(), found[50]), (100, 5));
        assert_eq!(found.iter().sum::<usize>(), (99 << 20) + 5);
        let refused = parts(batch, to, budget(1 << 20)).next().unwrap().unwrap_err();
        assert!(refused.to_string().contains("a result needs"), "{refused}");
    }
}
