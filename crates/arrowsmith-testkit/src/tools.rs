// SPDX-License-Identifier: Apache-2.0
//! What tests need besides Rust, and what becomes of a test where that is absent: it says that it
//! was not run, and with `ARROWSMITH_STRICT=1`, as `./test` and CI have it, it fails.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{corpus, scale};

/// The command that brings most tools.
pub const SETUP: &str = "cargo xtask setup";

/// Says that the rest of a test is not run, because something that can be had is not on this
/// machine, and what brings it.
///
/// # Panics
/// With `ARROWSMITH_STRICT=1`.
#[track_caller]
#[allow(clippy::panic, reason = "a test that cannot run fails, if it is to be strict")]
pub fn absent(what: &str, remedy: &str) {
    if scale::is_set("ARROWSMITH_STRICT") {
        panic!(
            "{what} is not here, and ARROWSMITH_STRICT=1 lets no test pass without it; {remedy} brings it"
        );
    }
    say(&format!("not run: {what} is not here; {remedy} brings it"));
}

/// Says that the rest of a test is not run, because this machine cannot: its processor lacks an
/// instruction set, it has no GPU. No command brings that, so that the test passes however strict
/// it is to be.
pub fn unsupported(what: &str) {
    say(&format!("not run: {what}"));
}

/// A line on standard error, which the test harness does not keep to itself as it does what is
/// printed.
pub(crate) fn say(line: &str) {
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    let _ = writeln!(std::io::stderr(), "{test}: {line}");
}

/// The folder of the third-party corpora; `None` if they are [`absent`].
#[track_caller]
pub fn corpora() -> Option<PathBuf> {
    let found = corpus::folder();
    if found.is_none() {
        absent("the folder of third-party files", "naming it in ARROWSMITH_CORPORA");
    }
    found
}

/// Whether `openssl` is there; if not, it is [`absent`].
#[track_caller]
pub fn openssl() -> bool {
    let there = answers(Command::new("openssl").arg("version"));
    if !there {
        absent("openssl, which makes certificates,", SETUP);
    }
    there
}

/// The Python of the tests' environment, with these modules; `None` if it is [`absent`].
#[track_caller]
pub fn python(modules: &str) -> Option<PathBuf> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/python");
    let there = answers(Command::new(&program).arg("-c").arg(format!("import {modules}")));
    if !there {
        absent(&format!("a .venv with {modules}"), SETUP);
    }
    there.then_some(program)
}

/// Whether a command ends well. What it says goes nowhere.
pub fn answers(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}
