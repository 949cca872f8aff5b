// SPDX-License-Identifier: Apache-2.0
//! The page of the suite `objects`: the paper's figures and tables next to the measurements.

use std::fmt::Write;

use super::{COPY, OURS, PAPER, Report, Row, Trip};
use crate::report::{LineChart, STYLE, Series, date, escape, legend, number, text_table};

/// Cycles of the paper's circuit for its largest structure, and its clock in MHz (Sect. 6.4).
const PAPER_CYCLES: f64 = 1_282.0;
const PAPER_MHZ: f64 = 125.0;

/// Makes one self-contained page.
#[must_use]
pub fn html(report: &Report) -> String {
    let day = date(report.started_unix_s);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Object graphs, {day}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header>\n<h1>C++ object graphs from bytes</h1>\n\
         <p class=\"sub\">The expression tree of MSR-TR-2009-126, Fig. 18 · {day} · commit {}</p>\n\
         </header>\n",
        escape(&report.commit)
    );
    page.push_str(&summary(report));
    page.push_str(&software(report));
    page.push_str(&circuit(report));
    page.push_str(&network(report));
    page.push_str(&details(report));
    page.push_str(&method(report));
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

/// The measured sizes of the tree.
fn sizes(report: &Report) -> Vec<u32> {
    let mut sizes: Vec<u32> = report.rows.iter().map(|row| row.operations).collect();
    sizes.dedup();
    sizes
}

/// Ours next to each other contestant at the largest tree.
fn summary(report: &Report) -> String {
    let Some(&largest) = sizes(report).last() else { return String::new() };
    let others = [PAPER].into_iter().chain(report.peers()).chain([COPY]);
    let lines = others.filter_map(|name| {
        let (theirs, ours) = (report.row(largest, name)?, report.row(largest, OURS)?);
        let ratio = report.faster(largest, name, OURS)?;
        let used = theirs.use_ns_median / ours.use_ns_median;
        Some(vec![
            name.to_owned(),
            theirs.yields.clone(),
            theirs.bytes.to_string(),
            number(theirs.decode_ns_median / 1e3),
            format!("{} × ({} to {})", number(ratio.median), number(ratio.min), number(ratio.max)),
            format!("{} ×", number(used)),
        ])
    });
    let head = ["Beside", "Gives", "Bytes", "µs", "Time of arrowsmith's", "And evaluated"];
    let ours = report.row(largest, OURS).map_or(0.0, |row| row.decode_ns_median / 1e3);
    format!(
        "<section>\n<h2>arrowsmith and the others</h2>\n<p>A tree of {} objects: {} µs per message with \
         the generated reader, into reused memory; how many times as long the others take, median \
         (least to most) of the rounds.</p>\n{}</section>\n",
        2 * largest + 1,
        number(ours),
        text_table(&head, lines)
    )
}

fn chart(title: &str, y_label: &str, steps: &[u32], lines: &[(&str, Vec<Option<f64>>)]) -> String {
    let series = lines.iter().enumerate();
    let series = series
        .map(|(index, (name, values))| Series { index, name, values: values.clone() })
        .collect();
    let names = lines.iter().enumerate().map(|(index, (name, _))| (index, *name));
    let chart = LineChart {
        title,
        x_label: "operations in the tree",
        y_label,
        steps: steps.iter().map(u32::to_string).collect(),
        series,
        ideal: None,
    };
    format!("<div>{}{}</div>\n", chart.svg(), legend(names))
}

fn software(report: &Report) -> String {
    let steps = sizes(report);
    let mut names = vec![OURS, PAPER];
    names.extend(report.peers());
    names.push(COPY);
    let of = |value: fn(&Row) -> f64| {
        names
            .iter()
            .map(|name| {
                let values = steps.iter().map(|n| report.row(*n, name).map(value));
                (*name, values.collect())
            })
            .collect::<Vec<_>>()
    };
    let mut text = String::from("<section>\n<h2>Time per message</h2>\n<div class=\"charts\">\n");
    let decode = of(|row| row.decode_ns_median / 1e3);
    text.push_str(&chart("Decode", "microseconds per message", &steps, &decode));
    let used = of(|row| row.use_ns_median / 1e3);
    text.push_str(&chart("Decode and evaluate", "microseconds per message", &steps, &used));
    // Fig. 21: if the work is offloaded, the processor's time is that of the copy.
    let load = |name: &str| {
        let values = steps.iter().map(|n| {
            let (row, copy) = (report.row(*n, name)?, report.row(*n, COPY)?);
            Some(row.decode_ns_median / copy.decode_ns_median)
        });
        values.collect::<Vec<_>>()
    };
    let loads = [(PAPER, load(PAPER)), (OURS, load(OURS))];
    text.push_str(&chart(
        "Processor load, as in Fig. 21",
        "times that of copying finished objects",
        &steps,
        &loads,
    ));
    text.push_str("</div>\n</section>\n");
    text
}

