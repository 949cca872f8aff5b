// SPDX-License-Identifier: Apache-2.0
//! Tools that tests need besides Rust, and the handling of missing ones: the test prints that it
//! was not run, and with `ARROWSMITH_STRICT=1`, which `./test` and CI set, it fails.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};

use crate::{corpus, scale};

/// The command that installs most tools.
pub const SETUP: &str = "cargo xtask setup";

/// Reports that the rest of a test is not run because of a missing tool, and how to install it.
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

/// Reports that the rest of a test is not run because this machine cannot: its CPU lacks an
/// instruction set, or it has no GPU. That cannot be installed, so the test passes even in strict
/// mode.
pub fn unsupported(what: &str) {
    say(&format!("not run: {what}"));
}

/// Writes a line to standard error directly, which the test harness does not capture.
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

/// Whether `openssl` is installed; if not, it is [`absent`].
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

/// An address of this machine on which nothing listens, for a service that another process starts,
/// or that is to return after it has stopped. Its port is none of those that systems give to
/// outgoing connections (32768 and above), so that no other test's connection takes it meanwhile.
///
/// # Panics
/// If none is free.
#[allow(clippy::expect_used, reason = "a test that cannot go on fails")]
pub fn free_address() -> SocketAddr {
    /// Each process begins elsewhere.
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = std::process::id() % 100 * 100;
    let at = |number: u32| {
        let port = 20_000 + (start + number) % 10_000;
        SocketAddr::from((Ipv4Addr::LOCALHOST, u16::try_from(port).unwrap_or_default()))
    };
    (0..1_000)
        .map(|_| at(u32::from(NEXT.fetch_add(1, Ordering::Relaxed))))
        .find(|address| TcpListener::bind(address).is_ok())
        .expect("a free port")
}

/// Whether a command succeeds. Its output is discarded.
pub fn answers(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}
