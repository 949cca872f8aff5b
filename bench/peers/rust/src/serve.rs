// SPDX-License-Identifier: Apache-2.0
//! The line protocol of a peer, the clock, and the threads.

use std::io::{BufRead, Write};
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::Convert;
use crate::check::Checker;

pub fn serve(
    engine: &str,
    version: &str,
    convert: Convert,
    schema: &SchemaRef,
    text: &[u8],
    threads: usize,
) -> Result<(), String> {
    let parts = split(text, threads.max(1));
    let say = |line: serde_json::Value| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|e| e.to_string())
    };
    say(serde_json::json!({"ready": true, "engine": engine, "version": version}))?;
    for line in std::io::stdin().lock().lines() {
        if line.map_err(|e| e.to_string())? != "run" {
            break;
        }
        let start = Instant::now();
        let batches = run(convert, schema, &parts)?;
        let seconds = start.elapsed().as_secs_f64();
        let peak_rss_mb = peak_rss_mb();
        let mut checker = Checker::default();
        batches.iter().try_for_each(|batch| checker.add(batch))?;
        let check = checker.finish();
        say(serde_json::json!({
            "seconds": seconds, "rows": check.rows, "check": check.columns,
            "peak_rss_mb": peak_rss_mb,
        }))?;
    }
    Ok(())
}

fn run(convert: Convert, schema: &SchemaRef, parts: &[&[u8]]) -> Result<Vec<RecordBatch>, String> {
    if let [all] = parts {
        return convert(all, schema);
    }
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            parts.iter().map(|part| scope.spawn(move || convert(part, schema))).collect();
        let mut batches = Vec::new();
        for worker in workers {
            batches.extend(worker.join().map_err(|_| "a thread ended early")??);
        }
        Ok(batches)
    })
}

/// Parts of about equal size, split at line ends.
fn split(text: &[u8], parts: usize) -> Vec<&[u8]> {
    let mut result = Vec::new();
    let mut rest = text;
    for left in (1..=parts).rev() {
        let middle = rest.len() / left;
        let end = match memchr::memchr(b'\n', &rest[middle..]) {
            Some(line_feed) if left > 1 => middle + line_feed + 1,
            _ => rest.len(),
        };
        let (part, tail) = rest.split_at(end);
        result.push(part);
        rest = tail;
    }
    result
}

fn peak_rss_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    kib.unwrap_or(0.0) * 1024.0 / 1e6
}
