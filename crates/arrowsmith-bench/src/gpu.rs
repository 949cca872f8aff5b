// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith bench gpu`: the GPU engine on this machine's GPU, compared with the machine's own
//! copies, engine cpu on the same bytes, and cuDF if it is installed.
//!
//! Missing measurements are listed with the reason: without a GPU that is all of them. It drives a
//! device from outside, by [`Gpu`], and never invents a figure.

use std::path::Path;
use std::process::Command;

use arrowsmith_workload::{Generator, Workload};

use crate::machine;
use crate::parquet::made::Made;
use crate::result::{Report, Row};
use crate::stats::float;

/// The location of input and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Both on the device.
    Device,
    /// In the host's memory, through pinned buffers.
    Host,
    /// Input in a file.
    File,
}

impl Way {
    /// Every way, and its name.
    pub const ALL: [Self; 3] = [Self::Device, Self::Host, Self::File];

    /// Its name in rows.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Host => "host",
            Self::File => "file",
        }
    }
}

/// An input to convert.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    /// The schema of a text; `None` for a Parquet file.
    pub workload: Option<Workload>,
    /// The text, or the file.
    pub bytes: &'a [u8],
    /// The same as a file.
    pub path: &'a Path,
    /// Records, or rows.
    pub records: u64,
}

/// The measurement of some conversions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// Seconds of each, from the first byte read to the last batch complete.
    pub seconds: Vec<f64>,
    /// Whether all of them returned the right number of records.
    pub valid: bool,
    /// Energy of the device for one of them, in joules, if available.
    pub joules: Option<f64>,
}

/// Seconds of each copy to a device, and of each back.
pub type Copies = (Vec<f64>, Vec<f64>);

/// A GPU, as the suite drives it.
pub trait Gpu {
    /// Its name.
    fn name(&self) -> String;

    /// Converts a sample a number of times.
    ///
    /// # Errors
    /// The reason it cannot be measured.
    fn decode(&self, sample: Sample<'_>, way: Way, rounds: usize) -> Result<Measured, String>;

    /// The same by engine cpu, on all cores.
    ///
    /// # Errors
    /// The reason it cannot be measured.
    fn decode_on_cpu(
        &self,
        sample: Sample<'_>,
        way: Way,
        rounds: usize,
    ) -> Result<Measured, String>;

    /// Seconds that each copy of this many bytes took, between pinned memory and the device.
    ///
    /// # Errors
    /// The reason it cannot be measured.
    fn copy(&self, bytes: usize, rounds: usize) -> Result<Copies, String>;

    /// Why there are no figures of energy, if there are none.
    fn no_energy(&self) -> Option<String>;
}

/// Options of the suite.
#[derive(Debug, Clone)]
pub struct Options {
    /// Sizes of the texts, in bytes.
    pub sizes_bytes: Vec<u64>,
    /// Conversions of each.
    pub rounds: usize,
    /// Names of the inputs; all if empty.
    pub inputs: Vec<String>,
    /// Where input and output are; everywhere if empty.
    pub ways: Vec<Way>,
}

impl Default for Options {
    fn default() -> Self {
        let sizes_bytes = vec![1 << 20, 16 << 20, 256 << 20, 4 << 30];
        Self { sizes_bytes, rounds: 7, inputs: Vec::new(), ways: Vec::new() }
    }
}

impl Options {
    fn takes(&self, input: &str) -> bool {
        self.inputs.is_empty() || self.inputs.iter().any(|name| name == input)
    }

    fn goes(&self, way: Way) -> bool {
        self.ways.is_empty() || self.ways.contains(&way)
    }
}

/// Names of all inputs.
pub fn inputs() -> impl Iterator<Item = &'static str> {
    INPUTS.iter().map(|input| input.0).chain(FILES.iter().map(|file| file.0))
}

/// The inputs: name, workload, maximum values of a list.
const INPUTS: [(&str, Workload, u32); 7] = [
    ("battery-1", Workload::Battery, 1),
    ("battery-8", Workload::Battery, 8),
    ("battery-64", Workload::Battery, 64),
    ("battery-512", Workload::Battery, 512),
    ("battery-u64", Workload::BatteryU64, 64),
    ("trip", Workload::Trip, 64),
    ("logs", Workload::Logs, 64),
];

/// Parquet files: their names here, and their workloads of `bench parquet`.
const FILES: [(&str, &str); 5] = [
    ("parquet-delta", "int64-delta"),
    ("parquet-strings", "string-delta-length"),
    ("parquet-taxi", "taxi-none"),
    ("parquet-taxi-snappy", "taxi-snappy"),
    ("parquet-taxi-zstd", "taxi-zstd"),
];

/// Runs cuDF: takes a format, a place, a file and a number of rounds, returns seconds.
const CUDF: &str = include_str!("../embedded/peers/gpu/cudf_peer.py");

