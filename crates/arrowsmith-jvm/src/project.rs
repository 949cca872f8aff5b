// SPDX-License-Identifier: Apache-2.0
//! A folder with generated sources, and its build.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::JvmError;
use crate::generate;
use crate::jdk::{Jdk, tool};
use crate::layout::Layout;
use crate::libraries::Libraries;

/// A folder with generated sources.
#[derive(Debug, Clone)]
pub struct Project {
    folder: PathBuf,
    classpath: Vec<PathBuf>,
}

/// A project that can be run.
#[derive(Debug, Clone)]
pub struct Built {
    pub(crate) folder: PathBuf,
    pub(crate) classpath: Vec<PathBuf>,
}

impl Project {
    /// Writes the sources for a layout into a folder, which is created; earlier generated files are
    /// replaced.
    ///
    /// # Errors
    /// If the folder contains other files, or cannot be written.
    pub fn generate(layout: &Layout, folder: &Path) -> Result<Self, JvmError> {
        let folder = std::path::absolute(folder).map_err(JvmError::io(folder))?;
        let mark = folder.join("arrowsmith-jvm.txt");
        let empty = match fs::read_dir(&folder) {
            Ok(mut entries) => entries.next().is_none(),
            Err(_) => true,
        };
        if !empty && !mark.is_file() {
            let message = "holds other things; name one that is empty or does not exist";
            return Err(JvmError::Run(format!("{} {message}", folder.display())));
        }
        for old in ["java", "java22", "java-of", "native", "classes", "classes22", "classes-of"] {
            match fs::remove_dir_all(folder.join(old)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(JvmError::io(folder.join(old))(error));
                }
                _ => {}
            }
        }
        fs::create_dir_all(&folder).map_err(JvmError::io(&folder))?;
        fs::write(&mark, MARKER_TEXT).map_err(JvmError::io(&mark))?;
        generate::write(layout, &folder)?;
        Ok(Self { folder, classpath: layout.classpath.clone() })
    }

    /// Its path.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Compiles the native side, and Java with the oldest JDK; sources for newer JDKs with a newer
    /// one. It omits approaches whose library is missing, and those not among `wanted`, unless that
    /// is empty; `jmh` selects the benchmark of single calls.
    ///
    /// # Errors
    /// If a compiler is missing or fails.
    pub fn build(
        &self,
        jdks: &[Jdk],
        libraries: &Libraries,
        wanted: &[&str],
    ) -> Result<Built, JvmError> {
        if cfg!(windows) {
            let message =
                "the approaches in C and the scripts around them need a Unix system".to_owned();
            return Err(JvmError::Tool { tool: "arrowsmith jvm".to_owned(), message });
        }
        let Some(oldest) = jdks.first() else {
            let message = "no JDK of version 17 or newer was found; set JAVA_HOME".to_owned();
            return Err(JvmError::Tool { tool: "javac".to_owned(), message });
        };
        let native = self.folder.join("native");
        let cc = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let system = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
        tool(
            Command::new(cc)
                .args(["-std=gnu11", "-O3", "-march=native", "-shared", "-fPIC", "-pthread"])
                .args(["-Wall", "-Wextra", "-Wno-unused-function", "-I"])
                .arg(oldest.home.join("include"))
                .arg("-I")
                .arg(oldest.home.join("include").join(system))
                .arg("-o")
                .arg(library(&self.folder))
                .arg(native.join("native.c"))
                .arg("-ldl"),
        )?;
        let mut classpath = self.classpath.clone();
        classpath.extend(libraries.jars.iter().cloned());
        let classes = self.folder.join("classes");
        javac(oldest, &self.folder.join("java"), &classes, &classpath)?;
        classpath.insert(0, classes);
        self.today(oldest, libraries, wanted, &mut classpath)?;
        if let Some(newest) = jdks.last().filter(|jdk| jdk.feature >= 22) {
            let classes22 = self.folder.join("classes22");
            javac(newest, &self.folder.join("java22"), &classes22, &classpath)?;
            classpath.insert(0, classes22);
        }
        let built = Built { folder: self.folder.clone(), classpath };
        built.script()?;
        Ok(built)
    }
}

