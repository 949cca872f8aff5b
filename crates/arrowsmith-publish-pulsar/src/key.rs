// SPDX-License-Identifier: Apache-2.0
//! Messages by key: a batch partitioned by the values of a field, and the partition of a key.
//!
//! All rows of a key go to one partition in the order in which they came. Rows are copied, so this
//! costs about what a copy of the batch does; a field with many different values makes small
//! messages.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch, UInt32Array};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_row::{RowConverter, SortField};
use arrow_select::take::take_record_batch;

use crate::error::{PulsarError, Result};

/// Rows of one key.
#[derive(Debug, Clone)]
pub struct Keyed {
    /// `None` where the field is null.
    pub key: Option<Arc<str>>,
    /// The rows.
    pub batch: RecordBatch,
    /// Which rows of the divided batch they are.
    pub rows: Vec<u32>,
}

/// Divides a batch by the values of a field, in the order in which they first appear. The key is
/// the value as text, as Arrow displays it.
///
/// # Errors
/// [`PulsarError::Option`] when there is no such field at the top of the schema, and
/// [`PulsarError::Arrow`] when Arrow cannot compare or display its type.
pub fn split(batch: &RecordBatch, field: &str) -> Result<Vec<Keyed>> {
    let column = batch.column_by_name(field).ok_or_else(|| PulsarError::Option {
        option: "key",
        reason: format!("names {field:?}, which is not a field of the schema"),
    })?;
    let rows = RowConverter::new(vec![SortField::new(column.data_type().clone())])?
        .convert_columns(std::slice::from_ref(column))?;
    let mut numbers: HashMap<&[u8], usize> = HashMap::new();
    let rows: Vec<_> = rows.iter().collect();
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for (index, row) in (0_u32..).zip(&rows) {
        let next = groups.len();
        let number = *numbers.entry(row.data()).or_insert(next);
        if number == next {
            groups.push(Vec::new());
        }
        if let Some(group) = groups.get_mut(number) {
            group.push(index);
        }
    }
    let format = FormatOptions::default();
    let values = ArrayFormatter::try_new(column.as_ref(), &format)?;
    let mut keyed = Vec::with_capacity(groups.len());
    let whole = groups.len() == 1;
    for group in groups {
        let first = group.first().map_or(0, |&index| index as usize);
        let key = match column.is_null(first) {
            true => None,
            false => Some(values.value(first).try_to_string()?.into()),
        };
        // The common case of one device per connection: nothing to copy.
        let rows = match whole {
            true => batch.clone(),
            false => take_record_batch(batch, &UInt32Array::from(group.clone()))?,
        };
        keyed.push(Keyed { key, batch: rows, rows: group });
    }
    Ok(keyed)
}

/// The partition of a key, as the Java client chooses it by default: Java's hash of a string, over
/// UTF-16 code units. (Pulsar, `JavaStringHash`; the C++ and Python clients have another default.)
pub(crate) fn partition(key: &str, partitions: usize) -> usize {
    let hash = key
        .encode_utf16()
        .fold(0_u32, |hash, unit| hash.wrapping_mul(31).wrapping_add(u32::from(unit)));
    (hash & 0x7fff_ffff) as usize % partitions.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int32Type;
    use arrow_array::{Int32Array, StringArray};

    fn batch(keys: Vec<Option<&str>>) -> RecordBatch {
        let numbers: Int32Array = (0..).take(keys.len()).collect();
        let keys = StringArray::from(keys);
        let columns = [("k", Arc::new(keys) as _, true), ("n", Arc::new(numbers) as _, false)];
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    }

    fn parts(batch: &RecordBatch, field: &str) -> Vec<(Option<String>, Vec<i32>)> {
        let parts = split(batch, field).unwrap().into_iter();
        parts
            .map(|Keyed { key, batch, rows }| {
                let numbers = batch.column(1).as_primitive::<Int32Type>().values().to_vec();
                assert!(rows.iter().copied().map(i32::try_from).eq(numbers.iter().map(|&n| Ok(n))));
                (key.map(|key| key.to_string()), numbers)
            })
            .collect()
    }

    #[test]
    fn rows_of_a_key_stay_together_and_in_order() {
        let batch = batch(vec![Some("b"), None, Some("a"), Some("b"), Some(""), None]);
        let expected = vec![
            (Some("b".to_owned()), vec![0, 3]),
            (None, vec![1, 5]),
            (Some("a".to_owned()), vec![2]),
            (Some(String::new()), vec![4]),
        ];
        assert_eq!(parts(&batch, "k"), expected);
        let numbers = parts(&batch, "n");
        assert_eq!(numbers.len(), 6);
        assert_eq!(numbers[3], (Some("3".to_owned()), vec![3]));
    }

    #[test]
    fn edges() {
        assert_eq!(parts(&batch(vec![]), "k"), vec![]);
        let one = batch(vec![Some("x"), Some("x")]);
        assert_eq!(parts(&one, "k"), vec![(Some("x".to_owned()), vec![0, 1])]);
        assert!(matches!(split(&one, "none"), Err(PulsarError::Option { option: "key", .. })));
    }

    #[test]
    fn partitions_are_those_of_the_java_client() {
        // "hello".hashCode() is 99162322; "polygenelubricants".hashCode() is Integer.MIN_VALUE.
        assert_eq!(partition("hello", 10), 2);
        assert_eq!(partition("hello", 1_000_000_000), 99_162_322);
        assert_eq!(partition("polygenelubricants", 7), 0);
        assert_eq!(partition("", 3), 0);
        // "\u{1f600}".hashCode(), a pair of surrogates: 0xd83d * 31 + 0xde00.
        assert_eq!(partition("\u{1f600}", 1 << 30), 0xd83d * 31 + 0xde00);
        assert_eq!(partition("x", 0), 0);
    }
}
