// SPDX-License-Identifier: Apache-2.0
//! A chain of test engines: which are tried, which decodes, what is recorded of those that
//! declined.

use std::sync::{Arc, Mutex};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrowsmith_core::{Chunk, DecodeOptions, Decoder, Error, Limits, Report, Result};
use arrowsmith_parquet::{Budget, Column, File, ReadOptions, ReadPlan};
use arrowsmith_plan::Plan;
use parquet::arrow::ArrowWriter;

use crate::{Answer, Chain, ColumnDecoder, ColumnRequest, Declined, Engine};

/// What a test engine does when it is tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    Decode,
    /// Declines when it is checked.
    Decline,
    /// Declines when it starts.
    DeclineLate,
    /// Passes all of the work to the rest.
    HandOver,
    Fail,
}

struct Fake {
    name: &'static str,
    does: Does,
    /// The engines that have started a decoder.
    started: Arc<Mutex<Vec<&'static str>>>,
}

impl Fake {
    fn check(&self) -> Answer<()> {
        match self.does {
            Does::Decline => Err(Declined::new("a", format!("{} has none", self.name)).into()),
            _ => Ok(()),
        }
    }

    fn start<T>(&self, decoder: impl FnOnce() -> T, rest: impl FnOnce() -> Result<T>) -> Answer<T> {
        match self.does {
            Does::Decode => {
                self.started.lock().unwrap().push(self.name);
                Ok(decoder())
            }
            Does::HandOver => Ok(rest()?),
            Does::Fail => Err(Error::Config(format!("{} fails", self.name)).into()),
            Does::Decline | Does::DeclineLate => Err(Declined::new("a", "not this one").into()),
        }
    }
}

struct Nothing;

impl Decoder for Nothing {
    fn decode(&mut self, _chunk: &Chunk<'_>) -> Result<Report> {
        Ok(Report::default())
    }

    fn rows(&self) -> usize {
        0
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>> {
        Ok(None)
    }

    fn schema(&self) -> SchemaRef {
        schema()
    }
}

impl ColumnDecoder for Nothing {
    fn next(&mut self, rows: usize) -> Result<ArrayRef> {
        Ok(Arc::new(Int64Array::from(vec![7; rows])))
    }
}

impl Engine for Fake {
    fn name(&self) -> &'static str {
        self.name
    }

    fn check_json(&self, _plan: &Plan, _options: &DecodeOptions) -> Answer<()> {
        self.check()
    }

    fn json(
        &self,
        plan: &Arc<Plan>,
        options: &DecodeOptions,
        rest: &Chain,
    ) -> Answer<Box<dyn Decoder>> {
        self.start(|| Box::new(Nothing) as _, || rest.decoder(plan, options))
    }

    fn check_parquet(&self, _file: &File, _column: &Column, _options: &ReadOptions) -> Answer<()> {
        self.check()
    }

    fn parquet(&self, request: &ColumnRequest<'_>, rest: &Chain) -> Answer<Box<dyn ColumnDecoder>> {
        self.start(|| Box::new(Nothing) as _, || rest.column(request))
    }

    fn chunk_bytes(&self) -> Option<usize> {
        Some(self.name.len())
    }

    fn summary(&self) -> Option<String> {
        (self.does == Does::Decode).then(|| format!("{} was here", self.name))
    }
}

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]))
}

fn plan() -> Arc<Plan> {
    Arc::new(Plan::new(schema()).unwrap())
}

fn file() -> File {
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let batch = RecordBatch::try_new(schema(), vec![column]).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), schema(), None).unwrap();
    writer.write(&batch).unwrap();
    let bytes = bytes::Bytes::from(writer.into_inner().unwrap());
    File::open(bytes, &Limits::default()).unwrap()
}

/// A chain of engines named by their position, and those that have started.
fn chain(does: &[Does]) -> (Chain, Arc<Mutex<Vec<&'static str>>>) {
    let started = Arc::default();
    let engine = |(does, name): (&Does, &'static str)| -> Arc<dyn Engine> {
        Arc::new(Fake { name, does: *does, started: Arc::clone(&started) })
    };
    let engines: Vec<_> = does.iter().zip(["one", "two", "three"]).map(engine).collect();
    (Chain::new(engines), started)
}

