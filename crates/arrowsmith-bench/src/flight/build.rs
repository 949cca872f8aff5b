// SPDX-License-Identifier: Apache-2.0
//! Installs the programs of the other languages into a folder of their own: their libraries come
//! from PyPI, Maven Central and crates.io, through their ordinary clients. Unchanged programs are
//! reused.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::install::{Sources, release, run, sources, virtual_environment, write};

const CPP: Sources = sources!(
    "peers/flight/cpp": "harness.hpp", "data.hpp", "server.cpp", "client.cpp", "socket.hpp",
    "raw_server.cpp", "raw_client.cpp",
);
const JAVA: Sources =
    sources!("peers/flight/java": "pom.xml", "Harness.java", "Server.java", "Client.java");
const PYTHON: Sources = sources!(
    "peers/flight/python": "requirements.txt", "harness.py", "server.py", "client.py", "rows.py",
);
const RUST: Sources = sources!("peers/flight/rust": "Cargo.toml" from "manifest.toml", "Cargo.lock", "src/harness.rs", "src/data.rs",
    "src/server.rs", "src/client.rs");

/// Files of a language's server and client, without the files for the benchmark protocol.
pub(super) const USER_SOURCES: [(&str, &[&str], &[&str]); 4] = [
    ("cpp", &["server.cpp", "data.hpp"], &["client.cpp"]),
    ("java", &["Server.java"], &["Client.java"]),
    ("python", &["server.py"], &["client.py"]),
    ("rust", &["src/server.rs", "src/data.rs"], &["src/client.rs"]),
];

/// The text of a file of a language.
pub(super) fn text(language: &str, file: &str) -> Option<&'static str> {
    let sources = match language {
        "cpp" => CPP,
        "java" => JAVA,
        "python" => PYTHON,
        _ => RUST,
    };
    sources.iter().find(|(name, _)| *name == file).map(|(_, text)| *text)
}

/// The command lines of a language's programs.
#[derive(Debug, Clone, Default)]
pub(super) struct Programs {
    pub(super) server: Vec<PathBuf>,
    pub(super) client: Vec<PathBuf>,
}

