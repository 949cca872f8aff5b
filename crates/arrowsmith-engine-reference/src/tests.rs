// SPDX-License-Identifier: Apache-2.0
//! Tests of the reference engine: framings, errors with the record's position, what it refuses.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::{DataType, Field, Schema};
use arrowsmith_core::{Chunk, DecodeOptions, Decoder, Error, ErrorKind, Framing, OnError};
use arrowsmith_engine::Engine;
use arrowsmith_plan::{Plan, ROOT_METADATA_KEY};

use crate::ReferenceEngine;

fn decoder(fields: Vec<Field>) -> Box<dyn Decoder> {
    let plan = Arc::new(Plan::new(Arc::new(Schema::new(fields))).unwrap());
    ReferenceEngine::default().decoder(&plan, &DecodeOptions::default()).unwrap()
}

fn ints() -> Vec<Field> {
    vec![Field::new("a", DataType::Int64, true)]
}

fn values(decoder: &mut dyn Decoder) -> Vec<Option<i64>> {
    let batch = decoder.flush().unwrap().unwrap();
    batch.column(0).as_primitive::<Int64Type>().iter().collect()
}

#[test]
fn decodes_every_framing() {
    let texts = [
        (Framing::Lines, "{\"a\":1}\n\n{\"a\":null}\r\n{\"b\":[2]}"),
        (Framing::Concatenated, "\u{feff}{\"a\":1}{\"a\":null}\n{\"b\":\",\"}"),
        (Framing::Array, " {\"a\":1} , {\"a\":null},{\"b\":[{},\",]\"]}"),
    ];
    for (framing, text) in texts {
        let mut decoder = decoder(ints());
        let report = decoder.decode(&Chunk::new(text.as_bytes(), framing)).unwrap();
        assert_eq!(report.records, 3, "{framing:?}");
        assert_eq!(decoder.rows(), 3);
        assert_eq!(values(decoder.as_mut()), [Some(1), None, None], "{framing:?}");
        assert!(decoder.flush().unwrap().is_none());
    }
}

#[test]
fn records_longer_than_the_limit_are_errors() {
    let plan = Arc::new(Plan::new(Arc::new(Schema::new(ints()))).unwrap());
    let mut options = DecodeOptions::default();
    options.limits = options.limits.with_record_bytes_max(9);
    for (framing, text, offset) in [
        (Framing::Lines, "{\"a\":123}\n  {\"a\":12}  \n {\"a\":1234}\n", Some(24)),
        (Framing::Lines, "{\"a\":123}\n  {\"a\":12}  \n{\"a\":123}\r\n", None),
        (Framing::Array, " {\"a\":123} , {\"a\":1234}", Some(13)),
        (Framing::Array, " {\"a\":123} , {\"a\":123} ", None),
    ] {
        let mut decoder = ReferenceEngine::default().decoder(&plan, &options).unwrap();
        let error = decoder.decode(&Chunk::new(text.as_bytes(), framing)).err();
        let found = error.map(|error| {
            let error = error.as_data().unwrap();
            (error.kind, error.position.offset)
        });
        assert_eq!(found, offset.map(|offset| (ErrorKind::RecordTooLong, offset)), "{text}");
    }
}

#[test]
fn keeps_the_rows_before_an_error_and_says_which_record() {
    let text = b"{\"a\":1}\n{\"a\":2}\n {\"a\":tru}\n{\"a\":4}\n";
    let mut decoder = decoder(ints());
    let error = decoder.decode(&Chunk::new(text, Framing::Lines)).unwrap_err();
    let error = error.as_data().unwrap().clone();
    assert_eq!(error.kind, ErrorKind::Syntax);
    assert_eq!((error.position.record, error.position.line, error.position.offset), (2, 3, 17));
    assert_eq!(values(decoder.as_mut()), [Some(1), Some(2)]);
    // The failed chunk leaves nothing behind.
    decoder.decode(&Chunk::new(b"{\"a\":9}", Framing::Lines)).unwrap();
    assert_eq!(values(decoder.as_mut()), [Some(9)]);
}

#[test]
fn refuses_an_array_without_its_commas() {
    for (text, offset) in [("{} {}", 3), ("{},,{}", 3), ("{},", 3), (",{}", 0), ("1,2", 0)] {
        let mut decoder = decoder(ints());
        let error = decoder.decode(&Chunk::new(text.as_bytes(), Framing::Array)).unwrap_err();
        assert_eq!(error.as_data().unwrap().position.offset, offset, "{text}");
    }
    let mut decoder = decoder(ints());
    assert_eq!(decoder.decode(&Chunk::new(b" \n", Framing::Array)).unwrap().records, 0);
}

#[test]
fn a_cut_record_is_truncated_and_a_deep_one_refused() {
    let mut cut = decoder(ints());
    let error = cut.decode(&Chunk::new(b"{\"a\":1", Framing::Concatenated)).unwrap_err();
    assert_eq!(error.as_data().unwrap().kind, ErrorKind::Truncated);
    let deep = format!("{{\"a\":{}", "[".repeat(1_000_000));
    let error = cut.decode(&Chunk::new(deep.as_bytes(), Framing::Lines)).unwrap_err();
    assert_eq!(error.as_data().unwrap().kind, ErrorKind::DepthExceeded);
}

#[test]
fn more_rows_than_arrow_json_takes_at_once() {
    let mut text = String::new();
    for number in 0..20_000 {
        text.push_str(&format!("{{\"a\":{number}}},"));
    }
    text.pop();
    for framing in [Framing::Array, Framing::Concatenated] {
        let text = if framing == Framing::Array { text.clone() } else { text.replace("},", "}\n") };
        let mut decoder = decoder(ints());
        decoder.decode(&Chunk::new(text.as_bytes(), framing)).unwrap();
        assert_eq!(values(decoder.as_mut()), (0..20_000).map(Some).collect::<Vec<_>>());
    }
}

#[test]
fn records_that_are_values() {
    let metadata = [(ROOT_METADATA_KEY.to_owned(), "value".to_owned())].into();
    let schema = Arc::new(Schema::new_with_metadata(ints(), metadata));
    let plan = Arc::new(Plan::new(Arc::clone(&schema)).unwrap());
    let mut decoder = ReferenceEngine::default().decoder(&plan, &DecodeOptions::default()).unwrap();
    decoder.decode(&Chunk::new(b"1\nnull\n3", Framing::Lines)).unwrap();
    let batch = decoder.flush().unwrap().unwrap();
    assert_eq!(batch.schema(), schema);
    assert_eq!(batch.num_rows(), 3);
}

#[test]
fn names_what_it_lacks() {
    let dictionary = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let nested = DataType::Struct(vec![Field::new("d", dictionary, true)].into());
    let plan = Plan::new(Arc::new(Schema::new(vec![Field::new("s", nested, true)]))).unwrap();
    let error = ReferenceEngine::default()
        .decoder(&Arc::new(plan), &DecodeOptions::default())
        .err()
        .unwrap();
    assert!(matches!(error, Error::Schema { path, .. } if path == "s.d"));

    let plan = Arc::new(Plan::new(Arc::new(Schema::new(ints()))).unwrap());
    let mut options = DecodeOptions::default();
    options.on_error = OnError::Skip;
    assert!(matches!(ReferenceEngine::default().decoder(&plan, &options), Err(Error::Config(_))));
}
