// SPDX-License-Identifier: Apache-2.0
//! What is compiled: by cargo, with zig as compiler of C and linker, so that one machine makes all
//! triples and libraries run on systems with an older C library than this one's.

use std::path::PathBuf;
use std::process::Command;

use super::shell::{self, Outcome, fail};
use super::{Arch, Release, X86_64};

/// The oldest C library that wheels and natives run on: that of RHEL 8, Debian 10, Ubuntu 18.10.
pub const GLIBC: &str = "2.28";
/// What the command can do; by default what it can do by default.
const FEATURES: &str = "ARROWSMITH_RELEASE_FEATURES";
/// Processors for which there is a wheel for musl. Command and module are then built in one call,
/// so that what both need is compiled once; apart, cargo would choose other features for each.
pub const MUSL_MODULES: &[Arch] = &[X86_64];

impl Release {
    /// The environment of the tools, made if its list has changed.
    pub fn tool(&self, name: &str) -> Outcome<Command> {
        let wanted = shell::read(&self.root.join("packaging/requirements.txt"))?;
        let kept = self.tools.join("requirements.txt");
        if shell::read(&kept).ok().as_ref() != Some(&wanted) {
            let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
            shell::output(Command::new(python).args(["-m", "venv"]).arg(&self.tools))?;
            shell::output(
                Command::new(self.tools.join("bin/python"))
                    .args(["-m", "pip", "install", "--quiet", "--require-hashes", "-r"])
                    .arg(self.root.join("packaging/requirements.txt")),
            )?;
            shell::write(&kept, wanted)?;
        }
        let mut command = Command::new(self.tools.join("bin").join(name));
        let path = std::env::var("PATH").unwrap_or_default();
        let bin = self.tools.join("bin");
        command.env("PATH", format!("{}:{path}", bin.display())).current_dir(&self.root);
        Ok(command)
    }

    fn cargo(&self, subcommand: &str, triple: &str) -> Outcome<Command> {
        let plain = triple.split('.').next().unwrap_or(triple);
        if shell::has("rustup") {
            shell::output(
                Command::new("rustup").args(["target", "add", plain]).current_dir(&self.root),
            )?;
        }
        let mut command = self.tool("cargo-zigbuild")?;
        command
            .args([subcommand, "--profile", "dist", "--locked", "--target", triple])
            .env("CARGO_TARGET_DIR", &self.target)
            // abi3: nothing about a certain Python has to be known.
            .env("PYO3_NO_PYTHON", "1")
            .env("PYO3_BUILD_EXTENSION_MODULE", "1");
        Ok(command)
    }

    fn built(&self, triple: &str, name: &str) -> Outcome<PathBuf> {
        let file = self.target.join(triple).join("dist").join(name);
        if file.exists() { Ok(file) } else { fail(format!("cargo left no {}", file.display())) }
    }

    /// The Python module and the library for the JVM, linked to glibc: one call, so that what both
    /// need is compiled once.
    pub fn libraries(&self, arch: Arch) -> Outcome<(PathBuf, PathBuf)> {
        let triple = format!("{}-unknown-linux-gnu", arch.name);
        let mut cargo = self.cargo("build", &format!("{triple}.{GLIBC}"))?;
        shell::run(cargo.args(["-p", "arrowsmith-python", "-p", "arrowsmith-ffi", "--lib"]))?;
        Ok((self.built(&triple, "lib_lib.so")?, self.built(&triple, "libarrowsmith_ffi.so")?))
    }

    /// The command, static; with [`MUSL_MODULES`], what the Python module for musl is linked of.
    pub fn command(&self, arch: Arch) -> Outcome<PathBuf> {
        let triple = format!("{}-unknown-linux-musl", arch.name);
        let mut cargo = self.cargo("build", &triple)?;
        cargo.args(["-p", "arrowsmith-cli"]);
        if MUSL_MODULES.contains(&arch) {
            cargo.args(["-p", "arrowsmith-python"]);
        }
        if let Ok(features) = std::env::var(FEATURES) {
            cargo.args(["--features", &features]);
        }
        shell::run(&mut cargo)?;
        self.built(&triple, "arrowsmith")
    }

    /// The Python module for musl. Rust links to musl statically, which a module of Python must
    /// not: so cargo makes an archive, and zig links it to the musl that is there.
    pub fn musl_module(&self, arch: Arch) -> Outcome<PathBuf> {
        self.command(arch)?;
        let archive = self.built(&format!("{}-unknown-linux-musl", arch.name), "lib_lib.a")?;
        let folder = self.staged(&format!("musl-{}", arch.name))?;
        let exports = folder.join("exports");
        shell::write(&exports, "{ global: PyInit__lib; local: *; };\n")?;
        let module = folder.join("_lib.abi3.so");
        let mut zig = self.tool("python")?;
        zig.args(["-m", "ziglang", "cc", "-target", &format!("{}-linux-musl", arch.name)])
            .args(["-shared", "-dynamic", "-s", "-Wl,--gc-sections", "-Wl,-u,PyInit__lib"])
            .arg(format!("-Wl,--version-script={}", exports.display()))
            .arg("-o")
            .arg(&module)
            .arg(&archive)
            .arg("-lunwind");
        shell::output(&mut zig)?;
        Ok(module)
    }
}
