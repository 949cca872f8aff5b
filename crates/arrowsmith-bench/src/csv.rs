// SPDX-License-Identifier: Apache-2.0
//! The results of any suite as CSV (RFC 4180): one row per measurement, the facts about the run in
//! comments (`#`) before the header.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

/// Columns that name a measurement; they come first.
const NAMES: &[&str] = &["workload", "figure", "engine", "approach", "codec", "server", "client"];

/// The lists of a report, as one table: `table` is the name of the list, a nested object has a
/// column per field (`file.bytes`), a list of numbers is one cell with spaces between them.
///
/// ```
/// let report = serde_json::json!({"suite": "x", "rows": [{"engine": "a", "seconds": [1, 2]}]});
/// assert_eq!(arrowsmith_bench::csv(&report), "# suite: x\ntable,engine,seconds\nrows,a,1 2\n");
/// ```
#[must_use]
pub fn csv(report: &Value) -> String {
    let mut text = String::new();
    let mut rows: Vec<(&str, Vec<(String, String)>)> = Vec::new();
    for (name, value) in report.as_object().into_iter().flatten() {
        match value {
            Value::Array(items) => rows.extend(items.iter().map(|item| (&**name, cells(item)))),
            value => {
                for (part, cell) in cells(value) {
                    let name = if part.is_empty() { name } else { &format!("{name}.{part}") };
                    let _ = writeln!(text, "# {name}: {}", cell.replace('\n', " "));
                }
            }
        }
    }
    let names: BTreeSet<&str> =
        rows.iter().flat_map(|(_, cells)| cells.iter().map(|(name, _)| &**name)).collect();
    let first = NAMES.iter().copied().filter(|name| names.contains(name));
    let rest = names.iter().copied().filter(|name| !NAMES.contains(name));
    let columns: Vec<&str> = first.chain(rest).collect();
    line(&mut text, "table", columns.iter().copied());
    for (table, cells) in &rows {
        let cell = |column: &&str| {
            cells.iter().find(|(name, _)| name == column).map_or("", |(_, cell)| &**cell)
        };
        line(&mut text, table, columns.iter().map(cell));
    }
    text
}

fn line<'a>(text: &mut String, first: &str, rest: impl Iterator<Item = &'a str>) {
    push(text, first);
    for cell in rest {
        text.push(',');
        push(text, cell);
    }
    text.push('\n');
}

fn push(text: &mut String, cell: &str) {
    if cell.contains([',', '"', '\n', '\r']) {
        let _ = write!(text, "\"{}\"", cell.replace('"', "\"\""));
    } else {
        text.push_str(cell);
    }
}

/// The cells of a value, by name; without a name if it is not an object.
fn cells(value: &Value) -> Vec<(String, String)> {
    match value {
        Value::Object(fields) => {
            let mut all = Vec::new();
            for (name, value) in fields {
                for (part, cell) in cells(value) {
                    let dot = if part.is_empty() { "" } else { "." };
                    all.push((format!("{name}{dot}{part}"), cell));
                }
            }
            all
        }
        value => vec![(String::new(), cell(value))],
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().all(|item| !item.is_array() && !item.is_object()) => {
            items.iter().map(cell).collect::<Vec<_>>().join(" ")
        }
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::csv;

    #[test]
    fn lists_are_one_table_with_what_each_has() {
        let report = json!({
            "suite": "s",
            "machine": {"cpu": "c, d", "cores": 2},
            "rows": [
                {"engine": "ours", "workload": "w", "file": {"bytes": 7}, "valid": true},
                {"engine": "a \"b\",\nc", "workload": "w", "points": [[1, 2]]},
            ],
            "goals": [{"goal": 1.5, "met": null}, "none"],
        });
        let expected = "# machine.cores: 2\n# machine.cpu: c, d\n# suite: s\n\
                        table,workload,engine,,file.bytes,goal,met,points,valid\n\
                        goals,,,,,1.5,,,\n\
                        goals,,,none,,,,,\n\
                        rows,w,ours,,7,,,,true\n\
                        rows,w,\"a \"\"b\"\",\nc\",,,,,\"[[1,2]]\",\n";
        let text = csv(&report);
        let mut lines: Vec<&str> = text.lines().collect();
        // Comments come in the order of the report.
        lines[..3].sort_unstable();
        assert_eq!(lines.join("\n") + "\n", expected);
    }
}
