// SPDX-License-Identifier: Apache-2.0
//! The house rules as tests: `cargo xtask tidy` names every file that breaks one. It checks what no
//! compiler does; it changes nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Crates that may contain `unsafe`; all others forbid it. `arrowsmith-source`: only in `file`.
/// `arrowsmith-engine-gpu`: only in the interfaces to the CUDA driver and to the shim, and for
/// arrays in device memory.
const UNSAFE: &[&str] =
    &["arrowsmith-simd", "arrowsmith-source", "arrowsmith-ffi", "arrowsmith-engine-gpu"];

/// Maximum number of lines in a file.
const LINES_MAX: usize = 1_000;

/// Checks everything, and prints the violations.
pub fn tidy() -> ExitCode {
    let root = crate::shell::root();
    let mut faults = Vec::new();
    let mut sources = Vec::new();
    for folder in ["crates", "xtask", "fuzz", "python", "bench"] {
        files(&root.join(folder), &mut sources);
    }
    for path in &sources {
        let name = path.strip_prefix(root).unwrap_or(path).display().to_string();
        let Ok(text) = fs::read_to_string(path) else { continue };
        if name.ends_with(".rs") {
            source(&name, &text, &mut faults);
        }
        // Concatenated, so that this file does not contain them itself.
        for word in [concat!("/wo", "rk/"), concat!("crates.io-", "1949")] {
            if text.contains(word) {
                faults.push(format!("{name}: names a path of one machine"));
            }
        }
    }
    module_style(root, &sources, &mut faults);
    let layers = crate::architecture::layers(root);
    for layer in 0..layers.len() {
        crate_rules(root, &layers, layer, &mut faults);
    }
    dependencies(root, &mut faults);
    crate::sizes::check(root, &mut faults);
    crate::prose::check(root, &mut faults);
    crate::architecture::check(root, &mut faults);
    for fault in &faults {
        eprintln!("{fault}");
    }
    println!("tidy: {} files, {} violations", sources.len(), faults.len());
    if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// All text files of ours below a folder.
pub fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            if !["target", "seeds", "regressions", ".venv", "__pycache__"].contains(&name.as_str())
            {
                files(&path, found);
            }
        } else if [".rs", ".py", ".toml", ".md", ".sh", ".cpp", ".h", ".java", ".sv", ".svh"]
            .iter()
            .any(|end| name.ends_with(end))
        {
            found.push(path);
        }
    }
}

/// The rules for Rust files.
fn source(name: &str, text: &str, faults: &mut Vec<String>) {
    if !text.starts_with("// SPDX-License-Identifier: Apache-2.0\n") {
        faults.push(format!("{name}: does not open with the licence"));
    }
    if !text.lines().take(6).any(|line| line.starts_with("//!")) {
        faults.push(format!("{name}: does not say what it is for"));
    }
    let lines = text.lines().count();
    if lines > LINES_MAX {
        faults.push(format!("{name}: {lines} lines, more than {LINES_MAX}"));
    }
}

/// One style of modules: one with others below it is `foo/mod.rs`. Beside `foo.rs`, a folder `foo`
/// holds nothing but `tests.rs`.
fn module_style(root: &Path, sources: &[PathBuf], faults: &mut Vec<String>) {
    for path in sources.iter().filter(|path| path.extension().is_some_and(|end| end == "rs")) {
        let folder = path.with_extension("");
        let mut below = sources.iter().filter(|other| other.starts_with(&folder));
        if below.any(|other| *other != folder.join("tests.rs")) {
            let name = path.strip_prefix(root).unwrap_or(path).display();
            faults
                .push(format!("{name}: has modules below it, so it is a `mod.rs` in their folder"));
        }
    }
}

/// The rules for crates: layers, and `unsafe`.
fn crate_rules(root: &Path, layers: &[String], layer: usize, faults: &mut Vec<String>) {
    let name = &layers[layer];
    let folder = root.join("crates").join(name);
    for above in uses(root, layers, name).into_iter().filter(|above| *above >= layer) {
        let other = &layers[above];
        faults.push(format!("{name}: depends on {other}, which is not below it"));
    }
    let entry = ["src/lib.rs", "src/main.rs"].map(|file| fs::read_to_string(folder.join(file)));
    let forbids = entry.iter().flatten().all(|text| text.contains("#![forbid(unsafe_code)]"));
    if !UNSAFE.contains(&name.as_str()) && !forbids {
        faults.push(format!("{name}: does not forbid unsafe code"));
    }
}

/// The crates, by their place in `layers`, that a crate depends on, except in its tests.
pub fn uses(root: &Path, layers: &[String], name: &str) -> Vec<usize> {
    let manifest = root.join("crates").join(name).join("Cargo.toml");
    let manifest = fs::read_to_string(manifest).unwrap_or_default();
    let shipped = manifest.split("[dev-dependencies]").next().unwrap_or_default();
    let lines = shipped.lines().skip_while(|line| !line.contains("dependencies]"));
    let keys: Vec<&str> =
        lines.map(|line| line.split(['=', ' ', '.']).next().unwrap_or_default()).collect();
    (0..layers.len()).filter(|layer| keys.contains(&layers[*layer].as_str())).collect()
}

/// Checks that every dependency of the workspace is explained.
fn dependencies(root: &Path, faults: &mut Vec<String>) {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap_or_default();
    let explained = fs::read_to_string(root.join("docs/dependencies.md")).unwrap_or_default();
    let listed = manifest
        .lines()
        .skip_while(|line| *line != "[workspace.dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split_once('=').map(|(name, _)| name.trim()));
    for name in listed.filter(|name| !name.starts_with("arrowsmith")) {
        if !explained.contains(&format!("`{name}`")) {
            faults.push(format!("docs/dependencies.md: does not say why there is {name}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_with_others_below_it_is_in_their_folder() {
        let found = |files: &[&str]| {
            let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
            let mut faults = Vec::new();
            module_style(Path::new(""), &files, &mut faults);
            faults.len()
        };
        assert_eq!(found(&["src/a.rs", "src/a/tests.rs", "src/b/mod.rs", "src/b/c.rs"]), 0);
        assert_eq!(found(&["src/a.rs", "src/a/b.rs", "src/a/tests.rs"]), 1);
        assert_eq!(found(&["src/a.rs", "src/ab/c.rs"]), 0);
    }
}
