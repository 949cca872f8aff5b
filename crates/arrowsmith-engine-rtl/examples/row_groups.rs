// SPDX-License-Identifier: Apache-2.0
//! Reads a Parquet file through a generated circuit, row group by row group, and prints the cycles:
//!
//!     cargo run --release -p arrowsmith-engine-rtl --example row_groups -- FILE
//!     [ideal|pcie3|opencapi3|pcie5] [MHz]
//!
//! Prints a line of JSON for each row group. `ARROWSMITH_VERILATOR` names a Verilator (`tools/hdl
//! verilator`).

use arrowsmith_engine_rtl::Verilator;
use arrowsmith_engine_rtl::parquet::Circuit;
use arrowsmith_engine_rtl::{Interface, MemoryProfile};
use arrowsmith_parquet::{File, ReadOptions, ReadPlan};
use arrowsmith_rtlgen::parquet::Options;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: row_groups FILE [PROFILE] [MHz]")?;
    let profile = arguments.next().unwrap_or_else(|| "ideal".into());
    let megahertz: u32 = arguments.next().map_or(Ok(250), |text| text.parse())?;
    let memory = match profile.as_str() {
        "ideal" => MemoryProfile::IDEAL,
        "pcie3" => Interface::PCIE3_X8.at(megahertz),
        "opencapi3" => Interface::OPENCAPI3.at(megahertz),
        "pcie5" => Interface::PCIE5_X16.at(megahertz),
        other => return Err(format!("unknown profile {other}").into()),
    };
    let file = File::open(std::fs::read(path)?.into(), &arrowsmith_core::Limits::default())?;
    let plan = ReadPlan::new(&file, &ReadOptions::default())?;
    let engine = Circuit::new(&Verilator::find()?, &file, &plan, &Options::default())?;
    let mut reader = engine.start(&memory)?;
    for row_group in 0..file.row_groups() {
        let (batch, took) = reader.read(&file, row_group)?;
        println!(
            "{{\"rows\": {}, \"columns\": {}, \"input_bytes\": {}, \"output_bytes\": {}, \"cycles\": {}, \
             \"output_bytes_per_cycle\": {:.2}, \"input_bytes_per_cycle\": {:.2}, \"stall_input\": {}, \"stall_output\": {}}}",
            batch.num_rows(),
            batch.num_columns(),
            took.input_bytes,
            took.output_bytes,
            took.cycles,
            took.output_bytes as f64 / took.cycles as f64,
            took.input_bytes as f64 / took.cycles as f64,
            took.stall_input,
            took.stall_output
        );
    }
    Ok(())
}
