// SPDX-License-Identifier: Apache-2.0
//! Columns, and fields of structs, that the first file lacks: added from the metadata of all files
//! before any row is read, or an error, or omitted. Of tables, which have a schema of their own,
//! nothing is late.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use arrowsmith_core::{Error, FileErrorKind, Limits, Result};
use arrowsmith_parquet::{Columns, Predicate, ReadOptions, ReadPlan};
use arrowsmith_source::{DataFile, Input};

use super::conform::{digits, find, is_wider, item, with_item};
use super::input;
use super::prepare::has_column;
use super::table::{LIST, MAP, Names, Requested, aliases, below};

/// How columns, and fields of structs, that the first of several files lacks are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LateColumns {
    /// They are an error, unless only other columns are read.
    #[default]
    Error,
    /// The metadata of all files is read first: the columns are those of all, with a type that
    /// holds the values of each file where there is one.
    Add,
    /// They are not read.
    Ignore,
}

/// Maximum number of files whose metadata is read at a time.
const FILES_AT_A_TIME: usize = 16;

/// The columns of all files, in the order in which they appear: those that are requested, and those
/// that the condition and the choice of dictionaries name.
///
/// # Errors
/// As opening a file; [`Error::Config`] for an input that can be read only once.
pub(super) fn union(
    files: &[DataFile],
    options: &ReadOptions,
    filter: Option<&Predicate>,
    limits: &Limits,
    cancel: &AtomicBool,
) -> Result<SchemaRef> {
    let mut options = options.clone();
    if let Some(columns) = &mut options.columns {
        let filter = filter.map(Predicate::columns).unwrap_or_default();
        columns.extend(filter.into_iter().map(str::to_owned));
        if let Columns::Paths(dictionaries) = &options.dictionary {
            columns.extend_from_slice(dictionaries);
        }
    }
    let mut all: Option<SchemaRef> = None;
    for files in files.chunks(FILES_AT_A_TIME) {
        if cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        for schema in columns_of(files, &options, limits)? {
            all = Some(match all {
                None => schema,
                Some(all) => union_schema(&all, &schema),
            });
        }
    }
    Ok(all.unwrap_or_else(|| Arc::new(Schema::empty())))
}

/// The columns of two files: those of the first, then what only the other has, with types that hold
/// the values of both where there is one, else the first's.
#[must_use]
pub fn union_schema(one: &SchemaRef, other: &Schema) -> SchemaRef {
    if one.fields() == other.fields() {
        return Arc::clone(one);
    }
    let fields = merged(one.fields(), other.fields());
    Arc::new(Schema::new_with_metadata(fields, one.metadata().clone()))
}

/// The columns of some files, which are opened at the same time: those in stores take a while.
/// Metadata that exceeds its share of the limit is read again, alone.
fn columns_of(
    files: &[DataFile],
    options: &ReadOptions,
    limits: &Limits,
) -> Result<Vec<SchemaRef>> {
    let again = |file: &DataFile| {
        file.input.again().ok_or_else(|| {
            let name = file.input.name();
            let name = name.as_deref().unwrap_or("an input");
            let message =
                format!("{name} can be read only once, --late-columns add reads it twice");
            Error::Config(message)
        })
    };
    let inputs = files.iter().map(again).collect::<Result<Vec<_>>>()?;
    let share = limits.metadata_bytes_max / inputs.len().max(1);
    let share = &limits.clone().with_metadata_bytes_max(share);
    let found: Vec<Result<SchemaRef>> = thread::scope(|scope| {
        let open = |input| {
            let opened = move || columns(input, options, share);
            thread::Builder::new().spawn_scoped(scope, opened).map_err(|error| Error::io("", error))
        };
        let opening = inputs.into_iter().map(open).collect::<Result<Vec<_>>>()?;
        let join = |one: thread::ScopedJoinHandle<'_, _>| match one.join() {
            Ok(schema) => schema,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        Ok::<_, Error>(opening.into_iter().map(join).collect())
    })?;
    let found = found.into_iter().zip(files).map(|(schema, file)| match schema {
        Err(error) if is_limit(&error) => columns(again(file)?, options, limits),
        schema => schema,
    });
    found.collect()
}

fn is_limit(error: &Error) -> bool {
    matches!(error, Error::File(error) if error.kind == FileErrorKind::Limit)
}

/// The columns of a file.
fn columns(input: Input, options: &ReadOptions, limits: &Limits) -> Result<SchemaRef> {
    let file = input::open(input, limits)?.file;
    if let Ok(plan) = ReadPlan::new(&file, options) {
        return Ok(plan.schema);
    }
    // It may lack some.
    let mut options = options.clone();
    if let Some(columns) = &mut options.columns {
        columns.retain(|column| has_column(&file, column));
    }
    if let Columns::Paths(columns) = &mut options.dictionary {
        columns.retain(|column| has_column(&file, column));
    }
    Ok(ReadPlan::new(&file, &options)?.schema)
}

