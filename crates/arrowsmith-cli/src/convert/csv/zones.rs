// SPDX-License-Identifier: Apache-2.0
//! Which columns of times say a zone: arrow-csv infers one type for texts with and without one.

use std::io::{self, Read};

use arrow_array::timezone::Tz;
use arrow_cast::parse::string_to_datetime;
use arrow_schema::{DataType, FieldRef, Schema};
use csv_core::{ReadFieldResult, Reader};

/// Length of `2024-02-29` and of `2024-02-29T01:02:03`.
const LENGTHS: [usize; 2] = [10, 19];

/// Bytes of a value that are looked at; a longer one makes a column of times text.
const VALUE_BYTES_MAX: usize = 64;

/// Whether the text of a time has something after its seconds and their fraction.
pub(super) fn says_zone(text: &str) -> bool {
    let rest = text.get(LENGTHS[1]..).unwrap_or_default();
    let rest = match rest.strip_prefix('.') {
        Some(rest) => rest.trim_start_matches(|digit: char| digit.is_ascii_digit()),
        None => rest,
    };
    !rest.is_empty()
}

/// What the values of a column say.
#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    with: bool,
    without: bool,
}

impl Seen {
    fn add(&mut self, value: &[u8]) {
        let text = str::from_utf8(value).unwrap_or_default();
        if text.len() < LENGTHS[0] {
            return;
        }
        if !says_zone(text) {
            self.without = true;
            return;
        }
        self.with = true;
        // What is there need not be a zone.
        let is_time = |zone: Tz| string_to_datetime(&zone, text).is_ok();
        self.without |= !"+00:00".parse().is_ok_and(is_time);
    }
}

/// A text with a header that is passed on as it is read, and looked at.
pub(super) struct Zones<R> {
    text: R,
    parser: Reader,
    value: [u8; VALUE_BYTES_MAX],
    len: usize,
    is_header: bool,
    column: usize,
    columns: Vec<Seen>,
    /// Records to look at; `None`: all.
    left: Option<usize>,
}

impl<R: Read> Zones<R> {
    pub(super) fn new(text: R, delimiter: u8, records: Option<usize>) -> Self {
        Self {
            text,
            parser: csv_core::ReaderBuilder::new().delimiter(delimiter).build(),
            value: [0; VALUE_BYTES_MAX],
            len: 0,
            is_header: true,
            column: 0,
            columns: Vec::new(),
            left: records,
        }
    }

    /// Without bytes it is the end, of the last value, too.
    fn look(&mut self, mut bytes: &[u8]) {
        let is_end = bytes.is_empty();
        while (is_end || !bytes.is_empty()) && self.left != Some(0) {
            let room = self.value.get_mut(self.len..).unwrap_or_default();
            let (found, read, written) = self.parser.read_field(bytes, room);
            bytes = bytes.get(read..).unwrap_or_default();
            self.len += written;
            match found {
                ReadFieldResult::Field { record_end } => self.end_value(record_end),
                ReadFieldResult::OutputFull => {
                    self.len = 0;
                    if let Some(column) = self.columns.get_mut(self.column) {
                        *column = Seen { with: true, without: true };
                    }
                }
                ReadFieldResult::InputEmpty => {}
                ReadFieldResult::End => break,
            }
        }
    }

    fn end_value(&mut self, is_last: bool) {
        let value = self.value.get(..std::mem::take(&mut self.len)).unwrap_or_default();
        if self.is_header {
            self.columns.push(Seen::default());
        } else if let Some(column) = self.columns.get_mut(self.column) {
            column.add(value);
        }
        self.column += 1;
        if is_last {
            self.column = 0;
            if !std::mem::take(&mut self.is_header) {
                self.left = self.left.map(|left| left.saturating_sub(1));
            }
        }
    }

    /// The types of the columns: times in UTC where each says a zone, text where some do.
    pub(super) fn typed(&self, schema: &Schema) -> Schema {
        let field = |(at, field): (usize, &FieldRef)| {
            let seen = self.columns.get(at).copied().unwrap_or_default();
            let DataType::Timestamp(unit, None) = field.data_type() else {
                return FieldRef::clone(field);
            };
            let data_type = match (seen.with, seen.without) {
                (false, _) => return FieldRef::clone(field),
                (true, false) => DataType::Timestamp(*unit, Some("UTC".into())),
                (true, true) => DataType::Utf8,
            };
            FieldRef::new(field.as_ref().clone().with_data_type(data_type))
        };
        Schema::new(schema.fields().iter().enumerate().map(field).collect::<Vec<_>>())
    }
}

impl<R: Read> Read for Zones<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.text.read(buffer)?;
        if !buffer.is_empty() {
            self.look(buffer.get(..count).unwrap_or_default());
        }
        Ok(count)
    }
}
