// SPDX-License-Identifier: Apache-2.0
//! The page of the suite `objects`: the paper's figures and tables next to the measurements.

use maud::{Markup, html};

use super::{COPY, OURS, PAPER, Report, Row, Trip};
use crate::page::{
    self, Cell, Chart, Series, distinct, legend, maybe, number, part, row_table, section,
    text_table, times,
};

/// Cycles of the paper's circuit for its largest structure, and its clock in MHz (Sect. 6.4).
const PAPER_CYCLES: f64 = 1_282.0;
const PAPER_MHZ: f64 = 125.0;
/// The displayed percentiles of round trips.
const PERCENTILES: [usize; 9] = [1, 5, 10, 25, 50, 75, 90, 95, 99];

/// Makes one self-contained page.
#[must_use]
pub fn html(report: &Report) -> String {
    let body = html! {
        (summary(report)) (software(report)) (circuit(report)) (network(report))
        (details(report)) (method(report))
    };
    let subtitle = "The expression tree of MSR-TR-2009-126, Fig. 18";
    page::page(report, "C++ object graphs from bytes", subtitle, body)
}

/// The measured sizes of the tree.
fn sizes(report: &Report) -> Vec<u32> {
    let sizes = report.rows.iter().map(|row| u32::try_from(row.count("operations")).unwrap_or(0));
    distinct(sizes)
}

fn decode_us(row: &Row) -> f64 {
    row.number("decode_ns_median").unwrap_or_default() / 1e3
}

fn use_us(row: &Row) -> f64 {
    row.number("use_ns_median").unwrap_or_default() / 1e3
}

/// Ours next to each other contestant at the largest tree.
fn summary(report: &Report) -> Markup {
    let Some(&largest) = sizes(report).last() else { return html! {} };
    let others = [PAPER].into_iter().chain(report.peers()).chain([COPY]);
    let lines = others.filter_map(|name| {
        let (theirs, ours) = (report.row(largest, name)?, report.row(largest, OURS)?);
        let ratio = report.faster(largest, name, OURS)?;
        Some(vec![
            name.to_owned(),
            theirs.text("yields").to_owned(),
            theirs.count("bytes").to_string(),
            number(decode_us(theirs)),
            format!("{} × ({} to {})", number(ratio.median), number(ratio.min), number(ratio.max)),
            times(use_us(theirs) / use_us(ours)),
        ])
    });
    let head = ["Beside", "Gives", "Bytes", "µs", "Time of arrowsmith's", "And evaluated"];
    let intro = format!(
        "A tree of {} objects: {} µs per message with the generated reader, into reused memory; \
         how many times as long the others take, median (least to most) of the rounds.",
        2 * largest + 1,
        number(report.row(largest, OURS).map_or(0.0, decode_us))
    );
    section("arrowsmith and the others", intro, text_table(&head, lines))
}

/// Named lines over steps.
fn chart(
    title: &str,
    (steps_are, unit): (&str, &str),
    steps: impl Iterator<Item = String>,
    lines: &[(String, Vec<Option<f64>>)],
) -> Markup {
    let series = lines.iter().enumerate();
    let series =
        series.map(|(index, (name, values))| Series::new(index, name, values.iter().copied()));
    let chart = Chart::lines(title, (steps_are, unit), steps, series);
    let names = lines.iter().enumerate().map(|(index, (name, _))| (index, &**name));
    html! { div { (chart.draw()) (legend(names)) } }
}

fn over_sizes(
    report: &Report,
    title: &str,
    unit: &str,
    lines: &[(String, Vec<Option<f64>>)],
) -> Markup {
    let steps = sizes(report).into_iter().map(|size| size.to_string());
    chart(title, ("operations in the tree", unit), steps, lines)
}

