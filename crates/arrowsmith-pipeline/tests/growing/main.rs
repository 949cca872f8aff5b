// SPDX-License-Identifier: Apache-2.0
//! A schema that grows gives what inferring from all records and decoding with that schema gives,
//! however the input is split and spread over threads.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::Cursor;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrowsmith_core::{Chunk, DecodeOptions, Error, ErrorKind, Framing, OnError, Result};
use arrowsmith_engine::Engine;
use arrowsmith_pipeline::{
    Collect, Grow, Growth, JsonPipeline, SampleOptions, Step, sample, settle,
};
use arrowsmith_plan::Plan;
use arrowsmith_source::Input;
use arrowsmith_testkit::drift::{self, Value};
use arrowsmith_testkit::engines::{cpu, reference};
use arrowsmith_testkit::oracle::OracleEngine;
use arrowsmith_testkit::random::Rng;
use arrowsmith_testkit::scale;

/// How an input is read.
#[derive(Debug, Clone, Copy)]
struct How {
    records_max: u64,
    threads: usize,
    chunk_bytes: usize,
    on_error: OnError,
}

fn grow(inputs: Vec<Input>, engine: Arc<dyn Engine>, how: How) -> Result<Grow> {
    let mut options = SampleOptions { records_max: Some(how.records_max), ..Default::default() };
    options.infer.skip_malformed = how.on_error != OnError::Fail;
    let found = sample(inputs, &options)?;
    let growth = Growth::new(&found, Box::new(|schema| Ok(Plan::new(schema)?.into())))?;
    let mut decode = DecodeOptions::default();
    decode.on_error = how.on_error;
    let pipeline = JsonPipeline::builder(growth.plan(), engine)
        .inputs(found.origins)
        .options(decode)
        .threads(how.threads)
        .batch_rows(Some(7))
        .chunk_bytes(how.chunk_bytes);
    Grow::new(pipeline, growth)
}

fn collected(grow: Grow) -> Result<RecordBatch> {
    let mut collect = Collect::new(grow);
    while collect.advance()? {}
    let (schema, batches) = collect.finish();
    let sizes: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
    assert!(sizes.iter().rev().skip(1).all(|rows| *rows == 7), "{sizes:?}");
    Ok(concat_batches(&schema, &batches)?)
}

/// Reads as a file is written: again when the schema has grown.
fn written(mut grow: Grow) -> Result<RecordBatch> {
    let mut batches = Vec::new();
    loop {
        match grow.step()? {
            Step::Batch(batch) => batches.push(batch),
            Step::Grown => {
                batches.clear();
                grow.restart()?;
            }
            Step::End => return Ok(concat_batches(grow.schema(), &batches)?),
        }
    }
}

/// Reads as a file is written that can be widened: what was read before is null in columns that are
/// new, and again only when a type changes.
fn widened(mut grow: Grow, again: &mut u64) -> Result<RecordBatch> {
    let mut batches = Vec::new();
    let wider = |batches: &[RecordBatch], schema: &SchemaRef| {
        let all: Result<Option<Vec<_>>> = batches.iter().map(|b| settle(b, schema)).collect();
        all
    };
    loop {
        match grow.step()? {
            Step::Batch(batch) => {
                assert_eq!(batch.schema_ref(), grow.schema());
                batches.push(batch);
            }
            Step::Grown => {
                let mut is_wider = true;
                let goes_on = grow.widen(|schema| match wider(&batches, schema)? {
                    Some(settled) => {
                        batches = settled;
                        Ok::<_, Error>(true)
                    }
                    None => {
                        is_wider = false;
                        Ok(false)
                    }
                })?;
                assert!(is_wider, "only columns of nulls may have another type");
                if !goes_on {
                    *again += 1;
                    batches.clear();
                    grow.restart()?;
                }
            }
            Step::End => return Ok(concat_batches(grow.schema(), &batches)?),
        }
    }
}

/// The rows of a text with a schema, by the oracle.
fn decoded(schema: &SchemaRef, text: &str, on_error: OnError) -> RecordBatch {
    let plan = Arc::new(Plan::new(Arc::clone(schema)).unwrap());
    let mut options = DecodeOptions::default();
    options.on_error = on_error;
    let mut decoder = OracleEngine.decoder(&plan, &options).unwrap();
    decoder.decode(&Chunk::new(text.as_bytes(), Framing::Lines)).unwrap();
    decoder.flush().unwrap().unwrap_or_else(|| RecordBatch::new_empty(Arc::clone(schema)))
}

