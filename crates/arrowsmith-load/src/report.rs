// SPDX-License-Identifier: Apache-2.0
//! The result of a run: records sent and acknowledged, and latencies.

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::feed::Item;

/// The result of a run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Connections that were opened, including those after a failure.
    pub connections: u64,
    /// Records that were sent, not counting repetitions.
    pub sent_records: u64,
    /// Bytes of text in them.
    pub sent_bytes: u64,
    /// Records that the receiver acknowledged: over HTTP by status 200, over TCP by a line. `None`
    /// if acknowledgements were not requested.
    pub acknowledged_records: Option<u64>,
    /// Records that were refused permanently, with a status that a retry does not change.
    pub refused_records: u64,
    /// Records that were sent more than once because they were not acknowledged in time.
    pub resent_records: u64,
    /// Requests by status, as `(status, requests)`.
    pub statuses: Vec<(u16, u64)>,
    /// Failures of connections, with the number of occurrences of each; only the first kinds are
    /// kept.
    pub failures: Vec<(String, u64)>,
    /// Connections that gave up before everything was sent, and acknowledged if that was requested.
    pub incomplete_connections: u64,
    /// From the first connection to the last acknowledgement.
    pub seconds: f64,
    /// From the time that a chunk was due to its acknowledgement.
    pub latency: Option<LatencyMs>,
}

/// Percentiles over chunks, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LatencyMs {
    /// Chunks that were acknowledged.
    pub count: u64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Maximum.
    pub max: f64,
}

/// Maximum number of distinct failures.
const FAILURES_MAX: usize = 16;

/// The counters of one connection; merged at the end, so that nothing is shared while sending.
#[derive(Default)]
pub(crate) struct Count {
    pub(crate) report: Report,
    latency: Option<Histogram<u64>>,
}

impl Count {
    pub(crate) fn sent(&mut self, item: &Item) {
        if item.again {
            self.report.resent_records += item.chunk.records;
        } else {
            self.report.sent_records += item.chunk.records;
            self.report.sent_bytes += item.chunk.text.len() as u64;
        }
    }

    pub(crate) fn acknowledged(&mut self, item: &Item) {
        *self.report.acknowledged_records.get_or_insert(0) += item.chunk.records;
        let time = item.due.elapsed();
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        if self.latency.is_none() {
            self.latency = Histogram::new(3).ok();
        }
        if let Some(histogram) = &mut self.latency {
            // The histogram grows as needed, so recording cannot fail.
            let _ = histogram.record(us.max(1));
        }
    }

    pub(crate) fn status(&mut self, status: u16) {
        add(&mut self.report.statuses, status, 1, usize::MAX);
    }

    pub(crate) fn failure(&mut self, what: String) {
        add(&mut self.report.failures, what, 1, FAILURES_MAX);
    }

    /// Adds the counters of another connection.
    pub(crate) fn merge(&mut self, other: Self) {
        let (ours, theirs) = (&mut self.report, other.report);
        ours.connections += theirs.connections;
        ours.sent_records += theirs.sent_records;
        ours.sent_bytes += theirs.sent_bytes;
        ours.refused_records += theirs.refused_records;
        ours.resent_records += theirs.resent_records;
        ours.incomplete_connections += theirs.incomplete_connections;
        if let Some(records) = theirs.acknowledged_records {
            *ours.acknowledged_records.get_or_insert(0) += records;
        }
        for (status, requests) in theirs.statuses {
            add(&mut ours.statuses, status, requests, usize::MAX);
        }
        for (what, times) in theirs.failures {
            add(&mut ours.failures, what, times, FAILURES_MAX);
        }
        match (&mut self.latency, other.latency) {
            (Some(ours), Some(theirs)) => {
                // Both grow as needed, so adding cannot fail.
                let _ = ours.add(&theirs);
            }
            (ours @ None, theirs) => *ours = theirs,
            (Some(_), None) => {}
        }
    }

    /// The report of these counters.
    pub(crate) fn finish(mut self, seconds: f64) -> Report {
        self.report.seconds = seconds;
        self.report.statuses.sort_unstable();
        self.report.latency = self.latency.filter(|h| !h.is_empty()).map(|histogram| {
            #[expect(clippy::cast_precision_loss, reason = "microseconds of a latency are few")]
            let at = |q: f64| histogram.value_at_quantile(q) as f64 / 1e3;
            LatencyMs {
                count: histogram.len(),
                p50: at(0.5),
                p90: at(0.9),
                p99: at(0.99),
                p999: at(0.999),
                max: at(1.0),
            }
        });
        self.report
    }
}

fn add<K: PartialEq>(counts: &mut Vec<(K, u64)>, key: K, times: u64, most: usize) {
    if let Some((_, count)) = counts.iter_mut().find(|(known, _)| *known == key) {
        *count += times;
    } else if counts.len() < most {
        counts.push((key, times));
    }
}
