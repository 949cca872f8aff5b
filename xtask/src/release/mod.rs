// SPDX-License-Identifier: Apache-2.0
//! `cargo xtask release`: builds, checks and lists the artifacts that users install without a
//! compiler, in `target/release-artifacts`.
//!
//! It builds with cargo and zig and packs with the tools of each format; it uploads nothing.
//! Everything is compiled once per target: the wheels, the packages and the image contain the same
//! static command. docs/releasing.md explains the checks.

mod build;
mod checks;
mod commands;
mod crates;
mod deb;
mod image;
mod jar;
mod service;
mod shell;
mod spark;
mod wheels;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use self::shell::{Outcome, Step, fail};

/// The parts in build order, with a description.
const PARTS: &[(&str, Part, &str)] = &[
    ("commands", commands::make, "static commands as tar.gz, with completions and manual pages"),
    ("wheels", wheels::make, "Python wheels and the sdist"),
    ("deb", deb::make, "Debian packages with services"),
    ("image", image::make, "the context of the container image"),
    ("jar", jar::make, "the Java library in a folder repository"),
    ("spark", spark::make, "the readers inside Spark, beside it, and the wheel with both jars"),
    ("crates", crates::make, "packages of the public crates"),
];

/// Slow parts, which run only by name.
const HEAVY: &[(&str, Part, &str)] = &[
    ("sdist-check", wheels::check_sdist, "builds and installs the sdist as a user's pip would"),
    ("crates-check", crates::check, "compiles the public crates from their packages"),
    ("spark-check", spark::check, "installs `arrowsmith[spark]` by pip, and reads with Spark"),
];

type Part = fn(&Release) -> Outcome;

/// Paths and targets of a release.
pub struct Release {
    /// The checkout.
    root: PathBuf,
    /// Cargo's target folder.
    target: PathBuf,
    /// The folder of the artifacts.
    out: PathBuf,
    /// The folder of intermediate files.
    stage: PathBuf,
    /// The Python environment of the tools.
    tools: PathBuf,
    version: String,
    /// The architectures to build.
    arches: Vec<Arch>,
}

/// An architecture, with its names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Arch {
    /// In triples and wheels.
    name: &'static str,
    /// In Debian packages and container images.
    debian: &'static str,
}

const X86_64: Arch = Arch { name: "x86_64", debian: "amd64" };
const AARCH64: Arch = Arch { name: "aarch64", debian: "arm64" };

/// Runs the requested parts.
pub fn main(arguments: &[String]) -> ExitCode {
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Outcome {
    let mut arches = vec![X86_64, AARCH64];
    let mut parts = Vec::new();
    for argument in arguments {
        if let Some(name) = argument.strip_prefix("--arch=") {
            arches.retain(|arch| arch.name == name);
            if arches.is_empty() {
                return fail(format!("--arch={name}: expected x86_64 or aarch64"));
            }
            continue;
        }
        match PARTS.iter().chain(HEAVY).find(|(name, ..)| name == argument) {
            Some(part) => parts.push(part),
            None => return fail(usage(argument)),
        }
    }
    if parts.is_empty() {
        parts.extend(PARTS);
    }
    let release = Release::new(arches)?;
    for (name, part, what) in parts {
        let step = Step::start(&format!("{name}: {what}"));
        part(&release)?;
        step.done();
    }
    checks::sums(&release)?;
    checks::list(&release)
}

fn usage(argument: &str) -> String {
    let mut text = format!("{argument}: no such part. cargo xtask release [--arch=ARCH] [PART...]");
    for (name, _, what) in PARTS.iter().chain(HEAVY) {
        text.push_str(&format!("\n  {name:12} {what}"));
    }
    text.push_str("\nWithout a PART all but the last three.");
    text
}

impl Release {
    fn new(arches: Vec<Arch>) -> Outcome<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned);
        let root = root.ok_or("xtask is not in a checkout")?;
        let manifest = shell::read(&root.join("Cargo.toml"))?;
        let version = manifest
            .lines()
            .skip_while(|line| *line != "[workspace.package]")
            .find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
            .ok_or("Cargo.toml has no version in [workspace.package]")?
            .to_owned();
        let target = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| root.join("target"), |folder| root.join(folder));
        let release = Self {
            out: target.join("release-artifacts"),
            stage: target.join("release-stage"),
            tools: target.join("release-tools"),
            root,
            target,
            version,
            arches,
        };
        for folder in [&release.out, &release.stage] {
            fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        Ok(release)
    }

    /// An empty folder for intermediate files.
    fn staged(&self, name: &str) -> Outcome<PathBuf> {
        let folder = self.stage.join(name);
        shell::fresh(&folder)?;
        Ok(folder)
    }
}
