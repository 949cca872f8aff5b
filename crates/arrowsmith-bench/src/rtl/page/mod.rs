// SPDX-License-Identifier: Apache-2.0
//! The page of the report: circuits next to the papers' tables. Figures are *measured* (simulated
//! cycles, mapped cells), *derived* from measured ones, or an *estimate*, and every table says
//! which.

mod resources;

use arrowsmith_engine_rtl::Interface;
use maud::{Markup, html};

use super::model::{
    JSON_PAPER, PARQUET_PAPER, VU9P, VU37P, fit_half, joules_of, joules_per_gb, luts_per_gb_per_s,
    per_cent,
};
use super::{CLOCKS, Circuit, Report};
use crate::page::{
    self, Chart, Series, distinct, legend, maybe, number, number_table, part, section,
};

/// Makes one self-contained page.
#[must_use]
pub fn html(report: &Report) -> String {
    let body = html! {
        (json(report)) (parquet(report)) (end_to_end(report))
        (resources::resources(report)) (resources::placed(report)) (resources::modules(report))
        (method(report))
    };
    let subtitle = "JSON and Parquet to Arrow, simulated and synthesized";
    page::page(report, "Generated circuits", subtitle, body)
}

fn of<'a>(report: &'a Report, format: &'a str) -> impl Iterator<Item = &'a Circuit> {
    report.extra.circuits.iter().filter(move |circuit| circuit.format == format)
}

/// Lines over the width, one per schema.
fn chart(
    report: &Report,
    title: &str,
    unit: &str,
    value: impl Fn(&Circuit) -> Option<f64>,
) -> Markup {
    let names = distinct(of(report, "json").map(|circuit| &*circuit.name));
    let mut widths = distinct(of(report, "json").map(|circuit| circuit.width));
    widths.sort_unstable();
    let at = |name: &str, width: usize| {
        of(report, "json").find(|circuit| circuit.name == name && circuit.width == width)
    };
    let series = names.iter().enumerate().map(|(index, name)| {
        let values = widths.iter().map(|width| at(name, *width).and_then(&value));
        Series::new(index, name, values)
    });
    let steps_are = "bytes per cycle that a parser can take";
    let chart = Chart::lines(title, (steps_are, unit), &widths, series);
    html! { div { (chart.draw()) (legend(names.iter().copied().enumerate())) } }
}

fn json(report: &Report) -> Markup {
    if of(report, "json").next().is_none() {
        return html! {};
    }
    let rate = |circuit: &Circuit| circuit.run.map(|run| run.input_per_cycle());
    let area = |circuit: &Circuit| {
        let found = circuit.part("device", "xcup")?;
        Some(luts_per_gb_per_s(found.luts_all, circuit.gb_per_s(CLOCKS[0])?) / 1e3)
    };
    let rows = of(report, "json").map(|circuit| {
        let rate = circuit.gb_per_s(CLOCKS[0]);
        let part = |part: &str| {
            let luts = circuit.part(part, "xcup").map(|found| found.luts_all);
            let each = luts.zip(rate).map(|(luts, rate)| luts_per_gb_per_s(luts, rate));
            [maybe(luts, |luts| luts.to_string()), maybe(each, |each| format!("{each:.0}"))]
        };
        let energy = circuit.part("device", "xcup").zip(circuit.run).map(|(found, run)| {
            joules_per_gb(found.luts_all, found.block_ram_36, run.input_per_cycle())
        });
        let ([parser, parser_each], [device, device_each]) = (part("parser"), part("device"));
        vec![
            format!("{}, {} bytes", circuit.name, circuit.width),
            maybe(circuit.run, |run| number(run.input_per_cycle())),
            maybe(rate, number),
            parser,
            parser_each,
            device,
            device_each,
            maybe(energy, number),
        ]
    });
    let head = [
        "Circuit",
        "B/cycle, measured",
        "GB/s at 200 MHz, derived",
        "Parser, LUT, measured",
        "LUT a GB/s, derived (goal 6,000)",
        "Device, LUT, measured",
        "LUT a GB/s, derived (goal 8,000)",
        "J/GB, estimate",
    ];
    let body = html! {
        div.panels {
            (chart(report, "Throughput", "bytes of JSON per cycle, measured", rate))
            (chart(report, "Area", "thousand LUTs for a GB/s at 200 MHz, derived", area))
        }
        (number_table(&head, rows))
        (json_paper(report))
    };
    let intro = "One parser. Measured: bytes of JSON per cycle on an ideal memory, look-up tables \
                 after mapping for UltraScale+. Derived: GB/s at 200 MHz and look-up tables for \
                 each. A device has writers, memory interfaces and registers too.";
    section("JSON", intro, body)
}

