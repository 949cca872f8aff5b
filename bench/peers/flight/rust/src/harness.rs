// SPDX-License-Identifier: Apache-2.0
//! Shared by both programs: options, and the protocol with the command. A user would not write it,
//! so it is not counted among the lines of code.
#![allow(dead_code, reason = "each program uses one half of it")]

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::PathBuf;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use serde_json::{Value, json};

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

pub struct Options {
    pub data: PathBuf,
    pub memory: bool,
    pub batch_rows: usize,
}

pub fn options() -> Result<Options, Failure> {
    let mut options = Options { data: PathBuf::new(), memory: false, batch_rows: 65_536 };
    let mut words = std::env::args().skip(1);
    while let (Some(name), Some(value)) = (words.next(), words.next()) {
        match name.as_str() {
            "--data" => options.data = value.into(),
            "--mode" => options.memory = value == "memory",
            "--batch-rows" => options.batch_rows = value.parse()?,
            _ => {}
        }
    }
    Ok(options)
}

pub fn ready(uri: &str) {
    println!("{}", json!({"ready": true, "version": "arrow-flight 59", "uri": uri}));
}

/// Returns when the command wants the program to end.
pub fn wait_for_end() {
    std::io::stdin().lock().lines().map_while(Result::ok).for_each(drop);
}

/// `get URI` fetches and keeps the batches, `check` sums and frees them.
pub fn serve_commands(
    mut get: impl FnMut(&str) -> Result<Vec<RecordBatch>, Failure>,
) -> Result<(), Failure> {
    ready("");
    let mut kept = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if let Some(uri) = line.strip_prefix("get ") {
            kept.clear();
            let start = Instant::now();
            match get(uri) {
                Ok(batches) => kept = batches,
                Err(error) => {
                    println!("{}", json!({"error": error.to_string()}));
                    continue;
                }
            }
            let seconds = start.elapsed().as_secs_f64();
            println!("{}", json!({"seconds": seconds, "rows": rows(&kept)}));
        } else {
            println!("{}", check(&kept)?);
            kept = Vec::new();
        }
    }
    Ok(())
}

fn rows(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::num_rows).sum()
}

fn check(batches: &[RecordBatch]) -> Result<Value, Failure> {
    let mut all: BTreeMap<String, (usize, Total)> = BTreeMap::new();
    for batch in batches {
        for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
            let count = column.len() - column.null_count();
            let more = total(column)?;
            let entry = all.entry(field.name().clone()).or_insert((0, more.zero()));
            entry.0 += count;
            entry.1 = entry.1.plus(more);
        }
    }
    let columns: serde_json::Map<String, Value> = all
        .into_iter()
        .map(|(name, (n, total))| {
            let value = match total {
                Total::Sum(sum) => json!({"n": n, "sum": sum.cast_unsigned().to_string()}),
                Total::Float(sum) => json!({"n": n, "float": sum}),
                Total::Bytes(bytes) => json!({"n": n, "bytes": bytes}),
            };
            (name, value)
        })
        .collect();
    Ok(json!({"rows": rows(batches), "check": columns}))
}

#[derive(Clone, Copy)]
enum Total {
    Sum(i64),
    Float(f64),
    Bytes(usize),
}

impl Total {
    fn zero(self) -> Self {
        match self {
            Self::Sum(_) => Self::Sum(0),
            Self::Float(_) => Self::Float(0.0),
            Self::Bytes(_) => Self::Bytes(0),
        }
    }

    fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Sum(a), Self::Sum(b)) => Self::Sum(a.wrapping_add(b)),
            (Self::Float(a), Self::Float(b)) => Self::Float(a + b),
            (Self::Bytes(a), Self::Bytes(b)) => Self::Bytes(a + b),
            (_, other) => other,
        }
    }
}

fn total(column: &dyn Array) -> Result<Total, Failure> {
    Ok(match column.data_type() {
        DataType::Int32 => {
            let values = column.as_primitive::<Int32Type>().iter().flatten();
            Total::Sum(values.fold(0, |sum, value| sum.wrapping_add(i64::from(value))))
        }
        DataType::Int64 => {
            let values = column.as_primitive::<Int64Type>().iter().flatten();
            Total::Sum(values.fold(0, i64::wrapping_add))
        }
        DataType::Timestamp(..) => {
            let values = column.as_primitive::<TimestampMicrosecondType>().iter().flatten();
            Total::Sum(values.fold(0, i64::wrapping_add))
        }
        DataType::Float64 => {
            Total::Float(column.as_primitive::<Float64Type>().iter().flatten().sum())
        }
        DataType::Utf8 => {
            Total::Bytes(column.as_string::<i32>().iter().flatten().map(str::len).sum())
        }
        other => return Err(format!("{other} was not expected").into()),
    })
}
