// SPDX-License-Identifier: Apache-2.0
//! Makes one self-contained HTML page of a report: figures, tables, machine, method.
//!
//! The page loads no external script, font or image; it is readable on paper, and on light and dark
//! screens. It shows measurements only.

mod chart;
mod dots;
mod figures;
mod paper;
mod table;
mod words;

use std::fmt::Write;

pub(crate) use self::chart::{LineChart, Series, legend};
use crate::result::{Report, Row};
use words::Words;

pub(crate) const STYLE: &str = include_str!("style.css");

/// The page.
#[must_use]
pub fn html(report: &Report) -> String {
    let view = View::of(report);
    let mut page = String::with_capacity(256 * 1024);
    let date = date(report.started_unix_s);
    let Words { title, subtitle, .. } = view.words;
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}, {date}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header>\n<h1>{title}</h1>\n\
         <p class=\"sub\">{subtitle} · {date} · commit {}</p>\n\
         </header>\n",
        escape(&report.commit)
    );
    page.push_str(&headline(&view));
    page.push_str(&figures::all(&view));
    page.push_str(&table::summaries(&view));
    page.push_str(&method(&view));
    page.push_str(&table::details(&view));
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

/// A report with values that several parts of the page need.
pub(crate) struct View<'a> {
    report: &'a Report,
    words: Words,
    /// Names of all requested engines, in the order of the definition.
    engines: Vec<&'a str>,
    workloads: Vec<&'a str>,
    threads: Vec<usize>,
}

impl<'a> View<'a> {
    fn of(report: &'a Report) -> Self {
        let words = Words::of(&report.suite);
        let mut view =
            Self { report, words, engines: Vec::new(), workloads: Vec::new(), threads: Vec::new() };
        for row in &report.rows {
            add(&mut view.engines, &row.engine[..]);
            if row.file.as_ref().is_none_or(|file| file.figure.is_none()) {
                add(&mut view.workloads, &row.workload[..]);
            }
            add(&mut view.threads, row.threads);
        }
        for missing in &report.not_measured {
            if !missing.engine.is_empty() {
                add(&mut view.engines, &missing.engine[..]);
            }
        }
        // Ours first: the reader looks there first, and colours follow this order.
        view.engines.sort_by_key(|engine| !engine.starts_with("arrowsmith"));
        view.threads.sort_unstable();
        view
    }

    fn row(&self, workload: &str, engine: &str, threads: usize) -> Option<&'a Row> {
        self.report
            .rows
            .iter()
            .find(|row| row.workload == workload && row.engine == engine && row.threads == threads)
    }

    /// The engines with figures.
    fn measured(&self) -> impl Iterator<Item = (usize, &'a str)> {
        let rows = &self.report.rows;
        let all = self.engines.iter().copied().enumerate();
        all.filter(|(_, engine)| rows.iter().any(|row| row.engine == *engine))
    }

    fn reason(&self, workload: &str, engine: &str) -> Option<&'a str> {
        let fits = |wanted: &str, given: &str| given.is_empty() || wanted == given;
        let missing = self.report.not_measured.iter();
        let mut found = missing.filter(|m| fits(engine, &m.engine) && fits(workload, &m.workload));
        found.next().map(|missing| &missing.reason[..])
    }

    /// Our main engine, if it was measured.
    fn ours(&self) -> Option<&'a str> {
        let row = self.report.rows.iter().find(|row| row.kind == "ours")?;
        Some(&row.engine)
    }
}

fn add<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

