// SPDX-License-Identifier: Apache-2.0
//! Statements at the limits of tokens, links and depth.

use super::*;

#[test]
fn chains_are_counted_before_they_are_parsed() {
    let long = |first: &str, link: &str| format!("select {first}{}", link.repeat(LINKS_MAX + 1));
    for (first, link) in [
        ("1", "+1"),
        ("1", " + 1"),
        ("true", " or true"),
        ("1", " is null"),
        ("1", "::int"),
        ("1", " union all select 1"),
        ("1", " between 0 and 1"),
        ("a", "[1]"),
        ("a", " collate b"),
        ("", "not "),
        ("", "- "),
        ("'a'", "||'a'"),
        ("1 from a", " join a"),
        ("a", "->a"),
        ("a", " at time zone 'utc'"),
    ] {
        let refused = text(&long(first, link)).unwrap_err();
        assert!(refused.message().contains("operators"), "{}", refused.message());
    }
}

/// What the parser reads by recursion without counting it.
#[test]
fn brackets_and_intervals_are_counted_before_they_are_parsed() {
    let deep = |count: usize| format!("select 1 from a match_recognize ({}", "(".repeat(count));
    assert!(text(&deep(BRACKETS_MAX - 1)).is_ok());
    assert!(text(&deep(BRACKETS_MAX)).unwrap_err().message().contains("brackets"));
    let row = |count: usize| format!("select {}'1 day'", "interval /* */ ".repeat(count));
    assert!(text(&row(INTERVALS_MAX)).is_ok());
    assert!(text(&row(INTERVALS_MAX + 1)).unwrap_err().message().contains("INTERVAL"));
    let flat = "interval '1 day', (1), [1], ".repeat(1_000);
    assert!(text(&format!("select {flat} 1")).is_ok());
}

#[test]
fn lists_are_flat() {
    let numbers = "-1, ".repeat(50_000);
    assert!(text(&format!("select * from a where b in ({numbers} 1)")).is_ok());
    let rows = "(1, 'a'), ".repeat(20_000);
    assert!(text(&format!("select * from (values {rows} (1, 'b'))")).is_ok());
    let list = " or a = 1".repeat(1_000);
    assert!(text(&format!("select * from b where a = 0{list}")).is_ok());
    assert!(text(&"x".repeat(STATEMENT_BYTES_MAX + 1)).is_err());
    assert!(text(&"x ".repeat(TOKENS_MAX + 1)).is_err());
}
