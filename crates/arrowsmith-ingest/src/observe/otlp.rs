// SPDX-License-Identifier: Apache-2.0
//! OpenTelemetry: the metrics that `/metrics` shows, sent to a collector (OTLP over HTTP, as JSON).
//!
//! One object a time, whose shape is fixed by OpenTelemetry's protocol: no SDK is needed. A
//! collector that is unreachable misses points; nothing waits for it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::body::Bytes;
use http_body_util::Full;
use hyper::{Request, header};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use prometheus::proto::{LabelPair, MetricFamily, MetricType};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::receive::{Common, stopped};

/// Time from one export to the next, and the maximum duration of one.
const INTERVAL: Duration = Duration::from_secs(10);

/// `AGGREGATION_TEMPORALITY_CUMULATIVE` of the protocol.
const CUMULATIVE: u8 = 2;

/// Sends metrics until the service ends, and once more then.
pub(crate) async fn export(common: Arc<Common>, collector: String) {
    let client: Client<HttpConnector, Full<Bytes>> =
        Client::builder(TokioExecutor::new()).build_http();
    let address = format!("{}/v1/metrics", collector.trim_end_matches('/'));
    let started = nanoseconds(SystemTime::now());
    let mut away = false;
    loop {
        let last = tokio::select! {
            () = sleep(INTERVAL) => false,
            () = stopped(common.stop.clone()) => true,
        };
        let body = payload(&common.metrics.gather(), &started, &nanoseconds(SystemTime::now()));
        let request = Request::post(&address)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body.to_string())));
        let failure = match request {
            Err(error) => Some(error.to_string()),
            Ok(request) => match timeout(INTERVAL, client.request(request)).await {
                Err(_) => Some("no answer in time".to_owned()),
                Ok(Err(error)) => Some(error.to_string()),
                Ok(Ok(answer)) if !answer.status().is_success() => {
                    Some(answer.status().to_string())
                }
                Ok(Ok(_)) => None,
            },
        };
        // Logged once, not every ten seconds.
        if let (Some(failure), false) = (&failure, away) {
            tracing::warn!(address, failure, "the OpenTelemetry collector misses metrics");
        }
        away = failure.is_some();
        if last {
            return;
        }
    }
}

fn nanoseconds(time: SystemTime) -> String {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}

fn attributes(labels: &[LabelPair]) -> Value {
    let one = |label: &LabelPair| json!({ "key": label.name(), "value": { "stringValue": label.value() } });
    labels.iter().map(one).collect()
}

/// The request of an export. Numbers of 64 bits are strings, as JSON's form of the protocol has
/// them.
fn payload(families: &[MetricFamily], started: &str, now: &str) -> Value {
    let metrics: Vec<Value> = families.iter().map(|family| metric(family, started, now)).collect();
    let service = json!({ "key": "service.name", "value": { "stringValue": "arrowsmith-ingest" } });
    json!({ "resourceMetrics": [{
        "resource": { "attributes": [service] },
        "scopeMetrics": [{ "scope": { "name": "arrowsmith" }, "metrics": metrics }],
    }]})
}

fn metric(family: &MetricFamily, started: &str, now: &str) -> Value {
    let mut metric = json!({ "name": family.name(), "description": family.help() });
    let points = family.get_metric().iter().map(|point| {
        let mut value = json!({
            "attributes": attributes(point.get_label()),
            "startTimeUnixNano": started,
            "timeUnixNano": now,
        });
        match family.get_field_type() {
            MetricType::COUNTER => value["asDouble"] = point.get_counter().get_value().into(),
            MetricType::HISTOGRAM => {
                let histogram = point.get_histogram();
                let buckets = histogram.get_bucket();
                let mut before = 0;
                let mut counts = Vec::with_capacity(buckets.len() + 1);
                for count in buckets
                    .iter()
                    .map(|b| b.cumulative_count())
                    .chain([histogram.get_sample_count()])
                {
                    counts.push(count.saturating_sub(before).to_string());
                    before = count;
                }
                value["count"] = histogram.get_sample_count().to_string().into();
                value["sum"] = histogram.get_sample_sum().into();
                value["bucketCounts"] = counts.into();
                value["explicitBounds"] = buckets.iter().map(|b| b.upper_bound()).collect();
            }
            _ => value["asDouble"] = point.get_gauge().get_value().into(),
        }
        value
    });
    let points: Value = points.collect();
    match family.get_field_type() {
        MetricType::COUNTER => {
            metric["sum"] = json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE, "isMonotonic": true });
        }
        MetricType::HISTOGRAM => {
            metric["histogram"] =
                json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE });
        }
        _ => metric["gauge"] = json!({ "dataPoints": points }),
    }
    metric
}

#[cfg(test)]
mod tests {
    use super::super::metrics::{Metrics, observe};

    use super::*;

    #[test]
    fn counters_gauges_and_histograms_have_the_shape_of_the_protocol() {
        let metrics = Metrics::new().unwrap();
        let stream = metrics.stream("s");
        stream.records.inc_by(7);
        stream.connections.set(3);
        observe(&stream.stages[2], Duration::from_millis(5));
        observe(&stream.stages[2], Duration::from_secs(1000));
        let payload = payload(&metrics.gather(), "1", "2");
        let all = payload["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap();
        let named = |name: &str| all.iter().find(|m| m["name"] == name).unwrap();
        let records = &named("arrowsmith_ingest_records_total")["sum"];
        assert_eq!(records["dataPoints"][0]["asDouble"], 7.0);
        assert_eq!(records["dataPoints"][0]["attributes"][0]["value"]["stringValue"], "s");
        let connections = &named("arrowsmith_ingest_stream_connections")["gauge"];
        assert_eq!(connections["dataPoints"][0]["asDouble"], 3.0);
        let stages = named("arrowsmith_ingest_stage_seconds")["histogram"]["dataPoints"].as_array();
        let parse = stages.unwrap().iter().find(|point| point["count"] == "2").unwrap();
        let counts = parse["bucketCounts"].as_array().unwrap();
        assert_eq!(counts.len(), parse["explicitBounds"].as_array().unwrap().len() + 1);
        assert_eq!(counts.last().unwrap(), "1", "above the last bound");
        assert_eq!(counts.iter().filter(|count| *count == "1").count(), 2);
    }
}
