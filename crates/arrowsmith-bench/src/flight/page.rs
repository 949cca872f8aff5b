// SPDX-License-Identifier: Apache-2.0
//! The suite's page: the paper's figures from the measurements, next to the paper's own numbers,
//! and its future work. It loads no external resources.

use std::fmt::Write;

use super::bars::{self, Bar};
use super::contest::is_bound;
use super::{IPC_MAPPED, IPC_TCP, IPC_UNIX, MEMORY, NAMES, PARQUET, ROWS, Report, Row};
use crate::report::{STYLE, date, escape, number, number_table};

/// Seconds and their deviation in the paper's Fig. 3, from its authors' spreadsheet: C++ with the
/// wheel's libraries.
const PAPER_SECONDS: [(&str, f64, f64); 3] =
    [("java", 58.20, 1.15), ("cpp", 26.05, 0.33), ("python", 25.63, 0.33)];
/// Lines of code of its Fig. 5.
const PAPER_LINES: [(&str, usize); 3] = [("java", 310), ("cpp", 169), ("python", 60)];

const FLAME_STYLE: &str = "svg.flame text { fill: #1a1d21; font-size: 9.5px; }\n";

/// Makes one self-contained page.
#[must_use]
pub fn html(report: &Report) -> String {
    let day = date(report.started_unix_s);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Arrow Flight in five languages, {day}</title>\n<style>\n{STYLE}{FLAME_STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header>\n<h1>Arrow Flight in five languages</h1>\n\
         <p class=\"sub\">{} files of taxi trips, {} MB of Parquet · {day} · commit {}</p>\n</header>\n",
        report.files,
        number(megabytes(report.parquet_bytes)),
        escape(&report.commit)
    );
    page.push_str(&goals(report));
    for workload in [PARQUET, MEMORY] {
        page.push_str(&figure_3(report, workload));
        page.push_str(&matrices(report, workload));
    }
    page.push_str(&resource_use(report));
    page.push_str(&bounds(report));
    page.push_str(&lines(report));
    page.push_str(&flames(report));
    page.push_str(&details(report));
    page.push_str(&method(report));
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

#[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn maybe(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), number)
}

fn what(workload: &str) -> &'static str {
    match workload {
        PARQUET => "Parquet files, read for every query",
        MEMORY => "Arrow in memory: mapped files (Java: loaded)",
        _ => "The rows of one file",
    }
}

fn goals(report: &Report) -> String {
    if report.goals.is_empty() {
        return String::new();
    }
    let mut text = String::from("<div class=\"cards\">\n");
    for goal in &report.goals {
        let _ = writeln!(
            text,
            "<div class=\"card\"><b>{} ×</b><span>{}, relative to {}. Goal: {} {} ×. {}</span></div>",
            number(goal.measured),
            escape(&goal.goal),
            escape(&goal.beside),
            if goal.wanted > 1.0 && goal.goal.starts_with("throughput") {
                "at least"
            } else {
                "at most"
            },
            number(goal.wanted),
            if goal.reached { "Reached." } else { "<b>Missed.</b>" }
        );
    }
    text.push_str("</div>\n");
    text
}

/// Languages paired with themselves, as in the paper's Fig. 3.
fn figure_3(report: &Report, workload: &str) -> String {
    let own: Vec<&Row> = NAMES.iter().filter_map(|n| report.row(workload, n, n)).collect();
    if own.is_empty() {
        return String::new();
    }
    let bars = |value: fn(&Row) -> f64, range: fn(&Row) -> Option<(f64, f64)>| -> Vec<Bar<'_>> {
        own.iter()
            .map(|row| Bar {
                label: row.engine.clone(),
                value: value(row),
                range: range(row),
                engine: &row.engine,
            })
            .collect()
    };
    let mut text = format!(
        "<section>\n<h2>{}</h2>\n<p>Server and client of the same language; the line goes from the 5th to the 95th \
         percentile of {} queries.</p>\n<div class=\"panels\">\n",
        what(workload),
        own.first().map_or(0, |row| row.seconds.len())
    );
    let times = bars(|row| row.seconds_median, |row| Some((row.seconds_p5, row.seconds_p95)));
    text.push_str(&bars::svg("Time of a query, as in Fig. 3", "seconds, median", &times));
    let speeds = bars(|row| row.gb_per_s, |_| None);
    text.push_str(&bars::svg("Throughput", "GB of arrays per second", &speeds));
    let cpu = bars(|row| row.server_cpu_s.unwrap_or(0.0), |_| None);
    text.push_str(&bars::svg("Processor time of the server", "seconds per query", &cpu));
    text.push_str("</div>\n");
    if workload == PARQUET {
        let ours = |name: &str| report.row(PARQUET, name, name);
        let base = ours("cpp").map(|row| row.seconds_median);
        let rows = PAPER_SECONDS.iter().map(|(name, seconds, deviation)| {
            let here = ours(name).map(|row| row.seconds_median);
            let relative = here.zip(base).map(|(here, base)| here / base);
            vec![
                (*name).to_owned(),
                format!("{seconds:.2} ± {deviation:.2} s"),
                format!("{} ×", number(seconds / 26.05)),
                maybe(here) + " s",
                maybe(relative) + " ×",
            ]
        });
        text.push_str(
            "<h3>Compared with the paper's, on two computers with 10 Gb/s between them</h3>\n",
        );
        text.push_str(&number_table(&["Language", "Paper", "of C++", "Here", "of C++"], rows));
    }
    text.push_str("</section>\n");
    text
}

