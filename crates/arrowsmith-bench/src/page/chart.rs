// SPDX-License-Identifier: Apache-2.0
//! The page's charts: lines, dots with their ranges, and bars, drawn by plotters as SVG inside the
//! page. Their colours are those of the style sheet, so that they follow light and dark screens.

use std::error::Error;

use maud::{Markup, PreEscaped, html};
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;

use super::number;

/// The colours of the style sheet: `--e0` to `--e9`.
const COLOURS: usize = 10;
const INK: RGBColor = RGBColor(1, 2, 100);
const GRID: RGBColor = RGBColor(1, 2, 101);

/// What a chart shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Lines from left to right, on a logarithmic scale.
    Lines,
    /// A line of dots for each step, with ranges, on a logarithmic scale.
    Dots,
    /// A bar for each step, from zero, with ranges.
    Bars,
}

/// Values at some of the steps, in one colour: lowest, median, highest.
pub(crate) struct Series<'a> {
    pub(crate) index: usize,
    pub(crate) name: &'a str,
    pub(crate) values: Vec<Option<[f64; 3]>>,
}

impl<'a> Series<'a> {
    /// Values without ranges.
    pub(crate) fn new(
        index: usize,
        name: &'a str,
        values: impl Iterator<Item = Option<f64>>,
    ) -> Self {
        Self { index, name, values: values.map(|value| value.map(|one| [one; 3])).collect() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.values.iter().all(Option::is_none)
    }
}

/// A chart of values (the scale) over named steps.
pub(crate) struct Chart<'a> {
    pub(crate) form: Form,
    pub(crate) title: &'a str,
    /// What the steps are.
    pub(crate) steps_are: &'a str,
    /// What the values are.
    pub(crate) unit: &'a str,
    pub(crate) steps: Vec<String>,
    pub(crate) series: Vec<Series<'a>>,
    /// A thin line to compare with, one value for each step.
    pub(crate) ideal: Vec<f64>,
}

impl<'a> Chart<'a> {
    /// Lines over steps.
    pub(crate) fn lines(
        title: &'a str,
        (steps_are, unit): (&'a str, &'a str),
        steps: impl IntoIterator<Item = impl ToString>,
        series: impl IntoIterator<Item = Series<'a>>,
    ) -> Self {
        let steps = steps.into_iter().map(|step| step.to_string()).collect();
        let (series, ideal) = (series.into_iter().collect(), Vec::new());
        Self { form: Form::Lines, title, steps_are, unit, steps, series, ideal }
    }

    /// The figure; none without values.
    pub(crate) fn draw(&self) -> Markup {
        if self.series.iter().all(Series::is_empty) {
            return html! {};
        }
        let rows = u32::try_from(self.steps.len()).unwrap_or(u32::MAX);
        let size = match self.form {
            Form::Lines => (480, 310),
            Form::Dots => (1000, 60 + 30 * rows),
            Form::Bars => (480, 60 + 30 * rows),
        };
        let mut svg = String::new();
        // Writing to a string does not fail.
        let _ = self.plot(&mut svg, size);
        html! {
            div.chart.wide[self.form == Form::Dots] {
                @if !self.title.is_empty() { b { (self.title) } br; }
                span { (self.unit) }
                (PreEscaped(themed(svg, size)))
            }
        }
    }