/// Starts a decoder for each format; the engine's name, or the error, of both.
fn start(
    chain: &Chain,
    started: &Mutex<Vec<&'static str>>,
) -> [std::result::Result<String, String>; 2] {
    let who = |error: Option<Error>| match error {
        None => Ok(started.lock().unwrap().drain(..).collect::<Vec<_>>().join(", ")),
        Some(error) => Err(error.to_string()),
    };
    let json = who(chain.decoder(&plan(), &DecodeOptions::default()).err());
    let (file, options) = (file(), ReadOptions::default());
    let read = ReadPlan::new(&file, &options).unwrap();
    let request = ColumnRequest {
        file: &file,
        row_group: 0,
        column: &read.fields[0],
        selection: None,
        batch_rows: 3,
        options: &options,
        budget: &Budget::unbounded(),
    };
    let parquet = who(chain.column(&request).err());
    [json, parquet]
}

#[test]
fn the_first_that_does_not_decline_decodes() {
    use Does::{Decline, DeclineLate, Decode, HandOver};
    for (does, who) in [
        (vec![Decode, Decode], "one"),
        (vec![Decline, Decode, Decode], "two"),
        (vec![DeclineLate, Decline, Decode], "three"),
        (vec![HandOver, Decode], "two"),
        (vec![HandOver, Decline, Decode], "three"),
    ] {
        let (chain, started) = chain(&does);
        assert_eq!(start(&chain, &started), [Ok(who.to_owned()), Ok(who.to_owned())]);
    }
}

#[test]
fn a_failure_ends_the_chain() {
    let (chain, started) = chain(&[Does::Decline, Does::Fail, Does::Decode]);
    for error in start(&chain, &started) {
        assert!(error.unwrap_err().contains("two fails"));
    }
    assert!(started.lock().unwrap().is_empty());
}

#[test]
fn what_all_decline_is_an_error_with_their_reasons() {
    let (one, started) = chain(&[Does::Decline]);
    let [json, parquet] = start(&one, &started).map(std::result::Result::unwrap_err);
    assert!(json.contains('a') && json.contains("one has none"), "{json}");
    assert!(parquet.contains("column a: one has none"), "{parquet}");
    let (two, started) = chain(&[Does::Decline, Does::Decline]);
    for error in start(&two, &started).map(std::result::Result::unwrap_err) {
        assert!(error.contains("engine one: one has none; engine two: two has none"), "{error}");
    }
    let [json, parquet] = start(&Chain::default(), &started).map(std::result::Result::unwrap_err);
    assert!(json.contains("there is no engine for it"), "{json}");
    assert!(parquet.contains("column a: there is no engine for it"), "{parquet}");
}

#[test]
fn a_decision_keeps_who_declined_and_why() {
    let (chain, started) = chain(&[Does::Decline, Does::Decode, Does::Decode]);
    let json = chain.decide_json(&plan(), &DecodeOptions::default()).unwrap();
    let (file, options) = (file(), ReadOptions::default());
    let read = ReadPlan::new(&file, &options).unwrap();
    let parquet = chain.decide_parquet(&file, &read.fields[0], &options).unwrap();
    assert_eq!(json, parquet);
    assert_eq!(json.engine, "two");
    assert_eq!(json.declined, [("one", Declined::new("a", "one has none"))]);
    assert_eq!(json.to_string(), "engine two; one declined: a: one has none");
    assert!(started.lock().unwrap().is_empty(), "nothing was started to find out");
}

#[test]
fn chains_are_engines_and_go_one_after_another() {
    let (declines, first) = chain(&[Does::Decline, Does::HandOver]);
    let (decodes, second) = chain(&[Does::Decode]);
    let both = declines.then(&decodes);
    assert_eq!(both.engines().len(), 3);
    assert_eq!((both.name(), both.chunk_bytes()), ("one", Some(3)));
    assert_eq!(both.summary().as_deref(), Some("one was here"));
    let one = || [Ok("one".to_owned()), Ok("one".to_owned())];
    assert_eq!(start(&both, &second), one());
    // A nested chain passes on to what comes after both.
    let nested = Chain::new([Arc::new(declines) as Arc<dyn Engine>, Arc::new(decodes)]);
    assert_eq!(start(&nested, &second), one());
    assert!(first.lock().unwrap().is_empty());
}
