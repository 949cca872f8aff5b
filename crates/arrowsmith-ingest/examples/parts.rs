// SPDX-License-Identifier: Apache-2.0
//! Measures the parts of the service by themselves: `client`, `convert`, `queue`, and a sink.
//!
//! ```text
//! cargo run --release -p arrowsmith-ingest --features pulsar,flight --example parts -- \
//!     publish --workload trip --bytes 1GiB --sink '{type = "pulsar", topic = "trip"}'
//! ```

#![allow(clippy::print_stdout, reason = "it is what it is for")]

use std::process::ExitCode;

use arrowsmith_core::{Error, Result};
use arrowsmith_ingest::config::{Size, StreamConfig};
use arrowsmith_ingest::parts::{self, Outcome};
use arrowsmith_workload::{Generator, VALUES_MAX_DEFAULT, Workload};
use serde::Deserialize;

/// Text that is made beforehand, in bytes.
const TEXT_BYTES: usize = 32 << 20;

const USAGE: &str = "usage: parts client|convert|queue|publish [--workload NAME] [--bytes SIZE] \
                     [--threads N] [--connections N] [--messages N] [--sink TOML]";

/// The arguments.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Asked {
    workload: String,
    bytes: Size,
    threads: usize,
    connections: usize,
    messages: u64,
    sink: Option<arrowsmith_ingest::sinks::SinkConfig>,
}

impl Default for Asked {
    fn default() -> Self {
        let workload = "battery".to_owned();
        Self {
            workload,
            bytes: Size(1 << 30),
            threads: 1,
            connections: 4,
            messages: 1000,
            sink: None,
        }
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}\n{USAGE}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let wrong = |error: String| Error::Config(error);
    let mut words = std::env::args().skip(1);
    let part = words.next().unwrap_or_default();
    let mut settings = String::new();
    while let (Some(flag), Some(value)) = (words.next(), words.next()) {
        let name = flag.trim_start_matches('-');
        let plain = value.starts_with('{') || value.bytes().all(|byte| byte.is_ascii_digit());
        let value = if plain { value } else { format!("{value:?}") };
        settings.push_str(&format!("{name} = {value}\n"));
    }
    let asked: Asked = toml::from_str(&settings).map_err(|error| wrong(error.to_string()))?;
    let workload: Workload =
        asked.workload.parse().map_err(|error| wrong(format!("{}: {error}", asked.workload)))?;
    let mut generator = Generator::new(workload, 42, VALUES_MAX_DEFAULT);
    let mut text = Vec::with_capacity(TEXT_BYTES + TEXT_BYTES / 8);
    while text.len() < TEXT_BYTES {
        generator.next_record(&mut text);
    }
    let stream = StreamConfig {
        schema: asked.workload.clone(),
        sinks: asked.sink.into_iter().collect(),
        ..StreamConfig::default()
    };
    let bytes = asked.bytes.0 as u64;
    let outcome = match part.as_str() {
        "client" => parts::client(&stream, &text, bytes, asked.connections.max(1))?,
        "convert" => parts::convert(&stream, &text, bytes, asked.threads.max(1))?,
        "queue" => {
            let end = text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |at| at + 1);
            parts::queue(&stream, &text[..end], asked.messages)?
        }
        "publish" => parts::publish(&stream, &text, asked.messages)?,
        other => return Err(wrong(format!("there is no part {other:?}"))),
    };
    show(&part, &asked.workload, &outcome);
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn show(part: &str, workload: &str, outcome: &Outcome) {
    let Outcome { seconds, bytes, units, times } = outcome;
    let (gigabytes, rate) = (*bytes as f64 / 1e9, *units as f64 / seconds);
    println!(
        "{part} {workload}: {gigabytes:.3} GB in {seconds:.3} s, {:.3} GB/s, {units} units, {rate:.0} per second",
        gigabytes / seconds
    );
    for (name, all) in times {
        let at = |share: usize| all.get(all.len() * share / 1000).or(all.last()).unwrap_or(&0.0);
        let sum: f64 = all.iter().sum();
        println!(
            "  {name}: {sum:.3} s together, {:.3} ms half, {:.3} ms 99 %, {:.3} ms 99.9 %",
            at(500) * 1e3,
            at(990) * 1e3,
            at(999) * 1e3
        );
    }
}
