// SPDX-License-Identifier: Apache-2.0
//! Numbers, booleans, names of enumerators and texts as arrays, and back.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, DictionaryArray, Int32Array, PrimitiveArray,
    StringArray,
};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType};

use super::columns::offsets;
use crate::layout::{Bits, Integer, Kind, Meaning};

/// Arrays of `count` characters as text, without the zeros at the end: writing adds them again.
pub fn text(bits: &[u64], count: u32) -> Result<ArrayRef, ArrowError> {
    let (mut bytes, mut ends) = (Vec::with_capacity(bits.len()), Vec::new());
    for text in bits.chunks_exact(usize::try_from(count.max(1)).unwrap_or(usize::MAX)) {
        let length = text.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        bytes.extend(text[..length].iter().map(|byte| byte.to_le_bytes()[0]));
        ends.push(bytes.len());
    }
    Ok(Arc::new(BinaryArray::try_new(offsets(&ends)?, Buffer::from_vec(bytes), None)?))
}

fn enumerators(kind: &Kind) -> &[(String, i64)] {
    match kind {
        Kind::Integer(Integer { meaning: Meaning::Enumerators(names), .. })
        | Kind::Bits(Bits { meaning: Meaning::Enumerators(names), .. }) => names,
        _ => &[],
    }
}

/// Enumerators by name, as a dictionary; a value without a name is its number as text.
fn names(bits: &[u64], kind: &Kind) -> Result<ArrayRef, ArrowError> {
    let mut values: Vec<String> = Vec::new();
    let mut keys: HashMap<i64, i32> = HashMap::new();
    for (name, value) in enumerators(kind) {
        keys.entry(*value).or_insert_with(|| {
            values.push(name.clone());
            i32::try_from(values.len() - 1).unwrap_or(i32::MAX)
        });
    }
    let key = |bits: &u64| {
        let value = bits.cast_signed();
        *keys.entry(value).or_insert_with(|| {
            values.push(value.to_string());
            i32::try_from(values.len() - 1).unwrap_or(i32::MAX)
        })
    };
    let keys: Int32Array = bits.iter().map(key).collect::<Vec<i32>>().into();
    let values = Arc::new(StringArray::from(values));
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, values)?))
}

/// The value of a row of an array that [`array()`] made.
pub fn value(array: &ArrayRef, kind: &Kind, row: usize) -> Result<u64, &'static str> {
    fn native<T: ArrowPrimitiveType>(array: &ArrayRef, row: usize) -> T::Native {
        array.as_primitive::<T>().value(row)
    }
    Ok(match array.data_type() {
        DataType::Boolean => u64::from(array.as_boolean().value(row)),
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_dictionary::<Int32Type>();
            let key = usize::try_from(dictionary.keys().value(row)).unwrap_or(usize::MAX);
            let names = dictionary.values().as_string::<i32>();
            if key >= names.len() {
                return Err("has a key that its dictionary lacks");
            }
            let name = names.value(key);
            let known = enumerators(kind).iter().find(|(known, _)| known == name);
            let value = known.map(|(_, value)| *value).or_else(|| name.parse().ok());
            value.ok_or("has a name that is not an enumerator")?.cast_unsigned()
        }
        DataType::Int8 => i64::from(native::<Int8Type>(array, row)).cast_unsigned(),
        DataType::Int16 => i64::from(native::<Int16Type>(array, row)).cast_unsigned(),
        DataType::Int32 => i64::from(native::<Int32Type>(array, row)).cast_unsigned(),
        DataType::Int64 => native::<Int64Type>(array, row).cast_unsigned(),
        DataType::UInt8 => u64::from(native::<UInt8Type>(array, row)),
        DataType::UInt16 => u64::from(native::<UInt16Type>(array, row)),
        DataType::UInt32 => u64::from(native::<UInt32Type>(array, row)),
        DataType::UInt64 => native::<UInt64Type>(array, row),
        DataType::Float32 => u64::from(native::<Float32Type>(array, row).to_bits()),
        DataType::Float64 => native::<Float64Type>(array, row).to_bits(),
        _ => return Err("has a column that is not a number"),
    })
}

/// Numbers of a kind as an array of its type.
pub fn array(bits: &[u64], kind: &Kind, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    // Values were extended from the type's width: the low bytes are the number.
    macro_rules! low {
        ($type:ty, $native:ty) => {{
            let low = |bits: &u64| {
                let mut bytes = [0; size_of::<$native>()];
                bytes.copy_from_slice(&bits.to_le_bytes()[..size_of::<$native>()]);
                <$native>::from_le_bytes(bytes)
            };
            primitive::<$type>(bits.iter().map(low).collect())
        }};
    }
    Ok(match data_type {
        DataType::Boolean => {
            Arc::new(BooleanArray::from_iter(bits.iter().map(|bit| Some(bit & 1 == 1))))
        }
        DataType::Dictionary(_, _) => return names(bits, kind),
        DataType::Int8 => low!(Int8Type, i8),
        DataType::Int16 => low!(Int16Type, i16),
        DataType::Int32 => low!(Int32Type, i32),
        DataType::Int64 => low!(Int64Type, i64),
        DataType::UInt8 => low!(UInt8Type, u8),
        DataType::UInt16 => low!(UInt16Type, u16),
        DataType::UInt32 => low!(UInt32Type, u32),
        DataType::UInt64 => low!(UInt64Type, u64),
        DataType::Float32 => low!(Float32Type, f32),
        DataType::Float64 => low!(Float64Type, f64),
        other => return Err(ArrowError::SchemaError(format!("{other} is not a type of a number"))),
    })
}

fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), None))
}
