// SPDX-License-Identifier: Apache-2.0
//! Columns of JSON text as Parquet's VARIANT, a struct of `metadata` and `value`, and the way back,
//! at any depth. What is written is in one piece; what others have shredded is read, too.

mod decode;
mod encode;
mod shredded;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryArray, FixedSizeListArray, GenericListArray, GenericListViewArray,
    LargeStringArray, MapArray, OffsetSizeTrait, StructArray,
};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_cast::cast;
use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field, FieldRef, Fields};
use arrowsmith_core::{Error, Result};

use self::decode::Names;
use self::encode::Encoder;
use self::shredded::Column;

/// The name of the Arrow extension type of VARIANT.
const VARIANT: &str = "arrow.parquet.variant";

/// That of JSON text.
const JSON: &str = "arrow.json";

/// What one kind of column becomes, wherever it is in others.
pub(crate) struct Mapping {
    is_mapped: fn(&Field) -> bool,
    /// The extension type and the type that it becomes.
    name: &'static str,
    data_type: fn() -> DataType,
    /// The column of the field, at this path.
    column: fn(&ArrayRef, &str) -> Result<ArrayRef>,
}

/// JSON text → VARIANT.
pub(crate) const TO_VARIANT: Mapping =
    Mapping { is_mapped: is_json, name: VARIANT, data_type: storage, column: from_json };

/// VARIANT → JSON text.
pub(crate) const TO_TEXT: Mapping = Mapping {
    is_mapped: is_variant,
    name: JSON,
    data_type: || DataType::LargeUtf8,
    column: to_json,
};

/// Whether a field is JSON text.
fn is_json(field: &Field) -> bool {
    use DataType as T;
    let is_text = |kind: &T| matches!(kind, T::Utf8 | T::LargeUtf8 | T::Utf8View);
    field.extension_type_name() == Some(JSON)
        && match field.data_type() {
            T::Dictionary(_, values) => is_text(values),
            other => is_text(other),
        }
}

/// Whether a field is VARIANT, shredded or not.
fn is_variant(field: &Field) -> bool {
    use DataType as T;
    let is_binary = |kind: &T| matches!(kind, T::Binary | T::LargeBinary | T::BinaryView);
    let T::Struct(fields) = field.data_type() else { return false };
    let has = |name| fields.find(name).is_some_and(|(_, field)| is_binary(field.data_type()));
    field.extension_type_name() == Some(VARIANT)
        && has("metadata")
        && (has("value") || fields.find("typed_value").is_some())
}

/// The type that VARIANT is written as.
fn storage() -> DataType {
    let binary = |name| Arc::new(Field::new(name, DataType::Binary, false));
    DataType::Struct(Fields::from([binary("metadata"), binary("value")]))
}

impl Mapping {
    /// The field as it becomes.
    pub(crate) fn field(&self, field: &FieldRef) -> FieldRef {
        use DataType as T;
        if (self.is_mapped)(field) {
            let mut metadata = field.metadata().clone();
            metadata.insert(EXTENSION_TYPE_NAME_KEY.to_owned(), self.name.to_owned());
            metadata.insert(EXTENSION_TYPE_METADATA_KEY.to_owned(), String::new());
            let field = field.as_ref().clone().with_data_type((self.data_type)());
            return Arc::new(field.with_metadata(metadata));
        }
        let data_type = match field.data_type() {
            T::List(item) => T::List(self.field(item)),
            T::LargeList(item) => T::LargeList(self.field(item)),
            T::ListView(item) => T::ListView(self.field(item)),
            T::LargeListView(item) => T::LargeListView(self.field(item)),
            T::FixedSizeList(item, size) => T::FixedSizeList(self.field(item), *size),
            T::Struct(fields) => T::Struct(fields.iter().map(|field| self.field(field)).collect()),
            // Keys stay: they are what a reader looks for.
            T::Map(entries, sorted) => match entries.data_type() {
                T::Struct(fields) if fields.len() == 2 => {
                    let fields = Fields::from([Arc::clone(&fields[0]), self.field(&fields[1])]);
                    let entries = entries.as_ref().clone().with_data_type(T::Struct(fields));
                    T::Map(Arc::new(entries), *sorted)
                }
                _ => return Arc::clone(field),
            },
            _ => return Arc::clone(field),
        };
        Arc::new(field.as_ref().clone().with_data_type(data_type))
    }

