// SPDX-License-Identifier: Apache-2.0
//! Debian packages of the static command: they have no dependencies, so that one package works on
//! every release of Debian and its derivatives. They include services, which are installed but not
//! started.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::commands::{self, runs_here};
use super::shell::{self, Outcome, fail};
use super::{Arch, Release, checks, service};

/// Maximum exposure level in `systemd-analyze security`, from 0 (none) to 10.
const EXPOSURE_MAX: f64 = 2.0;
/// Files in packaging/ and their paths in a package.
const FILES: &[(&str, &str)] = &[
    ("config/ingest.toml", "etc/arrowsmith/ingest.toml"),
    ("config/serve.env", "etc/arrowsmith/serve.env"),
    ("systemd/arrowsmith-ingest.service", "usr/lib/systemd/system/arrowsmith-ingest.service"),
    ("systemd/arrowsmith-serve.service", "usr/lib/systemd/system/arrowsmith-serve.service"),
    ("systemd/arrowsmith.conf", "usr/lib/sysusers.d/arrowsmith.conf"),
    ("deb/copyright", "usr/share/doc/arrowsmith/copyright"),
    ("deb/lintian-overrides", "usr/share/lintian/overrides/arrowsmith"),
];
/// The scripts that dpkg runs.
const SCRIPTS: &[&str] = &["postinst", "prerm", "postrm"];

pub fn make(release: &Release) -> Outcome {
    let text = commands::written(release)?;
    for &arch in &release.arches {
        let command = release.command(arch)?;
        let root = release.staged(&format!("deb-{}", arch.debian))?;
        fill(release, &root, &command, &text)?;
        let package = pack(release, &root, arch)?;
        if shell::has("lintian") {
            let mut lintian = Command::new("lintian");
            lintian.args(["--fail-on", "error,warning", "--tag-display-limit", "0"]);
            shell::output(lintian.arg(&package))?;
        } else {
            checks::strict("lintian is missing: the package was not checked")?;
        }
        if runs_here(arch) {
            try_installed(release, &package)?;
        }
    }
    Ok(())
}

/// Writes the contents of the package below a root folder.
fn fill(release: &Release, root: &Path, command: &Path, text: &Path) -> Outcome {
    shell::copy(command, &root.join("usr/bin/arrowsmith"))?;
    for (from, to) in FILES {
        shell::copy(&release.root.join("packaging").join(from), &root.join(to))?;
    }
    let share = root.join("usr/share");
    let completions = text.join("completions");
    for (shell, name) in [
        ("bash-completion/completions/arrowsmith", "arrowsmith.bash"),
        ("zsh/vendor-completions/_arrowsmith", "_arrowsmith"),
        ("fish/vendor_completions.d/arrowsmith.fish", "arrowsmith.fish"),
    ] {
        shell::copy(&completions.join(name), &share.join(shell))?;
    }
    for page in shell::files(&text.join("man")) {
        shell::copy(&page, &share.join("man/man1").join(shell::leaf(&page)))?;
    }
    let documents = share.join("doc/arrowsmith");
    let changes = changes(release)?;
    shell::write(&documents.join("changelog"), changes)?;
    let mut packed = vec![documents.join("changelog")];
    packed.extend(shell::files(&share.join("man")));
    shell::output(Command::new("gzip").args(["-9", "-n"]).args(packed)).map(drop)
}

/// The changelog required by Debian, which refers to ours.
fn changes(release: &Release) -> Outcome<String> {
    let mut date = Command::new("date");
    date.args(["-u", "-R", "-d", &format!("@{}", release.epoch()?)]).env("LC_ALL", "C");
    let date = shell::output(&mut date)?;
    let maintainer = shell::read(&release.root.join("packaging/deb/control"))?
        .lines()
        .find_map(|line| line.strip_prefix("Maintainer: ").map(str::to_owned))
        .ok_or("packaging/deb/control names no maintainer")?;
    let version = &release.version;
    Ok(format!(
        "arrowsmith ({version}) stable; urgency=medium\n\n  * Release {version}: see CHANGELOG.md in \
         the repository.\n\n -- {maintainer}  {date}"
    ))
}

