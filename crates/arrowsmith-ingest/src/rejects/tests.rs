// SPDX-License-Identifier: Apache-2.0
//! Tests of the rejects: half a line that a killed process left.

use std::fs;

use arrowsmith_core::{DataError, ErrorKind, Position};

use super::*;
use crate::disk;

fn reject(text: &str) -> Reject {
    let error = DataError {
        kind: ErrorKind::Syntax,
        position: Position::default(),
        path: String::new(),
        expected: String::new(),
        found: String::new(),
        hint: None,
    };
    Reject { error, record: text.as_bytes().to_vec(), kept_as_null: false }
}

#[test]
fn half_a_line_is_cut_off_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Rejects::new(disk::system(), folder.path().to_owned(), "s", true);
    let long = "x".repeat(200_000);
    let mut rejects = open();
    rejects.add(&[reject("a"), reject("b")]).unwrap();
    let path = rejects.path();
    let whole = fs::read(&path).unwrap();
    rejects.add(&[reject(&long)]).unwrap();
    let all = fs::read(&path).unwrap();
    drop(rejects);
    for len in [0, 1, whole.len(), whole.len() + 1, all.len() - 150_000, all.len() - 1, all.len()] {
        fs::write(&path, &all[..len]).unwrap();
        open().add(&[reject("next")]).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let found: Vec<String> = text
            .lines()
            .map(|line| {
                serde_json::from_str::<serde_json::Value>(line).unwrap()["text"].to_string()
            })
            .collect();
        let kept = all[..len].iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(found.len(), kept + 1, "cut at {len}");
        assert_eq!(found[kept], "\"next\"");
    }
}
