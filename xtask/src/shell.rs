// SPDX-License-Identifier: Apache-2.0
//! Paths, and short shell commands.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Cargo's target folder.
pub fn target() -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| "target".into());
    if folder.is_absolute() { folder } else { root().join(folder) }
}

/// Removes the variables that `cargo run` sets for this program. With them the build script of ring
/// runs again, and all that depends on it is compiled again, whenever a plain `cargo build` or
/// `cargo test` came between.
pub fn without_cargo_run(process: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            process.env_remove(name);
        }
    }
}

/// A shell command, run in the root of the repository.
fn shell(script: &str) -> Command {
    let mut command = Command::new("bash");
    command.args(["-c", script]).current_dir(root()).stdin(Stdio::null());
    command.envs(corpora().map(|folder| ("ARROWSMITH_CORPORA", folder)));
    command
}

/// Whether a shell command succeeds; its output is discarded.
pub fn succeeds(script: &str) -> bool {
    let mut command = shell(script);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Runs a shell command and shows its output; returns whether it succeeded.
pub fn run(script: &str) -> bool {
    shell(script).status().is_ok_and(|status| status.success())
}

/// The trimmed output of a shell command; empty if it fails.
pub fn output(script: &str) -> String {
    let got = shell(script).stderr(Stdio::null()).output();
    let got = got.ok().filter(|got| got.status.success());
    got.map(|got| String::from_utf8_lossy(&got.stdout).trim().to_owned()).unwrap_or_default()
}

/// The folder of third-party test files: `ARROWSMITH_CORPORA`, or a folder beside the repository.
pub fn corpora() -> Option<PathBuf> {
    let named = std::env::var_os("ARROWSMITH_CORPORA").map(PathBuf::from);
    let beside = || root().ancestors().map(|above| above.join("../shared/corpora"));
    let all: Vec<PathBuf> = named.map_or_else(|| beside().collect(), |named| vec![named]);
    all.into_iter().find(|folder| folder.is_dir()).and_then(|folder| folder.canonicalize().ok())
}
