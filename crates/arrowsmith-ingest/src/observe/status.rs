// SPDX-License-Identifier: Apache-2.0
//! The state of the service as one JSON object: what the dashboard and `Service::status` show.

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use arrowsmith_plan::text::format_schema;
use prometheus::Histogram;
use serde_json::{Value, json};

use super::cpu_time::CpuTime;
use super::last_rejects::LastRejects;
use super::metrics::{Metrics, SinkMetrics, StageSeconds, quantile};
use crate::publish::worker::QUEUE_MAX;
use crate::stream::{ORDER_MAX, Stream};

/// The streams whose rejected records are shown with their text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Texts {
    All,
    /// Those without tokens.
    OpenStreams,
    None,
}

/// A stream, and its sinks by name.
pub(crate) type StreamAndSinks = (Arc<Stream>, Vec<(String, Arc<SinkMetrics>)>);

/// What the state is made of.
pub(crate) struct StatusSource {
    pub(crate) started: Instant,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) memory_bytes_max: usize,
    pub(crate) streams: Vec<StreamAndSinks>,
    pub(crate) rejects: Arc<LastRejects>,
}

/// Records of a stream by how they were handled; of its sinks, the one that has stored the fewest
/// counts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) received: u64,
    pub(crate) published: u64,
    pub(crate) rejected: u64,
    pub(crate) spooled: u64,
}

impl StatusSource {
    pub(crate) fn counts(stream: &Stream, sinks: &[(String, Arc<SinkMetrics>)]) -> Counts {
        let metrics = &stream.metrics;
        let rejected = metrics.rejected.get() + metrics.refused.get();
        let published = sinks.iter().map(|(_, sink)| {
            // Messages that an earlier run left in the spool do not count for this run.
            sink.published.get().saturating_sub(sink.recovered.get().min(sink.unspooled.get()))
        });
        let refused = sinks.iter().map(|(_, sink)| sink.refused.get()).max().unwrap_or(0);
        let spooled = sinks.iter().map(|(_, sink)| {
            let left = sink.spooled.get() + sink.recovered.get();
            let recovered = sink.recovered.get().saturating_sub(sink.unspooled.get());
            left.saturating_sub(sink.unspooled.get()).saturating_sub(recovered)
        });
        Counts {
            received: metrics.records.get(),
            published: published.min().unwrap_or(0),
            rejected: rejected + refused,
            spooled: spooled.max().unwrap_or(0),
        }
    }

    /// The object of `/v1/status.json`.
    pub(crate) fn status(&self, draining: bool, texts: Texts) -> Value {
        let is_open = |name: &str| {
            self.streams
                .iter()
                .any(|(stream, _)| &*stream.name == name && stream.config.tokens.is_empty())
        };
        let is_shown = |name: &str| match texts {
            Texts::All => true,
            Texts::OpenStreams => is_open(name),
            Texts::None => false,
        };
        let mut totals = Counts::default();
        let mut bytes = 0;
        let mut streams = Vec::new();
        for (stream, sinks) in &self.streams {
            let counts = Self::counts(stream, sinks);
            totals.received += counts.received;
            totals.published += counts.published;
            totals.rejected += counts.rejected;
            totals.spooled += counts.spooled;
            bytes += stream.metrics.received_bytes.get();
            let mut value = stream_value(stream, sinks, counts);
            // With "auto", names of columns are what clients sent.
            if is_shown(&stream.name) {
                value["schema"] = format_schema(&stream.compiled().schema).into();
            }
            streams.push(value);
        }
        let done = totals.published + totals.rejected + totals.spooled;
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "uptime_s": self.started.elapsed().as_secs_f64(),
            "state": if draining { "draining" } else { "running" },
            "connections": self.metrics.connections.get(),
            "memory_bytes": self.metrics.memory_bytes.get(),
            "memory_bytes_max": self.memory_bytes_max,
            "totals": {
                "received_records": totals.received,
                "received_bytes": bytes,
                "published_records": totals.published,
                "rejected_records": totals.rejected,
                "spooled_records": totals.spooled,
                "in_flight_records": totals.received.saturating_sub(done),
            },
            "stages": self.stages(totals),
            "streams": streams,
            "rejects": self.rejects.all(is_shown),
        })
    }

    /// Whether a sink wants messages serialized.
    fn serializes(&self) -> bool {
        let wants =
            |stream: &Stream| stream.needs.read().unwrap_or_else(PoisonError::into_inner).payload;
        self.streams.iter().any(|(stream, _)| wants(stream))
    }

    /// Bytes and records received, by stream.
    pub(crate) fn received(&self) -> Vec<(u64, u64)> {
        let one = |(stream, _): &StreamAndSinks| {
            (stream.metrics.received_bytes.get(), stream.metrics.records.get())
        };
        self.streams.iter().map(one).collect()
    }

    fn stages(&self, totals: Counts) -> Value {
        let sum = |value: &dyn Fn(&Stream) -> u64| -> u64 {
            self.streams.iter().map(|(stream, _)| value(stream)).sum()
        };
        let text = sum(&|stream| stream.metrics.received_bytes.get());
        let arrow = sum(&|stream| stream.metrics.arrow_bytes.get());
        let rows = totals.received.saturating_sub(totals.rejected);
        let parse_queue: i64 =
            self.streams.iter().map(|(stream, _)| stream.metrics.parse_queue.get()).sum();
        let sinks =
            || self.streams.iter().flat_map(|(_, sinks)| sinks.iter().map(|(_, sink)| sink));
        let publish_queue: i64 = sinks().map(|sink| sink.queue.get()).sum();
        let of = |stage: usize| -> Vec<&Histogram> {
            self.streams.iter().map(|(stream, _)| &stream.metrics.stages[stage]).collect()
        };
        let publish: Vec<&Histogram> = sinks().map(|sink| &sink.publish).collect();
        let sink_count = self.streams.iter().map(|(_, sinks)| sinks.len()).sum::<usize>();
        let seconds = |stage: usize| -> f64 {
            of(stage).iter().map(|histogram| histogram.get_sample_sum()).sum()
        };
        let times = StageSeconds { parse: seconds(2), resize: seconds(3), serialize: seconds(4) };
        let work = CpuTime::now(times);
        let busy = |of: fn(CpuTime) -> f64| work.map(of);
        let queues = (publish_queue, QUEUE_MAX * sink_count);
        let (received, published) = (totals.received, totals.published);
        let mut stages = vec![
            stage("receive", (received, text), (0, 0), busy(|work| work.receive), &of(0)),
            stage(
                "parse",
                (received, text),
                (parse_queue, ORDER_MAX),
                busy(|work| work.parse),
                &of(2),
            ),
            stage("resize", (rows, arrow), (0, 0), busy(|work| work.resize), &of(3)),
        ];
        // If no sink needs serialized messages, there is no such stage.
        if of(4).iter().any(|histogram| histogram.get_sample_count() > 0) || self.serializes() {
            stages.push(stage(
                "serialize",
                (rows, arrow),
                (0, 0),
                busy(|work| work.serialize),
                &of(4),
            ));
        }
        stages.push(stage(
            "publish",
            (published, arrow),
            queues,
            busy(|work| work.publish),
            &publish,
        ));
        stages.into()
    }
}