/// Installs a language; `peers` is an absolute path.
pub(super) fn language(
    name: &str,
    peers: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<Programs, String> {
    match name {
        "cpp" => {
            let folder = cpp(peers, progress)?;
            Ok(Programs {
                server: vec![folder.join("server")],
                client: vec![folder.join("client")],
            })
        }
        "java" => java(&peers.join("java"), progress),
        "python" => {
            let interpreter = python(peers, progress)?;
            let script = |file: &str| vec![interpreter.clone(), peers.join("python").join(file)];
            Ok(Programs { server: script("server.py"), client: script("client.py") })
        }
        _ => rust(&peers.join("rust"), progress),
    }
}

/// Streams over plain sockets, and mapped files.
pub(super) fn raw(peers: &Path, progress: &mut dyn FnMut(&str)) -> Result<Programs, String> {
    let folder = cpp(peers, progress)?;
    Ok(Programs {
        server: vec![folder.join("raw_server")],
        client: vec![folder.join("raw_client")],
    })
}

/// The clients of the row protocol, and the interpreter that runs them.
pub(super) fn rows(peers: &Path, progress: &mut dyn FnMut(&str)) -> Result<Vec<PathBuf>, String> {
    Ok(vec![python(peers, progress)?, peers.join("python/rows.py")])
}

/// The interpreter that has pyarrow.
fn python(peers: &Path, progress: &mut dyn FnMut(&str)) -> Result<PathBuf, String> {
    let folder = peers.join("python");
    let mut is_new = false;
    let interpreter = virtual_environment(&folder, PYTHON, || {
        progress("installing pyarrow and PostgreSQL's drivers");
        is_new = true;
    })?;
    if is_new {
        // Library names for the linker.
        let links = "import pyarrow; pyarrow.create_library_symlinks()";
        let linked = run(Command::new(&interpreter).args(["-c", links]));
        linked.inspect_err(|_| drop(fs::remove_file(folder.join("installed"))))?;
    }
    Ok(interpreter)
}

/// Compiles against the libraries inside pyarrow's wheel, as the paper did in the end.
fn cpp(peers: &Path, progress: &mut dyn FnMut(&str)) -> Result<PathBuf, String> {
    let interpreter = python(peers, progress)?;
    let folder = peers.join("cpp");
    let changed = write(&folder, CPP)?;
    let programs = ["server", "client", "raw_server", "raw_client"];
    if !changed && programs.iter().all(|program| folder.join(program).is_file()) {
        return Ok(folder);
    }
    progress("compiling the C++ programs");
    // If this is interrupted, the older programs must not be taken for the new ones.
    for program in programs {
        let _ = fs::remove_file(folder.join(program));
    }
    let script = "import pyarrow; print(pyarrow.get_library_dirs()[0])";
    let printed = run(Command::new(&interpreter).args(["-c", script]))?;
    let libraries = String::from_utf8_lossy(&printed).trim().to_owned();
    for program in programs {
        let mut compiler = Command::new(std::env::var_os("CXX").unwrap_or_else(|| "c++".into()));
        compiler.current_dir(&folder).args(["-std=c++20", "-O2", "-g1", "-pthread"]);
        compiler.arg(format!("{program}.cpp")).args(["-o", program]);
        compiler.arg(format!("-I{libraries}/include")).arg(format!("-L{libraries}"));
        let names = ["flight", "dataset", "compute"].map(|name| format!("-larrow_{name}"));
        compiler.args(names).args(["-lparquet", "-larrow"]);
        run(compiler.arg(format!("-Wl,-rpath,{libraries}")))?;
    }
    Ok(folder)
}

fn java(folder: &Path, progress: &mut dyn FnMut(&str)) -> Result<Programs, String> {
    let changed = write(folder, JAVA)?;
    if changed || !folder.join("target/flight-0.jar").is_file() {
        progress("building the Java programs");
        let _ = fs::remove_file(folder.join("target/flight-0.jar"));
        run(Command::new("mvn").args(["-B", "-ntp", "-q", "package"]).current_dir(folder))?;
    }
    let java = std::env::var_os("JAVA_HOME")
        .map_or_else(|| PathBuf::from("java"), |home| PathBuf::from(home).join("bin/java"));
    let mut flags = vec![
        "--add-opens=java.base/java.nio=ALL-UNNAMED",
        "-Xmx2g",
        "-XX:MaxDirectMemorySize=16g",
        // For the flame graph; costs a register.
        "-XX:+PreserveFramePointer",
    ];
    let printed = run(Command::new(&java).arg("--version"))?;
    if java_version(&String::from_utf8_lossy(&printed)) >= 24 {
        flags.extend([
            "--sun-misc-unsafe-memory-access=allow",
            "--enable-native-access=ALL-UNNAMED",
        ]);
    }
    let program = |class: &str| {
        // The dataset module reads its number of threads here: one, as in the others.
        let mut words = vec!["env".into(), "OMP_NUM_THREADS=1".into(), java.clone()];
        words.extend(flags.iter().map(PathBuf::from));
        words.push("-cp".into());
        let jars = [folder.join("target/flight-0.jar"), folder.join("target/lib/*")];
        words.push(jars.map(|jar| jar.display().to_string()).join(":").into());
        words.push(class.into());
        words
    };
    Ok(Programs { server: program("Server"), client: program("Client") })
}

/// 17 of `openjdk 17.0.15 2025-04-15`; 0 without a number.
fn java_version(text: &str) -> u32 {
    let number =
        text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    number.and_then(|word| word.split(['.', '-', '+']).next()?.parse().ok()).unwrap_or(0)
}

fn rust(folder: &Path, progress: &mut dyn FnMut(&str)) -> Result<Programs, String> {
    progress("building the Rust programs");
    let release = release(folder, RUST, "")?;
    let program = |name: &str| vec![release.join(name)];
    Ok(Programs { server: program("server"), client: program("client") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_java_is_a_number() {
        assert_eq!(java_version("openjdk 17.0.15 2025-04-15\nOpenJDK Runtime"), 17);
        assert_eq!(java_version("openjdk 25 2025-09-16"), 25);
        assert_eq!(java_version("no java"), 0);
    }

    #[test]
    fn what_is_counted_is_carried() {
        for (language, server, client) in USER_SOURCES {
            for file in server.iter().chain(client) {
                assert!(text(language, file).is_some_and(|text| text.contains("SPDX")), "{file}");
            }
        }
    }
}