/// Runs the suite; `gpu` is the device, or the reason there is none. `progress` gets the name of
/// each input, and each figure as soon as it is known.
pub fn run(
    options: &Options,
    gpu: Result<&dyn Gpu, &str>,
    progress: &mut dyn FnMut(&str),
) -> Report {
    let mut report = Report::start("gpu", Some(0), ());
    for &size in &options.sizes_bytes {
        let bytes = usize::try_from(size).unwrap_or(usize::MAX);
        for (name, workload, max_values) in INPUTS {
            if !options.takes(name) {
                continue;
            }
            let name = format!("{name}, {}", words(size));
            let made = gpu.map_err(str::to_owned).and_then(|gpu| {
                progress(&name);
                let mut text = Vec::new();
                Generator::new(workload, 0, max_values).fill(bytes, &mut text);
                let records = text.iter().filter(|byte| **byte == b'\n').count() as u64;
                let size = text.len() as u64;
                Ok((gpu, Made::text(text, records).map_err(|error| error.to_string())?, size))
            });
            contest(&mut report, &name, Some(workload), made, options, progress);
        }
        for (name, recipe) in FILES {
            if !options.takes(name) {
                continue;
            }
            let name = format!("{name}, {}", words(size));
            let made = gpu.map_err(str::to_owned).and_then(|gpu| {
                progress(&name);
                let made = Made::parquet(recipe, size).map_err(|error| error.to_string())?;
                let size = made.arrow_bytes;
                Ok((gpu, made, size))
            });
            contest(&mut report, &name, None, made, options, progress);
        }
        let copies = gpu
            .map_err(str::to_owned)
            .and_then(|gpu| gpu.copy(bytes, options.rounds).map(|copies| (gpu.name(), copies)));
        let (up, down) = match copies {
            Ok((name, (up, down))) => {
                let copied = |seconds| Measured { seconds, valid: true, joules: None };
                (Ok((name.clone(), copied(up))), Ok((name, copied(down))))
            }
            Err(reason) => (Err(reason.clone()), Err(reason)),
        };
        let copied = format!("copies, {}", words(size));
        add(&mut report, &copied, "arrowsmith-gpu (to-device)", (size, 0), up);
        add(&mut report, &copied, "arrowsmith-gpu (to-host)", (size, 0), down);
    }
    let no_energy = gpu.map_or_else(|reason| Some(reason.to_owned()), Gpu::no_energy);
    if let Some(reason) = no_energy {
        report.missing("energy", "all", reason);
    }
    report
}

/// All engines and ways on one sample of this many bytes.
fn contest(
    report: &mut Report,
    name: &str,
    workload: Option<Workload>,
    made: Result<(&dyn Gpu, Made, u64), String>,
    options: &Options,
    progress: &mut dyn FnMut(&str),
) {
    let (rounds, before) = (options.rounds, report.rows.len());
    for way in Way::ALL.into_iter().filter(|way| options.goes(*way)) {
        let engine = |engine: &str| format!("{engine} ({})", way.name());
        let on_gpu = measure(&made, workload, |gpu, sample| gpu.decode(sample, way, rounds));
        add(report, name, &engine("arrowsmith-gpu"), on_gpu.0, on_gpu.1);
        if way != Way::Device {
            let on_cpu =
                measure(&made, workload, |gpu, sample| gpu.decode_on_cpu(sample, way, rounds));
            add(report, name, &engine("arrowsmith-cpu"), on_cpu.0, on_cpu.1);
        }
        let peer = measure(&made, workload, |_, sample| cudf(sample, way, rounds));
        add(report, name, &engine("cudf"), peer.0, peer.1);
    }
    for row in &report.rows[before..] {
        progress(&format!("  {}: {:.2} GB/s", row.engine(), row.gb_per_s()));
    }
}

/// Bytes and records of a sample, and the measurement of its conversions on a device.
type Figure = ((u64, u64), Result<(String, Measured), String>);

fn measure(
    made: &Result<(&dyn Gpu, Made, u64), String>,
    workload: Option<Workload>,
    run: impl FnOnce(&dyn Gpu, Sample<'_>) -> Result<Measured, String>,
) -> Figure {
    match made {
        Err(reason) => ((0, 0), Err(reason.clone())),
        Ok((gpu, made, bytes)) => {
            let sample = Sample {
                workload,
                bytes: &made.bytes,
                path: made.file.path(),
                records: made.records,
            };
            let measured = run(*gpu, sample).map(|measured| (gpu.name(), measured));
            ((*bytes, made.records), measured)
        }
    }
}

/// cuDF, in a Python that has it.
fn cudf(sample: Sample<'_>, way: Way, rounds: usize) -> Result<Measured, String> {
    let format = if sample.workload.is_some() { "json" } else { "parquet" };
    let done = Command::new("python3")
        .args(["-c", CUDF, format, way.name()])
        .arg(sample.path)
        .arg(rounds.to_string())
        .output()
        .map_err(|error| format!("python3: {error}"))?;
    let said = String::from_utf8_lossy(&done.stdout);
    let mut lines = said.lines();
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        let last = said.lines().last().unwrap_or("it printed nothing");
        return Err(format!("cuDF: {last} (pip install cudf-cu13 has it)"));
    }
    let rows = lines.next().and_then(|line| line.parse::<u64>().ok());
    let seconds: Option<Vec<f64>> = lines.map(|line| line.parse().ok()).collect();
    let seconds = seconds.ok_or("cuDF: its output is not a list of seconds")?;
    Ok(Measured { seconds, valid: rows == Some(sample.records), joules: None })
}

