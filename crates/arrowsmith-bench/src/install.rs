// SPDX-License-Identifier: Apache-2.0
//! Installs the peers into a folder of their own, from the embedded sources.
//!
//! A peer is installed only when it is requested, and no file outside the folder is changed.
//! Unchanged peers are reused. Their packages come from the registries through their ordinary
//! clients (pip, Cargo, Go).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::definition::PeerKind;
use crate::process::last_line;

/// File name → text, for each peer.
pub(crate) type Sources = &'static [(&'static str, &'static str)];

/// The path of an embedded file.
macro_rules! kept {
    ($file:literal) => {
        $file
    };
    ($file:literal $kept:literal) => {
        $kept
    };
}
pub(crate) use kept;

/// Embedded files are in the crate's folder as links, so that they are in the crate's package too.
/// Cargo excludes folders with a `Cargo.toml` from a package, so these files have another name
/// there.
macro_rules! sources {
    ($folder:literal: $($file:literal $(from $kept:literal)?),+ $(,)?) => {
        &[$((
            $file,
            include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"), "/embedded/", $folder, "/",
                $crate::install::kept!($file $($kept)?)
            )),
        )),+]
    };
}
pub(crate) use sources;

const PYTHON: Sources = sources!(
    "peers/python": "requirements.txt", "convert_peer.py", "parquet_peer.py", "peer.py",
);
const RUST: Sources = sources!(
    "peers/rust": "Cargo.toml" from "manifest.toml", "Cargo.lock", "src/main.rs", "src/check.rs",
    "src/columns.rs", "src/serve.rs", "src/shapes.rs",
);
const CPP: Sources = sources!(
    "peers/cpp": "peer.cpp", "columns.h", "shapes.h", "Cargo.toml" from "manifest.toml", "Cargo.lock",
);

const GO: Sources = sources!("peers/go": "go.mod", "go.sum", "main.go");

/// Builds Redpanda Connect with the components of its peer, if necessary; returns the program.
pub(crate) fn redpanda_connect(
    peers: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<PathBuf, String> {
    let peers = std::path::absolute(peers).map_err(|e| format!("{}: {e}", peers.display()))?;
    let folder = peers.join("go");
    let program = folder.join("redpanda-connect");
    if !write(&folder, GO)? && program.is_file() {
        return Ok(program);
    }
    progress("building Redpanda Connect, which takes minutes");
    remove(&program)?;
    run(Command::new("go")
        .args(["build", "-buildvcs=false", "-o"])
        .arg(&program)
        .arg(".")
        .current_dir(&folder)
        .env("CGO_ENABLED", "0")
        .env_remove("GOFLAGS"))?;
    Ok(program)
}

/// Installs a peer if necessary; returns the program and its first arguments.
pub(crate) fn install(
    kind: PeerKind,
    peers: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<PathBuf>, String> {
    // Peers run in other folders, so relative paths are made absolute.
    let peers = std::path::absolute(peers).map_err(|e| format!("{}: {e}", peers.display()))?;
    match kind {
        PeerKind::Python => python(&peers.join("python"), progress),
        PeerKind::Rust => rust(&peers.join("rust"), progress),
        PeerKind::Cpp => cpp(&peers.join("cpp"), progress),
    }
}

fn python(folder: &Path, progress: &mut dyn FnMut(&str)) -> Result<Vec<PathBuf>, String> {
    let interpreter = virtual_environment(folder, PYTHON, || {
        progress("installing pyarrow, polars and DuckDB");
    })?;
    Ok(vec![interpreter, folder.join("peer.py")])
}

/// Writes the sources, of which the first is `requirements.txt`, and installs the packages of that
/// file if it has changed; returns the interpreter. `installed` is there when the environment is
/// complete; `before` runs before an installation.
pub(crate) fn virtual_environment(
    folder: &Path,
    sources: Sources,
    before: impl FnOnce(),
) -> Result<PathBuf, String> {
    let interpreter = folder.join("venv/bin/python");
    let done = folder.join("installed");
    let changed = write(folder, &sources[..1])?;
    write(folder, sources)?;
    if changed || !done.is_file() {
        before();
        remove(&done)?;
        run(Command::new("python3").args(["-m", "venv"]).arg(folder.join("venv")))?;
        run(Command::new(&interpreter)
            .args(["-m", "pip", "install", "--quiet", "--require-hashes", "--requirement"])
            .arg(folder.join("requirements.txt")))?;
        fs::write(&done, "").map_err(|e| format!("{}: {e}", done.display()))?;
    }
    Ok(interpreter)
}

fn rust(folder: &Path, progress: &mut dyn FnMut(&str)) -> Result<Vec<PathBuf>, String> {
    progress("building arrow-json, sonic-rs and simd-json");
    let release = release(folder, RUST, "-C target-cpu=native")?;
    Ok(vec![release.join("arrowsmith-bench-peer")])
}

/// Writes and builds a Cargo workspace; returns the folder of its programs.
pub(crate) fn release(folder: &Path, sources: Sources, flags: &str) -> Result<PathBuf, String> {
    write(folder, sources)?;
    let target = folder.join("target");
    run(cargo(folder)
        .args(["build", "--release", "--locked", "--quiet"])
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTFLAGS", flags))?;
    Ok(target.join("release"))
}

fn cpp(folder: &Path, progress: &mut dyn FnMut(&str)) -> Result<Vec<PathBuf>, String> {
    let program = folder.join("peer");
    if !write(folder, CPP)? && program.is_file() {
        return Ok(vec![program]);
    }
    progress("building the simdjson loops");
    remove(&program)?;
    let library = folder.join("lib.rs");
    fs::write(&library, "").map_err(|e| format!("{}: {e}", library.display()))?;
    let metadata = run(cargo(folder).args(["metadata", "--locked", "--format-version", "1"]))?;
    let simdjson = simdjson_folder(&metadata).ok_or("Cargo did not fetch simdjson-sys")?;

    let mut compiler = Command::new(std::env::var_os("CXX").unwrap_or_else(|| "c++".into()));
    compiler.args(["-std=c++20", "-O3", "-march=native", "-DNDEBUG", "-pthread", "-I"]);
    compiler.arg(&simdjson).arg(folder.join("peer.cpp")).arg(simdjson.join("simdjson.cpp"));
    run(compiler.arg("-o").arg(&program))?;
    Ok(vec![program])
}

/// The path of simdjson's amalgamated sources, from the output of `cargo metadata`.
fn simdjson_folder(metadata: &[u8]) -> Option<PathBuf> {
    let metadata: serde_json::Value = serde_json::from_slice(metadata).ok()?;
    let packages = metadata.get("packages")?.as_array()?;
    let package = packages.iter().find(|package| package["name"] == "simdjson-sys")?;
    let manifest = Path::new(package.get("manifest_path")?.as_str()?);
    Some(manifest.parent()?.join("vendor/simdjson"))
}

/// Cargo, without the environment of the caller's build.
fn cargo(folder: &Path) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(folder);
    for variable in ["CARGO_TARGET_DIR", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER"] {
        command.env_remove(variable);
    }
    command
}

/// Writes the sources that differ from the existing ones; returns whether any did.
pub(crate) fn write(folder: &Path, sources: Sources) -> Result<bool, String> {
    let mut changed = false;
    for (name, text) in sources {
        let path = folder.join(name);
        if fs::read_to_string(&path).is_ok_and(|found| found == *text) {
            continue;
        }
        let parent = path.parent().unwrap_or(folder);
        let written = fs::create_dir_all(parent).and_then(|()| fs::write(&path, text));
        written.map_err(|error| format!("{}: {error}", path.display()))?;
        changed = true;
    }
    Ok(changed)
}

pub(crate) fn remove(file: &Path) -> Result<(), String> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", file.display()))
        }
        _ => Ok(()),
    }
}

