// SPDX-License-Identifier: Apache-2.0
//! The page of the suite `ingest`: the paper's figures, tables, machine, method.

use maud::{Markup, PreEscaped, html};

use super::{REDPANDA_CONNECT, Report, Row};
use crate::page::{
    self, Cell, Chart, Series, distinct, maybe, megabytes, number, panels, row_table, section,
    text_table, times,
};

/// Makes one self-contained page.
#[must_use]
pub fn html(report: &Report) -> String {
    let body = html! {
        (ratios(report)) (throughput(report)) (stages(report)) (latencies(report))
        (details(report)) (method(report))
    };
    let subtitle = "First byte sent to last acknowledgement, over loopback";
    page::page(report, "JSON over the network to Arrow files", subtitle, body)
}

fn megabytes_label(bytes: u64) -> String {
    format!("{} MB", number(megabytes(bytes)))
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
fn ratios(report: &Report) -> Markup {
    let most = report.rows.iter().map(Row::threads).max().unwrap_or_default();
    let rows = || report.rows.iter().filter(|row| row.threads() == most);
    let mut lines = Vec::new();
    for workload in distinct(rows().map(Row::workload)) {
        for other in distinct(rows().map(Row::engine).filter(|name| *name != "cpu")) {
            let of = |engine: &'static str| {
                rows().filter(move |row| row.workload() == workload && row.engine() == engine)
            };
            let theirs = rows().filter(|row| row.workload() == workload && row.engine() == other);
            let pair = |theirs: &Row| {
                let asked = theirs.count("asked_bytes");
                let ours = of("cpu").find(|row| row.count("asked_bytes") == asked)?;
                let cpu = theirs.number("cpu_s_per_gb").zip(ours.number("cpu_s_per_gb"));
                let cells = [
                    workload.to_owned(),
                    display_name(other),
                    megabytes_label(ours.count("bytes")),
                    number(ours.gb_per_s()),
                    number(theirs.gb_per_s()),
                    times(ours.gb_per_s() / theirs.gb_per_s()),
                    maybe(cpu, |(theirs, ours)| times(theirs / ours)),
                ];
                Some((theirs.count("bytes"), cells.to_vec()))
            };
            let largest = theirs.filter_map(pair).max_by_key(|(bytes, _)| *bytes);
            lines.extend(largest.map(|(_, cells)| cells));
        }
    }
    if lines.is_empty() {
        return html! {};
    }
    let head =
        ["Workload", "Beside", "Text", "GB/s", "GB/s of it", "Faster", "Less processor time"];
    let intro = format!("{most} parser threads, the largest text that both ran.");
    section("arrowsmith and the others", intro, text_table(&head, lines))
}

fn throughput(report: &Report) -> Markup {
    let line =
        |row: &Row| format!("{}, {} parser threads", display_name(row.engine()), row.threads());
    let names = distinct(report.rows.iter().map(line));
    let chart = |workload: &str| {
        let mut rows: Vec<&Row> = report.rows.iter().collect();
        rows.retain(|row| row.workload() == workload);
        let sizes = distinct(rows.iter().map(|row| row.count("asked_bytes")));
        let series = names.iter().enumerate().map(|(index, name)| {
            let at = |size: &u64| {
                let fits = |row: &&&Row| line(row) == *name && row.count("asked_bytes") == *size;
                rows.iter().find(fits).map(|row| row.gb_per_s())
            };
            Series::new(index, name, sizes.iter().map(at))
        });
        Chart::lines(
            workload,
            ("text of a run", "GB/s"),
            sizes.iter().map(|size| megabytes_label(*size)),
            series,
        )
        .draw()
    };
    let workloads = distinct(report.rows.iter().map(Row::workload));
    let charts: Vec<Markup> = workloads.into_iter().map(chart).collect();
    let body = panels(names.iter().map(String::as_str).enumerate(), &charts);
    section("Throughput by size (the paper's Fig. 8 and 9)", "", body)
}

