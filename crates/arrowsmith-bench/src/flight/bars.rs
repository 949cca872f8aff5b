// SPDX-License-Identifier: Apache-2.0
//! Bar charts with error lines, as in the paper's figures, as SVG.

use std::fmt::Write;

use crate::report::{escape, number};

const WIDTH: f64 = 480.0;
const LEFT: f64 = 118.0;
const RIGHT: f64 = 64.0;
const TOP: f64 = 44.0;
const LINE: f64 = 30.0;

/// One bar.
pub(super) struct Bar<'a> {
    pub(super) label: String,
    pub(super) value: f64,
    /// Lower and upper end of the error line.
    pub(super) range: Option<(f64, f64)>,
    /// Determines the colour.
    pub(super) engine: &'a str,
}

/// The number of a colour in the style sheet.
fn colour(engine: &str) -> usize {
    match engine {
        super::OURS => 0,
        "cpp" => 7,
        "java" => 5,
        "python" => 6,
        "rust" => 2,
        _ => 9,
    }
}

/// The chart: bars from zero.
pub(super) fn svg(title: &str, unit: &str, bars: &[Bar<'_>]) -> String {
    let most = bars.iter().map(|bar| bar.range.map_or(bar.value, |(_, to)| to.max(bar.value)));
    let most = most.fold(0.0, f64::max);
    if most <= 0.0 {
        return String::new();
    }
    #[expect(clippy::cast_precision_loss, reason = "there are a few bars")]
    let height = TOP + LINE * bars.len() as f64 + 6.0;
    let scale = (WIDTH - LEFT - RIGHT) / most;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{0}\">\n\
         <text class=\"title\" x=\"0\" y=\"14\">{0}</text><text x=\"0\" y=\"32\">{1}</text>\n",
        escape(title),
        escape(unit)
    );
    let mut y = TOP;
    for bar in bars {
        let width = bar.value * scale;
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <rect class=\"k{}\" x=\"{LEFT}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            LEFT - 8.0,
            y + 17.0,
            escape(&bar.label),
            colour(bar.engine),
            y + 3.0,
            LINE - 10.0,
            LEFT + bar.range.map_or(width, |(_, to)| width.max(to * scale)) + 7.0,
            y + 17.0,
            number(bar.value)
        );
        if let Some((from, to)) = bar.range {
            let middle = y + 3.0 + (LINE - 10.0) / 2.0;
            let _ = writeln!(
                svg,
                "<line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{middle:.1}\" y2=\"{middle:.1}\" style=\"stroke:var(--ink)\"/>",
                LEFT + from * scale,
                LEFT + to * scale
            );
        }
        y += LINE;
    }
    svg.push_str("</svg>\n");
    svg
}
