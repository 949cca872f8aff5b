// SPDX-License-Identifier: Apache-2.0
//! The page of the suite `jvm`: the paper's figures and its Table 2, tables of all figures,
//! machine, method.

use std::fmt::Write;

use super::{Goal, Report, Row};
use crate::report::{LineChart, STYLE, Series, date, escape, legend, number, text_table};

/// Captions of the paper's figures.
const TITLES: [(&str, &str, &str); 9] = [
    ("fig-3a", "One object by its primitives (Fig. 3a)", "primitives"),
    ("fig-3b", "A collection by the primitives of an object (Fig. 3b)", "primitives"),
    ("fig-3c", "One object by the elements of its array (Fig. 3c)", "elements"),
    ("fig-3d", "A collection by the elements of an object's array (Fig. 3d)", "elements"),
    ("fig-3e", "One object by the depth of its tree (Fig. 3e)", "depth"),
    ("fig-3f", "A collection by the depth of an object's tree (Fig. 3f)", "depth"),
    ("fig-4-small", "Small objects: 2 primitives, 16 elements (Fig. 4a)", "threads"),
    ("fig-4-medium", "Medium objects: 8 primitives, 1024 elements (Fig. 4b)", "threads"),
    ("fig-4-large", "Large objects: 64 primitives, 480,000 elements (Fig. 4c)", "threads"),
];

/// Makes one self-contained page.
#[must_use]
pub fn html(report: &Report) -> String {
    let day = date(report.started_unix_s);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>JVM, {day}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header>\n<h1>From JVM objects to native memory</h1>\n\
         <p class=\"sub\">Can the JVM saturate the hardware? · {day} · commit {}</p>\n</header>\n",
        escape(&report.commit)
    );
    page.push_str(&best(report));
    page.push_str(&figures(report));
    page.push_str(&json(report));
    page.push_str(&details(report));
    page.push_str(&method(report));
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

fn different<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    values.for_each(|value| {
        if !all.contains(&value) {
            all.push(value);
        }
    });
    all
}

/// The display name of an approach.
fn display_name(engine: &str) -> String {
    match engine {
        "columns" => "arrowsmith columns".to_owned(),
        "json-arrowsmith" => "arrowsmith".to_owned(),
        other => other.to_owned(),
    }
}

fn engines(report: &Report) -> Vec<&str> {
    let mut all = different(
        report.rows.iter().filter(|row| row.workload.starts_with("fig")).map(|row| &row.engine[..]),
    );
    all.sort_by_key(|engine| *engine != "columns");
    all
}

/// The paper's Table 2: the best throughput of each approach, next to the machine's own.
fn best(report: &Report) -> String {
    let mut text = String::from(
        "<section>\n<h2>Maximum throughput (the paper's Table 2)</h2>\n<p>GB/s of primitives transferred, and \
         the threads; in per cent of the machine's copy bandwidth in the same rounds and with as many threads. After the slash, \
         with the time in which native code reads all of it, as in the paper; of direct access that is all there \
         is to measure.</p>\n",
    );
    for jdk in different(report.rows.iter().map(|row| row.jdk)) {
        let mut rows = Vec::new();
        for engine in engines(report) {
            let mut cells = vec![display_name(engine)];
            for size in ["fig-4-small", "fig-4-medium", "fig-4-large"] {
                let of = report.rows.iter().filter(|row| {
                    row.workload == size && row.jdk == jdk && row.engine == engine && row.valid
                });
                // The first of equals: fewer threads.
                let top =
                    of.rev().max_by(|a, b| a.transfer_gb_per_s().total_cmp(&b.transfer_gb_per_s()));
                cells.push(top.map_or_else(
                    || "–".to_owned(),
                    |row| {
                        let share = row
                            .vs_copy
                            .map_or_else(String::new, |share| format!(", {:.0} %", share * 100.0));
                        let (handed, read) =
                            (number(row.transfer_gb_per_s()), number(row.gb_per_s));
                        format!("{handed} ({}){share} / {read}", row.threads)
                    },
                ));
            }
            if cells[1..].iter().any(|cell| cell != "–") {
                rows.push(cells);
            }
        }
        if !rows.is_empty() {
            let _ = writeln!(text, "<h3>JDK {jdk}</h3>");
            text.push_str(&text_table(&["Approach", "Small", "Medium", "Large"], rows.into_iter()));
        }
    }
    text.push_str("</section>\n");
    text
}