/// For comparison with Table I: the speed of the paper's devices, half full of our parsers.
fn json_paper(report: &Report) -> Markup {
    let mut rows = Vec::new();
    for paper in JSON_PAPER {
        rows.push(vec![
            format!("the paper's, {}, {}", paper.system, paper.workload),
            paper.parsers.to_string(),
            format!("{} %", paper.logic_per_cent),
            format!("{} %", paper.block_ram_per_cent),
            format!("{}, measured", paper.peak_gb_per_s),
            format!("{}, measured, whole system", number(joules_of(paper.mib_per_joule))),
            String::new(),
        ]);
    }
    for circuit in of(report, "json") {
        let (Some(found), Some(run)) = (circuit.part("device", "xcup"), circuit.run) else {
            continue;
        };
        let fit = fit_half(&VU37P, found.luts_all, found.block_ram_36);
        let joules = joules_per_gb(found.luts_all, found.block_ram_36, run.input_per_cycle());
        #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
        let all = run.gb_per_s(fit as f64, CLOCKS[0]);
        for interface in Interface::ALL {
            let limit = run.limit_gb_per_s(&interface);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a few hundred"
            )]
            let needed = ((limit / run.gb_per_s(1.0, CLOCKS[0])).ceil().max(1.0) as u64).min(fit);
            rows.push(vec![
                format!("arrowsmith, VU37P, {}, {} bytes", circuit.name, circuit.width),
                format!("{needed} of {fit} in half of it"),
                format!("{:.2} %", per_cent(needed * found.luts_all, VU37P.luts)),
                format!("{:.2} %", per_cent(needed * found.block_ram_36, VU37P.block_ram_36)),
                format!(
                    "{}, derived: {:.0} % of {}",
                    number(all.min(limit)),
                    100.0 * all.min(limit) / limit,
                    interface.name
                ),
                format!("{}, estimate, fabric alone", number(joules)),
                format!(
                    "{} lets {} through, {} GB/s of {:.2} B of Arrow a byte",
                    interface.name,
                    number(limit),
                    number(limit * run.expansion()),
                    run.expansion()
                ),
            ]);
        }
    }
    let head = ["System", "Parsers", "Logic", "Block RAM", "GB/s, end to end", "J/GB", "Limit"];
    let intro = "The paper's rows are measured on boards and include its shell (per cent of ALMs \
                 or CLBs). Ours are derived: as many devices, each with its own port to memory, as \
                 the interface needs, if half of a VU37P holds them. The Arrow output goes back \
                 over the same interface, in the other direction: if Arrow is larger than the \
                 text, that is the limit.";
    part("Comparison with Table I of the JSON paper", intro, number_table(&head, rows))
}

fn parquet(report: &Report) -> Markup {
    if of(report, "parquet").next().is_none() {
        return html! {};
    }
    let ours = of(report, "parquet").map(|circuit| {
        let found = circuit.part("device", "xcup");
        let share = |part: fn(&super::Resources) -> u64, all: u64| {
            maybe(found, |found| format!("{:.2} %", per_cent(part(found), all)))
        };
        vec![
            format!("arrowsmith, {}", circuit.name),
            (circuit.width * 8).to_string(),
            share(|found| found.luts_all, VU9P.luts),
            share(|found| found.flip_flops, VU9P.flip_flops),
            share(|found| found.block_ram_36, VU9P.block_ram_36),
            maybe(circuit.run, |run| number(run.output_per_cycle())),
            maybe(circuit.gb_per_s(CLOCKS[0]), number),
            maybe(circuit.gb_per_s(CLOCKS[1]), number),
            maybe(found.zip(circuit.run), |(found, run)| {
                number(joules_per_gb(found.luts_all, found.block_ram_36, run.output_per_cycle()))
            }),
        ]
    });
    let theirs = PARQUET_PAPER.iter().map(|paper| {
        let shares = [paper.luts, paper.flip_flops, paper.block_ram];
        let mut row = vec![format!("the paper's, {}", paper.what), paper.input_bits.to_string()];
        row.extend(shares.map(|share| format!("{share:.2} %")));
        row.resize(row.len() + 4, "–".to_owned());
        row
    });
    let head = [
        "Converter",
        "Input, bits",
        "LUT",
        "Registers",
        "Block RAM",
        "Bytes of Arrow per cycle, measured",
        "GB/s at 200 MHz, derived",
        "GB/s at 250 MHz, derived",
        "J/GB, estimate",
    ];
    let intro = "One converter with memory interface and registers, per cent of a VU9P, next to \
                 Table I of the paper. Ours: after Yosys's mapping, neither placed nor routed. The \
                 paper's: placed and routed, without the shell.";
    let table = number_table(&head, ours.chain(theirs));
    section("Parquet", intro, html! { (table) (parquet_interfaces(report)) })
}