fn software(report: &Report) -> Markup {
    let steps = sizes(report);
    let line = |name: &str, value: &dyn Fn(&Row, u32) -> Option<f64>| {
        let values = steps.iter().map(|n| report.row(*n, name).and_then(|row| value(row, *n)));
        (name.to_owned(), values.collect::<Vec<_>>())
    };
    let names = [vec![OURS, PAPER], report.peers(), vec![COPY]].concat();
    let all = |value: fn(&Row) -> f64| {
        let lines = names.iter().map(|name| line(name, &|row, _| Some(value(row))));
        lines.collect::<Vec<_>>()
    };
    // Fig. 21: if the work is offloaded, the processor's time is that of the copy.
    let load = |row: &Row, n: u32| Some(decode_us(row) / decode_us(report.row(n, COPY)?));
    let loads = [line(PAPER, &load), line(OURS, &load)];
    let (unit, load_unit) = ("microseconds per message", "times that of copying finished objects");
    let charts = html! {
        div.panels {
            (over_sizes(report, "Decode", unit, &all(decode_us)))
            (over_sizes(report, "Decode and evaluate", unit, &all(use_us)))
            (over_sizes(report, "Processor load, as in Fig. 21", load_unit, &loads))
        }
    };
    section("Time per message", "", charts)
}

