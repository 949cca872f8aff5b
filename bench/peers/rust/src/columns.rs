// SPDX-License-Identifier: Apache-2.0
//! Columns that Serde fills directly: the code that connects a JSON parser to Arrow.
//!
//! A schema is a type, so nothing is looked up by type at run time, and no intermediate record is
//! built. `read` appends one value, `null` a placeholder.

use std::fmt;
use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Date32Type, TimestampMicrosecondType};
use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeListArray, ListArray, PrimitiveArray, StringArray,
};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_cast::parse::Parser;
use arrow_schema::{ArrowError, DataType};
use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use serde::Deserialize;

pub trait Column: Default {
    fn read<'de, D: Deserializer<'de>>(&mut self, from: D) -> Result<(), D::Error>;
    fn null(&mut self);
    fn finish(self, as_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError>;

    /// The meaning of a missing key.
    fn missing<E: Error>(&mut self, name: &'static str) -> Result<(), E> {
        Err(E::missing_field(name))
    }
}

/// Lets a column be the seed of a nested value.
pub struct Into<'a, C>(pub &'a mut C);

impl<'de, C: Column> DeserializeSeed<'de> for Into<'_, C> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        self.0.read(from)
    }
}

pub struct Number<T: ArrowPrimitiveType>(Vec<T::Native>);
pub type UInt = Number<arrow_array::types::UInt64Type>;
pub type Int = Number<arrow_array::types::Int64Type>;
pub type Int32 = Number<arrow_array::types::Int32Type>;
pub type Float = Number<arrow_array::types::Float64Type>;

impl<T: ArrowPrimitiveType> Default for Number<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: ArrowPrimitiveType> Column for Number<T>
where
    T::Native: for<'de> Deserialize<'de>,
{
    fn read<'de, D: Deserializer<'de>>(&mut self, from: D) -> Result<(), D::Error> {
        self.0.push(T::Native::deserialize(from)?);
        Ok(())
    }
    fn null(&mut self) {
        self.0.push(T::Native::default());
    }
    fn finish(self, _: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(PrimitiveArray::<T>::try_new(ScalarBuffer::from(self.0), nulls)?))
    }
}

#[derive(Default)]
pub struct Bool(Vec<bool>);

impl Column for Bool {
    fn read<'de, D: Deserializer<'de>>(&mut self, from: D) -> Result<(), D::Error> {
        self.0.push(bool::deserialize(from)?);
        Ok(())
    }
    fn null(&mut self) {
        self.0.push(false);
    }
    fn finish(self, _: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(BooleanArray::new(self.0.into(), nulls)))
    }
}

/// Passes the text of a string to a function, without owning it.
struct Text<F>(F);

impl<F: FnOnce(&str) -> bool> Visitor<'_> for Text<F> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string of the column's form")
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        if (self.0)(text) { Ok(()) } else { Err(E::custom("the string has another form")) }
    }
}

pub struct Str {
    offsets: Vec<i32>,
    bytes: Vec<u8>,
}

impl Default for Str {
    fn default() -> Self {
        Self { offsets: vec![0], bytes: Vec::new() }
    }
}

impl Column for Str {
    fn read<'de, D: Deserializer<'de>>(&mut self, from: D) -> Result<(), D::Error> {
        from.deserialize_str(Text(|text: &str| {
            self.bytes.extend_from_slice(text.as_bytes());
            true
        }))?;
        self.null();
        Ok(())
    }
    fn null(&mut self) {
        self.offsets.push(self.bytes.len() as i32);
    }
    fn finish(self, _: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        let offsets = OffsetBuffer::new(self.offsets.into());
        Ok(Arc::new(StringArray::try_new(offsets, self.bytes.into(), nulls)?))
    }
}

/// A type that is written as text and that arrow-cast can parse.
pub struct Parsed<T: ArrowPrimitiveType>(Vec<T::Native>);
pub type Date = Parsed<Date32Type>;
pub type Timestamp = Parsed<TimestampMicrosecondType>;

impl<T: ArrowPrimitiveType> Default for Parsed<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: ArrowPrimitiveType + Parser> Column for Parsed<T> {
    fn read<'de, D: Deserializer<'de>>(&mut self, from: D) -> Result<(), D::Error> {
        from.deserialize_str(Text(|text: &str| match T::parse(text) {
            Some(value) => {
                self.0.push(value);
                true
            }
            None => false,
        }))
    }
    fn null(&mut self) {
        self.0.push(T::Native::default());
    }
    fn finish(self, of: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        let array = PrimitiveArray::<T>::try_new(ScalarBuffer::from(self.0), nulls)?;
        Ok(Arc::new(array.with_data_type(of.clone())))
    }
}

/// A column whose values may be null or missing.
pub struct Opt<C> {
    valid: BooleanBufferBuilder,
    column: C,
}

impl<C: Default> Default for Opt<C> {
    fn default() -> Self {
        Self { valid: BooleanBufferBuilder::new(1024), column: C::default() }
    }
}

impl<C: Column> Column for Opt<C> {
    fn read<'de, D: Deserializer<'de>>(&mut self, from: D) -> Result<(), D::Error> {
        from.deserialize_option(self)
    }
    fn null(&mut self) {
        self.valid.append(false);
        self.column.null();
    }
    fn finish(mut self, of: &DataType, _: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        self.column.finish(of, Some(NullBuffer::new(self.valid.finish())))
    }
    fn missing<E: Error>(&mut self, _: &'static str) -> Result<(), E> {
        self.null();
        Ok(())
    }
}