/// The throughput of a converter at its clock, limited by an interface.
fn parquet_interfaces(report: &Report) -> Markup {
    let rows = of(report, "parquet").filter_map(|circuit| {
        let (run, alone) = (circuit.run?, circuit.gb_per_s(CLOCKS[1])?);
        let behind = Interface::ALL.map(|interface| {
            // The interface's limit is for bytes read; `alone` is for bytes written.
            let limit = run.limit_gb_per_s(&interface) * run.expansion();
            let kept = alone.min(limit);
            format!("{}, {:.0} % of the interface's throughput", number(kept), 100.0 * kept / limit)
        });
        Some([vec![circuit.name.clone(), number(alone)], behind.into()].concat())
    });
    let mut head = vec!["Converter", "GB/s at 250 MHz alone"];
    head.extend(Interface::ALL.iter().map(|interface| interface.name));
    let intro = "Derived: GB of Arrow per second, the minimum of the converter's and the \
                 interface's throughput each way, Parquet in and Arrow out.";
    part("Behind the interfaces", intro, number_table(&head, rows))
}

fn end_to_end(report: &Report) -> Markup {
    if report.extra.end_to_end.is_empty() {
        return html! {};
    }
    let rows = report.extra.end_to_end.iter().map(|case| {
        vec![
            format!(
                "{}, {} parsers of {} bytes, {} ports",
                case.name, case.parsers, case.width, case.ports
            ),
            case.interface.to_owned(),
            number(case.run.input_per_cycle()),
            number(case.gb_per_s),
            number(case.limit_gb_per_s),
            format!("{:.1} %", 100.0 * case.gb_per_s / case.limit_gb_per_s),
            format!("{:.0}", case.run.output_per_burst()),
            format!("{:.0} %", per_cent(case.run.starved, case.run.cycles)),
            format!("{:.0} %", per_cent(case.run.blocked, case.run.cycles)),
        ]
    });
    let head = [
        "Circuit",
        "Interface",
        "B/cycle, measured",
        "GB/s at 200 MHz",
        "Interface, GB/s",
        "Share",
        "Bytes per write",
        "A parser had no input",
        "A parser had no room",
    ];
    let intro = "Parsers that share ports to memory, simulated as a whole behind a model of the \
                 interface: latency, and the rate of each way, of which every burst takes its \
                 packets. The interface's figure is for JSON: the throughput of its slower \
                 direction in full packets.";
    section("End to end", intro, number_table(&head, rows))
}

fn method(report: &Report) -> Markup {
    let how = "Cycles: Verilator runs the generated circuit on generated records; every value is \
               compared with the engine cpu. Look-up tables include those that are memory or shift \
               registers; two small ones that a vendor's tool would merge count as two. Interfaces \
               are models: PCIe Gen3 x8 7.88 GB/s, OpenCAPI 3 25 GB/s, PCIe Gen5 x16 63 GB/s each \
               way, of which a packet of at most 256 bytes takes 24 (OpenCAPI: 35) besides its \
               data, and a read as many in the other direction; latencies of 800, 400 and 700 ns \
               for a read. Energy is an estimate of the fabric only: 0.1 µW for a look-up table \
               with its register and 10 µW for a block RAM, per MHz, an eighth of all switching \
               per cycle; no shell, no link, no static power, so it cannot be compared with the \
               papers' figures of whole systems.";
    page::method(report, &[], how)
}
