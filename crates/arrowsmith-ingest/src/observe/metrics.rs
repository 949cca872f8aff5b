// SPDX-License-Identifier: Apache-2.0
//! Counters, and their text form for Prometheus.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arrowsmith_core::{Error, Result};
use prometheus::core::Collector;
use prometheus::{
    Encoder, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts, Registry, TextEncoder,
};

/// The names of the stages, as label and in the status.
pub const STAGES: [&str; 6] =
    ["receive", "parse_queue", "parse", "resize", "serialize", "publish_queue"];

/// Everything that the process counts.
pub struct Metrics {
    registry: Registry,
    counters: Vec<IntCounterVec>,
    gauges: Vec<IntGaugeVec>,
    sink_counters: Vec<IntCounterVec>,
    sink_gauges: Vec<IntGaugeVec>,
    stages: HistogramVec,
    publish: HistogramVec,
    latency: HistogramVec,
    /// Open connections, TCP and HTTP.
    pub connections: IntGauge,
    /// Connections that were refused at the limit, and why others were closed.
    pub closed: IntCounterVec,
    /// Bytes of text inside.
    pub memory_bytes: IntGauge,
    /// Bytes that it may become in Arrow beyond as many as it has.
    pub arrow_memory_bytes: IntGauge,
    /// HTTP requests by status.
    pub requests: IntCounterVec,
}

/// What is counted of a stream.
pub struct StreamMetrics {
    /// Bytes of JSON that were taken in.
    pub received_bytes: IntCounter,
    /// Line ends among them.
    pub received_lines: IntCounter,
    /// Records met by parsers: kept, rejected, refused.
    pub records: IntCounter,
    /// Records in the rejects.
    pub rejected: IntCounter,
    /// Records of requests that were refused as a whole.
    pub refused: IntCounter,
    /// Records with nulls in place of values that do not match the schema.
    pub nulled: IntCounter,
    /// Bytes of Arrow data that parsers made.
    pub arrow_bytes: IntCounter,
    /// Messages made.
    pub messages: IntCounter,
    /// Connections that were cut off within a line, which is discarded.
    pub cut_lines: IntCounter,
    /// Schemas inferred, with `schema = "auto"`.
    pub schema_versions: IntCounter,
    /// Bytes of rejects that were removed, with `rejects_bytes`.
    pub removed_rejects_bytes: IntCounter,
    /// That of all streams.
    pub arrow_memory_bytes: IntGauge,
    /// Open connections.
    pub connections: IntGauge,
    /// 0 while rejects wait for a disk that does not take them.
    pub rejects_writable: IntGauge,
    /// Buffers that wait for a parser or are with one.
    pub parse_queue: IntGauge,
    /// Time in each of [`STAGES`], in seconds.
    pub stages: [Histogram; 6],
}

/// Seconds that parser threads took for each of their stages, by the clock.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct StageSeconds {
    pub(crate) parse: f64,
    pub(crate) resize: f64,
    pub(crate) serialize: f64,
}

/// What is counted of a sink of a stream.
pub struct SinkMetrics {
    /// Records stored where they belong.
    pub published: IntCounter,
    /// Messages stored.
    pub published_messages: IntCounter,
    /// Bytes of payload, or of Arrow data, in them.
    pub published_bytes: IntCounter,
    /// Records that the sink refused, in the rejects.
    pub refused: IntCounter,
    /// Failures that were retried.
    pub retries: IntCounter,
    /// Records that went to the spool.
    pub spooled: IntCounter,
    /// Records that left the spool, published.
    pub unspooled: IntCounter,
    /// Records found in the spool at the start.
    pub recovered: IntCounter,
    /// Records in the spool.
    pub spool_records: IntGauge,
    /// Bytes of the spool.
    pub spool_bytes: IntGauge,
    /// Bytes of damaged messages found in the spool since the start.
    pub spool_damaged_bytes: IntGauge,
    /// Files that wait to be uploaded to a store, and their bytes.
    pub(crate) uploads: Waiting,
    /// The number of these files.
    pub upload_files: IntGauge,
    /// Their bytes.
    pub upload_bytes: IntGauge,
    /// Messages that wait for the sink or are with it.
    pub queue: IntGauge,
    /// 1 while the sink takes messages.
    pub up: IntGauge,
    /// 0 while messages wait for a spool that cannot be written.
    pub spool_writable: IntGauge,
    /// From handing over to receipt, in seconds.
    pub publish: Histogram,
    /// From the first byte received to the receipt, in seconds.
    pub latency: Histogram,
}

/// The number and the bytes of what waits; clones count the same.
#[derive(Debug, Default, Clone)]
pub(crate) struct Waiting(Arc<[AtomicU64; 2]>);