    /// The columns of these fields, for those that [`Mapping::field`] made of them.
    ///
    /// # Errors
    /// As [`Mapping::convert`].
    pub(crate) fn columns(
        &self,
        columns: &[ArrayRef],
        from: &Fields,
        to: &Fields,
    ) -> Result<Vec<ArrayRef>> {
        let columns = columns.iter().zip(from).zip(to);
        columns.map(|((column, from), to)| self.convert(column, from, to)).collect()
    }

    /// The column of a field, as [`Mapping::field`] says.
    ///
    /// # Errors
    /// [`Error::Schema`] with the path of a JSON value that VARIANT does not have (a key twice, a
    /// number without an exact or double form, half of a surrogate pair), or of bytes that are no
    /// VARIANT.
    pub(crate) fn convert(&self, array: &ArrayRef, from: &Field, to: &Field) -> Result<ArrayRef> {
        self.converted(array, from, to, from.name())
    }

    fn converted(
        &self,
        array: &ArrayRef,
        from: &Field,
        to: &Field,
        path: &str,
    ) -> Result<ArrayRef> {
        use DataType as T;
        if from.data_type() == to.data_type() {
            return Ok(Arc::clone(array));
        }
        if (self.is_mapped)(from) {
            return (self.column)(array, path);
        }
        let nulls = array.nulls().cloned();
        Ok(match (from.data_type(), to.data_type()) {
            (T::Struct(from), T::Struct(to)) => {
                let children = array.as_struct().columns().iter().zip(from).zip(to);
                let children = children.map(|((child, from), to)| {
                    self.converted(child, from, to, &format!("{path}.{}", from.name()))
                });
                let children = children.collect::<Result<_>>()?;
                Arc::new(StructArray::try_new(to.clone(), children, nulls)?)
            }
            (T::List(from), T::List(to)) => self.list(array.as_list::<i32>(), from, to, path)?,
            (T::LargeList(from), T::LargeList(to)) => {
                self.list(array.as_list::<i64>(), from, to, path)?
            }
            (T::ListView(from), T::ListView(to)) => {
                self.view(array.as_list_view::<i32>(), from, to, path)?
            }
            (T::LargeListView(from), T::LargeListView(to)) => {
                self.view(array.as_list_view::<i64>(), from, to, path)?
            }
            (T::FixedSizeList(from, _), T::FixedSizeList(to, size)) => {
                let items = array.as_fixed_size_list().values();
                let items = self.converted(items, from, to, path)?;
                Arc::new(FixedSizeListArray::try_new(Arc::clone(to), *size, items, nulls)?)
            }
            (T::Map(from, _), T::Map(to, sorted)) => {
                let map = array.as_map();
                let (offsets, first, len) = rebased(map.offsets());
                let entries: ArrayRef = Arc::new(map.entries().slice(first, len));
                let entries = self.converted(&entries, from, to, path)?.as_struct().clone();
                Arc::new(MapArray::try_new(Arc::clone(to), offsets, entries, nulls, *sorted)?)
            }
            (from, to) => {
                return Err(Error::schema(path, format!("{from} is not written as {to}")));
            }
        })
    }

    /// A list. Items that it does not show, being a part of another, are omitted.
    fn list<O: OffsetSizeTrait>(
        &self,
        array: &GenericListArray<O>,
        from: &Field,
        to: &FieldRef,
        path: &str,
    ) -> Result<ArrayRef> {
        let (offsets, first, len) = rebased(array.offsets());
        let items = self.converted(&array.values().slice(first, len), from, to, path)?;
        let nulls = array.nulls().cloned();
        Ok(Arc::new(GenericListArray::try_new(Arc::clone(to), offsets, items, nulls)?))
    }

    fn view<O: OffsetSizeTrait>(
        &self,
        array: &GenericListViewArray<O>,
        from: &Field,
        to: &FieldRef,
        path: &str,
    ) -> Result<ArrayRef> {
        let items = self.converted(array.values(), from, to, path)?;
        let (offsets, sizes) = (array.offsets().clone(), array.sizes().clone());
        let (item, nulls) = (Arc::clone(to), array.nulls().cloned());
        Ok(Arc::new(GenericListViewArray::try_new(item, offsets, sizes, items, nulls)?))
    }
}

/// Offsets from 0, with the first item and the number of items.
fn rebased<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>) -> (OffsetBuffer<O>, usize, usize) {
    let first = offsets.first().copied().unwrap_or_default();
    let last = offsets.last().copied().unwrap_or_default();
    let rebased: ScalarBuffer<O> = offsets.iter().map(|offset| *offset - first).collect();
    (OffsetBuffer::new(rebased), first.as_usize(), (last - first).as_usize())
}