    fn plot(&self, svg: &mut String, size: (u32, u32)) -> Result<(), Box<dyn Error>> {
        let flat = self.form != Form::Lines;
        let (values, steps) = (self.values(), Axis::steps(&self.steps, flat));
        let places = steps.places();
        let at = |step: usize, value: f64| match flat {
            true => (value, places[step]),
            false => (places[step], value),
        };
        let (x, y) = if flat { (values, steps) } else { (steps, values) };
        let area = SVGBackend::with_string(svg, size).into_drawing_area();
        let names_width = if self.form == Form::Dots { 190 } else { 118 };
        let mut chart = ChartBuilder::on(&area)
            .margin(12)
            .x_label_area_size(if flat { 24 } else { 40 })
            .y_label_area_size(if flat { names_width } else { 40 })
            .build_cartesian_2d(x, y)?;
        let mut mesh = chart.configure_mesh();
        mesh.x_desc(if flat { "" } else { self.steps_are });
        mesh.label_style(("sans-serif", 12).into_font().color(&INK));
        mesh.axis_style(GRID).bold_line_style(GRID);
        if self.form == Form::Bars {
            mesh.disable_mesh();
        }
        mesh.draw()?;
        let ideal = self.ideal.iter().enumerate().map(|(step, value)| at(step, *value));
        chart.draw_series(LineSeries::new(ideal, INK.stroke_width(1)))?;
        // The first engine last, so that it is on top.
        for Series { index, name, values } in self.series.iter().rev() {
            let fill = colour(*index).filled();
            let width = if name.starts_with("arrowsmith") { 3 } else { 2 };
            let style = colour(*index).stroke_width(width);
            let all = values.iter().enumerate();
            let known = || all.clone().filter_map(|(step, value)| Some((step, (*value)?)));
            let dots = || known().map(|(step, [_, value, _])| at(step, value));
            let ends = |(step, [low, _, high]): (usize, [f64; 3])| [at(step, low), at(step, high)];
            if self.form == Form::Bars {
                let bar = |(end, y)| Rectangle::new([(0.0, y - 0.3), (end, y + 0.3)], fill);
                chart.draw_series(dots().map(bar))?;
                chart.draw_series(known().map(|one| PathElement::new(ends(one), INK)))?;
                chart.draw_series(known().map(|(step, [_, value, high])| {
                    let text = ("sans-serif", 12).into_font().color(&INK);
                    EmptyElement::at(at(step, high.max(value)))
                        + Text::new(number(value), (6, -5), text)
                }))?;
                continue;
            }
            if self.form == Form::Lines {
                chart.draw_series(LineSeries::new(dots(), style))?;
            } else {
                chart.draw_series(known().map(|one| PathElement::new(ends(one), style)))?;
            }
            // The shape repeats the colour, for colour-blind readers.
            let square = |at| EmptyElement::at(at) + Rectangle::new([(-4, -4), (4, 4)], fill);
            match index % 3 {
                0 => chart.draw_series(dots().map(|at| Circle::new(at, 5, fill)))?,
                1 => chart.draw_series(dots().map(square))?,
                _ => chart.draw_series(dots().map(|at| TriangleMarker::new(at, 6, fill)))?,
            };
        }
        area.present()?;
        Ok(())
    }

    /// The axis of the values.
    fn values(&self) -> Axis {
        let values = self.series.iter().flat_map(|series| series.values.iter().flatten().flatten());
        let values = values.chain(&self.ideal).copied().filter(|v| v.is_finite() && *v > 0.0);
        let (least, most) = values.fold((f64::MAX, 0.0_f64), |(l, h), v| (l.min(v), h.max(v)));
        if self.form == Form::Bars {
            // Room for the number after the longest bar.
            return Axis { ticks: Vec::new(), ends: (0.0, (most * 1.2).max(1e-9)), log: false };
        }
        let ticks = if most == 0.0 { log_ticks(0.1, 1.0) } else { log_ticks(least, most) };
        let ends = (ticks[0], ticks[ticks.len() - 1]);
        let ticks = ticks.into_iter().map(|tick| (tick, tick_label(tick))).collect();
        Axis { ticks, ends, log: true }
    }
}

/// An axis with labels at its ticks.
struct Axis {
    ticks: Vec<(f64, String)>,
    ends: (f64, f64),
    log: bool,
}

impl Axis {
    /// Named steps at equal distances; the first of horizontal ones is on top.
    #[expect(clippy::cast_precision_loss, reason = "there are a few steps")]
    fn steps(names: &[String], flat: bool) -> Self {
        let count = names.len();
        let place = |step: usize| (if flat { count - 1 - step } else { step }) as f64;
        let ticks = names.iter().enumerate().map(|(step, name)| (place(step), name.clone()));
        Self { ticks: ticks.collect(), ends: (-0.5, count as f64 - 0.5), log: false }
    }

