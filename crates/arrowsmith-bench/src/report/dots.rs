// SPDX-License-Identifier: Apache-2.0
//! The dot plot: one line per workload, one mark per engine, over the bar of its spread.

use std::fmt::Write;

use super::chart::{LogScale, mark, tick_label};
use super::{View, escape, number};
use crate::result::Row;

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 20.0;
const LINE: f64 = 30.0;
const TOP: f64 = 34.0;

/// All workloads with one thread count, as SVG.
pub(crate) fn plot(view: &View<'_>, threads: usize) -> String {
    let shown = |row: &&Row| view.workloads.contains(&&row.workload[..]) && row.threads == threads;
    let rows = || view.report.rows.iter().filter(shown);
    let speeds = rows()
        .flat_map(|row| [speed(row.bytes, row.seconds_max), speed(row.bytes, row.seconds_min)]);
    let x = LogScale::covering(speeds, LEFT, WIDTH - RIGHT);
    let workloads: Vec<&str> = view
        .workloads
        .iter()
        .copied()
        .filter(|workload| rows().any(|row| row.workload == *workload))
        .collect();
    #[expect(clippy::cast_precision_loss, reason = "there are a few workloads")]
    let bottom = TOP + LINE * workloads.len() as f64;

    let mut svg = format!(
        "<svg class=\"wide\" viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" \
         aria-label=\"Speed of every engine on every workload\">\n",
        bottom + 42.0
    );
    for tick in x.ticks() {
        let at = x.at(tick);
        let label = tick_label(tick);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            TOP - 10.0,
            bottom + 18.0
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        f64::midpoint(LEFT, WIDTH - RIGHT),
        bottom + 36.0,
        view.words.unit
    );
    let mut y = TOP + LINE / 2.0;
    for workload in workloads {
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" \
             stroke-dasharray=\"1 4\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 12.0,
            y + 4.0,
            escape(workload)
        );
        // Ours last, so that it is on top.
        let mut engines: Vec<_> = view.measured().collect();
        engines.reverse();
        for (index, engine) in engines {
            let Some(row) = view.row(workload, engine, threads) else { continue };
            let (slow, fast) =
                (speed(row.bytes, row.seconds_max), speed(row.bytes, row.seconds_min));
            let tip = format!(
                "{engine}: {} GB/s ({}–{})",
                number(row.gb_per_s),
                number(slow),
                number(fast)
            );
            let _ = writeln!(
                svg,
                "<line class=\"range k{}\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>{}",
                index % 10,
                x.at(slow),
                x.at(fast),
                mark(index, x.at(row.gb_per_s), y, &tip)
            );
        }
        y += LINE;
    }
    svg.push_str("</svg>\n");
    svg
}

#[expect(clippy::cast_precision_loss, reason = "a speed has three digits")]
fn speed(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 / seconds / 1e9
}