/// The time in each stage.
pub(super) fn stages_of(row: &Row) -> Vec<(&str, f64)> {
    let pairs = row.list("stage_s").iter();
    let pairs = pairs.filter_map(|pair| Some((pair.get(0)?.as_str()?, pair.get(1)?.as_f64()?)));
    pairs.collect()
}

fn stages(report: &Report) -> Markup {
    let all = report.rows.iter().flat_map(stages_of);
    let names = distinct(all.map(|(name, _)| name));
    let head = [vec!["Workload", "Engine", "Threads", "Text"], names.clone()].concat();
    let rows = report.rows.iter().map(|row| {
        let stages = stages_of(row);
        let stage = |name: &&str| {
            let found = stages.iter().find(|(stage, _)| stage == name);
            maybe(found, |(_, seconds)| number(seconds * 1e3))
        };
        let (workload, engine) = (row.workload().to_owned(), row.engine().to_owned());
        let text = megabytes_label(row.count("bytes"));
        let first = vec![workload, engine, row.threads().to_string(), text];
        first.into_iter().chain(names.iter().map(stage)).collect()
    });
    let intro = html! {
        "Milliseconds of each stage, all threads together, for the text of one run. Waiting is \
         part of " i { "receive" } " and " i { "publish" }
        ", so that these do not add up to processor time."
    };
    section("Time of the stages (the paper's Fig. 4)", intro, text_table(&head, rows))
}

fn latencies(report: &Report) -> Markup {
    let head = [
        "Workload", "Engine", "Load", "MB/s", "50 %", "90 %", "99 %", "99.9 %", "most", "lost",
        "twice",
    ];
    let rows = report.extra.latencies.iter().map(|one| {
        let ms = one.latency;
        let mut cells =
            vec![one.workload.clone(), one.engine.clone(), format!("{:.0} %", one.share * 100.0)];
        cells.extend([one.bytes_per_s / 1e6, ms.p50, ms.p90, ms.p99, ms.p999, ms.max].map(number));
        cells.extend([one.lost_records, one.repeated_records].map(|count| count.to_string()));
        cells
    });
    let intro = "Milliseconds from the time at which a chunk was due to be sent to the \
                 acknowledgement of its last record, which is in the files then. Who is late sends \
                 at once, and the delay counts.";
    section("Latency at fixed rates", intro, text_table(&head, rows))
}

fn details(report: &Report) -> Markup {
    let columns = [
        ("Workload", Cell::Plain("workload")),
        ("Engine", Cell::Plain("engine")),
        ("Threads", Cell::Plain("threads")),
        ("Text", Cell::With(|row| megabytes_label(row.count("bytes")))),
        ("Records", Cell::Plain("records")),
        ("Seconds", Cell::With(|row| format!("{:.4}", row.seconds_median()))),
        ("GB/s", Cell::Number("gb_per_s", 1.0)),
        ("Processor s/GB", Cell::Number("cpu_s_per_gb", 1.0)),
        ("J/GB", Cell::Number("joules_per_gb", 1.0)),
        ("Memory MB", Cell::Number("peak_rss_mb", 1.0)),
        ("Lost", Cell::Plain("lost_records")),
        ("Twice", Cell::Plain("repeated_records")),
    ];
    section("All runs", "", row_table(&report.rows, &columns))
}

fn method(report: &Report) -> Markup {
    let how = html! {
        "Each run has a process of its own; engines take turns, round by round, and the median is \
         shown. Sender and service share the processors. Records are made beforehand and sent over \
         4 connections; a record is acknowledged when it is in a file that outlives the process, \
         but not a loss of power: files are not synced to disk. Complete files are removed while \
         the run goes on, as a consumer would, after their rows were counted; records that were \
         sent and are not in them are listed as lost. Redpanda Connect takes requests of 256 KiB \
         over HTTP and writes each into a Parquet file without compression: it has no Arrow \
         output. 1 GB = "
        (PreEscaped("10<sup>9</sup>")) " bytes of JSON text."
    };
    page::method(report, &[("Files in", report.extra.folder.display().to_string())], how)
}