fn figures(report: &Report) -> String {
    let engines = engines(report);
    let names: Vec<String> = engines.iter().map(|engine| display_name(engine)).collect();
    let mut text = String::from("<section>\n<h2>The paper's figures</h2>\n");
    text.push_str(&legend(names.iter().map(String::as_str).enumerate()));
    for (figure, title, x_label) in TITLES {
        let rows: Vec<&Row> = report.rows.iter().filter(|row| row.workload == figure).collect();
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(
            text,
            "<h3>{}</h3>\n{}<div class=\"panels\">",
            escape(title),
            goals(report, figure)
        );
        let by_threads = x_label == "threads";
        let one = rows.iter().all(|row| row.objects == 1);
        let place = |row: &Row| if by_threads { u64::from(row.threads) } else { row.x };
        let steps = different(rows.iter().map(|row| place(row)));
        for jdk in different(rows.iter().map(|row| row.jdk)) {
            let value = |row: &Row| match (by_threads, one) {
                (true, _) => row.gb_per_s,
                (false, true) => row.seconds_median * 1e6,
                (false, false) => row.seconds_median * 1e3,
            };
            let series = engines.iter().zip(&names).enumerate().map(|(index, (engine, name))| {
                let at = |step: &u64| {
                    let fits = |row: &&&Row| {
                        row.jdk == jdk && row.engine == *engine && place(row) == *step && row.valid
                    };
                    // The machine's limits are times of other bytes: they are shown only in
                    // throughput charts.
                    let found =
                        rows.iter().find(fits).filter(|row| by_threads || !row.is_machine());
                    found.map(|row| value(row))
                };
                Series { index, name, values: steps.iter().map(at).collect() }
            });
            let chart = LineChart {
                title: &format!("JDK {jdk}"),
                x_label,
                y_label: match (by_threads, one) {
                    (true, _) => "GB/s",
                    (false, true) => "µs an object",
                    (false, false) => "ms a collection",
                },
                steps: steps.iter().map(u64::to_string).collect(),
                series: series.collect(),
                ideal: None,
            };
            text.push_str(&chart.svg());
        }
        text.push_str("</div>\n");
    }
    text.push_str("</section>\n");
    text
}

/// The goals of a figure, and whether they were reached.
fn goals(report: &Report, figure: &str) -> String {
    let here: Vec<&Goal> = report.goals.iter().filter(|goal| goal.workload == figure).collect();
    if here.is_empty() {
        return "<p>This figure has no goal.</p>\n".to_owned();
    }
    let share = |goal: &Goal, value: f64| {
        if goal.wanted < 1.0 { format!("{:.0} %", value * 100.0) } else { format!("{value:.1} ×") }
    };
    let mut text = String::from("<ul>\n");
    for what in different(here.iter().map(|goal| &goal.what)) {
        let mut wanted = String::new();
        let mut found = Vec::new();
        for goal in here.iter().filter(|goal| goal.what == *what) {
            wanted = share(goal, goal.wanted);
            found.push(format!(
                "{} on JDK {} with {} {}: {}",
                share(goal, goal.found),
                goal.jdk,
                goal.threads,
                if goal.threads == 1 { "thread" } else { "threads" },
                if goal.met { "met" } else { "not met" }
            ));
        }
        let (what, found) = (escape(what), found.join("; "));
        let _ = writeln!(text, "<li>Goal: {what}, {wanted} or more. {found}.</li>");
    }
    text.push_str("</ul>\n");
    text
}