impl Waiting {
    pub(crate) fn files(&self) -> u64 {
        self.0[0].load(Ordering::Relaxed)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0[1].load(Ordering::Relaxed)
    }

    /// Counts a file.
    pub(crate) fn add(&self, bytes: u64) {
        self.0[0].fetch_add(1, Ordering::Relaxed);
        self.0[1].fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts a file no more.
    pub(crate) fn remove(&self, bytes: u64) {
        self.0[0].fetch_sub(1, Ordering::Relaxed);
        self.0[1].fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Counts from 0 again.
    pub(crate) fn clear(&self) {
        self.0.iter().for_each(|count| count.store(0, Ordering::Relaxed));
    }
}

const COUNTERS: [(&str, &str); 11] = [
    ("received_bytes_total", "Bytes of JSON received"),
    ("received_lines_total", "Line ends received"),
    ("records_total", "Records met by parsers"),
    ("rejected_records_total", "Records in the rejects"),
    ("refused_records_total", "Records of requests that were refused as a whole"),
    ("nulled_records_total", "Records with nulls in place of values that do not match the schema"),
    ("arrow_bytes_total", "Bytes of Arrow data made"),
    ("messages_total", "Messages made"),
    ("cut_lines_total", "Connections that were cut off within a line, which is discarded"),
    ("schema_versions_total", "Schemas inferred from what was received"),
    ("removed_rejects_bytes_total", "Bytes of rejects removed, beyond rejects_bytes"),
];
const GAUGES: [(&str, &str); 3] = [
    ("stream_connections", "Open connections of the stream"),
    ("parse_queue_buffers", "Buffers that wait for a parser or are with one"),
    ("rejects_writable", "0 while rejects wait for a disk that does not take them"),
];
const SINK_COUNTERS: [(&str, &str); 8] = [
    ("published_records_total", "Records stored by the sink"),
    ("published_messages_total", "Messages stored by the sink"),
    ("published_bytes_total", "Bytes stored by the sink"),
    ("sink_refused_records_total", "Records that the sink refused, in the rejects"),
    ("sink_retries_total", "Failures that were retried"),
    ("spooled_records_total", "Records that went to the spool"),
    ("unspooled_records_total", "Records that left the spool, published"),
    ("recovered_records_total", "Records found in the spool at the start"),
];
const SINK_GAUGES: [(&str, &str); 8] = [
    ("spool_records", "Records in the spool"),
    ("spool_bytes", "Bytes of the spool"),
    ("publish_queue_messages", "Messages that wait for the sink or are with it"),
    ("sink_up", "Whether the sink takes messages"),
    ("spool_damaged_bytes", "Bytes of damaged messages found in the spool since the start"),
    ("upload_files", "Files that wait to be uploaded to a store"),
    ("upload_bytes", "Bytes of the files that wait to be uploaded to a store"),
    ("spool_writable", "0 while messages wait for a spool that cannot be written"),
];

/// Bounds in seconds, in decimal as they are shown: three for each power of ten.
const BUCKETS: [f64; 22] = [
    0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
    0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0,
];

fn failed(error: prometheus::Error) -> Error {
    Error::Config(format!("metrics: {error}"))
}

fn register<C: Collector + Clone + 'static>(registry: &Registry, metric: C) -> Result<C> {
    registry.register(Box::new(metric.clone())).map_err(failed)?;
    Ok(metric)
}

impl Metrics {
    /// An empty registry of all metrics.
    ///
    /// # Errors
    /// [`Error::Config`] when two metrics have a name, a bug.
    pub fn new() -> Result<Self> {
        let registry =
            Registry::new_custom(Some("arrowsmith_ingest".to_owned()), None).map_err(failed)?;
        let counters = |all: &[(&str, &str)], labels: &[&str]| -> Result<Vec<IntCounterVec>> {
            let one = |(name, help): &(&str, &str)| {
                let metric = IntCounterVec::new(Opts::new(*name, *help), labels).map_err(failed)?;
                register(&registry, metric)
            };
            all.iter().map(one).collect()
        };
        let gauges = |all: &[(&str, &str)], labels: &[&str]| -> Result<Vec<IntGaugeVec>> {
            let one = |(name, help): &(&str, &str)| {
                let metric = IntGaugeVec::new(Opts::new(*name, *help), labels).map_err(failed)?;
                register(&registry, metric)
            };
            all.iter().map(one).collect()
        };
        let histogram = |name: &str, help: &str, labels: &[&str]| {
            let options = HistogramOpts::new(name, help).buckets(BUCKETS.to_vec());
            register(&registry, HistogramVec::new(options, labels).map_err(failed)?)
        };
        let gauge = |name: &str, help: &str| {
            register(&registry, IntGauge::new(name, help).map_err(failed)?)
        };
        let by = |name: &str, help: &str, label: &str| {
            let metric = IntCounterVec::new(Opts::new(name, help), &[label]).map_err(failed)?;
            register(&registry, metric)
        };
        let sink = ["stream", "sink"];
        Ok(Self {
            counters: counters(&COUNTERS, &["stream"])?,
            gauges: gauges(&GAUGES, &["stream"])?,
            sink_counters: counters(&SINK_COUNTERS, &sink)?,
            sink_gauges: gauges(&SINK_GAUGES, &sink)?,
            stages: histogram(
                "stage_seconds",
                "Time of a buffer or message in a stage",
                &["stream", "stage"],
            )?,
            publish: histogram("publish_seconds", "From handing over to receipt", &sink)?,
            latency: histogram(
                "latency_seconds",
                "From the first byte received to the receipt",
                &sink,
            )?,
            connections: gauge("connections", "Open connections")?,
            closed: by(
                "closed_connections_total",
                "Connections that were closed, by reason",
                "reason",
            )?,
            memory_bytes: gauge("memory_bytes", "Bytes of JSON text inside")?,
            arrow_memory_bytes: gauge(
                "arrow_memory_bytes",
                "Bytes that the text inside may become in Arrow beyond its own",
            )?,
            requests: by("http_requests_total", "HTTP requests, by status", "status")?,
            registry,
        })
    }

