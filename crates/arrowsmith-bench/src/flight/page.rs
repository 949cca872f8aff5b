// SPDX-License-Identifier: Apache-2.0
//! The suite's page: the paper's figures from the measurements, next to the paper's own numbers,
//! and its future work. It loads no external resources.

use maud::{Markup, PreEscaped, html};

use super::contest::is_bound;
use super::{IPC_MAPPED, IPC_TCP, IPC_UNIX, MEMORY, NAMES, PARQUET, ROWS, Report};
use crate::page::{
    self, Cell, Chart, Form, Series, card, distinct, maybe, megabytes, number, number_table, part,
    row_table, section, times,
};
use crate::result::Row;
use crate::stats::float;

/// Seconds and their deviation in the paper's Fig. 3, from its authors' spreadsheet: C++ with the
/// wheel's libraries.
const PAPER_SECONDS: [(&str, f64, f64); 3] =
    [("java", 58.20, 1.15), ("cpp", 26.05, 0.33), ("python", 25.63, 0.33)];
/// Lines of code of its Fig. 5.
const PAPER_LINES: [(&str, usize); 3] = [("java", 310), ("cpp", 169), ("python", 60)];

/// Makes one self-contained page.
#[must_use]
pub fn html(report: &Report) -> String {
    let size = number(megabytes(report.extra.parquet_bytes));
    let subtitle = format!("{} files of taxi trips, {size} MB of Parquet", report.extra.files);
    let body = html! {
        (goals(report))
        @for workload in [PARQUET, MEMORY] {
            (figure_3(report, workload))
            (matrices(report, workload))
        }
        (resource_use(report)) (bounds(report)) (lines(report)) (flames(report))
        (details(report)) (method(report))
    };
    page::page(report, "Arrow Flight in five languages", subtitle, body)
}

fn what(workload: &str) -> &'static str {
    match workload {
        PARQUET => "Parquet files, read for every query",
        MEMORY => "Arrow in memory: mapped files (Java: loaded)",
        _ => "The rows of one file",
    }
}

fn goals(report: &Report) -> Markup {
    let cards = report.extra.goals.iter().map(|goal| {
        let at_least = goal.wanted > 1.0 && goal.goal.starts_with("throughput");
        let bound = if at_least { "at least" } else { "at most" };
        let wanted = format!("Goal: {bound} {}. ", times(goal.wanted));
        let relative = format!("{}, relative to {}. {wanted}", goal.goal, goal.beside);
        let reached = html! {
            (relative) @if goal.reached { "Reached." } @else { b { "Missed." } }
        };
        card(times(goal.measured), reached)
    });
    html! { @if !report.extra.goals.is_empty() { div.cards { @for card in cards { (card) } } } }
}

/// Bars of the languages, each in its colour.
fn bars(title: &str, unit: &str, values: &[(&str, [f64; 3])]) -> Markup {
    let colour = |engine: &str| match engine {
        super::OURS => 0,
        "cpp" => 7,
        "java" => 5,
        "python" => 6,
        "rust" => 2,
        _ => 9,
    };
    let series = values.iter().enumerate().map(|(at, (name, value))| {
        let mut all = vec![None; values.len()];
        all[at] = Some(*value);
        Series { index: colour(name), name, values: all }
    });
    let chart = Chart {
        form: Form::Bars,
        title,
        steps_are: "",
        unit,
        steps: values.iter().map(|(name, _)| (*name).to_owned()).collect(),
        series: series.collect(),
        ideal: Vec::new(),
    };
    chart.draw()
}

/// Languages paired with themselves, as in the paper's Fig. 3.
fn figure_3(report: &Report, workload: &str) -> Markup {
    let own: Vec<&Row> = NAMES.iter().filter_map(|n| report.row(workload, n, n)).collect();
    let Some(first) = own.first() else { return html! {} };
    let chart = |title: &str, unit: &str, names: [&str; 3]| {
        let values = |row: &Row| names.map(|name| row.number(name).unwrap_or(0.0));
        let values: Vec<_> = own.iter().map(|row| (row.engine(), values(row))).collect();
        bars(title, unit, &values)
    };
    let seconds = ["seconds_p5", "seconds_median", "seconds_p95"];
    let charts = html! {
        div.panels {
            (chart("Time of a query, as in Fig. 3", "seconds, median", seconds))
            (chart("Throughput", "GB of arrays per second", ["gb_per_s"; 3]))
            (chart("Processor time of the server", "seconds per query", ["server_cpu_s"; 3]))
        }
        @if workload == PARQUET { (paper(report)) }
    };
    let intro = format!(
        "Server and client of the same language; the line goes from the 5th to the 95th percentile \
         of {} queries.",
        first.numbers("seconds").len()
    );
    section(what(workload), intro, charts)
}