/// JSON into the JVM.
fn json(report: &Report) -> String {
    let rows: Vec<&Row> = report.rows.iter().filter(|row| row.workload == "json").collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "<section>\n<h2>JSON into the JVM</h2>\n<p>The same file, from the page cache, into Arrow Java's vectors: by \
         Arrowsmith's reader, and by Jackson into plain objects whose values are set one by one; and into rows by \
         Spark's own reader.</p>\n",
    );
    text.push_str(&goals(report, "json"));
    let lines = rows.iter().map(|row| {
        let ours = rows.iter().find(|other| {
            other.engine == "json-arrowsmith"
                && other.jdk == row.jdk
                && other.threads == row.threads
        });
        let ratio = ours.filter(|_| row.engine != "json-arrowsmith").map_or_else(
            || "–".to_owned(),
            |ours| format!("{} ×", number(ours.gb_per_s / row.gb_per_s)),
        );
        vec![
            display_name(&row.engine),
            row.jdk.to_string(),
            row.threads.to_string(),
            number(row.gb_per_s),
            ratio,
        ]
    });
    text.push_str(&text_table(
        &["Reader", "JDK", "Threads", "GB/s", "arrowsmith is faster"],
        lines,
    ));
    text.push_str("</section>\n");
    text
}

fn details(report: &Report) -> String {
    let mut text = String::from("<section>\n<h2>All measurements</h2>\n");
    let head = [
        "Figure",
        "x",
        "Approach",
        "JDK",
        "Threads",
        "Objects",
        "MB",
        "Seconds",
        "GB/s",
        "GB/s handed over",
        "of copying",
        "of reading",
        "Sum",
    ];
    let percent = |share: Option<f64>| {
        share.map_or_else(|| "–".to_owned(), |share| format!("{:.1} %", share * 100.0))
    };
    let rows = report.rows.iter().map(|row| {
        vec![
            row.workload.clone(),
            row.x.to_string(),
            display_name(&row.engine),
            row.jdk.to_string(),
            row.threads.to_string(),
            row.objects.to_string(),
            number(super::number(row.bytes) / 1e6),
            format!("{:.3e}", row.seconds_median),
            number(row.gb_per_s),
            row.handed_gb_per_s.map_or_else(|| "–".to_owned(), number),
            percent(row.vs_copy),
            percent(row.vs_read),
            if row.valid { "right" } else { "WRONG" }.to_owned(),
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
    for (jdk, version, collector) in
        different(report.rows.iter().map(|row| (row.jdk, &row.version, &row.collector)))
    {
        entry(&format!("JDK {jdk}"), &format!("{version}, collector {collector}"));
    }
    entry("Command", &report.command);
    entry("Seed", &report.seed.to_string());
    for missing in &report.not_measured {
        let what = [missing.engine.as_str(), &missing.workload].join(" ");
        entry("Not measured", &format!("{}: {}", what.trim(), missing.reason));
    }
    text.push_str(
        "</dl>\n<p>Each approach transfers the same objects, and native code adds up all primitives that arrive; the \
         sum must equal Java's. For formats that only a JVM reads (Java serialization, Kryo, Protobuf) \
         native code reads every byte, and the content is checked by reading it back. Collections: approaches take turns in one JVM, \
         round by round, the order rotating, with copying and reading of plain memory by native threads in between; \
         the median is shown. Every round is run twice: once native code reads all data, once it does not, so \
         that the transfer can be compared with copying, which does not read its output either. Single objects: JMH, a JVM for each approach. Buffers are reused by later calls. A \
         collection that is larger than a buffer of 256 MiB is transferred in slices. Primitives are 32-bit integers \
         with random values. 1 GB is 10<sup>9</sup> bytes of primitives, without what objects need \
         besides.</p>\n</section>\n",
    );
    text
}
