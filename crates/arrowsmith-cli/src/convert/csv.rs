// SPDX-License-Identifier: Apache-2.0
//! CSV with a header, by arrow-csv: records in bounded memory, errors with the name of the file.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Cursor, Read};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_csv::ReaderBuilder;
use arrow_csv::reader::{Decoder, Format};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use arrowsmith::plan::text::{format_schema, format_type};
use arrowsmith::{Error, Result};

/// Maximum number of rows of a batch.
const BATCH_ROWS_MAX: usize = 8192;

/// Maximum number of values of a batch of several rows: the decoder allocates for all of them.
const BATCH_VALUES_MAX: usize = 1 << 20;

/// Maximum size of a header, in bytes.
const HEADER_BYTES_MAX: usize = 1 << 20;

/// Infers the schema of several texts: that of one text with the header and all their records.
pub struct Inference {
    format: Format,
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
        Self { format, fields_max, schema: None, left: records, most }
    }

    /// Whether no more texts are needed.
    pub fn is_done(&self) -> bool {
        self.schema.is_some() && self.left == Some(0)
    }

    /// Reads the next text as far as needed, and returns what was read if `keep`. One without a
    /// header says nothing; one with the same names in another order is as good. One with other
    /// names, which cannot be read after this one, ends the inference, as does one that goes beyond
    /// the bytes that may be read.
    ///
    /// # Errors
    /// [`Error::Io`] for a text that is not CSV, for one with too many names in its header, and if
    /// the bytes that may be read are not enough for the first text.
    pub fn add(
        &mut self,
        reader: &mut dyn Read,
        name: Option<&str>,
        keep: bool,
    ) -> Result<Vec<u8>> {
        let mut start = Start::new(reader, self.most, keep);
        let seen = self.see(&mut start);
        self.most -= start.read.min(self.most);
        match seen {
            Ok(None) => {}
            Ok(Some((schema, records))) => self.merge(schema, records),
            Err(_) if start.is_over && self.schema.is_some() => self.left = Some(0),
            Err(error) => return Err(named(&error, name)),
        }
        Ok(start.kept)
    }

    /// The schema of one text, and how many records it is from; `None` without a header.
    fn see(&self, start: &mut Start<'_>) -> Result<Option<(Schema, usize)>, ArrowError> {
        // First the header alone: memory is taken for as many columns as it has.
        let (header, head) = header(&self.format, start)?;
        if header.fields().is_empty() {
            return Ok(None);
        }
        check(&with_text(&header), self.fields_max).map_err(ArrowError::CsvError)?;
        self.format.infer_schema(Cursor::new(head).chain(start), self.left).map(Some)
    }

    fn merge(&mut self, schema: Schema, records: usize) {
        self.left = self.left.map(|left| left.saturating_sub(records));
        self.schema = Some(match self.schema.take() {
            None => schema,
            Some(before) => match places(&before, &schema) {
                Ok(places) => merged(&before, &schema, &places),
                Err(_) => {
                    self.left = Some(0);
                    before
                }
            },
        });
    }

    /// The schema, with text where there was no value.
    pub fn schema(self) -> Schema {
        self.schema.map_or_else(Schema::empty, |schema| with_text(&schema))
    }
}

fn names(schema: &Schema) -> impl Iterator<Item = &String> {
    schema.fields().iter().map(|field| field.name())
}

/// The names of a text's header, as a schema, and what was read for it.
fn header(format: &Format, reader: &mut dyn Read) -> Result<(Schema, Vec<u8>), ArrowError> {
    let mut head = Start::new(reader, HEADER_BYTES_MAX, true);
    match format.infer_schema(&mut head, Some(0)) {
        Ok((header, _)) => Ok((header, head.kept)),
        Err(_) if head.is_over => {
            let message = format!("the header takes more than {HEADER_BYTES_MAX} bytes");
            Err(ArrowError::CsvError(message))
        }
        Err(error) => Err(error),
    }
}

/// Where each name of a schema is. Not by [`Schema::index_of`], which looks at one after the other:
/// a header may have as many names as `--fields-max`.
fn indices(schema: &Schema) -> BTreeMap<&str, usize> {
    names(schema).enumerate().map(|(at, name)| (name.as_str(), at)).collect()
}

