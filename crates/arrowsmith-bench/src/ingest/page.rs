// SPDX-License-Identifier: Apache-2.0
//! The page of the suite `ingest`: the paper's figures, tables, machine, method.

use std::fmt::Write;

use super::{REDPANDA_CONNECT, Report, Row, megabytes};
use crate::report::{LineChart, STYLE, Series, date, escape, legend, number, text_table};

/// Makes one self-contained page.
#[must_use]
pub fn html(report: &Report) -> String {
    let day = date(report.started_unix_s);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Ingest, {day}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header>\n<h1>JSON over the network to Arrow files</h1>\n\
         <p class=\"sub\">First byte sent to last acknowledgement, over loopback · {day} · commit {}</p>\n\
         </header>\n",
        escape(&report.commit)
    );
    page.push_str(&ratios(report));
    page.push_str(&throughput(report));
    page.push_str(&stages(report));
    page.push_str(&latencies(report));
    page.push_str(&details(report));
    page.push_str(&method(report));
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

/// The distinct values, in order of appearance.
fn different<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    values.for_each(|value| {
        if !all.contains(&value) {
            all.push(value);
        }
    });
    all
}

fn megabytes_label(bytes: u64) -> String {
    format!("{} MB", number(megabytes(bytes)))
}

/// The meaning of a line.
fn line(row: &Row) -> (String, usize) {
    (row.engine.clone(), row.threads)
}

fn sizes(rows: &[&Row]) -> Vec<u64> {
    different(rows.iter().map(|row| row.asked_bytes))
}

/// Name of an engine for readers.
fn display_name(engine: &str) -> String {
    match engine {
        "cpu" => "arrowsmith".to_owned(),
        REDPANDA_CONNECT => "Redpanda Connect, HTTP to Parquet".to_owned(),
        other => format!("arrowsmith with the engine {other}"),
    }
}

