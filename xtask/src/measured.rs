// SPDX-License-Identifier: Apache-2.0
//! Checks that a benchmark has measured every engine that it knows: one that cannot be built is not
//! an error for the benchmark, but for us.

use std::fs;
use std::process::ExitCode;

/// Accepted reasons for a missing engine.
const FINE: &[&str] = &["Debian 12 has no package of it", "it was not asked for"];

/// Reads results of `arrowsmith bench`, and reports the engines without any row.
pub fn measured(files: &[&str]) -> ExitCode {
    let mut faults = 0;
    for file in files {
        let Ok(text) = fs::read_to_string(file) else {
            eprintln!("{file}: cannot be read");
            return ExitCode::FAILURE;
        };
        for (engine, reason) in missing(&text) {
            eprintln!("{file}: {engine} was not measured: {reason}");
            faults += 1;
        }
    }
    if faults == 0 && !files.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The engines listed as not measured that have no other row, with the reason.
fn missing(result: &str) -> Vec<(&str, &str)> {
    let Some((before, listed)) = result.split_once("\"not_measured\": [") else {
        return vec![("anything", "the file is no result")];
    };
    // On a line of its own, with the key's indentation.
    let (listed, after) = listed.split_once("\n  ]").unwrap_or((listed, ""));
    let rows = |engine: &str| {
        let named = format!("\": \"{engine}\"");
        before.contains(&named) || after.contains(&named)
    };
    let entries = listed.split('{').skip(1);
    let entries = entries.map(|entry| (field(entry, "engine"), field(entry, "reason")));
    let absent = |(engine, reason): &(&str, &str)| {
        !engine.is_empty() && !rows(engine) && !FINE.contains(reason)
    };
    entries.filter(absent).collect()
}

/// The text of a field on a line of its own.
fn field<'a>(object: &'a str, name: &str) -> &'a str {
    let rest = object.split_once(&format!("\"{name}\": \"")).map_or("", |(_, rest)| rest);
    let line = rest.lines().next().unwrap_or_default();
    line.strip_suffix(',').unwrap_or(line).trim_end_matches('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_in_no_row_is_missing() {
        let result = r#"{
  "rows": [
    {
      "engine": "a"
    }
  ],
  "not_measured": [
    {
      "engine": "a",
      "workload": "one",
      "reason": "it cannot read [] of this"
    },
    {
      "engine": "b",
      "workload": "",
      "reason": "error: unresolved \"x\" [E0432]"
    },
    {
      "engine": "c",
      "workload": "",
      "reason": "it was not asked for"
    }
  ]
}"#;
        assert_eq!(missing(result), [("b", "error: unresolved \\\"x\\\" [E0432]")]);
        assert_eq!(missing(r#"{"rows": [], "not_measured": []}"#), []);
        assert_eq!(missing("{}").len(), 1);
    }
}
