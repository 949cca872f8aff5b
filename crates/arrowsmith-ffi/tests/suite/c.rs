// SPDX-License-Identifier: Apache-2.0
//! The header and the library together: a C program that uses every function, compiled with
//! warnings as errors, and run; under the address sanitizer too where the compiler has one.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder that cargo put the library in, beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let deps = test.parent().unwrap();
    [deps, deps.parent().unwrap()]
        .into_iter()
        .find(|folder| folder.join("libarrowsmith_ffi.so").exists())
        .unwrap()
        .to_owned()
}

fn run(extra: &[&str]) {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("c");
    let library = library();
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-g", "-I"])
        .arg(package.join("include"))
        .args(extra)
        .arg(package.join("tests/suite/c.c"))
        .arg("-o")
        .arg(&program)
        .arg(format!("-L{}", library.display()))
        .arg("-larrowsmith_ffi")
        .arg(format!("-Wl,-rpath,{}", library.display()))
        .status()
        .unwrap();
    assert!(compiled.success());
    // Cargo's path may name a folder with an older library.
    let status = Command::new(&program).env_remove("LD_LIBRARY_PATH").status().unwrap();
    assert!(
        status.success(),
        "the check that failed is in line {status} - 1 of tests/suite/c.c, modulo 250"
    );
}

#[test]
fn a_c_program() {
    run(&[]);
}

#[test]
fn a_c_program_under_the_address_sanitizer() {
    run(&["-fsanitize=address"]);
}