impl<'de, C: Column> Visitor<'de> for &mut Opt<C> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or null")
    }
    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.null();
        Ok(())
    }
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.null();
        Ok(())
    }
    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        self.valid.append(true);
        self.column.read(from)
    }
}

/// Reads the items of an array into a column and counts them.
struct Items<'a, C>(&'a mut C);

impl<'de, C: Column> Visitor<'de> for Items<'_, C> {
    type Value = usize;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<usize, A::Error> {
        let mut count = 0;
        while items.next_element_seed(Into(&mut *self.0))?.is_some() {
            count += 1;
        }
        Ok(count)
    }
}

pub struct List<C> {
    offsets: Vec<i32>,
    items: C,
}

impl<C: Default> Default for List<C> {
    fn default() -> Self {
        Self { offsets: vec![0], items: C::default() }
    }
}

impl<C: Column> Column for List<C> {
    fn read<'de, D: Deserializer<'de>>(&mut self, from: D) -> Result<(), D::Error> {
        let count = from.deserialize_seq(Items(&mut self.items))?;
        self.offsets.push(self.offsets[self.offsets.len() - 1] + count as i32);
        Ok(())
    }
    fn null(&mut self) {
        self.offsets.push(self.offsets[self.offsets.len() - 1]);
    }
    fn finish(self, of: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        let DataType::List(field) = of else {
            return Err(ArrowError::SchemaError(format!("{of} is not a list")));
        };
        let items = self.items.finish(field.data_type(), None)?;
        let offsets = OffsetBuffer::new(self.offsets.into());
        Ok(Arc::new(ListArray::try_new(field.clone(), offsets, items, nulls)?))
    }
}

#[derive(Default)]
pub struct Fixed<C, const N: usize>(C);

impl<C: Column, const N: usize> Column for Fixed<C, N> {
    fn read<'de, D: Deserializer<'de>>(&mut self, from: D) -> Result<(), D::Error> {
        let count = from.deserialize_seq(Items(&mut self.0))?;
        if count == N { Ok(()) } else { Err(D::Error::invalid_length(count, &"the list's size")) }
    }
    fn null(&mut self) {
        (0..N).for_each(|_| self.0.null());
    }
    fn finish(self, of: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        let DataType::FixedSizeList(field, size) = of else {
            return Err(ArrowError::SchemaError(format!("{of} is not a fixed-size list")));
        };
        let items = self.0.finish(field.data_type(), None)?;
        Ok(Arc::new(FixedSizeListArray::try_new(field.clone(), *size, items, nulls)?))
    }
}

/// Declares a struct column: its keys, in the order of the schema, and their columns.
#[macro_export]
macro_rules! record {
    ($name:ident { $($key:literal $field:ident: $column:ty),+ $(,)? }) => {
        #[derive(Default)]
        pub struct $name {
            rows: usize,
            $($field: $column),+
        }

        const _: () = {
            use std::fmt;
            use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};
            use $crate::columns::{Column, Into};

            #[allow(non_camel_case_types)]
            #[derive(Clone, Copy)]
            enum Key { $($field,)+ Unknown }
            const FIELDS: usize = Key::Unknown as usize;

            impl<'de> serde::Deserialize<'de> for Key {
                fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                    from.deserialize_str(KeyVisitor)
                }
            }

            struct KeyVisitor;
            impl Visitor<'_> for KeyVisitor {
                type Value = Key;
                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("a key")
                }
                fn visit_str<E: Error>(self, key: &str) -> Result<Key, E> {
                    Ok(match key { $($key => Key::$field,)+ _ => Key::Unknown })
                }
            }

            impl<'de> Visitor<'de> for &mut $name {
                type Value = ();
                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("an object")
                }
                fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
                    let mut seen = [false; FIELDS];
                    while let Some(key) = map.next_key::<Key>()? {
                        if let Some(seen) = seen.get_mut(key as usize) {
                            if std::mem::replace(seen, true) {
                                return Err(A::Error::custom("a key came twice"));
                            }
                        }
                        match key {
                            $(Key::$field => map.next_value_seed(Into(&mut self.$field))?,)+
                            Key::Unknown => drop(map.next_value::<IgnoredAny>()?),
                        }
                    }
                    if seen.contains(&false) {
                        $(if !seen[Key::$field as usize] { self.$field.missing($key)?; })+
                    }
                    self.rows += 1;
                    Ok(())
                }
            }

            impl Column for $name {
                fn read<'de, D: Deserializer<'de>>(&mut self, from: D) -> Result<(), D::Error> {
                    from.deserialize_map(self)
                }
                fn null(&mut self) {
                    $(self.$field.null();)+
                    self.rows += 1;
                }
                fn finish(
                    self,
                    of: &arrow_schema::DataType,
                    nulls: Option<arrow_buffer::NullBuffer>,
                ) -> Result<arrow_array::ArrayRef, arrow_schema::ArrowError> {
                    let arrow_schema::DataType::Struct(fields) = of else {
                        let message = format!("{of} is not a struct");
                        return Err(arrow_schema::ArrowError::SchemaError(message));
                    };
                    let mut types = fields.iter().map(|field| field.data_type());
                    let mut next = || types.next().unwrap_or(&arrow_schema::DataType::Null);
                    let arrays = vec![$(self.$field.finish(next(), None)?),+];
                    let array = arrow_array::StructArray::try_new_with_length(
                        fields.clone(), arrays, nulls, self.rows,
                    )?;
                    Ok(std::sync::Arc::new(array))
                }
            }
        };
    };
}
