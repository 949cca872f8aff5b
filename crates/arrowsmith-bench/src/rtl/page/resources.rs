// SPDX-License-Identifier: Apache-2.0
//! The FPGA resources of circuits: mapped, placed and routed, module by module.

use maud::{Markup, html};

use crate::page::{maybe, number, number_table, part, section};
use crate::rtl::model::{Device, LX110T, VU9P, VU37P, megahertz, per_cent};
use crate::rtl::{CLOCKS, Report};

/// Number of modules listed per circuit.
const MODULES_SHOWN: usize = 12;

pub(super) fn resources(report: &Report) -> Markup {
    let rows = report.extra.circuits.iter().flat_map(|circuit| {
        circuit.parts.iter().map(move |part| {
            let found = &part.resources;
            let share = |device: &Device| {
                if device.family != part.family {
                    return "–".to_owned();
                }
                let shares = [
                    per_cent(found.luts_all, device.luts),
                    per_cent(found.flip_flops, device.flip_flops),
                    per_cent(found.block_ram_36, device.block_ram_36),
                    per_cent(found.dsp, device.dsp),
                ];
                shares.map(|share| format!("{share:.2}")).join(" / ")
            };
            vec![
                format!("{}, {} bytes", circuit.name, circuit.width),
                part.part.to_owned(),
                part.family.to_owned(),
                found.luts_all.to_string(),
                found.luts_as_memory.to_string(),
                found.flip_flops.to_string(),
                found.block_ram_36.to_string(),
                found.dsp.to_string(),
                found.latches.to_string(),
                share(&VU37P),
                share(&VU9P),
                found.path.levels.to_string(),
                number(found.path.ns),
                number(megahertz(found.path.ns)),
                format!("{} → {}", found.path.from, found.path.to),
            ]
        })
    });
    let head = [
        "Circuit",
        "Part",
        "Family",
        "LUT",
        "of them memory",
        "FF",
        "BRAM36",
        "DSP",
        "Latches",
        "% of VU37P: LUT / FF / BRAM / DSP",
        "% of VU9P",
        "LUTs in a path",
        "ns, model",
        "MHz, model",
        "Slowest path",
    ];
    let intro = format!(
        "Measured after technology mapping by Yosys. The model of time knows cells and a typical \
         net after each, not places: {} MHz need a path of {} ns. It is of UltraScale+ in every \
         row. The Virtex-5 {} ({} LUT) is the object paper's: `arrowsmith bench objects`.",
        CLOCKS[1],
        number(1e3 / f64::from(CLOCKS[1])),
        LX110T.name,
        LX110T.luts
    );
    section("Resources and depth", intro, number_table(&head, rows))
}

pub(super) fn placed(report: &Report) -> Markup {
    let rows: Vec<Vec<String>> = report
        .extra
        .circuits
        .iter()
        .filter_map(|circuit| {
            let found = circuit.placed.as_ref()?;
            let part = if circuit.format == "json" { "parser" } else { "device" };
            let model = circuit.part(part, "xcup").map(|found| megahertz(found.path.ns));
            Some(vec![
                format!("{}, {} bytes", circuit.name, circuit.width),
                part.to_owned(),
                format!("{} ({})", found.luts, found.harness.luts),
                format!("{} ({})", found.flip_flops, found.harness.flip_flops),
                found.block_ram.to_string(),
                found.multipliers.to_string(),
                format!("{:.0} %", per_cent(found.luts, found.luts_of_device)),
                number(found.megahertz),
                number(found.path.ns),
                format!("{:.0} %", 100.0 * found.path.routing_ns / found.path.ns),
                found.path.cells.to_string(),
                format!("{} → {}", found.path.from, found.path.to),
                maybe(model, number),
            ])
        })
        .collect();
    if rows.is_empty() {
        return html! {};
    }
    let head = [
        "Circuit",
        "Part",
        "LUT4 (of the harness)",
        "FF (of the harness)",
        "Block RAM, 18 Kbit",
        "Multipliers",
        "% of its LUTs",
        "MHz, measured",
        "ns, measured",
        "of them wires",
        "Cells in the path",
        "Slowest path",
        "MHz on UltraScale+, model",
    ];
    let devices = report.extra.circuits.iter().filter_map(|circuit| circuit.placed.as_ref());
    let device = devices.map(|found| &*found.device).next().unwrap_or_default();
    let intro = format!(
        "On a Lattice {device}, the largest FPGA with an open flow that ends in timing: Yosys and \
         nextpnr. It is slower than the papers' by its making (40 nm against 16 nm, look-up tables \
         of four inputs against six), so that its clock is evidence of what wires take, not of the \
         papers' clock. Registers of a harness replace pins: a shift register before every port, \
         another after it."
    );
    section("Placed and routed", intro, number_table(&head, rows))
}

pub(super) fn modules(report: &Report) -> Markup {
    let head =
        ["Module", "Copies", "LUT, all copies", "FF, all copies", "LUTs in a path", "ns, model"];
    let tables = report.extra.circuits.iter().filter(|circuit| !circuit.modules.is_empty());
    let tables = tables.map(|circuit| {
        let rows = circuit.modules.iter().take(MODULES_SHOWN).map(|module| {
            vec![
                module.name.clone(),
                module.copies.to_string(),
                (module.copies * module.luts_all).to_string(),
                (module.copies * module.flip_flops).to_string(),
                module.levels.to_string(),
                number(module.ns),
            ]
        });
        let title = format!("{}, {} bytes", circuit.name, circuit.width);
        part(title, "", number_table(&head, rows))
    });
    let intro = "Modules of a device synthesized each for itself, without what is inside them: \
                 nothing is shared or dropped across their edges, so that the sum is more than the \
                 whole.";
    section("Where look-up tables go", intro, html! { @for table in tables { (table) } })
}
