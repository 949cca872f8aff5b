// SPDX-License-Identifier: Apache-2.0
//! Finds the JDKs of this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::JvmError;

/// A JDK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jdk {
    /// Its folder.
    pub home: PathBuf,
    /// Its version: 17, 25.
    pub feature: u32,
}

impl Jdk {
    /// All JDKs of this machine, one of each version, the oldest first: `JAVA_HOME`, that of
    /// `java`, and those in the system's usual folders.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut homes: Vec<PathBuf> = Vec::new();
        homes.extend(std::env::var_os("JAVA_HOME").map(PathBuf::from));
        let path = std::env::var_os("PATH").unwrap_or_default();
        for folder in std::env::split_paths(&path) {
            let program = folder.join("javac");
            if let Ok(real) = program.canonicalize() {
                homes.extend(real.parent().and_then(Path::parent).map(Path::to_owned));
                break;
            }
        }
        for folder in ["/usr/lib/jvm", "/opt/java", "/Library/Java/JavaVirtualMachines"] {
            let Ok(entries) = fs::read_dir(folder) else { continue };
            let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            found.sort();
            for home in found {
                homes.push(home.join("Contents/Home"));
                homes.push(home);
            }
        }
        let mut all: Vec<Self> = Vec::new();
        for home in homes {
            if let Some(jdk) = Self::at(&home)
                && all.iter().all(|other| other.feature != jdk.feature)
            {
                all.push(jdk);
            }
        }
        all.sort_by_key(|jdk| jdk.feature);
        all
    }

    /// The JDK in a folder, if it is version 17 or newer.
    #[must_use]
    pub fn at(home: &Path) -> Option<Self> {
        let release = fs::read_to_string(home.join("release")).ok()?;
        let line = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
        let digits: String =
            line.trim_matches('"').chars().take_while(char::is_ascii_digit).collect();
        let feature = digits.parse().ok()?;
        let whole = home.join("bin/javac").is_file() && home.join("bin/java").is_file();
        (whole && feature >= 17).then(|| Self { home: home.to_owned(), feature })
    }

    /// One of its programs.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.home.join("bin").join(name)
    }
}

/// Runs a tool to its end; its output is the error if it fails.
pub(crate) fn tool(command: &mut Command) -> Result<Vec<u8>, JvmError> {
    let name = Path::new(command.get_program()).file_name().unwrap_or_default();
    let tool = name.to_string_lossy().into_owned();
    let failed = |message: String| JvmError::Tool { tool: tool.clone(), message };
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| failed(format!("cannot be started: {error}")))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    // The compiler's first warnings are not the cause of its failure.
    let from = said.find("error").map_or(0, |at| said[..at].rfind('\n').map_or(0, |line| line + 1));
    let lines: Vec<&str> =
        said[from..].lines().filter(|line| !line.trim().is_empty()).take(12).collect();
    Err(failed(if lines.is_empty() { output.status.to_string() } else { lines.join("\n") }))
}
