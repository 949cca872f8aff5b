// SPDX-License-Identifier: Apache-2.0
//! Rules of `cargo xtask tidy` for prose: comments and Markdown wrap at 100 columns, and use the
//! words that readers of the field search for (CONTRIBUTING.md, "The words we use").
//!
//! `rustfmt` does not wrap comments, and a spelling checker accepts any English word. The rules
//! apply to [`FOLDERS`] only; a folder is added when its prose has been revised.

use std::fs;
use std::path::Path;

/// Files, and folders with everything below them, that the rules apply to.
const FOLDERS: &[&str] = &[
    ".github",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "bench/README.md",
    "bench/definitions",
    "cpp",
    "crates",
    "deny.toml",
    "docs",
    "examples",
    "fuzz",
    "hdl",
    "java",
    "java/README.md",
    "packaging",
    "python",
    "xtask",
];

/// Folders whose comments may be wide: the generator's strings have lines that look like comments,
/// of the files that it generates, and these are the examples.
const GENERATED: [&str; 2] = ["crates/arrowsmith-rtlgen/src/", "hdl/examples/"];

/// Columns of a comment or a line of Markdown, at most.
const COLUMNS_MAX: usize = 100;

/// Phrases of our own, and the words to use instead.
const WORDS: &[(&str, &str)] = &[
    ("anew", "again, a new"),
    ("asked for", "requested"),
    ("becomes of", "how it is handled"),
    ("comes to a stand", "deadlocks, stalls"),
    ("cut back", "truncated, rolled back"),
    ("for ever", "unbounded, never ends"),
    ("caller's promise", "the invariant itself, after SAFETY"),
    ("held against", "checked against"),
    ("in earnest", "really"),
    ("is held to", "is checked against"),
    ("left alone", "ignored, unchanged"),
    ("makes no sense", "is invalid"),
    ("not sound", "malformed"),
    ("nobody", "no thread, no caller, unused"),
    ("put down", "rolled back"),
    ("passed over", "skipped"),
    ("sees to it", "ensures"),
    ("so many", "this many, N"),
    ("so much", "this much, N bytes"),
    ("stands still", "stalls"),
    ("the begin", "the start"),
    ("the caller's.", "the invariant itself, after SAFETY"),
];

/// Files that may use a phrase; an empty phrase stands for all of them.
const EXCEPTIONS: &[(&str, &str)] = &[
    // The list itself, and the table that explains it.
    ("xtask/src/prose.rs", ""),
    ("CONTRIBUTING.md", ""),
    // A reason as the benchmarks write it.
    ("xtask/src/measured.rs", "asked for"),
];

/// Reports lines that are too long, and phrases of [`WORDS`].
pub fn check(root: &Path, faults: &mut Vec<String>) {
    let mut found = Vec::new();
    for folder in FOLDERS {
        let path = root.join(folder);
        if path.is_file() {
            found.push(path);
        } else {
            crate::tidy::files(&path, &mut found);
        }
    }
    for path in found {
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let width = !GENERATED.iter().any(|folder| name.starts_with(folder));
        for fault in prose(&path, &text, width) {
            faults.push(format!("{name}:{fault}"));
        }
    }
}

/// The faults of a file, each with its line number; `width` includes lines that are too long.
fn prose(path: &Path, text: &str, width: bool) -> Vec<String> {
    let markdown = path.extension().is_some_and(|end| end == "md");
    let mut faults = Vec::new();
    let mut code = false;
    for (at, line) in text.lines().enumerate() {
        let number = at + 1;
        if line.trim_start().trim_start_matches(['/', '!', ' ']).starts_with("```") {
            code = !code && markdown;
        }
        let prose = if markdown {
            !code && !line.trim_start().starts_with('|')
        } else {
            is_comment(path, line)
        };
        let columns = line.chars().count();
        if width && prose && columns > COLUMNS_MAX && !has_link(line) {
            faults.push(format!("{number}: {columns} columns of prose, more than {COLUMNS_MAX}"));
        }
        for (phrase, instead) in WORDS {
            let allowed = EXCEPTIONS.iter().any(|(end, excepted)| {
                path.ends_with(end) && (excepted.is_empty() || excepted == phrase)
            });
            if has_phrase(line, phrase) && !allowed {
                faults.push(format!("{number}: {phrase:?}; better: {instead}"));
            }
        }
    }
    faults
}

/// Whether a line is a comment of its language.
fn is_comment(path: &Path, line: &str) -> bool {
    let line = line.trim_start();
    match path.extension().and_then(|end| end.to_str()) {
        Some("py" | "toml" | "sh") => line.starts_with("# "),
        // Rows of a table cannot be wrapped.
        _ => line.starts_with("//") && !line.trim_start_matches(['/', '!', ' ']).starts_with('|'),
    }
}

/// Whether a line cannot be wrapped because of a link.
fn has_link(line: &str) -> bool {
    line.split_whitespace().any(|word| word.contains("://") && word.chars().count() > 40)
}

/// Whether a phrase is in a line, not as a part of longer words.
fn has_phrase(line: &str, phrase: &str) -> bool {
    line.match_indices(phrase).any(|(at, _)| {
        let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let after = &line[at + phrase.len()..];
        !inside(line[..at].chars().next_back())
            && (phrase.ends_with('.') || !inside(after.chars().next()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(name: &str, text: &str) -> usize {
        prose(Path::new(name), text, true).len()
    }

    #[test]
    fn long_comments_are_faults_and_long_code_is_not() {
        let long = "word ".repeat(21);
        assert_eq!(faults("a.rs", &format!("    // {long}")), 1);
        assert_eq!(faults("a.rs", &format!("let a = \"{long}\"; // short")), 0);
        assert_eq!(faults("a.rs", &format!("/// See <https://example.org/{}>", "a".repeat(90))), 0);
        assert_eq!(faults("a.rs", &format!("//! | {long} |")), 0);
        assert_eq!(prose(Path::new("a.rs"), &format!("// {long}"), false).len(), 0);
        assert_eq!(faults("a.py", &format!("# {long}")), 1);
        assert_eq!(faults("a.md", &long), 1);
        assert_eq!(faults("a.md", &format!("| {long} |\n```sh\n{long}\n```\n")), 0);
        assert_eq!(faults("a.md", &format!("```sh\n```\n{long}")), 1);
    }

    #[test]
    fn phrases_are_found_as_whole_words() {
        assert_eq!(faults("a.rs", "// It begins anew."), 1);
        assert_eq!(faults("a.rs", "// A renewed, canewed try."), 0);
        assert_eq!(faults("a.rs", "// the beginning, the begin"), 1);
        assert_eq!(faults("a.rs", "// SAFETY: the caller's."), 1);
        assert_eq!(faults("a.rs", "// the caller's buffer"), 0);
        assert_eq!(faults("xtask/src/measured.rs", "it was not asked for"), 0);
    }
}