fn circuit(report: &Report) -> String {
    if report.cycles.is_empty() && report.resources.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "<section>\n<h2>The circuit</h2>\n<p>Generated from the 32-bit layout of the classes, 16 bytes per beat, up to 1,024 \
         objects. Cycles are counted in simulation with memory that answers in two cycles; microseconds are derived for the \
         paper's {PAPER_MHZ} MHz. The paper's circuit took {PAPER_CYCLES} cycles for 4,080 bytes of objects.</p>\n"
    );
    let rows = report.cycles.iter().map(|row| {
        let us = f64::from(row.cycles) / PAPER_MHZ;
        let faster =
            report.row(row.operations, PAPER).map(|paper| paper.decode_ns_median / 1e3 / us);
        vec![
            row.operations.to_string(),
            row.message_bytes.to_string(),
            row.object_bytes.to_string(),
            row.cycles.to_string(),
            number(row.cycles_back_to_back),
            number(us),
            faster.map_or_else(|| "–".to_owned(), |ratio| format!("{} ×", number(ratio))),
        ]
    });
    let head = [
        "Operations",
        "Message, bytes",
        "Objects, bytes",
        "Cycles",
        "Back to back",
        "µs at 125 MHz",
        "Paper's software here",
    ];
    text.push_str(&text_table(&head, rows));
    if !report.resources.is_empty() {
        text.push_str(
            "<h3>Resources, as in Tables 2 and 3</h3>\n<p>Ours: registers, memory interfaces and all, by Yosys, after \
             mapping. The paper's: deserializer and stream reader after its Map stage, 256 objects.</p>\n",
        );
        let ours = report.resources.iter().map(|row| {
            let name =
                if row.family == "xc5v" { "Virtex-5".to_owned() } else { row.family.clone() };
            let numbers = [row.flip_flops, row.luts, row.lutram, row.block_ram, row.dsp];
            let cells = numbers.iter().map(u64::to_string);
            [format!("arrowsmith, {name}")].into_iter().chain(cells).collect()
        });
        let paper = ["the paper's, Virtex-5", "8829", "4078", "–", "–", "–"].map(str::to_owned);
        let head = ["Circuit", "Flip-flops", "LUT", "LUT RAM", "Block RAM", "DSP"];
        text.push_str(&text_table(&head, ours.chain([paper.to_vec()])));
    }
    text.push_str("</section>\n");
    text
}

fn network(report: &Report) -> String {
    if report.trips.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "<section>\n<h2>Round trips</h2>\n<p>Between two network namespaces of \
         this machine, over a pair of virtual Ethernet devices: there is no wire, and both ends share the processors. \
         The paper's are between two computers.</p>\n",
    );
    text.push_str("<h3>Median of round trips, as in Table 5</h3>\n");
    let paper = |transport: &str, least: bool| match (transport, least) {
        ("raw", true) => "55",
        ("raw", false) => "120",
        ("udp", true) => "132",
        ("udp", false) => "226",
        ("tcp", true) => "128",
        _ => "198",
    };
    let single = report.trips.iter().filter(|trip| trip.server == "reflect" && trip.in_flight == 1);
    let rows = single.map(|trip| {
        let bytes = trip.bytes.unwrap_or_default();
        vec![
            trip.transport.clone(),
            bytes.to_string(),
            number(trip.median_us()),
            paper(&trip.transport, bytes < 100).to_owned(),
        ]
    });
    text.push_str(&text_table(&["Transport", "Payload, bytes", "µs", "µs, the paper's"], rows));
    text.push_str("<div class=\"charts\">\n");
    text.push_str(&histogram(report, "Least messages, as in Fig. 14", |bytes| bytes < 100));
    text.push_str(&histogram(report, "Full-sized messages, as in Fig. 15", |bytes| bytes >= 100));
    text.push_str(&in_flight(report));
    text.push_str(&flights(report));
    text.push_str(&served(report));
    text.push_str("</div>\n</section>\n");
    text
}

/// The displayed percentiles of round trips.
const PERCENTILES: [usize; 9] = [1, 5, 10, 25, 50, 75, 90, 95, 99];

fn percentiles(trip: &Trip) -> Vec<Option<f64>> {
    PERCENTILES.iter().map(|at| trip.percentiles_us.get(*at).copied()).collect()
}

