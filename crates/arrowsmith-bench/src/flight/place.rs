// SPDX-License-Identifier: Apache-2.0
//! Where servers and clients run: in a network namespace that is created for the run, if possible
//! (it requires root): its loopback device counts only their bytes. The machine's own network is
//! not changed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::namespace::{Namespace, ip};
use crate::process::Process;

/// A namespace with only a loopback device.
pub(super) fn loopback() -> Result<Namespace, String> {
    let namespace = Namespace::make(format!("arrowsmith-flight-{}", std::process::id()))?;
    ip(&format!("-n {} link set lo up", namespace.name()))?;
    Ok(namespace)
}

/// Tells the allocators of C and of Arrow to keep freed memory.
///
/// Whether glibc trims its heap after a query depends on the allocation at its end: without this a
/// client takes 0.16 s or 0.32 s for the same query of the same server, for 2,000 or 130,000 page
/// faults.
const KEEP_MEMORY: [(&str, &str); 3] = [
    ("MALLOC_TRIM_THRESHOLD_", "1099511627776"),
    ("MALLOC_MMAP_THRESHOLD_", "33554432"),
    ("MIMALLOC_PURGE_DELAY", "-1"),
];

/// Where processes are started.
#[derive(Debug, Default)]
pub(super) struct Place {
    /// Whether processes keep memory between queries; the same for all of them.
    pub(super) keep_memory: bool,
    pub(super) namespace: Option<Namespace>,
    /// For their error output.
    pub(super) folder: PathBuf,
}

impl Place {
    /// A command inside of the namespace.
    pub(super) fn command(&self, words: &[PathBuf]) -> Command {
        let mut all: Vec<&Path> = words.iter().map(PathBuf::as_path).collect();
        if let Some(namespace) = &self.namespace {
            all.splice(0..0, namespace.prefix().map(Path::new));
        }
        let mut all = all.into_iter();
        let mut command = Command::new(all.next().unwrap_or(Path::new("false")));
        command.args(all);
        if self.keep_memory {
            command.envs(KEEP_MEMORY);
        }
        command
    }

    /// A running command.
    pub(super) fn start(&self, command: Command, name: &str) -> Result<Process, String> {
        Process::start(command, name, &self.folder)
    }

    /// Bytes over the network so far, with all protocol overhead; `None` without a namespace.
    pub(super) fn network_bytes(&self) -> Option<u64> {
        let name = self.namespace.as_ref()?.name();
        let printed = ip(&format!("-s -j -n {name} link show lo")).ok()?;
        let links: serde_json::Value = serde_json::from_slice(&printed).ok()?;
        links[0]["stats64"]["tx"]["bytes"].as_u64()
    }
}
