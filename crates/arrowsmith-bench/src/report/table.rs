// SPDX-License-Identifier: Apache-2.0
//! The tables of the page: one summary per thread count, and all figures.

use maud::{Markup, html};

use super::View;
use crate::page::{maybe, number, plural, section};
use crate::result::Row;

/// Speeds side by side, the fastest of each line in bold, and our ratios.
pub(super) fn summaries(view: &View<'_>) -> Markup {
    let summary = |threads: u64| {
        html! {
            div.scroll {
                table {
                    thead {
                        tr {
                            th { "Workload" }
                            @for engine in &view.engines { th { (engine) } }
                            @if view.ours().is_some() {
                                @for (_, what) in ratios(view) { th { "× fastest" br; (what) } }
                            }
                        }
                    }
                    tbody {
                        @for workload in &view.workloads {
                            (summary_line(view, workload, threads))
                        }
                    }
                }
            }
        }
    };
    html! {
        @for &threads in &view.threads {
            (section(format!("GB/s, {}", plural(threads, "thread")), "", summary(threads)))
        }
    }
}

fn summary_line(view: &View<'_>, workload: &str, threads: u64) -> Markup {
    let cells = || view.engines.iter().map(|engine| view.row(workload, engine, threads));
    let valid = cells().flatten().filter(|row| row.valid());
    let best = valid.map(Row::gb_per_s).fold(0.0, f64::max);
    let ours = view.ours().map(|ours| view.row(workload, ours, threads));
    html! {
        tr {
            td { (workload) }
            @for cell in cells() {
                @match cell {
                    None => td { i { "not measured" } },
                    Some(row) if !row.valid() => td.bad { "wrong result" },
                    Some(row) if row.gb_per_s() >= best => td { b { (number(row.gb_per_s())) } },
                    Some(row) => td { (number(row.gb_per_s())) },
                }
            }
            @if let Some(row) = ours {
                @for (name, _) in ratios(view) {
                    td { (ratio(row.filter(|row| row.valid()), name)) }
                }
            }
        }
    }
}

/// The ratios that there are, and beside what.
fn ratios(view: &View<'_>) -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = [("vs_fastest_reader", "reader"), ("vs_fastest_peer", "peer")];
    all.into_iter().filter(|(name, _)| view.has(name))
}

/// `3.1 (2.9–3.3) duckdb`.
fn ratio(row: Option<&Row>, name: &str) -> Markup {
    let figure = |part: &str| row?.number(&format!("{name}.{part}")).map(number);
    let engine = row.map(|row| row.text(&format!("{name}.engine")));
    html! {
        @match (figure("median"), figure("min"), figure("max"), engine) {
            (Some(median), Some(min), Some(max), Some(engine)) => {
                b { (median) } " (" (min) "–" (max) ") " (engine)
            },
            _ => "–",
        }
    }
}

/// Every figure, and every missing one.
pub(super) fn details(view: &View<'_>) -> Markup {
    let has = |name: &str, cell: &'static str| view.has(name).then(|| cell.to_owned());
    let head = ["Engine", "GB/s", "median ms", "min", "max", "rounds"].map(str::to_owned);
    let head = head.into_iter().chain(has("cpu_seconds", "processor ms"));
    let head = head.chain(has("file_bytes", "file MB"));
    let head = head.chain(ratios(view).map(|(_, what)| format!("× fastest {what}")));
    let head: Vec<String> = head.chain(["peak MB", "result"].map(str::to_owned)).collect();
    let missing = view.not_measured.iter().filter(|missing| missing.engine.is_empty());
    let body = html! {
        div.scroll {
            table {
                thead { tr { @for cell in &head { th { (cell) } } } }
                tbody {
                    @for workload in &view.workloads {
                        @for &threads in &view.threads {
                            (group(view, workload, threads, head.len()))
                        }
                    }
                }
            }
        }
        @for missing in missing {
            p.none { (missing.workload) ": not measured: " (missing.reason) }
        }
    };
    section("All figures", "", body)
}

fn group(view: &View<'_>, workload: &str, threads: u64, columns: usize) -> Markup {
    let engines = || view.engines.iter().map(|e| (*e, view.row(workload, e, threads)));
    let Some(first) = engines().find_map(|(_, row)| row) else { return html! {} };
    let reason = |engine: &str| view.reason(workload, engine).unwrap_or("no reason is known");
    html! {
        tr.group {
            td colspan=(columns) {
                (workload) " · " (plural(threads, "thread")) " · " (first.count("bytes"))
                " bytes, " (first.count("records")) " records"
            }
        }
        @for (engine, row) in engines() {
            @match row {
                Some(row) => (line(view, row)),
                None => tr {
                    td { (engine) }
                    td colspan=(columns - 1) style="text-align:left" {
                        i { "not measured: " (reason(engine)) }
                    }
                },
            }
        }
    }
}

fn line(view: &View<'_>, row: &Row) -> Markup {
    let figure = |name: &str, factor: f64| number(row.number(name).unwrap_or(0.0) * factor);
    let times = ["seconds_median", "seconds_min", "seconds_max"].map(|name| figure(name, 1e3));
    html! {
        tr.ours[row.text("kind") == "ours"] {
            td { (row.engine()) }
            td { (number(row.gb_per_s())) }
            @for time in times { td { (time) } }
            td { (row.numbers("seconds").len()) }
            @if view.has("cpu_seconds") {
                td { (maybe(row.number("cpu_seconds_median"), |cpu| number(cpu * 1e3))) }
            }
            @if view.has("file_bytes") {
                td { (maybe(row.number("file_bytes"), |bytes| number(bytes / 1e6))) }
            }
            @for (name, _) in ratios(view) {
                td { (ratio(Some(row).filter(|row| row.valid()), name)) }
            }
            td { (format!("{:.0}", row.number("peak_rss_mb").unwrap_or(0.0))) }
            @match row.text("difference") {
                "" => td { "equal" },
                difference => td.bad { (difference) },
            }
        }
    }
}
