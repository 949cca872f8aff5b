// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith generate --connect` and `--listen`: arrowsmith-load from the command line.

use std::io::{ErrorKind, Write};

use arrowsmith_core::{Error, whole};
use arrowsmith_load::{Amount, Options, Rate, Report, Source, Target};
use arrowsmith_workload::Layout;

use super::BYTES_DEFAULT;
use crate::args::{GenerateArgs, SendArgs};
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::size::{display, grouped};

pub fn run(args: &GenerateArgs, target: &Target, layout: Layout, interrupt: &Interrupt) -> Outcome {
    let options = options(args, target, layout)?;
    let report =
        arrowsmith_load::run(&options, interrupt.stop()).map_err(|error| match error.kind() {
            ErrorKind::Interrupted => Failure::Work(Error::Cancelled),
            ErrorKind::InvalidInput => Failure::Usage(error.to_string()),
            _ => Failure::Work(Error::io(target.to_string(), error)),
        })?;
    if args.send.json {
        let text = serde_json::to_string_pretty(&report)
            .map_err(|error| Failure::Work(Error::from(std::io::Error::from(error))))?;
        writeln!(std::io::stdout(), "{text}").map_err(Failure::stdout)?;
    }
    if !args.quiet {
        print(&report);
    }
    let unsettled = report.incomplete_connections;
    if unsettled > 0 || report.refused_records > 0 {
        return Err(Failure::Work(Error::Config(format!(
            "{target}: {unsettled} connections were not fully acknowledged, {} records were rejected",
            report.refused_records
        ))));
    }
    Ok(())
}

fn options(args: &GenerateArgs, target: &Target, layout: Layout) -> Outcome<Options> {
    let send: &SendArgs = &args.send;
    let generated = Source::Generated {
        workload: args.workload,
        seed: args.seed,
        values_max: args.max_values,
        layout,
    };
    let amount = match (send.seconds, args.rows) {
        (Some(time), _) => Amount::Time(time),
        (None, Some(rows)) => Amount::Records(rows),
        (None, None) => Amount::Bytes(args.bytes.unwrap_or(BYTES_DEFAULT)),
    };
    #[expect(clippy::cast_precision_loss, reason = "rates are far below 2^53")]
    let rate = match (send.rate, send.rate_records) {
        (Some(bytes), _) => Some(Rate::BytesPerSecond(bytes as f64)),
        (None, records) => records.map(|records| Rate::RecordsPerSecond(records as f64)),
    };
    let token = match &send.token_file {
        None => None,
        Some(path) => {
            let text = whole::read_text(path).map_err(|e| Failure::Work(Error::io(path, e)))?;
            Some(text.trim().to_owned())
        }
    };
    Ok(Options {
        target: target.clone(),
        listen: send.listen.is_some(),
        source: match send.repeat {
            Some(bytes) => generated.repeated(bytes, send.chunk),
            None => generated,
        },
        amount,
        connections: send.connections,
        rate,
        chunk_bytes: send.chunk,
        acknowledge: send.acknowledge,
        retry: send.retry,
        timeout: send.timeout,
        token,
        ca: send.ca.clone(),
        identity: send.cert.clone().zip(send.key.clone()),
    })
}

/// The report for people, on standard error.
fn print(report: &Report) {
    let seconds = report.seconds;
    eprintln!(
        "{} records; {} sent over {} connections; {seconds:.3} s",
        grouped(report.sent_records),
        display(report.sent_bytes),
        grouped(report.connections),
    );
    if let Some(records) = report.acknowledged_records {
        eprintln!(
            "{} records acknowledged, {} refused, {} sent again",
            grouped(records),
            grouped(report.refused_records),
            grouped(report.resent_records),
        );
    }
    if let Some(ms) = report.latency {
        eprintln!(
            "latency: {:.2} ms half, {:.2} ms 99 %, {:.2} ms 99.9 %, {:.2} ms at most",
            ms.p50, ms.p99, ms.p999, ms.max
        );
    }
    for (status, requests) in &report.statuses {
        eprintln!("status {status}: {}", grouped(*requests));
    }
    for (what, times) in &report.failures {
        eprintln!("failed {} times: {what}", grouped(*times));
    }
}