/// A column of JSON texts as VARIANT in one piece: a struct of `metadata` and `value`. Text that is
/// not JSON becomes a string, a number without an exponent a decimal. `path` names the column in
/// errors.
///
/// # Errors
/// [`Error::Schema`] for a value that VARIANT does not have: a key twice, a number of more than 38
/// digits or beyond a double, half of a surrogate pair; for more than 2 GiB, and for other columns.
pub fn from_json(array: &ArrayRef, path: &str) -> Result<ArrayRef> {
    let texts = cast(array, &DataType::Utf8View)?;
    let not_text = || Error::schema(path, "JSON text is a string");
    let texts = texts.as_string_view_opt().ok_or_else(not_text)?;
    let mut encoder = Encoder::default();
    let (mut metadata, mut values) = (Binaries::new(), Binaries::new());
    for row in 0..texts.len() {
        if texts.is_valid(row) {
            let text = texts.value(row);
            let done = encoder.encode(text, &mut metadata.bytes, &mut values.bytes);
            done.map_err(|reason| Error::schema(path, format!("{reason}: {}", start_of(text))))?;
        }
        metadata.end(path)?;
        values.end(path)?;
    }
    let DataType::Struct(fields) = storage() else {
        return Err(Error::schema(path, "VARIANT is a struct"));
    };
    let children = vec![metadata.finish()?, values.finish()?];
    Ok(Arc::new(StructArray::try_new(fields, children, texts.nulls().cloned())?))
}

/// The storage of VARIANT, shredded or not, as a `LargeUtf8` column of JSON texts. What JSON does
/// not have is written as in other columns: times and dates are ISO 8601, binary is base64, NaN and
/// infinities are null. `path` names the column in errors.
///
/// # Errors
/// [`Error::Schema`] for bytes that are not VARIANT, and for more than 1 GiB of text.
pub fn to_json(array: &ArrayRef, path: &str) -> Result<ArrayRef> {
    let refused = |reason| Error::schema(path, reason);
    let columns = array.as_struct_opt().ok_or_else(|| refused("VARIANT is a struct"))?;
    let metadata = columns.column_by_name("metadata");
    let metadata = metadata.ok_or_else(|| refused("a VARIANT without metadata"))?;
    let metadata = cast(metadata, &DataType::BinaryView)?;
    let metadata = metadata.as_binary_view_opt();
    let metadata = metadata.ok_or_else(|| refused("the metadata of a VARIANT is binary"))?;
    let column = Column::new(columns).map_err(refused)?;
    let (mut text, mut ends) = (Vec::new(), vec![0]);
    for row in 0..columns.len() {
        if columns.is_valid(row) {
            let names = Names::new(metadata.value(row)).map_err(refused)?;
            column.write_any(row, &names, &mut text).map_err(refused)?;
        }
        if text.len() > decode::TEXT_BYTES_MAX {
            return Err(refused(decode::TOO_LONG));
        }
        ends.push(i64::try_from(text.len()).unwrap_or(i64::MAX));
    }
    let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
    let nulls = columns.nulls().cloned();
    Ok(Arc::new(LargeStringArray::try_new(offsets, Buffer::from_vec(text), nulls)?))
}

/// Characters of a text that an error quotes.
const QUOTED_MAX: usize = 60;

/// The start of a text, for an error.
fn start_of(text: &str) -> &str {
    text.char_indices().nth(QUOTED_MAX).map_or(text, |(end, _)| &text[..end])
}

/// A binary column that is built.
struct Binaries {
    bytes: Vec<u8>,
    ends: Vec<i32>,
}

impl Binaries {
    fn new() -> Self {
        Self { bytes: Vec::new(), ends: vec![0] }
    }

    /// Ends a value.
    fn end(&mut self, path: &str) -> Result<()> {
        let end = i32::try_from(self.bytes.len());
        let message = "more than 2 GiB of VARIANT in one batch: make batches smaller";
        self.ends.push(end.map_err(|_| Error::schema(path, message))?);
        Ok(())
    }

    fn finish(self) -> Result<ArrayRef> {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.ends));
        Ok(Arc::new(BinaryArray::try_new(offsets, Buffer::from_vec(self.bytes), None)?))
    }
}

#[cfg(test)]
mod tests;
