// SPDX-License-Identifier: Apache-2.0
//! Compiles the contestants into a folder of their own: ours from the layout in the compiler's
//! debug information, as a user would, the others from Debian's packages, if they are installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use arrowsmith_graph::{generate, layout};

use super::Report;
use crate::install::{Sources, remove, run, sources, write};

const PEERS: Sources = sources!(
    "peers/objects": "codec.hpp", "main.cpp", "net.cpp", "paper.hpp", "paper.cpp", "ours.cpp", "boost.cpp",
    "cereal.cpp", "protobuf.cpp", "expression.proto", "flatbuffers.cpp", "expression.fbs", "capnp.cpp",
    "expression.capnp",
);
const CLASSES: Sources = sources!("expression": "expression.hpp", "expression.cpp");
const RUNTIME: Sources = sources!(
    "include":
    "arrowsmith/graph.hpp",
    "arrowsmith/graph_containers.hpp",
    "arrowsmith/graph_fast.hpp",
    "arrowsmith/graph_tables.hpp"
);

/// A library to compare with: its name, generated files, compiled files, linked libraries.
struct Peer {
    name: &'static str,
    generate: &'static [&'static str],
    compile: &'static [&'static str],
    link: &'static [&'static str],
}

const LIBRARIES: [Peer; 5] = [
    Peer {
        name: "boost-serialization",
        generate: &[],
        compile: &["boost.cpp"],
        link: &["-lboost_serialization"],
    },
    Peer { name: "cereal", generate: &[], compile: &["cereal.cpp"], link: &[] },
    Peer {
        name: "protobuf",
        generate: &["protoc", "--cpp_out=.", "expression.proto"],
        compile: &["protobuf.cpp", "expression.pb.cc"],
        link: &["-lprotobuf"],
    },
    Peer {
        name: "flatbuffers",
        generate: &["flatc", "--cpp", "expression.fbs"],
        compile: &["flatbuffers.cpp"],
        link: &[],
    },
    Peer {
        name: "capnproto",
        generate: &["capnp", "compile", "-oc++", "expression.capnp"],
        compile: &["capnp.cpp", "expression.capnp.c++"],
        link: &["-lcapnp", "-lkj"],
    },
];

/// The compiled programs.
pub(super) struct Built {
    /// Times codecs; `main.cpp`.
    pub codecs: PathBuf,
    /// Both sides of the network; `net.cpp`.
    pub network: PathBuf,
}

/// Compiles everything that can be compiled here; missing libraries are listed in the report.
pub(super) fn contestants(
    peers: &Path,
    report: &mut Report,
    progress: &mut dyn FnMut(&str),
) -> Result<Built, String> {
    let peers = std::path::absolute(peers).map_err(|e| format!("{}: {e}", peers.display()))?;
    let folder = peers.join("objects");
    for sources in [PEERS, CLASSES, RUNTIME] {
        write(&folder, sources)?;
    }
    progress("compiling the contestants");
    generate_ours(&folder)?;
    let ours = ["paper.cpp", "ours.cpp", "expr.cpp", "expression.cpp"];
    let mut objects = Vec::new();
    for file in ours {
        objects.push(compile(&folder, file)?);
    }
    let network = folder.join("net");
    let net = compile(&folder, "net.cpp")?;
    let mut wanted = vec![net];
    wanted.extend(objects.iter().filter(|object| !object.ends_with("ours.cpp.o")).cloned());
    link(&folder, &network, &wanted, &[])?;

    objects.push(compile(&folder, "main.cpp")?);
    let mut libraries = Vec::new();
    report.missing("bitsery", "", "Debian 12 has no package of it");
    for peer in &LIBRARIES {
        match library(&folder, peer) {
            Ok(more) => {
                objects.extend(more);
                libraries.extend(peer.link);
            }
            Err(reason) => {
                let reason = format!("{reason}; bench/peers/objects/setup.sh installs it");
                report.missing(peer.name, "", reason);
            }
        }
    }
    let codecs = folder.join("run");
    link(&folder, &codecs, &objects, &libraries)?;
    Ok(Built { codecs, network })
}

/// The equivalent of `arrowsmith objects generate expression.o --root Node`.
fn generate_ours(folder: &Path) -> Result<(), String> {
    run(compiler(folder).args([
        "-std=c++17",
        "-O2",
        "-g",
        "-c",
        "expression.cpp",
        "-o",
        "layout.o",
    ]))?;
    let object = folder.join("layout.o");
    let bytes = fs::read(&object).map_err(|error| format!("{}: {error}", object.display()))?;
    let options = layout::Options { root: "Node".into(), ..layout::Options::default() };
    let layout = layout::from_object(&bytes, &options).map_err(|error| error.to_string())?.layout;
    let options =
        generate::Options { name: "expr".into(), includes: vec!["expression.hpp".into()] };
    for file in generate::cpp(&layout, &options).map_err(|error| error.to_string())? {
        let path = folder.join(&file.name);
        // Unchanged files are not rewritten, so that they are not compiled again.
        if fs::read_to_string(&path).is_ok_and(|found| found == file.text) {
            continue;
        }
        fs::write(&path, file.text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

fn library(folder: &Path, peer: &Peer) -> Result<Vec<PathBuf>, String> {
    if let [program, arguments @ ..] = peer.generate {
        run(Command::new(program).args(arguments).current_dir(folder))?;
    }
    peer.compile.iter().map(|file| compile(folder, file)).collect()
}

fn compiler(folder: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CXX").unwrap_or_else(|| "c++".into()));
    command.current_dir(folder);
    command
}

/// Compiles a file, unless its output is newer than every file in the folder.
fn compile(folder: &Path, file: &str) -> Result<PathBuf, String> {
    let object = folder.join(format!("{file}.o"));
    if object.exists() && newest_source(folder) <= modified(&object) {
        return Ok(object);
    }
    remove(&object)?;
    let flags = ["-std=c++20", "-O3", "-DNDEBUG", "-I.", "-x", "c++", "-c"];
    run(compiler(folder).args(flags).arg(file).arg("-o").arg(&object))?;
    Ok(object)
}

fn modified(file: &Path) -> Option<std::time::SystemTime> {
    fs::metadata(file).and_then(|metadata| metadata.modified()).ok()
}

/// The last modification of our own sources; the libraries' generated files depend on them.
fn newest_source(folder: &Path) -> Option<std::time::SystemTime> {
    let names = [PEERS, CLASSES, RUNTIME].into_iter().flatten().map(|(name, _)| *name);
    names.chain(["expr.cpp", "expr.hpp"]).filter_map(|name| modified(&folder.join(name))).max()
}

fn link(
    folder: &Path,
    program: &Path,
    objects: &[PathBuf],
    libraries: &[&str],
) -> Result<(), String> {
    run(compiler(folder).args(objects).arg("-o").arg(program).args(libraries).arg("-pthread"))?;
    Ok(())
}
