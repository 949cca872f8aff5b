// SPDX-License-Identifier: Apache-2.0
//! The first lines of the README, run as they stand, in order, in an empty folder.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

#[test]
fn sixty_seconds_run_as_they_stand() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = fs::read_to_string(readme).unwrap();
    let section = text.split("\n## Sixty seconds\n").nth(1).unwrap();
    let script = section.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    // Less of the same data.
    let script = script.replace("64MiB", "64KiB");
    assert!(script.matches("arrowsmith ").count() > 8, "{script}");

    let folder = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_arrowsmith")).parent().unwrap();
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = [program.to_owned()].into_iter().chain(env::split_paths(&path));
    let out = Command::new("bash")
        .args(["-e", "-o", "pipefail", "-x", "-c", &script])
        .env("PATH", env::join_paths(folders).unwrap())
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    for made in ["logs.arrow", "ids.parquet", "days.arrow", "bad.jsonl", "some.arrow"] {
        assert!(fs::metadata(folder.path().join(made)).unwrap().len() > 0, "{made}");
    }
}
