// SPDX-License-Identifier: Apache-2.0
//! Rows of a batch as canonical text: equal rows give equal text, and different ones different
//! text.
//!
//! A row is a JSON object of its columns in the order of the schema, without white space:
//! - integers, dates, times, timestamps and durations are integers of the column's unit;
//! - floating-point numbers are the shortest text that reads back to the same bits, with `.0` where
//!   it would look like an integer; `"NaN"`, `"Infinity"`, `"-Infinity"` are strings;
//! - decimals are strings with as many decimals as the scale; binary is a string of lower-case hex;
//! - strings, and the text of `arrow.json` columns, are JSON strings in which only `"`, `\` and
//!   control characters are escaped;
//! - a map is a list of `[key,value]` pairs, in order; a dictionary its value.

use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrowPrimitiveType, RecordBatch};
use arrow_schema::{DataType, Fields, TimeUnit};

/// Every row of a batch.
pub fn rows(batch: &RecordBatch) -> Vec<String> {
    let schema = batch.schema();
    (0..batch.num_rows())
        .map(|row| {
            let mut out = String::new();
            object(&mut out, schema.fields(), batch.columns(), row);
            out
        })
        .collect()
}

fn object(out: &mut String, fields: &Fields, columns: &[arrow_array::ArrayRef], row: usize) {
    out.push('{');
    for (index, (field, column)) in fields.iter().zip(columns).enumerate() {
        if index > 0 {
            out.push(',');
        }
        string(out, field.name());
        out.push(':');
        value(out, column.as_ref(), row);
    }
    out.push('}');
}

/// Appends one value.
pub fn value(out: &mut String, array: &dyn Array, row: usize) {
    use DataType as T;
    if array.data_type() == &T::Null || array.is_null(row) {
        out.push_str("null");
        return;
    }
    match array.data_type() {
        T::Boolean => out.push_str(if array.as_boolean().value(row) { "true" } else { "false" }),
        T::Int8 => plain::<Int8Type>(out, array, row),
        T::Int16 => plain::<Int16Type>(out, array, row),
        T::Int32 => plain::<Int32Type>(out, array, row),
        T::Int64 => plain::<Int64Type>(out, array, row),
        T::UInt8 => plain::<UInt8Type>(out, array, row),
        T::UInt16 => plain::<UInt16Type>(out, array, row),
        T::UInt32 => plain::<UInt32Type>(out, array, row),
        T::UInt64 => plain::<UInt64Type>(out, array, row),
        T::Date32 => plain::<Date32Type>(out, array, row),
        T::Date64 => plain::<Date64Type>(out, array, row),
        T::Time32(TimeUnit::Second) => plain::<Time32SecondType>(out, array, row),
        T::Time32(_) => plain::<Time32MillisecondType>(out, array, row),
        T::Time64(TimeUnit::Nanosecond) => plain::<Time64NanosecondType>(out, array, row),
        T::Time64(_) => plain::<Time64MicrosecondType>(out, array, row),
        T::Timestamp(unit, _) => match unit {
            TimeUnit::Second => plain::<TimestampSecondType>(out, array, row),
            TimeUnit::Millisecond => plain::<TimestampMillisecondType>(out, array, row),
            TimeUnit::Microsecond => plain::<TimestampMicrosecondType>(out, array, row),
            TimeUnit::Nanosecond => plain::<TimestampNanosecondType>(out, array, row),
        },
        T::Duration(unit) => match unit {
            TimeUnit::Second => plain::<DurationSecondType>(out, array, row),
            TimeUnit::Millisecond => plain::<DurationMillisecondType>(out, array, row),
            TimeUnit::Microsecond => plain::<DurationMicrosecondType>(out, array, row),
            TimeUnit::Nanosecond => plain::<DurationNanosecondType>(out, array, row),
        },
        T::Float16 => {
            float(out, array.as_primitive::<Float16Type>().value(row).to_f32());
        }
        T::Float32 => float(out, array.as_primitive::<Float32Type>().value(row)),
        T::Float64 => double(out, array.as_primitive::<Float64Type>().value(row)),
        T::Decimal128(_, scale) => {
            decimal(out, &array.as_primitive::<Decimal128Type>().value(row).to_string(), *scale);
        }
        T::Decimal256(_, scale) => {
            decimal(out, &array.as_primitive::<Decimal256Type>().value(row).to_string(), *scale);
        }
        T::Utf8 => string(out, array.as_string::<i32>().value(row)),
        T::LargeUtf8 => string(out, array.as_string::<i64>().value(row)),
        T::Utf8View => string(out, array.as_string_view().value(row)),
        T::Binary => hex(out, array.as_binary::<i32>().value(row)),
        T::LargeBinary => hex(out, array.as_binary::<i64>().value(row)),
        T::BinaryView => hex(out, array.as_binary_view().value(row)),
        T::FixedSizeBinary(_) => hex(out, array.as_fixed_size_binary().value(row)),
        T::List(_) => list(out, array.as_list::<i32>().value(row).as_ref()),
        T::LargeList(_) => list(out, array.as_list::<i64>().value(row).as_ref()),
        T::FixedSizeList(..) => list(out, array.as_fixed_size_list().value(row).as_ref()),
        T::Struct(fields) => object(out, fields, array.as_struct().columns(), row),
        T::Map(..) => {
            let entries = array.as_map().value(row);
            out.push('[');
            for entry in 0..entries.len() {
                out.push_str(if entry == 0 { "[" } else { ",[" });
                value(out, entries.column(0).as_ref(), entry);
                out.push(',');
                value(out, entries.column(1).as_ref(), entry);
                out.push(']');
            }
            out.push(']');
        }
        T::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let key = dictionary.normalized_keys()[row];
            value(out, dictionary.values().as_ref(), key);
        }
        other => {
            let _ = write!(out, "<{other}>");
        }
    }
}

