// SPDX-License-Identifier: Apache-2.0
//! Runs a workload through its circuit, compares with the host's engine, and prints the bytes per
//! cycle.
//!
//!     cargo run --release -p arrowsmith-engine-rtl --example json -- WORKLOAD WIDTH [MAX_VALUES
//!     [BYTES [PARSERS]]]

use std::sync::Arc;
use std::time::Instant;

use arrowsmith_core::{Chunk, DecodeOptions, Framing};
use arrowsmith_engine::{Chain, Engine};
use arrowsmith_engine_cpu::CpuEngine;
use arrowsmith_engine_rtl::RtlEngine;
use arrowsmith_plan::Plan;
use arrowsmith_rtlgen::json::Shape;
use arrowsmith_testkit::run::{Input, Padding, difference, observe};
use arrowsmith_workload::{Generator, Workload};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [workload, width, rest @ ..] = args.as_slice() else {
        return Err("usage: json WORKLOAD WIDTH [MAX_VALUES [BYTES [PARSERS]]]".into());
    };
    let number = |at: usize| rest.get(at).map(|text| text.parse::<usize>()).transpose();
    let workload: Workload = workload.parse()?;
    let shape =
        Shape { width: width.parse()?, parsers: number(2)?.unwrap_or(1), ..Shape::default() };
    let mut text = Vec::new();
    let values = u32::try_from(number(0)?.unwrap_or(64))?;
    Generator::new(workload, 1, values).fill(number(1)?.unwrap_or(1 << 20), &mut text);
    let plan = Arc::new(Plan::new(Arc::new(workload.schema()))?);
    let options = DecodeOptions::default();
    let cpu = Chain::of(CpuEngine::default());
    let rtl = RtlEngine::default().with_shape(shape);
    let chain = Chain::of(rtl.clone()).then(&cpu);
    let mut decoder = chain.decoder(&plan, &options)?;
    let begin = Instant::now();
    decoder.decode(&Chunk::new(&text, Framing::Lines))?;
    let seconds = begin.elapsed().as_secs_f64();
    let found = decoder.flush()?;
    let mut decoder = cpu.decoder(&plan, &options)?;
    decoder.decode(&Chunk::new(&text, Framing::Lines))?;
    let same = found == decoder.flush()?;
    if !same {
        let input = Input::split(&[&text], Framing::Lines, Padding::None);
        let [one, other] =
            [observe(&cpu, &plan, &options, &input)?, observe(&chain, &plan, &options, &input)?];
        println!("cpu, then rtl: {}", difference(&one, &other).unwrap_or_default());
    }
    let counts = rtl.statistics().counts();
    let (bytes, cycles) = (counts.bytes as f64, counts.cycles as f64);
    println!(
        "{workload} W={width}: {:.2} bytes a cycle, {} rows, {} handed back, same as cpu: {same}, {:.2} MB/s simulated; starved {} blocked {} of {} cycles",
        bytes / cycles,
        counts.rows,
        counts.handed_back,
        text.len() as f64 / 1e6 / seconds,
        counts.starved,
        counts.blocked,
        counts.cycles,
    );
    Ok(())
}