fn paper(report: &Report) -> Markup {
    let here = |name: &str| report.row(PARQUET, name, name).map(Row::seconds_median);
    let rows = PAPER_SECONDS.iter().map(|(name, seconds, deviation)| {
        let relative = here(name).zip(here("cpp")).map(|(here, base)| here / base);
        vec![
            (*name).to_owned(),
            format!("{seconds:.2} ± {deviation:.2} s"),
            times(seconds / 26.05),
            maybe(here(name), number) + " s",
            maybe(relative, times),
        ]
    });
    let title = "Compared with the paper's, on two computers with 10 Gb/s between them";
    part(title, "", number_table(&["Language", "Paper", "of C++", "Here", "of C++"], rows))
}

/// Every server with every client.
fn matrices(report: &Report, workload: &str) -> Markup {
    let some = |name: &str, is: &str| {
        let mut rows = report.rows.iter();
        rows.any(|row| row.workload() == workload && row.text(is) == name)
    };
    let clients: Vec<&str> = NAMES.into_iter().filter(|name| some(name, "client")).collect();
    if clients.is_empty() {
        return html! {};
    }
    let matrix = |title: &str, value: &dyn Fn(&Row) -> String| {
        let servers = NAMES.into_iter().filter(|server| some(server, "engine"));
        let rows = servers.map(|server| {
            let cell = |client: &&str| match report.row(workload, server, client) {
                Some(row) if row.valid() => value(row),
                Some(_) => "wrong".to_owned(),
                None => "not measured".to_owned(),
            };
            [server.to_owned()].into_iter().chain(clients.iter().map(cell)).collect()
        });
        let head = [vec!["Server ↓ client →"], clients.clone()].concat();
        part(title, "", number_table(&head, rows))
    };
    let figure = |row: &Row, name: &str| maybe(row.number(name), number);
    let both = |row: &Row, a: &str, b: &str| format!("{} + {}", figure(row, a), figure(row, b));
    let range = |row: &Row| {
        let ends = ["seconds_p5", "seconds_p95"].map(|name| figure(row, name));
        format!("{} ({})", number(row.seconds_median()), ends.join("–"))
    };
    let body = html! {
        (matrix("Seconds, median (5 % to 95 %)", &range))
        (matrix("GB of arrays per second", &|row| number(row.gb_per_s())))
        (matrix("Processor seconds of server + client",
            &|row| both(row, "server_cpu_s", "client_cpu_s")))
        (matrix("Peak memory of server + client, MB",
            &|row| both(row, "peak_rss_mb", "client_peak_rss_mb")))
    };
    section(format!("Every server with every client: {}", what(workload)), "", body)
}

/// The bytes sent, relative to something.
fn sent(row: &Row, other: f64) -> String {
    maybe(row.number("network_bytes"), |bytes| number(bytes / other))
}

/// The paper's Sect. 5.1: use of processor and network.
fn resource_use(report: &Report) -> Markup {
    let own = [PARQUET, MEMORY].into_iter().flat_map(|workload| {
        NAMES.into_iter().filter_map(move |name| report.row(workload, name, name))
    });
    let columns = [
        ("Language", Cell::Plain("engine")),
        ("Workload", Cell::Plain("workload")),
        (
            "Processors in use",
            Cell::With(|row| maybe(row.number("cpu_share"), |s| format!("{:.0} %", s * 100.0))),
        ),
        ("MB sent", Cell::Number("network_bytes", 1e-6)),
        ("of the arrays", Cell::With(|row| sent(row, float(row.count("bytes"))))),
        ("MB/s of network", Cell::With(|row| sent(row, row.seconds_median() * 1e6))),
    ];
    let intro = "Server and client of the same language, on the processors of one machine; the \
                 paper, on two machines, saw about 90 % and 300 to 400 MB/s with each of its \
                 three.";
    section("Use of processors and network", intro, row_table(own, &columns))
}