fn pack(release: &Release, root: &Path, arch: Arch) -> Outcome<PathBuf> {
    let installed: u64 = shell::files(root)
        .iter()
        .filter_map(|path| fs::metadata(path).ok())
        .map(|found| found.len().div_ceil(1024))
        .sum();
    let from = release.root.join("packaging/deb");
    let control = shell::read(&from.join("control"))?
        .replace("@VERSION@", &release.version)
        .replace("@ARCHITECTURE@", arch.debian)
        .replace("@INSTALLED@", &installed.to_string());
    let files = shell::files(root);
    let below = |path: &PathBuf| path.strip_prefix(root).map(Path::to_owned).unwrap_or_default();
    let mut sums = Command::new("md5sum");
    sums.args(files.iter().map(below).filter(|path| !path.starts_with("etc"))).current_dir(root);
    let sums = shell::output(&mut sums)?;
    let conffiles: Vec<String> = files
        .iter()
        .map(below)
        .filter(|path| path.starts_with("etc"))
        .map(|path| format!("/{}\n", path.display()))
        .collect();
    let folder = root.join("DEBIAN");
    shell::write(&folder.join("control"), control)?;
    shell::write(&folder.join("md5sums"), sums)?;
    shell::write(&folder.join("conffiles"), conffiles.concat())?;
    for script in SCRIPTS {
        shell::copy(&from.join(script), &folder.join(script))?;
    }
    // File modes must not depend on the umask of the checkout.
    let mut modes = Command::new("chmod");
    shell::output(modes.args(["-R", "u=rwX,go=rX"]).arg(root))?;
    let mut modes = Command::new("chmod");
    modes.arg("0755").arg(root.join("usr/bin/arrowsmith"));
    shell::output(modes.args(SCRIPTS.iter().map(|script| folder.join(script))))?;
    let mut modes = Command::new("chmod");
    modes.arg("0644").args(files.iter().filter(|path| !path.ends_with("usr/bin/arrowsmith")));
    shell::output(&mut modes)?;
    let package = release.out.join(format!("arrowsmith_{}_{}.deb", release.version, arch.debian));
    let mut deb = Command::new("dpkg-deb");
    deb.args(["--root-owner-group", "-Zxz", "--build"]).arg(root).arg(&package);
    shell::output(deb.env("SOURCE_DATE_EPOCH", release.epoch()?))?;
    Ok(package)
}

/// Installs it into a separate root folder, with its scripts, and starts the services of its units.
fn try_installed(release: &Release, package: &Path) -> Outcome {
    let root = release.stage.join("installed");
    if root.exists() {
        // Some files belong to another user.
        shell::output(service::administrator("rm")?.arg("-rf").arg(&root))?;
    }
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "dev", "etc", "tmp", "run"] {
        shell::fresh(&root.join(folder))?;
    }
    for list in ["status", "available"] {
        shell::write(&root.join("var/lib/dpkg").join(list), "")?;
    }
    let dpkg = |arguments: &[&str]| {
        let mut dpkg = service::administrator("dpkg")?;
        dpkg.arg(format!("--root={}", root.display()));
        dpkg.args(["--force-script-chrootless", "--force-not-root", "--log=/dev/null"]);
        dpkg.args(arguments);
        Ok::<_, String>(dpkg)
    };
    shell::output(dpkg(&["--install"])?.arg(package))?;
    let users = shell::read(&root.join("etc/passwd"))?;
    if !users.contains("arrowsmith:") {
        return fail(format!("the package has not created a user: {users}"));
    }
    let units = root.join("usr/lib/systemd/system");
    let ingest = start_line(&units.join("arrowsmith-ingest.service"), "")?;
    let variables = shell::read(&root.join("etc/arrowsmith/serve.env"))?;
    let serve = start_line(&units.join("arrowsmith-serve.service"), &variables)?;
    analyse(&root, &units)?;
    service::state(&root)?;
    let health = ["/usr/bin/arrowsmith".to_owned(), "health".to_owned()];
    service::ingests(&root, &ingest, &health)?;
    service::serves(&root, &serve)?;
    shell::output(&mut dpkg(&["--remove", "arrowsmith"])?)?;
    shell::output(&mut dpkg(&["--purge", "arrowsmith"])?)?;
    if root.join("usr/bin/arrowsmith").exists() || root.join("etc/arrowsmith/ingest.toml").exists()
    {
        return fail("the package leaves files behind");
    }
    if shell::files(&root.join(service::STATE)).is_empty() {
        return fail("removing the package removes what the service stored");
    }
    println!("   installed, both services started by their ExecStart, removed");
    Ok(())
}