impl Project {
    /// Compiles the approaches that need libraries.
    fn today(
        &self,
        jdk: &Jdk,
        libraries: &Libraries,
        asked: &[&str],
        classpath: &mut Vec<PathBuf>,
    ) -> Result<(), JvmError> {
        let of = self.folder.join("java-of");
        let classes = self.folder.join("classes-of");
        let is_asked = |name: &str| asked.is_empty() || asked.contains(&name);
        let arrow = libraries.has("arrow-vector-") && libraries.has("arrow-memory-netty-");
        let ours = arrow && libraries.has("arrowsmith-") && is_asked("columns");
        let protobuf = libraries.has("protobuf-java-") && is_asked("protobuf");
        let mut wanted = Vec::new();
        if arrow && (ours || is_asked("arrow-java")) {
            wanted.push("arrow");
        }
        if ours {
            wanted.push("ours");
        }
        if libraries.has("kryo-") && is_asked("kryo") {
            wanted.push("kryo");
        }
        if libraries.has("jmh-core-") && asked.contains(&"jmh") {
            wanted.push("jmh");
        }
        if let Some(protoc) = libraries.protoc.as_ref().filter(|_| protobuf) {
            let folder = of.join("protobuf");
            let mut out = std::ffi::OsString::from("--java_out=");
            out.push(&folder);
            tool(Command::new(protoc).current_dir(&folder).arg(out).arg("wire.proto"))?;
            wanted.push("protobuf");
        }
        for library in wanted {
            let to = classes.join(library);
            javac(jdk, &of.join(library), &to, classpath)?;
            classpath.insert(0, to);
        }
        Ok(())
    }
}

const MARKER_TEXT: &str = "Generated by arrowsmith jvm generate: ways from the objects of a layout to native memory.\n\
    java/layout  the classes\njava/bench   the approaches in Java\njava22/bench what needs JDK 22 or newer\njava-of/     what needs libraries\n\
    native/      the approaches in C\n\
    run          runs approaches: JAVA_HOME=... ./run approaches=unsafe,direct objects=1000 threads=2\n\
    Everything here is replaced by the next generate.\n";

pub(crate) fn library(folder: &Path) -> PathBuf {
    folder.join("native").join(if cfg!(target_os = "macos") {
        "libbench.dylib"
    } else {
        "libbench.so"
    })
}

pub(crate) fn joined(classpath: &[PathBuf]) -> Result<std::ffi::OsString, JvmError> {
    std::env::join_paths(classpath)
        .map_err(|error| JvmError::Run(format!("a path cannot be on the class path: {error}")))
}

fn javac(jdk: &Jdk, sources: &Path, to: &Path, classpath: &[PathBuf]) -> Result<(), JvmError> {
    let mut files = Vec::new();
    collect(sources, &mut files)?;
    fs::create_dir_all(to).map_err(JvmError::io(to))?;
    // File names in an argument file: there can be more than a command line takes.
    let list = to.join("sources.txt");
    let text: String = files
        .iter()
        .map(|file| format!("\"{}\"\n", file.display().to_string().replace('\\', "\\\\")))
        .collect();
    fs::write(&list, text).map_err(JvmError::io(&list))?;
    let mut command = Command::new(jdk.program("javac"));
    command.args([
        "-nowarn",
        "-XDenableSunApiLintControl",
        "-Xlint:-options",
        "-encoding",
        "UTF-8",
    ]);
    // Only JMH generates code from annotations.
    let processed = if sources.ends_with("jmh") { "-proc:full" } else { "-proc:none" };
    if processed == "-proc:none" || jdk.feature >= 21 {
        command.arg(processed);
    }
    command.arg("-d").arg(to);
    if !classpath.is_empty() {
        command.arg("-cp").arg(joined(classpath)?);
    }
    tool(command.arg(format!("@{}", list.display())))?;
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), JvmError> {
    for entry in fs::read_dir(folder).map_err(JvmError::io(folder))? {
        let path = entry.map_err(JvmError::io(folder))?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "java") {
            files.push(path);
        }
    }
    files.sort();
    Ok(())
}
