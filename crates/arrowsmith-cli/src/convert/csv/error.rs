// SPDX-License-Identifier: Apache-2.0
//! The errors of arrow-csv, with names of files and columns and numbers of records. What it calls
//! lines are records, which may have several lines, counted from the header in some errors and not
//! in others.

use std::io;

use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrowsmith::Error;
use arrowsmith::plan::text::{format_schema, format_type};

/// The error of a file.
pub(super) fn named(error: &ArrowError, name: Option<&str>) -> Error {
    let text = text_of(error);
    invalid(name, &wrong_line(&text).unwrap_or(text))
}

/// What the library says, without the kind of its error.
fn text_of(error: &ArrowError) -> String {
    let text = error.to_string();
    let starts = ["Csv error: ", "Parser error: ", "Invalid argument error: "];
    let rest = starts.iter().find_map(|start| text.strip_prefix(start)).map(str::to_owned);
    rest.unwrap_or(text)
}

/// The error for what is in a file.
pub(super) fn invalid(name: Option<&str>, reason: &str) -> Error {
    let error = io::Error::new(io::ErrorKind::InvalidData, reason);
    Error::io(name.unwrap_or_default(), error)
}

/// The error of a block of records, of which there were others before.
pub(super) fn failed(
    error: &ArrowError,
    name: Option<&str>,
    schema: &Schema,
    is_sampled: bool,
    records_before: u64,
) -> Error {
    let text = text_of(error);
    let known = wrong_value(&text, schema, is_sampled)
        .or_else(|| wrong_count(&text))
        .or_else(|| wrong_text(&text, schema));
    let text = match known {
        Some((record, reason)) => format!("record {}: {reason}", records_before + record),
        None => text,
    };
    invalid(name, &text)
}

/// The library's error for a value that does not have the type of its column.
fn wrong_value(text: &str, schema: &Schema, is_sampled: bool) -> Option<(u64, String)> {
    let (said, place) = match text.strip_prefix("Error while parsing value ") {
        Some(rest) => {
            let (value, rest) = rest.split_once(" as type ")?;
            (format!("is {}", shortened(value)), rest.split_once(" for column ")?.1)
        }
        None => {
            let place = text.strip_prefix("Error parsing column ")?;
            (place.split_once(": ")?.1.to_owned(), place)
        }
    };
    let (column, rest) = place.split_once(" at line ")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let record: u64 = rest.get(..digits)?.parse().ok()?;
    let field = schema.fields().get(column.parse::<usize>().ok()?)?;
    let (name, data_type) = (field.name(), format_type(field.data_type()));
    let hint = match is_sampled {
        true => {
            let text = Field::new(name, DataType::Utf8, true);
            let text = format_schema(&Schema::new(vec![text]));
            let text = text.trim_end();
            format!(
                "; --infer-records all looks at every record, --types '{text}' reads it as text"
            )
        }
        false => String::new(),
    };
    Some((record, format!("{name:?} of type {data_type} {said}{hint}")))
}

/// The library's error for a record that has another number of values than the header.
fn wrong_count(text: &str) -> Option<(u64, String)> {
    let rest = text.strip_prefix("incorrect number of fields for line ")?;
    let (line, rest) = rest.split_once(", expected ")?;
    let (expected, found) = rest.split_once(" got ")?;
    // The header is the first.
    let record = line.parse::<u64>().ok()?.checked_sub(1)?;
    Some((record, format!("the header has {expected} names, this record has {found}")))
}

/// The library's error for a record of another number of values, while the schema is inferred.
fn wrong_line(text: &str) -> Option<String> {
    let rest = text.split_once("unequal lengths between records on CSV file. Expected ")?.1;
    let (expected, rest) = rest.split_once(" records, found ")?;
    let (found, line) = rest.split_once(" records at line ")?;
    Some(format!("line {line}: the header has {expected} names, this record has {found}"))
}

/// The library's error for a value that is not UTF-8.
fn wrong_text(text: &str, schema: &Schema) -> Option<(u64, String)> {
    let rest = text.strip_prefix("Encountered invalid UTF-8 data for line ")?;
    let (line, place) = rest.split_once(" and field ")?;
    let record = line.parse::<u64>().ok()?.checked_sub(1)?;
    let field = schema.fields().get(place.parse::<usize>().ok()?.checked_sub(1)?)?;
    Some((record, format!("{:?} is not UTF-8", field.name())))
}

/// The start of a value in an error.
fn shortened(value: &str) -> String {
    const CHARS_MAX: usize = 80;
    match value.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", value.get(..end).unwrap_or_default()),
        None => value.to_owned(),
    }
}
