// SPDX-License-Identifier: Apache-2.0
//! Compilation: by cargo, with zig as C compiler and linker, so that one machine builds all
//! targets, and libraries run on systems with an older C library.

use std::path::PathBuf;
use std::process::Command;

use super::shell::{self, Outcome, fail};
use super::{Arch, Release, X86_64};

/// The oldest glibc that wheels and native libraries support: that of RHEL 8, Debian 10, Ubuntu
/// 18.10.
pub const GLIBC: &str = "2.28";
/// The environment variable with the features of the command; its default features if unset.
const FEATURES: &str = "ARROWSMITH_RELEASE_FEATURES";
/// Architectures with a wheel for musl. Command and module are built there in one call, so that
/// their common dependencies are compiled once; separately, cargo would choose different features
/// for each.
pub const MUSL_MODULES: &[Arch] = &[X86_64];

impl Release {
    /// A tool in the Python environment, which is created again if its list has changed.
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
            // abi3: no Python interpreter is needed.
            .env("PYO3_NO_PYTHON", "1")
            .env("PYO3_BUILD_EXTENSION_MODULE", "1");
        Ok(command)
    }

    fn built(&self, triple: &str, name: &str) -> Outcome<PathBuf> {
        let file = self.target.join(triple).join("dist").join(name);
        if file.exists() {
            Ok(file)
        } else {
            fail(format!("cargo has not built {}", file.display()))
        }
    }

    /// The Python module and the library for the JVM, linked to glibc: built in one call, so that
    /// their common dependencies are compiled once.
    pub fn libraries(&self, arch: Arch) -> Outcome<(PathBuf, PathBuf)> {
        let triple = format!("{}-unknown-linux-gnu", arch.name);
        let mut cargo = self.cargo("build", &format!("{triple}.{GLIBC}"))?;
        shell::run(cargo.args(["-p", "arrowsmith-python", "-p", "arrowsmith-ffi", "--lib"]))?;
        Ok((self.built(&triple, "lib_lib.so")?, self.built(&triple, "libarrowsmith_ffi.so")?))
    }

    /// The static command; for [`MUSL_MODULES`] also the archive that the Python module for musl is
    /// linked from.
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

    /// The Python module for musl. Rust links musl statically, which a Python module must not do:
    /// so cargo builds an archive, and zig links it to the system's musl.
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
