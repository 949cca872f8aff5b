// SPDX-License-Identifier: Apache-2.0
//! A schema that grows gives what inferring from all records and decoding with that schema gives.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrowsmith::json::ReaderBuilder;
use arrowsmith::options::{Format, InferRecords};
use arrowsmith::{Input, JsonReadOptions, OnError, Result};
use arrowsmith_testkit::random::Rng;

/// Text beyond this is not looked at, in bytes: two readers take it.
const TEXT_BYTES_MAX: usize = 64 << 10;

type Read = Result<(SchemaRef, Vec<RecordBatch>)>;

/// Any text as records: looked at in part, and as a whole.
pub fn json_growth(data: &[u8]) {
    let Some((&how, text)) = data.split_first() else { return };
    // A zero with a sign is the one difference there is.
    if text.len() > TEXT_BYTES_MAX || text.windows(2).any(|pair| pair == b"-0") {
        return;
    }
    let rng = &mut Rng::new(u64::from(how));
    let on_error = *rng.pick(&[OnError::Fail, OnError::Skip]);
    let threads = 1 + rng.below(2);
    let chunk_bytes = *rng.pick(&[1, 7, 60, 1000]);
    let records = 1 + rng.below(3) as u64;
    let read = |infer_records: InferRecords| -> Read {
        let options = JsonReadOptions {
            on_error,
            infer_records,
            format: Format::Ndjson,
            threads: Some(threads),
            batch_rows: Some(1000),
            ..JsonReadOptions::default()
        };
        ReaderBuilder::new()
            .options(options)
            .chunk_bytes(chunk_bytes)
            .read_all([Input::bytes(text.to_vec())])
    };
    match (read(InferRecords::First(records)), read(InferRecords::All)) {
        (Ok(grown), Ok(known)) => assert_eq!(grown, known),
        // What is not JSON in a value that no column takes is an error only where the schema grows.
        (Err(_), _) if on_error == OnError::Fail => {}
        (Err(grown), Err(known)) => assert_eq!(grown.to_string(), known.to_string()),
        (grown, known) => panic!("{grown:?}\n{known:?}"),
    }
}
