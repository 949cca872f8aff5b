// SPDX-License-Identifier: Apache-2.0
//! Checks of the artifacts: size, static linking, running on an empty system, also on the other
//! architecture; and the list of artifacts with checksums.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::shell::{self, Outcome, fail};
use super::{AARCH64, Arch, Release};

/// Name of the list of checksums.
const SUMS: &str = "sha256sums";
/// The packages of Debian 12 for a Python of another architecture that can import a module.
const PYTHON: &[&str] = &[
    "libbz2-1.0",
    "libc6",
    "libexpat1",
    "libffi8",
    "libgcc-s1",
    "liblzma5",
    "libpython3.11-minimal",
    "libpython3.11-stdlib",
    "libstdc++6",
    "python3.11-minimal",
    "zlib1g",
];

/// Checks the maximum size of a file.
pub fn bytes(path: &Path, max: u64) -> Outcome {
    let size = size(path)?;
    if size > max {
        return fail(format!("{}: {size} bytes, more than {max}", path.display()));
    }
    println!("   {}: {:.1} MB", shell::leaf(path), mb(size));
    Ok(())
}

fn size(path: &Path) -> Outcome<u64> {
    fs::metadata(path).map(|m| m.len()).map_err(|error| format!("{}: {error}", path.display()))
}

fn mb(bytes: u64) -> f64 {
    // The size of a file; exact as f64.
    bytes as f64 / 1e6
}

/// Checks that the command converts and inspects a file in the folder. `command` makes the command
/// without arguments, under an emulator if it needs one.
pub fn converts(command: impl Fn() -> Command, folder: &Path) -> Outcome {
    shell::write(&folder.join("in.jsonl"), "{\"id\":1,\"name\":\"a\"}\n{\"id\":2}\n")?;
    let run = |arguments: &[&str]| {
        let mut program = command();
        program.args(arguments).current_dir(folder);
        shell::output(&mut program)
    };
    run(&["convert", "in.jsonl", "-o", "out.arrow", "--quiet"])?;
    let found = run(&["inspect", "out.arrow", "--json"])?;
    let is_right = found.contains("\"rows\":2") || found.contains("\"rows\": 2");
    if !is_right || run(&["infer", "in.jsonl"])?.is_empty() {
        return fail(format!("{:?}: made of two records: {found}", command()));
    }
    Ok(())
}

/// Checks that the program has no interpreter, and so no shared libraries, and is for this
/// architecture.
pub fn is_static(path: &Path, arch: Arch) -> Outcome {
    let file = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let elf = Elf(&file);
    let machine = if arch == AARCH64 { 183 } else { 62 };
    if elf.machine() != Some(machine) {
        return fail(format!("{}: not for {}", path.display(), arch.name));
    }
    match elf.has_interpreter() {
        Some(false) => Ok(()),
        Some(true) => fail(format!("{}: not static", path.display())),
        None => fail(format!("{}: no ELF file of 64 bits", path.display())),
    }
}

/// A minimal reader of ELF files: little-endian, 64 bits.
struct Elf<'a>(&'a [u8]);