/// The summary: our ratios on one thread, with their range.
fn headline(view: &View<'_>) -> String {
    let Some(ours) = view.ours() else {
        return String::new();
    };
    let threads = view.threads.first().copied().unwrap_or(1);
    let rows: Vec<&Row> = view
        .workloads
        .iter()
        .filter_map(|workload| view.row(workload, ours, threads))
        .filter(|row| row.valid)
        .collect();
    let card = |what: &str, ratios: Vec<f64>| {
        let low = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ratios.iter().copied().fold(0.0, f64::max);
        if ratios.is_empty() {
            return String::new();
        }
        format!(
            "<div class=\"card\"><b>{}×–{}×</b><span>{what}, {} workloads, {}</span></div>\n",
            number(low),
            number(high),
            ratios.len(),
            plural(threads, "thread")
        )
    };
    let peers = rows.iter().filter_map(|row| row.vs_fastest_peer.as_ref());
    let readers = rows.iter().filter_map(|row| row.vs_fastest_reader.as_ref());
    let speeds = rows.iter().map(|row| row.gb_per_s);
    let fastest = speeds.clone().fold(0.0, f64::max);
    let slowest = speeds.fold(f64::INFINITY, f64::min);
    let mut text = String::from("<section class=\"cards\">\n");
    text.push_str(&card("the fastest ready-made reader", readers.map(|r| r.median).collect()));
    text.push_str(&card("the fastest peer of all", peers.map(|r| r.median).collect()));
    if !rows.is_empty() {
        let _ = writeln!(
            text,
            "<div class=\"card\"><b>{}–{} GB/s</b><span>{}, {}</span></div>",
            number(slowest),
            number(fastest),
            escape(ours),
            plural(threads, "thread")
        );
    }
    text.push_str("</section>\n");
    text
}

/// Machine, options and method, so that the figures can be judged and repeated.
fn method(view: &View<'_>) -> String {
    let report = view.report;
    let machine = &report.machine;
    let mut text = String::from("<section>\n<h2>Method</h2>\n<dl>\n");
    let mut entry = |term: &str, what: &str| {
        let _ = writeln!(text, "<dt>{term}</dt><dd>{}</dd>", escape(what));
    };
    entry("Processor", &format!("{}, {} cores available", machine.cpu, machine.cores));
    entry("Vector instructions", &machine.isa);
    entry("Memory", &format!("{} MB", machine.memory_mb));
    entry("System", &machine.os);
    entry("Commit", &report.commit);
    entry("Command", &report.command);
    entry("Seed", &report.seed.to_string());
    text.push_str("</dl>\n<h3>Engines</h3>\n<table class=\"plain\">\n<thead><tr><th>Engine</th>");
    text.push_str("<th>Kind</th><th>Version</th><th>How it was used</th></tr></thead>\n<tbody>\n");
    for engine in &view.engines {
        let found = report.rows.iter().find(|row| row.engine == *engine);
        let cells = match found {
            Some(row) => [&row.kind[..], &row.version, &row.about].map(escape).join("</td><td>"),
            None => format!(
                "–</td><td>–</td><td><i>not measured: {}</i>",
                escape(view.reason("", engine).unwrap_or("see the tables"))
            ),
        };
        let _ = writeln!(text, "<tr><td>{}</td><td>{cells}</td></tr>", escape(engine));
    }
    text.push_str(
        "</tbody>\n</table>\n<p>Every engine converts the same bytes repeatedly, and they take \
         turns: one conversion each per round, the order rotating. The first conversion of each is \
         not timed. ",
    );
    text.push_str(view.words.method);
    text.push_str(
        " An engine that takes more than two seconds takes part in three rounds. 1 GB is \
         10<sup>9</sup> bytes. A ratio is the median of the ratios of the rounds, with the worst and \
         the best round in brackets: on a shared machine it is more reliable than either speed. A \
         <i>reader</i> is ready-made; a <i>library</i> is a parser that typed code connects to Arrow; \
         <i>hand-written</i> is a loop for one schema.</p>\n</section>\n",
    );
    text
}

/// Three significant digits.
pub(crate) fn number(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    }
}

pub(crate) fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A table of words.
pub(crate) fn text_table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    rows_of("<table class=\"plain\">", head, rows)
}

/// A table of numbers with names before them.
pub(crate) fn number_table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    rows_of("<table>", head, rows)
}

/// Rows that begin with our own name are highlighted.
fn rows_of(table: &str, head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut text = format!("<div class=\"scroll\">{table}\n<thead><tr>");
    for cell in head {
        let _ = write!(text, "<th>{}</th>", escape(cell));
    }
    text.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        let ours = row.first().is_some_and(|name| name == "arrowsmith");
        text.push_str(if ours { "<tr class=\"ours\">" } else { "<tr>" });
        for cell in row {
            let _ = write!(text, "<td>{}</td>", escape(&cell));
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</tbody>\n</table></div>\n");
    text
}

/// The date of a time, by Howard Hinnant's `civil_from_days`: years that begin in March, in eras of
/// 400 years.
pub(crate) fn date(unix_s: u64) -> String {
    let days = unix_s / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests;
