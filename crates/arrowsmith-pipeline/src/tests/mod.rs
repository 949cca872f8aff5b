// SPDX-License-Identifier: Apache-2.0
//! The result does not depend on how inputs are split, read and distributed over threads.

mod bounds;
mod equal;
mod errors;
mod push;
mod sampling;
mod wide;

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use arrowsmith_core::{Chunk, DecodeOptions, Decoder, Error, Report, Result};
use arrowsmith_engine::{Answer, Chain, Engine};
use arrowsmith_plan::Plan;
use arrowsmith_source::Input;

use crate::{BatchIter, JsonPipeline};

/// A number and a text.
fn plan() -> Arc<Plan> {
    let fields =
        vec![Field::new("n", DataType::Int64, true), Field::new("s", DataType::Utf8, true)];
    Arc::new(Plan::new(Arc::new(Schema::new(fields))).unwrap())
}

/// Records of different lengths, with everything in their strings that could mislead a framer.
fn record(number: usize) -> String {
    let tricky = ["", "}{", "],[", "\\\"", "\\\\", "a\\nb", "é", ",\\\\\\\"}"][number % 8];
    format!("{{\"n\":{number},\"s\":\"{tricky}{}\"}}", "x".repeat(number % 23))
}

/// `count` records in each framing, in more than one style.
fn texts(count: usize) -> Vec<(&'static str, String)> {
    let records: Vec<String> = (0..count).map(record).collect();
    let spread = |text: &str| text.replacen(':', " :\n\t", 1).replacen('{', "{\r\n", 1);
    let spread: Vec<String> = records.iter().map(|text| spread(text)).collect();
    vec![
        ("lines", records.join("\n") + "\n"),
        ("lines without the last end", records.join("\n")),
        ("lines, CRLF", records.join("\r\n") + "\r\n"),
        ("lines, empty ones between, BOM", format!("\u{FEFF}{}\n \n", records.join("\n\n  \n"))),
        ("concatenated, pretty", spread.join("\n")),
        ("array", format!("[{}]", records.join(","))),
        ("array, pretty", format!(" [\n{}\n]\n", spread.join("\n,\n "))),
    ]
}

fn cpu() -> Arc<dyn Engine> {
    arrowsmith_testkit::engines::cpu()
}

fn reference() -> Arc<dyn Engine> {
    arrowsmith_testkit::engines::reference()
}

fn pipeline(engine: impl Into<Chain>, input: Input) -> JsonPipeline {
    JsonPipeline::builder(plan(), engine).inputs([input])
}

/// All rows in one batch, and the error at the end if there is one.
fn drain(batches: BatchIter) -> (RecordBatch, Option<Error>) {
    let schema: SchemaRef = Arc::clone(batches.schema());
    let mut good = Vec::new();
    let mut failed = None;
    for batch in batches {
        assert!(failed.is_none(), "something came after the error");
        match batch {
            Ok(batch) => good.push(batch),
            Err(error) => failed = Some(error),
        }
    }
    (concat_batches(&schema, &good).unwrap(), failed)
}

fn rows(batches: BatchIter) -> RecordBatch {
    let (rows, error) = drain(batches);
    assert!(error.is_none(), "{error:?}");
    rows
}

/// A reader that returns at most `portion` bytes at once, and ends as configured.
struct Drip {
    text: io::Cursor<Vec<u8>>,
    portion: usize,
    error: Option<io::Error>,
}

impl Drip {
    fn new(text: impl Into<Vec<u8>>, portion: usize) -> Self {
        Self { text: io::Cursor::new(text.into()), portion, error: None }
    }
}

impl Read for Drip {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(self.portion);
        let read = self.text.read(&mut buffer[..most])?;
        match self.error.take() {
            Some(error) if read == 0 => Err(error),
            kept => {
                self.error = kept;
                Ok(read)
            }
        }
    }
}

/// The reference engine, watched: counts its decoders, and panics when it meets a text.
#[derive(Default)]
struct Watched {
    alive: Arc<AtomicUsize>,
    panics_at: Option<&'static str>,
}

struct WatchedDecoder {
    inner: Box<dyn Decoder>,
    alive: Arc<AtomicUsize>,
    panics_at: Option<&'static str>,
}

impl Engine for Watched {
    fn name(&self) -> &'static str {
        "watched"
    }

    fn check_json(&self, plan: &Plan, options: &DecodeOptions) -> Answer<()> {
        reference().check_json(plan, options)
    }

    fn json(
        &self,
        plan: &Arc<Plan>,
        options: &DecodeOptions,
        rest: &Chain,
    ) -> Answer<Box<dyn Decoder>> {
        self.alive.fetch_add(1, Ordering::SeqCst);
        Ok(Box::new(WatchedDecoder {
            inner: reference().json(plan, options, rest)?,
            alive: Arc::clone(&self.alive),
            panics_at: self.panics_at,
        }))
    }
}

impl Decoder for WatchedDecoder {
    fn decode(&mut self, chunk: &Chunk<'_>) -> Result<Report> {
        if let Some(text) = self.panics_at {
            let data = String::from_utf8_lossy(chunk.data());
            assert!(!data.contains(text), "the engine met {text}");
        }
        self.inner.decode(chunk)
    }

    fn rows(&self) -> usize {
        self.inner.rows()
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>> {
        self.inner.flush()
    }

    fn schema(&self) -> SchemaRef {
        self.inner.schema()
    }
}

impl Drop for WatchedDecoder {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::SeqCst);
    }
}
