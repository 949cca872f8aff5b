// SPDX-License-Identifier: Apache-2.0
//! The figures of the page: speed over array length, every workload, thread scaling.

use std::fmt::Write;

use super::chart::{LineChart, Series, legend};
use super::{View, dots, paper, plural};

/// The array maxima of the JSON paper's figure.
const MAXIMA: [u32; 4] = [1, 8, 64, 512];

pub(crate) fn all(view: &View<'_>) -> String {
    let mut text = String::new();
    let Some(&threads) = view.threads.first() else {
        return "<p class=\"none\">Nothing was measured.</p>\n".to_owned();
    };
    text.push_str(&array_length(view, threads));
    text.push_str(&paper::all(view));
    for &threads in &view.threads {
        text.push_str(&every_workload(view, threads));
    }
    text.push_str(&scaling(view));
    text
}

/// As in Fig. 5 of the paper: one panel for small values, one for the full 64 bits.
fn array_length(view: &View<'_>, threads: usize) -> String {
    let panels: Vec<LineChart<'_>> = [
        ("battery", "battery: values 0 to 2046"),
        ("battery-u64", "battery-u64: values over 64 bits"),
    ]
    .into_iter()
    .map(|(workload, title)| LineChart {
        title,
        x_label: "array maximum (values in a record)",
        y_label: view.words.unit,
        steps: MAXIMA.iter().map(u32::to_string).collect(),
        series: view
            .measured()
            .map(|(index, name)| {
                let value = |maximum: &u32| {
                    let row = view.row(&format!("{workload}-{maximum}"), name, threads);
                    row.map(|row| row.gb_per_s)
                };
                Series { index, name, values: MAXIMA.iter().map(value).collect() }
            })
            .filter(|series| series.values.iter().any(Option::is_some))
            .collect(),
        ideal: None,
    })
    .filter(|chart| !chart.series.is_empty())
    .collect();
    if panels.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "<section>\n<h2>Speed over array length</h2>\n<figure>\n{}<div class=\"panels\">\n",
        legend(view.measured())
    );
    panels.iter().for_each(|panel| text.push_str(&panel.svg()));
    let _ = writeln!(
        text,
        "</div>\n<figcaption>One list of unsigned integers per record, {}. Logarithmic scale: equal \
         distances are equal ratios.</figcaption>\n</figure>\n</section>",
        plural(threads, "thread")
    );
    text
}

fn every_workload(view: &View<'_>, threads: usize) -> String {
    if view.workloads.is_empty() {
        return String::new();
    }
    format!(
        "<section>\n<h2>Every workload, {}</h2>\n<figure>\n{}{}<figcaption>Marks are medians, lines \
         reach from the slowest to the fastest round. Further right is faster; the scale is \
         logarithmic.</figcaption>\n</figure>\n</section>\n",
        plural(threads, "thread"),
        legend(view.measured()),
        dots::plot(view, threads)
    )
}

/// The speed-up of each engine with threads: the geometric mean over all workloads that were
/// measured with every thread count.
fn scaling(view: &View<'_>) -> String {
    let (Some(&first), true) = (view.threads.first(), view.threads.len() > 1) else {
        return "<section>\n<h2>Thread scaling</h2>\n<p class=\"none\">Not measured: one thread count \
                only.</p>\n</section>\n"
            .to_owned();
    };
    let series: Vec<Series<'_>> = view
        .measured()
        .filter_map(|(index, name)| {
            let speed_up = |&threads: &usize| mean_speed_up(view, name, first, threads);
            let values: Vec<Option<f64>> = view.threads.iter().map(speed_up).collect();
            values.iter().any(Option::is_some).then_some(Series { index, name, values })
        })
        .collect();
    #[expect(clippy::cast_precision_loss, reason = "thread counts are small")]
    let ideal = view.threads.iter().map(|&threads| threads as f64 / first as f64).collect();
    let chart = LineChart {
        title: "Speed-up over the smallest thread count",
        x_label: "threads",
        y_label: "times",
        steps: view.threads.iter().map(usize::to_string).collect(),
        series,
        ideal: Some(ideal),
    };
    format!(
        "<section>\n<h2>Thread scaling</h2>\n<figure>\n{}<div class=\"panels\">\n{}</div>\n\
         <figcaption>Geometric mean over the workloads, from the medians. The dashed line is twice \
         the speed for twice the threads.</figcaption>\n</figure>\n</section>\n",
        legend(view.measured()),
        chart.svg()
    )
}

#[expect(clippy::cast_precision_loss, reason = "there are a few workloads")]
fn mean_speed_up(view: &View<'_>, engine: &str, first: usize, threads: usize) -> Option<f64> {
    let logarithms: Vec<f64> = view
        .workloads
        .iter()
        .filter_map(|workload| {
            let base = view.row(workload, engine, first)?;
            let more = view.row(workload, engine, threads)?;
            Some((base.seconds_median / more.seconds_median).ln())
        })
        .collect();
    let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    (!logarithms.is_empty()).then(|| mean.exp())
}
