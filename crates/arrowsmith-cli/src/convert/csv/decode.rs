// SPDX-License-Identifier: Apache-2.0
//! Decodes blocks of a text by arrow-csv, each on its own.

use std::io::{BufRead, Cursor, Read};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_csv::ReaderBuilder;
use arrow_csv::reader::{Decoder, Format};
use arrow_schema::{ArrowError, DataType, FieldRef, Schema, SchemaRef};
use arrowsmith::Result;

use super::blocks::{Block, Blocks};
use super::error::{Failed, failed, invalid, named};
use super::exact::{Refused, has_infinite, is_float, is_parsed_here, parsed};
use super::header::{check, header, in_order, places, with_text};
use super::{CsvOptions, Guess};

/// Maximum number of rows of a batch.
const BATCH_ROWS_MAX: usize = 8192;

/// Maximum number of values of a batch of several rows: the decoder allocates for all of them.
const BATCH_VALUES_MAX: usize = 1 << 20;

/// A text whose header was read.
pub(super) struct Text {
    pub(super) name: Option<Arc<str>>,
    pub(super) options: CsvOptions,
    guess: Arc<Guess>,
    /// Which text it is.
    pub(super) number: usize,
    /// All columns of the text, in its order, and those that are read, by their place in it.
    own: SchemaRef,
    columns: Vec<usize>,
    /// The schema of the batches, and which of its columns the text has.
    output: SchemaRef,
    is_present: Vec<bool>,
}

impl Text {
    /// Reads the header, which has the names of the schema, in any order, if `may_lack` some of
    /// them; some of the schema's columns, or all.
    ///
    /// # Errors
    /// [`Error::Io`](arrowsmith::Error::Io) for other names, two columns with the same one, and
    /// more than `fields_max`.
    pub(super) fn open(
        (number, name): (usize, Option<Arc<str>>),
        mut reader: Box<dyn BufRead + Send>,
        schema: &SchemaRef,
        columns: Option<&[usize]>,
        options: CsvOptions,
        guess: &Arc<Guess>,
    ) -> Result<Blocks> {
        let refused = |reason: String| invalid(name.as_deref(), &reason);
        check(schema, options.fields_max).map_err(refused)?;
        let format = Format::default().with_header(true).with_delimiter(options.delimiter);
        let (header, head) =
            header(&format, &mut reader).map_err(|error| named(&error, name.as_deref()))?;
        let (own, places) = match header.fields().is_empty() {
            // There are no records.
            true => (Arc::clone(schema), (0..schema.fields().len()).map(Some).collect()),
            false => {
                check(&with_text(&header), options.fields_max).map_err(refused)?;
                let places = places(schema, &header, options.may_lack).map_err(refused)?;
                (Arc::new(in_order(schema, &places)), places)
            }
        };
        let (output, places) = match columns {
            None => (Arc::clone(schema), places),
            Some(columns) => {
                let places = columns.iter().filter_map(|at| places.get(*at).copied()).collect();
                (Arc::new(schema.project(columns)?), places)
            }
        };
        let columns = places.iter().copied().flatten().collect();
        let is_present = places.iter().map(Option::is_some).collect();
        let guess = Arc::clone(guess);
        let text = Self { name, options, guess, number, own, columns, output, is_present };
        Ok(Blocks::new(Arc::new(text), Box::new(Cursor::new(head).chain(reader))))
    }

    /// The columns of the text as arrow-csv reads them: text, where it would drop digits.
    fn as_read(&self, floats: Floats) -> Schema {
        let field = |field: &FieldRef| {
            let is_text = match is_float(field.data_type()) {
                true => floats == Floats::Checked,
                false => is_parsed_here(field.data_type()),
            };
            // What has no value is told with its record.
            let field = field.as_ref().clone().with_nullable(true);
            if is_text { field.with_data_type(DataType::Utf8) } else { field }
        };
        Schema::new(self.own.fields().iter().map(field).collect::<Vec<_>>())
    }

    fn batch_rows(&self) -> usize {
        BATCH_ROWS_MAX.min(BATCH_VALUES_MAX / self.own.fields().len()).max(1)
    }

    fn decoder(&self, floats: Floats) -> Decoder {
        ReaderBuilder::new(Arc::new(self.as_read(floats)))
            .with_header(true)
            .with_delimiter(self.options.delimiter)
            .with_batch_size(self.batch_rows())
            .with_projection(self.columns.clone())
            .build_decoder()
    }

    /// A header of as many names, for the decoder of a block without one.
    fn names(&self) -> Vec<u8> {
        let mut names = [b'x', self.options.delimiter].repeat(self.own.fields().len());
        names.pop();
        names.push(b'\n');
        names
    }

    /// Checks each text by itself, of a batch with some records before: arrow-csv checks the bytes
    /// of all values at once, of which one may end and the next one begin within a character.
    fn check_utf8(&self, batch: &RecordBatch, records: usize) -> Result<(), ArrowError> {
        for (column, place) in batch.columns().iter().zip(&self.columns) {
            if is_text(column.data_type()) && column.to_data().validate_full().is_err() {
                let is_wrong =
                    |row: &usize| column.slice(*row, 1).to_data().validate_full().is_err();
                let row = (0..column.len()).find(is_wrong).unwrap_or_default();
                // As arrow-csv says it; the header is the first line.
                let (line, field) = (records + row + 2, place + 1);
                let message =
                    format!("Encountered invalid UTF-8 data for line {line} and field {field}");
                return Err(ArrowError::CsvError(message));
            }
        }
        Ok(())
    }

