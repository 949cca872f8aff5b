// SPDX-License-Identifier: Apache-2.0
//! The results of every suite: the object that `--json` and `--csv` write and that the page is made
//! from.
//!
//! A suite fills in rows: a workload, an engine, its samples in a unit, and named attributes. The
//! statistics are added here. Facts that only one suite has are the `extra` of its report.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::machine;
use crate::stats::{Spread, float, percentile};

/// A whole run. Serializes to the documented JSON object, the fields of `extra` among the others.
#[derive(Debug, Clone, Serialize)]
pub struct Report<E = ()> {
    /// The name of the suite.
    pub suite: String,
    /// Where it was measured.
    pub machine: Machine,
    /// What was measured.
    pub commit: String,
    /// The options of the run.
    pub command: String,
    /// Seconds since 1970 at the start.
    pub started_unix_s: u64,
    /// Seed of the generated inputs, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// What only this suite has.
    #[serde(flatten)]
    pub extra: E,
    /// The measurements.
    pub rows: Vec<Row>,
    /// Requested but missing measurements, with the reason.
    pub not_measured: Vec<NotMeasured>,
}

impl<E> Report<E> {
    /// A run that starts now, on this machine.
    pub(crate) fn start(suite: &str, seed: Option<u64>, extra: E) -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Self {
            suite: suite.to_owned(),
            machine: machine::describe(),
            commit: machine::commit(),
            command: command(),
            started_unix_s: now.unwrap_or_default().as_secs(),
            seed,
            extra,
            rows: Vec::new(),
            not_measured: Vec::new(),
        }
    }

    /// Records a missing measurement, once. An empty name stands for all.
    pub(crate) fn missing(&mut self, engine: &str, workload: &str, reason: impl Into<String>) {
        let (engine, workload) = (engine.to_owned(), workload.to_owned());
        let missing = NotMeasured { engine, workload, reason: reason.into() };
        if !self.not_measured.contains(&missing) {
            self.not_measured.push(missing);
        }
    }
}

/// The command of this run. Arguments need not be text: paths are bytes.
fn command() -> String {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    words.collect::<Vec<_>>().join(" ")
}

/// The machine.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// Processor, by its own name.
    pub cpu: String,
    /// Processors that this process may use.
    pub cores: usize,
    /// Memory in 10^6 bytes.
    pub memory_mb: u64,
    /// The relevant vector instruction sets.
    pub isa: String,
    /// Operating system, architecture, kernel.
    pub os: String,
}

/// A missing figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotMeasured {
    /// The engine; empty if no engine could be measured.
    pub engine: String,
    /// The workload; empty for all of them.
    pub workload: String,
    /// The reason.
    pub reason: String,
}

/// One measurement: named facts, in the result's JSON and CSV under the same names. A name with
/// dots is that of a field inside another (`file.bytes`).
///
/// Most suites have `workload`, `engine`, `version`, `threads`, `bytes`, `seconds` with their
/// statistics, `gb_per_s` (10^9 bytes per second, from the median) and `valid` (the result was
/// compared with the expected one and is equal; if not, `difference` says why).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Row(Map<String, Value>);

impl Row {
    /// A row without figures.
    #[must_use]
    pub fn new(workload: &str, engine: &str) -> Self {
        Self::default().with("workload", workload).with("engine", engine)
    }

    /// Adds a fact. A value that JSON does not have, such as infinity, is null.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Serialize) -> Self {
        self.set(name, value);
        self
    }

    /// Adds a fact if there is one.
    #[must_use]
    pub fn with_some(self, name: &str, value: Option<impl Serialize>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Adds or replaces a fact.
    pub fn set(&mut self, name: &str, value: impl Serialize) {
        self.0.insert(name.to_owned(), serde_json::to_value(value).unwrap_or_default());
    }

    /// Adds samples under the name of their unit, and statistics of them (`median`, `min`, `max`,
    /// `p5`, `p95`) as `seconds_median` and so on; 0 if there are no samples.
    #[must_use]
    pub fn samples(mut self, unit: &str, samples: &[f64], statistics: &[&str]) -> Self {
        let spread = Spread::of(samples).unwrap_or(Spread { min: 0.0, median: 0.0, max: 0.0 });
        for statistic in statistics {
            let value = match *statistic {
                "min" => spread.min,
                "max" => spread.max,
                "p5" => percentile(samples, 0.05),
                "p95" => percentile(samples, 0.95),
                _ => spread.median,
            };
            self.set(&format!("{unit}_{statistic}"), value);
        }
        self.with(unit, samples)
    }

    /// Adds times, and the speed at which this number of bytes was processed.
    #[must_use]
    pub fn speed(self, bytes: u64, seconds: &[f64], statistics: &[&str]) -> Self {
        let row = self.samples("seconds", seconds, statistics).with("bytes", bytes);
        let rate = gb_per_s(bytes, seconds).unwrap_or(0.0);
        row.with("gb_per_s", rate)
    }

    fn get(&self, name: &str) -> Option<&Value> {
        let mut parts = name.split('.');
        let first = self.0.get(parts.next()?)?;
        parts.try_fold(first, |value, part| value.get(part))
    }

    /// Whether a fact is present and not null.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !value.is_null())
    }

    /// A text; empty if there is none.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        self.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// A number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        self.get(name).and_then(Value::as_f64)
    }

    /// A count; 0 if there is none.
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        self.get(name).and_then(Value::as_u64).unwrap_or_default()
    }

    /// A list; empty if there is none.
    #[must_use]
    pub fn list(&self, name: &str) -> &[Value] {
        self.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// A list of numbers; empty if there is none.
    #[must_use]
    pub fn numbers(&self, name: &str) -> Vec<f64> {
        self.list(name).iter().filter_map(Value::as_f64).collect()
    }

    /// Whether something is so.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    /// The name of the input.
    #[must_use]
    pub fn workload(&self) -> &str {
        self.text("workload")
    }

    /// The name of the engine.
    #[must_use]
    pub fn engine(&self) -> &str {
        self.text("engine")
    }

    /// The number of threads.
    #[must_use]
    pub fn threads(&self) -> u64 {
        self.count("threads")
    }

    /// The median time.
    #[must_use]
    pub fn seconds_median(&self) -> f64 {
        self.number("seconds_median").unwrap_or_default()
    }

    /// 10^9 bytes per second.
    #[must_use]
    pub fn gb_per_s(&self) -> f64 {
        self.number("gb_per_s").unwrap_or_default()
    }

    /// Whether the result was the expected one.
    #[must_use]
    pub fn valid(&self) -> bool {
        self.is("valid")
    }
}

