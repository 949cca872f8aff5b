// SPDX-License-Identifier: Apache-2.0
//! Decodes a workload that is in memory, chunk by chunk, dropping each batch: `json_bench WORKLOAD
//! [MAX_VALUES] [MIB] [CHUNK_KIB]`, or `json_bench FILE.jsonl SCHEMA` with a schema file. For
//! profiling; `arrowsmith bench json` is the benchmark.

use std::hint::black_box;
use std::sync::Arc;

use arrowsmith_core::{Chunk, DecodeOptions, Framing};
use arrowsmith_engine::Engine;
use arrowsmith_engine_cpu::CpuEngine;
use arrowsmith_plan::Plan;
use arrowsmith_plan::load::load_schema;
use arrowsmith_workload::{Generator, Workload};

/// CPU time of this thread, which other processes disturb less than the time of day; Linux only.
fn cpu_seconds() -> f64 {
    // The count is brought up to date when another thread may run.
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|first| first.parse::<f64>().ok());
    nanoseconds.unwrap_or(f64::NAN) / 1e9
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let number = |i: usize, default: usize| args.get(i).map_or(Ok(default), |a| a.parse::<usize>());
    let name = args.get(1).map_or("battery", |s| s);
    let (mut chunk, mut max_values) = (1024 << 10, 0);
    let (mut text, schema) = if name.ends_with(".jsonl") {
        let schema = Arc::new(load_schema(args.get(2).ok_or("which schema?")?)?);
        (std::fs::read(name)?, schema)
    } else {
        let workload: Workload = name.parse()?;
        max_values = u32::try_from(number(2, 64)?)?;
        chunk = number(4, 1024)? << 10;
        let mut text = Vec::new();
        Generator::new(workload, 42, max_values).fill(number(3, 128)? << 20, &mut text);
        (text, Arc::new(workload.schema()))
    };
    let len = text.len();
    text.resize(len + 128, 0);
    let plan = Arc::new(Plan::new(schema)?);
    let engine = CpuEngine::default();
    let mut decoder = engine.decoder(&plan, &DecodeOptions::default())?;
    let mut times = Vec::new();
    let mut rows = 0;
    for _ in 0..7 {
        let start = cpu_seconds();
        let mut at = 0;
        rows = 0;
        while at < len {
            let target = (at + chunk).min(len);
            let end = if target == len {
                len
            } else {
                at + text[at..target].iter().rposition(|b| *b == b'\n').ok_or("long line")? + 1
            };
            let mut piece = Chunk::new(&text[at..], Framing::Lines);
            piece.len = end - at;
            decoder.decode(&piece)?;
            if let Some(batch) = decoder.flush()? {
                rows += batch.num_rows();
                black_box(batch);
            }
            at = end;
        }
        times.push(cpu_seconds() - start);
    }
    times.sort_by(f64::total_cmp);
    let rate = |t: f64| len as f64 / t / 1e9;
    println!(
        "{:12} {max_values:4} {:8} best {:5.2} GB/s, median {:5.2}, {rows} rows",
        name,
        engine.level_name(),
        rate(times[0]),
        rate(times[times.len() / 2]),
    );
    Ok(())
}
