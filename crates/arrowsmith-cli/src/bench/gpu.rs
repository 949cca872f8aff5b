// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith bench gpu`: the GPU engine through the library, as any user would use it.

use std::sync::Arc;
use std::time::Instant;

use arrowsmith::gpu::{DeviceBatch, DeviceText, GpuEngine, GpuOptions};
use arrowsmith::{Chain, DecodeOptions, Framing, Input, Limits, Plan, engine, json, parquet};
use arrowsmith_bench::gpu::{self, Copies, Gpu, Measured, Options, Sample, Way};
use arrowsmith_parquet::{File, ReadOptions, ReadPlan};
use clap::Args;
use clap::builder::PossibleValuesParser;

use super::{Outputs, write_report};
use crate::failure::Outcome;
use crate::size;

/// JSON and Parquet to Arrow on this machine's GPU, against plain copies, engine cpu and cuDF
///
/// Workloads: battery with 1 to 512 values, trip and logs, and Parquet files of deltas, strings and
/// taxi trips; with input and output on the device (Parquet files come from the host), on the host,
/// and from a file. Without a GPU
/// everything is reported as not measured. Without --json, --csv and --report the JSON result goes
/// to standard output.
#[derive(Debug, Args)]
pub struct GpuBenchArgs {
    #[command(flatten)]
    pub outputs: Outputs,

    /// Sizes of the JSON text, or of the Arrow data of a Parquet file [default:
    /// 1MiB,16MiB,256MiB,4GiB]
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = size::parse)]
    pub sizes: Vec<u64>,

    /// Conversions per configuration
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub rounds: usize,

    /// Inputs, by their names [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = named_input())]
    pub inputs: Vec<String>,

    /// Where input and output are [default: all]
    #[arg(long, value_name = "PLACES", value_delimiter = ',')]
    pub places: Vec<Place>,
}

/// Where input and output are.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum Place {
    Device,
    Host,
    File,
}

impl From<Place> for Way {
    fn from(place: Place) -> Self {
        match place {
            Place::Device => Self::Device,
            Place::Host => Self::Host,
            Place::File => Self::File,
        }
    }
}

fn named_input() -> PossibleValuesParser {
    gpu::inputs().collect::<Vec<_>>().into()
}

pub fn run(args: &GpuBenchArgs) -> Outcome {
    let inputs = args.inputs.clone();
    let ways = args.places.iter().map(|place| Way::from(*place)).collect();
    let mut options = Options { rounds: args.rounds, inputs, ways, ..Options::default() };
    if !args.sizes.is_empty() {
        options.sizes_bytes.clone_from(&args.sizes);
    }
    // As the command does it.
    let bounds = GpuOptions::default().with_pinned_bytes_max(1 << 30);
    let device = GpuEngine::open(bounds).map(Device).map_err(|e| e.to_string());
    let gpu = device.as_ref().map(|device| device as &dyn Gpu).map_err(String::as_str);
    let report = gpu::run(&options, gpu, &mut |line| eprintln!("{line}"));
    eprintln!("{} figures, {} not measured", report.rows.len(), report.not_measured.len());
    write_report(&args.outputs, &report, || arrowsmith_bench::html(&report))
}

/// Conversions are repeated for as long as this to measure their energy: the device counts it in
/// steps of some tens of milliseconds.
const ENERGY_SECONDS: f64 = 1.0;

struct Device(GpuEngine);

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The input of each conversion. Bytes are shared: releasing them takes longer than their decoding.
fn inputs(sample: Sample<'_>, way: Way) -> impl Fn() -> Input {
    let (path, bytes) = (sample.path.to_owned(), Arc::<[u8]>::from(sample.bytes));
    move || match way {
        Way::File => Input::Path(path.clone()),
        Way::Device | Way::Host => Input::bytes(Arc::clone(&bytes)),
    }
}

/// The rows of a sample, read by a reader.
fn read(sample: Sample<'_>, input: Input, engine: &Chain) -> Result<u64, String> {
    let mut rows = 0;
    match sample.workload {
        Some(workload) => {
            let reader = json::ReaderBuilder::new()
                .engine(engine.clone())
                .schema(Arc::new(workload.schema()))
                .open([input]);
            for batch in reader.map_err(words)? {
                rows += batch.map_err(words)?.num_rows() as u64;
            }
        }
        None => {
            let builder = parquet::ReaderBuilder::new().engine(engine.clone());
            let mut reader = builder.open([input]).map_err(words)?;
            while let Some(batch) = reader.next_batch().map_err(words)? {
                rows += batch.num_rows() as u64;
            }
        }
    }
    Ok(rows)
}

