// SPDX-License-Identifier: Apache-2.0
//! The figures of the page: speed over array length, every workload, thread scaling.

use maud::{Markup, html};

use super::{View, paper};
use crate::page::{Chart, Form, Series, legend, panels, plural, section};
use crate::result::Row;
use crate::stats::{Spread, float};

/// The array maxima of the JSON paper's figure.
const MAXIMA: [u32; 4] = [1, 8, 64, 512];

pub(super) fn all(view: &View<'_>) -> Markup {
    let Some(&threads) = view.threads.first() else {
        return html! { p.none { "Nothing was measured." } };
    };
    html! {
        (array_length(view, threads))
        (paper::all(view))
        @for &threads in &view.threads {
            (every_workload(view, threads))
            (of_files(view, threads))
        }
        (scaling(view))
    }
}

/// As in Fig. 5 of the paper: one panel for small values, one for the full 64 bits.
fn array_length(view: &View<'_>, threads: u64) -> Markup {
    let panel = |workload: &str, title: &str| {
        let series = view.measured().map(|(index, name)| {
            let row = |max: &u32| view.row(&format!("{workload}-{max}"), name, threads);
            Series::new(index, name, MAXIMA.iter().map(|max| row(max).map(Row::gb_per_s)))
        });
        Chart::lines(
            title,
            ("array maximum (values in a record)", view.words.unit),
            MAXIMA.iter(),
            series,
        )
        .draw()
    };
    let charts = [
        panel("battery", "battery: values 0 to 2046"),
        panel("battery-u64", "battery-u64: values over 64 bits"),
    ];
    if charts.iter().all(|chart| chart.0.is_empty()) {
        return html! {};
    }
    let intro = format!(
        "One list of unsigned integers per record, {}. Logarithmic scale: equal distances are \
         equal ratios.",
        plural(threads, "thread")
    );
    section("Speed over array length", intro, panels(view.measured(), &charts))
}

fn every_workload(view: &View<'_>, threads: u64) -> Markup {
    let chart = dots(view, threads, view.words.unit, |row| {
        let speed = |time: &str| Some(row.gb_per_s() * row.seconds_median() / row.number(time)?);
        Some([speed("seconds_max")?, row.gb_per_s(), speed("seconds_min")?])
    });
    section(
        format!("Every workload, {}", plural(threads, "thread")),
        "Marks are medians, lines reach from the slowest to the fastest round. Further right is \
         faster; the scale is logarithmic.",
        html! { (legend(view.measured())) (chart) },
    )
}

/// Processor time, and the size of the files, if the suite writes some.
fn of_files(view: &View<'_>, threads: u64) -> Markup {
    let per_gb = |row: &Row| {
        let times = Spread::of(&row.numbers("cpu_seconds"))?;
        let gigabytes = float(row.count("bytes")) / 1e9;
        Some([times.min, times.median, times.max].map(|time| time / gigabytes))
    };
    let share = |row: &Row| {
        let share = row.number("file_bytes")? / float(row.count("bytes"));
        Some([100.0 * share; 3])
    };
    let input = view.words.input;
    let times = dots(view, threads, &format!("processor seconds per GB of {input}"), per_gb);
    let sizes = dots(view, threads, &format!("per cent of the size of the {input}"), share);
    let on = plural(threads, "thread");
    html! {
        @if view.has("cpu_seconds") {
            (section(
                format!("Processor time, {on}"),
                "User and system. Further left is less; the scale is logarithmic.",
                html! { (legend(view.measured())) (times) },
            ))
        }
        @if view.has("file_bytes") {
            (section(
                format!("Size of the files, {on}"),
                "Further left is smaller; the scale is logarithmic.",
                html! { (legend(view.measured())) (sizes) },
            ))
        }
    }
}

/// Values of all engines on every workload: lowest, median, highest. Wrong results have none.
fn dots(
    view: &View<'_>,
    threads: u64,
    unit: &str,
    values: impl Fn(&Row) -> Option<[f64; 3]>,
) -> Markup {
    let has = |workload: &&&str| {
        view.measured().any(|(_, engine)| view.row(workload, engine, threads).is_some())
    };
    let workloads: Vec<&str> = view.workloads.iter().filter(has).copied().collect();
    let series = view.measured().map(|(index, name)| {
        let row = |workload: &&str| view.row(workload, name, threads).filter(|row| row.valid());
        let values = workloads.iter().map(|workload| row(workload).and_then(&values));
        Series { index, name, values: values.collect() }
    });
    let chart = Chart {
        form: Form::Dots,
        title: "",
        steps_are: "",
        unit,
        steps: workloads.iter().map(|&workload| workload.to_owned()).collect(),
        series: series.collect(),
        ideal: Vec::new(),
    };
    chart.draw()
}

/// The speed-up of each engine with threads: the geometric mean over all workloads that were
/// measured with every thread count.
fn scaling(view: &View<'_>) -> Markup {
    // Those that write files are run with one count only.
    if view.has("file_bytes") {
        return html! {};
    }
    let (Some(&first), true) = (view.threads.first(), view.threads.len() > 1) else {
        let none = html! { p.none { "Not measured: one thread count only." } };
        return section("Thread scaling", "", none);
    };
    let series = view.measured().map(|(index, name)| {
        let values = view.threads.iter().map(|&n| mean_speed_up(view, name, first, n));
        Series::new(index, name, values)
    });
    let title = "Speed-up over the smallest thread count";
    let chart = Chart::lines(title, ("threads", "times"), &view.threads, series);
    let ideal = view.threads.iter().map(|&threads| float(threads) / float(first)).collect();
    let chart = Chart { ideal, ..chart };
    section(
        "Thread scaling",
        "Geometric mean over the workloads, from the medians. The thin line is twice the speed for \
         twice the threads.",
        panels(view.measured(), &[chart.draw()]),
    )
}

pub(super) fn mean_speed_up(
    view: &View<'_>,
    engine: &str,
    first: u64,
    threads: u64,
) -> Option<f64> {
    let logarithms = view.workloads.iter().filter_map(|workload| {
        let base = view.row(workload, engine, first)?;
        let more = view.row(workload, engine, threads)?;
        Some((base.seconds_median() / more.seconds_median()).ln())
    });
    let logarithms: Vec<f64> = logarithms.collect();
    let mean = logarithms.iter().sum::<f64>() / float(logarithms.len() as u64);
    (!logarithms.is_empty()).then(|| mean.exp())
}