/// The words of a unit's ExecStart, with variables of its environment file.
fn start_line(unit: &Path, variables: &str) -> Outcome<Vec<String>> {
    let text = shell::read(unit)?;
    let line = text.lines().find_map(|line| line.strip_prefix("ExecStart="));
    let line = line.ok_or_else(|| format!("{}: has no ExecStart", unit.display()))?;
    let mut words = Vec::new();
    for word in line.split_whitespace() {
        let Some(name) = word.strip_prefix('$') else {
            words.push(word.to_owned());
            continue;
        };
        let value = variables.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        let value = value.ok_or_else(|| format!("no {name} for {}", unit.display()))?;
        words.extend(value.trim_matches('"').split_whitespace().map(str::to_owned));
    }
    Ok(words)
}

/// Checks the units with systemd-analyze, if it is installed.
fn analyse(root: &Path, units: &Path) -> Outcome {
    if !shell::has("systemd-analyze") {
        return checks::strict("systemd-analyze is missing: the units were not checked");
    }
    for path in shell::entries(units) {
        let unit = shell::leaf(&path);
        let mut security = Command::new("systemd-analyze");
        security.args(["security", "--offline=yes", "--no-pager"]);
        security.arg(format!("--root={}", root.display()));
        let found = shell::output(security.arg(&unit))?;
        let last = found.lines().rev().find(|line| line.contains("Overall exposure level"));
        let level: Option<f64> =
            last.and_then(|line| line.split(": ").nth(1)?.split(' ').next()?.parse().ok());
        match level {
            Some(level) if level <= EXPOSURE_MAX => println!("   {unit}: exposure {level}"),
            _ => return fail(format!("{unit}: exposed more than {EXPOSURE_MAX}:\n{found}")),
        }
        let mut verify = Command::new("systemd-analyze");
        verify.args(["verify", "--man=no", "--recursive-errors=no"]);
        let found = shell::capture(verify.arg(&path))?;
        let text = shell::both(&found);
        // The command itself is in the root folder, not here.
        let faults = text.lines().filter(|line| !line.contains("is not executable"));
        let faults: Vec<&str> = faults.filter(|line| line.contains("arrowsmith")).collect();
        if !faults.is_empty() {
            return fail(format!("{unit}: {faults:?}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    #[test]
    fn start_lines_are_those_of_the_units() {
        let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging");
        let ingest = packaging.join("systemd/arrowsmith-ingest.service");
        let line = start_line(&ingest, "").unwrap();
        assert_eq!(line[..3], ["/usr/bin/arrowsmith", "ingest", "--config"]);
        let serve = packaging.join("systemd/arrowsmith-serve.service");
        assert_eq!(
            start_line(&serve, "ARROWSMITH_SERVE=\"--listen 1.2.3.4:5 a=/b\"\n").unwrap(),
            ["/usr/bin/arrowsmith", "serve", "--listen", "1.2.3.4:5", "a=/b"]
        );
        assert!(start_line(&serve, "").unwrap_err().contains("no ARROWSMITH_SERVE"));
    }
}
