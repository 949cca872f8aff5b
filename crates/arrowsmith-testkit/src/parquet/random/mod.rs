// SPDX-License-Identifier: Apache-2.0
//! Random Parquet files: a random schema, random rows, and random writer settings of the `parquet`
//! crate. Everything is determined by a seed, so that a failure can be reproduced from it.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "only tests run the generator, and a bug of its own has to be visible at once"
)]

mod schema;
mod values;
mod write;

#[cfg(test)]
mod tests;

use arrow_array::{RecordBatch, RecordBatchOptions};
use bytes::Bytes;

use crate::random::Rng;

/// A file and its content.
#[derive(Debug, Clone)]
pub struct RandomFile {
    /// The file.
    pub bytes: Bytes,
    /// The rows written, as one batch.
    pub rows: RecordBatch,
    /// How it was written, for messages.
    pub how: String,
}

/// The file of a seed.
pub fn file(seed: u64) -> RandomFile {
    let rng = &mut Rng::new(seed);
    let schema = schema::schema(rng);
    let rows = match rng.below(10) {
        0 => rng.below(3),
        1..=6 => rng.below(400),
        7 | 8 => rng.below(3_000),
        _ => rng.below(20_000),
    };
    let columns = schema.fields().iter().map(|field| values::array(rng, field, rows)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(schema, columns, &options);
    let rows = batch.expect("columns are as long as their batch");
    write::write(rng, rows)
}