/// One record a line.
fn lines(records: &[Value]) -> String {
    let mut text = String::new();
    for record in records {
        record.write(&mut text);
        text.push('\n');
    }
    text
}

/// The same text in up to three inputs.
fn inputs(rng: &mut Rng, text: &str) -> Vec<Input> {
    let mut inputs = Vec::new();
    let mut rest = text;
    for _ in 0..rng.below(3) {
        let at = rest.get(..rng.below(rest.len().max(1))).and_then(|part| part.rfind('\n'));
        let (part, after) = rest.split_at(at.map_or(0, |at| at + 1));
        inputs.push(Input::bytes(part.to_owned().into_bytes()));
        rest = after;
    }
    inputs.push(Input::bytes(rest.to_owned().into_bytes()));
    inputs
}

#[test]
fn records_that_drift_are_read_as_if_all_were_known_before() {
    let (mut again, mut again_at_all) = (0, 0);
    for seed in 0..scale::number("ARROWSMITH_SEEDS", 400, 20_000) {
        let records = drift::records(seed, seed % 5 == 0);
        let text = lines(&records);
        let rng = &mut Rng::new(seed);
        let on_error = *rng.pick(&[OnError::Fail, OnError::Skip, OnError::Null]);
        let schema = Arc::new(match on_error {
            OnError::Fail => drift::schema(&records),
            _ => drift::schema_of_good(&records),
        });
        let expected = decoded(&schema, &text, on_error);
        for threads in 1..=4 {
            let chunk_bytes = *rng.pick(&[1, 30, 200, 1000, 1 << 20]);
            let records_max = 1 + rng.below(20) as u64;
            let how = How { records_max, threads, chunk_bytes, on_error };
            let learned = grow(inputs(rng, &text), cpu(), how).unwrap().learn().unwrap();
            assert_eq!(learned.schema, schema, "seed {seed}, {how:?}\n{text}");
            let all = collected(grow(inputs(rng, &text), cpu(), how).unwrap()).unwrap();
            assert_eq!(all.schema(), schema, "seed {seed}, {how:?}\n{text}");
            assert_eq!(all, expected, "seed {seed}, {how:?}\n{text}");
            let all = written(grow(inputs(rng, &text), cpu(), how).unwrap()).unwrap();
            assert_eq!(all, expected, "seed {seed}, {how:?}, written\n{text}");
            let before = again;
            let all = widened(grow(inputs(rng, &text), cpu(), how).unwrap(), &mut again).unwrap();
            assert_eq!(all, expected, "seed {seed}, {how:?}, widened\n{text}");
            again_at_all += u64::from(again > before);
        }
    }
    assert!(again_at_all > 0, "no type has changed");
}

/// Keys that are new, and types after nulls, need no other pass.
#[test]
fn keys_are_added_to_what_was_read() {
    for seed in 0..200 {
        let rng = &mut Rng::new(seed);
        let mut text = String::new();
        for record in 0..80 {
            text.push_str(&format!("{{\"id\":{record}"));
            for key in 0..6 {
                match rng.below(4) {
                    0 if record >= 12 * key => {
                        let value = ["1.5", "\"x\"", "[1,null]", "{\"y\":{\"z\":true}}"];
                        text.push_str(&format!(",\"k{key}\":{}", value[key % 4]));
                    }
                    1 => text.push_str(&format!(",\"k{key}\":null")),
                    _ => {}
                }
            }
            text.push_str("}\n");
        }
        let all = |grow: Grow| {
            let mut again = 0;
            let all = widened(grow, &mut again).unwrap();
            assert_eq!(again, 0, "seed {seed}\n{text}");
            all
        };
        let of = |how| grow(vec![Input::bytes(text.clone().into_bytes())], cpu(), how).unwrap();
        let expected = collected(of(How { records_max: 1000, ..FEW })).unwrap();
        for (threads, chunk_bytes) in [(1, 1), (1, 300), (3, 100), (4, 30)] {
            let how = How { threads, chunk_bytes, ..FEW };
            assert_eq!(all(of(how)), expected, "seed {seed}, {how:?}\n{text}");
        }
    }
}

