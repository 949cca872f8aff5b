// SPDX-License-Identifier: Apache-2.0
//! Sampling rewinds the inputs.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_schema::DataType;
use arrowsmith_plan::Plan;
use arrowsmith_source::Input;

use super::{Drip, cpu, record, rows};
use crate::{JsonPipeline, SampleOptions, sample};

fn text(count: usize) -> String {
    (0..count).map(|number| record(number) + "\n").collect()
}

#[test]
fn what_was_sampled_is_decoded_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    fs::write(&path, text(500)).unwrap();
    for (records_max, complete) in [(Some(10), false), (Some(1_000_000), true), (None, true)] {
        let inputs = vec![
            Input::Path(path.clone()),
            Input::reader(Drip::new(text(500), 77)),
            Input::reader(std::io::Cursor::new(zstd::encode_all(text(500).as_bytes(), 1).unwrap())),
            Input::bytes(text(500)),
        ];
        let options = SampleOptions { records_max, ..SampleOptions::default() };
        let found = sample(inputs, &options).unwrap();
        assert_eq!(found.complete, complete);
        assert!(found.records >= 10);
        let types: Vec<_> = found.schema.fields().iter().map(|field| field.data_type()).collect();
        assert_eq!(types, [&DataType::Int64, &DataType::Utf8]);
        let plan = Arc::new(Plan::new(found.schema).unwrap());
        let batches = JsonPipeline::builder(plan, cpu())
            .inputs(found.origins)
            .open_options(options.open.clone())
            .chunk_bytes(1000)
            .start()
            .unwrap();
        assert_eq!(rows(batches).num_rows(), 2000);
        // The compressed reader counts compressed bytes, the others their bytes; nothing twice.
        let stored = zstd::encode_all(text(500).as_bytes(), 1).unwrap().len() + 3 * text(500).len();
        assert_eq!(options.open.bytes_read.load(Ordering::Relaxed), stored as u64);
    }
}

#[test]
fn a_sample_ends_where_it_should() {
    let options = SampleOptions { records_max: Some(3), ..SampleOptions::default() };
    let late = format!("{{\"a\":1}}\n{{\"a\":2}}\n{{\"a\":3}}\n{{\"a\":\"x\"}}\n{}", text(10));
    let found = sample(vec![Input::bytes(late.clone())], &options).unwrap();
    assert_eq!((found.records, found.complete), (3, false));
    assert_eq!(found.schema.fields().len(), 1);
    let all = SampleOptions { records_max: None, ..SampleOptions::default() };
    let found = sample(vec![Input::bytes(late)], &all).unwrap();
    assert!(found.complete);
    assert_eq!(found.schema.field(0).data_type(), &DataType::Utf8);
}

#[test]
fn bytes_bound_a_sample_too() {
    let options = SampleOptions { bytes_max: 1, ..SampleOptions::default() };
    let found = sample(vec![Input::bytes(text(30_000)), Input::bytes(text(5))], &options).unwrap();
    assert!(!found.complete);
    assert!(found.records < 30_000, "{}", found.records);
}