impl Elf<'_> {
    fn number(&self, at: u64, bytes: usize) -> Option<u64> {
        let at = usize::try_from(at).ok()?;
        let found = self.0.get(at..at.checked_add(bytes)?)?;
        Some(found.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn machine(&self) -> Option<u64> {
        self.0.starts_with(b"\x7fELF\x02\x01").then(|| self.number(18, 2))?
    }

    fn has_interpreter(&self) -> Option<bool> {
        self.machine()?;
        let (table, size, count) = (self.number(32, 8)?, self.number(54, 2)?, self.number(56, 2)?);
        for header in 0..count {
            let kind = self.number(table.checked_add(header * size)?, 4)?;
            if kind == 3 {
                return Some(true);
            }
        }
        Some(false)
    }
}

/// Checks that a module for musl only imports Python's functions and those of musl.
pub fn musl_symbols(release: &Release, module: &Path) -> Outcome {
    let mut python = release.tool("python")?;
    let text = shell::output(python.args(["packaging/elf.py"]).arg(module))?;
    print!("   {text}");
    Ok(())
}

/// Checks the wheel for aarch64 under emulation: Debian's Python for aarch64 imports it and reads a
/// file.
pub fn emulated(release: &Release, wheel: &Path) -> Outcome {
    let Some(qemu) = qemu() else {
        return strict("qemu-aarch64 is missing (Debian: qemu-user-static): the wheel was not run");
    };
    if !shell::has("apt-get") {
        return strict("no apt-get to bring a Python for aarch64: the wheel was not run");
    }
    let root = match foreign_python(release) {
        Ok(root) => root,
        Err(why) => return strict(&format!("no Python for aarch64, the wheel was not run: {why}")),
    };
    let site = release.staged("aarch64-site")?;
    let mut pip = release.tool("python")?;
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:"]);
    pip.args(["--python-version", "311", "--implementation", "cp", "--abi", "abi3"]);
    pip.args(["--abi", "cp311", "--platform", "manylinux_2_28_aarch64", "--target"]);
    shell::output(pip.arg(&site).arg(wheel))?;
    let read = "import arrowsmith, platform; t = arrowsmith.read_json(b'{\"id\":1}\\n{\"id\":2}'); \
                print(platform.machine(), t.num_rows, str(t.schema).strip())";
    let python = || {
        let mut python = Command::new(&qemu);
        python.arg("-L").arg(&root).arg(root.join("usr/bin/python3.11"));
        python.env("PYTHONHOME", root.join("usr")).env("PYTHONPATH", &site);
        python.env("PYTHONDONTWRITEBYTECODE", "1");
        python
    };
    let found = shell::output(python().args(["-c", read]))?;
    if found != "aarch64 2 id: int64\n" {
        return fail(format!("the module for aarch64 read {found:?}"));
    }
    // The command is a script, whose interpreter is the emulated Python.
    let script = site.join("bin/arrowsmith");
    let command = || {
        let mut command = python();
        command.arg(&script);
        command
    };
    converts(command, &site)?;
    println!("   under emulation: the module for aarch64 reads, the command converts");
    Ok(())
}

/// The emulator of aarch64, as in Debian.
pub fn qemu() -> Option<String> {
    let names = ["qemu-aarch64", "qemu-aarch64-static"];
    names.into_iter().find(|name| shell::has(name)).map(str::to_owned)
}

/// Reports a check that cannot be made: an error if the environment requires all checks.
pub fn strict(message: &str) -> Outcome {
    if std::env::var("ARROWSMITH_STRICT").is_ok_and(|value| !["", "0"].contains(&value.as_str())) {
        return fail(message);
    }
    println!("   WARNING: {message}");
    Ok(())
}

/// A root folder with Debian's Python for arm64, separate from this system.
fn foreign_python(release: &Release) -> Outcome<PathBuf> {
    let root = release.stage.join("aarch64-root");
    if root.join("usr/bin/python3.11").exists() {
        return Ok(root);
    }
    let lists = release.staged("aarch64-apt")?;
    shell::fresh(&root)?;
    for folder in ["lists/partial", "archives/partial"] {
        shell::fresh(&lists.join(folder))?;
    }
    let apt = |arguments: &[&str]| {
        let mut apt = Command::new("apt-get");
        apt.args(["-q", "-o", "APT::Architecture=arm64", "-o", "APT::Architectures=arm64"]);
        apt.arg("-o").arg(format!("Dir::State::lists={}", lists.join("lists").display()));
        apt.arg("-o").arg(format!("Dir::Cache={}", lists.display()));
        // Ignores the packages installed on this system.
        apt.arg("-o").arg("Dir::State::status=/dev/null").args(arguments).current_dir(&lists);
        apt
    };
    shell::output(&mut apt(&["update"]))?;
    shell::output(apt(&["download"]).args(PYTHON))?;
    for package in shell::entries(&lists).iter().filter(|p| shell::leaf(p).ends_with(".deb")) {
        shell::output(Command::new("dpkg-deb").arg("-x").arg(package).arg(&root))?;
    }
    Ok(root)
}

/// Writes the checksums of all artifacts, in the format of `sha256sum -c`.
pub fn sums(release: &Release) -> Outcome {
    let mut names = Vec::new();
    for path in shell::files(&release.out) {
        let name = path.strip_prefix(&release.out).unwrap_or(&path).to_owned();
        if name != Path::new(SUMS) {
            names.push(name);
        }
    }
    let mut command = Command::new("sha256sum");
    let text = shell::output(command.args(names).current_dir(&release.out))?;
    shell::write(&release.out.join(SUMS), text)
}

/// Prints the artifacts, without the checksums that Maven puts beside each file.
pub fn list(release: &Release) -> Outcome {
    println!("\n{}", release.out.display());
    let is_sum = |path: &Path| path.extension().is_some_and(|kind| kind == "md5" || kind == "sha1");
    for path in shell::files(&release.out).into_iter().filter(|path| !is_sum(path)) {
        let name = path.strip_prefix(&release.out).unwrap_or(&path).display().to_string();
        println!("{:9.3} MB  {name}", mb(size(&path)?));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    /// An ELF file with only these program headers.
    fn elf(machine: u8, kinds: &[u8]) -> Vec<u8> {
        let mut file = vec![0; 64];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[18] = machine;
        file[32] = 64;
        file[54] = 56;
        file[56] = u8::try_from(kinds.len()).unwrap();
        for kind in kinds {
            let mut header = vec![0; 56];
            header[0] = *kind;
            file.extend(header);
        }
        file
    }

    #[test]
    fn a_program_with_an_interpreter_is_not_static() {
        assert_eq!(Elf(&elf(183, &[1, 2])).machine(), Some(183));
        assert_eq!(Elf(&elf(62, &[1, 2])).has_interpreter(), Some(false));
        assert_eq!(Elf(&elf(62, &[1, 3])).has_interpreter(), Some(true));
        assert_eq!(Elf(&elf(62, &[1])[..80]).has_interpreter(), Some(false));
        assert_eq!(Elf(&elf(62, &[1])[..60]).has_interpreter(), None);
        assert_eq!(Elf(b"#!/bin/sh\n").has_interpreter(), None);
    }
}
