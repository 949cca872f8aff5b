// SPDX-License-Identifier: Apache-2.0
//! Scales, marks and line charts, as SVG text. Colours are CSS classes, defined by the page.

use std::fmt::Write;

use super::{escape, number};

/// The colours of the style sheet.
const COLOURS: usize = 10;

/// A logarithmic scale from values to pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogScale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl LogScale {
    /// A scale that covers all values, with ticks at its ends; from 0.1 to 1 if there are none.
    pub(crate) fn covering(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|value| value.is_finite() && *value > 0.0) {
            least = least.min(value);
            most = most.max(value);
        }
        if most == 0.0 {
            (least, most) = (0.1, 1.0);
        }
        let low = tick_candidates().rfind(|tick| *tick <= least).unwrap_or(least);
        let high = tick_candidates().find(|tick| *tick >= most && *tick > low).unwrap_or(most);
        let mut scale = Self { low, high, from, to };
        // Two ticks do not show that a scale is logarithmic.
        while scale.ticks().count() < 3
            && let Some(next) = tick_candidates().find(|tick| *tick > scale.high)
        {
            scale.high = next;
        }
        scale
    }

    pub(crate) fn at(&self, value: f64) -> f64 {
        let part = (value.max(self.low) / self.low).ln() / (self.high / self.low).ln();
        self.from + part * (self.to - self.from)
    }

    pub(crate) fn ticks(&self) -> impl Iterator<Item = f64> {
        let (low, high) = (self.low, self.high);
        tick_candidates().filter(move |tick| *tick >= low && *tick <= high)
    }
}

/// 1, 2 and 5 times the powers of ten in the range of speeds.
fn tick_candidates() -> impl DoubleEndedIterator<Item = f64> {
    (-4..4).flat_map(|exponent| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(exponent)))
}

/// A tick's label, with the fewest digits.
pub(crate) fn tick_label(tick: f64) -> String {
    let text = format!("{tick:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A filled mark at a position: its shape repeats its colour, for colour-blind readers.
pub(crate) fn mark(index: usize, x: f64, y: f64, tip: &str) -> String {
    let form = match index % 5 {
        0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.4\""),
        1 => {
            format!("<rect x=\"{:.1}\" y=\"{:.1}\" width=\"7.4\" height=\"7.4\"", x - 3.7, y - 3.7)
        }
        2 => polygon(x, y, &[(0.0, -5.2), (5.2, 0.0), (0.0, 5.2), (-5.2, 0.0)]),
        3 => polygon(x, y, &[(0.0, -4.9), (4.7, 3.7), (-4.7, 3.7)]),
        _ => polygon(x, y, &[(0.0, 4.9), (4.7, -3.7), (-4.7, -3.7)]),
    };
    format!("{form} class=\"k{}\"><title>{}</title></{}>", index % COLOURS, escape(tip), tag(&form))
}

fn polygon(x: f64, y: f64, points: &[(f64, f64)]) -> String {
    let points: Vec<String> =
        points.iter().map(|(dx, dy)| format!("{:.1},{:.1}", x + dx, y + dy)).collect();
    format!("<polygon points=\"{}\"", points.join(" "))
}

fn tag(form: &str) -> &str {
    form.trim_start_matches('<').split(' ').next().unwrap_or_default()
}

/// The marks of all engines with their names.
pub(crate) fn legend<'a>(engines: impl Iterator<Item = (usize, &'a str)>) -> String {
    let mut text = String::from("<ul class=\"legend\">\n");
    for (index, name) in engines {
        let _ = writeln!(
            text,
            "<li><svg viewBox=\"-7 -7 14 14\" aria-hidden=\"true\">{}</svg>{}</li>",
            mark(index, 0.0, 0.0, name),
            escape(name)
        );
    }
    text.push_str("</ul>\n");
    text
}

/// A line with a value at some of the steps of the x axis.
pub(crate) struct Series<'a> {
    pub(crate) index: usize,
    pub(crate) name: &'a str,
    pub(crate) values: Vec<Option<f64>>,
}

/// A chart of lines over a few steps, which are evenly spaced.
pub(crate) struct LineChart<'a> {
    pub(crate) title: &'a str,
    pub(crate) x_label: &'a str,
    pub(crate) y_label: &'a str,
    pub(crate) steps: Vec<String>,
    pub(crate) series: Vec<Series<'a>>,
    /// A dashed line to compare with.
    pub(crate) ideal: Option<Vec<f64>>,
}

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 48.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 46.0;