    fn places(&self) -> Vec<f64> {
        self.ticks.iter().map(|(place, _)| *place).collect()
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    #[expect(clippy::cast_possible_truncation, reason = "pixels are few")]
    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let place = |value: f64| if self.log { value.max(1e-4).log10() } else { value };
        let (low, high) = (place(self.ends.0), place(self.ends.1));
        let part = (place(*value) - low) / (high - low);
        from + (part * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.places() }
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.ends.0..self.ends.1
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        let tick = self.ticks.iter().find(|(place, _)| (place - value).abs() < 1e-9);
        tick.map_or_else(String::new, |(_, label)| label.clone())
    }
}

/// 1, 2 and 5 times powers of ten that enclose a range. Two ticks do not show that a scale is
/// logarithmic, so there are at least three.
fn log_ticks(least: f64, most: f64) -> Vec<f64> {
    let all: Vec<f64> = (-4..8)
        .flat_map(|exponent| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(exponent)))
        .collect();
    let first = all.iter().rposition(|tick| *tick <= least).unwrap_or(0);
    let last = all.iter().position(|tick| *tick >= most).unwrap_or(all.len() - 1);
    all[first..=last.max(first + 2).min(all.len() - 1)].to_vec()
}

/// A tick's label, with the fewest digits.
fn tick_label(tick: f64) -> String {
    let text = format!("{tick:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A placeholder that [`themed`] replaces.
fn colour(index: usize) -> RGBColor {
    RGBColor(1, 2, u8::try_from(index % COLOURS).unwrap_or_default())
}

/// The names of the marks.
pub(crate) fn legend<'a>(engines: impl IntoIterator<Item = (usize, &'a str)>) -> Markup {
    html! {
        ul.legend {
            @for (index, name) in engines {
                li {
                    span style={ "color:var(--e" (index % COLOURS) ")" } {
                        (["●", "■", "▲"][index % 3])
                    }
                    " " (name)
                }
            }
        }
    }
}

/// The SVG as a part of the page: its size is the page's choice, its colours the style sheet's.
fn themed(svg: String, (width, height): (u32, u32)) -> String {
    let sized = format!("width=\"{width}\" height=\"{height}\" ");
    let mut svg = svg.replacen(&sized, "role=\"img\" ", 1);
    svg = svg.replacen(" xmlns=\"http://www.w3.org/2000/svg\"", "", 1);
    for index in 0..COLOURS {
        svg = svg.replace(&format!("#01020{index}"), &format!("var(--e{index})"));
    }
    svg.replace("#010264", "var(--soft)").replace("#010265", "var(--line)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_ends_at_ticks() {
        let labels =
            |low, high| log_ticks(low, high).into_iter().map(tick_label).collect::<Vec<_>>();
        assert_eq!(labels(0.3, 6.0), ["0.2", "0.5", "1", "2", "5", "10"]);
        assert_eq!(labels(1.0, 1.0), ["1", "2", "5"]);
        assert_eq!(labels(1e12, 1e13).len(), 1);
    }

    #[test]
    fn a_gap_is_no_point_and_colours_are_the_pages() {
        let series = |values: Vec<Option<f64>>| Series::new(0, "x", values.into_iter());
        let mut chart = Chart {
            form: Form::Lines,
            title: "a < b",
            steps_are: "n",
            unit: "GB/s",
            steps: vec!["1".into(), "2".into(), "3".into()],
            series: vec![series(vec![Some(1.0), None, Some(3.0)])],
            ideal: vec![1.0, 2.0, 3.0],
        };
        let svg = chart.draw().into_string();
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains("a &lt; b") && svg.contains("var(--e0)"), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("#0102") && !svg.contains("http:"), "{svg}");
        chart.form = Form::Bars;
        let svg = chart.draw().into_string();
        assert!(svg.contains("3.00") && !svg.contains("NaN"), "{svg}");
        chart.series = vec![series(vec![None; 3])];
        assert_eq!(chart.draw().into_string(), "");
    }
}
