// SPDX-License-Identifier: Apache-2.0
//! The page of the suites in which engines take turns on one input (`json`, `parquet`, `convert`,
//! `write`): ratios, figures, tables, machine, method.

mod figures;
mod paper;
mod table;

use maud::{Markup, PreEscaped, html};

use crate::page::{self, card, distinct, number, plural, text_table};
use crate::result::{NotMeasured, Report, Row};

/// The words of a suite.
pub(crate) struct Words {
    pub(crate) title: &'static str,
    pub(crate) subtitle: &'static str,
    /// The unit of speeds.
    pub(crate) unit: &'static str,
    /// What the inputs are that files are compared with.
    pub(crate) input: &'static str,
    /// The method, without the part common to all suites.
    pub(crate) method: &'static str,
}

const JSON: Words = Words {
    title: "JSON to Arrow",
    subtitle: "Text in memory to Arrow columns in memory",
    unit: "GB/s of JSON text",
    input: "text",
    method: "Its result is compared with that of the reference engine, column by column. Loading \
             the text, starting threads, compiling plans and freeing the result are not timed. \
             Speeds are bytes of JSON text over the median time. Peak memory is that of the whole \
             process with the input text.",
};

const PARQUET: Words = Words {
    title: "Parquet to Arrow",
    subtitle: "Files in the page cache to Arrow columns in memory",
    unit: "GB/s of Arrow output",
    input: "output",
    method: "Its result is compared, column by column, with totals computed from the rows before \
             they were written. Opening the file is timed, unless the engine reads from memory; \
             starting threads and freeing the result are not. Speeds are bytes of the Arrow arrays \
             (values, offsets, validity; strings as offsets and bytes) over the median time. If a \
             file has only strings, an engine is compared with those that make the same type of \
             them: plain strings, views or dictionaries. Peak memory is that of the whole process, \
             with the pages of the file that it has mapped.",
};

/// The page of the suites `json` and `parquet`.
#[must_use]
pub fn html(report: &Report) -> String {
    page(report, if report.suite == "parquet" { &PARQUET } else { &JSON }, &html! {})
}

/// The page of a suite with these words, and with something of its own below the ratios.
pub(crate) fn page<E>(report: &Report<E>, words: &'static Words, own: &Markup) -> String {
    let view = View::of(report, words);
    let body = html! {
        (headline(&view))
        (own)
        (figures::all(&view))
        (table::summaries(&view))
        (page::method(report, &[], method(&view)))
        (engines(&view))
        (table::details(&view))
    };
    page::page(report, words.title, words.subtitle, body)
}

/// A report with values that several parts of the page need.
struct View<'a> {
    rows: &'a [Row],
    not_measured: &'a [NotMeasured],
    words: &'static Words,
    /// Names of all requested engines, in the order of the definition.
    engines: Vec<&'a str>,
    workloads: Vec<&'a str>,
    threads: Vec<u64>,
}

impl<'a> View<'a> {
    fn of<E>(report: &'a Report<E>, words: &'static Words) -> Self {
        let rows = || report.rows.iter();
        let named = report.not_measured.iter().map(|missing| &*missing.engine);
        let named = named.filter(|name| !name.is_empty());
        let mut engines = distinct(rows().map(Row::engine).chain(named));
        // Ours first: the reader looks there first, and colours follow this order.
        engines.sort_by_key(|engine| !engine.starts_with("arrowsmith"));
        let plain = rows().filter(|row| !row.has("file.figure"));
        let workloads = distinct(plain.map(Row::workload));
        let mut threads = distinct(rows().map(Row::threads));
        threads.sort_unstable();
        let Report { rows, not_measured, .. } = report;
        Self { rows, not_measured, words, engines, workloads, threads }
    }

    fn row(&self, workload: &str, engine: &str, threads: u64) -> Option<&'a Row> {
        self.rows.iter().find(|row| {
            (row.workload(), row.engine(), row.threads()) == (workload, engine, threads)
        })
    }

    /// The engines with figures.
    fn measured(&self) -> impl Iterator<Item = (usize, &'a str)> {
        let all = self.engines.iter().copied().enumerate();
        all.filter(|(_, engine)| self.rows.iter().any(|row| row.engine() == *engine))
    }

    /// Whether any row has this fact.
    fn has(&self, name: &str) -> bool {
        self.rows.iter().any(|row| row.has(name))
    }

    fn reason(&self, workload: &str, engine: &str) -> Option<&'a str> {
        let fits = |wanted: &str, given: &str| given.is_empty() || wanted == given;
        let missing = self.not_measured.iter();
        let mut found = missing.filter(|m| fits(engine, &m.engine) && fits(workload, &m.workload));
        found.next().map(|missing| &missing.reason[..])
    }

    /// Our main engine, if it was measured.
    fn ours(&self) -> Option<&'a str> {
        self.rows.iter().find(|row| row.text("kind") == "ours").map(Row::engine)
    }
}

/// The summary: our ratios on one thread, with their range.
fn headline(view: &View<'_>) -> Markup {
    let Some(ours) = view.ours() else { return html! {} };
    let threads = view.threads.first().copied().unwrap_or(1);
    let rows = view.workloads.iter().filter_map(|workload| view.row(workload, ours, threads));
    let rows: Vec<&Row> = rows.filter(|row| row.valid()).collect();
    let range = |name: &str| {
        let values: Vec<f64> = rows.iter().filter_map(|row| row.number(name)).collect();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(0.0, f64::max);
        (!values.is_empty()).then(|| (number(low), number(high), values.len()))
    };
    let on = plural(threads, "thread");
    let ratios = [
        ("the fastest ready-made reader", range("vs_fastest_reader.median")),
        ("the fastest peer of all", range("vs_fastest_peer.median")),
    ];
    html! {
        section.cards {
            @for (what, range) in ratios {
                @if let Some((low, high, count)) = range {
                    (card(format!("{low}×–{high}×"), format!("{what}, {count} workloads, {on}")))
                }
            }
            @if let Some((low, high, _)) = range("gb_per_s") {
                (card(format!("{low}–{high} GB/s"), format!("{ours}, {on}")))
            }
        }
    }
}

/// What took part, and how.
fn engines(view: &View<'_>) -> Markup {
    let rows = view.engines.iter().map(|engine| {
        let found = view.rows.iter().find(|row| row.engine() == *engine);
        let reason = || view.reason("", engine).unwrap_or("see the tables");
        let cells = found.map_or_else(
            || ["–".to_owned(), "–".to_owned(), format!("not measured: {}", reason())],
            |row| ["kind", "version", "about"].map(|name| row.text(name).to_owned()),
        );
        [vec![(*engine).to_owned()], cells.into()].concat()
    });
    let engines = text_table(&["Engine", "Kind", "Version", "How it was used"], rows);
    page::section("Engines", "", engines)
}

/// The method, so that the figures can be judged.
fn method(view: &View<'_>) -> Markup {
    html! {
        "Every engine converts the same bytes repeatedly, and they take turns: one conversion each \
         per round, the order rotating. The first conversion of each is not timed. "
        (view.words.method)
        " An engine that takes more than two seconds takes part in three rounds. 1 GB is "
        (PreEscaped("10<sup>9</sup>"))
        " bytes. A ratio is the median of the ratios of the rounds, with the worst and the best \
         round in brackets: on a shared machine it is more reliable than either speed."
        @if view.has("vs_fastest_reader") {
            " A " i { "reader" } " is ready-made; a " i { "library" }
            " is a parser that typed code connects to Arrow; " i { "hand-written" }
            " is a loop for one schema."
        }
    }
}

#[cfg(test)]
mod tests;
