// SPDX-License-Identifier: Apache-2.0
//! The schema of CSV: the columns of the headers of all texts, with the types that arrow-csv infers
//! from their first records, and the zones of times.

use std::io::{self, Cursor, Read};
use std::sync::Arc;

use arrow_csv::reader::Format;
use arrow_schema::{DataType, FieldRef, Schema};
use arrowsmith::Result;

use super::error::{invalid, named};
use super::header::{check, header, indices, too_many, with_text};
use super::zones::Zones;

/// Infers the schema of several texts: the columns of all their headers, in the order in which they
/// appear, with the types that one text with all records would have.
pub struct Inference {
    format: Format,
    delimiter: u8,
    fields_max: usize,
    /// Without what later records say. Columns without a value are of type null.
    schema: Option<Schema>,
    /// Records to look at; `None`: all.
    left: Option<usize>,
    /// Bytes that may be read.
    most: usize,
}

impl Inference {
    /// Of the first `records` records, or of all; of those that are within about `most` bytes.
    pub fn new(delimiter: u8, records: Option<usize>, most: usize, fields_max: usize) -> Self {
        let format = Format::default().with_header(true).with_delimiter(delimiter);
        Self { format, delimiter, fields_max, schema: None, left: records, most }
    }

    /// Whether there may be records that were not looked at.
    pub fn is_sampled(&self) -> bool {
        self.left == Some(0)
    }

    /// Reads the next text as far as needed, and returns what was read if `keep`. One without a
    /// header says nothing. After enough records, or one text that goes beyond the bytes that may
    /// be read, only headers are read.
    ///
    /// # Errors
    /// [`Error::Io`](arrowsmith::Error::Io) for a text that is not CSV, for too many names in all
    /// headers, and if the bytes that may be read are not enough for the first text.
    pub fn add(
        &mut self,
        reader: &mut dyn Read,
        name: Option<&str>,
        keep: bool,
    ) -> Result<Vec<u8>> {
        if self.is_sampled() {
            let (header, kept) = self.header(reader, name, keep)?;
            self.add_header(&header, name)?;
            return Ok(kept);
        }
        let mut start = Start::new(reader, usize::MAX, keep);
        // First the header alone: memory is taken for as many columns as it has.
        let (header, head) = self.names(&mut start, name)?;
        if header.fields().is_empty() {
            return Ok(start.kept);
        }
        start.most = self.most;
        let text = Cursor::new(head).chain(&mut start);
        let mut text = Zones::new(text, self.delimiter, self.left);
        let seen = self.format.infer_schema(&mut text, self.left);
        let seen = seen.map(|(schema, records)| (text.typed(&schema), records));
        self.most -= start.read.min(self.most);
        match seen {
            Ok((schema, records)) => {
                self.left = self.left.map(|left| left.saturating_sub(records));
                self.add_header(&schema, name)?;
            }
            Err(_) if start.is_over && self.schema.is_some() => {
                self.left = Some(0);
                self.add_header(&header, name)?;
            }
            Err(error) => return Err(named(&error, name)),
        }
        Ok(start.kept)
    }

    /// The columns of a text, of type null, or none without a header; and what was read if `keep`.
    ///
    /// # Errors
    /// As [`Inference::add`].
    pub fn header(
        &self,
        reader: &mut dyn Read,
        name: Option<&str>,
        keep: bool,
    ) -> Result<(Schema, Vec<u8>)> {
        let mut start = Start::new(reader, usize::MAX, keep);
        let (header, _) = self.names(&mut start, name)?;
        Ok((header, start.kept))
    }

    fn names(&self, reader: &mut dyn Read, name: Option<&str>) -> Result<(Schema, Vec<u8>)> {
        let read = header(&self.format, reader).map_err(|error| named(&error, name))?;
        if !read.0.fields().is_empty() {
            let checked = check(&with_text(&read.0), self.fields_max);
            checked.map_err(|reason| invalid(name, &reason))?;
        }
        Ok(read)
    }

    /// Adds the columns of the next text.
    ///
    /// # Errors
    /// [`Error::Io`](arrowsmith::Error::Io) for too many names in all headers.
    pub fn add_header(&mut self, schema: &Schema, name: Option<&str>) -> Result<()> {
        if schema.fields().is_empty() {
            return Ok(());
        }
        let merged = match &self.schema {
            None => schema.clone(),
            Some(before) => merged(before, schema),
        };
        if merged.fields().len() > self.fields_max {
            return Err(invalid(name, &too_many(self.fields_max)));
        }
        self.schema = Some(merged);
        Ok(())
    }

    /// The schema, with text where there was no value.
    pub fn schema(self) -> Schema {
        self.schema.map_or_else(Schema::empty, |schema| with_text(&schema))
    }
}

/// The schema for the records of two texts: the columns of the first, then what only the other has.
fn merged(one: &Schema, other: &Schema) -> Schema {
    let known = indices(one);
    let mut fields: Vec<FieldRef> = one.fields().to_vec();
    for field in other.fields() {
        match known.get(field.name().as_str()).and_then(|at| fields.get_mut(*at)) {
            None => fields.push(Arc::clone(field)),
            Some(one) => {
                let wider = wider(one.data_type(), field.data_type());
                if wider != *one.data_type() {
                    *one = Arc::new(one.as_ref().clone().with_data_type(wider));
                }
            }
        }
    }
    Schema::new(fields)
}

/// The type of a column with values of both types, as it is inferred within one text.
fn wider(one: &DataType, other: &DataType) -> DataType {
    match (one, other) {
        (same, other) if same == other => same.clone(),
        (DataType::Null, some) | (some, DataType::Null) => some.clone(),
        (DataType::Int64, DataType::Float64) | (DataType::Float64, DataType::Int64) => {
            DataType::Float64
        }
        (time @ DataType::Timestamp(_, None), DataType::Date32)
        | (DataType::Date32, time @ DataType::Timestamp(_, None)) => time.clone(),
        (DataType::Timestamp(one, zone), DataType::Timestamp(other, same)) if zone == same => {
            DataType::Timestamp((*one).max(*other), zone.clone())
        }
        _ => DataType::Utf8,
    }
}

/// Counts what is read, up to a limit, and may keep it.
pub(super) struct Start<'a> {
    reader: &'a mut dyn Read,
    read: usize,
    most: usize,
    /// Whether more than that was wanted.
    pub(super) is_over: bool,
    keep: bool,
    pub(super) kept: Vec<u8>,
}

impl<'a> Start<'a> {
    pub(super) fn new(reader: &'a mut dyn Read, most: usize, keep: bool) -> Self {
        Self { reader, read: 0, most, is_over: false, keep, kept: Vec::new() }
    }
}

impl Read for Start<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read >= self.most {
            self.is_over = true;
            let message = format!(
                "the records to infer the schema from take more than {} bytes; give --schema",
                self.most
            );
            return Err(io::Error::other(message));
        }
        let count = self.reader.read(buffer)?;
        self.read += count;
        if self.keep {
            self.kept.extend_from_slice(buffer.get(..count).unwrap_or_default());
        }
        Ok(count)
    }
}
