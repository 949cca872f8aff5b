// SPDX-License-Identifier: Apache-2.0
//! The libraries of today's approaches, fetched by Maven into a folder of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::JvmError;
use crate::jdk::{Jdk, tool};

const POM: &str = include_str!("../templates/pom.xml");
/// Protobuf's compiler matches its library; both are of one release.
const PROTOC: &str = "com.google.protobuf:protoc:4.29.3:exe";

/// Jars, and Protobuf's compiler.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Libraries {
    /// The jars.
    pub jars: Vec<PathBuf>,
    /// Protobuf's compiler.
    pub protoc: Option<PathBuf>,
}

impl Libraries {
    /// Fetches Arrow Java, Kryo, Protobuf and JMH by Maven, if they are missing; and Arrowsmith's
    /// own jar, if Maven has it (`tools/java install` puts it there).
    ///
    /// # Errors
    /// If Maven is missing or fails.
    pub fn install(folder: &Path, jdk: &Jdk) -> Result<Self, JvmError> {
        let folder = std::path::absolute(folder).map_err(JvmError::io(folder))?;
        fs::create_dir_all(&folder).map_err(JvmError::io(&folder))?;
        let pom = folder.join("pom.xml");
        let jars = folder.join("jars");
        let own = folder.join("own");
        let done = fs::read_to_string(&pom).is_ok_and(|text| text == POM) && jars.is_dir();
        if !done {
            fs::write(&pom, POM).map_err(JvmError::io(&pom))?;
            let copied = maven(&folder, jdk, "dependency:copy-dependencies", &jars, &[]);
            if let Err(error) = copied {
                let _ = fs::remove_dir_all(&jars);
                return Err(error);
            }
        }
        // For this platform, if there is one.
        let protoc = folder.join("protoc");
        if !protoc.is_dir() {
            let artifact = format!("-Dartifact={PROTOC}:{}", classifier());
            let _ = maven(&folder, jdk, "dependency:copy", &protoc, &[&artifact]);
        }
        // Fetched again each time: it is the library under development.
        let _ = fs::remove_dir_all(&own);
        let artifact = "-Dartifact=io.arrowsmith:arrowsmith:0.1.0";
        let _ = maven(&folder, jdk, "dependency:copy", &own, &["-o", artifact]);
        let mut found = Self { jars: listed(&jars, ".jar"), protoc: None };
        found.jars.extend(listed(&own, ".jar"));
        if let Some(program) = listed(&protoc, ".exe").into_iter().next() {
            executable(&program)?;
            found.protoc = Some(program);
        }
        Ok(found)
    }

    /// Whether there is a jar with this prefix.
    pub(crate) fn has(&self, prefix: &str) -> bool {
        self.jars.iter().any(|jar| {
            jar.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix))
        })
    }
}

fn maven(folder: &Path, jdk: &Jdk, goal: &str, to: &Path, more: &[&str]) -> Result<(), JvmError> {
    let mut command = Command::new("mvn");
    command.args(["-B", "-ntp", "-q"]).arg(goal).args(more);
    command.arg(format!("-DoutputDirectory={}", to.display()));
    tool(command.current_dir(folder).env("JAVA_HOME", &jdk.home))?;
    Ok(())
}

fn classifier() -> String {
    let system = if cfg!(target_os = "macos") { "osx" } else { "linux" };
    let machine = if cfg!(target_arch = "aarch64") { "aarch_64" } else { "x86_64" };
    format!("{system}-{machine}")
}

fn listed(folder: &Path, end: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().ends_with(end))
        .collect();
    found.sort();
    found
}

pub(crate) fn executable(program: &Path) -> Result<(), JvmError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(program, mode).map_err(JvmError::io(program))?;
    }
    Ok(())
}