    /// The columns with their types, of a batch with some records before.
    fn parsed(&self, batch: &RecordBatch, records: usize) -> Result<Vec<ArrayRef>, Failed> {
        let column = |(column, place): (&ArrayRef, &usize)| {
            let place = *place;
            let field = self.own.field(place);
            let data_type = field.data_type();
            let missing = column.logical_nulls().filter(|_| !field.is_nullable());
            let missing =
                missing.and_then(|nulls| (0..nulls.len()).find(|row| nulls.is_null(*row)));
            if let Some(row) = missing {
                return Err(Failed::Missing { record: (records + row + 1) as u64, place });
            }
            let texts = match column.as_string_opt::<i32>() {
                Some(texts) if is_parsed_here(data_type) => texts,
                _ => return Ok(Arc::clone(column)),
            };
            let is_guess = self.guess.has(field.name());
            parsed(texts, data_type, is_guess).map_err(|refused| match refused {
                Refused::Row(row) => Failed::Value {
                    record: (records + row + 1) as u64,
                    place,
                    text: texts.value(row).to_owned(),
                },
                Refused::Type(error) => error.into(),
            })
        };
        batch.columns().iter().zip(&self.columns).map(column).collect()
    }

    /// A batch of the text's columns, with those that it lacks.
    fn with_nulls(&self, own: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch, ArrowError> {
        let mut own = own.into_iter();
        let columns = self.is_present.iter().zip(self.output.fields());
        let columns = columns.map(|(is_present, field)| {
            let column = if *is_present { own.next() } else { None };
            column.unwrap_or_else(|| new_null_array(field.data_type(), rows))
        });
        let columns = columns.collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.output), columns, &options)
    }
}

/// The rows of a block; after them there may be an error.
pub(super) struct Decoded {
    pub(super) text: Arc<Text>,
    pub(super) batches: Vec<RecordBatch>,
    error: Option<Failed>,
}

/// How columns of floats are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Floats {
    /// A number that is too large may become infinite.
    Fast,
    /// As text first.
    Checked,
}

impl Decoded {
    /// The error after the batches, given the number of records before the block.
    pub(super) fn error(&mut self, records_before: u64) -> Option<arrowsmith::Error> {
        let Text { name, own, guess, .. } = &*self.text;
        let error = self.error.take()?;
        Some(failed(error, name.as_deref(), own, guess, records_before))
    }
}

/// Decodes a block.
pub(super) fn decode(block: Block) -> Decoded {
    let Block { text, bytes, is_first, is_after_empty_lines } = block;
    let before = match (is_first, is_after_empty_lines) {
        (false, _) => text.names(),
        (true, true) => vec![b'\n'],
        (true, false) => Vec::new(),
    };
    let mut batches = Vec::new();
    let mut error = rows(&text, &before, &bytes, Floats::Fast, &mut batches).err();
    if batches.iter().any(|batch| batch.columns().iter().any(has_infinite)) {
        batches.clear();
        error = rows(&text, &before, &bytes, Floats::Checked, &mut batches).err();
    }
    Decoded { text, batches, error }
}

/// The rows of a block, given what is decoded before it.
fn rows(
    text: &Text,
    before: &[u8],
    mut bytes: &[u8],
    floats: Floats,
    batches: &mut Vec<RecordBatch>,
) -> Result<(), Failed> {
    let mut decoder = text.decoder(floats);
    // Without bytes it would be the end.
    if !before.is_empty() {
        decoder.decode(before)?;
    }
    let mut records = 0;
    let mut flush = |decoder: &mut Decoder| {
        if let Some(batch) = decoder.flush()? {
            text.check_utf8(&batch, records)?;
            let columns = text.parsed(&batch, records)?;
            records += batch.num_rows();
            batches.push(text.with_nulls(columns, batch.num_rows())?);
        }
        Ok::<_, Failed>(())
    };
    while !bytes.is_empty() {
        let read = decoder.decode(bytes)?;
        bytes = bytes.get(read..).unwrap_or_default();
        if decoder.capacity() == 0 {
            flush(&mut decoder)?;
        }
    }
    let pending = text.batch_rows() - decoder.capacity();
    if !end(&mut decoder)? {
        let records = batches.iter().map(RecordBatch::num_rows).sum::<usize>() + pending;
        let (record, reason) = (records as u64 + 1, "a quoted value does not end");
        return Err(Failed::Record { record, reason });
    }
    flush(&mut decoder)
}

fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_text(values),
        other => other.is_string(),
    }
}

/// Ends the last record, by a line end if it has none; returns whether it ends: one that is still
/// open after that ends inside of quotes.
fn end(decoder: &mut Decoder) -> Result<bool, ArrowError> {
    decoder.decode(b"\n")?;
    let before = decoder.capacity();
    // A header ends here with an error, too: its last name has the line end.
    Ok(decoder.decode(b"").is_ok() && decoder.capacity() == before)
}
