// SPDX-License-Identifier: Apache-2.0
//! The commands of the README, run as they stand, in order, in an empty folder.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use arrowsmith_testkit::tools::free_address;

/// The shell commands under this heading of the README.
fn commands(heading: &str) -> String {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = fs::read_to_string(readme).unwrap();
    let section = text.split(&format!("\n## {heading}\n")).nth(1).unwrap();
    section.split("```sh\n").nth(1).unwrap().split("```").next().unwrap().to_owned()
}

/// The PATH, with the folder of the command first.
fn path() -> OsString {
    let program = Path::new(env!("CARGO_BIN_EXE_arrowsmith")).parent().unwrap();
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = [program.to_owned()].into_iter().chain(env::split_paths(&path));
    env::join_paths(folders).unwrap()
}

fn bash(folder: &Path, script: &str, variables: &[(&str, &str)]) {
    let out = Command::new("bash")
        .args(["-e", "-o", "pipefail", "-x", "-c", script])
        .env("PATH", path())
        .envs(variables.iter().copied())
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

/// The commands, services in the background until the next one starts: they are waited for by their
/// address, and ended by Ctrl-C, after which they have to exit with success.
fn with_services(commands: &str) -> String {
    let end = "[ -z \"$service\" ] || { kill -INT $service; wait $service; service=; }\n";
    let mut script = "service=\n".to_owned();
    for line in commands.lines() {
        let line = line.split(" # ").next().unwrap().trim_end();
        let Some((_, address)) = line.split_once("--listen 127.0.0.1:") else {
            script += &format!("{line}\n");
            continue;
        };
        let port = address.split(' ').next().unwrap();
        let opens = format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null");
        let wait = format!("until {opens}; do kill -0 $service; sleep 0.1; done\n");
        // Without job control, bash starts what is in the background with SIGINT ignored.
        script += &format!("{end}set -m; {line} & service=$!; set +m\n{wait}");
    }
    script + end
}

#[test]
fn its_commands_run_as_they_stand() {
    // Less of the same data.
    let first = commands("Sixty seconds").replace("64MiB", "64KiB");
    assert!(first.matches("arrowsmith ").count() > 8, "{first}");
    let folder = tempfile::tempdir().unwrap();
    bash(folder.path(), &first, &[]);
    for made in ["logs.arrow", "ids.parquet", "days.arrow", "bad.jsonl", "some.arrow"] {
        assert!(fs::metadata(folder.path().join(made)).unwrap().len() > 0, "{made}");
    }

    let mut services = commands("Receive and serve").replace("64MiB", "64KiB");
    for port in ["10197", "32010"] {
        assert!(services.contains(port), "{services}");
        services = services.replace(port, &free_address().port().to_string());
    }
    let http = free_address().to_string();
    let variables = [("ARROWSMITH_INGEST_SERVICE__HTTP", http.as_str())];
    bash(folder.path(), &with_services(&services), &variables);
    assert!(fs::metadata(folder.path().join("fares.arrow")).unwrap().len() > 0);
    let stored = fs::read_dir(folder.path().join("trips")).unwrap().count();
    assert!(stored > 0, "no file in trips");
}
