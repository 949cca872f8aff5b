// SPDX-License-Identifier: Apache-2.0
//! Wheels and the sdist. One `pip install` installs the module and the command, whose code is in
//! the module; cargo builds it, and packaging/wheel.py packs it.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::build::{GLIBC, MUSL_MODULES};
use super::shell::{self, Outcome, fail};
use super::{AARCH64, Arch, Release, X86_64, checks};

/// The folder of wheels that this machine's pip does not accept, so that `pip install OUT/*.whl`
/// works.
const OTHERS: &str = "other-systems";

/// Maximum size of a wheel.
const WHEEL_BYTES_MAX: u64 = 25_000_000;

pub fn make(release: &Release) -> Outcome {
    let info = metadata(release)?;
    let mut wheels = Vec::new();
    for &arch in &release.arches {
        let (module, _) = release.libraries(arch)?;
        let platform = format!("manylinux_{}_{}", GLIBC.replace('.', "_"), arch.name);
        let wheel = pack(release, &info, &module, &platform)?;
        glibc(release, &wheel, &platform)?;
        wheels.push(wheel);
        if MUSL_MODULES.contains(&arch) {
            let module = release.musl_module(arch)?;
            let platform = format!("musllinux_1_2_{}", arch.name);
            let wheel = pack(release, &info, &module, &platform)?;
            checks::musl_symbols(release, &module)?;
            wheels.push(wheel);
        }
    }
    for wheel in &wheels {
        checks::bytes(wheel, WHEEL_BYTES_MAX)?;
        shell::output(release.tool("abi3audit")?.args(["--strict", "--report"]).arg(wheel))?;
    }
    wheels.push(sdist(release)?);
    shell::output(release.tool("twine")?.args(["check", "--strict"]).args(&wheels))?;
    if let Some(wheel) = wheels.iter().find(|wheel| is(wheel, "manylinux", X86_64)) {
        try_installed(release, wheel)?;
        suite(release, wheel)?;
    }
    if let Some(wheel) = wheels.iter().find(|wheel| is(wheel, "manylinux", AARCH64)) {
        checks::emulated(release, wheel)?;
    }
    Ok(())
}

fn is(wheel: &Path, system: &str, arch: Arch) -> bool {
    let name = shell::leaf(wheel);
    name.contains(system) && name.ends_with(&format!("{}.whl", arch.name))
}

/// The metadata folder, as maturin generates it from pyproject.toml: the same as in the sdist.
fn metadata(release: &Release) -> Outcome<PathBuf> {
    let folder = release.staged("metadata")?;
    let mut maturin = release.tool("maturin")?;
    maturin.args(["pep517", "write-dist-info", "--manifest-path", "python/Cargo.toml"]);
    maturin.arg("--metadata-directory").arg(&folder);
    shell::output(maturin.arg("--interpreter").arg(release.tools.join("bin/python")))?;
    Ok(folder.join(format!("arrowsmith-{}.dist-info", release.version)))
}

fn pack(release: &Release, info: &Path, module: &Path, platform: &str) -> Outcome<PathBuf> {
    let name = format!("arrowsmith-{}-cp310-abi3-{platform}.whl", release.version);
    let here = platform.starts_with("manylinux") && platform.ends_with(std::env::consts::ARCH);
    let folder = if here { release.out.clone() } else { release.out.join(OTHERS) };
    let wheel = folder.join(name);
    shell::parent(&wheel)?;
    let mut python = release.tool("python")?;
    python.arg("packaging/wheel.py").arg("--dist-info").arg(info);
    python.args(["--package", "python/python/arrowsmith"]).arg("--module").arg(module);
    python.arg("--wheel").arg(&wheel);
    shell::output(python.env("SOURCE_DATE_EPOCH", release.epoch()?))?;
    Ok(wheel)
}

fn sdist(release: &Release) -> Outcome<PathBuf> {
    let mut maturin = release.tool("maturin")?;
    maturin.args(["sdist", "--manifest-path", "python/Cargo.toml", "--out"]).arg(&release.out);
    shell::output(&mut maturin)?;
    let sdist = release.out.join(format!("arrowsmith-{}.tar.gz", release.version));
    // Its workspace is a part of ours: cargo has to find all of it, with the same versions.
    let folder = release.staged("sdist-files")?;
    shell::output(Command::new("tar").arg("-xzf").arg(&sdist).arg("-C").arg(&folder))?;
    let inside = folder.join(format!("arrowsmith-{}", release.version));
    let ours = locked(&release.root)?;
    let mut cargo = Command::new("cargo");
    cargo.args(["metadata", "--offline", "--format-version", "1"]).current_dir(&inside);
    shell::output(&mut cargo)?;
    match locked(&inside)?.iter().find(|package| !ours.contains(package)) {
        Some(package) => fail(format!("the sdist would be built with another {package}")),
        None => Ok(sdist),
    }
}

