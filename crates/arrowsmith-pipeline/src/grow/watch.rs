// SPDX-License-Identifier: Apache-2.0
//! Looks at decoded values for what the decoder accepted although it would widen the schema.

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, RecordBatch, StringArray};
use arrowsmith_json::infer::{Watch, has_long_integer, is_data};

/// What the values say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Alarm {
    /// The schema stays.
    #[default]
    None,
    /// It stays, unless the text contains an integer that a `float64` rounds.
    LongIntegers,
    /// It changes.
    Wider,
}

/// Whether a batch holds values that its decoder accepted although they widen the inferred schema.
/// `texts` are what it was decoded from.
pub fn widens<'a>(
    watch: &Watch,
    values: &RecordBatch,
    mut texts: impl Iterator<Item = &'a [u8]>,
) -> bool {
    match batch(watch, values) {
        Alarm::None => false,
        Alarm::LongIntegers => texts.any(has_long_integer),
        Alarm::Wider => true,
    }
}

/// Looks at the values of a batch.
pub(crate) fn batch(watch: &Watch, batch: &RecordBatch) -> Alarm {
    match watch {
        Watch::Struct(fields) if is_object(batch) => {
            let column = |(name, watch): &(Box<str>, Watch)| {
                batch.column_by_name(name).map_or(Alarm::None, |column| values(watch, column))
            };
            fields.iter().map(column).max().unwrap_or_default()
        }
        watch => batch.columns().first().map_or(Alarm::None, |column| values(watch, column)),
    }
}

/// Whether records are objects of the columns rather than values of the only column.
fn is_object(batch: &RecordBatch) -> bool {
    !batch.schema_ref().metadata().contains_key(arrowsmith_plan::plan::ROOT_METADATA_KEY)
}

fn values(watch: &Watch, array: &dyn Array) -> Alarm {
    let wider = |is: bool| if is { Alarm::Wider } else { Alarm::None };
    match watch {
        Watch::Null => wider(array.null_count() < array.len()),
        Watch::Empty => wider(!array.as_string_opt::<i32>().is_some_and(empty_objects)),
        Watch::Float => match array.as_primitive_opt::<Float64Type>() {
            // NaN is not below anything.
            Some(floats) if all_below(floats.values(), 2_f64.powi(53)) => Alarm::None,
            _ => Alarm::LongIntegers,
        },
        Watch::Text => match array.as_string_opt::<i32>() {
            Some(texts) => wider(texts.iter().flatten().any(may_be_no_string)),
            // A type that was given.
            None => Alarm::None,
        },
        // Every record is inferred from then.
        Watch::Time => Alarm::None,
        Watch::List(item) => match array.as_list_opt::<i32>() {
            Some(list) => values(item, list.values()),
            None => Alarm::Wider,
        },
        Watch::Struct(fields) => match array.as_struct_opt() {
            Some(array) => {
                let field = |(name, watch): &(Box<str>, Watch)| {
                    array.column_by_name(name).map_or(Alarm::None, |column| values(watch, column))
                };
                fields.iter().map(field).max().unwrap_or_default()
            }
            None => Alarm::Wider,
        },
        Watch::Map { data_keys, values: below } => {
            let Some(map) = array.as_map_opt() else { return Alarm::Wider };
            let is_key = |key: Option<&str>| key.is_none_or(is_data);
            let keys = || map.keys().as_string_opt::<i32>().is_some_and(|k| k.iter().all(is_key));
            let of_keys = wider(*data_keys && !keys());
            let of_values = below.as_ref().map_or(Alarm::None, |below| values(below, map.values()));
            of_keys.max(of_values)
        }
    }
}

/// Whether the text of a value that is not a string may be this.
fn may_be_no_string(text: &str) -> bool {
    match text.as_bytes() {
        b"true" | b"false" | b"NaN" | b"Infinity" | b"-Infinity" => true,
        [b'{', .., b'}'] | [b'[', .., b']'] => true,
        [b'-', b'0'..=b'9', ..] => true,
        [b'0'..=b'9', .., last] => last.is_ascii_digit(),
        [only] => only.is_ascii_digit(),
        _ => false,
    }
}

/// Whether all absolute values are below a limit. Without a branch for each, so that it is vectors.
fn all_below(values: &[f64], limit: f64) -> bool {
    values.chunks(1024).all(|some| some.iter().fold(true, |all, value| all & (value.abs() < limit)))
}

/// Whether every text is that of an object without keys.
pub(crate) fn empty_objects(texts: &StringArray) -> bool {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    texts.iter().flatten().all(|text| match text.as_bytes() {
        [b'{', between @ .., b'}'] => between.iter().all(is_space),
        _ => false,
    })
}
