// SPDX-License-Identifier: Apache-2.0
//! CSV with a header, by arrow-csv on several threads: records in bounded memory, errors with the
//! name of the file.

mod blocks;
mod decode;
mod error;
mod exact;
mod header;
mod infer;
mod zones;

use std::collections::{HashSet, VecDeque};
use std::io::{self, BufRead};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrowsmith::Result;
use arrowsmith::plan::text::format_schema;

use self::blocks::{Block, Blocks};
use self::decode::{Decoded, Text, decode};
pub use self::infer::Inference;
use super::ordered::{Lost, Ordered};

/// How texts are read.
#[derive(Debug, Clone, Copy)]
pub struct CsvOptions {
    /// What is between values.
    pub delimiter: u8,
    /// Maximum size of a record, in bytes.
    pub record_bytes_max: usize,
    /// Maximum number of columns.
    pub fields_max: usize,
    /// Whether the schema has the columns of all texts, so that some may lack columns: these are
    /// null.
    pub may_lack: bool,
    /// Number of threads that decode.
    pub threads: usize,
    /// Bytes of text that are decoded at once, about.
    pub block_bytes: usize,
}

/// The columns whose types are inferred, by name.
#[derive(Debug, Default)]
pub struct Guess {
    names: HashSet<String>,
    /// Whether there may be records that were not looked at.
    is_sampled: bool,
    was_wrong: AtomicBool,
}

impl Guess {
    /// A guess for these columns.
    pub fn new(names: impl IntoIterator<Item = String>, is_sampled: bool) -> Self {
        Self { names: names.into_iter().collect(), is_sampled, was_wrong: AtomicBool::new(false) }
    }

    /// Whether a value that was read does not have the type of its column, as the sample did not
    /// have such a value.
    pub fn was_wrong(&self) -> bool {
        self.was_wrong.load(Ordering::Relaxed)
    }

    /// Whether the type of a column is inferred.
    fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Notes that a column has a value of another type; returns what a user can do if its type is
    /// inferred.
    fn remedy(&self, name: &str) -> String {
        if !self.has(name) {
            return String::new();
        }
        self.was_wrong.fetch_or(self.is_sampled, Ordering::Relaxed);
        let all = match self.is_sampled {
            true => " --infer-records all looks at every record,",
            false => "",
        };
        let text = format_schema(&Schema::new(vec![Field::new(name, DataType::Utf8, true)]));
        format!(";{all} --types '{}' reads it as text", text.trim_end())
    }
}

/// The name and the text of an input.
pub type Opened = (Option<Arc<str>>, Box<dyn BufRead + Send>);

/// The batches of several texts, in order, each with the number of its text; an error is the last
/// item.
pub struct Csv {
    decoded: Box<dyn Iterator<Item = Result<Decoded>>>,
    /// The text of the last block, and how many records of it there were.
    number: usize,
    records: u64,
    /// How many there were before the current block.
    records_before: u64,
    current: Option<Decoded>,
    ready: VecDeque<RecordBatch>,
    is_done: bool,
}

impl Csv {
    /// Reads texts whose headers have the names of the schema, in any order, if `may_lack` some of
    /// them; some of the schema's columns, or all.
    ///
    /// # Errors
    /// What is wrong with the first text's header: other names, two columns with the same one, and
    /// more than `fields_max`; and threads that do not start.
    pub fn new<T>(
        texts: T,
        schema: &SchemaRef,
        columns: Option<Vec<usize>>,
        options: CsvOptions,
        guess: Arc<Guess>,
    ) -> Result<Self>
    where
        T: Iterator<Item = Result<Opened>> + Send + 'static,
    {
        let schema = Arc::clone(schema);
        let mut opened = texts.enumerate().map(move |(number, text)| {
            let (name, reader) = text?;
            Text::open((number, name), reader, &schema, columns.as_deref(), options, &guess)
        });
        // Whatever is wrong with the first is known before anything is written.
        let first = opened.next().transpose()?;
        let blocks = first.map(Ok).into_iter().chain(opened).flat_map(of_text);
        let work = |block: Result<Block>| block.map(decode);
        let decoded: Box<dyn Iterator<Item = _>> = match options.threads {
            1 => Box::new(blocks.map(work)),
            threads => {
                let lost = |done: std::result::Result<_, Lost>| {
                    done.unwrap_or_else(|_| Err(io::Error::other(LOST).into()))
                };
                Box::new(Ordered::new(blocks, work, threads)?.map(lost))
            }
        };
        let (current, ready) = (None, VecDeque::new());
        let (number, records, records_before) = (0, 0, 0);
        Ok(Self { decoded, number, records, records_before, current, ready, is_done: false })
    }