/// The fields of two files: those of the first, then what only the other has.
fn merged(one: &Fields, other: &Fields) -> Fields {
    let mut places = HashMap::with_capacity(one.len());
    for (place, field) in one.iter().enumerate() {
        places.entry(field.name().as_str()).or_insert(place);
    }
    // Bounded: by the fields of both.
    let mut fields: Vec<FieldRef> = one.to_vec();
    let mut is_in_both = vec![false; fields.len()];
    for field in other {
        match places.get(field.name().as_str()) {
            Some(&place) => {
                fields[place] = merged_field(&fields[place], field);
                is_in_both[place] = true;
            }
            None => fields.push(nullable(field)),
        }
    }
    for (field, is_in_both) in fields.iter_mut().zip(is_in_both) {
        if !is_in_both {
            *field = nullable(field);
        }
    }
    fields.into()
}

fn nullable(field: &FieldRef) -> FieldRef {
    match field.is_nullable() {
        true => Arc::clone(field),
        false => Arc::new(field.as_ref().clone().with_nullable(true)),
    }
}

fn merged_field(one: &FieldRef, other: &Field) -> FieldRef {
    if one.as_ref() == other {
        return Arc::clone(one);
    }
    let data_type = merged_type(one.data_type(), other.data_type());
    let is_nullable = one.is_nullable() || other.is_nullable();
    Arc::new(one.as_ref().clone().with_data_type(data_type).with_nullable(is_nullable))
}

/// A type for the values of both, else the first.
pub(super) fn merged_type(one: &DataType, other: &DataType) -> DataType {
    match (one, other) {
        (DataType::Struct(one), DataType::Struct(other)) => DataType::Struct(merged(one, other)),
        (DataType::Map(one, sorted), DataType::Map(other, _)) => {
            let (DataType::Struct(pair), DataType::Struct(theirs)) =
                (one.data_type(), other.data_type())
            else {
                return DataType::Map(Arc::clone(one), *sorted);
            };
            // Keys and values by their places: their names are as each writer has them.
            let parts = pair.iter().zip(theirs).map(|(one, other)| merged_field(one, other));
            let pair = DataType::Struct(parts.collect());
            DataType::Map(Arc::new(one.as_ref().clone().with_data_type(pair)), *sorted)
        }
        _ => match (item(one), item(other)) {
            (Some(item), Some(other)) => with_item(one, &merged_field(item, other)),
            _ => common(one, other).unwrap_or_else(|| one.clone()),
        },
    }
}

/// The narrowest type that holds the values of both: of a text and a number, boolean, date or time
/// that of the text, since `007` is not the number 7.
fn common(one: &DataType, other: &DataType) -> Option<DataType> {
    use DataType as T;
    if one == other || is_wider(other, one) {
        return Some(one.clone());
    }
    if is_wider(one, other) {
        return Some(other.clone());
    }
    let is_common = |wider: &T| is_wider(one, wider) && is_wider(other, wider);
    if let Some(found) = [T::Int16, T::Int32, T::Int64].into_iter().find(is_common) {
        return Some(found);
    }
    match (digits(one), digits(other)) {
        (Some((whole, scale)), Some((others, other))) => {
            let (whole, scale) = (whole.max(others), scale.max(other));
            let precision = u8::try_from(whole + scale).ok()?;
            let scale = i8::try_from(scale).ok()?;
            match precision {
                0..=38 => Some(T::Decimal128(precision, scale)),
                39..=76 => Some(T::Decimal256(precision, scale)),
                _ => None,
            }
        }
        _ => {
            let is_number = |data_type: &T| data_type.is_integer() || data_type.is_floating();
            (is_number(one) && is_number(other)).then_some(T::Float64)
        }
    }
}

/// Fails for a column that the schema of the first file lacks.
///
/// # Errors
/// [`Error::File`] with its path.
pub(super) fn check(plan: &ReadPlan, schema: &Schema, requested: Requested<'_>) -> Result<()> {
    let mut known = HashMap::with_capacity(schema.fields().len());
    for field in schema.fields() {
        known.entry(field.name().as_str()).or_insert(field);
    }
    let late = plan.fields.iter().find_map(|column| {
        let field = column.field();
        let paths = [vec![field.name().clone()]];
        match known.get(field.name().as_str()) {
            Some(known) => late_type(field.data_type(), known.data_type(), &paths, requested),
            None => requested.whole(&paths).then(|| field.name().clone()),
        }
    });
    let Some(path) = late else { return Ok(()) };
    let message = format!(
        "column {path} is not in the first file; --late-columns add reads the columns of all files \
         before any row, --late-columns ignore leaves it out"
    );
    Err(Error::file(FileErrorKind::Unsupported, message))
}

