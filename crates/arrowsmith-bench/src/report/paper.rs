// SPDX-License-Identifier: Apache-2.0
//! The figures of the Parquet paper: speed over the size of the output (its Fig. 4 and 6) and over
//! the size of pages (Fig. 5 and 7). It shows only the rows that are points of these figures.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::View;
use super::chart::{LineChart, Series, legend};
use crate::result::Row;

/// Both figures, if they have points.
pub(crate) fn all(view: &View<'_>) -> String {
    let mut text = output_size(view);
    text.push_str(&page_size(view));
    text
}

fn points<'a>(view: &View<'a>, figure: &str) -> Vec<Point<'a>> {
    let rows = view.report.rows.iter();
    rows.filter_map(|row| Point::of(row).filter(|point| point.figure == figure)).collect()
}

/// A row that is a point of a figure.
struct Point<'a> {
    row: &'a Row,
    figure: &'a str,
    /// The base workload.
    workload: &'a str,
    page_bytes: u64,
    /// The requested size.
    output_bytes: u64,
}

impl<'a> Point<'a> {
    /// Names are FIGURE_WORKLOAD_PAGE_OUTPUT.
    fn of(row: &'a Row) -> Option<Self> {
        let file = row.file.as_ref()?;
        let figure = file.figure.as_deref()?;
        let mut parts = row.workload.split('_').skip(1);
        let workload = parts.next()?;
        let output_bytes = parts.nth(1)?.parse().ok()?;
        Some(Self { row, figure, workload, page_bytes: file.page_bytes, output_bytes })
    }
}

fn output_size(view: &View<'_>) -> String {
    let points = points(view, "output-size");
    let pages: BTreeSet<u64> = points.iter().map(|point| point.page_bytes).collect();
    let mut panels = Vec::new();
    for workload in names(&points) {
        for &page in &pages {
            let chosen: Vec<&Point<'_>> = points
                .iter()
                .filter(|point| point.workload == workload && point.page_bytes == page)
                .collect();
            let title = format!("{workload}, pages of {}", size(page));
            panels.push(panel(view, &title, "Arrow output", &chosen, |point| point.output_bytes));
        }
    }
    section(
        view,
        "Speed over the size of the output",
        &panels,
        "As Fig. 4 and 6 of the paper, with pages of 1 kB and of 10 MB. <i>fresh</i> is memory that the \
         system hands out and clears within the conversion; the other lines of ours use memory that was \
         touched before, as the paper's <i>PRE</i> does. Small outputs pay for opening the file.",
    )
}

fn page_size(view: &View<'_>) -> String {
    let points = points(view, "page-size");
    let panels: Vec<String> = names(&points)
        .into_iter()
        .map(|workload| {
            let chosen: Vec<&Point<'_>> =
                points.iter().filter(|point| point.workload == workload).collect();
            let output = chosen.first().map_or(0, |point| point.output_bytes);
            let title = format!("{workload}, {} of Arrow", size(output));
            panel(view, &title, "page size", &chosen, |point| point.page_bytes)
        })
        .collect();
    section(
        view,
        "Speed over the size of pages",
        &panels,
        "As Fig. 5 and 7 of the paper. Page sizes are approximate, before compression.",
    )
}

fn names<'a>(points: &[Point<'a>]) -> Vec<&'a str> {
    let mut names = Vec::new();
    points.iter().for_each(|point| super::add(&mut names, point.workload));
    names
}

fn panel(
    view: &View<'_>,
    title: &str,
    x_label: &str,
    points: &[&Point<'_>],
    x: impl Fn(&Point<'_>) -> u64,
) -> String {
    let steps: BTreeSet<u64> = points.iter().map(|point| x(point)).collect();
    let series = view.measured().map(|(index, name)| {
        let value = |step: &u64| {
            let mut found =
                points.iter().filter(|point| x(point) == *step && point.row.engine == name);
            found.next().filter(|point| point.row.valid).map(|point| point.row.gb_per_s)
        };
        Series { index, name, values: steps.iter().map(value).collect() }
    });
    let chart = LineChart {
        title,
        x_label,
        y_label: "GB/s of Arrow output",
        steps: steps.iter().map(|step| size(*step)).collect(),
        series: series.filter(|series| series.values.iter().any(Option::is_some)).collect(),
        ideal: None,
    };
    chart.svg()
}

fn section(view: &View<'_>, title: &str, panels: &[String], caption: &str) -> String {
    if panels.is_empty() {
        return String::new();
    }
    let rows = &view.report.rows;
    let shown = view
        .measured()
        .filter(|(_, name)| rows.iter().any(|row| row.engine == *name && Point::of(row).is_some()));
    let mut text = format!("<section>\n<h2>{title}</h2>\n<figure>\n{}", legend(shown));
    let _ = writeln!(
        text,
        "<div class=\"panels\">\n{}</div>\n<figcaption>{caption}</figcaption>\n</figure>\n</section>",
        panels.concat()
    );
    text
}

/// `16 KiB`, `1 kB`, `10 MB`: in the largest unit that is exact.
fn size(bytes: u64) -> String {
    for (unit, name) in
        [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1_000_000, "MB"), (1_000, "kB")]
    {
        if bytes >= unit && bytes.is_multiple_of(unit) {
            return format!("{} {name}", bytes / unit);
        }
    }
    format!("{bytes} B")
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_written_in_round_numbers() {
        let sizes = [16_384, 1_000, 10_000_000, 268_435_456, 1 << 30, 999];
        let texts = sizes.map(size);
        assert_eq!(texts, ["16 KiB", "1 kB", "10 MB", "256 MiB", "1 GiB", "999 B"]);
    }
}