    fn batch(&mut self) -> Result<Option<(usize, RecordBatch)>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                self.records += batch.num_rows() as u64;
                return Ok(Some((self.number, batch)));
            }
            let current = self.current.take();
            if let Some(error) = current.and_then(|mut block| block.error(self.records_before)) {
                return Err(error);
            }
            let Some(block) = self.decoded.next() else { return Ok(None) };
            let mut block = block?;
            if block.text.number != self.number {
                (self.number, self.records) = (block.text.number, 0);
            }
            self.records_before = self.records;
            self.ready = std::mem::take(&mut block.batches).into();
            self.current = Some(block);
        }
    }
}

/// Why there is no result.
const LOST: &str = "a thread that decodes CSV has ended";

/// The blocks of a text, or why it has none.
fn of_text(blocks: Result<Blocks>) -> Box<dyn Iterator<Item = Result<Block>> + Send> {
    match blocks {
        Ok(blocks) => Box::new(blocks),
        Err(error) => Box::new(std::iter::once(Err(error))),
    }
}

impl Iterator for Csv {
    type Item = Result<(usize, RecordBatch)>;

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
    use std::io::{BufReader, Cursor, Read};

    use arrow_array::cast::AsArray;
    use arrow_csv::reader::Format;
    use arrow_select::concat::concat_batches;

    use arrowsmith_testkit::random::Rng;

    use super::zones::Zones;
    use super::*;

    const FIELDS_MAX: usize = 1000;

    /// Blocks as small as can be, so that texts of a few records have several.
    fn options(record_bytes_max: usize) -> CsvOptions {
        CsvOptions {
            delimiter: b',',
            record_bytes_max,
            fields_max: FIELDS_MAX,
            may_lack: true,
            threads: 2,
            block_bytes: 1,
        }
    }

    fn inferred(text: &str, records: Option<usize>, most: usize) -> Result<(Schema, Vec<u8>)> {
        let mut inference = Inference::new(b',', records, most, FIELDS_MAX);
        let read = inference.add(&mut text.as_bytes(), None, true)?;
        Ok((inference.schema(), read))
    }

    fn batches(text: &[u8], schema: Schema, options: CsvOptions) -> Result<Vec<RecordBatch>> {
        let reader: Box<dyn BufRead + Send> =
            Box::new(BufReader::with_capacity(3, Cursor::new(text.to_vec())));
        let texts = std::iter::once(Ok((None, reader)));
        let guess = Arc::default();
        let batches = Csv::new(texts, &Arc::new(schema), None, options, guess)?;
        batches.map(|batch| Ok(batch?.1)).collect()
    }

