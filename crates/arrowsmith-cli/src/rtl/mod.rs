// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith rtl`: writes the circuit for a schema, runs it, and reports on it.
//!
//! Files and names only: what a circuit is, `arrowsmith-rtlgen` knows, how it is run,
//! `arrowsmith-engine-rtl`, how it is measured, `arrowsmith-bench`.

mod args;
mod parquet;
#[cfg(feature = "bench")]
mod report;

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use arrowsmith::plan::{Engine, Plan};
use arrowsmith_core::{Chunk, DecodeOptions, Error, Framing};
use arrowsmith_engine_rtl::MemoryProfile;
use arrowsmith_engine_rtl::json::RtlEngine;
use arrowsmith_rtlgen::json::{Shape, generate, project};
use arrowsmith_workload::Workload;

pub use self::args::RtlArgs;
use self::args::{CircuitArgs, GenerateArgs, RtlCommand, RtlFormat, SimulateArgs};
use crate::failure::{Failure, Outcome};
use crate::schema;

pub fn run(args: &RtlArgs) -> Outcome {
    match &args.command {
        RtlCommand::Generate(args) => generate_files(args),
        RtlCommand::Simulate(args) => simulate(args),
        #[cfg(feature = "bench")]
        RtlCommand::Report(args) => report::run(args),
    }
}

fn plan(args: &CircuitArgs) -> Outcome<(Arc<Plan>, Shape)> {
    let plan = Plan::new(schema::load(required(args)?)?)?;
    let shape = Shape {
        width: args.width.unwrap_or(8),
        parsers: args.parsers,
        ports: args.ports,
        read_ahead: args.read_ahead,
        writers: args.writers.into(),
    };
    Ok((Arc::new(plan), shape))
}

fn required(args: &CircuitArgs) -> Outcome<&str> {
    let missing = || Failure::Usage("a circuit is made for a --schema".to_owned());
    args.schema.as_deref().ok_or_else(missing)
}

fn generate_files(args: &GenerateArgs) -> Outcome {
    let schema = required(&args.circuit)?;
    if args.circuit.format == RtlFormat::Parquet {
        let design = parquet::design(args, schema)?;
        return write_files(&design.top, arrowsmith_rtlgen::parquet::project(&design), args);
    }
    let (plan, shape) = plan(&args.circuit)?;
    let named = || schema.parse::<Workload>().map_or("records", Workload::name);
    let name = args.name.as_deref().unwrap_or_else(named);
    let design = generate(&plan, name, shape)?;
    write_files(&design.top, project(&design, &plan), args)
}

fn write_files(top: &str, files: Vec<(String, String)>, args: &GenerateArgs) -> Outcome {
    let at = |path: &Path, error| Failure::from(Error::io(path, error));
    for (path, text) in files {
        let file = args.output.join(&path);
        let folder = file.parent().unwrap_or(&args.output);
        fs::create_dir_all(folder).map_err(|error| at(folder, error))?;
        fs::write(&file, text).map_err(|error| at(&file, error))?;
    }
    eprintln!("{top}: see {}", args.output.join("README.md").display());
    Ok(())
}

/// The memory that was asked for.
fn memory(args: &SimulateArgs) -> MemoryProfile {
    let behind = match args.interface {
        Some(interface) => interface.model().at(args.clock),
        None => MemoryProfile { read_latency: args.read_latency, ..MemoryProfile::IDEAL },
    };
    MemoryProfile { stall_percent: args.stalls, ..behind }
}

fn simulate(args: &SimulateArgs) -> Outcome {
    if args.circuit.format == RtlFormat::Parquet {
        return parquet::simulate(args);
    }
    let (plan, shape) = plan(&args.circuit)?;
    let text = fs::read(&args.input).map_err(|error| Error::io(&args.input, error))?;
    let options = DecodeOptions::default();
    let host = arrowsmith::engine("cpu")?;
    let memory = memory(args);
    let circuit = RtlEngine::new(Arc::clone(&host)).with_shape(shape).with_memory(memory);
    let decode = |engine: &dyn Engine| -> Outcome<_> {
        let mut decoder = engine.decoder(&plan, &options)?;
        let said = decoder.decode(&Chunk::new(&text, Framing::Lines)).map_err(|e| e.to_string());
        Ok((decoder.flush()?, said.map(|report| report.records)))
    };
    let (found, said) = decode(&circuit)?;
    let same = (found, said.clone()) == decode(host.as_ref())?;
    let mut stdout = io::stdout().lock();
    let counts = circuit.statistics().counts();
    writeln!(stdout, "{counts}").map_err(Failure::stdout)?;
    if let Some(interface) = args.interface {
        let (model, clock) = (interface.model(), args.clock);
        #[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
        let rate = counts.bytes as f64 / counts.cycles.max(1) as f64 * f64::from(clock) / 1e3;
        let limit = model.gb_per_s(counts.bytes, counts.written);
        writeln!(
            stdout,
            "at {clock} MHz behind {}: {rate:.2} GB/s of JSON, {} bytes to {} of Arrow; {limit:.2} are let through",
            model.name, counts.bytes, counts.written
        )
        .map_err(Failure::stdout)?;
    }
    if let Err(error) = said {
        writeln!(stdout, "stopped: {error}").map_err(Failure::stdout)?;
    }
    if same {
        writeln!(stdout, "same as engine cpu").map_err(Failure::stdout)
    } else {
        Err(Error::Config("the circuit and the engine cpu differ".to_owned()).into())
    }
}
