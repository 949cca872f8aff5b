// SPDX-License-Identifier: Apache-2.0
//! Lines of code of every implementation (the paper's Fig. 5): lines that are neither empty nor
//! only a comment.

use serde::Serialize;

use super::{OURS, build};

/// Of one language.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lines {
    /// The language, or ours.
    pub engine: String,
    /// Of the server.
    pub server: usize,
    /// Of the client.
    pub client: usize,
}

/// Counts the embedded sources. Ours is what a user writes: a command for each side.
pub(super) fn count() -> Vec<Lines> {
    let ours = Lines { engine: OURS.to_owned(), server: 1, client: 1 };
    let others = build::USER_SOURCES.iter().map(|(language, server, client)| {
        let sum = |files: &[&str]| {
            let texts = files.iter().filter_map(|file| build::text(language, file));
            texts.map(code_lines).sum()
        };
        Lines { engine: (*language).to_owned(), server: sum(server), client: sum(client) }
    });
    [ours].into_iter().chain(others).collect()
}

fn code_lines(text: &str) -> usize {
    let mut in_text = false;
    let code = |line: &&str| {
        let line = line.trim();
        // A docstring at the head of a Python file is a comment.
        let quotes = line.matches("\"\"\"").count();
        let was_in_text = in_text;
        in_text ^= quotes == 1;
        let comment = ["//", "#", "/*", "*"].iter().any(|mark| line.starts_with(mark))
            && !["#include", "#pragma", "#["].iter().any(|mark| line.starts_with(mark));
        !(line.is_empty() || comment || was_in_text || quotes > 0)
    };
    text.lines().filter(code).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_blanks_do_not_count() {
        assert_eq!(code_lines("// a\n\n#include <x>\nint a; // b\n"), 2);
        assert_eq!(
            code_lines("# a\n\"\"\"one\n\ntwo\"\"\"\n\nimport x\n\"\"\"one line\"\"\"\n"),
            1
        );
        assert_eq!(code_lines("#[test]\n/// a\nfn a() {}\n"), 2);
    }

    #[test]
    fn every_language_is_counted() {
        let lines = count();
        assert_eq!(lines.len(), 5);
        for one in &lines[1..] {
            assert!(one.server > 20 && one.client > 5 && one.client < one.server, "{one:?}");
        }
    }
}
