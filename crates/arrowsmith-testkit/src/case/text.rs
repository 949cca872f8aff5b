// SPDX-License-Identifier: Apache-2.0
//! A file of cases as canonical text, which expectations are written in for review.

use std::fmt::Write;

use super::{Case, CaseFile, Expected, ExpectedReject, Options};

const HEADER: &str = "# SPDX-License-Identifier: Apache-2.0\n";

/// The text of a file. Parsing it gives the file again.
pub fn to_toml(file: &CaseFile) -> String {
    let mut out = format!("{HEADER}about = {}\n", quoted(&file.about));
    for case in &file.case {
        write_case(&mut out, case);
    }
    out
}

/// A TOML string: literal where that is more readable.
fn quoted(text: &str) -> String {
    let literal = !text.contains(['\'', '\n', '\r', '\t', '\u{7f}']);
    if literal && !text.chars().any(char::is_control) {
        format!("'{text}'")
    } else {
        let mut out = String::from("\"");
        for char in text.chars() {
            // Writing to a string cannot fail.
            let _ = match char {
                '"' | '\\' => write!(out, "\\{char}"),
                '\n' => write!(out, "\\n"),
                '\r' => write!(out, "\\r"),
                '\t' => write!(out, "\\t"),
                char if char.is_control() => write!(out, "\\u{:04x}", u32::from(char)),
                char => write!(out, "{char}"),
            };
        }
        out.push('"');
        out
    }
}

fn write_case(out: &mut String, case: &Case) {
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    line(String::new());
    line("[[case]]".to_owned());
    line(format!("name = {}", quoted(&case.name)));
    line(format!("schema = {}", quoted(&case.schema)));
    if !case.columns.is_empty() {
        let columns: Vec<_> = case.columns.iter().map(|column| quoted(column)).collect();
        line(format!("columns = [{}]", columns.join(", ")));
    }
    if case.framing != "lines" {
        line(format!("framing = {}", quoted(&case.framing)));
    }
    let options = options(&case.options);
    if !options.is_empty() {
        line(format!("options = {{ {} }}", options.join(", ")));
    }
    if let Some(input) = &case.input {
        line(format!("input = {}", quoted(input)));
    }
    if let Some(digits) = &case.input_hex {
        line(format!("input_hex = {}", quoted(digits)));
    }
    match case.rows.as_slice() {
        [] => {}
        [row] => line(format!("rows = [{}]", quoted(row))),
        rows => {
            line("rows = [".to_owned());
            rows.iter().for_each(|row| line(format!("  {},", quoted(row))));
            line("]".to_owned());
        }
    }
    if let Some(error) = &case.error {
        line(format!("error = {}", expected(error)));
    }
    if !case.rejects.is_empty() {
        line("rejects = [".to_owned());
        case.rejects.iter().for_each(|reject| line(format!("  {},", rejected(reject))));
        line("]".to_owned());
    }
}

fn options(options: &Options) -> Vec<String> {
    let mut parts = Vec::new();
    let texts = [
        ("on_error", &options.on_error),
        ("duplicate_keys", &options.duplicate_keys),
        ("unknown_keys", &options.unknown_keys),
        ("dialect", &options.dialect),
    ];
    for (name, value) in texts {
        parts.extend(value.iter().map(|value| format!("{name} = {}", quoted(value))));
    }
    let flags = [("allow_nan", options.allow_nan), ("trust", options.trust)];
    parts.extend(flags.iter().filter(|(_, on)| *on).map(|(name, _)| format!("{name} = true")));
    let numbers =
        [("depth_max", options.depth_max), ("record_bytes_max", options.record_bytes_max)];
    for (name, value) in numbers {
        parts.extend(value.iter().map(|value| format!("{name} = {value}")));
    }
    parts
}

fn expected(error: &Expected) -> String {
    let mut parts = vec![format!("kind = {}, offset = {}", quoted(&error.kind), error.offset)];
    if error.line != 1 {
        parts.push(format!("line = {}", error.line));
    }
    if error.record != 0 {
        parts.push(format!("record = {}", error.record));
    }
    if !error.path.is_empty() {
        parts.push(format!("path = {}", quoted(&error.path)));
    }
    format!("{{ {} }}", parts.join(", "))
}

fn rejected(reject: &ExpectedReject) -> String {
    let mut parts = vec![format!("error = {}", expected(&reject.error))];
    parts.extend(reject.text.iter().map(|text| format!("text = {}", quoted(text))));
    parts.extend(reject.text_hex.iter().map(|text| format!("text_hex = {}", quoted(text))));
    if reject.kept {
        parts.push("kept = true".to_owned());
    }
    format!("{{ {} }}", parts.join(", "))
}
