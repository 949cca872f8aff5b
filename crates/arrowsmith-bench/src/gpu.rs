// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith bench gpu`: what the GPU engine does on this machine's GPU, beside the machine's own copies.
//!
//! What cannot be measured is listed as not measured, with the reason: without a GPU that is everything. It
//! drives a device from outside, by [`Gpu`], and never makes up a figure.

use std::time::{SystemTime, UNIX_EPOCH};

use arrowsmith_workload::{Generator, Workload};

use crate::machine;
use crate::result::{NotMeasured, Report, Row};
use crate::stats::Spread;

/// Where input and output are.
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
    /// Every way, and what it is called.
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

/// A GPU, as the suite drives it.
pub trait Gpu {
    /// What it is called.
    fn name(&self) -> String;

    /// Seconds that each of some conversions took, from the first byte read to the last batch complete, and
    /// whether all of them gave as many records as there are.
    ///
    /// # Errors
    /// Why it cannot be measured.
    fn decode(
        &self,
        workload: Workload,
        text: &[u8],
        records: u64,
        way: Way,
        rounds: usize,
    ) -> Result<(Vec<f64>, bool), String>;

    /// Seconds that each of some copies of so many bytes took, to the device and back.
    ///
    /// # Errors
    /// Why it cannot be measured.
    fn copy(&self, bytes: usize, rounds: usize) -> Result<(Vec<f64>, Vec<f64>), String>;
}

/// What to measure.
#[derive(Debug, Clone)]
pub struct Options {
    /// Sizes of the texts, in bytes.
    pub sizes_bytes: Vec<u64>,
    /// Conversions of each.
    pub rounds: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { sizes_bytes: vec![1 << 20, 16 << 20, 256 << 20, 4 << 30], rounds: 7 }
    }
}

/// The inputs: name, workload, most values of a list.
const INPUTS: [(&str, Workload, u32); 7] = [
    ("battery-1", Workload::Battery, 1),
    ("battery-8", Workload::Battery, 8),
    ("battery-64", Workload::Battery, 64),
    ("battery-512", Workload::Battery, 512),
    ("battery-u64", Workload::BatteryU64, 64),
    ("trip", Workload::Trip, 64),
    ("logs", Workload::Logs, 64),
];

/// Files whose conversion has no way here yet.
const FILES: [&str; 3] = ["parquet-delta", "parquet-strings", "parquet-taxi"];

/// Runs the suite; `gpu` is the device, or why there is none.
pub fn run(
    options: &Options,
    gpu: Result<&dyn Gpu, &str>,
    progress: &mut dyn FnMut(&str),
) -> Report {
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let mut report = Report {
        suite: "gpu".into(),
        machine: machine::describe(),
        commit: machine::commit(),
        command: std::env::args().collect::<Vec<_>>().join(" "),
        started_unix_s: started,
        seed: 0,
        rows: Vec::new(),
        not_measured: Vec::new(),
    };
    for &size in &options.sizes_bytes {
        let bytes = usize::try_from(size).unwrap_or(usize::MAX);
        for (name, workload, max_values) in INPUTS {
            let workload_name = format!("{name}, {}", words(size));
            let mut text = Vec::new();
            if gpu.is_ok() {
                progress(&workload_name);
                Generator::new(workload, 0, max_values).fill(bytes, &mut text);
            }
            let records = text.iter().filter(|byte| **byte == b'\n').count() as u64;
            for way in Way::ALL {
                let measured = gpu.map_err(str::to_owned).and_then(|gpu| {
                    gpu.decode(workload, &text, records, way, options.rounds)
                        .map(|measured| (gpu.name(), measured))
                });
                add(&mut report, &workload_name, way.name(), (text.len(), records), measured);
            }
        }
        for name in FILES {
            let reason = gpu.err().unwrap_or("this suite does not drive Parquet yet");
            report.not_measured.push(missing(&format!("{name}, {}", words(size)), "file", reason));
        }
        let copies = gpu
            .map_err(str::to_owned)
            .and_then(|gpu| gpu.copy(bytes, options.rounds).map(|copies| (gpu.name(), copies)));
        let (up, down) = match copies {
            Ok((name, (up, down))) => (Ok((name.clone(), (up, true))), Ok((name, (down, true)))),
            Err(reason) => (Err(reason.clone()), Err(reason)),
        };
        let copied = format!("copies, {}", words(size));
        add(&mut report, &copied, "to-device", (bytes, 0), up);
        add(&mut report, &copied, "to-host", (bytes, 0), down);
    }
    report.not_measured.push(missing("all", "energy", gpu.err().unwrap_or("NVML is not asked")));
    report.not_measured.push(missing("all", "cudf", gpu.err().unwrap_or("cuDF is not asked")));
    report
}