impl Device {
    /// Times some work, which returns the number of records it has read. One untimed call before
    /// allocates the buffers.
    fn time(
        &self,
        sample: Sample<'_>,
        rounds: usize,
        mut work: impl FnMut() -> Result<(f64, u64), String>,
    ) -> Result<Measured, String> {
        let mut measured = Measured { valid: work()?.1 == sample.records, ..Measured::default() };
        for _ in 0..rounds {
            let (seconds, records) = work()?;
            measured.valid &= records == sample.records;
            measured.seconds.push(seconds);
        }
        Ok(measured)
    }

    /// The same, and the energy that the device uses for it, with what it uses at rest.
    fn time_with_energy(
        &self,
        sample: Sample<'_>,
        rounds: usize,
        mut work: impl FnMut() -> Result<(f64, u64), String>,
    ) -> Result<Measured, String> {
        let mut measured = self.time(sample, rounds, &mut work)?;
        let joules = || self.0.device().joules().ok();
        let Some(before) = joules().filter(|_| rounds > 0) else { return Ok(measured) };
        let (started, mut conversions) = (Instant::now(), 0.0);
        while started.elapsed().as_secs_f64() < ENERGY_SECONDS {
            work()?;
            conversions += 1.0;
        }
        measured.joules = joules().map(|after| (after - before) / conversions);
        Ok(measured)
    }

    /// Decodes a Parquet file in the host's memory to batches that stay on the device.
    fn row_groups(&self, sample: Sample<'_>, rounds: usize) -> Result<Measured, String> {
        let rest = engine("cpu").map_err(words)?;
        let (options, limits) = (ReadOptions::default(), Limits::default());
        let file = File::open(sample.bytes.to_vec().into(), &limits).map_err(words)?;
        let plan = ReadPlan::new(&file, &options).map_err(words)?;
        self.time_with_energy(sample, rounds, || {
            let started = Instant::now();
            let mut batches = Vec::new();
            for group in 0..file.row_groups() {
                let batch = self.0.device_batch(&file, group, &plan, &options, &rest);
                batches.push(batch.map_err(words)?);
            }
            batches.iter().try_for_each(DeviceBatch::wait).map_err(words)?;
            let seconds = started.elapsed().as_secs_f64();
            Ok((seconds, batches.iter().map(|batch| batch.num_rows() as u64).sum()))
        })
    }

    /// Decodes text in device memory to batches that stay there.
    fn resident(&self, sample: Sample<'_>, rounds: usize) -> Result<Measured, String> {
        let Some(workload) = sample.workload else { return self.row_groups(sample, rounds) };
        let plan = Plan::new(Arc::new(workload.schema())).map_err(words)?;
        let options = DecodeOptions::default();
        let decoder =
            self.0.device_decoder(&Arc::new(plan), &options, &engine("cpu").map_err(words)?);
        let mut decoder = decoder.map_err(words)?;
        let text = DeviceText::upload(self.0.device(), sample.bytes.to_vec()).map_err(words)?;
        self.time_with_energy(sample, rounds, || {
            let started = Instant::now();
            decoder.decode_resident(&text, Framing::Lines).map_err(words)?;
            let batches = decoder.take();
            batches.iter().try_for_each(DeviceBatch::wait).map_err(words)?;
            let seconds = started.elapsed().as_secs_f64();
            Ok((seconds, batches.iter().map(|batch| batch.num_rows() as u64).sum()))
        })
    }
}

impl Gpu for Device {
    fn name(&self) -> String {
        self.0.device().name()
    }

    fn decode(&self, sample: Sample<'_>, way: Way, rounds: usize) -> Result<Measured, String> {
        if way == Way::Device {
            return self.resident(sample, rounds);
        }
        let engine = Chain::of(self.0.clone()).then(&engine("cpu").map_err(words)?);
        let input = inputs(sample, way);
        self.time_with_energy(sample, rounds, || {
            let input = input();
            let started = Instant::now();
            let rows = read(sample, input, &engine)?;
            Ok((started.elapsed().as_secs_f64(), rows))
        })
    }

    fn decode_on_cpu(
        &self,
        sample: Sample<'_>,
        way: Way,
        rounds: usize,
    ) -> Result<Measured, String> {
        let cpu = engine("cpu").map_err(words)?;
        let input = inputs(sample, way);
        self.time(sample, rounds, || {
            let input = input();
            let started = Instant::now();
            let rows = read(sample, input, &cpu)?;
            Ok((started.elapsed().as_secs_f64(), rows))
        })
    }

    fn copy(&self, bytes: usize, rounds: usize) -> Result<Copies, String> {
        self.0.device().copy_seconds(bytes, rounds).map_err(words)
    }

    fn no_energy(&self) -> Option<String> {
        self.0.device().joules().err()
    }
}