fn words(bytes: u64) -> String {
    if bytes >= 1 << 30 { format!("{} GiB", bytes >> 30) } else { format!("{} MiB", bytes >> 20) }
}

fn add(
    report: &mut Report,
    workload: &str,
    engine: &str,
    (bytes, records): (u64, u64),
    measured: Result<(String, Measured), String>,
) {
    let (device, measured) = match measured {
        Ok(measured) => measured,
        Err(reason) => return report.missing(engine, workload, reason),
    };
    let Measured { seconds, valid, joules } = measured;
    if seconds.is_empty() {
        return report.missing(engine, workload, "no rounds");
    }
    let gigabytes = float(bytes) / 1e9;
    let energy = joules.map(|joules| format!(", {:.3} J/GB", joules / gigabytes));
    let kind = if engine.starts_with("arrowsmith") { "ours" } else { "reader" };
    let row = Row::new(workload, engine)
        .with("kind", kind)
        .with("about", device + energy.as_deref().unwrap_or_default())
        .with("version", env!("CARGO_PKG_VERSION"))
        .with("threads", 1)
        .with("records", records)
        .speed(bytes, &seconds, &["median", "min", "max"])
        .with("peak_rss_mb", machine::peak_rss_mb())
        .with("valid", valid)
        .with_some("difference", (!valid).then_some("another number of records"));
    report.rows.push(row);
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUTS_ALL: usize = INPUTS.len() + FILES.len();

    /// A device that takes a given time.
    struct Clock;

    impl Gpu for Clock {
        fn name(&self) -> String {
            "a clock".to_owned()
        }

        fn decode(&self, sample: Sample<'_>, way: Way, rounds: usize) -> Result<Measured, String> {
            assert!(!sample.bytes.is_empty() && sample.records > 0 && sample.path.exists());
            match way {
                Way::Device => Err("no".to_owned()),
                _ => Ok(Measured { seconds: vec![0.5; rounds], valid: true, joules: Some(1.0) }),
            }
        }

        fn decode_on_cpu(&self, _: Sample<'_>, _: Way, _: usize) -> Result<Measured, String> {
            Err("not supported".to_owned())
        }

        fn copy(&self, _: usize, rounds: usize) -> Result<Copies, String> {
            Ok((vec![1.0; rounds], vec![2.0; rounds]))
        }

        fn no_energy(&self) -> Option<String> {
            None
        }
    }

    #[test]
    fn without_a_gpu_nothing_is_measured_and_all_of_it_is_said() {
        let report = run(&Options::default(), Err("there is no GPU"), &mut |_| ());
        assert!(report.rows.is_empty());
        // Each input: the GPU and cuDF in three ways, the CPU in two; two copies; energy.
        assert_eq!(report.not_measured.len(), 4 * (INPUTS_ALL * 8 + 2) + 1);
        assert!(report.not_measured.iter().all(|one| one.reason == "there is no GPU"));
    }

    #[test]
    fn what_a_device_does_becomes_a_rate() {
        let options = Options { sizes_bytes: vec![1 << 18], rounds: 3, ..Options::default() };
        let report = run(&options, Ok(&Clock), &mut |_| ());
        assert_eq!(
            report.rows.iter().filter(|row| row.engine().contains("gpu")).count(),
            INPUTS_ALL * 2 + 2
        );
        let row = &report.rows[0];
        assert_eq!((row.workload(), row.seconds_median()), ("battery-1, 0 MiB", 0.5));
        assert!((row.gb_per_s() - row.count("bytes") as f64 / 0.5 / 1e9).abs() < 1e-12);
        let about = row.text("about");
        assert!(about.starts_with("a clock, ") && about.ends_with(" J/GB"), "{about}");
    }

    #[test]
    fn only_the_named_inputs_are_measured_where_named() {
        let options = Options {
            sizes_bytes: vec![1 << 18],
            rounds: 1,
            inputs: vec!["trip".to_owned(), "parquet-delta".to_owned()],
            ways: vec![Way::Host],
        };
        let report = run(&options, Ok(&Clock), &mut |_| ());
        let names: Vec<_> = report.rows.iter().map(|row| row.workload()).collect();
        let copies = "copies, 0 MiB";
        assert_eq!(names, ["trip, 0 MiB", "parquet-delta, 0 MiB", copies, copies]);
        // Engine cpu, which this device does not run; cuDF may be installed.
        let ours = report.not_measured.iter().filter(|one| one.engine.starts_with("arrowsmith"));
        assert_eq!(ours.count(), 2);
    }
}