#[test]
fn records_that_are_bad_are_left_out_wherever_they_are() {
    for seed in 0..scale::number("ARROWSMITH_SEEDS", 100, 5_000) {
        let records = drift::records(seed, false);
        let schema = Arc::new(drift::schema(&records));
        let rng = &mut Rng::new(seed);
        let good = lines(&records);
        let mut text = String::new();
        for line in good.lines() {
            if rng.one_in(10) {
                let bad =
                    ["{\"new\":1", "nonsense", "{\"new\":tru}", "{\"a\":[}", "5", "null", "[{}]"];
                text.push_str(bad[rng.below(bad.len())]);
                text.push('\n');
            }
            text.push_str(line);
            text.push('\n');
        }
        let expected = decoded(&schema, &good, OnError::Skip);
        for threads in [1, 3] {
            let chunk_bytes = *rng.pick(&[1, 100, 1000]);
            let how = How { records_max: 3, threads, chunk_bytes, on_error: OnError::Skip };
            let all = collected(grow(inputs(rng, &text), cpu(), how).unwrap()).unwrap();
            assert_eq!(all, expected, "seed {seed}, {how:?}\n{text}");
        }
    }
}

/// Records that are not objects are rows until one is an object.
#[test]
fn other_records_are_bad_once_there_is_an_object() {
    let others = "5\n\"x\"\nnull\n".repeat(10);
    for (text, rows, names) in [
        (others.clone(), 30, "value"),
        (others.clone() + "{\"a\":1}\n", 1, "a"),
        (format!("{{\"a\":1}}\n{others}{{\"b\":1}}\n"), 2, "a b"),
        ("null\n".repeat(30) + "{\"a\":{}}\n", 1, "a"),
        ("[1]\n".repeat(30) + "{}\n", 1, ""),
    ] {
        for chunk_bytes in [1, 40, 1 << 20] {
            let how = How { records_max: 2, threads: 2, chunk_bytes, on_error: OnError::Skip };
            let input = || vec![Input::bytes(text.clone().into_bytes())];
            let all = collected(grow(input(), cpu(), how).unwrap()).unwrap();
            let schema = all.schema();
            let found: Vec<&str> = schema.fields().iter().map(|field| &**field.name()).collect();
            assert_eq!((all.num_rows(), found.join(" ").as_str()), (rows, names), "{text}");
            let again = written(grow(input(), cpu(), how).unwrap()).unwrap();
            assert_eq!(again, all, "{text}");
        }
    }
}

const FEW: How = How { records_max: 2, threads: 2, chunk_bytes: 40, on_error: OnError::Fail };

fn read(text: &str) -> Result<RecordBatch> {
    collected(grow(vec![Input::bytes(text.to_owned().into_bytes())], cpu(), FEW)?)
}

#[test]
fn any_engine_notices_what_is_new() {
    let text = "{\"a\":1}\n".repeat(30) + "{\"b\":{\"c\":2.5}}\n{\"a\":0.5}\n";
    let grown = grow(vec![Input::bytes(text.clone().into_bytes())], reference(), FEW).unwrap();
    assert_eq!(collected(grown).unwrap().schema().fields().len(), 2);
    assert_eq!(read(&text).unwrap().num_rows(), 32);
}

#[test]
fn what_is_not_json_is_an_error_where_it_is() {
    let text = "{\"a\":1}\n".repeat(30) + "{\"b\":2}\n{\"b\":}\n{\"c\":3}\n";
    let error = read(&text).unwrap_err();
    let data = error.as_data().unwrap();
    assert_eq!((data.kind, data.position.line), (ErrorKind::Syntax, 32), "{error}");
    // In a value that no column takes yet, too.
    let text = "{\"a\":1}\n".repeat(30) + "{\"b\":[1,]}\n";
    assert_eq!(read(&text).unwrap_err().as_data().unwrap().kind, ErrorKind::Syntax);
}

