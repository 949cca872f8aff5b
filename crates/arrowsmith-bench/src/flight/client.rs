// SPDX-License-Identifier: Apache-2.0
//! Our client's side of the benchmark protocol; the caller supplies the fetching, so that this
//! crate needs no Flight.

use std::io::{BufRead, Write};
use std::time::Instant;

use arrow_array::RecordBatch;
use serde_json::json;

use crate::check::Checker;

/// Serves `get URI` and `check`, one per line, until the input ends: fetches and keeps all batches
/// of the flight `taxi`, and then sums them.
///
/// # Errors
/// The input or output fails, or a column has a type that no benchmark uses. Errors of fetching are
/// passed on.
pub fn serve_commands(
    version: &str,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
    get: &mut dyn FnMut(&str) -> Result<Vec<RecordBatch>, String>,
) -> Result<(), String> {
    let mut say = |value: serde_json::Value| {
        writeln!(output, "{value}").and_then(|()| output.flush()).map_err(|e| e.to_string())
    };
    say(json!({"ready": true, "version": version, "uri": ""}))?;
    let mut kept = Vec::new();
    for line in input.lines() {
        let line = line.map_err(|error| error.to_string())?;
        if let Some(uri) = line.strip_prefix("get ") {
            kept.clear();
            let start = Instant::now();
            match get(uri) {
                Ok(batches) => kept = batches,
                Err(error) => {
                    say(json!({"error": error}))?;
                    continue;
                }
            }
            let seconds = start.elapsed().as_secs_f64();
            let rows: usize = kept.iter().map(RecordBatch::num_rows).sum();
            say(json!({"seconds": seconds, "rows": rows}))?;
        } else {
            let mut checker = Checker::default();
            for batch in std::mem::take(&mut kept) {
                checker.add(&batch)?;
            }
            let check = checker.finish();
            say(json!({"rows": check.rows, "check": check.columns}))?;
        }
    }
    Ok(())
}
