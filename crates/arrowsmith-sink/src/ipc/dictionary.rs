// SPDX-License-Identifier: Apache-2.0
//! Merges the dictionaries of successive batches into one growing dictionary.
//!
//! A decoder builds a dictionary per batch; two batches number the same values differently. An IPC
//! stream may replace a dictionary, an IPC file may only extend it. So each column's values are
//! numbered once for the whole file, in the order of their first appearance, and the keys of later
//! batches are rewritten; arrow-ipc then writes new values as a delta. Used only for the file
//! format.

use std::collections::HashMap;
use std::slice::IterMut;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, PrimitiveArray, RecordBatch, UInt64Array, make_array,
};
use arrow_buffer::ArrowNativeType;
use arrow_data::ArrayData;
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat;
use arrow_select::take::take;
use arrowsmith_core::{Error, Result};

/// The dictionaries of a file so far, one per dictionary field in the order of the schema.
pub struct Unifier {
    /// By position of the column; empty for columns without dictionaries.
    columns: Vec<Vec<Dictionary>>,
}

impl Unifier {
    /// No values yet.
    #[must_use]
    pub fn new(schema: &Schema) -> Self {
        let columns = schema.fields().iter().map(|field| {
            let mut found = Vec::new();
            find(field, field.name(), &mut found);
            found
        });
        Self { columns: columns.collect() }
    }

    /// Whether there are any dictionaries.
    #[must_use]
    pub fn has_any(&self) -> bool {
        self.columns.iter().any(|column| !column.is_empty())
    }

    /// Whether a batch was refused because there are more distinct values than keys can number. A
    /// new file may have room for it.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.columns.iter().flatten().any(|dictionary| dictionary.is_full)
    }

    /// The batch with its keys in the numbering of the file; `None` if it has no dictionaries.
    ///
    /// # Errors
    /// If keys cannot number the values ([`Unifier::is_full`]), and for a batch with another
    /// schema.
    pub fn unify(&mut self, batch: &RecordBatch) -> Result<Option<RecordBatch>> {
        if !self.has_any() {
            return Ok(None);
        }
        let mut arrays = Vec::with_capacity(batch.num_columns());
        for (array, dictionaries) in batch.columns().iter().zip(&mut self.columns) {
            arrays.push(if dictionaries.is_empty() {
                Arc::clone(array)
            } else {
                make_array(rewrite(array.to_data(), &mut dictionaries.iter_mut())?)
            });
        }
        Ok(Some(RecordBatch::try_new(batch.schema(), arrays)?))
    }
}

/// The batch with the dictionaries of another batch of the same file, which start with its own:
/// those of the last batch contain the values of all.
///
/// # Errors
/// If they number the values differently.
pub fn with_dictionaries_of(batch: &RecordBatch, last: &RecordBatch) -> Result<RecordBatch> {
    let columns = batch.columns().iter().zip(last.columns());
    let columns = columns.map(|(column, last)| {
        if column.data_type() != last.data_type() {
            return Err(Error::schema("", "the batches have different schemas"));
        }
        Ok(make_array(replace(column.to_data(), &last.to_data())?))
    });
    Ok(RecordBatch::try_new(batch.schema(), columns.collect::<Result<Vec<_>>>()?)?)
}

fn replace(data: ArrayData, last: &ArrayData) -> Result<ArrayData> {
    if data.child_data().is_empty() {
        return Ok(data);
    }
    let children = if matches!(data.data_type(), DataType::Dictionary(..)) {
        last.child_data().to_vec()
    } else {
        let pairs = data.child_data().iter().zip(last.child_data());
        pairs.map(|(child, last)| replace(child.clone(), last)).collect::<Result<Vec<_>>>()?
    };
    Ok(data.into_builder().child_data(children).build()?)
}

/// The dictionary fields in `field`, itself included, in the order in which [`rewrite`] visits
/// them.
fn find(field: &Field, path: &str, found: &mut Vec<Dictionary>) {
    match field.data_type() {
        DataType::Dictionary(..) => found.push(Dictionary::new(path)),
        DataType::Struct(fields) => {
            for child in fields {
                find(child, &format!("{path}.{}", child.name()), found);
            }
        }
        DataType::List(child)
        | DataType::LargeList(child)
        | DataType::FixedSizeList(child, _)
        | DataType::Map(child, _) => find(child, path, found),
        _ => {}
    }
}