impl LineChart<'_> {
    /// The SVG; values are on a logarithmic scale.
    pub(crate) fn svg(&self) -> String {
        let values = self.series.iter().flat_map(|series| series.values.iter().flatten().copied());
        let all = values.chain(self.ideal.iter().flatten().copied());
        let y = LogScale::covering(all, HEIGHT - BOTTOM, TOP);
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{0}\">\n\
             <text class=\"title\" x=\"0\" y=\"14\">{0}</text>\n\
             <text x=\"0\" y=\"32\">{1}</text>\n",
            escape(self.title),
            escape(self.y_label)
        );
        for tick in y.ticks() {
            let at = y.at(tick);
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 8.0,
                at + 4.0,
                tick_label(tick)
            );
        }
        for (step, label) in self.steps.iter().enumerate() {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                self.x(step),
                HEIGHT - BOTTOM + 20.0,
                escape(label)
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            f64::midpoint(LEFT, WIDTH - RIGHT),
            HEIGHT - 6.0,
            escape(self.x_label)
        );
        if let Some(ideal) = &self.ideal {
            let points = ideal.iter().enumerate().map(|(step, &value)| (self.x(step), y.at(value)));
            let _ = writeln!(svg, "<polyline class=\"ideal\" points=\"{}\"/>", path(points));
        }
        // The first engine last, so that it is on top.
        for series in self.series.iter().rev() {
            svg.push_str(&self.line(series, y));
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn line(&self, series: &Series<'_>, y: LogScale) -> String {
        let places = || {
            let steps = series.values.iter().enumerate();
            steps.filter_map(|(step, value)| value.map(|value| (self.x(step), y.at(value), value)))
        };
        let ours = if series.name.starts_with("arrowsmith") { " ours" } else { "" };
        let mut svg = format!(
            "<polyline class=\"k{} curve{ours}\" style=\"fill:none\" points=\"{}\"/>\n",
            series.index % COLOURS,
            path(places().map(|(x, y, _)| (x, y)))
        );
        for (x, y, value) in places() {
            svg.push_str(&mark(series.index, x, y, &format!("{}: {}", series.name, number(value))));
            svg.push('\n');
        }
        svg
    }

    /// The middle of a step.
    #[expect(clippy::cast_precision_loss, reason = "there are a few steps")]
    fn x(&self, step: usize) -> f64 {
        let width = (WIDTH - LEFT - RIGHT) / self.steps.len().max(1) as f64;
        LEFT + width * (step as f64 + 0.5)
    }
}

fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    points.map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_ends_at_ticks_and_is_even_in_ratios() {
        let scale = LogScale::covering([0.3, 6.0].into_iter(), 0.0, 100.0);
        let ticks: Vec<String> = scale.ticks().map(tick_label).collect();
        assert_eq!(ticks, ["0.2", "0.5", "1", "2", "5", "10"]);
        assert!((scale.at(0.2)).abs() < 1e-9 && (scale.at(10.0) - 100.0).abs() < 1e-9);
        let step = scale.at(1.0) - scale.at(0.5);
        assert!((scale.at(2.0) - scale.at(1.0) - step).abs() < 1e-9);
    }

    #[test]
    fn a_scale_without_values_still_has_a_range() {
        let scale = LogScale::covering([f64::NAN, 0.0].into_iter(), 0.0, 1.0);
        assert_eq!(scale.ticks().count(), 4);
        let one = LogScale::covering([1.0].into_iter(), 0.0, 1.0);
        assert!(one.at(1.0).is_finite() && one.ticks().count() == 3);
    }

    #[test]
    fn a_gap_is_no_point() {
        let series = Series { index: 0, name: "x", values: vec![Some(1.0), None, Some(3.0)] };
        let chart = LineChart {
            title: "a < b",
            x_label: "n",
            y_label: "GB/s",
            steps: vec!["1".into(), "2".into(), "3".into()],
            series: vec![series],
            ideal: None,
        };
        let svg = chart.svg();
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains("a &lt; b") && !svg.contains("NaN"));
    }
}
