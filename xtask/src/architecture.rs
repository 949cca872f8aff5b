// SPDX-License-Identifier: Apache-2.0
//! ARCHITECTURE.md for `cargo xtask tidy`: its table of crates defines the layers; it has every
//! crate, and its graph is that of the manifests. The files and functions that it and other
//! documents name exist. Also the rule for what the library brings along.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::shell;
use crate::tidy::uses;

/// Maximum number of crates that the library depends on, itself included.
const CRATES_MAX: usize = 80;

/// Crates from the lowest layer up, in the order of the document's table: a crate may depend only
/// on those before it.
pub fn layers(root: &Path) -> Vec<String> {
    let text = document(root);
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    rows.map(|(name, _)| name.to_owned()).filter(|name| name.starts_with("arrowsmith")).collect()
}

fn document(root: &Path) -> String {
    fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap_or_default()
}

/// Checks the document.
pub fn check(root: &Path, faults: &mut Vec<String>) {
    let text = document(root);
    let layers = layers(root);
    for entry in fs::read_dir(root.join("crates")).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() && !layers.contains(&name) {
            faults.push(format!("ARCHITECTURE.md: its table of crates lacks `{name}`"));
        }
    }
    let files = shell::output("git ls-files");
    let files: Vec<&str> = files.lines().collect();
    for document in files.iter().filter(|file| is_document(file)) {
        let text = fs::read_to_string(root.join(document)).unwrap_or_default();
        for named in text.split('`').skip(1).step_by(2) {
            let (paths, function) = named.split_once(": ").unwrap_or((named, ""));
            for path in expanded(paths) {
                if is_path(&path) && !exists(root, &files, &path, function) {
                    faults.push(format!("{document}: there is no `{path}`, of `{named}`"));
                }
            }
        }
    }
    let graph = graph(root, &layers);
    if !text.contains(&graph) {
        faults.push(format!("ARCHITECTURE.md: the graph of crates is now\n{graph}"));
    }
    match crates() {
        1..=CRATES_MAX => {}
        count => faults.push(format!("the library needs {count} crates, more than {CRATES_MAX}")),
    }
}

/// The number of crates that are compiled for `cargo add arrowsmith`, itself included.
fn crates() -> usize {
    let tree = "cargo tree --locked -p arrowsmith -e normal,build --prefix none --format '{p}'";
    let tree = shell::output(tree);
    let crates = tree.lines().map(|line| line.trim_end_matches(" (*)"));
    crates.filter(|line| !line.is_empty()).collect::<BTreeSet<_>>().len()
}

/// Whether the files that a document names have to exist: guides name those of users, and logs of
/// measurements those of their time.
fn is_document(file: &str) -> bool {
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    file == "ARCHITECTURE.md" || file.ends_with(".md") && ["docs", "docs/design"].contains(&folder)
}

/// Whether a text in backticks names a source file.
fn is_path(named: &str) -> bool {
    [".rs", ".sv", ".hpp", ".cpp"].iter().any(|end| named.ends_with(end))
        && !named.contains([' ', '{', '*'])
}

/// The paths that a text stands for: `a/{b,c}.rs` for `a/b.rs` and `a/c.rs`.
fn expanded(named: &str) -> Vec<String> {
    let braces = named.split_once('{').and_then(|(before, rest)| {
        let (names, after) = rest.split_once('}')?;
        Some((before, names, after))
    });
    let Some((before, names, after)) = braces else { return vec![named.to_owned()] };
    let one = |name: &str| expanded(&format!("{before}{}{after}", name.trim()));
    names.split(',').flat_map(one).collect()
}

/// Whether the end of some file's path is this one, without the crates' common prefix, and the file
/// has the function.
fn exists(root: &Path, files: &[&str], path: &str, function: &str) -> bool {
    let wanted = format!("/{path}");
    let name = function.rsplit("::").next().unwrap_or_default();
    let found = files.iter().filter(|file| {
        let short = file.replace("crates/arrowsmith-", "crates/");
        format!("/{file}").ends_with(&wanted) || format!("/{short}").ends_with(&wanted)
    });
    let defines = |file: &&&str| {
        let text = fs::read_to_string(root.join(file)).unwrap_or_default();
        ["(", "<"].iter().any(|after| text.contains(&format!("fn {name}{after}")))
    };
    found.filter(|file| name.is_empty() || defines(file)).count() > 0
}

/// The graph of crates, for Mermaid: an arrow to each crate that one uses, except those that it
/// also uses through another one.
fn graph(root: &Path, layers: &[String]) -> String {
    let uses: Vec<Vec<usize>> = layers.iter().map(|name| uses(root, layers, name)).collect();
    // Those that a crate reaches; the crates that it uses come before it.
    let mut reached: Vec<BTreeSet<usize>> = Vec::new();
    for of_crate in &uses {
        let below = of_crate.iter().filter_map(|used| reached.get(*used)).flatten();
        reached.push(below.chain(of_crate).copied().collect());
    }
    let mut graph = "```mermaid\ngraph BT\n".to_owned();
    for (layer, of_crate) in uses.iter().enumerate() {
        let through = |used: &usize| {
            let others = of_crate.iter().filter_map(|other| reached.get(*other));
            others.filter(|below| below.contains(used)).count() > 0
        };
        let direct = of_crate.iter().filter(|used| !through(used));
        let direct: Vec<&str> = direct.map(|used| layers[*used].as_str()).collect();
        if !direct.is_empty() {
            graph += &format!("  {} --> {}\n", layers[layer], direct.join(" & "));
        }
    }
    graph + "```\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_against_files_and_functions() {
        let root = shell::root();
        let files = ["xtask/src/architecture.rs", "crates/arrowsmith-cli/src/convert/mod.rs"];
        let there = |path: &str, function: &str| exists(root, &files, path, function);
        assert!(there("architecture.rs", "check"));
        assert!(there("cli/src/convert/mod.rs", ""));
        assert!(there("crates/arrowsmith-cli/src/convert/mod.rs", "Any::run"));
        assert!(!there("architecture.rs", "checks"));
        assert!(!there("e.rs", ""));
        assert!(is_path("cli/src/convert.rs") && !is_path("arrowsmith.h") && !is_path("a.{rs.rs"));
    }

    #[test]
    fn braces_stand_for_several_paths() {
        assert_eq!(expanded("a/b.rs"), ["a/b.rs"]);
        assert_eq!(expanded("a/{b,c}.rs"), ["a/b.rs", "a/c.rs"]);
        assert_eq!(expanded("{a, b}/{c,d}.rs"), ["a/c.rs", "a/d.rs", "b/c.rs", "b/d.rs"]);
        assert_eq!(expanded("a/{b"), ["a/{b"]);
    }
}
