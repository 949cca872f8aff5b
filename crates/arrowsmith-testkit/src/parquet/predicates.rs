// SPDX-License-Identifier: Apache-2.0
//! Random conditions, as text, and the rows that match them by Arrow's own comparison: a filtered
//! read has to equal the full read, filtered.

#![expect(
    clippy::expect_used,
    reason = "only tests run this, and a bug of its own has to be visible at once"
)]

use std::cmp::Ordering;
use std::fmt::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_cast::{CastOptions, cast, cast_with_options};
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, SortOptions};
use arrow_select::filter::filter_record_batch;

use super::random::{RandomFile, file};
use super::{Ask, ParquetRs, Reader, difference};
use crate::random::Rng;

/// Maximum nesting of conditions.
const DEPTH_MAX: usize = 3;

/// Maximum digits of numbers in a condition.
const DIGITS_MAX: usize = 38;

/// The value of a condition for each row: true, false or unknown.
type Truth = Vec<Option<bool>>;

/// Checks a reader on the file of a seed, read with random conditions.
///
/// # Errors
/// The difference, with the seed and how the file was written.
pub fn check_seed(reader: &dyn Reader, seed: u64) -> Result<(), String> {
    let RandomFile { bytes, rows, how } = file(seed);
    let told = |message: String| {
        format!("{}: seed {seed}: {message}\n{how}\n{:?}", reader.name(), rows.schema())
    };
    let all = ParquetRs.read(&bytes, &Ask::default()).and_then(|rows| rows.concat());
    let all = match all {
        // The rows that the reader itself gives without a condition have to do.
        Err(error) if ParquetRs::refuses_sound_file(&error) => {
            reader.read(&bytes, &Ask::default()).and_then(|rows| rows.concat()).map_err(told)?
        }
        all => all.map_err(|error| told(format!("parquet-rs: {error}")))?,
    };
    let rng = &mut Rng::new(seed ^ 0xF117);
    let columns = columns(&all);
    for _ in 0..4 {
        let (text, truth) = condition(rng, &columns, all.num_rows(), DEPTH_MAX);
        let chosen: Vec<usize> = (0..all.num_columns()).filter(|_| !rng.one_in(3)).collect();
        let ask = Ask {
            condition: Some(text.clone()),
            batch_rows: rng.one_in(2).then(|| 1 + rng.below(1_000)),
            columns: rng.one_in(2).then(|| chosen.clone()),
            ..Ask::default()
        };
        let mask: BooleanArray = truth.iter().map(|truth| Some(*truth == Some(true))).collect();
        let expected = filter_record_batch(&all, &mask).and_then(|rows| match &ask.columns {
            Some(chosen) => rows.project(chosen),
            None => Ok(rows),
        });
        let expected = expected.map_err(|error| told(error.to_string()))?;
        let found = reader.read(&bytes, &ask).and_then(|rows| rows.concat());
        let found = found.map_err(|error| told(format!("{ask:?}: {error}")))?;
        if let Some(text) = difference(&found, &expected) {
            return Err(told(format!("{ask:?}: {text}")));
        }
    }
    Ok(())
}

/// The symbol of an operator, and the orderings for which it is true.
type Operator = (&'static str, fn(Ordering) -> bool);

/// A column that a condition can name, without dictionaries and with the nulls of its parents.
struct Named {
    path: String,
    values: ArrayRef,
    nulls: Vec<bool>,
}

fn columns(batch: &RecordBatch) -> Vec<Named> {
    let mut named = Vec::new();
    let none = vec![false; batch.num_rows()];
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        collect(field.name().clone(), column, &none, &mut named);
    }
    named
}

fn collect(path: String, column: &ArrayRef, above: &[bool], named: &mut Vec<Named>) {
    let own = column.logical_nulls();
    let is_null = |row: usize| own.as_ref().is_some_and(|nulls| nulls.is_null(row));
    let nulls: Vec<bool> =
        above.iter().enumerate().map(|(row, above)| *above || is_null(row)).collect();
    if let Some(parts) = column.as_struct_opt() {
        for (field, part) in parts.fields().iter().zip(parts.columns()) {
            collect(format!("{path}.{}", field.name()), part, &nulls, named);
        }
    }
    let values = match column.data_type() {
        DataType::Dictionary(_, values) => cast(column, values).ok(),
        _ => Some(Arc::clone(column)),
    };
    named.extend(values.map(|values| Named { path, values, nulls }));
}

fn condition(rng: &mut Rng, columns: &[Named], rows: usize, depth: usize) -> (String, Truth) {
    if depth == 0 || rng.one_in(2) {
        let column = rng.pick(columns);
        return test(rng, column, rows);
    }
    if rng.one_in(4) {
        let (text, truth) = condition(rng, columns, rows, depth - 1);
        let truth = truth.iter().map(|truth| truth.map(|truth| !truth)).collect();
        return (format!("not ({text})"), truth);
    }
    let (word, decisive) = if rng.one_in(2) { ("and", false) } else { ("or", true) };
    let (left_text, left) = condition(rng, columns, rows, depth - 1);
    let (right_text, right) = condition(rng, columns, rows, depth - 1);
    let both = left.iter().zip(&right).map(|(left, right)| {
        if *left == Some(decisive) || *right == Some(decisive) {
            return Some(decisive);
        }
        left.and(*right)
    });
    (format!("({left_text}) {word} ({right_text})"), both.collect())
}