fn words(bytes: u64) -> String {
    if bytes >= 1 << 30 { format!("{} GiB", bytes >> 30) } else { format!("{} MiB", bytes >> 20) }
}

fn missing(workload: &str, way: &str, reason: &str) -> NotMeasured {
    NotMeasured {
        engine: format!("arrowsmith-gpu ({way})"),
        workload: workload.to_owned(),
        reason: reason.to_owned(),
    }
}

fn add(
    report: &mut Report,
    workload: &str,
    way: &str,
    (bytes, records): (usize, u64),
    measured: Result<(String, (Vec<f64>, bool)), String>,
) {
    let (device, seconds, valid) = match measured {
        Ok((device, (seconds, valid))) => (device, seconds, valid),
        Err(reason) => return report.not_measured.push(missing(workload, way, &reason)),
    };
    let Some(Spread { min, median, max }) = Spread::of(&seconds) else {
        return report.not_measured.push(missing(workload, way, "no rounds"));
    };
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let gb_per_s = bytes as f64 / median / 1e9;
    report.rows.push(Row {
        workload: workload.to_owned(),
        engine: format!("arrowsmith-gpu ({way})"),
        kind: "ours".to_owned(),
        about: device,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        threads: 1,
        bytes: bytes as u64,
        records,
        seconds_median: median,
        seconds_min: min,
        seconds_max: max,
        seconds,
        gb_per_s,
        peak_rss_mb: machine::peak_rss_mb(),
        valid,
        difference: (!valid).then(|| "another number of records".to_owned()),
        vs_fastest_peer: None,
        vs_fastest_reader: None,
        file: None,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that takes as long as it likes.
    struct Clock;

    impl Gpu for Clock {
        fn name(&self) -> String {
            "a clock".to_owned()
        }

        fn decode(
            &self,
            _: Workload,
            text: &[u8],
            records: u64,
            way: Way,
            rounds: usize,
        ) -> Result<(Vec<f64>, bool), String> {
            assert!(!text.is_empty() && records > 0);
            if way == Way::Device { Err("no".to_owned()) } else { Ok((vec![0.5; rounds], true)) }
        }

        fn copy(&self, _: usize, rounds: usize) -> Result<(Vec<f64>, Vec<f64>), String> {
            Ok((vec![1.0; rounds], vec![2.0; rounds]))
        }
    }

    #[test]
    fn without_a_gpu_nothing_is_measured_and_all_of_it_is_said() {
        let report = run(&Options::default(), Err("there is no GPU"), &mut |_| ());
        assert!(report.rows.is_empty());
        assert_eq!(report.not_measured.len(), 4 * (7 * 3 + 3 + 2) + 2);
        assert!(report.not_measured.iter().all(|one| one.reason == "there is no GPU"));
    }

    #[test]
    fn what_a_device_does_becomes_a_rate() {
        let options = Options { sizes_bytes: vec![1 << 20], rounds: 3 };
        let report = run(&options, Ok(&Clock), &mut |_| ());
        assert_eq!(report.rows.len(), 7 * 2 + 2);
        let row = &report.rows[0];
        assert_eq!((row.workload.as_str(), row.seconds_median), ("battery-1, 1 MiB", 0.5));
        assert!((row.gb_per_s - row.bytes as f64 / 0.5 / 1e9).abs() < 1e-12);
    }
}
