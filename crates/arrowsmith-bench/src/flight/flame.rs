// SPDX-License-Identifier: Apache-2.0
//! Flame graphs of the servers: `perf` samples them while a client reads, and the stacks are drawn
//! as SVG.
//!
//! If the kernel does not permit `perf`, there are none, and the report says so. Hardware counters
//! are not needed: a timer is enough.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use maud::{Markup, html};
use serde::Serialize;

use super::contest::Contestant;
use super::{IPC_TCP, PARQUET, RAW, Report};
use crate::install::run;
use crate::process::last_line;
use crate::stats::float;

/// Samples per second.
const SAMPLES_PER_SECOND: &str = "199";
/// Sampling duration, seconds.
const SAMPLING_SECONDS: &str = "4";
/// Functions listed in the JSON result.
const TOP: usize = 15;
const WIDTH: f64 = 1000.0;
const LINE: f64 = 15.0;
/// Deeper frames are not drawn.
const DEPTH_MAX: usize = 48;
/// Narrower frames are not drawn either.
const WIDTH_MIN: f64 = 0.8;

/// Where a server spends its time.
#[derive(Debug, Clone, Serialize)]
pub struct Flame {
    /// The server.
    pub engine: String,
    /// Number of samples.
    pub samples: u64,
    /// The most frequent functions, with their share of the samples.
    pub top: Vec<(String, f64)>,
    /// The SVG.
    #[serde(skip)]
    pub svg: String,
}

/// Draws all servers that can be sampled, while the first client that can read them does.
pub(super) fn draw(
    servers: &mut [Contestant],
    clients: &mut [Contestant],
    report: &mut Report,
    progress: &mut dyn FnMut(&str),
) {
    for server in servers {
        let raw = server.name.starts_with("ipc-");
        if raw && server.name != IPC_TCP {
            continue;
        }
        let Some(client) = clients.iter_mut().find(|client| (client.name == RAW) == raw) else {
            continue;
        };
        progress(&format!("looking at the server {}", server.name));
        match sample(server, client) {
            Ok(stacks) => report.extra.flames.push(flame(&server.name, &stacks)),
            Err(reason) => {
                report.missing(&format!("{}, flame graph", server.name), PARQUET, reason);
            }
        }
    }
}

/// Stacks, outermost first and joined by `;`, with their counts.
type Stacks = BTreeMap<String, u64>;

fn sample(server: &Contestant, client: &mut Contestant) -> Result<Stacks, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let data = folder.path().join("perf.data");
    let java = server.name == "java";
    // Compiled Java keeps frame pointers on request; the others have unwind tables instead.
    let graph = if java { "fp" } else { "dwarf,16384" };
    let mut perf = Command::new("perf");
    perf.args(["record", "-e", "cpu-clock", "-F", SAMPLES_PER_SECOND, "--call-graph", graph]);
    perf.args(["-p", &server.process.id().to_string(), "-o"]).arg(&data);
    perf.args(["--", "sleep", SAMPLING_SECONDS]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut perf = perf.spawn().map_err(|error| format!("perf: {error}"))?;
    let mut error = None;
    while perf.try_wait().map_err(|error| error.to_string())?.is_none() {
        if error.is_none() {
            error = client.get(&server.uri).err();
        } else {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
    let output = perf.wait_with_output().map_err(|error| error.to_string())?;
    if let Some(error) = error {
        return Err(error);
    }
    client.check()?;
    if !output.status.success() {
        return Err(format!("perf cannot look: {}", last_line(&output.stderr)));
    }
    if java {
        // Writes /tmp/perf-PID.map, where perf finds the names of JIT-compiled functions.
        let id = server.process.id().to_string();
        run(Command::new("jcmd").args([&id, "Compiler.perfmap"]))?;
    }
    let script = ["script", "--no-inline", "-F", "comm,ip,sym", "-i"];
    let printed = run(Command::new("perf").args(script).arg(&data));
    if java {
        let _ = std::fs::remove_file(format!("/tmp/perf-{}.map", server.process.id()));
    }
    let stacks = fold(&String::from_utf8_lossy(&printed?));
    if stacks.is_empty() { Err("perf recorded no samples".to_owned()) } else { Ok(stacks) }
}

/// The output of `perf script`: a line with the name of the thread, its frames, innermost first,
/// and an empty line.
fn fold(text: &str) -> Stacks {
    let mut stacks = Stacks::new();
    let mut thread = "";
    let mut frames: Vec<String> = Vec::new();
    for line in text.lines().chain([""]) {
        if line.trim().is_empty() {
            if !thread.is_empty() {
                frames.push(thread.to_owned());
                frames.reverse();
                *stacks.entry(frames.join(";")).or_default() += 1;
            }
            thread = "";
            frames.clear();
        } else if line.starts_with([' ', '\t']) && !thread.is_empty() {
            let symbol = line.trim().split_once(' ').map_or("[unknown]", |(_, symbol)| symbol);
            frames.push(short(symbol));
        } else {
            thread = line.trim();
        }
    }
    stacks
}

/// A name without bracketed parts: types of arguments and of templates.
fn short(symbol: &str) -> String {
    let mut name = String::new();
    let mut depth = 0_u32;
    for character in symbol.trim().chars() {
        match character {
            // `operator()` and the like are rare, so losing their brackets is acceptable.
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.saturating_sub(1),
            ';' => name.push(':'),
            _ if depth == 0 => name.push(character),
            _ => {}
        }
    }
    let name = name.trim();
    let name = name.strip_suffix(" const").unwrap_or(name);
    // Of Rust's `<Type as Trait>::function` only the end is kept.
    let name = name.trim_start_matches("::").to_owned();
    if name.is_empty() { symbol.trim().replace(';', ":") } else { name }
}

/// A frame with its callees.
#[derive(Default)]
struct Node {
    count: u64,
    /// How often it was the innermost frame.
    own: u64,
    children: BTreeMap<String, Node>,
}

fn flame(engine: &str, stacks: &Stacks) -> Flame {
    let mut root = Node::default();
    let mut top: BTreeMap<&str, u64> = BTreeMap::new();
    for (stack, count) in stacks {
        let mut node = &mut root;
        node.count += count;
        for frame in stack.split(';') {
            node = node.children.entry(frame.to_owned()).or_default();
            node.count += count;
        }
        node.own += count;
        *top.entry(stack.rsplit(';').next().unwrap_or_default()).or_default() += count;
    }
    let mut top: Vec<(&str, u64)> = top.into_iter().collect();
    top.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    top.truncate(TOP);
    let part = |count: u64| float(count) / float(root.count);
    Flame {
        engine: engine.to_owned(),
        samples: root.count,
        top: top.iter().map(|(name, count)| ((*name).to_owned(), part(*count))).collect(),
        svg: svg(engine, &root).into_string(),
    }
}

fn svg(engine: &str, root: &Node) -> Markup {
    let depth = depth(root, float(root.count)).min(DEPTH_MAX);
    let height = LINE * float(depth as u64 + 1);
    let mut frames = Vec::new();
    place(&mut frames, root, (0.0, 0), float(root.count));
    let label = format!("Flame graph of the server {engine}");
    html! {
        svg.wide.flame viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label=(label) {
            @for frame in &frames { (frame.draw(height)) }
        }
    }
}

/// Levels above the root that are wide enough to be drawn.
fn depth(node: &Node, total: f64) -> usize {
    let wide = node.children.values().filter(|n| float(n.count) / total * WIDTH >= WIDTH_MIN);
    wide.map(|child| 1 + depth(child, total)).max().unwrap_or(0)
}

/// A drawn frame.
struct Frame<'a> {
    name: &'a str,
    x: f64,
    level: usize,
    width: f64,
}

/// Places the callees of a frame, and theirs.
fn place<'a>(frames: &mut Vec<Frame<'a>>, node: &'a Node, at: (f64, usize), total: f64) {
    let (mut x, level) = at;
    for (name, child) in &node.children {
        let width = float(child.count) / total * WIDTH;
        if width >= WIDTH_MIN && level < DEPTH_MAX {
            frames.push(Frame { name, x, level, width });
            place(frames, child, (x, level + 1), total);
        }
        x += width;
    }
}