/// Every server with every client.
fn matrices(report: &Report, workload: &str) -> String {
    let clients: Vec<&str> = NAMES
        .into_iter()
        .filter(|client| report.rows.iter().any(|r| r.workload == workload && r.client == *client))
        .collect();
    if clients.is_empty() {
        return String::new();
    }
    let mut text = String::new();
    let mut matrix = |title: &str, value: &dyn Fn(&Row) -> String| {
        let servers = NAMES.into_iter().filter(|server| {
            let mut rows = report.rows.iter();
            rows.any(|row| row.workload == workload && row.engine == *server)
        });
        let rows = servers.map(|server| {
            let cell = |client: &&str| match report.row(workload, server, client) {
                Some(row) if row.valid => value(row),
                Some(_) => "wrong".to_owned(),
                None => "not measured".to_owned(),
            };
            [server.to_owned()].into_iter().chain(clients.iter().map(cell)).collect()
        });
        let mut head = vec!["Server ↓ client →"];
        head.extend(&clients);
        let _ = write!(text, "<h3>{title}</h3>\n{}", number_table(&head, rows));
    };
    matrix("Seconds, median (5 % to 95 %)", &|row| {
        let [median, low, high] = [row.seconds_median, row.seconds_p5, row.seconds_p95].map(number);
        format!("{median} ({low}–{high})")
    });
    matrix("GB of arrays per second", &|row| number(row.gb_per_s));
    matrix("Processor seconds of server + client", &|row| {
        format!("{} + {}", maybe(row.server_cpu_s), maybe(row.client_cpu_s))
    });
    matrix("Peak memory of server + client, MB", &|row| {
        format!("{} + {}", maybe(row.peak_rss_mb), maybe(row.client_peak_rss_mb))
    });
    format!(
        "<section>\n<h2>Every server with every client: {}</h2>\n{text}</section>\n",
        what(workload)
    )
}

/// The paper's Sect. 5.1: use of processor and network.
fn resource_use(report: &Report) -> String {
    let own = [PARQUET, MEMORY].into_iter().flat_map(|workload| {
        NAMES.into_iter().filter_map(move |name| report.row(workload, name, name))
    });
    let rows = own.map(|row| {
        let bytes = row.network_bytes.map(megabytes);
        vec![
            row.engine.clone(),
            row.workload.clone(),
            row.cpu_share.map_or_else(|| "–".to_owned(), |share| format!("{:.0} %", share * 100.0)),
            maybe(bytes),
            maybe(bytes.map(|bytes| bytes / megabytes(row.bytes))),
            maybe(bytes.map(|bytes| bytes / row.seconds_median)),
        ]
    });
    let head = [
        "Language",
        "Workload",
        "Processors in use",
        "MB sent",
        "of the arrays",
        "MB/s of network",
    ];
    format!(
        "<section>\n<h2>Use of processors and network</h2>\n<p>Server and client of the same language, on the processors of one \
         machine; the paper, on two machines, saw about 90 % and 300 to 400 MB/s with each of its three.</p>\n{}</section>\n",
        number_table(&head, rows)
    )
}

/// Arrow without Flight, and Flight's predecessor.
fn bounds(report: &Report) -> String {
    let bound = |workload: &str, engine: &str| report.row(workload, engine, "cpp");
    let mut rows: Vec<&Row> = Vec::new();
    for workload in [MEMORY, PARQUET] {
        rows.extend([IPC_MAPPED, IPC_UNIX, IPC_TCP].iter().filter_map(|e| bound(workload, e)));
        rows.extend(NAMES.iter().filter_map(|name| report.row(workload, name, "cpp")));
    }
    rows.extend(report.rows.iter().filter(|row| row.workload == ROWS));
    if rows.is_empty() {
        return String::new();
    }
    let cells = rows.iter().map(|row| {
        let name = match row.engine.as_str() {
            IPC_MAPPED => "Arrow files, mapped",
            IPC_UNIX => "Arrow stream, Unix socket",
            IPC_TCP => "Arrow stream, TCP",
            "postgresql" => "PostgreSQL's protocol",
            engine => engine,
        };
        let tcp = bound(MEMORY, IPC_TCP).map(|bound| row.gb_per_s / bound.gb_per_s);
        #[expect(clippy::cast_precision_loss, reason = "there are some million rows")]
        let rate = row.records as f64 / row.seconds_median / 1e6;
        vec![
            name.to_owned(),
            row.client.clone(),
            row.workload.clone(),
            number(row.gb_per_s),
            number(rate),
            maybe(tcp),
            row.server_cpu_s
                .map_or_else(|| "–".to_owned(), |cpu| number(cpu / megabytes(row.bytes) * 1e3)),
        ]
    });
    let head = [
        "How",
        "Client",
        "Workload",
        "GB/s",
        "Million rows/s",
        "of Arrow over TCP, in memory",
        "Server, s/GB",
    ];
    format!(
        "<section>\n<h2>What Flight costs, and what it replaces</h2>\n<p>C++ writes and reads Arrow streams over plain sockets and maps files: a lower bound \
         for every transfer. Flight is read by the C++ client here. PostgreSQL's rows go into tuples of Python (psycopg) \
         or into Arrow (ADBC).</p>\n{}</section>\n",
        number_table(&head, cells)
    )
}

