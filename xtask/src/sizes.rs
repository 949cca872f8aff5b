// SPDX-License-Identifier: Apache-2.0
//! Rules of `cargo xtask tidy`: no allocation takes its size from an input, unless it is accounted,
//! and no file is read whole without a maximum.
//!
//! The text does not show whether a number comes from an input. So the rule is inverted: in crates
//! that read external input, the size of `with_capacity`, `reserve`, `resize` and `vec![_; n]` has
//! to be one that obviously does not: a constant, the length of something in memory, or the minimum
//! of something and a constant. Any other size goes through `arrowsmith_core::memory` (or a `try_`
//! method of a buffer), or has a comment that starts with `Bounded:` and names the limit.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that it does not apply to: they read nothing from outside, or only what their user
/// wrote. A new crate is checked until it is here.
const EXCEPT: &[&str] = &[
    "crates/arrowsmith-workload",
    "crates/arrowsmith-engine",
    "crates/arrowsmith-graph/src/arrow",
    "crates/arrowsmith-graph/src/generate",
    "crates/arrowsmith-graph/src/layout",
    "crates/arrowsmith-rtlgen",
    "crates/arrowsmith",
    "crates/arrowsmith-ffi",
    "crates/arrowsmith-ingest/src/model",
    "crates/arrowsmith-load",
    "crates/arrowsmith-flight-sql",
    "crates/arrowsmith-jvm",
    "crates/arrowsmith-bench",
    "crates/arrowsmith-cli",
    "crates/arrowsmith-testkit",
];

/// Calls that allocate memory of a given size.
const CALLS: &[&str] = &["with_capacity(", "reserve(", "reserve_exact(", "resize("];

/// Calls that read a file to its end, whatever it is; `arrowsmith_core::whole` has a maximum.
const WHOLE: &[&str] = &["fs::read(", "fs::read_to_string(", "from_pem_file(", "pem_file_iter("];

/// Folders that this does not apply to: they read what they or their tools have written.
const OWN: &[&str] = &[
    "crates/arrowsmith/src/options",
    "crates/arrowsmith-engine-rtl",
    "crates/arrowsmith-ingest/src/model",
    "crates/arrowsmith-jvm",
    "crates/arrowsmith-bench",
    "crates/arrowsmith-cli/src/bench",
    "crates/arrowsmith-testkit",
];

/// Maximum lines between a size and its comment.
const COMMENT_LINES: usize = 4;

/// Reports every allocation whose size may come from an input.
pub fn check(root: &Path, faults: &mut Vec<String>) {
    let is_in = |path: &Path, folders: &[&str]| {
        folders.iter().any(|folder| path.starts_with(root.join(folder)))
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(root.join("crates")).into_iter().flatten().flatten() {
        sources(&entry.path().join("src"), &mut files);
    }
    for path in &files {
        let name = path.strip_prefix(root).unwrap_or(path).display();
        let Ok(text) = fs::read_to_string(path) else { continue };
        let sizes = if is_in(path, EXCEPT) { Vec::new() } else { unbounded(&text) };
        for (line, size) in sizes {
            faults.push(format!(
                "{name}:{line}: an allocation of size `{size}`: through core::memory, or with a \
                 comment 'Bounded: …'"
            ));
        }
        let calls = if is_in(path, OWN) { Vec::new() } else { whole(&text) };
        for (line, call) in calls {
            faults.push(format!(
                "{name}:{line}: `{call}…)` reads whatever is there: through core::whole, or with a \
                 comment 'Bounded: …'"
            ));
        }
    }
}

/// Shipped sources below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

/// The text of a file before its tests.
fn shipped(text: &str) -> &str {
    text.find("\n#[cfg(test)]\nmod ").map_or(text, |at| &text[..at])
}

/// Whether a line, or one of those before it, has the comment that names its limit.
fn is_excused(lines: &[&str], number: usize) -> bool {
    let near = &lines[number.saturating_sub(COMMENT_LINES)..=number];
    near.iter().any(|line| line.contains("// Bounded: "))
}

/// Calls that read a file without a maximum, with their lines.
fn whole(text: &str) -> Vec<(usize, &'static str)> {
    let lines: Vec<&str> = shipped(text).lines().collect();
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        if !line.trim_start().starts_with("//") && !is_excused(&lines, number) {
            let calls = WHOLE.iter().filter(|call| line.contains(**call));
            found.extend(calls.map(|call| (number + 1, *call)));
        }
    }
    found
}

/// Sizes that may come from an input, with their lines.
fn unbounded(text: &str) -> Vec<(usize, String)> {
    let shipped = shipped(text);
    let lines: Vec<&str> = shipped.lines().collect();
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let begins = line.trim_start();
        if begins.starts_with("//") || begins.contains("fn ") {
            continue;
        }
        let from: usize = lines[..number].iter().map(|line| line.len() + 1).sum();
        let excused = is_excused(&lines, number);
        for size in sizes(&shipped[from..], line.len()) {
            if !excused && !is_bounded(&size) {
                found.push((number + 1, size));
            }
        }
    }
    found
}