impl Frame<'_> {
    fn draw(&self, height: f64) -> Markup {
        let &Self { name, x, level, width } = self;
        let y = height - LINE * float(level as u64 + 1);
        // Neighbours differ, and the same function has the same colour everywhere.
        let hash = name.bytes().fold(5_u32, |h, byte| h.wrapping_mul(33) ^ u32::from(byte));
        let fill = format!("hsl({},70%,{}%)", 10 + hash % 45, 62 + hash / 64 % 14);
        let fits = |letters: usize| float(letters as u64) < width / 5.6;
        let mut shown: String =
            name.chars().enumerate().take_while(|(at, _)| fits(at + 1)).map(|(_, c)| c).collect();
        if shown.len() < name.len() {
            shown.push('…');
        }
        let pixels = |value: f64| format!("{value:.1}");
        html! {
            g {
                title { (name) (format!(" ({:.1} %)", width / WIDTH * 100.0)) }
                rect x=(pixels(x)) y=(pixels(y)) width=(pixels((width - 0.3).max(0.3)))
                    height=(pixels(LINE - 0.6)) fill=(fill) {}
                @if fits(4) { text x=(pixels(x + 2.0)) y=(pixels(y + 10.6)) { (shown) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "server\n\t    7f01 inner(int, std::vector<int>)\n\t    7f02 outer<A<B>>::run() const\n\n\
        server\n\t    7f02 outer<A<B>>::run() const\n\nother\n\t    7f03 [unknown]\n\n";

    #[test]
    fn stacks_are_folded_outermost_first() {
        let stacks = fold(PRINTED);
        let wanted =
            [("other;[unknown]", 1), ("server;outer::run", 1), ("server;outer::run;inner", 1)];
        let wanted: Stacks = wanted.into_iter().map(|(s, n)| (s.to_owned(), n)).collect();
        assert_eq!(stacks, wanted);
        assert!(fold("").is_empty());
    }

    #[test]
    fn a_picture_has_every_frame_in_its_width() {
        let flame = flame("cpp", &fold(PRINTED));
        assert_eq!(flame.samples, 3);
        assert_eq!(flame.top.len(), 3);
        assert!(flame.svg.contains("<title>server (66.7 %)</title>"), "{}", flame.svg);
        assert!(flame.svg.contains("<title>inner (33.3 %)</title>"));
        assert!(!flame.svg.contains("NaN"));
    }
}
