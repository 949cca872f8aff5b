// SPDX-License-Identifier: Apache-2.0
//! Checks the guide on schemas: its examples parse, its types exist and compile to plans.

use std::path::Path;
use std::sync::Arc;

use arrowsmith_plan::Plan;
use arrowsmith_plan::text::{format_schema, parse_schema};

fn guide() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/schema.md");
    std::fs::read_to_string(path).unwrap()
}

fn section<'a>(guide: &'a str, heading: &str) -> &'a str {
    let start = guide.find(heading).unwrap() + heading.len();
    let rest = &guide[start..];
    &rest[..rest.find("\n##").unwrap_or(rest.len())]
}

/// The texts between backquotes: of one line, or of blocks.
fn quoted<'a>(text: &'a str, quote: &str) -> Vec<&'a str> {
    text.split(quote).skip(1).step_by(2).collect()
}

#[test]
fn the_example_is_a_schema() {
    let guide = guide();
    let block = quoted(section(&guide, "## The text form"), "```")[0];
    let schema = parse_schema(block.strip_prefix("text").unwrap()).unwrap();
    assert_eq!(schema.fields().len(), 7);
    assert_eq!(parse_schema(&format_schema(&schema)).unwrap(), schema);
    Plan::new(Arc::new(schema)).unwrap();
}

#[test]
fn every_type_of_the_table_makes_a_plan() {
    let guide = guide();
    let table = section(&guide, "### Types");
    let mut types = 0;
    for row in table.lines().filter(|line| line.starts_with("| `")) {
        for name in quoted(row.split(" | ").next().unwrap(), "`") {
            // `s` `ms` `us` `ns` after a type are its other units.
            if name.len() > 2 {
                types += 1;
                let schema = parse_schema(&format!("a: {name}")).unwrap();
                Plan::new(Arc::new(schema)).unwrap();
            }
        }
    }
    assert!(types > 45, "{types}");
    // Types that are only printed; lines may end anywhere in the sentence.
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    for name in quoted(words.split("can be printed").nth(1).unwrap(), "`") {
        let schema = parse_schema(&format!("a: {}", name.replace('…', "1 x: int8")))
            .or_else(|_| parse_schema(&format!("a: {}", name.replace('…', "int8"))));
        let known = ["item", "key", "value", "sorted", "entries NAME"];
        assert!(schema.is_ok() || known.contains(&name), "{name}");
    }
}

#[test]
fn the_error_is_what_is_said() {
    let guide = guide();
    let error = parse_schema("\n\nts: timestamp(us, UTC)").unwrap_err().to_string();
    let message = error.strip_prefix("schema: ").unwrap();
    assert!(guide.contains(message), "{message}");
}
