// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith generate`.

use crate::cli::run::Folder;

#[test]
fn the_same_bytes_to_a_file_and_to_standard_output() {
    let folder = Folder::new();
    let ran =
        folder.run(&["generate", "battery", "--bytes", "3MiB", "--max-values", "8", "-o", "b"]);
    ran.assert_status(0);
    assert!(ran.stderr.contains("records; 3.0 MiB out; "), "{}", ran.stderr);
    assert!(ran.stdout.is_empty());
    let bytes = folder.read("b");
    let last = bytes[..bytes.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap();
    assert!(bytes.len() >= 3 << 20 && last + 1 < 3 << 20, "whole records, and not one too many");
    assert!(bytes.starts_with(b"{\"voltage\":["));

    let piped =
        folder.run(&["generate", "battery", "--bytes", "3MiB", "--max-values", "8", "--quiet"]);
    assert_eq!(piped.assert_status(0).stderr, "");
    assert!(piped.stdout == bytes);
    let other =
        folder.run(&["generate", "battery", "--bytes", "3MiB", "--max-values", "8", "--seed", "1"]);
    assert!(other.stdout != bytes);
    assert_eq!(folder.names(), ["b"]);
}

#[test]
fn rows_are_counted_and_layouts_differ_in_white_space_only() {
    let folder = Folder::new();
    let plain = folder.run(&["generate", "trip", "--rows", "3"]).stdout;
    let spaced = folder.run(&["generate", "trip", "--rows", "3", "--spaced"]).stdout;
    let pretty = folder.run(&["generate", "trip", "--rows", "3", "--pretty"]).stdout;
    let count = |bytes: &[u8]| bytes.iter().filter(|&&byte| byte == b'\n').count();
    assert_eq!((count(&plain), count(&spaced)), (3, 3));
    assert!(count(&pretty) > 30);
    let dense = |bytes: &[u8]| -> Vec<u8> {
        bytes.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect()
    };
    assert_eq!(dense(&plain), dense(&spaced));
    assert_eq!(dense(&plain), dense(&pretty));
    assert!(folder.run(&["generate", "logs", "--rows", "0"]).assert_status(0).stdout.is_empty());
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let folder = Folder::new();
    let mut child = folder.command(&["generate", "trip", "--bytes", "1GiB"]).spawn().unwrap();
    drop(child.stdout.take());
    let ran = crate::cli::run::finish(child);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
}

#[test]
fn a_folder_that_is_missing_is_named() {
    let folder = Folder::new();
    let ran = folder.run(&["generate", "trip", "-o", "no/such/file"]);
    ran.assert_status(1);
    assert_eq!(ran.stderr, "error: no/such/file: No such file or directory (os error 2)\n");
}