/// Arrow without Flight, and Flight's predecessor.
fn bounds(report: &Report) -> Markup {
    let mut rows: Vec<&Row> = Vec::new();
    for workload in [MEMORY, PARQUET] {
        let servers = [IPC_MAPPED, IPC_UNIX, IPC_TCP].into_iter().chain(NAMES);
        rows.extend(servers.filter_map(|server| report.row(workload, server, "cpp")));
    }
    rows.extend(report.rows.iter().filter(|row| row.workload() == ROWS));
    if rows.is_empty() {
        return html! {};
    }
    let tcp = report.row(MEMORY, IPC_TCP, "cpp");
    let cells = rows.iter().map(|row| {
        let name = match row.engine() {
            IPC_MAPPED => "Arrow files, mapped",
            IPC_UNIX => "Arrow stream, Unix socket",
            IPC_TCP => "Arrow stream, TCP",
            "postgresql" => "PostgreSQL's protocol",
            engine => engine,
        };
        let gigabytes = megabytes(row.count("bytes")) / 1e3;
        vec![
            name.to_owned(),
            row.text("client").to_owned(),
            row.workload().to_owned(),
            number(row.gb_per_s()),
            number(megabytes(row.count("records")) / row.seconds_median()),
            maybe(tcp, |tcp| number(row.gb_per_s() / tcp.gb_per_s())),
            maybe(row.number("server_cpu_s"), |cpu| number(cpu / gigabytes)),
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
    let intro = "C++ writes and reads Arrow streams over plain sockets and maps files: a lower \
                 bound for every transfer. Flight is read by the C++ client here. PostgreSQL's \
                 rows go into tuples of Python (psycopg) or into Arrow (ADBC).";
    section("What Flight costs, and what it replaces", intro, number_table(&head, cells))
}

fn lines(report: &Report) -> Markup {
    let lines = &report.extra.lines;
    let values: Vec<(&str, [f64; 3])> = lines
        .iter()
        .map(|one| (&*one.engine, [float((one.server + one.client) as u64); 3]))
        .collect();
    let rows = lines.iter().map(|one| {
        let paper = PAPER_LINES.iter().find(|(name, _)| *name == one.engine);
        vec![
            one.engine.clone(),
            one.server.to_string(),
            one.client.to_string(),
            maybe(paper, |(_, lines)| lines.to_string()),
        ]
    });
    let intro = html! {
        "Neither empty nor only a comment, without the benchmark protocol. arrowsmith's are \
         commands: " code { "arrowsmith serve" } " and " code { "arrowsmith fetch" } "."
    };
    let body = html! {
        div.panels { (bars("Lines of code, as in Fig. 5", "server and client", &values)) }
        (number_table(&["Language", "Server", "Client", "Both, the paper's"], rows))
    };
    section("Lines of code", intro, body)
}

fn flames(report: &Report) -> Markup {
    if report.extra.flames.is_empty() {
        return html! {};
    }
    let intro = "While they read Parquet files for a client. Width is processor time; callers are \
                 below. Names without arguments; hover over a frame for its full name. A library \
                 without symbols shows as [unknown].";
    let body = html! {
        @for flame in &report.extra.flames {
            (part(format!("{}, {} samples", flame.engine, flame.samples), "",
                html! { figure { (PreEscaped(&flame.svg)) } }))
        }
    };
    section("Flame graphs of the servers", intro, body)
}

fn details(report: &Report) -> Markup {
    let server = |row: &Row| match is_bound(row) {
        true => format!("({})", row.engine()),
        false => row.engine().to_owned(),
    };
    let right = |row: &Row| match row.text("difference") {
        "" => "yes".to_owned(),
        difference => difference.to_owned(),
    };
    let columns = [
        ("Server", Cell::With(server)),
        ("Client", Cell::Plain("client")),
        ("Workload", Cell::Plain("workload")),
        ("Right", Cell::With(right)),
        ("First s", Cell::Number("seconds_first", 1.0)),
        ("Median s", Cell::Number("seconds_median", 1.0)),
        ("Least", Cell::Number("seconds_min", 1.0)),
        ("Most", Cell::Number("seconds_max", 1.0)),
        ("GB/s", Cell::Number("gb_per_s", 1.0)),
        ("Server CPU s", Cell::Number("server_cpu_s", 1.0)),
        ("Client CPU s", Cell::Number("client_cpu_s", 1.0)),
        ("Server MB", Cell::Number("peak_rss_mb", 1.0)),
        ("Client MB", Cell::Number("client_peak_rss_mb", 1.0)),
        ("Network MB", Cell::Number("network_bytes", 1e-6)),
    ];
    section("All figures", "", row_table(&report.rows, &columns))
}

fn method(report: &Report) -> Markup {
    let extra = &report.extra;
    let kept = if extra.keep_memory { "kept by all processes" } else { "returned to the system" };
    let mut versions =
        distinct(report.rows.iter().flat_map(|row| row.text("version").split(" → ")));
    versions.sort_unstable();
    let more = [
        ("Rows of a batch", extra.batch_rows.to_string()),
        ("Memory between queries", kept.to_owned()),
        ("Versions", versions.join(", ")),
    ];
    let how = html! {
        "Every query opens a connection, requests the flight, reads each of its endpoints in turn \
         and keeps all batches; the time runs from before the connection to the last batch. Then \
         the client counts rows and sums every column, which is compared with the data that the \
         generator wrote. Servers and clients are processes that run all the time; all pairs take \
         turns, round by round, after a warm-up round. Servers scan with one thread. Processor \
         time and memory are the system's count of each process; memory includes mapped files. \
         Bytes are those of the loopback device of a network namespace that holds these processes \
         alone. A ratio is the median of the ratios of the rounds. 1 GB = "
        (PreEscaped("10<sup>9</sup>")) " bytes of Arrow arrays."
    };
    page::method(report, &more, how)
}
