// SPDX-License-Identifier: Apache-2.0
//! The errors of arrow-csv, with names of files and columns and numbers of records. What it calls
//! lines are records, which may have several lines, counted from the header in some errors and not
//! in others.

use std::io;

use arrow_schema::{ArrowError, FieldRef, Schema};
use arrowsmith::Error;
use arrowsmith::plan::text::format_type;

use super::Guess;

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

/// Why a block has no more records. Those are counted from 1, columns are by their place in the
/// text.
pub(super) enum Failed {
    Library(ArrowError),
    /// A value that does not have the type of its column.
    Value {
        record: u64,
        place: usize,
        text: String,
    },
    /// No value, where one has to be.
    Missing {
        record: u64,
        place: usize,
    },
    /// A record that is none.
    Record {
        record: u64,
        reason: &'static str,
    },
}

impl From<ArrowError> for Failed {
    fn from(error: ArrowError) -> Self {
        Self::Library(error)
    }
}

/// The error of a block of records, of which there were others before.
pub(super) fn failed(
    error: Failed,
    name: Option<&str>,
    schema: &Schema,
    guess: &Guess,
    records_before: u64,
) -> Error {
    let (known, text) = match error {
        Failed::Value { record, place, text } => {
            let said = format!("is '{}'", shortened(&text));
            (wrong(schema, guess, place, &said).map(|reason| (record, reason)), text)
        }
        Failed::Missing { record, place } => {
            let field = schema.fields().get(place);
            let reason =
                |field: &FieldRef| format!("{:?} has no value, and may not be null", field.name());
            (field.map(|field| (record, reason(field))), String::new())
        }
        Failed::Record { record, reason } => (Some((record, reason.to_owned())), String::new()),
        Failed::Library(error) => {
            let text = text_of(&error);
            let known = wrong_value(&text, schema, guess)
                .or_else(|| wrong_count(&text))
                .or_else(|| wrong_text(&text, schema));
            (known, text)
        }
    };
    let text = match known {
        Some((record, reason)) => format!("record {}: {reason}", records_before + record),
        None => text,
    };
    invalid(name, &text)
}

/// The library's error for a value that does not have the type of its column.
fn wrong_value(text: &str, schema: &Schema, guess: &Guess) -> Option<(u64, String)> {
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
    Some((record, wrong(schema, guess, column.parse().ok()?, &said)?))
}

/// That a value does not have the type of its column.
fn wrong(schema: &Schema, guess: &Guess, place: usize, said: &str) -> Option<String> {
    let field = schema.fields().get(place)?;
    let (name, data_type) = (field.name(), format_type(field.data_type()));
    Some(format!("{name:?} of type {data_type} {said}{}", guess.remedy(name)))
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
