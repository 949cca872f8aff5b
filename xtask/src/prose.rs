// SPDX-License-Identifier: Apache-2.0
//! Rules of `cargo xtask tidy` for prose: comments and Markdown wrap at 100 columns, and use the
//! words that readers of the field search for (CONTRIBUTING.md, "The words we use").
//!
//! `rustfmt` does not wrap comments, and a spelling checker accepts any English word. A phrase is
//! found in any case, also in code and messages, and where it continues on the next line.

use std::fs;
use std::path::Path;

/// Files that the rules apply to, of those that git tracks; and scripts, which open with `#!`.
const EXTENSIONS: &[&str] = &[
    "c", "cpp", "css", "cu", "cuh", "h", "hpp", "html", "java", "js", "md", "mjs", "py", "rs",
    "scala", "sh", "sv", "svh", "toml", "yaml", "yml",
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
    // A test vector of xxHash64.
    ("crates/arrowsmith-parquet-writer/tests/suite/bloom.rs", "nobody"),
    // A reason as the benchmarks write it.
    ("xtask/src/measured.rs", "asked for"),
];

/// Reports lines that are too long, and phrases of [`WORDS`].
pub fn check(root: &Path, faults: &mut Vec<String>) {
    for name in crate::shell::output("git ls-files").lines() {
        let path = root.join(name);
        if path.is_symlink() {
            continue;
        }
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let extension = extension(&path);
        if EXTENSIONS.contains(&extension) || extension.is_empty() && text.starts_with("#!") {
            let width = !GENERATED.iter().any(|folder| name.starts_with(folder));
            faults.extend(prose(&path, &text, width).iter().map(|fault| format!("{name}:{fault}")));
        }
    }
}

fn extension(path: &Path) -> &str {
    path.extension().and_then(|end| end.to_str()).unwrap_or_default()
}

/// The violations in a file, each with its line number; `width` includes lines that are too long.
fn prose(path: &Path, text: &str, width: bool) -> Vec<String> {
    let markdown = extension(path) == "md";
    let mut faults = Vec::new();
    let mut code = false;
    let mut lines = text.lines().enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        let number = at + 1;
        if words(line).starts_with("```") {
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
        let start = words(line).to_lowercase();
        let next = lines.peek().map_or("", |(_, next)| words(next)).to_lowercase();
        for (phrase, instead) in WORDS {
            let allowed = EXCEPTIONS.iter().any(|(end, excepted)| {
                path.ends_with(end) && (excepted.is_empty() || excepted == phrase)
            });
            if has_phrase(&start, &next, phrase) && !allowed {
                faults.push(format!("{number}: {phrase:?}; better: {instead}"));
            }
        }
    }
    faults
}

/// A line without indentation, the signs of a comment or a quotation, and the `\` of a string that
/// continues.
fn words(line: &str) -> &str {
    line.trim_start_matches(['/', '!', '*', '#', '>', ' ', '\t'])
        .trim_end_matches(['\\', ' ', '\t'])
}

/// Whether a line is a comment of its language.
fn is_comment(path: &Path, line: &str) -> bool {
    // Rows of a table cannot be wrapped.
    if words(line).starts_with('|') {
        return false;
    }
    let signs: &[&str] = match extension(path) {
        "" | "py" | "sh" | "toml" | "yaml" | "yml" => &["# "],
        "html" => &["<!--", "// ", "/* "],
        _ => &["//", "/*", "* "],
    };
    signs.iter().any(|sign| line.trim_start().starts_with(sign))
}

/// Whether a line cannot be wrapped because of a link.
fn has_link(line: &str) -> bool {
    line.split_whitespace().any(|word| word.contains("://") && word.chars().count() > 40)
}

/// Whether a phrase starts in a line, and ends there or in the next one; not as a part of longer
/// words.
fn has_phrase(line: &str, next: &str, phrase: &str) -> bool {
    let both = format!("{line} {next}");
    both.match_indices(phrase).any(|(at, _)| {
        let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let after = &both[at + phrase.len()..];
        at < line.len()
            && !inside(both[..at].chars().next_back())
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
        assert_eq!(faults("a.yml", &format!("  # {long}")), 1);
        assert_eq!(faults("tools/script", &format!("# {long}")), 1);
        assert_eq!(faults("a.html", &format!("<!-- {long} -->")), 1);
        for name in ["a.cu", "a.cuh", "a.hpp", "a.h", "a.java", "a.scala", "a.js"] {
            assert_eq!(faults(name, &format!("// {long}")), 1, "{name}");
            assert_eq!(faults(name, &format!("/* short\n * {long}\n */")), 1, "{name}");
            assert_eq!(faults(name, &format!("f(\"{long}\");")), 0, "{name}");
        }
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
        assert_eq!(faults("a.rs", "// Nobody reads."), 1);
        assert_eq!(faults("xtask/src/measured.rs", "it was not asked for"), 0);
    }

    #[test]
    fn phrases_are_found_across_lines() {
        assert_eq!(faults("a.rs", "    /// It takes so\n    /// many bytes."), 1);
        assert_eq!(faults("a.rs", "f(\"takes so \\\n   many bytes\");"), 1);
        assert_eq!(faults("a.cu", "/* It takes so\n * many bytes. */"), 1);
        assert_eq!(faults("a.py", "# takes so\n# much"), 1);
        assert_eq!(faults("a.md", "It takes so\nmany bytes, nobody\nknows."), 2);
        assert_eq!(faults("a.md", "It is so.\n\nMany bytes.\n- so\n- many"), 0);
    }
}