/// 10^9 bytes per second from the median time; `None` without times.
pub(crate) fn gb_per_s(bytes: u64, seconds: &[f64]) -> Option<f64> {
    let median = Spread::of(seconds)?.median;
    (median > 0.0).then(|| float(bytes) / median / 1e9)
}

/// Properties of a file that was read: the fact `file` of a row.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct FileInfo<'a> {
    /// Its size.
    pub(crate) bytes: u64,
    /// Approximate size of its pages before compression.
    pub(crate) page_bytes: u64,
    /// The figure that this is a point of: `output-size` or `page-size`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) figure: Option<&'a str>,
    /// The Arrow type of strings, if the file has only strings: `plain`, `view` or `dictionary`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) strings: Option<&'a str>,
    /// Whether the file was in memory beforehand, rather than read by its name.
    pub(crate) memory: bool,
}

/// The speed-up over another engine, round by round.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Ratio<'a> {
    engine: &'a str,
    /// Median, worst and best of the rounds.
    median: f64,
    min: f64,
    max: f64,
}

/// Adds to each row its ratios to the fastest valid peers of its workload and thread count that
/// have the file in the same place and, if files are strings, the same string type:
/// `vs_fastest_peer`, and `vs_fastest_reader` for the ready-made ones.
pub(crate) fn compare(rows: &mut [Row]) {
    let all = rows.to_vec();
    for row in rows {
        let kind = |row: &Row| (row.text("file.strings").to_owned(), row.is("file.memory"));
        let place = |row: &Row| (row.workload().to_owned(), row.threads(), kind(row));
        let own = place(row);
        let peers = all
            .iter()
            .filter(|other| place(other) == own && other.valid() && other.text("kind") != "ours");
        let fastest = |readers_only: bool| {
            let mut all = peers.clone().collect::<Vec<_>>();
            all.retain(|peer| !readers_only || peer.text("kind") == "reader");
            all.into_iter().min_by(|a, b| a.seconds_median().total_cmp(&b.seconds_median()))
        };
        let (peer, reader) = (fastest(false), fastest(true));
        for (name, peer) in [("vs_fastest_peer", peer), ("vs_fastest_reader", reader)] {
            let Some(peer) = peer else { continue };
            let (theirs, ours) = (peer.numbers("seconds"), row.numbers("seconds"));
            if let Some(Spread { min, median, max }) = Spread::of_ratios(&theirs, &ours) {
                row.set(name, Ratio { engine: peer.engine(), median, min, max });
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A row with two rounds, for tests.
    pub(crate) fn row(workload: &str, engine: &str, kind: &str, seconds: [f64; 2]) -> Row {
        let row = Row::new(workload, engine).with("kind", kind).with("about", "as usual");
        let row = row.with("version", "1.0").with("threads", 1).with("records", 10);
        row.speed(1_000_000_000, &seconds, &["median", "min", "max"])
            .with("peak_rss_mb", 5.0)
            .with("valid", true)
    }

    #[test]
    fn ratios_are_against_the_fastest_valid_peer_of_the_same_workload() {
        let mut rows = vec![
            row("trip", "arrowsmith-cpu", "ours", [1.0, 1.0]),
            row("trip", "pyarrow", "reader", [8.0, 9.0]),
            row("trip", "simdjson-ondemand", "hand-written", [3.0, 5.0]),
            row("trip", "polars", "reader", [2.0, 2.0]),
            row("logs", "duckdb", "reader", [0.1, 0.1]),
        ];
        rows[3].set("valid", false);
        compare(&mut rows);
        assert_eq!(rows[0].text("vs_fastest_peer.engine"), "simdjson-ondemand");
        let figures =
            ["median", "min", "max"].map(|name| rows[0].number(&format!("vs_fastest_peer.{name}")));
        assert_eq!(figures, [Some(4.0), Some(3.0), Some(5.0)]);
        assert_eq!(rows[0].text("vs_fastest_reader.engine"), "pyarrow");
        assert_eq!(rows[2].number("vs_fastest_peer.median"), Some(1.0));
    }

    #[test]
    fn facts_keep_their_names_and_types() {
        let row = Row::new("trip", "cpu").with("absent", None::<f64>).with("file", [("a", 1)]);
        let row = row.samples("ns", &[3.0, 1.0, 2.0], &["median", "p5"]).with_some("x", None::<u8>);
        let expected = serde_json::json!({
            "workload": "trip", "engine": "cpu", "absent": null, "file": [["a", 1]],
            "ns": [3.0, 1.0, 2.0], "ns_median": 2.0, "ns_p5": 1.1,
        });
        assert_eq!(serde_json::to_value(&row).unwrap(), expected);
        assert!(!row.has("absent") && row.numbers("ns").len() == 3 && row.gb_per_s() == 0.0);
    }
}