/// Name and version of every package in a lock file.
fn locked(folder: &Path) -> Outcome<Vec<String>> {
    let text = shell::read(&folder.join("Cargo.lock"))?;
    let packages = text.split("[[package]]\n").skip(1);
    Ok(packages.map(|package| package.lines().take(2).collect::<Vec<_>>().join(" ")).collect())
}

/// auditwheel for the architecture that is its first argument: by itself it knows the platforms of
/// the machine that it runs on only.
const AUDITWHEEL: &str = "import platform, sys
machine = sys.argv.pop(1)
platform.machine = lambda: machine
from auditwheel.main import main
sys.exit(main())";

/// Checks that the module needs no newer glibc than the name of the wheel states, and no other
/// libraries, so that the wheel needs no repair.
fn glibc(release: &Release, wheel: &Path, platform: &str) -> Outcome {
    let folder = release.staged("repaired")?;
    let mut auditwheel = release.tool("python")?;
    auditwheel.args([
        "-c",
        AUDITWHEEL,
        platform.rsplit_once("28_").map_or(platform, |name| name.1),
    ]);
    auditwheel.args(["repair", "--only-plat", "--plat", platform, "--wheel-dir"]);
    shell::output(auditwheel.arg(&folder).arg(wheel))?;
    let repaired = shell::entries(&folder).into_iter().next();
    let repaired = repaired.ok_or_else(|| format!("{}: not repaired", wheel.display()))?;
    let mut python = release.tool("python")?;
    let names = shell::output(python.args(["-m", "zipfile", "--list"]).arg(&repaired))?;
    if names.contains(".libs/") {
        return fail(format!("{}: needs libraries of its own:\n{names}", wheel.display()));
    }
    Ok(())
}

/// Tests an environment with only this wheel.
fn try_installed(release: &Release, wheel: &Path) -> Outcome {
    let venv = release.staged("venv")?;
    shell::output(release.tool("python")?.args(["-m", "venv"]).arg(&venv))?;
    let program = |name: &str| {
        let mut command = Command::new(venv.join("bin").join(name));
        command.current_dir(&venv);
        command
    };
    shell::output(program("python").args(["-m", "pip", "install", "--no-index"]).arg(wheel))?;
    checks::converts(|| Command::new(venv.join("bin/arrowsmith")), &venv)?;
    let read =
        "import arrowsmith; t = arrowsmith.read_json('in.jsonl'); print(t.num_rows, t.schema)";
    let found = shell::output(program("python").args(["-c", read]))?;
    if !found.starts_with("2 id: int64") {
        return fail(format!("the installed module read {found:?}"));
    }
    println!("   installed alone: the module reads, the command converts");
    Ok(())
}

/// Runs the tests of the package against the wheel.
fn suite(release: &Release, wheel: &Path) -> Outcome {
    let venv = release.stage.join("suite");
    let python = venv.join("bin/python");
    if !python.exists() {
        shell::output(release.tool("python")?.args(["-m", "venv"]).arg(&venv))?;
    }
    let folder = release.root.join("python");
    let pip = |arguments: &[&str]| {
        let mut command = Command::new(&python);
        command.args(["-m", "pip", "install", "--quiet"]).args(arguments).current_dir(&folder);
        command
    };
    shell::output(&mut pip(&["-r", "requirements-dev.txt"]))?;
    shell::output(pip(&["--no-index", "--no-deps", "--force-reinstall"]).arg(wheel))?;
    let mut pytest = Command::new(&python);
    pytest.args(["-m", "pytest"]).current_dir(&folder);
    shell::run(&mut pytest)
}

/// Builds and installs the sdist with pip, as happens where there is no wheel.
pub fn check_sdist(release: &Release) -> Outcome {
    let sdist = sdist(release)?;
    let venv = release.staged("sdist")?;
    shell::output(release.tool("python")?.args(["-m", "venv"]).arg(&venv))?;
    let mut pip = Command::new(venv.join("bin/python"));
    pip.args(["-m", "pip", "install"]).arg(&sdist).current_dir(&venv);
    // A separate target folder, because the sources differ.
    shell::run(pip.env("CARGO_TARGET_DIR", release.target.join("sdist")))?;
    let mut python = Command::new(venv.join("bin/python"));
    let read = "import arrowsmith; print(arrowsmith.read_json(b'{\"id\":1}').num_rows)";
    let found = shell::output(python.args(["-c", read]).current_dir(&venv))?;
    if found == "1\n" { Ok(()) } else { fail(format!("the module of the sdist read {found:?}")) }
}
