// SPDX-License-Identifier: Apache-2.0
//! The figures of the Parquet paper: speed over the size of the output (its Fig. 4 and 6) and over
//! the size of pages (Fig. 5 and 7). It shows only the rows that are points of these figures.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::View;
use crate::page::{Chart, Series, distinct, panels, section};
use crate::result::Row;

/// Both figures, if they have points.
pub(super) fn all(view: &View<'_>) -> Markup {
    let points: Vec<Point<'_>> = view.rows.iter().filter_map(Point::of).collect();
    html! { (output_size(view, &points)) (page_size(view, &points)) }
}

/// A row that is a point of a figure.
struct Point<'a> {
    row: &'a Row,
    /// The base workload.
    workload: &'a str,
    page_bytes: u64,
    /// The requested size.
    output_bytes: u64,
}

impl<'a> Point<'a> {
    /// Names are FIGURE_WORKLOAD_PAGE_OUTPUT.
    fn of(row: &'a Row) -> Option<Self> {
        if !row.has("file.figure") {
            return None;
        }
        let mut parts = row.workload().split('_').skip(1);
        let workload = parts.next()?;
        let output_bytes = parts.nth(1)?.parse().ok()?;
        Some(Self { row, workload, page_bytes: row.count("file.page_bytes"), output_bytes })
    }
}

fn chosen<'a, 'b>(points: &'b [Point<'a>], figure: &str) -> Vec<&'b Point<'a>> {
    points.iter().filter(|point| point.row.text("file.figure") == figure).collect()
}

fn output_size(view: &View<'_>, points: &[Point<'_>]) -> Markup {
    let points = chosen(points, "output-size");
    let pages: BTreeSet<u64> = points.iter().map(|point| point.page_bytes).collect();
    let mut charts = Vec::new();
    for workload in distinct(points.iter().map(|point| point.workload)) {
        for &page in &pages {
            let mut here = points.clone();
            here.retain(|point| point.workload == workload && point.page_bytes == page);
            let title = format!("{workload}, pages of {}", size(page));
            charts.push(panel(view, &title, "Arrow output", &here, |point| point.output_bytes));
        }
    }
    let intro = html! {
        "As Fig. 4 and 6 of the paper, with pages of 1 kB and of 10 MB. " i { "fresh" }
        " is memory that the system hands out and clears within the conversion; the other lines of \
         ours use memory that was touched before, as the paper's " i { "PRE" }
        " does. Small outputs pay for opening the file."
    };
    figure(view, "Speed over the size of the output", intro, &points, &charts)
}

fn page_size(view: &View<'_>, points: &[Point<'_>]) -> Markup {
    let points = chosen(points, "page-size");
    let charts: Vec<Markup> = distinct(points.iter().map(|point| point.workload))
        .into_iter()
        .map(|workload| {
            let mut here = points.clone();
            here.retain(|point| point.workload == workload);
            let output = here.first().map_or(0, |point| point.output_bytes);
            let title = format!("{workload}, {} of Arrow", size(output));
            panel(view, &title, "page size", &here, |point| point.page_bytes)
        })
        .collect();
    let intro = html! {
        "As Fig. 5 and 7 of the paper. Page sizes are approximate, before compression."
    };
    figure(view, "Speed over the size of pages", intro, &points, &charts)
}

fn panel(
    view: &View<'_>,
    title: &str,
    steps_are: &str,
    points: &[&Point<'_>],
    x: impl Fn(&Point<'_>) -> u64,
) -> Markup {
    let steps: BTreeSet<u64> = points.iter().map(|point| x(point)).collect();
    let series = view.measured().map(|(index, name)| {
        let value = |step: &u64| {
            let mut all = points.iter();
            let found = all.find(|point| x(point) == *step && point.row.engine() == name);
            found.filter(|point| point.row.valid()).map(|point| point.row.gb_per_s())
        };
        Series::new(index, name, steps.iter().map(value))
    });
    Chart::lines(
        title,
        (steps_are, "GB/s of Arrow output"),
        steps.iter().map(|step| size(*step)),
        series,
    )
    .draw()
}

fn figure(
    view: &View<'_>,
    title: &str,
    intro: Markup,
    points: &[&Point<'_>],
    charts: &[Markup],
) -> Markup {
    if charts.is_empty() {
        return html! {};
    }
    let shown = |name: &str| points.iter().any(|point| point.row.engine() == name);
    section(title, intro, panels(view.measured().filter(|(_, name)| shown(name)), charts))
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
