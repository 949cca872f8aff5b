// SPDX-License-Identifier: Apache-2.0
//! `cargo xtask setup`: installs the tools that tests need, and prints them. The only place that
//! installs Debian packages: all missing ones in one call.

use std::process::ExitCode;

use crate::tools::{Install, Tool, missing, report_missing};
use crate::{shell, steps};

/// Installs the tools of some areas, or of all; `full` also installs those of the full run.
pub fn setup(arguments: &[&str]) -> ExitCode {
    let full = arguments.contains(&"full");
    let areas: Vec<&str> = arguments.iter().copied().filter(|area| *area != "full").collect();
    if areas.iter().any(|area| !steps::AREAS.contains(area)) {
        return crate::usage();
    }
    let left = install(&areas, full);
    if left { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether this is root on a system with Debian packages.
pub fn may_install() -> bool {
    shell::succeeds("[ \"$(id -u)\" -eq 0 ] && command -v apt-get")
}

/// Installs missing tools; returns whether everything is installed afterwards.
pub fn install(areas: &[&str], full: bool) -> bool {
    let absent = missing(areas, full);
    if absent.is_empty() {
        println!("setup: everything is installed");
        return true;
    }
    packages(&absent);
    commands(&absent);
    is_complete(areas, full)
}

/// Installs the Debian packages of missing tools.
pub fn packages(absent: &[&Tool]) {
    let mut packages: Vec<String> = absent.iter().flat_map(|tool| tool.packages()).collect();
    packages.sort();
    packages.dedup();
    if !packages.is_empty() && may_install() {
        println!("setup: packages {}", packages.join(" "));
        // Another apt may be running; the output matters only on failure.
        shell::run(&format!(
            "export DEBIAN_FRONTEND=noninteractive; log=$(mktemp)
             quietly() {{ \"$@\" >\"$log\" 2>&1 || {{ cat \"$log\" >&2; return 1; }}; }}
             quietly apt-get -o DPkg::Lock::Timeout=600 update &&
             quietly apt-get -o DPkg::Lock::Timeout=600 install -y --no-install-recommends {}
             rm -f \"$log\"",
            packages.join(" ")
        ));
    }
}

/// Runs the commands that install missing tools.
pub fn commands(absent: &[&Tool]) {
    for tool in absent {
        if let Install::Command(command) = tool.install {
            println!("setup: {}: {command}", tool.name);
            shell::run(command);
        }
    }
}

/// Whether nothing is missing; prints what is.
pub fn is_complete(areas: &[&str], full: bool) -> bool {
    // Tests the tools themselves instead of the package manager's records.
    let left = missing(areas, full);
    if !left.is_empty() {
        report_missing(&left);
    }
    left.is_empty()
}
