// SPDX-License-Identifier: Apache-2.0
//! The cargo builds for the tests: one selection of packages and features, so that nothing is
//! compiled twice.

use std::path::{Path, PathBuf};

use crate::shell;

/// The features of every test build: all of the command's, and the GPU engine's kernels on the CPU.
pub const FEATURES: &str = "arrowsmith-cli/full,arrowsmith-engine-gpu/shim,arrowsmith-python/shim";

/// Packages that together enable every feature that the workspace enables. An area is built
/// together with them, so that cargo can reuse a build of the whole workspace, and vice versa.
const ANCHORS: &[&str] = &[
    "arrowsmith-cli",
    "arrowsmith-engine-gpu",
    "arrowsmith-fuzz",
    "arrowsmith-python",
    "arrowsmith-testkit",
];

/// A test program.
pub struct Program {
    /// The package's folder in the repository: `crates/arrowsmith-json`.
    pub folder: String,
    /// Its name in cargo: the package's library or command for its unit tests, else `suite`.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
}

/// The arguments that select packages and features; those of the whole workspace if no packages are
/// named.
pub fn selection(packages: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    if packages.is_empty() {
        all.push("--workspace".to_owned());
    } else {
        let anchors = ANCHORS.iter().map(|name| (*name).to_owned());
        let mut names: Vec<String> = packages.iter().cloned().chain(anchors).collect();
        names.sort();
        names.dedup();
        for name in names {
            all.extend(["-p".to_owned(), name]);
        }
    }
    all.extend(["--features", FEATURES, "--locked"].map(str::to_owned));
    all
}

/// The test programs in cargo's messages, one JSON object per line.
pub fn programs(messages: &str) -> Vec<Program> {
    let root = shell::root();
    let program = |line: &str| {
        let artifact = line.contains(r#""reason":"compiler-artifact""#);
        // The target contains whether it can be tested, the profile whether this is the test.
        let profile = line.split_once(r#""profile":"#)?.1.split('}').next()?;
        if !artifact || !profile.contains(r#""test":true"#) {
            return None;
        }
        let path = PathBuf::from(text(line, "executable")?);
        // The name in the target: other objects have names too.
        let name = text(line.split_once(r#""target":"#)?.1, "name")?.to_owned();
        let manifest = Path::new(text(line, "manifest_path")?);
        let folder = manifest.parent()?.strip_prefix(root).ok()?.display().to_string();
        Some(Program { folder, name, path })
    };
    messages.lines().filter_map(program).collect()
}

/// The first text with a key. Paths and names of this repository contain no escapes.
fn text<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let rest = line.split_once(&format!("\"{key}\":\""))?.1;
    rest.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_among_messages() {
        let root = shell::root().display();
        let artifact = |name: &str, test: &str, executable: &str| {
            format!(
                "{{\"reason\":\"compiler-artifact\",\
                 \"package_id\":\"path+file://{root}/crates/x#0.1.0\",\
                 \"manifest_path\":\"{root}/crates/x/Cargo.toml\",\"target\":{{\"kind\":[\"test\"],\
                 \"name\":\"{name}\",\"test\":true}},\"profile\":{{\"opt_level\":\"1\",\"test\":{test}}},\
                 \"executable\":{executable},\"fresh\":true}}\n"
            )
        };
        let messages = [
            artifact("x", "false", "null"),
            artifact("x-command", "false", "\"/t/debug/x\""),
            artifact("suite", "true", "\"/t/debug/deps/suite-1\""),
            "{\"reason\":\"build-finished\",\"success\":true}\n".to_owned(),
        ]
        .concat();
        let found = programs(&messages);
        let shown: Vec<_> = found.iter().map(|one| (&*one.folder, &*one.name)).collect();
        assert_eq!(shown, [("crates/x", "suite")]);
        assert_eq!(found[0].path, Path::new("/t/debug/deps/suite-1"));
    }

    #[test]
    fn an_area_is_built_with_the_anchors() {
        let area = selection(&["arrowsmith-json".to_owned(), "arrowsmith-cli".to_owned()]);
        let packages: Vec<_> = area.iter().filter(|word| word.starts_with("arrowsmith")).collect();
        assert_eq!(packages.len(), ANCHORS.len() + 2, "{area:?}: the anchors, json and features");
        assert_eq!(selection(&[])[0], "--workspace");
    }
}