/// The sizes of the allocations that start in the first `len` bytes.
fn sizes(text: &str, len: usize) -> Vec<String> {
    let mut found = Vec::new();
    for call in CALLS {
        for (at, _) in text[..len].match_indices(call) {
            let before = text[..at].chars().next_back();
            let is_gate = text[..at].ends_with("memory::");
            // A free function of that name is another one.
            if is_gate || !before.is_some_and(|c| matches!(c, '.' | ':')) {
                continue;
            }
            let all = arguments(&text[at + call.len()..]);
            found.push(all.first().cloned().unwrap_or_default());
        }
    }
    for (at, call) in text[..len].match_indices("vec![") {
        let all = arguments(&text[at + call.len()..]).join(",");
        found.extend(all.rsplit_once(';').map(|(_, size)| size.to_owned()));
    }
    found
}

/// The arguments of a call, without white space, from after its bracket on.
fn arguments(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => break,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(String::new());
                continue;
            }
            _ => {}
        }
        if !c.is_whitespace()
            && let Some(last) = found.last_mut()
        {
            last.push(c);
        }
    }
    found
}

/// Whether a size consists of constants and lengths, or is a minimum.
fn is_bounded(size: &str) -> bool {
    if [".min(", ".clamp("].iter().any(|call| size.contains(call)) {
        return true;
    }
    // The last call of a chain determines the result.
    let size = size.replace("().", ".");
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':');
    let mut words = Vec::new();
    let mut rest = size.as_str();
    while let Some(from) = rest.find(is_name) {
        let word_len = rest[from..].find(|c| !is_name(c)).unwrap_or(rest.len() - from);
        words.push((&rest[from..from + word_len], rest[from + word_len..].starts_with('(')));
        rest = &rest[from + word_len..];
    }
    words.iter().all(|(word, called)| {
        let last = word.rsplit(['.', ':']).next().unwrap_or_default();
        let lengths = ["len", "num_rows", "num_columns", "capacity"];
        let sums = ["div_ceil", "saturating_mul", "saturating_add", "saturating_sub", "max"];
        let constant = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        match called {
            true if sums.contains(&last) => {
                let of = word.strip_suffix(last).unwrap_or_default().trim_end_matches('.');
                let of = of.rsplit(['.', ':']).next().unwrap_or_default();
                lengths.contains(&of) || of.chars().all(constant)
            }
            true => lengths.contains(&last) || last == "size_of",
            false => {
                let typed = last.trim_end_matches("usize").trim_end_matches("u32");
                last.is_empty()
                    || last == "as_slice"
                    || typed.chars().all(constant)
                    || ["u8", "u16", "u64", "i32", "i64", "i128", "f32", "f64", "T"].contains(&last)
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_an_input_may_say_are_found() {
        for line in [
            "let a = Vec::with_capacity(count);",
            "a.reserve(header.rows as usize);",
            "a.resize(len, 0);",
            "let a = vec![0_u8; wanted.next_multiple_of(64 << 10)];",
            "a.reserve(2 * rows + 1);",
            "a.reserve(self.slots.saturating_mul(8));",
        ] {
            assert_eq!(unbounded(line).len(), 1, "{line}");
        }
        assert_eq!(unbounded("\n\na.reserve(\n    n,\n);"), [(3, "n".to_owned())]);
    }

    #[test]
    fn files_that_are_read_without_a_maximum_are_found() {
        let text = "//! fs::read(path)\nlet a = std::fs::read(path)?;\n\
                    // Bounded: by procfs.\nlet b = fs::read_to_string(stat)?;\n\
                    \n#[cfg(test)]\nmod tests { fs::read(path) }\n";
        assert_eq!(whole(text), [(2, "fs::read(")]);
    }

    #[test]
    fn sizes_that_none_can_say_are_not() {
        for line in [
            "let a = Vec::with_capacity(fields.len());",
            "let a = String::with_capacity(2 * text.len() + PADDING_BYTES);",
            "let a = vec![0; 4096];",
            "let a = vec![1, 2, count];",
            "a.reserve(count.min(ROWS_MAX));",
            "let a = Vec::with_capacity(2 * selection.ranges().len() + 1);",
            "let a = vec![false; layout.keys.len()];",
            "a.reserve(batch.num_rows().saturating_mul(size_of::<u64>()));",
            "let a = memory::vec_with_capacity(count)?;",
            "memory::resize(&mut a, count)?;",
            "let a = vec![0; object.keys.len().div_ceil(64)];",
            "a.try_reserve(count)?;",
            "// Bounded: by the threads that there are.\nlet a = Vec::with_capacity(threads);",
            "pub fn reserve(additional: usize) {",
            "let outcome = resize(stream, batch);",
            "// a.reserve(count) is what it was",
            "a();\n#[cfg(test)]\nmod tests {\n    a.reserve(count);\n}",
        ] {
            assert_eq!(unbounded(line), [], "{line}");
        }
    }
}