fn milliseconds(seconds: Option<f64>) -> Option<f64> {
    seconds.map(|seconds| seconds * 1e3)
}

/// A stage: records and bytes that went through it, the length and limit of its queue, its CPU time
/// if the system reports it, and its wall-clock time, which includes waiting.
fn stage(
    name: &str,
    (records, bytes): (u64, u64),
    (queue, queue_max): (i64, usize),
    busy_s: Option<f64>,
    times: &[&Histogram],
) -> Value {
    // Of several streams, the slowest.
    let worst = |share: f64| {
        let all = times.iter().filter_map(|histogram| quantile(histogram, share));
        milliseconds(all.reduce(f64::max))
    };
    let clock_s: f64 = times.iter().map(|histogram| histogram.get_sample_sum()).sum();
    json!({
        "name": name, "records": records, "bytes": bytes, "queue": queue, "queue_max": queue_max,
        "busy_s": busy_s, "clock_s": clock_s, "p50_ms": worst(0.5), "p99_ms": worst(0.99),
    })
}

fn stream_value(stream: &Stream, sinks: &[(String, Arc<SinkMetrics>)], counts: Counts) -> Value {
    let worst = |share: f64| {
        let all = sinks.iter().filter_map(|(_, sink)| quantile(&sink.latency, share));
        milliseconds(all.reduce(f64::max))
    };
    let sinks: Vec<Value> = sinks
        .iter()
        .map(|(name, sink)| {
            json!({
                "name": name,
                "kind": name.split('-').next(),
                "up": sink.up.get() == 1,
                "published_records": sink.published.get(),
                "published_messages": sink.published_messages.get(),
                "published_bytes": sink.published_bytes.get(),
                "refused_records": sink.refused.get(),
                "spool_records": sink.spool_records.get(),
                "spool_bytes": sink.spool_bytes.get(),
                "upload_files": sink.uploads.files(),
                "upload_bytes": sink.uploads.bytes(),
                "recovered_records": sink.recovered.get(),
                "queue": sink.queue.get(),
                "retries": sink.retries.get(),
                "latency_ms": {
                    "p50": milliseconds(quantile(&sink.latency, 0.5)),
                    "p99": milliseconds(quantile(&sink.latency, 0.99)),
                },
            })
        })
        .collect();
    json!({
        "name": &*stream.name,
        "connections": stream.metrics.connections.get(),
        "received_records": counts.received,
        "received_bytes": stream.metrics.received_bytes.get(),
        "received_lines": stream.metrics.received_lines.get(),
        "published_records": counts.published,
        "rejected_records": counts.rejected,
        "nulled_records": stream.metrics.nulled.get(),
        "spooled_records": counts.spooled,
        "schema_versions": stream.metrics.schema_versions.get(),
        "messages": stream.metrics.messages.get(),
        "latency_ms": { "p50": worst(0.5), "p99": worst(0.99) },
        "sinks": sinks,
    })
}
