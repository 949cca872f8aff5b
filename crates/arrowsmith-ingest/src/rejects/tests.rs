// SPDX-License-Identifier: Apache-2.0
//! Tests of the rejects: half a line that a killed process left.

use std::cell::Cell;
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

/// What is left is the newest, without a gap; the sizes are kept, also by the next process.
#[test]
fn beyond_a_limit_the_oldest_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let removed = IntCounter::new("removed", "bytes").unwrap();
    let open = |limit: Option<u64>| {
        let rejects = Rejects::new(disk::system(), folder.path().to_owned(), "s", false);
        match limit {
            Some(bytes_max) => rejects.with_limit(bytes_max, removed.clone()),
            None => rejects,
        }
    };
    let next = Cell::new(0);
    let add = |rejects: &mut Rejects, lines: usize| {
        let numbers = next.get()..next.get() + lines;
        let lines: Vec<Reject> = numbers.clone().map(|n| reject(&format!("{n:09}"))).collect();
        next.set(numbers.end);
        rejects.add(&lines).unwrap();
    };
    let kept = || {
        let rejects = open(None);
        let complete = rejects.complete().unwrap();
        let mut paths: Vec<PathBuf> = complete.iter().map(|n| rejects.complete_path(*n)).collect();
        paths.push(rejects.path());
        paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect::<String>()
    };
    fs::write(folder.path().join("s.rejects-x.jsonl"), "another's").unwrap();
    fs::write(folder.path().join("t.rejects-1.jsonl"), "another's").unwrap();
    add(&mut open(None), 500);
    let line = kept().len() / 500;
    assert_eq!(open(None).complete().unwrap(), Vec::<u64>::new());
    // One file of 500 lines, which no limit said anything of; then files of 25.
    let limit = 100 * line as u64;
    let mut rejects = open(Some(limit));
    for lines in [1, 3, 24, 25, 20, 5, 5, 10, 1, 1] {
        add(&mut rejects, lines);
    }
    for (rejects, lines) in [(&mut rejects, 7), (&mut open(Some(limit)), 9)] {
        for _ in 0..40 {
            add(rejects, lines);
            let text = kept();
            assert!(text.len() as u64 <= limit, "{} bytes", text.len());
            // A file ends before it is full, and one more is removed than had to be.
            assert!(text.len() as u64 >= limit / 2, "{} bytes", text.len());
        }
    }
    let text = kept();
    let found: Vec<usize> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|line| line["text"].as_str().unwrap().parse().unwrap())
        .collect();
    let all: Vec<usize> = (next.get() - found.len()..next.get()).collect();
    assert_eq!(found, all);
    assert_eq!(usize::try_from(removed.get()).unwrap() + text.len(), next.get() * line);
    // More at once than may be kept.
    let mut rejects = open(Some(limit));
    for lines in [300, 1, 300] {
        add(&mut rejects, lines);
        assert!((limit / 2..=limit).contains(&(kept().len() as u64)));
    }
    // A line that is larger than all may be is kept until there is another.
    rejects.add(&[reject(&"x".repeat(100_000))]).unwrap();
    assert!(kept().len() > 100_000);
    add(&mut rejects, 1);
    assert_eq!(kept().lines().count(), 1);
    for other in ["s.rejects-x.jsonl", "t.rejects-1.jsonl"] {
        assert!(folder.path().join(other).exists());
    }
}
