// SPDX-License-Identifier: Apache-2.0
//! Network namespaces of the suites that measure networks: created for a run, which requires root
//! and `ip`, and removed after it. The machine's own network is not changed.

use std::process::{Command, Stdio};

use crate::install::run;

/// A network namespace; dropping it removes it, with its devices.
#[derive(Debug)]
pub(crate) struct Namespace(String);

impl Namespace {
    pub(crate) fn make(name: String) -> Result<Self, String> {
        ip(&format!("netns add {name}"))?;
        Ok(Self(name))
    }

    pub(crate) fn name(&self) -> &str {
        &self.0
    }

    /// The words in front of a command that runs inside of it.
    pub(crate) fn prefix(&self) -> [&str; 4] {
        ["ip", "netns", "exec", &self.0]
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).stderr(Stdio::null()).status();
    }
}

/// Runs `ip` with arguments that contain no spaces; returns what it prints.
pub(crate) fn ip(arguments: &str) -> Result<Vec<u8>, String> {
    run(Command::new("ip").args(arguments.split(' ')))
}
