// SPDX-License-Identifier: Apache-2.0
//! A folder in which tests compile C++.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("arrowsmith-graph-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Compiles a program text, which need not have a `main`.
    pub fn compile(&self, text: &str, flags: &[&str]) -> Vec<u8> {
        self.compile_with("g++", text, flags)
    }

    pub fn compile_with(&self, compiler: &str, text: &str, flags: &[&str]) -> Vec<u8> {
        let (source, object) = (self.0.join("t.cpp"), self.0.join("t.o"));
        std::fs::write(&source, text).unwrap();
        let status = Command::new(compiler)
            .args(["-g", "-std=c++17", "-w", "-c", "-o"])
            .arg(&object)
            .args(flags)
            .args((compiler == "clang++").then_some("-fstandalone-debug"))
            .arg(&source)
            .status()
            .expect("the compiler is there");
        assert!(status.success());
        std::fs::read(object).unwrap()
    }
}

/// The compilers that are there, each with a version of the language.
pub fn compilers() -> Vec<(&'static str, &'static str)> {
    let mut all = vec![("g++", "-std=c++17"), ("g++", "-std=c++20")];
    if has("clang") {
        all.extend([("clang++", "-std=c++17"), ("clang++", "-std=c++20")]);
    }
    all
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whether a part of `tools/objects` is there; it has to be where tests are strict.
pub fn has(part: &str) -> bool {
    let strict = std::env::var("ARROWSMITH_STRICT");
    let strict = strict.is_ok_and(|value| !["", "0"].contains(&value.as_str()));
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/objects");
    let there = Command::new(tool).args(["has", part]).status().is_ok_and(|s| s.success());
    assert!(there || !strict, "{part} is missing: cargo xtask setup objects");
    if !there {
        eprintln!("without {part}: cargo xtask setup objects installs it");
    }
    there
}