fn circuit(report: &Report) -> Markup {
    let (cycles, resources) = (&report.extra.cycles, &report.extra.resources);
    if cycles.is_empty() && resources.is_empty() {
        return html! {};
    }
    let rows = cycles.iter().map(|row| {
        let us = f64::from(row.cycles) / PAPER_MHZ;
        vec![
            row.operations.to_string(),
            row.message_bytes.to_string(),
            row.object_bytes.to_string(),
            row.cycles.to_string(),
            number(row.cycles_back_to_back),
            number(us),
            maybe(report.row(row.operations, PAPER), |paper| times(decode_us(paper) / us)),
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
    let ours = resources.iter().map(|row| {
        let name = if row.family == "xc5v" { "Virtex-5" } else { &row.family };
        let numbers = [row.flip_flops, row.luts, row.lutram, row.block_ram, row.dsp];
        let cells = numbers.iter().map(u64::to_string);
        [format!("arrowsmith, {name}")].into_iter().chain(cells).collect()
    });
    let paper = ["the paper's, Virtex-5", "8829", "4078", "–", "–", "–"].map(str::to_owned);
    let of = ["Circuit", "Flip-flops", "LUT", "LUT RAM", "Block RAM", "DSP"];
    let mapped = part(
        "Resources, as in Tables 2 and 3",
        "Ours: registers, memory interfaces and all, by Yosys, after mapping. The paper's: \
         deserializer and stream reader after its Map stage, 256 objects.",
        text_table(&of, ours.chain([paper.to_vec()])),
    );
    let intro = format!(
        "Generated from the 32-bit layout of the classes, 16 bytes per beat, up to 1,024 objects. \
         Cycles are counted in simulation with memory that answers in two cycles; microseconds are \
         derived for the paper's {PAPER_MHZ} MHz. The paper's circuit took {PAPER_CYCLES} cycles \
         for 4,080 bytes of objects."
    );
    let body = html! {
        (text_table(&head, rows))
        @if !resources.is_empty() { (mapped) }
    };
    section("The circuit", intro, body)
}

fn is_least(trip: &Trip) -> bool {
    trip.bytes.is_some_and(|bytes| bytes < 100)
}

fn network(report: &Report) -> Markup {
    let trips = || report.extra.trips.iter();
    if trips().next().is_none() {
        return html! {};
    }
    let paper = |trip: &Trip| match (&*trip.transport, is_least(trip)) {
        ("raw", true) => "55",
        ("raw", false) => "120",
        ("udp", true) => "132",
        ("udp", false) => "226",
        ("tcp", true) => "128",
        _ => "198",
    };
    let single = trips().filter(|trip| trip.server == "reflect" && trip.in_flight == 1);
    let rows = single.map(|trip| {
        let bytes = trip.bytes.unwrap_or_default().to_string();
        vec![trip.transport.clone(), bytes, number(trip.median_us()), paper(trip).to_owned()]
    });
    let table = text_table(&["Transport", "Payload, bytes", "µs", "µs, the paper's"], rows);
    let one = |trip: &Trip| trip.in_flight == 1 && trip.bytes.is_some();
    let body = html! {
        (part("Median of round trips, as in Table 5", "", table))
        div.panels {
            (curves(report, "Least messages, as in Fig. 14",
                |trip| one(trip) && is_least(trip), |trip| trip.transport.clone()))
            (curves(report, "Full-sized messages, as in Fig. 15",
                |trip| one(trip) && !is_least(trip), |trip| trip.transport.clone()))
            (in_flight(report))
            (curves(report, "Least frames, several in flight, as in Fig. 16",
                |trip| trip.transport == "raw" && is_least(trip),
                |trip| format!("{} in flight", trip.in_flight)))
            (served(report))
        }
    };
    let intro = "Between two network namespaces of this machine, over a pair of virtual Ethernet \
                 devices: there is no wire, and both ends share the processors. The paper's are \
                 between two computers.";
    section("Round trips", intro, body)
}

/// The distribution of some round trips.
fn curves(
    report: &Report,
    title: &str,
    of: impl Fn(&Trip) -> bool,
    name: fn(&Trip) -> String,
) -> Markup {
    let lines = report.extra.trips.iter().filter(|trip| of(trip)).map(|trip| {
        let values = PERCENTILES.iter().map(|at| trip.percentiles_us.get(*at).copied());
        (name(trip), values.collect())
    });
    let steps = PERCENTILES.iter().map(ToString::to_string);
    let words = ("percentile of the round trips", "microseconds");
    chart(title, words, steps, &lines.collect::<Vec<_>>())
}

fn in_flight(report: &Report) -> Markup {
    let raw = |least: bool| {
        let trips = report.extra.trips.iter();
        trips.filter(move |t| t.transport == "raw" && t.bytes.is_some() && is_least(t) == least)
    };
    let values = |least: bool| raw(least).map(|trip| Some(trip.median_us())).collect();
    let lines = [
        ("least frames".to_owned(), values(true)),
        ("full-sized frames".to_owned(), values(false)),
    ];
    let steps = raw(true).map(|trip| trip.in_flight.to_string());
    let words = ("frames in flight", "microseconds for all of them, median");
    chart("Raw frames in flight, as in Fig. 17", words, steps, &lines)
}

fn served(report: &Report) -> Markup {
    let kinds = ["udp", "tcp"].into_iter().flat_map(|kind| [(kind, PAPER), (kind, OURS)]);
    let lines = kinds.map(|(transport, server)| {
        let find = |operations: u32| {
            let mut trips = report.extra.trips.iter();
            let found = trips.find(|trip| {
                (&*trip.transport, &*trip.server) == (transport, server)
                    && trip.operations == Some(operations)
            });
            found.map(Trip::median_us)
        };
        (format!("{server}, {transport}"), sizes(report).into_iter().map(find).collect())
    });
    let title = "The tree is sent and evaluated, as in Fig. 19";
    over_sizes(report, title, "microseconds, median", &lines.collect::<Vec<_>>())
}

fn details(report: &Report) -> Markup {
    let columns = [
        ("Operations", Cell::Plain("operations")),
        ("Reader", Cell::Plain("codec")),
        ("Gives", Cell::Plain("yields")),
        ("Bytes", Cell::Plain("bytes")),
        ("Right", Cell::With(|row| if row.valid() { "yes" } else { "NO" }.to_owned())),
        ("ns", Cell::Number("decode_ns_median", 1.0)),
        ("ns, evaluated", Cell::Number("use_ns_median", 1.0)),
    ];
    section("All figures", "", row_table(&report.rows, &columns))
}

fn method(report: &Report) -> Markup {
    let how = html! {
        "The tree has n operations in a chain: each has a literal on its left and the next on its \
         right. A contestant decodes the message in its own format and releases the result, \
         repeatedly, from and to memory that is in cache; all take turns in one process, round by \
         round, and the median is shown. " i { "Objects" }
        " are of the user's own classes, with virtual functions; " i { "messages" }
        " are of generated classes; " i { "views" }
        " read the bytes in place: FlatBuffers verifies them first, Cap'n Proto checks when a \
         pointer is followed, so its decoding is all in the use. " i { "memcpy" }
        " copies finished objects. The paper's software trusts its input; arrowsmith checks every \
         byte that can be invalid."
    };
    page::method(report, &[], how)
}