/// Our engine next to each other one, at the largest text that both ran with the most threads.
fn ratios(report: &Report) -> String {
    let rows = || report.rows.iter();
    let most = rows().map(|row| row.threads).max().unwrap_or_default();
    let of = |row: &&Row, engine: &str| row.engine == engine && row.threads == most;
    let mut lines = Vec::new();
    for workload in different(rows().map(|row| &row.workload)) {
        for other in different(rows().map(|row| &row.engine).filter(|name| *name != "cpu")) {
            let theirs = rows().filter(|row| of(row, other) && row.workload == *workload);
            let pair = |theirs: &Row| {
                let same = |row: &&Row| {
                    of(row, "cpu")
                        && row.workload == *workload
                        && row.asked_bytes == theirs.asked_bytes
                };
                let ours = rows().find(same)?;
                let cpu = theirs.cpu_s_per_gb.zip(ours.cpu_s_per_gb).map(|(a, b)| a / b);
                let cells = [
                    workload.clone(),
                    display_name(other),
                    megabytes_label(ours.bytes),
                    number(ours.gb_per_s),
                    number(theirs.gb_per_s),
                    format!("{} ×", number(ours.gb_per_s / theirs.gb_per_s)),
                    cpu.map_or_else(|| "–".to_owned(), |ratio| format!("{} ×", number(ratio))),
                ];
                Some((theirs.bytes, cells.to_vec()))
            };
            let largest = theirs.filter_map(pair).max_by_key(|(bytes, _)| *bytes);
            lines.extend(largest.map(|(_, cells)| cells));
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    let head =
        ["Workload", "Beside", "Text", "GB/s", "GB/s of it", "Faster", "Less processor time"];
    let mut text = format!(
        "<section>\n<h2>arrowsmith and the others</h2>\n<p>{most} parser threads, the largest text \
         that both ran.</p>\n"
    );
    text.push_str(&text_table(&head, lines.into_iter()));
    text.push_str("</section>\n");
    text
}

fn throughput(report: &Report) -> String {
    let mut text =
        String::from("<section>\n<h2>Throughput by size (the paper's Fig. 8 and 9)</h2>\n");
    let lines = different(report.rows.iter().map(line));
    let names: Vec<String> = lines
        .iter()
        .map(|(engine, threads)| format!("{}, {threads} parser threads", display_name(engine)))
        .collect();
    text.push_str(&legend(names.iter().map(String::as_str).enumerate()));
    text.push_str("<div class=\"panels\">\n");
    for workload in different(report.rows.iter().map(|row| &row.workload)) {
        let rows: Vec<&Row> = report.rows.iter().filter(|row| row.workload == *workload).collect();
        let sizes = sizes(&rows);
        let series = lines.iter().zip(&names).enumerate().map(|(index, (key, name))| {
            let at = |size: &u64| {
                let fits = |row: &&&Row| line(row) == *key && row.asked_bytes == *size;
                rows.iter().find(fits).map(|row| row.gb_per_s)
            };
            Series { index, name, values: sizes.iter().map(at).collect() }
        });
        let chart = LineChart {
            title: workload,
            x_label: "text of a run",
            y_label: "GB/s",
            steps: sizes.iter().map(|size| megabytes_label(*size)).collect(),
            series: series.collect(),
            ideal: None,
        };
        text.push_str(&chart.svg());
    }
    text.push_str("</div>\n</section>\n");
    text
}

fn stages(report: &Report) -> String {
    let names =
        different(report.rows.iter().flat_map(|row| row.stage_s.iter().map(|(name, _)| name)));
    let mut text = String::from(
        "<section>\n<h2>Time of the stages (the paper's Fig. 4)</h2>\n<p>Milliseconds of each stage, all \
         threads together, for the text of one run. Waiting is part of <i>receive</i> and \
         <i>publish</i>, so that these do not add up to processor time.</p>\n",
    );
    let mut head = vec!["Workload", "Engine", "Threads", "Text"];
    head.extend(names.iter().map(|name| name.as_str()));
    let rows = report.rows.iter().map(|row| {
        let mut cells = vec![row.workload.clone(), row.engine.clone(), row.threads.to_string()];
        cells.push(megabytes_label(row.bytes));
        for name in &names {
            let found = row.stage_s.iter().find(|(stage, _)| stage == *name);
            cells.push(found.map_or_else(|| "–".to_owned(), |(_, seconds)| number(seconds * 1e3)));
        }
        cells
    });
    text.push_str(&text_table(&head, rows));
    text.push_str("</section>\n");
    text
}

fn latencies(report: &Report) -> String {
    let mut text = String::from(
        "<section>\n<h2>Latency at fixed rates</h2>\n<p>Milliseconds from the time at which a chunk was \
         due to be sent to the acknowledgement of its last record, which is in the files then. Who is \
         late sends at once, and the delay counts.</p>\n",
    );
    let head = [
        "Workload", "Engine", "Load", "MB/s", "50 %", "90 %", "99 %", "99.9 %", "most", "lost",
        "twice",
    ];
    let rows = report.latencies.iter().map(|one| {
        let ms = one.latency;
        let mut cells =
            vec![one.workload.clone(), one.engine.clone(), format!("{:.0} %", one.share * 100.0)];
        cells.extend([one.bytes_per_s / 1e6, ms.p50, ms.p90, ms.p99, ms.p999, ms.max].map(number));
        cells.push(one.lost_records.to_string());
        cells.push(one.repeated_records.to_string());
        cells
    });
    text.push_str(&text_table(&head, rows));
    text.push_str("</section>\n");
    text
}

fn details(report: &Report) -> String {
    let mut text = String::from("<section>\n<h2>All runs</h2>\n");
    let head = [
        "Workload",
        "Engine",
        "Threads",
        "Text",
        "Records",
        "Seconds",
        "GB/s",
        "Processor s/GB",
        "J/GB",
        "Memory MB",
        "Lost",
        "Twice",
    ];
    let rows = report.rows.iter().map(|row| {
        let maybe = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), number);
        vec![
            row.workload.clone(),
            row.engine.clone(),
            row.threads.to_string(),
            megabytes_label(row.bytes),
            row.records.to_string(),
            format!("{:.4}", row.seconds_median),
            number(row.gb_per_s),
            maybe(row.cpu_s_per_gb),
            maybe(row.joules_per_gb),
            maybe(row.peak_rss_mb),
            row.lost_records.to_string(),
            row.repeated_records.to_string(),
        ]
    });
    text.push_str(&text_table(&head, rows));
    text.push_str("</section>\n");
    text
}

fn method(report: &Report) -> String {
    let machine = &report.machine;
    let mut text = String::from("<section>\n<h2>Method</h2>\n<dl>\n");
    let mut entry = |term: &str, what: &str| {
        let _ = writeln!(text, "<dt>{term}</dt><dd>{}</dd>", escape(what));
    };
    entry("Processor", &format!("{}, {} cores available", machine.cpu, machine.cores));
    entry("Memory", &format!("{} MB", machine.memory_mb));
    entry("System", &machine.os);
    entry("Command", &report.command);
    entry("Seed", &report.seed.to_string());
    entry("Files in", &report.folder.display().to_string());
    for missing in &report.not_measured {
        let what = [missing.engine.as_str(), &missing.workload].join(" ");
        entry("Not measured", &format!("{}: {}", what.trim(), missing.reason));
    }
    text.push_str(
        "</dl>\n<p>Each run has a process of its own; engines take turns, round by round, and the median \
         is shown. Sender and service share the processors. Records are made beforehand and sent over \
         4 connections; a record is acknowledged when it is in a file that outlives the process, but not \
         a loss of power: files are not synced to disk. Complete files are removed while the run goes on, as \
         a consumer would, after their rows were counted; records that were sent and are not in them are \
         listed as lost. Redpanda Connect takes requests of 256 KiB over HTTP and writes each into a \
         Parquet file without compression: it has no Arrow output. 1 GB = 10<sup>9</sup> bytes of JSON text.</p>\n</section>\n",
    );
    text
}
