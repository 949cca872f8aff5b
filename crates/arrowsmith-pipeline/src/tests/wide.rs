// SPDX-License-Identifier: Apache-2.0
//! Memory is bounded by rows times their width, for any schema, on every engine.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use arrowsmith_core::{Error, ErrorKind, Framing, Limits};
use arrowsmith_engine::Engine;
use arrowsmith_plan::Plan;
use arrowsmith_source::Input;

use super::{Watched, cpu, drain, reference, rows};
use crate::{InferOptions, JsonPipeline, PushDecoder, SampleOptions, sample};

fn wide(columns: usize) -> Arc<Plan> {
    let field = |column| Field::new(format!("c{column}"), DataType::Int64, true);
    Arc::new(Plan::new(Arc::new(Schema::new((0..columns).map(field).collect::<Vec<_>>()))).unwrap())
}

fn limits(memory: usize) -> arrowsmith_core::DecodeOptions {
    let mut options = arrowsmith_core::DecodeOptions::default();
    options.limits = Limits::default().with_memory_bytes_max(memory);
    options
}

#[test]
fn empty_objects_of_many_columns_stay_within_the_budget() {
    const MEMORY: usize = 32 << 20;
    // 20,000 rows of 4 KiB and more.
    let text = "{}\n".repeat(20_000);
    for engine in [cpu(), reference(), Arc::new(Watched::default()) as Arc<dyn Engine>] {
        let name = engine.name();
        for threads in [1, 2] {
            let mut batches = JsonPipeline::builder(wide(500), Arc::clone(&engine))
                .inputs([Input::bytes(text.clone())])
                .options(limits(MEMORY))
                .threads(threads)
                .start()
                .unwrap();
            let (mut count, mut largest) = (0, 0);
            while let Some(batch) = batches.next() {
                let batch = batch.unwrap();
                count += batch.num_rows();
                largest = largest.max(batch.get_array_memory_size());
                assert!(batches.bytes_peak() < 3 * MEMORY, "{name}: {}", batches.bytes_peak());
            }
            assert_eq!(count, 20_000, "{name}");
            assert!(largest < 2 * MEMORY, "{name}: {largest}");
        }
    }
}

#[test]
fn parts_of_a_piece_count_records_and_lines_like_the_whole() {
    let filler = "{}\n\n".repeat(4000);
    let text = format!("{filler}{{\"c1\":7}}\n{filler}{{\"c1\":\"x\"}}\n");
    for threads in [1, 3] {
        for engine in [cpu(), Arc::new(Watched::default()) as Arc<dyn Engine>] {
            let batches = JsonPipeline::builder(wide(300), engine)
                .inputs([Input::bytes(text.clone())])
                .options(limits(4 << 20))
                .threads(threads)
                .start()
                .unwrap();
            let (good, error) = drain(batches);
            let error = error.unwrap();
            let data = error.as_data().unwrap();
            assert_eq!(good.num_rows(), 8001, "{error}");
            assert_eq!((data.position.record, data.position.line), (8001, 16_002), "{error}");
            assert!(data.position.offset >= text.len() as u64 - 11, "{error}");
        }
    }
}

#[test]
fn a_batch_that_is_not_flushed_is_an_error_and_no_abort() {
    let mut options = limits(1 << 20);
    options.limits = options.limits.with_batch_bytes_max(2 << 20);
    let mut decoder = PushDecoder::new(&wide(1000), cpu().as_ref(), &options).unwrap();
    let error = decoder.feed("{}\n".repeat(10_000).as_bytes()).unwrap_err();
    assert_eq!(error.as_data().map(|data| data.kind), Some(ErrorKind::Limit));
    assert!(decoder.rows() > 0);
    assert!(decoder.flush().unwrap().is_some());
}

#[test]
fn lists_of_wide_items_are_bounded_in_the_reference_too() {
    let fields = wide(200).schema().fields().clone();
    let item = Field::new("item", DataType::Struct(fields), true);
    let field = Field::new("l", DataType::List(Arc::new(item)), true);
    let plan = Arc::new(Plan::new(Arc::new(Schema::new(vec![field]))).unwrap());
    let text = format!("{{\"l\":[{}]}}\n", vec!["{}"; 3000].join(","));
    let mut options = limits(64 << 20);
    options.limits = options.limits.with_batch_bytes_max(1 << 20);
    for engine in [cpu(), reference()] {
        let start = |limit| {
            let mut options = options.clone();
            options.limits = options.limits.with_batch_bytes_max(limit);
            JsonPipeline::builder(Arc::clone(&plan), Arc::clone(&engine))
                .inputs([Input::bytes(text.clone())])
                .options(options)
                .threads(1)
                .start()
                .unwrap()
        };
        let (_, error) = drain(start(1 << 20));
        assert_eq!(error.unwrap().as_data().map(|data| data.kind), Some(ErrorKind::Limit));
        assert_eq!(rows(start(64 << 20)).num_rows(), 1);
    }
}

#[test]
fn an_inferred_schema_has_a_bounded_number_of_fields() {
    let options = |fields| SampleOptions {
        limits: Limits::default().with_fields_max(fields),
        infer: InferOptions::default(),
        framing: Some(Framing::Lines),
        ..SampleOptions::default()
    };
    let record = |keys: usize| {
        let keys: Vec<_> = (0..keys).map(|key| format!("\"k{key}\":1")).collect();
        format!("{{{}}}\n", keys.join(","))
    };
    let schema = |text: String, fields| {
        sample(vec![Input::bytes(text)], &options(fields)).map(|sample| sample.schema)
    };
    assert_eq!(schema(record(100), 100).unwrap().fields().len(), 100);
    // Records of more keys are maps.
    let map = schema(record(101), 100).unwrap();
    assert!(matches!(map.field(0).data_type(), DataType::Map(..)), "{map}");
    // Nested objects, each with few keys: more in total than a schema may have.
    let nested: Vec<_> = (0..50).map(|at| format!("\"n{at}\":{}", record(50).trim())).collect();
    let text = format!("{{{}}}\n", nested.join(","));
    let error = schema(text.clone(), 100).unwrap_err();
    let Error::Data(data) = &error else { panic!("{error}") };
    assert_eq!(data.kind, ErrorKind::Limit);
    assert!(schema("{}\n".to_owned() + &text, 100).is_err(), "it is not an end of the sample");
    assert_eq!(schema(text, 1000).unwrap().fields().len(), 50);
}
