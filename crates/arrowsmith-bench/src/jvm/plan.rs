// SPDX-License-Identifier: Apache-2.0
//! The figures of the paper as layouts (Sect. 6). Object counts are the paper's, reduced to the
//! requested size.

use arrowsmith_jvm::{APPROACHES, Layout, Primitive, Tree};

use super::Options;
use crate::error::BenchError;

/// Primitives are 32-bit integers, as in the paper.
const INT: [Primitive; 1] = [Primitive::Int];
/// Maximum objects of a collection: small ones need more memory for headers than for their content.
const OBJECTS_MAX: u64 = 1 << 20;
/// The paper's approaches, and ours.
const PAPERS: [&str; 7] =
    ["bytebuffer", "bytebuffer-direct", "unsafe", "jni", "direct-copy", "direct", "columns"];

/// A figure.
#[derive(Debug, Clone)]
pub(super) struct Figure {
    pub(super) name: String,
    /// One object, measured by JMH.
    pub(super) single: bool,
    /// Whether its x axis is the number of threads.
    pub(super) by_threads: bool,
    pub(super) points: Vec<Point>,
}

/// A position on the x axis.
#[derive(Debug, Clone)]
pub(super) struct Point {
    pub(super) x: u64,
    pub(super) layout: Layout,
    pub(super) objects: u32,
}

impl Figure {
    /// The approaches.
    pub(super) fn approaches(&self, options: &Options) -> Vec<String> {
        let given = &options.approaches;
        if !given.is_empty() {
            return given.clone();
        }
        let all: &[&str] = if self.by_threads { &APPROACHES } else { &PAPERS };
        all.iter().map(|name| (*name).to_owned()).collect()
    }
}

pub(super) const NAMES: [&str; 9] = [
    "fig-3a",
    "fig-3b",
    "fig-3c",
    "fig-3d",
    "fig-3e",
    "fig-3f",
    "fig-4-small",
    "fig-4-medium",
    "fig-4-large",
];

/// The requested figures.
pub(super) fn figures(options: &Options) -> Result<Vec<Figure>, BenchError> {
    let known = [&NAMES[..], &["json"]].concat();
    BenchError::unless_known("figure", &options.figures, &known)?;
    let asked = |name: &&str| {
        options.figures.is_empty() || options.figures.iter().any(|other| other == name)
    };
    NAMES.iter().filter(|name| asked(name)).map(|name| figure(name, options)).collect()
}

fn figure(name: &str, options: &Options) -> Result<Figure, BenchError> {
    let leaf = |p, a, e| Layout::leaf(p, a, e, &INT);
    let deep = |depth| {
        Layout::tree(&Tree { width: 1, depth, primitives: 1, arrays: 0, length: 0, types: &INT })
    };
    let point = |x: u32, layout: Result<Layout, arrowsmith_jvm::JvmError>, most: u64| {
        let layout = layout.map_err(|error| BenchError::Definition(error.to_string()))?;
        let payload = layout.class_bytes(0).max(1);
        let objects = (options.size_bytes / payload).min(most).clamp(1, OBJECTS_MAX);
        Ok(Point { x: u64::from(x), layout, objects: u32::try_from(objects).unwrap_or(1) })
    };
    let points: Result<Vec<Point>, BenchError> = match name {
        // Fewer positions than in the paper: each is a layout to generate and compile, and a JVM
        // for each approach.
        "fig-3a" => [1, 16, 256].map(|p| point(p, leaf(p, 0, 0), 1)).into_iter().collect(),
        // The paper's 2^20 objects, reduced to a quarter: the largest take 64 MiB.
        "fig-3b" => [1, 8, 64].map(|p| point(p, leaf(p, 0, 0), 1 << 18)).into_iter().collect(),
        "fig-3c" => [16, 4_096, 1 << 20].map(|e| point(e, leaf(0, 1, e), 1)).into_iter().collect(),
        "fig-3d" => {
            [16, 4_096, 1 << 20].map(|e| point(e, leaf(0, 1, e), u64::MAX)).into_iter().collect()
        }
        "fig-3e" => [1, 4, 16].map(|d| point(d, deep(d), 1)).into_iter().collect(),
        "fig-3f" => [1, 3, 8].map(|d| point(d, deep(d), 1 << 18)).into_iter().collect(),
        "fig-4-medium" => [point(1024, Layout::named("medium"), 1 << 18)].into_iter().collect(),
        "fig-4-large" => [point(480_000, Layout::named("large"), 1 << 10)].into_iter().collect(),
        _ => [point(16, Layout::named("small"), 1 << 20)].into_iter().collect(),
    };
    let single = matches!(name, "fig-3a" | "fig-3c" | "fig-3e");
    let by_threads = name.starts_with("fig-4");
    Ok(Figure { name: name.to_owned(), single, by_threads, points: points? })
}