/// The path of a field that a type lacks.
fn late_type(
    stored: &DataType,
    known: &DataType,
    paths: &[Names],
    requested: Requested<'_>,
) -> Option<String> {
    if stored == known {
        return None;
    }
    let inside = |stored: &Field, known: &Field, paths: &[Names]| {
        late_type(stored.data_type(), known.data_type(), paths, requested)
    };
    match (stored, known) {
        (DataType::Struct(stored), DataType::Struct(known)) => stored.iter().find_map(|field| {
            let paths = below(paths, field);
            match find(known, field.name()) {
                Some((_, known)) => inside(field, known, &paths),
                None => {
                    requested.whole(&paths).then(|| paths.first().map(|path| path.join(".")))?
                }
            }
        }),
        (DataType::Map(stored, _), DataType::Map(known, _)) => {
            let paths = aliases(paths, MAP);
            match (stored.data_type(), known.data_type()) {
                (DataType::Struct(stored), DataType::Struct(known)) => {
                    let mut parts = stored.iter().zip(known);
                    parts.find_map(|(stored, known)| inside(stored, known, &paths))
                }
                _ => None,
            }
        }
        _ => {
            let (stored, known) = (item(stored)?, item(known)?);
            inside(stored, known, &aliases(paths, LIST))
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::TimeUnit;

    use super::*;

    #[test]
    fn a_common_type_is_wider_than_both() {
        use DataType as T;
        let mut all = vec![T::Null, T::Boolean, T::Utf8, T::LargeUtf8, T::Binary, T::Date32];
        all.extend([T::Int8, T::Int16, T::Int32, T::Int64]);
        all.extend([T::UInt8, T::UInt16, T::UInt32, T::UInt64]);
        all.extend([T::Float16, T::Float32, T::Float64]);
        for unit in [TimeUnit::Second, TimeUnit::Microsecond, TimeUnit::Nanosecond] {
            all.extend([None, Some("UTC".into())].map(|zone| T::Timestamp(unit, zone)));
        }
        all.extend([T::Decimal128(5, 2), T::Decimal128(38, 20), T::Decimal256(76, 30)]);
        let mut count = 0;
        for one in &all {
            for other in &all {
                let found = common(one, other);
                assert_eq!(found, common(other, one), "{one} {other}");
                let Some(found) = found else { continue };
                count += 1;
                for part in [one, other] {
                    let is_it = *part == found || is_wider(part, &found);
                    assert!(is_it, "{one} {other}: {found}");
                }
            }
        }
        assert!(count > 200, "{count}");
        for (one, other, expected) in [
            (T::Int8, T::UInt8, Some(T::Int16)),
            (T::Int32, T::UInt32, Some(T::Int64)),
            (T::Int64, T::UInt64, Some(T::Decimal128(20, 0))),
            (T::Int32, T::Float32, Some(T::Float64)),
            (T::Decimal128(5, 4), T::Int64, Some(T::Decimal128(24, 4))),
            (T::Decimal128(38, 0), T::Decimal128(38, 38), Some(T::Decimal256(76, 38))),
            (T::Decimal256(76, 0), T::Decimal256(76, 76), None),
            (T::Utf8, T::Int64, Some(T::Utf8)),
            (T::Date32, T::LargeUtf8, Some(T::LargeUtf8)),
            (T::Utf8, T::Boolean, Some(T::Utf8)),
            (T::Utf8, T::Binary, None),
            (T::Boolean, T::Int64, None),
            (T::Date32, T::Int64, None),
        ] {
            assert_eq!(common(&one, &other), expected, "{one} {other}");
        }
    }

    fn field(name: &str, data_type: DataType) -> Field {
        Field::new(name, data_type, false)
    }

    #[test]
    fn fields_of_structs_are_added_at_any_depth() {
        let record = |fields: Vec<Field>| DataType::Struct(fields.into());
        let list = |item: DataType| DataType::List(Arc::new(field("item", item)));
        let map = |key: &str, value: DataType| {
            let pair = record(vec![field(key, DataType::Utf8), field("value", value)]);
            DataType::Map(Arc::new(field("entries", pair)), false)
        };
        let one = record(vec![field("a", DataType::Int32), field("b", DataType::Null)]);
        let other = record(vec![field("c", DataType::Utf8), field("a", DataType::Int64)]);
        let both = record(vec![
            field("a", DataType::Int64),
            field("b", DataType::Null).with_nullable(true),
            field("c", DataType::Utf8).with_nullable(true),
        ]);
        assert_eq!(merged_type(&one, &other), both);
        assert_eq!(merged_type(&list(one.clone()), &list(other.clone())), list(both.clone()));
        let (one, other) = (map("key", one), map("keys", other));
        assert_eq!(merged_type(&one, &other), map("key", both));
        // What has nothing in common is as in the first.
        for other in [DataType::Utf8, list(DataType::Utf8)] {
            assert_eq!(merged_type(&one, &other), one);
        }
    }
}
