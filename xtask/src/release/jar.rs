// SPDX-License-Identifier: Apache-2.0
//! The Java library: one jar with the native libraries of all architectures, its sources and its
//! documentation, deployed to a folder with the layout of Maven Central; and the example project,
//! which uses it from there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::shell::{self, Outcome, fail};
use super::{Release, checks};

/// The elements that Maven Central requires in a POM.
const ASKED: &[&str] =
    &["<name>", "<description>", "<url>", "<licenses>", "<developers>", "<scm>", "<connection>"];
/// The JDKs that run the example: the oldest supported one, and one with all native-memory APIs.
const JDKS: &[&str] = &["17", "25"];

pub fn make(release: &Release) -> Outcome {
    let natives = release.staged("native")?;
    for &arch in &release.arches {
        let (_, library) = release.libraries(arch)?;
        native(&library, &natives.join(format!("linux-{}", arch.name)))?;
    }
    shell::fresh(&repository(release))?;
    let home = jdk(release, "25")?;
    let natives = format!("-Dnative.folder={}", natives.display());
    deploy(release, &home, "java/pom.xml", &[&natives])?;
    holds(release, "arrowsmith")?;
    has_natives(release)?;
    example(release, &home)
}

/// The folder repository.
fn repository(release: &Release) -> PathBuf {
    release.out.join("maven")
}

fn url(release: &Release) -> String {
    format!("file://{}", repository(release).display())
}

/// The jar of an artifact in the folder repository.
pub fn deployed(release: &Release, artifact: &str) -> PathBuf {
    let folder = repository(release).join("io/arrowsmith").join(artifact);
    folder.join(&release.version).join(format!("{artifact}-{}.jar", release.version))
}

/// Builds a project into the folder repository.
pub fn deploy(release: &Release, home: &Path, pom: &str, options: &[&str]) -> Outcome {
    let mut maven = mvn(release, home, pom);
    maven.args(["-Prelease", "clean", "deploy", "-DskipTests"]).args(options);
    maven.arg(format!("-DaltDeploymentRepository=release::{}", url(release)));
    maven.arg(format!("-Dproject.build.outputTimestamp={}", release.epoch()?));
    shell::output(&mut maven).map(drop)
}

fn mvn(release: &Release, home: &Path, pom: &str) -> Command {
    let mut maven = Command::new("mvn");
    maven.args(["-B", "-ntp", "-q", "-Dstyle.color=never", "-f", pom]);
    maven.env("JAVA_HOME", home).current_dir(&release.root);
    maven
}

pub fn jdk(release: &Release, version: &str) -> Outcome<PathBuf> {
    let mut tool = Command::new(release.root.join("tools/java"));
    Ok(PathBuf::from(shell::output(tool.args(["home", version]))?.trim()))
}

/// Stores a native library as in the jar, with its checksum.
fn native(library: &Path, folder: &Path) -> Outcome {
    let to = folder.join("libarrowsmith_ffi.so");
    shell::copy(library, &to)?;
    let sum = shell::output(Command::new("sha256sum").arg(&to))?;
    let sum = sum.split(' ').next().unwrap_or_default();
    shell::write(&folder.join("libarrowsmith_ffi.so.sha256"), format!("{sum}\n"))
}

/// Checks that the repository has all files of an artifact that Central requires.
pub fn holds(release: &Release, artifact: &str) -> Outcome {
    let version = &release.version;
    let jar = deployed(release, artifact);
    for end in ["", "-sources", "-javadoc"] {
        let jar = jar.with_file_name(format!("{artifact}-{version}{end}.jar"));
        for file in [jar.clone(), jar.with_extension("jar.sha1")] {
            if !file.exists() {
                return fail(format!("{}: was not deployed", file.display()));
            }
        }
    }
    let parent = repository(release).join("io/arrowsmith/arrowsmith-parent").join(version);
    let poms = [
        (jar.with_extension("pom"), &ASKED[..2]),
        (parent.join(format!("arrowsmith-parent-{version}.pom")), ASKED),
    ];
    for (pom, asked) in poms {
        let text = shell::read(&pom)?;
        if let Some(missing) = asked.iter().find(|element| !text.contains(**element)) {
            return fail(format!("{}: has no {missing}", pom.display()));
        }
    }
    Ok(())
}

/// Checks that the jar has the native libraries.
fn has_natives(release: &Release) -> Outcome {
    let jar = deployed(release, "arrowsmith");
    let mut list = release.tool("python")?;
    let names = shell::output(list.args(["-m", "zipfile", "--list"]).arg(&jar))?;
    for arch in &release.arches {
        for name in ["libarrowsmith_ffi.so", "libarrowsmith_ffi.so.sha256"] {
            let wanted = format!("io/arrowsmith/native/linux-{}/{name} ", arch.name);
            if !names.contains(&wanted) {
                return fail(format!("{}: has no {wanted}", jar.display()));
            }
        }
    }
    Ok(())
}

/// Runs the example project with a separate local repository, which contains only this jar.
fn example(release: &Release, home: &Path) -> Outcome {
    let local = release.stage.join("m2");
    let ours = local.join("io/arrowsmith");
    if ours.exists() {
        fs::remove_dir_all(&ours).map_err(|error| format!("{}: {error}", ours.display()))?;
    }
    let mut maven = mvn(release, home, "java/example/pom.xml");
    maven.args(["clean", "package"]).arg(format!("-Darrowsmith.repository={}", url(release)));
    shell::output(maven.arg(format!("-Dmaven.repo.local={}", local.display())))?;
    for version in JDKS {
        let Ok(home) = jdk(release, version) else {
            checks::strict(&format!("there is no JDK {version}: the example was not run on it"))?;
            continue;
        };
        let mut java = Command::new(home.join("bin/java"));
        if *version == "25" {
            java.arg("--sun-misc-unsafe-memory-access=allow");
        }
        let jar = release.root.join("java/example/target/arrowsmith-example-1.jar");
        let found = shell::output(java.arg("-jar").arg(jar))?;
        if !found.contains("id 7") || !found.contains("\n0 bytes left") {
            return fail(format!("the example says on JDK {version}:\n{found}"));
        }
        println!("   the example runs on JDK {version}, with the jar of the folder");
    }
    Ok(())
}
