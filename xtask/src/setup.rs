// SPDX-License-Identifier: Apache-2.0
//! `cargo xtask setup`: installs what tests need, and says what. The only place that asks for
//! Debian's packages: once for all that is missing.

use std::process::ExitCode;

use crate::tools::{Brings, complain, missing};
use crate::{shell, steps};

/// Brings what some areas need, or all of them; `full` brings what only the largest run needs
/// besides.
pub fn setup(arguments: &[&str]) -> ExitCode {
    let full = arguments.contains(&"full");
    let areas: Vec<&str> = arguments.iter().copied().filter(|area| *area != "full").collect();
    if areas.iter().any(|area| !steps::AREAS.contains(area)) {
        return crate::usage();
    }
    let left = bring(&areas, full);
    if left { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether this is root on a system that has Debian's packages.
pub fn may_install() -> bool {
    shell::holds("[ \"$(id -u)\" -eq 0 ] && command -v apt-get")
}

/// Whether everything is there afterwards.
pub fn bring(areas: &[&str], full: bool) -> bool {
    let absent = missing(areas, full);
    if absent.is_empty() {
        println!("setup: everything is here");
        return true;
    }
    let mut packages: Vec<String> = absent.iter().flat_map(|tool| tool.packages()).collect();
    packages.sort();
    packages.dedup();
    if !packages.is_empty() && may_install() {
        println!("setup: packages {}", packages.join(" "));
        // Another apt may be at work; what it says matters only if it fails.
        shell::run(&format!(
            "export DEBIAN_FRONTEND=noninteractive; log=$(mktemp)
             quietly() {{ \"$@\" >\"$log\" 2>&1 || {{ cat \"$log\" >&2; return 1; }}; }}
             quietly apt-get -o DPkg::Lock::Timeout=600 update &&
             quietly apt-get -o DPkg::Lock::Timeout=600 install -y --no-install-recommends {}
             rm -f \"$log\"",
            packages.join(" ")
        ));
    }
    for tool in absent {
        if let Brings::Command(command) = tool.brings {
            println!("setup: {}: {command}", tool.name);
            shell::run(command);
        }
    }
    // Not what the package manager believes: what answers.
    let left = missing(areas, full);
    if !left.is_empty() {
        complain(&left);
    }
    left.is_empty()
}
