// SPDX-License-Identifier: Apache-2.0
//! One run: starts a service, sends at full speed or at a rate, and counts what it has stored.

use std::sync::atomic::AtomicBool;

use arrowsmith_load::{Amount, LatencyMs, Options as LoadOptions, Rate, Source};
use arrowsmith_workload::{Layout, VALUES_MAX_DEFAULT, Workload};

use super::process::{self, Service, joules};
use super::{CHUNK_BYTES, CONNECTIONS, REDPANDA_CONNECT, REPEATED_BYTES, SEED, connect};
use crate::BenchError;

/// One run.
pub(super) struct Run {
    pub(super) seconds: f64,
    pub(super) bytes: u64,
    pub(super) records: u64,
    pub(super) latency: Option<LatencyMs>,
    pub(super) cpu_s: Option<f64>,
    pub(super) joules: Option<f64>,
    pub(super) peak_rss_mb: Option<f64>,
    pub(super) stage_s: Vec<(String, f64)>,
    pub(super) sent: u64,
    pub(super) stored: u64,
}

impl Run {
    pub(super) fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.stored)
    }

    pub(super) fn repeated(&self) -> u64 {
        self.stored.saturating_sub(self.sent)
    }
}

/// Options of a single run.
pub(super) struct Plan<'a> {
    pub(super) program: &'a std::path::Path,
    pub(super) workload: Workload,
    pub(super) engine: &'a str,
    pub(super) threads: usize,
    pub(super) source: &'a Source,
    pub(super) amount: Amount,
    pub(super) rate: Option<f64>,
}

/// Starts a service, sends, and counts its output.
pub(super) fn once(plan: &Plan<'_>) -> Result<Run, BenchError> {
    let launch = match plan.engine {
        REDPANDA_CONNECT => connect::launch(plan.program, plan.workload, plan.threads),
        engine => process::ours(plan.program, plan.workload.name(), engine, plan.threads),
    };
    let service = Service::start(launch?)?;
    // A first record, so that files are open and code is compiled before the timing.
    let first = send(plan, &service, Amount::Records(1), None, 1)?;
    let before = service.usage();
    let energy = joules();
    let rate = plan.rate.map(Rate::BytesPerSecond);
    let report = send(plan, &service, plan.amount, rate, CONNECTIONS)?;
    let energy = energy.zip(joules()).map(|(from, to)| to - from).filter(|joules| *joules >= 0.0);
    let after = service.usage();
    let stage_s = service.stages()?;
    let stored = service.end()?;
    Ok(Run {
        seconds: report.seconds,
        bytes: report.sent_bytes,
        records: report.sent_records,
        latency: report.latency,
        cpu_s: before.zip(after).map(|(before, after)| after.cpu_s - before.cpu_s),
        joules: energy,
        peak_rss_mb: after.map(|usage| usage.peak_rss_mb),
        stage_s,
        sent: first.sent_records + report.sent_records,
        stored,
    })
}

fn send(
    plan: &Plan<'_>,
    service: &Service,
    amount: Amount,
    rate: Option<Rate>,
    connections: usize,
) -> Result<arrowsmith_load::Report, BenchError> {
    let failed = |message: String| BenchError::Service { message };
    let target = service
        .target()
        .parse()
        .map_err(|error: arrowsmith_load::TargetError| failed(error.to_string()))?;
    let options = LoadOptions {
        amount,
        rate,
        connections,
        chunk_bytes: CHUNK_BYTES,
        acknowledge: true,
        ..LoadOptions::new(target, source_for(plan, rate))
    };
    let report = arrowsmith_load::run(&options, &AtomicBool::new(false))
        .map_err(|error| failed(error.to_string()))?;
    if report.incomplete_connections > 0 || report.acknowledged_records != Some(report.sent_records)
    {
        return Err(failed(format!("not everything was acknowledged: {:?}", report.failures)));
    }
    Ok(report)
}

/// At a rate, chunks are small, so that they are due evenly; otherwise as large as generated.
fn source_for(plan: &Plan<'_>, rate: Option<Rate>) -> Source {
    if rate.is_none() {
        return plan.source.clone();
    }
    let workload = plan.workload;
    let layout = Layout::default();
    let values_max = VALUES_MAX_DEFAULT;
    Source::Generated { workload, seed: SEED, values_max, layout }
        .repeated(REPEATED_BYTES, CHUNK_BYTES / 16)
}
