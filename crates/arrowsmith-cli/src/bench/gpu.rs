// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith bench gpu`: the GPU engine through the library's reader, as any user would use it.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use arrowsmith::gpu::{GpuEngine, GpuOptions};
use arrowsmith::{Input, json};
use arrowsmith_bench::gpu::{self, Gpu, Options, Way};
use arrowsmith_workload::Workload;
use clap::Args;

use super::write_report;
use crate::failure::Outcome;
use crate::size;

/// JSON to Arrow on this machine's GPU, beside the machine's own copies
///
/// Batteries of 1 to 512 values, trips and logs: with input and output on the host, and from a file. Without a GPU
/// everything is listed as not measured. Without --json and --report the JSON result goes to standard output.
#[derive(Debug, Args)]
pub struct GpuBenchArgs {
    /// Write an HTML page with plots
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,

    /// Write the figures as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Text of a conversion [default: 1MiB,16MiB,256MiB,4GiB]
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = size::parse)]
    pub sizes: Vec<u64>,

    /// Conversions of each
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub rounds: usize,
}

pub fn run(args: &GpuBenchArgs) -> Outcome {
    let mut options = Options { rounds: args.rounds, ..Options::default() };
    if !args.sizes.is_empty() {
        options.sizes_bytes.clone_from(&args.sizes);
    }
    let device = GpuEngine::open(GpuOptions::default()).map(Device).map_err(|e| e.to_string());
    let gpu = device.as_ref().map(|device| device as &dyn Gpu).map_err(String::as_str);
    let report = gpu::run(&options, gpu, &mut |line| eprintln!("{line}"));
    for row in &report.rows {
        eprintln!("{}: {}: {:.2} GB/s", row.workload, row.engine, row.gb_per_s);
    }
    eprintln!("{} figures, {} not measured", report.rows.len(), report.not_measured.len());
    write_report(args.json.as_deref(), args.report.as_deref(), &report, || {
        arrowsmith_bench::html(&report)
    })
}

struct Device(GpuEngine);

impl Gpu for Device {
    fn name(&self) -> String {
        self.0.device().name()
    }

    fn decode(
        &self,
        workload: Workload,
        text: &[u8],
        records: u64,
        way: Way,
        rounds: usize,
    ) -> Result<(Vec<f64>, bool), String> {
        if way == Way::Device {
            return Err("batches do not stay on the device yet".to_owned());
        }
        let mut file = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
        if way == Way::File {
            file.write_all(text).map_err(|error| error.to_string())?;
        }
        let mut seconds = Vec::with_capacity(rounds);
        let mut valid = true;
        // One more, for the buffers to be there.
        for round in 0..=rounds {
            let input = match way {
                Way::File => Input::Path(file.path().to_owned()),
                _ => Input::bytes(text.to_vec()),
            };
            let started = Instant::now();
            let reader = json::ReaderBuilder::new()
                .engine(Arc::new(self.0.clone()))
                .schema(Arc::new(workload.schema()))
                .open([input])
                .map_err(|error| error.to_string())?;
            let mut rows = 0;
            for batch in reader {
                rows += batch.map_err(|error| error.to_string())?.num_rows() as u64;
            }
            valid &= rows == records;
            if round > 0 {
                seconds.push(started.elapsed().as_secs_f64());
            }
        }
        Ok((seconds, valid))
    }

    fn copy(&self, bytes: usize, rounds: usize) -> Result<(Vec<f64>, Vec<f64>), String> {
        let device = self.0.device();
        let words = |error: arrowsmith::Error| error.to_string();
        let mut stream = Arc::clone(device).stream().map_err(words)?;
        let at = device.allocate(bytes as u64).map_err(words)?;
        let text = vec![0; bytes];
        let (mut up, mut down) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let started = Instant::now();
            let copied = stream.copy_in(at, &text).and_then(|()| stream.fetch(&[]));
            up.push(started.elapsed().as_secs_f64());
            let started = Instant::now();
            let fetched = copied.and_then(|_| stream.fetch(&[(at, bytes as u64)]));
            down.push(started.elapsed().as_secs_f64());
            if let Err(error) = fetched {
                device.free(at, bytes as u64);
                return Err(words(error));
            }
        }
        device.free(at, bytes as u64);
        Ok((up, down))
    }
}
