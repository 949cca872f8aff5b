// SPDX-License-Identifier: Apache-2.0
//! The results of a benchmark: the object that `--json` writes and that the HTML page is made from.

use serde::Serialize;

use crate::stats::Spread;

/// A whole run. Serializes to the documented JSON object.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The suite: `json` or `parquet`.
    pub suite: String,
    /// Where it was measured.
    pub machine: Machine,
    /// What was measured.
    pub commit: String,
    /// The options of the run.
    pub command: String,
    /// Seconds since 1970 at the start.
    pub started_unix_s: u64,
    /// Seed of the generated inputs.
    pub seed: u64,
    /// The figures: every measured workload × thread count × engine.
    pub rows: Vec<Row>,
    /// Requested but missing measurements, with the reason.
    pub not_measured: Vec<NotMeasured>,
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

/// One workload, engine and thread count.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// Name of the input.
    pub workload: String,
    /// Name of the engine.
    pub engine: String,
    /// `ours`, `reader`, `library` or `hand-written`.
    pub kind: String,
    /// How it was used.
    pub about: String,
    /// Version, as the engine reports it.
    pub version: String,
    /// Number of threads.
    pub threads: usize,
    /// Size of the input text; if files are read, of the output's Arrow arrays.
    pub bytes: u64,
    /// Records in the input.
    pub records: u64,
    /// Median time of a conversion.
    pub seconds_median: f64,
    /// Shortest time.
    pub seconds_min: f64,
    /// Longest time.
    pub seconds_max: f64,
    /// Every time, in the order of the rounds.
    pub seconds: Vec<f64>,
    /// 10^9 of these bytes per second, from the median.
    pub gb_per_s: f64,
    /// Highest resident memory in 10^6 bytes, including the input text.
    pub peak_rss_mb: f64,
    /// Whether the result was compared with the reference's and agreed.
    pub valid: bool,
    /// The difference, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<String>,
    /// Speed relative to the fastest peer of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vs_fastest_peer: Option<Ratio>,
    /// Speed relative to the fastest ready-made reader.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vs_fastest_reader: Option<Ratio>,
    /// The file that was read, in suites that read files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FileInfo>,
}

/// Properties of a file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileInfo {
    /// Its size.
    pub bytes: u64,
    /// Approximate size of its pages before compression.
    pub page_bytes: u64,
    /// The figure that this is a point of: `output-size` or `page-size`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figure: Option<String>,
    /// The Arrow type of strings, if the file has only strings: `plain`, `view` or `dictionary`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strings: Option<String>,
    /// Whether the file was in memory beforehand, rather than read by its name.
    #[serde(default)]
    pub memory: bool,
}

/// The speed-up over another engine, round by round.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ratio {
    /// The other engine.
    pub engine: String,
    /// Median of the rounds.
    pub median: f64,
    /// Worst round.
    pub min: f64,
    /// Best round.
    pub max: f64,
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

/// Adds to each row its ratios to the fastest valid peers of its workload and thread count that
/// have the file in the same place and, if files are strings, the same string type.
pub(crate) fn compare(rows: &mut [Row]) {
    let all = rows.to_vec();
    for row in rows {
        let kind = |row: &Row| row.file.as_ref().map(|file| (file.strings.clone(), file.memory));
        let own = (row.workload.clone(), row.threads, kind(row));
        let peers = all.iter().filter(|other| {
            (&other.workload, other.threads, kind(other)) == (&own.0, own.1, own.2.clone())
                && other.valid
                && other.kind != "ours"
        });
        let fastest = |readers_only: bool| {
            let candidates = peers.clone().filter(|peer| !readers_only || peer.kind == "reader");
            candidates.min_by(|a, b| a.seconds_median.total_cmp(&b.seconds_median))
        };
        row.vs_fastest_peer = fastest(false).and_then(|peer| ratio(peer, row));
        row.vs_fastest_reader = fastest(true).and_then(|peer| ratio(peer, row));
    }
}

fn ratio(peer: &Row, row: &Row) -> Option<Ratio> {
    let Spread { min, median, max } = Spread::of_ratios(&peer.seconds, &row.seconds)?;
    Some(Ratio { engine: peer.engine.clone(), median, min, max })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A row with two rounds, for tests.
    pub(crate) fn row(workload: &str, engine: &str, kind: &str, seconds: [f64; 2]) -> Row {
        let Spread { min, median, max } = Spread::of(&seconds).unwrap();
        Row {
            workload: workload.into(),
            engine: engine.into(),
            kind: kind.into(),
            about: "as usual".into(),
            version: "1.0".into(),
            threads: 1,
            bytes: 1_000_000_000,
            records: 10,
            seconds_median: median,
            seconds_min: min,
            seconds_max: max,
            seconds: seconds.to_vec(),
            gb_per_s: 1.0 / median,
            peak_rss_mb: 5.0,
            valid: true,
            difference: None,
            vs_fastest_peer: None,
            vs_fastest_reader: None,
            file: None,
        }
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
        rows[3].valid = false;
        compare(&mut rows);
        let peer = rows[0].vs_fastest_peer.clone().unwrap();
        assert_eq!((&peer.engine[..], peer.median), ("simdjson-ondemand", 4.0));
        assert_eq!((peer.min, peer.max), (3.0, 5.0));
        assert_eq!(rows[0].vs_fastest_reader.clone().unwrap().engine, "pyarrow");
        assert_eq!(rows[2].vs_fastest_peer.clone().unwrap().median, 1.0);
    }
}