    /// All rows, as one batch.
    fn read(text: &str, most: usize) -> Result<Vec<RecordBatch>> {
        let (schema, start) = inferred(text, None, usize::MAX)?;
        assert_eq!(start, text.as_bytes());
        let read = batches(text.as_bytes(), schema.clone(), options(most))?;
        Ok(vec![concat_batches(&Arc::new(schema), &read)?])
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
    fn zones_of_times_are_inferred() {
        for (values, expected) in [
            (&["2024-01-01T00:00:00Z", "", "2024-01-01 00:00:00+02:00"][..], Some("UTC")),
            (&["2024-01-01T00:00:00.5Z", "2024-01-01T00:00:00+0200"], Some("UTC")),
            (&["2024-01-01T00:00:00.5", "2024-01-01T00:00:00", "2024-01-01"], Some("")),
            (&["2024-01-01T00:00:00.5", "2024-01-01T00:00:00Z"], None),
            (&["2024-01-01", "2024-01-01T00:00:00Z"], None),
            (&["2024-01-01T00:00:00 at night"], None),
            (&["2024-01-01T00:00:00Z", "2024-01-01T00:00:00 CEST or so"], None),
        ] {
            let values = values.iter().map(|value| format!("1,\"{value}\",x\r\n"));
            let text = format!("a,\"b\nc\",d\n{}", values.collect::<String>());
            let text = text.trim_end();
            for at in 0..text.len() {
                let (one, other) = text.as_bytes().split_at(at);
                let mut zones = Zones::new(one.chain(other), b',', None);
                let format = Format::default().with_header(true);
                let (schema, _) = format.infer_schema(&mut zones, None).unwrap();
                let schema = zones.typed(&schema);
                assert_eq!(schema.field(0).data_type(), &DataType::Int64);
                match (schema.field(1).data_type(), expected) {
                    (DataType::Timestamp(_, zone), Some(expected)) => {
                        assert_eq!(zone.as_deref().unwrap_or_default(), expected, "{text}");
                    }
                    (found, expected) => {
                        assert_eq!((found, expected), (&DataType::Utf8, None), "{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_column_without_values_may_have_some_later() {
        let text = "a,b\n1,\n2,x\n";
        let (schema, _) = inferred(text, Some(1), usize::MAX).unwrap();
        let read = |schema: Schema| batches(text.as_bytes(), schema, options(100));
        let found = read(schema.clone()).unwrap();
        let found = concat_batches(found[0].schema_ref(), &found).unwrap();
        assert_eq!(found.column(1).as_string::<i32>().value(1), "x");
        let nulls = schema.field(1).clone().with_data_type(DataType::Null);
        let nulls = Schema::new(vec![schema.field(0).clone(), nulls]);
        assert!(read(nulls).err().unwrap().to_string().contains("\"b\" cannot be of type null"));
    }

    /// Found by fuzzing: the decoder took the name for a byte order mark, and the first record for
    /// the header.
    #[test]
    fn a_byte_order_mark_after_empty_lines_is_a_name() {
        for (text, rows) in [("\n\u{feff}\ny\n8\n", 2), ("\r\n\n\u{feff}a\n1\n", 1)] {
            for block_bytes in [1, 100] {
                let (schema, _) = inferred(text, None, usize::MAX).unwrap();
                assert!(schema.field(0).name().starts_with('\u{feff}'));
                let options = CsvOptions { block_bytes, ..options(100) };
                let batches = batches(text.as_bytes(), schema, options).unwrap();
                let found: usize = batches.iter().map(RecordBatch::num_rows).sum();
                assert_eq!(found, rows, "{text:?}, {block_bytes}");
            }
        }
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
                    assert!(!inference.is_sampled());
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
        assert!(inference.is_sampled());
        assert_eq!(inference.schema().field(0).data_type(), &DataType::Float64);
    }

    /// However the text is cut, the rows are the same; of several errors the one found first may be
    /// another, but does not depend on threads.
    #[test]
    fn blocks_and_threads_change_nothing() {
        let values =
            ["", "1", "22", "\"3\"", "\"a,\n\"\"b\"", "x\"y", "\"\"", "\"p\"q\"", "\r", "é"];
        let mut rng = Rng::new(7);
        let mut failures = 0;
        for _ in 0..300 {
            let mut text = ["", "\n\r"][rng.below(2)].to_owned() + "a,b\n";
            for _ in 0..rng.below(20) {
                let line_end = ["\n", "\n", "\r\n", "\r", "\n\n"][rng.below(5)];
                let [one, other] = [rng.below(values.len()), rng.below(values.len())];
                text += &format!("{},{}{line_end}", values[one], values[other]);
            }
            let mut bytes = text.into_bytes();
            if rng.below(20) == 0 {
                bytes.push(0xff);
            }
            let schema = Schema::new(vec![
                Field::new("a", DataType::Utf8, true),
                Field::new("b", [DataType::Utf8, DataType::Int64][rng.below(2)].clone(), true),
            ]);
            let read = |threads, block_bytes| {
                let options = CsvOptions { threads, block_bytes, ..options(1000) };
                let batches = batches(&bytes, schema.clone(), options)?;
                Ok::<_, arrowsmith::Error>(concat_batches(&Arc::new(schema.clone()), &batches)?)
            };
            let whole = read(1, usize::MAX).map_err(|error| error.to_string());
            failures += usize::from(whole.is_err());
            for block_bytes in [1, 20, 50] {
                let [one, three] = [1, 3]
                    .map(|threads| read(threads, block_bytes).map_err(|error| error.to_string()));
                assert_eq!(one, three, "{:?}", String::from_utf8_lossy(&bytes));
                assert_eq!(one.ok(), whole.clone().ok(), "{:?}", String::from_utf8_lossy(&bytes));
            }
        }
        assert!((20..280).contains(&failures), "{failures}");
    }

    #[test]
    fn errors_have_the_record_of_the_text() {
        for (text, expected) in [
            (&b"a,b\n1,x\n2,y\n,z\nq,w\n"[..], ": record 4: \"a\" of type int64 is 'q'"),
            (b"a,b\n1,x\n\n2\n3,z\n", ": record 2: the header has 2 names, this record has 1"),
            (b"a,b\n1,x\n2,\xff\n3,z\n", ": record 2: \"b\" is not UTF-8"),
            (b"a,b\n1,x\n2,\xef\n,\xbb\xbf\n", ": record 2: \"b\" is not UTF-8"),
            (b"a,b\n1,x\n2,\"y\n3,z\n", ": record 2: a quoted value does not end"),
            (b"a,b\n1,x\n2,\n,z\n", ": record 3: \"a\" has no value, and may not be null"),
        ] {
            let schema = Schema::new(vec![
                Field::new("a", DataType::Int64, !expected.contains("not be null")),
                Field::new("b", DataType::Utf8, true),
            ]);
            for block_bytes in [1, 1000] {
                let options = CsvOptions { block_bytes, ..options(1000) };
                let error = batches(text, schema.clone(), options).unwrap_err().to_string();
                assert!(error.contains(expected), "{error}");
            }
        }
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
            ("a,b\n1,2\n3\n", "line 3: the header has 2 names, this record has 1"),
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