/// Runs a tool to its end and returns its output; on failure, its message: the first line that
/// contains "error", as compilers write it, or else the last one.
pub(crate) fn run(command: &mut Command) -> Result<Vec<u8>, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        let error = said.lines().find(|line| line.to_lowercase().starts_with("error"));
        let error = error.map_or_else(|| last_line(&output.stderr), str::to_owned);
        Err(format!("{program} failed: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_written_once_and_again_when_they_differ() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("rust");
        assert_eq!(write(&place, RUST), Ok(true));
        assert_eq!(write(&place, RUST), Ok(false));
        fs::write(place.join("src/main.rs"), "").unwrap();
        assert_eq!(write(&place, RUST), Ok(true));
        assert!(fs::read_to_string(place.join("src/main.rs")).unwrap().contains("fn main"));
    }

    #[test]
    fn simdjson_is_found_in_what_cargo_says() {
        let text = br#"{"packages":[{"name":"x","manifest_path":"/r/x/Cargo.toml"},
            {"name":"simdjson-sys","manifest_path":"/r/s/Cargo.toml"}]}"#;
        assert_eq!(simdjson_folder(text), Some(PathBuf::from("/r/s/vendor/simdjson")));
        assert_eq!(simdjson_folder(br#"{"packages":[]}"#), None);
        assert_eq!(simdjson_folder(b"error"), None);
    }

    #[test]
    fn a_tool_that_fails_is_quoted() {
        let error = run(Command::new("sh").args(["-c", "echo one >&2; echo two >&2; exit 1"]));
        assert_eq!(error.unwrap_err(), "sh failed: two");
        let compiler = "echo 'error[E1]: bad'; echo 'error: could not compile'";
        let error = run(Command::new("sh").args(["-c", &format!("{{ {compiler}; }} >&2; exit 1")]));
        assert_eq!(error.unwrap_err(), "sh failed: error[E1]: bad");
        assert!(run(&mut Command::new("/nowhere/tool")).unwrap_err().contains("/nowhere/tool"));
    }
}