    /// The metrics of a stream.
    pub fn stream(&self, name: &str) -> StreamMetrics {
        let counter = |index: usize| self.counters[index].with_label_values(&[name]);
        let gauge = |index: usize| self.gauges[index].with_label_values(&[name]);
        let rejects_writable = gauge(2);
        rejects_writable.set(1);
        StreamMetrics {
            received_bytes: counter(0),
            received_lines: counter(1),
            records: counter(2),
            rejected: counter(3),
            refused: counter(4),
            nulled: counter(5),
            arrow_bytes: counter(6),
            messages: counter(7),
            cut_lines: counter(8),
            schema_versions: counter(9),
            removed_rejects_bytes: counter(10),
            arrow_memory_bytes: self.arrow_memory_bytes.clone(),
            connections: gauge(0),
            parse_queue: gauge(1),
            rejects_writable,
            stages: STAGES.map(|stage| self.stages.with_label_values(&[name, stage])),
        }
    }

    /// The metrics of a sink of a stream.
    pub fn sink(&self, stream: &str, sink: &str) -> SinkMetrics {
        let labels = [stream, sink];
        let counter = |index: usize| self.sink_counters[index].with_label_values(&labels);
        let gauge = |index: usize| self.sink_gauges[index].with_label_values(&labels);
        // Until the sink's thread says otherwise, which may start late.
        let spool_writable = gauge(7);
        spool_writable.set(1);
        SinkMetrics {
            published: counter(0),
            published_messages: counter(1),
            published_bytes: counter(2),
            refused: counter(3),
            retries: counter(4),
            spooled: counter(5),
            unspooled: counter(6),
            recovered: counter(7),
            spool_records: gauge(0),
            spool_bytes: gauge(1),
            spool_damaged_bytes: gauge(4),
            uploads: Waiting::default(),
            upload_files: gauge(5),
            upload_bytes: gauge(6),
            queue: gauge(2),
            up: gauge(3),
            spool_writable,
            publish: self.publish.with_label_values(&labels),
            latency: self.latency.with_label_values(&labels),
        }
    }

    /// The text that Prometheus reads.
    ///
    /// # Errors
    /// [`Error::Config`] when it cannot be encoded, a bug.
    pub fn text(&self) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut text).map_err(failed)?;
        Ok(text)
    }

    /// All metrics, for exporters of other kinds.
    pub fn gather(&self) -> Vec<prometheus::proto::MetricFamily> {
        self.registry.gather()
    }
}

/// Notes a time.
pub(crate) fn observe(histogram: &Histogram, time: Duration) {
    histogram.observe(time.as_secs_f64());
}

/// The quantile of the observed values, in seconds, interpolated within its bucket; `None` without
/// observations.
pub(crate) fn quantile(histogram: &Histogram, quantile: f64) -> Option<f64> {
    use prometheus::core::Metric;
    let metric = histogram.metric();
    let data = metric.get_histogram();
    let count = data.get_sample_count();
    if count == 0 {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "a share of a count; the buckets are coarser")]
    let wanted = quantile * count as f64;
    let mut below = (0.0, 0.0);
    for bucket in data.get_bucket() {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a share of a count; the buckets are coarser"
        )]
        let cumulative = bucket.cumulative_count() as f64;
        if cumulative >= wanted {
            let share = (wanted - below.1) / (cumulative - below.1).max(1.0);
            return Some(below.0 + share * (bucket.upper_bound() - below.0));
        }
        below = (bucket.upper_bound(), cumulative);
    }
    Some(below.0)
}
