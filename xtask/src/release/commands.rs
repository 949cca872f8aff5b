// SPDX-License-Identifier: Apache-2.0
//! The command as tar.gz: static, with completions and manual pages, which are the same for every
//! architecture and are written by the command for this one.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::shell::{self, Outcome, fail};
use super::{AARCH64, Arch, Release, X86_64, checks};

/// The shells, and the names under which they look for completions.
pub const SHELLS: &[(&str, &str)] =
    &[("bash", "arrowsmith.bash"), ("zsh", "_arrowsmith"), ("fish", "arrowsmith.fish")];
/// Maximum size of the command with its default features.
const COMMAND_BYTES_MAX: u64 = 60_000_000;

pub fn make(release: &Release) -> Outcome {
    for &arch in &release.arches {
        let command = release.command(arch)?;
        checks::is_static(&command, arch)?;
        if std::env::var_os("ARROWSMITH_RELEASE_FEATURES").is_none() {
            checks::bytes(&command, COMMAND_BYTES_MAX)?;
        }
        let folder = release.staged(&format!("try-{}", arch.name))?;
        if runs_here(arch) {
            checks::converts(|| Command::new(&command), &folder)?;
        } else if let (AARCH64, Some(qemu)) = (arch, checks::qemu()) {
            let emulated = || {
                let mut emulated = Command::new(&qemu);
                emulated.arg(&command);
                emulated
            };
            checks::converts(emulated, &folder)?;
        } else {
            checks::strict(&format!("nothing here runs the command for {}", arch.name))?;
        }
        let text = written(release)?;
        let name = format!("arrowsmith-{}-{}-unknown-linux-musl", release.version, arch.name);
        let folder = release.staged("tar")?;
        let inside = folder.join(&name);
        shell::copy(&command, &inside.join("arrowsmith"))?;
        for file in ["LICENSE", "README.md", "CHANGELOG.md"] {
            shell::copy(&release.root.join(file), &inside.join(file))?;
        }
        for path in shell::files(&text) {
            let below = path.strip_prefix(&text).unwrap_or(&path);
            shell::copy(&path, &inside.join(below))?;
        }
        archive(release, &folder, &name)?;
    }
    Ok(())
}

/// Whether this machine can run programs for an architecture.
pub fn runs_here(arch: Arch) -> bool {
    cfg!(target_os = "linux") && std::env::consts::ARCH == arch.name
}

/// The folder with `completions` and `man`, written by the command.
pub fn written(release: &Release) -> Outcome<PathBuf> {
    let Some(&arch) = [X86_64, AARCH64].iter().find(|&&arch| runs_here(arch)) else {
        return fail("nothing here runs the command, which writes its own manual pages");
    };
    let command = release.command(arch)?;
    let folder = release.staged("written")?;
    for &(shell, name) in SHELLS {
        let script = shell::output(Command::new(&command).args(["completions", shell]))?;
        shell::write(&folder.join("completions").join(name), script)?;
    }
    shell::output(Command::new(&command).arg("man").arg(folder.join("man")))?;
    Ok(folder)
}

/// Archives the folder NAME in a folder as `NAME.tar.gz`, reproducibly.
pub fn archive(release: &Release, folder: &Path, name: &str) -> Outcome {
    let epoch = release.epoch()?;
    let tar = folder.join(format!("{name}.tar"));
    shell::output(
        Command::new("tar")
            .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=go=rX,u+rw"])
            .arg(format!("--mtime=@{epoch}"))
            .arg("-cf")
            .arg(&tar)
            .arg("-C")
            .arg(folder)
            .arg(name),
    )?;
    shell::output(Command::new("gzip").args(["-9", "-n", "-f"]).arg(&tar))?;
    let packed = folder.join(format!("{name}.tar.gz"));
    shell::copy(&packed, &release.out.join(format!("{name}.tar.gz")))
}

impl Release {
    /// The time of the released commit, in seconds, which is the modification time of files in
    /// archives.
    pub fn epoch(&self) -> Outcome<String> {
        if let Ok(epoch) = std::env::var("SOURCE_DATE_EPOCH") {
            return Ok(epoch);
        }
        let mut git = Command::new("git");
        git.args(["log", "-1", "--format=%ct"]).current_dir(&self.root);
        Ok(shell::output(&mut git)?.trim().to_owned())
    }
}
