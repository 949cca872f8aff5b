// SPDX-License-Identifier: Apache-2.0
//! The packages of the public crates: the library, the command, and their dependencies in this
//! workspace.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Release;
use super::shell::{self, Outcome, fail};

/// The manifest keys that every public crate must have, for crates.io.
const ASKED: &[&str] =
    &["description", "license", "repository", "readme", "keywords", "categories", "documentation"];

pub fn make(release: &Release) -> Outcome {
    let public = public(release)?;
    for (name, manifest) in &public {
        let text = shell::read(manifest)?;
        let head = text.split("\n[lints]").next().unwrap_or_default();
        if let Some(missing) = ASKED.iter().find(|key| !head.contains(&format!("\n{key}"))) {
            return fail(format!("{name}: {} has no {missing}", manifest.display()));
        }
    }
    shell::output(&mut package(release, &public, &["--no-verify"]))?;
    let folder = release.out.join("crates");
    shell::fresh(&folder)?;
    for (name, _) in &public {
        let file = format!("{name}-{}.crate", release.version);
        let made = release.target.join("package").join(&file);
        outside(release, &made)?;
        shell::copy(&made, &folder.join(file))?;
    }
    println!("   {} crates", public.len());
    Ok(())
}

/// Compiles the packages outside the workspace.
pub fn check(release: &Release) -> Outcome {
    let public = public(release)?;
    shell::run(&mut package(release, &public, &[]))
}

fn package(release: &Release, public: &[(String, PathBuf)], flags: &[&str]) -> Command {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut cargo = Command::new(cargo);
    cargo.args(["package", "--quiet", "--locked"]).args(flags).current_dir(&release.root);
    if std::env::var_os("ARROWSMITH_RELEASE_DIRTY").is_some() {
        cargo.arg("--allow-dirty");
    }
    cargo.args(public.iter().flat_map(|(name, _)| ["-p", name]));
    cargo.env("CARGO_TARGET_DIR", &release.target);
    cargo
}

/// The crates that are published, with their manifests.
fn public(release: &Release) -> Outcome<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for folder in shell::entries(&release.root.join("crates")) {
        let manifest = folder.join("Cargo.toml");
        let text = shell::read(&manifest)?;
        if !text.lines().any(|line| line == "publish = false") {
            found.push((shell::leaf(&folder), manifest));
        }
    }
    if found.is_empty() { fail("no crate is public") } else { Ok(found) }
}

/// Checks that no package includes a file outside it: such a crate would compile only here.
fn outside(release: &Release, package: &Path) -> Outcome {
    let folder = release.staged("crate")?;
    shell::output(Command::new("tar").arg("-xzf").arg(package).arg("-C").arg(&folder))?;
    match shell::files(&folder).iter().find(|path| leaves(path)) {
        Some(path) => fail(format!("{}: includes a file of another folder", path.display())),
        None => Ok(()),
    }
}

/// Whether a shipped Rust file includes a file outside its crate.
fn leaves(path: &Path) -> bool {
    let inside: Vec<_> = path.components().collect();
    let source = inside.iter().position(|part| part.as_os_str() == "src");
    let Some(source) = source.filter(|_| path.extension().is_some_and(|end| end == "rs")) else {
        return false;
    };
    let is_test = path.file_stem().is_some_and(|name| name == "tests");
    // From src/lib.rs, `../` is the crate's own folder; each nested folder adds one step.
    let steps = inside.len() - source;
    let text = shell::read(path).unwrap_or_default();
    let away = "../".repeat(steps);
    let outside = |line: &str| line.contains(&away) || line.contains("\"/../");
    !is_test && text.lines().any(|line| line.contains("include") && outside(line))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    #[test]
    fn what_is_included_from_elsewhere_is_found() {
        let folder = std::env::temp_dir().join(format!("arrowsmith-crate-{}", std::process::id()));
        let at = |path: &str, text: &str| {
            let path = folder.join(path);
            shell::write(&path, text).unwrap();
            leaves(&path)
        };
        assert!(at("src/lib.rs", "include_str!(\"../../hdl/a.sv\")"));
        assert!(!at("src/lib.rs", "include_str!(\"../hdl/a.sv\")"));
        assert!(at("src/lib.rs", "include_str!(concat!(env!(\"HERE\"), \"/../hdl/a\"))"));
        assert!(at("src/json/mod.rs", "include_str!(\"../../../bench/a\")"));
        assert!(!at("src/json/mod.rs", "include_str!(\"../../cpp/a\")"));
        assert!(!at("src/json/tests.rs", "include_str!(\"../../../bench/a\")"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
