// SPDX-License-Identifier: Apache-2.0
//! Counters of the service, in the text form of Prometheus.

use prometheus::{Encoder, IntCounter, IntCounterVec, IntGauge, Opts, Registry, TextEncoder};

/// Counters and gauges of one server.
pub struct Metrics {
    registry: Registry,
    /// Calls, by method and status.
    pub(crate) calls: IntCounterVec,
    /// Bytes of messages sent by DoGet.
    pub(crate) bytes_sent: IntCounter,
    /// Messages sent by DoGet.
    pub(crate) messages_sent: IntCounter,
    /// Rows appended by DoPut.
    pub(crate) rows_put: IntCounter,
    /// Streams that are being read now.
    pub(crate) streams: IntGauge,
    /// Connections now.
    pub(crate) connections: IntGauge,
    /// Streams that were ended because their reader took nothing.
    pub(crate) stalled: IntCounter,
    /// Calls that were refused for want of a right to them.
    pub(crate) refused: IntCounter,
    /// Memory of streams that are being decoded, in bytes, as it is accounted for.
    pub(crate) memory_bytes: IntGauge,
}

impl Metrics {
    /// All at zero.
    ///
    /// # Errors
    /// None that these names make possible.
    pub(crate) fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let counter = |name: &str, help: &str| {
            let counter = IntCounter::new(format!("arrowsmith_flight_{name}"), help)?;
            registry.register(Box::new(counter.clone()))?;
            Ok::<_, prometheus::Error>(counter)
        };
        let gauge = |name: &str, help: &str| {
            let gauge = IntGauge::new(format!("arrowsmith_flight_{name}"), help)?;
            registry.register(Box::new(gauge.clone()))?;
            Ok::<_, prometheus::Error>(gauge)
        };
        let calls = IntCounterVec::new(
            Opts::new("arrowsmith_flight_calls_total", "Calls that have been answered"),
            &["method", "status"],
        )?;
        registry.register(Box::new(calls.clone()))?;
        Ok(Self {
            calls,
            bytes_sent: counter("sent_bytes_total", "Bytes of messages sent by DoGet")?,
            messages_sent: counter("sent_messages_total", "Messages sent by DoGet")?,
            rows_put: counter("put_rows_total", "Rows appended by DoPut")?,
            streams: gauge("streams", "Streams that are being read")?,
            connections: gauge("connections", "Open connections")?,
            stalled: counter("stalled_total", "Streams cut off because nothing was taken")?,
            refused: counter("refused_total", "Calls without a right to them")?,
            memory_bytes: gauge("memory_bytes", "Memory set aside for decoding streams")?,
            registry,
        })
    }

    /// The text that Prometheus reads.
    pub fn text(&self) -> String {
        let mut out = Vec::new();
        // Writing into memory does not fail.
        let _ = TextEncoder::new().encode(&self.registry.gather(), &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }
}