fn curves(title: &str, names: &[String], trips: &[&Trip]) -> String {
    let lines = names.iter().zip(trips).enumerate();
    let series =
        lines.map(|(index, (name, trip))| Series { index, name, values: percentiles(trip) });
    let chart = LineChart {
        title,
        x_label: "percentile of the round trips",
        y_label: "microseconds",
        steps: PERCENTILES.iter().map(ToString::to_string).collect(),
        series: series.collect(),
        ideal: None,
    };
    let names = names.iter().enumerate().map(|(index, name)| (index, name.as_str()));
    format!("<div>{}{}</div>\n", chart.svg(), legend(names))
}

fn histogram(report: &Report, title: &str, of: impl Fn(u32) -> bool) -> String {
    let trips: Vec<&Trip> = report
        .trips
        .iter()
        .filter(|trip| trip.in_flight == 1 && trip.bytes.is_some_and(&of))
        .collect();
    let names: Vec<String> = trips.iter().map(|trip| trip.transport.clone()).collect();
    curves(title, &names, &trips)
}

fn flights(report: &Report) -> String {
    let trips: Vec<&Trip> = report
        .trips
        .iter()
        .filter(|trip| trip.transport == "raw" && trip.bytes.is_some_and(|bytes| bytes < 100))
        .collect();
    let names: Vec<String> =
        trips.iter().map(|trip| format!("{} in flight", trip.in_flight)).collect();
    curves("Least frames, several in flight, as in Fig. 16", &names, &trips)
}

fn in_flight(report: &Report) -> String {
    let raw = |least: bool| {
        let trips = report.trips.iter();
        let trips = trips
            .filter(move |t| t.transport == "raw" && t.bytes.is_some_and(|b| (b < 100) == least));
        trips.map(|trip| (trip.in_flight, trip.median_us())).collect::<Vec<_>>()
    };
    let (least, full) = (raw(true), raw(false));
    let values = |all: &[(u32, f64)]| all.iter().map(|(_, us)| Some(*us)).collect();
    let names = ["least frames", "full-sized frames"];
    let chart = LineChart {
        title: "Raw frames in flight, as in Fig. 17",
        x_label: "frames in flight",
        y_label: "microseconds for all of them, median",
        steps: least.iter().map(|(count, _)| count.to_string()).collect(),
        series: vec![
            Series { index: 0, name: names[0], values: values(&least) },
            Series { index: 1, name: names[1], values: values(&full) },
        ],
        ideal: None,
    };
    format!("<div>{}{}</div>\n", chart.svg(), legend(names.into_iter().enumerate()))
}

fn served(report: &Report) -> String {
    let steps = sizes(report);
    let mut names = Vec::new();
    let mut lines = Vec::new();
    for transport in ["udp", "tcp"] {
        for server in [PAPER, OURS] {
            let find = |operations: &u32| {
                let mut trips = report.trips.iter();
                let found = trips.find(|trip| {
                    trip.transport == transport
                        && trip.server == server
                        && trip.operations == Some(*operations)
                });
                found.map(Trip::median_us)
            };
            names.push(format!("{server}, {transport}"));
            lines.push(steps.iter().map(find).collect::<Vec<_>>());
        }
    }
    let lines: Vec<(&str, Vec<Option<f64>>)> =
        names.iter().map(String::as_str).zip(lines).collect();
    chart("The tree is sent and evaluated, as in Fig. 19", "microseconds, median", &steps, &lines)
}

fn details(report: &Report) -> String {
    let head = ["Operations", "Reader", "Gives", "Bytes", "Right", "ns", "ns, evaluated"];
    let rows = report.rows.iter().map(|row| {
        vec![
            row.operations.to_string(),
            row.codec.clone(),
            row.yields.clone(),
            row.bytes.to_string(),
            if row.valid { "yes" } else { "NO" }.to_owned(),
            number(row.decode_ns_median),
            number(row.use_ns_median),
        ]
    });
    format!("<section>\n<h2>All figures</h2>\n{}</section>\n", text_table(&head, rows))
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
    for missing in &report.not_measured {
        entry("Not measured", &format!("{}: {}", missing.engine, missing.reason));
    }
    text.push_str(
        "</dl>\n<p>The tree has n operations in a chain: each has a literal on its left and the next on its right. A \
         contestant decodes the message in its own format and releases the result, repeatedly, from and to memory that is \
         in cache; all take turns in one process, round by round, and the median is shown. <i>Objects</i> are of the \
         user's own classes, with virtual functions; <i>messages</i> are of generated classes; <i>views</i> read the \
         bytes in place: FlatBuffers verifies them first, Cap'n Proto checks when a pointer is followed, so its decoding is \
         all in the use. <i>memcpy</i> copies finished objects. The paper's software trusts its input; arrowsmith \
         checks every byte that can be invalid.</p>\n</section>\n",
    );
    text
}
