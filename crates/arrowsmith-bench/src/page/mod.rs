// SPDX-License-Identifier: Apache-2.0
//! The page of every suite: one self-contained HTML file with sections, tables, charts, and the
//! method.
//!
//! It loads no external script, font or image; it is readable on paper, and on light and dark
//! screens. It shows measurements only. A suite gives the sections; maud escapes all text.

mod chart;

use arrow_array::temporal_conversions::timestamp_s_to_datetime;
use maud::{Markup, PreEscaped, Render, html};

pub(crate) use self::chart::{Chart, Form, Series, legend};
use crate::result::{Report, Row};
use crate::stats::float;

const STYLE: &str = include_str!("style.css");

/// The whole page.
pub(crate) fn page<E>(
    report: &Report<E>,
    title: &str,
    subtitle: impl Render,
    body: impl Render,
) -> String {
    let day = date(report.started_unix_s);
    let page = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) ", " (day) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    header {
                        h1 { (title) }
                        p.sub { (subtitle) " · " (day) " · commit " (report.commit) }
                    }
                    (body)
                }
            }
        }
    };
    page.into_string() + "\n"
}

/// A section with an introduction; an empty one has no paragraph.
pub(crate) fn section(title: impl Render, intro: impl Render, body: impl Render) -> Markup {
    html! {
        section {
            h2 { (title) }
            (paragraph(intro))
            (body)
        }
    }
}

/// A part of a section.
pub(crate) fn part(title: impl Render, intro: impl Render, body: impl Render) -> Markup {
    html! { h3 { (title) } (paragraph(intro)) (body) }
}

fn paragraph(text: impl Render) -> Markup {
    let text = text.render();
    html! { @if !text.0.is_empty() { p { (text) } } }
}

/// Charts side by side, with one legend.
pub(crate) fn panels<'a>(
    names: impl IntoIterator<Item = (usize, &'a str)>,
    charts: &[Markup],
) -> Markup {
    html! {
        (legend(names))
        div.panels { @for chart in charts { (chart) } }
    }
}

/// The last section: machine, options, what is missing, and how it was measured.
pub(crate) fn method<E>(report: &Report<E>, more: &[(&str, String)], how: impl Render) -> Markup {
    let machine = &report.machine;
    let entry = |term: &str, what: &dyn Render| html! { dt { (term) } dd { (what) } };
    let body = html! {
        dl {
            (entry("Processor", &format!("{}, {} cores available", machine.cpu, machine.cores)))
            (entry("Vector instructions", &machine.isa))
            (entry("Memory", &format!("{} MB", machine.memory_mb)))
            (entry("System", &machine.os))
            (entry("Commit", &report.commit))
            (entry("Command", &report.command))
            @if let Some(seed) = report.seed { (entry("Seed", &seed)) }
            @for (term, what) in more { (entry(term, what)) }
            @for missing in &report.not_measured {
                (entry("Not measured", &format!("{}: {}",
                    [&*missing.engine, &missing.workload].join(" ").trim(), missing.reason)))
            }
        }
        p { (how) }
    };
    section("Method", "", body)
}

/// A figure at the top: a ratio, and what it is.
pub(crate) fn card(figure: impl Render, what: impl Render) -> Markup {
    html! { div.card { b { (figure) } span { (what) } } }
}

/// A table of words.
pub(crate) fn text_table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Markup {
    table(true, head, rows)
}

/// A table of numbers with names before them.
pub(crate) fn number_table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Markup {
    table(false, head, rows)
}

/// Rows that begin with our own name are highlighted.
fn table(words: bool, head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Markup {
    html! {
        div.scroll {
            table.plain[words] {
                thead { tr { @for cell in head { th { (cell) } } } }
                tbody {
                    @for row in rows {
                        tr.ours[row.first().is_some_and(|name| name == "arrowsmith")] {
                            @for cell in row { td { (cell) } }
                        }
                    }
                }
            }
        }
    }
}

/// What a column shows of a row.
pub(crate) enum Cell {
    /// A text, or a count.
    Plain(&'static str),
    /// Three digits of a number, times a factor.
    Number(&'static str, f64),
    /// A share, in per cent.
    Percent(&'static str),
    /// Anything else.
    With(fn(&Row) -> String),
}

impl Cell {
    fn of(&self, row: &Row) -> String {
        match self {
            Self::Plain(name) if row.text(name).is_empty() => {
                maybe(row.number(name), |v| v.to_string())
            }
            Self::Plain(name) => row.text(name).to_owned(),
            Self::Number(name, factor) => maybe(row.number(name), |v| number(v * factor)),
            Self::Percent(name) => maybe(row.number(name), |v| format!("{:.1} %", v * 100.0)),
            Self::With(cell) => cell(row),
        }
    }
}

/// A table with a line for each row.
pub(crate) fn row_table<'a>(
    rows: impl IntoIterator<Item = &'a Row>,
    columns: &[(&str, Cell)],
) -> Markup {
    let head: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let cells = rows.into_iter();
    let cells = cells.map(|row| columns.iter().map(|(_, cell)| cell.of(row)).collect());
    table(false, &head, cells)
}

/// The text of a value, or a dash.
pub(crate) fn maybe<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), text)
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

/// Three significant digits of how many times as much.
pub(crate) fn times(value: f64) -> String {
    format!("{} ×", number(value))
}

pub(crate) fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

pub(crate) fn megabytes(bytes: u64) -> f64 {
    float(bytes) / 1e6
}

/// The distinct values, in order of appearance.
pub(crate) fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    for value in values {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
}

fn date(unix_s: u64) -> String {
    let date = unix_s.try_into().ok().and_then(timestamp_s_to_datetime);
    maybe(date, |date| date.date().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(951_782_400), "2000-02-29");
        assert_eq!(date(1_735_689_599), "2024-12-31");
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!([0.0123, 1.234, 56.78, 912.3].map(number), ["0.012", "1.23", "56.8", "912"]);
    }

    #[test]
    fn cells_are_facts_of_rows() {
        let row = Row::new("<a>", "arrowsmith").with("n", 7).with("share", 0.5);
        let columns = [
            ("Engine", Cell::Plain("engine")),
            ("On", Cell::Plain("workload")),
            ("N", Cell::Plain("n")),
            ("kN", Cell::Number("n", 1e-3)),
            ("Share", Cell::Percent("share")),
            ("None", Cell::Plain("none")),
            ("Both", Cell::With(|row| row.engine().to_uppercase())),
        ];
        let table = row_table([&row], &columns).into_string();
        let line = "<tr class=\"ours\"><td>arrowsmith</td><td>&lt;a&gt;</td><td>7</td>\
                    <td>0.007</td><td>50.0 %</td><td>–</td><td>ARROWSMITH</td></tr>";
        assert!(table.contains(line), "{table}");
    }
}
