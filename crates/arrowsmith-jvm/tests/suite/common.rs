// SPDX-License-Identifier: Apache-2.0
//! Shared by the tests with JVMs. Without a JDK or C compiler they print that and are skipped.

use std::path::Path;
use std::process::Command;

use arrowsmith_jvm::{Built, Jdk, Layout, Libraries, Outcome, Project, Source};
use arrowsmith_testkit::tools;

/// The JDKs of this machine, or none if the tests cannot run.
pub fn jdks() -> Vec<Jdk> {
    if !tools::answers(Command::new("cc").arg("--version")) {
        tools::absent("a C compiler (cc)", tools::SETUP);
        return Vec::new();
    }
    let jdks = Jdk::all();
    if jdks.is_empty() {
        tools::absent("a JDK of version 17 or newer", tools::SETUP);
    }
    jdks
}

/// The libraries of today's approaches, if the environment names a folder for them.
pub fn libraries(jdk: &Jdk) -> Libraries {
    match std::env::var_os("ARROWSMITH_JVM_LIBRARIES") {
        Some(folder) => Libraries::install(Path::new(&folder), jdk).unwrap(),
        None => Libraries::default(),
    }
}

pub fn layout(text: &str) -> Layout {
    match Source::parse(text).unwrap() {
        Source::Layout(layout) => layout,
        Source::Existing(existing) => panic!("{existing:?}"),
    }
}

pub fn build(layout: &Layout, folder: &Path, jdks: &[Jdk]) -> Built {
    let project = Project::generate(layout, folder).unwrap();
    project.build(jdks, &libraries(&jdks[0]), &[]).unwrap()
}

/// Every approach computed the right sum, or was refused for a valid reason.
pub fn check(outcome: &Outcome, libraries: &Libraries, what: &str) {
    let right = outcome.measured.iter().all(|one| one.valid);
    assert!(right, "{what}: {outcome:#?}");
    for one in &outcome.not_run {
        let missing = match one.approach.as_str() {
            "ffm" => outcome.feature < 22,
            "kryo" | "protobuf" | "arrow-java" | "columns" => libraries.jars.is_empty(),
            "direct" | "direct-copy" => {
                outcome.collector == "Z"
                    || outcome.collector == "Shenandoah"
                    || one.reason.contains("records")
            }
            _ => false,
        };
        assert!(missing && !one.failed, "{what}: {one:?}");
    }
}