fn plain<P: ArrowPrimitiveType>(out: &mut String, array: &dyn Array, row: usize)
where
    P::Native: std::fmt::Display,
{
    // Writing to a string cannot fail.
    let _ = write!(out, "{}", array.as_primitive::<P>().value(row));
}

fn list(out: &mut String, items: &dyn Array) {
    out.push('[');
    for item in 0..items.len() {
        if item > 0 {
            out.push(',');
        }
        value(out, items, item);
    }
    out.push(']');
}

fn float(out: &mut String, value: f32) {
    if value.is_finite() {
        let _ = write!(out, "{value:?}");
    } else {
        double(out, f64::from(value));
    }
}

fn double(out: &mut String, value: f64) {
    let _ = match value {
        _ if value.is_finite() => write!(out, "{value:?}"),
        _ if value.is_nan() => write!(out, "\"NaN\""),
        _ if value > 0.0 => write!(out, "\"Infinity\""),
        _ => write!(out, "\"-Infinity\""),
    };
}

/// An unscaled value in digits, with the point where the scale puts it.
fn decimal(out: &mut String, unscaled: &str, scale: i8) {
    let (sign, digits) = match unscaled.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", unscaled),
    };
    let text = if scale > 0 {
        let places = usize::from(scale.unsigned_abs());
        let digits = format!("{digits:0>width$}", width = places + 1);
        let (whole, fraction) = digits.split_at(digits.len() - places);
        format!("{sign}{whole}.{fraction}")
    } else if digits == "0" {
        digits.to_owned()
    } else {
        format!("{sign}{digits}{}", "0".repeat(usize::from(scale.unsigned_abs())))
    };
    let _ = write!(out, "\"{text}\"");
}

fn hex(out: &mut String, bytes: &[u8]) {
    out.push('"');
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out.push('"');
}

/// Appends a JSON string.
pub fn string(out: &mut String, text: &str) {
    out.push('"');
    for char in text.chars() {
        let _ = match char {
            '"' => write!(out, "\\\""),
            '\\' => write!(out, "\\\\"),
            '\n' => write!(out, "\\n"),
            '\r' => write!(out, "\\r"),
            '\t' => write!(out, "\\t"),
            char if char < ' ' => write!(out, "\\u{:04x}", u32::from(char)),
            char => write!(out, "{char}"),
        };
    }
    out.push('"');
}
