// SPDX-License-Identifier: Apache-2.0
//! The tables of the page: one summary per thread count, and all figures.

use std::fmt::Write;

use super::{View, escape, number, plural};
use crate::result::{Ratio, Row};

/// Speeds side by side, the fastest of each line in bold, and our ratios.
pub(crate) fn summaries(view: &View<'_>) -> String {
    let mut text = String::new();
    for &threads in &view.threads {
        let _ = write!(
            text,
            "<section>\n<h2>GB/s, {}</h2>\n<div class=\"scroll\"><table>\n<thead><tr>\
             <th>Workload</th>",
            plural(threads, "thread")
        );
        for engine in &view.engines {
            let _ = write!(text, "<th>{}</th>", escape(engine));
        }
        if view.ours().is_some() {
            text.push_str("<th>× fastest<br>reader</th><th>× fastest<br>peer</th>");
        }
        text.push_str("</tr></thead>\n<tbody>\n");
        for workload in &view.workloads {
            text.push_str(&summary_line(view, workload, threads));
        }
        text.push_str("</tbody>\n</table></div>\n</section>\n");
    }
    text
}

fn summary_line(view: &View<'_>, workload: &str, threads: usize) -> String {
    let cells = || view.engines.iter().map(|engine| view.row(workload, engine, threads));
    let valid = cells().flatten().filter(|row| row.valid);
    let best = valid.map(|row| row.gb_per_s).fold(0.0, f64::max);
    let mut line = format!("<tr><td>{}</td>", escape(workload));
    for cell in cells() {
        let _ = match cell {
            None => write!(line, "<td><i>not measured</i></td>"),
            Some(row) if !row.valid => write!(line, "<td class=\"bad\">wrong result</td>"),
            Some(row) if row.gb_per_s >= best => {
                write!(line, "<td><b>{}</b></td>", number(row.gb_per_s))
            }
            Some(row) => write!(line, "<td>{}</td>", number(row.gb_per_s)),
        };
    }
    if let Some(ours) = view.ours() {
        let row = view.row(workload, ours, threads);
        let reader = row.and_then(|row| row.vs_fastest_reader.as_ref());
        let peer = row.and_then(|row| row.vs_fastest_peer.as_ref());
        let _ = write!(line, "<td>{}</td><td>{}</td>", ratio(reader), ratio(peer));
    }
    line.push_str("</tr>\n");
    line
}

/// `3.1 (2.9–3.3) duckdb`.
fn ratio(ratio: Option<&Ratio>) -> String {
    ratio.map_or_else(
        || "–".to_owned(),
        |ratio| {
            format!(
                "<b>{}</b> ({}–{}) {}",
                number(ratio.median),
                number(ratio.min),
                number(ratio.max),
                escape(&ratio.engine)
            )
        },
    )
}

/// Every figure, and every missing one.
pub(crate) fn details(view: &View<'_>) -> String {
    let mut text = String::from(
        "<section>\n<h2>All figures</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th>Engine</th>\
         <th>GB/s</th><th>median ms</th><th>min</th><th>max</th><th>rounds</th>\
         <th>× fastest reader</th><th>× fastest peer</th><th>peak MB</th><th>result</th>\
         </tr></thead>\n<tbody>\n",
    );
    for workload in &view.workloads {
        for &threads in &view.threads {
            let rows: Vec<(&str, Option<&Row>)> =
                view.engines.iter().map(|e| (*e, view.row(workload, e, threads))).collect();
            let Some(first) = rows.iter().find_map(|(_, row)| *row) else { continue };
            let _ = writeln!(
                text,
                "<tr class=\"group\"><td colspan=\"10\">{} · {} · {} bytes, {} records</td></tr>",
                escape(workload),
                plural(threads, "thread"),
                first.bytes,
                first.records
            );
            for (engine, row) in rows {
                text.push_str(&match row {
                    Some(row) => detail_line(row),
                    None => missing_line(view, workload, engine),
                });
            }
        }
    }
    text.push_str("</tbody>\n</table></div>\n");
    text.push_str(&missing_workloads(view));
    text.push_str("</section>\n");
    text
}

fn detail_line(row: &Row) -> String {
    let ms = |seconds: f64| number(seconds * 1e3);
    let result = match &row.difference {
        None => "<td>equal</td>".to_owned(),
        Some(difference) => format!("<td class=\"bad\">{}</td>", escape(difference)),
    };
    let ours = if row.kind == "ours" { " class=\"ours\"" } else { "" };
    format!(
        "<tr{ours}><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
         <td>{}</td><td>{:.0}</td>{result}</tr>\n",
        escape(&row.engine),
        number(row.gb_per_s),
        ms(row.seconds_median),
        ms(row.seconds_min),
        ms(row.seconds_max),
        row.seconds.len(),
        ratio(row.vs_fastest_reader.as_ref()),
        ratio(row.vs_fastest_peer.as_ref()),
        row.peak_rss_mb
    )
}

fn missing_line(view: &View<'_>, workload: &str, engine: &str) -> String {
    let reason = view.reason(workload, engine).unwrap_or("no reason is known");
    format!(
        "<tr><td>{}</td><td colspan=\"9\" style=\"text-align:left\"><i>not measured: {}</i></td></tr>\n",
        escape(engine),
        escape(reason)
    )
}

/// Workloads without figures.
fn missing_workloads(view: &View<'_>) -> String {
    let mut text = String::new();
    for missing in view.report.not_measured.iter().filter(|missing| missing.engine.is_empty()) {
        let _ = writeln!(
            text,
            "<p class=\"none\">{}: not measured: {}</p>",
            escape(&missing.workload),
            escape(&missing.reason)
        );
    }
    text
}
