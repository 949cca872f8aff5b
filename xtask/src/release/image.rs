// SPDX-License-Identifier: Apache-2.0
//! The container image: its build context, as an archive for `docker build`, and a test without a
//! container engine: the steps of the Dockerfile are executed in a folder, which becomes the root.

use std::fs;
use std::path::{Path, PathBuf};

use super::commands::{self, runs_here};
use super::service::{self, STATE};
use super::shell::{self, Outcome, fail};
use super::{Release, checks};

pub fn make(release: &Release) -> Outcome {
    let name = format!("arrowsmith-{}-image", release.version);
    let folder = release.staged("image")?;
    let context = folder.join(&name);
    let from = release.root.join("packaging/image");
    for file in ["Dockerfile", "ingest.toml"] {
        shell::copy(&from.join(file), &context.join(file))?;
    }
    shell::copy(&release.root.join("LICENSE"), &context.join("LICENSE"))?;
    shell::fresh(&context.join("state"))?;
    for &arch in &release.arches {
        let command = release.command(arch)?;
        checks::is_static(&command, arch)?;
        shell::copy(&command, &context.join(arch.debian).join("arrowsmith"))?;
    }
    commands::archive(release, &folder, &name)?;
    match release.arches.iter().find(|&&arch| runs_here(arch)) {
        Some(arch) => try_as_root(release, &context, arch.debian),
        None => checks::strict("nothing here runs the image's command"),
    }
}

/// The parts of a Dockerfile that ours uses.
#[derive(Default)]
struct Image {
    user: String,
    entry: Vec<String>,
    command: Vec<String>,
    health: Vec<String>,
}

fn try_as_root(release: &Release, context: &Path, arch: &str) -> Outcome {
    let root = release.stage.join("image-root");
    if root.exists() {
        shell::output(service::administrator("rm")?.arg("-rf").arg(&root))?;
    }
    shell::fresh(&root)?;
    let image = build(&shell::read(&context.join("Dockerfile"))?, context, &root, arch)?;
    if image.user != service::USER {
        return fail(format!("the image runs as {:?}", image.user));
    }
    let run = |arguments: &[&str]| {
        let mut inside = service::inside(&root)?;
        shell::output(inside.args(&image.entry).args(arguments))
    };
    let line: Vec<String> = image.entry.iter().chain(&image.command).cloned().collect();
    service::ingests(&root, &line, &image.health)?;
    run(&["generate", "trip", "--rows", "1000", "-o", "/var/lib/arrowsmith/in.jsonl"])?;
    let out = format!("/{STATE}/out.parquet");
    run(&["convert", &format!("/{STATE}/in.jsonl"), "-o", &out, "--quiet"])?;
    let found = run(&["inspect", &out])?;
    if !found.contains("1,000") && !found.contains("1000") {
        return fail(format!("the image's command converted 1,000 records to {found}"));
    }
    let elsewhere = run(&["generate", "trip", "--rows", "1", "-o", "/usr/bin/x"]);
    if elsewhere.is_ok() {
        return fail("the image's user may write outside of its folder");
    }
    println!("   as a root folder: ingests, reports its health, exits, converts");
    Ok(())
}

/// Executes a Dockerfile below a folder.
fn build(text: &str, context: &Path, root: &Path, arch: &str) -> Outcome<Image> {
    let mut image = Image::default();
    for line in text.replace("\\\n", " ").lines().map(str::trim) {
        let Some((instruction, rest)) = line.split_once(' ') else { continue };
        let rest = rest.replace("${TARGETARCH}", arch);
        match instruction {
            "#" | "ARG" | "EXPOSE" | "LABEL" | "VOLUME" | "WORKDIR" => {}
            "FROM" if rest == "scratch" => {}
            "COPY" => copy(&rest, context, root)?,
            "USER" => image.user = rest,
            "ENTRYPOINT" => image.entry = words(&rest),
            "CMD" => image.command = words(&rest),
            "HEALTHCHECK" => {
                image.health =
                    rest.split_once("CMD ").map(|(_, list)| words(list)).unwrap_or_default();
            }
            _ => return fail(format!("Dockerfile: unsupported instruction {line:?}")),
        }
    }
    Ok(image)
}

fn copy(rest: &str, context: &Path, root: &Path) -> Outcome {
    let (flags, paths): (Vec<&str>, Vec<&str>) =
        rest.split_whitespace().partition(|word| word.starts_with("--"));
    let [from, to] = paths[..] else { return fail(format!("Dockerfile: COPY {rest}")) };
    let (from, to): (PathBuf, PathBuf) =
        (context.join(from), root.join(to.trim_start_matches('/')));
    if from.is_dir() {
        fs::create_dir_all(&to).map_err(|error| format!("{}: {error}", to.display()))?;
        for path in shell::files(&from) {
            shell::copy(&path, &to.join(path.strip_prefix(&from).unwrap_or(&path)))?;
        }
    } else {
        shell::copy(&from, &to)?;
    }
    if let Some(owner) = flags.iter().find_map(|flag| flag.strip_prefix("--chown=")) {
        shell::output(service::administrator("chown")?.args(["-R", owner]).arg(&to))?;
    }
    Ok(())
}

/// The words of a list such as `["a", "b"]`.
fn words(list: &str) -> Vec<String> {
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    #[test]
    fn a_dockerfile_is_done_by_hand() {
        let folder = std::env::temp_dir().join(format!("arrowsmith-image-{}", std::process::id()));
        let (context, root) = (folder.join("context"), folder.join("root"));
        shell::write(&context.join("arm64/program"), "p").unwrap();
        let text = "# A comment\nFROM scratch\nLABEL a=b \\\n    c=d\nCOPY ${TARGETARCH}/program /bin/p\n\
                    USER 1:2\nHEALTHCHECK --timeout=6s CMD [\"/bin/p\", \"health\"]\n\
                    ENTRYPOINT [\"/bin/p\"]\nCMD [\"run\"]\n";
        let image = build(text, &context, &root, "arm64").unwrap();
        assert_eq!(image.user, "1:2");
        assert_eq!(image.entry, ["/bin/p"]);
        assert_eq!(image.command, ["run"]);
        assert_eq!(image.health, ["/bin/p", "health"]);
        assert_eq!(shell::read(&root.join("bin/p")).unwrap(), "p");
        for wrong in ["FROM debian", "RUN true", "COPY ${TARGETARCH}/other /bin/p"] {
            assert!(build(wrong, &context, &root, "arm64").is_err(), "{wrong}");
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