/// For each column of a schema its place in a header, which has the same names in any order.
fn places(schema: &Schema, header: &Schema) -> Result<Vec<usize>, String> {
    if names(schema).eq(names(header)) {
        return Ok((0..schema.fields().len()).collect());
    }
    let known = indices(schema);
    if let Some(more) = names(header).find(|name| !known.contains_key(name.as_str())) {
        return Err(format!("the header has a column {more:?}, which the schema lacks"));
    }
    let found = indices(header);
    let place = |name: &String| {
        let place = found.get(name.as_str()).copied();
        place.ok_or_else(|| format!("the header has no column {name:?}"))
    };
    names(schema).map(place).collect()
}

/// The schema in the order of a header, where its columns are at `places`.
fn in_order(schema: &Schema, places: &[usize]) -> Schema {
    let mut fields: Vec<(usize, FieldRef)> =
        places.iter().copied().zip(schema.fields().iter().cloned()).collect();
    fields.sort_unstable_by_key(|(place, _)| *place);
    let fields: Vec<FieldRef> = fields.into_iter().map(|(_, field)| field).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

/// The schema for the records of two texts: the columns of the first are at `places` of the other.
fn merged(one: &Schema, other: &Schema, places: &[usize]) -> Schema {
    let fields = one.fields().iter().zip(places).map(|(one, place)| {
        let other = other.fields().get(*place).unwrap_or(one);
        let wider = wider(one.data_type(), other.data_type());
        one.as_ref().clone().with_data_type(wider)
    });
    Schema::new(fields.collect::<Vec<Field>>())
}

/// The type of a column with values of both types, as arrow-csv infers it within one text.
fn wider(one: &DataType, other: &DataType) -> DataType {
    match (one, other) {
        (same, other) if same == other => same.clone(),
        (DataType::Null, some) | (some, DataType::Null) => some.clone(),
        (DataType::Int64, DataType::Float64) | (DataType::Float64, DataType::Int64) => {
            DataType::Float64
        }
        (time @ DataType::Timestamp(..), DataType::Date32)
        | (DataType::Date32, time @ DataType::Timestamp(..)) => time.clone(),
        (DataType::Timestamp(one, None), DataType::Timestamp(other, None)) => {
            DataType::Timestamp((*one).max(*other), None)
        }
        _ => DataType::Utf8,
    }
}

/// With text where there was no value: later records may have some, which a column of nulls would
/// drop.
fn with_text(schema: &Schema) -> Schema {
    let field = |field: &FieldRef| match field.data_type() {
        DataType::Null => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8)),
        _ => Arc::clone(field),
    };
    let fields: Vec<FieldRef> = schema.fields().iter().map(field).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

/// Counts what is read, up to a limit, and may keep it.
struct Start<'a> {
    reader: &'a mut dyn Read,
    read: usize,
    most: usize,
    /// Whether more than that was wanted.
    is_over: bool,
    keep: bool,
    kept: Vec<u8>,
}