fn test(rng: &mut Rng, column: &Named, rows: usize) -> (String, Truth) {
    let path = format!("\"{}\"", column.path);
    let row = rng.below(rows.max(1));
    let literal = match row < rows && !column.nulls[row] && !rng.one_in(8) {
        true => literal(&column.values, row),
        false => None,
    };
    let Some(literal) = literal else {
        let wanted = rng.one_in(2);
        let truth = column.nulls.iter().map(|null| Some(*null == wanted)).collect();
        return (format!("{path} is {}null", if wanted { "" } else { "not " }), truth);
    };
    let compared = compare(column, row);
    let operators: [Operator; 6] = [
        ("=", Ordering::is_eq),
        ("<>", Ordering::is_ne),
        ("<", Ordering::is_lt),
        ("<=", Ordering::is_le),
        (">", Ordering::is_gt),
        (">=", Ordering::is_ge),
    ];
    if rng.one_in(6) {
        let truth = compared.iter().map(|known| known.map(|order| order == Some(Ordering::Equal)));
        return (format!("{path} in ({literal}, {literal})"), truth.collect());
    }
    let (symbol, holds) = *rng.pick(&operators);
    // Unordered values are not equal.
    let holds = |order: Option<Ordering>| order.map_or(symbol == "<>", holds);
    (format!("{path} {symbol} {literal}"), compared.iter().map(|known| known.map(holds)).collect())
}

/// Compares every value with that of a row: unknown for null; NaN is unordered.
fn compare(column: &Named, row: usize) -> Vec<Option<Option<Ordering>>> {
    let rows = 0..column.values.len();
    if column.values.data_type().is_floating() {
        let numbers = cast(&column.values, &DataType::Float64).expect("a wider number");
        let numbers = numbers.as_primitive::<Float64Type>().values();
        let order = |at: usize| numbers[at].partial_cmp(&numbers[row]);
        return rows.map(|at| (!column.nulls[at]).then(|| order(at))).collect();
    }
    let comparator = make_comparator(&column.values, &column.values, SortOptions::default());
    let comparator = comparator.expect("a type with an order");
    rows.map(|at| (!column.nulls[at]).then(|| Some(comparator(at, row)))).collect()
}

/// The value as a literal of a condition; `None` for types without a text form, and values whose
/// text Arrow does not parse back.
fn literal(values: &ArrayRef, row: usize) -> Option<String> {
    use DataType as T;
    let value = values.slice(row, 1);
    let shown = |array: &ArrayRef| -> Option<String> {
        let formatter = ArrayFormatter::try_new(array, &FormatOptions::default()).ok()?;
        formatter.value(0).try_to_string().ok()
    };
    match values.data_type() {
        T::Boolean => shown(&value),
        T::Duration(_) => shown(&cast(&value, &T::Int64).ok()?),
        kind if kind.is_integer() => shown(&value),
        kind if kind.is_floating() => {
            let number = cast(&value, &T::Float64).ok()?;
            let number = number.as_primitive::<Float64Type>().value(0);
            number.is_finite().then(|| format!("{number:?}"))
        }
        kind if kind.is_decimal() => {
            let text = shown(&value)?;
            (text.bytes().filter(u8::is_ascii_digit).count() <= DIGITS_MAX).then_some(text)
        }
        T::Utf8 | T::LargeUtf8 | T::Utf8View => {
            let text = cast(&value, &T::Utf8).ok()?;
            Some(format!("'{}'", text.as_string::<i32>().value(0).replace('\'', "''")))
        }
        T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => {
            let bytes = cast(&value, &T::Binary).ok()?;
            let mut text = "x'".to_owned();
            for byte in bytes.as_binary::<i32>().value(0) {
                let _ = write!(text, "{byte:02x}");
            }
            Some(text + "'")
        }
        kind @ (T::Date32 | T::Date64 | T::Time32(_) | T::Time64(_) | T::Timestamp(..)) => {
            // In UTC if there is a time zone, because Arrow supports it without a time zone
            // database.
            let utc = match kind {
                T::Timestamp(unit, Some(_)) => T::Timestamp(*unit, Some("+00:00".into())),
                other => other.clone(),
            };
            let value = cast(&value, &utc).ok()?;
            let text = shown(&value)?;
            let again: ArrayRef = Arc::new(StringArray::from(vec![text.as_str()]));
            let options = CastOptions { safe: false, ..CastOptions::default() };
            let again = cast_with_options(&again, &utc, &options).ok()?;
            (again.to_data() == value.to_data()).then(|| format!("'{text}'"))
        }
        _ => None,
    }
}