/// `data` with every dictionary in it rewritten, depth first.
fn rewrite(data: ArrayData, dictionaries: &mut IterMut<'_, Dictionary>) -> Result<ArrayData> {
    if matches!(data.data_type(), DataType::Dictionary(..)) {
        let missing = || Error::schema("", "the batch has a dictionary that is not in its schema");
        let dictionary = dictionaries.next().ok_or_else(missing)?;
        return dictionary.rewrite(&make_array(data));
    }
    if data.child_data().is_empty() {
        return Ok(data);
    }
    let mut children = Vec::with_capacity(data.child_data().len());
    for child in data.child_data() {
        children.push(rewrite(child.clone(), dictionaries)?);
    }
    Ok(data.into_builder().child_data(children).build()?)
}

/// The values of one dictionary field, numbered for the whole file.
struct Dictionary {
    /// Path of the field, for errors.
    path: String,
    /// Converts values of any type to bytes that are equal if and only if the values are.
    converter: Option<RowConverter>,
    /// Number of each value, by its bytes.
    numbers: HashMap<Box<[u8]>, usize>,
    /// The values in the order of their numbers.
    values: Option<ArrayRef>,
    is_full: bool,
}

impl Dictionary {
    fn new(path: &str) -> Self {
        let path = path.to_owned();
        Self { path, converter: None, numbers: HashMap::new(), values: None, is_full: false }
    }

    fn rewrite(&mut self, array: &dyn Array) -> Result<ArrayData> {
        let DataType::Dictionary(key_type, _) = array.data_type() else {
            return Ok(array.to_data());
        };
        match key_type.as_ref() {
            DataType::Int8 => self.rewrite_keys::<Int8Type>(array),
            DataType::Int16 => self.rewrite_keys::<Int16Type>(array),
            DataType::Int32 => self.rewrite_keys::<Int32Type>(array),
            DataType::Int64 => self.rewrite_keys::<Int64Type>(array),
            DataType::UInt8 => self.rewrite_keys::<UInt8Type>(array),
            DataType::UInt16 => self.rewrite_keys::<UInt16Type>(array),
            DataType::UInt32 => self.rewrite_keys::<UInt32Type>(array),
            DataType::UInt64 => self.rewrite_keys::<UInt64Type>(array),
            other => {
                Err(Error::schema(&self.path, format!("{other} is not a type of dictionary keys")))
            }
        }
    }

    fn rewrite_keys<K: ArrowDictionaryKeyType>(&mut self, array: &dyn Array) -> Result<ArrayData> {
        let array = array.as_dictionary::<K>();
        let numbers = self.number(array.values())?;
        let mut keys = PrimitiveArray::<K>::builder(array.len());
        for key in array.keys_iter() {
            let Some(key) = key else {
                keys.append_null();
                continue;
            };
            let number = numbers.get(key).and_then(|&number| K::Native::from_usize(number));
            self.is_full |= number.is_none();
            keys.append_value(number.ok_or_else(|| {
                let message = format!(
                    "more distinct values than {} can number: use wider keys, or the stream format",
                    K::DATA_TYPE
                );
                Error::schema(&self.path, message)
            })?);
        }
        let values = self.values.clone().unwrap_or_else(|| Arc::clone(array.values()));
        Ok(DictionaryArray::<K>::try_new(keys.finish(), values)?.into_data())
    }

    /// The number of each of `values` in the file; new values get the next numbers.
    fn number(&mut self, values: &ArrayRef) -> Result<Vec<usize>> {
        let converter = match &mut self.converter {
            Some(converter) => converter,
            empty => {
                let field = SortField::new(values.data_type().clone());
                empty.insert(RowConverter::new(vec![field])?)
            }
        };
        let rows = converter.convert_columns(std::slice::from_ref(values))?;
        let mut numbers = Vec::with_capacity(values.len());
        let mut fresh: Vec<u64> = Vec::new();
        for (index, row) in (0u64..).zip(rows.iter()) {
            let next = self.numbers.len();
            numbers.push(match self.numbers.get(row.data()) {
                Some(&number) => number,
                None => {
                    self.numbers.insert(row.data().into(), next);
                    fresh.push(index);
                    next
                }
            });
        }
        match &mut self.values {
            Some(_) if fresh.is_empty() => {}
            Some(known) => {
                let fresh = take(values, &UInt64Array::from(fresh), None)?;
                *known = concat(&[known.as_ref(), fresh.as_ref()])?;
            }
            none => *none = Some(take(values, &UInt64Array::from(fresh), None)?),
        }
        Ok(numbers)
    }
}