impl<'a> Start<'a> {
    fn new(reader: &'a mut dyn Read, most: usize, keep: bool) -> Self {
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

/// Checks the names of a header, or of a schema.
fn check(schema: &Schema, fields_max: usize) -> Result<(), String> {
    let names: Vec<&String> = names(schema).collect();
    if names.is_empty() {
        return Err("there is no header".to_owned());
    }
    if names.len() > fields_max {
        return Err(format!("more than {fields_max} columns (--fields-max)"));
    }
    // Whatever is in such a column would be read as null.
    if let Some(field) = schema.fields().iter().find(|field| field.data_type().is_null()) {
        return Err(format!("column {:?} cannot be of type null", field.name()));
    }
    let mut seen = BTreeSet::new();
    match names.into_iter().find(|name| !seen.insert(*name)) {
        Some(name) => Err(format!("two columns are named {name:?}")),
        None => Ok(()),
    }
}

/// The error of a file.
fn named(error: &ArrowError, name: Option<&str>) -> Error {
    invalid(name, &text_of(error))
}

/// What the library says, without the kind of its error.
fn text_of(error: &ArrowError) -> String {
    let text = error.to_string();
    let starts = ["Csv error: ", "Parser error: ", "Invalid argument error: "];
    let rest = starts.iter().find_map(|start| text.strip_prefix(start)).map(str::to_owned);
    rest.unwrap_or(text)
}

/// The error for what is in a file.
fn invalid(name: Option<&str>, reason: &str) -> Error {
    let error = io::Error::new(io::ErrorKind::InvalidData, reason);
    Error::io(name.unwrap_or_default(), error)
}

/// How a text is read.
#[derive(Debug, Clone, Copy)]
pub struct CsvOptions {
    /// What is between values.
    pub delimiter: u8,
    /// Maximum size of a record, in bytes.
    pub record_bytes_max: usize,
    /// Maximum number of columns.
    pub fields_max: usize,
    /// Whether the schema is that of a sample.
    pub is_inferred: bool,
}

/// The batches of a text.
pub struct Csv {
    name: Option<Arc<str>>,
    reader: Box<dyn BufRead>,
    decoder: Decoder,
    /// Of all columns of the text, in its order.
    schema: SchemaRef,
    /// Bytes since the last complete record.
    pending: usize,
    options: CsvOptions,
    is_done: bool,
}

impl Csv {
    /// Reads a text whose header has the names of the schema, in any order; some of the schema's
    /// columns, or all.
    ///
    /// # Errors
    /// [`Error::Io`] for other names, two columns with the same one, and more than `fields_max`.
    pub fn new(
        name: Option<Arc<str>>,
        mut reader: Box<dyn BufRead>,
        schema: &SchemaRef,
        columns: Option<&[usize]>,
        options: CsvOptions,
    ) -> Result<Self> {
        let refused = |reason: String| invalid(name.as_deref(), &reason);
        check(schema, options.fields_max).map_err(refused)?;
        let format = Format::default().with_header(true).with_delimiter(options.delimiter);
        let (header, head) =
            header(&format, &mut reader).map_err(|error| named(&error, name.as_deref()))?;
        let reader = Box::new(Cursor::new(head).chain(reader));
        let (schema, places) = match header.fields().is_empty() {
            // There are no records.
            true => (Arc::clone(schema), (0..schema.fields().len()).collect()),
            false => {
                check(&with_text(&header), options.fields_max).map_err(refused)?;
                let places = places(schema, &header).map_err(refused)?;
                (Arc::new(in_order(schema, &places)), places)
            }
        };
        let places = match columns {
            None => places,
            Some(columns) => columns.iter().filter_map(|at| places.get(*at).copied()).collect(),
        };
        let rows = BATCH_ROWS_MAX.min(BATCH_VALUES_MAX / schema.fields().len()).max(1);
        let decoder = ReaderBuilder::new(Arc::clone(&schema))
            .with_header(true)
            .with_delimiter(options.delimiter)
            .with_batch_size(rows)
            .with_projection(places)
            .build_decoder();
        Ok(Self { name, reader, decoder, schema, pending: 0, options, is_done: false })
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>> {
        let name = self.name.clone();
        let name = name.as_deref().unwrap_or_default();
        loop {
            let buffer = self.reader.fill_buf();
            let buffer = buffer.map_err(|error| Error::io(name, error))?;
            // A piece at a time, so that a record without an end is noticed.
            let piece = buffer.get(..64 << 10).unwrap_or(buffer);
            if piece.is_empty() {
                end(&mut self.decoder).map_err(|error| self.failed(&error))?;
                return self.flush();
            }
            let before = self.decoder.capacity();
            let read = self.decoder.decode(piece);
            let read = match read {
                Ok(read) => read,
                Err(error) => return Err(self.failed(&error)),
            };
            self.reader.consume(read);
            self.pending = if self.decoder.capacity() < before { 0 } else { self.pending + read };
            if self.pending > self.options.record_bytes_max {
                let most = self.options.record_bytes_max;
                let reason = format!("a record is longer than {most} bytes");
                return Err(invalid(Some(name), &reason));
            }
            if self.decoder.capacity() == 0 {
                return self.flush();
            }
        }
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>> {
        self.decoder.flush().map_err(|error| self.failed(&error))
    }

    /// The library's error, with names of columns and numbers of records. What it calls lines are
    /// records, which may have several lines, counted from the header in one error and not in
    /// another.
    fn failed(&self, error: &ArrowError) -> Error {
        let text = text_of(error);
        let text = wrong_value(&text, &self.schema, self.options.is_inferred)
            .or_else(|| wrong_count(&text))
            .unwrap_or(text);
        invalid(self.name.as_deref(), &text)
    }
}

/// The library's error for a value that does not have the type of its column.
fn wrong_value(text: &str, schema: &Schema, is_inferred: bool) -> Option<String> {
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
    let hint = match is_inferred {
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
    Some(format!("record {record}: {name:?} of type {data_type} {said}{hint}"))
}

/// The library's error for a record that has another number of values than the header.
fn wrong_count(text: &str) -> Option<String> {
    let rest = text.strip_prefix("incorrect number of fields for line ")?;
    let (line, rest) = rest.split_once(", expected ")?;
    let (expected, found) = rest.split_once(" got ")?;
    // The header is the first.
    let record = line.parse::<u64>().ok()?.checked_sub(1)?;
    Some(format!("record {record}: the header has {expected} names, this record has {found}"))
}

/// The start of a value in an error.
fn shortened(value: &str) -> String {
    const CHARS_MAX: usize = 80;
    match value.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", value.get(..end).unwrap_or_default()),
        None => value.to_owned(),
    }
}

/// Ends the last record, by a line end if it has none: one that is still open after that ends
/// inside of quotes.
fn end(decoder: &mut Decoder) -> Result<(), ArrowError> {
    decoder.decode(b"\n")?;
    let before = decoder.capacity();
    // A header ends here with an error, too: its last name has the line end.
    match decoder.decode(b"") {
        Ok(_) if decoder.capacity() == before => Ok(()),
        _ => Err(ArrowError::CsvError("a quoted value does not end".to_owned())),
    }
}

impl Iterator for Csv {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let batch = self.batch().transpose();
        self.is_done = !matches!(batch, Some(Ok(_)));
        batch
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;

    use super::*;

    const FIELDS_MAX: usize = 1000;

    fn options(record_bytes_max: usize) -> CsvOptions {
        CsvOptions { delimiter: b',', record_bytes_max, fields_max: FIELDS_MAX, is_inferred: true }
    }

    fn inferred(text: &str, records: Option<usize>, most: usize) -> Result<(Schema, Vec<u8>)> {
        let mut inference = Inference::new(b',', records, most, FIELDS_MAX);
        let read = inference.add(&mut text.as_bytes(), None, true)?;
        Ok((inference.schema(), read))
    }

    fn read(text: &str, most: usize) -> Result<Vec<RecordBatch>> {
        let (schema, start) = inferred(text, None, usize::MAX)?;
        assert_eq!(start, text.as_bytes());
        let reader = Box::new(Cursor::new(start));
        Csv::new(None, reader, &Arc::new(schema), None, options(most))?.collect()
    }

    #[test]
    fn types_are_inferred_and_records_read() {
        let text = "a,b,c\n1,x,2024-01-01\n,\"y,\n\"\"z\",\n";
        let batches = read(text, 100).unwrap();
        let types: Vec<_> = batches[0].columns().iter().map(|c| c.data_type().clone()).collect();
        assert_eq!(types, [DataType::Int64, DataType::Utf8, DataType::Date32]);
        assert_eq!(batches[0].num_rows(), 2);
        assert!(batches[0].column(0).is_null(1) && batches[0].column(2).is_null(1));
    }

    #[test]
    fn a_column_without_values_may_have_some_later() {
        let text = "a,b\n1,\n2,x\n";
        let (schema, _) = inferred(text, Some(1), usize::MAX).unwrap();
        let reader = |schema: Schema| {
            let reader = Box::new(Cursor::new(text));
            Csv::new(None, reader, &Arc::new(schema), None, options(100))
        };
        let batches: Result<Vec<_>> = reader(schema.clone()).unwrap().collect();
        let batches = batches.unwrap();
        assert_eq!(batches[0].column(1).as_string::<i32>().value(1), "x");
        let nulls = schema.field(1).clone().with_data_type(DataType::Null);
        let nulls = Schema::new(vec![schema.field(0).clone(), nulls]);
        assert!(reader(nulls).err().unwrap().to_string().contains("\"b\" cannot be of type null"));
    }

    #[test]
    fn several_texts_have_the_types_of_one() {
        let values = [
            "",
            "true",
            "1",
            "1.5",
            "2024-01-01",
            "2024-01-01T00:00:00",
            "2024-01-01T00:00:00.001",
            "2024-01-01T00:00:00.000001",
            "2024-01-01T00:00:00.000000001",
            "x",
        ];
        for one in values {
            for other in values {
                let mut inference = Inference::new(b',', None, usize::MAX, FIELDS_MAX);
                for value in [one, other] {
                    let text = format!("a,b\n{value},1\n");
                    assert!(!inference.is_done());
                    inference.add(&mut text.as_bytes(), None, false).unwrap();
                }
                let (schema, _) =
                    inferred(&format!("a,b\n{one},1\n{other},1\n"), None, usize::MAX).unwrap();
                assert_eq!(inference.schema(), schema, "{one:?}, {other:?}");
            }
        }
    }

    #[test]
    fn a_text_without_a_header_says_nothing_and_one_that_is_too_large_is_not_needed() {
        let mut inference = Inference::new(b',', None, 100, FIELDS_MAX);
        let mut add = |text: &str| inference.add(&mut text.as_bytes(), None, true).unwrap();
        for text in ["", "\n\r\n", "a\n1\n", "a\n", "", "a\n2.5\n"] {
            assert_eq!(add(text), text.as_bytes());
        }
        let long = "a\nx\n".to_owned() + &"y".repeat(200);
        let read = add(&long);
        assert!(long.as_bytes().starts_with(&read) && read.len() >= 80, "{}", read.len());
        assert!(inference.is_done());
        assert_eq!(inference.schema().field(0).data_type(), &DataType::Float64);
    }

    #[test]
    fn a_record_without_an_end_is_noticed() {
        let error = read(&format!("a\n\"{}", "x".repeat(300_000)), 100_000).unwrap_err();
        assert!(error.to_string().contains("longer than 100000 bytes"), "{error}");
    }

    #[test]
    fn a_quoted_value_has_to_end() {
        for (text, expected) in [
            ("a,b\n1,x", Some(1)),
            ("a,b\n1,\"x\"", Some(1)),
            ("a,b\n1,\"x\n\"\r\n\r\n", Some(1)),
            ("a,b\n1,x\"y", Some(1)),
            ("a,b\n1,\"x\"\"", None),
            ("a,b\n1,\"x", None),
            ("a,b\n1,\"x\n2,y\n3,z\n", None),
            ("a,b", Some(0)),
        ] {
            let rows = read(text, 1000).map(|read| read.iter().map(RecordBatch::num_rows).sum());
            assert_eq!(rows.ok(), expected, "{text:?}");
        }
    }

    /// A decoder allocates for all values of a batch.
    #[test]
    fn a_header_is_checked() {
        let wide = |columns: usize| {
            let names: Vec<String> = (0..columns).map(|n| n.to_string()).collect();
            format!("{}\n{}\n", names.join(","), ",".repeat(columns - 1))
        };
        assert_eq!(read(&wide(FIELDS_MAX), 10_000).unwrap()[0].num_rows(), 1);
        for (text, expected) in [
            ("", "there is no header"),
            ("\n\n", "there is no header"),
            ("a,b,a\n1,2,3\n", "two columns are named \"a\""),
            ("a,,\n1,2,3\n", "two columns are named \"\""),
            (&wide(FIELDS_MAX + 1), "more than 1000 columns"),
            (&"a".repeat(2 << 20), "more than 1048576 bytes"),
        ] {
            let error = read(text, 10_000).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn inference_reads_what_it_needs_and_no_more_than_it_may() {
        let text = "a,b\n1,\"x\ny\"\n".to_owned() + &"2,z\n".repeat(100_000);
        let (schema, start) = inferred(&text, Some(1), 1 << 20).unwrap();
        assert_eq!(schema.field(0).data_type(), &DataType::Int64);
        assert!(text.as_bytes().starts_with(&start) && start.len() < 100_000);
        let error = inferred(&text, None, 1000).unwrap_err().to_string();
        assert!(error.contains("give --schema"), "{error}");
    }
}