fn lines(report: &Report) -> String {
    #[expect(clippy::cast_precision_loss, reason = "programs are short")]
    let bars: Vec<Bar<'_>> = report
        .lines
        .iter()
        .map(|one| Bar {
            label: one.engine.clone(),
            value: (one.server + one.client) as f64,
            range: None,
            engine: &one.engine,
        })
        .collect();
    let rows = report.lines.iter().map(|one| {
        let paper = PAPER_LINES.iter().find(|(name, _)| *name == one.engine);
        vec![
            one.engine.clone(),
            one.server.to_string(),
            one.client.to_string(),
            paper.map_or_else(|| "–".to_owned(), |(_, lines)| lines.to_string()),
        ]
    });
    format!(
        "<section>\n<h2>Lines of code</h2>\n<p>Neither empty nor only a comment, without the benchmark protocol. arrowsmith's are commands: \
         <code>arrowsmith serve</code> and <code>arrowsmith fetch</code>.</p>\n<div class=\"panels\">{}</div>\n{}</section>\n",
        bars::svg("Lines of code, as in Fig. 5", "server and client", &bars),
        number_table(&["Language", "Server", "Client", "Both, the paper's"], rows)
    )
}

fn flames(report: &Report) -> String {
    if report.flames.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "<section>\n<h2>Flame graphs of the servers</h2>\n<p>While they read Parquet files for a client. Width is processor time; callers are below. \
         Names without arguments; hover over a frame for its full name. A library without symbols shows as [unknown].</p>\n",
    );
    for flame in &report.flames {
        let name = escape(&flame.engine);
        let _ = write!(
            text,
            "<h3>{name}, {} samples</h3>\n<figure>{}</figure>\n",
            flame.samples, flame.svg
        );
    }
    text.push_str("</section>\n");
    text
}

fn details(report: &Report) -> String {
    let head = [
        "Server",
        "Client",
        "Workload",
        "Right",
        "First s",
        "Median s",
        "Least",
        "Most",
        "GB/s",
        "Server CPU s",
        "Client CPU s",
        "Server MB",
        "Client MB",
        "Network MB",
    ];
    let rows = report.rows.iter().map(|row| {
        let seconds =
            [row.seconds_first, row.seconds_median, row.seconds_min, row.seconds_max, row.gb_per_s];
        let used = [
            row.server_cpu_s,
            row.client_cpu_s,
            row.peak_rss_mb,
            row.client_peak_rss_mb,
            row.network_bytes.map(megabytes),
        ];
        let right = row.difference.clone().unwrap_or_else(|| "yes".to_owned());
        let name = if is_bound(row) { format!("({})", row.engine) } else { row.engine.clone() };
        let mut cells = vec![name, row.client.clone(), row.workload.clone(), right];
        cells.extend(seconds.map(number));
        cells.extend(used.map(maybe));
        cells
    });
    format!("<section>\n<h2>All figures</h2>\n{}</section>\n", number_table(&head, rows))
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
    entry("Rows of a batch", &report.batch_rows.to_string());
    let kept = if report.keep_memory { "kept by all processes" } else { "returned to the system" };
    entry("Memory between queries", kept);
    let mut versions: Vec<&str> =
        report.rows.iter().flat_map(|row| row.version.split(" → ")).collect();
    versions.sort_unstable();
    versions.dedup();
    entry("Versions", &versions.join(", "));
    for missing in &report.not_measured {
        let what = [missing.engine.as_str(), &missing.workload].join(" ");
        entry("Not measured", &format!("{}: {}", what.trim(), missing.reason));
    }
    text.push_str(
        "</dl>\n<p>Every query opens a connection, requests the flight, reads each of its endpoints in turn and keeps all batches; the time \
         runs from before the connection to the last batch. Then the client counts rows and sums every column, which is compared with the data that \
         the generator wrote. Servers and clients are processes that run all the time; all pairs take turns, round by round, after a warm-up \
         round. Servers scan with one thread. Processor time and memory are the system's count of each process; memory includes mapped files. Bytes are \
         those of the loopback device of a network namespace that holds these processes alone. A ratio is the median of the ratios of the rounds. \
         1 GB = 10<sup>9</sup> bytes of Arrow arrays.</p>\n</section>\n",
    );
    text
}