#[test]
fn streams_are_read_once() {
    let stream = |late: &str| {
        let text = "{\"a\":1}\n".repeat(40) + late;
        let found = grow(vec![Input::reader(Cursor::new(text))], cpu(), FEW).unwrap();
        collected(found)
    };
    // What was read tells what it is with the wider schema.
    let all = stream("{\"a\":2.5,\"b\":\"x\"}\n").unwrap();
    assert_eq!((all.num_columns(), all.num_rows()), (2, 41));
    // The spelling of a string is not known any more.
    let text = "{\"a\":\"x\"}\n".repeat(40) + "{\"a\":[1]}\n";
    let found = grow(vec![Input::reader(Cursor::new(text))], cpu(), FEW).unwrap();
    let error = collected(found).unwrap_err();
    let data = error.as_data().unwrap();
    assert_eq!((data.kind, data.position.line, &*data.path), (ErrorKind::WrongType, 41, "a"));
    assert!(data.hint.as_ref().unwrap().contains("cannot be read twice"), "{error}");
}

#[test]
fn a_stream_says_where_it_drifts_whichever_thread_is_first() {
    let how = How { threads: 4, chunk_bytes: 64, ..FEW };
    for _ in 0..300 {
        let text = "{\"a\":\"x\"}\n".repeat(400) + "{\"a\":[1]}\n";
        let found = grow(vec![Input::reader(Cursor::new(text))], cpu(), how).unwrap();
        let error = written(found).unwrap_err();
        assert_eq!(error.as_data().unwrap().position.line, 401, "{error}");
    }
}

#[test]
fn a_stream_says_where_it_drifts_if_all_records_are_inferred_from() {
    let text = "{\"t\":\"2024-01-02\"}\n".repeat(40) + "{\"u\":1}\n{\"t\":null}\n";
    let mut options = SampleOptions { records_max: Some(2), ..Default::default() };
    options.infer.timestamps = true;
    let found = sample(vec![Input::reader(Cursor::new(text))], &options).unwrap();
    let growth = Growth::new(&found, Box::new(|schema| Ok(Plan::new(schema)?.into()))).unwrap();
    let pipeline = JsonPipeline::builder(growth.plan(), cpu()).inputs(found.origins);
    let error = written(Grow::new(pipeline, growth).unwrap()).unwrap_err();
    let data = error.as_data().unwrap();
    assert_eq!((data.kind, data.position.line), (ErrorKind::UnknownKey, 41), "{error}");
}

#[test]
fn rejects_are_handed_over_once() {
    use std::sync::atomic::{AtomicU64, Ordering};
    let mut text = "{\"a\":\"x\"}\n".repeat(40) + "{\"a\":[1]}\n";
    text.insert_str(0, "bad\n");
    text.push_str("bad\n");
    let mut options = SampleOptions { records_max: Some(2), ..Default::default() };
    options.infer.skip_malformed = true;
    let found = sample(vec![Input::bytes(text.into_bytes())], &options).unwrap();
    let growth = Growth::new(&found, Box::new(|schema| Ok(Plan::new(schema)?.into()))).unwrap();
    let mut decode = DecodeOptions::default();
    decode.on_error = OnError::Skip;
    let seen = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&seen);
    let pipeline = JsonPipeline::builder(growth.plan(), cpu())
        .inputs(found.origins)
        .options(decode)
        .chunk_bytes(50)
        .on_reject(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
        });
    let all = Grow::new(pipeline, growth).unwrap();
    let mut collect = Collect::new(all);
    while collect.advance().unwrap() {}
    assert_eq!(collect.progress().rejects(), 2);
    let (_, batches) = collect.finish();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 41);
    assert_eq!(seen.load(Ordering::SeqCst), 2);
}

#[test]
fn too_many_fields_are_an_error() {
    let mut text = "{\"a\":1}\n".repeat(10);
    let keys: Vec<String> = (0..20_000).map(|key| format!("\"k{key}\":1")).collect();
    text.push_str(&format!("{{\"a\":1,\"o\":{{\"p\":{{{}}}}}}}\n", keys.join(",")));
    // These are enough keys for a map.
    assert_eq!(read(&text).unwrap().num_columns(), 2);
    let objects: Vec<String> = (0..2000)
        .map(|at| {
            let keys: Vec<String> = (0..9).map(|key| format!("\"k{key}\":1")).collect();
            format!("\"o{at}\":{{{}}}", keys.join(","))
        })
        .collect();
    let text = "{\"a\":1}\n".repeat(10) + &format!("{{{}}}\n", objects.join(","));
    assert!(matches!(read(&text), Err(Error::Schema { .. })));
}
